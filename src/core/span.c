/* SPDX-License-Identifier: Apache-2.0 */
/* span.c - see span.h.
 *
 * A device has a clock of its own. Before anything else the queue is given a piece of work
 * of no size and waited for: the host's time then and the end of that work are the same
 * moment, from which both clocks are counted on. */
#include "core/span.h"

#include <time.h>

struct rungi_span_note {
    rungi_span_note *next;
    rung_span span;
    rung_event *event; /* NULL: its times are known */
};

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void rungi_spans_begin(rungi_spans *spans, rung_device *device)
{
    *spans = (rungi_spans){.device = device, .wanted = device->context->span != NULL};
    if (spans->wanted)
        spans->start = now();
}

int64_t rungi_spans_now(const rungi_spans *spans)
{
    return spans->wanted ? now() - spans->start : 0;
}

rung_status rungi_spans_align(rungi_spans *spans, rung_queue *queue)
{
    rung_buffer *nothing = NULL;
    if (!spans->wanted || !spans->device->ops->event_span)
        return RUNG_OK;
    rung_status status = rung_event_create(spans->device, &spans->origin);
    if (status == RUNG_OK)
        status = rung_buffer_create(spans->device, 0, &nothing);
    if (status == RUNG_OK)
        status = rung_buffer_write(queue, nothing, 0, 0, NULL,
                                   &(rung_run_options){.size = sizeof(rung_run_options), .signal = spans->origin});
    if (status == RUNG_OK)
        status = rung_queue_finish(queue);
    spans->origin_time = rungi_spans_now(spans);
    rung_buffer_destroy(nothing);
    return status;
}

static rungi_span_note *add_note(rungi_spans *spans, const char *name, int64_t queue, int64_t bytes)
{
    rungi_span_note *note = rungi_new(spans->device->context, sizeof *note);
    if (!note)
        return NULL;
    note->span = (rung_span){.name = name, .queue = queue, .bytes = bytes};
    if (spans->last)
        spans->last->next = note;
    else
        spans->notes = note;
    spans->last = note;
    return note;
}

rung_status rungi_spans_note(rungi_spans *spans, const char *name, int64_t queue, int64_t bytes, rung_event **event)
{
    *event = NULL;
    if (!spans->origin)
        return RUNG_OK;
    rungi_span_note *note = add_note(spans, name, queue, bytes);
    if (!note)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rung_event_create(spans->device, &note->event);
    *event = note->event;
    return status;
}

rung_status rungi_spans_note_host(rungi_spans *spans, const char *name, int64_t queue, int64_t start, int64_t bytes)
{
    if (!spans->wanted)
        return RUNG_OK;
    rungi_span_note *note = add_note(spans, name, queue, bytes);
    if (!note)
        return RUNG_STATUS_NO_MEMORY;
    note->span.start = start;
    note->span.end = rungi_spans_now(spans);
    return RUNG_OK;
}

/* The times of a note by the call's clock. */
static rung_status settle(const rungi_spans *spans, rungi_span_note *note)
{
    rung_span *span = &note->span;
    if (!note->event)
        return RUNG_OK;
    rung_status status = spans->device->ops->event_span(note->event, spans->origin, &span->start, &span->end);
    span->start += spans->origin_time;
    span->end += spans->origin_time;
    return status;
}

static void free_notes(rungi_spans *spans)
{
    rungi_error before;
    rungi_span_note *next;
    rungi_error_save(&before);
    for (rungi_span_note *note = spans->notes; note; note = next) {
        next = note->next;
        rung_event_destroy(note->event);
        rungi_release(spans->device->context, note);
    }
    rung_event_destroy(spans->origin);
    rungi_error_restore(&before);
}

rung_status rungi_spans_end(rungi_spans *spans, rung_status status)
{
    rung_context *context = spans->device->context;
    if (!spans->wanted)
        return status;
    for (rungi_span_note *note = spans->notes; status == RUNG_OK && note; note = note->next)
        status = settle(spans, note);
    for (rungi_span_note *note = spans->notes; status == RUNG_OK && note; note = note->next)
        context->span(context->span_user, &note->span);
    free_notes(spans);
    return status;
}
