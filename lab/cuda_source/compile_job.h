/* SPDX-License-Identifier: Apache-2.0 */
/* compile_job.h - a compilation of a CUDA file and its result; see cuda_compiler.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum lab_cuda_compile_status {
    LAB_CUDA_COMPILED,
    LAB_CUDA_REJECTED,    /* the compiler found errors; the log has them */
    LAB_CUDA_NO_COMPILER, /* NVRTC was not found, or it does not work */
    LAB_CUDA_NO_HEADERS, /* the file includes headers of NVIDIA that were not found; the sentence says what to install */
    LAB_CUDA_LIMIT,      /* time or memory of the compiler exceeded a limit */
    LAB_CUDA_NO_RESOURCES, /* this machine has no memory, files or processes left; the file is not at fault */
    LAB_CUDA_FAILED        /* anything else */
} lab_cuda_compile_status;

/* How a file was compiled, in the order of the attempts. */
typedef enum lab_cuda_way {
    LAB_CUDA_WHOLE,       /* NVRTC compiled the whole file with stub headers */
    LAB_CUDA_HELPERS,     /* functions of the host are blanked, except those that look like pure helpers */
    LAB_CUDA_DEVICE_ONLY, /* all functions of the host are blanked */
    LAB_CUDA_NVCC         /* nvcc compiled the whole file */
} lab_cuda_way;

typedef struct lab_cuda_job {
    const char *file; /* path of the user's file: for messages, line information and quoted includes */
    const char *text; /* what is compiled: the file, possibly with generated lines appended */
    size_t bytes;
    int architecture;         /* 86 for compute_86 */
    const char *const *names; /* name expressions of kernels, "sgemm<64, 8>"; their lowered names are returned */
    int name_count;
    const char *const *options; /* further options: -DTILE=32, -I FOLDER, -std=c++20 */
    int option_count;
    double seconds;         /* limit of processor time; 0: the default */
    double elapsed_seconds; /* limit of elapsed time; 0: a multiple of the processor time, for machines that are busy */
    int64_t memory_bytes;   /* limit of memory; 0: the default */
    bool wants_cubin;       /* also compile for the GPU, for registers and SASS */
    bool is_untrusted;      /* only NVRTC compiles the file, and the child may start no program and open no socket */
} lab_cuda_job;

typedef struct lab_cuda_code {
    char *ptx; /* with a terminating 0 that ptx_bytes does not count */
    int64_t ptx_bytes;
    void *cubin; /* NULL if the job does not want it, or nvcc compiled the file */
    int64_t cubin_bytes;
    char **lowered; /* mangled names, in the order of the job's names */
    int name_count;
    char *log; /* messages of the compiler; may be "" */
    int version_major, version_minor;
    lab_cuda_way way;
} lab_cuda_code;
