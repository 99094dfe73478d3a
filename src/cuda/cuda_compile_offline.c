/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_compile_offline.c - compiles a kernel with NVRTC for inspection, without a GPU or a driver. The options come
 * from the same functions as those of a plan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda_device.h"
#include "base/try.h"

enum { GRID_MAX = INT32_MAX, THREADS_MAX = 1024 }; /* of every NVIDIA GPU since sm_30 */

/* Parses "sm_86" as 86. */
static rung_status read_architecture(const char *name, int *architecture)
{
    char again[24];
    long number = strncmp(name, "sm_", 3) == 0 ? strtol(name + 3, NULL, 10) : 0;
    *architecture = number > 0 && number < 1000 ? (int)number : 0;
    snprintf(again, sizeof again, "sm_%d", *architecture);
    if (*architecture < 10 || strcmp(again, name) != 0)
        return rungi_invalid("\"%s\" is not an architecture; examples are sm_75, sm_86 and sm_120", name);
    return RUNG_OK;
}

static rung_status find_compiler(int architecture, rungi_nvrtc *nvrtc)
{
    if (!rungi_nvrtc_load(nvrtc, RUNGI_NVRTC_ANY_DRIVER, architecture))
        return rungi_fail(RUNG_STATUS_NO_DEVICE, "libnvrtc, NVIDIA's compiler, was not found; install it (pip install "
                                                 "nvidia-cuda-nvrtc-cu12); neither a GPU nor a driver is needed");
    if (rungi_nvrtc_best_architecture(nvrtc, architecture) == architecture)
        return RUNG_OK;
    const char *advice = architecture < 75 ? "NVRTC 12 does from sm_50 on (pip install nvidia-cuda-nvrtc-cu12)"
                                           : "see NVIDIA's list of compute capabilities, or install a later one";
    return rungi_fail(RUNG_STATUS_NO_DEVICE, "NVRTC %d.%d does not compile for sm_%d; %s", nvrtc->major, nvrtc->minor,
                      architecture, advice);
}

/* Compiles the code and fills in the report of the compiler. */
static rung_status make_code(const rung_kernel *kernel, const rungi_nvrtc *nvrtc, rungi_nvrtc_job *job,
                             rungi_code *code)
{
    rungi_nvrtc_report report;
    char *source;
    size_t bytes;
    TRY(rungi_simt_source_assemble(kernel, &source));
    job->source = source;
    job->report = &report;
    rung_status status = rungi_nvrtc_compile(kernel->context, nvrtc, job, &code->image, &bytes);
    rungi_release(kernel->context, source);
    TRY(status);
    code->code.image_bytes = (int64_t)bytes;
    code->code.registers_per_thread = report.registers;
    code->code.shared_bytes_per_block = report.shared_bytes;
    code->code.spill_bytes = report.spill_bytes;
    return RUNG_OK;
}

rung_status rungi_cuda_compile_offline(rung_plan *plan, rungi_code *code)
{
    rungi_simt_plan simt = {.arguments = 0};
    rungi_nvrtc nvrtc = {0};
    rungi_nvrtc_job job = {.file = plan->kernel->info.file};
    char defines[RUNGI_SIMT_DEFINES_BYTES];
    int64_t dynamic_bytes;
    plan->device->info.name = "that GPU";
    plan->device->info.max_threads_per_block = THREADS_MAX;
    TRY(read_architecture(plan->device->architecture, &job.architecture));
    TRY(rungi_cuda_simt_plan_init(plan, job.architecture, GRID_MAX, &simt, &dynamic_bytes));
    TRY(find_compiler(job.architecture, &nvrtc));
    rungi_simt_defines(plan->kernel, &plan->values, &simt.path, defines);
    job.defines = defines;
    TRY(make_code(plan->kernel, &nvrtc, &job, code));
    code->code.threads_per_block = simt.shape.threads;
    code->code.shared_bytes_per_block += dynamic_bytes;
    rungi_simt_path_name(&simt.path, code->path, sizeof code->path);
    return RUNG_OK;
}
