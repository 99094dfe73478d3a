/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_kernel.c - 12_matrix on the processor, where `rung verify` cannot look: memory that may not be touched at all, C cut
 * between threads, a system that gives no tiles. Whether results are right is tests/conform's. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, sigaltstack */
#include "support/unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/kernel.h"
#include "cpu/kernels/cpu_kernels.h"

enum { PAGE = 4096 };

/* ---- Memory between pages that cannot be read ------------------------------------------------------ */

typedef struct arena {
    char *map;
    size_t bytes; /* of the map */
    void *first;  /* of what may be touched */
} arena_t;

/* At the end of its pages, or at their beginning. */
static arena_t arena_of(int64_t bytes, bool at_end)
{
    size_t inside = ((size_t)bytes + PAGE - 1) / PAGE * PAGE + PAGE;
    arena_t arena = {.bytes = inside + 2 * PAGE};
    arena.map = mmap(NULL, arena.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(arena.map != MAP_FAILED);
    assert_int_equal(mprotect(arena.map + PAGE, inside, PROT_READ | PROT_WRITE), 0);
    arena.first = at_end ? arena.map + PAGE + inside - bytes : arena.map + PAGE;
    return arena;
}

static void arena_free(arena_t *arena)
{
    munmap(arena->map, arena->bytes);
}

/* ---- Problems ------------------------------------------------------------------------------------------- */

typedef struct engine_shape {
    int64_t m, n, k;
} engine_shape_t;

/* How an operand stands: neighbours along its rows, along its columns, or nowhere; or along rows that begin at
 * multiples of 128 bytes. */
typedef enum memory_layout { BY_ROWS, BY_COLUMNS, STRIDED, ALIGNED, MEMORY_LAYOUTS } memory_layout_t;

typedef struct engine_case {
    rungi_cpu_features features;
    rungi_cpu_kernel_config config;
    rungi_cpu_job job;
    rung_kernel *kernel;
    int64_t parameters[7];
    arena_t a, b, c, bias, scratch;
    int64_t c_bytes;
} engine_case_t;

static rungi_cpu_input strides_of(memory_layout_t standing, int64_t rows, int64_t cols)
{
    switch (standing) {
    case BY_COLUMNS: return (rungi_cpu_input){NULL, 1, rows + 3};
    case STRIDED: return (rungi_cpu_input){NULL, 2 * cols + 1, 2};
    case ALIGNED: return (rungi_cpu_input){NULL, (cols + 129) / 128 * 128, 1};
    case BY_ROWS:
    case MEMORY_LAYOUTS: break;
    }
    return (rungi_cpu_input){NULL, cols, 1};
}

static int64_t span_of(rungi_cpu_input view, int64_t rows, int64_t cols)
{
    return rows > 0 && cols > 0 ? (rows - 1) * view.row_stride + (cols - 1) * view.col_stride + 1 : 0;
}

static void set(rung_type type, void *to, int64_t place, float x, int64_t whole)
{
    switch (type) {
    case RUNG_F32: ((float *)to)[place] = x; break;
    case RUNG_BF16: ((uint16_t *)to)[place] = rung_bf16_from_f32(x); break;
    case RUNG_I32: ((int32_t *)to)[place] = (int32_t)whole; break;
    default: ((int8_t *)to)[place] = (int8_t)whole;
    }
}

/* Ordinary numbers, and where they may be wild here and there such that parts do not take: huge, tiny, infinite. The
 * same ones however the matrix stands; between them NaN. */
static void fill(rung_type type, void *to, rungi_cpu_input view, int64_t rows, int64_t cols, uint64_t seed,
                 bool is_wild)
{
    memset(to, 0xff, (size_t)(span_of(view, rows, cols) * rung_type_size(type)));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            float x = (float)(unit_random(&seed, 2000001) - 1000000) * 0x1p-20f;
            int64_t odd = is_wild ? unit_random(&seed, 3000) : 100;
            if (odd < 4)
                x *= (float[]){0x1p-100f, 0x1p90f, 0x1p-140f, INFINITY}[odd];
            set(type, to, i * view.row_stride + j * view.col_stride, x, unit_random(&seed, 256) - 128);
        }
}

static void set_parameters(engine_case_t *setting, const char *text)
{
    rungi_parameter_values values;
    assert_int_equal(rung_kernel_find(NULL, "cpu", "12", &setting->kernel), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(setting->kernel, text, 4, &values), RUNG_OK);
    memcpy(setting->parameters, values.value, sizeof setting->parameters);
}

static void begin(engine_case_t *setting, rung_type in, rung_type out, engine_shape_t size, memory_layout_t standing,
                  bool at_end, const char *parameters)
{
    rungi_cpu_input a = strides_of(standing, size.m, size.k), b = strides_of(standing, size.k, size.n);
    int64_t a_count = span_of(a, size.m, size.k), b_count = span_of(b, size.k, size.n);
    int64_t c_stride = at_end ? size.n : (size.n + 31) / 16 * 16, c_count = (size.m - 1) * c_stride + size.n;
    memset(setting, 0, sizeof *setting);
    set_parameters(setting, parameters);
    rungi_cpu_features_detect(&setting->features);
    setting->c_bytes = c_count * rung_type_size(out);
    setting->a = arena_of(a_count * rung_type_size(in), at_end);
    setting->b = arena_of(b_count * rung_type_size(in), at_end);
    setting->c = arena_of(setting->c_bytes, at_end);
    setting->bias = arena_of(size.n * rung_type_size(out), at_end);
    fill(in, setting->a.first, a, size.m, size.k, 1, in == RUNG_F32);
    fill(in, setting->b.first, b, size.k, size.n, 2, in == RUNG_F32);
    fill(out, setting->bias.first, (rungi_cpu_input){NULL, size.n, 1}, 1, size.n, 3, false);
    a.first = setting->a.first;
    b.first = setting->b.first;
    setting->config = (rungi_cpu_kernel_config){.grain_m = 1, .grain_n = 1};
    setting->job = (rungi_cpu_job){.in = in,
                                   .b_type = in,
                                   .out = out,
                                   .m = size.m,
                                   .n = size.n,
                                   .k = size.k,
                                   .alpha = 1,
                                   .a = a,
                                   .b = b,
                                   .c = {setting->c.first, c_stride, 1},
                                   .config = &setting->config,
                                   .features = &setting->features,
                                   .parameters = setting->parameters};
    assert_int_equal(rungi_cpu_12_matrix.configure(&setting->job, RUNG_COMPUTE_BF16X3, &setting->config), RUNG_OK);
    setting->scratch = arena_of((setting->config.scratch + PAGE - 1) / PAGE * PAGE, true);
    setting->job.scratch = setting->scratch.first;
}

static void end(engine_case_t *setting)
{
    arena_t *all[] = {&setting->a, &setting->b, &setting->c, &setting->bias, &setting->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        arena_free(all[i]);
}

/* The m x n block of C at (i, j), as the plan cuts it. */
static rungi_cpu_job job_of_block(const engine_case_t *setting, int64_t i, int64_t j, int64_t m, int64_t n)
{
    rungi_cpu_job part = setting->job;
    int64_t in = rung_type_size(part.in), out = rung_type_size(part.out);
    part.a.first = (const char *)part.a.first + i * part.a.row_stride * in;
    part.b.first = (const char *)part.b.first + j * part.b.col_stride * in;
    part.c.first = (char *)part.c.first + (i * part.c.row_stride + j) * out;
    if (part.bias.first)
        part.bias.first = (const char *)part.bias.first + j * out;
    part.m = m;
    part.n = n;
    part.first_col = j;
    return part;
}

static void run_partitioned(const engine_case_t *setting, int64_t m_step, int64_t n_step)
{
    const rungi_cpu_job *job = &setting->job;
    for (int64_t i = 0; i < job->m; i += m_step)
        for (int64_t j = 0; j < job->n; j += n_step) {
            rungi_cpu_job part = job_of_block(setting, i, j, job->m - i < m_step ? job->m - i : m_step,
                                              job->n - j < n_step ? job->n - j : n_step);
            memset(part.scratch, 0xff, (size_t)setting->config.scratch); /* NaN: nothing is left from before */
            rungi_cpu_12_matrix.run(&part);
        }
}

/* ---- What there is to be tried ------------------------------------------------------------------------------ */

static const struct {
    rung_type in, out;
} products[] = {{RUNG_BF16, RUNG_F32}, {RUNG_BF16, RUNG_BF16}, {RUNG_I8, RUNG_I32}, {RUNG_F32, RUNG_F32}};
enum { PRODUCTS = sizeof products / sizeof *products };

/* Small ones, thin ones, large ones, one row, one column; edges of panels, of steps and of slices. */
static const engine_shape_t shapes[] = {
    {64, 64, 64},     {33, 65, 31},  {70, 100, 300}, {1, 130, 77},
    {129, 1, 77},     {16, 64, 128}, {17, 200, 129}, {5, 33, 600},
    {100, 90, 1},     {96, 160, 65}, {40, 41, 513},  {80, 600, 352} /* two blocks of rows; tile loops copy A */,
    {70, 64, 140000}, /* more of B than is kept packed; the last, and not for all tests */
};
enum { SHAPES = sizeof shapes / sizeof *shapes - 1 };

static const char *const levels[] = {"amx", "dot"};

/* Whether this processor has so much; the environment takes it for no more. */
static bool has_level(const char *level)
{
    rungi_cpu_features features;
    setenv("RUNG_CPU_ISA", level, 1);
    rungi_cpu_features_detect(&features);
    return strcmp(rungi_isa_name(features.isa), level) == 0;
}

/* Returns whether 12_matrix multiplies the types: some processors have dot products of I8 alone. */
static bool supports(int product)
{
    rungi_cpu_features features;
    rungi_cpu_features_detect(&features);
    switch (products[product].in) {
    case RUNG_I8: return features.has_vnni;
    case RUNG_BF16: return features.has_bf16;
    default: return features.isa == RUNGI_ISA_AMX;
    }
}

/* ---- Tests ------------------------------------------------------------------------------------------------------ */

/* A check for each level, product, shape and way to stand, which has its parameters. */
typedef void check_t(engine_case_t *setting, int way);

static void for_each_configuration(const char *(*parameters)(int way), check_t *check)
{
    for (size_t level = 0; level < 2; level++)
        for (int product = 0; has_level(levels[level]) && product < PRODUCTS; product++)
            for (int shape = 0; supports(product) && shape < SHAPES; shape++)
                for (int way = 0; way < 2 * MEMORY_LAYOUTS; way++) {
                    engine_case_t setting;
                    begin(&setting, products[product].in, products[product].out, shapes[shape],
                          (memory_layout_t)(way / 2), way % 2, parameters(way));
                    check(&setting, way);
                    end(&setting);
                }
}

static const char *default_parameters_once(int way)
{
    return way == 0 ? NULL : "tiny";
}

static const char *small_tiles_first(int way)
{
    return way < 4 ? "tiny" : NULL;
}

static void assert_in_bounds(engine_case_t *setting, int way)
{
    if (way % 3 == 1) {
        setting->job.bias = (rungi_cpu_input){setting->bias.first, 0, 1};
        setting->job.alpha = 3;
    }
    run_partitioned(setting, setting->job.m, setting->job.n);
}

/* Operands and scratch that end, or begin, where nothing may be read. */
static void test_ends_of_memory(void **state)
{
    (void)state;
    for_each_configuration(default_parameters_once, assert_in_bounds);
}

static void assert_same_bits_when_partitioned(engine_case_t *setting, int way)
{
    static const engine_shape_t steps[] = {{32, 1000, 0}, {1000, 32, 0}, {64, 96, 0}};
    char *whole = malloc((size_t)setting->c_bytes);
    (void)way;
    memset(setting->c.first, 0, (size_t)setting->c_bytes);
    run_partitioned(setting, setting->job.m, setting->job.n);
    memcpy(whole, setting->c.first, (size_t)setting->c_bytes);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_true(steps[i].m % setting->config.grain_m == 0 || steps[i].m >= setting->job.m);
        memset(setting->c.first, 0, (size_t)setting->c_bytes);
        run_partitioned(setting, steps[i].m, steps[i].n);
        assert_memory_equal(whole, setting->c.first, (size_t)setting->c_bytes);
    }
    free(whole);
}

/* However C is cut between threads, it has the same bits. */
static void test_partitions(void **state)
{
    (void)state;
    for_each_configuration(small_tiles_first, assert_same_bits_when_partitioned);
}

/* Replaces B by a packed B between pages that cannot be read, and B's own memory by nothing. */
static arena_t pack_b(engine_case_t *setting)
{
    setting->config = (rungi_cpu_kernel_config){
        .grain_m = 1, .grain_n = 1, .has_packed_b = true, .problem_n = setting->job.n};
    assert_int_equal(rungi_cpu_12_matrix.configure(&setting->job, RUNG_COMPUTE_BF16X3, &setting->config), RUNG_OK);
    arena_t packed = arena_of(setting->config.packed.bytes, true);
    rungi_cpu_12_matrix.pack(&setting->job, packed.first);
    setting->job.packed = packed.first;
    setting->job.b.first = NULL;
    arena_free(&setting->scratch);
    setting->scratch = arena_of((setting->config.scratch + PAGE - 1) / PAGE * PAGE, true);
    setting->job.scratch = setting->scratch.first;
    return packed;
}

static void assert_same_bits_packed_and_partitioned(engine_case_t *setting, int way)
{
    arena_t packed = pack_b(setting);
    assert_same_bits_when_partitioned(setting, way);
    arena_free(&packed);
}

/* A packed B: nothing outside it is read, and however C is cut, it has the same bits. */
static void test_packed(void **state)
{
    (void)state;
    for_each_configuration(small_tiles_first, assert_same_bits_packed_and_partitioned);
}

/* Blocks of any size sum alike, where nothing but the order in which they come differs; and so do tiles and
 * vectors of whole numbers. */
static void test_parameters(void **state)
{
    static const char *const parameters[] = {"tiny", NULL, "KC=256,KD=256,MC=32,NC=32,THIN=0,SMALL=0",
                                             "KC=1024,KD=4096,NC=96,SMALL=0",
                                             "KC=192,KD=768,MC=64,NC=288,THIN=0,SMALL=0"};
    enum { PARAMETERS = sizeof parameters / sizeof *parameters };
    (void)state;
    if (!has_level("amx"))
        return;
    for (int product = 0; products[product].in != RUNG_F32; product++)
        for (int shape = 0; shape <= SHAPES; shape++) {
            char *first = NULL;
            for (size_t i = 0; i <= PARAMETERS; i++) {
                engine_case_t setting;
                if (i == PARAMETERS && products[product].in != RUNG_I8)
                    continue;
                setenv("RUNG_CPU_ISA", i == PARAMETERS ? "dot" : "amx", 1);
                begin(&setting, products[product].in, products[product].out, shapes[shape], BY_ROWS, true,
                      parameters[i % PARAMETERS]);
                run_partitioned(&setting, setting.job.m, setting.job.n);
                if (first)
                    assert_memory_equal(first, setting.c.first, (size_t)setting.c_bytes);
                else
                    first = memcpy(malloc((size_t)setting.c_bytes), setting.c.first, (size_t)setting.c_bytes);
                end(&setting);
            }
            free(first);
        }
}

/* However A and B stand, in place or packed in whichever way, and with whatever between their elements. */
static void test_memory_layouts(void **state)
{
    (void)state;
    for (size_t level = 0; level < 2; level++)
        for (int product = 0; has_level(levels[level]) && product < PRODUCTS; product++)
            for (int shape = 0; supports(product) && shape < SHAPES; shape++) {
                char *first = NULL;
                int64_t row = shapes[shape].n * rung_type_size(products[product].out);
                for (int way = 0; way < MEMORY_LAYOUTS && shapes[shape].m > 1 && shapes[shape].n > 1; way++) {
                    engine_case_t setting;
                    begin(&setting, products[product].in, products[product].out, shapes[shape], (memory_layout_t)way,
                          way != ALIGNED, NULL);
                    run_partitioned(&setting, setting.job.m, setting.job.n);
                    first = first ? first : malloc((size_t)(row * setting.job.m));
                    for (int64_t i = 0; i < setting.job.m; i++) {
                        const char *c = (const char *)setting.c.first +
                                        i * setting.job.c.row_stride * rung_type_size(setting.job.out);
                        if (way == 0)
                            memcpy(first + i * row, c, (size_t)row);
                        assert_memory_equal(first + i * row, c, (size_t)row);
                    }
                    end(&setting);
                }
                free(first);
            }
}

/* A processor that has less says so, and what it lacks. */
static void test_isa_below_dot_products(void **state)
{
    static const struct {
        rung_type in, out;
        const char *level, *words;
    } refused[] = {
        {RUNG_BF16, RUNG_F32, "avx512", "AVX512_BF16"},
        {RUNG_I8, RUNG_I32, "avx512", "AVX512_VNNI"},
        {RUNG_F32, RUNG_F32, "dot", "AMX"},
        {RUNG_F32, RUNG_F32, "portable", "AMX"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        rungi_cpu_features features;
        rungi_cpu_kernel_config config = {.grain_m = 1, .grain_n = 1};
        engine_case_t setting;
        setenv("RUNG_CPU_ISA", refused[i].level, 1);
        rungi_cpu_features_detect(&features);
        set_parameters(&setting, NULL);
        rungi_cpu_job job = {.in = refused[i].in,
                             .b_type = refused[i].in,
                             .out = refused[i].out,
                             .m = 8,
                             .n = 8,
                             .k = 8,
                             .a = {NULL, 8, 1},
                             .b = {NULL, 8, 1},
                             .c = {NULL, 8, 1},
                             .features = &features,
                             .parameters = setting.parameters};
        assert_int_equal(rungi_cpu_12_matrix.configure(&job, RUNG_COMPUTE_BF16X3, &config), RUNG_STATUS_UNSUPPORTED);
        assert_non_null(strstr(rung_error_text(), "12_matrix"));
        assert_non_null(strstr(rung_error_text(), refused[i].words));
    }
}

/* ---- Tiles that the system does not give ------------------------------------------------------------------------ */

/* 0 if a plan for f32 by 12_matrix is refused in a sentence, bytes are multiplied by dot products if there are any, and an
 * open choice for BF16 takes another kernel. */
static int plan_without_tiles(void)
{
    int8_t bytes[2][16] = {{2, 0, 0, 0, 0, -3}, {5, 0, 0, 0, 0, 7}};
    float numbers[3][16] = {{0}};
    uint16_t halves[16] = {0};
    int32_t sums[16];
    rung_device *device;
    rung_queue *queue;
    rung_kernel *kernel;
    rung_plan *plan;
    rung_problem parts = rung_problem_of(rung_matrix_of(RUNG_F32, 4, 4, numbers[0]),
                                         rung_matrix_of(RUNG_F32, 4, 4, numbers[1]),
                                         rung_matrix_of(RUNG_F32, 4, 4, numbers[2]));
    rung_problem whole = rung_problem_of(rung_matrix_of(RUNG_I8, 4, 4, bytes[0]),
                                         rung_matrix_of(RUNG_I8, 4, 4, bytes[1]), rung_matrix_of(RUNG_I32, 4, 4, sums));
    rung_problem half = rung_problem_of(rung_matrix_of(RUNG_BF16, 4, 4, halves),
                                        rung_matrix_of(RUNG_BF16, 4, 4, halves),
                                        rung_matrix_of(RUNG_F32, 4, 4, numbers[2]));
    if (rung_device_open(NULL, "cpu", &device) != RUNG_OK || rung_queue_create(device, &queue) != RUNG_OK ||
        rung_kernel_find(NULL, "cpu", "12", &kernel) != RUNG_OK)
        return 1;
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = kernel};
    parts.compute = RUNG_COMPUTE_BF16X3;
    if (rung_plan_create(device, &parts, &options, &plan) != RUNG_STATUS_UNSUPPORTED)
        return 2;
    if (!strstr(rung_error_text(), "12_matrix") || !strstr(rung_error_text(), "sigaltstack"))
        return 3;
    if (rung_plan_create(device, &whole, &options, &plan) != RUNG_OK ||
        rung_plan_run(plan, queue, &whole, NULL) != RUNG_OK || sums[0] != 10 || sums[5] != -21)
        return 4;
    if (rung_plan_create(device, &half, NULL, &plan) != RUNG_OK)
        return 5;
    return strcmp(rung_plan_describe(plan)->kernel, "12_matrix") == 0 ? 7 : 0;
}

/* The system keeps AMX from a process in which a signal's stack has no room for its registers. */
static int with_a_small_stack(void)
{
    static char memory[8192];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    return sigaltstack(&stack, NULL) == 0 ? plan_without_tiles() : 6;
}

/* And a sandbox may refuse the call. */
static int with_a_filter(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 6;
    return plan_without_tiles();
}

static int run_in_child_process(int (*function)(void))
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(function());
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* Before any other test: what a process was given once, it and its children keep. */
static void test_no_tiles(void **state)
{
    (void)state;
    if (!has_level("amx"))
        return;
    assert_int_equal(run_in_child_process(with_a_small_stack), 0);
    assert_int_equal(run_in_child_process(with_a_filter), 0);
}

/* ---- Where it is not worth it -------------------------------------------------------------------------------------- */

/* Returns the kernel of a plan for bf16x3: `named`, or the library's choice. */
static const char *selected_kernel(rung_device *device, const rung_kernel *named, bool packs_b, int64_t m, int64_t n,
                                   int64_t k)
{
    static float zeros[96 * 3000], c[96 * 300];
    static char name[64];
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, m, k, zeros), rung_matrix_of(RUNG_F32, k, n, zeros),
                                           rung_matrix_of(RUNG_F32, m, n, c));
    rung_plan_options options = {.size = sizeof(rung_plan_options), .kernel = named, .packed_b = packs_b};
    rung_plan *plan;
    problem.compute = RUNG_COMPUTE_BF16X3;
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_OK);
    snprintf(name, sizeof name, "%s", rung_plan_describe(plan)->kernel);
    rung_plan_destroy(plan);
    return name;
}

/* Three parts of B for a few rows of A cost more than they bring: who leaves the choice gets a faster kernel, who names
 * this one gets it. */
static void test_few_rows(void **state)
{
    rung_device *device;
    rung_kernel *kernel;
    (void)state;
    if (!has_level("amx"))
        return;
    assert_int_equal(rung_device_open(NULL, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_kernel_find(NULL, "cpu", "12", &kernel), RUNG_OK);
    assert_string_equal(selected_kernel(device, NULL, false, 64, 64, 64), "12_matrix");
    assert_string_equal(selected_kernel(device, NULL, false, 96, 280, 950), "12_matrix");
    assert_string_equal(selected_kernel(device, NULL, false, 95, 280, 950), "10_pipeline");
    assert_string_equal(selected_kernel(device, NULL, false, 1, 300, 300), "10_pipeline");
    assert_string_equal(selected_kernel(device, NULL, false, 64, 47, 64), "10_pipeline");
    assert_string_equal(selected_kernel(device, NULL, false, 64, 64, 31), "10_pipeline");
    assert_string_equal(selected_kernel(device, kernel, false, 1, 300, 300), "12_matrix");
    /* A packed B is used with any number of rows. */
    assert_string_equal(selected_kernel(device, NULL, true, 64, 48, 32), "12_matrix");
    assert_string_equal(selected_kernel(device, NULL, true, 1, 300, 300), "12_matrix");
    assert_string_equal(selected_kernel(device, NULL, true, 64, 47, 64), "10_pipeline");
    assert_string_equal(selected_kernel(device, NULL, true, 64, 64, 31), "10_pipeline");
    rung_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_tiles),       cmocka_unit_test(test_isa_below_dot_products),
        cmocka_unit_test(test_ends_of_memory), cmocka_unit_test(test_partitions),
        cmocka_unit_test(test_packed),         cmocka_unit_test(test_memory_layouts),
        cmocka_unit_test(test_parameters),     cmocka_unit_test(test_few_rows),
    };
    unit_clean_environment();
    if (!has_level("dot")) {
        printf("no dot products here\n");
        return UNIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
