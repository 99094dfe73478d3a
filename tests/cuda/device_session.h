/* SPDX-License-Identifier: Apache-2.0 */
/* device_session.h - what tests of a failing driver let fail: everything that a caller may do on a
 * device, from opening to a product that was fetched. */
#ifndef RUNG_CUDA_DEVICE_SESSION_H
#define RUNG_CUDA_DEVICE_SESSION_H

#include "cuda_unit.h"

/* ---- What is tried -------------------------------------------------------------------------- */

/* Everything that a caller may do on a device, in order; stops at the first failure. Each
 * object goes to its place, so that all of them can be destroyed whatever happened. */
typedef struct device_session {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_buffer *buffers[3], *ordered;
    rung_event *sent, *done;
    rung_plan *plan;
    void *pinned, *pinned_handle;
    float a_data[20 * 24], b_data[24 * 16], c_data[20 * 16];
} device_session_t;

enum { SESSION_M = 20, SESSION_K = 24, SESSION_N = 16 };

static inline void session_begin(device_session_t *life)
{
    uint64_t seed = 13;
    memset(life, 0, sizeof *life);
    life->context = fresh_context("cuda", -1);
    unit_fill(&seed, life->a_data, SESSION_M * SESSION_K);
    unit_fill(&seed, life->b_data, SESSION_K * SESSION_N);
}

static inline rung_status make_objects(device_session_t *life)
{
    rung_status status = rung_device_open(life->context, "cuda", &life->device);
    if (status == RUNG_OK)
        status = rung_queue_create(life->device, &life->queue);
    for (int i = 0; status == RUNG_OK && i < 3; i++)
        status = rung_buffer_create(life->device, 4096, &life->buffers[i]);
    if (status == RUNG_OK)
        status = rung_event_create(life->device, &life->sent);
    if (status == RUNG_OK)
        status = rung_event_create(life->device, &life->done);
    if (status == RUNG_OK)
        status = rungi_cuda_host_allocate(life->device, 4096, &life->pinned, &life->pinned_handle);
    return status;
}

/* Memory in a stream's order, as the library makes it for its own use. */
static inline rung_status make_ordered(device_session_t *life)
{
    rung_status status = rungi_cuda_buffer_create_on_queue(life->queue, 4096, &life->ordered);
    if (status == RUNG_OK) {
        life->ordered->device = rungi_device_retain(life->device);
        life->ordered->bytes = 4096;
    }
    return status;
}

/* A product with both of a plan's kernels: k is cut. */
static inline rung_status session_run(device_session_t *life, const char *kernel)
{
    rung_matrix a = rung_matrix_in_buffer(RUNG_F32, SESSION_M, SESSION_K, life->buffers[0], 1);
    rung_matrix b = rung_matrix_in_buffer(RUNG_F32, SESSION_K, SESSION_N, life->buffers[1], 2);
    rung_matrix c = rung_matrix_in_buffer(RUNG_F32, SESSION_M, SESSION_N, life->buffers[2], 3);
    rung_problem problem = rung_problem_of(a, b, c);
    rung_kernel *found;
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = life->sent};
    assert_ok(rung_kernel_find(life->context, "cuda", kernel, &found));
    bool cut = strcmp(kernel, "00") != 0;
    rung_plan_options options = {.size = sizeof(rung_plan_options),
                                 .kernel = found,
                                 .split_k = cut ? 2 : 1,
                                 .max_workspace_bytes = 4096,
                                 .shared_carveout_percent = cut ? 50 : 0};
    rung_status status = rung_buffer_write(life->queue, life->buffers[0], 4, sizeof life->a_data, life->a_data, NULL);
    if (status == RUNG_OK)
        status = rung_buffer_write(life->queue, life->buffers[1], 8, sizeof life->b_data, life->b_data, &run);
    if (status == RUNG_OK)
        status = rung_plan_create(life->device, &problem, &options, &life->plan);
    run = (rung_run_options){.size = sizeof(rung_run_options),
                             .wait = &life->sent,
                             .wait_count = 1,
                             .signal = life->done,
                             .workspace = life->ordered};
    if (status == RUNG_OK)
        status = rung_plan_run(life->plan, life->queue, &problem, &run);
    if (status == RUNG_OK)
        status = rung_buffer_read(life->queue, life->buffers[2], 12, sizeof life->c_data, life->c_data, NULL);
    return status;
}

static inline rung_status session_wait(device_session_t *life)
{
    int64_t time = 0;
    rung_status status = rung_event_wait(life->done);
    if (status == RUNG_OK)
        status = rung_event_time(life->done, &time);
    return status == RUNG_OK ? rung_queue_finish(life->queue) : status;
}

static inline bool session_is_right(device_session_t *life)
{
    rung_matrix a = rung_matrix_of(RUNG_F32, SESSION_M, SESSION_K, life->a_data);
    rung_matrix b = rung_matrix_of(RUNG_F32, SESSION_K, SESSION_N, life->b_data);
    rung_matrix c = rung_matrix_of(RUNG_F32, SESSION_M, SESSION_N, life->c_data);
    return unit_first_wrong(&a, &b, &c) == -1;
}

static inline rung_status session_run_all(device_session_t *life, const char *kernel)
{
    memset(life->c_data, 0x7f, sizeof life->c_data);
    rung_status status = make_objects(life);
    if (status == RUNG_OK)
        status = make_ordered(life);
    if (status == RUNG_OK)
        status = session_run(life, kernel);
    return status == RUNG_OK ? session_wait(life) : status;
}

/* Where work failed the queue is finished before anything is freed. */
static inline void session_end(device_session_t *life)
{
    if (life->queue)
        rung_queue_finish(life->queue);
    rung_plan_destroy(life->plan);
    rung_event_destroy(life->done);
    rung_event_destroy(life->sent);
    rung_buffer_destroy(life->ordered);
    for (int i = 0; i < 3; i++)
        rung_buffer_destroy(life->buffers[i]);
    if (life->device)
        rungi_cuda_host_release(life->device, life->pinned, life->pinned_handle);
    rung_queue_destroy(life->queue);
    rung_device_close(life->device);
    life->queue = NULL;
    life->device = NULL;
}

/* ---- Planted faults ---------------------------------------------------------------------------- */

#define EVERY_CALL 0

static inline void inject_fault(const char *variable, const char *symbol, int nth, int code)
{
    char text[128], which[16] = "*";
    if (nth != EVERY_CALL)
        snprintf(which, sizeof which, "%d", nth);
    snprintf(text, sizeof text, "%s:%s:%d", symbol, which, code);
    setenv(variable, text, 1);
}

#endif /* RUNG_CUDA_DEVICE_SESSION_H */
