/* SPDX-License-Identifier: Apache-2.0 */
/* cublas.c - cuBLAS as kernel 00: which of its compute types a problem gets, that the plan says
 * so, that operands are swapped rightly in every storage order, and that threads share one handle. */
#include "cuda_unit.h"

#include <pthread.h>

static long (*last_compute)(void);
static long (*handles)(void);
static long (*calls)(const char *symbol);

static void check(rung_device *device, const cuda_product_t *trial, int compute, rung_compute told)
{
    rung_plan_info info;
    cuda_product_run(device, trial, &info);
    assert_int_equal(last_compute(), compute);
    assert_int_equal(info.compute, told);
}

static rung_device *open_it(rung_context *context)
{
    rung_device *device;
    assert_ok(rung_device_open(context, "cuda", &device));
    return device;
}

static void close_it(rung_context *context, rung_device *device)
{
    rung_device_close(device);
    assert_none_held(context);
    rung_context_destroy(context);
    assert_int_equal(handles(), 0);
    assert_nothing_lives();
}

/* The numbers of cublas_api.h. */
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32I = 72, FAST_16BF = 75, FAST_TF32 = 77, EMULATED = 78 };

/* What is asked for where the GPU has it, and else what is more precise. */
static const struct {
    const char *architecture;
    rung_compute asked;
    int compute;
    rung_compute told;
} modes[] = {
    {"86", RUNG_COMPUTE_STRICT, COMPUTE_32F, RUNG_COMPUTE_STRICT},
    {"86", RUNG_COMPUTE_TF32, FAST_TF32, RUNG_COMPUTE_TF32},
    {"86", RUNG_COMPUTE_BF16X1, FAST_16BF, RUNG_COMPUTE_BF16X1},
    {"86", RUNG_COMPUTE_BF16X3, COMPUTE_32F, RUNG_COMPUTE_STRICT},
    {"100", RUNG_COMPUTE_BF16X3, EMULATED, RUNG_COMPUTE_BF16X3},
    {"100", RUNG_COMPUTE_TF32, FAST_TF32, RUNG_COMPUTE_TF32},
    {"86", RUNG_COMPUTE_TF32X3, COMPUTE_32F, RUNG_COMPUTE_STRICT},
    {"100", RUNG_COMPUTE_TF32X3, EMULATED, RUNG_COMPUTE_BF16X3},
    {"75", RUNG_COMPUTE_TF32, COMPUTE_32F, RUNG_COMPUTE_STRICT},
    {"75", RUNG_COMPUTE_BF16X1, COMPUTE_32F, RUNG_COMPUTE_STRICT},
    {"75", RUNG_COMPUTE_STRICT, COMPUTE_32F, RUNG_COMPUTE_STRICT},
};

static void each_mode_has_its_compute_type(void **state)
{
    cuda_product_t trial = {RUNG_F32, RUNG_F32, 12, 16, 20, .batch = 1, .alpha = 2, .beta = 1, .kernel = "00"};
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        setenv("RUNG_EMULATED_ARCH", modes[i].architecture, 1);
        rung_context *context = fresh_context("cuda", -1);
        rung_device *device = open_it(context);
        trial.compute = modes[i].asked;
        check(device, &trial, modes[i].compute, modes[i].told);
        close_it(context, device);
    }
}

/* Of other types there is no such mode. */
static void each_type_has_its_compute_type(void **state)
{
    static const struct {
        rung_type in, out;
        int compute;
    } types[] = {{RUNG_F64, RUNG_F64, COMPUTE_64F},
                 {RUNG_F16, RUNG_F16, COMPUTE_32F},
                 {RUNG_BF16, RUNG_F32, COMPUTE_32F},
                 {RUNG_I8, RUNG_I32, COMPUTE_32I}};
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_it(context);
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const cuda_product_t trial = {types[i].in,
                                      types[i].out,
                                      12,
                                      16,
                                      20,
                                      .batch = 1,
                                      .alpha = 2,
                                      .beta = 1,
                                      .kernel = "00",
                                      .compute = RUNG_COMPUTE_TF32};
        check(device, &trial, types[i].compute, RUNG_COMPUTE_STRICT);
    }
    close_it(context, device);
}

/* Both orders of A and of C, one product and a batch, sizes that are all different. */
static void every_storage_order(void **state)
{
    static const rung_type types[][2] = {
        {RUNG_F32, RUNG_F32}, {RUNG_F64, RUNG_F64}, {RUNG_F16, RUNG_F16}, {RUNG_BF16, RUNG_F32}, {RUNG_I8, RUNG_I32}};
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_it(context);
    rung_plan_info info;
    (void)state;
    for (int i = 0; i < 5 * 8; i++) {
        const cuda_product_t trial = {types[i / 8][0],
                                      types[i / 8][1],
                                      12,
                                      20,
                                      28,
                                      .batch = i & 1 ? 3 : 1,
                                      .alpha = -1,
                                      .beta = 2,
                                      .kernel = "00",
                                      .a_by_columns = (i & 2) != 0,
                                      .c_by_columns = (i & 4) != 0};
        cuda_product_run(device, &trial, &info);
        assert_string_equal(info.kernel, "00_vendor");
    }
    close_it(context, device);
}

/* What it would not do rightly is refused, at the plan where that can be known. */
static void unsupported_problems_are_rejected(void **state)
{
    static cuda_product_memory_t memory;
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_it(context);
    cuda_product_t trial = {RUNG_F32, RUNG_F32, 12, 16, 20, .batch = 1, .alpha = 1, .beta = 0, .kernel = "00"};
    rung_queue *queue;
    rung_plan *plan;
    (void)state;
    cuda_product_fill(&trial, &memory);
    rung_problem problem = memory.problem;
    problem.a.row_stride = 40;
    problem.a.col_stride = 2;
    assert_fails(cuda_product_plan(device, &trial, &problem, &plan), RUNG_STATUS_UNSUPPORTED, "one stride of 1");
    assert_ok(rung_queue_create(device, &queue));
    cuda_product_upload(device, queue, &memory);
    problem = cuda_product_in_buffers(&memory);
    assert_ok(cuda_product_plan(device, &trial, &problem, &plan));
    rung_plan_destroy(plan);
    for (int i = 0; i < CUDA_PRODUCT_OPERANDS; i++)
        rung_buffer_destroy(memory.buffers[i]);
    rung_queue_destroy(queue);
    trial.m = 13; /* whole numbers want leading dimensions that are multiples of four */
    trial.k = 21;
    trial.in = RUNG_I8;
    trial.out = RUNG_I32;
    cuda_product_fill(&trial, &memory);
    assert_fails(cuda_product_plan(device, &trial, &memory.problem, &plan), RUNG_STATUS_UNSUPPORTED,
                 "multiples of four");
    assert_null(plan);
    close_it(context, device);
}

static long multiplies(void);

/* With alpha = 0 A and B are not read, and NaN there stays there; with beta = 0 neither is C. cuBLAS promises neither,
 * so it is not called. */
static void empty_k_is_handled(void **state)
{
    static const rung_type types[][2] = {
        {RUNG_F32, RUNG_F32}, {RUNG_F64, RUNG_F64}, {RUNG_F16, RUNG_F16}, {RUNG_BF16, RUNG_F32}, {RUNG_I8, RUNG_I32}};
    static cuda_product_memory_t memory;
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_it(context);
    rung_queue *queue;
    (void)state;
    assert_ok(rung_queue_create(device, &queue));
    for (int i = 0; i < 5 * 4; i++) {
        const cuda_product_t trial = {types[i / 4][0],
                                      types[i / 4][1],
                                      12,
                                      20,
                                      28,
                                      .batch = i & 1 ? 3 : 1,
                                      .alpha = 0,
                                      .beta = i & 2 ? 0 : -2,
                                      .kernel = "00",
                                      .c_by_columns = (i & 2) != 0};
        rung_plan *plan;
        cuda_product_fill(&trial, &memory);
        memset(memory.data[0], 0xff, CUDA_PRODUCT_BYTES);
        memset(memory.data[1], 0xff, CUDA_PRODUCT_BYTES);
        if (trial.beta == 0)
            memset(memory.data[2], 0xff, CUDA_PRODUCT_BYTES);
        cuda_product_upload(device, queue, &memory);
        rung_problem there = cuda_product_in_buffers(&memory);
        assert_ok(cuda_product_plan(device, &trial, &there, &plan));
        long before = multiplies();
        assert_ok(rung_plan_run(plan, queue, &there, NULL));
        cuda_product_compare(queue, &memory);
        assert_int_equal(multiplies(), before);
        rung_plan_destroy(plan);
        for (int j = 0; j < CUDA_PRODUCT_OPERANDS; j++)
            rung_buffer_destroy(memory.buffers[j]);
    }
    rung_queue_destroy(queue);
    close_it(context, device);
}

static long multiplies(void)
{
    return calls("cublasGemmEx") + calls("cublasGemmStridedBatchedEx");
}

/* cuBLAS reads I8 by words of four bytes. A plan for views that begin elsewhere is refused; a plan for aligned views
 * refuses a run whose views are not. C, of four bytes each, may begin anywhere. */
static void misaligned_int8_is_not_passed_to_cublas(void **state)
{
    static cuda_product_memory_t memory;
    const cuda_product_t one = {RUNG_I8, RUNG_I32, 12, 16, 20, .batch = 1, .alpha = 1, .beta = 0, .kernel = "00"};
    const cuda_product_t several = {RUNG_I8, RUNG_I32, 12, 16, 20, .batch = 3, .alpha = 1, .beta = 0, .kernel = "00"};
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_it(context);
    rung_queue *queue;
    rung_plan *plan, *none;
    rung_buffer *shifted;
    (void)state;
    cuda_product_fill(&one, &memory);
    assert_ok(rung_queue_create(device, &queue));
    cuda_product_upload(device, queue, &memory);
    rung_problem aligned = cuda_product_in_buffers(&memory);
    assert_ok(cuda_product_plan(device, &one, &aligned, &plan));
    assert_ok(rung_plan_run(plan, queue, &aligned, NULL));
    long before = multiplies();

    for (int64_t offset = 1; offset < 4; offset++) {
        rung_problem of_a = aligned, of_b = aligned;
        of_a.a.offset = of_b.b.offset = offset;
        assert_fails(cuda_product_plan(device, &one, &of_a, &none), RUNG_STATUS_UNSUPPORTED, "multiples of four");
        assert_fails(cuda_product_plan(device, &one, &of_b, &none), RUNG_STATUS_UNSUPPORTED, "multiples of four");
        assert_fails(rung_plan_run(plan, queue, &of_a, NULL), RUNG_STATUS_INVALID, "not aligned to");
        assert_fails(rung_plan_run(plan, queue, &of_b, NULL), RUNG_STATUS_INVALID, "not aligned to");
    }
    /* Neither is memory of the caller's that begins at such an address, with an offset of 0. */
    assert_ok(rung_buffer_wrap(device, rung_buffer_native(memory.buffers[0]), 2, CUDA_PRODUCT_BYTES - 2, &shifted));
    rung_problem wrapped = aligned;
    wrapped.a.buffer = shifted;
    assert_fails(cuda_product_plan(device, &one, &wrapped, &none), RUNG_STATUS_UNSUPPORTED, "multiples of four");
    assert_fails(rung_plan_run(plan, queue, &wrapped, NULL), RUNG_STATUS_INVALID, "not aligned to");
    rung_buffer_destroy(shifted);
    /* Nor a batch whose items after the first begin there. */
    rung_problem stepped = aligned;
    stepped.batch = 3;
    stepped.b.batch_stride = 16 * 20 + 2;
    assert_fails(cuda_product_plan(device, &several, &stepped, &none), RUNG_STATUS_UNSUPPORTED, "multiples of four");
    assert_int_equal(multiplies(), before);

    memory.problem.c.offset = aligned.c.offset = 1;
    assert_ok(rung_plan_run(plan, queue, &aligned, NULL));
    assert_int_equal(multiplies(), before + 1);
    rung_plan_destroy(plan);
    for (int i = 0; i < CUDA_PRODUCT_OPERANDS; i++)
        rung_buffer_destroy(memory.buffers[i]);
    rung_queue_destroy(queue);
    close_it(context, device);
}

enum { THREADS = 8 };

typedef struct plan_thread {
    pthread_t thread;
    rung_device *device;
    pthread_barrier_t *begin;
    rung_status status;
    rung_plan *plan;
} plan_thread_t;

static void *create_plan(void *user)
{
    plan_thread_t *own = user;
    const cuda_product_t trial = {RUNG_F32, RUNG_F32, 12, 16, 20, .batch = 1, .alpha = 1, .beta = 0, .kernel = "00"};
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 12, 20, NULL),
                                           rung_matrix_of(RUNG_F32, 20, 16, NULL),
                                           rung_matrix_of(RUNG_F32, 12, 16, NULL)); /* a plan needs no data */
    pthread_barrier_wait(own->begin);
    own->status = cuda_product_plan(own->device, &trial, &problem, &own->plan);
    return NULL;
}

/* Creating a handle takes a while: all threads ask for it meanwhile. */
static void threads_share_a_handle(void **state)
{
    rung_context *context = fresh_context("cuda", -1);
    rung_device *device = open_it(context);
    plan_thread_t threads[THREADS];
    pthread_barrier_t begin;
    (void)state;
    assert_int_equal(pthread_barrier_init(&begin, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (plan_thread_t){.device = device, .begin = &begin};
        assert_int_equal(pthread_create(&threads[i].thread, NULL, create_plan, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
        assert_int_equal(threads[i].status, RUNG_OK);
    }
    assert_int_equal(handles(), 1);
    for (int i = 0; i < THREADS; i++)
        rung_plan_destroy(threads[i].plan);
    pthread_barrier_destroy(&begin);
    close_it(context, device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_mode_has_its_compute_type, emulated_driver_reset),
        cmocka_unit_test_setup(each_type_has_its_compute_type, emulated_driver_reset),
        cmocka_unit_test_setup(every_storage_order, emulated_driver_reset),
        cmocka_unit_test_setup(unsupported_problems_are_rejected, emulated_driver_reset),
        cmocka_unit_test_setup(misaligned_int8_is_not_passed_to_cublas, emulated_driver_reset),
        cmocka_unit_test_setup(empty_k_is_handled, emulated_driver_reset),
        cmocka_unit_test_setup(threads_share_a_handle, emulated_driver_reset),
    };
    unit_clean_environment();
    void *blas = dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL);
    if (!emulated_driver_is_loaded() || !blas ||
        !emulated_driver_symbol(blas, "rung_fake_cublas_last_compute", &last_compute) ||
        !emulated_driver_symbol(blas, "rung_fake_cublas_live_handles", &handles) ||
        !emulated_driver_symbol(blas, "rung_fake_cublas_call_count", &calls))
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
