/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_compiler.c - see cuda_compiler.h. */
#define _GNU_SOURCE /* nftw */
#include "cuda_source/cuda_compiler.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "cuda_source/compile_message.h"
#include "cuda_source/nvcc_child.h"
#include "cuda_source/nvrtc_child.h"
#include "io/temporary_file.h"
#include "process/child_process.h"
#include "process/piped_child.h"
#include "process/sandbox.h"

enum { SECONDS_DEFAULT = 60, OUTPUT_MIB_MAX = 256, SENTENCE_BYTES = 2048 };
static const int64_t memory_default = (int64_t)4 << 30;

/* The limit of elapsed time is larger than that of processor time, because other programs may use the processors. */
static const double elapsed_ratio = 10;

static double seconds_of(const lab_cuda_job *job)
{
    return job->seconds > 0 ? job->seconds : SECONDS_DEFAULT;
}

static double elapsed_seconds_of(const lab_cuda_job *job)
{
    return job->elapsed_seconds > 0 ? job->elapsed_seconds : 10 + elapsed_ratio * seconds_of(job);
}

static int64_t memory_of(const lab_cuda_job *job)
{
    return job->memory_bytes > 0 ? job->memory_bytes : memory_default;
}

/* What a child does: it runs NVRTC, or nvcc in a folder of its own. */
typedef struct child_job {
    const lab_cuda_job *job;
    const char *nvcc_folder; /* NULL: NVRTC */
} child_job_t;

static void compile_in_child(void *user, int output)
{
    const child_job_t *child = user;
    lab_cuda_code code = {.ptx = NULL};
    char why[SENTENCE_BYTES] = "";
    lab_sandbox_limit(seconds_of(child->job), memory_of(child->job));
    lab_cuda_compile_status status = child->nvcc_folder ? lab_nvcc_child_compile(child->job, child->nvcc_folder, &code,
                                                                                 why, sizeof why)
                                                        : lab_nvrtc_child_compile(child->job, &code, why, sizeof why);
    lab_compile_message_write(output, status, &code, why);
}

/* Writes why a child ended without a result. */
static lab_cuda_compile_status describe_ending(const lab_cuda_job *job, const lab_piped_result *result, char *why,
                                               size_t capacity)
{
    bool is_memory = result->ending == LAB_PIPED_CRASHED && result->peak_kib > memory_of(job) / 1024 / 4;
    lab_cuda_compile_status status = LAB_CUDA_FAILED;
    if (result->ending == LAB_PIPED_TIMED_OUT || result->ending == LAB_PIPED_TOO_LONG || is_memory)
        status = LAB_CUDA_LIMIT;
    if (result->ending == LAB_PIPED_NOT_READ || result->ending == LAB_PIPED_NOT_STARTED ||
        (result->ending == LAB_PIPED_EXITED && result->code == 0)) /* it could not write all of its result */
        status = LAB_CUDA_NO_RESOURCES;
    if (result->ending == LAB_PIPED_TIMED_OUT)
        lab_set_reason(why, capacity,
                       "the compiler did not finish %s within %.3g seconds%s; look for macros, templates or unrolled "
                       "loops that expand without end",
                       job->file, job->elapsed_seconds > 0 ? job->elapsed_seconds : seconds_of(job),
                       job->elapsed_seconds > 0 ? "" : " of processor time");
    else if (result->ending == LAB_PIPED_TOO_LONG)
        lab_set_reason(why, capacity, "the compiler produced more than %d MiB for %s", OUTPUT_MIB_MAX, job->file);
    else if (result->ending == LAB_PIPED_NOT_READ)
        lab_set_reason(why, capacity, "the output of the compiler could not be read; is there enough memory?");
    else if (is_memory)
        lab_set_reason(why, capacity,
                       "the compiler needs more than %lld MiB of memory for %s; look for macros or "
                       "templates that expand without end",
                       (long long)(memory_of(job) >> 20), job->file);
    else if (result->ending == LAB_PIPED_CRASHED)
        lab_set_reason(why, capacity, "the compiler crashed (signal %d) on %s", result->code, job->file);
    else if (result->ending == LAB_PIPED_INTERRUPTED)
        lab_set_reason(why, capacity, "interrupted");
    else if (result->ending == LAB_PIPED_NOT_STARTED)
        lab_set_reason(why, capacity, "cannot start a process for the compiler: %s; %s", strerror(errno),
                       lab_child_start_advice(errno));
    else
        lab_set_reason(why, capacity, "the compiler returned no result for %s", job->file);
    return status;
}

static lab_cuda_compile_status run(const child_job_t *child, lab_cuda_code *code, char *why, size_t capacity)
{
    const lab_piped_child piped = {compile_in_child, (void *)(uintptr_t)child, elapsed_seconds_of(child->job),
                                   (size_t)OUTPUT_MIB_MAX << 20};
    lab_piped_result result = lab_piped_child_run(&piped);
    lab_cuda_compile_status status = LAB_CUDA_FAILED;
    bool is_complete = result.ending == LAB_PIPED_EXITED && result.output &&
                       lab_compile_message_read(result.output, result.bytes, &status, code, why, capacity);
    if (!is_complete)
        status = describe_ending(child->job, &result, why, capacity);
    free(result.output);
    return status;
}

void lab_cuda_code_free(lab_cuda_code *code)
{
    for (int i = 0; i < code->name_count; i++)
        free(code->lowered[i]);
    free(code->lowered);
    free(code->ptx);
    free(code->cubin);
    free(code->log);
    *code = (lab_cuda_code){.ptx = NULL};
}

bool lab_cuda_note_next(const char **at, char *note, size_t capacity)
{
    static const char mark[] = "note: ";
    const size_t length = sizeof mark - 1;
    while (*at && **at) {
        const char *line = *at;
        size_t bytes = strcspn(line, "\n");
        *at = line + bytes + (line[bytes] == '\n');
        if (bytes > length && strncmp(line, mark, length) == 0) {
            snprintf(note, capacity, "%.*s", (int)(bytes - length), line + length);
            return true;
        }
    }
    return false;
}

/* ---- nvcc ---- */

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place)
{
    (void)info;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

/* Compiles with nvcc. Returns false and leaves `code` unchanged if that fails. */
static bool compile_with_nvcc(const lab_cuda_job *job, lab_cuda_code *code)
{
    char folder[4096], why[SENTENCE_BYTES], program[4096];
    lab_cuda_code other = {.ptx = NULL};
    if (!lab_nvcc_find(program, sizeof program) ||
        snprintf(folder, sizeof folder, "%s/rung-XXXXXX", lab_temporary_folder()) >= (int)sizeof folder ||
        !mkdtemp(folder))
        return false;
    bool is_compiled = run(&(child_job_t){job, folder}, &other, why, sizeof why) == LAB_CUDA_COMPILED;
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (is_compiled) {
        lab_cuda_code_free(code);
        *code = other;
    } else {
        lab_cuda_code_free(&other);
    }
    return is_compiled;
}

/* Returns whether nvcc may succeed where NVRTC failed. Without a log, NVRTC has not seen the file: it was rejected. */
static bool may_help(lab_cuda_compile_status status, const lab_cuda_code *code)
{
    bool was_read = status == LAB_CUDA_REJECTED && code->log && *code->log;
    return was_read || status == LAB_CUDA_NO_COMPILER || status == LAB_CUDA_NO_HEADERS;
}

lab_cuda_compile_status lab_cuda_compile(const lab_cuda_job *job, lab_cuda_code *code, char *why, size_t capacity)
{
    *code = (lab_cuda_code){.ptx = NULL};
    if (capacity > 0)
        *why = '\0';
    lab_cuda_compile_status status = run(&(child_job_t){job, NULL}, code, why, capacity);
    if (!job->is_untrusted && may_help(status, code) && compile_with_nvcc(job, code)) {
        status = LAB_CUDA_COMPILED;
        if (capacity > 0)
            *why = '\0';
    }
    if (!code->log)
        code->log = strdup("");
    return status;
}
