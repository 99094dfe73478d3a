/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_record.h - tuning records as text: their keys, their lines and lists of them.
 *
 * The first line of a tuning file is "rung-tuning 1". A line that begins with # is a comment. Every other line is a
 * record of eleven words, separated by single spaces:
 *
 *     backend device driver product compute layout shape batch kernel parameters gflops
 *     opencl Tesla%20T4%20x40 NVIDIA%20CUDA%20535.54 f32 strict rrr 1024x1024x256 one 10_pipeline BM=64,... 812.5
 *
 * A device is identified by its title and its number of compute units, since virtual machines may share a title.
 *
 * Files are not trusted. A line in any other form is skipped, and a valid record is only a proposal, which
 * choose_kernel.c checks like parameters of a caller. See docs/internals/decisions/0018-tuning-store.md. */
#pragma once

#include "core/device.h"
#include "core/kernel.h"

enum {
    RUNGI_TUNING_FILE_BYTES_MAX = 1 << 20,
    RUNGI_TUNING_FILE_RECORDS_MAX = 4096,
    RUNGI_TUNING_KEY_BYTES = 1536,       /* with the terminating 0, if all of the title and the driver is escaped */
    RUNGI_TUNING_KERNEL_NAME_BYTES = 64, /* with the terminating 0 */
    RUNGI_TUNING_LINE_BYTES = RUNGI_TUNING_KEY_BYTES + RUNGI_TUNING_KERNEL_NAME_BYTES + RUNG_PARAMETERS_BYTES + 32,
    RUNGI_TUNING_PROPOSALS_MAX = 6,
    RUNGI_SIZE_CLASS_COUNT = 6
};

#define RUNGI_TUNING_FILE_HEADER "rung-tuning 1"

/* The problems that a record is for: the words of a line before the kernel. */
typedef struct rungi_tuning_key {
    char text[RUNGI_TUNING_KEY_BYTES];
} rungi_tuning_key;

/* Makes the key of a checked problem. */
void rungi_tuning_key_of(const rung_device *device, const rung_problem *problem, rungi_tuning_key *key);

/* Escapes a text as one word; "%" for an empty text. Truncates the text if it does not fit. */
void rungi_tuning_escape(const char *text, char *word, size_t capacity);

/* A record. The views point into the text of its file. */
typedef struct rungi_tuning_record {
    rungi_string_view line, key, kernel, parameters;
    int64_t mflops;   /* measured; 0: unknown */
    int64_t number;   /* of the line */
    bool is_disabled; /* not proposed: the record does not compile here, or was removed */
} rungi_tuning_record;

/* The records of one file, in the file's order. */
typedef struct rungi_tuning_records rungi_tuning_records;
struct rungi_tuning_records {
    rungi_tuning_records *next; /* of a file with lower priority */
    char *name, *text;
    int64_t bytes;
    rungi_tuning_record *records;
    int64_t count, skipped; /* lines that are records, and lines that are not */
    bool is_saved;          /* one record that this context saved */
};

/* Parses the text of a file and logs skipped lines. Takes ownership of the text, which was allocated from the context,
 * also if it fails. Fails only if memory is exhausted. */
rung_status rungi_tuning_records_parse(rung_context *context, const char *name, char *text, int64_t bytes,
                                       rungi_tuning_records **out);

/* Frees a list of files. */
void rungi_tuning_records_free(rung_context *context, rungi_tuning_records *list);

/* Parses a line without its newline. Returns NULL, or a description of the error. */
const char *rungi_tuning_record_parse(const char *line, size_t length, rungi_tuning_record *record);

/* Formats a record as a line with its newline. Returns its length, or 0 if it does not fit. */
size_t rungi_tuning_record_format(const rungi_tuning_key *key, const char *kernel, const char *parameters,
                                  int64_t mflops, char line[RUNGI_TUNING_LINE_BYTES]);

/* A record that a lookup found. */
typedef struct rungi_tuning_proposal {
    char kernel[RUNGI_TUNING_KERNEL_NAME_BYTES];
    char parameters[RUNG_PARAMETERS_BYTES];
    char origin[256]; /* file and line */
} rungi_tuning_proposal;

/* Finds the records of a list of files for this key: files in the order of the list, and later lines of a file first.
 * Returns their number. */
int rungi_tuning_records_find(const rungi_tuning_records *records, const rungi_tuning_key *key,
                              rungi_tuning_proposal found[RUNGI_TUNING_PROPOSALS_MAX]);

/* Disables the record of a proposal that does not compile, so that later plans do not compile it again. */
void rungi_tuning_records_disable(rungi_tuning_records *records, const rungi_tuning_proposal *proposal);

/* Disables the records of one file that have this key. */
void rungi_tuning_records_disable_key(rungi_tuning_records *records, const rungi_tuning_key *key);
