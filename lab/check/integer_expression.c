/* SPDX-License-Identifier: Apache-2.0 */
/* integer_expression.c - see integer_expression.h. */
#include "check/integer_expression.h"

#include "base/checked_arithmetic.h"
#include "common/failure.h"
#include "common/text.h"

enum { DEPTH_MAX = 64 };

typedef struct expression {
    const char *at, *end;
    const lab_integer_name *names;
    int count;
    int depth;
    char *why;
    size_t capacity;
} expression_t;

static bool parse_sum(expression_t *text, int64_t *value);

static char next_letter(expression_t *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t'))
        text->at++;
    return text->at < text->end ? *text->at : '\0';
}

/* A size of a task is also the argument of this name. */
static bool is_earlier_name(const expression_t *text, int index)
{
    for (int i = 0; i < index; i++)
        if (rungi_string_views_equal(text->names[i].name, text->names[index].name))
            return true;
    return false;
}

static bool parse_name(expression_t *text, int64_t *value)
{
    const char *start = text->at;
    while (text->at < text->end && rungi_is_name_character(*text->at))
        text->at++;
    rungi_string_view name = rungi_string_view_of(start, (size_t)(text->at - start));
    for (int i = 0; i < text->count; i++)
        if (rungi_string_views_equal(text->names[i].name, name)) {
            *value = text->names[i].value;
            return true;
        }
    char known[256] = "";
    for (int i = 0; i < text->count; i++)
        if (!is_earlier_name(text, i))
            lab_append(known, sizeof known, "%s%.*s", *known ? ", " : "", (int)text->names[i].name.length,
                       text->names[i].name.text);
    return lab_set_reason(text->why, text->capacity, "\"%.*s\" is not an integer argument; these are: %s",
                          (int)name.length, name.text, *known ? known : "none");
}

static bool parse_number(expression_t *text, int64_t *value)
{
    const char *start = text->at;
    int base = 10;
    *value = 0;
    if (text->end - text->at > 2 && text->at[0] == '0' && (text->at[1] == 'x' || text->at[1] == 'X')) {
        base = 16;
        text->at += 2;
    } else if (*text->at == '0') {
        base = 8; /* as C reads 010 */
    }
    for (; text->at < text->end && rungi_is_name_character(*text->at); text->at++) {
        char c = *text->at;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
        if (digit >= base || !rungi_checked_multiply(*value, base, value) || !rungi_checked_add(*value, digit, value))
            return lab_set_reason(text->why, text->capacity, "\"%.*s\" is not an integer of 64 bits",
                                  (int)(text->end - start), start);
    }
    return true;
}

static bool parse_factor(expression_t *text, int64_t *value)
{
    char c = next_letter(text);
    if (++text->depth > DEPTH_MAX)
        return lab_set_reason(text->why, text->capacity, "the expression is nested too deeply");
    bool good = false;
    if (c == '-' || c == '+') {
        text->at++;
        good = parse_factor(text, value);
        if (good && c == '-' && !rungi_checked_subtract(0, *value, value))
            good = lab_set_reason(text->why, text->capacity, "the result exceeds 64 bits");
    } else if (c == '(') {
        text->at++;
        good = parse_sum(text, value);
        if (good && next_letter(text) != ')')
            good = lab_set_reason(text->why, text->capacity, "a closing bracket is missing");
        text->at += good;
    } else if (c >= '0' && c <= '9')
        good = parse_number(text, value);
    else if (rungi_is_name_character(c))
        good = parse_name(text, value);
    else if (c)
        good = lab_set_reason(
            text->why, text->capacity,
            "\"%c\" is not part of an integer expression; use numbers, arguments, + - * / %% << >> ( )", c);
    else
        good = lab_set_reason(text->why, text->capacity, "the expression ends after an operator");
    text->depth--;
    return good;
}

/* Computes x OPERATOR y. */
static bool combine(expression_t *text, char operator, int64_t * x, int64_t y)
{
    bool fits = true;
    if ((operator== '/' || operator== '%') && y == 0)
        return lab_set_reason(text->why, text->capacity, "the expression divides by zero");
    if ((operator== '<' || operator== '>') && (y < 0 || y > 62))
        return lab_set_reason(text->why, text->capacity, "the expression shifts by %lld bits; use 0 to 62",
                              (long long)y);
    switch (operator) {
    case '*': fits = rungi_checked_multiply(*x, y, x); break;
    case '/':
        fits = y != -1 || rungi_checked_subtract(0, *x, x);
        *x = y == -1 ? *x : *x / y;
        break;
    case '%': *x = y == -1 ? 0 : *x % y; break;
    case '<': fits = rungi_checked_multiply(*x, (int64_t)1 << y, x); break;
    case '>': *x >>= y; break;
    case '+': fits = rungi_checked_add(*x, y, x); break;
    default: fits = rungi_checked_subtract(*x, y, x); break;
    }
    return fits || lab_set_reason(text->why, text->capacity, "the result exceeds 64 bits");
}

static bool parse_product(expression_t *text, int64_t *value)
{
    if (!parse_factor(text, value))
        return false;
    for (char c = next_letter(text); c == '*' || c == '/' || c == '%'; c = next_letter(text)) {
        int64_t factor;
        text->at++;
        if (!parse_factor(text, &factor) || !combine(text, c, value, factor))
            return false;
    }
    return true;
}

static bool parse_difference(expression_t *text, int64_t *value)
{
    if (!parse_product(text, value))
        return false;
    for (char c = next_letter(text); c == '+' || c == '-'; c = next_letter(text)) {
        int64_t term;
        text->at++;
        if (!parse_product(text, &term) || !combine(text, c, value, term))
            return false;
    }
    return true;
}

/* Shifts bind less than sums. */
static bool parse_sum(expression_t *text, int64_t *value)
{
    if (!parse_difference(text, value))
        return false;
    for (char c = next_letter(text); c == '<' || c == '>'; c = next_letter(text)) {
        int64_t bits;
        if (text->end - text->at < 2 || text->at[1] != c)
            return lab_set_reason(text->why, text->capacity, "\"%c\" is not valid here; shifts are << and >>", c);
        text->at += 2;
        if (!parse_difference(text, &bits) || !combine(text, c, value, bits))
            return false;
    }
    return true;
}

bool lab_integer_evaluate(rungi_string_view text, const lab_integer_name *names, int count, int64_t *value, char *why,
                          size_t capacity)
{
    const char *start = text.text ? text.text : "";
    expression_t expression = {start, start + text.length, names, count, 0, why, capacity};
    if (!parse_sum(&expression, value))
        return false;
    if (!next_letter(&expression))
        return true;
    return lab_set_reason(why, capacity, "\"%.*s\" is not an integer expression", (int)text.length, text.text);
}
