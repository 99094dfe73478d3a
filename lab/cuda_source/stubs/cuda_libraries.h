/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_libraries.h - stub of the interfaces of cuBLAS, cuFFT, cuSPARSE and cuDNN: types, and the functions that
 * examples of kernels call most. */
#pragma once

#include "rung_stubs/cuda_host.h"

typedef struct rung_stub_handle *cublasHandle_t;
typedef struct rung_stub_handle *cublasLtHandle_t;
typedef struct rung_stub_handle *cusparseHandle_t;
typedef struct rung_stub_handle *cusparseSpMatDescr_t;
typedef struct rung_stub_handle *cusparseDnMatDescr_t;
typedef struct rung_stub_handle *cusparseDnVecDescr_t;
typedef struct rung_stub_handle *cusparseMatDescr_t;
typedef struct rung_stub_handle *cudnnHandle_t;
typedef struct rung_stub_handle *cudnnTensorDescriptor_t;
typedef struct rung_stub_handle *cudnnFilterDescriptor_t;
typedef struct rung_stub_handle *cudnnConvolutionDescriptor_t;
typedef struct rung_stub_handle *cublasLtMatmulDesc_t;
typedef struct rung_stub_handle *cublasLtMatrixLayout_t;
typedef struct rung_stub_handle *cublasLtMatmulPreference_t;
typedef int cufftHandle;
typedef float2 cufftComplex;
typedef double2 cufftDoubleComplex;
typedef float cufftReal;

enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS,
    CUBLAS_STATUS_NOT_INITIALIZED,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t { CUBLAS_DEFAULT_MATH, CUBLAS_TENSOR_OP_MATH, CUBLAS_PEDANTIC_MATH, CUBLAS_TF32_TENSOR_OP_MATH };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasComputeType_t {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_16BF = 75,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_COMPUTE_64F = 70,
    CUBLAS_COMPUTE_32I = 72
};
enum cusparseStatus_t { CUSPARSE_STATUS_SUCCESS };
enum cudnnStatus_t { CUDNN_STATUS_SUCCESS };
enum cufftResult { CUFFT_SUCCESS };
enum cufftType { CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_C2C = 0x29 };

#define RUNG_STUB_BLAS(name)          \
    RUNG_STUB(cublasStatus_t, name)   \
    {                                 \
        return CUBLAS_STATUS_SUCCESS; \
    }
RUNG_STUB_BLAS(cublasCreate)
RUNG_STUB_BLAS(cublasDestroy)
RUNG_STUB_BLAS(cublasSetStream)
RUNG_STUB_BLAS(cublasSetMathMode)
RUNG_STUB_BLAS(cublasSetWorkspace)
RUNG_STUB_BLAS(cublasSgemm)
RUNG_STUB_BLAS(cublasDgemm)
RUNG_STUB_BLAS(cublasHgemm)
RUNG_STUB_BLAS(cublasGemmEx)
RUNG_STUB_BLAS(cublasSgemmEx)
RUNG_STUB_BLAS(cublasSgemv)
RUNG_STUB_BLAS(cublasDgemv)
RUNG_STUB_BLAS(cublasSgemmStridedBatched)
RUNG_STUB_BLAS(cublasGemmStridedBatchedEx)
RUNG_STUB_BLAS(cublasSaxpy)
RUNG_STUB_BLAS(cublasSdot)
RUNG_STUB_BLAS(cublasSscal)
RUNG_STUB_BLAS(cublasSnrm2)
RUNG_STUB_BLAS(cublasSetMatrix)
RUNG_STUB_BLAS(cublasGetMatrix)
RUNG_STUB_BLAS(cublasSetVector)
RUNG_STUB_BLAS(cublasGetVector)
RUNG_STUB_BLAS(cublasSetPointerMode)
RUNG_STUB_BLAS(cublasLtCreate)
RUNG_STUB_BLAS(cublasLtDestroy)
#undef RUNG_STUB_BLAS
RUNG_STUB_0(const char *, cublasGetStatusString)
RUNG_STUB_0(const char *, cublasGetStatusName)
