/* SPDX-License-Identifier: Apache-2.0 */
/* explain_internal.h - the steps of lab_explain() and the job list, for lab/explain only. */
#pragma once

#include <pthread.h>

#include "explain/explain.h"

/* ---- One explanation ---- */

/* The same kernel file for both backends, and its code. */
typedef struct lab_backend_kernels {
    rung_kernel *opencl_kernel; /* describes the kernel, also in a library without CUDA */
    rung_kernel *cuda_kernel;   /* compiled and run on the emulator; NULL in a library without CUDA */
    rung_code *code;            /* NULL if it was not compiled */
} lab_backend_kernels;

/* Returns the value of a parameter expression for this explanation, or `otherwise` if the kernel has no such
 * parameter. */
int64_t lab_explain_parameter(const lab_backend_kernels *kernels, const lab_explanation *explanation, rung_type in,
                              const char *expression, int64_t otherwise);

/* Returns the problem of a request, without memory. In compiled_kernel.c. */
rung_problem lab_explain_problem(const lab_explain_request *request);

/* Compiles and disassembles the kernel (compiled_kernel.c). Returns false, with a sentence, if the request is invalid. */
bool lab_explain_compile(const lab_explain_request *request, lab_backend_kernels *kernels, lab_explanation *explanation,
                         char *why, size_t capacity);

/* Counts the memory accesses of one block (access_counts.c). */
void lab_explain_count_accesses(const lab_explain_request *request, const lab_backend_kernels *kernels,
                                lab_explanation *explanation);

/* ---- Job list ---- */

enum { LAB_EXPLAIN_JOBS_MAX = 256 };

/* A request, its explanation, and the reported speed to compare with. */
typedef struct lab_explain_job {
    lab_explain_request request;
    char kernel_name[64], params[RUNG_PARAMETERS_BYTES]; /* of a row of a table */
    double table_gflops;                                 /* reported speed; 0: none */
    char note[128];
    lab_explanation explanation;
    bool good, is_next_kernel; /* is_next_kernel: added after the requested kernel */
    char why[4096];
} lab_explain_job;

struct lab_explain_jobs {
    lab_explain_request defaults;
    bool is_dtype_default;
    lab_explain_job jobs[LAB_EXPLAIN_JOBS_MAX];
    int count, next, done; /* next: the first job that no worker has started */
    pthread_mutex_t lock;
};

/* Adds a job with the default request; NULL if the list is full. */
lab_explain_job *lab_explain_jobs_add(lab_explain_jobs *jobs, const char *kernel);

/* Writes the first line of why a job has no prediction. */
void lab_explain_job_reason(const lab_explain_job *job, char *text, size_t capacity);

/* Prints the rows of a reported table beside the predictions (reported_table.c). */
void lab_explain_print_reported(const lab_explain_jobs *jobs);
