/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - the mean of an element and its four neighbours; in variants of more neighbours, with a weight. */
#include <math.h>

#include "grade/reference.h"

bool lab_reference_stencil(lab_reference *reference)
{
    static const int dx[] = {-1, 1, 0, 0}, dy[] = {0, 0, -1, 1};
    int64_t radius = lab_reference_variable(reference, "RADIUS", 1);
    double centre = (double)lab_reference_variable(reference, "CENTRE", 1);
    int64_t width = lab_reference_size(reference, "width"), height = lab_reference_size(reference, "height");
    const double *in = lab_reference_input(reference, "in", width * height);
    double *out = lab_reference_result(reference, "out", width * height);
    double *scale = lab_reference_scale(reference, "out", width * height);
    if (!in || !out || !scale)
        return false;
    for (int64_t i = 0; i < width * height; i++) {
        double sum = centre * in[i], magnitudes = fabs(centre * in[i]);
        for (int64_t neighbour = 0; neighbour < 4 * radius; neighbour++) {
            int64_t distance = 1 + neighbour / 4;
            int64_t x = i % width + distance * dx[neighbour % 4], y = i / width + distance * dy[neighbour % 4];
            if (x < 0 || x >= width || y < 0 || y >= height)
                continue;
            sum += in[y * width + x];
            magnitudes += fabs(in[y * width + x]);
        }
        out[i] = 0.2 * sum;
        scale[i] = 0.2 * magnitudes;
    }
    return true;
}
