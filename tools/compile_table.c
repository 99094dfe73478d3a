/* SPDX-License-Identifier: Apache-2.0 */
/* compile_table - what NVIDIA's compiler makes of the kernels, with no GPU.
 *
 *   compile_table LIBNVRTC KERNELS_FOLDER [sm_86 ...] [07 ...]
 *
 * Compiles every kernel of the ladder for each architecture: what a plan takes by
 * default in each type and on each path (see tile.h), with an epilogue, cut along k, and
 * told both at run time (see epilogue.h), and its presets in f32; of preset small also the
 * path for run time and, of the top of the ladder, the wide ones; of those for matrix engines
 * what the architecture's engine multiplies. Prints a line each: kernel, parameters, type,
 * path, architecture, registers a thread, shared bytes a block, spilled bytes. Exits with
 * 1 if one does not compile or spills. Architectures and kernels are all there are, unless
 * some are named.
 *
 * NVRTC is opened at run time; the few functions that are used are declared here,
 * so that no CUDA header is needed. */
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/type_pair.h"
#include "rung/rung.h"

static const char *const all_architectures[] = {"sm_60", "sm_61", "sm_70", "sm_75",  "sm_80",
                                                "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};

typedef struct nvrtc_program nvrtc_program_t;

/* NVRTC's C interface, as nvrtc.h declares it; results are 0 for success. */
typedef struct nvrtc {
    int (*create)(nvrtc_program_t **, const char *source, const char *name, int headers,
                  const char *const *header_texts, const char *const *header_names);
    int (*compile)(nvrtc_program_t *, int options, const char *const *option_texts);
    int (*log_size)(nvrtc_program_t *, size_t *);
    int (*log)(nvrtc_program_t *, char *);
    int (*destroy)(nvrtc_program_t **);
} nvrtc_t;

static void load_symbol(void *library, const char *name, void *slot)
{
    void *address = dlsym(library, name);
    if (!address) {
        fprintf(stderr, "compile_table: %s is not in the library\n", name);
        exit(2);
    }
    memcpy(slot, &address, sizeof address);
}

static nvrtc_t load(const char *path)
{
    nvrtc_t nvrtc;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "compile_table: %s\n", dlerror());
        exit(2);
    }
    load_symbol(library, "nvrtcCreateProgram", &nvrtc.create);
    load_symbol(library, "nvrtcCompileProgram", &nvrtc.compile);
    load_symbol(library, "nvrtcGetProgramLogSize", &nvrtc.log_size);
    load_symbol(library, "nvrtcGetProgramLog", &nvrtc.log);
    load_symbol(library, "nvrtcDestroyProgram", &nvrtc.destroy);
    return nvrtc;
}

/* The headers of the kernels' folder, all there are. */
enum { HEADERS_MAX = 32, HEADER_LENGTH = 1 << 16 };

static const char *header_names[HEADERS_MAX], *header_texts[HEADERS_MAX];
static int header_count;

static void read_header(const char *folder, const char *name)
{
    static char names[HEADERS_MAX][64], texts[HEADERS_MAX][HEADER_LENGTH];
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(texts[header_count], 1, HEADER_LENGTH - 1, file) : 0;
    if (!file || length == 0 || length == HEADER_LENGTH - 1) {
        fprintf(stderr, "compile_table: %s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    snprintf(names[header_count], sizeof *names, "%s", name);
    header_names[header_count] = names[header_count];
    header_texts[header_count] = texts[header_count];
    header_count++;
}

static void read_headers(const char *folder)
{
    DIR *all = opendir(folder);
    const struct dirent *entry;
    while (all && header_count < HEADERS_MAX && (entry = readdir(all))) {
        size_t length = strlen(entry->d_name);
        if (length > 2 && strcmp(entry->d_name + length - 2, ".h") == 0)
            read_header(folder, entry->d_name);
    }
    if (all)
        closedir(all);
    if (header_count == 0) {
        fprintf(stderr, "compile_table: %s has no headers\n", folder);
        exit(2);
    }
}

/* The paths of a kernel that includes tile.h, and what they are compiled with. */
typedef struct path {
    const char *name;
    const char *defines; /* "NAME=value,...", like parameters */
} compile_path_t;

static const compile_path_t paths[] = {
    {"general", ""},
    {"wide", "WIDE=1,GUARDED=0"},
    {"wide_guarded", "WIDE=1,GUARDED=1"},
};

/* What is added to the paths of f32: everything an epilogue may have, and a cut k. */
static const compile_path_t f32_paths[] = {
    {"wide_epilogue", "WIDE=1,GUARDED=0,BIAS=1,ACTIVATION=2,RESIDUAL=1"},
    {"general_split", "SPLIT=1"},
    {"wide_split", "WIDE=1,GUARDED=0,SPLIT=1"},
};

/* Of a matrix engine's operands: how they stand decides how they are read (see swizzle.h);
 * and chunks that an edge cuts. */
static const compile_path_t engine_paths[] = {
    {"wide_along_k", "WIDE=1,GUARDED=1,B_MN_MAJOR=0"},
    {"wide_along_l", "WIDE=1,GUARDED=1,A_MN_MAJOR=1"},
    {"wide_turned", "WIDE=1,GUARDED=1,A_MN_MAJOR=1,B_MN_MAJOR=0"},
    {"wide_partly", "WIDE=2,GUARDED=1"},
    {"wide_epilogue", "WIDE=1,GUARDED=1,B_MN_MAJOR=0,BIAS=1,ACTIVATION=1,RESIDUAL=1"},
    {"wide_split", "WIDE=1,GUARDED=1,B_MN_MAJOR=0,SPLIT=1"},
};

static const compile_path_t only_path = {"-", ""};

/* For machines without a compiler: see RUNTIME_FLAGS in epilogue.h. */
static const compile_path_t run_time = {"run_time", "RUNTIME_FLAGS=1"};

/* Of every type; gelu is not for whole numbers. */
static const compile_path_t epilogue = {"general_epilogue", "BIAS=1,ACTIVATION=2,RESIDUAL=1"};
static const compile_path_t integer_epilogue = {"general_epilogue", "BIAS=1,ACTIVATION=1,RESIDUAL=1"};

enum {
    PATHS = sizeof paths / sizeof *paths,
    MORE_PATHS = sizeof f32_paths / sizeof *f32_paths,
    ENGINE_PATHS = sizeof engine_paths / sizeof *engine_paths
};

/* The products, and what they are compiled with: "IN_F32,OUT_F16". */
static compile_path_t products[LAB_TYPE_PAIRS_MAX];

static void write_defines(lab_type_pair product, char *text, size_t capacity)
{
    snprintf(text, capacity, "IN_%s,OUT_%s", rung_type_name(product.in), rung_type_name(product.out));
    for (char *at = text; *at; at++)
        *at = (char)toupper((unsigned char)*at);
}

static void find_products(void)
{
    static char defines[LAB_TYPE_PAIRS_MAX][48];
    for (int i = 0; i < lab_type_pair_count(); i++) {
        write_defines(lab_type_pair_at(i), defines[i], sizeof defines[i]);
        products[i] = (compile_path_t){lab_type_pair_name(lab_type_pair_at(i)), defines[i]};
    }
}

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
static bool compile(const nvrtc_t *nvrtc, const rung_kernel_info *kernel, const char *parameters,
                    const compile_path_t *product, const compile_path_t *path, const char *architecture)
{
    const char *options[32];
    char texts[32][64], target[64], log[1 << 14] = "";
    nvrtc_program_t *program;
    size_t size = 0;
    int count = define_options(parameters, texts, options, 0);
    count = define_options(path->defines, texts, options, count);
    count = define_options(product->defines, texts, options, count);
    snprintf(target, sizeof target, "--gpu-architecture=%s", architecture);
    options[count++] = target;
    options[count++] = "--ptxas-options=-v";
    if (nvrtc->create(&program, kernel->source, kernel->file, header_count, header_texts, header_names) != 0)
        return false;
    bool good = nvrtc->compile(program, count, options) == 0;
    if (nvrtc->log_size(program, &size) == 0 && size <= sizeof log)
        nvrtc->log(program, log);
    nvrtc->destroy(&program);
    if (!good) {
        fprintf(stderr, "%s %s %s %s %s does not compile:\n%s\n", kernel->name, parameters, product->name, path->name,
                architecture, log);
        return false;
    }
    long registers = number_before(log, " registers"), shared = number_before(log, " bytes smem");
    long spills = number_before(log, " bytes spill stores") + number_before(log, " bytes spill loads");
    printf("%s\t%s\t%s\t%s\t%s\t%ld\t%ld\t%ld\n", kernel->name, *parameters ? parameters : "-", product->name,
           path->name, architecture, registers, shared, spills);
    return registers > 0 && spills == 0;
}

/* Returns whether a preset is for every type on GPUs. The others are for processors, for slow checkers, for one
 * architecture, for sums of one type, which are compiled in that, or for one compute mode. */
static bool is_for_gpus(const rung_preset *preset)
{
    static const char *const others[] = {"tiny", "f64", "i32", "tf32x3", "bf16x3"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(preset->name, others[i]) == 0)
            return false;
    return strncmp(preset->name, "cpu", 3) != 0 && strncmp(preset->name, "sm_", 3) != 0;
}

static const char *preset_of(const rung_kernel *kernel, const char *name)
{
    for (int64_t i = 0; i < rung_kernel_describe(kernel)->preset_count; i++)
        if (strcmp(rung_kernel_preset(kernel, i)->name, name) == 0)
            return rung_kernel_preset(kernel, i)->parameters;
    return NULL;
}

/* What a plan takes on a GPU where no parameters are given: the preset for its sums. */
static const char *parameters_of(const rung_kernel *kernel, int product)
{
    const char *preset = preset_of(kernel, rung_type_name(lab_type_pair_accumulator(lab_type_pair_at(product))));
    return preset ? preset : rung_kernel_describe(kernel)->defaults;
}

static const compile_path_t *epilogue_of(int product)
{
    return lab_type_pair_accumulator(lab_type_pair_at(product)) == RUNG_I32 ? &integer_epilogue : &epilogue;
}

/* The preset for an architecture, or its small one, where there is one. */
static const char *preset_for(const rung_kernel *kernel, const char *architecture, const char *size)
{
    char name[32];
    snprintf(name, sizeof name, "%s%s%s", architecture, *size ? "_" : "", size);
    const char *meant = preset_of(kernel, name);
    return meant ? meant : *size ? preset_of(kernel, size) : rung_kernel_describe(kernel)->defaults;
}

/* A matrix engine's kernel, in what the architecture's engine multiplies: what a plan takes,
 * on every path where C's type is that of A and B, or of their sums; else as it is carried,
 * and as a plain multiply takes it. */
static bool compile_engine(const nvrtc_t *nvrtc, const rung_kernel *kernel, const char *architecture)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    const char *small = preset_for(kernel, architecture, "small");
    bool has_paths = strstr(info->source, "#include \"tile.h\"") != NULL, good = true;
    for (int i = 0; i < lab_type_pair_count(); i++) {
        bool is_main = !strchr(products[i].name, ':');
        lab_type_pair product = lab_type_pair_at(i);
        int min_sm;
        if (!rung_kernel_supports(kernel, product.in, product.in, product.out, &min_sm) ||
            atoi(architecture + 3) < min_sm)
            continue;
        bool is_f64 = product.in == RUNG_F64; /* its sums do not fit the registers of the other presets */
        const char *usual = is_f64 ? preset_of(kernel, "f64") : preset_for(kernel, architecture, "");
        good = compile(nvrtc, info, usual, &products[i], &run_time, architecture) && good;
        good = compile(nvrtc, info, usual, &products[i], has_paths ? &paths[2] : &only_path, architecture) && good;
        for (int j = 0; is_main && has_paths && j < ENGINE_PATHS; j++)
            good = compile(nvrtc, info, usual, &products[i], &engine_paths[j], architecture) && good;
        if (is_main && has_paths)
            good = compile(nvrtc, info, usual, &products[i], &paths[0], architecture) && good;
        if (is_main)
            good = compile(nvrtc, info, usual, &products[i], epilogue_of(i), architecture) && good;
        if (!small)
            continue;
        good = compile(nvrtc, info, small, &products[i], &run_time, architecture) && good;
        for (int j = 0; is_main && j < 2; j++)
            good = compile(nvrtc, info, small, &products[i], j ? &engine_paths[0] : &paths[2], architecture) && good;
        for (int64_t j = 0; is_main && !is_f64 && j < info->preset_count; j++)
            if (is_for_gpus(rung_kernel_preset(kernel, j)) && strcmp(rung_kernel_preset(kernel, j)->name, "small") != 0)
                good = compile(nvrtc, info, rung_kernel_preset(kernel, j)->parameters, &products[i], &engine_paths[0],
                               architecture) &&
                       good;
    }
    return good;
}

/* A kernel with the instructions of one architecture, "sm_90a": the paths of 16-byte chunks, which it has only. Elements
 * of one byte must be K-major. */
static bool compile_specific(const nvrtc_t *nvrtc, const rung_kernel *kernel, const char *architecture)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    char specific[64];
    bool good = true;
    if (atoi(architecture + 3) != info->only_sm)
        return true;
    snprintf(specific, sizeof specific, "%sa", architecture);
    for (int i = 0; i < lab_type_pair_count(); i++) {
        lab_type_pair product = lab_type_pair_at(i);
        if (!rung_kernel_supports(kernel, product.in, product.in, product.out, NULL))
            continue;
        for (int j = 0; j < ENGINE_PATHS; j++)
            if ((rung_type_size(product.in) == 2 || strstr(engine_paths[j].defines, "GUARDED=1,B_MN_MAJOR=0")) &&
                strcmp(engine_paths[j].name, "wide_partly") != 0)
                good = compile(nvrtc, info, info->defaults, &products[i], &engine_paths[j], specific) && good;
        for (int64_t j = 0; j < info->preset_count; j++)
            if (is_for_gpus(rung_kernel_preset(kernel, j)))
                good = compile(nvrtc, info, rung_kernel_preset(kernel, j)->parameters, &products[i], &engine_paths[0],
                               specific) &&
                       good;
    }
    return good;
}

static bool takes(const rung_kernel *kernel, int product)
{
    lab_type_pair pair = lab_type_pair_at(product);
    return rung_kernel_supports(kernel, pair.in, pair.in, pair.out, NULL);
}

static bool compile_all(const nvrtc_t *nvrtc, const rung_kernel *kernel, bool is_top, const char *architecture)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    bool has_paths = strstr(info->source, "#include \"tile.h\"") != NULL, good = true;
    const compile_path_t *all = has_paths ? paths : &only_path;
    if (info->only_sm > 0)
        return compile_specific(nvrtc, kernel, architecture);
    if (info->engine != RUNG_ENGINE_NONE)
        return compile_engine(nvrtc, kernel, architecture);
    for (int i = 0; i < lab_type_pair_count(); i++) {
        const char *parameters = parameters_of(kernel, i);
        if (!takes(kernel, i))
            continue;
        for (int j = 0; j < (has_paths ? PATHS : 1); j++)
            good = compile(nvrtc, info, parameters, &products[i], &all[j], architecture) && good;
        if (has_paths) {
            good = compile(nvrtc, info, parameters, &products[i], epilogue_of(i), architecture) && good;
            good = compile(nvrtc, info, parameters, &products[i], &run_time, architecture) && good;
        }
    }
    for (int i = 0; has_paths && i < MORE_PATHS; i++)
        good = compile(nvrtc, info, info->defaults, &products[0], &f32_paths[i], architecture) && good;
    for (int64_t i = 0; i < info->preset_count; i++)
        if (is_for_gpus(rung_kernel_preset(kernel, i)))
            good = compile(nvrtc, info, rung_kernel_preset(kernel, i)->parameters, &products[0], &all[0],
                           architecture) &&
                   good;
    const char *small = preset_of(kernel, "small");
    for (int i = 0; small && i < lab_type_pair_count(); i++)
        if (takes(kernel, i) && strcmp(small, parameters_of(kernel, i)) != 0) /* else it is there already */
            good = compile(nvrtc, info, small, &products[i], &run_time, architecture) && good;
    for (int i = 1; small && is_top && i < PATHS; i++)
        good = compile(nvrtc, info, small, &products[0], &paths[i], architecture) && good;
    return good;
}

/* The second half of a cut k, which is no step of the ladder. */
static bool compile_reduce(const nvrtc_t *nvrtc, const char *folder, const char *architecture)
{
    static char text[1 << 14];
    char path_name[1024];
    snprintf(path_name, sizeof path_name, "%s/reduce.cu", folder);
    FILE *file = fopen(path_name, "rb");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    if (length == 0 || length == sizeof text - 1) {
        fprintf(stderr, "compile_table: %s cannot be read\n", path_name);
        return false;
    }
    const rung_kernel_info info = {.name = "reduce", .file = "reduce.cu", .source = text};
    bool good = true;
    for (int i = 0; i < lab_type_pair_count(); i++) {
        if (lab_type_pair_at(i).in > RUNG_I32) /* 8-bit floats use the kernel of F32 */
            continue;
        good = compile(nvrtc, &info, "", &products[i], epilogue_of(i), architecture) && good;
        good = compile(nvrtc, &info, "", &products[i], &run_time, architecture) && good;
    }
    return good;
}

/* What is named on the command line. */
typedef struct wish {
    const char *architectures[32], *kernels[32];
    int architecture_count, kernel_count;
} selection_t;

static selection_t read_selection(int argc, char **argv)
{
    selection_t wish = {.architecture_count = 0};
    for (int i = 3; i < argc && i < 32; i++)
        if (strncmp(argv[i], "sm_", 3) == 0)
            wish.architectures[wish.architecture_count++] = argv[i];
        else
            wish.kernels[wish.kernel_count++] = argv[i];
    if (wish.architecture_count == 0) {
        wish.architecture_count = sizeof all_architectures / sizeof *all_architectures;
        memcpy(wish.architectures, all_architectures, sizeof all_architectures);
    }
    return wish;
}

static bool is_selected(const selection_t *wish, const char *kernel)
{
    for (int i = 0; i < wish->kernel_count; i++)
        if (strncmp(kernel, wish->kernels[i], strlen(wish->kernels[i])) == 0)
            return true;
    return wish->kernel_count == 0;
}

/* Whether this step is the last before those for matrix engines. */
static bool is_top(int64_t step)
{
    rung_kernel *next;
    return rung_kernel_at(NULL, "opencl", step + 1, &next) != RUNG_OK ||
           rung_kernel_describe(next)->engine != RUNG_ENGINE_NONE;
}

int main(int argc, char **argv)
{
    rung_kernel *kernel;
    bool good = true;
    if (argc < 3) {
        fprintf(stderr, "usage: compile_table LIBNVRTC KERNELS_FOLDER [sm_86 ...] [07 ...]\n");
        return 2;
    }
    nvrtc_t nvrtc = load(argv[1]);
    read_headers(argv[2]);
    find_products();
    selection_t wish = read_selection(argc, argv);
    printf("kernel\tparams\tdtype\tpath\tarch\tregisters\tshared\tspills\n");
    for (int64_t i = 0; rung_kernel_at(NULL, "opencl", i, &kernel) == RUNG_OK; i++) {
        const rung_kernel_info *info = rung_kernel_describe(kernel);
        for (int j = 0; info->number > 0 && is_selected(&wish, info->name) && j < wish.architecture_count; j++)
            good = compile_all(&nvrtc, kernel, is_top(i), wish.architectures[j]) && good;
    }
    for (int j = 0; is_selected(&wish, "reduce") && j < wish.architecture_count; j++)
        good = compile_reduce(&nvrtc, argv[2], wish.architectures[j]) && good;
    return good ? 0 : 1;
}
