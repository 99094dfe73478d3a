/* SPDX-License-Identifier: Apache-2.0 */
/* nvrtc.c - opens NVRTC and compiles the ladder's files with it. */
#include "nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>

#include "unit.h"

typedef struct nvrtc_program nvrtc_program;

/* As nvrtc.h of NVIDIA declares them; results are 0 for success. */
static struct {
    int (*create)(nvrtc_program **, const char *source, const char *name, int headers,
                  const char *const *header_texts, const char *const *header_names);
    int (*compile)(nvrtc_program *, int options, const char *const *option_texts);
    int (*cubin_size)(nvrtc_program *, size_t *);
    int (*cubin)(nvrtc_program *, char *);
    int (*ptx_size)(nvrtc_program *, size_t *);
    int (*ptx)(nvrtc_program *, char *);
    int (*destroy)(nvrtc_program **);
} nvrtc;

static bool find(void *library, const char *name, void *slot)
{
    void *address = dlsym(library, name);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

bool nvrtc_open(void)
{
    void *library = *STANDIN_NVRTC ? dlopen(STANDIN_NVRTC, RTLD_NOW | RTLD_LOCAL) : NULL;
    return library && find(library, "nvrtcCreateProgram", &nvrtc.create) &&
           find(library, "nvrtcCompileProgram", &nvrtc.compile) &&
           find(library, "nvrtcGetCUBINSize", &nvrtc.cubin_size) &&
           find(library, "nvrtcGetCUBIN", &nvrtc.cubin) &&
           find(library, "nvrtcGetPTXSize", &nvrtc.ptx_size) && find(library, "nvrtcGetPTX", &nvrtc.ptx) &&
           find(library, "nvrtcDestroyProgram", &nvrtc.destroy);
}

enum { HEADERS = 4, OPTIONS = 32, TEXT = 1 << 16 };

static void read_text(const char *file, char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", STANDIN_KERNELS, file);
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    size_t length = fread(text, 1, TEXT - 1, stream);
    fclose(stream);
    text[length] = '\0';
}

/* Each word of `defines`, which is cut up. */
static int split(char *defines, const char **options)
{
    int count = 0;
    for (char *word = strtok(defines, " "); word && count < OPTIONS - 1; word = strtok(NULL, " "))
        options[count++] = word;
    return count;
}

static nvrtc_image take(nvrtc_program *program, bool is_ptx)
{
    nvrtc_image image = {.size = 0};
    assert_int_equal(is_ptx ? nvrtc.ptx_size(program, &image.size) : nvrtc.cubin_size(program, &image.size), 0);
    image.bytes = malloc(image.size);
    assert_non_null(image.bytes);
    assert_int_equal(is_ptx ? nvrtc.ptx(program, image.bytes) : nvrtc.cubin(program, image.bytes), 0);
    return image;
}

nvrtc_image nvrtc_compile(const char *file, const char *defines, const char *architecture)
{
    static const char *const names[HEADERS] = {"dialect.h", "finish.h", "tile.h", "async.h"};
    static char texts[HEADERS][TEXT], source[TEXT + 1024];
    const char *headers[HEADERS], *options[OPTIONS];
    char words[1024], target[64];
    nvrtc_program *program;
    for (int i = 0; i < HEADERS; i++) {
        read_text(names[i], texts[i]);
        headers[i] = texts[i];
    }
    read_text(file, source);
    size_t used = strlen(source);
    snprintf(source + used, sizeof source - used,
             "\nextern \"C\" __device__ const char rung_image[] = \"%s%s%s\";\n", file, *defines ? " " : "", defines);
    snprintf(words, sizeof words, "%s", defines);
    int count = split(words, options);
    snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    options[count++] = target;
    assert_int_equal(nvrtc.create(&program, source, file, HEADERS, headers, names), 0);
    assert_int_equal(nvrtc.compile(program, count, options), 0);
    nvrtc_image image = take(program, strncmp(architecture, "compute", 7) == 0);
    nvrtc.destroy(&program);
    return image;
}
