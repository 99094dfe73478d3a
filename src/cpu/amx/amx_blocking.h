/* SPDX-License-Identifier: Apache-2.0 */
/* amx_blocking.h - block sizes of 12_matrix, and where packed operands and sums lie in a thread's scratch. */
#ifndef RUNGI_CPU_AMX_BLOCKING_H
#define RUNGI_CPU_AMX_BLOCKING_H

#include "cpu/amx/amx.h"

#if defined(__x86_64__)

typedef struct rungi_amx_blocking_options {
    int64_t kc, kd;            /* bytes of packed k per slice, and per pass over several slices */
    int64_t mc, nc;            /* rows and columns per block of C */
    bool packs_all_a;          /* all of A is packed first; otherwise 32 rows at a time */
    int64_t max_cached_bytes;  /* all slices of B are cached if they take at most this */
    int64_t max_cached_slices; /* a part of C caches no more slices than the whole problem */
    bool has_packed_b;         /* B is given packed and needs no scratch */
} rungi_amx_blocking_options;

typedef struct rungi_amx_blocking {
    rungi_amx_packing packing;
    int64_t element_bytes;    /* before packing */
    int64_t step_k;           /* elements of k per step */
    int64_t panel_step_bytes; /* of one step of a panel */
    int64_t slice_k;          /* elements of k per slice */
    int64_t slices;
    int64_t slices_per_pass; /* slices that are packed before they are multiplied */
    int64_t cached_slices;   /* slices that stay packed: all if they fit, for the next block of rows */
    int64_t mc, nc;
    int64_t panels;                   /* per nc columns */
    int64_t panel_bytes, slice_bytes; /* of one panel, and of all panels, of a slice */
    /* Offsets in the scratch: packed A and B, the sums of a block of C, and the sums of 32 x 64 elements. */
    int64_t a_offset, b_offset, sums_offset, block_offset;
    /* For BF16X3: ranges of panels, one flag per 32 x 32 sums, and F32 panels for FMA. */
    int64_t ranges_offset, fma_flags_offset, fma_scratch_offset;
    int64_t scratch_bytes;
} rungi_amx_blocking;

/* Chooses the blocking of an m x n x k problem, or of a part of it. */
rungi_amx_blocking rungi_amx_blocking_compute(int64_t m, int64_t n, int64_t k, rungi_amx_packing packing,
                                              const rungi_amx_blocking_options *options);
#endif

#endif /* RUNGI_CPU_AMX_BLOCKING_H */
