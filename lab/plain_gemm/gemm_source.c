/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_source.c - see gemm_source.h. */
#include "plain_gemm/gemm_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Constants ---- */

/* Reads `#define NAME 512`. Returns 0 for other directives and other values. */
static long long read_macro(rungi_string_view directive, rungi_string_view name)
{
    char text[128], defined[64] = "", rest[4] = "";
    long long value = 0;
    snprintf(text, sizeof text, "%.*s", (int)directive.length, directive.text);
    int count = sscanf(text, "# define %63s %lld %3s", defined, &value, rest);
    if (count < 2)
        count = sscanf(text, "# define %63s (%lld ) %3s", defined, &value, rest);
    bool is_number = count == 2 || (count == 3 && (strncmp(rest, "//", 2) == 0 || strncmp(rest, "/*", 2) == 0));
    return is_number && rungi_string_view_equals(name, defined) ? value : 0;
}

long long lab_gemm_find_constant(const lab_cuda_outline *outline, rungi_string_view name, int *line)
{
    const lab_tokens *tokens = &outline->tokens;
    for (int i = 0; i < tokens->count; i++) {
        for (int f = 0; f < outline->function_count; f++)
            if (outline->functions[f].whole.first == i)
                i = outline->functions[f].whole.last + 1;
        if (i >= tokens->count)
            break;
        *line = tokens->items[i].line;
        long long value = 0;
        bool is_value = rungi_string_views_equal(tokens->items[i].text, name) && lab_token_is(tokens, i + 1, "=") &&
                        (lab_token_is(tokens, i + 3, ";") || lab_token_is(tokens, i + 3, ",") ||
                         lab_token_is(tokens, i + 3, "}"));
        if (tokens->items[i].kind == LAB_TOKEN_DIRECTIVE)
            value = read_macro(tokens->items[i].text, name);
        else if (is_value && tokens->items[i + 2].kind == LAB_TOKEN_NUMBER)
            value = strtoll(tokens->items[i + 2].text.text, NULL, 10);
        if (value != 0)
            return value;
    }
    return 0;
}

static bool is_compared_at(const lab_tokens *tokens, int i)
{
    bool is_template = lab_token_is(tokens, i - 1, "<") && lab_token_is(tokens, i + 1, ">");
    bool follows = lab_token_is(tokens, i - 1, "<") || lab_token_is(tokens, i - 1, "<=") ||
                   lab_token_is(tokens, i - 1, ">") ||
                   (lab_token_is(tokens, i - 1, "=") && lab_token_is(tokens, i - 2, ">"));
    bool precedes = lab_token_is(tokens, i + 1, "<") || lab_token_is(tokens, i + 1, "<=") ||
                    lab_token_is(tokens, i + 1, ">");
    return !is_template && (follows || precedes);
}

/* Returns whether the statement that contains a token declares shared memory. */
static bool is_in_shared(const lab_tokens *tokens, int i, int first)
{
    for (; i > first && !lab_token_is(tokens, i, ";") && !lab_token_is(tokens, i, "{"); i--)
        if (lab_token_is(tokens, i, "__shared__"))
            return true;
    return false;
}

lab_constant_use lab_gemm_constant_use(const lab_cuda_outline *outline, const lab_cuda_function *kernel,
                                       rungi_string_view name)
{
    const lab_tokens *tokens = &outline->tokens;
    bool is_bound = false, is_stride = false;
    for (int i = kernel->body.first; i <= kernel->body.last; i++) {
        if (!rungi_string_views_equal(tokens->items[i].text, name))
            continue;
        bool is_block = lab_token_is(tokens, i - 1, "*") && lab_token_is(tokens, i - 3, ".") &&
                        lab_token_is(tokens, i - 4, "blockIdx");
        bool is_assigned = lab_token_is(tokens, i + 1, "="); /* a variable of the kernel has the same name */
        if (is_block || is_assigned || is_in_shared(tokens, i, kernel->body.first))
            return LAB_CONSTANT_OTHER;
        is_bound = is_bound || is_compared_at(tokens, i);
        is_stride = is_stride || lab_token_is(tokens, i - 1, "*") || lab_token_is(tokens, i + 1, "*");
    }
    return !is_bound ? LAB_CONSTANT_OTHER : is_stride ? LAB_CONSTANT_STRIDE : LAB_CONSTANT_BOUND;
}

/* ---- Arrays ---- */

/* Returns the last token of the element that begins at `name`: of "C", "C[row][col]" or "C.elements[i]". */
static int element_last(const lab_tokens *tokens, int name)
{
    int last = name;
    for (;; last++) {
        if (lab_token_is(tokens, last + 1, "[") && tokens->items[last + 1].match > 0)
            last = tokens->items[last + 1].match - 1;
        else if (lab_token_is(tokens, last + 1, ".") || lab_token_is(tokens, last + 1, "->"))
            last++;
        else
            return last;
    }
}

bool lab_gemm_writes_array(const lab_cuda_outline *outline, const lab_cuda_function *kernel, rungi_string_view array)
{
    const lab_tokens *tokens = &outline->tokens;
    lab_token_range body = kernel->body;
    for (int i = body.first; i < body.last; i++) {
        bool is_array = rungi_string_views_equal(tokens->items[i].text, array) && !lab_token_is(tokens, i - 1, ".");
        int last = is_array ? element_last(tokens, i) : i;
        int before = lab_token_is(tokens, i - 1, "&") ? i - 2 : i - 1;
        bool is_atomic = is_array && lab_token_is(tokens, before, "(") && before > 0 &&
                         tokens->items[before - 1].text.length > 6 &&
                         memcmp(tokens->items[before - 1].text.text, "atomic", 6) == 0;
        bool is_store = is_array && last > i &&
                        (lab_token_is(tokens, last + 1, "=") || lab_token_is(tokens, last + 1, "+="));
        if (is_atomic || is_store)
            return true;
    }
    return false;
}
