/* SPDX-License-Identifier: Apache-2.0 */
/* 13_wgmma - Hopper's matrix instructions, which read tiles that one thread copies.
 *
 * Removes  the registers and instructions between shared memory and the matrix engine. wgmma reads
 *          both operands from shared memory, for 64 rows at once. The TMA copies a tile for one
 *          instruction of one thread. A producer warp copies, and consumer warps only multiply.
 * Leaves   clusters, in which several blocks receive one copy of a tile, and the instructions of
 *          sm_100 (tcgen05), which keep the sums out of the registers.
 * Try      rung verify --device cuda --kernels 13 --dtype f16
 *
 * A stage holds KB bytes of k for BM rows of A and BN columns of B. Each stage has two mbarriers. `full`
 * completes when both copies have arrived, and `empty` when every consumer warp has multiplied the stage.
 * Consumers keep one group of wgmma in flight: a stage is released while the next one is multiplied.
 *
 * The TMA needs operands that start at multiples of 16 bytes and whose rows do, too. The kernel therefore
 * has no general path, and the host refuses other problems. The TMA stores zeros outside the matrices, also
 * past the end of k, so the main loop has no branch. The instructions exist on sm_90 only.
 */
// takes: f16,f16:f32,bf16,bf16:f32,f8e4m3,f8e4m3:bf16,f8e5m2,f8e5m2:bf16,i8 from sm_90a
#include "dialect.h"
#include "epilogue.h"
#include "tile.h"
#include "swizzle.h"
#include "tma.h"

#ifndef BM
#define BM 128 // 64 128 256
#endif
#ifndef BN
#define BN 128 // 64 128 256
#endif
#ifndef STAGES
#define STAGES 4 // 3 4 5
#endif
/* Rows of blocks that advance across C together, so that they share tiles of B in the cache. */
#ifndef GROUP
#define GROUP 8 // 1 8
#endif
// preset tiny: BM=64,BN=64,STAGES=2,GROUP=2
// preset small: BM=64,BN=64,STAGES=4
// preset wide: BM=128,BN=256,STAGES=4
// preset tall: BM=256,BN=128,STAGES=4
// preset shallow: BM=128,BN=128,STAGES=3

/* Bytes of k per stage: the rows of a tile in shared memory. */
#define KB 128
#define BK (KB / IN_BYTES)
#define CONSUMER_WARPS (BM / 16)
#define THREADS (CONSUMER_WARPS * 32 + 32)

/* The stages, their mbarriers, and bytes to skip in front so that the stages are aligned. */
#define STAGE_BYTES ((BM + BN) * KB)
#define SHARED_BYTES (STAGES * (STAGE_BYTES + 16) + 1024)

#if BM != 64 && BM != 128 && BM != 192 && BM != 256
#error "BM must be 64, 128, 192 or 256: 64 rows per warp group"
#endif
#if BN != 64 && BN != 128 && BN != 256
#error "BN must be 64, 128 or 256"
#endif
#if BM * BN > 128 * 256
#error "BM * BN must be at most 32768: the sums must fit the registers of the block"
#endif
#if STAGES < 2 || STAGES > 8
#error "STAGES must be 2 to 8"
#endif
#if GROUP < 1
#error "GROUP must be at least 1"
#endif
#if SHARED_BYTES > 227 * 1024
#error "the stages must fit 227 KiB of shared memory, the maximum per block"
#endif
#if BM * (BN + 8) * 4 > STAGES * STAGE_BYTES
#error "the sums must fit the memory of the stages"
#endif

#define STEPS (KB / 32)
#define STAGE_ELEMENTS (STAGE_BYTES / IN_BYTES)

/* matrix_output.h stores tiles of 16 x BN sums, in the order of rows and columns. */
#define WN BN
#define A_ROWS_PAIRED 0
#define B_COLS_PAIRED 0
#define A_ROWS_GROUPED 0
#define B_COLS_GROUPED 0
#define SUM_BYTES 4
#define SUMS_LD (WN + sums_pad(0, 0, SUM_BYTES))

#include "wgmma.h"
#include "matrix_output.h"

/* The stages of a block and their mbarriers. */
typedef struct {
    in_t *tiles; /* per stage BM rows of A, then BN columns of B */
    barrier_t *full, *empty;
} pipeline_t;

/* The position of a tile in the pipeline: its stage, and the parity of the stage's phase. */
typedef struct {
    uint stage, parity;
} position_t;

DEVICE void advance(position_t *position)
{
    if (++position->stage == STAGES) {
        position->stage = 0;
        position->parity ^= 1;
    }
}

DEVICE pipeline_t pipeline_of(unsigned char *memory)
{
    pipeline_t pipeline;
    unsigned char *aligned = memory + (0u - shared_address(memory) & TENSOR_ALIGNMENT - 1);
    pipeline.tiles = (in_t *)aligned;
    pipeline.full = (barrier_t *)(aligned + STAGES * STAGE_BYTES);
    pipeline.empty = pipeline.full + STAGES;
    return pipeline;
}

DEVICE void pipeline_init(const pipeline_t *pipeline)
{
    if (threadIdx.x == 0) {
        for (uint i = 0; i < STAGES; i++) {
            barrier_init(&pipeline->full[i], 1);
            barrier_init(&pipeline->empty[i], CONSUMER_WARPS);
        }
        barriers_publish();
    }
    __syncthreads();
}

/* The part of A and B that a block multiplies. */
typedef struct {
    const tensor_map_t *a_map, *b_map;
    int row, col, k, a_item, b_item;
    uint tiles;
} work_t;

/* Copies all tiles, each when its stage is empty. One thread calls this. */
DEVICE void produce(const pipeline_t *pipeline, const work_t *work)
{
    position_t at = {0, 1}; /* all stages are empty: the phase before the first one */
    for (uint tile = 0; tile < work->tiles; tile++, advance(&at)) {
        in_t *to = pipeline->tiles + at.stage * STAGE_ELEMENTS;
        barrier_t *full = &pipeline->full[at.stage];
        const int k = work->k + (int)(tile * BK);
        barrier_wait(&pipeline->empty[at.stage], at.parity);
        barrier_expect(full, STAGE_BYTES);
        copy_tile(to, work->a_map, work->row, k, work->a_item, BM, A_MN_MAJOR, full);
        copy_tile(to + BM * BK, work->b_map, work->col, k, work->b_item, BN, B_MN_MAJOR, full);
    }
}

/* Issues the instructions of one stage, as one group. */
DEVICE void multiply_stage(sum_t *sum, const in_t *stage, uint warp_group)
{
    const descriptor_t a = operand_descriptor(stage + warp_group * 64 * BK);
    const descriptor_t b = operand_descriptor(stage + BM * BK);
    wgmma_begin();
#pragma unroll
    for (uint step = 0; step < STEPS; step++)
        wgmma(sum, advance_k(a, step, A_MN_MAJOR), advance_k(b, step, B_MN_MAJOR));
    wgmma_commit();
}

/* Multiplies all tiles. A stage is released when its group has ended, which is after the next group has
 * started. */
DEVICE void consume(sum_t *sum, const pipeline_t *pipeline, const work_t *work)
{
    const uint warp_group = threadIdx.x / 128, lane = threadIdx.x % 32;
    position_t at = {0, 0};
    uint previous = 0;
    for (uint tile = 0; tile < work->tiles; tile++, advance(&at)) {
        barrier_wait(&pipeline->full[at.stage], at.parity);
        multiply_stage(sum, pipeline->tiles + at.stage * STAGE_ELEMENTS, warp_group);
        wgmma_wait(1);
        if (tile > 0 && lane == 0)
            barrier_arrive(&pipeline->empty[previous]);
        previous = at.stage;
    }
    wgmma_wait(0);
}

KERNEL(THREADS)
rung_13_wgmma(index_t m, index_t n, index_t k,
              sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
              GLOBAL const in_t *__restrict__ b, view_t b_view,
              sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
              launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
              GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
              GLOBAL sum_t *__restrict__ partials,
              const __grid_constant__ tensor_map_t a_map, const __grid_constant__ tensor_map_t b_map)
{
#if SHARED_BYTES > 48 * 1024
    LARGE_SHARED(unsigned char, memory, SHARED_BYTES);
#else
    __shared__ __align__(16) unsigned char memory[SHARED_BYTES];
#endif
    const pipeline_t pipeline = pipeline_of(memory);
    uint block_row, block_col;
    find_block_tile(&block_row, &block_col, m, n, BM, BN, GROUP);
    const index_t row0 = (index_t)block_row * BM, col0 = (index_t)block_col * BN;

    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    const index_t slice_k = select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    work_t work;
    work.a_map = &a_map;
    work.b_map = &b_map;
    work.row = (int)row0;
    work.col = (int)col0;
    work.k = (int)(blockIdx.z * launch_args.k_per_slice);
    work.a_item = a_view.batch_stride != 0 ? (int)blockIdx.y : 0; /* an operand of all items has one item */
    work.b_item = b_view.batch_stride != 0 ? (int)blockIdx.y : 0;
    work.tiles = (uint)((slice_k + BK - 1) / BK);

    sum_t sum[BN / 2];
#pragma unroll
    for (uint i = 0; i < BN / 2; i++)
        sum[i] = 0;

    pipeline_init(&pipeline);
    const uint warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (warp < CONSUMER_WARPS)
        consume(sum, &pipeline, &work);
    else if (lane == 0)
        produce(&pipeline, &work);
    __syncwarp();
    __syncthreads(); /* the sums overwrite the stages, which another warp group may still multiply */
    if (warp >= CONSUMER_WARPS)
        return;

    const output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
    sum_t *sums = (sum_t *)pipeline.tiles + warp * 16 * SUMS_LD;
#pragma unroll
    for (uint j = 0; j < WN / 8; j += SUMS_TILES)
        store_sums_shared(sums, &sum[j * 4], lane, j);
    __syncwarp(); /* the memory of `sums` is this warp's own */
    epilogue_store_rows(&output, sums, row0 + warp * 16, col0, 0, lane, can_store_vectors(&output));
}
