/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - the command rung verify; see lab/verify, and lab/plain_gemm for plain CUDA files. */
#include "plain_gemm/plain_options.h"
#include "plain_gemm/plain_verify.h"
#include "verify/verify.h"

int lab_command_verify(const lab_options *options)
{
    return lab_is_plain_cuda(options->argument) ? lab_plain_verify(options, options->argument)
                                                : lab_verify_run(options);
}
