/* SPDX-License-Identifier: Apache-2.0 */
/* backends.c - the one file that knows every backend by name. */
#include "core/backend.h"
#include "cpu/cpu.h"

#ifdef RUNG_WITH_CUDA
#include "cuda/device.h"
#endif
#ifdef RUNG_WITH_OPENCL
#include "opencl/opencl.h"
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
