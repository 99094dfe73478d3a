/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_file.c - see atomic_file.h. */
#define _GNU_SOURCE /* AT_EACCESS */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file_io.h"

/* Returns NULL, or why an existing file may not be replaced. */
static const char *check_existing_file(const char *path, const struct stat *status)
{
    if (S_ISDIR(status->st_mode))
        return strerror(EISDIR);
    if (!S_ISREG(status->st_mode))
        return "it is not a regular file";
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? NULL : strerror(errno);
}

void rungi_file_set_owner_and_mode(int file, const struct stat *other, mode_t mode)
{
    if (fchown(file, other->st_uid, other->st_gid) != 0 && fchown(file, (uid_t)-1, other->st_gid) != 0)
        mode &= ~(mode_t)S_IRWXG;
    fchmod(file, mode);
}

/* Creates a file under an unused name in the same folder. Returns -1 with errno set. */
static int create_temporary(rungi_atomic_file *file, mode_t mode)
{
    enum { TRIES = 100, NAME_PREFIX_MAX = 200 /* of the 255 bytes that a name may have */ };
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    for (unsigned i = 0; i < TRIES; i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        unsigned suffix = ((unsigned)now.tv_nsec ^ (unsigned)getpid() << 12) + i;
        snprintf(file->temporary, sizeof file->temporary, "%.*s.%.*s.rung-%06x", (int)(name - file->path), file->path,
                 NAME_PREFIX_MAX, name, suffix & 0xFFFFFF);
        int created = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (created >= 0 || (errno != EEXIST && errno != EINTR))
            return created;
    }
    return -1;
}

const char *rungi_atomic_file_open(rungi_atomic_file *file, const char *path, int64_t bytes)
{
    const mode_t default_mode = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
    struct stat existing;
    file->file = -1;
    if (!rungi_follow_links(path, file->path))
        return strerror(errno);
    bool has_existing = stat(file->path, &existing) == 0;
    const char *wrong = has_existing ? check_existing_file(file->path, &existing) : NULL;
    if (wrong)
        return wrong;
    if (bytes > rungi_file_size_limit())
        return strerror(EFBIG);
    file->file = create_temporary(file, has_existing ? S_IRUSR | S_IWUSR : default_mode);
    if (file->file < 0)
        return strerror(errno);
    if (has_existing)
        rungi_file_set_owner_and_mode(file->file, &existing, existing.st_mode & RUNGI_PERMISSION_BITS);
    return NULL;
}

const char *rungi_atomic_file_commit(rungi_atomic_file *file)
{
    int number;
    do
        number = fsync(file->file) == 0 ? 0 : errno;
    while (number == EINTR);
    if (close(file->file) != 0 && errno != EINTR && number == 0) /* after EINTR the file is closed */
        number = errno;
    file->file = -1;
    if (number == 0 && rename(file->temporary, file->path) != 0)
        number = errno;
    if (number != 0) {
        unlink(file->temporary);
        return strerror(number);
    }
    rungi_sync_folder(file->path);
    return NULL;
}

void rungi_atomic_file_discard(rungi_atomic_file *file)
{
    if (file->file < 0)
        return;
    close(file->file);
    unlink(file->temporary);
    file->file = -1;
}
