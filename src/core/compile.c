/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c - a kernel's code for a device that need not be here: a plan on paper, made as
 * every plan is up to the point where the device would be asked. */
#include "core/cancel.h"
#include "core/choose.h"
#include "core/growth.h"
#include "core/problem.h"

static rung_status check(const rung_kernel *kernel, const rung_problem *problem)
{
    if (!kernel->backend->compile)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s is a kernel of %s, whose code only its driver can make; find "
                          "it on the ladder of cuda",
                          kernel->info.name, kernel->backend->name);
    if (kernel->step && kernel->step->is_vendor)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s is the vendor's own library, which has no source to compile",
                          kernel->info.name);
    return rungi_problem_check_form(problem);
}

/* The device is on paper, too: it has an architecture and no functions. */
static rung_status fill_code(rungi_code *code, const rung_kernel *kernel, const rung_problem *problem,
                             const char *parameters, const char *architecture)
{
    rung_device paper = {.backend = kernel->backend, .context = kernel->context, .architecture = architecture};
    rung_plan plan = {.device = &paper};
    rungi_device_info_init(&paper.info, kernel->backend->name);
    rungi_plan_begin(&plan, problem);
    rung_status status = rungi_choose_take(&plan, kernel, parameters && *parameters ? parameters : NULL,
                                           RUNG_ORIGIN_GIVEN, "given");
    if (status == RUNG_OK)
        status = kernel->backend->compile(&plan, code);
    if (status == RUNG_OK)
        rungi_kernel_values_text(kernel, &plan.values, code->parameters, sizeof code->parameters);
    return status;
}

rung_status rung_kernel_compile(const rung_kernel *kernel, const rung_problem *problem, const char *parameters,
                                const char *architecture, rung_code **out)
{
    RUNGI_DISABLE_CANCELLATION;
    if (out)
        *out = NULL;
    if (!kernel || !problem || !architecture || !out)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_kernel_compile needs a kernel, a problem, an architecture and a "
                                               "place for the code");
    rung_problem read;
    rung_status status = rungi_problem_read(problem, &read);
    if (status == RUNG_OK)
        status = check(kernel, &read);
    if (status != RUNG_OK)
        return status;
    rungi_code *code = rungi_new(kernel->context, sizeof *code);
    if (!code)
        return RUNG_STATUS_NO_MEMORY;
    status = fill_code(code, kernel, &read, parameters, architecture);
    if (status != RUNG_OK) {
        rungi_release(kernel->context, code);
        return status;
    }
    code->context = rungi_context_retain(kernel->context);
    code->code.parameters = code->parameters;
    code->code.path = code->path;
    code->code.image = code->image;
    *out = &code->code;
    return RUNG_OK;
}

void rung_code_destroy(rung_code *code)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_code *own = (rungi_code *)code;
    if (!own)
        return;
    rung_context *context = own->context;
    rungi_release(context, own->image);
    rungi_release(context, own);
    rungi_context_release(context);
}
