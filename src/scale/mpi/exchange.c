/* SPDX-License-Identifier: Apache-2.0 */
/* exchange.c - see exchange.h. */
#include "scale/mpi/exchange.h"

#include <stdlib.h>
#include <string.h>

#include "core/checked.h"
#include "scale/mpi/finish.h"
#include "scale/mpi/failed.h"

enum { TAG_EXCHANGE = 21, ROUNDS_UNDER_WAY = 16 };

/* ---- Walking ---------------------------------------------------------------------------------- */

/* A walk over patches, of this rank's blocks or of its share, and what is done with each. */
typedef struct stroll {
    rungi_route *route;
    int64_t      i, j;    /* the block of the layout */
    int64_t      owner;   /* of that block */
    void (*act)(struct stroll *stroll, const rungi_patch *patch, int64_t other);
    int64_t     *counts;  /* elements to or from each rank so far */
    int64_t     *starts;  /* where each rank's message begins in `memory`, in bytes */
    char        *memory;  /* what is packed */
    char        *share;
    rungi_scaling scaling;
} stroll;

static void visit(void *user, const rungi_patch *patch)
{
    stroll *stroll = user;
    int64_t rank = stroll->route->team->rank;
    stroll->act(stroll, patch, stroll->owner == rank ? patch->rank : stroll->owner);
}

/* All patches of this rank's own blocks. */
static void walk_blocks(stroll *stroll)
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
static void walk_share(stroll *stroll)
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

static void count_patch(stroll *stroll, const rungi_patch *patch, int64_t other)
{
    if (other != stroll->route->team->rank)
        stroll->counts[other] += rungi_elements(patch->at);
}

static int64_t total_bytes(const rungi_route *route, const int64_t *counts)
{
    int64_t total = 0;
    for (int i = 0; i < route->team->ranks; i++)
        total += counts[i] * route->size;
    return total;
}

/* Where the pieces of this rank's share begin. */
static void find_starts(rungi_route *route, const rung_cluster *cluster, const rung_grid *grid)
{
    rung_mpi_piece piece = {0};
    for (int64_t i = 0; i < route->deal.row_chunks * route->deal.col_chunks; i++)
        route->chunk_starts[i] =
            rung_mpi_share(cluster, grid, route->team->rank, route->deal.operand, i, &piece) == RUNG_OK ? piece.offset : 0;
}

rung_status rungi_route_open(rungi_team *team, const rungi_layout *layout, const rung_cluster *cluster,
                             const rung_grid *grid, rung_mpi_operand operand, int64_t size, rungi_route *route)
{
    size_t ranks = (size_t)team->ranks;
    *route = (rungi_route){.team = team, .layout = layout, .deal = rungi_deal_of(cluster, grid, operand), .size = size};
    route->of_blocks = calloc(ranks, sizeof *route->of_blocks);
    route->of_share = calloc(ranks, sizeof *route->of_share);
    route->chunk_starts = calloc((size_t)(route->deal.row_chunks * route->deal.col_chunks), sizeof *route->chunk_starts);
    if (!route->of_blocks || !route->of_share || !route->chunk_starts)
        return rung_fail(RUNG_NO_MEMORY, "no memory to count what goes to %d ranks", team->ranks);
    walk_blocks(&(stroll){.route = route, .act = count_patch, .counts = route->of_blocks});
    walk_share(&(stroll){.route = route, .act = count_patch, .counts = route->of_share});
    route->blocks_bytes = total_bytes(route, route->of_blocks);
    route->share_bytes = total_bytes(route, route->of_share);
    find_starts(route, cluster, grid);
    return RUNG_OK;
}

void rungi_route_close(rungi_route *route)
{
    free(route->of_blocks);
    free(route->of_share);
    free(route->chunk_starts);
    *route = (rungi_route){0};
}

/* ---- Packing and unpacking -------------------------------------------------------------------- */

/* The patch in the message of that rank, dense; and the message goes on behind it. */
static rungi_strided in_message(stroll *stroll, const rungi_patch *patch, int64_t other)
{
    char *place = stroll->memory + stroll->starts[other] + stroll->counts[other] * stroll->route->size;
    stroll->counts[other] += rungi_elements(patch->at);
    return (rungi_strided){place, patch->at.cols, 1};
}

/* The patch in this rank's share; and in its block. */
static rungi_strided in_share(const stroll *stroll, const rungi_patch *patch)
{
    int64_t first = stroll->route->chunk_starts[patch->chunk] + patch->offset;
    return (rungi_strided){stroll->share + first * stroll->route->size, patch->stride, 1};
}

static rungi_strided in_block(const stroll *stroll, const rungi_patch *patch)
{
    rung_matrix view = rungi_layout_view(stroll->route->layout, stroll->i, stroll->j);
    rungi_rectangle block = rungi_layout_block(stroll->route->layout, stroll->i, stroll->j);
    return rungi_strided_of(&view, patch->at.row - block.row, patch->at.col - block.col);
}

static void copy(const stroll *stroll, const rungi_patch *patch, rungi_strided from, rungi_strided to)
{
    rungi_copy_rectangle(stroll->route->size, patch->at.rows, patch->at.cols, from, to);
}

/* From a block into a message, or straight into the own share. */
static void pack_block(stroll *stroll, const rungi_patch *patch, int64_t other)
{
    bool stays = other == stroll->route->team->rank;
    copy(stroll, patch, in_block(stroll, patch), stays ? in_share(stroll, patch) : in_message(stroll, patch, other));
}

static void unpack_share(stroll *stroll, const rungi_patch *patch, int64_t other)
{
    copy(stroll, patch, in_message(stroll, patch, other), in_share(stroll, patch));
}

static void pack_share(stroll *stroll, const rungi_patch *patch, int64_t other)
{
    copy(stroll, patch, in_share(stroll, patch), in_message(stroll, patch, other));
}

/* From a message, or straight from the own share, into C. */
static void finish_block(stroll *stroll, const rungi_patch *patch, int64_t other)
{
    bool stayed = other == stroll->route->team->rank;
    rungi_strided sums = stayed ? in_share(stroll, patch) : in_message(stroll, patch, other);
    rungi_finish(stroll->scaling.sum, stroll->route->layout->matrix->type, patch->at.rows, patch->at.cols,
                 stroll->scaling.alpha, sums, stroll->scaling.beta, in_block(stroll, patch));
}

/* ---- Sending ---------------------------------------------------------------------------------- */

/* Messages of some rounds. */
typedef struct flight {
    rungi_route *route;
    MPI_Request *requests;
    int         *ranks;
    int64_t      count, capacity;
} flight;

static int64_t messages_of(const rungi_route *route, int64_t elements)
{
    return rungi_divide_up(elements * route->size, route->message_bytes);
}

static int post(flight *flight, bool is_in, int rank, char *place, int64_t bytes)
{
    const rungi_route *route = flight->route;
    int code = MPI_SUCCESS;
    for (int64_t done = 0; code == MPI_SUCCESS && done < bytes; done += route->message_bytes) {
        int count = (int)rungi_smaller(bytes - done, route->message_bytes);
        MPI_Request *request = &flight->requests[flight->count];
        flight->ranks[flight->count++] = rank;
        code = is_in ? MPI_Irecv(place + done, count, MPI_BYTE, rank, TAG_EXCHANGE, route->team->comm, request)
                     : MPI_Isend(place + done, count, MPI_BYTE, rank, TAG_EXCHANGE, route->team->comm, request);
    }
    return code;
}

/* One side of an exchange: how much for each rank, where it begins, and the memory. */
typedef struct side {
    const int64_t *counts;
    int64_t       *starts;
    char          *memory;
} side;

/* In round r each rank sends to the one r behind it and receives from the one r before it. */
static int peer_of(const rungi_team *team, bool is_in, int round)
{
    return (team->rank + (is_in ? team->ranks - round : round)) % team->ranks;
}

static rung_status fly(flight *flight, const side *sides, int first, int end)
{
    rungi_route *route = flight->route;
    int code = MPI_SUCCESS;
    flight->count = 0;
    for (int is_in = 1; is_in >= 0; is_in--)
        for (int round = first; code == MPI_SUCCESS && round < end; round++) {
            int peer = peer_of(route->team, is_in != 0, round);
            int64_t bytes = sides[is_in].counts[peer] * route->size;
            code = post(flight, is_in != 0, peer, sides[is_in].memory + sides[is_in].starts[peer], bytes);
            route->received += is_in ? bytes : 0;
        }
    if (code != MPI_SUCCESS)
        return rungi_team_break(route->team, rungi_mpi_failed(code));
    return rungi_team_wait(route->team, flight->count, flight->requests, flight->ranks);
}

/* As many messages as some rounds have at most. */
static int64_t most_messages(const rungi_route *route, const side *sides)
{
    int64_t most = 0;
    for (int first = 1; first < route->team->ranks; first += ROUNDS_UNDER_WAY) {
        int64_t count = 0;
        for (int round = first; round < first + ROUNDS_UNDER_WAY && round < route->team->ranks; round++)
            count += messages_of(route, sides[1].counts[peer_of(route->team, true, round)]) +
                     messages_of(route, sides[0].counts[peer_of(route->team, false, round)]);
        most = count > most ? count : most;
    }
    return most;
}

/* sides[0] goes out, sides[1] comes in. */
static rung_status send_all(rungi_route *route, const side *sides)
{
    int64_t most = most_messages(route, sides);
    flight flight = {.route = route, .requests = malloc((size_t)(most + 1) * sizeof *flight.requests),
                     .ranks = malloc((size_t)(most + 1) * sizeof *flight.ranks)};
    rung_status status = flight.requests && flight.ranks ? RUNG_OK
                         : rungi_team_break(route->team, rung_fail(RUNG_NO_MEMORY, "no memory for a list of messages"));
    for (int first = 1; status == RUNG_OK && first < route->team->ranks; first += ROUNDS_UNDER_WAY)
        status = fly(&flight, sides, first, (int)rungi_smaller(first + ROUNDS_UNDER_WAY, route->team->ranks));
    if (!route->team->is_broken) {
        free(flight.requests);
        free(flight.ranks);
    }
    return status;
}

/* ---- There and back --------------------------------------------------------------------------- */

/* Memory for what two walks need: counters, and where the messages begin. */
typedef struct ledger {
    int64_t *memory;
    int64_t *counts[2], *starts[2];
} ledger;

static void begin_messages(const rungi_route *route, const int64_t *counts, int64_t *starts)
{
    int64_t at = 0;
    for (int i = 0; i < route->team->ranks; i++) {
        starts[i] = at;
        at += counts[i] * route->size;
    }
}

static rung_status open_ledger(const rungi_route *route, const int64_t *out, const int64_t *in, ledger *ledger)
{
    int64_t ranks = route->team->ranks;
    ledger->memory = calloc((size_t)(4 * ranks), sizeof *ledger->memory);
    if (!ledger->memory)
        return rungi_team_break(route->team, rung_fail(RUNG_NO_MEMORY, "no memory for lists of %lld ranks", (long long)ranks));
    for (int i = 0; i < 2; i++) {
        ledger->counts[i] = ledger->memory + i * ranks;
        ledger->starts[i] = ledger->memory + (2 + i) * ranks;
    }
    begin_messages(route, out, ledger->starts[0]);
    begin_messages(route, in, ledger->starts[1]);
    return RUNG_OK;
}

rung_status rungi_route_gather(rungi_route *route, char *out, char *in, char *share)
{
    ledger ledger;
    rung_status status = open_ledger(route, route->of_blocks, route->of_share, &ledger);
    if (status != RUNG_OK)
        return status;
    side sides[2] = {{route->of_blocks, ledger.starts[0], out}, {route->of_share, ledger.starts[1], in}};
    walk_blocks(&(stroll){.route = route, .act = pack_block, .counts = ledger.counts[0], .starts = ledger.starts[0],
                          .memory = out, .share = share});
    status = send_all(route, sides);
    if (status == RUNG_OK)
        walk_share(&(stroll){.route = route, .act = unpack_share, .counts = ledger.counts[1], .starts = ledger.starts[1],
                             .memory = in, .share = share});
    free(ledger.memory);
    return status;
}

rung_status rungi_route_return(rungi_route *route, char *out, char *in, const char *share, rungi_scaling scaling)
{
    ledger ledger;
    rung_status status = open_ledger(route, route->of_share, route->of_blocks, &ledger);
    if (status != RUNG_OK)
        return status;
    side sides[2] = {{route->of_share, ledger.starts[0], out}, {route->of_blocks, ledger.starts[1], in}};
    walk_share(&(stroll){.route = route, .act = pack_share, .counts = ledger.counts[0], .starts = ledger.starts[0],
                         .memory = out, .share = (char *)share});
    status = send_all(route, sides);
    if (status == RUNG_OK)
        walk_blocks(&(stroll){.route = route, .act = finish_block, .counts = ledger.counts[1],
                              .starts = ledger.starts[1], .memory = in, .share = (char *)share, .scaling = scaling});
    free(ledger.memory);
    return status;
}
