/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_tensor.cu - tensor copies. See hopper_copies.cu for the variants of kernels.
 * Compile: nvcc -ptx -arch=sm_90a -lineinfo hopper_tensor.cu */
#include "hopper_ptx.cuh"

/* Copies a box to shared memory, and shared memory as it is to out. */
template <int BUG>
__global__ void load_box(const __grid_constant__ tensor_map map, const __grid_constant__ coordinates c, int *out, int bytes,
                         int rank)
{
    extern __shared__ __align__(1024) int box[];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        mbarrier_init(&bar, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
        mbarrier_arrive_expect(&bar, bytes);
        tensor_load(rank, box, &map, c, &bar); // OTHER load_box 1
    }
    if (BUG != 1)
        mbarrier_wait(&bar, 0);
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        out[i] = box[i]; // BUG load_box 1
    if (BUG == 1)
        mbarrier_wait(&bar, 0);
}
#define INSTANTIATE(bug) \
    template __global__ void load_box<bug>(const __grid_constant__ tensor_map, const __grid_constant__ coordinates, int *, int, int)
INSTANTIATE(0);
INSTANTIATE(1);

/* Copies `in` to shared memory as it is, and stores the box; variant 2 adds it. */
template <int BUG>
__global__ void store_box(const __grid_constant__ tensor_map map, const __grid_constant__ coordinates c, const int *in,
                          int bytes, int rank)
{
    extern __shared__ __align__(1024) int box[];
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        box[i] = in[i]; // BUG store_box 1
    if (BUG != 1)
        fence_proxy_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        tensor_store(rank, box, &map, c); // OTHER store_box 1
        if (BUG == 2)
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
                             &map),
                         "r"(shared_address(box)), "r"(c.at[0]), "r"(c.at[1])
                         : "memory");
        bulk_commit();
        bulk_wait<0>();
    }
}
#undef INSTANTIATE
#define INSTANTIATE(bug) \
    template __global__ void store_box<bug>(const __grid_constant__ tensor_map, const __grid_constant__ coordinates, const int *, int, int)
INSTANTIATE(0);
INSTANTIATE(1);
INSTANTIATE(2);
