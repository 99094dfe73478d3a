/* SPDX-License-Identifier: Apache-2.0 */
/* tune.c - the process that does rung tune's work: opens the device and the journal, and
 * searches on one problem. */
#include "tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "oracle.h"
#include "progress.h"

enum {
    PATIENCE = 40,   /* candidates per process */
    LONG_PATH = 200, /* of which rung_plan_info.origin_text may have only the end */
};

static int complain(const char *message)
{
    lab_progress_break();
    fprintf(stderr, "rung: %s\n", message);
    return LAB_NOTHING;
}

/* ---- What it works with --------------------------------------------------------------- */

/* Two whose names begin alike must not be taken for one. */
static bool fits_journal(const char *name)
{
    return strlen(name) < sizeof(lab_trial){0}.kernel && !name[strcspn(name, "\t\n")];
}

/* Those that may be chosen: no vendor's, no engine in software. */
static int find_kernels(lab_tuner *session)
{
    const rung_kernel *all[LAB_KERNELS_MAX];
    const char *list = session->options->kernels;
    int count = 0;
    int code = lab_target_kernels(&session->target, list, all, &count);
    session->kernel_count = 0;
    for (int i = 0; code == LAB_GOOD && i < count; i++) {
        if (!all[i] || rung_kernel_describe(all[i])->number == 0 || lab_is_emulated(all[i])) {
            if (list)
                return lab_usage("tune", "rung tune has nothing to vary in rung_gemm, the vendor's library and a "
                                         "matrix engine in software; leave them out of --kernels");
            continue;
        }
        if (!fits_journal(rung_kernel_describe(all[i])->name))
            return lab_usage("tune", "a kernel's file needs a name of 63 characters at most, none of them a tab or "
                                     "an end of line; go to its folder, or rename it");
        if (lab_takes(all[i], &session->dtypes[0]))
            session->kernels[session->kernel_count++] = all[i];
    }
    if (code == LAB_GOOD && session->kernel_count == 0)
        return complain("no kernel takes this type on this device; rung kernels KERNEL tells the types of one");
    return code;
}

static bool make_folders(char *path)
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

/* $XDG_STATE_HOME/rung, else ~/.local/state/rung; a file a device, driver and type. */
static bool default_path(const char *head, char *path, size_t capacity)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state && state[0] == '/';
    if (!has_state && (!home || home[0] != '/'))
        return false;
    int length = snprintf(path, capacity, "%s%s/rung/tune-%016llx.txt", has_state ? state : home,
                          has_state ? "" : "/.local/state", (unsigned long long)lab_hash(head));
    return length > 0 && (size_t)length < capacity && make_folders(path);
}

static int open_journal(lab_tuner *session)
{
    lab_tuning_run *shared = session->shared;
    const rung_device_info *device = rung_device_describe(session->target.device);
    char why[1200] = "";
    snprintf(shared->head, sizeof shared->head,
             "rung-tune/1 %s; %s; %s; %lld units; driver %s; rung %s; %s; layout %c%c", device->backend, device->title,
             device->platform, (long long)device->compute_units, device->driver, rung_version_text(),
             session->dtypes[0].name, session->a_by_columns ? 'c' : 'r', session->b_by_columns ? 'c' : 'r');
    if (session->options->state && strlen(session->options->state) >= sizeof shared->path)
        return lab_usage("tune", "--state has too long a name");
    if (session->options->state)
        snprintf(shared->path, sizeof shared->path, "%s", session->options->state);
    else if (!default_path(shared->head, shared->path, sizeof shared->path))
        return complain("there is no folder for the search's state; name a file with --state");
    return lab_journal_open(shared->path, shared->head, &session->journal, why, sizeof why) ? LAB_GOOD : complain(why);
}

static lab_problem problem_of(const lab_tuner *session, const lab_tuned *tuned)
{
    const lab_dtype *dtype = &session->dtypes[0];
    return (lab_problem){.context = session->target.context,
                         .device = session->target.device,
                         .queue = session->target.queue,
                         .product = dtype->product,
                         .compute = dtype->compute,
                         .m = tuned->m,
                         .n = tuned->n,
                         .k = tuned->k,
                         .batch = 1,
                         .a_by_columns = session->a_by_columns,
                         .b_by_columns = session->b_by_columns};
}

/* A dense view without memory. */
static rung_matrix view_of(rung_type type, int64_t rows, int64_t cols, bool by_columns)
{
    return by_columns ? rung_matrix_transpose(rung_matrix_of(type, cols, rows, NULL))
                      : rung_matrix_of(type, rows, cols, NULL);
}

static rung_problem form_of(const lab_tuner *session, const lab_tuned *tuned)
{
    lab_product product = session->dtypes[0].product;
    rung_type in = product.in, out = product.out;
    rung_problem form = rung_problem_of(view_of(in, tuned->m, tuned->k, session->a_by_columns),
                                        view_of(in, tuned->k, tuned->n, session->b_by_columns),
                                        view_of(out, tuned->m, tuned->n, false));
    form.compute = session->dtypes[0].compute;
    return form;
}

/* A record is for a class of sizes. Of those of one class the last that was given stands for
 * all of them. */
static void find_classes(lab_tuner *session)
{
    lab_tuning_run *shared = session->shared;
    for (int i = 0; i < shared->problem_count; i++) {
        lab_tuned *tuned = &shared->problems[i];
        rung_problem form = form_of(session, tuned);
        if (rung_tuning_key(session->target.device, &form, tuned->key, sizeof tuned->key) != RUNG_OK)
            tuned->key[0] = '\0';
        for (int j = 0; j < i; j++)
            if (*tuned->key && strcmp(shared->problems[j].key, tuned->key) == 0)
                shared->problems[j].is_of_another = true;
    }
}

/* ---- What the store has --------------------------------------------------------------- */

/* Returns whether a record, "PATH:LINE", is in this file. The library omits the beginning of a long path. */
static bool is_in_file(const char *record, const char *path)
{
    const char *colon = strrchr(record, ':');
    size_t length = colon ? (size_t)(colon - record) : 0, whole = strlen(path);
    return colon && length <= whole && memcmp(path + whole - length, record, length) == 0 &&
           (length == whole || length > LONG_PATH);
}

/* Returns whether a plan's parameters are a tuning record: of the file that is written, or, if none is named, of any
 * file. */
static bool is_of_store(const rung_plan_info *info, const char *store)
{
    return info->origin == RUNG_ORIGIN_TUNING && (!store || is_in_file(info->origin_text, store));
}

static void plan_by_store(const lab_tuner *session, const lab_target *target, lab_tuned *tuned)
{
    rung_problem form = form_of(session, tuned);
    rung_plan *plan;
    if (rung_plan_create(
            target->device, &form,
            &(rung_plan_options){.size = sizeof(rung_plan_options), .max_workspace_bytes = LAB_WORKSPACE_MAX},
            &plan) != RUNG_OK)
        return;
    const rung_plan_info *info = rung_plan_describe(plan);
    if (is_of_store(info, session->options->store)) {
        snprintf(tuned->record_kernel, sizeof tuned->record_kernel, "%s", info->kernel);
        snprintf(tuned->record_parameters, sizeof tuned->record_parameters, "%s", info->parameters);
    }
    rung_plan_destroy(plan);
}

/* What plans take by the store, which is off for all else here, and read once a context. */
static void find_record(const lab_tuner *session, lab_tuned *tuned)
{
    const char *store = session->options->store;
    char path[1024];
    lab_target target;
    if (!store && rung_tuning_path(NULL, path, sizeof path) != RUNG_OK)
        return;
    setenv("RUNG_TUNING", store ? store : path, 1);
    if (lab_target_open(session->options, session->options->kernels, &target) == LAB_GOOD)
        plan_by_store(session, &target, tuned);
    lab_target_close(&target);
    setenv("RUNG_TUNING", "off", 1);
}

/* ---- Its work ------------------------------------------------------------------------- */

static void save(lab_tuner *session, const lab_problem *problem, lab_tuned *tuned)
{
    lab_finals *finals = &tuned->finals;
    rung_problem multiply = lab_problem_multiply(problem, true);
    rung_tuning found = {sizeof(rung_tuning), finals->kernel, finals->parameters, finals->gflops};
    rung_kernel *kernel;
    if (!finals->decided || !finals->improved)
        return;
    if (rung_kernel_find(problem->context, rung_device_describe(problem->device)->backend, finals->kernel, &kernel) !=
        RUNG_OK) {
        snprintf(finals->why, sizeof finals->why, "it is from a file, which others do not have");
        return;
    }
    tuned->saved = rung_tuning_save(problem->device, &multiply, &found, session->options->store) == RUNG_OK;
    tuned->is_lost = !tuned->saved;
    if (tuned->is_lost)
        snprintf(finals->why, sizeof finals->why, "%.200s", rung_error_text());
}

/* Takes a record that is slower than the defaults, or wrong, out of the store. One that is in another file, the
 * system's, is overruled by a record of the defaults. */
static void drop_record(lab_tuner *session, const lab_problem *problem, lab_tuned *tuned)
{
    lab_finals *finals = &tuned->finals;
    rung_problem multiply = lab_problem_multiply(problem, true);
    rung_tuning defaults = {sizeof(rung_tuning), finals->default_kernel, finals->default_parameters,
                            finals->default_gflops};
    int64_t removed = 0;
    rung_status status = rung_tuning_remove(problem->device, &multiply, session->options->store, &removed);
    tuned->record_removed = status == RUNG_OK && removed > 0;
    if (status == RUNG_OK && removed == 0) {
        status = rung_tuning_save(problem->device, &multiply, &defaults, session->options->store);
        tuned->record_replaced = status == RUNG_OK;
    }
    tuned->is_lost = status != RUNG_OK;
    if (tuned->is_lost) {
        snprintf(finals->why, sizeof finals->why, "%.200s", rung_error_text());
        return;
    }
    char how[64] = "its results are wrong";
    if (!finals->record_is_wrong)
        snprintf(how, sizeof how, "the defaults take %.2f times as long as it", finals->record_ratio);
    lab_progress_break();
    fprintf(stderr, "rung: %lldx%lldx%lld: the record %s %s is %s: %s\n", (long long)tuned->m, (long long)tuned->n,
            (long long)tuned->k, tuned->record_kernel, tuned->record_parameters,
            tuned->record_removed ? "removed" : "replaced by the defaults", how);
}

static void update_store(lab_tuner *session, const lab_problem *problem, lab_tuned *tuned)
{
    const lab_finals *finals = &tuned->finals;
    save(session, problem, tuned);
    if (finals->decided && !tuned->saved && (finals->record_is_slower || finals->record_is_wrong))
        drop_record(session, problem, tuned);
}

/* Reports how many records of a problem were removed, with --json as one entry of the results. */
static void tell_removed(lab_json *json, const lab_tuned *tuned, int64_t removed)
{
    if (!json) {
        printf("%lldx%lldx%lld: removed %lld record%s\n", (long long)tuned->m, (long long)tuned->n, (long long)tuned->k,
               (long long)removed, removed == 1 ? "" : "s");
        return;
    }
    lab_json_begin(json, NULL, '{');
    lab_json_integer(json, "m", tuned->m);
    lab_json_integer(json, "n", tuned->n);
    lab_json_integer(json, "k", tuned->k);
    lab_json_integer(json, "removed", removed);
    lab_json_end(json, '}');
}

int lab_tune_remove(lab_tuner *session)
{
    lab_tuning_run *shared = session->shared;
    lab_json out = {.out = stdout}, *json = session->options->json ? &out : NULL;
    int64_t all = 0;
    int code = lab_target_open(session->options, session->options->kernels, &session->target);
    if (code == LAB_GOOD)
        find_classes(session);
    if (json) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "schema", "rung-tune-remove/1");
        lab_json_begin(json, "results", '[');
    }
    for (int i = 0; code == LAB_GOOD && i < shared->problem_count; i++) {
        const lab_tuned *tuned = &shared->problems[i];
        rung_problem form = form_of(session, tuned);
        int64_t removed = 0;
        if (tuned->is_of_another)
            continue;
        if (rung_tuning_remove(session->target.device, &form, session->options->store, &removed) != RUNG_OK)
            code = complain(rung_error_text());
        else
            tell_removed(json, tuned, removed);
        all += removed;
    }
    if (json) {
        lab_json_end(json, ']');
        lab_json_end(json, '}');
    }
    lab_target_close(&session->target);
    return code == LAB_GOOD && all == 0 ? LAB_NOTHING : code;
}

static int search_on(lab_tuner *session, const lab_problem *problem, lab_tuned *tuned)
{
    lab_search *search = calloc(1, sizeof *search);
    if (!search)
        return complain("there is no memory; end other programs");
    *search = (lab_search){.target = &session->target,
                           .journal = &session->journal,
                           .watch = &session->shared->watch,
                           .counts = &tuned->counts,
                           .problem = problem,
                           .seed = session->seed,
                           .quiet = session->options->quiet != NULL,
                           .began_ns = session->shared->began_ns,
                           .start_ns = tuned->start_ns,
                           .end_ns = tuned->end_ns,
                           .patience = PATIENCE};
    rung_kernel *recorded;
    if (*tuned->record_kernel && rung_kernel_find(problem->context, rung_device_describe(problem->device)->backend,
                                                  tuned->record_kernel, &recorded) == RUNG_OK) {
        search->recorded = recorded;
        snprintf(search->recorded_parameters, sizeof search->recorded_parameters, "%s", tuned->record_parameters);
    }
    lab_search_result result = LAB_SEARCH_FAILED;
    if (lab_search_begin(search, session->kernels, session->kernel_count))
        result = lab_search_run(search);
    if (result == LAB_SEARCH_DONE) {
        lab_finals_run(search, tuned->end_ns, &tuned->finals);
        update_store(session, problem, tuned);
        tuned->is_done = true;
        tuned->seconds = (double)(lab_now() - tuned->start_ns) * 1e-9;
    }
    lab_search_end(search);
    free(search);
    if (result == LAB_SEARCH_FAILED)
        return complain("the search's state cannot be written, or there is no memory; --state names another file "
                        "for it");
    return LAB_AGAIN;
}

/* Time is divided among what is left to do. */
static void start_clock(lab_tuning_run *shared, lab_tuned *tuned)
{
    int left = 0;
    for (int i = 0; i < shared->problem_count; i++)
        left += !shared->problems[i].is_done && !shared->problems[i].is_of_another;
    tuned->start_ns = lab_now();
    int64_t rest = shared->began_ns + shared->budget_ns - tuned->start_ns;
    tuned->end_ns = tuned->start_ns + (rest > 0 ? rest / left : 0);
}

static int do_problem(lab_tuner *session, lab_tuned *tuned)
{
    lab_problem problem = problem_of(session, tuned);
    int code = LAB_AGAIN;
    if (tuned->start_ns == 0) {
        start_clock(session->shared, tuned);
        find_record(session, tuned);
    }
    if (tuned->end_ns <= tuned->start_ns) {
        snprintf(tuned->finals.why, sizeof tuned->finals.why, "no time is left for it; give a larger --budget");
        tuned->is_done = true;
    } else if (lab_problem_create(&problem) == RUNG_OK) {
        code = search_on(session, &problem, tuned);
    } else {
        snprintf(tuned->finals.why, sizeof tuned->finals.why, "%.200s", rung_error_text());
        tuned->is_done = true;
    }
    lab_problem_destroy(&problem);
    return code;
}

lab_tuned *lab_tune_next(lab_tuning_run *shared)
{
    for (int i = 0; i < shared->problem_count; i++)
        if (!shared->problems[i].is_done && !shared->problems[i].is_of_another)
            return &shared->problems[i];
    return NULL;
}

static void copy_device(const rung_device_info *info, lab_tuned_device *device)
{
    snprintf(device->name, sizeof device->name, "%s", info->name);
    snprintf(device->backend, sizeof device->backend, "%s", info->backend);
    snprintf(device->title, sizeof device->title, "%s", info->title);
    snprintf(device->platform, sizeof device->platform, "%s", info->platform);
    snprintf(device->driver, sizeof device->driver, "%s", info->driver);
    device->compute_units = info->compute_units;
}

/* One problem at most: what it saves must not become the next one's defaults. */
int lab_tune_work(lab_tuner *session)
{
    int code = lab_target_open(session->options, session->options->kernels, &session->target);
    if (code == LAB_GOOD) {
        copy_device(rung_device_describe(session->target.device), &session->shared->device);
        code = find_kernels(session);
    }
    if (code == LAB_GOOD)
        code = open_journal(session);
    if (code == LAB_GOOD) {
        find_classes(session);
        lab_tuned *tuned = lab_tune_next(session->shared);
        if (tuned)
            code = do_problem(session, tuned);
    }
    lab_journal_close(&session->journal);
    lab_target_close(&session->target);
    return code;
}
