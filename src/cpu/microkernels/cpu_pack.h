/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pack.h - copies blocks of matrices into scratch memory: contiguous, transposed, widened or dequantized. */
#pragma once

#include "cpu/features.h"
#include "rung/rung.h"

/* Copies element (i, j) of a rows x cols block from from[i * row_stride + j * col_stride] to to[i * to_row_stride + j] as the
 * accumulator type: F16 and BF16 become F32, I8 becomes I32. Q8_0 and Q4_0 become F32, too. Their blocks lie along the rows
 * (row_stride is 1), and the rows are a multiple of 32. */
typedef struct rungi_cpu_pack_args {
    rung_type in;
    const void *from;
    int64_t row_stride, col_stride;
    int64_t rows, cols;
    void *to;
    int64_t to_row_stride;
} rungi_cpu_pack_args;

void rungi_cpu_pack(rungi_isa isa, const rungi_cpu_pack_args *pack);

/* Returns whether the type is also the type of sums, so that packing copies elements unchanged. */
static inline bool rungi_is_accumulator_type(rung_type in)
{
    return in == RUNG_F32 || in == RUNG_F64 || in == RUNG_I32;
}

/* Packs with AVX-512: transposes 4- or 8-byte elements whose columns are contiguous, widens rows of F16 or BF16, or dequantizes
 * Q8_0 and Q4_0. Returns false if there is no AVX-512 version for the block. */
bool rungi_cpu_try_pack_avx512(const rungi_cpu_pack_args *pack);
