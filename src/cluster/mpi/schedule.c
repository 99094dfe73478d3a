/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - gathers come in, blocks are multiplied, sums go out, all at the same time:
 *
 *     network   A0 B0 | B1 A1 | B2 A2 ...             sums of 0 | sums of 1 | ...
 *     processor       | block 0 | blocks 1 2 3 | blocks 4 ... | add 0 | ...
 *
 * Two gathers are always on their way, and the sums of two blocks. Everything is sent from rank to rank by us, not by
 * MPI's collectives: those know no overlap that holds on every MPI, count in int, and some send more than they must. */
#include "cluster/mpi/schedule.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/checked.h"
#include "cluster/mpi/failed.h"

enum { TAG_A = 1, TAG_B, TAG_C };

/* Messages that belong together. */
typedef struct bundle {
    MPI_Request *requests;
    int *ranks; /* that they are from or to */
    int64_t count;
} bundle_t;

typedef struct exchange {
    bundle_t in, out;
} exchange_t;

/* A block whose sums are on their way. */
typedef struct summing {
    exchange_t exchange;
    void *memory;   /* this rank's summand, and behind it those of the others to its piece */
    int64_t number; /* of the block; -1: none */
} summing_t;

/* One of A and B. */
typedef struct operand {
    bool is_b;
    int tag;
    int64_t ranks, index; /* that share each chunk, and which of them this is */
    int64_t chunks;
    void *share, *whole;                  /* the same memory where nobody shares it */
    int64_t *share_starts, *whole_starts; /* elements before each chunk, and at last all */
} operand_t;

struct rungi_work {
    rungi_duty *job;
    rungi_place at;
    int64_t in, sum; /* bytes of an element */
    operand_t a, b;
    int64_t *c_starts; /* of this rank's pieces of C's blocks */
    exchange_t gathers[RUNGI_GATHERS_UNDER_WAY];
    summing_t sums[RUNGI_SUMS_UNDER_WAY];
    int64_t posted, multiplied; /* gathers and blocks so far */
    rung_status multiply_status;
    bool is_broken; /* messages may still be on their way */
};

/* ---- Shares --------------------------------------------------------------------------------- */

static rungi_rectangle chunk_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, rungi_place at,
                                bool is_b, int64_t index)
{
    return is_b ? rungi_chunk_b(cluster, grid, at, index) : rungi_chunk_a(cluster, grid, at, index);
}

static int64_t share_of(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank, bool is_b)
{
    rungi_place at = rungi_place_of(grid, rank);
    int64_t total = 0;
    if (rank >= rungi_grid_ranks(grid))
        return 0;
    for (int64_t i = 0; i < (is_b ? grid->b_chunks : grid->a_chunks); i++)
        total += rungi_part_size(rungi_elements(chunk_of(cluster, grid, at, is_b, i)), is_b ? grid->pm : grid->pn,
                                 is_b ? at.i : at.j);
    return total;
}

int64_t rungi_share_a(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank)
{
    return share_of(cluster, grid, rank, false);
}

int64_t rungi_share_b(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank)
{
    return share_of(cluster, grid, rank, true);
}

/* Elements of block `number` of C, and of this rank's piece of it. */
static int64_t block_elements(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, rungi_place at,
                              int64_t number)
{
    return rungi_elements(rungi_chunk_c(cluster, grid, at, number / grid->b_chunks, number % grid->b_chunks));
}

int64_t rungi_share_c(const rung_cluster_problem *cluster, const rung_cluster_grid *grid, int64_t rank)
{
    rungi_place at = rungi_place_of(grid, rank);
    int64_t total = 0;
    if (rank >= rungi_grid_ranks(grid))
        return 0;
    for (int64_t i = 0; i < grid->a_chunks * grid->b_chunks; i++)
        total += rungi_part_size(block_elements(cluster, grid, at, i), grid->pk, at.l);
    return total;
}

/* ---- Messages ------------------------------------------------------------------------------- */

static char *at_byte(const rungi_work *work, void *memory, int64_t offset)
{
    const rungi_local *local = work->job->local;
    return local->at(local->user, memory, offset);
}

/* Sends or receives that many bytes, in as many messages as it takes. */
static rung_status post(rungi_work *work, bundle_t *bundle, bool is_in, int64_t rank, int tag, void *memory,
                        int64_t offset, int64_t bytes)
{
    rungi_duty *job = work->job;
    for (int64_t done = 0; done < bytes; done += job->local->message_bytes) {
        int count = (int)rungi_smaller(bytes - done, job->local->message_bytes);
        char *place = at_byte(work, memory, offset + done);
        MPI_Request *request = &bundle->requests[bundle->count];
        int code = is_in ? MPI_Irecv(place, count, MPI_BYTE, (int)rank, tag, job->comm, request)
                         : MPI_Isend(place, count, MPI_BYTE, (int)rank, tag, job->comm, request);
        if (code != MPI_SUCCESS)
            return rungi_mpi_failed(code);
        bundle->ranks[bundle->count++] = (int)rank;
        if (is_in) {
            job->traffic.bytes += count;
            job->traffic.messages++;
        }
    }
    return RUNG_OK;
}

static rung_status wait_for(rungi_work *work, bundle_t *bundle)
{
    const rungi_local *local = work->job->local;
    rung_status status = RUNG_OK;
    if (bundle->count > 0)
        status = local->wait(local->user, bundle->count, bundle->requests, bundle->ranks);
    if (status == RUNG_OK)
        bundle->count = 0;
    else
        work->is_broken = true;
    return status;
}

/* ---- Gathers -------------------------------------------------------------------------------- */

static int64_t chunk_elements(const operand_t *operand, int64_t index)
{
    return operand->whole_starts[index + 1] - operand->whole_starts[index];
}

/* The rank that is number `index` among those that share this one's chunks. */
static int64_t sharing_rank(const rungi_work *work, const operand_t *operand, int64_t index)
{
    rungi_place at = work->at;
    *(operand->is_b ? &at.i : &at.j) = index;
    return rungi_rank_at(work->job->grid, at);
}

static rung_status gather_chunk(rungi_work *work, operand_t *operand, int64_t chunk, exchange_t *exchange)
{
    const rungi_local *local = work->job->local;
    int64_t elements = chunk_elements(operand, chunk), start = operand->whole_starts[chunk];
    int64_t own = rungi_part_size(elements, operand->ranks, operand->index);
    int64_t own_start = start + rungi_part_start(elements, operand->ranks, operand->index);
    rung_status status = RUNG_OK;
    if (operand->ranks == 1)
        return RUNG_OK;
    for (int64_t step = 1; status == RUNG_OK && step < operand->ranks; step++) {
        int64_t from = (operand->index + operand->ranks - step) % operand->ranks;
        status = post(work, &exchange->in, true, sharing_rank(work, operand, from), operand->tag, operand->whole,
                      (start + rungi_part_start(elements, operand->ranks, from)) * work->in,
                      rungi_part_size(elements, operand->ranks, from) * work->in);
    }
    for (int64_t step = 1; status == RUNG_OK && step < operand->ranks; step++)
        status = post(work, &exchange->out, false,
                      sharing_rank(work, operand, (operand->index + step) % operand->ranks), operand->tag,
                      operand->share, operand->share_starts[chunk] * work->in, own * work->in);
    local->copy(local->user, own * work->in, at_byte(work, operand->share, operand->share_starts[chunk] * work->in),
                at_byte(work, operand->whole, own_start * work->in));
    return status;
}

/* As many as may be on their way behind arrival `number`. */
static rung_status post_gathers(rungi_work *work, int64_t number)
{
    const rung_cluster_grid *grid = work->job->grid;
    int64_t end = rungi_smaller(number + RUNGI_GATHERS_UNDER_WAY, grid->a_chunks + grid->b_chunks);
    rung_status status = RUNG_OK;
    for (; status == RUNG_OK && work->posted < end; work->posted++) {
        exchange_t *exchange = &work->gathers[work->posted % RUNGI_GATHERS_UNDER_WAY];
        rungi_arrival arrival = rungi_arrival_at(grid, work->posted);
        status = wait_for(work, &exchange->out);
        if (status == RUNG_OK)
            status = gather_chunk(work, arrival.is_b ? &work->b : &work->a, arrival.index, exchange);
    }
    return status;
}

/* ---- Sums ----------------------------------------------------------------------------------- */

/* The others' summands to this rank's piece stand behind its own block, one behind the other. */
static int64_t summand_start(int64_t elements, int64_t own, int64_t l, int64_t from)
{
    return elements + (from < l ? from : from - 1) * own;
}

static rung_status send_summands(rungi_work *work, summing_t *summing)
{
    const rung_cluster_grid *grid = work->job->grid;
    int64_t elements = block_elements(work->job->cluster, grid, work->at, summing->number), l = work->at.l;
    int64_t own = rungi_part_size(elements, grid->pk, l);
    rung_status status = RUNG_OK;
    for (int64_t step = 1; status == RUNG_OK && step < grid->pk; step++) {
        int64_t from = (l + grid->pk - step) % grid->pk;
        rungi_place at = {work->at.i, work->at.j, from};
        status = post(work, &summing->exchange.in, true, rungi_rank_at(grid, at), TAG_C, summing->memory,
                      summand_start(elements, own, l, from) * work->sum, own * work->sum);
    }
    for (int64_t step = 1; status == RUNG_OK && step < grid->pk; step++) {
        int64_t to = (l + step) % grid->pk;
        rungi_place at = {work->at.i, work->at.j, to};
        status = post(work, &summing->exchange.out, false, rungi_rank_at(grid, at), TAG_C, summing->memory,
                      rungi_part_start(elements, grid->pk, to) * work->sum,
                      rungi_part_size(elements, grid->pk, to) * work->sum);
    }
    return status;
}

/* Adds up in the order of ranks, whichever came first. */
static void add_summands(rungi_work *work, const summing_t *summing)
{
    const rungi_duty *job = work->job;
    const rungi_local *local = job->local;
    int64_t elements = block_elements(job->cluster, job->grid, work->at, summing->number), l = work->at.l;
    int64_t own = rungi_part_size(elements, job->grid->pk, l);
    char *target = at_byte(work, job->c, work->c_starts[summing->number] * work->sum);
    for (int64_t from = 0; from < job->grid->pk; from++) {
        int64_t start = from == l ? rungi_part_start(elements, job->grid->pk, l)
                                  : summand_start(elements, own, l, from);
        const char *source = at_byte(work, summing->memory, start * work->sum);
        if (from == 0)
            local->copy(local->user, own * work->sum, source, target);
        else
            local->add(local->user, own, source, target);
    }
}

static rung_status finish_sums(rungi_work *work, summing_t *summing)
{
    rung_status status = summing->number < 0 ? RUNG_OK : wait_for(work, &summing->exchange.in);
    if (status == RUNG_OK && summing->number >= 0) {
        add_summands(work, summing);
        summing->number = -1;
        status = wait_for(work, &summing->exchange.out);
    }
    return status;
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static void multiply_into(rungi_work *work, int64_t s, int64_t t, char *c)
{
    const rungi_duty *job = work->job;
    const rungi_local *local = job->local;
    rungi_rectangle a = rungi_chunk_a(job->cluster, job->grid, work->at, s);
    rungi_rectangle block = rungi_chunk_c(job->cluster, job->grid, work->at, s, t);
    if (work->multiply_status == RUNG_OK)
        work->multiply_status = local->multiply(local->user, block.rows, block.cols, a.cols,
                                                at_byte(work, work->a.whole, work->a.whole_starts[s] * work->in),
                                                at_byte(work, work->b.whole, work->b.whole_starts[t] * work->in), c);
}

static rung_status multiply_block(rungi_work *work, int64_t s, int64_t t)
{
    const rungi_duty *job = work->job;
    int64_t number = s * job->grid->b_chunks + t;
    if (job->grid->pk == 1) {
        multiply_into(work, s, t, at_byte(work, job->c, work->c_starts[number] * work->sum));
        return RUNG_OK;
    }
    summing_t *summing = &work->sums[work->multiplied++ % RUNGI_SUMS_UNDER_WAY];
    rung_status status = finish_sums(work, summing);
    if (status != RUNG_OK)
        return status;
    multiply_into(work, s, t, at_byte(work, summing->memory, 0));
    summing->number = number;
    return send_summands(work, summing);
}

static rung_status multiply_arrived(rungi_work *work, rungi_arrival arrival)
{
    rung_status status = RUNG_OK;
    for (int64_t other = 0; status == RUNG_OK && other < arrival.before; other++)
        status = arrival.is_b ? multiply_block(work, other, arrival.index) : multiply_block(work, arrival.index, other);
    return status;
}

static rung_status finish_all(rungi_work *work)
{
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < RUNGI_SUMS_UNDER_WAY; i++)
        status = finish_sums(work, &work->sums[work->multiplied++ % RUNGI_SUMS_UNDER_WAY]);
    for (int i = 0; status == RUNG_OK && i < RUNGI_GATHERS_UNDER_WAY; i++)
        status = wait_for(work, &work->gathers[i].out);
    return status;
}

rung_status rungi_duty_run(rungi_duty *job)
{
    rungi_work *work = job->work;
    rung_status status = RUNG_OK;
    if (!work)
        return RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < job->grid->a_chunks + job->grid->b_chunks; i++) {
        status = post_gathers(work, i);
        if (status == RUNG_OK)
            status = wait_for(work, &work->gathers[i % RUNGI_GATHERS_UNDER_WAY].in);
        if (status == RUNG_OK)
            status = post_gathers(work, i + 1);
        if (status == RUNG_OK)
            status = multiply_arrived(work, rungi_arrival_at(job->grid, i));
    }
    if (status == RUNG_OK)
        status = finish_all(work);
    work->is_broken |= status != RUNG_OK;
    return status == RUNG_OK ? work->multiply_status : status;
}

bool rungi_duty_is_broken(const rungi_duty *duty)
{
    return duty->work && duty->work->is_broken;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* Starts of so many pieces, one behind the other. */
static int64_t *starts_of(int64_t count, int64_t (*size)(const rungi_work *, const operand_t *, int64_t),
                          const rungi_work *work, const operand_t *operand)
{
    int64_t *starts = malloc((size_t)(count + 1) * sizeof *starts);
    if (!starts)
        return NULL;
    starts[0] = 0;
    for (int64_t i = 0; i < count; i++)
        starts[i + 1] = starts[i] + size(work, operand, i);
    return starts;
}

static int64_t whole_size(const rungi_work *work, const operand_t *operand, int64_t chunk)
{
    return rungi_elements(chunk_of(work->job->cluster, work->job->grid, work->at, operand->is_b, chunk));
}

static int64_t share_size(const rungi_work *work, const operand_t *operand, int64_t chunk)
{
    return rungi_part_size(whole_size(work, operand, chunk), operand->ranks, operand->index);
}

static int64_t piece_size(const rungi_work *work, const operand_t *operand, int64_t block)
{
    (void)operand;
    return rungi_part_size(block_elements(work->job->cluster, work->job->grid, work->at, block), work->job->grid->pk,
                           work->at.l);
}

static bool make_bundle(bundle_t *bundle, int64_t messages)
{
    bundle->requests = malloc((size_t)(messages + 1) * sizeof *bundle->requests);
    bundle->ranks = malloc((size_t)(messages + 1) * sizeof *bundle->ranks);
    return bundle->requests && bundle->ranks;
}

/* To or from so many others, each a piece of at most so many bytes. */
static bool make_exchange(const rungi_work *work, exchange_t *exchange, int64_t others, int64_t bytes)
{
    int64_t messages = others * rungi_divide_up(bytes, work->job->local->message_bytes);
    return make_bundle(&exchange->in, messages) && make_bundle(&exchange->out, messages);
}

static bool make_operand(rungi_work *work, operand_t *operand)
{
    const rungi_local *local = work->job->local;
    operand->whole_starts = starts_of(operand->chunks, whole_size, work, operand);
    operand->share_starts = starts_of(operand->chunks, share_size, work, operand);
    if (!operand->whole_starts || !operand->share_starts)
        return false;
    if (operand->ranks == 1) {
        operand->whole = operand->share;
        return true;
    }
    int64_t bytes = operand->whole_starts[operand->chunks] * work->in;
    operand->whole = local->allocate(local->user, bytes);
    return operand->whole || bytes == 0;
}

/* The longest piece of a chunk that a rank may have to send. */
static int64_t longest(const operand_t *operand)
{
    int64_t most = 0;
    for (int64_t i = 0; i < operand->chunks; i++) {
        int64_t piece = rungi_divide_up(chunk_elements(operand, i), operand->ranks);
        most = rungi_larger(piece, most);
    }
    return most;
}

static bool make_gathers(rungi_work *work)
{
    int64_t others = rungi_larger(work->a.ranks, work->b.ranks) - 1;
    int64_t a = longest(&work->a), b = longest(&work->b);
    for (int i = 0; i < RUNGI_GATHERS_UNDER_WAY; i++)
        if (!make_exchange(work, &work->gathers[i], others, rungi_larger(a, b) * work->in))
            return false;
    return true;
}

static bool make_sums(rungi_work *work)
{
    const rungi_duty *job = work->job;
    const rungi_local *local = job->local;
    int64_t most = 0;
    for (int64_t i = 0; i < job->grid->a_chunks * job->grid->b_chunks; i++) {
        int64_t elements = block_elements(job->cluster, job->grid, work->at, i);
        most = rungi_larger(elements, most);
    }
    for (int i = 0; i < RUNGI_SUMS_UNDER_WAY; i++) {
        summing_t *summing = &work->sums[i];
        summing->number = -1;
        if (job->grid->pk == 1)
            continue;
        int64_t bytes = rungi_sums_elements(job->grid, most) * work->sum;
        summing->memory = local->allocate(local->user, bytes);
        if (!summing->memory || !make_exchange(work, &summing->exchange, job->grid->pk - 1,
                                               rungi_divide_up(most, job->grid->pk) * work->sum))
            return false;
    }
    return true;
}

rung_status rungi_duty_prepare(rungi_duty *job)
{
    const rung_cluster_grid *grid = job->grid;
    if (job->rank >= rungi_grid_ranks(grid))
        return RUNG_OK;
    rungi_work *work = job->work = calloc(1, sizeof *work);
    if (!work)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a rank's plan");
    work->job = job;
    work->at = rungi_place_of(grid, job->rank);
    work->in = rungi_in_bytes(job->cluster);
    work->sum = rungi_sum_bytes(job->cluster);
    work->a = (operand_t){
        .tag = TAG_A, .ranks = grid->pn, .index = work->at.j, .chunks = grid->a_chunks, .share = job->a};
    work->b = (operand_t){
        .is_b = true, .tag = TAG_B, .ranks = grid->pm, .index = work->at.i, .chunks = grid->b_chunks, .share = job->b};
    work->c_starts = starts_of(grid->a_chunks * grid->b_chunks, piece_size, work, NULL);
    if (work->c_starts && make_operand(work, &work->a) && make_operand(work, &work->b) && make_gathers(work) &&
        make_sums(work))
        return RUNG_OK;
    rungi_duty_free(job);
    return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a rank's blocks of A, B and C; use more ranks");
}

static void free_exchange(exchange_t *exchange)
{
    free(exchange->in.requests);
    free(exchange->in.ranks);
    free(exchange->out.requests);
    free(exchange->out.ranks);
}

static void free_operand(const rungi_work *work, operand_t *operand)
{
    const rungi_local *local = work->job->local;
    if (operand->ranks > 1)
        local->release(local->user, operand->whole);
    free(operand->whole_starts);
    free(operand->share_starts);
}

void rungi_duty_free(rungi_duty *job)
{
    rungi_work *work = job->work;
    job->work = NULL;
    /* MPI may yet write where a message was to go. */
    if (!work || work->is_broken)
        return;
    free_operand(work, &work->a);
    free_operand(work, &work->b);
    free(work->c_starts);
    for (int i = 0; i < RUNGI_GATHERS_UNDER_WAY; i++)
        free_exchange(&work->gathers[i]);
    for (int i = 0; i < RUNGI_SUMS_UNDER_WAY; i++) {
        free_exchange(&work->sums[i].exchange);
        job->local->release(job->local->user, work->sums[i].memory);
    }
    free(work);
}
