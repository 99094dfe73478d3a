/* SPDX-License-Identifier: Apache-2.0 */
/* expression.c - kernel files state tiles and constraints in C, and the host reads
 * the same text: whatever the reader makes of it must be what the compiler makes
 * of it, so each expression here is given to both. */
#include "support/unit.h"

#include <stdio.h>
#include <time.h>

#include "core/kernel_expression.h"

/* ---- Names ----------------------------------------------------------------------- */

/* The same values for the compiler and for the reader. */
#define TILE 32
#define ONE 1
#define NONE 0
#define LARGE INT64_C(4611686018427387904)
#define WARP_SIZE 32
#define x_1 7

typedef struct definition {
    const char *name;
    int64_t value;
    const char *text; /* NULL: the value */
} definition_t;

static rungi_expression_name look_up(const void *names, const char *name, size_t length)
{
    for (const definition_t *at = names; at->name; at++)
        if (strlen(at->name) == length && memcmp(at->name, name, length) == 0)
            return (rungi_expression_name){true, at->value, at->text, at->text ? strlen(at->text) : 0};
    return (rungi_expression_name){.is_known = false};
}

static const definition_t values[] = {
    {"TILE", TILE, NULL},           {"ONE", ONE, NULL}, {"NONE", NONE, NULL}, {"LARGE", LARGE, NULL},
    {"WARP_SIZE", WARP_SIZE, NULL}, {"x_1", x_1, NULL}, {NULL, 0, NULL},
};

static rung_status evaluate(const char *text, const definition_t *names, int64_t *value)
{
    *value = 12345;
    return rungi_expression_evaluate(text, strlen(text), look_up, names, false, value);
}

/* ---- As the compiler has it ------------------------------------------------------ */

/* The table is about precedence without parentheses; compilers warn of just that. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wdiv-by-zero"
#pragma GCC diagnostic ignored "-Wdivision-by-zero"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wlogical-not-parentheses"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wtautological-compare"
#pragma GCC diagnostic ignored "-Wconstant-logical-operand"
#pragma GCC diagnostic ignored "-Wlogical-op-parentheses"
#pragma GCC diagnostic ignored "-Wtautological-constant-compare"

typedef struct checked_expression {
    const char *text;
    int64_t value;
} checked_expression_t;

#define BOTH(expression)          \
    {                             \
#expression, (expression) \
    }
/* clang-format off */
static const checked_expression_t table[] = {
    BOTH(0), BOTH(00), BOTH(010), BOTH(0x10), BOTH(0XfF), BOTH(16u), BOTH(16UL), BOTH(42),
    BOTH(1234567890), BOTH(TILE), BOTH(x_1), BOTH(WARP_SIZE),
    BOTH(1 + 2 * 3), BOTH((1 + 2) * 3), BOTH(2 * 3 + 1), BOTH(10 - 4 - 3), BOTH(10 - (4 - 3)),
    BOTH(100 / 5 / 2), BOTH(100 / (5 / 2)), BOTH(100 / 5 * 2), BOTH(7 % 4 * 3), BOTH(7 * 4 % 3),
    BOTH(-7 / 2), BOTH(-7 % 2), BOTH(7 / -2), BOTH(7 % -2), BOTH(-7 / -2), BOTH(-7 % -2),
    BOTH(-3 + 5), BOTH(- -3), BOTH(-(-3)), BOTH(+3), BOTH(+-+3), BOTH(!0), BOTH(!5), BOTH(!!5),
    BOTH(-!0), BOTH(!-1), BOTH(!0 + 1), BOTH(!(0 + 1)), BOTH(!ONE == NONE), BOTH(!(ONE == NONE)),
    BOTH(1 < 2), BOTH(2 < 1), BOTH(2 <= 2), BOTH(3 <= 2), BOTH(2 > 1), BOTH(2 >= 2), BOTH(1 >= 2),
    BOTH(1 == 1), BOTH(1 == 2), BOTH(1 != 2), BOTH(1 != 1),
    BOTH(1 < 2 == 1), BOTH(1 == 1 < 2), BOTH(3 > 2 > 1), BOTH(3 > 2 >= 1), BOTH(0 == 1 == 0),
    BOTH(0 != 1 == 1), BOTH(1 + 1 < 3), BOTH(5 < 2 + 4), BOTH(2 * 3 == 6), BOTH(1 - 1 == 0),
    BOTH(1 && 1), BOTH(1 && 0), BOTH(0 || 1), BOTH(0 || 0), BOTH(2 && 3), BOTH(2 || 3),
    BOTH(1 || 0 && 0), BOTH((1 || 0) && 0), BOTH(0 && 0 || 1), BOTH(0 && (0 || 1)),
    BOTH(1 == 1 && 2 == 2), BOTH(1 < 2 && 2 < 3 || 0), BOTH(!0 && !1), BOTH(!(1 && 0)),
    BOTH(1||0&&0), BOTH(1<2), BOTH(1<=2), BOTH(1!=2), BOTH(!1!=2), BOTH(1- -1), BOTH(1+ +1),
    BOTH(TILE * TILE > 1024), BOTH(TILE * TILE >= 1024), BOTH(TILE < 1 || TILE * TILE > 1024),
    BOTH(TILE % 8 != 0), BOTH(TILE / WARP_SIZE), BOTH((TILE) * (TILE + ONE)), BOTH(((((7))))),
    BOTH(6 & 3), BOTH(6 | 3), BOTH(6 ^ 3), BOTH(~6), BOTH(~0 == -1), BOTH(6 & 3 == 3),
    BOTH(1 | 2 ^ 3 & 4), BOTH(4 & 6 ^ 7 | 8), BOTH(1 | 0 && 0), BOTH(2 & 1 || 4 & 4), BOTH(-8 & 12),
    BOTH(1 << 4), BOTH(256 >> 3), BOTH(1 << 2 + 1), BOTH(1 + 1 << 2), BOTH(1 << 2 << 3),
    BOTH(64 >> 2 >> 1), BOTH(1 << 3 < 9), BOTH(8 >> 1 == 4), BOTH(TILE & TILE - 1),
    BOTH(1 ? 2 : 3), BOTH(0 ? 2 : 3), BOTH(1 ? 0 ? 4 : 5 : 6), BOTH(0 ? 1 : 0 ? 2 : 3),
    BOTH(1 || 0 ? 2 : 3), BOTH(0 ? 1 : 2 + 3), BOTH((0 ? 1 : 2) + 3), BOTH(TILE > 8 ? TILE : 8),
    BOTH(LARGE), BOTH(LARGE + (LARGE - 1)), BOTH(-LARGE - LARGE), BOTH(LARGE / 2 * 2 == LARGE),
    BOTH(9223372036854775807), BOTH(-9223372036854775807 - 1), BOTH(9223372036854775807 / -1),
};
/* clang-format on */

/* Constraints guard a division with what stands before it. */
static const checked_expression_t guarded[] = {
    BOTH(NONE && 1 / NONE),
    BOTH(ONE || 1 / NONE),
    BOTH(NONE != 0 && TILE % NONE == 0),
    BOTH(NONE == 0 || TILE % NONE == 0),
    BOTH(NONE && (ONE || 1 / NONE)),
    BOTH(NONE ? 1 / NONE : 7),
    BOTH(ONE ? 7 : 1 / NONE),
    BOTH((NONE && 1 / NONE) + 1),
    BOTH(NONE && 1 / NONE || TILE > 8),
};

static void check_table(const checked_expression_t *expressions, size_t count, const definition_t *names)
{
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        rung_status status = evaluate(expressions[i].text, names, &value);
        if (status != RUNG_OK || value != expressions[i].value)
            fail_msg("%s came to %lld, not %lld (%s)", expressions[i].text, (long long)value,
                     (long long)expressions[i].value, status == RUNG_OK ? "" : rung_error_text());
    }
}

static void values_are_the_compiler_s(void **state)
{
    (void)state;
    check_table(table, sizeof table / sizeof *table, values);
}

static void short_circuit_evaluation(void **state)
{
    int64_t value;
    (void)state;
    check_table(guarded, sizeof guarded / sizeof *guarded, values);
    /* Not computed, but read all the same. */
    assert_int_equal(evaluate("NONE && UNKNOWN", values, &value), RUNG_STATUS_INVALID);
    assert_int_equal(evaluate("NONE && (1", values, &value), RUNG_STATUS_INVALID);
    /* What comes behind is reached again. */
    assert_int_equal(evaluate("NONE && 1 || 1 / NONE", values, &value), RUNG_STATUS_INVALID);
    assert_int_equal(evaluate("(ONE || 1) && 1 / NONE", values, &value), RUNG_STATUS_INVALID);
    assert_int_equal(evaluate("(NONE && 1) + 1 / NONE", values, &value), RUNG_STATUS_INVALID);
}

/* As in an #if, where a name that nobody defined is zero, or is asked about. */
static void unknown_names_in_constraints(void **state)
{
    const struct {
        const char *text;
        int64_t value;
    } cases[] = {
        {"UNKNOWN", 0},
        {"UNKNOWN + 1", 1},
        {"!UNKNOWN", 1},
        {"defined(TILE)", 1},
        {"defined TILE", 1},
        {"defined(UNKNOWN)", 0},
        {"!defined(UNKNOWN) && TILE > 8", 1},
        {"defined(UNKNOWN) && UNKNOWN > 1", 0},
        {"defined(NONE)", 1},
    };
    int64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        assert_int_equal(rungi_expression_evaluate(text, strlen(text), look_up, values, true, &value), RUNG_OK);
        assert_int_equal(value, cases[i].value);
    }
    assert_int_equal(rungi_expression_evaluate("1 / UNKNOWN", 11, look_up, values, true, &value), RUNG_STATUS_INVALID);
}

static void whitespace_is_ignored(void **state)
{
    int64_t value;
    (void)state;
    assert_int_equal(evaluate("  \t( 1 +\r 2 ) *3 \n", values, &value), RUNG_OK);
    assert_int_equal(value, 9);
}

/* The length is the text's end, whatever stands behind it. */
static void text_length_is_respected(void **state)
{
    int64_t value;
    (void)state;
    assert_int_equal(rungi_expression_evaluate("12345", 2, look_up, values, false, &value), RUNG_OK);
    assert_int_equal(value, 12);
    assert_int_equal(rungi_expression_evaluate("TILE2", 4, look_up, values, false, &value), RUNG_OK);
    assert_int_equal(value, TILE);
    assert_int_equal(rungi_expression_evaluate("1<=2", 2, look_up, values, false, &value), RUNG_STATUS_INVALID);
}

/* ---- Names that stand for names -------------------------------------------------- */

static void whole_text_is_parsed(void **state)
{
    const definition_t names[] = {
        {"TILE", 16, NULL}, {"BM", 0, "TILE"}, {"BN", 0, "(TILE * 2)"}, {"AREA", 0, "BM * BN"}, {NULL, 0, NULL}};
    int64_t value;
    (void)state;
    assert_int_equal(evaluate("BM", names, &value), RUNG_OK);
    assert_int_equal(value, 16);
    assert_int_equal(evaluate("AREA > 511 && AREA < 513", names, &value), RUNG_OK);
    assert_int_equal(value, 1);
}

/* A macro is its text and not its value: another number than the compiler's would
 * launch another grid than the one that was compiled. */
static void texts_are_not_parenthesised(void **state)
{
#define SUM 2 + 3
#define NOT !
#define LESS 1 <
    const definition_t names[] = {{"SUM", 0, "2 + 3"}, {"TWICE", 0, "SUM * 2"}, {"OPEN", 0, "(1"},
                                  {"NOT", 0, "!"},     {"LESS", 0, "1 <"},      {NULL, 0, NULL}};
    const checked_expression_t cases[] = {
        BOTH(SUM * 4),       BOTH(4 * SUM), BOTH(SUM * SUM),     BOTH(-SUM),   BOTH((SUM)*4),
        BOTH(NOT 0 + NOT 0), BOTH(LESS 2),  BOTH(LESS SUM == 1), {"TWICE", 8}, {"OPEN + 1) * 2", 4},
    };
    (void)state;
    check_table(cases, sizeof cases / sizeof *cases, names);
}

#pragma GCC diagnostic pop

/* ---- Refusals -------------------------------------------------------------------- */

static void invalid_expressions(void **state)
{
    /* clang-format off */
    const char *const texts[] = {
        "", "   ", "(", ")", "()", "(1", "1)", "1 2", "1 +", "+", "*2", "2 ** 3", "1 = 2",
        "1 === 2",
        "1 ! 2", "&& 1", "1 &&", "1 &", "| 2", "1 <<", "1 <<< 2", "1 ? 2", "1 ? : 2", "1 : 2",
        "~", "1 ^",
        "1 &&& 2", "1 ||| 2", "1 << 63", "1 << 64", "1 << -1", "1 >> 64", "-1 << 1", "LARGE << 1",
        "1 ? 2 : 1 / 0 ? 1 / 0 : 3)", "0 ? 1 : 1 / 0",
        "0x", "0xG", "08", "10x", "1e3", "1.5", "'a'", "\"a\"", "UNKNOWN", "TILE TILE",
        "TILE2", "tile", "1, 2",
        "$", "@", "defined", "defined(", "defined(TILE", "defined()", "\x80",
        "9223372036854775808", "99999999999999999999999",
        "0000000000000000000000000000000000000000000000000000000000000001",
        "1 / 0", "1 % 0", "TILE / NONE", "(-9223372036854775807 - 1) / -1",
        "(-9223372036854775807 - 1) % -1", "-(-9223372036854775807 - 1)", "LARGE + LARGE",
        "LARGE * 2", "-LARGE - LARGE - 1", "(1 + UNKNOWN) * 2", "1 || UNKNOWN)",
    };
    /* clang-format on */
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int64_t value;
        if (evaluate(texts[i], values, &value) != RUNG_STATUS_INVALID)
            fail_msg("\"%s\" came to %lld", texts[i], (long long)value);
        assert_true(strlen(rung_error_text()) > 10);
    }
}

static void error_messages_name_the_cause(void **state)
{
    int64_t value;
    (void)state;
    evaluate("1 + UNKNOWN", values, &value);
    assert_non_null(strstr(rung_error_text(), "UNKNOWN"));
    evaluate("TILE / NONE", values, &value);
    assert_non_null(strstr(rung_error_text(), "zero"));
    assert_non_null(strstr(rung_error_text(), "TILE / NONE"));
    evaluate("(1", values, &value);
    assert_non_null(strstr(rung_error_text(), "parenthesis"));
    evaluate("1 2", values, &value);
    assert_non_null(strstr(rung_error_text(), "left over"));
}

static void names_defined_by_themselves(void **state)
{
    const definition_t names[] = {{"A", 0, "A"},     {"B", 0, "C + 1"}, {"C", 0, "B"},
                                  {"E", 0, ""},      {"P", 0, "(1"},    {"Q", 0, "UNKNOWN"},
                                  {"S", 0, "S + S"}, {"L", 0, "1 <"},   {NULL, 0, NULL}};
    const char *const texts[] = {"A", "B", "1 + C", "E", "1 + E", "P", "Q", "S", "L", "L= 2"};
    int64_t value;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(evaluate(texts[i], names, &value), RUNG_STATUS_INVALID);
}

enum { CHAIN_MAX = 200 };

/* Names that are defined by the next one: N0, N1 and so on. The last one is 1. */
typedef struct name_chain {
    char name[CHAIN_MAX][8], text[CHAIN_MAX][24];
    definition_t names[CHAIN_MAX + 1];
} name_chain_t;

/* Defines each name as the next one plus 1, or plus itself. */
static void create_chain(name_chain_t *chain, int count, bool doubles)
{
    for (int i = 0; i < count; i++) {
        snprintf(chain->name[i], sizeof chain->name[i], "N%d", i);
        if (doubles)
            snprintf(chain->text[i], sizeof chain->text[i], "N%d + N%d", i + 1, i + 1);
        else
            snprintf(chain->text[i], sizeof chain->text[i], "N%d + 1", i + 1);
        chain->names[i] = (definition_t){chain->name[i], 1, i + 1 < count ? chain->text[i] : NULL};
    }
    chain->names[count] = (definition_t){NULL, 0, NULL};
}

/* A name within the text of a name, and so on: each but the last text has something left to read. */
static void chains_of_names(void **state)
{
    name_chain_t chain;
    int64_t value;
    (void)state;
    create_chain(&chain, CHAIN_MAX, false);
    assert_int_equal(evaluate("N190", chain.names, &value), RUNG_OK);
    assert_int_equal(value, 10);
    assert_int_equal(evaluate("N0", chain.names, &value), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "deep"));
}

/* Nesting is read by recursion: it must end before the stack does. */
static void deep_nesting(void **state)
{
    enum { DEEP = 100000 };
    static char text[2 * DEEP + 2];
    const char openers[] = "(!-+";
    int64_t value;
    (void)state;
    for (size_t i = 0; i + 1 < sizeof openers; i++) {
        memset(text, 0, sizeof text);
        memset(text, openers[i], DEEP);
        text[DEEP] = '1';
        if (openers[i] == '(')
            memset(text + DEEP + 1, ')', DEEP);
        assert_int_equal(evaluate(text, values, &value), RUNG_STATUS_INVALID);
        assert_non_null(strstr(rung_error_text(), "deep"));
    }
    assert_int_equal(evaluate("((((((((((1))))))))))", values, &value), RUNG_OK);
}

/* N0 = N1 + N1, N1 = N2 + N2, ...: 2^29 additions if nobody counts. */
static void doubling_names_end_quickly(void **state)
{
    name_chain_t chain;
    int64_t value;
    (void)state;
    create_chain(&chain, 30, true);
    clock_t start = clock();
    assert_int_equal(evaluate("N0", chain.names, &value), RUNG_STATUS_INVALID);
    assert_true(clock() - start < CLOCKS_PER_SEC);
    assert_int_equal(evaluate("N22", chain.names, &value), RUNG_OK);
    assert_int_equal(value, 128);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_the_compiler_s),
        cmocka_unit_test(short_circuit_evaluation),
        cmocka_unit_test(unknown_names_in_constraints),
        cmocka_unit_test(whitespace_is_ignored),
        cmocka_unit_test(text_length_is_respected),
        cmocka_unit_test(whole_text_is_parsed),
        cmocka_unit_test(texts_are_not_parenthesised),
        cmocka_unit_test(invalid_expressions),
        cmocka_unit_test(error_messages_name_the_cause),
        cmocka_unit_test(names_defined_by_themselves),
        cmocka_unit_test(chains_of_names),
        cmocka_unit_test(deep_nesting),
        cmocka_unit_test(doubling_names_end_quickly),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
