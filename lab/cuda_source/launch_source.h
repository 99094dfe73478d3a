/* SPDX-License-Identifier: Apache-2.0 */
/* launch_source.h - where the values of a kernel's launch come from; input of launch_program.h and launch_host.h. */
#pragma once

#include <stdint.h>

#include "cuda_source/cuda_outline.h"

/* How a kernel is launched. Texts are NULL if the launch of the host code has them. */
typedef struct lab_launch_source {
    int kernel;                              /* index of a function */
    const lab_cuda_launch *launch;           /* of the host code; NULL if the file does not launch the kernel */
    const char *templates;                   /* arguments of the kernel's template: "64, 8" */
    const char *grid, *block;                /* up to three expressions each, separated by commas */
    const char *shared;                      /* bytes of dynamic shared memory */
    bool is_given[LAB_CUDA_PARAMETERS_MAX];  /* by parameter: the caller gives the value, such as that of a size */
    bool is_copied[LAB_CUDA_PARAMETERS_MAX]; /* by parameter: a struct of values that the host code sets */
    /* Returns the index of the value that a variable of the host code has, such as LAB_LAUNCH_VALUE_M for "hA"; -1 if the
     * variable is no size of the problem. May be NULL. */
    int (*find_size)(const void *user, rungi_string_view name);
    const void *user;
    /* The GPU that host code asks the CUDA runtime about; members that are 0 are unknown. */
    struct {
        int capability;                                         /* 86 for sm_86 */
        int64_t multiprocessors, threads, shared, shared_block; /* per multiprocessor; per block */
    } gpu;
} lab_launch_source;
