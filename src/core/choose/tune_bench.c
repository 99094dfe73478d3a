/* SPDX-License-Identifier: Apache-2.0 */
/* tune_bench.c - verifies and times plans for rung_tune().
 *
 * Operands are small integers, so that every sum is exact in any order and in every compute mode. A correct result
 * therefore equals the result of 01_naive (or of the next kernel of the ladder that supports the problem) in every bit.
 * Only after an inexact activation, results may differ by a few roundings. Inputs of strict F32 problems have more bits
 * than TF32 and BF16, so that a kernel that rounds its inputs is detected. */
#include "core/choose/tune_bench.h"

#include <math.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/choose/choose_kernel.h"
#include "base/float16.h"
#include "core/matrix.h"
#include "core/plan.h"

enum {
    SAMPLE_ITEMS_MAX = 4,
    SAMPLE_WORK_MAX = 1 << 24, /* multiply-adds of the sample: 01_naive takes tens of milliseconds on a CPU core */
    ESTIMATE_WORK_FACTOR = 64, /* from this multiple of the sample's work on, a run of a slow kernel may take seconds */
    TIMED_NS = 4000000,        /* total time of the runs of one measurement, */
    RUNS_MIN = 3,              /* at least this many runs, */
    RUNS_MAX = 50              /* and at most this many */
};

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/* Returns the largest magnitude of A's elements for which sums are exact, with elements of B up to 2. */
static int64_t a_magnitude_max(const rung_problem *problem)
{
    rung_type in = problem->a.type, out = problem->c.type;
    bool is_narrow = rung_type_size(in) < 4 || rung_type_size(out) < 4;
    bool is_rounded = in == RUNG_F32 && problem->compute != RUNG_COMPUTE_STRICT;
    int64_t most = is_narrow ? 4 : is_rounded ? 255 : 4095;
    int64_t exact = rungi_problem_accumulator_type(problem) == RUNG_F64 ? (int64_t)1 << 52 : (int64_t)1 << 23;
    return rungi_max(1, rungi_min(most, exact / 2 / problem->a.cols));
}

static void store(rung_type type, char *memory, int64_t index, int64_t value)
{
    switch (type) {
    case RUNG_F64: ((double *)(void *)memory)[index] = (double)value; break;
    case RUNG_F32: ((float *)(void *)memory)[index] = (float)value; break;
    case RUNG_F16: ((uint16_t *)(void *)memory)[index] = rungi_f16_from_f32((float)value); break;
    case RUNG_BF16: ((uint16_t *)(void *)memory)[index] = rungi_bf16_from_f32((float)value); break;
    case RUNG_I32: ((int32_t *)(void *)memory)[index] = (int32_t)value; break;
    default: ((int8_t *)memory)[index] = (int8_t)value; break;
    }
}

static double load(rung_type type, const char *memory, int64_t index)
{
    switch (type) {
    case RUNG_F64: return ((const double *)(const void *)memory)[index];
    case RUNG_F32: return (double)((const float *)(const void *)memory)[index];
    case RUNG_F16: return (double)rungi_f16_to_f32(((const uint16_t *)(const void *)memory)[index]);
    case RUNG_BF16: return (double)rungi_bf16_to_f32(((const uint16_t *)(const void *)memory)[index]);
    case RUNG_I32: return (double)((const int32_t *)(const void *)memory)[index];
    default: return (double)((const int8_t *)memory)[index];
    }
}

/* Fills memory with random integers from -limit to limit. */
static void fill_random(rung_type type, char *memory, int64_t elements, int64_t limit, uint64_t seed)
{
    uint64_t range = 2 * (uint64_t)limit + 1;
    for (int64_t i = 0; i < elements; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        store(type, memory, i, (int64_t)((seed >> 33) % range) - limit);
    }
}

/* Returns how much two correct results may differ, relative to their magnitude. */
static double tolerance_of(const rung_problem *problem)
{
    if (problem->activation == RUNG_ACTIVATION_NONE || problem->activation == RUNG_ACTIVATION_RELU)
        return 0;
    switch (problem->c.type) {
    case RUNG_F64: return 1e-9;
    case RUNG_F16: return 2e-3;
    case RUNG_BF16: return 2e-2;
    default: return 1e-5;
    }
}

/* ---- Operands ---------------------------------------------------------------------------------------------------- */

static rung_status measure_operand(const rung_problem *problem, rungi_operand operand, int64_t *elements,
                                   int64_t *bytes)
{
    const rung_matrix *view = rungi_problem_view(problem, operand);
    *elements = *bytes = 0;
    if (rungi_matrix_batch_span(view, rungi_problem_items(problem), elements) &&
        rungi_checked_multiply(*elements, rung_type_size(view->type), bytes))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s has too many elements to be allocated", rungi_operand_name(operand));
}

/* Fills C. Runs with beta = 0 must overwrite every element, so C is filled with NaN, or -1 for integers. */
static void fill_c(rungi_tune_bench *bench)
{
    const rung_problem *problem = &bench->problem;
    if (problem->beta == 0)
        memset(bench->memory, 0xff, (size_t)bench->c_bytes);
    else
        fill_random(problem->c.type, bench->memory, bench->c_bytes / rung_type_size(problem->c.type), 2, RUNGI_C + 1);
}

static rung_status write_operand(rungi_tune_bench *bench, rungi_operand operand)
{
    const rung_matrix *view = rungi_problem_view(&bench->problem, operand);
    int64_t elements, bytes, limit = operand == RUNGI_A ? a_magnitude_max(&bench->problem) : 2;
    TRY(measure_operand(&bench->problem, operand, &elements, &bytes));
    fill_random(view->type, bench->memory, elements, limit, (uint64_t)operand + 1);
    return rungi_queue_finish_after(
        bench->queue, rung_buffer_write(bench->queue, bench->buffers[operand], 0, bytes, bench->memory, NULL));
}

static rung_status create_operands(rungi_tune_bench *bench)
{
    rung_problem *problem = &bench->problem;
    int64_t elements, bytes, largest = 1;
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        rung_matrix *view = rungi_problem_operand(problem, i);
        if (rungi_matrix_is_empty(view))
            continue;
        TRY(measure_operand(problem, i, &elements, &bytes));
        TRY(rung_buffer_create(bench->device, bytes, &bench->buffers[i]));
        view->data = NULL;
        view->buffer = bench->buffers[i];
        view->offset = 0;
        largest = rungi_max(largest, bytes);
        bench->c_bytes = i == RUNGI_C ? bytes : bench->c_bytes;
    }
    bench->memory = rungi_allocate(bench->device->context, largest, 64);
    TRY(rungi_allocated(bench->memory));
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if (i != RUNGI_C && bench->buffers[i])
            TRY(write_operand(bench, i));
    return RUNG_OK;
}

/* ---- Sample ------------------------------------------------------------------------------------------------------ */

/* Selects `count` of `all` rows or columns at equal, odd steps up to the last one. Tiles have even sizes, so that the
 * sample contains every position within a tile. */
static void choose_odd_step(int64_t all, int64_t count, int64_t *first, int64_t *step)
{
    *step = count > 1 ? (all - 1) / (count - 1) : 1;
    *step -= *step % 2 == 0;
    *first = all - 1 - (count - 1) * *step;
}

static rungi_tune_sample sample_of(const rung_problem *problem)
{
    int64_t m = problem->c.rows, n = problem->c.cols, batch = rungi_problem_items(problem);
    rungi_tune_sample sample = {.items = rungi_min(batch, SAMPLE_ITEMS_MAX), .item_step = 1};
    if (sample.items > 1 && !rungi_problem_has_batch_offsets(problem))
        sample.item_step = (batch - 1) / (sample.items - 1);
    int64_t area = rungi_max(64, SAMPLE_WORK_MAX / sample.items / problem->a.cols), side = (int64_t)sqrt((double)area);
    sample.rows = rungi_min(m, side);
    sample.cols = rungi_min(n, area / sample.rows);
    sample.rows = rungi_min(m, area / sample.cols);
    choose_odd_step(m, sample.rows, &sample.first_row, &sample.row_step);
    choose_odd_step(n, sample.cols, &sample.first_col, &sample.col_step);
    return sample;
}

/* Returns the view of the sampled rows and columns of an operand; A has all columns, B all rows. */
static rung_matrix sampled_view(const rungi_tune_bench *bench, rungi_operand operand)
{
    const rungi_tune_sample *sample = &bench->sample;
    rung_matrix view = *rungi_problem_view(&bench->problem, operand);
    if (rungi_matrix_is_empty(&view))
        return view;
    if (operand != RUNGI_B) {
        view.offset += sample->first_row * view.row_stride;
        view.row_stride *= sample->row_step;
        view.rows = sample->rows;
    }
    if (operand != RUNGI_A) {
        view.offset += sample->first_col * view.col_stride;
        view.col_stride *= sample->col_step;
        view.cols = sample->cols;
    }
    view.batch_stride *= sample->item_step;
    return view;
}

static int64_t sample_elements(const rungi_tune_sample *sample)
{
    return sample->items * sample->rows * sample->cols;
}

/* Calls `visit` with the index of each sampled element in C and in the sample; stops if it returns false. */
static bool visit_sample(const rungi_tune_bench *bench,
                         bool (*visit)(const rungi_tune_bench *bench, int64_t c_index, int64_t sample_index))
{
    const rungi_tune_sample *sample = &bench->sample;
    rung_matrix view = sampled_view(bench, RUNGI_C);
    int64_t index = 0;
    for (int64_t item = 0; item < sample->items; item++)
        for (int64_t i = 0; i < sample->rows; i++)
            for (int64_t j = 0; j < sample->cols; j++)
                if (!visit(bench,
                           view.offset + rungi_matrix_item_offset(&view, item) + i * view.row_stride +
                               j * view.col_stride,
                           index++))
                    return false;
    return true;
}

static bool copy_to_sample(const rungi_tune_bench *bench, int64_t c_index, int64_t sample_index)
{
    int64_t size = rung_type_size(bench->problem.c.type);
    memcpy(bench->expected + sample_index * size, bench->memory + c_index * size, (size_t)size);
    return true;
}

static bool is_as_expected(const rungi_tune_bench *bench, int64_t c_index, int64_t sample_index)
{
    rung_type type = bench->problem.c.type;
    double x = load(type, bench->memory, c_index), y = load(type, bench->expected, sample_index);
    double tolerance = tolerance_of(&bench->problem);
    return x == y || (isnan(x) && isnan(y)) ||
           (tolerance > 0 && fabs(x - y) <= tolerance * (1 + fmax(fabs(x), fabs(y))));
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* Returns options that signal the bench's event and have the workspace of the plan. */
static rung_status make_run_options(rungi_tune_bench *bench, const rung_plan *plan, rung_run_options *options)
{
    int64_t bytes = plan->info.workspace_bytes;
    if (bytes > 0 && (!bench->workspace || bench->workspace->bytes < bytes)) {
        rung_buffer_destroy(bench->workspace);
        bench->workspace = NULL;
        TRY(rung_buffer_create(bench->device, bytes, &bench->workspace));
    }
    *options = (rung_run_options){.size = sizeof *options, .signal = bench->event, .workspace = bench->workspace};
    return RUNG_OK;
}

/* Runs a plan on a problem in the bench's buffers and returns its time. */
static rung_status run(rungi_tune_bench *bench, rung_plan *plan, const rung_problem *problem, int64_t *nanoseconds)
{
    rung_run_options options;
    rung_problem given = rungi_problem_denormalize(problem);
    TRY(make_run_options(bench, plan, &options));
    TRY(rung_plan_run(plan, bench->queue, &given, &options));
    return rung_event_time(bench->event, nanoseconds);
}

/* Runs a plan again that has run on the bench's problem, without checks and without log lines. */
static rung_status run_again(rungi_tune_bench *bench, rung_plan *plan, int64_t *nanoseconds)
{
    const rung_problem *problem = &bench->problem;
    rungi_gemm_sizes sizes = {problem->c.rows, problem->c.cols, problem->a.cols, rungi_problem_items(problem)};
    rung_run_options options;
    TRY(make_run_options(bench, plan, &options));
    TRY(bench->device->ops->plan_run(plan, bench->queue, problem, sizes, &options));
    return rung_event_time(bench->event, nanoseconds);
}

/* Copies all of C to the device or back. */
static rung_status copy_c(rungi_tune_bench *bench, bool to_device)
{
    rung_buffer *buffer = bench->buffers[RUNGI_C];
    rung_status status = to_device ? rung_buffer_write(bench->queue, buffer, 0, bench->c_bytes, bench->memory, NULL)
                                   : rung_buffer_read(bench->queue, buffer, 0, bench->c_bytes, bench->memory, NULL);
    return rungi_queue_finish_after(bench->queue, status);
}

rung_status rungi_tune_verify(rungi_tune_bench *bench, rung_plan *plan, bool *is_right, int64_t *nanoseconds)
{
    *is_right = false;
    fill_c(bench); /* overwrites the correct elements of a previous run */
    TRY(copy_c(bench, true));
    TRY(run(bench, plan, &bench->problem, nanoseconds));
    TRY(copy_c(bench, false));
    *is_right = visit_sample(bench, is_as_expected);
    return RUNG_OK;
}

rung_status rungi_tune_time(rungi_tune_bench *bench, rung_plan *plan, int64_t *nanoseconds)
{
    int64_t total = 0, once;
    *nanoseconds = INT64_MAX;
    for (int i = 0; i < RUNS_MAX && (i < RUNS_MIN || total < TIMED_NS); i++) {
        TRY(run_again(bench, plan, &once));
        *nanoseconds = rungi_max(1, rungi_min(*nanoseconds, once));
        if (!rungi_checked_add(total, once, &total))
            break;
    }
    return RUNG_OK;
}

rung_status rungi_tune_estimate(rungi_tune_bench *bench, const rung_kernel *kernel, const char *parameters,
                                double *nanoseconds)
{
    const rungi_tune_sample *sample = &bench->sample;
    rung_plan_options options = rungi_plan_options(kernel, parameters);
    rung_problem block = bench->problem;
    double block_flops = 2.0 * (double)sample_elements(sample) * (double)block.a.cols;
    rung_plan *plan;
    int64_t once;
    *nanoseconds = 0;
    if (bench->flops < ESTIMATE_WORK_FACTOR * block_flops)
        return RUNG_OK;
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        rung_matrix *view = rungi_problem_operand(&block, i);
        view->rows = i == RUNGI_B ? view->rows : rungi_min(view->rows, sample->rows);
        view->cols = i == RUNGI_A ? view->cols : rungi_min(view->cols, sample->cols);
    }
    block.batch = sample->items;
    TRY(rungi_plan_create_normalized(bench->device, &block, &options, &plan));
    rung_status status = run(bench, plan, &block, &once);
    rung_plan_destroy(plan);
    *nanoseconds = status == RUNG_OK ? (double)once * bench->flops / block_flops : 0;
    return status;
}

/* ---- Creating ---------------------------------------------------------------------------------------------------- */

/* Creates a plan with one kernel of the ladder and runs it. */
static rung_status run_ladder_kernel(rungi_tune_bench *bench, int64_t index, const rung_problem *problem)
{
    rung_kernel *kernel;
    rung_plan *plan;
    int64_t nanoseconds;
    TRY(rung_kernel_at(bench->device->context, bench->device->backend->name, index, &kernel));
    TRY(rungi_choose_check_automatic(kernel, problem));
    rung_plan_options options = rungi_plan_options(kernel, NULL);
    TRY(rungi_plan_create_normalized(bench->device, problem, &options, &plan));
    rung_status status = run(bench, plan, problem, &nanoseconds);
    rung_plan_destroy(plan);
    return status;
}

/* Runs the simplest kernel that supports the problem: 01_naive, or the next one of the ladder. */
static rung_status run_reference(rungi_tune_bench *bench, const rung_problem *problem)
{
    rung_status status = RUNG_STATUS_UNSUPPORTED;
    for (int64_t i = 0; status == RUNG_STATUS_UNSUPPORTED && i < bench->device->backend->ladder_count; i++)
        status = run_ladder_kernel(bench, i, problem);
    return status == RUNG_OK ? RUNG_OK : rungi_fail_prepend(status, "rung_tune: computing the expected result failed");
}

/* Copies the initial C of the sample to `result`, computes the sample there with the simplest kernel, and reads it. */
static rung_status compute_sample(rungi_tune_bench *bench, rung_buffer *result)
{
    const rungi_tune_sample *sample = &bench->sample;
    rung_problem problem = bench->problem;
    TRY(rung_buffer_write(bench->queue, result, 0, result->bytes, bench->expected, NULL));
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        *rungi_problem_operand(&problem, i) = sampled_view(bench, i);
    problem.c = rung_matrix_in_buffer(problem.c.type, sample->rows, sample->cols, result, 0);
    problem.c.batch_stride = sample->rows * sample->cols;
    problem.batch = sample->items;
    TRY(run_reference(bench, &problem));
    return rung_buffer_read(bench->queue, result, 0, result->bytes, bench->expected, NULL);
}

static rung_status compute_expected(rungi_tune_bench *bench)
{
    int64_t bytes = sample_elements(&bench->sample) * rung_type_size(bench->problem.c.type);
    rung_buffer *result;
    bench->expected = rungi_allocate(bench->device->context, bytes, 64);
    TRY(rungi_allocated(bench->expected));
    fill_c(bench);
    visit_sample(bench, copy_to_sample);
    TRY(rung_buffer_create(bench->device, bytes, &result));
    rung_status status = rungi_queue_finish_after(bench->queue, compute_sample(bench, result));
    rung_buffer_destroy(result);
    return status;
}

rung_status rungi_tune_bench_create(rung_device *device, const rung_problem *problem, rungi_tune_bench *bench)
{
    memset(bench, 0, sizeof *bench);
    bench->device = device;
    bench->problem = *problem;
    rungi_problem_normalize(&bench->problem);
    bench->problem.alpha = 1;
    bench->problem.beta = bench->problem.beta == 0 ? 0 : 1;
    const rung_problem *normalized = &bench->problem;
    bench->flops = 2.0 * (double)normalized->c.rows * (double)normalized->c.cols * (double)normalized->a.cols *
                   (double)rungi_problem_items(normalized);
    bench->sample = sample_of(normalized);
    TRY(rung_queue_create(device, &bench->queue));
    TRY(rung_event_create(device, &bench->event));
    TRY(create_operands(bench));
    return compute_expected(bench);
}

void rungi_tune_bench_destroy(rungi_tune_bench *bench)
{
    rung_event_destroy(bench->event);
    rung_queue_destroy(bench->queue);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        rung_buffer_destroy(bench->buffers[i]);
    rung_buffer_destroy(bench->workspace);
    rungi_release(bench->device->context, bench->memory);
    rungi_release(bench->device->context, bench->expected);
    memset(bench, 0, sizeof *bench);
}
