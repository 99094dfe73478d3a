/* SPDX-License-Identifier: Apache-2.0 */
/* json_reader.c - reading JSON and rung bench's results: what must be taken, what must be refused
 * with its line, and that what the lab writes is what it reads. */
#include "io/json_writer.h"
#include "io/bench_results.h"
#include "io/json_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bool read_text(const char *text, lab_json_document *document, char *why, size_t capacity)
{
    return lab_json_document_parse(text, strlen(text), document, why, capacity);
}

static void accepts_json(void **state)
{
    lab_json_document document;
    char why[256];
    (void)state;
    assert_true(read_text(
        " { \"a\" : [1, -2.5e3, true, null, \"x\\n\\u00e9\\ud83d\\ude00\"], \"b\": {\"c\": false}, \"d\": {} } ",
        &document, why, sizeof why));
    const lab_json_value *a = lab_json_get(document.root, "a");
    assert_int_equal(a->kind, LAB_JSON_ARRAY);
    assert_int_equal(a->count, 5);
    assert_true(a->first->number == 1 && a->first->next->number == -2500);
    assert_int_equal(a->first->next->next->kind, LAB_JSON_BOOLEAN);
    assert_int_equal(a->first->next->next->next->kind, LAB_JSON_NULL);
    assert_string_equal(a->first->next->next->next->next->text, "x\n\xc3\xa9\xf0\x9f\x98\x80");
    assert_false(lab_json_get_true(lab_json_get(document.root, "b"), "c"));
    assert_true(lab_json_get(document.root, "d")->first == NULL);
    /* What is not there answers like a null, as deep as one asks. */
    assert_true(lab_json_get_number(lab_json_get(lab_json_get(document.root, "x"), "y"), "z", 7) == 7);
    assert_string_equal(lab_json_get_text(document.root, "a", "other"), "other");
    assert_int_equal(lab_json_get_integer(document.root, "b", 3), 3);
    lab_json_document_free(&document);
}

static void rejects_invalid_json(void **state)
{
    /* clang-format off */
    static const char *const wrong[] = {
        "", "{", "[1", "[1,]", "{\"a\" 1}", "{\"a\":}", "{a:1}", "{,}", "[01]", "[0x10]", "[1.]", "[.5]", "[-]",
        "[1e]", "[1e999]", "[nan]", "[inf]", "[tru]", "[\"a", "[\"\\x\"]", "[\"\\u12g4\"]", "[\"\\ud800\"]",
        "[\"\\udc00\"]", "[\"\\u0000\"]", "[\"\t\"]", "1 2", "[1] x", "{\"a\":1 \"b\":2}", "'a'", "[+1]",
    };
    /* clang-format on */
    lab_json_document document;
    char why[256];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (read_text(wrong[i], &document, why, sizeof why))
            fail_msg("taken: %s", wrong[i]);
        assert_null(document.root);
        lab_json_document_free(&document);
    }
    char deep[200];
    memset(deep, '[', sizeof deep);
    assert_false(lab_json_document_parse(deep, sizeof deep, &document, why, sizeof why));
    assert_non_null(strstr(why, "too deep"));
    assert_false(lab_json_document_parse("[\0]", 3, &document, why, sizeof why));
    /* The line is the given text's, whatever decoding made of it. */
    assert_false(read_text("[\"\\n\\n\\n\",\n1,\n?]", &document, why, sizeof why));
    assert_non_null(strstr(why, "line 3 "));
}

/* Every beginning of a document is refused: that is what a stopped writer leaves. */
static void rejects_truncated_json(void **state)
{
    static const char text[] = "{\"a\": [1, {\"b\": \"c\\\"\"}, true], \"d\": null}";
    lab_json_document document;
    char why[256];
    (void)state;
    for (size_t length = 0; length < sizeof text - 1; length++)
        assert_false(lab_json_document_parse(text, length, &document, why, sizeof why));
    assert_true(lab_json_document_parse(text, sizeof text - 1, &document, why, sizeof why));
    lab_json_document_free(&document);
}

static void reads_what_is_written(void **state)
{
    char *written = NULL, why[256];
    size_t length = 0;
    lab_json_document document;
    lab_json json = {.out = open_memstream(&written, &length)};
    (void)state;
    assert_non_null(json.out);
    lab_json_begin(&json, NULL, '{');
    lab_json_string(&json, "text", "a \"b\" \\ \n\x01 c");
    lab_json_number(&json, "third", 1.0 / 3);
    lab_json_integer(&json, "large", (int64_t)1 << 52);
    lab_json_boolean(&json, "yes", true);
    lab_json_end(&json, '}');
    fclose(json.out);
    assert_true(lab_json_document_parse(written, length, &document, why, sizeof why));
    assert_string_equal(lab_json_get_text(document.root, "text", ""), "a \"b\" \\ \n\x01 c");
    assert_true(lab_json_get_number(document.root, "third", 0) == 1.0 / 3);
    assert_int_equal(lab_json_get_integer(document.root, "large", 0), (int64_t)1 << 52);
    assert_true(lab_json_get_true(document.root, "yes"));
    lab_json_document_free(&document);
    free(written);
}

/* ---- Results --------------------------------------------------------------------------------------- */

static bool load(const char *text, lab_results *results, char *why, size_t capacity)
{
    char file[] = "/tmp/rung-results-XXXXXX";
    int handle = mkstemp(file);
    assert_true(handle >= 0);
    assert_int_equal(write(handle, text, strlen(text)), (ssize_t)strlen(text));
    close(handle);
    bool good = lab_results_load(file, results, why, capacity);
    unlink(file);
    return good;
}

static void loads_results(void **state)
{
    lab_results results;
    char why[512];
    (void)state;
    assert_true(
        load("{\"schema\": \"rung-bench/1\", \"machine\": {\"processor\": \"P\"}, \"results\": [{\"device\": \"cpu\", "
             "\"kernel\": \"10_pipeline\", \"dtype\": \"f32\", \"m\": 2, \"n\": 3, \"k\": 4, \"verified\": true, "
             "\"median_ns\": 10, \"gflops\": 4.8, \"probe_gflops\": 9}]}",
             &results, why, sizeof why));
    assert_int_equal(results.count, 1);
    assert_string_equal(results.rows[0].kernel, "10_pipeline");
    assert_int_equal(results.rows[0].k, 4);
    assert_int_equal(results.rows[0].batch, 1);
    assert_true(lab_json_get_number(results.rows[0].fields, "probe_gflops", 0) == 9);
    assert_string_equal(lab_json_get_text(results.machine, "processor", ""), "P");
    lab_results_free(&results);
}

static void refuses_other_files(void **state)
{
    static const char *const wrong[] = {
        "[]",
        "{}",
        "{\"schema\": \"rung-bench/1\"}",
        "{\"schema\": \"rung-bench/2\", \"results\": []}",
        "{\"schema\": \"rung-bench/1\", \"results\": [1]}",
        "{\"schema\": \"rung-bench/1\", \"results\": [{\"kernel\": \"x\", \"dtype\": \"f32\", \"m\": -1}]}",
        "{\"schema\": \"rung-bench/1\", \"results\": [{\"kernel\": \"x\", \"dtype\": \"f32\", \"verified\": true}]}",
    };
    lab_results results;
    char why[512];
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(load(wrong[i], &results, why, sizeof why));
    assert_false(lab_results_load("/nowhere/at/all.json", &results, why, sizeof why));
    assert_non_null(strstr(why, "/nowhere/at/all.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_json),           cmocka_unit_test(rejects_invalid_json),
        cmocka_unit_test(rejects_truncated_json), cmocka_unit_test(reads_what_is_written),
        cmocka_unit_test(loads_results),          cmocka_unit_test(refuses_other_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
