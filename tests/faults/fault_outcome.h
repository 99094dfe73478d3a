/* SPDX-License-Identifier: Apache-2.0 */
/* fault_outcome.h - what fault_points.c and cluster_points.c share: outcomes of a point, and what a process holds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rung/rung.h"

enum { FAULT_SECONDS_MAX = 60, FAULT_DETAIL_BYTES = 256 };

typedef enum fault_outcome {
    FAULT_NOT_REACHED,
    FAULT_REPORTED,
    FAULT_WORKED,
    FAULT_WRONG,
    FAULT_LEAKED,
    FAULT_ABORTED,
    FAULT_HUNG,
} fault_outcome;

extern const char *const fault_outcome_names[];

/* What a process holds. */
typedef struct fault_held {
    int64_t allocations, objects, descriptors, threads, files;
} fault_held;

/* Returns what the process holds. Files are those in the folder HOME. */
fault_held fault_measure_held(void);

/* Waits until the process holds no more than `expected`, at most half a second, and returns what it holds: threads may end a
 * little after they were joined or detached. */
fault_held fault_wait_until_released(const fault_held *expected);
bool fault_holds_more(const fault_held *held, const fault_held *expected);

/* Writes what is held beyond `expected`. With RUNG_FAULTS_LIST, prints the callers of live allocations. */
void fault_describe_leak(const fault_held *held, const fault_held *expected, char *text, size_t bytes);

/* Returns whether C is unchanged after a call with this status. */
bool fault_leaves_output(rung_status status);

/* Replaces line breaks and tabs. */
void fault_make_one_line(char *text);

/* Returns the seconds that a point may take: RUNG_FAULTS_SECONDS, or 60. */
unsigned fault_seconds_max(void);

/* Removes a folder with its files. */
void fault_remove_folder(const char *path);

/* Returns whether the replaced dlsym searches for the next definition after this program, which is in the library of replaced
 * functions. */
bool fault_finds_next_function(void);
