/* SPDX-License-Identifier: Apache-2.0 */
/* test_image.c - the reader of images: right about what NVIDIA's compiler makes, for every
 * architecture, and unharmed by whatever bytes it is given. */
#include "image.h"

#include "test_images.h"

static const int plain[] = {8, 8, 8, 4, 8, 32, 8, 32, 4, 8, 32};
static const int all[] = {8, 8, 8, 4, 8, 32, 8, 32, 4, 8, 32, 160, 8, 8, 8, 8, 8};
static image_t read;

static void assert_parameters(const image_function_t *function, const int *bytes, int count)
{
    assert_int_equal(function->parameter_count, count);
    assert_memory_equal(function->parameter_bytes, bytes, (size_t)count * sizeof *bytes);
}

/* ---- What the compiler makes ---------------------------------------------------------------------- */

static void cubins_of_all_architectures_are_read(void **state)
{
    static const int architectures[] = {60, 61, 70, 75, 80, 86, 89, 90, 100, 120};
    (void)state;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        char name[16];
        snprintf(name, sizeof name, "sm_%d", architectures[i]);
        made_image_t made = make_image("04_shared.cu", "-DTILE=16", name);
        assert_int_equal(image_elf_size(made.bytes), made.size);
        assert_int_equal(image_parse(made.bytes, made.size, &read), IMAGE_OK);
        assert_int_equal(read.architecture, architectures[i]);
        assert_false(read.is_ptx);
        assert_string_equal(read.text, "04_shared.cu -DTILE=16");
        assert_int_equal(read.function_count, 1);
        const image_function_t *function = image_find(&read, "rung_04_shared");
        assert_non_null(function);
        assert_true(function->registers >= 16 && function->registers <= 128);
        assert_int_equal(function->shared, 2 * 16 * 16 * 4);
        assert_int_equal(function->max_threads, 256);
        assert_int_equal(function->frame, 0);
        assert_parameters(function, plain, 11);
        free(made.bytes);
    }
}

static void all_arguments_are_read(void **state)
{
    static const char *const targets[] = {"sm_86", "sm_90", "compute_60", "compute_90"};
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        made_image_t made = make_image("reduce.cu", "-DIN_F16 -DOUT_F16", targets[i]);
        assert_int_equal(image_parse(made.bytes, made.size, &read), IMAGE_OK);
        assert_string_equal(read.text, "reduce.cu -DIN_F16 -DOUT_F16");
        const image_function_t *function = image_find(&read, "rung_reduce");
        assert_non_null(function);
        assert_parameters(function, all, 17);
        assert_int_equal(function->max_threads, 256);
        assert_null(image_find(&read, "rung_reduc"));
        free(made.bytes);
    }
}

static void ptx_says_the_same_as_its_cubin(void **state)
{
    made_image_t made = make_image("04_shared.cu", "-DTILE=8", "compute_75");
    (void)state;
    assert_int_equal(image_parse(made.bytes, made.size, &read), IMAGE_OK);
    assert_true(read.is_ptx);
    assert_int_equal(read.architecture, 75);
    assert_int_equal(read.ptx_version, 88);
    assert_string_equal(read.text, "04_shared.cu -DTILE=8");
    const image_function_t *function = image_find(&read, "rung_04_shared");
    assert_non_null(function);
    assert_int_equal(function->registers, 0);
    assert_int_equal(function->shared, 2 * 8 * 8 * 4);
    assert_int_equal(function->max_threads, 64);
    assert_parameters(function, plain, 11);
    free(made.bytes);
}

/* ---- Damage ------------------------------------------------------------------------------------------ */

/* In memory of just that size, so that a sanitizer sees one byte too far. */
static image_result_t parse_exactly(const char *bytes, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    image_result_t result = image_parse(copy, size, &read);
    assert_true(read.function_count <= IMAGE_FUNCTIONS);
    assert_non_null(memchr(read.text, '\0', sizeof read.text));
    for (int i = 0; i < read.function_count; i++)
        assert_true(read.functions[i].parameter_count <= IMAGE_PARAMETERS);
    free(copy);
    return result;
}

/* A cubin cut off anywhere lacks its tables, which stand at the end. */
static void truncated_images_are_rejected(void **state)
{
    made_image_t made = make_image("01_naive.cu", "", "sm_86");
    (void)state;
    assert_int_equal(parse_exactly(made.bytes, made.size), IMAGE_OK);
    uint64_t tables = 0;
    memcpy(&tables, made.bytes + 40, sizeof tables);
    for (size_t size = 4; size < made.size; size++) {
        image_result_t result = parse_exactly(made.bytes, size);
        if (size < tables + 64)
            assert_int_equal(result, IMAGE_DAMAGED);
    }
    assert_int_equal(parse_exactly(made.bytes, 0), IMAGE_BAD_PTX);
    free(made.bytes);
}

/* One byte at a time, anywhere. */
static void flip_bits(const char *target, int rounds)
{
    made_image_t made = make_image("01_naive.cu", "", target);
    uint64_t seed = 7;
    for (int i = 0; i < rounds; i++) {
        size_t at = (size_t)unit_random(&seed, (int64_t)made.size);
        char was = made.bytes[at];
        int flips = 1 + (int)unit_random(&seed, 255);
        made.bytes[at] = (char)(was ^ flips);
        parse_exactly(made.bytes, made.size);
        made.bytes[at] = was;
    }
    assert_int_equal(parse_exactly(made.bytes, made.size), IMAGE_OK);
    free(made.bytes);
}

static void flipped_bits_do_no_harm(void **state)
{
    (void)state;
    flip_bits("sm_60", 5000);
    flip_bits("sm_120", 5000);
    flip_bits("compute_60", 5000);
}

/* Many at once, in the header and in the tables, where they hurt. */
static void many_flipped_bits_do_no_harm(void **state)
{
    made_image_t made = make_image("01_naive.cu", "", "sm_90");
    char *copy = malloc(made.size);
    uint64_t tables = 0, seed = 11;
    (void)state;
    assert_non_null(copy);
    memcpy(&tables, made.bytes + 40, sizeof tables);
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, made.bytes, made.size);
        for (int j = 0; j < 3; j++) {
            bool in_head = unit_random(&seed, 8) == 0;
            size_t at = in_head ? 16 + (size_t)unit_random(&seed, 48)
                                : (size_t)tables + (size_t)unit_random(&seed, (int64_t)(made.size - tables));
            copy[at] = (char)(copy[at] ^ (1 << unit_random(&seed, 8)));
        }
        parse_exactly(copy, made.size);
    }
    free(copy);
    free(made.bytes);
}

static void truncated_ptx_is_safe(void **state)
{
    made_image_t made = make_image("01_naive.cu", "", "compute_60");
    (void)state;
    for (size_t size = 0; size < made.size; size++)
        parse_exactly(made.bytes, size);
    for (size_t size = 0; size < 200; size++)
        assert_int_equal(parse_exactly(made.bytes, size), IMAGE_BAD_PTX);
    free(made.bytes);
}

/* ---- By hand ------------------------------------------------------------------------------------------ */

static image_result_t parse_text(const char *text)
{
    return parse_exactly(text, strlen(text));
}

#define HEAD ".version 8.0\n.target sm_70\n.address_size 64\n"

static void texts_by_hand(void **state)
{
    (void)state;
    assert_int_equal(parse_text(HEAD ".visible .entry a() { ret; }"), IMAGE_OK);
    assert_int_equal(parse_text(HEAD ".visible .entry a(.param .u64 .ptr .global .align 1 x) { ret; }"), IMAGE_OK);
    assert_int_equal(read.functions[0].parameter_bytes[0], 8);
    assert_int_equal(parse_text(HEAD ".visible .entry a(.param .u64 x { ret; }"), IMAGE_BAD_PTX);
    assert_int_equal(parse_text(HEAD ".visible .entry a() { ret;"), IMAGE_BAD_PTX);
    assert_int_equal(parse_text(HEAD "// .visible .entry a() { ret; }"), IMAGE_BAD_PTX);
    assert_int_equal(parse_text(HEAD), IMAGE_BAD_PTX);
    assert_int_equal(parse_text(".target sm_70\n.visible .entry a() { ret; }"), IMAGE_BAD_PTX);
    assert_int_equal(parse_text(".version 8.0\n.target sm_90a\n.visible .entry a() { ret; }"), IMAGE_OK);
    assert_true(read.only_architecture);
    assert_int_equal(parse_text(HEAD ".global .b8 rung_image[2] = {65, 66};.visible .entry a() {}"), IMAGE_BAD_PTX);
    assert_int_equal(parse_text(HEAD ".global .b8 rung_image[2] = {65, 66, 0};.visible .entry a() {}"), IMAGE_BAD_PTX);
    assert_int_equal(parse_text(HEAD ".global .b8 rung_image[9] = {65, 66};.visible .entry a() {}"), IMAGE_OK);
    assert_string_equal(read.text, "AB");
    assert_int_equal(parse_text("not an image"), IMAGE_BAD_PTX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_by_hand),
        cmocka_unit_test(cubins_of_all_architectures_are_read),
        cmocka_unit_test(all_arguments_are_read),
        cmocka_unit_test(ptx_says_the_same_as_its_cubin),
        cmocka_unit_test(truncated_images_are_rejected),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(many_flipped_bits_do_no_harm),
        cmocka_unit_test(truncated_ptx_is_safe),
    };
    unit_clean_environment();
    if (!images_can_be_made())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
