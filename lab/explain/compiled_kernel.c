/* SPDX-License-Identifier: Apache-2.0 */
/* compiled_kernel.c - compiles a kernel for the requested architecture and disassembles it: the second input of
 * lab_explain(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/failure.h"
#include "explain/explain_internal.h"

rung_problem lab_explain_problem(const lab_explain_request *request)
{
    rung_type in = request->dtype.product.in, out = request->dtype.product.out;
    rung_problem problem = rung_problem_of(rung_matrix_of(in, request->m, request->k, NULL),
                                           rung_matrix_of(in, request->k, request->n, NULL),
                                           rung_matrix_of(out, request->m, request->n, NULL));
    problem.compute = request->dtype.compute;
    return problem;
}

/* The oldest architecture that every nvdisasm reads. Its loop replaces that of an older architecture, because the
 * compiler widens and unrolls loads before its architecture-specific part. */
static const char OLDEST_DISASSEMBLED_ARCH[] = "sm_75";

static void disassemble(const rung_code *code, const char *arch, lab_explanation *explanation)
{
    snprintf(explanation->sass_arch, sizeof explanation->sass_arch, "%s", arch);
    explanation->is_disassembled = lab_sass_disassemble(code->image, code->image_bytes, NULL, &explanation->code,
                                                        explanation->why_not_disassembled, LAB_EXPLAIN_WHY_BYTES);
}

static void disassemble_kernel(const lab_explain_request *request, const rung_kernel *kernel, const rung_code *code,
                               lab_explanation *explanation)
{
    rung_problem problem = lab_explain_problem(request);
    rung_code *other = NULL;
    char program[4096];
    if (!lab_nvdisasm_find(program, sizeof program))
        explanation->missing_tools |= 1u << LAB_TOOL_NVDISASM;
    disassemble(code, request->machine.arch, explanation);
    if (!explanation->is_disassembled && atoi(request->machine.arch + 3) < atoi(OLDEST_DISASSEMBLED_ARCH + 3) &&
        rung_kernel_compile(kernel, &problem, code->parameters, OLDEST_DISASSEMBLED_ARCH, &other) == RUNG_OK) {
        disassemble(other, OLDEST_DISASSEMBLED_ARCH, explanation);
        explanation->code.spill_count = 0; /* spills of the other architecture */
    }
    rung_code_destroy(other);
    const lab_instruction_mix *loop = &explanation->code.loop;
    if (explanation->is_disassembled && explanation->code.has_loop && loop->instructions > 0)
        explanation->math_share = (double)loop->math / (double)loop->instructions;
}

/* Writes why the kernel did not compile. Returns false. The most common reason, too much shared memory, is only one number
 * on a page of ptxas output. */
static bool explain_compile_error(const rung_kernel *kernel, const lab_explain_request *request, char *why,
                                  size_t capacity)
{
    enum { STATIC_SHARED_MAX_BYTES = 48 << 10 };
    rung_problem problem = lab_explain_problem(request);
    int64_t threads, shared_bytes;
    lab_set_reason(why, capacity, "%s", rung_error_text());
    if (rung_kernel_block_size(kernel, &problem, request->parameters, request->machine.arch, &threads, &shared_bytes) !=
            RUNG_OK ||
        shared_bytes <= STATIC_SHARED_MAX_BYTES)
        return false;
    return lab_set_reason(
        why, capacity,
        "too much shared memory: a block declares %lld bytes; the maximum in CUDA is %d (48 KiB). Make "
        "the tiles smaller, or see LARGE_SHARED in dialect.h",
        (long long)shared_bytes, STATIC_SHARED_MAX_BYTES);
}

bool lab_explain_compile(const lab_explain_request *request, lab_backend_kernels *kernels, lab_explanation *explanation,
                         char *why, size_t capacity)
{
    rung_problem problem = lab_explain_problem(request);
    rung_code *code;
    if (!lab_access_request_parameters(kernels->opencl_kernel, request->dtype.product, request->parameters,
                                       explanation->parameters))
        return lab_set_reason(why, capacity,
                              "the list of parameters is too long; the maximum is %d bytes, with CHECKED=0",
                              RUNG_PARAMETERS_BYTES - 1);
    rung_status status = kernels->cuda_kernel ? rung_kernel_compile(kernels->cuda_kernel, &problem, request->parameters,
                                                                    request->machine.arch, &code)
                                              : RUNG_STATUS_NO_DEVICE;
    if (status == RUNG_STATUS_NO_DEVICE) {
        explanation->missing_tools |= 1u << LAB_TOOL_NVRTC;
        snprintf(explanation->why_not_compiled, LAB_EXPLAIN_WHY_BYTES, "%s",
                 kernels->cuda_kernel ? rung_error_text()
                                      : "this library was built without CUDA; configure it with -DRUNG_CUDA=ON");
        return true;
    }
    if (status != RUNG_OK)
        return explain_compile_error(kernels->cuda_kernel, request, why, capacity);
    explanation->is_compiled = true;
    explanation->threads = code->threads_per_block;
    explanation->registers = code->registers_per_thread;
    explanation->shared_bytes = code->shared_bytes_per_block;
    explanation->spill_bytes = code->spill_bytes;
    snprintf(explanation->parameters, sizeof explanation->parameters, "%s", code->parameters);
    snprintf(explanation->path, sizeof explanation->path, "%s", code->path);
    disassemble_kernel(request, kernels->cuda_kernel, code, explanation);
    kernels->code = code;
    return true;
}
