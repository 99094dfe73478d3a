/* SPDX-License-Identifier: Apache-2.0 */
/* npy_array.h - reads arrays of any shape from .npy files of NumPy, in the order of the file. */
#pragma once

#include <stdio.h>

#include "check/element_type.h"

typedef struct lab_npy_array {
    FILE *file; /* at the first element */
    lab_element_type type;
    int64_t count;
} lab_npy_array;

/* Opens a file and checks its header and size. Returns false with a sentence that names the file. */
bool lab_npy_array_open(const char *path, lab_npy_array *array, char *why, size_t capacity);
void lab_npy_array_close(lab_npy_array *array);
