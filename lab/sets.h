/* SPDX-License-Identifier: Apache-2.0 */
/* sets.h - copies of A, B and C, so many that the caches have forgotten one when its turn comes
 * again: for times of matrices that come from memory (rung bench --cache cold).
 *
 * Each operand's copies stand one behind the other in one buffer; a run takes the next. They are
 * the same numbers, so that every result must be the same. */
#ifndef LAB_SETS_H
#define LAB_SETS_H

#include "rung/rung.h"

/* One operand: where its copies are, and how many elements they are apart. */
typedef struct lab_copies {
    rung_buffer *buffer;
    int64_t bytes, step, step_bytes;
} lab_copies;

typedef struct lab_sets {
    int64_t count, next;
    int64_t bytes, wanted; /* of all sets together, and to be more than twice the last cache */
    lab_copies a, b, c;
} lab_sets;

/* As many as make twice the last cache, or as a quarter of the memory holds: `bytes` is then less
 * than `wanted`. At least two. The views say the form of one set. */
rung_status lab_sets_create(rung_device *device, const rung_matrix *a, const rung_matrix *b, const rung_matrix *c,
                            int64_t batch, lab_sets **sets);
void lab_sets_destroy(lab_sets *sets);

/* The same numbers for all; waits until they are there. */
rung_status lab_sets_fill(const lab_sets *sets, rung_queue *queue, const void *a, const void *b);

/* The problem on one of them, and on the next. */
rung_problem lab_sets_at(const lab_sets *sets, const rung_problem *problem, int64_t set);
rung_problem lab_sets_turn(lab_sets *sets, const rung_problem *problem);

#endif /* LAB_SETS_H */
