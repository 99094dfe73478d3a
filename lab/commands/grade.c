/* SPDX-License-Identifier: Apache-2.0 */
/* grade.c - the command rung grade; see lab/grade. */
#include "grade/grade.h"

int lab_command_grade(const lab_options *options)
{
    return lab_grade_run(options);
}
