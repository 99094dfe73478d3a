/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.c - see nvrtc.h. */
#include "cuda/nvrtc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

enum { DEFINES_MAX = 40, DEFINE_LENGTH = 64 };

/* Splits "-DA=1 -DB=2" into separate options. */
static int split_defines(const char *defines, char texts[][DEFINE_LENGTH], const char **options)
{
    int count = 0;
    while (*defines && count < DEFINES_MAX) {
        size_t length = strcspn(defines, " ");
        RUNGI_ASSERT(length < DEFINE_LENGTH); /* of a parameter: "-D", its name, "=" and 10 digits */
        snprintf(texts[count], DEFINE_LENGTH, "%.*s", (int)length, defines);
        options[count] = texts[count];
        count++;
        defines += length;
        defines += strspn(defines, " ");
    }
    RUNGI_ASSERT(*defines == '\0');
    return count;
}

/* Returns the log of the compiler, or NULL. The caller releases it. */
static char *get_log(rung_context *context, const rungi_nvrtc *nvrtc, rungi_nvrtc_program *program)
{
    size_t length = 0;
    if (nvrtc->log_size(program, &length) != 0 || length == 0)
        return NULL;
    char *log = rungi_allocate_zeroed(context, length + 1);
    if (log && nvrtc->log(program, log) == 0)
        return log;
    rungi_release(context, log);
    return NULL;
}

/* Makes the log the error text. */
static rung_status fail_with_log(rung_context *context, const rungi_nvrtc *nvrtc, rungi_nvrtc_program *program,
                                 const rungi_nvrtc_job *job, int error)
{
    char *log = get_log(context, nvrtc, program);
    rung_status status = rungi_fail(
        RUNG_STATUS_COMPILE_FAILED, "%s did not compile for sm_%d with %s (NVRTC error %d):\n%.2999s", job->file,
        job->architecture, job->defines, error, log && *log ? log : "the compiler gave no reason");
    rungi_release(context, log);
    return status;
}

/* Returns the sum of the numbers that precede `words` in the log. */
static int64_t sum_before(const char *log, const char *words)
{
    int64_t sum = 0;
    for (const char *at = log; (at = strstr(at, words)); at += strlen(words)) {
        const char *digit = at;
        while (digit > log && digit[-1] >= '0' && digit[-1] <= '9')
            digit--;
        sum += strtol(digit, NULL, 10);
    }
    return sum;
}

/* Parses "Used 134 registers, used 1 barriers, 8192 bytes smem" of ptxas for the only kernel of a file. Kernels that use too
 * much shared memory do not compile, but have this line, too. */
static void read_report(rung_context *context, const rungi_nvrtc *nvrtc, rungi_nvrtc_program *program,
                        rungi_nvrtc_report *report)
{
    char *log = get_log(context, nvrtc, program);
    *report = (rungi_nvrtc_report){0};
    if (log)
        *report = (rungi_nvrtc_report){sum_before(log, " registers"), sum_before(log, " bytes smem"),
                                       sum_before(log, " bytes spill stores") + sum_before(log, " bytes spill loads")};
    rungi_release(context, log);
}

static rung_status check_report(const rungi_nvrtc *nvrtc, const rungi_nvrtc_job *job)
{
    return job->report->registers > 0
               ? RUNG_OK
               : rungi_fail(RUNG_STATUS_COMPILE_FAILED, "NVRTC %d.%d did not report the registers of %s", nvrtc->major,
                            nvrtc->minor, job->file);
}

static rung_status get_code(rung_context *context, const rungi_nvrtc *nvrtc, rungi_nvrtc_program *program, bool is_ptx,
                            void **code, size_t *bytes)
{
    int error = is_ptx ? nvrtc->ptx_size(program, bytes) : nvrtc->cubin_size(program, bytes);
    if (error != 0 || *bytes == 0)
        return rungi_fail(RUNG_STATUS_COMPILE_FAILED, "NVRTC produced no code (error %d)", error);
    *code = rungi_allocate(context, (int64_t)*bytes, 16);
    if (!*code)
        return RUNG_STATUS_NO_MEMORY;
    error = is_ptx ? nvrtc->ptx(program, *code) : nvrtc->cubin(program, *code);
    if (error == 0)
        return RUNG_OK;
    rungi_release(context, *code);
    *code = NULL;
    return rungi_fail(RUNG_STATUS_COMPILE_FAILED, "NVRTC did not return its code (error %d)", error);
}

rung_status rungi_nvrtc_compile(rung_context *context, const rungi_nvrtc *nvrtc, const rungi_nvrtc_job *job,
                                void **code, size_t *bytes)
{
    char texts[DEFINES_MAX][DEFINE_LENGTH], target[64];
    const char *options[DEFINES_MAX + 3];
    rungi_nvrtc_program *program = NULL;
    *code = NULL;
    int count = split_defines(job->defines, texts, options);
    snprintf(target, sizeof target, "--gpu-architecture=%s_%d%s", job->to_ptx ? "compute" : "sm", job->architecture,
             job->is_specific ? "a" : "");
    options[count++] = target;
    if (job->report)
        options[count++] = "--ptxas-options=-v";
    if (job->report || job->has_line_info)
        options[count++] = "--generate-line-info";
    int error = nvrtc->create(&program, job->source, job->file, 0, NULL, NULL);
    if (error != 0)
        return rungi_fail(RUNG_STATUS_COMPILE_FAILED, "NVRTC could not create a program for %s (error %d)", job->file,
                          error);
    error = nvrtc->compile(program, count, options);
    rung_status status = error != 0 ? fail_with_log(context, nvrtc, program, job, error) : RUNG_OK;
    if (job->report)
        read_report(context, nvrtc, program, job->report);
    if (status == RUNG_OK && job->report)
        status = check_report(nvrtc, job);
    if (status == RUNG_OK)
        status = get_code(context, nvrtc, program, job->to_ptx, code, bytes);
    if (status == RUNG_OK && job->ptx)
        status = get_code(context, nvrtc, program, true, job->ptx, job->ptx_bytes);
    nvrtc->destroy(&program);
    return status;
}
