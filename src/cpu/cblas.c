/* SPDX-License-Identifier: Apache-2.0 */
/* cblas.c - calling a CBLAS: MKL, OpenBLAS, BLIS or another.
 *
 * They differ in how their names are decorated and in how wide their integers are; what MKL
 * and OpenBLAS have beyond cblas.h for BF16 is called like cblas_sgemm. MKL's product of bytes
 * wants one side without a sign, which ours do not have: see below. */
#include "cpu/peer.h"

#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "core/checked.h"
#include "core/library.h"

/* The numbers of cblas.h, and of mkl_cblas.h, that are used. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112, ADD_A_ROW = 171, ADD_ONE = 173 };

#define GEMM(NAME, INT, SCALAR)                                                                                       \
    typedef void NAME(int layout, int a_transpose, int b_transpose, INT m, INT n, INT k, SCALAR alpha, const void *a, \
                      INT lda, const void *b, INT ldb, SCALAR beta, void *c, INT ldc);
GEMM(gemm_f32_t, int, float)
GEMM(gemm_f64_t, int, double)
GEMM(wide_f32_t, int64_t, float)
GEMM(wide_f64_t, int64_t, double)

/* MKL's, whose names for wide integers are always there. */
typedef void wide_i8_t(int layout, int a_transpose, int b_transpose, int c_offset, int64_t m, int64_t n, int64_t k,
                       float alpha, const void *a, int64_t lda, int8_t a_added, const void *b, int64_t ldb,
                       int8_t b_added, float beta, int32_t *c, int64_t ldc, const int32_t *c_added);

static rungi_peer_function *find(const rungi_peer *peer, const char *prefix, const char *name, const char *suffix)
{
    char whole[96];
    rungi_peer_function *function = NULL;
    snprintf(whole, sizeof whole, "%s%s%s", prefix, name, suffix);
    rungi_library_find(peer->library, whole, &function, sizeof function);
    return function;
}

bool rungi_cblas_load(rungi_peer *peer, const char *prefix, const char *suffix)
{
    peer->f32 = find(peer, prefix, "cblas_sgemm", suffix);
    peer->f64 = find(peer, prefix, "cblas_dgemm", suffix);
    peer->is_wide = *suffix != '\0';
    if (peer->kind == RUNGI_PEER_MKL) {
        peer->bf16 = find(peer, prefix, "cblas_gemm_bf16bf16f32", suffix);
        peer->i8 = find(peer, prefix, "cblas_gemm_s8u8s32", suffix);
    } else {
        peer->bf16 = find(peer, prefix, "cblas_sbgemm", suffix);
    }
    return peer->f32 && peer->f64;
}

void rungi_cblas_run(const rungi_peer *peer, const rungi_peer_work *work)
{
    int a = work->a_by_rows ? NOT_TRANSPOSED : TRANSPOSED, b = work->b_by_rows ? NOT_TRANSPOSED : TRANSPOSED;
    int64_t m = work->m, n = work->n, k = work->k, lda = work->lda, ldb = work->ldb, ldc = work->ldc;
    rungi_peer_function *f32 = work->in == RUNG_BF16 ? peer->bf16 : peer->f32;
    RUNGI_ASSERT(work->in == RUNG_F64 ? peer->f64 != NULL : f32 != NULL);
    RUNGI_ASSERT(peer->is_wide || (m <= INT32_MAX && n <= INT32_MAX && k <= INT32_MAX && lda <= INT32_MAX &&
                                   ldb <= INT32_MAX && ldc <= INT32_MAX));
    if (work->in == RUNG_F64 && peer->is_wide)
        ((wide_f64_t *)peer->f64)(ROW_MAJOR, a, b, m, n, k, work->alpha, work->a, lda, work->b, ldb, work->beta,
                                  work->c, ldc);
    else if (work->in == RUNG_F64)
        ((gemm_f64_t *)peer->f64)(ROW_MAJOR, a, b, (int)m, (int)n, (int)k, work->alpha, work->a, (int)lda, work->b,
                                  (int)ldb, work->beta, work->c, (int)ldc);
    else if (peer->is_wide)
        ((wide_f32_t *)f32)(ROW_MAJOR, a, b, m, n, k, (float)work->alpha, work->a, lda, work->b, ldb, (float)work->beta,
                            work->c, ldc);
    else
        ((gemm_f32_t *)f32)(ROW_MAJOR, a, b, (int)m, (int)n, (int)k, (float)work->alpha, work->a, (int)lda, work->b,
                            (int)ldb, (float)work->beta, work->c, (int)ldc);
}

/* ---- Whole numbers by MKL ----------------------------------------------------------------------------
 *
 * Its A has no sign, by rows. Where no element of ours is negative it is taken as it is. Else
 * 128 is added to each, which turns its top bit, and
 *
 *     A B = (A + 128) B - 128 sums,   sums[j] = B[0][j] + B[1][j] + ...
 *
 * modulo 2^32: the last term is one number a column, which MKL adds for us. It would also
 * subtract the 128 itself, and takes much longer for that. */

/* As it stands in memory: so many runs of neighbours. */
static void runs_of(bool by_rows, int64_t rows, int64_t cols, int64_t *runs, int64_t *length)
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

/* The sums of B's columns where its rows are runs: few rows at a time, in 16 bits. */
static void sum_down(const rungi_peer_work *work, int32_t *sums)
{
    enum { COLUMNS = 512, ROWS = 255 }; /* 255 * 128 fits 16 bits */
    const int8_t *b = work->b;
    memset(sums, 0, (size_t)work->n * sizeof *sums);
    for (int64_t j = 0; j < work->n; j += COLUMNS) {
        int64_t columns = rungi_smaller(COLUMNS, work->n - j);
        for (int64_t p = 0; p < work->k; p += ROWS) {
            int16_t some[COLUMNS] = {0};
            int64_t rows = rungi_smaller(ROWS, work->k - p);
            for (int64_t i = 0; i < rows; i++)
                for (int64_t l = 0; l < columns; l++)
                    some[l] = (int16_t)(some[l] + b[(p + i) * work->ldb + j + l]);
            for (int64_t l = 0; l < columns; l++)
                sums[j + l] = (int32_t)((uint32_t)sums[j + l] + (uint32_t)some[l]);
        }
    }
}

static void sum_along(const rungi_peer_work *work, int32_t *sums)
{
    const int8_t *b = work->b;
    for (int64_t j = 0; j < work->n; j++) {
        uint32_t sum = 0;
        for (int64_t p = 0; p < work->k; p++) {
            int32_t element = b[j * work->ldb + p]; // NOLINT(bugprone-signed-char-misuse): a number, not a character
            sum += (uint32_t)element;
        }
        sums[j] = (int32_t)sum;
    }
}

/* Sums first, so that they stand at a multiple of four. */
bool rungi_cblas_i8_scratch(const rungi_peer_work *work, int64_t *bytes)
{
    *bytes = 0;
    return rungi_multiply_add(work->m, work->k, bytes) && rungi_multiply_add(work->n, sizeof(int32_t), bytes);
}

void rungi_cblas_run_i8(const rungi_peer *peer, const rungi_peer_work *work, char *scratch)
{
    int32_t *added = (int32_t *)(void *)scratch;
    uint8_t *dense = (uint8_t *)(added + work->n);
    const void *a = work->a;
    int64_t lda = work->lda, runs, length;
    int how = ADD_ONE;
    RUNGI_ASSERT(peer->i8 && scratch);
    runs_of(work->a_by_rows, work->m, work->k, &runs, &length);
    if (has_negative(a, runs, length, lda)) {
        add_128(a, runs, length, lda, dense);
        a = dense;
        lda = length;
        (work->b_by_rows ? sum_down : sum_along)(work, added);
        for (int64_t j = 0; j < work->n; j++)
            added[j] = (int32_t)((uint32_t)added[j] * (uint32_t)-128);
        how = ADD_A_ROW;
    } else {
        added[0] = 0;
    }
    ((wide_i8_t *)peer->i8)(ROW_MAJOR, work->a_by_rows ? NOT_TRANSPOSED : TRANSPOSED,
                            work->b_by_rows ? NOT_TRANSPOSED : TRANSPOSED, how, work->m, work->n, work->k, 1, a, lda, 0,
                            work->b, work->ldb, 0, 0, work->c, work->ldc, added);
}
