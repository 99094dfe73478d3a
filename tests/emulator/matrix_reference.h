/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_reference.h - the shapes and types of mma, and the fragments that the PTX manual defines for them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct element_type {
    const char *name;
    int bits;
    bool is_unsigned, is_integer;
} element_type_t;

/* One instruction. */
typedef struct form {
    char text[128];
    int m, n, k;
    const element_type_t *a, *b, *c, *d;
    bool is_sparse, saturates;
    bool is_column_a, is_column_b; /* m8n8k4 of halves */
    bool is_and;                   /* single bits: and instead of xor */
    int selectors;                 /* number of valid selectors; 1 if there are none */
} form_t;

/* Registers of a lane. */
typedef struct fragment_set {
    int a_registers, b_registers, c_registers, d_registers;
} fragment_set_t;

/* Fills form number `index`. Returns false behind the last one. */
bool form_at(int index, form_t *form);

/* Draws A, B and C, fills the slots of all lanes with the registers of A, B, C and the metadata, and `expected` with the
 * registers of D. */
void reference_fragments(const form_t *form, int selector, uint64_t seed, fragment_set_t *set, uint64_t in[32][64],
                         uint64_t expected[32][64]);
