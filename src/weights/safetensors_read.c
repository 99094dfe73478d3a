/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors_read.c - reads the list of tensors of a safetensors file (https://github.com/huggingface/safetensors). A file
 * is the size of the header, the header in JSON, and the data:
 *
 *     {"__metadata__": {...}, "weight": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}, ...}
 *
 * Nothing in the file is trusted. As the format demands, the tensors must cover the data without gaps. */
#include <string.h>

#include "base/checked_arithmetic.h"
#include "base/try.h"
#include "weights/json_text.h"
#include "weights/weights.h"

enum { SIZE_BYTES = 8, HEADER_BYTES_MAX = 100000000 /* limit of the format */, TYPE_NAME_BYTES = 32 };

/* clang-format off */
static const rungi_weights_type types[] = {
    {"BOOL",    1, 8,  RUNG_TYPE_NONE}, {"U8",      1, 8,  RUNG_U8},        {"I8",      1, 8,  RUNG_I8},
    {"F8_E4M3", 1, 8,  RUNG_F8E4M3},    {"F8_E5M2", 1, 8,  RUNG_F8E5M2},    {"F8_E8M0", 1, 8,  RUNG_E8M0},
    {"I16",     1, 16, RUNG_TYPE_NONE}, {"U16",     1, 16, RUNG_TYPE_NONE}, {"F16",     1, 16, RUNG_F16},
    {"BF16",    1, 16, RUNG_BF16},      {"I32",     1, 32, RUNG_I32},       {"U32",     1, 32, RUNG_TYPE_NONE},
    {"F32",     1, 32, RUNG_F32},       {"F64",     1, 64, RUNG_F64},       {"I64",     1, 64, RUNG_TYPE_NONE},
    {"U64",     1, 64, RUNG_TYPE_NONE}, {"C64",     1, 64, RUNG_TYPE_NONE}, {"F4",      1, 4,  RUNG_TYPE_NONE},
    {"F6_E2M3", 1, 6,  RUNG_TYPE_NONE}, {"F6_E3M2", 1, 6,  RUNG_TYPE_NONE},
};
/* clang-format on */

/* The header that is being read, and the data behind it. */
typedef struct safetensors_file {
    rung_weights *weights;
    const char *header;
    rungi_json_text text;
    const uint8_t *data;
    int64_t data_bytes;
} safetensors_file_t;

/* The fields of a tensor. */
typedef struct tensor_fields {
    rungi_weights_entry entry;
    char type_name[TYPE_NAME_BYTES];
    int64_t offsets[2];
    bool has_type, has_shape, has_offsets;
} tensor_fields_t;

static rung_status fail_malformed(const safetensors_file_t *file, const char *expected)
{
    return rungi_invalid("%s is damaged: byte %lld of its header should be %s", file->weights->path,
                         (long long)(file->text.at - file->header), expected);
}

/* ---- Fields of a tensor --------------------------------------------------------------------------------- */

static rung_status read_type(safetensors_file_t *file, tensor_fields_t *fields)
{
    if (!rungi_json_string(&file->text, fields->type_name, sizeof fields->type_name, NULL))
        return fail_malformed(file, "the name of a type");
    fields->entry.type = (rungi_weights_type){.name = fields->type_name};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, fields->type_name) == 0)
            fields->entry.type = types[i];
    return RUNG_OK;
}

/* Reads an array of at most `capacity` sizes. */
static rung_status read_sizes(safetensors_file_t *file, int64_t *sizes, int64_t capacity, int64_t *count)
{
    *count = 0;
    if (!rungi_json_accept(&file->text, '['))
        return fail_malformed(file, "an array of sizes");
    if (rungi_json_accept(&file->text, ']'))
        return RUNG_OK;
    do {
        if (*count == capacity)
            return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s has a tensor with more than %lld dimensions or offsets",
                              file->weights->path, (long long)capacity);
        if (!rungi_json_size(&file->text, &sizes[*count]))
            return fail_malformed(file, "a size");
        ++*count;
    } while (rungi_json_accept(&file->text, ','));
    return rungi_json_accept(&file->text, ']') ? RUNG_OK : fail_malformed(file, "the end of an array");
}

static rung_status read_offsets(safetensors_file_t *file, tensor_fields_t *fields)
{
    int64_t count;
    TRY(read_sizes(file, fields->offsets, 2, &count));
    return count == 2 ? RUNG_OK : fail_malformed(file, "the second offset");
}

/* Reads a field and its value. Unknown fields are skipped. */
static rung_status read_field(safetensors_file_t *file, tensor_fields_t *fields)
{
    enum { KEY_BYTES = 64 };
    char key[KEY_BYTES];
    if (!rungi_json_string(&file->text, key, sizeof key, NULL) || !rungi_json_accept(&file->text, ':'))
        return fail_malformed(file, "the name of a field");
    bool *seen = strcmp(key, "dtype") == 0          ? &fields->has_type
                 : strcmp(key, "shape") == 0        ? &fields->has_shape
                 : strcmp(key, "data_offsets") == 0 ? &fields->has_offsets
                                                    : NULL;
    if (!seen)
        return rungi_json_skip(&file->text) ? RUNG_OK : fail_malformed(file, "a value");
    if (*seen)
        return rungi_invalid("%s is damaged: a tensor has two fields %s", file->weights->path, key);
    *seen = true;
    if (seen == &fields->has_type)
        return read_type(file, fields);
    if (seen == &fields->has_shape)
        return read_sizes(file, fields->entry.dimensions, RUNG_WEIGHTS_DIMENSIONS_MAX, &fields->entry.dimension_count);
    return read_offsets(file, fields);
}

static rung_status read_fields(safetensors_file_t *file, tensor_fields_t *fields)
{
    if (!rungi_json_accept(&file->text, '{'))
        return fail_malformed(file, "the fields of a tensor");
    do
        TRY(read_field(file, fields));
    while (rungi_json_accept(&file->text, ','));
    if (!rungi_json_accept(&file->text, '}'))
        return fail_malformed(file, "the end of the fields of a tensor");
    if (!fields->has_type || !fields->has_shape || !fields->has_offsets)
        return rungi_invalid("%s is damaged: a tensor lacks dtype, shape or data_offsets", file->weights->path);
    return RUNG_OK;
}

/* ---- Tensors -------------------------------------------------------------------------------------------- */

/* Finds the data of a tensor and checks their size. */
static rung_status find_data(const safetensors_file_t *file, tensor_fields_t *fields)
{
    rungi_weights_entry *entry = &fields->entry;
    int64_t begin = fields->offsets[0], end = fields->offsets[1], bytes;
    if (begin > end || end > file->data_bytes)
        return rungi_invalid("%s has %lld bytes of data, but a tensor has offsets %lld to %lld; the file was truncated "
                             "or is still being written",
                             file->weights->path, (long long)file->data_bytes, (long long)begin, (long long)end);
    entry->data = file->data + begin;
    entry->data_bytes = end - begin;
    if (!rungi_weights_entry_bytes(entry, &bytes) || (entry->type.block_elements > 0 && bytes != entry->data_bytes))
        return rungi_invalid("%s is damaged: a tensor of type %s has %lld bytes, which does not match its shape",
                             file->weights->path, entry->type.name, (long long)entry->data_bytes);
    return RUNG_OK;
}

static rung_status read_member(safetensors_file_t *file)
{
    char name[RUNGI_WEIGHTS_NAME_MAX + 1];
    size_t length;
    tensor_fields_t fields = {.has_type = false};
    if (!rungi_json_string(&file->text, name, sizeof name, &length) || !rungi_json_accept(&file->text, ':'))
        return fail_malformed(file, "the name of a tensor, with at most 4096 bytes, and a colon");
    if (rungi_string_view_equals(rungi_string_view_of(name, length), "__metadata__"))
        return rungi_json_skip(&file->text) ? RUNG_OK : fail_malformed(file, "metadata");
    TRY(read_fields(file, &fields));
    TRY(find_data(file, &fields));
    fields.entry.name = rungi_string_view_of(name, length);
    return rungi_weights_add(file->weights, &fields.entry);
}

static rung_status read_header(safetensors_file_t *file)
{
    if (!rungi_json_accept(&file->text, '{'))
        return fail_malformed(file, "the list of tensors");
    if (!rungi_json_accept(&file->text, '}')) {
        do
            TRY(read_member(file));
        while (rungi_json_accept(&file->text, ','));
        if (!rungi_json_accept(&file->text, '}'))
            return fail_malformed(file, "the end of the list of tensors");
    }
    while (file->text.at < file->text.end && *file->text.at == ' ') /* padding */
        file->text.at++;
    return file->text.at == file->text.end ? RUNG_OK : fail_malformed(file, "a space or the end of the header");
}

rung_status rungi_safetensors_read(rung_weights *weights, const uint8_t *bytes, int64_t count)
{
    uint64_t header_bytes = 0;
    for (int i = SIZE_BYTES - 1; i >= 0; i--)
        header_bytes = header_bytes << 8 | bytes[i];
    if (header_bytes > HEADER_BYTES_MAX)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s has a header of %llu bytes; the maximum is %d", weights->path,
                          (unsigned long long)header_bytes, HEADER_BYTES_MAX);
    if ((int64_t)header_bytes > count - SIZE_BYTES)
        return rungi_invalid("%s ends within its header; it is damaged or still being written", weights->path);
    const char *header = (const char *)bytes + SIZE_BYTES;
    safetensors_file_t file = {.weights = weights,
                               .header = header,
                               .text = {header, header + header_bytes},
                               .data = (const uint8_t *)header + header_bytes,
                               .data_bytes = count - SIZE_BYTES - (int64_t)header_bytes};
    TRY(read_header(&file));
    return rungi_weights_finish(weights, file.data, file.data_bytes);
}
