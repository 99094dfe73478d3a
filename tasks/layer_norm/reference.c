/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - layer normalisation of each row. The scale is that of the subtraction, which loses most digits. */
#include <math.h>

#include "grade/reference.h"

typedef struct norm_arrays {
    const double *x, *gamma, *beta;
    double *y, *scale;
} norm_arrays_t;

static void compute_row(const norm_arrays_t *arrays, int64_t first, int64_t count)
{
    const double *x = arrays->x + first;
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < count; i++)
        mean += x[i] / (double)count;
    for (int64_t i = 0; i < count; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)count;
    double factor = 1 / sqrt(variance + 1e-5);
    for (int64_t i = 0; i < count; i++) {
        arrays->y[first + i] = (x[i] - mean) * factor * arrays->gamma[i] + arrays->beta[i];
        arrays->scale[first + i] = (fabs(x[i]) + fabs(mean)) * factor * fabs(arrays->gamma[i]) + fabs(arrays->beta[i]);
    }
}

bool lab_reference_layer_norm(lab_reference *reference)
{
    int64_t rows = lab_reference_size(reference, "rows"), cols = lab_reference_size(reference, "cols");
    const norm_arrays_t arrays = {.x = lab_reference_input(reference, "x", rows * cols),
                                  .gamma = lab_reference_input(reference, "gamma", cols),
                                  .beta = lab_reference_input(reference, "beta", cols),
                                  .y = lab_reference_result(reference, "y", rows * cols),
                                  .scale = lab_reference_scale(reference, "y", rows * cols)};
    if (!arrays.x || !arrays.gamma || !arrays.beta || !arrays.y || !arrays.scale)
        return false;
    for (int64_t row = 0; row < rows; row++)
        compute_row(&arrays, row * cols, cols);
    return true;
}
