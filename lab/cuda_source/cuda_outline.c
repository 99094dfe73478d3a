/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_outline.c - see cuda_outline.h. Walks over the declarations of a file; cuda_launches.c reads the launches. */
#include "cuda_source/cuda_outline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/growing_array.h"

/* Returned in place of the next token if memory is exhausted. */
enum { OUT_OF_MEMORY = -1 };

/* A declaration that is being read. */
typedef struct declaration {
    lab_cuda_outline *outline;
    const char *scope;
    bool is_in_class;
    int start;                       /* first token, template<...> included */
    lab_token_range template_tokens; /* between < and > of the last template<...> */
    bool is_template;
} declaration_t;

static const lab_tokens *tokens_of(const declaration_t *declaration)
{
    return &declaration->outline->tokens;
}

/* ---- Parts of declarations ---- */

int lab_outline_angle_end(const lab_tokens *tokens, int open)
{
    int depth = 0;
    for (int i = open; i < tokens->count; i++) {
        if (lab_token_is(tokens, i, "<"))
            depth++;
        else if (lab_token_is(tokens, i, ">") && --depth == 0)
            return i;
        else if (lab_token_is(tokens, i, ";") || lab_token_is(tokens, i, "{"))
            return -1;
        else if (tokens->items[i].match > i)
            i = tokens->items[i].match;
    }
    return -1;
}

int lab_outline_call(const lab_tokens *tokens, int name)
{
    int open = lab_token_is(tokens, name + 1, "<") ? lab_outline_angle_end(tokens, name + 1) + 1 : name + 1;
    return open > name && lab_token_is(tokens, open, "(") && tokens->items[open].match > open ? open : -1;
}

int lab_cuda_split(const lab_tokens *tokens, lab_token_range range, lab_token_range *parts, int capacity)
{
    int count = 0, start = range.first;
    for (int i = range.first; i <= range.last && count < capacity;) {
        bool is_template = lab_token_is(tokens, i, "<") && i > range.first &&
                           tokens->items[i - 1].kind == LAB_TOKEN_NAME;
        int end = is_template ? lab_outline_angle_end(tokens, i) : -1;
        if (end > i && end <= range.last) {
            i = end + 1;
            continue;
        }
        if (lab_token_is(tokens, i, ",")) {
            parts[count++] = (lab_token_range){start, i - 1};
            start = i + 1;
        }
        i = lab_tokens_step(tokens, i);
    }
    if (range.last >= range.first && count < capacity)
        parts[count++] = (lab_token_range){start, range.last};
    return count;
}

/* Returns the token of a part that is "=" outside of brackets, or the end of the part. */
static int preset_start(const lab_tokens *tokens, lab_token_range part)
{
    int i = part.first;
    while (i <= part.last && !lab_token_is(tokens, i, "="))
        i = lab_tokens_step(tokens, i);
    return i <= part.last ? i : part.last + 1;
}

/* Returns the name among the tokens of a parameter: the last name before an array's brackets. */
static int parameter_name(const lab_tokens *tokens, lab_token_range type)
{
    static const char *const never_names[] = {"const",    "int",      "float", "double",           "unsigned",
                                              "char",     "bool",     "long",  "__restrict__",     "__restrict",
                                              "restrict", "typename", "class", "__grid_constant__"};
    int last = type.last;
    while (last > type.first && lab_token_is(tokens, last, "]"))
        last = tokens->items[last].match - 1;
    if (last < type.first || tokens->items[last].kind != LAB_TOKEN_NAME)
        return -1;
    for (size_t i = 0; i < sizeof never_names / sizeof *never_names; i++)
        if (lab_token_is(tokens, last, never_names[i]))
            return -1;
    return last > type.first ? last : -1;
}

int lab_outline_parameters(const lab_tokens *tokens, lab_token_range list, lab_cuda_parameter *parameters)
{
    lab_token_range parts[LAB_CUDA_PARAMETERS_MAX];
    int count = lab_cuda_split(tokens, list, parts, LAB_CUDA_PARAMETERS_MAX);
    for (int i = 0; i < count; i++) {
        int preset = preset_start(tokens, parts[i]);
        lab_token_range type = {parts[i].first, preset - 1};
        int name = parameter_name(tokens, type);
        if (name == type.last)
            type.last--;
        parameters[i] = (lab_cuda_parameter){type, name, {preset + 1, parts[i].last}};
    }
    return count;
}

/* ---- Functions ---- */

/* Names whose parentheses are not the parameters of a function. */
static bool is_attribute(const lab_tokens *tokens, int name)
{
    static const char *const attributes[] = {
        "__launch_bounds__", "__attribute__",    "alignas",        "decltype",    "__align__", "__declspec", "asm",
        "noexcept",          "__cluster_dims__", "__block_size__", "__maxnreg__", "explicit",  "requires"};
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (lab_token_is(tokens, name, attributes[i]))
            return true;
    return false;
}

/* Returns the "(" of a function's parameters between `start` and the end of the declaration; -1 for other
 * declarations. */
static int parameter_list(const lab_tokens *tokens, int start)
{
    for (int i = start; i < tokens->count; i = lab_tokens_step(tokens, i)) {
        const lab_token *token = &tokens->items[i];
        if (lab_token_is(tokens, i, ";") || lab_token_is(tokens, i, "{") || lab_token_is(tokens, i, "}") ||
            lab_token_is(tokens, i, "="))
            return -1;
        if (lab_token_is(tokens, i, "operator"))
            while (i + 1 < tokens->count && !lab_token_is(tokens, i + 1, "("))
                i++;
        if (lab_token_is(tokens, i + 1, "(") && token->kind == LAB_TOKEN_NAME && !is_attribute(tokens, i))
            return i + 1;
    }
    return -1;
}

/* Returns the "{" of the body after the parameters, the ";" of a declaration, or -1. */
static int body_start(const lab_tokens *tokens, int after)
{
    bool has_initializers = false;
    for (int i = after; i < tokens->count; i = lab_tokens_step(tokens, i)) {
        bool is_brace = lab_token_is(tokens, i, "{");
        if (lab_token_is(tokens, i, ":"))
            has_initializers = true;
        /* The braces of an initializer follow its name; those of the body do not. */
        else if (is_brace && has_initializers && tokens->items[i - 1].kind == LAB_TOKEN_NAME)
            continue;
        else if (is_brace || lab_token_is(tokens, i, ";"))
            return i;
        else if (lab_token_is(tokens, i, "="))
            return -1;
    }
    return -1;
}

static lab_function_kind function_kind(const lab_tokens *tokens, int start, int name)
{
    lab_function_kind kind = LAB_FUNCTION_HOST;
    for (int i = start; i < name; i++)
        if (lab_token_is(tokens, i, "__global__"))
            return LAB_FUNCTION_KERNEL;
        else if (lab_token_is(tokens, i, "__device__"))
            kind = LAB_FUNCTION_DEVICE;
    return kind;
}

static bool add_function(const declaration_t *declaration, const lab_cuda_function *function)
{
    lab_cuda_outline *outline = declaration->outline;
    lab_cuda_function *all = lab_array_grow(outline->functions, outline->function_count, sizeof *all);
    if (!all)
        return false;
    outline->functions = all;
    all[outline->function_count++] = *function;
    return true;
}

/* Reads a function whose parameters begin at `open`. Returns the token after it, or OUT_OF_MEMORY. */
static int read_function(const declaration_t *declaration, int open, int end)
{
    const lab_tokens *tokens = tokens_of(declaration);
    bool has_body = lab_token_is(tokens, end, "{");
    int last = has_body && tokens->items[end].match > end ? tokens->items[end].match : end;
    lab_cuda_function function = {
        .kind = function_kind(tokens, declaration->start, open - 1),
        .name = open - 1,
        .is_member = declaration->is_in_class,
        .whole = {declaration->start, last},
        .body = {has_body ? end : 0, has_body ? last : -1},
        .template_count = -1,
    };
    lab_token_range list = {open + 1, tokens->items[open].match - 1};
    snprintf(function.scope, sizeof function.scope, "%s", declaration->scope);
    function.parameter_count = lab_outline_parameters(tokens, list, function.parameters);
    if (function.parameter_count == 1 && lab_token_is(tokens, list.first, "void") && list.first == list.last)
        function.parameter_count = 0;
    if (declaration->is_template)
        function.template_count = lab_outline_parameters(tokens, declaration->template_tokens,
                                                         function.template_parameters);
    return add_function(declaration, &function) ? last + 1 : OUT_OF_MEMORY;
}

/* ---- Scopes ---- */

static bool read_scope(lab_cuda_outline *outline, const char *scope, bool is_class, int first, int last);

/* Returns the "{" of a struct, class or union definition that begins at `i`; -1 for anything else. *name is its name, or
 * -1. */
static int class_body(const lab_tokens *tokens, int i, int *name)
{
    *name = -1;
    while (lab_token_is(tokens, i, "typedef") || lab_token_is(tokens, i, "static"))
        i++;
    if (!lab_token_is(tokens, i, "struct") && !lab_token_is(tokens, i, "class") && !lab_token_is(tokens, i, "union"))
        return -1;
    for (i++; i < tokens->count; i = lab_tokens_step(tokens, i)) {
        int angle = lab_token_is(tokens, i, "<") ? lab_outline_angle_end(tokens, i) : -1;
        if (angle > 0) /* a specialization, or a base class with arguments */
            i = angle + 1;
        if (lab_token_is(tokens, i, "{"))
            return i;
        if (lab_token_is(tokens, i, ";") || lab_token_is(tokens, i, "=") ||
            (lab_token_is(tokens, i, "(") && !is_attribute(tokens, i - 1)))
            return -1;
        if (*name < 0 && tokens->items[i].kind == LAB_TOKEN_NAME && !is_attribute(tokens, i))
            *name = i;
    }
    return -1;
}

static bool add_struct(const declaration_t *declaration, int name, lab_token_range body)
{
    lab_cuda_outline *outline = declaration->outline;
    lab_token_range templates = declaration->is_template ? declaration->template_tokens : (lab_token_range){0, -1};
    lab_cuda_struct *all = lab_array_grow(outline->structs, outline->struct_count, sizeof *all);
    if (!all)
        return false;
    outline->structs = all;
    all[outline->struct_count] = (lab_cuda_struct){.name = name, .templates = templates, .body = body};
    snprintf(all[outline->struct_count++].scope, LAB_CUDA_SCOPE_BYTES, "%s", declaration->scope);
    return true;
}

/* Reads a struct. Returns the token after its ";", or OUT_OF_MEMORY. */
static int read_class(const declaration_t *declaration, int open, int name)
{
    const lab_tokens *tokens = tokens_of(declaration);
    int end = tokens->items[open].match, next = end + 1;
    if (end < open)
        return open + 1;
    /* `typedef struct {...} Matrix;` has its name at the end. */
    if (lab_token_is(tokens, end + 2, ";") && tokens->items[end + 1].kind == LAB_TOKEN_NAME && name < 0)
        name = end + 1;
    if (name >= 0 && !add_struct(declaration, name, (lab_token_range){open, end}))
        return OUT_OF_MEMORY;
    if (!read_scope(declaration->outline, declaration->scope, true, open + 1, end - 1))
        return OUT_OF_MEMORY;
    while (next < tokens->count && !lab_token_is(tokens, next, ";"))
        next = lab_tokens_step(tokens, next);
    return next + 1;
}

/* Reads a namespace or extern "C" block whose "{" is at `open`. */
static int read_block(const declaration_t *declaration, int name, int open)
{
    const lab_tokens *tokens = tokens_of(declaration);
    char scope[LAB_CUDA_SCOPE_BYTES];
    int end = tokens->items[open].match;
    if (end < open)
        return open + 1;
    if (name < open) /* namespace a::b { */
        snprintf(scope, sizeof scope, "%s%.*s::", declaration->scope,
                 (int)lab_tokens_text(tokens, name, open - 1).length, lab_tokens_text(tokens, name, open - 1).text);
    else
        snprintf(scope, sizeof scope, "%s", declaration->scope);
    return read_scope(declaration->outline, scope, false, open + 1, end - 1) ? end + 1 : OUT_OF_MEMORY;
}

/* Skips any other declaration. */
static int skip_declaration(const lab_tokens *tokens, int i)
{
    for (; i < tokens->count; i = lab_tokens_step(tokens, i))
        if (lab_token_is(tokens, i, ";"))
            return i + 1;
        else if (lab_token_is(tokens, i, "}"))
            return i;
    return i;
}

/* Moves past template<...> lists and remembers the last one that has parameters. Returns the next token. */
static int read_templates(declaration_t *declaration, int i)
{
    const lab_tokens *tokens = tokens_of(declaration);
    while (lab_token_is(tokens, i, "template") && lab_token_is(tokens, i + 1, "<")) {
        int end = lab_outline_angle_end(tokens, i + 1);
        if (end < 0)
            return i + 2;
        declaration->is_template = true;
        declaration->template_tokens = (lab_token_range){i + 2, end - 1};
        i = end + 1;
    }
    return i;
}

/* Reads one declaration. Returns the token after it, or OUT_OF_MEMORY. */
static int read_declaration(declaration_t *declaration, int start)
{
    const lab_tokens *tokens = tokens_of(declaration);
    int name, i = read_templates(declaration, start);
    if (lab_token_is(tokens, i, "inline") && lab_token_is(tokens, i + 1, "namespace"))
        i++;
    if (lab_token_is(tokens, i, "namespace")) {
        int open = i + 1;
        while (tokens->count > open && !lab_token_is(tokens, open, "{") && !lab_token_is(tokens, open, ";"))
            open++;
        return lab_token_is(tokens, open, "{") ? read_block(declaration, i + 1, open) : open + 1;
    }
    if (lab_token_is(tokens, i, "extern") && i + 2 < tokens->count && tokens->items[i + 1].kind == LAB_TOKEN_STRING &&
        lab_token_is(tokens, i + 2, "{"))
        return read_block(declaration, i + 2, i + 2);
    int open = class_body(tokens, i, &name);
    if (open > 0)
        return read_class(declaration, open, name);
    if (lab_token_is(tokens, i, "using") || lab_token_is(tokens, i, "typedef"))
        return skip_declaration(tokens, i);
    int list = parameter_list(tokens, i);
    int end = list > 0 && tokens->items[list].match > list ? body_start(tokens, tokens->items[list].match + 1) : -1;
    return end > 0 ? read_function(declaration, list, end) : skip_declaration(tokens, i);
}

/* Reads all declarations from token `first` to `last`. Returns false if memory is exhausted. */
static bool read_scope(lab_cuda_outline *outline, const char *scope, bool is_class, int first, int last)
{
    for (int i = first; i <= last;) {
        declaration_t declaration = {.outline = outline, .scope = scope, .is_in_class = is_class, .start = i};
        bool is_label = is_class && lab_token_is(&outline->tokens, i + 1, ":");
        int next = i + 1;
        if (!is_label && outline->tokens.items[i].kind != LAB_TOKEN_DIRECTIVE &&
            !lab_token_is(&outline->tokens, i, ";"))
            next = read_declaration(&declaration, i);
        if (next == OUT_OF_MEMORY)
            return false;
        i = next > i ? next : i + 1;
    }
    return true;
}

/* ---- Interface ---- */

bool lab_cuda_outline_read(const char *text, size_t bytes, lab_cuda_outline *outline)
{
    *outline = (lab_cuda_outline){.functions = NULL};
    if (!lab_tokens_read(text, bytes, &outline->tokens))
        return false;
    if (read_scope(outline, "", false, 0, outline->tokens.count - 1) && lab_outline_read_launches(outline))
        return true;
    lab_cuda_outline_free(outline);
    return false;
}

void lab_cuda_outline_free(lab_cuda_outline *outline)
{
    lab_tokens_free(&outline->tokens);
    free(outline->functions);
    free(outline->structs);
    free(outline->launches);
    *outline = (lab_cuda_outline){.functions = NULL};
}

rungi_string_view lab_cuda_name(const lab_cuda_outline *outline, int token)
{
    return token >= 0 && token < outline->tokens.count ? outline->tokens.items[token].text
                                                       : rungi_string_view_of("", 0);
}
