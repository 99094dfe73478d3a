/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - the product of each pair of matrices. */
#include <math.h>

#include "grade/reference.h"

bool lab_reference_batched_gemm(lab_reference *reference)
{
    int64_t batch = lab_reference_size(reference, "batch"), n = lab_reference_size(reference, "n");
    int64_t count = batch * n * n;
    const double *a = lab_reference_input(reference, "a", count), *b = lab_reference_input(reference, "b", count);
    double *c = lab_reference_result(reference, "c", count), *scale = lab_reference_scale(reference, "c", count);
    if (!a || !b || !c || !scale)
        return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t first = i / (n * n) * n * n, row = i % (n * n) / n, col = i % n;
        c[i] = scale[i] = 0;
        for (int64_t k = 0; k < n; k++) {
            c[i] += a[first + row * n + k] * b[first + k * n + col];
            scale[i] += fabs(a[first + row * n + k] * b[first + k * n + col]);
        }
    }
    return true;
}
