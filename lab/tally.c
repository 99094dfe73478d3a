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

static void find_traits(const lab_case *p, lab_traits traits, bool has[LAB_TRAIT_COUNT])
{
    const int64_t bm = traits.bm, bn = traits.bn, bk = traits.bk;
#define X(name, test, words) has[LAB_TRAIT_##name] = test;
    LAB_TRAIT_LIST(X)
#undef X
}

void lab_tally_add(lab_tally *tally, const lab_case *problem, lab_traits traits, bool is_right, bool is_outside)
{
    bool has[LAB_TRAIT_COUNT];
    if (problem->m == 0 || problem->n == 0)
        return;
    find_traits(problem, traits, has);
    tally->right += is_right;
    tally->wrong += !is_right;
    tally->outside += is_outside;
    for (int i = 0; i < LAB_TRAIT_COUNT; i++) {
        tally->right_with[i] += has[i] && is_right;
        tally->wrong_with[i] += has[i] && !is_right;
        tally->right_sums_with[i] += has[i] && has[LAB_TRAIT_PRODUCT] && is_right;
    }
}

/* Of the traits that all wrong problems have and some right ones have not, the one whose problems
 * are wrong most often. Where only sums come out wrong, problems without any say nothing for or against the
 * other traits. */
static int best_trait(const lab_tally *tally)
{
    enum { FEW = 3 }; /* problems: less is chance */
    int best = -1;
    double best_share = 0;
    bool sums_alone = tally->wrong_with[LAB_TRAIT_PRODUCT] == tally->wrong;
    for (int i = 0; i < LAB_TRAIT_COUNT; i++) {
        bool among_sums = sums_alone && i != LAB_TRAIT_PRODUCT;
        int64_t right = among_sums ? tally->right_with[LAB_TRAIT_PRODUCT] : tally->right;
        int64_t right_with = (among_sums ? tally->right_sums_with : tally->right_with)[i];
        double share = (double)tally->wrong_with[i] / (double)(tally->wrong_with[i] + right_with + 1);
        if (tally->wrong_with[i] < tally->wrong || right - right_with < FEW)
            continue;
        if (share > best_share) {
            best_share = share;
            best = i;
        }
    }
    return best;
}

void lab_tally_tell(const lab_tally *tally, char *text, size_t capacity)
{
    int best = tally->wrong > 0 ? best_trait(tally) : -1;
    *text = '\0';
    if (tally->outside > 0 && tally->outside == tally->wrong)
        snprintf(text, capacity, "writes outside C: only threads with row < m and col < n may store");
    else if (best >= 0)
        snprintf(text, capacity, "wrong %s", words[best]);
    else if (tally->wrong > 4 * tally->right)
        snprintf(text, capacity, "wrong on %s problem: the sum itself is not right; begin with the smallest, --m 1",
                 tally->right == 0 ? "every" : "nearly every");
}
