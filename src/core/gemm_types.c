/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_types.c - see gemm_types.h. */
#include "core/gemm_types.h"

#include <stdbool.h>
#include <stdio.h>

static const struct {
    rung_type a, b, out, sum;
    const char *word;
} types_table[RUNGI_GEMM_TYPES_COUNT] = {
#define X(in, out, sum, word) [RUNGI_##in##_TO_##out] = {RUNG_##in, RUNG_##in, RUNG_##out, RUNG_##sum, word},
    RUNGI_GEMM_TYPES_LIST(X)
#undef X
#define X(a, b, out, sum, word) [RUNGI_##a##_##b##_TO_##out] = {RUNG_##a, RUNG_##b, RUNG_##out, RUNG_##sum, word},
        RUNGI_GEMM_MIXED_TYPES_LIST(X) RUNGI_GEMM_QUANTIZED_TYPES_LIST(X)
#undef X
};

/* The names of RUNGI_GEMM_TYPES_QUANTIZED and RUNGI_GEMM_FLOAT_PAIRS in kernel files and messages. */
static const char quantized_word[] = "quantized*quantized", float_word[] = "float*float";

static int is_valid(rungi_gemm_types types)
{
    return (int)types >= 0 && types < RUNGI_GEMM_TYPES_COUNT;
}

rungi_gemm_types rungi_gemm_types_of(rung_type a, rung_type b, rung_type c)
{
    for (int i = 0; i < RUNGI_GEMM_TYPES_COUNT; i++)
        if (types_table[i].a == a && types_table[i].b == b && types_table[i].out == c)
            return (rungi_gemm_types)i;
    return RUNGI_GEMM_TYPES_COUNT;
}

rungi_gemm_types rungi_gemm_types_find(rungi_string_view name)
{
    int types = 0;
    while (types < RUNGI_GEMM_TYPES_COUNT && !rungi_string_view_equals(name, types_table[types].word))
        types++;
    return (rungi_gemm_types)types;
}

/* Returns the combinations in which only B has the type of the B of `types`. */
static rungi_gemm_types_set set_of_b(rungi_gemm_types types)
{
    rungi_gemm_types_set set = 0;
    for (int i = RUNGI_GEMM_SAME_TYPES_COUNT; i < RUNGI_GEMM_PLAIN_TYPES_COUNT; i++)
        if (types_table[i].b == types_table[types].b)
            set |= RUNGI_GEMM_TYPES_BIT(i);
    return set;
}

rungi_gemm_types_set rungi_gemm_types_find_set(rungi_string_view name)
{
    rungi_gemm_types types = rungi_gemm_types_find(name);
    if (types < RUNGI_GEMM_PLAIN_TYPES_COUNT)
        return RUNGI_GEMM_TYPES_BIT(types);
    if (rungi_string_view_equals(name, quantized_word))
        return RUNGI_GEMM_TYPES_QUANTIZED;
    if (rungi_string_view_equals(name, float_word))
        return RUNGI_GEMM_FLOAT_PAIRS;
    if (name.length < 2 || *name.text != '*')
        return 0;
    rungi_string_view b = {name.text + 1, name.length - 1};
    for (int i = RUNGI_GEMM_SAME_TYPES_COUNT; i < RUNGI_GEMM_PLAIN_TYPES_COUNT; i++)
        if (rungi_string_view_equals(b, rung_type_name(types_table[i].b)))
            return set_of_b((rungi_gemm_types)i);
    return 0;
}

const char *rungi_gemm_types_name(rungi_gemm_types types)
{
    return is_valid(types) ? types_table[types].word : "?";
}

rung_type rungi_gemm_types_accumulator(rungi_gemm_types types)
{
    return is_valid(types) ? types_table[types].sum : RUNG_TYPE_NONE;
}

rung_type rung_accumulator_type(rung_type a, rung_type b, rung_type c)
{
    return rungi_gemm_types_accumulator(rungi_gemm_types_of(a, b, c));
}

void rungi_gemm_types_format(rungi_gemm_types_set set, char *text, size_t capacity)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < RUNGI_GEMM_PLAIN_TYPES_COUNT && used < capacity; i++) {
        rungi_gemm_types_set alike = i < RUNGI_GEMM_SAME_TYPES_COUNT ? 0 : set_of_b((rungi_gemm_types)i);
        bool is_short = alike != 0 && (set & alike) == alike;
        if (!(set & RUNGI_GEMM_TYPES_BIT(i)))
            continue;
        used += (size_t)snprintf(text + used, capacity - used, "%s%s%s", used ? ", " : "", is_short ? "*" : "",
                                 is_short ? rung_type_name(types_table[i].b) : types_table[i].word);
        if (is_short)
            set &= ~alike;
    }
    if (set & RUNGI_GEMM_TYPES_QUANTIZED && used < capacity)
        snprintf(text + used, capacity - used, "%s%s", used ? ", " : "",
                 set & RUNGI_GEMM_INTEGER_PAIRS ? quantized_word : float_word);
}
