/* SPDX-License-Identifier: Apache-2.0 */
/* issue_simulator.h - simulates how one multiprocessor issues the instructions of a loop, clock by clock.
 *
 * A kernel near the peak is limited by details that a sum of clocks per resource does not show: loads that return a few
 * clocks late, a full queue of memory instructions, all warps of a block at a barrier. The simulation has them. Four
 * schedulers issue one instruction per clock each, in order within a warp. An instruction waits for its stall clocks and
 * its scoreboards, as the compiler encoded them, for its unit, and for register banks. All memory instructions share one
 * load/store pipe with a queue per scheduler. Loads from global memory then pass the tags of L1 and the path from L2.
 * The loop is repeated until its speed is steady. */
#pragma once

#include "explain/sass.h"

/* What one memory instruction costs. */
typedef struct lab_access_cost {
    double pipe_clocks; /* of the load/store pipe, shared memory included */
    double tag_clocks;  /* of the tags of L1; 0 for shared memory */
    double l2_bytes;    /* that L1 does not have */
} lab_access_cost;

/* One multiprocessor. Clocks of units are those that one warp instruction occupies its scheduler's unit. */
typedef struct lab_issue_machine {
    int fma_units;                                   /* FP32 units per scheduler: 2 from sm_86 on, otherwise 1 */
    double fma_clocks, alu_clocks, fp64_clocks;      /* per instruction */
    double tensor_rate;                              /* multiply-adds per clock and scheduler */
    double shared_latency, global_latency, l2_bytes; /* l2_bytes: per clock */
    double barrier_latency;
    int queue_entries; /* memory instructions that wait per scheduler */
} lab_issue_machine;

typedef struct lab_issue_loop {
    const lab_loop_instruction *code;
    const lab_access_cost *costs; /* per instruction of the loop */
    int count;
    int repeat_begin, repeat_end, repeats; /* the range of an inner loop, executed `repeats` times per iteration */
    int warps, blocks;                     /* warps per block, resident blocks */
} lab_issue_loop;

typedef struct lab_issue_result {
    double clocks;       /* between two iterations of any block: time / iterations of all blocks */
    double math_busy;    /* fraction of the multiply-adds that the units could do */
    double issue_busy;   /* fraction of the issue slots that are used */
    double pipe_busy;    /* fraction of the clocks in which the load/store pipe works */
    double queue_stalls; /* fraction of the issue slots lost to a full queue of memory instructions */
} lab_issue_result;

/* Simulates the loop. Returns false if memory is exhausted or the loop makes no progress. */
bool lab_simulate_issue(const lab_issue_machine *machine, const lab_issue_loop *loop, lab_issue_result *result);
