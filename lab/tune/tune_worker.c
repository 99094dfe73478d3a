/* SPDX-License-Identifier: Apache-2.0 */
/* tune_worker.c - the worker process of `rung tune`: opens the device and the journal, and searches one problem. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "tune/tune_internal.h"

enum { TRIALS_PER_WORKER = 40 };

/* ---- Device, kernels and journal ---- */

/* The journal must not truncate names, which would make two kernels equal. */
static bool is_journal_name(const char *name)
{
    return strlen(name) < sizeof(lab_trial){0}.kernel && !name[strcspn(name, "\t\n")];
}

/* Finds the kernels to tune: no library, and no emulated matrix engine. */
static int find_kernels(lab_tune_session *session)
{
    const rung_kernel *all[LAB_KERNELS_MAX];
    const char *list = session->options->kernels;
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
        if (lab_kernel_accepts_dtype(all[i], &session->dtypes[0]))
            session->kernels[session->kernel_count++] = all[i];
    }
    if (code == LAB_EXIT_SUCCESS && session->kernel_count == 0)
        return lab_tune_print_error(
            "no kernel supports this type on this device; \"rung kernels KERNEL\" lists the types of a kernel");
    return code;
}

static bool create_parent_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
        *at = '/';
        if (!made)
            return false;
    }
    return true;
}

/* Uses $XDG_STATE_HOME/rung or ~/.local/state/rung, with one file per device, driver and type. */
static bool default_path(const char *head, char *path, size_t capacity)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state && state[0] == '/';
    if (!has_state && (!home || home[0] != '/'))
        return false;
    int length = snprintf(path, capacity, "%s%s/rung/tune-%016llx.txt", has_state ? state : home,
                          has_state ? "" : "/.local/state", (unsigned long long)lab_fnv1a(head));
    return length > 0 && (size_t)length < capacity && create_parent_folders(path);
}

static int open_journal(lab_tune_session *session)
{
    lab_tune_shared_state *shared = session->shared;
    const rung_device_info *device = rung_device_describe(session->target.device);
    char why[1200] = "";
    snprintf(shared->header, sizeof shared->header,
             "rung-tune/1 %s; %s; %s; %lld units; driver %s; rung %s; %s; layout %c%c", device->backend, device->title,
             device->platform, (long long)device->compute_units, device->driver, rung_version_text(),
             session->dtypes[0].name, session->is_a_col_major ? 'c' : 'r', session->is_b_col_major ? 'c' : 'r');
    if (session->options->state && strlen(session->options->state) >= sizeof shared->path)
        return lab_usage_error("tune", "--state is too long; the maximum is 1023 characters");
    if (session->options->state)
        snprintf(shared->path, sizeof shared->path, "%s", session->options->state);
    else if (!default_path(shared->header, shared->path, sizeof shared->path))
        return lab_tune_print_error("no folder for the state of the search: set HOME, or give a file with --state");
    return lab_journal_open(shared->path, shared->header, &session->journal, why, sizeof why)
               ? LAB_EXIT_SUCCESS
               : lab_tune_print_error(why);
}

static lab_bench_problem problem_of(const lab_tune_session *session, const lab_tune_result *tuned)
{
    const lab_dtype *dtype = &session->dtypes[0];
    return (lab_bench_problem){.context = session->target.context,
                               .device = session->target.device,
                               .queue = session->target.queue,
                               .product = dtype->product,
                               .compute = dtype->compute,
                               .m = tuned->m,
                               .n = tuned->n,
                               .k = tuned->k,
                               .batch = 1,
                               .is_a_column_major = session->is_a_col_major,
                               .is_b_column_major = session->is_b_col_major};
}

/* A dense view without memory. */
static rung_matrix view_of(rung_type type, int64_t rows, int64_t cols, bool by_columns)
{
    return by_columns ? rung_matrix_transpose(rung_matrix_of(type, cols, rows, NULL))
                      : rung_matrix_of(type, rows, cols, NULL);
}

rung_problem lab_tune_problem_form(const lab_tune_session *session, const lab_tune_result *tuned)
{
    lab_type_pair product = session->dtypes[0].product;
    rung_type in = product.in, out = product.out;
    rung_problem form = rung_problem_of(view_of(in, tuned->m, tuned->k, session->is_a_col_major),
                                        view_of(in, tuned->k, tuned->n, session->is_b_col_major),
                                        view_of(out, tuned->m, tuned->n, false));
    form.compute = session->dtypes[0].compute;
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
        return lab_tune_print_error("out of memory; end other programs");
    *search = (lab_search){.target = &session->target,
                           .journal = &session->journal,
                           .watch = &session->shared->watch,
                           .counts = &tuned->counts,
                           .problem = problem,
                           .seed = session->seed,
                           .quiet = session->options->quiet != NULL,
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
        return lab_tune_print_error(
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

static int tune_problem(lab_tune_session *session, lab_tune_result *tuned)
{
    lab_bench_problem problem = problem_of(session, tuned);
    int code = LAB_TUNE_EXIT_RESTART;
    if (tuned->start_ns == 0) {
        assign_time(session->shared, tuned);
        lab_tune_find_record(session, tuned);
    }
    if (tuned->end_ns <= tuned->start_ns) {
        snprintf(tuned->final_comparison.why, sizeof tuned->final_comparison.why,
                 "no time is left; give a larger --budget");
        tuned->is_done = true;
    } else if (lab_bench_problem_create(&problem) == RUNG_OK) {
        code = search_problem(session, &problem, tuned);
    } else {
        snprintf(tuned->final_comparison.why, sizeof tuned->final_comparison.why, "%.200s", rung_error_text());
        tuned->is_done = true;
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

static void copy_device(const rung_device_info *info, lab_tune_device *device)
{
    snprintf(device->name, sizeof device->name, "%s", info->name);
    snprintf(device->backend, sizeof device->backend, "%s", info->backend);
    snprintf(device->title, sizeof device->title, "%s", info->title);
    snprintf(device->platform, sizeof device->platform, "%s", info->platform);
    snprintf(device->driver, sizeof device->driver, "%s", info->driver);
    device->compute_units = info->compute_units;
}

/* Handles at most one problem: the record that it saves must not become the default of the next one. */
int lab_tune_worker_run(lab_tune_session *session)
{
    int code = lab_target_open(session->options, session->options->kernels, &session->target);
    if (code == LAB_EXIT_SUCCESS) {
        copy_device(rung_device_describe(session->target.device), &session->shared->device);
        code = find_kernels(session);
    }
    if (code == LAB_EXIT_SUCCESS)
        code = open_journal(session);
    if (code == LAB_EXIT_SUCCESS) {
        lab_tune_find_size_classes(session);
        lab_tune_result *tuned = lab_tune_next_problem(session->shared);
        if (tuned)
            code = tune_problem(session, tuned);
    }
    lab_journal_close(&session->journal);
    lab_target_close(&session->target);
    return code;
}
