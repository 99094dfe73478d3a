/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - see sweep.h. */
#include "target/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "target/parameters.h"

/* ---- Parameters ------------------------------------------------------------------------------ */

/* The combinations of the parameters so far. */
typedef struct combinations {
    char (*texts)[LAB_PARAMETERS_BYTES];
    int count;
} combinations_t;

const char *lab_parameters_length_error(const char *text)
{
    static char error[96];
    if (!text || strlen(text) < LAB_PARAMETERS_BYTES)
        return NULL;
    snprintf(error, sizeof error, "--params has %zu bytes; the maximum is %d", strlen(text), LAB_PARAMETERS_BYTES - 1);
    return error;
}

/* Adds each base with `word` appended. Returns false if there are too many combinations or one is too long. */
static bool append_to_combinations(combinations_t *all, const char bases[][LAB_PARAMETERS_BYTES], int base_count,
                                   const char *word)
{
    for (int i = 0; i < base_count; i++) {
        if (all->count == LAB_SWEEP_MAX)
            return false;
        if (snprintf(all->texts[all->count++], LAB_PARAMETERS_BYTES, "%s%s%s", bases[i], *bases[i] ? "," : "", word) >=
            LAB_PARAMETERS_BYTES)
            return false;
    }
    return true;
}

/* Combines all combinations with each value of a parameter, or with a preset, which has no parameter name. */
static bool add_parameter_values(combinations_t *all, const char *name, size_t name_length, const char *values)
{
    static char bases[LAB_SWEEP_MAX][LAB_PARAMETERS_BYTES];
    int base_count = all->count;
    memcpy(bases, all->texts, sizeof bases);
    all->count = 0;
    while (*values) {
        char word[LAB_PARAMETERS_BYTES];
        size_t length = strcspn(values, ",");
        int written = snprintf(word, sizeof word, "%.*s%s%.*s", (int)name_length, name, name_length > 0 ? "=" : "",
                               (int)length, values);
        if (written < 0 || (size_t)written >= sizeof word)
            return false;
        if (!append_to_combinations(all, (const char(*)[LAB_PARAMETERS_BYTES])bases, base_count, word))
            return false;
        values += length + (values[length] == ',');
    }
    return all->count > 0;
}

/* Combines the values of all parameters that the kernel has. */
static bool combine(const rung_kernel *kernel, const char *text, combinations_t *all)
{
    lab_parameter_word word;
    lab_parameter_token read;
    while ((read = lab_parameter_next(&text, &word)) == LAB_PARAMETER_WORD) {
        char values[LAB_PARAMETERS_BYTES];
        const char *start = word.values ? word.values : word.name;
        size_t length = word.values ? word.values_length : word.name_length;
        if (length >= sizeof values)
            return false;
        snprintf(values, sizeof values, "%.*s", (int)length, start);
        if (lab_kernel_has_parameter(kernel, &word) &&
            !add_parameter_values(all, word.name, word.values ? word.name_length : 0, values))
            return false;
    }
    return read == LAB_PARAMETER_END;
}

int lab_sweep_parameters(const rung_kernel *kernel, const char *text, char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_BYTES])
{
    combinations_t all = {.texts = texts, .count = 1};
    int count = 0;
    texts[0][0] = '\0';
    if (text && !combine(kernel, text, &all))
        return -1;
    for (int i = 0; i < all.count; i++)
        if (rung_kernel_check(kernel, texts[i]) == RUNG_OK) {
            if (count != i)
                memcpy(texts[count], texts[i], LAB_PARAMETERS_BYTES);
            count++;
        }
    return count;
}

/* Returns whether a list such as "TILE=16,PAD=1" contains this word. */
static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == '\0' || at[length] == ','))
            return true;
    return false;
}

/* Returns whether an accepted combination of this kernel contains this word. */
static bool is_used(const rung_kernel *kernel, const char *text, const char *word)
{
    static char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_BYTES];
    int count = kernel ? lab_sweep_parameters(kernel, text, texts) : 0;
    for (int i = 0; i < count; i++)
        if (has_word(texts[i], word))
            return true;
    return false;
}

/* Checks one "TILE=64" of the list. */
static bool check_value(const rung_kernel *const *kernels, int count, const char *text, const char *word, char *error,
                        size_t capacity)
{
    char reason[512] = "";
    for (int i = 0; i < count; i++) {
        if (is_used(kernels[i], text, word))
            return true;
        if (kernels[i] && !*reason && rung_kernel_check(kernels[i], word) == RUNG_STATUS_INVALID)
            snprintf(reason, sizeof reason, "%s", rung_error_text());
    }
    snprintf(error, capacity, "no kernel accepts %s%s: %s", word, *reason ? "" : " with the other parameters",
             *reason ? reason : rung_error_text());
    return false;
}

/* Checks each value of one word. */
static bool check_values(const rung_kernel *const *kernels, int count, const char *text, const lab_parameter_word *word,
                         char *error, size_t capacity)
{
    size_t length;
    for (size_t at = 0; word->values && at < word->values_length; at += length + 1) {
        char single[LAB_PARAMETERS_BYTES];
        length = strcspn(word->values + at, ",");
        snprintf(single, sizeof single, "%.*s=%.*s", (int)word->name_length, word->name, (int)length,
                 word->values + at);
        if (!check_value(kernels, count, text, single, error, capacity))
            return false;
    }
    return true;
}

static bool check_count(const rung_kernel *kernel, const char *text, char *error, size_t capacity)
{
    static char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_BYTES];
    if (!kernel || lab_sweep_parameters(kernel, text, texts) >= 0)
        return true;
    snprintf(error, capacity,
             "--params gives more than %d combinations for %s, or one of more than %d bytes; give fewer values",
             LAB_SWEEP_MAX, rung_kernel_describe(kernel)->name, LAB_PARAMETERS_BYTES - 1);
    return false;
}

bool lab_sweep_check(const rung_kernel *const *kernels, int count, const char *text, char *error, size_t capacity)
{
    lab_parameter_word word;
    const char *at = text ? text : "";
    if (!lab_parameters_check(kernels, count, text, error, capacity))
        return false;
    for (int i = 0; i < count; i++)
        if (!check_count(kernels[i], text, error, capacity))
            return false;
    while (lab_parameter_next(&at, &word) == LAB_PARAMETER_WORD)
        if (!check_values(kernels, count, text, &word, error, capacity))
            return false;
    return true;
}

/* ---- Sizes -------------------------------------------------------------------------------------- */

enum { SIZE_TEXT_BYTES = 96 }; /* of one word, with its terminating 0 */

/* Adds the sizes of "256" or "128:512:128". */
static bool add_range(const char *text, int64_t sizes[LAB_SWEEP_MAX], int *count)
{
    char copy[SIZE_TEXT_BYTES];
    int64_t low, high, step = 1;
    snprintf(copy, sizeof copy, "%s", text);
    char *colon = strchr(copy, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    if (colon)
        *colon = '\0';
    if (second)
        *second = '\0';
    if (!lab_parse_integer(copy, &low) || (colon && !lab_parse_integer(colon + 1, &high)) ||
        (second && !lab_parse_integer(second + 1, &step)))
        return false;
    if (!colon)
        high = low;
    if (low < 1 || high < low || step < 1)
        return false;
    for (int64_t size = low;; size += step) {
        if (*count == LAB_SWEEP_MAX)
            return false;
        sizes[(*count)++] = size;
        if (high - size < step) /* so that size cannot overflow */
            return true;
    }
}

/* Parses "64x4096x512". Returns true for a word without "x" too, with *is_shape false. */
static bool read_shape(const char *word, lab_shape *shape, bool *is_shape)
{
    char copy[SIZE_TEXT_BYTES];
    int64_t *sides[] = {&shape->m, &shape->n, &shape->k};
    snprintf(copy, sizeof copy, "%s", word);
    *is_shape = strchr(copy, 'x') != NULL;
    if (!*is_shape)
        return true;
    char *rest = copy;
    for (int i = 0; i < 3; i++) {
        char *cross = rest ? strchr(rest, 'x') : NULL;
        if (!rest || (i == 2) != !cross)
            return false;
        if (cross)
            *cross = '\0';
        if (!lab_parse_integer(rest, sides[i]) || *sides[i] < 1)
            return false;
        rest = cross ? cross + 1 : NULL;
    }
    return true;
}

int lab_sweep_shapes(const char *text, lab_shape shapes[LAB_SWEEP_MAX])
{
    int count = 0;
    while (*text) {
        char word[SIZE_TEXT_BYTES];
        int64_t sizes[LAB_SWEEP_MAX];
        lab_shape shape;
        bool is_shape;
        size_t length = strcspn(text, ",");
        int found = 0;
        if (length >= sizeof word)
            return -1;
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (!read_shape(word, &shape, &is_shape) || (!is_shape && !add_range(word, sizes, &found)) ||
            count + (is_shape ? 1 : found) > LAB_SWEEP_MAX)
            return -1;
        if (is_shape)
            shapes[count++] = shape;
        for (int i = 0; i < found; i++)
            shapes[count++] = (lab_shape){sizes[i], sizes[i], sizes[i]};
        text += length + (text[length] == ',');
    }
    return count > 0 ? count : -1;
}

int lab_sweep_sizes(const char *text, int64_t sizes[LAB_SWEEP_MAX])
{
    int count = 0;
    while (*text) {
        char word[SIZE_TEXT_BYTES];
        size_t length = strcspn(text, ",");
        if (length >= sizeof word)
            return -1;
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (!add_range(word, sizes, &count))
            return -1;
        text += length + (text[length] == ',');
    }
    return count > 0 ? count : -1;
}
