/* SPDX-License-Identifier: Apache-2.0 */
/* checker.c - see checker.h. */
#include "checker.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "simulator.h"
#include "target.h"
#include "value.h"

/* CUDA's limits for a block whose shared memory is declared: those of every architecture. */
#define THREADS_MAX "1024"
#define SHARED_MAX "49152"
#define LARGE_SHARED_MAX "233472"

const char *lab_remark_kind_name(lab_remark_kind kind)
{
    static const char *const names[] = {
#define X(name, word) word,
        LAB_REMARK_LIST(X)
#undef X
    };
    return names[kind];
}

static void add(lab_check *check, lab_remark_kind kind, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Once a kind and line: a race shows at every thread. */
static void add(lab_check *check, lab_remark_kind kind, int line, const char *format, ...)
{
    va_list arguments;
    for (int i = 0; i < check->count; i++)
        if (check->remarks[i].kind == kind && check->remarks[i].line == line)
            return;
    if (check->count == LAB_REMARKS_MAX)
        return;
    lab_remark *remark = &check->remarks[check->count++];
    remark->kind = kind;
    remark->line = line;
    va_start(arguments, format);
    vsnprintf(remark->text, sizeof remark->text, format, arguments);
    va_end(arguments);
}

/* The first line of a source that has this word, 0 if none has. */
static int line_of(const char *source, const char *word)
{
    const char *found = strstr(source, word);
    int line = 1;
    for (const char *at = source; found && at < found; at++)
        line += *at == '\n';
    return found ? line : 0;
}

/* ---- Oclgrind's log ----------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The next "At line N (column C) of FILE" before `end`, 0 where the file is another: what a word of
 * the dialect does stands in its header. */
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

static bool begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

static bool has(const char *text, const char *end, const char *word)
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

static void read_race(const char *entry, const char *end, const rung_kernel_info *kernel, lab_check *check)
{
    const char *file = base_name(kernel->file);
    const char *at = entry;
    int first = next_line(&at, end, file), second = next_line(&at, end, file);
    bool shared = has(entry, end, "local memory");
    int upper = first > 0 && (second <= 0 || first < second) ? first : second;
    int lower = upper == first ? second : first, line = upper > 0 ? upper : 0;
    char other[64] = "";
    if (lower > 0 && lower != upper)
        snprintf(other, sizeof other, " and in line %d", lower);
    if (shared && line > 0 && lower > upper && has_barrier_between(kernel->source, upper, lower))
        add(check, LAB_REMARK_DATA_RACE, line,
            "data race: threads of a block access the same place of shared memory in line %d in one iteration and in "
            "line %d in the next, with no barrier in between; put __syncthreads() at the end of the loop body",
            lower, upper);
    else if (shared)
        add(check, LAB_REMARK_DATA_RACE, line,
            "data race: threads of a block write and read the same place of shared memory here%s with no barrier in "
            "between; put __syncthreads() between them",
            other);
    else
        add(check, LAB_REMARK_DATA_RACE, line,
            "data race: two threads %s the same place of global memory here%s; each element of C is one thread's",
            has(entry, end, "Write-write") ? "write" : "write and read", other);
}

/* One entry, from its first line to the next one's. */
static void read_entry(const char *entry, const char *end, const rung_kernel_info *kernel, lab_check *check)
{
    const char *at = entry, *file = base_name(kernel->file);
    bool shared = has(entry, end, "local memory");
    if (has(entry, end, "runtime error detected") || has(entry, end, "errors generated"))
        return; /* a call of the library's, which says more itself; and that there were many */
    if (begins(entry, "Read-write data race") || begins(entry, "Write-write data race")) {
        read_race(entry, end, kernel, check);
        return;
    }
    int line = next_line(&at, end, file);
    line = line < 0 ? 0 : line;
    if (begins(entry, "Invalid read") || begins(entry, "Invalid write"))
        add(check, LAB_REMARK_OUT_OF_BOUNDS, line, "out of bounds: %s outside %s; %s",
            begins(entry, "Invalid read") ? "reads" : "writes", shared ? "a shared array" : "a matrix",
            shared                          ? "an index is too large, or a tile too small"
            : begins(entry, "Invalid read") ? "look whether row and column are inside first, as load_or_zero() does"
                                            : "only threads with row < m and col < n may store");
    else if (has(entry, end, "ninitialized"))
        add(check, LAB_REMARK_UNINITIALISED, line,
            "uninitialised: what nobody has written reaches the result; write every element of a tile, zeros past the "
            "edge, begin every sum with 0, and do not read C where beta is 0");
    else if (has(entry, end, "divergence"))
        add(check, LAB_REMARK_DIVERGENT_BARRIER, line,
            "divergent barrier: some threads of a block come to __syncthreads() and others do not; put it outside of "
            "the if, and return early nowhere before it");
    else
        add(check, LAB_REMARK_OTHER, line, "Oclgrind says: %.*s", (int)strcspn(entry, "\n"), entry);
}

/* Entries begin at the margin; what belongs to them is indented. */
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

/* What was read outside was never written either: one word for one mistake. */
static void drop_consequences(lab_check *check)
{
    int kept = 0;
    bool outside = lab_check_is_dangerous(check);
    for (int i = 0; i < check->count; i++)
        if (!outside || check->remarks[i].kind != LAB_REMARK_UNINITIALISED)
            check->remarks[kept++] = check->remarks[i];
    check->count = kept;
}

void lab_check_read_log(const char *log, const rung_kernel_info *kernel, lab_check *check)
{
    const char *at = log + strspn(log, "\n");
    while (*at && check->count < LAB_REMARKS_MAX) {
        const char *end = next_entry(at);
        read_entry(at, end, kernel, check);
        at = end;
    }
    drop_consequences(check);
}

/* ---- What the child rejected ------------------------------------------------------------------------------ */

/* Returns how many bytes of shared memory a block of the simulated GPU may have. */
static const char *shared_max(const rung_kernel_info *kernel)
{
    return strstr(kernel->source, "LARGE_SHARED(") ? LARGE_SHARED_MAX : SHARED_MAX;
}

/* Adds a remark if a block of the rejected kernel needs more than the simulated GPU has. */
static void read_needs(const lab_value *result, const rung_kernel_info *kernel, lab_check *check)
{
    long long threads = lab_integer(result, "threads", 0), bytes = lab_integer(result, "shared_bytes", 0);
    if (threads > atoll(THREADS_MAX))
        add(check, LAB_REMARK_THREADS, line_of(kernel->source, "\nKERNEL(") + 1,
            "too many threads: a block has %lld, and no CUDA GPU takes more than " THREADS_MAX "; let a thread compute "
            "several elements, or make the block smaller",
            threads);
    else if (bytes > atoll(shared_max(kernel)))
        add(check, LAB_REMARK_SHARED_MEMORY, line_of(kernel->source, "__shared__"),
            "too much shared memory: a block declares %lld bytes, and CUDA gives it " SHARED_MAX " (48 KiB); make the "
            "tiles smaller, or see LARGE_SHARED in dialect.h",
            bytes);
}

/* The refusal of the one kernel that the child ran. */
static bool read_verdict(const char *path, const rung_kernel_info *kernel, lab_check *check)
{
    lab_document document;
    char why[256];
    if (!lab_document_load(path, &document, why, sizeof why)) {
        snprintf(check->why_not, sizeof check->why_not, "the result of the check cannot be read: %s", why);
        return false;
    }
    const char *platform = lab_text(document.root, "platform", "");
    bool good = strcmp(platform, "Oclgrind") == 0;
    const lab_value *failure = lab_field(document.root, "failures")->first;
    if (good && failure && lab_is_true(failure, "timed_out")) {
        check->is_endless = true;
        add(check, LAB_REMARK_ENDLESS, 0, "on Oclgrind, a simulator, %s",
            lab_text(failure, "message", "the kernel did not finish"));
    } else if (good && failure && !lab_is_true(failure, "ran")) {
        snprintf(check->why_not, sizeof check->why_not, "it did not run");
        good = false;
    } else if (good)
        read_needs(lab_field(document.root, "by_kernel")->first, kernel, check);
    else
        snprintf(check->why_not, sizeof check->why_not,
                 "OpenCL gave %s's driver instead of Oclgrind's: is another "
                 "libOpenCL than ocl-icd's (Debian: ocl-icd-libopencl1) in its way?",
                 platform);
    lab_document_free(&document);
    return good;
}

/* ---- The child --------------------------------------------------------------------------------------------- */

/* Of the edges the first, the 14th and the 27th problem: one less, as many and one more than a tile in each
 * direction, so that a tile is short of k, filled, and followed by another. False if it ended by no verdict, or on
 * another driver. */
static bool run_child(const rung_kernel_info *kernel, const char *parameters, const char *dtype, double seconds,
                      bool uninitialised, const char *driver, lab_workplace *place, lab_check *check)
{
    enum { LOG_TEXT = 1 << 20, PROBLEMS = 3 };
    char *log = malloc(LOG_TEXT), errors[2000], limit[32];
    int code = -1;
    char *argv[] = {NULL,
                    "verify",
                    "--device",
                    "opencl",
                    "--kernels",
                    (char *)kernel->file,
                    "--suite",
                    "edges",
                    "--every",
                    "13",
                    "--json",
                    "--quiet",
                    "--time-limit",
                    limit,
                    "--dtype",
                    (char *)dtype,
                    parameters ? "--params" : NULL,
                    (char *)parameters,
                    NULL};
    const lab_variable own[] = {{"OCL_ICD_VENDORS", driver},
                                {"OCLGRIND_DATA_RACES", "1"},
                                {"OCLGRIND_UNINITIALIZED", uninitialised ? "1" : "0"},
                                {"OCLGRIND_CHECK_API", "1"},
                                {"OCLGRIND_LOCAL_MEM_SIZE", shared_max(kernel)},
                                {"OCLGRIND_MAX_WGSIZE", THREADS_MAX},
                                {"OCLGRIND_MAX_ERRORS", "1000"},
                                {"OCLGRIND_LOG", place->log}};
    snprintf(limit, sizeof limit, "%.17g", seconds);
    bool ended = log && lab_self_run(argv, own, sizeof own / sizeof *own, place->output, place->errors,
                                     (PROBLEMS + 1) * seconds, &code);
    check->count = 0;
    bool is_understood = log != NULL;
    if (log) {
        lab_text_read(place->log, log, LOG_TEXT);
        is_understood = !strstr(log, "Unsupported instruction");
        if (is_understood)
            lab_check_read_log(log, kernel, check);
    }
    free(log);
    if (!is_understood) {
        snprintf(check->why_not, sizeof check->why_not, "Oclgrind does not know an instruction that LLVM made of it");
        return false;
    }
    lab_text_read(place->errors, errors, sizeof errors);
    if (ended && (code == 0 || code == 1 || code == 77))
        return read_verdict(place->output, kernel, check);
    check->is_endless = code == LAB_ENDLESS;
    if (check->is_endless)
        add(check, LAB_REMARK_ENDLESS, 0,
            "the check on Oclgrind did not finish within %g s; check that each loop of the kernel ends",
            (PROBLEMS + 1) * seconds);
    else if (code == LAB_STOPPED)
        snprintf(check->why_not, sizeof check->why_not, "the check was interrupted");
    else
        snprintf(check->why_not, sizeof check->why_not, "Oclgrind failed: %.*s",
                 (int)strcspn(lab_sentence_in(errors), "\n"), lab_sentence_in(errors));
    return check->count > 0;
}

/* Oclgrind's check for uninitialised reads dies of an instruction that it does not know, which LLVM
 * makes of / and % by the same value: then without. */
void lab_check_kernel(const rung_kernel *kernel, const char *parameters, const char *dtype, double seconds,
                      lab_check *check)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    char driver[LAB_SELF_PATH];
    lab_workplace place;
    memset(check, 0, sizeof *check);
    lab_simulator_find(driver, sizeof driver);
    if (!*driver) {
        snprintf(check->why_not, sizeof check->why_not,
                 "Oclgrind was not found; install it (Debian: oclgrind), or let "
                 "RUNG_OCLGRIND name its liboclgrind-rt-icd.so");
        return;
    }
    if (!lab_workplace_make(&place)) {
        lab_temporary_failed(errno, check->why_not, sizeof check->why_not);
        return;
    }
    if (!parameters && lab_has_preset(kernel, "tiny"))
        parameters = "tiny";
    check->ran = run_child(info, parameters, dtype, seconds, true, driver, &place, check);
    if (!check->ran && !check->is_endless && !lab_interrupted()) {
        check->is_partial = true;
        check->ran = run_child(info, parameters, dtype, seconds, false, driver, &place, check);
    }
    lab_workplace_clear(&place);
}

bool lab_check_is_dangerous(const lab_check *check)
{
    for (int i = 0; i < check->count; i++)
        if (check->remarks[i].kind == LAB_REMARK_OUT_OF_BOUNDS || check->remarks[i].kind == LAB_REMARK_ENDLESS ||
            check->remarks[i].kind == LAB_REMARK_DIVERGENT_BARRIER)
            return true;
    return false;
}
