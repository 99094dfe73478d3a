/* SPDX-License-Identifier: Apache-2.0 */
/* compile_table - what NVIDIA's compiler makes of the kernels, with no GPU.
 *
 *   compile_table LIBNVRTC KERNELS_FOLDER [sm_86 ...] [07 ...]
 *
 * Compiles every kernel for each architecture: the default parameters in each type and on each
 * path (see tile.h), with an epilogue, with split-K, and with both as run-time flags (see
 * epilogue.h); the presets in f32. Kernels for matrix engines are compiled for the types and
 * compute modes that the engine of the architecture has. Prints one line per compilation:
 * kernel, parameters, type, path, architecture, registers per thread, bytes of shared memory
 * per block, spilled bytes. Exits with 1 if one does not compile or spills registers. Compiles
 * only the named architectures and kernels if there are any on the command line.
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

/* All headers of the folder of kernels. */
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

/* The paths of a kernel that includes tile.h, and their macros. */
typedef struct path {
    const char *name;
    const char *defines; /* "NAME=value,...", like parameters */
} compile_path_t;

static const compile_path_t paths[] = {
    {"general", ""},
    {"wide", "WIDE=1,GUARDED=0"},
    {"wide_guarded", "WIDE=1,GUARDED=1"},
};

/* More paths of f32: an epilogue with all of its parts, and split-K. */
static const compile_path_t f32_paths[] = {
    {"wide_epilogue", "WIDE=1,GUARDED=0,BIAS=1,ACTIVATION=2,RESIDUAL=1"},
    {"general_split", "SPLIT=1"},
    {"wide_split", "WIDE=1,GUARDED=0,SPLIT=1"},
};

/* The paths of a kernel for a matrix engine: the layouts of A and B (see swizzle.h), and chunks that cross an edge. */
static const compile_path_t engine_paths[] = {
    {"wide_along_k", "WIDE=1,GUARDED=1,B_MN_MAJOR=0"},
    {"wide_along_l", "WIDE=1,GUARDED=1,A_MN_MAJOR=1"},
    {"wide_turned", "WIDE=1,GUARDED=1,A_MN_MAJOR=1,B_MN_MAJOR=0"},
    {"wide_partly", "WIDE=2,GUARDED=1"},
    {"wide_epilogue", "WIDE=1,GUARDED=1,B_MN_MAJOR=0,BIAS=1,ACTIVATION=1,RESIDUAL=1"},
    {"wide_split", "WIDE=1,GUARDED=1,B_MN_MAJOR=0,SPLIT=1"},
};

static const compile_path_t only_path = {"-", ""};

/* The embedded code, for machines without a compiler: see RUNTIME_FLAGS in epilogue.h. */
static const compile_path_t run_time = {"run_time", "RUNTIME_FLAGS=1"};

/* The epilogues of all types. Integers have no gelu. */
static const compile_path_t epilogue = {"general_epilogue", "BIAS=1,ACTIVATION=2,RESIDUAL=1"};
static const compile_path_t integer_epilogue = {"general_epilogue", "BIAS=1,ACTIVATION=1,RESIDUAL=1"};

enum {
    PATHS = sizeof paths / sizeof *paths,
    MORE_PATHS = sizeof f32_paths / sizeof *f32_paths,
    ENGINE_PATHS = sizeof engine_paths / sizeof *engine_paths
};

/* The type combinations, and their macros: "IN_F32,OUT_F16". */
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

/* Returns the number before `words` in the report of ptxas, or 0 if the report does not have them. */
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

/* Appends "-DNAME=16" for each part of "NAME=16,OTHER=4" to the options. Their texts are in `texts`. */
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

/* Compiles one variant and prints its line. Returns false if it does not compile or spills registers. */
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

/* Returns true if a preset is for all types on GPUs. The others are for CPUs, for slow checkers, for one
 * architecture, for sums of one type or for one compute mode. */
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

/* Returns the default parameters on a GPU: the preset for the type of the sums, if the kernel has one. */
static const char *parameters_of(const rung_kernel *kernel, int product)
{
    const char *preset = preset_of(kernel, rung_type_name(lab_type_pair_accumulator(lab_type_pair_at(product))));
    return preset ? preset : rung_kernel_describe(kernel)->defaults;
}

static const compile_path_t *epilogue_of(int product)
{
    return lab_type_pair_accumulator(lab_type_pair_at(product)) == RUNG_I32 ? &integer_epilogue : &epilogue;
}

/* Returns the preset for an architecture, or its preset `size`: "sm_75_small", else "small". */
static const char *preset_for(const rung_kernel *kernel, const char *architecture, const char *size)
{
    char name[32];
    snprintf(name, sizeof name, "%s%s%s", architecture, *size ? "_" : "", size);
    const char *meant = preset_of(kernel, name);
    return meant ? meant : *size ? preset_of(kernel, size) : rung_kernel_describe(kernel)->defaults;
}

/* Compiles F32 in a mode that splits each element into terms, with the preset of that name. */
static bool compile_split_mode(const nvrtc_t *nvrtc, const rung_kernel *kernel, rung_compute mode,
                               const char *architecture)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    const char *parameters = preset_of(kernel, rung_compute_name(mode));
    char defines[64];
    int min_sm;
    bool good = true;
    if (!parameters || !rung_kernel_supports(kernel, RUNG_F32, RUNG_F32, RUNG_F32, &min_sm) ||
        atoi(architecture + 3) < min_sm)
        return true;
    snprintf(defines, sizeof defines, "IN_F32,OUT_F32,COMPUTE=%d", (int)mode);
    const compile_path_t product = {rung_compute_name(mode), defines};
    good = compile(nvrtc, info, parameters, &product, &paths[0], architecture) && good;
    good = compile(nvrtc, info, parameters, &product, &paths[2], architecture) && good;
    for (int i = 0; i < ENGINE_PATHS; i++)
        good = compile(nvrtc, info, parameters, &product, &engine_paths[i], architecture) && good;
    return good;
}

/* Compiles a kernel for a matrix engine, in the types that the engine of the architecture multiplies: on all paths if
 * A, B and C have one type, else as it is embedded and on the path of a plain multiply. */
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
    good = compile_split_mode(nvrtc, kernel, RUNG_COMPUTE_TF32X3, architecture) && good;
    return compile_split_mode(nvrtc, kernel, RUNG_COMPUTE_BF16X3, architecture) && good;
}

/* Compiles a kernel with the instructions of one architecture, "sm_90a". It only has the paths of 16-byte chunks, and
 * elements of one byte must be K-major. */
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
        if (takes(kernel, i) && strcmp(small, parameters_of(kernel, i)) != 0) /* else it is compiled above */
            good = compile(nvrtc, info, small, &products[i], &run_time, architecture) && good;
    for (int i = 1; small && is_top && i < PATHS; i++)
        good = compile(nvrtc, info, small, &products[0], &paths[i], architecture) && good;
    return good;
}

/* Compiles the second launch of split-K, which adds the partial sums. It is not in the list of kernels. */
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

/* The architectures and kernels that the command line names. */
typedef struct selection {
    const char *architectures[32], *kernels[32];
    int architecture_count, kernel_count;
} selection_t;

static selection_t read_selection(int argc, char **argv)
{
    selection_t selection = {.architecture_count = 0};
    for (int i = 3; i < argc && i < 32; i++)
        if (strncmp(argv[i], "sm_", 3) == 0)
            selection.architectures[selection.architecture_count++] = argv[i];
        else
            selection.kernels[selection.kernel_count++] = argv[i];
    if (selection.architecture_count == 0) {
        selection.architecture_count = sizeof all_architectures / sizeof *all_architectures;
        memcpy(selection.architectures, all_architectures, sizeof all_architectures);
    }
    return selection;
}

static bool is_selected(const selection_t *selection, const char *kernel)
{
    for (int i = 0; i < selection->kernel_count; i++)
        if (strncmp(kernel, selection->kernels[i], strlen(selection->kernels[i])) == 0)
            return true;
    return selection->kernel_count == 0;
}

/* Returns true for the last kernel before those for matrix engines. */
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
    selection_t selection = read_selection(argc, argv);
    printf("kernel\tparams\tdtype\tpath\tarch\tregisters\tshared\tspills\n");
    for (int64_t i = 0; rung_kernel_at(NULL, "opencl", i, &kernel) == RUNG_OK; i++) {
        const rung_kernel_info *info = rung_kernel_describe(kernel);
        for (int j = 0; info->number > 0 && is_selected(&selection, info->name) && j < selection.architecture_count;
             j++)
            good = compile_all(&nvrtc, kernel, is_top(i), selection.architectures[j]) && good;
    }
    for (int j = 0; is_selected(&selection, "reduce") && j < selection.architecture_count; j++)
        good = compile_reduce(&nvrtc, argv[2], selection.architectures[j]) && good;
    return good ? 0 : 1;
}
