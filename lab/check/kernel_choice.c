/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_choice.c - see kernel_choice.h. */
#include "check/kernel_choice.h"

#include <stdio.h>
#include <string.h>

#include "common/failure.h"
#include "common/text.h"

/* ---- Parameters ---- */

void lab_check_parameter_name(const lab_cuda_outline *outline, const lab_cuda_function *function, int index, char *name,
                              size_t capacity)
{
    rungi_string_view view = lab_cuda_name(outline, function->parameters[index].name);
    if (function->parameters[index].name >= 0 && view.length > 0)
        snprintf(name, capacity, "%.*s", LAB_VIEW(view));
    else
        snprintf(name, capacity, "p%d", index);
}

int lab_check_find_parameter(const lab_cuda_outline *outline, const lab_cuda_function *function, rungi_string_view name)
{
    rungi_string_view whole = name, plain = rungi_string_view_split(&whole, '.');
    char own[LAB_CHECK_NAME_BYTES];
    for (int i = 0; i < function->parameter_count; i++) {
        lab_check_parameter_name(outline, function, i, own, sizeof own);
        if (rungi_string_view_equals(plain, own))
            return i;
    }
    return -1;
}

bool lab_check_is_pointer(const lab_cuda_outline *outline, const lab_cuda_parameter *parameter)
{
    for (int i = parameter->type.first; i <= parameter->type.last; i++)
        if (lab_token_is(&outline->tokens, i, "*") || lab_token_is(&outline->tokens, i, "["))
            return true;
    return false;
}

lab_element_type lab_check_pointed_type(const lab_tokens *tokens, lab_token_range type)
{
    static const struct {
        const char *word;
        lab_element_type type, unsigned_type;
    } words[] = {{"double", LAB_ELEMENT_f64, LAB_ELEMENT_f64},
                 {"float", LAB_ELEMENT_f32, LAB_ELEMENT_f32},
                 {"half", LAB_ELEMENT_f16, LAB_ELEMENT_f16},
                 {"__half", LAB_ELEMENT_f16, LAB_ELEMENT_f16},
                 {"__nv_bfloat16", LAB_ELEMENT_bf16, LAB_ELEMENT_bf16},
                 {"uint8_t", LAB_ELEMENT_u8, LAB_ELEMENT_u8},
                 {"int8_t", LAB_ELEMENT_i8, LAB_ELEMENT_i8},
                 {"uint32_t", LAB_ELEMENT_u32, LAB_ELEMENT_u32},
                 {"int32_t", LAB_ELEMENT_i32, LAB_ELEMENT_i32},
                 {"uint64_t", LAB_ELEMENT_u64, LAB_ELEMENT_u64},
                 {"int64_t", LAB_ELEMENT_i64, LAB_ELEMENT_i64},
                 {"size_t", LAB_ELEMENT_u64, LAB_ELEMENT_u64},
                 {"char", LAB_ELEMENT_i8, LAB_ELEMENT_u8},
                 {"short", LAB_ELEMENT_i16, LAB_ELEMENT_u16},
                 {"long", LAB_ELEMENT_i64, LAB_ELEMENT_u64},
                 {"int", LAB_ELEMENT_i32, LAB_ELEMENT_u32}};
    bool is_unsigned = false;
    for (int i = type.first; i <= type.last; i++)
        is_unsigned = is_unsigned || lab_token_is(tokens, i, "unsigned");
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (int i = type.first; i <= type.last; i++)
            if (lab_token_is(tokens, i, words[w].word))
                return is_unsigned ? words[w].unsigned_type : words[w].type;
    return is_unsigned ? LAB_ELEMENT_u32 : LAB_ELEMENT_TYPE_COUNT;
}

/* ---- Names ---- */

static bool is_kernel(const lab_cuda_function *function)
{
    return function->kind == LAB_FUNCTION_KERNEL && function->body.last >= function->body.first;
}

static bool has_name(const lab_cuda_outline *outline, const lab_cuda_function *function, rungi_string_view name)
{
    char whole[LAB_CUDA_SCOPE_BYTES + 256];
    rungi_string_view plain = lab_cuda_name(outline, function->name);
    snprintf(whole, sizeof whole, "%s%.*s", function->scope, LAB_VIEW(plain));
    return rungi_string_views_equal(plain, name) || rungi_string_view_equals(name, whole);
}

/* Appends the types of the parameters, separated by commas. */
static void append_types(const lab_cuda_outline *outline, const lab_cuda_function *function, char *text,
                         size_t capacity)
{
    for (int i = 0; i < function->parameter_count; i++) {
        const lab_cuda_parameter *parameter = &function->parameters[i];
        rungi_string_view type = lab_tokens_text(&outline->tokens, parameter->type.first, parameter->type.last);
        lab_append(text, capacity, "%s%.*s", i > 0 ? ", " : "", LAB_VIEW(type));
    }
}

/* Returns whether another kernel has the same name. */
static bool is_overloaded(const lab_cuda_outline *outline, const lab_cuda_function *function)
{
    rungi_string_view name = lab_cuda_name(outline, function->name);
    for (int i = 0; i < outline->function_count; i++) {
        const lab_cuda_function *other = &outline->functions[i];
        if (other != function && is_kernel(other) && strcmp(other->scope, function->scope) == 0 &&
            rungi_string_views_equal(lab_cuda_name(outline, other->name), name))
            return true;
    }
    return false;
}

void lab_check_list_kernels(const lab_cuda_outline *outline, char *text, size_t capacity)
{
    *text = '\0';
    for (int i = 0; i < outline->function_count; i++) {
        const lab_cuda_function *function = &outline->functions[i];
        rungi_string_view name = lab_cuda_name(outline, function->name);
        if (!is_kernel(function))
            continue;
        lab_append(text, capacity, "%s%s%.*s", *text ? ", " : "", function->scope, LAB_VIEW(name));
        if (is_overloaded(outline, function)) {
            lab_append(text, capacity, "(");
            append_types(outline, function, text, capacity);
            lab_append(text, capacity, ")");
        }
    }
}

bool lab_check_write_cast(const lab_cuda_outline *outline, const lab_cuda_function *function, char *text,
                          size_t capacity)
{
    rungi_string_view plain = lab_cuda_name(outline, function->name);
    if (function->template_count >= 0)
        return false;
    snprintf(text, capacity, "(void (*)(");
    append_types(outline, function, text, capacity);
    lab_append(text, capacity, "))%s%.*s", function->scope, LAB_VIEW(plain));
    return true;
}

/* ---- Choice ---- */

/* Returns whether the arguments of a launch fit the parameters of a kernel, as far as their words tell. */
static bool fits(const lab_cuda_outline *outline, const lab_launch_line *line, const lab_cuda_function *function)
{
    for (int i = 0; i < line->argument_count; i++) {
        const lab_launch_argument *argument = &line->arguments[i];
        int index = lab_check_find_parameter(outline, function, argument->name);
        if (index < 0)
            return false;
        const lab_cuda_parameter *parameter = &function->parameters[index];
        lab_element_type type = lab_check_pointed_type(&outline->tokens, parameter->type);
        bool is_whole = !memchr(argument->name.text, '.', argument->name.length);
        if (is_whole && argument->is_array &&
            (!lab_check_is_pointer(outline, parameter) || (type != LAB_ELEMENT_TYPE_COUNT && type != argument->type)))
            return false;
    }
    for (int i = 0; i < function->parameter_count; i++) {
        bool is_given = false;
        for (int k = 0; k < line->argument_count; k++)
            is_given = is_given || lab_check_find_parameter(outline, function, line->arguments[k].name) == i;
        if (!is_given)
            return false;
    }
    return true;
}

bool lab_check_find_kernel(const lab_check_session *session, const lab_launch_line *line, int *kernel, char *why,
                           size_t capacity)
{
    const lab_cuda_outline *outline = &session->outline;
    char names[1024];
    int found = 0, fitting = 0, chosen = -1;
    bool is_one_name = true;
    for (int i = 0; i < outline->function_count; i++) {
        const lab_cuda_function *function = &outline->functions[i];
        if (!is_kernel(function) || (line->kernel.length > 0 && !has_name(outline, function, line->kernel)))
            continue;
        is_one_name = is_one_name && (found == 0 || is_overloaded(outline, function));
        *kernel = i;
        found++;
        if (fits(outline, line, function)) {
            chosen = i;
            fitting++;
        }
    }
    if (found == 1)
        return true;
    if (found > 1 && fitting == 1 && (is_one_name || line->kernel.length > 0)) {
        *kernel = chosen;
        return true;
    }
    lab_check_list_kernels(outline, names, sizeof names);
    if (!*names)
        return lab_set_reason(why, capacity, "the file has no __global__ function");
    if (line->kernel.length > 0 && found == 0)
        return lab_set_reason(why, capacity, "the file has no kernel named %.*s; its kernels are: %s",
                              LAB_VIEW(line->kernel), names);
    if (line->kernel.length > 0 || is_one_name)
        return lab_set_reason(why, capacity, "the arguments fit %d of %d kernels of the same name; the kernels are: %s",
                              fitting, found, names);
    return lab_set_reason(why, capacity, "the file has %d kernels; add kernel=NAME with one of: %s", found, names);
}

/* ---- Templates ---- */

/* Finds "template __global__ void NAME<ARGUMENTS>(", an explicit instantiation. */
static rungi_string_view find_instantiation(const lab_cuda_outline *outline, rungi_string_view name)
{
    const lab_tokens *tokens = &outline->tokens;
    for (int i = 0; i + 4 < tokens->count; i++) {
        if (!lab_token_is(tokens, i, "template") || lab_token_is(tokens, i + 1, "<"))
            continue;
        for (int k = i + 1; k + 1 < tokens->count && !lab_token_is(tokens, k, ";") && !lab_token_is(tokens, k, "{");
             k++) {
            int end = rungi_string_views_equal(lab_tokens_text(tokens, k, k), name) && lab_token_is(tokens, k + 1, "<")
                          ? lab_outline_angle_end(tokens, k + 1)
                          : -1;
            if (end > k + 2)
                return lab_tokens_text(tokens, k + 2, end - 1);
        }
    }
    return rungi_string_view_of("", 0);
}

/* Finds the template arguments of a launch in the host code. The compiler rejects names that only the host code knows. */
static rungi_string_view find_launched(const lab_cuda_outline *outline, const lab_cuda_function *function)
{
    for (int i = 0; i < outline->launch_count; i++) {
        const lab_cuda_launch *launch = &outline->launches[i];
        int kernel = lab_cuda_launched_kernel(outline, launch);
        if (kernel >= 0 && &outline->functions[kernel] == function && launch->has_templates &&
            launch->templates.last >= launch->templates.first)
            return lab_tokens_text(&outline->tokens, launch->templates.first, launch->templates.last);
    }
    return rungi_string_view_of("", 0);
}

rungi_string_view lab_check_templates(const lab_check_session *session, const lab_launch_line *line,
                                      const lab_cuda_function *function)
{
    bool is_missing = false;
    for (int i = 0; i < function->template_count; i++) {
        const lab_cuda_parameter *parameter = &function->template_parameters[i];
        is_missing = is_missing || parameter->preset.last < parameter->preset.first;
    }
    if (line->templates.length > 0 || !is_missing)
        return line->templates;
    rungi_string_view found = find_instantiation(&session->outline, lab_cuda_name(&session->outline, function->name));
    return found.length > 0 ? found : find_launched(&session->outline, function);
}
