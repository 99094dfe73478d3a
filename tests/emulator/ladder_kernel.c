/* SPDX-License-Identifier: Apache-2.0 */
/* ladder_kernel.c - see ladder_kernel.h. */
#include "ladder_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"
#include "core/choose/choose_kernel.h"
#include "core/device_list.h"
#include "core/plan.h"
#include "cuda/cuda_device.h"
#include "cuda/nvrtc.h"
#include "simt/simt_launch.h"

/* A plan for a GPU that need not be present. */
typedef struct offline_plan {
    char architecture[16];
    rung_device device;
    rung_plan plan;
    rungi_simt_plan simt;
    int64_t dynamic_bytes;
} offline_plan_t;

static rung_problem problem_of(const ladder_case_t *wanted, rung_buffer *a, rung_buffer *b, rung_buffer *c)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(wanted->in, wanted->m, wanted->k, NULL),
                                           rung_matrix_of(wanted->in, wanted->k, wanted->n, NULL),
                                           rung_matrix_of(wanted->out, wanted->m, wanted->n, NULL));
    problem.compute = wanted->compute;
    problem.a.buffer = a;
    problem.b.buffer = b;
    problem.c.buffer = c;
    return problem;
}

static rung_status make_plan(rung_context *context, const ladder_case_t *wanted, int architecture, offline_plan_t *made)
{
    rung_kernel *kernel;
    rung_problem problem = problem_of(wanted, NULL, NULL, NULL);
    TRY(rung_kernel_find(context, "cuda", wanted->kernel, &kernel));
    snprintf(made->architecture, sizeof made->architecture, "sm_%d", architecture);
    made->device = (rung_device){
        .backend = kernel->backend, .context = kernel->context, .architecture = made->architecture};
    rungi_device_info_init(&made->device.info, kernel->backend->name);
    made->device.info.max_threads_per_block = 1024;
    made->plan.device = &made->device;
    rungi_plan_set_problem(&made->plan, &problem);
    TRY(rungi_choose_set_kernel(&made->plan, kernel, NULL, RUNG_ORIGIN_GIVEN, "given"));
    return rungi_cuda_simt_plan_init(&made->plan, architecture, INT32_MAX, &made->simt, &made->dynamic_bytes);
}

/* ---- Compiling ----------------------------------------------------------------------------------------------------- */

static rung_status compile(rung_context *context, const offline_plan_t *made, int architecture, void **ptx,
                           size_t *bytes)
{
    rungi_nvrtc nvrtc = {0};
    char defines[RUNGI_SIMT_DEFINES_BYTES], *source;
    const rung_kernel *kernel = made->plan.kernel;
    if (!rungi_nvrtc_load(&nvrtc, RUNGI_NVRTC_ANY_DRIVER, architecture))
        return rung_error_set(RUNG_STATUS_NO_DEVICE, "libnvrtc was not found; run tools/install-test-tools");
    TRY(rungi_simt_source_assemble(kernel, &source));
    rungi_simt_defines(kernel, &made->plan.values, &made->simt.path, defines);
    rungi_nvrtc_job job = {
        .file = kernel->info.file, .source = source, .defines = defines, .architecture = architecture, .to_ptx = true};
    rung_status status = rungi_nvrtc_compile(context, &nvrtc, &job, ptx, bytes);
    rungi_release(context, source);
    return status;
}

bool ladder_kernel_compile(rung_context *context, const ladder_case_t *problem, int architecture,
                           ladder_kernel_t *kernel)
{
    offline_plan_t made = {0};
    void *ptx = NULL;
    size_t bytes = 0;
    memset(kernel, 0, sizeof *kernel);
    kernel->problem = *problem;
    kernel->architecture = architecture;
    rung_status status = make_plan(context, problem, architecture, &made);
    if (status == RUNG_OK)
        status = compile(context, &made, architecture, &ptx, &bytes);
    if (status != RUNG_OK) {
        fprintf(stderr, "%s: %s\n", problem->kernel, rung_error_text());
        return false;
    }
    kernel->ptx = malloc(bytes + 1);
    if (kernel->ptx) {
        memcpy(kernel->ptx, ptx, bytes);
        kernel->ptx[bytes] = 0;
        kernel->ptx_bytes = strlen(kernel->ptx);
    }
    rungi_release(context, ptx);
    rungi_kernel_format_parameters(made.plan.kernel, &made.plan.values, kernel->parameters, sizeof kernel->parameters);
    return kernel->ptx != NULL;
}

void ladder_kernel_free(ladder_kernel_t *kernel)
{
    free(kernel->ptx);
    kernel->ptx = NULL;
}

/* ---- Launching ----------------------------------------------------------------------------------------------------- */

static uintptr_t handle_of(const rung_buffer *buffer)
{
    return buffer->address;
}

/* Copies a launch of a run. */
static rung_status keep_launch(void *state, const rungi_simt_launch *launch)
{
    ladder_launch_t *kept = state;
    kept->launch = rung_emulator_launch_of((uint32_t)launch->blocks, (uint32_t)launch->threads, NULL);
    kept->launch.grid[1] = (uint32_t)launch->items;
    kept->launch.grid[2] = (uint32_t)launch->slices;
    for (int i = 0; i < launch->count; i++) {
        if (launch->arguments[i].size > sizeof kept->values[i])
            return rung_error_set(RUNG_STATUS_INVALID, "argument %d is too large", i);
        memcpy(kept->values[i], launch->arguments[i].value, launch->arguments[i].size);
        kept->arguments[i] = kept->values[i];
    }
    return RUNG_OK;
}

bool ladder_kernel_bind(rung_context *context, ladder_kernel_t *kernel, uint64_t a, uint64_t b, uint64_t c)
{
    offline_plan_t made = {0};
    const ladder_case_t *wanted = &kernel->problem;
    rung_buffer buffers[3] = {{.address = a}, {.address = b}, {.address = c}};
    rung_problem problem = problem_of(wanted, &buffers[0], &buffers[1], &buffers[2]);
    rung_run_options options = {0};
    rungi_gemm_sizes sizes = {.m = wanted->m, .n = wanted->n, .k = wanted->k, .batch = 1};
    rung_status status = make_plan(context, wanted, kernel->architecture, &made);
    rungi_simt_run run = {
        .simt = &made.simt, .device_state = &kernel->launch, .handle = handle_of, .launch = keep_launch};
    if (status == RUNG_OK)
        status = rungi_simt_launch_all(&run, &made.plan, &problem, sizes, &options);
    if (status != RUNG_OK)
        fprintf(stderr, "%s: %s\n", wanted->kernel, rung_error_text());
    kernel->launch.launch.dynamic_shared_bytes = made.dynamic_bytes;
    kernel->launch.launch.arguments = kernel->launch.arguments;
    return status == RUNG_OK;
}
