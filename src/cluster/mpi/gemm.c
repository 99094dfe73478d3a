/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - rung_cluster_gemm: everything checked, all agreed, into shares, multiplied, and back.
 *
 * Ranks agree three times: that all mean the same call and nothing is wrong with it, that each has its memory, and
 * that each has done its part. Between the last two nobody may leave without telling the others. */
#include <stdio.h>
#include <stdlib.h>

#include "cluster/mpi/exchange.h"
#include "cluster/mpi/finish.h"
#include "cluster/mpi/local.h"
#include "core/by_size.h"
#include "core/cancel.h"
#include "core/checked.h"
#include "core/sum_type.h"

enum { OPERANDS = 3 };

static const int64_t message_max = 1 << 30;

/* What a caller gets. */
typedef struct rungi_report {
    rung_cluster_report shown; /* first: the caller's pointer is to it */
    rung_cluster_grid grid;
} rungi_report;

typedef struct call {
    rungi_team *team;
    const rung_cluster_options *given_options;
    rung_cluster_options options; /* as read, or the defaults */
    rung_status read_status;      /* of reading the options: told to the other ranks */
    double alpha, beta;
    const rung_cluster_matrix *given[OPERANDS];
    rung_cluster_matrix read[OPERANDS];
    const rung_cluster_matrix *matrices[OPERANDS]; /* as read */
    rungi_layout layouts[OPERANDS];
    rung_cluster_problem cluster;
    rung_cluster_grid grid;
    rungi_route routes[OPERANDS];
    void *shares[OPERANDS]; /* of A, B and of C's sums */
    bool is_own[OPERANDS];  /* not the caller's memory */
    char *out, *in;         /* where messages are packed */
    rungi_machine machine;
    rungi_local local;
    rungi_duty job;
    rung_cluster_report report; /* without the grid */
    rungi_report *wanted;       /* the caller's; NULL: none */
    bool wants_report;
} call_t;

/* ---- What can be wrong ------------------------------------------------------------------------ */

static rung_status check_scalar(const char *name, double value, rung_type sum)
{
    if (sum == RUNG_I32 && !rungi_is_int32(value))
        return rung_error_set(RUNG_STATUS_INVALID, "%s is %g; with integer matrices it must be a whole 32-bit number",
                              name, value);
    return RUNG_OK;
}

static rung_status check_options(const rung_cluster_options *options)
{
    if (!(options->timeout_seconds > 0.0))
        return rung_error_set(RUNG_STATUS_INVALID, "timeout_seconds is %g; it must be positive",
                              options->timeout_seconds);
    if (options->max_message_bytes < 1 || options->max_message_bytes > message_max)
        return rung_error_set(RUNG_STATUS_INVALID, "max_message_bytes is %lld; it must be 1 to 2^30",
                              (long long)options->max_message_bytes);
    if (options->memory_bytes < 0)
        return rung_error_set(RUNG_STATUS_INVALID, "memory_bytes is %lld; it must not be negative (0: unlimited)",
                              (long long)options->memory_bytes);
    return RUNG_OK;
}

/* Sizes and types fit together. */
static rung_status check_shapes(call_t *call)
{
    const rungi_layout *a = &call->layouts[0], *b = &call->layouts[1], *c = &call->layouts[2];
    rung_type types[] = {call->matrices[0]->type, call->matrices[1]->type, call->matrices[2]->type};
    rung_type sum = rung_accumulator_type(types[0], types[1], types[2]);
    if (a->rows.extent != c->rows.extent || b->cols.extent != c->cols.extent || a->cols.extent != b->rows.extent)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "A is %lld x %lld, B %lld x %lld and C %lld x %lld; A is m x k, B k x n, C m x n",
                              (long long)a->rows.extent, (long long)a->cols.extent, (long long)b->rows.extent,
                              (long long)b->cols.extent, (long long)c->rows.extent, (long long)c->cols.extent);
    if (sum == RUNG_TYPE_NONE)
        return rungi_refuse_types(types[0], types[1], types[2]);
    call->cluster = rung_cluster_problem_of(call->team->ranks, c->rows.extent, c->cols.extent, a->cols.extent, types[0],
                                            types[1], types[2]);
    call->cluster.max_idle = call->options.max_idle;
    call->cluster.memory_bytes = call->options.memory_bytes;
    rung_status status = check_scalar("alpha", call->alpha, sum);
    return status == RUNG_OK ? check_scalar("beta", call->beta, sum) : status;
}

/* Whether there is anything to multiply. Without, C is scaled where it lies. */
static bool has_product(const call_t *call)
{
    return call->alpha != 0.0 && call->cluster.m > 0 && call->cluster.n > 0 && call->cluster.k > 0;
}

static rung_status choose_grid(call_t *call)
{
    call->grid = rung_cluster_grid_of(0, 0, 0);
    if (!call->options.grid)
        return rung_cluster_grid_choose(&call->cluster, &call->grid);
    rung_status status = rungi_cluster_check(&call->cluster);
    if (status == RUNG_OK)
        status = rungi_grid_read(&call->cluster, call->options.grid, &call->grid);
    if (status != RUNG_OK)
        return status;
    int64_t memory = rungi_grid_memory(&call->cluster, &call->grid);
    if (call->options.memory_bytes > 0 && memory > call->options.memory_bytes)
        return rung_error_set(RUNG_STATUS_NO_MEMORY,
                              "a grid of %lld x %lld x %lld needs %lld bytes per rank, and a rank has %lld; use "
                              "more ranks, or leave the grid to rung_cluster_grid_choose()",
                              (long long)call->grid.pm, (long long)call->grid.pn, (long long)call->grid.pk,
                              (long long)memory, (long long)call->options.memory_bytes);
    return RUNG_OK;
}

/* Shares are there, of as many elements as the grid has for this rank. */
static rung_status check_shares(const call_t *call)
{
    for (int i = 0; i < OPERANDS; i++) {
        const rung_cluster_matrix *matrix = call->matrices[i];
        int64_t elements = rung_cluster_share_elements(&call->cluster, &call->grid, call->team->rank,
                                                       (rung_cluster_operand)i);
        if (matrix->layout == RUNG_CLUSTER_LAYOUT_SHARES && elements > 0 && !matrix->data)
            return rung_error_set(RUNG_STATUS_INVALID, "%c: this rank's share has %lld elements and data is NULL",
                                  "ABC"[i], (long long)elements);
    }
    return RUNG_OK;
}

/* Reads the caller's description of one operand. */
static rung_status read_matrix(call_t *call, int operand)
{
    static const char *const names[] = {"a", "b", "c"};
    call->matrices[operand] = &call->read[operand];
    if (!call->given[operand])
        return rung_error_set(RUNG_STATUS_INVALID, "%c is NULL; a rank without elements describes the matrix too",
                              "ABC"[operand]);
    return rungi_struct_read(call->given[operand], &call->read[operand], sizeof call->read[operand], names[operand],
                             "rung_cluster_matrix_of_...");
}

static rung_status check(call_t *call)
{
    rung_status status = call->read_status;
    if (status != RUNG_OK) /* the sentence is another one's by now: rungi_team_of may have set one */
        status = rungi_struct_read(call->given_options, &call->options, sizeof call->options, "options",
                                   "rung_cluster_options_default");
    if (status == RUNG_OK && call->wants_report && !call->wanted)
        status = rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a report");
    if (status == RUNG_OK)
        status = check_options(&call->options);
    for (int i = 0; status == RUNG_OK && i < OPERANDS; i++) {
        status = read_matrix(call, i);
        if (status == RUNG_OK)
            status = rungi_layout_open(call->matrices[i], (rung_cluster_operand)i, call->team->rank, call->team->ranks,
                                       &call->layouts[i]);
    }
    if (status == RUNG_OK)
        status = check_shapes(call);
    if (status == RUNG_OK)
        status = choose_grid(call);
    return status == RUNG_OK ? check_shares(call) : status;
}

/* What all ranks should say alike. */
static uint64_t sign(const call_t *call)
{
    const rung_cluster_options *options = &call->options;
    int64_t numbers[] = {call->grid.pm,
                         call->grid.pn,
                         call->grid.pk,
                         call->grid.a_chunks,
                         call->grid.b_chunks,
                         options->memory_bytes,
                         options->max_message_bytes};
    double reals[] = {call->alpha, call->beta, options->max_idle};
    uint64_t signature = rungi_signature(0xcbf29ce484222325u, numbers, sizeof numbers);
    signature = rungi_signature(signature, reals, sizeof reals);
    for (int i = 0; i < OPERANDS; i++)
        signature = rungi_layout_signature(&call->layouts[i], signature);
    return signature;
}

/* ---- Memory ----------------------------------------------------------------------------------- */

/* Sums may be made in the caller's own share of C if nothing is to be done to them. */
static bool sums_in_place(const call_t *call)
{
    const rung_cluster_matrix *c = call->matrices[2];
    return c->layout == RUNG_CLUSTER_LAYOUT_SHARES && c->type == rungi_sum_type_of(&call->cluster) &&
           call->alpha == 1.0 && call->beta == 0.0;
}

static int64_t element_bytes(const call_t *call, int operand)
{
    return operand == RUNG_CLUSTER_OPERAND_C ? rungi_sum_bytes(&call->cluster) : rungi_in_bytes(&call->cluster);
}

static rung_status open_share(call_t *call, int operand)
{
    const rung_cluster_matrix *matrix = call->matrices[operand];
    int64_t size = element_bytes(call, operand);
    int64_t bytes = size * rung_cluster_share_elements(&call->cluster, &call->grid, call->team->rank,
                                                       (rung_cluster_operand)operand);
    bool is_c = operand == RUNG_CLUSTER_OPERAND_C;
    if (is_c ? sums_in_place(call) : matrix->layout == RUNG_CLUSTER_LAYOUT_SHARES) {
        call->shares[operand] = matrix->data;
    } else if (bytes > 0) {
        call->shares[operand] = rungi_team_allocate(call->team, bytes);
        call->is_own[operand] = true;
        if (!call->shares[operand])
            return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for %lld bytes of a share of %c; use more ranks",
                                  (long long)bytes, "ABC"[operand]);
    }
    if (matrix->layout == RUNG_CLUSTER_LAYOUT_SHARES)
        return RUNG_OK;
    call->routes[operand] = (rungi_route){.team = call->team,
                                          .layout = &call->layouts[operand],
                                          .size = size,
                                          .message_bytes = call->options.max_message_bytes};
    return rungi_route_open(&call->routes[operand], &call->cluster, &call->grid, (rung_cluster_operand)operand);
}

/* One memory for what leaves and one for what comes: the operands go one after the other. */
static rung_status open_messages(call_t *call)
{
    int64_t out = 0, in = 0;
    for (int i = 0; i < OPERANDS; i++) {
        const rungi_route *route = &call->routes[i];
        int64_t leaves = i == RUNG_CLUSTER_OPERAND_C ? route->of_share.bytes : route->of_blocks.bytes;
        int64_t comes = i == RUNG_CLUSTER_OPERAND_C ? route->of_blocks.bytes : route->of_share.bytes;
        out = leaves > out ? leaves : out;
        in = comes > in ? comes : in;
    }
    call->out = rungi_team_allocate(call->team, out);
    call->in = rungi_team_allocate(call->team, in);
    if ((out > 0 && !call->out) || (in > 0 && !call->in))
        return rung_error_set(RUNG_STATUS_NO_MEMORY,
                              "no memory for %lld bytes to redistribute matrices; use more ranks, or "
                              "keep the matrices as shares",
                              (long long)out + in);
    return RUNG_OK;
}

static rung_status prepare(call_t *call)
{
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < OPERANDS; i++)
        status = open_share(call, i);
    if (status == RUNG_OK)
        status = open_messages(call);
    if (status != RUNG_OK)
        return status;
    call->machine = (rungi_machine){.team = call->team,
                                    .options = &call->options,
                                    .in = call->matrices[0]->type,
                                    .sum = rungi_sum_type_of(&call->cluster)};
    call->local = rungi_local_of(&call->machine, call->options.max_message_bytes);
    call->job = (rungi_duty){.comm = call->team->comm,
                             .rank = call->team->rank,
                             .cluster = &call->cluster,
                             .grid = &call->grid,
                             .local = &call->local,
                             .a = call->shares[0],
                             .b = call->shares[1],
                             .c = call->shares[2]};
    return rungi_duty_prepare(&call->job);
}

static void close_call(call_t *call)
{
    rungi_duty_free(&call->job);
    rungi_team_release(call->team, call->out);
    rungi_team_release(call->team, call->in);
    for (int i = 0; i < OPERANDS; i++) {
        if (call->is_own[i])
            rungi_team_release(call->team, call->shares[i]);
        rungi_route_close(&call->routes[i]);
        rungi_layout_close(&call->layouts[i]);
    }
}

/* ---- The work --------------------------------------------------------------------------------- */

/* C where it lies, of no sums: beta * C. */
static void scale_blocks(const call_t *call)
{
    const rungi_layout *layout = &call->layouts[2];
    rung_type sum = rungi_sum_type_of(&call->cluster);
    for (int64_t i = layout->rows.own; i < layout->rows.blocks; i += layout->rows.step)
        for (int64_t j = layout->cols.own; j < layout->cols.blocks; j += layout->cols.step)
            if (rungi_layout_owner(layout, i, j) == call->team->rank) {
                rung_matrix view = rungi_layout_view(layout, i, j);
                rungi_finish(sum, view.type, view.rows, view.cols, 0.0, (rungi_strided){0}, call->beta,
                             rungi_strided_of(&view, 0, 0));
            }
}

/* The same of a share, of these sums or of none. */
static void finish_share(const call_t *call, const void *sums)
{
    const rung_cluster_matrix *c = call->matrices[2];
    int64_t elements = rung_cluster_share_elements(&call->cluster, &call->grid, call->team->rank,
                                                   RUNG_CLUSTER_OPERAND_C);
    rungi_finish(rungi_sum_type_of(&call->cluster), c->type, 1, elements, call->alpha,
                 (rungi_strided){(char *)sums, elements, 1}, call->beta, (rungi_strided){c->data, elements, 1});
}

static rung_status gather(call_t *call)
{
    rung_status status = RUNG_OK;
    double start = rungi_seconds();
    for (int i = 0; status == RUNG_OK && i < 2; i++)
        if (call->matrices[i]->layout != RUNG_CLUSTER_LAYOUT_SHARES)
            status = rungi_route_gather(&call->routes[i], call->out, call->in, call->shares[i]);
    call->report.redistribute_seconds += rungi_seconds() - start;
    return status;
}

static rung_status put_back(call_t *call)
{
    rung_status status = RUNG_OK;
    double start = rungi_seconds();
    if (call->matrices[2]->layout != RUNG_CLUSTER_LAYOUT_SHARES)
        status = rungi_route_return(&call->routes[2], call->out, call->in, call->shares[2],
                                    (rungi_scaling){call->machine.sum, call->alpha, call->beta});
    else if (!sums_in_place(call))
        finish_share(call, call->shares[2]);
    call->report.redistribute_seconds += rungi_seconds() - start;
    return status;
}

/* A rank whose multiply failed has sent all that others wait for; it goes on to the end with them. */
static rung_status multiply(call_t *call)
{
    rung_status status = gather(call);
    if (status != RUNG_OK)
        return status;
    rung_status multiplied = rungi_duty_run(&call->job);
    /* Messages that others wait for were not sent: they must not wait. */
    if (rungi_duty_is_broken(&call->job))
        rungi_team_break(call->team, multiplied);
    if (call->team->is_broken)
        return multiplied != RUNG_OK ? multiplied : rungi_team_failed(call->team);
    char text[4096]; /* as long as rung_error_text() can be */
    snprintf(text, sizeof text, "%s", multiplied == RUNG_OK ? "" : rung_error_text());
    status = put_back(call);
    if (status == RUNG_OK && multiplied != RUNG_OK)
        status = rung_error_set(multiplied, "%s", text);
    return status;
}

static rung_status run(call_t *call)
{
    rung_status status = check(call);
    status = rungi_team_agree(call->team, status, status == RUNG_OK ? sign(call) : 0);
    if (status != RUNG_OK)
        return status;
    if (!has_product(call)) {
        if (call->matrices[2]->layout == RUNG_CLUSTER_LAYOUT_SHARES)
            finish_share(call, NULL);
        else
            scale_blocks(call);
        return RUNG_OK;
    }
    status = rungi_team_agree(call->team, prepare(call), 0);
    if (status != RUNG_OK)
        return status;
    status = multiply(call);
    if (call->team->is_broken)
        return status != RUNG_OK ? status : rungi_team_failed(call->team);
    return rungi_team_agree(call->team, status, 0);
}

/* ---- The call --------------------------------------------------------------------------------- */

static void read_options(call_t *call)
{
    call->options = rung_cluster_options_default();
    if (!call->given_options)
        return;
    call->read_status = rungi_struct_read(call->given_options, &call->options, sizeof call->options, "options",
                                          "rung_cluster_options_default");
    if (call->read_status != RUNG_OK)
        call->options = rung_cluster_options_default();
}

static void write_report(call_t *call, double seconds)
{
    rung_cluster_report *report = &call->report;
    if (!call->wanted)
        return;
    report->grid = &call->wanted->grid;
    report->received_bytes = call->job.traffic.bytes;
    report->messages = call->job.traffic.messages;
    for (int i = 0; i < OPERANDS; i++)
        report->redistributed_bytes += call->routes[i].received;
    report->seconds = seconds;
    report->multiply_seconds = call->machine.multiplied;
    call->wanted->shown = *report;
    call->wanted->grid = call->grid;
    call->wanted->grid.size = sizeof call->grid;
}

rung_status rung_cluster_gemm(MPI_Comm comm, double alpha, const rung_cluster_matrix *a, const rung_cluster_matrix *b,
                              double beta, const rung_cluster_matrix *c, const rung_cluster_options *options,
                              rung_cluster_report **report)
{
    RUNGI_DISABLE_CANCELLATION;
    call_t call = {
        .given_options = options, .alpha = alpha, .beta = beta, .given = {a, b, c}, .wants_report = report != NULL};
    double start = rungi_seconds();
    /* What is wrong here is told to the other ranks before this one returns: they wait for it. */
    read_options(&call);
    call.wanted = report ? calloc(1, sizeof *call.wanted) : NULL;
    double timeout = call.options.timeout_seconds > 0.0 ? call.options.timeout_seconds : 300.0;
    rung_status status = rungi_team_of(comm, timeout, &call.team);
    if (status == RUNG_OK) {
        status = run(&call);
        call.report.wait_seconds = call.team->waited;
        write_report(&call, rungi_seconds() - start);
        close_call(&call);
    } else {
        write_report(&call, rungi_seconds() - start);
    }
    if (report)
        *report = call.wanted ? &call.wanted->shown : NULL;
    return status;
}

void rung_cluster_report_destroy(rung_cluster_report *report)
{
    free(report); /* the first member of its rungi_report */
}
