/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - the sum of an array; in variants of squares or magnitudes. */
#include <math.h>

#include "grade/reference.h"

bool lab_reference_reduction(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n");
    int64_t operation = lab_reference_variable(reference, "OPERATION", 0);
    double factor = (double)lab_reference_variable(reference, "FACTOR", 1);
    const double *x = lab_reference_input(reference, "x", n);
    double *sum = lab_reference_result(reference, "sum", 1), *scale = lab_reference_scale(reference, "sum", 1);
    if (!x || !sum || !scale)
        return false;
    scale[0] = fabs(sum[0]);
    for (int64_t i = 0; i < n; i++) {
        double term = factor * (operation == 1 ? x[i] * x[i] : operation == 2 ? fabs(x[i]) : x[i]);
        sum[0] += term;
        scale[0] += fabs(term);
    }
    return true;
}
