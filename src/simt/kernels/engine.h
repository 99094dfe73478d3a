/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h - a warp's access to the matrix engine (tensor cores), for 11_wmma and 12_matrix.
 *
 *   ENGINE_ARGUMENT   ends the argument list of a kernel
 *   engine_t          one per kernel, created by engine_of()
 *   AS_TF32           1 if A and B are FP32, which engines multiply as TF32
 *   SPLITS_F32        1 if A and B are FP32 that are split into F32_TERMS terms (see f32_terms.h)
 *   tf32_of(bits)     rounds a float to TF32
 *   warp_barrier()    waits for the lanes of the warp; orders their accesses to shared memory
 *
 * On devices without an engine the instructions are emulated in software, for verification
 * only. Lanes then exchange their registers through global memory, which the host provides by
 * the extra argument. The barriers of the exchange order global memory alone, so a missing
 * __syncthreads() is still detected.
 */
#ifndef RUNG_ENGINE_H
#define RUNG_ENGINE_H

#if IN_BYTES == 4
#define AS_TF32 1
#else
#define AS_TF32 0
#endif

/* The compute mode of F32, a rung_compute: 2 tf32, one term; 4 tf32x3, two TF32 terms; 1 bf16x3, three
 * BF16 terms. The host defines it if the mode is not tf32. */
#ifndef COMPUTE
#define COMPUTE 2
#endif
#define F32_TERMS (COMPUTE == 4 ? 2 : COMPUTE == 1 ? 3 : 1)
#define SPLITS_F32 (AS_TF32 && F32_TERMS > 1)

#ifdef __OPENCL_C_VERSION__

/* Words that a lane can publish. The host allocates this many per thread. */
#define ENGINE_WORDS 64

#define ENGINE_ARGUMENT , GLOBAL uint *scratch
#define engine_of(launch_args, threads) engine_emulated(scratch, launch_args, threads)

typedef struct {
    uint         lane;
    GLOBAL uint *words; /* of the warp, ENGINE_WORDS per lane */
} engine_t;

DEVICE engine_t engine_emulated(GLOBAL uint *scratch, launch_args_t launch_args, uint threads)
{
    engine_t engine;
    const index_t block = ((index_t)get_group_id(2) * get_num_groups(1) + get_group_id(1)) *
                              get_num_groups(0) + get_group_id(0);
    engine.lane = threadIdx.x % 32;
    engine.words = scratch + launch_args.scratch_offset +
                   (block * threads + (threadIdx.x - engine.lane)) * ENGINE_WORDS;
    return engine;
}

#define warp_barrier() barrier(CLK_LOCAL_MEM_FENCE) /* OpenCL C 1.2 has none for a warp */

/* Rounds to 11 significant bits, ties away from zero. Infinities and NaNs are retained. */
DEVICE uint tf32_of(uint bits)
{
    if ((bits & 0x7f800000u) == 0x7f800000u)
        return bits & 0x007fffffu ? bits | 0x00400000u : bits;
    return bits + 0x1000u & 0xffffe000u;
}

#else /* CUDA */

#define ENGINE_ARGUMENT
#define engine_of(launch_args, threads) engine_native()

#define warp_barrier() __syncwarp()

typedef struct {
    uint lane;
} engine_t;

DEVICE engine_t engine_native()
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
