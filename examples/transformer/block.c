/* SPDX-License-Identifier: Apache-2.0 */
/* block.c - the forward pass of a block: norms, attention and MLP. Every matrix multiplication is one call of rung_multiply,
 * with bias, residual and SwiGLU in its epilogue. Views do the rest: the weights are transposed views, keys and values are
 * stored where the cache needs them, and the heads are the items of a batch. */
#include "transformer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ATTENTION_ROWS = 64 }; /* tokens whose scores are in memory at once */

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

const char *stage_name(int stage)
{
    static const char *const names[STAGES] = {"input",  "norm",     "queries", "keys",   "values", "attention",
                                              "middle", "mlp norm", "up",      "swiglu", "output"};
    return names[stage];
}

int64_t stage_width(const shape_t *shape, int stage)
{
    if (stage == QUERIES || stage == CONTEXT)
        return shape->heads * shape->head;
    if (stage == KEYS || stage == VALUES)
        return shape->kv_heads * shape->head;
    return stage == UP || stage == HIDDEN ? shape->mlp : shape->hidden;
}

/* Fills the tables of the rotary embedding and of the heads. */
static void fill_tables(values_t *values, const shape_t *shape)
{
    int64_t half = shape->head / 2;
    for (int64_t i = 0; i < values->capacity * half; i++) {
        double angle = (double)(i / half) * pow(shape->rope_base, -(double)(i % half) / (double)half);
        values->cosines[i] = cos(angle);
        values->sines[i] = sin(angle);
    }
    for (int64_t i = 0; i < shape->heads; i++)
        values->head_offsets[i] = i / (shape->heads / shape->kv_heads) * shape->head;
}

bool values_create(values_t *values, const shape_t *shape, int64_t capacity)
{
    size_t widest = (size_t)(shape->mlp > shape->heads * shape->head ? shape->mlp : shape->heads * shape->head);
    size_t tokens = (size_t)capacity, half = (size_t)shape->head / 2;
    bool is_good = true;
    *values = (values_t){.capacity = capacity};
    for (int i = 0; i < STAGES; i++) {
        values->rows[i] = malloc(tokens * (size_t)stage_width(shape, i) * sizeof(float));
        is_good = is_good && values->rows[i];
    }
    values->scores = malloc((size_t)shape->heads * ATTENTION_ROWS * tokens * sizeof(float));
    values->narrow = malloc(tokens * widest * sizeof(uint16_t));
    values->head_offsets = malloc((size_t)shape->heads * sizeof(int64_t));
    values->cosines = malloc(tokens * half * sizeof(double));
    values->sines = malloc(tokens * half * sizeof(double));
    if (!is_good || !values->scores || !values->narrow || !values->head_offsets || !values->cosines || !values->sines)
        return false;
    fill_tables(values, shape);
    return true;
}

void values_destroy(values_t *values)
{
    for (int i = 0; i < STAGES; i++)
        free(values->rows[i]);
    free(values->scores);
    free(values->narrow);
    free(values->head_offsets);
    free(values->cosines);
    free(values->sines);
}

/* ---- Multiplications --------------------------------------------------------------------------------------------- */

static rung_matrix rows_of(const model_t *model, const values_t *values, int stage)
{
    return rung_matrix_of(RUNG_F32, values->count, stage_width(model->shape, stage),
                          values_row(values, model->shape, stage, values->first));
}

/* Rounds rows to BF16. BF16 x BF16 is multiplied as BF16; F32 x BF16 would be multiplied as F32, which is slower. */
static rung_matrix narrow_rows(const values_t *values, rung_matrix rows)
{
    const float *from = rows.data;
    for (int64_t i = 0; i < rows.rows * rows.cols; i++)
        values->narrow[i] = rung_bf16_from_f32(from[i]);
    return rung_matrix_of(RUNG_BF16, rows.rows, rows.cols, values->narrow);
}

/* Returns the problem: stage `to` = stage `from` * weights, plus the bias of queries, keys and values. */
static rung_problem projection(const model_t *model, const values_t *values, int from, int weights, int to)
{
    rung_matrix w = model->weights[weights], a = rows_of(model, values, from);
    if (w.type == RUNG_BF16)
        a = narrow_rows(values, a);
    rung_problem problem = rung_problem_of(a, rung_matrix_transpose(w), rows_of(model, values, to));
    problem.compute = model->compute;
    if (weights <= W_VALUES && model->shape->has_bias)
        problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, w.rows, model->bias[weights]), values->count,
                                             w.rows);
    return problem;
}

static bool multiply(const model_t *model, const rung_problem *problem)
{
    return rung_multiply(model->context, problem, NULL) == RUNG_OK;
}

static bool project(const model_t *model, const values_t *values, int from, int weights, int to)
{
    rung_problem problem = projection(model, values, from, weights, to);
    if (to == MIDDLE || to == OUTPUT)
        problem.residual = rows_of(model, values, to == MIDDLE ? INPUT : MIDDLE);
    if (to == HIDDEN) { /* SwiGLU */
        problem.activation = RUNG_ACTIVATION_SILU;
        problem.multiplier = rows_of(model, values, UP);
    }
    return multiply(model, &problem);
}

/* ---- Norm and rotary embedding ----------------------------------------------------------------------------------- */

static void normalize(const model_t *model, const values_t *values, int from, const float *scale, int to)
{
    int64_t width = model->shape->hidden;
    for (int64_t i = 0; i < values->count; i++) {
        const float *x = values->rows[from] + i * width;
        float *y = values->rows[to] + i * width;
        double sum = 0;
        for (int64_t j = 0; j < width; j++)
            sum += (double)x[j] * (double)x[j];
        double factor = 1 / sqrt(sum / (double)width + model->shape->epsilon);
        for (int64_t j = 0; j < width; j++)
            y[j] = (float)((double)x[j] * factor * (double)scale[j]);
    }
}

/* Rotates elements i and i + head / 2 of each head by an angle that grows with the token's position. */
static void rotate(const model_t *model, const values_t *values, int stage)
{
    int64_t head = model->shape->head, half = head / 2, heads = stage_width(model->shape, stage) / head;
    for (int64_t token = values->first; token < values->first + values->count; token++) {
        float *row = values_row(values, model->shape, stage, token);
        const double *cosines = values->cosines + token * half, *sines = values->sines + token * half;
        for (int64_t i = 0; i < heads * half; i++) {
            float *x = row + i / half * head + i % half;
            double c = cosines[i % half], s = sines[i % half], low = (double)x[0], high = (double)x[half];
            x[0] = (float)(low * c - high * s);
            x[half] = (float)(high * c + low * s);
        }
    }
}

/* ---- Attention --------------------------------------------------------------------------------------------------- */

/* Replaces the scores of one token by probabilities, and those of later tokens by 0. */
static void softmax(float *scores, int64_t valid, int64_t all)
{
    float largest = scores[0];
    double sum = 0;
    for (int64_t i = 1; i < valid; i++)
        largest = scores[i] > largest ? scores[i] : largest;
    for (int64_t i = 0; i < valid; i++) {
        scores[i] = expf(scores[i] - largest);
        sum += (double)scores[i];
    }
    float factor = (float)(1 / sum);
    for (int64_t i = 0; i < valid; i++)
        scores[i] *= factor;
    memset(scores + valid, 0, (size_t)(all - valid) * sizeof *scores);
}

/* Returns the heads of some tokens as a batch: `width` is the number of elements per token. */
static rung_matrix heads_of(const shape_t *shape, float *rows, int64_t tokens, int64_t width)
{
    rung_matrix heads = rung_matrix_ld(RUNG_F32, tokens, shape->head, width, RUNG_ORDER_ROW_MAJOR, rows);
    heads.batch_stride = shape->head;
    return heads;
}

/* Computes the context of `count` tokens. Several heads of queries share a head of keys and values, which batch offsets say. */
static bool attend(const model_t *model, const values_t *values, int64_t first, int64_t count)
{
    const shape_t *shape = model->shape;
    int64_t length = first + count, width = stage_width(shape, QUERIES), cache_width = stage_width(shape, KEYS);
    rung_matrix keys = rung_matrix_transpose(heads_of(shape, values->rows[KEYS], length, cache_width));
    rung_matrix cached_values = heads_of(shape, values->rows[VALUES], length, cache_width);
    rung_matrix scores = rung_matrix_of(RUNG_F32, count, length, values->scores);
    keys.batch_offsets = cached_values.batch_offsets = values->head_offsets;
    scores.batch_stride = count * length;
    rung_problem problem = rung_problem_of(heads_of(shape, values_row(values, shape, QUERIES, first), count, width),
                                           keys, scores);
    problem.batch = shape->heads;
    problem.alpha = 1 / sqrt((double)shape->head);
    if (!multiply(model, &problem))
        return false;
    for (int64_t i = 0; i < shape->heads * count; i++)
        softmax(values->scores + i * length, first + i % count + 1, length);
    problem = rung_problem_of(scores, cached_values,
                              heads_of(shape, values_row(values, shape, CONTEXT, first), count, width));
    problem.batch = shape->heads;
    return multiply(model, &problem);
}

/* Computes the context of all tokens, a few at a time: keys after the last of them need no score. */
static bool attend_all(const model_t *model, const values_t *values)
{
    int64_t end = values->first + values->count;
    for (int64_t i = values->first; i < end; i += ATTENTION_ROWS)
        if (!attend(model, values, i, end - i < ATTENTION_ROWS ? end - i : ATTENTION_ROWS))
            return false;
    return true;
}

bool block_forward(const model_t *model, values_t *values, int64_t first, int64_t count)
{
    values->first = first;
    values->count = count;
    normalize(model, values, INPUT, model->attention_norm, NORMED);
    if (!project(model, values, NORMED, W_QUERIES, QUERIES) || !project(model, values, NORMED, W_KEYS, KEYS) ||
        !project(model, values, NORMED, W_VALUES, VALUES))
        return false;
    rotate(model, values, QUERIES);
    rotate(model, values, KEYS);
    if (!attend_all(model, values) || !project(model, values, CONTEXT, W_CONTEXT, MIDDLE))
        return false;
    normalize(model, values, MIDDLE, model->mlp_norm, MLP_INPUT);
    return project(model, values, MLP_INPUT, W_UP, UP) && project(model, values, MLP_INPUT, W_GATE, HIDDEN) &&
           project(model, values, HIDDEN, W_DOWN, OUTPUT);
}
