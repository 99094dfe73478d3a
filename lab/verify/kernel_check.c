/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_check.c - see kernel_check.h: chooses the checker and describes findings. */
#include "verify/kernel_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/enum_names.h"

LAB_DEFINE_ENUM_NAME(lab_kernel_finding_kind_name, lab_kernel_finding_kind, LAB_KERNEL_FINDING_LIST)

bool lab_kernel_check_is_unsafe(const lab_kernel_check *check)
{
    for (int i = 0; i < check->count; i++)
        if (check->findings[i].kind == LAB_FINDING_OUT_OF_BOUNDS || check->findings[i].kind == LAB_FINDING_ENDLESS ||
            check->findings[i].kind == LAB_FINDING_DIVERGENT_BARRIER)
            return true;
    return false;
}

/* ---- Findings ---- */

void lab_kernel_check_add(lab_kernel_check *check, lab_kernel_finding_kind kind, int line, const char *format, ...)
{
    va_list arguments;
    for (int i = 0; i < check->count; i++)
        if (check->findings[i].kind == kind && check->findings[i].line == line)
            return;
    if (check->count == LAB_KERNEL_FINDINGS_MAX)
        return;
    lab_kernel_finding *finding = &check->findings[check->count++];
    finding->kind = kind;
    finding->line = line;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
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

/* Describes the race of two lines; `first` is above `second` in the source. With `in_loop`, the race is between
 * `second` and `first` in the next iteration. */
static void describe_race(lab_race_access first, lab_race_access second, bool in_loop, char *text, size_t capacity)
{
    if (first.line <= 0 || first.line == second.line || second.line <= 0)
        snprintf(text, capacity, "two threads access the same element, and at least one writes it");
    else if (first.kind == LAB_RACE_WRITE && second.kind == LAB_RACE_READ)
        snprintf(text, capacity, "line %d reads what line %d writes%s", second.line, first.line,
                 in_loop ? " in the next iteration" : "");
    else if (first.kind == LAB_RACE_READ && second.kind == LAB_RACE_WRITE)
        snprintf(text, capacity, "line %d reads%s what line %d writes", first.line,
                 in_loop ? " in the next iteration" : "", second.line);
    else
        snprintf(text, capacity, "lines %d and %d access the same element%s", first.line, second.line,
                 in_loop ? " in successive iterations" : "");
}

void lab_kernel_check_add_race(lab_kernel_check *check, const char *source, lab_race_access first,
                               lab_race_access second, bool is_shared)
{
    if (first.line <= 0 || (second.line > 0 && second.line < first.line)) {
        lab_race_access swapped = first;
        first = second;
        second = swapped;
    }
    bool in_loop = is_shared && first.line > 0 && has_barrier_between(source, first.line, second.line);
    char text[128];
    describe_race(first, second, in_loop, text, sizeof text);
    lab_kernel_check_add(check, LAB_FINDING_DATA_RACE, first.line > 0 ? first.line : 0,
                         "data race on %s memory: %s; %s", is_shared ? "shared" : "global", text,
                         !is_shared ? "let one thread compute each element of C"
                         : in_loop  ? "put __syncthreads() at the end of the loop body"
                                    : "put __syncthreads() between them");
}

void lab_kernel_check_add_out_of_bounds(lab_kernel_check *check, int line, bool is_read, bool is_shared)
{
    lab_kernel_check_add(check, LAB_FINDING_OUT_OF_BOUNDS, line, "out of bounds: %s outside %s; %s",
                         is_read ? "reads" : "writes", is_shared ? "a shared array" : "a matrix",
                         is_shared ? "an index is too large, or the array is too small"
                         : is_read ? "check row and col against the size first, as load_or_zero() does"
                                   : "store only if row < m and col < n");
}

void lab_kernel_check_add_uninitialised(lab_kernel_check *check, int line)
{
    lab_kernel_check_add(
        check, LAB_FINDING_UNINITIALISED, line,
        "uninitialised: a value that was never written reaches the result; fill the whole tile, with zeros past "
        "the edge, start each sum at 0, and do not read C if beta is 0");
}

void lab_kernel_check_add_divergent_barrier(lab_kernel_check *check, int line)
{
    lab_kernel_check_add(
        check, LAB_FINDING_DIVERGENT_BARRIER, line,
        "divergent barrier: some threads of a block reach __syncthreads() and others do not; move it out of the "
        "if, and do not return before it");
}

void lab_kernel_check_drop_follow_ups(lab_kernel_check *check)
{
    int remaining = 0;
    bool outside = lab_kernel_check_is_unsafe(check);
    for (int i = 0; i < check->count; i++)
        if (!outside || check->findings[i].kind != LAB_FINDING_UNINITIALISED)
            check->findings[remaining++] = check->findings[i];
    check->count = remaining;
}

/* ---- Limits of a block ---- */

/* Returns the first line of the source that contains the word, or 0. */
static int find_line(const char *source, const char *word)
{
    const char *found = strstr(source, word);
    int line = 1;
    for (const char *at = source; found && at < found; at++)
        line += *at == '\n';
    return found ? line : 0;
}

int64_t lab_kernel_check_shared_limit(const rung_kernel_info *kernel)
{
    return strstr(kernel->source, "LARGE_SHARED(") ? LAB_LARGE_SHARED_MAX : LAB_SHARED_MAX;
}

void lab_kernel_check_add_block_limits(lab_kernel_check *check, const rung_kernel_info *kernel, int64_t threads,
                                       int64_t shared_bytes)
{
    if (threads > LAB_THREADS_MAX)
        lab_kernel_check_add(
            check, LAB_FINDING_THREADS, find_line(kernel->source, "\nKERNEL(") + 1,
            "too many threads: a block has %lld, and CUDA allows at most %d; make the block smaller, or "
            "let each thread compute several elements",
            (long long)threads, LAB_THREADS_MAX);
    else if (shared_bytes > lab_kernel_check_shared_limit(kernel))
        lab_kernel_check_add(
            check, LAB_FINDING_SHARED_MEMORY, find_line(kernel->source, "__shared__"),
            "too much shared memory: a block declares %lld bytes, and CUDA allows %d (48 KiB); make the "
            "tiles smaller, or see LARGE_SHARED in dialect.h",
            (long long)shared_bytes, LAB_SHARED_MAX);
}
