/* SPDX-License-Identifier: Apache-2.0 */
/* convert_source.h - the input of a conversion: the tensors of a file, and parts of them as F64. */
#pragma once

#include "rung/outofcore.h"
#include "rung/weights.h"

typedef struct lab_convert_source {
    const char *path;
    rung_outofcore_matrix *npy; /* one of the two is set */
    rung_weights *weights;
    rung_weights_tensor npy_tensor; /* describes `npy`; its view has no data */
    char npy_name[256];
    const rung_weights_tensor *only; /* the only tensor to convert; NULL: all */
} lab_convert_source;

/* Opens a file and selects the tensor `name`, or all tensors if `name` is NULL. For an .npy file, `name` is the new name of
 * its matrix; the default is the name of the file. Checks that rung can read the types. */
rung_status lab_convert_source_open(const char *path, const char *name, lab_convert_source *source);

/* Returns the number of selected tensors, and one of them. */
int64_t lab_convert_source_count(const lab_convert_source *source);
const rung_weights_tensor *lab_convert_source_at(const lab_convert_source *source, int64_t index);

/* Reads rows x cols elements at (row, col) of a tensor into dense rows of doubles. `scratch` has 8 bytes per element. */
rung_status lab_convert_source_read(const lab_convert_source *source, const rung_weights_tensor *tensor, int64_t row,
                                    int64_t col, int64_t rows, int64_t cols, void *scratch, double *values);

void lab_convert_source_close(lab_convert_source *source);
