/* SPDX-License-Identifier: Apache-2.0 */
/* blocking.h - chooses the sizes of blocks and panels. Pure arithmetic, so tests can check any size. */
#pragma once

#include "outofcore/outofcore_problem.h"

/* Sizes of a problem and bytes per element. */
typedef struct rungi_outofcore_sizes {
    int64_t m, n, k;
    int64_t input_bytes;  /* of A and B */
    int64_t sum_bytes;    /* of the block: the accumulator type */
    int64_t output_bytes; /* of C */
    int reads_c0;
} rungi_outofcore_sizes;

/* Limits of block sizes. */
typedef struct rungi_outofcore_limits {
    int64_t memory;           /* bytes of the block and of all panels together */
    int64_t caller_memory;    /* smallest limit that the caller set; INT64_MAX: none */
    int64_t max_buffer_bytes; /* of each buffer; 0: unlimited */
    int64_t min_blocks;       /* number of blocks, if C has that many elements */
} rungi_outofcore_limits;

/* Chooses the block sizes that transfer the fewest bytes; among those, the deepest panels. */
rung_status rungi_blocking_choose(const rungi_outofcore_sizes *sizes, const rungi_outofcore_limits *limits,
                                  rung_outofcore_blocking *blocking);

/* Computes the other members from block_rows, block_cols, panel_depth and memory_bytes, which may come from a journal.
 * Returns RUNG_STATUS_INVALID if they do not fit the problem, RUNG_STATUS_TOO_LARGE if a byte count overflows. */
rung_status rungi_blocking_count(const rungi_outofcore_sizes *sizes, rung_outofcore_blocking *blocking);

/* Position and size of a block of C. */
typedef struct rungi_outofcore_block {
    int64_t row, col, rows, cols;
} rungi_outofcore_block;

rungi_outofcore_block rungi_outofcore_block_at(const rungi_outofcore_sizes *sizes,
                                               const rung_outofcore_blocking *blocking, int64_t index);
int64_t rungi_outofcore_panel_depth(const rungi_outofcore_sizes *sizes, const rung_outofcore_blocking *blocking,
                                    int64_t panel);

/* Returns the rows of a slice of a block; the last slice may have fewer. The number is a multiple of 16, so that slices
 * begin at rows that kernels can load aligned. */
enum { RUNGI_OUTOFCORE_SLICES_PER_PANEL = 8 };
int64_t rungi_outofcore_slice_rows(int64_t rows);

/* Returns the bytes of all panel buffers per element of panel depth: two slices of A and two panels of B, one of which may
 * be packed, with the padding of packing. */
int64_t rungi_outofcore_panel_bytes_per_k(const rungi_outofcore_sizes *sizes, int64_t rows, int64_t cols);

/* Returns the sizes of a checked problem. */
rungi_outofcore_sizes rungi_outofcore_sizes_of(const rungi_outofcore_problem *problem);
