/* SPDX-License-Identifier: Apache-2.0 */
/* gguf.c - checks the reader of GGUF: what valid files contain, and that damaged files are rejected with the reason. */
#include "weights/weights_unit.h"

#define IN_LIST "its list of tensors"

/* ---- Building files ----------------------------------------------------------------------------------------- */

enum { F32 = 0, F16 = 1, Q4_0 = 2, Q8_0 = 8, Q4_K = 12, BF16 = 30, UNKNOWN = 99 };

static void put_string(built_file_t *file, const char *text)
{
    put_number(file, strlen(text), 8);
    put_bytes(file, text, strlen(text));
}

static void begin_gguf(built_file_t *file, uint32_t version, uint64_t tensors, uint64_t pairs)
{
    file->count = 0;
    put_bytes(file, "GGUF", 4);
    put_number(file, version, 4);
    put_number(file, tensors, 8);
    put_number(file, pairs, 8);
}

static void put_u32_pair(built_file_t *file, const char *key, uint32_t value)
{
    put_string(file, key);
    put_number(file, 4, 4);
    put_number(file, value, 4);
}

/* Adds a tensor of two dimensions: `contiguous` elements per row. */
static void put_tensor(built_file_t *file, const char *name, uint64_t contiguous, uint64_t rows, uint32_t type,
                       uint64_t offset)
{
    put_string(file, name);
    put_number(file, 2, 4);
    put_number(file, contiguous, 8);
    put_number(file, rows, 8);
    put_number(file, type, 4);
    put_number(file, offset, 8);
}

static void put_data(built_file_t *file, int64_t alignment, int64_t bytes)
{
    while (file->count % alignment != 0)
        put_number(file, 0, 1);
    for (int64_t i = 0; i < bytes; i++)
        put_number(file, (uint64_t)i, 1);
}

/* Builds a file with one F32 tensor of 2 rows and 3 columns. */
static void build_simple(built_file_t *file)
{
    begin_gguf(file, 3, 1, 0);
    put_tensor(file, "w", 3, 2, F32, 0);
    put_data(file, 32, 24);
}

/* ---- Valid files -------------------------------------------------------------------------------------------- */

static void tensors_are_views(void **state)
{
    built_file_t file;
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        begin_gguf(&file, version, 4, 1);
        put_u32_pair(&file, "general.file_type", 2);
        put_tensor(&file, "f32", 3, 2, F32, 0);
        put_tensor(&file, "q8_0", 64, 2, Q8_0, 32);
        put_tensor(&file, "q4_k", 256, 1, Q4_K, 192);
        put_tensor(&file, "new", 1, 1, UNKNOWN, 352);
        put_data(&file, 32, 352);
        rung_weights *weights = parse_valid(&file);
        assert_int_equal(rung_weights_count(weights), 4);
        const rung_weights_tensor *f32 = rung_weights_find(weights, "f32"), *q8_0 = rung_weights_find(weights, "q8_0");
        assert_ptr_equal(rung_weights_at(weights, 0), f32);
        assert_ptr_equal(rung_weights_at(weights, 1), q8_0);
        assert_true(f32->dimension_count == 2 && f32->dimensions[0] == 2 && f32->dimensions[1] == 3);
        assert_true(f32->view.type == RUNG_F32 && f32->view.rows == 2 && f32->view.cols == 3);
        assert_true(f32->view.row_stride == 3 && f32->view.col_stride == 1 && f32->data_bytes == 24);
        assert_ptr_equal(f32->view.data, f32->data);
        assert_memory_equal(f32->data, file.bytes + file.count - 352, 24);
        assert_true(q8_0->view.type == RUNG_Q8_0 && q8_0->view.rows == 2 && q8_0->data_bytes == 4 * 34);
        assert_memory_equal(q8_0->data, file.bytes + file.count - 320, 136);
        assert_string_equal(rung_weights_at(weights, 2)->type_name, "Q4_K");
        assert_int_equal(rung_weights_at(weights, 2)->view.type, RUNG_TYPE_NONE);
        assert_int_equal(rung_weights_at(weights, 2)->data_bytes, 144);
        assert_string_equal(rung_weights_at(weights, 3)->type_name, "type 99");
        assert_int_equal(rung_weights_at(weights, 3)->view.type, RUNG_TYPE_NONE);
        assert_null(rung_weights_at(weights, 4));
        assert_null(rung_weights_at(weights, -1));
        assert_null(rung_weights_find(weights, "f3"));
        assert_null(rung_weights_find(weights, NULL));
        rung_weights_close(weights);
    }
    rung_weights_close(NULL);
    assert_int_equal(rung_weights_count(NULL), 0);
    assert_null(rung_weights_find(NULL, "f32"));
}

/* Rows are all dimensions but the contiguous one, which the file lists first. */
static void dimensions_are_joined_to_rows(void **state)
{
    built_file_t file;
    (void)state;
    for (uint32_t count = 0; count <= 4; count++) {
        int64_t rows = 1, elements = 1;
        begin_gguf(&file, 3, 1, 0);
        put_string(&file, "w");
        put_number(&file, count, 4);
        for (uint32_t i = 0; i < count; i++) {
            put_number(&file, i + 2, 8);
            rows *= i > 0 ? i + 2 : 1;
            elements *= i + 2;
        }
        put_number(&file, F16, 4);
        put_number(&file, 0, 8);
        put_data(&file, 32, 2 * elements);
        rung_weights *weights = parse_valid(&file);
        const rung_weights_tensor *tensor = rung_weights_at(weights, 0);
        assert_int_equal(tensor->dimension_count, count);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(tensor->dimensions[i], count + 1 - i);
        assert_true(tensor->view.rows == rows && tensor->view.cols == (count > 0 ? 2 : 1));
        rung_weights_close(weights);
    }
}

static void pairs_are_skipped(void **state)
{
    static const uint8_t value_bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    built_file_t file;
    (void)state;
    begin_gguf(&file, 3, 1, 2 * 13 + 1);
    for (uint32_t type = 0; type <= 12; type++)
        for (uint32_t in_array = 0; in_array < 2; in_array++) {
            put_string(&file, "key");
            put_number(&file, in_array || type == 9 ? 9 : type, 4);
            if (in_array || type == 9) {
                put_number(&file, type, 4);
                put_number(&file, 2, 8);
            }
            for (uint32_t i = 0; i <= in_array || (type == 9 && i < 2); i++)
                if (type == 8) {
                    put_string(&file, "text");
                } else if (type == 9) { /* an array in an array */
                    put_number(&file, 8, 4);
                    put_number(&file, 1, 8);
                    put_string(&file, "text");
                } else {
                    put_number(&file, 0, value_bytes[type]);
                }
        }
    put_u32_pair(&file, "general.alignment", 128);
    put_tensor(&file, "w", 3, 2, F32, 0);
    put_data(&file, 128, 24);
    rung_weights *weights = parse_valid(&file);
    assert_memory_equal(rung_weights_at(weights, 0)->data, file.bytes + file.count - 24, 24);
    rung_weights_close(weights);
    assert_prefixes_rejected(&file);
}

/* An alignment of 1 byte: the data begin right behind the list, and at any address. */
static void misaligned_data_have_no_view(void **state)
{
    built_file_t file = {.count = 1};
    (void)state;
    for (int padding = 0; file.count % 4 != 0; padding++) {
        begin_gguf(&file, 3, 3, 2);
        put_u32_pair(&file, "general.alignment", 1);
        put_string(&file, "padding");
        put_number(&file, 8, 4);
        put_string(&file, &"xxx"[3 - padding]);
        put_tensor(&file, "aligned", 1, 1, F32, 0);
        put_tensor(&file, "misaligned", 1, 1, F32, 5);
        put_tensor(&file, "blocks", 32, 1, Q8_0, 9);
    }
    put_data(&file, 1, 9 + 34);
    rung_weights *weights = parse_valid(&file);
    assert_int_equal(rung_weights_find(weights, "aligned")->view.type, RUNG_F32);
    assert_int_equal(rung_weights_find(weights, "misaligned")->view.type, RUNG_TYPE_NONE);
    assert_int_equal(rung_weights_find(weights, "misaligned")->data_bytes, 4);
    assert_int_equal(rung_weights_find(weights, "blocks")->view.type, RUNG_TYPE_NONE);
    rung_weights_close(weights);
}

static void empty_lists_are_valid(void **state)
{
    built_file_t file;
    (void)state;
    begin_gguf(&file, 3, 0, 0);
    rung_weights *weights = parse_valid(&file);
    assert_int_equal(rung_weights_count(weights), 0);
    assert_null(rung_weights_at(weights, 0));
    rung_weights_close(weights);
    begin_gguf(&file, 3, 1, 0);
    put_tensor(&file, "empty", 0, 7, F32, 0); /* the file ends before the data would begin */
    weights = parse_valid(&file);
    assert_true(rung_weights_at(weights, 0)->view.rows == 7 && rung_weights_at(weights, 0)->view.cols == 0);
    rung_weights_close(weights);
}

/* ---- Damaged files ------------------------------------------------------------------------------------------ */

static void truncated_files_are_rejected(void **state)
{
    built_file_t file;
    (void)state;
    build_simple(&file);
    assert_prefixes_rejected(&file);
    file.count = 0;
    assert_rejected(&file, RUNG_STATUS_INVALID, "neither");
    put_bytes(&file, "GGUG\3\0\0\0", 8);
    assert_rejected(&file, RUNG_STATUS_INVALID, "neither");
}

static void other_versions_are_rejected(void **state)
{
    built_file_t file;
    (void)state;
    static const uint32_t versions[] = {0, 1, 4, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        begin_gguf(&file, versions[i], 0, 0);
        assert_rejected(&file, RUNG_STATUS_UNSUPPORTED, "supported versions are 2 and 3");
    }
    begin_gguf(&file, 3u << 24, 0, 0);
    assert_rejected(&file, RUNG_STATUS_UNSUPPORTED, "big-endian");
}

static void wrong_counts_are_rejected(void **state)
{
    built_file_t file;
    (void)state;
    begin_gguf(&file, 3, UINT64_MAX, 0);
    assert_rejected(&file, RUNG_STATUS_INVALID, "18446744073709551615");
    begin_gguf(&file, 3, RUNGI_WEIGHTS_TENSORS_MAX + 1, 0);
    assert_rejected(&file, RUNG_STATUS_TOO_LARGE, "the maximum is 1048576");
    begin_gguf(&file, 3, RUNGI_WEIGHTS_TENSORS_MAX, 0);
    assert_rejected(&file, RUNG_STATUS_INVALID, "ends within " IN_LIST);
    begin_gguf(&file, 3, 0, INT64_MAX);
    assert_rejected(&file, RUNG_STATUS_INVALID, "ends within its key-value pairs");
    begin_gguf(&file, 3, 0, UINT64_MAX);
    assert_rejected(&file, RUNG_STATUS_INVALID, "is damaged");
}

/* Builds a file with one pair whose value is `type` and `bytes`. */
static void build_pair(built_file_t *file, uint32_t type, const void *bytes, size_t count)
{
    begin_gguf(file, 3, 0, 1);
    put_string(file, "key");
    put_number(file, type, 4);
    put_bytes(file, bytes, count);
}

static void wrong_pairs_are_rejected(void **state)
{
    built_file_t file, array = {.count = 0};
    static const uint64_t lengths[] = {1, 1u << 31, (uint64_t)1 << 61, (uint64_t)1 << 62, INT64_MAX, UINT64_MAX};
    (void)state;
    build_pair(&file, 13, "", 0);
    assert_rejected(&file, RUNG_STATUS_INVALID, "unknown type 13");
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        build_pair(&file, 8, "", 0);
        put_number(&file, lengths[i], 8);
        assert_rejected(&file, RUNG_STATUS_INVALID, "key-value pairs");
        for (uint32_t type = 0; type <= 12; type++) {
            build_pair(&file, 9, "", 0);
            put_number(&file, type, 4);
            put_number(&file, lengths[i], 8);
            assert_rejected(&file, RUNG_STATUS_INVALID, "key-value pairs");
        }
    }
    for (int depth = 0; depth < 5; depth++) {
        put_number(&array, 9, 4);
        put_number(&array, 1, 8);
    }
    build_pair(&file, 9, array.bytes, (size_t)array.count);
    assert_rejected(&file, RUNG_STATUS_INVALID, "nested more than 4 deep");
}

static void long_keys_are_rejected(void **state)
{
    static char key[65537];
    static built_file_t file;
    (void)state;
    memset(key, 'k', sizeof key - 1);
    for (size_t length = 65535; length <= 65536; length++) {
        begin_gguf(&file, 3, 0, 1);
        put_string(&file, key + 65536 - length);
        put_number(&file, 0, 4);
        put_number(&file, 0, 1);
        if (length == 65535)
            rung_weights_close(parse_valid(&file));
        else
            assert_rejected(&file, RUNG_STATUS_TOO_LARGE, "a key of 65536 bytes");
    }
}

static void wrong_alignments_are_rejected(void **state)
{
    built_file_t file;
    (void)state;
    static const uint32_t alignments[] = {0, 3, 48, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        begin_gguf(&file, 3, 0, 1);
        put_u32_pair(&file, "general.alignment", alignments[i]);
        assert_rejected(&file, RUNG_STATUS_INVALID, "a power of two is required");
    }
    begin_gguf(&file, 3, 0, 2);
    put_u32_pair(&file, "general.alignment", 32);
    put_u32_pair(&file, "general.alignment", 64);
    assert_rejected(&file, RUNG_STATUS_INVALID, "general.alignment is repeated");
    begin_gguf(&file, 3, 0, 1);
    put_string(&file, "general.alignment");
    put_number(&file, 10, 4);
    put_number(&file, 32, 8);
    assert_rejected(&file, RUNG_STATUS_INVALID, "not an unsigned 32-bit integer");
    begin_gguf(&file, 3, 1, 1); /* data that would begin 2 GiB into the file */
    put_u32_pair(&file, "general.alignment", 0x80000000);
    put_tensor(&file, "w", 3, 2, F32, 0);
    put_data(&file, 32, 24);
    assert_rejected(&file, RUNG_STATUS_INVALID, "has 0 bytes of data");
}

static void wrong_offsets_are_rejected(void **state)
{
    built_file_t file;
    (void)state;
    static const uint64_t offsets[] = {32, 64, 1u << 31, INT64_MAX - 31};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        begin_gguf(&file, 3, 1, 0);
        put_tensor(&file, "w", 3, 2, F32, offsets[i]);
        put_data(&file, 32, 24);
        assert_rejected(&file, RUNG_STATUS_INVALID, "has 24 bytes of data");
    }
    begin_gguf(&file, 3, 1, 0);
    put_tensor(&file, "w", 3, 1, F32, 4);
    put_data(&file, 32, 24);
    assert_rejected(&file, RUNG_STATUS_INVALID, "offset 4, which is not a multiple of 32");
    begin_gguf(&file, 3, 1, 0);
    put_tensor(&file, "w", 3, 2, F32, UINT64_MAX - 31);
    put_data(&file, 32, 24);
    assert_rejected(&file, RUNG_STATUS_INVALID, "is damaged");
}

static void wrong_dimensions_are_rejected(void **state)
{
    built_file_t file;
    (void)state;
    static const uint64_t products[][2] = {
        {(uint64_t)1 << 32, (uint64_t)1 << 32}, {(uint64_t)1 << 31, (uint64_t)1 << 31}, {INT64_MAX, 1}, {1, INT64_MAX}};
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        begin_gguf(&file, 3, 1, 0);
        put_tensor(&file, "w", products[i][0], products[i][1], F32, 0);
        put_data(&file, 32, 24);
        assert_rejected(&file, RUNG_STATUS_INVALID, "overflows");
    }
    begin_gguf(&file, 3, 1, 0); /* 2^64 rows, which are 0 in 64 bits */
    put_string(&file, "w");
    put_number(&file, 3, 4);
    put_number(&file, 4, 8);
    put_number(&file, (uint64_t)1 << 32, 8);
    put_number(&file, (uint64_t)1 << 32, 8);
    put_number(&file, F32, 4);
    put_number(&file, 0, 8);
    put_data(&file, 32, 24);
    assert_rejected(&file, RUNG_STATUS_INVALID, "overflows");
    begin_gguf(&file, 3, 1, 0);
    put_tensor(&file, "w", 33, 32, Q8_0, 0);
    put_data(&file, 32, 2048);
    assert_rejected(&file, RUNG_STATUS_INVALID, "not a multiple of the blocks of Q8_0");
    begin_gguf(&file, 3, 1, 0);
    put_string(&file, "w");
    put_number(&file, 5, 4);
    for (int i = 0; i < 5; i++)
        put_number(&file, 1, 8);
    assert_rejected(&file, RUNG_STATUS_TOO_LARGE, "the maximum is 4");
}

static void overlapping_data_are_rejected(void **state)
{
    built_file_t file;
    (void)state;
    for (int order = 0; order < 2; order++) {
        begin_gguf(&file, 3, 2, 0);
        put_tensor(&file, "x", 16, 1, F32, order ? 0 : 32);
        put_tensor(&file, "y", 16, 1, F32, order ? 32 : 0);
        put_data(&file, 32, 128);
        assert_rejected(&file, RUNG_STATUS_INVALID, "overlap");
    }
}

static void wrong_names_are_rejected(void **state)
{
    static char long_name[RUNGI_WEIGHTS_NAME_MAX + 2];
    built_file_t file;
    (void)state;
    begin_gguf(&file, 3, 2, 0);
    put_tensor(&file, "w", 1, 1, F32, 0);
    put_tensor(&file, "w", 1, 1, F32, 32);
    put_data(&file, 32, 36);
    assert_rejected(&file, RUNG_STATUS_INVALID, "two tensors with the name w");
    begin_gguf(&file, 3, 1, 0);
    put_tensor(&file, "a\x1b[31m", 1, 1, F32, 0);
    put_data(&file, 32, 4);
    assert_rejected(&file, RUNG_STATUS_INVALID, "control character 27");
    begin_gguf(&file, 3, 1, 0);
    put_number(&file, 3, 8);
    put_bytes(&file, "a\0b", 3);
    put_number(&file, 0, 4);
    put_number(&file, F32, 4);
    put_number(&file, 0, 8);
    put_data(&file, 32, 4);
    assert_rejected(&file, RUNG_STATUS_INVALID, "control character 0");
    memset(long_name, 'n', RUNGI_WEIGHTS_NAME_MAX + 1);
    begin_gguf(&file, 3, 1, 0);
    put_tensor(&file, long_name, 1, 1, F32, 0);
    put_data(&file, 32, 4);
    assert_rejected(&file, RUNG_STATUS_TOO_LARGE, "the maximum is 4096");
    long_name[RUNGI_WEIGHTS_NAME_MAX] = '\0';
    begin_gguf(&file, 3, 1, 0);
    put_tensor(&file, long_name, 1, 1, F32, 0);
    put_data(&file, 32, 4);
    rung_weights *weights = parse_valid(&file);
    assert_non_null(rung_weights_find(weights, long_name));
    rung_weights_close(weights);
}

/* ---- Files -------------------------------------------------------------------------------------------------- */

static void files_are_opened(void **state)
{
    char path[] = "/tmp/rung-weights-XXXXXX";
    built_file_t file;
    rung_weights *weights;
    (void)state;
    build_simple(&file);
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0 && write(descriptor, file.bytes, (size_t)file.count) == (ssize_t)file.count);
    assert_int_equal(rung_weights_open(path, &weights), RUNG_OK);
    assert_memory_equal(rung_weights_find(weights, "w")->data, file.bytes + file.count - 24, 24);
    assert_int_equal(unlink(path), 0); /* the mapping stays */
    assert_memory_equal(rung_weights_find(weights, "w")->view.data, file.bytes + file.count - 24, 24);
    rung_weights_close(weights);
    close(descriptor);
    assert_int_equal(rung_weights_open(path, &weights), RUNG_STATUS_IO);
    assert_non_null(strstr(rung_error_text(), path));
    assert_null(weights);
    assert_int_equal(rung_weights_open("/tmp", &weights), RUNG_STATUS_IO);
    assert_int_equal(rung_weights_open("/dev/null", &weights), RUNG_STATUS_IO);
    assert_int_equal(rung_weights_open(NULL, &weights), RUNG_STATUS_INVALID);
    assert_int_equal(rung_weights_open(path, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "rung_weights_open"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_views),
        cmocka_unit_test(dimensions_are_joined_to_rows),
        cmocka_unit_test(pairs_are_skipped),
        cmocka_unit_test(misaligned_data_have_no_view),
        cmocka_unit_test(empty_lists_are_valid),
        cmocka_unit_test(truncated_files_are_rejected),
        cmocka_unit_test(other_versions_are_rejected),
        cmocka_unit_test(wrong_counts_are_rejected),
        cmocka_unit_test(wrong_pairs_are_rejected),
        cmocka_unit_test(long_keys_are_rejected),
        cmocka_unit_test(wrong_alignments_are_rejected),
        cmocka_unit_test(wrong_offsets_are_rejected),
        cmocka_unit_test(wrong_dimensions_are_rejected),
        cmocka_unit_test(overlapping_data_are_rejected),
        cmocka_unit_test(wrong_names_are_rejected),
        cmocka_unit_test(files_are_opened),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
