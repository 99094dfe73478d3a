/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - notes runs and tells them when the queue has come past.
 *
 * A line must not change what it watches: waiting for the device at each run
 * would, so the time is asked for when the caller finishes the queue anyway. */
#include "core/trace.h"

#include "core/matrix.h"
#include "core/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/assert.h"

struct rungi_trace_line {
    rungi_trace_line *next;
    rung_event *event;
    char head[1024]; /* before the time */
    char tail[3072]; /* after it */
};

static void append(char *text, size_t capacity, const char *format, ...) RUNG_PRINTF(3, 4);

static void append(char *text, size_t capacity, const char *format, ...)
{
    size_t used = strlen(text);
    RUNGI_ASSERT(used < capacity);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, capacity - used, format, arguments);
    va_end(arguments);
}

/* Strides and offset that `rung verify` would not take by itself. */
static void append_strides(char *text, size_t capacity, const char *option, const rung_matrix *matrix, int64_t batch)
{
    rung_matrix plain = rung_matrix_of(matrix->type, matrix->rows, matrix->cols, NULL);
    bool is_batch = batch != 1 && !matrix->batch_offsets;
    if (matrix->row_stride == plain.row_stride && matrix->col_stride == plain.col_stride && matrix->offset == 0 &&
        !is_batch)
        return;
    append(text, capacity, " --%s %lld,%lld", option, (long long)matrix->row_stride, (long long)matrix->col_stride);
    if (matrix->offset != 0 || is_batch)
        append(text, capacity, ",%lld", (long long)matrix->offset);
    if (is_batch)
        append(text, capacity, ",%lld", (long long)matrix->batch_stride);
}

/* What `rung verify` calls a bias of this form. */
static const char *bias_word(const rung_matrix *bias)
{
    return bias->col_stride == 0 ? "bias_row" : bias->row_stride == 0 ? "bias_col" : "bias";
}

static void append_epilogue(char *text, size_t capacity, const rung_problem *problem)
{
    if (problem->activation == RUNG_ACTIVATION_NONE && rungi_matrix_is_empty(&problem->bias) &&
        rungi_matrix_is_empty(&problem->residual))
        return;
    const char *comma = "";
    append(text, capacity, " --epilogue ");
    if (!rungi_matrix_is_empty(&problem->bias)) {
        append(text, capacity, "%s", bias_word(&problem->bias));
        comma = ",";
    }
    if (problem->activation != RUNG_ACTIVATION_NONE) {
        append(text, capacity, "%s%s", comma, rung_activation_name(problem->activation));
        comma = ",";
    }
    if (!rungi_matrix_is_empty(&problem->residual))
        append(text, capacity, "%sresidual", comma);
}

/* Threads of this process that share the work; 1 for other devices. */
static int64_t threads_of(const rung_plan *plan, const rung_run_options *options)
{
    return plan->device->takes_data ? rungi_plan_threads(plan, options) : 1;
}

/* All but types, sizes, strides and scalars. */
static void append_rest(char *text, size_t capacity, const rung_plan *plan, const rung_problem *problem,
                        int64_t threads)
{
    if (rungi_problem_items(problem) != 1)
        append(text, capacity, " --batch %lld", (long long)rungi_problem_items(problem));
    if (problem->a.batch_offsets || problem->b.batch_offsets || problem->c.batch_offsets ||
        rungi_problem_addend(problem)->batch_offsets)
        append(text, capacity, " --scattered");
    if (problem->compute != RUNG_COMPUTE_STRICT)
        append(text, capacity, " --compute %s", rung_compute_name(problem->compute));
    if (plan->info.split_k > 1)
        append(text, capacity, " --splits %lld", (long long)plan->info.split_k);
    if (threads > 1)
        append(text, capacity, " --threads %lld", (long long)threads);
    append_epilogue(text, capacity, problem);
}

/* C and D, where these are two matrices, as their options. */
static void append_outputs(char *text, size_t capacity, const rung_problem *problem)
{
    const rung_matrix *addend = rungi_problem_addend(problem), *d = &problem->c;
    if (rungi_matrix_is_absent(addend)) {
        append_strides(text, capacity, "c-strides", &problem->c, rungi_problem_items(problem));
        return;
    }
    append_strides(text, capacity, "c-strides", addend, rungi_problem_items(problem));
    append(text, capacity, " --d-strides %lld,%lld,%lld,%lld", (long long)d->row_stride, (long long)d->col_stride,
           (long long)d->offset, (long long)d->batch_stride);
}

static void describe(rungi_trace_line *line, const rung_plan *plan, const rung_problem *given, int64_t threads)
{
    rung_problem ordered = *given, *problem = &ordered;
    rungi_problem_order(problem);
    const char *device = plan->device->info.name;
    bool has_parameters = *plan->parameters != '\0';
    snprintf(line->head, sizeof line->head, "rung: %s %s%s%s %lldx%lldx%lld %s ", device, plan->info.kernel,
             has_parameters ? " " : "", plan->parameters, (long long)problem->c.rows, (long long)problem->c.cols,
             (long long)problem->a.cols,
             rungi_product_name(rungi_product_of(problem->a.type, problem->b.type, problem->c.type)));
    if (rungi_problem_items(problem) != 1)
        append(line->head, sizeof line->head, "batch %lld ", (long long)rungi_problem_items(problem));
    if (problem->compute != RUNG_COMPUTE_STRICT)
        append(line->head, sizeof line->head, "%s asked for, %s taken ", rung_compute_name(problem->compute),
               rung_compute_name(plan->info.compute));
    if (threads > 1)
        append(line->head, sizeof line->head, "%lld threads ", (long long)threads);

    char *tail = line->tail;
    size_t capacity = sizeof line->tail;
    append(tail, capacity, "; parameters: %s; again: rung verify --device %s --kernels %s", plan->origin_text, device,
           plan->info.kernel);
    if (has_parameters)
        append(tail, capacity, " --params %s", plan->parameters);
    append(tail, capacity, " --dtype %s --m %lld --n %lld --k %lld",
           rungi_product_name(rungi_product_of(problem->a.type, problem->b.type, problem->c.type)),
           (long long)problem->c.rows, (long long)problem->c.cols, (long long)problem->a.cols);
    append_strides(tail, capacity, "a-strides", &problem->a, rungi_problem_items(problem));
    append_strides(tail, capacity, "b-strides", &problem->b, rungi_problem_items(problem));
    append_outputs(tail, capacity, problem);
    append_rest(tail, capacity, plan, problem, threads);
    append(tail, capacity, " --alpha %.17g --beta %.17g; rejected: %s", problem->alpha, problem->beta,
           *plan->rejected ? plan->rejected : "none");
}

/* A failure here is not the caller's: its own sentence stays. */
static void tell_first(rung_queue *queue)
{
    rung_context *context = queue->device->context;
    rungi_trace_line *line = queue->lines;
    RUNGI_ASSERT(line && line->event && queue->last_line);
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

rung_status rungi_trace_run(rung_plan *plan, rung_queue *queue, const rung_problem *given, const rung_problem *settled,
                            rungi_sizes sizes, const rung_run_options *options)
{
    rung_context *context = plan->device->context;
    rungi_trace_line *line = rungi_new(context, sizeof *line);
    if (!line)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rung_event_create(plan->device, &line->event);
    if (status == RUNG_OK) {
        rung_run_options traced = *options;
        traced.signal = line->event;
        status = plan->device->ops->plan_run(plan, queue, settled, sizes, &traced);
    }
    if (status != RUNG_OK) {
        rungi_error why;
        rungi_error_save(&why);
        rung_event_destroy(line->event);
        rungi_error_restore(&why);
        rungi_release(context, line);
        return status;
    }
    if (options->signal)
        status = plan->device->ops->event_copy(line->event, options->signal);
    describe(line, plan, given, threads_of(plan, options));
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
