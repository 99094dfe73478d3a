/* SPDX-License-Identifier: Apache-2.0 */
/* element_type.h - the types of the arrays that rung check passes to kernels, and single elements of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/string_view.h"

/* Types: name, bytes, kind, and NumPy's name without the byte order. NumPy has no bf16: "V2" is two bytes without a type. */
/* clang-format off */
#define LAB_ELEMENT_TYPE_LIST(X)      \
    X(f64,  8, LAB_KIND_FLOAT,    "f8") \
    X(f32,  4, LAB_KIND_FLOAT,    "f4") \
    X(f16,  2, LAB_KIND_FLOAT,    "f2") \
    X(bf16, 2, LAB_KIND_FLOAT,    "V2") \
    X(i64,  8, LAB_KIND_SIGNED,   "i8") \
    X(u64,  8, LAB_KIND_UNSIGNED, "u8") \
    X(i32,  4, LAB_KIND_SIGNED,   "i4") \
    X(u32,  4, LAB_KIND_UNSIGNED, "u4") \
    X(i16,  2, LAB_KIND_SIGNED,   "i2") \
    X(u16,  2, LAB_KIND_UNSIGNED, "u2") \
    X(i8,   1, LAB_KIND_SIGNED,   "i1") \
    X(u8,   1, LAB_KIND_UNSIGNED, "u1")
/* clang-format on */

typedef enum lab_element_kind { LAB_KIND_FLOAT, LAB_KIND_SIGNED, LAB_KIND_UNSIGNED } lab_element_kind;

typedef enum lab_element_type {
#define X(name, bytes, kind, numpy) LAB_ELEMENT_##name,
    LAB_ELEMENT_TYPE_LIST(X)
#undef X
        LAB_ELEMENT_TYPE_COUNT
} lab_element_type;

#define LAB_ELEMENT_TYPE_WORDS "f64, f32, f16, bf16, i64, u64, i32, u32, i16, u16, i8 and u8"

const char *lab_element_type_name(lab_element_type type);
int64_t lab_element_type_bytes(lab_element_type type);
lab_element_kind lab_element_type_kind(lab_element_type type);

/* Finds a type by its name. Returns LAB_ELEMENT_TYPE_COUNT if the name is unknown. */
lab_element_type lab_element_type_find(rungi_string_view name);

/* Finds the type that NumPy calls "<f4" or "|u1"; a boolean is a u8. Returns LAB_ELEMENT_TYPE_COUNT for other types. */
lab_element_type lab_element_type_of_numpy(const char *name);

/* Read and write an element as double. Integers of 64 bits lose their low bits. */
double lab_element_read(lab_element_type type, const void *elements, int64_t index);
void lab_element_write(lab_element_type type, void *elements, int64_t index, double value);

/* Read and write an element of an integer type; unsigned 64-bit values keep their bits. */
int64_t lab_element_read_integer(lab_element_type type, const void *elements, int64_t index);
void lab_element_write_integer(lab_element_type type, void *elements, int64_t index, int64_t value);
