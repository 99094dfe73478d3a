/* SPDX-License-Identifier: Apache-2.0 */
/* program_findings.h - what the emulated driver found while a program ran. The driver writes one JSON object per line to a
 * file; the same finding of several launches is one finding. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct lab_program_finding {
    char kind[32], kernel[256], file[512], other_file[512], text[512];
    int64_t line, other_line, count, launches;
    int64_t last_launch; /* number of the last launch that it was found in */
    const char *fix;     /* a sentence on how to fix it; "" if the kind is unknown */
} lab_program_finding;

typedef struct lab_program_findings {
    lab_program_finding *list;
    int64_t count;
} lab_program_findings;

/* Reads the driver's file. Returns false if memory is short. A line that is not complete is ignored. */
bool lab_program_findings_read(FILE *file, lab_program_findings *findings);
void lab_program_findings_free(lab_program_findings *findings);

/* Prints the findings as text: place, sentence, source line if the file can be read, and how to fix it. */
void lab_program_findings_print(const lab_program_findings *findings, FILE *out);
