/* SPDX-License-Identifier: Apache-2.0 */
/* npy.c - see npy.h. A header is the text of a Python dictionary:
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 */
#include "outofcore/npy.h"

#include <stdio.h>
#include <string.h>

#include "core/checked.h"

/* NumPy's names; "V2", two bytes of anything, is how BF16 is saved. */
static const struct {
    const char *name;
    rung_type type;
} names[] = {
    {"<f4", RUNG_F32}, {"<f8", RUNG_F64}, {"<f2", RUNG_F16},  {"|i1", RUNG_I8},
    {"<i1", RUNG_I8},  {"<i4", RUNG_I32}, {"<V2", RUNG_BF16}, {"|V2", RUNG_BF16},
};

enum { NAMES = sizeof names / sizeof *names, NAME_LONGEST = 16, MAGIC = 6 };

/* ---- Words of the text ------------------------------------------------------------------------- */

typedef struct text {
    const char *at, *end;
} text_t;

static void skip_blanks(text_t *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t'))
        text->at++;
}

static bool take(text_t *text, const char *word)
{
    size_t length = strlen(word);
    skip_blanks(text);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
        return false;
    text->at += length;
    return true;
}

/* A string in either kind of quotes, without escapes. */
static bool take_string(text_t *text, char *to, size_t capacity)
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

static bool take_size(text_t *text, int64_t *size)
{
    skip_blanks(text);
    const char *from = text->at;
    *size = 0;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
        int64_t digit = *text->at++ - '0';
        if (!rungi_multiply(*size, 10, size) || !rungi_add(*size, digit, size))
            return false;
    }
    return text->at > from && (*from != '0' || text->at == from + 1);
}

/* ---- The dictionary ----------------------------------------------------------------------------- */

typedef struct fields {
    char type[NAME_LONGEST];
    bool has_type, has_order, has_shape, by_columns;
    int64_t sizes[2];
    int dimensions;
} fields_t;

static bool take_shape(text_t *text, fields_t *fields)
{
    if (!take(text, "("))
        return false;
    while (!take(text, ")")) {
        int64_t size;
        if (!take_size(text, &size) || fields->dimensions == INT8_MAX)
            return false;
        if (fields->dimensions < 2)
            fields->sizes[fields->dimensions] = size;
        fields->dimensions++;
        if (!take(text, ",")) /* one alone must have a comma, or it would be a number in brackets */
            return fields->dimensions > 1 && take(text, ")");
    }
    return true;
}

static const char *take_field(text_t *text, fields_t *fields)
{
    char key[NAME_LONGEST];
    if (!take_string(text, key, sizeof key) || !take(text, ":"))
        return "has a header that is no dictionary";
    bool *seen = strcmp(key, "descr") == 0           ? &fields->has_type
                 : strcmp(key, "fortran_order") == 0 ? &fields->has_order
                 : strcmp(key, "shape") == 0         ? &fields->has_shape
                                                     : NULL;
    if (!seen || *seen)
        return "has a header with a field that is unknown or there twice";
    *seen = true;
    if (seen == &fields->has_type)
        return take_string(text, fields->type, sizeof fields->type)
                   ? NULL
                   : "has elements of several parts or of a long name; save a plain array of one type";
    if (seen == &fields->has_shape)
        return take_shape(text, fields) ? NULL : "has a header whose shape is no tuple of sizes";
    fields->by_columns = take(text, "True");
    return fields->by_columns || take(text, "False") ? NULL : "has a header whose order is neither True nor False";
}

static const char *take_dictionary(text_t *text, fields_t *fields)
{
    if (!take(text, "{"))
        return "has a header that is no dictionary";
    while (!take(text, "}")) {
        const char *wrong = take_field(text, fields);
        if (wrong)
            return wrong;
        if (!take(text, ",")) {
            if (!take(text, "}"))
                return "has a header that is no dictionary";
            break;
        }
    }
    skip_blanks(text);
    if (text->at != text->end)
        return "has a header with something behind its dictionary";
    if (!fields->has_type || !fields->has_order || !fields->has_shape)
        return "has a header that lacks descr, fortran_order or shape";
    return NULL;
}

static const char *find_type(const char *name, rung_type as, rung_type *type)
{
    int i = 0;
    while (i < NAMES && strcmp(names[i].name, name) != 0)
        i++;
    if (i == NAMES && name[0] == '>')
        return "is big-endian; save it by array.astype('<f4') or the like";
    if (i == NAMES)
        return "has elements of a type that is not multiplied; save it as f4, f8, f2, i1 or i4";
    *type = names[i].type;
    if (as == RUNG_TYPE_NONE && *type == RUNG_BF16)
        return "has elements of two bytes without a name; if they are bf16, say so";
    if (as != RUNG_TYPE_NONE && as != *type)
        return "has elements of another type than was asked for";
    return NULL;
}

/* ---- The file's beginning ------------------------------------------------------------------------- */

static int64_t little_endian(const char *bytes, int count)
{
    int64_t value = 0;
    for (int i = count - 1; i >= 0; i--)
        value = value << 8 | (unsigned char)bytes[i];
    return value;
}

const char *rungi_npy_parse(const char *bytes, int64_t count, rung_type as, rungi_npy *npy)
{
    if (count < MAGIC + 2 || memcmp(bytes, "\x93NUMPY", MAGIC) != 0)
        return "does not begin as .npy files do; a bare file wants its type and shape told";
    int version = (unsigned char)bytes[MAGIC], width = version == 1 ? 2 : 4;
    if (version < 1 || version > 3 || bytes[MAGIC + 1] != 0)
        return "is of a version of .npy that is not known; 1, 2 and 3 are";
    int64_t begin = MAGIC + 2 + width;
    if (count < begin)
        return "ends within its header";
    int64_t length = little_endian(bytes + MAGIC + 2, width);
    if (length > RUNGI_NPY_MOST - begin)
        return "has a header of more than 64 KiB";
    if (length > count - begin)
        return "ends within its header";
    fields_t fields = {.dimensions = 0};
    text_t text = {bytes + begin, bytes + begin + length};
    const char *wrong = take_dictionary(&text, &fields);
    if (wrong)
        return wrong;
    if (fields.dimensions != 2)
        return "has not two dimensions; save it by array.reshape(rows, columns)";
    npy->rows = fields.sizes[0];
    npy->cols = fields.sizes[1];
    npy->by_columns = fields.by_columns;
    npy->start = begin + length;
    return find_type(fields.type, as, &npy->type);
}

void rungi_npy_write(rung_type type, int64_t rows, int64_t cols, char header[RUNGI_NPY_WRITTEN])
{
    enum { BEGIN = MAGIC + 4 };
    int i = 0;
    while (names[i].type != type)
        i++;
    memset(header, ' ', RUNGI_NPY_WRITTEN);
    memcpy(header, "\x93NUMPY\x01\x00", MAGIC + 2);
    header[MAGIC + 2] = (char)(RUNGI_NPY_WRITTEN - BEGIN);
    header[MAGIC + 3] = 0;
    int used = snprintf(header + BEGIN, RUNGI_NPY_WRITTEN - BEGIN,
                        "{'descr': '%s', 'fortran_order': False, 'shape': (%lld, %lld), }", names[i].name,
                        (long long)rows, (long long)cols);
    header[BEGIN + used] = ' ';
    header[RUNGI_NPY_WRITTEN - 1] = '\n';
}
