/* SPDX-License-Identifier: Apache-2.0 */
/* engine_layout.c - how a multiply by packed panels is cut, and where in a thread's scratch its pieces stand. A part
 * of C needs no more scratch than the whole, if it keeps no more slices of B than that. */
#include "cpu/engine_layout.h"

#if defined(__x86_64__)

/* The next place, at a multiple of 4096. */
static int64_t take(int64_t *bytes, int64_t more)
{
    int64_t place = *bytes;
    *bytes += rungi_round_up(more, 4096);
    return place;
}

/* Slices of as many steps as are given, all alike; a few steps more are better than another slice. */
static void cut_k(int64_t k, int64_t given, rungi_layout *l)
{
    int64_t steps = k / l->step + (k % l->step != 0);
    int64_t most = steps <= given + given / 4 ? steps : given;
    l->slices = steps > 0 ? (steps - 1) / most + 1 : 0;
    int64_t each = steps > 0 ? (steps - 1) / l->slices + 1 : 0;
    l->depth = each * l->step;
    l->panel_bytes = each * l->unit;
}

rungi_layout rungi_lay_out(int64_t m, int64_t n, int64_t k, rungi_packing packing, const rungi_cuts *cuts)
{
    int64_t parts = packing == RUNGI_PACK_PARTS ? RUNGI_PARTS : 1, most = cuts->kc / (RUNGI_STEP_BYTES * parts);
    rungi_layout l = {.packing = packing,
                      .unit = RUNGI_PANEL_BYTES * parts,
                      .step = packing == RUNGI_PACK_I8 ? 64 : 32,
                      .size = packing == RUNGI_PACK_PARTS ? 4
                              : packing == RUNGI_PACK_I8  ? 1
                                                          : 2};
    cut_k(k, most > 0 ? most : 1, &l);
    l.mc = rungi_smaller(rungi_round_up(cuts->mc, RUNGI_PANEL), rungi_round_up(m, RUNGI_PANEL));
    l.nc = rungi_smaller(cuts->nc, rungi_round_up(n, RUNGI_PANEL));
    l.panels = l.nc / RUNGI_PANEL;
    l.slice_bytes = rungi_round_up(l.panels, 2) * l.panel_bytes;
    l.stretch = rungi_smaller(cuts->kd / cuts->kc, l.slices);
    bool keeps_all = m > l.mc && l.slices <= cuts->kept_bytes / (l.slice_bytes + 1) && l.slices <= cuts->most_kept;
    l.kept = keeps_all ? l.slices : l.stretch;
    int64_t strips = l.mc / RUNGI_PANEL, blocks = strips * l.panels;
    l.a = take(&l.bytes, (cuts->is_whole_a ? strips * l.slices : 1) * l.panel_bytes);
    l.b = take(&l.bytes, cuts->has_packed_b ? 0 : l.kept * l.slice_bytes);
    l.sums = take(&l.bytes, l.slices > 1 ? blocks * RUNGI_SUMS_BYTES : 0);
    l.block = take(&l.bytes, 2 * RUNGI_SUMS_BYTES);
    if (packing == RUNGI_PACK_PARTS) {
        l.ranges = take(&l.bytes, l.kept * l.panels * (int64_t)sizeof(rungi_range));
        l.worn = take(&l.bytes, blocks);
        l.room = take(&l.bytes, 2 * l.depth * RUNGI_FLOATS_BYTES);
    }
    return l;
}
#endif
