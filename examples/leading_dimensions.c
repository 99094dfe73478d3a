/* SPDX-License-Identifier: Apache-2.0 */
/* C = 1.5 * A * B^T - 0.5 * C in double precision with rung, row-major and column-major,
 * compared with plain loops. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rung/rung.h>

enum { M = 37, N = 29, K = 53 };

static const double ALPHA = 1.5;
static const double BETA = -0.5;

static uint64_t state = UINT64_C(0x9E3779B97F4A7C15);

/* xorshift64*: a deterministic number in [-1, 1). */
static double next_random(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    uint64_t bits = state * UINT64_C(2685821657736338717);
    return (double)(bits >> 11) * (1.0 / 4503599627370496.0) - 1.0; /* 53 bits / 2^52 - 1 */
}

/* Position of element (i, j) of a matrix with leading dimension ld. */
static size_t at(rung_order order, size_t ld, size_t i, size_t j)
{
    return order == RUNG_ORDER_ROW_MAJOR ? i * ld + j : j * ld + i;
}

/* Allocates `count` doubles and fills all of them, padding included. */
static double *create_filled(size_t count)
{
    double *data = malloc(count * sizeof *data);
    if (data != NULL)
        for (size_t i = 0; i < count; i++)
            data[i] = next_random();
    return data;
}

/* Number of doubles of a rows x cols matrix with full padding after every row or column. */
static size_t storage(rung_order order, size_t rows, size_t cols, size_t ld)
{
    return (order == RUNG_ORDER_ROW_MAJOR ? rows : cols) * ld;
}

static int compare(const char *name, rung_order order, size_t lda, size_t ldb, size_t ldc, const double *a,
                   const double *b, const double *before, const double *after)
{
    const double tolerance = 1e-12 * K;
    int differences = 0;

    for (size_t i = 0; i < M; i++) {
        for (size_t j = 0; j < N; j++) {
            double sum = 0.0;
            for (size_t p = 0; p < K; p++)
                sum += a[at(order, lda, i, p)] * b[at(order, ldb, j, p)];
            size_t where = at(order, ldc, i, j);
            double expected = ALPHA * sum + BETA * before[where];
            double got = after[where];
            if (!(fabs(got - expected) <= tolerance)) { /* also true for NaN */
                printf("%s: C(%zu, %zu) is %.17g, expected %.17g\n", name, i, j, got, expected);
                differences++;
            }
        }
    }

    size_t lines = order == RUNG_ORDER_ROW_MAJOR ? M : N;
    size_t used = order == RUNG_ORDER_ROW_MAJOR ? N : M;
    for (size_t line = 0; line < lines; line++) {
        for (size_t p = used; p < ldc; p++) {
            size_t where = line * ldc + p;
            if (memcmp(&before[where], &after[where], sizeof(double)) != 0) {
                printf("%s: padding %zu of %s %zu of C changed from %.17g to %.17g\n", name, p - used,
                       order == RUNG_ORDER_ROW_MAJOR ? "row" : "column", line, before[where], after[where]);
                differences++;
            }
        }
    }
    return differences;
}

/* Returns 0 if the result is right. B is n x k in memory. */
static int run_case(const char *name, rung_order order, size_t lda, size_t ldb, size_t ldc)
{
    int failed = 1;
    size_t c_count = storage(order, M, N, ldc);
    double *a_data = create_filled(storage(order, M, K, lda));
    double *b_data = create_filled(storage(order, N, K, ldb));
    double *c_data = create_filled(c_count);
    double *c_before = malloc(c_count * sizeof *c_before);

    if (a_data == NULL || b_data == NULL || c_data == NULL || c_before == NULL) {
        printf("%s: out of memory\n", name);
    } else {
        memcpy(c_before, c_data, c_count * sizeof *c_before);

        rung_matrix a = rung_matrix_ld(RUNG_F64, M, K, (int64_t)lda, order, a_data);
        rung_matrix b = rung_matrix_transpose(rung_matrix_ld(RUNG_F64, N, K, (int64_t)ldb, order, b_data));
        rung_matrix c = rung_matrix_ld(RUNG_F64, M, N, (int64_t)ldc, order, c_data);

        rung_status status = rung_gemm(NULL, ALPHA, a, b, BETA, c);
        if (status != RUNG_OK)
            printf("%s: rung_gemm: %s: %s\n", name, rung_status_name(status), rung_error_text());
        else
            failed = compare(name, order, lda, ldb, ldc, a_data, b_data, c_before, c_data) != 0;
    }

    free(c_before);
    free(c_data);
    free(b_data);
    free(a_data);
    return failed;
}

int main(void)
{
    int failed = 0;
    failed |= run_case("row-major", RUNG_ORDER_ROW_MAJOR, K + 3, K + 5, N + 2);
    failed |= run_case("column-major", RUNG_ORDER_COL_MAJOR, M + 4, N + 1, M + 2);
    if (failed)
        return 1;
    puts("ok");
    return 0;
}
