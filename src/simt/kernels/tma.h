/* SPDX-License-Identifier: Apache-2.0 */
/* tma.h - copies of whole tiles by the tensor memory accelerator (TMA) of sm_90, and mbarriers.
 *
 *   tensor_map_t              one operand as the TMA sees it; the host encodes it
 *   barrier_init(...)         initializes an mbarrier for a number of arrivals per phase
 *   barriers_publish()        makes initialized mbarriers visible to the TMA
 *   barrier_expect(...)       arrives, and adds bytes that copies must deliver in this phase
 *   barrier_arrive(...)       arrives
 *   barrier_wait(...)         waits until the phase of a parity is complete
 *   copy_tile(...)            copies a tile of an operand, or of both its halves, by one thread
 *
 * A kernel that includes this file has two more arguments, the tensor maps of A and B. Their
 * dimensions are, in this order, the contiguous one, the other one, and the item of the batch. A
 * copy reads a box of TENSOR_ROW_BYTES of the contiguous dimension. It stores zeros for elements
 * outside the matrix, which count as delivered bytes. The rows of a box are TENSOR_ROW_BYTES apart
 * in shared memory. The 16-byte chunks of a row are permuted by an exclusive or with the row number
 * modulo 8, as wgmma reads them (see wgmma.h). The pattern repeats every TENSOR_ALIGNMENT bytes of
 * shared memory, so a tile must start at a multiple.
 *
 * The phases of an mbarrier are numbered from 0, and parity is the lowest bit of the number. A wait
 * for the parity of the phase before the first one returns at once.
 */
#ifndef RUNG_TMA_H
#define RUNG_TMA_H

#define TENSOR_ROW_BYTES 128
#define TENSOR_ALIGNMENT 1024

/* CUtensorMap of the CUDA driver. */
typedef struct __align__(64) {
    unsigned char bytes[128];
} tensor_map_t;

typedef unsigned long long barrier_t;

DEVICE uint shared_address(const void *memory)
{
    return (uint)__cvta_generic_to_shared(memory);
}

DEVICE void barrier_init(barrier_t *barrier, uint arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

DEVICE void barriers_publish()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void barrier_expect(barrier_t *barrier, uint bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

DEVICE void barrier_arrive(barrier_t *barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

/* The instruction suspends the thread for a limited time, so it is repeated until the phase is complete. */
DEVICE void barrier_wait(barrier_t *barrier, uint parity)
{
    uint is_complete;
    do {
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(is_complete)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
    } while (!is_complete);
}

/* Copies the box at (x, y) of an item; `barrier` receives its bytes. */
DEVICE void copy_box(void *to, const tensor_map_t *map, int x, int y, int item, barrier_t *barrier)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(shared_address(to)),
                 "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y), "r"(item)
                 : "memory");
}

/* Copies the tile_mn x BK tile at (mn, k) of an operand. A K-major tile is one box with a row per mn. An
 * MN-major tile is a sequence of boxes with a row per k and TENSOR_ROW_BYTES of mn each. */
DEVICE void copy_tile(in_t *to, const tensor_map_t *map, int mn, int k, int item, uint tile_mn, int mn_major,
                      barrier_t *barrier)
{
    const uint box_mn = mn_major ? TENSOR_ROW_BYTES / IN_BYTES : tile_mn;
#pragma unroll
    for (uint i = 0; i < tile_mn; i += box_mn)
        copy_box(to + i * (TENSOR_ROW_BYTES / IN_BYTES), map, mn_major ? mn + (int)i : k, mn_major ? k : mn, item,
                 barrier);
}

#endif /* RUNG_TMA_H */
