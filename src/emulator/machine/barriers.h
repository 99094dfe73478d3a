/* SPDX-License-Identifier: Apache-2.0 */
/* barriers.h - the barriers of a block: bar.sync, bar.arrive, bar.red. */
#pragma once

#include "emulator/machine/machine.h"

/* Lanes of a split arrive at a barrier. Moves the split behind the instruction. Returns false if it must wait. */
bool rungi_ptx_barrier_arrive(ptx_warp_t *warp, ptx_split_t *split, const ptx_instruction_t *instruction,
                              uint32_t mask);

/* Releases barriers that all expected threads have reached. Returns whether there was one. */
bool rungi_ptx_barriers_release(ptx_block_t *block);
