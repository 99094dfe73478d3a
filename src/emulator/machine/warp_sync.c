/* SPDX-License-Identifier: Apache-2.0 */
/* warp_sync.c - instructions with a member mask: shfl.sync, bar.warp.sync and others.
 *
 * A lane waits until all lanes of its member mask wait too or have exited. Lanes may wait at different instructions, as
 * bar.warp.sync allows, and lanes of one split may name different members, as tiles of a warp do. Lanes at the same
 * instruction then execute together, whatever splits they belong to, so that they can exchange data. Only lanes with the same
 * member mask exchange data with each other. */
#include "emulator/machine/control.h"
#include "emulator/machine/splits.h"

/* Returns the member masks of all lanes, or NULL if an instruction needs the whole warp. */
static const uint32_t *member_masks(const ptx_frame_t *frame, const ptx_warp_t *warp,
                                    const ptx_instruction_t *instruction)
{
    ptx_operand_t operand = instruction->operand[4];
    if (!operand)
        return NULL;
    const unsigned char *base = (operand & PTX_BASE_MASK) == PTX_BASE_FRAME ? frame->registers
                                                                            : warp->base[operand & PTX_BASE_MASK];
    return (const uint32_t *)(const void *)(base + (operand & ~(ptx_operand_t)PTX_BASE_MASK));
}

/* Returns the lanes of `mask` whose members are all in `present` or have exited. */
static uint32_t ready_lanes(const ptx_warp_t *warp, const uint32_t *members, uint32_t mask, uint32_t present)
{
    uint32_t missing = warp->live & ~present, ready = 0;
    if (missing == 0)
        return mask;
    for (int lane = 0; members && lane < PTX_WARP_LANES; lane++)
        ready |= (uint32_t)((members[lane] & missing) == 0) << lane;
    return ready & mask;
}

/* Returns the lanes of `mask` that name the same members as the lowest of them. */
static uint32_t lanes_with_same_members(const uint32_t *members, uint32_t mask)
{
    uint32_t same = 0;
    for (int lane = 0; members && lane < PTX_WARP_LANES; lane++)
        same |= (uint32_t)(members[lane] == members[__builtin_ctz(mask)]) << lane;
    return members ? same & mask : mask;
}

/* Reports lanes that execute an instruction without being members themselves, which PTX leaves undefined. */
static void check_membership(ptx_warp_t *warp, uint32_t members, uint32_t group)
{
    uint32_t outside = group & ~members;
    if (outside && (warp->block->launch->checks & RUNG_EMULATOR_CHECK_BARRIERS))
        rungi_ptx_report(warp, RUNG_EMULATOR_WARP_SYNC, __builtin_ctz(outside), 0, 0,
                         "lanes 0x%08x execute the instruction, but its member mask 0x%08x does not contain them",
                         outside, members);
}

/* Executes an instruction for each group of lanes that name the same members. */
static void execute_groups(ptx_warp_t *warp, const ptx_instruction_t *instruction, const uint32_t *members,
                           uint32_t mask)
{
    uint32_t group;
    for (uint32_t left = mask; left; left &= ~group) {
        group = lanes_with_same_members(members, left);
        if (members)
            check_membership(warp, members[__builtin_ctz(left)], group);
        if (instruction->execute)
            instruction->execute(warp, instruction, group);
        else if (warp->is_checked) /* bar.warp.sync; the others do not order memory accesses */
            rungi_ptx_check_warp_sync(warp, group);
    }
}

/* Executes an instruction for lanes of one frame. */
static void execute(ptx_warp_t *warp, const ptx_instruction_t *instruction, ptx_frame_t *frame, int32_t pc,
                    uint32_t mask)
{
    rungi_ptx_select_frame(warp, frame);
    warp->pc = pc;
    warp->active = mask;
    execute_groups(warp, instruction, member_masks(frame, warp, instruction), mask);
}

/* Executes the instruction for `ready` lanes that wait at the same place as split `index`, and moves them behind it. */
static void execute_together(ptx_warp_t *warp, int index, uint32_t ready)
{
    ptx_split_t first = warp->splits[index];
    uint32_t mask = 0;
    for (int i = 0; i < warp->split_count; i++) {
        ptx_split_t *split = &warp->splits[i];
        if (split->state != PTX_AT_WARP_SYNC || split->pc != first.pc || split->frame != first.frame ||
            !(split->mask & ready))
            continue;
        if (split->mask & ~ready) {
            uint32_t others = split->mask & ~ready;
            rungi_ptx_detach_lanes(warp, i, others, first.pc);
            warp->splits[warp->split_count - 1].state = PTX_AT_WARP_SYNC;
        }
        mask |= split->mask;
        split->state = PTX_RUNNABLE;
        split->pc++;
    }
    execute(warp, &warp->block->launch->module->instructions[first.pc], first.frame, first.pc, mask);
}

bool rungi_ptx_complete_warp_syncs(ptx_warp_t *warp)
{
    const ptx_instruction_t *code = warp->block->launch->module->instructions;
    uint32_t waiting = 0, ready = 0;
    for (int i = 0; i < warp->split_count; i++)
        waiting |= warp->splits[i].state == PTX_AT_WARP_SYNC ? warp->splits[i].mask : 0;
    for (int i = 0; i < warp->split_count; i++) {
        const ptx_split_t *split = &warp->splits[i];
        if (split->state == PTX_AT_WARP_SYNC)
            ready |= ready_lanes(warp, member_masks(split->frame, warp, &code[split->pc]), split->mask, waiting);
    }
    for (int i = 0; i < warp->split_count; i++)
        if (warp->splits[i].state == PTX_AT_WARP_SYNC && (warp->splits[i].mask & ready))
            execute_together(warp, i, ready);
    return ready != 0;
}

/* Reports a waiting split that names some of the lanes `passed` as members. */
static void report_members(ptx_warp_t *warp, uint32_t passed)
{
    const ptx_instruction_t *code = warp->block->launch->module->instructions;
    for (int i = 0; i < warp->split_count; i++) {
        const ptx_split_t *split = &warp->splits[i];
        if (split->state != PTX_AT_WARP_SYNC)
            continue;
        const uint32_t *members = member_masks(split->frame, warp, &code[split->pc]);
        int lane = __builtin_ctz(split->mask);
        uint32_t missing = (members ? members[lane] : ~0u) & passed;
        warp->pc = split->pc;
        if (missing) {
            rungi_ptx_report(warp, RUNG_EMULATOR_WARP_SYNC, lane, 0, 0,
                             "lanes 0x%08x of the member mask have passed the instruction without executing it",
                             missing);
            return;
        }
    }
}

void rungi_ptx_report_missing_members(ptx_warp_t *warp)
{
    const ptx_instruction_t *code = warp->block->launch->module->instructions;
    uint32_t passed = 0;
    for (int32_t i = 0; i < warp->record_count; i++) {
        const ptx_record_t *record = &warp->records[i];
        if (!record->is_used || !record->arrived || record->pc < 0)
            continue;
        bool is_end = record->frame->depth == 0 &&
                      (code[record->pc].control == PTX_CONTROL_RETURN || code[record->pc].control == PTX_CONTROL_EXIT);
        passed |= is_end ? 0 : record->arrived; /* lanes that only have to exit need not take part */
    }
    if (passed)
        report_members(warp, passed);
}

ptx_next_step_t rungi_ptx_do_warp_sync(ptx_warp_t *warp, int index, const ptx_instruction_t *instruction, uint32_t mask)
{
    ptx_split_t *split = &warp->splits[index];
    if (mask == 0) {
        split->pc++;
        return PTX_CONTINUE;
    }
    const uint32_t *members = member_masks(split->frame, warp, instruction);
    if (ready_lanes(warp, members, mask, mask) == mask) {
        execute_groups(warp, instruction, members, mask);
        split->pc++;
        return PTX_CONTINUE;
    }
    if (mask != split->mask) /* lanes whose guard is false do not wait */
        rungi_ptx_detach_lanes(warp, index, split->mask & ~mask, split->pc + 1);
    split->state = PTX_AT_WARP_SYNC;
    rungi_ptx_complete_warp_syncs(warp);
    return PTX_RESCHEDULE;
}
