/* SPDX-License-Identifier: Apache-2.0 */
/* shared_core.c - shared_core TYPE M N K SAMPLES LIBRARY...: compares libraries while another hardware thread uses the core, and
 * while it does not. A virtual machine usually has one of the two threads of a core. What the other thread runs cannot be seen,
 * but it takes part of the front end: a probe of instructions that do nothing becomes slower. Each sample runs the probe, a loop
 * of multiply-adds in registers (the peak), the multiplication, and the two probes again. Samples of all libraries are
 * interleaved. A library is a librung or has the CBLAS interface. TYPE is f32, f64, or a type that AMX multiplies: bf16, i8 or
 * bf16x3. For those the peak is a loop of AMX instructions, and samples are separated by its speed, too: AMX has a fast and a
 * slow mode.
 *
 * Prints one row per library and state of the core: the number of samples, the median and the quartiles of speed / peak.
 * Samples in which the system stopped the process are dropped. For x86-64 with AVX-512, one thread. */
#define _GNU_SOURCE
#include <rung/rung.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
    MAX_LIBRARIES = 8,
    MAX_SAMPLES = 2000,
    PEAK_ROUNDS = 4000,
    AMX_ROUNDS = 3000,
    NOP_ROUNDS = 400,
    NOPS = 60,
    SUMS = 28
};
static const double idle_limit = 1.12, busy_limit = 1.4; /* probe time / its minimum */
static const double slow_limit = 1.3;                    /* time of the AMX loop / its minimum */
static const double stopped_limit = 1.03;                /* elapsed time / CPU time */
static const double ticks_per_sample = 2e6;

typedef rung_status rung_function(rung_context *, const rung_problem *, const rung_multiply_options *);
typedef void f32_function(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                          int);
typedef void f64_function(int, int, int, int, int, int, double, const double *, int, const double *, int, double,
                          double *, int);
typedef void bf16_function(int, int, int, int, int, int, float, const uint16_t *, int, const uint16_t *, int, float,
                           float *, int);
typedef void i8_function(int, int, int, int, int, int, int, float, const void *, int, int8_t, const void *, int, int8_t,
                         float, int32_t *, int, const int32_t *);

typedef struct {
    const char *path;
    rung_function *rung;
    f32_function *f32;
    f64_function *f64;
    bf16_function *bf16;
    i8_function *i8;
} library_t;

/* A type as the command line names it, and the multiplications of one instruction of the peak's loop. */
typedef struct {
    const char *name;
    rung_type in, out;
    rung_compute compute;
    int products;
    bool is_amx;
} type_t;

static const type_t types[] = {
    {"f32", RUNG_F32, RUNG_F32, RUNG_COMPUTE_STRICT, 16, false},
    {"f64", RUNG_F64, RUNG_F64, RUNG_COMPUTE_STRICT, 8, false},
    {"bf16", RUNG_BF16, RUNG_F32, RUNG_COMPUTE_STRICT, 16 * 16 * 32, true},
    {"i8", RUNG_I8, RUNG_I32, RUNG_COMPUTE_STRICT, 16 * 16 * 64, true},
    {"bf16x3", RUNG_F32, RUNG_F32, RUNG_COMPUTE_BF16X3, 16 * 16 * 32 / 6, true},
};

typedef struct {
    type_t type;
    int m, n, k;
    rung_matrix a, b, c;
} problem_t;

typedef struct {
    double probe, peak, fraction; /* times of the probes; speed / peak, or 0 if the sample is dropped */
} sample_t;

/* ---- Probes ------------------------------------------------------------------------------------------ */

/* Returns ticks per instruction that does nothing. */
static double probe_front_end(void)
{
    unsigned long long start = __rdtsc();
    for (int i = 0; i < NOP_ROUNDS; i++)
        __asm__ volatile(".rept 60\n nop\n .endr");
    return (double)(__rdtsc() - start) / (NOP_ROUNDS * NOPS);
}

#define ADD(n) "vfmadd231ps %%zmm31, %%zmm30, %%zmm" #n "\n"
#define CLEAR(n) "vpxord %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n"
/* clang-format off */
#define ALL(X)                                                                                                    \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) \
    X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27)
/* clang-format on */

/* Returns ticks per multiply-add of vectors. */
static double probe_fma(void)
{
    long rounds = PEAK_ROUNDS;
    unsigned long long start = __rdtsc();
    /* clang-format off */
    __asm__ volatile(ALL(CLEAR) CLEAR(30) CLEAR(31) "1:\n" ALL(ADD) "dec %0\n jnz 1b\n"
                     : "+r"(rounds)
                     :
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
                       "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21",
                       "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm30", "xmm31", "cc");
    /* clang-format on */
    return (double)(__rdtsc() - start) / (PEAK_ROUNDS * SUMS);
}

/* Returns ticks per AMX instruction. All types have the same. */
__attribute__((target("amx-tile,amx-int8"))) static double probe_amx(void)
{
    static const struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1, .bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};
    __asm__ volatile("" : : "r"(&config) : "memory"); /* GCC does not know that the instruction reads all of it */
    _tile_loadconfig(&config);
    unsigned long long start = __rdtsc();
    for (int i = 0; i < AMX_ROUNDS; i++) {
        _tile_dpbssd(0, 4, 6);
        _tile_dpbssd(1, 4, 7);
        _tile_dpbssd(2, 5, 6);
        _tile_dpbssd(3, 5, 7);
    }
    unsigned long long end = __rdtsc();
    _tile_release();
    return (double)(end - start) / (4 * AMX_ROUNDS);
}

/* Asks the system for AMX. */
static bool request_amx(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* ---- Libraries ---------------------------------------------------------------------------------------- */

static bool load(const char *path, library_t *library)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *library = (library_t){.path = path};
    if (handle) {
        *(void **)&library->rung = dlsym(handle, "rung_multiply");
        *(void **)&library->f32 = dlsym(handle, "cblas_sgemm");
        *(void **)&library->f64 = dlsym(handle, "cblas_dgemm");
        *(void **)&library->bf16 = dlsym(handle, "cblas_gemm_bf16bf16f32");
        *(void **)&library->i8 = dlsym(handle, "cblas_gemm_s8u8s32");
    }
    if (library->rung || (library->f32 && library->f64))
        return true;
    fprintf(stderr, "shared_core: %s: %s; give the path of a librung.so or of a library with CBLAS\n", path,
            handle ? "no function for multiplication" : dlerror());
    return false;
}

/* With CBLAS, bf16x3 is compared with strict F32, and the second matrix of i8 is unsigned. */
static bool multiply(const library_t *library, const problem_t *p)
{
    enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, FIX_OFFSET = 173 };
    static const int32_t zero = 0;
    if (library->rung) {
        rung_problem problem = rung_problem_of(p->a, p->b, p->c);
        problem.compute = p->type.compute;
        return library->rung(NULL, &problem, NULL) == RUNG_OK;
    }
    if (p->type.in == RUNG_F64)
        library->f64(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, p->m, p->n, p->k, 1, p->a.data, p->k, p->b.data, p->n, 0,
                     p->c.data, p->n);
    else if (p->type.in == RUNG_F32)
        library->f32(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, p->m, p->n, p->k, 1, p->a.data, p->k, p->b.data, p->n, 0,
                     p->c.data, p->n);
    else if (p->type.in == RUNG_BF16 && library->bf16)
        library->bf16(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, p->m, p->n, p->k, 1, p->a.data, p->k, p->b.data, p->n, 0,
                      p->c.data, p->n);
    else if (p->type.in == RUNG_I8 && library->i8)
        library->i8(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, FIX_OFFSET, p->m, p->n, p->k, 1, p->a.data, p->k, 0,
                    p->b.data, p->n, 0, 0, p->c.data, p->n, &zero);
    else
        return false;
    return true;
}

/* ---- Samples ------------------------------------------------------------------------------------------- */

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool take_sample(const library_t *library, const problem_t *problem, sample_t *sample)
{
    double (*probe_peak)(void) = problem->type.is_amx ? probe_amx : probe_fma;
    double work = (double)problem->m * problem->n * problem->k / problem->type.products;
    long calls = 1 + (long)(ticks_per_sample / work / (problem->type.is_amx ? 16 : 1));
    double probe = probe_front_end(), peak = probe_peak();
    double cpu = seconds(CLOCK_THREAD_CPUTIME_ID), elapsed = seconds(CLOCK_MONOTONIC);
    unsigned long long start = __rdtsc();
    for (long i = 0; i < calls; i++)
        if (!multiply(library, problem))
            return false;
    double ticks = (double)(__rdtsc() - start);
    elapsed = seconds(CLOCK_MONOTONIC) - elapsed;
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    peak = (peak + probe_peak()) / 2;
    double after = probe_front_end();
    sample->peak = peak;
    sample->probe = probe > after ? probe : after;
    sample->fraction = elapsed > stopped_limit * cpu ? 0 : peak * work * (double)calls / ticks;
    return true;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A state of the core: limits of the two probes. */
typedef struct {
    const char *name;
    double min_probe, max_probe, min_peak, max_peak;
} state_t;

static void print_state(const library_t *library, const state_t *state, const sample_t *samples, int count)
{
    double values[MAX_SAMPLES];
    int found = 0;
    for (int i = 0; i < count; i++) {
        const sample_t *s = &samples[i];
        if (s->fraction > 0 && s->probe >= state->min_probe && s->probe < state->max_probe &&
            s->peak >= state->min_peak && s->peak < state->max_peak)
            values[found++] = s->fraction;
    }
    qsort(values, (size_t)found, sizeof *values, compare_doubles);
    printf("%s\t%s\t%d", library->path, state->name, found);
    if (found > 0)
        printf("\t%.3f\t%.3f\t%.3f\n", values[found / 2], values[found / 4], values[3 * found / 4]);
    else
        printf("\t-\t-\t-\n");
}

static rung_matrix new_matrix(rung_type type, int64_t rows, int64_t cols)
{
    size_t bytes = (size_t)(rows * cols) * sizeof(double);
    void *data = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (data)
        memset(data, 0x3c, bytes); /* a normal number in either type */
    return (rung_matrix){.type = type, .rows = rows, .cols = cols, .row_stride = cols, .col_stride = 1, .data = data};
}

static bool measure(const problem_t *problem, const library_t *libraries, int library_count, int count)
{
    static sample_t samples[MAX_LIBRARIES][MAX_SAMPLES];
    double least = 1e9, least_peak = 1e9;
    for (int i = -1; i < count; i++) /* the first round creates plans */
        for (int l = 0; l < library_count; l++) {
            sample_t sample;
            if (!take_sample(&libraries[l], problem, &sample))
                return false;
            if (sample.probe < least)
                least = sample.probe;
            if (sample.peak < least_peak)
                least_peak = sample.peak;
            if (i >= 0)
                samples[l][i] = sample;
        }
    const double any = 1e9;
    const state_t states[] = {{"idle", 0, idle_limit * least, 0, any},
                              {"busy", busy_limit * least, any, 0, any},
                              {"all", 0, any, 0, any},
                              {"fast mode", 0, any, 0, slow_limit * least_peak},
                              {"slow mode", 0, any, slow_limit * least_peak, any},
                              {"fast mode, idle", 0, idle_limit * least, 0, slow_limit * least_peak}};
    for (int l = 0; l < library_count; l++)
        for (int i = 0; i < (problem->type.is_amx ? 6 : 3); i++)
            print_state(&libraries[l], &states[i], samples[l], count);
    return true;
}

int main(int count, char **arguments)
{
    int samples = count > 6 ? atoi(arguments[5]) : 0, library_count = count - 6;
    library_t libraries[MAX_LIBRARIES];
    if (samples < 1 || samples > MAX_SAMPLES || library_count > MAX_LIBRARIES) {
        fprintf(
            stderr,
            "usage: shared_core f32|f64|bf16|i8|bf16x3 M N K SAMPLES LIBRARY...; up to %d samples and %d libraries\n",
            MAX_SAMPLES, MAX_LIBRARIES);
        return 2;
    }
    if (!__builtin_cpu_supports("avx512f")) {
        fprintf(stderr, "shared_core: this processor has no AVX-512, which the probe of the peak needs\n");
        return 77;
    }
    const type_t *type = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(arguments[1], types[i].name) == 0)
            type = &types[i];
    if (!type || (type->is_amx && !request_amx())) {
        fprintf(stderr,
                type ? "shared_core: %s needs AMX, which this system does not give\n" : "shared_core: no type %s\n",
                arguments[1]);
        return type ? 77 : 2;
    }
    static const char *const one_thread[] = {"RUNG_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS",
                                             "OPENBLAS_NUM_THREADS"};
    for (size_t i = 0; i < sizeof one_thread / sizeof *one_thread; i++)
        setenv(one_thread[i], "1", 1);
    setenv("RUNG_DEVICE", "cpu", 1);
    setenv("RUNG_TUNING", "off", 1);
    for (int i = 0; i < library_count; i++)
        if (!load(arguments[6 + i], &libraries[i]))
            return 2;
    problem_t problem = {*type, atoi(arguments[2]), atoi(arguments[3]), atoi(arguments[4]), {0}, {0}, {0}};
    problem.a = new_matrix(type->in, problem.m, problem.k);
    problem.b = new_matrix(type->in, problem.k, problem.n);
    problem.c = new_matrix(type->out, problem.m, problem.n);
    printf("# %s %d x %d x %d, %d samples per library\n", arguments[1], problem.m, problem.n, problem.k, samples);
    printf("library\tcore\tsamples\tspeed / peak\tlower quartile\tupper quartile\n");
    if (!measure(&problem, libraries, library_count, samples)) {
        fprintf(stderr, "shared_core: a multiplication failed\n");
        return 2;
    }
    return 0;
}
