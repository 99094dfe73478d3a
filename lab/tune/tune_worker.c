/* SPDX-License-Identifier: Apache-2.0 */
/* tune_worker.c - the worker process of `rung tune`: opens the device and the journal, and searches one problem. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file_io.h"
#include "tune/tune_internal.h"

enum { TRIALS_PER_WORKER = 40 };

/* ---- Device, kernels and journal ---- */

/* Returns whether the journal can store a kernel's name. A truncated name could be that of another kernel. */
static bool is_journal_name(const char *name)
{
    return strlen(name) < sizeof(lab_trial){0}.kernel && !name[strcspn(name, "\t\n")];
}

/* Finds the kernels to tune: no library, and no emulated matrix engine. */
static int find_kernels(lab_tune_session *session)
{
    const rung_kernel *all[LAB_KERNELS_MAX];
    const char *list = session->request.options->kernels;
    int count = 0;
    int code = lab_target_kernels(&session->target, list, all, &count);
    session->kernel_count = 0;
    for (int i = 0; code == LAB_EXIT_SUCCESS && i < count; i++) {
        if (!all[i] || rung_kernel_describe(all[i])->number == 0 || lab_kernel_is_emulated(all[i])) {
            if (list)
                return lab_usage_error("tune",
                                       "rung_gemm, libraries (MKL, cuBLAS, ...) and emulated matrix engines have no "
                                       "parameters to tune; remove them from --kernels");
            continue;
        }
        if (!is_journal_name(rung_kernel_describe(all[i])->name))
            return lab_usage_error("tune", "the file name of a kernel is too long or contains a tab or a newline; the "
                                           "maximum is 63 characters. Change to its folder, or rename it");
        if (lab_kernel_accepts_dtype(all[i], &session->request.dtype))
            session->kernels[session->kernel_count++] = all[i];
    }
    if (code == LAB_EXIT_SUCCESS && session->kernel_count == 0)
        return lab_fail(
            LAB_EXIT_UNAVAILABLE,
            "no kernel supports this type on this device; \"rung kernels KERNEL\" lists the types of a kernel");
    return code;
}

/* Creates the folders of a path. Returns whether the last one exists. */
static bool create_parent_folders(char *path)
{
    bool exists = true;
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        exists = mkdir(path, 0700) == 0 || errno == EEXIST;
        *at = '/';
    }
    return exists;
}

/* Uses $XDG_STATE_HOME/rung or ~/.local/state/rung, with one file per device, driver and type. */
static bool default_path(const char *head, char *path, size_t capacity)
{
    char below[64], in_home[80];
    snprintf(below, sizeof below, "/rung/tune-%016llx.txt", (unsigned long long)lab_fnv1a(head));
    snprintf(in_home, sizeof in_home, "/.local/state%s", below);
    return (rungi_path_in_variable("XDG_STATE_HOME", below, path, capacity) ||
            rungi_path_in_variable("HOME", in_home, path, capacity)) &&
           create_parent_folders(path);
}

static int open_journal(lab_tune_session *session)
{
    lab_tune_shared_state *shared = session->shared;
    const rung_device_info *device = rung_device_describe(session->target.device);
    char why[1200] = "";
    snprintf(shared->header, sizeof shared->header,
             "rung-tune/1 %s; %s; %s; %lld units; driver %s; rung %s; %s; layout %c%c", device->backend, device->title,
             device->platform, (long long)device->compute_units, device->driver, rung_version_text(),
             session->request.dtype.name, session->request.is_a_col_major ? 'c' : 'r',
             session->request.is_b_col_major ? 'c' : 'r');
    if (session->request.options->state && strlen(session->request.options->state) >= sizeof shared->path)
        return lab_usage_error("tune", "--state is too long; the maximum is 1023 characters");
    if (session->request.options->state)
        snprintf(shared->path, sizeof shared->path, "%s", session->request.options->state);
    else if (!default_path(shared->header, shared->path, sizeof shared->path))
        return lab_fail(LAB_EXIT_UNAVAILABLE,
                        "no folder for the state of the search: set HOME, or give a file with --state");
    return lab_journal_open(shared->path, shared->header, &session->journal, why, sizeof why)
               ? LAB_EXIT_SUCCESS
               : lab_fail(LAB_EXIT_UNAVAILABLE, "%s", why);
}

/* Returns a dense matrix without memory. */
static rung_matrix view_of(rung_type type, int64_t rows, int64_t cols, bool by_columns)
{
    return by_columns ? rung_matrix_transpose(rung_matrix_of(type, cols, rows, NULL))
                      : rung_matrix_of(type, rows, cols, NULL);
}

rung_problem lab_tune_problem_form(const lab_tune_session *session, const lab_tune_result *tuned)
{
    lab_type_pair product = session->request.dtype.product;
    rung_type in = product.in, out = product.out;
    rung_problem form = rung_problem_of(view_of(in, tuned->size.m, tuned->size.k, session->request.is_a_col_major),
                                        view_of(in, tuned->size.k, tuned->size.n, session->request.is_b_col_major),
                                        view_of(out, tuned->size.m, tuned->size.n, false));
    form.compute = session->request.dtype.compute;
    return form;
}

void lab_tune_find_size_classes(lab_tune_session *session)
{
    lab_tune_shared_state *shared = session->shared;
    for (int i = 0; i < shared->problem_count; i++) {
        lab_tune_result *tuned = &shared->problems[i];
        rung_problem form = lab_tune_problem_form(session, tuned);
        if (rung_tuning_key(session->target.device, &form, tuned->key, sizeof tuned->key) != RUNG_OK)
            tuned->key[0] = '\0';
        for (int j = 0; j < i; j++)
            if (*tuned->key && strcmp(shared->problems[j].key, tuned->key) == 0)
                shared->problems[j].is_same_class_as_later = true;
    }
}

/* ---- Search ---- */

static int search_problem(lab_tune_session *session, const lab_bench_problem *problem, lab_tune_result *tuned)
{
    lab_search *search = calloc(1, sizeof *search);
    if (!search)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "out of memory; end other programs");
    *search = (lab_search){.target = &session->target,
                           .journal = &session->journal,
                           .watch = &session->shared->watch,
                           .counts = &tuned->counts,
                           .problem = problem,
                           .seed = session->request.seed,
                           .quiet = session->request.options->quiet != NULL,
                           .final_start_ns = lab_final_comparison_start_ns,
                           .began_ns = session->shared->began_ns,
                           .start_ns = tuned->start_ns,
                           .end_ns = tuned->end_ns,
                           .trials_left = TRIALS_PER_WORKER};
    rung_kernel *stored_kernel;
    if (*tuned->record_kernel && rung_kernel_find(problem->context, rung_device_describe(problem->device)->backend,
                                                  tuned->record_kernel, &stored_kernel) == RUNG_OK) {
        search->stored_kernel = stored_kernel;
        snprintf(search->stored_parameters, sizeof search->stored_parameters, "%s", tuned->record_parameters);
    }
    lab_search_result result = LAB_SEARCH_FAILED;
    if (lab_search_begin(search, session->kernels, session->kernel_count))
        result = lab_search_run(search);
    if (result == LAB_SEARCH_DONE) {
        lab_final_comparison_run(search, tuned->end_ns, &tuned->final_comparison);
        lab_tune_update_store(session, problem, tuned);
        tuned->is_done = true;
        tuned->seconds = (double)(rungi_clock_ns() - tuned->start_ns) * 1e-9;
    }
    lab_search_end(search);
    free(search);
    if (result == LAB_SEARCH_FAILED)
        return lab_fail(LAB_EXIT_UNAVAILABLE,
                        "cannot write the state of the search, or out of memory; choose another file with --state");
    return LAB_TUNE_EXIT_RESTART;
}

/* Divides the remaining time among the remaining problems. */
static void assign_time(lab_tune_shared_state *shared, lab_tune_result *tuned)
{
    int left = 0;
    for (int i = 0; i < shared->problem_count; i++)
        left += !shared->problems[i].is_done && !shared->problems[i].is_same_class_as_later;
    tuned->start_ns = rungi_clock_ns();
    int64_t rest = shared->began_ns + shared->budget_ns - tuned->start_ns;
    tuned->end_ns = tuned->start_ns + (rest > 0 ? rest / left : 0);
}

void lab_tune_skip_problem(lab_tune_result *tuned, const char *why)
{
    snprintf(tuned->final_comparison.why, sizeof tuned->final_comparison.why, "%.200s", why);
    tuned->is_done = true;
}

static int tune_problem(lab_tune_session *session, lab_tune_result *tuned)
{
    lab_bench_problem problem = lab_bench_problem_of(&session->target, &session->request.dtype, tuned->size);
    problem.is_a_column_major = session->request.is_a_col_major;
    problem.is_b_column_major = session->request.is_b_col_major;
    int code = LAB_TUNE_EXIT_RESTART;
    if (tuned->start_ns == 0) {
        assign_time(session->shared, tuned);
        lab_tune_find_record(session, tuned);
    }
    if (tuned->end_ns <= tuned->start_ns) {
        lab_tune_skip_problem(tuned, "no time is left; give a larger --budget");
    } else if (lab_bench_problem_create(&problem) == RUNG_OK) {
        code = search_problem(session, &problem, tuned);
    } else {
        lab_tune_skip_problem(tuned, rung_error_text());
    }
    lab_bench_problem_destroy(&problem);
    return code;
}

lab_tune_result *lab_tune_next_problem(lab_tune_shared_state *shared)
{
    for (int i = 0; i < shared->problem_count; i++)
        if (!shared->problems[i].is_done && !shared->problems[i].is_same_class_as_later)
            return &shared->problems[i];
    return NULL;
}

static int tune_next_problem(lab_tune_session *session)
{
    lab_tune_find_size_classes(session);
    lab_tune_result *tuned = lab_tune_next_problem(session->shared);
    return tuned ? tune_problem(session, tuned) : LAB_EXIT_SUCCESS;
}

static int open_target(lab_tune_session *session)
{
    lab_tune_device *device = &session->shared->device;
    int code = lab_target_open(session->request.options, session->request.options->kernels, &session->target);
    if (code != LAB_EXIT_SUCCESS)
        return code;
    const rung_device_info *info = rung_device_describe(session->target.device);
    snprintf(device->name, sizeof device->name, "%s", info->name);
    snprintf(device->backend, sizeof device->backend, "%s", info->backend);
    snprintf(device->title, sizeof device->title, "%s", info->title);
    snprintf(device->platform, sizeof device->platform, "%s", info->platform);
    snprintf(device->driver, sizeof device->driver, "%s", info->driver);
    device->compute_units = info->compute_units;
    return LAB_EXIT_SUCCESS;
}

/* Handles at most one problem: the record that it saves must not become the default of the next one. */
int lab_tune_worker_run(lab_tune_session *session)
{
    static int (*const steps[])(lab_tune_session * session) = {open_target, find_kernels, open_journal,
                                                               tune_next_problem};
    int code = LAB_EXIT_SUCCESS;
    setenv("RUNG_TUNING", "off", 1); /* the defaults are those without tuning */
    for (int i = 0; code == LAB_EXIT_SUCCESS && i < 4; i++)
        code = steps[i](session);
    lab_journal_close(&session->journal);
    lab_target_close(&session->target);
    return code;
}
