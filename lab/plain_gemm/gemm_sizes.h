/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_sizes.h - finds the sizes for which a plain kernel is right: any, or multiples of its tile. */
#pragma once

#include "plain_gemm/gemm_run.h"

/* Sizes that a kernel takes, by direction m, n and k. */
typedef struct lab_gemm_sizes {
    int64_t step[3];          /* multiples of this; 0 if only the size of `base` is right */
    int64_t least[3];         /* the smallest one */
    int64_t most[3];          /* the largest one; 0 if there is no limit */
    int64_t base[3];          /* right for sure */
    char first_wrong[3][512]; /* what happens with other sizes; "" if every size is right */
} lab_gemm_sizes;

/* Runs the kernel at sizes around `base`. */
lab_gemm_sizes lab_gemm_find_sizes(lab_gemm_kernel *kernel, const lab_gemm_meaning *meaning, const int64_t base[3]);

/* Returns whether the kernel takes any size. */
bool lab_gemm_takes_any_size(const lab_gemm_sizes *sizes);

/* Writes the sizes for people: "M and N are multiples of 32, K is a multiple of 8". */
void lab_gemm_describe_sizes(const lab_gemm_kernel *kernel, const lab_gemm_sizes *sizes, char *text, size_t capacity);
