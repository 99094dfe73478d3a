/* SPDX-License-Identifier: Apache-2.0 */
/* libraries.c - DLLs at run time. */
#include <dlfcn.h>

#include "base/windows/windows_api.h"

static _Thread_local char error_text[256];
static _Thread_local char module_path[MAX_PATH];

void *dlopen(const char *path, int flags)
{
    (void)flags;
    HMODULE library = LoadLibraryA(path);
    if (!library)
        snprintf(error_text, sizeof error_text, "%.180s cannot be loaded: error %lu of Windows", path, GetLastError());
    return (void *)library;
}

void *dlsym(void *library, const char *name)
{
    FARPROC function = GetProcAddress((HMODULE)library, name);
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

int dlclose(void *library)
{
    return FreeLibrary((HMODULE)library) ? 0 : -1;
}

int dladdr(const void *address, Dl_info *info)
{
    HMODULE library;
    const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    if (!GetModuleHandleExA(flags, (const char *)address, &library) ||
        GetModuleFileNameA(library, module_path, sizeof module_path) == 0)
        return 0;
    info->dli_fname = module_path;
    return 1;
}

const char *dlerror(void)
{
    return error_text;
}
