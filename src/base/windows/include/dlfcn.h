/* SPDX-License-Identifier: Apache-2.0 */
/* dlfcn.h - libraries at run time (libraries.c). */
#pragma once

#define RTLD_LAZY 1
#define RTLD_NOW 2
#define RTLD_LOCAL 0
#define RTLD_GLOBAL 0x100
#define RTLD_DEEPBIND 8
#define RTLD_NODELETE 0x1000
#define RTLD_NOLOAD 4

typedef struct {
    const char *dli_fname;
} Dl_info;

void *dlopen(const char *path, int flags);
void *dlsym(void *library, const char *name);
int dlclose(void *library);
int dladdr(const void *address, Dl_info *info);
const char *dlerror(void);
