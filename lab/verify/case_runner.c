/* SPDX-License-Identifier: Apache-2.0 */
/* case_runner.c - runs a kernel on one test case and checks the result. */
#include "verify/case_runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/try.h"

/* ---- Running --------------------------------------------------------------------------------- */

/* Copies an operand to a buffer of exactly its size, so that a checker detects accesses outside. */
static rung_status upload_operand(const lab_tested_kernel *subject, const lab_operand_memory *memory,
                                  rung_matrix *on_device)
{
    *on_device = memory->view;
    on_device->data = NULL;
    if (!memory->view.data)
        return RUNG_OK;
    TRY(rung_buffer_create(subject->device, memory->bytes, &on_device->buffer));
    return rung_buffer_write(subject->queue, on_device->buffer, 0, memory->bytes, memory->view.data, NULL);
}

/* Runs the plan once with another output and other scalars, and signals `done`. This must not affect the run that
 * follows. */
static rung_status run_plan_before(const lab_tested_kernel *subject, rung_plan *plan, const rung_problem *problem,
                                   int64_t output_bytes, rung_run_options options, rung_event *done)
{
    rung_problem other = *problem;
    rung_matrix *output = other.d.type != RUNG_TYPE_NONE ? &other.d : &other.c;
    options.signal = done;
    other.alpha = problem->alpha == 1 ? 2 : 1;
    other.beta = 0;
    TRY(rung_buffer_create(subject->device, output_bytes, &output->buffer));
    rung_status status = rung_plan_run(plan, subject->queue, &other, &options);
    rung_buffer_destroy(output->buffer);
    return status;
}

/* Creates a workspace of NaN: a partial sum that is read but never written becomes visible. */
static rung_status create_workspace(const lab_tested_kernel *subject, int64_t bytes, rung_buffer **workspace)
{
    if (bytes == 0)
        return RUNG_OK;
    void *pattern = malloc((size_t)bytes);
    if (!pattern)
        return rung_error_set(RUNG_STATUS_NO_MEMORY, "out of memory: a workspace of %lld bytes could not be allocated",
                              (long long)bytes);
    memset(pattern, LAB_NAN_PATTERN, (size_t)bytes);
    rung_status status = rung_buffer_create(subject->device, bytes, workspace);
    if (status == RUNG_OK)
        status = rung_buffer_write(subject->queue, *workspace, 0, bytes, pattern, NULL);
    rung_status finish_status = rung_queue_finish(subject->queue);
    free(pattern);
    return status == RUNG_OK ? finish_status : status;
}

/* Packs B. The following runs have only the packed B. */
static rung_status pack_b(const lab_tested_kernel *subject, rung_plan *plan, rung_problem *problem,
                          rung_buffer **packed)
{
    if (!subject->is_packed)
        return RUNG_OK;
    TRY(rung_buffer_create(subject->device, rung_plan_describe(plan)->packed_b_bytes, packed));
    TRY(rung_plan_pack_b(plan, subject->queue, &problem->b, *packed, NULL));
    problem->b.buffer = NULL;
    return RUNG_OK;
}

static rung_status enqueue_run(const lab_tested_kernel *subject, rung_plan *plan, rung_problem problem,
                               int64_t output_bytes, bool is_plan_reused, rung_run_options *options, rung_event **done)
{
    TRY(create_workspace(subject, rung_plan_describe(plan)->workspace_bytes, &options->workspace));
    TRY(pack_b(subject, plan, &problem, &options->packed_b));
    if (is_plan_reused) {
        TRY(rung_event_create(subject->device, done));
        TRY(run_plan_before(subject, plan, &problem, output_bytes, *options, *done));
        options->wait = done;
        options->wait_count = 1;
    }
    return rung_plan_run(plan, subject->queue, &problem, options);
}

static rung_status run_plan(const lab_tested_kernel *subject, const rung_problem *problem, int64_t output_bytes,
                            const lab_case *test_case)
{
    rung_plan *plan;
    rung_event *done = NULL;
    rung_plan_options plan_options = {.size = sizeof(rung_plan_options),
                                      .kernel = subject->kernel,
                                      .parameters = subject->parameters,
                                      .split_k = test_case->splits,
                                      .max_workspace_bytes = LAB_WORKSPACE_MAX_BYTES,
                                      .shared_carveout_percent = (int)subject->carveout,
                                      .threads = subject->threads,
                                      .packed_b = subject->is_packed};
    rung_run_options options = {.size = sizeof(rung_run_options)};
    TRY(rung_plan_create(subject->device, problem, &plan_options, &plan));
    rung_status status = enqueue_run(subject, plan, *problem, output_bytes, test_case->is_plan_reused, &options, &done);
    rung_status finish_status = rung_queue_finish(subject->queue);
    rung_event_destroy(done);
    rung_buffer_destroy(options.workspace);
    rung_buffer_destroy(options.packed_b);
    rung_plan_destroy(plan);
    return status == RUNG_OK ? finish_status : status;
}

enum { OPERANDS = 6 };

static rung_status upload_and_run(const lab_tested_kernel *subject, const lab_case *problem, const lab_case_data *data,
                                  rung_problem *on_device, rung_matrix *const views[OPERANDS])
{
    const lab_operand_memory *on_host[OPERANDS] = {&data->a,    &data->b,        &data->c,
                                                   &data->bias, &data->residual, &data->d};
    const lab_operand_memory *output = lab_case_output(data);
    for (int i = 0; i < OPERANDS; i++)
        TRY(upload_operand(subject, on_host[i], views[i]));
    TRY(run_plan(subject, on_device, output->bytes, problem));
    return rung_buffer_read(subject->queue, (problem->has_d ? on_device->d : on_device->c).buffer, 0, output->bytes,
                            output->view.data, NULL);
}

static rung_status run_on_device(const lab_tested_kernel *subject, const lab_case *problem, const lab_case_data *data)
{
    rung_problem on_device = lab_case_problem(subject, problem, data);
    rung_matrix *const views[OPERANDS] = {&on_device.a,    &on_device.b,        &on_device.c,
                                          &on_device.bias, &on_device.residual, &on_device.d};
    for (int i = 0; i < OPERANDS; i++)
        views[i]->data = NULL;
    rung_status status = upload_and_run(subject, problem, data, &on_device, views);
    rung_status finish_status = rung_queue_finish(subject->queue);
    for (int i = 0; i < OPERANDS; i++)
        rung_buffer_destroy(views[i]->buffer);
    return status == RUNG_OK ? finish_status : status;
}

static rung_status run_case(const lab_tested_kernel *subject, const lab_case *problem, const lab_case_data *data)
{
    rung_problem run = lab_case_problem(subject, problem, data);
    return subject->kernel ? run_on_device(subject, problem, data) : rung_multiply(subject->context, &run, NULL);
}

/* ---- Checking ---------------------------------------------------------------------------------- */

/* Returns the first byte of the output that is not part of an element and has changed, or -1. Copies the elements,
 * which are already checked, to data->before. */
static int64_t first_overwritten_byte(const lab_case_data *data, int64_t batch)
{
    char *expected = data->before.view.data;
    const lab_operand_memory *output = lab_case_output(data);
    const char *found = output->view.data;
    int64_t size = rung_type_size(output->view.type);
    for (int64_t item = 0; item < batch; item++) {
        rung_matrix after = lab_batch_item(&output->view, item);
        for (int64_t row = 0; row < after.rows; row++)
            for (int64_t col = 0; col < after.cols; col++) {
                int64_t byte_offset = size * (after.offset + row * after.row_stride + col * after.col_stride);
                memcpy(expected + byte_offset, found + byte_offset, (size_t)size);
            }
    }
    for (int64_t i = 0; i < output->bytes; i++)
        if (expected[i] != found[i])
            return i;
    return -1;
}

/* Returns whether the inputs are integers so small that the result is exact. */
static bool is_exact(const lab_tested_kernel *subject, const lab_case *problem)
{
    double largest = 64.0 * (double)problem->k * fabs(problem->alpha) + 8 * fabs(problem->beta) + 16;
    double limit = fmin(lab_type_exact_integer_max(lab_type_pair_accumulator(subject->product)),
                        lab_type_exact_integer_max(subject->product.out));
    if (lab_type_is_f8(subject->product.in)) /* the sums of engines have 14 bits */
        limit = fmin(limit, 0x1p13);
    if (lab_type_pair_is_mixed(subject->product)) /* scales are no powers of two */
        return false;
    return problem->content == LAB_CONTENT_SMALL_INTEGERS && problem->alpha == floor(problem->alpha) &&
           problem->beta == floor(problem->beta) && problem->epilogue.activation <= RUNG_ACTIVATION_RELU &&
           largest < limit;
}

void lab_case_check_result(const lab_tested_kernel *subject, const lab_case *problem, const lab_case_data *data,
                           lab_case_result *result)
{
    rung_problem run = lab_case_problem(subject, problem, data);
    run.c = lab_case_output(data)->view;
    lab_oracle_result check = lab_oracle_check(&run, problem->has_d ? &data->c.view : &data->before.view,
                                               is_exact(subject, problem) ? LAB_ACCURACY_EXACT : subject->accuracy);
    int64_t gap = first_overwritten_byte(data, problem->batch);
    if (!check.right) {
        char item[48] = "";
        if (problem->batch > 1)
            snprintf(item, sizeof item, " of item %lld", (long long)check.item);
        *result = (lab_case_result){.kind = LAB_CASE_WRONG, .fault = LAB_FAULT_ELEMENT};
        snprintf(result->message, sizeof result->message,
                 "element (%lld, %lld)%s is %.9g, expected %.9g (error bound %.3g)", (long long)check.row,
                 (long long)check.col, item, check.got, check.expected, check.bound);
    } else if (gap >= 0) {
        *result = (lab_case_result){.kind = LAB_CASE_WRONG, .fault = LAB_FAULT_OUTSIDE};
        snprintf(result->message, sizeof result->message,
                 "wrote outside %s: byte %lld of its memory belongs to no element and has changed",
                 problem->has_d ? "D" : "C", (long long)gap);
    } else {
        result->kind = LAB_CASE_CORRECT;
    }
}

static void set_error_result(rung_status status, lab_case_result *result)
{
    result->kind = status == RUNG_STATUS_UNSUPPORTED || status == RUNG_STATUS_NO_MEMORY ? LAB_CASE_REJECTED
                                                                                        : LAB_CASE_FAILED;
    result->lacked_memory = status == RUNG_STATUS_NO_MEMORY;
    snprintf(result->message, sizeof result->message, "%s", rung_error_text());
}

static const lab_case_result no_memory_result = {.kind = LAB_CASE_REJECTED,
                                                 .lacked_memory = true,
                                                 .message = "not enough memory for the matrices, or they exceed 4 GiB"};

void lab_case_run(const lab_tested_kernel *subject, const lab_case *problem, lab_case_result *result)
{
    lab_case_data data;
    *result = (lab_case_result){.fault = LAB_FAULT_NONE};
    if (lab_case_data_create(subject, problem, &data)) {
        rung_status status = run_case(subject, problem, &data);
        if (status == RUNG_OK)
            lab_case_check_result(subject, problem, &data, result);
        else
            set_error_result(status, result);
    } else {
        *result = no_memory_result;
    }
    lab_case_data_free(&data);
}

/* Restores C before each run, and compares it with that of the first run afterwards. */
static void run_repeats(const lab_tested_kernel *subject, const lab_case *problem, int64_t times,
                        const lab_case_data *data, void *first, lab_case_result *result)
{
    void *output = lab_case_output(data)->view.data;
    size_t bytes = (size_t)lab_case_output(data)->bytes;
    result->kind = LAB_CASE_CORRECT;
    for (int64_t i = 0; result->kind == LAB_CASE_CORRECT && i <= times; i++) {
        memcpy(output, data->before.view.data, bytes);
        rung_status status = run_case(subject, problem, data);
        if (status != RUNG_OK) {
            set_error_result(status, result);
        } else if (i == 0) {
            memcpy(first, output, bytes);
        } else if (memcmp(first, output, bytes) != 0) {
            *result = (lab_case_result){.kind = LAB_CASE_WRONG, .fault = LAB_FAULT_REPEAT};
            snprintf(result->message, sizeof result->message, "repeat %lld gives different bits", (long long)i);
        }
    }
}

void lab_case_run_repeated(const lab_tested_kernel *subject, const lab_case *problem, int64_t times,
                           lab_case_result *result)
{
    lab_case_data data;
    *result = (lab_case_result){.fault = LAB_FAULT_NONE};
    bool made = lab_case_data_create(subject, problem, &data);
    void *first = made ? malloc((size_t)lab_case_output(&data)->bytes + 1) : NULL;
    if (first)
        run_repeats(subject, problem, times, &data, first, result);
    else
        *result = no_memory_result;
    free(first);
    lab_case_data_free(&data);
}
