/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_api.c - the public functions rung_tuning_*: keys, saving, removing and merging tuning records. */
#include <math.h>
#include <string.h>

#include "base/cancellation.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/choose/choose_kernel.h"
#include "core/choose/tuning_store.h"
#include "core/problem.h"

/* Checks a problem and makes its key. */
static rung_status make_key(const rung_device *device, const rung_problem *problem, rungi_tuning_key *key)
{
    rung_problem normalized;
    TRY(rungi_problem_read(problem, &normalized));
    TRY(rungi_problem_check_form(&normalized));
    rung_type out = rungi_problem_output(&normalized)->type;
    if (rungi_gemm_types_of(normalized.a.type, normalized.b.type, out) == RUNGI_GEMM_TYPES_COUNT)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "no kernel multiplies %s by %s into %s, so there is nothing to tune",
                          rung_type_name(normalized.a.type), rung_type_name(normalized.b.type), rung_type_name(out));
    rungi_problem_normalize(&normalized);
    rungi_tuning_key_of(device, &normalized, key);
    return RUNG_OK;
}

/* Copies a result to the caller's memory. */
static rung_status copy_text(const char *name, const char *from, char *text, size_t capacity)
{
    if (strlen(from) >= capacity)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the %s needs %zu bytes; the capacity is %zu", name, strlen(from) + 1,
                          capacity);
    strcpy(text, from);
    return RUNG_OK;
}

/* Returns the path of the user's file in `user_path` if *path is NULL. */
static rung_status default_path(const char **path, char user_path[RUNGI_TUNING_PATH_BYTES], bool creates_folder)
{
    if (*path)
        return RUNG_OK;
    if (!rungi_tuning_user_path(user_path, RUNGI_TUNING_PATH_BYTES, creates_folder))
        return rungi_invalid(
            "the user's tuning file has no path; set HOME to an absolute path, or pass the path of a file");
    *path = user_path;
    return RUNG_OK;
}

rung_status rung_tuning_key(const rung_device *device, const rung_problem *problem, char *text, size_t capacity)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_tuning_key key;
    if (!device || !problem || !text || capacity == 0)
        return rungi_invalid(
            "rung_tuning_key needs a device, a problem and memory for the text; one of them is missing");
    *text = '\0';
    TRY(make_key(device, problem, &key));
    return copy_text("key", key.text, text, capacity);
}

/* Checks the kernel and the parameters, and formats the parameters as a record has them. */
static rung_status check_tuning(const rung_device *device, const rung_problem *problem, const rung_tuning *tuning,
                                const rung_kernel **kernel, char parameters[RUNG_PARAMETERS_BYTES])
{
    rung_kernel *named;
    rungi_parameter_values values;
    if (!(tuning->gflops >= 0 && tuning->gflops < 1e9))
        return rungi_invalid("gflops is %g; it must be from 0 to less than 1e9", tuning->gflops);
    TRY(rung_kernel_find(device->context, device->backend->name, tuning->kernel, &named));
    TRY(rungi_choose_check_automatic(named, problem));
    TRY(rungi_kernel_parse_tuned_parameters(named, tuning->parameters, rung_type_size(problem->a.type), &values));
    rungi_kernel_format_parameters(named, &values, parameters, RUNG_PARAMETERS_BYTES);
    *kernel = named;
    return RUNG_OK;
}

rung_status rung_tuning_save(rung_device *device, const rung_problem *problem, const rung_tuning *given,
                             const char *path)
{
    RUNGI_DISABLE_CANCELLATION;
    char parameters[RUNG_PARAMETERS_BYTES], line[RUNGI_TUNING_LINE_BYTES], user_path[RUNGI_TUNING_PATH_BYTES];
    const rung_kernel *kernel = NULL;
    rungi_tuning_key key;
    rungi_tuning_record record;
    int64_t changed, number;
    rung_problem read;
    rung_tuning tuning;
    if (!device || !problem || !given)
        return rungi_invalid("rung_tuning_save needs a device, a problem and a rung_tuning; one of them is NULL");
    TRY(rungi_versioned_struct_read(given, &tuning, sizeof tuning, "rung_tuning", "rung_tuning_default"));
    TRY(rungi_problem_read(problem, &read));
    if (!tuning.kernel)
        return rungi_invalid("rung_tuning.kernel is NULL; set it to a kernel's name");
    TRY(make_key(device, &read, &key));
    rungi_problem_put_result_in_c(&read);
    TRY(check_tuning(device, &read, &tuning, &kernel, parameters));
    TRY(default_path(&path, user_path, true));
    size_t length = rungi_tuning_record_format(&key, kernel->info.name, parameters,
                                               (int64_t)floor(tuning.gflops * 1000 + 0.5), line);
    const char *error = length > 0 ? rungi_tuning_record_parse(line, length - 1, &record) : "the line is too long";
    if (error)
        return rungi_invalid("the tuning cannot be saved as a record: %s", error);
    TRY(rungi_tuning_file_update(device->context, path, &record, 1, RUNGI_TUNING_REPLACE, &changed, &number));
    return rungi_tuning_store_add_saved(device->context, path, line, length, number);
}

rung_status rung_tuning_remove(rung_device *device, const rung_problem *problem, const char *path, int64_t *removed)
{
    RUNGI_DISABLE_CANCELLATION;
    char user_path[RUNGI_TUNING_PATH_BYTES];
    rungi_tuning_key key;
    int64_t changed = 0, line;
    if (removed)
        *removed = 0;
    if (!device || !problem)
        return rungi_invalid("rung_tuning_remove needs a device and a problem; one of them is NULL");
    TRY(make_key(device, problem, &key));
    TRY(default_path(&path, user_path, false));
    rungi_tuning_record record = {.key = rungi_string_view_of(key.text, strlen(key.text))};
    TRY(rungi_tuning_file_update(device->context, path, &record, 1, RUNGI_TUNING_REMOVE, &changed, &line));
    rungi_tuning_store_forget(device->context, path, &key);
    if (removed)
        *removed = changed;
    return RUNG_OK;
}

/* Writes the records of one file into another. */
static rung_status merge_records(rung_context *context, const char *from, const rungi_tuning_records *records,
                                 const char *into, int64_t *changed)
{
    char user_path[RUNGI_TUNING_PATH_BYTES];
    int64_t line;
    if (records->count == 0 && records->skipped > 0)
        return rungi_invalid("%s has no record that this library can read", from);
    if (rungi_tuning_user_path(user_path, sizeof user_path, false) && strcmp(user_path, into) == 0)
        rungi_tuning_user_path(user_path, sizeof user_path, true);
    return rungi_tuning_file_update(context, into, records->records, records->count, RUNGI_TUNING_REPLACE_IF_FASTER,
                                    changed, &line);
}

rung_status rung_tuning_merge(rung_context *context, const char *from, const char *into, int64_t *changed)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_tuning_records *records;
    int64_t count = 0;
    if (changed)
        *changed = 0;
    if (!from || !into)
        return rungi_invalid("rung_tuning_merge needs the paths of two files; one of them is NULL");
    context = rungi_context_or_default(context);
    TRY(rungi_allocated(context));
    TRY(rungi_tuning_file_read(context, from, &records));
    if (!records)
        return rungi_fail(RUNG_STATUS_NOT_FOUND, "%s does not exist or cannot be read", from);
    rung_status status = merge_records(context, from, records, into, &count);
    rungi_tuning_records_free(context, records);
    if (status == RUNG_OK && changed)
        *changed = count;
    return status;
}

rung_status rung_tuning_path(rung_context *context, char *text, size_t capacity)
{
    RUNGI_DISABLE_CANCELLATION;
    char path[RUNGI_TUNING_PATH_BYTES];
    (void)context;
    if (!text || capacity == 0)
        return rungi_invalid("rung_tuning_path needs memory for the text");
    *text = '\0';
    if (!rungi_tuning_user_path(path, sizeof path, false))
        return rungi_fail(RUNG_STATUS_NOT_FOUND, "the user's tuning file has no path; set HOME to an absolute path");
    return copy_text("path", path, text, capacity);
}
