/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_kernel.c - see gemm_kernel.h. */
#define _POSIX_C_SOURCE 200809L
#include "plain_gemm/gemm_kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"
#include "cli/interrupt.h"
#include "common/failure.h"
#include "common/lab_clock.h"
#include "common/text.h"
#include "cuda_source/public_view.h"
#include "explain/explain.h"
#include "plain_gemm/gemm_source.h"

/* ---- Files ---- */

/* Returns whether the file has the kernel of --kernel, or the option is missing. Otherwise `why` lists the kernels. */
static bool has_named_kernel(const lab_gemm_file *file, char *why, size_t capacity)
{
    char list[1024] = "";
    for (int i = 0; i < file->outline.function_count; i++) {
        const lab_cuda_function *function = &file->outline.functions[i];
        rungi_string_view name = lab_cuda_name(&file->outline, function->name);
        if (function->kind != LAB_FUNCTION_KERNEL || function->body.last < function->body.first)
            continue;
        if (!*file->options.kernel || rungi_string_view_equals(name, file->options.kernel))
            return true;
        lab_append(list, sizeof list, "%s%.*s", *list ? ", " : "", (int)name.length, name.text);
    }
    return !*file->options.kernel || !*list ||
           lab_set_reason(why, capacity, "%s has no kernel \"%s\"; its kernels are: %s", file->path,
                          file->options.kernel, list);
}

bool lab_gemm_file_open(const lab_plain_file *plain, const lab_launch_options *options, lab_gemm_file *file, char *why,
                        size_t capacity)
{
    char reason[512];
    *file = (lab_gemm_file){.path = plain->path, .text = plain->text, .bytes = plain->bytes, .options = *options};
    if (!lab_launch_lines_read_comments(file->text, file->bytes, &file->lines, reason, sizeof reason))
        return lab_set_reason(why, capacity, "%s, %s", plain->path, reason);
    if (!lab_cuda_outline_read(file->text, file->bytes, &file->outline))
        return lab_set_reason(why, capacity, "out of memory");
    return has_named_kernel(file, why, capacity);
}

void lab_gemm_file_close(lab_gemm_file *file)
{
    lab_cuda_outline_free(&file->outline);
    free(file->lines.items);
    file->lines = (lab_launch_lines){.items = NULL};
}

/* Returns the comment line of a kernel: the first that names it, or that names no kernel. Returns NULL without
 * such a line. */
static const lab_launch_line *find_line(const lab_gemm_file *file, rungi_string_view kernel)
{
    const lab_launch_line *general = NULL;
    for (int i = 0; i < file->lines.count; i++) {
        const lab_launch_line *line = &file->lines.items[i];
        if (rungi_string_views_equal(line->kernel, kernel))
            return line;
        if (line->kernel.length == 0 && !general)
            general = line;
    }
    return general;
}

static bool is_pointer(const lab_tokens *tokens, lab_token_range type)
{
    for (int i = type.first; i <= type.last; i++)
        if (lab_token_is(tokens, i, "*") || lab_token_is(tokens, i, "["))
            return true;
    return false;
}

/* Counts the fields that are pointers. "float *a, *b;" has the star of b outside of its type. */
static int count_pointer_fields(const lab_cuda_outline *outline, const lab_cuda_struct *type)
{
    lab_cuda_field fields[LAB_CUDA_FIELDS_MAX];
    int pointers = 0, count = lab_cuda_struct_fields(outline, type, fields);
    for (int i = 0; i < count; i++)
        pointers += is_pointer(&outline->tokens, fields[i].type) ||
                    lab_token_is(&outline->tokens, fields[i].name - 1, "*");
    return pointers;
}

bool lab_gemm_is_candidate(const lab_gemm_file *file, int function)
{
    const lab_cuda_outline *outline = &file->outline;
    const lab_cuda_function *kernel = &outline->functions[function];
    int pointers = 0;
    if (kernel->kind != LAB_FUNCTION_KERNEL || kernel->body.last < kernel->body.first)
        return false;
    rungi_string_view name = lab_cuda_name(outline, kernel->name);
    const lab_launch_line *line = find_line(file, name);
    if (*file->options.kernel)
        return rungi_string_view_equals(name, file->options.kernel);
    if (file->lines.count > 0 && (!line || line->kernel.length > 0))
        return line != NULL;
    for (int i = 0; i < kernel->parameter_count; i++) {
        const lab_cuda_struct *type = lab_cuda_parameter_struct(outline, &kernel->parameters[i]);
        pointers += type ? count_pointer_fields(outline, type)
                         : is_pointer(&outline->tokens, kernel->parameters[i].type);
    }
    return pointers >= 3;
}

/* ---- Launch ---- */

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

/* Returns the role of an integer parameter by its name, or by the name of the argument in the host code. */
static lab_role integer_role(const lab_gemm_kernel *kernel, int parameter)
{
    const lab_cuda_outline *outline = &kernel->file->outline;
    const lab_cuda_function *function = &outline->functions[kernel->source.kernel];
    const lab_cuda_launch *launch = kernel->source.launch;
    lab_role role = lab_role_of_integer(lab_cuda_name(outline, function->parameters[parameter].name));
    if (role == LAB_ROLE_UNKNOWN && launch && parameter < launch->argument_count) {
        lab_token_range argument = launch->arguments[parameter];
        if (argument.first == argument.last && outline->tokens.items[argument.first].kind == LAB_TOKEN_NAME)
            role = lab_role_of_integer(outline->tokens.items[argument.first].text);
    }
    return role;
}

static bool is_template_parameter(const lab_cuda_function *function, const lab_cuda_outline *outline,
                                  rungi_string_view name)
{
    for (int i = 0; i < function->template_count; i++)
        if (rungi_string_views_equal(lab_cuda_name(outline, function->template_parameters[i].name), name))
            return true;
    return false;
}

/* Returns whether a name is a constant of the file that is a size of the kernel. */
static bool is_fixed_name(const lab_gemm_kernel *kernel, rungi_string_view name)
{
    const char *found = kernel->constants;
    while ((found = strstr(found, " = ")) != NULL) {
        const char *start = found;
        while (start > kernel->constants && rungi_is_name_character(start[-1]))
            start--;
        if (rungi_string_views_equal(rungi_string_view_of(start, (size_t)(found - start)), name))
            return true;
        found++;
    }
    return false;
}

/* Returns the value of a host variable whose name is that of a size that is not a parameter of the kernel. */
static int find_host_size(const void *user, rungi_string_view name)
{
    const lab_gemm_kernel *kernel = user;
    const lab_cuda_outline *outline = &kernel->file->outline;
    const lab_cuda_function *function = &outline->functions[kernel->source.kernel];
    bool is_member = memchr(name.text, '.', name.length) != NULL; /* dimsA.x, which has no other value */
    lab_role role = lab_role_of_integer(name);
    if (is_template_parameter(function, outline, name) || is_fixed_name(kernel, name))
        return -1;
    if (role != LAB_ROLE_M && role != LAB_ROLE_N && role != LAB_ROLE_K && role != LAB_ROLE_BATCH)
        return -1;
    for (int i = 0; i < function->parameter_count; i++)
        if (lab_cuda_looks_integer(&outline->tokens, function->parameters[i].type) && integer_role(kernel, i) == role)
            return is_member ? i : -1;
    return role == LAB_ROLE_BATCH ? LAB_LAUNCH_VALUE_BATCH : LAB_LAUNCH_VALUE_M + (int)(role - LAB_ROLE_M);
}

/* ---- Sizes that are constants of the file ---- */

enum { LARGEST_SIZE = 512 };

/* Returns whether the kernel uses a parameter with a role, or one that is the size in all directions. */
static bool uses_parameter(const lab_gemm_kernel *kernel, lab_role role)
{
    const lab_cuda_outline *outline = &kernel->file->outline;
    const lab_cuda_function *function = &outline->functions[kernel->source.kernel];
    for (int i = 0; i < function->parameter_count; i++) {
        rungi_string_view name = lab_cuda_name(outline, function->parameters[i].name);
        lab_role own = lab_role_of_integer(name);
        if (!lab_cuda_looks_integer(&outline->tokens, function->parameters[i].type) ||
            (own != role && own != LAB_ROLE_SIZE))
            continue;
        for (int t = function->body.first; t <= function->body.last; t++) {
            bool is_declared = t > 0 && outline->tokens.items[t - 1].kind == LAB_TOKEN_NAME; /* for (int k = 0 ... */
            if (!rungi_string_views_equal(outline->tokens.items[t].text, name))
                continue;
            if (is_declared)
                break;
            return true;
        }
    }
    return false;
}

static bool is_parameter(const lab_cuda_outline *outline, const lab_cuda_function *function, rungi_string_view name)
{
    for (int i = 0; i < function->parameter_count; i++)
        if (rungi_string_views_equal(lab_cuda_name(outline, function->parameters[i].name), name))
            return true;
    return is_template_parameter(function, outline, name);
}

/* Sets a size that a constant fixes, and describes it once. */
static void fix_size(lab_gemm_kernel *kernel, int direction, rungi_string_view name, long long value, int line)
{
    char text[96];
    snprintf(text, sizeof text, "%.*s = %lld in line %d", (int)name.length, name.text, value, line);
    if (kernel->fixed[direction] > 0 || uses_parameter(kernel, (lab_role)(LAB_ROLE_M + direction)))
        return;
    kernel->fixed[direction] = value;
    if (!strstr(kernel->constants, text))
        lab_append(kernel->constants, sizeof kernel->constants, "%s%s", *kernel->constants ? ", " : "", text);
}

/* Returns whether the text of a token occurs before it. */
static bool is_earlier_token(const lab_cuda_outline *outline, int first, int token)
{
    for (int i = first; i < token; i++)
        if (rungi_string_views_equal(outline->tokens.items[i].text, outline->tokens.items[token].text))
            return true;
    return false;
}

/* Finds sizes that are constants of the file: strides, or all that indices are compared with. Returns the number of constants. */
static int fix_sizes(lab_gemm_kernel *kernel, lab_constant_use least)
{
    const lab_cuda_outline *outline = &kernel->file->outline;
    const lab_cuda_function *function = &outline->functions[kernel->source.kernel];
    rungi_string_view only = rungi_string_view_of("", 0);
    long long only_value = 0;
    int count = 0, only_line = 0;
    kernel->fixed[0] = kernel->fixed[1] = kernel->fixed[2] = 0;
    *kernel->constants = '\0';
    for (int i = function->body.first; i <= function->body.last; i++) {
        rungi_string_view name = outline->tokens.items[i].text;
        if (outline->tokens.items[i].kind != LAB_TOKEN_NAME || is_earlier_token(outline, function->body.first, i))
            continue;
        lab_role role = lab_role_of_integer(name);
        bool is_size = role == LAB_ROLE_SIZE || (role >= LAB_ROLE_M && role <= LAB_ROLE_K);
        int line;
        long long value = is_size && !is_parameter(outline, function, name)
                              ? lab_gemm_find_constant(outline, name, &line)
                              : 0;
        if (value < 1 || lab_gemm_constant_use(outline, function, name) < least)
            continue;
        for (int d = 0; d < 3; d++)
            if (role == LAB_ROLE_SIZE || role == (lab_role)(LAB_ROLE_M + d))
                fix_size(kernel, d, name, value, line);
        count++;
        only = name, only_value = value, only_line = line;
    }
    for (int d = 0; d < 3 && count == 1; d++) /* the only constant is the size in all directions */
        fix_size(kernel, d, only, only_value, only_line);
    return count;
}

static void find_fixed_sizes(lab_gemm_kernel *kernel)
{
    if (fix_sizes(kernel, LAB_CONSTANT_STRIDE) > 0)
        fix_sizes(kernel, LAB_CONSTANT_BOUND);
}

/* Refuses a kernel whose size is a constant of the file that is larger than every size that rung verify runs. */
static bool has_possible_sizes(lab_gemm_kernel *kernel, char *why, size_t capacity)
{
    const lab_cuda_outline *outline = &kernel->file->outline;
    lab_token_range body = outline->functions[kernel->source.kernel].body;
    for (int i = body.first; i <= body.last; i++) {
        int line;
        rungi_string_view name = outline->tokens.items[i].text;
        if (outline->tokens.items[i].kind != LAB_TOKEN_NAME ||
            (find_host_size(kernel, name) < 0 && !is_fixed_name(kernel, name)))
            continue;
        long long value = lab_gemm_find_constant(outline, name, &line);
        if (value > LARGEST_SIZE)
            return lab_set_reason(why, capacity,
                                  "the kernel uses %.*s = %lld of line %d as a size; rung verify runs sizes up to %d. "
                                  "Make %.*s a parameter of the kernel, or make the constant smaller",
                                  (int)name.length, name.text, value, line, LARGEST_SIZE, (int)name.length, name.text);
    }
    return true;
}

/* Returns whether a struct has only values that the problem does not give: no pointers, sizes, alpha or beta. */
static bool has_own_values(const lab_cuda_outline *outline, const lab_cuda_struct *type)
{
    lab_cuda_field fields[LAB_CUDA_FIELDS_MAX];
    int count = lab_cuda_struct_fields(outline, type, fields);
    for (int i = 0; i < count; i++) {
        rungi_string_view name = lab_cuda_name(outline, fields[i].name);
        if (lab_role_of_integer(name) != LAB_ROLE_UNKNOWN || lab_role_of_scalar(name) != LAB_ROLE_UNKNOWN)
            return false;
    }
    return count > 0 && count_pointer_fields(outline, type) == 0;
}

/* Decides which parameters get their values from the problem, and which from the host code. */
static void find_given(lab_gemm_kernel *kernel)
{
    const lab_cuda_outline *outline = &kernel->file->outline;
    const lab_cuda_function *function = &outline->functions[kernel->source.kernel];
    for (int i = 0; i < function->parameter_count; i++)
        kernel->source.is_given[i] = lab_cuda_looks_integer(&outline->tokens, function->parameters[i].type) &&
                                     (!kernel->source.launch || integer_role(kernel, i) != LAB_ROLE_UNKNOWN);
    for (int i = 0; i < function->parameter_count && kernel->source.launch; i++) {
        const lab_cuda_struct *type = lab_cuda_parameter_struct(outline, &function->parameters[i]);
        kernel->source.is_copied[i] = type && has_own_values(outline, type);
    }
}

/* Starts a kernel: the options that apply to it, and how it is launched. */
static bool begin_kernel(const lab_gemm_file *file, int function, const lab_cuda_launch *launch,
                         lab_gemm_kernel *kernel, char *why, size_t capacity)
{
    int name = file->outline.functions[function].name;
    const lab_launch_line *line = find_line(file, lab_cuda_name(&file->outline, name));
    char reason[256];
    *kernel = (lab_gemm_kernel){.file = file, .line = file->outline.tokens.items[name].line, .options = file->options};
    if (line && !lab_launch_options_complete(&kernel->options, line, reason, sizeof reason))
        return lab_set_reason(why, capacity, "%s, %s", file->path, reason);
    kernel->source = (lab_launch_source){
        .kernel = function,
        .launch = launch,
        .templates = text_or_null(kernel->options.templates),
        .grid = text_or_null(kernel->options.grid),
        .block = text_or_null(kernel->options.block),
        .shared = text_or_null(kernel->options.shared),
        .find_size = find_host_size,
        .user = kernel,
    };
    find_fixed_sizes(kernel);
    find_given(kernel);
    return true;
}

/* Describes the GPU that the host code may ask about: the first one of the architecture in gpus.def. */
static void describe_gpu(lab_gemm_kernel *kernel, int architecture)
{
    lab_gpu gpu;
    char name[16];
    snprintf(name, sizeof name, "sm_%d", architecture);
    const lab_sm_limits *limits = lab_sm_limits_of(name);
    kernel->source.gpu.capability = architecture;
    if (lab_gpu_of_arch(name, &gpu))
        kernel->source.gpu.multiprocessors = (int64_t)gpu.sm_count;
    if (limits) {
        kernel->source.gpu.threads = 32 * limits->warps;
        kernel->source.gpu.shared = limits->shared;
        kernel->source.gpu.shared_block = limits->shared_block;
    }
}

/* ---- Several launches ---- */

/* Returns whether the launch gets a part of a matrix: "A + offset" or "&A[offset]". */
static bool takes_parts(const lab_cuda_outline *outline, const lab_cuda_launch *launch, int function)
{
    const lab_cuda_function *kernel = &outline->functions[function];
    for (int i = 0; i < kernel->parameter_count && i < launch->argument_count; i++)
        for (int t = launch->arguments[i].first; t <= launch->arguments[i].last; t++)
            if (is_pointer(&outline->tokens, kernel->parameters[i].type) &&
                (lab_token_is(&outline->tokens, t, "+") || lab_token_is(&outline->tokens, t, "[")))
                return true;
    return false;
}

/* Appends a number to "40, 52". */
static void add_number(char *list, size_t capacity, int number)
{
    lab_append(list, capacity, "%s%d", *list ? ", " : "", number);
}

/* Adds a launch with its program, or its line to that of a launch whose program is the same. Takes the program. */
static void add_launch(lab_gemm_launches *launches, lab_launch_program *programs, const lab_cuda_launch *launch,
                       lab_launch_program *program)
{
    int same = 0;
    while (same < launches->count &&
           (strcmp(programs[same].name, program->name) != 0 || strcmp(programs[same].text, program->text) != 0))
        same++;
    if (same == LAB_GEMM_LAUNCHES_MAX)
        add_number(launches->dropped, sizeof launches->dropped, launch->line);
    else
        add_number(launches->lines[same], sizeof *launches->lines, launch->line);
    if (same < launches->count || same == LAB_GEMM_LAUNCHES_MAX) {
        lab_launch_program_free(program);
        return;
    }
    launches->items[launches->count] = launch;
    programs[launches->count++] = *program;
}

void lab_gemm_name_launches(const char *lines, char *text, size_t capacity)
{
    snprintf(text, capacity, strchr(lines, ',') ? "the launches in lines %s" : "the launch in line %s", lines);
}

bool lab_gemm_find_launches(const lab_gemm_file *file, int function, lab_gemm_launches *launches, char *why,
                            size_t capacity)
{
    const lab_cuda_outline *outline = &file->outline;
    lab_launch_program programs[LAB_GEMM_LAUNCHES_MAX], program;
    bool good = true;
    lab_gemm_kernel *kernel = calloc(1, sizeof *kernel);
    *launches = (lab_gemm_launches){.count = kernel ? 0 : 1};
    if (!kernel)
        return lab_set_reason(why, capacity, "out of memory");
    for (int i = 0; i < outline->launch_count && good; i++) {
        const lab_cuda_launch *launch = &outline->launches[i];
        if (lab_cuda_launched_kernel(outline, launch) != function)
            continue;
        if (launches->count > 0 && takes_parts(outline, launch, function)) {
            add_number(launches->parts, sizeof launches->parts, launch->line);
            continue;
        }
        good = begin_kernel(file, function, launch, kernel, why, capacity);
        if (good && !lab_launch_program_write(outline, &kernel->source, true, &program))
            good = lab_set_reason(why, capacity, "out of memory");
        if (good)
            add_launch(launches, programs, launch, &program);
    }
    for (int i = 0; i < launches->count; i++)
        lab_launch_program_free(&programs[i]);
    launches->count = launches->count > 0 ? launches->count : 1;
    free(kernel);
    return good;
}

/* ---- Compilation ---- */

bool lab_gemm_is_late(const lab_gemm_kernel *kernel)
{
    return kernel->until > 0 && lab_now_ns() > kernel->until;
}

static int should_stop(void *user)
{
    return lab_is_interrupted() || lab_gemm_is_late(user);
}

static rung_status load(lab_gemm_kernel *kernel, const lab_gemm_settings *settings, bool evaluates)
{
    rung_emulator_options options = rung_emulator_options_default();
    options.memory_bytes = (int64_t)16 << 30;
    options.threads = 1;
    options.compute_capability = settings->architecture;
    options.max_instructions = (int64_t)(settings->seconds * LAB_GEMM_INSTRUCTIONS_PER_SECOND);
    options.should_stop = should_stop;
    options.user = kernel;
    TRY(rung_emulator_create(&options, &kernel->emulator));
    TRY(rung_emulator_module_load(kernel->emulator, lab_base_name(kernel->file->path), kernel->code.ptx,
                                  (size_t)kernel->code.ptx_bytes, &kernel->module));
    TRY(rung_emulator_kernel_find(kernel->module, kernel->code.lowered[0], &kernel->handle));
    if (evaluates)
        TRY(rung_emulator_kernel_find(kernel->module, "rung_evaluate_launch", &kernel->evaluate));
    return RUNG_OK;
}

/* Writes the name without the scope of constants that the launch program copied, and with usual spaces. */
static void write_title(lab_gemm_kernel *kernel)
{
    static const char scope[] = "rung_host::";
    size_t length = 0;
    for (const char *at = kernel->name; *at && length + 1 < sizeof kernel->title; at++) {
        if (strncmp(at, scope, sizeof scope - 1) == 0)
            at += sizeof scope - 1;
        bool is_extra_space = *at == ' ' && (strchr(",<>", at[1]) || (at > kernel->name && at[-1] == '<'));
        if (!is_extra_space)
            kernel->title[length++] = *at;
    }
    kernel->title[length] = '\0';
}

static double remaining_seconds(const lab_gemm_settings *settings)
{
    double seconds = (double)(settings->until - lab_now_ns()) * 1e-9;
    return seconds > 0.1 ? seconds : 0.1;
}

/* Appends the first line of the compiler's log, which is the error, and the first note on a header that was not found. */
static void append_log(const char *log, char *why, size_t capacity)
{
    const char *note = strstr(log, "\nnote: ");
    lab_append(why, capacity, ": %.*s", (int)strcspn(log, "\n"), log);
    if (note)
        lab_append(why, capacity, "; %.*s", (int)strcspn(note + 1, "\n"), note + 1);
}

/* Compiles the file with the program that computes the launch. */
static lab_cuda_compile_status compile(lab_gemm_kernel *kernel, const lab_gemm_settings *settings, bool evaluates,
                                       char *why, size_t capacity)
{
    lab_launch_program program;
    lab_cuda_compile_status status = LAB_CUDA_FAILED;
    snprintf(why, capacity, "out of memory");
    if (!lab_launch_program_write(&kernel->file->outline, &kernel->source, evaluates, &program))
        return status;
    size_t bytes;
    const lab_cuda_outline *outline = &kernel->file->outline;
    char *text = lab_public_view(outline, &outline->functions[kernel->source.kernel],
                                 rungi_string_view_of(kernel->file->text, kernel->file->bytes), program.text, &bytes);
    if (text) {
        lab_cuda_job job = {
            .file = kernel->file->path,
            .text = text,
            .bytes = bytes,
            .architecture = settings->architecture,
            .names = (const char *const[]){program.name},
            .name_count = 1,
            .options = settings->options,
            .option_count = settings->option_count,
            .elapsed_seconds = settings->until > 0 ? remaining_seconds(settings) : 0,
            .wants_cubin = settings->wants_cubin,
        };
        lab_cuda_code_free(&kernel->code);
        status = lab_cuda_compile(&job, &kernel->code, why, capacity);
        memcpy(kernel->is_evaluated, program.is_evaluated, sizeof kernel->is_evaluated);
        memcpy(kernel->is_copied, program.is_copied, sizeof kernel->is_copied);
        free(kernel->name);
        kernel->name = program.name;
        program.name = NULL;
        snprintf(kernel->assumed, sizeof kernel->assumed, "%s", program.assumed);
        snprintf(kernel->unknown, sizeof kernel->unknown, "%s", program.unknown);
        write_title(kernel);
    }
    free(text);
    lab_launch_program_free(&program);
    if (status == LAB_CUDA_REJECTED && kernel->code.log)
        append_log(kernel->code.log, why, capacity);
    return status;
}

/* ---- Parameters ---- */

/* Runs rung_write_signature() and returns its text, for free(). */
static rung_status read_signature(lab_gemm_kernel *kernel, char **text)
{
    rung_emulator_kernel *writer;
    uint64_t address;
    *text = calloc(1, LAB_SIGNATURE_BYTES + 1);
    if (!*text)
        return RUNG_STATUS_NO_MEMORY;
    TRY(rung_emulator_kernel_find(kernel->module, "rung_write_signature", &writer));
    TRY(rung_emulator_allocate(kernel->emulator, LAB_SIGNATURE_BYTES, "signature", &address));
    TRY(rung_emulator_write(kernel->emulator, address, *text, LAB_SIGNATURE_BYTES));
    void *arguments[] = {&address};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 1, arguments);
    TRY(rung_emulator_launch_kernel(writer, &launch));
    TRY(rung_emulator_read(kernel->emulator, address, *text, LAB_SIGNATURE_BYTES));
    return rung_emulator_free(kernel->emulator, address);
}

/* Returns the type in a text such as "const char *rung_type_name() [with T = const float *]". */
static rungi_string_view type_text(rungi_string_view line)
{
    static const char mark[] = "[with rung_T";
    for (size_t i = 0; i + sizeof mark < line.length; i++) {
        if (memcmp(line.text + i, mark, sizeof mark - 1) != 0)
            continue;
        size_t start = i + sizeof mark - 1;
        while (start < line.length && (line.text[start] == ' ' || line.text[start] == '='))
            start++;
        return rungi_string_view_of(line.text + start, line.length - start - 1);
    }
    return rungi_string_view_of("", 0);
}

/* Adds a slot if there is room; the compiler's limit of parameters is higher than what a GEMM uses. */
static void add_slot(lab_gemm_kernel *kernel, lab_gemm_slot slot)
{
    if (kernel->slot_count < LAB_GEMM_SLOTS_MAX)
        kernel->slots[kernel->slot_count++] = slot;
}

/* Adds the slot of a parameter. */
static void add_parameter(lab_gemm_kernel *kernel, int index, rungi_string_view line)
{
    const lab_cuda_outline *outline = &kernel->file->outline;
    const lab_cuda_function *function = &outline->functions[kernel->source.kernel];
    const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(kernel->handle);
    if (index >= info->parameter_count)
        return;
    rungi_string_view name = index < function->parameter_count
                                 ? lab_cuda_name(outline, function->parameters[index].name)
                                 : rungi_string_view_of("", 0);
    lab_gemm_slot slot = {.parameter = index,
                          .field = -1,
                          .offset = info->parameter_offsets[index],
                          .bytes = info->parameter_bytes[index],
                          .type = lab_cuda_type_parse(type_text(line))};
    snprintf(slot.name, sizeof slot.name, "%.*s", (int)name.length, name.text);
    add_slot(kernel, slot);
}

/* Returns the number of fields of a parameter that have slots. */
static int count_fields(const lab_gemm_kernel *kernel, int parameter)
{
    int count = 0;
    for (int i = 0; i < kernel->slot_count; i++)
        count += kernel->slots[i].parameter == parameter && kernel->slots[i].field >= 0;
    return count;
}

/* Adds the slot of a field, from a line "parameter.field offset type". */
static void add_field(lab_gemm_kernel *kernel, rungi_string_view line)
{
    const lab_cuda_outline *outline = &kernel->file->outline;
    const lab_cuda_function *function = &outline->functions[kernel->source.kernel];
    const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(kernel->handle);
    char text[512], name[64];
    int parameter;
    long long offset;
    snprintf(text, sizeof text, "%.*s", (int)line.length, line.text);
    if (sscanf(text, "%d.%63s %lld", &parameter, name, &offset) != 3 || parameter >= info->parameter_count)
        return;
    rungi_string_view owner = lab_cuda_name(outline, function->parameters[parameter].name);
    lab_gemm_slot slot = {.parameter = parameter,
                          .field = count_fields(kernel, parameter),
                          .offset = info->parameter_offsets[parameter] + offset,
                          .type = lab_cuda_type_parse(type_text(line))};
    slot.bytes = slot.type.pointers ? 8 : 4;
    snprintf(slot.name, sizeof slot.name, "%.*s.%s", (int)owner.length, owner.text, name);
    add_slot(kernel, slot);
}

/* Reads the slots from the signature: one line per parameter, then one per field. */
static void read_slots(lab_gemm_kernel *kernel, const char *signature)
{
    rungi_string_view rest = rungi_string_view_of(signature, strlen(signature));
    const rung_emulator_kernel_info *info = rung_emulator_kernel_get_info(kernel->handle);
    for (int i = 0; rest.text && rest.length > 0; i++) {
        rungi_string_view line = rungi_string_view_split(&rest, '\n');
        if (i < info->parameter_count)
            add_parameter(kernel, i, line);
        else if (line.length > 0)
            add_field(kernel, line);
    }
    kernel->parameter_bytes = info->parameter_count == 0 ? 0
                                                         : info->parameter_offsets[info->parameter_count - 1] +
                                                               info->parameter_bytes[info->parameter_count - 1];
}

/* ---- Roles ---- */

/* Returns whether the slot is a field of a struct that has all operands, not of one struct per matrix. */
static bool is_in_common_struct(const lab_gemm_kernel *kernel, const lab_gemm_slot *slot)
{
    int pointers = 0;
    for (int i = 0; i < kernel->slot_count; i++)
        pointers += kernel->slots[i].parameter == slot->parameter && kernel->slots[i].type.pointers > 0;
    return slot->field >= 0 && pointers > 1;
}

/* Returns the name that tells the operand: of "A.elements" the struct's, of "params.a" the field's. */
static rungi_string_view operand_name(const lab_gemm_kernel *kernel, const lab_gemm_slot *slot)
{
    size_t length = strcspn(slot->name, ".");
    if (is_in_common_struct(kernel, slot))
        return rungi_string_view_of(slot->name + length + 1, strlen(slot->name + length + 1));
    return rungi_string_view_of(slot->name, length);
}

static void find_pointer_roles(lab_gemm_kernel *kernel)
{
    const lab_cuda_outline *outline = &kernel->file->outline;
    const lab_cuda_function *function = &outline->functions[kernel->source.kernel];
    lab_pointer_parameter pointers[LAB_GEMM_SLOTS_MAX];
    int slots[LAB_GEMM_SLOTS_MAX], count = 0;
    for (int i = 0; i < kernel->slot_count; i++) {
        const lab_gemm_slot *slot = &kernel->slots[i];
        if (slot->type.pointers == 0)
            continue;
        bool may_count = !slot->type.is_const &&
                         (slot->type.element == RUNG_I32 || slot->type.element == RUNG_TYPE_NONE);
        rungi_string_view array = rungi_string_view_of(slot->name, strcspn(slot->name, "."));
        pointers[count] = (lab_pointer_parameter){.name = operand_name(kernel, slot),
                                                  .is_const = slot->type.is_const,
                                                  .may_count = may_count,
                                                  .is_written = !slot->type.is_const && slot->field < 0 &&
                                                                lab_gemm_writes_array(outline, function, array)};
        slots[count++] = i;
    }
    lab_roles_of_pointers(pointers, count);
    for (int i = 0; i < count; i++)
        kernel->slots[slots[i]].role = pointers[i].role;
}

static int count_role(const lab_gemm_kernel *kernel, lab_role role)
{
    int count = 0;
    for (int i = 0; i < kernel->slot_count; i++)
        count += kernel->slots[i].role == role && !kernel->slots[i].type.is_struct; /* fields have slots of their own */
    return count;
}

/* Gives the role `from` of all slots but the first the role `to`, which no slot has: rows, n and cols are M, N and K. */
static void move_duplicates(lab_gemm_kernel *kernel, lab_role from, lab_role to)
{
    int last = -1;
    if (count_role(kernel, from) < 2 || count_role(kernel, to) > 0)
        return;
    for (int i = 0; i < kernel->slot_count; i++)
        if (kernel->slots[i].role == from && strlen(kernel->slots[i].name) > 1)
            last = i;
    if (last >= 0)
        kernel->slots[last].role = to;
}

/* Names that mean something else in company: a lone N is the size of square matrices, "width" beside "height" is N,
 * "strideA" without a batch is a leading dimension, and "batch" without M is M. */
static void resolve_roles(lab_gemm_kernel *kernel)
{
    bool has_batch_strides = count_role(kernel, LAB_ROLE_BATCH) > 0 || count_role(kernel, LAB_ROLE_LDA) > 0;
    int sizes = count_role(kernel, LAB_ROLE_M) + count_role(kernel, LAB_ROLE_N) + count_role(kernel, LAB_ROLE_K);
    if (count_role(kernel, LAB_ROLE_M) == 0 && sizes == 2)
        for (int i = 0; i < kernel->slot_count; i++)
            if (kernel->slots[i].role == LAB_ROLE_BATCH)
                kernel->slots[i].role = LAB_ROLE_M;
    for (int i = 0; i < kernel->slot_count; i++) {
        lab_gemm_slot *slot = &kernel->slots[i];
        if (slot->role == LAB_ROLE_SIZE && sizes > 0)
            slot->role = count_role(kernel, LAB_ROLE_N) == 0 ? LAB_ROLE_N : LAB_ROLE_UNKNOWN;
        else if (!has_batch_strides && slot->role >= LAB_ROLE_BATCH_A && slot->role <= LAB_ROLE_BATCH_C)
            slot->role = (lab_role)(LAB_ROLE_LDA + (slot->role - LAB_ROLE_BATCH_A));
        else if (sizes == 1 && slot->role >= LAB_ROLE_M && slot->role <= LAB_ROLE_K &&
                 count_role(kernel, LAB_ROLE_UNKNOWN) == 0 && count_role(kernel, LAB_ROLE_SIZE) == 0)
            slot->role = LAB_ROLE_SIZE;
    }
    move_duplicates(kernel, LAB_ROLE_N, LAB_ROLE_K);
    move_duplicates(kernel, LAB_ROLE_M, LAB_ROLE_K);
}

/* Applies --args: "lda=K,flag=1". */
static bool apply_arguments(lab_gemm_kernel *kernel, char *why, size_t capacity)
{
    const char *list = kernel->options.arguments;
    rungi_string_view word;
    while (lab_list_next(&list, &word)) {
        rungi_string_view name = rungi_string_view_split(&word, '=');
        int found = -1;
        for (int i = 0; i < kernel->slot_count; i++)
            if (rungi_string_view_equals(name, kernel->slots[i].name))
                found = i;
        if (found < 0 || !word.text)
            return lab_set_reason(why, capacity, "--args: %s has no parameter \"%.*s\"; write NAME=VALUE or NAME=ROLE",
                                  kernel->title, (int)name.length, name.text);
        char value[64], *end;
        snprintf(value, sizeof value, "%.*s", (int)word.length, word.text);
        const char *contents = strchr(value, ':');
        bool is_zeros = contents && strcmp(contents, ":zero") == 0 && kernel->slots[found].type.pointers > 0;
        lab_role role = is_zeros ? LAB_ROLE_ZEROS : lab_role_find(word);
        kernel->slots[found].value = strtod(value, &end);
        kernel->slots[found].has_value = *value && !*end;
        if (!kernel->slots[found].has_value && role == LAB_ROLE_UNKNOWN)
            return lab_set_reason(why, capacity,
                                  "--args: \"%s\" is neither a number nor a role (A, B, C, M, N, K, size, lda, ...)",
                                  value);
        kernel->slots[found].role = kernel->slots[found].has_value ? LAB_ROLE_VALUE : role;
    }
    return true;
}

/* Returns the role of an integer field. The matrix of a struct is that of its pointer: A.ld of lhs.ld, if lhs.data is A. */
static lab_role field_role(const lab_gemm_kernel *kernel, const lab_gemm_slot *slot, rungi_string_view name)
{
    char text[64];
    lab_role role = lab_role_of_integer(name);
    const char *field = strchr(slot->name, '.');
    for (int i = 0; i < kernel->slot_count && role == LAB_ROLE_UNKNOWN && field; i++) {
        lab_role operand = kernel->slots[i].role;
        if (kernel->slots[i].parameter != slot->parameter || is_in_common_struct(kernel, slot) ||
            operand < LAB_ROLE_A || operand > LAB_ROLE_C)
            continue;
        snprintf(text, sizeof text, "%c%s", "ABC"[operand - LAB_ROLE_A], field);
        role = lab_role_of_integer(rungi_string_view_of(text, strlen(text)));
    }
    return role;
}

static bool find_roles(lab_gemm_kernel *kernel, char *why, size_t capacity)
{
    find_pointer_roles(kernel);
    for (int i = 0; i < kernel->slot_count; i++) {
        lab_gemm_slot *slot = &kernel->slots[i];
        rungi_string_view name = is_in_common_struct(kernel, slot)
                                     ? operand_name(kernel, slot)
                                     : rungi_string_view_of(slot->name, strlen(slot->name));
        if (slot->type.pointers > 0 || slot->type.is_struct)
            continue;
        if ((slot->field < 0 && kernel->is_evaluated[slot->parameter]) || kernel->is_copied[slot->parameter])
            slot->role = LAB_ROLE_VALUE;
        else if (slot->type.is_integer)
            slot->role = slot->field < 0 ? integer_role(kernel, slot->parameter) : field_role(kernel, slot, name);
        if (slot->role == LAB_ROLE_UNKNOWN)
            slot->role = lab_role_of_scalar(name);
    }
    resolve_roles(kernel);
    return apply_arguments(kernel, why, capacity);
}

/* ---- Interface ---- */

#define GIVE_LAUNCH "give --block and --grid, for example --block 16,16 --grid '(N+15)/16,(M+15)/16'"

/* Appends the parameters of the kernel's template if their values are not known: "; give --template T,BS". */
static void append_template_hint(const lab_gemm_kernel *kernel, char *why, size_t capacity)
{
    const lab_cuda_outline *outline = &kernel->file->outline;
    const lab_cuda_function *function = &outline->functions[kernel->source.kernel];
    char list[256] = "";
    if (function->template_count <= 0 || kernel->source.templates)
        return;
    for (int i = 0; kernel->source.launch && i < kernel->source.launch->argument_count; i++)
        if (lab_token_is(&outline->tokens, kernel->source.launch->arguments[i].first, "[")) {
            lab_append(
                why, capacity,
                "; the launch passes a lambda, whose type has no name: write a struct with operator() in its place");
            return;
        }
    for (int i = 0; i < function->template_count; i++) {
        rungi_string_view name = lab_cuda_name(outline, function->template_parameters[i].name);
        lab_append(list, sizeof list, "%s%.*s", i > 0 ? "," : "", (int)name.length, name.text);
    }
    lab_append(why, capacity, "; give the values of the template parameters with --template %s", list);
}

/* Explains why the launch is not known. Returns false. */
static bool refuse_launch(lab_gemm_kernel *kernel, const char *reason, char *why, size_t capacity)
{
    kernel->is_launch_refused = true;
    if (!kernel->source.launch)
        lab_set_reason(why, capacity, "no launch of %s was recognised; " GIVE_LAUNCH, kernel->title);
    else
        lab_set_reason(why, capacity, "the launch in line %d could not be evaluated (%s); " GIVE_LAUNCH,
                       kernel->source.launch->line, reason);
    append_template_hint(kernel, why, capacity);
    return false;
}

/* Names the value of the launch that is not known. Returns false. */
static bool refuse_unknown(lab_gemm_kernel *kernel, char *why, size_t capacity)
{
    kernel->is_launch_refused = true;
    return lab_set_reason(why, capacity,
                          "the launch in line %d depends on %s, so its value is unknown before the program runs; "
                          "" GIVE_LAUNCH,
                          kernel->source.launch->line, kernel->unknown);
}

/* Returns false if a dimension of the grid or of the block is 0 even for large matrices. */
static bool has_threads(lab_gemm_kernel *kernel, char *why, size_t capacity)
{
    enum { LARGE = 4096 };
    int64_t values[LAB_GEMM_SLOTS_MAX] = {0};
    const int64_t sizes[4] = {LARGE, LARGE, LARGE, 2};
    lab_gemm_launch launch;
    for (int i = 0; i < kernel->slot_count; i++)
        values[i] = kernel->slots[i].has_value ? (int64_t)kernel->slots[i].value : LARGE;
    if (!lab_gemm_evaluate(kernel, values, sizes, &launch, why, capacity))
        return false;
    for (int i = 0; i < 6; i++) {
        bool is_grid = i < 3;
        const char *given = is_grid ? kernel->source.grid : kernel->source.block;
        const lab_cuda_launch *host = kernel->source.launch;
        if ((is_grid ? launch.grid[i] : launch.block[i - 3]) > 0)
            continue;
        rungi_string_view text = host ? lab_tokens_text(&kernel->file->outline.tokens,
                                                        is_grid ? host->grid.first : host->block.first,
                                                        is_grid ? host->grid.last : host->block.last)
                                      : rungi_string_view_of("", 0);
        if (given)
            text = rungi_string_view_of(given, strlen(given));
        kernel->is_launch_refused = true;
        return lab_set_reason(why, capacity, "%s \"%.*s\" is 0 in dimension %c for M = N = K = %d; " GIVE_LAUNCH,
                              is_grid ? "the grid" : "the block", (int)text.length, text.text, "xyz"[i % 3], LARGE);
    }
    return true;
}

bool lab_gemm_kernel_open(const lab_gemm_file *file, int function, const lab_cuda_launch *launch,
                          const lab_gemm_settings *settings, lab_gemm_kernel *kernel, char *why, size_t capacity)
{
    char *signature = NULL;
    if (!begin_kernel(file, function, launch, kernel, why, capacity))
        return false;
    kernel->until = settings->until;
    describe_gpu(kernel, settings->architecture);
    if (!has_possible_sizes(kernel, why, capacity))
        return false;
    bool evaluates = kernel->source.launch || (kernel->source.grid && kernel->source.block);
    lab_cuda_compile_status status = compile(kernel, settings, evaluates, why, capacity);
    if (status == LAB_CUDA_REJECTED && evaluates) {
        char reason[1024];
        snprintf(reason, sizeof reason, "%s", why);
        status = compile(kernel, settings, false, why, capacity);
        if (status == LAB_CUDA_COMPILED)
            return refuse_launch(kernel, reason, why, capacity);
    }
    if (status == LAB_CUDA_REJECTED)
        append_template_hint(kernel, why, capacity);
    if (status != LAB_CUDA_COMPILED)
        return false;
    if (*kernel->unknown && evaluates && !(kernel->source.grid && kernel->source.block))
        return refuse_unknown(kernel, why, capacity);
    if (!evaluates)
        return refuse_launch(kernel, "", why, capacity);
    bool good = load(kernel, settings, evaluates) == RUNG_OK && read_signature(kernel, &signature) == RUNG_OK;
    if (good)
        read_slots(kernel, signature);
    else
        lab_set_reason(why, capacity, "%s", rung_error_text());
    free(signature);
    return good && find_roles(kernel, why, capacity) && has_threads(kernel, why, capacity);
}

void lab_gemm_kernel_close(lab_gemm_kernel *kernel)
{
    if (kernel->emulator)
        rung_emulator_destroy(kernel->emulator);
    lab_cuda_code_free(&kernel->code);
    free(kernel->name);
    *kernel = (lab_gemm_kernel){.name = NULL};
}

static rung_status run_evaluation(lab_gemm_kernel *kernel, const long long *values, long long *results)
{
    uint64_t in, out;
    const int64_t in_bytes = LAB_LAUNCH_VALUES * (int64_t)sizeof *values;
    const int64_t out_bytes = LAB_LAUNCH_RESULTS * (int64_t)sizeof *results;
    TRY(rung_emulator_allocate(kernel->emulator, in_bytes, "values", &in));
    TRY(rung_emulator_allocate(kernel->emulator, out_bytes, "results", &out));
    TRY(rung_emulator_write(kernel->emulator, in, values, in_bytes));
    TRY(rung_emulator_write(kernel->emulator, out, results, out_bytes));
    void *arguments[] = {&in, &out};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 1, arguments);
    TRY(rung_emulator_launch_kernel(kernel->evaluate, &launch));
    TRY(rung_emulator_read(kernel->emulator, out, results, out_bytes));
    TRY(rung_emulator_free(kernel->emulator, in));
    return rung_emulator_free(kernel->emulator, out);
}

bool lab_gemm_evaluate(lab_gemm_kernel *kernel, const int64_t *values, const int64_t sizes[4], lab_gemm_launch *launch,
                       char *why, size_t capacity)
{
    long long in[LAB_LAUNCH_VALUES] = {0}, out[LAB_LAUNCH_RESULTS] = {0};
    for (int i = 0; i < kernel->slot_count; i++) {
        const lab_gemm_slot *slot = &kernel->slots[i];
        if (slot->field < 0)
            in[slot->parameter] = values[i];
        else if (slot->field < LAB_CUDA_FIELDS_MAX)
            in[LAB_LAUNCH_VALUE_FIELDS + slot->parameter * LAB_CUDA_FIELDS_MAX + slot->field] = values[i];
    }
    for (int i = 0; i < 4; i++)
        in[LAB_LAUNCH_VALUE_M + i] = sizes[i];
    rung_emulator_set_checks(kernel->emulator, RUNG_EMULATOR_CHECK_ARITHMETIC, false);
    rung_emulator_findings_clear(kernel->emulator);
    if (run_evaluation(kernel, in, out) != RUNG_OK)
        return lab_set_reason(why, capacity, "the launch could not be evaluated: %s", rung_error_text());
    if (rung_emulator_finding_count(kernel->emulator) > 0)
        return lab_set_reason(why, capacity, "the grid, the block or an argument of the launch divides by zero");
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = (uint32_t)out[LAB_LAUNCH_RESULT_GRID + i];
        launch->block[i] = (uint32_t)out[LAB_LAUNCH_RESULT_BLOCK + i];
    }
    launch->shared_bytes = out[LAB_LAUNCH_RESULT_SHARED];
    for (int i = 0; i < LAB_CUDA_PARAMETERS_MAX; i++)
        launch->arguments[i] = out[LAB_LAUNCH_RESULT_ARGUMENTS + i];
    memcpy(launch->structs, out + LAB_LAUNCH_RESULT_BYTES, sizeof launch->structs);
    return true;
}
