/* SPDX-License-Identifier: Apache-2.0 */
/* packed_files.c - rung_packed_save and rung_packed_load: every type comes back bit by bit, files for other plans and
 * damaged files are rejected, and a path always holds a whole file. */
#define _GNU_SOURCE /* mkdtemp and seteuid */
#include "support/cancelled_thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/file_io.h"
#include "base/xxh64.h"

enum { N = 139, K = 300, M = 20, PREAMBLE = 64, HEADER = 128, ANOTHER_USER = 12345 };

static const struct {
    rung_type in, out;
    rung_compute compute;
} products[] = {
    {RUNG_F32, RUNG_F32, RUNG_COMPUTE_STRICT},  {RUNG_F32, RUNG_F32, RUNG_COMPUTE_BF16X3},
    {RUNG_F32, RUNG_F32, RUNG_COMPUTE_TF32},    {RUNG_F32, RUNG_F32, RUNG_COMPUTE_BF16X1},
    {RUNG_F64, RUNG_F64, RUNG_COMPUTE_STRICT},  {RUNG_F16, RUNG_F32, RUNG_COMPUTE_STRICT},
    {RUNG_BF16, RUNG_F32, RUNG_COMPUTE_STRICT}, {RUNG_I8, RUNG_I32, RUNG_COMPUTE_STRICT},
    {RUNG_I32, RUNG_I32, RUNG_COMPUTE_STRICT},
};
enum { PRODUCTS = sizeof products / sizeof *products };

static const char *const levels[] = {"amx", "dot", "avx512", "avx2", "portable"};
enum { LEVELS = sizeof levels / sizeof *levels };

/* 8 bytes hold an element of any type. */
static double a_memory[2 * M * K], b_memory[K * N], c_memory[2 * M * N], expected[2 * M * N];

static char folder[64], path[128];
static rung_device *device;
static rung_queue *queue;

/* ---- Plans and files ----------------------------------------------------------------------------- */

static void open_device(const char *level)
{
    setenv("RUNG_CPU_ISA", level, 1);
    assert_int_equal(rung_device_open(NULL, "cpu", &device), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
}

static void close_device(void)
{
    rung_queue_destroy(queue);
    rung_device_close(device);
}

static rung_problem problem_of(int product, int64_t m, int64_t n, int64_t k)
{
    rung_type in = products[product].in, out = products[product].out;
    rung_problem problem = rung_problem_of(rung_matrix_of(in, m, k, a_memory), rung_matrix_of(in, k, n, b_memory),
                                           rung_matrix_of(out, m, n, c_memory));
    problem.compute = products[product].compute;
    return problem;
}

static rung_plan *plan_of(const rung_problem *problem, int64_t threads)
{
    rung_plan *plan;
    rung_plan_options options = rung_plan_options_default();
    options.packed_b = 1;
    options.threads = threads;
    if (rung_plan_create(device, problem, &options, &plan) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return plan;
}

static rung_buffer *packed_by(rung_plan *plan, const rung_matrix *b)
{
    rung_buffer *packed;
    assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &packed), RUNG_OK);
    if (rung_plan_pack_b(plan, queue, b, packed, NULL) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return packed;
}

static void save(rung_plan *plan, rung_buffer *packed)
{
    if (rung_packed_save(plan, queue, packed, path) != RUNG_OK)
        fail_msg("%s", rung_error_text());
}

static rung_buffer *load(rung_plan *plan)
{
    rung_buffer *packed;
    if (rung_packed_load(plan, queue, path, &packed) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    return packed;
}

/* Small whole numbers that are finite in every type. */
static void fill(int product)
{
    uint64_t seed = 3;
    rung_type type = products[product].in;
    for (int64_t i = 0; i < 2 * M * K + K * N; i++) {
        double value = (double)unit_random(&seed, 9) - 4, *memory = i < K * N ? b_memory : a_memory;
        int64_t at = i < K * N ? i : i - K * N;
        switch (type) {
        case RUNG_F32: ((float *)memory)[at] = (float)value; break;
        case RUNG_F64: memory[at] = value; break;
        case RUNG_F16: ((uint16_t *)memory)[at] = rung_f16_from_f32((float)value); break;
        case RUNG_BF16: ((uint16_t *)memory)[at] = rung_bf16_from_f32((float)value); break;
        case RUNG_I8: ((int8_t *)memory)[at] = (int8_t)value; break;
        default: ((int32_t *)memory)[at] = (int32_t)value;
        }
    }
}

static char *contents_of(rung_buffer *packed, int64_t bytes)
{
    char *contents = malloc((size_t)bytes);
    assert_int_equal(rung_buffer_read(queue, packed, 0, bytes, contents, NULL), RUNG_OK);
    return contents;
}

static void run(rung_plan *plan, const rung_problem *problem, rung_buffer *packed)
{
    rung_run_options options = rung_run_options_default();
    options.packed_b = packed;
    memset(c_memory, 0xff, sizeof c_memory);
    if (rung_plan_run(plan, queue, problem, &options) != RUNG_OK)
        fail_msg("%s", rung_error_text());
}

/* The contents of the file at `path`, and their number. */
static unsigned char *read_whole(size_t *bytes)
{
    struct stat about;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &about), 0);
    unsigned char *contents = malloc((size_t)about.st_size);
    *bytes = fread(contents, 1, (size_t)about.st_size, file);
    assert_int_equal(*bytes, about.st_size);
    fclose(file);
    return contents;
}

static void write_whole(const void *contents, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(contents, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* Loading fails so, with these words, and creates nothing. */
static void assert_rejected(rung_plan *plan, rung_status status, const char *words)
{
    rung_buffer *packed = (rung_buffer *)path;
    assert_int_equal(rung_packed_load(plan, queue, path, &packed), status);
    assert_null(packed);
    if (!strstr(rung_error_text(), words))
        fail_msg("\"%s\" does not say \"%s\"", rung_error_text(), words);
}

static int files_in_folder(void)
{
    int count = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    for (const struct dirent *entry; (entry = readdir(listing));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(listing);
    return count;
}

/* ---- The checksum ------------------------------------------------------------------------------------ */

static uint64_t xxh64_of(const char *text, size_t split)
{
    rungi_xxh64 hash;
    rungi_xxh64_begin(&hash);
    rungi_xxh64_add(&hash, text, split);
    return rungi_xxh64_end(&hash, text + split, strlen(text) - split);
}

/* Published results of XXH64, and the same ones in parts. */
static void checksums_are_xxh64(void **state)
{
    const char *text = "Nobody inspects the spammish repetition",
               *more = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    (void)state;
    assert_true(xxh64_of("", 0) == UINT64_C(0xEF46DB3751D8E999));
    assert_true(xxh64_of("a", 0) == UINT64_C(0xD24EC4F1A98C6E5B));
    assert_true(xxh64_of("abc", 0) == UINT64_C(0x44BC2CF5AD770999));
    assert_true(xxh64_of(text, 0) == UINT64_C(0xFBCEA83C8A378BF1));
    assert_true(xxh64_of(text, 32) == xxh64_of(text, 0));
    assert_true(xxh64_of(more, 32) == xxh64_of(more, 0) && xxh64_of(more, 64) == xxh64_of(more, 0));
}

/* ---- There and back ---------------------------------------------------------------------------------- */

static void assert_round_trip(int product)
{
    rung_problem problem = problem_of(product, M, N, K);
    rung_plan *plan = plan_of(&problem, 1);
    int64_t bytes = rung_plan_describe(plan)->packed_b_bytes;
    rung_buffer *packed = packed_by(plan, &problem.b);
    save(plan, packed);
    rung_buffer *loaded = load(plan);
    char *before = contents_of(packed, bytes), *after = contents_of(loaded, bytes);
    assert_memory_equal(before, after, (size_t)bytes);
    run(plan, &problem, packed);
    memcpy(expected, c_memory, sizeof c_memory);
    run(plan, &problem, loaded);
    assert_memory_equal(c_memory, expected, sizeof c_memory);
    free(before);
    free(after);
    rung_buffer_destroy(loaded);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
}

static void every_type_and_mode(void **state)
{
    (void)state;
    for (int level = 0; level < LEVELS; level++) {
        open_device(levels[level]);
        for (int product = 0; product < PRODUCTS; product++) {
            fill(product);
            assert_round_trip(product);
        }
        close_device();
    }
    assert_int_equal(files_in_folder(), 1);
}

static void assert_packs_every_byte(int product, int64_t n, int64_t k)
{
    rung_problem problem = problem_of(product, M, n, k);
    rung_plan *plan = plan_of(&problem, 1);
    int64_t bytes = rung_plan_describe(plan)->packed_b_bytes;
    char *memory[2];
    for (int i = 0; i < 2; i++) {
        rung_buffer *packed;
        memory[i] = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
        memset(memory[i], i ? 0xff : 0, (size_t)bytes);
        assert_int_equal(rung_buffer_wrap(device, memory[i], 0, bytes, &packed), RUNG_OK);
        assert_int_equal(rung_plan_pack_b(plan, queue, &problem.b, packed, NULL), RUNG_OK);
        rung_buffer_destroy(packed);
    }
    assert_memory_equal(memory[0], memory[1], (size_t)bytes);
    free(memory[0]);
    free(memory[1]);
    rung_plan_destroy(plan);
}

/* Packing writes every byte, so that a file never holds what was in the memory before. */
static void every_byte_is_written(void **state)
{
    (void)state;
    for (int level = 0; level < LEVELS; level++) {
        open_device(levels[level]);
        for (int product = 0; product < PRODUCTS; product++) {
            fill(product);
            assert_packs_every_byte(product, N - 2, K - 1);
            assert_packs_every_byte(product, 128, K - 1);
            assert_packs_every_byte(product, 128, 256);
            assert_packs_every_byte(product, 1, 3);
        }
        close_device();
    }
}

/* Several chunks, the last one not full. */
static void a_large_file(void **state)
{
    enum { WIDE = 1100, DEEP = 1050 };
    float *b = malloc(sizeof(float) * WIDE * DEEP);
    uint64_t seed = 5;
    (void)state;
    unit_fill(&seed, b, WIDE * DEEP);
    open_device("amx");
    rung_problem problem = problem_of(0, 2, WIDE, DEEP);
    problem.b.data = b;
    rung_plan *plan = plan_of(&problem, 1);
    int64_t bytes = rung_plan_describe(plan)->packed_b_bytes;
    assert_true(bytes > 4 << 20);
    rung_buffer *packed = packed_by(plan, &problem.b);
    save(plan, packed);
    rung_buffer *loaded = load(plan);
    char *before = contents_of(packed, bytes), *after = contents_of(loaded, bytes);
    assert_memory_equal(before, after, (size_t)bytes);
    size_t size;
    unsigned char *file = read_whole(&size);
    assert_int_equal(size, PREAMBLE + bytes + 8);
    assert_memory_equal(file + PREAMBLE, before, (size_t)bytes);
    for (size_t at = 0; at < size; at += size / 7) { /* each chunk */
        file[at] ^= 0x10;
        write_whole(file, size);
        assert_rejected(plan, at < 8 ? RUNG_STATUS_INVALID : RUNG_STATUS_IO, path);
        file[at] ^= 0x10;
    }
    free(file);
    free(before);
    free(after);
    free(b);
    rung_buffer_destroy(loaded);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
    close_device();
}

/* Empty matrices have a header alone. */
static void empty_b(void **state)
{
    (void)state;
    open_device("amx");
    rung_problem problem = problem_of(0, M, 0, K);
    rung_plan *plan = plan_of(&problem, 1);
    rung_buffer *packed = packed_by(plan, &problem.b);
    save(plan, packed);
    rung_buffer_destroy(load(plan));
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
    close_device();
}

/* A plan with another m, batch, epilogue or number of threads loads the file. */
static void compatible_plans_load_it(void **state)
{
    (void)state;
    fill(0);
    open_device("amx");
    rung_problem problem = problem_of(0, M, N, K), few = problem_of(0, 3, N, K), batch = problem;
    batch.batch = 2;
    batch.a.batch_stride = M * K;
    batch.c.batch_stride = M * N;
    batch.activation = RUNG_ACTIVATION_RELU;
    rung_plan *plan = plan_of(&problem, 1);
    rung_buffer *packed = packed_by(plan, &problem.b);
    save(plan, packed);
    const rung_problem *others[] = {&few, &batch, &problem};
    for (int i = 0; i < 3; i++) {
        rung_plan *other = plan_of(others[i], i + 1);
        rung_buffer *loaded = load(other);
        run(other, others[i], packed);
        memcpy(expected, c_memory, sizeof c_memory);
        run(other, others[i], loaded);
        assert_memory_equal(c_memory, expected, sizeof c_memory);
        rung_buffer_destroy(loaded);
        rung_plan_destroy(other);
    }
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
    close_device();
}

/* ---- What is rejected -------------------------------------------------------------------------------- */

static void assert_not_for(rung_problem problem, const char *kernel, const char *parameters, const char *words)
{
    rung_kernel *found = NULL;
    rung_plan *plan;
    if (kernel)
        assert_int_equal(rung_kernel_find(NULL, "cpu", kernel, &found), RUNG_OK);
    rung_plan_options options = rung_plan_options_default();
    options.packed_b = 1;
    options.kernel = found;
    options.parameters = parameters;
    if (rung_plan_create(device, &problem, &options, &plan) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    assert_rejected(plan, RUNG_STATUS_INVALID, words);
    assert_non_null(strstr(rung_error_text(), "pack B again"));
    assert_non_null(strstr(rung_error_text(), path));
    rung_plan_destroy(plan);
}

static void files_for_other_plans(void **state)
{
    (void)state;
    open_device("amx");
    fill(0);
    rung_problem problem = problem_of(0, M, N, K);
    rung_kernel *kernel;
    rung_plan_options options = rung_plan_options_default();
    rung_plan *plan;
    assert_int_equal(rung_kernel_find(NULL, "cpu", "10", &kernel), RUNG_OK);
    options.packed_b = 1;
    options.kernel = kernel;
    options.parameters = "KC=256";
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_OK);
    rung_buffer *packed = packed_by(plan, &problem.b);
    save(plan, packed);
    assert_not_for(problem_of(0, M, N - 1, K), "10", "KC=256", "n is 139 instead of 138");
    assert_not_for(problem_of(0, M, N, K - 1), "10", "KC=256", "k is 300 instead of 299");
    assert_not_for(problem_of(4, M, N, K), "10", "KC=256", "the type is f32 instead of f64");
    assert_not_for(problem_of(0, M, N, K), "10", "KC=64", "the K block is ");
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
    close_device();
}

/* A file of one engine for a plan of another. */
static void files_of_other_kernels(void **state)
{
    (void)state;
    fill(7); /* i8 */
    open_device("portable");
    rung_problem problem = problem_of(7, M, N, K);
    rung_plan *plan = plan_of(&problem, 1);
    rung_buffer *packed = packed_by(plan, &problem.b);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s", rung_plan_describe(plan)->kernel);
    save(plan, packed);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
    close_device();
    open_device("amx");
    plan = plan_of(&problem, 1);
    if (strcmp(rung_plan_describe(plan)->kernel, kernel) != 0) { /* a processor with VNNI or AMX */
        char words[256];
        snprintf(words, sizeof words, "the kernel is %s instead of %s", kernel, rung_plan_describe(plan)->kernel);
        assert_rejected(plan, RUNG_STATUS_INVALID, words);
    }
    rung_plan_destroy(plan);
    close_device();
}

static rung_plan *save_small(void)
{
    rung_problem problem = problem_of(0, M, 5, 7);
    fill(0);
    rung_plan *plan = plan_of(&problem, 1);
    rung_buffer *packed = packed_by(plan, &problem.b);
    save(plan, packed);
    rung_buffer_destroy(packed);
    return plan;
}

/* Every bit of every byte, and every length. */
static void damage_is_detected(void **state)
{
    (void)state;
    open_device("amx");
    rung_plan *plan = save_small();
    size_t bytes;
    unsigned char *file = read_whole(&bytes);
    assert_in_range(bytes, 100, 4096);
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        file[bit / 8] ^= (unsigned char)(1 << bit % 8);
        write_whole(file, bytes);
        if (bit < 64)
            assert_rejected(plan, RUNG_STATUS_INVALID, "is not a file of rung_packed_save");
        else
            assert_rejected(plan, RUNG_STATUS_IO, "is damaged");
        file[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (size_t length = 0; length < bytes; length++) {
        write_whole(file, length);
        assert_rejected(plan, RUNG_STATUS_IO, "is damaged");
    }
    unsigned char *longer = calloc(1, bytes + 4096);
    memcpy(longer, file, bytes);
    write_whole(longer, bytes + 1);
    assert_rejected(plan, RUNG_STATUS_IO, "is damaged");
    write_whole(longer, bytes + 4096);
    assert_rejected(plan, RUNG_STATUS_IO, "is damaged");
    write_whole(file, bytes);
    rung_buffer_destroy(load(plan));
    free(longer);
    free(file);
    rung_plan_destroy(plan);
    close_device();
}

/* Sets 4 bytes of the file, and both checksums. */
static void write_modified_file(const unsigned char *file, size_t bytes, size_t at, uint32_t value)
{
    unsigned char *forged = malloc(bytes);
    uint64_t sum = 0;
    rungi_xxh64 hash;
    memcpy(forged, file, bytes);
    memcpy(forged + at, &value, sizeof value);
    memcpy(forged + 56, &sum, sizeof sum);
    rungi_xxh64_begin(&hash);
    sum = rungi_xxh64_end(&hash, forged, PREAMBLE + HEADER);
    memcpy(forged + 56, &sum, sizeof sum);
    rungi_xxh64_begin(&hash);
    sum = rungi_xxh64_end(&hash, forged, bytes - 8);
    memcpy(forged + bytes - 8, &sum, sizeof sum);
    write_whole(forged, bytes);
    free(forged);
}

static void other_formats(void **state)
{
    (void)state;
    open_device("amx");
    rung_plan *plan = save_small();
    size_t bytes;
    unsigned char *file = read_whole(&bytes);
    write_modified_file(file, bytes, 12, 1);
    rung_buffer_destroy(load(plan));
    write_modified_file(file, bytes, 12, 2);
    assert_rejected(plan, RUNG_STATUS_INVALID, "has format version 2, and this library reads version 1");
    write_modified_file(file, bytes, 8, 0x04030201);
    assert_rejected(plan, RUNG_STATUS_INVALID, "another byte order");
    write_modified_file(file, bytes, 8, 0x01020305);
    assert_rejected(plan, RUNG_STATUS_IO, "is damaged");
    write_modified_file(file, bytes, 20, 0x7fffffff); /* 2^63 bytes */
    assert_rejected(plan, RUNG_STATUS_IO, "is damaged");
    write_modified_file(file, bytes, 20, 0xffffffff);
    assert_rejected(plan, RUNG_STATUS_IO, "is damaged");
    write_modified_file(file, bytes, PREAMBLE + 8, 77); /* version of the packed header */
    assert_rejected(plan, RUNG_STATUS_INVALID, "pack B again");
    write_whole("numpy", 5);
    assert_rejected(plan, RUNG_STATUS_INVALID, "is not a file of rung_packed_save");
    write_whole("", 0);
    assert_rejected(plan, RUNG_STATUS_IO, "it ends after 0 bytes");
    free(file);
    rung_plan_destroy(plan);
    close_device();
}

static void wrong_arguments(void **state)
{
    (void)state;
    open_device("amx");
    rung_problem problem = problem_of(0, M, 5, 7);
    rung_plan *plan = plan_of(&problem, 1), *plain;
    rung_buffer *packed = packed_by(plan, &problem.b), *unfilled, *small, *none;
    assert_int_equal(rung_plan_create(device, &problem, NULL, &plain), RUNG_OK);
    assert_int_equal(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &unfilled), RUNG_OK);
    assert_int_equal(rung_buffer_create(device, 64, &small), RUNG_OK);
    char *zeros = calloc(1, HEADER);
    assert_int_equal(rung_buffer_write(queue, unfilled, 0, HEADER, zeros, NULL), RUNG_OK);
    free(zeros);
    unlink(path);
    assert_int_equal(rung_packed_save(NULL, queue, packed, path), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_save(plan, NULL, packed, path), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_save(plan, queue, NULL, path), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_save(plan, queue, packed, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_save(plain, queue, packed, path), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_save(plan, queue, small, path), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_save(plan, queue, unfilled, path), RUNG_STATUS_INVALID);
    assert_int_equal(files_in_folder(), 0);
    assert_int_equal(rung_packed_load(NULL, queue, path, &none), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_load(plan, NULL, path, &none), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_load(plan, queue, NULL, &none), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_load(plan, queue, path, NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_packed_load(plain, queue, path, &none), RUNG_STATUS_INVALID);
    rung_buffer_destroy(packed);
    rung_buffer_destroy(unfilled);
    rung_buffer_destroy(small);
    rung_plan_destroy(plain);
    rung_plan_destroy(plan);
    close_device();
}

/* ---- Files ------------------------------------------------------------------------------------------- */

static void assert_cannot_save(rung_plan *plan, rung_buffer *packed, const char *to, const char *why)
{
    assert_int_equal(rung_packed_save(plan, queue, packed, to), RUNG_STATUS_IO);
    if (!strstr(rung_error_text(), why) || !strstr(rung_error_text(), "cannot be written"))
        fail_msg("\"%s\" does not say \"%s\"", rung_error_text(), why);
}

static void assert_cannot_load(rung_plan *plan, const char *from, rung_status status, const char *why)
{
    rung_buffer *packed;
    assert_int_equal(rung_packed_load(plan, queue, from, &packed), status);
    if (!strstr(rung_error_text(), why))
        fail_msg("\"%s\" does not say \"%s\"", rung_error_text(), why);
}

/* In a child, since a user is given up for good. 0: as expected. */
static int without_permission(rung_plan *plan, rung_buffer *packed)
{
    pid_t child = fork();
    if (child == 0) {
        rung_buffer *none;
        if (geteuid() == 0 && seteuid(ANOTHER_USER) != 0)
            _exit(1);
        if (rung_packed_save(plan, queue, packed, path) != RUNG_STATUS_IO ||
            !strstr(rung_error_text(), strerror(EACCES)))
            _exit(2);
        if (rung_packed_load(plan, queue, path, &none) != RUNG_STATUS_IO ||
            !strstr(rung_error_text(), strerror(EACCES)))
            _exit(3);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A process may write fewer bytes than the file has. In a child, since limits stay. */
static int save_with_file_limit(rung_plan *plan, rung_buffer *packed)
{
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {.rlim_cur = 100, .rlim_max = 100};
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(1);
        _exit(rung_packed_save(plan, queue, packed, path) == RUNG_STATUS_IO &&
                      strstr(rung_error_text(), strerror(EFBIG))
                  ? 0
                  : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void existing_files_at_the_path(void **state)
{
    char name[160], link_path[160];
    struct stat about;
    (void)state;
    open_device("amx");
    unlink(path);
    rung_problem problem = problem_of(0, M, 5, 7);
    rung_plan *plan = plan_of(&problem, 1);
    rung_buffer *packed = packed_by(plan, &problem.b);

    assert_cannot_save(plan, packed, folder, strerror(EISDIR));
    assert_cannot_save(plan, packed, "/dev/null", "it is not a regular file");
    assert_cannot_save(plan, packed, "/dev/full", "it is not a regular file");
    assert_cannot_save(plan, packed, "", strerror(ENOENT));
    snprintf(name, sizeof name, "%s/none/file", folder);
    assert_cannot_save(plan, packed, name, strerror(ENOENT));
    assert_cannot_load(plan, name, RUNG_STATUS_NOT_FOUND, strerror(ENOENT));
    assert_cannot_load(plan, path, RUNG_STATUS_NOT_FOUND, strerror(ENOENT));
    assert_cannot_load(plan, folder, RUNG_STATUS_IO, "it is not a regular file");
    assert_cannot_load(plan, "/dev/zero", RUNG_STATUS_IO, "it is not a regular file");
    snprintf(name, sizeof name, "%s/pipe", folder);
    assert_int_equal(mkfifo(name, 0600), 0);
    assert_cannot_save(plan, packed, name, "it is not a regular file");
    assert_cannot_load(plan, name, RUNG_STATUS_IO, "it is not a regular file");
    unlink(name);

    /* A link stays a link, also one to a file that does not exist yet; relative to its folder. */
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    assert_int_equal(symlink("file", link_path), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rung_packed_save(plan, queue, packed, link_path), RUNG_OK);
        assert_int_equal(lstat(link_path, &about), 0);
        assert_true(S_ISLNK(about.st_mode));
        rung_buffer_destroy(load(plan));
    }
    unlink(link_path);
    assert_int_equal(symlink("link", link_path), 0);
    assert_cannot_save(plan, packed, link_path, strerror(ELOOP));
    unlink(link_path);

    /* Permissions stay, and a file that may not be written is not replaced. */
    assert_int_equal(chmod(path, 0600), 0);
    save(plan, packed);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(without_permission(plan, packed), 0);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(save_with_file_limit(plan, packed), 0);
    assert_int_equal(files_in_folder(), 1);
    rung_buffer_destroy(load(plan));
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
    close_device();
}

/* A disk that is full: the write fails, the temporary file goes and the old one stays. */
static void full_disks(void **state)
{
    char text[1000] = "x";
    rungi_atomic_file file;
    (void)state;
    write_whole("old", 3);
    assert_null(rungi_atomic_file_open(&file, path, sizeof text));
    int full = open("/dev/full", O_WRONLY);
    assert_true(full >= 0 && dup2(full, file.file) == file.file);
    close(full);
    assert_false(rungi_write_all(file.file, text, sizeof text));
    assert_int_equal(errno, ENOSPC);
    rungi_atomic_file_discard(&file);
    rungi_atomic_file_discard(&file); /* does nothing */
    assert_int_equal(files_in_folder(), 1);
    size_t bytes;
    unsigned char *old = read_whole(&bytes);
    assert_int_equal(bytes, 3);
    assert_memory_equal(old, "old", 3);
    free(old);

    assert_null(rungi_atomic_file_open(&file, path, 3));
    assert_true(rungi_write_all(file.file, "new", 3));
    unlink(file.temporary); /* renaming fails */
    assert_non_null(rungi_atomic_file_commit(&file));
    assert_int_equal(files_in_folder(), 1);
}

enum { LARGE_N = 700, LARGE_K = 600, ROUNDS = 30 };

/* Saves a matrix of equal numbers again and again. */
static rung_status save_many(rung_plan *plan, rung_problem problem, float value)
{
    float *b = malloc(sizeof(float) * LARGE_N * LARGE_K);
    for (int64_t i = 0; i < LARGE_N * LARGE_K; i++)
        b[i] = value;
    problem.b.data = b;
    rung_buffer *packed = packed_by(plan, &problem.b);
    rung_status status = RUNG_OK;
    for (int round = 0; round < ROUNDS && status == RUNG_OK; round++)
        status = rung_packed_save(plan, queue, packed, path);
    rung_buffer_destroy(packed);
    free(b);
    return status;
}

/* Two processes save different matrices at one path; whoever loads finds one of them, whole. */
static void two_processes(void **state)
{
    pid_t writers[2];
    (void)state;
    open_device("avx2");
    rung_problem problem = problem_of(0, 1, LARGE_N, LARGE_K);
    rung_plan *plan = plan_of(&problem, 1);
    assert_int_equal(save_many(plan, problem, 1), RUNG_OK);
    for (int i = 0; i < 2; i++) {
        writers[i] = fork();
        if (writers[i] == 0)
            _exit(save_many(plan, problem, (float)(i + 2)) == RUNG_OK ? 0 : 1);
    }
    for (int round = 0; round < ROUNDS; round++)
        rung_buffer_destroy(load(plan));
    for (int i = 0; i < 2; i++) {
        int status;
        assert_int_equal(waitpid(writers[i], &status, 0), writers[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    rung_buffer_destroy(load(plan));
    assert_int_equal(files_in_folder(), 1);
    rung_plan_destroy(plan);
    close_device();
}

/* ---- Cancelled threads ------------------------------------------------------------------------------- */

typedef struct both {
    rung_plan *plan;
    rung_buffer *packed, *loaded;
    rung_status saved, status;
} both_t;

static void save_and_load(void *user)
{
    both_t *both = user;
    both->saved = rung_packed_save(both->plan, queue, both->packed, path);
    both->status = rung_packed_load(both->plan, queue, path, &both->loaded);
}

static void cancellation_waits(void **state)
{
    (void)state;
    open_device("amx");
    rung_problem problem = problem_of(0, M, 5, 7);
    rung_plan *plan = plan_of(&problem, 1);
    both_t both = {
        .plan = plan, .packed = packed_by(plan, &problem.b), .saved = RUNG_STATUS_IO, .status = RUNG_STATUS_IO};
    cancelled_thread_call("rung_packed_save", save_and_load, &both, -1);
    assert_int_equal(both.saved, RUNG_OK);
    assert_int_equal(both.status, RUNG_OK);
    rung_buffer_destroy(both.loaded);
    rung_buffer_destroy(both.packed);
    rung_plan_destroy(plan);
    close_device();
}

static int make_folder(void **state)
{
    (void)state;
    /* Rather in memory: each file is synced, and a busy disk takes its time. */
    snprintf(folder, sizeof folder, "%s/rung-packed-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    snprintf(path, sizeof path, "%s/file", mkdtemp(folder) ? folder : ".");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksums_are_xxh64),
        cmocka_unit_test(every_type_and_mode),
        cmocka_unit_test(every_byte_is_written),
        cmocka_unit_test(a_large_file),
        cmocka_unit_test(empty_b),
        cmocka_unit_test(compatible_plans_load_it),
        cmocka_unit_test(files_for_other_plans),
        cmocka_unit_test(files_of_other_kernels),
        cmocka_unit_test(damage_is_detected),
        cmocka_unit_test(other_formats),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(existing_files_at_the_path),
        cmocka_unit_test(full_disks),
        cmocka_unit_test(two_processes),
        cmocka_unit_test(cancellation_waits),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
