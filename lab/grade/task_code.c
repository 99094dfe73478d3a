/* SPDX-License-Identifier: Apache-2.0 */
/* task_code.c - see task_code.h. */
#define _GNU_SOURCE /* strdup */
#include "grade/task_code.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check/kernel_choice.h"
#include "cli/nearest_word.h"
#include "common/failure.h"
#include "common/text.h"
#include "cuda_source/cuda_compiler.h"
#include "cuda_source/cuda_constants.h"
#include "grade/variant.h"
#include "io/input_file.h"

enum { SOURCE_BYTES_MAX = 1 << 20, PTX_MIB_MAX = 16, NAMES_MAX = 64 };

/* /dev/null is no folder, so that nothing can be in it. */
#define NO_FOLDER "/dev/null/"

void lab_task_compiled_path(const char *path, char *compiled, size_t capacity)
{
    snprintf(compiled, capacity, NO_FOLDER "%s", lab_base_name(path));
}

/* ---- Constants and expressions ---- */

static rungi_string_view view_of(const char *text)
{
    return rungi_string_view_of(text, strlen(text));
}

/* Adds the constants of the file whose values are integers. A constant may use those before it. */
static void read_constants(lab_task_code *code)
{
    const int64_t no_sizes[LAB_TASK_SIZES_MAX] = {0};
    static const lab_task no_task = {.size_count = 0};
    lab_task_code known = *code;
    lab_cuda_constant constant;
    char ignored[256];
    int64_t value;
    known.task = &no_task;
    for (int at = 0;
         code->constant_count < LAB_CONSTANTS_MAX && lab_cuda_constant_next(&code->outline.tokens, &at, &constant);) {
        if (!lab_task_code_evaluate(&known, no_sizes, constant.value, &value, ignored, sizeof ignored))
            continue;
        code->constants[code->constant_count++] = (lab_integer_name){constant.name, value};
        known.constants[known.constant_count++] = (lab_integer_name){constant.name, value};
    }
}

bool lab_task_code_evaluate(const lab_task_code *code, const int64_t *sizes, rungi_string_view expression,
                            int64_t *value, char *why, size_t capacity)
{
    lab_integer_name names[NAMES_MAX];
    const lab_task *task = code->task;
    int count = 0;
    for (int i = 0; i < task->size_count; i++)
        names[count++] = (lab_integer_name){view_of(task->sizes[i]), sizes[i]};
    for (int i = 0; i < task->argument_count; i++) {
        const lab_task_argument *argument = &task->arguments[i];
        if (argument->role != LAB_ROLE_SIZE)
            continue;
        names[count].name = view_of(argument->name);
        if (!lab_task_evaluate(task, sizes, argument->value, &names[count++].value, why, capacity))
            return false;
    }
    for (int i = 0; i < code->constant_count; i++)
        names[count++] = code->constants[i];
    return lab_integer_evaluate(expression, names, count, value, why, capacity);
}

/* ---- Kernels ---- */

static bool is_kernel(const lab_cuda_function *function)
{
    return function->kind == LAB_FUNCTION_KERNEL && function->body.last >= function->body.first && !function->is_member;
}

/* Finds a kernel by its name; by "" if there is only one. */
static int find_kernel(const lab_cuda_outline *outline, rungi_string_view name)
{
    int found = -1, count = 0;
    for (int i = 0; i < outline->function_count; i++) {
        if (!is_kernel(&outline->functions[i]))
            continue;
        if (name.length > 0 && rungi_string_views_equal(lab_cuda_name(outline, outline->functions[i].name), name))
            return i;
        found = i;
        count++;
    }
    return name.length == 0 && count == 1 ? found : -1;
}

/* Finds the kernel of a launch line: the one it names, the task's kernel, or the only one. */
static bool choose_kernel(const lab_task_code *code, const char *kernel, lab_task_launch *launch, char *why,
                          size_t capacity)
{
    bool is_given = launch->line->kernel.length > 0;
    rungi_string_view name = is_given ? launch->line->kernel : view_of(kernel);
    launch->function = find_kernel(&code->outline, name);
    if (launch->function < 0 && !is_given)
        launch->function = find_kernel(&code->outline, view_of(""));
    if (launch->function >= 0)
        return true;
    char list[512] = "";
    lab_check_list_kernels(&code->outline, list, sizeof list);
    if (!*list)
        return lab_set_reason(why, capacity, "the file has no kernel; a kernel begins with __global__ void %.*s(",
                              LAB_VIEW(name));
    return lab_set_reason(why, capacity,
                          "the file has no kernel %.*s; its kernels are: %s. Rename one, or name it in the line // "
                          "rung: as kernel=NAME",
                          LAB_VIEW(name), list);
}

static void write_name(const lab_task_code *code, lab_task_launch *launch)
{
    const lab_cuda_function *function = &code->outline.functions[launch->function];
    rungi_string_view plain = lab_cuda_name(&code->outline, function->name), templates = launch->line->templates;
    snprintf(launch->name, sizeof launch->name, "%s%.*s", function->scope, LAB_VIEW(plain));
    if (templates.length > 0)
        lab_append(launch->name, sizeof launch->name, "<%.*s>", LAB_VIEW(templates));
    else if (function->template_count > 0)
        lab_append(launch->name, sizeof launch->name, "<>");
}

/* ---- Parameters ---- */

static int find_argument(const lab_task *task, const char *name)
{
    for (int i = 0; i < task->argument_count; i++)
        if (strcmp(task->arguments[i].name, name) == 0)
            return i;
    return -1;
}

static const lab_launch_argument *find_own(const lab_launch_lines *lines, const lab_launch_line *line, const char *name)
{
    for (int i = 0; i < line->argument_count; i++)
        if (rungi_string_view_equals(line->arguments[i].name, name))
            return &line->arguments[i];
    for (const lab_launch_line *other = lines->items; other < line; other++) /* arrays are shared */
        for (int i = 0; i < other->argument_count; i++)
            if (other->arguments[i].is_array && rungi_string_view_equals(other->arguments[i].name, name))
                return &other->arguments[i];
    return NULL;
}

/* Connects a parameter with what the launch line gives for it: an array, the name of an array, or a number. */
static bool take_own(const lab_task_code *code, const lab_launch_line *line, const lab_launch_argument *own,
                     lab_task_parameter *parameter, char *why, size_t capacity)
{
    char name[LAB_CHECK_NAME_BYTES];
    parameter->own = own;
    parameter->kind = own->is_array ? LAB_PARAMETER_OWN_ARRAY : LAB_PARAMETER_NUMBER;
    if (own->is_array && own->has_contents && own->contents != LAB_CONTENTS_zero && own->contents != LAB_CONTENTS_none)
        return lab_set_reason(why, capacity, "%.*s=%.*s: an array of a submission is zero or none (uninitialised)",
                              LAB_VIEW(own->name), LAB_VIEW(own->value));
    if (own->is_array || !parameter->is_pointer)
        return true;
    snprintf(name, sizeof name, "%.*s", LAB_VIEW(own->value));
    const lab_launch_argument *array = find_own(&code->lines, line, name);
    parameter->argument = find_argument(code->task, name);
    parameter->kind = array && array->is_array ? LAB_PARAMETER_OWN_ARRAY : LAB_PARAMETER_ARGUMENT;
    parameter->own = array;
    return (array && array->is_array) || parameter->argument >= 0 ||
           lab_set_reason(why, capacity, "%.*s=%s: there is no array %s", LAB_VIEW(own->name), name, name);
}

/* Checks that the words of a parameter's type fit the task's argument. */
static bool check_type(const lab_task_code *code, const lab_cuda_parameter *parameter, const char *name,
                       const lab_task_argument *argument, char *why, size_t capacity)
{
    rungi_string_view words = lab_tokens_text(&code->outline.tokens, parameter->type.first, parameter->type.last);
    lab_element_type type = lab_check_pointed_type(&code->outline.tokens, parameter->type);
    bool is_pointer = lab_check_is_pointer(&code->outline, parameter), is_array = lab_role_is_array(argument->role);
    if (is_pointer != is_array)
        return lab_set_reason(why, capacity, "the parameter %.*s %s is %s, but %s of the task is %s", LAB_VIEW(words),
                              name, is_pointer ? "a pointer" : "no pointer", argument->name,
                              is_array ? "an array" : "a number");
    if (type == argument->type || type == LAB_ELEMENT_TYPE_COUNT)
        return true;
    if (lab_element_type_bytes(type) == lab_element_type_bytes(argument->type) &&
        lab_element_type_kind(type) != LAB_KIND_FLOAT && lab_element_type_kind(argument->type) != LAB_KIND_FLOAT)
        return true;
    if (is_pointer && memchr(words.text, '4', words.length)) /* float4 and others */
        return true;
    return lab_set_reason(why, capacity, "the parameter %.*s %s %s %s, but %s of the task has %s", LAB_VIEW(words),
                          name, is_array ? "has elements of type" : "has the type", lab_element_type_name(type),
                          argument->name, lab_element_type_name(argument->type));
}

static bool match_parameter(const lab_task_code *code, lab_task_launch *launch, int index, char *why, size_t capacity)
{
    const lab_cuda_function *function = &code->outline.functions[launch->function];
    const lab_cuda_parameter *source = &function->parameters[index];
    lab_task_parameter *parameter = &launch->parameters[index];
    char name[LAB_CHECK_NAME_BYTES];
    lab_check_parameter_name(&code->outline, function, index, name, sizeof name);
    *parameter = (lab_task_parameter){.argument = -1, .is_pointer = lab_check_is_pointer(&code->outline, source)};
    for (int i = source->type.first; i <= source->type.last; i++)
        parameter->is_float = parameter->is_float || lab_token_is(&code->outline.tokens, i, "float") ||
                              lab_token_is(&code->outline.tokens, i, "double");
    const lab_launch_argument *own = find_own(&code->lines, launch->line, name);
    if (own)
        return take_own(code, launch->line, own, parameter, why, capacity);
    bool by_position = function->parameter_count == code->task->argument_count &&
                       rungi_string_view_equals(lab_cuda_name(&code->outline, function->name), code->task->kernel);
    parameter->argument = by_position ? index : find_argument(code->task, name);
    if (parameter->argument >= 0)
        return check_type(code, source, name, &code->task->arguments[parameter->argument], why, capacity);
    return lab_set_reason(why, capacity,
                          "the parameter %s of %s is not an argument of the task; give it in the line // rung: of the "
                          "launch, for example %s=%s",
                          name, launch->name, name, parameter->is_pointer ? "f32[1024]:zero" : "1");
}

static bool check_line(const lab_task_code *code, const lab_task_launch *launch, char *why, size_t capacity)
{
    static const char *const words[] = {"grid", "block", "kernel", "shared", "cooperative", "template"};
    const lab_launch_line *line = launch->line;
    const lab_cuda_function *function = &code->outline.functions[launch->function];
    char name[LAB_CHECK_NAME_BYTES];
    for (int i = 0; i < line->argument_count; i++) {
        if (lab_check_find_parameter(&code->outline, function, line->arguments[i].name) >= 0)
            continue;
        snprintf(name, sizeof name, "%.*s", LAB_VIEW(line->arguments[i].name));
        const char *nearest = lab_nearest_word(name, words, (int)(sizeof words / sizeof *words));
        return lab_set_reason(why, capacity, "the line // rung: sets %s, but %s has no parameter %s%s%s%s", name,
                              launch->name, name, nearest ? " (did you mean " : "", nearest ? nearest : "",
                              nearest ? "=?)" : "");
    }
    if (line->grid.length == 0)
        return lab_set_reason(why, capacity, "the line // rung: lacks the number of blocks: grid=X[,Y[,Z]]");
    return line->block.length > 0 ||
           lab_set_reason(why, capacity, "the line // rung: lacks the threads per block: block=X[,Y[,Z]]");
}

static bool match_launches(lab_task_code *code, const char *kernel, char *why, size_t capacity)
{
    char reason[1024];
    code->launches = calloc((size_t)code->lines.count, sizeof *code->launches);
    if (!code->launches)
        return lab_set_reason(why, capacity, "out of memory");
    for (int i = 0; i < code->lines.count; i++) {
        lab_task_launch *launch = &code->launches[i];
        launch->line = &code->lines.items[i];
        bool good = choose_kernel(code, kernel, launch, reason, sizeof reason);
        if (good)
            write_name(code, launch);
        good = good && check_line(code, launch, reason, sizeof reason);
        int count = good ? code->outline.functions[launch->function].parameter_count : 0;
        for (int p = 0; good && p < count; p++)
            good = match_parameter(code, launch, p, reason, sizeof reason);
        if (!good)
            return lab_set_reason(why, capacity, "%s:%d: %s", lab_base_name(code->path), launch->line->line, reason);
    }
    return true;
}

/* ---- Compilation ---- */

/* Removes the folder that does not exist from the messages of the compiler. */
static void remove_folder(char *text)
{
    const size_t length = sizeof NO_FOLDER - 1;
    for (char *at = text; at && (at = strstr(at, NO_FOLDER)) != NULL;)
        memmove(at, at + length, strlen(at + length) + 1);
}

/* Appends the first errors of the compiler's log. */
static void append_errors(const lab_cuda_code *code, char *text, size_t capacity)
{
    enum { ERRORS_MAX = 3 };
    int count = 0;
    for (const char *at = code->log; at && *at && count < ERRORS_MAX;) {
        size_t length = strcspn(at, "\n");
        const char *error = strstr(at, "error"), *total = strstr(at, " detected in the compilation of ");
        if (error && error < at + length && !(total && total < at + length)) {
            lab_append(text, capacity, "%s%.*s", count++ == 0 ? ": " : "; ", (int)(length < 300 ? length : 300), at);
        }
        at += length + (at[length] == '\n');
    }
}

static bool wants_registers(const lab_task *task)
{
    for (int i = 0; i < task->part_count; i++)
        if (task->parts[i].kind == LAB_PART_METRIC &&
            (task->parts[i].metric == LAB_METRIC_OCCUPANCY || task->parts[i].metric == LAB_METRIC_REGISTERS))
            return true;
    return false;
}

static bool compile(lab_task_code *code, double seconds, lab_cuda_compile_status *status, char *why, size_t capacity)
{
    const char *names[LAB_LINES_MAX], *options[3];
    char compiled[LAB_TASK_PATH_BYTES], include[LAB_TASK_PATH_BYTES + 16];
    struct stat info;
    int option_count = 0;
    lab_task_compiled_path(code->path, compiled, sizeof compiled);
    snprintf(include, sizeof include, "%s/include", code->task->folder);
    bool has_registers = wants_registers(code->task);
    if (has_registers)
        options[option_count++] = "--ptxas-options=-v";
    if (stat(include, &info) == 0 && S_ISDIR(info.st_mode)) {
        options[option_count++] = "-I";
        options[option_count++] = include;
    }
    for (int i = 0; i < code->lines.count; i++)
        names[i] = code->launches[i].name;
    lab_cuda_job job = {.file = compiled,
                        .text = code->text,
                        .bytes = code->bytes,
                        .architecture = code->task->architecture,
                        .names = names,
                        .name_count = code->lines.count,
                        .options = options,
                        .option_count = option_count,
                        .seconds = seconds,
                        .memory_bytes = (int64_t)LAB_TASK_COMPILE_MIB << 20,
                        .wants_cubin = has_registers,
                        .is_untrusted = true};
    *status = lab_cuda_compile(&job, &code->code, why, capacity);
    remove_folder(code->code.log);
    remove_folder(why);
    if (*status == LAB_CUDA_REJECTED)
        append_errors(&code->code, why, capacity);
    if (*status == LAB_CUDA_COMPILED && code->code.ptx_bytes > (int64_t)PTX_MIB_MAX << 20) {
        *status = LAB_CUDA_LIMIT;
        return lab_set_reason(why, capacity, "%s compiles to %lld MiB of PTX; the limit is %d MiB: unroll fewer loops",
                              lab_base_name(code->path), (long long)(code->code.ptx_bytes >> 20), PTX_MIB_MAX);
    }
    return *status == LAB_CUDA_COMPILED;
}

/* ---- Files ---- */

static bool read_lines(lab_task_code *code, const char *launch, char *why, size_t capacity)
{
    if (!lab_launch_lines_read_comments(code->text, code->bytes, &code->lines, why, capacity))
        return false;
    if (code->lines.count == 0 && launch && !lab_launch_lines_read(launch, &code->lines, why, capacity))
        return false;
    return code->lines.count > 0 ||
           lab_set_reason(why, capacity,
                          "%s has no line that says how many blocks and threads to launch. Add a comment line such as "
                          "// rung: grid=(%s+255)/256 block=256",
                          lab_base_name(code->path), code->task->sizes[0]);
}

/* Returns whether errno says that this machine lacks memory or descriptors, or cannot read its disk. */
static bool lacks_resources(void)
{
    return errno == ENOMEM || errno == EMFILE || errno == ENFILE || errno == EIO;
}

bool lab_task_code_open(const lab_task *task, const char *path, const char *kernel, const char *reference_launch,
                        double seconds, lab_task_code *code, lab_cuda_compile_status *status, char *why,
                        size_t capacity)
{
    char reason[1024];
    *status = LAB_CUDA_FAILED;
    *code = (lab_task_code){.task = task, .path = path};
    errno = 0;
    code->text = lab_file_read(path, SOURCE_BYTES_MAX, &code->bytes, reason, sizeof reason);
    if (!code->text) {
        *status = lacks_resources() ? LAB_CUDA_NO_RESOURCES : LAB_CUDA_FAILED;
        return lab_set_reason(why, capacity, "%s: %s", path, reason);
    }
    if ((reference_launch && !lab_variant_apply(task, &code->text, &code->bytes)) ||
        !lab_cuda_outline_read(code->text, code->bytes, &code->outline)) {
        *status = LAB_CUDA_NO_RESOURCES;
        return lab_set_reason(why, capacity, "out of memory");
    }
    read_constants(code);
    errno = 0;
    if (!read_lines(code, reference_launch, why, capacity) || !match_launches(code, kernel, why, capacity)) {
        *status = lacks_resources() ? LAB_CUDA_NO_RESOURCES : LAB_CUDA_FAILED;
        return false;
    }
    return compile(code, seconds, status, why, capacity);
}

void lab_task_code_close(lab_task_code *code)
{
    lab_cuda_code_free(&code->code);
    lab_cuda_outline_free(&code->outline);
    free(code->lines.items);
    free(code->launches);
    free(code->text);
    *code = (lab_task_code){.task = NULL};
}
