/* SPDX-License-Identifier: Apache-2.0 */
/* amx_permission.h - a process needs the system's permission to use the tiles of AMX. */
#pragma once

#include <stdbool.h>

/* Asks for the permission, for all threads of the process: the only state of the process that the library changes. Returns false if there is no AMX, or on systems other than
 * Linux. */
bool rungi_amx_request(void);
