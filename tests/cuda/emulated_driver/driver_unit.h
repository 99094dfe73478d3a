/* SPDX-License-Identifier: Apache-2.0 */
/* driver_unit.h - what tests of the emulated driver begin with: the driver's functions as a
 * caller's own program has them, one kernel with its arguments, and counts of objects. */
#ifndef DRIVER_UNIT_H
#define DRIVER_UNIT_H

#include "test_images.h"

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

long rung_emulated_live_objects(const char *kind);
long rung_emulated_call_count(const char *symbol);
void *rung_emulated_host_address(CUdeviceptr address, size_t bytes);

#define assert_cuda(call, expected) assert_int_equal((int)(call), (int)(expected))
#define assert_good(call) assert_cuda(call, CUDA_SUCCESS)

static const char *const driver_kinds[] = {"contexts",    "streams", "events", "memory",
                                           "host_memory", "modules", "graphs"};

static inline void assert_nothing_lives(void)
{
    for (size_t i = 0; i < sizeof driver_kinds / sizeof *driver_kinds; i++)
        assert_int_equal(rung_emulated_live_objects(driver_kinds[i]), 0);
}

/* Each test has a fresh primary context, current, and leaves nothing behind. */
static inline int driver_begin(void **state)
{
    static CUcontext context;
    assert_good(cuInit(0));
    assert_good(cuDevicePrimaryCtxRetain(&context, 0));
    assert_good(cuCtxPushCurrent_v2(context));
    *state = context;
    return 0;
}

static inline int driver_end(void **state)
{
    CUcontext popped = NULL;
    unsetenv("RUNG_EMULATED_FAULT");
    unsetenv("RUNG_EMULATED_FAULT_ASYNC");
    assert_good(cuCtxPopCurrent_v2(&popped));
    assert_ptr_equal(popped, *state);
    assert_good(cuDevicePrimaryCtxRelease_v2(0));
    assert_nothing_lives();
    return 0;
}

/* The dialect's view_t. */
typedef struct driver_view {
    long long offset, row_stride, col_stride, batch_stride;
} driver_view_t;

/* A product of 40 x 24 by 24 x 33, whole numbers, and a kernel for it. */
enum { PRODUCT_M = 40, PRODUCT_N = 33, PRODUCT_K = 24, PRODUCT_TILE = 16 };

typedef struct driver_product {
    float a[PRODUCT_M * PRODUCT_K], b[PRODUCT_K * PRODUCT_N], c[PRODUCT_M * PRODUCT_N];
    CUdeviceptr da, db, dc;
    CUmodule module;
    CUfunction function;
    long long m, n, k;
    float alpha, beta;
    driver_view_t va, vb, vc;
    void *arguments[11];
} driver_product_t;

/* Compiled once a program. */
static inline const made_image_t *product_image(void)
{
    static made_image_t image;
    if (!image.bytes)
        image = make_image("04_shared.cu", "-DTILE=16", "compute_86");
    return &image;
}

static inline void product_begin(driver_product_t *product)
{
    uint64_t seed = 3;
    memset(product, 0, sizeof *product);
    unit_fill(&seed, product->a, PRODUCT_M * PRODUCT_K);
    unit_fill(&seed, product->b, PRODUCT_K * PRODUCT_N);
    assert_good(cuMemAlloc_v2(&product->da, sizeof product->a));
    assert_good(cuMemAlloc_v2(&product->db, sizeof product->b));
    assert_good(cuMemAlloc_v2(&product->dc, sizeof product->c));
    assert_good(cuMemcpyHtoD_v2(product->da, product->a, sizeof product->a));
    assert_good(cuMemcpyHtoD_v2(product->db, product->b, sizeof product->b));
    assert_good(cuModuleLoadDataEx(&product->module, product_image()->bytes, 0, NULL, NULL));
    assert_good(cuModuleGetFunction(&product->function, product->module, "rung_04_shared"));
    product->m = PRODUCT_M;
    product->n = PRODUCT_N;
    product->k = PRODUCT_K;
    product->alpha = 1.0f;
    product->va = (driver_view_t){0, PRODUCT_K, 1, 0};
    product->vb = (driver_view_t){0, PRODUCT_N, 1, 0};
    product->vc = (driver_view_t){0, PRODUCT_N, 1, 0};
    void *arguments[] = {&product->m,  &product->n,  &product->k,    &product->alpha, &product->da, &product->va,
                         &product->db, &product->vb, &product->beta, &product->dc,    &product->vc};
    memcpy(product->arguments, arguments, sizeof arguments);
}

static inline CUresult product_launch(driver_product_t *product, CUstream stream)
{
    enum { BLOCKS = ((PRODUCT_M + PRODUCT_TILE - 1) / PRODUCT_TILE) * ((PRODUCT_N + PRODUCT_TILE - 1) / PRODUCT_TILE) };
    return cuLaunchKernel(product->function, BLOCKS, 1, 1, PRODUCT_TILE * PRODUCT_TILE, 1, 1, 0, stream,
                          product->arguments, NULL);
}

/* The same kernel with a k so long that it is still at it when the call returns: both
 * operands stand still. */
static inline void keep_busy(driver_product_t *product, CUstream stream)
{
    const driver_view_t still = {0, 0, 0, 0}, va = product->va, vb = product->vb;
    product->k = 5000;
    product->va = product->vb = still;
    assert_good(product_launch(product, stream));
    product->k = PRODUCT_K;
    product->va = va;
    product->vb = vb;
}

/* Whether C, fetched now, is A * B. */
static inline bool product_is_right(driver_product_t *product)
{
    memset(product->c, 0, sizeof product->c);
    assert_good(cuMemcpyDtoH_v2(product->c, product->dc, sizeof product->c));
    for (int i = 0; i < PRODUCT_M; i++)
        for (int j = 0; j < PRODUCT_N; j++) {
            float sum = 0;
            for (int p = 0; p < PRODUCT_K; p++)
                sum += product->a[i * PRODUCT_K + p] * product->b[p * PRODUCT_N + j];
            if (product->c[i * PRODUCT_N + j] != sum)
                return false;
        }
    return true;
}

static inline void product_end(driver_product_t *product)
{
    assert_good(cuModuleUnload(product->module));
    assert_good(cuMemFree_v2(product->da));
    assert_good(cuMemFree_v2(product->db));
    assert_good(cuMemFree_v2(product->dc));
}

#endif /* DRIVER_UNIT_H */
