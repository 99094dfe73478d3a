/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_tokens.c - see cuda_tokens.h. */
#include "cuda_source/cuda_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "common/growing_array.h"

enum { CONDITIONS_MAX = 64 };

/* Where the reader is in the text. */
typedef struct token_reader {
    const char *at, *end;
    int line;
    lab_tokens *tokens;
    bool is_line_start;
    bool out_of_memory;
    int depth;                       /* of #if */
    bool skips[CONDITIONS_MAX];      /* by depth: the branch is not read */
    bool takes_else[CONDITIONS_MAX]; /* the #else branch of "#if 0" is */
} token_reader_t;

static char peek(const token_reader_t *reader, size_t ahead)
{
    return ahead < (size_t)(reader->end - reader->at) ? reader->at[ahead] : '\0';
}

static bool begins_with(const token_reader_t *reader, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(reader->end - reader->at) >= length && memcmp(reader->at, word, length) == 0;
}

static void count_lines(token_reader_t *reader, const char *until)
{
    for (; reader->at < until; reader->at++)
        reader->line += *reader->at == '\n';
}

static bool is_skipping(const token_reader_t *reader)
{
    for (int i = 0; i < reader->depth && i < CONDITIONS_MAX; i++)
        if (reader->skips[i])
            return true;
    return false;
}

static void add(token_reader_t *reader, lab_token_kind kind, const char *end)
{
    lab_tokens *tokens = reader->tokens;
    if (!is_skipping(reader)) {
        lab_token *items = lab_array_grow(tokens->items, tokens->count, sizeof *items);
        reader->out_of_memory = !items;
        if (!items)
            return;
        tokens->items = items;
        items[tokens->count++] = (lab_token){
            .kind = kind,
            .text = rungi_string_view_of(reader->at, (size_t)(end - reader->at)),
            .line = reader->line,
            .match = -1,
        };
    }
    count_lines(reader, end);
    reader->is_line_start = false;
}

/* ---- Tokens ---- */

static bool skip_comment(token_reader_t *reader)
{
    const char *end = NULL;
    if (begins_with(reader, "//"))
        end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    else if (begins_with(reader, "/*")) {
        for (end = reader->at + 2; end < reader->end - 1 && (end[0] != '*' || end[1] != '/'); end++)
            ;
        end += 2;
    } else
        return false;
    count_lines(reader, end && end < reader->end ? end : reader->end);
    return true;
}

/* Returns the end of a preprocessor line: the first line end without a backslash, outside of comments. */
static const char *directive_end(const token_reader_t *reader)
{
    const char *at = reader->at;
    for (; at < reader->end && *at != '\n'; at++) {
        if (*at == '\\' && at + 1 < reader->end && at[1] == '\n')
            at++;
        else if (*at == '/' && at + 1 < reader->end && at[1] == '/')
            return at;
        else if (*at == '/' && at + 1 < reader->end && at[1] == '*') {
            for (at += 2; at < reader->end - 1 && (at[0] != '*' || at[1] != '/'); at++)
                ;
            at++;
        }
    }
    return at < reader->end ? at : reader->end;
}

/* Follows #if, #else and #endif. */
static void follow_condition(token_reader_t *reader, rungi_string_view directive)
{
    const char *end = directive.text + directive.length, *at = lab_skip_blanks(directive.text + 1, end);
    size_t left = (size_t)(end - at);
    int top = reader->depth - 1;
    if (left >= 2 && memcmp(at, "if", 2) == 0) {
        bool is_zero = left >= 4 && memcmp(at, "if 0", 4) == 0 && (left == 4 || at[4] <= ' ');
        if (reader->depth < CONDITIONS_MAX) {
            reader->skips[reader->depth] = is_zero;
            reader->takes_else[reader->depth] = is_zero;
        }
        reader->depth++;
    } else if (left >= 2 && memcmp(at, "el", 2) == 0 && top >= 0 && top < CONDITIONS_MAX) {
        reader->skips[top] = !reader->takes_else[top];
        reader->takes_else[top] = false;
    } else if (left >= 5 && memcmp(at, "endif", 5) == 0 && top >= 0)
        reader->depth--;
}

static void read_directive(token_reader_t *reader)
{
    const char *end = directive_end(reader);
    rungi_string_view text = rungi_string_view_of(reader->at, (size_t)(end - reader->at));
    add(reader, LAB_TOKEN_DIRECTIVE, end);
    follow_condition(reader, text);
    reader->is_line_start = true;
}

static const char *quoted_end(const token_reader_t *reader, const char *at)
{
    char quote = *at++;
    for (; at < reader->end && *at != quote && *at != '\n'; at++)
        if (*at == '\\' && at + 1 < reader->end)
            at++;
    return at < reader->end ? at + (*at == quote) : reader->end;
}

/* Returns the end of a raw string R"x(...)x". */
static const char *raw_string_end(const token_reader_t *reader)
{
    const char *open = memchr(reader->at, '(', (size_t)(reader->end - reader->at));
    size_t length = open ? (size_t)(open - reader->at) - 2 : 0;
    if (!open || length > 16)
        return reader->end;
    for (const char *at = open; at < reader->end; at++) {
        size_t left = (size_t)(reader->end - at);
        if (*at == ')' && left >= length + 2 && memcmp(at + 1, reader->at + 2, length) == 0 && at[length + 1] == '"')
            return at + length + 2;
    }
    return reader->end;
}

static const char *word_end(const token_reader_t *reader)
{
    const char *at = reader->at;
    while (at < reader->end && rungi_is_name_character(*at))
        at++;
    return at;
}

/* Numbers include digit separators, exponents and suffixes. */
static const char *number_end(const token_reader_t *reader)
{
    const char *at = reader->at;
    while (at < reader->end &&
           (rungi_is_name_character(*at) || *at == '.' || (*at == '\'' && at + 1 < reader->end) ||
            ((*at == '+' || *at == '-') && (at[-1] == 'e' || at[-1] == 'E' || at[-1] == 'p') && reader->at[1] != 'x')))
        at++;
    return at;
}

static const char *symbol_end(const token_reader_t *reader)
{
    static const char *const long_symbols[] = {"<<<", "<<=", "...", "->*", "<<", "->", "::", "<=", "==", "!=", "&&",
                                               "||",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "++", "--"};
    for (size_t i = 0; i < sizeof long_symbols / sizeof *long_symbols; i++)
        if (begins_with(reader, long_symbols[i]))
            return reader->at + strlen(long_symbols[i]);
    return reader->at + 1;
}

static void read_token(token_reader_t *reader)
{
    char c = *reader->at;
    if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        reader->is_line_start = reader->is_line_start || c == '\n';
        count_lines(reader, reader->at + 1);
    } else if (c == '\\' && peek(reader, 1) == '\n')
        count_lines(reader, reader->at + 2);
    else if (skip_comment(reader))
        return;
    else if (c == '#' && reader->is_line_start)
        read_directive(reader);
    else if (c == 'R' && peek(reader, 1) == '"')
        add(reader, LAB_TOKEN_STRING, raw_string_end(reader));
    else if (c == '"' || c == '\'')
        add(reader, LAB_TOKEN_STRING, quoted_end(reader, reader->at));
    else if ((c >= '0' && c <= '9') || (c == '.' && peek(reader, 1) >= '0' && peek(reader, 1) <= '9'))
        add(reader, LAB_TOKEN_NUMBER, number_end(reader));
    else if (rungi_is_name_character(c))
        add(reader, LAB_TOKEN_NAME, word_end(reader));
    else
        add(reader, LAB_TOKEN_SYMBOL, symbol_end(reader));
}

/* ---- Brackets ---- */

static char closing_of(rungi_string_view text)
{
    char c = text.length == 1 ? *text.text : '\0';
    return (char)(c == '(' ? ')' : c == '[' ? ']' : c == '{' ? '}' : '\0');
}

/* Matches brackets with a stack of the open ones. A closing bracket that does not fit closes the brackets inside of the
 * one that it fits, so that one stray bracket does not spoil the rest. */
static bool match_brackets(lab_tokens *tokens)
{
    int *open = malloc(sizeof *open * (size_t)(tokens->count + 1)), depth = 0;
    if (!open)
        return false;
    for (int i = 0; i < tokens->count; i++) {
        lab_token *token = &tokens->items[i];
        if (token->kind != LAB_TOKEN_SYMBOL)
            continue;
        if (closing_of(token->text))
            open[depth++] = i;
        else if (token->text.length == 1 && strchr(")]}", *token->text.text)) {
            int at = depth - 1;
            while (at >= 0 && closing_of(tokens->items[open[at]].text) != *token->text.text)
                at--;
            if (at < 0)
                continue;
            token->match = open[at];
            tokens->items[open[at]].match = i;
            depth = at;
        }
    }
    free(open);
    return true;
}

/* ---- Interface ---- */

bool lab_tokens_read(const char *text, size_t bytes, lab_tokens *tokens)
{
    token_reader_t reader = {.at = text, .end = text + bytes, .line = 1, .tokens = tokens, .is_line_start = true};
    *tokens = (lab_tokens){.items = NULL};
    while (reader.at < reader.end && !reader.out_of_memory)
        read_token(&reader);
    if (!reader.out_of_memory && match_brackets(tokens))
        return true;
    lab_tokens_free(tokens);
    return false;
}

void lab_tokens_free(lab_tokens *tokens)
{
    free(tokens->items);
    *tokens = (lab_tokens){.items = NULL};
}

bool lab_token_is(const lab_tokens *tokens, int index, const char *text)
{
    return index >= 0 && index < tokens->count && rungi_string_view_equals(tokens->items[index].text, text);
}

int lab_tokens_step(const lab_tokens *tokens, int index)
{
    int match = tokens->items[index].match;
    return (match > index ? match : index) + 1;
}

rungi_string_view lab_tokens_text(const lab_tokens *tokens, int first, int last)
{
    if (first > last || first < 0 || last >= tokens->count)
        return rungi_string_view_of("", 0);
    const char *start = tokens->items[first].text.text;
    rungi_string_view end = tokens->items[last].text;
    return rungi_string_view_of(start, (size_t)(end.text + end.length - start));
}
