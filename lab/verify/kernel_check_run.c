/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_check_run.c - checks a kernel file on the emulator, or on Oclgrind if there is no compiler for it. */
#include <stdio.h>
#include <string.h>

#include "verify/kernel_check.h"
#include "verify/oclgrind_check.h"

enum { OCLGRIND_TIME_FACTOR = 5 }; /* Oclgrind is slow */

void lab_kernel_check_run(const rung_kernel *kernel, const char *parameters, const lab_dtype *dtype, double seconds,
                          bool can_use_opencl, lab_kernel_check *check)
{
    lab_kernel_check emulated;
    if (lab_emulator_check_kernel(kernel, parameters, dtype, seconds, &emulated) || !can_use_opencl) {
        *check = emulated;
        return;
    }
    lab_oclgrind_check_kernel(kernel, parameters, lab_type_pair_name(dtype->product), OCLGRIND_TIME_FACTOR * seconds,
                              check);
    if (!check->ran && check->count == 0) {
        char both[LAB_KERNEL_FINDING_BYTES];
        snprintf(both, sizeof both, "%.300s; %.200s", emulated.why_not, check->why_not);
        memcpy(check->why_not, both, sizeof both);
    }
}
