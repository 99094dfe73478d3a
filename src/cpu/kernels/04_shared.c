/* SPDX-License-Identifier: Apache-2.0 */
/* 04_shared - cache blocks: load a block of B once, use it BM times.
 *
 * Removes  the repeated reads of B in 02_coalesced. A block of B, BK x BN, stays in the cache while BM rows of C use
 *          it. The sums of a BM x BN block of C stay in the cache too.
 * Leaves   one load and one store of a sum per multiply-add: no sum stays in a register (see 06).
 * Watch    rung bench --device cpu --kernels 02,04 --sizes 512,1024,2048
 *
 * Within a block the loops are those of 02. The loops over blocks are run_cache_blocks() in cache_blocks.h:
 *
 *     for each BM x BN block of C
 *         for each BK steps of k
 *             accumulate_block(block of A, block of B)
 *         scale the sums and store them to C
 *
 * The cache is to a CPU what shared memory is to a GPU, but it fills itself. For row-major matrices this step is
 * therefore small: the processor prefetches the contiguous reads of 02 faster than scalar code multiplies. For a
 * column-major B the step is large. Kernels 06 to 08 need the blocks, because they compute faster:
 * rung bench --device cpu --kernels 06 --params BK=64,4096 --sizes 1024
 */
#include "cpu/kernels/cache_blocks.h"

#ifndef BM
#define BM 32 // 16 32 64
#endif
#ifndef BN
#define BN 512 // 128 256 512
#endif
#ifndef BK
#define BK 32 // 16 32 64
#endif
// preset tiny: BM=8,BN=8,BK=4

#if BM < 1 || BN < 1 || BK < 1 || BM * BN > 1048576
#error "BM, BN and BK must be at least 1, and BM * BN at most 2^20"
#endif

/* Adds a BM x BK block of A times a BK x BN block of B to the sums. The block may be smaller at the edges. */
static void accumulate_block(const rungi_cpu_job *block, sum_t *sums, int64_t bn)
{
    const in_t *a = block->a.first, *b = block->b.first;
    for (int64_t i = 0; i < block->m; i++)
        for (int64_t p = 0; p < block->k; p++) {
            const sum_t a_value = widen(a[element_offset(block->a, i, p)]);
            for (int64_t j = 0; j < block->n; j++)
                sums[i * bn + j] += a_value * widen(b[element_offset(block->b, p, j)]);
        }
}

TYPED_KERNEL(04_shared) = {.run = run_cache_blocks, .configure = configure_cache_blocks};
