/* SPDX-License-Identifier: Apache-2.0 */
/* quantized_products.cu - a warp quantizes 16 rows of A and 8 columns of B by NVIDIA's conversions and multiplies them by mma
 * with block scales. quantized_products.c compiles this file with NVRTC and compares the bytes and the products. */
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

enum { ROWS = 16, COLUMNS = 8, DEPTH = 256 };

__device__ float largest(const float *x, int count)
{
    float max = 0;
    for (int i = 0; i < count; i++)
        max = fmaxf(max, fabsf(x[i]));
    return max;
}

/* NVFP4: blocks of 16 elements of e2m1 with a scale of ue4m3. Rows of A and columns of B are contiguous along k. */
__device__ void quantize_nvfp4(const float *x, unsigned char *elements, unsigned char *scale)
{
    *scale = __nv_cvt_float_to_fp8(largest(x, 16) / 6, __NV_SATFINITE, __NV_E4M3);
    float unit = __half2float(__nv_cvt_fp8_to_halfraw(*scale, __NV_E4M3));
    for (int i = 0; i < 16; i += 2) {
        float2 pair = {unit > 0 ? x[i] / unit : 0, unit > 0 ? x[i + 1] / unit : 0};
        elements[i / 2] = __nv_cvt_float2_to_fp4x2(pair, __NV_E2M1, cudaRoundNearest);
    }
}

/* The selectors are registers, as in CUTLASS. */
__device__ void multiply_nvfp4(float *d, const unsigned *a, const unsigned *b, unsigned scale_a, unsigned scale_b,
                               unsigned short thread_a, unsigned short thread_b)
{
    unsigned short byte = 0;
    asm volatile("mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, {%10}, {%11, %12}, {%13}, {%14, %15};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scale_a), "h"(byte),
                   "h"(thread_a), "r"(scale_b), "h"(byte), "h"(thread_b));
}

/* Stores the quantized operands and D = A * B. */
extern "C" __global__ void nvfp4(const float *a, const float *b, unsigned char *elements, unsigned char *scales, float *d)
{
    int lane = threadIdx.x, group = lane / 4, thread = lane % 4;
    for (int i = lane; i < (ROWS + COLUMNS) * DEPTH / 16; i += 32) {
        const float *x = i < ROWS * DEPTH / 16 ? a + 16 * i : b + 16 * i - ROWS * DEPTH;
        quantize_nvfp4(x, elements + 8 * i, scales + i);
    }
    __syncthreads();
    float sums[4] = {};
    const unsigned *words = (const unsigned *)elements, *scale_words = (const unsigned *)scales;
    for (int k = 0; k < DEPTH; k += 64) {
        unsigned a_words[4], b_words[2];
        for (int i = 0; i < 4; i++)
            a_words[i] = words[((group + 8 * (i % 2)) * DEPTH + k + 32 * (i / 2)) / 8 + thread];
        for (int i = 0; i < 2; i++)
            b_words[i] = words[((ROWS + group) * DEPTH + k + 32 * i) / 8 + thread];
        /* Every lane has the scales of one row and one column; threads 2 and 3, and thread 1, provide them. */
        unsigned scale_a = scale_words[((group + 8 * (thread % 2)) * DEPTH + k) / 64];
        unsigned scale_b = scale_words[((ROWS + group) * DEPTH + k) / 64];
        multiply_nvfp4(sums, a_words, b_words, thread < 2 ? 0 : scale_a, thread == 1 ? scale_b : 0, 1, 1);
    }
    for (int i = 0; i < 4; i++)
        d[(group + 8 * (i / 2)) * COLUMNS + 2 * thread + i % 2] = sums[i];
}

/* MXFP8 times MXFP6: blocks of 32 elements with a scale of ue8m0. */
__device__ void quantize_mx(const float *x, bool is_fp8, unsigned char *elements, unsigned char *scale)
{
    *scale = __nv_cvt_float_to_e8m0(largest(x, 32) / (is_fp8 ? 448 : 28), __NV_SATFINITE, cudaRoundPosInf);
    float unit = __bfloat162float(__nv_cvt_e8m0_to_bf16raw(*scale));
    for (int i = 0; i < 32; i += 2) {
        float2 pair = {x[i] / unit, x[i + 1] / unit};
        unsigned short both = is_fp8 ? __nv_cvt_float2_to_fp8x2(pair, __NV_SATFINITE, __NV_E4M3)
                                     : __nv_cvt_float2_to_fp6x2(pair, __NV_E3M2, cudaRoundNearest);
        elements[i] = both & 0xff;
        elements[i + 1] = both >> 8;
    }
}

/* Byte `BYTE` of the scales of four blocks. */
template <int BYTE>
__device__ void multiply_mx(float *d, const unsigned *a, const unsigned *b, unsigned scale_a, unsigned scale_b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e3m2.f32.ue8m0 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}, %10, {%11, 0}, %12, {%11, 2};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(scale_a), "n"(BYTE),
                   "r"(scale_b));
}

extern "C" __global__ void mxfp8_mxfp6(const float *a, const float *b, unsigned char *elements, unsigned char *scales,
                                       float *d)
{
    int lane = threadIdx.x, group = lane / 4, thread = lane % 4;
    for (int i = lane; i < (ROWS + COLUMNS) * DEPTH / 32; i += 32) {
        bool is_a = i < ROWS * DEPTH / 32;
        quantize_mx(is_a ? a + 32 * i : b + 32 * i - ROWS * DEPTH, is_a, elements + 32 * i, scales + i);
    }
    __syncthreads();
    float sums[4] = {};
    const unsigned *words = (const unsigned *)elements, *scale_words = (const unsigned *)scales;
    for (int k = 0; k < DEPTH; k += 128) {
        unsigned scale_a = scale_words[((group + 8 * (thread % 2)) * DEPTH + k) / 128];
        unsigned scale_b = scale_words[((ROWS + group) * DEPTH + k) / 128];
        scale_a = thread < 2 ? scale_a : 0; /* of these lanes, and of thread 2 for B */
        scale_b = thread == 2 ? scale_b : 0;
        for (int block = 0; block < 4; block++) {
            unsigned a_words[4], b_words[2];
            for (int i = 0; i < 4; i++)
                a_words[i] = words[((group + 8 * (i % 2)) * DEPTH + k + 32 * block + 16 * (i / 2)) / 4 + thread];
            for (int i = 0; i < 2; i++)
                b_words[i] = words[((ROWS + group) * DEPTH + k + 32 * block + 16 * i) / 4 + thread];
            switch (block) {
            case 0: multiply_mx<0>(sums, a_words, b_words, scale_a, scale_b); break;
            case 1: multiply_mx<1>(sums, a_words, b_words, scale_a, scale_b); break;
            case 2: multiply_mx<2>(sums, a_words, b_words, scale_a, scale_b); break;
            default: multiply_mx<3>(sums, a_words, b_words, scale_a, scale_b); break;
            }
        }
    }
    for (int i = 0; i < 4; i++)
        d[(group + 8 * (i / 2)) * COLUMNS + 2 * thread + i % 2] = sums[i];
}
