/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h - records the copies, kernels and host work of one call and reports them when the call is complete.
 * Records nothing if the context has no span function. */
#pragma once

#include "core/device.h"

typedef struct rungi_timeline_entry rungi_timeline_entry;

typedef struct rungi_timeline {
    rung_device *device;
    bool is_enabled;     /* the context has a span function */
    int64_t start;       /* host time of the call */
    rung_event *origin;  /* device event that aligns the clocks, ... */
    int64_t origin_time; /* ... and its nanoseconds since `start` */
    rungi_timeline_entry *entries, *last;
} rungi_timeline;

/* Begins the timeline of a call that runs on this device. */
void rungi_timeline_begin(rungi_timeline *timeline, rung_device *device);

/* Relates the device's clock to the host's by an empty copy on an idle queue. */
rung_status rungi_timeline_align_clocks(rungi_timeline *timeline, rung_queue *queue);

/* Adds work on a queue, given by its number. The work must signal `*event`, which belongs to the timeline; NULL if the
 * timeline records nothing. */
rung_status rungi_timeline_add(rungi_timeline *timeline, const char *name, int64_t queue, int64_t bytes,
                               rung_event **event);

/* Returns the nanoseconds since the start of the call; 0 if the timeline records nothing. */
int64_t rungi_timeline_now(const rungi_timeline *timeline);

/* Adds work of the host, from `start` until now. */
rung_status rungi_timeline_add_host(rungi_timeline *timeline, const char *name, int64_t queue, int64_t start,
                                    int64_t bytes);

/* Reports all entries if the call's status is RUNG_OK, and frees them. Returns the status of the call. */
rung_status rungi_timeline_end(rungi_timeline *timeline, rung_status status);
