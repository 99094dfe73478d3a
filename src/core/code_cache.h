/* SPDX-License-Identifier: Apache-2.0 */
/* code_cache.h - caches compiled code on disk between processes, because compiling takes longer than most programs
 * multiply.
 *
 * The code that is read here is executed, so only files that no other user can have written are read: see
 * docs/internals/decisions/0013-code-cache.md. No function here fails: problems are logged at verbose 2, and errno and
 * rung_error_text() are unchanged. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/context.h"

/* Writes the path of the folder: $XDG_CACHE_HOME/rung, else $HOME/.cache/rung. Returns false if neither variable is an
 * absolute path, if the path does not fit, and in a set-uid program. */
bool rungi_code_cache_folder(char *path, size_t capacity);

/* Returns the code of a key, which the caller releases with rungi_release(); NULL if there is no valid file. The parts of
 * a key are all texts that the code depends on: source, options, compiler, driver, architecture. `folder` is absolute,
 * without a trailing slash. */
void *rungi_code_cache_read(rung_context *context, const char *folder, const char *const *key, int parts,
                            size_t *bytes);

/* Stores code under a key, replacing any older code. Creates the folder if needed, and removes the least recently used
 * files if the folder holds more than 1 GiB. */
void rungi_code_cache_write(rung_context *context, const char *folder, const char *const *key, int parts,
                            const void *data, size_t bytes);
