/* SPDX-License-Identifier: Apache-2.0 */
/* temporary.c - see temporary.h. */
#define _XOPEN_SOURCE 700 /* fileno */
#include "temporary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

const char *lab_temporary_folder(void)
{
    const char *named = getenv("TMPDIR");
    return named && *named ? named : "/tmp";
}

void lab_temporary_failed(int error, char *why, size_t capacity)
{
    const char *named = getenv("TMPDIR");
    snprintf(why, capacity, "no temporary file can be written to %s%s: %s; free some space there, or set TMPDIR to "
             "another folder", named && *named ? "TMPDIR=" : "", lab_temporary_folder(), strerror(error));
}

/* tmpfile() takes no flags: another thread that starts a process just now may pass the file on. */
FILE *lab_temporary(void)
{
    FILE *file = tmpfile();
    if (file)
        fcntl(fileno(file), F_SETFD, FD_CLOEXEC);
    return file;
}
