/* SPDX-License-Identifier: Apache-2.0 */
/* predict.c - predicts the time of a rank's schedule on another machine.
 *
 * Simulates mpi/schedule.c step by step: messages in flight share the bandwidth of the rank's link, and multiplications take
 * the time that follows from the given speed. All ranks work alike, so one of the ranks with the most work represents all. */
#include "base/try.h"
#include "base/versioned_struct.h"
#include "cluster/operand_partition.h"

/* A gather or a reduction in flight. */
typedef struct transfer {
    double remaining_bytes; /* bytes */
    double start_time;      /* when the first byte can arrive */
    double messages;        /* each gets an equal part of the link */
} transfer_t;

enum { MAX_TRANSFERS = RUNGI_CLUSTER_GATHERS_IN_FLIGHT + RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT };

typedef struct prediction_state {
    const rung_cluster_problem *cluster;
    const rung_cluster_grid *grid;
    const rung_cluster_speed *speed;
    rungi_partition operands[RUNG_CLUSTER_OPERAND_C + 1];
    double cpu_time;                     /* time of the processor */
    double network_time;                 /* time up to which transfers are simulated */
    transfer_t transfers[MAX_TRANSFERS]; /* gathers, then reductions */
    int64_t posted_gathers, multiplied_blocks;
    double summand_bytes
        [RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT]; /* memory traffic of the additions when the partial sums have arrived */
    rung_cluster_prediction prediction;
} prediction_state_t;

/* ---- Network ------------------------------------------------------------------------------ */

static bool is_running(const transfer_t *transfer, double when)
{
    return transfer->remaining_bytes > 0.0 && transfer->start_time <= when;
}

/* Returns the number of messages that share the link now. Sets *next to the time of the next change, at most `until`. */
static double active_messages(const prediction_state_t *state, double until, double *next)
{
    double messages = 0.0;
    *next = until;
    for (int i = 0; i < MAX_TRANSFERS; i++)
        if (is_running(&state->transfers[i], state->network_time))
            messages += state->transfers[i].messages;
        else if (state->transfers[i].remaining_bytes > 0.0 && state->transfers[i].start_time < *next)
            *next = state->transfers[i].start_time;
    for (int i = 0; i < MAX_TRANSFERS; i++) {
        const transfer_t *transfer = &state->transfers[i];
        double rate = state->speed->bytes_per_second * transfer->messages / messages;
        if (is_running(transfer, state->network_time) && state->network_time + transfer->remaining_bytes / rate < *next)
            *next = state->network_time + transfer->remaining_bytes / rate;
    }
    return messages;
}

/* Advances to the next time at which a transfer starts or ends, or to `until`. A transfer that ends at that time is
 * complete even if rounding leaves no time to pass; this guarantees termination. */
static void advance_to_next_event(prediction_state_t *state, double until)
{
    double next, messages = active_messages(state, until, &next), before = state->network_time;
    for (int i = 0; i < MAX_TRANSFERS; i++) {
        transfer_t *transfer = &state->transfers[i];
        double rate = state->speed->bytes_per_second * transfer->messages / messages;
        if (!is_running(transfer, before))
            continue;
        bool is_done = before + transfer->remaining_bytes / rate <= next;
        transfer->remaining_bytes = is_done ? 0.0 : transfer->remaining_bytes - (next - before) * rate;
    }
    state->network_time = next;
}

/* Advances the simulated network to `until`. */
static void advance(prediction_state_t *state, double until)
{
    while (state->network_time < until)
        advance_to_next_event(state, until);
}

static const double end_of_time = 1e300;

static void wait_for(prediction_state_t *state, const transfer_t *transfer)
{
    advance(state, state->cpu_time);
    while (transfer->remaining_bytes > 0.0)
        advance_to_next_event(state, end_of_time);
    if (state->network_time > state->cpu_time) {
        state->prediction.wait_seconds += state->network_time - state->cpu_time;
        state->cpu_time = state->network_time;
    }
}

static void send(prediction_state_t *state, transfer_t *transfer, double bytes, int64_t messages)
{
    advance(state, state->cpu_time);
    transfer->remaining_bytes = bytes;
    transfer->messages = (double)messages;
    transfer->start_time = state->cpu_time + state->speed->latency_seconds;
}

/* ---- Processor ---------------------------------------------------------------------------- */

static void multiply(prediction_state_t *state, double flops)
{
    state->prediction.multiply_seconds += flops / state->speed->flops_per_second;
    state->cpu_time += flops / state->speed->flops_per_second;
}

static void copy(prediction_state_t *state, double bytes)
{
    double seconds = state->speed->memory_bytes_per_second > 0.0 ? bytes / state->speed->memory_bytes_per_second : 0.0;
    state->prediction.copy_seconds += seconds;
    state->cpu_time += seconds;
}

/* See gather_chunk in mpi/schedule.c. */
static void gather(prediction_state_t *state, int64_t number)
{
    rungi_arrival arrival = rungi_arrival_at(state->grid, number);
    const rungi_partition *operand = &state->operands[arrival.is_b ? RUNG_CLUSTER_OPERAND_B : RUNG_CLUSTER_OPERAND_A];
    rung_cluster_piece piece = rungi_partition_piece(operand, arrival.index);
    double bytes = (double)rungi_cluster_input_element_bytes(state->cluster);
    if (operand->owners == 1)
        return;
    send(state, &state->transfers[number % RUNGI_CLUSTER_GATHERS_IN_FLIGHT],
         bytes * (double)(piece.rows * piece.cols - piece.count), operand->owners - 1);
    copy(state, 2.0 * bytes * (double)piece.count);
}

static void post_gathers(prediction_state_t *state, int64_t number)
{
    int64_t end = number + RUNGI_CLUSTER_GATHERS_IN_FLIGHT, all = state->grid->a_chunks + state->grid->b_chunks;
    for (; state->posted_gathers < end && state->posted_gathers < all; state->posted_gathers++)
        gather(state, state->posted_gathers);
}

static void complete_reduction(prediction_state_t *state, int64_t slot)
{
    wait_for(state, &state->transfers[RUNGI_CLUSTER_GATHERS_IN_FLIGHT + slot]);
    copy(state, state->summand_bytes[slot]);
    state->summand_bytes[slot] = 0.0;
}

static void multiply_block(prediction_state_t *state, int64_t s, int64_t t)
{
    const rung_cluster_grid *grid = state->grid;
    rung_cluster_piece block = rungi_partition_piece(&state->operands[RUNG_CLUSTER_OPERAND_C], s * grid->b_chunks + t);
    int64_t depth = state->operands[RUNG_CLUSTER_OPERAND_A].part.cols;
    int64_t slot = state->multiplied_blocks++ % RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT;
    double flops = 2.0 * (double)block.rows * (double)block.cols * (double)depth;
    if (grid->pk == 1) {
        multiply(state, flops);
        return;
    }
    complete_reduction(state, slot);
    multiply(state, flops);
    double piece = (double)(block.count * rungi_cluster_sum_element_bytes(state->cluster));
    send(state, &state->transfers[RUNGI_CLUSTER_GATHERS_IN_FLIGHT + slot], piece * (double)(grid->pk - 1),
         grid->pk - 1);
    state->summand_bytes[slot] = piece * (2.0 + 3.0 * (double)(grid->pk - 1));
}

static void simulate(prediction_state_t *state)
{
    for (int64_t i = 0; i < state->grid->a_chunks + state->grid->b_chunks; i++) {
        rungi_arrival arrival = rungi_arrival_at(state->grid, i);
        post_gathers(state, i);
        wait_for(state, &state->transfers[i % RUNGI_CLUSTER_GATHERS_IN_FLIGHT]);
        post_gathers(state, i + 1);
        for (int64_t other = 0; other < arrival.other_chunks; other++)
            multiply_block(state, arrival.is_b ? other : arrival.index, arrival.is_b ? arrival.index : other);
    }
    for (int64_t i = 0; i < RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT; i++)
        complete_reduction(state, state->multiplied_blocks++ % RUNGI_CLUSTER_REDUCTIONS_IN_FLIGHT);
    state->prediction.seconds = state->cpu_time;
}

rung_cluster_prediction rungi_grid_predict(const rung_cluster_problem *cluster, const rung_cluster_grid *grid,
                                           const rung_cluster_speed *speed)
{
    prediction_state_t state = {
        .cluster = cluster, .grid = grid, .speed = speed, .prediction = rung_cluster_prediction_default()};
    /* The last part of each extent is one of the largest, and the last rank has all three. */
    for (int i = RUNG_CLUSTER_OPERAND_A; i <= RUNG_CLUSTER_OPERAND_C; i++)
        state.operands[i] = rungi_partition_of(cluster, grid, (rung_cluster_operand)i, rungi_grid_ranks(grid) - 1);
    simulate(&state);
    return state.prediction;
}

static rung_status check_speed(const rung_cluster_speed *speed)
{
    if (speed->flops_per_second >= 1.0 && speed->bytes_per_second >= 1.0 && speed->latency_seconds >= 0.0 &&
        speed->latency_seconds < 1e9 &&
        (speed->memory_bytes_per_second == 0.0 || speed->memory_bytes_per_second >= 1.0))
        return RUNG_OK;
    return rungi_invalid(
        "a rank has %g FLOP/s, a bandwidth of %g bytes/s, a memory bandwidth of %g bytes/s and a "
        "latency of %g s; the first two must be at least 1, the third at least 1 or 0 (unlimited), the latency "
        "0 to 1e9",
        speed->flops_per_second, speed->bytes_per_second, speed->memory_bytes_per_second, speed->latency_seconds);
}

static rung_status read_and_predict(const rung_cluster_problem *problem, const rung_cluster_grid *given_grid,
                                    const rung_cluster_speed *given_speed, rung_cluster_prediction *prediction)
{
    rung_cluster_problem cluster;
    rung_cluster_grid grid;
    rung_cluster_speed speed;
    TRY(rungi_versioned_struct_read(given_speed, &speed, sizeof speed, "speed", "rung_cluster_speed_default"));
    TRY(check_speed(&speed));
    TRY(rungi_cluster_problem_grid_read(problem, given_grid, &cluster, &grid));
    *prediction = rungi_grid_predict(&cluster, &grid, &speed);
    return RUNG_OK;
}

rung_status rung_cluster_grid_predict(const rung_cluster_problem *problem, const rung_cluster_grid *grid,
                                      const rung_cluster_speed *speed, rung_cluster_prediction *prediction)
{
    rung_cluster_prediction predicted = rung_cluster_prediction_default();
    TRY(rungi_versioned_struct_check(prediction, "prediction", "rung_cluster_prediction_default"));
    rung_status status = read_and_predict(problem, grid, speed, &predicted);
    rungi_versioned_struct_write(&predicted, sizeof predicted, prediction);
    return status;
}
