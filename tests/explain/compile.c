/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c - rung_kernel_compile, and taking apart what it makes: with NVRTC 12.9 and nvdisasm from
 * tools/install-test-tools, and no GPU. The loader is wrapped, so that no other compiler of
 * this machine is found, and none at all where that is the question. */
#include "explain/sass.h"
#include "support/unit.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

static char nvrtc[1024]; /* the library's file */
static bool is_hidden;   /* and as if it were not there */

void *__real_dlopen(const char *name, int flags);
void *__wrap_dlopen(const char *name, int flags);

void *__wrap_dlopen(const char *name, int flags)
{
    bool is_12 = name && strcmp(name, "libnvrtc.so.12") == 0;
    if (name && strstr(name, "libnvrtc") && (is_hidden || !is_12))
        return NULL;
    return __real_dlopen(is_12 ? nvrtc : name, flags);
}

static bool find_tool(const char *pattern, char *path, size_t capacity)
{
    glob_t found;
    bool is_here = glob(pattern, 0, NULL, &found) == 0;
    if (!is_here)
        return false;
    snprintf(path, capacity, "%s", found.gl_pathv[0]);
    globfree(&found);
    return true;
}

static rung_problem square(rung_type in, rung_type out, int64_t n)
{
    return rung_problem_of(rung_matrix_of(in, n, n, NULL), rung_matrix_of(in, n, n, NULL),
                           rung_matrix_of(out, n, n, NULL));
}

static rung_kernel *kernel_of(const char *name)
{
    rung_kernel *kernel;
    assert_int_equal(rung_kernel_find(NULL, "cuda", name, &kernel), RUNG_OK);
    return kernel;
}

static rung_code *compile(const char *name, rung_problem problem, const char *architecture)
{
    rung_code *code;
    rung_status status = rung_kernel_compile(kernel_of(name), &problem, NULL, architecture, &code);
    if (status != RUNG_OK)
        fail_msg("%s for %s: %s", name, architecture, rung_error_text());
    return code;
}

static lab_sass disassemble_code(const rung_code *code)
{
    char why[256];
    lab_sass parts;
    if (!lab_sass_disassemble(code->image, code->image_bytes, NULL, &parts, why, sizeof why))
        fail_msg("not taken apart: %s", why);
    return parts;
}

/* ---- The committed table ---------------------------------------------------------------------- */

/* A row of compile_table.tsv. */
typedef struct compile_row {
    char kernel[32], parameters[256], type[16], path[32], architecture[16];
    long long registers, shared, spills;
} compile_row_t;

static bool find_row(const char *kernel, const char *type, const char *architecture, const rung_code *code,
                     compile_row_t *row)
{
    char line[1024];
    FILE *table = fopen(COMPILE_TABLE, "r");
    assert_non_null(table);
    bool found = false;
    while (!found && fgets(line, sizeof line, table)) {
        if (sscanf(line, "%31s %255s %15s %31s %15s %lld %lld %lld", row->kernel, row->parameters, row->type, row->path,
                   row->architecture, &row->registers, &row->shared, &row->spills) != 8)
            continue;
        /* A preset need not name the last parameters. */
        size_t length = strlen(row->parameters);
        bool same = strncmp(code->parameters, row->parameters, length) == 0 &&
                    (code->parameters[length] == '\0' || code->parameters[length] == ',');
        found = same && strcmp(row->kernel, kernel) == 0 && strcmp(row->type, type) == 0 &&
                strcmp(row->path, code->path) == 0 && strcmp(row->architecture, architecture) == 0;
    }
    fclose(table);
    return found;
}

/* Same registers to within 16, as the compiler is not quite the same from run to run (see
 * tests/build/nvrtc.sh), and the rest to the letter. */
static void check_row(const char *kernel, const char *type, const char *architecture, const rung_code *code)
{
    compile_row_t row;
    if (!find_row(kernel, type, architecture, code, &row))
        fail_msg("the table has no row %s %s %s %s %s", kernel, code->parameters, type, code->path, architecture);
    assert_true(llabs(code->registers_per_thread - row.registers) <= 16);
    assert_int_equal(code->shared_bytes_per_block, row.shared);
    assert_int_equal(code->spill_bytes, row.spills);
}

static void compiles_to_the_tables_resources(void **state)
{
    /* Each on a path or with a preset of its own: sizes that are whole tiles, not even whole
     * vectors, whole vectors; sums of another type; an architecture's own; a small C. */
    static const struct {
        const char *kernel, *type, *architecture, *path;
        rung_type in, out;
        int64_t n, threads;
    } cases[] = {
        {"01_naive", "f32", "sm_86", "-", RUNG_F32, RUNG_F32, 1024, 256},
        {"07_tile2d", "f32", "sm_86", "wide", RUNG_F32, RUNG_F32, 1024, 256},
        {"07_tile2d", "f32", "sm_86", "general", RUNG_F32, RUNG_F32, 1023, 256},
        {"07_tile2d", "f32", "sm_60", "wide_guarded", RUNG_F32, RUNG_F32, 1028, 256},
        {"07_tile2d", "f64", "sm_86", "wide", RUNG_F64, RUNG_F64, 1024, 256},
        {"10_pipeline", "f32", "sm_86", "wide", RUNG_F32, RUNG_F32, 64, 128},
        {"12_matrix", "f16", "sm_75", "wide_guarded", RUNG_F16, RUNG_F16, 1024, 128},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_code *code = compile(cases[i].kernel, square(cases[i].in, cases[i].out, cases[i].n),
                                  cases[i].architecture);
        assert_string_equal(code->path, cases[i].path);
        assert_int_equal(code->threads_per_block, cases[i].threads);
        check_row(cases[i].kernel, cases[i].type, cases[i].architecture, code);
        rung_code_destroy(code);
    }
}

/* More than 48 KiB are asked for at launch, and count. */
static void counts_dynamic_memory(void **state)
{
    (void)state;
    rung_problem problem = square(RUNG_F16, RUNG_F16, 1024);
    rung_code *code;
    int64_t bytes;
    rung_kernel *kernel = kernel_of("12_matrix");
    assert_int_equal(rung_kernel_compile(kernel, &problem, "deep", "sm_86", &code), RUNG_OK);
    assert_int_equal(rung_kernel_evaluate(kernel, "deep", RUNG_F16, "SHARED_BYTES", &bytes), RUNG_OK);
    assert_true(bytes > 48 * 1024);
    assert_int_equal(code->shared_bytes_per_block, bytes);
    rung_code_destroy(code);
}

/* The value of an address names its operand: 1 is A, 2 is B, 3 is C, 4 is the bias. A missing operand has 0. */
static void arguments_name_their_operands(void **state)
{
    static const int addresses[] = {4, 6, 9, 13, 14};
    static const uint64_t with_bias[] = {1, 2, 3, 4, 0};
    rung_problem problem = square(RUNG_F32, RUNG_F32, 64);
    (void)state;
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, 64, NULL), 64, 64);
    rung_code *code = compile("07_tile2d", problem, "sm_86");
    assert_true(code->argument_count > 14);
    for (int i = 0; i < 5; i++) {
        uint64_t operand;
        memcpy(&operand, code->arguments[addresses[i]], sizeof operand);
        assert_int_equal(operand, with_bias[i]);
    }
    rung_code_destroy(code);
}

/* ---- Loops and spills -------------------------------------------------------------------------- */

static void finds_the_loops(void **state)
{
    (void)state;
    rung_code *code = compile("01_naive", square(RUNG_F32, RUNG_F32, 1024), "sm_86");
    lab_sass parts = disassemble_code(code);
    rung_code_destroy(code);
    assert_true(parts.has_loop); /* as the compiler unrolls it, by four */
    assert_string_equal(parts.loop.operation, "FFMA");
    assert_int_equal(parts.loop.multiply_adds, 4 * 32);
    assert_int_equal(lab_instruction_mix_memory_ops(&parts.loop, LAB_MEMORY_OP_GLOBAL_LOAD), 8);
    assert_int_equal(parts.spill_count, 0);

    code = compile("07_tile2d", square(RUNG_F32, RUNG_F32, 1024), "sm_86");
    parts = disassemble_code(code);
    rung_code_destroy(code);
    /* TM x TN sums, and two of BK steps: the kernel unrolls no more, to fit in 128 registers. B comes as 16 bytes, TN / 4
     * per step, and A as two steps of TM rows, 8 bytes each. The barriers are in the loop around the steps. */
    assert_int_equal(parts.loop.multiply_adds, 8 * 8 * 2 * 32);
    assert_int_equal(parts.loop.moves[LAB_MEMORY_OP_SHARED_LOAD][4], 2 * 2);
    assert_int_equal(parts.loop.moves[LAB_MEMORY_OP_SHARED_LOAD][3], 8);
    assert_int_equal(parts.loop.barriers, 0);
    assert_int_equal(parts.loop_barriers, 2);

    code = compile("07_tile2d", square(RUNG_I32, RUNG_I32, 1024), "sm_86");
    parts = disassemble_code(code);
    rung_code_destroy(code);
    assert_true(parts.loop.is_integer && parts.loop.math >= 8 * 8 * 2);
}

/* A caller's own file that spills, and the line that does most of it. */
static void reports_where_it_spills(void **state)
{
    static char text[1 << 14];
    rung_kernel *kernel;
    rung_code *code;
    rung_problem problem = square(RUNG_F32, RUNG_F32, 1024);
    (void)state;
    FILE *file = fopen(SPILL_CU, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    int64_t line = 1;
    const char *here = strstr(text, "/* here */");
    assert_non_null(here);
    for (const char *at = text; at < here; at++)
        line += *at == '\n';
    assert_int_equal(rung_kernel_from_source(NULL, "cuda", "spill.cu", text, &kernel), RUNG_OK);
    assert_int_equal(rung_kernel_compile(kernel, &problem, "SIDE=2", "sm_86", &code), RUNG_OK);
    assert_int_equal(code->spill_bytes, 0);
    rung_code_destroy(code);
    assert_int_equal(rung_kernel_compile(kernel, &problem, NULL, "sm_86", &code), RUNG_OK);
    rung_kernel_destroy(kernel);
    assert_int_equal(code->registers_per_thread, 64);
    int64_t code_bytes = code->spill_bytes;
    assert_true(code_bytes > 0);
    lab_sass parts = disassemble_code(code);
    rung_code_destroy(code);
    assert_true(lab_instruction_mix_memory_ops(&parts.loop, LAB_MEMORY_OP_LOCAL_LOAD) > 0);
    int64_t bytes = 0; /* what the compiler reports is what is there to be seen */
    for (int i = 0; i < LAB_ACCESS_WIDTHS; i++)
        bytes += (parts.whole.moves[LAB_MEMORY_OP_LOCAL_LOAD][i] + parts.whole.moves[LAB_MEMORY_OP_LOCAL_STORE][i])
                 << i;
    assert_int_equal(bytes, code_bytes);
    const lab_spill *most = &parts.spills[0];
    for (int i = 0; i < parts.spill_count && i < LAB_SPILLS_MAX; i++) {
        assert_string_equal(parts.spills[i].file, "spill.cu");
        if (parts.spills[i].loads + parts.spills[i].stores > most->loads + most->stores)
            most = &parts.spills[i];
    }
    assert_int_equal(most->line, line);
}

/* ---- Blocks that are too large ------------------------------------------------------------------- */

static rung_kernel *kernel_of_text(const char *head, const char *body)
{
    char text[1024];
    rung_kernel *kernel;
    snprintf(text, sizeof text,
             "#include \"dialect.h\"\n%s\nmade(index_t m, index_t n, index_t k, sum_t alpha,\n"
             "GLOBAL const in_t *__restrict__ a, view_t a_view, GLOBAL const in_t *__restrict__ b, view_t b_view,\n"
             "sum_t beta, GLOBAL out_t *__restrict__ c, view_t c_view)\n{\n%s\n}\n",
             head, body);
    assert_int_equal(rung_kernel_from_source(NULL, "cuda", "made.cu", text, &kernel), RUNG_OK);
    return kernel;
}

static void expect_block(rung_kernel *kernel, rung_status compiled, int64_t threads, int64_t shared_bytes)
{
    rung_problem problem = square(RUNG_F32, RUNG_F32, 64);
    rung_code *code;
    int64_t found_threads = -1, found_bytes = -1;
    assert_int_equal(rung_kernel_compile(kernel, &problem, NULL, "sm_86", &code), compiled);
    rung_code_destroy(code);
    assert_int_equal(rung_kernel_block_size(kernel, &problem, NULL, "sm_86", &found_threads, &found_bytes), RUNG_OK);
    assert_int_equal(found_threads, threads);
    assert_int_equal(found_bytes, shared_bytes);
    rung_kernel_destroy(kernel);
}

static void block_sizes_are_reported(void **state)
{
    static const char tile[] = "#define BM 8\n#define BN 8\nKERNEL(64)";
    rung_problem problem = square(RUNG_F32, RUNG_F32, 64);
    int64_t threads = -1, bytes = -1;
    (void)state;
    expect_block(kernel_of_text(tile, "__shared__ float t[256]; t[threadIdx.x] = a[threadIdx.x]; __syncthreads();\n"
                                      "c[threadIdx.x] = t[63 - threadIdx.x];"),
                 RUNG_OK, 64, 1024);
    expect_block(kernel_of_text(tile, "__shared__ float t[16384]; t[threadIdx.x] = a[threadIdx.x]; __syncthreads();\n"
                                      "c[threadIdx.x] = t[threadIdx.x * (uint)k % 16384];"),
                 RUNG_STATUS_COMPILE_FAILED, 64, 65536);
    expect_block(kernel_of_text("#define BM 32\n#define BN 64\nKERNEL(2048)", "c[threadIdx.x] = a[threadIdx.x];"),
                 RUNG_STATUS_UNSUPPORTED, 2048, 0);
    expect_block(kernel_of_text(tile, "oops;"), RUNG_STATUS_COMPILE_FAILED, 64, 0);
    assert_int_equal(rung_kernel_block_size(kernel_of("01_naive"), &problem, NULL, "86", &threads, &bytes),
                     RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_block_size(kernel_of("01_naive"), &problem, NULL, "sm_86", NULL, &bytes),
                     RUNG_STATUS_INVALID);
}

/* ---- Refusals ----------------------------------------------------------------------------------- */

static void refuse(const rung_kernel *kernel, rung_problem problem, const char *parameters, const char *architecture,
                   rung_status expected, const char *words)
{
    rung_code *code = (rung_code *)(uintptr_t)&is_hidden;
    rung_status status = rung_kernel_compile(kernel, &problem, parameters, architecture, &code);
    assert_null(code);
    if (status != expected || !strstr(rung_error_text(), words))
        fail_msg("%s, not \"%s\": %s", rung_status_name(status), words, rung_error_text());
}

static void failures_have_a_reason(void **state)
{
    rung_problem plain = square(RUNG_F32, RUNG_F32, 256);
    const rung_kernel *naive = kernel_of("01_naive"), *matrix = kernel_of("12_matrix");
    rung_kernel *other, *broken;
    (void)state;
    refuse(naive, plain, NULL, "sm_99", RUNG_STATUS_NO_DEVICE, "NVRTC 12.9 does not compile for sm_99");
    refuse(naive, plain, NULL, "86", RUNG_STATUS_INVALID, "is not an architecture");
    refuse(naive, plain, NULL, "sm_86a", RUNG_STATUS_INVALID, "is not an architecture");
    refuse(naive, plain, "BLOCK=99", "sm_86", RUNG_STATUS_INVALID, "must fit a block of 1024");
    refuse(matrix, square(RUNG_F16, RUNG_F16, 256), NULL, "sm_70", RUNG_STATUS_UNSUPPORTED, "on sm_75 and later");
    refuse(matrix, square(RUNG_I32, RUNG_I32, 256), NULL, "sm_86", RUNG_STATUS_UNSUPPORTED, "does not multiply i32");
    refuse(matrix, plain, NULL, "sm_86", RUNG_STATUS_UNSUPPORTED, "computes in bf16x3");
    refuse(kernel_of("00_vendor"), plain, NULL, "sm_86", RUNG_STATUS_UNSUPPORTED, "no source to compile");
    assert_int_equal(rung_kernel_find(NULL, "cpu", "01", &other), RUNG_OK);
    refuse(other, plain, NULL, "sm_86", RUNG_STATUS_UNSUPPORTED, "use the kernel of the cuda backend");
    refuse(NULL, plain, NULL, "sm_86", RUNG_STATUS_INVALID, "architecture or code is NULL");
    refuse(naive, plain, NULL, NULL, RUNG_STATUS_INVALID, "architecture or code is NULL");
    assert_int_equal(rung_kernel_from_source(NULL, "cuda", "broken.cu",
                                             "#include \"dialect.h\"\n#define BM 8\n"
                                             "#define BN 8\nKERNEL(64)\nbroken(int m)\n{\n    oops;\n}\n",
                                             &broken),
                     RUNG_OK);
    refuse(broken, plain, NULL, "sm_86", RUNG_STATUS_COMPILE_FAILED, "broken.cu(7)");
    rung_kernel_destroy(broken);
    is_hidden = true;
    refuse(naive, plain, NULL, "sm_86", RUNG_STATUS_NO_DEVICE, "pip install nvidia-cuda-nvrtc-cu12");
    is_hidden = false;
    rung_code_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiles_to_the_tables_resources), cmocka_unit_test(counts_dynamic_memory),
        cmocka_unit_test(arguments_name_their_operands),    cmocka_unit_test(finds_the_loops),
        cmocka_unit_test(reports_where_it_spills),          cmocka_unit_test(block_sizes_are_reported),
        cmocka_unit_test(failures_have_a_reason),
    };
    char nvdisasm[1024];
    unit_clean_environment();
    if (!find_tool(PACKAGES "/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", nvrtc, sizeof nvrtc) ||
        !find_tool(PACKAGES "/nvidia/*/bin/nvdisasm", nvdisasm, sizeof nvdisasm)) {
        printf("NVRTC 12.9 or nvdisasm is not here; see tools/install-test-tools\n");
        return UNIT_SKIPPED;
    }
    setenv("RUNG_NVDISASM", nvdisasm, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
