/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - the problems that a kernel must get right, as lists. */
#ifndef LAB_CASES_H
#define LAB_CASES_H

#include "rung/rung.h"

#include <stdbool.h>

/* How a matrix may stand in its memory; C may not take those from repeated_rows
 * on, where elements share a place. */
/* clang-format off */
#define LAB_LAYOUT_LIST(X)                                                              \
    X(rows)              /* dense, row-major */                                         \
    X(columns)           /* dense, column-major */                                      \
    X(row_gaps)          /* rows with something between them */                         \
    X(column_gaps)                                                                      \
    X(block)             /* inside a larger matrix, at an odd offset */                 \
    X(transposed_block)                                                                 \
    X(spread)            /* neither stride is one */                                    \
    X(aligned_block)     /* rows of stride one that begin at multiples of 16 */         \
    X(repeated_rows)     /* row stride zero: one row stands for all */                  \
    X(repeated_columns)                                                                 \
    X(repeated)          /* one element stands for all */
/* clang-format on */

typedef enum lab_layout {
#define X(name) LAB_LAYOUT_##name,
    LAB_LAYOUT_LIST(X)
#undef X
        LAB_LAYOUT_COUNT,
    LAB_LAYOUT_COUNT_C = LAB_LAYOUT_repeated_rows
} lab_layout;

/* What the matrices hold. */
typedef enum lab_content {
    LAB_REALS,    /* uniform in [-1, 1) */
    LAB_INTEGERS, /* so small that every sum is exact: judged to the last bit */
    LAB_WIDE,     /* exponents over forty binary orders */
    LAB_SPECIAL,  /* NaN and infinities among reals */
    LAB_CONTENT_COUNT
} lab_content;

/* Where the elements of one operand stand. */
typedef struct lab_form {
    int64_t row_stride, col_stride, offset, batch_stride;
} lab_form;

/* A bias: one number a row, one a column, or one an element. */
#define LAB_BIAS_LIST(X) X(NONE, "") X(ROW, "bias_row") X(COL, "bias_col") X(FULL, "bias")

typedef enum lab_bias {
#define X(name, word) LAB_BIAS_##name,
    LAB_BIAS_LIST(X)
#undef X
        LAB_BIAS_COUNT
} lab_bias;

typedef struct lab_epilogue {
    lab_bias bias;
    rung_activation activation;
    bool residual;
} lab_epilogue;

typedef struct lab_case {
    int64_t m, n, k;
    lab_form a, b, c;
    bool has_d; /* the result is stored in D, which is another matrix than C */
    lab_form d;
    double alpha, beta;
    lab_content content;
    int64_t batch;
    bool scattered; /* items by offsets, of A and B in another order, some twice */
    int64_t splits; /* shares of k that are asked for, 0: as the library likes */
    lab_epilogue epilogue;
    bool guarded;   /* memory continues after the last elements */
    bool rehearsed; /* the plan has run before, on other memory and scalars */
} lab_case;

/* Makes it a batch whose items stand side by side. */
void lab_case_batch(lab_case *problem, int64_t batch);

/* Bytes that the lab offers a plan to work in. */
enum { LAB_WORKSPACE_MAX = 256 << 20 };

/* "bias_row,gelu,residual"; false if it is none of that. NULL is no epilogue. */
bool lab_read_epilogue(const char *text, lab_epilogue *epilogue);

/* The same back; "" for none. */
void lab_write_epilogue(lab_epilogue epilogue, char *text, size_t capacity);

typedef struct lab_case_list {
    lab_case *cases;
    int64_t count, capacity;
    bool whole; /* all scalars */
    bool out_of_memory;
} lab_case_list;

/* full: all there is. types: what another element type can get wrong. quick: a minute's
 * worth. edges: around the tiles. tile: a few of those. extras: batches by strides,
 * epilogues, shares of k. scattered: batches by offsets. */
#define LAB_SUITE_LIST(X) X(full) X(types) X(quick) X(edges) X(tile) X(extras) X(scattered)

typedef enum lab_suite {
#define X(name) LAB_SUITE_##name,
    LAB_SUITE_LIST(X)
#undef X
        LAB_SUITE_COUNT
} lab_suite;

/* What of a contender decides its problems: the tile of C that a block computes, its step
 * along k, whether numbers are whole, and what it is able to do (RUNG_ABILITY_... bits). */
typedef struct lab_traits {
    int64_t bm, bn, bk;
    bool whole;
    unsigned abilities;
} lab_traits;

lab_form lab_form_of(lab_layout layout, int64_t rows, int64_t cols);

/* Elements from the start of the memory to behind the last one of an item. */
int64_t lab_span(lab_form form, int64_t rows, int64_t cols);

/* The problems of a suite; the caller frees list->cases. */
lab_case_list lab_cases_of(lab_suite suite, lab_traits traits);

/* Puts dense problems before those of a list: sizes from 1 x 1 x 1 to just past a tile in each direction, the smallest
 * first, and every pair of scalars. They show what is wrong with a kernel in its simplest form. */
void lab_cases_prepend_dense(lab_case_list *list, lab_traits traits);

#endif /* LAB_CASES_H */
