/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_speed.h - predicts the time of a multiplication on an NVIDIA GPU and ranks kernels and presets by it.
 *
 * kernel_speed.def has the clocks per block of each kernel and preset. tools/kernel_speed.c generates it with the model of
 * `rung explain`, so that the library needs no compiler and no disassembler to choose. The arithmetic of waves and of DRAM
 * is that of the model (lab/explain/speed_model.c). This file and kernel_speed.c depend on src/base only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The type of A and B: F16 stands for BF16, too. A kernel with a matrix engine multiplies F32 as TF32, or in the compute
 * mode of the last two. */
typedef enum rungi_speed_type {
    RUNGI_SPEED_F32,
    RUNGI_SPEED_F64,
    RUNGI_SPEED_F16,
    RUNGI_SPEED_I8,
    RUNGI_SPEED_TF32X3,
    RUNGI_SPEED_BF16X3
} rungi_speed_type;

/* What a kernel was compiled for: vectors without bounds checks, vectors with them, or single elements. */
typedef enum rungi_speed_path { RUNGI_SPEED_WIDE, RUNGI_SPEED_GUARDED, RUNGI_SPEED_GENERAL } rungi_speed_path;

enum {
    RUNGI_SPEED_RESIDENT_MAX = 8, /* more resident blocks have the clocks of this number */
    RUNGI_SPEED_LENGTHS = 5,      /* the k for which the table has clocks */
    RUNGI_SPEED_SPLITS_MAX = 64,
    RUNGI_SPEED_KERNELS_MAX = 6,
    /* 14_skinny is considered if C has at most this many rows or columns: its largest BM. */
    RUNGI_SPEED_SHORT_ROWS_MAX = 16
};

/* Seconds of a launch without its blocks, as in the model. */
#define RUNGI_SPEED_LAUNCH_SECONDS 3e-6

/* The clocks between the ends of two blocks for each k of rungi_speed_lengths, as floats: the table has five digits. */
typedef struct rungi_speed_clocks {
    float hit[RUNGI_SPEED_LENGTHS];    /* if L2 has all operands */
    float missed[RUNGI_SPEED_LENGTHS]; /* added if L2 has none of them */
} rungi_speed_clocks;

/* The k of the clocks, in ascending order. Between two of them, the clocks are interpolated. */
extern const double rungi_speed_lengths[RUNGI_SPEED_LENGTHS];

/* A row of the table. It has no pointers: in a shared library each of them needs a relocation of 24 bytes. */
typedef struct rungi_speed_row {
    int architecture;
    char kernel[12], preset[12]; /* preset "": the defaults of the kernel's file */
    rungi_speed_type type;
    rungi_speed_path path;
    int bm, bn, bk;
    int group;        /* rows of tiles that neighbouring blocks compute together */
    int resident;     /* blocks per multiprocessor; 0: a block does not fit */
    int first_clocks; /* index of its clocks in rungi_speed_all_clocks */
} rungi_speed_row;

extern const rungi_speed_row rungi_speed_rows[];
extern const int rungi_speed_row_count;

/* The clocks of all rows: a row has them for 1, 2, ... resident blocks, one after the other. */
extern const rungi_speed_clocks rungi_speed_all_clocks[];

/* A GPU. Rates that are not known are 0 and do not limit the prediction. */
typedef struct rungi_speed_gpu {
    int architecture;
    double sm_count, clock_hertz, dram_bytes_per_second, l2_bytes;
} rungi_speed_gpu;

/* A multiplication whose C is row-major. */
typedef struct rungi_speed_problem {
    double m, n, k, batch;
    rungi_speed_type type;
    double in_bytes, out_bytes, sum_bytes; /* per element */
    int64_t splits;                        /* requested by the caller; 0: any number */
    double workspace_bytes;                /* for partial sums, if `splits` is 0 */
} rungi_speed_problem;

/* A kernel that supports the problem. */
typedef struct rungi_speed_kernel {
    const char *name;
    bool is_wide; /* vectors can be loaded */
    bool can_split;
    rungi_speed_type mode; /* the rows of F32 in another compute mode; RUNGI_SPEED_F32: those of the problem's type */
    bool is_transposed;    /* computes the transposed C: m and n are exchanged */
} rungi_speed_kernel;

typedef struct rungi_speed_choice {
    const rungi_speed_row *row;
    int64_t splits;
    double seconds, waves; /* waves: full ones and the fraction of the last */
    double load;           /* elements that all blocks load per step of 1 along k */
} rungi_speed_choice;

/* Returns the newest architecture of the table that is not newer than `architecture`; 0 if all are newer. */
int rungi_speed_architecture(int architecture);

/* Returns the fraction of the operands that the blocks of a row load from DRAM, because no other block has loaded them to
 * L2 before. k is the length of a slice. */
double rungi_speed_missed(const rungi_speed_row *row, const rungi_speed_gpu *gpu, const rungi_speed_problem *problem,
                          double k);

/* Predicts the time of a row with `splits` slices of k. all_clocks: rungi_speed_all_clocks for a row of the table. */
rungi_speed_choice rungi_speed_predict(const rungi_speed_row *row, const rungi_speed_clocks *all_clocks,
                                       const rungi_speed_gpu *gpu, const rungi_speed_problem *problem, int64_t splits);

/* Ranks the presets of the kernels, each with its best number of slices, fastest first. Equal ones keep the order of the
 * table. If one is within 3 percent of the fastest and loads clearly less from L2, it comes first. Returns how many were
 * written, at most `capacity`. */
int rungi_speed_rank(const rungi_speed_gpu *gpu, const rungi_speed_problem *problem, const rungi_speed_kernel *kernels,
                     int kernel_count, rungi_speed_choice *choices, int capacity);
