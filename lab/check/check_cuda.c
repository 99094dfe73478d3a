/* SPDX-License-Identifier: Apache-2.0 */
/* check_cuda.c - the launches of a CUDA file: finds kernels and parameters in the outline, compiles the file with the
 * program that evaluates the launches, and runs this program on the emulator. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <stdio.h>
#include <string.h>

#include "base/try.h"
#include "check/check_program.h"
#include "check/check_session.h"
#include "check/kernel_choice.h"
#include "common/failure.h"
#include "common/text.h"

/* ---- Kernels ---- */

/* Returns the expression that names a kernel, for free(). */
static char *write_name(const lab_check_session *session, const lab_launch_line *line,
                        const lab_cuda_function *function)
{
    char text[2048];
    rungi_string_view plain = lab_cuda_name(&session->outline, function->name);
    snprintf(text, sizeof text, "%s%.*s", function->scope, LAB_VIEW(plain));
    rungi_string_view templates = lab_check_templates(session, line, function);
    if (templates.length > 0)
        lab_append(text, sizeof text, "<%.*s>", LAB_VIEW(templates));
    else if (function->template_count > 0)
        lab_append(text, sizeof text, "<>");
    return strdup(text);
}

static bool check_templates(const lab_check_session *session, const lab_cuda_function *function,
                            const lab_launch_line *line, char *why, size_t capacity)
{
    rungi_string_view plain = lab_cuda_name(&session->outline, function->name);
    char names[256] = "";
    bool is_missing = false;
    for (int i = 0; i < function->template_count; i++) {
        const lab_cuda_parameter *parameter = &function->template_parameters[i];
        rungi_string_view name = lab_cuda_name(&session->outline, parameter->name);
        lab_append(names, sizeof names, "%s%.*s", *names ? ", " : "", LAB_VIEW(name));
        is_missing = is_missing || parameter->preset.last < parameter->preset.first;
    }
    if (is_missing && lab_check_templates(session, line, function).length == 0)
        return lab_set_reason(why, capacity, "%.*s is a template; add template=ARGUMENTS, separated by commas, for: %s",
                              LAB_VIEW(plain), names);
    return true;
}

/* ---- Parameters ---- */

/* Appends "const float *x". */
static void append_parameter(const lab_check_session *session, const lab_cuda_function *function, int index, char *text,
                             size_t capacity)
{
    const lab_cuda_parameter *parameter = &function->parameters[index];
    rungi_string_view type = lab_tokens_text(&session->outline.tokens, parameter->type.first, parameter->type.last);
    char name[LAB_CHECK_NAME_BYTES];
    lab_check_parameter_name(&session->outline, function, index, name, sizeof name);
    lab_append(text, capacity, "%.*s %s", LAB_VIEW(type), name);
}

static void list_parameters(const lab_check_session *session, const lab_cuda_function *function, char *text,
                            size_t capacity)
{
    *text = '\0';
    for (int i = 0; i < function->parameter_count; i++) {
        lab_append(text, capacity, "%s", i > 0 ? ", " : "");
        append_parameter(session, function, i, text, capacity);
    }
}

/* Returns whether the words of the type name a number. Only the compiler knows other names of types. */
static bool is_number(const lab_check_session *session, const lab_cuda_parameter *parameter)
{
    const lab_tokens *tokens = &session->outline.tokens;
    bool is_float = false;
    for (int i = parameter->type.first; i <= parameter->type.last; i++)
        is_float = is_float || lab_token_is(tokens, i, "float") || lab_token_is(tokens, i, "double");
    return !lab_check_is_pointer(&session->outline, parameter) &&
           (is_float || lab_cuda_looks_integer(tokens, parameter->type));
}

/* Explains that a parameter takes no array. */
static bool refuse_array(const lab_check_session *session, const lab_cuda_function *function,
                         const lab_launch_argument *argument, int parameter, char *why, size_t capacity)
{
    char wanted[256] = "";
    append_parameter(session, function, parameter, wanted, sizeof wanted);
    return lab_set_reason(why, capacity, "%.*s=%.*s is an array, but the parameter is no pointer: %s; write %.*s=VALUE",
                          LAB_VIEW(argument->name), LAB_VIEW(argument->value), wanted, LAB_VIEW(argument->name));
}

static bool is_null(rungi_string_view value)
{
    return rungi_string_view_equals(value, "0") || rungi_string_view_equals(value, "NULL") ||
           rungi_string_view_equals(value, "nullptr");
}

/* Explains which values a pointer takes. */
static bool refuse_value(const lab_check_session *session, const lab_cuda_function *function,
                         const lab_launch_argument *argument, int parameter, char *why, size_t capacity)
{
    char wanted[256] = "";
    append_parameter(session, function, parameter, wanted, sizeof wanted);
    return lab_set_reason(why, capacity,
                          "%.*s=%.*s is not valid for the pointer %s; write %.*s=TYPE[COUNT], the name of another "
                          "array, or 0",
                          LAB_VIEW(argument->name), LAB_VIEW(argument->value), wanted, LAB_VIEW(argument->name));
}

/* Finds the parameter of an argument. */
static bool match_argument(const lab_check_session *session, const lab_cuda_function *function,
                           lab_check_program_launch *launch, int index, char *why, size_t capacity)
{
    const lab_launch_argument *argument = &launch->line->arguments[index];
    int parameter = launch->parameters[index] = lab_check_find_parameter(&session->outline, function, argument->name);
    bool is_whole = !memchr(argument->name.text, '.', argument->name.length);
    launch->is_pointer[index] = argument->is_array || lab_check_names_array(session, launch->line, argument->value);
    if (parameter < 0 && is_whole && argument->is_array)
        return true; /* perhaps a variable; the module is loaded later */
    if (parameter < 0) {
        char list[1024];
        list_parameters(session, function, list, sizeof list);
        return lab_set_reason(why, capacity, "%s has no parameter %.*s; its parameters are: %s", launch->name,
                              LAB_VIEW(argument->name), list);
    }
    if (is_whole && argument->is_array && is_number(session, &function->parameters[parameter]))
        return refuse_array(session, function, argument, parameter, why, capacity);
    if (is_whole && lab_check_is_pointer(&session->outline, &function->parameters[parameter]) &&
        !launch->is_pointer[index] && !is_null(argument->value))
        return refuse_value(session, function, argument, parameter, why, capacity);
    return true;
}

/* Finds the parameters of all arguments. Every parameter needs a value. */
static bool match_arguments(const lab_check_session *session, const lab_cuda_function *function,
                            lab_check_program_launch *launch, char *why, size_t capacity)
{
    bool is_given[LAB_CUDA_PARAMETERS_MAX] = {false};
    for (int i = 0; i < launch->line->argument_count; i++) {
        if (!match_argument(session, function, launch, i, why, capacity))
            return false;
        if (launch->parameters[i] >= 0)
            is_given[launch->parameters[i]] = true;
    }
    for (int i = 0; i < function->parameter_count; i++) {
        char name[LAB_CHECK_NAME_BYTES], wanted[256] = "";
        if (is_given[i])
            continue;
        lab_check_parameter_name(&session->outline, function, i, name, sizeof name);
        append_parameter(session, function, i, wanted, sizeof wanted);
        return lab_set_reason(
            why, capacity, "the parameter %s of %s has no value; add %s=%s", wanted, launch->name, name,
            lab_check_is_pointer(&session->outline, &function->parameters[i]) ? "TYPE[COUNT], such as f32[1024]"
                                                                              : "VALUE");
    }
    return true;
}

/* ---- Evaluation ---- */

/* Checks that the type of an array fits the parameter. */
static bool check_pointer(const lab_check_session *session, const lab_check_program_launch *launch, int index,
                          const long long *results, char *why, size_t capacity)
{
    const lab_launch_argument *argument = &launch->line->arguments[index];
    const lab_cuda_function *function = &session->outline.functions[launch->kernel];
    long long bytes = results[LAB_CHECK_ARGUMENT_BYTES], kind = results[LAB_CHECK_ARGUMENT_KIND];
    char parameter[256] = "";
    append_parameter(session, function, launch->parameters[index], parameter, sizeof parameter);
    if (bytes < 0)
        return refuse_array(session, function, argument, launch->parameters[index], why, capacity);
    if (!argument->is_array)
        return true;
    int64_t own = lab_element_type_bytes(argument->type);
    bool is_float = lab_element_type_kind(argument->type) == LAB_KIND_FLOAT;
    bool fits = kind == LAB_POINTED_OTHER ? bytes == 0 || bytes % own == 0 || own % bytes == 0
                                          : bytes == own && is_float == (kind == LAB_POINTED_FLOAT);
    if (fits)
        return true;
    return lab_set_reason(why, capacity, "%.*s=%.*s does not fit the parameter %s, whose elements have %lld bytes%s",
                          LAB_VIEW(argument->name), LAB_VIEW(argument->value), parameter, bytes,
                          kind == LAB_POINTED_FLOAT     ? (bytes == 4 ? "; use f32" : "; use f64")
                          : kind == LAB_POINTED_INTEGER ? "; use an integer type of this size"
                                                        : "");
}

/* Explains that a parameter takes whole numbers. */
static bool refuse_fraction(const lab_check_session *session, const lab_check_program_launch *launch, int index,
                            char *why, size_t capacity)
{
    const lab_launch_argument *argument = &launch->line->arguments[index];
    char wanted[256] = "";
    append_parameter(session, &session->outline.functions[launch->kernel], launch->parameters[index], wanted,
                     sizeof wanted);
    return lab_set_reason(why, capacity, "%.*s=%.*s is not a whole number, and the parameter is an integer: %s",
                          LAB_VIEW(argument->name), LAB_VIEW(argument->value), wanted);
}

/* Copies the values of the parameters to the buffer, and adds the pointers. */
static bool take_results(lab_check_session *session, lab_check_launch *launch, const lab_check_program_launch *source,
                         const long long *results, const unsigned char *values, char *why, size_t capacity)
{
    const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(launch->kernel);
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = (uint32_t)results[LAB_CHECK_RESULT_GRID + i];
        launch->block[i] = (uint32_t)results[LAB_CHECK_RESULT_BLOCK + i];
        launch->cluster[i] = (uint32_t)results[LAB_CHECK_RESULT_CLUSTER + i];
    }
    launch->shared_bytes = results[LAB_CHECK_RESULT_SHARED];
    for (int64_t i = 0; i < info->parameter_count && i < LAB_CUDA_PARAMETERS_MAX; i++) {
        int64_t end = info->parameter_offsets[i] + info->parameter_bytes[i];
        if (end > LAB_CHECK_PARAMETER_BYTES || info->parameter_bytes[i] > LAB_CHECK_VALUE_BYTES)
            return lab_set_reason(why, capacity, "the parameters of %s are too large", launch->name);
        memcpy(launch->parameters + info->parameter_offsets[i], values + i * LAB_CHECK_VALUE_BYTES,
               (size_t)info->parameter_bytes[i]);
        launch->parameter_bytes = end;
    }
    for (int i = 0; i < launch->line->argument_count; i++) {
        const long long *own = results + LAB_CHECK_RESULT_ARGUMENTS + i * LAB_CHECK_ARGUMENT_RESULTS;
        if (own[LAB_CHECK_ARGUMENT_IS_CUT])
            return refuse_fraction(session, source, i, why, capacity);
        if (!source->is_pointer[i])
            continue;
        if (source->parameters[i] < 0) {
            if (!lab_check_add_variable(session, launch, &launch->line->arguments[i], own[LAB_CHECK_ARGUMENT_COUNT]))
                return lab_set_reason(why, capacity,
                                      "%s has no parameter %.*s, and the file has no variable of this name that its "
                                      "kernels use",
                                      launch->name, LAB_VIEW(launch->line->arguments[i].name));
            continue;
        }
        if (!check_pointer(session, source, i, own, why, capacity))
            return false;
        lab_check_add_pointer(launch, &launch->line->arguments[i],
                              info->parameter_offsets[source->parameters[i]] + own[LAB_CHECK_ARGUMENT_OFFSET],
                              own[LAB_CHECK_ARGUMENT_COUNT]);
    }
    return true;
}

static rung_status run_program(lab_check_session *session, int index, long long *results, unsigned char *values)
{
    rung_emulator *emulator = session->emulator;
    rung_emulator_kernel *kernel;
    uint64_t out, bytes;
    char name[64];
    const int64_t result_bytes = LAB_CHECK_RESULTS * (int64_t)sizeof *results;
    snprintf(name, sizeof name, "rung_check_launch_%d", index);
    TRY(rung_emulator_kernel_find(session->module, name, &kernel));
    TRY(rung_emulator_allocate(emulator, result_bytes, "results", &out));
    TRY(rung_emulator_allocate(emulator, LAB_CHECK_VALUES_BYTES, "values", &bytes));
    TRY(rung_emulator_write(emulator, out, results, result_bytes));
    TRY(rung_emulator_write(emulator, bytes, values, LAB_CHECK_VALUES_BYTES));
    void *arguments[] = {&out, &bytes};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 1, arguments);
    TRY(rung_emulator_launch_kernel(kernel, &launch));
    TRY(rung_emulator_read(emulator, out, results, result_bytes));
    TRY(rung_emulator_read(emulator, bytes, values, LAB_CHECK_VALUES_BYTES));
    TRY(rung_emulator_free(emulator, out));
    return rung_emulator_free(emulator, bytes);
}

static bool evaluate(lab_check_session *session, int index, const lab_check_program_launch *source, char *why,
                     size_t capacity)
{
    lab_check_launch *launch = &session->launches[index];
    long long results[LAB_CHECK_RESULTS] = {0};
    unsigned char *values = calloc(1, LAB_CHECK_VALUES_BYTES);
    bool good = values != NULL;
    if (!good)
        lab_set_reason(why, capacity, "out of memory");
    else if (run_program(session, index, results, values) != RUNG_OK ||
             rung_emulator_kernel_find(session->module, session->code.lowered[index], &launch->kernel) != RUNG_OK)
        good = lab_set_reason(why, capacity, "the launch could not be evaluated: %s", rung_error_text());
    else
        good = take_results(session, launch, source, results, values, why, capacity);
    free(values);
    return good;
}

/* ---- Compilation ---- */

/* Compiles the file with a text appended. */
static lab_cuda_compile_status compile(lab_check_session *session, const lab_check_program_launch *launches,
                                       const char *appended, char *why, size_t capacity)
{
    size_t length = strlen(appended);
    const char *names[LAB_LINES_MAX], *items[2 * LAB_REPEATED_MAX + 1];
    int item_count = 0;
    char *text = malloc(session->bytes + length + 1);
    if (!text) {
        lab_set_reason(why, capacity, "out of memory");
        return LAB_CUDA_FAILED;
    }
    memcpy(text, session->text, session->bytes);
    memcpy(text + session->bytes, appended, length + 1);
    for (int i = 0; i < session->lines.count; i++)
        names[i] = launches[i].expression;
    for (int i = 0; i < session->source_options.count; i++)
        items[item_count++] = session->source_options.items[i];
    if (session->is_unoptimised)
        items[item_count++] = "-G";
    lab_cuda_job job = {.file = session->path,
                        .text = text,
                        .bytes = session->bytes + length,
                        .architecture = session->architecture,
                        .names = names,
                        .name_count = session->lines.count,
                        .options = items,
                        .option_count = item_count};
    lab_cuda_code_free(&session->code);
    lab_cuda_compile_status status = lab_cuda_compile(&job, &session->code, why, capacity);
    free(text);
    return status;
}

/* Appends the first error of the compiler's log. */
static void append_error(const lab_check_session *session, char *text, size_t capacity)
{
    const char *found = session->code.log ? strstr(session->code.log, "error") : NULL, *start = found;
    while (start && start > session->code.log && start[-1] != '\n')
        start--;
    if (found)
        lab_append(text, capacity, ": %.*s", (int)strcspn(start, "\n"), start);
}

/* Compiles the file with the program that evaluates the launches. */
static lab_cuda_compile_status compile_launches(lab_check_session *session, const lab_check_program_launch *launches,
                                                char *why, size_t capacity)
{
    char *program = lab_check_program_write(&session->outline, launches, session->lines.count);
    if (!program) {
        lab_set_reason(why, capacity, "out of memory");
        return LAB_CUDA_FAILED;
    }
    lab_cuda_compile_status status = compile(session, launches, program, why, capacity);
    free(program);
    return status;
}

/* Names kernels with a cast to their types. A header may have a function of the same name. */
static lab_cuda_compile_status compile_with_casts(lab_check_session *session, const lab_check_program_launch *launches,
                                                  char *why, size_t capacity)
{
    enum { CAST_BYTES = 2048 };
    size_t count = (size_t)session->lines.count;
    char *casts = calloc(count, CAST_BYTES);
    lab_check_program_launch *changed = calloc(count, sizeof *changed);
    lab_cuda_compile_status status = LAB_CUDA_REJECTED;
    for (size_t i = 0; casts && changed && i < count; i++) {
        changed[i] = launches[i];
        changed[i].is_cast = lab_check_write_cast(&session->outline, &session->outline.functions[launches[i].kernel],
                                                  casts + i * CAST_BYTES, CAST_BYTES);
        if (changed[i].is_cast)
            changed[i].expression = casts + i * CAST_BYTES;
    }
    if (casts && changed)
        status = compile_launches(session, changed, why, capacity);
    free(casts);
    free(changed);
    return status;
}

/* Compiles the file with the program. If the compiler rejects it, finds out whether the file or a launch is at fault. */
static bool compile_program(lab_check_session *session, const lab_check_program_launch *launches, char *why,
                            size_t capacity)
{
    char reason[1024] = "", ignored[1024];
    lab_cuda_compile_status status = compile_launches(session, launches, why, capacity);
    if (status != LAB_CUDA_REJECTED)
        return status == LAB_CUDA_COMPILED;
    append_error(session, reason, sizeof reason);
    if (compile_with_casts(session, launches, ignored, sizeof ignored) == LAB_CUDA_COMPILED)
        return true;
    status = compile(session, launches, "", why, capacity);
    if (status == LAB_CUDA_COMPILED)
        return lab_set_reason(why, capacity, "the compiler rejects the description of the launch%s", reason);
    append_error(session, why, capacity);
    return false;
}

static bool prepare(lab_check_session *session, lab_check_program_launch *launches, char *why, size_t capacity)
{
    char reason[1024], place[64];
    for (int i = 0; i < session->lines.count; i++) {
        const lab_launch_line *line = &session->lines.items[i];
        lab_check_launch *launch = &session->launches[i];
        int kernel = -1;
        bool good = lab_check_find_kernel(session, line, &kernel, reason, sizeof reason);
        const lab_cuda_function *function = good ? &session->outline.functions[kernel] : NULL;
        if (good) {
            launch->line = line;
            launch->source_line = session->outline.tokens.items[function->name].line;
            launch->name = write_name(session, line, function);
            launches[i] = (lab_check_program_launch){
                .line = line, .kernel = kernel, .name = launch->name, .expression = launch->name};
            good = launch->name && check_templates(session, function, line, reason, sizeof reason) &&
                   match_arguments(session, function, &launches[i], reason, sizeof reason);
        }
        if (!good)
            return lab_set_reason(why, capacity, "%s: %s", lab_check_place(session, line, place, sizeof place), reason);
    }
    return true;
}

bool lab_check_open_cuda(lab_check_session *session, char *why, size_t capacity)
{
    lab_check_program_launch *launches = calloc((size_t)session->lines.count + 1, sizeof *launches);
    char reason[1024], place[64];
    if (!launches)
        return lab_set_reason(why, capacity, "out of memory");
    bool good = prepare(session, launches, why, capacity) && compile_program(session, launches, why, capacity) &&
                lab_check_load(session, session->code.ptx, (size_t)session->code.ptx_bytes, why, capacity);
    for (int i = 0; good && i < session->lines.count; i++) {
        good = evaluate(session, i, &launches[i], reason, sizeof reason);
        if (!good)
            lab_set_reason(why, capacity, "%s: %s", lab_check_place(session, launches[i].line, place, sizeof place),
                           reason);
    }
    free(launches);
    return good;
}
