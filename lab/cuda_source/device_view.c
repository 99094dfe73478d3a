/* SPDX-License-Identifier: Apache-2.0 */
/* device_view.c - see device_view.h. */
#include "cuda_source/device_view.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_source/cuda_outline.h"

enum { HELPER_TOKENS_MAX = 120 };

/* ---- Which functions ---- */

static bool has_token(const lab_tokens *tokens, int first, int last, const char *word)
{
    for (int i = first; i <= last; i++)
        if (lab_token_is(tokens, i, word))
            return true;
    return false;
}

static bool begins_with(rungi_string_view text, const char *word)
{
    return text.length >= strlen(word) && memcmp(text.text, word, strlen(word)) == 0;
}

/* Returns whether a token does not occur in arithmetic. */
static bool is_host_token(const lab_tokens *tokens, int index)
{
    static const char *const words[] = {"std", "new", "delete", "malloc", "free", "printf", "fprintf", "exit", "<<<"};
    const lab_token *token = &tokens->items[index];
    if (token->kind == LAB_TOKEN_STRING || begins_with(token->text, "cuda") || begins_with(token->text, "cublas"))
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (lab_token_is(tokens, index, words[i]))
            return true;
    return false;
}

/* Returns whether a function of the host is likely to compile for the device and useful in the expressions of a launch. */
static bool is_helper(const lab_cuda_outline *outline, const lab_cuda_function *function)
{
    const lab_tokens *tokens = &outline->tokens;
    if (function->is_member || function->body.last - function->whole.first > HELPER_TOKENS_MAX ||
        lab_token_is(tokens, function->name, "main") ||
        has_token(tokens, function->whole.first, function->name, "void"))
        return false;
    for (int i = function->whole.first; i <= function->body.last; i++)
        if (is_host_token(tokens, i))
            return false;
    return true;
}

static bool must_blank(const lab_cuda_outline *outline, const lab_cuda_function *function, bool keeps_helpers)
{
    return function->kind == LAB_FUNCTION_HOST && function->body.last >= function->body.first &&
           !has_token(&outline->tokens, function->whole.first, function->body.first, "constexpr") &&
           !(keeps_helpers && is_helper(outline, function));
}

/* ---- Blanking ---- */

/* Returns the end of a preprocessor line with its continuations. */
static char *directive_end(char *at, const char *end)
{
    while (at < end && *at != '\n')
        at += *at == '\\' && at + 1 < end ? 2 : 1;
    return at;
}

/* Overwrites text with blanks, except for line ends and preprocessor lines. */
static void blank(char *from, char *end)
{
    bool is_line_start = false;
    for (char *at = from; at < end; at++) {
        if (*at == '#' && is_line_start)
            at = directive_end(at, end);
        if (at >= end)
            return;
        is_line_start = *at == '\n' || (is_line_start && (*at == ' ' || *at == '\t'));
        if (*at != '\n')
            *at = ' ';
    }
}

/* Returns the first token that the declaration of a member function does not need: the ':' of a constructor's initializers,
 * or the body. */
static int member_body_start(const lab_cuda_outline *outline, const lab_cuda_function *function)
{
    const lab_tokens *tokens = &outline->tokens;
    int open = function->name + 1;
    while (open < function->body.first && !(lab_token_is(tokens, open, "(") && tokens->items[open].match > open))
        open++;
    int at = open < function->body.first ? tokens->items[open].match + 1 : function->body.first;
    while (at < function->body.first && !lab_token_is(tokens, at, ":"))
        at++;
    return at;
}

static void blank_function(const lab_cuda_outline *outline, const lab_cuda_function *function, char *copy,
                           const char *text)
{
    int first = function->is_member ? member_body_start(outline, function) : function->whole.first;
    rungi_string_view range = lab_tokens_text(&outline->tokens, first, function->body.last);
    char *from = copy + (range.text - text);
    blank(from, from + range.length);
    if (function->is_member)
        *from = ';'; /* the declaration remains */
}

/* Returns the last token of an explicit instantiation of a host function, "template void f<int>(int);", or -1. */
static int instantiation_end(const lab_tokens *tokens, int index)
{
    static const char *const before[] = {";", "}", "{"};
    bool is_statement = index == 0 || tokens->items[index - 1].kind == LAB_TOKEN_DIRECTIVE, is_function = false;
    for (int i = 0; i < 3; i++)
        is_statement |= index > 0 && lab_token_is(tokens, index - 1, before[i]);
    if (!is_statement || !lab_token_is(tokens, index, "template") || lab_token_is(tokens, index + 1, "<"))
        return -1;
    for (int i = index + 1; i < tokens->count; i++) {
        is_function |= lab_token_is(tokens, i, "(");
        if (lab_token_is(tokens, i, "__global__") || lab_token_is(tokens, i, "__device__") ||
            lab_token_is(tokens, i, "{"))
            return -1;
        if (lab_token_is(tokens, i, ";"))
            return is_function ? i : -1;
    }
    return -1;
}

static void blank_instantiations(const lab_tokens *tokens, char *copy, const char *text)
{
    for (int i = 0; i < tokens->count; i++) {
        int last = instantiation_end(tokens, i);
        if (last < 0)
            continue;
        rungi_string_view range = lab_tokens_text(tokens, i, last);
        blank(copy + (range.text - text), copy + (range.text - text) + range.length);
    }
}

char *lab_device_view(const char *text, size_t bytes, bool keeps_helpers)
{
    lab_cuda_outline outline;
    char *copy = malloc(bytes + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    if (!lab_cuda_outline_read(text, bytes, &outline)) {
        free(copy);
        return NULL;
    }
    for (int i = 0; i < outline.function_count; i++)
        if (must_blank(&outline, &outline.functions[i], keeps_helpers))
            blank_function(&outline, &outline.functions[i], copy, text);
    blank_instantiations(&outline.tokens, copy, text);
    lab_cuda_outline_free(&outline);
    return copy;
}
