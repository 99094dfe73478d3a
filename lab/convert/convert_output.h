/* SPDX-License-Identifier: Apache-2.0 */
/* convert_output.h - the output of a conversion: a GGUF file, or an .npy file of one matrix. The file is complete or
 * absent. */
#pragma once

#include <stdbool.h>

#include "base/atomic_file.h"
#include "rung/weights.h"

typedef struct lab_convert_output {
    const char *path;
    rung_weights_writer *gguf; /* NULL: an .npy file */
    rungi_atomic_file npy;
} lab_convert_output;

/* Prepares a file. Nothing is written yet. */
rung_status lab_convert_output_open(const char *path, lab_convert_output *output);

/* Adds a tensor, before any data. An .npy file takes one tensor. */
rung_status lab_convert_output_add(lab_convert_output *output, const rung_weights_tensor *tensor, rung_type type);

/* Appends data of the tensors, in order. */
rung_status lab_convert_output_write(lab_convert_output *output, const void *data, int64_t bytes);

/* Gives the complete file its name. */
rung_status lab_convert_output_commit(lab_convert_output *output);

/* Removes a file that was not committed. */
void lab_convert_output_close(lab_convert_output *output);
