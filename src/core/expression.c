/* SPDX-License-Identifier: Apache-2.0 */
/* expression.c - a recursive-descent reader of integer expressions: || && the
 * six comparisons, + - * / %, unary ! + -, parentheses, names and numbers. */
#include "core/expression.h"

#include <ctype.h>

#include "core/checked.h"
#include "core/error.h"

/* Names defined by names, and parentheses within parentheses, no deeper; and no
 * more names in all, since each may stand for two of the next. */
enum { DEPTH_MAX = 32, NAMES_MAX = 10000 };

typedef struct reader {
    const char       *start, *at, *end;
    rungi_name_lookup lookup;
    const void       *names;
    int               depth;
    int              *names_read;
    rung_status       status; /* the first failure; values are 0 after it */
} reader;

static int64_t read_any(reader *reader);

static int64_t fail(reader *reader, const char *what)
{
    if (reader->status == RUNG_OK)
        reader->status = rungi_fail(RUNG_INVALID, "%s in \"%.*s\"", what,
                                    (int)(reader->end - reader->start), reader->start);
    reader->at = reader->end;
    return 0;
}

static void skip_blanks(reader *reader)
{
    while (reader->at < reader->end && isspace((unsigned char)*reader->at))
        reader->at++;
}

static bool is_name_character(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Takes `word` if it comes next; "<" is not taken from "<=". */
static bool take(reader *reader, const char *word)
{
    skip_blanks(reader);
    const char *at = reader->at;
    while (*word && at < reader->end && *at == *word)
        at++, word++;
    if (*word || (at - reader->at == 1 && at < reader->end && *at == '=' &&
                  (at[-1] == '<' || at[-1] == '>' || at[-1] == '!')))
        return false;
    reader->at = at;
    return true;
}

static int64_t read_number(reader *reader)
{
    int64_t value = 0;
    while (reader->at < reader->end && isdigit((unsigned char)*reader->at)) {
        if (!rungi_multiply(value, 10, &value) || !rungi_add(value, *reader->at - '0', &value))
            return fail(reader, "a number is too large");
        reader->at++;
    }
    if (reader->at < reader->end && is_name_character(*reader->at))
        return fail(reader, "a number has letters (only decimal ones are read)");
    return value;
}

static int64_t read_text(reader *reader)
{
    int64_t value = read_any(reader);
    skip_blanks(reader);
    if (reader->status == RUNG_OK && reader->at != reader->end)
        fail(reader, "something is left over");
    return reader->status == RUNG_OK ? value : 0;
}

static int64_t read_name(reader *reader)
{
    const char *start = reader->at;
    while (reader->at < reader->end && is_name_character(*reader->at))
        reader->at++;
    rungi_name name = reader->lookup(reader->names, start, (size_t)(reader->at - start));
    if (!name.known) {
        reader->status = rungi_fail(RUNG_INVALID, "\"%.*s\" is neither a parameter nor a macro",
                                    (int)(reader->at - start), start);
        return fail(reader, "");
    }
    if (!name.text)
        return name.value;
    if (++*reader->names_read > NAMES_MAX)
        return fail(reader, "names stand for too many names");

    struct reader inner = *reader;
    inner.start = inner.at = name.text;
    inner.end = name.text + name.length;
    int64_t value = read_text(&inner);
    if (inner.status != RUNG_OK) {
        reader->status = inner.status;
        reader->at = reader->end;
    }
    return value;
}

static int64_t read_unary(reader *reader)
{
    int64_t value;
    if (reader->depth > DEPTH_MAX)
        return fail(reader, "names or parentheses go too deep");
    reader->depth++;
    skip_blanks(reader);
    if (take(reader, "!")) {
        value = !read_unary(reader);
    } else if (take(reader, "-")) {
        if (!rungi_subtract(0, read_unary(reader), &value))
            value = fail(reader, "a value overflows");
    } else if (take(reader, "+")) {
        value = read_unary(reader);
    } else if (take(reader, "(")) {
        value = read_any(reader);
        if (!take(reader, ")"))
            value = fail(reader, "a parenthesis is not closed");
    } else if (reader->at < reader->end && isdigit((unsigned char)*reader->at)) {
        value = read_number(reader);
    } else if (reader->at < reader->end && is_name_character(*reader->at)) {
        value = read_name(reader);
    } else {
        value = fail(reader, "a value is missing");
    }
    reader->depth--;
    return value;
}

static int64_t divide(reader *reader, int64_t x, int64_t y, bool remainder)
{
    if (y == 0 || (x == INT64_MIN && y == -1))
        return fail(reader, "a division by zero or an overflow");
    return remainder ? x % y : x / y;
}

static int64_t read_product(reader *reader)
{
    int64_t value = read_unary(reader);
    for (;;) {
        if (take(reader, "*")) {
            if (!rungi_multiply(value, read_unary(reader), &value))
                return fail(reader, "a value overflows");
        } else if (take(reader, "/")) {
            value = divide(reader, value, read_unary(reader), false);
        } else if (take(reader, "%")) {
            value = divide(reader, value, read_unary(reader), true);
        } else {
            return value;
        }
    }
}

static int64_t read_sum(reader *reader)
{
    int64_t value = read_product(reader);
    for (;;) {
        if (take(reader, "+")) {
            if (!rungi_add(value, read_product(reader), &value))
                return fail(reader, "a value overflows");
        } else if (take(reader, "-")) {
            if (!rungi_subtract(value, read_product(reader), &value))
                return fail(reader, "a value overflows");
        } else {
            return value;
        }
    }
}

static int64_t read_order(reader *reader)
{
    int64_t value = read_sum(reader);
    for (;;) {
        if (take(reader, "<="))
            value = value <= read_sum(reader);
        else if (take(reader, ">="))
            value = value >= read_sum(reader);
        else if (take(reader, "<"))
            value = value < read_sum(reader);
        else if (take(reader, ">"))
            value = value > read_sum(reader);
        else
            return value;
    }
}

static int64_t read_equality(reader *reader)
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

static int64_t read_and(reader *reader)
{
    int64_t value = read_equality(reader);
    while (take(reader, "&&")) {
        int64_t right = read_equality(reader);
        value = value && right;
    }
    return value;
}

static int64_t read_any(reader *reader)
{
    int64_t value = read_and(reader);
    while (take(reader, "||")) {
        int64_t right = read_and(reader);
        value = value || right;
    }
    return value;
}

rung_status rungi_expression_value(const char *text, size_t length, rungi_name_lookup lookup,
                                   const void *names, int64_t *value)
{
    int names_read = 0;
    reader reader = {.start = text, .at = text, .end = text + length, .lookup = lookup,
                     .names = names, .names_read = &names_read};
    *value = read_text(&reader);
    return reader.status;
}
