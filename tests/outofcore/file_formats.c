/* SPDX-License-Identifier: Apache-2.0 */
/* file_formats.c - headers of .npy and lines of journals: what they say is read, and anything else is refused with its
 * reason. */
#include "support/unit.h"

#include <stdio.h>
#include <unistd.h>

#include "outofcore/resume_journal.h"
#include "outofcore/npy.h"
#include "outofcore/outofcore_matrix.h"

/* ---- .npy ----------------------------------------------------------------------------------------------- */

static int64_t header_of(const char *text, int version, char *bytes)
{
    size_t length = strlen(text), begin = version == 1 ? 10 : 12;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (char)version;
    memset(bytes + 7, 0, begin - 7);
    bytes[8] = (char)(length & 255);
    bytes[9] = (char)(length >> 8);
    memcpy(bytes + begin, text, length);
    return (int64_t)(begin + length);
}

static const char *parse(const char *text, rung_type as, rungi_npy *npy)
{
    char bytes[512];
    return rungi_npy_parse(bytes, header_of(text, 1, bytes), as, npy);
}

static void headers_are_read(void **state)
{
    static const struct {
        const char *text;
        rungi_npy npy;
    } good[] = {
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n", {RUNG_F32, 3, 4, false, 0}},
        {"{'shape': (3, 4), 'fortran_order': True, 'descr': '<f8'}", {RUNG_F64, 3, 4, true, 0}},
        {"{\"descr\":\"|i1\",\"fortran_order\":False,\"shape\":(0,70000,)}", {RUNG_I8, 0, 70000, false, 0}},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1)}\n", {RUNG_F16, 1, 1, false, 0}},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (9223372036854775807, 1)}",
         {RUNG_I32, INT64_MAX, 1, false, 0}},
    };
    rungi_npy npy;
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        for (int version = 1; version <= 3; version++) {
            char bytes[512];
            int64_t count = header_of(good[i].text, version, bytes);
            const char *wrong = rungi_npy_parse(bytes, count, RUNG_TYPE_NONE, &npy);
            if (wrong)
                fail_msg("%s %s", good[i].text, wrong);
            assert_int_equal(npy.type, good[i].npy.type);
            assert_true(npy.rows == good[i].npy.rows && npy.cols == good[i].npy.cols);
            assert_int_equal(npy.is_column_major, good[i].npy.is_column_major);
            assert_int_equal(npy.data_offset, count);
            for (int64_t cut = 0; cut < count; cut++)
                assert_non_null(rungi_npy_parse(bytes, cut, RUNG_TYPE_NONE, &npy));
        }
}

static void invalid_headers_are_rejected(void **state)
{
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (3, 4), }", "big-endian"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3, 4), }", "type"},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3, 4), }", "structured"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4, 5), }", "two dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "two dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "two dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, -4), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (03, 4), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808, 1), }", "tuple"},
        {"{'descr': '<f4', 'fortran_order': 1, 'shape': (3, 4), }", "neither"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", "repeated"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), 'more': 1}", "unknown"},
        {"{'descr': '<f4', 'shape': (3, 4), }", "lacks"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } x", "after"},
        {"['descr']", "dictionary"},
        {"{'descr' '<f4'}", "dictionary"},
        {"{'descr': '<V2', 'fortran_order': False, 'shape': (3, 4), }", "bf16"},
        {"", "dictionary"},
    };
    rungi_npy npy;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *wrong = parse(bad[i].text, RUNG_TYPE_NONE, &npy);
        if (!wrong || !strstr(wrong, bad[i].reason))
            fail_msg("%s: %s, not %s", bad[i].text, wrong ? wrong : "taken", bad[i].reason);
    }
    assert_null(parse("{'descr': '|V2', 'fortran_order': False, 'shape': (3, 4), }", RUNG_BF16, &npy));
    assert_int_equal(npy.type, RUNG_BF16);
    assert_non_null(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", RUNG_F64, &npy));
    char bytes[512];
    int64_t count = header_of("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }", 1, bytes);
    bytes[6] = 4;
    assert_non_null(strstr(rungi_npy_parse(bytes, count, RUNG_TYPE_NONE, &npy), "version"));
    bytes[6] = 2;
    bytes[11] = 1; /* 16 MiB of header */
    assert_non_null(strstr(rungi_npy_parse(bytes, count, RUNG_TYPE_NONE, &npy), "64 KiB"));
}

static void written_headers_are_read(void **state)
{
    char header[RUNGI_NPY_HEADER_BYTES];
    rungi_npy npy;
    (void)state;
    for (int type = RUNG_F32; type <= RUNG_I32; type++) {
        rungi_npy_write((rung_type)type, INT64_MAX, INT64_MAX - type, header);
        assert_null(rungi_npy_parse(header, sizeof header, (rung_type)type, &npy));
        assert_int_equal(npy.type, type);
        assert_true(npy.rows == INT64_MAX && npy.cols == INT64_MAX - type && !npy.is_column_major);
        assert_int_equal(npy.data_offset, RUNGI_NPY_HEADER_BYTES);
        assert_int_equal(header[RUNGI_NPY_HEADER_BYTES - 1], '\n');
    }
}

/* ---- Journals --------------------------------------------------------------------------------------------- */

enum { TEXT = 4096 };

static void add(char *text, const char *line)
{
    char whole[RUNGI_JOURNAL_LINE_BYTES];
    assert_true(rungi_journal_format_line(whole, "%s", line) > 0);
    assert_true(strlen(text) + strlen(whole) < TEXT);
    strcat(text, whole);
}

typedef struct journal_blocks {
    int count;
    int64_t blocks[16];
} journal_blocks_t;

static bool add_block(void *user, const rung_outofcore_blocking *blocking, int64_t block)
{
    journal_blocks_t *seen = user;
    assert_int_equal(blocking->block_rows, 512);
    if (block > 99)
        return false;
    seen->blocks[seen->count++] = block;
    return true;
}

static void make_journal(char *head, char *text)
{
    head[0] = '\0';
    add(head, "rung-multiply 1");
    add(head, "problem f32, 5 6 7");
    add(head, "a 1 2 3");
    add(head, "b 4 5 6");
    strcpy(text, head);
    add(text, "cut 512 256 64 1000000");
    add(text, "block 3");
    add(text, "block 14");
}

static void journals_are_read(void **state)
{
    char head[TEXT], text[TEXT];
    rungi_journal journal;
    journal_blocks_t seen = {0};
    (void)state;
    make_journal(head, text);
    assert_int_equal(rungi_journal_parse(text, (int64_t)strlen(text), head, &journal, add_block, &seen),
                     RUNGI_JOURNAL_MATCHES);
    assert_int_equal(seen.count, 2);
    assert_true(seen.blocks[0] == 3 && seen.blocks[1] == 14);
    assert_true(journal.blocking.block_rows == 512 && journal.blocking.block_cols == 256 &&
                journal.blocking.panel_depth == 64);
    assert_int_equal(journal.valid_bytes, strlen(text));
}

/* Cut off anywhere, it says less and nothing else; with one byte changed, it says less or is refused. */
static void torn_and_damaged_journals(void **state)
{
    char head[TEXT], text[TEXT];
    rungi_journal journal;
    (void)state;
    make_journal(head, text);
    size_t bytes = strlen(text);
    for (size_t cut = 0; cut < bytes; cut++) {
        journal_blocks_t seen = {0};
        assert_int_equal(rungi_journal_parse(text, (int64_t)cut, head, &journal, add_block, &seen),
                         RUNGI_JOURNAL_MATCHES);
        assert_true(seen.count < 2 && journal.valid_bytes <= (int64_t)cut);
        assert_true(seen.count == 0 || seen.blocks[0] == 3);
    }
    for (size_t i = 0; i < bytes; i++) {
        journal_blocks_t seen = {0};
        text[i] ^= 1;
        rungi_journal_match kind = rungi_journal_parse(text, (int64_t)bytes, head, &journal, add_block, &seen);
        assert_true(kind != RUNGI_JOURNAL_MATCHES || seen.count < 2);
        for (int j = 0; j < seen.count; j++)
            assert_true(seen.blocks[j] == 3 || seen.blocks[j] == 14);
        text[i] ^= 1;
    }
}

/* A power cut may leave a head of the right length with nothing in it: nothing was done. */
static void truncated_heads(void **state)
{
    char head[TEXT], text[TEXT];
    rungi_journal journal;
    journal_blocks_t seen = {0};
    (void)state;
    make_journal(head, text);
    size_t bytes = strlen(text), first = (size_t)(strchr(text, '\n') + 1 - text);
    memset(text + first, 0, bytes - first);
    assert_int_equal(rungi_journal_parse(text, (int64_t)bytes, head, &journal, add_block, &seen),
                     RUNGI_JOURNAL_MATCHES);
    assert_true(seen.count == 0 && journal.valid_bytes == 0);
    assert_true(rungi_journal_has_signature(text, (int64_t)bytes));
    memset(text, 0, bytes); /* this may be anybody's */
    assert_int_equal(rungi_journal_parse(text, (int64_t)bytes, head, &journal, add_block, &seen),
                     RUNGI_JOURNAL_UNKNOWN_VERSION);
    assert_false(rungi_journal_has_signature(text, (int64_t)bytes));
}

static void journals_of_other_problems(void **state)
{
    char head[TEXT], text[TEXT], other[TEXT] = "";
    rungi_journal journal;
    journal_blocks_t seen = {0};
    (void)state;
    make_journal(head, text);
    add(other, "rung-multiply 1");
    add(other, "problem f32, 5 6 8");
    rungi_journal_match kind = rungi_journal_parse(other, (int64_t)strlen(other), head, &journal, add_block, &seen);
    assert_int_equal(kind, RUNGI_JOURNAL_DIFFERENT_PROBLEM);
    other[0] = '\0';
    add(other, "rung-multiply 1");
    add(other, "problem f32, 5 6 7");
    add(other, "a 1 2 3");
    add(other, "b 4 5 7");
    kind = rungi_journal_parse(other, (int64_t)strlen(other), head, &journal, add_block, &seen);
    assert_int_equal(kind, RUNGI_JOURNAL_B_CHANGED);
    other[0] = '\0';
    add(other, "rung-multiply 7");
    kind = rungi_journal_parse(other, (int64_t)strlen(other), head, &journal, add_block, &seen);
    assert_int_equal(kind, RUNGI_JOURNAL_UNKNOWN_VERSION);
    assert_true(rungi_journal_has_signature(other, (int64_t)strlen(other)));
    kind = rungi_journal_parse("hello\n", 6, head, &journal, add_block, &seen);
    assert_int_equal(kind, RUNGI_JOURNAL_UNKNOWN_VERSION);
    assert_false(rungi_journal_has_signature("hello\n", 6) || rungi_journal_has_signature("", 0));
    static const char *const lines[] = {"block 100", "block",       "block -1", "block 1 2",
                                        "block 07",  "cut 1 1 1 1", "blocks 1", "block 9223372036854775808"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        make_journal(head, text);
        add(text, lines[i]);
        kind = rungi_journal_parse(text, (int64_t)strlen(text), head, &journal, add_block, &seen);
        assert_int_equal(kind, RUNGI_JOURNAL_DAMAGED);
        seen.count = 0;
    }
}

/* ---- Samples ------------------------------------------------------------------------------------------------ */

/* A change of as many bytes as lie between two samples, wherever it is, changes the hash. */
static void fingerprint_samples_are_spread(void **state)
{
    enum { SIZE = 100000, REGION = SIZE / 63 };
    static const char zeros[REGION];
    char region[REGION];
    uint64_t before, after;
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    int number = fileno(file);
    assert_int_equal(rungi_outofcore_file_fingerprint(number, &before), RUNG_OK); /* empty */
    assert_int_equal(ftruncate(number, 1), 0);
    assert_int_equal(rungi_outofcore_file_fingerprint(number, &after), RUNG_OK);
    assert_true(before != after);
    assert_int_equal(ftruncate(number, SIZE), 0);
    assert_int_equal(rungi_outofcore_file_fingerprint(number, &before), RUNG_OK);
    memset(region, 1, sizeof region);
    for (off_t at = 0; at + REGION <= SIZE; at += 97) {
        assert_int_equal(pwrite(number, region, REGION, at), REGION);
        assert_int_equal(rungi_outofcore_file_fingerprint(number, &after), RUNG_OK);
        assert_true(before != after);
        assert_int_equal(pwrite(number, zeros, REGION, at), REGION);
    }
    assert_int_equal(rungi_outofcore_file_fingerprint(number, &after), RUNG_OK);
    assert_true(before == after);
    fclose(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_are_read),          cmocka_unit_test(invalid_headers_are_rejected),
        cmocka_unit_test(written_headers_are_read),  cmocka_unit_test(journals_are_read),
        cmocka_unit_test(torn_and_damaged_journals), cmocka_unit_test(journals_of_other_problems),
        cmocka_unit_test(truncated_heads),           cmocka_unit_test(fingerprint_samples_are_spread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
