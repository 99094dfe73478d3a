/* SPDX-License-Identifier: Apache-2.0 */
/* nvcc_child.h - compiles with nvcc inside of the child process, for files that NVRTC rejects. */
#pragma once

#include "cuda_source/compile_job.h"

/* Finds nvcc: the path in RUNG_NVCC, or else on PATH or in NVIDIA's folders. */
bool lab_nvcc_find(char *path, size_t capacity);

/* Compiles with nvcc. `work_folder` is an empty folder, which the caller removes. `code` and `why` are as for
 * lab_cuda_compile(). Only for a child process: afterwards it can read only the system's folders and those of the job, and
 * write only to work_folder. Returns LAB_CUDA_NO_COMPILER if nvcc is not installed, or if the kernel of this machine has no
 * Landlock: nvcc could then read every file. */
lab_cuda_compile_status lab_nvcc_child_compile(const lab_cuda_job *job, const char *work_folder, lab_cuda_code *code,
                                               char *why, size_t capacity);
