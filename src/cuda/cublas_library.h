/* SPDX-License-Identifier: Apache-2.0 */
/* cublas_library.h - cuBLAS, NVIDIA's library, loaded at run time, as one table of functions, and the plans of 00_vendor
 * on the CUDA device, which call it. */
#pragma once

#include "core/plan.h"
#include "cuda/cuda_driver.h"

typedef struct cublasContext rungi_cublas_handle;

/* The functions of cublas_v2.h (version 12 and later) that are used. They return 0 for success. Enums are int. */
/* clang-format off */
#define RUNGI_CUBLAS_FUNCTION_LIST(X)                                                               \
    X(create, "cublasCreate_v2", (rungi_cublas_handle **))                                          \
    X(destroy, "cublasDestroy_v2", (rungi_cublas_handle *))                                         \
    X(set_stream, "cublasSetStream_v2", (rungi_cublas_handle *, rungi_cu_stream))                   \
    X(set_math_mode, "cublasSetMathMode", (rungi_cublas_handle *, int mode))                        \
    X(get_version, "cublasGetVersion_v2", (rungi_cublas_handle *, int *version))                    \
    X(gemm, "cublasGemmStridedBatchedEx", (rungi_cublas_handle *, int a_op, int b_op, int m, int n, \
      int k, const void *alpha, const void *a, int a_type, int lda, long long a_stride,           \
      const void *b, int b_type, int ldb, long long b_stride, const void *beta, void *c,          \
      int c_type, int ldc, long long c_stride, int batch, int compute, int algorithm))            \
    X(gemm_one, "cublasGemmEx", (rungi_cublas_handle *, int a_op, int b_op, int m, int n, int k,    \
      const void *alpha, const void *a, int a_type, int lda, const void *b, int b_type, int ldb,  \
      const void *beta, void *c, int c_type, int ldc, int compute, int algorithm))
/* clang-format on */

typedef struct rungi_cublas {
    void *library; /* NULL if not installed */
#define X(name, symbol, arguments) int(*name) arguments;
    RUNGI_CUBLAS_FUNCTION_LIST(X)
#undef X
} rungi_cublas;

/* The type combinations that cuBLAS supports. */
enum {
    RUNGI_CUBLAS_PRODUCTS = 1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F64_TO_F64 | 1u << RUNGI_F16_TO_F16 |
                            1u << RUNGI_F16_TO_F32 | 1u << RUNGI_BF16_TO_BF16 | 1u << RUNGI_BF16_TO_F32 |
                            1u << RUNGI_I8_TO_I32
};

/* Loads the newest cuBLAS that works with a driver of this CUDA version. Sets library to NULL if no such version is installed.
 * (cublas.c) */
void rungi_cublas_load(rungi_cublas *blas, int driver_version);

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
