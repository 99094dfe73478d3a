/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_sizes.h - finds the sizes for which a plain kernel is right: any, or multiples of its tile.
 *
 * A kernel without code for partial tiles is wrong at other sizes in known ways: elements are wrong or missing, or whole
 * tiles or vectors reach beyond the matrices. Such sizes are excluded by a rule such as "M is a multiple of 16". Everything
 * else that goes wrong at any size is a finding: deadlocks, races, uninitialized memory, and accesses beyond the matrices
 * that do not come from whole tiles, such as those of "row <= M". */
#pragma once

#include "findings/finding_list.h"
#include "plain_gemm/gemm_run.h"

enum { LAB_GEMM_FAILURES_MAX = 16 };

/* A size at which the kernel failed. */
typedef struct lab_gemm_failure {
    int64_t size[3];
    const char *kind; /* name of a finding, or "wrong-result", "invalid-launch" */
    int line;         /* 0: none */
    char text[384];
} lab_gemm_failure;

/* Sizes that a kernel takes, by direction m, n and k. */
typedef struct lab_gemm_sizes {
    int64_t step[3];    /* multiples of this; 0 if only the size of `base` is right */
    int64_t least[3];   /* the smallest one */
    int64_t most[3];    /* the largest one; 0 if there is no limit */
    int64_t base[3];    /* right for sure */
    int leader[3];      /* the first direction that must have the same size: {0, 1, 1} if N = K */
    int64_t largest[3]; /* tested */
    int reason[3];      /* index of the first failure in a direction; -1: none */
    bool is_defect;    /* the limits are not those of a kernel without code for partial tiles: parameters must be equal,
                            * or have one value */
    char relation[16]; /* "N = K" if these must be equal; "" otherwise */
    lab_gemm_failure failures[LAB_GEMM_FAILURES_MAX];
    int failure_count;
} lab_gemm_sizes;

/* Runs the kernel at sizes around `base`. Adds to `findings` what no rule about sizes excuses. */
lab_gemm_sizes lab_gemm_find_sizes(lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, const int64_t base[3],
                                   lab_finding_list *findings);

/* Returns whether the kernel takes any size. */
bool lab_gemm_takes_any_size(const lab_gemm_sizes *sizes);

/* Writes the sizes for people: "M and N are multiples of 32, and K is a multiple of 8"; "" for any size. */
void lab_gemm_describe_sizes(const lab_gemm_kernel *kernel, const lab_gemm_sizes *sizes, char *text, size_t capacity);

/* Writes why a direction has its limits: "129 x 256 x 64, line 20: write of 4 bytes ..."; "" if it has none. */
void lab_gemm_describe_failure(const lab_gemm_sizes *sizes, int direction, char *text, size_t capacity);
