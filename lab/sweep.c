/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.c - see sweep.h. */
#include "sweep.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

/* ---- Parameters ------------------------------------------------------------------------------ */

/* The combinations so far, each to be continued by every value of the next. */
typedef struct combinations {
    char (*texts)[LAB_PARAMETERS_TEXT];
    int  count;
} combinations;

static bool has_parameter(const rung_kernel_info *info, const char *name, size_t length)
{
    for (int64_t i = 0; i < info->parameter_count; i++)
        if (strlen(info->parameters[i].name) == length &&
            strncmp(info->parameters[i].name, name, length) == 0)
            return true;
    return false;
}

/* Adds each of the bases with `word` appended. */
static bool extend(combinations *all, const char bases[][LAB_PARAMETERS_TEXT], int base_count,
                   const char *word)
{
    for (int i = 0; i < base_count; i++) {
        if (all->count == LAB_SWEEP_MAX)
            return false;
        snprintf(all->texts[all->count++], LAB_PARAMETERS_TEXT, "%s%s%s", bases[i],
                 *bases[i] ? "," : "", word);
    }
    return true;
}

/* Continues all combinations by one parameter with each of its values, or by a preset,
 * which has no name before it. */
static bool multiply(combinations *all, const char *name, size_t name_length, const char *values)
{
    static char bases[LAB_SWEEP_MAX][LAB_PARAMETERS_TEXT];
    int base_count = all->count;
    memcpy(bases, all->texts, sizeof bases);
    all->count = 0;
    while (*values) {
        char word[96];
        size_t length = strcspn(values, ",");
        if (name_length > 0)
            snprintf(word, sizeof word, "%.*s=%.*s", (int)name_length, name, (int)length, values);
        else
            snprintf(word, sizeof word, "%.*s", (int)length, values);
        if (!extend(all, (const char (*)[LAB_PARAMETERS_TEXT])bases, base_count, word))
            return false;
        values += length + (values[length] == ',');
    }
    return all->count > 0;
}

/* The values of one parameter: up to the next word that is not a number. */
static size_t values_length(const char *text)
{
    size_t length = strcspn(text, ",");
    while (text[length] == ',' && isdigit((unsigned char)text[length + 1])) {
        size_t word = strcspn(text + length + 1, ",");
        if (memchr(text + length + 1, '=', word))
            break;
        length += 1 + word;
    }
    return length;
}

static bool combine(const rung_kernel_info *info, const char *text, combinations *all)
{
    while (*text) {
        char values[128];
        size_t name_length = strcspn(text, "=,");
        bool is_parameter = text[name_length] == '=';
        const char *start = is_parameter ? text + name_length + 1 : text;
        size_t length = is_parameter ? values_length(start) : strcspn(start, ",");
        if (length == 0 || length >= sizeof values)
            return false;
        snprintf(values, sizeof values, "%.*s", (int)length, start);
        if ((!is_parameter || has_parameter(info, text, name_length)) &&
            !multiply(all, text, is_parameter ? name_length : 0, values))
            return false;
        text = start + length;
        text += *text == ',';
    }
    return true;
}

int lab_sweep_parameters(const rung_kernel *kernel, const char *text,
                         char texts[LAB_SWEEP_MAX][LAB_PARAMETERS_TEXT])
{
    combinations all = {.texts = texts, .count = 1};
    int kept = 0;
    texts[0][0] = '\0';
    if (text && !combine(rung_kernel_describe(kernel), text, &all))
        return -1;
    for (int i = 0; i < all.count; i++)
        if (rung_kernel_check(kernel, texts[i]) == RUNG_OK) {
            if (kept != i)
                memcpy(texts[kept], texts[i], LAB_PARAMETERS_TEXT);
            kept++;
        }
    return kept;
}

/* ---- Sizes -------------------------------------------------------------------------------------- */

/* "256" or "128:512:128". */
static bool add_range(const char *text, int64_t sizes[LAB_SWEEP_MAX], int *count)
{
    char copy[96];
    int64_t low, high, step = 1;
    snprintf(copy, sizeof copy, "%s", text);
    char *colon = strchr(copy, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    if (colon)
        *colon = '\0';
    if (second)
        *second = '\0';
    if (!lab_read_integer(copy, &low) || (colon && !lab_read_integer(colon + 1, &high)) ||
        (second && !lab_read_integer(second + 1, &step)))
        return false;
    if (!colon)
        high = low;
    if (low < 1 || high < low || step < 1)
        return false;
    for (int64_t size = low; size <= high; size += step) {
        if (*count == LAB_SWEEP_MAX)
            return false;
        sizes[(*count)++] = size;
    }
    return true;
}

/* "64x4096x512"; true of any other word, which is then left as it is. */
static bool read_shape(const char *word, lab_shape *shape, bool *is_shape)
{
    char copy[96];
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
        if (!lab_read_integer(rest, sides[i]) || *sides[i] < 1)
            return false;
        rest = cross ? cross + 1 : NULL;
    }
    return true;
}

int lab_sweep_shapes(const char *text, lab_shape shapes[LAB_SWEEP_MAX])
{
    int count = 0;
    while (*text) {
        char word[96];
        int64_t sizes[LAB_SWEEP_MAX];
        lab_shape shape;
        bool is_shape;
        size_t length = strcspn(text, ",");
        int found = 0;
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
        char word[96];
        size_t length = strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        if (!add_range(word, sizes, &count))
            return -1;
        text += length + (text[length] == ',');
    }
    return count > 0 ? count : -1;
}
