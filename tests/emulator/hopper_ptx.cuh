/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_ptx.cuh - the instructions of sm_90 that the kernels hopper_*.cu use, one function each. */
#pragma once
#include <stdint.h>

#define PTX_FUNCTION static __device__ __forceinline__

PTX_FUNCTION uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

/* ---- mbarriers ---------------------------------------------------------------------------------------------------- */

PTX_FUNCTION void mbarrier_init(uint64_t *bar, uint32_t count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(count) : "memory");
}
PTX_FUNCTION void mbarrier_inval(uint64_t *bar)
{
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(bar)) : "memory");
}
PTX_FUNCTION uint64_t mbarrier_arrive(uint64_t *bar)
{
    uint64_t state;
    asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];" : "=l"(state) : "r"(shared_address(bar)) : "memory");
    return state;
}
PTX_FUNCTION void mbarrier_arrive_expect(uint64_t *bar, uint32_t bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
                 : "memory");
}
PTX_FUNCTION void mbarrier_arrive_remote(uint64_t *bar, uint32_t rank)
{
    asm volatile("{ .reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote]; }" ::"r"(shared_address(bar)),
                 "r"(rank)
                 : "memory");
}
PTX_FUNCTION bool mbarrier_test(uint64_t *bar, uint32_t parity)
{
    uint32_t done;
    asm volatile("{ .reg .pred p;\n"
                 "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(shared_address(bar)), "r"(parity)
                 : "memory");
    return done;
}
PTX_FUNCTION bool mbarrier_try(uint64_t *bar, uint32_t parity)
{
    uint32_t done;
    asm volatile("{ .reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(shared_address(bar)), "r"(parity)
                 : "memory");
    return done;
}
PTX_FUNCTION void mbarrier_wait(uint64_t *bar, uint32_t parity)
{
    asm volatile("{ .reg .pred p;\n"
                 "RETRY:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
                 "@p bra DONE;\n"
                 "bra RETRY;\n"
                 "DONE: }" ::"r"(shared_address(bar)),
                 "r"(parity)
                 : "memory");
}
PTX_FUNCTION void mbarrier_wait_cluster(uint64_t *bar, uint32_t parity)
{
    uint32_t done = 0;
    while (!done)
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(bar)), "r"(parity)
                     : "memory");
}
PTX_FUNCTION void fence_mbarrier_init()
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
PTX_FUNCTION void fence_proxy_async()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* ---- Clusters ----------------------------------------------------------------------------------------------------- */

PTX_FUNCTION uint32_t cluster_rank()
{
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
PTX_FUNCTION uint32_t cluster_size()
{
    uint32_t size;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    return size;
}
PTX_FUNCTION void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
PTX_FUNCTION uint32_t map_rank(const void *p, uint32_t rank)
{
    uint32_t address;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(p)), "r"(rank));
    return address;
}
PTX_FUNCTION int load_remote(const int *p, uint32_t rank)
{
    int value;
    asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(value) : "r"(map_rank(p, rank)) : "memory");
    return value;
}
PTX_FUNCTION void store_remote(const int *p, uint32_t rank, int value)
{
    asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(map_rank(p, rank)), "r"(value) : "memory");
}

PTX_FUNCTION void store_async(const int *p, int first, int second, uint64_t *bar, uint32_t rank)
{
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.s32 [%0], {%1, %2}, [%3];" ::"r"(
                     map_rank(p, rank)),
                 "r"(first), "r"(second), "r"(map_rank(bar, rank))
                 : "memory");
}
PTX_FUNCTION void add_async(const int *p, int value, uint64_t *bar, uint32_t rank)
{
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%0], %1, [%2];" ::"r"(
                     map_rank(p, rank)),
                 "r"(value), "r"(map_rank(bar, rank))
                 : "memory");
}

/* ---- Bulk copies -------------------------------------------------------------------------------------------------- */

PTX_FUNCTION void bulk_load(void *to, const void *from, uint32_t bytes, uint64_t *bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(bar))
                 : "memory");
}
PTX_FUNCTION void bulk_load_multicast(void *to, const void *from, uint32_t bytes, uint64_t *bar, uint16_t mask)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
                 "[%3], %4;" ::"r"(shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(bar)), "h"(mask)
                 : "memory");
}
PTX_FUNCTION void bulk_exchange(void *to, const void *from, uint32_t bytes, uint64_t *bar, uint32_t rank)
{
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     map_rank(to, rank)),
                 "r"(shared_address(from)), "r"(bytes), "r"(map_rank(bar, rank))
                 : "memory");
}
PTX_FUNCTION void bulk_store(void *to, const void *from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
                 "r"(bytes)
                 : "memory");
}
PTX_FUNCTION void bulk_add(void *to, const void *from, uint32_t bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(to),
                 "r"(shared_address(from)), "r"(bytes)
                 : "memory");
}
PTX_FUNCTION void bulk_commit()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int N> PTX_FUNCTION void bulk_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}
template <int N> PTX_FUNCTION void bulk_wait()
{
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory");
}

/* ---- Tensor copies ------------------------------------------------------------------------------------------------ */

struct alignas(64) tensor_map {
    char bytes[128];
};
struct coordinates {
    int at[5];
};

PTX_FUNCTION void tensor_load(int rank, void *to, const tensor_map *map, const coordinates &c, uint64_t *bar)
{
#define LOAD(dim, list)                                                                                                \
    asm volatile("cp.async.bulk.tensor." dim ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " list \
                 "], [%2];" ::"r"(shared_address(to)),                                                                 \
                 "l"(map), "r"(shared_address(bar)), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]) \
                 : "memory")
    if (rank == 1)
        LOAD("1d", "{%3}");
    else if (rank == 2)
        LOAD("2d", "{%3, %4}");
    else if (rank == 3)
        LOAD("3d", "{%3, %4, %5}");
    else if (rank == 4)
        LOAD("4d", "{%3, %4, %5, %6}");
    else
        LOAD("5d", "{%3, %4, %5, %6, %7}");
}

PTX_FUNCTION void tensor_store(int rank, const void *from, const tensor_map *map, const coordinates &c)
{
#define STORE(dim, list)                                                                                                 \
    asm volatile("cp.async.bulk.tensor." dim ".global.shared::cta.tile.bulk_group [%0, " list "], [%1];" ::"l"(map),    \
                 "r"(shared_address(from)), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4])        \
                 : "memory")
    if (rank == 1)
        STORE("1d", "{%2}");
    else if (rank == 2)
        STORE("2d", "{%2, %3}");
    else if (rank == 3)
        STORE("3d", "{%2, %3, %4}");
    else if (rank == 4)
        STORE("4d", "{%2, %3, %4, %5}");
    else
        STORE("5d", "{%2, %3, %4, %5, %6}");
}
