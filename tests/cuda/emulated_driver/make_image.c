/* SPDX-License-Identifier: Apache-2.0 */
/* make_image - an image for tests, made as the library makes its own: a kernel file with
 * its name in it, compiled by NVIDIA's compiler.
 *
 *   make_image LIBNVRTC FILE "-DNAME=VALUE ..." sm_86|compute_86 > image
 *
 * FILE is of the ladder or stands anywhere; headers are the ladder's. A program of its own,
 * and built without sanitizers, which do not find the compiler's other half. Exits with 77
 * if there is no compiler. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct make_image_nvrtc_program make_image_nvrtc_program_t;

/* As nvrtc.h of NVIDIA declares them; results are 0 for success. */
static struct {
    int (*create)(make_image_nvrtc_program_t **, const char *source, const char *name, int headers,
                  const char *const *header_texts, const char *const *header_names);
    int (*compile)(make_image_nvrtc_program_t *, int options, const char *const *option_texts);
    int (*cubin_size)(make_image_nvrtc_program_t *, size_t *);
    int (*cubin)(make_image_nvrtc_program_t *, char *);
    int (*ptx_size)(make_image_nvrtc_program_t *, size_t *);
    int (*ptx)(make_image_nvrtc_program_t *, char *);
    int (*log_size)(make_image_nvrtc_program_t *, size_t *);
    int (*log)(make_image_nvrtc_program_t *, char *);
} nvrtc;

static void stop(const char *what)
{
    fprintf(stderr, "make_image: %s\n", what);
    exit(1);
}

static void find(void *library, const char *name, void *slot)
{
    void *address = dlsym(library, name);
    if (!address)
        stop(name);
    memcpy(slot, &address, sizeof address);
}

static void load(const char *path)
{
    void *library = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library)
        exit(77);
    find(library, "nvrtcCreateProgram", &nvrtc.create);
    find(library, "nvrtcCompileProgram", &nvrtc.compile);
    find(library, "nvrtcGetCUBINSize", &nvrtc.cubin_size);
    find(library, "nvrtcGetCUBIN", &nvrtc.cubin);
    find(library, "nvrtcGetPTXSize", &nvrtc.ptx_size);
    find(library, "nvrtcGetPTX", &nvrtc.ptx);
    find(library, "nvrtcGetProgramLogSize", &nvrtc.log_size);
    find(library, "nvrtcGetProgramLog", &nvrtc.log);
}

enum { HEADERS = 4, OPTIONS = 32, TEXT = 1 << 16 };

static void read_text(const char *file, char *text)
{
    char path[1024];
    snprintf(path, sizeof path, "%s%s", strchr(file, '/') ? "" : TEST_KERNELS "/", file);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        stop(path);
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

static void stop_with_log(make_image_nvrtc_program_t *program)
{
    static char log[TEXT];
    size_t size = 0;
    if (nvrtc.log_size(program, &size) == 0 && size <= sizeof log)
        nvrtc.log(program, log);
    stop(log);
}

static void write_image(make_image_nvrtc_program_t *program, int is_ptx)
{
    size_t size = 0;
    if ((is_ptx ? nvrtc.ptx_size : nvrtc.cubin_size)(program, &size) != 0)
        stop("no image");
    char *bytes = malloc(size);
    if (!bytes || (is_ptx ? nvrtc.ptx : nvrtc.cubin)(program, bytes) != 0 || fwrite(bytes, 1, size, stdout) != size)
        stop("the image cannot be written");
    free(bytes);
}

static void compile(const char *file, char *defines, const char *architecture)
{
    static const char *const names[HEADERS] = {"dialect.h", "epilogue.h", "tile.h", "async.h"};
    static char texts[HEADERS][TEXT], source[TEXT + 2048];
    const char *headers[HEADERS], *options[OPTIONS];
    char target[64];
    make_image_nvrtc_program_t *program;
    for (int i = 0; i < HEADERS; i++) {
        read_text(names[i], texts[i]);
        headers[i] = texts[i];
    }
    read_text(file, source);
    size_t used = strlen(source);
    snprintf(source + used, sizeof source - used, "\nextern \"C\" __device__ const char rung_image[] = \"%s%s%s\";\n",
             file, *defines ? " " : "", defines);
    int count = split(defines, options);
    snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    options[count++] = target;
    if (nvrtc.create(&program, source, file, HEADERS, headers, names) != 0)
        stop("no program");
    if (nvrtc.compile(program, count, options) != 0)
        stop_with_log(program);
    write_image(program, strncmp(architecture, "compute", 7) == 0);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        stop("make_image LIBNVRTC FILE DEFINES ARCHITECTURE");
    load(argv[1]);
    compile(argv[2], argv[3], argv[4]);
    return 0;
}
