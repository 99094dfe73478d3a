/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_check.c - see gemm_check.h. */
#include "plain_gemm/gemm_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/elements.h"
#include "common/random.h"
#include "common/type_pair.h"
#include "verify/verify.h"

lab_gemm_sum lab_gemm_sum_of(const lab_gemm_product *product, int64_t item, int64_t row, int64_t col)
{
    rung_matrix a = lab_batch_item(&product->problem.a, item), b = lab_batch_item(&product->problem.b, item);
    rung_matrix before = lab_batch_item(&product->before, item);
    lab_gemm_sum sum = {.before = lab_element_get(&before, row, col)};
    for (int64_t p = 0; p < a.cols; p++) {
        double term = lab_element_get(&a, row, p) * lab_element_get(&b, p, col);
        sum.products += term;
        sum.magnitude += fabs(term);
        sum.first = p == 0 ? term : sum.first;
        sum.last = term;
    }
    return sum;
}

static double addend(const rung_problem *problem, const lab_gemm_sum *sum)
{
    return problem->beta != 0 ? problem->beta * sum->before : 0;
}

/* Compares every element. The error may be `relative` times the magnitude plus `absolute`. */
static lab_oracle_result compare_elements(const lab_gemm_product *product, double relative, double absolute)
{
    const rung_problem *problem = &product->problem;
    for (int64_t item = 0; item < problem->batch; item++) {
        rung_matrix c = lab_batch_item(&problem->c, item);
        for (int64_t i = 0; i < c.rows; i++)
            for (int64_t j = 0; j < c.cols; j++) {
                lab_gemm_sum sum = lab_gemm_sum_of(product, item, i, j);
                double value = problem->alpha * sum.products + addend(problem, &sum), got = lab_element_get(&c, i, j);
                double magnitude = fabs(problem->alpha) * sum.magnitude + fabs(addend(problem, &sum));
                if (!(fabs(got - value) <= relative * magnitude + absolute))
                    return (lab_oracle_result){false, item, i, j, got, value, 0};
            }
    }
    return (lab_oracle_result){.right = true};
}

static bool has_epilogue(const rung_problem *problem)
{
    return problem->activation != RUNG_ACTIVATION_NONE || problem->bias.type != RUNG_TYPE_NONE;
}

/* Sums of half precision: every step rounds to `type`. */
static bool is_explained_by_low_precision(const lab_gemm_product *product, rung_type type)
{
    double unit = type == RUNG_F16 ? 0x1p-11 : type == RUNG_BF16 ? 0x1p-8 : 0;
    if (unit == 0 || has_epilogue(&product->problem))
        return false;
    return compare_elements(product, (double)(product->problem.a.cols + 3) * unit, 1e-6).right;
}

/* Compares a few elements of the first item with exact sums, because most interpretations fail at once. Returns whether
 * all are right. */
static bool is_plausible(const lab_gemm_product *product, lab_oracle_result *wrong)
{
    enum { SAMPLES = 24, STREAM = 99 };
    const rung_problem *problem = &product->problem;
    if (has_epilogue(problem))
        return true;
    for (uint64_t i = 0; i < SAMPLES; i++) {
        int64_t row = lab_random(product->seed, STREAM, 2 * i) % problem->c.rows;
        int64_t col = lab_random(product->seed, STREAM, 2 * i + 1) % problem->c.cols;
        lab_gemm_sum sum = lab_gemm_sum_of(product, 0, row, col);
        double got = lab_element_get(&problem->c, row, col);
        double value = problem->alpha * sum.products + addend(problem, &sum);
        if (!(fabs(got - value) <= fabs(value) * 0x1p-6)) {
            *wrong = (lab_oracle_result){false, 0, row, col, got, value, 0};
            return false;
        }
    }
    return true;
}

/* Small integers have exact sums: any error is a wrong result if the type of C represents the sums. */
static lab_accuracy accuracy_of(const lab_gemm_product *product)
{
    const rung_problem *problem = &product->problem;
    bool is_wide = problem->c.type == RUNG_F32 || problem->c.type == RUNG_F64;
    bool is_linear = problem->activation == RUNG_ACTIVATION_NONE || problem->activation == RUNG_ACTIVATION_RELU;
    return product->is_exact && is_wide && is_linear ? LAB_ACCURACY_EXACT : LAB_ACCURACY_ENGINE;
}

/* Finds a lower precision that explains a result of single precision matrices. The code must compute with it. */
static const char *find_precision(const lab_gemm_product *product)
{
    static const struct {
        const char *mark, *name;
        rung_compute compute;
        rung_type sum;
    } precisions[] = {{"tf32", "tf32", RUNG_COMPUTE_TF32, RUNG_TYPE_NONE},
                      {".f16", "f16", RUNG_COMPUTE_TF32, RUNG_F16},
                      {"bf16", "bf16", RUNG_COMPUTE_BF16X1, RUNG_TYPE_NONE}};
    rung_problem problem = product->problem;
    for (size_t i = 0; i < sizeof precisions / sizeof *precisions; i++) {
        problem.compute = precisions[i].compute;
        if (strstr(product->ptx, precisions[i].mark) &&
            (lab_oracle_check(&problem, &product->before, LAB_ACCURACY_ENGINE).right ||
             is_explained_by_low_precision(product, precisions[i].sum)))
            return precisions[i].name;
    }
    return NULL;
}

/* Says which element is wrong. An element that has its old value was probably not written. */
static void describe_wrong(const lab_gemm_product *product, const lab_oracle_result *wrong, lab_gemm_result *result)
{
    rung_matrix output = lab_batch_item(&product->output, wrong->item);
    bool is_old = lab_element_get(&output, wrong->row, wrong->col) == wrong->got;
    snprintf(result->text, sizeof result->text, "C[%lld, %lld] %s %.9g; the right value is %.9g", (long long)wrong->row,
             (long long)wrong->col, is_old ? "still has its old value" : "is", wrong->got, wrong->expected);
}

void lab_gemm_check(const lab_gemm_product *product, lab_gemm_result *result)
{
    const rung_problem *problem = &product->problem;
    lab_type_pair pair = {.in = problem->a.type, .out = problem->c.type};
    bool is_known = lab_type_pair_index(pair) < lab_type_pair_count() && problem->a.type == problem->b.type;
    lab_oracle_result checked = {.right = false};
    bool is_plain = product->is_exact && !is_plausible(product, &checked);
    if (!is_plain) {
        /* Inputs of types that the oracle does not know, such as int x int, are small integers with exact sums. */
        checked = is_known ? lab_oracle_check(problem, &product->before, accuracy_of(product))
                           : compare_elements(product, 0, 0);
        if (!checked.right && pair.in == RUNG_F32 && is_known && !product->is_exact)
            result->precision = find_precision(product);
        result->is_low_precision = !checked.right && is_known &&
                                   is_explained_by_low_precision(product, problem->c.type);
    }
    bool is_right = checked.right || result->is_low_precision || result->precision;
    result->outcome = is_right ? LAB_GEMM_RIGHT : LAB_GEMM_WRONG;
    if (!is_right)
        describe_wrong(product, &checked, result);
}
