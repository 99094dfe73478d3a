/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.h - plans of 00_vendor on the CUDA device, which call cuBLAS. */
#ifndef RUNGI_CUBLAS_H
#define RUNGI_CUBLAS_H

#include "cuda/cuda_device.h"

/* The problem in column-major form, as cuBLAS expects it. */
typedef struct rungi_cublas_plan {
    const rungi_cublas *blas;
    int a_op, b_op; /* of the first and the second operand: B and A */
    int lda, ldb, ldc;
    int in_type, out_type, compute;
    char library[32]; /* "cuBLAS 12.9.0", for rung_plan_info */
} rungi_cublas_plan;

/* Returns RUNG_STATUS_UNSUPPORTED if cuBLAS is not installed or does not support the problem. The CUcontext must be
 * current. */
rung_status rungi_cublas_plan_create(rung_plan *plan, rungi_cublas_plan *out);
rung_status rungi_cublas_plan_run(rung_plan *plan, const rungi_cublas_plan *own, rung_queue *queue,
                                  const rung_problem *problem);

#endif /* RUNGI_CUBLAS_H */
