/* SPDX-License-Identifier: Apache-2.0 */
/* access_counter_list.h - the list of memory access counters, from which access_counters.h and the tables of explain and
 * of the tests are made. */
#pragma once

/* Kinds of requests, and their names in JSON and in tables. */
/* clang-format off */
#define LAB_ACCESS_KIND_LIST(X)                                                                  \
    X(GLOBAL_LOAD,  "global_load")                                                               \
    X(GLOBAL_STORE, "global_store")                                                              \
    X(SHARED_LOAD,  "shared_load")                                                               \
    X(SHARED_STORE, "shared_store")
/* clang-format on */

/* Counters of the whole run.
 *
 *   idle_lanes       lanes of a warp for which the block has no thread
 *   instructions     PTX instructions, counted once per warp
 *   multiply_adds    of all lanes of the warps; those of matrix instructions included
 *   branches         counted once per warp; a branch is divergent if the lanes of the warp take different paths
 *   barriers         counted once per block
 *   waits            of a block for global memory, at most one between two barriers: see rung_emulator_totals */
/* clang-format off */
#define LAB_ACCESS_TOTAL_LIST(X)                                                                 \
    X(blocks) X(threads) X(warps) X(idle_lanes) X(instructions) X(multiply_adds)                 \
    X(barriers) X(branches) X(divergent) X(waits)
/* clang-format on */

/* Counters of one source line. A request with fewer than 32 lanes is partial. `bytes` adds what every lane requests;
 * `distinct_bytes` counts each byte once per request. Sectors of 32 bytes and lines of 128 bytes refer to global
 * memory, wavefronts to shared memory. The ideal is the minimum for the same bytes and lanes. */
/* clang-format off */
#define LAB_ACCESS_LINE_LIST(X)                                                                  \
    X(requests) X(lanes) X(partial) X(bytes) X(sectors) X(lines) X(sectors_ideal)                \
    X(wavefronts) X(wavefronts_ideal) X(distinct_bytes)
/* clang-format on */

/* Counters of one buffer. A name that begins with `block_` adds the distinct sectors or lines of each block; the
 * others count the distinct sectors of all blocks together. */
/* clang-format off */
#define LAB_ACCESS_BUFFER_LIST(X)                                                                \
    X(block_sectors_read) X(block_lines_read) X(block_sectors_written) X(sectors_read)           \
    X(sectors_written)
/* clang-format on */
