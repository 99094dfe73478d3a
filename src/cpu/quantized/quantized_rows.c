/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_rows.c - rounds rows of A to 8-bit integers with a scale per block. */
#include "cpu/quantized/quantized.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "core/matrix.h"
#include "cpu/microkernels/cpu_dequantize.h"
#include "cpu/microkernels/cpu_pack.h"

enum { BLOCK = RUNGI_QUANTIZED_BLOCK, GROUP = RUNGI_QUANTIZED_GROUP, LARGEST = 127 };

/* Below this, 127 divided by the largest magnitude may be infinite. */
static const float smallest_magnitude = 0x1p-100f, magnification = 0x1p64f;

void rungi_quantized_read_row(const rungi_cpu_job *job, int64_t i, int64_t p, int64_t count, float *values)
{
    const rungi_cpu_input *a = &job->a;
    if (rungi_cpu_dequantizes_a(job)) {
        rungi_cpu_dequantize_transposed(job->features->isa, &job->narrow_a, p, i, count, 1, values, count);
        return;
    }
    const char *first = (const char *)a->first + rungi_type_bytes(job->in, i * a->row_stride + p * a->col_stride);
    rungi_cpu_pack(job->features->isa,
                   &(rungi_cpu_pack_args){job->in, first, a->row_stride, a->col_stride, 1, count, values, count});
}

/* Reads the elements of a group, and zeros behind the end of k. */
static void read_group(const rungi_cpu_job *job, int64_t i, int64_t p, float *values)
{
    int64_t count = rungi_min(GROUP, job->k - p);
    rungi_quantized_read_row(job, i, p, count, values);
    memset(values + count, 0, (size_t)(GROUP - count) * sizeof *values);
}

bool rungi_quantized_has_dots(const rungi_cpu_features *features)
{
    return features->has_vnni || (features->isa >= RUNGI_ISA_AVX2 && features->has_f16c);
}

/* The factors of a block: elements are multiplied by both, one after the other, because their product may be infinite. */
typedef struct factors {
    float magnification, inverse;
} factors_t;

static factors_t factors_of(float largest)
{
    float factor = largest < smallest_magnitude ? magnification : 1;
    return (factors_t){factor, largest > 0 ? LARGEST / (largest * factor) : 0};
}

/* Sets what belongs to block b besides its elements. `largest` is the largest magnitude, or a NaN if an element is not finite. */
static void set_block(float largest, int32_t offset, int32_t sum, int64_t b, rungi_quantized_group *to)
{
    if (!(largest >= 0)) { /* the NaN of the scale suffices */
        memset(to->low + b * BLOCK / 2, 0, BLOCK / 2);
        memset(to->high + b * BLOCK / 2, 0, BLOCK / 2);
        sum = 0;
    }
    to->correction[4 * b] = -offset * sum;
    for (int64_t lane = 0; lane < 4; lane++)
        to->scale[4 * b + lane] = largest / LARGEST;
}

/* ---- AVX-512 ------------------------------------------------------------------------------------------------------- */

/* Returns the largest magnitude, or a NaN if an element is not finite. */
RUNGI_TARGET_AVX512_DOT static float largest_magnitude(__m512 low, __m512 high)
{
    __m512 sizes[2] = {_mm512_abs_ps(low), _mm512_abs_ps(high)}, limit = _mm512_set1_ps(0x1.fffffep127f);
    __mmask16 are_finite = _mm512_cmp_ps_mask(sizes[0], limit, _CMP_LE_OQ) &
                           _mm512_cmp_ps_mask(sizes[1], limit, _CMP_LE_OQ);
    return are_finite == 0xffff ? _mm512_reduce_max_ps(_mm512_max_ps(sizes[0], sizes[1])) : NAN;
}

RUNGI_TARGET_AVX512_DOT static __m512i round_to_integers(__m512 values, factors_t factors)
{
    return _mm512_cvtps_epi32(
        _mm512_mul_ps(_mm512_mul_ps(values, _mm512_set1_ps(factors.magnification)), _mm512_set1_ps(factors.inverse)));
}

/* Quantizes block b of a group. */
RUNGI_TARGET_AVX512_DOT static void quantize_block_avx512(const float *values, int32_t offset, int64_t b,
                                                          rungi_quantized_group *to)
{
    __m512 low = _mm512_loadu_ps(values), high = _mm512_loadu_ps(values + BLOCK / 2);
    float largest = largest_magnitude(low, high);
    factors_t factors = factors_of(largest);
    __m512i integers[2] = {round_to_integers(low, factors), round_to_integers(high, factors)};
    _mm_storeu_si128((__m128i *)(void *)(to->low + b * BLOCK / 2), _mm512_cvtepi32_epi8(integers[0]));
    _mm_storeu_si128((__m128i *)(void *)(to->high + b * BLOCK / 2), _mm512_cvtepi32_epi8(integers[1]));
    __mmask16 summed = isnan(largest) ? 0 : 0xffff; /* integers of NaNs are INT32_MIN, whose sum overflows */
    set_block(largest, offset, _mm512_mask_reduce_add_epi32(summed, _mm512_add_epi32(integers[0], integers[1])), b, to);
}

/* ---- AVX2 ---------------------------------------------------------------------------------------------------------- */

enum { VECTORS = 4 }; /* per block */

RUNGI_TARGET_AVX2 static float largest_magnitude_avx2(const __m256 values[VECTORS])
{
    const __m256 sign = _mm256_set1_ps(-0.0f), limit = _mm256_set1_ps(0x1.fffffep127f);
    __m256 largest = _mm256_setzero_ps(), are_finite = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
    for (int v = 0; v < VECTORS; v++) {
        __m256 sizes = _mm256_andnot_ps(sign, values[v]);
        are_finite = _mm256_and_ps(are_finite, _mm256_cmp_ps(sizes, limit, _CMP_LE_OQ));
        largest = _mm256_max_ps(largest, sizes);
    }
    __m128 quarters = _mm_max_ps(_mm256_castps256_ps128(largest), _mm256_extractf128_ps(largest, 1));
    __m128 pairs = _mm_max_ps(quarters, _mm_movehl_ps(quarters, quarters));
    return _mm256_movemask_ps(are_finite) == 0xff ? _mm_cvtss_f32(_mm_max_ss(pairs, _mm_movehdup_ps(pairs))) : NAN;
}

RUNGI_TARGET_AVX2 static int32_t add_integers(__m256i integers)
{
    __m128i quarters = _mm_add_epi32(_mm256_castsi256_si128(integers), _mm256_extracti128_si256(integers, 1));
    __m128i pairs = _mm_add_epi32(quarters, _mm_shuffle_epi32(quarters, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(pairs, _mm_shuffle_epi32(pairs, 0xb1)));
}

/* Packing works on halves of registers, so its results are put in order by quarters. */
RUNGI_TARGET_AVX2 static __m256i pack_16_bits(__m256i first, __m256i second)
{
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xd8);
}

RUNGI_TARGET_AVX2 static void quantize_block_avx2(const float *from, int32_t offset, int64_t b,
                                                  rungi_quantized_group *to)
{
    __m256 values[VECTORS];
    __m256i integers[VECTORS], sum = _mm256_setzero_si256();
    for (int v = 0; v < VECTORS; v++)
        values[v] = _mm256_loadu_ps(from + 8 * v);
    float largest = largest_magnitude_avx2(values);
    factors_t factors = factors_of(largest);
    for (int v = 0; v < VECTORS; v++) {
        __m256 scaled = _mm256_mul_ps(_mm256_mul_ps(values[v], _mm256_set1_ps(factors.magnification)),
                                      _mm256_set1_ps(factors.inverse));
        integers[v] = _mm256_cvtps_epi32(scaled);
        sum = _mm256_add_epi32(sum, integers[v]);
    }
    __m256i bytes = _mm256_packs_epi16(pack_16_bits(integers[0], integers[1]), pack_16_bits(integers[2], integers[3]));
    bytes = _mm256_permute4x64_epi64(bytes, 0xd8);
    _mm_storeu_si128((__m128i *)(void *)(to->low + b * BLOCK / 2), _mm256_castsi256_si128(bytes));
    _mm_storeu_si128((__m128i *)(void *)(to->high + b * BLOCK / 2), _mm256_extracti128_si256(bytes, 1));
    set_block(largest, offset, add_integers(sum), b, to);
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------- */

void rungi_quantized_rows(const rungi_cpu_job *job, int64_t i, int64_t rows, rungi_quantized_group *to)
{
    int32_t offset = job->b_type == RUNG_Q4_0 ? 8 : 128;
    float values[GROUP];
    for (int64_t p = 0; p < job->k; p += GROUP)
        for (int64_t r = 0; r < rows; r++, to++) {
            read_group(job, i + r, p, values);
            memset(to->correction, 0, sizeof to->correction);
            for (int64_t b = 0; b < RUNGI_QUANTIZED_GROUP_BLOCKS; b++)
                (job->features->has_vnni ? quantize_block_avx512 : quantize_block_avx2)(values + b * BLOCK, offset, b,
                                                                                        to);
        }
}
#endif
