/* SPDX-License-Identifier: Apache-2.0 */
/* windows_api.h - windows.h without its rarely used parts, and errno from the last error of a call. For the files of this
 * folder only: windows.h defines thousands of macros. */
#pragma once

#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

/* Sets errno from GetLastError(). Returns -1. */
int rungi_windows_fail(void);
