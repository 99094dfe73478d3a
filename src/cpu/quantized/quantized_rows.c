/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_rows.c - rounds rows of A to 8-bit integers with a scale per block. */
#include "cpu/quantized/quantized.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "core/matrix.h"
#include "cpu/microkernels/cpu_pack.h"

enum { BLOCK = RUNGI_QUANTIZED_BLOCK, GROUP = RUNGI_QUANTIZED_GROUP, LARGEST = 127 };

/* Below this, 127 divided by the largest magnitude may be infinite. */
static const float smallest_magnitude = 0x1p-100f, magnification = 0x1p64f;

void rungi_quantized_read_row(const rungi_cpu_job *job, int64_t i, int64_t p, int64_t count, float *values)
{
    const rungi_cpu_input *a = &job->a;
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

/* Returns the largest magnitude, or a NaN if an element is not finite. */
RUNGI_TARGET_AVX512_DOT static float largest_magnitude(__m512 low, __m512 high)
{
    __m512 sizes[2] = {_mm512_abs_ps(low), _mm512_abs_ps(high)}, limit = _mm512_set1_ps(0x1.fffffep127f);
    __mmask16 are_finite = _mm512_cmp_ps_mask(sizes[0], limit, _CMP_LE_OQ) &
                           _mm512_cmp_ps_mask(sizes[1], limit, _CMP_LE_OQ);
    return are_finite == 0xffff ? _mm512_reduce_max_ps(_mm512_max_ps(sizes[0], sizes[1])) : NAN;
}

RUNGI_TARGET_AVX512_DOT static __m512i round_to_integers(__m512 values, float factor, float inverse)
{
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_mul_ps(values, _mm512_set1_ps(factor)), _mm512_set1_ps(inverse)));
}

/* Quantizes block b of a group. */
RUNGI_TARGET_AVX512_DOT static void quantize_block(const float *values, int32_t offset, int64_t b,
                                                   rungi_quantized_group *to)
{
    __m512 low = _mm512_loadu_ps(values), high = _mm512_loadu_ps(values + BLOCK / 2);
    float largest = largest_magnitude(low, high);
    float factor = largest < smallest_magnitude ? magnification : 1;
    float inverse = largest > 0 ? LARGEST / (largest * factor) : 0;
    __m512i integers[2] = {round_to_integers(low, factor, inverse), round_to_integers(high, factor, inverse)};
    if (!(largest >= 0)) /* the NaN of the scale suffices */
        integers[0] = integers[1] = _mm512_setzero_si512();
    _mm_storeu_si128((__m128i *)(void *)(to->low + b * BLOCK / 2), _mm512_cvtepi32_epi8(integers[0]));
    _mm_storeu_si128((__m128i *)(void *)(to->high + b * BLOCK / 2), _mm512_cvtepi32_epi8(integers[1]));
    to->correction[4 * b] = -offset * _mm512_reduce_add_epi32(_mm512_add_epi32(integers[0], integers[1]));
    for (int64_t lane = 0; lane < 4; lane++)
        to->scale[4 * b + lane] = largest / LARGEST;
}

void rungi_quantized_rows(const rungi_cpu_job *job, int64_t i, int64_t rows, rungi_quantized_group *to)
{
    int32_t offset = job->b_type == RUNG_Q4_0 ? 8 : 128;
    float values[GROUP];
    for (int64_t p = 0; p < job->k; p += GROUP)
        for (int64_t r = 0; r < rows; r++, to++) {
            read_group(job, i + r, p, values);
            memset(to->correction, 0, sizeof to->correction);
            for (int64_t b = 0; b < RUNGI_QUANTIZED_GROUP_BLOCKS; b++)
                quantize_block(values + b * BLOCK, offset, b, to);
        }
}
#endif
