/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_async_three_stages.cu - a ring of three stages with inline PTX and one barrier per step */
// rung: grid=2 block=64 a=f32[32*k] b=f32[k*16] c=f32[32*16]:none k=96
__device__ void copy16(void *to, const void *from)
{
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
}
__global__ void sgemm(const float *a, const float *b, float *c, int k)
{
    __shared__ __align__(16) float as[3][16][16], bs[3][16][16];
    int r = threadIdx.x / 4, q = 4 * (threadIdx.x % 4), row0 = blockIdx.x * 16, tiles = k / 16;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int s = 0; s < 2; s++) {
        copy16(&as[s][r][q], &a[(row0 + r) * k + s * 16 + q]);
        copy16(&bs[s][r][q], &b[(s * 16 + r) * 16 + q]);
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    for (int t = 0; t < tiles; t++) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        int next = t + 2;
        if (next < tiles) {
            copy16(&as[next % 3][r][q], &a[(row0 + r) * k + next * 16 + q]);
            copy16(&bs[next % 3][r][q], &b[(next * 16 + r) * 16 + q]);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        for (int i = 0; i < 16; i++)
            for (int j = 0; j < 4; j++)
                sums[j] += as[t % 3][r][i] * bs[t % 3][i][q + j];
    }
    for (int j = 0; j < 4; j++)
        c[(row0 + r) * 16 + q + j] = sums[j];
}
