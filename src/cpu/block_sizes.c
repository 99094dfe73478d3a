/* SPDX-License-Identifier: Apache-2.0 */
/* block_sizes.c - derives block sizes from the caches. See features.h.
 *
 * The fractions were measured on a processor with 48 KiB of L1, 2 MiB of L2 and 480 MiB of L3 and are assumed to hold for
 * others. Data that is reused at once stays in L1, data that all rows of A are multiplied with in L2, and copies that are
 * used several times in one core's share of L3. */
#include "cpu/features.h"

#include "base/checked_arithmetic.h"

rungi_cpu_block_sizes rungi_cpu_block_sizes_derive(const rungi_caches *caches)
{
    int64_t l1 = caches->l1, l2 = caches->l2, share = rungi_max(caches->l3 / caches->l3_cores, l2);
    return (rungi_cpu_block_sizes){
        .packed_b = l2 - l2 / 4, /* the rest is for A and C */
        .cached_a = rungi_min(10 * l2, share),
        .cached_b = rungi_min(8 * l2, share),
        .amx_panel = l1 / 3 * 2,
        .l1_tiles = l1 / 3 * 2,
        .l1_b = l1 / 4 * 3,
        .a_panel = l1 / 8 * 3,
        .l1_ways = l1 / 4096, /* a way of L1 is a page, or L1 could not be indexed before an address is translated */
        .l2_b = l2,
        .few_rows_b = l2 / 4,
        .in_place_b = l2 / 2,
        .prefetch_c = l2 / 2,
        .half_l2 = l2 / 2,
        .small_operand = l2 / 8,
        .l3_share = share,
    };
}
