/* SPDX-License-Identifier: Apache-2.0 */
/* make_images.c - a program of the build that compiles the images of embedded_images.def with NVRTC.
 *
 *   make_images LIBNVRTC CACHE_FOLDER OUT_FOLDER [PROCESSES]
 *
 * writes images.bin, the concatenated code, and images.inc, one line per image. Names and sources come from the
 * library's own functions, so that the library finds the images. Compiling takes minutes, so a code cache holds the
 * results. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cuda_folders.h"
#include "core/code_cache.h"
#include "cuda/embedded_images.h"
#include "cuda/cuda_driver.h"
#include "cuda/nvrtc.h"
#include "simt/simt.h"
#include "sources.h"

enum {
    ALL = RUNGI_GEMM_TYPES_USUAL,
    F32 = 1u << RUNGI_F32_TO_F32,
    F64 = 1u << RUNGI_F64_TO_F64,
    MAIN_PRODUCTS = 1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F64_TO_F64 | 1u << RUNGI_F16_TO_F16 |
                    1u << RUNGI_BF16_TO_BF16 | 1u << RUNGI_I8_TO_I32 | 1u << RUNGI_I32_TO_I32,
    /* The wide paths of I8 spill from sm_100 on, and I32 is rare: integers have general images alone. */
    MAIN_FLOATS = MAIN_PRODUCTS & ~(1u << RUNGI_I8_TO_I32 | 1u << RUNGI_I32_TO_I32),
    /* Type combinations of matrix engines. */
    ENGINE_F16 = 1u << RUNGI_F16_TO_F16 | 1u << RUNGI_F16_TO_F32,
    ENGINE_I8 = 1u << RUNGI_I8_TO_I32,
    ENGINE_REST = 1u << RUNGI_BF16_TO_BF16 | 1u << RUNGI_BF16_TO_F32 | 1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F32_TO_F16 |
                  1u << RUNGI_F32_TO_BF16,
    ENGINE_ALL = ENGINE_F16 | ENGINE_I8 | ENGINE_REST,
    ENGINE = 1u << RUNGI_F16_TO_F16 | 1u << RUNGI_BF16_TO_BF16 | ENGINE_I8 | F32,
    CUBINS = 0,
    JOBS_MAX = 4096,
    /* The PTX version of the oldest supported driver (CUDA 12.0). The kernels use nothing newer. */
    PTX_MAJOR = 8,
    PTX_MINOR = 0
};
#define PTX(architecture) (architecture)

/* Flags of presets and of paths. */
enum { DEFAULT = 1, SMALL = 2 };
enum { PLAIN = 1, RUNTIME_FLAGS = 2, WIDE = 4, WIDE_GUARDED = 8, WIDE_ALONG_K = 16, WHOLE_ALONG_K = 32 };

static const struct {
    unsigned flag;
    rungi_simt_path path;
} paths[] = {
    {PLAIN, {.wide = false}},
    {RUNTIME_FLAGS, {.guarded = true, .b_mn_major = true, .has_runtime_flags = true}},
    {WIDE, {.wide = true, .b_mn_major = true}},
    {WIDE_GUARDED, {.wide = true, .guarded = true, .b_mn_major = true}},
    {WIDE_ALONG_K, {.wide = true, .guarded = true}},
    {WHOLE_ALONG_K, {.wide = true}},
};

static const int architectures[] = {
#define ARCHITECTURE(number) number,
#define IMAGES(kernel, presets, products, paths, code)
#include "cuda/embedded_images.def"
#undef ARCHITECTURE
#undef IMAGES
};

enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

typedef struct line {
    const char *kernel;
    unsigned presets, products, paths;
    int ptx; /* an architecture, or CUBINS */
} image_line_t;

static const image_line_t lines[] = {
#define ARCHITECTURE(number)
#define IMAGES(kernel, presets, products, paths, code) {kernel, presets, products, paths, code},
#include "cuda/embedded_images.def"
#undef ARCHITECTURE
#undef IMAGES
};

typedef struct job {
    const rung_kernel *kernel;
    rungi_parameter_values values;
    rungi_simt_path path;
    int architecture;
    bool to_ptx;
} image_job_t;

typedef struct builder {
    rungi_nvrtc nvrtc;
    const char *cache;
    rung_context *context;
    rung_kernel *reduce;
    image_job_t jobs[JOBS_MAX];
    int count;
} image_builder_t;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "make_images: %s: %s\n", what, rung_error_text());
    exit(1);
}

/* ---- Listing images -------------------------------------------------------------------------------- */

static const rung_kernel *kernel_of(image_builder_t *builder, const char *name)
{
    rung_kernel *kernel;
    if (strcmp(name, "reduce") == 0)
        return builder->reduce;
    if (rung_kernel_find(builder->context, "cuda", name, &kernel) != RUNG_OK)
        die(name);
    return kernel;
}

/* Chooses the parameters of a plan on a GPU of that architecture: the default, or those for a small C. */
static void write_parameters(const rung_kernel *kernel, unsigned preset, int product, int architecture,
                             char text[RUNGI_PRESET_NAME_BYTES])
{
    char name[16];
    snprintf(name, sizeof name, "sm_%d", architecture);
    if (preset == SMALL)
        rungi_kernel_small_preset(kernel, NULL, name, text);
    else
        rungi_kernel_default_preset(kernel, NULL, name, rungi_gemm_types_accumulator((rungi_gemm_types)product), text);
}

static void add_job(image_builder_t *builder, image_job_t job, unsigned preset, int product)
{
    static const struct {
        rung_type in, out;
    } types[] = {
#define X(in, out, sum, word) {RUNG_##in, RUNG_##out},
        RUNGI_GEMM_TYPES_LIST(X)
#undef X
    };
    char parameters[RUNGI_PRESET_NAME_BYTES];
    job.path.in = types[product].in;
    job.path.out = types[product].out;
    job.path.has_paths = rungi_simt_has_paths(job.kernel);
    write_parameters(job.kernel, preset, product, job.architecture, parameters);
    if (rungi_kernel_parse_parameters(job.kernel, parameters, rung_type_size(job.path.in), &job.values) != RUNG_OK)
        die(job.kernel->info.name);
    if (builder->count == JOBS_MAX)
        die("too many images");
    builder->jobs[builder->count++] = job;
}

/* NVRTC 12.9 supports all architectures of the list; an older version compiles for those it supports. */
static bool is_known(const image_builder_t *builder, int architecture)
{
    return rungi_nvrtc_best_architecture(&builder->nvrtc, architecture) == architecture;
}

/* Adds all presets and paths of a line for one product and one architecture. */
static void add_jobs(image_builder_t *builder, const image_line_t *line, int product, int architecture)
{
    const rung_kernel *kernel = kernel_of(builder, line->kernel);
    if (!is_known(builder, architecture) || kernel->min_sm[product] > architecture)
        return;
    for (unsigned preset = DEFAULT; preset <= SMALL; preset *= 2)
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
            image_job_t job = {.kernel = kernel, .path = paths[i].path, .architecture = architecture};
            job.to_ptx = line->ptx != CUBINS;
            if (line->presets & preset && line->paths & paths[i].flag)
                add_job(builder, job, preset, product);
        }
}

static void list_jobs(image_builder_t *builder)
{
    for (size_t i = 0; i < ARCHITECTURES; i++)
        if (!is_known(builder, architectures[i]))
            printf("NVRTC %d.%d does not support sm_%d: no images for it\n", builder->nvrtc.major, builder->nvrtc.minor,
                   architectures[i]);
    for (const image_line_t *line = lines; line < lines + sizeof lines / sizeof *lines; line++)
        for (int product = 0; product < RUNGI_GEMM_SAME_TYPES_COUNT; product++) {
            if (!(line->products & 1u << product))
                continue;
            if (line->ptx != CUBINS)
                add_jobs(builder, line, product, line->ptx);
            for (size_t i = 0; line->ptx == CUBINS && i < ARCHITECTURES; i++)
                add_jobs(builder, line, product, architectures[i]);
        }
}

/* ---- PTX version------------------------------------------------------------------------------------- */

/* Blanks out hints to the driver's compiler (the used bytes of a load) that are newer than the PTX version. */
static void remove_hints(char *ptx)
{
    static const char hint[] = ".pragma \"used_bytes_mask";
    for (char *at = strstr(ptx, hint); at; at = strstr(at, hint))
        while (*at && *at != '\n')
            *at++ = ' ';
}

/* Replaces the PTX version of the compiler by the oldest one that suffices. */
static void lower_ptx_version(char *ptx)
{
    int major, minor;
    char *at = strstr(ptx, ".version "), text[16];
    // NOLINTNEXTLINE(cert-err34-c): one digit each
    if (!at || sscanf(at, ".version %1d.%1d", &major, &minor) != 2)
        die("PTX without a version");
    if (major > PTX_MAJOR || (major == PTX_MAJOR && minor > PTX_MINOR)) {
        snprintf(text, sizeof text, "%d.%d", PTX_MAJOR, PTX_MINOR);
        memcpy(at + strlen(".version "), text, 3);
        remove_hints(at);
    }
}

/* ---- Compressing ------------------------------------------------------------------------------------ */

enum {
    MATCH_MIN = 4,
    DISTANCE_MAX = 65535,
    LITERAL_TAIL = 12,
    HASH_BITS = 16,
    CHAIN_MAX = 64,
    GOOD_LENGTH = 128 /* a match of this length is used as it is */
};

/* Writes the part of a length that exceeds the four bits of a token, as lz4.c reads it. */
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
    size_t coded = distance ? length - MATCH_MIN : 0;
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

/* The longest earlier match of a position: length 0 if no match is long enough. */
typedef struct match {
    int length, distance;
} match_t;

/* Finds the longest earlier match. Positions with the same hash are chained, the latest first. */
static match_t find_match(const unsigned char *data, int end, int at, const int *heads, const int *before)
{
    match_t best = {0, 0};
    int from = heads[hash_of(data + at)];
    for (int tries = 0; tries < CHAIN_MAX && from >= 0 && at - from <= DISTANCE_MAX && best.length < GOOD_LENGTH;
         tries++, from = before[from]) {
        int length = 0;
        while (at + length < end && data[from + length] == data[at + length])
            length++;
        if (length > best.length)
            best = (match_t){length, at - from};
    }
    return best.length >= MATCH_MIN ? best : (match_t){0, 0};
}

/* Finds the match of every position. The match after the first byte of a good match is the rest of it. */
static void find_matches(const unsigned char *data, int bytes, int *before, match_t *matches)
{
    static int heads[1 << HASH_BITS];
    memset(heads, -1, sizeof heads);
    for (int at = 0; at < bytes; at++) {
        matches[at] = (match_t){0, 0};
        if (at + LITERAL_TAIL >= bytes)
            continue;
        if (at > 0 && matches[at - 1].length > GOOD_LENGTH)
            matches[at] = (match_t){matches[at - 1].length - 1, matches[at - 1].distance};
        else
            matches[at] = find_match(data, bytes - 5, at, heads, before);
        unsigned hash = hash_of(data + at);
        before[at] = heads[hash];
        heads[hash] = at;
    }
}

/* Returns the bytes of a match in the output: a token, the distance and more bytes for a long match. */
static int match_bytes(int length)
{
    return 3 + (length - MATCH_MIN < 15 ? 0 : 1 + (length - MATCH_MIN - 15) / 255);
}

/* Shortens matches, or removes them, so that the output is as short as possible. bytes_from[at] becomes the bytes of the output
 * from position `at` on. More than 14 literals in a row need another byte, which is not counted. */
static void choose_lengths(int bytes, match_t *matches, int *bytes_from)
{
    bytes_from[bytes] = 0;
    for (int at = bytes - 1; at >= 0; at--) {
        int longest = matches[at].length, best_length = 0, best = 1 + bytes_from[at + 1];
        for (int length = longest; length >= MATCH_MIN; length--) {
            int cost = match_bytes(length) + bytes_from[at + length];
            if (cost < best) {
                best = cost;
                best_length = length;
            }
            if (longest > GOOD_LENGTH)
                break;
        }
        matches[at].length = best_length;
        bytes_from[at] = best;
    }
}

static unsigned char *write_sequences(const unsigned char *data, int bytes, const match_t *matches, unsigned char *to)
{
    int literals = 0;
    for (int at = 0; at < bytes;) {
        match_t match = matches[at];
        if (match.length == 0) {
            at++;
            continue;
        }
        to = write_sequence(to, data + literals, (size_t)(at - literals), (size_t)match.distance, (size_t)match.length);
        at += match.length;
        literals = at;
    }
    return write_sequence(to, data + literals, (size_t)(bytes - literals), 0, 0);
}

/* Compresses into `out`, which has room for incompressible data. */
static size_t lz4_compress(const unsigned char *data, size_t bytes, unsigned char *out)
{
    if (bytes >= INT_MAX)
        die("an image of 2 GiB or more");
    int count = (int)bytes;
    int *before = malloc((bytes + 1) * sizeof *before), *bytes_from = malloc((bytes + 1) * sizeof *bytes_from);
    match_t *matches = malloc((bytes + 1) * sizeof *matches);
    if (!before || !bytes_from || !matches)
        die("no memory");
    find_matches(data, count, before, matches);
    choose_lengths(count, matches, bytes_from);
    unsigned char *end = write_sequences(data, count, matches, out);
    free(before);
    free(bytes_from);
    free(matches);
    return (size_t)(end - out);
}

/* ---- Images ------------------------------------------------------------------------------------------ */

/* An image with its compressed code, as the cache stores it. */
typedef struct compressed_image {
    char name[RUNGI_CUDA_IMAGE_NAME_BYTES];
    unsigned char *code; /* begins with the uncompressed size, a size_t */
    size_t bytes;        /* of `code` */
} compressed_image_t;

static void compile_compressed(image_builder_t *builder, const rungi_nvrtc_job *work, compressed_image_t *image)
{
    void *code;
    size_t size;
    if (rungi_nvrtc_compile(builder->context, &builder->nvrtc, work, &code, &size) != RUNG_OK)
        die(work->file);
    if (work->to_ptx)
        lower_ptx_version(code);
    image->code = rungi_allocate(builder->context, (int64_t)(size + size / 255 + 64), 1);
    if (!image->code)
        die(work->file);
    memcpy(image->code, &size, sizeof size);
    image->bytes = sizeof size + lz4_compress(code, size, image->code + sizeof size);
    rungi_release(builder->context, code);
}

/* Gets the image of a job from the cache, or compiles it. The caller releases image->code. */
static void get_image(image_builder_t *builder, const image_job_t *job, compressed_image_t *image)
{
    char *source, compiler[64], target[64];
    snprintf(compiler, sizeof compiler, "nvrtc %d.%d", builder->nvrtc.major, builder->nvrtc.minor);
    snprintf(target, sizeof target, "%s_%d", job->to_ptx ? "compute" : "sm", job->architecture);
    rungi_cuda_image_name(job->kernel, &job->values, &job->path, image->name);
    if (rungi_cuda_image_source(job->kernel, &job->path, image->name, &source) != RUNG_OK)
        die(image->name);
    rungi_nvrtc_job work = {.file = job->kernel->info.file,
                            .source = source,
                            .defines = strchr(image->name, ' ') + 1,
                            .architecture = job->architecture,
                            .to_ptx = job->to_ptx};
    const char *key[] = {source, work.defines, compiler, target, "packed by cost, PTX 8.0"};
    image->code = rungi_code_cache_read(builder->context, builder->cache, key, 5, &image->bytes);
    if (!image->code || image->bytes <= sizeof(size_t)) {
        compile_compressed(builder, &work, image);
        rungi_code_cache_write(builder->context, builder->cache, key, 5, image->code, image->bytes);
    }
    rungi_release(builder->context, source);
}

/* Fills the cache with several processes in parallel. */
static void fill_cache_in_parallel(image_builder_t *builder, int processes)
{
    for (int p = 0; p < processes; p++)
        if (fork() == 0) {
            for (int i = p; i < builder->count; i += processes) {
                compressed_image_t image;
                get_image(builder, &builder->jobs[i], &image);
                rungi_release(builder->context, image.code);
            }
            _exit(0);
        }
    while (wait(NULL) > 0)
        ; /* an image that a process did not compile is compiled, or reported, below */
}

static FILE *create(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wbe");
    if (!file)
        die(path);
    return file;
}

static void write_all(image_builder_t *builder, const char *folder)
{
    FILE *data = create(folder, "images.bin"), *list = create(folder, "images.inc");
    size_t offset = 0, all = 0;
    for (int i = 0; i < builder->count; i++) {
        const image_job_t *job = &builder->jobs[i];
        compressed_image_t image;
        size_t uncompressed_bytes;
        get_image(builder, job, &image);
        size_t bytes = image.bytes - sizeof uncompressed_bytes;
        memcpy(&uncompressed_bytes, image.code, sizeof uncompressed_bytes);
        if (fwrite(image.code + sizeof uncompressed_bytes, 1, bytes, data) != bytes)
            die("images.bin");
        fprintf(list, "IMAGE(\"%s\", %d, %d, %zu, %zu, %zu)\n", image.name, job->architecture, job->to_ptx, offset,
                bytes, uncompressed_bytes);
        offset += bytes;
        all += uncompressed_bytes;
        rungi_release(builder->context, image.code);
    }
    if (fclose(data) != 0 || fclose(list) != 0)
        die(folder);
    printf("%d images, %zu bytes, %zu compressed, by NVRTC %d.%d\n", builder->count, all, offset, builder->nvrtc.major,
           builder->nvrtc.minor);
}

int main(int argc, char **argv)
{
    static image_builder_t builder;
    if (argc < 4) {
        fprintf(stderr, "usage: make_images LIBNVRTC CACHE_FOLDER OUT_FOLDER [PROCESSES]\n");
        return 2;
    }
    if (!rungi_nvrtc_load_from(&builder.nvrtc, rungi_cuda_library_open(argv[1])))
        die(argv[1]);
    if (builder.nvrtc.major != 12) {
        fprintf(stderr,
                "make_images: %s is NVRTC %d; only what NVRTC 12 makes loads with all drivers from CUDA 12 on\n",
                argv[1], builder.nvrtc.major);
        return 1;
    }
    builder.cache = argv[2];
    if (rung_context_create(NULL, &builder.context) != RUNG_OK ||
        rung_kernel_from_source(builder.context, "cuda", "reduce.cu", rungi_source_reduce, &builder.reduce) != RUNG_OK)
        die("reduce.cu");
    list_jobs(&builder);
    fill_cache_in_parallel(&builder, argc > 4 ? (int)strtol(argv[4], NULL, 10) : (int)sysconf(_SC_NPROCESSORS_ONLN));
    write_all(&builder, argv[3]);
    rung_kernel_destroy(builder.reduce);
    rung_context_destroy(builder.context);
    return 0;
}
