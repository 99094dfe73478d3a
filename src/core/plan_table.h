/* SPDX-License-Identifier: Apache-2.0 */
/* plan_table.h - the plans that groups of problems use on one queue, found by the form of a problem. A group may have
 * thousands of problems with hundreds of forms, and the next group often has the same forms. */
#pragma once

#include "core/plan.h"

typedef struct rungi_plan_table rungi_plan_table;

/* Finds a plan for a normalized problem, with a packed B or without, in the queue's table, or creates it. The queue owns the plan, which lives at
 * least until rungi_plan_table_trim() is called. */
rung_status rungi_plan_table_get(rung_queue *queue, const rung_problem *normalized, bool packed_b, rung_plan **plan);

/* Destroys the plans if there are more than a queue should hold between calls. */
void rungi_plan_table_trim(rung_queue *queue);

/* Destroys the table of a queue with its plans. */
void rungi_plan_table_destroy(rung_queue *queue);
