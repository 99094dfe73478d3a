/* SPDX-License-Identifier: Apache-2.0 */
/* verify_run.c - runs the variants of rung verify: in this process, or for kernel files in a supervised child. */
#define _GNU_SOURCE /* strsignal */
#include <stdlib.h>
#include <string.h>

#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "process/child_process.h"
#include "target/parameters.h"
#include "verify/verify_session.h"

static void show_progress(const lab_verify_session *session, const lab_verify_variant *variant, int64_t done,
                          int64_t count)
{
    char text[256];
    snprintf(text, sizeof text, "%s %s, case %lld of %lld", variant->name, variant->parameters, (long long)done + 1,
             (long long)count);
    lab_progress_show(&(lab_progress){.what = text,
                                      .done = (double)(variant - session->variants) + (double)done / (double)count,
                                      .count = session->variant_count,
                                      .units = "settings"});
}

void lab_verify_begin_case(lab_verify_session *session, const lab_verify_variant *variant,
                           const lab_tested_kernel *subject, const lab_case *problem, int64_t number, int64_t count)
{
    char rerun_command[LAB_STEP_TEXT_BYTES];
    if (!lab_variant_is_file(variant))
        return;
    session->running = (lab_running_case){
        .variant = (int)(variant - session->variants), .problem = *problem, .number = number, .count = count};
    lab_case_command(subject, problem, rerun_command, sizeof rerun_command);
    lab_supervise_step_begin(rerun_command);
}

static int run_variant(lab_verify_session *session, lab_verify_variant *variant)
{
    lab_case_result result;
    lab_tested_kernel subject = {
        .context = session->target.context,
        .device = session->target.device,
        .queue = session->target.queue,
        .kernel = variant->kernel,
        .parameters = variant->parameters,
        .product = variant->dtype.product,
        .compute = variant->dtype.compute,
        .seed = (uint64_t)session->seed,
        .accuracy = lab_kernel_may_use_engine(&session->target, variant->kernel) ? LAB_ACCURACY_ENGINE
                                                                                 : LAB_ACCURACY_BOUNDED,
        .carveout = session->carveout,
        .threads = session->threads,
        .is_packed = session->options->packed != NULL,
    };
    lab_case_list list = lab_variant_cases(session, variant);
    if (list.out_of_memory) {
        free(list.cases);
        fprintf(stderr, "rung verify: not enough memory for the list of problems; --every 10 runs every tenth one\n");
        return LAB_EXIT_UNAVAILABLE;
    }
    for (int64_t i = 0; i < list.count && !lab_is_interrupted(); i += session->every) {
        show_progress(session, variant, i, list.count);
        lab_verify_begin_case(session, variant, &subject, &list.cases[i], i, list.count);
        lab_case_run(&subject, &list.cases[i], &result);
        if (session->repeat > 0 && result.kind == LAB_CASE_CORRECT)
            lab_case_run_repeated(&subject, &list.cases[i], session->repeat, &result);
        lab_supervise_step_end();
        lab_verify_record_result(session, variant, &subject, &list.cases[i], &result);
        /* A kernel that does not compile or fit will not do so for other problems, but memory may be free again. */
        if (result.kind == LAB_CASE_FAILED ||
            (result.kind == LAB_CASE_REJECTED && !result.lacked_memory && variant->cases == 1))
            break;
    }
    free(list.cases);
    lab_verify_confirm_failures(session, variant, &subject);
    return LAB_EXIT_SUCCESS;
}

/* ---- Kernel files ------------------------------------------------------------------------------- */

static lab_file_check *find_file_check(lab_verify_session *session, const rung_kernel *kernel)
{
    for (int i = 0; i < session->file_check_count; i++)
        if (kernel && session->file_checks[i].kernel == kernel)
            return &session->file_checks[i];
    return NULL;
}

/* Checks kernel files on the emulator or on Oclgrind before they run on the device, because a kernel that writes out of
 * bounds could crash this process. A single problem of --m is not checked, nor is a kernel that already runs on Oclgrind
 * or on the emulated driver with its checks. */
static void check_files(lab_verify_session *session)
{
    const rung_device_info *device = rung_device_describe(session->target.device);
    bool is_opencl = strcmp(device->backend, "opencl") == 0 && !session->device.is_simulator;
    bool is_cuda = strcmp(device->backend, "cuda") == 0 && !getenv("RUNG_EMULATED_CHECKS");
    for (int i = 0;
         (is_opencl || is_cuda) && !session->options->m && !lab_is_interrupted() && i < session->variant_count; i++) {
        const lab_verify_variant *variant = &session->variants[i];
        char what[512], given[LAB_PARAMETERS_BYTES] = ""; /* the parameters of --params that this kernel has */
        if (!lab_variant_is_file(variant) || find_file_check(session, variant->kernel) ||
            session->file_check_count == LAB_KERNELS_MAX)
            continue;
        lab_file_check *file_check = &session->file_checks[session->file_check_count++];
        const rung_kernel_info *kernel = rung_kernel_describe(variant->kernel);
        file_check->kernel = variant->kernel;
        snprintf(file_check->file, sizeof file_check->file, "%s", kernel->file);
        snprintf(what, sizeof what, "checking %.400s", kernel->file);
        lab_progress_show(&(lab_progress){
            .what = what, .done = session->file_check_count, .count = session->variant_count, .units = "files"});
        if (session->options->params) /* lab_verify_add_variants() has checked the length */
            lab_parameters_select(variant->kernel, session->options->params, given, sizeof given);
        lab_kernel_check_run(variant->kernel, *given ? given : NULL, &variant->dtype, session->time_limit, is_opencl,
                             &file_check->check);
        file_check->is_unsafe = lab_kernel_check_is_unsafe(&file_check->check);
    }
}

/* Adds the wrong results of the emulator to the findings of files that were correct on the device. */
static void add_emulated_results(lab_verify_session *session)
{
    for (int i = 0; i < session->file_check_count; i++) {
        lab_file_check *file_check = &session->file_checks[i];
        int64_t wrong = 0;
        for (int j = 0; j < session->variant_count; j++)
            wrong += session->variants[j].kernel == file_check->kernel ? session->variants[j].wrong : 0;
        if (wrong == 0 && file_check->check.count == 0 && *file_check->check.wrong_result)
            lab_kernel_check_add(&file_check->check, LAB_FINDING_OTHER, 0, "%s", file_check->check.wrong_result);
    }
}

/* Runs all variants except unsafe kernel files. */
static int run_all(lab_verify_session *session)
{
    int code = LAB_EXIT_SUCCESS;
    lab_interrupt_watch();
    lab_progress_begin(session->options->quiet);
    check_files(session);
    for (int i = 0; code == LAB_EXIT_SUCCESS && i < session->variant_count; i++) {
        const lab_file_check *file_check = find_file_check(session, session->variants[i].kernel);
        if (!file_check || !file_check->is_unsafe)
            code = run_variant(session, &session->variants[i]);
    }
    add_emulated_results(session);
    session->is_complete = !lab_is_interrupted();
    lab_progress_end();
    return code;
}

static void describe_device(lab_verify_session *session)
{
    const rung_device_info *device = rung_device_describe(session->target.device);
    snprintf(session->device.name, sizeof session->device.name, "%s", device->name);
    snprintf(session->device.title, sizeof session->device.title, "%s", device->title);
    snprintf(session->device.platform, sizeof session->device.platform, "%s", device->platform);
    session->device.is_simulator = strcmp(device->platform, "Oclgrind") == 0;
    if (session->device.is_simulator && !session->options->time_limit)
        session->time_limit = LAB_VERIFY_SIMULATOR_TIME_FACTOR * LAB_VERIFY_TIME_LIMIT_SECONDS;
}

/* Opens the device and runs all variants; in the child process for kernel files. */
static int run_session(void *opaque)
{
    lab_verify_session *session = opaque;
    int code = lab_target_open(session->options, session->kernels, &session->target);
    if (code == LAB_EXIT_SUCCESS) {
        describe_device(session);
        code = lab_verify_add_variants(session);
    }
    if (code == LAB_EXIT_SUCCESS)
        code = run_all(session);
    lab_target_close(&session->target);
    return code;
}

/* Counts the case that ended the child as a failure. */
static void record_child_ending(lab_verify_session *session, const lab_supervise_result *child)
{
    const lab_running_case *running = &session->running;
    lab_verify_variant *variant = &session->variants[running->variant];
    lab_verify_failure failure = {.variant = running->variant,
                                  .problem = running->problem,
                                  .is_confirmed = true,
                                  .timed_out = child->ending == LAB_ENDED_TIMED_OUT};
    char where[256], name[sizeof variant->name];
    snprintf(name, sizeof name, "%s", variant->name);
    snprintf(where, sizeof where, "m = %lld, n = %lld, k = %lld (problem %lld of %lld)", (long long)running->problem.m,
             (long long)running->problem.n, (long long)running->problem.k, (long long)running->number + 1,
             (long long)running->count);
    if (failure.timed_out)
        snprintf(failure.message, sizeof failure.message,
                 "%s did not finish within %g s on %s; check that each of its loops ends, or raise --time-limit", name,
                 session->time_limit, where);
    else
        snprintf(failure.message, sizeof failure.message,
                 "%s crashed (signal %d, %s) on %s; check that each access is within its matrix", name, child->code,
                 strsignal(child->code), where);
    snprintf(failure.rerun_command, sizeof failure.rerun_command, "%.*s", (int)sizeof failure.rerun_command - 1,
             child->step);
    lab_verify_insert_failure(session, &failure);
    variant->cases++;
    variant->wrong++;
}

/* Records a crash outside of a case, for example at the end of the process. */
static void record_late_crash(lab_verify_session *session, const lab_supervise_result *child)
{
    lab_verify_failure failure = {.is_confirmed = true};
    for (int i = 0; i < session->variant_count; i++)
        if (session->variants[i].cases > 0)
            failure.variant = i;
    snprintf(
        failure.message, sizeof failure.message,
        "the process that runs the kernels crashed (signal %d, %s) after problem %lld; check that each kernel writes "
        "only within its matrices",
        child->code, strsignal(child->code), (long long)lab_verify_totals(session).cases);
    lab_verify_insert_failure(session, &failure);
    session->is_complete = false;
}

int lab_verify_execute(lab_verify_session *session)
{
    if (!lab_list_has_file(session->kernels))
        return run_session(session);
    lab_progress_begin(session->options->quiet);
    lab_supervise_result child = lab_supervise(run_session, session, &session->time_limit);
    lab_progress_end();
    switch (child.ending) {
    case LAB_ENDED_EXITED: return child.code;
    case LAB_ENDED_INTERRUPTED: return LAB_EXIT_SUCCESS;
    case LAB_ENDED_NOT_STARTED: break;
    case LAB_ENDED_TIMED_OUT:
    case LAB_ENDED_CRASHED:
        if (*child.step) {
            record_child_ending(session, &child);
            return LAB_EXIT_SUCCESS;
        }
        if (lab_verify_totals(session).cases > 0) {
            record_late_crash(session, &child);
            return LAB_EXIT_SUCCESS;
        }
    }
    bool is_started = child.ending != LAB_ENDED_NOT_STARTED;
    fprintf(stderr, "rung verify: the process that runs the kernels %s; %s\n",
            is_started ? "crashed before it ran a kernel" : "could not be started",
            is_started ? "run rung doctor to check the driver" : lab_child_start_advice(child.code));
    return LAB_EXIT_WRONG;
}
