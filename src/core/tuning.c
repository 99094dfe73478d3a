/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.c - the records that a context knows of, and the public calls that make more. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/cancel.h"
#include "core/choose.h"
#include "core/growth.h"
#include "core/problem.h"
#include "core/store.h"

/* ---- A context's records ----------------------------------------------------------------- */

void rungi_store_free(rung_context *context, rungi_records *list)
{
    while (list) {
        rungi_records *next = list->next;
        rungi_records_free(context, list);
        list = next;
    }
}

rung_status rungi_store_read(rung_context *context, char paths[][RUNGI_STORE_PATH], int count, rungi_records **list)
{
    *list = NULL;
    for (int i = 0; i < count; i++) {
        rungi_records *records = NULL;
        rung_status status = paths[i][0] ? rungi_records_read(context, paths[i], &records) : RUNG_OK;
        if (status != RUNG_OK) {
            rungi_store_free(context, *list);
            *list = NULL;
            return status;
        }
        if (!records)
            continue;
        records->next = *list;
        *list = records;
    }
    return RUNG_OK;
}

/* Not under the lock, since reading may be told in the caller's log. If two threads come here
 * at once both read, and one keeps what it has read. */
static rung_status read_files(rung_context *context)
{
    rungi_records *list = NULL;
    char(*paths)[RUNGI_STORE_PATH];
    pthread_mutex_lock(&context->lock);
    bool is_read = context->tuning_is_read;
    pthread_mutex_unlock(&context->lock);
    if (is_read)
        return RUNG_OK;
    paths = rungi_new(context, RUNGI_STORE_FILES * sizeof *paths);
    if (!paths)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = RUNG_OK;
    if (rungi_store_paths(paths))
        status = rungi_store_read(context, paths, RUNGI_STORE_FILES, &list);
    const char *named = paths[RUNGI_STORE_NAMED];
    if (*named && rungi_store_is_missing(named))
        rungi_warn(context, "rung: tuning: RUNG_TUNING names %s, which is not there", named);
    rungi_release(context, paths);
    if (status != RUNG_OK)
        return status;
    pthread_mutex_lock(&context->lock);
    if (!context->tuning_is_read) {
        context->tuning = list;
        context->tuning_is_read = true;
        list = NULL;
    }
    pthread_mutex_unlock(&context->lock);
    rungi_store_free(context, list);
    return RUNG_OK;
}

/* Most have none, and pay for a lock alone. */
rung_status rungi_store_find(const rung_device *device, const rung_problem *problem,
                             rungi_proposal found[RUNGI_PROPOSALS], int *count)
{
    rung_context *context = device->context;
    rungi_tuning_key key;
    *count = 0;
    rung_status status = read_files(context);
    if (status != RUNG_OK)
        return status;
    pthread_mutex_lock(&context->lock);
    if (context->tuning) {
        rungi_tuning_key_of(device, problem, &key);
        *count = rungi_records_find(context->tuning, &key, found);
    }
    pthread_mutex_unlock(&context->lock);
    return RUNG_OK;
}

void rungi_store_pass_over(rung_context *context, const rungi_proposal *proposal)
{
    pthread_mutex_lock(&context->lock);
    rungi_records_pass_over(context->tuning, proposal);
    pthread_mutex_unlock(&context->lock);
}

static bool has_key_of(const rungi_records *records, const rungi_records *other)
{
    rungi_slice key = records->records[0].key, wanted = other->records[0].key;
    return key.length == wanted.length && memcmp(key.text, wanted.text, key.length) == 0;
}

/* Takes the record that was saved before for the same key out of the list. Under the lock. */
static rungi_records *take_saved(rung_context *context, const rungi_records *records)
{
    rungi_records **link = &context->tuning;
    while (*link && !((*link)->is_saved && has_key_of(*link, records)))
        link = &(*link)->next;
    rungi_records *saved = *link;
    if (saved)
        *link = saved->next;
    return saved;
}

/* Puts one record, which was written to a file, before all others. */
static rung_status remember(rung_context *context, const char *path, const char *line, size_t length, int64_t number)
{
    static const char head[] = RUNGI_STORE_HEAD "\n";
    rungi_records *records;
    size_t bytes = strlen(head) + length;
    rung_status status = read_files(context);
    if (status != RUNG_OK)
        return status;
    char *text = rungi_allocate(context, (int64_t)bytes, 1);
    if (!text)
        return RUNG_STATUS_NO_MEMORY;
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): not a string, its length is passed
    memcpy(text, head, strlen(head));
    memcpy(text + strlen(head), line, length);
    status = rungi_records_parse(context, path, text, (int64_t)bytes, &records);
    if (status != RUNG_OK)
        return status;
    records->records[0].number = number;
    records->is_saved = true;
    pthread_mutex_lock(&context->lock);
    rungi_records *before = take_saved(context, records);
    records->next = context->tuning;
    context->tuning = records;
    context->tuning_changes++;
    pthread_mutex_unlock(&context->lock);
    rungi_records_free(context, before);
    return RUNG_OK;
}

/* ---- The public calls ---------------------------------------------------------------------- */

static rung_status key_of(const rung_device *device, const rung_problem *problem, rungi_tuning_key *key)
{
    rung_problem settled;
    rung_status status = rungi_problem_read(problem, &settled);
    if (status == RUNG_OK)
        status = rungi_problem_check_form(&settled);
    if (status != RUNG_OK)
        return status;
    rung_type out = rungi_problem_output(&settled)->type;
    if (rungi_product_of(settled.a.type, settled.b.type, out) == RUNGI_PRODUCT_COUNT)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "no kernel multiplies %s by %s into %s, so there is nothing to tune",
                          rung_type_name(settled.a.type), rung_type_name(settled.b.type), rung_type_name(out));
    rungi_problem_settle(&settled);
    rungi_tuning_key_of(device, &settled, key);
    return RUNG_OK;
}

rung_status rung_tuning_key(const rung_device *device, const rung_problem *problem, char *text, size_t capacity)
{
    RUNGI_DISABLE_CANCELLATION;
    rungi_tuning_key key;
    char whole[RUNGI_STORE_KEY];
    if (!device || !problem || !text || capacity == 0)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_tuning_key needs a device, a problem and a place for the text");
    *text = '\0';
    rung_status status = key_of(device, problem, &key);
    if (status != RUNG_OK)
        return status;
    rungi_tuning_key_text(&key, whole);
    if (strlen(whole) >= capacity)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the key has %zu bytes, the place for it %zu", strlen(whole) + 1,
                          capacity);
    strcpy(text, whole);
    return RUNG_OK;
}

/* The configuration as a record has it, or why it can be none. */
static rung_status check_found(const rung_device *device, const rung_problem *problem, const rung_tuning *found,
                               const rung_kernel **kernel, char parameters[RUNG_PARAMETERS_BYTES])
{
    rung_kernel *named;
    rungi_values values;
    if (!(found->gflops >= 0 && found->gflops < 1e9))
        return rungi_fail(RUNG_STATUS_INVALID, "%g GFLOPS cannot have been measured", found->gflops);
    rung_status status = rung_kernel_find(device->context, device->backend->name, found->kernel, &named);
    if (status == RUNG_OK)
        status = rungi_choose_check(named, problem);
    if (status == RUNG_OK)
        status = rungi_kernel_values(named, found->parameters, rung_type_size(problem->a.type), &values);
    if (status == RUNG_OK)
        status = rungi_kernel_check_range(named, &values);
    if (status != RUNG_OK)
        return status;
    rungi_kernel_values_text(named, &values, parameters, RUNG_PARAMETERS_BYTES);
    *kernel = named;
    return RUNG_OK;
}

rung_status rung_tuning_save(rung_device *device, const rung_problem *problem, const rung_tuning *found,
                             const char *path)
{
    RUNGI_DISABLE_CANCELLATION;
    char parameters[RUNG_PARAMETERS_BYTES], line[RUNGI_STORE_LINE], users[RUNGI_STORE_PATH];
    const rung_kernel *kernel = NULL;
    rungi_tuning_key key;
    rungi_record record;
    int64_t changed, number;
    rung_problem read;
    rung_tuning tuning;
    if (!device || !problem || !found)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_tuning_save needs a device, a problem and a rung_tuning");
    rung_status status = rungi_struct_read(found, &tuning, sizeof tuning, "rung_tuning", "rung_tuning_default");
    if (status == RUNG_OK)
        status = rungi_problem_read(problem, &read);
    if (status != RUNG_OK)
        return status;
    if (!tuning.kernel)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_tuning.kernel is NULL; set it to a kernel's name");
    problem = &read;
    found = &tuning;
    status = key_of(device, problem, &key);
    if (status == RUNG_OK)
        rungi_problem_order(&read); /* C is the result */
    if (status == RUNG_OK)
        status = check_found(device, problem, found, &kernel, parameters);
    if (status == RUNG_OK && !path && !rungi_store_user_path(users, sizeof users, true))
        status = rungi_fail(RUNG_STATUS_INVALID, "there is no place for the user's store: set HOME, or name a file");
    if (status != RUNG_OK)
        return status;
    path = path ? path : users;
    size_t length = rungi_record_write(&key, kernel->info.name, parameters, (int64_t)floor(found->gflops * 1000 + 0.5),
                                       line);
    const char *wrong = length > 0 ? rungi_record_parse(line, length - 1, &record) : "it is too long";
    if (wrong)
        return rungi_fail(RUNG_STATUS_INVALID, "this cannot be kept as a record: %s", wrong);
    status = rungi_records_put(device->context, path, &record, 1, RUNGI_PUT_ALWAYS, &changed, &number);
    return status == RUNG_OK ? remember(device->context, path, line, length, number) : status;
}

/* Returns whether two paths name one file, however they are spelled. */
static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return strcmp(one, other) == 0 ||
           (stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* Forgets the removed records of a file that the context has read or saved. */
static void forget(rung_context *context, const char *path, const rungi_tuning_key *key)
{
    pthread_mutex_lock(&context->lock);
    for (const rungi_records *records = context->tuning; records; records = records->next)
        if (is_same_file(records->name, path))
            rungi_records_forget(context->tuning, records->name, key);
    context->tuning_changes++;
    pthread_mutex_unlock(&context->lock);
}

rung_status rung_tuning_remove(rung_device *device, const rung_problem *problem, const char *path, int64_t *removed)
{
    RUNGI_DISABLE_CANCELLATION;
    char whole[RUNGI_STORE_KEY], users[RUNGI_STORE_PATH];
    rungi_tuning_key key;
    int64_t changed = 0, line;
    if (removed)
        *removed = 0;
    if (!device || !problem)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_tuning_remove needs a device and a problem");
    rung_status status = key_of(device, problem, &key);
    if (status == RUNG_OK && !path && !rungi_store_user_path(users, sizeof users, false))
        status = rungi_fail(RUNG_STATUS_INVALID, "the user's store has no path: set HOME, or name a file");
    if (status != RUNG_OK)
        return status;
    path = path ? path : users;
    rungi_tuning_key_text(&key, whole);
    rungi_record record = {.key = rungi_slice_of(whole, strlen(whole))};
    status = rungi_records_put(device->context, path, &record, 1, RUNGI_PUT_REMOVE, &changed, &line);
    if (status != RUNG_OK)
        return status;
    forget(device->context, path, &key);
    if (removed)
        *removed = changed;
    return RUNG_OK;
}

rung_status rung_tuning_merge(rung_context *context, const char *from, const char *into, int64_t *changed)
{
    RUNGI_DISABLE_CANCELLATION;
    char users[RUNGI_STORE_PATH];
    rungi_records *records;
    int64_t count = 0, line;
    if (changed)
        *changed = 0;
    if (!from || !into)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_tuning_merge needs two files");
    context = rungi_context_of(context);
    if (!context)
        return RUNG_STATUS_NO_MEMORY;
    rung_status status = rungi_records_read(context, from, &records);
    if (status != RUNG_OK)
        return status;
    if (!records)
        return rungi_fail(RUNG_STATUS_NOT_FOUND, "%s is not there, or is no file that can be read", from);
    if (records->count == 0 && records->skipped > 0)
        status = rungi_fail(RUNG_STATUS_INVALID, "%s holds no record that this library reads", from);
    if (status == RUNG_OK && rungi_store_user_path(users, sizeof users, false) && strcmp(users, into) == 0)
        rungi_store_user_path(users, sizeof users, true);
    if (status == RUNG_OK)
        status = rungi_records_put(context, into, records->records, records->count, RUNGI_PUT_IF_FASTER, &count, &line);
    rungi_records_free(context, records);
    if (status == RUNG_OK && changed)
        *changed = count;
    return status;
}

rung_status rung_tuning_path(rung_context *context, char *text, size_t capacity)
{
    RUNGI_DISABLE_CANCELLATION;
    char path[RUNGI_STORE_PATH];
    (void)context;
    if (!text || capacity == 0)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_tuning_path needs a place for the text");
    *text = '\0';
    if (!rungi_store_user_path(path, sizeof path, false))
        return rungi_fail(RUNG_STATUS_NOT_FOUND,
                          "there is no place for the user's store: set HOME to an absolute path");
    if (strlen(path) >= capacity)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the path has %zu bytes, the place for it %zu", strlen(path) + 1,
                          capacity);
    strcpy(text, path);
    return RUNG_OK;
}
