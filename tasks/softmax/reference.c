/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - softmax of each row. */
#include <math.h>

#include "grade/reference.h"

/* Elements below this have no relative accuracy: single precision flushes them to 0. */
static const double smallest = 1e-30;

static void compute_row(const double *x, double *y, double *scale, int64_t count)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, x[i]);
    for (int64_t i = 0; i < count; i++)
        sum += exp(x[i] - largest);
    for (int64_t i = 0; i < count; i++) {
        y[i] = exp(x[i] - largest) / sum;
        scale[i] = y[i] + smallest;
    }
}

bool lab_reference_softmax(lab_reference *reference)
{
    int64_t rows = lab_reference_size(reference, "rows"), cols = lab_reference_size(reference, "cols");
    const double *x = lab_reference_input(reference, "x", rows * cols);
    double *y = lab_reference_result(reference, "y", rows * cols);
    double *scale = lab_reference_scale(reference, "y", rows * cols);
    if (!x || !y || !scale)
        return false;
    for (int64_t row = 0; row < rows; row++)
        compute_row(x + row * cols, y + row * cols, scale + row * cols, cols);
    return true;
}
