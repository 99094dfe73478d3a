/* SPDX-License-Identifier: Apache-2.0 */
/* test_fake_cublas.c - the fake cuBLAS: row-major products by exchanging operands, every
 * type, what is refused, and order in the stream. */
#include "driver_unit.h"

#include <math.h>

#include "fake_cublas.h"

static cublasHandle_t handle;

static int blas_begin(void **state)
{
    driver_begin(state);
    assert_int_equal(cublasCreate_v2(&handle), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(rung_fake_cublas_live_handles(), 1);
    return 0;
}

static int blas_end(void **state)
{
    assert_int_equal(cublasDestroy_v2(handle), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasDestroy_v2(handle), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(rung_fake_cublas_live_handles(), 0);
    return driver_end(state);
}

/* Device memory of a test, with the host addresses that the emulated driver gives it. */
enum { MEMORY_MAX = 4 };
static struct {
    CUdeviceptr device;
    unsigned char *host;
    size_t bytes;
} memories[MEMORY_MAX];

/* Returns the host address of new device memory. */
static void *device(size_t bytes)
{
    int i = 0;
    while (i < MEMORY_MAX - 1 && memories[i].host)
        i++;
    assert_null(memories[i].host);
    assert_good(cuMemAlloc_v2(&memories[i].device, bytes));
    memories[i].host = rung_emulated_host_address(memories[i].device, bytes);
    memories[i].bytes = bytes;
    assert_non_null(memories[i].host);
    return memset(memories[i].host, 0, bytes);
}

static int find_memory(const void *host)
{
    for (int i = 0; i < MEMORY_MAX; i++)
        if (memories[i].host && (uintptr_t)host - (uintptr_t)memories[i].host < memories[i].bytes)
            return i;
    fail();
    return 0;
}

/* Returns the device address for cuBLAS. */
static void *at(const void *host)
{
    int i = find_memory(host);
    return (void *)(uintptr_t)(memories[i].device + ((uintptr_t)host - (uintptr_t)memories[i].host));
}

static void release(void *memory)
{
    int i = find_memory(memory);
    assert_good(cuMemFree_v2(memories[i].device));
    memories[i].host = NULL;
}

/* ---- Products ------------------------------------------------------------------------------------- */

/* A row-major C = A B is a column-major C^T = B^T A^T. */
static void row_major_by_exchanging(void **state)
{
    const float one = 1.0f, none = 0.0f;
    driver_product_t product;
    (void)state;
    product_begin(&product);
    memset(rung_emulated_host_address(product.dc, sizeof product.c), 0xff,
           sizeof product.c); /* NaNs, which must not be read */
    assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, PRODUCT_N, PRODUCT_M, PRODUCT_K, &one,
                                  (void *)(uintptr_t)product.db, CUDA_R_32F, PRODUCT_N, (void *)(uintptr_t)product.da,
                                  CUDA_R_32F, PRODUCT_K, &none, (void *)(uintptr_t)product.dc, CUDA_R_32F, PRODUCT_N,
                                  CUBLAS_COMPUTE_32F, -1),
                     CUBLAS_STATUS_SUCCESS);
    assert_true(product_is_right(&product));
    product_end(&product);
}

static void calls_follow_stream_order(void **state)
{
    const float one = 1.0f, two = 2.0f;
    CUstream stream;
    driver_product_t product;
    (void)state;
    product_begin(&product);
    assert_good(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_int_equal(cublasSetStream_v2(handle, stream), CUBLAS_STATUS_SUCCESS);
    keep_busy(&product, stream);
    assert_good(product_launch(&product, stream));
    /* C = 2 C + A B is three times the product, if the launches were over. */
    assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, PRODUCT_N, PRODUCT_M, PRODUCT_K, &one,
                                  (void *)(uintptr_t)product.db, CUDA_R_32F, PRODUCT_N, (void *)(uintptr_t)product.da,
                                  CUDA_R_32F, PRODUCT_K, &two, (void *)(uintptr_t)product.dc, CUDA_R_32F, PRODUCT_N,
                                  CUBLAS_COMPUTE_32F, -1),
                     CUBLAS_STATUS_SUCCESS);
    for (int i = 0; i < PRODUCT_K * PRODUCT_N; i++)
        product.b[i] *= 3.0f;
    assert_good(cuStreamSynchronize(stream));
    assert_true(product_is_right(&product));
    assert_good(cuStreamDestroy_v2(stream));
    product_end(&product);
}

/* Captured, with the scalars of that time, and run twice. */
static void a_product_is_captured(void **state)
{
    float one = 1.0f;
    float *a = device(4), *b = device(4), *c = device(4);
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    (void)state;
    *a = 2.0f;
    *b = 3.0f;
    assert_good(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    assert_int_equal(cublasSetStream_v2(handle, stream), CUBLAS_STATUS_SUCCESS);
    assert_good(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, at(a), CUDA_R_32F, 1, at(b),
                                  CUDA_R_32F, 1, &one, at(c), CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, -1),
                     CUBLAS_STATUS_SUCCESS);
    assert_good(cuStreamEndCapture(stream, &graph));
    one = 100.0f;
    assert_good(cuGraphInstantiateWithFlags(&exec, graph, 0));
    assert_good(cuCtxSynchronize());
    assert_true(*c == 0.0f);
    assert_good(cuGraphLaunch(exec, stream));
    assert_good(cuGraphLaunch(exec, stream));
    assert_good(cuStreamSynchronize(stream));
    assert_true(*c == 12.0f);
    assert_good(cuGraphExecDestroy(exec));
    assert_good(cuGraphDestroy(graph));
    assert_good(cuStreamDestroy_v2(stream));
    release(a);
    release(b);
    release(c);
}

/* 1 x 2 by 2 x 1 and its transposes in f64, where each way of reading gives its own sum. */
static void transposes_and_batches(void **state)
{
    const double one = 1.0, none = 0.0;
    double *a = device(8 * sizeof *a), *b = device(8 * sizeof *b), *c = device(8 * sizeof *c);
    (void)state;
    for (int i = 0; i < 8; i++) {
        a[i] = i + 1;
        b[i] = 10 * (i + 1);
    }
    /* A 2 x 2 in columns (1,2) (3,4), B in (10,20) (30,40). */
    assert_int_equal(cublasGemmStridedBatchedEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 2, 2, 2, &one, at(a), CUDA_R_64F, 2,
                                                4, at(b), CUDA_R_64F, 2, 0, &none, at(c), CUDA_R_64F, 2, 4, 2,
                                                CUBLAS_COMPUTE_64F, -1),
                     CUBLAS_STATUS_SUCCESS);
    assert_good(cuCtxSynchronize());
    const double first[] = {50, 110, 110, 250, 170, 230, 390, 530};
    assert_memory_equal(c, first, sizeof first);
    assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one, at(a), CUDA_R_64F, 2, at(b),
                                  CUDA_R_64F, 2, &none, at(c), CUDA_R_64F, 2, CUBLAS_COMPUTE_64F, -1),
                     CUBLAS_STATUS_SUCCESS);
    assert_good(cuCtxSynchronize());
    const double second[] = {100, 140, 140, 200};
    assert_memory_equal(c, second, sizeof second);
    release(a);
    release(b);
    release(c);
}

static void integers_wrap(void **state)
{
    const int32_t one = 1, two = 2;
    signed char *a = device(16), *b = device(16);
    int32_t *c = device(16);
    (void)state;
    memset(a, -128, 4);
    memset(b, -128, 4);
    c[0] = INT32_MAX;
    assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, 4, &one, at(a), CUDA_R_8I, 4, at(b),
                                  CUDA_R_8I, 4, &two, at(c), CUDA_R_32I, 1, CUBLAS_COMPUTE_32I, -1),
                     CUBLAS_STATUS_SUCCESS);
    assert_good(cuCtxSynchronize());
    assert_int_equal(c[0], 4 * 128 * 128 - 2);
    assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, 4, &one, at(a + 1), CUDA_R_8I, 4, at(b),
                                  CUDA_R_8I, 4, &two, at(c), CUDA_R_32I, 1, CUBLAS_COMPUTE_32I, -1),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, 4, &one, at(a), CUDA_R_8I, 5, at(b),
                                  CUDA_R_8I, 4, &two, at(c), CUDA_R_32I, 1, CUBLAS_COMPUTE_32I, -1),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    release(a);
    release(b);
    release(c);
}

/* x * 1 in a mode, of bits that the mode may drop. */
static float through(float x, int compute)
{
    const float one = 1.0f, none = 0.0f;
    float *a = device(4), *b = device(4), *c = device(4);
    *a = x;
    *b = 1.0f;
    assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, at(a), CUDA_R_32F, 1, at(b),
                                  CUDA_R_32F, 1, &none, at(c), CUDA_R_32F, 1, compute, -1),
                     CUBLAS_STATUS_SUCCESS);
    assert_good(cuCtxSynchronize());
    float result = *c;
    release(a);
    release(b);
    release(c);
    return result;
}

static void fast_modes_round(void **state)
{
    const float x = 1.0f + 0x1p-10f + 0x1p-20f;
    (void)state;
    assert_true(through(x, CUBLAS_COMPUTE_32F) == x);
    assert_true(through(x, CUBLAS_COMPUTE_32F_PEDANTIC) == x);
    assert_true(through(x, CUBLAS_COMPUTE_32F_EMULATED_16BFX9) == x);
    assert_true(through(x, CUBLAS_COMPUTE_32F_FAST_TF32) == 1.0f + 0x1p-10f);
    assert_true(through(x, CUBLAS_COMPUTE_32F_FAST_16F) == 1.0f + 0x1p-10f);
    assert_true(through(x, CUBLAS_COMPUTE_32F_FAST_16BF) == 1.0f);
    assert_true(isinf(through(1e6f, CUBLAS_COMPUTE_32F_FAST_16F)));
    assert_true(through(1e30f, CUBLAS_COMPUTE_32F_FAST_TF32) > 0.99e30f);
}

/* Every f16 times one is itself: both conversions, all bits. */
static void every_half_comes_back(void **state)
{
    enum { COUNT = 0x10000 };
    const float one = 1.0f, none = 0.0f;
    uint16_t *a = device(2 * COUNT), *b = device(2), *c = device(2 * COUNT);
    (void)state;
    for (int type = 0; type < 2; type++) {
        int cuda = type ? CUDA_R_16BF : CUDA_R_16F, infinite = type ? 0x7f80 : 0x7c00;
        for (int i = 0; i < COUNT; i++)
            a[i] = (uint16_t)i;
        *b = type ? 0x3f80 : 0x3c00;
        assert_int_equal(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, COUNT, 1, 1, &one, at(a), cuda, COUNT, at(b),
                                      cuda, 1, &none, at(c), cuda, COUNT, CUBLAS_COMPUTE_32F, -1),
                         CUBLAS_STATUS_SUCCESS);
        assert_good(cuCtxSynchronize());
        for (int i = 0; i < COUNT; i++)
            if ((i & 0x7fff) <= infinite && (i & 0x7fff) != 0) /* -0 + 0 is 0, a NaN any NaN */
                assert_int_equal(c[i], i);
    }
    release(a);
    release(b);
    release(c);
}

/* ---- What is refused ------------------------------------------------------------------------------ */

static int gemm(int m, int lda, int ldb, int ldc, int atype, int ctype, int compute)
{
    const double one = 1.0, none = 0.0;
    static double memory[64]; /* is never reached */
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, 2, 3, &one, memory, atype, lda, memory, atype, ldb, &none,
                        memory, ctype, ldc, compute, -1);
}

static void refusals(void **state)
{
    int version = 0;
    (void)state;
    assert_int_equal(gemm(-1, 2, 3, 2, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(4, 3, 3, 4, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(4, 4, 2, 4, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(4, 4, 3, 3, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_INVALID_VALUE);
    assert_int_equal(gemm(4, 4, 3, 4, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(gemm(4, 4, 3, 4, CUDA_R_16F, CUDA_R_16BF, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(gemm(4, 4, 3, 4, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(gemm(4, 4, 3, 4, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F_FAST_TF32),
                     CUBLAS_STATUS_NOT_SUPPORTED);
    assert_int_equal(cublasGetVersion_v2(handle, &version), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(version, 120900);
    assert_int_equal(cublasSetMathMode(handle, 3), CUBLAS_STATUS_SUCCESS);
    assert_string_equal(cublasGetStatusString(CUBLAS_STATUS_SUCCESS), "success");
}

static void faults_and_contexts(void **state)
{
    cublasHandle_t other;
    CUcontext popped;
    (void)state;
    setenv("RUNG_EMULATED_FAULT", "cublasGemmEx:1:13", 1);
    assert_int_equal(gemm(0, 1, 3, 1, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_EXECUTION_FAILED);
    assert_int_equal(gemm(0, 1, 3, 1, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_SUCCESS);
    assert_true(rung_fake_cublas_call_count("cublasGemmEx") >= 2);
    assert_good(cuCtxPopCurrent_v2(&popped));
    assert_int_equal(cublasCreate_v2(&other), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(gemm(0, 1, 3, 1, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_good(cuCtxPushCurrent_v2(popped));
}

#define fresh(test) cmocka_unit_test_setup_teardown(test, blas_begin, blas_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        fresh(row_major_by_exchanging), fresh(calls_follow_stream_order),
        fresh(a_product_is_captured),   fresh(transposes_and_batches),
        fresh(integers_wrap),           fresh(fast_modes_round),
        fresh(every_half_comes_back),   fresh(refusals),
        fresh(faults_and_contexts),
    };
    unit_clean_environment();
    if (!images_can_be_made())
        return UNIT_SKIPPED;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(product_image()->bytes);
    return failed;
}
