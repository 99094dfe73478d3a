/* SPDX-License-Identifier: Apache-2.0 */
/* make_images - a program of the build: compiles what images.def lists, with NVRTC.
 *
 *   make_images LIBNVRTC CACHE_FOLDER OUT_FOLDER [PROCESSES]
 *
 * writes images.bin, all code one after the other, and images.inc, a line an image. It names
 * and finds code by the library's own functions, so that what it makes is what the library
 * looks for, and keeps it in a cache of the same kind: compiling all of it takes minutes,
 * once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/cache.h"
#include "cuda/images.h"
#include "cuda/libraries.h"
#include "cuda/nvrtc.h"
#include "simt/simt.h"
#include "sources.h"

enum {
    ALL = RUNGI_SIMT_PRODUCTS,
    F32 = 1u << RUNGI_F32_TO_F32,
    MAIN = 1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F64_TO_F64 | 1u << RUNGI_F16_TO_F16 | 1u << RUNGI_BF16_TO_BF16 |
           1u << RUNGI_I8_TO_I32 | 1u << RUNGI_I32_TO_I32,
    /* What matrix engines multiply. */
    ENGINE_F16 = 1u << RUNGI_F16_TO_F16 | 1u << RUNGI_F16_TO_F32,
    ENGINE_I8 = 1u << RUNGI_I8_TO_I32,
    ENGINE_REST = 1u << RUNGI_BF16_TO_BF16 | 1u << RUNGI_BF16_TO_F32 | 1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F32_TO_F16 |
                  1u << RUNGI_F32_TO_BF16,
    ENGINE = 1u << RUNGI_F16_TO_F16 | 1u << RUNGI_BF16_TO_BF16 | ENGINE_I8 | F32,
    CUBINS = 0,
    JOBS_MAX = 4096,
    /* PTX of this version is what the oldest driver takes that the library does (CUDA 12.0);
     * nothing newer is used. */
    PTX_MAJOR = 8,
    PTX_MINOR = 0
};
#define PTX(architecture) (architecture)

static const rungi_simt_path plain = {.has_paths = false};
static const rungi_simt_path run_time = {.has_paths = true, .guarded = true, .b_along_l = true, .at_run_time = true};
static const rungi_simt_path wide = {.has_paths = true, .wide = true, .b_along_l = true};
static const rungi_simt_path wide_guarded = {.has_paths = true, .wide = true, .guarded = true, .b_along_l = true};
static const rungi_simt_path wide_along_k = {.has_paths = true, .wide = true, .guarded = true};

static const int architectures[] = {
#define ARCHITECTURE(number) number,
#define IMAGES(kernel, preset, products, path, code)
#include "cuda/images.def"
#undef ARCHITECTURE
#undef IMAGES
};

typedef struct line {
    const char *kernel, *preset;
    unsigned products;
    const rungi_simt_path *path;
    int ptx; /* an architecture, or CUBINS */
} line_t;

static const line_t lines[] = {
#define ARCHITECTURE(number)
#define IMAGES(kernel, preset, products, path, code) {kernel, preset, products, &path, code},
#include "cuda/images.def"
#undef ARCHITECTURE
#undef IMAGES
};

typedef struct job {
    const rung_kernel *kernel;
    rungi_values values;
    rungi_simt_path path;
    int architecture;
    bool to_ptx;
} job_t;

typedef struct maker {
    rungi_nvrtc nvrtc;
    const char *cache;
    rung_context *context;
    rung_kernel *reduce;
    job_t jobs[JOBS_MAX];
    int count;
} maker_t;

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "make_images: %s: %s\n", what, rung_error_text());
    exit(1);
}

/* ---- What to make ---------------------------------------------------------------------------------- */

static const rung_kernel *kernel_of(maker_t *maker, const char *name)
{
    rung_kernel *kernel;
    if (strcmp(name, "reduce") == 0)
        return maker->reduce;
    if (rung_kernel_find(maker->context, "cuda", name, &kernel) != RUNG_OK)
        stop(name);
    return kernel;
}

/* What a plan takes on a GPU of that architecture: by default, or where C is small. */
static void write_parameters(const rung_kernel *kernel, const char *preset, int product, int architecture,
                             char text[RUNGI_PRESET_NAME])
{
    char name[16];
    snprintf(name, sizeof name, "sm_%d", architecture);
    if (*preset)
        rungi_kernel_small_preset(kernel, NULL, name, text);
    else
        rungi_kernel_usual_preset(kernel, NULL, name, rungi_product_sum((rungi_product)product), text);
}

static void add_job(maker_t *maker, const line_t *line, int product, int architecture)
{
    static const rung_type in[] =
        {
#define X(in, out, sum, word) RUNG_##in,
            RUNGI_PRODUCT_LIST(X)
#undef X
        },
                           out[] = {
#define X(in, out, sum, word) RUNG_##out,
                               RUNGI_PRODUCT_LIST(X)
#undef X
                           };
    const rung_kernel *kernel = kernel_of(maker, line->kernel);
    char parameters[RUNGI_PRESET_NAME];
    if (kernel->min_sm[product] > architecture)
        return;
    job_t job = {.kernel = kernel, .path = *line->path, .architecture = architecture, .to_ptx = line->ptx != CUBINS};
    job.path.in = in[product];
    job.path.out = out[product];
    job.path.has_paths = rungi_simt_has_paths(kernel);
    write_parameters(kernel, line->preset, product, architecture, parameters);
    if (rungi_kernel_values(kernel, parameters, rung_type_size(job.path.in), &job.values) != RUNG_OK)
        stop(line->kernel);
    if (maker->count == JOBS_MAX)
        stop("too many images");
    maker->jobs[maker->count++] = job;
}

/* NVRTC 12.9 knows all of the list; an older one makes what it can. */
static bool is_known(const maker_t *maker, int architecture)
{
    return rungi_nvrtc_architecture(&maker->nvrtc, architecture) == architecture;
}

static void tell_unknown(const maker_t *maker)
{
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++)
        if (!is_known(maker, architectures[i]))
            printf("NVRTC %d.%d does not know sm_%d: no images for it\n", maker->nvrtc.major, maker->nvrtc.minor,
                   architectures[i]);
}

static void list_jobs(maker_t *maker)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (int product = 0; product < RUNGI_PRODUCT_COUNT; product++) {
            if (!(lines[i].products & 1u << product))
                continue;
            if (lines[i].ptx != CUBINS && is_known(maker, lines[i].ptx))
                add_job(maker, &lines[i], product, lines[i].ptx);
            for (size_t j = 0; lines[i].ptx == CUBINS && j < sizeof architectures / sizeof *architectures; j++)
                if (is_known(maker, architectures[j]))
                    add_job(maker, &lines[i], product, architectures[j]);
        }
}

/* ---- Making ----------------------------------------------------------------------------------------- */

/* Blanks out hints to the driver's compiler that are newer than that version: which bytes
 * of a load are used. */
static void remove_hints(char *ptx)
{
    static const char hint[] = ".pragma \"used_bytes_mask";
    for (char *at = strstr(ptx, hint); at; at = strstr(at, hint))
        while (*at && *at != '\n')
            *at++ = ' ';
}

/* Says the version that is needed and not that of the compiler. */
static void lower_version(char *ptx)
{
    int major, minor;
    char *at = strstr(ptx, ".version "), text[16];
    // NOLINTNEXTLINE(cert-err34-c): one digit each
    if (!at || sscanf(at, ".version %1d.%1d", &major, &minor) != 2)
        stop("PTX without a version");
    if (major > PTX_MAJOR || (major == PTX_MAJOR && minor > PTX_MINOR)) {
        snprintf(text, sizeof text, "%d.%d", PTX_MAJOR, PTX_MINOR);
        memcpy(at + strlen(".version "), text, 3);
        remove_hints(at);
    }
}

/* ---- Packing ---------------------------------------------------------------------------------------- */

enum { SHORTEST = 4, FARTHEST = 65535, TAIL = 12, HASH_BITS = 16, TRIES = 64 };

/* A length as pack.c reads it: what a token's four bits do not hold. */
static unsigned char *write_length(unsigned char *out, size_t length)
{
    if (length < 15)
        return out;
    for (length -= 15; length >= 255; length -= 255)
        *out++ = 255;
    *out++ = (unsigned char)length;
    return out;
}

static unsigned char *write_sequence(unsigned char *out, const unsigned char *literals, size_t count, size_t distance,
                                     size_t length)
{
    size_t coded = distance ? length - SHORTEST : 0;
    *out++ = (unsigned char)((count < 15 ? count : 15) << 4 | (coded < 15 ? coded : 15));
    out = write_length(out, count);
    memcpy(out, literals, count);
    out += count;
    if (!distance)
        return out;
    *out++ = (unsigned char)distance;
    *out++ = (unsigned char)(distance >> 8);
    return write_length(out, coded);
}

static unsigned hash_of(const unsigned char *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word * 2654435761u >> (32 - HASH_BITS);
}

/* The longest earlier stretch that is the same as what stands here; 0 if none is long
 * enough. Places with one hash are chained, the latest first. */
static size_t find_match(const unsigned char *data, size_t bytes, size_t at, const int *heads, const int *before,
                         size_t *distance)
{
    size_t best = SHORTEST - 1, end = bytes - 5;
    int from = heads[hash_of(data + at)];
    for (int tries = 0; tries < TRIES && from >= 0 && at - (size_t)from <= FARTHEST; tries++, from = before[from]) {
        size_t length = 0;
        while (at + length < end && data[(size_t)from + length] == data[at + length])
            length++;
        if (length > best) {
            best = length;
            *distance = at - (size_t)from;
        }
    }
    return best >= SHORTEST ? best : 0;
}

static void chain(const unsigned char *data, size_t at, int *heads, int *before)
{
    unsigned hash = hash_of(data + at);
    before[at] = heads[hash];
    heads[hash] = (int)at;
}

/* Packs into `out`, which has room for what does not pack at all. */
static size_t pack(const unsigned char *data, size_t bytes, unsigned char *out)
{
    static int heads[1 << HASH_BITS];
    int *before = malloc((bytes + 1) * sizeof *before);
    unsigned char *to = out;
    size_t at = 0, literals = 0, distance = 0;
    memset(heads, -1, sizeof heads);
    while (before && at + TAIL < bytes) {
        size_t length = find_match(data, bytes, at, heads, before, &distance);
        if (length == 0) {
            chain(data, at++, heads, before);
            continue;
        }
        to = write_sequence(to, data + literals, at - literals, distance, length);
        for (size_t i = 0; i < length; i++, at++)
            if (at + TAIL < bytes)
                chain(data, at, heads, before);
        literals = at;
    }
    free(before);
    to = write_sequence(to, data + literals, bytes - literals, 0, 0);
    return (size_t)(to - out);
}

/* ---- Images ------------------------------------------------------------------------------------------ */

/* Compiled and packed. `whole` is its unpacked length. */
static void *make_packed(maker_t *maker, const rungi_nvrtc_job *work, size_t *bytes, size_t *whole)
{
    void *code;
    if (rungi_nvrtc_compile(maker->context, &maker->nvrtc, work, &code, whole) != RUNG_OK)
        stop(work->file);
    if (work->to_ptx)
        lower_version(code);
    unsigned char *packed = rungi_allocate(maker->context, (int64_t)(*whole + *whole / 255 + 64), 1);
    if (!packed)
        stop(work->file);
    *bytes = pack(code, *whole, packed + sizeof *whole) + sizeof *whole;
    memcpy(packed, whole, sizeof *whole); /* so that the cache knows it, too */
    rungi_release(maker->context, code);
    return packed;
}

/* The code of a job, from the cache or compiled now, packed. */
static void *make(maker_t *maker, const job_t *job, char name[RUNGI_CUDA_IMAGE_NAME], size_t *bytes, size_t *whole)
{
    char *source, compiler[64], target[64];
    void *code;
    snprintf(compiler, sizeof compiler, "nvrtc %d.%d", maker->nvrtc.major, maker->nvrtc.minor);
    snprintf(target, sizeof target, "%s_%d", job->to_ptx ? "compute" : "sm", job->architecture);
    rungi_cuda_image_name(job->kernel, &job->values, &job->path, name);
    if (rungi_cuda_image_source(job->kernel, name, &source) != RUNG_OK)
        stop(name);
    rungi_nvrtc_job work = {job->kernel->info.file, source,      strchr(name, ' ') + 1,
                            job->architecture,      job->to_ptx, NULL};
    const char *key[] = {source, work.defines, compiler, target, "packed, PTX 8.0"};
    code = rungi_cache_read(maker->context, maker->cache, key, 5, bytes);
    if (!code || *bytes <= sizeof *whole) {
        code = make_packed(maker, &work, bytes, whole);
        rungi_cache_write(maker->context, maker->cache, key, 5, code, *bytes);
    }
    memcpy(whole, code, sizeof *whole);
    rungi_release(maker->context, source);
    return code;
}

/* Fills the cache, several processes side by side. */
static void make_ahead(maker_t *maker, int processes)
{
    for (int p = 0; p < processes; p++)
        if (fork() == 0) {
            for (int i = p; i < maker->count; i += processes) {
                char name[RUNGI_CUDA_IMAGE_NAME];
                size_t bytes, whole;
                rungi_release(maker->context, make(maker, &maker->jobs[i], name, &bytes, &whole));
            }
            _exit(0);
        }
    while (wait(NULL) > 0)
        ; /* what a process did not make is made, or told, below */
}

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wbe");
    if (!file)
        stop(path);
    return file;
}

static void write_all(maker_t *maker, const char *folder)
{
    FILE *data = create(folder, "images.bin"), *list = create(folder, "images.inc");
    size_t offset = 0, all = 0;
    for (int i = 0; i < maker->count; i++) {
        const job_t *job = &maker->jobs[i];
        char name[RUNGI_CUDA_IMAGE_NAME];
        size_t bytes, whole;
        unsigned char *code = make(maker, job, name, &bytes, &whole);
        bytes -= sizeof whole;
        if (fwrite(code + sizeof whole, 1, bytes, data) != bytes)
            stop("images.bin");
        fprintf(list, "IMAGE(\"%s\", %d, %d, %zu, %zu, %zu)\n", name, job->architecture, job->to_ptx, offset, bytes,
                whole);
        offset += bytes;
        all += whole;
        rungi_release(maker->context, code);
    }
    if (fclose(data) != 0 || fclose(list) != 0)
        stop(folder);
    printf("%d images, %zu bytes, %zu packed, by NVRTC %d.%d\n", maker->count, all, offset, maker->nvrtc.major,
           maker->nvrtc.minor);
}

int main(int argc, char **argv)
{
    static maker_t maker;
    if (argc < 4) {
        fprintf(stderr, "usage: make_images LIBNVRTC CACHE_FOLDER OUT_FOLDER [PROCESSES]\n");
        return 2;
    }
    if (!rungi_nvrtc_load_from(&maker.nvrtc, rungi_cuda_open_library(argv[1])))
        stop(argv[1]);
    if (maker.nvrtc.major != 12) {
        fprintf(stderr,
                "make_images: %s is NVRTC %d; only what NVRTC 12 makes loads with all drivers from "
                "CUDA 12 on\n",
                argv[1], maker.nvrtc.major);
        return 1;
    }
    maker.cache = argv[2];
    if (rung_context_create(NULL, &maker.context) != RUNG_OK ||
        rung_kernel_from_source(maker.context, "cuda", "reduce.cu", rungi_source_reduce, &maker.reduce) != RUNG_OK)
        stop("reduce.cu");
    list_jobs(&maker);
    tell_unknown(&maker);
    make_ahead(&maker, argc > 4 ? (int)strtol(argv[4], NULL, 10) : (int)sysconf(_SC_NPROCESSORS_ONLN));
    write_all(&maker, argv[3]);
    rung_kernel_destroy(maker.reduce);
    rung_context_destroy(maker.context);
    return 0;
}
