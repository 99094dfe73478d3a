/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - the command rung verify; see lab/verify. */
#include "verify/verify.h"

int lab_command_verify(const lab_options *options)
{
    return lab_verify_run(options);
}
