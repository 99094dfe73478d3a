/* SPDX-License-Identifier: Apache-2.0 */
/* scratch_bounds.c - threads that share a multiply stay within the memory that the plan asked for.
 *
 * What a kernel keeps packed is settled for the whole problem, and a thread has a part of it,
 * which may fit where the whole does not: shapes in which a part would keep more than the whole did
 * are run with a page behind every allocation that nobody may touch. Matrices are zeros, since all
 * that matters is where they go. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "support/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cpu/amx/amx_blocking.h"

/* ---- Memory with a wall behind it -------------------------------------------------------------- */

enum { PAGE = 4096, ALLOCATIONS_MAX = 4096 };

static struct allocation_t {
    void *memory, *map;
    size_t bytes;
} allocations[ALLOCATIONS_MAX];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uintptr_t round_up(uintptr_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

/* As near to the wall as its alignment lets it. */
static void *allocate(void *user, size_t bytes, size_t alignment)
{
    size_t room = round_up(bytes, alignment > PAGE ? alignment : PAGE), all = room + alignment + 2 * PAGE;
    char *map = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    (void)user;
    assert_true(map != MAP_FAILED);
    char *wall = (char *)round_up((uintptr_t)map, alignment > PAGE ? alignment : PAGE) + room;
    assert_int_equal(mprotect(wall, PAGE, PROT_NONE), 0);
    void *memory = wall - round_up(bytes, alignment);
    pthread_mutex_lock(&lock);
    int i = 0;
    while (i < ALLOCATIONS_MAX && allocations[i].memory)
        i++;
    assert_true(i < ALLOCATIONS_MAX);
    allocations[i] = (struct allocation_t){memory, map, all};
    pthread_mutex_unlock(&lock);
    return memory;
}

static void release(void *user, void *memory)
{
    (void)user;
    pthread_mutex_lock(&lock);
    for (int i = 0; memory && i < ALLOCATIONS_MAX; i++)
        if (allocations[i].memory == memory) {
            munmap(allocations[i].map, allocations[i].bytes);
            allocations[i] = (struct allocation_t){0};
        }
    pthread_mutex_unlock(&lock);
}

/* ---- Multiplies ----------------------------------------------------------------------------------- */

static void multiply(rungi_gemm_types product, rung_compute compute, int64_t m, int64_t n, int64_t k, int64_t threads)
{
    rung_type in = product == RUNGI_F64_TO_F64    ? RUNG_F64
                   : product == RUNGI_BF16_TO_F32 ? RUNG_BF16
                   : product == RUNGI_I8_TO_I32   ? RUNG_I8
                                                  : RUNG_F32;
    rung_type out = in == RUNG_F64 ? RUNG_F64 : in == RUNG_I8 ? RUNG_I32 : RUNG_F32;
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_plan *plan;
    void *a = calloc((size_t)(m * k), (size_t)rung_type_size(in)),
         *b = calloc((size_t)(k * n), (size_t)rung_type_size(in));
    void *c = malloc((size_t)(m * n * rung_type_size(out)));
    rung_problem problem = rung_problem_of(rung_matrix_of(in, m, k, a), rung_matrix_of(in, k, n, b),
                                           rung_matrix_of(out, m, n, c));
    problem.compute = compute;
    assert_true(a && b && c);
    assert_int_equal(
        rung_context_create(
            &(rung_context_options){.size = sizeof(rung_context_options), .allocate = allocate, .release = release},
            &context),
        RUNG_OK);
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &problem,
                                      &(rung_plan_options){.size = sizeof(rung_plan_options), .threads = threads},
                                      &plan),
                     RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &problem, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    rung_plan_destroy(plan);
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
    free(a);
    free(b);
    free(c);
}

/* The last rows are one block of copies of A, and all rows were to be two of smaller ones. */
static void test_rows_of_a(void **state)
{
    (void)state;
    multiply(RUNGI_F64_TO_F64, RUNG_COMPUTE_STRICT, 5101, 3072, 1024, 2);
}

/* Half of the columns fit into what is kept of B, and all of them did not. */
static void test_slices_of_b(void **state)
{
    (void)state;
    multiply(RUNGI_F32_TO_F32, RUNG_COMPUTE_BF16X3, 1500, 1500, 6000, 2);
    multiply(RUNGI_BF16_TO_F32, RUNG_COMPUTE_STRICT, 2560, 768, 16384, 2);
    multiply(RUNGI_I8_TO_I32, RUNG_COMPUTE_STRICT, 2560, 768, 32768, 2);
}

/* ---- The layout of 12_matrix, by any numbers ---------------------------------------------------------- */

#if defined(__x86_64__)
static uint64_t drawn = 88172645463325252u;

static int64_t draw(int64_t most)
{
    drawn ^= drawn << 13;
    drawn ^= drawn >> 7;
    drawn ^= drawn << 17;
    return 1 + (int64_t)(drawn % (uint64_t)most);
}

static void test_layouts_of_partitions(void **state)
{
    static const rungi_amx_packing packings[] = {RUNGI_AMX_PACKING_BF16, RUNGI_AMX_PACKING_I8,
                                                 RUNGI_AMX_PACKING_BF16X3};
    (void)state;
    for (int i = 0; i < 200000; i++) {
        rungi_amx_packing packing = packings[i % 3];
        int64_t m = draw(6000), n = draw(6000), k = draw(i % 2 ? 2000 : 40000), kc = 256 * draw(16);
        rungi_amx_blocking_options options = {kc,         kc * draw(8), 32 * draw(32), 32 * draw(32),
                                              i % 5 == 0, 16 << 20,     INT64_MAX,     i % 7 == 0};
        rungi_amx_blocking whole = rungi_amx_blocking_compute(m, n, k, packing, &options);
        options.max_cached_slices = whole.cached_slices;
        assert_true(rungi_amx_blocking_compute(draw(m), draw(n), k, packing, &options).scratch_bytes <=
                    whole.scratch_bytes);
    }
}
#else
static void test_layouts_of_partitions(void **state)
{
    (void)state;
    skip();
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_of_partitions),
        cmocka_unit_test(test_rows_of_a),
        cmocka_unit_test(test_slices_of_b),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
