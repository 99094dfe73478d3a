/* SPDX-License-Identifier: Apache-2.0 */
/* product.h - what the library multiplies into what: the type of A and B, and the type of C. The products are found by
 * asking rung_accumulator_type() for each pair of types, so there is no second list. */
#ifndef LAB_PRODUCT_H
#define LAB_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

#include "rung/rung.h"

typedef struct lab_product {
    rung_type in, out;
} lab_product;

/* Room for all products of later versions, too; more are ignored. */
enum { LAB_PRODUCTS_MAX = 64 };

/* The products in order of the input type; of each, the one with the short word comes first. */
int lab_product_count(void);
lab_product lab_product_at(int index);

/* Returns the index of a product; lab_product_count() if the library does not multiply it. */
int lab_product_index(lab_product product);

/* Returns the word of --dtype and of results: "f32" if C has the type of A and B, "f32:f16" if it has another. "i8"
 * is I8 into I32, because I8 into I8 is not multiplied. "?" for what is no product. */
const char *lab_product_name(lab_product product);

/* Finds a product by its word, which has `length` characters. False if there is none. */
bool lab_product_find(const char *word, size_t length, lab_product *product);

/* Returns the type of the accumulator; RUNG_TYPE_NONE for what is no product. */
rung_type lab_product_sum(lab_product product);

bool lab_product_is(lab_product product, rung_type in, rung_type out);
bool lab_product_equal(lab_product x, lab_product y);

#endif /* LAB_PRODUCT_H */
