/* SPDX-License-Identifier: Apache-2.0 */
/* issue_simulator.c - the clock-by-clock simulation of issue_simulator.h. */
#include "explain/issue_simulator.h"

#include <math.h>
#include <stdlib.h>

enum {
    SCHEDULERS = 4,
    PENDING_MAX = 64, /* operations in flight per scoreboard; the hardware counts to 63 */
    QUEUE_MAX = 64,
    WARM_ITERATIONS = 3,
    ISSUES_WANTED = 60000, /* instructions per warp and scheduler to measure, at most */
    CLOCKS_MAX = 20000000
};

/* Times at which operations of a scoreboard complete, in order. */
typedef struct scoreboard {
    double done[PENDING_MAX];
    int count;
} scoreboard_t;

typedef struct warp {
    int block, at; /* at: the next instruction */
    int repeats;   /* passes of the inner loop in this iteration */
    double ready;  /* the clock from which the warp may issue */
    bool at_barrier;
    scoreboard_t boards[LAB_SCOREBOARDS];
    double copies_done; /* when all copies so far have arrived */
} warp_t;

typedef struct scheduler {
    warp_t **warps;
    int warp_count, last; /* last: the warp that issued last */
    double fma_free[2], alu_free, fp64_free, tensor_free;
    double queue[QUEUE_MAX]; /* when each waiting memory instruction leaves the queue */
    int queue_count;
} scheduler_t;

typedef struct simulation {
    const lab_issue_machine *machine;
    const lab_issue_loop *loop;
    warp_t *warps;
    warp_t **order; /* of all schedulers */
    scheduler_t schedulers[SCHEDULERS];
    int *arrived; /* warps at the barrier, per block */
    double pipe_free, tag_free, l2_free;
    double clock;
    double issued, math, pipe_clocks, queue_full;
} simulation_t;

/* ---- Scoreboards ---- */

static void drop_done(scoreboard_t *board, double clock)
{
    int kept = 0;
    for (int i = 0; i < board->count; i++)
        if (board->done[i] > clock)
            board->done[kept++] = board->done[i];
    board->count = kept;
}

/* Returns the clock at which at most `remaining` operations are in flight. */
static double board_clock(scoreboard_t *board, int remaining, double clock)
{
    drop_done(board, clock);
    if (board->count <= remaining)
        return clock;
    double latest = 0; /* operations complete in order: the first ones decide */
    for (int i = 0; i < board->count - remaining; i++)
        latest = fmax(latest, board->done[i]);
    return latest;
}

static void add_pending(warp_t *warp, int board, double done)
{
    if (board >= LAB_SCOREBOARDS)
        return;
    scoreboard_t *to = &warp->boards[board];
    if (to->count == PENDING_MAX) { /* the hardware would wait; the last one stands for both */
        to->done[PENDING_MAX - 1] = fmax(done, to->done[PENDING_MAX - 1]);
        return;
    }
    to->done[to->count++] = done;
}

/* Returns the clock at which the scoreboards let an instruction issue. */
static double scoreboards_clock(warp_t *warp, const lab_loop_instruction *instruction, double clock)
{
    double latest = clock;
    for (int i = 0; i < LAB_SCOREBOARDS; i++)
        if (instruction->wait_mask >> i & 1)
            latest = fmax(latest, board_clock(&warp->boards[i], 0, clock));
    if (instruction->unit == LAB_UNIT_WAIT)
        latest = fmax(latest,
                      board_clock(&warp->boards[instruction->wait_scoreboard], instruction->wait_remaining, clock));
    return latest;
}

/* ---- Units ---- */

/* Returns the time from which the unit of an instruction is free. */
static double *unit_free(scheduler_t *scheduler, const lab_issue_machine *machine,
                         const lab_loop_instruction *instruction)
{
    switch (instruction->unit) {
    case LAB_UNIT_FMA:
        return machine->fma_units > 1 && scheduler->fma_free[1] <= scheduler->fma_free[0] ? &scheduler->fma_free[1]
                                                                                          : &scheduler->fma_free[0];
    case LAB_UNIT_FMA_HEAVY: return &scheduler->fma_free[0];
    case LAB_UNIT_ALU: return &scheduler->alu_free;
    case LAB_UNIT_FP64: return &scheduler->fp64_free;
    case LAB_UNIT_TENSOR: return &scheduler->tensor_free;
    default: return NULL;
    }
}

static double unit_clocks(const lab_issue_machine *machine, const lab_loop_instruction *instruction)
{
    switch (instruction->unit) {
    case LAB_UNIT_FMA:
    case LAB_UNIT_FMA_HEAVY: return machine->fma_clocks;
    case LAB_UNIT_ALU: return machine->alu_clocks;
    case LAB_UNIT_FP64: return machine->fp64_clocks;
    default: return instruction->multiply_adds / machine->tensor_rate;
    }
}

static int units_of(const lab_issue_machine *machine, const lab_loop_instruction *instruction)
{
    return instruction->unit == LAB_UNIT_FMA ? machine->fma_units : 1;
}

/* Returns the additional clocks of register banks: two banks deliver one operand each per clock, and an operand that the
 * instruction before kept in the same slot is not read. */
static int bank_conflict(const lab_loop_instruction *code, int at)
{
    const lab_loop_instruction *before = at > 0 ? &code[at - 1] : NULL;
    int reads[2] = {0, 0};
    for (int slot = 0; slot < LAB_SOURCES_MAX; slot++) {
        unsigned char source = code[at].source[slot];
        bool is_kept = before && before->reuse >> slot & 1 && before->source[slot] == source;
        reads[source & 1] += source != LAB_NO_REGISTER && !is_kept;
    }
    return reads[0] > 2 || reads[1] > 2;
}

/* ---- Memory ---- */

static void drop_left(scheduler_t *scheduler, double clock)
{
    int kept = 0;
    for (int i = 0; i < scheduler->queue_count; i++)
        if (scheduler->queue[i] > clock)
            scheduler->queue[kept++] = scheduler->queue[i];
    scheduler->queue_count = kept;
}

/* Sends a memory instruction through the pipe, and records when its scoreboards are released. */
static void issue_access(simulation_t *simulation, scheduler_t *scheduler, warp_t *warp)
{
    const lab_issue_machine *machine = simulation->machine;
    const lab_loop_instruction *instruction = &simulation->loop->code[warp->at];
    const lab_access_cost *cost = &simulation->loop->costs[warp->at];
    double start = fmax(simulation->pipe_free, simulation->clock + 2), done = start + cost->pipe_clocks;
    simulation->pipe_free = done;
    simulation->pipe_clocks += cost->pipe_clocks;
    scheduler->queue[scheduler->queue_count++] = start;
    if (cost->tag_clocks > 0) {
        simulation->tag_free = fmax(simulation->tag_free, start) + cost->tag_clocks;
        simulation->l2_free = fmax(simulation->l2_free, simulation->tag_free) + cost->l2_bytes / machine->l2_bytes;
        done = simulation->l2_free + machine->global_latency;
    } else {
        done += machine->shared_latency - 1;
    }
    if (instruction->move == LAB_MEMORY_OP_GLOBAL_COPY)
        warp->copies_done = fmax(warp->copies_done, done);
    add_pending(warp, instruction->write_scoreboard, done);
    add_pending(warp, instruction->read_scoreboard, start + 1);
}

/* ---- Issue ---- */

/* Lets all warps of a block go on behind the barrier. */
static void release_block(simulation_t *simulation, int block)
{
    const lab_issue_loop *loop = simulation->loop;
    simulation->arrived[block] = 0;
    for (int i = 0; i < loop->warps; i++) {
        warp_t *warp = &simulation->warps[block * loop->warps + i];
        warp->at_barrier = false;
        warp->ready = simulation->clock + simulation->machine->barrier_latency;
    }
}

static void advance(simulation_t *simulation, warp_t *warp, double clocks)
{
    const lab_issue_loop *loop = simulation->loop;
    warp->ready = fmax(warp->ready, simulation->clock + clocks);
    warp->at++;
    if (warp->at == loop->repeat_end && ++warp->repeats < loop->repeats)
        warp->at = loop->repeat_begin;
    if (warp->at == loop->count)
        warp->at = warp->repeats = 0;
}

/* Issues the next instruction of a warp. */
static void issue(simulation_t *simulation, scheduler_t *scheduler, warp_t *warp)
{
    const lab_loop_instruction *instruction = &simulation->loop->code[warp->at];
    double stall = fmax(1, instruction->stall), *free_at = unit_free(scheduler, simulation->machine, instruction);
    simulation->issued++;
    if (instruction->multiply_adds > 0)
        simulation->math += unit_clocks(simulation->machine, instruction) / units_of(simulation->machine, instruction);
    if (free_at)
        *free_at = fmax(*free_at, simulation->clock) + unit_clocks(simulation->machine, instruction);
    if (instruction->unit == LAB_UNIT_FMA || instruction->unit == LAB_UNIT_FMA_HEAVY)
        stall += bank_conflict(simulation->loop->code, warp->at);
    if (instruction->unit == LAB_UNIT_MEMORY)
        issue_access(simulation, scheduler, warp);
    else if (instruction->unit == LAB_UNIT_COPY_GROUP)
        add_pending(warp, instruction->write_scoreboard, fmax(warp->copies_done, simulation->clock + 1));
    else if (instruction->write_scoreboard < LAB_SCOREBOARDS) /* conversions and the like */
        add_pending(warp, instruction->write_scoreboard, simulation->clock + simulation->machine->shared_latency);
    if (instruction->unit == LAB_UNIT_BARRIER) {
        advance(simulation, warp, stall);
        warp->at_barrier = true;
        if (++simulation->arrived[warp->block] == simulation->loop->warps)
            release_block(simulation, warp->block);
        return;
    }
    advance(simulation, warp, stall);
}

/* Returns whether a warp can issue now; if not, `next` becomes the earliest clock at which that may change. */
static bool can_issue(simulation_t *simulation, scheduler_t *scheduler, warp_t *warp, double *next)
{
    const lab_loop_instruction *instruction = &simulation->loop->code[warp->at];
    double clock = simulation->clock, from = warp->ready;
    if (warp->at_barrier)
        return false;
    if (from <= clock)
        from = scoreboards_clock(warp, instruction, clock);
    double *free_at = unit_free(scheduler, simulation->machine, instruction);
    if (free_at)
        from = fmax(from, *free_at);
    if (from <= clock && instruction->unit == LAB_UNIT_MEMORY &&
        scheduler->queue_count >= simulation->machine->queue_entries) {
        simulation->queue_full++;
        from = scheduler->queue[0];
    }
    *next = fmin(*next, fmax(from, clock + 1));
    return from <= clock;
}

/* Issues at most one instruction of a scheduler: of the warp that issued last, otherwise of the oldest one that can. */
static void step_scheduler(simulation_t *simulation, scheduler_t *scheduler, double *next)
{
    drop_left(scheduler, simulation->clock);
    for (int i = -1; i < scheduler->warp_count; i++) {
        int index = i < 0 ? scheduler->last : i;
        if (i >= 0 && index == scheduler->last)
            continue;
        if (can_issue(simulation, scheduler, scheduler->warps[index], next)) {
            issue(simulation, scheduler, scheduler->warps[index]);
            scheduler->last = index;
            *next = simulation->clock + 1;
            return;
        }
    }
}

/* ---- Run ---- */

/* Returns the instructions of one warp and iteration. */
static double iteration_length(const lab_issue_loop *loop)
{
    return loop->count + (double)(loop->repeats - 1) * (loop->repeat_end - loop->repeat_begin);
}

/* Advances until all blocks together have completed this number of iterations. A block may be ahead of the others: the
 * schedulers prefer the oldest warps. Returns false without progress. */
static bool run_until(simulation_t *simulation, double iterations)
{
    double wanted = iterations * iteration_length(simulation->loop) * simulation->loop->warps;
    while (simulation->issued < wanted) {
        double next = INFINITY;
        for (int i = 0; i < SCHEDULERS; i++)
            if (simulation->schedulers[i].warp_count > 0)
                step_scheduler(simulation, &simulation->schedulers[i], &next);
        if (!(next < CLOCKS_MAX))
            return false;
        simulation->clock = ceil(next);
    }
    return true;
}

/* Places the warps. Blocks begin at different times, as they do after a few waves. */
static void place_warps(simulation_t *simulation)
{
    const lab_issue_loop *loop = simulation->loop;
    int all = loop->warps * loop->blocks, placed = 0;
    for (int s = 0; s < SCHEDULERS; s++) {
        scheduler_t *scheduler = &simulation->schedulers[s];
        scheduler->warps = simulation->order + placed;
        for (int i = s; i < all; i += SCHEDULERS)
            scheduler->warps[scheduler->warp_count++] = &simulation->warps[i];
        placed += scheduler->warp_count;
    }
    for (int i = 0; i < all; i++) {
        int block = i / loop->warps;
        simulation->warps[i].block = block;
        simulation->warps[i].ready = (double)block * iteration_length(loop) * 2 / (3.0 * loop->blocks);
    }
}

static bool measure(simulation_t *simulation, lab_issue_result *result)
{
    const lab_issue_loop *loop = simulation->loop;
    double iterations = loop->blocks * fmax(8, ISSUES_WANTED / (iteration_length(loop) * loop->warps * loop->blocks));
    if (!run_until(simulation, WARM_ITERATIONS * loop->blocks))
        return false;
    simulation_t warm = *simulation;
    if (!run_until(simulation, WARM_ITERATIONS * loop->blocks + iterations))
        return false;
    double clocks = simulation->clock - warm.clock, issued = simulation->issued - warm.issued;
    *result = (lab_issue_result){.clocks = clocks / (issued / iteration_length(loop) / loop->warps),
                                 .math_busy = (simulation->math - warm.math) / clocks / SCHEDULERS,
                                 .issue_busy = issued / clocks / SCHEDULERS,
                                 .pipe_busy = (simulation->pipe_clocks - warm.pipe_clocks) / clocks,
                                 .queue_stalls = (simulation->queue_full - warm.queue_full) / clocks / SCHEDULERS};
    return true;
}

bool lab_simulate_issue(const lab_issue_machine *machine, const lab_issue_loop *loop, lab_issue_result *result)
{
    size_t all = (size_t)loop->warps * (size_t)loop->blocks;
    simulation_t simulation = {.machine = machine, .loop = loop};
    if (loop->count < 1 || all < 1 || machine->queue_entries > QUEUE_MAX)
        return false;
    simulation.warps = calloc(all, sizeof *simulation.warps);
    simulation.order = calloc(all, sizeof *simulation.order);
    simulation.arrived = calloc((size_t)loop->blocks, sizeof *simulation.arrived);
    bool good = simulation.warps && simulation.order && simulation.arrived;
    if (good) {
        place_warps(&simulation);
        good = measure(&simulation, result);
    }
    free(simulation.warps);
    free(simulation.order);
    free(simulation.arrived);
    return good;
}
