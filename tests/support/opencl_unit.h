/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_unit.h - what the OpenCL test programs share: an open device, a small
 * problem in its buffers, and the count of what lives in the driver. */
#ifndef RUNG_OPENCL_UNIT_H
#define RUNG_OPENCL_UNIT_H

#include "support/unit.h"

#include <stdio.h>

#include "opencl/opencl_device.h"

static rung_context *context;
static rung_device *device;
static rung_queue *queue;

static inline int open_device(void **state)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "opencl", .verbose = -1};
    (void)state;
    if (rung_context_create(&options, &context) != RUNG_OK)
        return -1;
    if (rung_device_open(context, "opencl", &device) != RUNG_OK)
        return -1;
    return rung_queue_create(device, &queue) == RUNG_OK ? 0 : -1;
}

static inline int close_device(void **state)
{
    (void)state;
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
    return 0;
}

/* Whether there is a device at all; says why not. */
static inline bool opencl_is_available(void)
{
    rung_device *there;
    if (rung_device_open(NULL, "opencl", &there) != RUNG_OK) {
        fprintf(stderr, "skipped: %s\n", rung_error_text());
        return false;
    }
    rung_device_close(there);
    return true;
}

/* ---- A small problem ------------------------------------------------------------- */

typedef struct opencl_operands {
    float a_data[5 * 7], b_data[7 * 6], c_data[5 * 6];
    rung_matrix a, b, c; /* in memory */
    rung_buffer *a_buffer, *b_buffer, *c_buffer;
    rung_problem problem; /* in buffers, each a few elements in */
} opencl_operands_t;

static inline rung_matrix in_buffer(rung_matrix matrix, rung_buffer *buffer, int64_t offset)
{
    return rung_matrix_in_buffer(matrix.type, matrix.rows, matrix.cols, buffer, offset);
}

static inline void make_operands(rung_device *where, opencl_operands_t *operands)
{
    uint64_t seed = 21;
    unit_fill(&seed, operands->a_data, 35);
    unit_fill(&seed, operands->b_data, 42);
    memset(operands->c_data, 0, sizeof operands->c_data);
    operands->a = rung_matrix_of(RUNG_F32, 5, 7, operands->a_data);
    operands->b = rung_matrix_of(RUNG_F32, 7, 6, operands->b_data);
    operands->c = rung_matrix_of(RUNG_F32, 5, 6, operands->c_data);
    assert_int_equal(rung_buffer_create(where, 4 * 64, &operands->a_buffer), RUNG_OK);
    assert_int_equal(rung_buffer_create(where, 4 * 64, &operands->b_buffer), RUNG_OK);
    assert_int_equal(rung_buffer_create(where, 4 * 64, &operands->c_buffer), RUNG_OK);
    operands->problem = rung_problem_of(in_buffer(operands->a, operands->a_buffer, 1),
                                        in_buffer(operands->b, operands->b_buffer, 2),
                                        in_buffer(operands->c, operands->c_buffer, 3));
}

static inline void destroy_operands(opencl_operands_t *operands)
{
    rung_buffer_destroy(operands->a_buffer);
    rung_buffer_destroy(operands->b_buffer);
    rung_buffer_destroy(operands->c_buffer);
}

static inline void upload_operands(rung_queue *on, opencl_operands_t *operands, const rung_run_options *options)
{
    assert_int_equal(rung_buffer_write(on, operands->a_buffer, 4, sizeof operands->a_data, operands->a_data, options),
                     RUNG_OK);
    assert_int_equal(rung_buffer_write(on, operands->b_buffer, 8, sizeof operands->b_data, operands->b_data, NULL),
                     RUNG_OK);
}

static inline void download_and_check(rung_queue *on, opencl_operands_t *operands)
{
    assert_int_equal(rung_buffer_read(on, operands->c_buffer, 12, sizeof operands->c_data, operands->c_data, NULL),
                     RUNG_OK);
    assert_int_equal(rung_queue_finish(on), RUNG_OK);
    assert_int_equal(unit_first_wrong(&operands->a, &operands->b, &operands->c), -1);
}

/* ---- Objects in the driver ------------------------------------------------------- */

static inline void assert_live(rung_context *of, const long *expected)
{
    static const char *const kinds[] = {"contexts", "queues", "buffers", "events", "programs", "kernels"};
    for (int kind = 0; kind < RUNGI_CL_KINDS; kind++) {
        long live = rungi_opencl_live_objects(of, (rungi_cl_kind)kind);
        if (live != expected[kind])
            fail_msg("%ld %s are alive, not %ld", live, kinds[kind], expected[kind]);
    }
}

#endif /* RUNG_OPENCL_UNIT_H */
