/* SPDX-License-Identifier: Apache-2.0 */
/* span.h - the pieces of work of one call, noted while they are given out and told when
 * they are done. Where nobody asked for them nothing is made. */
#ifndef RUNGI_SPAN_H
#define RUNGI_SPAN_H

#include "core/device.h"

typedef struct rungi_span_note rungi_span_note;

typedef struct rungi_spans {
    rung_device *device;
    bool wanted;
    int64_t start;       /* of the call, by the host's clock */
    rung_event *origin;  /* work that was done ... */
    int64_t origin_time; /* ... so many nanoseconds after the start */
    rungi_span_note *notes, *last;
} rungi_spans;

/* Begins a call that runs on this device. */
void rungi_spans_begin(rungi_spans *spans, rung_device *device);

/* Finds out what the device's clock says now, by work on an idle queue. */
rung_status rungi_spans_align(rungi_spans *spans, rung_queue *queue);

/* Notes work on the queue of that number. It is to signal `event`, which belongs to the
 * spans and is NULL where nobody wants them. */
rung_status rungi_spans_note(rungi_spans *spans, const char *name, int64_t queue, int64_t bytes, rung_event **event);

/* The same for what this process does itself: from rungi_spans_now on until this call. */
int64_t rungi_spans_now(const rungi_spans *spans);
rung_status rungi_spans_note_host(rungi_spans *spans, const char *name, int64_t queue, int64_t start, int64_t bytes);

/* Tells all of them if the call's status is RUNG_OK, and frees them. */
rung_status rungi_spans_end(rungi_spans *spans, rung_status status);

#endif /* RUNGI_SPAN_H */
