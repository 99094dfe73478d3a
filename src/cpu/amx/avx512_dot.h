/* SPDX-License-Identifier: Apache-2.0 */
/* avx512_dot.h - multiplies panels without AMX tiles: by dot products of AVX-512, and F32 by FMA. */
#ifndef RUNGI_CPU_AVX512_DOT_H
#define RUNGI_CPU_AVX512_DOT_H

#include "cpu/amx/amx.h"

#if defined(__x86_64__)
/* Adds a panel of rows times a panel of columns to 32 x 32 sums of 4 bytes, or starts the sums at zero if is_first.
 * Computes at least the first `height` rows. INT8 rows have 128 added to each element. */
void rungi_avx512_dot_bf16(int64_t height, int64_t steps, const char *a, const char *b, bool is_first, float *sums);
void rungi_avx512_dot_i8(int64_t height, int64_t steps, const char *a, const char *b, bool is_first, int32_t *sums);

/* The same for F32 panels that rungi_f32_panel_pack packed: 32 elements per step of k, zeros where the operand ends. */
enum { RUNGI_F32_PANEL_STEP_BYTES = RUNGI_AMX_PANEL_WIDTH * (int)sizeof(float) };
void rungi_f32_panel_pack(const rungi_amx_operand *from, float *to);
void rungi_f32_panel_multiply(int64_t height, int64_t k, const float *rows, const float *columns, bool is_first,
                              float *sums);
#endif

#endif /* RUNGI_CPU_AVX512_DOT_H */
