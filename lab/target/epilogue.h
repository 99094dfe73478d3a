/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.h - the operations after the sum, as --epilogue describes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rung/rung.h"

/* A bias has one number per row, per column, or per element. */
#define LAB_BIAS_LIST(X) X(NONE, "") X(ROW, "bias_row") X(COL, "bias_col") X(FULL, "bias")

typedef enum lab_bias {
#define X(name, word) LAB_BIAS_##name,
    LAB_BIAS_LIST(X)
#undef X
        LAB_BIAS_COUNT
} lab_bias;

typedef struct lab_epilogue {
    lab_bias bias;
    rung_activation activation;
    bool residual;
} lab_epilogue;

/* The largest workspace that the lab lets a plan use. */
enum { LAB_WORKSPACE_MAX_BYTES = 256 << 20 };

/* Parses "bias_row,gelu,residual"; NULL means no epilogue. Returns false if the text is invalid. */
bool lab_epilogue_parse(const char *text, lab_epilogue *epilogue);

/* Writes the text that lab_epilogue_parse() reads; "" for no epilogue. */
void lab_epilogue_format(lab_epilogue epilogue, char *text, size_t capacity);
