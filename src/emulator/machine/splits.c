/* SPDX-License-Identifier: Apache-2.0 */
/* splits.c - see splits.h. */
#include "emulator/machine/splits.h"

#include <stdlib.h>
#include <string.h>

#include "base/aligned_memory.h"
#include "emulator/ptx/vector.h"

/* ---- Frames -------------------------------------------------------------------------------------------------------- */

void rungi_ptx_select_frame(ptx_warp_t *warp, ptx_frame_t *frame)
{
    warp->frame = frame;
    warp->base[PTX_BASE_FRAME] = frame->registers;
}

/* Returns a frame's registers, which begin with zeros, or NULL. What no instruction uses has arbitrary values. */
static unsigned char *create_registers(const ptx_function_t *function)
{
    size_t bytes = ((size_t)function->frame_bytes + PTX_LANE_ARRAY_ALIGNMENT - 1) & -(size_t)PTX_LANE_ARRAY_ALIGNMENT;
    unsigned char *registers = rungi_aligned_allocate(PTX_LANE_ARRAY_ALIGNMENT, bytes);
    size_t first = 0;
    for (int i = 0; registers && i <= function->gap_count; i++) {
        size_t end = i < function->gap_count ? (size_t)function->gaps[i].first : bytes;
        memset(registers + first, 0, end - first);
        first = i < function->gap_count ? (size_t)function->gaps[i].end : bytes;
    }
    return registers;
}

ptx_frame_t *rungi_ptx_create_frame(ptx_warp_t *warp, int32_t function, ptx_frame_t *parent)
{
    const ptx_module_t *module = warp->block->launch->module;
    ptx_frame_t *frame = warp->free_frames[function];
    if (frame) {
        warp->free_frames[function] = frame->parent;
    } else {
        frame = calloc(1, sizeof *frame);
        unsigned char *registers = create_registers(&module->functions[function]);
        if (!frame || !registers) {
            free(frame);
            rungi_aligned_free(registers);
            return NULL;
        }
        frame->registers = registers;
    }
    frame->function = function;
    frame->parent = parent;
    frame->references = 1;
    frame->call = NULL;
    frame->depth = parent ? parent->depth + 1 : 0;
    frame->local_base = parent ? parent->local_base + ((module->functions[parent->function].local_bytes + 15) & -16)
                               : 0;
    if (parent)
        parent->references++;
    return frame;
}

void rungi_ptx_release_frame(ptx_warp_t *warp, ptx_frame_t *frame)
{
    while (frame && --frame->references == 0) {
        ptx_frame_t *parent = frame->parent;
        frame->parent = warp->free_frames[frame->function];
        warp->free_frames[frame->function] = frame;
        frame = parent;
    }
}

/* ---- Splits and records -------------------------------------------------------------------------------------------- */

void rungi_ptx_add_split(ptx_warp_t *warp, int32_t pc, uint32_t mask, ptx_frame_t *frame, int32_t record)
{
    warp->splits[warp->split_count++] = (ptx_split_t){.pc = pc, .mask = mask, .frame = frame, .record = record};
    frame->references++;
}

void rungi_ptx_remove_split(ptx_warp_t *warp, int index)
{
    rungi_ptx_release_frame(warp, warp->splits[index].frame);
    warp->splits[index] = warp->splits[--warp->split_count];
}

void rungi_ptx_detach_lanes(ptx_warp_t *warp, int index, uint32_t mask, int32_t pc)
{
    ptx_split_t *split = &warp->splits[index];
    split->mask &= ~mask;
    rungi_ptx_add_split(warp, pc, mask, split->frame, split->record);
}

int32_t rungi_ptx_create_record(ptx_warp_t *warp, int32_t pc, ptx_frame_t *frame, uint32_t mask, int32_t parent)
{
    int index = 0;
    while (index < warp->record_count && warp->records[index].is_used)
        index++;
    ptx_record_t *records = rungi_ptx_grow(warp->records, index + 1, &warp->record_capacity, sizeof *records);
    if (!records)
        return PTX_NO_RECORD;
    warp->records = records;
    if (index == warp->record_count)
        warp->record_count++;
    warp->records[index] = (ptx_record_t){
        .pc = pc, .parent = parent, .frame = frame, .expected = mask, .is_used = true};
    return index;
}

bool rungi_ptx_is_at_record(const ptx_warp_t *warp, int32_t record, int32_t pc, const ptx_frame_t *frame)
{
    return record != PTX_NO_RECORD && warp->records[record].pc == pc && warp->records[record].frame == frame;
}

void rungi_ptx_complete_record(ptx_warp_t *warp, int32_t index)
{
    while (index != PTX_NO_RECORD && warp->records[index].is_used &&
           warp->records[index].arrived == warp->records[index].expected) {
        ptx_record_t record = warp->records[index];
        warp->records[index].is_used = false;
        if (!record.expected) {
            rungi_ptx_release_frame(warp, record.frame);
            index = record.parent;
            continue;
        }
        if (!rungi_ptx_is_at_record(warp, record.parent, record.pc, record.frame)) {
            rungi_ptx_add_split(warp, record.pc, record.arrived, record.frame, record.parent);
            rungi_ptx_release_frame(warp, record.frame);
            return;
        }
        warp->records[record.parent].arrived |= record.arrived;
        rungi_ptx_release_frame(warp, record.frame);
        index = record.parent;
    }
}

void rungi_ptx_arrive(ptx_warp_t *warp, int32_t record, uint32_t mask)
{
    warp->records[record].arrived |= mask;
    rungi_ptx_complete_record(warp, record);
}

void rungi_ptx_remove_lanes(ptx_warp_t *warp, int32_t record, uint32_t mask)
{
    while (record != PTX_NO_RECORD) {
        int32_t parent = warp->records[record].parent;
        bool was_used = warp->records[record].is_used;
        warp->records[record].expected &= ~mask;
        if (was_used && warp->records[record].arrived == warp->records[record].expected) {
            /* The parent loses the lanes first, so that a completed record continues with the right ones. */
            for (int32_t i = parent; i != PTX_NO_RECORD; i = warp->records[i].parent)
                warp->records[i].expected &= ~mask;
            rungi_ptx_complete_record(warp, record);
            return;
        }
        record = parent;
    }
}

bool rungi_ptx_release_waiting(ptx_warp_t *warp)
{
    for (int32_t i = 0; i < warp->record_count; i++) {
        ptx_record_t *record = &warp->records[i];
        if (!record->is_used || !record->arrived || record->pc < 0)
            continue;
        uint32_t lanes = record->arrived;
        record->expected &= ~lanes;
        record->arrived = 0;
        rungi_ptx_add_split(warp, record->pc, lanes, record->frame, record->parent);
        return true;
    }
    return false;
}

void rungi_ptx_merge_splits(ptx_warp_t *warp)
{
    for (int i = 0; i < warp->split_count; i++)
        for (int j = i + 1; j < warp->split_count;) {
            ptx_split_t *x = &warp->splits[i], *y = &warp->splits[j];
            bool can_run = x->state == PTX_RUNNABLE && y->state == PTX_RUNNABLE;
            if (can_run && x->pc == y->pc && x->frame == y->frame && x->record == y->record) {
                x->mask |= y->mask;
                rungi_ptx_remove_split(warp, j);
            } else {
                j++;
            }
        }
}
