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
    int *ranks; /* peer of each request; in the memory of `requests` */
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

/* A, B or C. The chunks of C are the blocks that are multiplied. */
typedef struct schedule_operand {
    rungi_partition partition;
    void *share, *gathered;               /* the same memory if this rank is the only owner; C is not gathered */
    int64_t *share_starts, *chunk_starts; /* elements before each piece and chunk; the last entry is the total */
} schedule_operand_t;

struct rungi_schedule_state {
    rungi_schedule *schedule;
    int64_t input_bytes, sum_bytes; /* per element */
    schedule_operand_t a, b, c;
    message_exchange_t gathers[RUNGI_CLUSTER_GATHERS_IN_FLIGHT];
    reduction_t reductions[RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT];
    int64_t posted_gathers, multiplied_blocks; /* numbers so far */
    rung_status multiply_status;
    bool is_broken; /* messages may still be in flight */
};

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
    return operand->chunk_starts[index + 1] - operand->chunk_starts[index];
}

/* Returns the rank of owner `index` of this rank's chunks. */
static int64_t owner_rank(const schedule_operand_t *operand, int64_t index)
{
    const rungi_partition *partition = &operand->partition;
    return rungi_partition_rank(partition, partition->rows.part, partition->cols.part, index);
}

static rung_status gather_chunk(rungi_schedule_state *state, schedule_operand_t *operand, int64_t chunk,
                                message_exchange_t *exchange)
{
    const rungi_rank_operations *operations = state->schedule->operations;
    int64_t elements = chunk_elements(operand, chunk), start = operand->chunk_starts[chunk];
    int64_t owners = operand->partition.owners, owner = operand->partition.owner;
    int64_t own_bytes = rungi_part_size(elements, owners, owner) * state->input_bytes,
            own_offset = operand->share_starts[chunk] * state->input_bytes;
    int tag = operand == &state->b ? TAG_B : TAG_A;
    if (owners == 1)
        return RUNG_OK;
    for (int64_t step = 1; step < owners; step++) {
        int64_t from = (owner + owners - step) % owners;
        TRY(post(state, &exchange->incoming, true, owner_rank(operand, from), tag, operand->gathered,
                 (start + rungi_part_start(elements, owners, from)) * state->input_bytes,
                 rungi_part_size(elements, owners, from) * state->input_bytes));
    }
    for (int64_t step = 1; step < owners; step++)
        TRY(post(state, &exchange->outgoing, false, owner_rank(operand, (owner + step) % owners), tag, operand->share,
                 own_offset, own_bytes));
    int64_t target = (start + rungi_part_start(elements, owners, owner)) * state->input_bytes;
    operations->copy(operations->user, own_bytes, memory_at(state, operand->share, own_offset),
                     memory_at(state, operand->gathered, target));
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
    int64_t elements = chunk_elements(&state->c, reduction->number), pk = state->schedule->grid->pk,
            l = state->c.partition.owner;
    int64_t own = rungi_part_size(elements, pk, l);
    for (int64_t step = 1; step < pk; step++) {
        int64_t from = (l + pk - step) % pk;
        TRY(post(state, &reduction->exchange.incoming, true, owner_rank(&state->c, from), TAG_C, reduction->memory,
                 partial_sum_start(elements, own, l, from) * state->sum_bytes, own * state->sum_bytes));
    }
    for (int64_t step = 1; step < pk; step++) {
        int64_t to = (l + step) % pk;
        TRY(post(state, &reduction->exchange.outgoing, false, owner_rank(&state->c, to), TAG_C, reduction->memory,
                 rungi_part_start(elements, pk, to) * state->sum_bytes,
                 rungi_part_size(elements, pk, to) * state->sum_bytes));
    }
    return RUNG_OK;
}

/* Adds in the order of ranks, not of arrival: results are reproducible. */
static void add_partial_sums(rungi_schedule_state *state, const reduction_t *reduction)
{
    const rungi_rank_operations *operations = state->schedule->operations;
    int64_t elements = chunk_elements(&state->c, reduction->number), pk = state->schedule->grid->pk,
            l = state->c.partition.owner;
    int64_t own = rungi_part_size(elements, pk, l);
    char *target = memory_at(state, state->c.share, state->c.share_starts[reduction->number] * state->sum_bytes);
    for (int64_t from = 0; from < pk; from++) {
        int64_t start = from == l ? rungi_part_start(elements, pk, l) : partial_sum_start(elements, own, l, from);
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
    const rungi_rank_operations *operations = state->schedule->operations;
    rung_cluster_piece a = rungi_partition_piece(&state->a.partition, s),
                       b = rungi_partition_piece(&state->b.partition, t);
    if (state->multiply_status == RUNG_OK)
        state->multiply_status = operations->multiply(
            operations->user, a.rows, b.cols, a.cols,
            memory_at(state, state->a.gathered, state->a.chunk_starts[s] * state->input_bytes),
            memory_at(state, state->b.gathered, state->b.chunk_starts[t] * state->input_bytes), c);
}

static rung_status multiply_block(rungi_schedule_state *state, int64_t s, int64_t t)
{
    const rung_cluster_grid *grid = state->schedule->grid;
    int64_t number = s * grid->b_chunks + t;
    if (grid->pk == 1) {
        multiply_into(state, s, t, memory_at(state, state->c.share, state->c.share_starts[number] * state->sum_bytes));
        return RUNG_OK;
    }
    reduction_t *reduction = &state->reductions[state->multiplied_blocks++ % RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT];
    TRY(complete_reduction(state, reduction));
    multiply_into(state, s, t, memory_at(state, reduction->memory, 0));
    reduction->number = number;
    return exchange_partial_sums(state, reduction);
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
        rungi_arrival arrival = rungi_arrival_at(grid, i);
        for (int64_t other = 0; other < arrival.other_chunks; other++)
            TRY(multiply_block(state, arrival.is_b ? other : arrival.index, arrival.is_b ? arrival.index : other));
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

static bool create_message_list(message_list_t *list, int64_t messages)
{
    list->requests = malloc((size_t)(messages + 1) * (sizeof *list->requests + sizeof *list->ranks));
    list->ranks = list->requests ? (int *)(list->requests + messages + 1) : NULL;
    return list->requests != NULL;
}

/* Allocates the requests for one piece of at most `bytes` to and from each of `others` ranks. */
static bool create_exchange(const rungi_schedule_state *state, message_exchange_t *exchange, int64_t others,
                            int64_t bytes)
{
    int64_t messages = others * rungi_ceil_divide(bytes, state->schedule->operations->message_bytes);
    return create_message_list(&exchange->incoming, messages) && create_message_list(&exchange->outgoing, messages);
}

/* Sets the share and the starts of an operand's pieces and chunks. */
static bool open_operand(rungi_schedule_state *state, rung_cluster_operand kind, void *share,
                         schedule_operand_t *operand)
{
    const rungi_schedule *schedule = state->schedule;
    operand->partition = rungi_partition_of(schedule->cluster, schedule->grid, kind, schedule->rank);
    operand->share = operand->gathered = share;
    int64_t chunks = operand->partition.chunks;
    operand->chunk_starts = calloc((size_t)(chunks + 1), sizeof *operand->chunk_starts);
    operand->share_starts = calloc((size_t)(chunks + 1), sizeof *operand->share_starts);
    if (!operand->chunk_starts || !operand->share_starts)
        return false;
    for (int64_t i = 0; i < chunks; i++) {
        rung_cluster_piece piece = rungi_partition_piece(&operand->partition, i);
        operand->chunk_starts[i + 1] = operand->chunk_starts[i] + piece.rows * piece.cols;
        operand->share_starts[i + 1] = operand->share_starts[i] + piece.count;
    }
    return true;
}

/* Allocates the memory of all chunks of A or B, unless this rank's share contains them. */
static bool allocate_gathered(rungi_schedule_state *state, schedule_operand_t *operand)
{
    const rungi_rank_operations *operations = state->schedule->operations;
    int64_t bytes = operand->chunk_starts[operand->partition.chunks] * state->input_bytes;
    if (operand->partition.owners == 1)
        return true;
    operand->gathered = operations->allocate(operations->user, bytes);
    return operand->gathered || bytes == 0;
}

static int64_t max_chunk_elements(const schedule_operand_t *operand)
{
    int64_t max = 0;
    for (int64_t i = 0; i < operand->partition.chunks; i++)
        max = rungi_max(chunk_elements(operand, i), max);
    return max;
}

static bool create_gathers(rungi_schedule_state *state)
{
    const rung_cluster_grid *grid = state->schedule->grid;
    int64_t a = rungi_ceil_divide(max_chunk_elements(&state->a), grid->pn),
            b = rungi_ceil_divide(max_chunk_elements(&state->b), grid->pm);
    for (int i = 0; i < RUNGI_CLUSTER_GATHERS_IN_FLIGHT; i++)
        if (!create_exchange(state, &state->gathers[i], rungi_max(grid->pn, grid->pm) - 1,
                             rungi_max(a, b) * state->input_bytes))
            return false;
    return true;
}

static bool create_reductions(rungi_schedule_state *state)
{
    const rung_cluster_grid *grid = state->schedule->grid;
    const rungi_rank_operations *operations = state->schedule->operations;
    int64_t max = max_chunk_elements(&state->c), bytes = rungi_grid_reduction_elements(grid, max) * state->sum_bytes;
    for (int i = 0; i < RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT; i++) {
        reduction_t *reduction = &state->reductions[i];
        reduction->number = -1;
        if (grid->pk == 1)
            continue;
        reduction->memory = operations->allocate(operations->user, bytes);
        if (!reduction->memory || !create_exchange(state, &reduction->exchange, grid->pk - 1,
                                                   rungi_ceil_divide(max, grid->pk) * state->sum_bytes))
            return false;
    }
    return true;
}

rung_status rungi_schedule_prepare(rungi_schedule *schedule)
{
    if (schedule->rank >= rungi_grid_ranks(schedule->grid))
        return RUNG_OK;
    rungi_schedule_state *state = schedule->state = calloc(1, sizeof *state);
    if (!state)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the schedule of a rank");
    state->schedule = schedule;
    state->input_bytes = rungi_cluster_input_element_bytes(schedule->cluster);
    state->sum_bytes = rungi_cluster_sum_element_bytes(schedule->cluster);
    if (open_operand(state, RUNG_CLUSTER_OPERAND_A, schedule->a, &state->a) &&
        open_operand(state, RUNG_CLUSTER_OPERAND_B, schedule->b, &state->b) &&
        open_operand(state, RUNG_CLUSTER_OPERAND_C, schedule->c, &state->c) && allocate_gathered(state, &state->a) &&
        allocate_gathered(state, &state->b) && create_gathers(state) && create_reductions(state))
        return RUNG_OK;
    rungi_schedule_free(schedule);
    return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for a rank's blocks of A, B and C; use more ranks");
}

static void free_exchange(message_exchange_t *exchange)
{
    free(exchange->incoming.requests);
    free(exchange->outgoing.requests);
}

static void free_operand(const rungi_schedule_state *state, schedule_operand_t *operand)
{
    const rungi_rank_operations *operations = state->schedule->operations;
    if (operand->gathered != operand->share)
        operations->release(operations->user, operand->gathered);
    free(operand->chunk_starts);
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
    free_operand(state, &state->c);
    for (int i = 0; i < RUNGI_CLUSTER_GATHERS_IN_FLIGHT; i++)
        free_exchange(&state->gathers[i]);
    for (int i = 0; i < RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT; i++) {
        free_exchange(&state->reductions[i].exchange);
        schedule->operations->release(schedule->operations->user, state->reductions[i].memory);
    }
    free(state);
}
