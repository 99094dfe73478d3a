/* SPDX-License-Identifier: Apache-2.0 */
/* wait_counter.h - counts how often a block waits for global memory, and the multiply-adds of an instruction.
 *
 * The first warp of a block stands for the block. The warp waits where it stores to shared memory after a load from
 * global memory with no multiply-add in between, and where it waits for an asynchronous copy with no multiply-add since
 * the copy. At most one wait is counted between two barriers. Guards are ignored, so that nothing is read per lane. */
#pragma once

#include "emulator/machine/machine.h"

enum { PTX_COPY_GROUPS_MAX = 64 };

typedef struct ptx_wait_counter {
    uint8_t *events;     /* of each instruction: what it means here */
    int64_t block;       /* linear index; -1: none yet */
    int64_t multiplied;  /* multiply-adds of the warp so far */
    int64_t loaded;      /* value of `multiplied` at the last load; -1: none since the last store to shared memory */
    int64_t copied;      /* the same of the last asynchronous copy; -1: none since the last commit */
    int64_t group_count; /* committed groups, and the value of `copied` of the last ones */
    int64_t groups[PTX_COPY_GROUPS_MAX];
    bool has_waited; /* since the last barrier */
    int64_t waits;
} ptx_wait_counter_t;

/* Returns false if memory is short. */
bool rungi_ptx_wait_counter_create(const ptx_module_t *module, ptx_wait_counter_t *counter);
void rungi_ptx_wait_counter_free(ptx_wait_counter_t *counter);

/* The first warp of a block has executed the instructions [first, end). */
void rungi_ptx_wait_counter_pass(ptx_wait_counter_t *counter, const ptx_module_t *module, int64_t block, int32_t first,
                                 int32_t end);

/* Returns the waits of all blocks. */
int64_t rungi_ptx_wait_counter_sum(ptx_wait_counter_t *counter);

/* Return the multiply-adds of one warp that executes an instruction with all lanes. The second function counts mad of
 * integers of up to 32 bits, of which some compute addresses; most addresses have 64. */
int64_t rungi_ptx_multiply_adds(const ptx_instruction_t *instruction);
int64_t rungi_ptx_integer_multiply_adds(const ptx_instruction_t *instruction);
