/* SPDX-License-Identifier: Apache-2.0 */
/* simt_plan.h - the part of a plan that OpenCL and CUDA share: path, launch shape, split-K and limits. */
#ifndef RUNGI_SIMT_PLAN_H
#define RUNGI_SIMT_PLAN_H

#include "simt/simt.h"

typedef struct rungi_simt_plan {
    rungi_simt_path path;
    rungi_simt_shape shape, reduce_shape; /* the second for split-K */
    rungi_simt_split split;
    int arguments;        /* of the kernel */
    int64_t shared_bytes; /* SHARED_BYTES of the kernel file, or 0 */
} rungi_simt_plan;

/* Fills `simt` and plan->info, or returns why the device does not support the plan. */
rung_status rungi_simt_plan_init(rung_plan *plan, int64_t blocks_max, rungi_simt_plan *simt);

/* Changes the plan so that the kernel stores its sums in the workspace and reduce.cu applies the epilogue. For devices
 * that have no kernel with the epilogue compiled in. */
rung_status rungi_simt_plan_separate_epilogue(rung_plan *plan, rungi_simt_plan *simt);

/* Creates the kernel that adds the slices of k, and its parameters and path. Fills simt->reduce_shape. The caller
 * destroys the kernel. */
rung_status rungi_simt_reduction_init(const rung_plan *plan, int64_t blocks_max, rungi_simt_plan *simt,
                                      rung_kernel **kernel, rungi_parameter_values *values, rungi_simt_path *path);

/* Checks what is known only after compiling: the threads per block for which the registers suffice, and the shared
 * memory. */
rung_status rungi_simt_check_compiled(const rung_device *device, const rung_kernel *kernel, int64_t threads,
                                      int64_t threads_max, int64_t shared_bytes);

#endif /* RUNGI_SIMT_PLAN_H */
