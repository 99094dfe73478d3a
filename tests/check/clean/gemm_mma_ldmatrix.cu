/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_mma_ldmatrix.cu - mma.sync with ldmatrix */
// rung: grid=1 block=32 a=f16[16*k] b=f16[8*k] c=f32[16*8]:none k=32
#include <cuda_fp16.h>
__global__ void hgemm(const half *a, const half *b, float *c, int k)
{
    __shared__ __align__(16) half as[16][16], bs[8][16];
    int lane = threadIdx.x;
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int t = 0; t < k; t += 16) {
        for (int i = lane; i < 256; i += 32)
            as[i / 16][i % 16] = a[i / 16 * k + t + i % 16];
        for (int i = lane; i < 128; i += 32)
            bs[i / 16][i % 16] = b[i / 16 * k + t + i % 16];
        __syncwarp();
        unsigned fa[4], fb[2];
        unsigned at = (unsigned)__cvta_generic_to_shared(&as[lane % 16][lane / 16 * 8]);
        unsigned bt = (unsigned)__cvta_generic_to_shared(&bs[lane % 8][lane / 8 % 2 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                     : "r"(at)
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(fb[0]), "=r"(fb[1])
                     : "r"(bt)
                     : "memory");
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
        __syncwarp();
    }
    int row = lane / 4, col = lane % 4 * 2;
    c[row * 8 + col] = d[0];
    c[row * 8 + col + 1] = d[1];
    c[(row + 8) * 8 + col] = d[2];
    c[(row + 8) * 8 + col + 1] = d[3];
}
