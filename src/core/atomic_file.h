/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_file.h - replaces a file as a whole: whoever opens the path finds the old contents or all of the new ones,
 * also after a crash.
 *
 * The contents are written under a temporary name in the same folder, ".NAME.rung-XXXXXX", synced, and renamed. A
 * process that is killed in between leaves the temporary file. Writers need no lock: the last one to commit wins. */
#ifndef RUNGI_ATOMIC_FILE_H
#define RUNGI_ATOMIC_FILE_H

#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

enum { RUNGI_EVERYBODY = S_IRWXU | S_IRWXG | S_IRWXO }; /* the permissions of a mode_t */

typedef struct rungi_atomic_file {
    int file;            /* for writing; -1: not open */
    char path[PATH_MAX]; /* with symbolic links followed */
    char temporary[PATH_MAX + 32];
} rungi_atomic_file;

/* Opens the temporary file for contents of so many bytes. A symbolic link at `path` is followed, also to a file that does
 * not exist. An existing file must be a regular one that this process may write; the new file gets its owner and
 * permissions. Returns NULL, or what is wrong; then nothing is open. */
const char *rungi_atomic_open(rungi_atomic_file *file, const char *path, int64_t bytes);

/* Syncs the temporary file, closes it and renames it. Returns NULL, or what is wrong; then the temporary file is removed
 * and the old one stays. */
const char *rungi_atomic_commit(rungi_atomic_file *file);

/* Closes and removes the temporary file, if it is open. */
void rungi_atomic_discard(rungi_atomic_file *file);

/* Gives an open file the owner and the group of another one and these permissions, as far as this process may. */
void rungi_give_rights(int file, const struct stat *other, mode_t mode);

#endif /* RUNGI_ATOMIC_FILE_H */
