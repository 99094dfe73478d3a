/* SPDX-License-Identifier: Apache-2.0 */
/* failure_traits.c - see failure_traits.h. */
#include "verify/failure_traits.h"

#include <stdio.h>

#include "common/enum_names.h"

#define TRAIT_TEXT(name, has, words) words,
LAB_DEFINE_STATIC_ENUM_TEXT(trait_text, lab_case_trait, LAB_TRAIT_LIST, TRAIT_TEXT)

bool lab_strides_are_dense(lab_strides form, int64_t cols)
{
    return form.col_stride == 1 && form.row_stride == cols && form.offset == 0;
}

bool lab_case_has_dense_b(const lab_case *problem)
{
    const lab_strides dense = lab_case_dense_b(problem);
    return problem->b.row_stride == dense.row_stride && problem->b.col_stride == dense.col_stride &&
           problem->b.offset == 0;
}

bool lab_case_is_dense(const lab_case *problem)
{
    return lab_strides_are_dense(problem->a, problem->k) && lab_case_has_dense_b(problem) &&
           lab_strides_are_dense(problem->c, problem->n);
}

static lab_strides transpose(lab_strides form)
{
    return (lab_strides){form.col_stride, form.row_stride, form.offset, form.batch_stride};
}

lab_case lab_case_for_kernel(const lab_case *problem)
{
    lab_case other = *problem;
    if (problem->c.row_stride >= problem->c.col_stride)
        return other;
    other.m = problem->n;
    other.n = problem->m;
    other.a = transpose(problem->b);
    other.b = transpose(problem->a);
    other.c = transpose(problem->c);
    return other;
}

static void find_traits(const lab_case *p, lab_kernel_traits traits, bool has[LAB_TRAIT_COUNT])
{
    const int64_t bm = traits.bm, bn = traits.bn, bk = traits.bk;
#define X(name, test, words) has[LAB_TRAIT_##name] = test;
    LAB_TRAIT_LIST(X)
#undef X
}

lab_case_level lab_case_level_of(const lab_case *problem)
{
    bool has_epilogue = problem->epilogue.bias != LAB_BIAS_NONE ||
                        problem->epilogue.activation != RUNG_ACTIVATION_NONE || problem->epilogue.residual;
    if (problem->content == LAB_CONTENT_NON_FINITE)
        return LAB_LEVEL_SPECIAL;
    if (problem->batch != 1 || problem->splits > 0 || problem->has_d || has_epilogue)
        return LAB_LEVEL_EXTRAS;
    return lab_case_is_dense(problem) ? LAB_LEVEL_DENSE : LAB_LEVEL_STRIDED;
}

void lab_failure_counts_add(lab_failure_counts *all, const lab_case *problem, lab_kernel_traits traits, bool is_right,
                            bool is_outside)
{
    bool has[LAB_TRAIT_COUNT];
    lab_trait_counts *counts = &all->levels[lab_case_level_of(problem)];
    if (problem->m == 0 || problem->n == 0)
        return;
    lab_case received = lab_case_for_kernel(problem);
    find_traits(&received, traits, has);
    counts->right += is_right;
    counts->wrong += !is_right;
    counts->outside += is_outside;
    for (int i = 0; i < LAB_TRAIT_COUNT; i++) {
        counts->right_with[i] += has[i] && is_right;
        counts->wrong_with[i] += has[i] && !is_right;
        counts->right_sums_with[i] += has[i] && has[LAB_TRAIT_PRODUCT] && is_right;
    }
}

static void merge_counts(lab_trait_counts *sum, const lab_trait_counts *added)
{
    sum->right += added->right;
    sum->wrong += added->wrong;
    sum->outside += added->outside;
    for (int i = 0; i < LAB_TRAIT_COUNT; i++) {
        sum->right_with[i] += added->right_with[i];
        sum->wrong_with[i] += added->wrong_with[i];
        sum->right_sums_with[i] += added->right_sums_with[i];
    }
}

void lab_failure_counts_merge(lab_failure_counts *sum, const lab_failure_counts *added)
{
    for (int i = 0; i < LAB_LEVEL_COUNT; i++)
        merge_counts(&sum->levels[i], &added->levels[i]);
}

enum { SIGNIFICANT_CASES_MIN = 3 }; /* fewer may be chance */

/* Returns whether nearly all problems with k > 0 and alpha not 0 are wrong. */
static bool are_all_sums_wrong(const lab_trait_counts *counts)
{
    return counts->right_with[LAB_TRAIT_PRODUCT] * 9 <= counts->wrong_with[LAB_TRAIT_PRODUCT];
}

/* Returns the trait that explains the failures, or -1: all wrong problems have it, some correct ones do not, and
 * problems with it are wrong most often. If only problems with k > 0 and alpha not 0 are wrong, the others do not
 * count. */
static int find_best_trait(const lab_trait_counts *counts)
{
    int best = -1;
    double best_rate = 0;
    bool only_sums_wrong = counts->wrong_with[LAB_TRAIT_PRODUCT] == counts->wrong;
    for (int i = 0; i < LAB_TRAIT_COUNT; i++) {
        bool count_sums_only = only_sums_wrong && i != LAB_TRAIT_PRODUCT;
        int64_t right = count_sums_only ? counts->right_with[LAB_TRAIT_PRODUCT] : counts->right;
        int64_t right_with = (count_sums_only ? counts->right_sums_with : counts->right_with)[i];
        double rate = (double)counts->wrong_with[i] / (double)(counts->wrong_with[i] + right_with + 1);
        if (counts->wrong_with[i] < counts->wrong || right - right_with < SIGNIFICANT_CASES_MIN ||
            (i == LAB_TRAIT_PRODUCT && !are_all_sums_wrong(counts)))
            continue;
        if (rate > best_rate) {
            best_rate = rate;
            best = i;
        }
    }
    return best;
}

/* Describes failures that have no trait in common. */
static void explain_level(lab_case_level level, const lab_trait_counts *counts, char *text, size_t capacity)
{
    static const char *const otherwise[] = {
        [LAB_LEVEL_STRIDED] =
            "wrong for strided or transposed views: index them by their strides, at(view, row, col), not by k or n",
        [LAB_LEVEL_EXTRAS] = "wrong in batches, with epilogues or with split-K",
        [LAB_LEVEL_SPECIAL] = "wrong if the inputs contain NaN or infinity",
    };
    if (level != LAB_LEVEL_DENSE)
        snprintf(text, capacity, "%s", otherwise[level]);
    else if (counts->right == 0)
        snprintf(text, capacity, "wrong on every problem: the sum over k is incorrect");
    else
        snprintf(text, capacity,
                 "wrong on %lld of %lld problems with dense matrices, which have nothing else in common; "
                 "start with the smallest one, below",
                 (long long)counts->wrong, (long long)(counts->wrong + counts->right));
}

void lab_failure_counts_explain(const lab_failure_counts *counts, char *text, size_t capacity)
{
    static const char *const right_for[] = {"", "correct for dense matrices, ", "correct for single matrices, ",
                                            "correct for finite inputs, "};
    lab_trait_counts sum = {0}, plain = {0}; /* up to the first level with failures, and below it */
    int level = 0;
    *text = '\0';
    for (; level < LAB_LEVEL_COUNT && sum.wrong == 0; level++) {
        plain = sum;
        merge_counts(&sum, &counts->levels[level]);
    }
    level--;
    if (sum.wrong == 0)
        return;
    if (sum.outside == sum.wrong) {
        snprintf(text, capacity, "writes outside C: only threads with row < m and col < n may store");
        return;
    }
    const char *right = plain.right >= SIGNIFICANT_CASES_MIN ? right_for[level] : "";
    size_t used = (size_t)snprintf(text, capacity, "%s", right);
    int best = find_best_trait(&sum);
    if (best >= 0)
        snprintf(text + used, capacity - used, "wrong %s", trait_text((lab_case_trait)best));
    else
        explain_level((lab_case_level)level, &sum, text + used, capacity - used);
}
