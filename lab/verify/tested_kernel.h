/* SPDX-License-Identifier: Apache-2.0 */
/* tested_kernel.h - a kernel under test, with its device, parameters and types. */
#ifndef LAB_TESTED_KERNEL_H
#define LAB_TESTED_KERNEL_H

#include "common/type_pair.h"
#include "rung/rung.h"
#include "verify/oracle.h"

typedef struct lab_tested_kernel {
    rung_context *context; /* rung_gemm of this context runs on `device` */
    rung_device *device;
    rung_queue *queue;
    const rung_kernel *kernel; /* NULL: rung_multiply on matrices in host memory */
    const char *parameters;    /* NULL: the kernel's defaults */
    lab_type_pair product;
    rung_compute compute;
    lab_accuracy accuracy; /* for inexact results: LAB_ACCURACY_BOUNDED or LAB_ACCURACY_ENGINE */
    uint64_t seed;
    int64_t carveout, threads; /* as in rung_plan_options */
    bool is_packed;            /* B is packed before the run and shared by all items of a batch */
} lab_tested_kernel;

#endif /* LAB_TESTED_KERNEL_H */
