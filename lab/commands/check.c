/* SPDX-License-Identifier: Apache-2.0 */
/* check.c - the command rung check; see lab/check. */
#include "check/check.h"

int lab_command_check(const lab_options *options)
{
    return lab_check_run(options);
}
