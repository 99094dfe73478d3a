/* SPDX-License-Identifier: Apache-2.0 */
/* system_paths.c - see system_paths.h. */
#include "base/system_paths.h"

const char rungi_path_separator[] = ":";

bool rungi_is_absolute_path(const char *path)
{
    return path[0] == '/';
}
