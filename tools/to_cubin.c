/* SPDX-License-Identifier: Apache-2.0 */
/* to_cubin - NVRTC as a command, for looking at what it makes.
 *
 *   to_cubin LIBNVRTC SOURCE CUBIN [OPTION ...]
 *
 * compiles a file with these options, writes the machine code and prints the compiler's
 * log. NVRTC is what compiles the kernels that ship; nvcc, with another front end, is not
 * the compiler to judge them by. Exits with 1 if the file does not compile. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvrtc_program nvrtc_program_t;

static void *library;

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "to_cubin: %s: %s\n", what, why);
    exit(1);
}

static void load_symbol(const char *name, void *slot)
{
    void *address = dlsym(library, name);
    if (!address)
        fail(name, "not in the library");
    memcpy(slot, &address, sizeof address);
}

/* The functions of nvrtc.h that come in pairs: how long a text is, and the text. */
static char *get_text(nvrtc_program_t *program, const char *size_name, const char *name, size_t *size)
{
    int (*get_size)(nvrtc_program_t *, size_t *), (*get)(nvrtc_program_t *, char *);
    load_symbol(size_name, &get_size);
    load_symbol(name, &get);
    if (get_size(program, size) != 0)
        return NULL;
    char *text = calloc(1, *size + 1);
    return text && get(program, text) == 0 ? text : NULL;
}

static char *read_source(const char *path)
{
    static char text[1 << 18];
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (length == 0 || length == sizeof text - 1)
        fail(path, "cannot be read");
    fclose(file);
    return text;
}

static void write_cubin(nvrtc_program_t *program, const char *path)
{
    size_t size;
    char *code = get_text(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN", &size);
    FILE *file = fopen(path, "wb");
    if (!code || !file || fwrite(code, 1, size, file) != size || fclose(file) != 0)
        fail(path, "cannot be written");
    free(code);
}

int main(int argc, char **argv)
{
    int (*create)(nvrtc_program_t **, const char *source, const char *name, int headers, const char *const *texts,
                  const char *const *names);
    int (*compile)(nvrtc_program_t *, int count, const char *const *options);
    nvrtc_program_t *program;
    size_t size;
    if (argc < 4) {
        fprintf(stderr, "usage: to_cubin LIBNVRTC SOURCE CUBIN [OPTION ...]\n");
        return 2;
    }
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail(argv[1], dlerror());
    load_symbol("nvrtcCreateProgram", &create);
    load_symbol("nvrtcCompileProgram", &compile);
    if (create(&program, read_source(argv[2]), argv[2], 0, NULL, NULL) != 0)
        fail(argv[2], "NVRTC could not begin");
    int error = compile(program, argc - 4, (const char *const *)argv + 4);
    char *log = get_text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", &size);
    fputs(log ? log : "", error ? stderr : stdout);
    free(log);
    if (error)
        fail(argv[2], "does not compile");
    write_cubin(program, argv[3]);
    return 0;
}
