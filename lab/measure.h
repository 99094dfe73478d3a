/* SPDX-License-Identifier: Apache-2.0 */
/* measure.h - times of one contender on one problem: verified, warmed up, sampled in
 * turn with the others. */
#ifndef LAB_MEASURE_H
#define LAB_MEASURE_H

#include "cases.h"
#include "clock.h"
#include "probe.h"
#include "row_state.h"
#include "product.h"
#include "rung/rung.h"
#include "samples.h"
#include "sets.h"
#include "sweep.h"

/* An operand, in memory and in a buffer. */
typedef struct lab_operand {
    rung_matrix here, there;
    int64_t bytes;
} lab_operand;

/* What A and B hold while they are timed: a GPU's power, and so its clock, goes by the numbers. Results
 * are judged on whole ones first, always. */
/* clang-format off */
#define LAB_INPUTS_LIST(X)                                                      \
    X(WHOLE,  "whole",  "whole numbers from -4 to 4, all as often")             \
    X(NORMAL, "normal", "normally distributed, deviation 1; whole types 32 times that, rounded, from -127 to 127")
/* clang-format on */

typedef enum lab_inputs {
#define X(name, word, meaning) LAB_INPUTS_##name,
    LAB_INPUTS_LIST(X)
#undef X
        LAB_INPUTS_COUNT
} lab_inputs;

/* LAB_INPUTS_COUNT if it is no such word. */
lab_inputs lab_inputs_of(const char *word);
const char *lab_inputs_name(lab_inputs inputs);
const char *lab_inputs_meaning(lab_inputs inputs);

/* What is measured. The lab runs C = A B, or a batch of it, with small whole numbers, so
 * that every result can be judged exactly. */
typedef struct lab_problem {
    rung_context *context; /* whose device of rung_gemm is `device` too */
    rung_device *device;
    rung_queue *queue;
    lab_product product;
    rung_compute compute;
    int64_t m, n, k, batch, splits, carveout, threads; /* threads: of the CPU's plans, 0 as usual */
    lab_epilogue epilogue;
    bool a_by_columns, b_by_columns; /* storage order of A and B; C is row-major */
    lab_operand a, b, c, bias, residual;
    int64_t h2d_ns, d2h_ns; /* medians of a few copies */
    lab_clock clock;        /* of the samples; all but events' are for the CPU alone */
    lab_probe probe;        /* beside each sample, */
    int64_t probe_threads;  /* by so many */
    int64_t rest_ns;        /* before each, so that others' threads have come to rest */
    bool is_cold;           /* each run on other copies, */
    lab_sets *sets;         /* these; NULL where it is not */
} lab_problem;

/* A kernel with parameters on that problem, and what came of it. rung_gemm is one too: its
 * times are those of whole calls on matrices in memory. */
typedef struct lab_contender {
    const rung_kernel *kernel;            /* NULL: rung_gemm */
    char asked[LAB_PARAMETERS_TEXT];      /* as given */
    char parameters[LAB_PARAMETERS_TEXT]; /* all of them, once it ran */
    rung_origin origin;                   /* where they came from, see rung_plan_info */
    char origin_text[256];
    bool is_packed; /* B is packed before the runs */
    rung_plan *plan;
    rung_buffer *workspace, *packed;
    int64_t splits, threads;       /* of k, and of the CPU's, once it ran */
    char library[512], doubt[256]; /* see rung_plan_info */
    rung_compute compute;          /* how it forms products, once it ran */
    bool verified;
    lab_row_state state; /* LAB_ROW_OK if verified */
    char why_not[512];   /* a sentence, if not verified */
    int64_t first_ns;    /* the run that was verified, or by a clock a few of the next */
    int64_t spent_ns;    /* on samples */
    int64_t repeats;     /* runs a sample, of which a time is the mean */
    lab_samples taken;
    lab_mode mode;                               /* that these are of: the fast one if enough samples are in it */
    int64_t samples, median_ns, min_ns, ci95_ns; /* ci95: half of the interval's width */
    int64_t worst_ns, outliers;                  /* see samples.h */
    lab_spread fast, slow;                       /* each by itself, where there are two */
    int64_t batch_wall_ns, calls_wall_ns;        /* if its calls were timed, else 0 */
} lab_contender;

/* The multiply, in memory or in buffers. */
rung_problem lab_problem_multiply(const lab_problem *problem, bool there);

/* Makes the matrices, brings them to the device and times that. */
rung_status lab_problem_create(lab_problem *problem);
void lab_problem_destroy(lab_problem *problem);

/* Other numbers for A and B, in memory, in the buffers and in all copies. */
rung_status lab_problem_fill(const lab_problem *problem, lab_inputs inputs, uint64_t seed);

/* Sets the state, which is not LAB_ROW_OK, and the sentence; the contender counts as not verified. */
void lab_contender_drop(lab_contender *contender, lab_row_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the plan, runs it once for the driver's sake and once to be judged. */
void lab_contender_verify(const lab_problem *problem, lab_contender *contender);

/* Once more on some of the copies of A, B and C, the last among them; whole numbers are in them. */
void lab_contender_judge_sets(const lab_problem *problem, lab_contender *contender);

/* One more sample. */
rung_status lab_contender_sample(const lab_problem *problem, lab_contender *contender);

/* The statistics of all, or of each mode by itself where the probe has two: by the best of it
 * that was ever seen, else 0. */
void lab_contender_summarise(lab_contender *contender, double best_probe);

/* Whether more samples would tell more: at least five, where there are modes in the fast one,
 * then until the interval is within 1 % of the median or the time is spent. */
bool lab_contender_wants_more(const lab_contender *contender, double best_probe, int64_t budget_ns);

/* The batch as one piece of work and as so many single ones, each from its first
 * submission to the end of all, in turn; medians of a few. */
rung_status lab_contender_time_calls(const lab_problem *problem, lab_contender *contender);

void lab_contender_finish(lab_contender *contender);

/* Multiply-adds count twice. */
double lab_gflops(const lab_problem *problem, int64_t nanoseconds);

#endif /* LAB_MEASURE_H */
