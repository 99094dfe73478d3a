/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.c - checks the reader of safetensors and its JSON parser: what valid files contain, and that damaged files are
 * rejected with the reason. */
#include "weights/weights_unit.h"

#include "weights/json_text.h"

/* Builds a file with this header and `bytes` bytes of data. */
static void build(built_file_t *file, const char *header, int64_t bytes)
{
    file->count = 0;
    put_number(file, strlen(header), 8);
    put_bytes(file, header, strlen(header));
    for (int64_t i = 0; i < bytes; i++)
        put_number(file, (uint64_t)i, 1);
}

#define TENSOR(name, type, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" #begin "," #end "]}"

/* ---- Valid files -------------------------------------------------------------------------------------------- */

static void tensors_are_views(void **state)
{
    built_file_t file;
    (void)state;
    build(&file,
          "{\"__metadata__\":{\"format\":\"pt\",\"x\":\"\\u0000\"}, " TENSOR("b", "BF16", "2,3", 24, 36) ",\n" TENSOR(
              "a", "F32", "2,3", 0, 24) "}     ",
          36);
    rung_weights *weights = parse_valid(&file);
    assert_int_equal(rung_weights_count(weights), 2);
    const rung_weights_tensor *b = rung_weights_at(weights, 0), *a = rung_weights_find(weights, "a");
    assert_ptr_equal(rung_weights_at(weights, 1), a);
    assert_string_equal(b->name, "b");
    assert_string_equal(b->type_name, "BF16");
    assert_true(a->dimension_count == 2 && a->dimensions[0] == 2 && a->dimensions[1] == 3);
    assert_memory_equal(a->data, file.bytes + file.count - 36, 24);
    assert_memory_equal(b->data, file.bytes + file.count - 12, 12);
    assert_true(a->data_bytes == 24 && b->data_bytes == 12);
    rung_weights_close(weights);
}

static void every_type_is_listed(void **state)
{
    static const struct {
        const char *name;
        rung_type type;
        int64_t bytes; /* of 8 elements */
    } types[] = {{"F32", RUNG_F32, 32},       {"F64", RUNG_F64, 64},       {"F16", RUNG_F16, 16},
                 {"BF16", RUNG_BF16, 16},     {"I8", RUNG_I8, 8},          {"U8", RUNG_U8, 8},
                 {"I32", RUNG_I32, 32},       {"F8_E4M3", RUNG_F8E4M3, 8}, {"F8_E5M2", RUNG_F8E5M2, 8},
                 {"F8_E8M0", RUNG_E8M0, 8},   {"BOOL", RUNG_TYPE_NONE, 8}, {"I64", RUNG_TYPE_NONE, 64},
                 {"I16", RUNG_TYPE_NONE, 16}, {"F4", RUNG_TYPE_NONE, 4},   {"F6_E2M3", RUNG_TYPE_NONE, 6},
                 {"C64", RUNG_TYPE_NONE, 64}, {"NEW", RUNG_TYPE_NONE, 5}};
    built_file_t file;
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (int64_t wrong = 0; wrong < 2; wrong++) {
            char header[256];
            int64_t bytes = types[i].bytes + wrong;
            snprintf(header, sizeof header, "{\"w\":{\"shape\":[2,4],\"data_offsets\":[0,%lld],\"dtype\":\"%s\"}}",
                     (long long)bytes, types[i].name);
            while ((strlen(header) + 8) % 8 != 0) /* the data begin at a multiple of 8 bytes */
                strcat(header, " ");
            build(&file, header, bytes);
            if (wrong && strcmp(types[i].name, "NEW") != 0) {
                assert_rejected(&file, RUNG_STATUS_INVALID, "does not match its shape");
                continue;
            }
            rung_weights *weights = parse_valid(&file);
            const rung_weights_tensor *tensor = rung_weights_at(weights, 0);
            assert_string_equal(tensor->type_name, types[i].name);
            assert_int_equal(tensor->view.type, types[i].type);
            assert_true(types[i].type == RUNG_TYPE_NONE || (tensor->view.rows == 2 && tensor->view.cols == 4));
            rung_weights_close(weights);
        }
}

static void shapes_of_any_rank_are_read(void **state)
{
    static const struct {
        const char *header;
        int64_t count, rows, cols;
    } shapes[] = {{"{" TENSOR("w", "I8", "", 0, 1) "}", 0, 1, 1},
                  {"{" TENSOR("w", "I8", "5", 0, 5) "}", 1, 1, 5},
                  {"{" TENSOR("w", "I8", "2,3,4", 0, 24) "}", 3, 6, 4},
                  {"{" TENSOR("w", "I8", "1,1,1,1,1,1,2,3", 0, 6) "}", 8, 2, 3},
                  {"{" TENSOR("w", "I8", "7,0", 0, 0) "}", 2, 7, 0}};
    built_file_t file;
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        build(&file, shapes[i].header, shapes[i].rows * shapes[i].cols);
        rung_weights *weights = parse_valid(&file);
        const rung_weights_tensor *tensor = rung_weights_at(weights, 0);
        assert_int_equal(tensor->dimension_count, shapes[i].count);
        assert_true(tensor->view.rows == shapes[i].rows && tensor->view.cols == shapes[i].cols);
        rung_weights_close(weights);
    }
    build(&file, "{" TENSOR("w", "I8", "1,1,1,1,1,1,1,1,1", 0, 1) "}", 1);
    assert_rejected(&file, RUNG_STATUS_TOO_LARGE, "more than 8");
}

static void names_are_unescaped(void **state)
{
    built_file_t file;
    (void)state;
    build(&file, "{" TENSOR("\\u0061\\/\\\"\\u00e9\\u20ac\\ud83d\\ude00", "I8", "1", 0, 1) "}", 1);
    rung_weights *weights = parse_valid(&file);
    assert_string_equal(rung_weights_at(weights, 0)->name, "a/\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    rung_weights_close(weights);
}

static void misaligned_data_have_no_view(void **state)
{
    built_file_t file;
    (void)state;
    build(&file, "{" TENSOR("x", "I8", "1", 0, 1) "," TENSOR("y", "F32", "1", 1, 5) "}", 5);
    rung_weights *weights = parse_valid(&file);
    uintptr_t address = (uintptr_t)rung_weights_find(weights, "y")->data;
    assert_int_equal(rung_weights_find(weights, "y")->view.type, address % 4 == 0 ? RUNG_F32 : RUNG_TYPE_NONE);
    rung_weights_close(weights);
}

/* ---- Damaged files ------------------------------------------------------------------------------------------ */

static void truncated_files_are_rejected(void **state)
{
    built_file_t file;
    (void)state;
    build(&file, "{" TENSOR("w", "F32", "2,3", 0, 24) "}", 24);
    assert_prefixes_rejected(&file);
    put_number(&file, 0, 1);
    assert_rejected(&file, RUNG_STATUS_INVALID, "1 bytes at its end belong to no tensor");
}

static void wrong_header_sizes_are_rejected(void **state)
{
    static const uint64_t sizes[] = {100000001, (uint64_t)1 << 63, UINT64_MAX, UINT64_MAX - 7};
    built_file_t file;
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        file.count = 0;
        put_number(&file, sizes[i], 8);
        put_bytes(&file, "{}", 2);
        assert_rejected(&file, RUNG_STATUS_TOO_LARGE, "the maximum is 100000000");
    }
    file.count = 0;
    put_number(&file, 3, 8);
    put_bytes(&file, "{}", 2);
    assert_rejected(&file, RUNG_STATUS_INVALID, "ends within its header");
    file.count = 0;
    put_number(&file, 0, 8);
    put_bytes(&file, "{}", 2);
    assert_rejected(&file, RUNG_STATUS_INVALID, "byte 0 of its header");
}

static void wrong_offsets_are_rejected(void **state)
{
    static const struct {
        const char *header, *text;
    } files[] = {
        {"{" TENSOR("w", "F32", "6", 0, 28) "}", "offsets 0 to 28"},
        {"{" TENSOR("w", "F32", "6", 8, 32) "}", "offsets 8 to 32"},
        {"{" TENSOR("w", "F32", "6", 24, 0) "}", "offsets 24 to 0"},
        {"{" TENSOR("w", "F32", "6", 0, 9223372036854775807) "}", "offsets 0 to 9223372036854775807"},
        {"{" TENSOR("w", "F32", "6", 0, 9223372036854775808) "}", "a size"},
        {"{" TENSOR("w", "F32", "6", 0, 18446744073709551640) "}", "a size"}, /* 24 in 64 bits */
        {"{" TENSOR("w", "F32", "6", -4, 24) "}", "a size"},
        {"{" TENSOR("w", "F32", "5", 0, 24) "}", "does not match its shape"},
        {"{" TENSOR("w", "F32", "5", 4, 24) "}", "4 bytes before"},
        {"{" TENSOR("w", "F32", "5", 0, 20) "}", "4 bytes at its end"},
        {"{" TENSOR("x", "F32", "3", 0, 12) "," TENSOR("y", "F32", "4", 8, 24) "}", "overlap"},
        {"{" TENSOR("y", "F32", "4", 8, 24) "," TENSOR("x", "F32", "3", 0, 12) "}", "overlap"},
        {"{" TENSOR("x", "F32", "2", 0, 8) "," TENSOR("y", "F32", "2", 16, 24) "}", "8 bytes before"},
        {"{" TENSOR("w", "F32", "4294967296,4294967296,4", 0, 0) "}", "does not match its shape"}, /* 0 in 64 bits */
        {"{" TENSOR("w", "F32", "4611686018427387904", 0, 24) "}", "does not match its shape"},
        {"{" TENSOR("w", "NEW", "4294967296,4294967296", 0, 24) "}", "does not match its shape"},
        {"{" TENSOR("w", "F32", "3", 0, 12) "," TENSOR("w", "F32", "3", 12, 24) "}", "two tensors with the name w"},
        {"{" TENSOR("w", "F32", "3", 0, 12) "," TENSOR("\\u0077", "F32", "3", 12, 24) "}", "two tensors"},
        {"{" TENSOR("w\\u0000", "F32", "6", 0, 24) "}", "control character 0"},
        {"{" TENSOR("__metadata__\\u0000", "F32", "6", 0, 24) "}", "control character 0"},
    };
    built_file_t file;
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        build(&file, files[i].header, 24);
        assert_rejected(&file, RUNG_STATUS_INVALID, files[i].text);
    }
}

static void malformed_headers_are_rejected(void **state)
{
    static const char *const headers[] = {
        "{",
        "{}x",
        "{}\n",
        "{,}",
        "{\"w\"}",
        "{\"w\":}",
        "{\"w\":{}}",
        "{\"w\":[]}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":[]}}",
        "{\"w\":{\"dtype\":\"I8\",\"data_offsets\":[0,0]}}",
        "{\"w\":{\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0]}}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0,0]}}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":[0],\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"w\":{\"dtype\":7,\"shape\":[0],\"data_offsets\":[0,0]}}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":0,\"data_offsets\":[0,0]}}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":[00],\"data_offsets\":[0,0]}}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":[0.0],\"data_offsets\":[0,0]}}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":[0,],\"data_offsets\":[0,0]}}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":[0] \"data_offsets\":[0,0]}}",
        "{\"w\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[0,0]},}",
        "{" TENSOR("w", "A type with a name that is much too long", "0", 0, 0) "}",
        "{" TENSOR("\\ud83d", "I8", "0", 0, 0) "}",
        "{" TENSOR("\\ude00", "I8", "0", 0, 0) "}",
        "{" TENSOR("\\x", "I8", "0", 0, 0) "}",
        "{" TENSOR("\t", "I8", "0", 0, 0) "}",
        "{\"__metadata__\":[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]}",
        "{\"__metadata__\":{\"x\":}}",
    };
    built_file_t file;
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        rung_weights *weights;
        build(&file, headers[i], 0);
        if (parse_file(&file, file.count, &weights) == RUNG_OK)
            fail_msg("accepted: %s", headers[i]);
        assert_true(strlen(rung_error_text()) > 20);
    }
    build(&file, "{}", 0);
    rung_weights_close(parse_valid(&file));
}

static void long_names_are_rejected(void **state)
{
    static char header[RUNGI_WEIGHTS_NAME_MAX + 100];
    static built_file_t file;
    (void)state;
    for (int length = RUNGI_WEIGHTS_NAME_MAX; length <= RUNGI_WEIGHTS_NAME_MAX + 1; length++) {
        memset(header, 'n', sizeof header);
        memcpy(header, "{\"", 2);
        strcpy(header + 2 + length, "\":{\"dtype\":\"I8\",\"shape\":[],\"data_offsets\":[0,1]}}");
        build(&file, header, 1);
        if (length == RUNGI_WEIGHTS_NAME_MAX)
            rung_weights_close(parse_valid(&file));
        else
            assert_rejected(&file, RUNG_STATUS_INVALID, "at most 4096 bytes");
    }
}

/* ---- JSON --------------------------------------------------------------------------------------------------- */

static void values_are_skipped(void **state)
{
    static const char *const valid[] = {"0",
                                        "-1",
                                        "12.5e-3",
                                        "1E+9",
                                        "true",
                                        "false",
                                        "null",
                                        "\"a\\n\\u00e9\"",
                                        "[]",
                                        "{}",
                                        " [1, {\"a\": [true]}, \"x\"]",
                                        "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]"};
    static const char *const invalid[] = {"",   "-",    "01",    "1.", ".5",        "1e",      "tru", "nul", "\"a",
                                          "[1", "[1,]", "{1:2}", "[}", "{\"a\" 1}", "\"\\q\"", "+1",  "'a'"};
    (void)state;
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++) {
        rungi_json_text text = {valid[i], valid[i] + strlen(valid[i])};
        if (!rungi_json_skip(&text) || text.at != text.end)
            fail_msg("not skipped: %s", valid[i]);
    }
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++) {
        rungi_json_text text = {invalid[i], invalid[i] + strlen(invalid[i])};
        if (rungi_json_skip(&text) && text.at == text.end)
            fail_msg("skipped: %s", invalid[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_views),
        cmocka_unit_test(every_type_is_listed),
        cmocka_unit_test(shapes_of_any_rank_are_read),
        cmocka_unit_test(names_are_unescaped),
        cmocka_unit_test(misaligned_data_have_no_view),
        cmocka_unit_test(truncated_files_are_rejected),
        cmocka_unit_test(wrong_header_sizes_are_rejected),
        cmocka_unit_test(wrong_offsets_are_rejected),
        cmocka_unit_test(malformed_headers_are_rejected),
        cmocka_unit_test(long_names_are_rejected),
        cmocka_unit_test(values_are_skipped),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
