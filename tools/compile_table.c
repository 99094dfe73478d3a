/* SPDX-License-Identifier: Apache-2.0 */
/* compile_table - what NVIDIA's compiler makes of the kernels, with no GPU.
 *
 *   compile_table LIBNVRTC KERNELS_FOLDER [sm_86 ...]
 *
 * Compiles every kernel of the ladder for each architecture: its defaults in each
 * type and on each path (see tile.h), its presets in f32. Prints a line each: kernel,
 * parameters, type, path, architecture, registers a thread, shared bytes a block,
 * spilled bytes. Exits with 1 if one does not compile or spills.
 *
 * NVRTC is opened at run time; the few functions that are used are declared here,
 * so that no CUDA header is needed. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rung/rung.h"

static const char *const all_architectures[] = {"sm_60", "sm_61", "sm_70", "sm_75", "sm_80",
                                                "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};

typedef struct nvrtc_program nvrtc_program;

/* NVRTC's C interface, as nvrtc.h declares it; results are 0 for success. */
typedef struct nvrtc {
    int (*create)(nvrtc_program **, const char *source, const char *name, int headers,
                  const char *const *header_texts, const char *const *header_names);
    int (*compile)(nvrtc_program *, int options, const char *const *option_texts);
    int (*log_size)(nvrtc_program *, size_t *);
    int (*log)(nvrtc_program *, char *);
    int (*destroy)(nvrtc_program **);
} nvrtc;

static void find(void *library, const char *name, void *slot)
{
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "compile_table: %s is not in the library\n", name);
        exit(2);
    }
    memcpy(slot, &address, sizeof address);
}

static nvrtc load(const char *path)
{
    nvrtc nvrtc;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "compile_table: %s\n", dlerror());
        exit(2);
    }
    find(library, "nvrtcCreateProgram", &nvrtc.create);
    find(library, "nvrtcCompileProgram", &nvrtc.compile);
    find(library, "nvrtcGetProgramLogSize", &nvrtc.log_size);
    find(library, "nvrtcGetProgramLog", &nvrtc.log);
    find(library, "nvrtcDestroyProgram", &nvrtc.destroy);
    return nvrtc;
}

enum { HEADERS = 3 };

static const char *const header_names[HEADERS] = {"dialect.h", "tile.h", "async.h"};
static const char *header_texts[HEADERS];

static void read_headers(const char *folder)
{
    static char texts[HEADERS][1 << 16];
    for (int i = 0; i < HEADERS; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, header_names[i]);
        FILE *file = fopen(path, "rb");
        size_t length = file ? fread(texts[i], 1, sizeof texts[i] - 1, file) : 0;
        if (!file || length == 0 || length == sizeof texts[i] - 1) {
            fprintf(stderr, "compile_table: %s cannot be read\n", path);
            exit(2);
        }
        fclose(file);
        header_texts[i] = texts[i];
    }
}

/* The paths of a kernel that includes tile.h, and what they are compiled with. */
typedef struct path {
    const char *name;
    const char *defines; /* "NAME=value,...", like parameters */
} path;

static const path paths[] = {
    {"general", ""},
    {"wide", "WIDE=1,GUARDED=0"},
    {"wide_guarded", "WIDE=1,GUARDED=1"},
};

static const path only_path = {"-", ""};

/* The number before `words` in ptxas's report; 0 if they are not there. */
static long number_before(const char *log, const char *words)
{
    const char *at = strstr(log, words);
    if (!at)
        return 0;
    while (at > log && at[-1] == ' ')
        at--;
    while (at > log && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtol(at, NULL, 10);
}

/* Each "NAME=16,OTHER=4" as options "-DNAME=16", in `texts`. */
static int define_options(const char *parameters, char texts[][64], const char **options, int count)
{
    while (*parameters && count < 24) {
        int length = (int)strcspn(parameters, ",");
        snprintf(texts[count], 64, "-D%.*s", length, parameters);
        options[count] = texts[count];
        count++;
        parameters += length + (parameters[length] == ',');
    }
    return count;
}

/* Compiles one and prints its line; false if it fails or spills. */
static bool compile(const nvrtc *nvrtc, const rung_kernel_info *kernel, const char *parameters,
                    const char *type, const path *path, const char *architecture)
{
    const char *options[28];
    char texts[28][64], target[64], log[1 << 14] = "";
    nvrtc_program *program;
    size_t size = 0;
    int count = define_options(parameters, texts, options, 0);
    count = define_options(path->defines, texts, options, count);
    if (strcmp(type, "i32") == 0)
        options[count++] = "-DRUNG_I32";
    snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    options[count++] = target;
    options[count++] = "--ptxas-options=-v";
    if (nvrtc->create(&program, kernel->source, kernel->file, HEADERS, header_texts, header_names) != 0)
        return false;
    bool good = nvrtc->compile(program, count, options) == 0;
    if (nvrtc->log_size(program, &size) == 0 && size <= sizeof log)
        nvrtc->log(program, log);
    nvrtc->destroy(&program);
    if (!good) {
        fprintf(stderr, "%s %s %s %s does not compile:\n%s\n", kernel->name, parameters, path->name,
                architecture, log);
        return false;
    }
    long registers = number_before(log, " registers"), shared = number_before(log, " bytes smem");
    long spills = number_before(log, " bytes spill stores") + number_before(log, " bytes spill loads");
    printf("%s\t%s\t%s\t%s\t%s\t%ld\t%ld\t%ld\n", kernel->name, *parameters ? parameters : "-", type,
           path->name, architecture, registers, shared, spills);
    return registers > 0 && spills == 0;
}

/* Presets that are not for GPUs: one for processors, one for slow checkers. */
static bool is_for_gpus(const rung_preset *preset)
{
    return strcmp(preset->name, "cpu") != 0 && strcmp(preset->name, "tiny") != 0;
}

static bool compile_all(const nvrtc *nvrtc, const rung_kernel *kernel, const char *architecture)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    bool has_paths = strstr(info->source, "#include \"tile.h\"") != NULL, good = true;
    const path *all = has_paths ? paths : &only_path;
    int count = has_paths ? (int)(sizeof paths / sizeof *paths) : 1;
    for (int i = 0; i < count; i++)
        good = compile(nvrtc, info, info->defaults, "f32", &all[i], architecture) && good;
    good = compile(nvrtc, info, info->defaults, "i32", &all[0], architecture) && good;
    for (int64_t i = 0; i < info->preset_count; i++)
        if (is_for_gpus(&info->presets[i]))
            good = compile(nvrtc, info, info->presets[i].parameters, "f32", &all[0], architecture) &&
                   good;
    return good;
}

int main(int argc, char **argv)
{
    rung_kernel *kernel;
    bool good = true;
    if (argc < 3) {
        fprintf(stderr, "usage: compile_table LIBNVRTC KERNELS_FOLDER [sm_86 ...]\n");
        return 2;
    }
    nvrtc nvrtc = load(argv[1]);
    read_headers(argv[2]);
    int count = argc - 3;
    const char *const *architectures = (const char *const *)argv + 3;
    if (count == 0) {
        architectures = all_architectures;
        count = sizeof all_architectures / sizeof *all_architectures;
    }
    printf("kernel\tparams\tdtype\tpath\tarch\tregisters\tshared\tspills\n");
    for (int64_t i = 0; rung_kernel_at(NULL, "opencl", i, &kernel) == RUNG_OK; i++)
        for (int j = 0; rung_kernel_describe(kernel)->number > 0 && j < count; j++)
            good = compile_all(&nvrtc, kernel, architectures[j]) && good;
    return good ? 0 : 1;
}
