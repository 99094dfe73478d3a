/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_gemm.c - rung_cluster_gemm: validation, redistribution to shares, multiplication, and redistribution of C.
 *
 * Ranks agree three times: that all make the same valid call, that each has its memory, and that each has completed its part.
 * Between the last two, a rank that fails must notify the others. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "base/checked_option.h"
#include "base/fnv1a.h"
#include "base/try.h"
#include "base/unsupported_types.h"
#include "base/versioned_struct.h"
#include "cluster/mpi/cluster_epilogue.h"
#include "cluster/mpi/rank_operations.h"
#include "cluster/mpi/redistribute.h"

enum { OPERANDS = 3 };

static const int64_t max_message_bytes_limit = 1 << 30;

/* The caller's report with its grid. */
typedef struct rungi_cluster_report {
    rung_cluster_report public_report; /* first, so that the caller's pointer is also this struct's */
    rung_cluster_grid grid;
} rungi_cluster_report;

typedef struct cluster_call {
    rungi_cluster_comm *comm;
    const rung_cluster_options *caller_options;
    rung_cluster_options options; /* as read, or the defaults */
    rung_status read_status;      /* of reading the options; the other ranks receive it */
    double alpha, beta;
    const rung_cluster_matrix *caller_matrices[OPERANDS];
    rung_cluster_matrix matrices[OPERANDS]; /* as read */
    rungi_cluster_layout layouts[OPERANDS];
    rung_cluster_problem cluster;
    rung_cluster_grid grid;
    rungi_redistribution redistributions[OPERANDS];
    void *shares[OPERANDS];             /* of A, B and of C's sums */
    bool is_allocated[OPERANDS];        /* by this call, not by the caller */
    char *send_buffer, *receive_buffer; /* for packed messages */
    rungi_rank_operations_state operations_state;
    rungi_rank_operations operations;
    rungi_schedule schedule;
    rung_cluster_report report;          /* without the grid */
    rungi_cluster_report *caller_report; /* the caller's; NULL: none */
    bool wants_report;
} cluster_call_t;

/* ---- Validation ------------------------------------------------------------------------ */

static rung_status check_scalar(const char *name, double value, rung_type sum)
{
    if (sum == RUNG_I32 && !rungi_is_int32(value))
        return rungi_invalid("%s is %g; with integer matrices it must be a whole 32-bit number", name, value);
    return RUNG_OK;
}

static rung_status check_options(const rung_cluster_options *options)
{
    if (!(options->timeout_seconds > 0.0))
        return rungi_invalid("timeout_seconds is %g; it must be positive", options->timeout_seconds);
    if (options->max_message_bytes < 1 || options->max_message_bytes > max_message_bytes_limit)
        return rungi_invalid("max_message_bytes is %lld; it must be 1 to 2^30", (long long)options->max_message_bytes);
    if (options->memory_bytes < 0)
        return rungi_invalid("memory_bytes is %lld; it must not be negative (0: unlimited)",
                             (long long)options->memory_bytes);
    TRY(rungi_checked_option_check(options->checked));
    if (options->checked && options->multiply)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "the products of the caller's function `multiply` cannot be checked; leave it NULL, or set "
                          "checked to 0");
    return RUNG_OK;
}

/* Checks that sizes and types match. */
static rung_status check_shapes(cluster_call_t *call)
{
    const rungi_cluster_layout *a = &call->layouts[0], *b = &call->layouts[1], *c = &call->layouts[2];
    rung_type types[] = {call->matrices[0].type, call->matrices[1].type, call->matrices[2].type};
    rung_type sum = rung_accumulator_type(types[0], types[1], types[2]);
    if (a->rows.extent != c->rows.extent || b->cols.extent != c->cols.extent || a->cols.extent != b->rows.extent)
        return rungi_invalid("A is %lld x %lld, B %lld x %lld and C %lld x %lld; A is m x k, B k x n, C m x n",
                             (long long)a->rows.extent, (long long)a->cols.extent, (long long)b->rows.extent,
                             (long long)b->cols.extent, (long long)c->rows.extent, (long long)c->cols.extent);
    if (sum == RUNG_TYPE_NONE)
        return rungi_fail_unsupported_types(types[0], types[1], types[2]);
    TRY(rungi_check_equal_types(types[0], types[1]));
    call->cluster = rung_cluster_problem_of(call->comm->ranks, c->rows.extent, c->cols.extent, a->cols.extent, types[0],
                                            types[1], types[2]);
    call->cluster.max_idle = call->options.max_idle;
    call->cluster.memory_bytes = call->options.memory_bytes;
    TRY(check_scalar("alpha", call->alpha, sum));
    return check_scalar("beta", call->beta, sum);
}

static rung_status choose_grid(cluster_call_t *call)
{
    call->grid = rung_cluster_grid_of(0, 0, 0);
    if (!call->options.grid)
        return rung_cluster_grid_choose(&call->cluster, &call->grid);
    TRY(rungi_cluster_problem_check(&call->cluster));
    TRY(rungi_grid_read(&call->cluster, call->options.grid, &call->grid));
    int64_t memory = rungi_grid_memory(&call->cluster, &call->grid);
    if (call->options.memory_bytes > 0 && memory > call->options.memory_bytes)
        return rungi_fail(RUNG_STATUS_NO_MEMORY,
                          "a grid of %lld x %lld x %lld needs %lld bytes per rank, and a rank has %lld; use "
                          "more ranks, or leave the grid to rung_cluster_grid_choose()",
                          (long long)call->grid.pm, (long long)call->grid.pn, (long long)call->grid.pk,
                          (long long)memory, (long long)call->options.memory_bytes);
    return RUNG_OK;
}

static int64_t share_elements(const cluster_call_t *call, int operand)
{
    return rung_cluster_share_elements(&call->cluster, &call->grid, call->comm->rank, (rung_cluster_operand)operand);
}

/* Checks that this rank's shares have memory. */
static rung_status check_shares(const cluster_call_t *call)
{
    for (int i = 0; i < OPERANDS; i++) {
        const rung_cluster_matrix *matrix = &call->matrices[i];
        int64_t elements = share_elements(call, i);
        if (matrix->layout == RUNG_CLUSTER_LAYOUT_SHARES && elements > 0 && !matrix->data)
            return rungi_invalid("%c: this rank's share has %lld elements and data is NULL", "ABC"[i],
                                 (long long)elements);
    }
    return RUNG_OK;
}

/* Reads the caller's description of one operand. */
static rung_status read_matrix(cluster_call_t *call, int operand)
{
    static const char *const names[] = {"a", "b", "c"};
    if (!call->caller_matrices[operand])
        return rungi_invalid("%c is NULL; a rank without elements describes the matrix too", "ABC"[operand]);
    return rungi_versioned_struct_read(call->caller_matrices[operand], &call->matrices[operand],
                                       sizeof call->matrices[operand], names[operand], "rung_cluster_matrix_of_...");
}

static rung_status read_caller_options(cluster_call_t *call)
{
    return rungi_versioned_struct_read(call->caller_options, &call->options, sizeof call->options, "options",
                                       "rung_cluster_options_default");
}

static rung_status check_call(cluster_call_t *call)
{
    if (call->read_status != RUNG_OK) /* set the message again: rungi_cluster_comm_get() may have replaced it */
        return read_caller_options(call);
    if (call->wants_report && !call->caller_report)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a report");
    TRY(check_options(&call->options));
    for (int i = 0; i < OPERANDS; i++) {
        TRY(read_matrix(call, i));
        TRY(rungi_cluster_layout_open(&call->matrices[i], (rung_cluster_operand)i, call->comm->rank, call->comm->ranks,
                                      &call->layouts[i]));
    }
    TRY(check_shapes(call));
    TRY(choose_grid(call));
    return check_shares(call);
}

/* Returns a hash of everything that must be equal on all ranks. */
static uint64_t call_fingerprint(const cluster_call_t *call)
{
    const rung_cluster_options *options = &call->options;
    const rung_cluster_grid *grid = &call->grid;
    int64_t sizes[] = {grid->pm, grid->pn, grid->pk, grid->a_chunks, grid->b_chunks};
    int64_t limits[] = {options->memory_bytes, options->max_message_bytes, options->checked};
    double reals[] = {call->alpha, call->beta, options->max_idle};
    uint64_t fingerprint = rungi_fnv1a(RUNGI_FNV1A_START, sizes, sizeof sizes);
    fingerprint = rungi_fnv1a(fingerprint, limits, sizeof limits);
    fingerprint = rungi_fnv1a(fingerprint, reals, sizeof reals);
    for (int i = 0; i < OPERANDS; i++)
        fingerprint = rungi_cluster_layout_fingerprint(&call->layouts[i], fingerprint);
    return fingerprint;
}

/* ---- Memory ----------------------------------------------------------------------------------- */

/* Returns whether the sums can be computed in the caller's share of C: there is no epilogue. */
static bool can_sum_in_place(const cluster_call_t *call)
{
    const rung_cluster_matrix *c = &call->matrices[2];
    return c->layout == RUNG_CLUSTER_LAYOUT_SHARES && c->type == rungi_cluster_accumulator_type(&call->cluster) &&
           call->alpha == 1.0 && call->beta == 0.0;
}

static rung_status open_share(cluster_call_t *call, int operand)
{
    const rung_cluster_matrix *matrix = &call->matrices[operand];
    bool is_c = operand == RUNG_CLUSTER_OPERAND_C;
    int64_t size = is_c ? rungi_cluster_sum_element_bytes(&call->cluster)
                        : rungi_cluster_input_element_bytes(&call->cluster);
    int64_t bytes = size * share_elements(call, operand);
    if (is_c ? can_sum_in_place(call) : matrix->layout == RUNG_CLUSTER_LAYOUT_SHARES) {
        call->shares[operand] = matrix->data;
    } else if (bytes > 0) {
        call->shares[operand] = rungi_cluster_comm_allocate(call->comm, bytes);
        call->is_allocated[operand] = true;
        if (!call->shares[operand])
            return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for %lld bytes of a share of %c; use more ranks",
                              (long long)bytes, "ABC"[operand]);
    }
    if (matrix->layout == RUNG_CLUSTER_LAYOUT_SHARES)
        return RUNG_OK;
    call->redistributions[operand] = (rungi_redistribution){.comm = call->comm,
                                                            .layout = &call->layouts[operand],
                                                            .element_bytes = size,
                                                            .max_message_bytes = call->options.max_message_bytes};
    return rungi_redistribution_open(&call->redistributions[operand], &call->cluster, &call->grid,
                                     (rung_cluster_operand)operand);
}

/* Allocates one send and one receive buffer: the operands are redistributed one after another. */
static rung_status open_messages(cluster_call_t *call)
{
    int64_t out = 0, in = 0;
    for (int i = 0; i < OPERANDS; i++) {
        int64_t blocks = call->redistributions[i].block_messages.bytes,
                shares = call->redistributions[i].share_messages.bytes;
        bool is_c = i == RUNG_CLUSTER_OPERAND_C;
        out = rungi_max(out, is_c ? shares : blocks);
        in = rungi_max(in, is_c ? blocks : shares);
    }
    call->send_buffer = rungi_cluster_comm_allocate(call->comm, out);
    call->receive_buffer = rungi_cluster_comm_allocate(call->comm, in);
    if ((out > 0 && !call->send_buffer) || (in > 0 && !call->receive_buffer))
        return rungi_fail(
            RUNG_STATUS_NO_MEMORY,
            "no memory for %lld bytes to redistribute matrices; use more ranks, or keep the matrices as shares",
            (long long)out + in);
    return RUNG_OK;
}

static rung_status prepare_call(cluster_call_t *call)
{
    for (int i = 0; i < OPERANDS; i++)
        TRY(open_share(call, i));
    TRY(open_messages(call));
    call->operations_state = (rungi_rank_operations_state){.comm = call->comm,
                                                           .options = &call->options,
                                                           .input_type = call->matrices[0].type,
                                                           .sum_type = rungi_cluster_accumulator_type(&call->cluster)};
    call->operations = rungi_rank_operations_of(&call->operations_state, call->options.max_message_bytes);
    call->schedule = (rungi_schedule){.comm = call->comm->data_comm,
                                      .rank = call->comm->rank,
                                      .cluster = &call->cluster,
                                      .grid = &call->grid,
                                      .operations = &call->operations,
                                      .a = call->shares[0],
                                      .b = call->shares[1],
                                      .c = call->shares[2]};
    return rungi_schedule_prepare(&call->schedule);
}

static void close_call(cluster_call_t *call)
{
    rungi_schedule_free(&call->schedule);
    rungi_cluster_comm_release(call->comm, call->send_buffer);
    rungi_cluster_comm_release(call->comm, call->receive_buffer);
    for (int i = 0; i < OPERANDS; i++) {
        if (call->is_allocated[i])
            rungi_cluster_comm_release(call->comm, call->shares[i]);
        rungi_redistribution_close(&call->redistributions[i]);
        rungi_cluster_layout_close(&call->layouts[i]);
    }
}

/* ---- Running --------------------------------------------------------------------------------- */

/* Computes C = beta * C in place. */
static void scale_c(const cluster_call_t *call)
{
    const rungi_cluster_layout *layout = &call->layouts[2];
    rung_type sum = rungi_cluster_accumulator_type(&call->cluster);
    for (int64_t i = layout->rows.first_own; i < layout->rows.blocks; i += layout->rows.own_step)
        for (int64_t j = layout->cols.first_own; j < layout->cols.blocks; j += layout->cols.own_step)
            if (rungi_cluster_layout_owner(layout, i, j) == call->comm->rank) {
                rung_matrix view = rungi_cluster_layout_view(layout, i, j);
                rungi_cluster_epilogue_apply(sum, view.type, view.rows, view.cols, 0.0, (rungi_strided){0}, call->beta,
                                             rungi_strided_of(&view, 0, 0));
            }
}

/* Computes the share of C from `sums`; NULL: C = beta * C. */
static void apply_epilogue_to_share(const cluster_call_t *call, const void *sums)
{
    const rung_cluster_matrix *c = &call->matrices[2];
    int64_t elements = share_elements(call, RUNG_CLUSTER_OPERAND_C);
    rungi_cluster_epilogue_apply(rungi_cluster_accumulator_type(&call->cluster), c->type, 1, elements, call->alpha,
                                 (rungi_strided){(char *)sums, elements, 1}, call->beta,
                                 (rungi_strided){c->data, elements, 1});
}

static rung_status redistribute_inputs(cluster_call_t *call)
{
    for (int i = 0; i < 2; i++)
        if (call->matrices[i].layout != RUNG_CLUSTER_LAYOUT_SHARES)
            TRY(rungi_redistribution_to_shares(&call->redistributions[i], call->send_buffer, call->receive_buffer,
                                               call->shares[i]));
    return RUNG_OK;
}

static rung_status redistribute_result(cluster_call_t *call)
{
    if (call->matrices[2].layout != RUNG_CLUSTER_LAYOUT_SHARES)
        return rungi_redistribution_from_shares(
            &call->redistributions[2], call->send_buffer, call->receive_buffer, call->shares[2],
            (rungi_scaling){call->operations_state.sum_type, call->alpha, call->beta});
    if (!can_sum_in_place(call))
        apply_epilogue_to_share(call, call->shares[2]);
    return RUNG_OK;
}

/* Runs one of the two functions above and adds its time to the report. */
static rung_status timed(cluster_call_t *call, rung_status (*redistribute)(cluster_call_t *call))
{
    double start = rungi_cluster_now_seconds();
    rung_status status = redistribute(call);
    call->report.redistribute_seconds += rungi_cluster_now_seconds() - start;
    return status;
}

/* A rank whose multiplication failed has sent all messages that others wait for, and continues with them to the end. */
static rung_status multiply(cluster_call_t *call)
{
    TRY(timed(call, redistribute_inputs));
    rung_status multiplied = rungi_schedule_run(&call->schedule);
    /* Notify the ranks that wait for messages that were not sent. */
    if (rungi_schedule_is_broken(&call->schedule))
        rungi_cluster_comm_break(call->comm, multiplied);
    if (call->comm->is_broken)
        return multiplied != RUNG_OK ? multiplied : rungi_cluster_comm_status(call->comm);
    char text[4096]; /* as long as rung_error_text() can be */
    snprintf(text, sizeof text, "%s", multiplied == RUNG_OK ? "" : rung_error_text());
    rung_status status = timed(call, redistribute_result);
    if (status == RUNG_OK && multiplied != RUNG_OK)
        status = rungi_fail(multiplied, "%s", text);
    return status;
}

static rung_status run_call(cluster_call_t *call)
{
    rung_status status = check_call(call);
    TRY(rungi_cluster_comm_agree(call->comm, status, status == RUNG_OK ? call_fingerprint(call) : 0));
    const rung_cluster_problem *cluster = &call->cluster;
    if (call->alpha == 0.0 || cluster->m == 0 || cluster->n == 0 || cluster->k == 0) { /* C = beta * C */
        if (call->matrices[2].layout == RUNG_CLUSTER_LAYOUT_SHARES)
            apply_epilogue_to_share(call, NULL);
        else
            scale_c(call);
        return RUNG_OK;
    }
    TRY(rungi_cluster_comm_agree(call->comm, prepare_call(call), 0));
    status = multiply(call);
    if (call->comm->is_broken)
        return status != RUNG_OK ? status : rungi_cluster_comm_status(call->comm);
    return rungi_cluster_comm_agree(call->comm, status, 0);
}

/* ---- The call --------------------------------------------------------------------------------- */

static void read_options(cluster_call_t *call)
{
    call->options = rung_cluster_options_default();
    if (!call->caller_options)
        return;
    call->read_status = read_caller_options(call);
    if (call->read_status != RUNG_OK)
        call->options = rung_cluster_options_default();
}

static void write_report(cluster_call_t *call, double seconds)
{
    rung_cluster_report *report = &call->report;
    if (!call->caller_report)
        return;
    report->grid = &call->caller_report->grid;
    report->received_bytes = call->schedule.traffic.bytes;
    report->messages = call->schedule.traffic.messages;
    for (int i = 0; i < OPERANDS; i++)
        report->redistributed_bytes += call->redistributions[i].received_bytes;
    report->seconds = seconds;
    report->multiply_seconds = call->operations_state.multiply_seconds;
    report->corrected = call->operations_state.corrected;
    call->caller_report->public_report = *report;
    call->caller_report->grid = call->grid;
    call->caller_report->grid.size = sizeof call->grid;
}

rung_status rung_cluster_gemm(MPI_Comm comm, double alpha, const rung_cluster_matrix *a, const rung_cluster_matrix *b,
                              double beta, const rung_cluster_matrix *c, const rung_cluster_options *options,
                              rung_cluster_report **report)
{
    RUNGI_DISABLE_CANCELLATION;
    cluster_call_t call = {.caller_options = options,
                           .alpha = alpha,
                           .beta = beta,
                           .caller_matrices = {a, b, c},
                           .wants_report = report != NULL};
    double start = rungi_cluster_now_seconds();
    /* Errors up to here are sent to the other ranks before this rank returns, because they wait for it. */
    read_options(&call);
    call.caller_report = report ? calloc(1, sizeof *call.caller_report) : NULL;
    double timeout = call.options.timeout_seconds > 0.0 ? call.options.timeout_seconds : 300.0;
    rung_status status = rungi_cluster_comm_get(comm, timeout, &call.comm);
    bool is_connected = status == RUNG_OK;
    if (is_connected) {
        status = run_call(&call);
        call.report.wait_seconds = call.comm->wait_seconds;
    }
    write_report(&call, rungi_cluster_now_seconds() - start);
    if (is_connected)
        close_call(&call);
    if (report)
        *report = call.caller_report ? &call.caller_report->public_report : NULL;
    return status;
}

void rung_cluster_report_destroy(rung_cluster_report *report)
{
    free(report); /* the first member of rungi_cluster_report */
}
