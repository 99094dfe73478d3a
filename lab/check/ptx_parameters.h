/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_parameters.h - the types of a kernel's parameters in PTX text, which decide how a number is passed. */
#pragma once

#include "base/string_view.h"

enum { LAB_PTX_TYPE_BYTES = 8 };

/* One parameter: "f32", "u64", "b8" and so on, without the dot; "" if it is unknown. */
typedef struct lab_ptx_parameter {
    char type[LAB_PTX_TYPE_BYTES];
} lab_ptx_parameter;

/* Fills up to `capacity` parameters of the kernel. Returns their number; 0 if the text does not have the kernel. */
int lab_ptx_parameters_read(const char *text, size_t bytes, const char *kernel, lab_ptx_parameter *parameters,
                            int capacity);
