/* SPDX-License-Identifier: Apache-2.0 */
/* tune_bench.c - see tune.h.
 *
 * Operands are small integers, so that every sum is exact in any order and in every compute mode: a right result equals
 * that of 01_naive (or of the next kernel of the ladder that supports the problem) in every bit, and is compared so. Only after an activation that is not exact, results may differ by
 * a few roundings. Inputs of strict F32 problems have more bits than TF32 and BF16 hold, so that a kernel that rounds
 * its inputs is found out. */
#include <math.h>
#include <string.h>

#include "core/assert.h"
#include "core/checked.h"
#include "core/choose.h"
#include "core/convert.h"
#include "core/matrix.h"
#include "core/overlap.h"
#include "core/tune.h"

enum {
    SAMPLE_ITEMS = 4,
    SAMPLE_WORK = 1 << 24, /* multiply-adds of the sample: 01_naive takes tens of milliseconds on a CPU core */
    ESTIMATE_FROM = 64,    /* times that work: from here on, a run of a slow kernel may take seconds */
    SAMPLE_NS = 4000000,   /* of runs per sample of a time, ... */
    RUNS_MIN = 3,          /* ... at least so many, ... */
    RUNS_MAX = 50          /* ... and at most */
};

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Returns the largest magnitude of A's elements, with elements of B up to 2. */
static int64_t largest_a(const rung_problem *problem)
{
    rung_type in = problem->a.type, out = problem->c.type;
    bool is_narrow = rung_type_size(in) < 4 || rung_type_size(out) < 4;
    bool is_rounded = in == RUNG_F32 && problem->compute != RUNG_COMPUTE_STRICT;
    int64_t most = is_narrow ? 4 : is_rounded ? 255 : 4095;
    int64_t exact = rungi_problem_sum_type(problem) == RUNG_F64 ? (int64_t)1 << 52 : (int64_t)1 << 23;
    return rungi_larger(1, rungi_smaller(most, exact / 2 / problem->a.cols));
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
static void fill(rung_type type, char *memory, int64_t elements, int64_t limit, uint64_t seed)
{
    uint64_t range = 2 * (uint64_t)limit + 1;
    for (int64_t i = 0; i < elements; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        store(type, memory, i, (int64_t)((seed >> 33) % range) - limit);
    }
}

/* Returns how much two right results may differ, relative to their magnitude. */
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

static bool agrees(double x, double y, double tolerance)
{
    return x == y || (isnan(x) && isnan(y)) ||
           (tolerance > 0 && fabs(x - y) <= tolerance * (1 + fmax(fabs(x), fabs(y))));
}

/* ---- Operands -------------------------------------------------------------------------------- */

static rung_status bytes_of(const rung_problem *problem, rungi_operand operand, int64_t *elements, int64_t *bytes)
{
    const rung_matrix *view = rungi_problem_view(problem, operand);
    *elements = *bytes = 0;
    if (rungi_matrix_batch_span(view, rungi_problem_items(problem), elements) &&
        rungi_multiply(*elements, rung_type_size(view->type), bytes))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s is too large to be allocated", rungi_operand_name(operand));
}

/* Fills C, of which runs with beta = 0 must overwrite every element: then with NaN, or -1. */
static void fill_c(rungi_tune_bench *bench)
{
    const rung_problem *problem = &bench->problem;
    if (problem->beta == 0)
        memset(bench->memory, 0xff, (size_t)bench->c_bytes);
    else
        fill(problem->c.type, bench->memory, bench->c_bytes / rung_type_size(problem->c.type), 2, RUNGI_C + 1);
}

static rung_status write_operand(rungi_tune_bench *bench, rungi_operand operand)
{
    const rung_matrix *view = rungi_problem_view(&bench->problem, operand);
    int64_t elements, bytes, limit = operand == RUNGI_A ? largest_a(&bench->problem) : 2;
    rung_status status = bytes_of(&bench->problem, operand, &elements, &bytes);
    if (status != RUNG_OK)
        return status;
    fill(view->type, bench->memory, elements, limit, (uint64_t)operand + 1);
    status = rung_buffer_write(bench->queue, bench->buffers[operand], 0, bytes, bench->memory, NULL);
    rung_status finished = rung_queue_finish(bench->queue);
    return status == RUNG_OK ? finished : status;
}

static rung_status create_operands(rungi_tune_bench *bench)
{
    rung_problem *problem = &bench->problem;
    int64_t elements, bytes, largest = 1;
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < RUNGI_OPERANDS; i++) {
        rung_matrix *view = rungi_problem_place(problem, i);
        if (rungi_matrix_is_empty(view))
            continue;
        status = bytes_of(problem, i, &elements, &bytes);
        if (status == RUNG_OK)
            status = rung_buffer_create(bench->device, bytes, &bench->buffers[i]);
        view->data = NULL;
        view->buffer = bench->buffers[i];
        view->offset = 0;
        largest = rungi_larger(largest, status == RUNG_OK ? bytes : 0);
        bench->c_bytes = i == RUNGI_C ? bytes : bench->c_bytes;
    }
    if (status != RUNG_OK)
        return status;
    bench->memory = rungi_allocate(bench->device->context, largest, 64);
    if (!bench->memory)
        return RUNG_STATUS_NO_MEMORY;
    for (int i = 0; status == RUNG_OK && i < RUNGI_OPERANDS; i++)
        if (i != RUNGI_C && bench->buffers[i])
            status = write_operand(bench, i);
    return status;
}

/* ---- The sample ------------------------------------------------------------------------------ */

/* Takes `count` of `all` lines at equal, odd steps: tiles have even sizes, so that every lane of a tile is met. */
static void spread(int64_t all, int64_t count, int64_t *first, int64_t *step)
{
    *step = count > 1 ? (all - 1) / (count - 1) : 1;
    *step -= *step % 2 == 0;
    *first = all - 1 - (count - 1) * *step;
}

static rungi_tune_sample sample_of(const rung_problem *problem)
{
    int64_t m = problem->c.rows, n = problem->c.cols, batch = rungi_problem_items(problem);
    rungi_tune_sample sample = {.items = rungi_smaller(batch, SAMPLE_ITEMS), .item_step = 1};
    bool by_offsets = problem->a.batch_offsets || problem->b.batch_offsets || problem->c.batch_offsets ||
                      rungi_problem_addend(problem)->batch_offsets;
    if (sample.items > 1 && !by_offsets)
        sample.item_step = (batch - 1) / (sample.items - 1);
    int64_t area = rungi_larger(64, SAMPLE_WORK / sample.items / problem->a.cols), side = (int64_t)sqrt((double)area);
    sample.rows = rungi_smaller(m, side);
    sample.cols = rungi_smaller(n, area / sample.rows);
    sample.rows = rungi_smaller(m, area / sample.cols);
    spread(m, sample.rows, &sample.first_row, &sample.row_step);
    spread(n, sample.cols, &sample.first_col, &sample.col_step);
    return sample;
}

/* Returns the view of the sampled rows and columns of an operand; A has all columns, B all rows. */
static rung_matrix sampled(const rungi_tune_bench *bench, rungi_operand operand)
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

/* Calls `visit` with the index of each sampled element in C and in the sample; stops where it returns false. */
static bool visit_sample(const rungi_tune_bench *bench,
                         bool (*visit)(const rungi_tune_bench *bench, int64_t in_c, int64_t in_sample))
{
    const rungi_tune_sample *sample = &bench->sample;
    rung_matrix view = sampled(bench, RUNGI_C);
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

static bool copy_to_sample(const rungi_tune_bench *bench, int64_t in_c, int64_t in_sample)
{
    int64_t size = rung_type_size(bench->problem.c.type);
    memcpy(bench->expected + in_sample * size, bench->memory + in_c * size, (size_t)size);
    return true;
}

static bool is_as_expected(const rungi_tune_bench *bench, int64_t in_c, int64_t in_sample)
{
    rung_type type = bench->problem.c.type;
    return agrees(load(type, bench->memory, in_c), load(type, bench->expected, in_sample),
                  tolerance_of(&bench->problem));
}

/* ---- Runs ------------------------------------------------------------------------------------ */

rung_plan_options rungi_tune_plan_options(const rung_kernel *kernel, const char *parameters)
{
    rung_plan_options options = rung_plan_options_default();
    options.kernel = kernel;
    options.parameters = parameters;
    options.max_workspace_bytes = rungi_workspace_max;
    return options;
}

static rung_status provide_workspace(rungi_tune_bench *bench, const rung_plan *plan)
{
    int64_t bytes = plan->info.workspace_bytes;
    if (bytes == 0 || (bench->workspace && bench->workspace->bytes >= bytes))
        return RUNG_OK;
    rung_buffer_destroy(bench->workspace);
    bench->workspace = NULL;
    return rung_buffer_create(bench->device, bytes, &bench->workspace);
}

/* Returns the time of the run that the event stands for. */
static rung_status time_of(rungi_tune_bench *bench, int64_t *nanoseconds)
{
    rung_status status = rung_event_wait(bench->event);
    return status == RUNG_OK ? rung_event_time(bench->event, nanoseconds) : status;
}

rung_status rungi_tune_plan_create(const rungi_tune_bench *bench, const rung_problem *problem,
                                   const rung_plan_options *options, rung_plan **plan)
{
    rung_problem given = rungi_problem_given(problem);
    return rung_plan_create(bench->device, &given, options, plan);
}

/* Runs a plan on a problem in the bench's buffers and returns its time. */
static rung_status run(rungi_tune_bench *bench, rung_plan *plan, const rung_problem *problem, int64_t *nanoseconds)
{
    rung_run_options options = rung_run_options_default();
    rung_status status = provide_workspace(bench, plan);
    if (status != RUNG_OK)
        return status;
    options.signal = bench->event;
    options.workspace = bench->workspace;
    rung_problem given = rungi_problem_given(problem);
    status = rung_plan_run(plan, bench->queue, &given, &options);
    return status == RUNG_OK ? time_of(bench, nanoseconds) : status;
}

/* Runs a plan again that has run on the bench's problem: without checks, and without lines in the log. */
static rung_status run_again(rungi_tune_bench *bench, rung_plan *plan, int64_t *nanoseconds)
{
    const rung_problem *problem = &bench->problem;
    rungi_sizes sizes = {problem->c.rows, problem->c.cols, problem->a.cols, rungi_problem_items(problem)};
    rung_run_options options = rung_run_options_default();
    options.signal = bench->event;
    rung_status status = provide_workspace(bench, plan);
    if (status != RUNG_OK)
        return status;
    options.workspace = bench->workspace;
    status = bench->device->ops->plan_run(plan, bench->queue, problem, sizes, &options);
    return status == RUNG_OK ? time_of(bench, nanoseconds) : status;
}

/* Copies the whole of C: before a run to the device, after it from there. */
static rung_status copy_c(rungi_tune_bench *bench, bool to_device)
{
    rung_buffer *buffer = bench->buffers[RUNGI_C];
    rung_status status = to_device ? rung_buffer_write(bench->queue, buffer, 0, bench->c_bytes, bench->memory, NULL)
                                   : rung_buffer_read(bench->queue, buffer, 0, bench->c_bytes, bench->memory, NULL);
    rung_status finished = rung_queue_finish(bench->queue);
    return status == RUNG_OK ? finished : status;
}

rung_status rungi_tune_verify(rungi_tune_bench *bench, rung_plan *plan, bool *is_right, int64_t *nanoseconds)
{
    *is_right = false;
    fill_c(bench); /* so that no element is right from a run before */
    rung_status status = copy_c(bench, true);
    if (status == RUNG_OK)
        status = run(bench, plan, &bench->problem, nanoseconds);
    if (status == RUNG_OK)
        status = copy_c(bench, false);
    if (status == RUNG_OK)
        *is_right = visit_sample(bench, is_as_expected);
    return status;
}

rung_status rungi_tune_time(rungi_tune_bench *bench, rung_plan *plan, int64_t *nanoseconds)
{
    int64_t total = 0, once;
    *nanoseconds = INT64_MAX;
    for (int i = 0; i < RUNS_MAX && (i < RUNS_MIN || total < SAMPLE_NS); i++) {
        rung_status status = run_again(bench, plan, &once);
        if (status != RUNG_OK)
            return status;
        *nanoseconds = rungi_larger(1, rungi_smaller(*nanoseconds, once));
        if (!rungi_add(total, once, &total))
            break;
    }
    return RUNG_OK;
}

rung_status rungi_tune_estimate(rungi_tune_bench *bench, const rung_kernel *kernel, const char *parameters,
                                double *nanoseconds)
{
    const rungi_tune_sample *sample = &bench->sample;
    rung_plan_options options = rungi_tune_plan_options(kernel, parameters);
    rung_problem block = bench->problem;
    double part = 2.0 * (double)sample_elements(sample) * (double)block.a.cols;
    rung_plan *plan;
    int64_t once;
    *nanoseconds = 0;
    if (bench->flops < ESTIMATE_FROM * part)
        return RUNG_OK;
    for (int i = 0; i < RUNGI_OPERANDS; i++) {
        rung_matrix *view = rungi_problem_place(&block, i);
        view->rows = i == RUNGI_B ? view->rows : rungi_smaller(view->rows, sample->rows);
        view->cols = i == RUNGI_A ? view->cols : rungi_smaller(view->cols, sample->cols);
    }
    block.batch = sample->items;
    rung_status status = rungi_tune_plan_create(bench, &block, &options, &plan);
    if (status != RUNG_OK)
        return status;
    status = run(bench, plan, &block, &once);
    rung_plan_destroy(plan);
    *nanoseconds = status == RUNG_OK ? (double)once * bench->flops / part : 0;
    return status;
}

/* ---- Creating -------------------------------------------------------------------------------- */

/* Creates a plan with the simplest kernel that supports the problem: 01_naive, or the next of the ladder that does. */
static rung_status create_simplest(rungi_tune_bench *bench, const rung_problem *problem, rung_plan **plan)
{
    const rungi_backend *backend = bench->device->backend;
    rung_status status = RUNG_STATUS_UNSUPPORTED;
    for (int64_t i = 0; status == RUNG_STATUS_UNSUPPORTED && i < backend->ladder_count; i++) {
        rung_kernel *kernel;
        status = rung_kernel_at(bench->device->context, backend->name, i, &kernel);
        if (status == RUNG_OK)
            status = rungi_choose_check(kernel, problem);
        if (status == RUNG_OK) {
            rung_plan_options options = rungi_tune_plan_options(kernel, NULL);
            status = rungi_tune_plan_create(bench, problem, &options, plan);
        }
    }
    return status;
}

static rung_status run_simplest(rungi_tune_bench *bench, const rung_problem *problem)
{
    rung_plan *plan = NULL;
    int64_t nanoseconds;
    rung_status status = create_simplest(bench, problem, &plan);
    if (status == RUNG_OK)
        status = run(bench, plan, problem, &nanoseconds);
    rung_plan_destroy(plan);
    return status == RUNG_OK ? RUNG_OK : rungi_fail_in(status, "rung_tune: the result to compare with");
}

/* Computes the sample into a dense matrix of its own. */
static rung_status compute_expected(rungi_tune_bench *bench)
{
    const rungi_tune_sample *sample = &bench->sample;
    rung_problem problem = bench->problem;
    int64_t bytes = sample_elements(sample) * rung_type_size(problem.c.type);
    rung_buffer *result = NULL;
    bench->expected = rungi_allocate(bench->device->context, bytes, 64);
    if (!bench->expected)
        return RUNG_STATUS_NO_MEMORY;
    fill_c(bench);
    visit_sample(bench, copy_to_sample);
    rung_status status = rung_buffer_create(bench->device, bytes, &result);
    if (status == RUNG_OK)
        status = rung_buffer_write(bench->queue, result, 0, bytes, bench->expected, NULL);
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        *rungi_problem_place(&problem, i) = sampled(bench, i);
    problem.c = rung_matrix_in_buffer(problem.c.type, sample->rows, sample->cols, result, 0);
    problem.c.batch_stride = sample->rows * sample->cols;
    problem.batch = sample->items;
    if (status == RUNG_OK)
        status = run_simplest(bench, &problem);
    if (status == RUNG_OK)
        status = rung_buffer_read(bench->queue, result, 0, bytes, bench->expected, NULL);
    rung_status finished = rung_queue_finish(bench->queue);
    rung_buffer_destroy(result);
    return status == RUNG_OK ? finished : status;
}

rung_status rungi_tune_bench_create(rung_device *device, const rung_problem *problem, rungi_tune_bench *bench)
{
    memset(bench, 0, sizeof *bench);
    bench->device = device;
    bench->problem = *problem;
    rungi_problem_settle(&bench->problem);
    bench->problem.alpha = 1;
    bench->problem.beta = bench->problem.beta == 0 ? 0 : 1;
    const rung_problem *settled = &bench->problem;
    bench->flops = 2.0 * (double)settled->c.rows * (double)settled->c.cols * (double)settled->a.cols *
                   (double)rungi_problem_items(settled);
    bench->sample = sample_of(settled);
    rung_status status = rung_queue_create(device, &bench->queue);
    if (status == RUNG_OK)
        status = rung_event_create(device, &bench->event);
    if (status == RUNG_OK)
        status = create_operands(bench);
    return status == RUNG_OK ? compute_expected(bench) : status;
}

void rungi_tune_bench_destroy(rungi_tune_bench *bench)
{
    rung_event_destroy(bench->event);
    rung_queue_destroy(bench->queue);
    for (int i = 0; i < RUNGI_OPERANDS; i++)
        rung_buffer_destroy(bench->buffers[i]);
    rung_buffer_destroy(bench->workspace);
    rungi_release(bench->device->context, bench->memory);
    rungi_release(bench->device->context, bench->expected);
    memset(bench, 0, sizeof *bench);
}
