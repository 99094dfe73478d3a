/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - records runs and logs them once their work is complete.
 *
 * Tracing must not change the program's timing, so no run waits for the device: the time is read when the caller
 * finishes the queue. */
#include "core/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/try.h"
#include "core/matrix.h"
#include "core/problem.h"

enum { TEXT_BYTES = 3072 };

struct rungi_trace_entry {
    rungi_trace_entry *next;
    rung_event *event;
    char head[TEXT_BYTES]; /* before the time */
    char tail[TEXT_BYTES]; /* after the time */
};

static void append(char text[TEXT_BYTES], const char *format, ...) RUNG_PRINTF(2, 3);

static void append(char text[TEXT_BYTES], const char *format, ...)
{
    size_t used = strlen(text);
    RUNGI_ASSERT(used < TEXT_BYTES);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, TEXT_BYTES - used, format, arguments);
    va_end(arguments);
}

/* Appends the strides and the offset, unless they are the defaults of `rung verify`. */
static void append_strides(char text[TEXT_BYTES], const char *option, const rung_matrix *matrix, int64_t batch)
{
    rung_matrix dense = rung_matrix_of(matrix->type, matrix->rows, matrix->cols, NULL);
    bool is_batch = batch != 1 && !matrix->batch_offsets;
    if (matrix->row_stride == dense.row_stride && matrix->col_stride == dense.col_stride && matrix->offset == 0 &&
        !is_batch)
        return;
    append(text, " --%s %lld,%lld", option, (long long)matrix->row_stride, (long long)matrix->col_stride);
    if (matrix->offset != 0 || is_batch)
        append(text, ",%lld", (long long)matrix->offset);
    if (is_batch)
        append(text, ",%lld", (long long)matrix->batch_stride);
}

/* Returns the word of `rung verify --epilogue` for this bias. */
static const char *bias_word(const rung_matrix *bias)
{
    return bias->col_stride == 0 ? "bias_row" : bias->row_stride == 0 ? "bias_col" : "bias";
}

static void append_epilogue(char text[TEXT_BYTES], const rung_problem *problem)
{
    if (problem->activation == RUNG_ACTIVATION_NONE && rungi_matrix_is_empty(&problem->bias) &&
        rungi_matrix_is_empty(&problem->residual))
        return;
    const char *comma = "";
    append(text, " --epilogue ");
    if (!rungi_matrix_is_empty(&problem->bias)) {
        append(text, "%s", bias_word(&problem->bias));
        comma = ",";
    }
    if (problem->activation != RUNG_ACTIVATION_NONE) {
        append(text, "%s%s", comma, rung_activation_name(problem->activation));
        comma = ",";
    }
    if (!rungi_matrix_is_empty(&problem->residual))
        append(text, "%sresidual", comma);
}

/* Returns the number of CPU threads of a run; 1 on other devices. */
static int64_t threads_of(const rung_plan *plan, const rung_run_options *options)
{
    return plan->device->reads_host_memory ? rungi_plan_threads(plan, options) : 1;
}

/* Appends all options except types, sizes, strides and scalars. */
static void append_options(char text[TEXT_BYTES], const rung_plan *plan, const rung_problem *problem, int64_t threads)
{
    if (rungi_problem_items(problem) != 1)
        append(text, " --batch %lld", (long long)rungi_problem_items(problem));
    if (problem->a.batch_offsets || problem->b.batch_offsets || problem->c.batch_offsets ||
        rungi_problem_addend(problem)->batch_offsets)
        append(text, " --scattered");
    if (problem->compute != RUNG_COMPUTE_STRICT)
        append(text, " --compute %s", rung_compute_name(problem->compute));
    if (plan->info.split_k > 1)
        append(text, " --splits %lld", (long long)plan->info.split_k);
    if (threads > 1)
        append(text, " --threads %lld", (long long)threads);
    append_epilogue(text, problem);
}

/* Appends the strides of C and, if it is another matrix, of D. */
static void append_outputs(char text[TEXT_BYTES], const rung_problem *problem)
{
    const rung_matrix *addend = rungi_problem_addend(problem), *d = &problem->c;
    if (rungi_matrix_is_absent(addend)) {
        append_strides(text, "c-strides", &problem->c, rungi_problem_items(problem));
        return;
    }
    append_strides(text, "c-strides", addend, rungi_problem_items(problem));
    append(text, " --d-strides %lld,%lld,%lld,%lld", (long long)d->row_stride, (long long)d->col_stride,
           (long long)d->offset, (long long)d->batch_stride);
}

/* Formats the line and the command that runs the same multiply again. */
static void format_entry(rungi_trace_entry *entry, const rung_plan *plan, const rung_problem *given, int64_t threads)
{
    rung_problem ordered = *given;
    const rung_problem *problem = &ordered;
    rungi_problem_put_result_in_c(&ordered);
    const char *device = plan->device->info.name;
    const char *types = rungi_gemm_types_name(rungi_gemm_types_of(problem->a.type, problem->b.type, problem->c.type));
    long long m = problem->c.rows, n = problem->c.cols, k = problem->a.cols, items = rungi_problem_items(problem);
    bool has_parameters = *plan->parameters != '\0';
    append(entry->head, "rung: %s %s%s%s %lldx%lldx%lld %s ", device, plan->info.kernel, has_parameters ? " " : "",
           plan->parameters, m, n, k, types);
    if (items != 1)
        append(entry->head, "batch %lld ", items);
    if (problem->compute != RUNG_COMPUTE_STRICT)
        append(entry->head, "%s requested, %s used ", rung_compute_name(problem->compute),
               rung_compute_name(plan->info.compute));
    if (threads > 1)
        append(entry->head, "%lld threads ", (long long)threads);

    append(entry->tail, "; parameters: %s; again: rung verify --device %s --kernels %s", plan->origin_text, device,
           plan->info.kernel);
    if (has_parameters)
        append(entry->tail, " --params %s", plan->parameters);
    append(entry->tail, " --dtype %s --m %lld --n %lld --k %lld", types, m, n, k);
    append_strides(entry->tail, "a-strides", &problem->a, items);
    append_strides(entry->tail, "b-strides", &problem->b, items);
    append_outputs(entry->tail, problem);
    append_options(entry->tail, plan, problem, threads);
    append(entry->tail, " --alpha %.17g --beta %.17g; rejected: %s", problem->alpha, problem->beta,
           *plan->rejected ? plan->rejected : "none");
}

/* Logs and frees the oldest entry. A failure here is not a failure of the call, so the error text is unchanged. */
static void flush_first(rung_queue *queue)
{
    rung_context *context = queue->device->context;
    rungi_trace_entry *entry = queue->trace_entries;
    RUNGI_ASSERT(entry && entry->event && queue->last_trace_entry);
    rungi_saved_error saved;
    int64_t time;
    queue->trace_entries = entry->next;
    if (!queue->trace_entries)
        queue->last_trace_entry = NULL;
    rungi_error_save(&saved);
    if (rung_event_time(entry->event, &time) == RUNG_OK)
        rungi_log(context, 1, "%s%.6f ms%s", entry->head, (double)time * 1e-6, entry->tail);
    else
        rungi_log(context, 1, "%stime unknown%s", entry->head, entry->tail);
    rung_event_destroy(entry->event);
    rungi_error_restore(&saved);
    rungi_release(context, entry);
}

/* Logs the entries whose work is complete, for callers that wait by events and never finish the queue. */
static void flush_finished(rung_queue *queue)
{
    while (queue->trace_entries && queue->device->ops->event_is_done(queue->trace_entries->event))
        flush_first(queue);
}

/* Runs the plan with the entry's event as signal. */
static rung_status run_with_event(rungi_trace_entry *entry, rung_plan *plan, rung_queue *queue,
                                  const rung_problem *normalized, rungi_gemm_sizes sizes,
                                  const rung_run_options *options)
{
    rung_run_options traced = *options;
    TRY(rung_event_create(plan->device, &entry->event));
    traced.signal = entry->event;
    return plan->device->ops->plan_run(plan, queue, normalized, sizes, &traced);
}

rung_status rungi_trace_run(rung_plan *plan, rung_queue *queue, const rung_problem *given,
                            const rung_problem *normalized, rungi_gemm_sizes sizes, const rung_run_options *options)
{
    rung_context *context = plan->device->context;
    rungi_trace_entry *entry = rungi_allocate_zeroed(context, sizeof *entry);
    if (!entry)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = run_with_event(entry, plan, queue, normalized, sizes, options);
    if (status != RUNG_OK) {
        rungi_saved_error saved;
        rungi_error_save(&saved);
        rung_event_destroy(entry->event);
        rungi_error_restore(&saved);
        rungi_release(context, entry);
        return status;
    }
    if (options->signal)
        status = plan->device->ops->event_copy(entry->event, options->signal);
    format_entry(entry, plan, given, threads_of(plan, options));
    flush_finished(queue);
    if (queue->last_trace_entry)
        queue->last_trace_entry->next = entry;
    else
        queue->trace_entries = entry;
    queue->last_trace_entry = entry;
    return status;
}

void rungi_trace_flush(rung_queue *queue)
{
    while (queue->trace_entries)
        flush_first(queue);
}
