/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - the shapes of public models, and random weights. */
#include "transformer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* The rescaling of low frequencies in Llama's rotary embedding is left out: it changes numbers, not work. */
static const shape_t shapes[] = {
    {"tiny", 1, 96, 4, 2, 32, 160, 10000, 1e-5, true},
    {"llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 500000, 1e-5, false},
    {"mistral-7b", 32, 4096, 32, 8, 128, 14336, 1000000, 1e-5, false},
    {"qwen2.5-7b", 28, 3584, 28, 4, 128, 18944, 1000000, 1e-6, true},
};

const shape_t *shape_find(const char *name)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(name, shapes[i].name) == 0)
            return &shapes[i];
    return NULL;
}

float next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) / 8388608.0f - 1.0f;
}

/* Returns `count` random numbers around `mean`. */
static float *random_vector(int64_t count, float mean, uint64_t *state)
{
    float *vector = malloc((size_t)count * sizeof *vector);
    for (int64_t i = 0; vector && i < count; i++)
        vector[i] = mean + 0.1f * next_random(state);
    return vector;
}

/* Stores a row of F32 numbers in the type of the weights. */
static bool store_row(rung_matrix row, float *numbers)
{
    if (row.type == RUNG_F32)
        memcpy((float *)row.data + row.offset, numbers, (size_t)row.cols * sizeof *numbers);
    else if (row.type == RUNG_BF16)
        for (int64_t i = 0; i < row.cols; i++)
            ((uint16_t *)row.data)[row.offset + i] = rung_bf16_from_f32(numbers[i]);
    else
        return rung_quantize(rung_matrix_of(RUNG_F32, 1, row.cols, numbers), row, NULL) == RUNG_OK;
    return true;
}

/* Makes an n x k matrix whose products with vectors of variance 1 have variance 1. */
static bool make_weights(model_t *model, int which, rung_type type, int64_t n, int64_t k, uint64_t *state)
{
    int64_t bytes = n * k / rung_type_block_elements(type) * rung_type_block_bytes(type);
    float scale = sqrtf(3.0f / (float)k), *row = malloc((size_t)k * sizeof *row);
    char *memory = malloc((size_t)bytes + ALIGNMENT);
    bool is_good = row && memory;
    model->memory[which] = memory;
    if (is_good)
        model->weights[which] = rung_matrix_of(type, n, k, memory + (ALIGNMENT - (uintptr_t)memory % ALIGNMENT));
    for (int64_t i = 0; i < n && is_good; i++) {
        for (int64_t p = 0; p < k; p++)
            row[p] = scale * next_random(state);
        is_good = store_row(rung_matrix_block(model->weights[which], i, 0, 1, k), row);
    }
    free(row);
    return is_good;
}

bool model_create(model_t *model, const shape_t *shape, rung_type type)
{
    int64_t queries = shape->heads * shape->head, keys = shape->kv_heads * shape->head;
    const int64_t sizes[WEIGHTS][2] = {
        {queries, shape->hidden},    {keys, shape->hidden},       {keys, shape->hidden},      {shape->hidden, queries},
        {shape->mlp, shape->hidden}, {shape->mlp, shape->hidden}, {shape->hidden, shape->mlp}};
    uint64_t state = 1;
    model->shape = shape;
    for (int i = 0; i < WEIGHTS; i++)
        if (!make_weights(model, i, type, sizes[i][0], sizes[i][1], &state))
            return false;
    for (int i = W_QUERIES; i <= W_VALUES; i++) {
        model->bias[i] = random_vector(sizes[i][0], 0, &state);
        if (!model->bias[i])
            return false;
        if (!shape->has_bias)
            memset(model->bias[i], 0, (size_t)sizes[i][0] * sizeof(float));
    }
    model->attention_norm = random_vector(shape->hidden, 1, &state);
    model->mlp_norm = random_vector(shape->hidden, 1, &state);
    return model->attention_norm && model->mlp_norm;
}

void model_destroy(model_t *model)
{
    for (int i = 0; i < WEIGHTS; i++)
        free(model->memory[i]);
    for (int i = W_QUERIES; i <= W_VALUES; i++)
        free(model->bias[i]);
    free(model->attention_norm);
    free(model->mlp_norm);
}
