/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - notes runs and tells them when the queue has come past.
 *
 * A line must not change what it watches: waiting for the device at each run
 * would, so the time is asked for when the caller finishes the queue anyway. */
#include "core/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct rungi_trace_line {
    rungi_trace_line *next;
    rung_event       *event;
    char              head[1024]; /* before the time */
    char              tail[3072]; /* after it */
};

static void append(char *text, size_t capacity, const char *format, ...) RUNGI_PRINTF(3, 4);

static void append(char *text, size_t capacity, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
}

/* Strides and offset that `rung verify` would not take by itself. */
static void append_strides(char *text, size_t capacity, const char *option,
                           const rung_matrix *matrix)
{
    rung_matrix plain = rung_matrix_of(matrix->type, matrix->rows, matrix->cols, NULL);
    if (matrix->row_stride != plain.row_stride || matrix->col_stride != plain.col_stride)
        append(text, capacity, " --%s %lld,%lld", option, (long long)matrix->row_stride,
               (long long)matrix->col_stride);
    else if (matrix->offset != 0)
        append(text, capacity, " --%s %lld,%lld", option, (long long)plain.row_stride,
               (long long)plain.col_stride);
    if (matrix->offset != 0)
        append(text, capacity, ",%lld", (long long)matrix->offset);
}

static void describe(rungi_trace_line *line, const rung_plan *plan, const rung_problem *problem)
{
    const char *device = plan->device->info.name;
    bool has_parameters = *plan->parameters != '\0';
    snprintf(line->head, sizeof line->head, "rung: %s %s%s%s %lldx%lldx%lld %s ", device,
             plan->info.kernel, has_parameters ? " " : "", plan->parameters,
             (long long)problem->c.rows, (long long)problem->c.cols, (long long)problem->a.cols,
             rung_type_name(problem->c.type));

    char *tail = line->tail;
    size_t capacity = sizeof line->tail;
    append(tail, capacity, "; again: rung verify --device %s --kernels %s", device,
           plan->info.kernel);
    if (has_parameters)
        append(tail, capacity, " --params %s", plan->parameters);
    append(tail, capacity, " --dtype %s --m %lld --n %lld --k %lld", rung_type_name(problem->c.type),
           (long long)problem->c.rows, (long long)problem->c.cols, (long long)problem->a.cols);
    append_strides(tail, capacity, "a-strides", &problem->a);
    append_strides(tail, capacity, "b-strides", &problem->b);
    append_strides(tail, capacity, "c-strides", &problem->c);
    append(tail, capacity, " --alpha %.17g --beta %.17g; refused: %s", problem->alpha, problem->beta,
           *plan->refused ? plan->refused : "none");
}

/* A failure here is not the caller's: its own sentence stays. */
static void tell_first(rung_queue *queue)
{
    rung_context *context = queue->device->context;
    rungi_trace_line *line = queue->lines;
    rungi_error before;
    int64_t time;
    queue->lines = line->next;
    if (!queue->lines)
        queue->last_line = NULL;
    rungi_error_save(&before);
    if (rung_event_time(line->event, &time) == RUNG_OK)
        rungi_log(context, 1, "%s%.6f ms%s", line->head, (double)time * 1e-6, line->tail);
    else
        rungi_log(context, 1, "%stime unknown%s", line->head, line->tail);
    rung_event_destroy(line->event);
    rungi_error_restore(&before);
    rungi_release(context, line);
}

/* So that lines do not pile up where a caller waits by events alone. */
static void tell_done(rung_queue *queue)
{
    while (queue->lines && queue->device->ops->event_is_done(queue->lines->event))
        tell_first(queue);
}

rung_status rungi_trace_run(rung_plan *plan, rung_queue *queue, const rung_problem *given,
                            const rung_problem *rounded, rungi_sizes sizes,
                            const rung_run_options *options)
{
    rung_context *context = plan->device->context;
    rungi_trace_line *line = rungi_new(context, sizeof *line);
    if (!line)
        return RUNG_NO_MEMORY;
    rung_status status = rung_event_create(plan->device, &line->event);
    if (status == RUNG_OK) {
        rung_run_options traced = *options;
        traced.signal = line->event;
        status = plan->device->ops->plan_run(plan, queue, rounded, sizes, &traced);
    }
    if (status != RUNG_OK) {
        rung_event_destroy(line->event);
        rungi_release(context, line);
        return status;
    }
    if (options->signal)
        status = plan->device->ops->event_copy(line->event, options->signal);
    describe(line, plan, given);
    tell_done(queue);
    if (queue->last_line)
        queue->last_line->next = line;
    else
        queue->lines = line;
    queue->last_line = line;
    return status;
}

void rungi_trace_tell(rung_queue *queue)
{
    while (queue->lines)
        tell_first(queue);
}
