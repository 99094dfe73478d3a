/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_copies.cu - mbarriers, clusters and bulk copies. Variant 0 of a kernel is correct. The other variants have a planted bug
 * each: hopper_copies.c expects the finding at the line of "BUG kernel variant", and its other side at the line of "OTHER
 * kernel variant". Compile: nvcc -ptx -arch=sm_90a -lineinfo hopper_copies.cu */
#include "hopper_ptx.cuh"

#define KERNEL template <int BUG> __global__ void
#define INSTANTIATE(kernel, bug) template __global__ void kernel<bug>(const int *, int *)
enum { STAGES = 2, TILES = 8, TILE = 64 };

/* ---- mbarriers ---------------------------------------------------------------------------------------------------- */

/* One thread: counts, phases, transaction bytes. out[i] are checked by the host. */
KERNEL mbarrier_counts(const int *in, int *out)
{
    __shared__ uint64_t bar;
    uint64_t state;
    uint32_t count, done;
    if (threadIdx.x)
        return;
    mbarrier_init(&bar, 4);
    uint32_t address = shared_address(&bar);
    out[0] = mbarrier_test(&bar, 1);                                 /* the phase before the first: complete */
    out[1] = mbarrier_test(&bar, 0);                                 /* the first: not complete */
    asm volatile("mbarrier.arrive.noComplete.shared.b64 %0, [%1], 2;" : "=l"(state) : "r"(address) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
    out[2] = (int)count; /* before the arrival: 4 */
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
    out[3] = (int)count; /* 2 */
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address), "l"(state)
                 : "memory");
    out[4] = (int)done; /* 0 */
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared.b64 [%0], 96;" ::"r"(address) : "memory");
    asm volatile("mbarrier.arrive_drop.shared.b64 _, [%0];" ::"r"(address) : "memory"); /* later phases expect 3 */
    out[5] = mbarrier_test(&bar, 0); /* 96 bytes are missing */
    asm volatile("mbarrier.complete_tx.relaxed.cta.shared.b64 [%0], 96;" ::"r"(address) : "memory");
    out[6] = mbarrier_test(&bar, 0); /* complete */
    asm volatile("{ .reg .pred p; mbarrier.try_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address), "l"(state)
                 : "memory");
    out[7] = (int)done;
    out[8] = mbarrier_test(&bar, 1); /* the second phase: not complete */
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1], 3;" : "=l"(state) : "r"(address) : "memory");
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(count) : "l"(state));
    out[9] = (int)count;             /* 3 */
    out[10] = mbarrier_test(&bar, 1); /* complete */
    mbarrier_inval(&bar);
}

INSTANTIATE(mbarrier_counts, 0);

/* Warp 0 stores tiles to shared memory, the others consume them. */
KERNEL store_pipeline(const int *in, int *out)
{
    __shared__ uint64_t full[STAGES], empty[STAGES];
    __shared__ int tile[STAGES][TILE];
    int consumers = blockDim.x - 32, t = threadIdx.x - 32, sum = 0;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], 32);
            mbarrier_init(&empty[s], consumers); // BUG store_pipeline 3
        }
    if (BUG != 3)
        __syncthreads();
    for (int i = 0; i < TILES; i++) {
        int s = i % STAGES, phase = i / STAGES & 1;
        if (threadIdx.x < 32) {
            mbarrier_wait(&empty[s], phase ^ 1);
            for (int k = threadIdx.x; k < TILE; k += 32)
                tile[s][k] = in[i * TILE + k]; // BUG store_pipeline 1 // BUG store_pipeline 2
            if (BUG != 4 || i < TILES - 1)
                mbarrier_arrive(&full[s]);
        } else {
            if (BUG != 1)
                mbarrier_wait(&full[s], phase); // BUG store_pipeline 4
            if (BUG == 2) /* too early */
                mbarrier_arrive(&empty[s]);
            sum += tile[s][t]; // OTHER store_pipeline 1 // OTHER store_pipeline 2
            if (BUG != 2)
                mbarrier_arrive(&empty[s]);
        }
    }
    if (threadIdx.x >= 32)
        out[t] = sum;
}
INSTANTIATE(store_pipeline, 0);
INSTANTIATE(store_pipeline, 1);
INSTANTIATE(store_pipeline, 2);
INSTANTIATE(store_pipeline, 3);
INSTANTIATE(store_pipeline, 4);

/* cp.async and an mbarrier. */
KERNEL copy_arrive(const int *in, int *out)
{
    __shared__ uint64_t bar;
    __shared__ int tile[TILE];
    int t = threadIdx.x;
    if (t == 0)
        mbarrier_init(&bar, blockDim.x);
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&tile[t])), "l"(in + t) : "memory"); // OTHER copy_arrive 1
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(&bar)) : "memory");
    if (BUG == 0)
        mbarrier_wait(&bar, 0);
    out[t] = tile[t ^ 33]; // BUG copy_arrive 1
}
INSTANTIATE(copy_arrive, 0);
INSTANTIATE(copy_arrive, 1);

/* ---- Bulk copies -------------------------------------------------------------------------------------------------- */

/* A producer thread loads tiles with bulk copies. */
KERNEL bulk_pipeline(const int *in, int *out)
{
    __shared__ uint64_t full[STAGES], empty[STAGES];
    __shared__ alignas(128) int tile[STAGES][TILE];
    int consumers = blockDim.x - 32, t = threadIdx.x - 32, sum = 0;
    if (threadIdx.x == 0)
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], 1);
            mbarrier_init(&empty[s], consumers);
        }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 0; i < TILES; i++) {
            int s = i % STAGES;
            mbarrier_wait(&empty[s], (i / STAGES & 1) ^ 1); // BUG bulk_pipeline 3
            mbarrier_arrive_expect(&full[s], BUG == 3 ? 2 * sizeof tile[s] : sizeof tile[s]);
            bulk_load(tile[s], in + i * TILE, sizeof tile[s], &full[s]); // BUG bulk_pipeline 2 // OTHER bulk_pipeline 1 // OTHER bulk_pipeline 4
        }
    } else if (threadIdx.x >= 32) {
        for (int i = 0; i < TILES; i++) {
            int s = i % STAGES, phase = i / STAGES & 1;
            if (BUG != 1)
                mbarrier_wait(&full[s], BUG == 4 ? phase ^ 1 : phase); // OTHER bulk_pipeline 3
            if (BUG == 2) /* too early */
                mbarrier_arrive(&empty[s]);
            sum += tile[s][t]; // OTHER bulk_pipeline 2 // BUG bulk_pipeline 1 // BUG bulk_pipeline 4
            if (BUG != 2)
                mbarrier_arrive(&empty[s]);
        }
        out[t] = sum;
    }
}
INSTANTIATE(bulk_pipeline, 0);
INSTANTIATE(bulk_pipeline, 1);
INSTANTIATE(bulk_pipeline, 2);
INSTANTIATE(bulk_pipeline, 3);
INSTANTIATE(bulk_pipeline, 4);

/* One warp waits for the copy; the other one learns of it at the second barrier. In variant 1 the other warp has only
 * synchronized with the warp that issued the copy. */
KERNEL bulk_handover(const int *in, int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(16) int tile[TILE];
    int t = threadIdx.x;
    if (t == 0) {
        mbarrier_init(&bar, 1);
        mbarrier_arrive_expect(&bar, sizeof tile);
        bulk_load(tile, in, sizeof tile, &bar); // BUG bulk_handover 1
    }
    __syncthreads();
    if (t < 32)
        mbarrier_wait(&bar, 0);
    if (BUG != 1)
        __syncthreads();
    out[t] = tile[t]; // OTHER bulk_handover 1
}
INSTANTIATE(bulk_handover, 1);
INSTANTIATE(bulk_handover, 0);

/* Stores through shared memory. */
KERNEL bulk_stores(const int *in, int *out)
{
    __shared__ alignas(16) int tile[TILE];
    int t = threadIdx.x;
    for (int i = 0; i < 2; i++) {
        tile[t] = 2 * in[i * TILE + t]; // BUG bulk_stores 1 // BUG bulk_stores 2
        if (BUG != 1)
            fence_proxy_async();
        __syncthreads();
        if (t == 0) {
            bulk_store(out + i * TILE, tile, sizeof tile); // OTHER bulk_stores 1 // OTHER bulk_stores 2 // BUG bulk_stores 3
            if (i)
                bulk_add(out, tile, sizeof tile);
            bulk_commit();
            if (BUG == 0 || BUG == 1)
                bulk_wait_read<0>();
            if (BUG == 3)
                bulk_wait_read<1>();
        }
        __syncthreads();
        if (BUG == 3)
            return;
    }
    if (t == 0)
        bulk_wait<0>();
}
INSTANTIATE(bulk_stores, 0);
INSTANTIATE(bulk_stores, 1);
INSTANTIATE(bulk_stores, 2);
INSTANTIATE(bulk_stores, 3);

/* ---- Clusters ----------------------------------------------------------------------------------------------------- */

/* Each block sums its part; block 0 adds the sums of all blocks through distributed shared memory. */
KERNEL cluster_sum(const int *in, int *out)
{
    __shared__ int sum;
    uint32_t rank = cluster_rank(), size = cluster_size();
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]); // BUG cluster_sum 1
    if (BUG != 1)
        cluster_sync();
    else
        __syncthreads();
    if (threadIdx.x == 0) {
        int total = 0;
        for (uint32_t r = 0; r < size; r++)
            total += load_remote(&sum, r); // OTHER cluster_sum 1 // BUG cluster_sum 2
        out[blockIdx.x] = total + (int)rank;
    }
    if (BUG != 2)
        cluster_sync();
}
INSTANTIATE(cluster_sum, 0);
INSTANTIATE(cluster_sum, 1);
INSTANTIATE(cluster_sum, 2);

/* Blocks pass a value around the ring with remote stores and remote arrivals. */
KERNEL cluster_ring(const int *in, int *out)
{
    __shared__ uint64_t bar;
    __shared__ int slot;
    uint32_t rank = cluster_rank(), size = cluster_size(), next = (rank + 1) % size;
    if (threadIdx.x == 0) {
        mbarrier_init(&bar, 1);
        fence_mbarrier_init();
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        if (rank == 0) {
            store_remote(&slot, next, in[0]);
            mbarrier_arrive_remote(&bar, next);
        }
        if (BUG != 1)
            mbarrier_wait_cluster(&bar, 0);
        int value = slot; // BUG cluster_ring 1
        if (rank != 0) {
            store_remote(&slot, next, value + (int)rank);
            mbarrier_arrive_remote(&bar, next);
        }
        out[rank] = value;
    }
    cluster_sync();
}
INSTANTIATE(cluster_ring, 0);
INSTANTIATE(cluster_ring, 1);

/* Each block loads a part of the tile and multicasts it to all blocks; then block r copies a part to block r + 1. */
KERNEL cluster_multicast(const int *in, int *out)
{
    __shared__ uint64_t bar, bar2;
    __shared__ alignas(16) int tile[TILE], copy[TILE];
    uint32_t rank = cluster_rank(), size = cluster_size(), part = TILE / size;
    int t = threadIdx.x;
    if (t == 0) {
        mbarrier_init(&bar, 1);
        mbarrier_init(&bar2, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&bar, sizeof tile);
        mbarrier_arrive_expect(&bar2, sizeof copy);
    }
    cluster_sync();
    if (t == 0)
        bulk_load_multicast(tile + rank * part, in + rank * part, part * 4, &bar, (uint16_t)((1 << size) - 1)); // OTHER cluster_multicast 1
    if (BUG != 1)
        mbarrier_wait(&bar, 0);
    int value = tile[t]; // BUG cluster_multicast 1
    if (t == 0)
        bulk_exchange(copy, tile, sizeof tile, &bar2, (rank + 1) % size);
    mbarrier_wait_cluster(&bar2, 0);
    out[rank * TILE + t] = value + copy[TILE - 1 - t];
    cluster_sync();
}
INSTANTIATE(cluster_multicast, 0);
INSTANTIATE(cluster_multicast, 1);

/* Each thread stores to the next block and adds to the first one asynchronously. */
KERNEL cluster_stores(const int *in, int *out)
{
    __shared__ uint64_t bar, bar2;
    __shared__ alignas(16) int slot[2 * TILE], sum;
    uint32_t rank = cluster_rank(), size = cluster_size();
    int t = threadIdx.x;
    if (t == 0) {
        sum = 0;
        mbarrier_init(&bar, 1);
        mbarrier_init(&bar2, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect(&bar, sizeof slot);
        mbarrier_arrive_expect(&bar2, size * TILE * 4);
    }
    cluster_sync();
    store_async(&slot[2 * t], in[t] + (int)rank, t, &bar, (rank + 1) % size); // OTHER cluster_stores 1
    add_async(&sum, in[t], &bar2, 0);
    if (BUG != 1)
        mbarrier_wait_cluster(&bar, 0);
    int value = slot[2 * (t ^ 1)] + slot[2 * t + 1]; // BUG cluster_stores 1
    if (rank == 0)
        mbarrier_wait_cluster(&bar2, 0);
    out[rank * TILE + t] = value + (rank == 0 ? sum : 0);
    cluster_sync();
    if (BUG == 1)
        mbarrier_wait_cluster(&bar, 0);
}
INSTANTIATE(cluster_stores, 0);
INSTANTIATE(cluster_stores, 1);

/* Coordinates of blocks in clusters of 2 x 2. */
KERNEL cluster_ids(const int *in, int *out)
{
    uint32_t x, y, nx, ny, cx, cy, owner;
    __shared__ int variable;
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
    asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(y));
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(nx));
    asm volatile("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(ny));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(cx));
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(cy));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(owner) : "r"(map_rank(&variable, 2)));
    if (threadIdx.x == 0)
        out[blockIdx.y * gridDim.x + blockIdx.x] = (int)(x + 10 * y + 100 * nx + 1000 * ny + 10000 * cx + 100000 * cy +
                                                         1000000 * cluster_rank() + 10000000 * owner);
}
INSTANTIATE(cluster_ids, 0);
