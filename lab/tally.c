/* SPDX-License-Identifier: Apache-2.0 */
/* tally.c - see tally.h. */
#include "tally.h"

#include <stdio.h>

static const char *const words[] = {
#define X(name, has, words) words,
    LAB_TRAIT_LIST(X)
#undef X
};

bool lab_is_dense(lab_form form, int64_t cols)
{
    return form.col_stride == 1 && form.row_stride == cols && form.offset == 0;
}

static lab_form transpose(lab_form form)
{
    return (lab_form){form.col_stride, form.row_stride, form.offset, form.batch_stride};
}

lab_case lab_case_of_kernel(const lab_case *problem)
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

static void find_traits(const lab_case *p, lab_traits traits, bool has[LAB_TRAIT_COUNT])
{
    const int64_t bm = traits.bm, bn = traits.bn, bk = traits.bk;
#define X(name, test, words) has[LAB_TRAIT_##name] = test;
    LAB_TRAIT_LIST(X)
#undef X
}

lab_level lab_level_of(const lab_case *problem)
{
    bool is_dense = lab_is_dense(problem->a, problem->k) && lab_is_dense(problem->b, problem->n) &&
                    lab_is_dense(problem->c, problem->n);
    bool has_epilogue = problem->epilogue.bias != LAB_BIAS_NONE ||
                        problem->epilogue.activation != RUNG_ACTIVATION_NONE || problem->epilogue.residual;
    if (problem->content == LAB_SPECIAL)
        return LAB_LEVEL_SPECIAL;
    if (problem->batch != 1 || problem->splits > 0 || problem->has_d || has_epilogue)
        return LAB_LEVEL_EXTRAS;
    return is_dense ? LAB_LEVEL_DENSE : LAB_LEVEL_STRIDED;
}

void lab_tally_add(lab_tally *tally, const lab_case *problem, lab_traits traits, bool is_right, bool is_outside)
{
    bool has[LAB_TRAIT_COUNT];
    lab_counts *counts = &tally->levels[lab_level_of(problem)];
    if (problem->m == 0 || problem->n == 0)
        return;
    lab_case kernels = lab_case_of_kernel(problem);
    find_traits(&kernels, traits, has);
    counts->right += is_right;
    counts->wrong += !is_right;
    counts->outside += is_outside;
    for (int i = 0; i < LAB_TRAIT_COUNT; i++) {
        counts->right_with[i] += has[i] && is_right;
        counts->wrong_with[i] += has[i] && !is_right;
        counts->right_sums_with[i] += has[i] && has[LAB_TRAIT_PRODUCT] && is_right;
    }
}

static void join(lab_counts *sum, const lab_counts *added)
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

void lab_tally_join(lab_tally *sum, const lab_tally *added)
{
    for (int i = 0; i < LAB_LEVEL_COUNT; i++)
        join(&sum->levels[i], &added->levels[i]);
}

enum { FEW = 3 }; /* problems: fewer are chance */

/* Whether the sum itself can be blamed: hardly any problem with something to add up is right. */
static bool are_all_sums_wrong(const lab_counts *counts)
{
    return counts->right_with[LAB_TRAIT_PRODUCT] * 9 <= counts->wrong_with[LAB_TRAIT_PRODUCT];
}

/* Of the traits that all wrong problems have and some right ones have not, the one whose problems
 * are wrong most often. Where only sums come out wrong, problems without any say nothing for or against the
 * other traits. */
static int best_trait(const lab_counts *counts)
{
    int best = -1;
    double best_share = 0;
    bool sums_alone = counts->wrong_with[LAB_TRAIT_PRODUCT] == counts->wrong;
    for (int i = 0; i < LAB_TRAIT_COUNT; i++) {
        bool among_sums = sums_alone && i != LAB_TRAIT_PRODUCT;
        int64_t right = among_sums ? counts->right_with[LAB_TRAIT_PRODUCT] : counts->right;
        int64_t right_with = (among_sums ? counts->right_sums_with : counts->right_with)[i];
        double share = (double)counts->wrong_with[i] / (double)(counts->wrong_with[i] + right_with + 1);
        if (counts->wrong_with[i] < counts->wrong || right - right_with < FEW ||
            (i == LAB_TRAIT_PRODUCT && !are_all_sums_wrong(counts)))
            continue;
        if (share > best_share) {
            best_share = share;
            best = i;
        }
    }
    return best;
}

/* Describes a level whose wrong problems have no trait in common. */
static void tell_level(lab_level level, const lab_counts *counts, char *text, size_t capacity)
{
    static const char *const otherwise[] = {
        [LAB_LEVEL_STRIDED] =
            "wrong for strided or transposed views: use their strides, at(view, row, col), instead of "
            "k or n",
        [LAB_LEVEL_EXTRAS] = "wrong in batches, with epilogues or with k split",
        [LAB_LEVEL_SPECIAL] = "wrong where NaN or infinities are among the numbers",
    };
    if (level != LAB_LEVEL_DENSE)
        snprintf(text, capacity, "%s", otherwise[level]);
    else if (counts->right == 0)
        snprintf(text, capacity, "wrong on every problem: the sum itself is not right");
    else
        snprintf(text, capacity,
                 "wrong on %lld of %lld problems with dense matrices, which have nothing else in common; "
                 "begin with the smallest of them, below",
                 (long long)counts->wrong, (long long)(counts->wrong + counts->right));
}

void lab_tally_tell(const lab_tally *tally, char *text, size_t capacity)
{
    static const char *const right_for[] = {"", "right for dense matrices, ", "right for single matrices, ",
                                            "right for finite numbers, "};
    lab_counts sum = {0}, plain = {0}; /* up to the first level that has wrong problems, and before it */
    int level = 0;
    *text = '\0';
    for (; level < LAB_LEVEL_COUNT && sum.wrong == 0; level++) {
        plain = sum;
        join(&sum, &tally->levels[level]);
    }
    level--;
    if (sum.wrong == 0)
        return;
    if (sum.outside == sum.wrong) {
        snprintf(text, capacity, "writes outside C: only threads with row < m and col < n may store");
        return;
    }
    const char *right = plain.right >= FEW ? right_for[level] : "";
    size_t used = (size_t)snprintf(text, capacity, "%s", right);
    int best = best_trait(&sum);
    if (best >= 0)
        snprintf(text + used, capacity - used, "wrong %s", words[best]);
    else
        tell_level((lab_level)level, &sum, text + used, capacity - used);
}
