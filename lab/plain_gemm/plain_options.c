/* SPDX-License-Identifier: Apache-2.0 */
/* plain_options.c - see plain_options.h. */
#include "plain_gemm/plain_options.h"

#include <stdlib.h>
#include <string.h>

#include "io/input_file.h"

bool lab_is_plain_cuda(const char *path)
{
    char why[512];
    size_t length = path ? strlen(path) : 0, bytes;
    if (length < 4 || strcmp(path + length - 3, ".cu") != 0)
        return false;
    char *text = lab_file_read(path, LAB_KERNEL_BYTES_MAX, &bytes, why, sizeof why);
    bool is_plain = text && strstr(text, "__global__");
    free(text);
    return is_plain;
}

const char *lab_plain_options_read(const lab_options *options, lab_launch_options *launch)
{
    *launch = (lab_launch_options){.line = 0};
    bool good = lab_launch_options_set(launch->kernel, options->kernel) &&
                lab_launch_options_set(launch->templates, options->template) &&
                lab_launch_options_set(launch->grid, options->grid) &&
                lab_launch_options_set(launch->block, options->block) &&
                lab_launch_options_set(launch->shared, options->shared) &&
                lab_launch_options_set(launch->arguments, options->args);
    return good ? NULL : "--kernel, --template, --grid, --block, --shared and --args take at most 511 characters";
}
