/* SPDX-License-Identifier: Apache-2.0 */
/* sets.c - see sets.h. */
#include "sets.h"

#include <stdlib.h>

#include "caches.h"

/* Copies begin where a plan for the first may go: at multiples of this. */
enum { ALIGNMENT = 256 };

static void measure_copies(const rung_matrix *matrix, int64_t batch, lab_copies *copies)
{
    int64_t size = rung_type_size(matrix->type);
    copies->bytes = matrix->rows * matrix->cols * batch * size;
    copies->step_bytes = (copies->bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    copies->step = copies->step_bytes / size;
}

/* What may be used for it: a quarter of what there is, and no buffer larger than the device takes. */
static int64_t most_sets(const rung_device_info *device, const lab_sets *sets, int64_t set_bytes)
{
    lab_caches caches = lab_caches_read();
    int64_t memory = device->memory_bytes > 0 ? device->memory_bytes : caches.memory;
    int64_t most = memory > 0 ? memory / 4 / set_bytes : INT64_MAX;
    const lab_copies *all[] = {&sets->a, &sets->b, &sets->c};
    for (int i = 0; device->max_buffer_bytes > 0 && i < 3; i++)
        if (device->max_buffer_bytes / all[i]->step_bytes < most)
            most = device->max_buffer_bytes / all[i]->step_bytes;
    return most;
}

static rung_status make_buffers(rung_device *device, lab_sets *sets)
{
    lab_copies *all[] = {&sets->a, &sets->b, &sets->c};
    rung_status status = RUNG_OK;
    for (int i = 0; status == RUNG_OK && i < 3; i++)
        status = rung_buffer_create(device, sets->count * all[i]->step_bytes, &all[i]->buffer);
    return status;
}

rung_status lab_sets_create(rung_device *device, const rung_matrix *a, const rung_matrix *b, const rung_matrix *c,
                            int64_t batch, lab_sets **made)
{
    const rung_device_info *info = rung_device_describe(device);
    lab_sets *sets = *made = calloc(1, sizeof *sets);
    if (!sets)
        return RUNG_STATUS_NO_MEMORY;
    measure_copies(a, batch, &sets->a);
    measure_copies(b, batch, &sets->b);
    measure_copies(c, batch, &sets->c);
    int64_t set_bytes = sets->a.step_bytes + sets->b.step_bytes + sets->c.step_bytes;
    sets->wanted = 2 * lab_last_cache(info);
    int64_t most = most_sets(info, sets, set_bytes);
    sets->count = sets->wanted / set_bytes + 1;
    sets->count = sets->count > most ? most : sets->count;
    sets->count = sets->count < 2 ? 2 : sets->count;
    sets->bytes = sets->count * set_bytes;
    rung_status status = make_buffers(device, sets);
    if (status != RUNG_OK) {
        lab_sets_destroy(sets);
        *made = NULL;
    }
    return status;
}

void lab_sets_destroy(lab_sets *sets)
{
    if (!sets)
        return;
    rung_buffer_destroy(sets->a.buffer);
    rung_buffer_destroy(sets->b.buffer);
    rung_buffer_destroy(sets->c.buffer);
    free(sets);
}

rung_status lab_sets_fill(const lab_sets *sets, rung_queue *queue, const void *a, const void *b)
{
    rung_status status = RUNG_OK;
    for (int64_t i = 0; status == RUNG_OK && i < sets->count; i++) {
        status = rung_buffer_write(queue, sets->a.buffer, i * sets->a.step_bytes, sets->a.bytes, a, NULL);
        if (status == RUNG_OK)
            status = rung_buffer_write(queue, sets->b.buffer, i * sets->b.step_bytes, sets->b.bytes, b, NULL);
    }
    rung_status finished = rung_queue_finish(queue);
    return status == RUNG_OK ? finished : status;
}

static void move(rung_matrix *matrix, const lab_copies *copies, int64_t set)
{
    matrix->data = NULL;
    matrix->buffer = copies->buffer;
    matrix->offset = set * copies->step;
}

rung_problem lab_sets_at(const lab_sets *sets, const rung_problem *problem, int64_t set)
{
    rung_problem there = *problem;
    move(&there.a, &sets->a, set);
    move(&there.b, &sets->b, set);
    move(&there.c, &sets->c, set);
    return there;
}

rung_problem lab_sets_turn(lab_sets *sets, const rung_problem *problem)
{
    sets->next = (sets->next + 1) % sets->count;
    return lab_sets_at(sets, problem, sets->next);
}
