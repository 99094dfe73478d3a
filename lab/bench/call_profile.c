/* SPDX-License-Identifier: Apache-2.0 */
/* call_profile.c - see call_profile.h. */
#include "bench/call_profile.h"

#include <stdlib.h>
#include <string.h>

#include "common/growing_array.h"
#include "common/lab_clock.h"

enum { CALLS_MEASURED = 5, TRACE_QUEUES = 3 };

/* ---- Recording ------------------------------------------------------------------------------------ */

static void collect_span(void *user, const rung_span *span)
{
    lab_call_profile *call = ((lab_call_profiler *)user)->call;
    if (!call)
        return;
    lab_call_span *grown = lab_array_grow(call->spans, call->span_count, sizeof *grown);
    call->incomplete = call->incomplete || !grown;
    if (!grown)
        return;
    call->spans = grown;
    lab_call_span *kept = &call->spans[call->span_count++];
    *kept = (lab_call_span){.queue = span->queue, .start = span->start, .end = span->end, .bytes = span->bytes};
    snprintf(kept->name, sizeof kept->name, "%s", span->name);
}

rung_status lab_call_profiler_open(const char *device, lab_call_profiler *profiler)
{
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = device, .span = collect_span, .span_user = profiler};
    *profiler = (lab_call_profiler){0};
    return rung_context_create(&options, &profiler->context);
}

static int by_wall(const void *x, const void *y)
{
    int64_t left = ((const lab_call_profile *)x)->wall_ns, right = ((const lab_call_profile *)y)->wall_ns;
    return (left > right) - (left < right);
}

rung_status lab_call_profile_measure(lab_call_profiler *profiler, const rung_problem *problem, lab_call_profile *call)
{
    lab_call_profile calls[CALLS_MEASURED] = {{0}};
    rung_status status = rung_multiply(profiler->context, problem, NULL); /* compiles and loads the kernels */
    for (int i = 0; status == RUNG_OK && i < CALLS_MEASURED; i++) {
        profiler->call = &calls[i];
        int64_t started = lab_now_ns();
        status = rung_multiply(profiler->context, problem, NULL);
        calls[i].wall_ns = lab_now_ns() - started;
    }
    profiler->call = NULL;
    qsort(calls, CALLS_MEASURED, sizeof *calls, by_wall);
    *call = calls[CALLS_MEASURED / 2];
    calls[CALLS_MEASURED / 2].spans = NULL;
    for (int i = 0; i < CALLS_MEASURED; i++)
        lab_call_profile_free(&calls[i]);
    if (status == RUNG_OK && !call->incomplete)
        lab_call_profile_sum(call);
    return call->incomplete ? RUNG_STATUS_NO_MEMORY : status;
}

void lab_call_profile_free(lab_call_profile *call)
{
    free(call->spans);
    call->spans = NULL;
    call->span_count = 0;
}

/* ---- Sums ------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static int by_start(const void *x, const void *y)
{
    int64_t left = ((const lab_call_span *)x)->start, right = ((const lab_call_span *)y)->start;
    return (left > right) - (left < right);
}

/* Kernels of two queues may overlap; such time counts once. */
void lab_call_profile_sum(lab_call_profile *call)
{
    int64_t covered = INT64_MIN;
    call->to_device_ns = call->from_device_ns = call->host_ns = call->kernel_ns = 0;
    if (call->span_count > 0)
        qsort(call->spans, (size_t)call->span_count, sizeof *call->spans, by_start);
    for (int64_t i = 0; i < call->span_count; i++) {
        const lab_call_span *span = &call->spans[i];
        int64_t time = span->end - span->start;
        if (span->queue < 0) {
            call->host_ns += time;
        } else if (ends_with(span->name, " up")) {
            call->to_device_ns += time;
        } else if (ends_with(span->name, " down")) {
            call->from_device_ns += time;
        } else if (span->end > covered) {
            call->kernel_ns += span->end - (span->start > covered ? span->start : covered);
            covered = span->end;
        }
    }
    double moving = (double)(call->to_device_ns + call->from_device_ns + call->host_ns);
    double hidden = moving > 0 ? 100 * (1 - (double)(call->wall_ns - call->kernel_ns) / moving) : 0;
    call->hidden_percent = hidden < 0 ? 0 : hidden > 100 ? 100 : hidden;
}

/* ---- The trace ------------------------------------------------------------------------------------ */

static void begin_event(lab_json *json, const char *name, const char *phase, int64_t process, int64_t track)
{
    lab_json_begin(json, NULL, '{');
    lab_json_string(json, "name", name);
    lab_json_string(json, "ph", phase);
    lab_json_integer(json, "pid", process);
    lab_json_integer(json, "tid", track);
}

static void write_track_name(lab_json *json, const char *what, int64_t process, int64_t track, const char *name)
{
    begin_event(json, what, "M", process, track);
    lab_json_begin(json, "args", '{');
    lab_json_string(json, "name", name);
    lab_json_end(json, '}');
    lab_json_end(json, '}');
}

static void write_span(lab_json *json, int64_t process, const lab_call_span *span)
{
    begin_event(json, span->name, "X", process, span->queue + 1);
    lab_json_number(json, "ts", (double)span->start * 1e-3);
    lab_json_number(json, "dur", (double)(span->end - span->start) * 1e-3);
    lab_json_begin(json, "args", '{');
    lab_json_integer(json, "bytes", span->bytes);
    lab_json_end(json, '}');
    lab_json_end(json, '}');
}

void lab_call_profile_write_trace(lab_json *json, int64_t process, const char *title, const lab_call_profile *call)
{
    static const char *const tracks[] = {"host", "queue 0", "queue 1", "queue 2"};
    write_track_name(json, "process_name", process, 0, title);
    for (int i = 0; i <= TRACE_QUEUES; i++)
        write_track_name(json, "thread_name", process, i, tracks[i]);
    for (int64_t i = 0; i < call->span_count; i++)
        write_span(json, process, &call->spans[i]);
}
