/* SPDX-License-Identifier: Apache-2.0 */
/* tuning_store.h - the tuning records of a context: read from files at first use, changed by saving and removing. */
#ifndef RUNGI_TUNING_STORE_H
#define RUNGI_TUNING_STORE_H

#include "core/choose/tuning_file.h"

/* Reads files, lowest priority first, into a list that begins with the highest priority. */
rung_status rungi_tuning_files_read(rung_context *context, char paths[][RUNGI_TUNING_PATH_BYTES], int count,
                                    rungi_tuning_records **list);
void rungi_tuning_files_free(rung_context *context, rungi_tuning_records *list);

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

#endif /* RUNGI_TUNING_STORE_H */
