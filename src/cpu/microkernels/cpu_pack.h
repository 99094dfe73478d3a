/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_pack.h - copies blocks of matrices into scratch memory: contiguous, transposed or widened. */
#ifndef RUNGI_CPU_PACK_H
#define RUNGI_CPU_PACK_H

#include "cpu/features.h"
#include "rung/rung.h"

/* Copies element (i, j) of a rows x cols block from from[i * row_stride + j * col_stride] to to[i * to_row_stride + j] as the
 * accumulator type: F16 and BF16 become F32, I8 becomes I32. */
typedef struct rungi_cpu_pack_args {
    rung_type in;
    const void *from;
    int64_t row_stride, col_stride;
    int64_t rows, cols;
    void *to;
    int64_t to_row_stride;
} rungi_cpu_pack_args;

void rungi_cpu_pack(rungi_isa isa, const rungi_cpu_pack_args *pack);

/* AVX-512: transposes a block of 4- or 8-byte elements whose columns are contiguous and col_stride apart; and widens `count`
 * contiguous F16 or BF16 elements. */
void rungi_cpu_transpose_avx512(int64_t size, const rungi_cpu_pack_args *pack);
void rungi_cpu_widen_avx512(rung_type in, const uint16_t *from, int64_t count, float *to);

#endif /* RUNGI_CPU_PACK_H */
