/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - records the copies, kernels and host work of one call, for the caller's span function.
 *
 * A device has its own clock. At the start of a call, the host submits an empty copy and waits for it. The end of that
 * copy on the device's clock and the time of the host when the wait returns are taken as the same moment. */
#include "core/staging/timeline.h"

#include "base/clock.h"
#include "base/try.h"

struct rungi_timeline_entry {
    rungi_timeline_entry *next;
    rung_span span;
    rung_event *event; /* NULL: the times are known */
};

void rungi_timeline_begin(rungi_timeline *timeline, rung_device *device)
{
    *timeline = (rungi_timeline){.device = device, .is_enabled = device->context->span != NULL};
    if (timeline->is_enabled)
        timeline->start = rungi_clock_ns();
}

int64_t rungi_timeline_now(const rungi_timeline *timeline)
{
    return timeline->is_enabled ? rungi_clock_ns() - timeline->start : 0;
}

rung_status rungi_timeline_align_clocks(rungi_timeline *timeline, rung_queue *queue)
{
    rung_buffer *empty_buffer;
    if (!timeline->is_enabled || !timeline->device->ops->event_span)
        return RUNG_OK;
    TRY(rung_event_create(timeline->device, &timeline->origin));
    TRY(rung_buffer_create(timeline->device, 0, &empty_buffer));
    rung_run_options options = {.size = sizeof(rung_run_options), .signal = timeline->origin};
    rung_status status = rung_buffer_write(queue, empty_buffer, 0, 0, NULL, &options);
    if (status == RUNG_OK)
        status = rung_queue_finish(queue);
    timeline->origin_time = rungi_timeline_now(timeline);
    rung_buffer_destroy(empty_buffer);
    return status;
}

static rung_status add_entry(rungi_timeline *timeline, const char *name, int64_t queue, int64_t bytes,
                             rungi_timeline_entry **entry)
{
    *entry = rungi_allocate_zeroed(timeline->device->context, sizeof **entry);
    TRY(rungi_allocated(*entry));
    (*entry)->span = (rung_span){.name = name, .queue = queue, .bytes = bytes};
    *(timeline->last ? &timeline->last->next : &timeline->entries) = *entry;
    timeline->last = *entry;
    return RUNG_OK;
}

rung_status rungi_timeline_add(rungi_timeline *timeline, const char *name, int64_t queue, int64_t bytes,
                               rung_event **event)
{
    rungi_timeline_entry *entry;
    *event = NULL;
    if (!timeline->origin)
        return RUNG_OK;
    TRY(add_entry(timeline, name, queue, bytes, &entry));
    rung_status status = rung_event_create(timeline->device, &entry->event);
    *event = entry->event;
    return status;
}

rung_status rungi_timeline_add_host(rungi_timeline *timeline, const char *name, int64_t queue, int64_t start,
                                    int64_t bytes)
{
    rungi_timeline_entry *entry;
    if (!timeline->is_enabled)
        return RUNG_OK;
    TRY(add_entry(timeline, name, queue, bytes, &entry));
    entry->span.start = start;
    entry->span.end = rungi_timeline_now(timeline);
    return RUNG_OK;
}

/* Computes the start and end of an entry on the call's clock. */
static rung_status resolve_times(const rungi_timeline *timeline, rungi_timeline_entry *entry)
{
    rung_span *span = &entry->span;
    if (!entry->event)
        return RUNG_OK;
    TRY(timeline->device->ops->event_span(entry->event, timeline->origin, &span->start, &span->end));
    span->start += timeline->origin_time;
    span->end += timeline->origin_time;
    return RUNG_OK;
}

static void free_entries(rungi_timeline *timeline)
{
    rungi_timeline_entry *next;
    rungi_saved_error saved = rungi_error_save();
    for (rungi_timeline_entry *entry = timeline->entries; entry; entry = next) {
        next = entry->next;
        rung_event_destroy(entry->event);
        rungi_release(timeline->device->context, entry);
    }
    rung_event_destroy(timeline->origin);
    rungi_error_restore(&saved);
}

rung_status rungi_timeline_end(rungi_timeline *timeline, rung_status status)
{
    rung_context *context = timeline->device->context;
    if (!timeline->is_enabled)
        return status;
    for (rungi_timeline_entry *entry = timeline->entries; status == RUNG_OK && entry; entry = entry->next)
        status = resolve_times(timeline, entry);
    for (rungi_timeline_entry *entry = timeline->entries; status == RUNG_OK && entry; entry = entry->next)
        context->span(context->span_user, &entry->span);
    free_entries(timeline);
    return status;
}
