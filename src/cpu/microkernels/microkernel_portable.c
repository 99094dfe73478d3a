/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_portable.c - micro-kernels for any processor, with 16-byte vectors of the compiler (NEON on AArch64, SSE2 on
 * x86-64), and the selection of a table. */
#include "cpu/microkernels/microkernel.h"

#define ISA portable
#define VECTOR_BYTES 16
#define HIDE_POINTER(pointer) (void)(pointer)
#define MASK int64_t
#define MASK_OF(count) (count)

/* As many rows as fit the registers: 32 on AArch64, 16 elsewhere. */
#if defined(__aarch64__)
#define IN_PLACE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define PACKING_ROWS(X) X(8)
#else
#define IN_PLACE_ROWS(X) X(1) X(2) X(3) X(4)
#define PACKING_ROWS(X) X(4)
#endif
#define PACKED_VECTORS 2
#define PACKED_ROWS(X) IN_PLACE_ROWS(X)
#define PACKED_A_ROWS(X)

/* Defines partial loads and stores. They have neither loop nor call, so that sums stay in registers. */
#define DEFINE_PARTIAL_ACCESS(type, element, lanes)                                                                  \
    typedef element type##_partial_t __attribute__((vector_size(16)));                                               \
    static inline __attribute__((always_inline)) type##_partial_t type##_load(const element *address, int64_t count) \
    {                                                                                                                \
        type##_partial_t vector = {address[0]};                                                                      \
        if (count > 1)                                                                                               \
            vector[1] = address[1];                                                                                  \
        if (lanes > 2 && count > 2)                                                                                  \
            vector[2 % lanes] = address[2];                                                                          \
        if (lanes > 2 && count > 3)                                                                                  \
            vector[3 % lanes] = address[3];                                                                          \
        return vector;                                                                                               \
    }                                                                                                                \
    static inline                                                                                                    \
        __attribute__((always_inline)) void type##_store(element *address, int64_t count, type##_partial_t vector)   \
    {                                                                                                                \
        address[0] = vector[0];                                                                                      \
        if (count > 1)                                                                                               \
            address[1] = vector[1];                                                                                  \
        if (lanes > 2 && count > 2)                                                                                  \
            address[2] = vector[2 % lanes];                                                                          \
        if (lanes > 2 && count > 3)                                                                                  \
            address[3] = vector[3 % lanes];                                                                          \
    }

DEFINE_PARTIAL_ACCESS(f32, float, 4)
DEFINE_PARTIAL_ACCESS(f64, double, 2)
DEFINE_PARTIAL_ACCESS(i32, uint32_t, 4)

/* ---- F32 ---- */
#define TYPE f32
#define ACC float
#define LOAD_MASKED(address, mask) f32_load(address, mask)
#define STORE_MASKED(address, mask, value) f32_store(address, mask, value)
#define STORE_STREAMING(address, value) STORE(address, value)
#include "cpu/microkernels/microkernel_instances.h"

/* ---- F64 ---- */
#define TYPE f64
#define ACC double
#define LOAD_MASKED(address, mask) f64_load(address, mask)
#define STORE_MASKED(address, mask, value) f64_store(address, mask, value)
#define STORE_STREAMING(address, value) STORE(address, value)
#include "cpu/microkernels/microkernel_instances.h"

/* ---- I32, modulo 2^32 ---- */
#define TYPE i32
#define ACC uint32_t
#define LOAD_MASKED(address, mask) i32_load(address, mask)
#define STORE_MASKED(address, mask, value) i32_store(address, mask, value)
#define STORE_STREAMING(address, value) STORE(address, value)
#define SCALAR(value) (uint32_t)(int64_t)(value)
#include "cpu/microkernels/microkernel_instances.h"

/* ---- Selection ---- */

#if defined(__x86_64__)
#define SELECT_TABLE(type)                                                 \
    (features->isa >= RUNGI_ISA_AVX512 ? &rungi_microkernels_avx512_##type \
     : features->isa == RUNGI_ISA_AVX2 ? &rungi_microkernels_avx2_##type   \
                                       : &rungi_microkernels_portable_##type)
#elif defined(RUNGI_HAS_SVE)
#define SELECT_TABLE(type)                                           \
    (features->sve_bytes == 64   ? &rungi_microkernels_sve512_##type \
     : features->sve_bytes == 32 ? &rungi_microkernels_sve256_##type \
                                 : &rungi_microkernels_portable_##type)
#else
#define SELECT_TABLE(type) (&rungi_microkernels_portable_##type)
#endif

const rungi_microkernel_table *rungi_microkernel_table_select(const rungi_cpu_features *features, rung_type sum)
{
    (void)features;
    switch (sum) {
    case RUNG_F64: return SELECT_TABLE(f64);
    case RUNG_I32: return SELECT_TABLE(i32);
    default: return SELECT_TABLE(f32);
    }
}
