/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_child.h - compiles with NVRTC inside of the child process. */
#pragma once

#include "cuda_source/compile_job.h"

/* Loads NVRTC, restricts this process to the files that the compiler may read, and compiles. `code` and `why` are as for
 * lab_cuda_compile(). Only for a child process: it cannot open other files afterwards. */
lab_cuda_compile_status lab_nvrtc_child_compile(const lab_cuda_job *job, lab_cuda_code *code, char *why,
                                                size_t capacity);
