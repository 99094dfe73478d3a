/* SPDX-License-Identifier: Apache-2.0 */
/* image_source.c - from an image's name back to the source it was compiled from.
 *
 * The text is made whole by the library's own rungi_simt_source_assemble, and the options are those
 * of its OpenCL device, to the letter: PoCL keeps compiled kernels by text and options, so
 * what one of the two has compiled the other finds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simt/simt.h"
#include "sources.h"
#include "emulated_driver.h"

/* A file of the disk, the caller's to free, or NULL. */
static char *read_file(const char *path)
{
    enum { LARGEST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc(LARGEST + 1) : NULL;
    size_t length = text ? fread(text, 1, LARGEST + 1, file) : 0;
    if (file)
        fclose(file);
    if (!text || length == 0 || length > LARGEST) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    return text;
}

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    return copy ? strcpy(copy, text) : NULL;
}

/* A step of the ladder, its second half, or a caller's own. */
static char *text_of(const char *file)
{
    if (strcmp(file, "reduce.cu") == 0)
        return copy_of(rungi_source_reduce);
    for (int i = 0; i < RUNGI_SIMT_LADDER_COUNT; i++)
        if (strcmp(rungi_simt_ladder[i].file, file) == 0)
            return copy_of(rungi_simt_ladder[i].source);
    return read_file(file);
}

/* With the headers in their places. */
static char *expand_includes(rung_context *context, const char *file, const char *text)
{
    rung_kernel *kernel = NULL;
    char *whole = NULL, *copy = NULL;
    rung_status status = rung_kernel_from_source(context, "opencl", file, text, &kernel);
    if (status == RUNG_OK)
        status = rungi_simt_source_assemble(kernel, &whole);
    if (status == RUNG_OK) {
        copy = copy_of(whole);
        rungi_release(context, whole);
    }
    rung_kernel_destroy(kernel);
    return copy;
}

static char *source_text(const char *file, char *reason, size_t capacity)
{
    const rung_context_options silent = {.size = sizeof(rung_context_options), .verbose = -1};
    rung_context *context = NULL;
    char *text = text_of(file), *source = NULL;
    if (!text)
        snprintf(reason, capacity, "%s is no kernel of the ladder and cannot be read", file);
    else if (rung_context_create(&silent, &context) == RUNG_OK)
        source = expand_includes(context, file, text);
    if (text && !source)
        snprintf(reason, capacity, "%s: %s", file, rung_error_text());
    rung_context_destroy(context);
    free(text);
    return source;
}

/* A matrix engine is that of the architecture we pose as; EMULATED is 75 or 80. */
static void emulated_gpu_defines(char *options)
{
    static const char name[] = "-DEMULATED=";
    char *at = strstr(options, name);
    if (at)
        memcpy(at + strlen(name), emulated_gpu_current()->architecture < 80 ? "75" : "80", 2);
}

bool source_of(const char *image_text, char **source, char **options, char *reason, size_t capacity)
{
    static const char always[] = "-cl-std=CL1.2 -w ";
    char file[1024];
    const char *defines = strstr(image_text, " -D");
    size_t length = defines ? (size_t)(defines - image_text) : strlen(image_text);
    while (!defines && length > 0 && image_text[length - 1] == ' ')
        length--; /* a name without any ends in the blank before them */
    if (length == 0 || length >= sizeof file) {
        snprintf(reason, capacity, "the image has no rung_image, so there is no telling what it runs");
        return false;
    }
    memcpy(file, image_text, length);
    file[length] = '\0';
    defines = defines ? defines + 1 : "";
    *source = source_text(file, reason, capacity);
    if (!*source)
        return false;
    *options = malloc(sizeof always + strlen(defines));
    if (!*options) {
        snprintf(reason, capacity, "out of memory");
        free(*source);
        return false;
    }
    strcpy(*options, always);
    strcat(*options, defines);
    emulated_gpu_defines(*options);
    return true;
}
