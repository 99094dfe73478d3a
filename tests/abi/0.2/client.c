/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - a program of a user of rung 0.2: it was compiled with the rung.h beside it and must run with every later
 * librung.so.0. Both files are frozen; see ../README.md.
 *
 * Each struct that the library may write or read lies between guard bytes, which a library that assumes a larger struct
 * would damage or misread. Results are compared with plain loops. The program prints "ok" and returns 0, or prints the
 * first line that failed. */
#include "rung.h"

#include <stdio.h>
#include <stdlib.h>

#define EXPECT(condition)                                                                \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            printf("line %d: %s: %s\n", __LINE__, #condition, rung_error_text());        \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

enum { M = 5, N = 7, K = 9, GUARD = 256 };

/* Copies a struct between guard bytes that a newer library must not take for its fields. */
#define GUARDED(type, name, value)                                                       \
    struct {                                                                             \
        unsigned char before[GUARD];                                                     \
        type          it;                                                                \
        unsigned char after[GUARD];                                                      \
    } name;                                                                              \
    memset(&name, 0xa5, sizeof name);                                                    \
    name.it = (value)

#define EXPECT_GUARDED(name)                                                             \
    do {                                                                                 \
        for (int guard = 0; guard < GUARD; guard++)                                      \
            EXPECT((name).before[guard] == 0xa5 && (name).after[guard] == 0xa5);         \
    } while (0)

static float a[M * K], b[K * N], bias[N], c[M * N], expected[M * N];

static void fill(void)
{
    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5 - 2);
    for (int j = 0; j < N; j++)
        bias[j] = (float)(j - 3);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = bias[j];
            for (int k = 0; k < K; k++)
                sum += a[i * K + k] * b[k * N + j];
            expected[i * N + j] = sum > 0 ? sum : 0;
        }
}

static void expect_result(void)
{
    for (int i = 0; i < M * N; i++)
        EXPECT(c[i] == expected[i]);
    memset(c, 0, sizeof c);
}

static rung_problem biased_problem(void)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a), rung_matrix_of(RUNG_F32, K, N, b),
                                           rung_matrix_of(RUNG_F32, M, N, c));
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, N, bias), M, N);
    problem.activation = RUNG_ACTIVATION_RELU;
    return problem;
}

static void one_call(void)
{
    GUARDED(rung_problem, problem, biased_problem());
    GUARDED(rung_multiply_options, options, rung_multiply_options_default());
    rung_matrix wide = rung_matrix_ld(RUNG_F32, M, K, K, RUNG_ORDER_ROW_MAJOR, a);
    options.it.threads = 1;
    EXPECT(rung_problem_check(&problem.it) == RUNG_OK);
    for (int i = 0; i < 3; i++) { /* the later calls find the plan of the first */
        EXPECT(rung_multiply(NULL, &problem.it, i == 1 ? &options.it : NULL) == RUNG_OK);
        expect_result();
    }
    EXPECT(rung_gemm(NULL, 1.0, wide, rung_matrix_of(RUNG_F32, K, N, b), 0.0, rung_matrix_of(RUNG_F32, M, N, c)) ==
           RUNG_OK);
    EXPECT_GUARDED(problem);
    EXPECT_GUARDED(options);
    problem.it.a.cols = K + 1;
    EXPECT(rung_multiply(NULL, &problem.it, NULL) == RUNG_STATUS_INVALID);
    EXPECT(strcmp(rung_status_name(RUNG_STATUS_INVALID), "RUNG_STATUS_INVALID") == 0);
    memset(c, 0, sizeof c);
}

static void lists(rung_context *context, rung_device *device)
{
    rung_device_list *devices;
    rung_dependency_list *dependencies;
    rung_candidate_list *candidates;
    rung_problem problem = biased_problem();
    int64_t cpus = 0, accepted = 0;
    EXPECT(rung_device_list_create(context, &devices) == RUNG_OK);
    for (int64_t i = 0; i < rung_device_list_count(devices); i++)
        cpus += strcmp(rung_device_list_at(devices, i)->backend, "cpu") == 0;
    EXPECT(cpus == 1);
    EXPECT(!rung_device_list_at(devices, rung_device_list_count(devices)));
    rung_device_list_destroy(devices);
    EXPECT(rung_dependency_list_create(context, &dependencies) == RUNG_OK);
    for (int64_t i = 0; i < rung_dependency_list_count(dependencies); i++)
        EXPECT(*rung_dependency_list_at(dependencies, i)->name);
    rung_dependency_list_destroy(dependencies);
    EXPECT(rung_candidate_list_create(device, &problem, NULL, &candidates) == RUNG_OK);
    for (int64_t i = 0; i < rung_candidate_list_count(candidates); i++)
        accepted += rung_candidate_list_at(candidates, i)->status == RUNG_OK;
    EXPECT(accepted > 0);
    rung_candidate_list_destroy(candidates);
    EXPECT(rung_device_describe(device)->compute_units > 0);
}

static void kernels(rung_context *context)
{
    rung_kernel *kernel;
    EXPECT(rung_kernel_find(context, "cpu", "10", &kernel) == RUNG_OK);
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    EXPECT(info->number == 10 && info->parameter_count > 0);
    for (int64_t i = 0; i < info->parameter_count; i++)
        EXPECT(*rung_kernel_parameter(kernel, i)->name);
    EXPECT(!rung_kernel_parameter(kernel, info->parameter_count));
    EXPECT(rung_kernel_supports(kernel, RUNG_F32, RUNG_F32, RUNG_F32, NULL));
    EXPECT(rung_accumulator_type(RUNG_I8, RUNG_I8, RUNG_I32) == RUNG_I32);
    EXPECT(rung_kernel_at(context, "cpu", 1000, &kernel) == RUNG_STATUS_NOT_FOUND);
}

static void plans(rung_device *device)
{
    GUARDED(rung_problem, problem, biased_problem());
    GUARDED(rung_plan_options, options, rung_plan_options_default());
    GUARDED(rung_run_options, run, rung_run_options_default());
    rung_queue *queue;
    rung_event *event;
    rung_plan *plan;
    rung_buffer *weights;
    int64_t nanoseconds;
    options.it.packed_b = 1;
    options.it.threads = 1;
    EXPECT(rung_queue_create(device, &queue) == RUNG_OK);
    EXPECT(rung_event_create(device, &event) == RUNG_OK);
    EXPECT(rung_plan_create(device, &problem.it, &options.it, &plan) == RUNG_OK);
    const rung_plan_info *info = rung_plan_describe(plan);
    EXPECT(info->packed_b_bytes > 0 && info->threads == 1 && info->workspace_bytes == 0);
    EXPECT(rung_buffer_create(device, info->packed_b_bytes, &weights) == RUNG_OK);
    EXPECT(rung_plan_pack_b(plan, queue, &problem.it.b, weights, NULL) == RUNG_OK);
    run.it.packed_b = weights;
    run.it.signal = event;
    EXPECT(rung_plan_run(plan, queue, &problem.it, &run.it) == RUNG_OK);
    EXPECT(rung_event_wait(event) == RUNG_OK && rung_event_time(event, &nanoseconds) == RUNG_OK && nanoseconds >= 0);
    EXPECT(rung_queue_finish(queue) == RUNG_OK);
    expect_result();
    EXPECT_GUARDED(problem);
    EXPECT_GUARDED(options);
    EXPECT_GUARDED(run);
    rung_plan_destroy(plan);
    rung_event_destroy(event);
    rung_buffer_destroy(weights);
    rung_queue_destroy(queue);
}

static void types(void)
{
    int count = 0;
    for (int type = 1; strcmp(rung_type_name((rung_type)type), "?") != 0; type++)
        count++;
    EXPECT(count >= 15);
    EXPECT(rung_type_size(RUNG_BF16) == 2 && rung_type_block_bytes(RUNG_Q4_0) == 18);
    EXPECT(rung_bf16_to_f32(rung_bf16_from_f32(1.5f)) == 1.5f);
    EXPECT(rung_version() >= RUNG_VERSION);
}

int main(void)
{
    GUARDED(rung_context_options, options, rung_context_options_default());
    rung_context *context;
    rung_device *device;
    fill();
    types();
    one_call();
    options.it.device = "cpu";
    options.it.threads = 1;
    EXPECT(rung_context_create(&options.it, &context) == RUNG_OK);
    EXPECT_GUARDED(options);
    EXPECT(rung_device_open(context, "cpu", &device) == RUNG_OK);
    lists(context, device);
    kernels(context);
    plans(device);
    rung_device_close(device);
    rung_context_destroy(context);
    printf("ok: compiled with %d, runs with %s\n", RUNG_VERSION, rung_version_text());
    return 0;
}
