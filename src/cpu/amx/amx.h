/* SPDX-License-Identifier: Apache-2.0 */
/* amx.h - the packed layouts that 12_matrix multiplies, and the functions that pack, multiply and store them.
 *
 * Matrix instructions take 4 bytes along k at a time, called a group: two BF16 or four INT8 elements. A step is 16 groups,
 * 64 bytes along k. A panel is 32 rows of A or 32 columns of B. One step of a panel takes 2 KiB:
 *
 *     rows      the 16 groups of row r are at 64 r
 *     columns   two tiles of 1 KiB, each of 16 columns: group g of column c is at 64 g + 4 c
 *
 * An F32 element is packed as the sum of three BF16 terms. A step then takes three steps of 2 KiB, the largest terms first,
 * and group g holds elements g and g + 16 of the step. Elements outside the matrix are packed as zeros. */
#pragma once

#include "cpu/microkernels/cpu_epilogue.h"
#include "cpu/targets.h"

#if defined(__x86_64__)
enum {
    RUNGI_AMX_PANEL_WIDTH = 32, /* rows of A or columns of B */
    RUNGI_AMX_GROUPS_PER_STEP = 16,
    RUNGI_AMX_STEP_BYTES = 64, /* along k */
    RUNGI_AMX_TILE_BYTES = 1024,
    RUNGI_AMX_PANEL_STEP_BYTES = 2048, /* three times that for three BF16 terms */
    RUNGI_BF16X3_TERMS = 3,
    RUNGI_AMX_SUMS_ROW_BYTES = 4 * RUNGI_AMX_PANEL_WIDTH, /* one row of a 32 x 32 block of sums */
    RUNGI_AMX_SUMS_BYTES = RUNGI_AMX_SUMS_ROW_BYTES * RUNGI_AMX_PANEL_WIDTH
};

typedef enum rungi_amx_packing {
    RUNGI_AMX_PACKING_BF16,
    RUNGI_AMX_PACKING_I8,
    RUNGI_AMX_PACKING_BF16X3 /* F32 as three BF16 terms */
} rungi_amx_packing;

/* A part of A or B: `outer` rows of A or columns of B, `k` elements each. Nothing outside of it may be read. */
typedef struct rungi_amx_operand {
    const char *first;
    int64_t outer_stride, k_stride; /* in elements */
    int64_t outer, k;
} rungi_amx_operand;

/* The range of the F32 elements of a panel. max and min_less_one are the BF16 bits, without sign, of the largest first term
 * and of the smallest nonzero one, less 1. lost_bits are bits of third terms that BF16 cannot hold: an element is below
 * 2^-126 or a NaN. */
typedef struct rungi_bf16x3_range {
    uint32_t max, min_less_one, lost_bits;
} rungi_bf16x3_range;

/* Returns the bytes per element before packing, the elements along k per step, and the bytes per step of a panel. */
static inline int64_t rungi_amx_element_bytes(rungi_amx_packing packing)
{
    return packing == RUNGI_AMX_PACKING_BF16X3 ? 4 : packing == RUNGI_AMX_PACKING_BF16 ? 2 : 1;
}

static inline int64_t rungi_amx_step_elements(rungi_amx_packing packing)
{
    return packing == RUNGI_AMX_PACKING_I8 ? 64 : 32;
}

static inline int64_t rungi_amx_step_bytes(rungi_amx_packing packing)
{
    return RUNGI_AMX_PANEL_STEP_BYTES * (packing == RUNGI_AMX_PACKING_BF16X3 ? RUNGI_BF16X3_TERMS : 1);
}

/* Packs up to 32 rows as one panel. Packs any number of columns as consecutive panels; an odd INT8 panel may be followed by
 * a panel of zeros. Each panel has the steps that k needs. BF16X3 writes one range per panel; otherwise the pointer is NULL. */
void rungi_amx_rows_pack(rungi_amx_packing packing, const rungi_amx_operand *from, char *to, rungi_bf16x3_range *range);
void rungi_amx_columns_pack(rungi_amx_packing packing, const rungi_amx_operand *from, char *to,
                            rungi_bf16x3_range *ranges);

/* Returns whether no product of terms of two panels can underflow or overflow if k of them are summed. */
bool rungi_bf16x3_is_safe(const rungi_bf16x3_range *a, const rungi_bf16x3_range *b, int64_t k);

/* Stores up to 32 x 32 sums, in rows of 128 bytes, unchanged to C. C has the type of the sums and a column stride of 1. A
 * whole block whose rows are 64-byte aligned may bypass the caches (is_streamed); the caller then issues an sfence at the
 * end. */
void rungi_amx_sums_store(const rungi_cpu_job *job, const rungi_cpu_c_block *block, const char *sums, bool is_streamed);

/* ---- avx512_dot.c: multiplies panels without AMX tiles, by dot products of AVX-512, and F32 by FMA ---- */

/* Adds a panel of rows times a panel of columns to 32 x 32 sums of 4 bytes, or starts the sums at zero if is_first.
 * Computes at least the first `height` rows. INT8 rows have 128 added to each element. */
void rungi_avx512_dot(bool is_i8, int64_t height, int64_t steps, const char *a, const char *b, bool is_first,
                      char *sums);

/* The same for F32 panels that rungi_f32_panel_pack packed: 32 elements per step of k, zeros where the operand ends. */
enum { RUNGI_F32_PANEL_STEP_BYTES = RUNGI_AMX_PANEL_WIDTH * (int)sizeof(float) };
void rungi_f32_panel_pack(const rungi_amx_operand *from, float *to);
void rungi_f32_panel_multiply(int64_t height, int64_t k, const float *rows, const float *columns, bool is_first,
                              float *sums);

/* ---- gemv_bf16.c: BF16 matrix times vector, where C has one row or one column ---- */

enum {
    RUNGI_GEMV_CHUNK_ELEMENTS = 4096,
    RUNGI_GEMV_SCRATCH_BYTES = 4 * RUNGI_GEMV_CHUNK_ELEMENTS + RUNGI_AMX_SUMS_BYTES
};

/* Returns whether the strides allow contiguous loads of the matrix. */
bool rungi_gemv_bf16_is_supported(const rungi_cpu_job *job);

/* Computes the whole job. C is a row (m is 1) or a column. */
void rungi_gemv_bf16_run(const rungi_cpu_job *job, bool is_row);
#endif
