/* SPDX-License-Identifier: Apache-2.0 */
/* variant.h - variants of a task: the tables [[variant]] of task.toml name variables with several values, and the name or number
 * of a student decides the values. Every student gets the same variant on every machine, from the task and the text of the ID
 * alone. The task without a variant has the first value of each variable; no student gets all of these. */
#pragma once

#include "grade/task.h"

enum { LAB_VARIANT_TEXT_BYTES = 1024, LAB_VARIANT_ID_BYTES = 128 };

/* Chooses the values for a student. Returns false with a sentence if the task has no variants, or the ID is empty, too long or
 * no text in one line. */
bool lab_variant_choose(lab_task *task, const char *id, char *why, size_t capacity);

/* Writes "RADIUS = 2, CENTRE = 4"; "" for a task without variables. */
void lab_variant_describe(const lab_task *task, char *text, size_t capacity);

/* Writes the sentence of task.toml about the value of a variable. */
void lab_variant_sentence(const lab_task_variable *variable, char *text, size_t capacity);

/* Gives the constants of a CUDA file that are named like a variable the value of the variable: "#define RADIUS 1" becomes
 * "#define RADIUS 2". *text is from malloc() and may be replaced. Returns false if memory is exhausted. */
bool lab_variant_apply(const lab_task *task, char **text, size_t *bytes);
