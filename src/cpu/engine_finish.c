/* SPDX-License-Identifier: Apache-2.0 */
/* engine_finish.c - what becomes of a block's sums: alpha, beta and the epilogue, in double and rounded
 * once; of whole numbers modulo 2^32. See engine.h.
 *
 * Sixteen neighbours of a row at a time, the last of them under a mask. Where C or what an epilogue
 * reads has other strides than 1 and 0 along a row, its elements are gathered first. */
#include "cpu/engine.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>

enum { WIDE = 16 };

/* A piece of a row: the first place of it in a view, and how many elements. */
typedef struct piece {
    int64_t   i, j;
    int64_t   count;
    __mmask16 mask;
} piece;

/* ---- Sixteen elements -------------------------------------------------------------------------------- */

RUNGI_ON_AVX512 static inline __m512i load_bits(int64_t size, const char *at, int64_t stride, piece piece)
{
    int32_t gathered[WIDE];
    if (stride == 1)
        return size == 2 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(piece.mask, at))
                         : _mm512_maskz_loadu_epi32(piece.mask, at);
    for (int64_t x = 0; x < piece.count; x++)
        gathered[x] = size == 2 ? ((const uint16_t *)(const void *)at)[x * stride]
                                : ((const int32_t *)(const void *)at)[x * stride];
    return _mm512_maskz_loadu_epi32(piece.mask, gathered);
}

RUNGI_ON_AVX512 static inline __m512i load_view(rung_type type, const rungi_cpu_input *view, piece piece)
{
    int64_t size = rung_type_size(type);
    const char *at = (const char *)view->first + (piece.i * view->row_stride + piece.j * view->col_stride) * size;
    return load_bits(size, at, view->col_stride, piece);
}

/* As F32, which holds them all. */
RUNGI_ON_AVX512 static inline __m512 load_numbers(rung_type type, const rungi_cpu_input *view, piece piece)
{
    __m512i bits = load_view(type, view, piece);
    if (type == RUNG_BF16)
        return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
    return type == RUNG_F16 ? _mm512_cvtph_ps(_mm512_cvtepi32_epi16(bits)) : _mm512_castsi512_ps(bits);
}

/* rung_bf16_from_f32 of each. */
RUNGI_ON_AVX512 static inline __m512i bf16_of(__m512 value)
{
    __m512i bits = _mm512_castps_si512(value), one = _mm512_set1_epi32(1);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), one);
    __m512i near = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    return _mm512_srli_epi32(_mm512_mask_mov_epi32(near, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), quiet), 16);
}

RUNGI_ON_AVX512 static inline void store_bits(int64_t size, char *at, int64_t stride, piece piece, __m512i bits)
{
    int32_t scattered[WIDE];
    if (stride == 1) {
        if (size == 2)
            _mm256_mask_storeu_epi16(at, piece.mask, _mm512_cvtepi32_epi16(bits));
        else
            _mm512_mask_storeu_epi32(at, piece.mask, bits);
        return;
    }
    _mm512_storeu_si512(scattered, bits);
    for (int64_t x = 0; x < piece.count; x++)
        if (size == 2)
            ((uint16_t *)(void *)at)[x * stride] = (uint16_t)scattered[x];
        else
            ((int32_t *)(void *)at)[x * stride] = scattered[x];
}

RUNGI_ON_AVX512 static inline void store_c(const rungi_cpu_job *job, piece piece, __m512i bits)
{
    int64_t size = rung_type_size(job->out);
    char *at = (char *)job->c.first + (piece.i * job->c.row_stride + piece.j * job->c.col_stride) * size;
    store_bits(size, at, job->c.col_stride, piece, bits);
}

RUNGI_ON_AVX512 static inline void store_numbers(const rungi_cpu_job *job, piece piece, __m512 value)
{
    if (job->out == RUNG_BF16)
        store_c(job, piece, bf16_of(value));
    else if (job->out == RUNG_F16)
        store_c(job, piece, _mm512_cvtepu16_epi32(_mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
    else
        store_c(job, piece, _mm512_castps_si512(value));
}

/* ---- Numbers ------------------------------------------------------------------------------------------- */

/* Eight and eight. */
typedef struct doubles {
    __m512d low, high;
} doubles;

RUNGI_ON_AVX512 static inline doubles widened(__m512 x)
{
    return (doubles){_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}

RUNGI_ON_AVX512 static inline __m512 narrowed(doubles x)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x.low)), _mm512_cvtpd_ps(x.high), 1);
}

RUNGI_ON_AVX512 static inline doubles sum_of(doubles x, doubles y)
{
    return (doubles){_mm512_add_pd(x.low, y.low), _mm512_add_pd(x.high, y.high)};
}

RUNGI_ON_AVX512 static inline doubles scaled(doubles x, double by)
{
    return (doubles){_mm512_mul_pd(x.low, _mm512_set1_pd(by)), _mm512_mul_pd(x.high, _mm512_set1_pd(by))};
}

/* A NaN stays: the comparison is false. */
RUNGI_ON_AVX512 static inline __m512d relu(__m512d x)
{
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_NLT_UQ), x);
}

RUNGI_ON_AVX512 static inline doubles gelu(doubles x)
{
    double value[WIDE];
    _mm512_storeu_pd(value, x.low);
    _mm512_storeu_pd(value + 8, x.high);
    for (int i = 0; i < WIDE; i++)
        value[i] = 0.5 * value[i] * (1 + erf(value[i] * 0.70710678118654752440));
    return (doubles){_mm512_loadu_pd(value), _mm512_loadu_pd(value + 8)};
}

RUNGI_ON_AVX512 static inline void finish_numbers(const rungi_cpu_job *job, piece piece, __m512 sum)
{
    const rungi_cpu_input c = {job->c.first, job->c.row_stride, job->c.col_stride};
    doubles value = scaled(widened(sum), job->alpha);
    if (job->beta != 0)
        value = sum_of(value, scaled(widened(load_numbers(job->out, &c, piece)), job->beta));
    if (job->bias.first)
        value = sum_of(value, widened(load_numbers(job->out, &job->bias, piece)));
    if (job->activation == RUNG_RELU)
        value = (doubles){relu(value.low), relu(value.high)};
    else if (job->activation == RUNG_GELU)
        value = gelu(value);
    if (job->residual.first)
        value = sum_of(value, widened(load_numbers(job->out, &job->residual, piece)));
    store_numbers(job, piece, narrowed(value));
}

/* ---- Whole numbers --------------------------------------------------------------------------------------- */

RUNGI_ON_AVX512 static inline void finish_whole(const rungi_cpu_job *job, piece piece, __m512i sum)
{
    const rungi_cpu_input c = {job->c.first, job->c.row_stride, job->c.col_stride};
    __m512i alpha = _mm512_set1_epi32((int32_t)(uint32_t)(int64_t)job->alpha);
    __m512i beta = _mm512_set1_epi32((int32_t)(uint32_t)(int64_t)job->beta);
    __m512i value = _mm512_mullo_epi32(alpha, sum);
    if (job->beta != 0)
        value = _mm512_add_epi32(value, _mm512_mullo_epi32(beta, load_view(RUNG_I32, &c, piece)));
    if (job->bias.first)
        value = _mm512_add_epi32(value, load_view(RUNG_I32, &job->bias, piece));
    if (job->activation == RUNG_RELU)
        value = _mm512_max_epi32(value, _mm512_setzero_si512());
    if (job->residual.first)
        value = _mm512_add_epi32(value, load_view(RUNG_I32, &job->residual, piece));
    store_c(job, piece, value);
}

/* ---- A block ------------------------------------------------------------------------------------------------ */

RUNGI_ON_AVX512 void rungi_engine_finish(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t rows, int64_t cols,
                                         const void *sums)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c += WIDE) {
            int64_t count = cols - c < WIDE ? cols - c : WIDE;
            piece piece = {i + r, j + c, count, (__mmask16)((1u << count) - 1)};
            const char *at = (const char *)sums + (r * RUNGI_PANEL + c) * 4;
            if (job->out == RUNG_I32)
                finish_whole(job, piece, _mm512_load_si512(at));
            else
                finish_numbers(job, piece, _mm512_load_ps((const float *)(const void *)at));
        }
}
#endif
