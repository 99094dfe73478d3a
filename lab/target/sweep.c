/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - see sweep.h. */
#include "target/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"
#include "common/text.h"
#include "target/parameters.h"

/* ---- Parameters ------------------------------------------------------------------------------ */

/* The text of one combination of parameters. */
typedef char combination_t[LAB_PARAMETERS_BYTES];

const char *lab_parameters_length_error(const char *text)
{
    static char error[96];
    if (!text || strlen(text) < LAB_PARAMETERS_BYTES)
        return NULL;
    snprintf(error, sizeof error, "--params has %zu bytes; the maximum is %d", strlen(text), LAB_PARAMETERS_BYTES - 1);
    return error;
}

/* Adds each base with `word` appended. Returns false if there are too many combinations or one is too long. */
static bool append_to_combinations(combination_t *all, int *count, const combination_t *bases, int base_count,
                                   const char *word)
{
    for (int i = 0; i < base_count; i++) {
        if (*count == LAB_SWEEP_MAX)
            return false;
        if (snprintf(all[(*count)++], LAB_PARAMETERS_BYTES, "%s%s%s", bases[i], *bases[i] ? "," : "", word) >=
            LAB_PARAMETERS_BYTES)
            return false;
    }
    return true;
}

/* Combines all combinations with each value of a parameter, or with a preset, which has no parameter name. */
static bool add_parameter_values(combination_t *all, int *count, rungi_string_view name, const char *values)
{
    static combination_t bases[LAB_SWEEP_MAX];
    int base_count = *count;
    rungi_string_view value;
    memcpy(bases, all, sizeof bases);
    *count = 0;
    while (lab_list_next(&values, &value)) {
        char word[LAB_PARAMETERS_BYTES];
        int written = snprintf(word, sizeof word, "%.*s%s%.*s", (int)name.length, name.text, name.length > 0 ? "=" : "",
                               (int)value.length, value.text);
        if (written < 0 || (size_t)written >= sizeof word ||
            !append_to_combinations(all, count, (const combination_t *)bases, base_count, word))
            return false;
    }
    return *count > 0;
}

/* Combines the values of all parameters that the kernel has. */
static bool combine(const rung_kernel *kernel, const char *text, combination_t *all, int *count)
{
    lab_parameter_word word;
    lab_parameter_token read;
    while ((read = lab_parameter_next(&text, &word)) == LAB_PARAMETER_WORD) {
        char values[LAB_PARAMETERS_BYTES];
        rungi_string_view name = word.values.text ? word.name : (rungi_string_view){"", 0};
        rungi_string_view given = word.values.text ? word.values : word.name;
        if (given.length >= sizeof values)
            return false;
        snprintf(values, sizeof values, "%.*s", (int)given.length, given.text);
        if (lab_kernel_has_parameter(kernel, &word) && !add_parameter_values(all, count, name, values))
            return false;
    }
    return read == LAB_PARAMETER_END;
}

int lab_sweep_parameters(const rung_kernel *kernel, const char *text, char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_BYTES])
{
    int combinations = 1, count = 0;
    texts[0][0] = '\0';
    if (text && !combine(kernel, text, texts, &combinations))
        return -1;
    for (int i = 0; i < combinations; i++)
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
    rungi_string_view item;
    while (lab_list_next(&list, &item))
        if (rungi_string_view_equals(item, word))
            return true;
    return false;
}

/* Returns whether an accepted combination of this kernel contains this word. */
static bool is_used(const rung_kernel *kernel, const char *text, const char *word)
{
    static combination_t texts[LAB_SWEEP_MAX];
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
    const char *values = word->values.text;
    rungi_string_view value;
    if (!values) /* a preset */
        return true;
    while (values < word->values.text + word->values.length && lab_list_next(&values, &value)) {
        char single[LAB_PARAMETERS_BYTES];
        snprintf(single, sizeof single, "%.*s=%.*s", (int)word->name.length, word->name.text, (int)value.length,
                 value.text);
        if (!check_value(kernels, count, text, single, error, capacity))
            return false;
    }
    return true;
}

bool lab_sweep_check(const rung_kernel *const *kernels, int count, const char *text, char *error, size_t capacity)
{
    static combination_t texts[LAB_SWEEP_MAX];
    lab_parameter_word word;
    const char *at = text ? text : "";
    if (!lab_parameters_check(kernels, count, text, error, capacity))
        return false;
    for (int i = 0; i < count; i++)
        if (kernels[i] && lab_sweep_parameters(kernels[i], text, texts) < 0) {
            snprintf(error, capacity,
                     "--params gives more than %d combinations for %s, or one of more than %d bytes; give fewer values",
                     LAB_SWEEP_MAX, rung_kernel_describe(kernels[i])->name, LAB_PARAMETERS_BYTES - 1);
            return false;
        }
    while (lab_parameter_next(&at, &word) == LAB_PARAMETER_WORD)
        if (!check_values(kernels, count, text, &word, error, capacity))
            return false;
    return true;
}

/* ---- Sizes -------------------------------------------------------------------------------------- */

enum { SIZE_TEXT_BYTES = 96 }; /* of one word, with its terminating 0 */

/* Adds the sizes of "256" or "128:512:128". */
static bool add_range(char *text, lab_shape shapes[LAB_SWEEP_MAX], int *count)
{
    int64_t low, high, step = 1;
    char *colon = strchr(text, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    if (colon)
        *colon = '\0';
    if (second)
        *second = '\0';
    if (!lab_parse_integer(text, &low) || (colon && !lab_parse_integer(colon + 1, &high)) ||
        (second && !lab_parse_integer(second + 1, &step)))
        return false;
    if (!colon)
        high = low;
    if (low < 1 || high < low || step < 1)
        return false;
    for (int64_t size = low;; size += step) {
        if (*count == LAB_SWEEP_MAX)
            return false;
        shapes[(*count)++] = (lab_shape){size, size, size};
        if (high - size < step) /* so that size cannot overflow */
            return true;
    }
}

/* Adds the shape of "64x4096x512". */
static bool add_shape(const char *text, lab_shape shapes[LAB_SWEEP_MAX], int *count)
{
    int64_t sides[3];
    if (*count == LAB_SWEEP_MAX || !lab_parse_extents(text, 3, sides) || sides[0] < 1 || sides[1] < 1 || sides[2] < 1)
        return false;
    shapes[(*count)++] = (lab_shape){sides[0], sides[1], sides[2]};
    return true;
}

int lab_sweep_shapes(const char *text, lab_shape shapes[LAB_SWEEP_MAX])
{
    int count = 0;
    rungi_string_view listed;
    while (lab_list_next(&text, &listed)) {
        char word[SIZE_TEXT_BYTES];
        if (listed.length >= sizeof word)
            return -1;
        snprintf(word, sizeof word, "%.*s", (int)listed.length, listed.text);
        if (!(strchr(word, 'x') ? add_shape(word, shapes, &count) : add_range(word, shapes, &count)))
            return -1;
    }
    return count > 0 ? count : -1;
}

int lab_sweep_sizes(const char *text, int64_t sizes[LAB_SWEEP_MAX])
{
    lab_shape shapes[LAB_SWEEP_MAX];
    int count = strchr(text, 'x') ? -1 : lab_sweep_shapes(text, shapes);
    for (int i = 0; i < count; i++)
        sizes[i] = shapes[i].m;
    return count;
}
