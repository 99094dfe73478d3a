/* SPDX-License-Identifier: Apache-2.0 */
/* warp.c - runs the instructions of one warp and chooses between its splits. See machine.h.
 *
 * Of several splits, the one in the deepest call runs first, then the one with the lowest pc, so that splits that have
 * left their reconvergence point behind meet again. This order alone would starve the owner of a lock on which other lanes
 * spin: every PATIENCE instructions, the splits take turns. */
#include <stdlib.h>
#include <string.h>

#include "base/aligned_memory.h"
#include "emulator/counts/counts.h"
#include "emulator/machine/control.h"
#include "emulator/machine/machine.h"
#include "emulator/machine/splits.h"

/* A split that runs this long while others wait for it at a reconvergence point may be spinning on a lock that one of
 * them holds. The waiting lanes are then released: since Volta, every lane makes progress. */
enum { PATIENCE = 20000 };

/* ---- The inner loop ------------------------------------------------------------------------------------------------ */

/* Executes instructions [pc, end), none of which is a control instruction. Returns the lanes that executed them. */
static int64_t run_straight(ptx_warp_t *warp, int32_t pc, int32_t end, uint32_t active, int active_count)
{
    const ptx_instruction_t *instruction = &warp->block->launch->module->instructions[pc];
    int64_t lanes = (int64_t)(end - pc) * active_count;
    for (; pc < end; pc++, instruction++) {
        uint32_t mask = active;
        if (instruction->guard) {
            mask &= rungi_ptx_predicate(warp, instruction->guard) ^ (instruction->guard_negated ? ~0u : 0u);
            if (mask != active)
                lanes -= __builtin_popcount(active & ~mask);
            if (mask == 0)
                continue;
        }
        warp->pc = pc;
        instruction->execute(warp, instruction, mask);
    }
    return lanes;
}

/* Returns the pc at which a split may join another one, or INT32_MAX. */
static int32_t meeting_pc(const ptx_warp_t *warp, int index)
{
    const ptx_split_t *split = &warp->splits[index];
    int32_t nearest = INT32_MAX;
    for (int i = 0; warp->preferred == 0 && i < warp->split_count; i++) {
        const ptx_split_t *other = &warp->splits[i];
        if (other->pc > split->pc && other->pc < nearest && other->state == PTX_RUNNABLE &&
            other->frame == split->frame && other->record == split->record)
            nearest = other->pc;
    }
    return nearest;
}

static int32_t smaller(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

/* Runs one split until it reaches a reconvergence point or another split, ends, waits, or has used `budget` instructions.
 * Returns the number of instructions. */
static int64_t run_split(ptx_warp_t *warp, int index, int64_t budget)
{
    const ptx_instruction_t *code = warp->block->launch->module->instructions;
    ptx_split_t *split = &warp->splits[index];
    bool can_arrive = split->record != PTX_NO_RECORD && warp->records[split->record].frame == split->frame;
    int32_t stop = can_arrive ? warp->records[split->record].pc : -1, meeting = meeting_pc(warp, index), pc = split->pc;
    int64_t executed = 0;
    uint32_t active = split->mask;
    int active_count = __builtin_popcount(active);
    warp->active = active;
    rungi_ptx_select_frame(warp, split->frame);
    while (executed < budget && pc != stop && pc < meeting) {
        const ptx_instruction_t *instruction = &code[pc];
        if (instruction->control == PTX_CONTROL_NONE) {
            int32_t end = smaller(smaller(instruction->run_end, meeting), stop > pc ? stop : INT32_MAX);
            if (end - pc > budget - executed)
                end = pc + (int32_t)(budget - executed);
            if (warp->is_counted)
                rungi_ptx_count_passes(warp, pc, end);
            warp->thread_instructions += run_straight(warp, pc, end, active, active_count);
            executed += end - pc;
            pc = end;
            continue;
        }
        uint32_t mask = active;
        if (instruction->guard)
            mask &= rungi_ptx_predicate(warp, instruction->guard) ^ (instruction->guard_negated ? ~0u : 0u);
        executed++;
        if (warp->is_counted)
            rungi_ptx_count_passes(warp, pc, pc + 1);
        warp->thread_instructions += mask == active ? active_count : __builtin_popcount(mask);
        warp->pc = split->pc = pc;
        if (warp->is_stopped || rungi_ptx_do_control(warp, index, instruction, mask) == PTX_RESCHEDULE)
            return executed;
        pc = split->pc;
    }
    split->pc = pc;
    if (pc == stop) {
        int32_t record = split->record;
        rungi_ptx_remove_split(warp, index);
        rungi_ptx_arrive(warp, record, active);
    }
    return executed;
}

/* ---- Scheduling ---------------------------------------------------------------------------------------------------- */

/* Returns whether split x runs before split y. */
static bool runs_before(const ptx_warp_t *warp, const ptx_split_t *x, const ptx_split_t *y)
{
    bool x_is_preferred = x->mask & warp->preferred, y_is_preferred = y->mask & warp->preferred;
    if (x_is_preferred != y_is_preferred)
        return x_is_preferred;
    if (x->frame->depth != y->frame->depth)
        return x->frame->depth > y->frame->depth;
    return x->pc < y->pc;
}

/* Returns the index of the split to run, or -1 if none can. */
static int choose_split(ptx_warp_t *warp)
{
    int best = -1;
    if (warp->split_count > 1)
        rungi_ptx_merge_splits(warp);
    for (int i = 0; i < warp->split_count; i++)
        if (warp->splits[i].state == PTX_RUNNABLE &&
            (best < 0 || runs_before(warp, &warp->splits[i], &warp->splits[best])))
            best = i;
    return best;
}

static bool has_state(const ptx_warp_t *warp, ptx_split_state_t state)
{
    for (int i = 0; i < warp->split_count; i++)
        if (warp->splits[i].state == state)
            return true;
    return false;
}

/* Finds a split when none is runnable: lanes that wait for each other in vain are released. */
static int release_split(ptx_warp_t *warp)
{
    if (has_state(warp, PTX_AT_WARP_SYNC)) {
        if (rungi_ptx_complete_warp_syncs(warp))
            return choose_split(warp);
        rungi_ptx_report_missing_members(warp);
        if (rungi_ptx_release_waiting(warp))
            return choose_split(warp);
    }
    if (warp->split_count == 0 && rungi_ptx_release_waiting(warp))
        return choose_split(warp);
    return -1;
}

/* Instructions that wait are tried again when the warp runs again. */
static void retry_waits(ptx_warp_t *warp)
{
    for (int i = 0; i < warp->split_count; i++)
        if (warp->splits[i].state == PTX_WAITING)
            warp->splits[i].state = PTX_RUNNABLE;
}

/* Gives the splits turns: after an interval in the usual order, one of them is preferred for an interval. */
static void take_turns(ptx_warp_t *warp)
{
    bool has_released = rungi_ptx_release_waiting(warp);
    if (warp->split_count < 2 || (warp->preferred && !has_released)) {
        warp->preferred = 0;
        return;
    }
    warp->next_split = (warp->next_split + 1) % warp->split_count;
    int turn = has_released ? warp->split_count - 1 : warp->next_split;
    warp->preferred = warp->splits[turn].mask;
}

ptx_progress_t rungi_ptx_warp_run(ptx_warp_t *warp, int64_t budget)
{
    int64_t patience = PATIENCE;
    retry_waits(warp);
    while (budget > 0 && !warp->is_stopped) {
        int index = choose_split(warp);
        if (index < 0)
            index = release_split(warp);
        if (index < 0)
            return warp->split_count == 0 ? PTX_FINISHED : PTX_BLOCKED;
        int64_t executed = run_split(warp, index, budget < patience ? budget : patience);
        warp->instructions += executed;
        budget -= executed;
        patience -= executed;
        if (patience <= 0) {
            take_turns(warp);
            patience = PATIENCE;
        }
    }
    return warp->is_stopped ? PTX_FINISHED : PTX_PAUSED;
}

/* ---- Start and end ------------------------------------------------------------------------------------------------- */

bool rungi_ptx_warp_start(ptx_warp_t *warp)
{
    ptx_block_t *block = warp->block;
    const ptx_module_t *module = block->launch->module;
    int threads = block->thread_count - PTX_WARP_LANES * warp->index;
    warp->launched = threads >= PTX_WARP_LANES ? ~0u : (1u << threads) - 1;
    warp->live = warp->launched;
    warp->carry = 0;
    warp->is_stopped = false;
    warp->preferred = 0;
    warp->first_instruction = warp->instructions;
    warp->split_count = warp->record_count = warp->copy_count = warp->batch_count = warp->read_count = 0;
    warp->matrix_group = 0;
    memset(warp->copy_group, 0, sizeof warp->copy_group);
    memset(warp->copy_arrivals, 0, sizeof warp->copy_arrivals);
    memset(warp->bulk_group, 0, sizeof warp->bulk_group);
    memset(warp->cluster_phase, 0, sizeof warp->cluster_phase);
    warp->base[PTX_BASE_CONSTANT] = module->constants;
    warp->base[PTX_BASE_SPECIAL] = warp->special;
    ptx_frame_t *frame = rungi_ptx_create_frame(warp, block->launch->kernel_index, NULL);
    if (!frame)
        return false;
    rungi_ptx_add_split(warp, block->launch->kernel->first, warp->launched, frame, PTX_NO_RECORD);
    rungi_ptx_release_frame(warp, frame);
    return true;
}

static void free_frames(ptx_frame_t *frame)
{
    while (frame) {
        ptx_frame_t *next = frame->parent;
        rungi_aligned_free(frame->registers);
        free(frame);
        frame = next;
    }
}

void rungi_ptx_warp_free(ptx_warp_t *warp)
{
    while (warp->split_count > 0) /* of a launch that was stopped */
        rungi_ptx_remove_split(warp, 0);
    for (int32_t i = 0; i < warp->record_count; i++)
        if (warp->records[i].is_used)
            rungi_ptx_release_frame(warp, warp->records[i].frame);
    for (int32_t i = 0; warp->free_frames && i < warp->block->launch->module->function_count; i++)
        free_frames(warp->free_frames[i]);
    free(warp->free_frames);
    free(warp->records);
    free(warp->copies);
    free(warp->batches);
    free(warp->reads);
    free(warp->local);
    free(warp->local_shadow);
    rungi_aligned_free(warp->special);
}
