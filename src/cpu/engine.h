/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - what 12_matrix is made of besides its own file: operands packed for instructions that
 * multiply several steps of k at once, such instructions without tiles, and the last word on a sum.
 *
 * In bytes all types are one. Such an instruction takes 4 bytes along k at a time, a group: two
 * numbers of BF16, four of INT8. A step is 16 groups, 64 bytes; a panel is 32 rows of A or
 * 32 columns of B, and its step 2 KiB:
 *
 *     rows      row r's 16 groups at 64 r
 *     columns   two tiles of 1 KiB, of 16 columns each: group g of column c at 64 g + 4 c
 *
 * A number of F32 is packed as the sum of three of BF16, and its step is three steps in a row, of the
 * largest parts first; group g is of the numbers g and g + 16 of the step. What hangs over an edge is
 * packed as zeros. */
#ifndef RUNGI_CPU_ENGINE_H
#define RUNGI_CPU_ENGINE_H

#include "cpu/finish_block.h"

#if defined(__x86_64__)
#define RUNGI_ON_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,fma")))
#define RUNGI_ON_DOT __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,fma,avx512vnni,avx512bf16")))
#define RUNGI_ON_AMX                                                                           \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,f16c,fma,avx512vnni,avx512bf16," \
                          "amx-tile,amx-bf16,amx-int8")))

enum {
    RUNGI_PANEL = 32,      /* rows or columns */
    RUNGI_GROUPS = 16,     /* a step */
    RUNGI_STEP_BYTES = 64, /* along k */
    RUNGI_TILE_BYTES = 1024,
    RUNGI_PANEL_BYTES = 2048, /* a panel's step; three times that in parts */
    RUNGI_PARTS = 3,
    RUNGI_SUMS_ROW = 4 * RUNGI_PANEL, /* bytes of sums of 32 x 32 of C */
    RUNGI_SUMS_BYTES = RUNGI_SUMS_ROW * RUNGI_PANEL
};

/* How numbers are packed. */
typedef enum rungi_packing { RUNGI_PACK_BF16, RUNGI_PACK_I8, RUNGI_PACK_PARTS } rungi_packing;

/* A stretch of an operand: `items` rows of A or columns of B, `depth` along k, each in the middle of
 * a matrix of which no more may be read. */
typedef struct rungi_stretch {
    const char *first;
    int64_t item_stride, depth_stride; /* in elements */
    int64_t items, depth;
} rungi_stretch;

/* Which numbers of F32 a panel has, told by their first parts, as bits of BF16 without the sign: the largest, and
 * the smallest that is not 0, less one. And what the third parts have too much: bits that no BF16 has room for, of a
 * number below 2^-126 or of a NaN. */
typedef struct rungi_range {
    uint32_t most, least, rest;
} rungi_range;

/* Up to 32 rows as one panel, and any number of columns as panels one behind the other, each of as
 * many steps as the depth needs; of INT8 an odd one may be followed by one of zeros. In parts, ranges has
 * one of each panel; else it is NULL. */
void rungi_pack_rows(rungi_packing packing, const rungi_stretch *from, char *to, rungi_range *range);
void rungi_pack_columns(rungi_packing packing, const rungi_stretch *from, char *to, rungi_range *ranges);

/* 32 x 32 sums of four bytes each, in rows of 128: adds a panel of rows by a panel of columns to
 * them, or begins them; of the first `height` rows at least. By dot products of vectors; rows of INT8 come with 128
 * added. */
void rungi_dot_bf16(int64_t height, int64_t steps, const char *a, const char *b, bool is_first, float *sums);
void rungi_dot_i8(int64_t height, int64_t steps, const char *a, const char *b, bool is_first, int32_t *sums);

/* The same of F32, by FMA, of rows and columns that rungi_lay_floats laid out: for each of k 32 numbers, those that
 * are missing 0, RUNGI_FLOATS_BYTES in all. */
enum { RUNGI_FLOATS_BYTES = RUNGI_PANEL * (int)sizeof(float) };
void rungi_lay_floats(const rungi_stretch *from, float *to);
void rungi_fma_block(int64_t height, int64_t depth, const float *rows, const float *columns, bool is_first,
                     float *sums);

/* BF16 where C is one row, or one column: whether the matrix stands so that neighbours are multiplied at once, and
 * the whole job. */
enum { RUNGI_VECTOR_ITEMS = 4096, RUNGI_VECTOR_SCRATCH = 4 * RUNGI_VECTOR_ITEMS + RUNGI_SUMS_BYTES };
bool rungi_vector_takes(const rungi_cpu_job *job);
void rungi_vector_multiply(const rungi_cpu_job *job, bool is_row);

/* Stores a block's sums, 32 x 32 at most in rows of 128 bytes, as they are, where C is of their type and its rows have no gaps. A whole block whose rows begin at
 * multiples of 64 bytes may go past the caches; such stores are ordered by an sfence at last. */
void rungi_engine_store(const rungi_cpu_job *job, const rungi_block *block, const char *sums, bool is_streamed);
#endif

#endif /* RUNGI_CPU_ENGINE_H */
