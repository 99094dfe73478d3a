/* SPDX-License-Identifier: Apache-2.0 */
/* packed_file.c - packed operands in files: rung_packed_save and rung_packed_load.
 *
 * A file holds, in the byte order of the machine that wrote it:
 *
 *     offset  bytes
 *          0      8  magic, "rungPK\r\n", which a transfer as text changes
 *          8      4  byte order mark, 0x01020304
 *         12      4  format version, 1
 *         16      8  bytes of the packed B, header included
 *         24     32  reserved, zero
 *         56      8  XXH64 of the first 192 bytes, with these 8 as zero
 *         64    128  header of the packed B (on the CPU: cpu/packed_header.h)
 *        192      -  elements of the packed B
 *       last      8  XXH64 of all bytes before
 *
 * The first 16 bytes and the checksum of the first 192 keep their meaning in later format versions, so that damage and
 * another version are distinguished. The checksums detect accidental damage, not deliberate changes. A forged file can
 * have any elements, but no size in it is trusted: a file that loads has the header and the number of bytes that the
 * plan expects, and its elements are only ever multiplied.
 *
 * The core copies the packed bytes through the queue and does not interpret them. The device compares the header with
 * its plan (rungi_device_ops.packed_check). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "base/file_io.h"
#include "base/try.h"
#include "base/xxh64.h"
#include "core/plan.h"

enum { FORMAT_VERSION = 1, BYTE_ORDER_MARK = 0x01020304, SWAPPED_MARK = 0x04030201 };

static const char magic[8] = {'r', 'u', 'n', 'g', 'P', 'K', '\r', '\n'};

typedef struct preamble {
    char magic[8];
    uint32_t byte_order, version;
    uint64_t bytes;
    char reserved[32];
    uint64_t checksum;
} preamble_t;

/* The first 192 bytes of a file. */
typedef struct packed_head {
    preamble_t preamble;
    char header[RUNGI_PACKED_HEADER_BYTES];
} packed_head_t;

_Static_assert(sizeof(packed_head_t) == 192 && sizeof(preamble_t) == 64, "no padding");

/* The packed B is copied in chunks that fit the L2 cache. */
enum { CHUNK_BYTES = 1 << 20 };

_Static_assert(CHUNK_BYTES % RUNGI_XXH64_STRIPE == 0 && sizeof(packed_head_t) % RUNGI_XXH64_STRIPE == 0,
               "whole stripes");

static uint64_t checksum_of_head(const packed_head_t *head)
{
    preamble_t blank = head->preamble;
    rungi_xxh64 hash;
    blank.checksum = 0;
    rungi_xxh64_begin(&hash);
    rungi_xxh64_add(&hash, &blank, sizeof blank);
    return rungi_xxh64_end(&hash, head->header, sizeof head->header);
}

static rung_status fail_io(const char *path, const char *action, int number)
{
    return rungi_fail(RUNG_STATUS_IO, "%.1000s cannot be %s: %s", path, action, strerror(number));
}

static rung_status fail_corrupt(const char *path, const char *damage)
{
    return rungi_fail(RUNG_STATUS_IO, "%.1000s is damaged: %s; pack B again and save it", path, damage);
}

/* ---- Copying ----------------------------------------------------------------------------------------------------- */

/* A copy between a buffer and a file. */
typedef struct packed_copy {
    rung_queue *queue;
    rung_buffer *packed;
    int64_t bytes; /* of the packed B */
    int file;
    int64_t file_bytes; /* when the file was opened for loading */
    const char *path;
    char *chunk; /* CHUNK_BYTES bytes */
    bool is_saving;
} packed_copy_t;

static rung_status read_buffer(const packed_copy_t *copy, int64_t offset, int64_t bytes, void *to)
{
    return rungi_queue_finish_after(copy->queue, rung_buffer_read(copy->queue, copy->packed, offset, bytes, to, NULL));
}

static rung_status write_buffer(const packed_copy_t *copy, int64_t offset, int64_t bytes, const void *from)
{
    return rungi_queue_finish_after(copy->queue,
                                    rung_buffer_write(copy->queue, copy->packed, offset, bytes, from, NULL));
}

static rung_status write_file(const packed_copy_t *copy, const void *from, int64_t bytes)
{
    return rungi_write_all(copy->file, from, (size_t)bytes) ? RUNG_OK : fail_io(copy->path, "written", errno);
}

static rung_status read_file(const packed_copy_t *copy, void *to, int64_t bytes)
{
    int64_t got = rungi_read_up_to(copy->file, to, bytes);
    if (got < 0)
        return fail_io(copy->path, "read", errno);
    return got == bytes ? RUNG_OK : fail_corrupt(copy->path, "it became shorter while it was read");
}

/* Copies one chunk from the buffer to the file, or back. */
static rung_status copy_chunk(const packed_copy_t *copy, int64_t at, int64_t bytes)
{
    TRY(copy->is_saving ? read_buffer(copy, at, bytes, copy->chunk) : read_file(copy, copy->chunk, bytes));
    return copy->is_saving ? write_file(copy, copy->chunk, bytes) : write_buffer(copy, at, bytes, copy->chunk);
}

/* Copies all elements and computes the checksum of the head and the elements. */
static rung_status copy_packed_elements(const packed_copy_t *copy, const packed_head_t *head, uint64_t *checksum)
{
    rungi_xxh64 hash;
    int64_t at = RUNGI_PACKED_HEADER_BYTES;
    rungi_xxh64_begin(&hash);
    rungi_xxh64_add(&hash, head, sizeof *head);
    for (; copy->bytes - at > CHUNK_BYTES; at += CHUNK_BYTES) {
        TRY(copy_chunk(copy, at, CHUNK_BYTES));
        rungi_xxh64_add(&hash, copy->chunk, CHUNK_BYTES);
    }
    TRY(copy_chunk(copy, at, copy->bytes - at));
    *checksum = rungi_xxh64_end(&hash, copy->chunk, (size_t)(copy->bytes - at));
    return RUNG_OK;
}

/* ---- Saving ------------------------------------------------------------------------------------------------------ */

static rung_status write_all(const packed_copy_t *copy, const packed_head_t *head)
{
    uint64_t checksum;
    TRY(write_file(copy, head, sizeof *head));
    TRY(copy_packed_elements(copy, head, &checksum));
    return write_file(copy, &checksum, sizeof checksum);
}

static rung_status save(packed_copy_t *copy, const packed_head_t *head, int64_t file_bytes)
{
    rungi_atomic_file file;
    const char *error = rungi_atomic_file_open(&file, copy->path, file_bytes);
    copy->file = file.file;
    rung_status status = error ? RUNG_OK : write_all(copy, head);
    if (status != RUNG_OK) {
        rungi_atomic_file_discard(&file);
        return status;
    }
    if (!error)
        error = rungi_atomic_file_commit(&file);
    return error ? rungi_fail(RUNG_STATUS_IO, "%.1000s cannot be written: %s", copy->path, error) : RUNG_OK;
}

/* Checks that a file can hold a packed B of the plan, and computes the size of the file. */
static rung_status check_plan(const rung_plan *plan, const rung_queue *queue, const rung_buffer *packed,
                              int64_t *file_bytes)
{
    TRY(rungi_plan_check_packing(plan, queue, packed));
    return rungi_checked_add(plan->info.packed_b_bytes, (int64_t)(sizeof(preamble_t) + sizeof(uint64_t)), file_bytes)
               ? RUNG_OK
               : rungi_fail(RUNG_STATUS_TOO_LARGE, "a packed B of %lld bytes is too large for a file",
                            (long long)plan->info.packed_b_bytes);
}

rung_status rung_packed_save(rung_plan *plan, rung_queue *queue, rung_buffer *packed, const char *path)
{
    RUNGI_DISABLE_CANCELLATION;
    packed_head_t head;
    int64_t file_bytes;
    if (!plan || !queue || !packed || !path)
        return rungi_invalid("rung_packed_save needs a plan, a queue, a buffer and a path; one of them is NULL");
    TRY(check_plan(plan, queue, packed, &file_bytes));
    packed_copy_t copy = {
        .queue = queue, .packed = packed, .bytes = plan->info.packed_b_bytes, .path = path, .is_saving = true};
    TRY(read_buffer(&copy, 0, RUNGI_PACKED_HEADER_BYTES, head.header));
    TRY(plan->device->ops->packed_check(plan, head.header));
    head.preamble = (preamble_t){
        .byte_order = BYTE_ORDER_MARK, .version = FORMAT_VERSION, .bytes = (uint64_t)copy.bytes};
    memcpy(head.preamble.magic, magic, sizeof magic);
    head.preamble.checksum = checksum_of_head(&head);
    copy.chunk = rungi_allocate(plan->device->context, CHUNK_BYTES, 64);
    TRY(rungi_allocated(copy.chunk));
    rung_status status = save(&copy, &head, file_bytes);
    rungi_release(plan->device->context, copy.chunk);
    return status;
}

/* ---- Loading ----------------------------------------------------------------------------------------------------- */

/* Checks the first `got` bytes of a file. The rest of `head` is zero. */
static rung_status check_head(const char *path, const packed_head_t *head, int64_t got)
{
    const preamble_t *found = &head->preamble;
    if (memcmp(found->magic, magic, (size_t)rungi_min(got, sizeof magic)) != 0)
        return rungi_invalid("%.1000s is not a file of rung_packed_save", path);
    if (got < (int64_t)sizeof *head)
        return rungi_fail(RUNG_STATUS_IO, "%.1000s is damaged: it ends after %lld bytes; pack B again and save it",
                          path, (long long)got);
    if (found->byte_order == SWAPPED_MARK)
        return rungi_invalid("%.1000s was written on a machine with another byte order; pack B again and save it",
                             path);
    if (found->checksum != checksum_of_head(head) || found->byte_order != BYTE_ORDER_MARK)
        return fail_corrupt(path, "the checksum of its first 192 bytes is wrong");
    if (found->version != FORMAT_VERSION)
        return rungi_invalid(
            "%.1000s has format version %lu, and this library reads version %d; pack B again and save it", path,
            (unsigned long)found->version, FORMAT_VERSION);
    return RUNG_OK;
}

static rung_status check_length(const packed_copy_t *copy, const preamble_t *found)
{
    uint64_t frame = sizeof(preamble_t) + sizeof(uint64_t), bytes = (uint64_t)copy->file_bytes;
    if (bytes >= frame && bytes - frame == found->bytes)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_IO,
                      "%.1000s is damaged: it has %llu bytes, and its header describes %llu; pack B again and save it",
                      copy->path, (unsigned long long)bytes, (unsigned long long)found->bytes + frame);
}

/* Reads and checks the head. A file that passes belongs to this plan and has the expected length. */
static rung_status read_head(const rung_plan *plan, const packed_copy_t *copy, packed_head_t *head)
{
    memset(head, 0, sizeof *head);
    int64_t got = rungi_read_up_to(copy->file, head, sizeof *head);
    if (got < 0)
        return fail_io(copy->path, "read", errno);
    TRY(check_head(copy->path, head, got));
    TRY(check_length(copy, &head->preamble));
    rung_status status = plan->device->ops->packed_check(plan, head->header);
    if (status != RUNG_OK)
        return rungi_fail_prepend(status, "%.1000s", copy->path);
    return head->preamble.bytes == (uint64_t)copy->bytes
               ? RUNG_OK
               : fail_corrupt(copy->path, "its two headers describe different sizes");
}

static rung_status read_elements(const packed_copy_t *copy, const packed_head_t *head)
{
    uint64_t checksum, expected;
    TRY(write_buffer(copy, 0, RUNGI_PACKED_HEADER_BYTES, head->header));
    TRY(copy_packed_elements(copy, head, &checksum));
    TRY(read_file(copy, &expected, sizeof expected));
    return checksum == expected ? RUNG_OK : fail_corrupt(copy->path, "its checksum is wrong");
}

static rung_status load(rung_plan *plan, packed_copy_t *copy)
{
    packed_head_t head;
    rung_context *context = plan->device->context;
    TRY(read_head(plan, copy, &head));
    TRY(rung_buffer_create(plan->device, copy->bytes, &copy->packed));
    copy->chunk = rungi_allocate(context, CHUNK_BYTES, 64);
    if (plan->device->ops->packed_prepare)
        plan->device->ops->packed_prepare(copy->packed, copy->bytes);
    rung_status status = copy->chunk ? read_elements(copy, &head) : RUNG_STATUS_NO_MEMORY;
    rungi_release(context, copy->chunk);
    if (status != RUNG_OK)
        rung_buffer_destroy(copy->packed);
    return status;
}

/* Opens the file. O_NONBLOCK, because opening a pipe would wait for a writer. */
static rung_status open_file(packed_copy_t *copy)
{
    struct stat file_status = {0};
    do
        copy->file = open(copy->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (copy->file < 0 && errno == EINTR);
    if (copy->file < 0) {
        bool is_missing = errno == ENOENT || errno == ENOTDIR;
        return rungi_fail(is_missing ? RUNG_STATUS_NOT_FOUND : RUNG_STATUS_IO, "%.1000s cannot be opened: %s",
                          copy->path, strerror(errno));
    }
    int number = fstat(copy->file, &file_status) == 0 ? 0 : errno;
    copy->file_bytes = file_status.st_size;
    if (number == 0 && S_ISREG(file_status.st_mode))
        return RUNG_OK;
    close(copy->file);
    return number ? fail_io(copy->path, "read", number)
                  : rungi_fail(RUNG_STATUS_IO, "%.1000s cannot be read: it is not a regular file", copy->path);
}

rung_status rung_packed_load(rung_plan *plan, rung_queue *queue, const char *path, rung_buffer **packed)
{
    RUNGI_DISABLE_CANCELLATION;
    int64_t file_bytes;
    TRY(rungi_clear_result(
        packed, plan && queue && path,
        "rung_packed_load needs a plan, a queue, a path and a pointer for the buffer; one of them is NULL"));
    TRY(check_plan(plan, queue, NULL, &file_bytes));
    packed_copy_t copy = {.queue = queue, .bytes = plan->info.packed_b_bytes, .path = path};
    TRY(open_file(&copy));
    rung_status status = load(plan, &copy);
    close(copy.file);
    if (status == RUNG_OK)
        *packed = copy.packed;
    return status;
}
