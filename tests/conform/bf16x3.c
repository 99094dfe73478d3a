/* SPDX-License-Identifier: Apache-2.0 */
/* bf16x3.c - F32 on the processor's matrix engine, as three numbers of BF16 each: docs/internals/decisions/0025-bf16x3-on-the-cpu.md. Inputs that
 * would break the bound of bf16x3 are held to it here, without the exceptions that rung.h allows elsewhere: what lies
 * below 2^-126 counts, what rounds past the largest BF16 is no infinity, and an infinity comes out as in F32. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify/oracle.h"
#include "common/random.h"

enum { M = 40, N = 70, K = 200, SKIPPED = 77 };

static float a[M * K], b[K * N], c[M * N];

static rung_device *device;
static rung_queue *queue;
static rung_kernel *kernel;

/* ---- A multiply and what it may be off by ---------------------------------------------------------------- */

static rung_status multiply(int64_t k, const char *parameters)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, k, a), rung_matrix_of(RUNG_F32, k, N, b),
                                           rung_matrix_of(RUNG_F32, M, N, c));
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel, .parameters = parameters};
    rung_plan *plan;
    problem.compute = RUNG_COMPUTE_BF16X3;
    memset(c, 0xff, sizeof c);
    rung_status status = rung_plan_create(device, &problem, &options, &plan);
    if (status == RUNG_OK)
        status = rung_plan_run(plan, queue, &problem, NULL);
    rung_plan_destroy(plan);
    return status;
}

/* Whether an element is as F32 has it: not a number, infinite, or within the bound of the exact sum. */
static bool is_right(int64_t i, int64_t j, int64_t k)
{
    double in_double = 0, unit = 0x1p-24, steps = 6 * (double)k;
    long double sum = 0, size = 0; /* to 2^-60 of what is added up, which is nothing beside the bound */
    for (int64_t p = 0; p < k; p++) {
        double product = (double)a[i * k + p] * b[p * N + j]; /* exact */
        in_double += product;
        if (isfinite(product)) {
            sum += product;
            size += fabsl(product);
        }
    }
    float got = c[i * N + j];
    if (isnan(in_double))
        return isnan(got);
    if (isinf(in_double))
        return got == (float)in_double;
    long double bound = (1.02L * steps * unit / (1 - steps * unit) + 0x1p-24L) * size + steps * 0x1p-149L;
    if (isinf(got))
        return fabsl(sum) + bound > FLT_MAX && (got > 0) == (sum > 0);
    return fabsl(got - sum) <= bound;
}

/* Slices of 32 steps and of more, and the fall back to FMA between them. */
static void check(const char *what, int64_t k)
{
    static const char *const parameters[] = {NULL, "tiny", "KC=768,KD=768,MC=32,NC=32"};
    for (int set = 0; set < 3; set++) {
        assert_int_equal(multiply(k, parameters[set]), RUNG_OK);
        for (int64_t i = 0; i < M; i++)
            for (int64_t j = 0; j < N; j++)
                if (!is_right(i, j, k))
                    fail_msg("%s, k = %d, %s: element (%d, %d) is %a", what, (int)k,
                             parameters[set] ? parameters[set] : "defaults", (int)i, (int)j, (double)c[i * N + j]);
    }
}

/* In (-1, 1), with all 24 bits, times 2^exponent. */
static void fill(float *to, int64_t count, uint64_t stream, int exponent)
{
    for (int64_t i = 0; i < count; i++)
        to[i] = (float)ldexp(lab_random_uniform(1, stream, (uint64_t)i) + 0x1p-24, exponent);
}

static void fill_all(int64_t k, int a_exponent, int b_exponent)
{
    fill(a, M * k, 1, a_exponent);
    fill(b, k * N, 2, b_exponent);
}

/* ---- Tests ----------------------------------------------------------------------------------------------------- */

static void test_ordinary(void **state)
{
    static const int depths[] = {1, 2, 31, 32, 33, 64, 65, 96, 200};
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        fill_all(depths[i], 0, 0);
        check("ordinary", depths[i]);
    }
}

/* Numbers all of whose parts count: each of the six products is seen if it is left out, and so are parts that are cut
 * off instead of rounded. A short k, since the bound grows with it. */
static void test_third_bf16_term(void **state)
{
    static const float numbers[] = {1 + 0x1p-8f - 0x1p-9f + 0x1p-16f + 0x1p-18f + 0x1p-23f, 0x1.01fffep0f,
                                    0x1.008102p0f};
    (void)state;
    for (size_t x = 0; x < sizeof numbers / sizeof *numbers; x++)
        for (int64_t k = 1; k <= K; k = 3 * k + 1) {
            for (int64_t i = 0; i < M * k; i++)
                a[i] = i % 2 ? numbers[x] : -numbers[x];
            for (int64_t i = 0; i < k * N; i++)
                b[i] = numbers[x];
            check("third parts", k);
        }
}

/* Every pair of exponents near the edges: of numbers, of products, and of what the parts of products come to. */
static void test_exponents(void **state)
{
    static const int sums[] = {-252, -200, -150, -149, -130, -126, -110, -104, -103, -102, -101,
                               -90,  -85,  -82,  -81,  -80,  -79,  -78,  -77,  -76,  -70,  90,
                               100,  105,  110,  112,  114,  116,  118,  120,  122,  124,  126};
    (void)state;
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        for (int a_exponent = -126; a_exponent <= 127; a_exponent += 11) {
            int b_exponent = sums[i] - a_exponent;
            if (b_exponent < -126 || b_exponent > 127 || sums[i] + 8 > 127)
                continue;
            for (int64_t k = 1; k <= 70; k = 8 * k + 6) {
                fill_all(k, a_exponent, b_exponent);
                check("exponents", k);
            }
        }
}

/* Numbers below 2^-126, which the engine takes for 0, by large ones. */
static void test_denormal_inputs(void **state)
{
    (void)state;
    for (int exponent = -149; exponent <= -120; exponent++) {
        fill_all(3, exponent, 100);
        check("denormal A", 3);
        fill_all(40, 100, exponent);
        check("denormal B", 40);
    }
}

/* Large and small ones in the same rows and columns. */
static void test_mixed_sizes(void **state)
{
    (void)state;
    fill_all(K, 0, 0);
    for (int64_t i = 0; i < M * K; i++)
        a[i] = (float)ldexp(a[i], (int)(lab_random(1, 3, (uint64_t)i) % 120) - 60);
    for (int64_t i = 0; i < K * N; i++)
        b[i] = (float)ldexp(b[i], (int)(lab_random(1, 4, (uint64_t)i) % 120) - 60);
    check("mixed", K);
    fill_all(K, 0, 0);
    a[17 * K + 99] = 0x1p-120f; /* one small number, in one panel, among ordinary ones */
    b[99 * N + 44] = 0x1p100f;
    b[100 * N + 3] = 0x1p-110f;
    check("one small number", K);
}

/* Large terms that cancel leave a small one: what is lost of the large ones shows. */
static void test_cancellation(void **state)
{
    (void)state;
    fill_all(K, 0, 0);
    for (int64_t i = 0; i < M; i++)
        for (int64_t p = 0; p + 1 < K; p += 2)
            a[i * K + p + 1] = -a[i * K + p];
    for (int64_t p = 0; p + 1 < K; p += 2)
        memcpy(b + (p + 1) * N, b + p * N, N * sizeof *b);
    check("cancellation", K);
    for (int64_t i = 0; i < M * N; i++) /* products of parts in pairs, one of each sign */
        assert_true(fabsf(c[i]) <= 0x1p-14f);
}

/* Up to the largest number, whose first part would be infinite. */
static void test_largest(void **state)
{
    (void)state;
    fill_all(K, 0, -30);
    a[5 * K + 3] = FLT_MAX;
    a[6 * K + 4] = -0x1.fep127f;
    a[7 * K + 5] = 0x1.ff7p127f;
    a[39 * K + 199] = 0x1.ffp127f;
    check("largest", K);
    for (int64_t i = 0; i < M; i++)
        a[i] = 0x1.ff8p63f; /* whose first part is the next power of two */
    for (int64_t i = 0; i < N; i++)
        b[i] = 0x1.ff8p63f;
    check("first parts past the largest", 1);
    fill_all(K, 60, 60); /* sums within the last powers of two */
    check("near the largest", K);
    fill_all(K, 64, 64);
    for (int64_t i = 0; i < M * K; i++)
        a[i] = fabsf(a[i]);
    for (int64_t i = 0; i < K * N; i++)
        b[i] = -fabsf(b[i]);
    check("past the largest", K);
}

/* What is not finite comes out as in F32, and nowhere else. */
static void test_infinities(void **state)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    (void)state;
    for (int x = 0; x < 3; x++)
        for (int64_t p = 0; p < K; p += 67) {
            fill_all(K, 0, 0);
            a[3 * K + p] = odd[x];
            check("odd A", K);
            fill_all(K, 0, 0);
            b[p * N + 69] = odd[x];
            check("odd B", K);
            b[p * N + 69] = 1;
            a[3 * K + p] = odd[x];
            for (int64_t j = 0; j < N; j += 2)
                b[p * N + j] = 0; /* by 0 */
            check("odd A by 0", K);
            a[3 * K + (p + 1) % K] = INFINITY; /* against each other */
            check("two odd ones", K);
        }
}

/* NaNs of every kind: the split must not make numbers of them. */
static void test_payloads(void **state)
{
    static const uint32_t payloads[] = {0x7fc00000, 0xffc00000, 0x7fffffff, 0xffffffff,
                                        0x7f800001, 0x7fff8000, 0x7f80ffff, 0xffff8001};
    (void)state;
    for (size_t x = 0; x < sizeof payloads / sizeof *payloads; x++) {
        fill_all(64, 0, 0);
        memcpy(&a[20 * 64 + 33], &payloads[x], 4);
        check("payload in A", 64);
        fill_all(64, 0, 0);
        memcpy(&b[63 * N + 1], &payloads[x], 4);
        check("payload in B", 64);
    }
}

/* Sums that are smaller than a tile holds stay when slices of zeros, or of ordinary numbers, come behind. */
static void test_small_sums_stay(void **state)
{
    (void)state;
    for (int zeros = 0; zeros < 2; zeros++) {
        fill_all(K, 0, 0);
        for (int64_t i = 0; i < M; i++)
            for (int64_t p = 0; p < K; p++)
                a[i * K + p] = p < 5 ? a[i * K + p] * 0x1p-65f : zeros ? 0 : a[i * K + p] * 0x1p-60f;
        for (int64_t p = 0; p < K; p++)
            for (int64_t j = 0; j < N; j++)
                b[p * N + j] *= p < 5 ? 0x1p-65f : zeros ? 1 : 0x1p-60f;
        check("small sums", K);
    }
}

/* Zeros are no small numbers. */
static void test_zeros(void **state)
{
    (void)state;
    memset(a, 0, sizeof a);
    fill(b, K * N, 2, 0);
    check("A of zeros", K);
    fill_all(K, 0, 0);
    for (int64_t i = 0; i < M * K; i += 3)
        a[i] = i % 2 ? 0.0f : -0.0f;
    check("every third", K);
    memset(a, 0, sizeof a);
    b[5] = INFINITY;
    check("zeros by an infinity", K);
}

/* BF16 below 2^-126 may count as 0, and no more. */
static void test_small_bf16(void **state)
{
    static uint16_t x[M * K], y[K * N];
    (void)state;
    for (int exponent = -133; exponent <= -100; exponent += 3)
        for (int other = -20; other <= 120; other += 35) {
            rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_BF16, M, K, x),
                                                   rung_matrix_of(RUNG_BF16, K, N, y),
                                                   rung_matrix_of(RUNG_F32, M, N, c));
            rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel};
            rung_plan *plan;
            fill_all(K, exponent, other);
            for (int64_t i = 0; i < M * K; i++)
                x[i] = rung_bf16_from_f32(a[i]);
            for (int64_t i = 0; i < K * N; i++)
                y[i] = rung_bf16_from_f32(b[i]);
            assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_OK);
            assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
            rung_plan_destroy(plan);
            assert_true(lab_oracle_check(&problem, &problem.c, LAB_ACCURACY_BOUNDED).right);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary),    cmocka_unit_test(test_third_bf16_term),
        cmocka_unit_test(test_exponents),   cmocka_unit_test(test_denormal_inputs),
        cmocka_unit_test(test_mixed_sizes), cmocka_unit_test(test_cancellation),
        cmocka_unit_test(test_largest),     cmocka_unit_test(test_infinities),
        cmocka_unit_test(test_payloads),    cmocka_unit_test(test_small_sums_stay),
        cmocka_unit_test(test_zeros),       cmocka_unit_test(test_small_bf16),
    };
    fill_all(1, 0, 0);
    if (rung_device_open(NULL, "cpu", &device) != RUNG_OK || rung_queue_create(device, &queue) != RUNG_OK ||
        rung_kernel_find(NULL, "cpu", "12_matrix", &kernel) != RUNG_OK || multiply(1, NULL) != RUNG_OK) {
        printf("%s\n", rung_error_text());
        return SKIPPED;
    }
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rung_queue_destroy(queue);
    rung_device_close(device);
    return failed;
}
