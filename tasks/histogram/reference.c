/* SPDX-License-Identifier: Apache-2.0 */
/* reference.c - counts of bytes. */
#include "grade/reference.h"

bool lab_reference_histogram(lab_reference *reference)
{
    int64_t n = lab_reference_size(reference, "n");
    const double *data = lab_reference_input(reference, "data", n);
    double *bins = lab_reference_result(reference, "bins", 256);
    if (!data || !bins)
        return false;
    for (int64_t i = 0; i < n; i++)
        bins[(unsigned char)data[i]]++;
    return true;
}
