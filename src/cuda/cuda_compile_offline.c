/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_compile_offline.c - compiles a kernel with NVRTC for inspection, without a GPU or a driver. The options come
 * from the same functions as those of a plan. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda_device.h"
#include "base/assert.h"
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
        return rungi_fail(RUNG_STATUS_NO_DEVICE,
                          "libnvrtc, NVIDIA's compiler, was not found; install it (%s); neither a GPU nor a driver is "
                          "needed",
                          rungi_nvrtc_install_hint());
    if (rungi_nvrtc_best_architecture(nvrtc, architecture) == architecture)
        return RUNG_OK;
    const char *advice = architecture < 75 ? "NVRTC 12 does from sm_50 on (pip install nvidia-cuda-nvrtc-cu12)"
                                           : "see NVIDIA's list of compute capabilities, or install a later one";
    return rungi_fail(RUNG_STATUS_NO_DEVICE, "NVRTC %d.%d does not compile for sm_%d; %s", nvrtc->major, nvrtc->minor,
                      architecture, advice);
}

/* Compiles the code and fills in the report of the compiler. The plan has the shared memory also if this fails. */
static rung_status make_code(rung_plan *plan, const rungi_nvrtc *nvrtc, rungi_nvrtc_job *job, int64_t dynamic_bytes,
                             rungi_code *code)
{
    const rung_kernel *kernel = plan->kernel;
    rungi_nvrtc_report report = {0};
    char *source;
    size_t bytes;
    TRY(rungi_simt_source_assemble(kernel, &source));
    size_t ptx_bytes = 1;
    job->source = source;
    job->report = &report;
    job->ptx = &code->ptx;
    job->ptx_bytes = &ptx_bytes;
    rung_status status = rungi_nvrtc_compile(kernel->context, nvrtc, job, &code->image, &bytes);
    rungi_release(kernel->context, source);
    if (report.shared_bytes > 0)
        plan->block_shared_bytes = report.shared_bytes + dynamic_bytes;
    TRY(status);
    code->code.image_bytes = (int64_t)bytes;
    code->code.ptx_bytes = (int64_t)ptx_bytes - 1; /* without its 0 */
    code->code.registers_per_thread = report.registers;
    code->code.shared_bytes_per_block = report.shared_bytes;
    code->code.spill_bytes = report.spill_bytes;
    return RUNG_OK;
}

/* ---- Launch ---- */

/* The memory of the first launch of a problem. */
typedef struct offline_launch {
    char entry[RUNGI_SIMT_ENTRY_NAME_MAX + 1];
    char defines[RUNGI_SIMT_DEFINES_BYTES]; /* of the compiled code */
    int64_t grid[3];
    int count;
    void *pointers[RUNGI_SIMT_ARGUMENTS_MAX];
    char values[RUNGI_SIMT_ARGUMENTS_MAX][sizeof(rungi_simt_launch_args)];
} offline_launch_t;

static rung_status record_launch(void *state, const rungi_simt_launch *launch)
{
    offline_launch_t *record = state;
    if (record->count > 0)
        return RUNG_OK; /* the first one is enough */
    record->grid[0] = launch->blocks;
    record->grid[1] = launch->items;
    record->grid[2] = launch->slices;
    record->count = launch->count;
    for (int i = 0; i < launch->count; i++) {
        RUNGI_ASSERT(launch->arguments[i].size <= sizeof record->values[i]);
        memcpy(record->values[i], launch->arguments[i].value, launch->arguments[i].size);
        record->pointers[i] = record->values[i];
    }
    return RUNG_OK;
}

/* Stand for the memory of A, B, C, bias and residual, whose order in the arguments depends on the layouts. */
enum { OPERANDS = 5 };
static const rung_buffer operand_buffers[OPERANDS];

/* Returns 1 for A and so on; see rung_code.arguments. */
static uintptr_t number_of(const rung_buffer *buffer)
{
    return (uintptr_t)(buffer - operand_buffers) + 1;
}

/* Lets each operand have its buffer. */
static rung_problem with_buffers(const rung_problem *problem)
{
    rung_problem numbered = *problem;
    rung_matrix *const operands[OPERANDS] = {&numbered.a, &numbered.b, &numbered.c, &numbered.bias, &numbered.residual};
    for (int i = 0; i < OPERANDS; i++)
        operands[i]->buffer = operands[i]->type == RUNG_TYPE_NONE ? NULL
                                                                  : (rung_buffer *)(uintptr_t)&operand_buffers[i];
    return numbered;
}

/* Fills in the first launch of the plan's problem. The code has no launch if the memory of the device would have to be
 * written first, or if tensor maps need addresses. */
static rung_status make_launch(const rung_plan *plan, const rungi_simt_plan *simt, rungi_code *code)
{
    offline_launch_t *record = code->launch;
    record->count = 0;
    code->code.argument_count = 0;
    code->code.arguments = NULL;
    memset(code->code.grid, 0, sizeof code->code.grid);
    rungi_simt_run run = {.simt = simt, .device_state = record, .handle = number_of, .launch = record_launch};
    rungi_gemm_sizes sizes = {plan->problem.c.rows, plan->problem.c.cols, plan->problem.a.cols, plan->problem.batch};
    rung_run_options options = {.size = sizeof options};
    if (plan->info.workspace_bytes > 0 || sizes.m == 0 || sizes.n == 0 || rungi_simt_has_tensor_maps(plan->kernel))
        return RUNG_OK;
    rung_problem numbered = with_buffers(&plan->problem);
    TRY(rungi_simt_launch_all(&run, plan, &numbered, sizes, &options));
    memcpy(code->code.grid, record->grid, sizeof record->grid);
    code->code.argument_count = record->count;
    code->code.arguments = record->pointers;
    return RUNG_OK;
}

/* Compiles the code and allocates the memory of its launch. */
static rung_status compile_code(rung_plan *plan, const rungi_simt_plan *simt, rungi_nvrtc_job *job,
                                int64_t dynamic_bytes, rungi_code *code)
{
    rungi_nvrtc nvrtc = {0};
    rungi_string_view entry = plan->kernel->entry;
    TRY(find_compiler(job->architecture, &nvrtc));
    TRY(make_code(plan, &nvrtc, job, dynamic_bytes, code));
    offline_launch_t *record = rungi_allocate_zeroed(plan->kernel->context, sizeof *record);
    TRY(rungi_allocated(record));
    code->launch = record;
    snprintf(record->entry, sizeof record->entry, "%.*s", (int)entry.length, entry.text);
    snprintf(record->defines, sizeof record->defines, "%s", job->defines);
    code->code.entry = record->entry;
    code->code.threads_per_block = simt->shape.threads;
    code->code.shared_bytes_per_block += dynamic_bytes;
    code->code.dynamic_shared_bytes = dynamic_bytes;
    rungi_simt_path_name(&simt->path, code->path, sizeof code->path);
    return RUNG_OK;
}

static rung_status check_same_code(const rungi_simt_plan *simt, const char *defines, const rungi_code *code)
{
    const offline_launch_t *record = code->launch;
    char path[sizeof code->path];
    if (strcmp(record->defines, defines) == 0)
        return RUNG_OK;
    rungi_simt_path_name(&simt->path, path, sizeof path);
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "the code was compiled for another problem: path %s with %s; this one needs path %s with %s",
                      code->path, record->defines, path, defines);
}

rung_status rungi_cuda_compile_offline(rung_plan *plan, rungi_code *code)
{
    rungi_simt_plan simt = {.arguments = 0};
    rungi_nvrtc_job job = {.file = plan->kernel->info.file};
    char defines[RUNGI_SIMT_DEFINES_BYTES];
    int64_t dynamic_bytes;
    plan->device->info.name = "that GPU";
    plan->device->info.max_threads_per_block = THREADS_MAX;
    TRY(read_architecture(plan->device->architecture, &job.architecture));
    job.is_specific = rungi_cuda_is_specific(plan->kernel, job.architecture);
    TRY(rungi_cuda_simt_plan_init(plan, job.architecture, GRID_MAX, &simt, &dynamic_bytes));
    rungi_simt_defines(plan->kernel, &plan->values, &simt.path, defines);
    job.defines = defines;
    TRY(code->launch ? check_same_code(&simt, defines, code) : compile_code(plan, &simt, &job, dynamic_bytes, code));
    return make_launch(plan, &simt, code);
}
