/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - the command rung tasks; see lab/grade. */
#include "grade/grade.h"

int lab_command_tasks(const lab_options *options)
{
    return lab_tasks_run(options);
}
