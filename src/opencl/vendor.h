/* SPDX-License-Identifier: Apache-2.0 */
/* vendor.h - CLBlast, the OpenCL library to beat, as kernel 00. */
#ifndef RUNGI_OPENCL_VENDOR_H
#define RUNGI_OPENCL_VENDOR_H

#include "opencl/opencl.h"

/* CLBlastSgemm and CLBlastDgemm, as clblast_c.h declares them; 0 is success. */
typedef int rungi_clblast_sgemm(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k, float alpha,
                                cl_mem a, size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset, size_t b_ld,
                                float beta, cl_mem c, size_t c_offset, size_t c_ld, cl_command_queue *queue,
                                cl_event *event);
typedef int rungi_clblast_dgemm(int layout, int a_transpose, int b_transpose, size_t m, size_t n, size_t k,
                                double alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b, size_t b_offset,
                                size_t b_ld, double beta, cl_mem c, size_t c_offset, size_t c_ld,
                                cl_command_queue *queue, cl_event *event);

/* What a vendor plan has to know. */
typedef struct rungi_opencl_vendor {
    rungi_clblast_sgemm *sgemm; /* one of the two */
    rungi_clblast_dgemm *dgemm;
    int layout, a_transpose, b_transpose; /* CLBlast's numbers */
    size_t a_ld, b_ld, c_ld;
} rungi_opencl_vendor;

/* A function of CLBlast's; false if it is not here. */
bool rungi_opencl_vendor_find(const char *name, void *function);

/* Hands CLBlast what RUNG_CLBLAST_TUNING names, once a device; `from` is that file, NULL if
 * there is none. (vendor_tuning.c) */
rung_status rungi_opencl_vendor_tune(rungi_opencl_device *device, const char **from);

/* The library's name, "" if it is not here. */
void rungi_opencl_vendor_where(char *text, size_t capacity);

/* RUNG_STATUS_UNSUPPORTED where CLBlast is not here or does not take the problem. */
rung_status rungi_opencl_vendor_create(rung_plan *plan, rungi_opencl_vendor *vendor);
rung_status rungi_opencl_vendor_run(rung_plan *plan, const rungi_opencl_vendor *vendor, rung_queue *queue,
                                    const rung_problem *problem, const rung_run_options *options);

#endif /* RUNGI_OPENCL_VENDOR_H */
