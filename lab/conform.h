/* SPDX-License-Identifier: Apache-2.0 */
/* conform.h - runs one problem on one kernel and judges it: the one code behind
 * `rung verify` and the tests. */
#ifndef LAB_CONFORM_H
#define LAB_CONFORM_H

#include "cases.h"
#include "oracle.h"
#include "product.h"
#include "rung/rung.h"

typedef struct lab_subject {
    rung_context *context; /* whose device of rung_gemm is `device` too */
    rung_device *device;
    rung_queue *queue;
    const rung_kernel *kernel; /* NULL: rung_multiply itself, on matrices in memory */
    const char *parameters;    /* NULL: the kernel's defaults */
    lab_product product;
    rung_compute compute;
    lab_rigour rigour; /* of what is not exact: LAB_BOUNDED or LAB_ON_ENGINE */
    uint64_t seed;
    int64_t carveout, threads; /* see rung_plan_options */
    bool is_packed;            /* B is packed first and shared by all items of a batch */
} lab_subject;

typedef enum lab_outcome_kind { LAB_RIGHT, LAB_WRONG_RESULT, LAB_REFUSED, LAB_FAILED } lab_outcome_kind;

/* What is wrong with a wrong result. */
typedef enum lab_fault {
    LAB_FAULT_NONE,
    LAB_FAULT_ELEMENT, /* an element of C has the wrong value */
    LAB_FAULT_OUTSIDE, /* memory between or around the elements of C has changed */
    LAB_FAULT_REPEAT,  /* a second run has other bits */
} lab_fault;

typedef struct lab_outcome {
    lab_outcome_kind kind;
    lab_fault fault;    /* LAB_FAULT_NONE unless the kind is LAB_WRONG_RESULT */
    char message[4096]; /* what is wrong, or why it did not run */
} lab_outcome;

void lab_conform(const lab_subject *subject, const lab_case *problem, lab_outcome *outcome);

/* Runs the problem `times` more and compares every bit of C. */
void lab_conform_repeat(const lab_subject *subject, const lab_case *problem, int64_t times, lab_outcome *outcome);

/* The command that runs this problem alone. */
void lab_replay(const lab_subject *subject, const lab_case *problem, char *text, size_t capacity);

#endif /* LAB_CONFORM_H */
