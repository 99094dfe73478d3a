/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - see value.h. One pass by recursive descent; strings are decoded where they stand,
 * which is never longer than they were. */
#include "value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

enum { DEPTH_MAX = 64 };

typedef struct reader {
    char *at, *end;
    lab_value *values; /* room for all there can be */
    int64_t used;
    const char *wrong; /* the first thing that was, NULL so far */
} reader_t;

static bool read_value(reader_t *reader, int depth, lab_value *value);

static bool fail(reader_t *reader, const char *what)
{
    if (!reader->wrong)
        reader->wrong = what;
    return false;
}

static void skip_space(reader_t *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at)
        reader->at++;
}

/* Takes the character if it is next. */
static bool take(reader_t *reader, char wanted)
{
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

static bool take_word(reader_t *reader, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return fail(reader, "a value is expected");
    reader->at += length;
    return true;
}

/* ---- Strings ------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool read_hex(reader_t *reader, unsigned *code)
{
    *code = 0;
    if (reader->end - reader->at < 4)
        return fail(reader, "\\u wants four digits");
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*reader->at++);
        if (digit < 0)
            return fail(reader, "\\u wants four digits");
        *code = *code * 16 + (unsigned)digit;
    }
    return true;
}

static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3f));
        *to++ = (char)(0x80 | (code >> 6 & 0x3f));
        *to++ = (char)(0x80 | (code & 0x3f));
    }
    return to;
}

/* Behind "\u"; a character past 16 bits is a pair of them. */
static bool read_unicode(reader_t *reader, char **to)
{
    unsigned code, low;
    if (!read_hex(reader, &code))
        return false;
    if (code == 0)
        return fail(reader, "a text with a zero in it");
    if (code >= 0xd800 && code < 0xdc00) {
        if (reader->end - reader->at < 2 || reader->at[0] != '\\' || reader->at[1] != 'u')
            return fail(reader, "half a character");
        reader->at += 2;
        if (!read_hex(reader, &low))
            return false;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(reader, "half a character");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000) {
        return fail(reader, "half a character");
    }
    *to = put_utf8(*to, code);
    return true;
}

static bool read_escape(reader_t *reader, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    if (reader->at == reader->end)
        return fail(reader, "a text without an end");
    char c = *reader->at++;
    if (c == 'u')
        return read_unicode(reader, to);
    const char *known = c ? strchr(from, c) : NULL;
    if (!known)
        return fail(reader, "an escape that there is not");
    *(*to)++ = into[known - from];
    return true;
}

/* Behind its opening quote. */
static bool read_string(reader_t *reader, const char **text)
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
            return fail(reader, "a text without an end");
        if (c != '\\')
            *to++ = (char)c;
        else if (!read_escape(reader, &to))
            return false;
    }
    return fail(reader, "a text without an end");
}

/* ---- Values ---------------------------------------------------------------------------------------- */

static bool is_digit(const reader_t *reader)
{
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

static bool skip_digits(reader_t *reader)
{
    if (!is_digit(reader))
        return fail(reader, "a value is expected");
    while (is_digit(reader))
        reader->at++;
    return true;
}

/* strtod takes more than JSON allows (0x1p3, inf, 01), so the digits are looked at first. */
static bool read_number(reader_t *reader, double *number)
{
    const char *start = reader->at;
    if (*reader->at == '-')
        reader->at++;
    if (reader->at < reader->end && *reader->at == '0')
        reader->at++;
    else if (!skip_digits(reader))
        return false;
    if (reader->at < reader->end && *reader->at == '.') {
        reader->at++;
        if (!skip_digits(reader))
            return false;
    }
    if (reader->at < reader->end && (*reader->at == 'e' || *reader->at == 'E')) {
        reader->at++;
        if (reader->at < reader->end && (*reader->at == '+' || *reader->at == '-'))
            reader->at++;
        if (!skip_digits(reader))
            return false;
    }
    *number = strtod(start, NULL);
    return isfinite(*number) || fail(reader, "a number that is too large");
}

/* Behind its bracket. */
static bool read_members(reader_t *reader, int depth, lab_value *value, char close)
{
    lab_value **link = &value->first;
    if (depth == DEPTH_MAX)
        return fail(reader, "too deep");
    if (take(reader, close))
        return true;
    do {
        lab_value *member = &reader->values[reader->used++];
        *member = (lab_value){.text = "", .name = ""};
        if (close == '}' && (!take(reader, '"') || !read_string(reader, &member->name) || !take(reader, ':')))
            return fail(reader, "a field's name in quotes and a colon are expected");
        if (!read_value(reader, depth + 1, member))
            return false;
        *link = member;
        link = &member->next;
        value->count++;
    } while (take(reader, ','));
    return take(reader, close) || fail(reader, "a comma or a closing bracket is expected");
}

static bool read_value(reader_t *reader, int depth, lab_value *value)
{
    skip_space(reader);
    if (reader->at == reader->end)
        return fail(reader, "it ends too early: was what wrote it stopped?");
    switch (*reader->at) {
    case '{':
        value->kind = LAB_OBJECT;
        reader->at++;
        return read_members(reader, depth, value, '}');
    case '[':
        value->kind = LAB_ARRAY;
        reader->at++;
        return read_members(reader, depth, value, ']');
    case '"':
        value->kind = LAB_STRING;
        reader->at++;
        return read_string(reader, &value->text);
    case 't':
        value->kind = LAB_BOOLEAN;
        value->number = 1;
        return take_word(reader, "true");
    case 'f': value->kind = LAB_BOOLEAN; return take_word(reader, "false");
    case 'n': return take_word(reader, "null");
    default: value->kind = LAB_NUMBER; return read_number(reader, &value->number);
    }
}

/* ---- Documents --------------------------------------------------------------------------------------- */

/* Each value is the first of all, or stands behind one of these. */
static size_t count_most(const char *text, size_t length)
{
    size_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return count;
}

/* Of the text as it was given: decoding makes new lines of "\n". */
static int64_t line_of(const char *text, size_t length)
{
    int64_t line = 1;
    for (size_t i = 0; i < length; i++)
        line += text[i] == '\n';
    return line;
}

static bool read_document(reader_t *reader)
{
    lab_value *root = &reader->values[reader->used++];
    *root = (lab_value){.text = "", .name = ""};
    if (!read_value(reader, 0, root))
        return false;
    skip_space(reader);
    return reader->at == reader->end || fail(reader, "something stands behind its end");
}

bool lab_document_read(const char *text, size_t length, lab_document *document, char *why, size_t capacity)
{
    reader_t reader = {.values = calloc(count_most(text, length), sizeof(lab_value))};
    *document = (lab_document){.root = reader.values, .text = malloc(length + 1)};
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
                 (long long)line_of(text, (size_t)(reader.at - document->text)), reader.wrong);
    }
    lab_document_free(document);
    return false;
}

bool lab_document_load(const char *file, lab_document *document, char *why, size_t capacity)
{
    size_t length;
    *document = (lab_document){NULL, NULL};
    char *text = lab_file_read(file, LAB_RESULT_BYTES_MAX, &length, why, capacity);
    bool good = text && lab_document_read(text, length, document, why, capacity);
    free(text);
    return good;
}

void lab_document_free(lab_document *document)
{
    free(document->root);
    free(document->text);
    *document = (lab_document){NULL, NULL};
}

/* ---- Questions ----------------------------------------------------------------------------------------- */

const lab_value *lab_field(const lab_value *object, const char *name)
{
    static const lab_value none = {.kind = LAB_NULL, .text = "", .name = ""};
    for (const lab_value *at = object->kind == LAB_OBJECT ? object->first : NULL; at; at = at->next)
        if (strcmp(at->name, name) == 0)
            return at;
    return &none;
}

double lab_number(const lab_value *object, const char *name, double otherwise)
{
    const lab_value *field = lab_field(object, name);
    return field->kind == LAB_NUMBER ? field->number : otherwise;
}

int64_t lab_integer(const lab_value *object, const char *name, int64_t otherwise)
{
    double number = lab_number(object, name, (double)otherwise);
    return number > -0x1p62 && number < 0x1p62 ? (int64_t)number : otherwise;
}

const char *lab_text(const lab_value *object, const char *name, const char *otherwise)
{
    const lab_value *field = lab_field(object, name);
    return field->kind == LAB_STRING ? field->text : otherwise;
}

bool lab_is_true(const lab_value *object, const char *name)
{
    const lab_value *field = lab_field(object, name);
    return field->kind == LAB_BOOLEAN && field->number != 0;
}
