/* SPDX-License-Identifier: Apache-2.0 */
/* tune_supervisor.c - the supervising process of `rung tune`: starts workers, kills late ones, records lost candidates,
 * and reports the results. See tune.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "cli/progress_line.h"
#include "common/failure.h"
#include "process/child_process.h"
#include "process/supervise.h"
#include "tune/tune_internal.h"

enum {
    EMPTY_WORKERS_MAX = 3,         /* consecutive workers that end without trying a candidate */
    TRIAL_SECONDS_MAX = 60,        /* time limit of a candidate */
    OVERRUN_SECONDS = 2,           /* by which a candidate may exceed the time of the search */
    FINAL_COMPARISON_SECONDS = 30, /* by which the verification of the winner may exceed it */
};

static const int64_t SECOND = 1000000000;

/* How a worker ended. */
typedef struct worker_exit {
    int status;
    bool was_killed_by_us;  /* by kill_if_late */
    int64_t interrupted_ns; /* when the interruption was seen; 0: none */
} worker_exit_t;

/* Kills the worker if a candidate or the search takes too long, or after an interruption: at once during a candidate,
 * else after OVERRUN_SECONDS, because the worker may be writing the journal. */
static bool kill_if_late(const lab_tune_shared_state *shared, pid_t worker, worker_exit_t *end)
{
    int64_t since = atomic_load(&shared->watch.trial_began_ns), now = rungi_clock_ns();
    if (lab_is_interrupted()) {
        end->interrupted_ns = end->interrupted_ns > 0 ? end->interrupted_ns : now;
        return (since > 0 || now > end->interrupted_ns + OVERRUN_SECONDS * SECOND) && kill(worker, SIGKILL) == 0;
    }
    if (since > 0 ? now - since > TRIAL_SECONDS_MAX * SECOND ||
                        now > atomic_load(&shared->watch.deadline_ns) + OVERRUN_SECONDS * SECOND
                  : now > shared->began_ns + shared->budget_ns + FINAL_COMPARISON_SECONDS * SECOND)
        return kill(worker, SIGKILL) == 0;
    return false;
}

static void show_progress(lab_tune_shared_state *shared)
{
    const lab_tune_result *tuned = lab_tune_next_problem(shared);
    char text[160] = "";
    if (tuned)
        snprintf(text, sizeof text, "%lldx%lldx%lld, %lld tried", LAB_SHAPE_ARGUMENTS(tuned->size),
                 (long long)tuned->counts.tried);
    lab_progress_show(&(lab_progress){.what = text,
                                      .done = (double)(rungi_clock_ns() - shared->began_ns) * 1e-9,
                                      .count = (double)shared->budget_ns * 1e-9,
                                      .units = "seconds"});
}

/* Waits for the worker and shows the progress. Returns false if its status is unknown. */
static bool wait_for_worker(lab_tune_shared_state *shared, pid_t worker, worker_exit_t *end)
{
    *end = (worker_exit_t){0};
    while (lab_child_is_running(worker, &end->status)) {
        show_progress(shared);
        end->was_killed_by_us = end->was_killed_by_us || kill_if_late(shared, worker, end);
    }
    end->was_killed_by_us = end->was_killed_by_us && WIFSIGNALED(end->status) && WTERMSIG(end->status) == SIGKILL;
    return WIFEXITED(end->status) || WIFSIGNALED(end->status);
}

/* Records in the journal that the current candidate ended its process. Prints an error and returns false on failure. */
static bool record_lost_trial(lab_tune_session *session, worker_exit_t end)
{
    lab_tune_shared_state *shared = session->shared;
    lab_trial trial = shared->watch.trial;
    int64_t since = atomic_load(&shared->watch.trial_began_ns);
    char why[1200] = "";
    lab_tune_result *tuned = lab_tune_next_problem(shared);
    atomic_store(&shared->watch.trial_began_ns, 0);
    if (since == 0)
        return true; /* between candidates */
    bool took_long = rungi_clock_ns() - since > TRIAL_SECONDS_MAX * SECOND;
    /* A candidate that ends late by itself counts as crashed. */
    bool is_late = end.was_killed_by_us && (!took_long || lab_is_interrupted());
    trial.kind = is_late ? LAB_TRIAL_LATE : LAB_TRIAL_CRASHED;
    if (!is_late) {
        lab_fail(LAB_EXIT_WRONG, "%s %s %s; skipping this candidate", trial.kernel, trial.parameters,
                 took_long ? "took more than a minute" : "ended its process");
        if (tuned)
            tuned->counts.crashed++;
    }
    char reason[32];
    snprintf(reason, sizeof reason, "signal %d", WIFSIGNALED(end.status) ? WTERMSIG(end.status) : 0);
    lab_journal journal;
    bool good = lab_journal_open(shared->path, shared->header, &journal, why, sizeof why);
    if (good && !lab_journal_add(&journal, &trial, reason))
        good = lab_set_reason(
            why, sizeof why,
            "cannot write the state of the search; free disk space, or choose another file with --state");
    lab_journal_close(&journal);
    if (!good)
        lab_fail(LAB_EXIT_UNAVAILABLE, "%s", why);
    return good;
}

static pid_t start_worker(lab_tune_session *session)
{
    fflush(stdout);
    fflush(stderr);
    pid_t watcher = getpid(), worker = fork();
    if (worker != 0)
        return worker;
    if (!lab_child_die_with_parent(watcher))
        _exit(LAB_EXIT_UNAVAILABLE);
    exit(lab_tune_worker_run(session));
}

/* Where processes cannot be forked, the worker runs in this process: nothing limits the time of a candidate. */
static int run_worker_here(lab_tune_session *session)
{
    session->journal = (lab_journal){0};
    session->target = (lab_target){0};
    return lab_tune_worker_run(session);
}

static int run_workers(lab_tune_session *session)
{
    lab_tune_shared_state *shared = session->shared;
    int empty_workers = 0;
    while (lab_tune_next_problem(shared) && !lab_is_interrupted()) {
        int64_t steps = shared->watch.steps;
        pid_t worker = start_worker(session);
        if (worker < 0 && errno == ENOSYS) {
            int code = run_worker_here(session);
            if (code != LAB_TUNE_EXIT_RESTART)
                return code;
            continue;
        }
        if (worker < 0)
            return lab_fail(LAB_EXIT_UNAVAILABLE, "cannot start a process; %s", lab_child_start_advice(errno));
        worker_exit_t end;
        if (!wait_for_worker(shared, worker, &end))
            return lab_fail(LAB_EXIT_UNAVAILABLE, "the worker process was lost; run the same command again to resume");
        /* An exit during a candidate comes from a driver. */
        bool is_own = WIFEXITED(end.status) && atomic_load(&shared->watch.trial_began_ns) == 0;
        if (is_own && WEXITSTATUS(end.status) != LAB_TUNE_EXIT_RESTART)
            return WEXITSTATUS(end.status);
        if (is_own)
            continue;
        if (!record_lost_trial(session, end))
            return LAB_EXIT_UNAVAILABLE;
        empty_workers = shared->watch.steps > steps || lab_is_interrupted() ? 0 : empty_workers + 1;
        if (empty_workers == EMPTY_WORKERS_MAX) {
            if (lab_tune_next_problem(shared))
                lab_tune_skip_problem(lab_tune_next_problem(shared), "its worker process ends every time");
            empty_workers = 0;
        }
    }
    return LAB_EXIT_SUCCESS;
}

static void mark_interrupted(lab_tune_shared_state *shared)
{
    for (int i = 0; i < shared->problem_count; i++)
        if (!shared->problems[i].is_done && !shared->problems[i].is_same_class_as_later)
            snprintf(shared->problems[i].final_comparison.why, sizeof shared->problems[i].final_comparison.why,
                     "interrupted");
}

/* ---- Session ---- */

lab_tune_session *lab_tune_session_create(const lab_tune_request *request)
{
    lab_tune_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->request = *request;
    session->shared = lab_shared_memory_allocate(sizeof *session->shared);
    if (!session->shared) {
        free(session);
        return NULL;
    }
    session->shared->budget_ns = (int64_t)(request->budget_seconds * 1e9);
    return session;
}

void lab_tune_session_free(lab_tune_session *session)
{
    if (!session)
        return;
    lab_shared_memory_free(session->shared, sizeof *session->shared);
    free(session);
}

bool lab_tune_add_problem(lab_tune_session *session, int64_t m, int64_t n, int64_t k)
{
    lab_tune_shared_state *shared = session->shared;
    if (shared->problem_count == LAB_TUNE_PROBLEMS_MAX || m < 1 || n < 1 || k < 1)
        return false;
    shared->problems[shared->problem_count++] = (lab_tune_result){.size = {m, n, k}};
    return true;
}

static int exit_code_of(const lab_tune_shared_state *shared)
{
    int code = LAB_EXIT_UNAVAILABLE;
    bool has_save_failed = false;
    for (int i = 0; i < shared->problem_count; i++) {
        if (shared->problems[i].counts.wrong > 0)
            return LAB_EXIT_WRONG;
        has_save_failed = has_save_failed || shared->problems[i].has_save_failed;
        if (shared->problems[i].final_comparison.decided)
            code = LAB_EXIT_SUCCESS;
    }
    return has_save_failed ? LAB_EXIT_UNAVAILABLE : code;
}

static bool is_any_done(const lab_tune_shared_state *shared)
{
    for (int i = 0; i < shared->problem_count; i++)
        if (shared->problems[i].is_done)
            return true;
    return false;
}

int lab_tune_run(lab_tune_session *session)
{
    const lab_options *options = session->request.options;
    session->shared->began_ns = rungi_clock_ns();
    lab_interrupt_watch();
    lab_progress_begin(options->quiet);
    int code = run_workers(session);
    lab_progress_end();
    bool is_interrupted = lab_is_interrupted() && lab_tune_next_problem(session->shared);
    if (is_interrupted)
        mark_interrupted(session->shared);
    if (code != LAB_EXIT_SUCCESS && !is_any_done(session->shared))
        return code;
    if (!is_interrupted || *session->shared->device.name || options->json)
        lab_tune_print_results(session);
    if (is_interrupted) {
        lab_interrupt_report("the results so far are saved; run the same command again to resume");
        return LAB_EXIT_INTERRUPTED;
    }
    if (code != LAB_EXIT_SUCCESS)
        return code; /* finished problems are printed and saved nevertheless */
    int export_code = options->export ? lab_tune_export_store(options) : LAB_EXIT_SUCCESS;
    code = exit_code_of(session->shared);
    return code == LAB_EXIT_SUCCESS ? export_code : code;
}
