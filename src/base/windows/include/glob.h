/* SPDX-License-Identifier: Apache-2.0 */
/* glob.h - patterns of paths (paths.c): `*` and `?` in any component. */
#pragma once

#include <stddef.h>

#define GLOB_NOSORT 4

typedef struct {
    size_t gl_pathc;
    char **gl_pathv;
} glob_t;

int glob(const char *pattern, int flags, int (*on_error)(const char *path, int number), glob_t *found);
void globfree(glob_t *found);
