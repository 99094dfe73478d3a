/* SPDX-License-Identifier: Apache-2.0 */
/* transformer.h - one block of a transformer, as language models stack them: its weights, its values and its F64 oracle. */
#pragma once

#include <rung/rung.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The sizes of a block. Its attention has `heads` heads of queries, and `kv_heads` heads of keys and values that they share. */
typedef struct shape {
    const char *name;
    int64_t blocks; /* of the whole model */
    int64_t hidden, heads, kv_heads, head, mlp;
    double rope_base, epsilon; /* of the rotary embedding and of the norms */
    bool has_bias;             /* added to queries, keys and values */
} shape_t;

const shape_t *shape_find(const char *name); /* NULL if there is no such model */

/* ---- Weights ----------------------------------------------------------------------------------------------------- */

enum { W_QUERIES, W_KEYS, W_VALUES, W_CONTEXT, W_UP, W_GATE, W_DOWN, WEIGHTS };

typedef struct model {
    const shape_t *shape;
    rung_context *context;
    rung_compute compute;
    rung_matrix weights[WEIGHTS]; /* n x k, as files store them: F32, BF16, Q8_0 or Q4_0 */
    void *memory[WEIGHTS];        /* of the weights, which begin at a multiple of 64 bytes */
    float *bias[W_VALUES + 1];    /* zeros for models without a bias */
    float *attention_norm, *mlp_norm;
} model_t;

/* Makes random weights. Returns false if memory is exhausted or a call of the library fails. */
bool model_create(model_t *model, const shape_t *shape, rung_type type);
void model_destroy(model_t *model);

/* Returns the next pseudorandom number in [-1, 1). */
float next_random(uint64_t *state);

/* ---- Values ------------------------------------------------------------------------------------------------------ */

/* What a block computes, in this order. */
enum { INPUT, NORMED, QUERIES, KEYS, VALUES, CONTEXT, MIDDLE, MLP_INPUT, UP, HIDDEN, OUTPUT, STAGES };

const char *stage_name(int stage);
int64_t stage_width(const shape_t *shape, int stage); /* elements per token */

/* Memory of the stages. Keys and values are the cache: they have a row per token of the text. The other stages have a row per
 * token of the call, which computes the tokens first ... first + count - 1. */
typedef struct values {
    int64_t capacity, first, count;
    float *rows[STAGES];
    float *scores;           /* of all heads, for a few tokens */
    uint16_t *narrow;        /* activations as BF16 */
    int64_t *head_offsets;   /* where the keys of each head begin in a row */
    double *cosines, *sines; /* of the rotary embedding: head / 2 per token of the text */
} values_t;

/* Allocates the values of up to `capacity` tokens. Returns false if memory is exhausted. */
bool values_create(values_t *values, const shape_t *shape, int64_t capacity);
void values_destroy(values_t *values);

/* Returns the row of a token of the text. */
static inline float *values_row(const values_t *values, const shape_t *shape, int stage, int64_t token)
{
    bool is_cache = stage == KEYS || stage == VALUES;
    return values->rows[stage] + (is_cache ? token : token - values->first) * stage_width(shape, stage);
}

/* Computes tokens first ... first + count - 1 from the input and the cache of the tokens before. Returns false if a call of
 * the library fails. */
bool block_forward(const model_t *model, values_t *values, int64_t first, int64_t count);

/* ---- Oracle ------------------------------------------------------------------------------------------------------ */

/* Compares the stages of a call with the same computed in F64 from the values of the stages before, and prints a line per
 * stage to `log`, which may be NULL. A `sample` of 0 checks every element; otherwise so many tokens and columns per stage. Returns whether every error is
 * within its bound. */
bool oracle_check_stages(const model_t *model, const values_t *values, int64_t sample, FILE *log);

/* The values of a whole text in F64, from the input alone. */
typedef struct oracle_text {
    double *rows[STAGES]; /* one row per token of the text */
} oracle_text_t;

bool oracle_text_create(oracle_text_t *text, const shape_t *shape, int64_t capacity);
void oracle_text_destroy(oracle_text_t *text);

/* Returns the largest relative error that the output of a block may have, as a root mean square. */
double oracle_output_limit(const model_t *model);

/* Computes the tokens of a call in F64, and compares the output with that of the block. */
bool oracle_check_output(const model_t *model, const values_t *values, oracle_text_t *text);
