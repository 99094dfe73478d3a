/* SPDX-License-Identifier: Apache-2.0 */
/* type_pair.h - the supported combinations of types of A, B and C. They are found by calling rung_accumulator_type() for every
 * combination, so that there is no second list. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rung/rung.h"

/* The number of enumerators that the lab knows, for tables and loops. The public header has no counts, because they grow with
 * the library; tests/common compares these with the names of the library. */
enum { LAB_COMPUTE_COUNT = RUNG_COMPUTE_Q8 + 1, LAB_ACTIVATION_COUNT = RUNG_ACTIVATION_SILU + 1 };

/* A pair is *mixed* if A and B have different types, or if both are quantized and C is floating-point: B is then quantized. `b` is
 * RUNG_TYPE_NONE in other pairs. F8E4M3 and F8E5M2 with the same type are not mixed. */
typedef struct lab_type_pair {
    rung_type in; /* of A and, unless the pair is mixed, of B */
    rung_type out;
    rung_type b;
} lab_type_pair;

/* Leaves room for later versions; more pairs are ignored. */
enum { LAB_TYPE_PAIRS_MAX = 256 };

/* Returns the pair in which A and B have the same type. */
static inline lab_type_pair lab_type_pair_of(rung_type in, rung_type out)
{
    return (lab_type_pair){in, out, RUNG_TYPE_NONE};
}

/* The pairs that are not mixed, in the order of the input type; the pair with the short name comes first. */
int lab_type_pair_count(void);

/* The number of all pairs. The mixed ones follow the others. */
int lab_type_pair_total(void);
lab_type_pair lab_type_pair_at(int index);

/* Returns the index of a pair; lab_type_pair_total() if the library does not support it. */
int lab_type_pair_index(lab_type_pair pair);

/* Returns the name in --dtype and in results: "f32" if C has the type of A and B, else "f32:f16". "i8" is I8 into I32,
 * since I8 into I8 is not supported. The name of a mixed pair also has the type of B: "f32*q8_0", "f16*q8_0:f32", "i4*i4". "?" for an
 * unsupported pair. */
const char *lab_type_pair_name(lab_type_pair pair);

/* Finds a pair by its name of `length` characters. Returns false if there is none. */
bool lab_type_pair_find(const char *word, size_t length, lab_type_pair *pair);

/* Returns the type of the accumulator; RUNG_TYPE_NONE for an unsupported pair. */
rung_type lab_type_pair_accumulator(lab_type_pair pair);

/* Returns the type of B. */
rung_type lab_type_pair_b(lab_type_pair pair);

bool lab_type_pair_is_mixed(lab_type_pair pair);

/* Returns the number of elements of B along k that form a block: 1 unless the pair is mixed. */
int64_t lab_type_pair_block(lab_type_pair pair);

/* Reports whether the pair is that of two types, and not mixed. */
bool lab_type_pair_is(lab_type_pair pair, rung_type in, rung_type out);
bool lab_type_pair_equal(lab_type_pair x, lab_type_pair y);
