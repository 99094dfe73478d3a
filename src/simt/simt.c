/* SPDX-License-Identifier: Apache-2.0 */
/* simt.c - the ladder of kernel files, and how they are made whole and launched. */
#include "simt/simt.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/assert.h"
#include "core/checked.h"
#include "core/matrix.h"
#include "core/problem.h"
#include "core/tiles.h"
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
     .products = RUNGI_SIMT_PRODUCTS},
const rungi_ladder_step rungi_simt_ladder[RUNGI_SIMT_STEPS] = {
#include "core/ladder.def"
};
#undef VENDOR
#undef CPU
#undef SIMT
_Static_assert((int)RUNGI_SIMT_STEPS <= (int)RUNGI_LADDER_MAX, "a context has place for them");

/* ---- Source ---------------------------------------------------------------------------------- */

/* A file's name as a string of C. */
static void write_name(const char *file, char *name, size_t capacity)
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
    {"dialect.h", rungi_source_dialect}, {"finish.h", rungi_source_finish},   {"tile.h", rungi_source_tile},
    {"async.h", rungi_source_async},     {"swizzle.h", rungi_source_swizzle}, {"engine.h", rungi_source_engine},
    {"matrix.h", rungi_source_matrix},   {"wmma.h", rungi_source_wmma},
};

enum { HEADER_COUNT = sizeof headers / sizeof *headers };

static const char *header_text(rungi_slice name)
{
    for (int i = 0; i < HEADER_COUNT; i++)
        if (strlen(headers[i].name) == name.length && memcmp(headers[i].name, name.text, name.length) == 0)
            return headers[i].text;
    return NULL;
}

static rung_status check_includes(const rung_kernel *kernel)
{
    bool has_dialect = false;
    for (int64_t i = 0; i < kernel->include_count; i++) {
        rungi_slice name = kernel->includes[i].name;
        if (!header_text(name))
            return rungi_fail(RUNG_STATUS_COMPILE_FAILED,
                              "%s:%lld: a kernel may include the headers in "
                              "src/simt/kernels; \"%.*s\" is none of them",
                              kernel->info.file, (long long)kernel->includes[i].number, (int)name.length, name.text);
        has_dialect = has_dialect || header_text(name) == rungi_source_dialect;
    }
    if (!has_dialect)
        return rungi_fail(RUNG_STATUS_COMPILE_FAILED,
                          "%s does not say #include \"dialect.h\", the header that makes "
                          "one file CUDA C and OpenCL C",
                          kernel->info.file);
    return RUNG_OK;
}

/* The size that the text cannot pass: each include, its header and two #lines. */
static size_t room_for(const rung_kernel *kernel, size_t name_length)
{
    size_t room = strlen(kernel->info.source) + name_length + 64;
    for (int64_t i = 0; i < kernel->include_count; i++)
        room += strlen(header_text(kernel->includes[i].name)) + kernel->includes[i].name.length + name_length + 64;
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
        return RUNG_STATUS_NO_MEMORY;
    used += (size_t)snprintf(out, room, "#line 1 \"%s\"\n", name);
    for (int64_t i = 0; i < kernel->include_count; i++) {
        const rungi_include *include = &kernel->includes[i];
        used += (size_t)snprintf(out + used, room - used, "%.*s#line 1 \"%.*s\"\n%s\n#line %lld \"%s\"",
                                 (int)(include->line.text - from), from, (int)include->name.length, include->name.text,
                                 header_text(include->name), (long long)include->number + 1, name);
        from = include->line.text + include->line.length;
    }
    snprintf(out + used, room - used, "%s", from);
    *text = out;
    return RUNG_OK;
}

/* One more define. RUNGI_SIMT_DEFINES has room for all of them. */
static void define(char text[RUNGI_SIMT_DEFINES], const char *format, ...) RUNG_PRINTF(2, 3);

static void define(char text[RUNGI_SIMT_DEFINES], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0 && used + 1 < RUNGI_SIMT_DEFINES)
        strcpy(text + used++, " ");
    int length = vsnprintf(text + used, RUNGI_SIMT_DEFINES - used, format, arguments);
    va_end(arguments);
    RUNGI_ASSERT(length >= 0 && used + (size_t)length < RUNGI_SIMT_DEFINES);
}

/* The word of a type in -DIN_F16 and -DOUT_F32. */
static const char *word_of(rung_type type)
{
    switch (type) {
    case RUNG_F64: return "F64";
    case RUNG_F16: return "F16";
    case RUNG_BF16: return "BF16";
    case RUNG_I8: return "I8";
    case RUNG_I32: return "I32";
    default: return "F32";
    }
}

void rungi_simt_defines(const rung_kernel *kernel, const rungi_values *values, const rungi_simt_path *path,
                        char text[RUNGI_SIMT_DEFINES])
{
    *text = '\0';
    for (int64_t i = 0; i < kernel->info.parameter_count; i++)
        define(text, "-D%s=%lld", kernel->parameters[i].name, (long long)values->value[i]);
    if (path->in != RUNG_F32 || path->out != RUNG_F32)
        define(text, "-DIN_%s -DOUT_%s", word_of(path->in), word_of(path->out));
    if (path->has_paths)
        define(text, "-DWIDE=%d -DGUARDED=%d -DA_ALONG_L=%d -DB_ALONG_L=%d", path->wide + path->partly, path->guarded,
               path->a_along_l, path->b_along_l);
    if (path->at_run_time) {
        define(text, "-DRUN_TIME=1");
        return;
    }
    if (path->split)
        define(text, "-DSPLIT=1");
    if (path->bias)
        define(text, "-DBIAS=1");
    if (path->activation != RUNG_ACTIVATION_NONE)
        define(text, "-DACTIVATION=%d", (int)path->activation);
    if (path->residual)
        define(text, "-DRESIDUAL=1");
    if (path->addend && !path->split)
        define(text, "-DADDEND=1");
}

/* ---- Paths -------------------------------------------------------------------------------------- */

rung_problem rungi_simt_turned(const rung_problem *problem)
{
    if (problem->c.row_stride >= problem->c.col_stride)
        return *problem;
    rung_problem turned = *problem;
    turned.a = rung_matrix_transpose(problem->b);
    turned.b = rung_matrix_transpose(problem->a);
    turned.c = rung_matrix_transpose(problem->c);
    turned.bias = rung_matrix_transpose(problem->bias);
    turned.residual = rung_matrix_transpose(problem->residual);
    turned.d = rung_matrix_transpose(problem->d);
    return turned;
}

static bool includes(const rung_kernel *kernel, const char *header)
{
    for (int64_t i = 0; i < kernel->include_count; i++)
        if (header_text(kernel->includes[i].name) == header)
            return true;
    return false;
}

int rungi_simt_arguments(const rung_kernel *kernel)
{
    if (kernel->info.engine == RUNG_ENGINE_EMULATED || kernel->is_reduction)
        return RUNGI_SIMT_ALL_ARGUMENTS;
    return includes(kernel, rungi_source_finish) ? RUNGI_SIMT_FINISH_ARGUMENTS : RUNGI_SIMT_ARGUMENTS;
}

bool rungi_simt_needs_engine(const rung_kernel *kernel)
{
    return includes(kernel, rungi_source_engine);
}

bool rungi_simt_has_paths(const rung_kernel *kernel)
{
    return includes(kernel, rungi_source_tile);
}

unsigned rungi_simt_abilities(const rung_kernel *kernel)
{
    return includes(kernel, rungi_source_finish)
               ? RUNG_ABILITY_BATCH_OFFSETS | RUNG_ABILITY_EPILOGUE | RUNG_ABILITY_SPLIT_K
               : 0;
}

/* Whether pieces of so many elements along one side begin at multiples of them. */
static bool is_wide(const rung_matrix *matrix, bool along_rows, int64_t piece)
{
    int64_t unit = along_rows ? matrix->row_stride : matrix->col_stride;
    int64_t other = along_rows ? matrix->col_stride : matrix->row_stride;
    return unit == 1 && other % piece == 0;
}

/* Pieces of four: none may hang over the end of k, and C goes by them too. */
static bool fits_fours(const rung_problem *problem, unsigned aligned, bool a_along_l, bool b_along_l)
{
    bool fits_k = (a_along_l && b_along_l) || problem->a.cols % 4 == 0;
    return aligned & RUNGI_AT_FOURS && fits_k && is_wide(&problem->a, a_along_l, 4) &&
           is_wide(&problem->b, !b_along_l, 4) && is_wide(&problem->c, false, 4);
}

/* Chunks of 16 bytes of A and B, at any edge; C is the kernel's own business. */
static bool fits_chunks(const rung_problem *problem, unsigned aligned, bool a_along_l, bool b_along_l)
{
    int64_t chunk = 16 / rung_type_size(problem->a.type);
    return aligned & RUNGI_AT_16_BYTES && is_wide(&problem->a, a_along_l, chunk) &&
           is_wide(&problem->b, !b_along_l, chunk);
}

/* Whether a row, along k or along l, ends within a chunk. */
static bool has_parts(const rung_problem *problem, bool a_along_l, bool b_along_l)
{
    int64_t chunk = 16 / rung_type_size(problem->a.type), k = problem->a.cols;
    return (a_along_l ? problem->a.rows : k) % chunk != 0 || (b_along_l ? problem->b.cols : k) % chunk != 0;
}

rung_status rungi_simt_path_of(const rung_kernel *kernel, const rungi_values *values, const rung_problem *problem,
                               unsigned aligned, rungi_simt_path *path)
{
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    int64_t bm, bn, bk;
    *path = (rungi_simt_path){
        .in = a->type,
        .out = c->type,
        .guarded = true,
        .b_along_l = true,
        .bias = !rungi_matrix_is_empty(&problem->bias),
        .activation = problem->activation,
        .residual = !rungi_matrix_is_empty(&problem->residual),
        .addend = !rungi_matrix_is_empty(rungi_problem_addend(problem)),
    };
    path->has_paths = rungi_simt_has_paths(kernel);
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
    bool by_chunks = includes(kernel, rungi_source_swizzle);
    if (bm < 1 || bn < 1 || bk < 1 || !(by_chunks ? fits_chunks : fits_fours)(problem, aligned, a_along_l, b_along_l))
        return RUNG_OK;
    path->wide = true;
    path->by_chunks = by_chunks;
    path->partly = by_chunks && has_parts(problem, a_along_l, b_along_l);
    /* By chunks a guard costs nothing, and one compiled kernel serves all sizes. */
    path->guarded = by_chunks || c->rows % bm != 0 || c->cols % bn != 0 || a->cols % bk != 0;
    path->a_along_l = a_along_l;
    path->b_along_l = b_along_l;
    return RUNG_OK;
}

void rungi_simt_path_name(const rungi_simt_path *path, char *text, size_t capacity)
{
    bool has_epilogue = path->bias || path->residual || path->addend || path->activation != RUNG_ACTIVATION_NONE;
    /* Of operands that stand otherwise than by rows. */
    const char *stand = !path->wide || (!path->a_along_l && path->b_along_l) ? ""
                        : path->a_along_l && path->b_along_l                 ? "_along_l"
                        : path->a_along_l                                    ? "_turned"
                                                                             : "_along_k";
    const char *base = !path->has_paths ? "-" : !path->wide ? "general" : path->guarded ? "wide_guarded" : "wide";
    snprintf(text, capacity, "%s%s%s%s%s", base, stand, path->partly ? "_partly" : "", has_epilogue ? "_epilogue" : "",
             path->split ? "_split" : "");
}

rungi_simt_scalar rungi_simt_scalar_of(double value, rung_type type)
{
    rungi_simt_scalar scalar = {.f64 = 0};
    if (type == RUNG_F64)
        scalar.f64 = value;
    else if (type == RUNG_I32)
        scalar.u32 = (uint32_t)(int64_t)value;
    else
        scalar.f32 = (float)value;
    return scalar;
}

/* ---- Shares of k --------------------------------------------------------------------------------- */

static void cut(int64_t k, int64_t splits, int64_t bk, rungi_simt_split *split)
{
    RUNGI_ASSERT(k > bk && bk > 0 && splits > 1);
    split->k_share = rungi_divide_up(rungi_divide_up(k, splits), bk) * bk;
    split->splits = rungi_divide_up(k, split->k_share);
}

rung_status rungi_simt_split_of(const rung_plan *plan, const rung_problem *turned, int64_t blocks, int64_t bk,
                                bool whole, rungi_simt_split *split)
{
    int64_t k = turned->a.cols, asked = plan->splits_asked, bytes = 0, all_blocks;
    bool is_addend_scattered = rungi_problem_addend(turned)->batch_offsets != NULL;
    bool scattered = turned->a.batch_offsets || turned->b.batch_offsets || turned->c.batch_offsets ||
                     is_addend_scattered;
    int64_t offsets = is_addend_scattered ? 4 : 3; /* arrays of them */
    *split = (rungi_simt_split){.splits = 1, .k_share = k};
    if (scattered && (!rungi_multiply(turned->batch, offsets * (int64_t)sizeof(int64_t), &split->partials) ||
                      split->partials > INT64_MAX - 15))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "a batch of %lld items is too large", (long long)turned->batch);
    split->partials = rungi_divide_up(split->partials, 16) * 16;
    split->workspace = split->partials;
    bool can = whole && k > bk && plan->kernel->info.abilities & RUNG_ABILITY_SPLIT_K;
    if (!can || !rungi_multiply(blocks, turned->batch, &all_blocks))
        return RUNG_OK;
    int64_t splits = asked;
    if (asked == 0)
        splits = rungi_tiles_shares(plan->device, turned, all_blocks, bk, plan->workspace_offered - split->partials);
    if (splits < 2)
        return RUNG_OK;
    cut(k, rungi_smaller(splits, RUNGI_SIMT_ITEMS_MAX), bk, split);
    bool fits = rungi_tiles_partials(turned, split->splits, &bytes) &&
                rungi_add(bytes, split->partials, &split->workspace);
    if (!fits && asked > 0)
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the partial sums of %lld shares are too large",
                          (long long)split->splits);
    if (split->splits == 1 || !fits)
        *split = (rungi_simt_split){
            .splits = 1, .k_share = k, .partials = split->partials, .workspace = split->partials};
    return RUNG_OK;
}

rung_status rungi_simt_one_share(const rung_problem *turned, rungi_simt_split *split)
{
    int64_t bytes;
    split->splits = 1;
    split->k_share = turned->a.cols;
    if (!rungi_tiles_partials(turned, 1, &bytes) || !rungi_add(bytes, split->partials, &split->workspace))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "the sums of %lld x %lld are too large", (long long)turned->c.rows,
                          (long long)turned->c.cols);
    return RUNG_OK;
}

rung_status rungi_simt_reduce(const rung_plan *plan, rung_kernel **kernel)
{
    rung_status status = rung_kernel_from_source(plan->device->context, plan->device->backend->name, "reduce.cu",
                                                 rungi_source_reduce, kernel);
    if (status == RUNG_OK)
        (*kernel)->is_reduction = true;
    return status;
}

/* ---- Launches ---------------------------------------------------------------------------------- */

/* A size the file must give: a macro of that name, above zero. */
static rung_status read_size(const rung_kernel *kernel, const rungi_values *values, rungi_slice expression,
                             const char *what, int64_t *size)
{
    rung_status status = rungi_kernel_number(kernel, values, expression, size);
    if (status != RUNG_OK)
        return rungi_fail_in(RUNG_STATUS_INVALID, "%s must say %s", kernel->info.file, what);
    if (*size < 1 || *size > INT32_MAX)
        return rungi_fail(RUNG_STATUS_INVALID, "%s: %s comes to %lld", kernel->info.file, what, (long long)*size);
    return RUNG_OK;
}

rung_status rungi_simt_shape_of(const rung_kernel *kernel, const rungi_values *values, int64_t m, int64_t n,
                                int64_t blocks_max, rungi_simt_shape *shape)
{
    memset(shape, 0, sizeof *shape);
    if (kernel->entry.length > RUNGI_SIMT_NAME)
        return rungi_fail(RUNG_STATUS_INVALID, "%s: the kernel's name is longer than %d letters", kernel->info.file,
                          RUNGI_SIMT_NAME);
    if (kernel->entry.length == 0)
        return rungi_fail(RUNG_STATUS_INVALID, "%s has no kernel; its head is written KERNEL(threads) name(...)",
                          kernel->info.file);
    rung_status status = read_size(kernel, values, kernel->threads, "its threads in KERNEL(threads)", &shape->threads);
    if (status == RUNG_OK)
        status = read_size(kernel, values, rungi_slice_of("BM", 2), "the rows of C a block computes, #define BM",
                           &shape->bm);
    if (status == RUNG_OK)
        status = read_size(kernel, values, rungi_slice_of("BN", 2), "the columns of C a block computes, #define BN",
                           &shape->bn);
    if (status != RUNG_OK)
        return status;

    int64_t down = rungi_divide_up(m, shape->bm), across = rungi_divide_up(n, shape->bn);
    if (!rungi_multiply(down, across, &shape->blocks))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "C, %lld x %lld, has more tiles than can be counted", (long long)m,
                          (long long)n);
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
