/* SPDX-License-Identifier: Apache-2.0 */
/* oclgrind_check.c - see oclgrind_check.h. */
#include "verify/oclgrind_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "common/enum_names.h"
#include "common/failure.h"
#include "common/text.h"
#include "io/json_reader.h"
#include "process/oclgrind_process.h"
#include "target/target.h"

/* ---- Oclgrind's log ----------------------------------------------------------------------------------- */

/* Reads the next "At line N (column C) of FILE" before `end`. Returns the line, 0 for another file (such as dialect.h),
 * or -1 if there is none. */
static int next_line(const char **at, const char *end, const char *file)
{
    const char *found = strstr(*at, "At line ");
    if (!found || found >= end)
        return -1;
    const char *of = strstr(found, " of "), *name = of ? of + 4 : "";
    size_t length = strcspn(name, ":\n");
    int line = atoi(found + 8);
    *at = found + 8;
    while (length > 0 && memchr(name, '/', length)) {
        size_t skipped = strcspn(name, "/") + 1;
        name += skipped;
        length -= skipped;
    }
    return strlen(file) == length && strncmp(name, file, length) == 0 ? line : 0;
}

static bool begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static bool contains(const char *text, const char *end, const char *word)
{
    const char *found = strstr(text, word);
    return found && found < end;
}

/* Reads the next access of an entry: its instruction and then its line. */
static lab_race_access next_access(const char **at, const char *end, const char *file)
{
    const char *entity = strstr(*at, "entity:");
    lab_race_access access = {.line = next_line(at, end, file)};
    if (entity && entity < *at)
        access.kind = contains(entity, *at, "store ")  ? LAB_RACE_WRITE
                      : contains(entity, *at, "load ") ? LAB_RACE_READ
                                                       : LAB_RACE_UNKNOWN;
    return access;
}

static void read_race(const char *entry, const char *end, const rung_kernel_info *kernel, lab_kernel_check *check)
{
    const char *file = lab_base_name(kernel->file), *at = entry;
    lab_race_access first = next_access(&at, end, file), second = next_access(&at, end, file);
    lab_kernel_check_add_race(check, kernel->source, first, second, contains(entry, end, "local memory"));
}

/* Reads one entry of the log. */
static void read_entry(const char *entry, const char *end, const rung_kernel_info *kernel, lab_kernel_check *check)
{
    const char *at = entry, *file = lab_base_name(kernel->file);
    bool is_shared = contains(entry, end, "local memory");
    if (contains(entry, end, "runtime error detected") || contains(entry, end, "errors generated"))
        return; /* an OpenCL error, which the library reports in detail, or the summary */
    if (begins_with(entry, "Read-write data race") || begins_with(entry, "Write-write data race")) {
        read_race(entry, end, kernel, check);
        return;
    }
    int line = next_line(&at, end, file);
    line = line < 0 ? 0 : line;
    if (begins_with(entry, "Invalid read") || begins_with(entry, "Invalid write"))
        lab_kernel_check_add_out_of_bounds(check, line, begins_with(entry, "Invalid read"), is_shared);
    else if (contains(entry, end, "ninitialized"))
        lab_kernel_check_add_uninitialised(check, line);
    else if (contains(entry, end, "divergence"))
        lab_kernel_check_add_divergent_barrier(check, line);
    else
        lab_kernel_check_add(check, LAB_FINDING_OTHER, line, "Oclgrind reports: %.*s", (int)strcspn(entry, "\n"),
                             entry);
}

/* Returns the next entry. Entries start in the first column; their details are indented. */
static const char *next_entry(const char *at)
{
    while (*at) {
        at += strcspn(at, "\n");
        at += *at == '\n';
        if (*at && *at != '\t' && *at != ' ' && *at != '\n')
            return at;
    }
    return at;
}

void lab_oclgrind_check_parse_log(const char *log, const rung_kernel_info *kernel, lab_kernel_check *check)
{
    const char *at = log + strspn(log, "\n");
    while (*at && check->count < LAB_KERNEL_FINDINGS_MAX) {
        const char *end = next_entry(at);
        read_entry(at, end, kernel, check);
        at = end;
    }
    lab_kernel_check_drop_follow_ups(check);
}

/* ---- The result of the child ------------------------------------------------------------------------------ */

/* Adds a finding if a block of the rejected kernel exceeds the limits. */
static void add_block_limits(const lab_json_value *result, const rung_kernel_info *kernel, lab_kernel_check *check)
{
    lab_kernel_check_add_block_limits(check, kernel, lab_json_get_integer(result, "threads", 0),
                                      lab_json_get_integer(result, "shared_bytes", 0));
}

/* Reads the JSON output of the child. Returns false if the check did not take place. */
static bool read_child_result(const char *path, const rung_kernel_info *kernel, lab_kernel_check *check)
{
    lab_json_document document;
    char why[256];
    if (!lab_json_document_load(path, &document, why, sizeof why))
        return lab_set_reason(check->why_not, sizeof check->why_not, "the result of the check cannot be read: %s", why);
    const char *platform = lab_json_get_text(document.root, "platform", "");
    bool is_oclgrind = strcmp(platform, "Oclgrind") == 0;
    const lab_json_value *failure = lab_json_get(document.root, "failures")->first;
    if (is_oclgrind && failure && lab_json_get_true(failure, "timed_out")) {
        check->is_endless = true;
        lab_kernel_check_add(check, LAB_FINDING_ENDLESS, 0, "on Oclgrind, a simulator, %s",
                             lab_json_get_text(failure, "message", "the kernel did not finish"));
    } else if (is_oclgrind && failure && !lab_json_get_true(failure, "ran")) {
        is_oclgrind = lab_set_reason(check->why_not, sizeof check->why_not, "the kernel did not run");
    } else if (is_oclgrind)
        add_block_limits(lab_json_get(document.root, "by_kernel")->first, kernel, check);
    else
        snprintf(check->why_not, sizeof check->why_not,
                 "the OpenCL loader chose %s instead of Oclgrind; install ocl-icd's libOpenCL "
                 "(Debian: ocl-icd-libopencl1)",
                 platform);
    lab_json_document_free(&document);
    return is_oclgrind;
}

/* ---- The child --------------------------------------------------------------------------------------------- */

/* Reads the log of the child. Returns false if it cannot be interpreted. */
static bool read_log(const char *path, const rung_kernel_info *kernel, lab_kernel_check *check)
{
    enum { LOG_BYTES_MAX = 1 << 20 };
    char *log = malloc(LOG_BYTES_MAX);
    if (log)
        lab_file_read_prefix(path, log, LOG_BYTES_MAX);
    bool is_supported = log && !strstr(log, "Unsupported instruction");
    check->count = 0;
    if (is_supported)
        lab_oclgrind_check_parse_log(log, kernel, check);
    else
        snprintf(check->why_not, sizeof check->why_not, "%s",
                 log ? "Oclgrind does not support an instruction of the compiled kernel" : "not enough memory");
    free(log);
    return is_supported;
}

/* Runs the 1st, 14th and 27th problem of the suite edges, whose sizes are a tile minus one, a tile and a tile plus one
 * in each direction. Returns false if the child failed or used another driver. */
static bool run_child(const rung_kernel_info *kernel, const char *parameters, const char *dtype, double seconds,
                      bool uninitialised, const char *driver, lab_child_files *files, lab_kernel_check *check)
{
    enum { PROBLEMS = 3 };
    char errors[2000], limit[32], shared_limit[32], threads_limit[32], *file = (char *)kernel->file,
                                                                       *type = (char *)dtype;
    double total_seconds = (PROBLEMS + 1) * seconds;
    int code = -1;
    char *argv[] = {NULL,
                    "verify",
                    "--device",
                    "opencl",
                    "--kernels",
                    file,
                    "--suite",
                    "edges",
                    "--every",
                    "13",
                    "--json",
                    "--quiet",
                    "--time-limit",
                    limit,
                    "--dtype",
                    type,
                    parameters ? "--params" : NULL,
                    (char *)parameters,
                    NULL};
    snprintf(shared_limit, sizeof shared_limit, "%lld", (long long)lab_kernel_check_shared_limit(kernel));
    snprintf(threads_limit, sizeof threads_limit, "%d", LAB_THREADS_MAX);
    const lab_env_variable variables[] = {{"OCL_ICD_VENDORS", driver},
                                          {"OCLGRIND_DATA_RACES", "1"},
                                          {"OCLGRIND_UNINITIALIZED", uninitialised ? "1" : "0"},
                                          {"OCLGRIND_CHECK_API", "1"},
                                          {"OCLGRIND_LOCAL_MEM_SIZE", shared_limit},
                                          {"OCLGRIND_MAX_WGSIZE", threads_limit},
                                          {"OCLGRIND_MAX_ERRORS", "1000"},
                                          {"OCLGRIND_LOG", files->log}};
    snprintf(limit, sizeof limit, "%.17g", seconds);
    bool ended = lab_rung_child_run(argv, variables, sizeof variables / sizeof *variables, files->output, files->errors,
                                    total_seconds, &code);
    if (!read_log(files->log, kernel, check))
        return false;
    lab_file_read_prefix(files->errors, errors, sizeof errors);
    if (ended && (code == LAB_EXIT_SUCCESS || code == LAB_EXIT_WRONG || code == LAB_EXIT_UNAVAILABLE))
        return read_child_result(files->output, kernel, check);
    check->is_endless = code == LAB_CHILD_TIMED_OUT;
    if (check->is_endless)
        lab_kernel_check_add(
            check, LAB_FINDING_ENDLESS, 0,
            "the check on Oclgrind did not finish within %g s; check that each loop of the kernel ends", total_seconds);
    else if (code == LAB_CHILD_INTERRUPTED)
        snprintf(check->why_not, sizeof check->why_not, "the check was interrupted");
    else
        snprintf(check->why_not, sizeof check->why_not, "Oclgrind failed: %.*s",
                 (int)strcspn(lab_child_message(errors), "\n"), lab_child_message(errors));
    return check->count > 0;
}

/* If Oclgrind aborts, runs it again without the check for uninitialised reads, which does not support the instruction
 * that LLVM emits for / and % by the same value. */
void lab_oclgrind_check_kernel(const rung_kernel *kernel, const char *parameters, const char *dtype, double seconds,
                               lab_kernel_check *check)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    char driver[LAB_EXECUTABLE_PATH_BYTES];
    lab_child_files files;
    memset(check, 0, sizeof *check);
    check->checker = "Oclgrind";
    lab_oclgrind_find(driver, sizeof driver);
    if (!*driver) {
        snprintf(check->why_not, sizeof check->why_not,
                 "Oclgrind was not found; install it (Debian: oclgrind), or set RUNG_OCLGRIND to the path of its "
                 "liboclgrind-rt-icd.so");
        return;
    }
    if (!lab_child_files_create(&files)) {
        lab_temporary_error_text(errno, check->why_not, sizeof check->why_not);
        return;
    }
    if (!parameters && lab_kernel_has_preset(kernel, "tiny"))
        parameters = "tiny";
    check->ran = run_child(info, parameters, dtype, seconds, true, driver, &files, check);
    if (!check->ran && !check->is_endless && !lab_is_interrupted()) {
        check->is_partial = true;
        check->ran = run_child(info, parameters, dtype, seconds, false, driver, &files, check);
    }
    lab_child_files_remove(&files);
}
