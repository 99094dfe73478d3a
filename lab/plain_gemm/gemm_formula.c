/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_formula.c - see gemm_formula.h. */
#include "plain_gemm/gemm_formula.h"

#include <math.h>
#include <stdio.h>

#include "common/elements.h"
#include "common/random.h"
#include "common/text.h"

/* A formula: sum_factor * (sum - the dropped products) + c_factor * C. */
typedef struct formula {
    double sum_factor, c_factor;
    bool drops_first, drops_last;
    double error; /* of every element, relative to the magnitudes of the products */
    const char *difference, *fix;
} formula_t;

/* Ways in which formulas differ from alpha * A * B + beta * C. The sum and C have powers of alpha and beta as factors. */
static const struct {
    bool needs_alpha, needs_beta;
    int sum_alpha, sum_beta, c_alpha, c_beta;
    bool drops_c, drops_first, drops_last;
    double error;
    const char *difference, *fix;
} differences[] = {
    {.sum_alpha = 1, .c_beta = 1, .difference = "", .fix = ""},
    {.needs_alpha = true, .c_beta = 1, .difference = "alpha is ignored", .fix = "Multiply the sum by alpha."},
    {.needs_alpha = true,
     .sum_alpha = 2,
     .c_beta = 1,
     .difference = "the sum is multiplied by alpha twice",
     .fix = "Multiply the sum by alpha once."},
    {.needs_beta = true,
     .sum_alpha = 1,
     .drops_c = true,
     .difference = "beta is ignored: the old C is not added",
     .fix = "Add beta times the old element of C."},
    {.needs_beta = true,
     .sum_alpha = 1,
     .difference = "beta is ignored: the old C is added without a factor",
     .fix = "Multiply the old element of C by beta."},
    {.needs_beta = true,
     .sum_alpha = 1,
     .c_beta = 2,
     .difference = "the old C is multiplied by beta twice",
     .fix = "Multiply the old element of C by beta once."},
    {.needs_alpha = true,
     .needs_beta = true,
     .sum_alpha = 1,
     .c_alpha = 1,
     .c_beta = 1,
     .difference = "alpha multiplies beta * C, too",
     .fix = "Multiply only the sum by alpha, then add beta * C."},
    {.needs_alpha = true,
     .needs_beta = true,
     .sum_beta = 1,
     .c_alpha = 1,
     .difference = "alpha and beta are exchanged",
     .fix = "Multiply the sum by alpha and the old element of C by beta."},
    {.needs_alpha = true,
     .needs_beta = true,
     .drops_c = true,
     .difference = "alpha and beta are ignored",
     .fix = "Multiply the sum by alpha and add beta times the old element of C."},
    {.needs_alpha = true,
     .needs_beta = true,
     .difference = "alpha and beta are ignored: the sum is added to the old C",
     .fix = "Multiply the sum by alpha and the old element of C by beta."},
    {.sum_alpha = 1,
     .c_beta = 1,
     .drops_last = true,
     .difference = "the products with the last k are missing",
     .fix = "Let the loop over k end at K: compare with k < K."},
    {.sum_alpha = 1,
     .c_beta = 1,
     .drops_first = true,
     .difference = "the products with k = 0 are missing",
     .fix = "Let the loop over k begin at 0."},
    {.sum_alpha = 1,
     .c_beta = 1,
     .drops_first = true,
     .drops_last = true,
     .difference = "the products with the first and the last k are missing",
     .fix = "Let the loop over k run from 0 to K - 1."},
    {.sum_alpha = 1,
     .c_beta = 1,
     .error = 0x1p-10,
     .difference = "every element has a small error, although the inputs are small integers whose sums are exact",
     .fix = "Look for a factor that is not exactly 1, or for an approximate function."},
};
enum { FORMULAS_MAX = sizeof differences / sizeof *differences };

/* Lists the formulas for the scalars that a kernel has, the usual one first. With alpha = 2 and beta = 3 all of them
 * differ. */
static int list_formulas(const rung_problem *problem, bool has_alpha, bool has_beta, formula_t list[FORMULAS_MAX])
{
    int count = 0;
    for (int i = 0; i < FORMULAS_MAX; i++) {
        if ((differences[i].needs_alpha && !has_alpha) || (differences[i].needs_beta && !has_beta))
            continue;
        list[count++] = (formula_t){
            .sum_factor = pow(problem->alpha, differences[i].sum_alpha) * pow(problem->beta, differences[i].sum_beta),
            .c_factor = differences[i].drops_c
                            ? 0
                            : pow(problem->alpha, differences[i].c_alpha) * pow(problem->beta, differences[i].c_beta),
            .drops_first = differences[i].drops_first,
            .drops_last = differences[i].drops_last,
            .error = differences[i].error,
            .difference = differences[i].difference,
            .fix = differences[i].fix};
    }
    return count;
}

static double value_of(const formula_t *formula, const lab_gemm_sum *sum)
{
    double products = sum->products - (formula->drops_first ? sum->first : 0) - (formula->drops_last ? sum->last : 0);
    return formula->sum_factor * products + (formula->c_factor != 0 ? formula->c_factor * sum->before : 0);
}

static bool explains(const formula_t *formula, const lab_gemm_sum *sum, double got)
{
    double value = value_of(formula, sum);
    return fabs(got - value) <= formula->error * (fabs(formula->sum_factor) * sum->magnitude + fabs(value));
}

/* An element of C with its sum. */
typedef struct sample {
    int64_t row, col;
    double got;
    lab_gemm_sum sum;
} sample_t;

enum { SAMPLES = 48, ATTEMPTS = 4000, STREAM = 98 };

/* Takes random elements of the first item whose values have changed. Returns their number. */
static int take_samples(const lab_gemm_product *product, sample_t *samples)
{
    const rung_matrix *c = &product->problem.c;
    int count = 0;
    for (uint64_t i = 0; i < ATTEMPTS && count < SAMPLES; i++) {
        int64_t row = lab_random(product->seed, STREAM, 2 * i) % c->rows;
        int64_t col = lab_random(product->seed, STREAM, 2 * i + 1) % c->cols;
        double got = lab_element_get(c, row, col);
        if (got != lab_element_get(&product->output, row, col))
            samples[count++] = (sample_t){row, col, got, lab_gemm_sum_of(product, 0, row, col)};
    }
    return count;
}

static void add_wrong(const lab_gemm_product *product, lab_gemm_formula *to, int64_t row, int64_t col, double expected)
{
    double got = lab_element_get(&product->problem.c, row, col);
    bool is_old = got == lab_element_get(&product->output, row, col);
    if (to->wrong++ == 0) {
        to->first_row = to->last_row = row;
        to->first_col = to->last_col = col;
        snprintf(to->first_wrong, sizeof to->first_wrong, "C[%lld, %lld] %s %.9g; the right value is %.9g",
                 (long long)row, (long long)col, is_old ? "still has its old value" : "is", got, expected);
    }
    to->old += is_old;
    to->last_row = row;
    to->first_col = col < to->first_col ? col : to->first_col;
    to->last_col = col > to->last_col ? col : to->last_col;
}

/* Counts the elements of the first item that the formula does not explain. */
static void count_wrong(const lab_gemm_product *product, const formula_t *formula, lab_gemm_formula *to)
{
    const rung_matrix *c = &product->problem.c;
    to->elements = c->rows * c->cols;
    for (int64_t row = 0; row < c->rows; row++)
        for (int64_t col = 0; col < c->cols; col++) {
            lab_gemm_sum sum = lab_gemm_sum_of(product, 0, row, col);
            if (!explains(formula, &sum, lab_element_get(c, row, col)))
                add_wrong(product, to, row, col, value_of(formula, &sum));
        }
    to->is_complete = to->wrong == 0;
}

void lab_gemm_formula_try(const lab_gemm_product *product, bool has_alpha, bool has_beta, lab_gemm_formula *best)
{
    enum { SAMPLES_MIN = 8 };
    sample_t samples[SAMPLES];
    formula_t formulas[FORMULAS_MAX];
    const rung_problem *problem = &product->problem;
    if (best->is_complete || problem->activation != RUNG_ACTIVATION_NONE || problem->bias.type != RUNG_TYPE_NONE)
        return;
    int sample_count = take_samples(product, samples);
    int count = list_formulas(problem, has_alpha, has_beta, formulas);
    for (int i = 0; i < count && sample_count >= SAMPLES_MIN && !best->is_complete; i++) {
        int explained = 0;
        for (int s = 0; s < sample_count; s++)
            explained += explains(&formulas[i], &samples[s].sum, samples[s].got);
        double score = (double)explained / sample_count;
        if (score <= best->score || score < 0.5)
            continue;
        *best = (lab_gemm_formula){
            .score = score, .is_usual = i == 0, .difference = formulas[i].difference, .fix = formulas[i].fix};
        count_wrong(product, &formulas[i], best);
    }
}

bool lab_gemm_formula_is_good(const lab_gemm_formula *formula)
{
    return formula->score >= 0.5;
}

void lab_gemm_formula_describe(const lab_gemm_formula *formula, char *text, size_t capacity)
{
    *text = '\0';
    lab_append(text, capacity, "%s", formula->difference);
    if (formula->wrong == 0)
        return;
    lab_append(text, capacity, "%s%lld of %lld elements of C %s %s", *text ? "; " : "", (long long)formula->wrong,
               (long long)formula->elements, formula->wrong == 1 ? "is" : "are",
               formula->old == formula->wrong ? "never written" : "wrong");
    if (formula->wrong > 1)
        lab_append(text, capacity, ", in rows %lld to %lld and columns %lld to %lld", (long long)formula->first_row,
                   (long long)formula->last_row, (long long)formula->first_col, (long long)formula->last_col);
    lab_append(text, capacity, ": %s", formula->first_wrong);
}
