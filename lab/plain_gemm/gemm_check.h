/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_check.h - compares the result of a plain kernel with the product that an interpretation expects. */
#pragma once

#include "plain_gemm/gemm_result.h"
#include "rung/rung.h"

/* A product that a kernel has computed. All matrices are in host memory. */
typedef struct lab_gemm_product {
    rung_problem problem; /* c is the result */
    rung_matrix before;   /* C before the run, which beta scales */
    rung_matrix output;   /* the result's memory before the run */
    bool is_exact;        /* the inputs are small integers */
    uint64_t seed;
    const char
        *ptx; /* of the kernel: a result of low precision is right only if the code computes with this precision */
} lab_gemm_product;

/* The sum of one element, in double precision. */
typedef struct lab_gemm_sum {
    double products;    /* sum of the products */
    double first, last; /* products with the first and the last k */
    double before;      /* the element of C before the run */
    double magnitude;   /* sum of the magnitudes of the products */
} lab_gemm_sum;

lab_gemm_sum lab_gemm_sum_of(const lab_gemm_product *product, int64_t item, int64_t row, int64_t col);

/* Checks every element. Sets the outcome, the precision and the text of the result. */
void lab_gemm_check(const lab_gemm_product *product, lab_gemm_result *result);
