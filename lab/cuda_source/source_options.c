/* SPDX-License-Identifier: Apache-2.0 */
/* source_options.c - see source_options.h. */
#define _POSIX_C_SOURCE 200809L
#include "cuda_source/source_options.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/string_view.h"
#include "common/failure.h"

/* Returns whether a text is NAME, NAME=VALUE or NAME(PARAMETERS)=VALUE. */
static bool is_definition(const char *text)
{
    size_t length = 0;
    while (rungi_is_name_character(text[length]))
        length++;
    bool is_name = length > 0 && !(*text >= '0' && *text <= '9');
    return is_name && (!text[length] || text[length] == '=' || text[length] == '(');
}

static bool add_definition(lab_source_options *source, const char *definition, char *why, size_t capacity)
{
    if (!is_definition(definition))
        return lab_set_reason(why, capacity, "-D %.100s does not define a macro; write -D NAME or -D NAME=VALUE",
                              definition);
    size_t room = strlen(definition) + 3;
    char *text = malloc(room);
    if (!text)
        return lab_set_reason(why, capacity, "out of memory");
    snprintf(text, room, "-D%s", definition);
    source->texts[source->text_count++] = text;
    source->items[source->count++] = text;
    return true;
}

static bool add_folder(lab_source_options *source, const char *folder, char *why, size_t capacity)
{
    struct stat info;
    if (stat(folder, &info) != 0)
        return lab_set_reason(why, capacity, "-I %.500s: there is no such folder", folder);
    if (!S_ISDIR(info.st_mode))
        return lab_set_reason(why, capacity, "-I %.500s is not a folder", folder);
    source->items[source->count++] = "-I";
    source->items[source->count++] = folder;
    return true;
}

bool lab_source_options_read(const lab_options *options, lab_source_options *source, char *why, size_t capacity)
{
    const char *value;
    *source = (lab_source_options){.architecture = LAB_DEFAULT_ARCHITECTURE};
    if (options->arch && !lab_parse_architecture(options->arch, &source->architecture))
        return lab_set_reason(why, capacity, "--arch is \"%.100s\"; use sm_50 to sm_121, for example sm_86",
                              options->arch);
    for (int i = 0; (value = lab_option_repeated(options, &options->define_macro, i)); i++)
        if (!add_definition(source, value, why, capacity))
            return false;
    for (int i = 0; (value = lab_option_repeated(options, &options->include_path, i)); i++)
        if (!add_folder(source, value, why, capacity))
            return false;
    return true;
}

void lab_source_options_free(lab_source_options *source)
{
    for (int i = 0; i < source->text_count; i++)
        free(source->texts[i]);
    *source = (lab_source_options){.count = 0};
}
