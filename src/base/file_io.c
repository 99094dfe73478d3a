/* SPDX-License-Identifier: Apache-2.0 */
/* file_io.c - see file_io.h. */
#define _GNU_SOURCE /* secure_getenv: the caller of a set-uid program must not choose its files */
#include "base/file_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_paths.h"

/* ---- Contents --------------------------------------------------------------------------------------- */

bool rungi_write_all(int file, const void *data, size_t bytes)
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

int64_t rungi_read_up_to(int file, void *data, int64_t bytes)
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

int64_t rungi_file_size_limit(void)
{
    struct rlimit limit;
    bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur <= INT64_MAX;
    return is_limited ? (int64_t)limit.rlim_cur : INT64_MAX;
}

/* ---- Paths and folders ------------------------------------------------------------------------------ */

void rungi_sync_folder(const char *path)
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

bool rungi_follow_links(const char *name, char path[PATH_MAX])
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
        size_t folder_length = slash ? (size_t)(slash + 1 - path) : 0;
        errno = ENAMETOOLONG;
        if (folder_length + (size_t)bytes >= PATH_MAX)
            return false;
        memcpy(path + folder_length, target, (size_t)bytes);
        path[folder_length + (size_t)bytes] = '\0';
    }
    errno = ELOOP;
    return false;
}

bool rungi_path_in_variable(const char *variable, const char *below, char *path, size_t capacity)
{
    const char *above = secure_getenv(variable);
    if (!above || !rungi_is_absolute_path(above))
        return false;
    int length = snprintf(path, capacity, "%s%s", above, below);
    return length > 0 && (size_t)length < capacity;
}

static bool make_one_folder(const char *folder)
{
    return mkdir(folder, S_IRWXU) == 0 || errno == EEXIST;
}

bool rungi_make_folder(const char *folder)
{
    char above[PATH_MAX];
    if (make_one_folder(folder))
        return true;
    const char *slash = strrchr(folder, '/');
    if (errno != ENOENT || !slash || slash - folder >= PATH_MAX)
        return false;
    snprintf(above, sizeof above, "%.*s", (int)(slash - folder), folder);
    return make_one_folder(above) && make_one_folder(folder);
}

bool rungi_find_on_path(const char *name, char *path, size_t capacity)
{
    const char *folder = getenv("PATH");
    while (folder && *folder) {
        size_t length = strcspn(folder, rungi_path_separator);
        if (length > 0 && snprintf(path, capacity, "%.*s/%s", (int)length, folder, name) < (int)capacity &&
            access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] != '\0');
    }
    return false;
}
