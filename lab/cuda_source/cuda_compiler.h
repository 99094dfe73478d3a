/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_compiler.h - compiles a CUDA C++ file of the user to PTX, without a GPU.
 *
 * NVRTC runs in a child process with limits of time and memory. The child reads only the folder of the file, the folders
 * of -I options and NVIDIA's headers, so that no message of the compiler can contain a line of another file. Kernels with
 * host code compile too: headers of the host are replaced by stubs (lab/cuda_source/stubs), functions of the host are
 * blanked where necessary, and nvcc is the last resort where it is installed. */
#pragma once

#include "cuda_source/compile_job.h"

/* Compiles the job. The caller calls lab_cuda_code_free() whatever the result is; after a failure only the log may be set.
 * `why` receives a sentence for the user if the status is not LAB_CUDA_COMPILED. */
lab_cuda_compile_status lab_cuda_compile(const lab_cuda_job *job, lab_cuda_code *code, char *why, size_t capacity);
void lab_cuda_code_free(lab_cuda_code *code);

/* Finds the next note in a log: a sentence on a header that was replaced by an empty one. *at is the position, which begins as
 * the log. Returns false after the last note. */
bool lab_cuda_note_next(const char **at, char *note, size_t capacity);
