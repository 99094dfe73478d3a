/* SPDX-License-Identifier: Apache-2.0 */
/* launch_host.c - see launch_host.h. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "cuda_source/launch_host.h"

#include <stdlib.h>

static const lab_tokens *tokens_of(const lab_host_values *values)
{
    return &values->outline->tokens;
}

static const lab_cuda_launch *launch_of(const lab_host_values *values)
{
    return values->source->launch;
}

static const lab_cuda_function *launcher_of(const lab_host_values *values)
{
    return &values->outline->functions[launch_of(values)->function];
}

static rungi_string_view no_name(void)
{
    return rungi_string_view_of("", 0);
}

static bool is_same_value(const lab_host_value *value, rungi_string_view name, rungi_string_view member)
{
    return rungi_string_views_equal(value->name, name) && rungi_string_views_equal(value->member, member);
}

/* Adds a value. The first one of a variable counts. Returns where its text belongs; NULL if there is a value. */
static char *add_value(lab_host_values *values, rungi_string_view name, rungi_string_view member, bool holds_always)
{
    for (int i = 0; i < values->count; i++)
        if (is_same_value(&values->items[i], name, member))
            return NULL;
    if (values->count == LAB_HOST_VALUES_MAX)
        return NULL;
    lab_host_value *value = &values->items[values->count++];
    *value = (lab_host_value){.name = name, .member = member, .holds_always = holds_always};
    return value->text;
}

static void add_size(lab_host_values *values, rungi_string_view name, rungi_string_view member, int index)
{
    char *text = add_value(values, name, member, true);
    if (text)
        snprintf(text, sizeof values->items->text, "values[%d]", index);
}

static void add_number(lab_host_values *values, rungi_string_view name, rungi_string_view member, bool holds_always,
                       rungi_string_view number)
{
    char *text = add_value(values, name, member, holds_always);
    if (text)
        snprintf(text, sizeof values->items->text, "%.*s", (int)number.length, number.text);
}

/* ---- Sizes in members ---- */

static bool is_name(const lab_tokens *tokens, int i)
{
    return i >= 0 && i < tokens->count && tokens->items[i].kind == LAB_TOKEN_NAME;
}

static bool is_member_access(const lab_tokens *tokens, int i)
{
    return is_name(tokens, i) && lab_token_is(tokens, i + 1, ".") && is_name(tokens, i + 2) &&
           !lab_token_is(tokens, i - 1, ".") && !lab_token_is(tokens, i + 3, "(");
}

/* Arguments of the kernel such as shape.n, and other members whose names are sizes, such as dimsA.y. */
static void find_member_sizes(lab_host_values *values)
{
    const lab_tokens *tokens = tokens_of(values);
    const lab_launch_source *source = values->source;
    const lab_cuda_launch *launch = launch_of(values);
    lab_token_range whole = launcher_of(values)->whole;
    for (int i = 0; i < launch->argument_count; i++) {
        lab_token_range argument = launch->arguments[i];
        if (source->is_given[i] && argument.last == argument.first + 2 && is_member_access(tokens, argument.first))
            add_size(values, tokens->items[argument.first].text, tokens->items[argument.last].text, i);
    }
    for (int i = whole.first; i + 2 <= whole.last && source->find_size; i++) {
        int index = is_member_access(tokens, i) ? source->find_size(source->user, lab_tokens_text(tokens, i, i + 2))
                                                : -1;
        if (index >= 0)
            add_size(values, tokens->items[i].text, tokens->items[i + 2].text, index);
    }
}

/* ---- Conditions ---- */

/* Adds the value of a condition `name == 16` or `16 == name`. */
static void add_condition(lab_host_values *values, lab_token_range condition)
{
    const lab_tokens *tokens = tokens_of(values);
    bool is_equality = condition.last == condition.first + 2 && lab_token_is(tokens, condition.first + 1, "==");
    if (!is_equality)
        return;
    if (is_name(tokens, condition.first) && tokens->items[condition.last].kind == LAB_TOKEN_NUMBER)
        add_number(values, tokens->items[condition.first].text, no_name(), true, tokens->items[condition.last].text);
    else if (is_name(tokens, condition.last) && tokens->items[condition.first].kind == LAB_TOKEN_NUMBER)
        add_number(values, tokens->items[condition.last].text, no_name(), true, tokens->items[condition.first].text);
}

/* Returns the last token of the statement that begins at `i`. */
static int statement_last(const lab_tokens *tokens, int i)
{
    if (lab_token_is(tokens, i, "{"))
        return tokens->items[i].match;
    while (i < tokens->count && !lab_token_is(tokens, i, ";"))
        i = lab_tokens_step(tokens, i);
    return i;
}

/* Adds the last `case 16:` of a switch before the launch. */
static void add_case(lab_host_values *values, int open, int body)
{
    const lab_tokens *tokens = tokens_of(values);
    int found = -1;
    for (int i = body + 1; i < launch_of(values)->at; i++)
        if (lab_token_is(tokens, i, "case"))
            found = i + 1;
    if (found >= 0 && is_name(tokens, open + 1) && tokens->items[open].match == open + 2 &&
        tokens->items[found].kind == LAB_TOKEN_NUMBER)
        add_number(values, tokens->items[open + 1].text, no_name(), true, tokens->items[found].text);
}

/* Adds what the conditions around the launch say. */
static void find_conditions(lab_host_values *values)
{
    const lab_tokens *tokens = tokens_of(values);
    int launch = launch_of(values)->at;
    for (int i = launcher_of(values)->body.first; i < launch; i++) {
        bool is_if = lab_token_is(tokens, i, "if"), is_switch = lab_token_is(tokens, i, "switch");
        if ((!is_if && !is_switch) || !lab_token_is(tokens, i + 1, "(") || tokens->items[i + 1].match < 0)
            continue;
        int close = tokens->items[i + 1].match;
        if (close >= launch || statement_last(tokens, close + 1) < launch)
            continue;
        if (is_if)
            add_condition(values, (lab_token_range){i + 2, close - 1});
        else
            add_case(values, i + 1, close + 1);
    }
}

/* ---- Answers of the CUDA runtime ---- */

/* Attributes of the GPU by their names in cudaDeviceProp and in cudaDeviceAttr. */
static int64_t device_value(const lab_launch_source *source, rungi_string_view name)
{
    const struct {
        const char *property, *attribute;
        int64_t value;
    } known[] = {
        {"multiProcessorCount", "cudaDevAttrMultiProcessorCount", source->gpu.multiprocessors},
        {"maxThreadsPerMultiProcessor", "cudaDevAttrMaxThreadsPerMultiProcessor", source->gpu.threads},
        {"sharedMemPerMultiprocessor", "cudaDevAttrMaxSharedMemoryPerMultiprocessor", source->gpu.shared},
        {"sharedMemPerBlockOptin", "cudaDevAttrMaxSharedMemoryPerBlockOptin", source->gpu.shared_block},
        {"sharedMemPerBlock", "cudaDevAttrMaxSharedMemoryPerBlock", 48 * 1024},
        {"maxThreadsPerBlock", "cudaDevAttrMaxThreadsPerBlock", 1024},
        {"warpSize", "cudaDevAttrWarpSize", 32},
        {"major", "cudaDevAttrComputeCapabilityMajor", source->gpu.capability / 10},
        {"minor", "cudaDevAttrComputeCapabilityMinor", source->gpu.capability % 10},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (rungi_string_view_equals(name, known[i].property) || rungi_string_view_equals(name, known[i].attribute))
            return known[i].value > 0 || i + 1 == sizeof known / sizeof *known ? known[i].value : -1;
    return -1;
}

static void add_integer(lab_host_values *values, rungi_string_view name, rungi_string_view member, int64_t value)
{
    char *text = add_value(values, name, member, false);
    if (text)
        snprintf(text, sizeof values->items->text, "%lld", (long long)value);
}

static void add_unknown(lab_host_values *values, lab_token_range variable, rungi_string_view function, int line)
{
    rungi_string_view name = lab_tokens_text(tokens_of(values), variable.first, variable.last);
    if (!*values->unknown)
        snprintf(values->unknown, sizeof values->unknown, "%.*s, which %.*s sets in line %d", (int)name.length,
                 name.text, (int)function.length, function.text, line);
}

/* Adds the members of a cudaDeviceProp that the function uses. */
static void add_properties(lab_host_values *values, rungi_string_view name, rungi_string_view function)
{
    const lab_tokens *tokens = tokens_of(values);
    lab_token_range body = launcher_of(values)->body;
    for (int i = body.first; i + 2 <= body.last; i++) {
        if (!is_member_access(tokens, i) || !rungi_string_views_equal(tokens->items[i].text, name))
            continue;
        rungi_string_view member = tokens->items[i + 2].text;
        int64_t value = device_value(values->source, member);
        if (value >= 0)
            add_integer(values, name, member, value);
        else if (i < launch_of(values)->at && !lab_token_is(tokens, i + 3, "[") &&
                 !lab_token_is(tokens, i - 1, ",")) /* an argument, as of printf */
            add_unknown(values, (lab_token_range){i, i + 2}, function, tokens->items[i].line);
    }
}

/* Adds the value that a call f(..., &name, ...) gives to a variable; `open` is the bracket of the call. */
static void add_answer(lab_host_values *values, int open, int name)
{
    const lab_tokens *tokens = tokens_of(values);
    rungi_string_view function = tokens->items[open - 1].text, variable = tokens->items[name].text;
    if (rungi_string_view_equals(function, "cudaGetDeviceProperties"))
        add_properties(values, variable, function);
    else if (rungi_string_view_equals(function, "cudaGetDevice"))
        add_integer(values, variable, no_name(), 0);
    else if (rungi_string_view_equals(function, "cudaGetDeviceCount"))
        add_integer(values, variable, no_name(), 1);
    else if (rungi_string_view_equals(function, "cudaDeviceGetAttribute") && lab_token_is(tokens, name + 1, ",") &&
             device_value(values->source, tokens->items[name + 2].text) >= 0)
        add_integer(values, variable, no_name(), device_value(values->source, tokens->items[name + 2].text));
    else
        add_unknown(values, (lab_token_range){name, name}, function, tokens->items[name].line);
}

static bool is_free(const lab_launch_slice *slice, rungi_string_view name)
{
    for (int i = 0; i < slice->free_count; i++)
        if (rungi_string_views_equal(slice->free[i], name))
            return true;
    return false;
}

/* Finds variables whose address is an argument of a call before the launch. */
static void find_answers(lab_host_values *values, const lab_launch_slice *slice)
{
    const lab_tokens *tokens = tokens_of(values);
    int end = launch_of(values)->at;
    int opens[64], depth = 0;
    for (int i = launcher_of(values)->body.first; i < end; i++) {
        if (lab_token_is(tokens, i, "(") && depth < 64)
            opens[depth++] = i;
        else if (lab_token_is(tokens, i, ")") && depth > 0)
            depth--;
        bool is_argument = lab_token_is(tokens, i, "&") && depth > 0 &&
                           (lab_token_is(tokens, i - 1, "(") || lab_token_is(tokens, i - 1, ",")) &&
                           is_name(tokens, i + 1) &&
                           (lab_token_is(tokens, i + 2, ")") || lab_token_is(tokens, i + 2, ","));
        if (!is_argument || !is_name(tokens, opens[depth - 1] - 1))
            continue;
        rungi_string_view name = tokens->items[i + 1].text;
        if (lab_launch_slice_needs(slice, name) && !is_free(slice, name))
            add_answer(values, opens[depth - 1], i + 1);
    }
}

/* ---- Parameters of the launching function ---- */

/* Returns whether two names are the same but for case and underscores: block_size and BLOCK_SIZE. */
static bool is_same_word(rungi_string_view a, rungi_string_view b)
{
    size_t i = 0, j = 0;
    for (;;) {
        while (i < a.length && a.text[i] == '_')
            i++;
        while (j < b.length && b.text[j] == '_')
            j++;
        if (i == a.length || j == b.length)
            return i == a.length && j == b.length;
        if ((a.text[i++] | 32) != (b.text[j++] | 32))
            return false;
    }
}

/* Writes the argument of the kernel's template that has the name of a variable. Returns false if no
 * parameter has it. */
static bool write_template_value(const lab_host_values *values, rungi_string_view name, FILE *out)
{
    const lab_cuda_function *kernel = &values->outline->functions[values->source->kernel];
    lab_token_range parts[LAB_CUDA_PARAMETERS_MAX];
    int count = launch_of(values)->has_templates && !values->source->templates
                    ? lab_cuda_split(tokens_of(values), launch_of(values)->templates, parts, LAB_CUDA_PARAMETERS_MAX)
                    : 0;
    for (int i = 0; i < kernel->template_count && i < count; i++) {
        rungi_string_view text = lab_tokens_text(tokens_of(values), parts[i].first, parts[i].last);
        if (!is_same_word(lab_cuda_name(values->outline, kernel->template_parameters[i].name), name) ||
            rungi_string_views_equal(text, name))
            continue;
        fprintf(out, "%.*s", (int)text.length, text.text);
        return true;
    }
    return false;
}

/* Finds a call of the launching function. Returns its "("; *function is the function that calls. Returns -1
 * if the file does not call it. */
static int find_call(const lab_host_values *values, int *function)
{
    const lab_tokens *tokens = tokens_of(values);
    rungi_string_view name = lab_cuda_name(values->outline, launcher_of(values)->name);
    int known = launch_of(values)->call;
    for (*function = 0; *function < values->outline->function_count; ++*function) {
        lab_token_range body = values->outline->functions[*function].body;
        for (int i = body.first; i < body.last && *function != launch_of(values)->function; i++) {
            if (!rungi_string_views_equal(tokens->items[i].text, name))
                continue;
            int open = lab_outline_call(tokens, i);
            if (open > 0 && (known == 0 || open == known))
                return open;
        }
    }
    return -1;
}

/* Returns the index of the value that a parameter of the launching function passes on to the kernel; -1 for others. */
static int passed_value(const lab_host_values *values, rungi_string_view parameter)
{
    const lab_cuda_launch *launch = launch_of(values);
    for (int i = 0; i < launch->argument_count && i < LAB_CUDA_PARAMETERS_MAX; i++)
        if (values->source->is_given[i] && launch->arguments[i].first == launch->arguments[i].last &&
            rungi_string_views_equal(tokens_of(values)->items[launch->arguments[i].first].text, parameter))
            return i;
    return -1;
}

/* Writes the sizes that the caller passes: its names for what reaches the kernel. */
static void write_caller_sizes(const lab_host_values *values, const lab_token_range *arguments, int count,
                               lab_launch_slice *slice, FILE *out)
{
    const lab_cuda_function *launcher = launcher_of(values);
    for (int i = 0; i < count && i < launcher->parameter_count; i++) {
        int index = passed_value(values, lab_cuda_name(values->outline, launcher->parameters[i].name));
        rungi_string_view name = tokens_of(values)->items[arguments[i].first].text;
        if (index < 0 || arguments[i].first != arguments[i].last || !is_name(tokens_of(values), arguments[i].first) ||
            is_free(slice, name))
            continue;
        lab_launch_slice_free(slice, name);
        fprintf(out, "const long long %.*s = values[%d]; ", (int)name.length, name.text, index);
    }
    lab_token_range body = values->outline->functions[slice->launch->function].body;
    for (int i = body.first; i <= body.last && values->source->find_size; i++) {
        rungi_string_view name = tokens_of(values)->items[i].text;
        int index = is_name(tokens_of(values), i) && !is_free(slice, name)
                        ? values->source->find_size(values->source->user, name)
                        : -1;
        if (index < 0)
            continue;
        lab_launch_slice_free(slice, name);
        fprintf(out, "const long long %.*s = values[%d]; ", (int)name.length, name.text, index);
    }
}

/* Writes the type of a parameter without const and &. */
static void write_type(const lab_host_values *values, lab_token_range type, FILE *out)
{
    const lab_tokens *tokens = tokens_of(values);
    for (int i = type.first; i <= type.last; i++)
        if (!lab_token_is(tokens, i, "const") && !lab_token_is(tokens, i, "&"))
            fprintf(out, "%.*s ", (int)tokens->items[i].text.length, tokens->items[i].text.text);
}

/* Writes a function that computes what the first call passes for a parameter. Returns false if nothing calls. */
static bool write_call_value(const lab_host_values *values, int parameter, FILE *out)
{
    static lab_launch_slice slice; /* large; the program is written by one thread */
    lab_token_range arguments[LAB_CUDA_PARAMETERS_MAX];
    lab_cuda_launch call = {.argument_count = 0};
    int open = find_call(values, &call.function);
    if (open < 0)
        return false;
    int count = lab_cuda_split(tokens_of(values), (lab_token_range){open + 1, tokens_of(values)->items[open].match - 1},
                               arguments, LAB_CUDA_PARAMETERS_MAX);
    if (parameter >= count)
        return false;
    call.at = open - 1;
    lab_launch_slice_begin(&slice, values->outline, &call);
    fputs("[&]() { ", out);
    write_caller_sizes(values, arguments, count, &slice, out);
    lab_launch_slice_need(&slice, arguments[parameter]);
    lab_launch_slice_find(&slice);
    lab_launch_slice_write(&slice, out);
    rungi_string_view text = lab_tokens_text(tokens_of(values), arguments[parameter].first, arguments[parameter].last);
    fprintf(out, "return %.*s; }()", (int)text.length, text.text);
    return true;
}

static bool is_dimensions(const lab_host_values *values, lab_token_range type)
{
    for (int i = type.first; i <= type.last; i++)
        if (lab_token_is(tokens_of(values), i, "dim3"))
            return true;
    return false;
}

/* ---- Interface ---- */

void lab_host_values_find(lab_host_values *values, const lab_launch_slice *slice)
{
    find_member_sizes(values);
    find_conditions(values);
    find_answers(values, slice);
}

bool lab_host_values_have(const lab_host_values *values, rungi_string_view name)
{
    for (int i = 0; i < values->count; i++)
        if (rungi_string_views_equal(values->items[i].name, name))
            return true;
    return false;
}

void lab_host_values_write(const lab_host_values *values, rungi_string_view name, bool is_declared, FILE *out)
{
    for (int i = 0; i < values->count; i++) {
        const lab_host_value *value = &values->items[i];
        if (rungi_string_views_equal(value->name, name) && (is_declared || value->holds_always))
            fprintf(out, "%.*s%s%.*s = %s;\n", (int)name.length, name.text, value->member.length > 0 ? "." : "",
                    (int)value->member.length, value->member.text, value->text);
    }
}

void lab_host_values_write_parameters(const lab_host_values *values, const lab_launch_slice *slice, FILE *out)
{
    const lab_cuda_function *launcher = launcher_of(values);
    for (int i = 0; i < launcher->parameter_count; i++) {
        const lab_cuda_parameter *parameter = &launcher->parameters[i];
        rungi_string_view name = lab_cuda_name(values->outline, parameter->name);
        bool is_integer = lab_cuda_looks_integer(tokens_of(values), parameter->type);
        if (name.length == 0 || !lab_launch_slice_needs(slice, name) || is_free(slice, name) ||
            !(is_integer || is_dimensions(values, parameter->type)))
            continue;
        char *text = NULL;
        size_t bytes;
        FILE *value = open_memstream(&text, &bytes);
        bool is_known = value && ((is_integer && write_template_value(values, name, value)) ||
                                  write_call_value(values, i, value));
        if (value)
            fclose(value);
        if (is_known || lab_host_values_have(values, name)) {
            write_type(values, parameter->type, out);
            fprintf(out, "%.*s%s%s;\n", (int)name.length, name.text, is_known ? " = " : "", is_known ? text : "");
            lab_host_values_write(values, name, true, out);
        }
        free(text);
    }
}
