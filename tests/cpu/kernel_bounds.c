/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_bounds.c - the CPU's kernels read and write what is theirs and nothing beside it.
 *
 * Every operand stands between two pages that nobody may touch, at the very end of what is
 * between them or at its very beginning, so that a vector that is loaded past an edge is a
 * fault and not luck. What lies between the elements of an operand is NaN, or -1, and must
 * stay so in C. Behind the scratch memory that a kernel asked for stand bytes that it must
 * not change. Numbers are small and whole: every result is exact in every type. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/kernel.h"
#include "cpu/kernels/cpu_kernels.h"

/* ---- Memory that ends where it ends ---------------------------------------------------------- */

enum { PAGE = 65536, PAGES = 16, SCRATCH_PAGES = 512, OPERANDS = 6 };

typedef struct region {
    char *start;
    int64_t bytes;
} region_t;

static region_t regions[OPERANDS], scratch;

/* A, B, C, bias, multiplier and residual. */
typedef struct page_operand {
    rung_type type;
    int64_t rows, cols, row_stride, col_stride;
    char *first;
} page_operand_t;

enum { A, B, C, BIAS, MULTIPLIER, RESIDUAL };

static region_t make_region(int64_t pages)
{
    char *memory = mmap(NULL, (size_t)(pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory + PAGE, (size_t)pages * PAGE, PROT_READ | PROT_WRITE), 0);
    return (region_t){memory + PAGE, pages * PAGE};
}

static int64_t span_of(const page_operand_t *operand)
{
    if (operand->rows == 0 || operand->cols == 0)
        return 0;
    return ((operand->rows - 1) * operand->row_stride + (operand->cols - 1) * operand->col_stride + 1) *
           rung_type_size(operand->type);
}

static void put(page_operand_t *operand, region_t region, bool at_end)
{
    int64_t span = span_of(operand);
    assert_true(span <= region.bytes);
    operand->first = at_end ? region.start + region.bytes - span : region.start;
    memset(operand->first, 0xff, (size_t)span);
}

/* ---- Elements --------------------------------------------------------------------------------- */

static char *offset_of(const page_operand_t *operand, int64_t i, int64_t j)
{
    return operand->first + (i * operand->row_stride + j * operand->col_stride) * rung_type_size(operand->type);
}

static void set(const page_operand_t *operand, int64_t i, int64_t j, int64_t value)
{
    char *to = offset_of(operand, i, j);
    switch (operand->type) {
    case RUNG_F32: memcpy(to, &(float){(float)value}, 4); break;
    case RUNG_F64: memcpy(to, &(double){(double)value}, 8); break;
    case RUNG_F16: memcpy(to, &(uint16_t){rung_f16_from_f32((float)value)}, 2); break;
    case RUNG_BF16: memcpy(to, &(uint16_t){rung_bf16_from_f32((float)value)}, 2); break;
    case RUNG_I8: *to = (char)value; break;
    case RUNG_F8E4M3: *to = (char)rung_f8e4m3_from_f32((float)value); break;
    case RUNG_F8E5M2: *to = (char)rung_f8e5m2_from_f32((float)value); break;
    default: memcpy(to, &(int32_t){(int32_t)value}, 4);
    }
}

static double get(const page_operand_t *operand, int64_t i, int64_t j)
{
    const char *from = offset_of(operand, i, j);
    union {
        float f32;
        double f64;
        uint16_t bits;
        uint8_t byte;
        int32_t i32;
    } value;
    memcpy(&value, from, (size_t)rung_type_size(operand->type));
    switch (operand->type) {
    case RUNG_F32: return value.f32;
    case RUNG_F64: return value.f64;
    case RUNG_F16: return rung_f16_to_f32(value.bits);
    case RUNG_BF16: return rung_bf16_to_f32(value.bits);
    case RUNG_I8: return *(const signed char *)from;
    case RUNG_F8E4M3: return rung_f8e4m3_to_f32(value.byte);
    case RUNG_F8E5M2: return rung_f8e5m2_to_f32(value.byte);
    default: return value.i32;
    }
}

/* From -size to size, the same for the same element wherever it is looked at. */
static int64_t value_at(int which, int64_t i, int64_t j, int64_t size)
{
    uint64_t seed = (uint64_t)(which * 1000003 + i * 1009 + j);
    return unit_random(&seed, 2 * size + 1) - size;
}

static void fill(page_operand_t *operand, int which)
{
    const int64_t sizes[OPERANDS] = {1, 2, 9, 9, 1, 9};
    for (int64_t i = 0; i < operand->rows; i++)
        for (int64_t j = 0; j < operand->cols; j++)
            set(operand, i, j, value_at(which, operand->row_stride ? i : 0, operand->col_stride ? j : 0, sizes[which]));
}

/* ---- Cases ---------------------------------------------------------------------------------------- */

typedef struct page_case {
    rungi_gemm_types product;
    rung_type in, out;
    int64_t m, n, k, alpha, beta;
    page_operand_t operands[OPERANDS];
    rung_activation activation;
    bool has_epilogue, has_multiplier;
} page_case_t;

static const struct {
    rung_type in, out;
} products[] = {
#define X(in, out, sum, word) {RUNG_##in, RUNG_##out},
    RUNGI_GEMM_TYPES_LIST(X)
#undef X
};

/* Rows, columns, both with gaps, neither stride one, one row for all, one column for all. */
enum { LAYOUTS = 7, LAYOUTS_C = 5 };

static page_operand_t make_operand(rung_type type, int64_t rows, int64_t cols, int64_t layout)
{
    page_operand_t operand = {.type = type, .rows = rows, .cols = cols};
    const int64_t strides[LAYOUTS][2] = {{cols, 1},         {1, rows}, {cols + 3, 1}, {1, rows + 5},
                                         {2 * cols + 1, 2}, {0, 1},    {1, 0}};
    operand.row_stride = strides[layout][0];
    operand.col_stride = strides[layout][1];
    return operand;
}

static page_case_t make_case(rungi_gemm_types product, int64_t m, int64_t n, int64_t k, uint64_t *seed)
{
    page_case_t made = {
        .product = product, .in = products[product].in, .out = products[product].out, .m = m, .n = n, .k = k};
    const bool at_end = unit_random(seed, 2) != 0;
    made.alpha = unit_random(seed, 2) ? 1 : -1;
    made.beta = unit_random(seed, 3) - 1;
    made.has_epilogue = unit_random(seed, 4) == 0;
    made.has_multiplier = unit_random(seed, 4) == 0;
    made.activation = made.has_epilogue ? RUNG_ACTIVATION_RELU : RUNG_ACTIVATION_NONE;
    made.operands[A] = make_operand(made.in, m, k, unit_random(seed, LAYOUTS));
    made.operands[B] = make_operand(made.in, k, n, unit_random(seed, LAYOUTS));
    made.operands[C] = make_operand(made.out, m, n, unit_random(seed, LAYOUTS_C));
    made.operands[BIAS] = make_operand(made.out, m, n, unit_random(seed, LAYOUTS));
    made.operands[MULTIPLIER] = make_operand(made.out, m, n, unit_random(seed, LAYOUTS));
    made.operands[RESIDUAL] = make_operand(made.out, m, n, unit_random(seed, LAYOUTS));
    for (int i = 0; i < OPERANDS; i++) {
        put(&made.operands[i], regions[i], at_end);
        if (i != C || made.beta != 0)
            fill(&made.operands[i], i);
    }
    return made;
}

/* A by rows and B by columns, as numbers. */
static int a_numbers[65 * 259], b_numbers[65 * 259];

static void read_numbers(const page_case_t *c)
{
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t p = 0; p < c->k; p++)
            a_numbers[i * c->k + p] = (int)get(&c->operands[A], i, p);
    for (int64_t j = 0; j < c->n; j++)
        for (int64_t p = 0; p < c->k; p++)
            b_numbers[j * c->k + p] = (int)get(&c->operands[B], p, j);
}

static int64_t expected(const page_case_t *c, int64_t i, int64_t j)
{
    int64_t sum = 0;
    for (int64_t p = 0; p < c->k; p++)
        sum += a_numbers[i * c->k + p] * b_numbers[j * c->k + p];
    sum = c->alpha * sum + c->beta * value_at(C, i, j, 9);
    if (c->has_epilogue)
        sum += (int64_t)get(&c->operands[BIAS], i, j);
    if (c->has_epilogue && sum < 0)
        sum = 0;
    if (c->has_multiplier)
        sum *= (int64_t)get(&c->operands[MULTIPLIER], i, j);
    return c->has_epilogue ? sum + (int64_t)get(&c->operands[RESIDUAL], i, j) : sum;
}

/* ---- Running them ------------------------------------------------------------------------------------ */

static char running[256]; /* what, for who asks after a fault */

static void print_fault(int signal)
{
    static const char before[] = "a fault, in ";
    (void)signal;
    if (write(STDERR_FILENO, before, sizeof before - 1) < 0 || write(STDERR_FILENO, running, strlen(running)) < 0 ||
        write(STDERR_FILENO, "\n", 1) < 0)
        _exit(2);
    _exit(1);
}

static void print_case(const char *kernel, const char *preset, const rungi_cpu_features *features, const page_case_t *c)
{
    int used = snprintf(running, sizeof running, "%s %s %s %s %lld x %lld x %lld", kernel, preset,
                        rungi_isa_name(features->isa), rungi_gemm_types_name(c->product), (long long)c->m,
                        (long long)c->n, (long long)c->k);
    for (int i = A; i <= C; i++)
        used += snprintf(running + used, sizeof running - (size_t)used, ", %c by %lld,%lld", "ABC"[i],
                         (long long)c -> operands[i].row_stride, (long long)c->operands[i].col_stride);
}

static rungi_cpu_input input_of(const page_operand_t *operand)
{
    return (rungi_cpu_input){operand->first, operand->row_stride, operand->col_stride};
}

/* Elements of 8-bit floating-point types become F32 when they are packed. A is described as its transpose. */
static void set_narrow_inputs(rungi_cpu_job *job)
{
    if (!rungi_type_is_f8(job->in))
        return;
    job->narrow_a = (rungi_cpu_narrow){.type = job->in,
                                       .is_transposed = true,
                                       .memory = job->a.first,
                                       .row_stride = job->a.col_stride,
                                       .col_stride = job->a.row_stride};
    job->narrow_b = (rungi_cpu_narrow){
        .type = job->in, .memory = job->b.first, .row_stride = job->b.row_stride, .col_stride = job->b.col_stride};
    job->in = RUNG_F32;
}

static rungi_cpu_job job_of(const page_case_t *c)
{
    rungi_cpu_job job = {
        .in = c->in,
        .b_type = c->in,
        .out = c->out,
        .m = c->m,
        .n = c->n,
        .k = c->k,
        .alpha = (double)c->alpha,
        .beta = (double)c->beta,
        .a = input_of(&c->operands[A]),
        .b = input_of(&c->operands[B]),
        .c = {c->operands[C].first, c->operands[C].row_stride, c->operands[C].col_stride},
        .activation = c->activation,
    };
    if (c->has_epilogue) {
        job.bias = input_of(&c->operands[BIAS]);
        job.residual = input_of(&c->operands[RESIDUAL]);
    }
    if (c->has_multiplier)
        job.multiplier = input_of(&c->operands[MULTIPLIER]);
    set_narrow_inputs(&job);
    return job;
}

static void check_result(const page_case_t *c)
{
    page_operand_t was = c->operands[C];
    read_numbers(c);
    for (int64_t i = 0; i < c->m; i++)
        for (int64_t j = 0; j < c->n; j++) {
            if (!(get(&was, i, j) == (double)expected(c, i, j)))
                fail_msg("%s: element (%lld, %lld) is %g and not %lld", running, (long long)i, (long long)j,
                         get(&was, i, j), (long long)expected(c, i, j));
            memset(offset_of(&was, i, j), 0xff, (size_t)rung_type_size(was.type));
        }
    for (int64_t i = 0; i < span_of(&was); i++)
        if (was.first[i] != (char)0xff)
            fail_msg("%s: wrote between the elements of C", running);
}

/* False if the kernel does not take it. */
static bool run_case(const rung_kernel *of, const int64_t *parameters, const rungi_cpu_features *features,
                     const page_case_t *c)
{
    const rungi_cpu_kernel *kernel = of->step->function;
    rungi_cpu_kernel_config config = {.problem_n = c->n, .grain_m = 1, .grain_n = 1};
    rungi_cpu_job job = job_of(c);
    job.features = features;
    job.parameters = parameters;
    rung_status status = kernel->configure ? kernel->configure(&job, of->info.compute, &config) : RUNG_OK;
    if (status == RUNG_STATUS_UNSUPPORTED)
        return false;
    assert_int_equal(status, RUNG_OK);
    /* It begins at a page: its last bytes are told apart by what they hold. */
    int64_t room = (config.scratch + PAGE - 1) / PAGE * PAGE;
    assert_true(room <= scratch.bytes);
    job.config = &config;
    job.scratch = scratch.start + scratch.bytes - room;
    memset(job.scratch + config.scratch, 0x5a, (size_t)(room - config.scratch));
    kernel->run(&job);
    for (int64_t i = config.scratch; i < room; i++)
        if (job.scratch[i] != 0x5a)
            fail_msg("%s: wrote behind its scratch", running);
    check_result(c);
    return true;
}

/* Around the tiles of every instruction set and their vectors, in each direction. */
static const int64_t rows[] = {1, 2, 5, 6, 7, 13, 14, 15, 43, 57};
static const int64_t cols[] = {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 63, 65};
static const int64_t steps[] = {0, 1, 2, 5, 17, 33, 259}; /* the last are enough for dot products */

enum { ROWS = sizeof rows / sizeof *rows, COLS = sizeof cols / sizeof *cols, STEPS = sizeof steps / sizeof *steps };

static int64_t run_kernel(rung_kernel *kernel, const char *preset, const rungi_cpu_features *features)
{
    uint64_t seed = 1;
    int64_t taken = 0;
    for (int product = 0; product < RUNGI_GEMM_SAME_TYPES_COUNT; product++)
        for (int64_t i = product % 2; i < ROWS * COLS; i += 2) { /* the other half in another product */
            rungi_parameter_values values;
            if (!(kernel->types & 1u << product))
                break;
            bool is_exact = rung_type_size(products[product].out) > 2; /* also for the sum of many steps */
            int64_t m = rows[i / COLS], n = cols[i % COLS], k = steps[unit_random(&seed, is_exact ? STEPS : STEPS - 1)];
            if (rungi_kernel_parse_parameters(kernel, preset, rung_type_size(products[product].in), &values) != RUNG_OK)
                fail_msg("%s: %s", preset, rung_error_text());
            page_case_t made = make_case((rungi_gemm_types)product, m, n, k, &seed);
            print_case(kernel->info.name, preset, features, &made);
            taken += run_case(kernel, values.value, features, &made);
        }
    return taken;
}

static void every_kernel_stays_in_bounds(void **state)
{
    struct sigaction action = {.sa_handler = print_fault};
    int64_t taken = 0;
    rung_kernel *kernel;
    rungi_cpu_features all;
    (void)state;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    for (int i = 0; i < OPERANDS; i++)
        regions[i] = make_region(PAGES);
    scratch = make_region(SCRATCH_PAGES);
    unsetenv("RUNG_CPU_ISA");
    rungi_cpu_features_detect(&all);
    for (int isa = 0; isa <= (int)all.isa; isa++) {
        rungi_cpu_features features;
        setenv("RUNG_CPU_ISA", rungi_isa_name((rungi_isa)isa), 1);
        rungi_cpu_features_detect(&features);
        assert_int_equal(features.isa, isa);
        for (int64_t i = 0; rung_kernel_at(NULL, "cpu", i, &kernel) == RUNG_OK; i++) {
            if (kernel->step->is_vendor || (isa > 0 && kernel->info.number < 8)) /* plain C: the same */
                continue;
            taken += run_kernel(kernel, "", &features);
            if (rungi_kernel_has_preset(kernel, "tiny"))
                taken += run_kernel(kernel, "tiny", &features);
        }
    }
    print_message("%lld cases\n", (long long)taken);
    assert_true(taken > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_stays_in_bounds),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
