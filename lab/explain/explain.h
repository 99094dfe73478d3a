/* SPDX-License-Identifier: Apache-2.0 */
/* explain.h - explains the speed of a kernel without a GPU: the memory requests of its warps, its compiled loop, its
 * occupancy, and the bottleneck that follows from them. The interface of lab/explain to the rest of the lab.
 *
 * Two runs of one block on the emulator, with the strides of the real problem and two values of k, separate the work
 * that a block does once from the work of each step along k. The counts are those of the PTX, with the accesses merged
 * that ptxas merges. Where the kernel was disassembled, instructions and loads from shared memory are ptxas's. */
#pragma once

#include "explain/access_counters.h"
#include "explain/issue_simulator.h"
#include "explain/kernel_trace.h"
#include "explain/occupancy.h"
#include "explain/sass.h"
#include "explain/speed_model.h"
#include "io/json_writer.h"
#include "target/target.h"

enum { LAB_EXPLAIN_FINDINGS_MAX = 16, LAB_EXPLAIN_WHY_BYTES = 4096 };

/* Optional tools, in the order in which an explanation uses them. Each tool provides an input of the prediction, so a
 * prediction needs all of them. */
/* clang-format off */
#define LAB_TOOL_LIST(X)                                                                            \
    X(NVRTC, "NVRTC", "memory access counts, registers, shared memory and occupancy")               \
    X(NVDISASM, "nvdisasm", "the instructions of the hottest loop")
/* clang-format on */

typedef enum lab_tool {
#define X(name, word, provides) LAB_TOOL_##name,
    LAB_TOOL_LIST(X)
#undef X
        LAB_TOOL_COUNT
} lab_tool;

typedef struct lab_explain_request {
    const char *kernel;     /* name, number or file */
    const char *parameters; /* NULL: the defaults of a GPU of that architecture */
    lab_dtype dtype;
    int64_t m, n, k;
    lab_gpu machine;
    double seconds;          /* time limit of one run, as in lab_access_request */
    bool wants_metrics;      /* print the values under Nsight Compute's names */
    const char *nsight_file; /* its CSV file to compare them with; NULL: none */
    bool wants_trace;        /* record single requests and run all checks, for a page */
} lab_explain_request;

/* A mistake in a kernel, and its line. */
typedef struct lab_explain_finding {
    const char *kind; /* "uncoalesced", "bank_conflict", "spill", "occupancy_cliff", "half_empty_warp" */
    char file[256];
    int64_t line;
    char text[256];
} lab_explain_finding;

/* Counts of one block of the real problem. All members are doubles. */
typedef struct lab_block_counts {
    double macs, barriers, waits;
    double global_requests, sectors, sectors_ideal, lines, distinct_sectors;
    double shared_loads, shared_stores, wavefronts, wavefronts_ideal;
    double load_wavefronts, load_bytes; /* of shared loads only; each byte counts once per request */
} lab_block_counts;

typedef struct lab_explanation {
    char kernel[256], file[256], parameters[RUNG_PARAMETERS_BYTES];
    const char *dtype;
    int64_t m, n, k, bm, bn;
    lab_gpu machine;
    bool wants_metrics;                            /* as in the request */
    const char *nsight_file;                       /* as in the request */
    bool is_counted, is_compiled, is_disassembled; /* if false, the reason follows */
    char why_uncounted[LAB_EXPLAIN_WHY_BYTES], why_not_compiled[LAB_EXPLAIN_WHY_BYTES],
        why_not_disassembled[LAB_EXPLAIN_WHY_BYTES];
    lab_access_counters counters; /* the lines hold counts of one block of the real problem, as `block` does */
    lab_block_counts block;
    int64_t threads, registers, shared_bytes, spill_bytes;
    char path[64];
    lab_sass code;
    char sass_arch[16]; /* the architecture of `code`; see compiled_kernel.c */
    lab_occupancy occupancy;
    unsigned missing_tools; /* one bit, 1u << LAB_TOOL_..., per tool that is not installed */
    lab_launch_work work;
    lab_prediction prediction; /* valid if is_counted, is_compiled and is_disassembled */
    bool is_simulated;         /* the hottest loop was simulated: `issue` is valid */
    lab_issue_result issue;
    bool is_from_compiled_loop;   /* instructions and shared loads of `work` are those of the compiled loop; if false,
                                   * those of the source, because IMAD also computes addresses */
    double math_share;            /* fraction of the hottest loop's instructions; 0 if unknown */
    double shared_loads_compiled; /* per block, as compiled; as written if unknown */
    lab_kernel_trace *trace;      /* NULL unless the request wants it */
    char wrong[LAB_EXPLAIN_WHY_BYTES]; /* why the kernel is wrong: it is explained for a small problem and without a
                                        * prediction; "" for a right kernel */
    lab_explain_finding findings[LAB_EXPLAIN_FINDINGS_MAX];
    int finding_count, findings_dropped; /* dropped: beyond LAB_EXPLAIN_FINDINGS_MAX */
} lab_explanation;

/* Returns whether a file that Nsight Compute wrote (ncu --csv) can be read and has metrics; if not, a sentence is in
 * `why`. */
bool lab_nsight_file_check(const char *path, char *why, size_t capacity);

/* Explains a kernel. Returns false, with a sentence in `why`, if the request is invalid: unknown kernel, rejected
 * parameters or an unsupported type. The explanation itself says which inputs could not be collected. The caller frees
 * the explanation. */
bool lab_explain(const lab_explain_request *request, lab_explanation *explanation, char *why, size_t capacity);
void lab_explanation_free(lab_explanation *explanation);

/* ---- Steps for kernels that are not the library's, such as those of plain CUDA files ---- */

/* Computes the counts of one block from two runs whose k differ. `explanation->counters` are those of the longer run.
 * `steps` is the difference between the real k and that of the short run, in units of the difference between the runs. */
void lab_explain_extrapolate(lab_access_counters *short_run, lab_explanation *explanation, double steps);

/* What the prediction must know about a launch beside the explanation. */
typedef struct lab_launch_traits {
    bool uses_engine;         /* the kernel multiplies on tensor cores */
    double grouped_tile_rows; /* rows of tiles that neighbouring blocks compute together; usually 1 */
    double blocks;            /* 0: one per tile of bm x bn */
    double batch;             /* products per launch; 0: one */
} lab_launch_traits;

/* Returns whether the hottest loop multiplies on tensor cores. */
bool lab_explanation_uses_engine(const lab_explanation *explanation);

/* Computes the occupancy from the registers and the shared memory of the explanation. */
void lab_explain_compute_occupancy(lab_explanation *explanation);

/* Fills in the work of a launch and the prediction (launch_work.c). */
void lab_explain_predict(const lab_explain_request *request, const lab_launch_traits *traits,
                         lab_explanation *explanation);

/* Returns the line of `KERNEL(threads)` in the source of a kernel of the ladder; 0 if it has none (findings.c). */
int64_t lab_kernel_declaration_line(const char *source);

/* Fills in the findings (findings.c). `kernel_line` is the line of the kernel's declaration. */
void lab_explanation_find_issues(lab_explanation *explanation, int64_t kernel_line);

/* Return why memory accesses were not counted or no prediction was made; "" if they were. The text names a missing tool
 * without advice: lab_tool_install_hint() returns the advice. */
const char *lab_explanation_why_not_counted(const lab_explanation *explanation);
const char *lab_explanation_why_not_predicted(const lab_explanation *explanation);

const char *lab_tool_name(lab_tool tool);     /* "nvdisasm" */
const char *lab_tool_provides(lab_tool tool); /* the inputs that are unknown without the tool */

/* Returns what to install for a tool that `explanation` lacks. */
const char *lab_tool_install_hint(const lab_explanation *explanation, lab_tool tool);

/* Ratios; 0 without requests. */
double lab_sectors_per_request(const lab_explanation *explanation);
double lab_sectors_ideal(const lab_explanation *explanation);
double lab_wavefronts_per_request(const lab_explanation *explanation);
double lab_wavefronts_ideal(const lab_explanation *explanation);

/* Print an explanation to standard output, and how the next kernel of the ladder differs. */
void lab_explanation_print(const lab_explanation *explanation);
void lab_explanation_print_next_kernel(const lab_explanation *here, const lab_explanation *next);

/* Write the members of an open JSON object: the summary is also part of bench results. Unknown values are null. */
void lab_explanation_write_summary(lab_json *json, const lab_explanation *explanation);
void lab_explanation_write_details(lab_json *json, const lab_explanation *explanation);

/* ---- Several kernels ---- */

typedef struct lab_explain_jobs lab_explain_jobs;

/* Creates an empty list. Every job begins with the request `defaults`. With `is_dtype_default`, a kernel that does not
 * accept the type of `defaults` gets f16:f32. Returns NULL if memory is exhausted. */
lab_explain_jobs *lab_explain_jobs_create(const lab_explain_request *defaults, bool is_dtype_default);
void lab_explain_jobs_free(lab_explain_jobs *jobs);

/* Add jobs: all kernels of the ladder; one kernel and the next one of the ladder; the rows of a table of reported
 * speeds. Return NULL, or what is wrong. The text may be in `why`. */
const char *lab_explain_jobs_add_all(lab_explain_jobs *jobs, char *why, size_t capacity);
const char *lab_explain_jobs_add_kernel(lab_explain_jobs *jobs, const char *name, char *why, size_t capacity);
const char *lab_explain_jobs_add_table(lab_explain_jobs *jobs, const char *path, char *why, size_t capacity);

/* Runs all jobs, one per processor at a time. Shows the progress. */
void lab_explain_jobs_run(lab_explain_jobs *jobs);

/* Prints errors to standard error and returns the exit code of the jobs. */
int lab_explain_jobs_exit_code(const lab_explain_jobs *jobs);

/* How to print the jobs. */
typedef enum lab_explain_format {
    LAB_EXPLAIN_PAGE,     /* the first kernel in detail */
    LAB_EXPLAIN_OVERVIEW, /* one row per kernel */
    LAB_EXPLAIN_REPORTED, /* tab-separated predicted and reported speeds */
    LAB_EXPLAIN_JSON
} lab_explain_format;

/* The first job: its explanation, and its object in the JSON of all jobs. */
const lab_explanation *lab_explain_jobs_first(const lab_explain_jobs *jobs);
void lab_explain_jobs_write_first(const lab_explain_jobs *jobs, lab_json *json);

void lab_explain_jobs_print(const lab_explain_jobs *jobs, lab_explain_format format);
