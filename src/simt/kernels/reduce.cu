/* SPDX-License-Identifier: Apache-2.0 */
/* reduce - adds the partial sums that a kernel with SPLIT=1 stored. One thread per element.
 *
 * This kernel is the second half of split-K, not a step of the ladder. The slices are added
 * in order, from the first to the last, so the result has the same bits in every run.
 * alpha, beta and the epilogue are applied only here.
 *
 * The kernel has one argument more than epilogue.h lists: `addend`, the matrix that beta
 * multiplies if the result is stored in another one (rung_problem.d). A problem with a
 * separate D always stores partial sums first, so no other kernel needs this argument.
 */
#define IS_REDUCTION 1
#include "dialect.h"
#include "epilogue.h"

#define BM 1
#define BN 256

KERNEL(256)
rung_reduce(index_t m, index_t n, index_t k,
            sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
            GLOBAL const in_t *__restrict__ b, view_t b_view,
            sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
            launch_args_t launch_args, GLOBAL const index_t *__restrict__ batch_offsets,
            GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
            GLOBAL sum_t *__restrict__ partials, GLOBAL const out_t *__restrict__ addend)
{
    const index_t element = (index_t)blockIdx.x * 256 + threadIdx.x;
    if (element >= m * n)
        return;
    const index_t row = element / n, col = element - row * n;
    view_t a_slice = a_view, b_slice = b_view, c_item = c_view;
    select_slice(&a_slice, &b_slice, &c_item, k, launch_args, batch_offsets);
    output_t output = output_of(c, c_item, m, n, alpha, beta, launch_args, bias, residual, partials);
    output.addend = addend;
    if (launch_args.flags & 8)
        output.launch_args.addend.offset += batch_offsets[launch_args.batch_offsets_start + launch_args.first_item +
                                                          blockIdx.y + 3 * launch_args.batch];
    sum_t sum = 0;
    for (index_t split = 0; split < launch_args.splits; split++)
        sum += partials[partial_index(&output, split, row, col)];
    epilogue_store(&output, row, col, sum);
}
