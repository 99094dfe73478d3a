/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_read.c - reads the list of tensors of a GGUF file
 * (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). A file is, in this order:
 *
 *     "GGUF", version, number of tensors, number of key-value pairs
 *     the pairs, which are skipped except general.alignment
 *     the tensors: name, dimensions, type, offset of the data
 *     the data, aligned
 *
 * Nothing in the file is trusted: every count and length is compared with the bytes that are left. */
#include <stdio.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "weights/weights.h"

enum {
    KEY_BYTES_MAX = 65535,  /* limit of the format */
    DIMENSIONS_MAX = 4,     /* limit of GGML */
    NESTING_MAX = 4,        /* arrays in arrays; GGML accepts none */
    ALIGNMENT_DEFAULT = 32, /* bytes */
    TENSOR_BYTES_MIN = 24   /* of a tensor in the list: a name of 0 bytes and no dimensions */
};

/* The rest of a file. */
typedef struct gguf_cursor {
    rung_weights *weights;
    const uint8_t *at;
    int64_t left;
    uint32_t alignment; /* 0: not given */
} gguf_cursor_t;

/* ---- Numbers and strings -------------------------------------------------------------------------------- */

static rung_status fail_truncated(const gguf_cursor_t *cursor, const char *where)
{
    return rungi_invalid("%s ends within %s; it is damaged or still being written", cursor->weights->path, where);
}

static rung_status take(gguf_cursor_t *cursor, int64_t bytes, const char *where, const uint8_t **taken)
{
    if (bytes > cursor->left)
        return fail_truncated(cursor, where);
    *taken = cursor->at;
    cursor->at += bytes;
    cursor->left -= bytes;
    return RUNG_OK;
}

static uint64_t little_endian(const uint8_t *bytes, int count)
{
    uint64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

static rung_status read_u32(gguf_cursor_t *cursor, const char *where, uint32_t *value)
{
    const uint8_t *bytes = NULL;
    *value = 0;
    TRY(take(cursor, 4, where, &bytes));
    *value = (uint32_t)little_endian(bytes, 4);
    return RUNG_OK;
}

/* Reads a 64-bit count, size or offset. */
static rung_status read_size(gguf_cursor_t *cursor, const char *where, int64_t *size)
{
    const uint8_t *bytes = NULL;
    *size = 0;
    TRY(take(cursor, 8, where, &bytes));
    uint64_t value = little_endian(bytes, 8);
    if (value > INT64_MAX)
        return rungi_invalid("%s is damaged: a size in %s is %llu", cursor->weights->path, where,
                             (unsigned long long)value);
    *size = (int64_t)value;
    return RUNG_OK;
}

static rung_status read_string(gguf_cursor_t *cursor, const char *where, rungi_string_view *string)
{
    int64_t length;
    const uint8_t *text = NULL;
    TRY(read_size(cursor, where, &length));
    TRY(take(cursor, length, where, &text));
    *string = rungi_string_view_of((const char *)text, (size_t)length);
    return RUNG_OK;
}

/* ---- Key-value pairs ------------------------------------------------------------------------------------ */

static const char in_pairs[] = "its key-value pairs";

enum { VALUE_U32 = 4, VALUE_STRING = 8, VALUE_ARRAY = 9 };

/* Returns the bytes of a value of fixed size; 0 for other types. */
static int64_t value_bytes(uint32_t type)
{
    static const int8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizeof bytes ? bytes[type] : 0;
}

static rung_status skip_values(gguf_cursor_t *cursor, uint32_t type, int64_t count, int depth);

static rung_status skip_array(gguf_cursor_t *cursor, int depth)
{
    uint32_t type;
    int64_t count;
    if (depth == NESTING_MAX)
        return rungi_invalid("%s has arrays nested more than %d deep in %s, the maximum", cursor->weights->path,
                             NESTING_MAX, in_pairs);
    TRY(read_u32(cursor, in_pairs, &type));
    TRY(read_size(cursor, in_pairs, &count));
    return skip_values(cursor, type, count, depth + 1);
}

/* Skips `count` values. Each string or array takes bytes of the file, so a wrong count ends at the end of the file. */
static rung_status skip_values(gguf_cursor_t *cursor, uint32_t type, int64_t count, int depth)
{
    const uint8_t *values;
    rungi_string_view string;
    int64_t size = value_bytes(type);
    if (size == 0 && type != VALUE_STRING && type != VALUE_ARRAY)
        return rungi_invalid("%s is damaged: %s have a value of unknown type %u", cursor->weights->path, in_pairs,
                             type);
    if (size > 0)
        return count > cursor->left / size ? fail_truncated(cursor, in_pairs)
                                           : take(cursor, count * size, in_pairs, &values);
    for (int64_t i = 0; i < count; i++)
        TRY(type == VALUE_STRING ? read_string(cursor, in_pairs, &string) : skip_array(cursor, depth));
    return RUNG_OK;
}

static rung_status read_alignment(gguf_cursor_t *cursor, uint32_t type)
{
    if (type != VALUE_U32 || cursor->alignment != 0)
        return rungi_invalid("%s is damaged: general.alignment is repeated or is not an unsigned 32-bit integer",
                             cursor->weights->path);
    TRY(read_u32(cursor, in_pairs, &cursor->alignment));
    if (cursor->alignment == 0 || (cursor->alignment & (cursor->alignment - 1)) != 0)
        return rungi_invalid("%s is damaged: general.alignment is %u; a power of two is required",
                             cursor->weights->path, cursor->alignment);
    return RUNG_OK;
}

static rung_status read_pair(gguf_cursor_t *cursor)
{
    rungi_string_view key;
    uint32_t type;
    TRY(read_string(cursor, in_pairs, &key));
    if (key.length > KEY_BYTES_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s has a key of %zu bytes; the maximum is %d", cursor->weights->path,
                          key.length, KEY_BYTES_MAX);
    TRY(read_u32(cursor, in_pairs, &type));
    return rungi_string_view_equals(key, "general.alignment") ? read_alignment(cursor, type)
                                                              : skip_values(cursor, type, 1, 0);
}

/* ---- Tensors -------------------------------------------------------------------------------------------- */

static const char in_list[] = "its list of tensors";

/* Reads the dimensions, which the file lists from the contiguous one on. */
static rung_status read_dimensions(gguf_cursor_t *cursor, rungi_weights_entry *entry)
{
    uint32_t count;
    TRY(read_u32(cursor, in_list, &count));
    if (count > DIMENSIONS_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s has a tensor with %u dimensions; the maximum is %d",
                          cursor->weights->path, count, DIMENSIONS_MAX);
    entry->dimension_count = count;
    for (uint32_t i = 0; i < count; i++)
        TRY(read_size(cursor, in_list, &entry->dimensions[count - 1 - i]));
    return RUNG_OK;
}

/* Reads the type. `name` receives the name of an unknown one. */
static rung_status read_type(gguf_cursor_t *cursor, rungi_weights_entry *entry, char *name, size_t capacity)
{
    uint32_t index;
    TRY(read_u32(cursor, in_list, &index));
    const rungi_weights_type *type = rungi_gguf_type_at(index);
    snprintf(name, capacity, "type %u", index);
    entry->type = type ? *type : (rungi_weights_type){.name = name};
    return RUNG_OK;
}

/* Reads one entry of the list of tensors. `offset` is relative to the first byte of data, whose address is not known before
 * the whole list has been read. `entry->data` therefore stays NULL. */
static rung_status read_tensor(gguf_cursor_t *cursor, rungi_weights_entry *entry, int64_t *offset, char *type_name,
                               size_t capacity)
{
    *entry = (rungi_weights_entry){.data = NULL};
    TRY(read_string(cursor, in_list, &entry->name));
    TRY(read_dimensions(cursor, entry));
    TRY(read_type(cursor, entry, type_name, capacity));
    TRY(read_size(cursor, in_list, offset));
    if (!rungi_weights_entry_bytes(entry, &entry->data_bytes))
        return rungi_invalid("%s is damaged: the size of a tensor overflows or is not a multiple of the blocks of %s",
                             cursor->weights->path, entry->type.name);
    return RUNG_OK;
}

static rung_status add_tensor(gguf_cursor_t *cursor, rungi_weights_entry *entry, int64_t offset, const uint8_t *data,
                              int64_t bytes)
{
    if (offset % cursor->alignment != 0)
        return rungi_invalid("%s is damaged: a tensor begins at offset %lld, which is not a multiple of %u",
                             cursor->weights->path, (long long)offset, cursor->alignment);
    if (offset > bytes || entry->data_bytes > bytes - offset)
        return rungi_invalid("%s has %lld bytes of data, but a tensor has %lld bytes at offset %lld; the file was "
                             "truncated or is still being written",
                             cursor->weights->path, (long long)bytes, (long long)entry->data_bytes, (long long)offset);
    entry->data = data + offset;
    return rungi_weights_add(cursor->weights, entry);
}

/* Reads the list once to find its end, where the data begin, and then again to add the tensors. */
static rung_status read_tensors(gguf_cursor_t *cursor, const uint8_t *bytes, int64_t count, int64_t tensors)
{
    rungi_weights_entry entry;
    char type_name[24];
    int64_t offset;
    gguf_cursor_t list = *cursor;
    for (int64_t i = 0; i < tensors; i++)
        TRY(read_tensor(cursor, &entry, &offset, type_name, sizeof type_name));
    int64_t start = rungi_min(count, rungi_round_up(cursor->at - bytes, cursor->alignment));
    for (int64_t i = 0; i < tensors; i++) {
        TRY(read_tensor(&list, &entry, &offset, type_name, sizeof type_name));
        TRY(add_tensor(&list, &entry, offset, bytes + start, count - start));
    }
    return rungi_weights_finish(cursor->weights, NULL, 0);
}

/* ---- The file ------------------------------------------------------------------------------------------- */

static rung_status read_version(gguf_cursor_t *cursor)
{
    const uint8_t *magic;
    uint32_t version;
    TRY(take(cursor, 4, "its header", &magic));
    TRY(read_u32(cursor, "its header", &version));
    if (version != 0 && (version & 0xFFFF) == 0)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s is a big-endian GGUF file; convert it to little-endian",
                          cursor->weights->path);
    if (version != 2 && version != 3)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s is GGUF version %u; supported versions are 2 and 3; convert it with a newer tool",
                          cursor->weights->path, version);
    return RUNG_OK;
}

rung_status rungi_gguf_read(rung_weights *weights, const uint8_t *bytes, int64_t count)
{
    gguf_cursor_t cursor = {.weights = weights, .at = bytes, .left = count};
    int64_t tensors, pairs;
    TRY(read_version(&cursor));
    TRY(read_size(&cursor, "its header", &tensors));
    TRY(read_size(&cursor, "its header", &pairs));
    if (tensors > RUNGI_WEIGHTS_TENSORS_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s has %lld tensors; the maximum is %d", weights->path,
                          (long long)tensors, RUNGI_WEIGHTS_TENSORS_MAX);
    for (int64_t i = 0; i < pairs; i++)
        TRY(read_pair(&cursor));
    if (tensors > cursor.left / TENSOR_BYTES_MIN)
        return fail_truncated(&cursor, in_list);
    if (cursor.alignment == 0)
        cursor.alignment = ALIGNMENT_DEFAULT;
    return read_tensors(&cursor, bytes, count, tensors);
}
