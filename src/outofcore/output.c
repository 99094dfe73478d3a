/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. The order of the steps makes it safe. The journal is written before PATH.part is created, so
 * a PATH.part without a journal is a file of somebody else. An old PATH.part is removed before its journal is emptied. A
 * block's elements are on the disk before the journal lists the block. The rename comes last. The journal is also the
 * lock: the call that holds it writes. */
#define _GNU_SOURCE /* F_OFD_SETLK: threads of a process must exclude each other too; fallocate */
#include "outofcore/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/checked.h"
#include "core/files.h"
#include "core/sum_type.h"
#include "outofcore/blocking.h"
#include "outofcore/journal.h"
#include "outofcore/npy.h"
#include "outofcore/stored.h"

enum {
    MODE = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH,
    NAME = PATH_MAX,
    JOURNAL_MOST = 1 << 28,
    DESCRIPTION = 256
};

struct rungi_output {
    const rungi_task *problem;
    rungi_whole whole;
    char path[NAME]; /* with symbolic links followed */
    char part[NAME], journal_path[NAME];
    char head[RUNGI_JOURNAL_HEAD];
    int journal;
    rungi_stored stored; /* PATH.part */
    int64_t bytes;       /* of it */
    bool can_resume, is_begun, is_finished;
    int64_t committed; /* blocks in the journal, an earlier call's too */

    pthread_t thread; /* syncs and tells the journal */
    bool has_thread, is_closing, is_busy;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int64_t *pending;
    int64_t pending_count, pending_room;
    rung_status status; /* of that thread, and its sentence */
    char error[RUNGI_SENTENCE];
};

/* ---- Inputs ---------------------------------------------------------------------------------------------- */

typedef enum input { INPUT_A, INPUT_B, INPUT_C0, NO_INPUT } input_t;

static const char *const input_names[] = {"A", "B", "C"}; /* as the caller knows them */

/* Returns how many inputs `problem` reads: C0 is not read when beta is 0. */
static int input_count(const rungi_task *problem)
{
    return problem->beta != 0 ? NO_INPUT : INPUT_C0;
}

static const rungi_stored *input_of(const rungi_task *problem, input_t input)
{
    const rungi_stored *inputs[] = {&problem->a, &problem->b, &problem->c0};
    return inputs[input];
}

/* ---- Who the problem is --------------------------------------------------------------------------------- */

static bool append_line(char *head, const char *line, int length)
{
    size_t used = strlen(head);
    if (length == 0 || used + (size_t)length >= RUNGI_JOURNAL_HEAD)
        return false;
    memcpy(head + used, line, (size_t)length + 1);
    return true;
}

/* Describes an input: what changes when the file does, and the view of it. The device's number is left out, since a reboot
 * may change it. ctime changes whenever contents or inode do, and unlike mtime cannot be set; the sample is for file systems
 * whose clock is coarse or goes back. */
static rung_status append_input(char *head, const char *name, const rungi_stored *stored)
{
    char line[RUNGI_JOURNAL_LINE];
    const rung_matrix *view = &stored->view;
    struct stat about;
    uint64_t sample;
    int length;
    if (view->data || stored->file < 0) {
        length = rungi_journal_line(line, "%s memory", name);
    } else {
        if (fstat(stored->file, &about) != 0)
            return rung_error_set(RUNG_STATUS_IO, "an input's file cannot be examined: %s", strerror(errno));
        rung_status status = rungi_file_sample(stored->file, &sample);
        if (status != RUNG_OK)
            return status;
        length = rungi_journal_line(
            line,
            "%s %lld bytes, modified %lld.%09ld, changed %lld.%09ld, file %llu, sample "
            "%016llx, %s %lld %lld %lld %lld %lld %lld",
            name, (long long)about.st_size, (long long)about.st_mtim.tv_sec, (long)about.st_mtim.tv_nsec,
            (long long)about.st_ctim.tv_sec, (long)about.st_ctim.tv_nsec, (unsigned long long)about.st_ino,
            (unsigned long long)sample, rung_type_name(view->type), (long long)stored->start, (long long)view->rows,
            (long long)view->cols, (long long)view->row_stride, (long long)view->col_stride, (long long)view->offset);
    }
    return append_line(head, line, length)
               ? RUNG_OK
               : rung_error_set(RUNG_STATUS_TOO_LARGE, "the problem does not fit a journal");
}

/* Writes the head of the journal: two problems that are not the same differ in it. */
static rung_status write_head(const rungi_task *problem, char head[RUNGI_JOURNAL_HEAD])
{
    static const char *const words[] = {"a", "b", "c0"};
    char line[RUNGI_JOURNAL_LINE];
    rung_status status = RUNG_OK;
    head[0] = '\0';
    if (!append_line(head, line, rungi_journal_line(line, "rung-multiply 2")) ||
        !append_line(head, line,
                     rungi_journal_line(line, "problem %s:%s, %lld %lld %lld, alpha %a, beta %a, %s, %s",
                                        rung_type_name(problem->a.view.type), rung_type_name(problem->c.view.type),
                                        (long long)problem->a.view.rows, (long long)problem->b.view.cols,
                                        (long long)problem->a.view.cols, problem->alpha, problem->beta,
                                        rung_compute_name(problem->compute), problem->bare ? "bare" : "npy")))
        return rung_error_set(RUNG_STATUS_TOO_LARGE, "the problem does not fit a journal");
    for (int i = 0; status == RUNG_OK && i < input_count(problem); i++)
        status = append_input(head, words[i], input_of(problem, (input_t)i));
    return status;
}

/* Writes an input's name and, where the system knows it, its file's path: "A (/data/a.npy)". */
static void describe_input(const rungi_task *problem, input_t input, char text[DESCRIPTION])
{
    char link[64], path[DESCRIPTION - 8];
    snprintf(link, sizeof link, "/proc/self/fd/%d", input_of(problem, input)->file);
    ssize_t length = readlink(link, path, sizeof path);
    if (length > 0 && length < (ssize_t)sizeof path)
        snprintf(text, DESCRIPTION, "%s (%.*s)", input_names[input], (int)length, path);
    else
        snprintf(text, DESCRIPTION, "%s", input_names[input]);
}

/* ---- Files ---------------------------------------------------------------------------------------------- */

static bool is_in_file(const rungi_stored *stored)
{
    return !stored->view.data && stored->file >= 0;
}

/* Replaces `path` by the file that it names if it is a symbolic link, which need not exist yet: a rename onto a link
 * would replace the link. */
static rung_status follow_links(char path[NAME])
{
    enum { LINKS_MAX = 40 }; /* as many as Linux follows */
    char target[NAME];
    for (int i = 0; i < LINKS_MAX; i++) {
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0) /* no link, or an error that opening the file will report */
            return RUNG_OK;
        const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
        size_t kept = slash ? (size_t)(slash + 1 - path) : 0;
        if (kept + (size_t)length >= NAME)
            return rung_error_set(RUNG_STATUS_INVALID,
                                  "the output %s is a symbolic link to a path of more than %d bytes", path, NAME - 1);
        memcpy(path + kept, target, (size_t)length);
        path[kept + (size_t)length] = '\0';
    }
    return rung_error_set(RUNG_STATUS_INVALID,
                          "the output %s is part of a chain of more than %d symbolic links; name another file", path,
                          LINKS_MAX);
}

/* Checks that the output is a regular file or does not exist, before anything is computed. */
static rung_status check_kind(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || S_ISREG(status.st_mode))
        return RUNG_OK;
    return rung_error_set(RUNG_STATUS_INVALID,
                          S_ISDIR(status.st_mode) ? "the output %s is a directory; name a file in it"
                                                  : "the output %s is not a regular file; name another file",
                          path);
}

static bool is_still_there(int file, const char *path)
{
    struct stat ours, theirs;
    return fstat(file, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino == theirs.st_ino &&
           ours.st_dev == theirs.st_dev;
}

/* Opens the journal and locks it. The call that finishes removes its journal, so the file that was opened may have lost its
 * name by the time it is locked: then another is opened. */
static rung_status open_journal(rungi_output *output)
{
    enum { TRIES = 100 };
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int i = 0; i < TRIES; i++) {
        output->journal = open(output->journal_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, MODE);
        if (output->journal < 0)
            return rung_error_set(RUNG_STATUS_IO, "%s cannot be written: %s", output->journal_path, strerror(errno));
        if (fcntl(output->journal, F_OFD_SETLK, &lock) != 0) {
            bool is_taken = errno == EAGAIN || errno == EACCES;
            close(output->journal);
            output->journal = -1; /* it is not this call's */
            return is_taken ? rung_error_set(RUNG_STATUS_IO,
                                             "%s is being written by another call; wait for that, or name another "
                                             "file",
                                             output->path)
                            : rung_error_set(RUNG_STATUS_IO,
                                             "%s cannot be locked on this file system; name a file on another",
                                             output->journal_path);
        }
        if (is_still_there(output->journal, output->journal_path))
            return RUNG_OK;
        close(output->journal);
        output->journal = -1;
    }
    return rung_error_set(
        RUNG_STATUS_IO,
        "%s was replaced each time it was opened: another program replaces it, or this file system has no "
        "stable inode numbers; name an output on another file system",
        output->journal_path);
}

/* A process that writes past its limit on file sizes is sent a signal that ends it. */
static rung_status check_limit(const rungi_output *output)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        (uint64_t)output->bytes > (uint64_t)limit.rlim_cur)
        return rung_error_set(RUNG_STATUS_IO,
                              "%s would have %lld bytes, and this process may write files of %llu; see ulimit -f",
                              output->path, (long long)output->bytes, (unsigned long long)limit.rlim_cur);
    return RUNG_OK;
}

/* The room is asked for first: a full disk is found before hours are spent. */
static rung_status make_room(rungi_output *output)
{
    int file = output->stored.file;
    if (output->bytes > 0 && fallocate(file, 0, 0, (off_t)output->bytes) == 0)
        return RUNG_OK;
    if (output->bytes > 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
        return rung_error_set(RUNG_STATUS_IO, "there is no room for the %lld bytes of %s: %s", (long long)output->bytes,
                              output->path, strerror(errno));
    if (ftruncate(file, (off_t)output->bytes) == 0)
        return RUNG_OK;
    return rung_error_set(RUNG_STATUS_IO, "%s cannot be made so large: %s", output->part, strerror(errno));
}

static rung_status open_part(rungi_output *output, int flags)
{
    output->stored.file = open(output->part, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, MODE);
    return output->stored.file >= 0
               ? RUNG_OK
               : rung_error_set(RUNG_STATUS_IO, "%s cannot be written: %s", output->part, strerror(errno));
}

static rung_status write_header(rungi_output *output)
{
    char header[RUNGI_NPY_WRITTEN];
    if (output->problem->bare)
        return RUNG_OK;
    rungi_npy_write(output->stored.view.type, output->stored.view.rows, output->stored.view.cols, header);
    return pwrite(output->stored.file, header, sizeof header, 0) == (ssize_t)sizeof header
               ? RUNG_OK
               : rung_error_set(RUNG_STATUS_IO, "%s cannot be written: %s", output->part, strerror(errno));
}

/* Returns which input is the file at `path`, following symbolic links. */
static input_t input_at(const rungi_output *output, const char *path)
{
    for (int i = 0; i < input_count(output->problem); i++) {
        const rungi_stored *stored = input_of(output->problem, (input_t)i);
        if (is_in_file(stored) && is_still_there(stored->file, path))
            return (input_t)i;
    }
    return NO_INPUT;
}

/* Refuses to replace an input, as the output or as one of the two files written beside the output. Only C0 may be the
 * output: beta adds to the existing file. */
static rung_status check_names(const rungi_output *output)
{
    const char *temporary[] = {output->part, output->journal_path};
    input_t found = input_at(output, output->path);
    if (found == INPUT_A || found == INPUT_B)
        return rung_error_set(RUNG_STATUS_ALIASED, "the output %s is also the input %s; name another output file",
                              output->problem->path, input_names[found]);
    for (int i = 0; i < 2; i++) {
        found = input_at(output, temporary[i]);
        if (found != NO_INPUT)
            return rung_error_set(RUNG_STATUS_ALIASED,
                                  "the input %s is %s, a name that this multiply needs for a temporary file; "
                                  "name another output file",
                                  input_names[found], temporary[i]);
    }
    return RUNG_OK;
}

/* Returns the input that is not the file it was. */
static input_t changed_input(rungi_journal_kind kind)
{
    return kind == RUNGI_JOURNAL_OTHER_A ? INPUT_A : kind == RUNGI_JOURNAL_OTHER_B ? INPUT_B : INPUT_C0;
}

/* Compares the inputs with what they were when this call began, where they can be read. */
static rung_status check_inputs(const rungi_output *output, bool *is_changed)
{
    char now[RUNGI_JOURNAL_HEAD], name[DESCRIPTION];
    rungi_journal journal;
    rung_status status = write_head(output->problem, now);
    *is_changed = status == RUNG_OK && strcmp(now, output->head) != 0;
    if (!*is_changed)
        return status;
    rungi_journal_kind kind = rungi_journal_parse(now, (int64_t)strlen(now), output->head, &journal, NULL, NULL);
    describe_input(output->problem, changed_input(kind), name);
    return rung_error_set(RUNG_STATUS_IO,
                          "%s changed while it was read (size, mtime, ctime, inode or contents); what was computed is "
                          "discarded",
                          name);
}

/* ---- Beginning, or going on ------------------------------------------------------------------------------- */

static rung_status write_journal(rungi_output *output, const rung_outofcore_blocking *blocking)
{
    char line[RUNGI_JOURNAL_LINE];
    int length = rungi_journal_line(line, "cut %lld %lld %lld %lld", (long long)blocking->block_rows,
                                    (long long)blocking->block_cols, (long long)blocking->panel_depth,
                                    (long long)blocking->memory_bytes);
    if (ftruncate(output->journal, 0) != 0 || lseek(output->journal, 0, SEEK_SET) != 0 ||
        !rungi_write_all(output->journal, output->head, strlen(output->head)) ||
        !rungi_write_all(output->journal, line, (size_t)length) || fsync(output->journal) != 0)
        return rung_error_set(RUNG_STATUS_IO, "%s cannot be written: %s", output->journal_path, strerror(errno));
    rungi_sync_folder(output->path);
    return RUNG_OK;
}

/* Removes the PATH.part of an earlier call. Without a journal that is ours, the file is somebody else's. */
static rung_status remove_part(const rungi_output *output, bool is_ours)
{
    struct stat part;
    if (lstat(output->part, &part) != 0)
        return RUNG_OK;
    if (!is_ours)
        return rung_error_set(
            RUNG_STATUS_INVALID,
            "%s exists and was not left by an interrupted multiply: %s does not list it. This "
            "multiply needs that name for a temporary file; move or remove it, or name another output file",
            output->part, output->journal_path);
    if (unlink(output->part) != 0)
        return rung_error_set(RUNG_STATUS_IO, "%s cannot be removed: %s", output->part, strerror(errno));
    rungi_sync_folder(output->path);
    return RUNG_OK;
}

static rung_status begin_anew(rungi_output *output, const rung_outofcore_blocking *blocking, bool is_ours)
{
    rung_status status = check_limit(output);
    if (status == RUNG_OK)
        status = remove_part(output, is_ours);
    if (status != RUNG_OK)
        return status;
    output->is_begun = true; /* from here on the journal is this call's */
    status = write_journal(output, blocking);
    if (status == RUNG_OK)
        status = open_part(output, O_CREAT | O_EXCL);
    if (status == RUNG_OK)
        status = make_room(output);
    if (status == RUNG_OK)
        status = write_header(output);
    if (status == RUNG_OK)
        rungi_sync_folder(output->path);
    return status;
}

/* What the journal's lines come to. */
typedef struct reading {
    const rungi_whole *whole;
    unsigned char *states;
    int64_t blocks, done;
} reading_t;

static bool note_block(void *user, const rung_outofcore_blocking *given, int64_t block)
{
    reading_t *reading = user;
    rung_outofcore_blocking blocking = *given;
    if (!reading->states) {
        if (rungi_blocking_count(reading->whole, &blocking) != RUNG_OK)
            return false;
        reading->blocks = blocking.row_blocks * blocking.col_blocks;
        reading->states = calloc((size_t)reading->blocks, 1);
    }
    if (!reading->states || block >= reading->blocks)
        return false;
    reading->done += !reading->states[block];
    reading->states[block] = 1;
    return true;
}

static rung_status read_journal(rungi_output *output, char **text, int64_t *bytes)
{
    struct stat status;
    *text = NULL;
    if (fstat(output->journal, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > JOURNAL_MOST)
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s exists and is not a journal of rung multiply; move or remove it, or name "
                              "another output file",
                              output->journal_path);
    *text = malloc((size_t)status.st_size + 1);
    if (!*text)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for %s", output->journal_path);
    for (*bytes = 0; *bytes < (int64_t)status.st_size;) {
        ssize_t got = pread(output->journal, *text + *bytes, (size_t)(status.st_size - *bytes), (off_t)*bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return rung_error_set(RUNG_STATUS_IO, "%s cannot be read: %s", output->journal_path, strerror(errno));
        *bytes += got;
    }
    return RUNG_OK;
}

/* Returns whether the journal lists blocks of a PATH.part that is gone, as after a process that ended between the rename
 * and the removal of its journal. Such a journal says nothing, of whatever problem it is, unless the result is now one of
 * the inputs: then the same call would be done twice. */
static bool is_left_behind(const rungi_output *output, const char *text, int64_t bytes)
{
    struct stat part;
    return input_at(output, output->path) == NO_INPUT && rungi_journal_is_ours(text, bytes) &&
           lstat(output->part, &part) != 0;
}

/* Returns RUNG_OK for a journal of this problem, else says why it cannot be resumed. */
static rung_status refuse_journal(const rungi_output *output, rungi_journal_kind kind)
{
    static const char change[] =
        "the multiply that %s lists was interrupted, and %s has changed since then (size, mtime, "
        "ctime, inode or contents); discard what was computed (restart)";
    const char *journal = output->journal_path;
    char name[DESCRIPTION];
    switch (kind) {
    case RUNGI_JOURNAL_GOOD: return RUNG_OK;
    case RUNGI_JOURNAL_OTHER_FORMAT:
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s was written by another version of rung, and this version cannot resume it; "
                              "resume with that version, or discard what was computed (restart)",
                              journal);
    case RUNGI_JOURNAL_OTHER_PROBLEM:
        return rung_error_set(RUNG_STATUS_INVALID,
                              "%s lists blocks of another problem; repeat the call that was interrupted, or discard "
                              "what was computed (restart)",
                              journal);
    case RUNGI_JOURNAL_OTHER_A:
    case RUNGI_JOURNAL_OTHER_B:
    case RUNGI_JOURNAL_OTHER_C0:
        describe_input(output->problem, changed_input(kind), name);
        return rung_error_set(RUNG_STATUS_INVALID, change, journal, name);
    default: return rung_error_set(RUNG_STATUS_INVALID, "%s is damaged; discard what was computed (restart)", journal);
    }
}

/* Goes on with what the journal tells; *is_fresh where that is nothing. */
static rung_status go_on(rungi_output *output, const char *text, int64_t bytes, rung_outofcore_blocking *blocking,
                         unsigned char **states, bool *is_fresh)
{
    reading_t reading = {.whole = &output->whole};
    rungi_journal journal = {.end = 0};
    struct stat part;
    rung_status status = RUNG_OK;
    *is_fresh = true;
    if (!is_left_behind(output, text, bytes))
        status = refuse_journal(output, rungi_journal_parse(text, bytes, output->head, &journal, note_block, &reading));
    bool goes_on = status == RUNG_OK && output->can_resume && reading.done > 0 && stat(output->part, &part) == 0;
    if (goes_on && part.st_size != output->bytes)
        status = rung_error_set(RUNG_STATUS_INVALID,
                                "%s has %lld bytes instead of %lld, though %s speaks of it; throw both away "
                                "(restart)",
                                output->part, (long long)part.st_size, (long long)output->bytes, output->journal_path);
    if (goes_on && status == RUNG_OK &&
        (ftruncate(output->journal, (off_t)journal.end) != 0 ||
         lseek(output->journal, 0, SEEK_END) != (off_t)journal.end))
        status = rung_error_set(RUNG_STATUS_IO, "%s cannot be written: %s", output->journal_path, strerror(errno));
    if (goes_on && status == RUNG_OK)
        status = check_limit(output);
    if (goes_on && status == RUNG_OK)
        status = open_part(output, 0);
    if (!goes_on || status != RUNG_OK) {
        free(reading.states);
        return status;
    }
    *is_fresh = false;
    output->is_begun = true;
    output->committed = reading.done;
    *blocking = journal.blocking;
    *states = reading.states;
    return rungi_blocking_count(&output->whole, blocking);
}

/* ---- The thread that syncs --------------------------------------------------------------------------------- */

/* Elements first, then the lines that tell of them. */
static rung_status commit_blocks(rungi_output *output, const int64_t *blocks, int64_t count)
{
    char line[RUNGI_JOURNAL_LINE];
    if (fdatasync(output->stored.file) != 0)
        return rung_error_set(RUNG_STATUS_IO, "%s cannot be brought to the disk: %s", output->part, strerror(errno));
    for (int64_t i = 0; i < count; i++) {
        int length = rungi_journal_line(line, "block %lld", (long long)blocks[i]);
        if (!rungi_write_all(output->journal, line, (size_t)length))
            return rung_error_set(RUNG_STATUS_IO, "%s cannot be written: %s", output->journal_path, strerror(errno));
    }
    if (fdatasync(output->journal) != 0)
        return rung_error_set(RUNG_STATUS_IO, "%s cannot be brought to the disk: %s", output->journal_path,
                              strerror(errno));
    return RUNG_OK;
}

/* Takes all that is pending at a time: a disk that is slow to sync is asked less often. */
static void *keep_journal(void *user)
{
    rungi_output *output = user;
    pthread_mutex_lock(&output->mutex);
    for (;;) {
        while (output->pending_count == 0 && !output->is_closing)
            pthread_cond_wait(&output->changed, &output->mutex);
        if (output->pending_count == 0 || output->status != RUNG_OK)
            break;
        int64_t *blocks = output->pending, count = output->pending_count;
        output->pending = NULL;
        output->pending_count = output->pending_room = 0;
        output->is_busy = true;
        pthread_mutex_unlock(&output->mutex);
        rung_status status = commit_blocks(output, blocks, count);
        free(blocks);
        pthread_mutex_lock(&output->mutex);
        output->is_busy = false;
        output->status = status;
        if (status != RUNG_OK)
            snprintf(output->error, sizeof output->error, "%s", rung_error_text());
        else
            output->committed += count;
        pthread_cond_broadcast(&output->changed);
    }
    pthread_mutex_unlock(&output->mutex);
    return NULL;
}

rung_status rungi_output_block(rungi_output *output, int64_t block)
{
    pthread_mutex_lock(&output->mutex);
    rung_status status = output->status;
    if (status != RUNG_OK)
        rung_error_set(status, "%s", output->error);
    if (status == RUNG_OK && output->pending_count == output->pending_room) {
        int64_t room = 2 * output->pending_room + 16;
        int64_t *more = realloc(output->pending, (size_t)room * sizeof *more);
        if (more) {
            output->pending = more;
            output->pending_room = room;
        } else {
            status = rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for a list of blocks");
        }
    }
    if (status == RUNG_OK) {
        output->pending[output->pending_count++] = block;
        pthread_cond_broadcast(&output->changed);
    }
    pthread_mutex_unlock(&output->mutex);
    return status;
}

static rung_status wait_for_journal(rungi_output *output)
{
    pthread_mutex_lock(&output->mutex);
    while (output->status == RUNG_OK && (output->pending_count > 0 || output->is_busy))
        pthread_cond_wait(&output->changed, &output->mutex);
    rung_status status = output->status;
    if (status != RUNG_OK)
        rung_error_set(status, "%s", output->error);
    pthread_mutex_unlock(&output->mutex);
    return status;
}

/* ---- The whole of it ---------------------------------------------------------------------------------------- */

static rung_status name_files(rungi_output *output, const char *path)
{
    size_t length = strlen(path);
    bool fits = length > 0 && length < NAME;
    rung_status status = RUNG_OK;
    if (fits) {
        memcpy(output->path, path, length + 1);
        status = follow_links(output->path);
        length = strlen(output->path);
        fits = length + sizeof ".journal" <= NAME;
    }
    if (status == RUNG_OK && !fits)
        status = rung_error_set(RUNG_STATUS_INVALID, "the path of the output has %zu bytes; it must have 1 to %d",
                                length, NAME - (int)sizeof ".journal");
    if (status != RUNG_OK)
        return status;
    snprintf(output->part, NAME, "%.*s.part", (int)length, output->path);
    snprintf(output->journal_path, NAME, "%.*s.journal", (int)length, output->path);
    return RUNG_OK;
}

static rung_status prepare(rungi_output *output, const rungi_task *problem)
{
    int64_t first, end;
    output->journal = output->stored.file = -1;
    rung_status status = name_files(output, problem->path);
    if (status != RUNG_OK)
        return status;
    output->problem = problem;
    output->whole = rungi_whole_of(problem);
    output->stored = (rungi_stored){
        .view = rung_matrix_of(problem->c.view.type, problem->a.view.rows, problem->b.view.cols, NULL),
        .file = -1,
        .start = problem->bare ? 0 : RUNGI_NPY_WRITTEN};
    if (!rungi_stored_span(&output->stored.view, &first, &end) || !rungi_add(end, output->stored.start, &output->bytes))
        return rung_error_set(RUNG_STATUS_TOO_LARGE, "the result has more bytes than a file can have");
    output->can_resume = is_in_file(&problem->a) && is_in_file(&problem->b) &&
                         (problem->beta == 0 || is_in_file(&problem->c0));
    return write_head(problem, output->head);
}

static rung_status open_files(rungi_output *output, bool restart, rung_outofcore_blocking *blocking,
                              unsigned char **states)
{
    bool is_fresh = true, is_ours = false;
    char *text = NULL;
    int64_t bytes = 0;
    rung_status status = check_kind(output->path);
    if (status == RUNG_OK)
        status = check_names(output);
    if (status == RUNG_OK)
        status = open_journal(output);
    if (status == RUNG_OK)
        status = read_journal(output, &text, &bytes);
    if (status == RUNG_OK) {
        is_ours = rungi_journal_is_ours(text, bytes);
        if (bytes > 0 && !is_ours && !rungi_journal_is_torn(text, bytes, output->head))
            status = rung_error_set(RUNG_STATUS_INVALID,
                                    "%s exists and is not a journal of rung multiply; move or remove it, or name "
                                    "another output file",
                                    output->journal_path);
    }
    if (status == RUNG_OK && !restart)
        status = go_on(output, text, bytes, blocking, states, &is_fresh);
    free(text);
    if (status == RUNG_OK && is_fresh)
        status = begin_anew(output, blocking, is_ours);
    return status;
}

rung_status rungi_output_open(const rungi_task *problem, bool restart, rung_outofcore_blocking *blocking,
                              unsigned char **states, rungi_output **out)
{
    rungi_output *output = calloc(1, sizeof *output);
    *states = NULL;
    *out = NULL;
    if (!output)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "no memory for the result's file");
    pthread_mutex_init(&output->mutex, NULL);
    pthread_cond_init(&output->changed, NULL);
    rung_status status = prepare(output, problem);
    if (status == RUNG_OK)
        status = open_files(output, restart, blocking, states);
    if (status == RUNG_OK) {
        output->has_thread = pthread_create(&output->thread, NULL, keep_journal, output) == 0;
        if (!output->has_thread)
            status = rung_error_set(RUNG_STATUS_NO_MEMORY, "no thread could be started");
    }
    if (status != RUNG_OK) {
        rungi_output_close(output);
        free(*states);
        *states = NULL;
        return status;
    }
    *out = output;
    return RUNG_OK;
}

const rungi_stored *rungi_output_stored(const rungi_output *output)
{
    return &output->stored;
}

/* Somebody may have taken the files for leftovers, and begun anew by their names: those are not this call's. */
static void unlink_own(int file, const char *path)
{
    if (file >= 0 && is_still_there(file, path))
        unlink(path);
}

static void throw_away(rungi_output *output)
{
    unlink_own(output->stored.file, output->part);
    unlink_own(output->journal, output->journal_path);
    output->is_begun = false;
}

/* The name comes last. */
static rung_status give_name(rungi_output *output)
{
    if (!is_still_there(output->stored.file, output->part) || !is_still_there(output->journal, output->journal_path)) {
        output->is_begun = false;
        return rung_error_set(RUNG_STATUS_IO,
                              "%s or %s was removed or replaced while it was written; what was computed is lost",
                              output->part, output->journal_path);
    }
    if (fsync(output->stored.file) != 0 || rename(output->part, output->path) != 0) {
        output->is_begun = false; /* and what is complete stays */
        return rung_error_set(RUNG_STATUS_IO, "%s is complete and cannot be renamed to %s: %s", output->part,
                              output->path, strerror(errno));
    }
    rungi_sync_folder(output->path);
    unlink_own(output->journal, output->journal_path);
    rungi_sync_folder(output->path);
    output->is_finished = true;
    return RUNG_OK;
}

rung_status rungi_output_finish(rungi_output *output, rung_outofcore_accept_function accept, void *user,
                                const rung_outofcore_report *report)
{
    rung_status status = wait_for_journal(output);
    if (status != RUNG_OK)
        return status;
    bool is_changed;
    status = check_inputs(output, &is_changed);
    if (is_changed)
        throw_away(output);
    if (status != RUNG_OK)
        return status;
    status = accept ? accept(user, &output->stored, report) : RUNG_OK;
    if (status == RUNG_STATUS_NO_MEMORY || status == RUNG_STATUS_IO || status == RUNG_STATUS_CANCELLED)
        return status; /* it could not be judged: the next call may */
    if (status != RUNG_OK) {
        throw_away(output);
        return status;
    }
    return give_name(output);
}

void rungi_output_close(rungi_output *output)
{
    if (!output)
        return;
    if (output->has_thread) {
        pthread_mutex_lock(&output->mutex);
        output->is_closing = true;
        pthread_cond_broadcast(&output->changed);
        pthread_mutex_unlock(&output->mutex);
        pthread_join(output->thread, NULL);
    }
    if (output->is_begun && !output->is_finished && (output->committed == 0 || !output->can_resume))
        throw_away(output);
    if (output->journal >= 0 && lseek(output->journal, 0, SEEK_END) == 0)
        unlink_own(output->journal, output->journal_path); /* made for what could not be begun */
    if (output->stored.file >= 0)
        close(output->stored.file);
    if (output->journal >= 0)
        close(output->journal); /* and its lock */
    pthread_mutex_destroy(&output->mutex);
    pthread_cond_destroy(&output->changed);
    free(output->pending);
    free(output);
}
