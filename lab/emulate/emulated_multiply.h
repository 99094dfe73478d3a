/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_multiply.h - multiplies once on librung-emulator, from the PTX of a kernel that NVRTC compiled. No GPU, no
 * driver and no child process is needed. `rung explain` reads the counts afterwards, `rung verify` the findings. */
#pragma once

#include <stdbool.h>

#include "rung/emulator.h"

typedef struct lab_emulated_options {
    uint32_t checks;                       /* RUNG_EMULATOR_CHECK_ values */
    bool counts_accesses;                  /* fill the counts of the emulator */
    int64_t traced_warps, traced_requests; /* see rung_emulator_set_trace(); 0: none */
    int64_t max_instructions;              /* of one warp; 0: no limit */
} lab_emulated_options;

/* Operands in host memory. An operand of 0 bytes is absent. */
typedef struct lab_emulated_operand {
    void *data;
    int64_t bytes;
} lab_emulated_operand;

enum { LAB_EMULATED_OPERANDS = 5 };

/* A, B, C, bias and residual. C is read back. If `is_c_input` is false, C starts uninitialized on the emulator. */
typedef struct lab_emulated_problem {
    lab_emulated_operand operands[LAB_EMULATED_OPERANDS];
    bool is_c_input;
} lab_emulated_problem;

/* Launches the code once. Returns false, with a sentence, if the code cannot be loaded or the launch fails; findings do
 * not make it fail. `*emulator` is not NULL if findings or counts exist; the caller destroys it. */
bool lab_emulated_multiply(const rung_code *code, const lab_emulated_problem *problem,
                           const lab_emulated_options *options, rung_emulator **emulator, char *why, size_t capacity);
