/* SPDX-License-Identifier: Apache-2.0 */
/* group_begin.h - the first declarations in the body of a kernel that computes a group (see group.h):
 * finds the problem of this block and declares the kernel's arguments again with its values. */
#undef m
#undef n
#undef k
#undef alpha
#undef beta
#undef a_view
#undef b_view
#undef c_view
#undef launch_args
#ifdef RUNG_QUANTIZED_H
#undef quantization
#endif
    GLOBAL const index_t *const first_blocks = batch_offsets + group_launch_args.batch_offsets_start;
    const index_t group_block = group_launch_args.first_item + blockIdx.x;
    const index_t problem_index = find_problem(first_blocks, group_launch_args.batch, group_block);
    GLOBAL const group_problem_t *const problems =
        (GLOBAL const group_problem_t *)(first_blocks + group_launch_args.batch + 1);
    GLOBAL const group_problem_t *const problem = problems + problem_index;
#ifdef RUNG_QUANTIZED_H
    const quantization_args_t quantization =
        ((GLOBAL const quantization_args_t *)(problems + group_launch_args.batch))[problem_index];
#endif
#undef blockIdx /* a macro in OpenCL */
    const group_block_t blockIdx = {(uint)(group_block - first_blocks[problem_index])};
#define find_block_tile(tile_row, tile_col, m, n, tile_m, tile_n, group) \
    find_tile(blockIdx.x, tile_row, tile_col, m, n, tile_m, tile_n, group)
    const index_t m = problem->m, n = problem->n, k = problem->k;
    const sum_t alpha = problem->alpha[0], beta = problem->beta[0];
    const view_t a_view = problem->a, b_view = problem->b, c_view = problem->c;
    const launch_args_t launch_args = problem_launch_args(group_launch_args, problem);
