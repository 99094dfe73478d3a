/* SPDX-License-Identifier: Apache-2.0 */
/* preset_model.c - see preset_model.h: the steps of lab_explain() with compiled code and counts that are kept. */
#include "explain/preset_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "common/failure.h"
#include "explain/explain_internal.h"

enum {
    VARIANTS_MAX = 8,   /* paths of a kernel */
    FORMS_MAX = 512,    /* of a block, per path */
    STRIDE_PERIOD = 64, /* elements: strides that differ by a multiple have the same sectors, lines and banks */
    SHORT_K = 1024,     /* counts are linear in k from here on */
    LONG_K = SHORT_K + 4096
};

/* What the counts of a block depend on beside k. */
typedef struct block_form {
    int64_t rows, cols, n_remainder, k_remainder;
} block_form_t;

/* The counts of a block at two values of k. */
typedef struct form_counts {
    block_form_t form;
    int64_t k[2];
    lab_block_counts block[2];
    lab_access_counters counters[2];
} form_counts_t;

/* The kernel, compiled for one path. */
typedef struct variant {
    rung_code *code;
    lab_explanation explanation; /* as lab_explain_compile() leaves it */
    form_counts_t *forms;
    int form_count;
} variant_t;

struct lab_preset_model {
    lab_explain_request request;
    char kernel[256], parameters[RUNG_PARAMETERS_BYTES];
    lab_backend_kernels kernels; /* without code */
    lab_preset_tile tile;
    bool uses_engine;
    variant_t variants[VARIANTS_MAX];
    int variant_count;
    rung_code *block_codes[VARIANTS_MAX]; /* of problems of one block, if they have another path */
    int block_code_count;
};

/* ---- Creating ---- */

static void read_tile(lab_preset_model *model)
{
    const rung_kernel *kernel = model->kernels.opencl_kernel;
    rung_type in = model->request.dtype.product.in;
    const char *parameters = model->parameters;
    model->tile = (lab_preset_tile){.bm = lab_kernel_value_or(kernel, parameters, in, "BM", 16),
                                    .bn = lab_kernel_value_or(kernel, parameters, in, "BN", 16),
                                    .bk = lab_kernel_value_or(kernel, parameters, in, "BK", 8),
                                    .group = lab_kernel_value_or(kernel, parameters, in, "GROUP", 1)};
}

lab_preset_model *lab_preset_model_create(const lab_explain_request *request, char *why, size_t capacity)
{
    lab_preset_model *model = calloc(1, sizeof *model);
    if (!model) {
        lab_set_reason(why, capacity, "not enough memory");
        return NULL;
    }
    model->request = *request;
    snprintf(model->kernel, sizeof model->kernel, "%s", request->kernel);
    snprintf(model->parameters, sizeof model->parameters, "%s", request->parameters ? request->parameters : "");
    model->request.kernel = model->kernel;
    model->request.parameters = request->parameters ? model->parameters : NULL;
    bool good = lab_kernel_open(NULL, "opencl", request->kernel, &model->kernels.opencl_kernel, why, capacity) &&
                lab_kernel_open(NULL, "cuda", request->kernel, &model->kernels.cuda_kernel, why, capacity);
    if (good && !lab_kernel_accepts_dtype(model->kernels.opencl_kernel, &request->dtype))
        good = lab_set_reason(why, capacity, "%s does not support %s", request->kernel, request->dtype.name);
    if (!good) {
        lab_preset_model_free(model);
        return NULL;
    }
    model->uses_engine = rung_kernel_describe(model->kernels.opencl_kernel)->engine != RUNG_ENGINE_NONE;
    read_tile(model);
    return model;
}

static void free_variant(variant_t *variant)
{
    for (int i = 0; i < variant->form_count; i++)
        for (int j = 0; j < 2; j++)
            lab_access_counters_free(&variant->forms[i].counters[j]);
    free(variant->forms);
    rung_code_destroy(variant->code);
    lab_explanation_free(&variant->explanation);
}

void lab_preset_model_free(lab_preset_model *model)
{
    if (!model)
        return;
    for (int i = 0; i < model->variant_count; i++)
        free_variant(&model->variants[i]);
    for (int i = 0; i < model->block_code_count; i++)
        rung_code_destroy(model->block_codes[i]);
    rung_kernel_destroy(model->kernels.opencl_kernel);
    rung_kernel_destroy(model->kernels.cuda_kernel);
    free(model);
}

lab_preset_tile lab_preset_model_tile(const lab_preset_model *model)
{
    return model->tile;
}

/* ---- Compiled code ---- */

/* Finds the code for the path of the request, or compiles it. */
static variant_t *find_variant(lab_preset_model *model, const lab_explain_request *request, char *why, size_t capacity)
{
    rung_problem problem = lab_explain_problem(request);
    for (int i = 0; i < model->variant_count; i++)
        if (rung_code_set_problem(model->variants[i].code, model->kernels.cuda_kernel, &problem) == RUNG_OK)
            return &model->variants[i];
    if (model->variant_count == VARIANTS_MAX) {
        lab_set_reason(why, capacity, "%s has more than %d paths", model->kernel, VARIANTS_MAX);
        return NULL;
    }
    variant_t *variant = &model->variants[model->variant_count];
    lab_backend_kernels kernels = model->kernels;
    memset(variant, 0, sizeof *variant);
    variant->explanation.machine = request->machine;
    variant->explanation.dtype = request->dtype.name;
    bool good = lab_explain_compile(request, &kernels, &variant->explanation, why, capacity);
    if (good && !variant->explanation.is_disassembled)
        good = lab_set_reason(why, capacity, "%s",
                              variant->explanation.is_compiled ? variant->explanation.why_not_disassembled
                                                               : variant->explanation.why_not_compiled);
    variant->code = kernels.code;
    variant->explanation.bm = model->tile.bm;
    variant->explanation.bn = model->tile.bn;
    lab_explain_compute_occupancy(&variant->explanation);
    if (good) {
        model->variant_count++;
        return variant;
    }
    free_variant(variant);
    return NULL;
}

/* ---- Counts ---- */

/* Returns code for the problem of one block that lab_explain_count_accesses() runs, which may have another path than the
 * whole problem. Code that does not fit is right, too: it is compiled again. */
static rung_code *block_code_of(lab_preset_model *model, const variant_t *variant, const lab_explain_request *request)
{
    lab_explain_request block = *request;
    rung_problem whole = lab_explain_problem(request);
    block.m = rungi_min(request->m, model->tile.bm);
    block.n = rungi_min(request->n, model->tile.bn);
    block.k = rungi_min(request->k, model->tile.bk * STRIDE_PERIOD);
    rung_problem problem = lab_explain_problem(&block);
    problem.a = rung_matrix_block(whole.a, 0, 0, block.m, block.k);
    problem.b = rung_matrix_block(whole.b, 0, 0, block.k, block.n);
    problem.c = rung_matrix_block(whole.c, 0, 0, block.m, block.n);
    const rung_kernel *kernel = model->kernels.cuda_kernel;
    for (int i = 0; i < model->variant_count; i++)
        if (rung_code_set_problem(model->variants[i].code, kernel, &problem) == RUNG_OK)
            return model->variants[i].code;
    for (int i = 0; i < model->block_code_count; i++)
        if (rung_code_set_problem(model->block_codes[i], kernel, &problem) == RUNG_OK)
            return model->block_codes[i];
    rung_code **code = &model->block_codes[model->block_code_count];
    if (model->block_code_count == VARIANTS_MAX ||
        rung_kernel_compile(kernel, &problem, variant->code->parameters, request->machine.arch, code) != RUNG_OK)
        return variant->code;
    model->block_code_count++;
    return *code;
}

/* Counts a block at the k of the request, as lab_explain() does. */
static bool count_block(lab_preset_model *model, const variant_t *variant, const lab_explain_request *request,
                        lab_explanation *explanation, char *why, size_t capacity)
{
    lab_backend_kernels kernels = model->kernels;
    kernels.code = block_code_of(model, variant, request);
    *explanation = variant->explanation;
    lab_explain_count_accesses(request, &kernels, explanation);
    return explanation->is_counted || lab_set_reason(why, capacity, "%s", explanation->why_uncounted);
}

static form_counts_t *find_form(const variant_t *variant, const block_form_t *form)
{
    for (int i = 0; i < variant->form_count; i++)
        if (memcmp(&variant->forms[i].form, form, sizeof *form) == 0)
            return &variant->forms[i];
    return NULL;
}

static form_counts_t *count_form(lab_preset_model *model, variant_t *variant, const lab_explain_request *request,
                                 char *why, size_t capacity)
{
    block_form_t form = {rungi_min(request->m, model->tile.bm), rungi_min(request->n, model->tile.bn),
                         request->n % STRIDE_PERIOD, request->k % STRIDE_PERIOD};
    form_counts_t *found = find_form(variant, &form);
    lab_explain_request at = *request;
    lab_explanation explanation;
    if (found)
        return found;
    if (!variant->forms)
        variant->forms = calloc(FORMS_MAX, sizeof *variant->forms);
    if (!variant->forms || variant->form_count == FORMS_MAX) {
        lab_set_reason(why, capacity, "not enough memory");
        return NULL;
    }
    found = &variant->forms[variant->form_count];
    memset(found, 0, sizeof *found);
    found->form = form;
    for (int i = 0; i < 2; i++) {
        at.k = found->k[i] = (i == 0 ? SHORT_K : LONG_K) + form.k_remainder;
        if (!count_block(model, variant, &at, &explanation, why, capacity))
            return NULL;
        found->block[i] = explanation.block;
        found->counters[i] = explanation.counters;
    }
    variant->form_count++;
    return found;
}

static double between(double first, double second, double steps)
{
    return first + (second - first) * steps;
}

/* Writes the counts at the k of the request. Returns the lines, which the caller frees; NULL if memory is exhausted. */
static lab_access_line *counts_at(const form_counts_t *counts, int64_t k, lab_explanation *explanation)
{
    enum { FIELDS = sizeof(lab_block_counts) / sizeof(double) };
    double steps = (double)(k - counts->k[0]) / (double)(counts->k[1] - counts->k[0]), at[2][FIELDS];
    memcpy(at, counts->block, sizeof at);
    for (int i = 0; i < FIELDS; i++)
        at[0][i] = between(at[0][i], at[1][i], steps);
    memcpy(&explanation->block, at[0], sizeof explanation->block);
    explanation->counters = counts->counters[1];
    size_t bytes = (size_t)explanation->counters.line_count * sizeof(lab_access_line);
    lab_access_line *lines = malloc(bytes + 1);
    if (!lines)
        return NULL;
    memcpy(lines, counts->counters[1].lines, bytes);
    for (int64_t i = 0; i < explanation->counters.line_count; i++) {
        const lab_access_line *first = &counts->counters[0].lines[i];
#define X(name) lines[i].name = llround(between((double)first->name, (double)lines[i].name, steps));
        LAB_ACCESS_LINE_LIST(X)
#undef X
    }
    explanation->counters.lines = lines;
    explanation->is_counted = true;
    return lines;
}

/* ---- Predicting ---- */

static void predict(const lab_preset_model *model, const lab_explain_request *request, const lab_model_problem *problem,
                    lab_explanation *explanation)
{
    double tiles = (double)rungi_ceil_divide(problem->m, model->tile.bm) *
                   (double)rungi_ceil_divide(problem->n, model->tile.bn);
    double items = (double)problem->batch * (double)problem->splits;
    lab_launch_traits traits = {.uses_engine = model->uses_engine,
                                .grouped_tile_rows = (double)model->tile.group,
                                .blocks = tiles * items,
                                .batch = items};
    explanation->m = request->m, explanation->n = request->n, explanation->k = request->k;
    lab_explain_predict(request, &traits, explanation);
}

/* Explains a problem up to the prediction. The counters of the explanation are only valid inside. */
static bool explain(lab_preset_model *model, const lab_model_problem *problem, bool is_simulated,
                    lab_explanation *explanation, char *why, size_t capacity)
{
    lab_explain_request request = model->request;
    request.m = problem->m, request.n = problem->n, request.k = problem->k;
    variant_t *variant = find_variant(model, &request, why, capacity); /* the strides are those of the whole k */
    if (!variant)
        return false;
    *explanation = variant->explanation;
    int64_t slice = lab_slice_length(problem->k, problem->splits, model->tile.bk);
    lab_access_line *lines = NULL;
    bool is_short = problem->k < SHORT_K, good;
    if (is_short) {
        request.k = slice;
        good = count_block(model, variant, &request, explanation, why, capacity);
    } else {
        form_counts_t *counts = count_form(model, variant, &request, why, capacity);
        lines = counts ? counts_at(counts, slice, explanation) : NULL;
        good = lines != NULL;
    }
    request.k = slice;
    if (!is_simulated)
        explanation->code.loop_code_count = 0;
    if (good)
        predict(model, &request, problem, explanation);
    if (is_short && good)
        lab_access_counters_free(&explanation->counters);
    free(lines);
    if (good && !explanation->prediction.runs)
        good = lab_set_reason(why, capacity, "a block does not fit a multiprocessor, or the GPU has no matrix engine");
    return good;
}

bool lab_preset_model_predict(lab_preset_model *model, const lab_model_problem *problem, lab_prediction *prediction,
                              int64_t *resident, char *why, size_t capacity)
{
    lab_explanation explanation = {.m = 0};
    bool good = explain(model, problem, true, &explanation, why, capacity);
    if (resident)
        *resident = explanation.occupancy.blocks;
    *prediction = explanation.prediction;
    return good;
}

bool lab_preset_model_bound(lab_preset_model *model, const lab_model_problem *problem, double *seconds, char *why,
                            size_t capacity)
{
    lab_explanation explanation = {.m = 0};
    const lab_gpu *machine = &model->request.machine;
    const lab_launch_work *work = &explanation.work;
    if (!explain(model, problem, false, &explanation, why, capacity))
        return false;
    double resident = lab_resident_blocks(machine, work);
    double blocks = floor(work->blocks / (machine->sm_count * resident)) * resident + lab_last_blocks(machine, work);
    *seconds = LAB_LAUNCH_SECONDS + fmax(blocks * explanation.prediction.busy / (machine->clock_mhz * 1e6),
                                         work->dram_bytes / (machine->dram_gbs * 1e9));
    return true;
}

int64_t lab_slice_length(int64_t k, int64_t splits, int64_t bk)
{
    return splits > 1 ? rungi_min(k, rungi_round_up(rungi_ceil_divide(k, splits), bk)) : k;
}

double lab_reduction_seconds(const lab_gpu *machine, lab_type_pair product, const lab_model_problem *problem)
{
    double elements = (double)problem->m * (double)problem->n * (double)problem->batch;
    double partial_bytes = elements * (double)problem->splits *
                           (double)rung_type_size(lab_type_pair_accumulator(product));
    double l2_rate = machine->l2 * machine->sm_count * machine->clock_mhz * 1e6, dram_rate = machine->dram_gbs * 1e9;
    bool fits_l2 = partial_bytes <= machine->l2_kib * 1024 / 2;
    return partial_bytes / (fits_l2 ? l2_rate : dram_rate) +
           elements * (double)rung_type_size(product.out) / dram_rate + LAB_LAUNCH_SECONDS;
}
