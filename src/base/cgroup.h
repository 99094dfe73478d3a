/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h - finds the Linux control groups of this process, which limit the memory and the processors of a container,
 * and reads numbers from the files of /proc and /sys/fs/cgroup. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Receives the folder of a group. The files of the two versions of control groups have different names. */
typedef void rungi_cgroup_visitor(const char *folder, bool is_v2, void *user);

/* Calls `visit` for the process's groups with this controller ("cpu", "memory") and for all groups above them: each
 * group's limit applies. A machine may use both versions. A folder may be missing, and may be visited twice. `root`
 * precedes every path; tests pass a folder, all others "". */
void rungi_cgroup_visit(const char *root, const char *controller, rungi_cgroup_visitor *visit, void *user);

/* Reads up to `count` numbers behind `key`, from the first line that begins with `key`. Returns how many were read; 0 if
 * the file is missing. */
int rungi_cgroup_read_numbers(const char *folder, const char *name, const char *key, int64_t *numbers, int count);
