/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - y = factor * x + y. The factors of variants are powers of two, which add no rounding. */
#include <math.h>

#include "grade/reference.h"

bool lab_reference_saxpy(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n");
    double factor = (double)lab_reference_variable(reference, "X_FACTOR", 1) *
                    lab_reference_scalar(reference, "factor");
    double y_factor = (double)lab_reference_variable(reference, "Y_FACTOR", 1);
    const double *x = lab_reference_input(reference, "x", n), *y = lab_reference_input(reference, "y", n);
    double *result = lab_reference_result(reference, "y", n), *scale = lab_reference_scale(reference, "y", n);
    if (!x || !y || !result || !scale || isnan(factor))
        return false;
    for (int64_t i = 0; i < n; i++) {
        result[i] = factor * x[i] + y_factor * y[i];
        scale[i] = fabs(factor * x[i]) + fabs(y_factor * y[i]);
    }
    return true;
}
