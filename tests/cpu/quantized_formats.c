/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_formats.c - multiplies on the CPU by matrices whose elements and scales are separate, in every format and layout, and
 * compares each element with sums in F64 of the values that rung_dequantize gives, and with the error bound of rung.h. */
#include "support/unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "cpu/amx_tiles.h"

enum { CANARY = 0x5a };

/* A format: the types of elements, scales and zero points (RUNG_TYPE_NONE: absent), and the block. */
typedef struct format {
    rung_type type, scale_type, zero_type;
    int64_t block_rows, block_cols;
} format_t;

static const format_t formats[] = {
    {RUNG_I8, RUNG_F32, RUNG_TYPE_NONE, 0, 0},       /* per tensor */
    {RUNG_I8, RUNG_F32, RUNG_TYPE_NONE, 0, 1},       /* per column */
    {RUNG_I8, RUNG_BF16, RUNG_TYPE_NONE, 1, 32},     /* along n */
    {RUNG_I8, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0}, /* no scales */
    {RUNG_I4, RUNG_F16, RUNG_TYPE_NONE, 32, 1},
    {RUNG_I4, RUNG_F32, RUNG_TYPE_NONE, 0, 1},
    {RUNG_I4, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_U4, RUNG_F16, RUNG_U4, 128, 1}, /* AWQ and GPTQ */
    {RUNG_U4, RUNG_F16, RUNG_U4, 5, 3},
    {RUNG_U4, RUNG_F32, RUNG_F16, 0, 1},
    {RUNG_U8, RUNG_F32, RUNG_U8, 64, 1},
    {RUNG_U8, RUNG_TYPE_NONE, RUNG_U8, 0, 1},
    {RUNG_F8E4M3, RUNG_F32, RUNG_TYPE_NONE, 128, 128},
    {RUNG_F8E4M3, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1}, /* MXFP8 */
    {RUNG_F8E4M3, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_F8E5M2, RUNG_F16, RUNG_TYPE_NONE, 0, 1},
    {RUNG_F8E5M2, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1},   /* MXFP8 */
    {RUNG_F4E2M1, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1},   /* MXFP4 */
    {RUNG_F4E2M1, RUNG_F8E4M3, RUNG_TYPE_NONE, 16, 1}, /* NVFP4 */
    {RUNG_F4E2M1, RUNG_F64, RUNG_TYPE_NONE, 7, 2},
    {RUNG_F16, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0}, /* not quantized, but narrower than A */
    {RUNG_BF16, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
};
enum { FORMATS = sizeof formats / sizeof *formats, QUANTIZED_FORMATS = FORMATS - 2 };

/* The layouts of B. Strides are in elements; `gap` elements lie between rows, or between columns. */
typedef enum layout { ROW_MAJOR, COL_MAJOR, STRIDED, LAYOUTS } layout_t;

typedef struct formats_case {
    const format_t *format;
    rung_type a_type, c_type;
    rung_compute compute;
    int64_t m, n, k;
    layout_t layout;
    int64_t gap, offset;
    bool is_a_transposed, is_c_transposed, are_scales_transposed, is_packed;
    double alpha, beta;
    const char *kernel; /* NULL: the library chooses */
} formats_case_t;

typedef struct formats_data {
    rung_problem problem;
    rung_quantization quantization;
    unsigned char *memory[5]; /* A, B, C, scales, zero points */
    double *a, *b, *c;
    int64_t c_bytes;
} formats_data_t;

/* ---- Data ------------------------------------------------------------------------------------------------------ */

static void *allocate(int64_t bytes)
{
    void *memory = malloc((size_t)bytes + 1);
    assert_non_null(memory);
    memset(memory, CANARY, (size_t)bytes + 1);
    return memory;
}

static double random_value(uint64_t *seed)
{
    double value = (double)unit_random(seed, 2000001) / 1e6 - 1;
    return unit_random(seed, 8) == 0 ? value * 64 : value;
}

static void put(rung_type type, void *memory, int64_t index, double value)
{
    switch (type) {
    case RUNG_F64: ((double *)memory)[index] = value; break;
    case RUNG_F16: ((uint16_t *)memory)[index] = rung_f16_from_f32((float)value); break;
    case RUNG_BF16: ((uint16_t *)memory)[index] = rung_bf16_from_f32((float)value); break;
    default: ((float *)memory)[index] = (float)value; break;
    }
}

static double get(rung_type type, const void *memory, int64_t index)
{
    switch (type) {
    case RUNG_F64: return ((const double *)memory)[index];
    case RUNG_F16: return (double)rung_f16_to_f32(((const uint16_t *)memory)[index]);
    case RUNG_BF16: return (double)rung_bf16_to_f32(((const uint16_t *)memory)[index]);
    default: return (double)((const float *)memory)[index];
    }
}

static int64_t bytes_of(rung_type type, int64_t elements)
{
    int64_t block = rung_type_block_elements(type);
    return (elements + block - 1) / block * rung_type_block_bytes(type);
}

static bool is_float(rung_type type)
{
    return type == RUNG_F32 || type == RUNG_F64 || type == RUNG_F16 || type == RUNG_BF16;
}

/* Fills elements with every finite code. */
static void fill_elements(uint64_t *seed, rung_type type, unsigned char *memory, int64_t elements)
{
    for (int64_t i = 0; i < elements && is_float(type); i++)
        put(type, memory, i, random_value(seed));
    for (int64_t i = 0; i < bytes_of(type, elements) && !is_float(type); i++) {
        memory[i] = (unsigned char)unit_random(seed, 256);
        if ((type == RUNG_F8E4M3 && (memory[i] & 0x7f) == 0x7f) || (type == RUNG_F8E5M2 && (memory[i] & 0x7c) == 0x7c))
            memory[i] = 1;
    }
}

/* Fills scales: positive, negative and zero ones, and some that are denormal. */
static void fill_scales(uint64_t *seed, rung_type type, unsigned char *memory, int64_t elements)
{
    static const double values[] = {0.01, 0.75, 3, -0.02, 0, 0x1.8p-16}; /* the last is denormal in F16 */
    if (type == RUNG_E8M0) {
        for (int64_t i = 0; i < elements; i++)
            memory[i] = (unsigned char)(115 + unit_random(seed, 16));
        return;
    }
    fill_elements(seed, type, memory, elements);
    for (int64_t i = 0; i < elements && is_float(type); i++)
        put(type, memory, i, values[unit_random(seed, 6)] * (double)(1 + unit_random(seed, 9)));
}

/* Returns a view with the layout, whose memory it allocates. */
static rung_matrix make_view(rung_type type, int64_t rows, int64_t cols, layout_t layout, int64_t gap, int64_t offset,
                             unsigned char **memory, int64_t *elements)
{
    int64_t step = layout == STRIDED ? 2 : 1, row = (cols > 0 ? cols : 1) + gap, col = (rows > 0 ? rows : 1) + gap;
    rung_matrix view = rung_matrix_of(type, rows, cols, NULL);
    view.row_stride = layout == COL_MAJOR ? 1 : row * step;
    view.col_stride = layout == COL_MAJOR ? col : step;
    view.offset = offset;
    *elements = rows > 0 && cols > 0 ? offset + (rows - 1) * view.row_stride + (cols - 1) * view.col_stride + 1 : 0;
    view.data = *memory = allocate(bytes_of(type, *elements));
    return view;
}

static rung_matrix make_dense(rung_type type, int64_t rows, int64_t cols, bool is_transposed, unsigned char **memory,
                              double **values, uint64_t *seed)
{
    int64_t elements;
    rung_matrix view = make_view(type, rows, cols, is_transposed ? COL_MAJOR : ROW_MAJOR, 0, 0, memory, &elements);
    *values = allocate(rows * cols * (int64_t)sizeof(double));
    fill_elements(seed, type, *memory, elements);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            (*values)[i * cols + j] = get(type, *memory, i * view.row_stride + j * view.col_stride);
    return view;
}

static int64_t ceil_divide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void make_scales(const formats_case_t *given, formats_data_t *data, uint64_t *seed)
{
    const format_t *format = given->format;
    int64_t rows = ceil_divide(given->k, format->block_rows > 0 ? format->block_rows : given->k + 1), elements;
    int64_t cols = ceil_divide(given->n, format->block_cols > 0 ? format->block_cols : given->n + 1);
    layout_t layout = given->are_scales_transposed ? COL_MAJOR : ROW_MAJOR;
    rung_quantization *quantization = &data->quantization;
    *quantization = rung_quantization_default();
    quantization->block_rows = format->block_rows;
    quantization->block_cols = format->block_cols;
    if (format->scale_type != RUNG_TYPE_NONE) {
        quantization->scales = make_view(format->scale_type, rows, cols, layout, given->gap, given->offset,
                                         &data->memory[3], &elements);
        fill_scales(seed, format->scale_type, data->memory[3], elements);
    }
    if (format->zero_type != RUNG_TYPE_NONE) {
        quantization->zero_points = make_view(format->zero_type, rows, cols, layout, given->gap, given->offset + 1,
                                              &data->memory[4], &elements);
        fill_elements(seed, format->zero_type, data->memory[4], elements);
    }
    if (format->scale_type != RUNG_TYPE_NONE || format->zero_type != RUNG_TYPE_NONE)
        data->problem.b_quantization = quantization;
}

static void dequantize_b(const formats_case_t *given, formats_data_t *data)
{
    rung_matrix values = rung_matrix_of(RUNG_F64, given->k, given->n, data->b);
    const rung_matrix *b = &data->problem.b;
    if (!is_float(b->type)) {
        assert_int_equal(rung_dequantize(*b, data->problem.b_quantization, values), RUNG_OK);
        return;
    }
    for (int64_t p = 0; p < given->k; p++)
        for (int64_t j = 0; j < given->n; j++)
            data->b[p * given->n + j] = get(b->type, b->data, b->offset + p * b->row_stride + j * b->col_stride);
}

/* `data` keeps the quantization to which the problem points, so that it must not be copied. */
static void make_data(const formats_case_t *given, uint64_t seed, formats_data_t *data)
{
    int64_t elements;
    memset(data, 0, sizeof *data);
    rung_matrix a = make_dense(given->a_type, given->m, given->k, given->is_a_transposed, &data->memory[0], &data->a,
                               &seed);
    rung_matrix b = make_view(given->format->type, given->k, given->n, given->layout, given->gap, given->offset,
                              &data->memory[1], &elements);
    rung_matrix c = make_dense(given->c_type, given->m, given->n, given->is_c_transposed, &data->memory[2], &data->c,
                               &seed);
    data->c_bytes = given->m * given->n * rung_type_size(given->c_type);
    fill_elements(&seed, given->format->type, data->memory[1], elements);
    data->b = allocate(given->k * given->n * (int64_t)sizeof(double));
    data->problem = rung_problem_of(a, b, c);
    data->problem.alpha = given->alpha;
    data->problem.beta = given->beta;
    data->problem.compute = given->compute;
    make_scales(given, data, &seed);
    dequantize_b(given, data);
}

static void free_data(formats_data_t *data)
{
    for (int i = 0; i < 5; i++)
        free(data->memory[i]);
    free(data->a);
    free(data->b);
    free(data->c);
}

/* ---- The result ------------------------------------------------------------------------------------------------ */

static double rounding_of(rung_type type)
{
    return type == RUNG_F32 ? 0x1p-24 : type == RUNG_F16 ? 0x1p-11 : 0x1p-8;
}

/* Returns the bound of the error of A * B as a factor of |A||B|. */
static double bound_factor(rung_compute compute, int64_t k)
{
    double u = 0x1p-24, gamma = (double)k * u / (1 - (double)k * u);
    return compute == RUNG_COMPUTE_STRICT ? gamma : 1.02 * gamma + 0x1p-7 + 0x1p-16;
}

/* Computes row i of A * B and of |A||B|. */
static void expected_row(const formats_case_t *given, const formats_data_t *data, int64_t i, double *sums,
                         double *magnitudes)
{
    memset(sums, 0, (size_t)given->n * sizeof *sums);
    memset(magnitudes, 0, (size_t)given->n * sizeof *magnitudes);
    for (int64_t p = 0; p < given->k; p++)
        for (int64_t j = 0; j < given->n; j++) {
            double product = data->a[i * given->k + p] * data->b[p * given->n + j];
            sums[j] += product;
            magnitudes[j] += fabs(product);
        }
}

static int count_wrong(const formats_case_t *given, const formats_data_t *data)
{
    int wrong = 0;
    const rung_matrix *c = &data->problem.c;
    double *sums = allocate(given->n * (int64_t)sizeof *sums), *magnitudes = allocate(given->n * (int64_t)sizeof *sums);
    for (int64_t i = 0; i < given->m; i++) {
        expected_row(given, data, i, sums, magnitudes);
        for (int64_t j = 0; j < given->n; j++) {
            double sum = sums[j], sizes = magnitudes[j], addend = given->beta * data->c[i * given->n + j];
            double expected = given->alpha * sum + addend;
            double bound = fabs(given->alpha) * bound_factor(given->compute, given->k) * sizes + 0x1p-120 +
                           8 * 0x1p-24 * (fabs(given->alpha * sum) + fabs(addend));
            bound += 1.001 * rounding_of(given->c_type) * (fabs(expected) + bound) +
                     0x1p-24 * (given->c_type == RUNG_F16);
            double found = get(given->c_type, c->data, i * c->row_stride + j * c->col_stride);
            if (fabs(expected) + bound > 65504 && given->c_type == RUNG_F16) /* may overflow */
                continue;
            if (!(fabs(found - expected) <= bound) && wrong++ == 0)
                printf(
                    "%s*%s:%s %s blocks of %lld x %lld, layout %d, %lld x %lld x %lld (%s): element %lld, %lld is %.9g; "
                    "expected %.9g with an error of up to %g\n",
                    rung_type_name(given->a_type), rung_type_name(given->format->type), rung_type_name(given->c_type),
                    rung_compute_name(given->compute), (long long)given->format->block_rows,
                    (long long)given->format->block_cols, (int)given->layout, (long long)given->m, (long long)given->n,
                    (long long)given->k, given->kernel ? given->kernel : "automatic", (long long)i, (long long)j, found,
                    expected, bound);
        }
    }
    free(sums);
    free(magnitudes);
    return wrong;
}

static rung_status multiply(rung_device *device, const formats_case_t *given, const rung_problem *problem,
                            int64_t threads)
{
    rung_plan_options options = rung_plan_options_default();
    rung_run_options run = rung_run_options_default();
    rung_kernel *kernel = NULL;
    rung_plan *plan = NULL;
    rung_queue *queue = NULL;
    rung_buffer *packed = NULL;
    options.threads = threads;
    options.packed_b = given->is_packed;
    if (given->kernel)
        assert_int_equal(rung_kernel_find(rung_device_context(device), "cpu", given->kernel, &kernel), RUNG_OK);
    options.kernel = kernel;
    rung_status status = rung_plan_create(device, problem, &options, &plan);
    if (status == RUNG_OK)
        assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    if (status == RUNG_OK && given->is_packed) {
        assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &packed), RUNG_OK);
        assert_int_equal(rung_plan_pack_b(plan, queue, &problem->b, packed, NULL), RUNG_OK);
        run.packed_b = packed;
    }
    if (status == RUNG_OK)
        status = rung_plan_run(plan, queue, problem, &run);
    rung_queue_destroy(queue);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
    return status;
}

/* Runs a case with one thread and with three: the bits are the same. Returns false if the kernel refuses it. */
static bool check_case(rung_device *device, const formats_case_t *given, uint64_t seed)
{
    formats_data_t data;
    make_data(given, seed, &data);
    unsigned char *before = allocate(data.c_bytes), *after = allocate(data.c_bytes);
    memcpy(before, data.memory[2], (size_t)data.c_bytes);
    rung_status status = multiply(device, given, &data.problem, 1);
    if (status == RUNG_OK) {
        assert_int_equal(count_wrong(given, &data), 0);
        memcpy(after, data.memory[2], (size_t)data.c_bytes);
        memcpy(data.memory[2], before, (size_t)data.c_bytes);
        assert_int_equal(multiply(device, given, &data.problem, 3), RUNG_OK);
        assert_memory_equal(after, data.memory[2], (size_t)data.c_bytes);
        assert_int_equal(data.memory[2][data.c_bytes], CANARY);
    } else {
        if (status != RUNG_STATUS_UNSUPPORTED)
            printf("%s\n", rung_error_text());
        assert_int_equal(status, RUNG_STATUS_UNSUPPORTED);
    }
    free(before);
    free(after);
    free_data(&data);
    return status == RUNG_OK;
}

/* Opens the CPU with at most this instruction set; NULL: the best one. */
static rung_device *open_device(const char *isa)
{
    rung_device *device;
    if (isa)
        setenv("RUNG_CPU_ISA", isa, 1);
    else
        unsetenv("RUNG_CPU_ISA");
    assert_int_equal(rung_device_open(NULL, "cpu", &device), RUNG_OK);
    unsetenv("RUNG_CPU_ISA");
    return device;
}

/* ---- Tests ----------------------------------------------------------------------------------------------------- */

static formats_case_t random_case(uint64_t *seed, const format_t *format)
{
    static const rung_type inputs[] = {RUNG_F32, RUNG_F16, RUNG_BF16};
    static const rung_compute modes[] = {RUNG_COMPUTE_STRICT, RUNG_COMPUTE_STRICT, RUNG_COMPUTE_BF16X1,
                                         RUNG_COMPUTE_Q8};
    static const double scalars[] = {1, 1, 0, -0.5, 3};
    static const int64_t rows[] = {1, 2, 3, 5, 8, 13, 17, 33, 48};
    rung_type in = is_float(format->type) ? RUNG_F32 : inputs[unit_random(seed, 3)];
    return (formats_case_t){.format = format,
                            .a_type = in,
                            .c_type = unit_random(seed, 2) ? in : RUNG_F32,
                            .compute = modes[unit_random(seed, 4)],
                            .m = rows[unit_random(seed, 9)],
                            .n = 1 + unit_random(seed, unit_random(seed, 4) ? 40 : 200),
                            .k = 1 + unit_random(seed, unit_random(seed, 4) ? 150 : 700),
                            .layout = (layout_t)unit_random(seed, LAYOUTS),
                            .gap = unit_random(seed, 4),
                            .offset = unit_random(seed, 4),
                            .is_a_transposed = unit_random(seed, 3) == 0,
                            .is_c_transposed = unit_random(seed, 3) == 0,
                            .are_scales_transposed = unit_random(seed, 2) != 0,
                            .alpha = scalars[unit_random(seed, 5)],
                            .beta = scalars[unit_random(seed, 5)]};
}

/* The library chooses the kernel. */
static void every_format_is_within_the_bound(void **state)
{
    static const char *const sets[] = {NULL, "avx512", "avx2", "portable"};
    enum { CASES = 12 };
    uint64_t seed = 1;
    (void)state;
    for (int set = 0; set < 4; set++) {
        rung_device *device = open_device(sets[set]);
        for (int format = 0; format < FORMATS; format++)
            for (int i = 0; i < CASES; i++) {
                formats_case_t given = random_case(&seed, &formats[format]);
                assert_true(check_case(device, &given, seed));
            }
        rung_device_close(device);
    }
}

/* C has several blocks for several threads, and B several blocks along k: each begins in the middle of scale blocks. */
static void large_problems_are_within_the_bound(void **state)
{
    uint64_t seed = 2;
    rung_device *device = open_device(NULL);
    (void)state;
    for (int format = 0; format < FORMATS; format++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            formats_case_t given = random_case(&seed, &formats[format]);
            given.m = 40;
            given.n = 333;
            given.k = 1205;
            given.layout = (layout_t)layout;
            given.alpha = 1;
            given.compute = RUNG_COMPUTE_STRICT;
            given.kernel = "10_pipeline";
            assert_true(check_case(device, &given, seed));
        }
    rung_device_close(device);
}

/* Each code, times 1 and in a matrix of its own, is exactly what rung_dequantize gives. */
static void every_code_is_exact(void **state)
{
    static const float one = 1;
    (void)state;
    for (int format = 0; format < QUANTIZED_FORMATS; format++) {
        rung_type type = formats[format].type;
        bool is_4_bit = rung_type_block_elements(type) == 2;
        for (int code = 0; code < (is_4_bit ? 16 : 256); code++)
            for (int64_t offset = 0; offset < 3; offset++) {
                unsigned char memory[3] = {0xa5, 0xa5, 0xa5};
                if (is_4_bit)
                    memory[offset / 2] = (unsigned char)(offset % 2 ? code << 4 | 5 : code | 0xa0);
                else
                    memory[offset] = (unsigned char)code;
                float expected = 0, found = 0;
                rung_matrix b = rung_matrix_of(type, 1, 1, memory);
                b.offset = offset;
                assert_int_equal(rung_dequantize(b, NULL, rung_matrix_of(RUNG_F32, 1, 1, &expected)), RUNG_OK);
                assert_int_equal(rung_gemm(NULL, 1, rung_matrix_of(RUNG_F32, 1, 1, &one), b, 0,
                                           rung_matrix_of(RUNG_F32, 1, 1, &found)),
                                 RUNG_OK);
                if (!(found == expected || (isnan(found) && isnan(expected))))
                    fail_msg("%s code %d is %g; expected %g", rung_type_name(type), code, (double)found,
                             (double)expected);
            }
    }
}

/* Tiles, with slices of k and with rows, columns and k that fill the last tile partly. */
static void tiles_are_within_the_bound(void **state)
{
    static const int64_t depths[] = {1, 31, 64, 97, 1205, 3000};
    uint64_t seed = 6;
    int computed = 0;
    rungi_cpu_features features;
    rung_device *device = open_device(NULL);
    (void)state;
    for (int format = 0; format < QUANTIZED_FORMATS; format++)
        for (int i = 0; i < 6; i++) {
            formats_case_t given = random_case(&seed, &formats[format]);
            given.n = i == 5 ? 37 : given.n;
            given.k = depths[i];
            given.layout = COL_MAJOR;
            given.alpha = 1;
            given.compute = i % 2 ? RUNG_COMPUTE_BF16X1 : RUNG_COMPUTE_Q8;
            given.kernel = "15_quantized";
            computed += check_case(device, &given, seed);
        }
    rungi_cpu_features_detect(&features);
    assert_int_equal(computed, has_amx_tiles(&features) ? 6 * QUANTIZED_FORMATS : 0);
    if (computed == 0)
        printf("15_quantized has no tiles on this processor\n");
    rung_device_close(device);
}

/* Multiplies a line of codes by the identity, or by 1 if it is a row, and expects the values of rung_dequantize. */
static void check_line(rung_device *device, rung_type type, int64_t count, const unsigned char *codes, bool is_column)
{
    static float identity[256 * 256], expected[256], found[256];
    formats_case_t given = {.kernel = "10_pipeline"};
    int64_t k = is_column ? count : 1;
    for (int64_t i = 0; i < k * k; i++)
        identity[i] = i % (k + 1) == 0;
    rung_matrix line = rung_matrix_of(type, k, is_column ? 1 : count, codes);
    assert_int_equal(rung_dequantize(line, NULL, rung_matrix_of(RUNG_F32, line.rows, line.cols, expected)), RUNG_OK);
    line.col_stride = is_column ? count : 1; /* the line of a column-major B */
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, k, k, identity), line,
                                           rung_matrix_of(RUNG_F32, k, line.cols, found));
    assert_int_equal(multiply(device, &given, &problem, 1), RUNG_OK);
    for (int64_t i = 0; i < count; i++)
        if (!(found[i] == expected[i] || (isnan(found[i]) && isnan(expected[i]))))
            fail_msg("%s: element %lld is %g; expected %g", rung_type_name(type), (long long)i, (double)found[i],
                     (double)expected[i]);
}

/* All codes in one row and in one column, on every instruction set: the loops for whole lines. */
static void every_code_is_exact_in_a_line(void **state)
{
    static const char *const sets[] = {NULL, "avx512", "avx2", "portable"};
    (void)state;
    for (int set = 0; set < 4; set++) {
        rung_device *device = open_device(sets[set]);
        for (int format = 0; format < QUANTIZED_FORMATS; format++) {
            rung_type type = formats[format].type;
            bool is_4_bit = rung_type_block_elements(type) == 2;
            unsigned char codes[256], finite[256];
            for (int i = 0; i < 256; i++) {
                codes[i] = (unsigned char)(is_4_bit ? i % 16 * 16 + (i * 7 + i / 16) % 16 : i);
                bool is_finite = (type != RUNG_F8E4M3 || (i & 0x7f) != 0x7f) &&
                                 (type != RUNG_F8E5M2 || (i & 0x7c) != 0x7c);
                finite[i] = is_finite ? codes[i] : 0; /* 0 times a NaN is a NaN */
            }
            check_line(device, type, is_4_bit ? 32 : 256, codes, false);
            check_line(device, type, is_4_bit ? 32 : 256, finite, true);
        }
        rung_device_close(device);
    }
}

/* A NaN or an infinity in an element or in a scale reaches the columns of its block, and no other column. */
static void codes_that_are_not_finite_stay_in_their_column(void **state)
{
    enum { M = 3, N = 5, K = 70 };
    static float a[M * K], c[M * N];
    static unsigned char codes[K * N], scales[3 * N];
    rung_quantization mx = rung_quantization_default();
    (void)state;
    for (int i = 0; i < M * K; i++)
        a[i] = 1;
    mx.block_rows = 32;
    mx.block_cols = 1;
    mx.scales = rung_matrix_of(RUNG_E8M0, 3, N, scales);
    for (int which = 0; which < 4; which++)
        for (int is_transposed = 0; is_transposed < 2; is_transposed++) {
            rung_type type = which == 0 ? RUNG_F8E4M3 : RUNG_F8E5M2;
            rung_matrix b = rung_matrix_of(type, K, N, codes);
            if (is_transposed)
                b = rung_matrix_transpose(rung_matrix_of(type, N, K, codes));
            memset(codes, 0x30, sizeof codes);
            memset(scales, 127, sizeof scales);
            if (which < 3)
                codes[65 * b.row_stride + 3 * b.col_stride] = which == 0 ? 0xff : which == 1 ? 0x7c : 0x7e;
            else
                scales[2 * N + 3] = 0xff;
            rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a), b,
                                                   rung_matrix_of(RUNG_F32, M, N, c));
            problem.b_quantization = &mx;
            assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
            for (int i = 0; i < M * N; i++) {
                assert_int_equal(isfinite(c[i]) != 0, i % N != 3);
                assert_true(which != 1 || i % N != 3 || isinf(c[i]));
            }
        }
}

/* No part of an empty problem is read, and per-tensor scales may be present. */
static void sizes_may_be_zero(void **state)
{
    rung_device *device = open_device(NULL);
    uint64_t seed = 3;
    (void)state;
    for (int format = 0; format < FORMATS; format++)
        for (int zero = 0; zero < 3; zero++) {
            formats_case_t given = random_case(&seed, &formats[format]);
            *(zero == 0 ? &given.m : zero == 1 ? &given.n : &given.k) = 0;
            assert_true(check_case(device, &given, seed));
        }
    rung_device_close(device);
}

/* Without scales, B can be packed. */
static void a_b_without_scales_can_be_packed(void **state)
{
    rung_device *device = open_device(NULL);
    uint64_t seed = 4;
    (void)state;
    for (int format = 0; format < FORMATS; format++) {
        formats_case_t given = random_case(&seed, &formats[format]);
        given.is_packed = true;
        bool has_blocks = given.format->scale_type != RUNG_TYPE_NONE || given.format->zero_type != RUNG_TYPE_NONE;
        assert_int_equal(check_case(device, &given, seed), !has_blocks);
        assert_true(!has_blocks || strstr(rung_error_text(), "a packed B cannot have a rung_quantization"));
    }
    rung_device_close(device);
}

/* ---- Batches, groups, plans and calls --------------------------------------------------------------------------- */

/* Memory of B with 4-bit elements and zero points for several items. */
enum {
    ITEMS = 5,
    M = 2,
    N = 3,
    K = 37,
    BLOCK = 8,
    SCALES = 5 * N
}; /* K * N is odd: items begin in the middle of bytes */
static float a_memory[ITEMS * M * K], c_memory[ITEMS * M * N];
static unsigned char b_memory[ITEMS * K * N], zero_memory[ITEMS * SCALES];
static uint16_t scale_memory[ITEMS * SCALES];

static rung_quantization fill_items(void)
{
    uint64_t seed = 5;
    rung_quantization quantization = rung_quantization_default();
    unit_fill(&seed, a_memory, ITEMS * M * K);
    fill_elements(&seed, RUNG_U4, b_memory, ITEMS * K * N * 2);
    fill_scales(&seed, RUNG_F16, (unsigned char *)scale_memory, ITEMS * SCALES);
    fill_elements(&seed, RUNG_U4, zero_memory, ITEMS * SCALES * 2);
    quantization.block_rows = BLOCK;
    quantization.block_cols = 1;
    quantization.scales = rung_matrix_of(RUNG_F16, 5, N, scale_memory);
    quantization.zero_points = rung_matrix_of(RUNG_U4, 5, N, zero_memory);
    return quantization;
}

/* Returns the problem of one item; `item` of the quantization, too. */
static rung_problem item_problem(int item, rung_quantization *quantization, float *c)
{
    rung_matrix b = rung_matrix_of(RUNG_U4, K, N, b_memory);
    b.offset = (int64_t)item * K * N;
    quantization->scales.offset = quantization->zero_points.offset = (int64_t)item * SCALES;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a_memory + item * M * K), b,
                                           rung_matrix_of(RUNG_F32, M, N, c));
    problem.b_quantization = quantization;
    return problem;
}

/* Fills the results of all items by dequantized multiplications. */
static void expect_items(float expected[ITEMS][M * N])
{
    static float values[K * N];
    for (int item = 0; item < ITEMS; item++) {
        rung_quantization quantization = fill_items();
        rung_problem one = item_problem(item, &quantization, expected[item]);
        assert_int_equal(rung_dequantize(one.b, &quantization, rung_matrix_of(RUNG_F32, K, N, values)), RUNG_OK);
        assert_int_equal(rung_gemm(NULL, 1, one.a, rung_matrix_of(RUNG_F32, K, N, values), 0, one.c), RUNG_OK);
        for (int i = 0; i < M * N; i++)
            assert_true(isfinite(expected[item][i]));
    }
}

static void assert_close(const float *found, const float *expected, int count)
{
    for (int i = 0; i < count; i++)
        assert_true(fabsf(found[i] - expected[i]) <= 1e-4f * fmaxf(fabsf(expected[i]), 1));
}

static void items_of_a_batch_have_their_own_scales(void **state)
{
    static float expected[ITEMS][M * N];
    static const int64_t offsets[ITEMS] = {4 * SCALES, 3 * SCALES, 2 * SCALES, SCALES, 0};
    (void)state;
    expect_items(expected);
    rung_quantization quantization = fill_items();
    rung_problem problem = item_problem(0, &quantization, c_memory);
    problem.batch = ITEMS;
    problem.a.batch_stride = M * K;
    problem.b.batch_stride = K * N;
    problem.c.batch_stride = M * N;
    quantization.scales.batch_stride = quantization.zero_points.batch_stride = SCALES;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    assert_close(c_memory, expected[0], ITEMS * M * N);
    quantization.scales.batch_offsets = offsets; /* scales of other items: the result differs */
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    assert_close(c_memory + 2 * M * N, expected[2], M * N);
    assert_true(memcmp(c_memory, expected[0], sizeof expected[0]) != 0);
}

static void problems_of_a_group_have_their_own_scales(void **state)
{
    static float expected[ITEMS][M * N];
    rung_problem problems[ITEMS];
    rung_quantization quantizations[ITEMS];
    (void)state;
    expect_items(expected);
    for (int item = 0; item < ITEMS; item++) {
        quantizations[item] = fill_items();
        problems[item] = item_problem(item, &quantizations[item], c_memory + item * M * N);
    }
    rung_group group = rung_group_of(problems, ITEMS);
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_OK);
    assert_close(c_memory, expected[0], ITEMS * M * N);
    problems[4].c.data = scale_memory; /* which problem 2 reads */
    assert_int_equal(rung_group_multiply(NULL, &group, NULL), RUNG_STATUS_ALIASED);
    problems[4].c.data = c_memory + 4 * M * N;
}

/* Calls with the same sizes and other scales must not share a plan, unless only addresses differ. */
static void plans_depend_on_the_form_of_scales_only(void **state)
{
    static float expected[ITEMS][M * N], values[K * N];
    rung_device *device = open_device(NULL);
    rung_queue *queue;
    rung_plan *plan;
    (void)state;
    expect_items(expected);
    rung_quantization quantization = fill_items();
    rung_problem problem = item_problem(0, &quantization, c_memory);
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    for (int item = 0; item < ITEMS; item++) {
        problem = item_problem(item, &quantization, c_memory);
        assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
        assert_close(c_memory, expected[item], M * N);
        assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
        assert_close(c_memory, expected[item], M * N);
    }
    problem.b_quantization = NULL;
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    assert_int_equal(rung_dequantize(problem.b, NULL, rung_matrix_of(RUNG_F32, K, N, values)), RUNG_OK);
    assert_int_equal(rung_gemm(NULL, 1, problem.a, rung_matrix_of(RUNG_F32, K, N, values), 0,
                               rung_matrix_of(RUNG_F32, M, N, expected[0])),
                     RUNG_OK);
    assert_close(c_memory, expected[0], M * N);
    problem.b_quantization = &quantization;
    quantization.block_rows = 9; /* 5 blocks, too */
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    assert_int_equal(rung_dequantize(problem.b, &quantization, rung_matrix_of(RUNG_F32, K, N, values)), RUNG_OK);
    assert_int_equal(rung_gemm(NULL, 1, problem.a, rung_matrix_of(RUNG_F32, K, N, values), 0,
                               rung_matrix_of(RUNG_F32, M, N, expected[0])),
                     RUNG_OK);
    assert_close(c_memory, expected[0], M * N);
    rung_queue_destroy(queue);
    rung_plan_destroy(plan);
    rung_device_close(device);
}

/* Scales may be in a buffer if a plan runs, and rung_multiply refuses them. */
static void scales_may_be_in_a_buffer(void **state)
{
    static float expected[ITEMS][M * N];
    rung_device *device = open_device(NULL);
    rung_queue *queue;
    rung_plan *plan;
    rung_buffer *buffer;
    (void)state;
    expect_items(expected);
    rung_quantization quantization = fill_items();
    rung_problem problem = item_problem(1, &quantization, c_memory);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_buffer_create(device, sizeof scale_memory, &buffer), RUNG_OK);
    assert_int_equal(rung_buffer_write(queue, buffer, 0, sizeof scale_memory, scale_memory, NULL), RUNG_OK);
    quantization.scales.data = NULL;
    quantization.scales.buffer = buffer;
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    assert_close(c_memory, expected[1], M * N);
    quantization.scales.offset = ITEMS * SCALES - 14; /* one element too few */
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "in a buffer"));
    rung_plan_destroy(plan);
    rung_buffer_destroy(buffer);
    rung_queue_destroy(queue);
    rung_device_close(device);
}

/* ---- Refusals -------------------------------------------------------------------------------------------------- */

static void expect(rung_status expected, const rung_problem *problem, const char *words)
{
    rung_status status = rung_multiply(NULL, problem, NULL);
    if (status != expected || !strstr(rung_error_text(), words))
        fail_msg("status %d instead of %d, and \"%s\" instead of \"%s\"", (int)status, (int)expected, rung_error_text(),
                 words);
}

static void invalid_scales_are_refused(void **state)
{
    rung_quantization quantization = fill_items();
    rung_problem problem = item_problem(0, &quantization, c_memory);
    (void)state;
    quantization.scales.rows = 4;
    expect(RUNG_STATUS_INVALID, &problem,
           "the scales are 4 x 3; blocks of 8 x 1 elements of a 37 x 3 matrix need 5 x 3");
    quantization.scales.rows = 5;
    quantization.zero_points.cols = 4;
    expect(RUNG_STATUS_INVALID, &problem, "the zero points are 5 x 4");
    quantization.zero_points.cols = 3;
    quantization.block_rows = -1;
    expect(RUNG_STATUS_INVALID, &problem, "use 0 for all rows");
    quantization.block_rows = BLOCK;
    quantization.scales.row_stride = -1;
    expect(RUNG_STATUS_INVALID, &problem, "the matrix of scales has strides -1");
    quantization.scales.row_stride = INT64_MAX / 4;
    expect(RUNG_STATUS_TOO_LARGE, &problem, "the matrix of scales");
    quantization.scales.row_stride = N;
    quantization.scales.data = NULL;
    expect(RUNG_STATUS_INVALID, &problem, "the matrix of scales has neither data nor a buffer");
    quantization.scales.data = (char *)scale_memory + 1;
    expect(RUNG_STATUS_INVALID, &problem, "not aligned");
    quantization.scales.data = scale_memory;
    quantization.scales.type = RUNG_I32;
    expect(RUNG_STATUS_UNSUPPORTED, &problem, "the scales have type i32");
    quantization.scales.type = RUNG_F16;
    problem.c.data = scale_memory;
    expect(RUNG_STATUS_ALIASED, &problem, "C overlaps the matrix of scales");
    problem.c.data = c_memory;
    problem.a_quantization = &quantization;
    expect(RUNG_STATUS_UNSUPPORTED, &problem, "A has scales or zero points with types f32 x u4");
    problem.a_quantization = NULL;
    problem.a.type = RUNG_F64;
    expect(RUNG_STATUS_UNSUPPORTED, &problem, "and A one of these types or f32, f16 or bf16");
    problem.a.type = RUNG_F32;
    problem.b.type = RUNG_F16;
    expect(RUNG_STATUS_UNSUPPORTED, &problem, "B has scales or zero points with types f32 x f16");
    problem.b.type = RUNG_U4;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
}

/* Only kernels that dequantize take such a B. */
static void other_kernels_refuse_narrow_types(void **state)
{
    static const char *const kernels[] = {"01_naive", "09_warptile", "12_matrix"};
    rung_device *device = open_device(NULL);
    rung_quantization quantization = fill_items();
    rung_problem problem = item_problem(0, &quantization, c_memory);
    (void)state;
    for (int i = 0; i < 3; i++) {
        formats_case_t given = {.kernel = kernels[i]};
        assert_int_equal(multiply(device, &given, &problem, 1), RUNG_STATUS_UNSUPPORTED);
        assert_non_null(strstr(rung_error_text(), "does not multiply f32 x u4 into f32"));
    }
    rung_device_close(device);
}

/* Elements of 4 bits are not multiplied into integers. A plan computed with their size in bytes, which is 0. */
static void integers_of_4_bits_are_refused(void **state)
{
    static uint8_t a[32], b[32];
    static int32_t c[16];
    rung_device *device = open_device(NULL);
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_U4, 4, 8, a), rung_matrix_of(RUNG_U4, 8, 4, b),
                                           rung_matrix_of(RUNG_I32, 4, 4, c));
    rung_plan *plan;
    (void)state;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "no kernel multiplies u4 x u4 into i32"));
    rung_device_close(device);
}

/* A may be F32, F16 or BF16, and C has its type or F32; or A is quantized, too, and C is F32 or BF16. */
static void types_combine_as_documented(void **state)
{
    (void)state;
    for (int a = RUNG_F32; a <= RUNG_Q4_0; a++)
        for (int b = RUNG_F32; b <= RUNG_F4E2M1; b++)
            for (int c = RUNG_F32; c <= RUNG_Q4_0; c++) {
                bool is_narrow = b == RUNG_I8 || (b >= RUNG_U8 && b <= RUNG_F4E2M1);
                bool is_half = b == RUNG_F16 || b == RUNG_BF16;
                bool is_a = a == RUNG_F32 || ((a == RUNG_F16 || a == RUNG_BF16) && is_narrow);
                bool is_pair = is_narrow && (a == RUNG_I8 || (a >= RUNG_U8 && a <= RUNG_F4E2M1));
                bool is_c = c == RUNG_F32 || (is_a && c == a) || (is_pair && c == RUNG_BF16);
                if ((a != b || is_narrow) && (is_narrow || is_half) && c != RUNG_I32)
                    assert_int_equal(rung_accumulator_type((rung_type)a, (rung_type)b, (rung_type)c),
                                     (is_a || is_pair) && is_c ? RUNG_F32 : RUNG_TYPE_NONE);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_within_the_bound),
        cmocka_unit_test(large_problems_are_within_the_bound),
        cmocka_unit_test(tiles_are_within_the_bound),
        cmocka_unit_test(every_code_is_exact),
        cmocka_unit_test(every_code_is_exact_in_a_line),
        cmocka_unit_test(codes_that_are_not_finite_stay_in_their_column),
        cmocka_unit_test(sizes_may_be_zero),
        cmocka_unit_test(a_b_without_scales_can_be_packed),
        cmocka_unit_test(items_of_a_batch_have_their_own_scales),
        cmocka_unit_test(problems_of_a_group_have_their_own_scales),
        cmocka_unit_test(plans_depend_on_the_form_of_scales_only),
        cmocka_unit_test(scales_may_be_in_a_buffer),
        cmocka_unit_test(invalid_scales_are_refused),
        cmocka_unit_test(other_kernels_refuse_narrow_types),
        cmocka_unit_test(integers_of_4_bits_are_refused),
        cmocka_unit_test(types_combine_as_documented),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
