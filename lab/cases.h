/* SPDX-License-Identifier: Apache-2.0 */
/* cases.h - the problems that a kernel must get right, as lists. */
#ifndef LAB_CASES_H
#define LAB_CASES_H

#include <stdbool.h>
#include <stdint.h>

/* How a matrix may stand in its memory; C may not take those from repeated_rows
 * on, where elements share a place. */
#define LAB_LAYOUT_LIST(X)                                                              \
    X(rows)              /* dense, row-major */                                         \
    X(columns)           /* dense, column-major */                                      \
    X(row_gaps)          /* rows with something between them */                         \
    X(column_gaps)                                                                      \
    X(block)             /* inside a larger matrix, at an odd offset */                 \
    X(transposed_block)                                                                 \
    X(spread)            /* neither stride is one */                                    \
    X(aligned_block)     /* rows of stride one that begin at multiples of four */       \
    X(repeated_rows)     /* row stride zero: one row stands for all */                  \
    X(repeated_columns)                                                                 \
    X(repeated)          /* one element stands for all */

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
    int64_t row_stride, col_stride, offset;
} lab_form;

typedef struct lab_case {
    int64_t     m, n, k;
    lab_form    a, b, c;
    double      alpha, beta;
    lab_content content;
    bool        guarded; /* memory goes on behind the last elements */
    bool        rehearsed; /* the plan has run before, on other memory and scalars */
} lab_case;

typedef struct lab_case_list {
    lab_case *cases;
    int64_t   count, capacity;
    bool      whole; /* all scalars */
    bool      out_of_memory;
} lab_case_list;

typedef enum lab_suite { LAB_SUITE_FULL, LAB_SUITE_QUICK, LAB_SUITE_EDGES } lab_suite;

lab_form lab_form_of(lab_layout layout, int64_t rows, int64_t cols);

/* The problems of a suite for a kernel whose block computes bm x bn of C in steps
 * of bk, with scalars that are whole if asked for; the caller frees list->cases. */
lab_case_list lab_cases_of(lab_suite suite, int64_t bm, int64_t bn, int64_t bk, bool whole);

#endif /* LAB_CASES_H */
