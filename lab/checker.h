/* SPDX-License-Identifier: Apache-2.0 */
/* checker.h - what a driver that only computes does not see in a kernel of the user's: races,
 * accesses outside the matrices, reads of what was never written, and more threads or shared memory
 * than a CUDA GPU gives a block.
 *
 * `rung verify` is started again, as a child on Oclgrind's simulator, on a few problems around the
 * edges of the kernel's tiles. A simulator that was not used would find nothing, so its name is
 * asserted. */
#ifndef LAB_CHECKER_H
#define LAB_CHECKER_H

#include <stdbool.h>
#include <stddef.h>

#include "rung/rung.h"

enum { LAB_REMARKS_MAX = 8, LAB_REMARK_TEXT = 512 };

/* Kinds of mistakes: name, word in JSON. */
/* clang-format off */
#define LAB_REMARK_LIST(X)                        \
    X(DATA_RACE,         "data_race")             \
    X(OUT_OF_BOUNDS,     "out_of_bounds")         \
    X(UNINITIALISED,     "uninitialised")         \
    X(DIVERGENT_BARRIER, "divergent_barrier")     \
    X(THREADS,           "threads")               \
    X(SHARED_MEMORY,     "shared_memory")         \
    X(ENDLESS,           "endless")               \
    X(OTHER,             "other")
/* clang-format on */

typedef enum lab_remark_kind {
#define X(name, word) LAB_REMARK_##name,
    LAB_REMARK_LIST(X)
#undef X
} lab_remark_kind;

const char *lab_remark_kind_name(lab_remark_kind kind);

/* A mistake: the line of the kernel's file, 0 where it is not known, and what to do. */
typedef struct lab_remark {
    lab_remark_kind kind;
    int line;
    char text[LAB_REMARK_TEXT];
} lab_remark;

typedef struct lab_check {
    bool ran;        /* else why not */
    bool is_endless; /* it was ended */
    bool is_partial; /* reads of what was never written could not be looked for */
    char why_not[LAB_REMARK_TEXT];
    lab_remark remarks[LAB_REMARKS_MAX];
    int count;
} lab_check;

/* Runs the checker on a kernel. `dtype` is as on the command line; parameters NULL means the preset tiny, or the
 * defaults. `seconds` limits each of the problems, 0 means no limit. */
void lab_check_kernel(const rung_kernel *kernel, const char *parameters, const char *dtype, double seconds,
                      lab_check *check);

/* Whether it may write over memory of this process if it is run here, or never end: PoCL makes loops of the threads
 * between two barriers, which come out of step where some do not come to one. */
bool lab_check_is_dangerous(const lab_check *check);

/* Reads Oclgrind's log into remarks; for the tests too. */
void lab_check_read_log(const char *log, const rung_kernel_info *kernel, lab_check *check);

#endif /* LAB_CHECKER_H */
