/* SPDX-License-Identifier: Apache-2.0 */
/* mma_vectors.h - multiplies matrices of mma.sync, with the vectors of each instruction set.
 *
 * A vector holds a column of A or C, that is 16 rows. So one k adds column k of A, times one element of row k of B, to each
 * column of C; the processor repeats that element as it loads it. The registers of A and C have rows g and g + 8 of words t,
 * with g = lane / 4 and t = lane % 4: split_words() sorts them to columns, and join_words() puts them back. The order of the
 * rows in a vector depends on the instruction set, but is the same for A and C. B is used in the order of its registers. */
#pragma once

#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"

/* Inlined whatever their size, because shapes are constants where they are called. */
#define MMA_INLINE static inline __attribute__((always_inline))

enum { MMA_ROWS = 16, MMA_COLUMNS = 8, MMA_DEPTH_MAX = 32 };

/* ---- Columns of words ---------------------------------------------------------------------------------------------- */

#if defined(__AVX512F__)
/* Transposes the four words of each 128-bit lane of four vectors. */
static inline void transpose_words(__m512i v[4])
{
    __m512i low01 = _mm512_unpacklo_epi32(v[0], v[1]), high01 = _mm512_unpackhi_epi32(v[0], v[1]);
    __m512i low23 = _mm512_unpacklo_epi32(v[2], v[3]), high23 = _mm512_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm512_unpacklo_epi64(low01, low23);
    v[1] = _mm512_unpackhi_epi64(low01, low23);
    v[2] = _mm512_unpacklo_epi64(high01, high23);
    v[3] = _mm512_unpackhi_epi64(high01, high23);
}

/* Sorts the registers of rows 0 to 7 and 8 to 15 to four columns. */
MMA_INLINE void split_words(const uint32_t *low, const uint32_t *high, uint32_t *to)
{
    __m512i v[4] = {_mm512_loadu_si512(low), _mm512_loadu_si512(low + 16), _mm512_loadu_si512(high),
                    _mm512_loadu_si512(high + 16)};
    transpose_words(v);
    for (int t = 0; t < 4; t++)
        _mm512_storeu_si512(to + MMA_ROWS * t, v[t]);
}

/* The inverse of split_words(). */
MMA_INLINE void join_words(const uint32_t *from, uint32_t *low, uint32_t *high)
{
    __m512i v[4];
    for (int t = 0; t < 4; t++)
        v[t] = _mm512_loadu_si512(from + MMA_ROWS * t);
    transpose_words(v);
    _mm512_storeu_si512(low, v[0]);
    _mm512_storeu_si512(low + 16, v[1]);
    _mm512_storeu_si512(high, v[2]);
    _mm512_storeu_si512(high + 16, v[3]);
}
#elif defined(__AVX2__)
static inline void transpose_words(__m256i v[4])
{
    __m256i low01 = _mm256_unpacklo_epi32(v[0], v[1]), high01 = _mm256_unpackhi_epi32(v[0], v[1]);
    __m256i low23 = _mm256_unpacklo_epi32(v[2], v[3]), high23 = _mm256_unpackhi_epi32(v[2], v[3]);
    v[0] = _mm256_unpacklo_epi64(low01, low23);
    v[1] = _mm256_unpackhi_epi64(low01, low23);
    v[2] = _mm256_unpacklo_epi64(high01, high23);
    v[3] = _mm256_unpackhi_epi64(high01, high23);
}

MMA_INLINE void split_words(const uint32_t *low, const uint32_t *high, uint32_t *to)
{
    for (int half = 0; half < 2; half++) {
        __m256i v[4];
        for (int i = 0; i < 4; i++)
            v[i] = _mm256_loadu_si256((const __m256i *)(const void *)((half ? high : low) + 8 * i));
        transpose_words(v);
        for (int t = 0; t < 4; t++)
            _mm256_storeu_si256((__m256i *)(void *)(to + MMA_ROWS * t + 8 * half), v[t]);
    }
}

MMA_INLINE void join_words(const uint32_t *from, uint32_t *low, uint32_t *high)
{
    for (int half = 0; half < 2; half++) {
        __m256i v[4];
        for (int t = 0; t < 4; t++)
            v[t] = _mm256_loadu_si256((const __m256i *)(const void *)(from + MMA_ROWS * t + 8 * half));
        transpose_words(v);
        for (int i = 0; i < 4; i++)
            _mm256_storeu_si256((__m256i *)(void *)((half ? high : low) + 8 * i), v[i]);
    }
}
#else
MMA_INLINE void split_words(const uint32_t *low, const uint32_t *high, uint32_t *to)
{
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        to[lane % 4 * MMA_ROWS + lane / 4] = low[lane];
        to[lane % 4 * MMA_ROWS + lane / 4 + 8] = high[lane];
    }
}

MMA_INLINE void join_words(const uint32_t *from, uint32_t *low, uint32_t *high)
{
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        low[lane] = from[lane % 4 * MMA_ROWS + lane / 4];
        high[lane] = from[lane % 4 * MMA_ROWS + lane / 4 + 8];
    }
}
#endif

/* Sorts a column of words to the columns of their elements: `per_word` columns of MMA_ROWS elements. */
MMA_INLINE void split_elements(uint32_t words[MMA_ROWS], int per_word)
{
#ifdef __AVX512BW__
    if (per_word == 2) {
        static const uint16_t order[] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                         1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
        _mm512_storeu_si512(words, _mm512_permutexvar_epi16(_mm512_loadu_si512(order), _mm512_loadu_si512(words)));
        return;
    }
#endif
    uint32_t copy[MMA_ROWS];
    memcpy(copy, words, sizeof copy);
    if (per_word == 2) {
        uint16_t *halves = (uint16_t *)(void *)words;
        for (int row = 0; row < MMA_ROWS; row++) {
            halves[row] = (uint16_t)copy[row];
            halves[MMA_ROWS + row] = (uint16_t)(copy[row] >> 16);
        }
    } else if (per_word == 4) {
        uint8_t *bytes = (uint8_t *)(void *)words;
        for (int i = 0; i < 4 * MMA_ROWS; i++)
            bytes[i] = (uint8_t)(copy[i % MMA_ROWS] >> 8 * (i / MMA_ROWS));
    }
}

/* ---- Single precision ----------------------------------------------------------------------------------------------- */

#if defined(__AVX512F__)
enum { FLOATS = 16 };
typedef __m512 floats_t;

static inline floats_t load_floats(const float *from)
{
    return _mm512_loadu_ps(from);
}

static inline void store_floats(float *to, floats_t value)
{
    _mm512_storeu_ps(to, value);
}

static inline floats_t add_float_products(floats_t a, const float *b, floats_t sum)
{
    return _mm512_fmadd_ps(a, _mm512_set1_ps(*b), sum);
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
    _mm256_storeu_ps(to, value);
}

static inline floats_t add_float_products(floats_t a, const float *b, floats_t sum)
{
    return _mm256_fmadd_ps(a, _mm256_broadcast_ss(b), sum);
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
    memcpy(to, &value, sizeof value);
}

static inline floats_t add_float_products(floats_t a, const float *b, floats_t sum)
{
    for (int i = 0; i < FLOATS; i++)
        sum.lane[i] = fmaf(a.lane[i], *b, sum.lane[i]);
    return sum;
}
#endif

/* ---- Double precision ----------------------------------------------------------------------------------------------- */

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

static inline doubles_t add_double_products(doubles_t a, const double *b, doubles_t sum)
{
    return _mm512_fmadd_pd(a, _mm512_set1_pd(*b), sum);
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

static inline doubles_t add_double_products(doubles_t a, const double *b, doubles_t sum)
{
    return _mm256_fmadd_pd(a, _mm256_broadcast_sd(b), sum);
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

static inline doubles_t add_double_products(doubles_t a, const double *b, doubles_t sum)
{
    for (int i = 0; i < DOUBLES; i++)
        sum.lane[i] = fma(a.lane[i], *b, sum.lane[i]);
    return sum;
}
#endif

/* ---- Integers: an element is a pair of 16-bit numbers --------------------------------------------------------------- */

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

static inline pairs_t add_pair_products(pairs_t a, const int32_t *b, pairs_t sum)
{
#ifdef __AVX512VNNI__
    return _mm512_dpwssd_epi32(sum, a, _mm512_set1_epi32(*b));
#else
    return _mm512_add_epi32(_mm512_madd_epi16(a, _mm512_set1_epi32(*b)), sum);
#endif
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

static inline pairs_t add_pair_products(pairs_t a, const int32_t *b, pairs_t sum)
{
    return _mm256_add_epi32(_mm256_madd_epi16(a, _mm256_set1_epi32(*b)), sum);
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

static inline pairs_t add_pair_products(pairs_t a, const int32_t *b, pairs_t sum)
{
    for (int i = 0; i < PAIRS; i++) {
        int32_t low = (int16_t)a.lane[i] * (int16_t)*b;
        int32_t high = (a.lane[i] >> 16) * (*b >> 16);
        sum.lane[i] = (int32_t)((uint32_t)sum.lane[i] + (uint32_t)low + (uint32_t)high);
    }
    return sum;
}
#endif

/* ---- Integers: an element is four bytes, unsigned ones of A and signed ones of B ------------------------------------ */

#ifdef __AVX512VNNI__
enum { QUADS = 16 };
typedef __m512i quads_t;

static inline quads_t load_quads(const int32_t *from)
{
    return _mm512_loadu_si512(from);
}

static inline void store_quads(int32_t *to, quads_t value)
{
    _mm512_storeu_si512(to, value);
}

static inline quads_t add_quad_products(quads_t a, const int32_t *b, quads_t sum)
{
    return _mm512_dpbusd_epi32(sum, a, _mm512_set1_epi32(*b));
}
#endif

/* ---- Products ------------------------------------------------------------------------------------------------------- */

/* Column of C that vector v of a product holds: registers of C have columns 2 * t, the next ones 2 * t + 1. */
#define MMA_COLUMN(v) ((v) % 4 * 2 + (v) / 4)

/* Defines a product of matrices with elements of type T and its function multiply_<vectors>(), which adds to C the product of
 * A, whose columns are consecutive, and B. Products are added in the order of k. */
#define MMA_PRODUCT(T, vectors, products, WIDTH)                                                                     \
    typedef struct vectors##_product {                                                                               \
        _Alignas(                                                                                                    \
            PTX_LANE_ARRAY_ALIGNMENT) T b[MMA_DEPTH_MAX * MMA_COLUMNS]; /* per block: columns of `depth` elements */ \
        T c[MMA_COLUMNS][MMA_ROWS];                                     /* see MMA_COLUMN() */                       \
    } vectors##_product_t;                                                                                           \
                                                                                                                     \
    /* Computes WIDTH rows, from `first` on. */                                                                      \
    MMA_INLINE void multiply_rows_##vectors(vectors##_product_t *product, const T *a, int first, int blocks,         \
                                            int depth)                                                               \
    {                                                                                                                \
        vectors##_t sum[MMA_COLUMNS];                                                                                \
        const T *b = product->b;                                                                                     \
        for (int v = 0; v < MMA_COLUMNS; v++)                                                                        \
            sum[v] = load_##vectors(&product->c[v][first]);                                                          \
        for (int block = 0; block < blocks; block++, b += MMA_COLUMNS * (ptrdiff_t)depth)                            \
            for (int k = 0; k < depth; k++, a += MMA_ROWS) {                                                         \
                vectors##_t column = load_##vectors(a + first);                                                      \
                for (int v = 0; v < MMA_COLUMNS; v++)                                                                \
                    sum[v] = add_##products(column, b + (size_t)(MMA_COLUMN(v) * depth + k), sum[v]);                \
            }                                                                                                        \
        for (int v = 0; v < MMA_COLUMNS; v++)                                                                        \
            store_##vectors(&product->c[v][first], sum[v]);                                                          \
    }                                                                                                                \
                                                                                                                     \
    MMA_INLINE void multiply_##vectors(vectors##_product_t *product, const T *a, int blocks, int depth)              \
    {                                                                                                                \
        for (int first = 0; first < MMA_ROWS; first += WIDTH)                                                        \
            multiply_rows_##vectors(product, a, first, blocks, depth);                                               \
    }
