/* SPDX-License-Identifier: Apache-2.0 */
/* simt_split_k.c - divides k into slices and lays out the workspace that holds their sums (see simt.h). */
#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "core/choose/tile_cost.h"
#include "core/problem.h"
#include "simt/simt.h"
#include "sources.h"

/* Fills in about `splits` slices whose lengths are multiples of bk. */
static void fill_split(int64_t k, int64_t splits, int64_t bk, rungi_simt_split *split)
{
    RUNGI_ASSERT(k > bk && bk > 0 && splits > 1);
    split->k_per_slice = rungi_ceil_divide(rungi_ceil_divide(k, splits), bk) * bk;
    split->splits = rungi_ceil_divide(k, split->k_per_slice);
}

rung_status rungi_simt_split_choose(const rung_plan *plan, const rung_problem *row_major, int64_t blocks, int64_t bk,
                                    bool covers_c, rungi_simt_split *split)
{
    int64_t k = row_major->a.cols, splits = plan->split_k_requested, bytes = 0, all_blocks;
    bool addend_has_batch_offsets = rungi_problem_addend(row_major)->batch_offsets != NULL;
    bool has_batch_offsets = row_major->a.batch_offsets || row_major->b.batch_offsets || row_major->c.batch_offsets ||
                             addend_has_batch_offsets;
    int64_t offset_arrays = addend_has_batch_offsets ? 4 : 3;
    *split = (rungi_simt_split){.splits = 1, .k_per_slice = k};
    if (has_batch_offsets &&
        (!rungi_checked_multiply(row_major->batch, offset_arrays * (int64_t)sizeof(int64_t), &split->partials_offset) ||
         split->partials_offset > INT64_MAX - 15))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the offsets of %lld batch items do not fit 64-bit sizes",
                          (long long)row_major->batch);
    split->partials_offset = rungi_ceil_divide(split->partials_offset, 16) * 16;
    split->workspace_bytes = split->partials_offset;
    bool can_split = covers_c && k > bk && plan->kernel->info.abilities & RUNG_ABILITY_SPLIT_K;
    if (!can_split || !rungi_checked_multiply(blocks, row_major->batch, &all_blocks))
        return RUNG_OK;
    if (plan->split_k_requested == 0)
        splits = rungi_split_k_slice_count(plan->device, row_major, all_blocks, bk,
                                           plan->workspace_bytes_allowed - split->partials_offset);
    if (splits < 2)
        return RUNG_OK;
    fill_split(k, rungi_min(splits, RUNGI_SIMT_GRID_YZ_MAX), bk, split);
    bool fits = rungi_split_k_workspace_bytes(row_major, split->splits, &bytes) &&
                rungi_checked_add(bytes, split->partials_offset, &split->workspace_bytes);
    if (!fits && plan->split_k_requested > 0)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "the partial sums of %lld split-K slices do not fit 64-bit sizes; request fewer slices",
                          (long long)split->splits);
    if (split->splits == 1 || !fits) {
        split->splits = 1;
        split->k_per_slice = k;
        split->workspace_bytes = split->partials_offset;
    }
    return RUNG_OK;
}

rung_status rungi_simt_split_single_slice(const rung_problem *row_major, rungi_simt_split *split)
{
    int64_t bytes;
    split->splits = 1;
    split->k_per_slice = row_major->a.cols;
    if (!rungi_split_k_workspace_bytes(row_major, 1, &bytes) ||
        !rungi_checked_add(bytes, split->partials_offset, &split->workspace_bytes))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the sums of C, %lld x %lld, do not fit 64-bit sizes",
                          (long long)row_major->c.rows, (long long)row_major->c.cols);
    return RUNG_OK;
}

rung_status rungi_simt_reduction_kernel_create(const rung_plan *plan, rung_kernel **kernel)
{
    TRY(rung_kernel_from_source(plan->device->context, plan->device->backend->name, "reduce.cu", rungi_source_reduce,
                                kernel));
    (*kernel)->is_reduction = true;
    return RUNG_OK;
}
