/* SPDX-License-Identifier: Apache-2.0 */
/* available_memory.h - the memory that this process may still allocate. */
#pragma once

#include <stdint.h>

/* Returns the bytes that the system and the process's control groups leave for new allocations; 512 MiB if the system
 * does not report them. `root` precedes every path; tests pass a folder, all others "". */
int64_t rungi_available_memory(const char *root);
