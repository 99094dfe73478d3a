/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - lets one launch of a kernel compute several problems of different sizes (a group, see
 * rung_group_multiply).
 *
 * No kernel includes this file. When the host assembles the source of a kernel for a group, it puts
 * this file before the kernel function and group_begin.h at the start of its body. The kernel itself
 * is unchanged: group_begin.h declares m, n, k and the other arguments again, with the values of the
 * problem that this block computes.
 *
 * `batch_offsets` points to a table of the host: the first block of each problem and, after the last
 * one, the number of all blocks; then the problems; then, for kernels with quantized.h, where the
 * scales of each problem are. launch_args.batch is the number of problems,
 * batch_offsets_start the index of the table, and first_item the first block of this launch.
 */
#ifndef RUNG_GROUP_H
#define RUNG_GROUP_H

/* A problem of the table. alpha and beta have eight bytes each, whatever the type of sums is. */
typedef struct {
    index_t m, n, k;
    view_t  a, b, c, bias, residual;
    sum_t   alpha[8 / sizeof(sum_t)], beta[8 / sizeof(sum_t)];
} group_problem_t;

/* The index of a block among those of its problem, under the name of CUDA's variable. */
typedef struct {
    uint x;
} group_block_t;

/* Returns the problem that contains a block, by bisection: first_blocks[low] <= block < first_blocks[high].
 * The problems before `count` have at least one block each. */
DEVICE index_t find_problem(GLOBAL const index_t *first_blocks, index_t count, index_t block)
{
    index_t low = 0, high = count;
    while (high - low > 1) {
        const index_t middle = low + ((high - low) >> 1);
        if (first_blocks[middle] <= block)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Does what find_block_tile() of tile.h does, for a block that is counted from the first of its problem. */
DEVICE void find_tile(uint block, uint *tile_row, uint *tile_col, index_t m, index_t n, uint tile_m, uint tile_n,
                      uint group)
{
    const uint grid_rows = (uint)((m + tile_m - 1) / tile_m), grid_cols = (uint)((n + tile_n - 1) / tile_n);
    const uint first = block / grid_cols / group * group;
    const uint rows = grid_rows - first < group ? grid_rows - first : group;
    const uint index = block - first * grid_cols;
    *tile_col = index / rows;
    *tile_row = first + index - *tile_col * rows;
}

/* Returns launch_args_t as a kernel expects it for a single problem: no batch offsets and one slice of k. */
DEVICE launch_args_t problem_launch_args(launch_args_t launch_args, GLOBAL const group_problem_t *problem)
{
    launch_args.batch = launch_args.splits = 1;
    launch_args.first_item = launch_args.flags = launch_args.batch_offsets_start = 0;
    launch_args.k_per_slice = problem->k;
    launch_args.bias = problem->bias;
    launch_args.residual = problem->residual;
    return launch_args;
}

/* Other names for the arguments of the kernel function. group_begin.h ends the renaming. */
#define m           unused_m
#define n           unused_n
#define k           unused_k
#define alpha       unused_alpha
#define beta        unused_beta
#define a_view      unused_a_view
#define b_view      unused_b_view
#define c_view      unused_c_view
#define launch_args group_launch_args
#ifdef RUNG_QUANTIZED_H
#define quantization unused_quantization
#endif

#endif /* RUNG_GROUP_H */
