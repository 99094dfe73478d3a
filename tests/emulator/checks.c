/* SPDX-License-Identifier: Apache-2.0 */
/* checks.c - the emulator's checks find each planted bug of checks_bugs.cu at its line, with any number of threads, and
 * find nothing in the kernels of checks_correct.cu. The PTX files beside the sources are what nvcc made of them. */
#include "support/unit.h"

#include <stdio.h>

#include "rung/emulator.h"

#ifndef EMULATOR_TEST_DIR
#define EMULATOR_TEST_DIR "tests/emulator"
#endif

enum { FREED = 1, UNWRITTEN = 2, FAILS = 4 }; /* what is done with the first array; FAILS: the launch fails */

typedef struct bug {
    const char *kernel;
    rung_emulator_finding_kind kind;
    uint32_t blocks, threads;
    int64_t in_bytes, out_bytes;
    int flags;
} bug_t;

static const bug_t bugs[] = {
    {"bounds_read", RUNG_EMULATOR_OUT_OF_BOUNDS, 4, 64, 1024, 1024, 0},
    {"bounds_write", RUNG_EMULATOR_OUT_OF_BOUNDS, 4, 64, 1024, 1024, 0},
    {"bounds_before", RUNG_EMULATOR_OUT_OF_BOUNDS, 1, 64, 1024, 1024, 0},
    {"bounds_shared", RUNG_EMULATOR_OUT_OF_BOUNDS, 1, 64, 1024, 1024, 0},
    {"bounds_byte_array", RUNG_EMULATOR_OUT_OF_BOUNDS, 1, 64, 66, 66, 0},
    {"misaligned", RUNG_EMULATOR_MISALIGNED, 1, 64, 1024, 1024, 0},
    {"use_after_free", RUNG_EMULATOR_USE_AFTER_FREE, 1, 64, 1024, 1024, FREED},
    {"constant_write", RUNG_EMULATOR_READ_ONLY, 1, 64, 1024, 1024, 0},
    {"divide_by_zero", RUNG_EMULATOR_DIVISION_BY_ZERO, 1, 64, 1024, 1024, 0},
    {"uninitialized_global", RUNG_EMULATOR_UNINITIALIZED, 1, 64, 1024, 1024, UNWRITTEN},
    {"uninitialized_shared", RUNG_EMULATOR_UNINITIALIZED, 1, 64, 1024, 1024, 0},
    {"uninitialized_local", RUNG_EMULATOR_UNINITIALIZED, 1, 64, 1024, 1024, 0},
    {"race_shared_read", RUNG_EMULATOR_RACE, 1, 256, 1024, 1024, 0},
    {"race_shared_reuse", RUNG_EMULATOR_RACE, 1, 64, 1024, 1024, 0},
    {"race_shared_writes", RUNG_EMULATOR_RACE, 1, 64, 1024, 1024, 0},
    {"race_warp", RUNG_EMULATOR_RACE, 1, 32, 1024, 1024, 0},
    {"race_half_warp", RUNG_EMULATOR_RACE, 1, 32, 1024, 1024, 0},
    {"race_named_barrier", RUNG_EMULATOR_RACE, 1, 96, 1024, 1024, 0},
    {"race_atomic_weak", RUNG_EMULATOR_RACE, 1, 64, 1024, 1024, 0},
    {"race_flag_without_fence", RUNG_EMULATOR_RACE, 1, 64, 1024, 1024, 0},
    {"race_in_place", RUNG_EMULATOR_RACE, 1, 128, 1024, 1024, 0},
    {"race_blocks", RUNG_EMULATOR_RACE, 8, 64, 1024, 1024, 0},
    {"race_blocks_read", RUNG_EMULATOR_RACE, 8, 32, 1024, 1024, 0},
    {"race_last_block", RUNG_EMULATOR_RACE, 8, 32, 1024, 1024, 0},
    {"race_block_fence", RUNG_EMULATOR_RACE, 8, 32, 1024, 1024, 0},
    {"copy_no_wait", RUNG_EMULATOR_ASYNC_COPY, 1, 64, 1024, 1024, 0},
    {"copy_wrong_group", RUNG_EMULATOR_ASYNC_COPY, 1, 64, 1024, 1024, 0},
    {"copy_no_commit", RUNG_EMULATOR_ASYNC_COPY, 1, 64, 1024, 1024, 0},
    {"copy_no_barrier", RUNG_EMULATOR_RACE, 1, 64, 1024, 1024, 0},
    {"copy_too_early", RUNG_EMULATOR_RACE, 1, 64, 1024, 1024, 0},
    {"copy_overwritten", RUNG_EMULATOR_ASYNC_COPY, 1, 64, 1024, 1024, 0},
    {"copy_source_overwritten", RUNG_EMULATOR_ASYNC_COPY, 1, 64, 1024, 1024, 0},
    {"copy_source_same_thread", RUNG_EMULATOR_ASYNC_COPY, 1, 64, 1024, 1024, 0},
    {"barrier_divergent", RUNG_EMULATOR_BARRIER, 1, 64, 1024, 1024, FAILS},
    {"barrier_two_branches", RUNG_EMULATOR_BARRIER, 1, 64, 1024, 1024, 0},
    {"barrier_exited", RUNG_EMULATOR_BARRIER, 1, 64, 1024, 1024, 0},
    {"barrier_deadlock", RUNG_EMULATOR_BARRIER, 1, 64, 1024, 1024, FAILS},
};

static const bug_t correct[] = {
    {"reduce_shared", 0, 4, 256, 4096, 1024, 0},
    {"reduce_volatile", 0, 4, 256, 4096, 1024, 0},
    {"reduce_shuffle", 0, 4, 256, 4096, 1024, 0},
    {"warp_exchange", 0, 1, 64, 1024, 1024, 0},
    {"group_exchange", 0, 1, 64, 1024, 1024, 0},
    {"named_barriers", 0, 1, 128, 1024, 1024, 0},
    {"producer_consumer", 0, 1, 64, 1024, 1024, 0},
    {"spin_lock_shared", 0, 1, 256, 1024, 1024, 0},
    {"spin_lock_blocks", 0, 4, 64, 1024, 1024, 0},
    {"flag_in_block", 0, 1, 64, 1024, 1024, 0},
    {"last_block", 0, 8, 32, 1024, 1024, 0},
    {"histogram", 0, 4, 256, 4096, 1024, 0},
    {"bytes", 0, 4, 99, 396, 396, 0},
    {"halves", 0, 4, 33, 264, 264, 0},
    {"copy_sources", 0, 1, 64, 2048, 1024, 0},
};

/* Reads a file beside this one into memory that the caller frees. */
static char *read_file(const char *name, size_t *bytes)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", EMULATOR_TEST_DIR, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = malloc(1 << 20);
    assert_non_null(text);
    *bytes = fread(text, 1, (1 << 20) - 1, file);
    text[*bytes] = 0;
    fclose(file);
    return text;
}

/* Returns the line of "// MARK kernel", or 0. */
static int find_line(const char *text, const char *mark, const char *kernel)
{
    char wanted[128];
    int line = 1;
    snprintf(wanted, sizeof wanted, "// %s %s\n", mark, kernel);
    const char *found = strstr(text, wanted);
    if (!found)
        return 0;
    for (const char *c = text; c < found; c++)
        line += *c == '\n';
    return line;
}

static rung_emulator *create(int64_t threads, uint32_t checks)
{
    rung_emulator_options options = rung_emulator_options_default();
    rung_emulator *emulator;
    options.checks = checks;
    options.threads = threads;
    options.memory_bytes = 1 << 26;
    options.max_instructions = 10 * 1000 * 1000;
    assert_int_equal(rung_emulator_create(&options, &emulator), RUNG_OK);
    return emulator;
}

/* Runs a kernel with the arrays in, out, third and fourth. */
static void run(rung_emulator *emulator, const char *file, const bug_t *bug)
{
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t in, out, third, fourth;
    size_t bytes;
    char *text = read_file(file, &bytes);
    assert_int_equal(rung_emulator_module_load(emulator, file, text, bytes, &module), RUNG_OK);
    free(text);
    assert_int_equal(rung_emulator_kernel_find(module, bug->kernel, &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, bug->in_bytes, "in", &in), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, bug->out_bytes, "out", &out), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, 256, "third", &third), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, 256, "fourth", &fourth), RUNG_OK);
    if (!(bug->flags & UNWRITTEN)) {
        int32_t values[1024];
        for (int i = 0; i < 1024; i++)
            values[i] = i % 3 - 1;
        assert_int_equal(rung_emulator_write(emulator, in, values, bug->in_bytes), RUNG_OK);
    }
    assert_int_equal(rung_emulator_fill(emulator, out, 0, 1, bug->out_bytes), RUNG_OK);
    assert_int_equal(rung_emulator_fill(emulator, third, 0, 1, 256), RUNG_OK);
    if (bug->flags & FREED)
        assert_int_equal(rung_emulator_free(emulator, in), RUNG_OK);
    void *arguments[] = {&in, &out, &third, &fourth};
    rung_emulator_launch launch = rung_emulator_launch_of(bug->blocks, bug->threads, arguments);
    rung_status status = rung_emulator_launch_kernel(kernel, &launch);
    if (status != ((bug->flags & FAILS) ? RUNG_STATUS_DEVICE_LOST : RUNG_OK))
        fail_msg("%s: status %d: %s", bug->kernel, (int)status, rung_error_text());
}

static void print_findings(rung_emulator *emulator)
{
    for (int64_t i = 0; i < rung_emulator_finding_count(emulator); i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(emulator, i);
        print_message("  %s %s:%d (other %d) x%lld: %s\n", rung_emulator_finding_name(finding->kind), finding->kernel,
                      finding->place.line, finding->other.line, (long long)finding->count, finding->text);
    }
}

/* ---- Tests --------------------------------------------------------------------------------------------------------- */

/* Returns what is wrong with the findings, or NULL. Every finding must be of the bug. */
static const char *judge(rung_emulator *emulator, const bug_t *bug, const char *source)
{
    int line = find_line(source, "BUG", bug->kernel), other = find_line(source, "OTHER", bug->kernel);
    if (rung_emulator_finding_count(emulator) == 0)
        return "nothing was found";
    bool has_found = false;
    for (int64_t i = 0; i < rung_emulator_finding_count(emulator); i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(emulator, i);
        bool is_consequence = finding->kind == RUNG_EMULATOR_UNINITIALIZED && finding->place.line == other;
        if (finding->kind != bug->kind && !is_consequence) /* what is read too early was not written before */
            return "a finding has another kind";
        bool is_here = finding->kind == bug->kind && finding->place.line == line &&
                       (!other || finding->other.line == other) && finding->place.file &&
                       strstr(finding->place.file, "checks_bugs.cu");
        has_found = has_found || is_here;
        if (finding->place.line != line && finding->other.line != line && !is_consequence)
            return "a finding is at another line";
    }
    return has_found ? NULL : "no finding has the line of the bug and the other line";
}

static void finds_planted_bugs(void **state)
{
    (void)state;
    size_t bytes;
    int wrong = 0;
    char *source = read_file("checks_bugs.cu", &bytes);
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        rung_emulator *emulator = create(1, RUNG_EMULATOR_CHECK_ALL);
        run(emulator, "checks_bugs.ptx", &bugs[i]);
        const char *problem = judge(emulator, &bugs[i], source);
        if (problem || getenv("VERBOSE")) {
            print_message("%s: %s; expected line %d\n", bugs[i].kernel, problem ? problem : "found",
                          find_line(source, "BUG", bugs[i].kernel));
            print_findings(emulator);
            wrong += problem != NULL;
        }
        rung_emulator_destroy(emulator);
    }
    free(source);
    assert_int_equal(wrong, 0);
}

static void finds_nothing_in_correct_kernels(void **state)
{
    (void)state;
    int wrong = 0;
    for (size_t i = 0; i < sizeof correct / sizeof *correct; i++) {
        rung_emulator *emulator = create(2, RUNG_EMULATOR_CHECK_ALL);
        run(emulator, "checks_correct.ptx", &correct[i]);
        if (rung_emulator_finding_count(emulator) > 0) {
            print_message("%s:\n", correct[i].kernel);
            print_findings(emulator);
            wrong++;
        }
        rung_emulator_destroy(emulator);
    }
    assert_int_equal(wrong, 0);
}

/* A message names the array, the byte offset and the size. */
static void describes_out_of_bounds(void **state)
{
    (void)state;
    rung_emulator *emulator = create(1, RUNG_EMULATOR_CHECK_ALL);
    run(emulator, "checks_bugs.ptx", &bugs[0]);
    assert_int_equal(rung_emulator_finding_count(emulator), 1);
    const rung_emulator_finding *finding = rung_emulator_finding_at(emulator, 0);
    assert_string_equal(finding->text, "read of 4 bytes at byte offset 1024 of \"in\", which has 1024 bytes");
    assert_int_equal(finding->place.block[0], 3);
    assert_int_equal(finding->place.thread[0], 63);
    rung_emulator_destroy(emulator);
}

/* Without checks, nothing but a fault is reported. A launch without checks initializes what it writes. */
static void checks_can_be_switched(void **state)
{
    (void)state;
    rung_emulator *emulator = create(1, 0);
    bug_t bug = {"race_shared_read", RUNG_EMULATOR_RACE, 1, 256, 1024, 1024, 0};
    run(emulator, "checks_bugs.ptx", &bug);
    assert_int_equal(rung_emulator_finding_count(emulator), 0);
    assert_int_equal(rung_emulator_set_checks(emulator, RUNG_EMULATOR_CHECK_ALL, false), RUNG_OK);
    run(emulator, "checks_bugs.ptx", &bug);
    assert_true(rung_emulator_finding_count(emulator) > 0);
    rung_emulator_findings_clear(emulator);
    assert_int_equal(rung_emulator_finding_count(emulator), 0);
    rung_emulator_destroy(emulator);
}

/* Runs a GEMM with copies in flight and compares its result. */
static void run_gemm(rung_emulator *emulator, int n)
{
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t matrix[3];
    size_t bytes;
    int64_t size = (int64_t)n * n;
    char *text = read_file("checks_correct.ptx", &bytes);
    float *values = malloc((size_t)size * sizeof *values), *result = malloc((size_t)size * sizeof *result);
    assert_int_equal(rung_emulator_module_load(emulator, "gemm", text, bytes, &module), RUNG_OK);
    assert_int_equal(rung_emulator_kernel_find(module, "gemm_double_buffered", &kernel), RUNG_OK);
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)(i % 7 - 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(rung_emulator_allocate(emulator, 4 * size,
                                                i == 0   ? "a"
                                                : i == 1 ? "b"
                                                         : "c",
                                                &matrix[i]),
                         RUNG_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rung_emulator_write(emulator, matrix[i], values, 4 * size), RUNG_OK);
    void *arguments[] = {&matrix[0], &matrix[1], &matrix[2], &n};
    rung_emulator_launch launch = rung_emulator_launch_of((uint32_t)n / 64, 256, arguments);
    launch.grid[1] = (uint32_t)n / 64;
    assert_int_equal(rung_emulator_launch_kernel(kernel, &launch), RUNG_OK);
    assert_int_equal(rung_emulator_read(emulator, matrix[2], result, 4 * size), RUNG_OK);
    for (int i = 0; i < n; i += 5)
        for (int j = 0; j < n; j += 3) {
            float sum = 0;
            for (int p = 0; p < n; p++)
                sum += values[i * n + p] * values[p * n + j];
            assert_true(sum == result[i * n + j]);
        }
    free(values);
    free(result);
    free(text);
}

static void gemm_has_no_findings(void **state)
{
    (void)state;
    rung_emulator *emulator = create(2, RUNG_EMULATOR_CHECK_ALL);
    run_gemm(emulator, 128);
    print_findings(emulator);
    assert_int_equal(rung_emulator_finding_count(emulator), 0);
    rung_emulator_destroy(emulator);
}

/* ---- Matrix products ----------------------------------------------------------------------------------------------- */

/* A kernel of checks_gemm.cu, and the mark of a line that one side of a finding must have. NULL: no finding. */
typedef struct product {
    const char *kernel, *mark;
    rung_emulator_finding_kind kind;
    int element_bytes, threads, rows; /* of a, b; of a block; of C in a block */
    int k;                            /* 0: a multiple of the tile's, or more than two tiles */
} product_t;

static const product_t products[] = {
    {"shared_correct", NULL, 0, 4, 256, 16, 0},
    {"shared_first_barrier", "tile_read", RUNG_EMULATOR_RACE, 4, 256, 16, 0},
    {"shared_second_barrier", "tile_read", RUNG_EMULATOR_RACE, 4, 256, 16, 0},
    {"shared_shared_read", "tile_read", RUNG_EMULATOR_OUT_OF_BOUNDS, 4, 256, 16, 0},
    {"shared_global_read", "tile_fill", RUNG_EMULATOR_OUT_OF_BOUNDS, 4, 256, 16, 0},
    {"shared_global_store", "tile_store", RUNG_EMULATOR_OUT_OF_BOUNDS, 4, 256, 16, 0},
    {"shared_unfilled_tail", "tile_read", RUNG_EMULATOR_UNINITIALIZED, 4, 256, 16, 5},
    {"shared_wrong_stride", "tile_fill_b", RUNG_EMULATOR_OUT_OF_BOUNDS, 4, 256, 16, 0},
    {"shared_divergent_barrier", "tile_barrier", RUNG_EMULATOR_BARRIER, 4, 256, 16, 0},
    {"pipelined_correct", NULL, 0, 2, 64, 32, 0},
    {"pipelined_skipped_rows", NULL, 0, 2, 64, 32, 0},
    {"pipelined_wait", "fragment_read", RUNG_EMULATOR_ASYNC_COPY, 2, 64, 32, 0},
    {"pipelined_no_commit", "fragment_read", RUNG_EMULATOR_ASYNC_COPY, 2, 64, 32, 0},
    {"pipelined_barrier", "fragment_read", RUNG_EMULATOR_RACE, 2, 64, 32, 0},
    {"pipelined_stage", "fragment_read", RUNG_EMULATOR_ASYNC_COPY, 2, 64, 32, 0},
    {"pipelined_row_edge", "copy_a", RUNG_EMULATOR_OUT_OF_BOUNDS, 2, 64, 32, 0},
    {"pipelined_unaligned", "copy_a", RUNG_EMULATOR_MISALIGNED, 2, 64, 32, 0},
    {"pipelined_slab_barrier", "slab_read", RUNG_EMULATOR_RACE, 2, 64, 32, 0},
    {"wmma_correct", NULL, 0, 2, 64, 32, 0},
    {"wmma_first_barrier", "wmma_load", RUNG_EMULATOR_RACE, 2, 64, 32, 0},
    {"wmma_second_barrier", "wmma_load", RUNG_EMULATOR_RACE, 2, 64, 32, 0},
    {"wmma_store_barrier", "wmma_read", RUNG_EMULATOR_RACE, 2, 64, 32, 0},
};

static void run_product(rung_emulator *emulator, const product_t *product)
{
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t a, b, c;
    size_t bytes;
    bool is_float = product->element_bytes ==
                    4; /* sizes that are no multiples of the tile's, where kernels allow them */
    int m = 40, n = is_float ? 25 : 32, k = product->k ? product->k : is_float ? 37 : 64;
    char *text = read_file("checks_gemm.ptx", &bytes);
    assert_int_equal(rung_emulator_module_load(emulator, "checks_gemm.ptx", text, bytes, &module), RUNG_OK);
    free(text);
    assert_int_equal(rung_emulator_kernel_find(module, product->kernel, &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, m * k * product->element_bytes, "a", &a), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, k * n * product->element_bytes, "b", &b), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, m * n * 4, "c", &c), RUNG_OK);
    assert_int_equal(rung_emulator_fill(emulator, a, 0, 1, m * k * product->element_bytes), RUNG_OK);
    assert_int_equal(rung_emulator_fill(emulator, b, 0, 1, k * n * product->element_bytes), RUNG_OK);
    void *arguments[] = {&a, &b, &c, &m, &n, &k};
    rung_emulator_launch launch = rung_emulator_launch_of((uint32_t)(n + 15) / 16, (uint32_t)product->threads,
                                                          arguments);
    launch.grid[1] = (uint32_t)((m + product->rows - 1) / product->rows);
    assert_int_equal(rung_emulator_launch_kernel(kernel, &launch), RUNG_OK);
}

static bool has_finding(rung_emulator *emulator, rung_emulator_finding_kind kind, int line)
{
    for (int64_t i = 0; i < rung_emulator_finding_count(emulator); i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(emulator, i);
        if (finding->kind == kind && (finding->place.line == line || finding->other.line == line))
            return true;
    }
    return false;
}

static void finds_bugs_of_matrix_products(void **state)
{
    (void)state;
    size_t bytes;
    int wrong = 0;
    char *source = read_file("checks_gemm.cu", &bytes);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const product_t *product = &products[i];
        rung_emulator *emulator = create(2, RUNG_EMULATOR_CHECK_ALL);
        run_product(emulator, product);
        int line = product->mark ? find_line(source, "BUG", product->mark) : 0;
        bool is_right = product->mark ? has_finding(emulator, product->kind, line)
                                      : rung_emulator_finding_count(emulator) == 0;
        if (!is_right || getenv("VERBOSE")) {
            print_message("%s: expected line %d\n", product->kernel, line);
            print_findings(emulator);
            wrong += !is_right;
        }
        rung_emulator_destroy(emulator);
    }
    free(source);
    assert_int_equal(wrong, 0);
}

/* The list of findings is the same with one thread and with several. */
static void compare_findings(rung_emulator *one, rung_emulator *four)
{
    assert_int_equal(rung_emulator_finding_count(one), rung_emulator_finding_count(four));
    for (int64_t i = 0; i < rung_emulator_finding_count(one); i++) {
        const rung_emulator_finding *x = rung_emulator_finding_at(one, i), *y = rung_emulator_finding_at(four, i);
        assert_string_equal(x->text, y->text);
        assert_int_equal(x->count, y->count);
        assert_int_equal(x->place.line, y->place.line);
        assert_int_equal(x->other.line, y->other.line);
    }
    rung_emulator_destroy(one);
    rung_emulator_destroy(four);
}

static void findings_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        rung_emulator *one = create(1, RUNG_EMULATOR_CHECK_ALL), *four = create(4, RUNG_EMULATOR_CHECK_ALL);
        run(one, "checks_bugs.ptx", &bugs[i]);
        run(four, "checks_bugs.ptx", &bugs[i]);
        compare_findings(one, four);
    }
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        rung_emulator *one = create(1, RUNG_EMULATOR_CHECK_ALL), *four = create(4, RUNG_EMULATOR_CHECK_ALL);
        run_product(one, &products[i]);
        run_product(four, &products[i]);
        compare_findings(one, four);
    }
}

/* What a launch without checks writes is initialized for later launches. */
static void plain_launches_initialize(void **state)
{
    (void)state;
    rung_emulator *emulator = create(1, RUNG_EMULATOR_CHECK_ALL);
    bug_t bug = {"uninitialized_global", RUNG_EMULATOR_UNINITIALIZED, 1, 64, 1024, 1024, UNWRITTEN};
    run(emulator, "checks_bugs.ptx", &bug);
    assert_int_equal(rung_emulator_finding_count(emulator), 1);
    rung_emulator_findings_clear(emulator);
    assert_int_equal(rung_emulator_set_checks(emulator, 0, false), RUNG_OK);
    run(emulator, "checks_bugs.ptx", &bug);
    assert_int_equal(rung_emulator_finding_count(emulator), 0);
    rung_emulator_destroy(emulator);
}

/* Findings of a kernel whose name is longer than what a finding keeps are one per line, too. */
static void groups_findings_of_long_names(void **state)
{
    char text[1024], name[400];
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t address = 0;
    void *arguments[] = {&address};
    rung_emulator *emulator = create(1, RUNG_EMULATOR_CHECK_ALL);
    rung_emulator_launch launch = rung_emulator_launch_of(1, 32, arguments);
    (void)state;
    memset(name, 'k', sizeof name);
    name[sizeof name - 1] = 0;
    snprintf(text, sizeof text,
             ".version 8.3\n.target sm_86\n.address_size 64\n.visible .entry %s(.param .u64 p)\n{\n.reg .b64 %%a;\n"
             "ld.param.u64 %%a, [p];\nst.global.b32 [%%a], 1;\nret;\n}\n",
             name);
    assert_int_equal(rung_emulator_module_load(emulator, "long.ptx", text, strlen(text), &module), RUNG_OK);
    assert_int_equal(rung_emulator_kernel_find(module, name, &kernel), RUNG_OK);
    rung_emulator_launch_kernel(kernel, &launch);
    assert_int_equal(rung_emulator_finding_count(emulator), 1);
    assert_int_equal(rung_emulator_finding_at(emulator, 0)->count, 32);
    rung_emulator_destroy(emulator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_planted_bugs),
        cmocka_unit_test(finds_nothing_in_correct_kernels),
        cmocka_unit_test(describes_out_of_bounds),
        cmocka_unit_test(findings_do_not_depend_on_threads),
        cmocka_unit_test(checks_can_be_switched),
        cmocka_unit_test(gemm_has_no_findings),
        cmocka_unit_test(finds_bugs_of_matrix_products),
        cmocka_unit_test(plain_launches_initialize),
        cmocka_unit_test(groups_findings_of_long_names),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
