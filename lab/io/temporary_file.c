/* SPDX-License-Identifier: Apache-2.0 */
/* temporary_file.c - see temporary_file.h. */
#define _GNU_SOURCE /* mkostemp */
#include "io/temporary_file.h"

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

void lab_temporary_error_text(int error, char *why, size_t capacity)
{
    const char *named = getenv("TMPDIR");
    snprintf(why, capacity,
             "no temporary file can be written to %s%s: %s; free some space there, or set TMPDIR to another folder",
             named && *named ? "TMPDIR=" : "", lab_temporary_folder(), strerror(error));
}

/* Not by the function tmpfile, which ignores TMPDIR and has no close-on-exec. */
FILE *lab_temporary_open(void)
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

char *lab_temporary_read(FILE *file, size_t *length)
{
    *length = 0;
    if (fseek(file, 0, SEEK_END) != 0)
        return NULL;
    long size = ftell(file);
    rewind(file);
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    *length = text ? fread(text, 1, (size_t)size, file) : 0;
    return text;
}
