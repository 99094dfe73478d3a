/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - many threads call the drop-in from the first call on: what rung serves, what it
 * refuses and leaves to the next library or a loop, and what is wrong; and callers that are cancelled. */
#define _GNU_SOURCE /* pthread_timedjoin_np */
#include "support/cancelled_thread.h"

#include <stdatomic.h>

void sgemm_(const char *trans_a, const char *trans_b, const int32_t *m, const int32_t *n, const int32_t *k,
            const float *alpha, const void *a, const int32_t *lda, const void *b, const int32_t *ldb, const float *beta,
            void *c, const int32_t *ldc);
void cblas_dgemm64_(int layout, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                    const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

enum { THREADS = 8, CALLS = 200, SIDE = 12 };

static atomic_int handler_calls;

/* Found before any library's. */
__attribute__((visibility("default"))) void xerbla_(const char *routine, const int32_t *number, size_t length);

void xerbla_(const char *routine, const int32_t *number, size_t length)
{
    if (length == 6 && memcmp(routine, "SGEMM ", 6) == 0 && *number == 5)
        atomic_fetch_add(&handler_calls, 1);
}

static pthread_barrier_t start;

/* C = A * B of ones, of a size that the thread and the call choose. */
static int wrong_float(int side, size_t shift)
{
    int32_t size = side, ld = SIDE;
    float one = 1, none = 0;
    char memory[3][(SIDE * SIDE + 1) * sizeof(float)];
    for (size_t i = 0; i < SIDE * SIDE; i++)
        for (int j = 0; j < 2; j++)
            memcpy(memory[j] + shift + i * sizeof one, &one, sizeof one);
    sgemm_("N", "T", &size, &size, &size, &one, memory[0] + shift, &ld, memory[1] + shift, &ld, &none,
           memory[2] + shift, &ld);
    for (int j = 0; j < side; j++)
        for (int i = 0; i < side; i++) {
            float value;
            memcpy(&value, memory[2] + shift + (size_t)(i + j * SIDE) * sizeof value, sizeof value);
            if (value != (float)side)
                return 1;
        }
    return 0;
}

static int wrong_double(int side)
{
    double a[SIDE * SIDE], c[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        a[i] = 1, c[i] = 2;
    cblas_dgemm64_(101, 112, 111, side, side, side, 1, a, SIDE, a, SIDE, 3, c, SIDE);
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++)
            if (c[i * SIDE + j] != side + 6)
                return 1;
    return 0;
}

static void call_with_invalid_arguments(void)
{
    int32_t size = 2, wrong = -1;
    float one = 1, memory[4] = {0};
    sgemm_("N", "N", &size, &size, &wrong, &one, memory, &size, memory, &size, &one, memory, &size);
}

static void *work(void *user)
{
    int number = *(int *)user, *failures = user;
    *failures = 0;
    pthread_barrier_wait(&start);
    for (int i = 0; i < CALLS; i++) {
        int side = 1 + (number + i) % SIDE;
        *failures += wrong_float(side, 0) + wrong_double(side) + wrong_float(side, 1);
        call_with_invalid_arguments();
    }
    return NULL;
}

static void threads_start_together(void **state)
{
    pthread_t threads[THREADS];
    int slots[THREADS];
    (void)state;
    assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        slots[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &slots[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(slots[i], 0);
    }
    assert_int_equal(handler_calls, THREADS * CALLS);
}

/* The second call is one that rung refuses and a loop serves. */
static void call_both(void *user)
{
    *(int *)user = wrong_float(SIDE, 0) + wrong_float(SIDE, 1);
}

static void cancelled_callers_complete(void **state)
{
    int failures = -1;
    (void)state;
    cancelled_thread_call("sgemm_", call_both, &failures, -1);
    assert_int_equal(failures, 0);
}

int main(void)
{
    /* The first call of the process is a cancelled one. */
    const struct CMUnitTest tests[] = {cmocka_unit_test(cancelled_callers_complete),
                                       cmocka_unit_test(threads_start_together)};
    unit_clean_environment();
    unsetenv("RUNG_BLAS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
