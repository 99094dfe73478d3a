/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - softmax of factor * Q K^T below the diagonal. */
#include <math.h>
#include <stdlib.h>

#include "grade/reference.h"

typedef struct attention {
    const double *q, *k;
    double factor;
    int64_t n, d;
} attention_t;

/* Computes row `row`; `scores` has room for n numbers. The scale contains the errors of the scores, which exp() magnifies. */
static void compute_row(const attention_t *attention, int64_t row, double *scores, double *p, double *scale)
{
    double largest = -INFINITY, sum = 0, magnitude = 0;
    for (int64_t col = 0; col <= row; col++) {
        double product = 0, magnitudes = 0;
        for (int64_t i = 0; i < attention->d; i++) {
            double term = attention->q[row * attention->d + i] * attention->k[col * attention->d + i];
            product += term;
            magnitudes += fabs(term);
        }
        scores[col] = attention->factor * product;
        largest = fmax(largest, scores[col]);
        magnitude = fmax(magnitude, attention->factor * magnitudes);
    }
    for (int64_t col = 0; col <= row; col++)
        sum += exp(scores[col] - largest);
    for (int64_t col = 0; col < attention->n; col++) {
        p[col] = col <= row ? exp(scores[col] - largest) / sum : 0;
        scale[col] = p[col] * (1 + magnitude) + (col <= row ? 1e-30 : 0);
    }
}

bool lab_reference_attention_scores(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n"), d = lab_reference_size(reference, "d");
    const attention_t attention = {lab_reference_input(reference, "q", n * d),
                                   lab_reference_input(reference, "k", n * d),
                                   lab_reference_scalar(reference, "factor"), n, d};
    double *p = lab_reference_result(reference, "p", n * n), *scale = lab_reference_scale(reference, "p", n * n);
    double *scores = n > 0 ? calloc((size_t)n, sizeof *scores) : NULL;
    bool good = attention.q && attention.k && !isnan(attention.factor) && p && scale && scores;
    for (int64_t row = 0; good && row < n; row++)
        compute_row(&attention, row, scores, p + row * n, scale + row * n);
    free(scores);
    return good;
}
