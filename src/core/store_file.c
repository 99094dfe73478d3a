/* SPDX-License-Identifier: Apache-2.0 */
/* store_file.c - tuning records in files. Anything may stand at a path: a folder, a pipe, a
 * file that grows; reading it never waits and never takes more than a store may have.
 *
 * Writers take a lock beside the file, read it, and put a new one in its place, so that two of
 * them lose nothing and a reader needs no lock. */
#define _GNU_SOURCE /* secure_getenv: a set-uid program's caller must not name its files;
                     * F_OFD_SETLK: threads of a process must exclude each other too */
#include "core/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/atomic_file.h"
#include "core/files.h"

/* ---- Paths ----------------------------------------------------------------------------------- */

static bool fits(int length, size_t capacity)
{
    return length > 0 && (size_t)length < capacity;
}

/* The folder of a path and the one above it, which new accounts lack. What goes wrong shows
 * when the file is written. */
static void make_folders(const char *path)
{
    char folder[RUNGI_STORE_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    char *below = strrchr(folder, '/');
    *below = '\0';
    char *above = strrchr(folder, '/');
    if (above && above != folder) {
        *above = '\0';
        mkdir(folder, S_IRWXU);
        *above = '/';
    }
    mkdir(folder, S_IRWXU);
}

static bool path_under(const char *variable, const char *below, char *path, size_t capacity)
{
    const char *above = secure_getenv(variable);
    return above && above[0] == '/' && fits(snprintf(path, capacity, "%s%s", above, below), capacity);
}

bool rungi_store_user_path(char *path, size_t capacity, bool make)
{
    bool is_there = path_under("XDG_CONFIG_HOME", "/rung/tuning", path, capacity) ||
                    path_under("HOME", "/.config/rung/tuning", path, capacity);
    if (is_there && make)
        make_folders(path);
    return is_there;
}

bool rungi_store_paths(char paths[RUNGI_STORE_FILES][RUNGI_STORE_PATH])
{
    const char *named = secure_getenv("RUNG_TUNING");
    if (named && (!*named || strcmp(named, "off") == 0))
        return false;
    snprintf(paths[RUNGI_STORE_SYSTEMS], RUNGI_STORE_PATH, "%s", RUNGI_SYSTEM_TUNING);
    if (!rungi_store_user_path(paths[RUNGI_STORE_USERS], RUNGI_STORE_PATH, false))
        paths[RUNGI_STORE_USERS][0] = '\0';
    paths[RUNGI_STORE_NAMED][0] = '\0';
    if (named && strlen(named) < RUNGI_STORE_PATH)
        strcpy(paths[RUNGI_STORE_NAMED], named);
    return true;
}

/* ---- Reading ----------------------------------------------------------------------------------- */

_Static_assert(RUNGI_STORE_BYTES == 1 << 20, "a sentence says 1 MiB");

/* The text of an open file; NULL, and in *wrong the reason, where it is no store's. */
static rung_status read_open(rung_context *context, int file, char **text, int64_t *bytes, const char **wrong)
{
    struct stat status;
    if (fstat(file, &status) != 0) {
        *wrong = strerror(errno);
        return RUNG_OK;
    }
    if (!S_ISREG(status.st_mode) || status.st_size > RUNGI_STORE_BYTES) {
        *wrong = S_ISREG(status.st_mode) ? "it has more than 1 MiB" : "it is not a regular file";
        return RUNG_OK;
    }
    int64_t room = (int64_t)status.st_size + 1; /* whether it has grown meanwhile */
    char *memory = rungi_allocate(context, room, 1);
    if (!memory)
        return RUNG_STATUS_NO_MEMORY;
    *bytes = rungi_read_up_to(file, memory, room);
    if (*bytes >= 0 && *bytes < room) {
        *text = memory;
        return RUNG_OK;
    }
    *wrong = *bytes < 0 ? strerror(errno) : "it changed while it was read";
    rungi_release(context, memory);
    return RUNG_OK;
}

/* The text of a file, the caller's to release; NULL where there is none, and then *wrong says
 * why if it is not simply missing. O_NONBLOCK: opening a pipe would wait for a writer. */
static rung_status read_text(rung_context *context, const char *path, char **text, int64_t *bytes, const char **wrong)
{
    *text = NULL;
    *wrong = NULL;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            *wrong = strerror(errno);
        return RUNG_OK;
    }
    rung_status status = read_open(context, file, text, bytes, wrong);
    close(file);
    return status;
}

rung_status rungi_records_read(rung_context *context, const char *path, rungi_records **out)
{
    const char *wrong;
    char *text;
    int64_t bytes;
    *out = NULL;
    rung_status status = read_text(context, path, &text, &bytes, &wrong);
    if (wrong)
        rungi_log(context, 1, "rung: tuning: %s is not read: %s", path, wrong);
    if (!text)
        return status;
    status = rungi_records_parse(context, path, text, bytes, out);
    if (status == RUNG_OK)
        rungi_log(context, (*out)->skipped ? 1 : 2, "rung: tuning: %s: %lld records; skipped lines: %lld", path,
                  (long long)(*out)->count, (long long)(*out)->skipped);
    return status;
}

bool rungi_store_is_missing(const char *path)
{
    return access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* Whoever may write a store may lock it, and nobody else, who could keep others from writing. */
static mode_t lock_mode(mode_t mode)
{
    return S_IRUSR | S_IWUSR | (mode & S_IWGRP ? S_IRGRP | S_IWGRP : 0) | (mode & S_IWOTH ? S_IROTH | S_IWOTH : 0);
}

/* ---- The lock ------------------------------------------------------------------------------------- */

/* Tries for so long: a process that is stopped must not stop all others. */
enum { LOCK_TRIES = 5000, LOCK_PAUSE = 2 /* milliseconds */ };

/* NULL, or why it was not taken. */
static const char *take_lock(int file)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int i = 0; i < LOCK_TRIES; i++) {
        struct timespec pause = {.tv_nsec = LOCK_PAUSE * 1000000L};
        if (fcntl(file, F_OFD_SETLK, &whole) == 0)
            return NULL;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return strerror(errno);
        while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
            ;
    }
    return "another process has held the lock for 10 seconds";
}

_Static_assert(LOCK_TRIES *LOCK_PAUSE == 10000, "a sentence here and one in rung.h say ten seconds");

/* Not by closing alone: a child that another thread forked meanwhile has the file open too. */
static void release_lock(int file)
{
    struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    fcntl(file, F_OFD_SETLK, &whole);
    close(file);
}

/* An empty file of ours that has no other name: a link to a file of ours is not given away. */
static bool is_our_lock(const struct stat *lock)
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
    if (is_our_lock(&status) && stat(path, &store) == 0 &&
        (status.st_mode & RUNGI_EVERYBODY) != lock_mode(store.st_mode))
        rungi_give_rights(file, &store, lock_mode(store.st_mode));
    return take_lock(file);
}

/* The lock's file stays: whoever removed it could remove another's lock. */
static rung_status open_lock(const char *path, int *lock)
{
    char name[RUNGI_STORE_PATH + 8];
    snprintf(name, sizeof name, "%s.lock", path);
    *lock = open(name, O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, S_IRUSR | S_IWUSR);
    const char *wrong = *lock < 0 ? strerror(errno) : lock_open_file(path, *lock);
    if (!wrong)
        return RUNG_OK;
    if (*lock >= 0)
        close(*lock);
    return rungi_fail(RUNG_STATUS_IO, "%s cannot be locked, so the tuning file is not written: %s", name, wrong);
}

/* ---- Writing --------------------------------------------------------------------------------------- */

/* NULL, or what is wrong. */
static const char *replace_file(const char *path, const char *text, size_t bytes)
{
    rungi_atomic_file file;
    const char *wrong = rungi_atomic_open(&file, path, (int64_t)bytes);
    if (wrong)
        return wrong;
    if (rungi_write_all(file.file, text, bytes))
        return rungi_atomic_commit(&file);
    wrong = strerror(errno);
    rungi_atomic_discard(&file);
    return wrong;
}

/* ---- Putting records into a text ---------------------------------------------------------------------- */

/* A file as it will be: for each of its records the one that takes its line, NULL where the line is removed,
 * and behind them the new ones. */
typedef struct edit {
    const rungi_records *old;
    const rungi_record **lines;
    int64_t count;
} edit_t;

/* How many of its lines are other than they were. */
static int64_t count_changed(const edit_t *edit)
{
    int64_t changed = edit->count - edit->old->count;
    for (int64_t i = 0; i < edit->old->count; i++)
        changed += edit->lines[i] != &edit->old->records[i];
    return changed;
}

static bool same_key(const rungi_record *x, const rungi_record *y)
{
    return x->key.length == y->key.length && memcmp(x->key.text, y->key.text, x->key.length) == 0;
}

static void remove_record(edit_t *edit, const rungi_record *record)
{
    for (int64_t i = 0; i < edit->count; i++)
        if (edit->lines[i] && same_key(edit->lines[i], record))
            edit->lines[i] = NULL;
}

/* Of several with one key the last counts. */
static void put_record(edit_t *edit, const rungi_record *record, rungi_put_mode mode)
{
    if (mode == RUNGI_PUT_REMOVE) {
        remove_record(edit, record);
        return;
    }
    int64_t i = edit->count - 1;
    while (i >= 0 && !same_key(edit->lines[i], record))
        i--;
    if (i >= 0 && mode == RUNGI_PUT_IF_FASTER && record->mflops <= edit->lines[i]->mflops)
        return;
    edit->lines[i >= 0 ? i : edit->count++] = record;
}

static rung_status make_edit(rung_context *context, edit_t *edit, const rungi_records *old, const rungi_record *records,
                             int64_t count, rungi_put_mode mode)
{
    edit->old = old;
    edit->lines = rungi_new(context, (size_t)(old->count + count + 1) * sizeof *edit->lines);
    if (!edit->lines)
        return RUNG_STATUS_NO_MEMORY;
    for (int64_t i = 0; i < old->count; i++)
        edit->lines[i] = &old->records[i];
    edit->count = old->count;
    for (int64_t i = 0; i < count; i++)
        put_record(edit, &records[i], mode);
    return RUNG_OK;
}

/* The new text; where `to` is NULL only its length is counted. */
typedef struct output {
    char *to;
    size_t used;
    int64_t lines;
} output_t;

static void put_text(output_t *output, const char *text, size_t length)
{
    if (output->to)
        memcpy(output->to + output->used, text, length);
    output->used += length;
}

static void put_line(output_t *output, const char *text, size_t length)
{
    put_text(output, text, length);
    put_text(output, "\n", 1);
    output->lines++;
}

/* A last line without its end may be cut short: it must not become a record by this. */
static void put_rest(output_t *output, const char *text, size_t length)
{
    static const char mark[] = "# cut short: ";
    put_text(output, mark, strlen(mark));
    put_line(output, text, length);
}

/* `line` becomes the number of that record's. */
static size_t put_all(const edit_t *edit, char *to, const rungi_record *record, int64_t *line)
{
    const char *text = edit->old->text, *end = text + edit->old->bytes;
    output_t output = {.to = to};
    int64_t next = 0;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const rungi_record *now = NULL;
        bool is_record = next < edit->old->count && edit->old->records[next].line.text == text;
        if (is_record)
            now = edit->lines[next++];
        bool is_removed = is_record && !now;
        if (now)
            put_line(&output, now->line.text, now->line.length);
        else if (newline && !is_removed)
            put_line(&output, text, (size_t)(newline - text));
        else if (!is_removed)
            put_rest(&output, text, (size_t)(end - text));
        *line = now && now == record ? output.lines : *line;
        text = newline ? newline + 1 : end;
    }
    for (int64_t i = edit->old->count; i < edit->count; i++) {
        put_line(&output, edit->lines[i]->line.text, edit->lines[i]->line.length);
        *line = edit->lines[i] == record ? output.lines : *line;
    }
    return output.used;
}

static rung_status write_edit(rung_context *context, const edit_t *edit, const char *path, const rungi_record *last,
                              int64_t *line)
{
    size_t bytes = put_all(edit, NULL, last, line);
    if (bytes > RUNGI_STORE_BYTES || edit->count > RUNGI_STORE_RECORDS)
        return rungi_fail(RUNG_STATUS_TOO_LARGE,
                          "%s would have %lld records in %zu bytes; the maximum is %d records "
                          "in %d bytes. Remove the records of devices that are gone",
                          path, (long long)edit->count, bytes, RUNGI_STORE_RECORDS, RUNGI_STORE_BYTES);
    char *text = rungi_allocate(context, (int64_t)bytes, 1);
    if (!text)
        return RUNG_STATUS_NO_MEMORY;
    put_all(edit, text, last, line);
    const char *wrong = replace_file(path, text, bytes);
    rungi_release(context, text);
    return wrong ? rungi_fail(RUNG_STATUS_IO, "%s cannot be written: %s", path, wrong) : RUNG_OK;
}

/* What a store begins with. */
static const char beginning[] = RUNGI_STORE_HEAD
    "\n"
    "# backend device driver product compute layout shape batch kernel parameters gflops\n";

/* The records of a file that is to be written, which must be a store or not be there. */
static rung_status read_old(rung_context *context, const char *path, rungi_records **old, bool *is_new)
{
    const char *wrong;
    int64_t bytes = 0;
    char *text;
    rung_status status = read_text(context, path, &text, &bytes, &wrong);
    if (status != RUNG_OK)
        return status;
    if (wrong)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be read: %s", path, wrong);
    if (text && bytes > 0 &&
        (bytes < (int64_t)sizeof RUNGI_STORE_HEAD || memcmp(text, beginning, sizeof RUNGI_STORE_HEAD) != 0)) {
        rungi_release(context, text);
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%s is not a tuning file, because it does not begin with \"%s\"; it is "
                          "left as it is. Name another file or move this one away",
                          path, RUNGI_STORE_HEAD);
    }
    *is_new = bytes == 0;
    if (*is_new) {
        rungi_release(context, text);
        bytes = (int64_t)strlen(beginning);
        text = rungi_allocate(context, bytes, 1);
        if (!text)
            return RUNG_STATUS_NO_MEMORY;
        memcpy(text, beginning, (size_t)bytes);
    }
    return rungi_records_parse(context, path, text, bytes, old);
}

static rung_status put_under_lock(rung_context *context, const char *path, const rungi_record *records, int64_t count,
                                  rungi_put_mode mode, int64_t *changed, int64_t *line)
{
    rungi_records *old = NULL;
    edit_t edit = {0};
    bool is_new = false;
    rung_status status = read_old(context, path, &old, &is_new);
    if (status == RUNG_OK)
        status = make_edit(context, &edit, old, records, count, mode);
    if (status == RUNG_OK)
        *changed = count_changed(&edit);
    if (status == RUNG_OK && (*changed > 0 || (is_new && mode != RUNGI_PUT_REMOVE)))
        status = write_edit(context, &edit, path, count > 0 ? &records[count - 1] : NULL, line);
    rungi_release(context, edit.lines);
    rungi_records_free(context, old);
    return status;
}

rung_status rungi_records_put(rung_context *context, const char *path, const rungi_record *records, int64_t count,
                              rungi_put_mode mode, int64_t *changed, int64_t *line)
{
    char real[RUNGI_STORE_PATH]; /* PATH_MAX: a link stays, and what it names is written */
    int lock;
    *changed = *line = 0;
    if (strlen(path) >= sizeof real)
        return rungi_fail(RUNG_STATUS_INVALID, "the path of the tuning file has %zu bytes; the maximum is %d",
                          strlen(path), RUNGI_STORE_PATH - 1);
    if (mode == RUNGI_PUT_REMOVE && rungi_store_is_missing(path))
        return RUNG_OK;
    if (realpath(path, real))
        path = real;
    rung_status status = open_lock(path, &lock);
    if (status != RUNG_OK)
        return status;
    status = put_under_lock(context, path, records, count, mode, changed, line);
    release_lock(lock);
    return status;
}
