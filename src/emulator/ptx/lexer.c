/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.c - see lexer.h. */
#include "emulator/ptx/lexer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static bool is_name_part(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool begins_with(const ptx_lexer_t *lexer, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(lexer->end - lexer->at) >= length && memcmp(lexer->at, text, length) == 0;
}

static void skip_line(ptx_lexer_t *lexer)
{
    while (lexer->at < lexer->end && *lexer->at != '\n')
        lexer->at++;
}

static void skip_block_comment(ptx_lexer_t *lexer)
{
    while (lexer->at < lexer->end && !begins_with(lexer, "*/")) {
        lexer->line += *lexer->at == '\n';
        lexer->at++;
    }
    if (lexer->at < lexer->end)
        lexer->at += 2;
}

static void skip_space(ptx_lexer_t *lexer)
{
    while (lexer->at < lexer->end) {
        if (begins_with(lexer, "//")) {
            skip_line(lexer);
        } else if (begins_with(lexer, "/*")) {
            skip_block_comment(lexer);
        } else if (isspace((unsigned char)*lexer->at)) {
            lexer->line += *lexer->at == '\n';
            lexer->at++;
        } else {
            return;
        }
    }
}

static void skip_name(ptx_lexer_t *lexer)
{
    while (lexer->at < lexer->end && is_name_part(*lexer->at))
        lexer->at++;
}

/* Reads the digits of an integer. A value over 64 bits wraps around, as in ptxas. */
static uint64_t read_digits(ptx_lexer_t *lexer, unsigned base)
{
    uint64_t value = 0;
    for (; lexer->at < lexer->end; lexer->at++) {
        int c = tolower((unsigned char)*lexer->at);
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                : 99;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    return value;
}

/* Returns the length of a decimal floating-point number at the current position, or 0 if an integer is there. */
static size_t decimal_float_length(const ptx_lexer_t *lexer)
{
    const char *at = lexer->at;
    bool is_float = false;
    while (at < lexer->end && isdigit((unsigned char)*at))
        at++;
    if (at < lexer->end && *at == '.') {
        is_float = true;
        for (at++; at < lexer->end && isdigit((unsigned char)*at);)
            at++;
    }
    if (at + 1 < lexer->end && (*at == 'e' || *at == 'E')) {
        const char *exponent = at + 1 + (at[1] == '-' || at[1] == '+');
        if (exponent < lexer->end && isdigit((unsigned char)*exponent)) {
            is_float = true;
            for (at = exponent; at < lexer->end && isdigit((unsigned char)*at);)
                at++;
        }
    }
    return is_float ? (size_t)(at - lexer->at) : 0;
}

static uint64_t parse_decimal_float(const char *text, size_t length)
{
    char copy[64];
    double value;
    uint64_t bits;
    if (length >= sizeof copy)
        length = sizeof copy - 1;
    memcpy(copy, text, length);
    copy[length] = 0;
    value = strtod(copy, NULL);
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void read_number(ptx_lexer_t *lexer, ptx_token_t *token)
{
    size_t float_length = decimal_float_length(lexer);
    int second = lexer->end - lexer->at > 1 ? tolower((unsigned char)lexer->at[1]) : 0;
    token->kind = PTX_TOKEN_INTEGER;
    if (*lexer->at == '0' && (second == 'f' || second == 'd')) {
        token->kind = second == 'f' ? PTX_TOKEN_F32 : PTX_TOKEN_F64;
        lexer->at += 2;
        token->integer = read_digits(lexer, 16);
        return;
    }
    if (float_length > 0) {
        token->kind = PTX_TOKEN_F64;
        token->integer = parse_decimal_float(lexer->at, float_length);
        lexer->at += float_length;
        return;
    }
    if (*lexer->at == '0' && (second == 'x' || second == 'b')) {
        lexer->at += 2;
        token->integer = read_digits(lexer, second == 'x' ? 16 : 2);
    } else {
        token->integer = read_digits(lexer, *lexer->at == '0' ? 8 : 10);
    }
    token->is_unsigned = lexer->at < lexer->end && *lexer->at == 'U';
    lexer->at += token->is_unsigned;
}

static void read_dot_name(ptx_lexer_t *lexer)
{
    lexer->at++;
    skip_name(lexer);
    while (begins_with(lexer, "::")) {
        lexer->at += 2;
        skip_name(lexer);
    }
}

static void read_string(ptx_lexer_t *lexer, ptx_token_t *token)
{
    const char *start = ++lexer->at;
    while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n')
        lexer->at++;
    token->kind = PTX_TOKEN_STRING;
    token->text = (rungi_string_view){start, (size_t)(lexer->at - start)};
    if (lexer->at < lexer->end && *lexer->at == '"')
        lexer->at++;
}

void rungi_ptx_lexer_begin(ptx_lexer_t *lexer, const char *text, size_t bytes)
{
    *lexer = (ptx_lexer_t){.at = text, .end = text + bytes, .line = 1};
    rungi_ptx_lexer_next(lexer);
}

void rungi_ptx_lexer_next(ptx_lexer_t *lexer)
{
    ptx_token_t token = {.kind = PTX_TOKEN_END};
    skip_space(lexer);
    const char *start = lexer->at;
    token.line = lexer->line;
    if (lexer->at == lexer->end || *lexer->at == 0) {
        lexer->at = lexer->end;
    } else if (isdigit((unsigned char)*start)) {
        read_number(lexer, &token);
    } else if (is_name_start(*start)) {
        token.kind = PTX_TOKEN_NAME;
        lexer->at++;
        skip_name(lexer);
    } else if (*start == '.' && lexer->end - start > 1 && is_name_part(start[1])) {
        token.kind = PTX_TOKEN_DOT_NAME;
        read_dot_name(lexer);
    } else if (*start == '"') {
        read_string(lexer, &token);
        lexer->token = token;
        return;
    } else {
        token.kind = PTX_TOKEN_PUNCTUATION;
        token.punctuation = *lexer->at++;
    }
    token.text = (rungi_string_view){start, (size_t)(lexer->at - start)};
    lexer->token = token;
}
