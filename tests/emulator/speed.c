/* SPDX-License-Identifier: Apache-2.0 */
/* speed.c - measures the speed of the emulator on kernels of the ladder, and that of Oclgrind on the same problems.
 *
 *   test_emulator_speed [--rounds N] [--kernels TEXT] [--oclgrind SECONDS]
 *
 * All cases and modes are measured once per round, so that a change of the machine's speed meets all of them; the table shows
 * medians. Times are CPU times of the process, because others may use the machine; only the scaling columns also compare
 * elapsed times. --kernels measures the kernels whose name contains TEXT. --oclgrind also launches each kernel once on
 * Oclgrind, from its OpenCL source, with the checks that rung's own tests on Oclgrind use, and ends launches after SECONDS of
 * CPU time; larger problems that would take longer are not tried. Exits with 1 if modes give different results or findings. */
#define _GNU_SOURCE /* clock_gettime, getrusage, setenv */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ladder_kernel.h"

enum { ROUNDS_MAX = 64, ARCHITECTURE = 86 };

typedef enum mode { PLAIN, COUNTS, CHECKS, PLAIN_2, CHECKS_2, MODE_COUNT } run_mode_t;

static const struct {
    uint32_t checks;
    bool counts;
    int threads;
} modes[MODE_COUNT] = {[PLAIN] = {0, false, 1},
                       [COUNTS] = {0, true, 1},
                       [CHECKS] = {RUNG_EMULATOR_CHECK_ALL, false, 1},
                       [PLAIN_2] = {0, false, 2},
                       [CHECKS_2] = {RUNG_EMULATOR_CHECK_ALL, false, 2}};

#define CUBE(kernel, dtype, in, out, compute, n) \
    {                                            \
        kernel, dtype, in, out, compute, n, n, n \
    }
#define SIZES(...) CUBE(__VA_ARGS__, 256), CUBE(__VA_ARGS__, 512)
static const ladder_case_t cases[] = {SIZES("04_shared", "f32", RUNG_F32, RUNG_F32, RUNG_COMPUTE_STRICT),
                                      SIZES("07_tile2d", "f32", RUNG_F32, RUNG_F32, RUNG_COMPUTE_STRICT),
                                      SIZES("10_pipeline", "f32", RUNG_F32, RUNG_F32, RUNG_COMPUTE_STRICT),
                                      SIZES("12_matrix", "f16:f32", RUNG_F16, RUNG_F32, RUNG_COMPUTE_STRICT),
                                      SIZES("12_matrix", "tf32", RUNG_F32, RUNG_F32, RUNG_COMPUTE_TF32),
                                      SIZES("12_matrix", "i8:i32", RUNG_I8, RUNG_I32, RUNG_COMPUTE_STRICT),
                                      {"10_pipeline", "f32", RUNG_F32, RUNG_F32, RUNG_COMPUTE_STRICT, 4096, 4096, 64}};
enum { CASE_COUNT = sizeof cases / sizeof *cases };

/* One case in one mode, ready to launch. */
typedef struct session {
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t c;
    ladder_kernel_t launch; /* does not own the PTX */
    int64_t warp_instructions;
    double cpu[ROUNDS_MAX], elapsed[ROUNDS_MAX]; /* seconds per launch */
} session_t;

typedef struct measured_case {
    const ladder_case_t *problem;
    ladder_kernel_t kernel;
    session_t sessions[MODE_COUNT];
    double oclgrind; /* seconds; negative: more than that; 0: not measured */
} measured_case_t;

static void require(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "test_emulator_speed: %s: %s\n", what, rung_error_text());
    exit(1);
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Emulator ------------------------------------------------------------------------------------------------------ */

/* Allocates a matrix and fills it with small values. */
static uint64_t make_matrix(rung_emulator *emulator, rung_type type, int64_t count, const char *name, bool is_filled)
{
    int64_t size = rung_type_size(type);
    unsigned char *values = malloc((size_t)(count * size));
    uint64_t address, state = 1;
    require(values != NULL, "matrix");
    for (int64_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int whole = (int)(state >> 60) - 8;
        float real = (float)whole / 8;
        uint16_t half = rung_f16_from_f32(real);
        int8_t byte = (int8_t)whole;
        memcpy(values + i * size,
               type == RUNG_F16  ? (void *)&half
               : type == RUNG_I8 ? (void *)&byte
                                 : (void *)&real,
               (size_t)size);
    }
    require(rung_emulator_allocate(emulator, count * size, name, &address) == RUNG_OK, name);
    require(!is_filled || rung_emulator_write(emulator, address, values, count * size) == RUNG_OK, name);
    free(values);
    return address;
}

static void open_session(rung_context *context, const ladder_kernel_t *kernel, run_mode_t mode, session_t *session)
{
    const ladder_case_t *problem = &kernel->problem;
    rung_emulator_options options = rung_emulator_options_default();
    options.threads = modes[mode].threads;
    options.checks = modes[mode].checks;
    options.count_accesses = modes[mode].counts;
    require(rung_emulator_create(&options, &session->emulator) == RUNG_OK, "emulator");
    require(rung_emulator_module_load(session->emulator, problem->kernel, kernel->ptx, kernel->ptx_bytes,
                                      &session->module) == RUNG_OK,
            problem->kernel);
    session->kernel = rung_emulator_kernel_at(session->module, 0);
    uint64_t a = make_matrix(session->emulator, problem->in, problem->m * problem->k, "a", true);
    uint64_t b = make_matrix(session->emulator, problem->in, problem->k * problem->n, "b", true);
    session->c = make_matrix(session->emulator, problem->out, problem->m * problem->n, "c", false);
    session->launch = *kernel;
    require(ladder_kernel_bind(context, &session->launch, a, b, session->c), "launch");
}

/* Launches until some time has passed, and keeps the times of one launch. */
static void run(session_t *session, int round)
{
    enum { LAUNCHES_MAX = 1000 };
    double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), elapsed = seconds_of(CLOCK_MONOTONIC), passed = 0;
    int launches = 0;
    rung_emulator_counts_clear(session->emulator);
    for (; launches < LAUNCHES_MAX && passed < 0.1; launches++) {
        require(rung_emulator_launch_kernel(session->kernel, &session->launch.launch.launch) == RUNG_OK, "launch");
        passed = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    }
    session->elapsed[round] = (seconds_of(CLOCK_MONOTONIC) - elapsed) / launches;
    session->cpu[round] = passed / launches;
    const rung_emulator_totals *totals = rung_emulator_get_totals(session->emulator, NULL);
    require(totals != NULL, "totals");
    session->warp_instructions = totals->warp_instructions / launches;
}

/* Returns whether a session has no findings and the same C as the plain one. */
static bool is_same(const measured_case_t *measured, run_mode_t mode)
{
    const ladder_case_t *problem = measured->problem;
    const session_t *session = &measured->sessions[mode], *plain = &measured->sessions[PLAIN];
    int64_t bytes = problem->m * problem->n * rung_type_size(problem->out);
    char *c[2] = {malloc((size_t)bytes), malloc((size_t)bytes)};
    require(c[0] && c[1], "matrix");
    require(rung_emulator_read(plain->emulator, plain->c, c[0], bytes) == RUNG_OK, "c");
    require(rung_emulator_read(session->emulator, session->c, c[1], bytes) == RUNG_OK, "c");
    bool is_equal = memcmp(c[0], c[1], (size_t)bytes) == 0;
    int64_t findings = rung_emulator_finding_count(session->emulator);
    if (!is_equal || findings > 0)
        fprintf(stderr, "%s %s, mode %d: %s; %lld findings\n", problem->kernel, problem->dtype, (int)mode,
                is_equal ? "same result" : "another result", (long long)findings);
    free(c[0]);
    free(c[1]);
    return is_equal && findings == 0;
}

/* ---- Oclgrind ------------------------------------------------------------------------------------------------------ */

/* Sets what rung's own tests on Oclgrind set. Without a driver, the child finds no device. */
static void set_oclgrind_environment(int limit)
{
    static const char *const variables[][2] = {{"OCL_ICD_VENDORS", "/usr/lib/oclgrind/liboclgrind-rt-icd.so"},
                                               {"OCLGRIND_DATA_RACES", "1"},
                                               {"OCLGRIND_UNINITIALIZED", "1"},
                                               {"OCLGRIND_CHECK_API", "1"},
                                               {"OCLGRIND_MAX_WGSIZE", "1024"},
                                               {"OCLGRIND_LOCAL_MEM_SIZE", "233472"},
                                               {"OCLGRIND_MAX_ERRORS", "1000"},
                                               {"RUNG_TUNING", "off"}};
    struct rlimit cpu = {(rlim_t)limit, (rlim_t)limit};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        setenv(variables[i][0], variables[i][1], 1);
    setrlimit(RLIMIT_CPU, &cpu);
}

static rung_matrix make_device_matrix(rung_device *device, rung_queue *queue, rung_type type, int64_t rows,
                                      int64_t cols)
{
    int64_t bytes = rows * cols * rung_type_size(type);
    rung_buffer *buffer = NULL;
    void *zeros = calloc((size_t)bytes, 1);
    require(zeros && rung_buffer_create(device, bytes, &buffer) == RUNG_OK, "buffer");
    require(rung_buffer_write(queue, buffer, 0, bytes, zeros, NULL) == RUNG_OK, "buffer");
    require(rung_queue_finish(queue) == RUNG_OK, "buffer");
    free(zeros);
    return rung_matrix_in_buffer(type, rows, cols, buffer, 0);
}

/* Launches the kernel once on Oclgrind. Returns its CPU seconds. */
static double launch_on_oclgrind(const measured_case_t *measured)
{
    const ladder_case_t *wanted = measured->problem;
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_plan *plan;
    rung_kernel *kernel;
    require(rung_context_create(NULL, &context) == RUNG_OK, "context");
    require(rung_device_open(context, "opencl", &device) == RUNG_OK, "device");
    require(rung_queue_create(device, &queue) == RUNG_OK, "queue");
    require(rung_kernel_find(context, "opencl", wanted->kernel, &kernel) == RUNG_OK, wanted->kernel);
    rung_problem problem = rung_problem_of(make_device_matrix(device, queue, wanted->in, wanted->m, wanted->k),
                                           make_device_matrix(device, queue, wanted->in, wanted->k, wanted->n),
                                           make_device_matrix(device, queue, wanted->out, wanted->m, wanted->n));
    rung_plan_options options = rung_plan_options_default();
    rung_run_options run_options = rung_run_options_default();
    problem.compute = wanted->compute;
    options.kernel = kernel;
    options.parameters = measured->kernel.parameters;
    require(rung_plan_create(device, &problem, &options, &plan) == RUNG_OK, "plan");
    int64_t workspace = rung_plan_describe(plan)->workspace_bytes;
    require(workspace == 0 || rung_buffer_create(device, workspace, &run_options.workspace) == RUNG_OK, "workspace");
    double start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    require(rung_plan_run(plan, queue, &problem, &run_options) == RUNG_OK, "run");
    require(rung_queue_finish(queue) == RUNG_OK, "run");
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
}

/* Measures one launch in a child. The result is negative if the child was ended after `limit` seconds, and 0 if it failed. */
static double measure_oclgrind(const measured_case_t *measured, int limit)
{
    double seconds = 0;
    int ends[2], status = 0;
    if (pipe(ends) != 0)
        return 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        set_oclgrind_environment(limit);
        seconds = launch_on_oclgrind(measured);
        _exit(write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 2);
    }
    close(ends[1]);
    bool has_result = read(ends[0], &seconds, sizeof seconds) == sizeof seconds;
    close(ends[0]);
    waitpid(child, &status, 0);
    return has_result ? seconds : WIFSIGNALED(status) ? -limit : 0;
}

/* ---- Table --------------------------------------------------------------------------------------------------------- */

static int compare_doubles(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(const double *values, int count)
{
    double sorted[ROUNDS_MAX];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_doubles);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void print_machine(int rounds)
{
    char line[256] = "";
    struct utsname name;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file) && strncmp(line, "model name", 10) != 0)
        ;
    if (file)
        fclose(file);
    uname(&name);
    printf("%s %s %s\nrung %s\n%s%ld processors\n", name.sysname, name.release, name.machine, rung_version_text(), line,
           sysconf(_SC_NPROCESSORS_ONLN));
    printf(
        "PTX for sm_%d; medians of %d interleaved rounds. Seconds are CPU seconds of one launch, M/s are million warp "
        "instructions\nper CPU second on one thread. 2 threads: elapsed time of one thread divided by that of two, and "
        "CPU time likewise.\n\n",
        ARCHITECTURE, rounds);
    printf("%-12s %-8s %-12s %12s  %18s  %18s  %18s  %13s  %13s  %20s\n", "kernel", "type", "m x n x k", "warp instr.",
           "plain", "counts", "checks", "2 threads", "with checks", "Oclgrind");
    printf("%-12s %-8s %-12s %12s  %9s %8s  %9s %8s  %9s %8s  %6s %6s  %6s %6s  %10s %9s\n", "", "", "", "", "s", "M/s",
           "s", "M/s", "s", "M/s", "wall", "CPU", "wall", "CPU", "s", "/ checks");
}

static void print_case(const measured_case_t *measured, int rounds)
{
    const ladder_case_t *problem = measured->problem;
    double cpu[MODE_COUNT], elapsed[MODE_COUNT];
    char shape[40];
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        cpu[mode] = median(measured->sessions[mode].cpu, rounds);
        elapsed[mode] = median(measured->sessions[mode].elapsed, rounds);
    }
    double instructions = (double)measured->sessions[PLAIN].warp_instructions;
    snprintf(shape, sizeof shape, "%lldx%lldx%lld", (long long)problem->m, (long long)problem->n,
             (long long)problem->k);
    printf("%-12s %-8s %-12s %12.0f", problem->kernel, problem->dtype, shape, instructions);
    for (int mode = PLAIN; mode <= CHECKS; mode++)
        printf("  %9.5f %8.1f", cpu[mode], 1e-6 * instructions / cpu[mode]);
    printf("  %6.2f %6.2f  %6.2f %6.2f", elapsed[PLAIN] / elapsed[PLAIN_2], cpu[PLAIN] / cpu[PLAIN_2],
           elapsed[CHECKS] / elapsed[CHECKS_2], cpu[CHECKS] / cpu[CHECKS_2]);
    if (measured->oclgrind > 0)
        printf("  %10.1f %9.0f", measured->oclgrind, measured->oclgrind / cpu[CHECKS]);
    else if (measured->oclgrind < 0)
        printf("  >%9.1f >%8.0f", -measured->oclgrind, -measured->oclgrind / cpu[CHECKS]);
    else
        printf("  %10s %9s", "-", "-");
    printf("\n");
    fflush(stdout);
}

/* ---- Main ---------------------------------------------------------------------------------------------------------- */

static measured_case_t measured[CASE_COUNT];

static int open_cases(rung_context *context, const char *filter)
{
    int count = 0;
    for (int i = 0; i < CASE_COUNT; i++) {
        if (!strstr(cases[i].kernel, filter))
            continue;
        measured_case_t *next = &measured[count++];
        next->problem = &cases[i];
        if (!ladder_kernel_compile(context, &cases[i], ARCHITECTURE, &next->kernel))
            exit(77);
        for (int mode = 0; mode < MODE_COUNT; mode++)
            open_session(context, &next->kernel, (run_mode_t)mode, &next->sessions[mode]);
    }
    return count;
}

static void close_cases(int count)
{
    for (int i = 0; i < count; i++) {
        for (int mode = 0; mode < MODE_COUNT; mode++)
            rung_emulator_destroy(measured[i].sessions[mode].emulator);
        ladder_kernel_free(&measured[i].kernel);
    }
}

/* Returns the value of an option, or a default. */
static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return argv[i + 1];
    return otherwise;
}

/* Returns whether a smaller problem of the same kernel shows that Oclgrind takes longer than `limit` seconds. */
static bool is_too_long(int index, int limit)
{
    const ladder_case_t *problem = measured[index].problem;
    double work = (double)problem->m * (double)problem->n * (double)problem->k;
    for (int i = 0; i < index; i++) {
        const ladder_case_t *other = measured[i].problem;
        double other_work = (double)other->m * (double)other->n * (double)other->k, seconds = measured[i].oclgrind;
        if (strcmp(problem->kernel, other->kernel) == 0 && strcmp(problem->dtype, other->dtype) == 0 &&
            (seconds < 0 || seconds * work / other_work > limit))
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    int rounds = atoi(option(argc, argv, "--rounds", "5")), limit = atoi(option(argc, argv, "--oclgrind", "0"));
    rung_context *context;
    bool is_good = true;
    rounds = rounds < 1 ? 1 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    require(rung_context_create(NULL, &context) == RUNG_OK, "context");
    int count = open_cases(context, option(argc, argv, "--kernels", ""));
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++)
            for (int mode = 0; mode < MODE_COUNT; mode++)
                run(&measured[i].sessions[mode], round);
    print_machine(rounds);
    for (int i = 0; i < count; i++) {
        for (int mode = 0; mode < MODE_COUNT; mode++)
            is_good = is_same(&measured[i], (run_mode_t)mode) && is_good;
        if (limit > 0 && !is_too_long(i, limit))
            measured[i].oclgrind = measure_oclgrind(&measured[i], limit);
        print_case(&measured[i], rounds);
    }
    close_cases(count);
    rung_context_destroy(context);
    return is_good ? 0 : 1;
}
