/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_epilogue_avx512.c - the epilogue of cpu_epilogue.h with AVX-512, for F32 and I32 sums: computes in double and rounds
 * once; integers modulo 2^32.
 *
 * Processes 16 elements of a row at a time, the last ones under a mask. Elements that are not contiguous along the row are
 * gathered and scattered one by one. */
#include "cpu/microkernels/cpu_epilogue.h"
#include "cpu/targets.h"

#if defined(__x86_64__)
#include <float.h>
#include <immintrin.h>

enum { CHUNK_LANES = 16 };

/* Up to 16 elements of a row of C, from (i, j) on. */
typedef struct row_chunk {
    int64_t i, j, count;
    __mmask16 mask;
} row_chunk_t;

/* ---- Sixteen elements -------------------------------------------------------------------------------- */

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE __m512i load_raw_chunk(int64_t size, const rungi_cpu_input *view,
                                                                      const row_chunk_t *chunk)
{
    const char *at = (const char *)view->first + (chunk->i * view->row_stride + chunk->j * view->col_stride) * size;
    _Alignas(64) int32_t gathered[CHUNK_LANES];
    if (view->col_stride == 1)
        return size == 2 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(chunk->mask, at))
                         : _mm512_maskz_loadu_epi32(chunk->mask, at);
    for (int64_t x = 0; x < chunk->count; x++)
        gathered[x] = size == 2 ? ((const uint16_t *)(const void *)at)[x * view->col_stride]
                                : ((const int32_t *)(const void *)at)[x * view->col_stride];
    return _mm512_maskz_loadu_epi32(chunk->mask, gathered);
}

/* Loads elements as F32, which holds all supported types exactly. */
RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE __m512 load_chunk_f32(rung_type type, const rungi_cpu_input *view,
                                                                     const row_chunk_t *chunk)
{
    __m512i bits = load_raw_chunk(type == RUNG_F32 ? 4 : 2, view, chunk);
    if (type == RUNG_BF16)
        return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
    return type == RUNG_F16 ? _mm512_cvtph_ps(_mm512_cvtepi32_epi16(bits)) : _mm512_castsi512_ps(bits);
}

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE void store_raw_chunk(int64_t size, const rungi_cpu_output *c,
                                                                    const row_chunk_t *chunk, __m512i bits)
{
    char *at = (char *)c->first + (chunk->i * c->row_stride + chunk->j * c->col_stride) * size;
    _Alignas(64) int32_t scattered[CHUNK_LANES];
    if (c->col_stride == 1) {
        if (size == 2)
            _mm256_mask_storeu_epi16(at, chunk->mask, _mm512_cvtepi32_epi16(bits));
        else
            _mm512_mask_storeu_epi32(at, chunk->mask, bits);
        return;
    }
    _mm512_storeu_si512(scattered, bits);
    for (int64_t x = 0; x < chunk->count; x++)
        if (size == 2)
            ((uint16_t *)(void *)at)[x * c->col_stride] = (uint16_t)scattered[x];
        else
            ((int32_t *)(void *)at)[x * c->col_stride] = scattered[x];
}

/* Rounds to BF16 as rung_bf16_from_f32 does. */
RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE __m512i round_to_bf16(__m512 value)
{
    __m512i bits = _mm512_castps_si512(value);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i near = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    return _mm512_srli_epi32(_mm512_mask_mov_epi32(near, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), quiet), 16);
}

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE void store_chunk_f32(rung_type type, const rungi_cpu_output *c,
                                                                    const row_chunk_t *chunk, __m512 value)
{
    if (type == RUNG_BF16)
        store_raw_chunk(2, c, chunk, round_to_bf16(value));
    else if (type == RUNG_F16)
        store_raw_chunk(2, c, chunk,
                        _mm512_cvtepu16_epi32(_mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
    else
        store_raw_chunk(4, c, chunk, _mm512_castps_si512(value));
}

/* ---- Activations ----------------------------------------------------------------------------------------- */

/* NaNs pass through: the comparison is "not less than". */
RUNGI_TARGET_AVX512 static inline __m512d relu(__m512d x)
{
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_NLT_UQ), x);
}

/* Returns e^x for x <= 0 with a relative error of 2^-30: 2^n times a series in f with |f| <= ln 2 / 2. */
RUNGI_TARGET_AVX512 static inline __m512d exponential(__m512d x)
{
    const double series[] = {1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1};
    __m512d bounded = _mm512_max_pd(_mm512_set1_pd(-1000), x); /* a NaN passes through */
    __m512d power = _mm512_roundscale_pd(_mm512_mul_pd(bounded, _mm512_set1_pd(1.4426950408889634)),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512d f = _mm512_fnmadd_pd(power, _mm512_set1_pd(0.69314718055994531), bounded), sum = _mm512_set1_pd(series[0]);
    for (int i = 1; i < 9; i++)
        sum = _mm512_fmadd_pd(sum, f, _mm512_set1_pd(series[i]));
    return _mm512_scalef_pd(sum, power);
}

/* Returns v/2 (1 + erf(v / sqrt 2)). Hastings' formula (Abramowitz and Stegun, 7.1.26) has an error of 1.5e-7, which is
 * 2.6 units of F32 roundoff relative to v. */
RUNGI_TARGET_AVX512 static inline __m512d gelu(__m512d v)
{
    const double series[] = {1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592};
    __m512d size = _mm512_mul_pd(_mm512_abs_pd(v), _mm512_set1_pd(0.70710678118654752440));
    __m512d one = _mm512_set1_pd(1), sum = _mm512_set1_pd(series[0]);
    __m512d t = _mm512_div_pd(one, _mm512_fmadd_pd(size, _mm512_set1_pd(0.3275911), one));
    for (int i = 1; i < 5; i++)
        sum = _mm512_fmadd_pd(sum, t, _mm512_set1_pd(series[i]));
    __m512d tail = exponential(_mm512_mul_pd(_mm512_sub_pd(_mm512_setzero_pd(), size), size));
    __m512d error = _mm512_fnmadd_pd(_mm512_mul_pd(sum, t), tail, one); /* of |v| */
    __mmask8 is_below = _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_LT_OQ);
    error = _mm512_mask_sub_pd(error, is_below, _mm512_setzero_pd(), error);
    return _mm512_mul_pd(_mm512_mul_pd(v, _mm512_set1_pd(0.5)), _mm512_add_pd(one, error));
}

/* Returns v / (1 + exp(-x)), where x has the sign of v, with a relative error of 2^-29. Minus infinity becomes the smallest
 * finite number, so that the result is its limit, -0. */
RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE __m512d sigmoid_times(__m512d v, __m512d x)
{
    __m512d one = _mm512_set1_pd(1), tail = exponential(_mm512_sub_pd(_mm512_setzero_pd(), _mm512_abs_pd(x)));
    __mmask8 is_below = _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_LT_OQ);
    __m512d finite = _mm512_max_pd(_mm512_set1_pd(-DBL_MAX), v); /* a NaN passes through */
    return _mm512_mul_pd(finite, _mm512_div_pd(_mm512_mask_mov_pd(one, is_below, tail), _mm512_add_pd(one, tail)));
}

/* v/2 (1 + tanh(u)) = v / (1 + exp(-2 u)), u = sqrt(2 / pi) (v + 0.044715 v^3). */
RUNGI_TARGET_AVX512 static inline __m512d gelu_tanh(__m512d v)
{
    __m512d cubic = _mm512_fmadd_pd(_mm512_mul_pd(v, v), _mm512_set1_pd(0.044715), _mm512_set1_pd(1));
    return sigmoid_times(v, _mm512_mul_pd(_mm512_mul_pd(v, _mm512_set1_pd(1.5957691216057307117)), cubic));
}

/* ---- Floating point ------------------------------------------------------------------------------------------- */

/* 16 doubles in two registers. */
typedef struct f64x16 {
    __m512d low, high;
} f64x16_t;

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE f64x16_t widen_to_f64(__m512 x)
{
    return (f64x16_t){_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE __m512 narrow_to_f32(f64x16_t x)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x.low)), _mm512_cvtpd_ps(x.high), 1);
}

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE f64x16_t add_f64(f64x16_t x, f64x16_t y)
{
    return (f64x16_t){_mm512_add_pd(x.low, y.low), _mm512_add_pd(x.high, y.high)};
}

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE f64x16_t multiply_f64(f64x16_t x, f64x16_t y)
{
    return (f64x16_t){_mm512_mul_pd(x.low, y.low), _mm512_mul_pd(x.high, y.high)};
}

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE f64x16_t scale_f64(f64x16_t x, double by)
{
    return (f64x16_t){_mm512_mul_pd(x.low, _mm512_set1_pd(by)), _mm512_mul_pd(x.high, _mm512_set1_pd(by))};
}

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE void epilogue_float(rung_type out, const rungi_cpu_job *job,
                                                                   const row_chunk_t *chunk, __m512 sum)
{
    const rungi_cpu_input c = {job->c.first, job->c.row_stride, job->c.col_stride};
    f64x16_t value = scale_f64(widen_to_f64(sum), job->alpha);
    if (job->beta != 0)
        value = add_f64(value, scale_f64(widen_to_f64(load_chunk_f32(out, &c, chunk)), job->beta));
    if (job->addend.first)
        value = add_f64(value, scale_f64(widen_to_f64(load_chunk_f32(out, &job->addend, chunk)), job->addend_factor));
    if (job->bias.first)
        value = add_f64(value, widen_to_f64(load_chunk_f32(out, &job->bias, chunk)));
    if (job->activation == RUNG_ACTIVATION_RELU)
        value = (f64x16_t){relu(value.low), relu(value.high)};
    else if (job->activation == RUNG_ACTIVATION_GELU)
        value = (f64x16_t){gelu(value.low), gelu(value.high)};
    else if (job->activation == RUNG_ACTIVATION_GELU_TANH)
        value = (f64x16_t){gelu_tanh(value.low), gelu_tanh(value.high)};
    else if (job->activation == RUNG_ACTIVATION_SILU)
        value = (f64x16_t){sigmoid_times(value.low, value.low), sigmoid_times(value.high, value.high)};
    if (job->multiplier.first)
        value = multiply_f64(value, widen_to_f64(load_chunk_f32(out, &job->multiplier, chunk)));
    if (job->residual.first)
        value = add_f64(value, widen_to_f64(load_chunk_f32(out, &job->residual, chunk)));
    store_chunk_f32(out, &job->c, chunk, narrow_to_f32(value));
}

/* ---- Integers --------------------------------------------------------------------------------------- */

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE void epilogue_integer_avx512(const rungi_cpu_job *job,
                                                                            const row_chunk_t *chunk, __m512i sum)
{
    const rungi_cpu_input c = {job->c.first, job->c.row_stride, job->c.col_stride};
    __m512i alpha = _mm512_set1_epi32((int32_t)(uint32_t)(int64_t)job->alpha);
    __m512i beta = _mm512_set1_epi32((int32_t)(uint32_t)(int64_t)job->beta);
    __m512i value = _mm512_mullo_epi32(alpha, sum);
    if (job->beta != 0)
        value = _mm512_add_epi32(value, _mm512_mullo_epi32(beta, load_raw_chunk(4, &c, chunk)));
    if (job->addend.first) {
        __m512i factor = _mm512_set1_epi32((int32_t)(uint32_t)(int64_t)job->addend_factor);
        value = _mm512_add_epi32(value, _mm512_mullo_epi32(factor, load_raw_chunk(4, &job->addend, chunk)));
    }
    if (job->bias.first)
        value = _mm512_add_epi32(value, load_raw_chunk(4, &job->bias, chunk));
    if (job->activation == RUNG_ACTIVATION_RELU)
        value = _mm512_max_epi32(value, _mm512_setzero_si512());
    if (job->multiplier.first)
        value = _mm512_mullo_epi32(value, load_raw_chunk(4, &job->multiplier, chunk));
    if (job->residual.first)
        value = _mm512_add_epi32(value, load_raw_chunk(4, &job->residual, chunk));
    store_raw_chunk(4, &job->c, chunk, value);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------ */

RUNGI_TARGET_AVX512 static RUNGI_ALWAYS_INLINE void epilogue_block(rung_type out, const rungi_cpu_job *job,
                                                                   const rungi_cpu_c_block *block, const void *sums,
                                                                   int64_t sums_stride)
{
    for (int64_t r = 0; r < block->rows; r++)
        for (int64_t c = 0; c < block->cols; c += CHUNK_LANES) {
            int64_t count = block->cols - c < CHUNK_LANES ? block->cols - c : CHUNK_LANES;
            row_chunk_t chunk = {block->i + r, block->j + c, count, (__mmask16)((1u << count) - 1)};
            __m512i bits = _mm512_maskz_loadu_epi32(chunk.mask, (const int32_t *)sums + r * sums_stride + c);
            if (out == RUNG_I32)
                epilogue_integer_avx512(job, &chunk, bits);
            else
                epilogue_float(out, job, &chunk, _mm512_castsi512_ps(bits));
        }
}

RUNGI_TARGET_AVX512 void rungi_cpu_epilogue_apply_avx512(const rungi_cpu_job *job, const rungi_cpu_c_block *block,
                                                         const void *sums, int64_t sums_stride)
{
    switch (job->out) {
    case RUNG_BF16: epilogue_block(RUNG_BF16, job, block, sums, sums_stride); break;
    case RUNG_F16: epilogue_block(RUNG_F16, job, block, sums, sums_stride); break;
    case RUNG_I32: epilogue_block(RUNG_I32, job, block, sums, sums_stride); break;
    default: epilogue_block(RUNG_F32, job, block, sums, sums_stride);
    }
}
#endif
