/* SPDX-License-Identifier: Apache-2.0 */
/* oclgrind_check.c - see oclgrind_check.h. */
#include "verify/oclgrind_check.h"

#include <errno.h>
#include <stdarg.h>
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

/* CUDA's limits per block on every architecture; LARGE_SHARED_MAX for dynamic shared memory. */
#define THREADS_MAX "1024"
#define SHARED_MAX "49152"
#define LARGE_SHARED_MAX "233472"

LAB_DEFINE_ENUM_NAME(lab_oclgrind_finding_kind_name, lab_oclgrind_finding_kind, LAB_OCLGRIND_LIST)

static void add_finding(lab_oclgrind_check *check, lab_oclgrind_finding_kind kind, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a finding, once per kind and line, because every thread reports the same bug. */
static void add_finding(lab_oclgrind_check *check, lab_oclgrind_finding_kind kind, int line, const char *format, ...)
{
    va_list arguments;
    for (int i = 0; i < check->count; i++)
        if (check->findings[i].kind == kind && check->findings[i].line == line)
            return;
    if (check->count == LAB_OCLGRIND_FINDINGS_MAX)
        return;
    lab_oclgrind_finding *finding = &check->findings[check->count++];
    finding->kind = kind;
    finding->line = line;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

/* Returns the first line of the source that contains the word, or 0. */
static int find_line(const char *source, const char *word)
{
    const char *found = strstr(source, word);
    int line = 1;
    for (const char *at = source; found && at < found; at++)
        line += *at == '\n';
    return found ? line : 0;
}

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

/* Returns whether the source calls a barrier between two lines, outside of comments that begin with //. */
static bool has_barrier_between(const char *source, int first, int second)
{
    int line = 1;
    for (const char *at = source; *at && line < second; line++) {
        size_t length = strcspn(at, "\n");
        const char *barrier = strstr(at, "__syncthreads"), *comment = strstr(at, "//");
        bool is_here = barrier && barrier < at + length && !(comment && comment < barrier);
        if (line > first && is_here)
            return true;
        at += length + (at[length] == '\n');
    }
    return false;
}

/* One of the two accesses of a race. */
typedef struct race_access {
    int line; /* 0 or less: unknown */
    enum { ACCESS_UNKNOWN, ACCESS_READ, ACCESS_WRITE } kind;
} race_access_t;

/* Reads the next access of an entry: its instruction and then its line. */
static race_access_t next_access(const char **at, const char *end, const char *file)
{
    const char *entity = strstr(*at, "entity:");
    race_access_t access = {.line = next_line(at, end, file)};
    if (entity && entity < *at)
        access.kind = contains(entity, *at, "store ")  ? ACCESS_WRITE
                      : contains(entity, *at, "load ") ? ACCESS_READ
                                                       : ACCESS_UNKNOWN;
    return access;
}

/* Describes the race of two lines; `first` is above `second` in the source. With `in_loop`, the race is between
 * `second` and `first` in the next iteration. */
static void describe_race(race_access_t first, race_access_t second, bool in_loop, char *text, size_t capacity)
{
    if (first.line <= 0 || first.line == second.line || second.line <= 0)
        snprintf(text, capacity, "two threads access the same element, and at least one writes it");
    else if (first.kind == ACCESS_WRITE && second.kind == ACCESS_READ)
        snprintf(text, capacity, "line %d reads what line %d writes%s", second.line, first.line,
                 in_loop ? " in the next iteration" : "");
    else if (first.kind == ACCESS_READ && second.kind == ACCESS_WRITE)
        snprintf(text, capacity, "line %d reads%s what line %d writes", first.line,
                 in_loop ? " in the next iteration" : "", second.line);
    else
        snprintf(text, capacity, "lines %d and %d access the same element%s", first.line, second.line,
                 in_loop ? " in successive iterations" : "");
}

static void read_race(const char *entry, const char *end, const rung_kernel_info *kernel, lab_oclgrind_check *check)
{
    const char *file = lab_base_name(kernel->file), *at = entry;
    race_access_t first = next_access(&at, end, file), second = next_access(&at, end, file);
    bool is_shared = contains(entry, end, "local memory");
    if (first.line <= 0 || (second.line > 0 && second.line < first.line)) {
        race_access_t swapped = first;
        first = second;
        second = swapped;
    }
    bool in_loop = is_shared && first.line > 0 && has_barrier_between(kernel->source, first.line, second.line);
    char text[128];
    describe_race(first, second, in_loop, text, sizeof text);
    add_finding(check, LAB_OCLGRIND_DATA_RACE, first.line > 0 ? first.line : 0, "data race on %s memory: %s; %s",
                is_shared ? "shared" : "global", text,
                !is_shared ? "let one thread compute each element of C"
                : in_loop  ? "put __syncthreads() at the end of the loop body"
                           : "put __syncthreads() between them");
}

/* Reads one entry of the log. */
static void read_entry(const char *entry, const char *end, const rung_kernel_info *kernel, lab_oclgrind_check *check)
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
        add_finding(check, LAB_OCLGRIND_OUT_OF_BOUNDS, line, "out of bounds: %s outside %s; %s",
                    begins_with(entry, "Invalid read") ? "reads" : "writes", is_shared ? "a shared array" : "a matrix",
                    is_shared ? "an index is too large, or the array is too small"
                    : begins_with(entry, "Invalid read")
                        ? "check row and col against the size first, as load_or_zero() does"
                        : "store only if row < m and col < n");
    else if (contains(entry, end, "ninitialized"))
        add_finding(
            check, LAB_OCLGRIND_UNINITIALISED, line,
            "uninitialised: a value that was never written reaches the result; fill the whole tile, with zeros past "
            "the edge, start each sum at 0, and do not read C if beta is 0");
    else if (contains(entry, end, "divergence"))
        add_finding(
            check, LAB_OCLGRIND_DIVERGENT_BARRIER, line,
            "divergent barrier: some threads of a block reach __syncthreads() and others do not; move it out of the "
            "if, and do not return before it");
    else
        add_finding(check, LAB_OCLGRIND_OTHER, line, "Oclgrind reports: %.*s", (int)strcspn(entry, "\n"), entry);
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

/* Drops uninitialised reads that follow from out-of-bounds reads. */
static void drop_follow_up_findings(lab_oclgrind_check *check)
{
    int remaining = 0;
    bool outside = lab_oclgrind_check_is_unsafe(check);
    for (int i = 0; i < check->count; i++)
        if (!outside || check->findings[i].kind != LAB_OCLGRIND_UNINITIALISED)
            check->findings[remaining++] = check->findings[i];
    check->count = remaining;
}

void lab_oclgrind_check_parse_log(const char *log, const rung_kernel_info *kernel, lab_oclgrind_check *check)
{
    const char *at = log + strspn(log, "\n");
    while (*at && check->count < LAB_OCLGRIND_FINDINGS_MAX) {
        const char *end = next_entry(at);
        read_entry(at, end, kernel, check);
        at = end;
    }
    drop_follow_up_findings(check);
}

/* ---- The result of the child ------------------------------------------------------------------------------ */

/* Returns the shared memory per block of the simulated GPU, in bytes. */
static const char *shared_bytes_limit(const rung_kernel_info *kernel)
{
    return strstr(kernel->source, "LARGE_SHARED(") ? LARGE_SHARED_MAX : SHARED_MAX;
}

/* Adds a finding if a block of the rejected kernel exceeds the limits. */
static void read_block_limits(const lab_json_value *result, const rung_kernel_info *kernel, lab_oclgrind_check *check)
{
    long long threads = lab_json_get_integer(result, "threads", 0),
              bytes = lab_json_get_integer(result, "shared_bytes", 0);
    if (threads > atoll(THREADS_MAX))
        add_finding(check, LAB_OCLGRIND_THREADS, find_line(kernel->source, "\nKERNEL(") + 1,
                    "too many threads: a block has %lld, and CUDA allows at most " THREADS_MAX
                    "; make the block smaller, or let "
                    "each thread compute several elements",
                    threads);
    else if (bytes > atoll(shared_bytes_limit(kernel)))
        add_finding(check, LAB_OCLGRIND_SHARED_MEMORY, find_line(kernel->source, "__shared__"),
                    "too much shared memory: a block declares %lld bytes, and CUDA allows " SHARED_MAX
                    " (48 KiB); make the "
                    "tiles smaller, or see LARGE_SHARED in dialect.h",
                    bytes);
}

/* Reads the JSON output of the child. Returns false if the check did not take place. */
static bool read_child_result(const char *path, const rung_kernel_info *kernel, lab_oclgrind_check *check)
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
        add_finding(check, LAB_OCLGRIND_ENDLESS, 0, "on Oclgrind, a simulator, %s",
                    lab_json_get_text(failure, "message", "the kernel did not finish"));
    } else if (is_oclgrind && failure && !lab_json_get_true(failure, "ran")) {
        is_oclgrind = lab_set_reason(check->why_not, sizeof check->why_not, "the kernel did not run");
    } else if (is_oclgrind)
        read_block_limits(lab_json_get(document.root, "by_kernel")->first, kernel, check);
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
static bool read_log(const char *path, const rung_kernel_info *kernel, lab_oclgrind_check *check)
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
                      bool uninitialised, const char *driver, lab_child_files *files, lab_oclgrind_check *check)
{
    enum { PROBLEMS = 3 };
    char errors[2000], limit[32], *file = (char *)kernel->file, *type = (char *)dtype;
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
    const lab_env_variable variables[] = {{"OCL_ICD_VENDORS", driver},
                                          {"OCLGRIND_DATA_RACES", "1"},
                                          {"OCLGRIND_UNINITIALIZED", uninitialised ? "1" : "0"},
                                          {"OCLGRIND_CHECK_API", "1"},
                                          {"OCLGRIND_LOCAL_MEM_SIZE", shared_bytes_limit(kernel)},
                                          {"OCLGRIND_MAX_WGSIZE", THREADS_MAX},
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
        add_finding(check, LAB_OCLGRIND_ENDLESS, 0,
                    "the check on Oclgrind did not finish within %g s; check that each loop of the kernel ends",
                    total_seconds);
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
                               lab_oclgrind_check *check)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    char driver[LAB_EXECUTABLE_PATH_BYTES];
    lab_child_files files;
    memset(check, 0, sizeof *check);
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

bool lab_oclgrind_check_is_unsafe(const lab_oclgrind_check *check)
{
    for (int i = 0; i < check->count; i++)
        if (check->findings[i].kind == LAB_OCLGRIND_OUT_OF_BOUNDS || check->findings[i].kind == LAB_OCLGRIND_ENDLESS ||
            check->findings[i].kind == LAB_OCLGRIND_DIVERGENT_BARRIER)
            return true;
    return false;
}
