/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - how long a rank's schedule takes on a machine that is not here.
 *
 * The schedule of mpi/schedule.c, step by step, with a clock in place of MPI: messages that are on their way share
 * what the rank's link can take in, and multiplying takes as long as the machine says. All ranks do the same at the
 * same time, so one of those with most to do stands for all. */
#include <stdbool.h>

#include "cluster/shares.h"
#include "core/by_size.h"

/* A gather or a block's sums on their way. */
typedef struct stream {
    double left;     /* bytes */
    double begins;   /* when the first can come */
    double messages; /* each of which gets an equal part of the link */
} stream_t;

enum { STREAMS = RUNGI_GATHERS_UNDER_WAY + RUNGI_SUMS_UNDER_WAY };

typedef struct clockwork {
    const rung_cluster_problem *cluster;
    const rung_cluster_grid *grid;
    const rung_cluster_speed *speed;
    rungi_place at;
    double now;                /* of the processor */
    double network;            /* up to which streams are counted */
    stream_t streams[STREAMS]; /* gathers, then sums */
    int64_t posted, multiplied;
    double summands[RUNGI_SUMS_UNDER_WAY]; /* bytes to be added when the sums have come */
    rung_cluster_prediction told;
} clockwork_t;

/* ---- The network ------------------------------------------------------------------------------ */

static bool is_running(const stream_t *stream, double when)
{
    return stream->left > 0.0 && stream->begins <= when;
}

/* How many messages share the link now, and when that changes next, `until` at the latest. */
static double sharing(const clockwork_t *clock, double until, double *next)
{
    double messages = 0.0;
    *next = until;
    for (int i = 0; i < STREAMS; i++)
        if (is_running(&clock->streams[i], clock->network))
            messages += clock->streams[i].messages;
        else if (clock->streams[i].left > 0.0 && clock->streams[i].begins < *next)
            *next = clock->streams[i].begins;
    for (int i = 0; i < STREAMS; i++) {
        const stream_t *stream = &clock->streams[i];
        double rate = clock->speed->bytes_per_second * stream->messages / messages;
        if (is_running(stream, clock->network) && clock->network + stream->left / rate < *next)
            *next = clock->network + stream->left / rate;
    }
    return messages;
}

/* Up to the next moment at which a message begins or is done, or `until`. What would be done there is done, even if that is
 * now by rounding: so there is an end to it. */
static void tick(clockwork_t *clock, double until)
{
    double next, messages = sharing(clock, until, &next), before = clock->network;
    for (int i = 0; i < STREAMS; i++) {
        stream_t *stream = &clock->streams[i];
        double rate = clock->speed->bytes_per_second * stream->messages / messages;
        if (!is_running(stream, before))
            continue;
        bool is_done = before + stream->left / rate <= next;
        stream->left = is_done ? 0.0 : stream->left - (next - before) * rate;
    }
    clock->network = next;
}

/* Advances the simulated network to `until`. */
static void advance(clockwork_t *clock, double until)
{
    while (clock->network < until)
        tick(clock, until);
}

static const double never = 1e300;

static void wait_for(clockwork_t *clock, const stream_t *stream)
{
    advance(clock, clock->now);
    while (stream->left > 0.0)
        tick(clock, never);
    if (clock->network > clock->now) {
        clock->told.wait_seconds += clock->network - clock->now;
        clock->now = clock->network;
    }
}

static void send(clockwork_t *clock, stream_t *stream, double bytes, int64_t messages)
{
    advance(clock, clock->now);
    stream->left = bytes;
    stream->messages = (double)messages;
    stream->begins = clock->now + clock->speed->latency_seconds;
}

/* ---- The processor ---------------------------------------------------------------------------- */

static void multiply(clockwork_t *clock, double flops)
{
    clock->told.multiply_seconds += flops / clock->speed->flops_per_second;
    clock->now += flops / clock->speed->flops_per_second;
}

static void move(clockwork_t *clock, double bytes)
{
    double seconds = clock->speed->memory_bytes_per_second > 0.0 ? bytes / clock->speed->memory_bytes_per_second : 0.0;
    clock->told.copy_seconds += seconds;
    clock->now += seconds;
}

/* As gather_chunk of the schedule. */
static void gather(clockwork_t *clock, int64_t number)
{
    rungi_arrival arrival = rungi_arrival_at(clock->grid, number);
    int64_t ranks = arrival.is_b ? clock->grid->pm : clock->grid->pn, index = arrival.is_b ? clock->at.i : clock->at.j;
    rungi_rectangle chunk = arrival.is_b ? rungi_chunk_b(clock->cluster, clock->grid, clock->at, arrival.index)
                                         : rungi_chunk_a(clock->cluster, clock->grid, clock->at, arrival.index);
    double bytes = (double)rungi_in_bytes(clock->cluster);
    int64_t elements = rungi_elements(chunk), own = rungi_part_size(elements, ranks, index);
    if (ranks == 1)
        return;
    send(clock, &clock->streams[number % RUNGI_GATHERS_UNDER_WAY], bytes * (double)(elements - own), ranks - 1);
    move(clock, 2.0 * bytes * (double)own);
}

static void post_gathers(clockwork_t *clock, int64_t number)
{
    int64_t end = number + RUNGI_GATHERS_UNDER_WAY, all = clock->grid->a_chunks + clock->grid->b_chunks;
    for (; clock->posted < end && clock->posted < all; clock->posted++)
        gather(clock, clock->posted);
}

static void finish_sums(clockwork_t *clock, int64_t slot)
{
    wait_for(clock, &clock->streams[RUNGI_GATHERS_UNDER_WAY + slot]);
    move(clock, clock->summands[slot]);
    clock->summands[slot] = 0.0;
}

static void multiply_block(clockwork_t *clock, int64_t s, int64_t t)
{
    const rung_cluster_grid *grid = clock->grid;
    rungi_rectangle block = rungi_chunk_c(clock->cluster, grid, clock->at, s, t);
    int64_t depth = rungi_part_size(clock->cluster->k, grid->pk, clock->at.l);
    int64_t slot = clock->multiplied++ % RUNGI_SUMS_UNDER_WAY;
    double flops = 2.0 * (double)block.rows * (double)block.cols * (double)depth;
    if (grid->pk == 1) {
        multiply(clock, flops);
        return;
    }
    finish_sums(clock, slot);
    multiply(clock, flops);
    int64_t own = rungi_part_size(rungi_elements(block), grid->pk, clock->at.l);
    double piece = (double)(own * rungi_sum_bytes(clock->cluster));
    send(clock, &clock->streams[RUNGI_GATHERS_UNDER_WAY + slot], piece * (double)(grid->pk - 1), grid->pk - 1);
    clock->summands[slot] = piece * (2.0 + 3.0 * (double)(grid->pk - 1));
}

static void run(clockwork_t *clock)
{
    for (int64_t i = 0; i < clock->grid->a_chunks + clock->grid->b_chunks; i++) {
        rungi_arrival arrival = rungi_arrival_at(clock->grid, i);
        post_gathers(clock, i);
        wait_for(clock, &clock->streams[i % RUNGI_GATHERS_UNDER_WAY]);
        post_gathers(clock, i + 1);
        for (int64_t other = 0; other < arrival.before; other++)
            multiply_block(clock, arrival.is_b ? other : arrival.index, arrival.is_b ? arrival.index : other);
    }
    for (int64_t i = 0; i < RUNGI_SUMS_UNDER_WAY; i++)
        finish_sums(clock, clock->multiplied++ % RUNGI_SUMS_UNDER_WAY);
    clock->told.seconds = clock->now;
}

rung_cluster_prediction rungi_predict(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                      const rung_cluster_speed *speed)
{
    /* The last part of each extent is one of the largest. */
    clockwork_t clock = {.cluster = cluster,
                         .grid = grid,
                         .speed = speed,
                         .at = {grid->pm - 1, grid->pn - 1, grid->pk - 1},
                         .told = rung_cluster_prediction_default()};
    run(&clock);
    return clock.told;
}

static rung_status check_speed(const rung_cluster_speed *speed)
{
    if (speed->flops_per_second >= 1.0 && speed->bytes_per_second >= 1.0 && speed->latency_seconds >= 0.0 &&
        speed->latency_seconds < 1e9 &&
        (speed->memory_bytes_per_second == 0.0 || speed->memory_bytes_per_second >= 1.0))
        return RUNG_OK;
    return rung_error_set(
        RUNG_STATUS_INVALID,
        "a rank has %g FLOP/s, a bandwidth of %g bytes/s, a memory bandwidth of %g bytes/s and a "
        "latency of %g s; the first two must be at least 1, the third at least 1 or 0 (unlimited), the latency "
        "0 to 1e9",
        speed->flops_per_second, speed->bytes_per_second, speed->memory_bytes_per_second, speed->latency_seconds);
}

rung_status rung_cluster_grid_predict(const rung_cluster_problem *problem, const rung_cluster_grid *grid,
                                      const rung_cluster_speed *speed, rung_cluster_prediction *prediction)
{
    rung_cluster_problem cluster;
    rung_cluster_grid used;
    rung_cluster_speed rank;
    rung_cluster_prediction predicted = rung_cluster_prediction_default();
    rung_status status = rungi_struct_check(prediction, "prediction", "rung_cluster_prediction_default");
    if (status != RUNG_OK)
        return status;
    status = rungi_struct_read(speed, &rank, sizeof rank, "speed", "rung_cluster_speed_default");
    if (status == RUNG_OK)
        status = check_speed(&rank);
    if (status == RUNG_OK)
        status = rungi_plan_read(problem, grid, &cluster, &used);
    if (status == RUNG_OK)
        predicted = rungi_predict(&cluster, &used, &rank);
    rungi_struct_write(&predicted, sizeof predicted, prediction);
    return status;
}
