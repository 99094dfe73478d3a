/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c - see oracle.h. The reference is computed in double, where the product of two floats is exact and the error
 * of the sum is 2^-29 of the bound. For F64 the reference is a double-double number. */
#include "verify/oracle.h"

#include <math.h>
#include <string.h>

/* ---- Types ---------------------------------------------------------------------------------------- */

/* The rounding properties of a type. */
typedef struct rounding {
    double unit; /* unit roundoff */
    double smallest_denormal;
    double max_finite;
} rounding_t;

static rounding_t rounding_of(rung_type type)
{
    switch (type) {
    case RUNG_F64: return (rounding_t){0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023};
    case RUNG_F16: return (rounding_t){0x1p-11, 0x1p-24, 65504};
    case RUNG_BF16: return (rounding_t){0x1p-8, 0x1p-133, 0x1.fep127};
    case RUNG_I8: return (rounding_t){0, 0, INT8_MAX};
    case RUNG_I32: return (rounding_t){0, 0, INT32_MAX};
    case RUNG_F32:
    default: break;
    }
    return (rounding_t){0x1p-24, 0x1p-149, 0x1.fffffep127};
}

static rung_type sum_type(const rung_problem *problem)
{
    return rung_accumulator_type(problem->a.type, problem->b.type, problem->c.type);
}

bool lab_oracle_can_check_k(lab_type_pair product, int64_t k)
{
    rung_type sum = lab_type_pair_accumulator(product);
    return lab_type_is_integer(sum) || 18 * ((double)k + 4) < 0.5 / rounding_of(sum).unit;
}

/* ---- Double-double numbers ------------------------------------------------------------------------------------ */

/* A number as the sum of two doubles; the second is at most half a unit in the last place of the first. */
typedef struct double_pair {
    double high, low;
} double_pair_t;

static double_pair_t pair_sum(double_pair_t x, double y)
{
    double high = x.high + y;
    if (!isfinite(high))
        return (double_pair_t){high, 0};
    double back = high - x.high;
    double low = (x.high - (high - back)) + (y - back) + x.low;
    return (double_pair_t){high + low, low - ((high + low) - high)};
}

/* x + y * z */
static double_pair_t pair_add_product(double_pair_t x, double y, double z)
{
    double product = y * z;
    double_pair_t sum = pair_sum(x, product);
    return isfinite(sum.high) && isfinite(product) ? pair_sum(sum, fma(y, z, -product)) : sum;
}

static double_pair_t pair_scaled(double_pair_t x, double by)
{
    double_pair_t zero = {0, 0};
    double_pair_t result = pair_add_product(zero, x.high, by);
    return isfinite(result.high) ? pair_add_product(result, x.low, by) : result;
}

/* ---- The reference ------------------------------------------------------------------------------------ */

/* The exact element, and the largest error of a correct result. */
typedef struct reference {
    double_pair_t value;
    double bound;
    bool may_overflow; /* a factor may be rounded to infinity, or infinity is multiplied by a number near 0 */
} reference_t;

/* Sums over k for one element: of the products, of their magnitudes, and of the magnitudes of the factors. */
typedef struct element_sums {
    double_pair_t value;
    double products, factors;
    double denormal;      /* magnitudes of products with a factor that is denormal in F32 */
    double largest;       /* largest factor */
    uint32_t integer_sum; /* modulo 2^32, of integers; the other sums are then unused */
} element_sums_t;

/* Elements are summed by tiles of C and blocks of k, so that each input is read and converted once per tile. A block of k has
 * whole blocks of every quantized type. */
enum { TILE = 16, K_BLOCK = 256 };

/* In mode q8, as many elements of a row of A share a scale. */
enum { Q8_BLOCK = 32 };

/* Reports whether the compute mode changes the inputs: those of F32, and all inputs if B is quantized or narrower than A. */
static bool rounds_inputs(const rung_problem *problem)
{
    bool is_quantized = problem->a.type != problem->b.type || lab_type_is_narrow(problem->a.type);
    return problem->compute != RUNG_COMPUTE_STRICT && !lab_type_is_integer(problem->c.type) &&
           (problem->a.type == RUNG_F32 || is_quantized);
}

/* Reports whether elements of A count with the largest magnitude of their block. */
static bool rounds_blocks(const rung_problem *problem)
{
    return problem->compute == RUNG_COMPUTE_Q8 && lab_type_is_quantized(problem->b.type);
}

/* Adds the products of x and y. `sizes` are the magnitudes of x, or of its blocks. */
static void add_products(rung_type type, element_sums_t *to, const double *x, const double *sizes, const double *y,
                         int count)
{
    element_sums_t sums = *to; /* a local copy stays in registers */
    for (int i = 0; i < count; i++) {
        double size = sizes[i], other = fabs(y[i]), product = x[i] * y[i];
        double smaller = size < other ? size : other, larger = size > other ? size : other;
        if (type == RUNG_F64)
            sums.value = pair_add_product(sums.value, x[i], y[i]);
        else
            sums.value.high += product;
        sums.products += size * other;
        sums.factors += size + other;
        sums.denormal += smaller < 0x1p-126 ? size * other : 0;
        sums.largest = larger > sums.largest ? larger : sums.largest;
    }
    *to = sums;
}

/* Exact modulo 2^32. */
static void add_integer_products(element_sums_t *sums, const double *x, const double *y, int count)
{
    for (int i = 0; i < count; i++)
        sums->integer_sum += (uint32_t)(int32_t)x[i] * (uint32_t)(int32_t)y[i];
}

/* Reads `count` elements of `cols` columns of B, from (k0, col0) on. */
static void read_columns(const rung_matrix *b, int64_t k0, int64_t col0, int count, int cols, double y[TILE][K_BLOCK])
{
    float values[K_BLOCK];
    for (int col = 0; col < cols; col++) {
        if (!lab_type_is_quantized(b->type)) {
            for (int i = 0; i < count; i++)
                y[col][i] = lab_element_get(b, k0 + i, col0 + col);
            continue;
        }
        lab_blocks_get(b, k0, col0 + col, count, values);
        for (int i = 0; i < count; i++)
            y[col][i] = (double)values[i];
    }
}

/* Computes the magnitudes of `count` elements, or of the blocks of which they are. */
static void compute_sizes(const double *x, int count, bool by_blocks, double *sizes)
{
    for (int i = 0; i < count; i++)
        sizes[i] = fabs(x[i]);
    for (int first = 0; by_blocks && first < count; first += Q8_BLOCK) {
        double largest = 0;
        int end = first + Q8_BLOCK < count ? first + Q8_BLOCK : count;
        for (int i = first; i < end; i++)
            largest = fmax(largest, sizes[i]);
        for (int i = first; i < end; i++)
            sizes[i] = largest;
    }
}

/* Sums the products of `rows` x `cols` elements from (row0, col0). If alpha is 0, A and B are not read. */
static void sum_tile(const rung_problem *problem, const rung_matrix *views, int64_t row0, int64_t col0, int rows,
                     int cols, element_sums_t tile[TILE][TILE])
{
    rung_type type = sum_type(problem);
    double x[TILE][K_BLOCK], sizes[TILE][K_BLOCK], y[TILE][K_BLOCK];
    memset(tile, 0, sizeof(element_sums_t[TILE][TILE]));
    if (problem->alpha == 0)
        return;
    for (int64_t k0 = 0; k0 < problem->a.cols; k0 += K_BLOCK) {
        int count = (int)(problem->a.cols - k0 < K_BLOCK ? problem->a.cols - k0 : K_BLOCK);
        for (int row = 0; row < rows; row++) {
            for (int i = 0; i < count; i++)
                x[row][i] = lab_element_get(&views[0], row0 + row, k0 + i);
            compute_sizes(x[row], count, rounds_blocks(problem), sizes[row]);
        }
        read_columns(&views[1], k0, col0, count, cols, y);
        for (int row = 0; row < rows; row++)
            for (int col = 0; col < cols; col++)
                if (lab_type_is_integer(type))
                    add_integer_products(&tile[row][col], x[row], y[col], count);
                else
                    add_products(type, &tile[row][col], x[row], sizes[row], y[col], count);
    }
}

static double gamma_of(double steps, double unit)
{
    return steps * unit / (1 - steps * unit);
}

/* Returns the error that a compute mode adds to the products, and updates the number of rounding steps. */
static double mode_error(const rung_problem *problem, const element_sums_t *sums, double *steps)
{
    if (!rounds_inputs(problem))
        return 0;
    double vanished = 3 * 0x1p-126 * sums->factors; /* factors below the smallest normal number */
    if (problem->compute == RUNG_COMPUTE_TF32)
        return (0x1p-10 + 0x1p-22) * sums->products + vanished;
    if (problem->compute == RUNG_COMPUTE_BF16X1 || problem->compute == RUNG_COMPUTE_Q8)
        return (0x1p-7 + 0x1p-16) * sums->products + vanished;
    bool is_tf32x3 = problem->compute == RUNG_COMPUTE_TF32X3;
    *steps *= is_tf32x3 ? 3 : 6;
    return (is_tf32x3 ? 0x1p-21 : 0x1p-24) * sums->products + vanished;
}

/* Returns the error of CPU instructions for BF16, which may flush denormal factors and sums to 0. There are at most
 * 2 k + 2 sums. */
static double flushed_denormals_error(const rung_problem *problem, const element_sums_t *sums)
{
    return problem->a.type == RUNG_BF16 ? sums->denormal + (2 * (double)problem->a.cols + 2) * 0x1p-126 : 0;
}

/* Returns the error of matrix engines for 8-bit types. They align the 32 products of an instruction to the largest and
 * keep 13 bits after its leading one, as reported for sm_90; PTX does not define it. */
static double short_sums_error(const rung_problem *problem, const element_sums_t *sums, lab_accuracy accuracy)
{
    bool is_short = accuracy == LAB_ACCURACY_ENGINE &&
                    (lab_type_is_f8(problem->a.type) || problem->a.type == RUNG_F4E2M1);
    return is_short ? ((double)problem->a.cols / 32 + 1) * 0x1p-13 * sums->products : 0;
}

/* Rounds a scalar to the accumulator type. */
static double scalar_of(rung_type sum, double scalar)
{
    return sum == RUNG_F64 ? scalar : (float)scalar;
}

/* Computes alpha A B + beta C0 + bias. */
static reference_t reference_sum(const rung_problem *problem, const rung_matrix *views, const element_sums_t *sums,
                                 rounding_t sum_rounding, int64_t row, int64_t col, lab_accuracy accuracy)
{
    rung_type type = sum_type(problem);
    double alpha = scalar_of(type, problem->alpha), beta = scalar_of(type, problem->beta);
    double steps = (double)problem->a.cols, size = 0, lost = 0;
    bool rounds = rounds_inputs(problem);
    bool is_short = problem->a.type == RUNG_F16 || problem->a.type == RUNG_BF16;
    if (accuracy == LAB_ACCURACY_ENGINE && (is_short || rounds))
        steps *= 3;
    reference_t result = {{0, 0}, 0, false};
    if (alpha != 0) {
        result.value = pair_scaled(sums->value, alpha);
        lost = fabs(alpha) * (mode_error(problem, sums, &steps) + flushed_denormals_error(problem, sums) +
                              short_sums_error(problem, sums, accuracy));
        size = fabs(alpha) * sums->products * (rounds ? 1.02 : 1); /* split and rounded factors may be larger */
        result.may_overflow = rounds && sums->largest > 0x1.fep127;
        /* An infinite element makes the scale of its block infinite, and the sum infinite or NaN. */
        result.may_overflow = result.may_overflow || (rounds_blocks(problem) && !isfinite(sums->value.high));
    }
    if (beta != 0) {
        double old = lab_element_get(&views[2], row, col);
        result.value = pair_add_product(result.value, beta, old);
        size += fabs(beta * old);
    }
    steps += 3;
    if (problem->bias.rows > 0) {
        double bias = lab_element_get(&views[3], row, col);
        result.value = pair_sum(result.value, bias);
        size += fabs(bias);
        steps += 1;
    }
    result.bound = gamma_of(steps, sum_rounding.unit) * size + steps * sum_rounding.smallest_denormal + lost;
    return result;
}

/* Returns v / (1 + exp(-x)), where x has the sign of v; 0, the limit, for minus infinity. */
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
                                   8 * sum_rounding.smallest_denormal;
    result->value = (double_pair_t){sigmoid_times(v, x), 0};
}

/* Applies the activation to the reference and its bound. */
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
    result->bound = 1.13 * result->bound + 24 * sum_rounding.unit * (fabs(v) + result->bound) +
                    8 * sum_rounding.smallest_denormal;
    result->value = (double_pair_t){v < 0 && isfinite(v) ? 0.5 * v * erfc(-v * 0.70710678118654752440)
                                                         : 0.5 * v * (1 + erf(v * 0.70710678118654752440)),
                                    0};
}

/* Multiplies the reference by an element of the multiplier. Infinity times a number near 0 has either sign, or is NaN. */
static void multiply_by(double multiplier, rounding_t sum_rounding, reference_t *result)
{
    if (isinf(multiplier) && fabs(result->value.high) <= result->bound)
        result->may_overflow = true;
    double size = fabs(multiplier) * (fabs(result->value.high) + result->bound);
    result->bound = fabs(multiplier) * result->bound + sum_rounding.unit * size + sum_rounding.smallest_denormal;
    result->value = pair_scaled(result->value, multiplier);
}

/* Computes the reference of one element. `views` are A, B, C0, bias, residual and multiplier of one item. */
static reference_t reference_element(const rung_problem *problem, const rung_matrix *views, const element_sums_t *sums,
                                     int64_t row, int64_t col, lab_accuracy accuracy)
{
    rounding_t sum = rounding_of(sum_type(problem));
    rounding_t out = rounding_of(problem->c.type);
    reference_t result = reference_sum(problem, views, sums, sum, row, col, accuracy);
    activate(problem->activation, sum, &result);
    if (problem->multiplier.rows > 0)
        multiply_by(lab_element_get(&views[5], row, col), sum, &result);
    if (problem->residual.rows > 0) {
        double residual = lab_element_get(&views[4], row, col);
        result.bound += sum.unit * (fabs(result.value.high) + result.bound + fabs(residual)) + sum.smallest_denormal;
        result.value = pair_sum(result.value, residual);
    }
    if (out.unit > sum.unit)
        result.bound += out.unit * (fabs(result.value.high) + result.bound) + 0.5 * out.smallest_denormal;
    return result;
}

/* ---- Checking -------------------------------------------------------------------------------------------- */

/* Computes the reference of an integer element, exact modulo 2^32. */
static uint32_t reference_integer(const rung_problem *problem, const rung_matrix *views, const element_sums_t *sums,
                                  int64_t row, int64_t col)
{
    uint32_t alpha = (uint32_t)(int64_t)problem->alpha, beta = (uint32_t)(int64_t)problem->beta;
    uint32_t sum = alpha * sums->integer_sum;
    if (beta != 0)
        sum += beta * (uint32_t)(int32_t)lab_element_get(&views[2], row, col);
    if (problem->bias.rows > 0)
        sum += (uint32_t)(int32_t)lab_element_get(&views[3], row, col);
    if (problem->activation == RUNG_ACTIVATION_RELU && sum > INT32_MAX)
        sum = 0;
    if (problem->multiplier.rows > 0)
        sum *= (uint32_t)(int32_t)lab_element_get(&views[5], row, col);
    if (problem->residual.rows > 0)
        sum += (uint32_t)(int32_t)lab_element_get(&views[4], row, col);
    return sum;
}

static bool is_right(const rung_problem *problem, double got, reference_t expected)
{
    double value = expected.value.high, max_finite = rounding_of(problem->c.type).max_finite;
    /* In the modes that split or round factors, infinity may become NaN. */
    bool may_be_nan = rounds_inputs(problem);
    if (expected.may_overflow && !isfinite(got))
        return true;
    if (isnan(value))
        return isnan(got);
    if (isinf(value))
        return got == value || (isnan(got) && may_be_nan);
    if (isinf(got))
        return fabs(value) + expected.bound > max_finite && (got > 0) == (value > 0);
    return fabs((got - value) - expected.value.low) <= expected.bound;
}

static lab_oracle_result check_element(const rung_problem *problem, const rung_matrix *views,
                                       const element_sums_t *sums, const rung_matrix *c, int64_t row, int64_t col,
                                       lab_accuracy accuracy)
{
    double got = lab_element_get(c, row, col);
    if (lab_type_is_integer(problem->c.type)) {
        double expected = (int32_t)reference_integer(problem, views, sums, row, col);
        return (lab_oracle_result){got == expected, 0, row, col, got, expected, 0};
    }
    reference_t expected = reference_element(problem, views, sums, row, col, accuracy);
    if (accuracy == LAB_ACCURACY_EXACT)
        expected.bound = 0;
    return (lab_oracle_result){is_right(problem, got, expected), 0, row, col, got, expected.value.high, expected.bound};
}

/* Checks up to TILE rows. Returns the first wrong element of the lowest row. */
static lab_oracle_result check_rows(const rung_problem *problem, const rung_matrix *views, const rung_matrix *c,
                                    int64_t row0, lab_accuracy accuracy)
{
    element_sums_t tile[TILE][TILE];
    int rows = (int)(c->rows - row0 < TILE ? c->rows - row0 : TILE);
    lab_oracle_result first = {.right = true};
    for (int64_t col0 = 0; col0 < c->cols; col0 += TILE) {
        int cols = (int)(c->cols - col0 < TILE ? c->cols - col0 : TILE);
        sum_tile(problem, views, row0, col0, rows, cols, tile);
        for (int row = 0; row < rows; row++)
            for (int col = 0; col < cols; col++) {
                lab_oracle_result result = check_element(problem, views, &tile[row][col], c, row0 + row, col0 + col,
                                                         accuracy);
                if (!result.right && (first.right || result.row < first.row))
                    first = result;
            }
    }
    return first;
}

lab_oracle_result lab_oracle_check(const rung_problem *problem, const rung_matrix *c0, lab_accuracy accuracy)
{
    for (int64_t item = 0; item < (problem->batch == 0 ? 1 : problem->batch); item++) {
        rung_matrix c = lab_batch_item(&problem->c, item);
        rung_matrix views[] = {lab_batch_item(&problem->a, item),
                               lab_batch_item(&problem->b, item),
                               lab_batch_item(c0, item),
                               lab_batch_item(&problem->bias, item),
                               lab_batch_item(&problem->residual, item),
                               lab_batch_item(&problem->multiplier, item)};
        for (int64_t row = 0; row < c.rows; row += TILE) {
            lab_oracle_result result = check_rows(problem, views, &c, row, accuracy);
            result.item = item;
            if (!result.right)
                return result;
        }
    }
    return (lab_oracle_result){.right = true};
}
