/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_host.h - stub of the CUDA runtime's interface of the host. NVRTC declares the types by itself. */
#pragma once

#include "rung_stubs/cpp_core.h"

/* NVRTC translates <<<...>>> in a function of the host to calls of these two. Nothing calls that function. */
extern "C" {
void *cudaGetParameterBufferV2(void *kernel, dim3 grid, dim3 block, unsigned int shared_bytes);
cudaError_t cudaLaunchDeviceV2(void *parameters, cudaStream_t stream);
}

#define RUNG_STUB_CUDA(name)     \
    RUNG_STUB(cudaError_t, name) \
    {                            \
        return cudaSuccess;      \
    }
RUNG_STUB_CUDA(cudaMalloc)
RUNG_STUB_CUDA(cudaMallocAsync)
RUNG_STUB_CUDA(cudaMallocHost)
RUNG_STUB_CUDA(cudaMallocManaged)
RUNG_STUB_CUDA(cudaMallocPitch)
RUNG_STUB_CUDA(cudaMalloc3D)
RUNG_STUB_CUDA(cudaMallocArray)
RUNG_STUB_CUDA(cudaMalloc3DArray)
RUNG_STUB_CUDA(cudaHostAlloc)
RUNG_STUB_CUDA(cudaHostRegister)
RUNG_STUB_CUDA(cudaHostUnregister)
RUNG_STUB_CUDA(cudaHostGetDevicePointer)
RUNG_STUB_CUDA(cudaFree)
RUNG_STUB_CUDA(cudaFreeAsync)
RUNG_STUB_CUDA(cudaFreeHost)
RUNG_STUB_CUDA(cudaFreeArray)
RUNG_STUB_CUDA(cudaMemcpy)
RUNG_STUB_CUDA(cudaMemcpyAsync)
RUNG_STUB_CUDA(cudaMemcpy2D)
RUNG_STUB_CUDA(cudaMemcpy2DAsync)
RUNG_STUB_CUDA(cudaMemcpy3D)
RUNG_STUB_CUDA(cudaMemcpyToSymbol)
RUNG_STUB_CUDA(cudaMemcpyToSymbolAsync)
RUNG_STUB_CUDA(cudaMemcpyFromSymbol)
RUNG_STUB_CUDA(cudaMemcpyPeer)
RUNG_STUB_CUDA(cudaMemcpyToArray)
RUNG_STUB_CUDA(cudaMemcpy2DToArray)
RUNG_STUB_CUDA(cudaMemset)
RUNG_STUB_CUDA(cudaMemsetAsync)
RUNG_STUB_CUDA(cudaMemset2D)
RUNG_STUB_CUDA(cudaMemGetInfo)
RUNG_STUB_CUDA(cudaMemPrefetchAsync)
RUNG_STUB_CUDA(cudaMemAdvise)
RUNG_STUB_CUDA(cudaGetSymbolAddress)
RUNG_STUB_CUDA(cudaDeviceSynchronize)
RUNG_STUB_CUDA(cudaThreadSynchronize)
RUNG_STUB_CUDA(cudaThreadExit)
RUNG_STUB_CUDA(cudaDeviceReset)
RUNG_STUB_CUDA(cudaDeviceSetLimit)
RUNG_STUB_CUDA(cudaDeviceSetCacheConfig)
RUNG_STUB_CUDA(cudaDeviceSetSharedMemConfig)
RUNG_STUB_CUDA(cudaDeviceGetAttribute)
RUNG_STUB_CUDA(cudaDeviceGetStreamPriorityRange)
RUNG_STUB_CUDA(cudaDeviceCanAccessPeer)
RUNG_STUB_CUDA(cudaDeviceEnablePeerAccess)
RUNG_STUB_CUDA(cudaGetDevice)
RUNG_STUB_CUDA(cudaSetDevice)
RUNG_STUB_CUDA(cudaSetDeviceFlags)
RUNG_STUB_CUDA(cudaGetDeviceCount)
RUNG_STUB_CUDA(cudaGetDeviceProperties)
RUNG_STUB_CUDA(cudaDriverGetVersion)
RUNG_STUB_CUDA(cudaRuntimeGetVersion)
RUNG_STUB_CUDA(cudaGetLastError)
RUNG_STUB_CUDA(cudaPeekAtLastError)
RUNG_STUB_CUDA(cudaEventCreate)
RUNG_STUB_CUDA(cudaEventCreateWithFlags)
RUNG_STUB_CUDA(cudaEventDestroy)
RUNG_STUB_CUDA(cudaEventRecord)
RUNG_STUB_CUDA(cudaEventSynchronize)
RUNG_STUB_CUDA(cudaEventElapsedTime)
RUNG_STUB_CUDA(cudaEventQuery)
RUNG_STUB_CUDA(cudaStreamCreate)
RUNG_STUB_CUDA(cudaStreamCreateWithFlags)
RUNG_STUB_CUDA(cudaStreamCreateWithPriority)
RUNG_STUB_CUDA(cudaStreamDestroy)
RUNG_STUB_CUDA(cudaStreamSynchronize)
RUNG_STUB_CUDA(cudaStreamWaitEvent)
RUNG_STUB_CUDA(cudaStreamQuery)
RUNG_STUB_CUDA(cudaStreamAddCallback)
RUNG_STUB_CUDA(cudaStreamBeginCapture)
RUNG_STUB_CUDA(cudaStreamEndCapture)
RUNG_STUB_CUDA(cudaStreamSetAttribute)
RUNG_STUB_CUDA(cudaGraphInstantiate)
RUNG_STUB_CUDA(cudaGraphLaunch)
RUNG_STUB_CUDA(cudaGraphDestroy)
RUNG_STUB_CUDA(cudaGraphExecDestroy)
RUNG_STUB_CUDA(cudaFuncSetAttribute)
RUNG_STUB_CUDA(cudaFuncGetAttributes)
RUNG_STUB_CUDA(cudaFuncSetCacheConfig)
RUNG_STUB_CUDA(cudaFuncSetSharedMemConfig)
RUNG_STUB_CUDA(cudaLaunchKernel)
RUNG_STUB_CUDA(cudaLaunchKernelEx)
RUNG_STUB_CUDA(cudaLaunchKernelExC)
RUNG_STUB_CUDA(cudaLaunchCooperativeKernel)
RUNG_STUB_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor)
RUNG_STUB_CUDA(cudaOccupancyMaxPotentialBlockSize)
RUNG_STUB_CUDA(cudaCreateTextureObject)
RUNG_STUB_CUDA(cudaDestroyTextureObject)
RUNG_STUB_CUDA(cudaCreateSurfaceObject)
RUNG_STUB_CUDA(cudaDestroySurfaceObject)
RUNG_STUB_CUDA(cudaProfilerStart)
RUNG_STUB_CUDA(cudaProfilerStop)
RUNG_STUB_CUDA(cudaGetDriverEntryPoint)
RUNG_STUB_CUDA(cudaGetDriverEntryPointByVersion)
RUNG_STUB_0(const char *, cudaGetErrorString)
RUNG_STUB_0(const char *, cudaGetErrorName)
#undef RUNG_STUB_CUDA

template <class T>
inline cudaChannelFormatDesc cudaCreateChannelDesc(int = 0, int = 0, int = 0, int = 0,
                                                   cudaChannelFormatKind = cudaChannelFormatKindFloat)
{
    return cudaChannelFormatDesc();
}

#ifndef cudaEventDefault
#define cudaEventDefault 0
#define cudaEventBlockingSync 1
#define cudaEventDisableTiming 2
#endif
#ifndef cudaStreamDefault
#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1
#endif
#ifndef cudaHostAllocDefault
#define cudaHostAllocDefault 0
#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostAllocWriteCombined 4
#endif
#ifndef cudaMemAttachGlobal
#define cudaMemAttachGlobal 1
#define cudaMemAttachHost 2
#endif
#ifndef cudaDeviceMapHost
#define cudaDeviceScheduleSpin 1
#define cudaDeviceScheduleBlockingSync 4
#define cudaDeviceMapHost 8
#endif
#ifndef CUDART_VERSION
#define CUDART_VERSION (__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10)
#endif
#ifndef CUDART_CB
#define CUDART_CB
#endif

RUNG_STUB(void, nvtxRangePush)
{
}
RUNG_STUB(void, nvtxRangePushA)
{
}
RUNG_STUB(void, nvtxRangePop)
{
}
RUNG_STUB(void, nvtxMarkA)
{
}
