/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_constants.c - see cuda_constants.h. */
#include "cuda_source/cuda_constants.h"

/* Moves *at behind a word. Returns false if the text does not begin with it. */
static bool skip_word(const char **at, const char *end, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(end - *at) <= length || memcmp(*at, word, length) != 0 || rungi_is_name_character((*at)[length]))
        return false;
    *at = lab_skip_blanks(*at + length, end);
    return true;
}

/* Returns the text without a comment and without blanks at its end. */
static rungi_string_view trim(const char *at, const char *end)
{
    const char *last = at;
    while (last < end && !(*last == '/' && last + 1 < end && last[1] == '*'))
        last++;
    while (last > at && (last[-1] == ' ' || last[-1] == '\t' || last[-1] == '\r'))
        last--;
    return rungi_string_view_of(at, (size_t)(last - at));
}

/* Reads "#define NAME VALUE". Macros with parameters are no constants. */
static bool read_macro(rungi_string_view directive, lab_cuda_constant *constant)
{
    const char *end = directive.text + directive.length, *at = lab_skip_blanks(directive.text + 1, end);
    if (!skip_word(&at, end, "define"))
        return false;
    const char *name = at;
    while (at < end && rungi_is_name_character(*at))
        at++;
    constant->name = rungi_string_view_of(name, (size_t)(at - name));
    if (at == end || (*at != ' ' && *at != '\t'))
        return false;
    constant->value = trim(lab_skip_blanks(at, end), end);
    return constant->name.length > 0 && constant->value.length > 0;
}

/* Reads "constexpr int NAME = VALUE;" at a token. */
static bool read_variable(const lab_tokens *tokens, int index, lab_cuda_constant *constant)
{
    if (!lab_token_is(tokens, index, "constexpr") || !lab_token_is(tokens, index + 1, "int") ||
        !lab_token_is(tokens, index + 3, "=") || tokens->items[index + 2].kind != LAB_TOKEN_NAME)
        return false;
    int first = index + 4, last = first;
    while (last < tokens->count && !lab_token_is(tokens, last, ";") && !lab_token_is(tokens, last, ","))
        last = lab_tokens_step(tokens, last);
    if (last == first || last >= tokens->count)
        return false;
    constant->name = tokens->items[index + 2].text;
    constant->value = lab_tokens_text(tokens, first, last - 1);
    return true;
}

bool lab_cuda_constant_next(const lab_tokens *tokens, int *index, lab_cuda_constant *constant)
{
    while (*index < tokens->count) {
        const lab_token *token = &tokens->items[*index];
        bool is_found = token->kind == LAB_TOKEN_DIRECTIVE ? read_macro(token->text, constant)
                                                           : read_variable(tokens, *index, constant);
        ++*index;
        if (is_found)
            return true;
    }
    return false;
}
