/* SPDX-License-Identifier: Apache-2.0 */
/* program_file.c - any bytes as a program that `rung emulate` inspects before it starts it. The counts of its kernels are not
 * negative; nothing outside of the file is read. */
#define _GNU_SOURCE /* memfd_create */
#include "emulate/program_file.h"

#include "input_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lab_program program;
    char why[1024] = "";
    if (lab_program_read(input_path(data, size), &program, why, sizeof why)) {
        MUST(program.ptx_count >= 0 && program.cubin_count >= 0);
        MUST(!lab_program_refuse(&program, 86, why, sizeof why) || strlen(why) > 20);
    } else {
        MUST(strlen(why) > 10);
    }
    return 0;
}
