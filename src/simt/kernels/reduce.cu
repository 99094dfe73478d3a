/* SPDX-License-Identifier: Apache-2.0 */
/* reduce - adds up the shares that a kernel with SPLIT=1 has left, a thread an element.
 *
 * The second half of split k, and no step of the ladder. Shares are added from the first
 * to the last, whichever came first: the same bits every run. Scalars and epilogue are
 * applied here and nowhere else.
 *
 * One more argument than finish.h lists: `addend`, the matrix that beta multiplies if the
 * result is stored in another one (rung_problem.d). A problem with a separate D always leaves
 * its sums in `partials`, so no other kernel needs this argument.
 */
#define REDUCES 1
#include "dialect.h"
#include "finish.h"

#define BM 1
#define BN 256

KERNEL(256)
rung_reduce(index_t m, index_t n, index_t k,
            sum_t alpha, GLOBAL const in_t *__restrict__ a, view_t a_view,
            GLOBAL const in_t *__restrict__ b, view_t b_view,
            sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view,
            extra_t extra, GLOBAL const index_t *__restrict__ places,
            GLOBAL const out_t *__restrict__ bias, GLOBAL const out_t *__restrict__ residual,
            GLOBAL sum_t *__restrict__ partials, GLOBAL const out_t *__restrict__ addend)
{
    const index_t element = (index_t)blockIdx.x * 256 + threadIdx.x;
    if (element >= m * n)
        return;
    const index_t row = element / n, col = element - row * n;
    view_t a_share = a_view, b_share = b_view, c_item = c_view;
    take_share(&a_share, &b_share, &c_item, k, extra, places);
    output_t output = output_of(c, c_item, m, n, alpha, beta, extra, bias, residual, partials);
    output.addend = addend;
    if (extra.flags & 8)
        output.extra.addend.offset += places[extra.places_offset + extra.first_item + blockIdx.y + 3 * extra.batch];
    sum_t sum = 0;
    for (index_t split = 0; split < extra.splits; split++)
        sum += partials[partial_at(&output, split, row, col)];
    finish(&output, row, col, sum);
}
