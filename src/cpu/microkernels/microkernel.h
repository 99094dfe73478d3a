/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel.h - the inner loop of 10_pipeline: register tiles of C over all steps of a K block. Each instruction set has its
 * own tile sizes per accumulator type. */
#pragma once

#include "cpu/features.h"
#include "rung/rung.h"

/* How B is read: in place, packed, or in place and packed for the next panels at the same time. */
typedef enum rungi_microkernel_b_mode {
    RUNGI_B_IN_PLACE,
    RUNGI_B_PACKED,
    RUNGI_B_PACK_ON_THE_FLY
} rungi_microkernel_b_mode;

/* C = alpha * A * B + beta * C for adjacent tiles; C is not read if beta is 0. Strides are in elements. A is contiguous along
 * k, and B and C along their rows. Nothing outside A, B and C is read or written. */
typedef struct rungi_microkernel_args {
    int64_t k;
    const void *a;
    int64_t a_row_stride;
    const void *b;
    int64_t b_row_stride; /* to the a_prefetch of k; not asked where B is packed */
    void *c;
    int64_t c_row_stride;
    int64_t tiles, panels; /* tiles per panel (along n), and panels (along m) */
    int64_t cols;          /* per tile; the full width if there are several tiles */
    double alpha, beta;
    void *pack_to;             /* where B is packed to (RUNGI_B_PACK_ON_THE_FLY) */
    int64_t b_prefetch_steps;  /* B is prefetched this many steps of k ahead, */
    int64_t b_prefetch_offset; /* plus this many elements */
    bool prefetches_c;         /* C is prefetched before the first step */
    const void
        *a_prefetch; /* first row of A to prefetch: one row per tile. Each panel prefetches as many rows as it has. */
    int64_t a_prefetch_row_stride;
} rungi_microkernel_args;

typedef void rungi_microkernel(const rungi_microkernel_args *job);

enum { RUNGI_MICROKERNEL_MAX_ROWS = 14, RUNGI_MICROKERNEL_MAX_VECTORS = 2 };

/* Micro-kernels for 1 to `rows` rows and one or two vectors of `lanes` elements. A packed B holds one tile after the other, and
 * in each tile one row of two vectors per step of k. Columns behind the last one are present but ignored. */
typedef struct rungi_microkernel_table {
    int rows, lanes;
    rungi_microkernel *in_place[RUNGI_MICROKERNEL_MAX_ROWS][RUNGI_MICROKERNEL_MAX_VECTORS];
    rungi_microkernel *packed[RUNGI_MICROKERNEL_MAX_ROWS][RUNGI_MICROKERNEL_MAX_VECTORS];
    /* NULL for few rows, which do not pay for the code. */
    rungi_microkernel *packing[RUNGI_MICROKERNEL_MAX_ROWS]
                              [RUNGI_MICROKERNEL_MAX_VECTORS]; /* in address first, and B goes to `pack_to` */
    /* Packed B, two vectors, streaming stores that bypass the caches. Rows of C are aligned to vectors, and beta is 0. */
    rungi_microkernel *streaming[RUNGI_MICROKERNEL_MAX_ROWS];
} rungi_microkernel_table;

/* Returns the micro-kernels of an instruction set for F32, F64 or I32 sums. */
const rungi_microkernel_table *rungi_microkernel_table_select(rungi_isa isa, rung_type sum);

#define RUNGI_MICROKERNEL_TYPE_LIST(X) X(f32) X(f64) X(i32)
#define X(type)                                                                                            \
    extern const rungi_microkernel_table rungi_microkernels_avx512_##type, rungi_microkernels_avx2_##type, \
        rungi_microkernels_portable_##type;
RUNGI_MICROKERNEL_TYPE_LIST(X)
#undef X
