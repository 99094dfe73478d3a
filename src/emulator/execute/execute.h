/* SPDX-License-Identifier: Apache-2.0 */
/* execute.h - what the files of executors share.
 *
 * These files are compiled once per instruction set of the host; PTX_VARIANT is the suffix of their tables. An executor
 * computes all lanes of one instruction. The operands of different lanes never overlap except lane by lane, so loops over
 * lanes may be vectorized. The files are compiled without strict aliasing: a register has no type. */
#pragma once

#include <string.h>

#include "emulator/machine/machine.h"

typedef struct ptx_executor {
    const char *name;
    ptx_execute_fn execute;
} ptx_executor_t;

#define PTX_JOIN_(a, b) a##_##b
#define PTX_JOIN(a, b) PTX_JOIN_(a, b)
/* Begins the table of a file: a list of E(name) that ends with {NULL, NULL}. */
#define PTX_EXECUTORS(file) const ptx_executor_t PTX_JOIN(rungi_ptx_executors_##file, PTX_VARIANT)[]
#define E(name)               \
    {                         \
#name, execute_##name \
    }

#define EXECUTOR(name) static void execute_##name(ptx_warp_t *warp, const ptx_instruction_t *instruction, uint32_t mask)

/* The lane array of operand `index`. */
#define OPERAND(index) rungi_ptx_lanes(warp, instruction->operand[index])

#ifdef __clang__
#define PTX_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define PTX_INDEPENDENT _Pragma("GCC ivdep")
#endif

#if defined(__AVX512DQ__) || defined(__AVX2__)
#include <immintrin.h>
#endif

/* Returns a mask with the bit of each lane whose flag is all ones. Flags are 0 or all ones. */
static inline uint32_t mask_of(const uint32_t flags[PTX_WARP_LANES])
{
#if defined(__AVX512DQ__)
    uint32_t low = _mm512_movepi32_mask(_mm512_loadu_si512(flags));
    return low | (uint32_t)_mm512_movepi32_mask(_mm512_loadu_si512(flags + 16)) << 16;
#elif defined(__AVX2__)
    uint32_t mask = 0;
    for (int i = 0; i < 4; i++)
        mask |= (uint32_t)_mm256_movemask_ps(_mm256_loadu_ps((const float *)(const void *)(flags + 8 * i))) << 8 * i;
    return mask;
#else
    uint32_t mask = 0;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        mask |= (flags[lane] & 1) << lane;
    return mask;
#endif
}

/* Computes the addresses of all lanes from operand `index`, whose registers have 4 or 8 bytes, and an offset. */
static inline void rungi_ptx_compute_addresses(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int index,
                                               int register_bytes, int64_t offset, uint64_t address[PTX_WARP_LANES])
{
    if (instruction->flags & PTX_FLAG_LOCAL_SYMBOL)
        offset += warp->frame->local_base;
    if (instruction->operand[index] == 0) {
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            address[lane] = (uint64_t)offset;
    } else if (register_bytes == 8) {
        const uint64_t *base = OPERAND(index);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            address[lane] = base[lane] + (uint64_t)offset;
    } else {
        const uint32_t *base = OPERAND(index);
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)
            address[lane] = (uint32_t)(base[lane] + (uint32_t)offset);
    }
}

/* Does so with the address register and the offset of a memory instruction. */
static inline void rungi_ptx_read_addresses(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int index,
                                            uint64_t address[PTX_WARP_LANES])
{
    rungi_ptx_compute_addresses(warp, instruction, index, instruction->address_bytes, instruction->offset, address);
}

/* Repeats the statement for each lane of the mask. The case of all lanes is a loop that the compiler vectorizes. */
#define FOR_LANES(...)                                      \
    if (mask == ~0u) {                                      \
        PTX_INDEPENDENT                                     \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) { \
            __VA_ARGS__;                                    \
        }                                                   \
    } else {                                                \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++)   \
            if (mask >> lane & 1) {                         \
                __VA_ARGS__;                                \
            }                                               \
    }

/* Executors of one, two and three sources x, y, z of types A, B, C, and a destination of type D. */
#define UNARY(name, D, A, expression)                       \
    EXECUTOR(name)                                          \
    {                                                       \
        D *d = OPERAND(0);                                  \
        const A *a = OPERAND(1);                            \
        (void)instruction;                                  \
        FOR_LANES(A x = a[lane]; d[lane] = (D)(expression)) \
    }

#define BINARY(name, D, A, B, expression)                                  \
    EXECUTOR(name)                                                         \
    {                                                                      \
        D *d = OPERAND(0);                                                 \
        const A *a = OPERAND(1);                                           \
        const B *b = OPERAND(2);                                           \
        (void)instruction;                                                 \
        FOR_LANES(A x = a[lane]; B y = b[lane]; d[lane] = (D)(expression)) \
    }

#define TERNARY(name, D, A, B, C, expression)                                             \
    EXECUTOR(name)                                                                        \
    {                                                                                     \
        D *d = OPERAND(0);                                                                \
        const A *a = OPERAND(1);                                                          \
        const B *b = OPERAND(2);                                                          \
        const C *c = OPERAND(3);                                                          \
        (void)instruction;                                                                \
        FOR_LANES(A x = a[lane]; B y = b[lane]; C z = c[lane]; d[lane] = (D)(expression)) \
    }
