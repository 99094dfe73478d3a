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
 * another version are told apart. The checksums find accidental damage, not changes on purpose. A forged file can have
 * any elements, but no size in it is trusted: a file that loads has the header and the number of bytes that the plan
 * expects, and its elements are only ever multiplied.
 *
 * The core copies the packed bytes through the queue and does not interpret them. The device compares the header with its
 * plan (rungi_device_ops.packed_check). */
#include "core/cancel.h"
#include "core/checked.h"
#include "core/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/atomic_file.h"
#include "core/files.h"
#include "core/xxh64.h"

enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304, SWAPPED_MARK = 0x04030201 };

static const char magic[8] = {'r', 'u', 'n', 'g', 'P', 'K', '\r', '\n'};

typedef struct preamble {
    char magic[8];
    uint32_t byte_order, version;
    uint64_t bytes;
    char reserved[32];
    uint64_t checksum;
} preamble_t;

/* The first bytes of a file. */
typedef struct head {
    preamble_t preamble;
    char header[RUNGI_PACKED_HEADER];
} head_t;

_Static_assert(sizeof(head_t) == 192 && sizeof(preamble_t) == 64, "no padding");

/* The packed B is copied in chunks that fit the second cache. */
enum { CHUNK = 1 << 20 };

_Static_assert(CHUNK % RUNGI_XXH64_STRIPE == 0 && sizeof(head_t) % RUNGI_XXH64_STRIPE == 0, "whole stripes");

static uint64_t checksum_of_head(const head_t *head)
{
    preamble_t blank = head->preamble;
    rungi_xxh64 hash;
    blank.checksum = 0;
    rungi_xxh64_begin(&hash);
    rungi_xxh64_add(&hash, &blank, sizeof blank);
    return rungi_xxh64_end(&hash, head->header, sizeof head->header);
}

static rung_status fail_io(const char *path, const char *what, int number)
{
    return rungi_fail(RUNG_STATUS_IO, "%.1000s cannot be %s: %s", path, what, strerror(number));
}

static rung_status fail_damaged(const char *path, const char *how)
{
    return rungi_fail(RUNG_STATUS_IO, "%.1000s is damaged: %s; pack B again and save it", path, how);
}

/* ---- One chunk after the other ----------------------------------------------------------------------- */

/* What is copied, and by what. */
typedef struct copy {
    rung_queue *queue;
    rung_buffer *packed;
    int64_t bytes; /* of the packed B */
    int file;
    const char *path;
    char *chunk; /* CHUNK bytes */
} copy_t;

/* Waits for a copy. The first failure is the one that is reported. */
static rung_status finish_after(rung_queue *queue, rung_status status)
{
    rungi_error first;
    if (status == RUNG_OK)
        return rung_queue_finish(queue);
    rungi_error_save(&first);
    rung_queue_finish(queue);
    rungi_error_restore(&first);
    return status;
}

static rung_status read_buffer(const copy_t *copy, int64_t offset, int64_t bytes, void *to)
{
    return finish_after(copy->queue, rung_buffer_read(copy->queue, copy->packed, offset, bytes, to, NULL));
}

static rung_status write_buffer(const copy_t *copy, int64_t offset, int64_t bytes, const void *from)
{
    return finish_after(copy->queue, rung_buffer_write(copy->queue, copy->packed, offset, bytes, from, NULL));
}

static rung_status write_file(const copy_t *copy, const void *from, int64_t bytes)
{
    return rungi_write_all(copy->file, from, (size_t)bytes) ? RUNG_OK : fail_io(copy->path, "written", errno);
}

static rung_status read_file(const copy_t *copy, void *to, int64_t bytes)
{
    int64_t got = rungi_read_up_to(copy->file, to, bytes);
    if (got < 0)
        return fail_io(copy->path, "read", errno);
    return got == bytes ? RUNG_OK : fail_damaged(copy->path, "it became shorter while it was read");
}

/* Copies one chunk from the buffer to the file, or back. */
typedef rung_status move_chunk_t(const copy_t *copy, int64_t at, int64_t bytes);

static rung_status save_chunk(const copy_t *copy, int64_t at, int64_t bytes)
{
    rung_status status = read_buffer(copy, at, bytes, copy->chunk);
    return status == RUNG_OK ? write_file(copy, copy->chunk, bytes) : status;
}

static rung_status load_chunk(const copy_t *copy, int64_t at, int64_t bytes)
{
    rung_status status = read_file(copy, copy->chunk, bytes);
    return status == RUNG_OK ? write_buffer(copy, at, bytes, copy->chunk) : status;
}

/* Moves all elements, and computes the checksum of the head and of them. */
static rung_status move_elements(const copy_t *copy, const head_t *head, move_chunk_t *move, uint64_t *checksum)
{
    rungi_xxh64 hash;
    int64_t at = RUNGI_PACKED_HEADER;
    rungi_xxh64_begin(&hash);
    rungi_xxh64_add(&hash, head, sizeof *head);
    for (; copy->bytes - at > CHUNK; at += CHUNK) {
        rung_status status = move(copy, at, CHUNK);
        if (status != RUNG_OK)
            return status;
        rungi_xxh64_add(&hash, copy->chunk, CHUNK);
    }
    rung_status status = move(copy, at, copy->bytes - at);
    if (status == RUNG_OK)
        *checksum = rungi_xxh64_end(&hash, copy->chunk, (size_t)(copy->bytes - at));
    return status;
}

/* ---- Saving ------------------------------------------------------------------------------------------ */

static void fill_head(head_t *head, int64_t bytes)
{
    head->preamble = (preamble_t){.byte_order = BYTE_ORDER_MARK, .version = VERSION, .bytes = (uint64_t)bytes};
    memcpy(head->preamble.magic, magic, sizeof magic);
    head->preamble.checksum = checksum_of_head(head);
}

static rung_status write_all(const copy_t *copy, const head_t *head)
{
    uint64_t checksum;
    rung_status status = write_file(copy, head, sizeof *head);
    if (status == RUNG_OK)
        status = move_elements(copy, head, save_chunk, &checksum);
    return status == RUNG_OK ? write_file(copy, &checksum, sizeof checksum) : status;
}

static rung_status save(copy_t *copy, const head_t *head, int64_t file_bytes)
{
    rungi_atomic_file file;
    const char *wrong = rungi_atomic_open(&file, copy->path, file_bytes);
    if (!wrong) {
        copy->file = file.file;
        rung_status status = write_all(copy, head);
        if (status != RUNG_OK) {
            rungi_atomic_discard(&file);
            return status;
        }
        wrong = rungi_atomic_commit(&file);
    }
    return wrong ? rungi_fail(RUNG_STATUS_IO, "%.1000s cannot be written: %s", copy->path, wrong) : RUNG_OK;
}

/* Whether a packed B of the plan can be in a file at all; `file_bytes` is the file's size. */
static rung_status check_plan(const rung_plan *plan, const rung_queue *queue, const rung_buffer *packed,
                              int64_t *file_bytes)
{
    rung_status status = rungi_plan_check_packing(plan, queue, packed);
    if (status != RUNG_OK)
        return status;
    return rungi_add(plan->info.packed_b_bytes, (int64_t)(sizeof(preamble_t) + sizeof(uint64_t)), file_bytes)
               ? RUNG_OK
               : rungi_fail(RUNG_STATUS_TOO_LARGE, "a packed B of %lld bytes is too large for a file",
                            (long long)plan->info.packed_b_bytes);
}

rung_status rung_packed_save(rung_plan *plan, rung_queue *queue, rung_buffer *packed, const char *path)
{
    RUNGI_DISABLE_CANCELLATION;
    head_t head;
    int64_t file_bytes;
    if (!plan || !queue || !packed || !path)
        return rungi_fail(RUNG_STATUS_INVALID, "rung_packed_save needs a plan, a queue, a buffer and a path");
    rung_status status = check_plan(plan, queue, packed, &file_bytes);
    if (status != RUNG_OK)
        return status;
    copy_t copy = {.queue = queue, .packed = packed, .bytes = plan->info.packed_b_bytes, .path = path};
    status = read_buffer(&copy, 0, RUNGI_PACKED_HEADER, head.header);
    if (status == RUNG_OK)
        status = plan->device->ops->packed_check(plan, head.header);
    if (status != RUNG_OK)
        return status;
    fill_head(&head, copy.bytes);
    copy.chunk = rungi_allocate(plan->device->context, CHUNK, 64);
    if (!copy.chunk)
        return RUNG_STATUS_NO_MEMORY;
    status = save(&copy, &head, file_bytes);
    rungi_release(plan->device->context, copy.chunk);
    return status;
}

/* ---- Loading ----------------------------------------------------------------------------------------- */

/* Checks the first `got` bytes of a file; what lies behind them in `head` is zero. */
static rung_status check_head(const char *path, const head_t *head, int64_t got)
{
    const preamble_t *found = &head->preamble;
    if (memcmp(found->magic, magic, (size_t)rungi_smaller(got, sizeof magic)) != 0)
        return rungi_fail(RUNG_STATUS_INVALID, "%.1000s is not a file of rung_packed_save", path);
    if (got < (int64_t)sizeof *head)
        return rungi_fail(RUNG_STATUS_IO, "%.1000s is damaged: it ends after %lld bytes; pack B again and save it",
                          path, (long long)got);
    if (found->byte_order == SWAPPED_MARK)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%.1000s was written on a machine with another byte order; pack B again and save it", path);
    if (found->checksum != checksum_of_head(head) || found->byte_order != BYTE_ORDER_MARK)
        return fail_damaged(path, "the checksum of its first 192 bytes is wrong");
    if (found->version != VERSION)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "%.1000s has format version %lu, and this library reads version %d; pack B again and "
                          "save it",
                          path, (unsigned long)found->version, VERSION);
    return RUNG_OK;
}

static rung_status check_length(const copy_t *copy, const preamble_t *found)
{
    struct stat about;
    if (fstat(copy->file, &about) != 0)
        return fail_io(copy->path, "read", errno);
    uint64_t frame = sizeof(preamble_t) + sizeof(uint64_t);
    uint64_t bytes = (uint64_t)about.st_size; /* not negative */
    if (bytes >= frame && bytes - frame == found->bytes)
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_IO,
                      "%.1000s is damaged: it has %llu bytes, and its header describes %llu; pack B again and save it",
                      copy->path, (unsigned long long)bytes, (unsigned long long)found->bytes + frame);
}

/* Reads the first bytes. A file that passes is for this plan and has the length that the plan expects. */
static rung_status read_head(const rung_plan *plan, const copy_t *copy, head_t *head)
{
    memset(head, 0, sizeof *head);
    int64_t got = rungi_read_up_to(copy->file, head, sizeof *head);
    if (got < 0)
        return fail_io(copy->path, "read", errno);
    rung_status status = check_head(copy->path, head, got);
    if (status == RUNG_OK)
        status = check_length(copy, &head->preamble);
    if (status != RUNG_OK)
        return status;
    status = plan->device->ops->packed_check(plan, head->header);
    if (status != RUNG_OK)
        return rungi_fail_in(status, "%.1000s", copy->path);
    return head->preamble.bytes == (uint64_t)copy->bytes
               ? RUNG_OK
               : fail_damaged(copy->path, "its two headers describe different sizes");
}

static rung_status read_elements(const copy_t *copy, const head_t *head)
{
    uint64_t checksum, expected;
    rung_status status = write_buffer(copy, 0, RUNGI_PACKED_HEADER, head->header);
    if (status == RUNG_OK)
        status = move_elements(copy, head, load_chunk, &checksum);
    if (status == RUNG_OK)
        status = read_file(copy, &expected, sizeof expected);
    if (status != RUNG_OK)
        return status;
    return checksum == expected ? RUNG_OK : fail_damaged(copy->path, "its checksum is wrong");
}

static rung_status load(rung_plan *plan, copy_t *copy)
{
    head_t head;
    rung_context *context = plan->device->context;
    rung_status status = read_head(plan, copy, &head);
    if (status == RUNG_OK)
        status = rung_buffer_create(plan->device, copy->bytes, &copy->packed);
    if (status != RUNG_OK)
        return status;
    copy->chunk = rungi_allocate(context, CHUNK, 64);
    if (plan->device->ops->packed_prepare)
        plan->device->ops->packed_prepare(copy->packed);
    status = copy->chunk ? read_elements(copy, &head) : RUNG_STATUS_NO_MEMORY;
    rungi_release(context, copy->chunk);
    if (status != RUNG_OK)
        rung_buffer_destroy(copy->packed);
    return status;
}

/* O_NONBLOCK: opening a pipe would wait for a writer. */
static rung_status open_file(copy_t *copy)
{
    struct stat about;
    do
        copy->file = open(copy->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (copy->file < 0 && errno == EINTR);
    if (copy->file < 0) {
        bool is_missing = errno == ENOENT || errno == ENOTDIR;
        return rungi_fail(is_missing ? RUNG_STATUS_NOT_FOUND : RUNG_STATUS_IO, "%.1000s cannot be opened: %s",
                          copy->path, strerror(errno));
    }
    int number = fstat(copy->file, &about) == 0 ? 0 : errno;
    if (number == 0 && S_ISREG(about.st_mode))
        return RUNG_OK;
    close(copy->file);
    return number ? fail_io(copy->path, "read", number)
                  : rungi_fail(RUNG_STATUS_IO, "%.1000s cannot be read: it is not a regular file", copy->path);
}

rung_status rung_packed_load(rung_plan *plan, rung_queue *queue, const char *path, rung_buffer **packed)
{
    RUNGI_DISABLE_CANCELLATION;
    int64_t file_bytes;
    if (packed)
        *packed = NULL;
    if (!plan || !queue || !path || !packed)
        return rungi_fail(RUNG_STATUS_INVALID,
                          "rung_packed_load needs a plan, a queue, a path and a pointer for the buffer");
    rung_status status = check_plan(plan, queue, NULL, &file_bytes);
    if (status != RUNG_OK)
        return status;
    copy_t copy = {.queue = queue, .bytes = plan->info.packed_b_bytes, .path = path};
    status = open_file(&copy);
    if (status != RUNG_OK)
        return status;
    status = load(plan, &copy);
    close(copy.file);
    if (status == RUNG_OK)
        *packed = copy.packed;
    return status;
}
