/* SPDX-License-Identifier: Apache-2.0 */
/* planted.c - the soak test with a faulty library: the linker puts __wrap_rung_multiply in the place of rung_multiply. The
 * environment variable SOAK_PLANT names the fault; if it is not set, all products are right. planted.sh
 * expects that each fault is found and reduced. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rung/rung.h"

rung_status __real_rung_multiply(rung_context *, const rung_problem *, const rung_multiply_options *);
rung_status __wrap_rung_multiply(rung_context *, const rung_problem *, const rung_multiply_options *);

static bool is_planted(const char *name)
{
    const char *plant = getenv("SOAK_PLANT");
    return plant && strcmp(plant, name) == 0;
}

/* Returns the first byte of an element of the first item. */
static unsigned char *byte_of(const rung_matrix *view, int64_t row, int64_t col)
{
    int64_t first = view->batch_offsets ? view->batch_offsets[0] : 0;
    return (unsigned char *)view->data +
           (view->offset + first + row * view->row_stride + col * view->col_stride) * rung_type_size(view->type);
}

/* Inverts the highest bits of an element: its sign changes, and most of its exponent. */
static void spoil(const rung_matrix *view, int64_t row, int64_t col)
{
    byte_of(view, row, col)[rung_type_size(view->type) - 1] ^= 0xf0;
}

rung_status __wrap_rung_multiply(rung_context *context, const rung_problem *problem,
                                 const rung_multiply_options *options)
{
    rung_problem given = *problem;
    const rung_matrix *output = problem->d.type != RUNG_TYPE_NONE ? &problem->d : &problem->c;
    if (is_planted("beta") && given.beta == -1) /* the wrong sign */
        given.beta = 1;
    if (is_planted("strides") && given.a.batch_stride == 0 && !given.a.batch_offsets && given.batch > 1)
        given.batch = 1; /* items that share A are left out */
    rung_status status = __real_rung_multiply(context, &given, options);
    if (status != RUNG_OK || output->rows == 0 || output->cols == 0)
        return status;
    if (is_planted("tail") && output->cols % 16 == 5) /* the last column of a tail */
        spoil(output, 0, output->cols - 1);
    if (is_planted("threads") && options && options->threads == 3 &&
        output->rows > 20) /* only the last thread is wrong */
        byte_of(output, output->rows - 1, 0)[0] ^= 1;
    if (is_planted("gap") && problem->batch <= 1 && output->row_stride > output->cols && output->col_stride == 1 &&
        output->rows > 1)
        byte_of(output, 0, output->cols)[0] ^= 1; /* a write behind a row */
    if (is_planted("input") && problem->bias.rows > 0)
        byte_of(&problem->bias, 0, 0)[0] ^= 1;
    return status;
}
