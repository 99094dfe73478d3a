/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_file.c - see atomic_file.h. */
#define _GNU_SOURCE /* AT_EACCESS */
#include "core/atomic_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/files.h"

/* ---- Before ---------------------------------------------------------------------------------------- */

/* Copies `name` to `path` and follows it while it is a symbolic link. False with errno set if it is too long or a loop. */
static bool follow_links(const char *name, char path[PATH_MAX])
{
    enum { LINKS_MAX = 40 };
    char target[PATH_MAX];
    size_t length = strlen(name);
    errno = length == 0 ? ENOENT : ENAMETOOLONG;
    if (length == 0 || length >= PATH_MAX)
        return false;
    memcpy(path, name, length + 1);
    for (int i = 0; i < LINKS_MAX; i++) {
        ssize_t bytes = readlink(path, target, sizeof target);
        if (bytes < 0)
            return true;
        const char *slash = target[0] == '/' ? NULL : strrchr(path, '/');
        size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
        errno = ENAMETOOLONG;
        if (folder + (size_t)bytes >= PATH_MAX)
            return false;
        memcpy(path + folder, target, (size_t)bytes);
        path[folder + (size_t)bytes] = '\0';
    }
    errno = ELOOP;
    return false;
}

/* A process that writes past its limit on file sizes is sent a signal that ends it. */
static bool passes_limit(int64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && (uint64_t)bytes > limit.rlim_cur;
}

/* NULL, or why an existing file is not replaced. */
static const char *check_old(const char *path, const struct stat *old)
{
    if (S_ISDIR(old->st_mode))
        return strerror(EISDIR);
    if (!S_ISREG(old->st_mode))
        return "it is not a regular file";
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0 ? NULL : strerror(errno);
}

/* ---- Writing --------------------------------------------------------------------------------------- */

/* If this process may not give the file to the other group, the group gets no permissions. */
void rungi_give_rights(int file, const struct stat *other, mode_t mode)
{
    if (fchown(file, other->st_uid, other->st_gid) != 0 && fchown(file, (uid_t)-1, other->st_gid) != 0)
        mode &= ~(mode_t)S_IRWXG;
    fchmod(file, mode);
}

/* Creates a file under a name that no file has: whatever exists belongs to somebody else. -1 on failure. */
static int create_beside(rungi_atomic_file *file, mode_t mode)
{
    enum { TRIES = 100, NAME_KEPT = 200 /* of the 255 bytes that a name may have */ };
    const char *slash = strrchr(file->path, '/');
    const char *name = slash ? slash + 1 : file->path;
    for (unsigned i = 0; i < TRIES; i++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        unsigned mixed = ((unsigned)now.tv_nsec ^ (unsigned)getpid() << 12) + i;
        snprintf(file->temporary, sizeof file->temporary, "%.*s.%.*s.rung-%06x", (int)(name - file->path), file->path,
                 NAME_KEPT, name, mixed & 0xFFFFFF);
        int created = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (created >= 0 || (errno != EEXIST && errno != EINTR))
            return created;
    }
    return -1;
}

const char *rungi_atomic_open(rungi_atomic_file *file, const char *path, int64_t bytes)
{
    const mode_t read_by_all = S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH;
    struct stat old;
    file->file = -1;
    if (!follow_links(path, file->path))
        return strerror(errno);
    bool is_old = stat(file->path, &old) == 0;
    const char *wrong = is_old ? check_old(file->path, &old) : NULL;
    if (!wrong && passes_limit(bytes))
        wrong = strerror(EFBIG);
    if (wrong)
        return wrong;
    file->file = create_beside(file, is_old ? S_IRUSR | S_IWUSR : read_by_all);
    if (file->file < 0)
        return strerror(errno);
    if (is_old)
        rungi_give_rights(file->file, &old, old.st_mode & RUNGI_EVERYBODY);
    return NULL;
}

/* ---- After ----------------------------------------------------------------------------------------- */

static bool sync_file(int file)
{
    while (fsync(file) != 0)
        if (errno != EINTR)
            return false;
    return true;
}

const char *rungi_atomic_commit(rungi_atomic_file *file)
{
    int number = sync_file(file->file) ? 0 : errno;
    if (close(file->file) != 0 && errno != EINTR && number == 0) /* EINTR: it is closed all the same */
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

void rungi_atomic_discard(rungi_atomic_file *file)
{
    if (file->file < 0)
        return;
    close(file->file);
    unlink(file->temporary);
    file->file = -1;
}
