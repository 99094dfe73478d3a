/* SPDX-License-Identifier: Apache-2.0 */
/* finish_avx512.c - what becomes of a block's sums of four bytes: alpha, beta and the epilogue, in double and
 * rounded once; of whole numbers modulo 2^32. See finish_block.h.
 *
 * Sixteen neighbours of a row at a time, the last of them under a mask. Where C or what an epilogue
 * reads has another stride than 1 along a row, its elements are gathered and scattered one by one. */
#include "cpu/engine.h"

#if defined(__x86_64__)
#include <float.h>
#include <immintrin.h>

enum { WIDE = 16 };

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* A piece of a row of C: where it begins, and how much of it there is. */
typedef struct piece {
    int64_t i, j, count;
    __mmask16 mask;
} piece_t;

/* ---- Sixteen elements -------------------------------------------------------------------------------- */

RUNGI_ON_AVX512 static ALWAYS_INLINE __m512i load_bits(int64_t size, const rungi_cpu_input *view, const piece_t *piece)
{
    const char *at = (const char *)view->first + (piece->i * view->row_stride + piece->j * view->col_stride) * size;
    _Alignas(64) int32_t gathered[WIDE];
    if (view->col_stride == 1)
        return size == 2 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(piece->mask, at))
                         : _mm512_maskz_loadu_epi32(piece->mask, at);
    for (int64_t x = 0; x < piece->count; x++)
        gathered[x] = size == 2 ? ((const uint16_t *)(const void *)at)[x * view->col_stride]
                                : ((const int32_t *)(const void *)at)[x * view->col_stride];
    return _mm512_maskz_loadu_epi32(piece->mask, gathered);
}

/* As F32, which holds them all. */
RUNGI_ON_AVX512 static ALWAYS_INLINE __m512 load_numbers(rung_type type, const rungi_cpu_input *view,
                                                         const piece_t *piece)
{
    __m512i bits = load_bits(type == RUNG_F32 ? 4 : 2, view, piece);
    if (type == RUNG_BF16)
        return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 16));
    return type == RUNG_F16 ? _mm512_cvtph_ps(_mm512_cvtepi32_epi16(bits)) : _mm512_castsi512_ps(bits);
}

RUNGI_ON_AVX512 static ALWAYS_INLINE void store_bits(int64_t size, const rungi_cpu_output *c, const piece_t *piece,
                                                     __m512i bits)
{
    char *at = (char *)c->first + (piece->i * c->row_stride + piece->j * c->col_stride) * size;
    _Alignas(64) int32_t scattered[WIDE];
    if (c->col_stride == 1) {
        if (size == 2)
            _mm256_mask_storeu_epi16(at, piece->mask, _mm512_cvtepi32_epi16(bits));
        else
            _mm512_mask_storeu_epi32(at, piece->mask, bits);
        return;
    }
    _mm512_storeu_si512(scattered, bits);
    for (int64_t x = 0; x < piece->count; x++)
        if (size == 2)
            ((uint16_t *)(void *)at)[x * c->col_stride] = (uint16_t)scattered[x];
        else
            ((int32_t *)(void *)at)[x * c->col_stride] = scattered[x];
}

/* rung_bf16_from_f32 of each. */
RUNGI_ON_AVX512 static ALWAYS_INLINE __m512i bf16_of(__m512 value)
{
    __m512i bits = _mm512_castps_si512(value);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i near = _mm512_add_epi32(_mm512_add_epi32(bits, odd), _mm512_set1_epi32(0x7fff));
    __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    return _mm512_srli_epi32(_mm512_mask_mov_epi32(near, _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q), quiet), 16);
}

RUNGI_ON_AVX512 static ALWAYS_INLINE void store_numbers(rung_type type, const rungi_cpu_output *c, const piece_t *piece,
                                                        __m512 value)
{
    if (type == RUNG_BF16)
        store_bits(2, c, piece, bf16_of(value));
    else if (type == RUNG_F16)
        store_bits(2, c, piece,
                   _mm512_cvtepu16_epi32(_mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)));
    else
        store_bits(4, c, piece, _mm512_castps_si512(value));
}

/* ---- Activations ----------------------------------------------------------------------------------------- */

/* A NaN stays: it is not less. */
RUNGI_ON_AVX512 static inline __m512d relu(__m512d x)
{
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_NLT_UQ), x);
}

/* e^x for x <= 0, to 2^-30 of it: 2 to a whole power, and a series for the rest, |f| <= ln 2 / 2. */
RUNGI_ON_AVX512 static inline __m512d exponential(__m512d x)
{
    const double series[] = {1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1};
    __m512d bounded = _mm512_max_pd(_mm512_set1_pd(-1000), x); /* a NaN stays */
    __m512d power = _mm512_roundscale_pd(_mm512_mul_pd(bounded, _mm512_set1_pd(1.4426950408889634)),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512d f = _mm512_fnmadd_pd(power, _mm512_set1_pd(0.69314718055994531), bounded), sum = _mm512_set1_pd(series[0]);
    for (int i = 1; i < 9; i++)
        sum = _mm512_fmadd_pd(sum, f, _mm512_set1_pd(series[i]));
    return _mm512_scalef_pd(sum, power);
}

/* v/2 (1 + erf(v / sqrt 2)). The error function to 1.5e-7, by Hastings' formula (Abramowitz and Stegun,
 * 7.1.26): 2.6 units of F32's roundoff, relative to v. */
RUNGI_ON_AVX512 static inline __m512d gelu(__m512d v)
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

/* v / (1 + exp(-x)), where x has the sign of v: to 2^-29 of it, as the exponential of -|x| is to 2^-30. Minus infinity
 * gives 0, the limit: it is replaced by the smallest finite number, of which the quotient is -0. */
RUNGI_ON_AVX512 static ALWAYS_INLINE __m512d sigmoid_times(__m512d v, __m512d x)
{
    __m512d one = _mm512_set1_pd(1), tail = exponential(_mm512_sub_pd(_mm512_setzero_pd(), _mm512_abs_pd(x)));
    __mmask8 is_below = _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_LT_OQ);
    __m512d finite = _mm512_max_pd(_mm512_set1_pd(-DBL_MAX), v); /* a NaN stays */
    return _mm512_mul_pd(finite, _mm512_div_pd(_mm512_mask_mov_pd(one, is_below, tail), _mm512_add_pd(one, tail)));
}

RUNGI_ON_AVX512 static inline __m512d silu(__m512d v)
{
    return sigmoid_times(v, v);
}

/* v/2 (1 + tanh(u)) = v / (1 + exp(-2 u)), u = sqrt(2 / pi) (v + 0.044715 v^3). */
RUNGI_ON_AVX512 static inline __m512d gelu_tanh(__m512d v)
{
    __m512d cubic = _mm512_fmadd_pd(_mm512_mul_pd(v, v), _mm512_set1_pd(0.044715), _mm512_set1_pd(1));
    return sigmoid_times(v, _mm512_mul_pd(_mm512_mul_pd(v, _mm512_set1_pd(1.5957691216057307117)), cubic));
}

/* ---- Numbers ------------------------------------------------------------------------------------------- */

/* Eight and eight. */
typedef struct doubles {
    __m512d low, high;
} doubles_t;

RUNGI_ON_AVX512 static ALWAYS_INLINE doubles_t widened(__m512 x)
{
    return (doubles_t){_mm512_cvtps_pd(_mm512_castps512_ps256(x)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))};
}

RUNGI_ON_AVX512 static ALWAYS_INLINE __m512 narrowed(doubles_t x)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(x.low)), _mm512_cvtpd_ps(x.high), 1);
}

RUNGI_ON_AVX512 static ALWAYS_INLINE doubles_t sum_of(doubles_t x, doubles_t y)
{
    return (doubles_t){_mm512_add_pd(x.low, y.low), _mm512_add_pd(x.high, y.high)};
}

RUNGI_ON_AVX512 static ALWAYS_INLINE doubles_t scaled(doubles_t x, double by)
{
    return (doubles_t){_mm512_mul_pd(x.low, _mm512_set1_pd(by)), _mm512_mul_pd(x.high, _mm512_set1_pd(by))};
}

RUNGI_ON_AVX512 static ALWAYS_INLINE void finish_numbers(rung_type out, const rungi_cpu_job *job, const piece_t *piece,
                                                         __m512 sum)
{
    const rungi_cpu_input c = {job->c.first, job->c.row_stride, job->c.col_stride};
    doubles_t value = scaled(widened(sum), job->alpha);
    if (job->beta != 0)
        value = sum_of(value, scaled(widened(load_numbers(out, &c, piece)), job->beta));
    if (job->addend.first)
        value = sum_of(value, scaled(widened(load_numbers(out, &job->addend, piece)), job->addend_factor));
    if (job->bias.first)
        value = sum_of(value, widened(load_numbers(out, &job->bias, piece)));
    if (job->activation == RUNG_ACTIVATION_RELU)
        value = (doubles_t){relu(value.low), relu(value.high)};
    else if (job->activation == RUNG_ACTIVATION_GELU)
        value = (doubles_t){gelu(value.low), gelu(value.high)};
    else if (job->activation == RUNG_ACTIVATION_GELU_TANH)
        value = (doubles_t){gelu_tanh(value.low), gelu_tanh(value.high)};
    else if (job->activation == RUNG_ACTIVATION_SILU)
        value = (doubles_t){silu(value.low), silu(value.high)};
    if (job->residual.first)
        value = sum_of(value, widened(load_numbers(out, &job->residual, piece)));
    store_numbers(out, &job->c, piece, narrowed(value));
}

/* ---- Whole numbers --------------------------------------------------------------------------------------- */

RUNGI_ON_AVX512 static ALWAYS_INLINE void finish_whole(const rungi_cpu_job *job, const piece_t *piece, __m512i sum)
{
    const rungi_cpu_input c = {job->c.first, job->c.row_stride, job->c.col_stride};
    __m512i alpha = _mm512_set1_epi32((int32_t)(uint32_t)(int64_t)job->alpha);
    __m512i beta = _mm512_set1_epi32((int32_t)(uint32_t)(int64_t)job->beta);
    __m512i value = _mm512_mullo_epi32(alpha, sum);
    if (job->beta != 0)
        value = _mm512_add_epi32(value, _mm512_mullo_epi32(beta, load_bits(4, &c, piece)));
    if (job->addend.first) {
        __m512i factor = _mm512_set1_epi32((int32_t)(uint32_t)(int64_t)job->addend_factor);
        value = _mm512_add_epi32(value, _mm512_mullo_epi32(factor, load_bits(4, &job->addend, piece)));
    }
    if (job->bias.first)
        value = _mm512_add_epi32(value, load_bits(4, &job->bias, piece));
    if (job->activation == RUNG_ACTIVATION_RELU)
        value = _mm512_max_epi32(value, _mm512_setzero_si512());
    if (job->residual.first)
        value = _mm512_add_epi32(value, load_bits(4, &job->residual, piece));
    store_bits(4, &job->c, piece, value);
}

/* ---- A block ------------------------------------------------------------------------------------------------ */

RUNGI_ON_AVX512 static ALWAYS_INLINE void finish_all(rung_type out, const rungi_cpu_job *job, const rungi_block *block,
                                                     const void *sums, int64_t sums_row)
{
    for (int64_t r = 0; r < block->rows; r++)
        for (int64_t c = 0; c < block->cols; c += WIDE) {
            int64_t count = block->cols - c < WIDE ? block->cols - c : WIDE;
            piece_t piece = {block->i + r, block->j + c, count, (__mmask16)((1u << count) - 1)};
            __m512i bits = _mm512_maskz_loadu_epi32(piece.mask, (const int32_t *)sums + r * sums_row + c);
            if (out == RUNG_I32)
                finish_whole(job, &piece, bits);
            else
                finish_numbers(out, job, &piece, _mm512_castsi512_ps(bits));
        }
}

RUNGI_ON_AVX512 void rungi_finish_avx512(const rungi_cpu_job *job, const rungi_block *block, const void *sums,
                                         int64_t sums_row)
{
    switch (job->out) {
    case RUNG_BF16: finish_all(RUNG_BF16, job, block, sums, sums_row); break;
    case RUNG_F16: finish_all(RUNG_F16, job, block, sums, sums_row); break;
    case RUNG_I32: finish_all(RUNG_I32, job, block, sums, sums_row); break;
    default: finish_all(RUNG_F32, job, block, sums, sums_row);
    }
}

RUNGI_ON_AVX512 void rungi_engine_store(const rungi_cpu_job *job, const rungi_block *block, const char *sums,
                                        bool is_streamed)
{
    char *row = (char *)job->c.first + (block->i * job->c.row_stride + block->j) * 4;
    int64_t left = block->cols < WIDE ? block->cols : WIDE, right = block->cols - left;
    __mmask16 left_mask = (__mmask16)((1u << left) - 1), right_mask = (__mmask16)((1u << right) - 1);
    for (int64_t r = 0; r < block->rows; r++, row += job->c.row_stride * 4, sums += RUNGI_PANEL * 4) {
        __m512i x = _mm512_load_si512(sums), y = _mm512_load_si512(sums + 64);
        if (is_streamed) {
            _mm512_stream_si512((__m512i *)(void *)row, x);
            _mm512_stream_si512((__m512i *)(void *)(row + 64), y);
        } else {
            _mm512_mask_storeu_epi32(row, left_mask, x);
            _mm512_mask_storeu_epi32(row + 64, right_mask, y);
        }
    }
}
#endif
