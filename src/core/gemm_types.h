/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_types.h - the lists of all type combinations: the types of A and B, the type of C, the accumulator's type, and the
 * name in kernel files, tuning files and command lines. rung_accumulator_type() is the public form. */
#pragma once

#include "base/string_view.h"
#include "rung/rung.h"

#define RUNGI_GEMM_TYPES_LIST(X)        \
    X(F32, F32, F32, "f32")             \
    X(F32, F16, F32, "f32:f16")         \
    X(F32, BF16, F32, "f32:bf16")       \
    X(F64, F64, F64, "f64")             \
    X(F64, F32, F64, "f64:f32")         \
    X(F16, F16, F32, "f16")             \
    X(F16, F32, F32, "f16:f32")         \
    X(BF16, BF16, F32, "bf16")          \
    X(BF16, F32, F32, "bf16:f32")       \
    X(I8, I32, I32, "i8")               \
    X(I32, I32, I32, "i32")             \
    X(F8E4M3, F32, F32, "f8e4m3")       \
    X(F8E4M3, BF16, F32, "f8e4m3:bf16") \
    X(F8E5M2, F32, F32, "f8e5m2")       \
    X(F8E5M2, BF16, F32, "f8e5m2:bf16")

/* Combinations in which only B has this type. */
#define RUNGI_GEMM_TYPES_OF_B(X, b, word)   \
    X(F32, b, F32, F32, "f32*" word)        \
    X(F16, b, F16, F32, "f16*" word)        \
    X(F16, b, F32, F32, "f16*" word ":f32") \
    X(BF16, b, BF16, F32, "bf16*" word)     \
    X(BF16, b, F32, F32, "bf16*" word ":f32")

/* Combinations in which B is quantized, or narrower than A. Q8_0 and Q4_0 hold their scales; the other quantized types may have
 * a rung_quantization. */
#define RUNGI_GEMM_MIXED_TYPES_LIST(X)         \
    RUNGI_GEMM_TYPES_OF_B(X, Q8_0, "q8_0")     \
    RUNGI_GEMM_TYPES_OF_B(X, Q4_0, "q4_0")     \
    RUNGI_GEMM_TYPES_OF_B(X, I8, "i8")         \
    RUNGI_GEMM_TYPES_OF_B(X, U8, "u8")         \
    RUNGI_GEMM_TYPES_OF_B(X, I4, "i4")         \
    RUNGI_GEMM_TYPES_OF_B(X, U4, "u4")         \
    RUNGI_GEMM_TYPES_OF_B(X, F8E4M3, "f8e4m3") \
    RUNGI_GEMM_TYPES_OF_B(X, F8E5M2, "f8e5m2") \
    RUNGI_GEMM_TYPES_OF_B(X, F4E2M1, "f4e2m1") \
    X(F32, F16, F32, F32, "f32*f16")           \
    X(F32, BF16, F32, F32, "f32*bf16")

/* Combinations in which A and B are quantized and may have a rung_quantization, those of two floating-point types last. F8E4M3
 * and F8E5M2 with the same type are in the first list. */
#define RUNGI_GEMM_TYPES_OF_PAIR(X, a, b, word) \
    X(a, b, F32, F32, word)                     \
    X(a, b, BF16, F32, word ":bf16")
#define RUNGI_GEMM_INTEGER_PAIRS_LIST(X)                 \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I8, U8, "i8*u8")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I8, I4, "i8*i4")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I8, U4, "i8*u4")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I8, F8E4M3, "i8*f8e4m3") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I8, F8E5M2, "i8*f8e5m2") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I8, F4E2M1, "i8*f4e2m1") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U8, I8, "u8*i8")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U8, I4, "u8*i4")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U8, U4, "u8*u4")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U8, F8E4M3, "u8*f8e4m3") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U8, F8E5M2, "u8*f8e5m2") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U8, F4E2M1, "u8*f4e2m1") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I4, I8, "i4*i8")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I4, U8, "i4*u8")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I4, U4, "i4*u4")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I4, F8E4M3, "i4*f8e4m3") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I4, F8E5M2, "i4*f8e5m2") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I4, F4E2M1, "i4*f4e2m1") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U4, I8, "u4*i8")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U4, U8, "u4*u8")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U4, I4, "u4*i4")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U4, F8E4M3, "u4*f8e4m3") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U4, F8E5M2, "u4*f8e5m2") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U4, F4E2M1, "u4*f4e2m1") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E4M3, I8, "f8e4m3*i8") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E4M3, U8, "f8e4m3*u8") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E4M3, I4, "f8e4m3*i4") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E4M3, U4, "f8e4m3*u4") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E5M2, I8, "f8e5m2*i8") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E5M2, U8, "f8e5m2*u8") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E5M2, I4, "f8e5m2*i4") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E5M2, U4, "f8e5m2*u4") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F4E2M1, I8, "f4e2m1*i8") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F4E2M1, U8, "f4e2m1*u8") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F4E2M1, I4, "f4e2m1*i4") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F4E2M1, U4, "f4e2m1*u4") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I8, I8, "i8*i8")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U8, U8, "u8*u8")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, I4, I4, "i4*i4")         \
    RUNGI_GEMM_TYPES_OF_PAIR(X, U4, U4, "u4*u4")
#define RUNGI_GEMM_FLOAT_PAIRS_LIST(X)                           \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E4M3, F8E5M2, "f8e4m3*f8e5m2") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E4M3, F4E2M1, "f8e4m3*f4e2m1") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E5M2, F8E4M3, "f8e5m2*f8e4m3") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F8E5M2, F4E2M1, "f8e5m2*f4e2m1") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F4E2M1, F8E4M3, "f4e2m1*f8e4m3") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F4E2M1, F8E5M2, "f4e2m1*f8e5m2") \
    RUNGI_GEMM_TYPES_OF_PAIR(X, F4E2M1, F4E2M1, "f4e2m1*f4e2m1")
#define RUNGI_GEMM_QUANTIZED_TYPES_LIST(X) RUNGI_GEMM_INTEGER_PAIRS_LIST(X) RUNGI_GEMM_FLOAT_PAIRS_LIST(X)

typedef enum rungi_gemm_types {
#define X(in, out, sum, word) RUNGI_##in##_TO_##out,
    RUNGI_GEMM_TYPES_LIST(X)
#undef X
        RUNGI_GEMM_SAME_TYPES_COUNT,
    RUNGI_GEMM_LAST_SAME_TYPES = RUNGI_GEMM_SAME_TYPES_COUNT - 1,
#define X(a, b, out, sum, word) RUNGI_##a##_##b##_TO_##out,
    RUNGI_GEMM_MIXED_TYPES_LIST(X)
#undef X
        RUNGI_GEMM_PLAIN_TYPES_COUNT,
    RUNGI_GEMM_LAST_PLAIN_TYPES = RUNGI_GEMM_PLAIN_TYPES_COUNT - 1,
#define X(a, b, out, sum, word) RUNGI_##a##_##b##_TO_##out,
    RUNGI_GEMM_INTEGER_PAIRS_LIST(X)
#undef X
        RUNGI_GEMM_FIRST_FLOAT_PAIR,
    RUNGI_GEMM_LAST_INTEGER_PAIR = RUNGI_GEMM_FIRST_FLOAT_PAIR - 1,
#define X(a, b, out, sum, word) RUNGI_##a##_##b##_TO_##out,
    RUNGI_GEMM_FLOAT_PAIRS_LIST(X)
#undef X
        RUNGI_GEMM_TYPES_COUNT
} rungi_gemm_types;

/* A bit set of combinations. Those of a quantized A and B share two bits, one of which is for two floating-point types: a kernel
 * that multiplies one of them with scales says in its configuration which others it multiplies. */
typedef uint64_t rungi_gemm_types_set;

/* The sets of all combinations of a quantized A and B and of those of two floating-point types, and the set of one combination. */
#define RUNGI_GEMM_INTEGER_PAIRS (UINT64_C(1) << RUNGI_GEMM_PLAIN_TYPES_COUNT)
#define RUNGI_GEMM_FLOAT_PAIRS (RUNGI_GEMM_INTEGER_PAIRS << 1)
#define RUNGI_GEMM_TYPES_QUANTIZED (RUNGI_GEMM_INTEGER_PAIRS | RUNGI_GEMM_FLOAT_PAIRS)
#define RUNGI_GEMM_TYPES_BIT(types)                                     \
    ((types) < RUNGI_GEMM_PLAIN_TYPES_COUNT  ? UINT64_C(1) << (types)   \
     : (types) < RUNGI_GEMM_FIRST_FLOAT_PAIR ? RUNGI_GEMM_INTEGER_PAIRS \
                                             : RUNGI_GEMM_FLOAT_PAIRS)

/* The sets of all combinations, of those in which A and B have the same type, of those in which only B is narrow, and of those
 * that a kernel multiplies if it does not say which. 8-bit floating-point types are an exception: only matrix engines profit
 * from them. */
#define RUNGI_GEMM_TYPES_ALL (RUNGI_GEMM_INTEGER_PAIRS - 1 + RUNGI_GEMM_TYPES_QUANTIZED)
#define RUNGI_GEMM_TYPES_MIXED (RUNGI_GEMM_TYPES_ALL - RUNGI_GEMM_TYPES_QUANTIZED - RUNGI_GEMM_TYPES_SAME)
enum {
    RUNGI_GEMM_TYPES_SAME = (1u << RUNGI_GEMM_SAME_TYPES_COUNT) - 1,
    RUNGI_GEMM_TYPES_USUAL = (1u << RUNGI_F8E4M3_TO_F32) - 1
};
_Static_assert(RUNGI_GEMM_PLAIN_TYPES_COUNT <= 62, "a bit set has enough bits");

/* Returns the combination of these types of A, B and C; RUNGI_GEMM_TYPES_COUNT if it is not supported. */
rungi_gemm_types rungi_gemm_types_of(rung_type a, rung_type b, rung_type c);

/* Returns the combination with this name, or RUNGI_GEMM_TYPES_COUNT if the name is unknown. */
rungi_gemm_types rungi_gemm_types_find(rungi_string_view name);

/* Returns the combination with this name as a set; for "*q8_0", all combinations in which only B has type Q8_0; for
 * "quantized*quantized", those of a quantized A and B; for "float*float", those of two quantized floating-point types. An unknown name, and that of one of the latter, gives the empty set. */
rungi_gemm_types_set rungi_gemm_types_find_set(rungi_string_view name);

/* Return the name of a combination, "f16:f32", and its accumulator type; "?" and RUNG_TYPE_NONE for invalid values. */
const char *rungi_gemm_types_name(rungi_gemm_types types);
rung_type rungi_gemm_types_accumulator(rungi_gemm_types types);

/* Writes the names in a bit set: "f32, f16:f32, *q8_0". RUNGI_GEMM_TYPES_TEXT_BYTES always suffice. */
enum { RUNGI_GEMM_TYPES_TEXT_BYTES = 1024 };
void rungi_gemm_types_format(rungi_gemm_types_set set, char *text, size_t capacity);
