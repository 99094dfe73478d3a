/* SPDX-License-Identifier: Apache-2.0 */
/* amx_blocking.c - see amx_blocking.h. A part of C needs no more scratch than the whole problem, because it caches no more
 * slices of B. */
#include "cpu/amx/amx_blocking.h"

#if defined(__x86_64__)

/* Returns the next free offset, a multiple of 4096, and reserves `more` bytes there. */
static int64_t allocate_scratch(int64_t *bytes, int64_t more)
{
    int64_t offset = *bytes;
    *bytes += rungi_round_up(more, 4096);
    return offset;
}

/* Splits k into equal slices of about `slice_steps` steps. A few more steps are better than another slice. */
static void split_k_slices(int64_t k, int64_t slice_steps, rungi_amx_blocking *l)
{
    int64_t steps = rungi_ceil_divide(k, l->step_k);
    int64_t max_steps = steps <= slice_steps + slice_steps / 4 ? steps : slice_steps;
    l->slices = steps > 0 ? rungi_ceil_divide(steps, max_steps) : 0;
    int64_t each = steps > 0 ? rungi_ceil_divide(steps, l->slices) : 0;
    l->slice_k = each * l->step_k;
    l->panel_bytes = each * l->panel_step_bytes;
}

/* A pass takes kd bytes of k. If there are several, half of that: then L2 also holds the sums and, prefetched, the next pass. */
static int64_t slices_per_pass(const rungi_amx_blocking *l, const rungi_amx_blocking_options *options)
{
    int64_t slices = rungi_max(options->kd / options->kc, 1);
    return l->slices <= slices ? l->slices : rungi_max(slices / 2, 1);
}

rungi_amx_blocking rungi_amx_blocking_compute(int64_t m, int64_t n, int64_t k, rungi_amx_packing packing,
                                              const rungi_amx_blocking_options *options)
{
    const int64_t width = RUNGI_AMX_PANEL_WIDTH;
    int64_t terms = packing == RUNGI_AMX_PACKING_BF16X3 ? RUNGI_BF16X3_TERMS : 1;
    rungi_amx_blocking l = {.packing = packing,
                            .panel_step_bytes = rungi_amx_step_bytes(packing),
                            .step_k = rungi_amx_step_elements(packing),
                            .element_bytes = rungi_amx_element_bytes(packing)};
    split_k_slices(k, rungi_max(options->kc / (RUNGI_AMX_STEP_BYTES * terms), 1), &l);
    l.mc = rungi_min(rungi_round_up(options->mc, width), rungi_round_up(m, width));
    l.nc = rungi_min(options->nc, rungi_round_up(n, width));
    l.panels = l.nc / width;
    l.slice_bytes = rungi_round_up(l.panels, 2) * l.panel_bytes;
    l.slices_per_pass = slices_per_pass(&l, options);
    bool caches_all = m > l.mc && l.slices <= options->max_cached_bytes / (l.slice_bytes + 1) &&
                      l.slices <= options->max_cached_slices;
    l.cached_slices = caches_all ? l.slices : l.slices_per_pass;
    int64_t row_panels = l.mc / width, blocks = row_panels * l.panels, *bytes = &l.scratch_bytes;
    l.a_offset = allocate_scratch(bytes, (options->packs_all_a ? row_panels * l.slices : 2) * l.panel_bytes);
    l.b_offset = allocate_scratch(bytes, options->has_packed_b ? 0 : l.cached_slices * l.slice_bytes);
    l.sums_offset = allocate_scratch(bytes, l.slices > 1 ? blocks * RUNGI_AMX_SUMS_BYTES : 0);
    l.block_offset = allocate_scratch(bytes, 2 * RUNGI_AMX_SUMS_BYTES);
    if (packing == RUNGI_AMX_PACKING_BF16X3) {
        l.ranges_offset = allocate_scratch(bytes, l.cached_slices * l.panels * (int64_t)sizeof(rungi_bf16x3_range));
        l.fma_flags_offset = allocate_scratch(bytes, blocks);
        l.fma_scratch_offset = allocate_scratch(bytes, 2 * l.slice_k * RUNGI_F32_PANEL_STEP_BYTES);
    }
    return l;
}
#endif
