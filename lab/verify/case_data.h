/* SPDX-License-Identifier: Apache-2.0 */
/* case_data.h - a kernel under test, and the matrices of one test case in memory. */
#pragma once

#include "common/type_pair.h"
#include "rung/rung.h"
#include "verify/cases.h"
#include "verify/oracle.h"

/* A kernel under test, with its device, parameters and types. */
typedef struct lab_tested_kernel {
    rung_context *context; /* rung_gemm of this context runs on `device` */
    rung_device *device;
    rung_queue *queue;
    const rung_kernel *kernel; /* NULL: rung_multiply on matrices in host memory */
    const char *parameters;    /* NULL: the kernel's defaults */
    lab_type_pair product;
    rung_compute compute;
    lab_accuracy accuracy; /* for inexact results: LAB_ACCURACY_BOUNDED or LAB_ACCURACY_ENGINE */
    uint64_t seed;
    int64_t carveout, threads; /* as in rung_plan_options */
    bool is_packed;            /* B is packed before the run and shared by all items of a batch */
} lab_tested_kernel;

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
