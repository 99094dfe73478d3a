/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.c - see temporary.h. */
#define _GNU_SOURCE /* mkostemp */
#include "temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *lab_temporary_folder(void)
{
    const char *named = getenv("TMPDIR");
    return named && *named ? named : "/tmp";
}

void lab_temporary_failed(int error, char *why, size_t capacity)
{
    const char *named = getenv("TMPDIR");
    snprintf(why, capacity,
             "no temporary file can be written to %s%s: %s; free some space there, or set TMPDIR to "
             "another folder",
             named && *named ? "TMPDIR=" : "", lab_temporary_folder(), strerror(error));
}

/* The function tmpfile ignores TMPDIR and cannot ask for close-on-exec. */
FILE *lab_temporary(void)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/rung-XXXXXX", lab_temporary_folder()) >= (int)sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    int descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor < 0)
        return NULL;
    unlink(path);
    FILE *file = fdopen(descriptor, "w+b");
    if (!file) {
        int error = errno;
        close(descriptor);
        errno = error;
    }
    return file;
}
