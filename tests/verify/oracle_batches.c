/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_batches.c - the judge is judged on batches: every item counts, each against its
 * own operands, and the wrong one is named. */
#include "naive.h"

enum { K = 20, C_STEP = NAIVE_M * NAIVE_N, A_STEP = NAIVE_M * K, B_STEP = K * NAIVE_N };

static double bias_memory[NAIVE_ITEMS * C_STEP], residual_memory[NAIVE_ITEMS * C_STEP];

/* Items of A and B in no order and one of them twice, those of C ascending. */
static const int64_t a_item_offsets[] = {2 * A_STEP, 0, 2 * A_STEP, A_STEP},
                     b_item_offsets[] = {B_STEP, 3 * B_STEP, 0, 0};
static const int64_t c_item_offsets[] = {0, C_STEP, 2 * C_STEP, 3 * C_STEP};

/* All items of a matrix, side by side. */
static void fill_items(const rung_matrix *matrix, uint64_t stream)
{
    rung_matrix all = *matrix;
    all.rows *= NAIVE_ITEMS;
    naive_fill(&all, stream);
}

static naive_t batch_of(lab_type_pair product, bool by_offsets)
{
    naive_t naive = naive_create(product, K);
    rung_problem *problem = &naive.problem;
    problem->bias = rung_matrix_of(problem->c.type, NAIVE_M, NAIVE_N, bias_memory);
    problem->residual = rung_matrix_of(problem->c.type, NAIVE_M, NAIVE_N, residual_memory);
    problem->batch = NAIVE_ITEMS;
    problem->beta = 1;
    problem->a.batch_stride = A_STEP;
    problem->b.batch_stride = B_STEP;
    problem->c.batch_stride = naive.before.batch_stride = C_STEP;
    problem->bias.batch_stride = problem->residual.batch_stride = C_STEP;
    fill_items(&problem->a, 1);
    fill_items(&problem->b, 2);
    fill_items(&naive.before, 3);
    fill_items(&problem->bias, 4);
    fill_items(&problem->residual, 5);
    if (by_offsets) {
        problem->a.batch_offsets = a_item_offsets;
        problem->b.batch_offsets = b_item_offsets;
        problem->c.batch_offsets = naive.before.batch_offsets = c_item_offsets;
    }
    naive_multiply(&naive);
    return naive;
}

static void test_right_items_are_right(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++)
        for (int by_offsets = 0; by_offsets < 2; by_offsets++) {
            naive_t naive = batch_of(lab_type_pair_at(product), by_offsets);
            assert_true(naive_is_right(&naive));
        }
}

static void test_the_wrong_item_is_named(void **state)
{
    (void)state;
    for (int product = 0; product < lab_type_pair_count(); product++)
        for (int each = 0; each < 2 * NAIVE_ITEMS; each++) {
            naive_t naive = batch_of(lab_type_pair_at(product), each % 2);
            rung_matrix c = lab_batch_item(&naive.problem.c, each / 2);
            lab_element_set(&c, 6, 1, lab_element_get(&c, 6, 1) + 1);
            lab_oracle_result verdict = naive_result(&naive);
            assert_false(verdict.right);
            assert_int_equal(verdict.item, each / 2);
            assert_int_equal(verdict.row, 6);
            assert_int_equal(verdict.col, 1);
        }
}

/* An item's result in the place of another. */
static void test_items_in_another_order_are_seen(void **state)
{
    (void)state;
    for (int by_offsets = 0; by_offsets < 2; by_offsets++) {
        naive_t naive = batch_of(lab_type_pair_of(RUNG_F32, RUNG_F32), by_offsets);
        float *c = naive.problem.c.data, kept[C_STEP];
        memcpy(kept, c + C_STEP, sizeof kept);
        memcpy(c + C_STEP, c + 2 * C_STEP, sizeof kept);
        memcpy(c + 2 * C_STEP, kept, sizeof kept);
        lab_oracle_result verdict = naive_result(&naive);
        assert_false(verdict.right);
        assert_int_equal(verdict.item, 1);
    }
}

/* The first item's A, B, C0, bias or residual taken for all of them. */
static void test_an_ignored_batch_stride_is_detected(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++) {
        naive_t naive = batch_of(lab_type_pair_of(RUNG_F32, RUNG_F32), false);
        struct naive lazy = naive;
        rung_matrix *views[] = {&lazy.problem.a, &lazy.problem.b, &lazy.before, &lazy.problem.bias,
                                &lazy.problem.residual};
        views[which]->batch_stride = 0;
        naive_multiply(&lazy);
        lab_oracle_result verdict = naive_result(&naive);
        assert_false(verdict.right);
        assert_int_equal(verdict.item, 1);
    }
}

/* The last item counts, one behind it does not. */
static void test_batch_count(void **state)
{
    (void)state;
    naive_t naive = batch_of(lab_type_pair_of(RUNG_F32, RUNG_F32), false);
    rung_matrix last = lab_batch_item(&naive.problem.c, NAIVE_ITEMS - 1);
    lab_element_set(&last, NAIVE_M - 1, NAIVE_N - 1, NAN);
    assert_false(naive_is_right(&naive));
    naive.problem.batch = NAIVE_ITEMS - 1;
    assert_true(naive_is_right(&naive));
    naive_set_all(&naive.problem.c, NAN);
    naive.problem.batch = 0; /* is one item */
    assert_false(naive_is_right(&naive));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right_items_are_right),
        cmocka_unit_test(test_the_wrong_item_is_named),
        cmocka_unit_test(test_items_in_another_order_are_seen),
        cmocka_unit_test(test_an_ignored_batch_stride_is_detected),
        cmocka_unit_test(test_batch_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
