/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_driver.h - stub of the CUDA driver's interface, for machines without NVIDIA's cuda.h. */
#pragma once

#include "rung_stubs/cuda_host.h"

#define CUDA_VERSION CUDART_VERSION
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
enum CUresult { CUDA_SUCCESS };
struct alignas(64) CUtensorMap {
    unsigned long long opaque[16];
};
