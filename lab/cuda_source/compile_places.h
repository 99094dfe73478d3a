/* SPDX-License-Identifier: Apache-2.0 */
/* compile_places.h - the folders that a compilation may read, from the file's path and the job's options. */
#pragma once

#include "cuda_source/compile_job.h"

enum { LAB_COMPILE_FOLDERS_MAX = 32 };

typedef struct lab_compile_places {
    char file_folder[4096];                            /* of the user's file */
    const char *user[LAB_COMPILE_FOLDERS_MAX + 2];     /* file_folder, then the folders of -I; ends in NULL */
    const char *options[LAB_COMPILE_FOLDERS_MAX + 64]; /* the job's other options */
    int option_count;
    bool has_standard, has_architecture; /* the options contain -std or -arch */
} lab_compile_places;

/* Sorts the options of a job. The job's texts must live as long. Returns false with a sentence if there are too many. */
bool lab_compile_places_read(const lab_cuda_job *job, lab_compile_places *places, char *why, size_t capacity);
