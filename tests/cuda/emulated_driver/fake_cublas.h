/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublas.h - the little of cuBLAS that the emulated driver has, as its manual gives it. Enums are
 * ints here; their numbers are cublas_api.h's and library_types.h's. */
#ifndef FAKE_CUBLAS_H
#define FAKE_CUBLAS_H

#include <stddef.h>

typedef struct cublasContext *cublasHandle_t;

enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_8I = 3, CUDA_R_32I = 10, CUDA_R_16BF = 14 };
enum {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_16F_PEDANTIC = 65,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_PEDANTIC = 69,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_64F_PEDANTIC = 71,
    CUBLAS_COMPUTE_32I = 72,
    CUBLAS_COMPUTE_32I_PEDANTIC = 73,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_COMPUTE_32F_EMULATED_16BFX9 = 78
};

#pragma GCC visibility push(default)
int cublasCreate_v2(cublasHandle_t *handle);
int cublasDestroy_v2(cublasHandle_t handle);
int cublasSetStream_v2(cublasHandle_t handle, void *stream);
int cublasSetMathMode(cublasHandle_t handle, int mode);
int cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes);
int cublasGetVersion_v2(cublasHandle_t handle, int *version);
const char *cublasGetStatusString(int status);
int cublasGemmEx(cublasHandle_t handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a,
                 int atype, int lda, const void *b, int btype, int ldb, const void *beta, void *c, int ctype, int ldc,
                 int compute, int algorithm);
int cublasGemmStridedBatchedEx(cublasHandle_t handle, int transa, int transb, int m, int n, int k, const void *alpha,
                               const void *a, int atype, int lda, long long stridea, const void *b, int btype, int ldb,
                               long long strideb, const void *beta, void *c, int ctype, int ldc, long long stridec,
                               int batch, int compute, int algorithm);

/* For tests: handles that live, calls of a symbol, and the compute type of the last product
 * that was asked for. */
long rung_fake_cublas_live_handles(void);
long rung_fake_cublas_call_count(const char *symbol);
long rung_fake_cublas_last_compute(void);
#pragma GCC visibility pop

/* ---- The arithmetic (fake_cublas_gemm.c) ------------------------------------------------------------- */

/* One product in column-major order: op(A) is m x k, op(B) k x n. Types and compute mode
 * were checked, and so were sizes. */
typedef struct blas_gemm {
    int transa, transb, m, n, k;
    const void *alpha, *a, *b, *beta;
    void *c;
    int atype, lda, btype, ldb, ctype, ldc, compute;
} blas_gemm_t;

/* Computes on the host, with host addresses. Returns 0 if there is no memory. */
int blas_run(const blas_gemm_t *gemm);

size_t blas_type_bytes(int type);
/* Of alpha and beta. */
size_t blas_scalar_bytes(int compute);

#endif /* FAKE_CUBLAS_H */
