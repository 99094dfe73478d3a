/* SPDX-License-Identifier: Apache-2.0 */
/* explain_kernel.c - explains one kernel: opens it for both backends, runs the steps of explain_internal.h, and says what is
 * missing. */
#include <stdio.h>
#include <string.h>

#include "common/enum_names.h"
#include "common/text.h"
#include "explain/explain_internal.h"

static bool open_kernels(const char *name, lab_backend_kernels *kernels, char *why, size_t capacity)
{
    char ignored[LAB_EXPLAIN_WHY_BYTES];
    *kernels = (lab_backend_kernels){.opencl_kernel = NULL};
    if (!lab_kernel_open(NULL, "opencl", name, &kernels->opencl_kernel, why, capacity))
        return false;
    if (!lab_kernel_open(NULL, "cuda", name, &kernels->cuda_kernel, ignored, sizeof ignored))
        kernels->cuda_kernel = NULL;
    return true;
}

int64_t lab_explain_parameter(const lab_backend_kernels *kernels, const lab_explanation *explanation, rung_type in,
                              const char *expression, int64_t otherwise)
{
    return lab_kernel_value_or(kernels->opencl_kernel, explanation->parameters, in, expression, otherwise);
}

void lab_explain_compute_occupancy(lab_explanation *explanation)
{
    const lab_sm_limits *limits = lab_sm_limits_of(explanation->machine.arch);
    if (limits && explanation->is_compiled)
        explanation->occupancy = lab_occupancy_of(limits, explanation->threads, explanation->registers,
                                                  explanation->shared_bytes);
}

static void init_explanation(const lab_explain_request *request, const lab_backend_kernels *kernels,
                             lab_explanation *explanation)
{
    const rung_kernel_info *info = rung_kernel_describe(kernels->opencl_kernel);
    snprintf(explanation->kernel, sizeof explanation->kernel, "%s", info->name);
    snprintf(explanation->file, sizeof explanation->file, "%s", lab_base_name(info->file));
    explanation->dtype = request->dtype.name;
    explanation->m = request->m, explanation->n = request->n, explanation->k = request->k;
    explanation->machine = request->machine;
    explanation->wants_metrics = request->wants_metrics;
    explanation->nsight_file = request->nsight_file;
}

static void explain_kernels(const lab_explain_request *request, const lab_backend_kernels *kernels,
                            lab_explanation *explanation)
{
    rung_type in = request->dtype.product.in;
    explanation->bm = lab_explain_parameter(kernels, explanation, in, "BM", 16);
    explanation->bn = lab_explain_parameter(kernels, explanation, in, "BN", 16);
    lab_explain_count_accesses(request, kernels, explanation);
    lab_explain_compute_occupancy(explanation);
    lab_launch_traits traits = {
        .uses_engine = rung_kernel_describe(kernels->opencl_kernel)->engine != RUNG_ENGINE_NONE,
        .grouped_tile_rows = (double)lab_explain_parameter(kernels, explanation, in, "GROUP", 1)};
    if (explanation->is_counted && explanation->is_compiled && explanation->is_disassembled)
        lab_explain_predict(request, &traits, explanation);
    lab_explanation_find_issues(explanation,
                                lab_kernel_declaration_line(rung_kernel_describe(kernels->opencl_kernel)->source));
}

bool lab_explain(const lab_explain_request *request, lab_explanation *explanation, char *why, size_t capacity)
{
    lab_backend_kernels kernels;
    memset(explanation, 0, sizeof *explanation);
    if (!open_kernels(request->kernel, &kernels, why, capacity))
        return false;
    init_explanation(request, &kernels, explanation);
    bool good = lab_kernel_accepts_dtype(kernels.opencl_kernel, &request->dtype);
    if (!good)
        snprintf(why, capacity, "%s does not support %s; run \"rung kernels %s\" for the supported types",
                 explanation->kernel, request->dtype.name, request->kernel);
    good = good && lab_explain_compile(request, &kernels, explanation, why, capacity);
    if (good)
        explain_kernels(request, &kernels, explanation);
    rung_code_destroy(kernels.code);
    rung_kernel_destroy(kernels.opencl_kernel);
    rung_kernel_destroy(kernels.cuda_kernel);
    return good;
}

void lab_explanation_free(lab_explanation *explanation)
{
    lab_access_counters_free(&explanation->counters);
    lab_sass_free(&explanation->code);
    lab_kernel_trace_free(explanation->trace);
}

/* ---- Missing tools ---- */

#define WORD(name, word, provides) word,
#define PROVIDES(name, word, provides) provides,
#define IS_MISSING(name, word, provides) word " is missing",
LAB_DEFINE_ENUM_TEXT(lab_tool_name, lab_tool, LAB_TOOL_LIST, WORD)
LAB_DEFINE_ENUM_TEXT(lab_tool_provides, lab_tool, LAB_TOOL_LIST, PROVIDES)
LAB_DEFINE_STATIC_ENUM_TEXT(missing_tool_text, lab_tool, LAB_TOOL_LIST, IS_MISSING)

const char *lab_tool_install_hint(const lab_explanation *explanation, lab_tool tool)
{
    switch (tool) {
    case LAB_TOOL_NVRTC: return explanation->why_not_compiled;
    case LAB_TOOL_NVDISASM: return explanation->why_not_disassembled;
    default: return explanation->why_uncounted;
    }
}

/* Returns a sentence on the first missing tool of the set `wanted`; NULL if all are installed. */
static const char *first_missing(const lab_explanation *explanation, unsigned wanted)
{
    for (int tool = 0; tool < LAB_TOOL_COUNT; tool++)
        if (explanation->missing_tools & wanted & 1u << tool)
            return missing_tool_text((lab_tool)tool);
    return NULL;
}

const char *lab_explanation_why_not_counted(const lab_explanation *explanation)
{
    const char *missing = first_missing(explanation, 1u << LAB_TOOL_NVRTC);
    return explanation->is_counted ? "" : missing ? missing : explanation->why_uncounted;
}

const char *lab_explanation_why_not_predicted(const lab_explanation *explanation)
{
    const char *missing = first_missing(explanation, ~0u);
    if (explanation->prediction.runs)
        return "";
    if (*explanation->wrong)
        return explanation->wrong;
    if (missing)
        return missing;
    if (!explanation->is_counted)
        return explanation->why_uncounted;
    if (!explanation->is_disassembled)
        return explanation->why_not_disassembled;
    return explanation->prediction.peak_gflops > 0 ? "a block of this kernel does not fit a multiprocessor"
                                                   : "this GPU has no matrix engine for this type";
}

/* ---- Ratios ---- */

static double ratio(double over, double under)
{
    return under > 0 ? over / under : 0;
}

double lab_sectors_per_request(const lab_explanation *explanation)
{
    return ratio(explanation->block.sectors, explanation->block.global_requests);
}

double lab_sectors_ideal(const lab_explanation *explanation)
{
    return ratio(explanation->block.sectors_ideal, explanation->block.global_requests);
}

double lab_wavefronts_per_request(const lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    return ratio(block->wavefronts, block->shared_loads + block->shared_stores);
}

double lab_wavefronts_ideal(const lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    return ratio(block->wavefronts_ideal, block->shared_loads + block->shared_stores);
}
