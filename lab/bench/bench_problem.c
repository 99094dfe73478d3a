/* SPDX-License-Identifier: Apache-2.0 */
/* bench_problem.c - see bench_problem.h. */
#include "bench/bench_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"
#include "common/elements.h"
#include "common/enum_names.h"
#include "common/random.h"
#include "common/statistics.h"
#include "verify/verify.h"

enum { COPY_SAMPLES = 3 };

/* ---- Operands ------------------------------------------------------------------------------------------ */

/* Allocates a matrix of `rows` x `cols`, or a batch of `items` of them. */
static rung_status make_operand(const lab_bench_problem *problem, rung_type type, int64_t rows, int64_t cols,
                                int64_t items, lab_operand *operand)
{
    operand->on_host = rung_matrix_of(type, rows, cols, NULL);
    operand->on_host.batch_stride = items > 1 ? rows * cols : 0;
    /* The device rejects a size that does not fit int64_t. */
    double elements = (double)rows * (double)cols * (double)items;
    operand->bytes = elements < 0x1p58 ? lab_type_bytes(type, rows * cols * items) : INT64_MAX;
    operand->on_device = operand->on_host;
    TRY(rung_buffer_create(problem->device, operand->bytes, &operand->on_device.buffer));
    operand->on_host.data = calloc(1, operand->bytes > 0 ? (size_t)operand->bytes : 1);
    return operand->on_host.data
               ? RUNG_OK
               : rung_error_set(RUNG_STATUS_NO_MEMORY, "out of memory: a matrix needs %lld bytes; use smaller sizes",
                                (long long)operand->bytes);
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

/* Times copying A and B to the device, and C back. */
static rung_status time_copies(lab_bench_problem *problem)
{
    rung_event *event = problem->event;
    int64_t up[COPY_SAMPLES], down[COPY_SAMPLES], b_ns;
    rung_run_options signal = {.size = sizeof(rung_run_options), .signal = event};
    for (int i = 0; i < COPY_SAMPLES; i++) {
        TRY(upload(problem, &problem->a, &signal));
        TRY(rung_event_time(event, &up[i]));
        TRY(upload(problem, &problem->b, &signal));
        TRY(rung_event_time(event, &b_ns));
        up[i] += b_ns;
    }
    TRY(upload(problem, &problem->c, NULL));
    for (int i = 0; i < COPY_SAMPLES; i++) {
        TRY(lab_bench_problem_read_c(problem, problem->c.on_device.buffer, 0, &signal));
        TRY(rung_event_time(event, &down[i]));
    }
    problem->h2d_ns = lab_median(up, COPY_SAMPLES);
    problem->d2h_ns = lab_median(down, COPY_SAMPLES);
    return RUNG_OK;
}

/* Makes a bias or a residual of `rows` x `cols`, broadcast to the size of C. */
static rung_status make_addend(const lab_bench_problem *problem, int64_t rows, int64_t cols, uint64_t stream,
                               lab_operand *operand)
{
    TRY(make_operand(problem, problem->product.out, rows, cols, 1, operand));
    lab_fill_small_integers(&operand->on_host, 1, LAB_VERIFY_SEED, stream);
    operand->on_host = rung_matrix_broadcast(operand->on_host, problem->size.m, problem->size.n);
    operand->on_device = rung_matrix_broadcast(operand->on_device, problem->size.m, problem->size.n);
    return upload(problem, operand, NULL);
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
    lab_bias bias = problem->epilogue.bias;
    int64_t m = problem->size.m, n = problem->size.n, k = problem->size.k, batch = problem->batch;
    TRY(make_operand(problem, in, m, k, batch, &problem->a));
    TRY(make_operand(problem, lab_type_pair_b(problem->product), k, n, batch, &problem->b));
    TRY(make_operand(problem, out, m, n, batch, &problem->c));
    if (problem->is_a_column_major)
        set_column_major(&problem->a);
    if (problem->is_b_column_major || lab_type_pair_is_mixed(problem->product)) /* blocks lie along k */
        set_column_major(&problem->b);
    if (bias != LAB_BIAS_NONE)
        TRY(make_addend(problem, bias == LAB_BIAS_COL ? 1 : m, bias == LAB_BIAS_ROW ? 1 : n, 3, &problem->bias));
    if (problem->epilogue.residual)
        TRY(make_addend(problem, m, n, 4, &problem->residual));
    lab_fill_small_integers(&problem->a.on_host, batch, LAB_VERIFY_SEED, 1);
    lab_fill_small_integers(&problem->b.on_host, batch, LAB_VERIFY_SEED, 2);
    return RUNG_OK;
}

lab_bench_problem lab_bench_problem_of(const lab_target *target, const lab_dtype *dtype, lab_shape size)
{
    return (lab_bench_problem){.context = target->context,
                               .device = target->device,
                               .queue = target->queue,
                               .product = dtype->product,
                               .compute = dtype->compute,
                               .size = size,
                               .batch = 1};
}

rung_status lab_bench_problem_create(lab_bench_problem *problem)
{
    TRY(make_operands(problem));
    TRY(rung_event_create(problem->device, &problem->event));
    TRY(time_copies(problem));
    if (!problem->is_cold)
        return RUNG_OK;
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
    rung_event_destroy(problem->event);
    problem->event = NULL;
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
    return (double)problem->size.m * (double)problem->size.n * (double)problem->size.k * (double)problem->batch;
}

double lab_gflops(const lab_bench_problem *problem, int64_t nanoseconds)
{
    return nanoseconds > 0 ? 2.0 * lab_bench_problem_products(problem) / (double)nanoseconds : 0;
}

/* ---- Inputs -------------------------------------------------------------------------------------------- */

#define WORD(name, word, meaning) word,
#define MEANING(name, word, meaning) meaning,
LAB_DEFINE_ENUM_TEXT(lab_inputs_name, lab_inputs, LAB_INPUTS_LIST, WORD)
LAB_DEFINE_ENUM_TEXT(lab_inputs_meaning, lab_inputs, LAB_INPUTS_LIST, MEANING)

lab_inputs lab_inputs_of(const char *word)
{
    lab_inputs inputs = (lab_inputs)0;
    while (inputs < LAB_INPUTS_COUNT && strcmp(lab_inputs_name(inputs), word) != 0)
        inputs++;
    return inputs;
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
        if (lab_type_is_quantized(matrix->type)) {
            lab_fill_blocks(&one, lab_random_normal, seed, stream, &index);
            continue;
        }
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
