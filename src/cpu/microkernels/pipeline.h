/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline.h - what 10_pipeline chooses before it multiplies: the path, block sizes and scratch of a run. */
#pragma once

#include "base/checked_arithmetic.h"
#include "cpu/cpu_kernel.h"
#include "cpu/microkernels/microkernel.h"

/* Indices of the parameters of 10_pipeline. */
enum { RUNGI_PIPELINE_KC, RUNGI_PIPELINE_NC };

/* How B is read: packed by this run or in advance, in place, in place along k (DOTS), or (PACKED_L1) packed in advance for a few panels of rows and a
 * large B. The last path takes one tile of columns and L1_K_STEPS steps of k at a time, so that every panel after the first
 * finds B in L1. */
enum { RUNGI_PIPELINE_PACKED, RUNGI_PIPELINE_IN_PLACE, RUNGI_PIPELINE_PACKED_L1, RUNGI_PIPELINE_DOTS };

enum {
    RUNGI_PIPELINE_SUM_ROWS = 336,          /* rows of sums that are kept outside C */
    RUNGI_PIPELINE_IN_PLACE_COLUMNS = 4096, /* columns of an unpacked B per pass over k */
    RUNGI_PIPELINE_IN_PLACE_K_STEPS = 32,   /* steps of k per K block of an unpacked B; see in_place_steps */
    RUNGI_PIPELINE_DOT_COLUMNS = 64,        /* columns of C whose dot products are computed before they are stored */
    RUNGI_PIPELINE_L1_K_STEPS = 32,   /* steps of k per packed tile: few, so that prefetched lines arrive in time */
    RUNGI_PIPELINE_A_ROW_PADDING = 64 /* bytes between copied rows of A, which then lie in different cache sets */
};

/* One run of a thread. */
typedef struct rungi_pipeline {
    const rungi_cpu_job *job;
    const rungi_microkernel_table *tiles;
    int64_t tile_rows, tile_width;                 /* of the path */
    int64_t size, in_size;                         /* bytes of a sum, and of an element of A */
    int64_t kc, nc, cached_rows;                   /* cached_rows: rows of A */
    bool is_in_place, is_l1_resident, is_dots;     /* the paths RUNGI_PIPELINE_IN_PLACE, _PACKED_L1 and _DOTS */
    bool can_read_a_in_place, can_read_b_in_place; /* contiguous along the row, and of the accumulator type */
    bool copies_a, caches_a; /* A is copied; copies of many rows are reused by several blocks of B */
    bool packs_a;            /* A is packed, if there are micro-kernels for the rows of the panels */
    bool buffers_sums;       /* sums are kept outside C */
    bool can_stream_c;       /* C is large and written once */
    bool streams_c;          /* and aligned */
    bool prefetches_c;
    bool scales_last;                 /* alpha is applied after the last K block */
    char *a_copies, *b_panels, *sums; /* scratch */
    int64_t i, j, rows, cols;         /* the current block of C, */
    int64_t p, k_size;                /* and the current K block */
} rungi_pipeline;

/* Returns the bytes from one copied row of A to the next. The padding puts rows into different cache sets. */
static inline int64_t rungi_pipeline_a_row_bytes(const rungi_pipeline *run, int64_t k_size)
{
    return rungi_round_up(k_size * run->size, RUNGI_PIPELINE_A_ROW_PADDING) + RUNGI_PIPELINE_A_ROW_PADDING;
}

/* The configure function of rungi_cpu_kernel. */
rung_status rungi_pipeline_configure(const rungi_cpu_job *job, rung_compute compute, rungi_cpu_kernel_config *config);

/* Fills what depends on the job's types and strides alone, which is enough to pack B. */
void rungi_pipeline_init(rungi_pipeline *run, const rungi_cpu_job *job, const rungi_cpu_kernel_config *config);

/* Fills everything but the current block, for a job with scratch. */
void rungi_pipeline_start(rungi_pipeline *run, const rungi_cpu_job *job);
