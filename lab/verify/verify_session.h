/* SPDX-License-Identifier: Apache-2.0 */
/* verify_session.h - the state of one `rung verify`, and the steps that share it. Private to lab/verify.
 *
 * If a kernel file is among the kernels, a child process runs them (see supervise.h) and the parent prints. Both share
 * the session, so printing must not use pointers to kernels or devices. */
#pragma once

#include "cli/options.h"
#include "process/supervise.h"
#include "target/sweep.h"
#include "target/target.h"
#include "verify/case_runner.h"
#include "verify/failure_traits.h"
#include "verify/kernel_check.h"

enum {
    LAB_VERIFY_VARIANTS_MAX = 512,
    LAB_VERIFY_FAILURES_MAX = 20, /* stored; all are counted */
    LAB_VERIFY_TIME_LIMIT_SECONDS = 60,
    LAB_VERIFY_SIMULATOR_TIME_FACTOR = 5
};

/* A kernel with one type and one set of parameters, and its counts. */
typedef struct lab_verify_variant {
    const rung_kernel *kernel; /* NULL: rung_gemm */
    char name[256];
    lab_dtype dtype;
    char parameters[LAB_PARAMETERS_BYTES];
    lab_suite suite;
    int64_t cases, wrong, skipped;
    char why_skipped[256];
    int64_t threads, shared_bytes; /* per block of a rejected kernel; 0: unknown */
    lab_failure_counts failure_counts;
} lab_verify_variant;

/* The check of one kernel file. */
typedef struct lab_file_check {
    const rung_kernel *kernel;
    char file[1024];
    lab_kernel_check check;
    bool is_unsafe; /* the kernel was therefore not run on the device */
} lab_file_check;

/* A problem that was wrong or did not run. */
typedef struct lab_verify_failure {
    int variant;
    lab_case problem;
    bool ran, timed_out;
    bool is_confirmed; /* rerun_command was tried and fails */
    char rerun_command[1024 + LAB_PARAMETERS_BYTES];
    char message[4096];
} lab_verify_failure;

/* The case in progress. */
typedef struct lab_running_case {
    int variant;
    lab_case problem;
    int64_t number, count; /* among the cases of the variant */
} lab_running_case;

typedef struct lab_verify_session {
    const lab_options *options;
    lab_target target;
    const char *kernels; /* NULL: all */
    lab_dtype dtypes[LAB_DTYPES_MAX];
    int dtype_count;
    rung_compute compute;
    int64_t batch, splits, repeat, carveout, threads; /* 0: not given */
    lab_epilogue epilogue;
    int64_t seed, every;
    lab_suite suite;
    lab_case single_case; /* if options->m is given */
    double time_limit;    /* seconds per case, 0: none */
    struct {
        char name[64], title[256], platform[128];
        bool is_simulator; /* Oclgrind, which is slow */
    } device;
    lab_verify_variant variants[LAB_VERIFY_VARIANTS_MAX];
    int variant_count;
    lab_verify_failure failures[LAB_VERIFY_FAILURES_MAX]; /* the simplest and smallest, in this order */
    int64_t failure_count;                                /* including those that are not stored */
    lab_file_check file_checks[LAB_KERNELS_MAX];
    int file_check_count;
    lab_running_case running;
    bool is_complete; /* neither interrupted nor ended by a kernel */
} lab_verify_session;

/* Parses the options. Returns LAB_EXIT_SUCCESS, or LAB_EXIT_USAGE after a message. */
int lab_verify_parse_options(lab_verify_session *session);

/* Fills session->variants. Returns an exit code. */
int lab_verify_add_variants(lab_verify_session *session);

bool lab_variant_is_file(const lab_verify_variant *variant);
lab_kernel_traits lab_variant_traits(const lab_verify_variant *variant);

/* Returns the cases of a variant. The caller frees list.cases. */
lab_case_list lab_variant_cases(const lab_verify_session *session, const lab_verify_variant *variant);

/* Returns one problem with each kind of content, as --m runs it. The caller frees list.cases. */
lab_case_list lab_cases_with_each_content(const lab_case *problem);

/* Runs all variants, in a child process if a kernel file is among them. Returns an exit code. */
int lab_verify_execute(lab_verify_session *session);

/* Tells the supervisor which case of a kernel file begins, by the command that reruns the case. */
void lab_verify_begin_case(lab_verify_session *session, const lab_verify_variant *variant,
                           const lab_tested_kernel *subject, const lab_case *problem, int64_t number, int64_t count);

/* Counts the result of a case, and stores it if it is a failure. */
void lab_verify_record_result(lab_verify_session *session, lab_verify_variant *variant,
                              const lab_tested_kernel *subject, const lab_case *problem, const lab_case_result *result);

/* Counts a failure, and stores it if it is among the simplest. */
void lab_verify_insert_failure(lab_verify_session *session, const lab_verify_failure *added);

/* Returns the number of stored failures. */
int lab_verify_stored_failures(const lab_verify_session *session);

/* Tries the commands of the stored failures of a variant, since a command is printed only if it fails, and simplifies
 * the first failure that is confirmed. */
void lab_verify_confirm_failures(lab_verify_session *session, const lab_verify_variant *variant,
                                 const lab_tested_kernel *subject);

/* Returns the sums of the counts of all variants. */
lab_verify_variant lab_verify_totals(const lab_verify_session *session);

/* Prints the result as text, or as JSON with --json. */
void lab_verify_print(const lab_verify_session *session);
