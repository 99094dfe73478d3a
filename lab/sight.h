/* SPDX-License-Identifier: Apache-2.0 */
/* sight.h - the one list of what the microscope counts: tools/microscope/microscope.cpp writes
 * it, microscope.c reads it, in this order. C and C++. */
#ifndef LAB_SIGHT_H
#define LAB_SIGHT_H

#define LAB_SIGHT_FORMAT "rung-microscope\t1"

/* Kinds of requests, and their words in the file. */
/* clang-format off */
#define LAB_TRAFFIC_LIST(X)                                                                      \
    X(GLOBAL_LOAD,  "global_load")                                                               \
    X(GLOBAL_STORE, "global_store")                                                              \
    X(SHARED_LOAD,  "shared_load")                                                               \
    X(SHARED_STORE, "shared_store")
/* clang-format on */

/* Of the whole run. Lanes of a warp that the block has no threads for are idle. Instructions
 * are LLVM's and, like multiply-adds, counted once a thread; neither has what software does in
 * an engine's place. A warp passes a branch once for all its lanes, and is divergent there if
 * they go different ways. A block passes a barrier once. Its first thread tells how often it
 * waits for global memory, once between two barriers at most: where it stores to shared memory
 * what it has loaded without a multiply-add in between, or reads there what was copied without
 * one since. */
/* clang-format off */
#define LAB_SIGHT_TOTAL_LIST(X)                                                                  \
    X(blocks) X(threads) X(warps) X(idle_lanes) X(instructions) X(multiply_adds)                 \
    X(engine_products) X(barriers) X(branches) X(divergent) X(waits)
/* clang-format on */

/* Of one line's requests: those with fewer than 32 lanes are partial, and bytes are what lanes
 * ask for, each for itself; distinct bytes count once a request. Sectors of 32 bytes and lines of
 * 128 are of global memory, wavefronts of shared; the ideal is the fewest that the same bytes, the
 * same lanes, could have needed. */
/* clang-format off */
#define LAB_SIGHT_COUNT_LIST(X)                                                                  \
    X(requests) X(lanes) X(partial) X(bytes) X(sectors) X(lines) X(sectors_ideal)                \
    X(wavefronts) X(wavefronts_ideal) X(distinct_bytes)
/* clang-format on */

/* Of one buffer: what each block touched, once however often, summed over the blocks; and what
 * all blocks together touched. */
/* clang-format off */
#define LAB_SIGHT_BUFFER_LIST(X)                                                                 \
    X(block_sectors_read) X(block_lines_read) X(block_sectors_written) X(sectors_read)           \
    X(sectors_written)
/* clang-format on */

#endif /* LAB_SIGHT_H */
