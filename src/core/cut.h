/* SPDX-License-Identifier: Apache-2.0 */
/* cut.h - a problem cut into panels of C, each a problem of its own. */
#ifndef RUNGI_CUT_H
#define RUNGI_CUT_H

#include "core/problem.h"

typedef enum rungi_along { RUNGI_WHOLE, RUNGI_ROWS, RUNGI_COLS, RUNGI_ITEMS } rungi_along;

typedef struct rungi_cut {
    rungi_along along;
    int64_t extent; /* rows, columns or items of C */
    int64_t step;   /* of them in a panel; the last may have fewer */
    int64_t count;  /* panels */
    int64_t bytes;  /* worth copying at a time */
} rungi_cut;

/* How a settled problem is cut if its operands have more than `threshold` bytes together;
 * whole otherwise, and with a threshold of 0. */
rungi_cut rungi_cut_of(const rung_problem *problem, int64_t threshold);

/* Whether the operand differs from panel to panel; one that does not serves all of them. */
bool rungi_cut_parts(const rungi_cut *cut, const rung_problem *problem, rungi_operand operand);

/* That panel: views into the problem's memory. */
rung_problem rungi_cut_panel(const rungi_cut *cut, const rung_problem *problem, int64_t index);

/* The view without gaps and without memory, as many items of it as differ in a batch, and
 * their bytes. False if they overflow. */
bool rungi_cut_dense(const rung_matrix *view, int64_t batch, rung_matrix *dense, int64_t *items, int64_t *bytes);

#endif /* RUNGI_CUT_H */
