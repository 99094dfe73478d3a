/* SPDX-License-Identifier: Apache-2.0 */
/* blocks.c - see blocks.h.
 *
 * The fractions were measured on a processor with 48 KiB of L1, 2 MiB of L2 and 480 MiB of L3, and are
 * assumed to hold for others: what is reused at once stays in L1, what all rows of A are multiplied with
 * stays in L2, and copies that are used more than once stay in one core's share of the L3. */
#include "cpu/blocks.h"

#include "core/checked.h"

rungi_blocks rungi_blocks_of(const rungi_caches *caches)
{
    int64_t l1 = caches->l1, l2 = caches->l2, share = caches->l3 / caches->l3_cores;
    if (share < l2)
        share = l2;
    return (rungi_blocks){
        .packed_b = l2 - l2 / 8, /* the rest is for A and C */
        .kept_a = rungi_smaller(10 * l2, share),
        .kept_b = rungi_smaller(8 * l2, share),
        .panel = l1 / 3,
        .l1_tiles = l1 / 3 * 2,
        .shallow_b = l2 / 4,
        .in_place_b = l2 / 2,
        .prefetch_c = l2 / 2,
        .half_l2 = l2 / 2,
        .small = l2 / 8,
        .l3_share = share,
    };
}
