/* SPDX-License-Identifier: Apache-2.0 */
/* status.c - a status is all a caller gets to decide on, so each must have a name
 * and a text of its own, and the sentence must be the caller's thread's. */
#include "support/unit.h"

#include <pthread.h>
#include <stdio.h>

#include "base/error.h"

static const rung_status statuses[] = {
    RUNG_OK,
    RUNG_STATUS_INVALID,
    RUNG_STATUS_ALIASED,
    RUNG_STATUS_TOO_LARGE,
    RUNG_STATUS_NO_MEMORY,
    RUNG_STATUS_NO_DEVICE,
    RUNG_STATUS_UNSUPPORTED,
    RUNG_STATUS_COMPILE_FAILED,
    RUNG_STATUS_DEVICE_LOST,
    RUNG_STATUS_NOT_FOUND,
    RUNG_STATUS_IO,
    RUNG_STATUS_CANCELLED,
    RUNG_STATUS_CORRUPTED,
};
enum { STATUS_COUNT = sizeof statuses / sizeof *statuses };

static void each_status_has_a_text(void **state)
{
    (void)state;
    for (int i = 0; i < STATUS_COUNT; i++) {
        const char *name = rung_status_name(statuses[i]);
        assert_memory_equal(name, "RUNG_", 5);
        assert_true(strlen(name) > 6);
        assert_true(strlen(rung_status_text(statuses[i])) > 3);
        for (int j = 0; j < i; j++) {
            assert_true(statuses[i] != statuses[j]);
            assert_string_not_equal(name, rung_status_name(statuses[j]));
            assert_string_not_equal(rung_status_text(statuses[i]), rung_status_text(statuses[j]));
        }
    }
    assert_string_equal(rung_status_name(RUNG_STATUS_ALIASED), "RUNG_STATUS_ALIASED");
    assert_int_equal(RUNG_OK, 0);
}

/* Numbers are part of the interface: programs store them. */
static void numbers_stay(void **state)
{
    (void)state;
    for (int i = 0; i < STATUS_COUNT; i++)
        assert_int_equal(statuses[i], -i);
}

static void unknown_statuses_have_a_text(void **state)
{
    (void)state;
    const int unknown[] = {1, -1000, INT32_MAX, INT32_MIN, -STATUS_COUNT};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const char *name = rung_status_name((rung_status)unknown[i]);
        assert_non_null(name);
        assert_non_null(rung_status_text((rung_status)unknown[i]));
        for (int j = 0; j < STATUS_COUNT; j++)
            assert_string_not_equal(name, rung_status_name(statuses[j]));
    }
}

/* A library that stands on this one says where it was, around what was said before. */
static void others_may_fail_too(void **state)
{
    (void)state;
    rungi_fail(RUNG_STATUS_INVALID, "%s", "m is -1");
    assert_int_equal(rung_error_set(RUNG_STATUS_IO, "block %d: %s", 7, rung_error_text()), RUNG_STATUS_IO);
    assert_string_equal(rung_error_text(), "block 7: m is -1");
}

static void version_is_the_header_s(void **state)
{
    char expected[32];
    (void)state;
    snprintf(expected, sizeof expected, "%d.%d.%d", RUNG_VERSION_MAJOR, RUNG_VERSION_MINOR, RUNG_VERSION_PATCH);
    assert_string_equal(rung_version_text(), expected);
}

typedef struct thread_report {
    bool empty_at_first, own_sentence;
} thread_report_t;

static void *fail_in_thread(void *opaque)
{
    thread_report_t *report = opaque;
    const char *text = rung_error_text();
    report->empty_at_first = text && *text == '\0';
    rungi_fail(RUNG_STATUS_INVALID, "the other thread's sentence");
    report->own_sentence = strcmp(rung_error_text(), "the other thread's sentence") == 0;
    return NULL;
}

static void error_text_is_thread_local(void **state)
{
    thread_report_t report = {false, false};
    pthread_t thread;
    (void)state;
    assert_non_null(rung_error_text());
    assert_int_equal(rungi_fail(RUNG_STATUS_ALIASED, "this thread's %s", "sentence"), RUNG_STATUS_ALIASED);
    assert_int_equal(pthread_create(&thread, NULL, fail_in_thread, &report), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(report.empty_at_first);
    assert_true(report.own_sentence);
    assert_string_equal(rung_error_text(), "this thread's sentence");
}

/* A long compiler log must be cut, never written past the end. */
static void long_messages_are_truncated(void **state)
{
    static char longer[20000];
    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    rungi_fail(RUNG_STATUS_COMPILE_FAILED, "begin %s", longer);
    size_t length = strlen(rung_error_text());
    assert_true(length > 1000 && length < sizeof longer);
    assert_memory_equal(rung_error_text(), "begin x", 7);

    assert_int_equal(rungi_fail_prepend(RUNG_STATUS_COMPILE_FAILED, "in %s", "a file"), RUNG_STATUS_COMPILE_FAILED);
    assert_memory_equal(rung_error_text(), "in a file: begin x", 18);
    rungi_fail_prepend(RUNG_STATUS_COMPILE_FAILED, "%s", longer);
    assert_true(strlen(rung_error_text()) < sizeof longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_status_has_a_text),       cmocka_unit_test(numbers_stay),
        cmocka_unit_test(unknown_statuses_have_a_text), cmocka_unit_test(others_may_fail_too),
        cmocka_unit_test(version_is_the_header_s),      cmocka_unit_test(error_text_is_thread_local),
        cmocka_unit_test(long_messages_are_truncated),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
