/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h - compiled code, kept on disk between processes: compiling takes longer
 * than most programs multiply.
 *
 * What is read here is run, so only what this user alone can have written is
 * read: see docs/decisions/0013-code-cache.md. Nothing here is a failure of the
 * call that asks. What goes wrong is a line at verbose 2, and neither errno nor
 * rung_error_text() remembers it. */
#ifndef RUNGI_CACHE_H
#define RUNGI_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/context.h"

/* The folder: $XDG_CACHE_HOME/rung, else $HOME/.cache/rung. Only an absolute path
 * counts. False if there is none, as in a set-uid program, or if it does not fit. */
bool rungi_cache_folder(char *path, size_t capacity);

/* What is kept under this key, the caller's to rungi_release; NULL if nothing sound
 * is. The key is several texts: all that the code depends on (source, options,
 * compiler, driver, architecture). The folder is absolute, without a slash at its
 * end. */
void *rungi_cache_read(rung_context *context, const char *folder, const char *const *key, int parts, size_t *bytes);

/* Keeps it in place of whatever was there, in a folder made now if need be, and
 * removes the least recently used of the folder if that holds more than 1 GiB. */
void rungi_cache_write(rung_context *context, const char *folder, const char *const *key, int parts, const void *data,
                       size_t bytes);

#endif /* RUNGI_CACHE_H */
