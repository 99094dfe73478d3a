/* SPDX-License-Identifier: Apache-2.0 */
/* check_session.h - the state of rung check, shared by the files of this folder. */
#pragma once

#include <stdlib.h>

#include "check/launch_line.h"
#include "cuda_source/cuda_compiler.h"
#include "cuda_source/cuda_outline.h"
#include "cuda_source/source_options.h"
#include "findings/finding_list.h"
#include "rung/emulator.h"

enum { LAB_CHECK_PARAMETER_BYTES = 4096, LAB_CHECK_NAME_BYTES = 128, LAB_CHECK_ARRAYS_MAX = 256 };

/* Formats a string view with "%.*s". */
#define LAB_VIEW(view) (int)(view).length, (view).text

/* One array in the memory of the emulator. Launches that use the same name share it. */
typedef struct lab_check_array {
    char name[LAB_CHECK_NAME_BYTES];
    lab_element_type type;
    int64_t count, bytes;
    uint64_t address;
    const lab_launch_argument *origin; /* the first argument that describes the array */
    bool is_variable;                  /* of the module, which has the memory */
} lab_check_array;

/* A pointer among the parameters of a launch. */
typedef struct lab_check_pointer {
    const lab_launch_argument *argument;
    int64_t offset; /* in the parameter buffer; -1 for a variable of the module */
    int64_t count;  /* of elements; 0 for the name of another array */
    uint64_t variable;
    int64_t variable_bytes;
    lab_check_array *array;
    bool is_first; /* the launch creates the array */
} lab_check_pointer;

/* One launch, evaluated. */
typedef struct lab_check_launch {
    const lab_launch_line *line;
    char *name;      /* with template arguments, as the compiler takes it; for free() */
    int source_line; /* of the kernel; 0 if unknown */
    rung_emulator_kernel *kernel;
    uint32_t grid[3], block[3], cluster[3];
    int64_t shared_bytes;
    unsigned char parameters[LAB_CHECK_PARAMETER_BYTES];
    int64_t parameter_bytes;
    lab_check_pointer pointers[LAB_LINE_ARGUMENTS_MAX];
    int pointer_count;
} lab_check_launch;

/* An array of --expect. */
typedef struct lab_check_expectation {
    char name[LAB_CHECK_NAME_BYTES], file[512];
    const lab_check_array *array;
    int64_t wrong; /* elements */
    int64_t first; /* index of the first wrong element */
    double got, expected;
    double largest; /* difference of an element that is not NaN */
} lab_check_expectation;

enum { LAB_CHECK_EXPECTATIONS_MAX = 32 };

typedef struct lab_check_session {
    const char *path;
    char *text;
    size_t bytes;
    bool is_ptx;
    lab_source_options source_options; /* of CUDA files */
    int architecture;                  /* 0: the target of a PTX file */
    double seconds;                    /* limit of a launch, in million instructions of a warp; 0: none */
    double tolerance;                  /* of --tolerance; negative: by type */
    int64_t repeat;
    bool counts_accesses;
    bool is_unoptimised;      /* compile without optimisation */
    FILE *output;             /* of printf() in kernels */
    lab_cuda_outline outline; /* of CUDA files */
    lab_cuda_code code;
    lab_launch_lines lines;
    lab_check_launch *launches;
    lab_check_array arrays[LAB_CHECK_ARRAYS_MAX];
    int array_count;
    lab_check_expectation expectations[LAB_CHECK_EXPECTATIONS_MAX];
    int expectation_count;
    rung_emulator *emulator;
    rung_emulator_module *module;
    int64_t cases; /* launches that ran */
    lab_finding_list findings;
    bool has_hidden_cause; /* a kernel executed a trap that has no line: the compiler put it there */
    char stopped[1024];    /* why a launch did not end; "" if all did */
} lab_check_session;

/* Compiles a CUDA file and evaluates its launches, or loads a PTX file. They return false with a sentence for the user. */
bool lab_check_open_cuda(lab_check_session *session, char *why, size_t capacity);
bool lab_check_open_ptx(lab_check_session *session, char *why, size_t capacity);

/* Creates the emulator and loads PTX. */
bool lab_check_load(lab_check_session *session, const char *ptx, size_t bytes, char *why, size_t capacity);

/* Adds a pointer to a launch. Returns false if there is no room. */
bool lab_check_add_pointer(lab_check_launch *launch, const lab_launch_argument *argument, int64_t offset,
                           int64_t count);

/* Adds a variable of the module in global or constant memory, which an array fills. Returns false if the name is
 * unknown. */
bool lab_check_add_variable(lab_check_session *session, lab_check_launch *launch, const lab_launch_argument *argument,
                            int64_t count);

/* Returns whether the text of an argument names an array of the launch lines up to this one. */
bool lab_check_names_array(const lab_check_session *session, const lab_launch_line *line, rungi_string_view name);

/* Writes "--launch" or "line 3", with the number of the launch if there are several. */
const char *lab_check_place(const lab_check_session *session, const lab_launch_line *line, char *text, size_t capacity);

/* Finds the arrays of all launches and of --expect, and checks their sizes, before any is allocated. */
bool lab_check_plan(lab_check_session *session, char *why, size_t capacity);

/* Allocates an array, and writes contents to it. */
bool lab_check_allocate(lab_check_session *session, lab_check_array *array, char *why, size_t capacity);
bool lab_check_fill(lab_check_session *session, const lab_check_array *array, const lab_launch_argument *argument,
                    char *why, size_t capacity);

/* Finds an array by name; NULL if no array has the name. */
lab_check_array *lab_check_find_array(lab_check_session *session, rungi_string_view name);

/* Reads --expect, and compares the arrays with the files. */
bool lab_check_read_expectations(lab_check_session *session, const char *list, char *why, size_t capacity);
bool lab_check_compare(lab_check_session *session, lab_check_expectation *expectation, char *why, size_t capacity);

/* Runs all launches. Returns false with a sentence if the description of a launch is invalid; a kernel that traps or does
 * not end is a finding. */
bool lab_check_run_launches(lab_check_session *session, char *why, size_t capacity);

/* Print the result as text or JSON. */
void lab_check_print(lab_check_session *session);
void lab_check_write_json(lab_check_session *session);
