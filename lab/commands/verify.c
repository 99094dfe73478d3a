/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - the command rung verify; see lab/verify, and lab/plain_gemm for plain CUDA files. */
#include <stdlib.h>

#include "plain_gemm/plain_options.h"
#include "plain_gemm/plain_verify.h"
#include "target/target.h"
#include "verify/verify.h"

int lab_command_verify(const lab_options *options)
{
    lab_plain_file file;
    if (lab_plain_file_read(options->argument, &file)) {
        const char *refused = lab_plain_options_refused(options, false);
        int code = refused ? lab_usage_error("verify", refused) : lab_plain_verify(options, &file);
        free(file.text);
        return code;
    }
    const char *wrong = lab_plain_options_misused(options, options->argument, false);
    return wrong ? lab_usage_error("verify", wrong) : lab_verify_run(options);
}
