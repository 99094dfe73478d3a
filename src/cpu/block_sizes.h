/* SPDX-License-Identifier: Apache-2.0 */
/* block_sizes.h - how many bytes of each operand the CPU's kernels handle at a time, derived from the
 * processor's caches. */
#ifndef RUNGI_CPU_BLOCK_SIZES_H
#define RUNGI_CPU_BLOCK_SIZES_H

#include "cpu/cpu_caches.h"

/* All in bytes. */
typedef struct rungi_cpu_block_sizes {
    int64_t packed_b;   /* 10_pipeline: a packed block of B, KC x NC. 09_warptile: a block of A. */
    int64_t cached_a;   /* 10_pipeline: copied rows of A that several blocks of B use */
    int64_t cached_b;   /* 12_matrix: packed slices of B that several blocks of rows use */
    int64_t amx_panel;  /* 12_matrix: KC bytes of each of the 32 rows of a panel */
    int64_t l1_tiles;   /* 10_pipeline: tiles of an unpacked B that panels of A share in L1 */
    int64_t few_rows_b; /* 10_pipeline: larger than this, an unpacked B is read a few rows at a time */
    int64_t
        in_place_b; /* 10_pipeline: larger than this, B is read in place, or one packed tile at a time, for more rows of A */
    int64_t prefetch_c;    /* 10_pipeline: larger than this, C is prefetched */
    int64_t half_l2;       /* 12_matrix: KD x NC bytes of B, and MC x NC sums */
    int64_t small_operand; /* 12_matrix: up to this, A and B each stay in L2 */
    int64_t l3_share;      /* of one core, or its L2 if that is larger */
} rungi_cpu_block_sizes;

rungi_cpu_block_sizes rungi_cpu_block_sizes_derive(const rungi_caches *caches);

#endif /* RUNGI_CPU_BLOCK_SIZES_H */
