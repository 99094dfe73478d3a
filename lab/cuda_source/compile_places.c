/* SPDX-License-Identifier: Apache-2.0 */
/* compile_places.c - see compile_places.h. */
#include "cuda_source/compile_places.h"

#include <stdio.h>
#include <string.h>

#include "common/failure.h"

/* Returns what follows a prefix, or NULL. */
static const char *after(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

static void set_file_folder(const char *file, lab_compile_places *places)
{
    const char *slash = strrchr(file, '/');
    int length = slash == file ? 1 : slash ? (int)(slash - file) : 1;
    snprintf(places->file_folder, sizeof places->file_folder, "%.*s", length, slash ? file : ".");
}

/* Returns the folder of an option -I; *is_next if it is the next option. */
static const char *folder_of(const char *option, bool *is_next)
{
    const char *folder = after(option, "--include-path=");
    folder = folder ? folder : after(option, "-I");
    *is_next = strcmp(option, "--include-path") == 0 || (folder && !*folder);
    folder = folder && *folder == '=' ? folder + 1 : folder;
    return folder;
}

bool lab_compile_places_read(const lab_cuda_job *job, lab_compile_places *places, char *why, size_t capacity)
{
    int folders = 0;
    *places = (lab_compile_places){.option_count = 0};
    set_file_folder(job->file, places);
    places->user[folders++] = places->file_folder;
    for (int i = 0; i < job->option_count; i++) {
        const char *option = job->options[i];
        bool is_next;
        const char *folder = folder_of(option, &is_next);
        if (is_next)
            folder = ++i < job->option_count ? job->options[i] : NULL;
        if (is_next && !folder)
            return lab_set_reason(why, capacity, "the option %s needs a folder", option);
        if ((folder && folders > LAB_COMPILE_FOLDERS_MAX) ||
            (size_t)places->option_count >= sizeof places->options / sizeof *places->options)
            return lab_set_reason(why, capacity,
                                  "there are too many compiler options; at most %d folders are supported",
                                  LAB_COMPILE_FOLDERS_MAX);
        if (folder)
            places->user[folders++] = folder;
        else
            places->options[places->option_count++] = option;
        places->has_standard |= after(option, "-std") || after(option, "--std");
        places->has_architecture |= after(option, "-arch") || after(option, "--gpu-architecture");
    }
    return true;
}
