/* SPDX-License-Identifier: Apache-2.0 */
/* compare_builds.c - compare_builds OLD NEW [PROCESSES]: compares the speed of two builds of librung. Each process loads both
 * libraries and gives one ratio of CPU times, new over old: the median of rounds that run the old library, the new one twice,
 * and the old one again. Many processes are needed, because the addresses of packed panels change the speed by some percent
 * and stay the same in a process. Prints the median of the ratios per type and size, with an interval that contains it with a
 * probability of 95 %. One thread is used, so that work of other processes disturbs little. Exits with 1 if a ratio is above
 * 1.02 with that certainty. */
#define _GNU_SOURCE
#include <rung/rung.h>

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIN_PROCESSES = 9, DEFAULT_PROCESSES = 25, MAX_PROCESSES = 999, ROUNDS = 5 };
static const double sample_seconds = 0.01;
static const double limit = 1.02;

typedef rung_status gemm_function(rung_context *, double, rung_matrix, rung_matrix, double, rung_matrix);

typedef struct {
    const char *name;
    rung_type input, output;
} case_t;

static const case_t cases[] = {
    {"f32", RUNG_F32, RUNG_F32},
    {"f64", RUNG_F64, RUNG_F64},
    {"bf16:f32", RUNG_BF16, RUNG_F32},
    {"i8", RUNG_I8, RUNG_I32},
};
static const int64_t sizes[] = {16, 64, 256, 1024};

static gemm_function *load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    gemm_function *gemm = NULL;
    if (library)
        *(void **)&gemm = dlsym(library, "rung_gemm");
    if (!gemm)
        fprintf(stderr, "compare_builds: %s; give the path of a librung.so\n", dlerror());
    return gemm;
}

/* Returns a dense view of new memory, without a function of a third librung. */
static rung_matrix new_square(rung_type type, int64_t size)
{
    size_t bytes = (size_t)(size * size) * sizeof(double);
    void *data = aligned_alloc(64, bytes);
    if (data)
        memset(data, 0x3c, bytes); /* a normal number in every type */
    return (rung_matrix){.type = type, .rows = size, .cols = size, .row_stride = size, .col_stride = 1, .data = data};
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns the CPU time of `calls` multiplications; NAN if one fails. */
static double time_calls(gemm_function *gemm, const rung_matrix m[3], int calls)
{
    double start = cpu_seconds();
    for (int i = 0; i < calls; i++)
        if (gemm(NULL, 1.0, m[0], m[1], 0.0, m[2]) != RUNG_OK)
            return NAN;
    return cpu_seconds() - start;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What a process measures: the ratio, and the least time of a call of each library. */
typedef struct {
    double ratio, least[2];
} sample_t;

static sample_t measure(const char *const paths[2], bool new_first, const case_t *type, int64_t size)
{
    sample_t sample = {NAN, {INFINITY, INFINITY}};
    gemm_function *gemm[2];
    for (int i = 0; i < 2; i++)
        gemm[i ^ new_first] = load(paths[i ^ new_first]);
    if (!gemm[0] || !gemm[1])
        return sample;
    const rung_matrix m[3] = {new_square(type->input, size), new_square(type->input, size),
                              new_square(type->output, size)};
    time_calls(gemm[new_first], m, 1); /* creates a plan */
    time_calls(gemm[!new_first], m, 1);
    double once = time_calls(gemm[0], m, 3) / 3;
    int calls = once < sample_seconds ? (int)ceil(sample_seconds / fmax(once, 1e-8)) : 1;
    double ratios[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double seconds[2] = {0, 0};
        for (int step = 0; step < 4; step++) {
            int which = step == 1 || step == 2;
            double time = time_calls(gemm[which], m, calls);
            seconds[which] += time;
            sample.least[which] = fmin(sample.least[which], time / calls);
        }
        ratios[round] = seconds[1] / seconds[0];
    }
    qsort(ratios, ROUNDS, sizeof *ratios, compare_doubles);
    sample.ratio = ratios[ROUNDS / 2];
    return sample;
}

/* Measures in a process of its own. The ratio is NAN on failure. */
static sample_t measure_in_process(const char *const paths[2], bool new_first, const case_t *type, int64_t size)
{
    sample_t sample = {NAN, {NAN, NAN}};
    int ends[2];
    if (pipe(ends) != 0)
        return sample;
    pid_t child = fork();
    if (child == 0) {
        sample = measure(paths, new_first, type, size);
        _exit(write(ends[1], &sample, sizeof sample) == sizeof sample ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &sample, sizeof sample) != sizeof sample)
        sample.ratio = NAN;
    close(ends[0]);
    if (child > 0)
        waitpid(child, NULL, 0);
    return sample;
}

/* Compares one type and size, and prints a line. Returns 1 if the new library is slower than the limit, -1 on failure. */
static int compare(const char *const paths[2], const case_t *type, int64_t size, int processes)
{
    double ratios[MAX_PROCESSES], least[2] = {INFINITY, INFINITY};
    for (int i = 0; i < processes; i++) {
        sample_t sample = measure_in_process(paths, i % 2 != 0, type, size);
        if (isnan(sample.ratio))
            return -1;
        ratios[i] = sample.ratio;
        for (int which = 0; which < 2; which++)
            least[which] = fmin(least[which], sample.least[which]);
    }
    qsort(ratios, (size_t)processes, sizeof *ratios, compare_doubles);
    /* Ranks of the interval: the normal approximation of the binomial distribution. */
    int low = (int)floor((processes - 1.96 * sqrt(processes)) / 2), high = processes - 1 - low;
    bool is_slower = ratios[low] > limit;
    printf("%s\t%lld\t%.4g\t%.4g\t%.4f\t%.4f\t%.4f\t%s\n", type->name, (long long)size, least[0] * 1e6, least[1] * 1e6,
           ratios[processes / 2], ratios[low], ratios[high],
           is_slower               ? "slower"
           : ratios[high] <= limit ? "within 2 %"
                                   : "cannot tell");
    (void)fflush(stdout);
    return is_slower;
}

int main(int count, char **arguments)
{
    int processes = count > 3 ? (int)strtol(arguments[3], NULL, 10) : DEFAULT_PROCESSES;
    if (count < 3 || processes < MIN_PROCESSES || processes > MAX_PROCESSES) {
        fprintf(stderr, "usage: compare_builds OLD/librung.so.0 NEW/librung.so.0 [PROCESSES]; %d to %d processes\n",
                MIN_PROCESSES, MAX_PROCESSES);
        return 2;
    }
    setenv("RUNG_THREADS", "1", 1);
    setenv("RUNG_DEVICE", "cpu", 1);
    setenv("RUNG_TUNING", "off", 1);
    const char *const paths[2] = {arguments[1], arguments[2]};
    printf("# old: %s\n# new: %s\n# CPU time of one thread, %d processes\n", paths[0], paths[1], processes);
    printf("type\tsize\told us\tnew us\tratio\tlow\thigh\tresult\n");
    (void)fflush(stdout);
    int result = 0;
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            int one = compare(paths, &cases[t], sizes[s], processes);
            if (one < 0) {
                fprintf(stderr, "compare_builds: a multiplication of %s failed\n", cases[t].name);
                return 2;
            }
            result |= one;
        }
    return result;
}
