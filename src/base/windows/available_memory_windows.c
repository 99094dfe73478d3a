/* SPDX-License-Identifier: Apache-2.0 */
/* available_memory_windows.c - see base/available_memory.h. */
#include "base/available_memory.h"

#include "base/windows/windows_api.h"

int64_t rungi_available_memory(const char *root)
{
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    (void)root;
    return GlobalMemoryStatusEx(&memory) ? (int64_t)memory.ullAvailPhys : 1 << 29;
}
