/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_launches.c - finds the launches of a file: kernel<<<grid, block>>>(arguments) and calls of cudaLaunchKernel(); part of
 * cuda_outline.h. */
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

/* Reads the name of a kernel that ends at `last`, with template arguments if there are any. */
static bool read_kernel(const lab_tokens *tokens, int last, lab_cuda_launch *launch)
{
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
    if (end < 0 || !read_kernel(tokens, open - 1, launch) ||
        lab_cuda_split(tokens, (lab_token_range){open + 1, end - 1}, parts, PARTS) < 2)
        return false;
    launch->grid = parts[GRID];
    launch->block = parts[BLOCK];
    launch->shared = parts[SHARED];
    launch->at = launch->kernel.first;
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

/* ---- Calls of the CUDA runtime ---- */

/* Removes casts, brackets and "&" around an expression: (void *)&kernel, reinterpret_cast<void *>(kernel). */
static lab_token_range strip_casts(const lab_tokens *tokens, lab_token_range range)
{
    for (bool changed = true; changed && range.first < range.last;) {
        bool is_cast = lab_token_is(tokens, range.first, "reinterpret_cast") ||
                       lab_token_is(tokens, range.first, "static_cast") ||
                       lab_token_is(tokens, range.first, "const_cast");
        int open = is_cast ? lab_outline_call(tokens, range.first) : -1;
        changed = true;
        if (open > 0 && tokens->items[open].match == range.last)
            range = (lab_token_range){open + 1, range.last - 1};
        else if (lab_token_is(tokens, range.first, "&"))
            range.first++;
        else if (lab_token_is(tokens, range.first, "(") && tokens->items[range.first].match == range.last)
            range = (lab_token_range){range.first + 1, range.last - 1};
        else if (lab_token_is(tokens, range.first, "(") && tokens->items[range.first].match > 0 &&
                 tokens->items[range.first].match < range.last)
            range.first = tokens->items[range.first].match + 1;
        else
            changed = false;
    }
    return range;
}

/* Reads an expression that is a kernel, or a variable. */
static bool read_kernel_expression(const lab_tokens *tokens, lab_token_range range, lab_cuda_launch *launch)
{
    range = strip_casts(tokens, range);
    return range.last >= range.first && read_kernel(tokens, range.last, launch) && launch->kernel.first == range.first;
}

/* Reads the addresses of the arguments: an array `void *args[] = {&a, &b};` before the launch, or a list at the launch. */
static void read_addresses(const lab_cuda_outline *outline, lab_token_range range, lab_cuda_launch *launch)
{
    const lab_tokens *tokens = &outline->tokens;
    int open = -1;
    range = strip_casts(tokens, range);
    if (range.first <= range.last && lab_token_is(tokens, range.first, "{"))
        open = range.first;
    for (int i = outline->functions[launch->function].body.first; i < launch->at && range.first == range.last; i++) {
        int close = lab_token_is(tokens, i + 1, "[") ? tokens->items[i + 1].match : -1;
        bool is_array = close > 0 && rungi_string_views_equal(tokens->items[i].text, tokens->items[range.first].text);
        int next = is_array && lab_token_is(tokens, close + 1, "=") ? close + 2 : close + 1;
        if (is_array && lab_token_is(tokens, next, "{"))
            open = next;
    }
    if (open < 0 || tokens->items[open].match < open)
        return;
    launch->argument_count = lab_cuda_split(tokens, (lab_token_range){open + 1, tokens->items[open].match - 1},
                                            launch->arguments, LAB_CUDA_ARGUMENTS_MAX);
    for (int i = 0; i < launch->argument_count; i++)
        launch->arguments[i] = strip_casts(tokens, launch->arguments[i]);
}

/* Reads cudaLaunchKernel(kernel, grid, block, arguments, shared, stream), whose name is at `name`. */
static bool read_runtime_launch(const lab_cuda_outline *outline, int name, lab_cuda_launch *launch)
{
    enum { KERNEL, GRID, BLOCK, ARGUMENTS, SHARED, STREAM, PARTS };
    const lab_tokens *tokens = &outline->tokens;
    lab_token_range parts[PARTS] = {{0, -1}, {0, -1}, {0, -1}, {0, -1}, {0, -1}, {0, -1}};
    int open = lab_outline_call(tokens, name);
    if (open < 0 ||
        lab_cuda_split(tokens, (lab_token_range){open + 1, tokens->items[open].match - 1}, parts, PARTS) <= ARGUMENTS ||
        !read_kernel_expression(tokens, parts[KERNEL], launch))
        return false;
    launch->at = name;
    launch->is_cooperative = lab_token_is(tokens, name, "cudaLaunchCooperativeKernel");
    launch->grid = parts[GRID];
    launch->block = parts[BLOCK];
    launch->shared = parts[SHARED];
    launch->line = tokens->items[name].line;
    read_addresses(outline, parts[ARGUMENTS], launch);
    return true;
}

/* ---- Variables that hold kernels ---- */

/* Adds the launch with the kernel of an expression, if it is one. *is_added says so. Returns false if memory is exhausted. */
static bool add_with_kernel(lab_cuda_outline *outline, const lab_cuda_launch *launch, lab_token_range expression,
                            int call, bool *is_added)
{
    lab_cuda_launch other = *launch;
    other.call = call;
    if (!read_kernel_expression(&outline->tokens, expression, &other) || lab_cuda_launched_kernel(outline, &other) < 0)
        return true;
    *is_added = true;
    return add_launch(outline, &other);
}

/* Returns the last token before the ";" of a statement. */
static int expression_last(const lab_tokens *tokens, int i)
{
    while (i < tokens->count && !lab_token_is(tokens, i, ";"))
        i = lab_tokens_step(tokens, i);
    return i - 1;
}

/* Adds the launch once per kernel that is assigned to the variable before it. */
static bool add_assigned(lab_cuda_outline *outline, const lab_cuda_launch *launch, bool *is_added)
{
    const lab_tokens *tokens = &outline->tokens;
    for (int i = outline->functions[launch->function].body.first; i < launch->at; i++) {
        if (!rungi_string_views_equal(tokens->items[i].text, tokens->items[launch->kernel.last].text))
            continue;
        int next = i + 1;
        if (lab_token_is(tokens, next, ")") && lab_token_is(tokens, next + 1, "(")) /* void (*kernel)(int) = */
            next = lab_tokens_step(tokens, next + 1);
        if (lab_token_is(tokens, next, "=") &&
            !add_with_kernel(outline, launch, (lab_token_range){next + 1, expression_last(tokens, next + 1)}, 0,
                             is_added))
            return false;
    }
    return true;
}

/* Returns whether a parameter has a name. That of a pointer to a function is inside of its type: void (*kernel)(int). */
static bool is_called(const lab_cuda_outline *outline, const lab_cuda_parameter *parameter, rungi_string_view name)
{
    for (int i = parameter->type.first + 1; i <= parameter->type.last; i++)
        if (lab_token_is(&outline->tokens, i - 1, "*") && lab_token_is(&outline->tokens, i + 1, ")") &&
            rungi_string_views_equal(outline->tokens.items[i].text, name))
            return true;
    return rungi_string_views_equal(lab_cuda_name(outline, parameter->name), name);
}

/* Adds the launch once per call that passes a kernel to the launching function. */
static bool add_passed(lab_cuda_outline *outline, const lab_cuda_launch *launch, bool *is_added)
{
    const lab_tokens *tokens = &outline->tokens;
    const lab_cuda_function *launcher = &outline->functions[launch->function];
    rungi_string_view variable = tokens->items[launch->kernel.last].text, name = lab_cuda_name(outline, launcher->name);
    int parameter = 0;
    while (parameter < launcher->parameter_count && !is_called(outline, &launcher->parameters[parameter], variable))
        parameter++;
    if (parameter == launcher->parameter_count)
        return true;
    for (int f = 0; f < outline->function_count; f++) {
        lab_token_range body = outline->functions[f].body, parts[LAB_CUDA_PARAMETERS_MAX];
        for (int i = body.first; i < body.last; i++) {
            int open = rungi_string_views_equal(tokens->items[i].text, name) ? lab_outline_call(tokens, i) : -1;
            int count = open < 0 ? 0
                                 : lab_cuda_split(tokens, (lab_token_range){open + 1, tokens->items[open].match - 1},
                                                  parts, LAB_CUDA_PARAMETERS_MAX);
            if (parameter < count && !add_with_kernel(outline, launch, parts[parameter], open, is_added))
                return false;
        }
    }
    return true;
}

/* Adds a launch. A variable in place of the kernel is replaced. */
static bool add_resolved(lab_cuda_outline *outline, const lab_cuda_launch *launch)
{
    bool is_added = false, is_variable = launch->kernel.first == launch->kernel.last && !launch->has_templates;
    if (lab_cuda_launched_kernel(outline, launch) >= 0 || !is_variable)
        return add_launch(outline, launch);
    return add_assigned(outline, launch, &is_added) && (is_added || add_passed(outline, launch, &is_added)) &&
           (is_added || add_launch(outline, launch));
}

/* ---- Interface ---- */

static bool is_runtime_launch(const lab_tokens *tokens, int i)
{
    return lab_token_is(tokens, i, "cudaLaunchKernel") || lab_token_is(tokens, i, "cudaLaunchCooperativeKernel");
}

bool lab_outline_read_launches(lab_cuda_outline *outline)
{
    const lab_tokens *tokens = &outline->tokens;
    for (int f = 0; f < outline->function_count; f++) {
        lab_token_range body = outline->functions[f].body;
        for (int i = body.first; i <= body.last; i++) {
            lab_cuda_launch launch = {.function = f};
            bool is_launch = lab_token_is(tokens, i, "<<<") ? read_launch(tokens, i, &launch)
                             : is_runtime_launch(tokens, i) ? read_runtime_launch(outline, i, &launch)
                                                            : false;
            if (is_launch && !add_resolved(outline, &launch))
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
