/* SPDX-License-Identifier: Apache-2.0 */
/* explain_show.h - an explanation for people, and for programs. */
#ifndef LAB_EXPLAIN_SHOW_H
#define LAB_EXPLAIN_SHOW_H

#include "explain.h"
#include "json.h"

/* A page; and what the next step of the ladder changes. */
void lab_explanation_print(const lab_explanation *explanation);
void lab_explanation_print_next(const lab_explanation *here, const lab_explanation *next);

/* What was counted and predicted, as fields of an object that is open: those that rows of bench
 * carry, too, and the rest. Unknown is null. */
void lab_explanation_fields(lab_json *json, const lab_explanation *explanation);
void lab_explanation_details(lab_json *json, const lab_explanation *explanation);

#endif /* LAB_EXPLAIN_SHOW_H */
