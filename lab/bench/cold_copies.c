/* SPDX-License-Identifier: Apache-2.0 */
/* cold_copies.c - the copies of operands for rung bench --cache cold; see bench_problem.h. */
#include "bench/bench_problem.h"

#include <stdlib.h>

#include "base/try.h"
#include "bench/machine_conditions.h"
#include "common/elements.h"

enum { ALIGNMENT = 256 }; /* of every copy, so that the plan of the first one suits all */

static void compute_copy_sizes(const rung_matrix *matrix, int64_t batch, lab_operand_copies *operand)
{
    int64_t size = rung_type_block_bytes(matrix->type), unit = ALIGNMENT; /* whole blocks */
    if (lab_type_is_quantized(matrix->type))
        unit *= size;
    operand->bytes = lab_type_bytes(matrix->type, matrix->rows * matrix->cols * batch);
    operand->stride_bytes = (operand->bytes + unit) / unit * unit;
    operand->stride_elements = operand->stride_bytes / size * rung_type_block_elements(matrix->type);
}

/* Returns how many copies fit a quarter of the memory and the largest buffer of the device. */
static int64_t max_copy_count(const rung_device_info *device, const lab_cold_copies *copies, int64_t copy_bytes)
{
    lab_cache_sizes caches = lab_cache_sizes_read();
    int64_t memory = device->memory_bytes > 0 ? device->memory_bytes : caches.memory;
    int64_t max_count = memory > 0 ? memory / 4 / copy_bytes : INT64_MAX;
    const lab_operand_copies *all[] = {&copies->a, &copies->b, &copies->c};
    for (int i = 0; device->max_buffer_bytes > 0 && i < 3; i++)
        if (device->max_buffer_bytes / all[i]->stride_bytes < max_count)
            max_count = device->max_buffer_bytes / all[i]->stride_bytes;
    return max_count;
}

static rung_status make_buffers(rung_device *device, lab_cold_copies *copies)
{
    lab_operand_copies *all[] = {&copies->a, &copies->b, &copies->c};
    for (int i = 0; i < 3; i++)
        TRY(rung_buffer_create(device, copies->count * all[i]->stride_bytes, &all[i]->buffer));
    return RUNG_OK;
}

rung_status lab_cold_copies_create(rung_device *device, const rung_matrix *a, const rung_matrix *b,
                                   const rung_matrix *c, int64_t batch, lab_cold_copies **created)
{
    const rung_device_info *info = rung_device_describe(device);
    lab_cold_copies *copies = *created = calloc(1, sizeof *copies);
    if (!copies)
        return RUNG_STATUS_NO_MEMORY;
    compute_copy_sizes(a, batch, &copies->a);
    compute_copy_sizes(b, batch, &copies->b);
    compute_copy_sizes(c, batch, &copies->c);
    int64_t copy_bytes = copies->a.stride_bytes + copies->b.stride_bytes + copies->c.stride_bytes;
    copies->target_bytes = 2 * lab_device_last_level_cache(info);
    int64_t max_count = max_copy_count(info, copies, copy_bytes);
    copies->count = copies->target_bytes / copy_bytes + 1;
    copies->count = copies->count > max_count ? max_count : copies->count;
    copies->count = copies->count < 2 ? 2 : copies->count;
    copies->bytes = copies->count * copy_bytes;
    rung_status status = make_buffers(device, copies);
    if (status != RUNG_OK) {
        lab_cold_copies_destroy(copies);
        *created = NULL;
    }
    return status;
}

void lab_cold_copies_destroy(lab_cold_copies *copies)
{
    if (!copies)
        return;
    rung_buffer_destroy(copies->a.buffer);
    rung_buffer_destroy(copies->b.buffer);
    rung_buffer_destroy(copies->c.buffer);
    free(copies);
}

static rung_status write_copies(const lab_cold_copies *copies, rung_queue *queue, const void *a, const void *b)
{
    for (int64_t i = 0; i < copies->count; i++) {
        TRY(rung_buffer_write(queue, copies->a.buffer, i * copies->a.stride_bytes, copies->a.bytes, a, NULL));
        TRY(rung_buffer_write(queue, copies->b.buffer, i * copies->b.stride_bytes, copies->b.bytes, b, NULL));
    }
    return RUNG_OK;
}

rung_status lab_cold_copies_fill(const lab_cold_copies *copies, rung_queue *queue, const void *a, const void *b)
{
    rung_status status = write_copies(copies, queue, a, b);
    rung_status finished = rung_queue_finish(queue);
    return status == RUNG_OK ? finished : status;
}

static void select_copy(rung_matrix *matrix, const lab_operand_copies *operand, int64_t index)
{
    matrix->data = NULL;
    matrix->buffer = operand->buffer;
    matrix->offset = index * operand->stride_elements;
}

rung_problem lab_cold_copies_at(const lab_cold_copies *copies, const rung_problem *problem, int64_t index)
{
    rung_problem moved = *problem;
    select_copy(&moved.a, &copies->a, index);
    select_copy(&moved.b, &copies->b, index);
    select_copy(&moved.c, &copies->c, index);
    return moved;
}

rung_problem lab_cold_copies_next(lab_cold_copies *copies, const rung_problem *problem)
{
    copies->next = (copies->next + 1) % copies->count;
    return lab_cold_copies_at(copies, problem, copies->next);
}
