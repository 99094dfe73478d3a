/* SPDX-License-Identifier: Apache-2.0 */
/* mma_vectors.h - multiplies planes of matrices for mma.sync, with the vectors of each instruction set.
 *
 * A register of A or B holds E elements of 32 lanes. Element e of all lanes of a register is a plane. With g = lane / 4 and
 * t = lane % 4, the planes of block i, which are registers of A for all rows and one register of B, have these elements:
 *     A, plane i * E + e:  at 32 * r + lane, row g + 8 * r and k = 4 * E * i + E * t + e
 *     B, plane i * E + e:  at 8 * t + 4 * j + q, column 2 * q + j and the same k
 * Register 2 * r + j of C has row g + 8 * r and column 2 * t + j. So one k adds spread(A) * tile(B) to C as C is in its
 * registers: spread() repeats the t-th of each four lanes of A, and tile() repeats four elements of B. */
#pragma once

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"

enum { MMA_PLANES_MAX = 8, MMA_ROW_GROUPS_MAX = 2, MMA_PLANE = MMA_ROW_GROUPS_MAX * PTX_WARP_LANES };

/* ---- Single precision ---------------------------------------------------------------------------------------------- */

#if defined(__AVX512F__)
enum { FLOATS = 16 };
typedef __m512 floats_t;

static inline floats_t load_floats(const float *from)
{
    return _mm512_loadu_ps(from);
}

/* NaN becomes the canonical one. */
static inline void store_floats(float *to, floats_t value)
{
    __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    _mm512_storeu_ps(to, _mm512_castsi512_ps(_mm512_mask_set1_epi32(_mm512_castps_si512(value), is_nan, 0x7fffffff)));
}

static inline floats_t spread_floats(const float *a, int t)
{
    return _mm512_permutevar_ps(_mm512_loadu_ps(a), _mm512_set1_epi32(t));
}

static inline floats_t tile_floats(const float *b)
{
    return _mm512_broadcast_f32x4(_mm_loadu_ps(b));
}

static inline floats_t add_float_products(floats_t a, floats_t b, floats_t sum)
{
    return _mm512_fmadd_ps(a, b, sum);
}
#elif defined(__AVX2__)
enum { FLOATS = 8 };
typedef __m256 floats_t;

static inline floats_t load_floats(const float *from)
{
    return _mm256_loadu_ps(from);
}

static inline void store_floats(float *to, floats_t value)
{
    __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff));
    _mm256_storeu_ps(to, _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q)));
}

static inline floats_t spread_floats(const float *a, int t)
{
    return _mm256_permutevar_ps(_mm256_loadu_ps(a), _mm256_set1_epi32(t));
}

static inline floats_t tile_floats(const float *b)
{
    return _mm256_broadcast_ps((const __m128 *)(const void *)b);
}

static inline floats_t add_float_products(floats_t a, floats_t b, floats_t sum)
{
    return _mm256_fmadd_ps(a, b, sum);
}
#else
enum { FLOATS = 4 };
typedef struct floats {
    float lane[FLOATS];
} floats_t;

static inline floats_t load_floats(const float *from)
{
    floats_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline void store_floats(float *to, floats_t value)
{
    for (int i = 0; i < FLOATS; i++)
        to[i] = canonical_f32(value.lane[i]);
}

static inline floats_t spread_floats(const float *a, int t)
{
    return (floats_t){{a[t], a[t], a[t], a[t]}};
}

static inline floats_t tile_floats(const float *b)
{
    return load_floats(b);
}

static inline floats_t add_float_products(floats_t a, floats_t b, floats_t sum)
{
    for (int i = 0; i < FLOATS; i++)
        sum.lane[i] = fmaf(a.lane[i], b.lane[i], sum.lane[i]);
    return sum;
}
#endif

/* ---- Double precision ---------------------------------------------------------------------------------------------- */

#if defined(__AVX512F__)
enum { DOUBLES = 8 };
typedef __m512d doubles_t;

static inline doubles_t load_doubles(const double *from)
{
    return _mm512_loadu_pd(from);
}

static inline void store_doubles(double *to, doubles_t value)
{
    _mm512_storeu_pd(to, value);
}

static inline doubles_t spread_doubles(const double *a, int t)
{
    __m512i order = _mm512_add_epi64(_mm512_setr_epi64(0, 0, 0, 0, 4, 4, 4, 4), _mm512_set1_epi64(t));
    return _mm512_permutexvar_pd(order, _mm512_loadu_pd(a));
}

static inline doubles_t tile_doubles(const double *b)
{
    return _mm512_broadcast_f64x4(_mm256_loadu_pd(b));
}

static inline doubles_t add_double_products(doubles_t a, doubles_t b, doubles_t sum)
{
    return _mm512_fmadd_pd(a, b, sum);
}
#elif defined(__AVX2__)
enum { DOUBLES = 4 };
typedef __m256d doubles_t;

static inline doubles_t load_doubles(const double *from)
{
    return _mm256_loadu_pd(from);
}

static inline void store_doubles(double *to, doubles_t value)
{
    _mm256_storeu_pd(to, value);
}

static inline doubles_t spread_doubles(const double *a, int t)
{
    return _mm256_broadcast_sd(a + t);
}

static inline doubles_t tile_doubles(const double *b)
{
    return _mm256_loadu_pd(b);
}

static inline doubles_t add_double_products(doubles_t a, doubles_t b, doubles_t sum)
{
    return _mm256_fmadd_pd(a, b, sum);
}
#else
enum { DOUBLES = 4 };
typedef struct doubles {
    double lane[DOUBLES];
} doubles_t;

static inline doubles_t load_doubles(const double *from)
{
    doubles_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline void store_doubles(double *to, doubles_t value)
{
    memcpy(to, &value, sizeof value);
}

static inline doubles_t spread_doubles(const double *a, int t)
{
    return (doubles_t){{a[t], a[t], a[t], a[t]}};
}

static inline doubles_t tile_doubles(const double *b)
{
    return load_doubles(b);
}

static inline doubles_t add_double_products(doubles_t a, doubles_t b, doubles_t sum)
{
    for (int i = 0; i < DOUBLES; i++)
        sum.lane[i] = fma(a.lane[i], b.lane[i], sum.lane[i]);
    return sum;
}
#endif

/* ---- Integers: an element of a plane is a pair of 16-bit numbers --------------------------------------------------- */

#if defined(__AVX512BW__)
enum { PAIRS = 16 };
typedef __m512i pairs_t;

static inline pairs_t load_pairs(const int32_t *from)
{
    return _mm512_loadu_si512(from);
}

static inline void store_pairs(int32_t *to, pairs_t value)
{
    _mm512_storeu_si512(to, value);
}

static inline pairs_t spread_pairs(const int32_t *a, int t)
{
    return _mm512_castps_si512(_mm512_permutevar_ps(_mm512_loadu_ps(a), _mm512_set1_epi32(t)));
}

static inline pairs_t tile_pairs(const int32_t *b)
{
    return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)b));
}

static inline pairs_t add_pair_products(pairs_t a, pairs_t b, pairs_t sum)
{
    return _mm512_add_epi32(_mm512_madd_epi16(a, b), sum);
}
#elif defined(__AVX2__)
enum { PAIRS = 8 };
typedef __m256i pairs_t;

static inline pairs_t load_pairs(const int32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

static inline void store_pairs(int32_t *to, pairs_t value)
{
    _mm256_storeu_si256((__m256i *)(void *)to, value);
}

static inline pairs_t spread_pairs(const int32_t *a, int t)
{
    __m256 words = _mm256_castsi256_ps(load_pairs(a));
    return _mm256_castps_si256(_mm256_permutevar_ps(words, _mm256_set1_epi32(t)));
}

static inline pairs_t tile_pairs(const int32_t *b)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)b));
}

static inline pairs_t add_pair_products(pairs_t a, pairs_t b, pairs_t sum)
{
    return _mm256_add_epi32(_mm256_madd_epi16(a, b), sum);
}
#else
enum { PAIRS = 4 };
typedef struct pairs {
    int32_t lane[PAIRS];
} pairs_t;

static inline pairs_t load_pairs(const int32_t *from)
{
    pairs_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline void store_pairs(int32_t *to, pairs_t value)
{
    memcpy(to, &value, sizeof value);
}

static inline pairs_t spread_pairs(const int32_t *a, int t)
{
    return (pairs_t){{a[t], a[t], a[t], a[t]}};
}

static inline pairs_t tile_pairs(const int32_t *b)
{
    return load_pairs(b);
}

static inline pairs_t add_pair_products(pairs_t a, pairs_t b, pairs_t sum)
{
    for (int i = 0; i < PAIRS; i++) {
        int32_t low = (int16_t)a.lane[i] * (int16_t)b.lane[i];
        int32_t high = (a.lane[i] >> 16) * (b.lane[i] >> 16);
        sum.lane[i] = (int32_t)((uint32_t)sum.lane[i] + (uint32_t)low + (uint32_t)high);
    }
    return sum;
}
#endif

/* ---- Products ------------------------------------------------------------------------------------------------------ */

/* Defines a product of planes of T and its function multiply_<vectors>(). Products are added in the order of k. */
#define MMA_PRODUCT(T, vectors, products, WIDTH)                                                                   \
    typedef struct vectors##_product {                                                                             \
        const T *c[2 * MMA_ROW_GROUPS_MAX]; /* registers, or copies of them */                                     \
        T *d[2 * MMA_ROW_GROUPS_MAX];                                                                              \
        int row_groups, blocks, per_block; /* groups of 8 rows; blocks of planes; planes of one block */           \
        _Alignas(PTX_LANE_ARRAY_ALIGNMENT) T a[MMA_PLANES_MAX][MMA_PLANE];                                         \
        T b[MMA_PLANES_MAX][PTX_WARP_LANES];                                                                       \
    } vectors##_product_t;                                                                                         \
                                                                                                                   \
    /* Computes `count` vectors of rows, from element `first` of the planes on. */                                 \
    static inline void multiply_some_##vectors(const vectors##_product_t *product, int first, int count,           \
                                               int per_block)                                                      \
    {                                                                                                              \
        vectors##_t sum[4][2];                                                                                     \
        for (int i = 0; i < 2 * count; i++) {                                                                      \
            int at = first + i / 2 * WIDTH;                                                                        \
            sum[i / 2][i % 2] = load_##vectors(product->c[at / PTX_WARP_LANES * 2 + i % 2] + at % PTX_WARP_LANES); \
        }                                                                                                          \
        for (int block = 0; block < product->blocks * per_block; block += per_block)                               \
            for (int t = 0; t < 4; t++)                                                                            \
                for (int plane = block; plane < block + per_block; plane++) {                                      \
                    const T *b = &product->b[plane][8 * (size_t)t];                                                \
                    vectors##_t even = tile_##vectors(b), odd = tile_##vectors(b + 4);                             \
                    for (int i = 0; i < count; i++) {                                                              \
                        vectors##_t a = spread_##vectors(&product->a[plane][first + i * WIDTH], t);                \
                        sum[i][0] = add_##products(a, even, sum[i][0]);                                            \
                        sum[i][1] = add_##products(a, odd, sum[i][1]);                                             \
                    }                                                                                              \
                }                                                                                                  \
        for (int i = 0; i < 2 * count; i++) {                                                                      \
            int at = first + i / 2 * WIDTH;                                                                        \
            store_##vectors(product->d[at / PTX_WARP_LANES * 2 + i % 2] + at % PTX_WARP_LANES, sum[i / 2][i % 2]); \
        }                                                                                                          \
    }                                                                                                              \
                                                                                                                   \
    static inline void multiply_in_blocks_##vectors(const vectors##_product_t *product, int per_block)             \
    {                                                                                                              \
        int first = 0, elements = product->row_groups * PTX_WARP_LANES;                                            \
        for (; first + 4 * WIDTH <= elements; first += 4 * WIDTH) /* four vectors keep both multipliers busy */    \
            multiply_some_##vectors(product, first, 4, per_block);                                                 \
        for (; first < elements; first += 2 * WIDTH)                                                               \
            multiply_some_##vectors(product, first, 2, per_block);                                                 \
    }                                                                                                              \
                                                                                                                   \
    /* The usual numbers of planes are compiled as constants, so that the loops are unrolled. */                   \
    static void multiply_##vectors(const vectors##_product_t *product)                                             \
    {                                                                                                              \
        if (product->per_block == 1)                                                                               \
            multiply_in_blocks_##vectors(product, 1);                                                              \
        else if (product->per_block == 2)                                                                          \
            multiply_in_blocks_##vectors(product, 2);                                                              \
        else                                                                                                       \
            multiply_in_blocks_##vectors(product, product->per_block);                                             \
    }
