/* SPDX-License-Identifier: Apache-2.0 */
/* type_pair.c - see type_pair.h. */
#include "common/type_pair.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
    lab_type_pair pair;
    char name[32];
} type_pairs[LAB_TYPE_PAIRS_MAX];
static int same_count, total_count;

static bool is_type(int type)
{
    return strcmp(rung_type_name((rung_type)type), "?") != 0;
}

static bool is_supported(rung_type a, rung_type b, rung_type out)
{
    return rung_accumulator_type(a, b, out) != RUNG_TYPE_NONE;
}

/* Returns whether the pair is mixed. */
static bool is_mixed(rung_type a, rung_type b, rung_type out)
{
    bool is_float = rung_accumulator_type(a, b, out) == RUNG_F32;
    return a != b || (is_float && (a == RUNG_I8 || a == RUNG_U8 || rung_type_block_elements(a) == 2));
}

static void add_pair(rung_type a, rung_type b, rung_type out, bool is_short)
{
    bool has_b = is_mixed(a, b, out);
    if (total_count == LAB_TYPE_PAIRS_MAX)
        return;
    type_pairs[total_count].pair = (lab_type_pair){a, out, has_b ? b : RUNG_TYPE_NONE};
    snprintf(type_pairs[total_count].name, sizeof type_pairs[0].name, "%s%s%s%s%s", rung_type_name(a), has_b ? "*" : "",
             has_b ? rung_type_name(b) : "", is_short ? "" : ":", is_short ? "" : rung_type_name(out));
    total_count++;
}

/* Returns the type of C in the pair with the short name: the type of A, else the first supported one. */
static rung_type default_output_type(rung_type a, rung_type b, bool mixed)
{
    if (is_supported(a, b, a) && is_mixed(a, b, a) == mixed)
        return a;
    for (int out = 1; is_type(out); out++)
        if (is_supported(a, b, (rung_type)out) && is_mixed(a, b, (rung_type)out) == mixed)
            return (rung_type)out;
    return RUNG_TYPE_NONE;
}

/* Adds every mixed pair with these types of A and B, or every other one. */
static void add_outputs(rung_type a, rung_type b, bool mixed)
{
    rung_type first = default_output_type(a, b, mixed);
    if (first != RUNG_TYPE_NONE)
        add_pair(a, b, first, true);
    for (int out = 1; is_type(out); out++)
        if (out != (int)first && is_supported(a, b, (rung_type)out) && is_mixed(a, b, (rung_type)out) == mixed)
            add_pair(a, b, (rung_type)out, false);
}

static void find_type_pairs(void)
{
    for (int in = 1; is_type(in); in++)
        add_outputs((rung_type)in, (rung_type)in, false);
    same_count = total_count;
    for (int a = 1; is_type(a); a++)
        for (int b = 1; is_type(b); b++)
            add_outputs((rung_type)a, (rung_type)b, true);
}

int lab_type_pair_total(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_type_pairs);
    return total_count;
}

int lab_type_pair_count(void)
{
    return lab_type_pair_total() > 0 ? same_count : 0;
}

lab_type_pair lab_type_pair_at(int index)
{
    return index >= 0 && index < lab_type_pair_total() ? type_pairs[index].pair
                                                       : lab_type_pair_of(RUNG_TYPE_NONE, RUNG_TYPE_NONE);
}

int lab_type_pair_index(lab_type_pair pair)
{
    int index = 0;
    while (index < lab_type_pair_total() && !lab_type_pair_equal(type_pairs[index].pair, pair))
        index++;
    return index;
}

const char *lab_type_pair_name(lab_type_pair pair)
{
    int index = lab_type_pair_index(pair);
    return index < lab_type_pair_total() ? type_pairs[index].name : "?";
}

bool lab_type_pair_find(const char *name, size_t length, lab_type_pair *pair)
{
    for (int i = 0; i < lab_type_pair_total(); i++)
        if (strlen(type_pairs[i].name) == length && strncmp(type_pairs[i].name, name, length) == 0) {
            *pair = type_pairs[i].pair;
            return true;
        }
    return false;
}

rung_type lab_type_pair_b(lab_type_pair pair)
{
    return lab_type_pair_is_mixed(pair) ? pair.b : pair.in;
}

rung_type lab_type_pair_accumulator(lab_type_pair pair)
{
    return rung_accumulator_type(pair.in, lab_type_pair_b(pair), pair.out);
}

bool lab_type_pair_is_mixed(lab_type_pair pair)
{
    return pair.b != RUNG_TYPE_NONE;
}

int64_t lab_type_pair_block(lab_type_pair pair)
{
    return lab_type_pair_is_mixed(pair) ? rung_type_block_elements(pair.b) : 1;
}

bool lab_type_pair_is(lab_type_pair pair, rung_type in, rung_type out)
{
    return pair.in == in && pair.out == out && !lab_type_pair_is_mixed(pair);
}

bool lab_type_pair_equal(lab_type_pair x, lab_type_pair y)
{
    return x.in == y.in && x.out == y.out && x.b == y.b;
}
