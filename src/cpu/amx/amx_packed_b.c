/* SPDX-License-Identifier: Apache-2.0 */
/* amx_packed_b.c - the layout of a B that is packed in advance for 12_matrix.
 *
 * A packed B holds one slice of k after the other, and each slice one panel after the other. The number of panels is even,
 * because INT8 is packed in pairs of panels. KC alone decides the slice size, so that the layout is the same for every m.
 *
 * F32 is packed twice: unchanged, for few rows and for values outside the range of BF16 terms, and then as terms. The ranges
 * of all panels follow, slice by slice. */
#include "cpu/amx/amx_blocking.h"

#include <string.h>

#include "base/error.h"

#if defined(__x86_64__)
enum { PANEL = RUNGI_AMX_PANEL_WIDTH, F32_STEP_BYTES = 32 * RUNGI_F32_PANEL_STEP_BYTES };

static int64_t panel_count(int64_t n)
{
    return 2 * rungi_ceil_divide(n, 2 * PANEL);
}

/* Returns the bytes of one step of an unchanged F32 panel; 0 for other types. */
static int64_t f32_step_bytes(const rungi_amx_blocking *l)
{
    return l->packing == RUNGI_AMX_PACKING_BF16X3 ? F32_STEP_BYTES : 0;
}

/* Returns the bytes of all panels if one step takes `step_bytes`. */
static int64_t all_panels_bytes(const rungi_amx_blocking *l, int64_t k, int64_t n, int64_t step_bytes)
{
    return panel_count(n) * rungi_ceil_divide(k, l->step_k) * step_bytes;
}

static int64_t panel_offset(const rungi_amx_blocking *l, int64_t n, const rungi_amx_slice *slice, int64_t j,
                            int64_t step_bytes)
{
    return (slice->p / l->step_k * panel_count(n) + j / PANEL * slice->steps) * step_bytes;
}

int64_t rungi_amx_packed_f32_offset(const rungi_amx_blocking *l, int64_t n, const rungi_amx_slice *slice, int64_t j)
{
    return panel_offset(l, n, slice, j, F32_STEP_BYTES);
}

int64_t rungi_amx_packed_panel_offset(const rungi_amx_blocking *l, int64_t k, int64_t n, const rungi_amx_slice *slice,
                                      int64_t j)
{
    return all_panels_bytes(l, k, n, f32_step_bytes(l)) + panel_offset(l, n, slice, j, l->panel_step_bytes);
}

int64_t rungi_amx_packed_range_offset(const rungi_amx_blocking *l, int64_t k, int64_t n, const rungi_amx_slice *slice,
                                      int64_t j)
{
    return all_panels_bytes(l, k, n, f32_step_bytes(l) + l->panel_step_bytes) +
           (slice->number * panel_count(n) + j / PANEL) * (int64_t)sizeof(rungi_bf16x3_range);
}

rung_status rungi_amx_packed_b_bytes(const rungi_amx_blocking *l, int64_t k, int64_t n, int64_t *bytes)
{
    int64_t range_bytes = l->packing == RUNGI_AMX_PACKING_BF16X3 ? (int64_t)sizeof(rungi_bf16x3_range) : 0;
    if (!rungi_checked_multiply(panel_count(n), rungi_ceil_divide(k, l->step_k), bytes) ||
        !rungi_checked_multiply(*bytes, l->panel_step_bytes + f32_step_bytes(l) + range_bytes, bytes) ||
        *bytes > INT64_MAX - 64)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "12_matrix: the packed B (%lld x %lld) needs more than 2^63 bytes; split B by columns",
                          (long long)k, (long long)n);
    *bytes = rungi_round_up(*bytes, 64);
    return RUNG_OK;
}

static void pack_f32(const rungi_amx_blocking *l, const rungi_cpu_job *job, const rungi_amx_slice *slice, char *packed)
{
    for (int64_t j = 0; j < job->n; j += PANEL) {
        rungi_amx_operand from = rungi_amx_b_operand(l, &job->b, j, rungi_min(PANEL, job->n - j), slice);
        char *to = packed + rungi_amx_packed_f32_offset(l, job->n, slice, j);
        rungi_f32_panel_pack(&from, (float *)(void *)to);
    }
}

void rungi_amx_packed_b_fill(const rungi_amx_blocking *l, const rungi_cpu_job *job, char *packed)
{
    bool has_f32 = l->packing == RUNGI_AMX_PACKING_BF16X3;
    /* An odd last panel, and incomplete F32 panels and ranges, leave bytes unwritten. A file of the packed B must not contain
     * old memory contents. */
    if (job->n % (2 * PANEL) != 0 || has_f32)
        memset(packed, 0, (size_t)job->config->packed.bytes);
    for (int64_t number = 0; number < l->slices; number++) {
        rungi_amx_slice slice = rungi_amx_slice_at(l, job->k, number);
        rungi_amx_operand from = rungi_amx_b_operand(l, &job->b, 0, job->n, &slice);
        char *ranges = packed + rungi_amx_packed_range_offset(l, job->k, job->n, &slice, 0);
        rungi_amx_columns_pack(l->packing, &from, packed + rungi_amx_packed_panel_offset(l, job->k, job->n, &slice, 0),
                               has_f32 ? (rungi_bf16x3_range *)(void *)ranges : NULL);
        if (has_f32)
            pack_f32(l, job, &slice, packed);
    }
}
#endif
