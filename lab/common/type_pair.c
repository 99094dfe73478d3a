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
static int pair_count;

static bool is_type(int type)
{
    return strcmp(rung_type_name((rung_type)type), "?") != 0;
}

static bool is_supported_pair(rung_type in, rung_type out)
{
    return rung_accumulator_type(in, in, out) != RUNG_TYPE_NONE;
}

static void add_pair(rung_type in, rung_type out, bool is_short)
{
    if (pair_count == LAB_TYPE_PAIRS_MAX)
        return;
    type_pairs[pair_count].pair = (lab_type_pair){in, out};
    snprintf(type_pairs[pair_count].name, sizeof type_pairs[0].name, "%s%s%s", rung_type_name(in), is_short ? "" : ":",
             is_short ? "" : rung_type_name(out));
    pair_count++;
}

/* Returns the type of C in the pair with the short name: the type of A, else the first supported one. */
static rung_type default_output_type(rung_type in)
{
    if (is_supported_pair(in, in))
        return in;
    for (int out = 1; is_type(out); out++)
        if (is_supported_pair(in, (rung_type)out))
            return (rung_type)out;
    return RUNG_TYPE_NONE;
}

static void find_type_pairs(void)
{
    for (int in = 1; is_type(in); in++) {
        rung_type first = default_output_type((rung_type)in);
        if (first != RUNG_TYPE_NONE)
            add_pair((rung_type)in, first, true);
        for (int out = 1; is_type(out); out++)
            if (out != (int)first && is_supported_pair((rung_type)in, (rung_type)out))
                add_pair((rung_type)in, (rung_type)out, false);
    }
}

int lab_type_pair_count(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_type_pairs);
    return pair_count;
}

lab_type_pair lab_type_pair_at(int index)
{
    return index >= 0 && index < lab_type_pair_count() ? type_pairs[index].pair
                                                       : (lab_type_pair){RUNG_TYPE_NONE, RUNG_TYPE_NONE};
}

int lab_type_pair_index(lab_type_pair pair)
{
    int index = 0;
    while (index < lab_type_pair_count() && !lab_type_pair_equal(type_pairs[index].pair, pair))
        index++;
    return index;
}

const char *lab_type_pair_name(lab_type_pair pair)
{
    int index = lab_type_pair_index(pair);
    return index < lab_type_pair_count() ? type_pairs[index].name : "?";
}

bool lab_type_pair_find(const char *name, size_t length, lab_type_pair *pair)
{
    for (int i = 0; i < lab_type_pair_count(); i++)
        if (strlen(type_pairs[i].name) == length && strncmp(type_pairs[i].name, name, length) == 0) {
            *pair = type_pairs[i].pair;
            return true;
        }
    return false;
}

rung_type lab_type_pair_accumulator(lab_type_pair pair)
{
    return rung_accumulator_type(pair.in, pair.in, pair.out);
}

bool lab_type_pair_is(lab_type_pair pair, rung_type in, rung_type out)
{
    return pair.in == in && pair.out == out;
}

bool lab_type_pair_equal(lab_type_pair x, lab_type_pair y)
{
    return x.in == y.in && x.out == y.out;
}
