/* SPDX-License-Identifier: Apache-2.0 */
/* fake_cublas_gemm.c - the products of the fake cuBLAS: plain loops, sums in double or in
 * whole numbers modulo 2^32, and inputs rounded first where the mode says so. */
#include "fake_cublas.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t blas_type_bytes(int type)
{
    switch (type) {
    case CUDA_R_64F: return 8;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_R_8I: return 1;
    default: return 4;
    }
}

/* ---- Small floating point ----------------------------------------------------------------------- */

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Keeps so many bits of the fraction, to even on a tie. */
static float round_to_bits(float value, int bits)
{
    uint32_t word = bits_of_float(value), drop = 23u - (uint32_t)bits;
    if ((word & 0x7fffffff) > 0x7f800000)
        return value;
    word += (1u << (drop - 1)) - 1 + (word >> drop & 1);
    return float_of_bits(word >> drop << drop);
}

static float float_of_f16(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                 : exponent == 0 ? ldexpf((float)fraction, -24)
                                 : ldexpf((float)(1024 + fraction), exponent - 25);
    return bits & 0x8000 ? -size : size;
}

/* Rounded once, from a double. */
static uint16_t f16_of_double(double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    if (isnan(size))
        return sign | 0x7e00;
    if (size == 0) /* which has no first bit to count from */
        return sign;
    if (size >= 65520)
        return sign | 0x7c00;
    int exponent;
    frexp(size, &exponent);
    int unit = exponent - 11 < -24 ? -24 : exponent - 11; /* the last bit's weight */
    double counted = nearbyint(ldexp(size, -unit));
    return (uint16_t)(sign | (unit == -24 ? (int)counted : ((unit + 24) << 10) + (int)counted));
}

static uint16_t bf16_of_double(double value)
{
    return (uint16_t)(bits_of_float(round_to_bits((float)value, 7)) >> 16);
}

/* ---- Elements ----------------------------------------------------------------------------------- */

static double load(const void *memory, int type, size_t index)
{
    const unsigned char *at = (const unsigned char *)memory + index * blas_type_bytes(type);
    double f64;
    float f32;
    uint16_t f16;
    int32_t i32;
    switch (type) {
    case CUDA_R_64F: memcpy(&f64, at, sizeof f64); return f64;
    case CUDA_R_16F: memcpy(&f16, at, sizeof f16); return (double)float_of_f16(f16);
    case CUDA_R_16BF: memcpy(&f16, at, sizeof f16); return (double)float_of_bits((uint32_t)f16 << 16);
    case CUDA_R_8I: return (double)*(const signed char *)at;
    case CUDA_R_32I: memcpy(&i32, at, sizeof i32); return (double)i32;
    default: memcpy(&f32, at, sizeof f32); return (double)f32;
    }
}

static void store(void *memory, int type, size_t index, double value)
{
    unsigned char *at = (unsigned char *)memory + index * blas_type_bytes(type);
    float f32 = (float)value;
    uint16_t f16;
    switch (type) {
    case CUDA_R_64F: memcpy(at, &value, sizeof value); break;
    case CUDA_R_16F:
        f16 = f16_of_double(value);
        memcpy(at, &f16, sizeof f16);
        break;
    case CUDA_R_16BF:
        f16 = bf16_of_double(value);
        memcpy(at, &f16, sizeof f16);
        break;
    default: memcpy(at, &f32, sizeof f32); break;
    }
}

/* What a fast mode makes of an input. */
static double rounded(double value, int compute)
{
    switch (compute) {
    case CUBLAS_COMPUTE_32F_FAST_TF32: return (double)round_to_bits((float)value, 10);
    case CUBLAS_COMPUTE_32F_FAST_16BF: return (double)round_to_bits((float)value, 7);
    case CUBLAS_COMPUTE_32F_FAST_16F: return (double)float_of_f16(f16_of_double(value));
    default: return value;
    }
}

/* ---- Products ----------------------------------------------------------------------------------- */

static bool is_integer(const blas_gemm_t *gemm)
{
    return gemm->ctype == CUDA_R_32I;
}

static int scalar_type(int compute)
{
    switch (compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return CUDA_R_64F;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC: return CUDA_R_32I;
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return CUDA_R_16F;
    default: return CUDA_R_32F;
    }
}

size_t blas_scalar_bytes(int compute)
{
    return blas_type_bytes(scalar_type(compute));
}

static double scalar(const void *from, int compute)
{
    return load(from, scalar_type(compute), 0);
}

/* op(X) with k running fastest, so that every sum walks along memory. */
static double *gather(const void *x, int type, int ld, bool k_is_fastest, int outer, int k, int compute)
{
    double *packed = malloc(((size_t)outer * (size_t)k + 1) * sizeof *packed);
    for (size_t i = 0; packed && i < (size_t)outer; i++)
        for (size_t p = 0; p < (size_t)k; p++) {
            size_t at = k_is_fastest ? p + i * (size_t)ld : i + p * (size_t)ld;
            packed[i * (size_t)k + p] = rounded(load(x, type, at), compute);
        }
    return packed;
}

static double dot(const double *a, const double *b, int k)
{
    double sum = 0;
    for (int p = 0; p < k; p++)
        sum += a[p] * b[p];
    return sum;
}

static uint32_t dot_int(const double *a, const double *b, int k)
{
    uint32_t sum = 0;
    for (int p = 0; p < k; p++)
        sum += (uint32_t)(int32_t)a[p] * (uint32_t)(int32_t)b[p];
    return sum;
}

/* C's old value is read only if it counts. */
static void apply_scalars(const blas_gemm_t *gemm, size_t at, double sum, double alpha, double beta)
{
    double value = alpha * sum;
    if (beta != 0)
        value += beta * load(gemm->c, gemm->ctype, at);
    store(gemm->c, gemm->ctype, at, value);
}

static void apply_scalars_int(const blas_gemm_t *gemm, size_t at, uint32_t sum, double alpha, double beta)
{
    uint32_t value = (uint32_t)(int32_t)alpha * sum, *c = (uint32_t *)gemm->c + at;
    if (beta != 0)
        value += (uint32_t)(int32_t)beta * *c;
    *c = value;
}

int blas_run(const blas_gemm_t *gemm)
{
    double alpha = scalar(gemm->alpha, gemm->compute), beta = scalar(gemm->beta, gemm->compute);
    double *a = gather(gemm->a, gemm->atype, gemm->lda, gemm->transa != CUBLAS_OP_N, gemm->m, gemm->k, gemm->compute);
    double *b = gather(gemm->b, gemm->btype, gemm->ldb, gemm->transb == CUBLAS_OP_N, gemm->n, gemm->k, gemm->compute);
    for (int j = 0; a && b && j < gemm->n; j++)
        for (int i = 0; i < gemm->m; i++) {
            const double *row = a + (size_t)i * (size_t)gemm->k, *col = b + (size_t)j * (size_t)gemm->k;
            size_t at = (size_t)i + (size_t)j * (size_t)gemm->ldc;
            if (is_integer(gemm))
                apply_scalars_int(gemm, at, dot_int(row, col, gemm->k), alpha, beta);
            else
                apply_scalars(gemm, at, dot(row, col, gemm->k), alpha, beta);
        }
    int good = a && b;
    free(a);
    free(b);
    return good;
}
