/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - overlaps gathers, multiplications and reductions. See schedule.h.
 *
 *     network   A0 B0 | B1 A1 | B2 A2 ...             sums of 0 | sums of 1 | ...
 *     processor       | block 0 | blocks 1 2 3 | blocks 4 ... | add 0 | ...
 *
 * Two gathers and two reductions are in flight at a time. The code uses point-to-point messages instead of MPI's collectives,
 * which do not overlap reliably, count in int, and in some MPIs send more than necessary. */
#include "cluster/mpi/schedule.h"

#include <stdlib.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "cluster/mpi/mpi_error.h"

enum { TAG_A = 1, TAG_B, TAG_C };

/* Requests that are waited for together. */
typedef struct message_list {
    MPI_Request *requests;
    int *ranks; /* peer of each request */
    int64_t count;
} message_list_t;

typedef struct message_exchange {
    message_list_t incoming, outgoing;
} message_exchange_t;

/* A block whose partial sums are in flight. */
typedef struct reduction {
    message_exchange_t exchange;
    void *memory;   /* this rank's partial sums, then those of the other ranks for its piece */
    int64_t number; /* of the block; -1: none */
} reduction_t;

/* A or B. */
typedef struct schedule_operand {
    bool is_b;
    int tag;
    int64_t ranks, index; /* owners of each chunk, and this rank's index among them */
    int64_t chunks;
    void *share, *gathered;                  /* the same memory if this rank is the only owner */
    int64_t *share_starts, *gathered_starts; /* elements before each chunk; the last entry is the total */
} schedule_operand_t;

struct rungi_schedule_state {
    rungi_schedule *schedule;
    rungi_grid_position position;
    int64_t input_bytes, sum_bytes; /* per element */
    schedule_operand_t a, b;
    int64_t *c_starts; /* elements before each piece of the share of C */
    message_exchange_t gathers[RUNGI_CLUSTER_GATHERS_IN_FLIGHT];
    reduction_t reductions[RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT];
    int64_t posted_gathers, multiplied_blocks; /* numbers so far */
    rung_status multiply_status;
    bool is_broken; /* messages may still be in flight */
};

/* ---- Sizes --------------------------------------------------------------------------------- */

static rungi_rectangle chunk_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                rungi_grid_position position, bool is_b, int64_t index)
{
    return is_b ? rungi_chunk_b(cluster, grid, position, index) : rungi_chunk_a(cluster, grid, position, index);
}

/* Returns the elements of block `number` of C. */
static int64_t block_elements(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                              rungi_grid_position position, int64_t number)
{
    return rungi_rectangle_elements(
        rungi_chunk_c(cluster, grid, position, number / grid->b_chunks, number % grid->b_chunks));
}

/* ---- Messages ------------------------------------------------------------------------------- */

static char *memory_at(const rungi_schedule_state *state, void *memory, int64_t offset)
{
    const rungi_rank_operations *operations = state->schedule->operations;
    return operations->address(operations->user, memory, offset);
}

/* Starts to send or receive `bytes`, split into messages of at most message_bytes. */
static rung_status post(rungi_schedule_state *state, message_list_t *list, bool is_in, int64_t rank, int tag,
                        void *memory, int64_t offset, int64_t bytes)
{
    rungi_schedule *schedule = state->schedule;
    for (int64_t done = 0; done < bytes; done += schedule->operations->message_bytes) {
        int count = (int)rungi_min(bytes - done, schedule->operations->message_bytes);
        char *memory_address = memory_at(state, memory, offset + done);
        MPI_Request *request = &list->requests[list->count];
        int code = is_in ? MPI_Irecv(memory_address, count, MPI_BYTE, (int)rank, tag, schedule->comm, request)
                         : MPI_Isend(memory_address, count, MPI_BYTE, (int)rank, tag, schedule->comm, request);
        if (code != MPI_SUCCESS)
            return rungi_mpi_error_set(code);
        list->ranks[list->count++] = (int)rank;
        if (is_in) {
            schedule->traffic.bytes += count;
            schedule->traffic.messages++;
        }
    }
    return RUNG_OK;
}

static rung_status wait_for(rungi_schedule_state *state, message_list_t *list)
{
    const rungi_rank_operations *operations = state->schedule->operations;
    rung_status status = RUNG_OK;
    if (list->count > 0)
        status = operations->wait(operations->user, list->count, list->requests, list->ranks);
    if (status == RUNG_OK)
        list->count = 0;
    else
        state->is_broken = true;
    return status;
}

/* ---- Gathers -------------------------------------------------------------------------------- */

static int64_t chunk_elements(const schedule_operand_t *operand, int64_t index)
{
    return operand->gathered_starts[index + 1] - operand->gathered_starts[index];
}

/* Returns the rank of owner `index` of this rank's chunks. */
static int64_t chunk_owner_rank(const rungi_schedule_state *state, const schedule_operand_t *operand, int64_t index)
{
    rungi_grid_position position = state->position;
    *(operand->is_b ? &position.i : &position.j) = index;
    return rungi_grid_rank_at(state->schedule->grid, position);
}

static rung_status gather_chunk(rungi_schedule_state *state, schedule_operand_t *operand, int64_t chunk,
                                message_exchange_t *exchange)
{
    const rungi_rank_operations *operations = state->schedule->operations;
    int64_t elements = chunk_elements(operand, chunk), start = operand->gathered_starts[chunk];
    int64_t own = rungi_part_size(elements, operand->ranks, operand->index);
    int64_t own_start = start + rungi_part_start(elements, operand->ranks, operand->index);
    if (operand->ranks == 1)
        return RUNG_OK;
    for (int64_t step = 1; step < operand->ranks; step++) {
        int64_t from = (operand->index + operand->ranks - step) % operand->ranks;
        TRY(post(state, &exchange->incoming, true, chunk_owner_rank(state, operand, from), operand->tag,
                 operand->gathered, (start + rungi_part_start(elements, operand->ranks, from)) * state->input_bytes,
                 rungi_part_size(elements, operand->ranks, from) * state->input_bytes));
    }
    for (int64_t step = 1; step < operand->ranks; step++)
        TRY(post(state, &exchange->outgoing, false,
                 chunk_owner_rank(state, operand, (operand->index + step) % operand->ranks), operand->tag,
                 operand->share, operand->share_starts[chunk] * state->input_bytes, own * state->input_bytes));
    operations->copy(operations->user, own * state->input_bytes,
                     memory_at(state, operand->share, operand->share_starts[chunk] * state->input_bytes),
                     memory_at(state, operand->gathered, own_start * state->input_bytes));
    return RUNG_OK;
}

/* Starts the gathers that may be in flight together with arrival `number`. */
static rung_status post_gathers(rungi_schedule_state *state, int64_t number)
{
    const rung_cluster_grid *grid = state->schedule->grid;
    int64_t end = rungi_min(number + RUNGI_CLUSTER_GATHERS_IN_FLIGHT, grid->a_chunks + grid->b_chunks);
    for (; state->posted_gathers < end; state->posted_gathers++) {
        message_exchange_t *exchange = &state->gathers[state->posted_gathers % RUNGI_CLUSTER_GATHERS_IN_FLIGHT];
        rungi_arrival arrival = rungi_arrival_at(grid, state->posted_gathers);
        TRY(wait_for(state, &exchange->outgoing));
        TRY(gather_chunk(state, arrival.is_b ? &state->b : &state->a, arrival.index, exchange));
    }
    return RUNG_OK;
}

/* ---- Reductions ----------------------------------------------------------------------------------- */

/* Returns where the partial sums of rank `from` begin: after this rank's block, in the order of ranks. */
static int64_t partial_sum_start(int64_t elements, int64_t own, int64_t l, int64_t from)
{
    return elements + (from < l ? from : from - 1) * own;
}

static rung_status exchange_partial_sums(rungi_schedule_state *state, reduction_t *reduction)
{
    const rung_cluster_grid *grid = state->schedule->grid;
    int64_t elements = block_elements(state->schedule->cluster, grid, state->position, reduction->number),
            l = state->position.l;
    int64_t own = rungi_part_size(elements, grid->pk, l);
    for (int64_t step = 1; step < grid->pk; step++) {
        int64_t from = (l + grid->pk - step) % grid->pk;
        rungi_grid_position position = {state->position.i, state->position.j, from};
        TRY(post(state, &reduction->exchange.incoming, true, rungi_grid_rank_at(grid, position), TAG_C,
                 reduction->memory, partial_sum_start(elements, own, l, from) * state->sum_bytes,
                 own * state->sum_bytes));
    }
    for (int64_t step = 1; step < grid->pk; step++) {
        int64_t to = (l + step) % grid->pk;
        rungi_grid_position position = {state->position.i, state->position.j, to};
        TRY(post(state, &reduction->exchange.outgoing, false, rungi_grid_rank_at(grid, position), TAG_C,
                 reduction->memory, rungi_part_start(elements, grid->pk, to) * state->sum_bytes,
                 rungi_part_size(elements, grid->pk, to) * state->sum_bytes));
    }
    return RUNG_OK;
}

/* Adds in the order of ranks, not of arrival: results are reproducible. */
static void add_partial_sums(rungi_schedule_state *state, const reduction_t *reduction)
{
    const rungi_schedule *schedule = state->schedule;
    const rungi_rank_operations *operations = schedule->operations;
    int64_t elements = block_elements(schedule->cluster, schedule->grid, state->position, reduction->number),
            l = state->position.l;
    int64_t own = rungi_part_size(elements, schedule->grid->pk, l);
    char *target = memory_at(state, schedule->c, state->c_starts[reduction->number] * state->sum_bytes);
    for (int64_t from = 0; from < schedule->grid->pk; from++) {
        int64_t start = from == l ? rungi_part_start(elements, schedule->grid->pk, l)
                                  : partial_sum_start(elements, own, l, from);
        const char *source = memory_at(state, reduction->memory, start * state->sum_bytes);
        if (from == 0)
            operations->copy(operations->user, own * state->sum_bytes, source, target);
        else
            operations->add(operations->user, own, source, target);
    }
}

static rung_status complete_reduction(rungi_schedule_state *state, reduction_t *reduction)
{
    if (reduction->number < 0)
        return RUNG_OK;
    TRY(wait_for(state, &reduction->exchange.incoming));
    add_partial_sums(state, reduction);
    reduction->number = -1;
    return wait_for(state, &reduction->exchange.outgoing);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static void multiply_into(rungi_schedule_state *state, int64_t s, int64_t t, char *c)
{
    const rungi_schedule *schedule = state->schedule;
    const rungi_rank_operations *operations = schedule->operations;
    rungi_rectangle a = rungi_chunk_a(schedule->cluster, schedule->grid, state->position, s);
    rungi_rectangle block = rungi_chunk_c(schedule->cluster, schedule->grid, state->position, s, t);
    if (state->multiply_status == RUNG_OK)
        state->multiply_status = operations->multiply(
            operations->user, block.rows, block.cols, a.cols,
            memory_at(state, state->a.gathered, state->a.gathered_starts[s] * state->input_bytes),
            memory_at(state, state->b.gathered, state->b.gathered_starts[t] * state->input_bytes), c);
}

static rung_status multiply_block(rungi_schedule_state *state, int64_t s, int64_t t)
{
    const rungi_schedule *schedule = state->schedule;
    int64_t number = s * schedule->grid->b_chunks + t;
    if (schedule->grid->pk == 1) {
        multiply_into(state, s, t, memory_at(state, schedule->c, state->c_starts[number] * state->sum_bytes));
        return RUNG_OK;
    }
    reduction_t *reduction = &state->reductions[state->multiplied_blocks++ % RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT];
    TRY(complete_reduction(state, reduction));
    multiply_into(state, s, t, memory_at(state, reduction->memory, 0));
    reduction->number = number;
    return exchange_partial_sums(state, reduction);
}

static rung_status multiply_completed_blocks(rungi_schedule_state *state, rungi_arrival arrival)
{
    for (int64_t other = 0; other < arrival.other_chunks; other++)
        TRY(arrival.is_b ? multiply_block(state, other, arrival.index) : multiply_block(state, arrival.index, other));
    return RUNG_OK;
}

static rung_status complete_all(rungi_schedule_state *state)
{
    for (int i = 0; i < RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT; i++)
        TRY(complete_reduction(state,
                               &state->reductions[state->multiplied_blocks++ % RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT]));
    for (int i = 0; i < RUNGI_CLUSTER_GATHERS_IN_FLIGHT; i++)
        TRY(wait_for(state, &state->gathers[i].outgoing));
    return RUNG_OK;
}

static rung_status run_schedule(rungi_schedule_state *state)
{
    const rung_cluster_grid *grid = state->schedule->grid;
    for (int64_t i = 0; i < grid->a_chunks + grid->b_chunks; i++) {
        TRY(post_gathers(state, i));
        TRY(wait_for(state, &state->gathers[i % RUNGI_CLUSTER_GATHERS_IN_FLIGHT].incoming));
        TRY(post_gathers(state, i + 1));
        TRY(multiply_completed_blocks(state, rungi_arrival_at(grid, i)));
    }
    return complete_all(state);
}

rung_status rungi_schedule_run(rungi_schedule *schedule)
{
    rungi_schedule_state *state = schedule->state;
    if (!state)
        return RUNG_OK;
    rung_status status = run_schedule(state);
    state->is_broken |= status != RUNG_OK;
    return status == RUNG_OK ? state->multiply_status : status;
}

bool rungi_schedule_is_broken(const rungi_schedule *schedule)
{
    return schedule->state && schedule->state->is_broken;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* Returns the starts of `count` consecutive ranges and, as the last entry, the total; NULL if there is no memory. */
static int64_t *prefix_sums(int64_t count,
                            int64_t (*size)(const rungi_schedule_state *, const schedule_operand_t *, int64_t),
                            const rungi_schedule_state *state, const schedule_operand_t *operand)
{
    int64_t *starts = malloc((size_t)(count + 1) * sizeof *starts);
    if (!starts)
        return NULL;
    starts[0] = 0;
    for (int64_t i = 0; i < count; i++)
        starts[i + 1] = starts[i] + size(state, operand, i);
    return starts;
}

static int64_t gathered_size(const rungi_schedule_state *state, const schedule_operand_t *operand, int64_t chunk)
{
    return rungi_rectangle_elements(
        chunk_of(state->schedule->cluster, state->schedule->grid, state->position, operand->is_b, chunk));
}

static int64_t share_size(const rungi_schedule_state *state, const schedule_operand_t *operand, int64_t chunk)
{
    return rungi_part_size(gathered_size(state, operand, chunk), operand->ranks, operand->index);
}

static int64_t piece_size(const rungi_schedule_state *state, const schedule_operand_t *operand, int64_t block)
{
    (void)operand;
    return rungi_part_size(block_elements(state->schedule->cluster, state->schedule->grid, state->position, block),
                           state->schedule->grid->pk, state->position.l);
}

static bool create_message_list(message_list_t *list, int64_t messages)
{
    list->requests = malloc((size_t)(messages + 1) * sizeof *list->requests);
    list->ranks = malloc((size_t)(messages + 1) * sizeof *list->ranks);
    return list->requests && list->ranks;
}

/* Allocates the requests for one piece of at most `bytes` to and from each of `others` ranks. */
static bool create_exchange(const rungi_schedule_state *state, message_exchange_t *exchange, int64_t others,
                            int64_t bytes)
{
    int64_t messages = others * rungi_ceil_divide(bytes, state->schedule->operations->message_bytes);
    return create_message_list(&exchange->incoming, messages) && create_message_list(&exchange->outgoing, messages);
}

static bool create_operand(rungi_schedule_state *state, schedule_operand_t *operand)
{
    const rungi_rank_operations *operations = state->schedule->operations;
    operand->gathered_starts = prefix_sums(operand->chunks, gathered_size, state, operand);
    operand->share_starts = prefix_sums(operand->chunks, share_size, state, operand);
    if (!operand->gathered_starts || !operand->share_starts)
        return false;
    if (operand->ranks == 1) {
        operand->gathered = operand->share;
        return true;
    }
    int64_t bytes = operand->gathered_starts[operand->chunks] * state->input_bytes;
    operand->gathered = operations->allocate(operations->user, bytes);
    return operand->gathered || bytes == 0;
}

/* Returns the maximum elements of a piece of a chunk. */
static int64_t max_piece_elements(const schedule_operand_t *operand)
{
    int64_t max = 0;
    for (int64_t i = 0; i < operand->chunks; i++) {
        int64_t piece = rungi_ceil_divide(chunk_elements(operand, i), operand->ranks);
        max = rungi_max(piece, max);
    }
    return max;
}

static bool create_gathers(rungi_schedule_state *state)
{
    int64_t others = rungi_max(state->a.ranks, state->b.ranks) - 1;
    int64_t a = max_piece_elements(&state->a), b = max_piece_elements(&state->b);
    for (int i = 0; i < RUNGI_CLUSTER_GATHERS_IN_FLIGHT; i++)
        if (!create_exchange(state, &state->gathers[i], others, rungi_max(a, b) * state->input_bytes))
            return false;
    return true;
}

static bool create_reductions(rungi_schedule_state *state)
{
    const rungi_schedule *schedule = state->schedule;
    const rungi_rank_operations *operations = schedule->operations;
    int64_t max = 0;
    for (int64_t i = 0; i < schedule->grid->a_chunks * schedule->grid->b_chunks; i++) {
        int64_t elements = block_elements(schedule->cluster, schedule->grid, state->position, i);
        max = rungi_max(elements, max);
    }
    for (int i = 0; i < RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT; i++) {
        reduction_t *reduction = &state->reductions[i];
        reduction->number = -1;
        if (schedule->grid->pk == 1)
            continue;
        int64_t bytes = rungi_grid_reduction_elements(schedule->grid, max) * state->sum_bytes;
        reduction->memory = operations->allocate(operations->user, bytes);
        if (!reduction->memory || !create_exchange(state, &reduction->exchange, schedule->grid->pk - 1,
                                                   rungi_ceil_divide(max, schedule->grid->pk) * state->sum_bytes))
            return false;
    }
    return true;
}

rung_status rungi_schedule_prepare(rungi_schedule *schedule)
{
    const rung_cluster_grid *grid = schedule->grid;
    if (schedule->rank >= rungi_grid_ranks(grid))
        return RUNG_OK;
    rungi_schedule_state *state = schedule->state = calloc(1, sizeof *state);
    if (!state)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for the schedule of a rank");
    state->schedule = schedule;
    state->position = rungi_grid_position_of(grid, schedule->rank);
    state->input_bytes = rungi_cluster_input_element_bytes(schedule->cluster);
    state->sum_bytes = rungi_cluster_sum_element_bytes(schedule->cluster);
    state->a = (schedule_operand_t){
        .tag = TAG_A, .ranks = grid->pn, .index = state->position.j, .chunks = grid->a_chunks, .share = schedule->a};
    state->b = (schedule_operand_t){.is_b = true,
                                    .tag = TAG_B,
                                    .ranks = grid->pm,
                                    .index = state->position.i,
                                    .chunks = grid->b_chunks,
                                    .share = schedule->b};
    state->c_starts = prefix_sums(grid->a_chunks * grid->b_chunks, piece_size, state, NULL);
    if (state->c_starts && create_operand(state, &state->a) && create_operand(state, &state->b) &&
        create_gathers(state) && create_reductions(state))
        return RUNG_OK;
    rungi_schedule_free(schedule);
    return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a rank's blocks of A, B and C; use more ranks");
}

static void free_exchange(message_exchange_t *exchange)
{
    free(exchange->incoming.requests);
    free(exchange->incoming.ranks);
    free(exchange->outgoing.requests);
    free(exchange->outgoing.ranks);
}

static void free_operand(const rungi_schedule_state *state, schedule_operand_t *operand)
{
    const rungi_rank_operations *operations = state->schedule->operations;
    if (operand->ranks > 1)
        operations->release(operations->user, operand->gathered);
    free(operand->gathered_starts);
    free(operand->share_starts);
}

void rungi_schedule_free(rungi_schedule *schedule)
{
    rungi_schedule_state *state = schedule->state;
    schedule->state = NULL;
    /* MPI may still write to the memory of a message in flight. */
    if (!state || state->is_broken)
        return;
    free_operand(state, &state->a);
    free_operand(state, &state->b);
    free(state->c_starts);
    for (int i = 0; i < RUNGI_CLUSTER_GATHERS_IN_FLIGHT; i++)
        free_exchange(&state->gathers[i]);
    for (int i = 0; i < RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT; i++) {
        free_exchange(&state->reductions[i].exchange);
        schedule->operations->release(schedule->operations->user, state->reductions[i].memory);
    }
    free(state);
}
