/* SPDX-License-Identifier: Apache-2.0 */
/* soak_data.h - the matrices of one case in memory.
 *
 * Each operand has its own memory, which is followed by a page that cannot be accessed. Elements that must not be read are NaN: the
 * gaps, C if beta is 0, A and B if alpha is 0. The library must change the elements of the output and nothing else. */
#pragma once

#include "soak_case.h"

enum { SOAK_GUARD_BYTES = 64 };

typedef struct soak_memory {
    unsigned char *start;  /* NULL: the operand lies in the memory of another one */
    unsigned char *before; /* a copy of the guard before the operand, and of the operand */
    int64_t bytes;
} soak_memory;

typedef struct soak_data {
    rung_problem problem;
    rung_quantization a_quantization, b_quantization;
    rung_matrix views[SOAK_OPERANDS];
    soak_memory memory[SOAK_OPERANDS];
    soak_operand home[SOAK_OPERANDS]; /* the operand in whose memory this one lies */
    int64_t offsets[SOAK_OPERANDS][SOAK_BATCH_MAX];
    soak_operand output;
} soak_data;

/* Creates problem `index` of a case in the memory for that index, which the next call uses again. The problem points into `data`.
 * Returns false if a matrix is too large or memory is exhausted. Call soak_data_destroy() in either case. */
bool soak_data_create(const soak_case *subject, int index, soak_data *data);
void soak_data_destroy(soak_data *data);

/* Returns the number of items: at least 1. */
int64_t soak_items(const soak_case *subject);

/* Gives the output its first contents again. */
void soak_data_restore(soak_data *data);

/* Copies the memory that holds the output, and compares it with a copy: the bits must be equal, except that a NaN may be another
 * NaN. Returns the number of the first element that differs (counted by item, row, column), or -1. */
void *soak_output_copy(const soak_data *data);
int64_t soak_output_difference(const soak_case *subject, const soak_data *data, const void *copy);

/* Returns whether all memory but the elements of the output is as it was. If `is_output_unchanged`, no element may have changed
 * either. Writes what has changed. */
bool soak_data_is_intact(const soak_case *subject, const soak_data *data, bool is_output_unchanged, char *message,
                         size_t capacity);
