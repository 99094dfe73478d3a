/* SPDX-License-Identifier: Apache-2.0 */
/* store.h - tuning records as text: what they are found by, and how they are read.
 *
 * The first line of a file is "rung-tuning 1"; a line that begins with # is a comment; every
 * other is a record of eleven words with one space between them:
 *
 *     backend device driver product compute layout shape batch kernel parameters gflops
 *     opencl Tesla%20T4%20x40 NVIDIA%20CUDA%20535.54 f32 strict rrr 1024x1024x256 one 10_pipeline BM=64,... 812.5
 *
 * A device is its title and how many compute units it has: two virtual machines may share a title.
 *
 * Anybody may have written a file, so nothing in it is believed: a line that is not just so
 * is skipped, and a record that is so is still only a proposal, which choose.c tests like
 * parameters that a caller gives. See docs/decisions/0018-tuning-store.md. */
#ifndef RUNGI_STORE_H
#define RUNGI_STORE_H

#include "core/device.h"
#include "core/kernel.h"

/* A title and a driver may be all escapes, three letters each; parameters come on top. */
enum {
    RUNGI_STORE_BYTES = 1 << 20, /* of a file */
    RUNGI_STORE_RECORDS = 4096,  /* of a file */
    RUNGI_STORE_KEY = 1536,      /* as text, with its 0 */
    RUNGI_STORE_NAME = 64,       /* of a kernel, with its 0 */
    RUNGI_STORE_LINE = RUNGI_STORE_KEY + RUNGI_STORE_NAME + RUNG_PARAMETERS_BYTES + 32,
    RUNGI_ORDERS = 6 /* of a size */
};

#define RUNGI_STORE_HEAD "rung-tuning 1"

/* What problems a record is for. `whose` is all of it but shape and batch, as a line begins. */
typedef struct rungi_tuning_key {
    char whose[RUNGI_STORE_KEY];
    int order[3]; /* of m, n and k: 0 for those up to 16, then up to 64, 256, 1024, 4096, more */
    bool is_batch;
} rungi_tuning_key;

/* For a sound problem. */
void rungi_tuning_key_of(const rung_device *device, const rung_problem *problem, rungi_tuning_key *key);
void rungi_tuning_key_text(const rungi_tuning_key *key, char text[RUNGI_STORE_KEY]);

/* Any text as one word, "%" for an empty one; cut if it does not fit. */
void rungi_store_escape(const char *text, char *word, size_t capacity);

/* A record, by stretches of its file's text. */
typedef struct rungi_record {
    rungi_slice line, key, whose, kernel, parameters;
    int order[3];
    bool is_batch;
    int64_t mflops;      /* measured, 0: not told */
    int64_t number;      /* of the line */
    bool is_passed_over; /* it does not compile here */
} rungi_record;

/* The records of one file, in its order. */
typedef struct rungi_records rungi_records;
struct rungi_records {
    rungi_records *next; /* of weaker files */
    char *name, *text;
    int64_t bytes;
    rungi_record *records;
    int64_t count, skipped; /* lines: records, and no records */
    bool is_saved;          /* by this context, one record */
};

/* Takes the text over, which was allocated from the context, also where it fails: for want of
 * memory alone. What is no record is told in the log. */
rung_status rungi_records_parse(rung_context *context, const char *name, char *text, int64_t bytes,
                                rungi_records **out);
void rungi_records_free(rung_context *context, rungi_records *records);

/* One line without its end as a record; NULL, or what is wrong with it. */
const char *rungi_record_parse(const char *line, size_t length, rungi_record *record);

/* A record as a line with its end; its length. */
size_t rungi_record_write(const rungi_tuning_key *key, const char *kernel, const char *parameters, int64_t mflops,
                          char line[RUNGI_STORE_LINE]);

/* ---- Files (store_file.c) ---------------------------------------------------------------- */

/* Reads a file; *out stays NULL where there is none or nothing can be made of it. It is
 * RUNG_OK all the same, but for want of memory. */
rung_status rungi_records_read(rung_context *context, const char *path, rungi_records **out);

/* What becomes of the lines of a file that have a record's key. */
typedef enum rungi_put_mode {
    RUNGI_PUT_ALWAYS,    /* the last is replaced, or the record is appended */
    RUNGI_PUT_IF_FASTER, /* the same, if the record is faster */
    RUNGI_PUT_REMOVE,    /* all are removed; of the record only the key counts */
} rungi_put_mode;

/* Writes records into a file, which is created unless they are removed. One process at a time; whoever
 * reads meanwhile sees all or nothing of it. `changed` receives the number of changed lines, `line` the
 * line of the last record. */
rung_status rungi_records_put(rung_context *context, const char *path, const rungi_record *records, int64_t count,
                              rungi_put_mode mode, int64_t *changed, int64_t *line);

/* Whether nothing stands at a path. */
bool rungi_store_is_missing(const char *path);

/* The user's file; false if there is none, as in a set-uid program. With `make` its folder is
 * made. */
bool rungi_store_user_path(char *path, size_t capacity, bool make);

/* The files to read, by their weight, the weakest first; "" for what there is not. False if
 * none is to be read at all. */
enum { RUNGI_STORE_SYSTEMS, RUNGI_STORE_USERS, RUNGI_STORE_NAMED, RUNGI_STORE_FILES };
enum { RUNGI_STORE_PATH = 4096 };

bool rungi_store_paths(char paths[RUNGI_STORE_FILES][RUNGI_STORE_PATH]);

/* ---- A context's own (tuning.c) --------------------------------------------------------- */

/* Reads files, the weakest first, into a list that begins with the strongest. */
rung_status rungi_store_read(rung_context *context, char paths[][RUNGI_STORE_PATH], int count, rungi_records **list);
void rungi_store_free(rung_context *context, rungi_records *list);

/* What a lookup gives: a proposal. */
typedef struct rungi_proposal {
    char kernel[RUNGI_STORE_NAME];
    char parameters[RUNG_PARAMETERS_BYTES];
    char origin[256]; /* file and line */
} rungi_proposal;

enum { RUNGI_PROPOSALS = 6 };

/* The records of a list of files for this key: stronger files first, and of one the later lines. */
int rungi_records_find(const rungi_records *records, const rungi_tuning_key *key,
                       rungi_proposal found[RUNGI_PROPOSALS]);

/* The same in the context's files, which are read now if they were not yet, for a settled
 * problem. */
rung_status rungi_store_find(const rung_device *device, const rung_problem *problem,
                             rungi_proposal found[RUNGI_PROPOSALS], int *count);

/* What was proposed does not compile, and is not proposed again: compiling it for every plan
 * would take as long every time. */
void rungi_records_pass_over(rungi_records *records, const rungi_proposal *proposal);
void rungi_store_pass_over(rung_context *context, const rungi_proposal *proposal);

/* Stops proposing the records of this key that came from the file of this name. */
void rungi_records_forget(rungi_records *records, const char *name, const rungi_tuning_key *key);

#endif /* RUNGI_STORE_H */
