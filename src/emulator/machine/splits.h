/* SPDX-License-Identifier: Apache-2.0 */
/* splits.h - call frames, splits and reconvergence records of a warp. See machine.h.
 *
 * The lanes that a record expects are in one of three places: arrived at the record, in a split whose chain of records
 * contains it, or arrived at a record further down that chain. */
#pragma once

#include "emulator/machine/machine.h"

/* Makes a frame's registers those of the running instruction. */
void rungi_ptx_select_frame(ptx_warp_t *warp, ptx_frame_t *frame);

/* Returns a frame with one reference, or NULL if memory is short. Frames of a function are reused. */
ptx_frame_t *rungi_ptx_create_frame(ptx_warp_t *warp, int32_t function, ptx_frame_t *parent);
void rungi_ptx_release_frame(ptx_warp_t *warp, ptx_frame_t *frame);

void rungi_ptx_add_split(ptx_warp_t *warp, int32_t pc, uint32_t mask, ptx_frame_t *frame, int32_t record);

/* Removes a split. The last one takes its index. */
void rungi_ptx_remove_split(ptx_warp_t *warp, int index);

/* Moves the lanes of `mask` to a new split at `pc`. */
void rungi_ptx_detach_lanes(ptx_warp_t *warp, int index, uint32_t mask, int32_t pc);

/* Returns a new record, or PTX_NO_RECORD if memory is short: the lanes then never wait for each other. */
int32_t rungi_ptx_create_record(ptx_warp_t *warp, int32_t pc, ptx_frame_t *frame, uint32_t mask, int32_t parent);
bool rungi_ptx_is_at_record(const ptx_warp_t *warp, int32_t record, int32_t pc, const ptx_frame_t *frame);

/* Continues the lanes of a record once all of them have arrived. Its parent may be complete at the same place. */
void rungi_ptx_complete_record(ptx_warp_t *warp, int32_t index);

/* Lanes arrive at the record's place. */
void rungi_ptx_arrive(ptx_warp_t *warp, int32_t record, uint32_t mask);

/* Lanes that exit arrive nowhere. */
void rungi_ptx_remove_lanes(ptx_warp_t *warp, int32_t record, uint32_t mask);

/* Lets lanes that wait at a record continue without the others. Returns whether there were any. */
bool rungi_ptx_release_waiting(ptx_warp_t *warp);

/* Makes one split of those that have met outside of a reconvergence point. */
void rungi_ptx_merge_splits(ptx_warp_t *warp);
