/* SPDX-License-Identifier: Apache-2.0 */
/* packed_file.c - any bytes as a file of rung_packed_save: a file that loads is what the plan expects, and any other one is
 * rejected with a reason.
 *
 * The first byte selects what the rest is:
 *
 *     'r'   the file
 *     'R'   the file, with its checksums set right
 *     'e'   changes to a valid file: offset (2 bytes), value (1 byte), and so on; the last two bytes are added to its length
 *     'E'   the same, with the checksums set right afterwards */
#define _GNU_SOURCE /* memfd_create */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/xxh64.h"
#include "rung/rung.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { M = 2, N = 5, K = 7, HEAD = 192, LARGEST = 1 << 16 };

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "not: %s (%s)\n", what, rung_error_text());
        abort();
    }
}

static rung_device *device;
static rung_queue *queue;
static rung_plan *plan;
static rung_problem problem;
static float a_memory[M * K], b_memory[K * N], c_memory[M * N];
static int memory_file;
static char path[64];
static uint8_t valid[LARGEST], file[LARGEST];
static size_t valid_bytes;

static rung_buffer *packed_b(void)
{
    rung_buffer *packed;
    must(rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &packed) == RUNG_OK, "a buffer");
    must(rung_plan_pack_b(plan, queue, &problem.b, packed, NULL) == RUNG_OK, "packed");
    return packed;
}

/* Saves a valid file, once. */
static void prepare(void)
{
    char name[] = "/tmp/rung-fuzz-packed-XXXXXX";
    if (device)
        return;
    rung_plan_options options = rung_plan_options_default();
    options.packed_b = 1;
    for (int i = 0; i < K * N; i++)
        b_memory[i] = (float)i;
    problem = rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a_memory), rung_matrix_of(RUNG_F32, K, N, b_memory),
                              rung_matrix_of(RUNG_F32, M, N, c_memory));
    must(rung_device_open(NULL, "cpu", &device) == RUNG_OK, "a device");
    must(rung_queue_create(device, &queue) == RUNG_OK, "a queue");
    must(rung_plan_create(device, &problem, &options, &plan) == RUNG_OK, "a plan");
    rung_buffer *packed = packed_b();
    int temporary = mkstemp(name);
    must(temporary >= 0 && rung_packed_save(plan, queue, packed, name) == RUNG_OK, "saved");
    rung_buffer_destroy(packed);
    close(temporary);
    FILE *stream = fopen(name, "rb");
    must(stream != NULL, "opened");
    valid_bytes = fread(valid, 1, sizeof valid, stream);
    fclose(stream);
    unlink(name);
    must(valid_bytes > HEAD && valid_bytes < sizeof valid, "a small file");
    memory_file = memfd_create("packed", MFD_CLOEXEC);
    must(memory_file >= 0, "a file in memory");
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_file);
}

static size_t change(const uint8_t *data, size_t size)
{
    size_t bytes = valid_bytes;
    memcpy(file, valid, valid_bytes);
    for (; size >= 3; data += 3, size -= 3) {
        size_t at = (size_t)(data[0] | data[1] << 8) % valid_bytes;
        file[at] = data[2];
    }
    if (size == 2)
        bytes += (size_t)(data[0] | data[1] << 8);
    return bytes % sizeof file;
}

static uint64_t checksum_of(const uint8_t *data, size_t size)
{
    rungi_xxh64 hash;
    rungi_xxh64_begin(&hash);
    return rungi_xxh64_end(&hash, data, size);
}

static void repair(size_t bytes)
{
    uint64_t sum = 0;
    if (bytes < HEAD + sizeof sum)
        return;
    memset(file + 56, 0, sizeof sum);
    sum = checksum_of(file, HEAD);
    memcpy(file + 56, &sum, sizeof sum);
    sum = checksum_of(file, bytes - sizeof sum);
    memcpy(file + bytes - sizeof sum, &sum, sizeof sum);
}

static void load(size_t bytes)
{
    rung_buffer *packed;
    must(ftruncate(memory_file, 0) == 0 && pwrite(memory_file, file, bytes, 0) == (ssize_t)bytes, "written");
    rung_status status = rung_packed_load(plan, queue, path, &packed);
    if (status != RUNG_OK) {
        must(status == RUNG_STATUS_INVALID || status == RUNG_STATUS_IO, "a status");
        must(!packed && strlen(rung_error_text()) > 20, "a reason");
        return;
    }
    rung_run_options options = rung_run_options_default();
    options.packed_b = packed;
    must(bytes == valid_bytes && memcmp(file + 64, valid + 64, HEAD - 64) == 0, "a file for the plan");
    must(rung_plan_run(plan, queue, &problem, &options) == RUNG_OK, "multiplied by");
    rung_buffer_destroy(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prepare();
    if (size == 0 || size > sizeof file)
        return 0;
    int kind = data[0];
    size_t bytes = size - 1;
    if (kind == 'e' || kind == 'E')
        bytes = change(data + 1, size - 1);
    else
        memcpy(file, data + 1, bytes);
    if (kind == 'R' || kind == 'E')
        repair(bytes);
    load(bytes);
    return 0;
}
