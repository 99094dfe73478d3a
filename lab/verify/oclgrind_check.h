/* SPDX-License-Identifier: Apache-2.0 */
/* oclgrind_check.h - checks a kernel file for bugs that a driver does not detect: data races, out-of-bounds accesses,
 * uninitialised reads, divergent barriers, and blocks that exceed the limits of CUDA GPUs.
 *
 * Runs `rung verify` again as a child process on Oclgrind, a simulator, on a few problems around the tile edges. The
 * check fails if the child used another OpenCL driver. */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"

enum { LAB_OCLGRIND_FINDINGS_MAX = 8, LAB_OCLGRIND_TEXT_BYTES = 512 };

/* Kinds of findings: name, and word in JSON. */
/* clang-format off */
#define LAB_OCLGRIND_LIST(X)                        \
    X(DATA_RACE,         "data_race")             \
    X(OUT_OF_BOUNDS,     "out_of_bounds")         \
    X(UNINITIALISED,     "uninitialised")         \
    X(DIVERGENT_BARRIER, "divergent_barrier")     \
    X(THREADS,           "threads")               \
    X(SHARED_MEMORY,     "shared_memory")         \
    X(ENDLESS,           "endless")               \
    X(OTHER,             "other")
/* clang-format on */

typedef enum lab_oclgrind_finding_kind {
#define X(name, word) LAB_OCLGRIND_##name,
    LAB_OCLGRIND_LIST(X)
#undef X
} lab_oclgrind_finding_kind;

const char *lab_oclgrind_finding_kind_name(lab_oclgrind_finding_kind kind);

/* A bug: the line of the kernel file (0: unknown), and what is wrong and what to do. */
typedef struct lab_oclgrind_finding {
    lab_oclgrind_finding_kind kind;
    int line;
    char text[LAB_OCLGRIND_TEXT_BYTES];
} lab_oclgrind_finding;

typedef struct lab_oclgrind_check {
    bool ran;        /* otherwise why_not says why */
    bool is_endless; /* the kernel did not end, and was killed */
    bool is_partial; /* uninitialised reads could not be checked */
    char why_not[LAB_OCLGRIND_TEXT_BYTES];
    lab_oclgrind_finding findings[LAB_OCLGRIND_FINDINGS_MAX];
    int count;
} lab_oclgrind_check;

/* Checks a kernel. `dtype` is as on the command line. If `parameters` is NULL, the preset tiny is used, or the
 * defaults. `seconds` limits the time per problem; 0 means no limit. */
void lab_oclgrind_check_kernel(const rung_kernel *kernel, const char *parameters, const char *dtype, double seconds,
                               lab_oclgrind_check *check);

/* Returns whether running the kernel in this process could overwrite memory or never end. A divergent barrier counts
 * too, because PoCL turns the threads between two barriers into loops. */
bool lab_oclgrind_check_is_unsafe(const lab_oclgrind_check *check);

/* Converts Oclgrind's log to findings. Public for the tests. */
void lab_oclgrind_check_parse_log(const char *log, const rung_kernel_info *kernel, lab_oclgrind_check *check);
