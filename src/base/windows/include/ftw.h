/* SPDX-License-Identifier: Apache-2.0 */
/* ftw.h - walks a tree of folders, contents first (paths.c). */
#pragma once

#include <sys/stat.h>

#define FTW_DEPTH 8
#define FTW_PHYS 1

struct FTW {
    int base, level;
};

int nftw(const char *path, int (*visit)(const char *path, const struct stat *status, int kind, struct FTW *position),
         int descriptors, int flags);
