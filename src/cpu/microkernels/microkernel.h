/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel.h - the inner loop of 10_pipeline: register tiles of C over all steps of a K block. Each instruction set has its
 * own tile sizes per accumulator type. */
#pragma once

#include "cpu/features.h"
#include "rung/rung.h"

/* How A is read: from its rows, packed, or from its rows and packed for the next tiles at the same time. A packed A has one
 * step of k after the other, each with one element per row of the panel. */
typedef enum rungi_microkernel_a_mode {
    RUNGI_A_IN_ROWS,
    RUNGI_A_PACKED,
    RUNGI_A_PACK_ON_THE_FLY
} rungi_microkernel_a_mode;

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
    void *packed_a;          /* used only by micro-kernels with a packed A */
    int64_t packed_a_stride; /* to the next panel of the packed A */
    bool packs_a;            /* the first tile of each panel packs A from its rows */
    const void *b;
    int64_t b_row_stride; /* to the next step of k; ignored if B is packed */
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

/* What a loop over k written for one instruction set reads and writes: addresses, and strides in bytes. */
typedef struct rungi_microkernel_loop {
    const void *a, *a4, *a8, *a12; /* rows 0, 4, 8 and 12 */
    int64_t row;                   /* from one row of A to the next */
    void *packed_a;
    const void *b, *b_prefetch;
    int64_t b_row; /* from one step of an unpacked B to the next */
    void *pack_to;
    const void *next_a; /* to prefetch */
    void *c;            /* where the sums are stored; NULL: in the array of sums */
    int64_t c_row;
    int64_t last_columns; /* columns in the last vector of each row */
} rungi_microkernel_loop;

enum { RUNGI_MICROKERNEL_MAX_ROWS = 14, RUNGI_MICROKERNEL_MAX_VECTORS = 3, RUNGI_IN_PLACE_VECTORS = 2 };

/* Micro-kernels by numbers of rows and vectors, each minus 1; NULL where the list of the instruction set has none. */
typedef rungi_microkernel *rungi_microkernel_tiles[RUNGI_MICROKERNEL_MAX_ROWS][RUNGI_MICROKERNEL_MAX_VECTORS];

/* rows x cols dot products of rows of A and columns of B, both contiguous along k. Strides are in elements. */
typedef struct rungi_dot_products_args {
    int64_t rows, cols, k;
    const void *a;
    int64_t a_row_stride;
    const void *b;
    int64_t b_col_stride;
    void *sums;
    int64_t sums_row_stride;
} rungi_dot_products_args;

enum { RUNGI_DOT_MAX_ROWS = 4, RUNGI_DOT_MAX_COLUMNS = 8 }; /* of a register tile */

typedef void rungi_dot_products(const rungi_dot_products_args *args);

/* A packed B holds one tile after the other, and in each tile one row of packed_vectors vectors of `lanes` elements per step of
 * k. Columns behind the last one are present but ignored. Tiles with B in place have up to RUNGI_IN_PLACE_VECTORS vectors. */
typedef struct rungi_microkernel_table {
    int lanes, in_place_rows, packed_rows, packed_vectors;
    rungi_microkernel_tiles in_place, packed;
    rungi_microkernel_tiles packing; /* B in place, and packed to `pack_to` for the next panels. One panel per call. */
    /* Packed B, whole tiles, streaming stores that bypass the caches. Rows of C are aligned to vectors, and beta is 0. */
    rungi_microkernel *streaming[RUNGI_MICROKERNEL_MAX_ROWS];
    /* Packed A and B. */
    rungi_microkernel_tiles packed_a;
    rungi_microkernel *packed_a_streaming[RUNGI_MICROKERNEL_MAX_ROWS];
    rungi_dot_products *dot_products;
} rungi_microkernel_table;

/* Returns the micro-kernels of the best instruction set for F32, F64 or I32 sums. */
const rungi_microkernel_table *rungi_microkernel_table_select(const rungi_cpu_features *features, rung_type sum);

#define RUNGI_MICROKERNEL_TYPE_LIST(X) X(f32) X(f64) X(i32)
#define X(type)                                                                                            \
    extern const rungi_microkernel_table rungi_microkernels_avx512_##type, rungi_microkernels_avx2_##type, \
        rungi_microkernels_sve256_##type, rungi_microkernels_sve512_##type, rungi_microkernels_portable_##type;
RUNGI_MICROKERNEL_TYPE_LIST(X)
#undef X
