/* SPDX-License-Identifier: Apache-2.0 */
/* request_trace.c - see request_trace.h. */
#include "emulator/counts/request_trace.h"

#include <stdlib.h>

#include "base/error.h"
#include "emulator/machine/emulator.h"
#include "emulator/ptx/vector.h"

enum { TRACED_WARPS_MAX = 256, TRACED_REQUESTS_MAX = 4096 };

rung_status rung_emulator_set_trace(rung_emulator *emulator, int64_t warps, int64_t requests)
{
    if (!emulator)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_emulator_set_trace: emulator is NULL");
    if (warps < 0 || warps > TRACED_WARPS_MAX || requests < 0 || requests > TRACED_REQUESTS_MAX)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "a trace of %lld warps and %lld requests per instruction is out of range; the maximum is %d "
                          "warps and %d requests (0 and 0 switch the trace off)",
                          (long long)warps, (long long)requests, TRACED_WARPS_MAX, TRACED_REQUESTS_MAX);
    emulator->traced_warps = requests > 0 ? warps : 0;
    emulator->traced_requests = requests;
    return RUNG_OK;
}

bool rungi_ptx_trace_create(const ptx_launch_t *launch, ptx_trace_t **trace)
{
    int64_t warps = launch->emulator->traced_warps;
    *trace = NULL;
    if (warps == 0)
        return true;
    ptx_trace_t *created = calloc(1, sizeof *created);
    if (!created)
        return false;
    *created = (ptx_trace_t){.warps = warps,
                             .requests = launch->emulator->traced_requests,
                             .instruction_count = launch->module->instruction_count};
    created->recorded = calloc((size_t)warps * ((size_t)created->instruction_count + 1), sizeof *created->recorded);
    created->order = calloc((size_t)warps, sizeof *created->order);
    if (!created->recorded || !created->order) {
        rungi_ptx_trace_free(created);
        return false;
    }
    *trace = created;
    return true;
}

void rungi_ptx_trace_free(ptx_trace_t *trace)
{
    if (!trace)
        return;
    free(trace->recorded);
    free(trace->order);
    free(trace->items);
    free(trace);
}

void rungi_ptx_trace_add(ptx_trace_t *trace, const ptx_warp_t *warp, const ptx_request_t *request,
                         const ptx_traced_pattern_t *pattern)
{
    int64_t index = warp->block->linear_id * warp->block->warp_count + warp->index;
    bool is_traced = request->space == PTX_SPACE_GLOBAL || request->space == PTX_SPACE_SHARED;
    if (index >= trace->warps || !is_traced)
        return;
    int64_t order = trace->order[index]++;
    int32_t *recorded = &trace->recorded[index * trace->instruction_count + pattern->pc];
    if (*recorded >= trace->requests)
        return;
    ptx_traced_request_t *items = rungi_ptx_grow(trace->items, trace->count + 1, &trace->capacity, sizeof *items);
    if (!items) {
        trace->has_lost_requests = true;
        return;
    }
    trace->items = items;
    ptx_traced_request_t *item = &items[trace->count++];
    *item = (ptx_traced_request_t){.pattern = *pattern,
                                   .space = request->space,
                                   .kind = request->kind,
                                   .bytes = request->bytes,
                                   .mask = request->mask,
                                   .warp = index,
                                   .order = order};
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) /* a merged access may begin before its first instruction's */
        item->address[lane] = request->address[lane] & ~(uint64_t)(request->bytes - 1);
    (*recorded)++;
}
