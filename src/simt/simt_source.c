/* SPDX-License-Identifier: Apache-2.0 */
/* simt_source.c - the ladder of embedded kernel files, and the complete source and compiler options of a kernel. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/try.h"
#include "simt/simt.h"
#include "sources.h"

#define VENDOR(number, step)                                                                 \
    {.name = #number "_" #step,                                                              \
     .file = #number "_" #step,                                                              \
     .source = "/* " #number "_" #step " - the vendor's own library, the one to beat. */\n", \
     .is_vendor = true},
#define CPU(number, step)
#define SIMT(number, step)                          \
    {.name = #number "_" #step,                     \
     .file = #number "_" #step ".cu",               \
     .source = rungi_source_simt_##number##_##step, \
     .types = RUNGI_SIMT_PRODUCTS},
const rungi_ladder_step rungi_simt_ladder[RUNGI_SIMT_LADDER_COUNT] = {
#include "core/ladder.def"
};
#undef VENDOR
#undef CPU
#undef SIMT
_Static_assert((int)RUNGI_SIMT_LADDER_COUNT <= (int)RUNGI_LADDER_MAX, "a context has room for the ladder");

void rungi_simt_quote_file_name(const char *file, char *name, size_t capacity)
{
    size_t used = 0;
    for (; *file && used + 1 < capacity; file++)
        name[used++] = (char)(*file == '"' || *file == '\\' || *file == '\n' ? '_' : *file);
    name[used] = '\0';
}

/* The headers that kernels may include. */
static const struct {
    const char *name, *text;
} headers[] = {
    {"dialect.h", rungi_source_dialect},
    {"epilogue.h", rungi_source_epilogue},
    {"tile.h", rungi_source_tile},
    {"async.h", rungi_source_async},
    {"swizzle.h", rungi_source_swizzle},
    {"engine.h", rungi_source_engine},
    {"mma.h", rungi_source_mma},
    {"f32_terms.h", rungi_source_f32_terms},
    {"wmma.h", rungi_source_wmma},
    {"matrix_output.h", rungi_source_matrix_output},
    {"tma.h", rungi_source_tma},
    {"wgmma.h", rungi_source_wgmma},
    {"quantized.h", rungi_source_quantized},
    {"scaled_mma.h", rungi_source_scaled_mma},
};

enum { HEADER_COUNT = sizeof headers / sizeof *headers };

static const char *header_text(rungi_string_view name)
{
    for (int i = 0; i < HEADER_COUNT; i++)
        if (strlen(headers[i].name) == name.length && memcmp(headers[i].name, name.text, name.length) == 0)
            return headers[i].text;
    return NULL;
}

static bool includes(const rung_kernel *kernel, const char *header)
{
    for (int64_t i = 0; i < kernel->include_count; i++)
        if (header_text(kernel->includes[i].name) == header)
            return true;
    return false;
}

int rungi_simt_argument_count(const rung_kernel *kernel)
{
    if (rungi_simt_has_tensor_maps(kernel))
        return RUNGI_SIMT_TENSOR_ARGUMENTS;
    if (rungi_simt_has_narrow_a(kernel))
        return RUNGI_SIMT_PAIR_ARGUMENTS;
    if (rungi_simt_has_narrow_b(kernel))
        return RUNGI_SIMT_QUANTIZED_ARGUMENTS + (kernel->info.engine == RUNG_ENGINE_EMULATED);
    if (kernel->info.engine == RUNG_ENGINE_EMULATED || kernel->is_reduction)
        return RUNGI_SIMT_REDUCTION_ARGUMENTS;
    return includes(kernel, rungi_source_epilogue) ? RUNGI_SIMT_EPILOGUE_ARGUMENTS : RUNGI_SIMT_BASE_ARGUMENTS;
}

bool rungi_simt_needs_engine(const rung_kernel *kernel)
{
    return includes(kernel, rungi_source_engine) || includes(kernel, rungi_source_wgmma);
}

bool rungi_simt_has_narrow_b(const rung_kernel *kernel)
{
    return includes(kernel, rungi_source_quantized);
}

bool rungi_simt_has_narrow_a(const rung_kernel *kernel)
{
    return includes(kernel, rungi_source_scaled_mma);
}

bool rungi_simt_has_tensor_maps(const rung_kernel *kernel)
{
    return includes(kernel, rungi_source_tma);
}

bool rungi_simt_has_paths(const rung_kernel *kernel)
{
    return includes(kernel, rungi_source_tile);
}

bool rungi_simt_copies_chunks(const rung_kernel *kernel)
{
    return includes(kernel, rungi_source_swizzle);
}

unsigned rungi_simt_abilities(const rung_kernel *kernel)
{
    if (!includes(kernel, rungi_source_epilogue))
        return 0;
    unsigned offsets = rungi_simt_has_tensor_maps(kernel) ? 0 : RUNG_ABILITY_BATCH_OFFSETS; /* maps have strides only */
    return offsets | RUNG_ABILITY_EPILOGUE | RUNG_ABILITY_SPLIT_K;
}

static rung_status check_includes(const rung_kernel *kernel)
{
    for (int64_t i = 0; i < kernel->include_count; i++) {
        rungi_string_view name = kernel->includes[i].name;
        if (!header_text(name))
            return rungi_fail(
                RUNG_STATUS_COMPILE_FAILED,
                "%s:%lld: cannot include \"%.*s\"; a kernel may include only the headers in src/simt/kernels",
                kernel->info.file, (long long)kernel->includes[i].number, (int)name.length, name.text);
    }
    if (!includes(kernel, rungi_source_dialect))
        return rungi_fail(RUNG_STATUS_COMPILE_FAILED,
                          "%s: #include \"dialect.h\" is missing; this header makes one file valid CUDA C and OpenCL C",
                          kernel->info.file);
    return RUNG_OK;
}

/* Returns an upper bound of the length of the text: per include, the header and two #line directives. */
static size_t source_capacity(const rung_kernel *kernel, size_t name_length)
{
    size_t capacity = strlen(kernel->info.source) + name_length + 64;
    for (int64_t i = 0; i < kernel->include_count; i++)
        capacity += strlen(header_text(kernel->includes[i].name)) + kernel->includes[i].name.length + name_length + 64;
    return capacity;
}

/* Writes the assembled source: parts of the kernel's file and other texts, each after a #line directive. */
typedef struct source_writer {
    char *out;
    size_t capacity, used;
    const char *from; /* the rest of the kernel's file */
    char name[256];   /* of the file, for the directives */
} source_writer_t;

/* Copies the kernel's file up to `end`. */
static void copy_until(source_writer_t *writer, const char *end)
{
    writer->used += (size_t)snprintf(writer->out + writer->used, writer->capacity - writer->used, "%.*s",
                                     (int)(end - writer->from), writer->from);
    writer->from = end;
}

/* Inserts a text with its own line numbers. `line` is the number of the line that follows it in the kernel's file. */
static void insert_text(source_writer_t *writer, rungi_string_view name, const char *text, int64_t line)
{
    writer->used += (size_t)snprintf(writer->out + writer->used, writer->capacity - writer->used,
                                     "#line 1 \"%.*s\"\n%s\n#line %lld \"%s\"", (int)name.length, name.text, text,
                                     (long long)line, writer->name);
}

static void end_line(source_writer_t *writer)
{
    writer->used += (size_t)snprintf(writer->out + writer->used, writer->capacity - writer->used, "\n");
}

/* Starts the source, with room for `added` bytes besides the file, its headers and their directives. */
static rung_status begin_source(const rung_kernel *kernel, size_t added, source_writer_t *writer)
{
    *writer = (source_writer_t){.from = kernel->info.source};
    TRY(check_includes(kernel));
    rungi_simt_quote_file_name(kernel->info.file, writer->name, sizeof writer->name);
    writer->capacity = source_capacity(kernel, strlen(writer->name)) + added;
    writer->out = rungi_allocate(kernel->context, (int64_t)writer->capacity, 1);
    if (!writer->out)
        return RUNG_STATUS_NO_MEMORY;
    writer->used = (size_t)snprintf(writer->out, writer->capacity, "#line 1 \"%s\"\n", writer->name);
    for (int64_t i = 0; i < kernel->include_count; i++) {
        const rungi_kernel_include *include = &kernel->includes[i];
        copy_until(writer, include->line.text);
        insert_text(writer, include->name, header_text(include->name), include->number + 1);
        writer->from += include->line.length;
    }
    return RUNG_OK;
}

rung_status rungi_simt_source_assemble(const rung_kernel *kernel, char **text)
{
    source_writer_t writer;
    *text = NULL;
    TRY(begin_source(kernel, 0, &writer));
    copy_until(&writer, writer.from + strlen(writer.from));
    *text = writer.out;
    return RUNG_OK;
}

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

bool rungi_simt_can_group(const rung_kernel *kernel)
{
    int arguments = rungi_simt_argument_count(kernel);
    return rungi_simt_has_paths(kernel) && !kernel->has_short_rows &&
           (arguments == RUNGI_SIMT_EPILOGUE_ARGUMENTS || arguments == RUNGI_SIMT_QUANTIZED_ARGUMENTS);
}

/* Returns the start of the line that has the word KERNEL of the kernel function. */
static const char *function_line(const rung_kernel *kernel)
{
    const char *at = kernel->threads.text;
    while (at > kernel->info.source && at[-1] != '\n')
        at--;
    return at;
}

/* Returns the position after the brace that begins the body of the kernel function; NULL if there is none. */
static const char *function_body(const rung_kernel *kernel)
{
    const char *at = strchr(kernel->entry.text, '(');
    int depth = 0;
    for (; at && *at; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at == '{' && depth == 0)
            return at + 1;
    }
    return NULL;
}

static int64_t line_number(const rung_kernel *kernel, const char *at)
{
    int64_t number = 1;
    for (const char *i = kernel->info.source; i < at; i++)
        number += *i == '\n';
    return number;
}

rung_status rungi_simt_group_source_assemble(const rung_kernel *kernel, char **text)
{
    enum { DIRECTIVES_BYTES = 2 * (256 + 128) };
    source_writer_t writer;
    const char *body = kernel->entry.length > 0 ? function_body(kernel) : NULL;
    *text = NULL;
    if (!rungi_simt_can_group(kernel) || !body)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s does not compute several problems by one launch",
                          kernel->info.name);
    TRY(begin_source(kernel, strlen(rungi_source_group) + strlen(rungi_source_group_begin) + DIRECTIVES_BYTES,
                     &writer));
    const char *function = function_line(kernel);
    if (writer.from > function) { /* an #include after the function */
        rungi_release(kernel->context, writer.out);
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s includes a header after its kernel function", kernel->info.file);
    }
    copy_until(&writer, function);
    insert_text(&writer, rungi_string_view_of("group.h", 7), rungi_source_group, line_number(kernel, function));
    end_line(&writer);
    copy_until(&writer, body);
    end_line(&writer);
    insert_text(&writer, rungi_string_view_of("group_begin.h", 13), rungi_source_group_begin,
                line_number(kernel, body) + 1);
    copy_until(&writer, body + strlen(body));
    *text = writer.out;
    return RUNG_OK;
}

rung_status rungi_simt_source_of_path(const rung_kernel *kernel, const rungi_simt_path *path, char **text)
{
    return path->is_group ? rungi_simt_group_source_assemble(kernel, text) : rungi_simt_source_assemble(kernel, text);
}

static void append_define(char text[RUNGI_SIMT_DEFINES_BYTES], const char *format, ...) RUNG_PRINTF(2, 3);

/* Appends one option. RUNGI_SIMT_DEFINES_BYTES is enough for all of them. */
static void append_define(char text[RUNGI_SIMT_DEFINES_BYTES], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0 && used + 1 < RUNGI_SIMT_DEFINES_BYTES)
        strcpy(text + used++, " ");
    int length = vsnprintf(text + used, RUNGI_SIMT_DEFINES_BYTES - used, format, arguments);
    va_end(arguments);
    RUNGI_ASSERT(length >= 0 && used + (size_t)length < RUNGI_SIMT_DEFINES_BYTES);
}

/* The words of the types in -DIN_F16, -DOUT_F32 and -DB_TYPE=TYPE_Q8_0. */
static const char *const type_words[] = {
    [RUNG_TYPE_NONE] = "NONE", [RUNG_F32] = "F32",   [RUNG_F64] = "F64",       [RUNG_F16] = "F16",
    [RUNG_BF16] = "BF16",      [RUNG_I8] = "I8",     [RUNG_I32] = "I32",       [RUNG_U8] = "U8",
    [RUNG_I4] = "I4",          [RUNG_U4] = "U4",     [RUNG_F8E4M3] = "F8E4M3", [RUNG_F8E5M2] = "F8E5M2",
    [RUNG_F4E2M1] = "F4E2M1",  [RUNG_E8M0] = "E8M0", [RUNG_Q8_0] = "Q8_0",     [RUNG_Q4_0] = "Q4_0"};

static void append_narrow_a(char text[RUNGI_SIMT_DEFINES_BYTES], const rungi_simt_narrow *narrow)
{
    append_define(text, "-DA_TYPE=TYPE_%s -DA_UNITS=%d", type_words[narrow->type], narrow->has_units);
    if (narrow->scale_type != RUNG_TYPE_NONE)
        append_define(text, "-DA_SCALE_TYPE=TYPE_%s -DA_BLOCK_ROWS=%lld -DA_BLOCK_COLS=%lld",
                      type_words[narrow->scale_type], (long long)narrow->block_rows, (long long)narrow->block_cols);
}

static void append_narrow_b(char text[RUNGI_SIMT_DEFINES_BYTES], const rungi_simt_narrow *narrow)
{
    append_define(text, "-DB_TYPE=TYPE_%s -DB_UNITS=%d", type_words[narrow->type], narrow->has_units);
    if (narrow->scale_type != RUNG_TYPE_NONE)
        append_define(text, "-DSCALE_TYPE=TYPE_%s", type_words[narrow->scale_type]);
    if (narrow->zero_type != RUNG_TYPE_NONE)
        append_define(text, "-DZERO_TYPE=TYPE_%s", type_words[narrow->zero_type]);
    if (narrow->scale_type != RUNG_TYPE_NONE || narrow->zero_type != RUNG_TYPE_NONE)
        append_define(text, "-DBLOCK_ROWS=%lld -DBLOCK_COLS=%lld", (long long)narrow->block_rows,
                      (long long)narrow->block_cols);
}

void rungi_simt_defines(const rung_kernel *kernel, const rungi_parameter_values *values, const rungi_simt_path *path,
                        char text[RUNGI_SIMT_DEFINES_BYTES])
{
    *text = '\0';
    for (int64_t i = 0; i < kernel->info.parameter_count; i++)
        append_define(text, "-D%s=%lld", kernel->parameters[i].name, (long long)values->value[i]);
    if (path->in != RUNG_F32 || path->out != RUNG_F32)
        append_define(text, "-DIN_%s -DOUT_%s", type_words[path->in], type_words[path->out]);
    if (path->has_compute)
        append_define(text, "-DCOMPUTE=%d", (int)path->compute);
    if (path->has_paths)
        append_define(text, "-DWIDE=%d -DGUARDED=%d -DA_MN_MAJOR=%d -DB_MN_MAJOR=%d",
                      path->wide + path->has_partial_chunks, path->guarded, path->a_mn_major, path->b_mn_major);
    if (path->is_group)
        append_define(text, "-DIS_GROUP=1");
    if (path->narrow_a.type != RUNG_TYPE_NONE)
        append_narrow_a(text, &path->narrow_a);
    if (path->narrow_b.type != RUNG_TYPE_NONE)
        append_narrow_b(text, &path->narrow_b);
    if (path->has_runtime_flags) {
        append_define(text, "-DRUNTIME_FLAGS=1");
        return;
    }
    if (path->split)
        append_define(text, "-DSPLIT=1");
    if (path->bias)
        append_define(text, "-DBIAS=1");
    if (path->activation != RUNG_ACTIVATION_NONE)
        append_define(text, "-DACTIVATION=%d", (int)path->activation);
    if (path->residual)
        append_define(text, "-DRESIDUAL=1");
    if (path->addend && !path->split)
        append_define(text, "-DADDEND=1");
}
