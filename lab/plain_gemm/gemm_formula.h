/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_formula.h - says what is wrong with a result that no interpretation explains: a formula that is almost right, such as
 * one that ignores alpha, or a few wrong elements. */
#pragma once

#include "plain_gemm/gemm_check.h"

/* The best explanation so far. */
typedef struct lab_gemm_formula {
    double score;           /* share of the tested elements that the formula explains, of those that were written */
    bool is_complete;       /* the formula explains every element */
    bool is_usual;          /* the formula is that of the kernel's parameters; some elements differ */
    const char *difference; /* "alpha is ignored"; "" if is_usual */
    const char *fix;
    int64_t elements, wrong;                          /* of C; counted for the formula */
    int64_t old;                                      /* wrong elements that have their old values */
    int64_t first_row, first_col, last_row, last_col; /* the smallest part of C with all wrong elements */
    char first_wrong[160];                            /* "C[7, 5] is 3; the right value is 4" */
} lab_gemm_formula;

/* Tests all formulas on a product with exact data and alpha = 2, beta = 3, and keeps the best one. */
void lab_gemm_formula_try(const lab_gemm_product *product, bool has_alpha, bool has_beta, lab_gemm_formula *best);

/* Returns whether the formula explains enough elements to be worth a sentence. */
bool lab_gemm_formula_is_good(const lab_gemm_formula *formula);

/* Describes the formula: "alpha is ignored", or which elements are wrong. */
void lab_gemm_formula_describe(const lab_gemm_formula *formula, char *text, size_t capacity);
