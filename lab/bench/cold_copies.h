/* SPDX-License-Identifier: Apache-2.0 */
/* cold_copies.h - copies of A, B and C for rung bench --cache cold. There are enough copies that each has left the
 * caches before it is used again and is read from memory.
 *
 * The copies of an operand are consecutive in one buffer. All copies contain the same numbers, so that every result
 * must be the same. Each run uses the next copy. */
#ifndef LAB_COLD_COPIES_H
#define LAB_COLD_COPIES_H

#include "rung/rung.h"

/* The copies of one operand. */
typedef struct lab_operand_copies {
    rung_buffer *buffer;
    int64_t bytes, stride_elements, stride_bytes;
} lab_operand_copies;

typedef struct lab_cold_copies {
    int64_t count, next;
    int64_t bytes, target_bytes; /* of all copies of A, B and C; the target is twice the last-level cache */
    lab_operand_copies a, b, c;
} lab_cold_copies;

/* Allocates at least two copies: as many as exceed twice the last-level cache, or as fit a quarter of the memory; `bytes` is
 * then less than `target_bytes`. The matrices give the shapes of one copy. */
rung_status lab_cold_copies_create(rung_device *device, const rung_matrix *a, const rung_matrix *b,
                                   const rung_matrix *c, int64_t batch, lab_cold_copies **copies);
void lab_cold_copies_destroy(lab_cold_copies *copies);

/* Fills all copies of A and B and waits for the end. */
rung_status lab_cold_copies_fill(const lab_cold_copies *copies, rung_queue *queue, const void *a, const void *b);

/* Returns the problem on copy `index`, and on the copy after the last one used. */
rung_problem lab_cold_copies_at(const lab_cold_copies *copies, const rung_problem *problem, int64_t index);
rung_problem lab_cold_copies_next(lab_cold_copies *copies, const rung_problem *problem);

#endif /* LAB_COLD_COPIES_H */
