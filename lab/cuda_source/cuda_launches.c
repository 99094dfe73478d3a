/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_launches.c - finds the launches kernel<<<grid, block>>>(arguments) of a file; part of cuda_outline.h. */
#include <string.h>

#include "common/growing_array.h"
#include "cuda_source/cuda_outline.h"

/* Returns the first token of the kernel's name, which ends at `last`: names joined by "::". */
static int name_start(const lab_tokens *tokens, int last)
{
    int first = last;
    while (first >= 2 && lab_token_is(tokens, first - 1, "::") && tokens->items[first - 2].kind == LAB_TOKEN_NAME)
        first -= 2;
    return first > 0 && lab_token_is(tokens, first - 1, "::") ? first - 1 : first;
}

/* Returns the "<" of the template arguments that end with the ">" at `close`; -1 if it is missing. */
static int angle_start(const lab_tokens *tokens, int close)
{
    int depth = 0;
    for (int i = close; i >= 0; i--) {
        if (lab_token_is(tokens, i, ">"))
            depth++;
        else if (lab_token_is(tokens, i, "<") && --depth == 0)
            return i;
        else if (lab_token_is(tokens, i, ";") || lab_token_is(tokens, i, "{"))
            return -1;
        else if (tokens->items[i].match >= 0 && tokens->items[i].match < i)
            i = tokens->items[i].match;
    }
    return -1;
}

/* Reads the kernel before "<<<". */
static bool read_kernel(const lab_tokens *tokens, int open, lab_cuda_launch *launch)
{
    int last = open - 1;
    launch->has_templates = lab_token_is(tokens, last, ">");
    if (launch->has_templates) {
        int start = angle_start(tokens, last);
        if (start < 1)
            return false;
        launch->templates = (lab_token_range){start + 1, last - 1};
        last = start - 1;
    } else
        launch->templates = (lab_token_range){0, -1};
    if (last < 0 || tokens->items[last].kind != LAB_TOKEN_NAME)
        return false;
    launch->kernel = (lab_token_range){name_start(tokens, last), last};
    return true;
}

/* Returns the first of the three adjacent ">" that end a launch configuration. */
static int configuration_end(const lab_tokens *tokens, int first)
{
    for (int i = first; i + 3 < tokens->count; i++) {
        if (lab_token_is(tokens, i, ">") && lab_token_is(tokens, i + 1, ">") && lab_token_is(tokens, i + 2, ">") &&
            lab_token_is(tokens, i + 3, "("))
            return i;
        if (lab_token_is(tokens, i, ";") || lab_token_is(tokens, i, "}"))
            return -1;
        if (tokens->items[i].match > i)
            i = tokens->items[i].match;
    }
    return -1;
}

/* Reads the launch whose "<<<" is at `open`. */
static bool read_launch(const lab_tokens *tokens, int open, lab_cuda_launch *launch)
{
    enum { GRID, BLOCK, SHARED, STREAM, PARTS };
    lab_token_range parts[PARTS] = {{0, -1}, {0, -1}, {0, -1}, {0, -1}};
    int end = configuration_end(tokens, open + 1);
    if (end < 0 || !read_kernel(tokens, open, launch) ||
        lab_cuda_split(tokens, (lab_token_range){open + 1, end - 1}, parts, PARTS) < 2)
        return false;
    launch->grid = parts[GRID];
    launch->block = parts[BLOCK];
    launch->shared = parts[SHARED];
    launch->line = tokens->items[open].line;
    int list = end + 3, last = tokens->items[list].match - 1;
    launch->argument_count = lab_cuda_split(tokens, (lab_token_range){list + 1, last}, launch->arguments,
                                            LAB_CUDA_ARGUMENTS_MAX);
    return true;
}

static bool add_launch(lab_cuda_outline *outline, const lab_cuda_launch *launch)
{
    lab_cuda_launch *all = lab_array_grow(outline->launches, outline->launch_count, sizeof *all);
    if (!all)
        return false;
    outline->launches = all;
    all[outline->launch_count++] = *launch;
    return true;
}

bool lab_outline_read_launches(lab_cuda_outline *outline)
{
    const lab_tokens *tokens = &outline->tokens;
    for (int f = 0; f < outline->function_count; f++) {
        lab_token_range body = outline->functions[f].body;
        for (int i = body.first; i <= body.last; i++) {
            lab_cuda_launch launch = {.function = f};
            if (lab_token_is(tokens, i, "<<<") && read_launch(tokens, i, &launch) && !add_launch(outline, &launch))
                return false;
        }
    }
    return true;
}

int lab_cuda_launched_kernel(const lab_cuda_outline *outline, const lab_cuda_launch *launch)
{
    rungi_string_view name = lab_cuda_name(outline, launch->kernel.last);
    int found = -1;
    for (int i = 0; i < outline->function_count; i++) {
        const lab_cuda_function *function = &outline->functions[i];
        bool is_defined = function->body.last > function->body.first;
        if (function->kind == LAB_FUNCTION_KERNEL &&
            rungi_string_views_equal(lab_cuda_name(outline, function->name), name) && (found < 0 || is_defined))
            found = i;
    }
    return found;
}
