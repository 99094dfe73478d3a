/* SPDX-License-Identifier: Apache-2.0 */
/* include_scan.h - reads the #include lines of a file and of the user's files that it includes, before the compiler does.
 *
 * The scan finds out which headers the compiler will not find. They become empty stubs, so that a kernel compiles without
 * the rest of its repository. Conditions (#if) are not evaluated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { LAB_INCLUDE_PATH_BYTES = 4096 };

/* Where headers are. Lists end in NULL. */
typedef struct lab_include_places {
    const char *const *user_folders; /* the folder of the file first, then those of -I */
    const char *const *cuda_folders; /* of NVIDIA's headers */
} lab_include_places;

typedef enum lab_include_kind {
    LAB_INCLUDE_USER,    /* a file of the user */
    LAB_INCLUDE_STUB,    /* the command has a stub of this name */
    LAB_INCLUDE_MISSING, /* nobody has it: an empty stub */
    LAB_INCLUDE_OUTSIDE, /* the file exists, but outside of the folders that may be read: an empty stub */
    LAB_INCLUDE_CUDA,    /* a header of NVIDIA that is not installed */
    LAB_INCLUDE_COMPUTED /* the line does not contain the name: a macro does */
} lab_include_kind;

/* A header. NVIDIA's installed headers are not listed. */
typedef struct lab_include {
    char *name; /* as in the line */
    char *path; /* of a file of the user; NULL if the same name means two files */
    lab_include_kind kind;
    int line; /* of the line in the user's file; 0 in another file */
} lab_include;

typedef struct lab_include_list {
    lab_include *items;
    int count;
    bool out_of_memory;
} lab_include_list;

/* Scans the text of a file. */
void lab_includes_scan(const char *text, size_t bytes, const lab_include_places *places, lab_include_list *list);
void lab_includes_free(lab_include_list *list);
