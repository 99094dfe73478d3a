/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - inclusive prefix sums. */
#include "grade/reference.h"

bool lab_reference_scan(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n");
    const double *x = lab_reference_input(reference, "x", n);
    double *y = lab_reference_result(reference, "y", n), sum = 0;
    if (!x || !y)
        return false;
    for (int64_t i = 0; i < n; i++)
        y[i] = sum += x[i];
    return true;
}
