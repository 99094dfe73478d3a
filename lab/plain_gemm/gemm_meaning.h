/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_meaning.h - finds out what a plain kernel computes, by running it.
 *
 * Names do not say how matrices are stored, or whether (m, n, k) are rows, columns and depth in this order. So a small
 * problem of small integers runs once per interpretation, the usual ones first. The first interpretation that explains
 * every element is the meaning of the kernel, and is printed. */
#pragma once

#include "plain_gemm/gemm_formula.h"
#include "plain_gemm/gemm_run.h"

/* Finds the meaning, and a size for which the kernel is right under it. Returns false if no interpretation explains the
 * result; `*meaning` is then the usual one, `*result` the result under it, and `*formula` the formula that explains most
 * elements. */
bool lab_gemm_find_meaning(lab_gemm_kernel *kernel, lab_gemm_meaning *meaning, int64_t base[3], lab_gemm_result *result,
                           lab_gemm_formula *formula);

/* Returns the role of a slot under a meaning: the slot "M" of a kernel whose matrices are by columns may be N. */
lab_role lab_gemm_slot_role(const lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, int slot);

/* Says what is unusual about a meaning, such as a C by columns beside A and B by rows; "" if nothing is. */
void lab_gemm_describe_unusual(const lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, char *text,
                               size_t capacity);

/* Writes the meaning for people: "C = alpha * A * B + beta * C; A, B and C by rows". */
void lab_gemm_describe_meaning(const lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, char *text,
                               size_t capacity);

/* Returns whether the launch passes a struct without matrices, which may be a function of the result. */
bool lab_gemm_has_functor(const lab_gemm_kernel *kernel);

/* Returns whether all sizes are one: the only size of the kernel is that of square matrices. */
bool lab_gemm_is_square(const lab_gemm_kernel *kernel);
