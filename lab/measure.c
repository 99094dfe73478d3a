/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - see measure.h. */
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"

enum { COPIES = 3, SAMPLES_MIN = 5 };

static const uint64_t seed = 1;

static int by_value(const void *x, const void *y)
{
    int64_t left = *(const int64_t *)x, right = *(const int64_t *)y;
    return (left > right) - (left < right);
}

/* ---- The problem ------------------------------------------------------------------------------ */

static rung_status make_operand(rung_device *device, rung_matrix *here, rung_matrix *there)
{
    int64_t bytes = here->rows * here->cols * rung_type_size(here->type);
    here->data = calloc(1, bytes > 0 ? (size_t)bytes : 1);
    if (!here->data)
        return RUNG_NO_MEMORY;
    *there = *here;
    there->data = NULL;
    return rung_buffer_create(device, bytes, &there->buffer);
}

static int64_t bytes_of(const rung_matrix *matrix)
{
    return matrix->rows * matrix->cols * rung_type_size(matrix->type);
}

/* The time of copying A and B over, or of copying C back. */
static rung_status time_copies(const lab_problem *problem, rung_event *event, bool back,
                               int64_t *median)
{
    int64_t times[COPIES], second = 0;
    rung_run_options signal = {.signal = event};
    for (int i = 0; i < COPIES; i++) {
        rung_status status =
            back ? rung_buffer_read(problem->queue, problem->there_c.buffer, 0, bytes_of(&problem->c),
                                    problem->c.data, &signal)
                 : rung_buffer_write(problem->queue, problem->there_a.buffer, 0, bytes_of(&problem->a),
                                     problem->a.data, &signal);
        if (status == RUNG_OK)
            status = rung_event_time(event, &times[i]);
        if (status == RUNG_OK && !back) {
            status = rung_buffer_write(problem->queue, problem->there_b.buffer, 0,
                                       bytes_of(&problem->b), problem->b.data, &signal);
            if (status == RUNG_OK)
                status = rung_event_time(event, &second);
            times[i] += second;
        }
        if (status != RUNG_OK)
            return status;
    }
    qsort(times, COPIES, sizeof *times, by_value);
    *median = times[COPIES / 2];
    return RUNG_OK;
}

rung_status lab_problem_create(lab_problem *problem)
{
    rung_event *event = NULL;
    problem->a = rung_matrix_of(problem->type, problem->m, problem->k, NULL);
    problem->b = rung_matrix_of(problem->type, problem->k, problem->n, NULL);
    problem->c = rung_matrix_of(problem->type, problem->m, problem->n, NULL);
    rung_status status = make_operand(problem->device, &problem->a, &problem->there_a);
    if (status == RUNG_OK)
        status = make_operand(problem->device, &problem->b, &problem->there_b);
    if (status == RUNG_OK)
        status = make_operand(problem->device, &problem->c, &problem->there_c);
    if (status != RUNG_OK)
        return status;
    lab_exact_fill(&problem->a, seed, 1);
    lab_exact_fill(&problem->b, seed, 2);
    status = rung_event_create(problem->device, &event);
    if (status == RUNG_OK)
        status = time_copies(problem, event, false, &problem->h2d_ns);
    if (status == RUNG_OK)
        status = rung_buffer_write(problem->queue, problem->there_c.buffer, 0, bytes_of(&problem->c),
                                   problem->c.data, NULL);
    if (status == RUNG_OK)
        status = time_copies(problem, event, true, &problem->d2h_ns);
    rung_event_destroy(event);
    return status;
}

void lab_problem_destroy(lab_problem *problem)
{
    rung_buffer_destroy(problem->there_a.buffer);
    rung_buffer_destroy(problem->there_b.buffer);
    rung_buffer_destroy(problem->there_c.buffer);
    free(problem->a.data);
    free(problem->b.data);
    free(problem->c.data);
}

/* ---- A contender ---------------------------------------------------------------------------------- */

static rung_problem multiply_of(const lab_problem *problem)
{
    return rung_problem_of(problem->there_a, problem->there_b, problem->there_c);
}

static rung_status run_once(const lab_problem *problem, lab_contender *contender, int64_t *time)
{
    rung_event *event;
    rung_problem multiply = multiply_of(problem);
    rung_status status = rung_event_create(problem->device, &event);
    if (status == RUNG_OK)
        status = rung_plan_run(contender->plan, problem->queue, &multiply,
                               &(rung_run_options){.signal = event});
    if (status == RUNG_OK)
        status = rung_event_time(event, time);
    rung_event_destroy(event);
    return status;
}

/* C is spoilt first, so that a result of before does not count. */
static rung_status run_judged(const lab_problem *problem, lab_contender *contender)
{
    memset(problem->c.data, 0xff, (size_t)bytes_of(&problem->c));
    rung_status status = rung_buffer_write(problem->queue, problem->there_c.buffer, 0,
                                           bytes_of(&problem->c), problem->c.data, NULL);
    if (status == RUNG_OK)
        status = run_once(problem, contender, &contender->first_ns);
    if (status == RUNG_OK)
        status = rung_buffer_read(problem->queue, problem->there_c.buffer, 0, bytes_of(&problem->c),
                                  problem->c.data, NULL);
    if (status == RUNG_OK)
        status = rung_queue_finish(problem->queue);
    return status;
}

void lab_contender_verify(const lab_problem *problem, lab_contender *contender)
{
    rung_problem multiply = multiply_of(problem);
    rung_plan_options options = {contender->kernel, contender->asked};
    int64_t unused;
    rung_status status = rung_plan_create(problem->device, &multiply, &options, &contender->plan);
    if (status == RUNG_OK) {
        snprintf(contender->parameters, sizeof contender->parameters, "%s",
                 rung_plan_describe(contender->plan)->parameters);
        status = run_once(problem, contender, &unused);
    }
    if (status == RUNG_OK)
        status = run_judged(problem, contender);
    if (status != RUNG_OK) {
        snprintf(contender->why_not, sizeof contender->why_not, "%.*s",
                 (int)strcspn(rung_error_text(), "\n"), rung_error_text());
        return;
    }
    char why[256] = "";
    contender->verified = lab_exact_judge(&problem->a, &problem->b, &problem->c, seed, why, sizeof why);
    if (!contender->verified)
        snprintf(contender->why_not, sizeof contender->why_not, "WRONG: %s", why);
}

rung_status lab_contender_sample(const lab_problem *problem, lab_contender *contender)
{
    int64_t time;
    rung_status status = run_once(problem, contender, &time);
    if (status != RUNG_OK || contender->samples == LAB_SAMPLES_MAX)
        return status;
    contender->times[contender->samples++] = time;
    contender->spent_ns += time;
    return RUNG_OK;
}

/* The median and its interval by ranks, which ask nothing of the distribution. */
void lab_contender_summarise(lab_contender *contender)
{
    int64_t sorted[LAB_SAMPLES_MAX], n = contender->samples;
    if (n == 0)
        return;
    memcpy(sorted, contender->times, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    double half = 0.98 * sqrt((double)n); /* 1.96 / 2 */
    int64_t low = (int64_t)floor((double)n / 2 - half), high = (int64_t)ceil((double)n / 2 + half);
    if (low < 0)
        low = 0;
    if (high > n - 1)
        high = n - 1;
    contender->median_ns = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    contender->min_ns = sorted[0];
    contender->ci95_ns = (sorted[high] - sorted[low]) / 2;
}

bool lab_contender_wants_more(const lab_contender *contender, int64_t budget_ns)
{
    if (contender->samples == LAB_SAMPLES_MAX || contender->spent_ns >= budget_ns)
        return contender->samples == 0;
    return contender->samples < SAMPLES_MIN || contender->ci95_ns * 100 > contender->median_ns;
}

void lab_contender_finish(lab_contender *contender)
{
    rung_plan_destroy(contender->plan);
    contender->plan = NULL;
}

double lab_gflops(const lab_problem *problem, int64_t nanoseconds)
{
    return nanoseconds > 0 ? 2.0 * (double)problem->m * (double)problem->n * (double)problem->k /
                                 (double)nanoseconds
                           : 0;
}
