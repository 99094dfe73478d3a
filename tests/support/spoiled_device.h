/* SPDX-License-Identifier: Apache-2.0 */
/* spoiled_device.h - a device whose multiplications make errors, for tests of checked products: after each run of a plan, or
 * each copy from a device with its own memory, one bit is wrong. */
#ifndef RUNG_SPOILED_DEVICE_H
#define RUNG_SPOILED_DEVICE_H

#include "core/device.h"

static const rungi_device_ops *spoiled_original;
static rungi_device_ops spoiled_ops;
static int spoiled_runs;     /* multiplications that made an error */
static float *spoiled_input; /* if not NULL, every multiplication also changes this element of A or B */

/* Changes the largest exponent bit, or a high bit of an integer: a large error for every value, also for 0. */
static inline void spoil_element(char *element, rung_type type)
{
    element[rung_type_size(type) - 1] ^= 0x40;
}

static inline rung_status spoiled_run(rung_plan *plan, rung_queue *queue, const rung_problem *problem,
                                      rungi_gemm_sizes sizes, const rung_run_options *options)
{
    const rung_matrix *c = &problem->c;
    int64_t at = c->offset + c->rows / 2 * c->row_stride + c->cols / 2 * c->col_stride;
    if (spoiled_input)
        *spoiled_input += 100;
    rung_status status = spoiled_original->plan_run(plan, queue, problem, sizes, options);
    char *memory = c->buffer ? (char *)c->buffer->address : (char *)c->data;
    spoil_element(memory + at * rung_type_size(c->type), c->type);
    spoiled_runs++;
    return status;
}

static inline rung_status spoiled_copy(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                       const void *from, void *to, const rung_run_options *options)
{
    rung_status status = spoiled_original->buffer_copy(queue, buffer, offset, bytes, from, to, options);
    if (from || bytes < 4 || queue->device->ops->queue_finish(queue) != RUNG_OK)
        return status;
    spoil_element((char *)to + bytes / 8 * 4, RUNG_F32);
    spoiled_runs++;
    return status;
}

/* Spoils all later multiplications of an open device. */
static inline void spoil_device(rung_device *device)
{
    spoiled_original = device->ops;
    spoiled_ops = *device->ops;
    if (device->reads_host_memory)
        spoiled_ops.plan_run = spoiled_run;
    else
        spoiled_ops.buffer_copy = spoiled_copy;
    device->ops = &spoiled_ops;
    spoiled_runs = 0;
    spoiled_input = NULL;
}

static inline void repair_device(rung_device *device)
{
    if (device->ops == &spoiled_ops)
        device->ops = spoiled_original;
}

#endif /* RUNG_SPOILED_DEVICE_H */
