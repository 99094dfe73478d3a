/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_pairs.c - quantized_pairs [DEVICE [CASES [KERNEL [FILE]]]]: multiplies a quantized A by a quantized B on a device
 * ("cpu" unless named), with random formats, layouts, sizes, scales and batches. Each element is compared with a sum in F64 of
 * the values that rung_dequantize gives, and with the error bound of rung.h. With KERNEL, only the formats of that kernel are
 * tested, by this kernel. With FILE, its text is read from this file: tests/cuda/block_scaled_bugs.sh plants bugs into it. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>

enum { CANARY = 0x5a, ITEMS_MAX = 3 };

static const char *device_name = "cpu", *kernel_name, *kernel_file;
static bool has_fp4; /* the emulated GPU has instructions for FP4 */
static int64_t cases = 600;
static rung_context *context;
static rung_device *device;
static rung_queue *queue;
static rung_kernel *kernel;
static int64_t computed;

/* A format: the types of elements, scales and zero points (RUNG_TYPE_NONE: absent), and the block along k and across it. */
typedef struct format {
    rung_type type, scale_type, zero_type;
    int64_t block_k, block_mn;
} format_t;

/* Those of 17_block_scaled come first. */
static const format_t formats[] = {
    {RUNG_F8E4M3, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1}, /* MXFP8 */
    {RUNG_F8E5M2, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1},
    {RUNG_F4E2M1, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1},   /* MXFP4 */
    {RUNG_F4E2M1, RUNG_F8E4M3, RUNG_TYPE_NONE, 16, 1}, /* NVFP4 */
    {RUNG_F8E4M3, RUNG_F32, RUNG_TYPE_NONE, 0, 0},     /* per tensor */
    {RUNG_F8E4M3, RUNG_F32, RUNG_TYPE_NONE, 0, 1},     /* per row of A or column of B */
    {RUNG_F8E5M2, RUNG_F16, RUNG_TYPE_NONE, 0, 1},
    {RUNG_F8E4M3, RUNG_F32, RUNG_TYPE_NONE, 128, 1},
    {RUNG_F8E4M3, RUNG_F32, RUNG_TYPE_NONE, 128, 128},
    {RUNG_F8E5M2, RUNG_BF16, RUNG_TYPE_NONE, 32, 1},
    {RUNG_F8E4M3, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_F8E5M2, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_F4E2M1, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_I8, RUNG_F32, RUNG_TYPE_NONE, 0, 1},
    {RUNG_I8, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_I8, RUNG_BF16, RUNG_I8, 1, 32},
    {RUNG_I4, RUNG_F16, RUNG_TYPE_NONE, 32, 1},
    {RUNG_I4, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_U4, RUNG_F16, RUNG_U4, 128, 1},
    {RUNG_U4, RUNG_F16, RUNG_U4, 5, 3},
    {RUNG_U8, RUNG_F32, RUNG_U8, 64, 1},
    {RUNG_U8, RUNG_TYPE_NONE, RUNG_U8, 0, 1},
    {RUNG_F4E2M1, RUNG_F64, RUNG_TYPE_NONE, 7, 2},
};
enum { FORMATS = sizeof formats / sizeof *formats, TENSOR_CORE_FORMATS = 10 };

/* What codes and scales are: finite numbers; or with some codes and scales that are infinite or NaN. */
typedef enum values { FINITE, NOT_FINITE } values_t;

/* The layouts of an operand: contiguous along k, across it, or not at all. */
typedef enum layout { ALONG_K, ACROSS_K, STRIDED, LAYOUTS } layout_t;

/* One operand: its format and its layout. `gap` elements lie between lines, and `offset` before the first. */
typedef struct operand {
    const format_t *format;
    layout_t layout;
    int64_t gap, offset;
    bool are_scales_transposed;
} operand_t;

typedef struct shape {
    operand_t a, b;
    rung_type c_type;
    rung_compute compute;
    int64_t m, n, k, items, split_k;
    bool has_offsets, is_c_transposed, has_bias;
    values_t values;
    double alpha, beta;
} shape_t;

/* The memory of a problem: A, B, C, the scales and zero points of A, those of B, and the bias. */
enum { A, B, C, A_SCALES, A_ZEROS, B_SCALES, B_ZEROS, BIAS, MATRICES };

typedef struct data {
    rung_problem problem;
    rung_quantization quantization[2];
    rung_matrix views[MATRICES];
    unsigned char *memory[MATRICES];
    int64_t bytes[MATRICES], offsets[MATRICES][ITEMS_MAX];
    double *values[MATRICES]; /* of A, B and C: of one item after the other */
} data_t;

/* ---- Data ------------------------------------------------------------------------------------------------------ */

static void *allocate(int64_t bytes)
{
    void *memory = malloc((size_t)bytes + 1);
    assert_non_null(memory);
    memset(memory, CANARY, (size_t)bytes + 1);
    return memory;
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
    return type == RUNG_BF16 ? (double)rung_bf16_to_f32(((const uint16_t *)memory)[index])
                             : (double)((const float *)memory)[index];
}

static int64_t bytes_of(rung_type type, int64_t elements)
{
    int64_t block = rung_type_block_elements(type);
    return (elements + block - 1) / block * rung_type_block_bytes(type);
}

static bool is_finite_code(rung_type type, unsigned char code)
{
    return (type != RUNG_F8E4M3 || (code & 0x7f) != 0x7f) && (type != RUNG_F8E5M2 || (code & 0x7c) != 0x7c);
}

static void fill_codes(uint64_t *seed, rung_type type, unsigned char *memory, int64_t elements, values_t values)
{
    for (int64_t i = 0; i < bytes_of(type, elements); i++) {
        memory[i] = (unsigned char)unit_random(seed, 256);
        if (!is_finite_code(type, memory[i]) && (values == FINITE || unit_random(seed, 4) != 0))
            memory[i] = 1;
    }
}

/* Fills scales: large, small, zero and, for types with a sign, negative ones; some are denormal. */
static void fill_scales(uint64_t *seed, rung_type type, unsigned char *memory, int64_t elements, values_t values)
{
    static const double numbers[] = {0.01, 0.75, 3, -0.02, 0, 0x1.8p-16}; /* the last is denormal in F16 */
    for (int64_t i = 0; i < elements; i++) {
        bool is_nan = values == NOT_FINITE && unit_random(seed, 40) == 0;
        if (type == RUNG_E8M0)
            memory[i] = (unsigned char)(is_nan ? 255 : unit_random(seed, 9) == 0 ? 60 : 115 + unit_random(seed, 16));
        else if (type == RUNG_F8E4M3)
            memory[i] = (unsigned char)((is_nan ? 0x7f : unit_random(seed, 0x7f)) | (unit_random(seed, 4) ? 0 : 0x80));
        else
            put(type, memory, i, is_nan ? NAN : numbers[unit_random(seed, 6)] * (double)(1 + unit_random(seed, 9)));
    }
}

/* Creates the memory of rows x cols elements of each item. */
static rung_matrix make_view(const shape_t *shape, data_t *data, int which, rung_type type, int64_t rows, int64_t cols,
                             bool is_column_major, int64_t step, int64_t gap, int64_t offset)
{
    rung_matrix view = rung_matrix_of(type, rows, cols, NULL);
    int64_t row = (cols > 0 ? cols : 1) * step + gap, col = (rows > 0 ? rows : 1) * step + gap, span;
    view.row_stride = is_column_major ? step : row;
    view.col_stride = is_column_major ? col : step;
    view.offset = offset;
    span = rows > 0 && cols > 0 ? (rows - 1) * view.row_stride + (cols - 1) * view.col_stride + 1 : 0;
    view.batch_stride = span +
                        (gap ? gap : span % 2 * (rung_type_block_elements(type) == 1)); /* items may share a byte */
    if (gap == 0)
        view.batch_stride = (view.batch_stride + 31) / 32 * 32;
    data->bytes[which] = bytes_of(type, offset + (shape->items - 1) * view.batch_stride + span);
    view.data = data->memory[which] = allocate(data->bytes[which]);
    if (shape->has_offsets) {
        for (int64_t i = 0; i < shape->items; i++)
            data->offsets[which][i] = (which == C ? i : shape->items - 1 - i) * view.batch_stride;
        view.batch_offsets = data->offsets[which];
    }
    return view;
}

static int64_t ceil_divide(int64_t x, int64_t y)
{
    return y > 0 ? (x + y - 1) / y : x > 0;
}

/* Creates A or B, with scales and zero points. */
static void make_operand(const shape_t *shape, data_t *data, bool is_b, uint64_t *seed)
{
    const operand_t *operand = is_b ? &shape->b : &shape->a;
    const format_t *format = operand->format;
    rung_quantization *quantization = &data->quantization[is_b];
    int64_t rows = is_b ? shape->k : shape->m, cols = is_b ? shape->n : shape->k;
    bool is_column_major = (operand->layout == ALONG_K) == is_b;
    *quantization = rung_quantization_default();
    quantization->block_rows = is_b ? format->block_k : format->block_mn;
    quantization->block_cols = is_b ? format->block_mn : format->block_k;
    int64_t scale_rows = ceil_divide(rows, quantization->block_rows);
    int64_t scale_cols = ceil_divide(cols, quantization->block_cols);
    rung_matrix *view = is_b ? &data->problem.b : &data->problem.a;
    *view = make_view(shape, data, is_b ? B : A, format->type, rows, cols, is_column_major,
                      operand->layout == STRIDED ? 2 : 1, operand->gap, operand->offset);
    fill_codes(seed, format->type, view->data, data->bytes[is_b ? B : A] * rung_type_block_elements(format->type),
               shape->values);
    if (format->scale_type != RUNG_TYPE_NONE) {
        int which = is_b ? B_SCALES : A_SCALES;
        quantization->scales = make_view(shape, data, which, format->scale_type, scale_rows, scale_cols,
                                         operand->are_scales_transposed, 1, operand->gap, operand->offset);
        fill_scales(seed, format->scale_type, data->memory[which],
                    data->bytes[which] / rung_type_size(format->scale_type), shape->values);
    }
    if (format->zero_type != RUNG_TYPE_NONE) {
        int which = is_b ? B_ZEROS : A_ZEROS;
        quantization->zero_points = make_view(shape, data, which, format->zero_type, scale_rows, scale_cols,
                                              operand->are_scales_transposed, 1, operand->gap, operand->offset);
        fill_codes(seed, format->zero_type, data->memory[which],
                   data->bytes[which] * rung_type_block_elements(format->zero_type), FINITE);
    }
    if (format->scale_type != RUNG_TYPE_NONE || format->zero_type != RUNG_TYPE_NONE)
        *(is_b ? &data->problem.b_quantization : &data->problem.a_quantization) = quantization;
}

static rung_matrix item_of(rung_matrix view, int64_t item)
{
    view.offset += view.batch_offsets ? view.batch_offsets[item] : item * view.batch_stride;
    view.batch_offsets = NULL;
    view.batch_stride = 0;
    return view;
}

/* Sets data->values[which] to the numbers of A or B. */
static void dequantize(const shape_t *shape, data_t *data, bool is_b)
{
    const rung_matrix *view = is_b ? &data->problem.b : &data->problem.a;
    int64_t count = view->rows * view->cols;
    double *values = allocate(shape->items * count * (int64_t)sizeof(double));
    for (int64_t item = 0; item < shape->items && count > 0; item++) {
        rung_quantization quantization = data->quantization[is_b];
        if (quantization.scales.data)
            quantization.scales = item_of(quantization.scales, item);
        if (quantization.zero_points.data)
            quantization.zero_points = item_of(quantization.zero_points, item);
        assert_int_equal(rung_dequantize(item_of(*view, item), &quantization,
                                         rung_matrix_of(RUNG_F64, view->rows, view->cols, values + item * count)),
                         RUNG_OK);
    }
    data->values[is_b ? B : A] = values;
}

/* `data` keeps the quantizations to which the problem points, so that it must not be copied. */
static void make_data(const shape_t *shape, uint64_t seed, data_t *data)
{
    memset(data, 0, sizeof *data);
    data->problem = rung_problem_of((rung_matrix){0}, (rung_matrix){0}, (rung_matrix){0});
    make_operand(shape, data, false, &seed);
    make_operand(shape, data, true, &seed);
    data->problem.c = make_view(shape, data, C, shape->c_type, shape->m, shape->n, shape->is_c_transposed, 1, 0, 0);
    int64_t elements = data->bytes[C] / rung_type_size(shape->c_type);
    data->values[C] = allocate(elements * (int64_t)sizeof(double));
    for (int64_t i = 0; i < elements; i++) {
        put(shape->c_type, data->memory[C], i, (double)unit_random(&seed, 2001) / 1e3 - 1);
        data->values[C][i] = get(shape->c_type, data->memory[C], i);
    }
    if (shape->has_bias && shape->m * shape->n > 0) {
        data->bytes[BIAS] = shape->n * rung_type_size(shape->c_type);
        data->memory[BIAS] = allocate(data->bytes[BIAS]);
        for (int64_t j = 0; j < shape->n; j++)
            put(shape->c_type, data->memory[BIAS], j, (double)(j % 7) - 3);
        data->problem.bias = rung_matrix_broadcast(rung_matrix_of(shape->c_type, 1, shape->n, data->memory[BIAS]),
                                                   shape->m, shape->n);
    }
    data->problem.alpha = shape->alpha;
    data->problem.beta = shape->beta;
    data->problem.compute = shape->compute;
    data->problem.batch = shape->items;
    dequantize(shape, data, false);
    dequantize(shape, data, true);
}

static void free_data(data_t *data)
{
    for (int i = 0; i < MATRICES; i++) {
        free(data->memory[i]);
        free(data->values[i]);
    }
}

/* ---- The result ------------------------------------------------------------------------------------------------ */

/* Returns the bound of the error of A * B as a factor of |A||B|. A tested kernel multiplies elements as they are, and the emulator
 * does not truncate sums as tensor cores do: the bound is that of F32. */
static double bound_factor(const shape_t *shape)
{
    double u = 0x1p-24, steps = (double)shape->k + (kernel_name ? 6 : 2), gamma = steps * u / (1 - steps * u);
    if (shape->compute != RUNG_COMPUTE_STRICT && !kernel_name)
        return 1.02 * gamma + 0x1p-7 + 0x1p-16;
    return gamma;
}

static void print_shape(const shape_t *shape)
{
    const operand_t *both[] = {&shape->a, &shape->b};
    for (int i = 0; i < 2; i++)
        printf("  %s: %s, scales %s, zero points %s, block %lld along k x %lld, layout %d, gap %lld, offset %lld%s\n",
               i ? "B" : "A", rung_type_name(both[i]->format->type), rung_type_name(both[i]->format->scale_type),
               rung_type_name(both[i]->format->zero_type), (long long)both[i]->format->block_k,
               (long long)both[i]->format->block_mn, (int)both[i]->layout, (long long)both[i]->gap,
               (long long)both[i]->offset, both[i]->are_scales_transposed ? ", scales transposed" : "");
    printf("  %s %s, %lld x %lld x %lld, %lld items%s, split-K %lld%s%s%s, alpha %g, beta %g\n",
           rung_type_name(shape->c_type), rung_compute_name(shape->compute), (long long)shape->m, (long long)shape->n,
           (long long)shape->k, (long long)shape->items, shape->has_offsets ? " with offsets" : "",
           (long long)shape->split_k, shape->is_c_transposed ? ", column-major C" : "", shape->has_bias ? ", bias" : "",
           shape->values == NOT_FINITE ? ", not finite" : "", shape->alpha, shape->beta);
}

static bool is_right(const shape_t *shape, double found, double sum, double sizes, double addend)
{
    double expected = shape->alpha * sum + addend, u = shape->c_type == RUNG_F32 ? 0x1p-24 : 0x1p-8;
    double bound = fabs(shape->alpha) * bound_factor(shape) * sizes + 0x1p-120 +
                   8 * 0x1p-24 * (fabs(shape->alpha * sum) + fabs(addend) + 3);
    bound += 1.001 * u * (fabs(expected) + bound);
    if (!isfinite(sum)) /* an infinite scale may give NaN instead of infinity */
        return !isfinite(found) && (!isnan(expected) || isnan(found) || shape->values == NOT_FINITE);
    return fabs(found - expected) <= bound;
}

static int count_wrong(const shape_t *shape, const data_t *data)
{
    int wrong = 0;
    const rung_matrix *c = &data->problem.c;
    for (int64_t item = 0; item < shape->items; item++)
        for (int64_t i = 0; i < shape->m; i++)
            for (int64_t j = 0; j < shape->n; j++) {
                const double *a = data->values[A] + (item * shape->m + i) * shape->k;
                const double *b = data->values[B] + item * shape->k * shape->n + j;
                double sum = 0, sizes = 0;
                for (int64_t p = 0; p < shape->k && shape->alpha != 0; p++) { /* else A and B are not read */
                    double product = a[p] * b[p * shape->n];
                    sum += product;
                    sizes += fabs(product);
                }
                int64_t index = i * c->row_stride + j * c->col_stride +
                                (shape->has_offsets ? data->offsets[C][item] : item * c->batch_stride);
                double addend = (shape->beta == 0 ? 0 : shape->beta * data->values[C][index]) +
                                (shape->has_bias ? (double)(j % 7) - 3 : 0);
                double found = get(shape->c_type, data->memory[C], index);
                if (!is_right(shape, found, sum, sizes, addend) && wrong++ == 0) {
                    print_shape(shape);
                    printf("  item %lld, element %lld, %lld is %.9g; expected %.9g, |A||B| is %g\n", (long long)item,
                           (long long)i, (long long)j, found, shape->alpha * sum + addend, sizes);
                }
            }
    return wrong;
}

static rung_buffer *upload(const void *memory, int64_t bytes)
{
    rung_buffer *buffer;
    assert_int_equal(rung_buffer_create(device, bytes > 0 ? bytes : 1, &buffer), RUNG_OK);
    if (bytes > 0)
        assert_int_equal(rung_buffer_write(queue, buffer, 0, bytes, memory, NULL), RUNG_OK);
    return buffer;
}

/* Runs the problem in buffers by the tested kernel. */
static rung_status run_plan(const shape_t *shape, data_t *data)
{
    rung_matrix *views[MATRICES] = {&data->problem.a,
                                    &data->problem.b,
                                    &data->problem.c,
                                    &data->quantization[0].scales,
                                    &data->quantization[0].zero_points,
                                    &data->quantization[1].scales,
                                    &data->quantization[1].zero_points,
                                    &data->problem.bias};
    rung_buffer *buffers[MATRICES] = {NULL}, *workspace = NULL;
    rung_plan_options options = rung_plan_options_default();
    rung_run_options run = rung_run_options_default();
    rung_plan *plan = NULL;
    options.kernel = kernel;
    options.split_k = shape->split_k;
    for (int i = 0; i < MATRICES; i++)
        if (views[i]->data) {
            buffers[i] = upload(data->memory[i], data->bytes[i]);
            views[i]->data = NULL;
            views[i]->buffer = buffers[i];
        }
    rung_status status = rung_plan_create(device, &data->problem, &options, &plan);
    int64_t bytes = status == RUNG_OK ? rung_plan_describe(plan)->workspace_bytes : 0;
    if (bytes > 0)
        assert_int_equal(rung_buffer_create(device, bytes, &workspace), RUNG_OK);
    run.workspace = workspace;
    if (status == RUNG_OK)
        status = rung_plan_run(plan, queue, &data->problem, &run);
    if (status == RUNG_OK && data->bytes[C] > 0)
        assert_int_equal(rung_buffer_read(queue, buffers[C], 0, data->bytes[C], data->memory[C], NULL), RUNG_OK);
    rung_status finished = rung_queue_finish(queue);
    for (int i = 0; i < MATRICES; i++)
        rung_buffer_destroy(buffers[i]);
    rung_buffer_destroy(workspace);
    rung_plan_destroy(plan);
    return status == RUNG_OK ? finished : status;
}

static void check_shape(const shape_t *shape, uint64_t seed, bool is_call)
{
    data_t data;
    make_data(shape, seed, &data);
    rung_status status = is_call ? rung_multiply(context, &data.problem, NULL) : run_plan(shape, &data);
    if (status != RUNG_OK)
        printf("%s\n", rung_error_text());
    if (status != RUNG_OK)
        print_shape(shape);
    assert_int_equal(status, RUNG_OK);
    assert_int_equal(count_wrong(shape, &data), 0);
    computed++;
    free_data(&data);
}

/* ---- Tests ----------------------------------------------------------------------------------------------------- */

static operand_t random_operand(uint64_t *seed, const format_t *format)
{
    bool is_even = unit_random(seed, 2) == 0;
    return (operand_t){.format = format,
                       .layout = unit_random(seed, 2) ? ALONG_K : (layout_t)unit_random(seed, LAYOUTS),
                       .gap = is_even ? 32 * unit_random(seed, 2) : unit_random(seed, 4),
                       .offset = is_even ? 32 * unit_random(seed, 2) : unit_random(seed, 4),
                       .are_scales_transposed = unit_random(seed, 2) != 0};
}

static shape_t random_shape(uint64_t *seed, const format_t *a, const format_t *b)
{
    static const double scalars[] = {1, 1, 0, -0.5, 3};
    static const rung_compute modes[] = {RUNG_COMPUTE_STRICT, RUNG_COMPUTE_STRICT, RUNG_COMPUTE_BF16X1,
                                         RUNG_COMPUTE_Q8};
    bool is_even = unit_random(seed, 2) == 0, is_batch = unit_random(seed, 4) == 0;
    shape_t shape = {.a = random_operand(seed, a),
                     .b = random_operand(seed, b),
                     .c_type = unit_random(seed, 3) ? RUNG_F32 : RUNG_BF16,
                     .compute = modes[unit_random(seed, 4)],
                     .m = 1 + unit_random(seed, unit_random(seed, 4) ? 40 : 150),
                     .n = 1 + unit_random(seed, unit_random(seed, 4) ? 40 : 150),
                     .k = 1 + unit_random(seed, unit_random(seed, 4) ? 150 : 700),
                     .items = is_batch ? 1 + unit_random(seed, ITEMS_MAX) : 1,
                     .has_offsets = is_batch && unit_random(seed, 2),
                     .is_c_transposed = unit_random(seed, 4) == 0,
                     .has_bias = unit_random(seed, 4) == 0,
                     .values = unit_random(seed, 6) == 0 ? NOT_FINITE : FINITE,
                     .alpha = scalars[unit_random(seed, 5)],
                     .beta = scalars[unit_random(seed, 5)]};
    if (is_even) {
        shape.k = (shape.k + 31) / 32 * 32;
        shape.m = (shape.m + 15) / 16 * 16;
        shape.n = (shape.n + 15) / 16 * 16;
    }
    if (shape.values == NOT_FINITE)
        shape.compute = RUNG_COMPUTE_STRICT;
    if (kernel_name && unit_random(seed, 4) == 0)
        shape.split_k = 3;
    if (kernel_name && shape.compute == RUNG_COMPUTE_STRICT)
        shape.compute = RUNG_COMPUTE_BF16X1; /* the least precise mode that the kernel computes */
    return shape;
}

/* Returns whether the tested kernel multiplies these formats: FP8 with any scales, or FP4 with scales of the engine. */
static bool is_tested(const format_t *a, const format_t *b)
{
    if (!kernel_name || (a->type != RUNG_F4E2M1 && b->type != RUNG_F4E2M1))
        return true;
    return has_fp4 && a->scale_type == b->scale_type;
}

/* Sets *a to the next format, and *b to a random one that the tested kernel multiplies by it. Returns false if this device
 * cannot multiply *a by itself. */
static bool choose_formats(uint64_t *seed, int64_t number, const format_t **a, const format_t **b)
{
    int count = kernel_name ? TENSOR_CORE_FORMATS : FORMATS;
    *a = &formats[number % count];
    if (!is_tested(*a, *a))
        return false;
    do {
        *b = &formats[unit_random(seed, count)];
    } while (!is_tested(*a, *b));
    return true;
}

/* Every format of A and B in random problems. */
static void every_format(void **state)
{
    const format_t *a, *b;
    uint64_t seed = 1;
    (void)state;
    for (int64_t i = 0; i < cases; i++) {
        if (!choose_formats(&seed, i, &a, &b))
            continue;
        shape_t shape = random_shape(&seed, a, b);
        check_shape(&shape, seed, false);
    }
    printf("%lld problems\n", (long long)computed);
}

/* FP4 by FP8, in chunks of 16 bytes along k: all 16 elements of a chunk of FP4 get a byte each. */
static void every_element_of_chunks(void **state)
{
    (void)state;
    if (kernel_name && !has_fp4)
        return;
    for (int fp4 = 0; fp4 < 2; fp4++) {
        shape_t shape = {.a = {.format = &formats[fp4 == 0 ? 2 : 0], .layout = ALONG_K},
                         .b = {.format = &formats[fp4 == 0 ? 0 : 2], .layout = ALONG_K},
                         .c_type = RUNG_F32,
                         .compute = kernel_name ? RUNG_COMPUTE_BF16X1 : RUNG_COMPUTE_STRICT,
                         .m = 16,
                         .n = 16,
                         .k = 64,
                         .items = 1,
                         .alpha = 1};
        check_shape(&shape, 7, false);
    }
}

/* Compiles a kernel for operands in chunks of 16 bytes, or for any, and prints what it needs. */
static void check_registers(const format_t *a, const format_t *b, layout_t layout, const char *architecture)
{
    shape_t shape = {.a = {.format = a, .layout = layout},
                     .b = {.format = b, .layout = layout},
                     .c_type = RUNG_F32,
                     .compute = RUNG_COMPUTE_BF16X1,
                     .m = 256,
                     .n = 256,
                     .k = 512,
                     .items = 1,
                     .alpha = 1};
    data_t data;
    rung_code *code;
    make_data(&shape, 8, &data);
    if (rung_kernel_compile(kernel, &data.problem, NULL, architecture, &code) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    printf("%s, %s x %s with scales of %s per %lld of k, %s: %lld registers, %lld bytes spilled\n", architecture,
           rung_type_name(a->type), rung_type_name(b->type), rung_type_name(a->scale_type), (long long)a->block_k,
           code->path, (long long)code->registers_per_thread, (long long)code->spill_bytes);
    assert_int_equal(code->spill_bytes, 0);
    rung_code_destroy(code);
    free_data(&data);
}

/* No registers spill. A compilation takes seconds, so that this is tested only by hand. */
static void sums_stay_in_registers(void **state)
{
    enum { CASES_BY_HAND = 100 };
    const char *number = getenv("RUNG_EMULATED_ARCH");
    char architecture[32];
    (void)state;
    if (!kernel_name || kernel_file || !number || cases < CASES_BY_HAND)
        return;
    snprintf(architecture, sizeof architecture, "sm_%s", number);
    for (int i = 0; i < TENSOR_CORE_FORMATS; i++)
        for (int layout = 0; layout < 2; layout++)
            if (is_tested(&formats[i], &formats[i]))
                check_registers(&formats[i], &formats[i], layout ? STRIDED : ALONG_K, architecture);
    if (has_fp4)
        check_registers(&formats[0], &formats[2], ALONG_K, architecture);
}

/* The library chooses the kernel, and copies operands, scales and zero points if the device needs it. */
static void calls_choose_a_kernel(void **state)
{
    const format_t *a, *b;
    uint64_t seed = 2;
    (void)state;
    for (int i = 0; i < (kernel_name ? TENSOR_CORE_FORMATS : 3 * FORMATS); i++) {
        if (!choose_formats(&seed, i, &a, &b))
            continue;
        shape_t shape = random_shape(&seed, a, b);
        check_shape(&shape, seed, true);
    }
}

static void sizes_may_be_zero(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (int format = 0; format < TENSOR_CORE_FORMATS; format++)
        for (int zero = 0; zero < 3 && is_tested(&formats[format], &formats[format]); zero++) {
            shape_t shape = random_shape(&seed, &formats[format], &formats[format]);
            shape.items = 1;
            shape.has_offsets = false;
            *(zero == 0 ? &shape.m : zero == 1 ? &shape.n : &shape.k) = 0;
            if (kernel_name && shape.k == 0 && formats[format].type != RUNG_F4E2M1)
                continue; /* without elements along k there are no scales, and another kernel multiplies the types */
            check_shape(&shape, seed, false);
        }
}

/* A group of problems is computed as the problems are. */
static void problems_of_a_group(void **state)
{
    enum { PROBLEMS = 4 };
    uint64_t seed = 4;
    data_t data[PROBLEMS];
    shape_t shapes[PROBLEMS];
    rung_problem problems[PROBLEMS];
    const format_t *format = &formats[kernel_name && !has_fp4 ? 0 : 3];
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        shapes[i] = random_shape(&seed, format, format);
        shapes[i].items = 1;
        shapes[i].has_offsets = shapes[i].has_bias = false;
        shapes[i].c_type = RUNG_F32;
        shapes[i].compute = kernel_name ? RUNG_COMPUTE_BF16X1 : RUNG_COMPUTE_STRICT;
        make_data(&shapes[i], seed, &data[i]);
        problems[i] = data[i].problem;
    }
    rung_group group = rung_group_of(problems, PROBLEMS);
    assert_int_equal(rung_group_multiply(context, &group, NULL), RUNG_OK);
    for (int i = 0; i < PROBLEMS; i++)
        assert_int_equal(count_wrong(&shapes[i], &data[i]), 0);
    problems[3].c.data = data[1].memory[A_SCALES];
    assert_int_not_equal(rung_group_multiply(context, &group, NULL), RUNG_OK);
    assert_non_null(strstr(rung_error_text(), "overlaps"));
    for (int i = 0; i < PROBLEMS; i++)
        free_data(&data[i]);
}

static void expect(rung_status expected, const rung_problem *problem, const char *words)
{
    rung_status status = rung_multiply(context, problem, NULL);
    if (status != expected || (status != RUNG_OK && !strstr(rung_error_text(), words)))
        fail_msg("status %d instead of %d, and \"%s\" instead of \"%s\"", (int)status, (int)expected, rung_error_text(),
                 words);
}

static void invalid_problems_are_refused(void **state)
{
    uint64_t seed = 5;
    data_t data;
    static float wide[64 * 64];
    shape_t shape = random_shape(&seed, &formats[3], &formats[2]);
    (void)state;
    if (kernel_name)
        return;
    shape.m = shape.n = 8;
    shape.k = 48;
    shape.items = 1;
    shape.has_offsets = shape.has_bias = false;
    shape.c_type = RUNG_F32;
    make_data(&shape, seed, &data);
    rung_problem *problem = &data.problem;
    rung_quantization *a = &data.quantization[0];
    expect(RUNG_OK, problem, "");
    a->scales.cols = 2;
    expect(RUNG_STATUS_INVALID, problem,
           "the scales are 8 x 2; blocks of 1 x 16 elements of a 8 x 48 matrix need 8 x 3");
    a->scales.cols = 3;
    a->scales.row_stride = -1;
    expect(RUNG_STATUS_INVALID, problem, "the matrix of A's scales has strides -1");
    a->scales.row_stride = 3;
    a->scales.data = NULL;
    expect(RUNG_STATUS_INVALID, problem, "the matrix of A's scales has neither data nor a buffer");
    a->scales.data = data.memory[A_SCALES];
    rung_matrix c = problem->c;
    problem->c.type = RUNG_F16;
    expect(RUNG_STATUS_UNSUPPORTED, problem, "A and B are quantized and C is f16; it must be f32 or bf16");
    problem->c = c;
    problem->c.data = data.memory[A_SCALES];
    expect(RUNG_STATUS_ALIASED, problem, "C overlaps the matrix of A's scales");
    problem->c = c;
    rung_matrix b = problem->b;
    problem->b = rung_matrix_of(RUNG_F32, 48, 8, wide);
    problem->b_quantization = NULL;
    problem->a_quantization = NULL;
    expect(RUNG_STATUS_UNSUPPORTED, problem, "A has type f4e2m1 and B f32; a quantized A needs a B of i8");
    problem->b = b;
    problem->a.type = RUNG_Q8_0;
    expect(RUNG_STATUS_UNSUPPORTED, problem, "A has type q8_0, which only B may have");
    problem->a = rung_matrix_of(RUNG_F32, 8, 48, wide);
    problem->a_quantization = a;
    expect(RUNG_STATUS_UNSUPPORTED, problem, "A has scales or zero points with types f32 x f4e2m1");
    problem->a_quantization = NULL;
    problem->d_quantization = a;
    expect(RUNG_STATUS_UNSUPPORTED, problem, "D has scales or zero points, which only A and B may have");
    free_data(&data);
}

/* Only the memory of the scales may differ between runs of a plan. */
static void plans_depend_on_the_form_of_scales(void **state)
{
    uint64_t seed = 6;
    data_t data;
    rung_plan *plan;
    shape_t shape = random_shape(&seed, &formats[7], &formats[7]);
    (void)state;
    if (strcmp(device_name, "cpu") != 0)
        return;
    shape.items = 1;
    shape.has_offsets = shape.has_bias = false;
    shape.k = 300;
    make_data(&shape, seed, &data);
    assert_int_equal(rung_plan_create(device, &data.problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &data.problem, NULL), RUNG_OK);
    assert_int_equal(count_wrong(&shape, &data), 0);
    data.quantization[0].block_cols = 100; /* 3 blocks, too */
    assert_int_equal(rung_plan_run(plan, queue, &data.problem, NULL), RUNG_STATUS_INVALID);
    data.problem.a_quantization = NULL;
    assert_int_equal(rung_plan_run(plan, queue, &data.problem, NULL), RUNG_STATUS_INVALID);
    rung_plan_destroy(plan);
    free_data(&data);
}

/* Reads the kernel file to test. Returns false if it cannot be read. */
static bool read_kernel(void)
{
    static char text[1 << 17];
    FILE *file = fopen(kernel_file, "r");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    char name[64];
    if (file)
        fclose(file);
    snprintf(name, sizeof name, "%s.cu", kernel_name);
    return bytes > 0 && rung_kernel_from_source(context, device_name, name, text, &kernel) == RUNG_OK;
}

static int set_up(void **state)
{
    rung_context_options options = rung_context_options_default();
    options.device = device_name;
    (void)state;
    if (rung_context_create(&options, &context) != RUNG_OK ||
        rung_device_open(context, device_name, &device) != RUNG_OK || rung_queue_create(device, &queue) != RUNG_OK) {
        printf("%s\n", rung_error_text());
        return 1;
    }
    if (kernel_file ? read_kernel()
                    : !kernel_name || rung_kernel_find(context, device_name, kernel_name, &kernel) == RUNG_OK)
        return 0;
    printf("%s\n", rung_error_text());
    return 1;
}

static int tear_down(void **state)
{
    (void)state;
    rung_queue_destroy(queue);
    rung_kernel_destroy(kernel);
    rung_device_close(device);
    rung_context_destroy(context);
    return 0;
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format),
        cmocka_unit_test(every_element_of_chunks),
        cmocka_unit_test(sums_stay_in_registers),
        cmocka_unit_test(calls_choose_a_kernel),
        cmocka_unit_test(sizes_may_be_zero),
        cmocka_unit_test(problems_of_a_group),
        cmocka_unit_test(invalid_problems_are_refused),
        cmocka_unit_test(plans_depend_on_the_form_of_scales),
    };
    unit_clean_environment();
    device_name = count > 1 ? arguments[1] : device_name;
    cases = count > 2 ? strtoll(arguments[2], NULL, 10) : cases;
    kernel_name = count > 3 ? arguments[3] : NULL;
    kernel_file = count > 4 ? arguments[4] : NULL;
    has_fp4 = getenv("RUNG_EMULATED_ARCH") && strtol(getenv("RUNG_EMULATED_ARCH"), NULL, 10) >= 120;
    if (kernel_file)
        cmocka_set_test_filter("every_*");
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
