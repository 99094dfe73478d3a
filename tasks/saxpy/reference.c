/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - y = factor * x + y. */
#include <math.h>

#include "grade/reference.h"

bool lab_reference_saxpy(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n");
    double factor = lab_reference_scalar(reference, "factor");
    const double *x = lab_reference_input(reference, "x", n), *y = lab_reference_input(reference, "y", n);
    double *result = lab_reference_result(reference, "y", n), *scale = lab_reference_scale(reference, "y", n);
    if (!x || !y || !result || !scale || isnan(factor))
        return false;
    for (int64_t i = 0; i < n; i++) {
        result[i] = factor * x[i] + y[i];
        scale[i] = fabs(factor * x[i]) + fabs(y[i]);
    }
    return true;
}
