/* SPDX-License-Identifier: Apache-2.0 */
/* jit_linker.c - a libnvJitLink.so for programs that link PTX before they load it, such as numba-cuda. NVIDIA's linker makes
 * machine code of a GPU. This one returns the PTX unchanged, which the emulated driver loads in place of a cubin. Several
 * inputs, LTO code, objects and libraries are rejected. There is no nvJitLinkVersion, as before CUDA 12.3: libraries that
 * look for it, such as cuda.core of Python, use the linker of the driver then, and no LTO code. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Results and types of inputs, by their numbers. */
typedef enum link_result { LINK_SUCCESS = 0, LINK_INVALID_INPUT = 3, LINK_INTERNAL = 6 } link_result_t;
enum { INPUT_PTX = 2, INPUT_ANY = 10 };

typedef struct linker {
    char *text;
    size_t bytes; /* with the zero byte at the end */
    char log[300];
} linker_t;

#pragma GCC visibility push(default)
link_result_t nvJitLinkCreate(linker_t **out, uint32_t count, const char **options);
link_result_t nvJitLinkDestroy(linker_t **linker);
link_result_t nvJitLinkAddData(linker_t *linker, int type, const void *data, size_t bytes, const char *name);
link_result_t nvJitLinkAddFile(linker_t *linker, int type, const char *path);
link_result_t nvJitLinkComplete(linker_t *linker);
link_result_t nvJitLinkGetLinkedCubinSize(linker_t *linker, size_t *bytes);
link_result_t nvJitLinkGetLinkedCubin(linker_t *linker, void *cubin);
link_result_t nvJitLinkGetLinkedPtxSize(linker_t *linker, size_t *bytes);
link_result_t nvJitLinkGetLinkedPtx(linker_t *linker, char *ptx);
link_result_t nvJitLinkGetErrorLogSize(linker_t *linker, size_t *bytes);
link_result_t nvJitLinkGetErrorLog(linker_t *linker, char *log);
link_result_t nvJitLinkGetInfoLogSize(linker_t *linker, size_t *bytes);
link_result_t nvJitLinkGetInfoLog(linker_t *linker, char *log);
#pragma GCC visibility pop

/* Options select the architecture and optimizations, which PTX does not need. */
link_result_t nvJitLinkCreate(linker_t **out, uint32_t count, const char **options)
{
    (void)count, (void)options;
    *out = calloc(1, sizeof **out);
    return *out ? LINK_SUCCESS : LINK_INTERNAL;
}

link_result_t nvJitLinkDestroy(linker_t **linker)
{
    if (!linker || !*linker)
        return LINK_INVALID_INPUT;
    free((*linker)->text);
    free(*linker);
    *linker = NULL;
    return LINK_SUCCESS;
}

static link_result_t fail(linker_t *linker, const char *name, const char *why)
{
    snprintf(linker->log, sizeof linker->log, "rung: emulated GPU: %.100s: %s", name ? name : "input", why);
    return LINK_INVALID_INPUT;
}

static int is_ptx(const char *data, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && (data[at] == '/' || data[at] == '\n' || data[at] == ' ' || data[at] == '\r')) {
        if (data[at] == '/') /* a comment */
            while (at < bytes && data[at] != '\n')
                at++;
        at += at < bytes;
    }
    return bytes - at > 8 && strncmp(data + at, ".version", 8) == 0;
}

link_result_t nvJitLinkAddData(linker_t *linker, int type, const void *data, size_t bytes, const char *name)
{
    if (!linker || !data)
        return LINK_INVALID_INPUT;
    if ((type != INPUT_PTX && type != INPUT_ANY) || !is_ptx(data, bytes))
        return fail(linker, name, "only PTX is linked");
    if (linker->text)
        return fail(linker, name, "only one input is linked");
    linker->text = malloc(bytes + 1);
    if (!linker->text)
        return LINK_INTERNAL;
    memcpy(linker->text, data, bytes);
    linker->text[bytes] = '\0';
    linker->bytes = strlen(linker->text) + 1;
    return LINK_SUCCESS;
}

link_result_t nvJitLinkAddFile(linker_t *linker, int type, const char *path)
{
    (void)type;
    return linker ? fail(linker, path, "files are not linked; add the PTX as data") : LINK_INVALID_INPUT;
}

link_result_t nvJitLinkComplete(linker_t *linker)
{
    return linker && linker->text ? LINK_SUCCESS : LINK_INVALID_INPUT;
}

link_result_t nvJitLinkGetLinkedCubinSize(linker_t *linker, size_t *bytes)
{
    if (!linker || !linker->text || !bytes)
        return LINK_INVALID_INPUT;
    *bytes = linker->bytes;
    return LINK_SUCCESS;
}

link_result_t nvJitLinkGetLinkedCubin(linker_t *linker, void *cubin)
{
    if (!linker || !linker->text || !cubin)
        return LINK_INVALID_INPUT;
    memcpy(cubin, linker->text, linker->bytes);
    return LINK_SUCCESS;
}

link_result_t nvJitLinkGetLinkedPtxSize(linker_t *linker, size_t *bytes)
{
    return nvJitLinkGetLinkedCubinSize(linker, bytes);
}

link_result_t nvJitLinkGetLinkedPtx(linker_t *linker, char *ptx)
{
    return nvJitLinkGetLinkedCubin(linker, ptx);
}

link_result_t nvJitLinkGetErrorLogSize(linker_t *linker, size_t *bytes)
{
    *bytes = linker ? strlen(linker->log) + 1 : 1;
    return LINK_SUCCESS;
}

link_result_t nvJitLinkGetErrorLog(linker_t *linker, char *log)
{
    strcpy(log, linker ? linker->log : "");
    return LINK_SUCCESS;
}

link_result_t nvJitLinkGetInfoLogSize(linker_t *linker, size_t *bytes)
{
    (void)linker;
    *bytes = 1;
    return LINK_SUCCESS;
}

link_result_t nvJitLinkGetInfoLog(linker_t *linker, char *log)
{
    (void)linker;
    log[0] = '\0';
    return LINK_SUCCESS;
}
