/* SPDX-License-Identifier: Apache-2.0 */
/* mapped_file.h - the bytes of a file as read-only memory, so that weights are used without a copy. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rung/rung.h"

typedef struct rungi_mapped_file {
    const uint8_t *bytes; /* NULL: nothing to unmap */
    int64_t count;
    bool is_copy; /* read into memory, because the system or the file system cannot map files */
} rungi_mapped_file;

/* Maps a regular file that is not empty. */
rung_status rungi_mapped_file_open(const char *path, rungi_mapped_file *file);

void rungi_mapped_file_close(rungi_mapped_file *file);
