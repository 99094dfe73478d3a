/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - the types of PTX as the semantics test sees them, and the operands that it generates.
 *
 * Nothing here or in the reference files includes a header of the emulator: a mistake in the emulator must not repeat
 * itself in the reference. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A binary floating-point format: 1 sign bit, `exponent_bits`, `fraction_bits`. */
typedef struct format {
    const char *name;
    int exponent_bits, fraction_bits;
    bool has_infinity; /* e4m3 has none, and one NaN per sign */
    bool has_nan;      /* formats of 4 and 6 bits have none */
    bool is_scale;     /* ue8m0: powers of two, without sign and zero */
} format_t;

typedef enum kind { KIND_BITS, KIND_UNSIGNED, KIND_SIGNED, KIND_FLOAT, KIND_PREDICATE } kind_t;

typedef struct type {
    char name[16];
    kind_t kind;
    int bits;               /* of one element */
    int count;              /* of elements: 2 for pairs such as f16x2 */
    const format_t *format; /* of floating-point types */
} type_t;

/* Reads a type's name. Returns false if there is no such type. */
bool type_of(const char *name, type_t *type);

/* Returns the value of a number in a format, which is exact in double precision. */
double format_decode(const format_t *format, uint64_t bits);

/* Returns the bits of a value that the format represents. NaN gives the NaN with all bits but the sign set. */
uint64_t format_encode(const format_t *format, double value);

bool format_is_nan(const format_t *format, uint64_t bits);
double format_min_normal(const format_t *format);
double format_max(const format_t *format);

/* Returns element `index` of all operands of a type for operand `position` of an instruction. The first OPERAND_PAIRS
 * elements contain each pair of special values in positions 0 and 1. */
enum { OPERAND_SPECIALS = 44, OPERAND_PAIRS = OPERAND_SPECIALS * OPERAND_SPECIALS };
uint64_t operand_at(const type_t *type, int position, int64_t index);

/* Returns a mixed 64-bit value of two numbers. */
uint64_t operand_hash(uint64_t x, uint64_t y);
