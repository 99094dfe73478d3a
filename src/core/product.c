/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - see product.h. */
#include "core/product.h"

#include <stdio.h>

static const struct {
    rung_type in, out, sum;
    const char *word;
} products[RUNGI_PRODUCT_COUNT] = {
#define X(in, out, sum, word) {RUNG_##in, RUNG_##out, RUNG_##sum, word},
    RUNGI_PRODUCT_LIST(X)
#undef X
};

static int is_product(rungi_product product)
{
    return (int)product >= 0 && product < RUNGI_PRODUCT_COUNT;
}

rungi_product rungi_product_of(rung_type a, rung_type b, rung_type c)
{
    for (int i = 0; i < RUNGI_PRODUCT_COUNT; i++)
        if (products[i].in == a && products[i].in == b && products[i].out == c)
            return (rungi_product)i;
    return RUNGI_PRODUCT_COUNT;
}

const char *rungi_product_name(rungi_product product)
{
    return is_product(product) ? products[product].word : "?";
}

rung_type rungi_product_sum(rungi_product product)
{
    return is_product(product) ? products[product].sum : RUNG_TYPE_NONE;
}

rung_type rung_accumulator_type(rung_type a, rung_type b, rung_type c)
{
    return rungi_product_sum(rungi_product_of(a, b, c));
}

void rungi_product_words(unsigned bits, char *text, size_t capacity)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < RUNGI_PRODUCT_COUNT && used < capacity; i++)
        if (bits & 1u << i)
            used += (size_t)snprintf(text + used, capacity - used, "%s%s", used ? ", " : "", products[i].word);
}
