/* SPDX-License-Identifier: Apache-2.0 */
/* fake_root.h - a temporary folder that stands for the root of a system, with files that the test writes. */
#pragma once

#include "support/unit.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char fake_root[] = "/tmp/rung-root-XXXXXX";

static inline void fake_root_clear(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s/*", fake_root);
    assert_int_equal(system(command), 0);
}

/* Writes a file, with its folders. The path begins with '/'. */
static inline void fake_root_write(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", fake_root, path);
    for (char *slash = strchr(whole + strlen(fake_root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* Setup and teardown of a group of tests. */
static inline int fake_root_create(void **state)
{
    (void)state;
    return mkdtemp(fake_root) ? 0 : -1;
}

static inline int fake_root_remove(void **state)
{
    (void)state;
    fake_root_clear();
    return rmdir(fake_root);
}
