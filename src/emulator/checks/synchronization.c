/* SPDX-License-Identifier: Apache-2.0 */
/* synchronization.c - what orders the accesses of a block: barriers, bar.warp.sync, fences and strong accesses.
 *
 * A strong write after a fence (or with .release) publishes what its warp knew at the fence. A strong read of the same
 * address acquires it, with or without a fence behind the read. This covers locks and flags. */
#include <stdlib.h>
#include <string.h>

#include "emulator/checks/checker.h"
#include "emulator/machine/cluster.h"
#include "emulator/ptx/instruction_table.h"

static uint32_t *clock_of(uint32_t *clocks, const ptx_checker_t *checker, int index)
{
    return clocks + (size_t)index * (size_t)checker->clock_count;
}

static void join(uint32_t *to, const uint32_t *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = to[i] > from[i] ? to[i] : from[i];
}

/* A restart in the middle of a block would forget accesses; the time stands still instead. */
static uint32_t advance(ptx_checker_t *checker)
{
    if (checker->time < PTX_TIME_MAX)
        checker->time++;
    return checker->time;
}

/* The accesses of the warp so far get an end: later ones have a new time. */
static void begin_interval(ptx_checker_t *checker, int warp)
{
    checker->warp_time[warp] = checker->warp_synced[warp] = advance(checker);
}

uint32_t rungi_ptx_known_time(const ptx_checker_t *checker, int warp, int cluster_warp)
{
    int own = cluster_warp - checker->first_warp;
    uint32_t known = clock_of(checker->clocks, checker, warp)[cluster_warp];
    if (own == warp)
        return checker->warp_time[warp];
    if (own < 0 || own >= checker->block->warp_count)
        return known;
    return known > checker->floor - 1 ? known : checker->floor - 1;
}

/* Fills a vector clock with everything that a warp knows. */
static void take_snapshot(const ptx_checker_t *checker, int warp, uint32_t *clock)
{
    for (int i = 0; i < checker->clock_count; i++)
        clock[i] = rungi_ptx_known_time(checker, warp, i);
}

/* ---- Warps --------------------------------------------------------------------------------------------------------- */

/* Some lanes synchronize: each then knows what any of them knew. */
static void sync_lanes(ptx_checker_t *checker, int warp, uint32_t mask)
{
    uint32_t known[PTX_WARP_LANES] = {0};
    if (!checker->lane_synced[warp])
        checker->lane_synced[warp] = calloc((size_t)PTX_WARP_LANES * PTX_WARP_LANES, sizeof **checker->lane_synced);
    uint32_t *lanes = checker->lane_synced[warp];
    checker->warp_time[warp] = advance(checker);
    if (!lanes) { /* no memory: all lanes count as synchronized, so that no false finding follows */
        checker->warp_synced[warp] = checker->warp_time[warp];
        return;
    }
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1) {
            join(known, lanes + (size_t)lane * PTX_WARP_LANES, PTX_WARP_LANES);
            known[lane] = checker->warp_time[warp];
        }
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            memcpy(lanes + (size_t)lane * PTX_WARP_LANES, known, sizeof known);
}

void rungi_ptx_check_warp_sync(ptx_warp_t *warp, uint32_t mask)
{
    ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    if (mask == warp->live)
        begin_interval(checker, warp->index);
    else
        sync_lanes(checker, warp->index, mask);
}

void rungi_ptx_check_fence(ptx_warp_t *warp, bool is_global)
{
    ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    take_snapshot(checker, warp->index, clock_of(checker->fenced, checker, warp->index));
    checker->has_fenced[warp->index] = true;
    if (is_global && checker->published) {
        take_snapshot(checker, warp->index, clock_of(checker->published, checker, warp->index));
        checker->has_published[warp->index] = true;
    }
    checker->block_has_fenced = checker->block_has_fenced || is_global;
    begin_interval(checker, warp->index);
}

/* ---- Strong accesses ----------------------------------------------------------------------------------------------- */

/* Returns the entry of an address, or the free entry where it belongs. */
static ptx_sync_variable_t *find_variable(const ptx_sync_table_t *table, uint64_t address)
{
    size_t mask = (size_t)table->capacity - 1, index = (size_t)((address >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    while (table->variables[index & mask].address && table->variables[index & mask].address != address)
        index++;
    return &table->variables[index & mask];
}

static bool grow_table(ptx_sync_table_t *table, int clock_count)
{
    int32_t old_capacity = table->capacity, capacity = old_capacity ? 2 * old_capacity : 64;
    size_t clock_bytes = (size_t)clock_count * sizeof *table->clocks;
    ptx_sync_variable_t *old = table->variables, *grown = calloc((size_t)capacity, sizeof *grown);
    uint32_t *clocks = grown ? realloc(table->clocks, (size_t)capacity * clock_bytes) : NULL;
    if (!clocks) {
        free(grown);
        return false;
    }
    table->clocks = clocks;
    table->variables = grown;
    table->capacity = capacity;
    for (int32_t i = 0; i < old_capacity; i++)
        if (old[i].address)
            *find_variable(table, old[i].address) = old[i];
    free(old);
    return true;
}

/* Adds a vector clock to what the writers of an address have released. */
static void release(ptx_sync_table_t *table, uint64_t address, const uint32_t *clock, int count)
{
    if (2 * table->count >= table->capacity && !grow_table(table, count))
        return;
    ptx_sync_variable_t *variable = find_variable(table, address);
    if (!variable->address) {
        *variable = (ptx_sync_variable_t){.address = address, .clock = table->count++};
        memset(table->clocks + (size_t)variable->clock * (size_t)count, 0, (size_t)count * sizeof *clock);
    }
    join(table->clocks + (size_t)variable->clock * (size_t)count, clock, count);
}

/* Synchronizes the lanes with earlier strong accesses of a table. `fenced` is what a write releases, or NULL. */
static void synchronize_lanes(const ptx_checked_access_t *access, uint32_t mask, uint64_t space,
                              ptx_sync_table_t *table, const uint32_t *fenced)
{
    const ptx_checker_t *checker = access->warp->block->checker;
    int count = checker->clock_count;
    bool reads = access->kind != PTX_WRITE, writes = access->kind != PTX_READ;
    if (!table->count && !(writes && fenced))
        return;
    for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
        uint64_t address = access->address[__builtin_ctz(lanes)] | space;
        const ptx_sync_variable_t *variable = table->count ? find_variable(table, address) : NULL;
        if (reads && variable && variable->address)
            join(clock_of(checker->clocks, checker, access->warp->index),
                 table->clocks + (size_t)variable->clock * (size_t)count, count);
        if (writes && fenced)
            release(table, address, fenced, count);
    }
}

void rungi_ptx_check_strong_access(const ptx_checked_access_t *access, uint32_t mask, bool is_shared)
{
    ptx_warp_t *warp = access->warp;
    ptx_checker_t *checker = warp->block->checker;
    int index = warp->index;
    if (access->instruction->flags & PTX_FLAG_RELEASE)
        rungi_ptx_check_fence(warp, !is_shared);
    synchronize_lanes(access, mask, is_shared ? UINT64_C(1) << 63 : 0, &checker->sync,
                      checker->has_fenced[index] ? clock_of(checker->fenced, checker, index) : NULL);
    if (checker->published && !is_shared)
        synchronize_lanes(access, mask, 0, &warp->block->cluster->blocks[0].checker->cluster_sync,
                          checker->has_published[index] ? clock_of(checker->published, checker, index) : NULL);
}

/* ---- Clocks of clusters and mbarriers ------------------------------------------------------------------------------- */

void rungi_ptx_check_release(ptx_warp_t *warp, uint32_t *clock)
{
    ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    for (int i = 0; i < checker->clock_count; i++) {
        uint32_t known = rungi_ptx_known_time(checker, warp->index, i);
        clock[i] = clock[i] > known ? clock[i] : known;
    }
    checker->warp_time[warp->index] = advance(checker);
}

void rungi_ptx_check_relaxed_release(ptx_warp_t *warp, uint32_t *clock, bool is_own_block)
{
    const ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    int index = warp->index;
    if (is_own_block && checker->has_fenced[index])
        join(clock, clock_of(checker->fenced, checker, index), checker->clock_count);
    else if (!is_own_block && checker->has_published[index])
        join(clock, clock_of(checker->published, checker, index), checker->clock_count);
}

void rungi_ptx_check_acquire(ptx_warp_t *warp, uint32_t mask, const uint32_t *clock)
{
    ptx_checker_t *checker = warp->block->checker;
    (void)mask;
    if (checker)
        join(clock_of(checker->clocks, checker, warp->index), clock, checker->clock_count);
}

/* A fence of the block before a relaxed arrival orders accesses for the threads of the block, which then also wait. Their
 * vector clocks, of the current and of the last completed phase, are in `fenced_arrivals`. */
void rungi_ptx_check_cluster_arrive(ptx_warp_t *warp, uint32_t *clock, bool is_relaxed)
{
    const ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    if (!is_relaxed) {
        rungi_ptx_check_release(warp, clock);
        return;
    }
    rungi_ptx_check_relaxed_release(warp, clock, false);
    rungi_ptx_check_relaxed_release(warp, checker->fenced_arrivals, true);
}

void rungi_ptx_check_cluster_phase(const ptx_block_t *block)
{
    const ptx_checker_t *checker = block->checker;
    if (!checker)
        return;
    size_t bytes = (size_t)checker->clock_count * sizeof *checker->fenced_arrivals;
    memcpy(checker->fenced_arrivals + checker->clock_count, checker->fenced_arrivals, bytes);
    memset(checker->fenced_arrivals, 0, bytes);
}

void rungi_ptx_check_cluster_wait(ptx_warp_t *warp, uint32_t mask, const uint32_t *clock)
{
    const ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    rungi_ptx_check_acquire(warp, mask, clock);
    rungi_ptx_check_acquire(warp, mask, checker->fenced_arrivals + checker->clock_count);
}

void rungi_ptx_check_landed_clock(ptx_warp_t *warp, uint32_t *clock)
{
    ptx_checker_t *checker = warp->block->checker;
    uint32_t *entry = checker ? &clock[checker->first_warp + warp->index] : NULL;
    if (entry && *entry < checker->warp_time[warp->index])
        *entry = checker->warp_time[warp->index];
}

void rungi_ptx_check_warpgroup(ptx_warp_t *warp, int other)
{
    ptx_checker_t *checker = warp->block->checker;
    if (!checker || other == warp->index)
        return;
    uint32_t *known = &clock_of(checker->clocks, checker, warp->index)[checker->first_warp + other];
    *known = *known > checker->warp_time[other] ? *known : checker->warp_time[other];
    checker->warp_time[other] = advance(checker);
}

void rungi_ptx_check_proxy_fence(ptx_warp_t *warp)
{
    ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    for (int i = 0; i < checker->block->warp_count; i++) {
        uint32_t known = rungi_ptx_known_time(checker, warp->index, checker->first_warp + i);
        checker->proxy_fenced[i] = checker->proxy_fenced[i] > known ? checker->proxy_fenced[i] : known;
    }
    checker->warp_time[warp->index] = advance(checker);
}

/* ---- Barriers ------------------------------------------------------------------------------------------------------ */

void rungi_ptx_check_barrier_arrive(ptx_warp_t *warp, int barrier)
{
    ptx_checker_t *checker = warp->block->checker;
    if (!checker)
        return;
    uint32_t *arrived = clock_of(checker->barrier_clocks, checker, barrier);
    uint32_t *own = &arrived[checker->first_warp + warp->index];
    join(arrived, clock_of(checker->clocks, checker, warp->index), checker->clock_count);
    if (*own < checker->warp_time[warp->index])
        *own = checker->warp_time[warp->index];
    begin_interval(checker, warp->index);
}

static bool waits_at(const ptx_split_t *split, int barrier)
{
    return split->state == PTX_AT_BARRIER && split->barrier == barrier;
}

/* Returns the lanes of a warp that wait at the barrier. */
static uint32_t waiting_lanes(const ptx_warp_t *warp, int barrier)
{
    uint32_t lanes = 0;
    for (int i = 0; i < warp->split_count; i++)
        lanes |= waits_at(&warp->splits[i], barrier) ? warp->splits[i].mask : 0;
    return lanes;
}

/* Reports lanes of one warp that wait at different instructions. */
static void report_divergence(ptx_checker_t *checker, const ptx_warp_t *warp, int barrier)
{
    const ptx_split_t *first = NULL;
    for (int i = 0; i < warp->split_count; i++) {
        const ptx_split_t *split = &warp->splits[i];
        if (!waits_at(split, barrier))
            continue;
        if (!first || first->pc == split->pc) {
            first = first ? first : split;
            continue;
        }
        const ptx_split_t *low = first->pc < split->pc ? first : split, *high = low == first ? split : first;
        ptx_party_t here = rungi_ptx_party(checker, low->pc - 1,
                                           PTX_WARP_LANES * warp->index + __builtin_ctz(low->mask));
        ptx_party_t other = rungi_ptx_party(checker, high->pc - 1,
                                            PTX_WARP_LANES * warp->index + __builtin_ctz(high->mask));
        rungi_ptx_report_pair(
            checker->block->launch, RUNG_EMULATOR_BARRIER, &here, &other, 0, 0,
            "barrier %d in divergent code: lanes 0x%08x of warp %d wait here, lanes 0x%08x at another "
            "barrier instruction",
            barrier, low->mask, warp->index, high->mask);
        return;
    }
}

/* Returns whether nothing follows an instruction that ends a thread. */
static bool is_end(const ptx_launch_t *launch, int32_t exit)
{
    const ptx_instruction_t *instructions = launch->module->instructions;
    for (int32_t i = exit + 1; i < launch->kernel->end; i++)
        if (instructions[i].control != PTX_CONTROL_RETURN && instructions[i].control != PTX_CONTROL_EXIT)
            return false;
    return true;
}

/* Returns the branch that leads to the end of a kernel, if there is one such branch; -1 otherwise. Compilers let a kernel end in
 * one place, at its last line, whatever line threads leave it in. */
static int32_t find_leaving_branch(const ptx_launch_t *launch, int32_t exit)
{
    const ptx_instruction_t *instructions = launch->module->instructions;
    int32_t found = -1, first = exit;
    while (first > launch->kernel->first && instructions[first - 1].control == PTX_CONTROL_NONE)
        first--;
    for (int32_t i = launch->kernel->first; i < launch->kernel->end; i++) {
        bool leads_there = instructions[i].control == PTX_CONTROL_BRANCH && instructions[i].guard &&
                           instructions[i].target >= first && instructions[i].target <= exit;
        if (leads_there && found >= 0 && rungi_ptx_line(launch->module, found) != rungi_ptx_line(launch->module, i))
            return -1;
        found = leads_there ? i : found;
    }
    return found;
}

/* Reports threads that exited, while others wait at a barrier of the whole block. */
static void report_exits(ptx_checker_t *checker, int barrier)
{
    const ptx_block_t *block = checker->block;
    const ptx_warp_t *waiting = NULL, *left = NULL;
    for (int i = 0; i < block->warp_count; i++) {
        const ptx_warp_t *warp = &block->warps[i];
        if (!waiting && waiting_lanes(warp, barrier))
            waiting = warp;
        if (!left && warp->live != warp->launched)
            left = warp;
    }
    if (!waiting || !left)
        return;
    const ptx_split_t *split = waiting->splits;
    while (!waits_at(split, barrier))
        split++;
    ptx_party_t here = rungi_ptx_party(checker, split->pc - 1,
                                       PTX_WARP_LANES * waiting->index + __builtin_ctz(split->mask));
    int32_t leaving = is_end(block->launch, left->exit_pc) ? find_leaving_branch(block->launch, left->exit_pc)
                                                           : left->exit_pc;
    ptx_party_t other = rungi_ptx_party(checker, leaving,
                                        PTX_WARP_LANES * left->index + __builtin_ctz(left->launched & ~left->live));
    rungi_ptx_report_pair(block->launch, RUNG_EMULATOR_BARRIER, &here, leaving < 0 ? NULL : &other, 0, 0,
                          "%u of %d threads of the block exited before they reached this barrier", block->exited,
                          block->thread_count);
}

/* Returns whether all warps wait at this barrier. */
static bool is_of_all_warps(const ptx_block_t *block, int barrier)
{
    for (int i = 0; i < block->warp_count; i++)
        if (block->warps[i].live & ~waiting_lanes(&block->warps[i], barrier))
            return false;
    return true;
}

static void synchronize(ptx_checker_t *checker, int barrier)
{
    const ptx_block_t *block = checker->block;
    uint32_t *arrived = clock_of(checker->barrier_clocks, checker, barrier);
    if (is_of_all_warps(block, barrier)) {
        if (checker->time > PTX_TIME_MAX / 2)
            rungi_ptx_checker_restart(checker);
        checker->floor = advance(checker);
        rungi_ptx_begin_interval(&checker->shared);
        rungi_ptx_begin_interval(&checker->global);
        for (int i = 0; i < block->warp_count; i++)
            checker->warp_time[i] = checker->warp_synced[i] = checker->floor;
        for (int i = 0; checker->clock_count > block->warp_count && i < block->warp_count; i++)
            join(clock_of(checker->clocks, checker, i), arrived, checker->clock_count); /* of other blocks */
    } else {
        for (int i = 0; i < block->warp_count; i++)
            if (waiting_lanes(&block->warps[i], barrier))
                join(clock_of(checker->clocks, checker, i), arrived, checker->clock_count);
    }
    memset(arrived, 0, (size_t)checker->clock_count * sizeof *arrived);
}

void rungi_ptx_check_barrier(ptx_block_t *block, int barrier)
{
    ptx_checker_t *checker = block->checker;
    if (!checker)
        return;
    if (block->launch->checks & RUNG_EMULATOR_CHECK_BARRIERS) {
        for (int i = 0; i < block->warp_count; i++)
            if (block->warps[i].split_count > 1)
                report_divergence(checker, &block->warps[i], barrier);
        if (block->exited && !block->barriers[barrier].expected)
            report_exits(checker, barrier);
    }
    synchronize(checker, barrier);
}

/* ---- Deadlock ------------------------------------------------------------------------------------------------------ */

static const char *wait_name(const ptx_block_t *block, const ptx_split_t *split)
{
    const ptx_instruction_t *instruction = &block->launch->module->instructions[split->pc];
    if (split->state != PTX_WAITING)
        return split->state == PTX_AT_BARRIER ? "a barrier" : "a warp synchronization";
    const char *opcode = rungi_ptx_table_row(instruction->row)->entry.opcode;
    return strcmp(opcode, "mbarrier") == 0 ? "an mbarrier"
           : strcmp(opcode, "wgmma") == 0  ? "wgmma.wait_group"
                                           : "the barrier of the cluster";
}

/* A split at a barrier is already behind the instruction. */
static ptx_party_t party_of(const ptx_warp_t *warp, const ptx_split_t *split)
{
    int32_t pc = split->state == PTX_AT_BARRIER ? split->pc - 1 : split->pc;
    return (ptx_party_t){
        .pc = pc, .thread = PTX_WARP_LANES * warp->index + __builtin_ctz(split->mask), .block = warp->block->linear_id};
}

/* Finds lanes of the warp that wait for the others where the branches of divergent code meet. Returns 0 if there are none. */
static uint32_t find_diverged(const ptx_warp_t *warp, int32_t *pc)
{
    for (int32_t i = 0; i < warp->record_count; i++)
        if (warp->records[i].is_used && warp->records[i].arrived && warp->records[i].pc >= 0) {
            *pc = warp->records[i].pc;
            return warp->records[i].arrived;
        }
    return 0;
}

/* Returns a split of another instruction than `here`, or NULL. */
static const ptx_split_t *find_other(const ptx_block_t *block, int32_t pc, ptx_party_t *other)
{
    for (int i = 0; i < block->warp_count; i++)
        for (int j = 0; j < block->warps[i].split_count; j++) {
            *other = party_of(&block->warps[i], &block->warps[i].splits[j]);
            if (other->pc != pc)
                return &block->warps[i].splits[j];
        }
    return NULL;
}

/* Returns the first warp that waits; one with divergent lanes if there is one. */
static ptx_warp_t *find_waiting(ptx_block_t *block, uint32_t *diverged, int32_t *pc)
{
    ptx_warp_t *first = NULL;
    for (int i = 0; i < block->warp_count; i++) {
        ptx_warp_t *warp = &block->warps[i];
        *diverged = warp->split_count > 0 ? find_diverged(warp, pc) : 0;
        if (*diverged)
            return warp;
        if (!first && warp->split_count > 0)
            first = warp;
    }
    return first;
}

void rungi_ptx_check_deadlock(ptx_block_t *block)
{
    uint32_t diverged;
    ptx_party_t other = {.block = block->linear_id};
    ptx_warp_t *warp = find_waiting(block, &diverged, &other.pc);
    if (!warp) {
        rungi_ptx_fault(&block->warps[0], RUNG_EMULATOR_BARRIER, 0, "the threads of the block wait for each other");
        return;
    }
    const ptx_split_t *split = &warp->splits[0], *other_split;
    ptx_party_t here = party_of(warp, split);
    if (diverged) {
        other.thread = PTX_WARP_LANES * warp->index + __builtin_ctz(diverged);
        rungi_ptx_fault_pair(
            warp, RUNG_EMULATOR_BARRIER, &here, &other,
            "deadlock at %s in divergent code: lanes 0x%08x of warp %d wait here, lanes 0x%08x do not execute "
            "it and wait for them",
            wait_name(block, split), split->mask, warp->index, diverged);
    } else if ((other_split = find_other(block, here.pc, &other)) != NULL) {
        rungi_ptx_fault_pair(
            warp, RUNG_EMULATOR_BARRIER, &here, &other,
            "deadlock: thread %d waits at %s here, thread %d at %s elsewhere, and no thread can continue", here.thread,
            wait_name(block, split), other.thread, wait_name(block, other_split));
    } else {
        rungi_ptx_fault_pair(warp, RUNG_EMULATOR_BARRIER, &here, NULL,
                             "deadlock: thread %d and others wait at %s here, and no other thread can reach it",
                             here.thread, wait_name(block, split));
    }
}
