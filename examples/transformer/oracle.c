/* SPDX-License-Identifier: Apache-2.0 */
/* oracle.c - the block in plain loops in F64, on the weights as they are stored, and the bounds of its errors.
 *
 * Each stage is checked by itself: it is computed in F64 from the F32 values of the stages before, so that no error of a
 * stage hides one of another. The bounds follow from rung.h (multiplications), and from one rounding per operation (the
 * rest), and every element must be within its bound. Roundings partly cancel, so the errors of a stage together must also have
 * the size that is expected of independent roundings. The output is compared with that of a block whose stages are all in F64. */
#include "transformer.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const double U = 0x1p-24; /* unit roundoff of F32 */

/* Inputs of the oracle: F64 rows where they exist, otherwise the values that the block has computed. */
typedef struct source {
    const model_t *model;
    const values_t *values;
    const oracle_text_t *text; /* may be NULL */
    float *weights;            /* one row of a weight matrix as F32 */
} source_t;

static double value_at(const source_t *source, int stage, int64_t token, int64_t column)
{
    const shape_t *shape = source->model->shape;
    if (source->text)
        return source->text->rows[stage][token * stage_width(shape, stage) + column];
    return (double)values_row(source->values, shape, stage, token)[column];
}

/* ---- Multiplications --------------------------------------------------------------------------------------------- */

static void read_weights(const source_t *source, int weights, int64_t row)
{
    rung_matrix all = source->model->weights[weights], one = rung_matrix_block(all, row, 0, 1, all.cols);
    const char *data = all.data;
    if (all.type == RUNG_F32)
        for (int64_t p = 0; p < all.cols; p++)
            source->weights[p] = ((const float *)(const void *)data)[one.offset + p];
    else if (all.type == RUNG_BF16)
        for (int64_t p = 0; p < all.cols; p++)
            source->weights[p] = rung_bf16_to_f32(((const uint16_t *)(const void *)data)[one.offset + p]);
    else if (rung_dequantize(one, NULL, rung_matrix_of(RUNG_F32, 1, all.cols, source->weights)) != RUNG_OK)
        source->weights[0] = NAN; /* fails every check */
}

/* Returns the error of a sum of k products, relative to the sum of their magnitudes: the bound of the mode in rung.h. With
 * weights of BF16 the program rounds the activations to 8 significant bits. */
static double relative_bound(const model_t *model, int64_t k)
{
    double gamma = (double)k * U / (1 - (double)k * U);
    if (model->weights[0].type == RUNG_BF16)
        return 1.02 * gamma + 0x1p-8;
    return model->compute == RUNG_COMPUTE_STRICT ? gamma : 1.02 * gamma + 0x1p-7 + 0x1p-16;
}

/* Returns an element of (stage * weights), and the bound of its error as F32. In mode q8, the largest activation of a block of
 * 32 stands for each of them. */
static double product(const source_t *source, int stage, int weights, int64_t token, int64_t column, double *bound)
{
    enum { BLOCK = 32 };
    bool is_q8 = source->model->compute == RUNG_COMPUTE_Q8;
    int64_t k = source->model->weights[weights].cols;
    double sum = 0, sizes = 0, largest = 0;
    read_weights(source, weights, column);
    for (int64_t p = 0; p < k; p++) {
        double a = value_at(source, stage, token, p), w = (double)source->weights[p];
        for (int64_t e = p; is_q8 && p % BLOCK == 0 && e < p + BLOCK; e++)
            largest = fmax(e == p ? 0 : largest, fabs(value_at(source, stage, token, e)));
        sum += a * w;
        sizes += (is_q8 ? largest : fabs(a)) * fabs(w);
    }
    *bound = relative_bound(source->model, k) * sizes + 2 * U * fabs(sum);
    return sum;
}

/* The same with a bias. */
static double biased_product(const source_t *source, int weights, int64_t token, int64_t column, double *bound)
{
    double bias = (double)source->model->bias[weights][column];
    double sum = product(source, NORMED, weights, token, column, bound) + bias;
    *bound += 2 * U * (fabs(bias) + fabs(sum));
    return sum;
}

/* The same with an element of another stage as residual. */
static double sum_of(const source_t *source, int stage, int weights, int residual, int64_t token, int64_t column,
                     double *bound)
{
    double addend = value_at(source, residual, token, column);
    double sum = product(source, stage, weights, token, column, bound) + addend;
    *bound += 2 * U * (fabs(addend) + fabs(sum));
    return sum;
}

/* silu(g) * up. The slope of SiLU is at most 1.1. */
static double gated(const source_t *source, int64_t token, int64_t column, double *bound)
{
    double error, gate = product(source, MLP_INPUT, W_GATE, token, column, &error);
    double up = value_at(source, UP, token, column), value = gate / (1 + exp(-gate)) * up;
    *bound = 1.1 * error * fabs(up) + 4 * U * fabs(value);
    return value;
}

/* ---- Norm, rotary embedding, attention --------------------------------------------------------------------------- */

static double normed(const source_t *source, int stage, const float *scale, int64_t token, int64_t column,
                     double *bound)
{
    const shape_t *shape = source->model->shape;
    double sum = 0;
    for (int64_t j = 0; j < shape->hidden; j++)
        sum += pow(value_at(source, stage, token, j), 2);
    double factor = 1 / sqrt(sum / (double)shape->hidden + shape->epsilon);
    double value = value_at(source, stage, token, column) * factor * (double)scale[column];
    *bound = 2 * U * fabs(value);
    return value;
}

static double rotated(const source_t *source, int weights, int64_t token, int64_t column, double *bound)
{
    const shape_t *shape = source->model->shape;
    int64_t half = shape->head / 2, i = column % shape->head, partner = i < half ? column + half : column - half;
    double angle = (double)token * pow(shape->rope_base, -(double)(i % half) / (double)half), errors[2];
    double own = biased_product(source, weights, token, column, &errors[0]) * cos(angle);
    double other = biased_product(source, weights, token, partner, &errors[1]) * sin(angle) * (i < half ? -1 : 1);
    *bound = fabs(cos(angle)) * errors[0] + fabs(sin(angle)) * errors[1] + 2 * U * fabs(own + other);
    return own + other;
}

/* Returns a score, and in *error the bound of its error. */
static double score_of(const source_t *source, int64_t query_head, int64_t token, int64_t key, double *error)
{
    const shape_t *shape = source->model->shape;
    int64_t key_head = query_head / (shape->heads / shape->kv_heads);
    double sum = 0, sizes = 0, scale = 1 / sqrt((double)shape->head);
    for (int64_t i = 0; i < shape->head; i++) {
        double term = value_at(source, QUERIES, token, query_head * shape->head + i) *
                      value_at(source, KEYS, key, key_head * shape->head + i);
        sum += term;
        sizes += fabs(term);
    }
    *error = scale * U * ((double)shape->head + 4) * sizes;
    return scale * sum;
}

/* Returns an element of softmax(scores) * values, without the subtraction of the largest score: scores are small. Errors of
 * at most `d` in all scores change each probability by the factor e^(2 d) at most. A difference of scores and its exponential
 * are rounded, too. */
static double attended(const source_t *source, int64_t token, int64_t column, double *bound)
{
    const shape_t *shape = source->model->shape;
    int64_t head = column / shape->head, key_head = head / (shape->heads / shape->kv_heads);
    double weight = 0, sum = 0, sizes = 0, error = 0, smallest = INFINITY, largest = -INFINITY;
    for (int64_t key = 0; key <= token; key++) {
        double score_error, score = score_of(source, head, token, key, &score_error), e = exp(score);
        double value = value_at(source, VALUES, key, key_head * shape->head + column % shape->head);
        weight += e;
        sum += e * value;
        sizes += e * fabs(value);
        error = fmax(error, score_error);
        smallest = fmin(smallest, score);
        largest = fmax(largest, score);
    }
    double relative = expm1(2 * (error + U * (largest - smallest))) + 16 * U;
    *bound = (2 * relative + U * ((double)token + 4)) * sizes / weight;
    return sum / weight;
}

/* ---- Stages ------------------------------------------------------------------------------------------------------ */

static double expected(const source_t *source, int stage, int64_t token, int64_t column, double *bound)
{
    const model_t *model = source->model;
    switch (stage) {
    case NORMED: return normed(source, INPUT, model->attention_norm, token, column, bound);
    case QUERIES: return rotated(source, W_QUERIES, token, column, bound);
    case KEYS: return rotated(source, W_KEYS, token, column, bound);
    case VALUES: return biased_product(source, W_VALUES, token, column, bound);
    case CONTEXT: return attended(source, token, column, bound);
    case MIDDLE: return sum_of(source, CONTEXT, W_CONTEXT, INPUT, token, column, bound);
    case MLP_INPUT: return normed(source, MIDDLE, model->mlp_norm, token, column, bound);
    case UP: return product(source, MLP_INPUT, W_UP, token, column, bound);
    case HIDDEN: return gated(source, token, column, bound);
    default: return sum_of(source, HIDDEN, W_DOWN, MIDDLE, token, column, bound);
    }
}

static source_t source_of(const model_t *model, const values_t *values, const oracle_text_t *text)
{
    int64_t longest = model->shape->mlp;
    for (int i = 0; i < WEIGHTS; i++)
        longest = model->weights[i].cols > longest ? model->weights[i].cols : longest;
    return (source_t){model, values, text, malloc((size_t)longest * sizeof(float))};
}

/* Returns element `i` of a sample of 0 ... all - 1 that contains the first and the last. */
static int64_t sampled(int64_t i, int64_t count, int64_t all)
{
    return count < 2 ? all - 1 : (int64_t)((double)i * (double)(all - 1) / (double)(count - 1));
}

/* Returns the relative error that one multiplication may add, as a root mean square over its elements. Roundings are
 * independent of each other, so that the errors of a sum grow like its elements do: by the relative error of an input (2^-8
 * for two of BF16, 2^-7 for integers with a common scale), and by a rounding for each of k partial sums. */
static double mean_error(const model_t *model, bool is_strict)
{
    bool is_narrow = model->weights[0].type == RUNG_BF16 || model->compute != RUNG_COMPUTE_STRICT;
    return (is_narrow && !is_strict ? 0x1p-7 : 0) + U * sqrt((double)model->shape->mlp);
}

/* Checks that each error of a stage is within its bound, and that all together are twice the expected size at most. */
static bool check_stage(const source_t *source, int stage, int64_t sample, FILE *log)
{
    const values_t *values = source->values;
    int64_t width = stage_width(source->model->shape, stage);
    int64_t tokens = sample > 0 && sample < values->count ? sample : values->count;
    int64_t columns = sample > 0 && sample < width ? sample : width;
    bool is_strict = stage == NORMED || stage == MLP_INPUT || stage == CONTEXT; /* no weights */
    double worst = 0, largest = 0, errors = 0, sizes = 0, limit = 2 * mean_error(source->model, is_strict), bound;
    for (int64_t i = 0; i < tokens * columns; i++) {
        int64_t token = values->first + sampled(i / columns, tokens, values->count);
        int64_t column = sampled(i % columns, columns, width);
        double right = expected(source, stage, token, column, &bound);
        double error = fabs((double)values_row(values, source->model->shape, stage, token)[column] - right);
        double part = error <= bound + DBL_MIN ? error / (bound + DBL_MIN) : INFINITY; /* also for a NaN */
        worst = fmax(worst, part);
        errors += error * error;
        sizes += right * right;
        largest = error > largest || isnan(error) ? error : largest;
    }
    double relative = sqrt(errors / sizes);
    if (log)
        fprintf(log, "  %-9s %8lld elements: largest error %.1e, %.3f of its bound; relative %.1e, limit %.1e\n",
                stage_name(stage), (long long)(tokens * columns), largest, worst, relative, limit);
    return worst <= 1 && relative <= limit;
}

bool oracle_check_stages(const model_t *model, const values_t *values, int64_t sample, FILE *log)
{
    source_t source = source_of(model, values, NULL);
    bool is_good = source.weights != NULL;
    for (int stage = NORMED; stage < STAGES && source.weights; stage++)
        is_good = check_stage(&source, stage, sample, log) && is_good;
    free(source.weights);
    return is_good;
}

/* ---- The whole block --------------------------------------------------------------------------------------------- */

bool oracle_text_create(oracle_text_t *text, const shape_t *shape, int64_t capacity)
{
    bool is_good = true;
    for (int i = 0; i < STAGES; i++) {
        text->rows[i] = malloc((size_t)(capacity * stage_width(shape, i)) * sizeof(double));
        is_good = is_good && text->rows[i];
    }
    return is_good;
}

void oracle_text_destroy(oracle_text_t *text)
{
    for (int i = 0; i < STAGES; i++)
        free(text->rows[i]);
}

double oracle_output_limit(const model_t *model)
{
    enum { MULTIPLICATIONS = 8 }; /* one after the other at most, with those of the attention and the gate */
    return MULTIPLICATIONS * mean_error(model, false);
}

static void compute_text(const source_t *source, oracle_text_t *text)
{
    const values_t *values = source->values;
    const shape_t *shape = source->model->shape;
    double bound;
    for (int stage = INPUT; stage < STAGES; stage++) {
        int64_t width = stage_width(shape, stage);
        for (int64_t token = values->first; token < values->first + values->count; token++)
            for (int64_t column = 0; column < width; column++)
                text->rows[stage][token * width + column] = stage == INPUT
                                                                ? (double)values_row(values, shape, INPUT,
                                                                                     token)[column]
                                                                : expected(source, stage, token, column, &bound);
    }
}

bool oracle_check_output(const model_t *model, const values_t *values, oracle_text_t *text)
{
    source_t source = source_of(model, values, text);
    int64_t width = model->shape->hidden;
    double errors = 0, sizes = 0, limit = oracle_output_limit(model);
    if (!source.weights)
        return false;
    compute_text(&source, text);
    for (int64_t token = values->first; token < values->first + values->count; token++)
        for (int64_t column = 0; column < width; column++) {
            double right = text->rows[OUTPUT][token * width + column];
            errors += pow((double)values_row(values, model->shape, OUTPUT, token)[column] - right, 2);
            sizes += pow(right - text->rows[INPUT][token * width + column], 2);
        }
    free(source.weights);
    printf("  output, all in F64: relative error %.2e, limit %.2e\n", sqrt(errors / sizes), limit);
    return sqrt(errors / sizes) <= limit;
}
