/* SPDX-License-Identifier: Apache-2.0 */
/* lexer.h - splits the text of a PTX module into tokens. Tokens point into the text; nothing is copied. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string_view.h"

typedef enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_NAME,       /* add, %r1, $L__BB0_1 */
    PTX_TOKEN_DOT_NAME,   /* .f32, .shared::cta; the text includes the dot */
    PTX_TOKEN_INTEGER,    /* value in `integer` */
    PTX_TOKEN_F32,        /* 0f3F800000: bits in `integer` */
    PTX_TOKEN_F64,        /* 0d..., 1.5: bits in `integer` */
    PTX_TOKEN_STRING,     /* the text is without its quotes */
    PTX_TOKEN_PUNCTUATION /* one character, in `punctuation` */
} ptx_token_kind_t;

typedef struct ptx_token {
    ptx_token_kind_t kind;
    char punctuation;
    bool is_unsigned; /* an integer with the suffix U */
    uint64_t integer;
    rungi_string_view text;
    int line; /* of the PTX text, from 1 */
} ptx_token_t;

typedef struct ptx_lexer {
    const char *at, *end;
    int line;
    ptx_token_t token; /* the current token */
} ptx_lexer_t;

/* Begins at the first token of the text. */
void rungi_ptx_lexer_begin(ptx_lexer_t *lexer, const char *text, size_t bytes);

/* Moves to the next token. A character that no token begins with becomes punctuation, which the parser rejects. */
void rungi_ptx_lexer_next(ptx_lexer_t *lexer);
