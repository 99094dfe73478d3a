/* SPDX-License-Identifier: Apache-2.0 */
/* edge_calls.c - calls on the CPU that go to an edge: scalars that a second run has and the first
 * had not, sums that only the whole of k keeps in range, sizes that no memory has, and callers that
 * are cancelled. */
#include "support/unit.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static rung_device *device;
static rung_queue *queue;

static int open_device(void **state)
{
    (void)state;
    unit_clean_environment();
    return rung_device_open(NULL, "cpu", &device) == RUNG_OK && rung_queue_create(device, &queue) == RUNG_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    rung_queue_destroy(queue);
    rung_device_close(device);
    return 0;
}

/* A run that looks like the one before it is not looked at as closely; its scalars are. */
static void test_integer_scalars(void **state)
{
    static const double wrong[] = {0.5, 1e30, -1e30, 3e9};
    int8_t a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 0, 1};
    int32_t c[4];
    rung_plan *plan;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_I8, 2, 2, a), rung_matrix_of(RUNG_I8, 2, 2, b),
                                           rung_matrix_of(RUNG_I32, 2, 2, c));
    (void)state;
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    assert_int_equal(c[3], 4);
    for (int i = 0; i < 4; i++) {
        problem.alpha = wrong[i];
        assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
        problem.alpha = 1;
        problem.beta = wrong[i];
        assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
        problem.beta = 0;
    }
    problem.alpha = INFINITY;
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_STATUS_INVALID);
    problem.alpha = -3;
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    assert_int_equal(c[3], -12);
    rung_plan_destroy(plan);
}

/* 2,048 steps, of which the first half come to a thousand and the others take all but 0.5 away. */
static void test_large_alpha(void **state)
{
    enum { M = 40, N = 96, K = 2048 };
    static float a[M * K], b[K * N], c[M * N];
    (void)state;
    for (int i = 0; i < M; i++)
        for (int p = 0; p < K; p++)
            a[i * K + p] = p < K / 2 ? 1.0f : -1.0f;
    for (int i = 0; i < K * N; i++)
        b[i] = 1;
    for (int j = 0; j < N; j++)
        b[j] = 1.5f;
    for (int beta = 0; beta < 2; beta++) {
        for (int i = 0; i < M * N; i++)
            c[i] = beta ? 2e35f : NAN;
        rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a), rung_matrix_of(RUNG_F32, K, N, b),
                                               rung_matrix_of(RUNG_F32, M, N, c));
        problem.alpha = 1e36;
        problem.beta = beta;
        assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
        for (int i = 0; i < M * N; i++)
            assert_true(fabs(c[i] - (beta ? 7e35 : 5e35)) < 1e33); /* as sums of a thousand are rounded */
    }
}

/* Views that repeat one element may have any size. */
static void test_packed_sizes(void **state)
{
    float one = 1, c[4];
    rung_plan *plan;
    int64_t large = (int64_t)1 << 31;
    rung_matrix a = rung_matrix_of(RUNG_F32, 1, large, &one), b = rung_matrix_of(RUNG_F32, large, large, &one);
    rung_matrix wide = rung_matrix_of(RUNG_F32, 1, large, c);
    (void)state;
    a.row_stride = a.col_stride = b.row_stride = b.col_stride = 0;
    rung_problem problem = rung_problem_of(a, b, wide);
    assert_int_equal(rung_plan_create(device, &problem,
                                      &(rung_plan_options){.size = sizeof(rung_plan_options), .packed_b = true}, &plan),
                     RUNG_STATUS_TOO_LARGE);
    assert_null(plan);
    assert_non_null(strstr(rung_error_text(), "packed"));
}

/* ---- Cancellation ------------------------------------------------------------------------------- */

static void *multiply_until_cancelled(void *user)
{
    enum { N = 256 };
    float *memory = calloc(3 * N * N, sizeof *memory);
    (void)user;
    pthread_cleanup_push(free, memory);
    for (;;) {
        rung_gemm(NULL, 1, rung_matrix_of(RUNG_F32, N, N, memory), rung_matrix_of(RUNG_F32, N, N, memory + N * N), 0,
                  rung_matrix_of(RUNG_F32, N, N, memory + 2 * N * N));
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return NULL;
}

/* Whoever is cancelled ends its multiply first: else others would wait for it for ever. */
static void test_cancelled_callers(void **state)
{
    enum { CALLERS = 6, ROUNDS = 5 };
    pthread_t callers[CALLERS];
    enum { N = 256 };
    static float a[N * N], b[N * N], c[N * N];
    (void)state;
    alarm(60);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < CALLERS; i++)
            assert_int_equal(pthread_create(&callers[i], NULL, multiply_until_cancelled, NULL), 0);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        for (int i = 0; i < CALLERS; i++)
            pthread_cancel(callers[i]);
        for (int i = 0; i < CALLERS; i++)
            pthread_join(callers[i], NULL);
    }
    a[0] = 3; /* large enough for all threads and their arenas */
    b[0] = 5;
    for (int i = 0; i < 8; i++)
        assert_int_equal(rung_gemm(NULL, 1, rung_matrix_of(RUNG_F32, N, N, a), rung_matrix_of(RUNG_F32, N, N, b), 0,
                                   rung_matrix_of(RUNG_F32, N, N, c)),
                         RUNG_OK);
    alarm(0);
    assert_true(c[0] == 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integer_scalars),
        cmocka_unit_test(test_large_alpha),
        cmocka_unit_test(test_packed_sizes),
        cmocka_unit_test(test_cancelled_callers),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
