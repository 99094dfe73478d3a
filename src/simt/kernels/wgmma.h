/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma.h - the matrix instructions of sm_90a, which read A and B from shared memory. Used by
 * 13_wgmma.
 *
 *   operand_descriptor(...)  describes to the instruction how a tile lies in shared memory
 *   wgmma_begin()            must precede the first wgmma() of a group
 *   wgmma(...)               adds the products of 64 rows of A, BN columns of B and 32 bytes of k
 *   wgmma_commit()           makes a group of the instructions since the last commit
 *   wgmma_wait(pending)      waits until at most the newest `pending` groups are unfinished
 *
 * The four warps of a warp group execute each instruction together. Between wgmma() and the wait
 * for its group, the operands in shared memory must not change, and the sums must not be read.
 * Warp w of the warp group receives rows 16 w to 16 w + 15. Its lanes hold the sums of 16 x 8 tiles
 * as those of mma.sync (see mma.h).
 *
 * The tiles are those of copy_tile() in tma.h. Operands of two bytes may be MN-major; others must be
 * K-major.
 */
#ifndef RUNG_WGMMA_H
#define RUNG_WGMMA_H

typedef unsigned long long descriptor_t;

/* Distances in a tile: of its groups of eight rows, and of the boxes of an MN-major tile. */
#define GROUP_BYTES (8 * TENSOR_ROW_BYTES)
#define BOX_BYTES (BK * TENSOR_ROW_BYTES)

/* Describes a tile: its address, the distance of boxes (ignored for a K-major tile, which has one),
 * the distance of groups of eight rows, and the permutation of chunks within 128 bytes. Addresses
 * and distances are in units of 16 bytes. */
DEVICE descriptor_t operand_descriptor(const in_t *tile)
{
    return (descriptor_t)(shared_address(tile) >> 4 & 0x3fff) | (descriptor_t)(BOX_BYTES >> 4) << 16 |
           (descriptor_t)(GROUP_BYTES >> 4) << 32 | (descriptor_t)1 << 62;
}

/* Advances a descriptor by `step` times 32 bytes of k: two chunks of every row of a K-major tile, or
 * 16 rows of an MN-major tile. */
DEVICE descriptor_t advance_k(descriptor_t descriptor, uint step, int mn_major)
{
    return descriptor + step * (mn_major ? 16 * TENSOR_ROW_BYTES >> 4 : 32 >> 4);
}

/* Orders earlier accesses to the registers of the sums before the instructions of a group. */
DEVICE void wgmma_begin()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

DEVICE void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

#define wgmma_wait(pending) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory")

#if defined(IN_F16)
#define WGMMA_TYPES "k16.f32.f16.f16"
#elif defined(IN_BF16)
#define WGMMA_TYPES "k16.f32.bf16.bf16"
#elif defined(IN_F8E4M3)
#define WGMMA_TYPES "k32.f32.e4m3.e4m3"
#elif defined(IN_F8E5M2)
#define WGMMA_TYPES "k32.f32.e5m2.e5m2"
#else
#define WGMMA_TYPES "k32.s32.s8.s8"
#endif

/* The last operands: factors of A and B and, for elements of two bytes, 1 for each MN-major operand. */
#if IN_BYTES == 2 && A_MN_MAJOR && B_MN_MAJOR
#define WGMMA_MODIFIERS ", 1, 1, 1, 1"
#elif IN_BYTES == 2 && A_MN_MAJOR
#define WGMMA_MODIFIERS ", 1, 1, 1, 0"
#elif IN_BYTES == 2 && B_MN_MAJOR
#define WGMMA_MODIFIERS ", 1, 1, 0, 1"
#elif IN_BYTES == 2
#define WGMMA_MODIFIERS ", 1, 1, 0, 0"
#elif defined(INTEGER_TYPE)
#define WGMMA_MODIFIERS ""
#else
#define WGMMA_MODIFIERS ", 1, 1"
#endif

#if defined(INTEGER_TYPE)
#define SUM_REGISTER "+r"
#else
#define SUM_REGISTER "+f"
#endif

/* The registers of a lane's BN / 2 sums: the operands of the statement, and their numbers in its text. */
#define SUMS_4(i) SUM_REGISTER(sum[i]), SUM_REGISTER(sum[i + 1]), SUM_REGISTER(sum[i + 2]), SUM_REGISTER(sum[i + 3])
#define SUMS_16(i) SUMS_4(i), SUMS_4(i + 4), SUMS_4(i + 8), SUMS_4(i + 12)
#define SUMS_32(i) SUMS_16(i), SUMS_16(i + 16)
#define NUMBERS_0 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define NUMBERS_32 \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define NUMBERS_64 \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define NUMBERS_96 \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#if BN == 64
#define WGMMA_SHAPE "m64n64"
#define WGMMA_SUMS SUMS_32(0)
#define WGMMA_OPERANDS "{" NUMBERS_0 "}, %32, %33"
#elif BN == 128
#define WGMMA_SHAPE "m64n128"
#define WGMMA_SUMS SUMS_32(0), SUMS_32(32)
#define WGMMA_OPERANDS "{" NUMBERS_0 ", " NUMBERS_32 "}, %64, %65"
#else
#define WGMMA_SHAPE "m64n256"
#define WGMMA_SUMS SUMS_32(0), SUMS_32(32), SUMS_32(64), SUMS_32(96)
#define WGMMA_OPERANDS "{" NUMBERS_0 ", " NUMBERS_32 ", " NUMBERS_64 ", " NUMBERS_96 "}, %128, %129"
#endif

/* The instruction adds to the sums if its predicate is true, as here, and overwrites them otherwise. */
DEVICE void wgmma(sum_t *sum, descriptor_t a, descriptor_t b)
{
    asm volatile("{ .reg .pred adds;\n"
                 "setp.eq.u32 adds, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned." WGMMA_SHAPE WGMMA_TYPES " " WGMMA_OPERANDS ", adds" WGMMA_MODIFIERS
                 "; }"
                 : WGMMA_SUMS
                 : "l"(a), "l"(b)
                 : "memory");
}

#endif /* RUNG_WGMMA_H */
