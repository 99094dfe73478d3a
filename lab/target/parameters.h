/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.h - reads the text of --params, "TILE=16,32,UNROLL=4" or "small,BK=8", and checks it
 * against the kernels of a command.
 *
 * A parameter or preset applies to the kernels that have it. One that no chosen kernel has is an error. */
#pragma once

#include "base/string_view.h"
#include "rung/rung.h"

/* One word of the text: a parameter with its values, or a preset. */
typedef struct lab_parameter_word {
    rungi_string_view name, values; /* "TILE" and "16,32"; the text of `values` is NULL for a preset */
} lab_parameter_word;

typedef enum lab_parameter_token {
    LAB_PARAMETER_WORD,
    LAB_PARAMETER_END,
    LAB_PARAMETER_MALFORMED,
} lab_parameter_token;

/* Reads the word at *text and moves *text to the next one. */
lab_parameter_token lab_parameter_next(const char **text, lab_parameter_word *word);

/* Returns whether the kernel has this parameter or preset. */
bool lab_kernel_has_parameter(const rung_kernel *kernel, const lab_parameter_word *word);

/* Checks that each word of `text` belongs to at least one of the kernels; NULL among them stands for
 * rung_gemm, which has no parameters. A NULL text is valid. Otherwise returns false and writes the unknown word, a
 * suggestion and the known words to `error`. */
bool lab_parameters_check(const rung_kernel *const *kernels, int count, const char *text, char *error, size_t capacity);

/* Copies the words of `text` that the kernel has. Returns false if they do not fit. */
bool lab_parameters_select(const rung_kernel *kernel, const char *text, char *selected, size_t capacity);
