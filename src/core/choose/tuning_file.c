/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_file.c - reads and updates tuning files. A path may name a folder, a pipe or a growing file: reading never
 * waits and never reads more than the largest valid file.
 *
 * A writer locks a second file beside the tuning file, reads the tuning file and replaces it. So concurrent writers
 * lose no record, and readers need no lock. */
#define _GNU_SOURCE /* secure_getenv: the caller of a set-uid program must not name its files; F_OFD_SETLK: threads of a
                     * process must exclude each other too */
#include "core/choose/tuning_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/file_io.h"
#include "base/try.h"

/* ---- Paths ------------------------------------------------------------------------------------------------------- */

bool rungi_tuning_user_path(char *path, size_t capacity, bool creates_folder)
{
    bool is_set = rungi_path_in_variable("XDG_CONFIG_HOME", "/rung/tuning", path, capacity) ||
                  rungi_path_in_variable("HOME", "/.config/rung/tuning", path, capacity);
    if (is_set && creates_folder) { /* a failure shows when the file is written */
        char folder[RUNGI_TUNING_PATH_BYTES];
        snprintf(folder, sizeof folder, "%s", path);
        *strrchr(folder, '/') = '\0';
        rungi_make_folder(folder);
    }
    return is_set;
}

bool rungi_tuning_file_paths(char paths[RUNGI_TUNING_FILE_COUNT][RUNGI_TUNING_PATH_BYTES])
{
    const char *named = secure_getenv("RUNG_TUNING");
    if (named && (!*named || strcmp(named, "off") == 0))
        return false;
    snprintf(paths[RUNGI_TUNING_FILE_SYSTEM_WIDE], RUNGI_TUNING_PATH_BYTES, "%s", RUNGI_SYSTEM_TUNING);
    if (!rungi_tuning_user_path(paths[RUNGI_TUNING_FILE_USER], RUNGI_TUNING_PATH_BYTES, false))
        paths[RUNGI_TUNING_FILE_USER][0] = '\0';
    paths[RUNGI_TUNING_FILE_FROM_VARIABLE][0] = '\0';
    if (named && strlen(named) < RUNGI_TUNING_PATH_BYTES)
        strcpy(paths[RUNGI_TUNING_FILE_FROM_VARIABLE], named);
    return true;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

_Static_assert(RUNGI_TUNING_FILE_BYTES_MAX == 1 << 20, "a message says 1 MiB");

/* Reads the text of an open file. If it is not a tuning file, *text stays NULL and *error is the reason. */
static rung_status read_open_file(rung_context *context, int file, char **text, int64_t *bytes, const char **error)
{
    struct stat status;
    if (fstat(file, &status) != 0) {
        *error = strerror(errno);
        return RUNG_OK;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > RUNGI_TUNING_FILE_BYTES_MAX) {
        *error = S_ISREG(status.st_mode) ? "it has more than 1 MiB" : "it is not a regular file";
        return RUNG_OK;
    }
    int64_t capacity = (int64_t)status.st_size + 1; /* one more, to detect a file that grows */
    char *memory = rungi_allocate(context, capacity, 1);
    TRY(rungi_allocated(memory));
    *bytes = rungi_read_up_to(file, memory, capacity);
    if (*bytes >= 0 && *bytes < capacity) {
        *text = memory;
        return RUNG_OK;
    }
    *error = *bytes < 0 ? strerror(errno) : "it changed while it was read";
    rungi_release(context, memory);
    return RUNG_OK;
}

/* Reads the text of a file, which the caller releases. If *text is NULL, the file is missing or *error is the reason.
 * O_NONBLOCK, because opening a pipe would wait for a writer. */
static rung_status read_text(rung_context *context, const char *path, char **text, int64_t *bytes, const char **error)
{
    *text = NULL;
    *error = NULL;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            *error = strerror(errno);
        return RUNG_OK;
    }
    rung_status status = read_open_file(context, file, text, bytes, error);
    close(file);
    return status;
}

rung_status rungi_tuning_file_read(rung_context *context, const char *path, rungi_tuning_records **out)
{
    const char *error;
    char *text;
    int64_t bytes;
    *out = NULL;
    rung_status status = read_text(context, path, &text, &bytes, &error);
    if (error)
        rungi_log(context, 1, "rung: tuning: %s is not read: %s", path, error);
    if (!text)
        return status;
    status = rungi_tuning_records_parse(context, path, text, bytes, out);
    if (status == RUNG_OK)
        rungi_log(context, (*out)->skipped ? 1 : 2, "rung: tuning: %s: %lld records; skipped lines: %lld", path,
                  (long long)(*out)->count, (long long)(*out)->skipped);
    return status;
}

bool rungi_tuning_file_is_missing(const char *path)
{
    return access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Returns the mode of the lock file. Only users who may write the tuning file may lock it. */
static mode_t lock_mode(mode_t mode)
{
    return S_IRUSR | S_IWUSR | (mode & S_IWGRP ? S_IRGRP | S_IWGRP : 0) | (mode & S_IWOTH ? S_IROTH | S_IWOTH : 0);
}

/* ---- The lock ---------------------------------------------------------------------------------------------------- */

/* The wait for a lock is limited, because a stopped process may hold it. */
enum { LOCK_TRIES = 5000, LOCK_PAUSE_MS = 2 };

/* Returns NULL, or a description of the error. */
static const char *take_lock(int file)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int i = 0; i < LOCK_TRIES; i++) {
        struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
        if (fcntl(file, F_OFD_SETLK, &whole) == 0)
            return NULL;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return strerror(errno);
        while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
            ;
    }
    return "another process has held the lock for 10 seconds";
}

_Static_assert(LOCK_TRIES *LOCK_PAUSE_MS == 10000, "a message here and a comment in rung.h say ten seconds");

static const char *lock_open_file(const char *path, int file)
{
    struct stat status, store;
    if (fstat(file, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is not a regular file";
    /* The owner and mode of an empty file of this user without other links may be changed. */
    if (status.st_uid == geteuid() && status.st_nlink == 1 && status.st_size == 0 && stat(path, &store) == 0 &&
        (status.st_mode & RUNGI_PERMISSION_BITS) != lock_mode(store.st_mode))
        rungi_file_set_owner_and_mode(file, &store, lock_mode(store.st_mode));
    return take_lock(file);
}

/* Opens and locks the lock file. It is never removed, since another process may hold a lock on it. */
static rung_status open_lock(const char *path, int *lock)
{
    char name[RUNGI_TUNING_PATH_BYTES + 8];
    snprintf(name, sizeof name, "%s.lock", path);
    *lock = open(name, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, S_IRUSR | S_IWUSR);
    const char *error = *lock < 0 ? strerror(errno) : lock_open_file(path, *lock);
    if (!error)
        return RUNG_OK;
    if (*lock >= 0)
        close(*lock);
    return rungi_fail(RUNG_STATUS_IO, "%s cannot be locked, so the tuning file is not written: %s", name, error);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* Returns NULL, or a description of the error. */
static const char *replace_file(const char *path, const char *text, size_t bytes)
{
    rungi_atomic_file file;
    const char *error = rungi_atomic_file_open(&file, path, (int64_t)bytes);
    if (error)
        return error;
    if (rungi_write_all(file.file, text, bytes))
        return rungi_atomic_file_commit(&file);
    error = strerror(errno);
    rungi_atomic_file_discard(&file);
    return error;
}

/* ---- Updating ---------------------------------------------------------------------------------------------------- */

typedef struct file_update {
    rung_context *context;
    const char *path;
    const rungi_tuning_record *records; /* to apply */
    int64_t record_count;
    rungi_tuning_update_mode mode;
    int64_t *changed, *line;   /* results of rungi_tuning_file_update() */
    rungi_tuning_records *old; /* of the file before the update */
    bool is_new;               /* the file is missing or empty */
    /* For each old record the one that replaces its line, or NULL if the line is removed; then the new records. */
    const rungi_tuning_record **lines;
    int64_t count;
} file_update_t;

/* Applies one record. Of several lines with its key, the last one counts; a removal removes all of them. */
static void apply_record(file_update_t *update, const rungi_tuning_record *record)
{
    int64_t last = -1;
    for (int64_t i = 0; i < update->count; i++) {
        if (!update->lines[i] || !rungi_string_views_equal(update->lines[i]->key, record->key))
            continue;
        last = i;
        if (update->mode == RUNGI_TUNING_REMOVE)
            update->lines[i] = NULL;
    }
    if (update->mode == RUNGI_TUNING_REMOVE ||
        (update->mode == RUNGI_TUNING_REPLACE_IF_FASTER && last >= 0 && record->mflops <= update->lines[last]->mflops))
        return;
    update->lines[last >= 0 ? last : update->count++] = record;
}

/* The new text. If `to` is NULL, only the length is counted. */
typedef struct tuning_text {
    char *to;
    size_t used;
    int64_t lines;
} tuning_text_t;

static void append_bytes(tuning_text_t *output, const char *text, size_t length)
{
    if (output->to)
        memcpy(output->to + output->used, text, length);
    output->used += length;
}

static void append_line(tuning_text_t *output, const char *text, size_t length)
{
    append_bytes(output, text, length);
    append_bytes(output, "\n", 1);
    output->lines++;
}

/* Appends the line of a record. *line receives the line number of the last record of the update. */
static void append_record(tuning_text_t *output, const file_update_t *update, const rungi_tuning_record *record)
{
    append_line(output, record->line.text, record->line.length);
    if (update->record_count > 0 && record == &update->records[update->record_count - 1])
        *update->line = output->lines;
}

/* Writes the new text and returns its length. */
static size_t write_lines(const file_update_t *update, char *to)
{
    static const char mark[] = "# cut short: ";
    const char *text = update->old->text, *end = text + update->old->bytes;
    tuning_text_t output = {.to = to};
    int64_t next = 0;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        bool is_record = next < update->old->count && update->old->records[next].line.text == text;
        const rungi_tuning_record *replacement = is_record ? update->lines[next++] : NULL;
        if (replacement) {
            append_record(&output, update, replacement);
        } else if (!is_record) {
            if (!newline) /* the last line may be truncated and must not become a record */
                append_bytes(&output, mark, strlen(mark));
            append_line(&output, text, (size_t)((newline ? newline : end) - text));
        }
        text = newline ? newline + 1 : end;
    }
    for (int64_t i = update->old->count; i < update->count; i++)
        append_record(&output, update, update->lines[i]);
    return output.used;
}

static rung_status write_update(const file_update_t *update)
{
    size_t bytes = write_lines(update, NULL);
    if (bytes > RUNGI_TUNING_FILE_BYTES_MAX || update->count > RUNGI_TUNING_FILE_RECORDS_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "%s would have %lld records in %zu bytes; the maximum is %d records in %d bytes. "
                          "Remove the records of devices that you no longer use",
                          update->path, (long long)update->count, bytes, RUNGI_TUNING_FILE_RECORDS_MAX,
                          RUNGI_TUNING_FILE_BYTES_MAX);
    char *text = rungi_allocate(update->context, (int64_t)bytes, 1);
    TRY(rungi_allocated(text));
    write_lines(update, text);
    const char *error = replace_file(update->path, text, bytes);
    rungi_release(update->context, text);
    return error ? rungi_fail(RUNG_STATUS_IO, "%s cannot be written: %s", update->path, error) : RUNG_OK;
}

static const char new_file_text[] = RUNGI_TUNING_FILE_HEADER
    "\n"
    "# backend device driver product compute layout shape batch kernel parameters gflops\n";

/* Reads the records of the file. The file must be a tuning file, empty or missing. */
static rung_status read_existing(file_update_t *update)
{
    rung_context *context = update->context;
    const char *error;
    int64_t bytes = 0;
    char *text;
    TRY(read_text(context, update->path, &text, &bytes, &error));
    if (error)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be read: %s", update->path, error);
    if (text && bytes > 0 &&
        (bytes < (int64_t)sizeof RUNGI_TUNING_FILE_HEADER ||
         memcmp(text, new_file_text, sizeof RUNGI_TUNING_FILE_HEADER) != 0)) {
        rungi_release(context, text);
        return rungi_invalid(
            "%s is not a tuning file: it does not begin with \"%s\" and is left unchanged. Use another path, or move "
            "the file",
            update->path, RUNGI_TUNING_FILE_HEADER);
    }
    update->is_new = bytes == 0;
    if (update->is_new) {
        rungi_release(context, text);
        bytes = (int64_t)strlen(new_file_text);
        text = rungi_allocate(context, bytes, 1);
        TRY(rungi_allocated(text));
        memcpy(text, new_file_text, (size_t)bytes);
    }
    return rungi_tuning_records_parse(context, update->path, text, bytes, &update->old);
}

static rung_status apply_records(file_update_t *update)
{
    const rungi_tuning_records *old = update->old;
    for (int64_t i = 0; i < old->count; i++)
        update->lines[i] = &old->records[i];
    update->count = old->count;
    for (int64_t i = 0; i < update->record_count; i++)
        apply_record(update, &update->records[i]);
    *update->changed = update->count - old->count;
    for (int64_t i = 0; i < old->count; i++)
        *update->changed += update->lines[i] != &old->records[i];
    bool is_created = update->is_new && update->mode != RUNGI_TUNING_REMOVE;
    return *update->changed > 0 || is_created ? write_update(update) : RUNG_OK;
}

static rung_status update_under_lock(file_update_t *update)
{
    TRY(read_existing(update));
    size_t lines_max = (size_t)(update->old->count + update->record_count + 1);
    update->lines = rungi_allocate_zeroed(update->context, lines_max * sizeof *update->lines);
    rung_status status = update->lines ? apply_records(update) : RUNG_STATUS_NO_MEMORY;
    rungi_release(update->context, update->lines);
    rungi_tuning_records_free(update->context, update->old);
    return status;
}

rung_status rungi_tuning_file_update(rung_context *context, const char *path, const rungi_tuning_record *records,
                                     int64_t count, rungi_tuning_update_mode mode, int64_t *changed, int64_t *line)
{
    char real[RUNGI_TUNING_PATH_BYTES]; /* the target of a link, so that the link stays */
    struct flock unlock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    int lock;
    *changed = *line = 0;
    if (strlen(path) >= sizeof real)
        return rungi_invalid("the path of the tuning file has %zu bytes; the maximum is %d", strlen(path),
                             RUNGI_TUNING_PATH_BYTES - 1);
    if (mode == RUNGI_TUNING_REMOVE && rungi_tuning_file_is_missing(path))
        return RUNG_OK;
    if (realpath(path, real))
        path = real;
    TRY(open_lock(path, &lock));
    rung_status status = update_under_lock(&(file_update_t){.context = context,
                                                            .path = path,
                                                            .records = records,
                                                            .record_count = count,
                                                            .mode = mode,
                                                            .changed = changed,
                                                            .line = line});
    fcntl(lock, F_OFD_SETLK, &unlock); /* a child process that another thread forked may have the file open, too */
    close(lock);
    return status;
}
