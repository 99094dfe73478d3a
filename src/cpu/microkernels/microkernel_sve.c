/* SPDX-License-Identifier: Apache-2.0 */
/* microkernel_sve.c - micro-kernels for SVE: 12 rows of two vectors, 24 of 32 registers. The build compiles this file once per
 * vector length, with -msve-vector-bits, so that vectors have a constant size as those of other instruction sets. ISA is
 * sve256 or sve512. */
#include "cpu/microkernels/microkernel.h"

#include <arm_sve.h>

#define VECTOR_BYTES (__ARM_FEATURE_SVE_BITS / 8)
#define PACKED_VECTORS 2
#define IN_PLACE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#define PACKED_ROWS(X) IN_PLACE_ROWS(X)
#define PACKING_ROWS(X) X(8) X(9) X(10) X(11) X(12)
#define PACKED_A_ROWS(X)
#define HIDE_POINTER(pointer) __asm__("" : "+r"(pointer))
#define MASK svbool_t
#define MASK_OF(count) (sizeof(ACC) == 4 ? svwhilelt_b32_s64(0, count) : svwhilelt_b64_s64(0, count))

/* BROADCAST is assembly: GCC loads a scalar with an address of two registers, which the instruction lacks, and broadcasts it by
 * another instruction. ACCUMULATE: see microkernel_avx512.c. */
#define DEFINE_BROADCAST(type, element, instruction, suffix)                                                   \
    typedef element type##_broadcast_t __attribute__((vector_size(VECTOR_BYTES)));                             \
    static inline __attribute__((always_inline)) type##_broadcast_t type##_broadcast(const element *address)   \
    {                                                                                                          \
        type##_broadcast_t vector;                                                                             \
        __asm__(instruction " {%0." suffix "}, %1/z, %2" : "=w"(vector) : "Upl"(svptrue_b8()), "Q"(*address)); \
        return vector;                                                                                         \
    }
DEFINE_BROADCAST(f32, float, "ld1rw", "s")
DEFINE_BROADCAST(f64, double, "ld1rd", "d")
DEFINE_BROADCAST(i32, uint32_t, "ld1rw", "s")

/* ---- F32 ---------------------------------------------------------------------------------- */

#define TYPE f32
#define ACC float
#define LOAD_MASKED(address, mask) svld1_f32(mask, address)
#define STORE_MASKED(address, mask, value) svst1_f32(mask, address, (svfloat32_t)(value))
#define STORE_STREAMING(address, value) svstnt1_f32(svptrue_b32(), address, (svfloat32_t)(value))
#define BROADCAST(address) f32_broadcast(address)
#define ACCUMULATE(sum, x, y) __asm__("fmla %0.s, %3/m, %1.s, %2.s" : "+w"(sum) : "w"(x), "w"(y), "Upl"(svptrue_b8()))
#include "cpu/microkernels/microkernel_instances.h"

/* ---- F64 ---------------------------------------------------------------------------------- */

#define TYPE f64
#define ACC double
#define LOAD_MASKED(address, mask) svld1_f64(mask, address)
#define STORE_MASKED(address, mask, value) svst1_f64(mask, address, (svfloat64_t)(value))
#define STORE_STREAMING(address, value) svstnt1_f64(svptrue_b64(), address, (svfloat64_t)(value))
#define BROADCAST(address) f64_broadcast(address)
#define ACCUMULATE(sum, x, y) __asm__("fmla %0.d, %3/m, %1.d, %2.d" : "+w"(sum) : "w"(x), "w"(y), "Upl"(svptrue_b8()))
#include "cpu/microkernels/microkernel_instances.h"

/* ---- I32, modulo 2^32 ------------------------------------------------------------------------ */

#define TYPE i32
#define ACC uint32_t
#define LOAD_MASKED(address, mask) svld1_u32(mask, address)
#define STORE_MASKED(address, mask, value) svst1_u32(mask, address, (svuint32_t)(value))
#define STORE_STREAMING(address, value) svstnt1_u32(svptrue_b32(), address, (svuint32_t)(value))
#define SCALAR(value) (uint32_t)(int64_t)(value)
#define BROADCAST(address) i32_broadcast(address)
#include "cpu/microkernels/microkernel_instances.h"
