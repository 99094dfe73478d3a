/* SPDX-License-Identifier: Apache-2.0 */
/* case_data.h - the matrices of one test case in memory. Private to lab/verify. */
#ifndef LAB_CASE_DATA_H
#define LAB_CASE_DATA_H

#include "verify/cases.h"
#include "verify/tested_kernel.h"

/* The byte that fills memory that must not be read: NaN in every floating-point type, -1 in the integer types. */
enum { LAB_NAN_PATTERN = 0xff };

/* A matrix, or a batch of matrices, in its own memory. */
typedef struct lab_operand_memory {
    rung_matrix view;
    int64_t bytes;
    int64_t *offsets; /* of the items of a scattered batch */
} lab_operand_memory;

/* The operands, and a copy of the output (D or C) before the run. */
typedef struct lab_case_data {
    lab_operand_memory a, b, c, d, bias, residual, before;
} lab_case_data;

/* Allocates and fills the operands. Returns false if there is not enough memory or an operand exceeds 4 GiB. Call
 * lab_case_data_free() in either case. */
bool lab_case_data_create(const lab_tested_kernel *subject, const lab_case *problem, lab_case_data *data);
void lab_case_data_free(lab_case_data *data);

/* Returns the operand that receives the result: D if the case has one, otherwise C. */
const lab_operand_memory *lab_case_output(const lab_case_data *data);

/* Returns the problem with the operands in memory. */
rung_problem lab_case_problem(const lab_tested_kernel *subject, const lab_case *problem, const lab_case_data *data);

#endif /* LAB_CASE_DATA_H */
