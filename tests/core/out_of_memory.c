/* SPDX-License-Identifier: Apache-2.0 */
/* out_of_memory.c - what happens when memory ends. The N-th allocation fails, for every N
 * until none is left to fail: each time the call must say RUNG_STATUS_NO_MEMORY, give back
 * all it took, and work once memory is there again. */
#include "support/unit.h"

#include "base/aligned_memory.h"

/* ---- An allocator that fails when told ------------------------------------------- */

typedef struct failing_pool {
    int64_t live;      /* allocations minus releases */
    int64_t made;      /* attempts so far */
    int64_t fail_at;   /* this attempt gives NULL; 0: none does */
    int64_t misplaced; /* releases of what is not ours, alignments not kept */
} failing_pool_t;

/* In front of every allocation, so that a release can tell whose it is. */
typedef struct tag {
    failing_pool_t *owner;
    void *start;
} tag_t;

static void *pool_allocate(void *user, size_t bytes, size_t alignment)
{
    failing_pool_t *pool = user;
    if (bytes == 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        pool->misplaced++;
    if (++pool->made == pool->fail_at)
        return NULL;
    size_t before = sizeof(tag_t) > alignment ? sizeof(tag_t) : alignment;
    char *start = rungi_aligned_allocate(before, bytes + before);
    if (!start)
        return NULL;
    tag_t tag = {pool, start};
    memcpy(start + before - sizeof tag, &tag, sizeof tag);
    memset(start + before, 0xA5, bytes); /* memory is not zero by itself */
    pool->live++;
    return start + before;
}

static void pool_release(void *user, void *memory)
{
    failing_pool_t *pool = user;
    tag_t tag;
    memcpy(&tag, (char *)memory - sizeof tag, sizeof tag);
    if (tag.owner != pool)
        pool->misplaced++;
    tag.owner->live--;
    rungi_aligned_free(tag.start);
}

static rung_status make_context(failing_pool_t *pool, const char *device, int verbose, rung_context **context)
{
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .device = device,
                                    .verbose = verbose,
                                    .allocate = pool_allocate,
                                    .release = pool_release,
                                    .memory_user = pool};
    return rung_context_create(&options, context);
}

static bool has_opencl(void)
{
    rung_device *device;
    rung_status status = rung_device_open(NULL, "opencl", &device);
    rung_device_close(device);
    return status == RUNG_OK;
}

/* ---- One call -------------------------------------------------------------------- */

/* Matrices with gaps, so that each is staged on its way to a device. */
typedef struct memory_operands {
    float a_data[512], b_data[512], c_data[512];
    rung_matrix a, b, c;
} memory_operands_t;

static void make_operands(memory_operands_t *operands, int64_t rows)
{
    uint64_t seed = 3;
    unit_fill(&seed, operands->a_data, 512);
    unit_fill(&seed, operands->b_data, 512);
    unit_fill(&seed, operands->c_data, 512);
    rung_matrix a = rung_matrix_of(RUNG_F32, 64, 8, operands->a_data);
    rung_matrix b = rung_matrix_of(RUNG_F32, 64, 8, operands->b_data);
    rung_matrix c = rung_matrix_of(RUNG_F32, 64, 8, operands->c_data);
    operands->a = rung_matrix_block(a, 1, 1, rows, 5);
    operands->b = rung_matrix_transpose(rung_matrix_block(b, 2, 0, 4, 5));
    operands->c = rung_matrix_block(c, 3, 2, rows, 4);
}

static rung_status multiply(rung_context *context, memory_operands_t *operands)
{
    return rung_gemm(context, 1.0, operands->a, operands->b, 0.0, operands->c);
}

/* A context whose N-th allocation fails, counted over its making and one multiply.
 * True once N is past the last. Pinned memory may be missing without harm. */
static bool survives_gemm_of(const char *device, int64_t rows, bool may_go_on, int64_t n)
{
    failing_pool_t pool = {.fail_at = n};
    memory_operands_t operands;
    rung_context *context;
    make_operands(&operands, rows);
    rung_status status = make_context(&pool, device, -1, &context);
    if (status != RUNG_OK) {
        assert_null(context);
        assert_int_equal(status, RUNG_STATUS_NO_MEMORY);
        assert_int_equal(pool.live, 0);
        return false;
    }
    status = multiply(context, &operands);
    bool failed = pool.made >= n;
    if (failed && !(may_go_on && status == RUNG_OK)) {
        if (status != RUNG_STATUS_NO_MEMORY)
            fail_msg("allocation %lld failed on %s and the call said %s", (long long)n, device,
                     rung_status_name(status));
        assert_non_null(strstr(rung_error_text(), "memory"));
        status = multiply(context, &operands); /* there is memory again */
        if (status != RUNG_OK)
            fail_msg("after allocation %lld on %s the next call said %s: %s", (long long)n, device,
                     rung_status_name(status), rung_error_text());
    }
    assert_int_equal(status, RUNG_OK);
    assert_int_equal(unit_first_wrong(&operands.a, &operands.b, &operands.c), -1);
    rung_context_destroy(context);
    assert_int_equal(pool.live, 0);
    assert_int_equal(pool.misplaced, 0);
    return !failed;
}

static bool survives_gemm(const char *device, int64_t n)
{
    return survives_gemm_of(device, 3, false, n);
}

static void gemm_on_the_cpu(void **state)
{
    int64_t n = 1;
    (void)state;
    while (!survives_gemm("cpu", n))
        n++;
    assert_true(n > 5);
}

static void gemm_on_opencl(void **state)
{
    int64_t n = 1;
    (void)state;
    if (!has_opencl())
        skip();
    while (!survives_gemm("opencl", n))
        n++;
    assert_true(n > 10);
}

static void gemm_in_panels(void **state)
{
    int64_t n = 1;
    (void)state;
    if (!has_opencl())
        skip();
    setenv("RUNG_OVERLAP", "1", 1);
    while (!survives_gemm_of("opencl", 60, true, n))
        n++;
    unsetenv("RUNG_OVERLAP");
    assert_true(n > 30);
}

/* ---- The long way ---------------------------------------------------------------- */

typedef struct memory_objects {
    rung_device *device;
    rung_queue *queue;
    rung_event *event;
    rung_buffer *a, *b, *c;
    rung_plan *plan;
    float result[16];
} memory_objects_t;

static rung_status make_objects(rung_context *context, const char *device, memory_objects_t *objects)
{
    rung_status status = rung_device_open(context, device, &objects->device);
    if (status == RUNG_OK)
        status = rung_queue_create(objects->device, &objects->queue);
    if (status == RUNG_OK)
        status = rung_event_create(objects->device, &objects->event);
    if (status == RUNG_OK)
        status = rung_buffer_create(objects->device, 64, &objects->a);
    if (status == RUNG_OK)
        status = rung_buffer_create(objects->device, 64, &objects->b);
    if (status == RUNG_OK)
        status = rung_buffer_create(objects->device, 64, &objects->c);
    return status;
}

static rung_status run_objects(memory_objects_t *objects)
{
    static const float ones[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, 4, 4, objects->a, 0),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, objects->b, 0),
                                           rung_matrix_in_buffer(RUNG_F32, 4, 4, objects->c, 0));
    rung_run_options run = {.size = sizeof(rung_run_options), .signal = objects->event};
    rung_status status = rung_buffer_write(objects->queue, objects->a, 0, 64, ones, NULL);
    if (status == RUNG_OK)
        status = rung_buffer_write(objects->queue, objects->b, 0, 64, ones, NULL);
    if (status == RUNG_OK)
        status = rung_plan_create(objects->device, &problem, NULL, &objects->plan);
    if (status == RUNG_OK)
        status = rung_plan_run(objects->plan, objects->queue, &problem, &run);
    if (status == RUNG_OK)
        status = rung_buffer_read(objects->queue, objects->c, 0, 64, objects->result, NULL);
    if (status == RUNG_OK)
        status = rung_queue_finish(objects->queue);
    return status;
}

static void destroy_objects(memory_objects_t *objects)
{
    rung_plan_destroy(objects->plan);
    rung_buffer_destroy(objects->a);
    rung_buffer_destroy(objects->b);
    rung_buffer_destroy(objects->c);
    rung_event_destroy(objects->event);
    rung_queue_destroy(objects->queue);
    rung_device_close(objects->device);
}

static rung_status run_with_plan(rung_context *context, const char *device)
{
    memory_objects_t objects = {0};
    rung_status status = make_objects(context, device, &objects);
    if (status == RUNG_OK)
        status = run_objects(&objects);
    for (int i = 0; status == RUNG_OK && i < 16; i++)
        assert_true(objects.result[i] == 4.0f);
    destroy_objects(&objects);
    return status;
}

static void ignore_line(void *user, const char *line)
{
    (void)line;
    ++*(int *)user;
}

/* Verbose, so that the notes of a trace are among what fails. */
static bool survives_plan_calls(const char *device, int64_t n)
{
    failing_pool_t pool = {0};
    rung_context *context;
    int lines = 0;
    rung_context_options options = {.size = sizeof(rung_context_options),
                                    .verbose = 1,
                                    .log = ignore_line,
                                    .log_user = &lines,
                                    .allocate = pool_allocate,
                                    .release = pool_release,
                                    .memory_user = &pool};
    assert_int_equal(rung_context_create(&options, &context), RUNG_OK);
    pool.made = 0;
    pool.fail_at = n;
    rung_status status = run_with_plan(context, device);
    bool failed = pool.made >= n;
    if (failed) {
        assert_int_equal(status, RUNG_STATUS_NO_MEMORY);
        assert_int_equal(run_with_plan(context, device), RUNG_OK);
    } else {
        assert_int_equal(status, RUNG_OK);
    }
    rung_context_destroy(context);
    assert_int_equal(pool.live, 0);
    assert_int_equal(pool.misplaced, 0);
    return !failed;
}

static void plans_on_the_cpu(void **state)
{
    int64_t n = 1;
    (void)state;
    while (!survives_plan_calls("cpu", n))
        n++;
    assert_true(n > 10);
}

static void plans_on_opencl(void **state)
{
    int64_t n = 1;
    (void)state;
    if (!has_opencl())
        skip();
    while (!survives_plan_calls("opencl", n))
        n++;
    assert_true(n > 10);
}

/* "Running a plan never allocates." */
static void running_allocates_nothing(void **state)
{
    failing_pool_t pool = {0};
    rung_context *context;
    memory_objects_t objects = {0};
    const char *devices[] = {"cpu", "opencl"};
    (void)state;
    for (int i = 0; i < (has_opencl() ? 2 : 1); i++) {
        assert_int_equal(make_context(&pool, NULL, -1, &context), RUNG_OK);
        assert_int_equal(make_objects(context, devices[i], &objects), RUNG_OK);
        assert_int_equal(run_objects(&objects), RUNG_OK);
        int64_t before = pool.made;
        rung_problem problem = rung_problem_of(rung_matrix_in_buffer(RUNG_F32, 4, 4, objects.a, 0),
                                               rung_matrix_in_buffer(RUNG_F32, 4, 4, objects.b, 0),
                                               rung_matrix_in_buffer(RUNG_F32, 4, 4, objects.c, 0));
        rung_run_options run = {
            .size = sizeof(rung_run_options), .wait = &objects.event, .wait_count = 1, .signal = objects.event};
        for (int repeat = 0; repeat < 10; repeat++)
            assert_int_equal(rung_plan_run(objects.plan, objects.queue, &problem, &run), RUNG_OK);
        assert_int_equal(rung_queue_finish(objects.queue), RUNG_OK);
        assert_int_equal(pool.made, before);
        destroy_objects(&objects);
        memset(&objects, 0, sizeof objects);
        rung_context_destroy(context);
        assert_int_equal(pool.live, 0);
    }
}

/* ---- Lists ------------------------------------------------------------------------- */

static rung_status make_lists(rung_context *context)
{
    rung_device_list *devices;
    rung_dependency_list *dependencies;
    rung_status status = rung_device_list_create(context, &devices);
    assert_true((status == RUNG_OK) == (devices != NULL));
    if (status == RUNG_OK) {
        status = rung_dependency_list_create(context, &dependencies);
        assert_true((status == RUNG_OK) == (dependencies != NULL));
        rung_dependency_list_destroy(dependencies);
    }
    rung_device_list_destroy(devices);
    return status;
}

static void lists_of_devices(void **state)
{
    bool failed = true;
    int64_t n = 1;
    (void)state;
    for (; failed; n++) {
        failing_pool_t pool = {0};
        rung_context *context;
        assert_int_equal(make_context(&pool, NULL, -1, &context), RUNG_OK);
        pool.made = 0;
        pool.fail_at = n;
        rung_status status = make_lists(context);
        failed = pool.made >= n;
        assert_int_equal(status, failed ? RUNG_STATUS_NO_MEMORY : RUNG_OK);
        if (failed)
            assert_non_null(strstr(rung_error_text(), "out of memory"));
        pool.fail_at = 0;
        assert_int_equal(make_lists(context), RUNG_OK); /* there is memory again */
        rung_context_destroy(context);
        assert_int_equal(pool.live, 0);
        assert_int_equal(pool.misplaced, 0);
    }
    assert_true(n > 20);
}

/* ---- Candidates -------------------------------------------------------------------- */

static rung_status list_candidates(rung_context *context)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 40, 40, NULL),
                                           rung_matrix_of(RUNG_F32, 40, 40, NULL),
                                           rung_matrix_of(RUNG_F32, 40, 40, NULL));
    rung_candidate_list *list = NULL;
    rung_device *device;
    rung_status status = rung_device_open(context, "cpu", &device);
    if (status == RUNG_OK)
        status = rung_candidate_list_create(device, &problem, NULL, &list);
    assert_true((status == RUNG_OK) == (list != NULL));
    rung_device_close(device);
    rung_candidate_list_destroy(list);
    return status;
}

static int stop_at_three(void *user, const rung_tune_progress *progress)
{
    (void)user;
    return progress->tried >= 3;
}

static rung_status tune(rung_context *context)
{
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 16, 16, NULL),
                                           rung_matrix_of(RUNG_F32, 16, 16, NULL),
                                           rung_matrix_of(RUNG_F32, 16, 16, NULL));
    rung_tune_options options = rung_tune_options_default();
    rung_tune_report *report = NULL;
    rung_device *device;
    options.seconds = 600;
    options.path = "";
    options.progress = stop_at_three;
    rung_status status = rung_device_open(context, "cpu", &device);
    if (status == RUNG_OK)
        status = rung_tune(device, &problem, &options, &report);
    assert_true((status == RUNG_OK) == (report != NULL));
    rung_device_close(device);
    rung_tune_report_destroy(report);
    return status;
}

/* Returns true once n is past the last allocation of this work. */
static bool survives(rung_status (*work)(rung_context *context), int64_t n)
{
    failing_pool_t pool = {0};
    rung_context *context;
    assert_int_equal(make_context(&pool, NULL, -1, &context), RUNG_OK);
    pool.made = 0;
    pool.fail_at = n;
    rung_status status = work(context);
    bool failed = pool.made >= n;
    assert_int_equal(status, failed ? RUNG_STATUS_NO_MEMORY : RUNG_OK);
    if (failed)
        assert_int_equal(work(context), RUNG_OK);
    rung_context_destroy(context);
    assert_int_equal(pool.live, 0);
    assert_int_equal(pool.misplaced, 0);
    return !failed;
}

static void listing_candidates(void **state)
{
    int64_t n = 1;
    (void)state;
    while (!survives(list_candidates, n))
        n++;
    assert_true(n > 20);
}

static void tuning(void **state)
{
    int64_t n = 1;
    (void)state;
    while (!survives(tune, n))
        n++;
    assert_true(n > 30);
}

/* ---- Kernels of the caller's ----------------------------------------------------- */

#ifdef RUNG_WITH_OPENCL
static void reading_a_kernel(void **state)
{
    static const char text[] = "/* mine - a kernel */\n"
                               "#ifndef TILE\n#define TILE 8 // 8 16\n#endif\n"
                               "#define BM TILE\nKERNEL(TILE) mine(\n";
    failing_pool_t pool = {0};
    rung_context *context;
    (void)state;
    assert_int_equal(make_context(&pool, NULL, -1, &context), RUNG_OK);
    int64_t before = pool.live, n = 1;
    for (;; n++) {
        rung_kernel *kernel;
        pool.made = 0;
        pool.fail_at = n;
        rung_status status = rung_kernel_from_source(context, "opencl", "mine.cu", text, &kernel);
        if (status == RUNG_OK && pool.made < n) {
            rung_kernel_destroy(kernel);
            break;
        }
        assert_int_equal(status, RUNG_STATUS_NO_MEMORY);
        assert_null(kernel);
        assert_int_equal(pool.live, before);
    }
    assert_true(n > 3);
    rung_context_destroy(context);
    assert_int_equal(pool.live, 0);
}

/* A kernel keeps its context; destroyed last, it must give that back too. */
static void a_kernel_outlives_its_context(void **state)
{
    failing_pool_t pool = {0};
    rung_context *context;
    rung_kernel *kernel;
    int64_t value;
    (void)state;
    assert_int_equal(make_context(&pool, NULL, -1, &context), RUNG_OK);
    assert_int_equal(rung_kernel_from_source(context, "opencl", "mine.cu", "#define BM 5\n", &kernel), RUNG_OK);
    rung_context_destroy(context);
    assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, "BM", &value), RUNG_OK);
    assert_int_equal(value, 5);
    rung_kernel_destroy(kernel);
    assert_int_equal(pool.live, 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_on_the_cpu),  cmocka_unit_test(gemm_on_opencl),
        cmocka_unit_test(gemm_in_panels),   cmocka_unit_test(plans_on_the_cpu),
        cmocka_unit_test(plans_on_opencl),  cmocka_unit_test(running_allocates_nothing),
        cmocka_unit_test(lists_of_devices), cmocka_unit_test(listing_candidates),
        cmocka_unit_test(tuning),
#ifdef RUNG_WITH_OPENCL
        cmocka_unit_test(reading_a_kernel), cmocka_unit_test(a_kernel_outlives_its_context),
#endif
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
