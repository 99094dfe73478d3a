/* SPDX-License-Identifier: Apache-2.0 */
/* json_reader.c - see json_reader.h. A recursive descent parser. Strings are decoded in place, since decoding never makes them
 * longer. */
#include "io/json_reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/input_file.h"

enum { DEPTH_MAX = 64 };

typedef struct json_reader {
    char *at, *end;
    lab_json_value *values; /* an array with room for all values of the text */
    int64_t used;
    const char *error; /* the first error, or NULL */
} json_reader_t;

static bool read_value(json_reader_t *reader, int depth, lab_json_value *value);

static bool fail(json_reader_t *reader, const char *what)
{
    if (!reader->error)
        reader->error = what;
    return false;
}

static void skip_space(json_reader_t *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
        reader->at++;
}

/* Skips spaces, and consumes the character if it is next. */
static bool consume(json_reader_t *reader, char wanted)
{
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

static bool consume_word(json_reader_t *reader, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return fail(reader, "a value is expected");
    reader->at += length;
    return true;
}

/* ---- Strings ------------------------------------------------------------------------------------- */

static bool read_hex(json_reader_t *reader, unsigned *code)
{
    char digits[5];
    snprintf(digits, sizeof digits, "%.4s", reader->at); /* the text ends in a zero byte */
    if (strspn(digits, "0123456789abcdefABCDEF") != 4)
        return fail(reader, "\\u must be followed by four hexadecimal digits");
    *code = (unsigned)strtoul(digits, NULL, 16);
    reader->at += 4;
    return true;
}

/* Writes a code point: the first byte has the length, each of the following bytes has six bits. */
static char *put_utf8(char *to, unsigned code)
{
    static const unsigned first_bytes[] = {0, 0xc0, 0xe0, 0xf0};
    int following = (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);
    *to++ = (char)(first_bytes[following] | code >> 6 * following);
    while (following-- > 0)
        *to++ = (char)(0x80 | (code >> 6 * following & 0x3f));
    return to;
}

/* Reads the digits after "\u"; a code point above 16 bits is a surrogate pair. */
static bool read_unicode(json_reader_t *reader, char **to)
{
    unsigned code, low;
    if (!read_hex(reader, &code))
        return false;
    if (code == 0)
        return fail(reader, "a string contains a zero character");
    if (code >= 0xd800 && code < 0xdc00) {
        if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u')
            return fail(reader, "a surrogate pair is incomplete");
        reader->at += 2;
        if (!read_hex(reader, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(reader, "a surrogate pair is incomplete");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return fail(reader, "a surrogate pair is incomplete");
    }
    *to = put_utf8(*to, code);
    return true;
}

static bool read_escape(json_reader_t *reader, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (reader->at == reader->end)
        return fail(reader, "a string has no closing quote");
    char c = *reader->at++;
    if (c == 'u')
        return read_unicode(reader, to);
    const char *known = c ? strchr(from, c) : NULL;
    if (!known)
        return fail(reader, "unknown escape sequence");
    *(*to)++ = into[known - from];
    return true;
}

/* Reads a string after its opening quote. */
static bool read_string(json_reader_t *reader, const char **text)
{
    char *to = reader->at;
    *text = to;
    while (reader->at < reader->end) {
        unsigned char c = (unsigned char)*reader->at++;
        if (c == '"') {
            *to = 0;
            return true;
        }
        if (c < 0x20)
            return fail(reader, "a string has no closing quote");
        if (c != '\\')
            *to++ = (char)c;
        else if (!read_escape(reader, &to))
            return false;
    }
    return fail(reader, "a string has no closing quote");
}

/* ---- Values ---------------------------------------------------------------------------------------- */

/* Skips one of these characters. The zero byte at the end of the text is not one of them. */
static bool skip_one_of(json_reader_t *reader, const char *characters)
{
    bool is_there = *reader->at && strchr(characters, *reader->at);
    reader->at += is_there;
    return is_there;
}

static bool skip_digits(json_reader_t *reader)
{
    size_t count = strspn(reader->at, "0123456789");
    reader->at += count;
    return count > 0 || fail(reader, "a value is expected");
}

/* Checks the syntax first, since strtod accepts more than JSON allows (0x1p3, inf, 01). */
static bool read_number(json_reader_t *reader, double *number)
{
    const char *start = reader->at;
    skip_one_of(reader, "-");
    if (!skip_one_of(reader, "0") && !skip_digits(reader))
        return false;
    if (skip_one_of(reader, ".") && !skip_digits(reader))
        return false;
    if (skip_one_of(reader, "eE")) {
        skip_one_of(reader, "+-");
        if (!skip_digits(reader))
            return false;
    }
    *number = strtod(start, NULL);
    return isfinite(*number) || fail(reader, "a number is too large");
}

/* Reads the opening bracket of an array or object and its members. */
static bool read_members(json_reader_t *reader, int depth, lab_json_value *value, char close)
{
    lab_json_value **link = &value->first;
    reader->at++;
    if (depth == DEPTH_MAX)
        return fail(reader, "values are nested too deeply");
    if (consume(reader, close))
        return true;
    do {
        lab_json_value *member = &reader->values[reader->used++];
        *member = (lab_json_value){.text = "", .name = ""};
        if (close == '}' && (!consume(reader, '"') || !read_string(reader, &member->name) || !consume(reader, ':')))
            return fail(reader, "a field's name in quotes and a colon are expected");
        if (!read_value(reader, depth + 1, member))
            return false;
        *link = member;
        link = &member->next;
        value->count++;
    } while (consume(reader, ','));
    return consume(reader, close) || fail(reader, "a comma or a closing bracket is expected");
}

static bool read_value(json_reader_t *reader, int depth, lab_json_value *value)
{
    skip_space(reader);
    if (reader->at == reader->end)
        return fail(reader, "the text ends too early; was its writer interrupted?");
    switch (*reader->at) {
    case '{': value->kind = LAB_JSON_OBJECT; return read_members(reader, depth, value, '}');
    case '[': value->kind = LAB_JSON_ARRAY; return read_members(reader, depth, value, ']');
    case '"':
        value->kind = LAB_JSON_STRING;
        reader->at++;
        return read_string(reader, &value->text);
    case 't':
        value->kind = LAB_JSON_BOOLEAN;
        value->number = 1;
        return consume_word(reader, "true");
    case 'f': value->kind = LAB_JSON_BOOLEAN; return consume_word(reader, "false");
    case 'n': return consume_word(reader, "null");
    default: value->kind = LAB_JSON_NUMBER; return read_number(reader, &value->number);
    }
}

/* ---- Documents --------------------------------------------------------------------------------------- */

/* Returns an upper bound: every value except the first follows one of these characters. */
static size_t max_value_count(const char *text, size_t length)
{
    size_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return count;
}

/* Returns the line of a position in the original text; decoding creates newlines. */
static int64_t line_of(const char *text, size_t length)
{
    int64_t line = 1;
    for (size_t i = 0; i < length; i++)
        line += text[i] == '\n';
    return line;
}

static bool read_document(json_reader_t *reader)
{
    lab_json_value *root = &reader->values[reader->used++];
    *root = (lab_json_value){.text = "", .name = ""};
    if (!read_value(reader, 0, root))
        return false;
    skip_space(reader);
    return reader->at == reader->end || fail(reader, "text after the end of the document");
}

bool lab_json_document_parse(const char *text, size_t length, lab_json_document *document, char *why, size_t capacity)
{
    json_reader_t reader = {.values = calloc(max_value_count(text, length), sizeof(lab_json_value))};
    *document = (lab_json_document){.root = reader.values, .text = malloc(length + 1)};
    if (!document->text || !reader.values) {
        snprintf(why, capacity, "out of memory");
    } else {
        memcpy(document->text, text, length);
        document->text[length] = 0;
        reader.at = document->text;
        reader.end = document->text + length;
        if (read_document(&reader))
            return true;
        snprintf(why, capacity, "line %lld is not JSON: %s",
                 (long long)line_of(text, (size_t)(reader.at - document->text)), reader.error);
    }
    lab_json_document_free(document);
    return false;
}

bool lab_json_document_load(const char *file, lab_json_document *document, char *why, size_t capacity)
{
    size_t length;
    *document = (lab_json_document){NULL, NULL};
    char *text = lab_file_read(file, LAB_RESULT_BYTES_MAX, &length, why, capacity);
    bool good = text && lab_json_document_parse(text, length, document, why, capacity);
    free(text);
    return good;
}

void lab_json_document_free(lab_json_document *document)
{
    free(document->root);
    free(document->text);
    *document = (lab_json_document){NULL, NULL};
}

/* ---- Access -------------------------------------------------------------------------------------------- */

const lab_json_value *lab_json_get(const lab_json_value *object, const char *name)
{
    static const lab_json_value none = {.kind = LAB_JSON_NULL, .text = "", .name = ""};
    for (const lab_json_value *at = object->kind == LAB_JSON_OBJECT ? object->first : NULL; at; at = at->next)
        if (strcmp(at->name, name) == 0)
            return at;
    return &none;
}

double lab_json_get_number(const lab_json_value *object, const char *name, double otherwise)
{
    const lab_json_value *field = lab_json_get(object, name);
    return field->kind == LAB_JSON_NUMBER ? field->number : otherwise;
}

int64_t lab_json_get_integer(const lab_json_value *object, const char *name, int64_t otherwise)
{
    double number = lab_json_get_number(object, name, (double)otherwise);
    return number > -0x1p62 && number < 0x1p62 ? (int64_t)number : otherwise;
}

const char *lab_json_get_text(const lab_json_value *object, const char *name, const char *otherwise)
{
    const lab_json_value *field = lab_json_get(object, name);
    return field->kind == LAB_JSON_STRING ? field->text : otherwise;
}

bool lab_json_get_true(const lab_json_value *object, const char *name)
{
    const lab_json_value *field = lab_json_get(object, name);
    return field->kind == LAB_JSON_BOOLEAN && field->number != 0;
}
