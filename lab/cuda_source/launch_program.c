/* SPDX-License-Identifier: Apache-2.0 */
/* launch_program.c - see launch_program.h. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "cuda_source/launch_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_source/launch_host.h"
#include "cuda_source/launch_slice.h"
#include "cuda_source/launch_types.h"

/* A program that is being written. */
typedef struct program_writer {
    const lab_cuda_outline *outline;
    const lab_launch_source *source;
    const lab_cuda_function *kernel;
    lab_launch_slice constants; /* what the template arguments depend on */
    lab_launch_slice values;    /* what grid, block, shared memory and arguments depend on */
    FILE *out;
    const char *name;                                            /* of the kernel, with template arguments */
    rungi_string_view declared[2 * LAB_CUDA_PARAMETERS_MAX + 8]; /* local variables so far */
    int declared_count;
    lab_host_values host;
    lab_tokens given; /* template arguments of source->templates */
    lab_token_range given_parts[LAB_CUDA_PARAMETERS_MAX];
    int given_count;
    lab_launch_program *program;
} program_writer_t;

static rungi_string_view range_text(const program_writer_t *writer, lab_token_range range)
{
    return lab_tokens_text(&writer->outline->tokens, range.first, range.last);
}

static void put(const program_writer_t *writer, rungi_string_view text)
{
    fwrite(text.text, 1, text.length, writer->out);
}

/* Returns the only name that an argument consists of; its length is 0 for other arguments. */
static rungi_string_view bare_name(const program_writer_t *writer, int argument)
{
    const lab_cuda_launch *launch = writer->source->launch;
    if (!launch || argument >= launch->argument_count)
        return rungi_string_view_of("", 0);
    lab_token_range range = launch->arguments[argument];
    bool is_name = range.first == range.last && writer->outline->tokens.items[range.first].kind == LAB_TOKEN_NAME;
    return is_name ? range_text(writer, range) : rungi_string_view_of("", 0);
}

/* ---- What the launch depends on ---- */

static bool is_template_parameter(const program_writer_t *writer, rungi_string_view name)
{
    for (int i = 0; i < writer->kernel->template_count; i++)
        if (rungi_string_views_equal(lab_cuda_name(writer->outline, writer->kernel->template_parameters[i].name), name))
            return true;
    return false;
}

static bool is_launcher_template(const program_writer_t *writer, rungi_string_view name);

/* Returns the value of a host variable that is a size of the problem, though not an argument of the kernel; -1 for other
 * names. */
static int host_size(const program_writer_t *writer, rungi_string_view name)
{
    const lab_launch_source *source = writer->source;
    bool may_be_size = source->find_size && source->launch && !is_launcher_template(writer, name);
    return may_be_size ? source->find_size(source->user, name) : -1;
}

/* Does not follow host variables that are sizes. */
static void free_sizes(program_writer_t *writer)
{
    const lab_tokens *tokens = &writer->outline->tokens;
    lab_token_range body = writer->outline->functions[writer->source->launch->function].whole;
    for (int i = body.first; i <= body.last; i++)
        if (tokens->items[i].kind == LAB_TOKEN_NAME && host_size(writer, tokens->items[i].text) >= 0)
            lab_launch_slice_free(&writer->values, tokens->items[i].text);
}

/* Returns whether the type of a kernel's parameter is a parameter of its template, and which one: -1 otherwise. */
static int template_of_parameter(const program_writer_t *writer, int parameter)
{
    lab_token_range type = writer->kernel->parameters[parameter].type;
    int found = -1;
    for (int t = type.first; t <= type.last; t++)
        for (int i = 0; i < writer->kernel->template_count; i++)
            if (rungi_string_views_equal(lab_cuda_name(writer->outline, writer->kernel->template_parameters[i].name),
                                         writer->outline->tokens.items[t].text))
                found = i;
            else if (lab_token_is(&writer->outline->tokens, t, "*") || lab_token_is(&writer->outline->tokens, t, "<"))
                return -1;
    return found;
}

static lab_call_site launch_site(const program_writer_t *writer)
{
    const lab_cuda_launch *launch = writer->source->launch;
    return (lab_call_site){.outline = writer->outline,
                           .callee = writer->kernel,
                           .arguments = launch->arguments,
                           .argument_count = launch->argument_count,
                           .function = launch->function,
                           .at = launch->at};
}

static bool has_name(const lab_tokens *tokens, lab_token_range range, rungi_string_view name)
{
    for (int i = range.first; i <= range.last; i++)
        if (rungi_string_views_equal(tokens->items[i].text, name))
            return true;
    return false;
}

/* Returns the struct that the launch passes for a parameter whose type is a template parameter, such as a functor; NULL for
 * other parameters. */
static const lab_cuda_struct *passed_struct(const program_writer_t *writer, int parameter)
{
    const lab_cuda_launch *launch = writer->source->launch;
    int index = template_of_parameter(writer, parameter);
    lab_token_range parts[LAB_CUDA_PARAMETERS_MAX];
    lab_deduced_type type;
    if (index < 0 || parameter >= launch->argument_count)
        return NULL;
    int count = launch->has_templates
                    ? lab_cuda_split(&writer->outline->tokens, launch->templates, parts, LAB_CUDA_PARAMETERS_MAX)
                    : 0;
    for (int i = 0; i < writer->outline->struct_count; i++) {
        const lab_cuda_struct *found = &writer->outline->structs[i];
        rungi_string_view name = lab_cuda_name(writer->outline, found->name);
        bool is_given = index < writer->given_count && has_name(&writer->given, writer->given_parts[index], name);
        if (is_given || (index < count && has_name(&writer->outline->tokens, parts[index], name)))
            return found;
    }
    lab_call_site site = launch_site(writer);
    rungi_string_view name = lab_cuda_name(writer->outline, writer->kernel->template_parameters[index].name);
    return index >= count && !writer->source->templates && lab_deduce_type(&site, name, &type)
               ? lab_deduced_struct(writer->outline, &type)
               : NULL;
}

/* Returns whether the host code sets the values of a parameter that is a struct. */
static bool is_copied(const program_writer_t *writer, int parameter)
{
    lab_cuda_field fields[LAB_CUDA_FIELDS_MAX];
    if (parameter >= writer->source->launch->argument_count)
        return false;
    if (writer->source->is_copied[parameter])
        return true;
    const lab_cuda_struct *type = passed_struct(writer, parameter);
    return type && lab_cuda_struct_fields(writer->outline, type, fields) > 0;
}

/* Adds what the bodies of member functions need that the values call, such as grid(). */
static void need_methods(program_writer_t *writer)
{
    const lab_cuda_outline *outline = writer->outline;
    const lab_cuda_function *launcher = &outline->functions[writer->source->launch->function];
    const lab_cuda_struct *type = lab_cuda_class_of(outline, launcher);
    for (int i = 0; type && i < outline->function_count; i++) {
        const lab_cuda_function *method = &outline->functions[i];
        if (lab_cuda_class_of(outline, method) == type && method != launcher &&
            lab_launch_slice_needs(&writer->values, lab_cuda_name(outline, method->name)))
            lab_launch_slice_need(&writer->values, method->body);
    }
}

/* Writes the member functions that the values call, as lambdas of the same names. */
static void write_methods(const program_writer_t *writer)
{
    const lab_cuda_outline *outline = writer->outline;
    const lab_cuda_function *launcher = &outline->functions[writer->source->launch->function];
    const lab_cuda_struct *type = lab_cuda_class_of(outline, launcher);
    for (int i = 0; type && i < outline->function_count; i++) {
        const lab_cuda_function *method = &outline->functions[i];
        rungi_string_view name = lab_cuda_name(outline, method->name);
        if (lab_cuda_class_of(outline, method) != type || method == launcher ||
            method->body.last <= method->body.first || !lab_launch_slice_needs(&writer->values, name))
            continue;
        fprintf(writer->out, "const auto %.*s = [&]", (int)name.length, name.text);
        put(writer,
            range_text(writer, (lab_token_range){method->name + 1, outline->tokens.items[method->name + 1].match}));
        put(writer, range_text(writer, method->body));
        fputs(";\n", writer->out);
    }
}

static void find_slices(program_writer_t *writer)
{
    const lab_launch_source *source = writer->source;
    const lab_cuda_launch *launch = source->launch;
    lab_launch_slice_begin(&writer->constants, writer->outline, launch);
    lab_launch_slice_begin(&writer->values, writer->outline, launch);
    if (!launch)
        return;
    if (!source->templates && launch->has_templates)
        lab_launch_slice_need(&writer->constants, launch->templates);
    lab_launch_slice_find(&writer->constants);
    for (int i = 0; i < writer->kernel->parameter_count; i++) {
        rungi_string_view name = bare_name(writer, i);
        if (is_copied(writer, i)) {
            lab_launch_slice_need(&writer->values, launch->arguments[i]);
            writer->program->is_copied[i] = true;
            continue;
        }
        if (lab_cuda_parameter_struct(writer->outline, &writer->kernel->parameters[i])) {
            lab_launch_slice_free(&writer->values, name);
            lab_launch_slice_free(&writer->values, lab_cuda_name(writer->outline, writer->kernel->parameters[i].name));
            continue;
        }
        bool is_integer = lab_cuda_looks_integer(&writer->outline->tokens, writer->kernel->parameters[i].type);
        if (source->is_given[i] && name.length > 0)
            lab_launch_slice_free(&writer->values, name);
        else if (!source->is_given[i] && is_integer && i < launch->argument_count) {
            lab_launch_slice_need(&writer->values, launch->arguments[i]);
            writer->program->is_evaluated[i] = true;
        }
    }
    free_sizes(writer);
    if (!source->grid)
        lab_launch_slice_need(&writer->values, launch->grid);
    if (!source->block)
        lab_launch_slice_need(&writer->values, launch->block);
    if (!source->shared)
        lab_launch_slice_need(&writer->values, launch->shared);
    lab_launch_slice_find(&writer->values);
    need_methods(writer);
    lab_launch_slice_find(&writer->values);
    writer->host.outline = writer->outline;
    writer->host.source = source;
    lab_host_values_find(&writer->host, &writer->values);
    snprintf(writer->program->unknown, sizeof writer->program->unknown, "%s", writer->host.unknown);
}

/* Writes the statements before the launch, each with the values that its variable has for the problem. */
static void write_statements(const program_writer_t *writer)
{
    const lab_launch_slice *slice = &writer->values;
    if (writer->source->launch)
        lab_host_values_write_parameters(&writer->host, slice, writer->out);
    for (int i = 0; i < slice->count; i++) {
        if (i == slice->member_count && writer->source->launch)
            write_methods(writer);
        rungi_string_view name = writer->outline->tokens.items[slice->statements[i].name].text;
        bool is_constant = lab_launch_slice_write_statement(slice, i, writer->out);
        if (!is_constant)
            lab_host_values_write(&writer->host, name, slice->statements[i].type.last >= 0, writer->out);
    }
    if (slice->count == slice->member_count && writer->source->launch)
        write_methods(writer);
}

/* ---- Host functions ---- */

/* Writes a host function as a device function. `__device__` follows the template's parameters. */
static void write_function(const program_writer_t *writer, const lab_cuda_function *function)
{
    const lab_tokens *tokens = &writer->outline->tokens;
    int first = function->whole.first;
    if (function->template_count >= 0) {
        int last = function->template_count > 0 ? function->template_parameters[function->template_count - 1].type.last
                                                : first;
        while (last < function->name && !lab_token_is(tokens, last, ">"))
            last++;
        put(writer, lab_tokens_text(tokens, first, last));
        first = last + 1;
    }
    while (lab_token_is(tokens, first, "static") || lab_token_is(tokens, first, "__host__"))
        first++;
    fputs(" static __device__ ", writer->out);
    put(writer, lab_tokens_text(tokens, first, function->whole.last));
    fputc('\n', writer->out);
}

/* Writes the host functions that the values need, and the functions that these need, in the order of the file. */
static void write_functions(program_writer_t *writer)
{
    lab_launch_slice *slice = &writer->values;
    bool *is_written = calloc((size_t)writer->outline->function_count + 1, sizeof *is_written);
    for (bool changed = is_written != NULL; changed;) {
        changed = false;
        for (int i = 0; i < writer->outline->function_count; i++) {
            const lab_cuda_function *function = &writer->outline->functions[i];
            bool has_body = function->body.last > function->body.first;
            if (is_written[i] || function->kind != LAB_FUNCTION_HOST || function->is_member || !has_body ||
                i == slice->launch->function ||
                !lab_launch_slice_needs(slice, lab_cuda_name(writer->outline, function->name)))
                continue;
            lab_launch_slice_need(slice, function->body);
            is_written[i] = changed = true;
        }
    }
    for (int i = 0; is_written && i < writer->outline->function_count; i++)
        if (is_written[i])
            write_function(writer, &writer->outline->functions[i]);
    free(is_written);
}

/* ---- Templates of the launching function ---- */

/* Returns the arguments of a call such as run<64, 8>(...) of a template; empty if the file has none. */
static lab_token_range find_template_call(const program_writer_t *writer, const lab_cuda_function *function)
{
    const lab_tokens *tokens = &writer->outline->tokens;
    rungi_string_view name = lab_cuda_name(writer->outline, function->name);
    for (int i = 0; i + 2 < tokens->count; i++) {
        if (!rungi_string_views_equal(tokens->items[i].text, name) || !lab_token_is(tokens, i + 1, "<"))
            continue;
        int close = lab_outline_angle_end(tokens, i + 1);
        if (close >= 0)
            return (lab_token_range){i + 2, close - 1};
    }
    return (lab_token_range){0, -1};
}

/* Returns whether a token is a parameter of the template of a class. */
static bool is_class_template(const program_writer_t *writer, const lab_cuda_struct *type, int token)
{
    lab_cuda_parameter parameters[LAB_CUDA_PARAMETERS_MAX];
    int count = lab_outline_parameters(&writer->outline->tokens, type->templates, parameters);
    for (int i = 0; i < count; i++)
        if (rungi_string_views_equal(lab_cuda_name(writer->outline, parameters[i].name),
                                     writer->outline->tokens.items[token].text))
            return true;
    return false;
}

static bool is_type_parameter(const program_writer_t *writer, const lab_cuda_parameter *parameter)
{
    return lab_token_is(&writer->outline->tokens, parameter->type.first, "typename") ||
           lab_token_is(&writer->outline->tokens, parameter->type.first, "class");
}

/* Writes one parameter of a template as a constant or a type. */
static void write_binding(const program_writer_t *writer, const lab_cuda_parameter *parameter, rungi_string_view value)
{
    rungi_string_view name = lab_cuda_name(writer->outline, parameter->name);
    rungi_string_view type = range_text(writer, parameter->type);
    if (name.length == 0 || value.length == 0)
        return;
    if (is_type_parameter(writer, parameter))
        fprintf(writer->out, "using %.*s = %.*s;\n", (int)name.length, name.text, (int)value.length, value.text);
    else
        fprintf(writer->out, "constexpr %.*s %.*s = %.*s;\n", (int)type.length, type.text, (int)name.length, name.text,
                (int)value.length, value.text);
}

static void read_given_templates(program_writer_t *writer)
{
    const char *text = writer->source->templates ? writer->source->templates : "";
    if (lab_tokens_read(text, strlen(text), &writer->given))
        writer->given_count = lab_cuda_split(&writer->given, (lab_token_range){0, writer->given.count - 1},
                                             writer->given_parts, LAB_CUDA_PARAMETERS_MAX);
}

/* Returns an argument of source->templates; its length is 0 if the list is shorter. */
static rungi_string_view given_template(const program_writer_t *writer, int index)
{
    if (index >= writer->given_count)
        return rungi_string_view_of("", 0);
    return lab_tokens_text(&writer->given, writer->given_parts[index].first, writer->given_parts[index].last);
}

/* Returns the argument of source->templates in the place where the launch has this name: with gemm<T, 16><<<...>>> the
 * first is T. */
static rungi_string_view given_for_name(const program_writer_t *writer, rungi_string_view name)
{
    const lab_tokens *tokens = &writer->outline->tokens;
    lab_token_range parts[LAB_CUDA_PARAMETERS_MAX];
    int count = lab_cuda_split(tokens, writer->source->launch->templates, parts, LAB_CUDA_PARAMETERS_MAX);
    for (int i = 0; i < count; i++)
        if (parts[i].first == parts[i].last && rungi_string_views_equal(tokens->items[parts[i].first].text, name))
            return given_template(writer, i);
    for (int i = 0; i < writer->kernel->template_count && count == 0; i++) /* deduced: gemm<<<...>>> */
        if (rungi_string_views_equal(lab_cuda_name(writer->outline, writer->kernel->template_parameters[i].name), name))
            return given_template(writer, i);
    return rungi_string_view_of("", 0);
}

/* Returns the type of a parameter that the file leaves open; most kernels multiply floats. The result says so. */
static rungi_string_view assume_type(const program_writer_t *writer, rungi_string_view name)
{
    char *text = writer->program->assumed;
    size_t length = strlen(text), room = sizeof writer->program->assumed - length;
    char added[128];
    snprintf(added, sizeof added, "%.*s = float", (int)name.length, name.text);
    const char *same = strstr(text, added); /* the launching function and the kernel often use the same name */
    if (!same || (same > text && same[-1] != ' '))
        snprintf(text + length, room, "%s%s", length > 0 ? ", " : "", added);
    return rungi_string_view_of("float", 5);
}

/* Writes a type that follows from an argument. With `is_outside`, template parameters of the launching function are
 * qualified. */
static void write_deduced(const program_writer_t *writer, const lab_deduced_type *type, bool is_outside, FILE *out)
{
    const lab_tokens *tokens = &writer->outline->tokens;
    fputs(type->is_expression ? "decltype(" : "", out);
    for (int i = type->tokens.first, count = 0; i <= type->tokens.last; i++) {
        rungi_string_view text = tokens->items[i].text;
        if (!type->is_expression && lab_type_is_decoration(tokens, i))
            continue;
        fprintf(out, "%s%s%.*s", count++ > 0 ? " " : "",
                is_outside && is_launcher_template(writer, text) ? "rung_host::" : "", (int)text.length, text.text);
    }
    fputs(type->is_expression ? ")" : "", out);
}

/* Finds the arguments of the call of the launching function that reaches the launch, or of its first call. */
static bool find_launcher_call(const program_writer_t *writer, lab_call_site *site,
                               lab_token_range arguments[LAB_CUDA_PARAMETERS_MAX])
{
    const lab_cuda_outline *outline = writer->outline;
    const lab_cuda_launch *launch = writer->source->launch;
    const lab_cuda_function *function = &outline->functions[launch->function];
    rungi_string_view name = lab_cuda_name(outline, function->name);
    for (int f = 0; f < outline->function_count; f++)
        for (int i = outline->functions[f].body.first; i < outline->functions[f].body.last; i++) {
            int open = rungi_string_views_equal(outline->tokens.items[i].text, name)
                           ? lab_outline_call(&outline->tokens, i)
                           : -1;
            if (open < 0 || f == launch->function || (launch->call > 0 && open != launch->call))
                continue;
            lab_token_range list = {open + 1, outline->tokens.items[open].match - 1};
            int count = lab_cuda_split(&outline->tokens, list, arguments, LAB_CUDA_PARAMETERS_MAX);
            *site = (lab_call_site){outline, function, arguments, count, f, i};
            return true;
        }
    return false;
}

/* Returns whether an argument of the call is the kernel itself, whose type is not needed. */
static bool is_kernel_argument(const program_writer_t *writer, const lab_call_site *site, int argument)
{
    rungi_string_view kernel = lab_cuda_name(writer->outline, writer->kernel->name);
    return argument >= 0 && writer->source->launch->call > 0 &&
           has_name(&writer->outline->tokens, site->arguments[argument], kernel);
}

/* Writes the binding of a type parameter that follows from the arguments of the call of the launching function. Returns
 * false if they do not tell it. */
static bool write_called_type(const program_writer_t *writer, rungi_string_view name)
{
    lab_token_range arguments[LAB_CUDA_PARAMETERS_MAX];
    lab_call_site site;
    lab_deduced_type type;
    if (!find_launcher_call(writer, &site, arguments))
        return false;
    bool is_known = lab_deduce_type(&site, name, &type);
    if (is_known) {
        fprintf(writer->out, "using %.*s = ", (int)name.length, name.text);
        write_deduced(writer, &type, false, writer->out);
        fputs(";\n", writer->out);
    }
    return is_known || is_kernel_argument(writer, &site, type.parameter);
}

/* Returns the arguments of the class whose member launches the kernel, from the first use such as Gemm<16> that names other
 * values than the class's own parameters; empty if the file has none. */
static lab_token_range find_class_arguments(const program_writer_t *writer, const lab_cuda_struct *type)
{
    const lab_tokens *tokens = &writer->outline->tokens;
    for (int i = type->body.last; i + 2 < tokens->count; i++) {
        int close = rungi_string_views_equal(tokens->items[i].text, lab_cuda_name(writer->outline, type->name)) &&
                            lab_token_is(tokens, i + 1, "<")
                        ? lab_outline_angle_end(tokens, i + 1)
                        : -1;
        lab_token_range range = {i + 2, close - 1};
        bool is_own = false;
        for (int t = range.first; t <= range.last; t++)
            is_own = is_own || (tokens->items[t].kind == LAB_TOKEN_NAME && is_class_template(writer, type, t));
        if (close > 0 && !is_own)
            return range;
    }
    return (lab_token_range){0, -1};
}

/* Binds the template parameters of the class whose member launches the kernel. */
static void write_class_templates(const program_writer_t *writer, const lab_cuda_struct *type)
{
    lab_cuda_parameter parameters[LAB_CUDA_PARAMETERS_MAX];
    lab_token_range values[LAB_CUDA_PARAMETERS_MAX];
    int count = lab_outline_parameters(&writer->outline->tokens, type->templates, parameters);
    int value_count = lab_cuda_split(&writer->outline->tokens, find_class_arguments(writer, type), values,
                                     LAB_CUDA_PARAMETERS_MAX);
    for (int i = 0; i < count; i++) {
        rungi_string_view value = range_text(writer, i < value_count ? values[i] : parameters[i].preset);
        if (value.length == 0 && is_type_parameter(writer, &parameters[i]))
            value = assume_type(writer, lab_cuda_name(writer->outline, parameters[i].name));
        write_binding(writer, &parameters[i], value);
    }
}

/* Binds the template parameters of the function that launches the kernel: to the arguments that the user gives, or to
 * those of the function's first call. */
static void write_launcher_templates(const program_writer_t *writer)
{
    const lab_cuda_launch *launch = writer->source->launch;
    const lab_cuda_function *function = launch ? &writer->outline->functions[launch->function] : NULL;
    lab_token_range values[LAB_CUDA_PARAMETERS_MAX];
    const lab_cuda_struct *type = function ? lab_cuda_class_of(writer->outline, function) : NULL;
    bool has_class = type && type->templates.last >= type->templates.first;
    if (has_class)
        write_class_templates(writer, type);
    bool is_outside = has_class && !function->is_member; /* template <int BS> void Gemm<BS>::run() */
    if (!function || function->template_count <= 0 || is_outside)
        return;
    int count = lab_cuda_split(&writer->outline->tokens, find_template_call(writer, function), values,
                               LAB_CUDA_PARAMETERS_MAX);
    for (int i = 0; i < function->template_count; i++) {
        const lab_cuda_parameter *parameter = &function->template_parameters[i];
        rungi_string_view name = lab_cuda_name(writer->outline, parameter->name);
        rungi_string_view value = given_for_name(writer, name);
        if (value.length == 0)
            value = range_text(writer, i < count ? values[i] : parameter->preset);
        if (value.length == 0 && is_type_parameter(writer, parameter)) {
            if (write_called_type(writer, name))
                continue;
            value = assume_type(writer, name);
        }
        write_binding(writer, parameter, value);
    }
}

static bool is_launcher_template(const program_writer_t *writer, rungi_string_view name)
{
    const lab_cuda_launch *launch = writer->source->launch;
    const lab_cuda_function *function = launch ? &writer->outline->functions[launch->function] : NULL;
    const lab_cuda_struct *type = function ? lab_cuda_class_of(writer->outline, function) : NULL;
    lab_cuda_parameter parameters[LAB_CUDA_PARAMETERS_MAX];
    int count = type ? lab_outline_parameters(&writer->outline->tokens, type->templates, parameters) : 0;
    for (int i = 0; function && i < function->template_count; i++)
        if (rungi_string_views_equal(lab_cuda_name(writer->outline, function->template_parameters[i].name), name))
            return true;
    for (int i = 0; i < count; i++)
        if (rungi_string_views_equal(lab_cuda_name(writer->outline, parameters[i].name), name))
            return true;
    return false;
}

/* ---- The kernel's name ---- */

/* Writes template arguments of the launch, with the names of constants qualified. */
static void write_template_arguments(const program_writer_t *writer, FILE *out)
{
    const lab_tokens *tokens = &writer->outline->tokens;
    lab_token_range range = writer->source->launch->templates;
    for (int i = range.first; i <= range.last; i++) {
        rungi_string_view text = tokens->items[i].text;
        bool is_local = tokens->items[i].kind == LAB_TOKEN_NAME && !lab_token_is(tokens, i - 1, "::") &&
                        (lab_launch_slice_defines(&writer->constants, text) || is_launcher_template(writer, text));
        fprintf(out, "%s%.*s%s", is_local ? "rung_host::" : "", (int)text.length, text.text, i < range.last ? " " : "");
    }
}

/* Writes arguments for the type parameters from `first` on that have no default. A launch such as gemm<<<...>>>(a, b, c)
 * leaves them to the compiler, which deduces them from the types of a, b and c. */
static void write_deduced_types(const program_writer_t *writer, int first, FILE *out)
{
    for (int i = first; i < writer->kernel->template_count; i++) {
        const lab_cuda_parameter *parameter = &writer->kernel->template_parameters[i];
        if (parameter->preset.last >= parameter->preset.first || !is_type_parameter(writer, parameter))
            return;
        rungi_string_view name = lab_cuda_name(writer->outline, parameter->name);
        lab_deduced_type deduced;
        fputs(i > 0 ? ", " : "", out);
        lab_call_site site = writer->source->launch ? launch_site(writer) : (lab_call_site){.outline = NULL};
        if (site.outline && lab_deduce_type(&site, name, &deduced)) {
            write_deduced(writer, &deduced, true, out);
            continue;
        }
        rungi_string_view type = assume_type(writer, name);
        fprintf(out, "%.*s", (int)type.length, type.text);
    }
}

static char *write_name(const program_writer_t *writer)
{
    const lab_cuda_launch *launch = writer->source->launch;
    bool has_templates = launch && launch->has_templates;
    lab_token_range parts[LAB_CUDA_PARAMETERS_MAX];
    char *name = NULL;
    size_t bytes;
    FILE *out = open_memstream(&name, &bytes);
    rungi_string_view plain = lab_cuda_name(writer->outline, writer->kernel->name);
    if (!out)
        return NULL;
    fprintf(out, "%s%.*s", writer->kernel->scope, (int)plain.length, plain.text);
    if (writer->source->templates && *writer->source->templates)
        fprintf(out, "<%s>", writer->source->templates);
    else if (writer->kernel->template_count > 0 || (writer->kernel->template_count == 0 && has_templates)) {
        int count = has_templates
                        ? lab_cuda_split(&writer->outline->tokens, launch->templates, parts, LAB_CUDA_PARAMETERS_MAX)
                        : 0;
        fputc('<', out);
        if (has_templates)
            write_template_arguments(writer, out);
        write_deduced_types(writer, count, out);
        fputc('>', out);
    }
    if (fclose(out) == 0)
        return name;
    free(name);
    return NULL;
}

/* ---- Signature ---- */

static const char signature_helpers[] =
    "template <class rung_T> __device__ const char *rung_type_name() { return __PRETTY_FUNCTION__; }\n"
    "__device__ inline void rung_put(const char *from, char *&to) { while (*from) *to++ = *from++; *to++ = '\\n'; }\n"
    "__device__ inline void rung_put_field(const char *name, unsigned long long offset, const char *type, char *&to) {\n"
    "  char digits[24]; int count = 0;\n"
    "  while (*name) *to++ = *name++;\n"
    "  *to++ = ' ';\n"
    "  do { digits[count++] = (char)('0' + offset % 10); offset /= 10; } while (offset);\n"
    "  while (count > 0) *to++ = digits[--count];\n"
    "  *to++ = ' '; rung_put(type, to);\n"
    "}\n"
    "template <class rung_T> __device__ void rung_copy(long long *to, const rung_T &value) {\n"
    "  static_assert(sizeof(rung_T) <= 64, \"a struct that the launch passes has more than 64 bytes\");\n"
    "  for (unsigned i = 0; i < sizeof(rung_T); i++) ((char *)to)[i] = ((const char *)&value)[i];\n"
    "}\n"
    "template <int rung_I, class rung_F> struct rung_parameter;\n"
    "template <class rung_P, class... rung_R> struct rung_parameter<0, void(rung_P, rung_R...)> { typedef rung_P type; };\n"
    "template <int rung_I, class rung_P, class... rung_R> struct rung_parameter<rung_I, void(rung_P, rung_R...)> : rung_parameter<rung_I - 1, void(rung_R...)> {};\n"
    "template <class rung_F> struct rung_signature;\n"
    "template <class... rung_Ps> struct rung_signature<void(rung_Ps...)> {\n"
    "  static __device__ void write(char *&to) { int done[] = {0, (rung_put(rung_type_name<rung_Ps>(), to), 0)...}; (void)done; }\n"
    "};\n";

/* Writes a line for each field of a struct: "parameter.field offset type". The compiler knows the struct's type, which may
 * depend on template arguments. */
static void write_fields(const program_writer_t *writer, int parameter, const lab_cuda_struct *type, const char *name)
{
    lab_cuda_field fields[LAB_CUDA_FIELDS_MAX];
    int count = lab_cuda_struct_fields(writer->outline, type, fields);
    fprintf(writer->out, "typedef rung_host::rung_parameter<%d, decltype(%s)>::type rung_type%d;\n", parameter, name,
            parameter);
    for (int i = 0; i < count; i++) {
        rungi_string_view field = lab_cuda_name(writer->outline, fields[i].name);
        fprintf(writer->out,
                "rung_host::rung_put_field(\"%d.%.*s\", (unsigned long long)&((rung_type%d *)0)->%.*s, "
                "rung_host::rung_type_name<decltype(rung_type%d::%.*s)>(), text);\n",
                parameter, (int)field.length, field.text, parameter, (int)field.length, field.text, parameter,
                (int)field.length, field.text);
    }
}

static void write_signature(const program_writer_t *writer, const char *name)
{
    fprintf(writer->out,
            "extern \"C\" __global__ void rung_write_signature(char *text) {\n"
            "rung_host::rung_signature<decltype(%s)>::write(text);\n",
            name);
    for (int i = 0; i < writer->kernel->parameter_count; i++) {
        const lab_cuda_struct *type = lab_cuda_parameter_struct(writer->outline, &writer->kernel->parameters[i]);
        if (type)
            write_fields(writer, i, type, name);
    }
    fputs("*text = 0;\n}\n", writer->out);
}

/* ---- Values ---- */

static bool is_declared(const program_writer_t *writer, rungi_string_view name)
{
    for (int i = 0; i < writer->declared_count; i++)
        if (rungi_string_views_equal(writer->declared[i], name))
            return true;
    return false;
}

static void undefine(const program_writer_t *writer, rungi_string_view name)
{
    fprintf(writer->out, "#undef %.*s\n", (int)name.length, name.text);
}

/* Removes macros that have the name of a variable, as `#define N 1024` does. */
static void undefine_names(const program_writer_t *writer)
{
    for (int i = 0; i < writer->kernel->parameter_count; i++)
        if (writer->source->is_given[i] && bare_name(writer, i).length > 0)
            undefine(writer, bare_name(writer, i));
}

static void declare(program_writer_t *writer, rungi_string_view type, rungi_string_view name, int value)
{
    if (name.length == 0 || is_declared(writer, name) || is_template_parameter(writer, name))
        return;
    writer->declared[writer->declared_count++] = name;
    fprintf(writer->out, "const %.*s %.*s = (%.*s)values[%d];\n", (int)type.length, type.text, (int)name.length,
            name.text, (int)type.length, type.text, value);
}

/* Integers keep the type of the parameter, because unsigned arithmetic differs; other types become long long. */
static rungi_string_view value_type(const program_writer_t *writer, const lab_cuda_parameter *parameter)
{
    bool is_unsigned = false, is_64_bit = false;
    for (int i = parameter->type.first; i <= parameter->type.last; i++) {
        is_unsigned = is_unsigned || lab_token_is(&writer->outline->tokens, i, "unsigned") ||
                      lab_token_is(&writer->outline->tokens, i, "uint") ||
                      lab_token_is(&writer->outline->tokens, i, "uint32_t");
        is_64_bit = is_64_bit || lab_token_is(&writer->outline->tokens, i, "long") ||
                    lab_token_is(&writer->outline->tokens, i, "size_t") ||
                    lab_token_is(&writer->outline->tokens, i, "int64_t") ||
                    lab_token_is(&writer->outline->tokens, i, "uint64_t");
    }
    const char *type = is_64_bit ? "long long" : is_unsigned ? "unsigned" : "int";
    return rungi_string_view_of(type, strlen(type));
}

/* Returns whether the file uses a name outside of functions, for a macro or a constant. */
static bool is_name_of_file(const lab_cuda_outline *outline, const char *name)
{
    const lab_tokens *tokens = &outline->tokens;
    size_t length = strlen(name);
    int function = 0;
    for (int i = 0; i < tokens->count; i++) {
        rungi_string_view text = tokens->items[i].text;
        while (function < outline->function_count && outline->functions[function].whole.last < i)
            function++;
        bool is_inside = function < outline->function_count && outline->functions[function].whole.first <= i;
        if (tokens->items[i].kind == LAB_TOKEN_NAME && !is_inside && rungi_string_view_equals(text, name))
            return true;
        if (tokens->items[i].kind != LAB_TOKEN_DIRECTIVE)
            continue;
        const char *at = text.text + 1, *end = text.text + text.length;
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        if (end - at < 7 || memcmp(at, "define", 6) != 0)
            continue;
        for (at += 6; at < end && (*at == ' ' || *at == '\t');)
            at++;
        if ((size_t)(end - at) >= length && memcmp(at, name, length) == 0 &&
            ((size_t)(end - at) == length || !rungi_is_name_character(at[length])))
            return true;
    }
    return false;
}

/* Declares a struct with the values of its integer fields. */
static void declare_struct(program_writer_t *writer, int parameter, const lab_cuda_struct *type, rungi_string_view name)
{
    lab_cuda_field fields[LAB_CUDA_FIELDS_MAX];
    int count = lab_cuda_struct_fields(writer->outline, type, fields);
    if (name.length == 0 || is_declared(writer, name))
        return;
    writer->declared[writer->declared_count++] = name;
    /* No constructor is called: the class may have none without arguments. */
    fprintf(writer->out,
            "typedef rung_parameter<%d, decltype(%s)>::type rung_type_%.*s;\n"
            "alignas(rung_type_%.*s) char rung_bytes_%.*s[sizeof(rung_type_%.*s)];\n"
            "rung_type_%.*s &%.*s = *reinterpret_cast<rung_type_%.*s *>(rung_bytes_%.*s);\n",
            parameter, writer->name, (int)name.length, name.text, (int)name.length, name.text, (int)name.length,
            name.text, (int)name.length, name.text, (int)name.length, name.text, (int)name.length, name.text,
            (int)name.length, name.text, (int)name.length, name.text);
    for (int i = 0; i < count; i++) {
        rungi_string_view field = lab_cuda_name(writer->outline, fields[i].name);
        if (lab_cuda_looks_integer(&writer->outline->tokens, fields[i].type))
            fprintf(writer->out, "%.*s.%.*s = values[%d];\n", (int)name.length, name.text, (int)field.length,
                    field.text, LAB_LAUNCH_VALUE_FIELDS + parameter * LAB_CUDA_FIELDS_MAX + i);
    }
}

static void declare_structs(program_writer_t *writer)
{
    for (int i = 0; i < writer->kernel->parameter_count; i++) {
        const lab_cuda_parameter *parameter = &writer->kernel->parameters[i];
        const lab_cuda_struct *type = lab_cuda_parameter_struct(writer->outline, parameter);
        if (!type || writer->program->is_copied[i])
            continue;
        declare_struct(writer, i, type, bare_name(writer, i));
        declare_struct(writer, i, type, lab_cuda_name(writer->outline, parameter->name));
    }
}

static void declare_values(program_writer_t *writer)
{
    static const char *const sizes[] = {"M", "N", "K"};
    declare_structs(writer);
    for (int i = 0; i < writer->kernel->parameter_count; i++) {
        const lab_cuda_parameter *parameter = &writer->kernel->parameters[i];
        if (!writer->source->is_given[i])
            continue;
        declare(writer, value_type(writer, parameter), bare_name(writer, i), i);
    }
    for (int i = 0; i < writer->kernel->parameter_count; i++) {
        const lab_cuda_parameter *parameter = &writer->kernel->parameters[i];
        rungi_string_view name = lab_cuda_name(writer->outline, parameter->name);
        if (writer->source->is_given[i] && !lab_launch_slice_defines(&writer->values, name))
            declare(writer, value_type(writer, parameter), name, i);
    }
    for (int i = 0; i < writer->values.free_count; i++) {
        int value = host_size(writer, writer->values.free[i]);
        if (value >= 0 && lab_launch_slice_needs(&writer->values, writer->values.free[i]))
            declare(writer, rungi_string_view_of("int", 3), writer->values.free[i], value);
    }
    for (int i = 0; i < 3; i++) {
        rungi_string_view name = rungi_string_view_of(sizes[i], 1);
        if (is_name_of_file(writer->outline, sizes[i]) || lab_launch_slice_defines(&writer->values, name))
            continue;
        fprintf(writer->out, "#ifndef %s\n", sizes[i]); /* an option -D may define the name */
        declare(writer, rungi_string_view_of("int", 3), name, LAB_LAUNCH_VALUE_M + i);
        fputs("#endif\n", writer->out);
    }
}

/* Template parameters of the kernel may be used in expressions of the user. */
static void write_kernel_templates(const program_writer_t *writer)
{
    bool uses_launch = !writer->source->templates && writer->source->launch && writer->source->launch->has_templates;
    lab_token_range own[LAB_CUDA_PARAMETERS_MAX];
    int own_count = uses_launch ? lab_cuda_split(&writer->outline->tokens, writer->source->launch->templates, own,
                                                 LAB_CUDA_PARAMETERS_MAX)
                                : 0;
    for (int i = 0; i < writer->kernel->template_count; i++) {
        const lab_cuda_parameter *parameter = &writer->kernel->template_parameters[i];
        rungi_string_view name = lab_cuda_name(writer->outline, parameter->name), value = given_template(writer, i);
        if (value.length == 0)
            value = range_text(writer, i < own_count ? own[i] : parameter->preset);
        bool is_same = rungi_string_views_equal(value, name); /* gemm<BM> with a local BM */
        if (!is_same && !is_declared(writer, name) && !lab_launch_slice_defines(&writer->values, name) &&
            !lab_launch_slice_defines(&writer->constants, name) && !is_launcher_template(writer, name))
            write_binding(writer, parameter, value);
    }
}

static void write_dimensions(const program_writer_t *writer, const char *given, lab_token_range range, const char *name,
                             int result)
{
    rungi_string_view text = given ? rungi_string_view_of(given, strlen(given)) : range_text(writer, range);
    bool is_list = given != NULL;
    fprintf(writer->out, "const dim3 rung_%s = %s%.*s%s;\n", name, is_list ? "dim3(" : "", (int)text.length, text.text,
            is_list ? ")" : "");
    fprintf(writer->out, "results[%d] = rung_%s.x; results[%d] = rung_%s.y; results[%d] = rung_%s.z;\n", result, name,
            result + 1, name, result + 2, name);
}

static void write_evaluation(program_writer_t *writer)
{
    const lab_launch_source *source = writer->source;
    lab_token_range none = {0, -1};
    undefine_names(writer);
    fputs("extern \"C\" __global__ void rung_evaluate_launch(const long long *values, long long *results) {\n",
          writer->out);
    declare_values(writer);
    write_statements(writer);
    if (source->templates || (source->launch && (source->grid || source->block)) || !source->launch)
        write_kernel_templates(writer);
    write_dimensions(writer, source->block, source->launch ? source->launch->block : none, "block",
                     LAB_LAUNCH_RESULT_BLOCK);
    write_dimensions(writer, source->grid, source->launch ? source->launch->grid : none, "grid",
                     LAB_LAUNCH_RESULT_GRID);
    rungi_string_view shared = source->shared   ? rungi_string_view_of(source->shared, strlen(source->shared))
                               : source->launch ? range_text(writer, source->launch->shared)
                                                : rungi_string_view_of("", 0);
    if (shared.length > 0)
        fprintf(writer->out, "results[%d] = (long long)(%.*s);\n", LAB_LAUNCH_RESULT_SHARED, (int)shared.length,
                shared.text);
    for (int i = 0; i < writer->kernel->parameter_count; i++)
        if (writer->program->is_evaluated[i]) {
            rungi_string_view argument = range_text(writer, source->launch->arguments[i]);
            fprintf(writer->out, "results[%d] = (long long)(%.*s);\n", LAB_LAUNCH_RESULT_ARGUMENTS + i,
                    (int)argument.length, argument.text);
        }
    for (int i = 0; i < writer->kernel->parameter_count; i++)
        if (writer->program->is_copied[i]) {
            rungi_string_view argument = range_text(writer, source->launch->arguments[i]);
            fprintf(
                writer->out,
                "{ rung_parameter<%d, decltype(%s)>::type rung_value = %.*s; rung_copy(results + %d, rung_value); }\n",
                i, writer->name, (int)argument.length, argument.text,
                LAB_LAUNCH_RESULT_BYTES + i * LAB_LAUNCH_STRUCT_BYTES / 8);
        }
    fputs("}\n", writer->out);
}

/* Makes names of the namespaces of the kernel and of the launch visible, as they are at the launch. */
static void write_using_namespaces(const program_writer_t *writer)
{
    const lab_cuda_launch *launch = writer->source->launch;
    const char *scopes[2] = {writer->kernel->scope, launch ? writer->outline->functions[launch->function].scope : ""};
    for (int i = 0; i < 2; i++)
        if (*scopes[i] && *scopes[i] != ':' && (i == 0 || strcmp(scopes[0], scopes[1]) != 0))
            fprintf(writer->out, "using namespace %.*s;\n", (int)strlen(scopes[i]) - 2, scopes[i]);
}

/* ---- Interface ---- */

bool lab_launch_program_write(const lab_cuda_outline *outline, const lab_launch_source *source, bool evaluates,
                              lab_launch_program *program)
{
    size_t bytes;
    program_writer_t *writer = calloc(1, sizeof *writer);
    *program = (lab_launch_program){.text = NULL};
    if (!writer)
        return false;
    writer->outline = outline;
    writer->source = source;
    writer->kernel = &outline->functions[source->kernel];
    writer->program = program;
    read_given_templates(writer);
    find_slices(writer);
    program->name = write_name(writer);
    writer->name = program->name;
    writer->out = program->name ? open_memstream(&program->text, &bytes) : NULL;
    if (writer->out) {
        fputs("\n#line 1 \"launch configuration\"\n", writer->out);
        write_using_namespaces(writer);
        fputs("namespace rung_host {\n", writer->out);
        write_launcher_templates(writer);
        lab_launch_slice_write(&writer->constants, writer->out);
        fputs(signature_helpers, writer->out);
        if (evaluates && source->launch)
            write_functions(writer);
        fputs("}\n", writer->out);
        write_signature(writer, program->name);
        if (evaluates) {
            fputs("namespace rung_host {\n", writer->out);
            write_evaluation(writer);
            fputs("}\n", writer->out);
        }
    }
    bool good = writer->out && fclose(writer->out) == 0;
    lab_tokens_free(&writer->given);
    free(writer);
    if (!good)
        lab_launch_program_free(program);
    return good;
}

void lab_launch_program_free(lab_launch_program *program)
{
    free(program->text);
    free(program->name);
    *program = (lab_launch_program){.text = NULL};
}
