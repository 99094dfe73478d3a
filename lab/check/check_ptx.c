/* SPDX-License-Identifier: Apache-2.0 */
/* check_ptx.c - the launches of a PTX file, also of one that Triton, Numba or another compiler wrote. Its parameters have no
 * names: arguments are p0, p1 and so on. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "check/check_session.h"
#include "check/integer_expression.h"
#include "check/ptx_parameters.h"
#include "common/failure.h"
#include "common/text.h"

enum { PARAMETERS_MAX = 256 };

/* One launch while it is evaluated. */
typedef struct ptx_launch {
    lab_check_session *session;
    lab_check_launch *launch;
    const rung_emulator_kernel_info *info;
    lab_ptx_parameter types[PARAMETERS_MAX];
    int type_count;
    lab_integer_name names[LAB_LINE_ARGUMENTS_MAX]; /* integer arguments so far */
    int name_count;
    char *why;
    size_t capacity;
} ptx_launch_t;

/* ---- Kernels ---- */

static void list_kernels(const lab_check_session *session, char *text, size_t capacity)
{
    *text = '\0';
    for (int64_t i = 0; i < rung_emulator_kernel_count(session->module); i++)
        lab_append(text, capacity, "%s%s", *text ? ", " : "",
                   rung_emulator_kernel_get_info(rung_emulator_kernel_at(session->module, i))->name);
}

/* Finds the kernel by its name or by a part of the name, because names may be mangled. */
static bool find_kernel(ptx_launch_t *own)
{
    lab_check_session *session = own->session;
    rungi_string_view wanted = own->launch->line->kernel;
    char names[1024], part[256];
    int64_t found = 0, count = rung_emulator_kernel_count(session->module);
    snprintf(part, sizeof part, "%.*s", LAB_VIEW(wanted));
    for (int64_t i = 0; i < count; i++) {
        rung_emulator_kernel *kernel = rung_emulator_kernel_at(session->module, i);
        const char *name = rung_emulator_kernel_get_info(kernel)->name;
        bool is_same = strcmp(name, part) == 0;
        if (!is_same && !strstr(name, part))
            continue;
        own->launch->kernel = kernel;
        found = is_same ? 1 : found + 1;
        if (is_same)
            break;
    }
    if (found == 1)
        return true;
    list_kernels(session, names, sizeof names);
    if (count == 0)
        return lab_set_reason(own->why, own->capacity, "the file has no kernel (.entry)");
    if (wanted.length > 0)
        return lab_set_reason(own->why, own->capacity, "kernel=%s matches %lld kernels; the kernels are: %s", part,
                              (long long)found, names);
    return lab_set_reason(own->why, own->capacity, "the file has %lld kernels; add kernel=NAME with one of: %s",
                          (long long)count, names);
}

/* ---- Arguments ---- */

/* Reads p0, p1 and so on. Returns -1 for other names. */
static int64_t parameter_index(const ptx_launch_t *own, rungi_string_view name)
{
    int64_t index = 0;
    if (name.length < 2 || name.length > 5 || *name.text != 'p')
        return -1;
    for (size_t i = 1; i < name.length; i++) {
        if (name.text[i] < '0' || name.text[i] > '9')
            return -1;
        index = 10 * index + name.text[i] - '0';
    }
    return index < own->info->parameter_count ? index : -1;
}

static const char *type_of(const ptx_launch_t *own, int64_t parameter)
{
    return parameter < own->type_count ? own->types[parameter].type : "";
}

static bool parse_number(rungi_string_view text, double *value)
{
    char copy[64], *end;
    if (text.length == 0 || text.length >= sizeof copy)
        return false;
    memcpy(copy, text.text, text.length);
    copy[text.length] = '\0';
    size_t last = text.length - 1;
    if ((copy[last] == 'f' || copy[last] == 'F') && strchr(copy, '.')) /* 2.5f */
        copy[last] = '\0';
    *value = strtod(copy, &end);
    return *copy && !*end;
}

/* Stores a number that has no integer value, or for which the parameter has a type of floating point. */
static bool store_float(ptx_launch_t *own, const lab_launch_argument *argument, int64_t parameter, double value)
{
    unsigned char *to = own->launch->parameters + own->info->parameter_offsets[parameter];
    int64_t bytes = own->info->parameter_bytes[parameter];
    if (bytes != 2 && bytes != 4 && bytes != 8)
        return lab_set_reason(own->why, own->capacity, "%.*s=%.*s: the parameter has %lld bytes, which is no number",
                              LAB_VIEW(argument->name), LAB_VIEW(argument->value), (long long)bytes);
    lab_element_write(bytes == 8 ? LAB_ELEMENT_f64 : bytes == 4 ? LAB_ELEMENT_f32 : LAB_ELEMENT_f16, to, 0, value);
    return true;
}

static bool store_scalar(ptx_launch_t *own, const lab_launch_argument *argument, int64_t parameter)
{
    unsigned char *to = own->launch->parameters + own->info->parameter_offsets[parameter];
    int64_t bytes = own->info->parameter_bytes[parameter], value;
    const char *type = type_of(own, parameter);
    double number;
    char reason[512];
    bool is_integer = lab_integer_evaluate(argument->value, own->names, own->name_count, &value, reason, sizeof reason);
    bool is_number = parse_number(argument->value, &number);
    if (*type == 'f' && (is_number || is_integer))
        return store_float(own, argument, parameter, is_number ? number : (double)value);
    if (!is_integer && is_number && *type == 'b')
        return store_float(own, argument, parameter, number);
    if (!is_integer)
        return lab_set_reason(own->why, own->capacity, "%.*s=%.*s (parameter of type .%s): %s",
                              LAB_VIEW(argument->name), LAB_VIEW(argument->value), *type ? type : "?", reason);
    if (bytes > 8)
        return lab_set_reason(own->why, own->capacity,
                              "%.*s=%.*s: the parameter has %lld bytes; arguments are numbers and arrays",
                              LAB_VIEW(argument->name), LAB_VIEW(argument->value), (long long)bytes);
    int64_t limit = bytes < 8 ? (int64_t)1 << (8 * bytes) : 0;
    if (limit > 0 && (value >= limit || value < -limit / 2))
        return lab_set_reason(own->why, own->capacity, "%.*s=%.*s does not fit the %lld bytes of the parameter",
                              LAB_VIEW(argument->name), LAB_VIEW(argument->value), (long long)bytes);
    memcpy(to, &value, (size_t)bytes);
    own->names[own->name_count++] = (lab_integer_name){argument->name, value};
    return true;
}

/* Stores the numbers first, because counts use them. */
static bool store_scalars(ptx_launch_t *own)
{
    const lab_launch_line *line = own->launch->line;
    bool is_given[PARAMETERS_MAX] = {false};
    int64_t count = own->info->parameter_count;
    for (int i = 0; i < line->argument_count; i++) {
        const lab_launch_argument *argument = &line->arguments[i];
        int64_t parameter = parameter_index(own, argument->name);
        if (parameter < 0 && argument->is_array)
            continue; /* a variable */
        if (parameter < 0)
            return lab_set_reason(own->why, own->capacity,
                                  count > 0 ? "%s has no parameter %.*s; in PTX, parameters are p0 to p%lld"
                                            : "%s has no parameter %.*s; it has none at all (%lld)",
                                  own->info->name, LAB_VIEW(argument->name), (long long)(count - (count > 0)));
        is_given[parameter] = true;
        if (!argument->is_array && !lab_check_names_array(own->session, line, argument->value) &&
            !store_scalar(own, argument, parameter))
            return false;
    }
    for (int64_t i = 0; i < count; i++)
        if (!is_given[i])
            return lab_set_reason(own->why, own->capacity,
                                  "the parameter p%lld (.%s, %lld bytes) of %s has no value; add p%lld=VALUE or "
                                  "p%lld=TYPE[COUNT]",
                                  (long long)i, type_of(own, i), (long long)own->info->parameter_bytes[i],
                                  own->info->name, (long long)i, (long long)i);
    return true;
}

static bool store_pointers(ptx_launch_t *own)
{
    const lab_launch_line *line = own->launch->line;
    char reason[512];
    for (int i = 0; i < line->argument_count; i++) {
        const lab_launch_argument *argument = &line->arguments[i];
        int64_t parameter = parameter_index(own, argument->name), count = 0;
        if (!argument->is_array && !lab_check_names_array(own->session, line, argument->value))
            continue;
        if (parameter >= 0 && own->info->parameter_bytes[parameter] != 8)
            return lab_set_reason(
                own->why, own->capacity, "%.*s=%.*s is an array, but the parameter has %lld bytes; a pointer has 8",
                LAB_VIEW(argument->name), LAB_VIEW(argument->value), (long long)own->info->parameter_bytes[parameter]);
        if (argument->is_array &&
            !lab_integer_evaluate(argument->count, own->names, own->name_count, &count, reason, sizeof reason))
            return lab_set_reason(own->why, own->capacity, "%.*s: %s", LAB_VIEW(argument->name), reason);
        if (parameter >= 0)
            lab_check_add_pointer(own->launch, argument, own->info->parameter_offsets[parameter], count);
        else if (!lab_check_add_variable(own->session, own->launch, argument, count))
            return lab_set_reason(own->why, own->capacity,
                                  "%s has no parameter %.*s, and the file has no variable of this name; parameters are "
                                  "p0, p1, ...",
                                  own->info->name, LAB_VIEW(argument->name));
    }
    return true;
}

/* ---- Launches ---- */

/* Evaluates up to three expressions that commas separate. */
static bool evaluate_dimensions(ptx_launch_t *own, const char *key, rungi_string_view list, uint32_t *to)
{
    char reason[512];
    int depth = 0, dimension = 0;
    const char *start = list.text;
    for (size_t i = 0; list.length > 0 && i <= list.length; i++) {
        const char *at = list.text + i;
        bool is_end = i == list.length;
        if (!is_end)
            depth += (*at == '(') - (*at == ')');
        if (!is_end && (*at != ',' || depth > 0))
            continue;
        int64_t value;
        if (dimension == 3)
            return lab_set_reason(own->why, own->capacity, "%s=%.*s has more than three numbers", key, LAB_VIEW(list));
        if (!lab_integer_evaluate(rungi_string_view_of(start, (size_t)(at - start)), own->names, own->name_count,
                                  &value, reason, sizeof reason))
            return lab_set_reason(own->why, own->capacity, "%s=%.*s: %s", key, LAB_VIEW(list), reason);
        if (value < 0 || value > UINT32_MAX)
            return lab_set_reason(own->why, own->capacity, "%s=%.*s is %lld; use numbers from 1 to 2147483647", key,
                                  LAB_VIEW(list), (long long)value);
        to[dimension++] = (uint32_t)value;
        start = at + 1;
    }
    return true;
}

static bool evaluate(ptx_launch_t *own)
{
    lab_check_launch *launch = own->launch;
    const lab_launch_line *line = launch->line;
    char reason[512];
    for (int i = 0; i < 3; i++)
        launch->grid[i] = launch->block[i] = 1;
    if (line->templates.length > 0)
        return lab_set_reason(own->why, own->capacity, "template= is for CUDA C++ files; PTX has no templates");
    if (!store_scalars(own) || !store_pointers(own))
        return false;
    if (line->shared.length > 0 &&
        !lab_integer_evaluate(line->shared, own->names, own->name_count, &launch->shared_bytes, reason, sizeof reason))
        return lab_set_reason(own->why, own->capacity, "shared=%.*s: %s", LAB_VIEW(line->shared), reason);
    return evaluate_dimensions(own, "grid", line->grid, launch->grid) &&
           evaluate_dimensions(own, "block", line->block, launch->block) &&
           evaluate_dimensions(own, "cluster", line->cluster, launch->cluster);
}

static bool prepare(ptx_launch_t *own)
{
    if (!find_kernel(own))
        return false;
    own->info = rung_emulator_kernel_get_info(own->launch->kernel);
    own->launch->name = strdup(own->info->name);
    if (!own->launch->name)
        return lab_set_reason(own->why, own->capacity, "out of memory");
    int64_t count = own->info->parameter_count;
    own->launch->parameter_bytes = count == 0 ? 0
                                              : own->info->parameter_offsets[count - 1] +
                                                    own->info->parameter_bytes[count - 1];
    if (own->launch->parameter_bytes > LAB_CHECK_PARAMETER_BYTES || count > PARAMETERS_MAX)
        return lab_set_reason(own->why, own->capacity, "the parameters of %s are too large", own->info->name);
    own->type_count = lab_ptx_parameters_read(own->session->text, own->session->bytes, own->info->name, own->types,
                                              PARAMETERS_MAX);
    return evaluate(own);
}

bool lab_check_open_ptx(lab_check_session *session, char *why, size_t capacity)
{
    char reason[1024], place[64];
    if (!lab_check_load(session, session->text, session->bytes, why, capacity))
        return false;
    ptx_launch_t *own = malloc(sizeof *own);
    bool good = own != NULL;
    for (int i = 0; good && i < session->lines.count; i++) {
        session->launches[i].line = &session->lines.items[i];
        *own = (ptx_launch_t){
            .session = session, .launch = &session->launches[i], .why = reason, .capacity = sizeof reason};
        good = prepare(own);
        if (!good)
            lab_set_reason(why, capacity, "%s: %s",
                           lab_check_place(session, &session->lines.items[i], place, sizeof place), reason);
    }
    if (!own)
        lab_set_reason(why, capacity, "out of memory");
    free(own);
    return good;
}
