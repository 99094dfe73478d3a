/* SPDX-License-Identifier: Apache-2.0 */
/* driver_findings.c - where the findings of launches go: to standard error, or to the file of RUNG_EMULATED_FINDINGS, which
 * `rung emulate` reads. */
#include <stdio.h>
#include <stdlib.h>

#include "emulator/driver/driver.h"

static const char *findings_file(void)
{
    const char *name = getenv("RUNG_EMULATED_FINDINGS");
    return name && *name ? name : NULL;
}

static void write_string(FILE *out, const char *name, const char *text)
{
    fprintf(out, ", \"%s\": \"", name);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < ' ')
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static void write_finding(FILE *out, const rung_emulator_finding *finding, int64_t launch)
{
    const rung_emulator_place *place = &finding->place, *other = &finding->other;
    fprintf(out, "{\"count\": %lld, \"line\": %d, \"other_line\": %d, \"memory\": %d, \"cause\": %d, \"launch\": %lld",
            (long long)finding->count, place->line, other->line, (int)finding->memory, (int)finding->cause,
            (long long)launch);
    write_string(out, "kind", rung_emulator_finding_name(finding->kind));
    write_string(out, "kernel", finding->kernel);
    write_string(out, "file", place->file ? place->file : "");
    write_string(out, "other_file", other->line && other->file ? other->file : "");
    write_string(out, "text", finding->text);
    fprintf(out, "}\n");
}

void findings_report_failure(const char *kind, const char *kernel, const char *text)
{
    FILE *out = findings_file() ? fopen(findings_file(), "ae") : NULL;
    if (!out) {
        fprintf(stderr, "rung: emulated GPU: %s\n", text);
        return;
    }
    fprintf(out, "{\"count\": 1, \"line\": 0, \"other_line\": 0");
    write_string(out, "kind", kind);
    write_string(out, "kernel", kernel);
    write_string(out, "file", "");
    write_string(out, "other_file", "");
    write_string(out, "text", text);
    fprintf(out, "}\n");
    (void)fclose(out);
}

static void print_finding(const rung_emulator_finding *finding)
{
    const rung_emulator_place *place = &finding->place;
    fprintf(stderr, "rung: emulated GPU: %s in %s, %s:%d, block %u, thread %u, %lld times: %s\n",
            rung_emulator_finding_name(finding->kind), finding->kernel, place->file ? place->file : "PTX", place->line,
            place->block[0], place->thread[0], (long long)finding->count, finding->text);
}

/* Returns the error that a GPU reports for a finding; CUDA_SUCCESS if a GPU does not notice it. */
static CUresult error_on_gpu(rung_emulator_finding_kind kind)
{
    switch (kind) {
    case RUNG_EMULATOR_OUT_OF_BOUNDS:
    case RUNG_EMULATOR_USE_AFTER_FREE:
    case RUNG_EMULATOR_READ_ONLY: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case RUNG_EMULATOR_MISALIGNED: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case RUNG_EMULATOR_INFINITE_LOOP: return CUDA_ERROR_LAUNCH_TIMEOUT;
    case RUNG_EMULATOR_TRAP:
    case RUNG_EMULATOR_LIMIT: return CUDA_ERROR_LAUNCH_FAILED;
    default: return CUDA_SUCCESS;
    }
}

CUresult findings_report(const rung_emulator_finding *finding, int64_t launch)
{
    FILE *out = findings_file() ? fopen(findings_file(), "ae") : NULL;
    CUresult error = error_on_gpu(finding->kind);
    if (!out) {
        print_finding(finding);
        return error == CUDA_SUCCESS ? CUDA_ERROR_LAUNCH_FAILED : error;
    }
    write_finding(out, finding, launch);
    (void)fclose(out);
    return error;
}
