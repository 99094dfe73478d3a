/* SPDX-License-Identifier: Apache-2.0 */
/* One layer, D = silu(A * W + bias), for a batch of 6 items on the CPU with prepacked weights. */
#include <rung/rung.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 6, M = 16, K = 96, N = 80, RUNS = 3 };

static const char packed_path[] = "layer_weights.packed";

/* Returns 1 if the call succeeded; else prints what failed and returns 0. */
static int good(rung_status status, const char *call)
{
    if (status == RUNG_OK)
        return 1;
    fprintf(stderr, "%s: %s: %s\n", call, rung_status_name(status), rung_error_text());
    return 0;
}

/* Returns a pseudorandom number in [-1, 1). */
static float next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static void fill_bf16(uint16_t *to, int count, float scale, uint32_t *state)
{
    for (int i = 0; i < count; i++)
        to[i] = rung_bf16_from_f32(scale * next_random(state));
}

/* Fills the result with NaN so that an element that is not written is noticed. */
static void poison(float *d)
{
    memset(d, 0xff, sizeof *d * BATCH * M * N);
}

/* Compares a result with plain loops in double precision. Returns the number of differences. */
static int compare(int run, const uint16_t *a, const double *w, const float *bias, const float *d)
{
    int wrong = 0;
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < M; i++)
            for (int j = 0; j < N; j++) {
                double v = 0.0;
                for (int p = 0; p < K; p++)
                    v += (double)rung_bf16_to_f32(a[(b * M + i) * K + p]) * w[p * N + j];
                v += (double)bias[j];
                double expected = v / (1.0 + exp(-v));
                double found = (double)d[(b * M + i) * N + j];
                if (!(fabs(found - expected) <= 1e-3 * (1.0 + fabs(expected)))) {
                    if (wrong < 10)
                        fprintf(stderr, "run %d, item %d, (%d, %d): %.9g, expected %.9g\n", run, b, i, j, found,
                                expected);
                    wrong++;
                }
            }
    if (wrong)
        fprintf(stderr, "run %d: %d of %d elements differ from the reference\n", run, wrong, BATCH * M * N);
    return wrong;
}

int main(void)
{
    int result = 1;
    int wrong = 0;
    uint32_t state = 12345;
    rung_context *context = NULL;
    rung_device *device = NULL;
    rung_queue *queue = NULL;
    rung_plan *plan = NULL;
    rung_buffer *weights = NULL;
    rung_buffer *loaded = NULL;
    rung_buffer *workspace = NULL;

    uint16_t *a = malloc(sizeof *a * BATCH * M * K);
    uint16_t *w = malloc(sizeof *w * K * N);
    double *w_values = malloc(sizeof *w_values * K * N); /* for the reference, after w is freed */
    float *bias = malloc(sizeof *bias * N);
    float *d = malloc(sizeof *d * BATCH * M * N);
    float *before = malloc(sizeof *before * BATCH * M * N);
    if (!a || !w || !w_values || !bias || !d || !before) {
        fprintf(stderr, "out of memory\n");
        goto done;
    }

    fill_bf16(a, BATCH * M * K, 1.0f, &state);
    fill_bf16(w, K * N, 0.5f, &state);
    for (int i = 0; i < K * N; i++)
        w_values[i] = (double)rung_bf16_to_f32(w[i]);
    for (int j = 0; j < N; j++)
        bias[j] = next_random(&state);
    poison(d);

    if (!good(rung_context_create(NULL, &context), "rung_context_create") ||
        !good(rung_device_open(context, "cpu", &device), "rung_device_open") ||
        !good(rung_queue_create(device, &queue), "rung_queue_create"))
        goto done;

    /* The problem. The result is stored in C, because D is absent. */
    rung_matrix a_view = rung_matrix_of(RUNG_BF16, M, K, a);
    rung_matrix w_view = rung_matrix_of(RUNG_BF16, K, N, w);
    rung_matrix d_view = rung_matrix_of(RUNG_F32, M, N, d);
    a_view.batch_stride = (int64_t)M * K;
    w_view.batch_stride = 0; /* the same weights for all items */
    d_view.batch_stride = (int64_t)M * N;

    rung_problem problem = rung_problem_of(a_view, w_view, d_view);
    problem.batch = BATCH;
    problem.activation = RUNG_ACTIVATION_SILU;
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, N, bias), M, N);
    if (!good(rung_problem_check(&problem), "rung_problem_check"))
        goto done;

    rung_plan_options plan_options = rung_plan_options_default();
    plan_options.packed_b = 1;
    if (!good(rung_plan_create(device, &problem, &plan_options, &plan), "rung_plan_create"))
        goto done;
    const rung_plan_info *info = rung_plan_describe(plan);

    /* Pack the weights once; afterwards their original memory is not needed. */
    if (!good(rung_buffer_create(device, info->packed_b_bytes, &weights), "rung_buffer_create (weights)") ||
        !good(rung_plan_pack_b(plan, queue, &w_view, weights, NULL), "rung_plan_pack_b") ||
        !good(rung_queue_finish(queue), "rung_queue_finish (pack)"))
        goto done;
    free(w);
    w = NULL;
    problem.b.data = NULL; /* only the form of B is read from now on */

    rung_run_options run_options = rung_run_options_default();
    run_options.packed_b = weights;
    if (info->workspace_bytes > 0) {
        if (!good(rung_buffer_create(device, info->workspace_bytes, &workspace), "rung_buffer_create (workspace)"))
            goto done;
        run_options.workspace = workspace;
    }

    for (int run = 1; run <= RUNS; run++) {
        fill_bf16(a, BATCH * M * K, 1.0f, &state);
        poison(d);
        if (!good(rung_plan_run(plan, queue, &problem, &run_options), "rung_plan_run") ||
            !good(rung_queue_finish(queue), "rung_queue_finish (run)"))
            goto done;
        wrong += compare(run, a, w_values, bias, d);
    }
    memcpy(before, d, sizeof *d * BATCH * M * N);

    /* Save the packed weights, load them into a new buffer, and run again with the same A. */
    if (!good(rung_packed_save(plan, queue, weights, packed_path), "rung_packed_save") ||
        !good(rung_packed_load(plan, queue, packed_path, &loaded), "rung_packed_load"))
        goto done;
    run_options.packed_b = loaded;
    rung_buffer_destroy(weights);
    weights = NULL;

    poison(d);
    if (!good(rung_plan_run(plan, queue, &problem, &run_options), "rung_plan_run (loaded weights)") ||
        !good(rung_queue_finish(queue), "rung_queue_finish (loaded weights)"))
        goto done;
    if (memcmp(before, d, sizeof *d * BATCH * M * N) != 0) {
        int different = 0;
        for (int i = 0; i < BATCH * M * N; i++)
            if (memcmp(&before[i], &d[i], sizeof d[i]) != 0) {
                if (different < 10)
                    fprintf(stderr, "loaded weights, item %d, (%d, %d): %.9g, before %.9g\n", i / (M * N), i / N % M,
                            i % N, (double)d[i], (double)before[i]);
                different++;
            }
        fprintf(stderr, "loaded weights: %d of %d elements have other bits\n", different, BATCH * M * N);
        wrong += different;
    }

    if (wrong == 0)
        result = 0;

done:
    /* The queue goes first: destroying it waits for work that may still use the memory. */
    if (queue && !good(rung_queue_finish(queue), "rung_queue_finish (end)"))
        result = 1;
    rung_queue_destroy(queue);
    rung_plan_destroy(plan);
    rung_buffer_destroy(workspace);
    rung_buffer_destroy(loaded);
    rung_buffer_destroy(weights);
    rung_device_close(device);
    rung_context_destroy(context);
    free(before);
    free(d);
    free(bias);
    free(w_values);
    free(w);
    free(a);

    if (result == 0)
        puts("ok");
    return result;
}
