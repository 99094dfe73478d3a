/* SPDX-License-Identifier: Apache-2.0 */
/* bench_problem.c - see bench_problem.h. */
#include "bench/bench_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"
#include "common/elements.h"
#include "common/random.h"
#include "common/statistics.h"
#include "verify/freivalds.h"

enum { COPY_SAMPLES = 3 };

/* ---- Operands ------------------------------------------------------------------------------------------ */

/* Allocates a matrix of `rows` x `cols`, or a batch of `items` of them. */
static rung_status make_operand(const lab_bench_problem *problem, rung_type type, int64_t rows, int64_t cols,
                                int64_t items, lab_operand *operand)
{
    operand->on_host = rung_matrix_of(type, rows, cols, NULL);
    operand->on_host.batch_stride = items > 1 ? rows * cols : 0;
    /* The device rejects a size that does not fit int64_t. */
    double bytes = (double)rows * (double)cols * (double)items * (double)rung_type_size(type);
    operand->bytes = bytes < 0x1p62 ? rows * cols * items * rung_type_size(type) : INT64_MAX;
    operand->on_device = operand->on_host;
    TRY(rung_buffer_create(problem->device, operand->bytes, &operand->on_device.buffer));
    operand->on_host.data = calloc(1, operand->bytes > 0 ? (size_t)operand->bytes : 1);
    return operand->on_host.data ? RUNG_OK : RUNG_STATUS_NO_MEMORY;
}

static rung_status upload(const lab_bench_problem *problem, const lab_operand *operand, const rung_run_options *options)
{
    return rung_buffer_write(problem->queue, operand->on_device.buffer, 0, operand->bytes, operand->on_host.data,
                             options);
}

rung_status lab_bench_problem_clear_c(const lab_bench_problem *problem, rung_buffer *buffer, int64_t offset)
{
    memset(problem->c.on_host.data, 0xff, (size_t)problem->c.bytes);
    return rung_buffer_write(problem->queue, buffer, offset, problem->c.bytes, problem->c.on_host.data, NULL);
}

rung_status lab_bench_problem_read_c(const lab_bench_problem *problem, rung_buffer *buffer, int64_t offset,
                                     const rung_run_options *options)
{
    return rung_buffer_read(problem->queue, buffer, offset, problem->c.bytes, problem->c.on_host.data, options);
}

/* Times copying A and B to the device. */
static rung_status time_uploads(const lab_bench_problem *problem, rung_event *event, int64_t *median)
{
    int64_t times[COPY_SAMPLES], b_ns;
    rung_run_options signal = {.size = sizeof(rung_run_options), .signal = event};
    for (int i = 0; i < COPY_SAMPLES; i++) {
        TRY(upload(problem, &problem->a, &signal));
        TRY(rung_event_time(event, &times[i]));
        TRY(upload(problem, &problem->b, &signal));
        TRY(rung_event_time(event, &b_ns));
        times[i] += b_ns;
    }
    *median = lab_median(times, COPY_SAMPLES);
    return RUNG_OK;
}

/* Times copying C back. */
static rung_status time_downloads(const lab_bench_problem *problem, rung_event *event, int64_t *median)
{
    int64_t times[COPY_SAMPLES];
    rung_run_options signal = {.size = sizeof(rung_run_options), .signal = event};
    for (int i = 0; i < COPY_SAMPLES; i++) {
        TRY(lab_bench_problem_read_c(problem, problem->c.on_device.buffer, 0, &signal));
        TRY(rung_event_time(event, &times[i]));
    }
    *median = lab_median(times, COPY_SAMPLES);
    return RUNG_OK;
}

static rung_status time_copies(lab_bench_problem *problem, rung_event *event)
{
    TRY(time_uploads(problem, event, &problem->h2d_ns));
    TRY(upload(problem, &problem->c, NULL));
    return time_downloads(problem, event, &problem->d2h_ns);
}

/* Makes a bias with one number per row, per column or per element. */
static rung_status make_bias(lab_bench_problem *problem, rung_type type)
{
    int64_t m = problem->m, n = problem->n;
    lab_bias kind = problem->epilogue.bias;
    if (kind == LAB_BIAS_NONE)
        return RUNG_OK;
    TRY(make_operand(problem, type, kind == LAB_BIAS_COL ? 1 : m, kind == LAB_BIAS_ROW ? 1 : n, 1, &problem->bias));
    lab_fill_small_integers(&problem->bias.on_host, 1, LAB_VERIFY_SEED, 3);
    problem->bias.on_host = rung_matrix_broadcast(problem->bias.on_host, m, n);
    problem->bias.on_device = rung_matrix_broadcast(problem->bias.on_device, m, n);
    return upload(problem, &problem->bias, NULL);
}

static rung_status make_residual(lab_bench_problem *problem, rung_type type)
{
    if (!problem->epilogue.residual)
        return RUNG_OK;
    TRY(make_operand(problem, type, problem->m, problem->n, 1, &problem->residual));
    lab_fill_small_integers(&problem->residual.on_host, 1, LAB_VERIFY_SEED, 4);
    return upload(problem, &problem->residual, NULL);
}

static void set_column_major(lab_operand *operand)
{
    rung_matrix *views[] = {&operand->on_host, &operand->on_device};
    for (int i = 0; i < 2; i++) {
        views[i]->row_stride = 1;
        views[i]->col_stride = views[i]->rows;
    }
}

static rung_status make_operands(lab_bench_problem *problem)
{
    rung_type in = problem->product.in, out = problem->product.out;
    int64_t m = problem->m, n = problem->n, k = problem->k, batch = problem->batch;
    TRY(make_operand(problem, in, m, k, batch, &problem->a));
    TRY(make_operand(problem, in, k, n, batch, &problem->b));
    TRY(make_operand(problem, out, m, n, batch, &problem->c));
    if (problem->is_a_column_major)
        set_column_major(&problem->a);
    if (problem->is_b_column_major)
        set_column_major(&problem->b);
    TRY(make_bias(problem, out));
    TRY(make_residual(problem, out));
    lab_fill_small_integers(&problem->a.on_host, batch, LAB_VERIFY_SEED, 1);
    lab_fill_small_integers(&problem->b.on_host, batch, LAB_VERIFY_SEED, 2);
    return RUNG_OK;
}

rung_status lab_bench_problem_create(lab_bench_problem *problem)
{
    rung_event *event;
    TRY(make_operands(problem));
    TRY(rung_event_create(problem->device, &event));
    rung_status status = time_copies(problem, event);
    rung_event_destroy(event);
    if (status != RUNG_OK || !problem->is_cold)
        return status;
    TRY(lab_cold_copies_create(problem->device, &problem->a.on_host, &problem->b.on_host, &problem->c.on_host,
                               problem->batch, &problem->cold_copies));
    return lab_cold_copies_fill(problem->cold_copies, problem->queue, problem->a.on_host.data, problem->b.on_host.data);
}

void lab_bench_problem_destroy(lab_bench_problem *problem)
{
    lab_operand *all[] = {&problem->a, &problem->b, &problem->c, &problem->bias, &problem->residual};
    for (int i = 0; i < 5; i++) {
        rung_buffer_destroy(all[i]->on_device.buffer);
        free(all[i]->on_host.data);
    }
    lab_cold_copies_destroy(problem->cold_copies);
    problem->cold_copies = NULL;
}

rung_problem lab_bench_problem_view(const lab_bench_problem *problem, bool on_device)
{
    const lab_operand *a = &problem->a, *b = &problem->b, *c = &problem->c;
    rung_problem multiply = on_device ? rung_problem_of(a->on_device, b->on_device, c->on_device)
                                      : rung_problem_of(a->on_host, b->on_host, c->on_host);
    multiply.batch = problem->batch;
    multiply.compute = problem->compute;
    multiply.bias = on_device ? problem->bias.on_device : problem->bias.on_host;
    multiply.activation = problem->epilogue.activation;
    multiply.residual = on_device ? problem->residual.on_device : problem->residual.on_host;
    return multiply;
}

double lab_bench_problem_products(const lab_bench_problem *problem)
{
    return (double)problem->m * (double)problem->n * (double)problem->k * (double)problem->batch;
}

double lab_gflops(const lab_bench_problem *problem, int64_t nanoseconds)
{
    return nanoseconds > 0 ? 2.0 * lab_bench_problem_products(problem) / (double)nanoseconds : 0;
}

/* ---- Inputs -------------------------------------------------------------------------------------------- */

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

static double round_normal(double value)
{
    double scaled = rint(32 * value);
    return scaled > 127 ? 127 : scaled < -127 ? -127 : scaled;
}

static void fill_normal(const rung_matrix *matrix, int64_t batch, uint64_t seed, uint64_t stream)
{
    bool is_integer = lab_type_is_integer(matrix->type);
    uint64_t index = 0;
    for (int64_t item = 0; item < batch; item++) {
        rung_matrix one = lab_batch_item(matrix, item);
        for (int64_t row = 0; row < one.rows; row++)
            for (int64_t col = 0; col < one.cols; col++) {
                double value = lab_random_normal(seed, stream, index++);
                lab_element_set(&one, row, col, is_integer ? round_normal(value) : value);
            }
    }
}

static rung_status fill_operands(const lab_bench_problem *problem, lab_inputs inputs, uint64_t seed)
{
    const lab_operand *operands[] = {&problem->a, &problem->b};
    for (uint64_t i = 0; i < 2; i++) {
        if (inputs == LAB_INPUTS_NORMAL)
            fill_normal(&operands[i]->on_host, problem->batch, seed, 1 + i);
        else
            lab_fill_small_integers(&operands[i]->on_host, problem->batch, LAB_VERIFY_SEED, 1 + i);
        TRY(upload(problem, operands[i], NULL));
    }
    return problem->cold_copies ? lab_cold_copies_fill(problem->cold_copies, problem->queue, problem->a.on_host.data,
                                                       problem->b.on_host.data)
                                : RUNG_OK;
}

rung_status lab_bench_problem_fill(const lab_bench_problem *problem, lab_inputs inputs, uint64_t seed)
{
    rung_status status = fill_operands(problem, inputs, seed);
    rung_status finished = rung_queue_finish(problem->queue); /* in any case: the copies read host memory */
    return status == RUNG_OK ? finished : status;
}
