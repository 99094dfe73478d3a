/* SPDX-License-Identifier: Apache-2.0 */
/* public_view.c - see public_view.h. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "cuda_source/public_view.h"

#include <stdio.h>
#include <stdlib.h>

/* Returns whether a class is the type of a parameter. */
static bool is_parameter_type(const lab_cuda_outline *outline, const lab_cuda_function *kernel,
                              const lab_cuda_struct *type)
{
    for (int i = 0; i < kernel->parameter_count; i++)
        if (lab_cuda_parameter_struct(outline, &kernel->parameters[i]) == type)
            return true;
    return false;
}

static bool is_hidden(const lab_tokens *tokens, int i)
{
    return (lab_token_is(tokens, i, "private") || lab_token_is(tokens, i, "protected")) &&
           lab_token_is(tokens, i + 1, ":");
}

char *lab_public_view(const lab_cuda_outline *outline, const lab_cuda_function *kernel, rungi_string_view text,
                      const char *appended, size_t *bytes)
{
    const lab_tokens *tokens = &outline->tokens;
    char *view = NULL;
    const char *from = text.text;
    FILE *out = open_memstream(&view, bytes);
    if (!out)
        return NULL;
    for (int s = 0; s < outline->struct_count; s++) {
        const lab_cuda_struct *type = &outline->structs[s];
        for (int i = type->body.first; is_parameter_type(outline, kernel, type) && i < type->body.last; i++) {
            rungi_string_view token = tokens->items[i].text;
            bool is_start = i == type->body.first;
            if (token.text < from || !(is_start || is_hidden(tokens, i)))
                continue;
            fwrite(from, 1, (size_t)(token.text - from), out);
            fputs(is_start ? "{public:" : "public", out);
            from = token.text + token.length;
        }
    }
    fwrite(from, 1, (size_t)(text.text + text.length - from), out);
    fputs(appended, out);
    if (fclose(out) == 0)
        return view;
    free(view);
    return NULL;
}
