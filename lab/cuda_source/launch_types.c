/* SPDX-License-Identifier: Apache-2.0 */
/* launch_types.c - see launch_types.h. */
#include "cuda_source/launch_types.h"

#include "cuda_source/launch_slice.h"

static const lab_tokens *tokens_of(const lab_call_site *site)
{
    return &site->outline->tokens;
}

static bool is_one_of(const lab_tokens *tokens, int token, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (lab_token_is(tokens, token, words[i]))
            return true;
    return false;
}

bool lab_type_is_decoration(const lab_tokens *tokens, int token)
{
    static const char *const words[] = {"const",      "volatile", "static", "constexpr", "__restrict__",
                                        "__restrict", "restrict", "&",      "*",         "__grid_constant__"};
    return is_one_of(tokens, token, words, sizeof words / sizeof *words);
}

static int count_stars(const lab_tokens *tokens, lab_token_range range)
{
    int count = 0;
    for (int i = range.first; i <= range.last; i++)
        count += lab_token_is(tokens, i, "*") || lab_token_is(tokens, i, "[");
    return count;
}

/* Returns whether a parameter's type is a template parameter, possibly with const and stars: "const T *". */
static bool is_type_called(const lab_tokens *tokens, lab_token_range type, rungi_string_view name)
{
    int found = 0;
    for (int i = type.first; i <= type.last; i++) {
        if (lab_type_is_decoration(tokens, i))
            continue;
        if (!rungi_string_views_equal(tokens->items[i].text, name))
            return false;
        found++;
    }
    return found == 1;
}

/* Returns whether a type has a name of its own: not auto, void, nor nothing at all. */
static bool is_named(const lab_tokens *tokens, lab_token_range type)
{
    int names = 0;
    for (int i = type.first; i <= type.last; i++) {
        if (lab_token_is(tokens, i, "auto") || lab_token_is(tokens, i, "void") || lab_token_is(tokens, i, "decltype"))
            return false;
        names += !lab_type_is_decoration(tokens, i);
    }
    return names > 0;
}

static bool find_struct(const lab_cuda_outline *outline, lab_token_range type, const lab_cuda_struct **found)
{
    for (int i = type.first; i <= type.last; i++)
        for (int s = 0; s < outline->struct_count; s++)
            if (rungi_string_views_equal(lab_cuda_name(outline, outline->structs[s].name),
                                         outline->tokens.items[i].text)) {
                *found = &outline->structs[s];
                return true;
            }
    return false;
}

const lab_cuda_struct *lab_deduced_struct(const lab_cuda_outline *outline, const lab_deduced_type *type)
{
    const lab_cuda_struct *found = NULL;
    return !type->is_expression && find_struct(outline, type->tokens, &found) ? found : NULL;
}

static bool deduce_expression(const lab_call_site *site, lab_token_range expression, int stars, int depth,
                              lab_deduced_type *type);

/* Takes a declared type, if it has at least as many stars as the parameter. */
static bool take_type(const lab_call_site *site, lab_token_range declared, int declared_stars, int stars,
                      lab_deduced_type *type)
{
    type->tokens = declared;
    return declared_stars == stars && is_named(tokens_of(site), declared);
}

/* The type of a variable: a parameter of the calling function, or a declaration before the call. */
static bool deduce_variable(const lab_call_site *site, int variable, int stars, int depth, lab_deduced_type *type)
{
    static lab_launch_slice slice; /* large; the program is written by one thread */
    const lab_tokens *tokens = tokens_of(site);
    const lab_cuda_function *caller = &site->outline->functions[site->function];
    rungi_string_view name = tokens->items[variable].text;
    lab_cuda_launch place = {.function = site->function, .at = site->at};
    lab_launch_slice_begin(&slice, site->outline, &place);
    lab_launch_slice_need(&slice, (lab_token_range){variable, variable});
    lab_launch_slice_find(&slice);
    for (int i = slice.count - 1; i >= 0; i--) {
        const lab_slice_statement *statement = &slice.statements[i];
        bool is_declaration = statement->type.last >= statement->type.first;
        if (!is_declaration || !rungi_string_views_equal(tokens->items[statement->name].text, name))
            continue;
        int own_stars = count_stars(tokens, statement->type) +
                        count_stars(tokens, (lab_token_range){statement->rest.first, statement->name - 1}) +
                        lab_token_is(tokens, statement->name + 1, "[");
        if (take_type(site, statement->type, own_stars, stars, type))
            return true;
        bool is_auto = lab_token_is(tokens, statement->type.last, "auto") &&
                       lab_token_is(tokens, statement->name + 1, "=");
        return is_auto && deduce_expression(site, (lab_token_range){statement->name + 2, statement->rest.last}, stars,
                                            depth + 1, type);
    }
    for (int i = 0; i < caller->parameter_count; i++)
        if (rungi_string_views_equal(lab_cuda_name(site->outline, caller->parameters[i].name), name))
            return take_type(site, caller->parameters[i].type, count_stars(tokens, caller->parameters[i].type), stars,
                             type);
    return false;
}

/* A constructor call: Add{}, Scale<float>(2), float(1). */
static bool deduce_constructor(const lab_call_site *site, lab_token_range expression, lab_deduced_type *type)
{
    static const char *const numbers[] = {"float", "double", "int", "half", "__half"};
    const lab_tokens *tokens = tokens_of(site);
    int open = tokens->items[expression.last].match;
    bool is_call = open > expression.first && (lab_token_is(tokens, open, "{") || lab_token_is(tokens, open, "("));
    lab_token_range name = {expression.first, open - 1};
    const lab_cuda_struct *found;
    if (!is_call || tokens->items[expression.first].kind != LAB_TOKEN_NAME)
        return false;
    type->tokens = name;
    return find_struct(site->outline, name, &found) ||
           (name.first == name.last && is_one_of(tokens, name.first, numbers, sizeof numbers / sizeof *numbers));
}

static bool deduce_expression(const lab_call_site *site, lab_token_range expression, int stars, int depth,
                              lab_deduced_type *type)
{
    enum { DEPTH_MAX = 4 };
    const lab_tokens *tokens = tokens_of(site);
    int first = expression.first, last = expression.last;
    if (last < first || depth > DEPTH_MAX)
        return false;
    if (lab_token_is(tokens, first, "[")) {
        type->is_lambda = true;
        return false;
    }
    if (lab_token_is(tokens, first, "(") && tokens->items[first].match < last) { /* (const half *)a */
        lab_token_range cast = {first + 1, tokens->items[first].match - 1};
        return take_type(site, cast, count_stars(tokens, cast), stars, type);
    }
    if (lab_token_is(tokens, first, "reinterpret_cast") || lab_token_is(tokens, first, "static_cast")) {
        lab_token_range cast = {first + 2, lab_outline_angle_end(tokens, first + 1) - 1};
        return take_type(site, cast, count_stars(tokens, cast), stars, type);
    }
    bool is_sum = stars > 0 && lab_token_is(tokens, first + 1, "+");
    if (tokens->items[first].kind == LAB_TOKEN_NAME && (first == last || is_sum))
        return deduce_variable(site, first, stars, depth, type);
    if (stars > 0)
        return false;
    if (tokens->items[first].kind == LAB_TOKEN_NUMBER && first == last) {
        type->tokens = expression;
        type->is_expression = true;
        return true;
    }
    return deduce_constructor(site, expression, type);
}

/* Splits the arguments of a type such as Matrix<T, 4>. Returns their number. */
static int type_arguments(const lab_tokens *tokens, lab_token_range type, lab_token_range *parts)
{
    int open = type.first;
    while (open <= type.last && !lab_token_is(tokens, open, "<"))
        open++;
    int close = open <= type.last ? lab_outline_angle_end(tokens, open) : -1;
    return close > 0 ? lab_cuda_split(tokens, (lab_token_range){open + 1, close - 1}, parts, LAB_CUDA_PARAMETERS_MAX)
                     : 0;
}

/* Finds the type if the parameter is a class with the template parameter among its arguments: Matrix<T>. */
static bool deduce_inside(const lab_call_site *site, int parameter, rungi_string_view name, lab_deduced_type *type)
{
    const lab_tokens *tokens = tokens_of(site);
    lab_token_range declared = site->callee->parameters[parameter].type;
    lab_token_range wanted[LAB_CUDA_PARAMETERS_MAX], given[LAB_CUDA_PARAMETERS_MAX];
    int count = type_arguments(tokens, declared, wanted), index = 0;
    while (index < count && !is_type_called(tokens, wanted[index], name))
        index++;
    if (index == count || !deduce_expression(site, site->arguments[parameter], 0, 0, type) || type->is_expression ||
        type_arguments(tokens, type->tokens, given) <= index)
        return false;
    type->parameter = parameter;
    type->tokens = given[index];
    return is_named(tokens, given[index]);
}

bool lab_deduce_type(const lab_call_site *site, rungi_string_view name, lab_deduced_type *type)
{
    const lab_tokens *tokens = tokens_of(site);
    *type = (lab_deduced_type){.parameter = -1};
    for (int i = 0; i < site->callee->parameter_count && i < site->argument_count; i++) {
        lab_token_range parameter = site->callee->parameters[i].type;
        if (deduce_inside(site, i, name, type))
            return true;
        if (!is_type_called(tokens, parameter, name))
            continue;
        type->parameter = i;
        if (deduce_expression(site, site->arguments[i], count_stars(tokens, parameter), 0, type))
            return true;
    }
    return false;
}
