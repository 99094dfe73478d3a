/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_device.c - buffers of the CPU device. See cpu_device.h. */
#define _DEFAULT_SOURCE /* madvise */
#include "cpu/cpu_device.h"

#include <string.h>
#include <sys/mman.h>

#include "base/checked_arithmetic.h"
#include "core/matrix.h"
#include "cpu/packed_header.h"

typedef struct cpu_buffer {
    rung_buffer base;
    char *memory; /* the first byte of the allocation, or of the memory that the caller passed */
    bool is_owned;
} cpu_buffer_t;

rung_status rungi_cpu_buffer_create(rung_device *device, void *native, int64_t offset, int64_t bytes,
                                    rung_buffer **buffer)
{
    cpu_buffer_t *created = rungi_allocate_zeroed(device->context, sizeof *created);
    if (!created)
        return RUNG_STATUS_NO_MEMORY;
    created->is_owned = !native;
    created->memory = native ? native : rungi_allocate(device->context, bytes, 64);
    if (!created->memory) {
        rungi_release(device->context, created);
        return RUNG_STATUS_NO_MEMORY;
    }
    if (created->is_owned) /* reused memory may begin with the header of an old packed B */
        memset(created->memory, 0, (size_t)rungi_min(bytes, sizeof(rungi_packed_header)));
    created->base.address = (uintptr_t)created->memory + (uintptr_t)offset;
    *buffer = &created->base;
    return RUNG_OK;
}

void rungi_cpu_buffer_destroy(rung_buffer *buffer)
{
    cpu_buffer_t *own = (cpu_buffer_t *)buffer;
    rung_context *context = buffer->device->context;
    if (own->is_owned)
        rungi_release(context, own->memory);
    rungi_release(context, own);
}

void *rungi_cpu_buffer_native(const rung_buffer *buffer)
{
    return ((const cpu_buffer_t *)buffer)->memory;
}

char *rungi_cpu_buffer_data(const rung_buffer *buffer)
{
    return ((const cpu_buffer_t *)buffer)->memory + buffer->offset;
}

rung_status rungi_cpu_buffer_copy(rung_queue *queue, rung_buffer *buffer, int64_t offset, int64_t bytes,
                                  const void *from, void *to, const rung_run_options *options)
{
    (void)queue;
    int64_t started = rungi_clock_ns();
    char *data = rungi_cpu_buffer_data(buffer) + offset;
    if (bytes > 0)
        memcpy(from ? data : to, from ? from : data, (size_t)bytes);
    rungi_cpu_signal(options, started);
    return RUNG_OK;
}

/* Only huge pages that lie entirely in the packed B: the bytes around it are other data. */
void rungi_cpu_buffer_prepare_packed(const rung_buffer *buffer, int64_t bytes)
{
    const uintptr_t page = (uintptr_t)2 << 20;
    const cpu_buffer_t *own = (const cpu_buffer_t *)buffer;
    uintptr_t start = (uintptr_t)own->memory, end = start + (uintptr_t)bytes;
    uintptr_t padding = (page - start % page) % page;
    if (own->is_owned && end - start > padding + page)
        madvise(own->memory + padding, (size_t)((end - start - padding) / page * page), MADV_HUGEPAGE);
    if (own->is_owned)
        rungi_pool_spread(((const rungi_cpu_device *)buffer->device)->pool, own->memory, bytes);
}

void *rungi_cpu_item_data(const rung_matrix *matrix, int64_t item)
{
    char *start = matrix->buffer ? rungi_cpu_buffer_data(matrix->buffer) : matrix->data;
    int64_t offset = matrix->offset + (item > 0 || matrix->batch_offsets ? rungi_matrix_item_offset(matrix, item) : 0);
    return start ? start + rungi_type_bytes(matrix->type, offset) : NULL;
}
