/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - moves blocks of matrices to where a kernel reads them: copied, turned, widened. */
#ifndef RUNGI_CPU_PACK_H
#define RUNGI_CPU_PACK_H

#include "cpu/features.h"
#include "rung/rung.h"

/* Element (i, j) of rows x cols of them, at from[i * row_stride + j * col_stride], goes to
 * to[i * to_row + j], as a number of its product's sums: F16 and BF16 become F32, I8 I32. */
typedef struct rungi_pack {
    rung_type in;
    const void *from;
    int64_t row_stride, col_stride;
    int64_t rows, cols;
    void *to;
    int64_t to_row;
} rungi_pack;

void rungi_cpu_pack(rungi_isa isa, const rungi_pack *pack);

/* Of an instruction set: a block of elements of 4 or 8 bytes whose columns stand beside each
 * other, col_stride apart, and numbers of 16 bits in a row, widened. */
void rungi_turn_avx512(int64_t size, const rungi_pack *pack);
void rungi_widen_avx512(rung_type in, const uint16_t *from, int64_t count, float *to);

#endif /* RUNGI_CPU_PACK_H */
