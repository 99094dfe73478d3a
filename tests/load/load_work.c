/* SPDX-License-Identifier: Apache-2.0 */
/* load_work.c - see load_work.h. */
#include "load_work.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/elements.h"

typedef struct shape {
    rung_matrix a, b;
    void *expected;
    rung_type out;
} shape_t;

static shape_t shapes[LOAD_SHAPES];
static atomic_llong done, wrong;

int64_t load_done(void)
{
    return atomic_load(&done);
}

int64_t load_wrong(void)
{
    return atomic_load(&wrong);
}

bool load_count(bool is_right)
{
    atomic_fetch_add(&done, 1);
    if (!is_right && atomic_fetch_add(&wrong, 1) == 0)
        fprintf(stderr, "the first wrong result: %s\n", rung_error_text());
    return is_right;
}

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static rung_matrix create_matrix(rung_type type, int64_t rows, int64_t cols, uint64_t *state)
{
    rung_matrix matrix = rung_matrix_of(type, rows, cols, malloc((size_t)(rows * cols * rung_type_size(type))));
    if (!matrix.data)
        abort();
    for (int64_t i = 0; i < rows * cols; i++)
        lab_element_set(&matrix, i / cols, i % cols, (double)(next_random(state) % 5) - 2);
    return matrix;
}

/* Computes the result with plain loops. */
static void set_expected(shape_t *shape)
{
    rung_matrix c = rung_matrix_of(shape->out, shape->a.rows, shape->b.cols, shape->expected);
    for (int64_t row = 0; row < c.rows; row++)
        for (int64_t col = 0; col < c.cols; col++) {
            double sum = 0;
            for (int64_t i = 0; i < shape->a.cols; i++)
                sum += lab_element_get(&shape->a, row, i) * lab_element_get(&shape->b, i, col);
            lab_element_set(&c, row, col, sum);
        }
}

void load_work_create(void)
{
    static const rung_type types[][2] = {{RUNG_F32, RUNG_F32},  {RUNG_F64, RUNG_F64}, {RUNG_F32, RUNG_F32},
                                         {RUNG_BF16, RUNG_F32}, {RUNG_I8, RUNG_I32},  {RUNG_F16, RUNG_F32}};
    uint64_t state = 7;
    for (int i = 0; i < LOAD_SHAPES; i++) {
        bool is_large = i % 8 == 0;
        int64_t limit = is_large ? LOAD_SIZE_MAX : 32;
        int64_t m = 1 + (int64_t)(next_random(&state) % (uint64_t)limit);
        int64_t n = 1 + (int64_t)(next_random(&state) % (uint64_t)limit);
        int64_t k = 1 + (int64_t)(next_random(&state) % (uint64_t)limit);
        rung_type in = types[i % 6][0];
        shapes[i].out = types[i % 6][1];
        shapes[i].a = create_matrix(in, m, k, &state);
        shapes[i].b = create_matrix(in, k, n, &state);
        shapes[i].expected = malloc(LOAD_C_BYTES);
        if (!shapes[i].expected)
            abort();
        set_expected(&shapes[i]);
    }
}

rung_problem load_problem(int shape, void *c)
{
    const shape_t *given = &shapes[shape % LOAD_SHAPES];
    return rung_problem_of(given->a, given->b, rung_matrix_of(given->out, given->a.rows, given->b.cols, c));
}

static bool is_right(int shape, const void *c)
{
    const shape_t *given = &shapes[shape % LOAD_SHAPES];
    return memcmp(c, given->expected, (size_t)(given->a.rows * given->b.cols * rung_type_size(given->out))) == 0;
}

bool load_multiply(rung_context *context, int shape, void *c)
{
    rung_problem problem = load_problem(shape, c);
    memset(c, 0xff, LOAD_C_BYTES);
    return load_count(rung_multiply(context, &problem, NULL) == RUNG_OK && is_right(shape, c));
}

static rung_status run(rung_plan *plan, rung_queue *queue, rung_device *device, rung_problem problem, bool is_packed)
{
    rung_run_options options = rung_run_options_default();
    rung_status status = RUNG_OK;
    if (is_packed)
        status = rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &options.packed_b);
    if (is_packed && status == RUNG_OK)
        status = rung_plan_pack_b(plan, queue, &problem.b, options.packed_b, NULL);
    if (status == RUNG_OK)
        status = rung_plan_run(plan, queue, &problem, &options);
    rung_buffer_destroy(options.packed_b);
    return status;
}

bool load_run_plan(rung_device *device, rung_queue *queue, int shape, bool is_packed, void *c)
{
    rung_plan_options options = rung_plan_options_default();
    rung_problem problem = load_problem(shape, c);
    rung_plan *plan;
    memset(c, 0xff, LOAD_C_BYTES);
    options.packed_b = is_packed;
    rung_status status = rung_plan_create(device, &problem, &options, &plan);
    if (status == RUNG_OK)
        status = run(plan, queue, device, problem, is_packed);
    rung_plan_destroy(plan);
    return load_count(status == RUNG_OK && is_right(shape, c));
}

bool load_use_context(int shape, void *c)
{
    rung_context_options options = rung_context_options_default();
    rung_context *context;
    options.threads = 2;
    if (rung_context_create(&options, &context) != RUNG_OK)
        return load_count(false);
    bool right = load_multiply(context, shape, c);
    rung_context_destroy(context);
    return right;
}
