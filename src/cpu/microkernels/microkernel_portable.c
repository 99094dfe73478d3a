/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_portable.c - micro-kernels for any processor, with 16-byte vectors of the compiler (NEON on AArch64, SSE2 on
 * x86-64), and the selection of a table. */
#include "cpu/microkernels/microkernel.h"

#include <stddef.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define HIDE_POINTER(pointer) (void)(pointer)

/* As many rows as fit the registers: 32 on AArch64, 16 elsewhere. */
#if defined(__aarch64__)
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define LARGE_ROW_COUNTS(X) X(8)
#else
#define ROW_COUNTS(X) X(1) X(2) X(3) X(4)
#define LARGE_ROW_COUNTS(X) X(4)
#endif

/* Partial loads and stores have neither loop nor call, so that sums stay in registers. */
#define DEFINE_VECTOR(name, type, lanes)                                \
    typedef type name __attribute__((vector_size(16)));                 \
    INLINE name name##_load(const type *address, int64_t count)         \
    {                                                                   \
        name vector = {address[0]};                                     \
        if (count > 1)                                                  \
            vector[1] = address[1];                                     \
        if (lanes > 2 && count > 2)                                     \
            vector[2 % lanes] = address[2];                             \
        if (lanes > 2 && count > 3)                                     \
            vector[3 % lanes] = address[3];                             \
        return vector;                                                  \
    }                                                                   \
    INLINE name name##_load_all(const type *address)                    \
    {                                                                   \
        name vector;                                                    \
        memcpy(&vector, address, sizeof vector);                        \
        return vector;                                                  \
    }                                                                   \
    INLINE void name##_store_all(type *address, name vector)            \
    {                                                                   \
        memcpy(address, &vector, sizeof vector);                        \
    }                                                                   \
    INLINE void name##_store(type *address, int64_t count, name vector) \
    {                                                                   \
        address[0] = vector[0];                                         \
        if (count > 1)                                                  \
            address[1] = vector[1];                                     \
        if (lanes > 2 && count > 2)                                     \
            address[2] = vector[2 % lanes];                             \
        if (lanes > 2 && count > 3)                                     \
            address[3] = vector[3 % lanes];                             \
    }                                                                   \
    INLINE name name##_each(type value)                                 \
    {                                                                   \
        name vector;                                                    \
        for (int i = 0; i < lanes; i++)                                 \
            vector[i] = value;                                          \
        return vector;                                                  \
    }

DEFINE_VECTOR(f32x4, float, 4)
DEFINE_VECTOR(f64x2, double, 2)
DEFINE_VECTOR(u32x4, uint32_t, 4)

/* ---- F32 ---- */
#define ACC float
#define VECTOR f32x4
#define LANES 4
#define MASK int64_t
#define MASK_OF(count) (count)
#define LOAD(address) f32x4_load_all(address)
#define LOAD_MASKED(address, mask) f32x4_load(address, mask)
#define STORE(address, value) f32x4_store_all(address, value)
#define STORE_MASKED(address, mask, value) f32x4_store(address, mask, value)
#define STORE_STREAMING(address, value) f32x4_store_all(address, value)
#define BROADCAST(address) f32x4_each(*(address))
#define SPLAT(value) f32x4_each(value)
#define SCALAR(value) (float)(value)
#define ZERO() f32x4_each(0)
#define TIMES(x, y) ((x) * (y))
#define PLUS_TIMES(x, y, z) ((x) * (y) + (z))
#define ACCUMULATE(sum, x, y) sum += (x) * (y)
#define PANEL_FUNCTION f32_panel
#define BODY_FUNCTION f32
#define TABLE rungi_microkernels_portable_f32
#include "cpu/microkernels/microkernel_instances.h"

/* ---- F64 ---- */
#define ACC double
#define VECTOR f64x2
#define LANES 2
#define MASK int64_t
#define MASK_OF(count) (count)
#define LOAD(address) f64x2_load_all(address)
#define LOAD_MASKED(address, mask) f64x2_load(address, mask)
#define STORE(address, value) f64x2_store_all(address, value)
#define STORE_MASKED(address, mask, value) f64x2_store(address, mask, value)
#define STORE_STREAMING(address, value) f64x2_store_all(address, value)
#define BROADCAST(address) f64x2_each(*(address))
#define SPLAT(value) f64x2_each(value)
#define SCALAR(value) (double)(value)
#define ZERO() f64x2_each(0)
#define TIMES(x, y) ((x) * (y))
#define PLUS_TIMES(x, y, z) ((x) * (y) + (z))
#define ACCUMULATE(sum, x, y) sum += (x) * (y)
#define PANEL_FUNCTION f64_panel
#define BODY_FUNCTION f64
#define TABLE rungi_microkernels_portable_f64
#include "cpu/microkernels/microkernel_instances.h"

/* ---- I32 ---- */
#define ACC uint32_t
#define VECTOR u32x4
#define LANES 4
#define MASK int64_t
#define MASK_OF(count) (count)
#define LOAD(address) u32x4_load_all(address)
#define LOAD_MASKED(address, mask) u32x4_load(address, mask)
#define STORE(address, value) u32x4_store_all(address, value)
#define STORE_MASKED(address, mask, value) u32x4_store(address, mask, value)
#define STORE_STREAMING(address, value) u32x4_store_all(address, value)
#define BROADCAST(address) u32x4_each(*(address))
#define SPLAT(value) u32x4_each(value)
#define SCALAR(value) (uint32_t)(int64_t)(value)
#define ZERO() u32x4_each(0)
#define TIMES(x, y) ((x) * (y))
#define PLUS_TIMES(x, y, z) ((x) * (y) + (z))
#define ACCUMULATE(sum, x, y) sum += (x) * (y)
#define PANEL_FUNCTION i32_panel
#define BODY_FUNCTION i32
#define TABLE rungi_microkernels_portable_i32
#include "cpu/microkernels/microkernel_instances.h"

/* ---- Selection ---- */

#if defined(__x86_64__)
#define SELECT_TABLE(type)                                       \
    (isa >= RUNGI_ISA_AVX512 ? &rungi_microkernels_avx512_##type \
     : isa == RUNGI_ISA_AVX2 ? &rungi_microkernels_avx2_##type   \
                             : &rungi_microkernels_portable_##type)
#else
#define SELECT_TABLE(type) ((void)isa, &rungi_microkernels_portable_##type)
#endif

const rungi_microkernel_table *rungi_microkernel_table_select(rungi_isa isa, rung_type sum)
{
    switch (sum) {
    case RUNG_F64: return SELECT_TABLE(f64);
    case RUNG_I32: return SELECT_TABLE(i32);
    default: return SELECT_TABLE(f32);
    }
}
