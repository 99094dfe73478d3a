/* SPDX-License-Identifier: Apache-2.0 */
/* dirent.h - folders have no descriptors: fdopendir() and dirfd() fail. */
#pragma once

#include_next <dirent.h>

DIR *fdopendir(int folder);
int dirfd(DIR *folder);

/* Lists a folder, as in POSIX (paths.c). */
int scandir(const char *path, struct dirent ***entries, int (*is_wanted)(const struct dirent *entry),
            int (*compare)(const struct dirent **one, const struct dirent **other));
int alphasort(const struct dirent **one, const struct dirent **other);
