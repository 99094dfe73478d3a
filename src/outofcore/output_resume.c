/* SPDX-License-Identifier: Apache-2.0 */
/* output_resume.c - paths, locks, limits and opening of the files of an output: starts the files anew, or resumes from the
 * journal. See output.h. */
#define _GNU_SOURCE /* F_OFD_SETLK, which also excludes threads of the same process; fallocate */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/try.h"
#include "outofcore/npy.h"
#include "outofcore/output.h"

enum { FILE_MODE = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH };

rung_status rungi_output_fail_write(const char *path)
{
    return rungi_fail(RUNG_STATUS_IO, "%s cannot be written: %s", path, strerror(errno));
}

bool rungi_output_is_same_file(int fd, const char *path)
{
    struct stat opened, named;
    return fstat(fd, &opened) == 0 && stat(path, &named) == 0 && opened.st_ino == named.st_ino &&
           opened.st_dev == named.st_dev;
}

void rungi_output_unlink_if_same(int fd, const char *path)
{
    if (fd >= 0 && rungi_output_is_same_file(fd, path))
        unlink(path);
}

/* ---- Paths ---------------------------------------------------------------------------------------------- */

/* Symbolic links are followed, because a rename onto a link would replace the link itself. */
rung_status rungi_output_set_paths(rungi_output *output, const char *path)
{
    size_t length = strlen(path), max = RUNGI_OUTPUT_PATH_BYTES - sizeof ".journal";
    if (length > 0 && length < RUNGI_OUTPUT_PATH_BYTES) {
        if (!rungi_follow_links(path, output->path))
            return rungi_invalid(errno == ELOOP ? "the output %s is part of a chain of more than 40 symbolic links; "
                                                  "name another file"
                                                : "the output %s is a symbolic link to a path of more than 4095 bytes",
                                 output->path);
        length = strlen(output->path);
    }
    if (length == 0 || length > max)
        return rungi_invalid("the path of the output has %zu bytes; it must have 1 to %zu", length, max);
    snprintf(output->part_path, sizeof output->part_path, "%.*s.part", (int)length, output->path);
    snprintf(output->journal_path, sizeof output->journal_path, "%.*s.journal", (int)length, output->path);
    return RUNG_OK;
}

/* Checks that PATH is a regular file or absent, and that no input would be replaced. C0 may be the output: beta adds to
 * the existing file. */
static rung_status check_paths(const rungi_output *output)
{
    const char *temporary[] = {output->part_path, output->journal_path};
    struct stat status;
    if (stat(output->path, &status) == 0 && !S_ISREG(status.st_mode))
        return rungi_invalid(S_ISDIR(status.st_mode) ? "the output %s is a directory; name a file in it"
                                                     : "the output %s is not a regular file; name another file",
                             output->path);
    rungi_output_input input = rungi_output_find_input_at(output, output->path);
    if (input == RUNGI_OUTPUT_INPUT_A || input == RUNGI_OUTPUT_INPUT_B)
        return rungi_fail(RUNG_STATUS_ALIASED, "the output %s is also the input %s; name another output file",
                          output->problem->path, rungi_output_input_name(input));
    for (int i = 0; i < 2; i++) {
        input = rungi_output_find_input_at(output, temporary[i]);
        if (input != RUNGI_OUTPUT_NO_INPUT)
            return rungi_fail(RUNG_STATUS_ALIASED,
                              "the input %s is %s, a name that this multiply needs for a temporary file; "
                              "name another output file",
                              rungi_output_input_name(input), temporary[i]);
    }
    return RUNG_OK;
}

/* ---- Journal -------------------------------------------------------------------------------------------- */

static void close_journal(rungi_output *output)
{
    close(output->journal);
    output->journal = -1;
}

/* Opens and locks the journal. The call that finishes removes its journal. The opened file may therefore have lost its
 * name before it is locked; then the path is opened again. */
static rung_status open_journal(rungi_output *output)
{
    enum { MAX_OPEN_TRIES = 100 };
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    for (int i = 0; i < MAX_OPEN_TRIES; i++) {
        output->journal = open(output->journal_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, FILE_MODE);
        if (output->journal < 0)
            return rungi_output_fail_write(output->journal_path);
        if (fcntl(output->journal, F_OFD_SETLK, &lock) != 0) {
            bool is_locked = errno == EAGAIN || errno == EACCES;
            close_journal(output);
            return is_locked ? rungi_fail(RUNG_STATUS_IO,
                                          "%s is being written by another call; wait until that call ends, or name "
                                          "another file",
                                          output->path)
                             : rungi_fail(RUNG_STATUS_IO,
                                          "%s cannot be locked on this file system; name a file on another file system",
                                          output->journal_path);
        }
        if (rungi_output_is_same_file(output->journal, output->journal_path))
            return RUNG_OK;
        close_journal(output);
    }
    return rungi_fail(
        RUNG_STATUS_IO,
        "%s was replaced each time it was opened: another program replaces it, or this file system has no "
        "stable inode numbers; name an output on another file system",
        output->journal_path);
}

/* ---- PATH.part ------------------------------------------------------------------------------------------- */

/* Fails if this process may not write a file of file_bytes. Writing past the limit would end the process by a signal. */
static rung_status check_file_size_limit(const rungi_output *output)
{
    int64_t limit = rungi_file_size_limit();
    if (output->file_bytes > limit)
        return rungi_fail(RUNG_STATUS_IO,
                          "%s would have %lld bytes; this process may write files of at most %lld bytes (see "
                          "ulimit -f)",
                          output->path, (long long)output->file_bytes, (long long)limit);
    return RUNG_OK;
}

/* Opens PATH.part with O_CLOEXEC and additional open flags. */
static rung_status open_part(rungi_output *output, int flags)
{
    output->matrix.fd = open(output->part_path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, FILE_MODE);
    return output->matrix.fd >= 0 ? RUNG_OK : rungi_output_fail_write(output->part_path);
}

static rung_status preallocate(rungi_output *output)
{
    int fd = output->matrix.fd;
    if (output->file_bytes > 0 && fallocate(fd, 0, 0, (off_t)output->file_bytes) == 0)
        return RUNG_OK;
    if (output->file_bytes > 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINTR)
        return rungi_fail(RUNG_STATUS_IO, "there is no room for the %lld bytes of %s: %s",
                          (long long)output->file_bytes, output->path, strerror(errno));
    if (ftruncate(fd, (off_t)output->file_bytes) == 0)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_IO, "%s cannot be extended to %lld bytes: %s", output->part_path,
                      (long long)output->file_bytes, strerror(errno));
}

/* Allocates the bytes of PATH.part and writes its .npy header, so that a full disk is found before hours are spent. */
static rung_status initialize_part(rungi_output *output)
{
    char header[RUNGI_NPY_HEADER_BYTES];
    const rung_matrix *view = &output->matrix.view;
    TRY(preallocate(output));
    if (output->problem->is_raw)
        return RUNG_OK;
    rungi_npy_write(view->type, view->rows, view->cols, header);
    return pwrite(output->matrix.fd, header, sizeof header, 0) == (ssize_t)sizeof header
               ? RUNG_OK
               : rungi_output_fail_write(output->part_path);
}

/* ---- Starting anew ---------------------------------------------------------------------------------------- */

static rung_status write_journal(rungi_output *output, const rung_outofcore_blocking *blocking)
{
    char line[RUNGI_JOURNAL_LINE_BYTES];
    int length = rungi_journal_format_line(line, "cut %lld %lld %lld %lld", (long long)blocking->block_rows,
                                           (long long)blocking->block_cols, (long long)blocking->panel_depth,
                                           (long long)blocking->memory_bytes);
    if (ftruncate(output->journal, 0) != 0 || lseek(output->journal, 0, SEEK_SET) != 0 ||
        !rungi_write_all(output->journal, output->head, strlen(output->head)) ||
        !rungi_write_all(output->journal, line, (size_t)length) || fsync(output->journal) != 0)
        return rungi_output_fail_write(output->journal_path);
    rungi_sync_folder(output->path);
    return RUNG_OK;
}

/* Removes the PATH.part of an earlier call. Without a journal of rung, another program wrote the file. */
static rung_status remove_part(const rungi_output *output, bool has_signature)
{
    struct stat part_status;
    if (lstat(output->part_path, &part_status) != 0)
        return RUNG_OK;
    if (!has_signature)
        return rungi_invalid(
            "%s exists and was not left by an interrupted multiply: %s does not list it. This "
            "multiply needs that name for a temporary file; move or remove it, or name another output file",
            output->part_path, output->journal_path);
    if (unlink(output->part_path) != 0)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be removed: %s", output->part_path, strerror(errno));
    rungi_sync_folder(output->path);
    return RUNG_OK;
}

static rung_status start_fresh(rungi_output *output, const rung_outofcore_blocking *blocking, bool has_signature)
{
    TRY(check_file_size_limit(output));
    TRY(remove_part(output, has_signature));
    output->is_started = true; /* from here on, the journal belongs to this call */
    TRY(write_journal(output, blocking));
    TRY(open_part(output, O_CREAT | O_EXCL));
    TRY(initialize_part(output));
    rungi_sync_folder(output->path);
    return RUNG_OK;
}

/* ---- Reading the journal ----------------------------------------------------------------------------------- */

/* Blocks that the journal lists. */
typedef struct journal_read {
    const rungi_outofcore_sizes *sizes;
    unsigned char *is_block_done;
    int64_t blocks, done;
} journal_read_t;

static bool add_journal_block(void *user, const rung_outofcore_blocking *journal_blocking, int64_t block)
{
    journal_read_t *read = user;
    rung_outofcore_blocking blocking = *journal_blocking;
    if (!read->is_block_done) {
        if (rungi_blocking_count(read->sizes, &blocking) != RUNG_OK)
            return false;
        read->blocks = blocking.row_blocks * blocking.col_blocks;
        read->is_block_done = calloc((size_t)read->blocks, 1);
    }
    if (!read->is_block_done || block >= read->blocks)
        return false;
    read->done += !read->is_block_done[block];
    read->is_block_done[block] = 1;
    return true;
}

static rung_status fail_foreign_journal(const rungi_output *output)
{
    return rungi_invalid("%s exists and is not a journal of rung multiply; move or remove it, or name "
                         "another output file",
                         output->journal_path);
}

static rung_status read_journal(const rungi_output *output, char **text, int64_t *bytes)
{
    enum { JOURNAL_MAX_BYTES = 1 << 28 };
    struct stat status;
    if (fstat(output->journal, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size > JOURNAL_MAX_BYTES)
        return fail_foreign_journal(output);
    *bytes = (int64_t)status.st_size;
    *text = malloc((size_t)*bytes + 1);
    if (!*text)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for %s", output->journal_path);
    if (rungi_read_up_to(output->journal, *text, *bytes) != *bytes)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be read: %s", output->journal_path, strerror(errno));
    return RUNG_OK;
}

/* Returns whether the journal belongs to a PATH.part that no longer exists: a process ended between the rename and the
 * removal of its journal. The journal of any problem is then ignored, unless the result is now one of the inputs: the same
 * call would be applied twice. */
static bool is_stale_journal(const rungi_output *output, const char *text, int64_t bytes)
{
    struct stat part_status;
    return rungi_output_find_input_at(output, output->path) == RUNGI_OUTPUT_NO_INPUT &&
           rungi_journal_has_signature(text, bytes) && lstat(output->part_path, &part_status) != 0;
}

/* Returns RUNG_OK for a journal of this problem, else the reason why it cannot be resumed. */
static rung_status check_journal_match(const rungi_output *output, rungi_journal_match match)
{
    const char *journal = output->journal_path;
    char name[RUNGI_OUTPUT_DESCRIPTION_BYTES];
    switch (match) {
    case RUNGI_JOURNAL_MATCHES: return RUNG_OK;
    case RUNGI_JOURNAL_UNKNOWN_VERSION:
        return rungi_invalid("%s was written by another version of rung, and this version cannot resume it; "
                             "resume with that version, or discard what was computed (restart)",
                             journal);
    case RUNGI_JOURNAL_DIFFERENT_PROBLEM:
        return rungi_invalid("%s lists blocks of another problem; repeat the call that was interrupted, or discard "
                             "what was computed (restart)",
                             journal);
    case RUNGI_JOURNAL_A_CHANGED:
    case RUNGI_JOURNAL_B_CHANGED:
    case RUNGI_JOURNAL_C0_CHANGED:
        rungi_output_describe_changed_input(output, match, name);
        return rungi_invalid("the multiply that %s lists was interrupted, and %s has changed since then (size, mtime, "
                             "ctime, inode or contents); discard what was computed (restart)",
                             journal, name);
    default: return rungi_invalid("%s is damaged; discard what was computed (restart)", journal);
    }
}

/* ---- Resuming ---------------------------------------------------------------------------------------------- */

/* Cuts the journal after its last valid line and opens PATH.part, which must have its full size. */
static rung_status reopen_files(rungi_output *output, const rungi_journal *journal, const struct stat *part_status)
{
    off_t end = (off_t)journal->valid_bytes;
    if (part_status->st_size != output->file_bytes)
        return rungi_invalid("%s has %lld bytes instead of %lld, although %s lists its blocks; discard both (restart)",
                             output->part_path, (long long)part_status->st_size, (long long)output->file_bytes,
                             output->journal_path);
    if (ftruncate(output->journal, end) != 0 || lseek(output->journal, 0, SEEK_END) != end)
        return rungi_output_fail_write(output->journal_path);
    TRY(check_file_size_limit(output));
    return open_part(output, 0);
}

/* Resumes with the blocks that the journal lists. Leaves *is_fresh true if the journal lists none. The caller frees
 * read->is_block_done. */
static rung_status resume(rungi_output *output, const char *text, int64_t bytes, journal_read_t *read,
                          rung_outofcore_blocking *blocking, bool *is_fresh)
{
    rungi_journal journal = {.valid_bytes = 0};
    struct stat part_status;
    if (!is_stale_journal(output, text, bytes))
        TRY(check_journal_match(output,
                                rungi_journal_parse(text, bytes, output->head, &journal, add_journal_block, read)));
    if (!output->can_resume || read->done == 0 || stat(output->part_path, &part_status) != 0)
        return RUNG_OK;
    TRY(reopen_files(output, &journal, &part_status));
    *is_fresh = false;
    output->is_started = true;
    output->committed_blocks = read->done;
    *blocking = journal.blocking;
    return rungi_blocking_count(&output->sizes, blocking);
}

static rung_status resume_or_start(rungi_output *output, bool should_restart, const char *text, int64_t bytes,
                                   rung_outofcore_blocking *blocking, unsigned char **is_block_done)
{
    bool is_fresh = true, has_signature = rungi_journal_has_signature(text, bytes);
    journal_read_t read = {.sizes = &output->sizes};
    if (bytes > 0 && !has_signature && !rungi_journal_is_head_truncated(text, bytes, output->head))
        return fail_foreign_journal(output);
    rung_status status = should_restart ? RUNG_OK : resume(output, text, bytes, &read, blocking, &is_fresh);
    if (status == RUNG_OK && !is_fresh)
        *is_block_done = read.is_block_done;
    else
        free(read.is_block_done);
    TRY(status);
    return is_fresh ? start_fresh(output, blocking, has_signature) : RUNG_OK;
}

rung_status rungi_output_open_files(rungi_output *output, bool should_restart, rung_outofcore_blocking *blocking,
                                    unsigned char **is_block_done)
{
    char *text = NULL;
    int64_t bytes = 0;
    TRY(check_paths(output));
    TRY(open_journal(output));
    rung_status status = read_journal(output, &text, &bytes);
    if (status == RUNG_OK)
        status = resume_or_start(output, should_restart, text, bytes, blocking, is_block_done);
    free(text);
    return status;
}
