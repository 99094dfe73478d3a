/* SPDX-License-Identifier: Apache-2.0 */
/* tally.h - what wrong problems have in common: the word that leads to the mistake.
 *
 * A kernel that is wrong on forty problems of a thousand is mostly wrong for one reason, and
 * the problems that share it are the hint: all of them have a beta, or a k that is no multiple of
 * the tile. Each such trait is counted, with what to do where it is the one. */
#ifndef LAB_TALLY_H
#define LAB_TALLY_H

#include <stddef.h>

#include "cases.h"

/* Name, when a problem has it (of `p`, in tiles of bm x bn x bk), and what is then wrong. Of two that explain
 * the same, the first is told. */
/* clang-format off */
#define LAB_TRAIT_LIST(X)                                                                                        \
    X(PRODUCT, p->alpha != 0 && p->k > 0,                                                                        \
      "wherever there is something to add up (k > 0, alpha not 0): the sum itself is not right")                 \
    X(BETA, p->beta != 0,                                                                                        \
      "only where beta is not 0: C's old value, times beta, is to be added; store() does it")                    \
    X(NO_BETA, p->beta == 0,                                                                                     \
      "only where beta is 0: C's old value must not be read then, it may be NaN; store() sees to that")          \
    X(ALPHA, p->alpha != 1, "only where alpha is not 1: the sum is to be multiplied by alpha; store() does it")  \
    X(K_EDGE, p->k % bk != 0,                                                                                    \
      "only where k is no multiple of BK, the step along k: the edge of the last tile is to be zeros; "          \
      "load_or_zero() fills them in")                                                                            \
    X(M_EDGE, p->m % bm != 0,                                                                                    \
      "only where m is no multiple of BM, the rows of a block: threads past the edge, row >= m, are to load "    \
      "zeros and store nothing")                                                                                 \
    X(N_EDGE, p->n % bn != 0,                                                                                    \
      "only where n is no multiple of BN, the columns of a block: threads past the edge, col >= n, are to load " \
      "zeros and store nothing")                                                                                 \
    X(EDGE, p->m % bm != 0 || p->n % bn != 0 || p->k % bk != 0,                                                  \
      "only where a tile hangs over an edge (m, n or k is no multiple of BM, BN or BK): threads past the edge "  \
      "are to load zeros and store nothing")                                                                     \
    X(LONG_K, p->k > bk,                                                                                         \
      "only where k is longer than BK, one step: each tile along k is to be added to the sum, and none to be "   \
      "loaded before all threads have used the last")                                                            \
    X(BLOCKS, p->m > bm || p->n > bn,                                                                            \
      "only where C has more than one block: which rows and columns are a block's follows from blockIdx.x")      \
    X(ROWS, p->m > 1,                                                                                            \
      "only where C has more than one row: row i of C is computed from row i of A")                              \
    X(COLS, p->n > 1,                                                                                            \
      "only where C has more than one column: column j of C is computed from column j of B")                     \
    X(A_STRIDES, !lab_is_dense(p->a, p->k),                                                                      \
      "only where A is a strided or transposed view: use A's strides, at(a_view, row, col), instead of k")       \
    X(B_STRIDES, !lab_is_dense(p->b, p->n),                                                                      \
      "only where B is a strided or transposed view: use B's strides, at(b_view, row, col), instead of n")       \
    X(C_STRIDES, !lab_is_dense(p->c, p->n),                                                                      \
      "only where C is a strided or transposed view: use C's strides, at(c_view, row, col), instead of n")       \
    X(STRIDES, !lab_is_dense(p->a, p->k) || !lab_is_dense(p->b, p->n) || !lab_is_dense(p->c, p->n),              \
      "only where a matrix is a strided or transposed view: use its strides, at(view, row, col), instead of k or n") \
    X(BATCH, p->batch > 1,                                                                                       \
      "only in batches: blockIdx.y is the item, which at(view, row, col) takes care of")                         \
    X(SPECIAL, p->content == LAB_SPECIAL,                                                                        \
      "only where NaN or infinities are among the numbers: nothing may be multiplied by 0 instead of being "     \
      "left out")
/* clang-format on */

typedef enum lab_trait {
#define X(name, has, words) LAB_TRAIT_##name,
    LAB_TRAIT_LIST(X)
#undef X
        LAB_TRAIT_COUNT
} lab_trait;

/* How far a problem is from a plain one. A mistake is looked for among the plainest problems that are wrong: a kernel
 * that is wrong for dense matrices is wrong for others too, for the same reason. */
typedef enum lab_level {
    LAB_LEVEL_DENSE,   /* dense matrices, whatever their size and scalars */
    LAB_LEVEL_STRIDED, /* strided or transposed views */
    LAB_LEVEL_EXTRAS,  /* batches, epilogues, split-K */
    LAB_LEVEL_SPECIAL, /* NaN and infinities */
    LAB_LEVEL_COUNT
} lab_level;

typedef struct lab_counts {
    int64_t right, wrong, outside; /* outside: wrong by writing where C is not */
    int64_t right_with[LAB_TRAIT_COUNT], wrong_with[LAB_TRAIT_COUNT];
    int64_t right_sums_with[LAB_TRAIT_COUNT]; /* of right problems with something to add up */
} lab_counts;

typedef struct lab_tally {
    lab_counts levels[LAB_LEVEL_COUNT];
} lab_tally;

/* Returns the problem that a kernel gets: where the rows of C lie closer together than its columns, the library
 * computes the transposed product, C^T = B^T A^T. */
lab_case lab_case_of_kernel(const lab_case *problem);

lab_level lab_level_of(const lab_case *problem);

bool lab_is_dense(lab_form form, int64_t cols);

/* Counts a problem whose C has elements; others tell nothing. */
void lab_tally_add(lab_tally *tally, const lab_case *problem, lab_traits traits, bool is_right, bool is_outside);

/* Adds the counts of one tally to another. */
void lab_tally_join(lab_tally *sum, const lab_tally *added);

/* Writes "wrong only where ...", or "" if nothing is wrong. */
void lab_tally_tell(const lab_tally *tally, char *text, size_t capacity);

#endif /* LAB_TALLY_H */
