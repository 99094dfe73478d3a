/* SPDX-License-Identifier: Apache-2.0 */
/* soak_run.c - see soak_run.h. */
#include "soak_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/try.h"
#include "common/elements.h"
#include "soak_check.h"

enum { THREADS_MAX = 3, KERNELS_MAX = 64 };

/* A device, opened in a context that has the settings of a variant. */
typedef struct target {
    rung_context *context;
    rung_device *device;
    rung_queue *queue;
    rung_kernel *kernels[KERNELS_MAX]; /* that a case may name */
    int kernel_count;
} target_t;

static target_t cpu_targets[SOAK_VARIANTS], gpu_targets[SOAK_DEVICES];
static FILE *emulator_log; /* receives standard error while the GPU is emulated */

/* ---- Devices --------------------------------------------------------------------------------------------------- */

static void set_variable(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* Kernels of the ladder. Libraries of other projects have other rules, and the lab tests kernels for engines that are absent. */
static void find_kernels(target_t *target, const char *backend)
{
    rung_kernel *kernel;
    for (int64_t i = 0; target->kernel_count < KERNELS_MAX; i++) {
        if (rung_kernel_at(target->context, backend, i, &kernel) != RUNG_OK)
            return;
        if (rung_kernel_describe(kernel)->number > 0)
            target->kernels[target->kernel_count++] = kernel;
    }
}

static bool open_target(soak_device device, target_t *target)
{
    rung_context_options options = rung_context_options_default();
    float one = 1, result = 0;
    options.device = soak_device_name(device);
    options.threads = THREADS_MAX;
    options.verbose = -1;
    if (rung_context_create(&options, &target->context) != RUNG_OK ||
        rung_device_open(target->context, options.device, &target->device) != RUNG_OK ||
        rung_queue_create(target->device, &target->queue) != RUNG_OK ||
        rung_gemm(target->context, 1, rung_matrix_of(RUNG_F32, 1, 1, &one), rung_matrix_of(RUNG_F32, 1, 1, &one), 0,
                  rung_matrix_of(RUNG_F32, 1, 1, &result)) != RUNG_OK || /* opens the device that calls use */
        result != 1) {
        fprintf(stderr, "soak: %s: %s\n", options.device, rung_error_text());
        return false;
    }
    find_kernels(target, options.device);
    return true;
}

bool soak_open(unsigned devices)
{
    for (int i = 0; i < SOAK_VARIANTS && devices & 1U << SOAK_DEVICE_cpu; i++) {
        set_variable("RUNG_CPU_ISA", soak_variants[i].isa);
        set_variable("RUNG_CPU_CACHES", soak_variants[i].caches);
        if (!open_target(SOAK_DEVICE_cpu, &cpu_targets[i]))
            return false;
    }
    set_variable("RUNG_CPU_ISA", NULL);
    set_variable("RUNG_CPU_CACHES", NULL);
    if (devices & 1U << SOAK_DEVICE_cuda) {
        emulator_log = tmpfile();
        if (!emulator_log)
            return false;
    }
    for (int i = SOAK_DEVICE_opencl; i < SOAK_DEVICES; i++)
        if (devices & 1U << i && !open_target((soak_device)i, &gpu_targets[i]))
            return false;
    return true;
}

static void close_target(target_t *target)
{
    rung_queue_destroy(target->queue);
    rung_device_close(target->device);
    rung_context_destroy(target->context);
}

void soak_close(void)
{
    for (int i = 0; i < SOAK_VARIANTS; i++)
        if (cpu_targets[i].context)
            close_target(&cpu_targets[i]);
    for (int i = 0; i < SOAK_DEVICES; i++)
        if (gpu_targets[i].context)
            close_target(&gpu_targets[i]);
    if (emulator_log)
        fclose(emulator_log);
}

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

static rung_status run_call(const target_t *target, const soak_data *data, int64_t threads)
{
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = threads;
    return rung_multiply(target->context, &data->problem, &options);
}

static rung_status run_group(const target_t *target, const soak_data *data, int count, int64_t threads)
{
    rung_problem problems[SOAK_MEMBERS_MAX];
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = threads;
    for (int i = 0; i < count; i++)
        problems[i] = data[i].problem;
    rung_group group = rung_group_of(problems, count);
    return rung_group_multiply(target->context, &group, &options);
}

static rung_status pack(const target_t *target, rung_plan *plan, rung_problem *problem, rung_buffer **packed)
{
    TRY(rung_buffer_create(target->device, rung_plan_describe(plan)->packed_b_bytes, packed));
    TRY(rung_plan_pack_b(plan, target->queue, &problem->b, *packed, NULL));
    problem->b.data = NULL;
    return RUNG_OK;
}

/* Runs a plan for a problem whose matrices are where the device reads them. */
static rung_status run_plan(const soak_case *subject, const target_t *target, rung_problem problem, int64_t threads)
{
    rung_plan_options options = rung_plan_options_default();
    rung_run_options run = rung_run_options_default();
    rung_plan *plan;
    options.threads = threads;
    options.packed_b = subject->path == SOAK_PATH_packed;
    options.max_workspace_bytes = threads == 0 ? LAB_WORKSPACE_MAX_BYTES : 0;
    if (subject->kernel >= 0 && target->kernel_count > 0)
        options.kernel = target->kernels[subject->kernel % target->kernel_count];
    TRY(rung_plan_create(target->device, &problem, &options, &plan));
    int64_t workspace_bytes = rung_plan_describe(plan)->workspace_bytes;
    rung_status status = RUNG_OK;
    if (options.packed_b)
        status = pack(target, plan, &problem, &run.packed_b);
    if (status == RUNG_OK && workspace_bytes > 0)
        status = rung_buffer_create(target->device, workspace_bytes, &run.workspace);
    if (status == RUNG_OK)
        status = rung_plan_run(plan, target->queue, &problem, &run);
    rung_status finish_status = rung_queue_finish(target->queue);
    rung_buffer_destroy(run.packed_b);
    rung_buffer_destroy(run.workspace);
    rung_plan_destroy(plan);
    return status == RUNG_OK ? finish_status : status;
}

/* Copies all memory to buffers and points the views of `problem` to them. */
static rung_status upload(const soak_case *subject, const target_t *target, soak_data *on_device,
                          rung_buffer *buffers[SOAK_OPERANDS])
{
    rung_matrix *views[SOAK_OPERANDS] = {&on_device->problem.a,
                                         &on_device->problem.b,
                                         &on_device->problem.c,
                                         &on_device->problem.d,
                                         &on_device->problem.bias,
                                         &on_device->problem.residual,
                                         &on_device->problem.multiplier,
                                         &on_device->a_quantization.scales,
                                         &on_device->a_quantization.zero_points,
                                         &on_device->b_quantization.scales,
                                         &on_device->b_quantization.zero_points};
    for (int i = 0; i < SOAK_OPERANDS; i++) {
        const soak_memory *memory = &on_device->memory[i];
        if (!memory->start)
            continue;
        TRY(rung_buffer_create(target->device, memory->bytes, &buffers[i]));
        TRY(rung_buffer_write(target->queue, buffers[i], 0, memory->bytes, memory->start, NULL));
    }
    for (int i = 0; i < SOAK_OPERANDS; i++)
        if (subject->has[i]) {
            views[i]->data = NULL;
            views[i]->buffer = buffers[on_device->home[i]];
        }
    return RUNG_OK;
}

static rung_status run_in_buffers(const soak_case *subject, const target_t *target, soak_data *data)
{
    rung_buffer *buffers[SOAK_OPERANDS] = {NULL};
    soak_data on_device = *data;
    soak_operand home = data->home[data->output];
    if (on_device.problem.a_quantization)
        on_device.problem.a_quantization = &on_device.a_quantization;
    if (on_device.problem.b_quantization)
        on_device.problem.b_quantization = &on_device.b_quantization;
    rung_status status = upload(subject, target, &on_device, buffers);
    if (status == RUNG_OK)
        status = run_plan(subject, target, on_device.problem, 0);
    if (status == RUNG_OK)
        status = rung_buffer_read(target->queue, buffers[home], 0, data->memory[home].bytes, data->memory[home].start,
                                  NULL);
    rung_status finish_status = rung_queue_finish(target->queue);
    for (int i = 0; i < SOAK_OPERANDS; i++)
        rung_buffer_destroy(buffers[i]);
    return status == RUNG_OK ? finish_status : status;
}

/* Computes all problems of the case once. */
static rung_status compute(const soak_case *subject, soak_device device, const target_t *target, soak_data *data,
                           int64_t threads)
{
    switch (subject->path) {
    case SOAK_PATH_group: return run_group(target, data, subject->members, threads);
    case SOAK_PATH_plan:
    case SOAK_PATH_packed:
        return device == SOAK_DEVICE_cpu ? run_plan(subject, target, data->problem, threads)
                                         : run_in_buffers(subject, target, data);
    case SOAK_PATH_call:
    case SOAK_PATHS: break;
    }
    return run_call(target, data, threads);
}

/* ---- Checks ---------------------------------------------------------------------------------------------------- */

typedef struct members {
    soak_case cases[SOAK_MEMBERS_MAX];
    soak_data data[SOAK_MEMBERS_MAX];
    int count;
} members_t;

static soak_outcome fail(soak_result *result, soak_device device, const char *what)
{
    char message[sizeof result->message];
    snprintf(message, sizeof message, "%s: %.900s", soak_device_name(device), what);
    memcpy(result->message, message, sizeof message);
    result->is_wrong = true;
    return SOAK_WRONG;
}

static void restore(members_t *members)
{
    for (int i = 0; i < members->count; i++)
        soak_data_restore(&members->data[i]);
}

/* Checks that a call that failed says that the device does not support the problem, and has changed nothing. */
static soak_outcome check_refusal(const members_t *members, soak_device device, rung_status status, soak_result *result)
{
    char message[900];
    if (status != RUNG_STATUS_UNSUPPORTED) {
        snprintf(message, sizeof message, "%s: %.800s", rung_status_name(status), rung_error_text());
        return fail(result, device, message);
    }
    for (int i = 0; i < members->count; i++)
        if (!soak_data_is_intact(&members->cases[i], &members->data[i], members->count == 1, message, sizeof message))
            return fail(result, device, message);
    return SOAK_REFUSED;
}

static soak_outcome check_results(const members_t *members, soak_device device, soak_result *result)
{
    char message[900];
    lab_accuracy accuracy = device == SOAK_DEVICE_cuda ? LAB_ACCURACY_ENGINE : LAB_ACCURACY_BOUNDED;
    for (int i = 0; i < members->count; i++)
        if (!soak_data_is_intact(&members->cases[i], &members->data[i], false, message, sizeof message) ||
            !soak_result_is_right(&members->cases[i], &members->data[i], accuracy, message, sizeof message))
            return fail(result, device, message);
    return SOAK_RIGHT;
}

/* Compares the results with copies. */
static soak_outcome compare_bits(const members_t *members, void *const *copies, const char *what, soak_result *result)
{
    char message[200];
    for (int i = 0; i < members->count; i++) {
        int64_t at = soak_output_difference(&members->cases[i], &members->data[i], copies[i]);
        if (at < 0)
            continue;
        snprintf(message, sizeof message, "element %lld of problem %d has other bits %s", (long long)at, i, what);
        return fail(result, SOAK_DEVICE_cpu, message);
    }
    return SOAK_RIGHT;
}

/* Computes each problem of a group by rung_multiply, which must give the same bits. */
static soak_outcome compare_with_calls(members_t *members, const target_t *target, void *const *copies,
                                       soak_result *result)
{
    restore(members);
    for (int i = 0; i < members->count; i++)
        if (run_call(target, &members->data[i], 1) != RUNG_OK)
            return fail(result, SOAK_DEVICE_cpu, rung_error_text());
    return compare_bits(members, copies, "after rung_multiply than after rung_group_multiply", result);
}

/* Computes the case with more threads; the bits must be those of one thread. */
static soak_outcome compare_threads(const soak_case *subject, members_t *members, const target_t *target,
                                    soak_result *result)
{
    void *copies[SOAK_MEMBERS_MAX] = {NULL};
    soak_outcome outcome = SOAK_RIGHT;
    bool has_copies = true;
    for (int i = 0; i < members->count; i++) {
        copies[i] = soak_output_copy(&members->data[i]);
        has_copies = has_copies && copies[i];
    }
    for (int64_t threads = 2; has_copies && outcome == SOAK_RIGHT && threads <= THREADS_MAX; threads++) {
        restore(members);
        rung_status status = compute(subject, SOAK_DEVICE_cpu, target, members->data, threads);
        outcome = status == RUNG_OK
                      ? compare_bits(members, copies, threads == 2 ? "with 2 threads" : "with 3 threads", result)
                      : fail(result, SOAK_DEVICE_cpu, rung_error_text());
    }
    if (has_copies && outcome == SOAK_RIGHT && subject->path == SOAK_PATH_group)
        outcome = compare_with_calls(members, target, copies, result);
    for (int i = 0; i < members->count; i++)
        free(copies[i]);
    return outcome;
}

/* Directs standard error to the log of the emulator, and back. */
static int catch_findings(void)
{
    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    if (ftruncate(fileno(emulator_log), 0) == 0)
        rewind(emulator_log);
    dup2(fileno(emulator_log), STDERR_FILENO);
    return saved;
}

/* The emulator prints what it finds: races, wrong accesses, reads of memory that was never written. */
static soak_outcome read_findings(int saved, soak_outcome outcome, soak_result *result)
{
    char line[900];
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(emulator_log);
    while (fgets(line, sizeof line, emulator_log))
        if (strstr(line, "emulated GPU: ") && outcome != SOAK_WRONG) {
            line[strcspn(line, "\n")] = '\0';
            outcome = fail(result, SOAK_DEVICE_cuda, line);
        }
    return outcome;
}

static soak_outcome run_on(const soak_case *subject, soak_device device, members_t *members, soak_result *result)
{
    bool is_cpu = device == SOAK_DEVICE_cpu;
    const target_t *target = is_cpu ? &cpu_targets[subject->variant] : &gpu_targets[device];
    restore(members);
    int saved = device == SOAK_DEVICE_cuda ? catch_findings() : -1;
    rung_status status = compute(subject, device, target, members->data, is_cpu ? 1 : 0);
    soak_outcome outcome = status == RUNG_OK ? check_results(members, device, result)
                                             : check_refusal(members, device, status, result);
    if (saved >= 0)
        outcome = read_findings(saved, outcome, result);
    if (is_cpu && outcome == SOAK_RIGHT)
        outcome = compare_threads(subject, members, target, result);
    return outcome;
}

static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void soak_case_run(const soak_case *subject, soak_result *result)
{
    static members_t members;
    bool is_made = true;
    memset(result, 0, sizeof *result);
    members.count = subject->members;
    for (int i = 0; i < members.count; i++) {
        members.cases[i] = soak_case_member(subject, i);
        is_made = soak_data_create(&members.cases[i], i, &members.data[i]) && is_made;
    }
    for (int i = 0; i < SOAK_DEVICES; i++) {
        double start = processor_seconds();
        result->outcomes[i] = SOAK_SKIPPED;
        if (subject->devices & 1U << i && is_made)
            result->outcomes[i] = run_on(subject, (soak_device)i, &members, result);
        result->seconds[i] = processor_seconds() - start;
    }
    for (int i = 0; i < members.count; i++)
        soak_data_destroy(&members.data[i]);
}
