/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.c - see parameters.h. */
#include "target/parameters.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/nearest_word.h"
#include "common/text.h"

enum { NAMES_MAX = 256, NAME_MAX_LENGTH = 64 };

/* ---- Words ------------------------------------------------------------------------------------ */

/* Returns the length of a list of values: it ends before the next word that is not a number. */
static size_t length_of_values(const char *text)
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

lab_parameter_token lab_parameter_next(const char **text, lab_parameter_word *word)
{
    const char *start = *text;
    if (!*start)
        return LAB_PARAMETER_END;
    *word = (lab_parameter_word){.name = rungi_string_view_of(start, strcspn(start, "=,"))};
    const char *end = start + word->name.length;
    if (*end == '=') {
        word->values = rungi_string_view_of(end + 1, length_of_values(end + 1));
        end = word->values.text + word->values.length;
    }
    if (word->name.length == 0 || (word->values.text && word->values.length == 0))
        return LAB_PARAMETER_MALFORMED;
    *text = end + (*end == ',');
    return LAB_PARAMETER_WORD;
}

/* Returns the name of a parameter or preset; NULL after the last one, and for rung_gemm. */
static const char *name_at(const rung_kernel *kernel, bool is_preset, int64_t index)
{
    const rung_kernel_info *info = kernel ? rung_kernel_describe(kernel) : NULL;
    if (!info || index >= (is_preset ? info->preset_count : info->parameter_count))
        return NULL;
    return is_preset ? rung_kernel_preset(kernel, index)->name : rung_kernel_parameter(kernel, index)->name;
}

bool lab_kernel_has_parameter(const rung_kernel *kernel, const lab_parameter_word *word)
{
    const char *name;
    for (int64_t i = 0; (name = name_at(kernel, !word->values.text, i)) != NULL; i++)
        if (rungi_string_view_equals(word->name, name))
            return true;
    return false;
}

/* ---- Error texts ----------------------------------------------------------------------------- */

/* Names of parameters or presets without duplicates. */
typedef struct name_list {
    const char *list[NAMES_MAX];
    int count;
} name_list_t;

static void add_name(name_list_t *names, const char *name)
{
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return;
    if (names->count < NAMES_MAX)
        names->list[names->count++] = name;
}

/* Returns the name that the word, as written or in capitals, probably means, or NULL. */
static const char *suggest_name(const lab_parameter_word *word, const name_list_t *names)
{
    char text[NAME_MAX_LENGTH];
    if (word->name.length >= sizeof text)
        return NULL;
    snprintf(text, sizeof text, "%.*s", (int)word->name.length, word->name.text);
    const char *nearest = lab_nearest_word(text, names->list, names->count);
    for (char *at = text; !nearest && *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return nearest ? nearest : lab_nearest_word(text, names->list, names->count);
}

static void explain_unknown(const rung_kernel *const *kernels, int count, const lab_parameter_word *word, char *error,
                            size_t capacity)
{
    bool is_preset = !word->values.text;
    const char *kind = is_preset ? "preset" : "parameter", *name;
    name_list_t known = {.count = 0};
    for (int i = 0; i < count; i++)
        for (int64_t j = 0; (name = name_at(kernels[i], is_preset, j)) != NULL; j++)
            add_name(&known, name);
    const char *meant = suggest_name(word, &known);
    const char *single = count == 1 ? kernels[0] ? rung_kernel_describe(kernels[0])->name : "rung_gemm" : NULL;
    snprintf(error, capacity, "%s %s no %s %.*s", single ? single : "the chosen kernels", single ? "has" : "have", kind,
             (int)word->name.length, word->name.text);
    if (meant)
        lab_append(error, capacity, " (did you mean %s?)", meant);
    lab_append(error, capacity, "; %s %s %s%s", single ? "it has" : "they have", known.count > 0 ? "the" : "no", kind,
               known.count == 1 ? "" : "s");
    for (int i = 0; i < known.count; i++)
        lab_append(error, capacity, "%s %s", i ? "," : "", known.list[i]);
    if (is_preset)
        lab_append(error, capacity, "; write a parameter as NAME=VALUE");
}

bool lab_parameters_check(const rung_kernel *const *kernels, int count, const char *text, char *error, size_t capacity)
{
    lab_parameter_word word;
    lab_parameter_token read = LAB_PARAMETER_END;
    const char *at = text ? text : "";
    while ((read = lab_parameter_next(&at, &word)) == LAB_PARAMETER_WORD) {
        bool is_known = false;
        for (int i = 0; i < count; i++)
            is_known = is_known || lab_kernel_has_parameter(kernels[i], &word);
        if (!is_known) {
            explain_unknown(kernels, count, &word, error, capacity);
            return false;
        }
    }
    if (read == LAB_PARAMETER_MALFORMED)
        snprintf(error, capacity,
                 "--params \"%s\" is malformed at \"%s\"; write TILE=16,UNROLL=4 or the name of a preset", text, at);
    return read == LAB_PARAMETER_END;
}

bool lab_parameters_select(const rung_kernel *kernel, const char *text, char *selected, size_t capacity)
{
    lab_parameter_word word;
    size_t used = 0;
    *selected = '\0';
    while (lab_parameter_next(&text, &word) == LAB_PARAMETER_WORD) {
        const rungi_string_view *last = word.values.text ? &word.values : &word.name;
        size_t length = (size_t)(last->text + last->length - word.name.text), comma = used > 0;
        if (!lab_kernel_has_parameter(kernel, &word))
            continue;
        if (used + comma + length >= capacity)
            return false;
        used += (size_t)snprintf(selected + used, capacity - used, "%s%.*s", comma ? "," : "", (int)length,
                                 word.name.text);
    }
    return true;
}
