/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - c = a + b. The factors of variants are powers of two, so that the sum alone is rounded. */
#include "grade/reference.h"

bool lab_reference_vector_add(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n");
    const double *a = lab_reference_input(reference, "a", n), *b = lab_reference_input(reference, "b", n);
    double a_factor = (double)lab_reference_variable(reference, "A_FACTOR", 1);
    double b_factor = (double)lab_reference_variable(reference, "B_FACTOR", 1);
    double *c = lab_reference_result(reference, "c", n);
    if (!a || !b || !c)
        return false;
    for (int64_t i = 0; i < n; i++)
        c[i] = a_factor * a[i] + b_factor * b[i];
    return true;
}
