/* SPDX-License-Identifier: Apache-2.0 */
/* grade.h - rung grade and rung tasks: runs a submission for a task on the emulator and gives it points.
 *
 * The submission is compiled in a sandbox and interpreted; nothing of it runs natively. A supervised child process does all of
 * this with limits of time and memory, so that every submission ends with a grade. docs/start/grading.md is for users. */
#pragma once

#include "cli/options.h"

/* Run the commands. They return an exit code. */
int lab_grade_run(const lab_options *options);
int lab_tasks_run(const lab_options *options);

/* Writes the names of the tasks that come with rung, separated by spaces, for the completion. */
void lab_tasks_write_names(FILE *out);
