/* SPDX-License-Identifier: Apache-2.0 */
/* finding_list.h - what the emulator found in a plain CUDA file: one sentence on what happened and one on how to fix it, by
 * source line. Text, JSON and SARIF come from the same list. */
#pragma once

#include <stdio.h>

#include "io/json_writer.h"
#include "rung/emulator.h"

enum { LAB_FINDING_TEXT_BYTES = 1024, LAB_FINDINGS_MAX = 64 };

/* A thread of the first occurrence and what it did. */
typedef struct lab_finding_thread {
    uint32_t block[3], thread[3];
    rung_emulator_access access;
} lab_finding_thread;

/* One finding, once per kind and pair of lines. */
typedef struct lab_finding {
    const char *kind; /* name of a kind of the emulator, or "wrong-result" */
    char file[256];
    char kernel[256];     /* as in the source */
    int line, other_line; /* 0: none */
    char text[LAB_FINDING_TEXT_BYTES];
    const char *fix;
    int64_t count;                           /* of threads that did it, in all runs */
    lab_finding_thread thread, other_thread; /* at `line` and at `other_line`, if these are not 0 */
    rung_emulator_memory memory;             /* of the emulator's findings */
    int32_t bytes;
} lab_finding;

typedef struct lab_finding_list {
    lab_finding items[LAB_FINDINGS_MAX];
    int count;
    int64_t dropped;     /* more than fit */
    bool names_absolute; /* SARIF: the user gave an absolute path, so that addresses of files are absolute, too */
} lab_finding_list;

/* Adds the findings of the emulator's last launch. `when` says in which run, for example "M = 33"; "" if it does not
 * matter. */
void lab_finding_list_add(lab_finding_list *list, rung_emulator *emulator, const char *when);

/* Returns whether another finding of the emulator's last launch explains this one: shared memory is read before it is written
 * because of a race or a barrier. */
bool lab_finding_is_secondary(rung_emulator *emulator, const rung_emulator_finding *finding);

/* Adds one finding of the emulator. */
void lab_finding_list_add_one(lab_finding_list *list, const rung_emulator_finding *finding, const char *when);

/* Adds a finding of rung itself. `kind` and `fix` must live as long as the list. */
void lab_finding_list_add_own(lab_finding_list *list, const char *kind, const char *file, int line, const char *text,
                              const char *fix);

/* Prints the findings for people, each with its source line. `source` is the text of the file; NULL if it is unknown. */
void lab_finding_list_print(const lab_finding_list *list, const char *source, FILE *out);

/* A file with its text; NULL if the text is unknown. */
typedef struct lab_finding_source {
    const char *file, *text;
} lab_finding_source;

/* Prints the findings, each with the line of its own file. */
void lab_finding_list_print_with(const lab_finding_list *list, const lab_finding_source *sources, int count, FILE *out);

/* Writes the field "findings" of a JSON object. */
void lab_finding_list_write(const lab_finding_list *list, lab_json *json);
