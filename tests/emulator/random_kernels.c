/* SPDX-License-Identifier: Apache-2.0 */
/* random_kernels.c - runs random kernels in the emulator and on the host, and compares all bits of the results.
 *
 *     random_kernels --nvrtc LIBRARY [--kernels N] [--seed S] [--batch B] [--folder FOLDER] [--compiler PROGRAM]
 *
 * Writes N kernels (500 unless told) as C, B per file (25). NVRTC compiles each file to PTX for the emulator, the host's
 * compiler (gcc unless told) compiles it for the host; neither contracts products and sums. Files of batches that fail stay in
 * FOLDER. The batches use different target architectures, and some are compiled for debugging. Kernel i of a batch with seed S
 * depends on S + i alone. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvrtc_program.h"
#include "random_source.h"
#include "rung/emulator.h"

enum { BLOCKS = 3, THREADS = BLOCKS * RANDOM_BLOCK };
static const uint32_t special_words[] = {0,          1,          2,          0xffffffff, 0x80000000, 0x7fffffff,
                                         0x7f800000, 0xff800000, 0x7fc00001, 0x3f800000, 0xbf800000, 0x00000001,
                                         0x007fffff, 0x00800000, 0x7f7fffff, 0x4b800000};

typedef struct run {
    long long kernels, seed, batch;
    const char *folder, *nvrtc, *compiler;
    long long passed, failed, refused;
    uint32_t in[THREADS * RANDOM_INPUTS], expected[THREADS * RANDOM_OUTPUTS], got[THREADS * RANDOM_OUTPUTS];
} run_t;

/* ---- Compilers ----------------------------------------------------------------------------------------------------- */

/* Writes the source of a batch and compiles it for the host. */
static bool compile_for_host(const run_t *run, uint64_t seed, int count, int batch)
{
    char path[512], command[2048];
    snprintf(path, sizeof path, "%s/random.cu", run->folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    random_source_write(file, seed, count);
    if (fclose(file) != 0)
        return false;
    snprintf(command, sizeof command,
             "%s -x c -std=gnu11 -O0 -w -ffp-contract=off -fno-strict-aliasing -fPIC -shared -o %s/random%d.so "
             "%s/random.cu -lm",
             run->compiler, run->folder, batch, run->folder);
    return system(command) == 0;
}

/* Compiles a source with NVRTC. Returns the PTX, or NULL. */
static char *compile_for_device(const char *source, int batch, size_t *bytes)
{
    static const char *const variants[][2] = {{"--gpu-architecture=compute_86", "--generate-line-info"},
                                              {"--gpu-architecture=compute_75", ""},
                                              {"--gpu-architecture=compute_90", ""},
                                              {"--gpu-architecture=compute_86", "--device-debug"},
                                              {"--gpu-architecture=compute_120", ""},
                                              {"--gpu-architecture=compute_61", ""}};
    const char *options[] = {"--fmad=false", "--disable-warnings", variants[batch % 6][0], variants[batch % 6][1]};
    return nvrtc_compile("random.cu", source, *options[3] ? 4 : 3, options, bytes);
}

static char *read_text(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = size > 0 ? calloc(1, (size_t)size + 1) : NULL;
    *bytes = text ? fread(text, 1, (size_t)size, file) : 0;
    fclose(file);
    return text;
}

/* ---- Execution ----------------------------------------------------------------------------------------------------- */

static bool run_on_emulator(run_t *run, rung_emulator *emulator, rung_emulator_module *module, const char *name)
{
    rung_emulator_kernel *kernel;
    uint64_t in, out;
    bool is_done = false;
    if (rung_emulator_kernel_find(module, name, &kernel) != RUNG_OK ||
        rung_emulator_allocate(emulator, sizeof run->in, "in", &in) != RUNG_OK ||
        rung_emulator_allocate(emulator, sizeof run->got, "out", &out) != RUNG_OK)
        return false;
    void *arguments[] = {&in, &out};
    rung_emulator_launch launch = rung_emulator_launch_of(BLOCKS, RANDOM_BLOCK, arguments);
    if (rung_emulator_write(emulator, in, run->in, sizeof run->in) == RUNG_OK &&
        rung_emulator_fill(emulator, out, 0, 4, THREADS * RANDOM_OUTPUTS) == RUNG_OK)
        is_done = rung_emulator_launch_kernel(kernel, &launch) == RUNG_OK &&
                  rung_emulator_read(emulator, out, run->got, sizeof run->got) == RUNG_OK;
    rung_emulator_free(emulator, in);
    rung_emulator_free(emulator, out);
    return is_done;
}

static bool compare_kernel(run_t *run, rung_emulator *emulator, rung_emulator_module *module, void *library, int index,
                           uint64_t seed)
{
    char name[32];
    void (*on_host)(const uint32_t *, uint32_t *, int);
    snprintf(name, sizeof name, "k%d", index);
    *(void **)&on_host = dlsym(library, name);
    if (!on_host || !run_on_emulator(run, emulator, module, name)) {
        printf("kernel %s of seed %llu does not run: %s\n", name, (unsigned long long)seed, rung_error_text());
        return false;
    }
    memset(run->expected, 0, sizeof run->expected);
    on_host(run->in, run->expected, BLOCKS);
    for (int i = 0; i < THREADS * RANDOM_OUTPUTS; i++)
        if (run->expected[i] != run->got[i]) {
            printf("kernel %s of seed %llu, thread %d, word %d: 0x%08x; the host computes 0x%08x\n", name,
                   (unsigned long long)seed, i / RANDOM_OUTPUTS, i % RANDOM_OUTPUTS, run->got[i], run->expected[i]);
            return false;
        }
    return true;
}

static void fill_inputs(run_t *run, uint64_t seed)
{
    uint64_t state = seed * 2862933555777941757u + 3037000493u;
    for (int i = 0; i < THREADS * RANDOM_INPUTS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint32_t random = (uint32_t)(state >> 32), choice = (uint32_t)(state >> 20 & 7);
        run->in[i] = choice == 0   ? special_words[random % (sizeof special_words / sizeof *special_words)]
                     : choice < 3  ? random % 64
                     : choice == 3 ? 0x3f000000 + random % 0x2000000 /* floats near 1 */
                                   : random;
    }
}

/* Keeps source and PTX of a batch. */
static void keep_files(const run_t *run, int batch, const char *ptx)
{
    char path[512], kept[512];
    snprintf(path, sizeof path, "%s/random.cu", run->folder);
    snprintf(kept, sizeof kept, "%s/failed%d.cu", run->folder, batch);
    if (rename(path, kept) != 0)
        printf("the source of batch %d cannot be kept\n", batch);
    snprintf(kept, sizeof kept, "%s/failed%d.ptx", run->folder, batch);
    FILE *file = ptx ? fopen(kept, "w") : NULL;
    if (file) {
        fputs(ptx, file);
        fclose(file);
    }
}

/* Returns the number of kernels that are not executed. */
static long long run_batch(run_t *run, int batch, int count)
{
    char path[512];
    size_t bytes;
    uint64_t seed = (uint64_t)run->seed + (uint64_t)(batch * run->batch);
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_options options = rung_emulator_options_default();
    long long failed = 0, before = run->failed;
    if (!compile_for_host(run, seed, count, batch) || rung_emulator_create(&options, &emulator) != RUNG_OK) {
        printf("batch of seed %llu does not compile\n", (unsigned long long)seed);
        return count;
    }
    snprintf(path, sizeof path, "%s/random.cu", run->folder);
    char *source = read_text(path, &bytes);
    char *text = source ? compile_for_device(source, batch, &bytes) : NULL;
    snprintf(path, sizeof path, "%s/random%d.so", run->folder, batch);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!text || !library || rung_emulator_module_load(emulator, "random.ptx", text, bytes, &module) != RUNG_OK) {
        printf("batch of seed %llu does not load: %s\n", (unsigned long long)seed, rung_error_text());
        failed = count;
    }
    for (int i = 0; !failed && i < count; i++) {
        fill_inputs(run, seed + (uint64_t)i);
        bool is_equal = compare_kernel(run, emulator, module, library, i, seed);
        run->passed += is_equal;
        run->failed += !is_equal;
    }
    if (library)
        dlclose(library);
    remove(path);
    if (failed || run->failed > before)
        keep_files(run, batch, text);
    free(source);
    free(text);
    rung_emulator_destroy(emulator);
    return failed;
}

static bool read_arguments(run_t *run, int count, char **arguments)
{
    for (int i = 1; i + 1 < count; i += 2) {
        const char *value = arguments[i + 1];
        if (strcmp(arguments[i], "--kernels") == 0)
            run->kernels = atoll(value);
        else if (strcmp(arguments[i], "--seed") == 0)
            run->seed = atoll(value);
        else if (strcmp(arguments[i], "--batch") == 0)
            run->batch = atoll(value);
        else if (strcmp(arguments[i], "--folder") == 0)
            run->folder = value;
        else if (strcmp(arguments[i], "--nvrtc") == 0)
            run->nvrtc = value;
        else if (strcmp(arguments[i], "--compiler") == 0)
            run->compiler = value;
        else
            return false;
    }
    return count % 2 == 1 && run->nvrtc && run->kernels > 0 && run->batch > 0 && run->batch <= 1000;
}

int main(int count, char **arguments)
{
    static run_t run = {.kernels = 500, .seed = 1, .batch = 25, .folder = "/tmp", .compiler = "gcc"};
    if (!read_arguments(&run, count, arguments)) {
        fprintf(stderr, "usage: random_kernels --nvrtc LIBRARY [--kernels N] [--seed S] [--batch 1..1000] "
                        "[--folder FOLDER] [--compiler PROGRAM]\n");
        return 2;
    }
    const char *error = nvrtc_load(run.nvrtc);
    if (error) {
        fprintf(stderr, "random_kernels: NVRTC cannot be used: %s\n", error);
        return 77;
    }
    int batch = 0;
    for (long long done = 0; done < run.kernels; done += run.batch, batch++) {
        long long left = run.kernels - done;
        run.refused += run_batch(&run, batch, (int)(left < run.batch ? left : run.batch));
        if (batch % 10 == 9)
            fprintf(stderr, "%lld equal, %lld different, %lld not executed\n", run.passed, run.failed, run.refused);
        fflush(stdout);
    }
    printf("%lld kernels, seeds %lld to %lld, %d threads each with %d results: %lld equal, %lld different, "
           "%lld not executed\n",
           run.kernels, run.seed, run.seed + run.kernels - 1, THREADS, RANDOM_OUTPUTS, run.passed, run.failed,
           run.refused);
    return run.failed || run.refused;
}
