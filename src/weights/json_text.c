/* SPDX-License-Identifier: Apache-2.0 */
/* json_text.c - see json_text.h. */
#include "weights/json_text.h"

#include <string.h>

#include "base/checked_arithmetic.h"

enum { NESTING_MAX = 16 };

static void skip_blanks(rungi_json_text *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\n' || *text->at == '\t' || *text->at == '\r'))
        text->at++;
}

bool rungi_json_accept(rungi_json_text *text, char letter)
{
    skip_blanks(text);
    if (text->at == text->end || *text->at != letter)
        return false;
    text->at++;
    return true;
}

static bool is_digit(const rungi_json_text *text)
{
    return text->at < text->end && *text->at >= '0' && *text->at <= '9';
}

/* ---- Strings -------------------------------------------------------------------------------------------- */

/* Where a string is stored; `to` is NULL if it is skipped. */
typedef struct string_output {
    char *to;
    size_t capacity, length;
} string_output_t;

static bool store(string_output_t *output, unsigned byte)
{
    if (output->to) {
        if (output->length + 1 >= output->capacity)
            return false;
        output->to[output->length] = (char)byte;
    }
    output->length++;
    return true;
}

/* Stores a character in UTF-8. */
static bool store_utf8(string_output_t *output, unsigned code)
{
    if (code < 0x80)
        return store(output, code);
    if (code < 0x800)
        return store(output, 0xC0 | code >> 6) && store(output, 0x80 | (code & 63));
    if (code < 0x10000)
        return store(output, 0xE0 | code >> 12) && store(output, 0x80 | (code >> 6 & 63)) &&
               store(output, 0x80 | (code & 63));
    return store(output, 0xF0 | code >> 18) && store(output, 0x80 | (code >> 12 & 63)) &&
           store(output, 0x80 | (code >> 6 & 63)) && store(output, 0x80 | (code & 63));
}

/* Reads the four hexadecimal digits of \uXXXX. */
static bool read_code_unit(rungi_json_text *text, unsigned *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, text->at++) {
        if (text->at == text->end)
            return false;
        char c = *text->at;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return false;
        *unit = *unit << 4 | (unsigned)digit;
    }
    return true;
}

/* Reads what follows \u; a character beyond U+FFFF is a pair of surrogates. */
static bool read_unicode_escape(rungi_json_text *text, string_output_t *output)
{
    unsigned high, low;
    if (!read_code_unit(text, &high))
        return false;
    if (high < 0xD800 || high > 0xDFFF)
        return store_utf8(output, high);
    if (high > 0xDBFF || text->end - text->at < 2 || text->at[0] != '\\' || text->at[1] != 'u')
        return false;
    text->at += 2;
    return read_code_unit(text, &low) && low >= 0xDC00 && low <= 0xDFFF &&
           store_utf8(output, 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
}

static bool read_escape(rungi_json_text *text, string_output_t *output)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (text->at == text->end)
        return false;
    char letter = *text->at++;
    if (letter == 'u')
        return read_unicode_escape(text, output);
    const char *found = memchr(letters, letter, sizeof letters - 1);
    return found && store(output, (unsigned char)meanings[found - letters]);
}

static bool read_string(rungi_json_text *text, string_output_t *output)
{
    if (!rungi_json_accept(text, '"'))
        return false;
    while (text->at < text->end) {
        unsigned char c = (unsigned char)*text->at++;
        if (c == '"')
            return true;
        if (c < ' ' || !(c == '\\' ? read_escape(text, output) : store(output, c)))
            return false;
    }
    return false;
}

bool rungi_json_string(rungi_json_text *text, char *to, size_t capacity, size_t *length)
{
    string_output_t output = {.to = to, .capacity = capacity};
    if (!read_string(text, &output))
        return false;
    to[output.length] = '\0';
    if (length)
        *length = output.length;
    return true;
}

/* ---- Numbers and other values --------------------------------------------------------------------------- */

bool rungi_json_size(rungi_json_text *text, int64_t *size)
{
    skip_blanks(text);
    const char *from = text->at;
    *size = 0;
    for (; is_digit(text); text->at++)
        if (!rungi_checked_multiply(*size, 10, size) || !rungi_checked_add(*size, *text->at - '0', size))
            return false;
    return text->at > from && (*from != '0' || text->at == from + 1);
}

static bool skip_digits(rungi_json_text *text)
{
    const char *from = text->at;
    while (is_digit(text))
        text->at++;
    return text->at > from;
}

static bool skip_number(rungi_json_text *text)
{
    rungi_json_accept(text, '-');
    const char *from = text->at;
    if (!skip_digits(text) || (*from == '0' && text->at > from + 1))
        return false;
    if (text->at < text->end && *text->at == '.') {
        text->at++;
        if (!skip_digits(text))
            return false;
    }
    if (text->at == text->end || (*text->at != 'e' && *text->at != 'E'))
        return true;
    text->at++;
    if (text->at < text->end && (*text->at == '+' || *text->at == '-'))
        text->at++;
    return skip_digits(text);
}

static bool skip_word(rungi_json_text *text)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(text->end - text->at) >= length && memcmp(text->at, words[i], length) == 0) {
            text->at += length;
            return true;
        }
    }
    return false;
}

static bool skip_value(rungi_json_text *text, int depth);

/* Skips the members of an object or the values of an array, to its closing bracket. */
static bool skip_members(rungi_json_text *text, bool is_object, int depth)
{
    char closing = is_object ? '}' : ']';
    if (depth == NESTING_MAX)
        return false;
    if (rungi_json_accept(text, closing))
        return true;
    do {
        string_output_t name = {.to = NULL};
        if (is_object && (!read_string(text, &name) || !rungi_json_accept(text, ':')))
            return false;
        if (!skip_value(text, depth + 1))
            return false;
    } while (rungi_json_accept(text, ','));
    return rungi_json_accept(text, closing);
}

static bool skip_value(rungi_json_text *text, int depth)
{
    string_output_t skipped = {.to = NULL};
    skip_blanks(text);
    if (text->at == text->end)
        return false;
    switch (*text->at) {
    case '"': return read_string(text, &skipped);
    case '{':
    case '[': return skip_members(text, *text->at++ == '{', depth);
    case 't':
    case 'f':
    case 'n': return skip_word(text);
    default: return skip_number(text);
    }
}

bool rungi_json_skip(rungi_json_text *text)
{
    return skip_value(text, 0);
}
