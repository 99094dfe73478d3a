/* SPDX-License-Identifier: Apache-2.0 */
/* simt.c - the ladder of kernel files, and how they are made whole and launched. */
#include "simt/simt.h"

#include <stdio.h>
#include <string.h>

#include "core/checked.h"
#include "sources.h"

#define CPU(number, step)
#define SIMT(number, step)                           \
    {.name = #number "_" #step,                      \
     .file = #number "_" #step ".cu",                \
     .source = rungi_source_simt_##number##_##step,  \
     .types = RUNGI_SIMT_TYPES},
const rungi_ladder_step rungi_simt_ladder[RUNGI_SIMT_STEPS] = {
#include "core/ladder.def"
};
#undef CPU
#undef SIMT

/* ---- Source ---------------------------------------------------------------------------------- */

static const char include_words[] = "#include \"dialect.h\"";

/* Where a line that includes the dialect begins; NULL if there is none. */
static const char *find_include(const char *source)
{
    const char *at = source;
    while ((at = strstr(at, include_words)) && at != source && at[-1] != '\n')
        at++;
    return at;
}

rung_status rungi_simt_source(const rung_kernel *kernel, char **text)
{
    const char *source = kernel->info.source;
    const char *include = find_include(source);
    *text = NULL;
    if (!include)
        return rungi_fail(RUNG_COMPILE, "%s does not say #include \"dialect.h\", the header that makes "
                          "one file CUDA C and OpenCL C", kernel->info.file);
    const char *rest = include + strcspn(include, "\n");
    int64_t line = 1;
    for (const char *at = source; at < include; at++)
        line += *at == '\n';

    size_t capacity = strlen(source) + strlen(rungi_source_dialect) + 2 * strlen(kernel->info.file) + 128;
    *text = rungi_allocate(kernel->context, (int64_t)capacity, 1);
    if (!*text)
        return RUNG_NO_MEMORY;
    snprintf(*text, capacity, "#line 1 \"%s\"\n%.*s#line 1 \"dialect.h\"\n%s\n#line %lld \"%s\"\n%s",
             kernel->info.file, (int)(include - source), source, rungi_source_dialect,
             (long long)line, kernel->info.file, rest);
    return RUNG_OK;
}

void rungi_simt_defines(const rung_kernel *kernel, const rungi_values *values, char *text,
                        size_t capacity)
{
    size_t used = 0;
    *text = '\0';
    for (int64_t i = 0; i < kernel->info.parameter_count && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s-D%s=%lld", i ? " " : "",
                                 kernel->parameters[i].name, (long long)values->value[i]);
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
    shape->rows = down * shape->bm;
    shape->cols = across * shape->bn;
    return RUNG_OK;
}
