/* SPDX-License-Identifier: Apache-2.0 */
/* quantized.c - quantized [DEVICE [EVERY [KERNEL [FILE]]]]: 15_quantized, or 16_quantized_matrix in bf16x1, on a device with its
 * own memory ("opencl" unless named), with every format, layout, preset and type of A. Each element is compared with a sum in
 * F64 of the values that rung_dequantize gives, and with the error bound of rung.h. Of the many combinations, every EVERY-th one
 * runs. With FILE, that kernel file is tested instead of the library's, by the first three tests: tests/cuda/quantized_bugs.sh
 * plants bugs into it. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>

#include "core/kernel.h"

enum { CANARY = 0x5a };

static const char *device_name = "opencl", *kernel_name = "15_quantized", *kernel_file;
static rung_compute compute; /* the mode of KERNEL */
static int64_t every = 83;   /* no multiple of formats or layouts */
static int combinations;
static rung_context *context;
static rung_device *device;
static rung_queue *queue;
static rung_kernel *kernel;
static char logged[1 << 14]; /* the last lines of the context's log */

static void log_line(void *user, const char *line)
{
    (void)user;
    if (strlen(logged) + strlen(line) + 2 > sizeof logged)
        *logged = '\0';
    size_t used = strlen(logged);
    snprintf(logged + used, sizeof logged - used, "%s\n", line);
}

/* A format: the types of elements, scales and zero points (RUNG_TYPE_NONE: absent), and the block. */
typedef struct format {
    rung_type type, scale_type, zero_type;
    int64_t block_rows, block_cols;
} format_t;

static const format_t formats[] = {
    {RUNG_Q8_0, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_Q4_0, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_U4, RUNG_F16, RUNG_U4, 128, 1},              /* AWQ and GPTQ */
    {RUNG_F4E2M1, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1},   /* MXFP4 */
    {RUNG_F4E2M1, RUNG_F8E4M3, RUNG_TYPE_NONE, 16, 1}, /* NVFP4 */
    {RUNG_I4, RUNG_F16, RUNG_TYPE_NONE, 32, 1},
    {RUNG_I8, RUNG_F32, RUNG_TYPE_NONE, 0, 1},       /* per column */
    {RUNG_I8, RUNG_F32, RUNG_TYPE_NONE, 0, 0},       /* per tensor */
    {RUNG_I8, RUNG_BF16, RUNG_TYPE_NONE, 1, 32},     /* along n */
    {RUNG_I8, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0}, /* no scales */
    {RUNG_I4, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    {RUNG_U4, RUNG_F16, RUNG_U4, 5, 3},
    {RUNG_U4, RUNG_F32, RUNG_F16, 0, 1},
    {RUNG_U4, RUNG_BF16, RUNG_I8, 8, 8},
    {RUNG_U8, RUNG_F32, RUNG_U8, 64, 1},
    {RUNG_U8, RUNG_TYPE_NONE, RUNG_U8, 0, 1},
    {RUNG_F8E4M3, RUNG_F32, RUNG_TYPE_NONE, 128, 128},
    {RUNG_F8E4M3, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1}, /* MXFP8 */
    {RUNG_F8E4M3, RUNG_F8E5M2, RUNG_F4E2M1, 16, 16},
    {RUNG_F8E5M2, RUNG_F16, RUNG_TYPE_NONE, 0, 1},
    {RUNG_F8E5M2, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1},
    {RUNG_F4E2M1, RUNG_F64, RUNG_TYPE_NONE, 7, 2},
    {RUNG_F16, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0}, /* not quantized, but narrower than A */
    {RUNG_BF16, RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* The layouts of B. Strides are in elements; `gap` elements lie between rows, or between columns. The elements of COLUMNS adjoin
 * along k, as in files of weights. */
typedef enum layout { COLUMNS, ROWS, STRIDED, LAYOUTS } layout_t;

/* What codes and scales are: finite numbers; with some that are infinite or NaN; or finite numbers with some denormal scales and
 * a unit matrix for A, so that the result is B itself. */
typedef enum values { FINITE, HOSTILE, EXACT } values_t;

typedef struct shape {
    const format_t *format;
    rung_type a_type, c_type;
    values_t values;
    int64_t m, n, k;
    layout_t layout;
    int64_t gap, offset;
    bool is_a_transposed, is_c_transposed, are_scales_transposed;
    int64_t splits;
    double alpha, beta;
    const char *parameters; /* NULL: the library chooses */
} shape_t;

enum { A, B, C, SCALES, ZEROS, MATRICES };

typedef struct data {
    rung_problem problem;
    rung_quantization quantization;
    unsigned char *memory[MATRICES];
    int64_t bytes[MATRICES];
    double *a, *b, *c;
} data_t;

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

static bool has_blocks(rung_type type)
{
    return type == RUNG_Q8_0 || type == RUNG_Q4_0;
}

/* Returns the F16 scale of a block: positive, negative, zero, denormal and, if they may be hostile, infinite or NaN. */
static uint16_t block_scale(uint64_t *seed, values_t values)
{
    static const uint16_t scales[] = {0x2f00, 0x3c00, 0xab21, 0x0000, 0x0015, 0x8201, 0x7c00, 0x7e00};
    return scales[unit_random(seed, values == HOSTILE && unit_random(seed, 16) == 0 ? 8 : 6)];
}

/* Fills elements with every code; those that are not finite only where they may be hostile, and then rarely. */
static void fill_codes(uint64_t *seed, rung_type type, unsigned char *memory, int64_t bytes, values_t values)
{
    bool may_be_hostile = values == HOSTILE;
    for (int64_t i = 0; i < bytes; i++) {
        memory[i] = (unsigned char)unit_random(seed, 256);
        bool is_special = (type == RUNG_F8E4M3 && (memory[i] & 0x7f) == 0x7f) ||
                          (type == RUNG_F8E5M2 && (memory[i] & 0x7c) == 0x7c);
        if (is_special && !(may_be_hostile && unit_random(seed, 4) == 0))
            memory[i] = 1;
    }
}

static void fill_elements(uint64_t *seed, rung_type type, unsigned char *memory, int64_t elements, values_t values)
{
    int64_t bytes = bytes_of(type, elements), block = rung_type_block_bytes(type);
    if (!is_float(type))
        fill_codes(seed, type, memory, bytes, values);
    for (int64_t i = 0; i < elements && is_float(type); i++)
        put(type, memory, i, values == HOSTILE && unit_random(seed, 64) == 0 ? INFINITY : random_value(seed));
    for (int64_t i = 0; i < bytes && has_blocks(type); i += block) {
        uint16_t scale = block_scale(seed, values);
        memcpy(memory + i, &scale, sizeof scale);
    }
}

/* Fills scales: positive, negative and zero ones, denormal ones, and hostile ones. */
static void fill_scales(uint64_t *seed, rung_type type, unsigned char *memory, int64_t elements, values_t values)
{
    static const double numbers[] = {0.01, 0.75, 3, -0.02, 0, 0x1.8p-16 /* denormal in F16 */, INFINITY, NAN};
    bool is_exact = values == EXACT;
    fill_elements(seed, type, memory, elements, values);
    for (int64_t i = 0; i < elements && type == RUNG_E8M0; i++) {
        memory[i] = (unsigned char)(115 + unit_random(seed, 16));
        if (is_exact || (values == HOSTILE && unit_random(seed, 16) == 0))
            memory[i] = (unsigned char)(unit_random(seed, 3) == 0 ? (is_exact ? 0 : 255) : unit_random(seed, 200));
    }
    for (int64_t i = 0; i < elements && is_float(type); i++) {
        bool is_hostile = values == HOSTILE && unit_random(seed, 16) == 0;
        put(type, memory, i, numbers[unit_random(seed, is_hostile ? 8 : 6)] * (double)(1 + unit_random(seed, 9)));
        if (is_exact && unit_random(seed, 2) == 0 && type != RUNG_F16)
            put(type, memory, i, 0x1p-140 * (double)(1 + unit_random(seed, 99)));
    }
}

static rung_matrix make_view(data_t *data, int which, rung_type type, int64_t rows, int64_t cols, layout_t layout,
                             int64_t gap, int64_t offset, int64_t *elements)
{
    int64_t step = layout == STRIDED ? 2 : 1, row = (cols > 0 ? cols : 1) + gap, col = (rows > 0 ? rows : 1) + gap;
    rung_matrix view = rung_matrix_of(type, rows, cols, NULL);
    view.row_stride = layout == COLUMNS ? 1 : row * step;
    view.col_stride = layout == COLUMNS ? col : step;
    view.offset = offset;
    *elements = rows > 0 && cols > 0 ? offset + (rows - 1) * view.row_stride + (cols - 1) * view.col_stride + 1 : 0;
    data->bytes[which] = bytes_of(type, *elements);
    view.data = data->memory[which] = allocate(data->bytes[which]);
    return view;
}

static int64_t ceil_divide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void make_scales(const shape_t *shape, data_t *data, uint64_t *seed)
{
    const format_t *format = shape->format;
    int64_t rows = ceil_divide(shape->k, format->block_rows > 0 ? format->block_rows : shape->k + 1), elements;
    int64_t cols = ceil_divide(shape->n, format->block_cols > 0 ? format->block_cols : shape->n + 1);
    layout_t layout = shape->are_scales_transposed ? COLUMNS : ROWS;
    rung_quantization *quantization = &data->quantization;
    *quantization = rung_quantization_default();
    quantization->block_rows = format->block_rows;
    quantization->block_cols = format->block_cols;
    if (format->scale_type != RUNG_TYPE_NONE) {
        quantization->scales = make_view(data, SCALES, format->scale_type, rows, cols, layout, shape->gap,
                                         shape->offset, &elements);
        fill_scales(seed, format->scale_type, data->memory[SCALES], elements, shape->values);
    }
    if (format->zero_type != RUNG_TYPE_NONE) {
        quantization->zero_points = make_view(data, ZEROS, format->zero_type, rows, cols, layout, shape->gap,
                                              shape->offset + 1, &elements);
        fill_elements(seed, format->zero_type, data->memory[ZEROS], elements, FINITE);
    }
    if (format->scale_type != RUNG_TYPE_NONE || format->zero_type != RUNG_TYPE_NONE)
        data->problem.b_quantization = quantization;
}

/* Reads the values of B. */
static void dequantize_b(const shape_t *shape, data_t *data)
{
    rung_matrix values = rung_matrix_of(RUNG_F64, shape->k, shape->n, data->b);
    const rung_matrix *b = &data->problem.b;
    if (!is_float(b->type) && b->rows > 0 && b->cols > 0)
        assert_int_equal(rung_dequantize(*b, data->problem.b_quantization, values), RUNG_OK);
    for (int64_t p = 0; p < shape->k && is_float(b->type); p++)
        for (int64_t j = 0; j < shape->n; j++)
            data->b[p * shape->n + j] = get(b->type, b->data, b->offset + p * b->row_stride + j * b->col_stride);
}

static rung_matrix make_dense(data_t *data, int which, rung_type type, int64_t rows, int64_t cols, bool is_transposed,
                              bool is_unit, double **values, uint64_t *seed)
{
    int64_t elements;
    rung_matrix view = make_view(data, which, type, rows, cols, is_transposed ? COLUMNS : ROWS, 0, 0, &elements);
    *values = allocate(rows * cols * (int64_t)sizeof(double));
    fill_elements(seed, type, data->memory[which], elements, FINITE);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            int64_t index = i * view.row_stride + j * view.col_stride;
            if (is_unit)
                put(type, data->memory[which], index, i == j);
            (*values)[i * cols + j] = get(type, data->memory[which], index);
        }
    return view;
}

/* `data` keeps the quantization to which the problem points, so that it must not be copied. */
static void make_data(const shape_t *shape, uint64_t seed, data_t *data)
{
    int64_t elements;
    memset(data, 0, sizeof *data);
    rung_matrix a = make_dense(data, A, shape->a_type, shape->m, shape->k, shape->is_a_transposed,
                               shape->values == EXACT, &data->a, &seed);
    rung_matrix b = make_view(data, B, shape->format->type, shape->k, shape->n, shape->layout, shape->gap,
                              shape->offset, &elements);
    rung_matrix c = make_dense(data, C, shape->c_type, shape->m, shape->n, shape->is_c_transposed, false, &data->c,
                               &seed);
    fill_elements(&seed, shape->format->type, data->memory[B], elements, shape->values);
    data->b = allocate(shape->k * shape->n * (int64_t)sizeof(double));
    data->problem = rung_problem_of(a, b, c);
    data->problem.alpha = shape->alpha;
    data->problem.beta = shape->beta;
    data->problem.compute = compute;
    make_scales(shape, data, &seed);
    dequantize_b(shape, data);
}

static void free_data(data_t *data)
{
    for (int i = 0; i < MATRICES; i++)
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

/* Returns the error of a sum relative to the sum of the magnitudes of its products. An engine may truncate, and bf16x1 rounds
 * the factors. */
static double relative_error(int64_t k)
{
    double steps = (double)k * 0x1p-24;
    return compute == RUNG_COMPUTE_STRICT ? steps / (1 - steps) : 1.02 * 3 * steps / (1 - 3 * steps) + 0x1p-7 + 0x1p-16;
}

/* Returns what the mode makes of an element of B. */
static double used_value(double b)
{
    return compute == RUNG_COMPUTE_STRICT ? b : (double)rung_bf16_to_f32(rung_bf16_from_f32((float)b));
}

/* Returns whether an element is right. `sizes` is the sum of the magnitudes of its products. */
static bool is_right(const shape_t *shape, double found, double sum, double sizes, double addend)
{
    double u = 0x1p-24, expected = shape->alpha * sum + addend;
    double bound = fabs(shape->alpha) * relative_error(shape->k) * sizes + 0x1p-120 +
                   8 * u * (fabs(shape->alpha * sum) + fabs(addend));
    bound += 1.001 * rounding_of(shape->c_type) * (fabs(expected) + bound) + 0x1p-24 * (shape->c_type == RUNG_F16);
    if (shape->values == EXACT && shape->c_type == RUNG_F32)
        return found == used_value(expected);
    if (isnan(expected))
        return isnan(found);
    if (isinf(expected))
        return found == expected;
    if (fabs(expected) + bound > 65504 && shape->c_type == RUNG_F16) /* may overflow */
        return true;
    return fabs(found - expected) <= bound;
}

static void print_shape(const shape_t *shape)
{
    printf(
        "%s*%s:%s, scales %s and %s in blocks of %lld x %lld, layout %d, gap %lld, offset %lld, transposed %d %d %d, "
        "values %d, %lld x %lld x %lld, %lld slices (%s)\n",
        rung_type_name(shape->a_type), rung_type_name(shape->format->type), rung_type_name(shape->c_type),
        rung_type_name(shape->format->scale_type), rung_type_name(shape->format->zero_type),
        (long long)shape->format->block_rows, (long long)shape->format->block_cols, (int)shape->layout,
        (long long)shape->gap, (long long)shape->offset, shape->is_a_transposed, shape->is_c_transposed,
        shape->are_scales_transposed, (int)shape->values, (long long)shape->m, (long long)shape->n, (long long)shape->k,
        (long long)shape->splits, shape->parameters ? shape->parameters : "automatic");
}

static int count_wrong(const shape_t *shape, const data_t *data)
{
    int wrong = 0;
    const rung_matrix *c = &data->problem.c;
    for (int64_t i = 0; i < shape->m; i++)
        for (int64_t j = 0; j < shape->n; j++) {
            double sum = 0, sizes = 0, addend = shape->beta != 0 ? shape->beta * data->c[i * shape->n + j] : 0;
            for (int64_t p = 0; p < shape->k && shape->alpha != 0; p++) {
                double product = data->a[i * shape->k + p] * data->b[p * shape->n + j];
                sum += product;
                sizes += fabs(product);
            }
            double found = get(shape->c_type, data->memory[C], i * c->row_stride + j * c->col_stride);
            if (is_right(shape, found, sum, sizes, addend))
                continue;
            if (wrong++ == 0) {
                print_shape(shape);
                printf("    element %lld, %lld is %.9g; expected %.9g\n", (long long)i, (long long)j, found,
                       shape->alpha * sum + addend);
            }
        }
    return wrong;
}

/* ---- On the device ---------------------------------------------------------------------------------------------- */

static rung_buffer *upload(const void *memory, int64_t bytes)
{
    rung_buffer *buffer;
    assert_int_equal(rung_buffer_create(device, bytes > 0 ? bytes : 1, &buffer), RUNG_OK);
    if (bytes > 0)
        assert_int_equal(rung_buffer_write(queue, buffer, 0, bytes, memory, NULL), RUNG_OK);
    return buffer;
}

static void place(rung_matrix *view, rung_buffer *buffer)
{
    view->data = NULL;
    view->buffer = view->type == RUNG_TYPE_NONE ? NULL : buffer;
}

/* Runs a plan on buffers, and reads C back. */
static rung_status run_plan(const shape_t *shape, data_t *data)
{
    rung_plan_options options = rung_plan_options_default();
    rung_run_options run = rung_run_options_default();
    rung_problem problem = data->problem;
    rung_quantization quantization = data->quantization;
    rung_buffer *buffers[MATRICES] = {NULL};
    rung_plan *plan = NULL;
    options.kernel = kernel;
    options.parameters = shape->parameters;
    options.split_k = shape->splits;
    for (int i = 0; i < MATRICES; i++)
        buffers[i] = upload(data->memory[i], data->bytes[i]);
    place(&problem.a, buffers[A]);
    place(&problem.b, buffers[B]);
    place(&problem.c, buffers[C]);
    place(&quantization.scales, buffers[SCALES]);
    place(&quantization.zero_points, buffers[ZEROS]);
    problem.b_quantization = problem.b_quantization ? &quantization : NULL;
    rung_status status = rung_plan_create(device, &problem, &options, &plan);
    if (status == RUNG_OK && rung_plan_describe(plan)->workspace_bytes > 0)
        assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->workspace_bytes, &run.workspace),
                         RUNG_OK);
    if (status == RUNG_OK)
        status = rung_plan_run(plan, queue, &problem, &run);
    if (status == RUNG_OK && data->bytes[C] > 0)
        status = rung_buffer_read(queue, buffers[C], 0, data->bytes[C], data->memory[C], NULL);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    rung_plan_destroy(plan);
    rung_buffer_destroy(run.workspace);
    for (int i = 0; i < MATRICES; i++)
        rung_buffer_destroy(buffers[i]);
    return status;
}

static void check_shape(const shape_t *shape, uint64_t seed)
{
    data_t data;
    make_data(shape, seed, &data);
    rung_status status = run_plan(shape, &data);
    if (status != RUNG_OK) {
        print_shape(shape);
        printf("%s\n", rung_error_text());
    }
    int wrong = status == RUNG_OK ? count_wrong(shape, &data) : 1;
    if (wrong > 0 && kernel_file) /* one is enough */
        exit(1);
    assert_int_equal(wrong, 0);
    for (int i = 0; i < MATRICES; i++)
        assert_true(!data.memory[i] || data.memory[i][data.bytes[i]] == CANARY);
    free_data(&data);
}

/* The same by rung_multiply, which copies the matrices. */
static void check_call(const shape_t *shape, uint64_t seed)
{
    data_t data;
    make_data(shape, seed, &data);
    if (rung_multiply(context, &data.problem, NULL) != RUNG_OK) {
        print_shape(shape);
        fail_msg("%s", rung_error_text());
    }
    assert_int_equal(count_wrong(shape, &data), 0);
    free_data(&data);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------ */

static shape_t random_shape(uint64_t *seed, const format_t *format, layout_t layout)
{
    bool blocks = has_blocks(format->type), is_tidy = unit_random(seed, 2) == 0, is_16_bit = is_float(format->type);
    int64_t unit = blocks ? 32 : is_tidy ? 8 : 1;
    rung_type a = is_16_bit ? RUNG_F32 : (rung_type[]){RUNG_F32, RUNG_F32, RUNG_F16, RUNG_BF16}[unit_random(seed, 4)];
    shape_t shape = {
        .format = format, .a_type = a, .layout = blocks ? COLUMNS : layout, .splits = 1, .parameters = "tiny"};
    shape.c_type = unit_random(seed, 2) == 0 ? RUNG_F32 : a;
    shape.m = 1 + unit_random(seed, 20);
    shape.n = (1 + unit_random(seed, 30)) * (is_tidy && !blocks ? unit_random(seed, 2) * 7 + 1 : 1);
    shape.k = (1 + unit_random(seed, blocks ? 5 : 160 / unit)) * unit;
    shape.gap = unit_random(seed, 2) * unit;
    shape.offset = unit_random(seed, 2) * unit;
    shape.is_a_transposed = unit_random(seed, 3) == 0;
    shape.is_c_transposed = unit_random(seed, 3) == 0;
    shape.are_scales_transposed = unit_random(seed, 2) == 0;
    shape.alpha = unit_random(seed, 3) == 0 ? 1 : random_value(seed);
    shape.beta = unit_random(seed, 2) == 0 ? 0 : random_value(seed);
    shape.splits = unit_random(seed, 6) == 0 ? 3 : 1;
    shape.values = unit_random(seed, 4) == 0 ? HOSTILE : FINITE;
    return shape;
}

static bool is_chosen(int *index)
{
    bool chosen = (*index)++ % every == 0;
    combinations += chosen;
    return chosen;
}

static void every_format_and_layout(void **state)
{
    int index = 0;
    (void)state;
    for (int round = 0; round < (kernel_file ? 1 : 4); round++)
        for (int format = 0; format < FORMATS; format++)
            for (int layout = 0; layout < LAYOUTS; layout++) {
                uint64_t seed = (uint64_t)(1000 * round + 10 * format + layout);
                shape_t shape = random_shape(&seed, &formats[format], (layout_t)layout);
                if (is_chosen(&index))
                    check_shape(&shape, seed);
            }
}

/* With a unit matrix for A, the result has the bits of B: NaNs apart, every code is converted exactly. A is that of one tile. */
static void every_code_is_exact(void **state)
{
    int index = 0;
    (void)state;
    for (int format = 0; format < FORMATS; format++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            shape_t shape = {.format = &formats[format],
                             .a_type = RUNG_F32,
                             .c_type = RUNG_F32,
                             .values = EXACT,
                             .m = 32,
                             .n = 40,
                             .k = 32,
                             .layout = (layout_t)layout,
                             .alpha = 1,
                             .splits = 1,
                             .parameters = "tiny"};
            if (has_blocks(shape.format->type))
                shape.layout = COLUMNS;
            if (is_chosen(&index))
                check_shape(&shape, (uint64_t)index);
        }
}

/* With one step of k, no sum hides an infinite number behind a NaN, or the other way round. */
static void every_hostile_scale_stays(void **state)
{
    int index = 0;
    (void)state;
    for (int format = 0; format < FORMATS; format++) {
        shape_t shape = {.format = &formats[format],
                         .a_type = RUNG_F32,
                         .c_type = RUNG_F32,
                         .values = HOSTILE,
                         .m = 2,
                         .n = 200,
                         .k = 1,
                         .layout = ROWS,
                         .alpha = 1,
                         .splits = 1,
                         .parameters = "tiny"};
        if (!has_blocks(shape.format->type) && is_chosen(&index))
            check_shape(&shape, (uint64_t)format);
    }
}

/* Parameters of 15_quantized and 16_quantized_matrix. */
enum { PARAMETERS = 7 };
static const char *const parameters[2][PARAMETERS] = {
    {NULL, "rows4", "rows8", "rows16", "small", "large", "BM=64"},
    {NULL, "rows16", "tiny,WN=32", "tiny,BM=32", "small", "", "BM=64,BK=64"}};

/* All of them, also those that the next test does not choose. */
static void parameters_are_valid(void **state)
{
    static const char *const names[2] = {"15_quantized", "16_quantized_matrix"};
    (void)state;
    for (int i = 0; i < 2 * PARAMETERS; i++) {
        rung_kernel *found;
        rungi_parameter_values values;
        assert_int_equal(rung_kernel_find(context, device_name, names[i / PARAMETERS], &found), RUNG_OK);
        const char *text = parameters[i / PARAMETERS][i % PARAMETERS];
        if (rungi_kernel_parse_parameters(found, text, 4, &values) != RUNG_OK)
            fail_msg("%s: %s", text, rung_error_text());
    }
}

/* The presets, for the numbers of rows for which they are chosen. */
static void presets(void **state)
{
    int index = 0;
    (void)state;
    for (int name = 0; name < PARAMETERS; name++)
        for (int format = 0; format < 5; format++) {
            static const int64_t rows[] = {1, 3, 7, 16, 33, 130, 65};
            shape_t shape = {.format = &formats[format],
                             .a_type = RUNG_F32,
                             .c_type = RUNG_F32,
                             .m = rows[name],
                             .n = 72,
                             .k = 192,
                             .alpha = 1,
                             .splits = 1,
                             .parameters = parameters[compute != RUNG_COMPUTE_STRICT][name]};
            if (is_chosen(&index))
                check_shape(&shape, (uint64_t)index);
        }
}

static void plans_choose_a_preset_by_the_rows(void **state)
{
    static const struct {
        int64_t m;
        const char *origin[2];
    } cases[] = {{1, {"preset rows4", "preset rows16"}},
                 {4, {"preset rows4", "preset rows16"}},
                 {5, {"preset rows8", "preset rows16"}},
                 {16, {"preset rows16", "preset rows16"}}};
    (void)state;
    if (rung_kernel_describe(kernel)->engine == RUNG_ENGINE_EMULATED)
        skip(); /* chosen only by name */
    for (int i = 0; i < 4; i++) {
        rung_plan *plan;
        rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, cases[i].m, 64, NULL),
                                               rung_matrix_transpose(rung_matrix_of(RUNG_Q4_0, 128, 64, NULL)),
                                               rung_matrix_of(RUNG_F32, cases[i].m, 128, NULL));
        problem.compute = compute;
        assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
        assert_string_equal(rung_plan_describe(plan)->kernel, kernel_name);
        assert_string_equal(rung_plan_describe(plan)->origin_text, cases[i].origin[compute != RUNG_COMPUTE_STRICT]);
        rung_plan_destroy(plan);
    }
}

static void calls_copy_the_scales(void **state)
{
    int index = 0;
    (void)state;
    for (int format = 0; format < FORMATS; format++)
        for (int layout = 0; layout < LAYOUTS; layout++) {
            uint64_t seed = (uint64_t)(77 + 10 * format + layout);
            shape_t shape = random_shape(&seed, &formats[format], (layout_t)layout);
            if (is_chosen(&index))
                check_call(&shape, seed);
        }
}

static void sizes_may_be_zero(void **state)
{
    int index = 0;
    (void)state;
    for (int format = 0; format < FORMATS; format++)
        for (int zero = 0; zero < 3; zero++) {
            uint64_t seed = (uint64_t)(5 + format);
            shape_t shape = random_shape(&seed, &formats[format], COLUMNS);
            *(zero == 0 ? &shape.m : zero == 1 ? &shape.n : &shape.k) = 0;
            shape.values = FINITE;
            if (is_chosen(&index))
                check_call(&shape, seed);
        }
}

/* ---- Batches, epilogues and groups ------------------------------------------------------------------------------ */

enum { ITEMS = 3, ROWS_OF_C = 5, COLS_OF_C = 9, STEPS = 37, BLOCK = 8, ITEM_SCALES = 5 * COLS_OF_C };

/* Items of U4 with scales and zero points; STEPS * COLS_OF_C is odd, so that items begin in the middle of bytes. */
static float a_memory[ITEMS * ROWS_OF_C * STEPS], c_memory[ITEMS * ROWS_OF_C * COLS_OF_C], residual_memory[COLS_OF_C];
static unsigned char b_memory[ITEMS * STEPS * COLS_OF_C], zero_memory[ITEMS * ITEM_SCALES];
static uint16_t scale_memory[ITEMS * ITEM_SCALES];
static float expected[ITEMS][ROWS_OF_C * COLS_OF_C];

static rung_quantization fill_items(void)
{
    uint64_t seed = 5;
    rung_quantization quantization = rung_quantization_default();
    unit_fill(&seed, a_memory, ITEMS * ROWS_OF_C * STEPS);
    unit_fill(&seed, residual_memory, COLS_OF_C);
    fill_codes(&seed, RUNG_U4, b_memory, sizeof b_memory, FINITE);
    fill_codes(&seed, RUNG_U4, zero_memory, sizeof zero_memory, FINITE);
    for (int i = 0; i < ITEMS * ITEM_SCALES; i++)
        scale_memory[i] = rung_f16_from_f32((float)(1 + unit_random(&seed, 4)) / 2); /* all sums are exact */
    quantization.block_rows = BLOCK;
    quantization.block_cols = 1;
    quantization.scales = rung_matrix_of(RUNG_F16, 5, COLS_OF_C, scale_memory);
    quantization.zero_points = rung_matrix_of(RUNG_U4, 5, COLS_OF_C, zero_memory);
    return quantization;
}

/* Returns the problem of one item; `item` of the quantization, too. */
static rung_problem item_problem(int item, rung_quantization *quantization, float *c)
{
    rung_matrix b = rung_matrix_of(RUNG_U4, STEPS, COLS_OF_C, b_memory);
    b.offset = (int64_t)item * STEPS * COLS_OF_C;
    quantization->scales.offset = quantization->zero_points.offset = (int64_t)item * ITEM_SCALES;
    rung_problem problem = rung_problem_of(
        rung_matrix_of(RUNG_F32, ROWS_OF_C, STEPS, a_memory + item * ROWS_OF_C * STEPS), b,
        rung_matrix_of(RUNG_F32, ROWS_OF_C, COLS_OF_C, c));
    problem.residual = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, COLS_OF_C, residual_memory), ROWS_OF_C,
                                             COLS_OF_C);
    problem.activation = RUNG_ACTIVATION_RELU;
    problem.b_quantization = quantization;
    problem.compute = compute;
    return problem;
}

/* Fills the results of all items by multiplications on the CPU. */
static void expect_items(void)
{
    for (int item = 0; item < ITEMS; item++) {
        rung_quantization quantization = fill_items();
        rung_problem problem = item_problem(item, &quantization, expected[item]);
        assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
    }
    memset(c_memory, CANARY, sizeof c_memory);
}

static void items_have_their_own_scales(void **state)
{
    static const int64_t offsets[ITEMS] = {2 * ITEM_SCALES, ITEM_SCALES, 0};
    (void)state;
    expect_items();
    rung_quantization quantization = fill_items();
    rung_problem problem = item_problem(0, &quantization, c_memory);
    problem.batch = ITEMS;
    problem.a.batch_stride = ROWS_OF_C * STEPS;
    problem.b.batch_stride = STEPS * COLS_OF_C;
    problem.c.batch_stride = ROWS_OF_C * COLS_OF_C;
    quantization.scales.batch_stride = quantization.zero_points.batch_stride = ITEM_SCALES;
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    assert_memory_equal(c_memory, expected, sizeof expected);
    /* Scales of other items: the middle one has its own. */
    quantization.scales.batch_offsets = quantization.zero_points.batch_offsets = offsets;
    memset(c_memory, CANARY, sizeof c_memory);
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    assert_memory_equal(c_memory + ROWS_OF_C * COLS_OF_C, expected[1], sizeof expected[1]);
    assert_true(memcmp(c_memory, expected[0], sizeof expected[0]) != 0);
}

/* The same in buffers, where the kernel reads the offsets. */
static void offsets_of_scales_in_buffers(void **state)
{
    static const int64_t offsets[ITEMS] = {ITEM_SCALES, 0, 2 * ITEM_SCALES};
    static const int64_t b_offsets[ITEMS] = {STEPS * COLS_OF_C, 0, 2 * STEPS * COLS_OF_C};
    static const int64_t a_offsets[ITEMS] = {ROWS_OF_C * STEPS, 0, 2 * ROWS_OF_C * STEPS};
    rung_run_options run = rung_run_options_default();
    rung_plan *plan;
    (void)state;
    expect_items();
    rung_quantization quantization = fill_items();
    rung_problem problem = item_problem(0, &quantization, c_memory);
    rung_buffer *buffers[] = {upload(a_memory, sizeof a_memory),       upload(b_memory, sizeof b_memory),
                              upload(c_memory, sizeof c_memory),       upload(scale_memory, sizeof scale_memory),
                              upload(zero_memory, sizeof zero_memory), upload(residual_memory, sizeof residual_memory)};
    place(&problem.a, buffers[0]);
    place(&problem.b, buffers[1]);
    place(&problem.c, buffers[2]);
    place(&quantization.scales, buffers[3]);
    place(&quantization.zero_points, buffers[4]);
    place(&problem.residual, buffers[5]);
    problem.batch = ITEMS;
    problem.a.batch_offsets = a_offsets;
    problem.b.batch_offsets = b_offsets;
    problem.c.batch_stride = ROWS_OF_C * COLS_OF_C;
    quantization.scales.batch_offsets = quantization.zero_points.batch_offsets = offsets;
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->workspace_bytes, &run.workspace), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &problem, &run), RUNG_OK);
    assert_int_equal(rung_buffer_read(queue, buffers[2], 0, sizeof c_memory, c_memory, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    assert_memory_equal(c_memory, expected[1], sizeof expected[1]);
    assert_memory_equal(c_memory + ROWS_OF_C * COLS_OF_C, expected[0], sizeof expected[0]);
    assert_memory_equal(c_memory + 2 * ROWS_OF_C * COLS_OF_C, expected[2], sizeof expected[2]);
    rung_plan_destroy(plan);
    rung_buffer_destroy(run.workspace);
    for (int i = 0; i < 6; i++)
        rung_buffer_destroy(buffers[i]);
}

enum { PROBLEMS = 6 };

static void multiply_group(const rung_problem *problems, int count, const char *words)
{
    rung_group group = rung_group_of(problems, count);
    *logged = '\0';
    if (rung_group_multiply(context, &group, NULL) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    if (!strstr(logged, words))
        fail_msg("the log has no \"%s\": %s", words, logged);
}

static void problems_of_a_group_have_their_own_scales(void **state)
{
    rung_problem problems[ITEMS];
    rung_quantization quantizations[ITEMS];
    (void)state;
    expect_items();
    for (int item = 0; item < ITEMS; item++) {
        quantizations[item] = fill_items();
        problems[item] = item_problem(item, &quantizations[item], c_memory + item * ROWS_OF_C * COLS_OF_C);
    }
    multiply_group(problems, ITEMS, "one launch of");
    assert_memory_equal(c_memory, expected, sizeof expected);
}

/* Problems of several sizes, with the same kind of scales. Some have neither A nor B, or no result. */
static void check_group(const format_t *format, layout_t layout, uint64_t seed)
{
    static data_t data[PROBLEMS];
    rung_problem problems[PROBLEMS];
    shape_t shapes[PROBLEMS];
    for (int i = 0; i < PROBLEMS; i++) {
        shapes[i] = random_shape(&seed, format, layout);
        shapes[i].a_type = shapes[0].a_type;
        shapes[i].c_type = shapes[0].c_type;
        shapes[i].values = FINITE;
        *(i == 2 ? &shapes[i].k : i == 4 ? &shapes[i].m : &(int64_t){0}) = 0;
        make_data(&shapes[i], seed, &data[i]);
        problems[i] = data[i].problem;
    }
    multiply_group(problems, PROBLEMS, "one launch of");
    for (int i = 0; i < PROBLEMS; i++) {
        assert_int_equal(count_wrong(&shapes[i], &data[i]), 0);
        for (int which = 0; which < MATRICES; which++)
            assert_true(!data[i].memory[which] || data[i].memory[which][data[i].bytes[which]] == CANARY);
        free_data(&data[i]);
    }
}

static void groups_of_several_sizes(void **state)
{
    int index = 0;
    (void)state;
    for (int format = 0; format < FORMATS; format++)
        for (int layout = 0; layout < LAYOUTS; layout++)
            if (is_chosen(&index))
                check_group(&formats[format], (layout_t)layout, (uint64_t)(7 + 10 * format + layout));
}

/* Experts whose B adjoin each other in one array of blocks, and are copied at once. */
static void experts_in_one_array(void **state)
{
    enum { EXPERTS = 5, STEPS_OF_EXPERT = 64, COLS = 24, BLOCKS = COLS * STEPS_OF_EXPERT / 32 };
    static unsigned char experts[EXPERTS * BLOCKS * 18];
    static float tokens[EXPERTS][8 * STEPS_OF_EXPERT], results[2][EXPERTS][8 * COLS];
    rung_problem problems[EXPERTS];
    uint64_t seed = 3;
    (void)state;
    fill_elements(&seed, RUNG_Q4_0, experts, (int64_t)sizeof experts / 18 * 32, FINITE);
    for (int i = 0; i < EXPERTS; i++)
        unit_fill(&seed, tokens[i], 8 * STEPS_OF_EXPERT);
    for (int on_device = 0; on_device < 2; on_device++) {
        for (int i = 0; i < EXPERTS; i++) {
            rung_matrix b = rung_matrix_of(RUNG_Q4_0, COLS, STEPS_OF_EXPERT, experts);
            b.offset = (int64_t)i * COLS * STEPS_OF_EXPERT;
            problems[i] = rung_problem_of(rung_matrix_of(RUNG_F32, 3 + i, STEPS_OF_EXPERT, tokens[i]),
                                          rung_matrix_transpose(b),
                                          rung_matrix_of(RUNG_F32, 3 + i, COLS, results[on_device][i]));
        }
        if (on_device == 0)
            for (int i = 0; i < EXPERTS; i++)
                assert_int_equal(rung_multiply(NULL, &problems[i], NULL), RUNG_OK);
    }
    multiply_group(problems, EXPERTS, "one launch of");
    for (int i = 0; i < EXPERTS; i++)
        for (int j = 0; j < 8 * COLS; j++)
            assert_true(fabsf(results[1][i][j] - results[0][i][j]) <= 1e-3F * (1 + fabsf(results[0][i][j])));
}

/* Other block sizes need another kernel, and run one problem after another. */
static void several_block_sizes(void **state)
{
    rung_problem problems[ITEMS];
    rung_quantization quantizations[ITEMS];
    (void)state;
    expect_items();
    for (int item = 0; item < ITEMS; item++) {
        quantizations[item] = fill_items();
        problems[item] = item_problem(item, &quantizations[item], c_memory + item * ROWS_OF_C * COLS_OF_C);
    }
    quantizations[2].block_rows = 0;
    quantizations[2].scales.rows = quantizations[2].zero_points.rows = 1;
    multiply_group(problems, ITEMS, "the scales or zero points of B have several types or block sizes");
    assert_memory_equal(c_memory, expected, 2 * sizeof expected[0]);
}

/* ---- Refusals --------------------------------------------------------------------------------------------------- */

static void blocks_along_n_are_refused(void **state)
{
    static unsigned char blocks[34 * 3];
    static float a[3], c[32];
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 1, 3, a), rung_matrix_of(RUNG_Q8_0, 3, 32, blocks),
                                           rung_matrix_of(RUNG_F32, 1, 32, c));
    (void)state;
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "the blocks of B (q8_0) lie along n"));
}

static int set_up(void **state)
{
    rung_context_options options = {.size = sizeof options, .device = device_name, .verbose = 1, .log = log_line};
    (void)state;
    if (rung_context_create(&options, &context) != RUNG_OK ||
        rung_device_open(context, device_name, &device) != RUNG_OK) {
        printf("%s\n", rung_error_text());
        exit(UNIT_SKIPPED);
    }
    return rung_queue_create(device, &queue);
}

static int tear_down(void **state)
{
    (void)state;
    printf("%d combinations\n", combinations);
    rung_queue_destroy(queue);
    rung_kernel_destroy(kernel);
    rung_device_close(device);
    rung_context_destroy(context);
    return 0;
}

/* Reads the kernel file to test. Returns false if it cannot be read. */
static bool read_kernel(void)
{
    static char text[1 << 17];
    FILE *file = fopen(kernel_file, "r");
    size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    char name[64];
    snprintf(name, sizeof name, "%s.cu", kernel_name);
    return bytes > 0 && rung_kernel_from_source(context, device_name, name, text, &kernel) == RUNG_OK;
}

static int find_kernel(void **state)
{
    if (set_up(state) != RUNG_OK)
        return 1;
    if (!kernel_file)
        return rung_kernel_find(context, device_name, kernel_name, &kernel);
    if (read_kernel())
        return 0;
    printf("%s: %s\n", kernel_file, rung_error_text());
    return 1;
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_and_layout),
        cmocka_unit_test(every_code_is_exact),
        cmocka_unit_test(every_hostile_scale_stays),
        cmocka_unit_test(parameters_are_valid),
        cmocka_unit_test(presets),
        cmocka_unit_test(plans_choose_a_preset_by_the_rows),
        cmocka_unit_test(calls_copy_the_scales),
        cmocka_unit_test(sizes_may_be_zero),
        cmocka_unit_test(items_have_their_own_scales),
        cmocka_unit_test(offsets_of_scales_in_buffers),
        cmocka_unit_test(problems_of_a_group_have_their_own_scales),
        cmocka_unit_test(groups_of_several_sizes),
        cmocka_unit_test(experts_in_one_array),
        cmocka_unit_test(several_block_sizes),
        cmocka_unit_test(blocks_along_n_are_refused),
    };
    unit_clean_environment();
    device_name = count > 1 ? arguments[1] : device_name;
    every = count > 2 ? strtoll(arguments[2], NULL, 10) : every;
    kernel_name = count > 3 ? arguments[3] : kernel_name;
    compute = strcmp(kernel_name, "15_quantized") == 0 ? RUNG_COMPUTE_STRICT : RUNG_COMPUTE_BF16X1;
    kernel_file = count > 4 ? arguments[4] : NULL;
    if (kernel_file)
        cmocka_set_test_filter("every_*");
    return cmocka_run_group_tests(tests, find_kernel, tear_down);
}
