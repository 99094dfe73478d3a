/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_wgmma.cu - products with wgmma. See hopper_copies.cu for the planted bugs.
 * Compile: nvcc -ptx -arch=sm_90a -lineinfo hopper_wgmma.cu */
#include "hopper_ptx.cuh"

#define D8(a) "+r"(d[a]), "+r"(d[a + 1]), "+r"(d[a + 2]), "+r"(d[a + 3]), "+r"(d[a + 4]), "+r"(d[a + 5]), "+r"(d[a + 6]), "+r"(d[a + 7])
#define LIST8 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define LIST16 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}"
#define LIST32                                                                                                           \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, " \
    "%25, %26, %27, %28, %29, %30, %31}"

/* D (64 x 64) is A * B, or A * B is added to it. */
#define WGMMA64(form, factors)                                                                                            \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0;\n"                                                               \
                 "wgmma.mma_async.sync.aligned.m64n64" form " " LIST32 ", %32, %33, p" factors "; }"                      \
                 : D8(0), D8(8), D8(16), D8(24)                                                                           \
                 : "l"(a), "l"(b), "r"((int)adds))

PTX_FUNCTION void wgmma_fence()
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
PTX_FUNCTION void wgmma_commit()
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N> PTX_FUNCTION void wgmma_wait()
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* The descriptor of a matrix with rows of 128 bytes and a swizzle of 128 bytes. */
PTX_FUNCTION uint64_t descriptor_128(const void *p)
{
    return (uint64_t)(shared_address(p) >> 4 & 0x3fff) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
}

/* ---- A product with a pipeline ------------------------------------------------------------------------------------- */

enum { ROWS = 64, COLUMNS = 64, STAGES = 3, TILE_BYTES = 64 * 128, CONSUMERS = 128 };

/* C (m x n, row by row) = A (m x k) * B (n x k) transposed. A block computes 64 x 64 elements; warp 4 loads tiles of 128 bytes
 * of k, and warps 0 to 3 multiply. VARIANT / 10 is the type: f16, bf16, tf32, s8, e4m3; VARIANT % 10 is the bug. */
template <int VARIANT>
__global__ void product(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b, uint32_t *c, int n,
                        int tiles, int tile_elements)
{
    constexpr int TYPE = VARIANT / 10, BUG = VARIANT % 10;
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ uint64_t full[STAGES], empty[STAGES];
    int row = blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            mbarrier_init(&full[s], 1);
            mbarrier_init(&empty[s], CONSUMERS);
        }
        fence_mbarrier_init();
    }
    __syncthreads();
    if (threadIdx.x >= CONSUMERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == CONSUMERS)
            for (int t = 0; t < tiles; t++) {
                int s = t % STAGES;
                unsigned char *tile_a = shared + s * 2 * TILE_BYTES, *tile_b = tile_a + TILE_BYTES;
                coordinates at_a = {{t * tile_elements, row}}, at_b = {{t * tile_elements, column}};
                mbarrier_wait(&empty[s], (t / STAGES & 1) ^ 1);
                mbarrier_arrive_expect(&full[s], 2 * TILE_BYTES);
                tensor_load(2, tile_a, &map_a, at_a, &full[s]); // BUG product 1 // BUG product 2
                tensor_load(2, tile_b, &map_b, at_b, &full[s]);
            }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    uint32_t d[32];
    for (int t = 0; t < tiles; t++) {
        int s = t % STAGES;
        uint64_t a = descriptor_128(shared + s * 2 * TILE_BYTES), b = descriptor_128(shared + s * 2 * TILE_BYTES + TILE_BYTES);
        if (BUG != 1)
            mbarrier_wait(&full[s], t / STAGES & 1);
        wgmma_fence();
        for (int k = 0; k < 4; k++, a += 2, b += 2) {
            bool adds = t > 0 || k > 0;
            if (TYPE == 0)
                WGMMA64("k16.f32.f16.f16", ", 1, 1, 0, 0"); // OTHER product 1 // OTHER product 2 // BUG product 3
            else if (TYPE == 1)
                WGMMA64("k16.f32.bf16.bf16", ", 1, 1, 0, 0");
            else if (TYPE == 2)
                WGMMA64("k8.f32.tf32.tf32", ", 1, 1");
            else if (TYPE == 3)
                WGMMA64("k32.s32.s8.s8", "");
            else
                WGMMA64("k32.f32.e4m3.e4m3", ", 1, 1");
        }
        wgmma_commit();
        if (BUG == 2)
            mbarrier_arrive(&empty[s]); /* too early: wgmma may still read */
        if (BUG != 3)
            wgmma_wait<0>();
        if (BUG != 2)
            mbarrier_arrive(&empty[s]);
    }
    for (int i = 0; i < 32; i++) {
        int lane = threadIdx.x % 32, r = row + threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8;
        c[r * n + column + i / 4 * 8 + lane % 4 * 2 + i % 2] = d[i];
    }
}
#define INSTANTIATE(variant)                                                                                          \
    template __global__ void product<variant>(const __grid_constant__ tensor_map, const __grid_constant__ tensor_map, \
                                              uint32_t *, int, int, int)
INSTANTIATE(0);
INSTANTIATE(1);
INSTANTIATE(2);
INSTANTIATE(3);
INSTANTIATE(10);
INSTANTIATE(20);
INSTANTIATE(30);
INSTANTIATE(40);

/* ---- Single instructions ------------------------------------------------------------------------------------------- */

#define WGMMA(form, list, factors, ...)                                                          \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\nwgmma.mma_async.sync.aligned.m64n32" form \
                 " " list factors "; }"                                                          \
                 : __VA_ARGS__)

/* Copies `in` to shared memory as it is and executes one instruction of form VARIANT, with D = `start` before it. The host
 * chooses the layout with the descriptors, whose addresses are relative. Variant 9 lacks the fence of the proxy. */
template <int VARIANT>
__global__ void instruction(const uint32_t *in, uint32_t *out, uint64_t a, uint64_t b, int words, uint32_t start)
{
    extern __shared__ __align__(1024) uint32_t memory[];
    uint32_t d[16], r[4];
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        memory[i] = in[i]; // BUG instruction 9
    for (int i = 0; i < 16; i++)
        d[i] = start;
    for (int i = 0; i < 4; i++)
        r[i] = in[words + threadIdx.x * 4 + i]; /* A in registers */
    if (VARIANT != 9)
        fence_proxy_async();
    __syncthreads();
    a += shared_address(memory) >> 4;
    b += shared_address(memory) >> 4;
    wgmma_fence();
#define SS "%16, %17, p"
#define D16 D8(0), D8(8)
    if (VARIANT == 0 || VARIANT == 9)
        WGMMA("k16.f32.f16.f16", LIST16 ", " SS, ", 1, 1, 0, 0", D16 : "l"(a), "l"(b)); // OTHER instruction 9
    if (VARIANT == 1)
        WGMMA("k16.f32.f16.f16", LIST16 ", " SS, ", 1, 1, 1, 1", D16 : "l"(a), "l"(b));
    if (VARIANT == 2)
        WGMMA("k16.f32.bf16.bf16", LIST16 ", " SS, ", -1, 1, 0, 1", D16 : "l"(a), "l"(b));
    if (VARIANT == 3)
        WGMMA("k16.f32.f16.f16", LIST16 ", {%16, %17, %18, %19}, %20, p", ", 1, -1, 1",
              D16 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b));
    if (VARIANT == 4)
        WGMMA("k8.f32.tf32.tf32", LIST16 ", " SS, ", -1, -1", D16 : "l"(a), "l"(b));
    if (VARIANT == 5)
        WGMMA("k32.s32.u8.s8.satfinite", LIST16 ", " SS, "", D16 : "l"(a), "l"(b));
    if (VARIANT == 6)
        WGMMA("k32.f32.e5m2.e4m3", LIST16 ", " SS, ", 1, 1", D16 : "l"(a), "l"(b));
    if (VARIANT == 7)
        WGMMA("k32.s32.s8.s8", LIST16 ", {%16, %17, %18, %19}, %20, p", "",
              D16 : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(b));
    if (VARIANT == 8)
        WGMMA("k16.f16.f16.f16", LIST8 ", %8, %9, p", ", 1, 1, 0, 0", D8(0) : "l"(a), "l"(b));
    wgmma_commit();
    wgmma_wait<0>();
    for (int i = 0; i < 16; i++)
        out[threadIdx.x * 16 + i] = d[i];
}
#undef INSTANTIATE
#define INSTANTIATE(variant) \
    template __global__ void instruction<variant>(const uint32_t *, uint32_t *, uint64_t, uint64_t, int, uint32_t)
INSTANTIATE(0);
INSTANTIATE(1);
INSTANTIATE(2);
INSTANTIATE(3);
INSTANTIATE(4);
INSTANTIATE(5);
INSTANTIATE(6);
INSTANTIATE(7);
INSTANTIATE(8);
INSTANTIATE(9);
