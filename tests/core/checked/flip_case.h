/* SPDX-License-Identifier: Apache-2.0 */
/* flip_case.h - random products for flips.c: types, layouts and magnitudes, and the exact product with its error bound. */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"

typedef struct flip_case {
    rung_problem problem; /* with memory for everything; C is filled with numbers */
    rung_quantization scales;
    void *memory[6];
    int memory_count;
    long double *exact, *bounds; /* row-major, of alpha * A * B; NULL before flip_case_solve() */
} flip_case;

/* A generator of random numbers. */
uint64_t flip_random(uint64_t *state, uint64_t limit);

/* Creates case number `seed`. `any_type` allows every combination of types, narrow results, epilogues and batches;
 * otherwise C has the accumulator's type, and nothing is added. `limit` bounds m, n and k. */
void flip_case_create(flip_case *self, uint64_t seed, bool any_type, int64_t limit);
void flip_case_free(flip_case *self);

/* Returns the combination of types as text, for example "f32*q8_0:f32". */
const char *flip_case_types(const flip_case *self);

/* Computes the exact product and the error bound of each element. `has_engine`: as rungi_product_check_begin() */
void flip_case_solve(flip_case *self, bool has_engine);

/* Returns how many elements of the product differ from the exact ones by more than the bound. */
int64_t flip_case_count_wrong(const flip_case *self, const rung_matrix *product);
