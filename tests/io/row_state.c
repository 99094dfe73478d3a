/* SPDX-License-Identifier: Apache-2.0 */
/* row_state.c - decisions depend on the state of a row, never on the wording of its sentence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compare/compare.h"
#include "bench/contender.h"
#include "io/row_state.h"

static void names_are_read_back(void **state)
{
    (void)state;
    for (int i = 0; i < LAB_ROW_STATE_COUNT; i++)
        assert_int_equal(lab_row_state_of(lab_row_state_name((lab_row_state)i)), i);
    assert_int_equal(lab_row_state_of("WRONG: element (0, 0)"), LAB_ROW_STATE_COUNT);
    assert_int_equal(lab_row_state_of(""), LAB_ROW_STATE_COUNT);
    assert_string_equal(lab_row_state_name(LAB_ROW_STATE_COUNT), "unknown");
}

static void a_dropped_contender_has_no_result(void **state)
{
    lab_contender contender = {.row = {.verified = true, .state = LAB_ROW_OK}};
    (void)state;
    lab_contender_reject(&contender, LAB_ROW_WRONG, "element %d differs", 7);
    assert_false(contender.row.verified);
    assert_int_equal(contender.row.state, LAB_ROW_WRONG);
    assert_string_equal(contender.row.why_not, "element 7 differs");
}

/* Reads a file of one row with these fields. */
static void read_row(const char *fields, lab_results *results)
{
    char text[1024], why[256];
    snprintf(text, sizeof text,
             "{\"schema\": \"rung-bench/1\", \"machine\": {}, \"results\": [{\"kernel\": \"04_shared\", "
             "\"dtype\": \"f32\", \"m\": 8, \"n\": 8, \"k\": 8, %s}]}",
             fields);
    if (!lab_results_parse(text, strlen(text), "row.json", results, why, sizeof why))
        fail_msg("%s", why);
    assert_int_equal(results->count, 1);
}

static const char *compared_with(const char *fields)
{
    static char why_not[128];
    lab_results before, after;
    lab_comparison comparison;
    read_row("\"verified\": true, \"median_ns\": 5, \"gflops\": 1, \"state\": \"ok\"", &before);
    read_row(fields, &after);
    assert_true(lab_comparison_create(&(lab_compare_side){&before, 1}, &(lab_compare_side){&after, 1}, &comparison));
    assert_int_equal(comparison.count, 1);
    snprintf(why_not, sizeof why_not, "%s", comparison.pairs[0].why_not);
    lab_comparison_free(&comparison);
    lab_results_free(&before);
    lab_results_free(&after);
    return why_not;
}

/* The same state with any sentence is the same to rung compare. */
static void state_does_not_depend_on_text(void **state)
{
    (void)state;
    assert_string_equal(compared_with("\"verified\": false, \"state\": \"wrong\", \"why_not\": \"element 3 differs\""),
                        "the new result is wrong");
    assert_string_equal(compared_with("\"verified\": true, \"state\": \"implausible\", \"why_not\": \"too fast\""),
                        "the new result is wrong");
    assert_string_equal(compared_with("\"verified\": false, \"state\": \"refused\", \"why_not\": \"WRONG driver\""),
                        "the new row has no time");
    assert_string_equal(compared_with("\"verified\": false, \"state\": \"skipped\", \"why_not\": \"beyond the roof\""),
                        "the new row has no time");
}

/* Files of earlier versions have no state. */
static void files_without_a_state_are_read(void **state)
{
    (void)state;
    assert_string_equal(compared_with("\"verified\": false, \"why_not\": \"WRONG: element (0, 0)\""),
                        "the new result is wrong");
    assert_string_equal(compared_with("\"verified\": true, \"why_not\": \"beyond the roof: 900 GFLOPS\""),
                        "the new result is wrong");
    assert_string_equal(compared_with("\"verified\": false, \"why_not\": \"out of memory\""),
                        "the new row has no time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_back),
        cmocka_unit_test(a_dropped_contender_has_no_result),
        cmocka_unit_test(state_does_not_depend_on_text),
        cmocka_unit_test(files_without_a_state_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
