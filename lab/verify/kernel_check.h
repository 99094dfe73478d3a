/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_check.h - checks a kernel file for bugs that a driver does not detect: data races, out-of-bounds and misaligned
 * accesses, uninitialised reads, divergent barriers, missing waits for copies, and blocks that exceed the limits of CUDA
 * GPUs.
 *
 * The kernel runs on the emulator, from the PTX that NVRTC compiles (emulator_check.c). Without NVRTC it runs on Oclgrind
 * (oclgrind_check.c). Both describe their findings by the functions below. */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"
#include "target/target.h"

enum { LAB_KERNEL_FINDINGS_MAX = 8, LAB_KERNEL_FINDING_BYTES = 512 };

/* Kinds of findings: name, and word in JSON. */
/* clang-format off */
#define LAB_KERNEL_FINDING_LIST(X)                        \
    X(DATA_RACE,         "data_race")             \
    X(OUT_OF_BOUNDS,     "out_of_bounds")         \
    X(UNINITIALISED,     "uninitialised")         \
    X(DIVERGENT_BARRIER, "divergent_barrier")     \
    X(MISALIGNED,        "misaligned")            \
    X(ASYNC_COPY,        "async_copy")            \
    X(THREADS,           "threads")               \
    X(SHARED_MEMORY,     "shared_memory")         \
    X(ENDLESS,           "endless")               \
    X(OTHER,             "other")
/* clang-format on */

typedef enum lab_kernel_finding_kind {
#define X(name, word) LAB_FINDING_##name,
    LAB_KERNEL_FINDING_LIST(X)
#undef X
} lab_kernel_finding_kind;

const char *lab_kernel_finding_kind_name(lab_kernel_finding_kind kind);

/* A bug: the line of the kernel file (0: unknown), and what is wrong and what to do. */
typedef struct lab_kernel_finding {
    lab_kernel_finding_kind kind;
    int line;
    char text[LAB_KERNEL_FINDING_BYTES];
} lab_kernel_finding;

typedef struct lab_kernel_check {
    const char *checker; /* "The emulator" or "Oclgrind" */
    bool ran;            /* otherwise why_not says why */
    bool is_endless;     /* the kernel did not end, and was killed */
    bool is_partial;     /* uninitialised reads could not be checked */
    char why_not[LAB_KERNEL_FINDING_BYTES];
    char wrong_result[LAB_KERNEL_FINDING_BYTES]; /* of the emulator, where no finding explains it; "" if it is right */
    lab_kernel_finding findings[LAB_KERNEL_FINDINGS_MAX];
    int count;
} lab_kernel_check;

/* Checks a kernel of a file. If `parameters` is NULL, the preset tiny is used, or the defaults. `seconds` is --time-limit;
 * 0 means no limit. `can_use_opencl` says that Oclgrind may replace the emulator. */
void lab_kernel_check_run(const rung_kernel *kernel, const char *parameters, const lab_dtype *dtype, double seconds,
                          bool can_use_opencl, lab_kernel_check *check);

/* Checks a kernel on the emulator. Returns false, with the reason in check->why_not, if the emulator or NVRTC is
 * missing. */
bool lab_emulator_check_kernel(const rung_kernel *kernel, const char *parameters, const lab_dtype *dtype,
                               double seconds, lab_kernel_check *check);

/* Returns whether running the kernel in this process could overwrite memory or never end. A divergent barrier counts
 * too, because PoCL turns the threads between two barriers into loops. */
bool lab_kernel_check_is_unsafe(const lab_kernel_check *check);

/* ---- Findings ---- */

/* Adds a finding, once per kind and line, because every thread reports the same bug. */
void lab_kernel_check_add(lab_kernel_check *check, lab_kernel_finding_kind kind, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* One of the two accesses of a race. */
typedef struct lab_race_access {
    int line; /* 0 or less: unknown */
    enum { LAB_RACE_UNKNOWN, LAB_RACE_READ, LAB_RACE_WRITE } kind;
} lab_race_access;

/* Add findings of one kind, with their advice. `source` is the text of the kernel file. */
void lab_kernel_check_add_race(lab_kernel_check *check, const char *source, lab_race_access first,
                               lab_race_access second, bool is_shared);
void lab_kernel_check_add_out_of_bounds(lab_kernel_check *check, int line, bool is_read, bool is_shared);
void lab_kernel_check_add_uninitialised(lab_kernel_check *check, int line);
void lab_kernel_check_add_divergent_barrier(lab_kernel_check *check, int line);

/* Adds a finding if a block exceeds the limits of CUDA; 0 for a value that is not known. */
void lab_kernel_check_add_block_limits(lab_kernel_check *check, const rung_kernel_info *kernel, int64_t threads,
                                       int64_t shared_bytes);

/* Drops uninitialised reads that follow from out-of-bounds reads. */
void lab_kernel_check_drop_follow_ups(lab_kernel_check *check);

/* CUDA's limits per block on every architecture; the second one is that of dynamic shared memory. */
enum { LAB_THREADS_MAX = 1024, LAB_SHARED_MAX = 49152, LAB_LARGE_SHARED_MAX = 233472 };

/* Returns the shared memory that a block of this kernel may have, in bytes. */
int64_t lab_kernel_check_shared_limit(const rung_kernel_info *kernel);
