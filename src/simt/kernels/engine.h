/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - a warp before a matrix engine, for 11 and 12.
 *
 *   ENGINE_ARGUMENT   the end of a kernel's arguments
 *   engine_t          one at a kernel's top, made by engine_of()
 *   AS_TF32           1 if A and B are FP32, which engines multiply as TF32, and then
 *   tf32_of(bits)     the nearest of those
 *
 * Where there is no such engine, the instructions run in software. Lanes then exchange what
 * they hold through global memory that the host gives (the argument), behind barriers that
 * order nothing else: a __syncthreads() that is missing is still found missing. This serves
 * verification alone.
 */
#ifndef RUNG_ENGINE_H
#define RUNG_ENGINE_H

#if !defined(IN_F16) && !defined(IN_BF16) && !defined(IN_I8)
#define AS_TF32 1
#else
#define AS_TF32 0
#endif

#ifdef __OPENCL_C_VERSION__

/* Words a lane may publish: the host gives so many for each thread. */
#define ENGINE_WORDS 64

#define ENGINE_ARGUMENT , GLOBAL uint *scratch
#define engine_of(extra, threads) engine_in(scratch, extra, threads)

typedef struct {
    uint         lane;
    GLOBAL uint *words; /* of the warp, ENGINE_WORDS a lane */
} engine_t;

DEVICE engine_t engine_in(GLOBAL uint *scratch, extra_t extra, uint threads)
{
    engine_t engine;
    const index_t block = ((index_t)get_group_id(2) * get_num_groups(1) + get_group_id(1)) *
                              get_num_groups(0) + get_group_id(0);
    engine.lane = threadIdx.x % 32;
    engine.words = scratch + extra.scratch_offset +
                   (block * threads + (threadIdx.x - engine.lane)) * ENGINE_WORDS;
    return engine;
}

/* To 11 bits, away from zero on a tie; an infinity or a NaN stays one. */
DEVICE uint tf32_of(uint bits)
{
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return bits & 0x007fffffu ? bits | 0x00400000u : bits;
    return bits + 0x1000u & 0xffffe000u;
}

#else /* CUDA */

#define ENGINE_ARGUMENT
#define engine_of(extra, threads) engine_here()

typedef struct {
    uint lane;
} engine_t;

DEVICE engine_t engine_here()
{
    engine_t engine;
    engine.lane = threadIdx.x % 32;
    return engine;
}

DEVICE uint tf32_of(uint bits)
{
    uint rounded = bits;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(bits)));
#endif
    return rounded;
}

#endif

#endif /* RUNG_ENGINE_H */
