/* SPDX-License-Identifier: Apache-2.0 */
/* access_counts.c - counts the memory accesses of one block of the real problem from two runs on the emulator at smaller
 * k: the second input of lab_explain(). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "emulate/emulated_multiply.h"
#include "explain/explain_internal.h"

/* Returns a stride with the same banks, sectors and lines whose matrix is small. */
static int64_t equivalent_stride(int64_t stride)
{
    enum { STRIDE_MAX = 8192, STRIDE_PERIOD = 1024 };
    return stride <= STRIDE_MAX ? stride : STRIDE_MAX + stride % STRIDE_PERIOD;
}

/* Returns the request for one block of the problem with a smaller k. */
static lab_access_request request_one_block(const lab_explain_request *request, const lab_explanation *explanation,
                                            int64_t k)
{
    return (lab_access_request){.kernel = request->kernel,
                                .parameters = explanation->parameters,
                                .arch = request->machine.arch,
                                .product = request->dtype.product,
                                .compute = request->dtype.compute,
                                .m = rungi_min(request->m, explanation->bm),
                                .n = rungi_min(request->n, explanation->bn),
                                .k = k,
                                .a_stride = equivalent_stride(request->k),
                                .b_stride = equivalent_stride(request->n),
                                .c_stride = equivalent_stride(request->n),
                                .seconds = request->seconds};
}

static lab_block_counts count_block(const lab_access_counters *counters)
{
    lab_access_line loads = lab_access_counters_sum(counters, 0, LAB_ACCESS_GLOBAL_LOAD, NULL);
    lab_access_line stores = lab_access_counters_sum(counters, 0, LAB_ACCESS_GLOBAL_STORE, NULL);
    lab_access_line shared_loads = lab_access_counters_sum(counters, 0, LAB_ACCESS_SHARED_LOAD, NULL);
    lab_access_line shared_stores = lab_access_counters_sum(counters, 0, LAB_ACCESS_SHARED_STORE, NULL);
    double blocks = counters->totals.blocks > 0 ? (double)counters->totals.blocks : 1;
    lab_block_counts counts = {
        .macs = (double)counters->totals.multiply_adds / blocks,
        .barriers = (double)counters->totals.barriers / blocks,
        .waits = (double)counters->totals.waits / blocks,
        .global_requests = (double)(loads.requests + stores.requests) / blocks,
        .sectors = (double)(loads.sectors + stores.sectors) / blocks,
        .sectors_ideal = (double)(loads.sectors_ideal + stores.sectors_ideal) / blocks,
        .lines = (double)(loads.lines + stores.lines) / blocks,
        .shared_loads = (double)shared_loads.requests / blocks,
        .shared_stores = (double)shared_stores.requests / blocks,
        .wavefronts = (double)(shared_loads.wavefronts + shared_stores.wavefronts) / blocks,
        .wavefronts_ideal = (double)(shared_loads.wavefronts_ideal + shared_stores.wavefronts_ideal) / blocks,
        .load_wavefronts = (double)shared_loads.wavefronts / blocks,
        .load_bytes = (double)shared_loads.distinct_bytes / blocks,
    };
    for (int64_t i = 0; i < counters->buffer_count; i++)
        counts.distinct_sectors += (double)(counters->buffers[i].block_sectors_read +
                                            counters->buffers[i].block_sectors_written) /
                                   blocks;
    return counts;
}

/* Extrapolates the counts of a block from two smaller values of k. */
static lab_block_counts extrapolate_counts(const lab_block_counts *short_run, const lab_block_counts *long_run,
                                           double steps)
{
    enum { FIELDS = sizeof(lab_block_counts) / sizeof(double) };
    double a[FIELDS], b[FIELDS];
    lab_block_counts all;
    memcpy(a, short_run, sizeof a);
    memcpy(b, long_run, sizeof b);
    for (int i = 0; i < FIELDS; i++)
        a[i] += (b[i] - a[i]) * steps;
    memcpy(&all, a, sizeof all);
    return all;
}

/* Extrapolates the counts of every line. A line that only the longer run has was not reached by the shorter one. */
static void extrapolate_line_counts(const lab_access_counters *short_run, lab_access_counters *long_run, double steps)
{
    for (int64_t i = 0; i < long_run->line_count; i++) {
        lab_access_line *line = &long_run->lines[i], nothing = {0};
        const lab_access_line *before = &nothing;
        for (int64_t j = 0; j < short_run->line_count && before == &nothing; j++)
            if (short_run->lines[j].line == line->line && short_run->lines[j].kind == line->kind &&
                short_run->lines[j].width == line->width && strcmp(short_run->lines[j].array, line->array) == 0)
                before = &short_run->lines[j];
#define X(name) line->name = before->name + llround((double)(line->name - before->name) * steps);
        LAB_ACCESS_LINE_LIST(X)
#undef X
    }
}

/* Divides the counts of all blocks by their number. */
static void average_line_counts(lab_access_counters *counters)
{
    int64_t blocks = counters->totals.blocks > 1 ? counters->totals.blocks : 1;
    for (int64_t i = 0; i < counters->line_count; i++) {
        lab_access_line *line = &counters->lines[i];
#define X(name) line->name = (line->name + blocks / 2) / blocks;
        LAB_ACCESS_LINE_LIST(X)
#undef X
    }
}

void lab_explain_extrapolate(lab_access_counters *short_run, lab_explanation *explanation, double steps)
{
    lab_block_counts before = count_block(short_run), after = count_block(&explanation->counters);
    explanation->block = extrapolate_counts(&before, &after, steps);
    average_line_counts(short_run);
    average_line_counts(&explanation->counters);
    extrapolate_line_counts(short_run, &explanation->counters, steps);
}

/* Runs one block twice, two steps of k apart; the first run already exceeds the stages of the prologue. Returns false
 * if a run failed. Sets *is_step_too_short if the kernel did no step between the two runs. */
static bool count_at_two_depths(const lab_explain_request *request, const lab_backend_kernels *kernels,
                                lab_explanation *explanation, int64_t step, int64_t stages, bool *is_step_too_short)
{
    int64_t first = rungi_min((stages + 1) * step, request->k), second = rungi_min(first + 2 * step, request->k);
    lab_access_request run = request_one_block(request, explanation, first);
    lab_access_counters short_run = {.line_count = 0};
    double outputs = (double)run.m * (double)run.n;
    *is_step_too_short = false;
    if (second > first && !lab_access_counters_run(&run, kernels->cuda_kernel, kernels->code, &short_run,
                                                   explanation->why_uncounted, LAB_EXPLAIN_WHY_BYTES))
        return false;
    run.k = second;
    bool is_counted = lab_access_counters_run(&run, kernels->cuda_kernel, kernels->code, &explanation->counters,
                                              explanation->why_uncounted, LAB_EXPLAIN_WHY_BYTES);
    if (is_counted) {
        *is_step_too_short = second < request->k &&
                             count_block(&explanation->counters).macs - count_block(&short_run).macs <
                                 outputs * (double)(second - first) / 4;
        lab_explain_extrapolate(&short_run, explanation,
                                second > first ? (double)(request->k - first) / (double)(second - first) : 1);
        explanation->block.macs = fmax(explanation->block.macs, outputs * (double)request->k); /* the minimum */
    }
    lab_access_counters_free(&short_run);
    return is_counted;
}

/* Records single requests of the shorter run and checks it. Also checks a run that the tile does not divide. */
static void trace_accesses(const lab_explain_request *request, const lab_backend_kernels *kernels,
                           lab_explanation *explanation, int64_t step, int64_t stages)
{
    lab_access_request run = request_one_block(request, explanation, rungi_min((stages + 1) * step, request->k));
    char why[LAB_EXPLAIN_WHY_BYTES];
    explanation->trace = lab_kernel_trace_create();
    if (!explanation->trace)
        return;
    bool good = lab_access_trace_run(&run, kernels->cuda_kernel, kernels->code, explanation->trace, why, sizeof why);
    if (good && run.m > 3 && run.n > 5 && run.k > 7) {
        run.m -= 3;
        run.n -= 5;
        run.k -= 7;
        good = lab_access_trace_run(&run, kernels->cuda_kernel, kernels->code, explanation->trace, why, sizeof why);
    }
    if (!good)
        snprintf(explanation->wrong, sizeof explanation->wrong, "%s", why);
}

/* Steps are multiples of BK and of whole sectors of A's rows. A file without BK may have longer steps than the first
 * guess, so the step is doubled until the kernel advances. */
void lab_explain_count_accesses(const lab_explain_request *request, const lab_backend_kernels *kernels,
                                lab_explanation *explanation)
{
    enum { STEP_MAX = 1024, SECTOR_BYTES = 32 };
    rung_type in = request->dtype.product.in;
    int64_t step = lab_explain_parameter(kernels, explanation, in, "BK", 8);
    int64_t stages = lab_explain_parameter(kernels, explanation, in, "STAGES", 1);
    bool is_step_too_short = true;
    if (!kernels->code) {
        snprintf(explanation->why_uncounted, LAB_EXPLAIN_WHY_BYTES, "%s", explanation->why_not_compiled);
        return;
    }
    step = rungi_round_up(step, SECTOR_BYTES / rung_type_size(in));
    if (request->wants_trace)
        trace_accesses(request, kernels, explanation, step, stages);
    for (; is_step_too_short && step <= STEP_MAX; step *= 2) {
        lab_access_counters_free(&explanation->counters);
        if (!count_at_two_depths(request, kernels, explanation, step, stages, &is_step_too_short))
            return;
    }
    explanation->is_counted = !is_step_too_short;
    if (is_step_too_short)
        snprintf(explanation->why_uncounted, LAB_EXPLAIN_WHY_BYTES,
                 "the kernel makes no step along k within %d; add #define BK with the length of its step", STEP_MAX);
}
