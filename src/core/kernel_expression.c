/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_expression.c - a recursive-descent parser of integer expressions: every operator of the preprocessor,
 * parentheses, names, numbers and defined().
 *
 * As in the preprocessor, a name stands for its text and not for its value: with SUM defined as 1 + 1, SUM * 2 is 3. So
 * the parser reads the text of a name in place of the name, from a stack of texts. Operands that &&, || and ?: skip are
 * parsed but may divide by zero. */
#include "core/kernel_expression.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/error.h"
#include "base/string_view.h"

/* Limits of nested names and parentheses, and of expanded names in total: each name may stand for two others. */
enum { DEPTH_MAX = 32, EXPANSIONS_MAX = 10000 };

typedef struct expression_text {
    const char *at, *end;
} expression_text_t;

typedef struct expression_reader {
    expression_text_t texts[DEPTH_MAX]; /* innermost last */
    int text_count;
    const char *whole; /* for messages */
    size_t whole_length;
    rungi_expression_lookup lookup;
    const void *names;
    bool unknown_is_zero;
    int depth, expansions;
    int unevaluated;    /* above 0: inside an operand that is skipped */
    rung_status status; /* the first failure; it ends the text */
} expression_reader_t;

static int64_t read_conditional(expression_reader_t *reader);

static int64_t fail(expression_reader_t *reader, const char *problem)
{
    if (reader->status == RUNG_OK)
        reader->status = rungi_invalid("%s in \"%.*s\"", problem, (int)reader->whole_length, reader->whole);
    reader->text_count = 0;
    return 0;
}

/* Fails unless the operand is skipped. */
static int64_t fail_if_evaluated(expression_reader_t *reader, const char *problem)
{
    return reader->unevaluated ? 0 : fail(reader, problem);
}

/* Returns the next non-blank character of this text or of an outer one; NULL at the end. */
static const char *peek_character(expression_reader_t *reader)
{
    while (reader->text_count > 0) {
        expression_text_t *text = &reader->texts[reader->text_count - 1];
        while (text->at < text->end && isspace((unsigned char)*text->at))
            text->at++;
        if (text->at < text->end)
            return text->at;
        reader->text_count--;
    }
    return NULL;
}

/* Consumes a token if it comes next and is not the start of a longer one: "<" is not accepted from "<=" or "<<", nor "|"
 * from "||". */
static bool accept_token(expression_reader_t *reader, const char *token)
{
    const char *at = peek_character(reader);
    size_t length = strlen(token);
    if (!at)
        return false;
    expression_text_t *text = &reader->texts[reader->text_count - 1];
    size_t left = (size_t)(text->end - at);
    if (left < length || memcmp(at, token, length) != 0)
        return false;
    if (length == 1 && left > 1 &&
        ((strchr("<>!", *token) && at[1] == '=') || (strchr("<>&|", *token) && at[1] == *token)))
        return false;
    text->at += length;
    return true;
}

/* Consumes the name or number at `start` and returns its length. */
static size_t take_word(expression_reader_t *reader, const char *start)
{
    RUNGI_ASSERT(reader->text_count > 0);
    expression_text_t *text = &reader->texts[reader->text_count - 1];
    while (text->at < text->end && rungi_is_name_character(*text->at))
        text->at++;
    return (size_t)(text->at - start);
}

/* Reads a decimal, octal or hexadecimal number with C's suffixes. */
static int64_t read_number(expression_reader_t *reader, const char *start)
{
    char digits[32], *end;
    size_t length = take_word(reader, start);
    if (length >= sizeof digits)
        return fail(reader, "a number is too large");
    memcpy(digits, start, length);
    digits[length] = '\0';
    unsigned long long value = strtoull(digits, &end, 0);
    if (strspn(end, "uUlL") != strlen(end))
        return fail(reader, "a number has an invalid suffix");
    if (value > INT64_MAX)
        return fail(reader, "a number is too large");
    return (int64_t)value;
}

static int64_t read_unary(expression_reader_t *reader);

/* Reads the operand of defined: NAME or (NAME). */
static int64_t read_defined(expression_reader_t *reader)
{
    bool has_parenthesis = accept_token(reader, "(");
    const char *start = peek_character(reader);
    if (!start || !rungi_is_name_character(*start))
        return fail(reader, "the name after defined is missing");
    size_t length = take_word(reader, start);
    if (has_parenthesis && !accept_token(reader, ")"))
        return fail(reader, "a parenthesis is not closed");
    return reader->lookup(reader->names, start, length).is_known;
}

/* Returns the value of a name, or of the first operand of its text. */
static int64_t read_name(expression_reader_t *reader, const char *start)
{
    size_t length = take_word(reader, start);
    if (length == 7 && memcmp(start, "defined", 7) == 0)
        return read_defined(reader);
    rungi_expression_name name = reader->lookup(reader->names, start, length);
    if (!name.is_known && reader->unknown_is_zero)
        return 0;
    if (!name.is_known) {
        reader->status = rungi_invalid("\"%.*s\" is neither a parameter nor a macro", (int)length, start);
        return fail(reader, "");
    }
    if (!name.text)
        return name.value;
    if (++reader->expansions > EXPANSIONS_MAX)
        return fail(reader, "macros expand to too many names");
    peek_character(reader); /* removes texts that are at their end */
    if (reader->text_count == DEPTH_MAX)
        return fail(reader, "macros are nested too deeply");
    reader->texts[reader->text_count++] = (expression_text_t){name.text, name.text + name.length};
    return read_unary(reader);
}

static int64_t read_operand(expression_reader_t *reader)
{
    const char *at;
    int64_t value;
    if (accept_token(reader, "!"))
        return !read_unary(reader);
    if (accept_token(reader, "~"))
        return ~read_unary(reader);
    if (accept_token(reader, "+"))
        return read_unary(reader);
    if (accept_token(reader, "-"))
        return rungi_checked_subtract(0, read_unary(reader), &value) ? value
                                                                     : fail_if_evaluated(reader, "a value overflows");
    if (accept_token(reader, "(")) {
        value = read_conditional(reader);
        return accept_token(reader, ")") ? value : fail(reader, "a parenthesis is not closed");
    }
    at = peek_character(reader);
    if (at && isdigit((unsigned char)*at))
        return read_number(reader, at);
    if (at && rungi_is_name_character(*at))
        return read_name(reader, at);
    return fail(reader, "a value is missing");
}

static int64_t read_unary(expression_reader_t *reader)
{
    if (reader->depth == DEPTH_MAX)
        return fail(reader, "macros or parentheses are nested too deeply");
    reader->depth++;
    int64_t value = read_operand(reader);
    RUNGI_ASSERT(reader->depth > 0);
    reader->depth--;
    return value;
}

/* ---- Binary operators ------------------------------------------------------------------------------- */

/* Operators by precedence; later rows bind more tightly. */
static const char *const operators[][5] = {
    {"||"},       {"&&"},     {"|"},           {"^"}, {"&"}, {"==", "!="}, {"<=", ">=", "<", ">"},
    {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"},
};
enum { PRECEDENCE_COUNT = sizeof operators / sizeof *operators };

#define TOKEN(first, second) ((first) << 8 | (second))

/* Rejects the shifts that C leaves undefined or to the implementation: of negative values and by large distances. */
static int64_t shift(expression_reader_t *reader, int64_t value, int64_t by, bool is_left)
{
    if (value < 0 || by < 0 || by > 62 || (is_left && value > INT64_MAX >> by))
        return fail_if_evaluated(reader, "a shift of a negative value, by a negative distance or out of range");
    return is_left ? value << by : value >> by;
}

static int64_t divide(expression_reader_t *reader, int64_t x, int64_t y, bool is_remainder)
{
    if (y == 0 || (x == INT64_MIN && y == -1))
        return fail_if_evaluated(reader, "a division by zero or an overflow");
    return is_remainder ? x % y : x / y;
}

static int64_t apply(expression_reader_t *reader, const char *token, int64_t x, int64_t y)
{
    int64_t value;
    bool is_valid = true;
    switch (TOKEN(token[0], token[1])) {
    case TOKEN('|', '|'): return x || y;
    case TOKEN('&', '&'): return x && y;
    case TOKEN('|', 0): return x | y;
    case TOKEN('^', 0): return x ^ y;
    case TOKEN('&', 0): return x & y;
    case TOKEN('=', '='): return x == y;
    case TOKEN('!', '='): return x != y;
    case TOKEN('<', '='): return x <= y;
    case TOKEN('>', '='): return x >= y;
    case TOKEN('<', 0): return x < y;
    case TOKEN('>', 0): return x > y;
    case TOKEN('<', '<'): return shift(reader, x, y, true);
    case TOKEN('>', '>'): return shift(reader, x, y, false);
    case TOKEN('/', 0): return divide(reader, x, y, false);
    case TOKEN('%', 0): return divide(reader, x, y, true);
    case TOKEN('+', 0): is_valid = rungi_checked_add(x, y, &value); break;
    case TOKEN('-', 0): is_valid = rungi_checked_subtract(x, y, &value); break;
    default: is_valid = rungi_checked_multiply(x, y, &value); break;
    }
    return is_valid ? value : fail_if_evaluated(reader, "a value overflows");
}

/* Accepts and returns an operator of this precedence; NULL if none comes next. */
static const char *accept_operator(expression_reader_t *reader, int precedence)
{
    const char *const *token = operators[precedence];
    while (*token && !accept_token(reader, *token))
        token++;
    return *token;
}

/* Reads operands with operators of this precedence or a higher one between them. */
static int64_t read_binary(expression_reader_t *reader, int precedence)
{
    if (precedence == PRECEDENCE_COUNT)
        return read_unary(reader);
    int64_t value = read_binary(reader, precedence + 1);
    for (const char *token; (token = accept_operator(reader, precedence));) {
        bool is_skipped = strcmp(token, value ? "||" : "&&") == 0;
        reader->unevaluated += is_skipped;
        int64_t right = read_binary(reader, precedence + 1);
        reader->unevaluated -= is_skipped;
        value = apply(reader, token, value, right);
    }
    return value;
}

static int64_t read_conditional(expression_reader_t *reader)
{
    int64_t condition = read_binary(reader, 0);
    if (reader->depth == DEPTH_MAX)
        return fail(reader, "macros or parentheses are nested too deeply");
    if (!accept_token(reader, "?"))
        return condition;
    reader->depth++;
    reader->unevaluated += !condition;
    int64_t if_true = read_conditional(reader);
    reader->unevaluated -= !condition;
    if (!accept_token(reader, ":"))
        return fail(reader, "the : of a ?: operator is missing");
    reader->unevaluated += !!condition;
    int64_t if_false = read_conditional(reader);
    reader->unevaluated -= !!condition;
    reader->depth--;
    return condition ? if_true : if_false;
}

rung_status rungi_expression_evaluate(const char *whole, size_t length, rungi_expression_lookup lookup,
                                      const void *names, bool unknown_is_zero, int64_t *value)
{
    expression_reader_t reader = {.texts = {{whole, whole + length}},
                                  .text_count = 1,
                                  .whole = whole,
                                  .whole_length = length,
                                  .lookup = lookup,
                                  .names = names,
                                  .unknown_is_zero = unknown_is_zero};
    int64_t result = read_conditional(&reader);
    if (reader.status == RUNG_OK && peek_character(&reader))
        fail(&reader, "text is left over after the expression");
    RUNGI_ASSERT(reader.status != RUNG_OK || (reader.depth == 0 && reader.unevaluated == 0));
    *value = reader.status == RUNG_OK ? result : 0;
    return reader.status;
}
