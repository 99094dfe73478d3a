/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - checks the writer of GGUF: what it writes is read back, quantized matrices included, and a file is complete or
 * absent. */
#include "support/unit.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rung/weights.h"

static char folder[] = "/tmp/rung-writer-XXXXXX";
static char path[64]; /* w.gguf in it */

static bool file_exists(void)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* Returns the number of files in the folder, temporary ones included. */
static int count_files(void)
{
    DIR *opened = opendir(folder);
    int count = -2; /* without "." and ".." */
    assert_non_null(opened);
    while (readdir(opened))
        count++;
    closedir(opened);
    return count;
}

static rung_weights_writer *create(void)
{
    rung_weights_writer *writer;
    assert_int_equal(rung_weights_writer_create(path, &writer), RUNG_OK);
    return writer;
}

static void add(rung_weights_writer *writer, const char *name, rung_type type, int64_t rows, int64_t cols)
{
    if (rung_weights_writer_add(writer, name, type, 2, (const int64_t[]){rows, cols}) != RUNG_OK)
        fail_msg("%s", rung_error_text());
}

static void assert_add_rejected(rung_weights_writer *writer, const char *name, rung_type type, int64_t count,
                                const int64_t *dimensions, rung_status expected, const char *text)
{
    rung_status status = rung_weights_writer_add(writer, name, type, count, dimensions);
    if (status != expected || !strstr(rung_error_text(), text))
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
}

/* ---- Round trips -------------------------------------------------------------------------------------------- */

static void every_type_comes_back(void **state)
{
    static const rung_type types[] = {RUNG_F32, RUNG_F64, RUNG_F16, RUNG_BF16, RUNG_I8, RUNG_I32, RUNG_Q8_0, RUNG_Q4_0};
    enum { TYPES = sizeof types / sizeof *types, ROWS = 3, COLS = 64 };
    uint8_t data[ROWS * COLS * 8];
    rung_weights *weights;
    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7);
    rung_weights_writer *writer = create();
    for (int i = 0; i < TYPES; i++)
        add(writer, rung_type_name(types[i]), types[i], ROWS, COLS);
    for (int i = 0; i < TYPES; i++) {
        int64_t bytes = ROWS * COLS / rung_type_block_elements(types[i]) * rung_type_block_bytes(types[i]);
        assert_int_equal(rung_weights_writer_write(writer, data, 5), RUNG_OK); /* in pieces */
        assert_int_equal(rung_weights_writer_write(writer, data + 5, bytes - 5), RUNG_OK);
    }
    assert_false(file_exists());
    assert_int_equal(rung_weights_writer_commit(writer), RUNG_OK);
    rung_weights_writer_destroy(writer);
    assert_int_equal(rung_weights_open(path, &weights), RUNG_OK);
    assert_int_equal(rung_weights_count(weights), TYPES);
    for (int i = 0; i < TYPES; i++) {
        const rung_weights_tensor *tensor = rung_weights_at(weights, i);
        assert_string_equal(tensor->name, rung_type_name(types[i]));
        assert_int_equal(tensor->view.type, types[i]);
        assert_true(tensor->view.rows == ROWS && tensor->view.cols == COLS);
        assert_true(tensor->dimensions[0] == ROWS && tensor->dimensions[1] == COLS);
        assert_memory_equal(tensor->data, data, (size_t)tensor->data_bytes);
    }
    rung_weights_close(weights);
    assert_int_equal(unlink(path), 0);
}

static void quantized_matrices_come_back(void **state)
{
    enum { ROWS = 5, COLS = 96 };
    float values[ROWS * COLS], back[ROWS * COLS];
    uint8_t blocks[ROWS * COLS / 32 * 34];
    uint64_t seed = 1;
    rung_weights *weights;
    (void)state;
    for (int i = 0; i < ROWS * COLS; i++)
        values[i] = (float)unit_random(&seed, 2001) / 1000 - 1;
    for (int q4 = 0; q4 < 2; q4++) {
        rung_type type = q4 ? RUNG_Q4_0 : RUNG_Q8_0;
        int64_t bytes = ROWS * COLS / 32 * rung_type_block_bytes(type);
        assert_int_equal(
            rung_quantize(rung_matrix_of(RUNG_F32, ROWS, COLS, values), rung_matrix_of(type, ROWS, COLS, blocks), NULL),
            RUNG_OK);
        rung_weights_writer *writer = create();
        add(writer, "w", type, ROWS, COLS);
        assert_int_equal(rung_weights_writer_write(writer, blocks, bytes), RUNG_OK);
        assert_int_equal(rung_weights_writer_commit(writer), RUNG_OK);
        rung_weights_writer_destroy(writer);
        assert_int_equal(rung_weights_open(path, &weights), RUNG_OK);
        const rung_weights_tensor *tensor = rung_weights_find(weights, "w");
        assert_int_equal(rung_dequantize(tensor->view, NULL, rung_matrix_of(RUNG_F32, ROWS, COLS, back)), RUNG_OK);
        for (int i = 0; i < ROWS * COLS; i++)
            assert_true(fabsf(back[i] - values[i]) < (q4 ? 0.13f : 0.0045f));
        rung_weights_close(weights);
    }
    assert_int_equal(unlink(path), 0);
}

static void empty_files_and_tensors_are_written(void **state)
{
    rung_weights *weights;
    (void)state;
    rung_weights_writer *writer = create();
    assert_int_equal(rung_weights_writer_commit(writer), RUNG_OK);
    rung_weights_writer_destroy(writer);
    assert_int_equal(rung_weights_open(path, &weights), RUNG_OK);
    assert_int_equal(rung_weights_count(weights), 0);
    rung_weights_close(weights);
    writer = create();
    add(writer, "empty", RUNG_F32, 0, 3);
    add(writer, "one", RUNG_F32, 1, 1);
    add(writer, "none", RUNG_Q4_0, 3, 0);
    assert_int_equal(rung_weights_writer_write(writer, &(float){2}, 4), RUNG_OK);
    assert_int_equal(rung_weights_writer_commit(writer), RUNG_OK);
    rung_weights_writer_destroy(writer);
    assert_int_equal(rung_weights_open(path, &weights), RUNG_OK);
    assert_true(*(const float *)rung_weights_find(weights, "one")->data == 2);
    rung_weights_close(weights);
    assert_int_equal(unlink(path), 0);
}

/* ---- Failures ----------------------------------------------------------------------------------------------- */

static void wrong_tensors_are_rejected(void **state)
{
    static const char name_of_64[] = "0123456789012345678901234567890123456789012345678901234567890123";
    const int64_t dimensions[] = {2, 3}, negative[] = {-1, 3}, huge[] = {INT64_MAX, 3}, large[] = {INT64_MAX / 16, 2};
    (void)state;
    rung_weights_writer *writer = create();
    add(writer, "w", RUNG_F32, 1, 1);
    assert_add_rejected(writer, "w", RUNG_F32, 2, dimensions, RUNG_STATUS_INVALID, "names must be unique");
    assert_add_rejected(writer, "", RUNG_F32, 2, dimensions, RUNG_STATUS_INVALID, "0 bytes");
    assert_add_rejected(writer, NULL, RUNG_F32, 2, dimensions, RUNG_STATUS_INVALID, "0 bytes");
    assert_add_rejected(writer, name_of_64, RUNG_F32, 2, dimensions, RUNG_STATUS_INVALID, "64 bytes");
    assert_add_rejected(writer, "x", RUNG_F8E4M3, 2, dimensions, RUNG_STATUS_UNSUPPORTED, "f8e4m3");
    assert_add_rejected(writer, "x", RUNG_TYPE_NONE, 2, dimensions, RUNG_STATUS_UNSUPPORTED, "none");
    assert_add_rejected(writer, "x", RUNG_F32, 0, dimensions, RUNG_STATUS_INVALID, "0 dimensions");
    assert_add_rejected(writer, "x", RUNG_F32, 5, dimensions, RUNG_STATUS_INVALID, "5 dimensions");
    assert_add_rejected(writer, "x", RUNG_F32, 2, negative, RUNG_STATUS_INVALID, "-1");
    assert_add_rejected(writer, "x", RUNG_Q8_0, 2, dimensions, RUNG_STATUS_INVALID, "multiple of 32");
    assert_add_rejected(writer, "x", RUNG_F32, 2, huge, RUNG_STATUS_TOO_LARGE, "overflows");
    for (int i = 0; i < 7; i++)
        assert_int_equal(rung_weights_writer_add(writer, &"1234567"[i], RUNG_I8, 2, large), RUNG_OK);
    assert_add_rejected(writer, "x", RUNG_I8, 2, large, RUNG_STATUS_TOO_LARGE, "w.gguf overflows");
    rung_weights_writer_destroy(writer);
    assert_int_equal(rung_weights_writer_create(NULL, &writer), RUNG_STATUS_INVALID);
    assert_null(writer);
    rung_weights_writer_destroy(NULL);
}

static void files_are_complete_or_absent(void **state)
{
    float values[4] = {1, 2, 3, 4};
    (void)state;
    rung_weights_writer *writer = create();
    add(writer, "w", RUNG_F32, 2, 2);
    assert_int_equal(rung_weights_writer_write(writer, values, 12), RUNG_OK);
    assert_int_equal(rung_weights_writer_add(writer, "late", RUNG_F32, 1, (const int64_t[]){1}), RUNG_STATUS_INVALID);
    assert_int_equal(rung_weights_writer_commit(writer), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "lacks 4 bytes"));
    assert_int_equal(rung_weights_writer_write(writer, values, 4), RUNG_STATUS_INVALID);
    rung_weights_writer_destroy(writer);
    assert_int_equal(count_files(), 0);
    writer = create();
    add(writer, "w", RUNG_F32, 1, 2);
    assert_int_equal(rung_weights_writer_write(writer, values, 16), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "8 bytes more"));
    assert_int_equal(rung_weights_writer_commit(writer), RUNG_STATUS_INVALID);
    rung_weights_writer_destroy(writer);
    writer = create();
    assert_int_equal(rung_weights_writer_write(writer, values, -1), RUNG_STATUS_INVALID);
    assert_int_equal(rung_weights_writer_write(writer, NULL, 1), RUNG_STATUS_INVALID);
    rung_weights_writer_destroy(writer);
    assert_int_equal(count_files(), 0);
    assert_int_equal(rung_weights_writer_create("/nowhere/w.gguf", &writer), RUNG_OK);
    assert_int_equal(rung_weights_writer_commit(writer), RUNG_STATUS_IO);
    assert_non_null(strstr(rung_error_text(), "/nowhere/w.gguf"));
    rung_weights_writer_destroy(writer);
}

static void missing_writers_are_rejected(void **state)
{
    static const int64_t dimensions[] = {1};
    rung_weights_writer *writer;
    (void)state;
    assert_int_equal(rung_weights_writer_create(path, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_weights_writer_create"));
    assert_int_equal(rung_weights_writer_create(NULL, &writer), RUNG_STATUS_INVALID);
    assert_null(writer);
    assert_int_equal(rung_weights_writer_add(NULL, "w", RUNG_F32, 1, dimensions), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_weights_writer_add"));
    assert_int_equal(rung_weights_writer_write(NULL, "data", 4), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_weights_writer_write"));
    assert_int_equal(rung_weights_writer_commit(NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_weights_writer_commit"));
    rung_weights_writer_destroy(NULL);
}

/* An open file can be replaced: its tensors stay as they are. */
static void an_open_file_can_be_replaced(void **state)
{
    rung_weights *weights = NULL;
    (void)state;
    for (int i = 0; i < 2; i++) {
        float value = (float)i;
        rung_weights_writer *writer = create();
        add(writer, "w", RUNG_F32, 1, 1);
        assert_int_equal(rung_weights_writer_write(writer, &value, 4), RUNG_OK);
        assert_int_equal(rung_weights_writer_commit(writer), RUNG_OK);
        rung_weights_writer_destroy(writer);
        if (i == 0)
            assert_int_equal(rung_weights_open(path, &weights), RUNG_OK);
    }
    assert_true(*(const float *)rung_weights_at(weights, 0)->data == 0);
    rung_weights_close(weights);
    assert_int_equal(count_files(), 1);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_comes_back),
        cmocka_unit_test(quantized_matrices_come_back),
        cmocka_unit_test(empty_files_and_tensors_are_written),
        cmocka_unit_test(wrong_tensors_are_rejected),
        cmocka_unit_test(missing_writers_are_rejected),
        cmocka_unit_test(files_are_complete_or_absent),
        cmocka_unit_test(an_open_file_can_be_replaced),
    };
    unit_clean_environment();
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/w.gguf", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
