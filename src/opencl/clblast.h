/* SPDX-License-Identifier: Apache-2.0 */
/* clblast.h - CLBlast, the OpenCL BLAS library, as kernel 00_vendor. */
#pragma once

#include "opencl/opencl_device.h"

/* CLBlastSgemm and CLBlastDgemm, as clblast_c.h declares them; 0 is success. */
typedef int rungi_clblast_sgemm(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k, float alpha,
                                cl_mem a, size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset, size_t b_ld,
                                float beta, cl_mem c, size_t c_offset, size_t c_ld, cl_command_queue *queue,
                                cl_event *event);
typedef int rungi_clblast_dgemm(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k,
                                double alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset,
                                size_t b_ld, double beta, cl_mem c, size_t c_offset, size_t c_ld,
                                cl_command_queue *queue, cl_event *event);

/* A plan that calls CLBlast. */
typedef struct rungi_clblast_plan {
    rungi_clblast_sgemm *sgemm; /* one of the two */
    rungi_clblast_dgemm *dgemm;
    int a_transpose, b_transpose; /* values of CLBlast's enums */
    size_t a_ld, b_ld, c_ld;
} rungi_clblast_plan;

/* Returns RUNG_STATUS_UNSUPPORTED if CLBlast is not installed or does not support the problem. */
rung_status rungi_clblast_plan_create(rung_plan *plan, rungi_clblast_plan *clblast);
rung_status rungi_clblast_plan_run(rung_plan *plan, const rungi_clblast_plan *clblast, rung_queue *queue,
                                   const rung_problem *problem, const rung_run_options *options);
