/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - the sum of an array. */
#include <math.h>

#include "grade/reference.h"

bool lab_reference_reduction(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n");
    const double *x = lab_reference_input(reference, "x", n);
    double *sum = lab_reference_result(reference, "sum", 1), *scale = lab_reference_scale(reference, "sum", 1);
    if (!x || !sum || !scale)
        return false;
    scale[0] = fabs(sum[0]);
    for (int64_t i = 0; i < n; i++) {
        sum[0] += x[i];
        scale[0] += fabs(x[i]);
    }
    return true;
}
