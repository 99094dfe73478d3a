/* SPDX-License-Identifier: Apache-2.0 */
/* execute_atomic.c - atom and red. Lanes take part in the order of their numbers; blocks on other threads may take part at
 * the same time, so memory is changed by compare-and-exchange of the host. */
#include "emulator/execute/execute.h"
#include "emulator/execute/float_bits.h"
#include "emulator/ptx/atomic_operations.h"

/* Applies `expression` of the old value x, the operand y and, for cas, z. BITS is the unsigned type of the same size. */
#define ATOMIC(type, T, BITS, expression)                                                                             \
    static inline BITS combine_##type(BITS old, BITS operand, BITS third, int operation)                              \
    {                                                                                                                 \
        T x, y;                                                                                                       \
        BITS result;                                                                                                  \
        memcpy(&x, &old, sizeof x);                                                                                   \
        memcpy(&y, &operand, sizeof y);                                                                               \
        (void)third;                                                                                                  \
        (void)operation;                                                                                              \
        T value = (T)(expression);                                                                                    \
        memcpy(&result, &value, sizeof result);                                                                       \
        return result;                                                                                                \
    }                                                                                                                 \
    EXECUTOR(atomic_##type)                                                                                           \
    {                                                                                                                 \
        uint64_t address[PTX_WARP_LANES];                                                                             \
        unsigned char *pointer[PTX_WARP_LANES];                                                                       \
        BITS *d = instruction->operand[0] ? OPERAND(0) : NULL;                                                        \
        const BITS *b = OPERAND(2), *c = instruction->operand[3] ? OPERAND(3) : b;                                    \
        rungi_ptx_read_addresses(warp, instruction, 1, address);                                                      \
        mask = rungi_ptx_access(warp, instruction, mask, address, (int)sizeof(BITS), (ptx_space_t)instruction->space, \
                                PTX_ATOMIC, pointer);                                                                 \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {                                                           \
            if (!(mask >> lane & 1))                                                                                  \
                continue;                                                                                             \
            BITS *memory = (BITS *)(void *)pointer[lane], old = __atomic_load_n(memory, __ATOMIC_RELAXED);            \
            while (!__atomic_compare_exchange_n(memory, &old,                                                         \
                                                combine_##type(old, b[lane], c[lane], instruction->operation), false, \
                                                __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {                                \
            }                                                                                                         \
            if (d)                                                                                                    \
                d[lane] = old;                                                                                        \
        }                                                                                                             \
    }

#define INTEGER_RESULT(U)                                                \
    (operation == PTX_ATOMIC_ADD   ? (U)x + (U)y                         \
     : operation == PTX_ATOMIC_MIN ? (U)(x < y ? x : y)                  \
     : operation == PTX_ATOMIC_MAX ? (U)(x > y ? x : y)                  \
     : operation == PTX_ATOMIC_INC ? (x >= y ? 0 : (U)x + 1)             \
     : operation == PTX_ATOMIC_DEC ? (x == 0 || x > y ? (U)y : (U)x - 1) \
                                   : (U)x)
#define BITS_RESULT                             \
    (operation == PTX_ATOMIC_AND        ? x & y \
     : operation == PTX_ATOMIC_OR       ? x | y \
     : operation == PTX_ATOMIC_XOR      ? x ^ y \
     : operation == PTX_ATOMIC_EXCHANGE ? y     \
     : x == y                           ? third \
                                        : x)
ATOMIC(u32, uint32_t, uint32_t, INTEGER_RESULT(uint32_t))
ATOMIC(s32, int32_t, uint32_t, INTEGER_RESULT(uint32_t))
ATOMIC(u64, uint64_t, uint64_t, INTEGER_RESULT(uint64_t))
ATOMIC(s64, int64_t, uint64_t, INTEGER_RESULT(uint64_t))
ATOMIC(b16, uint16_t, uint16_t, BITS_RESULT)
ATOMIC(b32, uint32_t, uint32_t, BITS_RESULT)
ATOMIC(b64, uint64_t, uint64_t, BITS_RESULT)
ATOMIC(f32, float, uint32_t, x + y)
ATOMIC(f64, double, uint64_t, x + y)
ATOMIC(f16, uint16_t, uint16_t, f32_to_f16(f16_to_f32(x) + f16_to_f32(y)))
ATOMIC(bf16, uint16_t, uint16_t, f32_to_bf16(bf16_to_f32(x) + bf16_to_f32(y)))

static inline uint32_t add_f16_pair(uint32_t x, uint32_t y)
{
    uint32_t low = f32_to_f16(f16_to_f32((uint16_t)x) + f16_to_f32((uint16_t)y));
    return low | (uint32_t)f32_to_f16(f16_to_f32((uint16_t)(x >> 16)) + f16_to_f32((uint16_t)(y >> 16))) << 16;
}

static inline uint32_t add_bf16_pair(uint32_t x, uint32_t y)
{
    uint32_t low = f32_to_bf16(bf16_to_f32((uint16_t)x) + bf16_to_f32((uint16_t)y));
    return low | (uint32_t)f32_to_bf16(bf16_to_f32((uint16_t)(x >> 16)) + bf16_to_f32((uint16_t)(y >> 16))) << 16;
}
ATOMIC(f16x2, uint32_t, uint32_t, add_f16_pair(x, y))
ATOMIC(bf16x2, uint32_t, uint32_t, add_bf16_pair(x, y))

PTX_EXECUTORS(atomic) = {E(atomic_u32),  E(atomic_s32),   E(atomic_u64),    E(atomic_s64), E(atomic_b16),
                         E(atomic_b32),  E(atomic_b64),   E(atomic_f32),    E(atomic_f64), E(atomic_f16),
                         E(atomic_bf16), E(atomic_f16x2), E(atomic_bf16x2), {NULL, NULL}};
