/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_store.h - finds, reads and updates tuning files (tuning_file.c), and the tuning records of a context
 * (tuning_store.c): read from files at first use, changed by saving and removing. */
#pragma once

#include "core/choose/tuning_record.h"

/* ---- Files ---- */

/* Reads a file. *out is NULL if the file is missing or cannot be read, which the log reports; fails only if memory is
 * exhausted. */
rung_status rungi_tuning_file_read(rung_context *context, const char *path, rungi_tuning_records **out);

/* How an update treats the lines that have a record's key. */
typedef enum rungi_tuning_update_mode {
    RUNGI_TUNING_REPLACE,           /* replaces the last of them, or appends the record */
    RUNGI_TUNING_REPLACE_IF_FASTER, /* the same, if the record is faster */
    RUNGI_TUNING_REMOVE,            /* removes all of them; only the key of the record counts */
} rungi_tuning_update_mode;

/* Updates a file under a lock; creates the file unless the mode is RUNGI_TUNING_REMOVE. Readers see the old or the new
 * file. `changed` receives the number of changed lines, `line` the line number of the last record. */
rung_status rungi_tuning_file_update(rung_context *context, const char *path, const rungi_tuning_record *records,
                                     int64_t count, rungi_tuning_update_mode mode, int64_t *changed, int64_t *line);

bool rungi_tuning_file_is_missing(const char *path);

/* Returns the path of the user's file, and creates its folder if `creates_folder`. Returns false if there is no such
 * path, as in a set-uid program. */
bool rungi_tuning_user_path(char *path, size_t capacity, bool creates_folder);

/* The files that a context reads, lowest priority first. */
enum {
    RUNGI_TUNING_FILE_SYSTEM_WIDE,
    RUNGI_TUNING_FILE_USER,
    RUNGI_TUNING_FILE_FROM_VARIABLE,
    RUNGI_TUNING_FILE_COUNT
};

/* Returns the paths of these files; "" for a file without a path. Returns false if tuning is off. */
bool rungi_tuning_file_paths(char paths[RUNGI_TUNING_FILE_COUNT][RUNGI_TUNING_PATH_BYTES]);

/* ---- Records of a context ---- */

/* Reads files, lowest priority first, into a list that begins with the highest priority. */
rung_status rungi_tuning_files_read(rung_context *context, char paths[][RUNGI_TUNING_PATH_BYTES], int count,
                                    rungi_tuning_records **list);

/* Finds the records for a normalized problem. The first call reads the files. */
rung_status rungi_tuning_store_find(const rung_device *device, const rung_problem *problem,
                                    rungi_tuning_proposal found[RUNGI_TUNING_PROPOSALS_MAX], int *count);

/* Disables the record of a proposal that does not compile. */
void rungi_tuning_store_disable(rung_context *context, const rungi_tuning_proposal *proposal);

/* Adds a record, which was written to line `number` of the file, before all others. */
rung_status rungi_tuning_store_add_saved(rung_context *context, const char *path, const char *line, size_t length,
                                         int64_t number);

/* Disables the records of this key that were read from the file or saved to it. */
void rungi_tuning_store_forget(rung_context *context, const char *path, const rungi_tuning_key *key);
