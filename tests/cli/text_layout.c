/* SPDX-License-Identifier: Apache-2.0 */
/* text_layout.c - what the lab shows: columns with characters of several bytes, lines within a width,
 * the time that is left, and what a wrong word means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/nearest_word.h"
#include "cli/progress_line.h"
#include "cli/table.h"
#include "cli/terminal.h"

/* What a function writes to a file. */
static char written[4096];

static FILE *open_written(void)
{
    memset(written, 0, sizeof written);
    return fmemopen(written, sizeof written - 1, "w");
}

static void test_columns_count_characters(void **state)
{
    (void)state;
    lab_table *table = calloc(1, sizeof *table);
    FILE *out = open_written();
    assert_non_null(table);
    assert_non_null(out);
    lab_table_add(table, 3, (const char *[]){"kernel", "ns", "why"});
    lab_table_add(table, 3,
                  (const char *[]){"k\xc3\xb6rnel_\xe2\x82\xac.cu",
                                   "\xc2\xb5"
                                   "7",
                                   ""});
    lab_table_add(table, 3, (const char *[]){"plain_x.cu", "12345", "no"});
    lab_colour_set_mode("always");
    lab_table_colour(table, LAB_RED);
    lab_table_print(table, "lrl", out);
    fclose(out);
    lab_colour_set_mode(NULL);
    assert_string_equal(written, "kernel          ns  why\n"
                                 "k\xc3\xb6rnel_\xe2\x82\xac.cu     \xc2\xb5"
                                 "7  \n"
                                 "\033[31mplain_x.cu   12345  no\033[0m\n");
    free(table);
}

/* A cell that is too long is cut between characters and ends in "...". */
static void test_cells_end_between_characters(void **state)
{
    (void)state;
    lab_table *table = calloc(1, sizeof *table);
    char text[LAB_TABLE_CELL_BYTES + 8];
    assert_non_null(table);
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    memcpy(text + LAB_TABLE_CELL_BYTES - 5, "\xe2\x82\xac", 3);
    lab_table_add(table, 1, (const char *[]){text});
    assert_int_equal(strlen(table->cells[0][0]), LAB_TABLE_CELL_BYTES - 2);
    assert_string_equal(table->cells[0][0] + LAB_TABLE_CELL_BYTES - 6, "x...");
    text[LAB_TABLE_CELL_BYTES - 1] = '\0';
    lab_table_add(table, 1, (const char *[]){text});
    assert_string_equal(table->cells[1][0], text);
    free(table);
}

static void test_text_is_truncated_and_wrapped(void **state)
{
    (void)state;
    char text[] = "a\xc3\xb6"
                  "bc";
    assert_int_equal(lab_text_width(text), 4);
    lab_text_truncate(text, 2);
    assert_string_equal(text, "a\xc3\xb6");
    lab_text_truncate(text, 5);
    assert_string_equal(text, "a\xc3\xb6");

    FILE *out = open_written();
    lab_text_wrap("one two three  a-word-that-fits-nowhere four", 4, 2, 12, out);
    fclose(out);
    assert_string_equal(written, "one two\n  three\n  a-word-that-fits-nowhere\n  four\n");
    out = open_written();
    lab_text_wrap("exactly ten", 1, 0, 12, out);
    fclose(out);
    assert_string_equal(written, "exactly ten\n");
}

static void expect_line(lab_progress progress, double seconds, int width, const char *expected)
{
    char line[256];
    lab_progress_format(&progress, seconds, width, line, sizeof line);
    assert_string_equal(line, expected);
    assert_true(lab_text_width(line) <= width);
}

static void test_progress_shows_the_time_left(void **state)
{
    (void)state;
    lab_progress quarter = {"512x512x512 f32", 3, 12, "problems"};
    expect_line(quarter, 42, 80, "512x512x512 f32: 3 of 12 problems, 0:42, about 2:06 left");
    expect_line(quarter, 4000, 80, "512x512x512 f32: 3 of 12 problems, 1:06:40, about 3:20:00 left");
    expect_line(quarter, 42, 50, "512x512x5: 3 of 12 problems, 0:42, about 2:06 left");
    expect_line(quarter, 42, 20, "3 of 12 problems, 0:");
    quarter.done = 0;
    expect_line(quarter, 42, 80, "512x512x512 f32: 0 of 12 problems, 0:42");
    quarter.done = 0.5;
    expect_line(quarter, 0.4, 80, "512x512x512 f32: 0 of 12 problems, 0:00");
    expect_line(quarter, 2, 80, "512x512x512 f32: 0 of 12 problems, 0:02, about 0:46 left");
    quarter.done = 13;
    expect_line(quarter, 42, 80, "512x512x512 f32: 12 of 12 problems, 0:42");
}

static void test_distance(void **state)
{
    (void)state;
    assert_int_equal(lab_edit_distance("bench", "bench"), 0);
    assert_int_equal(lab_edit_distance("", "abc"), 3);
    assert_int_equal(lab_edit_distance("verfy", "verify"), 1);
    assert_int_equal(lab_edit_distance("benhc", "bench"), 1); /* swapped */
    assert_int_equal(lab_edit_distance("tnue", "tune"), 1);
    assert_int_equal(lab_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(lab_edit_distance("ab", "ba"), 1);
    assert_int_equal(lab_edit_distance("abc", "ca"), 3);
}

static void test_nearest(void **state)
{
    (void)state;
    const char *const words[] = {"devices", "verify", NULL, "bench", "tune", "cpu", "opencl", "04_shared", "07_tile2d"};
    enum { COUNT = sizeof words / sizeof *words };
    assert_string_equal(lab_nearest_word("verfy", words, COUNT), "verify");
    assert_string_equal(lab_nearest_word("device", words, COUNT), "devices");
    assert_string_equal(lab_nearest_word("opncl", words, COUNT), "opencl");
    assert_string_equal(lab_nearest_word("tile2", words, COUNT), "07_tile2d");
    assert_string_equal(lab_nearest_word("04_sharde", words, COUNT), "04_shared");
    assert_string_equal(lab_nearest_word("be", words, COUNT), "bench");
    assert_null(lab_nearest_word("gpu", words, COUNT));
    assert_null(lab_nearest_word("99", words, COUNT));
    assert_null(lab_nearest_word("", words, COUNT));
    assert_null(lab_nearest_word("frobnicate", words, COUNT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_count_characters),
        cmocka_unit_test(test_cells_end_between_characters),
        cmocka_unit_test(test_text_is_truncated_and_wrapped),
        cmocka_unit_test(test_progress_shows_the_time_left),
        cmocka_unit_test(test_distance),
        cmocka_unit_test(test_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
