/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_file.c - reads and updates tuning files. A path may name a folder, a pipe or a growing file: reading never
 * waits and never reads more than the largest valid file.
 *
 * A writer locks a second file beside the tuning file, reads the tuning file and replaces it. So concurrent writers
 * lose no record, and readers need no lock. */
#define _GNU_SOURCE /* secure_getenv: the caller of a set-uid program must not name its files; F_OFD_SETLK: threads of a
                     * process must exclude each other too */
#include "core/choose/tuning_file.h"

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

/* Creates the folder of a path. A failure shows when the file is written. */
static void make_folder_of(const char *path)
{
    char folder[RUNGI_TUNING_PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    rungi_make_folder(folder);
}

bool rungi_tuning_user_path(char *path, size_t capacity, bool creates_folder)
{
    bool is_set = rungi_path_in_variable("XDG_CONFIG_HOME", "/rung/tuning", path, capacity) ||
                  rungi_path_in_variable("HOME", "/.config/rung/tuning", path, capacity);
    if (is_set && creates_folder)
        make_folder_of(path);
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
    if (!memory)
        return RUNG_STATUS_NO_MEMORY;
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

/* Unlocks before closing, since a child process that another thread forked may have the file open too. */
static void release_lock(int file)
{
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(file, F_OFD_SETLK, &whole);
    close(file);
}

/* Returns whether the lock file is an empty file of this user without other links, so that its owner and mode may be
 * changed. */
static bool is_own_lock_file(const struct stat *lock)
{
    return lock->st_uid == geteuid() && lock->st_nlink == 1 && lock->st_size == 0;
}

static const char *lock_open_file(const char *path, int file)
{
    struct stat status, store;
    if (fstat(file, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is not a regular file";
    if (is_own_lock_file(&status) && stat(path, &store) == 0 &&
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

/* The records of a file after an update: for each old record the one that replaces its line, or NULL if the line is
 * removed; then the new records. */
typedef struct file_edit {
    const rungi_tuning_records *old;
    const rungi_tuning_record **lines;
    int64_t count;
} file_edit_t;

static int64_t count_changed(const file_edit_t *edit)
{
    int64_t changed = edit->count - edit->old->count;
    for (int64_t i = 0; i < edit->old->count; i++)
        changed += edit->lines[i] != &edit->old->records[i];
    return changed;
}

static void remove_record(file_edit_t *edit, const rungi_tuning_record *record)
{
    for (int64_t i = 0; i < edit->count; i++)
        if (edit->lines[i] && rungi_tuning_record_has_same_key(edit->lines[i], record))
            edit->lines[i] = NULL;
}

/* Applies one record. Of several lines with its key, the last one counts. */
static void apply_record(file_edit_t *edit, const rungi_tuning_record *record, rungi_tuning_update_mode mode)
{
    if (mode == RUNGI_TUNING_REMOVE) {
        remove_record(edit, record);
        return;
    }
    int64_t i = edit->count - 1;
    while (i >= 0 && !rungi_tuning_record_has_same_key(edit->lines[i], record))
        i--;
    if (i >= 0 && mode == RUNGI_TUNING_REPLACE_IF_FASTER && record->mflops <= edit->lines[i]->mflops)
        return;
    edit->lines[i >= 0 ? i : edit->count++] = record;
}

static rung_status apply_records(rung_context *context, file_edit_t *edit, const rungi_tuning_records *old,
                                 const rungi_tuning_record *records, int64_t count, rungi_tuning_update_mode mode)
{
    edit->old = old;
    edit->lines = rungi_allocate_zeroed(context, (size_t)(old->count + count + 1) * sizeof *edit->lines);
    if (!edit->lines)
        return RUNG_STATUS_NO_MEMORY;
    for (int64_t i = 0; i < old->count; i++)
        edit->lines[i] = &old->records[i];
    edit->count = old->count;
    for (int64_t i = 0; i < count; i++)
        apply_record(edit, &records[i], mode);
    return RUNG_OK;
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

/* Writes a last line without newline as a comment, since it may be truncated and must not become a record. */
static void write_truncated_line(tuning_text_t *output, const char *text, size_t length)
{
    static const char mark[] = "# cut short: ";
    append_bytes(output, mark, strlen(mark));
    append_line(output, text, length);
}

/* Writes the new text. *line receives the line number of `record`. Returns the length. */
static size_t write_lines(const file_edit_t *edit, char *to, const rungi_tuning_record *record, int64_t *line)
{
    const char *text = edit->old->text, *end = text + edit->old->bytes;
    tuning_text_t output = {.to = to};
    int64_t next = 0;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const rungi_tuning_record *replacement = NULL;
        bool is_record = next < edit->old->count && edit->old->records[next].line.text == text;
        if (is_record)
            replacement = edit->lines[next++];
        bool is_removed = is_record && !replacement;
        if (replacement)
            append_line(&output, replacement->line.text, replacement->line.length);
        else if (newline && !is_removed)
            append_line(&output, text, (size_t)(newline - text));
        else if (!is_removed)
            write_truncated_line(&output, text, (size_t)(end - text));
        *line = replacement && replacement == record ? output.lines : *line;
        text = newline ? newline + 1 : end;
    }
    for (int64_t i = edit->old->count; i < edit->count; i++) {
        append_line(&output, edit->lines[i]->line.text, edit->lines[i]->line.length);
        *line = edit->lines[i] == record ? output.lines : *line;
    }
    return output.used;
}

static rung_status write_edit(rung_context *context, const file_edit_t *edit, const char *path,
                              const rungi_tuning_record *last, int64_t *line)
{
    size_t bytes = write_lines(edit, NULL, last, line);
    if (bytes > RUNGI_TUNING_FILE_BYTES_MAX || edit->count > RUNGI_TUNING_FILE_RECORDS_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "%s would have %lld records in %zu bytes; the maximum is %d records in %d bytes. "
                          "Remove the records of devices that you no longer use",
                          path, (long long)edit->count, bytes, RUNGI_TUNING_FILE_RECORDS_MAX,
                          RUNGI_TUNING_FILE_BYTES_MAX);
    char *text = rungi_allocate(context, (int64_t)bytes, 1);
    if (!text)
        return RUNG_STATUS_NO_MEMORY;
    write_lines(edit, text, last, line);
    const char *error = replace_file(path, text, bytes);
    rungi_release(context, text);
    return error ? rungi_fail(RUNG_STATUS_IO, "%s cannot be written: %s", path, error) : RUNG_OK;
}

static const char new_file_text[] = RUNGI_TUNING_FILE_HEADER
    "\n"
    "# backend device driver product compute layout shape batch kernel parameters gflops\n";

/* Reads the records of a file before an update. The file must be a tuning file, empty or missing. */
static rung_status read_existing(rung_context *context, const char *path, rungi_tuning_records **old, bool *is_new)
{
    const char *error;
    int64_t bytes = 0;
    char *text;
    TRY(read_text(context, path, &text, &bytes, &error));
    if (error)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be read: %s", path, error);
    if (text && bytes > 0 &&
        (bytes < (int64_t)sizeof RUNGI_TUNING_FILE_HEADER ||
         memcmp(text, new_file_text, sizeof RUNGI_TUNING_FILE_HEADER) != 0)) {
        rungi_release(context, text);
        return rungi_fail(
            RUNG_STATUS_INVALID,
            "%s is not a tuning file: it does not begin with \"%s\" and is left unchanged. Use another path, or move "
            "the file",
            path, RUNGI_TUNING_FILE_HEADER);
    }
    *is_new = bytes == 0;
    if (*is_new) {
        rungi_release(context, text);
        bytes = (int64_t)strlen(new_file_text);
        text = rungi_allocate(context, bytes, 1);
        if (!text)
            return RUNG_STATUS_NO_MEMORY;
        memcpy(text, new_file_text, (size_t)bytes);
    }
    return rungi_tuning_records_parse(context, path, text, bytes, old);
}

static rung_status update_records(rung_context *context, const char *path, const rungi_tuning_records *old, bool is_new,
                                  const rungi_tuning_record *records, int64_t count, rungi_tuning_update_mode mode,
                                  int64_t *changed, int64_t *line)
{
    file_edit_t edit;
    TRY(apply_records(context, &edit, old, records, count, mode));
    rung_status status = RUNG_OK;
    *changed = count_changed(&edit);
    if (*changed > 0 || (is_new && mode != RUNGI_TUNING_REMOVE))
        status = write_edit(context, &edit, path, count > 0 ? &records[count - 1] : NULL, line);
    rungi_release(context, edit.lines);
    return status;
}

static rung_status update_under_lock(rung_context *context, const char *path, const rungi_tuning_record *records,
                                     int64_t count, rungi_tuning_update_mode mode, int64_t *changed, int64_t *line)
{
    rungi_tuning_records *old;
    bool is_new = false;
    TRY(read_existing(context, path, &old, &is_new));
    rung_status status = update_records(context, path, old, is_new, records, count, mode, changed, line);
    rungi_tuning_records_free(context, old);
    return status;
}

rung_status rungi_tuning_file_update(rung_context *context, const char *path, const rungi_tuning_record *records,
                                     int64_t count, rungi_tuning_update_mode mode, int64_t *changed, int64_t *line)
{
    char real[RUNGI_TUNING_PATH_BYTES]; /* the target of a link, so that the link stays */
    int lock;
    *changed = *line = 0;
    if (strlen(path) >= sizeof real)
        return rungi_fail(RUNG_STATUS_INVALID, "the path of the tuning file has %zu bytes; the maximum is %d",
                          strlen(path), RUNGI_TUNING_PATH_BYTES - 1);
    if (mode == RUNGI_TUNING_REMOVE && rungi_tuning_file_is_missing(path))
        return RUNG_OK;
    if (realpath(path, real))
        path = real;
    TRY(open_lock(path, &lock));
    rung_status status = update_under_lock(context, path, records, count, mode, changed, line);
    release_lock(lock);
    return status;
}
