/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - what a search remembers: the last word on each candidate, nothing of a line that
 * was cut off, nothing of another search. */
#include "support/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "tune/tune_journal.h"

static char path[64];
static const char head[] = "rung-tune/1 a device; f32";

static int make_path(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/rung-journal-XXXXXX");
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static int remove_path(void **state)
{
    (void)state;
    return remove(path);
}

static lab_trial trial_of(lab_trial_state kind, const char *parameters, int64_t ns)
{
    lab_trial trial = {
        .kind = kind, .size = {4, 5, 6}, .kernel = "my kernel.cu", .source = 0xfedcba9876543210u, .ns = ns};
    snprintf(trial.parameters, sizeof trial.parameters, "%s", parameters);
    return trial;
}

static void open_it(lab_journal *journal)
{
    char why[256] = "";
    assert_true(lab_journal_open(path, head, journal, why, sizeof why));
}

static void append_text(const char *text)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_remembers(void **state)
{
    lab_journal journal;
    lab_trial trying = trial_of(LAB_TRIAL_TRYING, "A=1,B=2", 0), timed = trial_of(LAB_TRIAL_TIMED, "A=1,B=2", 77);
    lab_trial none = trial_of(LAB_TRIAL_WRONG, "", 0), other = trial_of(LAB_TRIAL_TRYING, "A=1,B=3", 0);
    (void)state;
    open_it(&journal);
    assert_true(lab_journal_add(&journal, &trying, NULL));
    assert_true(lab_journal_add(&journal, &timed, NULL));
    assert_true(lab_journal_add(&journal, &none, "WRONG:\tan element\nand more"));
    lab_journal_close(&journal);

    open_it(&journal);
    assert_int_equal(journal.count, 2);
    const lab_trial *known = lab_journal_find(&journal, &trying);
    assert_non_null(known);
    assert_int_equal(known->kind, LAB_TRIAL_TIMED);
    assert_int_equal(known->ns, 77);
    assert_int_equal(lab_journal_find(&journal, &none)->kind, LAB_TRIAL_WRONG);
    assert_null(lab_journal_find(&journal, &other));
    other = trying;
    other.source++; /* the kernel was changed */
    assert_null(lab_journal_find(&journal, &other));
    other = trying;
    other.size.k++;
    assert_null(lab_journal_find(&journal, &other));
    lab_journal_close(&journal);
}

/* The next line must not be glued to what is left of the last. */
static void test_cut_off(void **state)
{
    lab_journal journal;
    lab_trial one = trial_of(LAB_TRIAL_TIMED, "A=1", 5), two = trial_of(LAB_TRIAL_TIMED, "A=2", 6);
    (void)state;
    open_it(&journal);
    assert_true(lab_journal_add(&journal, &one, NULL));
    lab_journal_close(&journal);
    append_text("timed\t4x5x6\tmy kernel.cu\tfedcba9876543210\tA=3\t9");
    open_it(&journal);
    assert_int_equal(journal.count, 1);
    assert_true(lab_journal_add(&journal, &two, NULL));
    lab_journal_close(&journal);
    append_text("nonsense\ntimed\t4x5x6\tmy kernel.cu\tfedcba9876543210\tA=4\t-7\t\n"
                "timed\t4x5x6\tmy kernel.cu\tfedcba9876543210\tA=5\t9000000000000000000\t\n");
    open_it(&journal);
    assert_int_equal(journal.count, 2);
    assert_int_equal(lab_journal_find(&journal, &two)->ns, 6);
    lab_journal_close(&journal);
}

static void test_other_search_is_ignored(void **state)
{
    lab_journal journal, second;
    char why[512] = "";
    (void)state;
    open_it(&journal);
    assert_false(lab_journal_open(path, head, &second, why, sizeof why));
    assert_non_null(strstr(why, "another rung tune"));
    lab_journal_close(&journal);
    assert_false(lab_journal_open(path, "rung-tune/1 another device; f32", &second, why, sizeof why));
    assert_non_null(strstr(why, "belongs to another search"));
    assert_false(lab_journal_open("/nowhere/at/all", head, &second, why, sizeof why));
    open_it(&journal); /* and it is still ours */
    lab_journal_close(&journal);
}

static void write_bytes(const char *bytes, size_t count)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

/* Files of something else, named by mistake: refused, and not a byte of them changed. */
static void test_is_not_emptied(void **state)
{
    static const char *const foreign[] = {"a letter without an end of line", "rung-tune/1 a dot",
                                          "rung-tune/1 a device; f32 and more", "x\nrung-tune/1 a device; f32\n"};
    char nothing[8] = {0};
    (void)state;
    for (size_t i = 0; i <= sizeof foreign / sizeof *foreign; i++) {
        bool is_last = i == sizeof foreign / sizeof *foreign; /* bytes of value 0 */
        size_t count = is_last ? sizeof nothing : strlen(foreign[i]);
        char why[512] = "", now[64];
        lab_journal journal;
        write_bytes(is_last ? nothing : foreign[i], count);
        assert_false(lab_journal_open(path, head, &journal, why, sizeof why));
        assert_non_null(strstr(why, "belongs to another search"));
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_int_equal(fread(now, 1, sizeof now, file), count);
        assert_memory_equal(now, is_last ? nothing : foreign[i], count);
        assert_int_equal(fclose(file), 0);
    }
}

/* A first line that was cut off, anywhere, is begun anew. */
static void test_head_cut_off(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof head; length++) {
        lab_journal journal;
        lab_trial one = trial_of(LAB_TRIAL_TIMED, "A=1", 5);
        write_bytes(head, length);
        open_it(&journal);
        assert_true(lab_journal_add(&journal, &one, NULL));
        lab_journal_close(&journal);
        open_it(&journal);
        assert_int_equal(journal.count, 1);
        lab_journal_close(&journal);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_remembers, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_cut_off, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_other_search_is_ignored, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_is_not_emptied, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_head_cut_off, make_path, remove_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
