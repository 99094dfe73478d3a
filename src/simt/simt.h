/* SPDX-License-Identifier: Apache-2.0 */
/* simt.h - what every device that runs threads in blocks shares: the ladder of
 * kernel files, their text made whole, and the shape of a launch. */
#ifndef RUNGI_SIMT_H
#define RUNGI_SIMT_H

#include "core/kernel.h"

/* What the dialect's in_t, sum_t and out_t can be today. */
enum { RUNGI_SIMT_TYPES = 1u << RUNG_F32 | 1u << RUNG_I32 };

/* The ladder of a backend that runs these files: its vendor's library first. */
#define VENDOR(number, step) RUNGI_SIMT_STEP_##number,
#define CPU(number, step)
#define SIMT(number, step) RUNGI_SIMT_STEP_##number,
enum {
#include "core/ladder.def"
    RUNGI_SIMT_STEPS
};
#undef VENDOR
#undef CPU
#undef SIMT

extern const rungi_ladder_step rungi_simt_ladder[RUNGI_SIMT_STEPS];

/* The dialect's view_t: one layout on host and device. */
typedef struct rungi_simt_view {
    int64_t offset, row_stride, col_stride;
} rungi_simt_view;

/* m, n, k, alpha, a, its view, b, its view, beta, c, its view. */
enum { RUNGI_SIMT_ARGUMENTS = 11 };

/* The longest name of a kernel function. */
enum { RUNGI_SIMT_NAME = 127 };

/* The kernel's text with each header of ours in the place of its #include, and with
 * #line directives, so that a compiler's messages name the right file and line. The
 * text is the caller's to release. */
rung_status rungi_simt_source(const rung_kernel *kernel, char **text);

/* The same problem with C's rows the longer stride: (A B)^T = B^T A^T, so a
 * column-major C is a row-major one with the operands exchanged. */
rung_problem rungi_simt_turned(const rung_problem *problem);

/* Which path of a kernel a problem takes: see tile.h. A kernel without paths has the
 * one that takes anything. */
typedef struct rungi_simt_path {
    rung_type type;
    bool      has_paths, wide, guarded, a_along_l, b_along_l;
} rungi_simt_path;

/* For a turned problem; `aligned` says that its views begin at multiples of 16
 * bytes. */
rung_status rungi_simt_path_of(const rung_kernel *kernel, const rungi_values *values,
                               const rung_problem *problem, bool aligned, rungi_simt_path *path);

/* "-DTILE=32 -DUNROLL=4 -DWIDE=1 ...": all that the text is compiled with. */
void rungi_simt_defines(const rung_kernel *kernel, const rungi_values *values,
                        const rungi_simt_path *path, char *text, size_t capacity);

/* alpha or beta as the kernel takes it: the bytes of a sum_t. */
typedef union rungi_simt_scalar {
    float    f32;
    uint32_t u32;
} rungi_simt_scalar;

rungi_simt_scalar rungi_simt_scalar_of(double value, rung_type type);

/* What one launch covers. A grid has at most so many blocks, so a very large C is
 * covered by several launches of rows x cols each, the last of them smaller. */
typedef struct rungi_simt_shape {
    int64_t threads;          /* a block */
    int64_t bm, bn;           /* rows and columns of C a block */
    int64_t rows, cols;       /* of C a launch */
    int64_t blocks;           /* of all launches */
} rungi_simt_shape;

rung_status rungi_simt_shape_of(const rung_kernel *kernel, const rungi_values *values, int64_t m,
                                int64_t n, int64_t blocks_max, rungi_simt_shape *shape);

#endif /* RUNGI_SIMT_H */
