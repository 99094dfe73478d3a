/* SPDX-License-Identifier: Apache-2.0 */
/* tune_store.c - the tuning store of `rung tune`: finds, saves, removes, checks and exports records. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/progress_line.h"
#include "io/json_writer.h"
#include "tune/tune_internal.h"

enum {
    PATH_BYTES = 1024,
    TRUNCATED_PATH_MIN = 200, /* the library may omit the beginning of a longer path */
};

/* Returns the file of --store, or else the user's tuning file, written to `path`. NULL, with rung_error_text(), if there is
 * none. */
static const char *store_path(const lab_options *options, char path[PATH_BYTES])
{
    if (options->store)
        return options->store;
    return rung_tuning_path(NULL, path, PATH_BYTES) == RUNG_OK ? path : NULL;
}

/* Returns whether a record, "PATH:LINE", is in this file. The library omits the beginning of a long path. */
static bool is_in_file(const char *record, const char *path)
{
    const char *colon = strrchr(record, ':');
    size_t length = colon ? (size_t)(colon - record) : 0, whole = strlen(path);
    return colon && length <= whole && memcmp(path + whole - length, record, length) == 0 &&
           (length == whole || length > TRUNCATED_PATH_MIN);
}

static void read_stored_record(const lab_tune_session *session, const lab_target *target, lab_tune_result *tuned)
{
    rung_problem form = lab_tune_problem_form(session, tuned);
    rung_plan *plan;
    if (lab_default_plan_create(target->device, &form, &plan) != RUNG_OK)
        return;
    const rung_plan_info *info = rung_plan_describe(plan);
    const char *store = session->request.options->store; /* NULL: a record of any file counts */
    if (info->origin == RUNG_ORIGIN_TUNING && (!store || is_in_file(info->origin_text, store))) {
        snprintf(tuned->record_kernel, sizeof tuned->record_kernel, "%s", info->kernel);
        snprintf(tuned->record_parameters, sizeof tuned->record_parameters, "%s", info->parameters);
    }
    rung_plan_destroy(plan);
}

/* Tuning is off in this process and the store is read once per context, so another context reads the record. */
void lab_tune_find_record(const lab_tune_session *session, lab_tune_result *tuned)
{
    char path[PATH_BYTES];
    const char *store = store_path(session->request.options, path);
    lab_target target;
    if (!store)
        return;
    setenv("RUNG_TUNING", store, 1);
    if (lab_target_open(session->request.options, session->request.options->kernels, &target) == LAB_EXIT_SUCCESS)
        read_stored_record(session, &target, tuned);
    lab_target_close(&target);
    setenv("RUNG_TUNING", "off", 1);
}

static void save_winner(lab_tune_session *session, const lab_bench_problem *problem, lab_tune_result *tuned)
{
    lab_final_comparison *final = &tuned->final_comparison;
    rung_problem multiply = lab_bench_problem_view(problem, true);
    rung_tuning found = {sizeof(rung_tuning), final->winner.kernel, final->winner.parameters, final->winner.gflops};
    rung_kernel *kernel;
    if (!final->decided || !final->improved)
        return;
    if (rung_kernel_find(problem->context, rung_device_describe(problem->device)->backend, final->winner.kernel,
                         &kernel) != RUNG_OK) {
        snprintf(final->why, sizeof final->why, "the winner is a kernel file, which other programs do not have");
        return;
    }
    tuned->saved = rung_tuning_save(problem->device, &multiply, &found, session->request.options->store) == RUNG_OK;
    tuned->has_save_failed = !tuned->saved;
    if (tuned->has_save_failed)
        snprintf(final->why, sizeof final->why, "%.200s", rung_error_text());
}

/* Removes a record that is wrong or slower than the defaults. A record of defaults overrides such a record in another
 * file, for example the system's. */
static void remove_bad_record(lab_tune_session *session, const lab_bench_problem *problem, lab_tune_result *tuned)
{
    lab_final_comparison *final = &tuned->final_comparison;
    rung_problem multiply = lab_bench_problem_view(problem, true);
    rung_tuning defaults = {sizeof(rung_tuning), final->defaults.kernel, final->defaults.parameters,
                            final->defaults.gflops};
    int64_t removed = 0;
    rung_status status = rung_tuning_remove(problem->device, &multiply, session->request.options->store, &removed);
    tuned->record_removed = status == RUNG_OK && removed > 0;
    if (status == RUNG_OK && removed == 0) {
        status = rung_tuning_save(problem->device, &multiply, &defaults, session->request.options->store);
        tuned->record_replaced = status == RUNG_OK;
    }
    tuned->has_save_failed = status != RUNG_OK;
    if (tuned->has_save_failed) {
        snprintf(final->why, sizeof final->why, "%.200s", rung_error_text());
        return;
    }
    char how[64] = "its results are wrong";
    if (!final->record_is_wrong)
        snprintf(how, sizeof how, "the defaults take %.2f times its time", final->record_ratio);
    lab_progress_hide();
    fprintf(stderr, "rung: %lldx%lldx%lld: the record %s %s is %s: %s\n", LAB_SHAPE_ARGUMENTS(tuned->size),
            tuned->record_kernel, tuned->record_parameters,
            tuned->record_removed ? "removed" : "replaced by the defaults", how);
}

void lab_tune_update_store(lab_tune_session *session, const lab_bench_problem *problem, lab_tune_result *tuned)
{
    const lab_final_comparison *final = &tuned->final_comparison;
    save_winner(session, problem, tuned);
    if (final->decided && !tuned->saved && (final->record_is_slower || final->record_is_wrong))
        remove_bad_record(session, problem, tuned);
}

/* Reports how many records of a problem were removed, with --json as one entry of the results. */
static void print_removed(lab_json *json, const lab_tune_result *tuned, int64_t removed)
{
    if (!json) {
        printf("%lldx%lldx%lld: removed %lld record%s\n", LAB_SHAPE_ARGUMENTS(tuned->size), (long long)removed,
               removed == 1 ? "" : "s");
        return;
    }
    lab_json_begin(json, NULL, '{');
    lab_json_sizes(json, tuned->size.m, tuned->size.n, tuned->size.k);
    lab_json_integer(json, "removed", removed);
    lab_json_end(json, '}');
}

int lab_tune_remove_records(lab_tune_session *session)
{
    lab_tune_shared_state *shared = session->shared;
    lab_json out, *json = session->request.options->json ? &out : NULL;
    int64_t all = 0;
    int code = lab_target_open(session->request.options, session->request.options->kernels, &session->target);
    if (code == LAB_EXIT_SUCCESS)
        lab_tune_find_size_classes(session);
    if (json) {
        out = lab_json_open(stdout, "rung-tune-remove/1");
        lab_json_begin(json, "results", '[');
    }
    for (int i = 0; code == LAB_EXIT_SUCCESS && i < shared->problem_count; i++) {
        const lab_tune_result *tuned = &shared->problems[i];
        rung_problem form = lab_tune_problem_form(session, tuned);
        int64_t removed = 0;
        if (tuned->is_same_class_as_later)
            continue;
        if (rung_tuning_remove(session->target.device, &form, session->request.options->store, &removed) != RUNG_OK)
            code = lab_fail(LAB_EXIT_UNAVAILABLE, "%s", rung_error_text());
        else
            print_removed(json, tuned, removed);
        all += removed;
    }
    if (json) {
        lab_json_end(json, ']');
        lab_json_end(json, '}');
    }
    lab_target_close(&session->target);
    return code == LAB_EXIT_SUCCESS && all == 0 ? LAB_EXIT_UNAVAILABLE : code;
}

int lab_tune_export_store(const lab_options *options)
{
    char path[PATH_BYTES];
    int64_t changed = 0;
    const char *from = store_path(options, path);
    if (from && access(from, F_OK) != 0)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "nothing to export: %s does not exist; run \"rung tune\" first", from);
    if (!from || rung_tuning_merge(NULL, from, options->export, &changed) != RUNG_OK)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "%s", rung_error_text());
    if (!options->quiet)
        fprintf(stderr, "rung: exported %lld new records of %s to %s\n", (long long)changed, from, options->export);
    return LAB_EXIT_SUCCESS;
}

/* Returns whether a file can be created in the folder of this path. For the user's store, which the library creates with
 * up to two folders, the first existing folder counts. */
static bool can_create_in_folder(char *path, bool creates_folders)
{
    for (int i = 0; i < (creates_folders ? 3 : 1); i++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return access(".", W_OK | X_OK) == 0;
        slash[slash == path] = '\0';
        if (access(path, F_OK) == 0)
            return access(path, W_OK | X_OK) == 0;
    }
    return false;
}

int lab_tune_check_store(const lab_options *options)
{
    char buffer[PATH_BYTES], folder[PATH_BYTES];
    const char *path = store_path(options, buffer);
    struct stat about;
    if (!path)
        return lab_fail(LAB_EXIT_UNAVAILABLE, "%s", rung_error_text());
    if (strlen(path) >= sizeof folder)
        return lab_usage_error("tune", "--store is too long; the maximum is 1023 characters");
    strcpy(folder, path);
    bool is_file = stat(path, &about) != 0 || S_ISREG(about.st_mode);
    if (is_file && can_create_in_folder(folder, !options->store))
        return LAB_EXIT_SUCCESS;
    return lab_fail(LAB_EXIT_UNAVAILABLE,
                    "cannot write %s, so no result could be saved; choose another file with --store", path);
}
