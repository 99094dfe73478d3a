/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - the suites of test cases that every kernel must pass. */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"
#include "target/epilogue.h"

/* Layouts of a matrix in memory. The output cannot use repeated_rows and the layouts after it, whose elements share
 * memory. */
/* clang-format off */
#define LAB_LAYOUT_LIST(X)                                                              \
    X(rows)              /* dense, row-major */                                         \
    X(columns)           /* dense, column-major */                                      \
    X(row_gaps)          /* rows with gaps between them */                              \
    X(column_gaps)                                                                      \
    X(block)             /* inside a larger matrix, at an odd offset */                 \
    X(transposed_block)                                                                 \
    X(spread)            /* neither stride is one */                                    \
    X(aligned_block)     /* row-major; rows start at multiples of 16 elements */        \
    X(repeated_rows)     /* row stride 0: all rows are the same memory */               \
    X(repeated_columns)                                                                 \
    X(repeated)          /* both strides 0: one element */
/* clang-format on */

typedef enum lab_layout {
#define X(name) LAB_LAYOUT_##name,
    LAB_LAYOUT_LIST(X)
#undef X
        LAB_LAYOUT_COUNT,
    LAB_LAYOUT_OUTPUT_COUNT = LAB_LAYOUT_repeated_rows
} lab_layout;

/* The values of the matrices. */
typedef enum lab_content {
    LAB_CONTENT_UNIFORM,        /* uniform in [-1, 1) */
    LAB_CONTENT_SMALL_INTEGERS, /* every sum is exact, so the result must be too */
    LAB_CONTENT_WIDE_EXPONENTS, /* exponents from -20 to 20 */
    LAB_CONTENT_NON_FINITE,     /* a few NaN and infinities */
    LAB_CONTENT_COUNT
} lab_content;

/* The layout of one operand, in elements. */
typedef struct lab_strides {
    int64_t row_stride, col_stride, offset, batch_stride;
} lab_strides;

typedef struct lab_case {
    int64_t m, n, k;
    int64_t k_block; /* elements per block of B along k; 0 or 1: B has no blocks */
    lab_strides a, b, c;
    bool has_d; /* the result is stored in a separate matrix D */
    lab_strides d;
    double alpha, beta;
    lab_content content;
    int64_t batch;
    bool scattered; /* items at arbitrary offsets; some of A and B share an offset */
    int64_t splits; /* split-K slices, 0: chosen by the library */
    lab_epilogue epilogue;
    bool has_guard;      /* memory continues after the last element */
    bool is_plan_reused; /* the plan runs once before, with another output and other scalars */
} lab_case;

/* Makes the case a batch whose items follow each other in memory. */
void lab_case_set_batch(lab_case *problem, int64_t batch);

typedef struct lab_case_list {
    lab_case *cases;
    int64_t count;
    bool is_integer; /* scalars must be integers */
    int64_t k_block; /* as in lab_case */
    bool out_of_memory;
} lab_case_list;

/* full: all cases. types: cases that depend on the element type. quick: about one minute. edges: sizes around the tile.
 * tile: a few of those. extras: batches by strides, epilogues, split-K. scattered: batches by offsets. aligned: all of
 * these with A and B in rows or columns that start at multiples of 16 elements, which some kernels require. If B has blocks,
 * k is rounded up to whole blocks, sizes of up to 8 count blocks, and the layouts of B are those that have whole blocks. */
#define LAB_SUITE_LIST(X) X(full) X(types) X(quick) X(edges) X(tile) X(extras) X(scattered) X(aligned)

typedef enum lab_suite {
#define X(name) LAB_SUITE_##name,
    LAB_SUITE_LIST(X)
#undef X
        LAB_SUITE_COUNT
} lab_suite;

/* The properties of a kernel that select its cases: the block tile bm x bn, the step bk along k, whether the elements
 * are integers, the RUNG_ABILITY_... bits, and the blocks of B. */
typedef struct lab_kernel_traits {
    int64_t bm, bn, bk;
    bool is_integer;
    unsigned abilities;
    int64_t k_block; /* as in lab_case */
} lab_kernel_traits;

/* Returns the strides of a rows x cols matrix with this layout. */
lab_strides lab_strides_of_layout(lab_layout layout, int64_t rows, int64_t cols);

/* Returns the strides of a dense B: by rows, or by columns if B has blocks along k. */
lab_strides lab_case_dense_b(const lab_case *problem);

/* Returns the number of elements from the start of the memory to the end of an item. */
int64_t lab_strides_extent(lab_strides form, int64_t rows, int64_t cols);

/* Returns the cases of a suite. The caller checks list.out_of_memory and frees list.cases. */
lab_case_list lab_suite_cases(lab_suite suite, lab_kernel_traits traits);

/* Puts dense cases before those of a list: sizes from 1 x 1 x 1 to one more than a tile in each direction, the smallest
 * first, and every pair of scalars. They show a bug in its simplest form. */
void lab_cases_prepend_dense(lab_case_list *list, lab_kernel_traits traits);
