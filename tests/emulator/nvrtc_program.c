/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc_program.c - see nvrtc_program.h. */
#include "nvrtc_program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program nvrtc_program_t;

/* The functions of nvrtc.h that are needed. */
static struct {
    int (*create)(nvrtc_program_t **, const char *source, const char *name, int headers, const char *const *texts,
                  const char *const *names);
    int (*compile)(nvrtc_program_t *, int count, const char *const *options);
    int (*get_ptx_size)(nvrtc_program_t *, size_t *);
    int (*get_ptx)(nvrtc_program_t *, char *);
    int (*get_log_size)(nvrtc_program_t *, size_t *);
    int (*get_log)(nvrtc_program_t *, char *);
    int (*destroy)(nvrtc_program_t **);
} nvrtc;

const char *nvrtc_load(const char *path)
{
    static const char *const names[] = {"nvrtcCreateProgram", "nvrtcCompileProgram",    "nvrtcGetPTXSize",
                                        "nvrtcGetPTX",        "nvrtcGetProgramLogSize", "nvrtcGetProgramLog",
                                        "nvrtcDestroyProgram"};
    void *const slots[] = {&nvrtc.create,       &nvrtc.compile, &nvrtc.get_ptx_size, &nvrtc.get_ptx,
                           &nvrtc.get_log_size, &nvrtc.get_log, &nvrtc.destroy};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return dlerror();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *address = dlsym(library, names[i]);
        if (!address)
            return names[i];
        memcpy(slots[i], &address, sizeof address);
    }
    return NULL;
}

/* Reads a text of the program by a pair of functions: its size, and the text. */
static char *get_text(nvrtc_program_t *program, int (*get_size)(nvrtc_program_t *, size_t *),
                      int (*get)(nvrtc_program_t *, char *), size_t *bytes)
{
    if (get_size(program, bytes) != 0)
        return NULL;
    char *text = calloc(1, *bytes + 1);
    if (text && get(program, text) == 0)
        return text;
    free(text);
    return NULL;
}

char *nvrtc_compile(const char *name, const char *source, int option_count, const char *const *options, size_t *bytes)
{
    nvrtc_program_t *program;
    size_t log_bytes;
    char *ptx = NULL;
    if (nvrtc.create(&program, source, name, 0, NULL, NULL) != 0)
        return NULL;
    if (nvrtc.compile(program, option_count, options) == 0) {
        ptx = get_text(program, nvrtc.get_ptx_size, nvrtc.get_ptx, bytes);
    } else {
        char *log = get_text(program, nvrtc.get_log_size, nvrtc.get_log, &log_bytes);
        fputs(log ? log : "", stdout);
        free(log);
    }
    nvrtc.destroy(&program);
    if (ptx)
        *bytes = strlen(ptx);
    return ptx;
}
