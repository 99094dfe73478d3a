/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_tokens.h - splits a CUDA C++ file into tokens. The lab reads the outline of a file from the tokens: kernels,
 * functions and launches. NVRTC alone decides what the file means. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/string_view.h"

typedef enum lab_token_kind {
    LAB_TOKEN_NAME,
    LAB_TOKEN_NUMBER,
    LAB_TOKEN_STRING,   /* string and character literals */
    LAB_TOKEN_SYMBOL,   /* "<<<" is one token; every '>' is a token of its own, because of templates */
    LAB_TOKEN_DIRECTIVE /* a whole preprocessor line with its continuations */
} lab_token_kind;

typedef struct lab_token {
    lab_token_kind kind;
    rungi_string_view text; /* part of the file */
    int line;
    int match; /* index of the other bracket of ( ) [ ] { }; -1 for other tokens and unbalanced brackets */
} lab_token;

/* The file's text must live as long as the tokens. */
typedef struct lab_tokens {
    lab_token *items;
    int count;
} lab_tokens;

/* Reads the tokens. Comments are dropped. Of `#if` with `#else` only the first branch is read, or the second if the
 * condition is 0, so that brackets balance. Returns false if memory is exhausted. */
bool lab_tokens_read(const char *text, size_t bytes, lab_tokens *tokens);
void lab_tokens_free(lab_tokens *tokens);

/* Returns the first character from `at` on that is neither a space nor a tab, or `end`. */
static inline const char *lab_skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

/* Returns whether the token at an index exists and has exactly this text. */
bool lab_token_is(const lab_tokens *tokens, int index, const char *text);

/* Returns the token after the bracket that begins at `index`, or simply the next token. */
int lab_tokens_step(const lab_tokens *tokens, int index);

/* Returns the file's text from the first token to the last, with everything in between. */
rungi_string_view lab_tokens_text(const lab_tokens *tokens, int first, int last);
