/* SPDX-License-Identifier: Apache-2.0 */
/* grade_points.h - from the results of the cases to points. */
#pragma once

#include "grade/task_run.h"
#include "grade/grade_result.h"

/* The cases in the order in which they ran. */
typedef struct lab_grade_cases {
    const lab_task_case *cases;
    const lab_task_run_result *results;
    int count; /* of the task */
    int ran;   /* the last one of these may not be complete */
} lab_grade_cases;

/* Gives points for every part. `findings` are those of all cases. A part without a finding, or a metric, counts only if the
 * results of the public shapes are right: a kernel that does nothing has no races either. */
void lab_grade_give_points(const lab_task *task, const lab_grade_cases *cases, lab_grade_result *result);
