/* SPDX-License-Identifier: Apache-2.0 */
/* expression.c - a recursive-descent reader of integer expressions: every operator
 * the preprocessor has, parentheses, names, numbers and defined().
 *
 * As in the preprocessor a name is its text, not its value: with SUM defined as
 * 1 + 1, SUM * 2 is 3. So the text of a name is read in the name's place, from a
 * stack of texts. What && and || do not reach may divide by zero. */
#include "core/expression.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/assert.h"
#include "core/checked.h"
#include "core/error.h"

/* Names defined by names, and parentheses within parentheses, no deeper; and no
 * more names in all, since each may stand for two of the next. */
enum { DEPTH_MAX = 32, NAMES_MAX = 10000 };

typedef struct text {
    const char *at, *end;
} text_t;

typedef struct reader {
    text_t texts[DEPTH_MAX]; /* the innermost last */
    int text_count;
    const char *whole; /* for messages */
    size_t whole_length;
    rungi_name_lookup lookup;
    const void *names;
    bool unknown_is_zero;
    int depth, names_read;
    int unreached;      /* above 0: read, but not computed */
    rung_status status; /* the first failure; nothing is left to read after it */
} reader_t;

static int64_t read_any(reader_t *reader);

static int64_t fail(reader_t *reader, const char *what)
{
    if (reader->status == RUNG_OK)
        reader->status = rungi_fail(RUNG_STATUS_INVALID, "%s in \"%.*s\"", what, (int)reader->whole_length,
                                    reader->whole);
    reader->text_count = 0;
    return 0;
}

/* What only a computed value can do wrong. */
static int64_t fail_if_reached(reader_t *reader, const char *what)
{
    return reader->unreached ? 0 : fail(reader, what);
}

/* The next character that is no blank, of this text or of one around it. */
static const char *next(reader_t *reader)
{
    while (reader->text_count > 0) {
        text_t *text = &reader->texts[reader->text_count - 1];
        while (text->at < text->end && isspace((unsigned char)*text->at))
            text->at++;
        if (text->at < text->end)
            return text->at;
        reader->text_count--;
    }
    return NULL;
}

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Takes `word` if it comes next and is not the beginning of a longer operator: "<"
 * is not taken from "<=" or "<<", nor "|" from "||". */
static bool take(reader_t *reader, const char *word)
{
    const char *at = next(reader);
    size_t length = strlen(word);
    if (!at)
        return false;
    text_t *text = &reader->texts[reader->text_count - 1];
    size_t left = (size_t)(text->end - at);
    if (left < length || memcmp(at, word, length) != 0)
        return false;
    if (length == 1 && left > 1 &&
        ((strchr("<>!", *word) && at[1] == '=') || (strchr("<>&|", *word) && at[1] == *word)))
        return false;
    text->at += length;
    return true;
}

/* Cuts off the name or number that comes next. */
static size_t take_word(reader_t *reader, const char *start)
{
    RUNGI_ASSERT(reader->text_count > 0);
    text_t *text = &reader->texts[reader->text_count - 1];
    while (text->at < text->end && is_name_character(*text->at))
        text->at++;
    return (size_t)(text->at - start);
}

/* Decimal, octal or hexadecimal, with C's suffixes. */
static int64_t read_number(reader_t *reader, const char *start)
{
    char digits[32], *end;
    size_t length = take_word(reader, start);
    if (length >= sizeof digits)
        return fail(reader, "a number is too large");
    memcpy(digits, start, length);
    digits[length] = '\0';
    unsigned long long value = strtoull(digits, &end, 0);
    if (strspn(end, "uUlL") != strlen(end))
        return fail(reader, "a number is not one");
    if (value > INT64_MAX)
        return fail(reader, "a number is too large");
    return (int64_t)value;
}

static int64_t read_unary(reader_t *reader);

/* defined NAME, or defined(NAME): `start` is past the word. */
static int64_t read_defined(reader_t *reader)
{
    bool closed = take(reader, "(");
    const char *start = next(reader);
    if (!start || !is_name_character(*start))
        return fail(reader, "a name is missing");
    size_t length = take_word(reader, start);
    if (closed && !take(reader, ")"))
        return fail(reader, "a parenthesis is not closed");
    return reader->lookup(reader->names, start, length).known;
}

/* A name's value, or the first operand of its text. */
static int64_t read_name(reader_t *reader, const char *start)
{
    size_t length = take_word(reader, start);
    if (length == 7 && memcmp(start, "defined", 7) == 0)
        return read_defined(reader);
    rungi_name name = reader->lookup(reader->names, start, length);
    if (!name.known && reader->unknown_is_zero)
        return 0;
    if (!name.known) {
        reader->status = rungi_fail(RUNG_STATUS_INVALID, "\"%.*s\" is neither a parameter nor a macro", (int)length,
                                    start);
        return fail(reader, "");
    }
    if (!name.text)
        return name.value;
    if (++reader->names_read > NAMES_MAX)
        return fail(reader, "names stand for too many names");
    next(reader); /* texts that are at their end make room */
    if (reader->text_count == DEPTH_MAX)
        return fail(reader, "names go too deep");
    reader->texts[reader->text_count++] = (text_t){name.text, name.text + name.length};
    return read_unary(reader);
}

static int64_t read_operand(reader_t *reader)
{
    const char *at;
    int64_t value;
    if (take(reader, "!"))
        return !read_unary(reader);
    if (take(reader, "~"))
        return ~read_unary(reader);
    if (take(reader, "+"))
        return read_unary(reader);
    if (take(reader, "-"))
        return rungi_subtract(0, read_unary(reader), &value) ? value : fail_if_reached(reader, "a value overflows");
    if (take(reader, "(")) {
        value = read_any(reader);
        return take(reader, ")") ? value : fail(reader, "a parenthesis is not closed");
    }
    at = next(reader);
    if (at && isdigit((unsigned char)*at))
        return read_number(reader, at);
    if (at && is_name_character(*at))
        return read_name(reader, at);
    return fail(reader, "a value is missing");
}

static int64_t read_unary(reader_t *reader)
{
    if (reader->depth == DEPTH_MAX)
        return fail(reader, "names or parentheses go too deep");
    reader->depth++;
    int64_t value = read_operand(reader);
    RUNGI_ASSERT(reader->depth > 0);
    reader->depth--;
    return value;
}

static int64_t divide(reader_t *reader, int64_t x, int64_t y, bool remainder)
{
    if (y == 0 || (x == INT64_MIN && y == -1))
        return fail_if_reached(reader, "a division by zero or an overflow");
    return remainder ? x % y : x / y;
}

static int64_t read_product(reader_t *reader)
{
    int64_t value = read_unary(reader);
    for (;;) {
        if (take(reader, "*")) {
            if (!rungi_multiply(value, read_unary(reader), &value))
                value = fail_if_reached(reader, "a value overflows");
        } else if (take(reader, "/")) {
            value = divide(reader, value, read_unary(reader), false);
        } else if (take(reader, "%")) {
            value = divide(reader, value, read_unary(reader), true);
        } else {
            return value;
        }
    }
}

static int64_t read_sum(reader_t *reader)
{
    int64_t value = read_product(reader);
    for (;;) {
        if (take(reader, "+")) {
            if (!rungi_add(value, read_product(reader), &value))
                value = fail_if_reached(reader, "a value overflows");
        } else if (take(reader, "-")) {
            if (!rungi_subtract(value, read_product(reader), &value))
                value = fail_if_reached(reader, "a value overflows");
        } else {
            return value;
        }
    }
}

/* What C leaves open, negative values and large distances, is refused. */
static int64_t shift(reader_t *reader, int64_t value, int64_t by, bool left)
{
    if (value < 0 || by < 0 || by > 62 || (left && value > INT64_MAX >> by))
        return fail_if_reached(reader, "a shift loses its value");
    return left ? value << by : value >> by;
}

static int64_t read_shift(reader_t *reader)
{
    int64_t value = read_sum(reader);
    for (;;) {
        if (take(reader, "<<"))
            value = shift(reader, value, read_sum(reader), true);
        else if (take(reader, ">>"))
            value = shift(reader, value, read_sum(reader), false);
        else
            return value;
    }
}

static int64_t read_order(reader_t *reader)
{
    int64_t value = read_shift(reader);
    for (;;) {
        if (take(reader, "<="))
            value = value <= read_shift(reader);
        else if (take(reader, ">="))
            value = value >= read_shift(reader);
        else if (take(reader, "<"))
            value = value < read_shift(reader);
        else if (take(reader, ">"))
            value = value > read_shift(reader);
        else
            return value;
    }
}

static int64_t read_equality(reader_t *reader)
{
    int64_t value = read_order(reader);
    for (;;) {
        if (take(reader, "=="))
            value = value == read_order(reader);
        else if (take(reader, "!="))
            value = value != read_order(reader);
        else
            return value;
    }
}

static int64_t read_bit_and(reader_t *reader)
{
    int64_t value = read_equality(reader);
    while (take(reader, "&"))
        value &= read_equality(reader);
    return value;
}

static int64_t read_bit_xor(reader_t *reader)
{
    int64_t value = read_bit_and(reader);
    while (take(reader, "^"))
        value ^= read_bit_and(reader);
    return value;
}

static int64_t read_bit_or(reader_t *reader)
{
    int64_t value = read_bit_xor(reader);
    while (take(reader, "|"))
        value |= read_bit_xor(reader);
    return value;
}

static int64_t read_and(reader_t *reader)
{
    int64_t value = read_bit_or(reader);
    while (take(reader, "&&")) {
        bool reached = value != 0;
        reader->unreached += !reached;
        int64_t right = read_bit_or(reader);
        reader->unreached -= !reached;
        value = reached && right;
    }
    return value;
}

static int64_t read_or(reader_t *reader)
{
    int64_t value = read_and(reader);
    while (take(reader, "||")) {
        bool reached = value == 0;
        reader->unreached += !reached;
        int64_t right = read_and(reader);
        reader->unreached -= !reached;
        value = !reached || right;
    }
    return value;
}

static int64_t read_any(reader_t *reader)
{
    int64_t condition = read_or(reader);
    if (reader->depth == DEPTH_MAX)
        return fail(reader, "names or parentheses go too deep");
    if (!take(reader, "?"))
        return condition;
    reader->depth++;
    reader->unreached += !condition;
    int64_t if_true = read_any(reader);
    reader->unreached -= !condition;
    if (!take(reader, ":"))
        return fail(reader, "a ? has no :");
    reader->unreached += !!condition;
    int64_t if_false = read_any(reader);
    reader->unreached -= !!condition;
    reader->depth--;
    return condition ? if_true : if_false;
}

rung_status rungi_expression_value(const char *whole, size_t length, rungi_name_lookup lookup, const void *names,
                                   bool unknown_is_zero, int64_t *value)
{
    reader_t reader = {.texts = {{whole, whole + length}},
                       .text_count = 1,
                       .whole = whole,
                       .whole_length = length,
                       .lookup = lookup,
                       .names = names,
                       .unknown_is_zero = unknown_is_zero};
    int64_t result = read_any(&reader);
    if (reader.status == RUNG_OK && next(&reader))
        fail(&reader, "something is left over");
    RUNGI_ASSERT(reader.status != RUNG_OK || (reader.depth == 0 && reader.unreached == 0));
    *value = reader.status == RUNG_OK ? result : 0;
    return reader.status;
}
