/* SPDX-License-Identifier: Apache-2.0 */
/* launch_program.h - writes the C++ text that computes how a kernel is launched.
 *
 * The text is appended to the user's file, compiled with it, and runs on the emulator. So the compiler evaluates every
 * expression of the launch: macros, constants, constructors and helper functions of the file. Nothing of the file runs
 * natively. The text has two kernels:
 *
 *     rung_write_signature(char *text)       the types of the kernel's parameters, one per line
 *     rung_evaluate_launch(values, results)  grid, block, dynamic shared memory and arguments */
#pragma once

#include "cuda_source/launch_source.h"

/* Where rung_evaluate_launch() reads and writes, as indices of arrays of long long. Value i is that of parameter i. The
 * sizes of the problem follow, under the names M, N and K, unless the file uses these names for something else. */
enum {
    LAB_LAUNCH_VALUE_M = LAB_CUDA_PARAMETERS_MAX,
    LAB_LAUNCH_VALUE_N,
    LAB_LAUNCH_VALUE_K,
    LAB_LAUNCH_VALUE_BATCH,
    LAB_LAUNCH_VALUE_FIELDS, /* LAB_CUDA_FIELDS_MAX for each parameter that is a struct */
    LAB_LAUNCH_VALUES = LAB_LAUNCH_VALUE_FIELDS + LAB_CUDA_PARAMETERS_MAX * LAB_CUDA_FIELDS_MAX,
    LAB_LAUNCH_RESULT_GRID = 0,
    LAB_LAUNCH_RESULT_BLOCK = 3,
    LAB_LAUNCH_RESULT_SHARED = 6,
    LAB_LAUNCH_RESULT_ARGUMENTS = 8, /* of integer parameters that are not given */
    LAB_LAUNCH_RESULT_BYTES = LAB_LAUNCH_RESULT_ARGUMENTS + LAB_CUDA_PARAMETERS_MAX, /* of structs of values */
    LAB_LAUNCH_STRUCT_BYTES = 64,                                                    /* of each parameter */
    LAB_LAUNCH_RESULTS = LAB_LAUNCH_RESULT_BYTES + LAB_CUDA_PARAMETERS_MAX * LAB_LAUNCH_STRUCT_BYTES / 8
};
enum { LAB_SIGNATURE_BYTES = 16384 }; /* room of the signature's text */

typedef struct lab_launch_program {
    char *text;                                 /* for free() */
    char *name;                                 /* expression that names the kernel: "space::gemm<64, 8>"; for free() */
    bool is_evaluated[LAB_CUDA_PARAMETERS_MAX]; /* by parameter: the argument's value is among the results */
    bool is_copied
        [LAB_CUDA_PARAMETERS_MAX]; /* by parameter: the bytes of the argument, a struct of values, are among the
                                              * results */
    char unknown[256];             /* a value of the launch that only a run of the program knows; "" if all are known */
    char assumed
        [256]; /* type parameters of the launching function that no call gives: "T = float"; "" if all are given */
} lab_launch_program;

/* Writes the program. `evaluates` false leaves out rung_evaluate_launch(), for launches that do not compile. Returns false
 * if memory is exhausted. */
bool lab_launch_program_write(const lab_cuda_outline *outline, const lab_launch_source *source, bool evaluates,
                              lab_launch_program *program);
void lab_launch_program_free(lab_launch_program *program);
