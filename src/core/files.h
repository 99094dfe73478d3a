/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - what every file that must be whole is written with, here and in the libraries beside this one. */
#ifndef RUNGI_FILES_H
#define RUNGI_FILES_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* All of it, at the place where the file stands; false with errno set. */
static inline bool rungi_write_all(int file, const void *data, size_t bytes)
{
    const char *from = data;
    while (bytes > 0) {
        ssize_t written = write(file, from, bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written == 0)
            errno = EIO;
        if (written <= 0)
            return false;
        from += written;
        bytes -= (size_t)written;
    }
    return true;
}

/* Reads up to `bytes`, fewer only at the end of the file. Returns the number, or -1 with errno set. */
static inline int64_t rungi_read_up_to(int file, void *data, int64_t bytes)
{
    char *to = data;
    int64_t used = 0;
    while (used < bytes) {
        ssize_t got = read(file, to + used, (size_t)(bytes - used));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        used += got;
    }
    return used;
}

/* The folder that a path is in: after a rename, so that a crash leaves the old name or the new one, and not neither. */
static inline void rungi_sync_folder(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    int opened = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0)
        return;
    fsync(opened);
    close(opened);
}

#endif /* RUNGI_FILES_H */
