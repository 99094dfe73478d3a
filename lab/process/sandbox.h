/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.h - limits that a child process applies to itself before it reads a user's file: processor time, memory, and the
 * files that it may open. All functions are for the child; a process cannot remove its limits. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Limits the processor time (the kernel ends the process with SIGXCPU), the growth of the address space (0: no limit), and
 * disables core dumps. Builds with a sanitizer do not limit the address space, because sanitizers reserve terabytes. */
void lab_sandbox_limit(double seconds, int64_t bytes);

/* Limits the size of the files that the process and its children write. Writing more fails with EFBIG and ends nothing. */
void lab_sandbox_limit_file_size(int64_t bytes);

/* Returns whether this process probably failed because of the limit of its address space: more than half of it was used. The
 * request that failed may have been as large as everything before it. */
bool lab_sandbox_is_memory_exhausted(void);

/* From now on the process and its children can open files for reading only below the folders (or the files) of `readable`, and for reading
 * and writing only below those of `writable`. Both lists end in NULL; folders that do not exist are ignored. Programs can
 * be started from readable folders. Returns false if the kernel has no Landlock; nothing is restricted then. */
bool lab_sandbox_restrict_files(const char *const *readable, const char *const *writable);

/* Returns whether the kernel has Landlock. */
bool lab_sandbox_can_restrict_files(void);

/* From now on the process cannot start programs or processes, signal others, open sockets or write to files that it opens.
 * Threads are allowed. Returns false if the kernel cannot restrict all of this; what it can is restricted then. */
bool lab_sandbox_forbid_effects(void);
