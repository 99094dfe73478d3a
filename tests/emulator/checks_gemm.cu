/* SPDX-License-Identifier: Apache-2.0 */
/* checks_gemm.cu - small matrix products with the mistakes that such kernels have: the bugs of
 * tests/verify/oclgrind/planted.txt that an access shows. Marks: see checks_bugs.cu; several bugs share the lines of one
 * template. Compile: nvcc -ptx -arch=sm_86 -lineinfo checks_gemm.cu */
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

enum bug_t {
    NONE, FIRST_BARRIER, SECOND_BARRIER, SHARED_READ, GLOBAL_READ, GLOBAL_STORE, UNFILLED_TAIL, WRONG_STRIDE,
    DIVERGENT_BARRIER, WAIT, NO_COMMIT, BARRIER, STAGE, ROW_EDGE, LAST_WAIT, STORE_BARRIER, UNALIGNED, SLAB_BARRIER,
    SKIPPED_ROWS // no bug: rows outside of the matrix are neither filled nor stored
};

// One element of C per thread, tiles of 16 x 16.
template <bug_t BUG> __device__ __forceinline__ void shared_gemm(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float a_tile[16][16], b_tile[16][16];
    int x = threadIdx.x % 16, y = threadIdx.x / 16, row = 16 * blockIdx.y + y, col = 16 * blockIdx.x + x;
    int a_end = BUG == GLOBAL_READ ? k + 1 : k, b_stride = BUG == WRONG_STRIDE ? k + n : n;
    float sum = 0;
#pragma unroll 1
    for (int k0 = 0; k0 < k; k0 += 16) {
        if (BUG != UNFILLED_TAIL || k0 + x < k)
            a_tile[y][x] = row < m && k0 + x < a_end ? a[row * k + k0 + x] : 0.0f; // BUG tile_fill
        b_tile[y][x] = k0 + y < k && col < n ? b[(k0 + y) * b_stride + col] : 0.0f; // BUG tile_fill_b
        if (BUG == DIVERGENT_BARRIER && row >= m)
            return;
        if (BUG != FIRST_BARRIER)
            __syncthreads(); // BUG tile_barrier
#pragma unroll 1
        for (int i = 0; i < (BUG == SHARED_READ ? 17 : 16); i++)
            sum += a_tile[y][i] * b_tile[i][x]; // BUG tile_read
        if (BUG != SECOND_BARRIER)
            __syncthreads();
    }
    if (row < m && (BUG == GLOBAL_STORE ? col <= n : col < n))
        c[row * n + col] = sum; // BUG tile_store
}
#define SHARED(name, bug)                                                                                               \
    extern "C" __global__ void shared_##name(const float *a, const float *b, float *c, int m, int n, int k)             \
    {                                                                                                                   \
        shared_gemm<bug>(a, b, c, m, n, k);                                                                             \
    }
SHARED(correct, NONE)
SHARED(first_barrier, FIRST_BARRIER)
SHARED(second_barrier, SECOND_BARRIER)
SHARED(shared_read, SHARED_READ)
SHARED(global_read, GLOBAL_READ)
SHARED(global_store, GLOBAL_STORE)
SHARED(unfilled_tail, UNFILLED_TAIL)
SHARED(wrong_stride, WRONG_STRIDE)
SHARED(divergent_barrier, DIVERGENT_BARRIER)

// Three stages of asynchronous copies, fragments by ldmatrix, mma.sync. 64 threads: 32 x 16 of C; k is a multiple of 16.
template <bug_t BUG> __device__ __forceinline__ void pipelined_gemm(const half *a, const half *b, float *c, int m, int n, int k)
{
    enum { STAGES = 3 };
    __shared__ __align__(16) half a_tile[STAGES][32][16], b_tile[STAGES][16][16];
    __shared__ float slab[32][16];
    int t = threadIdx.x, warp = t / 32, lane = t % 32, row0 = 32 * blockIdx.y, col0 = 16 * blockIdx.x, steps = k / 16;
    float sum[2][4] = {};
    auto copy = [&](int step, int stage) {
        int row = row0 + t / 2;
        if (BUG != ROW_EDGE && BUG != SKIPPED_ROWS && row >= m)
            row = m - 1;
        const half *from = a + row * k + 16 * step + t % 2 * 8 + (BUG == UNALIGNED ? 2 : 0);
        if (BUG != SKIPPED_ROWS || row < m)
            __pipeline_memcpy_async(&a_tile[stage][t / 2][t % 2 * 8], from, 16); // BUG copy_a
        if (t < 32)
            __pipeline_memcpy_async(&b_tile[stage][t / 2][t % 2 * 8], b + (16 * step + t / 2) * n + col0 + t % 2 * 8, 16);
    };
#pragma unroll 1
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < steps)
            copy(i, i);
        __pipeline_commit();
    }
#pragma unroll 1
    for (int step = 0; step < steps; step++) {
        if (BUG == WAIT)
            __pipeline_wait_prior(STAGES - 1);
        else
            __pipeline_wait_prior(STAGES - 2);
        if (BUG != BARRIER)
            __syncthreads();
        int next = step + STAGES - 1, to = BUG == STAGE ? step % STAGES : next % STAGES;
        if (next < steps)
            copy(next, to); // BUG copy_next
        if (BUG != NO_COMMIT)
            __pipeline_commit();
        int stage = step % STAGES;
        unsigned x[4], y[4];
        unsigned from_a = (unsigned)__cvta_generic_to_shared(&a_tile[stage][16 * warp + lane % 16][lane / 16 * 8]);
        unsigned from_b = (unsigned)__cvta_generic_to_shared(&b_tile[stage][lane % 16][lane / 16 * 8]);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(from_a) : "memory"); // BUG fragment_read
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3]) : "r"(from_b) : "memory");
        for (int j = 0; j < 2; j++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                         : "+f"(sum[j][0]), "+f"(sum[j][1]), "+f"(sum[j][2]), "+f"(sum[j][3])
                         : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[2 * j]), "r"(y[2 * j + 1]));
    }
    for (int j = 0; j < 2; j++)
        for (int i = 0; i < 4; i++)
            slab[16 * warp + lane / 4 + i / 2 * 8][8 * j + lane % 4 * 2 + i % 2] = sum[j][i]; // BUG slab_write
    if (BUG != SLAB_BARRIER)
        __syncthreads();
#pragma unroll 1
    for (int i = t; i < 32 * 16; i += 64)
        if (row0 + i / 16 < m)
            c[(row0 + i / 16) * n + col0 + i % 16] = slab[i / 16][i % 16]; // BUG slab_read
}
#define PIPELINED(name, bug)                                                                                            \
    extern "C" __global__ void pipelined_##name(const half *a, const half *b, float *c, int m, int n, int k)            \
    {                                                                                                                   \
        pipelined_gemm<bug>(a, b, c, m, n, k);                                                                          \
    }
PIPELINED(correct, NONE)
PIPELINED(skipped_rows, SKIPPED_ROWS)
PIPELINED(wait, WAIT)
PIPELINED(no_commit, NO_COMMIT)
PIPELINED(barrier, BARRIER)
PIPELINED(stage, STAGE)
PIPELINED(row_edge, ROW_EDGE)
PIPELINED(unaligned, UNALIGNED)
PIPELINED(slab_barrier, SLAB_BARRIER)

// wmma: 2 warps, 32 x 16 of C.
template <bug_t BUG> __device__ __forceinline__ void wmma_gemm(const half *a, const half *b, float *c, int m, int n, int k)
{
    using namespace nvcuda::wmma;
    __shared__ __align__(32) half a_tile[32 * 16], b_tile[16 * 16];
    __shared__ __align__(32) float sums[32 * 16];
    int t = threadIdx.x, warp = t / 32, row0 = 32 * blockIdx.y, col0 = 16 * blockIdx.x;
    fragment<matrix_a, 16, 16, 16, half, row_major> x;
    fragment<matrix_b, 16, 16, 16, half, row_major> y;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
#pragma unroll 1
    for (int k0 = 0; k0 < k; k0 += 16) {
#pragma unroll 1
        for (int i = t; i < 32 * 16; i += 64)
            a_tile[i] = row0 + i / 16 < m ? a[(row0 + i / 16) * k + k0 + i % 16] : __float2half(0.0f); // BUG wmma_fill
#pragma unroll 1
        for (int i = t; i < 16 * 16; i += 64)
            b_tile[i] = b[(k0 + i / 16) * n + col0 + i % 16];
        if (BUG != FIRST_BARRIER)
            __syncthreads();
        load_matrix_sync(x, a_tile + 256 * warp, 16); // BUG wmma_load
        load_matrix_sync(y, b_tile, 16);
        mma_sync(sum, x, y, sum);
        if (BUG != SECOND_BARRIER)
            __syncthreads();
    }
    store_matrix_sync(sums + 256 * warp, sum, 16, mem_row_major); // BUG wmma_store
    if (BUG != STORE_BARRIER)
        __syncthreads();
#pragma unroll 1
    for (int i = t; i < 32 * 16; i += 64)
        if (row0 + i / 16 < m)
            c[(row0 + i / 16) * n + col0 + i % 16] = sums[i]; // BUG wmma_read
}
#define WMMA(name, bug)                                                                                                 \
    extern "C" __global__ void wmma_##name(const half *a, const half *b, float *c, int m, int n, int k)                 \
    {                                                                                                                   \
        wmma_gemm<bug>(a, b, c, m, n, k);                                                                               \
    }
WMMA(correct, NONE)
WMMA(first_barrier, FIRST_BARRIER)
WMMA(second_barrier, SECOND_BARRIER)
WMMA(store_barrier, STORE_BARRIER)
