/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - the product of two matrices that are stored by rows. Most tasks named gemm use it.
 * Variants have a factor, which is a power of two, and an activation that does not enlarge errors. */
#include <math.h>

#include "grade/reference.h"

static double activate(double x, int64_t activation)
{
    return activation == 1 ? fmax(x, 0) : activation == 2 ? fabs(x) : activation == 3 && x < 0 ? x / 4 : x;
}

bool lab_reference_gemm_naive(lab_reference *reference)
{
    int64_t m = lab_reference_size(reference, "m"), n = lab_reference_size(reference, "n");
    int64_t k = lab_reference_size(reference, "k");
    int64_t activation = lab_reference_variable(reference, "ACTIVATION", 0);
    double alpha = (double)lab_reference_variable(reference, "ALPHA", 1);
    const double *a = lab_reference_input(reference, "a", m * k), *b = lab_reference_input(reference, "b", k * n);
    double *c = lab_reference_result(reference, "c", m * n), *scale = lab_reference_scale(reference, "c", m * n);
    if (!a || !b || !c || !scale)
        return false;
    for (int64_t i = 0; i < m * n; i++) {
        const double *row = a + i / n * k, *col = b + i % n;
        c[i] = scale[i] = 0;
        for (int64_t p = 0; p < k; p++) {
            c[i] += alpha * row[p] * col[p * n];
            scale[i] += fabs(alpha * row[p] * col[p * n]);
        }
        c[i] = activate(c[i], activation);
    }
    return true;
}
