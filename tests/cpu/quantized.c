/* SPDX-License-Identifier: Apache-2.0 */
/* quantized.c - multiplies by quantized matrices on the CPU, in every layout and mode that kernels have, and compares each element
 * with sums in F64 and the error bound of rung.h. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>

#include "cpu/amx_tiles.h"
#include "cpu/quantized/quantized_tiles.h"

enum { BLOCK = 32, CANARY = 0x5a };

/* One problem. Strides are what the dense matrices need plus the gaps, in elements. */
typedef struct quantized_case {
    rung_type a_type, b_type, c_type;
    rung_compute compute;
    int64_t m, n, k, a_gap, b_gap, c_gap;
    bool is_a_transposed, is_c_transposed, has_bias, has_multiplier, has_packed_b;
    double alpha, beta;
    rung_activation activation;
    const char *kernel; /* NULL: the library chooses */
} quantized_case_t;

/* Memory of one problem, and A and B as they count. */
typedef struct quantized_data {
    rung_problem problem;
    unsigned char *memory[5];
    double *a, *b, *bias, *multiplier, *c;
    int64_t c_bytes;
} quantized_data_t;

static double random_value(uint64_t *seed)
{
    double value = (double)unit_random(seed, 2000001) / 1e6 - 1;
    return unit_random(seed, 8) == 0 ? value * 64 : value; /* so that blocks have different scales */
}

/* ---- Elements -------------------------------------------------------------------------------------------------- */

static void put(rung_type type, void *memory, int64_t index, double value)
{
    switch (type) {
    case RUNG_F16: ((uint16_t *)memory)[index] = rung_f16_from_f32((float)value); break;
    case RUNG_BF16: ((uint16_t *)memory)[index] = rung_bf16_from_f32((float)value); break;
    default: ((float *)memory)[index] = (float)value; break;
    }
}

static double get(rung_type type, const void *memory, int64_t index)
{
    switch (type) {
    case RUNG_F16: return (double)rung_f16_to_f32(((const uint16_t *)memory)[index]);
    case RUNG_BF16: return (double)rung_bf16_to_f32(((const uint16_t *)memory)[index]);
    default: return (double)((const float *)memory)[index];
    }
}

static void *allocate(int64_t bytes)
{
    void *memory = malloc((size_t)bytes + 1);
    assert_non_null(memory);
    memset(memory, CANARY, (size_t)bytes + 1);
    return memory;
}

/* Fills blocks with every code and with scales of several sizes. */
static void fill_blocks(uint64_t *seed, rung_type type, unsigned char *bytes, int64_t count)
{
    static const float scales[] = {0, 0x1p-24f, -0.001f, 0.01f, 0.5f, -2};
    int64_t size = rung_type_block_bytes(type);
    for (int64_t i = 0; i < count * size; i++)
        bytes[i] = (unsigned char)unit_random(seed, 256);
    for (int64_t i = 0; i < count; i++) {
        uint16_t scale = rung_f16_from_f32(scales[unit_random(seed, 6)] * (float)(1 + unit_random(seed, 7)));
        memcpy(bytes + i * size, &scale, sizeof scale);
    }
}

/* Reads one element of B from its block, as GGML's documentation defines it. */
static double read_block(rung_type type, const unsigned char *bytes, int64_t index)
{
    const unsigned char *block = bytes + index / BLOCK * rung_type_block_bytes(type), *codes = block + 2;
    int64_t e = index % BLOCK;
    uint16_t scale;
    memcpy(&scale, block, sizeof scale);
    int code = type == RUNG_Q8_0 ? (signed char)codes[e]
                                 : (e < BLOCK / 2 ? codes[e] & 15 : codes[e - BLOCK / 2] >> 4) - 8;
    return (double)rung_f16_to_f32(scale) * code;
}

/* ---- A problem ------------------------------------------------------------------------------------------------- */

static rung_matrix make_a(const quantized_case_t *given, quantized_data_t *data, uint64_t *seed)
{
    int64_t inner = (given->is_a_transposed ? given->m : given->k) + given->a_gap;
    int64_t outer = given->is_a_transposed ? given->k : given->m;
    rung_matrix a = rung_matrix_of(given->a_type, given->m, given->k, NULL);
    a.row_stride = given->is_a_transposed ? 1 : inner;
    a.col_stride = given->is_a_transposed ? inner : 1;
    a.data = data->memory[0] = allocate(inner * outer * rung_type_size(given->a_type));
    data->a = allocate(given->m * given->k * (int64_t)sizeof(double));
    for (int64_t i = 0; i < given->m; i++)
        for (int64_t p = 0; p < given->k; p++) {
            int64_t index = i * a.row_stride + p * a.col_stride;
            put(given->a_type, a.data, index, random_value(seed));
            data->a[i * given->k + p] = get(given->a_type, a.data, index);
        }
    return a;
}

static rung_matrix make_b(const quantized_case_t *given, quantized_data_t *data, uint64_t *seed)
{
    int64_t stride = given->k + given->b_gap;
    rung_matrix b = rung_matrix_ld(given->b_type, given->k, given->n, stride > 0 ? stride : 1, RUNG_ORDER_COL_MAJOR,
                                   NULL);
    int64_t blocks = given->n > 0 && given->k > 0 ? ((given->n - 1) * stride + given->k) / BLOCK : 0;
    b.data = data->memory[1] = allocate(blocks * rung_type_block_bytes(given->b_type));
    data->b = allocate(given->n * given->k * (int64_t)sizeof(double));
    fill_blocks(seed, given->b_type, b.data, blocks);
    for (int64_t j = 0; j < given->n; j++)
        for (int64_t p = 0; p < given->k; p++)
            data->b[j * given->k + p] = read_block(given->b_type, b.data, j * stride + p);
    return b;
}

static rung_matrix make_c(const quantized_case_t *given, quantized_data_t *data, uint64_t *seed)
{
    int64_t inner = (given->is_c_transposed ? given->m : given->n) + given->c_gap;
    int64_t outer = given->is_c_transposed ? given->n : given->m;
    rung_matrix c = rung_matrix_of(given->c_type, given->m, given->n, NULL);
    c.row_stride = given->is_c_transposed ? 1 : inner;
    c.col_stride = given->is_c_transposed ? inner : 1;
    data->c_bytes = inner * outer * rung_type_size(given->c_type);
    c.data = data->memory[2] = allocate(data->c_bytes);
    data->c = allocate(given->m * given->n * (int64_t)sizeof(double));
    for (int64_t i = 0; i < given->m; i++)
        for (int64_t j = 0; j < given->n; j++) {
            int64_t index = i * c.row_stride + j * c.col_stride;
            put(given->c_type, c.data, index, random_value(seed));
            data->c[i * given->n + j] = get(given->c_type, c.data, index);
        }
    return c;
}

/* Adds a multiplier whose rows lie five elements apart; 1 for problems without one. */
static void add_multiplier(const quantized_case_t *given, quantized_data_t *data, uint64_t *seed)
{
    int64_t stride = given->n + 5;
    data->memory[4] = allocate(given->m * stride * rung_type_size(given->c_type));
    data->multiplier = allocate(given->m * given->n * (int64_t)sizeof(double));
    for (int64_t i = 0; i < given->m; i++)
        for (int64_t j = 0; j < given->n; j++) {
            put(given->c_type, data->memory[4], i * stride + j, random_value(seed));
            data->multiplier[i * given->n + j] = given->has_multiplier
                                                     ? get(given->c_type, data->memory[4], i * stride + j)
                                                     : 1;
        }
    if (given->has_multiplier)
        data->problem.multiplier = rung_matrix_ld(given->c_type, given->m, given->n, stride, RUNG_ORDER_ROW_MAJOR,
                                                  data->memory[4]);
}

static quantized_data_t make_data(const quantized_case_t *given, uint64_t *seed)
{
    quantized_data_t data = {.c_bytes = 0};
    rung_matrix a = make_a(given, &data, seed), b = make_b(given, &data, seed), c = make_c(given, &data, seed);
    data.problem = rung_problem_of(a, b, c);
    data.problem.alpha = given->alpha;
    data.problem.beta = given->beta;
    data.problem.compute = given->compute;
    data.problem.activation = given->activation;
    data.memory[3] = allocate(given->n * rung_type_size(given->c_type));
    data.bias = allocate(given->n * (int64_t)sizeof(double));
    for (int64_t j = 0; j < given->n; j++) {
        put(given->c_type, data.memory[3], j, random_value(seed));
        data.bias[j] = given->has_bias ? get(given->c_type, data.memory[3], j) : 0;
    }
    if (given->has_bias)
        data.problem.bias = rung_matrix_broadcast(rung_matrix_of(given->c_type, 1, given->n, data.memory[3]), given->m,
                                                  given->n);
    add_multiplier(given, &data, seed);
    return data;
}

static void free_data(quantized_data_t *data)
{
    for (int i = 0; i < 5; i++)
        free(data->memory[i]);
    free(data->a);
    free(data->b);
    free(data->c);
    free(data->bias);
    free(data->multiplier);
}

/* ---- The result ------------------------------------------------------------------------------------------------ */

/* Returns the largest magnitude of the block of a row of A that begins with element `first`. */
static double block_magnitude(const double *row, int64_t first)
{
    double largest = 0;
    for (int64_t p = first; p < first + BLOCK; p++)
        largest = fabs(row[p]) > largest ? fabs(row[p]) : largest;
    return largest;
}

/* Computes an element of A * B and the bound of its error. */
static double expected_sum(const quantized_case_t *given, const quantized_data_t *data, int64_t i, int64_t j,
                           double *bound)
{
    double u = 0x1p-24, gamma = (double)given->k * u / (1 - (double)given->k * u), sum = 0, sizes = 0;
    const double *row = data->a + i * given->k, *col = data->b + j * given->k;
    bool is_q8 = given->compute == RUNG_COMPUTE_Q8;
    for (int64_t block = 0; block < given->k; block += BLOCK) {
        double magnitude = is_q8 ? block_magnitude(row, block) : 0;
        for (int64_t p = block; p < block + BLOCK; p++) {
            sum += row[p] * col[p];
            sizes += (is_q8 ? magnitude : fabs(row[p])) * fabs(col[p]);
        }
    }
    double factor = given->compute == RUNG_COMPUTE_STRICT ? gamma : 1.02 * gamma + 0x1p-7 + 0x1p-16;
    *bound = factor * sizes + 0x1p-120;
    return sum;
}

static double activate(rung_activation activation, double value)
{
    return activation == RUNG_ACTIVATION_RELU   ? fmax(value, 0)
           : activation == RUNG_ACTIVATION_SILU ? value / (1 + exp(-value))
                                                : value;
}

static double rounding_of(rung_type type)
{
    return type == RUNG_F32 ? 0x1p-24 : type == RUNG_F16 ? 0x1p-11 : 0x1p-8;
}

/* Returns the number of wrong elements. SiLU has a slope of up to 1.1. */
static int count_wrong(const quantized_case_t *given, const quantized_data_t *data)
{
    int wrong = 0;
    const rung_matrix *c = &data->problem.c;
    for (int64_t i = 0; i < given->m; i++)
        for (int64_t j = 0; j < given->n; j++) {
            double bound, sum = expected_sum(given, data, i, j, &bound);
            double addend = given->beta * data->c[i * given->n + j], bias = data->bias[j];
            double linear = given->alpha * sum + addend + bias, expected = activate(given->activation, linear);
            bound = 1.1 * fabs(given->alpha) * bound +
                    8 * 0x1p-24 * (fabs(given->alpha * sum) + fabs(addend) + fabs(bias) + fabs(linear));
            expected *= data->multiplier[i * given->n + j];
            bound *= fabs(data->multiplier[i * given->n + j]);
            bound += 1.001 * rounding_of(given->c_type) * (fabs(expected) + bound) + 0x1p-24;
            double found = get(given->c_type, c->data, i * c->row_stride + j * c->col_stride);
            if (fabs(expected) + bound > 65504 && given->c_type == RUNG_F16) /* may overflow */
                continue;
            if (!(fabs(found - expected) <= bound) && wrong++ == 0)
                printf(
                    "%s*%s:%s %s %lld x %lld x %lld (%s): element %lld, %lld is %.9g; expected %.9g with an error of "
                    "up to %g\n",
                    rung_type_name(given->a_type), rung_type_name(given->b_type), rung_type_name(given->c_type),
                    rung_compute_name(given->compute), (long long)given->m, (long long)given->n, (long long)given->k,
                    given->kernel ? given->kernel : "automatic", (long long)i, (long long)j, found, expected, bound);
        }
    return wrong;
}

/* Returns whether bytes between the rows of C were written. */
static bool has_damaged_gaps(const quantized_case_t *given, const quantized_data_t *data)
{
    int64_t size = rung_type_size(given->c_type), row = given->is_c_transposed ? given->m : given->n;
    const unsigned char *bytes = data->problem.c.data;
    for (int64_t at = 0; at < data->c_bytes; at++)
        if (at / size % (row + given->c_gap) >= row && bytes[at] != CANARY)
            return true;
    return bytes[data->c_bytes] != CANARY;
}

static rung_status multiply(rung_device *device, const quantized_case_t *given, const rung_problem *problem,
                            int64_t threads)
{
    rung_plan_options options = rung_plan_options_default();
    rung_run_options run = rung_run_options_default();
    rung_kernel *kernel = NULL;
    rung_plan *plan = NULL;
    rung_queue *queue = NULL;
    rung_buffer *packed = NULL;
    options.threads = threads;
    options.packed_b = given->has_packed_b;
    if (given->kernel)
        assert_int_equal(rung_kernel_find(rung_device_context(device), "cpu", given->kernel, &kernel), RUNG_OK);
    options.kernel = kernel;
    rung_status status = rung_plan_create(device, problem, &options, &plan);
    if (status == RUNG_OK)
        assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    if (status == RUNG_OK && given->has_packed_b) {
        assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &packed), RUNG_OK);
        status = rung_plan_pack_b(plan, queue, &problem->b, packed, NULL);
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
static bool check_case(rung_device *device, const quantized_case_t *given, uint64_t seed)
{
    quantized_data_t data = make_data(given, &seed);
    unsigned char *before = allocate(data.c_bytes), *after = allocate(data.c_bytes);
    memcpy(before, data.problem.c.data, (size_t)data.c_bytes);
    rung_status status = multiply(device, given, &data.problem, 1);
    if (status == RUNG_OK) {
        assert_int_equal(count_wrong(given, &data), 0);
        assert_false(has_damaged_gaps(given, &data));
        memcpy(after, data.problem.c.data, (size_t)data.c_bytes);
        memcpy(data.problem.c.data, before, (size_t)data.c_bytes);
        assert_int_equal(multiply(device, given, &data.problem, 3), RUNG_OK);
        assert_memory_equal(after, data.problem.c.data, (size_t)data.c_bytes);
    } else {
        assert_int_equal(status, RUNG_STATUS_UNSUPPORTED);
    }
    free(before);
    free(after);
    free_data(&data);
    return status == RUNG_OK;
}

/* ---- Tests ----------------------------------------------------------------------------------------------------- */

static rung_device *open_device(void)
{
    rung_device *device;
    assert_int_equal(rung_device_open(NULL, "cpu", &device), RUNG_OK);
    return device;
}

static quantized_case_t random_case(uint64_t *seed)
{
    static const rung_type inputs[] = {RUNG_F32, RUNG_F16, RUNG_BF16}, quantized[] = {RUNG_Q8_0, RUNG_Q4_0};
    static const rung_compute modes[] = {RUNG_COMPUTE_STRICT, RUNG_COMPUTE_BF16X1, RUNG_COMPUTE_Q8, RUNG_COMPUTE_Q8};
    static const rung_activation activations[] = {RUNG_ACTIVATION_NONE, RUNG_ACTIVATION_NONE, RUNG_ACTIVATION_RELU,
                                                  RUNG_ACTIVATION_SILU};
    static const double scalars[] = {1, 1, 0, -0.5, 3};
    static const int64_t rows[] = {1, 1, 2, 3, 5, 8, 9, 16, 17, 31, 33, 48, 70};
    rung_type in = inputs[unit_random(seed, 3)];
    return (quantized_case_t){.a_type = in,
                              .b_type = quantized[unit_random(seed, 2)],
                              .c_type = unit_random(seed, 2) ? in : RUNG_F32,
                              .compute = modes[unit_random(seed, 4)],
                              .m = rows[unit_random(seed, sizeof rows / sizeof *rows)],
                              .n = 1 + unit_random(seed, unit_random(seed, 4) ? 40 : 200),
                              .k = BLOCK * (1 + unit_random(seed, unit_random(seed, 4) ? 9 : 40)),
                              .a_gap = unit_random(seed, 3),
                              .b_gap = BLOCK * unit_random(seed, 2),
                              .c_gap = unit_random(seed, 3),
                              .is_a_transposed = unit_random(seed, 4) == 0,
                              .is_c_transposed = unit_random(seed, 4) == 0,
                              .has_bias = unit_random(seed, 3) == 0,
                              .has_multiplier = unit_random(seed, 3) == 0,
                              .has_packed_b = unit_random(seed, 5) == 0,
                              .alpha = scalars[unit_random(seed, 5)],
                              .beta = scalars[unit_random(seed, 5)],
                              .activation = activations[unit_random(seed, 4)]};
}

/* The library chooses the kernel. */
static void random_problems_are_within_the_bound(void **state)
{
    enum { CASES = 600 };
    uint64_t seed = 1;
    rung_device *device = open_device();
    (void)state;
    for (int i = 0; i < CASES; i++) {
        quantized_case_t given = random_case(&seed);
        assert_true(check_case(device, &given, seed));
    }
    rung_device_close(device);
}

/* Returns whether m rows of a problem are multiplied by single dot products, which need AVX2 alone. */
static bool has_few_rows(const quantized_case_t *given)
{
    return given->m <= 8 && !given->has_packed_b && given->compute == RUNG_COMPUTE_Q8;
}

/* Each kernel computes what it accepts, for every number of rows. */
static void every_kernel_computes_every_number_of_rows(void **state)
{
    static const char *const kernels[] = {"10_pipeline", "15_quantized"};
    enum { BF16X1, Q8, Q8_FEW_ROWS, MODES }; /* each of which 15_quantized may refuse for all problems */
    uint64_t seed = 2;
    rung_device *device = open_device();
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++) {
        int tried[MODES] = {0}, computed[MODES] = {0};
        for (int64_t m = 1; m <= 70; m++) {
            quantized_case_t given = random_case(&seed);
            given.m = m;
            given.kernel = kernels[kernel];
            if (kernel == 1)
                given.compute = m % 2 ? RUNG_COMPUTE_Q8 : RUNG_COMPUTE_BF16X1;
            int mode = has_few_rows(&given) ? Q8_FEW_ROWS : given.compute == RUNG_COMPUTE_Q8 ? Q8 : BF16X1;
            tried[mode]++;
            computed[mode] += check_case(device, &given, seed);
        }
        for (int mode = 0; mode < MODES; mode++)
            assert_true(computed[mode] == tried[mode] || (kernel == 1 && computed[mode] == 0));
        assert_true(tried[Q8_FEW_ROWS] > 0);
        if (kernel == 1 && (computed[BF16X1] == 0 || computed[Q8] == 0))
            printf("15_quantized lacks some of its paths on this processor\n");
    }
    rung_device_close(device);
}

/* Plans for few and for many rows use the same packed B. */
static void a_packed_b_serves_every_number_of_rows(void **state)
{
    enum { N = 70, K = 160 };
    rung_device *device = open_device();
    rung_kernel *kernel;
    rung_buffer *packed = NULL;
    rungi_cpu_features features;
    (void)state;
    rungi_cpu_features_detect(&features);
    const bool is_available = features.has_vnni || has_amx_tiles(&features);
    assert_int_equal(rung_kernel_find(rung_device_context(device), "cpu", "15_quantized", &kernel), RUNG_OK);
    for (int64_t m = 1; m <= 41; m += 20) {
        quantized_case_t given = {.a_type = RUNG_F32,
                                  .b_type = RUNG_Q4_0,
                                  .c_type = RUNG_F32,
                                  .m = m,
                                  .n = N,
                                  .k = K,
                                  .alpha = 1,
                                  .compute = RUNG_COMPUTE_Q8};
        rung_plan_options options = rung_plan_options_default();
        rung_run_options run = rung_run_options_default();
        uint64_t seed = 7; /* the values of A before those of B differ with m, so B is packed for each */
        quantized_data_t data = make_data(&given, &seed);
        rung_plan *plan;
        rung_queue *queue;
        options.kernel = kernel;
        options.packed_b = 1;
        assert_int_equal(rung_plan_create(device, &data.problem, &options, &plan),
                         is_available ? RUNG_OK : RUNG_STATUS_UNSUPPORTED);
        if (!is_available) {
            printf("15_quantized does not run on this processor\n");
            free_data(&data);
            break;
        }
        assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
        if (!packed)
            assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &packed), RUNG_OK);
        run.packed_b = packed;
        if (m > 1) /* still B of the plan before: the header fits */
            assert_int_equal(rung_plan_run(plan, queue, &data.problem, &run), RUNG_OK);
        assert_int_equal(rung_plan_pack_b(plan, queue, &data.problem.b, packed, NULL), RUNG_OK);
        assert_int_equal(rung_plan_run(plan, queue, &data.problem, &run), RUNG_OK);
        assert_int_equal(count_wrong(&given, &data), 0);
        rung_queue_destroy(queue);
        rung_plan_destroy(plan);
        free_data(&data);
    }
    rung_buffer_destroy(packed);
    rung_device_close(device);
}

/* Large enough for several threads, each of which has its part of a packed B. */
static void threads_share_a_packed_b(void **state)
{
    rung_device *device = open_device();
    (void)state;
    for (int64_t m = 5; m <= 45; m += 20) /* dot products, tiles of integers, tiles of BF16 */
        for (int type = RUNG_Q8_0; type <= RUNG_Q4_0; type++) {
            quantized_case_t given = {.a_type = RUNG_F32,
                                      .b_type = (rung_type)type,
                                      .c_type = RUNG_F32,
                                      .m = m,
                                      .n = 300,
                                      .k = 1280,
                                      .alpha = 1,
                                      .compute = m < 45 ? RUNG_COMPUTE_Q8 : RUNG_COMPUTE_BF16X1,
                                      .has_packed_b = true};
            assert_true(check_case(device, &given, 8));
        }
    rung_device_close(device);
}

/* No part of a problem of zero size is read. */
static void sizes_may_be_zero(void **state)
{
    rung_device *device = open_device();
    uint64_t seed = 3;
    (void)state;
    for (int zero = 0; zero < 3; zero++) {
        quantized_case_t given = random_case(&seed);
        given.compute = RUNG_COMPUTE_Q8;
        *(zero == 0 ? &given.m : zero == 1 ? &given.n : &given.k) = 0;
        given.has_packed_b = false;
        given.b_gap = BLOCK;
        assert_true(check_case(device, &given, seed));
    }
    rung_device_close(device);
}

/* A plan of zero rows has block sizes, too. Processors without AMX do not come here from a plan. */
static void tiles_of_zero_size_have_block_sizes(void **state)
{
    (void)state;
#if defined(__x86_64__)
    static const int64_t sizes[] = {0, 1, 70, 100000};
    rungi_cpu_features features;
    rungi_cpu_features_detect(&features);
    for (int m = 0; m < 4; m++)
        for (int n = 0; n < 4; n++)
            for (int k = 0; k < 4; k++) {
                rungi_cpu_job job = {.m = sizes[m], .n = sizes[n], .k = sizes[k], .features = &features};
                rungi_quantized_tiles_blocks blocks = rungi_quantized_tiles_blocks_choose(&job);
                assert_true(blocks.rows > 0 && blocks.rows % 32 == 0);
                assert_true(blocks.cols >= (n > 0) && blocks.chunk >= (k > 0) && blocks.slice >= (k > 0));
                assert_true(rungi_quantized_tiles_scratch_bytes(&blocks) > 0);
            }
#endif
}

/* Checks that an infinity or a NaN in row 1 of A and in the scales of column 3 of B reaches no other element of C. */
static void check_not_finite(rung_device *device, const quantized_case_t *given, uint16_t bits)
{
    uint64_t seed = 4;
    quantized_data_t data = make_data(given, &seed);
    const float *c = data.problem.c.data;
    memcpy(data.memory[1] + (3 * given->k / BLOCK + 4) * rung_type_block_bytes(given->b_type), &bits, sizeof bits);
    ((float *)data.problem.a.data)[given->k + 70] = bits == 0x7c00 ? INFINITY : NAN;
    assert_int_equal(multiply(device, given, &data.problem, 1), RUNG_OK);
    for (int64_t i = 0; i < given->m; i++)
        for (int64_t j = 0; j < given->n; j++)
            assert_int_equal(isfinite(c[i * given->n + j]) != 0, i != 1 && j != 3);
    free_data(&data);
}

/* In every mode, with rows for dot products and for tiles. */
static void infinities_and_nans_stay_in_their_row_and_column(void **state)
{
    static const rung_compute modes[] = {RUNG_COMPUTE_STRICT, RUNG_COMPUTE_BF16X1, RUNG_COMPUTE_Q8};
    rung_device *device = open_device();
    (void)state;
    for (int type = RUNG_Q8_0; type <= RUNG_Q4_0; type++)
        for (int mode = 0; mode < 3; mode++)
            for (int64_t m = 3; m <= 43; m += 20)
                for (uint16_t bits = 0x7c00; bits <= 0x7e00; bits += 0x200) {
                    quantized_case_t given = {.a_type = RUNG_F32,
                                              .b_type = (rung_type)type,
                                              .c_type = RUNG_F32,
                                              .m = m,
                                              .n = 5,
                                              .k = 160,
                                              .alpha = 1,
                                              .compute = modes[mode]};
                    check_not_finite(device, &given, bits);
                }
    rung_device_close(device);
}

/* A does not fit L2 for the whole k, and the sums of all columns do not, either. Rows of A are multiplied in several passes. */
static void blocks_of_rows_and_columns_and_chunks_of_k_are_added(void **state)
{
    rung_device *device = open_device();
    quantized_case_t given = {.a_type = RUNG_F32,
                              .b_type = RUNG_Q4_0,
                              .c_type = RUNG_F32,
                              .m = 512,
                              .n = 520,
                              .k = 1088,
                              .alpha = 1,
                              .compute = RUNG_COMPUTE_BF16X1};
    (void)state;
    assert_true(check_case(device, &given, 9));
    given.compute = RUNG_COMPUTE_Q8;
    given.m = 1500;
    given.n = 70;
    assert_true(check_case(device, &given, 10));
    rung_device_close(device);
}

/* Elements of A near the smallest and the largest numbers do not lose more than the bound allows. */
static void very_small_and_large_rows_are_within_the_bound(void **state)
{
    static const double sizes[] = {0x1p-131, 0x1p-126, 0x1p-106, 0x1p100}; /* values are up to 64 */
    rung_device *device = open_device();
    (void)state;
    for (int i = 0; i < 4; i++) {
        quantized_case_t given = {.a_type = RUNG_F32,
                                  .b_type = RUNG_Q8_0,
                                  .c_type = RUNG_F32,
                                  .m = 2,
                                  .n = 7,
                                  .k = 96,
                                  .alpha = 1,
                                  .compute = RUNG_COMPUTE_Q8};
        uint64_t seed = 5;
        quantized_data_t data = make_data(&given, &seed);
        for (int64_t p = 0; p < given.m * given.k; p++) {
            ((float *)data.problem.a.data)[p] = (float)(data.a[p] * sizes[i]);
            data.a[p] = (double)((float *)data.problem.a.data)[p];
        }
        assert_int_equal(multiply(device, &given, &data.problem, 1), RUNG_OK);
        for (int64_t j = 0; j < given.n; j++) {
            double bound, sum = expected_sum(&given, &data, 0, j, &bound);
            assert_true(fabs((double)((float *)data.problem.c.data)[j] - sum) <= bound);
        }
        free_data(&data);
    }
    rung_device_close(device);
}

/* ---- Refusals -------------------------------------------------------------------------------------------------- */

static void expect(rung_status expected, rung_matrix a, rung_matrix b, const char *words)
{
    static float c[64 * 64];
    rung_problem problem = rung_problem_of(a, b, rung_matrix_of(RUNG_F32, a.rows, b.cols, c));
    assert_int_equal(rung_multiply(NULL, &problem, NULL), expected);
    if (!strstr(rung_error_text(), words))
        fail_msg("the message lacks \"%s\": %s", words, rung_error_text());
}

/* Only B is quantized, and sums are F32. */
static void types_combine_as_documented(void **state)
{
    (void)state;
    for (int a = RUNG_F32; a <= RUNG_Q4_0; a++)
        for (int b = RUNG_Q8_0; b <= RUNG_Q4_0; b++)
            for (int c = RUNG_F32; c <= RUNG_Q4_0; c++) {
                bool is_a = a == RUNG_F32 || a == RUNG_F16 || a == RUNG_BF16, is_c = c == RUNG_F32 || c == a;
                assert_int_equal(rung_accumulator_type((rung_type)a, (rung_type)b, (rung_type)c),
                                 is_a && is_c ? RUNG_F32 : RUNG_TYPE_NONE);
                assert_int_equal(rung_accumulator_type((rung_type)b, (rung_type)a, (rung_type)c), RUNG_TYPE_NONE);
            }
}

static void invalid_views_are_refused(void **state)
{
    static float values[64 * 64];
    static uint16_t blocks[64 * 64];
    rung_matrix a = rung_matrix_of(RUNG_F32, 2, 64, values), b = rung_matrix_of(RUNG_Q4_0, 64, 64, blocks);
    (void)state;
    expect(RUNG_STATUS_UNSUPPORTED, b, rung_matrix_of(RUNG_F32, 64, 2, values), "which only B may have");
    expect(RUNG_STATUS_UNSUPPORTED, a, b, "lie along k");
    b = rung_matrix_transpose(b);
    b.row_stride = 2;
    expect(RUNG_STATUS_INVALID, a, b, "one of them must be 1");
    b.row_stride = 1;
    b.col_stride = 72;
    expect(RUNG_STATUS_INVALID, a, b, "must be multiples of that");
    b.col_stride = 64;
    b.offset = 16;
    expect(RUNG_STATUS_INVALID, a, b, "must be multiples of that");
    b.offset = 0;
    b.rows = a.cols = 48;
    expect(RUNG_STATUS_INVALID, a, b, "must be multiples of that");
    b.rows = a.cols = 64;
    b.data = (char *)blocks + 1;
    expect(RUNG_STATUS_INVALID, a, b, "not aligned");
    b.data = blocks;
    a.type = RUNG_F64;
    expect(RUNG_STATUS_UNSUPPORTED, a, b, "no kernel multiplies f64 x q4_0");
}

/* Multiplies by one column of blocks along k, whose strides are 1 and `col_stride`. */
static void multiply_by_column(const float *a, const void *blocks, int64_t col_stride, rung_compute compute,
                               bool is_packed, float *c)
{
    enum { M = 3, K = 2 * BLOCK };
    rung_device *device = open_device();
    quantized_case_t given = {.has_packed_b = is_packed};
    rung_matrix b = rung_matrix_of(RUNG_Q8_0, K, 1, blocks);
    b.col_stride = col_stride;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a), b, rung_matrix_of(RUNG_F32, M, 1, c));
    problem.compute = compute;
    assert_int_equal(multiply(device, &given, &problem, 1), RUNG_OK);
    rung_device_close(device);
}

/* If both strides are 1, the sizes decide along which the blocks lie. */
static void one_row_and_one_column_of_blocks_differ(void **state)
{
    enum { M = 3, K = 2 * BLOCK };
    static const rung_compute modes[] = {RUNG_COMPUTE_STRICT, RUNG_COMPUTE_BF16X1, RUNG_COMPUTE_Q8};
    static float a[M * K], expected[M], found[M];
    static uint16_t blocks[2 * 17];
    uint64_t seed = 10;
    (void)state;
    unit_fill(&seed, a, M * K);
    fill_blocks(&seed, RUNG_Q8_0, (unsigned char *)blocks, 2);
    for (int mode = 0; mode < 3; mode++)
        for (int is_packed = 0; is_packed < 2; is_packed++) {
            multiply_by_column(a, blocks, K, modes[mode], is_packed, expected);
            multiply_by_column(a, blocks, 1, modes[mode], is_packed, found);
            assert_memory_equal(found, expected, sizeof expected);
        }
    for (int type = RUNG_Q8_0; type <= RUNG_Q4_0; type++)
        for (int mode = 0; mode < 3; mode++) { /* one row: the blocks lie along n */
            rung_matrix row = rung_matrix_of((rung_type)type, 1, K, blocks);
            rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, 1, a), row,
                                                   rung_matrix_of(RUNG_F32, M, K, NULL));
            problem.b.row_stride = 1;
            problem.compute = modes[mode];
            float *c = allocate(M * K * (int64_t)sizeof(float));
            problem.c.data = c;
            assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
            assert_non_null(strstr(rung_error_text(), "lie along k"));
            free(c);
        }
    rung_matrix square = rung_matrix_of(RUNG_Q8_0, K, K, blocks);
    square.row_stride = 1; /* neither along k nor along n */
    expect(RUNG_STATUS_INVALID, rung_matrix_of(RUNG_F32, 1, K, a), square, "must be multiples of that");
}

static void empty_matrices_of_blocks_are_multiplied(void **state)
{
    float c[2 * 3] = {1, 1, 1, 1, 1, 1};
    rung_matrix b = rung_matrix_transpose(rung_matrix_of(RUNG_Q8_0, 3, 0, NULL));
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 2, 0, NULL), b, rung_matrix_of(RUNG_F32, 2, 3, c));
    (void)state;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    for (int i = 0; i < 6; i++)
        assert_true(c[i] == 0);
}

static void an_output_that_overlaps_a_column_of_blocks_is_refused(void **state)
{
    enum { K = 4 * BLOCK };
    static float a[K], memory[64];
    rung_matrix b = rung_matrix_of(RUNG_Q8_0, K, 1, memory);
    int64_t b_bytes = 4 * 34;
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        char *c = (char *)memory + b_bytes - (inside ? 4 : 0);
        rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 1, K, a), b, rung_matrix_of(RUNG_F32, 1, 1, c));
        assert_int_equal(rung_multiply(NULL, &problem, NULL), inside ? RUNG_STATUS_ALIASED : RUNG_OK);
    }
}

static void an_output_that_overlaps_blocks_is_refused(void **state)
{
    static float values[2 * 64], memory[4096];
    rung_matrix a = rung_matrix_of(RUNG_F32, 2, 64, values);
    rung_matrix b = rung_matrix_transpose(rung_matrix_of(RUNG_Q8_0, 16, 64, memory));
    int64_t b_bytes = 16 * 2 * 34;
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        char *first = (char *)memory + b_bytes - (inside ? 4 : 0);
        rung_problem problem = rung_problem_of(a, b, rung_matrix_of(RUNG_F32, 2, 16, first));
        assert_int_equal(rung_multiply(NULL, &problem, NULL), inside ? RUNG_STATUS_ALIASED : RUNG_OK);
    }
}

/* The output of one problem of a group may not be the B of another. */
static void an_output_that_overlaps_blocks_of_another_problem_is_refused(void **state)
{
    static float values[2 * 64], memory[4096], c[2 * 16];
    rung_matrix a = rung_matrix_of(RUNG_F32, 2, 64, values);
    rung_matrix b = rung_matrix_transpose(rung_matrix_of(RUNG_Q8_0, 16, 64, memory));
    rung_matrix other = rung_matrix_transpose(rung_matrix_of(RUNG_Q8_0, 16, 64, memory + 2048));
    int64_t b_bytes = 16 * 2 * 34;
    (void)state;
    for (int inside = 0; inside < 2; inside++) {
        char *first = (char *)memory + b_bytes - (inside ? 4 : 0);
        rung_problem problems[2] = {rung_problem_of(a, b, rung_matrix_of(RUNG_F32, 2, 16, c)),
                                    rung_problem_of(a, other, rung_matrix_of(RUNG_F32, 2, 16, first))};
        rung_group group = rung_group_of(problems, 2);
        assert_int_equal(rung_group_multiply(NULL, &group, NULL), inside ? RUNG_STATUS_ALIASED : RUNG_OK);
    }
}

/* Items of a batch have their own blocks, or share them. */
static void items_of_a_batch_have_their_own_blocks(void **state)
{
    enum { ITEMS = 5, M = 2, N = 3, K = 64, BLOCKS = N * K / BLOCK };
    static float a[ITEMS * M * K], c[ITEMS * M * N], single[M * N];
    static unsigned char blocks[ITEMS * BLOCKS * 18];
    uint64_t seed = 6;
    (void)state;
    unit_fill(&seed, a, ITEMS * M * K);
    fill_blocks(&seed, RUNG_Q4_0, blocks, ITEMS * BLOCKS);
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a),
                                           rung_matrix_transpose(rung_matrix_of(RUNG_Q4_0, N, K, blocks)),
                                           rung_matrix_of(RUNG_F32, M, N, c));
    problem.batch = ITEMS;
    problem.a.batch_stride = (int64_t)M * K;
    problem.b.batch_stride = (int64_t)N * K;
    problem.c.batch_stride = (int64_t)M * N;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    for (int item = 0; item < ITEMS; item++) {
        rung_problem one = rung_problem_of(
            rung_matrix_of(RUNG_F32, M, K, a + item * M * K),
            rung_matrix_transpose(rung_matrix_of(RUNG_Q4_0, N, K, blocks + item * BLOCKS * 18)),
            rung_matrix_of(RUNG_F32, M, N, single));
        assert_int_equal(rung_multiply(NULL, &one, NULL), RUNG_OK);
        assert_memory_equal(single, c + item * M * N, sizeof single);
    }
    problem.b.batch_stride = 48;
    assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_problems_are_within_the_bound),
        cmocka_unit_test(every_kernel_computes_every_number_of_rows),
        cmocka_unit_test(a_packed_b_serves_every_number_of_rows),
        cmocka_unit_test(threads_share_a_packed_b),
        cmocka_unit_test(sizes_may_be_zero),
        cmocka_unit_test(tiles_of_zero_size_have_block_sizes),
        cmocka_unit_test(infinities_and_nans_stay_in_their_row_and_column),
        cmocka_unit_test(blocks_of_rows_and_columns_and_chunks_of_k_are_added),
        cmocka_unit_test(very_small_and_large_rows_are_within_the_bound),
        cmocka_unit_test(types_combine_as_documented),
        cmocka_unit_test(invalid_views_are_refused),
        cmocka_unit_test(one_row_and_one_column_of_blocks_differ),
        cmocka_unit_test(empty_matrices_of_blocks_are_multiplied),
        cmocka_unit_test(an_output_that_overlaps_a_column_of_blocks_is_refused),
        cmocka_unit_test(an_output_that_overlaps_blocks_is_refused),
        cmocka_unit_test(an_output_that_overlaps_blocks_of_another_problem_is_refused),
        cmocka_unit_test(items_of_a_batch_have_their_own_blocks),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
