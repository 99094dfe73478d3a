/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - see measure.h. */
#include "measure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "oracle.h"
#include "random.h"

enum { COPIES = 3, CALLS = 7, SAMPLE_NS = 200000 };

static const uint64_t seed = 1;

/* ---- The problem ------------------------------------------------------------------------------ */

/* rows x cols, for each item of the batch if `items` says so; no rows make none. */
static rung_status make_operand(const lab_problem *problem, rung_type type, int64_t rows, int64_t cols, int64_t items,
                                lab_operand *operand)
{
    operand->here = rung_matrix_of(type, rows, cols, NULL);
    operand->here.batch_stride = items > 1 ? rows * cols : 0;
    /* What no memory holds, the device refuses. */
    double bytes = (double)rows * (double)cols * (double)items * (double)rung_type_size(type);
    operand->bytes = bytes < 0x1p62 ? rows * cols * items * rung_type_size(type) : INT64_MAX;
    operand->there = operand->here;
    rung_status status = rung_buffer_create(problem->device, operand->bytes, &operand->there.buffer);
    if (status != RUNG_OK)
        return status;
    operand->here.data = calloc(1, operand->bytes > 0 ? (size_t)operand->bytes : 1);
    return operand->here.data ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

static rung_status send(const lab_problem *problem, const lab_operand *operand, const rung_run_options *options)
{
    return rung_buffer_write(problem->queue, operand->there.buffer, 0, operand->bytes, operand->here.data, options);
}

static rung_status fetch_c(const lab_problem *problem, const rung_run_options *options)
{
    return rung_buffer_read(problem->queue, problem->c.there.buffer, 0, problem->c.bytes, problem->c.here.data,
                            options);
}

/* The time of copying A and B over, or of copying C back. */
static rung_status time_copies(const lab_problem *problem, rung_event *event, bool back, int64_t *median)
{
    int64_t times[COPIES], second = 0;
    rung_run_options signal = {.size = sizeof(rung_run_options), .signal = event};
    for (int i = 0; i < COPIES; i++) {
        rung_status status = back ? fetch_c(problem, &signal) : send(problem, &problem->a, &signal);
        if (status == RUNG_OK)
            status = rung_event_time(event, &times[i]);
        if (status == RUNG_OK && !back) {
            status = send(problem, &problem->b, &signal);
            if (status == RUNG_OK)
                status = rung_event_time(event, &second);
            times[i] += second;
        }
        if (status != RUNG_OK)
            return status;
    }
    *median = lab_median(times, COPIES);
    return RUNG_OK;
}

/* One number a row, a column or an element. */
static rung_status make_bias(lab_problem *problem, rung_type type)
{
    int64_t m = problem->m, n = problem->n;
    lab_bias kind = problem->epilogue.bias;
    if (kind == LAB_BIAS_NONE)
        return RUNG_OK;
    rung_status status = make_operand(problem, type, kind == LAB_BIAS_COL ? 1 : m, kind == LAB_BIAS_ROW ? 1 : n, 1,
                                      &problem->bias);
    if (status != RUNG_OK)
        return status;
    lab_exact_fill(&problem->bias.here, 1, seed, 3);
    problem->bias.here = rung_matrix_broadcast(problem->bias.here, m, n);
    problem->bias.there = rung_matrix_broadcast(problem->bias.there, m, n);
    return send(problem, &problem->bias, NULL);
}

/* The same memory and shape, column after column. */
static void stand_by_columns(lab_operand *operand)
{
    rung_matrix *views[] = {&operand->here, &operand->there};
    for (int i = 0; i < 2; i++) {
        views[i]->row_stride = 1;
        views[i]->col_stride = views[i]->rows;
    }
}

static rung_status make_operands(lab_problem *problem)
{
    rung_type in = problem->product.in, out = problem->product.out;
    int64_t m = problem->m, n = problem->n, k = problem->k, batch = problem->batch;
    rung_status status = make_operand(problem, in, m, k, batch, &problem->a);
    if (status == RUNG_OK && problem->a_by_columns)
        stand_by_columns(&problem->a);
    if (status == RUNG_OK)
        status = make_operand(problem, in, k, n, batch, &problem->b);
    if (status == RUNG_OK && problem->b_by_columns)
        stand_by_columns(&problem->b);
    if (status == RUNG_OK)
        status = make_operand(problem, out, m, n, batch, &problem->c);
    if (status == RUNG_OK)
        status = make_bias(problem, out);
    if (status == RUNG_OK && problem->epilogue.residual) {
        status = make_operand(problem, out, m, n, 1, &problem->residual);
        if (status == RUNG_OK) {
            lab_exact_fill(&problem->residual.here, 1, seed, 4);
            status = send(problem, &problem->residual, NULL);
        }
    }
    return status;
}

rung_status lab_problem_create(lab_problem *problem)
{
    rung_event *event = NULL;
    rung_status status = make_operands(problem);
    if (status != RUNG_OK)
        return status;
    lab_exact_fill(&problem->a.here, problem->batch, seed, 1);
    lab_exact_fill(&problem->b.here, problem->batch, seed, 2);
    status = rung_event_create(problem->device, &event);
    if (status == RUNG_OK)
        status = time_copies(problem, event, false, &problem->h2d_ns);
    if (status == RUNG_OK)
        status = send(problem, &problem->c, NULL);
    if (status == RUNG_OK)
        status = time_copies(problem, event, true, &problem->d2h_ns);
    rung_event_destroy(event);
    if (status == RUNG_OK && problem->is_cold)
        status = lab_sets_create(problem->device, &problem->a.here, &problem->b.here, &problem->c.here, problem->batch,
                                 &problem->sets);
    if (status == RUNG_OK && problem->is_cold)
        status = lab_sets_fill(problem->sets, problem->queue, problem->a.here.data, problem->b.here.data);
    return status;
}

/* ---- Other numbers ------------------------------------------------------------------------------------ */

static const struct {
    const char *word, *meaning;
} inputs_words[] = {
#define X(name, word, meaning) {word, meaning},
    LAB_INPUTS_LIST(X)
#undef X
};

lab_inputs lab_inputs_of(const char *word)
{
    int i = 0;
    while (i < LAB_INPUTS_COUNT && strcmp(inputs_words[i].word, word) != 0)
        i++;
    return (lab_inputs)i;
}

const char *lab_inputs_name(lab_inputs inputs)
{
    return inputs < LAB_INPUTS_COUNT ? inputs_words[inputs].word : "?";
}

const char *lab_inputs_meaning(lab_inputs inputs)
{
    return inputs < LAB_INPUTS_COUNT ? inputs_words[inputs].meaning : "?";
}

static double whole_normal(double value)
{
    double scaled = rint(32 * value);
    return scaled > 127 ? 127 : scaled < -127 ? -127 : scaled;
}

static void fill_normal(const rung_matrix *matrix, int64_t batch, uint64_t numbers, uint64_t stream)
{
    bool is_whole = lab_is_whole(matrix->type);
    uint64_t index = 0;
    for (int64_t item = 0; item < batch; item++) {
        rung_matrix one = lab_item(matrix, item);
        for (int64_t row = 0; row < one.rows; row++)
            for (int64_t col = 0; col < one.cols; col++) {
                double value = lab_random_normal(numbers, stream, index++);
                lab_element_set(&one, row, col, is_whole ? whole_normal(value) : value);
            }
    }
}

rung_status lab_problem_fill(const lab_problem *problem, lab_inputs inputs, uint64_t numbers)
{
    const lab_operand *operands[] = {&problem->a, &problem->b};
    rung_status status = RUNG_OK;
    for (uint64_t i = 0; status == RUNG_OK && i < 2; i++) {
        if (inputs == LAB_INPUTS_NORMAL)
            fill_normal(&operands[i]->here, problem->batch, numbers, 1 + i);
        else
            lab_exact_fill(&operands[i]->here, problem->batch, seed, 1 + i);
        status = send(problem, operands[i], NULL);
    }
    if (status == RUNG_OK && problem->sets)
        status = lab_sets_fill(problem->sets, problem->queue, problem->a.here.data, problem->b.here.data);
    rung_status finished = rung_queue_finish(problem->queue);
    return status == RUNG_OK ? finished : status;
}

void lab_problem_destroy(lab_problem *problem)
{
    lab_operand *all[] = {&problem->a, &problem->b, &problem->c, &problem->bias, &problem->residual};
    for (int i = 0; i < 5; i++) {
        rung_buffer_destroy(all[i]->there.buffer);
        free(all[i]->here.data);
    }
    lab_sets_destroy(problem->sets);
    problem->sets = NULL;
}

/* ---- A contender ---------------------------------------------------------------------------------- */

rung_problem lab_problem_multiply(const lab_problem *problem, bool there)
{
    const lab_operand *a = &problem->a, *b = &problem->b, *c = &problem->c;
    rung_problem multiply = there ? rung_problem_of(a->there, b->there, c->there)
                                  : rung_problem_of(a->here, b->here, c->here);
    multiply.batch = problem->batch;
    multiply.compute = problem->compute;
    multiply.bias = there ? problem->bias.there : problem->bias.here;
    multiply.activation = problem->epilogue.activation;
    multiply.residual = there ? problem->residual.there : problem->residual.here;
    return multiply;
}

/* The multiply that is timed next: with copies, on the next of them. */
static rung_problem next_multiply(const lab_problem *problem, bool there)
{
    rung_problem multiply = lab_problem_multiply(problem, there);
    return problem->sets && there ? lab_sets_turn(problem->sets, &multiply) : multiply;
}

/* rung_gemm, with all that a problem may have. */
static rung_status run_call(const lab_problem *problem, int64_t *time)
{
    rung_problem multiply = lab_problem_multiply(problem, false);
    int64_t started = lab_now();
    rung_status status = rung_multiply(problem->context, &multiply, NULL);
    *time = lab_now() - started;
    return status;
}

static rung_status run_once(const lab_problem *problem, const rung_problem *multiply, lab_contender *contender,
                            int64_t *time)
{
    rung_event *event;
    if (!contender->kernel)
        return run_call(problem, time);
    rung_status status = rung_event_create(problem->device, &event);
    if (status == RUNG_OK)
        status = rung_plan_run(contender->plan, problem->queue, multiply,
                               &(rung_run_options){.size = sizeof(rung_run_options),
                                                   .signal = event,
                                                   .workspace = contender->workspace,
                                                   .packed_b = contender->packed});
    if (status == RUNG_OK)
        status = rung_event_time(event, time);
    rung_event_destroy(event);
    return status;
}

/* C is spoilt first, so that a result of before does not count. */
static rung_status run_judged(const lab_problem *problem, lab_contender *contender)
{
    rung_problem multiply = lab_problem_multiply(problem, true);
    memset(problem->c.here.data, 0xff, (size_t)problem->c.bytes);
    rung_status status = send(problem, &problem->c, NULL);
    if (status == RUNG_OK)
        status = run_once(problem, &multiply, contender, &contender->first_ns);
    if (status == RUNG_OK && contender->kernel)
        status = fetch_c(problem, NULL);
    if (status == RUNG_OK)
        status = rung_queue_finish(problem->queue);
    return status;
}

/* The plan, and the workspace it wants. */
static rung_status make_plan(const lab_problem *problem, lab_contender *contender)
{
    rung_problem multiply = lab_problem_multiply(problem, true);
    rung_plan_options options = {.size = sizeof(rung_plan_options),
                                 .kernel = contender->kernel,
                                 .parameters = contender->asked,
                                 .split_k = problem->splits,
                                 .max_workspace_bytes = LAB_WORKSPACE_MAX,
                                 .shared_carveout_percent = (int)problem->carveout,
                                 .threads = problem->threads,
                                 .packed_b = contender->is_packed};
    if (!contender->kernel)
        return RUNG_OK; /* it makes its own */
    rung_status status = rung_plan_create(problem->device, &multiply, &options, &contender->plan);
    if (status != RUNG_OK)
        return status;
    const rung_plan_info *info = rung_plan_describe(contender->plan);
    snprintf(contender->parameters, sizeof contender->parameters, "%s", info->parameters);
    contender->origin = info->origin;
    snprintf(contender->origin_text, sizeof contender->origin_text, "%s", info->origin_text);
    snprintf(contender->library, sizeof contender->library, "%s", info->library);
    snprintf(contender->doubt, sizeof contender->doubt, "%s", info->warning);
    contender->splits = info->split_k;
    contender->threads = info->threads;
    contender->compute = info->compute;
    if (info->workspace_bytes > 0)
        status = rung_buffer_create(problem->device, info->workspace_bytes, &contender->workspace);
    if (status == RUNG_OK && contender->is_packed)
        status = rung_buffer_create(problem->device, info->packed_b_bytes, &contender->packed);
    if (status == RUNG_OK && contender->is_packed)
        status = rung_plan_pack_b(contender->plan, problem->queue, &multiply.b, contender->packed, NULL);
    return status;
}

/* So many runs, one after another, by a clock of this process. */
static rung_status run_repeated(const lab_problem *problem, const lab_contender *contender, int64_t *time)
{
    rung_problem multiply = lab_problem_multiply(problem, contender->kernel != NULL);
    rung_run_options options = {
        .size = sizeof(rung_run_options), .workspace = contender->workspace, .packed_b = contender->packed};
    rung_status status = RUNG_OK;
    int64_t started = lab_clock_now(problem->clock);
    for (int64_t i = 0; status == RUNG_OK && i < contender->repeats; i++) {
        if (problem->sets)
            multiply = lab_sets_turn(problem->sets, &multiply);
        status = contender->kernel ? rung_plan_run(contender->plan, problem->queue, &multiply, &options)
                                   : rung_multiply(problem->context, &multiply, NULL);
    }
    *time = lab_clock_now(problem->clock) - started;
    return status;
}

/* The shortest of a few: whatever came between the others is not of the contender. */
static rung_status run_shortest(const lab_problem *problem, const lab_contender *contender, int64_t *shortest)
{
    rung_status status = run_repeated(problem, contender, shortest);
    for (int i = 1; status == RUNG_OK && i < 3 && *shortest < 10 * SAMPLE_NS; i++) {
        int64_t time;
        status = run_repeated(problem, contender, &time);
        *shortest = time < *shortest ? time : *shortest;
    }
    return status;
}

/* Short runs are repeated within a sample, until reading the clock takes no part of it. */
static rung_status calibrate(const lab_problem *problem, lab_contender *contender)
{
    enum { REPEATS_MAX = 1 << 20 };
    rung_status status = RUNG_OK;
    contender->repeats = 1;
    while (status == RUNG_OK && problem->clock != LAB_CLOCK_EVENT && contender->repeats < REPEATS_MAX) {
        int64_t time;
        status = run_shortest(problem, contender, &time);
        contender->first_ns = time / contender->repeats;
        if (time >= SAMPLE_NS)
            break;
        int64_t wanted = contender->repeats * SAMPLE_NS / (time > 0 ? time : 1) + 1;
        contender->repeats = wanted < 8 * contender->repeats ? wanted : 8 * contender->repeats;
    }
    return status;
}

void lab_contender_drop(lab_contender *contender, lab_row_state state, const char *format, ...)
{
    va_list arguments;
    contender->verified = false;
    contender->state = state;
    va_start(arguments, format);
    vsnprintf(contender->why_not, sizeof contender->why_not, format, arguments);
    va_end(arguments);
}

void lab_contender_verify(const lab_problem *problem, lab_contender *contender)
{
    rung_problem here = lab_problem_multiply(problem, false), there = lab_problem_multiply(problem, true);
    int64_t unused;
    rung_status status = make_plan(problem, contender);
    if (status == RUNG_OK)
        status = run_once(problem, &there, contender, &unused);
    if (status == RUNG_OK)
        status = run_judged(problem, contender);
    if (status != RUNG_OK) {
        lab_contender_drop(contender, LAB_ROW_REFUSED, "%.*s", (int)strcspn(rung_error_text(), "\n"),
                           rung_error_text());
        return;
    }
    char why[256] = "";
    contender->verified = lab_exact_judge(&here, seed, why, sizeof why);
    contender->state = LAB_ROW_OK;
    if (!contender->verified)
        lab_contender_drop(contender, LAB_ROW_WRONG, "WRONG: %s", why);
    else if (calibrate(problem, contender) != RUNG_OK)
        lab_contender_drop(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
}

/* As run_judged, on one of the copies. */
static rung_status run_on_set(const lab_problem *problem, lab_contender *contender, int64_t set)
{
    const lab_copies *c = &problem->sets->c;
    rung_problem first = lab_problem_multiply(problem, true), multiply = lab_sets_at(problem->sets, &first, set);
    int64_t unused;
    memset(problem->c.here.data, 0xff, (size_t)problem->c.bytes);
    rung_status status = rung_buffer_write(problem->queue, c->buffer, set * c->step_bytes, c->bytes,
                                           problem->c.here.data, NULL);
    if (status == RUNG_OK)
        status = run_once(problem, &multiply, contender, &unused);
    if (status == RUNG_OK)
        status = rung_buffer_read(problem->queue, c->buffer, set * c->step_bytes, c->bytes, problem->c.here.data, NULL);
    return status == RUNG_OK ? rung_queue_finish(problem->queue) : status;
}

void lab_contender_judge_sets(const lab_problem *problem, lab_contender *contender)
{
    const int64_t last = problem->sets->count - 1, sets[] = {0, last / 2, last};
    rung_problem here = lab_problem_multiply(problem, false);
    for (int i = 0; contender->verified && i < 3; i++) {
        char why[256] = "";
        rung_status status = run_on_set(problem, contender, sets[i]);
        contender->verified = status == RUNG_OK && lab_exact_judge(&here, seed, why, sizeof why);
        if (status != RUNG_OK)
            lab_contender_drop(contender, LAB_ROW_REFUSED, "%s", rung_error_text());
        else if (!contender->verified)
            lab_contender_drop(contender, LAB_ROW_WRONG, "WRONG on copy %lld of A, B and C: %s", (long long)sets[i],
                               why);
    }
}

/* On an idle device a short piece of work waits for the processor to hand it over, and that
 * would be timed too: another run in front of it keeps the device busy meanwhile. */
static rung_status run_ahead(const lab_problem *problem, const lab_contender *contender)
{
    enum { SHORT_NS = 2000000 };
    rung_problem multiply = next_multiply(problem, true);
    if (!contender->plan || contender->first_ns > SHORT_NS)
        return RUNG_OK;
    return rung_plan_run(contender->plan, problem->queue, &multiply,
                         &(rung_run_options){.size = sizeof(rung_run_options),
                                             .workspace = contender->workspace,
                                             .packed_b = contender->packed});
}

/* By the device's own events. */
static rung_status sample_events(const lab_problem *problem, lab_contender *contender)
{
    int64_t time;
    rung_status status = run_ahead(problem, contender);
    rung_problem multiply = next_multiply(problem, contender->kernel != NULL);
    if (status == RUNG_OK)
        status = run_once(problem, &multiply, contender, &time);
    if (status != RUNG_OK)
        return status;
    lab_samples_add(&contender->taken, time, 0, 0);
    contender->spent_ns += time;
    return RUNG_OK;
}

/* By a clock, between two probes. What comes just before it, to find caches and threads as the runs
 * leave them, counts for the time that is spent and for no sample. */
static rung_status sample_clock(const lab_problem *problem, lab_contender *contender)
{
    int64_t time, started = lab_now();
    int threads = (int)problem->probe_threads;
    if (problem->rest_ns > 0)
        lab_rest(problem->rest_ns);
    double before = lab_probe_run(problem->probe, threads);
    rung_status status = run_ahead(problem, contender);
    if (status == RUNG_OK)
        status = run_repeated(problem, contender, &time);
    if (status != RUNG_OK)
        return status;
    lab_samples_add(&contender->taken, time / contender->repeats, before, lab_probe_run(problem->probe, threads));
    contender->spent_ns += lab_now() - started;
    return RUNG_OK;
}

rung_status lab_contender_sample(const lab_problem *problem, lab_contender *contender)
{
    rung_status status = problem->clock == LAB_CLOCK_EVENT ? sample_events(problem, contender)
                                                           : sample_clock(problem, contender);
    contender->samples = contender->taken.count;
    return status;
}

/* Every item by a plan for one, all on the same queue. */
static rung_status run_calls(const lab_problem *problem, rung_plan *plan, int64_t *time)
{
    rung_problem all = lab_problem_multiply(problem, true), one = all;
    int64_t started = lab_now();
    rung_status status = RUNG_OK;
    one.batch = 1;
    for (int64_t i = 0; status == RUNG_OK && i < problem->batch; i++) {
        one.a = lab_item(&all.a, i);
        one.b = lab_item(&all.b, i);
        one.c = lab_item(&all.c, i);
        status = rung_plan_run(plan, problem->queue, &one, NULL);
    }
    rung_status finished = rung_queue_finish(problem->queue);
    *time = lab_now() - started;
    return status == RUNG_OK ? finished : status;
}

static rung_status run_batch(const lab_problem *problem, const lab_contender *contender, int64_t *time)
{
    rung_problem all = lab_problem_multiply(problem, true);
    int64_t started = lab_now();
    rung_status status = rung_plan_run(
        contender->plan, problem->queue, &all,
        &(rung_run_options){.size = sizeof(rung_run_options), .workspace = contender->workspace});
    rung_status finished = rung_queue_finish(problem->queue);
    *time = lab_now() - started;
    return status == RUNG_OK ? finished : status;
}

rung_status lab_contender_time_calls(const lab_problem *problem, lab_contender *contender)
{
    rung_problem one = lab_problem_multiply(problem, true);
    rung_plan *plan;
    rung_plan_options options = {.size = sizeof(rung_plan_options),
                                 .kernel = contender->kernel,
                                 .parameters = contender->parameters,
                                 .split_k = 1,
                                 .shared_carveout_percent = (int)problem->carveout,
                                 .threads = problem->threads};
    int64_t calls[CALLS], batches[CALLS];
    one.batch = 1;
    rung_status status = rung_plan_create(problem->device, &one, &options, &plan);
    for (int i = 0; status == RUNG_OK && i < CALLS; i++) {
        status = run_calls(problem, plan, &calls[i]);
        if (status == RUNG_OK)
            status = run_batch(problem, contender, &batches[i]);
    }
    rung_plan_destroy(plan);
    if (status != RUNG_OK)
        return status;
    contender->calls_wall_ns = lab_median(calls, CALLS);
    contender->batch_wall_ns = lab_median(batches, CALLS);
    return RUNG_OK;
}

void lab_contender_summarise(lab_contender *contender, double best_probe)
{
    lab_spread chosen = lab_samples_spread(&contender->taken, LAB_MODE_ANY, 0);
    contender->mode = LAB_MODE_ANY;
    if (best_probe > 0) {
        contender->fast = lab_samples_spread(&contender->taken, LAB_MODE_FAST, best_probe);
        contender->slow = lab_samples_spread(&contender->taken, LAB_MODE_SLOW, best_probe);
        if (contender->fast.samples >= LAB_SAMPLES_MIN) {
            contender->mode = LAB_MODE_FAST;
            chosen = contender->fast;
        } else if (contender->slow.samples >= LAB_SAMPLES_MIN) {
            contender->mode = LAB_MODE_SLOW;
            chosen = contender->slow;
        }
    }
    contender->median_ns = chosen.median_ns;
    contender->min_ns = chosen.min_ns;
    contender->ci95_ns = chosen.ci95_ns;
    contender->worst_ns = chosen.worst_ns;
    contender->outliers = chosen.outliers;
    contender->samples = chosen.samples;
}

bool lab_contender_wants_more(const lab_contender *contender, double best_probe, int64_t budget_ns)
{
    if (contender->taken.count == LAB_SAMPLES_MAX || contender->spent_ns >= budget_ns)
        return contender->taken.count == 0;
    bool is_sure = contender->samples >= LAB_SAMPLES_MIN && contender->ci95_ns * 100 <= contender->median_ns;
    return !is_sure || (best_probe > 0 && contender->mode != LAB_MODE_FAST);
}

void lab_contender_finish(lab_contender *contender)
{
    rung_plan_destroy(contender->plan);
    rung_buffer_destroy(contender->workspace);
    rung_buffer_destroy(contender->packed);
    contender->plan = NULL;
    contender->workspace = contender->packed = NULL;
}

double lab_gflops(const lab_problem *problem, int64_t nanoseconds)
{
    double steps = (double)problem->m * (double)problem->n * (double)problem->k * (double)problem->batch;
    return nanoseconds > 0 ? 2.0 * steps / (double)nanoseconds : 0;
}
