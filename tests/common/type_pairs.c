/* SPDX-License-Identifier: Apache-2.0 */
/* type_pairs.c - the products that the lab finds by asking the library, their order and their words, which are those of
 * command lines and of files; and the lab's tables of enumerators, compared with the library's names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/type_pair.h"
#include "target/target.h"

/* Written out once more: old results and tuning files have these words. */
static const struct {
    rung_type in, out, sum;
    const char *word;
} expected[] = {
    {RUNG_F32, RUNG_F32, RUNG_F32, "f32"},
    {RUNG_F32, RUNG_F16, RUNG_F32, "f32:f16"},
    {RUNG_F32, RUNG_BF16, RUNG_F32, "f32:bf16"},
    {RUNG_F64, RUNG_F64, RUNG_F64, "f64"},
    {RUNG_F64, RUNG_F32, RUNG_F64, "f64:f32"},
    {RUNG_F16, RUNG_F16, RUNG_F32, "f16"},
    {RUNG_F16, RUNG_F32, RUNG_F32, "f16:f32"},
    {RUNG_BF16, RUNG_BF16, RUNG_F32, "bf16"},
    {RUNG_BF16, RUNG_F32, RUNG_F32, "bf16:f32"},
    {RUNG_I8, RUNG_I32, RUNG_I32, "i8"},
    {RUNG_I32, RUNG_I32, RUNG_I32, "i32"},
    {RUNG_F8E4M3, RUNG_F32, RUNG_F32, "f8e4m3"},
    {RUNG_F8E4M3, RUNG_BF16, RUNG_F32, "f8e4m3:bf16"},
    {RUNG_F8E5M2, RUNG_F32, RUNG_F32, "f8e5m2"},
    {RUNG_F8E5M2, RUNG_BF16, RUNG_F32, "f8e5m2:bf16"},
};

enum { EXPECTED = sizeof expected / sizeof *expected };

/* Combinations with a quantized B. Later versions may have more. */
static const struct {
    rung_type a, b, out;
    const char *word;
} mixed[] = {
    {RUNG_F32, RUNG_Q8_0, RUNG_F32, "f32*q8_0"},    {RUNG_F32, RUNG_Q4_0, RUNG_F32, "f32*q4_0"},
    {RUNG_F16, RUNG_Q8_0, RUNG_F16, "f16*q8_0"},    {RUNG_F16, RUNG_Q8_0, RUNG_F32, "f16*q8_0:f32"},
    {RUNG_F16, RUNG_Q4_0, RUNG_F16, "f16*q4_0"},    {RUNG_F16, RUNG_Q4_0, RUNG_F32, "f16*q4_0:f32"},
    {RUNG_BF16, RUNG_Q8_0, RUNG_BF16, "bf16*q8_0"}, {RUNG_BF16, RUNG_Q8_0, RUNG_F32, "bf16*q8_0:f32"},
    {RUNG_BF16, RUNG_Q4_0, RUNG_BF16, "bf16*q4_0"}, {RUNG_BF16, RUNG_Q4_0, RUNG_F32, "bf16*q4_0:f32"},
};

enum { MIXED = sizeof mixed / sizeof *mixed };

static void products_are_found(void **state)
{
    (void)state;
    assert_int_equal(lab_type_pair_count(), EXPECTED);
    for (int i = 0; i < EXPECTED; i++) {
        lab_type_pair product = lab_type_pair_at(i), found;
        assert_true(lab_type_pair_is(product, expected[i].in, expected[i].out));
        assert_string_equal(lab_type_pair_name(product), expected[i].word);
        assert_int_equal(lab_type_pair_accumulator(product), expected[i].sum);
        assert_int_equal(lab_type_pair_index(product), i);
        assert_true(lab_type_pair_find(expected[i].word, strlen(expected[i].word), &found));
        assert_true(lab_type_pair_equal(product, found));
    }
}

static void mixed_products_are_found(void **state)
{
    (void)state;
    assert_true(lab_type_pair_total() >= EXPECTED + MIXED);
    for (int i = 0; i < MIXED; i++) {
        lab_type_pair found, product = {mixed[i].a, mixed[i].out, mixed[i].b};
        assert_true(lab_type_pair_find(mixed[i].word, strlen(mixed[i].word), &found));
        assert_true(lab_type_pair_equal(product, found));
        assert_string_equal(lab_type_pair_name(product), mixed[i].word);
        assert_int_equal(lab_type_pair_accumulator(product), RUNG_F32);
        assert_int_equal(lab_type_pair_b(product), mixed[i].b);
        assert_int_equal(lab_type_pair_block(product), 32);
        assert_false(lab_type_pair_is(product, mixed[i].a, mixed[i].out));
    }
}

/* Every mixed pair follows the others, has a name of its own, and is what the library supports. */
static void mixed_products_follow_the_others(void **state)
{
    (void)state;
    for (int i = 0; i < lab_type_pair_total(); i++) {
        lab_type_pair product = lab_type_pair_at(i), found;
        const char *name = lab_type_pair_name(product);
        assert_int_equal(lab_type_pair_is_mixed(product), i >= lab_type_pair_count());
        assert_int_equal(strchr(name, '*') != NULL, lab_type_pair_is_mixed(product));
        assert_true(lab_type_pair_find(name, strlen(name), &found));
        assert_int_equal(lab_type_pair_index(found), i);
        if (lab_type_pair_is_mixed(product))
            assert_int_equal(rung_accumulator_type(product.in, product.b, product.out),
                             lab_type_pair_accumulator(product));
    }
}

/* Both operands are quantized. "i8" is still I8 into I32. */
static void products_of_two_quantized_operands(void **state)
{
    static const struct {
        rung_type a, b, out;
        const char *word;
    } words[] = {{RUNG_F8E4M3, RUNG_F4E2M1, RUNG_F32, "f8e4m3*f4e2m1"},
                 {RUNG_I8, RUNG_I4, RUNG_BF16, "i8*i4:bf16"},
                 {RUNG_I8, RUNG_I8, RUNG_F32, "i8*i8"},
                 {RUNG_F4E2M1, RUNG_F4E2M1, RUNG_BF16, "f4e2m1*f4e2m1:bf16"}};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        lab_type_pair found, product = {words[i].a, words[i].out, words[i].b};
        assert_true(lab_type_pair_find(words[i].word, strlen(words[i].word), &found));
        assert_true(lab_type_pair_equal(product, found));
        assert_string_equal(lab_type_pair_name(product), words[i].word);
        assert_int_equal(lab_type_pair_accumulator(product), RUNG_F32);
    }
}

static lab_options options_of(const char *dtype, const char *compute)
{
    lab_options options;
    memset(&options, 0, sizeof options);
    options.dtype = dtype;
    options.compute = compute;
    return options;
}

/* Only some commands take them, and only if they are named. */
static void mixed_products_are_taken_by_name(void **state)
{
    lab_dtype dtypes[LAB_DTYPES_MAX];
    rung_compute compute;
    int count;
    (void)state;
    lab_options none = options_of(NULL, NULL), both = options_of("f32*q4_0,f32,f16*q8_0:f32", "q8"),
                wrong = options_of("f32*q8", NULL);
    assert_null(lab_parse_mixed_dtypes(&none, &compute, dtypes, &count));
    assert_int_equal(count, 1);
    assert_string_equal(dtypes[0].name, "f32");
    assert_null(lab_parse_mixed_dtypes(&both, &compute, dtypes, &count));
    assert_int_equal(count, 3);
    assert_string_equal(dtypes[0].name, "f32");
    assert_string_equal(dtypes[1].name, "f32*q4_0");
    assert_string_equal(dtypes[2].name, "f16*q8_0:f32");
    for (int i = 0; i < count; i++)
        assert_int_equal(dtypes[i].compute, RUNG_COMPUTE_Q8);
    assert_non_null(strstr(lab_parse_dtypes(&both, &compute, dtypes, &count), "f32*q4_0 in --dtype has a quantized B"));
    assert_non_null(strstr(lab_parse_mixed_dtypes(&wrong, &compute, dtypes, &count), "unknown type \"f32*q8\""));
}

static void other_type_pairs_are_rejected(void **state)
{
    const lab_type_pair none = lab_type_pair_of(RUNG_I8, RUNG_I8);
    lab_type_pair found;
    (void)state;
    assert_string_equal(lab_type_pair_name(none), "?");
    assert_int_equal(lab_type_pair_index(none), lab_type_pair_total());
    assert_int_equal(lab_type_pair_accumulator(none), RUNG_TYPE_NONE);
    assert_int_equal(lab_type_pair_at(-1).in, RUNG_TYPE_NONE);
    assert_int_equal(lab_type_pair_at(lab_type_pair_total()).in, RUNG_TYPE_NONE);
    assert_false(lab_type_pair_find("f3", 2, &found));
    assert_false(lab_type_pair_find("f32:", 4, &found));
    assert_false(lab_type_pair_find("i8:i32", 6, &found));
    assert_true(lab_type_pair_find("f32,f16", 3, &found)); /* a word of a list */
}

/* type_pair.h counts what the library names. */
static void counts_are_the_library_s(void **state)
{
    (void)state;
    assert_string_not_equal(rung_compute_name((rung_compute)(LAB_COMPUTE_COUNT - 1)), "?");
    assert_string_equal(rung_compute_name((rung_compute)LAB_COMPUTE_COUNT), "?");
    assert_string_not_equal(rung_activation_name((rung_activation)(LAB_ACTIVATION_COUNT - 1)), "?");
    assert_string_equal(rung_activation_name((rung_activation)LAB_ACTIVATION_COUNT), "?");
}

/* From most to least precise, whatever their numbers are. */
static void modes_have_an_order(void **state)
{
    const rung_compute order[] = {RUNG_COMPUTE_STRICT, RUNG_COMPUTE_BF16X3, RUNG_COMPUTE_TF32X3,
                                  RUNG_COMPUTE_TF32,   RUNG_COMPUTE_BF16X1, RUNG_COMPUTE_Q8};
    const int count = sizeof order / sizeof *order;
    (void)state;
    assert_int_equal(count, LAB_COMPUTE_COUNT);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            assert_int_equal(lab_compute_is_as_precise(order[i], order[j]), i <= j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_found),
        cmocka_unit_test(mixed_products_are_found),
        cmocka_unit_test(mixed_products_follow_the_others),
        cmocka_unit_test(products_of_two_quantized_operands),
        cmocka_unit_test(mixed_products_are_taken_by_name),
        cmocka_unit_test(other_type_pairs_are_rejected),
        cmocka_unit_test(counts_are_the_library_s),
        cmocka_unit_test(modes_have_an_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
