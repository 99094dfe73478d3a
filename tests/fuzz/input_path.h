/* SPDX-License-Identifier: Apache-2.0 */
/* input_path.h - the bytes of a fuzz target as a file with a path, in memory. Targets that include it are for Linux. */
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include "byte_reader.h"

/* Returns the path of a file with these bytes, the same one for each call. */
static inline const char *input_path(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0)
        file = memfd_create("input", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    MUST(file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    return path;
}
