/* SPDX-License-Identifier: Apache-2.0 */
/* cblas.c - see cblas.h.
 *
 * The libraries differ in the decoration of names and in the width of integers. MKL and OpenBLAS also have BF16 functions with
 * the arguments of cblas_sgemm. MKL's INT8 function requires one unsigned operand: see below. */
#include "cpu/peers/cblas.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/dynamic_library.h"

/* Constants of cblas.h and mkl_cblas.h. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112, OFFSET_ROW = 171, OFFSET_FIXED = 173 };

#define GEMM(NAME, INT, SCALAR)                                                                                       \
    typedef void NAME(int layout, int a_transpose, int b_transpose, INT m, INT n, INT k, SCALAR alpha, const void *a, \
                      INT lda, const void *b, INT ldb, SCALAR beta, void *c, INT ldc);
GEMM(gemm_f32_t, int, float)
GEMM(gemm_f64_t, int, double)
GEMM(wide_f32_t, int64_t, float)
GEMM(wide_f64_t, int64_t, double)

/* MKL always exports the variants with 64-bit integers. */
typedef void wide_i8_t(int layout, int a_transpose, int b_transpose, int c_offset, int64_t m, int64_t n, int64_t k,
                       float alpha, const void *a, int64_t lda, int8_t a_added, const void *b, int64_t ldb,
                       int8_t b_added, float beta, int32_t *c, int64_t ldc, const int32_t *c_added);

static rungi_peer_function *find_cblas(const rungi_peer *peer, const char *prefix, const char *name, const char *suffix)
{
    char whole[96];
    rungi_peer_function *function = NULL;
    snprintf(whole, sizeof whole, "%s%s%s", prefix, name, suffix);
    rungi_library_symbol(peer->library, whole, &function, sizeof function);
    return function;
}

bool rungi_cblas_load(rungi_peer *peer, const char *prefix, const char *suffix)
{
    peer->f32 = find_cblas(peer, prefix, "cblas_sgemm", suffix);
    peer->f64 = find_cblas(peer, prefix, "cblas_dgemm", suffix);
    peer->is_ilp64 = *suffix != '\0';
    if (peer->kind == RUNGI_PEER_MKL) {
        peer->bf16 = find_cblas(peer, prefix, "cblas_gemm_bf16bf16f32", suffix);
        peer->i8 = find_cblas(peer, prefix, "cblas_gemm_s8u8s32", suffix);
    } else {
        peer->bf16 = find_cblas(peer, prefix, "cblas_sbgemm", suffix);
    }
    return peer->f32 && peer->f64;
}

void rungi_cblas_run(const rungi_peer *peer, const rungi_peer_gemm_args *args)
{
    int a = args->a_is_row_major ? NOT_TRANSPOSED : TRANSPOSED, b = args->b_is_row_major ? NOT_TRANSPOSED : TRANSPOSED;
    int64_t m = args->m, n = args->n, k = args->k, lda = args->lda, ldb = args->ldb, ldc = args->ldc;
    rungi_peer_function *f32 = args->in == RUNG_BF16 ? peer->bf16 : peer->f32;
    RUNGI_ASSERT(args->in == RUNG_F64 ? peer->f64 != NULL : f32 != NULL);
    RUNGI_ASSERT(peer->is_ilp64 || (m <= INT32_MAX && n <= INT32_MAX && k <= INT32_MAX && lda <= INT32_MAX &&
                                    ldb <= INT32_MAX && ldc <= INT32_MAX));
    if (args->in == RUNG_F64 && peer->is_ilp64)
        ((wide_f64_t *)peer->f64)(ROW_MAJOR, a, b, m, n, k, args->alpha, args->a, lda, args->b, ldb, args->beta,
                                  args->c, ldc);
    else if (args->in == RUNG_F64)
        ((gemm_f64_t *)peer->f64)(ROW_MAJOR, a, b, (int)m, (int)n, (int)k, args->alpha, args->a, (int)lda, args->b,
                                  (int)ldb, args->beta, args->c, (int)ldc);
    else if (peer->is_ilp64)
        ((wide_f32_t *)f32)(ROW_MAJOR, a, b, m, n, k, (float)args->alpha, args->a, lda, args->b, ldb, (float)args->beta,
                            args->c, ldc);
    else
        ((gemm_f32_t *)f32)(ROW_MAJOR, a, b, (int)m, (int)n, (int)k, (float)args->alpha, args->a, (int)lda, args->b,
                            (int)ldb, (float)args->beta, args->c, (int)ldc);
}

/* ---- INT8 by MKL -------------------------------------------------------------------------------------
 *
 * MKL requires an unsigned A. If no element is negative, A is passed unchanged. Otherwise 128 is added to each element, which
 * flips its top bit, and
 *
 *     A B = (A + 128) B - 128 sums,   sums[j] = B[0][j] + B[1][j] + ...
 *
 * modulo 2^32. The last term is one number per column, which MKL adds as an offset. MKL could also subtract the 128 itself,
 * but much more slowly. */

/* Returns the number and length of the contiguous rows or columns of a matrix. */
static void contiguous_runs(bool by_rows, int64_t rows, int64_t cols, int64_t *runs, int64_t *length)
{
    *runs = by_rows ? rows : cols;
    *length = by_rows ? cols : rows;
}

static bool has_negative(const int8_t *first, int64_t runs, int64_t length, int64_t ld)
{
    for (int64_t i = 0; i < runs; i++) {
        uint8_t any = 0;
        for (int64_t j = 0; j < length; j++)
            any |= (uint8_t)first[i * ld + j];
        if (any & 0x80)
            return true;
    }
    return false;
}

static void add_128(const int8_t *first, int64_t runs, int64_t length, int64_t ld, uint8_t *dense)
{
    for (int64_t i = 0; i < runs; i++)
        for (int64_t j = 0; j < length; j++)
            dense[i * length + j] = (uint8_t)(first[i * ld + j] ^ 0x80);
}

/* Sums the columns of a row-major B, in 16 bits for up to 255 rows at a time. */
static void sum_columns_row_major(const rungi_peer_gemm_args *args, int32_t *sums)
{
    enum { COLUMNS = 512, ROWS = 255 }; /* 255 * 128 fits 16 bits */
    const int8_t *b = args->b;
    memset(sums, 0, (size_t)args->n * sizeof *sums);
    for (int64_t j = 0; j < args->n; j += COLUMNS) {
        int64_t columns = rungi_min(COLUMNS, args->n - j);
        for (int64_t p = 0; p < args->k; p += ROWS) {
            int16_t some[COLUMNS] = {0};
            int64_t rows = rungi_min(ROWS, args->k - p);
            for (int64_t i = 0; i < rows; i++)
                for (int64_t l = 0; l < columns; l++)
                    some[l] = (int16_t)(some[l] + b[(p + i) * args->ldb + j + l]);
            for (int64_t l = 0; l < columns; l++)
                sums[j + l] = (int32_t)((uint32_t)sums[j + l] + (uint32_t)some[l]);
        }
    }
}

static void sum_columns_column_major(const rungi_peer_gemm_args *args, int32_t *sums)
{
    const int8_t *b = args->b;
    for (int64_t j = 0; j < args->n; j++) {
        uint32_t sum = 0;
        for (int64_t p = 0; p < args->k; p++) {
            int32_t element = b[j * args->ldb + p]; // NOLINT(bugprone-signed-char-misuse): a number, not a character
            sum += (uint32_t)element;
        }
        sums[j] = (int32_t)sum;
    }
}

/* The scratch holds the sums first, which keeps them aligned, and then A + 128. */
bool rungi_cblas_i8_scratch(const rungi_peer_gemm_args *args, int64_t *bytes)
{
    *bytes = 0;
    return rungi_checked_multiply_add(args->m, args->k, bytes) &&
           rungi_checked_multiply_add(args->n, sizeof(int32_t), bytes);
}

void rungi_cblas_run_i8(const rungi_peer *peer, const rungi_peer_gemm_args *args, char *scratch)
{
    int32_t *offsets = (int32_t *)(void *)scratch;
    uint8_t *dense = (uint8_t *)(offsets + args->n);
    const void *a = args->a;
    int64_t lda = args->lda, runs, length;
    int offset_kind = OFFSET_FIXED;
    RUNGI_ASSERT(peer->i8 && scratch);
    contiguous_runs(args->a_is_row_major, args->m, args->k, &runs, &length);
    if (has_negative(a, runs, length, lda)) {
        add_128(a, runs, length, lda, dense);
        a = dense;
        lda = length;
        (args->b_is_row_major ? sum_columns_row_major : sum_columns_column_major)(args, offsets);
        for (int64_t j = 0; j < args->n; j++)
            offsets[j] = (int32_t)((uint32_t)offsets[j] * (uint32_t)-128);
        offset_kind = OFFSET_ROW;
    } else {
        offsets[0] = 0;
    }
    ((wide_i8_t *)peer->i8)(ROW_MAJOR, args->a_is_row_major ? NOT_TRANSPOSED : TRANSPOSED,
                            args->b_is_row_major ? NOT_TRANSPOSED : TRANSPOSED, offset_kind, args->m, args->n, args->k,
                            1, a, lda, 0, args->b, args->ldb, 0, 0, args->c, args->ldc, offsets);
}
