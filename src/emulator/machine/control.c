/* SPDX-License-Identifier: Apache-2.0 */
/* control.c - see control.h. */
#include "emulator/machine/control.h"

#include <string.h>

#include "emulator/counts/counts.h"
#include "emulator/machine/barriers.h"
#include "emulator/machine/cluster.h"
#include "emulator/machine/splits.h"

static void exit_lanes(ptx_warp_t *warp, uint32_t mask, int32_t record)
{
    warp->live &= ~mask;
    warp->exit_pc = warp->pc;
    warp->block->cluster->events++;
    warp->block->exited += (uint32_t)__builtin_popcount(mask);
    rungi_ptx_remove_lanes(warp, record, mask);
}

/* Splits the lanes of a divergent branch: `taken` continue at `target`, the others behind the branch. */
static void diverge(ptx_warp_t *warp, int index, const ptx_instruction_t *branch, uint32_t taken, int32_t target)
{
    ptx_split_t split = warp->splits[index];
    uint32_t others = split.mask & ~taken;
    int32_t record = split.record;
    warp->divergent_branches++;
    if (warp->is_counted)
        warp->block->counter->divergent[branch - warp->block->launch->module->instructions]++;
    if (!rungi_ptx_is_at_record(warp, record, branch->reconvergence, split.frame)) {
        record = rungi_ptx_create_record(warp, branch->reconvergence, split.frame, split.mask, split.record);
        if (record != PTX_NO_RECORD)
            split.frame->references++;
        else
            record = split.record;
    }
    split.frame->references++; /* while the split is replaced */
    rungi_ptx_remove_split(warp, index);
    bool others_arrive = rungi_ptx_is_at_record(warp, record, split.pc + 1, split.frame);
    bool taken_arrive = rungi_ptx_is_at_record(warp, record, target, split.frame);
    if (!others_arrive)
        rungi_ptx_add_split(warp, split.pc + 1, others, split.frame, record);
    if (!taken_arrive)
        rungi_ptx_add_split(warp, target, taken, split.frame, record);
    if (others_arrive || taken_arrive)
        rungi_ptx_arrive(warp, record, (others_arrive ? others : 0) | (taken_arrive ? taken : 0));
    rungi_ptx_release_frame(warp, split.frame);
}

static ptx_next_step_t do_branch(ptx_warp_t *warp, int index, const ptx_instruction_t *instruction, uint32_t mask)
{
    ptx_split_t *split = &warp->splits[index];
    if (mask != 0 && mask != split->mask) {
        diverge(warp, index, instruction, mask, instruction->target);
        return PTX_RESCHEDULE;
    }
    split->pc = mask ? instruction->target : split->pc + 1;
    return PTX_CONTINUE;
}

/* brx.idx: lanes with the first lane's index branch; the others execute the instruction again. */
static ptx_next_step_t do_indexed_branch(ptx_warp_t *warp, int index, const ptx_instruction_t *instruction,
                                         uint32_t mask)
{
    ptx_split_t *split = &warp->splits[index];
    const uint32_t *indices = rungi_ptx_lanes(warp, instruction->operand[0]);
    if (mask == 0) {
        split->pc++;
        return PTX_CONTINUE;
    }
    uint32_t first = indices[__builtin_ctz(mask)], same = 0;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        same |= (uint32_t)(indices[lane] == first) << lane;
    same &= mask;
    if (first >= (uint32_t)instruction->list_length) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, __builtin_ctz(same),
                        "brx.idx has the index %u; the list has %d targets", first, instruction->list_length);
        return PTX_RESCHEDULE;
    }
    int32_t target = (int32_t)instruction->list[first];
    if (same == split->mask) {
        split->pc = target;
        return PTX_CONTINUE;
    }
    split->pc--; /* the others continue at this instruction: diverge() moves them behind it */
    diverge(warp, index, instruction, same, target);
    return PTX_RESCHEDULE;
}

/* Copies `count` parameters of all lanes between the frames of caller and callee. */
static void copy_parameters(unsigned char *to, const unsigned char *from, const ptx_operand_t *caller,
                            const ptx_parameter_t *callee, int count, uint32_t mask, bool is_result)
{
    for (int i = 0; i < count; i++) {
        const ptx_operand_t *entry = caller + 2 * (size_t)i;
        size_t caller_bytes = entry[1], callee_bytes = (size_t)callee[i].bytes;
        size_t bytes = caller_bytes < callee_bytes ? caller_bytes : callee_bytes;
        for (size_t lane = 0; lane < PTX_WARP_LANES; lane++) {
            size_t in_caller = entry[0] + lane * caller_bytes,
                   in_callee = (size_t)callee[i].offset + lane * callee_bytes;
            if (mask >> lane & 1)
                memcpy(to + (is_result ? in_caller : in_callee), from + (is_result ? in_callee : in_caller), bytes);
        }
    }
}

enum { CALL_DEPTH_MAX = 512 };

/* Finds the function of a call through a register and removes the lanes that call another one from `mask`. Returns -1
 * after a fault. */
static int32_t find_callee(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t *mask)
{
    const ptx_module_t *module = warp->block->launch->module;
    const uint64_t *addresses = rungi_ptx_lanes(warp, instruction->operand[0]);
    uint64_t first = addresses[__builtin_ctz(*mask)];
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        *mask &= ~((uint32_t)(addresses[lane] != first) << lane);
    if (first < (uint64_t)module->function_count && !module->functions[first].is_kernel)
        return (int32_t)first;
    rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, __builtin_ctz(*mask), "a call to 0x%llx, which is not a function",
                    (unsigned long long)first);
    return -1;
}

/* Cooperative groups execute a trap in grid.sync() if the launch is not cooperative. */
static const char *trap_text(const ptx_launch_t *launch)
{
    return rungi_ptx_lacks_cooperative_launch(launch)
               ? "the kernel calls grid.sync(), and the launch is not cooperative"
               : "the kernel executed the instruction trap";
}

/* Calls a function for the lanes of `mask`. Calls through a register run one function at a time. */
static ptx_next_step_t do_call(ptx_warp_t *warp, int index, const ptx_instruction_t *instruction, uint32_t mask)
{
    const ptx_module_t *module = warp->block->launch->module;
    ptx_split_t *split = &warp->splits[index];
    int32_t target = instruction->target;
    if (mask == 0) {
        split->pc++;
        return PTX_CONTINUE;
    }
    if (target < 0 && (target = find_callee(warp, instruction, &mask)) < 0)
        return PTX_RESCHEDULE;
    const ptx_function_t *callee = &module->functions[target];
    if (!callee->is_defined || callee->is_kernel) {
        if (!rungi_ptx_call_builtin(warp, callee, instruction, mask))
            rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, __builtin_ctz(mask),
                            rungi_ptx_is_heap_function(callee->name) ? "the kernel calls %s(), which is not emulated"
                                                                     : "a call to %s(), which is not defined",
                            callee->name);
        split->pc++;
        return warp->is_stopped ? PTX_RESCHEDULE : PTX_CONTINUE;
    }
    ptx_frame_t *frame = split->frame->depth < CALL_DEPTH_MAX ? rungi_ptx_create_frame(warp, target, split->frame)
                                                              : NULL;
    if (!frame) {
        rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, __builtin_ctz(mask), "calls nest more than %d deep", CALL_DEPTH_MAX);
        return PTX_RESCHEDULE;
    }
    frame->call = instruction;
    frame->return_pc = split->pc + 1;
    copy_parameters(frame->registers, split->frame->registers,
                    instruction->list + 2 * (size_t)instruction->vector_length, callee->parameters,
                    instruction->operation < callee->parameter_count ? instruction->operation : callee->parameter_count,
                    mask, false);
    /* Lanes that do not call wait behind the call; the record also serves lanes that return one by one. */
    uint32_t others = split->mask & ~mask;
    int32_t record = rungi_ptx_create_record(warp, split->pc + 1, split->frame, split->mask, split->record);
    ptx_frame_t *caller = split->frame;
    caller->references += record != PTX_NO_RECORD;
    bool repeats = instruction->target < 0 && others != 0; /* lanes with other addresses call next */
    int32_t others_pc = repeats ? split->pc : split->pc + 1;
    int32_t outer = split->record;
    caller->references++;
    rungi_ptx_remove_split(warp, index);
    rungi_ptx_add_split(warp, callee->first, mask, frame, record == PTX_NO_RECORD ? outer : record);
    rungi_ptx_release_frame(warp, frame);
    if (others && (repeats || record == PTX_NO_RECORD))
        rungi_ptx_add_split(warp, others_pc, others, caller, record == PTX_NO_RECORD ? outer : record);
    else if (others)
        rungi_ptx_arrive(warp, record, others);
    rungi_ptx_release_frame(warp, caller);
    return PTX_RESCHEDULE;
}

/* Returns from a function. Lanes of a divergent branch that meets at the return arrive there first. */
static ptx_next_step_t do_return(ptx_warp_t *warp, int index, uint32_t mask)
{
    ptx_split_t split = warp->splits[index];
    const ptx_module_t *module = warp->block->launch->module;
    ptx_frame_t *frame = split.frame;
    if (mask == 0) {
        warp->splits[index].pc++;
        return PTX_CONTINUE;
    }
    if (!frame->call) { /* the kernel's own frame: the lanes exit */
        warp->splits[index].mask &= ~mask;
        warp->splits[index].pc++;
        if (warp->splits[index].mask == 0)
            rungi_ptx_remove_split(warp, index);
        exit_lanes(warp, mask, split.record);
        return PTX_RESCHEDULE;
    }
    const ptx_function_t *callee = &module->functions[frame->function];
    copy_parameters(frame->parent->registers, frame->registers, frame->call->list, callee->results,
                    frame->call->vector_length < callee->result_count ? frame->call->vector_length
                                                                      : callee->result_count,
                    mask, true);
    /* Leave the records of branches inside of the function. */
    int32_t record = split.record;
    while (record != PTX_NO_RECORD && warp->records[record].frame == frame) {
        warp->records[record].expected &= ~mask;
        record = warp->records[record].parent;
    }
    ptx_frame_t *caller = frame->parent;
    int32_t return_pc = frame->return_pc;
    caller->references++;
    warp->splits[index].mask &= ~mask;
    warp->splits[index].pc++;
    if (warp->splits[index].mask == 0)
        rungi_ptx_remove_split(warp, index);
    if (rungi_ptx_is_at_record(warp, record, return_pc, caller))
        rungi_ptx_arrive(warp, record, mask);
    else
        rungi_ptx_add_split(warp, return_pc, mask, caller, record);
    for (int32_t i = 0; i < warp->record_count; i++) /* records that wait for nobody else */
        if (warp->records[i].is_used && warp->records[i].frame == frame)
            rungi_ptx_complete_record(warp, i);
    rungi_ptx_release_frame(warp, caller);
    return PTX_RESCHEDULE;
}

static ptx_next_step_t do_exit(ptx_warp_t *warp, int index, uint32_t mask)
{
    ptx_split_t *split = &warp->splits[index];
    int32_t record = split->record;
    split->mask &= ~mask;
    split->pc++;
    if (split->mask == 0)
        rungi_ptx_remove_split(warp, index);
    exit_lanes(warp, mask, record);
    return PTX_RESCHEDULE;
}

/* Executes an instruction that may have to wait. */
static ptx_next_step_t do_wait(ptx_warp_t *warp, int index, const ptx_instruction_t *instruction, uint32_t mask)
{
    ptx_split_t *split = &warp->splits[index];
    if (mask) {
        warp->must_wait = false;
        warp->is_retried = split->has_waited;
        instruction->execute(warp, instruction, mask);
        split->has_waited = warp->must_wait;
        if (warp->must_wait) {
            split->state = PTX_WAITING;
            return PTX_RESCHEDULE;
        }
    }
    split->pc++;
    return PTX_CONTINUE;
}

ptx_next_step_t rungi_ptx_do_control(ptx_warp_t *warp, int index, const ptx_instruction_t *instruction, uint32_t mask)
{
    switch ((ptx_control_t)instruction->control) {
    case PTX_CONTROL_BRANCH: return do_branch(warp, index, instruction, mask);
    case PTX_CONTROL_INDEXED_BRANCH: return do_indexed_branch(warp, index, instruction, mask);
    case PTX_CONTROL_CALL: return do_call(warp, index, instruction, mask);
    case PTX_CONTROL_RETURN: return do_return(warp, index, mask);
    case PTX_CONTROL_EXIT: return do_exit(warp, index, mask);
    case PTX_CONTROL_WARP_SYNC: return rungi_ptx_do_warp_sync(warp, index, instruction, mask);
    case PTX_CONTROL_WAIT: return do_wait(warp, index, instruction, mask);
    case PTX_CONTROL_BARRIER:
        return rungi_ptx_barrier_arrive(warp, &warp->splits[index], instruction, mask) ? PTX_CONTINUE : PTX_RESCHEDULE;
    case PTX_CONTROL_TRAP:
        if (mask)
            rungi_ptx_fault(warp, RUNG_EMULATOR_TRAP, __builtin_ctz(mask), "%s", trap_text(warp->block->launch));
        warp->splits[index].pc++;
        return PTX_RESCHEDULE;
    case PTX_CONTROL_NONE: break;
    }
    return PTX_CONTINUE;
}
