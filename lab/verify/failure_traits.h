/* SPDX-License-Identifier: Apache-2.0 */
/* failure_traits.h - finds what the failing problems of a kernel have in common.
 *
 * A kernel that fails on 40 of 1,000 problems usually has one bug, and the failing problems share the trait that
 * triggers it: for example a beta that is not 0, or a k that is not a multiple of the tile. The problems with each
 * trait are counted, and the trait that explains the failures is reported with a hint. */
#pragma once

#include <stddef.h>

#include "verify/cases.h"

/* Each trait: its name, the test of problem `p` with tiles of bm x bn x bk, and the text that follows "wrong". If two
 * traits explain the failures equally well, the first one is reported. */
/* clang-format off */
#define LAB_TRAIT_LIST(X)                                                                                              \
    X(PRODUCT, p->alpha != 0 && p->k > 0,                                                                              \
      "whenever k > 0 and alpha is not 0: the sum over k is incorrect")                                                \
    X(BETA, p->beta != 0,                                                                                              \
      "only if beta is not 0: add beta times the old value of C, as store() does")                                     \
    X(NO_BETA, p->beta == 0,                                                                                           \
      "only if beta is 0: do not read C then, because it may contain NaN; store() handles this")                       \
    X(ALPHA, p->alpha != 1,                                                                                            \
      "only if alpha is not 1: multiply the sum by alpha, as store() does")                                            \
    X(K_EDGE, p->k % bk != 0,                                                                                          \
      "only if k is not a multiple of BK (the step along k): fill the rest of the last tile with zeros, "              \
      "as load_or_zero() does")                                                                                        \
    X(M_EDGE, p->m % bm != 0,                                                                                          \
      "only if m is not a multiple of BM (the rows of a block): threads with row >= m must load zeros and "            \
      "store nothing")                                                                                                 \
    X(N_EDGE, p->n % bn != 0,                                                                                          \
      "only if n is not a multiple of BN (the columns of a block): threads with col >= n must load zeros and "         \
      "store nothing")                                                                                                 \
    X(EDGE, p->m % bm != 0 || p->n % bn != 0 || p->k % bk != 0,                                                        \
      "only if a tile extends past an edge (m, n or k is not a multiple of BM, BN or BK): threads past the "           \
      "edge must load zeros and store nothing")                                                                        \
    X(LONG_K, p->k > bk,                                                                                               \
      "only if k is larger than BK (one step along k): add every tile to the sum, and load a tile only after "         \
      "all threads have used the previous one")                                                                        \
    X(BLOCKS, p->m > bm || p->n > bn,                                                                                  \
      "only if C has more than one block: compute the rows and columns of a block from blockIdx.x")                    \
    X(ROWS, p->m > 1,                                                                                                  \
      "only if C has more than one row: compute row i of C from row i of A")                                           \
    X(COLS, p->n > 1,                                                                                                  \
      "only if C has more than one column: compute column j of C from column j of B")                                  \
    X(A_STRIDES, !lab_strides_are_dense(p->a, p->k),                                                                   \
      "only if A is a strided or transposed view: index A by its strides, at(a_view, row, col), not by k")             \
    X(B_STRIDES, !lab_case_has_dense_b(p),                                                                             \
      "only if B is a strided or transposed view: index B by its strides, at(b_view, row, col), not by n")             \
    X(C_STRIDES, !lab_strides_are_dense(p->c, p->n),                                                                   \
      "only if C is a strided or transposed view: index C by its strides, at(c_view, row, col), not by n")             \
    X(STRIDES, !lab_case_is_dense(p),                                                                                  \
      "only if a matrix is a strided or transposed view: index it by its strides, at(view, row, col), not by "         \
      "k or n")                                                                                                        \
    X(BATCH, p->batch > 1,                                                                                             \
      "only in batches: blockIdx.y is the item; at(view, row, col) adds the offset of the item")                       \
    X(SPECIAL, p->content == LAB_CONTENT_NON_FINITE,                                                                   \
      "only if the inputs contain NaN or infinity: leave an element out instead of multiplying it by 0")
/* clang-format on */

typedef enum lab_case_trait {
#define X(name, has, words) LAB_TRAIT_##name,
    LAB_TRAIT_LIST(X)
#undef X
        LAB_TRAIT_COUNT
} lab_case_trait;

/* The complexity of a problem. A bug is searched among the simplest failing problems: a kernel that fails for dense
 * matrices fails for other matrices for the same reason. */
typedef enum lab_case_level {
    LAB_LEVEL_DENSE,   /* dense matrices of any size, with any scalars */
    LAB_LEVEL_STRIDED, /* strided or transposed views */
    LAB_LEVEL_EXTRAS,  /* batches, epilogues, split-K */
    LAB_LEVEL_SPECIAL, /* NaN and infinities */
    LAB_LEVEL_COUNT
} lab_case_level;

typedef struct lab_trait_counts {
    int64_t right, wrong, outside; /* outside: wrong because memory outside C changed */
    int64_t right_with[LAB_TRAIT_COUNT], wrong_with[LAB_TRAIT_COUNT];
    int64_t right_sums_with[LAB_TRAIT_COUNT]; /* correct problems with k > 0 and alpha not 0 */
} lab_trait_counts;

typedef struct lab_failure_counts {
    lab_trait_counts levels[LAB_LEVEL_COUNT];
} lab_failure_counts;

/* Returns the problem that the kernel receives: if C is column-major, the library computes the transposed product,
 * C^T = B^T A^T. */
lab_case lab_case_for_kernel(const lab_case *problem);

lab_case_level lab_case_level_of(const lab_case *problem);

bool lab_strides_are_dense(lab_strides form, int64_t cols);

/* Reports whether B is dense by rows, or along k if it has blocks. */
bool lab_case_has_dense_b(const lab_case *problem);

/* Returns whether A, B and C are dense and row-major. */
bool lab_case_is_dense(const lab_case *problem);

/* Counts a problem, unless its C is empty. */
void lab_failure_counts_add(lab_failure_counts *counts, const lab_case *problem, lab_kernel_traits traits,
                            bool is_right, bool is_outside);

/* Adds the counts of `added` to `sum`. */
void lab_failure_counts_merge(lab_failure_counts *sum, const lab_failure_counts *added);

/* Writes "wrong only if ..." with a hint, or "" if no problem failed. */
void lab_failure_counts_explain(const lab_failure_counts *counts, char *text, size_t capacity);
