/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - counts of bytes; in variants of ranges of shifted bytes. */
#include "grade/reference.h"

bool lab_reference_histogram(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n");
    int64_t bin_count = lab_reference_variable(reference, "BINS", 256);
    int64_t shift = lab_reference_variable(reference, "SHIFT", 0);
    const double *data = lab_reference_input(reference, "data", n);
    double *bins = lab_reference_result(reference, "bins", bin_count);
    if (!data || !bins)
        return false;
    for (int64_t i = 0; i < n; i++)
        bins[((int64_t)data[i] + shift) % 256 / (256 / bin_count)]++;
    return true;
}
