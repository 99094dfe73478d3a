/* SPDX-License-Identifier: Apache-2.0 */
/* blocking.h - how large blocks and panels are: arithmetic alone, so that it can be tested on any size. */
#ifndef RUNGI_OUTOFCORE_CUT_H
#define RUNGI_OUTOFCORE_CUT_H

#include "outofcore/task.h"

/* What is to be split: sizes, and the bytes of an element. */
typedef struct rungi_whole {
    int64_t m, n, k;
    int64_t in, sum, out; /* bytes: A's and B's, the block's, C's */
    int reads_c;          /* C0 is read too */
} rungi_whole;

/* Limits of block sizes. */
typedef struct rungi_room {
    int64_t memory; /* bytes of the block and of all panels together ... */
    int64_t given;  /* of them, by the caller; INT64_MAX: by nobody */
    int64_t buffer; /* ... and of each at most; 0: any */
    int64_t blocks; /* so many at least, where C has as many elements */
} rungi_room;

rung_status rungi_blocking_choose(const rungi_whole *whole, const rungi_room *room, rung_outofcore_blocking *blocking);

/* Fills in what follows from block_rows, block_cols, panel_depth and memory_bytes, also for those of a journal. INVALID if
 * they do not fit the problem, TOO_LARGE if the bytes cannot be counted. */
rung_status rungi_blocking_count(const rungi_whole *whole, rung_outofcore_blocking *blocking);

/* The shapes of one block, and of one panel. */
typedef struct rungi_block {
    int64_t row, col, rows, cols;
} rungi_block;

rungi_block rungi_block_at(const rungi_whole *whole, const rung_outofcore_blocking *blocking, int64_t index);
int64_t rungi_panel_depth(const rungi_whole *whole, const rung_outofcore_blocking *blocking, int64_t panel);

/* A block is computed in strips of so many rows, the last of fewer: a multiple of 16, so that a view of one begins where
 * kernels like it. */
enum { RUNGI_STRIPS = 8 };
int64_t rungi_strip_rows(int64_t rows);

/* Bytes beside the block, for each element of a panel's depth: two strips of A and two panels of B, of which one may be
 * packed, with what that takes besides. */
int64_t rungi_depth_bytes(const rungi_whole *whole, int64_t rows, int64_t cols);

/* Sizes of a problem whose operands were checked. */
rungi_whole rungi_whole_of(const rungi_task *problem);

#endif /* RUNGI_OUTOFCORE_CUT_H */
