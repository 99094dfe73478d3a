/* SPDX-License-Identifier: Apache-2.0 */
/* simt.h - what every device that runs threads in blocks shares: the ladder of
 * kernel files, their text made whole, and the shape of a launch. */
#ifndef RUNGI_SIMT_H
#define RUNGI_SIMT_H

#include "core/plan.h"

/* The dialect's in_t, sum_t and out_t can be all of RUNGI_PRODUCT_LIST. */
enum { RUNGI_SIMT_PRODUCTS = RUNGI_PRODUCTS_ALL };

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
    int64_t offset, row_stride, col_stride, batch_stride;
} rungi_simt_view;

/* The extra_t of finish.h, likewise. */
typedef struct rungi_simt_extra {
    int64_t batch, first_item, splits, k_share, flags, places_offset, partials_offset;
    int64_t scratch_offset; /* see engine.h */
    rungi_simt_view bias, residual, addend;
} rungi_simt_extra;

/* m, n, k, alpha, a, its view, b, its view, beta, c, its view; with finish.h extra, places,
 * bias, residual, partials; and one more: scratch where a matrix engine is emulated, the addend
 * for reduce.cu. */
enum { RUNGI_SIMT_ARGUMENTS = 11, RUNGI_SIMT_FINISH_ARGUMENTS = 16, RUNGI_SIMT_ALL_ARGUMENTS = 17 };

/* How many of them this kernel takes. */
int rungi_simt_arguments(const rung_kernel *kernel);

/* Whether a kernel is compiled for one path or another: see tile.h. */
bool rungi_simt_has_paths(const rung_kernel *kernel);

/* What a file that includes finish.h is able to do. */
unsigned rungi_simt_abilities(const rung_kernel *kernel);

/* Whether a file includes engine.h; and what each thread of it then has as scratch memory
 * where the engine is emulated, ENGINE_WORDS there. */
bool rungi_simt_needs_engine(const rung_kernel *kernel);

enum { RUNGI_SIMT_SCRATCH_BYTES = 64 * 4 };

/* FP32 multiply-adds a clock and multiprocessor of NVIDIA's, by compute capability. */
static inline int64_t rungi_simt_lanes(int64_t major, int64_t minor)
{
    bool halved = major == 7 || (major == 6 && minor == 0) || (major == 8 && minor == 0);
    return halved ? 64 : 128;
}

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
    rung_type in, out;
    bool has_paths, wide, guarded, a_along_l, b_along_l;
    bool by_chunks, partly;             /* wide means 16 bytes, the last maybe in part */
    bool split, bias, residual, addend; /* see finish.h */
    rung_activation activation;
    bool at_run_time; /* compiled so that the last five are told at run time */
} rungi_simt_path;

/* For a turned problem; `aligned` is of rungi_alignment. */
rung_status rungi_simt_path_of(const rung_kernel *kernel, const rungi_values *values, const rung_problem *problem,
                               unsigned aligned, rungi_simt_path *path);

/* Capacity that holds any text of rungi_simt_defines: "-D" and a space for each parameter, and the names of a path. */
enum { RUNGI_SIMT_DEFINES = RUNG_PARAMETERS_BYTES + 3 * RUNGI_PARAMETERS_MAX + 160 };

/* "-DTILE=32 -DUNROLL=4 -DWIDE=1 ...": all that the text is compiled with. */
void rungi_simt_defines(const rung_kernel *kernel, const rungi_values *values, const rungi_simt_path *path,
                        char text[RUNGI_SIMT_DEFINES]);

/* The path's name for people: "wide_guarded", "general_epilogue"; "-" where a kernel has but
 * one. */
void rungi_simt_path_name(const rungi_simt_path *path, char *text, size_t capacity);

/* alpha or beta as the kernel takes it: the bytes of a sum_t of this type. */
typedef union rungi_simt_scalar {
    float f32;
    double f64;
    uint32_t u32;
} rungi_simt_scalar;

rungi_simt_scalar rungi_simt_scalar_of(double value, rung_type type);

/* How k is cut, and what the workspace holds: first the places of scattered items, then
 * the partial sums, then what an emulated engine needs. Offsets are in bytes. */
typedef struct rungi_simt_split {
    int64_t splits, k_share;
    int64_t partials, scratch, workspace;
} rungi_simt_split;

/* For the turned problem of a plan whose blocks, of one item, are so many and step by bk
 * along k. `whole` says that one launch covers C. */
rung_status rungi_simt_split_of(const rung_plan *plan, const rung_problem *turned, int64_t blocks, int64_t bk,
                                bool whole, rungi_simt_split *split);

/* The same k, uncut, with room for its sums in the workspace. */
rung_status rungi_simt_one_share(const rung_problem *turned, rungi_simt_split *split);

/* The kernel that adds up shares of k, the caller's to destroy. */
rung_status rungi_simt_reduce(const rung_plan *plan, rung_kernel **kernel);

/* What one launch covers. A grid has at most so many blocks, so a very large C is
 * covered by several launches of rows x cols each, the last of them smaller. */
typedef struct rungi_simt_shape {
    int64_t threads;    /* a block */
    int64_t bm, bn;     /* rows and columns of C a block */
    int64_t rows, cols; /* of C a launch */
    int64_t blocks;     /* of all launches, one item */
} rungi_simt_shape;

/* CUDA's limit on blocks in y, where items of a batch stand, and in z, where shares of k
 * do. */
enum { RUNGI_SIMT_ITEMS_MAX = 65535 };

rung_status rungi_simt_shape_of(const rung_kernel *kernel, const rungi_values *values, int64_t m, int64_t n,
                                int64_t blocks_max, rungi_simt_shape *shape);

#endif /* RUNGI_SIMT_H */
