/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_graph.c - graphs. */
#include "emulator/runtime/runtime.h"

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags)
{
    IN_CONTEXT(cuGraphCreate(graph, flags));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    IN_CONTEXT(cuGraphDestroy(graph));
}

cudaError_t cudaGraphClone(cudaGraph_t *clone, cudaGraph_t graph)
{
    IN_CONTEXT(cuGraphClone(clone, graph));
}

/* ---- Nodes --------------------------------------------------------------------------------------------- */

/* Translates the parameters of a kernel. */
static CUresult kernel_parameters(const cudaKernelNodeParams *given, CUDA_KERNEL_NODE_PARAMS *out)
{
    CUfunction function = NULL;
    CUresult result = given ? runtime_begin() : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = runtime_find_function(given->func, &function);
    if (result == CUDA_ERROR_NOT_FOUND)
        result = (CUresult)cudaErrorInvalidDeviceFunction;
    if (result == CUDA_SUCCESS)
        *out = (CUDA_KERNEL_NODE_PARAMS){.func = function,
                                         .gridDimX = given->gridDim.x,
                                         .gridDimY = given->gridDim.y,
                                         .gridDimZ = given->gridDim.z,
                                         .blockDimX = given->blockDim.x,
                                         .blockDimY = given->blockDim.y,
                                         .blockDimZ = given->blockDim.z,
                                         .sharedMemBytes = given->sharedMemBytes,
                                         .kernelParams = given->kernelParams,
                                         .extra = given->extra};
    return result;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *on, size_t count,
                                   const cudaKernelNodeParams *given)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUresult result = kernel_parameters(given, &kernel);
    return runtime_end(result == CUDA_SUCCESS ? cuGraphAddKernelNode_v2(node, graph, on, count, &kernel) : result);
}

/* Memory is where its address says. */
static CUDA_MEMCPY3D copy_of(void *to, const void *from, size_t bytes)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .srcDevice = (CUdeviceptr)(uintptr_t)from,
                           .srcPitch = bytes,
                           .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                           .dstDevice = (CUdeviceptr)(uintptr_t)to,
                           .dstPitch = bytes,
                           .WidthInBytes = bytes,
                           .Height = 1,
                           .Depth = 1};
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *on, size_t count,
                                     void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    const CUDA_MEMCPY3D copy = copy_of(to, from, bytes);
    (void)kind;
    IN_CONTEXT(cuGraphAddMemcpyNode(node, graph, on, count, &copy, NULL));
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *on, size_t count,
                                   const cudaMemcpy3DParms *given)
{
    if (!given || given->srcArray || given->dstArray)
        return runtime_fail(given ? cudaErrorNotSupported : cudaErrorInvalidValue);
    CUDA_MEMCPY3D copy = copy_of(given->dstPtr.ptr, given->srcPtr.ptr, given->extent.width);
    copy.srcPitch = given->srcPtr.pitch, copy.srcHeight = given->srcPtr.ysize;
    copy.dstPitch = given->dstPtr.pitch, copy.dstHeight = given->dstPtr.ysize;
    copy.srcXInBytes = given->srcPos.x, copy.srcY = given->srcPos.y, copy.srcZ = given->srcPos.z;
    copy.dstXInBytes = given->dstPos.x, copy.dstY = given->dstPos.y, copy.dstZ = given->dstPos.z;
    copy.Height = given->extent.height, copy.Depth = given->extent.depth;
    IN_CONTEXT(cuGraphAddMemcpyNode(node, graph, on, count, &copy, NULL));
}

static CUDA_MEMSET_NODE_PARAMS fill_of(const cudaMemsetParams *given)
{
    return (CUDA_MEMSET_NODE_PARAMS){(CUdeviceptr)(uintptr_t)given->dst,
                                     given->pitch,
                                     given->value,
                                     given->elementSize,
                                     given->width,
                                     given->height};
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *on, size_t count,
                                   const cudaMemsetParams *given)
{
    if (!given)
        return runtime_fail(cudaErrorInvalidValue);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(given);
    IN_CONTEXT(cuGraphAddMemsetNode(node, graph, on, count, &fill, NULL));
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *on, size_t count,
                                 const CUDA_HOST_NODE_PARAMS *host)
{
    IN_CONTEXT(cuGraphAddHostNode(node, graph, on, count, host));
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *on, size_t count)
{
    IN_CONTEXT(cuGraphAddEmptyNode(node, graph, on, count));
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *on,
                                       size_t count, cudaGraph_t child)
{
    IN_CONTEXT(cuGraphAddChildGraphNode(node, graph, on, count, child));
}

#if RUNG_CUDART_MAJOR >= 13
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     const void *edges, size_t count)
{
    (void)edges; /* ports of programmatic launches change nothing but speed */
    IN_CONTEXT(cuGraphAddDependencies(graph, from, to, count));
}
#else
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count)
{
    IN_CONTEXT(cuGraphAddDependencies(graph, from, to, count));
}
#endif

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    IN_CONTEXT(cuGraphGetNodes(graph, nodes, count));
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    IN_CONTEXT(cuGraphGetRootNodes(graph, nodes, count));
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, CUgraphNodeType *type)
{
    IN_CONTEXT(cuGraphNodeGetType(node, type));
}

/* ---- Executable graphs ------------------------------------------------------------------------------------- */

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    IN_CONTEXT(cuGraphInstantiateWithFlags(exec, graph, flags));
}

#if RUNG_CUDART_MAJOR >= 12
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    return cudaGraphInstantiateWithFlags(exec, graph, flags);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, CUgraphExecUpdateResultInfo *info)
{
    IN_CONTEXT(cuGraphExecUpdate_v2(exec, graph, info));
}
#else
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *node, char *log,
                                 size_t bytes)
{
    IN_CONTEXT(cuGraphInstantiate_v2(exec, graph, node, log, bytes));
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *node,
                                CUgraphExecUpdateResult *what)
{
    CUgraphExecUpdateResultInfo info = {0};
    CUresult result = runtime_begin();
    if (result == CUDA_SUCCESS)
        result = cuGraphExecUpdate_v2(exec, graph, &info);
    if (node)
        *node = info.errorNode;
    if (what)
        *what = info.result;
    return runtime_end(result);
}
#endif

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    IN_CONTEXT(cuGraphLaunch(exec, stream));
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    IN_CONTEXT(cuGraphUpload(exec, stream));
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    IN_CONTEXT(cuGraphExecDestroy(exec));
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams *given)
{
    CUDA_KERNEL_NODE_PARAMS kernel;
    CUresult result = kernel_parameters(given, &kernel);
    return runtime_end(result == CUDA_SUCCESS ? cuGraphExecKernelNodeSetParams_v2(exec, node, &kernel) : result);
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *from,
                                               size_t bytes, cudaMemcpyKind kind)
{
    const CUDA_MEMCPY3D copy = copy_of(to, from, bytes);
    (void)kind;
    IN_CONTEXT(cuGraphExecMemcpyNodeSetParams(exec, node, &copy, NULL));
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemsetParams *given)
{
    if (!given)
        return runtime_fail(cudaErrorInvalidValue);
    const CUDA_MEMSET_NODE_PARAMS fill = fill_of(given);
    IN_CONTEXT(cuGraphExecMemsetNodeSetParams(exec, node, &fill, NULL));
}
