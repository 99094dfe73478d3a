/* SPDX-License-Identifier: Apache-2.0 */
/* cblas.c - calls a CBLAS: MKL, OpenBLAS, BLIS or another.
 *
 * The libraries differ in the decoration of names and in the width of integers. MKL and OpenBLAS also have BF16 functions with
 * the arguments of cblas_sgemm. MKL's INT8 function requires one unsigned operand: see below. */
#include "cpu/peers/peer_library.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"

/* Constants of cblas.h and mkl_cblas.h. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112, OFFSET_ROW = 171, OFFSET_FIXED = 173 };

/* Defines a function that calls cblas_sgemm, or another function with its arguments, for one kind of integers. */
#define DEFINE_CALL(name, integer, element)                                                                           \
    static void name(rungi_peer_function *function, int a_transpose, int b_transpose, const rungi_peer_gemm_args *x)  \
    {                                                                                                                 \
        typedef void gemm_t(int layout, int a_transpose, int b_transpose, integer m, integer n, integer k,            \
                            element alpha, const void *a, integer lda, const void *b, integer ldb, element beta,      \
                            void *c, integer ldc);                                                                    \
        ((gemm_t *)function)(ROW_MAJOR, a_transpose, b_transpose, (integer)x->m, (integer)x->n, (integer)x->k,        \
                             (element)x->alpha, x->a, (integer)x->lda, x->b, (integer)x->ldb, (element)x->beta, x->c, \
                             (integer)x->ldc);                                                                        \
    }
DEFINE_CALL(call_f32, int, float)
DEFINE_CALL(call_f64, int, double)
DEFINE_CALL(call_f32_ilp64, int64_t, float)
DEFINE_CALL(call_f64_ilp64, int64_t, double)

/* MKL always exports the variants with 64-bit integers. */
typedef void wide_i8_t(int layout, int a_transpose, int b_transpose, int c_offset, int64_t m, int64_t n, int64_t k,
                       float alpha, const void *a, int64_t lda, int8_t a_added, const void *b, int64_t ldb,
                       int8_t b_added, float beta, int32_t *c, int64_t ldc, const int32_t *c_added);

bool rungi_cblas_load(rungi_peer *peer, const char *prefix, const char *suffix)
{
    peer->f32 = rungi_peer_symbol(peer->library, prefix, "cblas_sgemm", suffix);
    peer->f64 = rungi_peer_symbol(peer->library, prefix, "cblas_dgemm", suffix);
    peer->is_ilp64 = *suffix != '\0';
    if (peer->kind == RUNGI_PEER_MKL) {
        peer->bf16 = rungi_peer_symbol(peer->library, prefix, "cblas_gemm_bf16bf16f32", suffix);
        peer->i8 = rungi_peer_symbol(peer->library, prefix, "cblas_gemm_s8u8s32", suffix);
    } else {
        peer->bf16 = rungi_peer_symbol(peer->library, prefix, "cblas_sbgemm", suffix);
    }
    return peer->f32 && peer->f64;
}

static int transpose_setting(bool is_row_major)
{
    return is_row_major ? NOT_TRANSPOSED : TRANSPOSED;
}

void rungi_cblas_run(const rungi_peer *peer, const rungi_peer_gemm_args *args)
{
    int a = transpose_setting(args->a_is_row_major), b = transpose_setting(args->b_is_row_major);
    rungi_peer_function *function = args->in == RUNG_F64 ? peer->f64 : args->in == RUNG_BF16 ? peer->bf16 : peer->f32;
    RUNGI_ASSERT(function && (peer->is_ilp64 || rungi_peer_fits_int(args)));
    if (args->in == RUNG_F64)
        (peer->is_ilp64 ? call_f64_ilp64 : call_f64)(function, a, b, args);
    else
        (peer->is_ilp64 ? call_f32_ilp64 : call_f32)(function, a, b, args);
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
    int64_t lda = args->lda; /* A has `runs` contiguous rows or columns of `length` elements */
    int64_t runs = args->a_is_row_major ? args->m : args->k, length = args->a_is_row_major ? args->k : args->m;
    int offset_kind = OFFSET_FIXED;
    RUNGI_ASSERT(peer->i8 && scratch);
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
    ((wide_i8_t *)peer->i8)(ROW_MAJOR, transpose_setting(args->a_is_row_major), transpose_setting(args->b_is_row_major),
                            offset_kind, args->m, args->n, args->k, 1, a, lda, 0, args->b, args->ldb, 0, 0, args->c,
                            args->ldc, offsets);
}
