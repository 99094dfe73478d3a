/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - the one list of what is multiplied into what: the type of A and B, the type of C, the accumulator's type,
 * and the word for it in kernel files, tuning files and command lines. rung_accumulator_type() is its public form. */
#ifndef RUNGI_PRODUCT_H
#define RUNGI_PRODUCT_H

#include <stddef.h>

#include "rung/rung.h"

#define RUNGI_PRODUCT_LIST(X)     \
    X(F32, F32, F32, "f32")       \
    X(F32, F16, F32, "f32:f16")   \
    X(F32, BF16, F32, "f32:bf16") \
    X(F64, F64, F64, "f64")       \
    X(F64, F32, F64, "f64:f32")   \
    X(F16, F16, F32, "f16")       \
    X(F16, F32, F32, "f16:f32")   \
    X(BF16, BF16, F32, "bf16")    \
    X(BF16, F32, F32, "bf16:f32") \
    X(I8, I32, I32, "i8")         \
    X(I32, I32, I32, "i32")

typedef enum rungi_product {
#define X(in, out, sum, word) RUNGI_##in##_TO_##out,
    RUNGI_PRODUCT_LIST(X)
#undef X
        RUNGI_PRODUCT_COUNT
} rungi_product;

/* All products as bits: (1 << RUNGI_F16_TO_F32) and so on. */
enum { RUNGI_PRODUCTS_ALL = (1u << RUNGI_PRODUCT_COUNT) - 1 };

/* Returns the product of these types of A, B and C; RUNGI_PRODUCT_COUNT if there is none. */
rungi_product rungi_product_of(rung_type a, rung_type b, rung_type c);

/* Return the word of a product, "f16:f32", and the type of its accumulator; "?" and RUNG_TYPE_NONE for other values. */
const char *rungi_product_name(rungi_product product);
rung_type rungi_product_sum(rungi_product product);

/* Writes the words of some products, given as bits: "f32, f16:f32". */
void rungi_product_words(unsigned products, char *text, size_t capacity);

#endif /* RUNGI_PRODUCT_H */
