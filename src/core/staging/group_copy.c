/* SPDX-License-Identifier: Apache-2.0 */
/* group_copy.c - see group_copy.h. */
#include "core/staging/group_copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "core/quantization.h"

enum {
    STAGE_ALIGNMENT = 64,
    REGION_ALIGNMENT = 256,
    REGION_BYTES_MIN = 1 << 16, /* of all matrices of a region; fewer are packed, since a copy has a fixed cost */
    VIEWS_PER_PROBLEM = 6       /* inputs: A, B, its scales and zero points, bias and residual */
};

/* ---- The matrices ------------------------------------------------------------------------------------------------ */

/* Returns whether the first element shares a byte with an element that does not belong to the matrix. */
static bool begins_inside_byte(const rung_matrix *matrix)
{
    return rungi_type_is_4_bit(matrix->type) && matrix->offset % 2 != 0;
}

static rung_status add_view(rungi_group_side *side, const rung_matrix *host, const rung_matrix *start,
                            rung_matrix *device)
{
    rungi_group_view *view = &side->views[side->view_count];
    rung_matrix dense;
    int64_t elements;
    *device = (rung_matrix){.type = host->type, .rows = host->rows, .cols = host->cols};
    if (rungi_matrix_is_empty(host)) {
        *device = rung_matrix_of(host->type, host->rows, host->cols, NULL);
        return RUNG_OK;
    }
    if (!rungi_matrix_dense(host, &dense, &elements) || elements > INT64_MAX / 64)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "a matrix of %lld x %lld does not fit the address space",
                          (long long)host->rows, (long long)host->cols);
    *device = dense;
    *view = (rungi_group_view){.device = device,
                               .host = host,
                               .start = start,
                               .first = rungi_matrix_address(host),
                               .bytes = rungi_type_bytes(host->type, elements),
                               .is_staged = !rungi_matrix_is_dense(host) || begins_inside_byte(host) ||
                                            (start && start != host)};
    side->view_count++;
    return RUNG_OK;
}

/* Adds the scales and zero points of B. */
static rung_status add_quantization(rungi_group_copy *copy, const rung_problem *host, rung_problem *device)
{
    rung_quantization *quantizations = &copy->quantizations[2 * copy->group.count];
    device->b_quantization = NULL;
    if (!host->b_quantization || rungi_matrix_is_empty(&host->b))
        return RUNG_OK;
    rung_quantization *read = &quantizations[0], *placed = &quantizations[1];
    TRY(rungi_quantization_read(host->b_quantization, read));
    *placed = *read;
    device->b_quantization = placed;
    if (!rungi_matrix_is_empty(&read->scales))
        TRY(add_view(&copy->inputs, &read->scales, &read->scales, &placed->scales));
    if (!rungi_matrix_is_empty(&read->zero_points))
        TRY(add_view(&copy->inputs, &read->zero_points, &read->zero_points, &placed->zero_points));
    return RUNG_OK;
}

/* Adds the matrices of a problem. The addend is uploaded in place of the result, so that kernels need to know of one
 * matrix only. */
static rung_status add_problem(rungi_group_copy *copy, const rung_problem *host, rung_problem *device)
{
    const rung_matrix *addend = rungi_problem_addend(host), *start = NULL;
    *device = *host;
    device->d = (rung_matrix){.type = RUNG_TYPE_NONE};
    TRY(add_view(&copy->inputs, &host->a, &host->a, &device->a));
    TRY(add_view(&copy->inputs, &host->b, &host->b, &device->b));
    TRY(add_quantization(copy, host, device));
    if (!rungi_matrix_is_empty(&host->bias))
        TRY(add_view(&copy->inputs, &host->bias, &host->bias, &device->bias));
    if (!rungi_matrix_is_empty(&host->residual))
        TRY(add_view(&copy->inputs, &host->residual, &host->residual, &device->residual));
    if (host->beta != 0)
        start = rungi_matrix_is_absent(addend) ? &host->c : addend;
    return add_view(&copy->outputs, &host->c, start, &device->c);
}

static rung_status allocate_side(const rung_context *context, int64_t views, rungi_group_side *side)
{
    side->views = rungi_allocate(context, views * (int64_t)sizeof *side->views, sizeof(void *));
    TRY(rungi_allocated(side->views));
    side->regions = rungi_allocate(context, views * (int64_t)sizeof *side->regions, sizeof(void *));
    return rungi_allocated(side->regions);
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

/* Orders views so that those that may form a region are adjacent. */
static int compare_views(const void *x, const void *y)
{
    const rungi_group_view *first = x, *second = y;
    int64_t first_size = rung_type_block_bytes(first->host->type);
    int64_t second_size = rung_type_block_bytes(second->host->type);
    if (first->is_staged != second->is_staged)
        return first->is_staged - second->is_staged;
    if (first_size != second_size)
        return first_size < second_size ? -1 : 1;
    if ((first->start != NULL) != (second->start != NULL))
        return first->start ? -1 : 1;
    return (first->first > second->first) - (first->first < second->first);
}

/* Reserves bytes at the end of the buffer. */
static rung_status reserve(int64_t *end, int64_t bytes, int64_t alignment, int64_t *offset)
{
    if (*end > INT64_MAX / 4 || bytes > INT64_MAX / 4)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the matrices of the group do not fit the address space");
    *offset = rungi_round_up(*end, alignment);
    *end = *offset + bytes;
    return RUNG_OK;
}

/* Returns the least multiple of an alignment at which a block of this type may begin. Offsets of views count elements, so
 * that blocks of 34 or 18 bytes need multiples of that. */
static int64_t alignment_of(rung_type type, int64_t alignment)
{
    return rungi_type_has_scales(type) ? alignment * rung_type_block_bytes(type) / 2 : alignment;
}

/* Returns the number of views from `first` on that form a region. Sets its bytes, and the bytes of all its views. */
static int64_t measure_region(const rungi_group_side *side, int64_t first, uintptr_t *end, int64_t *all_bytes)
{
    const rungi_group_view *view = &side->views[first];
    int64_t i = first, size = rung_type_block_bytes(view->host->type);
    *end = view->first;
    *all_bytes = 0;
    for (; i < side->view_count; i++) {
        const rungi_group_view *next = &side->views[i];
        if (next->is_staged || next->first > *end || (next->start != NULL) != (view->start != NULL) ||
            rung_type_block_bytes(next->host->type) != size || (int64_t)(next->first - view->first) % size != 0)
            break;
        uintptr_t next_end = next->first + (uintptr_t)next->bytes;
        *end = next_end > *end ? next_end : *end;
        *all_bytes = rungi_min(*all_bytes, REGION_BYTES_MIN) + rungi_min(next->bytes, REGION_BYTES_MIN);
    }
    return i - first;
}

/* Finds the regions. Their offsets are relative to the end of the staged matrices. */
static rung_status find_regions(rungi_group_side *side, int64_t *end)
{
    for (int64_t i = 0; i < side->view_count && !side->views[i].is_staged;) {
        rungi_group_view *first = &side->views[i];
        uintptr_t region_end;
        int64_t all_bytes, count = measure_region(side, i, &region_end, &all_bytes), offset = 0;
        RUNGI_ASSERT(count > 0);
        bool is_region = all_bytes >= REGION_BYTES_MIN;
        if (is_region) {
            TRY(reserve(end, (int64_t)(region_end - first->first), alignment_of(first->host->type, REGION_ALIGNMENT),
                        &offset));
            side->regions[side->region_count++] = (rungi_group_region){.host = rungi_matrix_first_element(first->host),
                                                                       .bytes = (int64_t)(region_end - first->first),
                                                                       .offset = offset,
                                                                       .is_uploaded = first->start != NULL};
        }
        for (int64_t j = i; j < i + count; j++) {
            rungi_group_view *view = &side->views[j];
            if (is_region)
                view->device->offset = offset + (int64_t)(view->first - first->first); /* bytes, for now */
            view->is_staged = !is_region;
        }
        i += count;
    }
    return RUNG_OK;
}

static rung_status place_staged(rungi_group_side *side, bool is_uploaded, int64_t *end)
{
    for (int64_t i = 0; i < side->view_count; i++)
        if (side->views[i].is_staged && (side->views[i].start != NULL) == is_uploaded)
            TRY(reserve(end, side->views[i].bytes, alignment_of(side->views[i].host->type, STAGE_ALIGNMENT),
                        &side->views[i].device->offset));
    return RUNG_OK;
}

/* Assigns every view its offset: staged ones that are uploaded, other staged ones, regions. */
static rung_status place(rungi_group_side *side)
{
    int64_t regions_bytes = 0, start = 0, alignment = REGION_ALIGNMENT;
    for (int64_t i = 0; i < side->view_count; i++) /* only B may have blocks, and all B have the same type */
        alignment = rungi_max(alignment, alignment_of(side->views[i].host->type, REGION_ALIGNMENT));
    qsort(side->views, (size_t)side->view_count, sizeof *side->views, compare_views);
    TRY(find_regions(side, &regions_bytes));
    TRY(place_staged(side, true, &side->uploaded_bytes));
    side->staged_bytes = side->uploaded_bytes;
    TRY(place_staged(side, false, &side->staged_bytes));
    side->bytes = side->staged_bytes;
    TRY(reserve(&side->bytes, regions_bytes, alignment, &start));
    for (int64_t i = 0; i < side->region_count; i++)
        side->regions[i].offset += start;
    for (int64_t i = 0; i < side->view_count; i++) {
        rungi_group_view *view = &side->views[i];
        int64_t bytes = view->device->offset + (view->is_staged ? 0 : start);
        view->device->offset = bytes / rung_type_block_bytes(view->host->type) *
                               rung_type_block_elements(view->host->type);
    }
    return RUNG_OK;
}

rung_status rungi_group_copy_init(rung_context *context, const rungi_group *host, rungi_group_copy *copy)
{
    int64_t bytes, views;
    *copy = (rungi_group_copy){.context = context};
    if (!rungi_checked_multiply(host->count, VIEWS_PER_PROBLEM, &views) ||
        !rungi_checked_multiply(
            views, (int64_t)(sizeof(rung_problem) + sizeof(rungi_group_view) + sizeof(rung_quantization)), &bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the group has %lld problems, which do not fit the address space",
                          (long long)host->count);
    copy->group.problems = rungi_allocate(context, host->count * (int64_t)sizeof(rung_problem), sizeof(void *));
    TRY(rungi_allocated(copy->group.problems));
    copy->quantizations = rungi_allocate(context, 2 * host->count * (int64_t)sizeof *copy->quantizations,
                                         sizeof(void *));
    TRY(rungi_allocated(copy->quantizations));
    TRY(allocate_side(context, views, &copy->inputs));
    TRY(allocate_side(context, host->count, &copy->outputs));
    for (; copy->group.count < host->count; copy->group.count++)
        TRY(add_problem(copy, &host->problems[copy->group.count], &copy->group.problems[copy->group.count]));
    TRY(place(&copy->inputs));
    return place(&copy->outputs);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static rung_status allocate_memory(const rung_context *context, rung_queue *queue, rungi_group_side *side)
{
    if (side->bytes == 0)
        return RUNG_OK;
    TRY(rungi_buffer_create_on_queue(queue, side->bytes, &side->buffer));
    for (int64_t i = 0; i < side->view_count; i++)
        side->views[i].device->buffer = side->buffer;
    if (side->staged_bytes == 0)
        return RUNG_OK;
    side->staging = rungi_allocate(context, side->staged_bytes, STAGE_ALIGNMENT);
    return rungi_allocated(side->staging);
}

rung_status rungi_group_copy_allocate(rungi_group_copy *copy, rung_queue *queue)
{
    TRY(allocate_memory(copy->context, queue, &copy->inputs));
    TRY(allocate_memory(copy->context, queue, &copy->outputs));
    copy->group.inputs = copy->inputs.buffer;
    copy->group.outputs = copy->outputs.buffer;
    return RUNG_OK;
}

static void free_side(const rung_context *context, rungi_group_side *side)
{
    rung_buffer_destroy(side->buffer);
    rungi_release(context, side->staging);
    rungi_release(context, side->views);
    rungi_release(context, side->regions);
}

void rungi_group_copy_free(rungi_group_copy *copy)
{
    free_side(copy->context, &copy->inputs);
    free_side(copy->context, &copy->outputs);
    rungi_release(copy->context, copy->group.problems);
    rungi_release(copy->context, copy->quantizations);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Returns the view of a staged matrix in staging memory. */
static rung_matrix staged_view(const rungi_group_side *side, const rungi_group_view *view)
{
    rung_matrix staged = *view->device;
    staged.buffer = NULL;
    staged.data = side->staging;
    return staged;
}

static rung_status pack(const rungi_group_side *side, rungi_timeline *timeline)
{
    int64_t start = rungi_timeline_now(timeline);
    for (int64_t i = 0; i < side->view_count; i++) {
        const rungi_group_view *view = &side->views[i];
        rung_matrix staged = staged_view(side, view);
        if (!view->is_staged || !view->start)
            continue;
        if (rungi_type_is_4_bit(staged.type)) /* the last byte may have one element */
            memset(rungi_matrix_first_element(&staged), 0, (size_t)view->bytes);
        rungi_matrix_copy(view->start, &staged);
    }
    return rungi_timeline_add_host(timeline, "pack", -1, start, side->uploaded_bytes);
}

static rung_status upload(const rungi_group_side *side, rung_queue *queue, rungi_timeline *timeline, const char *name,
                          int64_t offset, int64_t bytes, const char *from)
{
    rung_run_options options = {.size = sizeof options};
    TRY(rungi_timeline_add(timeline, name, 0, bytes, &options.signal));
    return rung_buffer_write(queue, side->buffer, offset, bytes, from, &options);
}

static rung_status download(const rungi_group_side *side, rung_queue *queue, rungi_timeline *timeline, int64_t offset,
                            int64_t bytes, char *to)
{
    rung_run_options options = {.size = sizeof options};
    TRY(rungi_timeline_add(timeline, "outputs down", 0, bytes, &options.signal));
    return rung_buffer_read(queue, side->buffer, offset, bytes, to, &options);
}

static rung_status upload_side(const rungi_group_side *side, rung_queue *queue, rungi_timeline *timeline,
                               const char *name)
{
    for (int64_t i = 0; i < side->region_count; i++) {
        const rungi_group_region *region = &side->regions[i];
        if (region->is_uploaded)
            TRY(upload(side, queue, timeline, name, region->offset, region->bytes, region->host));
    }
    if (side->uploaded_bytes == 0)
        return RUNG_OK;
    TRY(pack(side, timeline)); /* while the device copies the regions */
    return upload(side, queue, timeline, name, 0, side->uploaded_bytes, side->staging);
}

rung_status rungi_group_copy_upload(rungi_group_copy *copy, rung_queue *queue, rungi_timeline *timeline)
{
    TRY(upload_side(&copy->inputs, queue, timeline, "inputs up"));
    return upload_side(&copy->outputs, queue, timeline, "outputs up");
}

rung_status rungi_group_copy_download(rungi_group_copy *copy, rung_queue *queue, rungi_timeline *timeline)
{
    const rungi_group_side *side = &copy->outputs;
    if (side->staged_bytes > 0)
        TRY(download(side, queue, timeline, 0, side->staged_bytes, side->staging));
    for (int64_t i = 0; i < side->region_count; i++)
        TRY(download(side, queue, timeline, side->regions[i].offset, side->regions[i].bytes, side->regions[i].host));
    return RUNG_OK;
}

rung_status rungi_group_copy_unpack(rungi_group_copy *copy, rungi_timeline *timeline)
{
    const rungi_group_side *side = &copy->outputs;
    int64_t start = rungi_timeline_now(timeline);
    if (side->staged_bytes == 0)
        return RUNG_OK;
    for (int64_t i = 0; i < side->view_count; i++) {
        rung_matrix staged = staged_view(side, &side->views[i]);
        if (side->views[i].is_staged)
            rungi_matrix_copy(&staged, side->views[i].host);
    }
    return rungi_timeline_add_host(timeline, "unpack", -1, start, side->staged_bytes);
}
