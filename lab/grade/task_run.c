/* SPDX-License-Identifier: Apache-2.0 */
/* task_run.c - see task_run.h. Every case has an emulator of its own, so that no case sees what another one left. */
#include "grade/task_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "cli/interrupt.h"
#include "common/failure.h"
#include "common/lab_clock.h"
#include "common/text.h"
#include "cuda_source/ptxas_report.h"
#include "explain/explain.h"
#include "rung/emulator.h"

enum { OWN_ARRAYS_MAX = 32, PARAMETER_BYTES = 4096, LOCAL_MIB_MAX = 64 };

static const int64_t emulated_memory = (int64_t)1 << 31;

/* An array that the launch lines of the submission create. */
typedef struct own_array {
    rungi_string_view name;
    lab_element_type type;
    int64_t bytes;
    uint64_t address;
} own_array_t;

typedef struct run_session {
    const lab_task_code *code;
    const lab_task_case *one;
    const lab_task_run_settings *settings;
    lab_task_run_result *result;
    rung_emulator *emulator;
    rung_emulator_module *module;
    uint64_t addresses[LAB_TASK_ARGUMENTS_MAX];
    own_array_t own[OWN_ARRAYS_MAX];
    int own_count;
    int64_t own_bytes;
    char shape[256];
} run_session_t;

/* Ends the run with a sentence. Returns false. */
static bool stop(run_session_t *session, const char *reason)
{
    session->result->ending = LAB_TASK_RUN_FAILED;
    return lab_set_reason(session->result->stopped, sizeof session->result->stopped, "%s", reason);
}

/* Ends the run after a call of the emulator that failed. Returns false. */
static bool stop_after(run_session_t *session, rung_status status)
{
    session->result->lacked_memory = status == RUNG_STATUS_NO_MEMORY;
    return stop(session, rung_error_text());
}

static bool stop_without_memory(run_session_t *session)
{
    session->result->lacked_memory = true;
    return stop(session, "out of memory");
}

/* ---- The emulator ---- */

static int should_stop(void *user)
{
    const lab_task_run_settings *settings = user;
    return lab_is_interrupted() ||
           (settings->until_cpu_ns > 0 && lab_clock_now_ns(LAB_CLOCK_CPU) > settings->until_cpu_ns);
}

static bool open_emulator(run_session_t *session)
{
    const lab_task_code *code = session->code;
    char name[256];
    rung_emulator_options options = rung_emulator_options_default();
    options.compute_capability = code->task->architecture;
    options.checks = session->settings->is_checked ? RUNG_EMULATOR_CHECK_ALL : 0;
    options.count_accesses = session->one->is_measured && session->settings->is_checked;
    options.max_instructions = session->settings->is_checked ? code->task->million_per_warp * 1000000 : 0;
    options.threads = 1; /* so that kernels with races give the same results on every machine */
    options.memory_bytes = emulated_memory;
    options.output = session->settings->output;
    options.should_stop = should_stop;
    options.user = (void *)(uintptr_t)session->settings;
    snprintf(name, sizeof name, "%s", lab_base_name(code->path));
    rung_status status = rung_emulator_create(&options, &session->emulator);
    if (status == RUNG_OK)
        status = rung_emulator_module_load(session->emulator, name, code->code.ptx, (size_t)code->code.ptx_bytes,
                                           &session->module);
    return status == RUNG_OK || stop_after(session, status);
}

/* ---- Arrays ---- */

/* Results of hidden cases begin as NaN or -1, those of others uninitialised: an element that the kernel does not write is
 * wrong in the first ones, and reading it is a finding in the second ones. */
static rung_status fill_result(run_session_t *session, int index, int64_t bytes)
{
    if (!session->one->is_hidden)
        return RUNG_OK;
    return rung_emulator_fill(session->emulator, session->addresses[index], 0xff, 1, bytes);
}

static bool create_arrays(run_session_t *session)
{
    const lab_task *task = session->code->task;
    for (int i = 0; i < task->argument_count; i++) {
        const lab_task_case_argument *own = &session->one->arguments[i];
        if (!lab_role_is_array(task->arguments[i].role))
            continue;
        rung_status status = rung_emulator_allocate(session->emulator, own->bytes, task->arguments[i].name,
                                                    &session->addresses[i]);
        if (status == RUNG_OK)
            status = own->data ? rung_emulator_write(session->emulator, session->addresses[i], own->data, own->bytes)
                               : fill_result(session, i, own->bytes);
        if (status != RUNG_OK)
            return stop_after(session, status);
    }
    return true;
}

/* Returns the array that a launch line creates; NULL with a sentence if that is impossible. */
static const own_array_t *get_own_array(run_session_t *session, const lab_launch_argument *argument, char *why,
                                        size_t capacity)
{
    int64_t count;
    for (int i = 0; i < session->own_count; i++)
        if (rungi_string_views_equal(session->own[i].name, argument->name))
            return &session->own[i];
    own_array_t *own = &session->own[session->own_count];
    if (session->own_count == OWN_ARRAYS_MAX) {
        lab_set_reason(why, capacity, "the launches create more than %d arrays", OWN_ARRAYS_MAX);
        return NULL;
    }
    *own = (own_array_t){.name = argument->name, .type = argument->type};
    if (!lab_task_code_evaluate(session->code, session->one->sizes, argument->count, &count, why, capacity))
        return NULL;
    int64_t limit = session->code->task->memory_mib << 20;
    if (count < 1 || !rungi_checked_multiply(count, lab_element_type_bytes(own->type), &own->bytes) ||
        !rungi_checked_add(session->own_bytes, own->bytes, &session->own_bytes) || session->own_bytes > limit) {
        lab_set_reason(why, capacity, "%.*s has %lld elements; the arrays of the launches may take 1 byte to %lld MiB",
                       (int)argument->name.length, argument->name.text, (long long)count,
                       (long long)session->code->task->memory_mib);
        return NULL;
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)argument->name.length, argument->name.text);
    if (rung_emulator_allocate(session->emulator, own->bytes, name, &own->address) != RUNG_OK ||
        (argument->contents == LAB_CONTENTS_zero &&
         rung_emulator_fill(session->emulator, own->address, 0, 1, own->bytes) != RUNG_OK)) {
        lab_set_reason(why, capacity, "%s", rung_error_text());
        return NULL;
    }
    session->own_count++;
    return own;
}

/* ---- Launches ---- */

/* Evaluates X[,Y[,Z]]. */
static bool read_dimensions(const run_session_t *session, rungi_string_view text, const char *name, uint32_t sizes[3],
                            char *why, size_t capacity)
{
    rungi_string_view rest = text;
    char reason[512];
    sizes[0] = sizes[1] = sizes[2] = 1;
    for (int i = 0; rest.text; i++) {
        rungi_string_view part = rungi_string_view_split(&rest, ',');
        int64_t value = 0;
        if (i == 3)
            return lab_set_reason(why, capacity, "%s= has more than three numbers", name);
        if (!lab_task_code_evaluate(session->code, session->one->sizes, part, &value, reason, sizeof reason))
            return lab_set_reason(why, capacity, "%s=%.*s: %s", name, (int)text.length, text.text, reason);
        if (value < 1 || value > INT32_MAX)
            return lab_set_reason(why, capacity, "%s=%.*s is %lld", name, (int)text.length, text.text,
                                  (long long)value);
        sizes[i] = (uint32_t)value;
    }
    return true;
}

/* Writes the value of one parameter to `to`, which has room for `bytes`. */
static bool write_parameter(run_session_t *session, const lab_task_parameter *parameter, int64_t bytes,
                            unsigned char *to, char *why, size_t capacity)
{
    const lab_task *task = session->code->task;
    if (parameter->kind == LAB_PARAMETER_ARGUMENT) {
        const lab_task_argument *argument = &task->arguments[parameter->argument];
        bool is_array = lab_role_is_array(argument->role);
        int64_t own = is_array ? (int64_t)sizeof(uint64_t) : lab_element_type_bytes(argument->type);
        if (bytes != own)
            return lab_set_reason(why, capacity, "%s is a parameter of %lld bytes, but the task's argument has %lld",
                                  argument->name, (long long)bytes, (long long)own);
        memcpy(to,
               is_array ? (const void *)&session->addresses[parameter->argument]
                        : session->one->arguments[parameter->argument].data,
               (size_t)own);
        return true;
    }
    if (parameter->kind == LAB_PARAMETER_OWN_ARRAY) {
        const own_array_t *own = get_own_array(session, parameter->own, why, capacity);
        if (!own || bytes != (int64_t)sizeof own->address)
            return own && lab_set_reason(why, capacity, "%.*s is an array, but its parameter is no pointer",
                                         (int)own->name.length, own->name.text);
        memcpy(to, &own->address, sizeof own->address);
        return true;
    }
    int64_t value;
    if (!lab_task_code_evaluate(session->code, session->one->sizes, parameter->own->value, &value, why, capacity))
        return false;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return lab_set_reason(why, capacity, "%.*s is a number, but its parameter has %lld bytes",
                              (int)parameter->own->name.length, parameter->own->name.text, (long long)bytes);
    lab_element_type type = bytes == 8   ? (parameter->is_float ? LAB_ELEMENT_f64 : LAB_ELEMENT_i64)
                            : bytes == 4 ? (parameter->is_float ? LAB_ELEMENT_f32 : LAB_ELEMENT_i32)
                            : bytes == 2 ? LAB_ELEMENT_i16
                                         : LAB_ELEMENT_i8;
    if (parameter->is_float)
        lab_element_write(type, to, 0, (double)value);
    else
        lab_element_write_integer(type, to, 0, value);
    return true;
}

static bool write_parameters(run_session_t *session, const lab_task_launch *launch,
                             const rung_emulator_kernel_info *info, unsigned char *buffer, int64_t *bytes, char *why,
                             size_t capacity)
{
    int count = session->code->outline.functions[launch->function].parameter_count;
    if (info->parameter_count != count)
        return lab_set_reason(why, capacity,
                              "%s has %lld parameters after macros are expanded; write them without macros",
                              launch->name, (long long)info->parameter_count);
    *bytes = 0;
    for (int i = 0; i < count; i++) {
        int64_t end = info->parameter_offsets[i] + info->parameter_bytes[i];
        if (end > PARAMETER_BYTES)
            return lab_set_reason(why, capacity, "the parameters of %s are too large", launch->name);
        if (!write_parameter(session, &launch->parameters[i], info->parameter_bytes[i],
                             buffer + info->parameter_offsets[i], why, capacity))
            return false;
        *bytes = end;
    }
    return true;
}

/* Refuses launches that would take too long or too much memory, whatever they compute. */
static bool check_limits(const run_session_t *session, const rung_emulator_launch *how,
                         const rung_emulator_kernel_info *info, char *why, size_t capacity)
{
    int64_t threads = 1, block = (int64_t)how->block[0] * how->block[1], limit = session->code->task->threads_max;
    bool fits = rungi_checked_multiply(block, how->block[2], &block);
    for (int i = 0; i < 3; i++)
        fits = fits && rungi_checked_multiply(threads, (int64_t)how->grid[i] * how->block[i], &threads);
    if (!fits || threads > limit)
        return lab_set_reason(
            why, capacity, "the launch has %u x %u x %u blocks of %u x %u x %u threads; the limit is %lld threads",
            how->grid[0], how->grid[1], how->grid[2], how->block[0], how->block[1], how->block[2], (long long)limit);
    if (info->local_bytes > 0 && block > ((int64_t)LOCAL_MIB_MAX << 20) / info->local_bytes)
        return lab_set_reason(why, capacity, "a thread has %lld bytes of local memory; a block may have %d MiB",
                              (long long)info->local_bytes, LOCAL_MIB_MAX);
    return true;
}

/* Finds the occupancy from the compiler's report. */
static void add_occupancy(run_session_t *session, const char *entry, const rung_emulator_launch *how)
{
    lab_ptxas_report report;
    char architecture[32];
    double *metrics = session->result->metrics;
    snprintf(architecture, sizeof architecture, "sm_%d", session->code->task->architecture);
    const lab_sm_limits *limits = lab_sm_limits_of(architecture);
    if (!limits || !session->code->code.cubin || !lab_ptxas_report_read(session->code->code.log, entry, &report))
        return;
    lab_occupancy occupancy = lab_occupancy_of(limits, (int64_t)how->block[0] * how->block[1] * how->block[2],
                                               report.registers, report.shared_bytes + how->dynamic_shared_bytes);
    metrics[LAB_METRIC_OCCUPANCY] = fmin(metrics[LAB_METRIC_OCCUPANCY], 100 * occupancy.fraction);
    metrics[LAB_METRIC_REGISTERS] = fmax(metrics[LAB_METRIC_REGISTERS], (double)report.registers);
}

static bool prepare_launch(run_session_t *session, const lab_task_launch *launch, const rung_emulator_kernel_info *info,
                           rung_emulator_launch *how, unsigned char *buffer, char *why, size_t capacity)
{
    const lab_launch_line *line = launch->line;
    how->parameter_buffer = buffer;
    how->is_cooperative = rungi_string_view_equals(line->cooperative, "1");
    if (!read_dimensions(session, line->grid, "grid", how->grid, why, capacity) ||
        !read_dimensions(session, line->block, "block", how->block, why, capacity) ||
        (line->cluster.length > 0 &&
         !read_dimensions(session, line->cluster, "cluster", how->cluster, why, capacity)) ||
        (line->shared.length > 0 && !lab_task_code_evaluate(session->code, session->one->sizes, line->shared,
                                                            &how->dynamic_shared_bytes, why, capacity)))
        return false;
    return check_limits(session, how, info, why, capacity) &&
           write_parameters(session, launch, info, buffer, &how->parameter_bytes, why, capacity);
}

/* Says why a launch did not end. */
static bool explain_status(run_session_t *session, const char *name, rung_status status)
{
    lab_task_run_result *result = session->result;
    bool is_late = status == RUNG_STATUS_CANCELLED && !lab_is_interrupted();
    bool is_found = status == RUNG_STATUS_DEVICE_LOST && rung_emulator_finding_count(session->emulator) > 0;
    result->lacked_memory = status == RUNG_STATUS_NO_MEMORY;
    result->ending = is_late ? LAB_TASK_RUN_TIMED_OUT : LAB_TASK_RUN_FAILED;
    return lab_set_reason(result->stopped, sizeof result->stopped, "%s: %s", name,
                          is_late    ? "the time limit of the grading was reached"
                          : is_found ? "the kernel did not end; the findings say why"
                                     : rung_error_text());
}

static bool run_launch(run_session_t *session, int index)
{
    const lab_task_launch *launch = &session->code->launches[index];
    rung_emulator_launch how = rung_emulator_launch_of(1, 1, NULL);
    rung_emulator_kernel *kernel;
    unsigned char buffer[PARAMETER_BYTES] = {0};
    char why[512];
    const char *entry = session->code->code.lowered[index];
    if (rung_emulator_kernel_find(session->module, entry, &kernel) != RUNG_OK)
        return stop(session, rung_error_text());
    if (!prepare_launch(session, launch, rung_emulator_kernel_get_info(kernel), &how, buffer, why, sizeof why)) {
        session->result->ending = LAB_TASK_RUN_FAILED;
        return lab_set_reason(session->result->stopped, sizeof session->result->stopped, "%s: %s", launch->name, why);
    }
    rung_emulator_findings_clear(session->emulator);
    rung_status status = rung_emulator_launch_kernel(kernel, &how);
    if (session->settings->findings)
        lab_finding_list_add(session->settings->findings, session->emulator, session->shape);
    if (status != RUNG_OK)
        return explain_status(session, launch->name, status);
    add_occupancy(session, entry, &how);
    double threads = (double)how.block[0] * how.block[1] * how.block[2];
    session->result->metrics[LAB_METRIC_BLOCK_THREADS] = fmax(session->result->metrics[LAB_METRIC_BLOCK_THREADS],
                                                              threads);
    session->result->metrics[LAB_METRIC_LAUNCHES]++;
    return true;
}

/* ---- Counts ---- */

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 1;
}

static void read_metrics(run_session_t *session)
{
    double *metrics = session->result->metrics, ideal_sectors = 0, sectors = 0, wavefronts = 0, ideal_wavefronts = 0;
    for (int64_t i = 0; i < rung_emulator_line_count(session->emulator); i++) {
        const rung_emulator_line *row = rung_emulator_line_at(session->emulator, i);
        bool is_load = row->kind == RUNG_EMULATOR_GLOBAL_LOAD, is_store = row->kind == RUNG_EMULATOR_GLOBAL_STORE;
        bool is_atomic = row->kind == RUNG_EMULATOR_GLOBAL_ATOMIC;
        bool is_shared = row->kind >= RUNG_EMULATOR_SHARED_LOAD && row->kind <= RUNG_EMULATOR_SHARED_ATOMIC;
        bool is_local = row->kind == RUNG_EMULATOR_LOCAL_LOAD || row->kind == RUNG_EMULATOR_LOCAL_STORE;
        double requests = (double)row->requests, own = (double)row->sectors;
        metrics[LAB_METRIC_GLOBAL_LOAD_SECTORS] += is_load ? own : 0;
        metrics[LAB_METRIC_GLOBAL_STORE_SECTORS] += is_store ? own : 0;
        metrics[LAB_METRIC_GLOBAL_SECTORS] += is_load || is_store || is_atomic ? own : 0;
        metrics[LAB_METRIC_GLOBAL_REQUESTS] += is_load || is_store || is_atomic ? requests : 0;
        metrics[LAB_METRIC_GLOBAL_ATOMICS] += is_atomic ? requests : 0;
        metrics[LAB_METRIC_SHARED_REQUESTS] += is_shared ? requests : 0;
        metrics[LAB_METRIC_LOCAL_REQUESTS] += is_local ? requests : 0;
        sectors += is_load || is_store ? own : 0;
        ideal_sectors += is_load || is_store ? (double)row->ideal_sectors : 0;
        wavefronts += is_shared ? (double)row->wavefronts : 0;
        ideal_wavefronts += is_shared ? (double)row->ideal_wavefronts : 0;
    }
    metrics[LAB_METRIC_GLOBAL_SECTOR_RATIO] = ratio(sectors, ideal_sectors);
    metrics[LAB_METRIC_SHARED_WAVEFRONT_RATIO] = ratio(wavefronts, ideal_wavefronts);
    const rung_emulator_totals *totals = rung_emulator_get_totals(session->emulator, NULL);
    metrics[LAB_METRIC_WARP_INSTRUCTIONS] = totals ? (double)totals->warp_instructions : 0;
    metrics[LAB_METRIC_MATRIX_INSTRUCTIONS] = totals && totals->mix && totals->mix_count > RUNG_EMULATOR_MATRIX
                                                  ? (double)totals->mix[RUNG_EMULATOR_MATRIX]
                                                  : 0;
}

/* ---- Results ---- */

/* Returns NaN without its sign, which printf would show. */
static double unsigned_nan(double value)
{
    return isnan(value) ? fabs(value) : value;
}

static void compare_result(run_session_t *session, int index, const void *data)
{
    const lab_task_argument *argument = &session->code->task->arguments[index];
    lab_task_comparison comparison = lab_task_case_compare(session->one, index, data);
    if (comparison.wrong == 0 || *session->result->wrong)
        return;
    session->result->is_right = false;
    snprintf(session->result->wrong, sizeof session->result->wrong,
             "%s: %lld of %lld elements of %s are wrong; %s[%lld] is %.9g, expected %.9g%s", session->shape,
             (long long)comparison.wrong, (long long)session->one->arguments[index].count, argument->name,
             argument->name, (long long)comparison.first, unsigned_nan(comparison.got), comparison.expected,
             session->one->is_hidden && isnan(comparison.got) ? " (elements that a kernel does not write are NaN)"
                                                              : "");
}

/* A kernel must not change its inputs. */
static void compare_input(run_session_t *session, int index, const void *data)
{
    const lab_task_case_argument *own = &session->one->arguments[index];
    if (memcmp(own->data, data, (size_t)own->bytes) == 0 || *session->result->wrong)
        return;
    session->result->is_right = false;
    snprintf(session->result->wrong, sizeof session->result->wrong, "%s: the kernel changed its input %s",
             session->shape, session->code->task->arguments[index].name);
}

static bool compare_arrays(run_session_t *session)
{
    const lab_task *task = session->code->task;
    session->result->is_right = true;
    for (int i = 0; i < task->argument_count; i++) {
        const lab_task_case_argument *own = &session->one->arguments[i];
        if (!lab_role_is_array(task->arguments[i].role))
            continue;
        void *data = malloc((size_t)own->bytes);
        if (!data || rung_emulator_read(session->emulator, session->addresses[i], data, own->bytes) != RUNG_OK) {
            free(data);
            return stop_without_memory(session);
        }
        if (task->arguments[i].role == LAB_ROLE_IN)
            compare_input(session, i, data);
        else
            compare_result(session, i, data);
        free(data);
    }
    return true;
}

/* ---- Runs ---- */

static bool run_launches(run_session_t *session)
{
    for (int i = 0; i < session->code->lines.count; i++)
        if (!run_launch(session, i))
            return false;
    return true;
}

void lab_task_run(const lab_task_code *code, const lab_task_case *one, const lab_task_run_settings *settings,
                  lab_task_run_result *result)
{
    run_session_t session = {.code = code, .one = one, .settings = settings, .result = result};
    *result = (lab_task_run_result){.ending = LAB_TASK_RUN_COMPLETE};
    result->metrics[LAB_METRIC_OCCUPANCY] = 100;
    lab_task_case_describe(one, session.shape, sizeof session.shape);
    if (open_emulator(&session) && create_arrays(&session) && run_launches(&session) && compare_arrays(&session) &&
        one->is_measured)
        read_metrics(&session);
    rung_emulator_destroy(session.emulator);
}

/* Reads the results of a reference. */
static bool take_results(run_session_t *session, lab_task_case *one)
{
    const lab_task *task = session->code->task;
    for (int i = 0; i < task->argument_count; i++) {
        lab_task_case_argument *own = &one->arguments[i];
        if (!lab_role_is_result(task->arguments[i].role))
            continue;
        void *data = malloc((size_t)own->bytes);
        bool good = data && rung_emulator_read(session->emulator, session->addresses[i], data, own->bytes) == RUNG_OK;
        for (int64_t e = 0; good && e < own->count; e++)
            own->expected[e] = lab_element_read(task->arguments[i].type, data, e);
        free(data);
        if (!good)
            return stop(session, "out of memory");
    }
    return true;
}

/* A result of a reference.cu has no scale: the bound of an element is relative to it plus the mean magnitude. */
static void set_scales(const lab_task *task, lab_task_case *one)
{
    for (int i = 0; i < task->argument_count; i++) {
        lab_task_case_argument *own = &one->arguments[i];
        double sum = 0;
        if (!lab_role_is_result(task->arguments[i].role))
            continue;
        for (int64_t e = 0; e < own->count; e++)
            sum += isfinite(own->expected[e]) ? fabs(own->expected[e]) : 0;
        for (int64_t e = 0; e < own->count; e++)
            own->scale[e] = fabs(own->expected[e]) + sum / (double)own->count;
    }
}

bool lab_task_run_reference(const lab_task_code *code, lab_task_case *one, char *why, size_t capacity)
{
    const lab_task_run_settings settings = {.is_checked = false};
    lab_task_run_result result = {.ending = LAB_TASK_RUN_COMPLETE};
    run_session_t session = {.code = code, .one = one, .settings = &settings, .result = &result};
    lab_task_case_describe(one, session.shape, sizeof session.shape);
    bool good = open_emulator(&session) && create_arrays(&session) && run_launches(&session) &&
                take_results(&session, one);
    rung_emulator_destroy(session.emulator);
    if (good)
        set_scales(code->task, one);
    return good || lab_set_reason(why, capacity, "%s, with %s: %s", code->path, session.shape, result.stopped);
}
