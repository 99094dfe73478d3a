/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_file.h - finds, reads and updates tuning files. */
#ifndef RUNGI_TUNING_FILE_H
#define RUNGI_TUNING_FILE_H

#include "core/choose/tuning_record.h"

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

#endif /* RUNGI_TUNING_FILE_H */
