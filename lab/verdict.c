/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - see verdict.h. */
#include "verdict.h"

#include <math.h>
#include <stdlib.h>

#include "samples.h"

const char *lab_judgement_name(lab_judgement judgement)
{
    static const char *const names[] = {
#define X(name, word) word,
        LAB_JUDGEMENT_LIST(X)
#undef X
    };
    return judgement < LAB_JUDGEMENT_COUNT ? names[judgement] : "?";
}

static int by_size(const void *x, const void *y)
{
    double left = fabs(*(const double *)x), right = fabs(*(const double *)y);
    return (left > right) - (left < right);
}

/* ---- Ranks ------------------------------------------------------------------------------------------- */

/* Twice the rank of each, which is whole for ties too. */
static void rank(const double *sorted, int64_t n, int *ranks)
{
    for (int64_t start = 0, end; start < n; start = end) {
        for (end = start + 1; end < n && fabs(sorted[end]) == fabs(sorted[start]); end++)
            ;
        for (int64_t i = start; i < end; i++)
            ranks[i] = (int)(start + 1 + end);
    }
}

/* How likely the sum of those ranks that fall above 0 is at most `least`, where each does so as often as
 * not: all 2^n cases, counted by their sum. */
static double tail(const int *ranks, int64_t n, int least)
{
    enum { SUMS = LAB_PAIRS_MAX * (LAB_PAIRS_MAX + 1) + 1 };
    double *chance = calloc(SUMS, sizeof *chance), sum = 0;
    int top = 0;
    if (!chance)
        return 1;
    chance[0] = 1;
    for (int64_t i = 0; i < n; i++) {
        for (int at = top; at >= 0; at--) {
            chance[at + ranks[i]] += chance[at] / 2;
            chance[at] /= 2;
        }
        top += ranks[i];
    }
    for (int at = 0; at <= least && at <= top; at++)
        sum += chance[at];
    free(chance);
    return sum;
}

double lab_signed_rank(const double *differences, int64_t count)
{
    double kept[LAB_PAIRS_MAX];
    int ranks[LAB_PAIRS_MAX], above = 0, below = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < count && n < LAB_PAIRS_MAX; i++)
        if (differences[i] != 0)
            kept[n++] = differences[i];
    qsort(kept, (size_t)n, sizeof *kept, by_size);
    rank(kept, n, ranks);
    for (int64_t i = 0; i < n; i++)
        *(kept[i] > 0 ? &above : &below) += ranks[i];
    double p = n > 0 ? 2 * tail(ranks, n, above < below ? above : below) : 1;
    return p < 1 ? p : 1;
}

double lab_least_p(int64_t count)
{
    return count > 0 ? fmin(1, ldexp(2, -(int)count)) : 1;
}

double lab_hodges_lehmann(const double *differences, int64_t count)
{
    int64_t n = 0, most = count * (count + 1) / 2;
    double *means = malloc((size_t)(most > 0 ? most : 1) * sizeof *means), middle = 0;
    if (!means)
        return 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = i; j < count; j++)
            means[n++] = (differences[i] + differences[j]) / 2;
    lab_sort(means, n);
    if (n > 0)
        middle = (means[(n - 1) / 2] + means[n / 2]) / 2;
    free(means);
    return middle;
}

/* ---- Many questions ---------------------------------------------------------------------------------- */

/* How many are less likely than this one, or as likely and before it. */
static int64_t place_of(const double *p, int64_t count, int64_t one)
{
    int64_t place = 0;
    for (int64_t i = 0; i < count; i++)
        place += p[i] < p[one] || (p[i] == p[one] && i < one);
    return place;
}

void lab_holm(double *p, int64_t count)
{
    double *sorted = malloc((size_t)(count > 0 ? count : 1) * sizeof *sorted);
    int64_t *places = malloc((size_t)(count > 0 ? count : 1) * sizeof *places);
    for (int64_t i = 0; i < count; i++) {
        if (!sorted || !places) {
            p[i] = 1; /* nothing is told without memory */
            continue;
        }
        places[i] = place_of(p, count, i);
        sorted[places[i]] = p[i];
    }
    double least = 0;
    for (int64_t i = 0; sorted && places && i < count; i++) {
        least = fmax(least, fmin(1, sorted[i] * (double)(count - i)));
        sorted[i] = least;
    }
    for (int64_t i = 0; sorted && places && i < count; i++)
        p[i] = sorted[places[i]];
    free(sorted);
    free(places);
}

lab_judgement lab_judge(double p, double shift)
{
    if (!(p < LAB_VERDICT_P) || !(fabs(shift) > LAB_VERDICT_SHIFT))
        return LAB_SAME;
    return shift > 0 ? LAB_SLOWER : LAB_FASTER;
}
