/* SPDX-License-Identifier: Apache-2.0 */
/* simt.c - the ladder of kernel files, and how they are made whole and launched. */
#include "simt/simt.h"

#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "sources.h"

#define VENDOR(number, step)                                                        \
    {.name = #number "_" #step,                                                     \
     .file = #number "_" #step,                                                     \
     .source = "/* " #number "_" #step " - the vendor's own library, the one to beat. */\n", \
     .types = 1u << RUNG_F32,                                                       \
     .is_vendor = true},
#define CPU(number, step)
#define SIMT(number, step)                           \
    {.name = #number "_" #step,                      \
     .file = #number "_" #step ".cu",                \
     .source = rungi_source_simt_##number##_##step,  \
     .types = RUNGI_SIMT_TYPES},
const rungi_ladder_step rungi_simt_ladder[RUNGI_SIMT_STEPS] = {
#include "core/ladder.def"
};
#undef VENDOR
#undef CPU
#undef SIMT

/* ---- Source ---------------------------------------------------------------------------------- */

/* A file's name as a string of C. */
static void write_name(const char *file, char *name, size_t capacity)
{
    size_t used = 0;
    for (; *file && used + 1 < capacity; file++)
        name[used++] = *file == '"' || *file == '\\' || *file == '\n' ? '_' : *file;
    name[used] = '\0';
}

/* The headers that kernels may include. */
static const struct {
    const char *name, *text;
} headers[] = {
    {"dialect.h", rungi_source_dialect},
    {"tile.h", rungi_source_tile},
    {"async.h", rungi_source_async},
};

enum { HEADER_COUNT = sizeof headers / sizeof *headers };

static const char *header_text(rungi_slice name)
{
    for (int i = 0; i < HEADER_COUNT; i++)
        if (strlen(headers[i].name) == name.length &&
            memcmp(headers[i].name, name.text, name.length) == 0)
            return headers[i].text;
    return NULL;
}

static rung_status check_includes(const rung_kernel *kernel)
{
    bool has_dialect = false;
    for (int64_t i = 0; i < kernel->include_count; i++) {
        rungi_slice name = kernel->includes[i].name;
        if (!header_text(name))
            return rungi_fail(RUNG_COMPILE, "%s:%lld: a kernel may include the headers in "
                              "src/simt/kernels; \"%.*s\" is none of them", kernel->info.file,
                              (long long)kernel->includes[i].number, (int)name.length, name.text);
        has_dialect = has_dialect || header_text(name) == rungi_source_dialect;
    }
    if (!has_dialect)
        return rungi_fail(RUNG_COMPILE, "%s does not say #include \"dialect.h\", the header that makes "
                          "one file CUDA C and OpenCL C", kernel->info.file);
    return RUNG_OK;
}

/* The size that the text cannot pass: each include, its header and two #lines. */
static size_t room_for(const rung_kernel *kernel, size_t name_length)
{
    size_t room = strlen(kernel->info.source) + name_length + 64;
    for (int64_t i = 0; i < kernel->include_count; i++)
        room += strlen(header_text(kernel->includes[i].name)) + kernel->includes[i].name.length +
                name_length + 64;
    return room;
}

rung_status rungi_simt_source(const rung_kernel *kernel, char **text)
{
    char name[256];
    const char *from = kernel->info.source;
    *text = NULL;
    rung_status status = check_includes(kernel);
    if (status != RUNG_OK)
        return status;
    write_name(kernel->info.file, name, sizeof name);
    size_t room = room_for(kernel, strlen(name)), used = 0;
    char *out = rungi_allocate(kernel->context, (int64_t)room, 1);
    if (!out)
        return RUNG_NO_MEMORY;
    used += (size_t)snprintf(out, room, "#line 1 \"%s\"\n", name);
    for (int64_t i = 0; i < kernel->include_count; i++) {
        const rungi_include *include = &kernel->includes[i];
        used += (size_t)snprintf(out + used, room - used, "%.*s#line 1 \"%.*s\"\n%s\n#line %lld \"%s\"",
                                 (int)(include->line.text - from), from, (int)include->name.length,
                                 include->name.text, header_text(include->name),
                                 (long long)include->number + 1, name);
        from = include->line.text + include->line.length;
    }
    snprintf(out + used, room - used, "%s", from);
    *text = out;
    return RUNG_OK;
}

void rungi_simt_defines(const rung_kernel *kernel, const rungi_values *values,
                        const rungi_simt_path *path, char *text, size_t capacity)
{
    size_t used = 0;
    *text = '\0';
    for (int64_t i = 0; i < kernel->info.parameter_count && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s-D%s=%lld", i ? " " : "",
                                 kernel->parameters[i].name, (long long)values->value[i]);
    if (path->type == RUNG_I32 && used < capacity)
        used += (size_t)snprintf(text + used, capacity - used, " -DRUNG_I32");
    if (path->has_paths && used < capacity)
        snprintf(text + used, capacity - used, " -DWIDE=%d -DGUARDED=%d -DA_ALONG_L=%d -DB_ALONG_L=%d",
                 path->wide, path->guarded, path->a_along_l, path->b_along_l);
}

/* ---- Paths -------------------------------------------------------------------------------------- */

rung_problem rungi_simt_turned(const rung_problem *problem)
{
    if (problem->c.row_stride >= problem->c.col_stride)
        return *problem;
    return (rung_problem){problem->alpha, rung_matrix_transpose(problem->b),
                          rung_matrix_transpose(problem->a), problem->beta,
                          rung_matrix_transpose(problem->c)};
}

static bool includes(const rung_kernel *kernel, const char *header)
{
    for (int64_t i = 0; i < kernel->include_count; i++)
        if (header_text(kernel->includes[i].name) == header)
            return true;
    return false;
}

/* Whether pieces of four along one side are 16 bytes at multiples of 16. */
static bool is_wide(const rung_matrix *matrix, bool along_rows)
{
    int64_t unit = along_rows ? matrix->row_stride : matrix->col_stride;
    int64_t other = along_rows ? matrix->col_stride : matrix->row_stride;
    return unit == 1 && other % 4 == 0;
}

rung_status rungi_simt_path_of(const rung_kernel *kernel, const rungi_values *values,
                               const rung_problem *problem, bool aligned, rungi_simt_path *path)
{
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    int64_t bm, bn, bk;
    *path = (rungi_simt_path){.type = c->type, .guarded = true, .b_along_l = true};
    path->has_paths = includes(kernel, rungi_source_tile);
    if (!path->has_paths)
        return RUNG_OK;
    rung_status status = rungi_kernel_number(kernel, values, rungi_slice_of("BM", 2), &bm);
    if (status == RUNG_OK)
        status = rungi_kernel_number(kernel, values, rungi_slice_of("BN", 2), &bn);
    if (status == RUNG_OK)
        status = rungi_kernel_number(kernel, values, rungi_slice_of("BK", 2), &bk);
    if (status != RUNG_OK)
        return status;
    bool a_along_l = a->row_stride < a->col_stride, b_along_l = b->col_stride < b->row_stride;
    bool pieces_fit_k = (a_along_l && b_along_l) || a->cols % 4 == 0;
    if (!aligned || !pieces_fit_k || !is_wide(a, a_along_l) || !is_wide(b, !b_along_l) ||
        !is_wide(c, false) || bm < 1 || bn < 1 || bk < 1)
        return RUNG_OK;
    path->wide = true;
    path->guarded = c->rows % bm != 0 || c->cols % bn != 0 || a->cols % bk != 0;
    path->a_along_l = a_along_l;
    path->b_along_l = b_along_l;
    return RUNG_OK;
}

rungi_simt_scalar rungi_simt_scalar_of(double value, rung_type type)
{
    rungi_simt_scalar scalar = {.f32 = (float)value};
    if (type == RUNG_I32)
        scalar.u32 = (uint32_t)(int64_t)value;
    return scalar;
}

/* ---- Launches ---------------------------------------------------------------------------------- */

/* A size the file must give: a macro of that name, above zero. */
static rung_status read_size(const rung_kernel *kernel, const rungi_values *values,
                             rungi_slice expression, const char *what, int64_t *size)
{
    rung_status status = rungi_kernel_number(kernel, values, expression, size);
    if (status != RUNG_OK)
        return rungi_fail_in(RUNG_INVALID, "%s must say %s", kernel->info.file, what);
    if (*size < 1 || *size > INT32_MAX)
        return rungi_fail(RUNG_INVALID, "%s: %s comes to %lld", kernel->info.file, what,
                          (long long)*size);
    return RUNG_OK;
}

rung_status rungi_simt_shape_of(const rung_kernel *kernel, const rungi_values *values, int64_t m,
                                int64_t n, int64_t blocks_max, rungi_simt_shape *shape)
{
    memset(shape, 0, sizeof *shape);
    if (kernel->entry.length > RUNGI_SIMT_NAME)
        return rungi_fail(RUNG_INVALID, "%s: the kernel's name is longer than %d letters",
                          kernel->info.file, RUNGI_SIMT_NAME);
    if (kernel->entry.length == 0)
        return rungi_fail(RUNG_INVALID, "%s has no kernel; its head is written KERNEL(threads) name(...)",
                          kernel->info.file);
    rung_status status = read_size(kernel, values, kernel->threads, "its threads in KERNEL(threads)",
                                   &shape->threads);
    if (status == RUNG_OK)
        status = read_size(kernel, values, rungi_slice_of("BM", 2),
                           "the rows of C a block computes, #define BM", &shape->bm);
    if (status == RUNG_OK)
        status = read_size(kernel, values, rungi_slice_of("BN", 2),
                           "the columns of C a block computes, #define BN", &shape->bn);
    if (status != RUNG_OK)
        return status;

    int64_t down = rungi_divide_up(m, shape->bm), across = rungi_divide_up(n, shape->bn);
    if (!rungi_multiply(down, across, &shape->blocks))
        return rungi_fail(RUNG_TOO_LARGE, "C, %lld x %lld, has more tiles than can be counted",
                          (long long)m, (long long)n);
    if (across > blocks_max)
        across = blocks_max;
    int64_t rows_of_blocks = across > 0 ? blocks_max / across : down;
    if (down > rows_of_blocks)
        down = rows_of_blocks;
    /* Whole tiles, which at the end of the matrix may pass what int64_t holds. */
    if (!rungi_multiply(down, shape->bm, &shape->rows))
        shape->rows = m;
    if (!rungi_multiply(across, shape->bn, &shape->cols))
        shape->cols = n;
    return RUNG_OK;
}
