/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.c - see parameters.h. */
#include "target/parameters.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/nearest_word.h"

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
    *word = (lab_parameter_word){.name = start, .name_length = strcspn(start, "=,")};
    const char *end = start + word->name_length;
    if (*end == '=') {
        word->values = end + 1;
        word->values_length = length_of_values(word->values);
        end = word->values + word->values_length;
    }
    if (word->name_length == 0 || (word->values && word->values_length == 0))
        return LAB_PARAMETER_MALFORMED;
    *text = end + (*end == ',');
    return LAB_PARAMETER_WORD;
}

static bool is_name(const lab_parameter_word *word, const char *name)
{
    return strlen(name) == word->name_length && memcmp(name, word->name, word->name_length) == 0;
}

bool lab_kernel_has_parameter(const rung_kernel *kernel, const lab_parameter_word *word)
{
    const rung_kernel_info *info = kernel ? rung_kernel_describe(kernel) : NULL;
    for (int64_t i = 0; info && word->values && i < info->parameter_count; i++)
        if (is_name(word, rung_kernel_parameter(kernel, i)->name))
            return true;
    for (int64_t i = 0; info && !word->values && i < info->preset_count; i++)
        if (is_name(word, rung_kernel_preset(kernel, i)->name))
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

static void collect_names(const rung_kernel *const *kernels, int count, bool presets, name_list_t *names)
{
    names->count = 0;
    for (int i = 0; i < count; i++) {
        const rung_kernel_info *info = kernels[i] ? rung_kernel_describe(kernels[i]) : NULL;
        for (int64_t j = 0; info && !presets && j < info->parameter_count; j++)
            add_name(names, rung_kernel_parameter(kernels[i], j)->name);
        for (int64_t j = 0; info && presets && j < info->preset_count; j++)
            add_name(names, rung_kernel_preset(kernels[i], j)->name);
    }
}

/* Returns the name that the word, as written or in capitals, probably means, or NULL. */
static const char *suggest_name(const lab_parameter_word *word, const name_list_t *names)
{
    char text[NAME_MAX_LENGTH];
    if (word->name_length >= sizeof text)
        return NULL;
    memcpy(text, word->name, word->name_length);
    text[word->name_length] = '\0';
    const char *nearest = lab_nearest_word(text, names->list, names->count);
    for (char *at = text; !nearest && *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return nearest ? nearest : lab_nearest_word(text, names->list, names->count);
}

static size_t append(char *text, size_t capacity, size_t used, const char *before, const char *word)
{
    if (used < capacity)
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", before, word);
    return used;
}

static size_t append_names(char *text, size_t capacity, size_t used, const name_list_t *names)
{
    for (int i = 0; i < names->count; i++)
        used = append(text, capacity, used, i ? ", " : " ", names->list[i]);
    return used;
}

static void explain_unknown(const rung_kernel *const *kernels, int count, const lab_parameter_word *word, char *error,
                            size_t capacity)
{
    const char *kind = word->values ? "parameter" : "preset";
    name_list_t known;
    collect_names(kernels, count, !word->values, &known);
    const char *meant = suggest_name(word, &known);
    const char *single = count == 1 ? kernels[0] ? rung_kernel_describe(kernels[0])->name : "rung_gemm" : NULL;
    size_t used = (size_t)snprintf(error, capacity, "%s %s no %s %.*s", single ? single : "the chosen kernels",
                                   single ? "has" : "have", kind, (int)word->name_length, word->name);
    if (meant)
        used = append(error, capacity, append(error, capacity, used, " (did you mean ", meant), "", "?)");
    used = append(error, capacity, used, single ? "; it has " : "; they have ", known.count > 0 ? "the " : "no ");
    used = append(error, capacity, used, kind, known.count > 1 || known.count == 0 ? "s" : "");
    used = append_names(error, capacity, used, &known);
    if (!word->values)
        append(error, capacity, used, "; ", "write a parameter as NAME=VALUE");
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
        const char *end = word.values ? word.values + word.values_length : word.name + word.name_length;
        size_t length = (size_t)(end - word.name), comma = used > 0;
        if (!lab_kernel_has_parameter(kernel, &word))
            continue;
        if (used + comma + length >= capacity)
            return false;
        used += (size_t)snprintf(selected + used, capacity - used, "%s%.*s", comma ? "," : "", (int)length, word.name);
    }
    return true;
}
