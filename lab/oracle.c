/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c - see oracle.h. A product of two floats is exact in double, and the sum's own
 * error there is 2^-29 of the bound; for F64 a second double takes what the first lost. */
#include "oracle.h"

#include <math.h>
#include <string.h>

/* ---- Elements --------------------------------------------------------------------------------- */

bool lab_is_whole(rung_type type)
{
    return type == RUNG_I8 || type == RUNG_I32;
}

rung_matrix lab_item(const rung_matrix *matrix, int64_t item)
{
    rung_matrix view = *matrix;
    view.offset += matrix->batch_offsets ? matrix->batch_offsets[item] : item * matrix->batch_stride;
    view.batch_stride = 0;
    view.batch_offsets = NULL;
    return view;
}

static char *element_at(const rung_matrix *matrix, int64_t row, int64_t col)
{
    int64_t place = matrix->offset + row * matrix->row_stride + col * matrix->col_stride;
    return (char *)matrix->data + place * rung_type_size(matrix->type);
}

double lab_element(const rung_matrix *matrix, int64_t row, int64_t col)
{
    const char *at = element_at(matrix, row, col);
    union {
        float f32;
        double f64;
        uint16_t bits;
        int32_t i32;
    } value;
    switch (matrix->type) {
    case RUNG_F32: memcpy(&value, at, 4); return value.f32;
    case RUNG_F64: memcpy(&value, at, 8); return value.f64;
    case RUNG_F16: memcpy(&value, at, 2); return rung_f16_to_f32(value.bits);
    case RUNG_BF16: memcpy(&value, at, 2); return rung_bf16_to_f32(value.bits);
    case RUNG_I8: return (int8_t)*at;
    case RUNG_I32: memcpy(&value, at, 4); return value.i32;
    default: break;
    }
    return 0;
}

/* -1 for what is no number. */
static int32_t whole_of(double value)
{
    return isnan(value) ? -1 : (int32_t)value;
}

void lab_element_set(const rung_matrix *matrix, int64_t row, int64_t col, double value)
{
    char *to = element_at(matrix, row, col);
    switch (matrix->type) {
    case RUNG_F32: memcpy(to, &(float){(float)value}, 4); break;
    case RUNG_F64: memcpy(to, &value, 8); break;
    case RUNG_F16: memcpy(to, &(uint16_t){rung_f16_from_f32((float)value)}, 2); break;
    case RUNG_BF16: memcpy(to, &(uint16_t){rung_bf16_from_f32((float)value)}, 2); break;
    case RUNG_I8: *to = (char)(int8_t)whole_of(value); break;
    case RUNG_I32: memcpy(to, &(int32_t){whole_of(value)}, 4); break;
    default: break;
    }
}

/* ---- Types ---------------------------------------------------------------------------------------- */

/* What rounding in a type can do. */
typedef struct rounding {
    double unit;  /* half the distance from 1 to the next */
    double tiny;  /* the smallest denormal */
    double most;  /* the largest number */
    double whole; /* up to which it holds every whole number */
} rounding_t;

static rounding_t rounding_of(rung_type type)
{
    switch (type) {
    case RUNG_F64: return (rounding_t){0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023, 0x1p53};
    case RUNG_F16: return (rounding_t){0x1p-11, 0x1p-24, 65504, 0x1p11};
    case RUNG_BF16: return (rounding_t){0x1p-8, 0x1p-133, 0x1.fep127, 0x1p8};
    case RUNG_I8: return (rounding_t){0, 0, INT8_MAX, 0x1p7};
    case RUNG_I32: return (rounding_t){0, 0, INT32_MAX, 0x1p31};
    case RUNG_F32:
    default: break;
    }
    return (rounding_t){0x1p-24, 0x1p-149, 0x1.fffffep127, 0x1p24};
}

double lab_whole_limit(rung_type type)
{
    return rounding_of(type).whole;
}

/* The type of a problem's sums. */
static rung_type sum_type(const rung_problem *problem)
{
    return rung_accumulator_type(problem->a.type, problem->b.type, problem->c.type);
}

bool lab_oracle_takes_k(lab_product product, int64_t k)
{
    rung_type sum = lab_product_sum(product);
    return lab_is_whole(sum) || 6 * ((double)k + 4) < 0.5 / rounding_of(sum).unit;
}

/* ---- Two doubles ------------------------------------------------------------------------------------ */

/* A number as the sum of two doubles, the second below half of the first's last place. */
typedef struct pair {
    double high, low;
} pair_t;

static pair_t pair_sum(pair_t x, double y)
{
    double high = x.high + y;
    if (!isfinite(high))
        return (pair_t){high, 0};
    double back = high - x.high;
    double low = (x.high - (high - back)) + (y - back) + x.low;
    return (pair_t){high + low, low - ((high + low) - high)};
}

/* x + y * z */
static pair_t pair_add_product(pair_t x, double y, double z)
{
    double product = y * z;
    pair_t sum = pair_sum(x, product);
    return isfinite(sum.high) && isfinite(product) ? pair_sum(sum, fma(y, z, -product)) : sum;
}

static pair_t pair_scaled(pair_t x, double by)
{
    pair_t zero = {0, 0};
    pair_t result = pair_add_product(zero, x.high, by);
    return isfinite(result.high) ? pair_add_product(result, x.low, by) : result;
}

/* ---- The reference ------------------------------------------------------------------------------------ */

/* The exact element, and how far a right one may be from it. */
typedef struct reference {
    pair_t value;
    double bound;
    bool may_overflow; /* a factor may have been rounded to infinity */
} reference_t;

/* Sums of an element: of the products, of their sizes, and of the sizes of the factors. */
typedef struct sums {
    pair_t value;
    double products, factors;
    double denormal; /* of the sizes of products of which a factor is no normal number of F32 */
    double largest;  /* of the factors */
    uint32_t whole;  /* whole numbers' sum, and then none of the above */
} sums_t;

/* Elements are summed a tile of C and so many of k at a time: each is read and converted for many. */
enum { TILE = 16, STEPS = 64 };

static void add_products(rung_type type, sums_t *to, const double *x, const double *y, int count)
{
    sums_t sums = *to; /* in registers */
    for (int i = 0; i < count; i++) {
        double size = fabs(x[i]), other = fabs(y[i]), product = x[i] * y[i];
        double smaller = size < other ? size : other, larger = size > other ? size : other;
        if (type == RUNG_F64)
            sums.value = pair_add_product(sums.value, x[i], y[i]);
        else
            sums.value.high += product;
        sums.products += fabs(product);
        sums.factors += size + other;
        sums.denormal += smaller < 0x1p-126 ? fabs(product) : 0;
        sums.largest = larger > sums.largest ? larger : sums.largest;
    }
    *to = sums;
}

/* Exact modulo 2^32. */
static void add_whole_products(sums_t *sums, const double *x, const double *y, int count)
{
    for (int i = 0; i < count; i++)
        sums->whole += (uint32_t)(int32_t)x[i] * (uint32_t)(int32_t)y[i];
}

/* Of `rows` x `cols` elements from (row0, col0) on; where alpha is 0 nothing of A and B counts. */
static void sum_tile(const rung_problem *problem, const rung_matrix *views, int64_t row0, int64_t col0, int rows,
                     int cols, sums_t tile[TILE][TILE])
{
    rung_type type = sum_type(problem);
    double x[TILE][STEPS], y[TILE][STEPS];
    memset(tile, 0, sizeof(sums_t[TILE][TILE]));
    if (problem->alpha == 0)
        return;
    for (int64_t k0 = 0; k0 < problem->a.cols; k0 += STEPS) {
        int count = (int)(problem->a.cols - k0 < STEPS ? problem->a.cols - k0 : STEPS);
        for (int i = 0; i < count; i++) {
            for (int row = 0; row < rows; row++)
                x[row][i] = lab_element(&views[0], row0 + row, k0 + i);
            for (int col = 0; col < cols; col++)
                y[col][i] = lab_element(&views[1], k0 + i, col0 + col);
        }
        for (int row = 0; row < rows; row++)
            for (int col = 0; col < cols; col++)
                if (lab_is_whole(type))
                    add_whole_products(&tile[row][col], x[row], y[col], count);
                else
                    add_products(type, &tile[row][col], x[row], y[col], count);
    }
}

static double gamma_of(double steps, double unit)
{
    return steps * unit / (1 - steps * unit);
}

/* What a compute mode may leave out of the products, and how many steps it takes. */
static double left_out(const rung_problem *problem, const sums_t *sums, double *steps)
{
    if (problem->a.type != RUNG_F32 || problem->compute == RUNG_COMPUTE_STRICT)
        return 0;
    double vanished = 3 * 0x1p-126 * sums->factors; /* factors below the smallest normal */
    if (problem->compute == RUNG_COMPUTE_TF32)
        return (0x1p-10 + 0x1p-22) * sums->products + vanished;
    if (problem->compute == RUNG_COMPUTE_BF16X1)
        return (0x1p-7 + 0x1p-16) * sums->products + vanished;
    *steps *= 6;
    return 0x1p-24 * sums->products + vanished;
}

/* What a processor's instructions for BF16 may take for 0: factors below the smallest normal number of F32, and
 * sums. There are no more sums than two a product, and two. */
static double flushed(const rung_problem *problem, const sums_t *sums)
{
    return problem->a.type == RUNG_BF16 ? sums->denormal + (2 * (double)problem->a.cols + 2) * 0x1p-126 : 0;
}

/* A scalar as the sum's type holds it. */
static double scalar_of(rung_type sum, double scalar)
{
    return sum == RUNG_F64 ? scalar : (float)scalar;
}

/* alpha A B + beta C0 + bias. */
static reference_t refer_sum(const rung_problem *problem, const rung_matrix *views, const sums_t *sums,
                             rounding_t sum_rounding, int64_t row, int64_t col, lab_rigour rigour)
{
    rung_type type = sum_type(problem);
    double alpha = scalar_of(type, problem->alpha), beta = scalar_of(type, problem->beta);
    double steps = (double)problem->a.cols, size = 0, lost = 0;
    bool rounds = problem->a.type == RUNG_F32 && problem->compute != RUNG_COMPUTE_STRICT;
    bool is_short = problem->a.type == RUNG_F16 || problem->a.type == RUNG_BF16;
    bool is_rounded_once = problem->compute == RUNG_COMPUTE_TF32 || problem->compute == RUNG_COMPUTE_BF16X1;
    if (rigour == LAB_ON_ENGINE && (is_short || (rounds && is_rounded_once)))
        steps *= 3;
    reference_t result = {{0, 0}, 0, false};
    if (alpha != 0) {
        result.value = pair_scaled(sums->value, alpha);
        lost = fabs(alpha) * (left_out(problem, sums, &steps) + flushed(problem, sums));
        size = fabs(alpha) * sums->products * (rounds ? 1.02 : 1); /* parts and rounded factors are larger */
        result.may_overflow = rounds && sums->largest > 0x1.fep127;
    }
    if (beta != 0) {
        double old = lab_element(&views[2], row, col);
        result.value = pair_add_product(result.value, beta, old);
        size += fabs(beta * old);
    }
    steps += 3;
    if (problem->bias.rows > 0) {
        double bias = lab_element(&views[3], row, col);
        result.value = pair_sum(result.value, bias);
        size += fabs(bias);
        steps += 1;
    }
    result.bound = gamma_of(steps, sum_rounding.unit) * size + steps * sum_rounding.tiny + lost;
    return result;
}

/* v / (1 + exp(-x)), x of v's sign; 0 for minus infinity, the limit. */
static double sigmoid_times(double v, double x)
{
    double tail = exp(-fabs(x));
    return isinf(v) && v < 0 ? 0 : v * ((x < 0 ? tail : 1) / (1 + tail));
}

/* gelu_tanh and silu are f(v) = v / (1 + exp(-x)), with x = 2 sqrt(2/pi) (v + 0.044715 v^3) or x = v.
 *
 * An error of v grows by the steepest slope: |f'| <= 1.129 (gelu_tanh, near v = 1.42), |f'| <= 1.0999 (silu, near
 * v = 2.4). To that comes the rounding of f itself, in units u, relative to |v|. A device computes
 * e = exp(-|x|) <= 1 and v times 1 / (1 + e) or e / (1 + e), whose derivatives by e are at most 1:
 *
 *     7 roundings of x    7 |x| e <= 7 / 2.718 = 2.6
 *     exp                 6     (OpenCL: 3 units in the last place; CUDA's __expf: 2 + 1.16 |x|, less than 5 of e)
 *     sum, quotient       1 + 5 (OpenCL's division: 2.5 units in the last place)
 *     product             1
 *
 * These are 16; the reference, in double, has 8 as for gelu. */
static void activate_by_sigmoid(double slope, double x, rounding_t sum_rounding, reference_t *result)
{
    double v = result->value.high;
    result->bound = isinf(v) ? 0
                             : slope * result->bound + 24 * sum_rounding.unit * (fabs(v) + result->bound) +
                                   8 * sum_rounding.tiny;
    result->value = (pair_t){sigmoid_times(v, x), 0};
}

/* An infinity that is only near: what rounding may do to it does not matter. */
static void activate(rung_activation activation, rounding_t sum_rounding, reference_t *result)
{
    double v = result->value.high;
    if (activation == RUNG_ACTIVATION_GELU_TANH)
        activate_by_sigmoid(1.13, 1.5957691216057307117 * v * (1 + 0.044715 * v * v), sum_rounding, result);
    if (activation == RUNG_ACTIVATION_SILU)
        activate_by_sigmoid(1.1, v, sum_rounding, result);
    if (activation == RUNG_ACTIVATION_RELU && v < 0)
        *result = (reference_t){{0, 0}, isfinite(result->bound) ? fmax(0, v + result->bound) : 0, result->may_overflow};
    if (activation != RUNG_ACTIVATION_GELU)
        return;
    result->bound = 1.13 * result->bound + 24 * sum_rounding.unit * (fabs(v) + result->bound) + 8 * sum_rounding.tiny;
    result->value = (pair_t){v < 0 && isfinite(v) ? 0.5 * v * erfc(-v * 0.70710678118654752440)
                                                  : 0.5 * v * (1 + erf(v * 0.70710678118654752440)),
                             0};
}

/* views: A, B, C0, bias, residual of one item. */
static reference_t refer(const rung_problem *problem, const rung_matrix *views, const sums_t *sums, int64_t row,
                         int64_t col, lab_rigour rigour)
{
    rounding_t sum = rounding_of(sum_type(problem));
    rounding_t out = rounding_of(problem->c.type);
    reference_t result = refer_sum(problem, views, sums, sum, row, col, rigour);
    activate(problem->activation, sum, &result);
    if (problem->residual.rows > 0) {
        double residual = lab_element(&views[4], row, col);
        result.bound += sum.unit * (fabs(result.value.high) + result.bound + fabs(residual)) + sum.tiny;
        result.value = pair_sum(result.value, residual);
    }
    if (out.unit > sum.unit)
        result.bound += out.unit * (fabs(result.value.high) + result.bound) + 0.5 * out.tiny;
    return result;
}

/* ---- Judging --------------------------------------------------------------------------------------------- */

/* Whole numbers are exact modulo 2^32. */
static uint32_t refer_whole(const rung_problem *problem, const rung_matrix *views, const sums_t *sums, int64_t row,
                            int64_t col)
{
    uint32_t alpha = (uint32_t)(int64_t)problem->alpha, beta = (uint32_t)(int64_t)problem->beta;
    uint32_t sum = alpha * sums->whole;
    if (beta != 0)
        sum += beta * (uint32_t)(int32_t)lab_element(&views[2], row, col);
    if (problem->bias.rows > 0)
        sum += (uint32_t)(int32_t)lab_element(&views[3], row, col);
    if (problem->activation == RUNG_ACTIVATION_RELU && sum > INT32_MAX)
        sum = 0;
    if (problem->residual.rows > 0)
        sum += (uint32_t)(int32_t)lab_element(&views[4], row, col);
    return sum;
}

/* In bf16x3 an infinity may come out as NaN. */
static bool may_be_nan(const rung_problem *problem)
{
    return problem->compute != RUNG_COMPUTE_STRICT && problem->a.type == RUNG_F32;
}

static bool is_right(const rung_problem *problem, double got, reference_t expected)
{
    double value = expected.value.high, most = rounding_of(problem->c.type).most;
    if (expected.may_overflow && !isfinite(got))
        return true;
    if (isnan(value))
        return isnan(got);
    if (isinf(value))
        return got == value || (isnan(got) && may_be_nan(problem));
    if (isinf(got))
        return fabs(value) + expected.bound > most && (got > 0) == (value > 0);
    return fabs((got - value) - expected.value.low) <= expected.bound;
}

static lab_verdict judge_element(const rung_problem *problem, const rung_matrix *views, const sums_t *sums,
                                 const rung_matrix *c, int64_t row, int64_t col, lab_rigour rigour)
{
    double got = lab_element(c, row, col);
    if (lab_is_whole(problem->c.type)) {
        double expected = (int32_t)refer_whole(problem, views, sums, row, col);
        return (lab_verdict){got == expected, 0, row, col, got, expected, 0};
    }
    reference_t expected = refer(problem, views, sums, row, col, rigour);
    if (rigour == LAB_EXACT)
        expected.bound = 0;
    return (lab_verdict){is_right(problem, got, expected), 0, row, col, got, expected.value.high, expected.bound};
}

/* TILE rows, or as many as there are; the first wrong element is that of the lowest row. */
static lab_verdict judge_rows(const rung_problem *problem, const rung_matrix *views, const rung_matrix *c, int64_t row0,
                              lab_rigour rigour)
{
    sums_t tile[TILE][TILE];
    int rows = (int)(c->rows - row0 < TILE ? c->rows - row0 : TILE);
    lab_verdict first = {.right = true};
    for (int64_t col0 = 0; col0 < c->cols; col0 += TILE) {
        int cols = (int)(c->cols - col0 < TILE ? c->cols - col0 : TILE);
        sum_tile(problem, views, row0, col0, rows, cols, tile);
        for (int row = 0; row < rows; row++)
            for (int col = 0; col < cols; col++) {
                lab_verdict verdict = judge_element(problem, views, &tile[row][col], c, row0 + row, col0 + col, rigour);
                if (!verdict.right && (first.right || verdict.row < first.row))
                    first = verdict;
            }
    }
    return first;
}

lab_verdict lab_oracle_judge(const rung_problem *problem, const rung_matrix *c0, lab_rigour rigour)
{
    for (int64_t item = 0; item < (problem->batch == 0 ? 1 : problem->batch); item++) {
        rung_matrix c = lab_item(&problem->c, item);
        rung_matrix views[] = {lab_item(&problem->a, item), lab_item(&problem->b, item), lab_item(c0, item),
                               lab_item(&problem->bias, item), lab_item(&problem->residual, item)};
        for (int64_t row = 0; row < c.rows; row += TILE) {
            lab_verdict verdict = judge_rows(problem, views, &c, row, rigour);
            verdict.item = item;
            if (!verdict.right)
                return verdict;
        }
    }
    return (lab_verdict){.right = true};
}
