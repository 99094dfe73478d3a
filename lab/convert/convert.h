/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h - converts matrices and weights between files: .npy, .gguf and .safetensors to .gguf or .npy. The header of
 * lab/convert for the rest of the lab. */
#pragma once

#include "rung/weights.h"

typedef struct lab_convert_request {
    const char *input;  /* a path that ends in .npy, or a GGUF or safetensors file */
    const char *output; /* a path that ends in .gguf or .npy */
    const char
        *tensor;    /* the only tensor to convert, or the name of the tensor of an .npy file; NULL: see rung convert */
    rung_type type; /* F32, F16, BF16, Q8_0 or Q4_0 */
} lab_convert_request;

/* What was done with a tensor. */
typedef struct lab_converted_tensor {
    const char *name;
    int64_t dimension_count;
    int64_t dimensions[RUNG_WEIGHTS_DIMENSIONS_MAX];
    rung_type from, to;
    int64_t bytes; /* that were written */
    double error;  /* largest error of an element, relative to the largest magnitude of its 32 neighbours in the row */
    double bound;  /* of `error`, by the definition of the type */
} lab_converted_tensor;

typedef struct lab_conversion lab_conversion;

/* Converts. The output is complete or absent. Fails with RUNG_STATUS_CANCELLED after an interruption (interrupt.h), and with
 * RUNG_STATUS_DEVICE_LOST if an error exceeds its bound, which is a bug of rung. */
rung_status lab_convert(const lab_convert_request *request, lab_conversion **conversion);

/* Return the results, which live as long as the conversion. */
int64_t lab_conversion_count(const lab_conversion *conversion);
const lab_converted_tensor *lab_conversion_at(const lab_conversion *conversion, int64_t index);

void lab_conversion_destroy(lab_conversion *conversion);
