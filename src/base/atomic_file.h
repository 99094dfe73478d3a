/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_file.h - replaces a file as a whole. A process that opens the path finds the old contents or all of the new
 * ones, also after a crash.
 *
 * The contents are written to a temporary file in the same folder, ".NAME.rung-XXXXXX", synced, and renamed. A process
 * that is killed in between leaves the temporary file. Writers need no lock: the last commit wins.
 *
 * Two writers have their own code, because they need something else. The code cache (core/code_cache.c) works relative
 * to an open folder, so that nobody can exchange the folder. The lab's --output files (lab/io/output_file.c) may be
 * devices and pipes, have an unknown size, and are rewritten often without a sync. */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

enum { RUNGI_PERMISSION_BITS = S_IRWXU | S_IRWXG | S_IRWXO }; /* the permissions in a mode_t */

typedef struct rungi_atomic_file {
    int file;            /* open for writing; -1: not open */
    char path[PATH_MAX]; /* after following symbolic links */
    char temporary[PATH_MAX + 32];
} rungi_atomic_file;

/* Opens the temporary file for contents of `bytes` bytes. Symbolic links at `path` are followed, also to a file that does
 * not exist. An existing file must be a regular file that this process may write; the new file gets its owner and
 * permissions. Returns NULL, or the reason of the failure; then no file is open. */
const char *rungi_atomic_file_open(rungi_atomic_file *file, const char *path, int64_t bytes);

/* Syncs, closes and renames the temporary file. Returns NULL, or the reason of the failure; then the temporary file is
 * removed and the old file is unchanged. */
const char *rungi_atomic_file_commit(rungi_atomic_file *file);

/* Closes and removes the temporary file, if it is open. */
void rungi_atomic_file_discard(rungi_atomic_file *file);

/* Gives an open file the owner and the group of another file and these permissions, as far as this process may. If the
 * group cannot be set, the group gets no permissions. */
void rungi_file_set_owner_and_mode(int file, const struct stat *other, mode_t mode);
