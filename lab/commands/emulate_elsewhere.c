/* SPDX-License-Identifier: Apache-2.0 */
/* emulate_elsewhere.c - rung emulate on systems other than Linux. */
#include <stdio.h>

#include "cli/options.h"

int lab_command_emulate(const lab_options *options)
{
    (void)options;
    fprintf(stderr, "rung emulate: programs of nvcc run on Linux only\n");
    return LAB_EXIT_UNAVAILABLE;
}
