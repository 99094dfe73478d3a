/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_store.c - the tuning records that a context knows. tuning_api.c has the public functions. */
#include "core/choose/tuning_store.h"

#include <string.h>
#include <sys/stat.h>

#include "base/try.h"

rung_status rungi_tuning_files_read(rung_context *context, char paths[][RUNGI_TUNING_PATH_BYTES], int count,
                                    rungi_tuning_records **list)
{
    *list = NULL;
    for (int i = 0; i < count; i++) {
        rungi_tuning_records *records = NULL;
        rung_status status = paths[i][0] ? rungi_tuning_file_read(context, paths[i], &records) : RUNG_OK;
        if (status != RUNG_OK) {
            rungi_tuning_records_free(context, *list);
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

/* Reads the files of all paths and warns if RUNG_TUNING names a missing file. */
static rung_status read_files(rung_context *context, char paths[][RUNGI_TUNING_PATH_BYTES], rungi_tuning_records **list)
{
    const char *named = paths[RUNGI_TUNING_FILE_FROM_VARIABLE];
    if (rungi_tuning_file_paths(paths))
        TRY(rungi_tuning_files_read(context, paths, RUNGI_TUNING_FILE_COUNT, list));
    if (*named && rungi_tuning_file_is_missing(named))
        rungi_log(context, RUNGI_LOG_WARNING, "rung: tuning: RUNG_TUNING names %s, which does not exist", named);
    return RUNG_OK;
}

/* Reads without the lock, since reading may call the caller's log function. If two threads read at once, one of them
 * discards its records. */
static rung_status read_files_once(rung_context *context)
{
    rungi_tuning_records *list = NULL;
    pthread_mutex_lock(&context->lock);
    bool is_read = context->is_tuning_loaded;
    pthread_mutex_unlock(&context->lock);
    if (is_read)
        return RUNG_OK;
    char(*paths)[RUNGI_TUNING_PATH_BYTES] = rungi_allocate_zeroed(context, RUNGI_TUNING_FILE_COUNT * sizeof *paths);
    TRY(rungi_allocated(paths));
    rung_status status = read_files(context, paths, &list);
    rungi_release(context, paths);
    TRY(status);
    pthread_mutex_lock(&context->lock);
    if (!context->is_tuning_loaded) {
        context->tuning_records = list;
        context->is_tuning_loaded = true;
        list = NULL;
    }
    pthread_mutex_unlock(&context->lock);
    rungi_tuning_records_free(context, list);
    return RUNG_OK;
}

rung_status rungi_tuning_store_find(const rung_device *device, const rung_problem *problem,
                                    rungi_tuning_proposal found[RUNGI_TUNING_PROPOSALS_MAX], int *count)
{
    rung_context *context = device->context;
    rungi_tuning_key key;
    *count = 0;
    TRY(read_files_once(context));
    pthread_mutex_lock(&context->lock);
    if (context->tuning_records) {
        rungi_tuning_key_of(device, problem, &key);
        *count = rungi_tuning_records_find(context->tuning_records, &key, found);
    }
    pthread_mutex_unlock(&context->lock);
    return RUNG_OK;
}

void rungi_tuning_store_disable(rung_context *context, const rungi_tuning_proposal *proposal)
{
    pthread_mutex_lock(&context->lock);
    rungi_tuning_records_disable(context->tuning_records, proposal);
    pthread_mutex_unlock(&context->lock);
}

/* Removes the record that was saved before for the same key from the list, and returns it. The caller holds the
 * lock. */
static rungi_tuning_records *remove_saved(rung_context *context, const rungi_tuning_records *records)
{
    rungi_tuning_records **link = &context->tuning_records;
    while (*link && !((*link)->is_saved && rungi_string_views_equal((*link)->records->key, records->records->key)))
        link = &(*link)->next;
    rungi_tuning_records *saved = *link;
    if (saved) {
        *link = saved->next;
        saved->next = NULL;
    }
    return saved;
}

rung_status rungi_tuning_store_add_saved(rung_context *context, const char *path, const char *line, size_t length,
                                         int64_t number)
{
    static const char header[] = RUNGI_TUNING_FILE_HEADER "\n";
    rungi_tuning_records *records;
    size_t bytes = strlen(header) + length;
    TRY(read_files_once(context));
    char *text = rungi_allocate(context, (int64_t)bytes, 1);
    TRY(rungi_allocated(text));
    // NOLINTNEXTLINE(bugprone-not-null-terminated-result): not a string, its length is passed
    memcpy(text, header, strlen(header));
    memcpy(text + strlen(header), line, length);
    TRY(rungi_tuning_records_parse(context, path, text, (int64_t)bytes, &records));
    records->records[0].number = number;
    records->is_saved = true;
    pthread_mutex_lock(&context->lock);
    rungi_tuning_records *previous = remove_saved(context, records);
    records->next = context->tuning_records;
    context->tuning_records = records;
    context->tuning_version++;
    pthread_mutex_unlock(&context->lock);
    rungi_tuning_records_free(context, previous);
    return RUNG_OK;
}

/* Returns whether two paths name the same file. */
static bool is_same_file(const char *x_path, const char *y_path)
{
    struct stat x, y;
    return strcmp(x_path, y_path) == 0 ||
           (stat(x_path, &x) == 0 && stat(y_path, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

void rungi_tuning_store_forget(rung_context *context, const char *path, const rungi_tuning_key *key)
{
    pthread_mutex_lock(&context->lock);
    for (rungi_tuning_records *records = context->tuning_records; records; records = records->next)
        if (is_same_file(records->name, path))
            rungi_tuning_records_disable_key(records, key);
    context->tuning_version++;
    pthread_mutex_unlock(&context->lock);
}
