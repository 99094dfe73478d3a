/* SPDX-License-Identifier: Apache-2.0 */
/* task_code.h - a CUDA file for a task: a submission, or a reference.cu. It is compiled in a child process that can read no
 * file of the user, and its launches are described by lines // rung: of the file.
 *
 * Parameters of a kernel are arguments of the task, by name, or by position if the kernel has the task's name and number
 * of parameters. Other parameters are given in the launch line: a number, or an array of its own that the launches share. */
#pragma once

#include "check/launch_line.h"
#include "cuda_source/compile_job.h"
#include "cuda_source/cuda_outline.h"
#include "grade/task.h"

enum { LAB_CONSTANTS_MAX = 32 };

typedef enum lab_parameter_kind {
    LAB_PARAMETER_ARGUMENT, /* of the task */
    LAB_PARAMETER_OWN_ARRAY,
    LAB_PARAMETER_NUMBER
} lab_parameter_kind;

typedef struct lab_task_parameter {
    lab_parameter_kind kind;
    int argument;                   /* of the task */
    const lab_launch_argument *own; /* of the launch line: the array, or the number */
    bool is_pointer, is_float;
} lab_task_parameter;

typedef struct lab_task_launch {
    const lab_launch_line *line;
    int function;   /* of the outline */
    char name[512]; /* for the compiler: with scope and template arguments */
    lab_task_parameter parameters[LAB_CUDA_PARAMETERS_MAX];
} lab_task_launch;

typedef struct lab_task_code {
    const lab_task *task;
    const char *path; /* as the user gave it */
    char *text;
    size_t bytes;
    lab_cuda_outline outline;
    lab_launch_lines lines;
    lab_task_launch *launches;                     /* one per line */
    lab_integer_name constants[LAB_CONSTANTS_MAX]; /* #define NAME INTEGER and constexpr int NAME = INTEGER */
    int constant_count;
    lab_cuda_code code;
} lab_task_code;

/* Limits of the compiler: seconds of processor time (at most; a caller may allow less) and memory. */
enum { LAB_TASK_COMPILE_SECONDS = 20, LAB_TASK_COMPILE_MIB = 2048 };

/* Reads and compiles a file, in at most `seconds` of processor time. `reference_launch` is NULL for a submission. For a
 * reference it describes the launch if the file has no lines // rung:, and constants of the file get the values of the task's
 * variant. Returns false with a sentence for the author of the file; *status says whether the compiler rejected the file or is
 * missing. Call lab_task_code_close() in every case. */
bool lab_task_code_open(const lab_task *task, const char *path, const char *kernel, const char *reference_launch,
                        double seconds, lab_task_code *code, lab_cuda_compile_status *status, char *why,
                        size_t capacity);
void lab_task_code_close(lab_task_code *code);

/* Evaluates an expression of a launch line, which may use sizes, size arguments of the task and constants of the file. */
bool lab_task_code_evaluate(const lab_task_code *code, const int64_t *sizes, rungi_string_view expression,
                            int64_t *value, char *why, size_t capacity);

/* The name under which the file is compiled. It is in a folder that cannot exist, so that the compiler finds no file there. */
void lab_task_compiled_path(const char *path, char *compiled, size_t capacity);
