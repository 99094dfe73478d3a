/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_kernel.h - a matrix-multiplication kernel of a plain CUDA file, compiled and loaded into the emulator. */
#pragma once

#include "cuda_source/cuda_compiler.h"
#include "cuda_source/cuda_outline.h"
#include "cuda_source/launch_program.h"
#include "plain_gemm/gemm_roles.h"
#include "plain_gemm/launch_options.h"
#include "plain_gemm/plain_options.h"
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
    const char *text;
    size_t bytes;
    lab_cuda_outline outline;
    lab_launch_options options; /* of the command line */
    lab_launch_lines lines;     /* of comments */
} lab_gemm_file;

typedef struct lab_gemm_kernel {
    const lab_gemm_file *file;
    char *name;      /* with template arguments, as the compiler takes it */
    char title[256]; /* for people */
    int line;
    lab_launch_options options; /* of the command line, completed by a comment line */
    int64_t until;              /* see lab_gemm_settings */
    lab_launch_source source;
    bool is_launch_refused; /* the file compiles, but its launch could not be evaluated */
    char assumed[256];      /* what the file does not say: "T = float"; "" if nothing is assumed */
    char unknown[256];      /* of the launch, before the program runs; "" if everything is known */
    bool is_evaluated[LAB_CUDA_PARAMETERS_MAX], is_copied[LAB_CUDA_PARAMETERS_MAX]; /* see lab_launch_program */
    lab_cuda_code code;
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *handle, *evaluate;
    lab_gemm_slot slots[LAB_GEMM_SLOTS_MAX];
    int slot_count;
    int64_t parameter_bytes;
    int64_t fixed[3];    /* sizes m, n and k that are constants of the file; 0: any */
    char constants[256]; /* these constants: "N = 512 in line 1"; "" if the file has none */
} lab_gemm_kernel;

/* Reads the outline and the comment lines of a file. `options` are those of the command line. The file's text must live
 * until lab_gemm_file_close(), which is called in every case. */
bool lab_gemm_file_open(const lab_plain_file *plain, const lab_launch_options *options, lab_gemm_file *file, char *why,
                        size_t capacity);
void lab_gemm_file_close(lab_gemm_file *file);

/* Returns whether a function of the outline is a kernel that can multiply: its parameters have three pointers, or structs.
 * With a kernel in the options, or in every comment line, only kernels of these names count. */
bool lab_gemm_is_candidate(const lab_gemm_file *file, int function);

/* Writes "the launch in line 40" or "the launches in lines 40, 52". */
void lab_gemm_name_launches(const char *lines, char *text, size_t capacity);

enum { LAB_GEMM_LAUNCHES_MAX = 8 };

/* The launches of a kernel in the host code. */
typedef struct lab_gemm_launches {
    const lab_cuda_launch *items[LAB_GEMM_LAUNCHES_MAX]; /* one per configuration; NULL if the file has no launch */
    char lines[LAB_GEMM_LAUNCHES_MAX][64];               /* of all launches with the configuration: "40, 52" */
    int count;                                           /* at least 1 */
    char parts[64];                                      /* lines of launches that multiply parts of matrices */
    char dropped[64];                                    /* lines of launches with more configurations than fit */
} lab_gemm_launches;

/* Lists the launches of a kernel whose configurations differ. A later launch of parts of matrices, such as A + offset, is
 * no whole multiplication and is left out. Returns false if memory is exhausted or the options are invalid. */
bool lab_gemm_find_launches(const lab_gemm_file *file, int function, lab_gemm_launches *launches, char *why,
                            size_t capacity);

/* A warp that executes more instructions than this per second of the time limit is said to be in an infinite loop. All
 * warps of a block may be, and the launch must end before the time does. */
enum { LAB_GEMM_INSTRUCTIONS_PER_SECOND = 100000 };

typedef struct lab_gemm_settings {
    int architecture;
    double seconds;             /* limit of the instructions of a warp, see above; 0: none */
    int64_t until;              /* time of lab_now_ns() when everything must end; 0: none */
    const char *const *options; /* of the compiler, such as -DTILE=32 */
    int option_count;
    bool wants_cubin; /* also compile for the GPU, for registers and SASS; the log then has ptxas's report */
} lab_gemm_settings;

/* Compiles and loads a kernel, and finds the roles of its parameters. `launch` is from lab_gemm_find_launches(). The kernel
 * must not move. Call lab_gemm_kernel_close() in every case. */
bool lab_gemm_kernel_open(const lab_gemm_file *file, int function, const lab_cuda_launch *launch,
                          const lab_gemm_settings *settings, lab_gemm_kernel *kernel, char *why, size_t capacity);
void lab_gemm_kernel_close(lab_gemm_kernel *kernel);

/* Returns whether the time of the settings is over. Launches then stop. */
bool lab_gemm_is_late(const lab_gemm_kernel *kernel);

/* How to launch the kernel for one problem. */
typedef struct lab_gemm_launch {
    uint32_t grid[3], block[3];
    int64_t shared_bytes;
    int64_t arguments[LAB_CUDA_PARAMETERS_MAX];                              /* where kernel->is_evaluated */
    unsigned char structs[LAB_CUDA_PARAMETERS_MAX][LAB_LAUNCH_STRUCT_BYTES]; /* where kernel->is_copied */
} lab_gemm_launch;

/* Evaluates the launch for the values of the slots (those of integers) and the sizes m, n, k and batch. */
bool lab_gemm_evaluate(lab_gemm_kernel *kernel, const int64_t *values, const int64_t sizes[4], lab_gemm_launch *launch,
                       char *why, size_t capacity);
