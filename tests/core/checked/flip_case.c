/* SPDX-License-Identifier: Apache-2.0 */
/* flip_case.c - see flip_case.h. The oracle is written without the code that it tests: long double sums of all elements. */
#include "flip_case.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t flip_random(uint64_t *state, uint64_t limit)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return (mixed ^ mixed >> 31) % limit;
}

static double random_unit(uint64_t *state)
{
    return (double)flip_random(state, UINT64_C(1) << 53) * 0x1p-53;
}

/* ---- Contents ---------------------------------------------------------------------------------------------------- */

/* How elements are distributed. */
enum { SIGNED, POSITIVE, CONSTANT, ROW_SCALES, COL_SCALES, WILD, SPARSE, WHOLE, LOWER, UPPER, BLOCKS, FILLS };

static double random_element(uint64_t *state, int fill, int64_t row, int64_t col)
{
    double value = 2 * random_unit(state) - 1;
    switch (fill) {
    case POSITIVE: return fabs(value);
    case CONSTANT: return 0.1;
    case ROW_SCALES: return ldexp(value, (int)(row * 7 % 41) - 20);
    case COL_SCALES: return ldexp(value, (int)(col * 11 % 41) - 20);
    case WILD: return ldexp(value, (int)flip_random(state, 33) - 16);
    case SPARSE: return flip_random(state, 8) == 0 ? value : 0;
    case WHOLE: return (double)flip_random(state, 9) - 4;
    case LOWER: return row >= col ? value : 0;
    case UPPER: return row <= col ? value : 0;
    case BLOCKS: return row / 16 % 2 == col / 16 % 2 ? value : 0;
    default: return value;
    }
}

static void *allocate(flip_case *self, size_t bytes)
{
    void *memory = calloc(1, bytes + 64);
    if (!memory)
        abort();
    self->memory[self->memory_count++] = memory;
    return memory;
}

static bool is_float(rung_type type)
{
    return type == RUNG_F32 || type == RUNG_F64 || type == RUNG_F16 || type == RUNG_BF16;
}

static int64_t index_of(const rung_matrix *view, int64_t row, int64_t col)
{
    return view->offset + row * view->row_stride + col * view->col_stride;
}

static void write_element(const rung_matrix *view, int64_t row, int64_t col, double value)
{
    int64_t index = index_of(view, row, col);
    switch (view->type) {
    case RUNG_F64: ((double *)view->data)[index] = value; break;
    case RUNG_F32: ((float *)view->data)[index] = (float)value; break;
    case RUNG_F16: ((uint16_t *)view->data)[index] = rung_f16_from_f32((float)fmax(-60000, fmin(60000, value))); break;
    case RUNG_BF16: ((uint16_t *)view->data)[index] = rung_bf16_from_f32((float)value); break;
    case RUNG_I8: ((int8_t *)view->data)[index] = (int8_t)lrint(fmax(-1, fmin(1, value)) * 127); break;
    default: ((int32_t *)view->data)[index] = (int32_t)lrint(fmax(-1, fmin(1, value)) * 2147480000); break;
    }
}

static rung_matrix layout_of(uint64_t *state, rung_type type, int64_t rows, int64_t cols, int64_t *elements)
{
    int64_t pad = (int64_t)flip_random(state, 3) * 4;
    bool by_columns = flip_random(state, 2) == 0;
    rung_matrix view = by_columns ? rung_matrix_ld(type, rows, cols, rows + pad, RUNG_ORDER_COL_MAJOR, NULL)
                                  : rung_matrix_ld(type, rows, cols, cols + pad, RUNG_ORDER_ROW_MAJOR, NULL);
    *elements = (rows + pad) * (cols + pad);
    return view;
}

/* Creates a floating-point or integer matrix. */
static rung_matrix random_matrix(flip_case *self, uint64_t *state, rung_type type, int64_t rows, int64_t cols)
{
    int fill = (int)flip_random(state, FILLS);
    double scale = type == RUNG_F32   ? ldexp(1, (int)flip_random(state, 60) - 30)
                   : type == RUNG_F64 ? ldexp(1, (int)flip_random(state, 400) - 200)
                                      : 1;
    int64_t elements;
    rung_matrix view = layout_of(state, type, rows, cols, &elements);
    view.data = allocate(self, (size_t)elements * (size_t)rung_type_size(type));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            write_element(&view, i, j, scale * random_element(state, fill, i, j));
    return view;
}

/* Creates a quantized matrix. Blocks of GGML lie along k, which is the row of A and the column of B. */
static rung_matrix random_narrow(flip_case *self, uint64_t *state, rung_type type, int64_t rows, int64_t cols,
                                 bool is_b)
{
    float *values = malloc((size_t)(rows * cols) * sizeof(float));
    rung_matrix wide = rung_matrix_of(RUNG_F32, rows, cols, values);
    if (!values)
        abort();
    for (int64_t i = 0; i < rows * cols; i++)
        values[i] = (float)(random_element(state, SIGNED, 0, 0) * 5);
    rung_matrix view = is_b ? rung_matrix_transpose(rung_matrix_of(type, cols, rows, NULL))
                            : rung_matrix_of(type, rows, cols, NULL);
    view.data = allocate(self, (size_t)(rows * cols) * 2);
    if (rung_quantize(wide, view, NULL) != RUNG_OK) {
        fprintf(stderr, "flips: %s\n", rung_error_text());
        abort();
    }
    free(values);
    return view;
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

typedef struct types {
    rung_type a, b, c;
} types_t;

/* Picks types that the library multiplies. */
static types_t random_types(uint64_t *state, bool any_type)
{
    static const types_t direct[] = {{RUNG_F32, RUNG_F32, RUNG_F32}, {RUNG_F64, RUNG_F64, RUNG_F64},
                                     {RUNG_F16, RUNG_F16, RUNG_F32}, {RUNG_BF16, RUNG_BF16, RUNG_F32},
                                     {RUNG_I8, RUNG_I8, RUNG_I32},   {RUNG_I32, RUNG_I32, RUNG_I32}};
    if (!any_type)
        return direct[flip_random(state, sizeof direct / sizeof *direct)];
    for (;;) {
        types_t types = {(rung_type)(1 + flip_random(state, 15)), (rung_type)(1 + flip_random(state, 15)),
                         (rung_type)(1 + flip_random(state, 6))};
        if (flip_random(state, 2))
            types.b = types.a;
        if (rung_accumulator_type(types.a, types.b, types.c) != RUNG_TYPE_NONE)
            return types;
    }
}

static rung_matrix random_operand(flip_case *self, uint64_t *state, rung_type type, int64_t rows, int64_t cols,
                                  bool is_b, rung_type c)
{
    bool is_integer = c == RUNG_I32;
    return is_float(type) || is_integer ? random_matrix(self, state, type, rows, cols)
                                        : random_narrow(self, state, type, rows, cols, is_b);
}

static void add_epilogue(flip_case *self, uint64_t *state)
{
    rung_problem *problem = &self->problem;
    bool is_integer = problem->c.type == RUNG_I32;
    if (flip_random(state, 2))
        return;
    problem->beta = flip_random(state, 2) ? 1 : 0;
    problem->bias = rung_matrix_broadcast(random_matrix(self, state, problem->c.type, 1, problem->c.cols),
                                          problem->c.rows, problem->c.cols);
    problem->activation = (rung_activation)flip_random(state, is_integer ? 2 : 5);
}

void flip_case_create(flip_case *self, uint64_t seed, bool any_type, int64_t limit)
{
    uint64_t state = seed * 1000003 + 17;
    memset(self, 0, sizeof *self);
    types_t types = random_types(&state, any_type);
    int64_t m = 1 + (int64_t)flip_random(&state, (uint64_t)limit),
            n = 1 + (int64_t)flip_random(&state, (uint64_t)limit);
    int64_t k = 1 + (int64_t)flip_random(&state, (uint64_t)limit);
    if (!is_float(types.a) || !is_float(types.b))
        k = (k + 31) / 32 * 32;
    rung_matrix a = random_operand(self, &state, types.a, m, k, false, types.c);
    rung_matrix b = random_operand(self, &state, types.b, k, n, true, types.c);
    self->problem = rung_problem_of(a, b, random_matrix(self, &state, types.c, m, n));
    self->problem.alpha = types.c == RUNG_I32 || flip_random(&state, 2) ? 1 : 0.75;
    if (types.a == RUNG_F32 && flip_random(&state, 4) == 0)
        self->problem.compute = (rung_compute)(1 + flip_random(&state, 4));
    if (types.a == RUNG_F32 && (types.b == RUNG_Q8_0 || types.b == RUNG_Q4_0) && flip_random(&state, 2))
        self->problem.compute = RUNG_COMPUTE_Q8;
    if (any_type)
        add_epilogue(self, &state);
}

void flip_case_free(flip_case *self)
{
    for (int i = 0; i < self->memory_count; i++)
        free(self->memory[i]);
    free(self->exact);
    free(self->bounds);
    memset(self, 0, sizeof *self);
}

const char *flip_case_types(const flip_case *self)
{
    static char text[64];
    const rung_problem *problem = &self->problem;
    snprintf(text, sizeof text, "%s*%s:%s", rung_type_name(problem->a.type), rung_type_name(problem->b.type),
             rung_type_name(problem->c.type));
    return text;
}

/* ---- The oracle -------------------------------------------------------------------------------------------------- */

static double value_of(const rung_matrix *view, int64_t row, int64_t col)
{
    int64_t index = index_of(view, row, col);
    switch (view->type) {
    case RUNG_F64: return ((const double *)view->data)[index];
    case RUNG_F32: return (double)((const float *)view->data)[index];
    case RUNG_F16: return (double)rung_f16_to_f32(((const uint16_t *)view->data)[index]);
    case RUNG_BF16: return (double)rung_bf16_to_f32(((const uint16_t *)view->data)[index]);
    case RUNG_I8: return (double)((const int8_t *)view->data)[index];
    default: return (double)((const int32_t *)view->data)[index];
    }
}

/* Returns the relative bound that rung.h gives, with four roundings for alpha and the result. */
static double relative_bound(const rung_problem *problem, bool has_engine)
{
    double unit = problem->c.type == RUNG_F64 ? 0x1p-53 : 0x1p-24, steps = (double)problem->a.cols + 4, lost = 0;
    bool is_rounded = problem->a.type == RUNG_F32 && problem->compute != RUNG_COMPUTE_STRICT;
    bool is_short = problem->a.type == RUNG_F16 || problem->a.type == RUNG_BF16;
    if (is_rounded) {
        static const double losses[] = {0, 0x1p-24, 0x1p-10 + 0x1p-22, 0x1p-7 + 0x1p-16, 0x1p-21};
        static const int factors[] = {1, 6, 1, 1, 3};
        steps *= factors[problem->compute] * 1.02;
        lost = losses[problem->compute];
    }
    if (has_engine && (is_short || is_rounded))
        steps *= 3;
    return steps * unit / (1 - steps * unit) + lost;
}

void flip_case_solve(flip_case *self, bool has_engine)
{
    const rung_problem *problem = &self->problem;
    int64_t m = problem->c.rows, n = problem->c.cols, k = problem->a.cols;
    bool is_integer = problem->c.type == RUNG_I32;
    long double relative = is_integer ? 0 : (long double)relative_bound(problem, has_engine);
    long double tiny = problem->a.type == RUNG_F32 || problem->a.type == RUNG_F64 ? (k + 4) * 0x1p-149L
                                                                                  : 8 * k * 0x1p-126L;
    if (problem->c.type == RUNG_F64)
        tiny = 0x1p-850L; /* the weighted sums of smaller errors in zeros can be subnormal */
    self->exact = malloc((size_t)(m * n) * sizeof *self->exact);
    self->bounds = malloc((size_t)(m * n) * sizeof *self->bounds);
    if (!self->exact || !self->bounds)
        abort();
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            long double sum = 0, size = 0;
            uint32_t whole = 0;
            for (int64_t p = 0; p < k; p++) {
                double x = value_of(&problem->a, i, p), y = value_of(&problem->b, p, j);
                if (is_integer)
                    whole += (uint32_t)(int32_t)x * (uint32_t)(int32_t)y;
                sum += (long double)x * (long double)y;
                size += fabsl((long double)x * (long double)y);
            }
            self->exact[i * n + j] = is_integer ? (long double)(int32_t)whole : (long double)problem->alpha * sum;
            self->bounds[i * n + j] = is_integer ? 0 : fabsl((long double)problem->alpha) * relative * size + tiny;
        }
}

int64_t flip_case_count_wrong(const flip_case *self, const rung_matrix *product)
{
    int64_t count = 0;
    for (int64_t i = 0; i < product->rows; i++)
        for (int64_t j = 0; j < product->cols; j++) {
            int64_t at = i * product->cols + j;
            long double error = fabsl((long double)value_of(product, i, j) - self->exact[at]);
            count += !(error <= self->bounds[at]); /* NaN is wrong */
        }
    return count;
}
