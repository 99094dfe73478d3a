/* SPDX-License-Identifier: Apache-2.0 */
/* tile_portable.c - tiles of C for any processor, in the compiler's own vectors of 16 bytes:
 * NEON on AArch64, SSE2 on x86-64, plain numbers where there is nothing else. And the choice
 * among all tables. */
#include "cpu/tile.h"

#include <stddef.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define KEEP_APART(pointer) (void)(pointer)

/* Rows for which there are registers, of 32 there and of 16 elsewhere, and no more code than need be. */
#if defined(__aarch64__)
#define ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define MANY_ROWS(X) X(8)
#else
#define ROWS(X) X(1) X(2) X(3) X(4)
#define MANY_ROWS(X) X(4)
#endif

/* The first few lanes, without a loop and without a call: the sums stay in their registers. */
#define VECTOR_OF(name, type, lanes)                                  \
    typedef type name __attribute__((vector_size(16)));               \
    INLINE name name##_load(const type *place, int64_t count)         \
    {                                                                 \
        name vector = {place[0]};                                     \
        if (count > 1)                                                \
            vector[1] = place[1];                                     \
        if (lanes > 2 && count > 2)                                   \
            vector[2 % lanes] = place[2];                             \
        if (lanes > 2 && count > 3)                                   \
            vector[3 % lanes] = place[3];                             \
        return vector;                                                \
    }                                                                 \
    INLINE name name##_load_all(const type *place)                    \
    {                                                                 \
        name vector;                                                  \
        memcpy(&vector, place, sizeof vector);                        \
        return vector;                                                \
    }                                                                 \
    INLINE void name##_store_all(type *place, name vector)            \
    {                                                                 \
        memcpy(place, &vector, sizeof vector);                        \
    }                                                                 \
    INLINE void name##_store(type *place, int64_t count, name vector) \
    {                                                                 \
        place[0] = vector[0];                                         \
        if (count > 1)                                                \
            place[1] = vector[1];                                     \
        if (lanes > 2 && count > 2)                                   \
            place[2] = vector[2 % lanes];                             \
        if (lanes > 2 && count > 3)                                   \
            place[3] = vector[3 % lanes];                             \
    }                                                                 \
    INLINE name name##_each(type value)                               \
    {                                                                 \
        name vector;                                                  \
        for (int i = 0; i < lanes; i++)                               \
            vector[i] = value;                                        \
        return vector;                                                \
    }

VECTOR_OF(floats, float, 4)
VECTOR_OF(doubles, double, 2)
VECTOR_OF(wholes, uint32_t, 4)

/* ---- F32 ---- */
#define SUM float
#define VECTOR floats
#define LANES 4
#define MASK int64_t
#define MASK_OF(count) (count)
#define LOAD(place) floats_load_all(place)
#define LOAD_SOME(place, mask) floats_load(place, mask)
#define STORE(place, value) floats_store_all(place, value)
#define STORE_SOME(place, mask, value) floats_store(place, mask, value)
#define STREAM(place, value) floats_store_all(place, value)
#define ALL(place) floats_each(*(place))
#define EACH(value) floats_each(value)
#define SCALAR(value) (float)(value)
#define ZERO() floats_each(0)
#define TIMES(x, y) ((x) * (y))
#define PLUS_TIMES(x, y, z) ((x) * (y) + (z))
#define ACCUMULATE(sum, x, y) sum += (x) * (y)
#define PANEL f32_panel
#define BODY f32
#define TABLE rungi_tiles_portable_f32
#include "cpu/tile_list.h"

/* ---- F64 ---- */
#define SUM double
#define VECTOR doubles
#define LANES 2
#define MASK int64_t
#define MASK_OF(count) (count)
#define LOAD(place) doubles_load_all(place)
#define LOAD_SOME(place, mask) doubles_load(place, mask)
#define STORE(place, value) doubles_store_all(place, value)
#define STORE_SOME(place, mask, value) doubles_store(place, mask, value)
#define STREAM(place, value) doubles_store_all(place, value)
#define ALL(place) doubles_each(*(place))
#define EACH(value) doubles_each(value)
#define SCALAR(value) (double)(value)
#define ZERO() doubles_each(0)
#define TIMES(x, y) ((x) * (y))
#define PLUS_TIMES(x, y, z) ((x) * (y) + (z))
#define ACCUMULATE(sum, x, y) sum += (x) * (y)
#define PANEL f64_panel
#define BODY f64
#define TABLE rungi_tiles_portable_f64
#include "cpu/tile_list.h"

/* ---- I32 ---- */
#define SUM uint32_t
#define VECTOR wholes
#define LANES 4
#define MASK int64_t
#define MASK_OF(count) (count)
#define LOAD(place) wholes_load_all(place)
#define LOAD_SOME(place, mask) wholes_load(place, mask)
#define STORE(place, value) wholes_store_all(place, value)
#define STORE_SOME(place, mask, value) wholes_store(place, mask, value)
#define STREAM(place, value) wholes_store_all(place, value)
#define ALL(place) wholes_each(*(place))
#define EACH(value) wholes_each(value)
#define SCALAR(value) (uint32_t)(int64_t)(value)
#define ZERO() wholes_each(0)
#define TIMES(x, y) ((x) * (y))
#define PLUS_TIMES(x, y, z) ((x) * (y) + (z))
#define ACCUMULATE(sum, x, y) sum += (x) * (y)
#define PANEL i32_panel
#define BODY i32
#define TABLE rungi_tiles_portable_i32
#include "cpu/tile_list.h"

/* ---- The choice ---- */

#if defined(__x86_64__)
#define CHOOSE(type)                                      \
    (isa >= RUNGI_ISA_AVX512 ? &rungi_tiles_avx512_##type \
     : isa == RUNGI_ISA_AVX2 ? &rungi_tiles_avx2_##type   \
                             : &rungi_tiles_portable_##type)
#else
#define CHOOSE(type) ((void)isa, &rungi_tiles_portable_##type)
#endif

const rungi_tiles *rungi_tiles_of(rungi_isa isa, rung_type sum)
{
    switch (sum) {
    case RUNG_F64: return CHOOSE(f64);
    case RUNG_I32: return CHOOSE(i32);
    default: return CHOOSE(f32);
    }
}
