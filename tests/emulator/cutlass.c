/* SPDX-License-Identifier: Apache-2.0 */
/* cutlass.c - runs one GEMM of CUTLASS in the emulator with all checks and compares the result with a reference.
 *
 *     cutlass NAME FILE.ptx IN OUT SUM M N K SPLIT
 *
 * FILE.ptx is cutlass_kernel.cu, compiled for one configuration; see cutlass.sh. IN, OUT and SUM are f16, bf16, tf32, f32,
 * f64, e4m3, s8, u8, s4 or s32; "sp:" before IN says that half of A's elements are zeros and are not stored. Prints one row: name, seconds, warp instructions, elements, wrong elements, findings. Fails if an
 * element is wrong or if anything was found. The reference sums exact products in long double; see bound_of(). */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rung/emulator.h"

/* The argument of kernel `prepare`; cutlass_kernel.cu has the same struct. */
typedef struct launch {
    int32_t m, n, k;
    uint64_t a, b, c, d, metadata, workspace;
    double alpha, beta;
    int32_t grid[3], threads, shared_bytes, parameter_bytes, is_column_major_a, is_column_major_b;
    unsigned char parameters[4096];
} launch_t;

/* A matrix in the emulator's memory and as numbers. */
typedef struct matrix {
    const char *type;
    int64_t count, bytes; /* elements; bytes of the matrix */
    int bits;             /* of an element */
    double *values;
    unsigned char *memory;
    uint64_t address;
} matrix_t;

typedef struct test {
    const char *name, *sum_type;
    rung_emulator *emulator;
    launch_t launch;
    matrix_t a, b, c, d;
    int split;
    double seconds;
} test_t;

static void stop_on(rung_status status, const char *what)
{
    if (status == RUNG_OK)
        return;
    fprintf(stderr, "cutlass: %s failed: %s\n", what, rung_error_text());
    exit(1);
}

/* ---- Elements ------------------------------------------------------------------------------------------------------ */

/* Name, bits, and bits of the significand, the hidden one included; 0 for integers. */
static const struct {
    const char *name;
    int bits, precision;
} types[] = {{"f16", 16, 11}, {"bf16", 16, 8}, {"tf32", 32, 11}, {"f32", 32, 24}, {"f64", 64, 53},
             {"e4m3", 8, 4},  {"s8", 8, 0},    {"u8", 8, 0},     {"s4", 4, 0},    {"s32", 32, 0}};

static int type_of(const char *name)
{
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (strcmp(types[i].name, name) == 0)
            return i;
    fprintf(stderr, "cutlass: type %s is unknown\n", name);
    exit(2);
}

/* Rounds to a significand of the type. No value of this test is subnormal. */
static double round_to(double value, int precision)
{
    int exponent;
    double fraction = frexp(value, &exponent);
    return precision ? ldexp(rint(ldexp(fraction, precision)), exponent - precision) : rint(value);
}

static uint64_t encode(const char *type, double value)
{
    uint64_t bits = 0;
    float single = (float)value;
    int32_t integer = (int32_t)value;
    if (strcmp(type, "f64") == 0) {
        memcpy(&bits, &value, 8);
    } else if (types[type_of(type)].precision == 0) {
        memcpy(&bits, &integer, 4);
    } else {
        memcpy(&bits, &single, 4);
        if (strcmp(type, "bf16") == 0)
            bits >>= 16;
        else if (strcmp(type, "f16") == 0 && value != 0)
            bits = (bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10));
        else if (strcmp(type, "e4m3") == 0 && value != 0)
            bits = (bits >> 24 & 0x80) | ((bits >> 20 & 0x7ff) - (120 << 3));
    }
    return bits;
}

static double decode(const char *type, const unsigned char *memory)
{
    uint64_t bits = 0;
    float single;
    double value;
    memcpy(&bits, memory, (size_t)types[type_of(type)].bits / 8);
    if (strcmp(type, "f64") == 0) {
        memcpy(&value, &bits, 8);
        return value;
    }
    if (strcmp(type, "s32") == 0)
        return (int32_t)bits;
    if (strcmp(type, "f16") == 0) {
        int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
        value = exponent == 31 ? (fraction ? NAN : INFINITY)
                               : ldexp(fraction + (exponent ? 1024 : 0), (exponent ? exponent : 1) - 25);
        return bits & 0x8000 ? -value : value;
    }
    if (strcmp(type, "bf16") == 0)
        bits <<= 16;
    memcpy(&single, &bits, 4);
    return single;
}

/* ---- Matrices ------------------------------------------------------------------------------------------------------ */

static double draw(uint64_t *state, const char *type)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    double unit = (double)(int64_t)(*state >> 11) / 9007199254740992.0; /* [0, 1) */
    if (strcmp(type, "s8") == 0)
        return floor(unit * 256) - 128;
    if (strcmp(type, "u8") == 0)
        return floor(unit * 256);
    if (strcmp(type, "s4") == 0)
        return floor(unit * 16) - 8;
    if (strcmp(type, "s32") == 0)
        return floor(unit * 2001) - 1000;
    return round_to(unit < 0.5 ? -0.25 - unit : unit - 0.25, types[type_of(type)].precision); /* 0.25 to 0.75 */
}

static matrix_t make_matrix(rung_emulator *emulator, const char *name, const char *type, int64_t count, uint64_t seed)
{
    matrix_t matrix = {.type = type, .count = count, .bits = types[type_of(type)].bits};
    matrix.bytes = count * matrix.bits / 8;
    matrix.values = calloc((size_t)count, sizeof *matrix.values);
    matrix.memory = calloc((size_t)matrix.bytes, 1);
    if (!matrix.values || !matrix.memory)
        exit(1);
    for (int64_t i = 0; i < count; i++) {
        matrix.values[i] = seed ? draw(&seed, type) : 0;
        uint64_t bits = encode(type, matrix.values[i]);
        if (matrix.bits == 4)
            matrix.memory[i / 2] |= (unsigned char)((bits & 15) << 4 * (i % 2));
        else
            memcpy(matrix.memory + i * (matrix.bits / 8), &bits, (size_t)matrix.bits / 8);
    }
    stop_on(rung_emulator_allocate(emulator, matrix.bytes, name, &matrix.address), "allocating");
    if (seed) /* D stays uninitialized */
        stop_on(rung_emulator_write(emulator, matrix.address, matrix.memory, matrix.bytes), "writing");
    return matrix;
}

static void read_matrix(rung_emulator *emulator, matrix_t *matrix)
{
    stop_on(rung_emulator_read(emulator, matrix->address, matrix->memory, matrix->bytes), "reading");
    for (int64_t i = 0; i < matrix->count; i++)
        matrix->values[i] = decode(matrix->type, matrix->memory + i * (matrix->bits / 8));
    free(matrix->memory);
}

/* ---- Sparse A ------------------------------------------------------------------------------------------------------ */

/* Writes 4 bits of metadata where CUTLASS's kernels expect them: words of 16 bits (8 and 4-bit elements: 32) in columns that
 * are interleaved by two, with the rows that one instruction needs beside each other (reorder_meta in host_reorder.h). */
static void put_metadata(unsigned char *memory, int64_t rows, int64_t row, int64_t chunk, int word_bits, uint32_t bits)
{
    int64_t per_word = word_bits / 4, column = chunk / per_word, group = word_bits == 16 ? 32 : 16;
    int64_t to = row / group * group + row % 8 * (group / 8) + row % group / 8;
    if (to % 2 == 0 && column % 2 == 1) {
        to++;
        column--;
    } else if (to % 2 == 1 && column % 2 == 0) {
        to--;
        column++;
    }
    int64_t index = column / 2 * (2 * rows) + to * 2 + column % 2, bit = index * word_bits + chunk % per_word * 4;
    memory[bit / 8] |= (unsigned char)(bits << bit % 8);
}

/* Draws the metadata of a sparse A, whose stored elements `a` holds, and replaces the elements by those of the full matrix. */
static void expand(test_t *test, matrix_t *a, int64_t m, int64_t k)
{
    static const uint32_t pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}; /* of the elements 0 to 3, the lower one first */
    int64_t size = a->bits == 32 ? 2 : a->bits == 4 ? 8 : 4, bytes = m * k / size / 2;
    unsigned char *metadata = calloc((size_t)bytes, 1);
    double *values = calloc((size_t)(m * k), sizeof *values);
    uint64_t state = 4;
    if (!metadata || !values)
        exit(1);
    for (int64_t chunk = 0; chunk < m * k / size; chunk++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t random = (uint32_t)(state >> 33), bits = a->bits == 32 ? (random % 2 ? 0xe : 0x4) : pairs[random % 6];
        put_metadata(metadata, m, chunk / (k / size), chunk % (k / size), a->bits >= 16 ? 16 : 32, bits);
        for (int64_t i = 0; i < size / 2; i++) {
            int64_t index = a->bits == 32  ? (bits == 0xe)
                            : a->bits == 4 ? (bits >> i / 2 * 2 & 3) * 2 + i % 2
                                           : (bits >> i * 2 & 3);
            values[chunk * size + index] = a->values[chunk * size / 2 + i];
        }
    }
    free(a->values);
    a->values = values;
    stop_on(rung_emulator_allocate(test->emulator, bytes, "metadata", &test->launch.metadata), "allocating");
    stop_on(rung_emulator_write(test->emulator, test->launch.metadata, metadata, bytes), "writing");
    free(metadata);
}

/* ---- Launch -------------------------------------------------------------------------------------------------------- */

static void prepare(test_t *test, rung_emulator_module *module)
{
    rung_emulator_kernel *kernel;
    uint64_t address;
    void *arguments[] = {&address};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 1, arguments);
    stop_on(rung_emulator_kernel_find(module, "prepare", &kernel), "finding prepare");
    stop_on(rung_emulator_allocate(test->emulator, sizeof test->launch, "launch", &address), "allocating");
    stop_on(rung_emulator_write(test->emulator, address, &test->launch, sizeof test->launch), "writing");
    stop_on(rung_emulator_launch_kernel(kernel, &launch), "prepare");
    stop_on(rung_emulator_read(test->emulator, address, &test->launch, sizeof test->launch), "reading");
}

static void multiply(test_t *test, rung_emulator_module *module)
{
    struct timespec before, after;
    rung_emulator_kernel *kernel = rung_emulator_kernel_at(module, 0);
    if (strcmp(rung_emulator_kernel_get_info(kernel)->name, "prepare") == 0)
        kernel = rung_emulator_kernel_at(module, 1);
    rung_emulator_launch launch = rung_emulator_launch_of((uint32_t)test->launch.grid[0],
                                                          (uint32_t)test->launch.threads, NULL);
    launch.grid[1] = (uint32_t)test->launch.grid[1];
    launch.grid[2] = (uint32_t)test->launch.grid[2];
    launch.dynamic_shared_bytes = test->launch.shared_bytes;
    launch.parameter_buffer = test->launch.parameters;
    launch.parameter_bytes = test->launch.parameter_bytes;
    clock_gettime(CLOCK_MONOTONIC, &before);
    stop_on(rung_emulator_launch_kernel(kernel, &launch), test->name);
    clock_gettime(CLOCK_MONOTONIC, &after);
    test->seconds = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
}

/* ---- Comparison ---------------------------------------------------------------------------------------------------- */

/* Returns the largest error that any order of k + 8 roundings of the sum can have, and that of the result's rounding. */
static double bound_of(const test_t *test, double magnitude, double result)
{
    int precision = types[type_of(test->sum_type)].precision, stored = types[type_of(test->d.type)].precision;
    if (precision == 0)
        return 0;
    double slices = test->split > 1 ? test->split * fabs(result) * ldexp(1, -stored) : 0;
    return (test->launch.k + 8) * ldexp(magnitude, -precision) + fabs(result) * ldexp(1, 1 - stored) + slices;
}

static int64_t compare(test_t *test)
{
    const launch_t *launch = &test->launch;
    int64_t m = launch->m, n = launch->n, k = launch->k, wrong = 0;
    for (int64_t row = 0; row < m; row++)
        for (int64_t column = 0; column < n; column++) {
            long double sum = 0, magnitude = 0;
            for (int64_t i = 0; i < k; i++) {
                double x = test->a.values[launch->is_column_major_a ? i * m + row : row * k + i];
                double y = test->b.values[launch->is_column_major_b ? column * k + i : i * n + column];
                sum += (long double)x * y;
                magnitude += fabsl((long double)x * y);
            }
            double c = test->c.values[row * n + column], got = test->d.values[row * n + column];
            double expected = (double)(launch->alpha * sum + launch->beta * c);
            double bound = bound_of(test, (double)(launch->alpha * magnitude) + fabs(launch->beta * c), expected);
            if (fabs(got - expected) <= bound)
                continue;
            if (wrong++ < 3)
                printf("%s: element %lld, %lld is %.17g; expected %.17g within %g\n", test->name, (long long)row,
                       (long long)column, got, expected, bound);
        }
    return wrong;
}

static bool report(test_t *test)
{
    const rung_emulator_totals *totals = rung_emulator_get_totals(test->emulator, NULL);
    int64_t wrong = compare(test), findings = rung_emulator_finding_count(test->emulator);
    stop_on(totals ? RUNG_OK : RUNG_STATUS_NO_MEMORY, "counting");
    printf("%-80s %8.2f %14lld %8lld %6lld %9lld\n", test->name, test->seconds, (long long)totals->warp_instructions,
           (long long)test->d.count, (long long)wrong, (long long)findings);
    for (int64_t i = 0; i < findings && i < 5; i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(test->emulator, i);
        printf("    %s, line %d of %s: %s\n", rung_emulator_finding_name(finding->kind), (int)finding->place.line,
               finding->place.file ? finding->place.file : "the PTX", finding->text);
    }
    return wrong == 0 && findings == 0;
}

static char *read_text(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    char *text = size > 0 ? malloc((size_t)size) : NULL;
    if (!text) {
        fprintf(stderr, "cutlass: %s cannot be read\n", path);
        exit(1);
    }
    rewind(file);
    *bytes = fread(text, 1, (size_t)size, file);
    fclose(file);
    return text;
}

int main(int count, char **arguments)
{
    static test_t test;
    rung_emulator_module *module;
    rung_emulator_options options = rung_emulator_options_default();
    size_t bytes;
    if (count != 10) {
        fprintf(stderr, "usage: cutlass NAME FILE.ptx IN OUT SUM M N K SPLIT\n");
        return 2;
    }
    options.checks = RUNG_EMULATOR_CHECK_ALL;
    stop_on(rung_emulator_create(&options, &test.emulator), "creating an emulator");
    test.name = arguments[1];
    test.sum_type = arguments[5];
    test.split = atoi(arguments[9]);
    bool is_integer = types[type_of(test.sum_type)].precision == 0;
    test.launch = (launch_t){.m = atoi(arguments[6]),
                             .n = atoi(arguments[7]),
                             .k = atoi(arguments[8]),
                             .alpha = is_integer ? 1 : 1.25,
                             .beta = is_integer ? 1 : 0.5};
    int64_t m = test.launch.m, n = test.launch.n, k = test.launch.k;
    bool is_sparse = strncmp(arguments[3], "sp:", 3) == 0;
    const char *in = arguments[3] + (is_sparse ? 3 : 0);
    test.a = make_matrix(test.emulator, "A", in, is_sparse ? m * k / 2 : m * k, 1);
    if (is_sparse)
        expand(&test, &test.a, m, k);
    test.b = make_matrix(test.emulator, "B", in, k * n, 2);
    test.c = make_matrix(test.emulator, "C", arguments[4], m * n, 3);
    test.d = make_matrix(test.emulator, "D", arguments[4], m * n, 0);
    test.launch.a = test.a.address;
    test.launch.b = test.b.address;
    test.launch.c = test.c.address;
    test.launch.d = test.d.address;
    stop_on(rung_emulator_allocate(test.emulator, 4096, "workspace", &test.launch.workspace), "allocating");
    stop_on(rung_emulator_fill(test.emulator, test.launch.workspace, 0, 4, 1024), "filling");
    char *text = read_text(arguments[2], &bytes);
    stop_on(rung_emulator_module_load(test.emulator, arguments[2], text, bytes, &module), "loading");
    prepare(&test, module);
    multiply(&test, module);
    read_matrix(test.emulator, &test.d);
    bool is_right = report(&test);
    rung_emulator_destroy(test.emulator);
    free(text);
    return is_right ? 0 : 1;
}
