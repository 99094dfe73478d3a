/* SPDX-License-Identifier: Apache-2.0 */
/* bulk.h - copies of the asynchronous proxy between global memory and the shared memory of a cluster. */
#pragma once

#include "emulator/machine/cluster.h"
#include "emulator/machine/tensor_map.h"

/* What a reduction does with each element. */
typedef struct ptx_bulk_reduction {
    bool is_used;
    uint8_t operation; /* ptx_atomic_operation_t */
    uint8_t type;      /* ptx_type_t */
} ptx_bulk_reduction_t;

/* Checks and counts an access of one lane to a range, and returns its host address; NULL after a report. `space` is global or
 * that of the shared::cluster window; only accesses to global memory are counted. */
unsigned char *rungi_ptx_bulk_access(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                                     ptx_space_t space, uint64_t address, uint32_t bytes, ptx_access_t kind);

/* Where a copy to shared memory goes: addresses in the shared::cluster window. With a mask, to the same offsets in each block
 * of the mask. */
typedef struct ptx_bulk_target {
    uint64_t to, mbarrier;
    bool is_multicast;
    uint16_t blocks;
} ptx_bulk_target_t;

/* Issues a copy of `data` to shared memory. */
void rungi_ptx_bulk_issue(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                          const ptx_bulk_target_t *target, const unsigned char *data, uint32_t bytes,
                          const ptx_bulk_reduction_t *reduction);

/* Reads shared memory of the executing block for a bulk store, which lasts until its group is waited for. Returns NULL after a
 * report. */
const unsigned char *rungi_ptx_bulk_source(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                                           uint64_t from, uint32_t bytes);

/* Writes or combines bytes in global memory. */
void rungi_ptx_bulk_write(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane, uint64_t to,
                          const unsigned char *data, uint32_t bytes, const ptx_bulk_reduction_t *reduction);

/* Combines elements of memory with others. */
void rungi_ptx_bulk_combine(unsigned char *to, const unsigned char *from, uint32_t bytes,
                            const ptx_bulk_reduction_t *reduction);

/* ---- Tensors (machine/tensor_copy.c) ------------------------------------------------------------------------------- */

/* Returns the tensor map at a generic address, or NULL after a fault. */
const ptx_tensor_map_t *rungi_ptx_tensor_map(ptx_warp_t *warp, int lane, uint64_t address, int rank);

/* Returns the bytes of a box in shared memory. */
uint32_t rungi_ptx_tensor_box_bytes(const ptx_tensor_map_t *map);

/* Loads the box at the coordinates into `data`, which has the layout of shared memory at offset `to`. */
void rungi_ptx_tensor_load(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                           const ptx_tensor_map_t *map, const int32_t coordinates[PTX_TENSOR_RANK_MAX], uint64_t to,
                           unsigned char *data);

/* Stores a box that has the layout of shared memory at offset `from`. */
void rungi_ptx_tensor_store(ptx_warp_t *warp, const ptx_instruction_t *instruction, int lane,
                            const ptx_tensor_map_t *map, const int32_t coordinates[PTX_TENSOR_RANK_MAX], uint64_t from,
                            const unsigned char *data, const ptx_bulk_reduction_t *reduction);
