/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_text.c - a kernel file describes itself, so what is read from it decides
 * what is tuned, refused and launched. Texts that try the reader, and every kernel
 * that ships held to its own words. No device is needed. */
#include "support/cpu_context.h"

#include <stdio.h>

#include "core/kernel.h"

/* ---- The kernels that ship ------------------------------------------------------- */

/* "NN_name - " must open a comment line near the top. */
static void assert_named_in_first_comment(const rung_kernel_info *info)
{
    char opening[128];
    snprintf(opening, sizeof opening, "\n/* %s - ", info->name);
    const char *found = strstr(info->source, opening);
    assert_non_null(found);
    assert_ptr_equal(found, strchr(info->source, '\n')); /* after the licence line */
    assert_memory_equal(found + strlen(opening), info->summary, strlen(info->summary));
    assert_true(strlen(info->summary) > 5);
}

static void assert_defaults_are_valid(const rung_kernel *kernel)
{
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    assert_int_equal(rung_kernel_check(kernel, NULL), RUNG_OK);
    assert_int_equal(rung_kernel_check(kernel, ""), RUNG_OK);
    for (int64_t i = 0; i < info->parameter_count; i++) {
        const rung_parameter *parameter = rung_kernel_parameter(kernel, i);
        bool among_choices = false;
        assert_true(strlen(parameter->name) > 0);
        for (int64_t j = 0; j < parameter->choice_count; j++)
            among_choices = among_choices || parameter->choices[j] == parameter->value;
        assert_true(among_choices);
    }
    for (int64_t i = 0; i < info->constraint_count; i++)
        assert_true(strlen(rung_kernel_constraint(kernel, i)->reason) > 5);
    for (int64_t i = 0; i < info->preset_count; i++)
        assert_int_equal(rung_kernel_check(kernel, rung_kernel_preset(kernel, i)->name), RUNG_OK);
}

static void check_ladder(const char *backend, bool has_tiles)
{
    int last_number = -1;
    rung_kernel *kernel;
    for (int64_t i = 0;; i++) {
        rung_status status = rung_kernel_at(context, backend, i, &kernel);
        if (status == RUNG_STATUS_NOT_FOUND) {
            assert_true(i > 0);
            assert_null(kernel);
            return;
        }
        assert_int_equal(status, RUNG_OK);
        const rung_kernel_info *info = rung_kernel_describe(kernel);
        assert_int_equal(info->number, atoi(info->name));
        assert_true(info->number > last_number || (info->number == 0 && last_number == 0)); /* in story order */
        last_number = info->number;
        assert_string_equal(info->backend, backend);
        assert_memory_equal(info->file, info->name, strlen(info->name));
        bool is_only_on_cuda = info->only_sm > 0 || info->number == 17; /* 17_block_scaled has no types elsewhere */
        assert_true(rung_kernel_supports(kernel, RUNG_F32, RUNG_F32, RUNG_F32, NULL) ||
                    rung_kernel_supports(kernel, RUNG_F32, RUNG_Q8_0, RUNG_F32, NULL) || is_only_on_cuda);
        if (info->number == 0)
            continue; /* the vendor's library has no file */
        assert_named_in_first_comment(info);
        assert_defaults_are_valid(kernel);
        int64_t bm = 0, bn = 0;
        if (has_tiles) {
            assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, "BM", &bm), RUNG_OK);
            assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, "BN", &bn), RUNG_OK);
            assert_true(bm > 0 && bn > 0);
            assert_true(kernel->entry.length > 0 && kernel->threads.length > 0);
        }
    }
}

static void every_shipped_kernel_matches_its_description(void **state)
{
    (void)state;
    check_ladder("cpu", false);
#ifdef RUNG_WITH_OPENCL
    check_ladder("opencl", true);
#endif
}

static void indices_outside_the_ladder(void **state)
{
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(rung_kernel_at(context, "cpu", -1, &kernel), RUNG_STATUS_NOT_FOUND);
    assert_int_equal(rung_kernel_at(context, "cpu", 1000, &kernel), RUNG_STATUS_NOT_FOUND);
    assert_int_equal(rung_kernel_at(context, "cpu", INT64_MAX, &kernel), RUNG_STATUS_NOT_FOUND);
    assert_int_equal(rung_kernel_at(context, "abacus", 0, &kernel), RUNG_STATUS_NO_DEVICE);
    assert_null(kernel);
    assert_int_equal(rung_kernel_at(context, NULL, 0, &kernel), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_at(context, "cpu", 0, NULL), RUNG_STATUS_INVALID);
}

static void the_cpu_rejects_kernel_files(void **state)
{
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(rung_kernel_from_source(context, "cpu", "mine.c", "", &kernel), RUNG_STATUS_UNSUPPORTED);
    assert_null(kernel);
    assert_int_equal(rung_kernel_from_source(context, "abacus", "mine.c", "", &kernel), RUNG_STATUS_NO_DEVICE);
    assert_int_equal(rung_kernel_from_source(context, "cpu", NULL, "", &kernel), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_from_source(context, "cpu", "mine.c", NULL, &kernel), RUNG_STATUS_INVALID);
}

/* Whether 0 is a value worth trying: a limit may be 0, a block never. */
static bool may_be_zero(const rung_parameter *parameter)
{
    for (int64_t i = 0; i < parameter->choice_count; i++)
        if (parameter->choices[i] == 0)
            return true;
    return false;
}

/* Blocks of nothing would loop for ever, and immense ones overflow the scratch memory: on the CPU
 * no compiler stands between parameters and the loops. */
static void the_cpu_refuses_absurd_blocks(void **state)
{
    rung_kernel *kernel;
    int64_t refused = 0;
    (void)state;
    for (int64_t i = 0; rung_kernel_at(context, "cpu", i, &kernel) == RUNG_OK; i++) {
        const rung_kernel_info *info = rung_kernel_describe(kernel);
        char immense[256] = "";
        for (int64_t j = 0; j < info->parameter_count; j++) {
            char nothing[64];
            snprintf(nothing, sizeof nothing, "%s=0", rung_kernel_parameter(kernel, j)->name);
            bool is_valid = may_be_zero(rung_kernel_parameter(kernel, j));
            if (rung_kernel_check(kernel, nothing) != (is_valid ? RUNG_OK : RUNG_STATUS_INVALID))
                fail_msg("%s: %s is not as it should be", info->name, nothing);
            size_t used = strlen(immense);
            snprintf(immense + used, sizeof immense - used, "%s%s=2147483520", j ? "," : "",
                     rung_kernel_parameter(kernel, j)->name); /* a multiple of 42 and of 32 */
            refused++;
        }
        if (*immense && rung_kernel_check(kernel, immense) != RUNG_STATUS_INVALID)
            fail_msg("%s takes %s", info->name, immense);
    }
    assert_true(refused >= 15);
}

#ifdef RUNG_WITH_OPENCL

static void kernels_are_found_by_any_of_their_names(void **state)
{
    const char *const names[] = {"4", "04", "shared", "04_shared"};
    rung_kernel *kernel;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(rung_kernel_find(context, "opencl", names[i], &kernel), RUNG_OK);
        assert_string_equal(rung_kernel_describe(kernel)->name, "04_shared");
        rung_kernel_destroy(kernel); /* the context's own: does nothing */
    }
    const char *const unknown[] = {"999", "-4", "share", "shared_", "04_", "_shared", "", " ", "04_shared.cu", "4x"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        assert_int_equal(rung_kernel_find(context, "opencl", unknown[i], &kernel), RUNG_STATUS_NOT_FOUND);
        assert_null(kernel);
        assert_non_null(strstr(rung_error_text(), "04_shared")); /* it lists what there is */
    }
    assert_int_equal(rung_kernel_find(context, "abacus", "4", &kernel), RUNG_STATUS_NO_DEVICE);
    assert_int_equal(rung_kernel_find(context, "opencl", NULL, &kernel), RUNG_STATUS_INVALID);
}

/* ---- Texts ----------------------------------------------------------------------- */

static rung_kernel *read_text(const char *text)
{
    rung_kernel *kernel;
    assert_int_equal(rung_kernel_from_source(context, "opencl", "mine.cu", text, &kernel), RUNG_OK);
    return kernel;
}

static int64_t value_of(const rung_kernel *kernel, const char *parameters, const char *expression)
{
    int64_t value;
    assert_int_equal(rung_kernel_evaluate(kernel, parameters, RUNG_F32, expression, &value), RUNG_OK);
    return value;
}

static void assert_slice(rungi_string_view slice, const char *expected)
{
    assert_int_equal(slice.length, strlen(expected));
    assert_memory_equal(slice.text, expected, slice.length);
}

static const char whole_text[] = "/* SPDX-License-Identifier: Apache-2.0 */\n"
                                 "/* mine - what it is about. */\n"
                                 "#include \"dialect.h\"\n"
                                 "#ifndef TILE\n"
                                 "#define TILE 16 // 8 16, 32\n"
                                 "#endif\n"
                                 "  #  ifndef   UNROLL  \n"
                                 "#define UNROLL 4 /* 1 2 4 */\n"
                                 "#endif // UNROLL\n"
                                 "#ifndef WIDE\n"
                                 "#define WIDE 1 // as wide as you like: 2\n"
                                 "#endif\n"
                                 "#if TILE * TILE > 1024 // too many\n"
                                 "#error \"too many threads\"\n"
                                 "#endif\n"
                                 "#if UNROLL < 1\n"
                                 "#error UNROLL is at least one\n"
                                 "#endif\n"
                                 "#define BM TILE\n"
                                 "#define BN (TILE * WIDE) /* columns */\n"
                                 "#define MAD(a, b, c) ((a) * (b) + (c))\n"
                                 "#define FLAG\n"
                                 "KERNEL(TILE * TILE)\n"
                                 "my_kernel(index_t m) { }\n";

static void a_whole_text(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text(whole_text);
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    assert_string_equal(info->name, "mine.cu");
    assert_string_equal(info->file, "mine.cu");
    assert_int_equal(info->number, -1);
    assert_string_equal(info->summary, "what it is about.");
    assert_string_equal(info->source, whole_text);
    assert_int_equal(kernel->types, RUNGI_GEMM_TYPES_USUAL);

    assert_int_equal(info->parameter_count, 3);
    assert_string_equal(rung_kernel_parameter(kernel, 0)->name, "TILE");
    assert_int_equal(rung_kernel_parameter(kernel, 0)->value, 16);
    assert_int_equal(rung_kernel_parameter(kernel, 0)->choice_count, 3);
    assert_int_equal(rung_kernel_parameter(kernel, 0)->choices[2], 32);
    assert_string_equal(rung_kernel_parameter(kernel, 1)->name, "UNROLL");
    assert_int_equal(rung_kernel_parameter(kernel, 1)->value, 4);
    assert_int_equal(rung_kernel_parameter(kernel, 1)->choice_count, 3);
    assert_int_equal(rung_kernel_parameter(kernel, 1)->choices[0], 1);
    assert_int_equal(rung_kernel_parameter(kernel, 2)->choice_count, 0); /* words are no choices */

    assert_string_equal(info->defaults, "TILE=16,UNROLL=4,WIDE=1");

    assert_int_equal(info->constraint_count, 2);
    assert_string_equal(rung_kernel_constraint(kernel, 0)->rejected_if, "TILE * TILE > 1024");
    assert_string_equal(rung_kernel_constraint(kernel, 0)->reason, "too many threads");
    assert_string_equal(rung_kernel_constraint(kernel, 1)->reason, "UNROLL is at least one");

    assert_slice(kernel->threads, "TILE * TILE");
    assert_slice(kernel->entry, "my_kernel");
    rung_kernel_destroy(kernel);
}

/* The compiler would take the first value, and a list of parameters cannot name the second. */
static void a_parameter_is_declared_once(void **state)
{
    rung_kernel *kernel;
    (void)state;
    assert_int_equal(rung_kernel_from_source(context, "opencl", "mine.cu",
                                             "#ifndef TILE\n#define TILE 8 // 8 16\n#endif\n"
                                             "#ifndef TILE\n#define TILE 16\n#endif\nKERNEL(TILE) mine(\n",
                                             &kernel),
                     RUNG_STATUS_INVALID);
    assert_null(kernel);
    assert_non_null(strstr(rung_error_text(), "TILE twice"));
}

static void parameters_are_given(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text(whole_text);
    assert_int_equal(value_of(kernel, NULL, "BM * BN"), 16 * 16);
    assert_int_equal(value_of(kernel, "TILE=8", "BM"), 8);
    assert_int_equal(value_of(kernel, "WIDE=3,TILE=8", "BN"), 24);
    assert_int_equal(value_of(kernel, "TILE=8,TILE=4", "TILE"), 4); /* the last one counts */
    assert_int_equal(rung_kernel_check(kernel, "TILE=32"), RUNG_OK);

    assert_int_equal(rung_kernel_check(kernel, "TILE=33"), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "too many threads"));
    assert_int_equal(rung_kernel_check(kernel, "UNROLL=0"), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_check(kernel, "TILES=8"), RUNG_STATUS_NOT_FOUND);
    assert_non_null(strstr(rung_error_text(), "TILES"));
    assert_non_null(strstr(rung_error_text(), "UNROLL")); /* it lists what there is */
    assert_int_equal(rung_kernel_check(kernel, "TIL=8"), RUNG_STATUS_NOT_FOUND);
    char longest[RUNG_PARAMETERS_BYTES + 1];
    memset(longest, '0', sizeof longest);
    memcpy(longest, "TILE=", 5);
    longest[RUNG_PARAMETERS_BYTES] = '\0';
    assert_int_equal(rung_kernel_check(kernel, longest), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "the list of parameters has"));
    int64_t value = 5;
    assert_int_equal(rung_kernel_evaluate(NULL, NULL, RUNG_F32, "BM", &value), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, NULL, &value), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, "BM", NULL), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_Q8_0, "BM", &value), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_check(kernel, "BM=8"), RUNG_STATUS_NOT_FOUND);

    assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, "BK", &value), RUNG_STATUS_INVALID);
    assert_int_equal(value, 0);
    assert_int_equal(rung_kernel_evaluate(kernel, "TILE=33", RUNG_F32, "BM", &value), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, "FLAG", &value), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, "MAD(1, 2, 3)", &value), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, NULL, &value), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_evaluate(NULL, NULL, RUNG_F32, "1", &value), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_check(NULL, NULL), RUNG_STATUS_INVALID);
    rung_kernel_destroy(kernel);
}

/* A constraint may ask for what only a compiler defines; here that is not defined. */
static void constraints_over_unknown_names(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text("#ifndef TILE\n#define TILE 8 // 8\n#endif\n"
                                    "#if defined(__SOME_COMPILER__) && TILE > 4\n#error no\n#endif\n"
                                    "#if SOME_VERSION > 3 || TILE > 16\n#error \"too many\"\n#endif\n");
    assert_int_equal(rung_kernel_check(kernel, NULL), RUNG_OK);
    assert_int_equal(rung_kernel_check(kernel, "TILE=17"), RUNG_STATUS_INVALID);
    rung_kernel_destroy(kernel);
}

static void malformed_parameters(void **state)
{
    /* clang-format off */
    const char *const texts[] = {
        "TILE", "TILE=", "=16", "TILE=x", "TILE=16x", "TILE=-1", "TILE=1.5", "TILE==16", "TILE=16;",
        ",", ",TILE=16", "TILE=16,,UNROLL=1", "TILE=16 UNROLL=1", "TILE=99999999999999999999",
        "TILE=2147483648", "TILE=16,UNROLL", "TILE=0x10",
    };
    /* clang-format on */
    (void)state;
    rung_kernel *kernel = read_text(whole_text);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rung_status status = rung_kernel_check(kernel, texts[i]);
        if (status != RUNG_STATUS_INVALID && status != RUNG_STATUS_NOT_FOUND)
            fail_msg("\"%s\" was taken", texts[i]);
    }
    rung_kernel_destroy(kernel);
}

/* ---- What must not be taken ------------------------------------------------------ */

static void comments_are_ignored(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text("/* KERNEL(1) in_comment( \n"
                                    "#ifndef NO\n#define NO 1 // 1 2\n#endif\n"
                                    "#define BM 7\n"
                                    "KERNEL(2) in_comment_too( */\n"
                                    "// KERNEL(3) in_line_comment(\n"
                                    "// a line with \" one quote, and /* no comment\n"
                                    "static const char *s = \"no comment: /* \";\n"
                                    "char q = '\"'; // KERNEL(5) five(\n"
                                    "static const char *t = \"\\\" /* \";\n"
                                    "MY_KERNEL(7) other(\nKERNELS(8) others(\n"
                                    "#define BM 9 /* BM 8 */\n"
                                    "KERNEL(64) real(\n"
                                    "KERNEL(65) second(\n");
    assert_int_equal(rung_kernel_describe(kernel)->parameter_count, 0);
    assert_slice(kernel->threads, "64");
    assert_slice(kernel->entry, "real");
    assert_int_equal(value_of(kernel, NULL, "BM"), 9);
    rung_kernel_destroy(kernel);
}

/* A file may have any number of presets. */
static void every_preset_is_found(void **state)
{
    enum { COUNT = 100 };
    char text[COUNT * 32 + 128] = "#ifndef TILE\n#define TILE 8\n#endif\n";
    rung_kernel *kernel;
    (void)state;
    for (int i = 0; i < COUNT; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "// preset number_%d: TILE=%d\n", i, i + 1);
    strcat(text, "KERNEL(TILE) many()\n");
    assert_int_equal(rung_kernel_from_source(NULL, "opencl", "many.cu", text, &kernel), RUNG_OK);
    assert_int_equal(rung_kernel_describe(kernel)->preset_count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        int64_t value;
        snprintf(name, sizeof name, "number_%d", i);
        assert_int_equal(rung_kernel_evaluate(kernel, name, RUNG_F32, "TILE", &value), RUNG_OK);
        assert_int_equal(value, i + 1);
    }
    rung_kernel_destroy(kernel);
}

/* A preset stands for its parameters, before or after others; one within another, or
 * one that is not a line of its own, is none. */
static void presets_expand_to_parameters(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text("#ifndef TILE\n#define TILE 8 // 8 16\n#endif\n"
                                    "#ifndef PAD\n#define PAD 1 // 0 1\n#endif\n"
                                    "// preset large: TILE=16,PAD=0\n"
                                    "/* preset other: TILE=32 */\n"
                                    "// preset nested: large\n"
                                    "int x; // preset late: TILE=4\n"
                                    "KERNEL(64) real(\n");
    assert_int_equal(rung_kernel_describe(kernel)->preset_count, 3);
    assert_string_equal(rung_kernel_preset(kernel, 0)->parameters, "TILE=16,PAD=0");
    assert_int_equal(value_of(kernel, "large", "TILE * 10 + PAD"), 160);
    assert_int_equal(value_of(kernel, "large,PAD=1", "TILE * 10 + PAD"), 161);
    assert_int_equal(value_of(kernel, "PAD=1,large", "TILE * 10 + PAD"), 160);
    assert_int_equal(value_of(kernel, "other", "TILE"), 32);
    assert_int_equal(rung_kernel_check(kernel, "nested"), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_check(kernel, "late"), RUNG_STATUS_INVALID);
    rung_kernel_destroy(kernel);
}

static void declarations_in_strings_are_ignored(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text("const char *help = \"KERNEL(4) in_string(\";\n"
                                    "KERNEL(64) real(\n");
    assert_slice(kernel->entry, "real");
    rung_kernel_destroy(kernel);
}

static void conditional_code_is_ignored(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text("#ifndef MINE_H\n"
                                    "#define MINE_H\n"
                                    "#ifndef NESTED\n#define NESTED 4 // 4 8\n#endif\n"
                                    "#if NESTED > 4\n#error \"nested\"\n#endif\n"
                                    "#define BM 7\n"
                                    "#endif\n"
                                    "#ifdef SOMETHING\n#define BM 8\n#else\n#define BM 9\n#endif\n"
                                    "#ifndef LONG\n#define LONG 1 // 1 2\n#define OTHER 2\n#endif\n"
                                    "#ifndef TEXT\n#define TEXT one\n#endif\n"
                                    "#ifndef TWO\n#define ANOTHER 2\n#endif\n"
                                    "#if 1\n#error \"but\"\n#define MORE 1\n#endif\n"
                                    "#ifndef REAL\n#define REAL 3\n#endif\n"
                                    "#define BN REAL\n"
                                    "KERNEL(64) real(\n");
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    assert_int_equal(info->parameter_count, 1);
    assert_string_equal(rung_kernel_parameter(kernel, 0)->name, "REAL");
    assert_int_equal(info->constraint_count, 0);
    assert_int_equal(value_of(kernel, NULL, "BN"), 3);
    int64_t value;
    assert_int_equal(rung_kernel_evaluate(kernel, NULL, RUNG_F32, "BM", &value), RUNG_STATUS_INVALID);
    rung_kernel_destroy(kernel);
}

static void declarations_in_conditionals_are_ignored(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text("#if 0\nKERNEL(32) never(\n#endif\nKERNEL(64) real(\n");
    assert_slice(kernel->entry, "real");
    rung_kernel_destroy(kernel);
}

/* ---- The head -------------------------------------------------------------------- */

static void kernel_declarations_across_lines(void **state)
{
    const struct {
        const char *text, *threads, *name;
    } heads[] = {
        {"KERNEL(64) f(", "64", "f"},
        {"KERNEL(64)\nf\n(\n", "64", "f"},
        {"KERNEL (\n  (A + B) * C\n)\r\n\tf(", "\n  (A + B) * C\n", "f"},
        {"int x; KERNEL(1)f(", "1", "f"},
        {"KERNEL\n(64)\nf(", "64", "f"},
        {"KERNEL(64) broken;\nKERNEL(65) f(", "65", "f"},
        {"KERNEL;\nKERNEL(65) f(", "65", "f"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        rung_kernel *kernel = read_text(heads[i].text);
        if (kernel->entry.length == 0)
            fail_msg("no head was found in \"%s\"", heads[i].text);
        assert_slice(kernel->threads, heads[i].threads);
        assert_slice(kernel->entry, heads[i].name);
        rung_kernel_destroy(kernel);
    }
}

static void texts_without_a_kernel_declaration(void **state)
{
    const char *const texts[] = {
        "",
        "\n",
        "\n\n\n",
        "KERNEL",
        "KERNEL(",
        "KERNEL()",
        "KERNEL(64",
        "KERNEL(64)",
        "KERNEL(64) name",
        "KERNEL(64) 1name(",
        "kernel(64) name(",
        "/*",
        "/* never closed\n",
        "/* never closed\nKERNEL(64) name(\n",
        "//",
        "\"",
        "'",
        "\\",
        "\"\\",
        "#",
        "#define",
        "#ifndef",
        "#ifndef A",
        "#ifndef A\n#define A 1",
        "#if",
        "#if 1\n#error",
        "#endif\n#endif",
        "#define 1 2",
        "#error",
        "*/",
        "/",
        "/*/",
        "\x80\xFF",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rung_kernel *kernel = read_text(texts[i]);
        assert_int_equal(kernel->entry.length, 0);
        assert_int_equal(rung_kernel_describe(kernel)->parameter_count, 0);
        assert_string_equal(rung_kernel_describe(kernel)->summary, "");
        rung_kernel_destroy(kernel);
    }
}

/* Every prefix of a sound text is some unsound one; none may read past its end. */
static void every_prefix_is_parsed_safely(void **state)
{
    static char text[sizeof whole_text];
    (void)state;
    for (size_t length = 0; length < sizeof whole_text; length++) {
        memcpy(text, whole_text, length);
        text[length] = '\0';
        rung_kernel_destroy(read_text(text));
    }
}

/* ---- Limits ---------------------------------------------------------------------- */

static void write_parameters(char *text, size_t capacity, int count)
{
    size_t used = 0;
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, capacity - used, "#ifndef P%d\n#define P%d %d // 1 2\n#endif\n", i, i, i);
}

static void sixteen_parameters_and_no_more(void **state)
{
    char text[2048];
    rung_kernel *kernel;
    (void)state;
    write_parameters(text, sizeof text, 16);
    kernel = read_text(text);
    assert_int_equal(rung_kernel_describe(kernel)->parameter_count, 16);
    assert_int_equal(value_of(kernel, "P15=99", "P15 + P14"), 99 + 14);
    rung_kernel_destroy(kernel);
    write_parameters(text, sizeof text, 17);
    assert_int_equal(rung_kernel_from_source(context, "opencl", "mine.cu", text, &kernel), RUNG_STATUS_INVALID);
    assert_null(kernel);
    assert_non_null(strstr(rung_error_text(), "16"));
}

/* All values must be told in full: a plan's parameters are read back by people and
 * programs, and the compiler's -D come from the same list. */
static void long_names_are_not_truncated(void **state)
{
    char text[8192] = "", told[RUNG_PARAMETERS_BYTES], name[64];
    size_t used = 0;
    rung_kernel *kernel;
    rungi_parameter_values values;
    (void)state;
    for (int i = 0; i < 16; i++) {
        snprintf(name, sizeof name, "A_RATHER_LONG_NAME_OF_A_PARAMETER_%02d", i);
        used += (size_t)snprintf(text + used, sizeof text - used, "#ifndef %s\n#define %s 1\n#endif\n", name, name);
    }
    rung_status status = rung_kernel_from_source(context, "opencl", "mine.cu", text, &kernel);
    if (status == RUNG_STATUS_INVALID)
        return; /* refused is as good as told */
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, RUNGI_DEFAULT_IN_BYTES, &values), RUNG_OK);
    rungi_kernel_format_parameters(kernel, &values, told, sizeof told);
    rung_kernel_destroy(kernel);
    assert_non_null(strstr(told, "_15=1"));
}

/* ---- Line ends ------------------------------------------------------------------- */

/* A file from Windows reads as any other. */
static void carriage_returns_are_blanks(void **state)
{
    static char text[2 * sizeof whole_text];
    size_t length = 0;
    (void)state;
    for (const char *at = whole_text; *at; at++) {
        if (*at == '\n')
            text[length++] = '\r';
        text[length++] = *at;
    }
    text[length] = '\0';
    rung_kernel *kernel = read_text(text);
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    assert_int_equal(info->parameter_count, 3);
    assert_int_equal(rung_kernel_parameter(kernel, 0)->choice_count, 3);
    assert_int_equal(rung_kernel_parameter(kernel, 1)->choice_count, 3);
    assert_int_equal(info->constraint_count, 2);
    assert_string_equal(rung_kernel_constraint(kernel, 0)->reason, "too many threads");
    assert_int_equal(value_of(kernel, NULL, "BM"), 16);
    assert_slice(kernel->entry, "my_kernel");
    assert_string_equal(info->summary, "what it is about.");
    rung_kernel_destroy(kernel);
}

static void summaries(void **state)
{
    const struct {
        const char *text, *summary;
    } cases[] = {
        {"/* mine - one line */\n", "one line"},
        {"// mine - a line comment\n", "a line comment"},
        {"/* mine - first of many\n * second - line\n */\n", "first of many"},
        {"int a = 3 - 2;\n", ""},
        {"\n\n\n/* mine - further down */", "further down"},
        {"\n\n\n\n\n\n\n\n\n\n\n\n/* mine - too far down */", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_kernel *kernel = read_text(cases[i].text);
        assert_string_equal(rung_kernel_describe(kernel)->summary, cases[i].summary);
        rung_kernel_destroy(kernel);
    }
}

/* ---- What it is for --------------------------------------------------------------- */

#define HEAD "#define BM 1\n#define BN 1\nKERNEL(1) mine(\n"

static void supported_types_are_parsed(void **state)
{
    const struct {
        const char *text;
        rungi_gemm_types_set products;
    } cases[] = {
        {HEAD, RUNGI_GEMM_TYPES_USUAL},
        {"// takes: f32\n" HEAD, 1u << RUNGI_F32_TO_F32},
        {"// takes: f8e4m3,f8e5m2:bf16\n" HEAD, 1u << RUNGI_F8E4M3_TO_F32 | 1u << RUNGI_F8E5M2_TO_BF16},
        {"// takes: f32,f16:f32\n" HEAD, 1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F16_TO_F32},
        {"// takes:  i8 , bf16:f32\r\n" HEAD, 1u << RUNGI_I8_TO_I32 | 1u << RUNGI_BF16_TO_F32},
        {"// takes: f16\n// takes: f64:f32\n" HEAD, 1u << RUNGI_F16_TO_F16 | 1u << RUNGI_F64_TO_F32},
        {"/* takes: f16 */\n" HEAD, 1u << RUNGI_F16_TO_F16},
        {"int x; // takes: f16\n" HEAD, RUNGI_GEMM_TYPES_USUAL}, /* no line of its own */
        {"#if 0\n// takes: f16\n#endif\n" HEAD, RUNGI_GEMM_TYPES_USUAL},
        {"// it takes: time\n" HEAD, RUNGI_GEMM_TYPES_USUAL},
        {HEAD "// takes: f32:f16", 1u << RUNGI_F32_TO_F16},
        {"// takes: f16 from sm_75\n// takes: i8\n" HEAD, 1u << RUNGI_F16_TO_F16 | 1u << RUNGI_I8_TO_I32},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_kernel *kernel = read_text(cases[i].text);
        if (kernel->types != cases[i].products)
            fail_msg("\"%s\" takes 0x%llx", cases[i].text, (unsigned long long)kernel->types);
        assert_int_equal(rung_kernel_describe(kernel)->compute, RUNG_COMPUTE_STRICT);
        rung_kernel_destroy(kernel);
    }
}

/* min_sm -1: the kernel does not support these types. */
static void assert_supports(const rung_kernel *kernel, rung_type a, rung_type b, rung_type c, int min_sm)
{
    int found = -2;
    assert_int_equal(rung_kernel_supports(kernel, a, b, c, &found), min_sm >= 0);
    assert_int_equal(rung_kernel_supports(kernel, a, b, c, NULL), min_sm >= 0);
    assert_int_equal(found, min_sm >= 0 ? min_sm : 0);
}

/* An older GPU must not be given what its matrix engine cannot multiply. */
static void supported_devices_are_parsed(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text("// takes: f16,f16:f32 from sm_75\n// takes: bf16 from sm_120\n"
                                    "// takes: i8\n" HEAD);
    assert_supports(kernel, RUNG_F16, RUNG_F16, RUNG_F16, 75);
    assert_supports(kernel, RUNG_F16, RUNG_F16, RUNG_F32, 75);
    assert_supports(kernel, RUNG_BF16, RUNG_BF16, RUNG_BF16, 120);
    assert_supports(kernel, RUNG_I8, RUNG_I8, RUNG_I32, 0);
    assert_supports(kernel, RUNG_F32, RUNG_F32, RUNG_F32, -1);
    assert_supports(kernel, RUNG_F16, RUNG_BF16, RUNG_F32, -1); /* types of A and B that differ */
    assert_supports(kernel, RUNG_F16, RUNG_F16, RUNG_I8, -1);
    assert_supports(kernel, RUNG_Q4_0, RUNG_Q4_0, RUNG_F32, -1);
    assert_supports(kernel, RUNG_TYPE_NONE, RUNG_TYPE_NONE, RUNG_TYPE_NONE, -1);
    assert_supports(kernel, (rung_type)-1, (rung_type)-1, (rung_type)1000, -1);
    assert_supports(NULL, RUNG_F16, RUNG_F16, RUNG_F16, -1);
    assert_int_equal(rung_kernel_describe(kernel)->engine, RUNG_ENGINE_NONE);
    assert_int_equal(rung_kernel_describe(kernel)->only_sm, 0);
    rung_kernel_destroy(kernel);
    kernel = read_text("// takes: f16 from sm_90a\n" HEAD);
    assert_supports(kernel, RUNG_F16, RUNG_F16, RUNG_F16, 90);
    assert_int_equal(rung_kernel_describe(kernel)->only_sm, 90);
    rung_kernel_destroy(kernel);
}

/* The accessors of a kernel give NULL outside their lists, and for NULL. */
static void ends_of_lists(void **state)
{
    (void)state;
    rung_kernel *kernel = read_text(whole_text);
    const rung_kernel_info *info = rung_kernel_describe(kernel);
    const int64_t outside[] = {-1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        assert_null(rung_kernel_parameter(kernel, outside[i]));
        assert_null(rung_kernel_constraint(kernel, outside[i]));
        assert_null(rung_kernel_preset(kernel, outside[i]));
    }
    assert_non_null(rung_kernel_parameter(kernel, info->parameter_count - 1));
    assert_null(rung_kernel_parameter(kernel, info->parameter_count));
    assert_null(rung_kernel_constraint(kernel, info->constraint_count));
    assert_null(rung_kernel_preset(kernel, info->preset_count));
    assert_null(rung_kernel_parameter(NULL, 0));
    assert_null(rung_kernel_constraint(NULL, 0));
    assert_null(rung_kernel_preset(NULL, 0));
    rung_kernel_destroy(kernel);
}

static void compute_mode_is_parsed(void **state)
{
    const struct {
        const char *text;
        rung_compute compute;
    } cases[] = {
        {"// computes: strict\n" HEAD, RUNG_COMPUTE_STRICT},
        {"// computes: bf16x3\n" HEAD, RUNG_COMPUTE_BF16X3},
        {"// computes:tf32\n" HEAD, RUNG_COMPUTE_TF32},
        {"// takes: f32\n// computes: tf32\n" HEAD, RUNG_COMPUTE_TF32},
        {"// computes: tf32,tf32x3, bf16x3\n" HEAD, RUNG_COMPUTE_TF32},
        {"// computes: strict,bf16x3\n" HEAD, RUNG_COMPUTE_BF16X3},
        {"// computes: bf16x1,strict\n" HEAD, RUNG_COMPUTE_BF16X1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_kernel *kernel = read_text(cases[i].text);
        assert_int_equal(rung_kernel_describe(kernel)->compute, cases[i].compute);
        rung_kernel_destroy(kernel);
    }
}

/* The fastest mode of the list that is precise enough: the least precise one. */
static void modes_of_a_list_are_chosen(void **state)
{
    enum { NONE = -1 };
    const struct {
        const char *text;
        rung_compute requested;
        int used;
    } cases[] = {
        {"// computes: bf16x3,tf32,tf32x3\n" HEAD, RUNG_COMPUTE_STRICT, NONE},
        {"// computes: bf16x3,tf32,tf32x3\n" HEAD, RUNG_COMPUTE_BF16X3, RUNG_COMPUTE_BF16X3},
        {"// computes: bf16x3,tf32,tf32x3\n" HEAD, RUNG_COMPUTE_TF32X3, RUNG_COMPUTE_TF32X3},
        {"// computes: bf16x3,tf32,tf32x3\n" HEAD, RUNG_COMPUTE_TF32, RUNG_COMPUTE_TF32},
        {"// computes: bf16x3,tf32,tf32x3\n" HEAD, RUNG_COMPUTE_BF16X1, RUNG_COMPUTE_TF32},
        {"// computes: bf16x3,tf32,tf32x3\n" HEAD, (rung_compute)99, NONE},
        {"// computes: bf16x3,tf32\n" HEAD, RUNG_COMPUTE_TF32X3, RUNG_COMPUTE_BF16X3},
        {"// computes: tf32\n" HEAD, RUNG_COMPUTE_BF16X3, NONE},
        {HEAD, RUNG_COMPUTE_STRICT, RUNG_COMPUTE_STRICT},
        {HEAD, RUNG_COMPUTE_BF16X1, RUNG_COMPUTE_STRICT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_kernel *kernel = read_text(cases[i].text);
        rung_compute used = RUNG_COMPUTE_BF16X1;
        assert_int_equal(rung_kernel_computes(kernel, cases[i].requested, &used), cases[i].used != NONE);
        assert_int_equal(used, cases[i].used != NONE ? cases[i].used : RUNG_COMPUTE_STRICT);
        assert_int_equal(rung_kernel_computes(kernel, cases[i].requested, NULL), cases[i].used != NONE);
        rung_kernel_destroy(kernel);
    }
    assert_int_equal(rung_kernel_computes(NULL, RUNG_COMPUTE_STRICT, NULL), 0);
}

/* A word that is misread would give the kernel problems it is not for. */
static void unknown_words_in_comments(void **state)
{
    const struct {
        const char *text, *told;
    } cases[] = {
        {"// takes: f33\n", "f33"},
        {"// takes: f32,f99:f32\n", "f99:f32"},
        {"// takes: f32 f16\n", "f32 f16"},
        {"// takes:\n", "is empty"},
        {"// takes: f32,,f16\n", "\"\""},
        {"// takes: F32\n", "F32"},
        {"// takes: f32:f32\n", "f32:f32"},
        {"// takes: i8:i32\n", "i8:i32"},
        {"// computes: loosely\n", "loosely"},
        {"// computes: tf32 strict\n", "tf32 strict"},
        {"// computes: tf32,,strict\n", "\"\""},
        {"// computes:\n", "\"\""},
        {"// computes: tf3\n", "tf3"},
        {"// takes: f16 from sm_\n", "from sm_80"},
        {"// takes: f16 from sm_7x\n", "from sm_80"},
        {"// takes: f16 from sm80\n", "f16 from sm80"},
        {"// takes: from sm_80\n", "from sm_80"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_kernel *kernel;
        rung_status status = rung_kernel_from_source(context, "opencl", "mine.cu", cases[i].text, &kernel);
        if (status != RUNG_STATUS_INVALID || !strstr(rung_error_text(), cases[i].told))
            fail_msg("\"%s\" gave %s: %s", cases[i].text, rung_status_name(status), rung_error_text());
        assert_null(kernel);
        assert_non_null(strstr(rung_error_text(), "mine.cu"));
    }
}

/* What fits as float may not fit as double: the same tile, refused by its bytes. */
static void elements_have_a_size(void **state)
{
    rungi_parameter_values values;
    int64_t number;
    (void)state;
    rung_kernel *kernel = read_text("#ifndef TILE\n#define TILE 64\n#endif\n"
                                    "#define BYTES (TILE * TILE * IN_BYTES)\n"
                                    "#if BYTES > 16 * 1024\n#error \"the tile must fit 16 KiB\"\n#endif\n"
                                    "KERNEL(1) mine(\n");
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, 4, &values), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, NULL, 8, &values), RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "16 KiB"));
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "TILE=128", 8, &values), RUNG_STATUS_INVALID);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "TILE=32", 8, &values), RUNG_OK);
    assert_int_equal(rungi_kernel_evaluate(kernel, &values, rungi_string_view_of("BYTES", 5), &number), RUNG_OK);
    assert_int_equal(number, 32 * 32 * 8);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "TILE=128", 1, &values), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "TILE=128", 2, &values), RUNG_STATUS_INVALID);
    assert_int_equal(rung_kernel_check(kernel, NULL), RUNG_OK); /* which counts 4 */
    assert_int_equal(value_of(kernel, NULL, "IN_BYTES"), 4);
    rung_kernel_destroy(kernel);

    assert_int_equal(rung_kernel_find(context, "opencl", "07", &kernel), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "BM=128,BN=128,BK=32", 4, &values), RUNG_OK);
    assert_int_equal(rungi_kernel_parse_parameters(kernel, "BM=128,BN=128,BK=32", 8, &values), RUNG_STATUS_UNSUPPORTED);
}

#endif /* RUNG_WITH_OPENCL */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shipped_kernel_matches_its_description),
        cmocka_unit_test(indices_outside_the_ladder),
        cmocka_unit_test(the_cpu_rejects_kernel_files),
        cmocka_unit_test(the_cpu_refuses_absurd_blocks),
#ifdef RUNG_WITH_OPENCL
        cmocka_unit_test(kernels_are_found_by_any_of_their_names),
        cmocka_unit_test(a_whole_text),
        cmocka_unit_test(parameters_are_given),
        cmocka_unit_test(constraints_over_unknown_names),
        cmocka_unit_test(malformed_parameters),
        cmocka_unit_test(comments_are_ignored),
        cmocka_unit_test(presets_expand_to_parameters),
        cmocka_unit_test(every_preset_is_found),
        cmocka_unit_test(declarations_in_strings_are_ignored),
        cmocka_unit_test(conditional_code_is_ignored),
        cmocka_unit_test(declarations_in_conditionals_are_ignored),
        cmocka_unit_test(kernel_declarations_across_lines),
        cmocka_unit_test(texts_without_a_kernel_declaration),
        cmocka_unit_test(every_prefix_is_parsed_safely),
        cmocka_unit_test(sixteen_parameters_and_no_more),
        cmocka_unit_test(long_names_are_not_truncated),
        cmocka_unit_test(carriage_returns_are_blanks),
        cmocka_unit_test(summaries),
        cmocka_unit_test(supported_types_are_parsed),
        cmocka_unit_test(supported_devices_are_parsed),
        cmocka_unit_test(a_parameter_is_declared_once),
        cmocka_unit_test(ends_of_lists),
        cmocka_unit_test(compute_mode_is_parsed),
        cmocka_unit_test(modes_of_a_list_are_chosen),
        cmocka_unit_test(unknown_words_in_comments),
        cmocka_unit_test(elements_have_a_size),
#endif
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, open_context, close_context);
}
