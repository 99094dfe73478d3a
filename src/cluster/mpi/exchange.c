/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - see exchange.h. */
#include "cluster/mpi/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "cluster/mpi/finish.h"
#include "cluster/mpi/failed.h"

enum { TAG_EXCHANGE = 21, ROUNDS_UNDER_WAY = 16 };

/* ---- Walking ---------------------------------------------------------------------------------- */

/* A walk over patches, of this rank's blocks or of its share, and what is done with each. */
typedef struct stroll {
    rungi_route *route;
    int64_t i, j;  /* the block of the layout */
    int64_t owner; /* of that block */
    void (*act)(struct stroll *stroll, const rungi_patch *patch, int64_t other);
    int64_t *counts;       /* elements to or from each rank so far */
    const int64_t *starts; /* where each rank's message begins in `memory`, in bytes */
    char *memory;          /* what is packed */
    char *share;
    rungi_scaling scaling;
} stroll_t;

static void visit(void *user, const rungi_patch *patch)
{
    stroll_t *stroll = user;
    int64_t rank = stroll->route->team->rank;
    stroll->act(stroll, patch, stroll->owner == rank ? patch->rank : stroll->owner);
}

/* All patches of this rank's own blocks. */
static void walk_blocks(stroll_t *stroll)
{
    const rungi_layout *layout = stroll->route->layout;
    stroll->owner = stroll->route->team->rank;
    for (stroll->i = layout->rows.own; stroll->i < layout->rows.blocks; stroll->i += layout->rows.step)
        for (stroll->j = layout->cols.own; stroll->j < layout->cols.blocks; stroll->j += layout->cols.step)
            if (rungi_layout_owner(layout, stroll->i, stroll->j) == stroll->owner)
                rungi_deal_visit(&stroll->route->deal, rungi_layout_block(layout, stroll->i, stroll->j), -1, visit,
                                 stroll);
}

/* All patches of this rank's share that are in others' blocks. */
static void walk_share(stroll_t *stroll)
{
    const rungi_layout *layout = stroll->route->layout;
    int64_t rank = stroll->route->team->rank;
    rungi_seat seat;
    if (!rungi_deal_seat(&stroll->route->deal, rank, &seat))
        return;
    rungi_rectangle part = rungi_deal_part(&stroll->route->deal, seat);
    if (part.rows == 0 || part.cols == 0)
        return;
    int64_t row_end = rungi_axis_block(&layout->rows, part.row + part.rows - 1);
    int64_t col_end = rungi_axis_block(&layout->cols, part.col + part.cols - 1);
    for (stroll->i = rungi_axis_block(&layout->rows, part.row); stroll->i <= row_end; stroll->i++)
        for (stroll->j = rungi_axis_block(&layout->cols, part.col); stroll->j <= col_end; stroll->j++) {
            stroll->owner = rungi_layout_owner(layout, stroll->i, stroll->j);
            if (stroll->owner != rank)
                rungi_deal_visit(&stroll->route->deal, rungi_layout_block(layout, stroll->i, stroll->j), rank, visit,
                                 stroll);
        }
}

/* ---- Counting --------------------------------------------------------------------------------- */

static void count_patch(stroll_t *stroll, const rungi_patch *patch, int64_t other)
{
    if (other != stroll->route->team->rank)
        stroll->counts[other] += rungi_elements(patch->at);
}

/* Messages one behind the other. */
static void find_messages(const rungi_route *route, rungi_messages *messages)
{
    for (int i = 0; i < route->team->ranks; i++) {
        messages->starts[i] = messages->bytes;
        messages->bytes += messages->elements[i] * route->size;
    }
}

/* Where the pieces of this rank's share begin. */
static void find_starts(rungi_route *route)
{
    rungi_seat seat;
    int64_t start = 0, has_seat = rungi_deal_seat(&route->deal, route->team->rank, &seat);
    for (int64_t i = 0; i < route->deal.row_chunks * route->deal.col_chunks; i++) {
        route->chunk_starts[i] = start;
        start += has_seat ? rungi_deal_piece(&route->deal, seat, i).count : 0;
    }
}

/* ---- Packing and unpacking -------------------------------------------------------------------- */

/* The patch in the message of that rank, dense; and the message goes on behind it. */
static rungi_strided in_message(stroll_t *stroll, const rungi_patch *patch, int64_t other)
{
    char *place = stroll->memory + stroll->starts[other] + stroll->counts[other] * stroll->route->size;
    stroll->counts[other] += rungi_elements(patch->at);
    return (rungi_strided){place, patch->at.cols, 1};
}

/* The patch in this rank's share; and in its block. */
static rungi_strided in_share(const stroll_t *stroll, const rungi_patch *patch)
{
    int64_t first = stroll->route->chunk_starts[patch->chunk] + patch->offset;
    return (rungi_strided){stroll->share + first * stroll->route->size, patch->stride, 1};
}

static rungi_strided in_block(const stroll_t *stroll, const rungi_patch *patch)
{
    rung_matrix view = rungi_layout_view(stroll->route->layout, stroll->i, stroll->j);
    rungi_rectangle block = rungi_layout_block(stroll->route->layout, stroll->i, stroll->j);
    return rungi_strided_of(&view, patch->at.row - block.row, patch->at.col - block.col);
}

static void copy(const stroll_t *stroll, const rungi_patch *patch, rungi_strided from, rungi_strided to)
{
    rungi_copy_rectangle(stroll->route->size, patch->at.rows, patch->at.cols, from, to);
}

/* From a block into a message, or straight into the own share. */
static void pack_block(stroll_t *stroll, const rungi_patch *patch, int64_t other)
{
    bool stays = other == stroll->route->team->rank;
    copy(stroll, patch, in_block(stroll, patch), stays ? in_share(stroll, patch) : in_message(stroll, patch, other));
}

static void unpack_share(stroll_t *stroll, const rungi_patch *patch, int64_t other)
{
    copy(stroll, patch, in_message(stroll, patch, other), in_share(stroll, patch));
}

static void pack_share(stroll_t *stroll, const rungi_patch *patch, int64_t other)
{
    copy(stroll, patch, in_share(stroll, patch), in_message(stroll, patch, other));
}

/* From a message, or straight from the own share, into C. */
static void finish_block(stroll_t *stroll, const rungi_patch *patch, int64_t other)
{
    bool stayed = other == stroll->route->team->rank;
    rungi_strided sums = stayed ? in_share(stroll, patch) : in_message(stroll, patch, other);
    rungi_finish(stroll->scaling.sum, stroll->route->layout->matrix->type, patch->at.rows, patch->at.cols,
                 stroll->scaling.alpha, sums, stroll->scaling.beta, in_block(stroll, patch));
}

/* ---- Sending ---------------------------------------------------------------------------------- */

static int64_t messages_of(const rungi_route *route, int64_t elements)
{
    return rungi_divide_up(elements * route->size, route->message_bytes);
}

static int post(rungi_route *route, bool is_in, int rank, char *place, int64_t bytes, int64_t *count)
{
    int code = MPI_SUCCESS;
    for (int64_t done = 0; code == MPI_SUCCESS && done < bytes; done += route->message_bytes) {
        int length = (int)rungi_smaller(bytes - done, route->message_bytes);
        MPI_Request *request = &route->requests[*count];
        route->peers[(*count)++] = rank;
        code = is_in ? MPI_Irecv(place + done, length, MPI_BYTE, rank, TAG_EXCHANGE, route->team->comm, request)
                     : MPI_Isend(place + done, length, MPI_BYTE, rank, TAG_EXCHANGE, route->team->comm, request);
    }
    return code;
}

/* One side of an exchange, and its memory. */
typedef struct side {
    const rungi_messages *messages;
    char *memory;
} side_t;

/* In round r each rank sends to the one r behind it and receives from the one r before it. */
static int peer_of(const rungi_team *team, bool is_in, int round)
{
    return (team->rank + (is_in ? team->ranks - round : round)) % team->ranks;
}

/* Some rounds: sides[0] goes out, sides[1] comes in. */
static rung_status fly(rungi_route *route, const side_t *sides, int first, int end)
{
    int code = MPI_SUCCESS;
    int64_t count = 0;
    for (int is_in = 1; is_in >= 0; is_in--)
        for (int round = first; code == MPI_SUCCESS && round < end; round++) {
            const rungi_messages *messages = sides[is_in].messages;
            int peer = peer_of(route->team, is_in != 0, round);
            int64_t bytes = messages->elements[peer] * route->size;
            code = post(route, is_in != 0, peer, sides[is_in].memory + messages->starts[peer], bytes, &count);
            route->received += is_in ? bytes : 0;
        }
    if (code != MPI_SUCCESS)
        return rungi_team_break(route->team, rungi_mpi_failed(code));
    return rungi_team_wait(route->team, count, route->requests, route->peers);
}

static rung_status send_all(rungi_route *route, const side_t *sides)
{
    rung_status status = RUNG_OK;
    for (int first = 1; status == RUNG_OK && first < route->team->ranks; first += ROUNDS_UNDER_WAY)
        status = fly(route, sides, first, (int)rungi_smaller(first + ROUNDS_UNDER_WAY, route->team->ranks));
    return status;
}

/* As many messages as some rounds have at most, whichever way they go. */
static int64_t most_messages(const rungi_route *route)
{
    int64_t most = 0;
    for (int first = 1; first < route->team->ranks; first += ROUNDS_UNDER_WAY) {
        int64_t count = 0;
        for (int round = first; round < first + ROUNDS_UNDER_WAY && round < route->team->ranks; round++)
            for (int is_in = 0; is_in < 2; is_in++) {
                int peer = peer_of(route->team, is_in != 0, round);
                count += messages_of(route, route->of_blocks.elements[peer]) +
                         messages_of(route, route->of_share.elements[peer]);
            }
        most = rungi_larger(count, most);
    }
    return most;
}

/* ---- Opening ---------------------------------------------------------------------------------- */

static rung_status open_lists(rungi_route *route)
{
    size_t ranks = (size_t)route->team->ranks;
    int64_t *lists = calloc(5 * ranks, sizeof *lists);
    route->of_blocks.elements = lists; /* the first of them all */
    route->chunk_starts = calloc((size_t)(route->deal.row_chunks * route->deal.col_chunks),
                                 sizeof *route->chunk_starts);
    if (!lists || !route->chunk_starts)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to count what goes to %d ranks", route->team->ranks);
    route->of_share.elements = lists + ranks;
    route->of_blocks.starts = lists + 2 * ranks;
    route->of_share.starts = lists + 3 * ranks;
    route->packed = lists + 4 * ranks;
    return RUNG_OK;
}

rung_status rungi_route_open(rungi_route *route, const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                             rung_cluster_operand operand)
{
    route->deal = rungi_deal_of(cluster, grid, operand);
    rung_status status = open_lists(route);
    if (status != RUNG_OK)
        return status;
    walk_blocks(&(stroll_t){.route = route, .act = count_patch, .counts = route->of_blocks.elements});
    walk_share(&(stroll_t){.route = route, .act = count_patch, .counts = route->of_share.elements});
    find_messages(route, &route->of_blocks);
    find_messages(route, &route->of_share);
    find_starts(route);
    size_t most = (size_t)most_messages(route) + 1;
    route->requests = malloc(most * sizeof *route->requests);
    route->peers = malloc(most * sizeof *route->peers);
    return route->requests && route->peers ? RUNG_OK
                                           : rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a list of messages");
}

void rungi_route_close(rungi_route *route)
{
    free(route->of_blocks.elements);
    free(route->chunk_starts);
    free(route->requests);
    free(route->peers);
    *route = (rungi_route){0};
}

/* ---- There and back --------------------------------------------------------------------------- */

/* A walk that packs or unpacks messages of these. */
static stroll_t stroll_of(rungi_route *route, const rungi_messages *messages, char *memory, char *share)
{
    memset(route->packed, 0, (size_t)route->team->ranks * sizeof *route->packed);
    return (stroll_t){
        .route = route, .counts = route->packed, .starts = messages->starts, .memory = memory, .share = share};
}

rung_status rungi_route_gather(rungi_route *route, char *out, char *in, char *share)
{
    stroll_t packing = stroll_of(route, &route->of_blocks, out, share);
    packing.act = pack_block;
    walk_blocks(&packing);
    rung_status status = send_all(route, (const side_t[]){{&route->of_blocks, out}, {&route->of_share, in}});
    if (status != RUNG_OK)
        return status;
    stroll_t unpacking = stroll_of(route, &route->of_share, in, share);
    unpacking.act = unpack_share;
    walk_share(&unpacking);
    return RUNG_OK;
}

rung_status rungi_route_return(rungi_route *route, char *out, char *in, const char *share, rungi_scaling scaling)
{
    stroll_t packing = stroll_of(route, &route->of_share, out, (char *)share);
    packing.act = pack_share;
    walk_share(&packing);
    rung_status status = send_all(route, (const side_t[]){{&route->of_share, out}, {&route->of_blocks, in}});
    if (status != RUNG_OK)
        return status;
    stroll_t unpacking = stroll_of(route, &route->of_blocks, in, (char *)share);
    unpacking.act = finish_block;
    unpacking.scaling = scaling;
    walk_blocks(&unpacking);
    return RUNG_OK;
}
