/* SPDX-License-Identifier: Apache-2.0 */
/* ladder_kernel.h - a kernel of the ladder on the emulator: compiles it as a plan does, and launches it as a plan does. */
#pragma once

#include "rung/emulator.h"

/* A multiplication by one kernel. */
typedef struct ladder_case {
    const char *kernel; /* "07_tile2d" */
    const char *dtype;  /* for people and for the command line: "f16:f32" */
    rung_type in, out;
    rung_compute compute;
    int64_t m, n, k;
} ladder_case_t;

enum { LADDER_ARGUMENTS_MAX = 17 };

/* A launch with its arguments. */
typedef struct ladder_launch {
    rung_emulator_launch launch;
    uint64_t values[LADDER_ARGUMENTS_MAX][24];
    void *arguments[LADDER_ARGUMENTS_MAX];
} ladder_launch_t;

/* The PTX of a case and its launch. */
typedef struct ladder_kernel {
    ladder_case_t problem;
    int architecture;
    char *ptx;
    size_t ptx_bytes;
    char parameters[512];
    ladder_launch_t launch; /* with addresses a, b and c that ladder_kernel_bind() set */
} ladder_kernel_t;

/* Compiles the kernel for an architecture (86) with NVRTC. Returns false with a message on stderr. */
bool ladder_kernel_compile(rung_context *context, const ladder_case_t *problem, int architecture,
                           ladder_kernel_t *kernel);
void ladder_kernel_free(ladder_kernel_t *kernel);

/* Fills the launch for matrices at these addresses of an emulator. */
bool ladder_kernel_bind(rung_context *context, ladder_kernel_t *kernel, uint64_t a, uint64_t b, uint64_t c);
