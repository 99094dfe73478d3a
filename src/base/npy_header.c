/* SPDX-License-Identifier: Apache-2.0 */
/* npy_header.c - see npy_header.h. A header is the text of a Python dictionary:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */
#include "base/npy_header.h"

#include <stdio.h>
#include <string.h>

#include "base/checked_arithmetic.h"

enum { KEY_BYTES = 16, MAGIC_BYTES = 6 };

/* ---- Tokens ------------------------------------------------------------------------- */

typedef struct npy_text {
    const char *at, *end;
} npy_text_t;

static void skip_blanks(npy_text_t *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t'))
        text->at++;
}

static bool accept(npy_text_t *text, const char *word)
{
    size_t length = strlen(word);
    skip_blanks(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    return true;
}

/* Parses a string in single or double quotes, without escapes. */
static bool parse_string(npy_text_t *text, char *to, size_t capacity)
{
    skip_blanks(text);
    if (text->at == text->end || (*text->at != '\'' && *text->at != '"'))
        return false;
    char quote = *text->at;
    const char *from = ++text->at;
    while (text->at < text->end && *text->at != quote && *text->at != '\\' && *text->at != '\n')
        text->at++;
    size_t length = (size_t)(text->at - from);
    if (text->at == text->end || *text->at != quote || length >= capacity)
        return false;
    memcpy(to, from, length);
    to[length] = '\0';
    text->at++;
    return true;
}

static bool parse_size(npy_text_t *text, int64_t *size)
{
    skip_blanks(text);
    const char *from = text->at;
    *size = 0;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
        int64_t digit = *text->at++ - '0';
        if (!rungi_checked_multiply(*size, 10, size) || !rungi_checked_add(*size, digit, size))
            return false;
    }
    return text->at > from && (*from != '0' || text->at == from + 1);
}

/* ---- The dictionary ----------------------------------------------------------------------------- */

/* The header, and which of its fields were found. */
typedef struct npy_fields {
    rungi_npy_header *header;
    bool has_type, has_order, has_shape;
} npy_fields_t;

static bool parse_shape(npy_text_t *text, rungi_npy_header *header)
{
    if (!accept(text, "("))
        return false;
    while (!accept(text, ")")) {
        int64_t size;
        if (!parse_size(text, &size) || header->dimensions == INT8_MAX)
            return false;
        if (header->dimensions < RUNGI_NPY_DIMENSIONS_MAX)
            header->sizes[header->dimensions] = size;
        header->dimensions++;
        if (!accept(text, ",")) /* a tuple with one element needs a comma */
            return header->dimensions > 1 && accept(text, ")");
    }
    return true;
}

static const char *parse_field(npy_text_t *text, npy_fields_t *fields)
{
    char key[KEY_BYTES];
    if (!parse_string(text, key, sizeof key) || !accept(text, ":"))
        return "has a header that is not a dictionary";
    bool *seen = strcmp(key, "descr") == 0           ? &fields->has_type
                 : strcmp(key, "fortran_order") == 0 ? &fields->has_order
                 : strcmp(key, "shape") == 0         ? &fields->has_shape
                                                     : NULL;
    if (!seen || *seen)
        return "has a header with an unknown or repeated field";
    *seen = true;
    if (seen == &fields->has_type)
        return parse_string(text, fields->header->type, sizeof fields->header->type)
                   ? NULL
                   : "has structured elements; save a plain array of one type";
    if (seen == &fields->has_shape)
        return parse_shape(text, fields->header) ? NULL : "has a header whose shape is not a tuple of sizes";
    fields->header->is_column_major = accept(text, "True");
    return fields->header->is_column_major || accept(text, "False")
               ? NULL
               : "has a header whose fortran_order is neither True nor False";
}

static const char *parse_dictionary(npy_text_t *text, npy_fields_t *fields)
{
    if (!accept(text, "{"))
        return "has a header that is not a dictionary";
    while (!accept(text, "}")) {
        const char *error = parse_field(text, fields);
        if (error)
            return error;
        if (!accept(text, ",")) {
            if (!accept(text, "}"))
                return "has a header that is not a dictionary";
            break;
        }
    }
    skip_blanks(text);
    if (text->at != text->end)
        return "has a header with text after its dictionary";
    if (!fields->has_type || !fields->has_order || !fields->has_shape)
        return "has a header that lacks descr, fortran_order or shape";
    return NULL;
}

/* ---- The start of the file ------------------------------------------------------------------------- */

static int64_t little_endian(const char *bytes, int count)
{
    int64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | (unsigned char)bytes[i];
    return value;
}

const char *rungi_npy_header_parse(const char *bytes, int64_t count, rungi_npy_header *header)
{
    if (count < MAGIC_BYTES + 2 || memcmp(bytes, "\x93NUMPY", MAGIC_BYTES) != 0)
        return "is not an .npy file; for a file without a header, give its type and shape";
    int version = (unsigned char)bytes[MAGIC_BYTES], width = version == 1 ? 2 : 4;
    if (version < 1 || version > 3 || bytes[MAGIC_BYTES + 1] != 0)
        return "has an unknown .npy version; supported versions are 1, 2 and 3";
    int64_t header_offset = MAGIC_BYTES + 2 + width;
    if (count < header_offset)
        return "ends within its header";
    int64_t length = little_endian(bytes + MAGIC_BYTES + 2, width);
    if (length > RUNGI_NPY_HEADER_MAX_BYTES - header_offset)
        return "has a header of more than 64 KiB";
    if (length > count - header_offset)
        return "ends within its header";
    *header = (rungi_npy_header){.data_offset = header_offset + length};
    npy_fields_t fields = {.header = header};
    npy_text_t text = {bytes + header_offset, bytes + header_offset + length};
    return parse_dictionary(&text, &fields);
}

void rungi_npy_header_write(const char *type, int64_t rows, int64_t cols, char header[RUNGI_NPY_HEADER_BYTES])
{
    enum { HEADER_OFFSET = MAGIC_BYTES + 4 };
    memset(header, ' ', RUNGI_NPY_HEADER_BYTES);
    memcpy(header, "\x93NUMPY\x01\x00", MAGIC_BYTES + 2);
    header[MAGIC_BYTES + 2] = (char)(RUNGI_NPY_HEADER_BYTES - HEADER_OFFSET);
    header[MAGIC_BYTES + 3] = 0;
    int used = snprintf(header + HEADER_OFFSET, RUNGI_NPY_HEADER_BYTES - HEADER_OFFSET,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld), }", type, (long long)rows,
                        (long long)cols);
    header[HEADER_OFFSET + used] = ' ';
    header[RUNGI_NPY_HEADER_BYTES - 1] = '\n';
}
