/* SPDX-License-Identifier: Apache-2.0 */
/* system_paths.h - what differs between systems in names of files. system_paths.c is for POSIX, windows/paths.c for
 * Windows. */
#pragma once

#include <stdbool.h>

/* Separates the folders of PATH. */
extern const char rungi_path_separator[];

/* Returns whether a path does not depend on the current folder. */
bool rungi_is_absolute_path(const char *path);
