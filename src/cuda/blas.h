/* SPDX-License-Identifier: Apache-2.0 */
/* blas.h - cuBLAS, NVIDIA's library, the one to beat, as kernel 00. */
#ifndef RUNGI_CUDA_BLAS_H
#define RUNGI_CUDA_BLAS_H

#include "core/plan.h"
#include "cuda/driver.h"

typedef struct cublasContext rungi_blas_handle;

/* What is used of cublas_v2.h, since version 12; results are 0 for success. Enums are
 * passed as int. */
/* clang-format off */
#define RUNGI_BLAS_FUNCTION_LIST(X)                                                               \
    X(create, "cublasCreate_v2", (rungi_blas_handle **))                                          \
    X(destroy, "cublasDestroy_v2", (rungi_blas_handle *))                                         \
    X(set_stream, "cublasSetStream_v2", (rungi_blas_handle *, rungi_cu_stream))                   \
    X(set_math_mode, "cublasSetMathMode", (rungi_blas_handle *, int mode))                        \
    X(get_version, "cublasGetVersion_v2", (rungi_blas_handle *, int *version))                    \
    X(gemm, "cublasGemmStridedBatchedEx", (rungi_blas_handle *, int a_op, int b_op, int m, int n, \
      int k, const void *alpha, const void *a, int a_type, int lda, long long a_stride,           \
      const void *b, int b_type, int ldb, long long b_stride, const void *beta, void *c,          \
      int c_type, int ldc, long long c_stride, int batch, int compute, int algorithm))            \
    X(gemm_one, "cublasGemmEx", (rungi_blas_handle *, int a_op, int b_op, int m, int n, int k,    \
      const void *alpha, const void *a, int a_type, int lda, const void *b, int b_type, int ldb,  \
      const void *beta, void *c, int c_type, int ldc, int compute, int algorithm))
/* clang-format on */

typedef struct rungi_blas {
    void *library; /* NULL if it is not here */
#define X(name, symbol, arguments) int(*name) arguments;
    RUNGI_BLAS_FUNCTION_LIST(X)
#undef X
} rungi_blas;

/* The products of ours that cuBLAS has. */
enum {
    RUNGI_BLAS_PRODUCTS = 1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F64_TO_F64 | 1u << RUNGI_F16_TO_F16 |
                          1u << RUNGI_F16_TO_F32 | 1u << RUNGI_BF16_TO_BF16 | 1u << RUNGI_BF16_TO_F32 |
                          1u << RUNGI_I8_TO_I32
};

/* What a plan has to know: the problem as cuBLAS sees it, whose matrices stand by columns. */
typedef struct rungi_blas_plan {
    const rungi_blas *blas;
    int a_op, b_op; /* of its first and its second operand, our B and our A */
    int lda, ldb, ldc;
    int in_type, out_type, compute;
    char library[32]; /* "cuBLAS 12.9.0", for rung_plan_info */
} rungi_blas_plan;

struct rungi_cuda_device;

/* The newest that works with a driver of this CUDA version; library stays NULL if there is
 * none. */
void rungi_blas_load(rungi_blas *blas, int driver_version);

/* RUNG_STATUS_UNSUPPORTED where cuBLAS is not here or does not take the problem. The context is
 * entered. */
rung_status rungi_blas_plan_create(rung_plan *plan, rungi_blas_plan *out);
rung_status rungi_blas_plan_run(rung_plan *plan, const rungi_blas_plan *own, rung_queue *queue,
                                const rung_problem *problem);
void rungi_cuda_blas_close(struct rungi_cuda_device *device);

#endif /* RUNGI_CUDA_BLAS_H */
