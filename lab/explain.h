/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - why a kernel is as fast as it is: what its warps ask of memory, what the compiler
 * made of it, what a multiprocessor holds of it, and what of all that bounds it.
 *
 * Two looks through the microscope at one block each, with the strides of the real problem and
 * two lengths of k, tell what a block does once and what it does for each step along k; the rest
 * follows. Counts are of the kernel as written. Where its code was taken apart, instructions and
 * loads from shared memory are the compiler's, which may be wider and fewer. */
#ifndef LAB_EXPLAIN_H
#define LAB_EXPLAIN_H

#include "code.h"
#include "microscope.h"
#include "model.h"
#include "occupancy.h"
#include "target.h"

enum { LAB_FINDINGS_MAX = 16, LAB_WHY = 4096 };

/* Optional tools, in the order in which an explanation uses them. Each provides an input of the prediction, so
 * a prediction is made only where all of them are installed. */
/* clang-format off */
#define LAB_TOOL_LIST(X)                                                                            \
    X(OCLGRIND, "Oclgrind", "memory access counts")                                                 \
    X(COUNTERS, "rung_microscope.so", "memory access counts")                                       \
    X(NVRTC, "NVRTC", "registers, shared memory and occupancy")                                     \
    X(NVDISASM, "nvdisasm", "the instructions of the hottest loop")
/* clang-format on */

typedef enum lab_tool {
#define X(name, word, gives) LAB_TOOL_##name,
    LAB_TOOL_LIST(X)
#undef X
        LAB_TOOL_COUNT
} lab_tool;

typedef struct lab_question {
    const char *kernel;     /* by name or number, or a file */
    const char *parameters; /* NULL: those that a GPU of that architecture takes */
    lab_dtype dtype;
    int64_t m, n, k;
    lab_machine machine;
    double seconds; /* time limit of one simulated run, as in lab_look */
} lab_question;

/* Something to be mended, and where. */
typedef struct lab_finding {
    const char *kind; /* "uncoalesced", "bank_conflict", "spill", "occupancy_cliff", "half_empty_warp" */
    char file[256];
    int64_t line;
    char text[256];
} lab_finding;

/* Of one block of the real problem. */
typedef struct lab_block_counts {
    double macs, barriers, waits;
    double global_requests, sectors, sectors_ideal, lines, distinct_sectors;
    double shared_loads, shared_stores, wavefronts, wavefronts_ideal;
    double load_wavefronts, load_bytes; /* of shared loads alone; bytes: each word once a request */
} lab_block_counts;

typedef struct lab_explanation {
    char kernel[256], file[256], parameters[RUNG_PARAMETERS_BYTES];
    const char *dtype;
    int64_t m, n, k, bm, bn;
    lab_machine machine;
    bool is_seen, is_compiled, is_taken_apart; /* else why not */
    char why_unseen[LAB_WHY], why_uncompiled[LAB_WHY], why_whole[LAB_WHY];
    lab_sight sight; /* its lines: of one block of the real problem, as `block` */
    lab_block_counts block;
    int64_t threads, registers, shared_bytes, spill_bytes;
    char path[64];
    lab_code code;
    char code_arch[16]; /* the architecture that `code` is for: see explain.c */
    lab_occupancy occupancy;
    unsigned missing_tools; /* one bit, 1u << LAB_TOOL_..., per tool that is not installed */
    lab_load load;
    lab_prediction prediction;    /* made only if is_seen, is_compiled and is_taken_apart */
    bool counts_loop;             /* instructions and shared loads of `load` are the compiled loop's; false: the
                                   * source's, because the loop's multiply-adds cannot be told from addresses */
    double math_share;            /* of the hottest loop's instructions; 0 if it is not known */
    double shared_loads_compiled; /* as the compiler issues them, a block; those written if not known */
    lab_finding findings[LAB_FINDINGS_MAX];
    int finding_count, findings_left_out; /* of those that found no place */
} lab_explanation;

/* False, with a sentence, if the question makes no sense: no such kernel, parameters it refuses,
 * a type it does not take there. What could not be found out is told in the explanation. */
bool lab_explain(const lab_question *question, lab_explanation *explanation, char *why, size_t capacity);
void lab_explanation_free(lab_explanation *explanation);

/* Returns why memory accesses were not counted, "" if they were. */
const char *lab_why_not_counted(const lab_explanation *explanation);

/* Returns why there is no prediction, "" if there is one. A missing tool is named without advice: lab_tool_advice
 * has that. */
const char *lab_why_not_predicted(const lab_explanation *explanation);

/* Whether two predictions may be compared: both were made, from inputs of the same kind. */
bool lab_may_compare(const lab_explanation *a, const lab_explanation *b);

const char *lab_tool_name(lab_tool tool);  /* "nvdisasm" */
const char *lab_tool_gives(lab_tool tool); /* what is unknown without it */

/* Returns what to install for a tool that `explanation` lacks. */
const char *lab_tool_advice(const lab_explanation *explanation, lab_tool tool);

/* Fills in the findings from the rest. (findings.c) */
void lab_find_mistakes(lab_explanation *explanation, const char *source);

/* Ratios; 0 where there was no request. */
double lab_sectors_per_request(const lab_explanation *explanation);
double lab_sectors_ideal(const lab_explanation *explanation);
double lab_wavefronts_per_request(const lab_explanation *explanation);
double lab_wavefronts_ideal(const lab_explanation *explanation);

#endif /* LAB_EXPLAIN_H */
