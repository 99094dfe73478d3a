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

/* Visits all rectangles of this rank's blocks. */
static void visit_own_blocks(redistribution_walk_t *walk)
{
    const rungi_cluster_layout *layout = walk->redistribution->layout;
    walk->owner = walk->redistribution->comm->rank;
    for (walk->i = layout->rows.first_own; walk->i < layout->rows.blocks; walk->i += layout->rows.own_step)
        for (walk->j = layout->cols.first_own; walk->j < layout->cols.blocks; walk->j += layout->cols.own_step)
            if (rungi_cluster_layout_owner(layout, walk->i, walk->j) == walk->owner)
                rungi_operand_partition_visit(&walk->redistribution->partition,
                                              rungi_cluster_layout_block(layout, walk->i, walk->j), -1, visit_rectangle,
                                              walk);
}

/* Visits all rectangles of this rank's share that are in other ranks' blocks. */
static void visit_own_share(redistribution_walk_t *walk)
{
    const rungi_cluster_layout *layout = walk->redistribution->layout;
    int64_t rank = walk->redistribution->comm->rank;
    rungi_operand_partition_coords coords;
    if (!rungi_operand_partition_find_rank(&walk->redistribution->partition, rank, &coords))
        return;
    rungi_rectangle part = rungi_operand_partition_part(&walk->redistribution->partition, coords);
    if (part.rows == 0 || part.cols == 0)
        return;
    int64_t row_end = rungi_cluster_layout_axis_block(&layout->rows, part.row + part.rows - 1);
    int64_t col_end = rungi_cluster_layout_axis_block(&layout->cols, part.col + part.cols - 1);
    for (walk->i = rungi_cluster_layout_axis_block(&layout->rows, part.row); walk->i <= row_end; walk->i++)
        for (walk->j = rungi_cluster_layout_axis_block(&layout->cols, part.col); walk->j <= col_end; walk->j++) {
            walk->owner = rungi_cluster_layout_owner(layout, walk->i, walk->j);
            if (walk->owner != rank)
                rungi_operand_partition_visit(&walk->redistribution->partition,
                                              rungi_cluster_layout_block(layout, walk->i, walk->j), rank,
                                              visit_rectangle, walk);
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
    rungi_operand_partition_coords coords;
    int64_t start = 0, is_active = rungi_operand_partition_find_rank(&redistribution->partition,
                                                                     redistribution->comm->rank, &coords);
    for (int64_t i = 0; i < redistribution->partition.row_chunks * redistribution->partition.col_chunks; i++) {
        redistribution->chunk_starts[i] = start;
        start += is_active ? rungi_operand_partition_piece(&redistribution->partition, coords, i).count : 0;
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

/* One direction of an exchange. */
typedef struct message_side {
    const rungi_redistribution_messages *messages;
    char *buffer;
} message_side_t;

/* Returns the peer of a round: in round r, rank i sends to rank i + r and receives from rank i - r. */
static int round_peer(const rungi_cluster_comm *comm, bool is_in, int round)
{
    return (comm->rank + (is_in ? comm->ranks - round : round)) % comm->ranks;
}

/* Runs some rounds: sides[0] is sent, sides[1] is received. */
static rung_status exchange_rounds(rungi_redistribution *redistribution, const message_side_t *sides, int first,
                                   int end)
{
    int code = MPI_SUCCESS;
    int64_t count = 0;
    for (int is_in = 1; is_in >= 0; is_in--)
        for (int round = first; code == MPI_SUCCESS && round < end; round++) {
            const rungi_redistribution_messages *messages = sides[is_in].messages;
            int peer = round_peer(redistribution->comm, is_in != 0, round);
            int64_t bytes = messages->elements[peer] * redistribution->element_bytes;
            code = post(redistribution, is_in != 0, peer, sides[is_in].buffer + messages->starts[peer], bytes, &count);
            redistribution->received_bytes += is_in ? bytes : 0;
        }
    if (code != MPI_SUCCESS)
        return rungi_cluster_comm_break(redistribution->comm, rungi_mpi_error_set(code));
    return rungi_cluster_comm_wait(redistribution->comm, count, redistribution->requests, redistribution->peers);
}

static rung_status exchange_all(rungi_redistribution *redistribution, const message_side_t *sides)
{
    int ranks = redistribution->comm->ranks;
    for (int first = 1; first < ranks; first += ROUNDS_IN_FLIGHT)
        TRY(exchange_rounds(redistribution, sides, first, (int)rungi_min(first + ROUNDS_IN_FLIGHT, ranks)));
    return RUNG_OK;
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
    redistribution->chunk_starts = calloc(
        (size_t)(redistribution->partition.row_chunks * redistribution->partition.col_chunks),
        sizeof *redistribution->chunk_starts);
    if (!lists || !redistribution->chunk_starts)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory to count the messages of %d ranks",
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
    redistribution->partition = rungi_operand_partition_of(cluster, grid, operand);
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
               : rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a list of messages");
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

/* Returns a walk that packs or unpacks messages. */
static redistribution_walk_t redistribution_walk_of(rungi_redistribution *redistribution,
                                                    const rungi_redistribution_messages *messages, char *buffer,
                                                    char *share)
{
    memset(redistribution->packed_elements, 0,
           (size_t)redistribution->comm->ranks * sizeof *redistribution->packed_elements);
    return (redistribution_walk_t){.redistribution = redistribution,
                                   .counts = redistribution->packed_elements,
                                   .starts = messages->starts,
                                   .buffer = buffer,
                                   .share = share};
}

rung_status rungi_redistribution_to_shares(rungi_redistribution *redistribution, char *send_buffer,
                                           char *receive_buffer, char *share)
{
    redistribution_walk_t packing = redistribution_walk_of(redistribution, &redistribution->block_messages, send_buffer,
                                                           share);
    packing.action = pack_block;
    visit_own_blocks(&packing);
    TRY(exchange_all(redistribution, (const message_side_t[]){{&redistribution->block_messages, send_buffer},
                                                              {&redistribution->share_messages, receive_buffer}}));
    redistribution_walk_t unpacking = redistribution_walk_of(redistribution, &redistribution->share_messages,
                                                             receive_buffer, share);
    unpacking.action = unpack_share;
    visit_own_share(&unpacking);
    return RUNG_OK;
}

rung_status rungi_redistribution_from_shares(rungi_redistribution *redistribution, char *send_buffer,
                                             char *receive_buffer, const char *share, rungi_scaling scaling)
{
    redistribution_walk_t packing = redistribution_walk_of(redistribution, &redistribution->share_messages, send_buffer,
                                                           (char *)share);
    packing.action = pack_share;
    visit_own_share(&packing);
    TRY(exchange_all(redistribution, (const message_side_t[]){{&redistribution->share_messages, send_buffer},
                                                              {&redistribution->block_messages, receive_buffer}}));
    redistribution_walk_t unpacking = redistribution_walk_of(redistribution, &redistribution->block_messages,
                                                             receive_buffer, (char *)share);
    unpacking.action = unpack_block;
    unpacking.scaling = scaling;
    visit_own_blocks(&unpacking);
    return RUNG_OK;
}
