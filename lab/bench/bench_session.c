/* SPDX-License-Identifier: Apache-2.0 */
/* bench_session.c - rung bench in one process: opens the device, measures problem after problem, and reports.
 *
 * A time of a wrong result is never printed: every contender is verified before it is timed. */
#define _GNU_SOURCE /* strsignal */
#include "bench/bench_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/baseline.h"
#include "bench/bench.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "process/child_process.h"
#include "process/supervise.h"

/* ---- One problem --------------------------------------------------------------------------------------- */

/* Chooses how the CPU's samples are timed: one thread by its processor time, several by elapsed time. */
static void choose_clock(const lab_bench_session *session, lab_bench_problem *problem)
{
    if (!lab_bench_is_cpu(&session->result))
        return;
    problem->clock = session->threads == 1 ? LAB_CLOCK_CPU : LAB_CLOCK_WALL;
    problem->probe = lab_cpu_probe_for(problem->product, problem->compute);
    problem->threads = session->threads;
    problem->probe_threads = session->threads > 0 ? session->threads : session->result.device->compute_units;
    bool is_alone = session->contender_count == 1 && session->interleave.role == LAB_INTERLEAVE_NONE;
    problem->idle_ns = problem->probe_threads > 1 && !is_alone ? LAB_PEERS_SPIN_NS : 0;
}

static void warn_if_not_cold(const lab_bench_problem *problem)
{
    const lab_cold_copies *copies = problem->cold_copies;
    if (copies && copies->bytes < copies->target_bytes)
        fprintf(stderr,
                "rung: warning: the matrices may not be cold: memory has room for only %lld copies of A, B and C (%lld "
                "MiB); twice the last-level cache is %lld MiB\n",
                (long long)copies->count, (long long)(copies->bytes >> 20), (long long)(copies->target_bytes >> 20));
}

static int run_problem(lab_bench_session *session, lab_shape size, const lab_dtype *dtype)
{
    lab_bench_problem problem = lab_bench_problem_of(&session->target, dtype, size);
    problem.batch = session->result.batch;
    problem.splits = session->splits;
    problem.carveout = session->carveout;
    problem.is_cold = session->result.is_cold;
    problem.epilogue = session->result.epilogue;
    bool is_child = session->interleave.role == LAB_INTERLEAVE_CHILD;
    session->rounds = 0;
    int code = lab_bench_collect_contenders(session, dtype);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    if (!lab_bench_reserve_rows(session))
        return lab_fail(LAB_EXIT_USAGE, "out of memory");
    choose_clock(session, &problem);
    if (is_child && !lab_interleave_expect(&session->interleave, "problem"))
        return LAB_EXIT_USAGE;
    if (lab_bench_problem_create(&problem) == RUNG_OK) {
        warn_if_not_cold(&problem);
        lab_bench_measure(session, &problem);
    } else {
        for (int i = 0; i < session->contender_count; i++)
            lab_contender_reject(&session->contenders[i], LAB_ROW_REFUSED, "%s", rung_error_text());
        lab_bench_sample_all(session, &problem); /* another executable may wait for an answer */
    }
    lab_bench_add_rows(session, &problem);
    for (int i = 0; i < session->contender_count; i++)
        lab_contender_release(&session->contenders[i]);
    lab_bench_problem_destroy(&problem);
    if (is_child)
        lab_interleave_reply(&session->interleave, "ended", false);
    return is_child && session->interleave.failed ? LAB_EXIT_USAGE : LAB_EXIT_SUCCESS;
}

/* ---- All problems -------------------------------------------------------------------------------------- */

static void save(lab_bench_session *session)
{
    session->save_failed = !lab_bench_save(&session->result) || session->save_failed;
}

/* Prints and saves the rows of a problem, which begin at `first`. */
static void report_problem(lab_bench_session *session, int first)
{
    lab_bench_result *result = &session->result;
    bool is_last = session->problems_done + 1 == session->problem_count * session->dtype_count;
    lab_bench_explain_rows(session, first);
    result->complete = is_last && !lab_is_interrupted();
    lab_progress_hide();
    if (lab_bench_prints_tables(result)) {
        if (session->problems_done == 0)
            lab_bench_print_device(result);
        lab_bench_print_tables(result, first);
    }
    save(session);
}

/* Compares the machine's conditions before and after. While another device computes, this process keeps one thread busy. */
static void check_conditions(lab_bench_session *session)
{
    lab_bench_result *result = &session->result;
    int64_t processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t threads = !lab_bench_is_cpu(&session->result) ? 1
                      : session->threads > 0              ? session->threads
                                                          : result->device->compute_units;
    result->after = lab_conditions_read(result->device);
    result->warnings = lab_conditions_warnings(&result->before, &result->after, threads,
                                               processors > threads ? processors : threads);
    for (int i = 0; i < result->warnings.count; i++)
        fprintf(stderr, "rung: warning: %s\n", result->warnings.list[i]);
}

const lab_dtype *lab_bench_current_dtype(const lab_bench_session *session)
{
    return &session->dtypes[session->problems_done / session->problem_count];
}

static int run_all(lab_bench_session *session)
{
    int code = LAB_EXIT_SUCCESS, count = session->problem_count * session->dtype_count;
    session->result.before = session->result.after = lab_conditions_read(session->result.device);
    lab_interrupt_watch();
    lab_progress_begin(session->options->quiet);
    for (; code == LAB_EXIT_SUCCESS && session->problems_done < count && !lab_is_interrupted();
         session->problems_done++) {
        int first = session->result.row_count, index = session->problems_done % session->problem_count;
        if (index == 0)
            memset(session->ns_per_product, 0, sizeof session->ns_per_product); /* another type */
        code = run_problem(session, session->problems[index], lab_bench_current_dtype(session));
        if (code == LAB_EXIT_SUCCESS)
            report_problem(session, first);
    }
    lab_progress_end();
    if (code == LAB_EXIT_SUCCESS) {
        check_conditions(session);
        save(session);
    }
    return code;
}

/* ---- Before and after ---------------------------------------------------------------------------------- */

static int check_output(lab_bench_session *session)
{
    return lab_bench_check_output(session->options);
}

static int open_target(lab_bench_session *session)
{
    int code = lab_target_open(session->options, session->kernel_list, &session->target);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    session->result.device = rung_device_describe(session->target.device);
    return LAB_EXIT_SUCCESS;
}

/* Opens the profiler of rung_gemm, if rung_gemm is timed, and the file of --trace. */
static int open_profiler(lab_bench_session *session)
{
    const char *file = session->options->trace;
    bool times_gemm = false;
    for (int i = 0; i < session->kernel_count; i++)
        times_gemm = times_gemm || !session->kernels[i];
    if (file && !times_gemm)
        return lab_bench_usage_error("--trace requires --kernels rung_gemm");
    if (times_gemm && lab_call_profiler_open(session->result.device->name, &session->profiler) != RUNG_OK)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "%s", rung_error_text());
    if (!file)
        return LAB_EXIT_SUCCESS;
    session->trace.out = fopen(file, "we");
    if (!session->trace.out)
        return lab_fail(LAB_EXIT_USAGE, "%s cannot be written: %s; give a file in a writable folder with --trace", file,
                        strerror(errno));
    lab_json_begin(&session->trace, NULL, '{');
    lab_json_begin(&session->trace, "traceEvents", '[');
    return LAB_EXIT_SUCCESS;
}

/* Closes the trace. Returns false if it could not be written. */
static bool close_trace(lab_bench_session *session)
{
    if (!session->trace.out)
        return true;
    lab_json_end(&session->trace, ']');
    lab_json_end(&session->trace, '}');
    bool is_written = !ferror(session->trace.out);
    is_written = fclose(session->trace.out) == 0 && is_written;
    session->trace.out = NULL;
    if (!is_written)
        fprintf(stderr, "rung: %s is incomplete; check the free space on its disk\n", session->options->trace);
    return is_written;
}

/* Checks --baseline, and starts it if it is an executable. */
static int open_baseline(lab_bench_session *session)
{
    const lab_options *options = session->options;
    bool is_executable = false;
    const char *error = options->baseline ? lab_baseline_detect(options->baseline, &is_executable) : NULL;
    if (!error && options->baseline_json && !is_executable)
        error = LAB_BASELINE_JSON_USAGE;
    if (error)
        return lab_bench_usage_error("%s", error);
    if (is_executable && lab_bench_is_cpu(&session->result) && session->threads == 1)
        lab_interleave_pin_processor();
    if (is_executable && !lab_baseline_start(options, &session->result, &session->interleave))
        return lab_fail(lab_is_interrupted() ? LAB_EXIT_INTERRUPTED : LAB_EXIT_USAGE, "%s", session->interleave.why);
    snprintf(session->result.pairing, sizeof session->result.pairing, "%s", session->interleave.pairing);
    return LAB_EXIT_SUCCESS;
}

/* Compares with the baseline and returns the exit code of a session that has measured. */
static int exit_code_of(lab_bench_session *session)
{
    int code = LAB_EXIT_SUCCESS;
    if (!session->result.complete) {
        lab_interrupt_report("the results so far are shown; run the same command again to measure everything");
        return LAB_EXIT_INTERRUPTED;
    }
    if (session->interleave.role == LAB_INTERLEAVE_PARENT && session->interleave.failed)
        code = LAB_EXIT_USAGE;
    else if (session->options->baseline)
        code = lab_baseline_compare(session->options, &session->result, &session->interleave);
    if (session->interleave.failed && lab_is_interrupted()) {
        lab_interrupt_report("the results are not compared; run the same command again to compare them");
        return LAB_EXIT_INTERRUPTED;
    }
    if (session->any_wrong)
        return LAB_EXIT_WRONG;
    if (session->save_failed)
        return LAB_EXIT_USAGE;
    return session->any_verified ? code : LAB_EXIT_UNAVAILABLE;
}

static int run_session(lab_bench_session *session)
{
    static int (*const steps[])(lab_bench_session *
                                session) = {lab_bench_read_options, check_output,  open_target, lab_bench_find_kernels,
                                            open_profiler,          open_baseline, run_all};
    int code = LAB_EXIT_SUCCESS;
    lab_interleave_join(&session->interleave); /* first, since the parent waits only briefly for the greeting */
    for (size_t i = 0; code == LAB_EXIT_SUCCESS && i < sizeof steps / sizeof *steps; i++)
        code = steps[i](session);
    if (!close_trace(session) && code == LAB_EXIT_SUCCESS)
        code = LAB_EXIT_USAGE;
    if (code != LAB_EXIT_SUCCESS)
        return code;
    if (!lab_bench_prints_tables(&session->result))
        lab_bench_print(&session->result, stdout);
    return exit_code_of(session);
}

int lab_bench_run(const lab_options *options)
{
    lab_bench_session *session = calloc(1, sizeof *session);
    int code = LAB_EXIT_UNAVAILABLE;
    if (session) {
        session->options = session->result.options = options;
        session->contenders = calloc(LAB_CONTENDERS_MAX, sizeof *session->contenders);
        if (session->contenders)
            code = run_session(session);
        else
            lab_fail(code, "out of memory; end other programs");
        fflush(stdout); /* a crash below must not lose the results */
        lab_interleave_close(&session->interleave);
        rung_context_destroy(session->profiler.context);
        lab_target_close(&session->target);
        lab_bench_free_rows(session);
        free(session->contenders);
    } else {
        lab_fail(code, "out of memory; end other programs");
    }
    free(session);
    return code;
}

/* ---- In a child process -------------------------------------------------------------------------------- */

static int run_options(void *options)
{
    return lab_bench_run(options);
}

static int report_crash(const lab_supervise_result *child)
{
    const char *signal_text = strsignal(child->code);
    if (*child->step)
        return lab_fail(LAB_EXIT_WRONG, "%s: the kernel crashed (signal %d, %s); check it with: rung verify FILE",
                        child->step, child->code, signal_text);
    if (child->steps > 0)
        return lab_fail(LAB_EXIT_WRONG,
                        "the process that runs the kernels crashed (signal %d, %s) after step %lld; check the "
                        "kernel with: rung verify FILE",
                        child->code, signal_text, child->steps);
    return lab_fail(LAB_EXIT_WRONG,
                    "the process that runs the kernels crashed (signal %d, %s) before it ran a kernel; check "
                    "the driver with: rung doctor",
                    child->code, signal_text);
}

int lab_bench_run_supervised(const lab_options *options, double seconds)
{
    lab_progress_begin(options->quiet);
    lab_supervise_result child = lab_supervise(run_options, (void *)(uintptr_t)options, &seconds);
    lab_progress_end();
    switch (child.ending) {
    case LAB_ENDED_EXITED: return child.code;
    case LAB_ENDED_INTERRUPTED:
        lab_interrupt_report(
            "a kernel did not finish and its times are lost; with --output, earlier problems are saved");
        return LAB_EXIT_INTERRUPTED;
    case LAB_ENDED_TIMED_OUT:
        return lab_fail(LAB_EXIT_WRONG,
                        "%s: the kernel did not finish within %g s; check that each of its loops ends "
                        "(--time-limit SECONDS allows more time)",
                        child.step, seconds);
    case LAB_ENDED_CRASHED: return report_crash(&child);
    case LAB_ENDED_NOT_STARTED: break;
    }
    return lab_fail(LAB_EXIT_UNAVAILABLE, "the process that runs the kernels could not be started; %s",
                    lab_child_start_advice(child.code));
}
