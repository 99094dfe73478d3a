/* SPDX-License-Identifier: Apache-2.0 */
/* components.cu - label propagation with atomicMin() */
// rung: kernel=label grid=1 block=64 labels=i32[64]:none
// rung: kernel=hook grid=2 block=64 from=i32[128] to=i32[128] labels=i32[64]:none changed=i32[1]:zero
__global__ void label(int *labels)
{
    labels[threadIdx.x] = threadIdx.x;
}
__global__ void hook(const int *from, const int *to, int *labels, int *changed)
{
    int e = blockIdx.x * 64 + threadIdx.x, a = atomicAdd(&labels[from[e]], 0), b = atomicAdd(&labels[to[e]], 0);
    if (a != b) {
        atomicMin(&labels[max(a, b)], min(a, b));
        atomicExch(changed, 1);
    }
}
