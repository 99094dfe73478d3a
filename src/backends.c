/* SPDX-License-Identifier: Apache-2.0 */
/* backends.c - the list of backends: the only file that names each of them. */
#include "core/backend.h"
#include "cpu/cpu_backend.h"

#ifdef RUNG_WITH_CUDA
#include "cuda/cuda_device.h"
#endif
#ifdef RUNG_WITH_OPENCL
#include "opencl/opencl_device.h"
#endif

const rungi_backend *const rungi_backends[] = {
    &rungi_cpu_backend,
#ifdef RUNG_WITH_OPENCL
    &rungi_opencl_backend,
#endif
#ifdef RUNG_WITH_CUDA
    &rungi_cuda_backend,
#endif
    NULL,
};
