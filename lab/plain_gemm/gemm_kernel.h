/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_kernel.h - a matrix-multiplication kernel of a plain CUDA file, compiled and loaded into the emulator. */
#pragma once

#include "cuda_source/cuda_compiler.h"
#include "cuda_source/cuda_outline.h"
#include "cuda_source/launch_program.h"
#include "plain_gemm/gemm_roles.h"
#include "plain_gemm/launch_options.h"
#include "rung/emulator.h"

/* One scalar or pointer among the parameters: a parameter, or a field of a struct. */
typedef struct lab_gemm_slot {
    char name[64]; /* "lda" or "A.width" */
    int parameter;
    int field; /* index among the fields of the struct; -1 for a parameter */
    int64_t offset, bytes;
    lab_cuda_type type;
    lab_role role;
    bool has_value; /* `value` is from --args */
    double value;
} lab_gemm_slot;

enum { LAB_GEMM_SLOTS_MAX = 64 };

/* A file with its outline. */
typedef struct lab_gemm_file {
    const char *path;
    char *text;
    size_t bytes;
    lab_cuda_outline outline;
    lab_launch_options options;
} lab_gemm_file;

typedef struct lab_gemm_kernel {
    const lab_gemm_file *file;
    char *name;      /* with template arguments, as the compiler takes it */
    char title[256]; /* for people */
    int line;
    lab_launch_source source;
    bool is_evaluated[LAB_CUDA_PARAMETERS_MAX];
    lab_cuda_code code;
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *handle, *evaluate;
    lab_gemm_slot slots[LAB_GEMM_SLOTS_MAX];
    int slot_count;
    int64_t parameter_bytes;
} lab_gemm_kernel;

/* Reads a file. `options` are those of the command line; the comment line of the file completes them. Call
 * lab_gemm_file_close() in every case. */
bool lab_gemm_file_open(const char *path, const lab_launch_options *options, lab_gemm_file *file, char *why,
                        size_t capacity);
void lab_gemm_file_close(lab_gemm_file *file);

/* Returns whether a function of the outline is a kernel that can multiply: its parameters have three pointers, or structs.
 * With a kernel in the options, only that kernel counts. */
bool lab_gemm_is_candidate(const lab_gemm_file *file, int function);

typedef struct lab_gemm_settings {
    int architecture;
    double seconds;                 /* limit of a launch, in million instructions of a warp; 0: none */
    const char *const *definitions; /* options of the compiler, such as -DTILE=32 */
    int definition_count;
    bool wants_cubin; /* also compile for the GPU, for registers and SASS; the log then has ptxas's report */
} lab_gemm_settings;

/* Compiles and loads a kernel, and finds the roles of its parameters. Call lab_gemm_kernel_close() in every case. */
bool lab_gemm_kernel_open(const lab_gemm_file *file, int function, const lab_gemm_settings *settings,
                          lab_gemm_kernel *kernel, char *why, size_t capacity);
void lab_gemm_kernel_close(lab_gemm_kernel *kernel);

/* How to launch the kernel for one problem. */
typedef struct lab_gemm_launch {
    uint32_t grid[3], block[3];
    int64_t shared_bytes;
    int64_t arguments[LAB_CUDA_PARAMETERS_MAX]; /* where kernel->is_evaluated */
} lab_gemm_launch;

/* Evaluates the launch for the values of the slots (those of integers) and the sizes m, n, k and batch. */
bool lab_gemm_evaluate(lab_gemm_kernel *kernel, const int64_t *values, const int64_t sizes[4], lab_gemm_launch *launch,
                       char *why, size_t capacity);
