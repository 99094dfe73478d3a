/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - see product.h. */
#include "product.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
    lab_product product;
    char word[32];
} products[LAB_PRODUCTS_MAX];
static int product_count;

static bool is_type(int type)
{
    return strcmp(rung_type_name((rung_type)type), "?") != 0;
}

static bool is_multiplied(rung_type in, rung_type out)
{
    return rung_accumulator_type(in, in, out) != RUNG_TYPE_NONE;
}

static void add(rung_type in, rung_type out, bool is_short)
{
    if (product_count == LAB_PRODUCTS_MAX)
        return;
    products[product_count].product = (lab_product){in, out};
    snprintf(products[product_count].word, sizeof products[0].word, "%s%s%s", rung_type_name(in), is_short ? "" : ":",
             is_short ? "" : rung_type_name(out));
    product_count++;
}

/* Returns C's type in the product with the short word: A's own type, else the first that is multiplied. */
static rung_type short_out(rung_type in)
{
    if (is_multiplied(in, in))
        return in;
    for (int out = 1; is_type(out); out++)
        if (is_multiplied(in, (rung_type)out))
            return (rung_type)out;
    return RUNG_TYPE_NONE;
}

static void find_products(void)
{
    for (int in = 1; is_type(in); in++) {
        rung_type first = short_out((rung_type)in);
        if (first != RUNG_TYPE_NONE)
            add((rung_type)in, first, true);
        for (int out = 1; is_type(out); out++)
            if (out != (int)first && is_multiplied((rung_type)in, (rung_type)out))
                add((rung_type)in, (rung_type)out, false);
    }
}

int lab_product_count(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_products);
    return product_count;
}

lab_product lab_product_at(int index)
{
    return index >= 0 && index < lab_product_count() ? products[index].product
                                                     : (lab_product){RUNG_TYPE_NONE, RUNG_TYPE_NONE};
}

int lab_product_index(lab_product product)
{
    int index = 0;
    while (index < lab_product_count() && !lab_product_equal(products[index].product, product))
        index++;
    return index;
}

const char *lab_product_name(lab_product product)
{
    int index = lab_product_index(product);
    return index < lab_product_count() ? products[index].word : "?";
}

bool lab_product_find(const char *word, size_t length, lab_product *product)
{
    for (int i = 0; i < lab_product_count(); i++)
        if (strlen(products[i].word) == length && strncmp(products[i].word, word, length) == 0) {
            *product = products[i].product;
            return true;
        }
    return false;
}

rung_type lab_product_sum(lab_product product)
{
    return rung_accumulator_type(product.in, product.in, product.out);
}

bool lab_product_is(lab_product product, rung_type in, rung_type out)
{
    return product.in == in && product.out == out;
}

bool lab_product_equal(lab_product x, lab_product y)
{
    return x.in == y.in && x.out == y.out;
}
