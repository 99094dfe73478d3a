/* SPDX-License-Identifier: Apache-2.0 */
/* case_data.c - allocates and fills the matrices of one test case.
 *
 * Memory that must not be read is NaN: the gaps of A and B and the memory after them, C if beta is 0, A and B if alpha
 * is 0. Memory that must not be written, the gaps of C and the memory after it, has a pattern that no arithmetic on the
 * operands yields, and must keep every bit. */
#include "verify/case_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/random.h"

enum { GUARD_ELEMENTS = 64, GUARD_PATTERN = 0xa5 }; /* after the last element of operands with a guard */

enum { NAN_STREAM, A_STREAM, B_STREAM, C_STREAM, BIAS_STREAM, RESIDUAL_STREAM };

/* Larger than any problem of a suite; a limit for problems of the command line. */
static const int64_t bytes_max = (int64_t)4 << 30;

const lab_operand_memory *lab_case_output(const lab_case_data *data)
{
    return data->d.view.data ? &data->d : &data->c;
}

/* Computes the bytes up to the last element. Returns false if they exceed bytes_max. */
static bool compute_bytes(rung_type type, int64_t rows, int64_t cols, lab_strides strides, int64_t batch,
                          int64_t *bytes)
{
    double elements = rows > 0 && cols > 0 && batch > 0
                          ? (double)strides.offset + (double)(rows - 1) * (double)strides.row_stride +
                                (double)(cols - 1) * (double)strides.col_stride +
                                (double)(batch - 1) * (double)strides.batch_stride + 1
                          : 0;
    *bytes = 0;
    if (elements * (double)rung_type_block_bytes(type) / (double)rung_type_block_elements(type) > (double)bytes_max)
        return false;
    *bytes = lab_type_bytes(type, (int64_t)elements);
    return true;
}

static bool create_operand(rung_type type, int64_t rows, int64_t cols, lab_strides strides, const lab_case *problem,
                           int pattern, lab_operand_memory *memory)
{
    if (!compute_bytes(type, rows, cols, strides, problem->batch, &memory->bytes))
        return false;
    if (problem->has_guard)
        memory->bytes += lab_type_bytes(type, GUARD_ELEMENTS);
    memory->view = rung_matrix_of(type, rows, cols, malloc(memory->bytes ? (size_t)memory->bytes : 1));
    memory->view.row_stride = strides.row_stride;
    memory->view.col_stride = strides.col_stride;
    memory->view.offset = strides.offset;
    memory->view.batch_stride = strides.batch_stride;
    if (!memory->view.data)
        return false;
    memset(memory->view.data, pattern, (size_t)memory->bytes);
    return true;
}

/* Scatters the items of a batch: in ascending order for the output; otherwise in descending order, with every fourth
 * item at the offset of its predecessor. */
static bool scatter(lab_operand_memory *memory, int64_t batch, bool ascending)
{
    memory->offsets = malloc((size_t)(batch + 1) * sizeof *memory->offsets);
    if (!memory->offsets)
        return false;
    for (int64_t i = 0; i < batch; i++) {
        int64_t position = ascending ? i : batch - 1 - (i % 4 == 3 ? i - 1 : i);
        memory->offsets[i] = position * memory->view.batch_stride;
    }
    memory->view.batch_offsets = memory->offsets;
    return true;
}

/* Draws an integer: from the full range, so that sums wrap around; small; of few bits; or with the ends of the range
 * among the others. */
static double integer_value_of(rung_type type, lab_content content, uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t bits = lab_random(seed, stream, index), other = lab_random(seed, stream + 100, index);
    int32_t value = type == RUNG_I8 ? (int32_t)(bits % 256) - 128 : (int32_t)bits;
    switch (content) {
    case LAB_CONTENT_SMALL_INTEGERS: return (double)(other % 17) - 8;
    case LAB_CONTENT_WIDE_EXPONENTS: return (double)(value >> other % (type == RUNG_I8 ? 7 : 31));
    case LAB_CONTENT_NON_FINITE:
        if (other % 5 == 0)
            return type == RUNG_I8 ? (other % 2 ? INT8_MAX : INT8_MIN) : other % 2 ? INT32_MAX : INT32_MIN;
        break;
    case LAB_CONTENT_UNIFORM:
    case LAB_CONTENT_COUNT: break;
    }
    return value;
}

static double value_of(rung_type type, lab_content content, uint64_t seed, uint64_t stream, uint64_t index)
{
    double real = lab_random_uniform(seed, stream, index);
    uint32_t other = lab_random(seed, stream + 100, index);
    if (type == RUNG_F64) /* fill all bits of the mantissa */
        real += 0x1p-24 * lab_random_uniform(seed, stream + 200, index);
    switch (content) {
    case LAB_CONTENT_SMALL_INTEGERS: return (double)(other % 17) - 8;
    case LAB_CONTENT_WIDE_EXPONENTS: /* F16, also as a scale, starts at its denormals, so that few sums overflow */
        return type == RUNG_F16 || lab_type_is_quantized(type) ? ldexp(real, (int)(other % 25) - 19)
                                                               : ldexp(real, (int)(other % 41) - 20);
    case LAB_CONTENT_NON_FINITE:
        /* Few, so that most elements of C stay finite. */
        if (other % 199 == 0)
            return NAN;
        if (other % 199 < 3)
            return other % 2 ? INFINITY : -INFINITY;
        return real;
    case LAB_CONTENT_UNIFORM:
    case LAB_CONTENT_COUNT: break;
    }
    return real;
}

/* Fills a matrix of blocks, which lie along its columns. Only finite numbers can be quantized: if some shall not be finite, a few
 * blocks become NaN. */
static void fill_blocks(const lab_operand_memory *memory, const lab_case *problem, uint64_t seed, uint64_t stream)
{
    const rung_matrix *view = &memory->view;
    int64_t block = rung_type_block_elements(view->type);
    bool is_finite = problem->content != LAB_CONTENT_NON_FINITE;
    lab_content content = is_finite ? problem->content : LAB_CONTENT_UNIFORM;
    float values[LAB_BLOCK_MAX];
    uint64_t index = 0;
    for (int64_t item = 0; item < problem->batch; item++) {
        rung_matrix one = lab_batch_item(view, item);
        for (int64_t col = 0; col < view->cols; col++)
            for (int64_t row = 0; row < view->rows; row += block) {
                bool is_nan = !is_finite && lab_random(seed, stream + 300, index) % 199 == 0;
                for (int64_t i = 0; i < block; i++, index++)
                    values[i] = is_nan ? NAN : (float)value_of(view->type, content, seed, stream, index);
                lab_blocks_set(&one, row, col, block, values);
            }
    }
}

/* Fills the elements of every item with values of the stream, or with NaN (NAN_STREAM) if they must not be read. Items
 * at the same offset get the elements of the last one. */
static void fill(const lab_operand_memory *memory, const lab_case *problem, uint64_t seed, uint64_t stream)
{
    const rung_matrix *view = &memory->view;
    double (*value)(rung_type, lab_content, uint64_t, uint64_t,
                    uint64_t) = lab_type_is_integer(view->type) ? integer_value_of : value_of;
    uint64_t index = 0;
    for (int64_t item = 0; item < problem->batch; item++) {
        rung_matrix one = lab_batch_item(view, item);
        for (int64_t row = 0; row < view->rows; row++)
            for (int64_t col = 0; col < view->cols; col++, index++)
                lab_element_set(&one, row, col,
                                stream == NAN_STREAM ? NAN : value(view->type, problem->content, seed, stream, index));
    }
}

void lab_case_data_free(lab_case_data *data)
{
    lab_operand_memory *all[] = {&data->a, &data->b, &data->c, &data->d, &data->bias, &data->residual, &data->before};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]->view.data);
        free(all[i]->offsets);
    }
}

/* Returns the strides of the bias: every item of a batch has its own bias, at an odd offset. */
static lab_strides bias_strides(const lab_case *problem)
{
    int64_t m = problem->m, n = problem->n;
    switch (problem->epilogue.bias) {
    case LAB_BIAS_ROW: return (lab_strides){1, 0, 1, m};
    case LAB_BIAS_COL: return (lab_strides){0, 1, 1, n};
    case LAB_BIAS_FULL: return (lab_strides){1, m, 3, m * n};
    case LAB_BIAS_NONE:
    case LAB_BIAS_COUNT: break;
    }
    return (lab_strides){0, 0, 0, 0};
}

static bool make_epilogue(const lab_tested_kernel *subject, const lab_case *problem, lab_case_data *data)
{
    rung_type type = subject->product.out;
    int64_t m = problem->m, n = problem->n;
    const lab_strides residual = {n + 1, 1, 2, m * (n + 1) + 3};
    if (problem->epilogue.bias != LAB_BIAS_NONE &&
        !create_operand(type, m, n, bias_strides(problem), problem, LAB_NAN_PATTERN, &data->bias))
        return false;
    if (problem->epilogue.residual && !create_operand(type, m, n, residual, problem, LAB_NAN_PATTERN, &data->residual))
        return false;
    fill(&data->bias, problem, subject->seed, BIAS_STREAM);
    fill(&data->residual, problem, subject->seed, RESIDUAL_STREAM);
    return true;
}

static bool make_matrices(const lab_tested_kernel *subject, const lab_case *problem, lab_case_data *data)
{
    rung_type in = subject->product.in, b = lab_type_pair_b(subject->product), out = subject->product.out;
    int64_t batch = problem->batch;
    memset(data, 0, sizeof *data);
    if (!create_operand(in, problem->m, problem->k, problem->a, problem, LAB_NAN_PATTERN, &data->a) ||
        !create_operand(b, problem->k, problem->n, problem->b, problem, LAB_NAN_PATTERN, &data->b) ||
        !create_operand(out, problem->m, problem->n, problem->c, problem, GUARD_PATTERN, &data->c) ||
        (problem->has_d &&
         !create_operand(out, problem->m, problem->n, problem->d, problem, GUARD_PATTERN, &data->d)) ||
        !create_operand(out, problem->m, problem->n, problem->has_d ? problem->d : problem->c, problem, GUARD_PATTERN,
                        &data->before) ||
        !make_epilogue(subject, problem, data))
        return false;
    if (problem->scattered &&
        (!scatter(&data->a, batch, false) || (!subject->is_packed && !scatter(&data->b, batch, false)) ||
         !scatter(&data->c, batch, !problem->has_d) || !scatter(&data->before, batch, true) ||
         (problem->has_d && !scatter(&data->d, batch, true))))
        return false;
    if (problem->alpha != 0) {
        fill(&data->a, problem, subject->seed, A_STREAM);
        (lab_type_is_quantized(b) ? fill_blocks : fill)(&data->b, problem, subject->seed, B_STREAM);
    }
    fill(&data->c, problem, subject->seed, problem->beta != 0 ? C_STREAM : NAN_STREAM);
    fill(&data->d, problem, subject->seed, NAN_STREAM);
    memcpy(data->before.view.data, lab_case_output(data)->view.data, (size_t)data->before.bytes);
    return true;
}

/* A packed B is one matrix for all items, and is packed even for a batch of 0. */
bool lab_case_data_create(const lab_tested_kernel *subject, const lab_case *problem, lab_case_data *data)
{
    lab_case made = *problem;
    if (subject->is_packed) {
        made.b.batch_stride = 0;
        made.batch = made.batch > 0 ? made.batch : 1;
    }
    return make_matrices(subject, &made, data);
}

rung_problem lab_case_problem(const lab_tested_kernel *subject, const lab_case *problem, const lab_case_data *data)
{
    rung_problem run = rung_problem_of(data->a.view, data->b.view, data->c.view);
    run.alpha = problem->alpha;
    run.beta = problem->beta;
    run.batch = problem->batch;
    run.compute = subject->compute;
    run.bias = data->bias.view;
    run.activation = problem->epilogue.activation;
    run.residual = data->residual.view;
    run.d = data->d.view;
    return run;
}
