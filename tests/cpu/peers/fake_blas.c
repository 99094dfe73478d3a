/* SPDX-License-Identifier: Apache-2.0 */
/* fake_blas.c - libraries that look like somebody's BLAS from outside, and remember how they
 * were called: FAKE_BLAS says which. One calls itself by a name that others have too, as real
 * ones do; INTERPOSER is the other. */
#include "fake_blas.h"

#include <stdio.h>

#define SHOWN __attribute__((visibility("default")))

#define PLAIN 1
#define OPENBLAS 2
#define MKL 3
#define INTERPOSER 4
#define NO_GEMM 5

#if FAKE_BLAS == INTERPOSER
SHOWN void fake_blas_multiply(double *c);
SHOWN void fake_blas_multiply(double *c)
{
    *c = -1;
}
#elif FAKE_BLAS != NO_GEMM

#if FAKE_BLAS == MKL
typedef int64_t INT;
#define NAME(name) name##_64
#else
typedef int INT;
#define NAME(name) name
#endif

SHOWN fake_blas_record_t fake_blas_last_call;
static int64_t threads_now = 7;

/* Sees to it that the name is looked up: what it gives is the last step of every element. */
SHOWN void fake_blas_multiply(double *c);
SHOWN void fake_blas_multiply(double *c)
{
    *c *= 1;
}

static void note(const void *a, INT lda)
{
    fake_blas_last_call.calls++;
    fake_blas_last_call.threads = threads_now;
    fake_blas_last_call.a = a;
    fake_blas_last_call.lda = lda;
}

static float from_bf16(uint16_t bits)
{
    union {
        uint32_t bits;
        float value;
    } wide = {.bits = (uint32_t)bits << 16};
    return wide.value;
}

static double value_of(char type, const void *first, INT place)
{
    switch (type) {
    case 's': return ((const float *)first)[place];
    case 'd': return ((const double *)first)[place];
    default: return from_bf16(((const uint16_t *)first)[place]);
    }
}

static void store(char type, void *c, INT place, double value)
{
    if (type == 'd')
        ((double *)c)[place] = value;
    else
        ((float *)c)[place] = (float)value;
}

/* By rows, as the library always asks. */
static void multiply(char type, int a_transpose, int b_transpose, INT m, INT n, INT k, double alpha, const void *a,
                     INT lda, const void *b, INT ldb, double beta, void *c, INT ldc)
{
    note(a, lda);
    for (INT i = 0; i < m; i++)
        for (INT j = 0; j < n; j++) {
            double sum = 0;
            for (INT p = 0; p < k; p++)
                sum += value_of(type, a, a_transpose == 111 ? i * lda + p : p * lda + i) *
                       value_of(type, b, b_transpose == 111 ? p * ldb + j : j * ldb + p);
            sum = alpha * sum + (beta == 0 ? 0 : beta * value_of(type == 'd' ? 'd' : 's', c, i * ldc + j));
            fake_blas_multiply(&sum);
            store(type, c, i * ldc + j, sum);
        }
}

#define GEMM(NAME, SCALAR, LETTER)                                                                         \
    SHOWN void NAME(int layout, int ta, int tb, INT m, INT n, INT k, SCALAR alpha, const void *a, INT lda, \
                    const void *b, INT ldb, SCALAR beta, void *c, INT ldc);                                \
    SHOWN void NAME(int layout, int ta, int tb, INT m, INT n, INT k, SCALAR alpha, const void *a, INT lda, \
                    const void *b, INT ldb, SCALAR beta, void *c, INT ldc)                                 \
    {                                                                                                      \
        (void)layout;                                                                                      \
        multiply(LETTER, ta, tb, m, n, k, (double)alpha, a, lda, b, ldb, (double)beta, c, ldc);            \
    }
GEMM(NAME(cblas_sgemm), float, 's')
GEMM(NAME(cblas_dgemm), double, 'd')

#if FAKE_BLAS == OPENBLAS
GEMM(cblas_sbgemm, float, 'b')
SHOWN const char *openblas_get_config(void);
SHOWN const char *openblas_get_corename(void);
SHOWN int openblas_get_num_threads(void);
SHOWN void openblas_set_num_threads(int threads);
const char *openblas_get_config(void)
{
    return "OpenBLAS 9.8.7 FAKE_BLAS";
}
const char *openblas_get_corename(void)
{
    return "Prescott";
}
int openblas_get_num_threads(void)
{
    return (int)threads_now;
}
void openblas_set_num_threads(int threads)
{
    threads_now = threads;
}
#elif FAKE_BLAS == MKL
GEMM(cblas_gemm_bf16bf16f32_64, float, 'b')
SHOWN void MKL_Get_Version_String(char *text, int capacity);
SHOWN int MKL_Set_Num_Threads_Local(int threads);
SHOWN void cblas_gemm_s8u8s32_64(int layout, int ta, int tb, int offset, INT m, INT n, INT k, float alpha,
                                 const void *a, INT lda, int8_t a_added, const void *b, INT ldb, int8_t b_added,
                                 float beta, int32_t *c, INT ldc, const int32_t *c_added);
void MKL_Get_Version_String(char *text, int capacity)
{
    snprintf(text, (size_t)capacity, "Intel(R) Stand-in Version 1.2-Product Build 3 for nobody");
}
/* Like MKL's: 0, which it begins with, stands for none of this thread's own. */
int MKL_Set_Num_Threads_Local(int threads)
{
    static int own;
    int before = own;
    own = threads;
    threads_now = threads ? threads : 7;
    return before;
}
/* A without a sign, B with one, and a number to add to each column. */
void cblas_gemm_s8u8s32_64(int layout, int ta, int tb, int offset, INT m, INT n, INT k, float alpha, const void *a,
                           INT lda, int8_t a_added, const void *b, INT ldb, int8_t b_added, float beta, int32_t *c,
                           INT ldc, const int32_t *c_added)
{
    (void)layout;
    note(a, lda);
    fake_blas_last_call.added = c_added[0];
    for (INT i = 0; i < m; i++)
        for (INT j = 0; j < n; j++) {
            int64_t sum = 0;
            for (INT p = 0; p < k; p++)
                sum += (((const uint8_t *)a)[ta == 111 ? i * lda + p : p * lda + i] + a_added) *
                       (((const int8_t *)b)[tb == 111 ? p * ldb + j : j * ldb + p] + b_added);
            c[i * ldc + j] = (int32_t)((double)alpha * (double)sum + (double)beta) + c_added[offset == 171 ? j : 0];
        }
}
#endif
#endif
