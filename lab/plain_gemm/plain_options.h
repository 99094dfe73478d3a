/* SPDX-License-Identifier: Apache-2.0 */
/* plain_options.h - plain CUDA files on the command line, and the options for them. */
#pragma once

#include "cli/options.h"
#include "plain_gemm/launch_options.h"

/* A CUDA file that is not written in rung's dialect: it has a __global__ function. */
typedef struct lab_plain_file {
    const char *path;
    char *text; /* for free() */
    size_t bytes;
} lab_plain_file;

/* Reads a file if it is a plain CUDA file. Returns false for other files and for files that cannot be read. */
bool lab_plain_file_read(const char *path, lab_plain_file *file);

/* Returns NULL, or a sentence if an option for plain CUDA files is given with another argument. `path` is the argument;
 * NULL without an argument. `takes_arch`: --arch applies to other arguments, too. */
const char *lab_plain_options_misused(const lab_options *options, const char *path, bool takes_arch);

/* Returns NULL, or a sentence if an option is given that does not apply to plain CUDA files: rung verify chooses its own
 * problems for them, and the file decides the types. `is_explain`: --m, --n and --k do apply. */
const char *lab_plain_options_refused(const lab_options *options, bool is_explain);

/* Reads --kernel, --template, --grid, --block, --shared and --args. Returns false with a sentence if one is too long. */
bool lab_plain_options_read(const lab_options *options, lab_launch_options *launch, char *why, size_t capacity);
