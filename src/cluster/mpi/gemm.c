/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - rung_cluster_gemm: everything checked, all agreed, into shares, multiplied, and back.
 *
 * Ranks agree three times: that all mean the same call and nothing is wrong with it, that each has its memory, and
 * that each has done its part. Between the last two nobody may leave without telling the others. */
#include <stdio.h>

#include "core/cancel.h"
#include "core/checked.h"
#include "cluster/mpi/exchange.h"
#include "cluster/mpi/finish.h"
#include "cluster/mpi/local.h"

enum { OPERANDS = 3 };

static const int64_t message_max = 1 << 30;

typedef struct call {
    rungi_team            *team;
    rung_cluster_options       options; /* with all that was left out */
    double                 alpha, beta;
    const rung_cluster_matrix *matrices[OPERANDS];
    rungi_layout           layouts[OPERANDS];
    rung_cluster_problem           cluster;
    rung_cluster_grid              grid;
    rungi_route            routes[OPERANDS];
    void                  *shares[OPERANDS]; /* of A, B and of C's sums */
    bool                   is_own[OPERANDS]; /* not the caller's memory */
    char                  *out, *in;         /* where messages are packed */
    rungi_machine          machine;
    rungi_local            local;
    rungi_duty              job;
    rung_cluster_report        report;
} call;

/* ---- What can be wrong ------------------------------------------------------------------------ */

static rung_status check_scalar(const char *name, double value, rung_type sum)
{
    if (sum == RUNG_I32 && !rungi_is_int32(value))
        return rung_error_set(RUNG_STATUS_INVALID, "%s is %g; with integer matrices it must be a whole 32-bit number", name, value);
    return RUNG_OK;
}

static rung_status check_options(const rung_cluster_options *options)
{
    if (!(options->silence > 0.0))
        return rung_error_set(RUNG_STATUS_INVALID, "a rank would be lost after %g s of silence; give it some, or 0 for 300",
                         options->silence);
    if (options->message_bytes < 1 || options->message_bytes > message_max)
        return rung_error_set(RUNG_STATUS_INVALID, "messages of %lld bytes at most; 1 to 2^30, or 0 for that",
                         (long long)options->message_bytes);
    if (options->memory < 0)
        return rung_error_set(RUNG_STATUS_INVALID, "a rank has %lld bytes of memory; 0 stands for enough", (long long)options->memory);
    return RUNG_OK;
}

/* Sizes and types fit together. */
static rung_status check_shapes(call *call)
{
    const rungi_layout *a = &call->layouts[0], *b = &call->layouts[1], *c = &call->layouts[2];
    rung_product product = rung_product_of(call->matrices[0]->type, call->matrices[2]->type);
    if (a->rows.extent != c->rows.extent || b->cols.extent != c->cols.extent || a->cols.extent != b->rows.extent)
        return rung_error_set(RUNG_STATUS_INVALID, "A is %lld x %lld, B %lld x %lld and C %lld x %lld; A is m x k, B k x n, C m x n",
                         (long long)a->rows.extent, (long long)a->cols.extent, (long long)b->rows.extent,
                         (long long)b->cols.extent, (long long)c->rows.extent, (long long)c->cols.extent);
    if (call->matrices[0]->type != call->matrices[1]->type || product == RUNG_PRODUCT_COUNT)
        return rung_error_set(RUNG_STATUS_INVALID, "%s times %s into %s is no product; see RUNG_PRODUCT_LIST",
                         rung_type_name(call->matrices[0]->type), rung_type_name(call->matrices[1]->type),
                         rung_type_name(call->matrices[2]->type));
    call->cluster = (rung_cluster_problem){.ranks = call->team->ranks, .m = c->rows.extent, .n = c->cols.extent,
                                   .k = a->cols.extent, .product = product, .idle = call->options.idle,
                                   .memory = call->options.memory};
    rung_status status = check_scalar("alpha", call->alpha, rung_product_sum(product));
    return status == RUNG_OK ? check_scalar("beta", call->beta, rung_product_sum(product)) : status;
}

/* Whether there is anything to multiply. Without, C is scaled where it lies. */
static bool has_product(const call *call)
{
    return call->alpha != 0.0 && call->cluster.m > 0 && call->cluster.n > 0 && call->cluster.k > 0;
}

static rung_status choose_grid(call *call)
{
    if (!call->options.grid)
        return rung_cluster_grid_choose(&call->cluster, &call->grid);
    call->grid = *call->options.grid;
    rung_status status = rungi_grid_check(&call->cluster, &call->grid);
    if (status != RUNG_OK)
        return status;
    int64_t memory = rungi_grid_memory(&call->cluster, &call->grid);
    if (call->options.memory > 0 && memory > call->options.memory)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "a grid of %lld x %lld x %lld needs %lld bytes a rank, and there are %lld; take more "
                         "ranks, or leave the grid to rung_cluster_grid_choose", (long long)call->grid.pm, (long long)call->grid.pn,
                         (long long)call->grid.pk, (long long)memory, (long long)call->options.memory);
    return RUNG_OK;
}

/* Shares are there, of as many elements as the grid has for this rank. */
static rung_status check_shares(const call *call)
{
    for (int i = 0; i < OPERANDS; i++) {
        const rung_cluster_matrix *matrix = call->matrices[i];
        int64_t elements = rung_cluster_share_elements(&call->cluster, &call->grid, call->team->rank, (rung_cluster_operand)i);
        if (matrix->kind == RUNG_CLUSTER_LAYOUT_SHARES && elements > 0 && !matrix->data)
            return rung_error_set(RUNG_STATUS_INVALID, "%c's share has %lld elements on this rank, and no memory: data is NULL", "ABC"[i],
                             (long long)elements);
    }
    return RUNG_OK;
}

static rung_status check(call *call)
{
    rung_status status = check_options(&call->options);
    for (int i = 0; status == RUNG_OK && i < OPERANDS; i++) {
        if (!call->matrices[i])
            return rung_error_set(RUNG_STATUS_INVALID, "%c is NULL; a rank without elements describes it too", "ABC"[i]);
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
static uint64_t sign(const call *call)
{
    const rung_cluster_options *options = &call->options;
    int64_t numbers[] = {call->grid.pm, call->grid.pn, call->grid.pk, call->grid.sm, call->grid.sn, options->memory,
                         options->message_bytes};
    double reals[] = {call->alpha, call->beta, options->idle};
    uint64_t signature = rungi_signature(0xcbf29ce484222325u, numbers, sizeof numbers);
    signature = rungi_signature(signature, reals, sizeof reals);
    for (int i = 0; i < OPERANDS; i++)
        signature = rungi_layout_signature(&call->layouts[i], signature);
    return signature;
}

/* ---- Memory ----------------------------------------------------------------------------------- */

/* Sums may be made in the caller's own share of C if nothing is to be done to them. */
static bool sums_in_place(const call *call)
{
    const rung_cluster_matrix *c = call->matrices[2];
    return c->kind == RUNG_CLUSTER_LAYOUT_SHARES && c->type == rung_product_sum(call->cluster.product) && call->alpha == 1.0 &&
           call->beta == 0.0;
}

static int64_t element_bytes(const call *call, int operand)
{
    return operand == RUNG_CLUSTER_OPERAND_C ? rungi_sum_bytes(&call->cluster) : rungi_in_bytes(&call->cluster);
}

static rung_status open_share(call *call, int operand)
{
    const rung_cluster_matrix *matrix = call->matrices[operand];
    int64_t size = element_bytes(call, operand);
    int64_t bytes = size * rung_cluster_share_elements(&call->cluster, &call->grid, call->team->rank, (rung_cluster_operand)operand);
    bool is_c = operand == RUNG_CLUSTER_OPERAND_C;
    if (is_c ? sums_in_place(call) : matrix->kind == RUNG_CLUSTER_LAYOUT_SHARES) {
        call->shares[operand] = matrix->data;
    } else if (bytes > 0) {
        call->shares[operand] = rungi_team_allocate(call->team, bytes);
        call->is_own[operand] = true;
        if (!call->shares[operand])
            return rung_error_set(RUNG_STATUS_NO_MEMORY, "%lld bytes for a share of %c are not there; take more ranks", (long long)bytes,
                             "ABC"[operand]);
    }
    if (matrix->kind == RUNG_CLUSTER_LAYOUT_SHARES)
        return RUNG_OK;
    call->routes[operand] = (rungi_route){.team = call->team, .layout = &call->layouts[operand], .size = size,
                                          .message_bytes = call->options.message_bytes};
    return rungi_route_open(&call->routes[operand], &call->cluster, &call->grid, (rung_cluster_operand)operand);
}

/* One memory for what leaves and one for what comes: the operands go one after the other. */
static rung_status open_messages(call *call)
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
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "%lld bytes to send matrices from their layout are not there; take more ranks, or "
                         "keep them as shares", (long long)(out + in));
    return RUNG_OK;
}

static rung_status prepare(call *call)
{
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < OPERANDS; i++)
        status = open_share(call, i);
    if (status == RUNG_OK)
        status = open_messages(call);
    if (status != RUNG_OK)
        return status;
    call->machine = (rungi_machine){.team = call->team, .options = &call->options, .in = call->matrices[0]->type,
                                    .sum = rung_product_sum(call->cluster.product)};
    call->local = rungi_local_of(&call->machine, call->options.message_bytes);
    call->job = (rungi_duty){.comm = call->team->comm, .rank = call->team->rank, .cluster = &call->cluster,
                            .grid = &call->grid, .local = &call->local, .a = call->shares[0], .b = call->shares[1],
                            .c = call->shares[2]};
    return rungi_duty_prepare(&call->job);
}

static void close_call(call *call)
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
static void scale_blocks(const call *call)
{
    const rungi_layout *layout = &call->layouts[2];
    rung_type sum = rung_product_sum(call->cluster.product);
    for (int64_t i = layout->rows.own; i < layout->rows.blocks; i += layout->rows.step)
        for (int64_t j = layout->cols.own; j < layout->cols.blocks; j += layout->cols.step)
            if (rungi_layout_owner(layout, i, j) == call->team->rank) {
                rung_matrix view = rungi_layout_view(layout, i, j);
                rungi_finish(sum, view.type, view.rows, view.cols, 0.0, (rungi_strided){0}, call->beta,
                             rungi_strided_of(&view, 0, 0));
            }
}

/* The same of a share, of these sums or of none. */
static void finish_share(const call *call, const void *sums)
{
    const rung_cluster_matrix *c = call->matrices[2];
    int64_t elements = rung_cluster_share_elements(&call->cluster, &call->grid, call->team->rank, RUNG_CLUSTER_OPERAND_C);
    rungi_finish(rung_product_sum(call->cluster.product), c->type, 1, elements, call->alpha,
                 (rungi_strided){(char *)sums, elements, 1}, call->beta, (rungi_strided){c->data, elements, 1});
}

static rung_status gather(call *call)
{
    rung_status status = RUNG_OK;
    double start = rungi_seconds();
    for (int i = 0; status == RUNG_OK && i < 2; i++)
        if (call->matrices[i]->kind != RUNG_CLUSTER_LAYOUT_SHARES)
            status = rungi_route_gather(&call->routes[i], call->out, call->in, call->shares[i]);
    call->report.redistributing += rungi_seconds() - start;
    return status;
}

static rung_status put_back(call *call)
{
    rung_status status = RUNG_OK;
    double start = rungi_seconds();
    if (call->matrices[2]->kind != RUNG_CLUSTER_LAYOUT_SHARES)
        status = rungi_route_return(&call->routes[2], call->out, call->in, call->shares[2],
                                    (rungi_scaling){call->machine.sum, call->alpha, call->beta});
    else if (!sums_in_place(call))
        finish_share(call, call->shares[2]);
    call->report.redistributing += rungi_seconds() - start;
    return status;
}

/* A rank whose multiply failed has sent all that others wait for; it goes on to the end with them. */
static rung_status multiply(call *call)
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
    char text[1024];
    snprintf(text, sizeof text, "%s", multiplied == RUNG_OK ? "" : rung_error_text());
    status = put_back(call);
    if (status == RUNG_OK && multiplied != RUNG_OK)
        status = rung_error_set(multiplied, "%s", text);
    return status;
}

static rung_status run(call *call)
{
    rung_status status = check(call);
    status = rungi_team_agree(call->team, status, status == RUNG_OK ? sign(call) : 0);
    if (status != RUNG_OK)
        return status;
    if (!has_product(call)) {
        if (call->matrices[2]->kind == RUNG_CLUSTER_LAYOUT_SHARES)
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

static rung_cluster_options complete(const rung_cluster_options *given)
{
    rung_cluster_options options = given ? *given : (rung_cluster_options){0};
    if (options.silence == 0.0)
        options.silence = 300.0;
    if (options.message_bytes == 0)
        options.message_bytes = message_max;
    options.idle = options.idle == 0.0 ? 0.06 : options.idle < 0.0 ? 0.0 : options.idle;
    return options;
}

static void write_report(call *call, double seconds)
{
    if (!call->options.report)
        return;
    call->report.grid = call->grid;
    call->report.received = call->job.traffic.bytes;
    call->report.messages = call->job.traffic.messages;
    for (int i = 0; i < OPERANDS; i++)
        call->report.redistributed += call->routes[i].received;
    call->report.seconds = seconds;
    call->report.multiplying = call->machine.multiplied;
    call->report.waiting = call->team->waited;
    *call->options.report = call->report;
}

rung_status rung_cluster_gemm(MPI_Comm comm, double alpha, const rung_cluster_matrix *a, const rung_cluster_matrix *b, double beta,
                          const rung_cluster_matrix *c, const rung_cluster_options *options)
{
    RUNGI_DISABLE_CANCELLATION;
    call call = {.options = complete(options), .alpha = alpha, .beta = beta, .matrices = {a, b, c}};
    double start = rungi_seconds();
    rung_status status = rungi_team_of(comm, call.options.silence > 0.0 ? call.options.silence : 300.0, &call.team);
    if (status != RUNG_OK)
        return status;
    status = run(&call);
    write_report(&call, rungi_seconds() - start);
    close_call(&call);
    return status;
}
