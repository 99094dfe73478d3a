/* SPDX-License-Identifier: Apache-2.0 */
/* control.h - branches, calls, returns, barriers and other instructions that end the scheduler's inner loop. */
#pragma once

#include "emulator/machine/machine.h"

/* What the inner loop does after a control instruction. */
typedef enum ptx_next_step { PTX_CONTINUE, PTX_RESCHEDULE } ptx_next_step_t;

/* Executes the control instruction at the split's pc and moves the split. PTX_CONTINUE: the split has kept its index, lanes
 * and frame. */
ptx_next_step_t rungi_ptx_do_control(ptx_warp_t *warp, int index, const ptx_instruction_t *instruction, uint32_t mask);

/* Waits until all lanes of the member mask have come to a synchronizing instruction, then executes it (warp_sync.c). */
ptx_next_step_t rungi_ptx_do_warp_sync(ptx_warp_t *warp, int index, const ptx_instruction_t *instruction,
                                       uint32_t mask);

/* Executes the waiting instructions whose member lanes have all arrived or exited. Returns whether there were any. */
bool rungi_ptx_complete_warp_syncs(ptx_warp_t *warp);

/* Reports lanes that others wait for, but that wait themselves at a reconvergence point behind. */
void rungi_ptx_report_missing_members(ptx_warp_t *warp);
