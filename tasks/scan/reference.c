/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - inclusive prefix sums; in variants exclusive ones, or sums from the end. */
#include "grade/reference.h"

bool lab_reference_scan(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n");
    bool is_exclusive = lab_reference_variable(reference, "EXCLUSIVE", 0) != 0;
    bool is_reversed = lab_reference_variable(reference, "REVERSED", 0) != 0;
    double factor = (double)lab_reference_variable(reference, "FACTOR", 1);
    const double *x = lab_reference_input(reference, "x", n);
    double *y = lab_reference_result(reference, "y", n), sum = 0;
    if (!x || !y)
        return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = is_reversed ? n - 1 - i : i;
        sum += x[at];
        y[at] = factor * (is_exclusive ? sum - x[at] : sum);
    }
    return true;
}
