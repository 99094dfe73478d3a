/* SPDX-License-Identifier: Apache-2.0 */
/* redistribute.c - see redistribute.h. */
#include "cluster/mpi/redistribute.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "cluster/mpi/cluster_epilogue.h"
#include "cluster/mpi/mpi_error.h"

enum { TAG_REDISTRIBUTE = 21, ROUNDS_IN_FLIGHT = 16 };

/* ---- Walking ---------------------------------------------------------------------------------- */

/* A walk over rectangles of this rank's blocks or of its share, and the action for each. */
typedef struct redistribution_walk {
    rungi_redistribution *redistribution;
    int64_t i, j;  /* the block of the layout */
    int64_t owner; /* of the block */
    void (*action)(struct redistribution_walk *walk, const rungi_share_rectangle *share_part, int64_t peer);
    int64_t *counts;       /* elements to or from each rank so far */
    const int64_t *starts; /* where each rank's message begins in `memory`, in bytes */
    char *buffer;          /* packed messages */
    char *share;
    rungi_scaling scaling;
} redistribution_walk_t;

static void visit_rectangle(void *user, const rungi_share_rectangle *share_part)
{
    redistribution_walk_t *walk = user;
    int64_t rank = walk->redistribution->comm->rank;
    walk->action(walk, share_part, walk->owner == rank ? share_part->rank : walk->owner);
}

/* Visits the rectangles of block (i, j) in all shares, or only in this rank's share. */
static void visit_block(redistribution_walk_t *walk, bool only_own)
{
    rungi_rectangle block = rungi_cluster_layout_block(walk->redistribution->layout, walk->i, walk->j);
    rungi_partition_visit(&walk->redistribution->partition, block, only_own, visit_rectangle, walk);
}

/* Visits all rectangles of this rank's blocks. */
static void visit_own_blocks(redistribution_walk_t *walk)
{
    const rungi_cluster_layout *layout = walk->redistribution->layout;
    walk->owner = walk->redistribution->comm->rank;
    for (walk->i = layout->rows.first_own; walk->i < layout->rows.blocks; walk->i += layout->rows.own_step)
        for (walk->j = layout->cols.first_own; walk->j < layout->cols.blocks; walk->j += layout->cols.own_step)
            if (rungi_cluster_layout_owner(layout, walk->i, walk->j) == walk->owner)
                visit_block(walk, false);
}

/* Visits all rectangles of this rank's share that are in other ranks' blocks. */
static void visit_own_share(redistribution_walk_t *walk)
{
    const rungi_cluster_layout *layout = walk->redistribution->layout;
    rungi_rectangle part = walk->redistribution->partition.part;
    if (walk->redistribution->partition.is_idle || part.rows == 0 || part.cols == 0)
        return;
    int64_t row_end = rungi_cluster_layout_axis_block(&layout->rows, part.row + part.rows - 1);
    int64_t col_end = rungi_cluster_layout_axis_block(&layout->cols, part.col + part.cols - 1);
    for (walk->i = rungi_cluster_layout_axis_block(&layout->rows, part.row); walk->i <= row_end; walk->i++)
        for (walk->j = rungi_cluster_layout_axis_block(&layout->cols, part.col); walk->j <= col_end; walk->j++) {
            walk->owner = rungi_cluster_layout_owner(layout, walk->i, walk->j);
            if (walk->owner != walk->redistribution->comm->rank)
                visit_block(walk, true);
        }
}

/* ---- Counting --------------------------------------------------------------------------------- */

static void count_elements(redistribution_walk_t *walk, const rungi_share_rectangle *share_part, int64_t peer)
{
    if (peer != walk->redistribution->comm->rank)
        walk->counts[peer] += rungi_rectangle_elements(share_part->rectangle);
}

/* Places the messages one after another. */
static void set_message_starts(const rungi_redistribution *redistribution, rungi_redistribution_messages *messages)
{
    for (int i = 0; i < redistribution->comm->ranks; i++) {
        messages->starts[i] = messages->bytes;
        messages->bytes += messages->elements[i] * redistribution->element_bytes;
    }
}

/* Sets where the pieces of this rank's share begin. */
static void set_chunk_starts(rungi_redistribution *redistribution)
{
    const rungi_partition *partition = &redistribution->partition;
    int64_t start = 0;
    for (int64_t i = 0; i < partition->chunks; i++) {
        redistribution->chunk_starts[i] = start;
        start += partition->is_idle ? 0 : rungi_partition_piece(partition, i).count;
    }
}

/* ---- Packing and unpacking -------------------------------------------------------------------- */

/* Returns the next rectangle of the message to or from `peer`, dense, and advances in the message. */
static rungi_strided message_rectangle(redistribution_walk_t *walk, const rungi_share_rectangle *share_part,
                                       int64_t peer)
{
    char *buffer = walk->buffer + walk->starts[peer] + walk->counts[peer] * walk->redistribution->element_bytes;
    walk->counts[peer] += rungi_rectangle_elements(share_part->rectangle);
    return (rungi_strided){buffer, share_part->rectangle.cols, 1};
}

/* Return the rectangle in this rank's share, and in its block. */
static rungi_strided share_memory(const redistribution_walk_t *walk, const rungi_share_rectangle *share_part)
{
    int64_t first = walk->redistribution->chunk_starts[share_part->chunk] + share_part->offset;
    return (rungi_strided){walk->share + first * walk->redistribution->element_bytes, share_part->stride, 1};
}

static rungi_strided block_memory(const redistribution_walk_t *walk, const rungi_share_rectangle *share_part)
{
    rung_matrix view = rungi_cluster_layout_view(walk->redistribution->layout, walk->i, walk->j);
    rungi_rectangle block = rungi_cluster_layout_block(walk->redistribution->layout, walk->i, walk->j);
    return rungi_strided_of(&view, share_part->rectangle.row - block.row, share_part->rectangle.col - block.col);
}

static void copy_elements(const redistribution_walk_t *walk, const rungi_share_rectangle *share_part,
                          rungi_strided from, rungi_strided to)
{
    rungi_copy_rectangle(walk->redistribution->element_bytes, share_part->rectangle.rows, share_part->rectangle.cols,
                         from, to);
}

/* Copies from a block to a message, or directly to this rank's share. */
static void pack_block(redistribution_walk_t *walk, const rungi_share_rectangle *share_part, int64_t peer)
{
    bool is_local = peer == walk->redistribution->comm->rank;
    copy_elements(walk, share_part, block_memory(walk, share_part),
                  is_local ? share_memory(walk, share_part) : message_rectangle(walk, share_part, peer));
}

static void unpack_share(redistribution_walk_t *walk, const rungi_share_rectangle *share_part, int64_t peer)
{
    copy_elements(walk, share_part, message_rectangle(walk, share_part, peer), share_memory(walk, share_part));
}

static void pack_share(redistribution_walk_t *walk, const rungi_share_rectangle *share_part, int64_t peer)
{
    copy_elements(walk, share_part, share_memory(walk, share_part), message_rectangle(walk, share_part, peer));
}

/* Applies the epilogue from a message, or directly from this rank's share, to C. */
static void unpack_block(redistribution_walk_t *walk, const rungi_share_rectangle *share_part, int64_t peer)
{
    bool is_local = peer == walk->redistribution->comm->rank;
    rungi_strided sums = is_local ? share_memory(walk, share_part) : message_rectangle(walk, share_part, peer);
    rungi_cluster_epilogue_apply(walk->scaling.sum, walk->redistribution->layout->matrix->type,
                                 share_part->rectangle.rows, share_part->rectangle.cols, walk->scaling.alpha, sums,
                                 walk->scaling.beta, block_memory(walk, share_part));
}

/* ---- Sending ---------------------------------------------------------------------------------- */

static int64_t messages_of(const rungi_redistribution *redistribution, int64_t elements)
{
    return rungi_ceil_divide(elements * redistribution->element_bytes, redistribution->max_message_bytes);
}

static int post(rungi_redistribution *redistribution, bool is_in, int rank, char *buffer, int64_t bytes, int64_t *count)
{
    int code = MPI_SUCCESS;
    for (int64_t done = 0; code == MPI_SUCCESS && done < bytes; done += redistribution->max_message_bytes) {
        int length = (int)rungi_min(bytes - done, redistribution->max_message_bytes);
        MPI_Request *request = &redistribution->requests[*count];
        redistribution->peers[(*count)++] = rank;
        code = is_in ? MPI_Irecv(buffer + done, length, MPI_BYTE, rank, TAG_REDISTRIBUTE,
                                 redistribution->comm->data_comm, request)
                     : MPI_Isend(buffer + done, length, MPI_BYTE, rank, TAG_REDISTRIBUTE,
                                 redistribution->comm->data_comm, request);
    }
    return code;
}

/* Packing or unpacking of messages. */
typedef struct redistribution_step {
    void (*visit)(redistribution_walk_t *walk);
    void (*action)(redistribution_walk_t *walk, const rungi_share_rectangle *share_part, int64_t peer);
    const rungi_redistribution_messages *messages;
    char *buffer;
} redistribution_step_t;

/* Returns the peer of a round: in round r, rank i sends to rank i + r and receives from rank i - r. */
static int round_peer(const rungi_cluster_comm *comm, bool is_in, int round)
{
    return (comm->rank + (is_in ? comm->ranks - round : round)) % comm->ranks;
}

/* Runs some rounds: steps[0] is sent, steps[1] is received. */
static rung_status exchange_rounds(rungi_redistribution *redistribution, const redistribution_step_t *steps, int first,
                                   int end)
{
    int code = MPI_SUCCESS;
    int64_t count = 0;
    for (int is_in = 1; is_in >= 0; is_in--)
        for (int round = first; code == MPI_SUCCESS && round < end; round++) {
            const rungi_redistribution_messages *messages = steps[is_in].messages;
            int peer = round_peer(redistribution->comm, is_in != 0, round);
            int64_t bytes = messages->elements[peer] * redistribution->element_bytes;
            code = post(redistribution, is_in != 0, peer, steps[is_in].buffer + messages->starts[peer], bytes, &count);
            redistribution->received_bytes += is_in ? bytes : 0;
        }
    if (code != MPI_SUCCESS)
        return rungi_cluster_comm_break(redistribution->comm, rungi_mpi_error_set(code));
    return rungi_cluster_comm_wait(redistribution->comm, count, redistribution->requests, redistribution->peers);
}

/* Returns the maximum number of messages in flight, in either direction. */
static int64_t max_messages(const rungi_redistribution *redistribution)
{
    int64_t max = 0;
    for (int first = 1; first < redistribution->comm->ranks; first += ROUNDS_IN_FLIGHT) {
        int64_t count = 0;
        for (int round = first; round < first + ROUNDS_IN_FLIGHT && round < redistribution->comm->ranks; round++)
            for (int is_in = 0; is_in < 2; is_in++) {
                int peer = round_peer(redistribution->comm, is_in != 0, round);
                count += messages_of(redistribution, redistribution->block_messages.elements[peer]) +
                         messages_of(redistribution, redistribution->share_messages.elements[peer]);
            }
        max = rungi_max(count, max);
    }
    return max;
}

/* ---- Opening ---------------------------------------------------------------------------------- */

static rung_status allocate_lists(rungi_redistribution *redistribution)
{
    size_t ranks = (size_t)redistribution->comm->ranks;
    int64_t *lists = calloc(5 * ranks, sizeof *lists);
    redistribution->block_messages.elements = lists; /* owns all five lists */
    redistribution->chunk_starts = calloc((size_t)redistribution->partition.chunks,
                                          sizeof *redistribution->chunk_starts);
    if (!lists || !redistribution->chunk_starts)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to count the messages of %d ranks",
                          redistribution->comm->ranks);
    redistribution->share_messages.elements = lists + ranks;
    redistribution->block_messages.starts = lists + 2 * ranks;
    redistribution->share_messages.starts = lists + 3 * ranks;
    redistribution->packed_elements = lists + 4 * ranks;
    return RUNG_OK;
}

rung_status rungi_redistribution_open(rungi_redistribution *redistribution, const rung_cluster_problem *cluster,
                                      const rung_cluster_grid *grid, rung_cluster_operand operand)
{
    redistribution->partition = rungi_partition_of(cluster, grid, operand, redistribution->comm->rank);
    TRY(allocate_lists(redistribution));
    visit_own_blocks(&(redistribution_walk_t){
        .redistribution = redistribution, .action = count_elements, .counts = redistribution->block_messages.elements});
    visit_own_share(&(redistribution_walk_t){
        .redistribution = redistribution, .action = count_elements, .counts = redistribution->share_messages.elements});
    set_message_starts(redistribution, &redistribution->block_messages);
    set_message_starts(redistribution, &redistribution->share_messages);
    set_chunk_starts(redistribution);
    size_t max = (size_t)max_messages(redistribution) + 1;
    redistribution->requests = malloc(max * sizeof *redistribution->requests);
    redistribution->peers = malloc(max * sizeof *redistribution->peers);
    return redistribution->requests && redistribution->peers
               ? RUNG_OK
               : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a list of messages");
}

void rungi_redistribution_close(rungi_redistribution *redistribution)
{
    free(redistribution->block_messages.elements);
    free(redistribution->chunk_starts);
    free(redistribution->requests);
    free(redistribution->peers);
    *redistribution = (rungi_redistribution){0};
}

/* ---- Redistribution --------------------------------------------------------------------------- */

static void run_step(rungi_redistribution *redistribution, const redistribution_step_t *step, char *share,
                     rungi_scaling scaling)
{
    memset(redistribution->packed_elements, 0,
           (size_t)redistribution->comm->ranks * sizeof *redistribution->packed_elements);
    step->visit(&(redistribution_walk_t){.redistribution = redistribution,
                                         .action = step->action,
                                         .counts = redistribution->packed_elements,
                                         .starts = step->messages->starts,
                                         .buffer = step->buffer,
                                         .share = share,
                                         .scaling = scaling});
}

/* Packs, exchanges and unpacks: steps[0] is sent, steps[1] is received. */
static rung_status redistribute(rungi_redistribution *redistribution, const redistribution_step_t *steps, char *share,
                                rungi_scaling scaling)
{
    int ranks = redistribution->comm->ranks;
    run_step(redistribution, &steps[0], share, scaling);
    for (int first = 1; first < ranks; first += ROUNDS_IN_FLIGHT)
        TRY(exchange_rounds(redistribution, steps, first, (int)rungi_min(first + ROUNDS_IN_FLIGHT, ranks)));
    run_step(redistribution, &steps[1], share, scaling);
    return RUNG_OK;
}

rung_status rungi_redistribution_to_shares(rungi_redistribution *redistribution, char *send_buffer,
                                           char *receive_buffer, char *share)
{
    const redistribution_step_t steps[] = {
        {visit_own_blocks, pack_block, &redistribution->block_messages, send_buffer},
        {visit_own_share, unpack_share, &redistribution->share_messages, receive_buffer}};
    return redistribute(redistribution, steps, share, (rungi_scaling){0});
}

rung_status rungi_redistribution_from_shares(rungi_redistribution *redistribution, char *send_buffer,
                                             char *receive_buffer, const char *share, rungi_scaling scaling)
{
    const redistribution_step_t steps[] = {
        {visit_own_share, pack_share, &redistribution->share_messages, send_buffer},
        {visit_own_blocks, unpack_block, &redistribution->block_messages, receive_buffer}};
    return redistribute(redistribution, steps, (char *)share, scaling);
}
