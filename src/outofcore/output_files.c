/* SPDX-License-Identifier: Apache-2.0 */
/* output_files.c - paths, locks, limits and opening of the files of an output. See output_internal.h. */
#define _GNU_SOURCE /* F_OFD_SETLK, which also excludes threads of the same process; fallocate */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/try.h"
#include "outofcore/npy.h"
#include "outofcore/output_internal.h"

enum { FILE_MODE = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH };

rung_status rungi_output_fail_write(const char *path)
{
    return rung_error_set(RUNG_STATUS_IO, "%s cannot be written: %s", path, strerror(errno));
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

/* Replaces `path`, if it is a symbolic link, by the file it names, which need not exist. A rename onto the link would
 * replace the link itself. */
static rung_status follow_links(char path[RUNGI_OUTPUT_PATH_BYTES])
{
    enum { MAX_LINKS = 40 }; /* the limit of Linux */
    char target[RUNGI_OUTPUT_PATH_BYTES];
    for (int i = 0; i < MAX_LINKS; i++) {
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0) /* not a link, or an error that opening the file will report */
            return RUNG_OK;
        const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
        size_t prefix = slash ? (size_t)(slash + 1 - path) : 0;
        if (prefix + (size_t)length >= RUNGI_OUTPUT_PATH_BYTES)
            return rung_error_set(RUNG_STATUS_INVALID,
                                  "the output %s is a symbolic link to a path of more than %d bytes", path,
                                  RUNGI_OUTPUT_PATH_BYTES - 1);
        memcpy(path + prefix, target, (size_t)length);
        path[prefix + (size_t)length] = '\0';
    }
    return rung_error_set(RUNG_STATUS_INVALID,
                          "the output %s is part of a chain of more than %d symbolic links; name another file", path,
                          MAX_LINKS);
}

rung_status rungi_output_set_paths(rungi_output *output, const char *path)
{
    size_t length = strlen(path), max = RUNGI_OUTPUT_PATH_BYTES - sizeof ".journal";
    bool fits = length > 0 && length < RUNGI_OUTPUT_PATH_BYTES;
    if (fits) {
        memcpy(output->path, path, length + 1);
        TRY(follow_links(output->path));
        length = strlen(output->path);
        fits = length <= max;
    }
    if (!fits)
        return rung_error_set(RUNG_STATUS_INVALID, "the path of the output has %zu bytes; it must have 1 to %zu",
                              length, max);
    snprintf(output->part_path, sizeof output->part_path, "%.*s.part", (int)length, output->path);
    snprintf(output->journal_path, sizeof output->journal_path, "%.*s.journal", (int)length, output->path);
    return RUNG_OK;
}

/* C0 may be the output: beta adds to the existing file. */
rung_status rungi_output_check_paths(const rungi_output *output)
{
    const char *temporary[] = {output->part_path, output->journal_path};
    struct stat status;
    if (stat(output->path, &status) == 0 && !S_ISREG(status.st_mode))
        return rung_error_set(RUNG_STATUS_INVALID,
                              S_ISDIR(status.st_mode) ? "the output %s is a directory; name a file in it"
                                                      : "the output %s is not a regular file; name another file",
                              output->path);
    rungi_output_input input = rungi_output_find_input_at(output, output->path);
    if (input == RUNGI_OUTPUT_INPUT_A || input == RUNGI_OUTPUT_INPUT_B)
        return rung_error_set(RUNG_STATUS_ALIASED, "the output %s is also the input %s; name another output file",
                              output->problem->path, rungi_output_input_name(input));
    for (int i = 0; i < 2; i++) {
        input = rungi_output_find_input_at(output, temporary[i]);
        if (input != RUNGI_OUTPUT_NO_INPUT)
            return rung_error_set(RUNG_STATUS_ALIASED,
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

/* The call that finishes removes its journal. The opened file may therefore have lost its name before it is locked; then
 * the path is opened again. */
rung_status rungi_output_open_journal(rungi_output *output)
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
            return is_locked ? rung_error_set(RUNG_STATUS_IO,
                                              "%s is being written by another call; wait until that call ends, or name "
                                              "another file",
                                              output->path)
                             : rung_error_set(RUNG_STATUS_IO,
                                              "%s cannot be locked on this file system; name a file on another file "
                                              "system",
                                              output->journal_path);
        }
        if (rungi_output_is_same_file(output->journal, output->journal_path))
            return RUNG_OK;
        close_journal(output);
    }
    return rung_error_set(
        RUNG_STATUS_IO,
        "%s was replaced each time it was opened: another program replaces it, or this file system has no "
        "stable inode numbers; name an output on another file system",
        output->journal_path);
}

/* ---- PATH.part ------------------------------------------------------------------------------------------- */

rung_status rungi_output_check_file_size_limit(const rungi_output *output)
{
    int64_t limit = rungi_file_size_limit();
    if (output->file_bytes > limit)
        return rung_error_set(RUNG_STATUS_IO,
                              "%s would have %lld bytes; this process may write files of at most %lld bytes (see "
                              "ulimit -f)",
                              output->path, (long long)output->file_bytes, (long long)limit);
    return RUNG_OK;
}

rung_status rungi_output_open_part(rungi_output *output, int flags)
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
        return rung_error_set(RUNG_STATUS_IO, "there is no room for the %lld bytes of %s: %s",
                              (long long)output->file_bytes, output->path, strerror(errno));
    if (ftruncate(fd, (off_t)output->file_bytes) == 0)
        return RUNG_OK;
    return rung_error_set(RUNG_STATUS_IO, "%s cannot be extended to %lld bytes: %s", output->part_path,
                          (long long)output->file_bytes, strerror(errno));
}

rung_status rungi_output_initialize_part(rungi_output *output)
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
