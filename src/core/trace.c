/* SPDX-License-Identifier: Apache-2.0 */
/* trace.c - records runs and logs them once their work is complete.
 *
 * Tracing must not change the program's timing, so no run waits for the device: the time is read when the caller
 * finishes the queue. */
#include "core/plan.h"

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

#define append(text, ...) rungi_text_append(text, TEXT_BYTES, __VA_ARGS__)

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

/* Appends the words of `rung verify --epilogue`. */
static void append_epilogue(char text[TEXT_BYTES], const rung_problem *problem)
{
    const rung_matrix *bias = &problem->bias;
    const char *separator = " --epilogue ";
    if (!rungi_matrix_is_empty(bias)) {
        append(text, "%s%s", separator,
               bias->col_stride == 0   ? "bias_row"
               : bias->row_stride == 0 ? "bias_col"
                                       : "bias");
        separator = ",";
    }
    if (problem->activation != RUNG_ACTIVATION_NONE) {
        append(text, "%s%s", separator, rung_activation_name(problem->activation));
        separator = ",";
    }
    if (!rungi_matrix_is_empty(&problem->residual))
        append(text, "%sresidual", separator);
}

/* Appends all options except types, sizes, strides and scalars. */
static void append_options(char text[TEXT_BYTES], const rung_plan *plan, const rung_problem *problem, int64_t threads)
{
    if (rungi_problem_items(problem) != 1)
        append(text, " --batch %lld", (long long)rungi_problem_items(problem));
    if (rungi_problem_has_batch_offsets(problem))
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
    bool has_addend = !rungi_matrix_is_absent(addend);
    append_strides(text, "c-strides", has_addend ? addend : d, rungi_problem_items(problem));
    if (!has_addend)
        return;
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
    if (!rungi_matrix_is_empty(&problem->multiplier)) /* which `rung verify` does not have */
        append(entry->head, "with multiplier ");
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
    int64_t time;
    queue->trace_entries = entry->next;
    if (!queue->trace_entries)
        queue->last_trace_entry = NULL;
    rungi_saved_error saved = rungi_error_save();
    if (rung_event_time(entry->event, &time) == RUNG_OK)
        rungi_log(context, 1, "%s%.6f ms%s", entry->head, (double)time * 1e-6, entry->tail);
    else
        rungi_log(context, 1, "%stime unknown%s", entry->head, entry->tail);
    rung_event_destroy(entry->event);
    rungi_error_restore(&saved);
    rungi_release(context, entry);
}

rung_status rungi_trace_run(rung_plan *plan, rung_queue *queue, const rung_problem *given,
                            const rung_problem *normalized, rungi_gemm_sizes sizes, const rung_run_options *options)
{
    rung_context *context = plan->device->context;
    rungi_trace_entry *entry = rungi_allocate_zeroed(context, sizeof *entry);
    TRY(rungi_allocated(entry));
    rung_run_options traced = *options;
    rung_status status = rung_event_create(plan->device, &entry->event);
    traced.signal = entry->event;
    if (status == RUNG_OK)
        status = plan->device->ops->plan_run(plan, queue, normalized, sizes, &traced);
    if (status != RUNG_OK) {
        rungi_saved_error saved = rungi_error_save();
        rung_event_destroy(entry->event);
        rungi_error_restore(&saved);
        rungi_release(context, entry);
        return status;
    }
    if (options->signal)
        status = plan->device->ops->event_copy(entry->event, options->signal);
    format_entry(entry, plan, given, plan->device->reads_host_memory ? rungi_plan_threads(plan, options) : 1);
    while (queue->trace_entries && plan->device->ops->event_is_done(queue->trace_entries->event))
        flush_first(queue); /* for callers that wait by events and never finish the queue */
    *(queue->last_trace_entry ? &queue->last_trace_entry->next : &queue->trace_entries) = entry;
    queue->last_trace_entry = entry;
    return status;
}

void rungi_trace_flush(rung_queue *queue)
{
    while (queue->trace_entries)
        flush_first(queue);
}
