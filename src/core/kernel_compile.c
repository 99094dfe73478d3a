/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_compile.c - compiles a kernel for a device that need not be present: creates a plan up to the point where the
 * device would be called. */
#include <stdio.h>
#include <string.h>

#include "base/cancellation.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/choose/choose_kernel.h"
#include "core/device_list.h"
#include "core/plan.h"
#include "core/problem.h"

static rung_status check_compilable(const rung_kernel *kernel, const rung_problem *problem)
{
    if (!kernel->backend->compile)
        return rungi_fail(
            RUNG_STATUS_UNSUPPORTED,
            "%s is a kernel of %s, which cannot be compiled without its driver; use the kernel of the cuda backend",
            kernel->info.name, kernel->backend->name);
    if (kernel->step && kernel->step->is_vendor)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s is a vendor library and has no source to compile",
                          kernel->info.name);
    return rungi_problem_check_form(problem);
}

/* What one block needs, as far as it is known. */
typedef struct block_size {
    int64_t threads, shared_bytes;
} block_size_t;

/* Compiles by a plan whose device has an architecture and no functions. Code that was compiled before only gets the launch
 * of this problem. `block` is also set if the kernel does not compile, and may be NULL. */
static rung_status fill_code(rungi_code *code, const rung_kernel *kernel, const rung_problem *problem,
                             const char *parameters, const char *architecture, block_size_t *block)
{
    rung_device offline_device = {.backend = kernel->backend, .context = kernel->context, .architecture = architecture};
    rung_plan plan = {.device = &offline_device};
    rungi_device_info_init(&offline_device.info, kernel->backend->name);
    rung_problem normalized = *problem;
    rungi_plan_set_problem(&plan, problem);
    rungi_problem_normalize(&normalized);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) /* a plan has none, and the arguments of a launch do */
        rungi_problem_operand(&plan.problem, i)->offset = rungi_problem_view(&normalized, i)->offset;
    TRY(rungi_choose_check_multiplier(kernel->backend, &normalized));
    TRY(rungi_choose_set_kernel(&plan, kernel, parameters && *parameters ? parameters : NULL, RUNG_ORIGIN_GIVEN,
                                "given"));
    rung_status status = kernel->backend->compile(&plan, code);
    if (block)
        *block = (block_size_t){plan.block_threads, plan.block_shared_bytes};
    TRY(status);
    snprintf(code->architecture, sizeof code->architecture, "%s", architecture);
    rungi_kernel_format_parameters(kernel, &plan.values, code->parameters, sizeof code->parameters);
    return RUNG_OK;
}

static void release_code(rung_context *context, rungi_code *code)
{
    rungi_release(context, code->image);
    rungi_release(context, code->ptx);
    rungi_release(context, code->launch);
    rungi_release(context, code);
}

/* Returns new code, or NULL in `out` if the kernel does not compile. */
static rung_status create_code(const rung_kernel *kernel, const rung_problem *problem, const char *parameters,
                               const char *architecture, block_size_t *block, rungi_code **out)
{
    rung_problem copy;
    *out = NULL;
    TRY(rungi_problem_read(problem, &copy));
    TRY(check_compilable(kernel, &copy));
    rungi_code *code = rungi_allocate_zeroed(kernel->context, sizeof *code);
    TRY(rungi_allocated(code));
    rung_status status = fill_code(code, kernel, &copy, parameters, architecture, block);
    if (status != RUNG_OK)
        release_code(kernel->context, code);
    else
        *out = code;
    return status;
}

rung_status rung_kernel_compile(const rung_kernel *kernel, const rung_problem *problem, const char *parameters,
                                const char *architecture, rung_code **out)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_code *code;
    TRY(rungi_clear_result(out, kernel && problem && architecture,
                           "rung_kernel_compile: kernel, problem, architecture or code is NULL"));
    TRY(create_code(kernel, problem, parameters, architecture, NULL, &code));
    code->context = rungi_context_retain(kernel->context);
    code->code.parameters = code->parameters;
    code->code.path = code->path;
    code->code.image = code->image;
    code->code.ptx = code->ptx;
    *out = &code->code;
    return RUNG_OK;
}

rung_status rung_kernel_block_size(const rung_kernel *kernel, const rung_problem *problem, const char *parameters,
                                   const char *architecture, int64_t *threads, int64_t *shared_bytes)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_code *code;
    block_size_t block = {0, 0};
    if (!kernel || !problem || !architecture || !threads || !shared_bytes)
        return rungi_invalid("rung_kernel_block_size: kernel, problem, architecture, threads or shared_bytes is NULL");
    *threads = *shared_bytes = 0;
    rungi_saved_error before = rungi_error_save();
    rung_status status = create_code(kernel, problem, parameters, architecture, &block, &code);
    if (status == RUNG_OK)
        release_code(kernel->context, code);
    if (block.threads <= 0)
        return status;
    rungi_error_restore(&before);
    *threads = block.threads;
    *shared_bytes = block.shared_bytes;
    return RUNG_OK;
}

rung_status rung_code_set_problem(rung_code *code, const rung_kernel *kernel, const rung_problem *problem)
{
    RUNGI_DISABLE_CANCELLATION;
    rung_problem copy;
    if (!code || !kernel || !problem)
        return rungi_invalid("rung_code_set_problem: code, kernel or problem is NULL");
    rungi_code *own = (rungi_code *)code;
    TRY(rungi_problem_read(problem, &copy));
    TRY(check_compilable(kernel, &copy));
    char parameters[sizeof own->parameters], architecture[sizeof own->architecture];
    memcpy(parameters, own->parameters, sizeof parameters);
    memcpy(architecture, own->architecture, sizeof architecture);
    return fill_code(own, kernel, &copy, parameters, architecture, NULL);
}

void rung_code_destroy(rung_code *code)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_code *own = (rungi_code *)code;
    if (!own)
        return;
    rung_context *context = own->context;
    release_code(context, own);
    rungi_context_release(context);
}
