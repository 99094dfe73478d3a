/* SPDX-License-Identifier: Apache-2.0 */
/* program_file.h - reads from a program's ELF file how it uses CUDA, so that `rung emulate` can prepare its libraries or say what
 * to rebuild. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef enum lab_program_runtime {
    LAB_RUNTIME_NONE,    /* the program does not contain kernels of nvcc */
    LAB_RUNTIME_SHARED,  /* it needs libcudart.so */
    LAB_RUNTIME_STATIC,  /* it contains the static runtime, and its symbol table says where */
    LAB_RUNTIME_STRIPPED /* it contains the static runtime, and has no symbol table */
} lab_program_runtime;

typedef struct lab_program {
    bool is_elf; /* false for scripts; nothing else is known then */
    lab_program_runtime runtime;
    int runtime_major;                   /* of the static runtime: 11, 12 or 13 */
    bool has_fat_binary, is_relocatable; /* relocatable: nvcc -rdc=true */
    int ptx_count, ptx_lowest;           /* entries of PTX, and the lowest architecture of them: 75 for compute_75 */
    int cubin_count, cubin_highest;      /* entries of SASS */
    const char *closed_library; /* of NVIDIA, which has kernels without PTX, for example "libcublas.so"; or NULL */
} lab_program;

/* Finds a program as a shell does: by its path, or in the folders of PATH. Returns false if it cannot be executed. */
bool lab_program_find(const char *name, char *path, size_t capacity);

/* Says in one sentence why a program was not found. */
void lab_program_explain_missing(const char *name, char *why, size_t capacity);

/* Finds the folder of the emulated libcuda.so.1 and libcudart.so: beside the command in a build tree, else the installed one.
 * Returns false if the folder was not found. */
bool lab_program_libraries_find(char *folder, size_t capacity);

/* Reads a program's file. Returns false with a sentence in `why` if the file cannot be read. */
bool lab_program_read(const char *path, lab_program *program, char *why, size_t capacity);

/* Says in one sentence why the program cannot run on an emulated GPU of `architecture`, and what to rebuild. Returns false if
 * the program can run. */
bool lab_program_refuse(const lab_program *program, int architecture, char *why, size_t capacity);
