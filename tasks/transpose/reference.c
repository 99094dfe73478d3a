/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - the transpose of a matrix; in variants the matrix is turned or mirrored. */
#include "grade/reference.h"

bool lab_reference_transpose(lab_reference *reference)
{
    int64_t rows = lab_reference_size(reference, "rows"), cols = lab_reference_size(reference, "cols");
    int64_t turn = lab_reference_variable(reference, "TURN", 0);
    double factor = (double)lab_reference_variable(reference, "FACTOR", 1);
    const double *in = lab_reference_input(reference, "in", rows * cols);
    double *out = lab_reference_result(reference, "out", rows * cols);
    if (!in || !out)
        return false;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t col = 0; col < cols; col++)
            out[(turn % 2 ? cols - 1 - col : col) * rows + (turn == 1 || turn == 2 ? rows - 1 - row : row)] =
                factor * in[row * cols + col];
    return true;
}
