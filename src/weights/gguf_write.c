/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_write.c - the functions of rung/weights.h that write a GGUF file, version 3. gguf_read.c describes the format. The
 * list of tensors is written with the first data; from then on, data are only appended. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/cancellation.h"
#include "base/checked_arithmetic.h"
#include "base/file_io.h"
#include "base/try.h"
#include "weights/weights.h"

enum {
    ALIGNMENT = 32,
    DIMENSIONS_MAX = 4, /* of GGML */
    NAME_BYTES = 64,    /* of GGML, with the terminating 0 */
    U32_BYTES = 4,      /* sizes of the parts of the header */
    U64_BYTES = 8,
    FIXED_BYTES = 4 + U32_BYTES + 2 * U64_BYTES, /* magic, version, number of tensors and of pairs */
    VALUE_U32 = 4                                /* type of the value of a pair */
};

static const char alignment_key[] = "general.alignment";

typedef struct written_tensor {
    char name[NAME_BYTES];
    rungi_weights_entry entry;
    uint32_t type;  /* in GGUF's list */
    int64_t offset; /* of the data, from the end of the header */
} written_tensor_t;

struct rung_weights_writer {
    char *path;
    written_tensor_t *tensors;
    int64_t count, capacity;
    int64_t data_bytes; /* of all tensors, with padding */
    rungi_atomic_file file;
    bool has_header, has_failed;
    int64_t current, written; /* the tensor whose data come next, and the bytes of it that are written */
};

/* `function` begins the message. */
static rung_status check_writer(const char *function, const rung_weights_writer *writer)
{
    return writer ? RUNG_OK : rungi_invalid("%s needs a writer; it is NULL", function);
}

/* ---- Adding tensors ------------------------------------------------------------------------------------- */

rung_status rung_weights_writer_create(const char *path, rung_weights_writer **writer)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!writer)
        return rungi_invalid("rung_weights_writer_create needs a place for the writer; `writer` is NULL");
    *writer = NULL;
    if (!path)
        return rungi_invalid("the path of the file to write is NULL");
    rung_weights_writer *created = calloc(1, sizeof *created);
    char *copy = strdup(path);
    if (!created || !copy) {
        free(created);
        free(copy);
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory to write %s", path);
    }
    created->path = copy;
    created->file.file = -1;
    *writer = created;
    return RUNG_OK;
}

static rung_status check_new_name(const rung_weights_writer *writer, const char *name)
{
    size_t length = name ? strlen(name) : 0;
    if (length == 0 || length >= NAME_BYTES)
        return rungi_invalid("the name of a tensor has %zu bytes; a GGUF file needs 1 to %d", length, NAME_BYTES - 1);
    for (int64_t i = 0; i < writer->count; i++)
        if (strcmp(writer->tensors[i].name, name) == 0)
            return rungi_invalid("%s already has a tensor with the name %s; names must be unique", writer->path, name);
    return RUNG_OK;
}

/* Fills in type, dimensions and size. */
static rung_status describe_tensor(written_tensor_t *tensor, rung_type type, int64_t dimension_count,
                                   const int64_t *dimensions)
{
    rungi_weights_entry *entry = &tensor->entry;
    if (!rungi_gguf_type_find(type, &tensor->type))
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "a GGUF file cannot hold type %s; use f32, f16, bf16, f64, i8, i32, q8_0 or q4_0",
                          rung_type_name(type));
    if (dimension_count < 1 || dimension_count > DIMENSIONS_MAX || !dimensions)
        return rungi_invalid("tensor %s has %lld dimensions; a GGUF file needs 1 to %d", tensor->name,
                             (long long)dimension_count, DIMENSIONS_MAX);
    entry->type = *rungi_gguf_type_at(tensor->type);
    entry->dimension_count = dimension_count;
    for (int64_t i = 0; i < dimension_count; i++) {
        if (dimensions[i] < 0)
            return rungi_invalid("dimension %lld of tensor %s is %lld; dimensions must not be negative", (long long)i,
                                 tensor->name, (long long)dimensions[i]);
        entry->dimensions[i] = dimensions[i];
    }
    if (dimensions[dimension_count - 1] % entry->type.block_elements != 0)
        return rungi_invalid("the last dimension of tensor %s is %lld; type %s needs a multiple of %lld", tensor->name,
                             (long long)dimensions[dimension_count - 1], rung_type_name(type),
                             (long long)entry->type.block_elements);
    if (!rungi_weights_entry_bytes(entry, &entry->data_bytes) || entry->data_bytes > INT64_MAX - ALIGNMENT)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the size of tensor %s overflows", tensor->name);
    return RUNG_OK;
}

static rung_status make_room(rung_weights_writer *writer)
{
    enum { FIRST_CAPACITY = 16 };
    if (writer->count < writer->capacity)
        return RUNG_OK;
    if (writer->count == RUNGI_WEIGHTS_TENSORS_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s would have more than %d tensors, the maximum", writer->path,
                          RUNGI_WEIGHTS_TENSORS_MAX);
    int64_t capacity = writer->capacity ? 2 * writer->capacity : FIRST_CAPACITY;
    written_tensor_t *tensors = realloc(writer->tensors, (size_t)capacity * sizeof *tensors);
    if (!tensors)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the list of tensors of %s", writer->path);
    writer->tensors = tensors;
    writer->capacity = capacity;
    return RUNG_OK;
}

rung_status rung_weights_writer_add(rung_weights_writer *writer, const char *name, rung_type type,
                                    int64_t dimension_count, const int64_t *dimensions)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(check_writer("rung_weights_writer_add", writer));
    written_tensor_t tensor = {.offset = writer->data_bytes};
    if (writer->has_header || writer->has_failed)
        return rungi_invalid("tensor %s comes after the data; add all tensors before their data are written",
                             name ? name : "");
    TRY(check_new_name(writer, name));
    memcpy(tensor.name, name, strlen(name) + 1);
    TRY(describe_tensor(&tensor, type, dimension_count, dimensions));
    int64_t padded = rungi_round_up(tensor.entry.data_bytes, ALIGNMENT), end;
    if (!rungi_checked_add(writer->data_bytes, padded, &end))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the size of %s overflows", writer->path);
    TRY(make_room(writer));
    writer->tensors[writer->count++] = tensor;
    writer->data_bytes = end;
    return RUNG_OK;
}

/* ---- The header ----------------------------------------------------------------------------------------- */

static uint8_t *put_number(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        *to++ = (uint8_t)(value & 255);
    return to;
}

/* Strings have no terminating 0. */
static uint8_t *put_string(uint8_t *to, const char *text)
{
    to = put_number(to, strlen(text), U64_BYTES);
    while (*text)
        *to++ = (uint8_t)*text++;
    return to;
}

static uint8_t *put_tensor(uint8_t *to, const written_tensor_t *tensor)
{
    const rungi_weights_entry *entry = &tensor->entry;
    to = put_string(to, tensor->name);
    to = put_number(to, (uint64_t)entry->dimension_count, U32_BYTES);
    for (int64_t i = entry->dimension_count - 1; i >= 0; i--) /* the contiguous one first */
        to = put_number(to, (uint64_t)entry->dimensions[i], U64_BYTES);
    to = put_number(to, tensor->type, U32_BYTES);
    return put_number(to, (uint64_t)tensor->offset, U64_BYTES);
}

/* Returns the number of bytes before the data. */
static int64_t count_header_bytes(const rung_weights_writer *writer)
{
    enum { PAIR_BYTES = U64_BYTES + 2 * U32_BYTES, TENSOR_BYTES = 2 * U64_BYTES + 2 * U32_BYTES }; /* without texts */
    int64_t bytes = FIXED_BYTES + PAIR_BYTES + (int64_t)strlen(alignment_key);
    for (int64_t i = 0; i < writer->count; i++)
        bytes += TENSOR_BYTES + (int64_t)strlen(writer->tensors[i].name) +
                 writer->tensors[i].entry.dimension_count * U64_BYTES;
    return rungi_round_up(bytes, ALIGNMENT);
}

/* Returns a header of `bytes` bytes for free(), or NULL. */
static uint8_t *make_header(const rung_weights_writer *writer, int64_t bytes)
{
    enum { VERSION = 3, PAIRS = 1 };
    uint8_t *header = calloc(1, (size_t)bytes), *to = header;
    if (!header)
        return NULL;
    memcpy(to, "GGUF", 4);
    to = put_number(to + 4, VERSION, U32_BYTES);
    to = put_number(to, (uint64_t)writer->count, U64_BYTES);
    to = put_number(to, PAIRS, U64_BYTES);
    to = put_string(to, alignment_key);
    to = put_number(to, VALUE_U32, U32_BYTES);
    to = put_number(to, ALIGNMENT, U32_BYTES);
    for (int64_t i = 0; i < writer->count; i++)
        to = put_tensor(to, &writer->tensors[i]);
    return header;
}

/* ---- Data ----------------------------------------------------------------------------------------------- */

static rung_status append(const rung_weights_writer *writer, const void *data, int64_t bytes)
{
    if (rungi_write_all(writer->file.file, data, (size_t)bytes))
        return RUNG_OK;
    return rungi_fail(RUNG_STATUS_IO, "%s cannot be written: %s", writer->path, strerror(errno));
}

/* Opens the temporary file and writes the header. */
static rung_status write_header(rung_weights_writer *writer)
{
    int64_t bytes = count_header_bytes(writer), total;
    if (!rungi_checked_add(bytes, writer->data_bytes, &total))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the size of %s overflows", writer->path);
    const char *error = rungi_atomic_file_open(&writer->file, writer->path, total);
    if (error)
        return rungi_fail(RUNG_STATUS_IO, "%s cannot be written: %s", writer->path, error);
    uint8_t *header = make_header(writer, bytes);
    if (!header)
        return rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the header of %s", writer->path);
    rung_status status = append(writer, header, bytes);
    free(header);
    writer->has_header = true;
    return status;
}

/* Goes to the next tensor while the current one is complete, and writes the padding between them. */
static rung_status finish_tensors(rung_weights_writer *writer)
{
    static const uint8_t zeros[ALIGNMENT];
    while (writer->current < writer->count && writer->written == writer->tensors[writer->current].entry.data_bytes) {
        TRY(append(writer, zeros, rungi_round_up(writer->written, ALIGNMENT) - writer->written));
        writer->current++;
        writer->written = 0;
    }
    return RUNG_OK;
}

static rung_status write_data(rung_weights_writer *writer, const uint8_t *data, int64_t bytes)
{
    if (!writer->has_header)
        TRY(write_header(writer));
    TRY(finish_tensors(writer));
    while (bytes > 0) {
        if (writer->current == writer->count)
            return rungi_invalid("%lld bytes more than the tensors of %s have were given", (long long)bytes,
                                 writer->path);
        int64_t left = writer->tensors[writer->current].entry.data_bytes - writer->written;
        int64_t part = rungi_min(bytes, left);
        TRY(append(writer, data, part));
        writer->written += part;
        data += part;
        bytes -= part;
        TRY(finish_tensors(writer));
    }
    return RUNG_OK;
}

static rung_status check_usable(const rung_weights_writer *writer)
{
    return writer->has_failed ? rungi_invalid("%s failed to be written before; create a new writer", writer->path)
                              : RUNG_OK;
}

rung_status rung_weights_writer_write(rung_weights_writer *writer, const void *data, int64_t bytes)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(check_writer("rung_weights_writer_write", writer));
    TRY(check_usable(writer));
    if (bytes < 0 || (bytes > 0 && !data))
        return rungi_invalid("data of %lld bytes for %s cannot be written; pass memory and its size", (long long)bytes,
                             writer->path);
    rung_status status = write_data(writer, data, bytes);
    writer->has_failed = status != RUNG_OK;
    return status;
}

static rung_status commit(rung_weights_writer *writer)
{
    TRY(write_data(writer, NULL, 0));
    if (writer->current < writer->count)
        return rungi_invalid("%s is not complete: tensor %s lacks %lld bytes", writer->path,
                             writer->tensors[writer->current].name,
                             (long long)(writer->tensors[writer->current].entry.data_bytes - writer->written));
    const char *error = rungi_atomic_file_commit(&writer->file);
    return error ? rungi_fail(RUNG_STATUS_IO, "%s cannot be written: %s", writer->path, error) : RUNG_OK;
}

rung_status rung_weights_writer_commit(rung_weights_writer *writer)
{
    RUNGI_DISABLE_CANCELLATION;
    TRY(check_writer("rung_weights_writer_commit", writer));
    TRY(check_usable(writer));
    rung_status status = commit(writer);
    writer->has_failed = true; /* nothing can follow */
    return status;
}

void rung_weights_writer_destroy(rung_weights_writer *writer)
{
    RUNGI_DISABLE_CANCELLATION;
    if (!writer)
        return;
    rungi_atomic_file_discard(&writer->file);
    free(writer->tensors);
    free(writer->path);
    free(writer);
}
