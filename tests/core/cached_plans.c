/* SPDX-License-Identifier: Apache-2.0 */
/* cached_plans.c - plans that rung_gemm keeps between calls: taken again for the same form alone,
 * made anew once something better may be known, and given back with the context. */
#include "support/unit.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/aligned_memory.h"
#include "core/plan.h"

enum { SIDE = 16 };

/* ---- A context that counts ------------------------------------------------------------------ */

typedef struct plan_counts {
    int64_t live, made;
    int64_t lines;
    char last_line[1024];
} plan_counts_t;

static void *count_allocate(void *user, size_t bytes, size_t alignment)
{
    plan_counts_t *counts = user;
    void *memory = rungi_aligned_allocate(alignment < sizeof memory ? sizeof memory : alignment, bytes);
    if (!memory)
        return NULL;
    counts->made++;
    counts->live++;
    return memory;
}

static void count_release(void *user, void *memory)
{
    ((plan_counts_t *)user)->live--;
    rungi_aligned_free(memory);
}

static void count_line(void *user, const char *line)
{
    plan_counts_t *counts = user;
    counts->lines++;
    snprintf(counts->last_line, sizeof counts->last_line, "%s", line);
}

static rung_context *make_context(plan_counts_t *counts, int verbose)
{
    rung_context *context;
    memset(counts, 0, sizeof *counts);
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .device = "cpu",
                                    .verbose = verbose,
                                    .log = count_line,
                                    .log_user = counts,
                                    .allocate = count_allocate,
                                    .release = count_release,
                                    .memory_user = counts};
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    return context;
}

/* ---- Problems -------------------------------------------------------------------------------- */

static float a_memory[2 * SIDE * SIDE + 1], b_memory[2 * SIDE * SIDE + 1], c_memory[2 * SIDE * SIDE + 1];

static rung_problem problem_of_rows(int64_t rows)
{
    uint64_t seed = (uint64_t)rows;
    unit_fill(&seed, a_memory, SIDE * SIDE);
    unit_fill(&seed, b_memory, SIDE * SIDE);
    return rung_problem_of(rung_matrix_of(RUNG_F32, rows, 5, a_memory), rung_matrix_of(RUNG_F32, 5, 7, b_memory),
                           rung_matrix_of(RUNG_F32, rows, 7, c_memory));
}

static void assert_multiplies(rung_context *context, int64_t rows)
{
    rung_problem problem = problem_of_rows(rows);
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    assert_int_equal(unit_first_wrong(&problem.a, &problem.b, &problem.c), -1);
}

/* How many allocations a call of so many rows makes. */
static int64_t allocations_of(rung_context *context, plan_counts_t *counts, int64_t rows)
{
    int64_t before = counts->made;
    assert_multiplies(context, rows);
    return counts->made - before;
}

/* ---- Kept and let go ----------------------------------------------------------------------------- */

/* As many forms as are kept alternate without a plan being made; one more puts out the one that
 * was used the longest ago, and no other. */
static void recent_forms_stay_cached(void **state)
{
    plan_counts_t counts;
    rung_context *context = make_context(&counts, -1);
    (void)state;
    for (int64_t rows = 1; rows <= RUNGI_QUEUE_CACHED_PLANS_MAX; rows++)
        assert_true(allocations_of(context, &counts, rows) > 0);
    for (int round = 0; round < 3; round++)
        for (int64_t rows = 1; rows <= RUNGI_QUEUE_CACHED_PLANS_MAX; rows++)
            assert_int_equal(allocations_of(context, &counts, rows), 0);
    int64_t live = counts.live;
    assert_int_equal(allocations_of(context, &counts, 1), 0); /* now 2 is the oldest */
    assert_true(allocations_of(context, &counts, RUNGI_QUEUE_CACHED_PLANS_MAX + 1) > 0);
    assert_int_equal(counts.live, live);
    for (int64_t rows = 3; rows <= RUNGI_QUEUE_CACHED_PLANS_MAX; rows++)
        assert_int_equal(allocations_of(context, &counts, rows), 0);
    assert_int_equal(allocations_of(context, &counts, 1), 0);
    assert_true(allocations_of(context, &counts, 2) > 0);
    rung_context_destroy(context);
    assert_int_equal(counts.live, 0);
}

/* A failed call leaves the plans in order. */
static void rejected_problems_evict_nothing(void **state)
{
    plan_counts_t counts;
    rung_context *context = make_context(&counts, -1);
    (void)state;
    for (int64_t rows = 1; rows <= RUNGI_QUEUE_CACHED_PLANS_MAX; rows++)
        assert_multiplies(context, rows);
    rung_problem odd = problem_of_rows(3);
    odd.a.type = RUNG_I8; /* by f32: no kernel takes that */
    assert_int_equal(rung_multiply(context, &odd, NULL), RUNG_STATUS_UNSUPPORTED);
    for (int64_t rows = 1; rows <= RUNGI_QUEUE_CACHED_PLANS_MAX; rows++)
        assert_int_equal(allocations_of(context, &counts, rows), 0);
    rung_context_destroy(context);
    assert_int_equal(counts.live, 0);
}

/* ---- The same form -------------------------------------------------------------------------------- */

static float last_of(const rung_problem *problem)
{
    return *unit_at(&problem->c, problem->c.rows - 1, problem->c.cols - 1);
}

/* Each differs from the one before in what a plan was made for, or in scalars, which it was not. */
static void similar_problems_do_not_share_a_plan(void **state)
{
    plan_counts_t counts;
    rung_context *context = make_context(&counts, -1);
    float bias_memory[7] = {0, 0, 0, 0, 0, 0, 1000};
    (void)state;
    for (int i = 0; i < 2 * SIDE * SIDE; i++)
        a_memory[i] = -1, b_memory[i] = 1, c_memory[i] = 1;
    rung_problem plain = rung_problem_of(rung_matrix_of(RUNG_F32, 3, 5, a_memory),
                                         rung_matrix_of(RUNG_F32, 5, 7, b_memory),
                                         rung_matrix_of(RUNG_F32, 3, 7, c_memory));
    rung_problem relu = plain, biased = plain, transposed = plain, batch = plain, scaled = plain, nothing = plain;
    relu.activation = RUNG_ACTIVATION_RELU;
    biased.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, 7, bias_memory), 3, 7);
    transposed.c = rung_matrix_transpose(rung_matrix_of(RUNG_F32, 7, 3, c_memory));
    batch.batch = 2;
    batch.a.batch_stride = 15;
    batch.b.batch_stride = 35;
    batch.c.batch_stride = 21;
    scaled.alpha = 2;
    nothing.alpha = 0;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(rung_multiply(context, &plain, NULL), RUNG_OK);
        assert_true(last_of(&plain) == -5);
        assert_int_equal(rung_multiply(context, &relu, NULL), RUNG_OK);
        assert_true(last_of(&relu) == 0);
        assert_int_equal(rung_multiply(context, &biased, NULL), RUNG_OK);
        assert_true(last_of(&biased) == 995);
        assert_int_equal(rung_multiply(context, &transposed, NULL), RUNG_OK);
        assert_true(last_of(&transposed) == -5);
        c_memory[41] = 7;
        assert_int_equal(rung_multiply(context, &batch, NULL), RUNG_OK);
        assert_true(c_memory[41] == -5);
        assert_int_equal(rung_multiply(context, &scaled, NULL), RUNG_OK);
        assert_true(last_of(&scaled) == -10);
        assert_int_equal(rung_multiply(context, &nothing, NULL), RUNG_OK);
        assert_true(last_of(&nothing) == 0);
    }
    rung_context_destroy(context);
    assert_int_equal(counts.live, 0);
}

/* A plan may be made for how views begin: one that is made for others is none for these. */
static void form_and_alignment_must_match(void **state)
{
    rung_device *device;
    rung_plan *plan;
    static _Alignas(64) float memory[3][64];
    (void)state;
    rung_problem aligned = rung_problem_of(rung_matrix_of(RUNG_F32, 4, 4, memory[0]),
                                           rung_matrix_of(RUNG_F32, 4, 4, memory[1]),
                                           rung_matrix_of(RUNG_F32, 4, 4, memory[2]));
    rung_problem other_place = aligned, b_shifted = aligned, c_shifted = aligned, relu = aligned;
    relu.activation = RUNG_ACTIVATION_RELU;
    other_place.a.offset = 16;
    b_shifted.b.offset = 1;
    c_shifted.c.data = memory[2] + 1;
    assert_int_equal(rung_device_open(NULL, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &aligned, NULL, &plan), RUNG_OK);
    assert_true(rungi_plan_matches(plan, &aligned));
    assert_true(rungi_plan_matches(plan, &other_place));
    assert_false(rungi_plan_matches(plan, &b_shifted));
    assert_false(rungi_plan_matches(plan, &c_shifted));
    assert_false(rungi_plan_matches(plan, &relu));
    rung_plan_destroy(plan);
    assert_int_equal(rung_plan_create(device, &b_shifted, NULL, &plan), RUNG_OK);
    assert_true(rungi_plan_matches(plan, &b_shifted));
    assert_false(rungi_plan_matches(plan, &aligned)); /* which may have a faster one */
    rung_plan_destroy(plan);
    rung_device_close(device);
}

/* ---- The fast path ------------------------------------------------------------------------------- */

static _Alignas(64) float fast_memory[4][64];

static rung_problem fast_problem(void)
{
    return rung_problem_of(rung_matrix_of(RUNG_F32, 4, 4, fast_memory[0]),
                           rung_matrix_of(RUNG_F32, 4, 4, fast_memory[1]),
                           rung_matrix_of(RUNG_F32, 4, 4, fast_memory[2]));
}

/* Each problem differs from fast_problem() in one thing that the fast path does not check. False: there are no more. */
static bool slow_problem(int index, rung_problem *problem)
{
    static const int64_t offsets[] = {0};
    static const rung_quantization scales;
    rung_matrix extra = rung_matrix_of(RUNG_F32, 4, 4, fast_memory[3]);
    *problem = fast_problem();
    switch (index) {
    case 0: problem->size += 8; break;
    case 1: problem->batch = 2; break;
    case 2: problem->compute = RUNG_COMPUTE_BF16X3; break;
    case 3: problem->activation = RUNG_ACTIVATION_RELU; break;
    case 4: problem->bias = extra; break;
    case 5: problem->multiplier = extra; break;
    case 6: problem->residual = extra; break;
    case 7: problem->d = extra; break;
    case 8: problem->a_quantization = &scales; break;
    case 9: problem->b_quantization = &scales; break;
    case 10: problem->d_quantization = &scales; break;
    case 11: problem->alpha = 0.1; break; /* no float */
    case 12: problem->beta = 0.1; break;
    case 13: problem->a.data = NULL; break;
    case 14: problem->b.buffer = (rung_buffer *)(void *)fast_memory; break;
    case 15: problem->a.offset = -1; break;
    case 16: problem->c.offset = INT64_MAX / 16; break;
    case 17: problem->b.data = (char *)fast_memory[1] + 2; break;
    case 18: problem->c.batch_offsets = offsets; break;
    case 19: problem->a.type = RUNG_BF16; break;
    case 20: problem->a.rows = 3; break;
    case 21: problem->b.cols = 3; break;
    case 22: problem->c.row_stride = 5; break;
    case 23: problem->b.col_stride = 2; break;
    case 24: problem->c.data = fast_memory[0] + 15; break;    /* the last element of A */
    case 25: problem->c.data = fast_memory[1] - 15; break;    /* the first one of B */
    case 26: problem->a.data = (void *)(uintptr_t)-32; break; /* ends behind the last address */
    case 27: problem->b.batch_stride = -1; break;
    default: return false;
    }
    return true;
}

static void the_fast_path_rejects_what_it_does_not_check(void **state)
{
    plan_counts_t counts;
    rung_context *context = make_context(&counts, -1);
    rung_device *device, *other;
    rung_queue *queue, *other_queue;
    rung_plan *plan;
    rung_problem problem = fast_problem();
    (void)state;
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_device_open(context, "cpu", &other), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_queue_create(other, &other_queue), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    assert_true(rungi_plan_can_run_fast(plan, queue, &problem));
    assert_false(rungi_plan_can_run_fast(plan, other_queue, &problem));
    assert_int_equal(rung_plan_run(plan, other_queue, &problem, NULL), RUNG_STATUS_INVALID);
    problem.alpha = -0.5;
    problem.beta = 3;
    problem.c.data = fast_memory[0] + 16; /* behind A */
    assert_true(rungi_plan_can_run_fast(plan, queue, &problem));
    for (int i = 0; slow_problem(i, &problem); i++)
        if (rungi_plan_can_run_fast(plan, queue, &problem))
            fail_msg("problem %d is not for the fast path", i);
    problem = fast_problem();
    context->logger.verbose = 1; /* a run that is logged is not fast */
    assert_false(rungi_plan_can_run_fast(plan, queue, &problem));
    rung_plan_destroy(plan);
    rung_queue_destroy(other_queue);
    rung_queue_destroy(queue);
    rung_device_close(other);
    rung_device_close(device);
    rung_context_destroy(context);
    assert_int_equal(counts.live, 0);
}

/* Options that the fast path does not check are checked, each by itself. */
static void options_leave_the_fast_path(void **state)
{
    plan_counts_t counts;
    rung_context *context = make_context(&counts, -1);
    rung_device *device;
    rung_queue *queue;
    rung_plan *plan;
    rung_event *event;
    rung_problem problem = fast_problem();
    int64_t corrected = -1, time = 0;
    (void)state;
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_event_create(device, &event), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plan), RUNG_OK);
    rung_run_options wrong[5];
    for (int i = 0; i < 5; i++)
        wrong[i] = rung_run_options_default();
    wrong[0].threads = 8193;
    wrong[1].threads = -1;
    wrong[2].wait_count = -1;
    wrong[3].size = 1;
    wrong[4].checked = 2;
    for (int i = 0; i < 5; i++)
        assert_int_equal(rung_plan_run(plan, queue, &problem, &wrong[i]), RUNG_STATUS_INVALID);
    rung_run_options options = rung_run_options_default();
    assert_int_equal(rung_plan_run(plan, queue, &problem, &options), RUNG_OK);
    options.corrected = &corrected;
    assert_int_equal(rung_plan_run(plan, queue, &problem, &options), RUNG_OK);
    assert_int_equal(corrected, 0);
    options.corrected = NULL;
    options.signal = event;
    assert_int_equal(rung_plan_run(plan, queue, &problem, &options), RUNG_OK);
    assert_int_equal(rung_event_time(event, &time), RUNG_OK);
    assert_true(time > 0);
    rung_plan_destroy(plan);
    rung_event_destroy(event);
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
    assert_int_equal(counts.live, 0);
}

static void options_of_a_plan_are_checked(void **state)
{
    plan_counts_t counts;
    rung_context *context = make_context(&counts, -1);
    rung_device *device;
    rung_plan *plan;
    rung_problem problem = fast_problem();
    (void)state;
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    for (int i = 0; i < 6; i++) {
        rung_plan_options options = rung_plan_options_default();
        switch (i) {
        case 0: options.shared_carveout_percent = -1; break;
        case 1: options.shared_carveout_percent = 101; break;
        case 2: options.split_k = -1; break;
        case 3: options.max_workspace_bytes = -1; break;
        case 4: options.threads = -1; break;
        default: options.threads = 8193;
        }
        assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_STATUS_INVALID);
        assert_null(plan);
    }
    rung_device_close(device);
    rung_context_destroy(context);
    assert_int_equal(counts.live, 0);
}

/* ---- Threads ---------------------------------------------------------------------------------------- */

static void multiply_with(rung_context *context, const rung_problem *problem, int64_t threads)
{
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = threads;
    assert_int_equal(rung_multiply(context, problem, &options), RUNG_OK);
}

static int plans_of(rung_context *context)
{
    int count = 0;
    while (count < RUNGI_QUEUE_CACHED_PLANS_MAX && context->idle_queues->plans[count])
        count++;
    return count;
}

/* A call gets a plan for its number of threads. A small problem has one plan for any number. */
static void plans_differ_by_threads(void **state)
{
    enum { LARGE = 300 };
    static float memory[3][LARGE * LARGE];
    rung_context *context;
    rung_context_options options = rung_context_options_default();
    (void)state;
    options.device = "cpu";
    options.threads = 3;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    rung_problem small = problem_of_rows(3);
    rung_problem large = rung_problem_of(rung_matrix_of(RUNG_F32, LARGE, LARGE, memory[0]),
                                         rung_matrix_of(RUNG_F32, LARGE, LARGE, memory[1]),
                                         rung_matrix_of(RUNG_F32, LARGE, LARGE, memory[2]));
    for (int64_t threads = 0; threads <= 5; threads++)
        multiply_with(context, &small, threads);
    assert_int_equal(plans_of(context), 1);
    for (int round = 0; round < 2; round++) /* the second round finds the plans of the first */
        for (int64_t threads = 1; threads <= 4; threads++) {
            multiply_with(context, &large, threads);
            assert_int_equal(context->idle_queues->plans[0]->info.threads, threads);
        }
    multiply_with(context, &large, 0); /* 3, the context's */
    assert_int_equal(context->idle_queues->plans[0]->info.threads, 3);
    large.beta = 1.0 / 3; /* not on the fast path, the same plans */
    for (int64_t threads = 1; threads <= 4; threads++) {
        multiply_with(context, &large, threads);
        assert_int_equal(context->idle_queues->plans[0]->info.threads, threads);
    }
    assert_int_equal(plans_of(context), 5);
    rung_context_destroy(context);
}

/* ---- What is known of it --------------------------------------------------------------------------- */

/* A record that is saved counts from the next call on, and every call has its line. */
static void saved_records_are_used(void **state)
{
    plan_counts_t counts;
    rung_context *context = make_context(&counts, 1);
    rung_device *device;
    char path[] = "/tmp/rung-kept-plans-XXXXXX";
    rung_tuning found = {.size = sizeof(rung_tuning), .kernel = "01_naive", .parameters = "", .gflops = 1};
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (int i = 1; i <= 3; i++) {
        assert_multiplies(context, 4);
        assert_int_equal(counts.lines, i);
        assert_non_null(strstr(counts.last_line, "parameters: defaults")); /* which small caches lower */
    }
    rung_problem problem = problem_of_rows(4);
    assert_int_equal(rung_device_open(context, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_tuning_save(device, &problem, &found, path), RUNG_OK);
    rung_device_close(device);
    for (int i = 4; i <= 5; i++) {
        assert_multiplies(context, 4);
        assert_int_equal(counts.lines, i);
        assert_non_null(strstr(counts.last_line, path));
    }
    unlink(path);
    char lock[sizeof path + 8];
    snprintf(lock, sizeof lock, "%s.lock", path);
    unlink(lock);
    rung_context_destroy(context);
    assert_int_equal(counts.live, 0);
}

/* ---- Many threads -------------------------------------------------------------------------------------- */

typedef struct plan_worker {
    rung_context *context;
    int64_t first;
    int wrong;
} plan_worker_t;

static void *work(void *user)
{
    plan_worker_t *worker = user;
    float a[15 * 5], b[5 * 7], c[15 * 7];
    uint64_t seed = (uint64_t)worker->first;
    for (int i = 0; i < 500; i++) {
        int64_t rows = 1 + (worker->first + i) % 12;
        unit_fill(&seed, a, 15 * 5);
        unit_fill(&seed, b, 5 * 7);
        rung_matrix view_a = rung_matrix_of(RUNG_F32, rows, 5, a), view_b = rung_matrix_of(RUNG_F32, 5, 7, b);
        rung_matrix view_c = rung_matrix_of(RUNG_F32, rows, 7, c);
        if (rung_gemm(worker->context, 1.0, view_a, view_b, 0.0, view_c) != RUNG_OK ||
            unit_first_wrong(&view_a, &view_b, &view_c) != -1)
            worker->wrong++;
    }
    return NULL;
}

/* A queue and its plans are one call's at a time. */
static void threads_do_not_share_plans(void **state)
{
    enum { WORKERS = 4 };
    rung_context *context;
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    pthread_t threads[WORKERS];
    plan_worker_t workers[WORKERS];
    (void)state;
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (plan_worker_t){.context = context, .first = 5 * i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    rung_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recent_forms_stay_cached),
        cmocka_unit_test(rejected_problems_evict_nothing),
        cmocka_unit_test(similar_problems_do_not_share_a_plan),
        cmocka_unit_test(form_and_alignment_must_match),
        cmocka_unit_test(the_fast_path_rejects_what_it_does_not_check),
        cmocka_unit_test(options_leave_the_fast_path),
        cmocka_unit_test(options_of_a_plan_are_checked),
        cmocka_unit_test(plans_differ_by_threads),
        cmocka_unit_test(saved_records_are_used),
        cmocka_unit_test(threads_do_not_share_plans),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
