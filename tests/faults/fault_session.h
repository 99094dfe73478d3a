/* SPDX-License-Identifier: Apache-2.0 */
/* fault_session.h - what the scenarios of fault_points.c share: operands, the folder of files, and a scenario's functions. */
#pragma once

#include <stdbool.h>

#include "rung/rung.h"

/* What must be there. */
typedef enum fault_need { FAULT_CPU, FAULT_OPENCL, FAULT_CUDA, FAULT_NVRTC, FAULT_PLANTED } fault_need;

/* A scenario makes calls of a library in an order that a program would use. `run` opens what is not open, and stops at the first call
 * that fails. It may be called again after a failure. `close` destroys all objects. */
typedef struct fault_scenario {
    const char *name;
    rung_status (*run)(void);
    void (*close)(void);
    bool (*is_right)(void); /* after a run that succeeded */
    fault_need need;
} fault_scenario;

extern const fault_scenario fault_multiply_scenarios[], fault_file_scenarios[], fault_planted_scenarios[];

enum { FAULT_M = 96, FAULT_N = 80, FAULT_K = 72 };

/* A, B and C, and C = A B as plain loops compute it. Elements are small integers, so that results are exact. */
extern float fault_a[FAULT_M * FAULT_K], fault_b[FAULT_K * FAULT_N], fault_c[FAULT_M * FAULT_N];
void fault_fill_operands(void);

/* Fills C with a value that no product has. */
void fault_clear_c(void);
bool fault_c_is_clear(void);
bool fault_c_is_product(void);

rung_matrix fault_matrix_a(void), fault_matrix_b(void), fault_matrix_c(void);

/* Returns the path of a file in the folder of this run. The next four calls leave it unchanged. */
const char *fault_path(const char *name);
