/* SPDX-License-Identifier: Apache-2.0 */
/* source_and_launch.c - how a kernel file is made whole and how C is cut into launches. A real
 * device has room for two thousand million blocks, so a C that needs two launches
 * never comes up in a test: here the limit is a few blocks and everything is cut. */
#include "support/cpu_context.h"

#include <stdio.h>

#include "core/matrix.h"
#include "simt/simt_launch.h"
#include "sources.h"

static rung_kernel *read_text(const char *text)
{
    rung_kernel *kernel;
    assert_int_equal(rung_kernel_from_source(context, "opencl", "mine.cu", text, &kernel), RUNG_OK);
    return kernel;
}

/* ---- Launches -------------------------------------------------------------------- */

static int64_t minimum(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t blocks_of(int64_t rows, int64_t cols, const rungi_simt_shape *shape)
{
    return (rows + shape->bm - 1) / shape->bm * ((cols + shape->bn - 1) / shape->bn);
}

/* Walks the launches as the OpenCL device does; every element exactly once. */
static void check_cover(const rung_kernel *kernel, const rungi_parameter_values *values, int64_t m, int64_t n,
                        int64_t blocks_max)
{
    static unsigned char covered[64 * 64];
    rungi_simt_shape shape;
    int64_t blocks = 0;
    assert_int_equal(rungi_simt_shape_init(kernel, values, m, n, blocks_max, &shape), RUNG_OK);
    memset(covered, 0, sizeof covered);
    for (int64_t row = 0; row < m; row += shape.rows) {
        for (int64_t col = 0; col < n; col += shape.cols) {
            assert_true(shape.rows > 0 && shape.cols > 0);
            int64_t rows = minimum(shape.rows, m - row), cols = minimum(shape.cols, n - col);
            int64_t here = blocks_of(rows, cols, &shape);
            assert_in_range(here, 1, blocks_max);
            blocks += here;
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < cols; j++)
                    covered[(row + i) * 64 + col + j]++;
        }
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++)
            assert_int_equal(covered[i * 64 + j], 1);
    assert_int_equal(blocks, shape.blocks);
    assert_int_equal(shape.blocks, blocks_of(m, n, &shape));
}

static void every_element_once(void **state)
{
    static const int64_t limits[] = {1, 2, 3, 7, 12, 1000, INT32_MAX};
    rungi_parameter_values values;
    (void)state;
    rung_kernel *kernel = read_text("#define BM 4\n#define BN 3\nKERNEL(12) mine(\n");
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    for (size_t limit = 0; limit < sizeof limits / sizeof *limits; limit++)
        for (int64_t m = 0; m <= 40; m++)
            for (int64_t n = 0; n <= 40; n++)
                check_cover(kernel, &values, m, n, limits[limit]);
    rung_kernel_destroy(kernel);
}

/* One launch where one is enough. */
static void no_more_launches_than_needed(void **state)
{
    rungi_parameter_values values;
    rungi_simt_shape shape;
    (void)state;
    rung_kernel *kernel = read_text("#define BM 4\n#define BN 3\nKERNEL(2 * 6) mine(\n");
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    assert_int_equal(rungi_simt_shape_init(kernel, &values, 9, 7, 9, &shape), RUNG_OK);
    assert_int_equal(shape.threads, 12);
    assert_int_equal(shape.bm, 4);
    assert_int_equal(shape.bn, 3);
    assert_int_equal(shape.blocks, 9);
    assert_true(shape.rows >= 9 && shape.cols >= 7);
    assert_int_equal(rungi_simt_shape_init(kernel, &values, 9, 7, 8, &shape), RUNG_OK);
    assert_int_equal(shape.rows, 8); /* two rows of three blocks */
    assert_true(shape.cols >= 7);
    assert_int_equal(rungi_simt_shape_init(kernel, &values, 9, 7, 2, &shape), RUNG_OK);
    assert_int_equal(shape.rows, 4);
    assert_int_equal(shape.cols, 6);
    rung_kernel_destroy(kernel);
}

/* A C with no element may still be very long. */
static void smallest_and_largest_sizes(void **state)
{
    rungi_parameter_values values;
    rungi_simt_shape shape;
    (void)state;
    rung_kernel *kernel = read_text("#define BM 32\n#define BN 32\nKERNEL(32) mine(\n");
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {INT64_MAX, 0}, {0, INT64_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(rungi_simt_shape_init(kernel, &values, sizes[i][0], sizes[i][1], INT32_MAX, &shape), RUNG_OK);
        assert_int_equal(shape.blocks, 0);
        assert_true(shape.rows >= 0 && shape.cols >= 0);
    }
    assert_int_equal(rungi_simt_shape_init(kernel, &values, INT64_MAX, INT64_MAX, INT32_MAX, &shape),
                     RUNG_STATUS_TOO_LARGE);
    assert_int_equal(rungi_simt_shape_init(kernel, &values, INT64_C(1) << 40, 1, INT32_MAX, &shape), RUNG_OK);
    assert_int_equal(shape.blocks, INT64_C(1) << 35);
    assert_int_equal(shape.rows, INT64_C(32) * INT32_MAX);
    rung_kernel_destroy(kernel);
}

static void incomplete_kernel_files(void **state)
{
    const struct {
        const char *text, *told;
    } cases[] = {
        {"", "KERNEL("},
        {"#define BM 4\n#define BN 4\n", "KERNEL("},
        {"#define BN 4\nKERNEL(4) f(\n", "BM"},
        {"#define BM 4\nKERNEL(4) f(\n", "BN"},
        {"#define BM 4\n#define BN 4\nKERNEL() f(\n", "threads"},
        {"#define BM 4\n#define BN 4\nKERNEL(T) f(\n", "threads"},
        {"#define BM 0\n#define BN 4\nKERNEL(4) f(\n", "BM"},
        {"#define BM 4\n#define BN -4\nKERNEL(4) f(\n", "BN"},
        {"#define BM 4\n#define BN 4\nKERNEL(0) f(\n", "threads"},
        {"#define BM 4294967296\n#define BN 4\nKERNEL(4) f(\n", "BM"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rungi_parameter_values values;
        rungi_simt_shape shape;
        rung_kernel *kernel = read_text(cases[i].text);
        assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
        assert_int_equal(rungi_simt_shape_init(kernel, &values, 8, 8, 100, &shape), RUNG_STATUS_INVALID);
        assert_non_null(strstr(rung_error_text(), cases[i].told));
        assert_non_null(strstr(rung_error_text(), "mine.cu"));
        rung_kernel_destroy(kernel);
    }
}

/* ---- Source ---------------------------------------------------------------------- */

static int64_t occurrences(const char *text, const char *part)
{
    int64_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Follows the #line directives through `text` to the line that begins with `wanted`
 * and returns the number that a compiler would give it; 0 if it is not of `file`. */
static int64_t number_of_line(const char *text, const char *file, const char *wanted)
{
    char current[128] = "";
    int64_t number = 0;
    for (const char *at = text; *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : "") {
        long long given;
        char name[128];
        number++;
        if (sscanf(at, "#line %lld \"%127[^\"]\"", &given, name) == 2) {
            number = given - 1;
            strcpy(current, name);
        } else if (strncmp(at, wanted, strlen(wanted)) == 0) {
            return strcmp(current, file) == 0 ? number : 0;
        }
    }
    return 0;
}

static int64_t line_in_file(const char *source, const char *wanted)
{
    int64_t number = 1;
    const char *found = strstr(source, wanted);
    assert_non_null(found);
    for (const char *at = source; at < found; at++)
        number += *at == '\n';
    return number;
}

static void every_shipped_source_expands(void **state)
{
    rung_kernel *kernel;
    (void)state;
    for (int64_t i = 0; rung_kernel_at(context, "opencl", i, &kernel) == RUNG_OK; i++) {
        const rung_kernel_info *info = rung_kernel_describe(kernel);
        char *text;
        if (info->number == 0)
            continue; /* the vendor's library has no text */
        assert_int_equal(rungi_simt_source_assemble(kernel, &text), RUNG_OK);
        assert_int_equal(occurrences(text, rungi_source_dialect), 1);
        assert_int_equal(occurrences(text, "#include \"dialect.h\""), 0);
        assert_int_equal(number_of_line(text, info->file, "KERNEL("), line_in_file(info->source, "\nKERNEL(") + 1);
        assert_int_equal(number_of_line(text, "dialect.h", "#ifndef RUNG_DIALECT_H"),
                         line_in_file(rungi_source_dialect, "#ifndef RUNG_DIALECT_H"));
        rungi_release(context, text);
    }
}

static rung_matrix of(int64_t rows, int64_t cols)
{
    return rung_matrix_of(RUNG_F32, rows, cols, NULL);
}

static rung_status record_launch(void *recorded, const rungi_simt_launch *launch)
{
    *(rungi_simt_launch *)recorded = *launch;
    return RUNG_OK;
}

static uintptr_t no_handle(const rung_buffer *buffer)
{
    (void)buffer;
    return 0;
}

/* A kernel for a narrow B, and one for a narrow A and B, get all of their arguments. */
static void narrow_matrices_have_arguments(void **state)
{
    static const int counts[] = {RUNGI_SIMT_QUANTIZED_ARGUMENTS, RUNGI_SIMT_PAIR_ARGUMENTS};
    const rungi_gemm_sizes sizes = {32, 16, 8, 1};
    const rung_run_options options = {.size = sizeof options};
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(rung_kernel_find(context, "opencl", "15", &kernel), RUNG_OK);
    for (int pair = 0; pair < 2; pair++) {
        rung_type a_type = pair ? RUNG_F8E4M3 : RUNG_F32;
        rungi_simt_plan simt = {.path = {.narrow_a.type = pair ? a_type : RUNG_TYPE_NONE, .narrow_b.type = RUNG_F8E4M3},
                                .shape = {.threads = 32, .bm = 32, .bn = 16, .rows = 32, .cols = 16, .blocks = 1},
                                .split = {.splits = 1, .k_per_slice = 8},
                                .arguments = counts[pair]};
        rungi_simt_launch launch = {.count = 0};
        rungi_simt_run run = {.simt = &simt, .device_state = &launch, .handle = no_handle, .launch = record_launch};
        rung_plan plan = {.kernel = kernel};
        rung_problem problem = rung_problem_of(rung_matrix_of(a_type, 32, 8, NULL),
                                               rung_matrix_of(RUNG_F8E4M3, 8, 16, NULL), of(32, 16));
        assert_int_equal(rungi_simt_launch_all(&run, &plan, &problem, sizes, &options), RUNG_OK);
        assert_int_equal(launch.count, counts[pair]);
        for (int i = 0; i < launch.count; i++)
            assert_true(launch.arguments[i].size > 0);
        assert_int_equal(launch.arguments[RUNGI_SIMT_PAIR_ARGUMENTS - 1].size > 0, pair); /* how A is quantized */
    }
}

/* ---- Paths ------------------------------------------------------------------------ */

static rungi_simt_path path_of(rung_matrix a, rung_matrix b, rung_matrix c, unsigned aligned)
{
    rung_kernel *kernel;
    rungi_parameter_values values;
    rungi_simt_path path;
    rung_problem problem = rung_problem_of(a, b, c), turned = rungi_simt_row_major(&problem);
    assert_int_equal(rung_kernel_find(context, "opencl", "08", &kernel), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "tiny", RUNGI_DEFAULT_IN_BYTES, &values),
                     RUNG_OK); /* 16 x 16 x 4 */
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &turned, aligned, &path), RUNG_OK);
    assert_true(path.has_paths);
    return path;
}

static rung_matrix transposed_view(int64_t rows, int64_t cols)
{
    return rung_matrix_transpose(of(cols, rows));
}

/* A wrong path reads 16 bytes where it may not, or leaves the matrix: each condition
 * by itself takes the wide path away. */
static void paths_follow_the_layout(void **state)
{
    (void)state;
    rungi_simt_path path = path_of(of(32, 8), of(8, 16), of(32, 16), true);
    assert_true(path.wide && !path.guarded && !path.a_mn_major && path.b_mn_major);
    path = path_of(transposed_view(32, 8), transposed_view(8, 16), of(32, 16), true);
    assert_true(path.wide && !path.guarded && path.a_mn_major && !path.b_mn_major);
    path = path_of(of(32, 8), of(8, 16), transposed_view(32, 16), true); /* the operands change places */
    assert_true(path.wide && path.a_mn_major && !path.b_mn_major);
    assert_true(path_of(of(36, 8), of(8, 16), of(36, 16), true).guarded);
    assert_true(path_of(of(32, 8), of(8, 20), of(32, 20), true).guarded);
    assert_true(path_of(transposed_view(32, 6), of(6, 16), of(32, 16), true).guarded);
    assert_false(path_of(of(32, 8), of(8, 16), of(32, 16), false).wide);
    assert_false(path_of(of(32, 6), of(6, 16), of(32, 16), true).wide);
    assert_false(path_of(of(32, 8), of(8, 18), of(32, 18), true).wide);
    rung_matrix repeated = of(32, 8);
    repeated.row_stride = 0;
    repeated.col_stride = 4;
    assert_false(path_of(repeated, of(8, 16), of(32, 16), true).wide);
    path = path_of(of(32, 6), of(6, 16), of(32, 16), true);
    assert_true(path.guarded && !path.a_mn_major && path.b_mn_major); /* the one that takes anything */
}

/* Chunks of 16 bytes: eight elements of f16. */
static rungi_simt_path chunk_path(rung_matrix a, rung_matrix b, int64_t rows, int64_t cols, unsigned aligned)
{
    rung_kernel *kernel;
    rungi_parameter_values values;
    rungi_simt_path path;
    rung_problem problem = rung_problem_of(a, b, rung_matrix_of(RUNG_F16, rows, cols, NULL));
    assert_int_equal(rung_kernel_find(context, "opencl", "12", &kernel), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "tiny", 2, &values), RUNG_OK); /* 32 x 64 x 32 */
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, aligned, &path), RUNG_OK);
    assert_true(path.has_paths);
    return path;
}

static rung_matrix halves(int64_t rows, int64_t cols, int64_t stride)
{
    rung_matrix matrix = rung_matrix_of(RUNG_F16, rows, cols, NULL);
    matrix.row_stride = stride;
    return matrix;
}

/* A kernel by chunks wants more of A and B than one by fours, nothing of C, and can do with
 * any end of k. */
static void paths_by_chunks(void **state)
{
    const unsigned at_16 = RUNGI_INPUTS_ALIGNED_16_BYTES;
    (void)state;
    rungi_simt_path path = chunk_path(halves(32, 40, 40), halves(40, 64, 64), 32, 64, at_16);
    assert_true(path.wide && path.by_chunks && !path.has_partial_chunks && path.guarded && path.b_mn_major);
    path = chunk_path(halves(33, 40, 40), halves(40, 72, 72), 33, 72, at_16);
    assert_true(path.wide && !path.has_partial_chunks && path.guarded);
    path = chunk_path(halves(32, 39, 40), halves(39, 64, 64), 32, 64, at_16);
    assert_true(path.wide && path.has_partial_chunks); /* a row of A ends within a chunk */
    path = chunk_path(halves(32, 40, 40), halves(40, 63, 64), 32, 63, at_16);
    assert_true(path.wide && path.has_partial_chunks && path.guarded); /* a row of B does */
    path = chunk_path(rung_matrix_transpose(halves(40, 32, 32)), rung_matrix_transpose(halves(64, 40, 40)), 32, 64,
                      at_16);
    assert_true(path.wide && path.a_mn_major && !path.b_mn_major);
    assert_false(chunk_path(halves(32, 40, 40), halves(40, 64, 64), 32, 64, RUNGI_ALIGNED_4_ELEMENTS).wide);
    assert_false(chunk_path(halves(32, 36, 36), halves(36, 64, 64), 32, 64, at_16).wide); /* fours alone */
    assert_false(chunk_path(halves(32, 40, 40), halves(40, 60, 60), 32, 60, at_16).wide);
}

/* The kernels believe that they have what the host gives. */
static void host_and_kernels_agree_on_scratch(void **state)
{
    char line[64];
    (void)state;
    snprintf(line, sizeof line, "\n#define ENGINE_WORDS %d\n", RUNGI_SIMT_SCRATCH_BYTES_PER_THREAD / 4);
    assert_non_null(strstr(rungi_source_engine, line));
}

static void lines_keep_their_numbers(void **state)
{
    char *text;
    (void)state;
    rung_kernel *kernel = read_text("first\nsecond\n#include \"dialect.h\"\nfourth\n\nsixth");
    assert_int_equal(rungi_simt_source_assemble(kernel, &text), RUNG_OK);
    assert_int_equal(number_of_line(text, "mine.cu", "first"), 1);
    assert_int_equal(number_of_line(text, "mine.cu", "second"), 2);
    assert_int_equal(number_of_line(text, "mine.cu", "fourth"), 4);
    assert_int_equal(number_of_line(text, "mine.cu", "sixth"), 6);
    rungi_release(context, text);
    rung_kernel_destroy(kernel);

    kernel = read_text("#include \"dialect.h\"\nsecond\n"); /* the very first line */
    assert_int_equal(rungi_simt_source_assemble(kernel, &text), RUNG_OK);
    assert_int_equal(number_of_line(text, "mine.cu", "second"), 2);
    rungi_release(context, text);
    rung_kernel_destroy(kernel);
}

static void files_without_the_include(void **state)
{
    char *text;
    (void)state;
    rung_kernel *kernel = read_text("KERNEL(1) f(\n");
    assert_int_equal(rungi_simt_source_assemble(kernel, &text), RUNG_STATUS_COMPILE_FAILED);
    assert_null(text);
    assert_non_null(strstr(rung_error_text(), "#include \"dialect.h\""));
    rung_kernel_destroy(kernel);
}

/* As a compiler would take them, each of these says the include once, on line 2. */
static void spellings_of_the_include(void **state)
{
    const char *const texts[] = {
        "first\n#include \"dialect.h\"\nthird\n",
        "first\n#include \"dialect.h\" // the dialect\nthird\n",
        "first\n  #  include  \"dialect.h\"\nthird\n",
        "first\r\n#include \"dialect.h\"\r\nthird\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rung_kernel *kernel = read_text(texts[i]);
        char *text;
        if (rungi_simt_source_assemble(kernel, &text) != RUNG_OK)
            fail_msg("\"%s\": %s", texts[i], rung_error_text());
        assert_int_equal(number_of_line(text, "mine.cu", "third"), 3);
        rungi_release(context, text);
        rung_kernel_destroy(kernel);
    }
}

/* A comment that quotes the line is no include. */
static void includes_in_comments_are_ignored(void **state)
{
    char *text;
    (void)state;
    rung_kernel *kernel = read_text("/* Begin with\n#include \"dialect.h\"\n*/\n"
                                    "#include \"dialect.h\"\nfifth\n");
    assert_int_equal(rungi_simt_source_assemble(kernel, &text), RUNG_OK);
    const char *dialect = strstr(text, rungi_source_dialect);
    assert_non_null(dialect);
    assert_true(dialect > strstr(text, "*/")); /* behind the comment, not inside */
    assert_int_equal(number_of_line(text, "mine.cu", "fifth"), 5);
    rungi_release(context, text);
    rung_kernel_destroy(kernel);
}

/* A name for messages must not end the string it stands in. */
static void file_names_are_strings(void **state)
{
    rung_kernel *kernel;
    char *text;
    (void)state;
    assert_int_equal(
        rung_kernel_from_source(context, "opencl", "a\"b\\c\nd.cu", "#include \"dialect.h\"\nsecond\n", &kernel),
        RUNG_OK);
    assert_int_equal(rungi_simt_source_assemble(kernel, &text), RUNG_OK);
    assert_int_equal(number_of_line(text, "a_b_c_d.cu", "second"), 2);
    rungi_release(context, text);
    rung_kernel_destroy(kernel);
}

static void defines(void **state)
{
    char text[RUNGI_SIMT_DEFINES_BYTES];
    rungi_parameter_values values;
    (void)state;
    rung_kernel *kernel = read_text("#ifndef TILE\n#define TILE 32 // 8 16\n#endif\n"
                                    "#ifndef UNROLL\n#define UNROLL 4\n#endif\n");
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "UNROLL=2147483647", RUNGI_DEFAULT_IN_BYTES, &values),
                     RUNG_OK);
    rungi_simt_defines(kernel, &values, &(rungi_simt_path){.in = RUNG_F32, .out = RUNG_F32}, text);
    assert_string_equal(text, "-DTILE=32 -DUNROLL=2147483647");
    rung_kernel_destroy(kernel);

    kernel = read_text("");
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    rungi_simt_defines(kernel, &values, &(rungi_simt_path){.in = RUNG_F32, .out = RUNG_F32}, text);
    assert_string_equal(text, "");
    rung_kernel_destroy(kernel);
}

/* The text of the defines for a file of no parameters. */
static const char *defines_of(rungi_simt_path path)
{
    static char text[RUNGI_SIMT_DEFINES_BYTES];
    rungi_parameter_values values;
    rung_kernel *kernel = read_text("");
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    rungi_simt_defines(kernel, &values, &path, text);
    rung_kernel_destroy(kernel);
    return text;
}

/* Each word names one program of its own: one left out computes something else. */
static void defines_say_types_and_epilogue(void **state)
{
    (void)state;
    assert_string_equal(defines_of((rungi_simt_path){.in = RUNG_F16, .out = RUNG_F16}), "-DIN_F16 -DOUT_F16");
    assert_string_equal(defines_of((rungi_simt_path){.in = RUNG_BF16, .out = RUNG_F32}), "-DIN_BF16 -DOUT_F32");
    assert_string_equal(defines_of((rungi_simt_path){.in = RUNG_F32, .out = RUNG_BF16}), "-DIN_F32 -DOUT_BF16");
    assert_string_equal(defines_of((rungi_simt_path){.in = RUNG_F64, .out = RUNG_F32}), "-DIN_F64 -DOUT_F32");
    assert_string_equal(defines_of((rungi_simt_path){.in = RUNG_I8, .out = RUNG_I32}), "-DIN_I8 -DOUT_I32");
    assert_string_equal(defines_of((rungi_simt_path){.in = RUNG_F32, .out = RUNG_F32, .split = true}), "-DSPLIT=1");
    assert_string_equal(defines_of((rungi_simt_path){.in = RUNG_F32, .out = RUNG_F32, .bias = true}), "-DBIAS=1");
    assert_string_equal(defines_of((rungi_simt_path){.in = RUNG_F32, .out = RUNG_F32, .residual = true}),
                        "-DRESIDUAL=1");
    assert_string_equal(
        defines_of((rungi_simt_path){.in = RUNG_F32, .out = RUNG_F32, .activation = RUNG_ACTIVATION_RELU}),
        "-DACTIVATION=1");
    assert_string_equal(
        defines_of((rungi_simt_path){.in = RUNG_F32, .out = RUNG_F32, .activation = RUNG_ACTIVATION_GELU}),
        "-DACTIVATION=2");
    const char *all = defines_of((rungi_simt_path){.in = RUNG_F16,
                                                   .out = RUNG_F32,
                                                   .has_paths = true,
                                                   .guarded = true,
                                                   .a_mn_major = true,
                                                   .split = true,
                                                   .bias = true,
                                                   .activation = RUNG_ACTIVATION_GELU,
                                                   .residual = true});
    assert_string_equal(all, "-DIN_F16 -DOUT_F32 -DWIDE=0 -DGUARDED=1 -DA_MN_MAJOR=1 -DB_MN_MAJOR=0 "
                             "-DSPLIT=1 -DBIAS=1 -DACTIVATION=2 -DRESIDUAL=1");
    assert_non_null(
        strstr(rungi_source_epilogue, "ACTIVATION_OF(output->launch_args) == 1")); /* where the numbers are read */
}

/* As many parameters as a file may have, with the longest names and values, on the path that has the most to say: a
 * define that is cut or left out computes something else. One list more than that is refused. */
static void longest_defines_are_not_truncated(void **state)
{
    char source[4096] = "", list[RUNG_PARAMETERS_BYTES + 64] = "", text[RUNGI_SIMT_DEFINES_BYTES],
         written[RUNG_PARAMETERS_BYTES];
    rungi_parameter_values values;
    (void)state;
    for (int i = 0; i < RUNGI_PARAMETERS_MAX; i++) {
        char name[RUNGI_PARAMETER_NAME_MAX + 1];
        size_t used = strlen(source), listed = strlen(list);
        snprintf(name, sizeof name, "PARAMETER_WITH_A_LONG_NAME_NO_%c", 'A' + i);
        assert_int_equal(strlen(name), RUNGI_PARAMETER_NAME_MAX);
        snprintf(source + used, sizeof source - used, "#ifndef %s\n#define %s 1\n#endif\n", name, name);
        snprintf(list + listed, sizeof list - listed, "%s%s=2147483647", i ? "," : "", name);
    }
    rung_kernel *kernel = read_text(source);
    assert_int_equal(strlen(list), RUNG_PARAMETERS_BYTES - 1);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, list, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    rungi_kernel_format_parameters(kernel, &values, written, sizeof written);
    assert_string_equal(written, list);
    rungi_simt_defines(kernel, &values,
                       &(rungi_simt_path){.in = RUNG_BF16,
                                          .out = RUNG_BF16,
                                          .has_paths = true,
                                          .wide = true,
                                          .has_partial_chunks = true,
                                          .split = true,
                                          .bias = true,
                                          .activation = RUNG_ACTIVATION_GELU,
                                          .residual = true},
                       text);
    assert_non_null(strstr(text, "NO_P=2147483647 -DIN_BF16 -DOUT_BF16 -DWIDE=2"));
    assert_string_equal(text + strlen(text) - strlen(" -DRESIDUAL=1"), " -DRESIDUAL=1");
    strcat(list, ",");
    assert_int_equal(rungi_kernel_parse_parameters(kernel, list, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "the maximum is 687"));
    rung_kernel_destroy(kernel);
}

/* ---- Batches and epilogues -------------------------------------------------------- */

/* A wide kernel moves four elements at once of every item, so each must begin where
 * four may be moved. */
static void every_item_must_be_aligned(void **state)
{
    static float memory[64];
    static const int64_t even[] = {0, 4, 12}, odd[] = {0, 4, 6};
    (void)state;
    rung_matrix view = of(4, 8);
    assert_true(rungi_matrix_is_aligned(&view, 1, 4)); /* no memory yet */
    view.batch_stride = 32;
    assert_true(rungi_matrix_is_aligned(&view, 3, 4));
    for (int64_t stride = 33; stride < 36; stride++) {
        view.batch_stride = stride;
        assert_false(rungi_matrix_is_aligned(&view, 3, 4));
        assert_true(rungi_matrix_is_aligned(&view, 1, 4)); /* a step that is never taken */
    }
    view.batch_stride = 33;
    view.batch_offsets = even; /* then the stride does not count */
    assert_true(rungi_matrix_is_aligned(&view, 3, 4));
    view.batch_offsets = odd;
    assert_false(rungi_matrix_is_aligned(&view, 3, 4));
    assert_true(rungi_matrix_is_aligned(&view, 2, 4));
    view = of(4, 8);
    view.offset = 2;
    assert_false(rungi_matrix_is_aligned(&view, 1, 4));
    view.data = (void *)(((uintptr_t)memory + 15) / 16 * 16);
    view.offset = 4;
    assert_true(rungi_matrix_is_aligned(&view, 1, 4));
    view.data = (float *)view.data + 1;
    assert_false(rungi_matrix_is_aligned(&view, 1, 4));
    view.offset = 3; /* and back */
    assert_true(rungi_matrix_is_aligned(&view, 1, 4));
    view.type = RUNG_F64; /* four of which are 32 bytes */
    view.data = (void *)(((uintptr_t)memory + 31) / 32 * 32 + 16);
    view.offset = 0;
    assert_false(rungi_matrix_is_aligned(&view, 1, 4));
}

static rung_problem batch_of_three(void)
{
    rung_problem problem = rung_problem_of(of(32, 8), of(8, 16), of(32, 16));
    problem.batch = 3;
    problem.a.batch_stride = 32 * 8;
    problem.b.batch_stride = 8 * 16;
    problem.c.batch_stride = 32 * 16;
    return problem;
}

/* What a plan compiles for a problem and types, without a device. */
static void paths_depend_on_the_epilogue(void **state)
{
    rung_kernel *kernel;
    rungi_parameter_values values;
    rungi_simt_path path;
    (void)state;
    assert_int_equal(rung_kernel_find(context, "opencl", "08", &kernel), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "tiny", RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    rung_problem problem = batch_of_three();
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, true, &path), RUNG_OK);
    assert_true(path.wide && !path.bias && !path.residual && path.activation == RUNG_ACTIVATION_NONE);
    assert_false(path.split); /* which is decided later */
    problem.bias = rung_matrix_broadcast(of(1, 16), 32, 16);
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, true, &path), RUNG_OK);
    assert_true(path.wide && path.bias && !path.residual);
    problem.bias = (rung_matrix){0};
    problem.residual = of(32, 16);
    problem.activation = RUNG_ACTIVATION_GELU;
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, true, &path), RUNG_OK);
    assert_true(!path.bias && path.residual && path.activation == RUNG_ACTIVATION_GELU);
    problem = batch_of_three();
    problem.a.type = problem.b.type = RUNG_F16;
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, true, &path), RUNG_OK);
    assert_int_equal(path.in, RUNG_F16);
    assert_int_equal(path.out, RUNG_F32);
    assert_int_equal(rung_kernel_find(context, "opencl", "01", &kernel), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, true, &path), RUNG_OK);
    assert_false(path.has_paths || path.wide);
    assert_int_equal(path.in, RUNG_F16); /* types are for every kernel */
}

/* Field by field: what stands between them is nobody's. */
static void assert_same(const rung_matrix *x, const rung_matrix *y)
{
    assert_int_equal(x->type, y->type);
    assert_int_equal(x->rows, y->rows);
    assert_int_equal(x->cols, y->cols);
    assert_int_equal(x->row_stride, y->row_stride);
    assert_int_equal(x->col_stride, y->col_stride);
    assert_int_equal(x->offset, y->offset);
    assert_int_equal(x->batch_stride, y->batch_stride);
    assert_ptr_equal(x->batch_offsets, y->batch_offsets);
}

static void assert_transposed(const rung_matrix *view, const rung_matrix *from)
{
    rung_matrix expected = rung_matrix_transpose(*from);
    assert_same(view, &expected);
}

/* (A B)^T = B^T A^T, and what is added is turned with it. */
static void transposed_problems(void **state)
{
    static const int64_t of_a[3] = {0, 300, 600};
    (void)state;
    rung_problem problem = batch_of_three();
    problem.bias = rung_matrix_broadcast(of(1, 16), 32, 16);
    problem.residual = rung_matrix_broadcast(of(32, 1), 32, 16);
    problem.residual.batch_stride = 32;
    problem.activation = RUNG_ACTIVATION_RELU;
    problem.a.batch_offsets = of_a;
    rung_problem same = rungi_simt_row_major(&problem);
    assert_same(&same.a, &problem.a);
    assert_same(&same.b, &problem.b);
    assert_same(&same.c, &problem.c);
    assert_same(&same.bias, &problem.bias);
    problem.c.row_stride = 1;
    problem.c.col_stride = 32;
    rung_problem turned = rungi_simt_row_major(&problem);
    assert_transposed(&turned.a, &problem.b);
    assert_transposed(&turned.b, &problem.a); /* with its offsets */
    assert_transposed(&turned.c, &problem.c);
    assert_transposed(&turned.bias, &problem.bias);
    assert_transposed(&turned.residual, &problem.residual);
    assert_int_equal(turned.batch, 3);
    assert_int_equal(turned.activation, RUNG_ACTIVATION_RELU);
    assert_ptr_equal(turned.b.batch_offsets, of_a);
}

static rung_kernel *skinny_kernel(void)
{
    rung_kernel *kernel;
    assert_int_equal(rung_kernel_find(context, "opencl", "14", &kernel), RUNG_OK);
    return kernel;
}

/* A kernel for few rows computes the form of the problem in which C has few rows, whatever the layout of C. */
static void few_rows(void **state)
{
    rung_kernel *kernel = skinny_kernel(), *other;
    rung_problem wide = rung_problem_of(of(2, 8), of(8, 32), of(2, 32));
    rung_problem tall = rung_problem_of(of(32, 8), of(8, 2), of(32, 2));
    (void)state;
    rung_problem same = rungi_simt_orient(kernel, &wide), turned = rungi_simt_orient(kernel, &tall);
    assert_same(&same.a, &wide.a);
    assert_same(&same.c, &wide.c);
    assert_transposed(&turned.a, &tall.b);
    assert_transposed(&turned.b, &tall.a);
    assert_transposed(&turned.c, &tall.c);
    wide.c = transposed_view(2, 32); /* column-major */
    same = rungi_simt_orient(kernel, &wide);
    assert_same(&same.a, &wide.a);
    assert_int_equal(rung_kernel_find(context, "opencl", "10", &other), RUNG_OK);
    turned = rungi_simt_orient(other, &wide);
    assert_transposed(&turned.a, &wide.b);
}

/* Only B is loaded in vectors. */
static void paths_for_few_rows(void **state)
{
    rung_kernel *kernel = skinny_kernel();
    rungi_parameter_values values;
    rungi_simt_path path;
    rung_problem problem = rung_problem_of(of(1, 33), of(33, 32), transposed_view(1, 32));
    (void)state;
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, RUNGI_INPUTS_ALIGNED_16_BYTES, &path), RUNG_OK);
    assert_true(path.wide && path.guarded && path.b_mn_major && !path.a_mn_major && !path.has_partial_chunks);
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, 0, &path), RUNG_OK);
    assert_false(path.wide);
    problem.b = of(33, 31);
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, RUNGI_INPUTS_ALIGNED_16_BYTES, &path), RUNG_OK);
    assert_false(path.wide);
    problem.b = rung_matrix_block(transposed_view(36, 32), 0, 0, 33, 32); /* K-major; the last vector is partial */
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, RUNGI_INPUTS_ALIGNED_16_BYTES, &path), RUNG_OK);
    assert_false(path.wide);
    problem.a = of(1, 36);
    problem.b = transposed_view(36, 32);
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, RUNGI_INPUTS_ALIGNED_16_BYTES, &path), RUNG_OK);
    assert_true(path.wide && path.guarded && !path.b_mn_major);
    problem.a = of(1, 512);
    problem.b = transposed_view(512, 32); /* whole tiles; the rows do not matter */
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, RUNGI_INPUTS_ALIGNED_16_BYTES, &path), RUNG_OK);
    assert_true(path.wide && !path.guarded && !path.b_mn_major);
}

/* Units of eight elements of B are loaded at once, in either layout. */
static void paths_of_a_narrow_b(void **state)
{
    const unsigned aligned = RUNGI_NARROW_B_ALIGNED | RUNGI_ALIGNED_4_ELEMENTS;
    rung_kernel *kernel;
    rungi_parameter_values values;
    rungi_simt_path path;
    rung_problem problem = rung_problem_of(of(32, 64), rung_matrix_of(RUNG_I8, 64, 32, NULL), of(32, 32));
    (void)state;
    assert_int_equal(rung_kernel_find(context, "opencl", "15", &kernel), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, aligned, &path), RUNG_OK);
    assert_true(path.narrow_b.has_units && path.b_mn_major);
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, RUNGI_ALIGNED_4_ELEMENTS, &path), RUNG_OK);
    assert_false(path.narrow_b.has_units);
    problem.b = rung_matrix_transpose(rung_matrix_of(RUNG_I8, 32, 64, NULL));
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, aligned, &path), RUNG_OK);
    assert_true(path.narrow_b.has_units && !path.b_mn_major);
    problem = rung_problem_of(of(32, 60), rung_matrix_of(RUNG_I8, 60, 28, NULL), of(32, 28)); /* partial units */
    assert_int_equal(rungi_simt_path_choose(kernel, &values, &problem, aligned, &path), RUNG_OK);
    assert_false(path.narrow_b.has_units);
}

/* The names appear in traces and in the table of embedded images. */
static void paths_have_names(void **state)
{
    static const struct {
        rungi_simt_path path;
        const char *name;
    } cases[] = {
        {{.has_paths = false}, "-"},
        {{.has_paths = true}, "general"},
        {{.has_paths = true, .guarded = true, .split = true}, "general_split"},
        {{.has_paths = true, .wide = true, .b_mn_major = true}, "wide"},
        {{.has_paths = true, .wide = true, .guarded = true, .a_mn_major = true}, "wide_guarded_turned"},
        {{.has_paths = true, .wide = true, .has_partial_chunks = true, .bias = true}, "wide_along_k_partly_epilogue"},
        {{.has_paths = true, .narrow_b.has_units = true, .is_group = true}, "general_units_group"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[128];
        rungi_simt_path_name(&cases[i].path, name, sizeof name);
        assert_string_equal(name, cases[i].name);
    }
}

/* Bits of a float mean nothing to a kernel that sums in double or in whole numbers. */
static void scalars_in_the_type_of_sums(void **state)
{
    (void)state;
    assert_true(rungi_simt_scalar_of(0.1, RUNG_F32).f32 == 0.1f);
    assert_true(rungi_simt_scalar_of(0.1, RUNG_F64).f64 == 0.1);
    assert_int_equal(rungi_simt_scalar_of(-3, RUNG_I32).u32, UINT32_MAX - 2);
    assert_int_equal(rungi_simt_scalar_of(INT32_MIN, RUNG_I32).u32, 0x80000000u);
}

/* ---- Presets that plans take by themselves ---------------------------------------- */

/* As the header names them: for kind and type, for the kind, for the type, none. */
static const char *usual_preset(const rung_kernel *kernel, const char *kind, const char *type)
{
    static char name[64];
    snprintf(name, sizeof name, "%s_%s", kind, type);
    if (*kind && *type && rungi_kernel_has_preset(kernel, name))
        return name;
    if (*kind && rungi_kernel_has_preset(kernel, kind))
        return kind;
    return *type && rungi_kernel_has_preset(kernel, type) ? type : "";
}

/* Where a plan is given no parameters those must fit, whatever the elements' size: a
 * kernel that refuses its own preset ends the search for a kernel. */
static void presets_fit_the_types_they_are_for(void **state)
{
    static const char *const kinds[] = {"", "cpu"};
    static const struct {
        const char *sum;
        int64_t in_bytes;
    } types[] = {{"", 4}, {"", 2}, {"f64", 8}, {"i32", 4}, {"i32", 1}};
    rung_kernel *kernel;
    (void)state;
    for (int64_t i = 0; rung_kernel_at(context, "opencl", i, &kernel) == RUNG_OK; i++)
        for (int kind = 0; kind < 2; kind++)
            for (int type = 0; type < 5; type++) {
                rungi_parameter_values values;
                const char *preset = usual_preset(kernel, kinds[kind], types[type].sum);
                if (rungi_kernel_parse_parameters(kernel, preset, types[type].in_bytes, &values) != RUNG_OK)
                    fail_msg("%s with \"%s\" and elements of %d bytes: %s", rung_kernel_describe(kernel)->name, preset,
                             (int)types[type].in_bytes, rung_error_text());
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_once),
        cmocka_unit_test(no_more_launches_than_needed),
        cmocka_unit_test(smallest_and_largest_sizes),
        cmocka_unit_test(incomplete_kernel_files),
        cmocka_unit_test(every_shipped_source_expands),
        cmocka_unit_test(narrow_matrices_have_arguments),
        cmocka_unit_test(paths_follow_the_layout),
        cmocka_unit_test(paths_by_chunks),
        cmocka_unit_test(host_and_kernels_agree_on_scratch),
        cmocka_unit_test(lines_keep_their_numbers),
        cmocka_unit_test(files_without_the_include),
        cmocka_unit_test(spellings_of_the_include),
        cmocka_unit_test(includes_in_comments_are_ignored),
        cmocka_unit_test(file_names_are_strings),
        cmocka_unit_test(defines),
        cmocka_unit_test(defines_say_types_and_epilogue),
        cmocka_unit_test(longest_defines_are_not_truncated),
        cmocka_unit_test(every_item_must_be_aligned),
        cmocka_unit_test(paths_depend_on_the_epilogue),
        cmocka_unit_test(transposed_problems),
        cmocka_unit_test(few_rows),
        cmocka_unit_test(paths_for_few_rows),
        cmocka_unit_test(paths_of_a_narrow_b),
        cmocka_unit_test(paths_have_names),
        cmocka_unit_test(scalars_in_the_type_of_sums),
        cmocka_unit_test(presets_fit_the_types_they_are_for),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, open_context, close_context);
}
