/* SPDX-License-Identifier: Apache-2.0 */
/* mmla.h - 12_matrix on AArch64: the matrix instructions SMMLA (INT8) and BFMMLA (BF16).
 *
 * An instruction multiplies two rows of A by two columns of B over 8 bytes of k, called a group: eight INT8 or four BF16
 * elements. A tile of C has 8 rows and 12 columns: 24 registers of 2 x 2 sums. A packed panel of rows or of columns holds, for
 * each group of k, the 8 bytes of each of its 8 rows or 12 columns. Elements outside the matrix are packed as zeros. */
#pragma once

#include "cpu/cpu_kernel.h"

enum {
    RUNGI_MMLA_ROWS = 8,
    RUNGI_MMLA_COLUMNS = 12,
    RUNGI_MMLA_GROUP_BYTES = 8,
    RUNGI_MMLA_SUMS = RUNGI_MMLA_ROWS * RUNGI_MMLA_COLUMNS /* per tile: 2 x 2 sums after 2 x 2 sums, by rows */
};

/* Rows of A or columns of B, `k` elements each. Nothing outside of them is read. */
typedef struct rungi_mmla_operand {
    const char *first;
    int64_t outer_stride, k_stride; /* in elements */
    int64_t outer, k;
} rungi_mmla_operand;

/* Packs up to `width` rows or columns, a multiple of 4, of elements of 1 or 2 bytes. */
void rungi_mmla_pack(int64_t width, int64_t element_bytes, const rungi_mmla_operand *from, char *to);

/* Adds a panel of rows times a panel of columns, over `groups` groups of k, to the sums of a tile, or starts the sums at zero
 * if is_first. */
typedef void rungi_mmla_tile(int64_t groups, const char *a, const char *b, bool is_first, void *sums);
rungi_mmla_tile rungi_mmla_tile_i8, rungi_mmla_tile_bf16;

/* The functions of rungi_cpu_kernel. KC (bytes), MC and NC are the first, third and fourth parameter of 12_matrix. */
void rungi_mmla_run(const rungi_cpu_job *job);
rung_status rungi_mmla_configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config);
void rungi_mmla_fit(const rungi_cpu_block_sizes *blocks, int64_t sum_bytes, int64_t *parameters);
void rungi_mmla_pack_b(const rungi_cpu_job *job, char *packed);
