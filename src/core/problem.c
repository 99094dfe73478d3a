/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - the operands of a problem and its checks. Everything that can be wrong with a problem is rejected here,
 * before a device receives it. */
#include "core/problem.h"

#include "base/assert.h"
#include "base/checked_arithmetic.h"
#include "base/error.h"
#include "base/try.h"
#include "core/caller_structs.h"
#include "core/device.h"
#include "core/enum_counts.h"
#include "core/matrix.h"
#include "core/quantization.h"

rung_matrix *rungi_problem_operand(rung_problem *problem, rungi_operand operand)
{
    rung_matrix *const operands[] = {&problem->a,          &problem->b,        &problem->c, &problem->bias,
                                     &problem->multiplier, &problem->residual, &problem->d};
    RUNGI_ASSERT(operand < RUNGI_OPERAND_COUNT);
    return operands[operand];
}

const rung_matrix *rungi_problem_view(const rung_problem *problem, rungi_operand operand)
{
    return rungi_problem_operand((rung_problem *)(uintptr_t)problem, operand);
}

const char *rungi_operand_name(rungi_operand operand)
{
    static const char *const names[] = {"A", "B", "C", "the bias", "the multiplier", "the residual", "D"};
    RUNGI_ASSERT(operand < RUNGI_OPERAND_COUNT);
    return names[operand];
}

const char *rungi_scales_name(rungi_operand operand, bool is_scale)
{
    if (operand == RUNGI_A)
        return is_scale ? "the matrix of A's scales" : "the matrix of A's zero points";
    return is_scale ? "the matrix of scales" : "the matrix of zero points";
}

static rungi_operand output_operand(const rung_problem *given)
{
    return given->d.type != RUNG_TYPE_NONE ? RUNGI_D : RUNGI_C;
}

const rung_matrix *rungi_problem_output(const rung_problem *given)
{
    return rungi_problem_view(given, output_operand(given));
}

static const char *output_name(const rung_problem *given)
{
    return rungi_operand_name(output_operand(given));
}

/* ---- Form -------------------------------------------------------------------------------------------------------- */

/* The operands that may have more types than others: all may be wide or integers. */
typedef enum narrow_types { NO_NARROW_TYPES, NARROW_TYPES, NARROW_TYPES_AND_BLOCKS } narrow_types_t;

static rung_status check_type(const char *name, rung_type type, narrow_types_t allowed)
{
    if ((int)type <= RUNG_TYPE_NONE || (int)type >= RUNGI_TYPE_COUNT)
        return rungi_invalid("the type of %s is %d, which is not a rung_type; set it to RUNG_F32, for example", name,
                             (int)type);
    bool has_blocks = rungi_type_has_scales(type);
    bool is_only_input = rungi_type_is_narrow(type) && !rungi_type_is_implemented(type);
    if (!rungi_type_is_implemented(type) && !is_only_input)
        return rungi_fail(
            RUNG_STATUS_UNSUPPORTED,
            "%s has type %s, which no kernel of rung %s multiplies; convert it to f32, f64, f16, bf16, i8, i32 or, on "
            "NVIDIA GPUs, f8e4m3 or f8e5m2",
            name, rung_type_name(type), rung_version_text());
    if (has_blocks && allowed != NARROW_TYPES_AND_BLOCKS)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                          "%s has type %s, which only B may have; if A is quantized, multiply the transposed matrices: "
                          "C^T = B^T * A^T (see rung_matrix_transpose)",
                          name, rung_type_name(type));
    if (is_only_input && allowed == NO_NARROW_TYPES)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "%s has type %s, which only A and B may have; use f32 or bf16", name,
                          rung_type_name(type));
    return RUNG_OK;
}

/* Checks that the items of a batch begin with whole blocks. */
static rung_status check_batch_blocks(const char *name, const rung_matrix *matrix, int64_t batch)
{
    int64_t count = rung_type_block_elements(matrix->type);
    if (!matrix->batch_offsets && matrix->batch_stride % count != 0)
        return rungi_invalid("the batch stride of %s is %lld; with type %s it must be a multiple of %lld", name,
                             (long long)matrix->batch_stride, rung_type_name(matrix->type), (long long)count);
    for (int64_t i = 0; matrix->batch_offsets && i < batch; i++)
        if (matrix->batch_offsets[i] % count != 0)
            return rungi_invalid(
                "the batch offset of item %lld of %s is %lld; with type %s it must be a multiple of %lld", (long long)i,
                name, (long long)matrix->batch_offsets[i], rung_type_name(matrix->type), (long long)count);
    return RUNG_OK;
}

/* Checks sizes and strides. */
static rung_status check_shape(const char *name, const rung_matrix *matrix, int64_t batch)
{
    int64_t span;
    rung_matrix strided = *matrix;
    if (matrix->batch_offsets) { /* the check of the memory reads them */
        strided.batch_offsets = NULL;
        strided.batch_stride = 0;
    }
    if (matrix->rows < 0 || matrix->cols < 0)
        return rungi_invalid(
            "%s is %lld x %lld; sizes must not be negative (rung_matrix_block and similar functions return "
            "-1 x -1 for invalid arguments)",
            name, (long long)matrix->rows, (long long)matrix->cols);
    if (matrix->row_stride < 0 || matrix->col_stride < 0 || matrix->offset < 0)
        return rungi_invalid("%s has strides %lld, %lld and offset %lld; none may be negative", name,
                             (long long)matrix->row_stride, (long long)matrix->col_stride, (long long)matrix->offset);
    if (matrix->batch_stride < 0)
        return rungi_invalid("the batch stride of %s is %lld; it must not be negative", name,
                             (long long)matrix->batch_stride);
    if (!rungi_matrix_batch_span(&strided, batch, &span))
        return rungi_fail(
            RUNG_STATUS_TOO_LARGE,
            "%s, %lld x %lld with row stride %lld, column stride %lld and batch stride %lld for %lld items, "
            "does not fit the address space",
            name, (long long)matrix->rows, (long long)matrix->cols, (long long)matrix->row_stride,
            (long long)matrix->col_stride, (long long)matrix->batch_stride, (long long)batch);
    return RUNG_OK;
}

static rung_status check_view(const char *name, const rung_matrix *matrix, int64_t batch, narrow_types_t allowed)
{
    TRY(check_type(name, matrix->type, allowed));
    TRY(check_shape(name, matrix, batch));
    return rungi_type_has_scales(matrix->type) ? rungi_matrix_check_blocks(name, matrix) : RUNG_OK;
}

static rung_status check_scalar(const char *name, double value, rung_type type)
{
    if (rungi_type_is_integer(type) && !rungi_is_int32(value))
        return rungi_invalid("%s is %g; with integer matrices it must be a whole 32-bit number", name, value);
    return RUNG_OK;
}

/* Checks a bias, a multiplier or a residual. */
static rung_status check_epilogue_operand(const rung_problem *problem, rungi_operand operand)
{
    const char *name = rungi_operand_name(operand);
    const rung_matrix *view = rungi_problem_view(problem, operand), *c = rungi_problem_output(problem);
    if (rungi_matrix_is_empty(view) && view->rows >= 0 && view->cols >= 0)
        return RUNG_OK;
    TRY(check_view(name, view, rungi_problem_items(problem), NO_NARROW_TYPES));
    if (view->type != c->type || view->rows != c->rows || view->cols != c->cols)
        return rungi_invalid(
            "%s is %lld x %lld of %s; it must be %lld x %lld of %s like %s (see rung_matrix_broadcast)", name,
            (long long)view->rows, (long long)view->cols, rung_type_name(view->type), (long long)c->rows,
            (long long)c->cols, rung_type_name(c->type), output_name(problem));
    if (view->batch_offsets)
        return rungi_invalid("%s has batch offsets; only a batch stride is supported", name);
    return RUNG_OK;
}

static rung_status check_epilogue(const rung_problem *problem)
{
    if ((int)problem->activation < 0 || (int)problem->activation >= RUNGI_ACTIVATION_COUNT)
        return rungi_invalid("the activation is %d, which is not a rung_activation", (int)problem->activation);
    const rung_matrix *output = rungi_problem_output(problem);
    if (problem->activation > RUNG_ACTIVATION_RELU && rungi_type_is_integer(output->type))
        return rungi_invalid("the activation %s needs a floating-point result, and %s is %s; integers support relu",
                             rung_activation_name(problem->activation), output_name(problem),
                             rung_type_name(output->type));
    TRY(check_epilogue_operand(problem, RUNGI_BIAS));
    TRY(check_epilogue_operand(problem, RUNGI_MULTIPLIER));
    return check_epilogue_operand(problem, RUNGI_RESIDUAL);
}

/* Checks C of a problem that stores its result in D. */
static rung_status check_addend(const rung_problem *problem)
{
    const rung_matrix *c = &problem->c, *d = &problem->d;
    if (d->type == RUNG_TYPE_NONE && !rungi_matrix_is_absent(d))
        return rungi_invalid(
            "D has sizes or memory, and no element type; set D's type, or leave all of D zero to store the "
            "result in C");
    if (d->type == RUNG_TYPE_NONE || !rungi_problem_uses_operand(problem, RUNGI_C))
        return RUNG_OK;
    if (rungi_matrix_is_absent(c))
        return rungi_invalid("beta is %g and C is absent; set C, or set beta to 0", problem->beta);
    TRY(check_view("C", c, rungi_problem_items(problem), NO_NARROW_TYPES));
    if (c->rows != d->rows || c->cols != d->cols)
        return rungi_invalid("C is %lld x %lld and D is %lld x %lld; both must be m x n", (long long)c->rows,
                             (long long)c->cols, (long long)d->rows, (long long)d->cols);
    if (c->type != d->type)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "C is of %s and D of %s; this version supports equal types only",
                          rung_type_name(c->type), rung_type_name(d->type));
    return RUNG_OK;
}

static rung_status check_views(const rung_problem *problem)
{
    int64_t items = rungi_problem_items(problem);
    if (problem->batch < 0)
        return rungi_invalid("batch is %lld; it must not be negative", (long long)problem->batch);
    TRY(check_view("A", &problem->a, items, NARROW_TYPES));
    TRY(check_view("B", &problem->b, items, NARROW_TYPES_AND_BLOCKS));
    TRY(check_view(output_name(problem), rungi_problem_output(problem), items, NO_NARROW_TYPES));
    if (!rungi_type_is_implemented(problem->a.type) && !rungi_type_is_narrow(problem->b.type))
        return rungi_fail(
            RUNG_STATUS_UNSUPPORTED,
            "A has type %s and B %s; a quantized A needs a B of i8, u8, i4, u4, f8e4m3, f8e5m2 or f4e2m1; "
            "otherwise multiply the transposed matrices: C^T = B^T * A^T (see rung_matrix_transpose)",
            rung_type_name(problem->a.type), rung_type_name(problem->b.type));
    return check_addend(problem);
}

static rung_status check_output(const rung_problem *problem)
{
    const rung_matrix *c = rungi_problem_output(problem);
    if (rungi_matrix_overlaps_itself(c))
        return rungi_fail(RUNG_STATUS_ALIASED,
                          "%s, %lld x %lld with strides %lld, %lld, has overlapping elements; set larger strides",
                          output_name(problem), (long long)c->rows, (long long)c->cols, (long long)c->row_stride,
                          (long long)c->col_stride);
    if (!c->batch_offsets && rungi_batch_overlaps_itself(c, rungi_problem_items(problem)))
        return rungi_fail(
            RUNG_STATUS_ALIASED,
            "the items of %s, %lld x %lld with strides %lld, %lld, are %lld elements apart and may overlap; "
            "set a larger batch stride",
            output_name(problem), (long long)c->rows, (long long)c->cols, (long long)c->row_stride,
            (long long)c->col_stride, (long long)c->batch_stride);
    return RUNG_OK;
}

/* The result has no scales. */
static rung_status refuse_output_quantization(const rung_quantization *given)
{
    rung_quantization quantization;
    if (!given)
        return RUNG_OK;
    TRY(rungi_quantization_read(given, &quantization));
    return rungi_fail(RUNG_STATUS_UNSUPPORTED,
                      "D has scales or zero points, which only A and B may have; store the result as f32 or bf16 and "
                      "call rung_quantize");
}

/* Checks that the types of a problem with scales or zero points may have them. */
static rung_status check_quantized_types(const rung_problem *problem)
{
    rung_type a = problem->a.type, b = problem->b.type, c = rungi_problem_output(problem)->type;
    if (rungi_type_has_scales(b) && !problem->a_quantization)
        return RUNG_OK; /* the blocks are checked */
    if (!rungi_type_is_narrow(b) || (problem->a_quantization && !rungi_type_is_narrow(a)) ||
        (!rungi_type_is_narrow(a) && (!rungi_type_is_wide(a) || a == RUNG_F64)))
        return rungi_fail(
            RUNG_STATUS_UNSUPPORTED,
            "%s has scales or zero points with types %s x %s; B must be i8, u8, i4, u4, f8e4m3, f8e5m2 or f4e2m1, and A "
            "one of these types or%s f32, f16 or bf16",
            problem->a_quantization ? "A" : "B", rung_type_name(a), rung_type_name(b),
            problem->a_quantization ? ", without scales," : "");
    if (rungi_type_is_narrow(a) && c != RUNG_F32 && c != RUNG_BF16)
        return rungi_fail(RUNG_STATUS_UNSUPPORTED, "A and B are quantized and %s is %s; it must be f32 or bf16",
                          output_name(problem), rung_type_name(c));
    return RUNG_OK;
}

/* Checks the scales and zero points of A or B, without their memory. */
static rung_status check_quantization(const rung_problem *problem, rungi_operand operand)
{
    const rung_matrix *matrix = rungi_problem_view(problem, operand);
    const rung_quantization *given = rungi_problem_quantization(problem, operand);
    rung_quantization quantization;
    int64_t items = rungi_problem_items(problem);
    if (!given)
        return RUNG_OK;
    TRY(rungi_quantization_read(given, &quantization));
    TRY(check_quantized_types(problem));
    if (rungi_matrix_is_empty(matrix))
        return RUNG_OK;
    TRY(rungi_quantization_check_blocks(matrix, &quantization));
    TRY(check_shape(rungi_scales_name(operand, true), &quantization.scales, items));
    return check_shape(rungi_scales_name(operand, false), &quantization.zero_points, items);
}

rung_status rungi_problem_check_form(const rung_problem *problem)
{
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = rungi_problem_output(problem);
    const char *name = output_name(problem);
    TRY(check_views(problem));
    TRY(refuse_output_quantization(problem->d_quantization));
    TRY(check_quantization(problem, RUNGI_A));
    TRY(check_quantization(problem, RUNGI_B));
    TRY(check_scalar("alpha", problem->alpha, c->type));
    TRY(check_scalar("beta", problem->beta, c->type));
    if ((int)problem->compute < 0 || (int)problem->compute >= RUNGI_COMPUTE_COUNT)
        return rungi_invalid("the compute mode is %d, which is not a rung_compute", (int)problem->compute);
    if (a->cols != b->rows || a->rows != c->rows || b->cols != c->cols)
        return rungi_invalid(
            "A is %lld x %lld, B is %lld x %lld and %s is %lld x %lld; A must be m x k, B k x n and %s m x n",
            (long long)a->rows, (long long)a->cols, (long long)b->rows, (long long)b->cols, name, (long long)c->rows,
            (long long)c->cols, name);
    TRY(check_output(problem));
    return check_epilogue(problem);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static rung_status check_offsets(const char *name, const rung_matrix *matrix, int64_t batch, bool must_ascend)
{
    const int64_t *offsets = matrix->batch_offsets;
    for (int64_t i = 0; offsets && i < batch; i++) {
        if (offsets[i] < 0)
            return rungi_invalid("the batch offset of item %lld of %s is %lld; none may be negative", (long long)i,
                                 name, (long long)offsets[i]);
        if (must_ascend && i > 0 && offsets[i] < offsets[i - 1])
            return rungi_invalid(
                "the batch offset of item %lld of %s is %lld, and the one before is %lld; sort the items by this offset",
                (long long)i, name, (long long)offsets[i], (long long)offsets[i - 1]);
    }
    return RUNG_OK;
}

static rung_status check_operand_memory(const char *name, const rung_matrix *matrix, int64_t batch, bool is_output)
{
    int64_t span, size = rungi_type_alignment(matrix->type);
    if (rungi_matrix_is_empty(matrix) || batch == 0)
        return RUNG_OK;
    TRY(check_offsets(name, matrix, batch, is_output));
    if (rungi_type_has_scales(matrix->type))
        TRY(check_batch_blocks(name, matrix, batch));
    if (!matrix->data == !matrix->buffer)
        return rungi_invalid("%s has %s; set exactly one of them", name,
                             matrix->data ? "data and a buffer" : "neither data nor a buffer");
    if (rungi_matrix_base_address(matrix) % (uintptr_t)size != 0)
        return rungi_invalid("the memory of %s is not aligned to its element size, %lld bytes", name, (long long)size);
    if (!rungi_matrix_batch_span(matrix, batch, &span))
        return rungi_fail(RUNG_STATUS_TOO_LARGE, "%s with its batch offsets does not fit the address space", name);
    int64_t end = rungi_type_bytes(matrix->type, matrix->offset + span);
    if (matrix->buffer && end > matrix->buffer->bytes)
        return rungi_invalid("%s ends at byte %lld of a buffer of %lld bytes", name, (long long)end,
                             (long long)matrix->buffer->bytes);
    return RUNG_OK;
}

/* Checks the memory of the scales and zero points of A or B. */
static rung_status check_quantization_memory(const rung_problem *problem, rungi_operand operand)
{
    const rung_matrix *output = rungi_problem_output(problem);
    const rung_quantization *given = rungi_problem_quantization(problem, operand);
    rung_quantization quantization;
    int64_t items = rungi_problem_items(problem);
    if (!given || rungi_matrix_is_empty(rungi_problem_view(problem, operand)))
        return RUNG_OK;
    TRY(rungi_quantization_read(given, &quantization));
    for (int i = 0; i < 2; i++) {
        const rung_matrix *view = i == 0 ? &quantization.scales : &quantization.zero_points;
        const char *name = rungi_scales_name(operand, i == 0);
        TRY(check_operand_memory(name, view, items, false));
        if (rungi_batches_overlap(output, view, items))
            return rungi_fail(RUNG_STATUS_ALIASED, "%s overlaps %s; store the result in another matrix and copy it",
                              output_name(problem), name);
    }
    return RUNG_OK;
}

rung_status rungi_problem_check_memory(const rung_problem *problem)
{
    const rung_matrix *output = rungi_problem_output(problem);
    int64_t items = rungi_problem_items(problem);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if (rungi_problem_uses_operand(problem, i))
            TRY(check_operand_memory(rungi_operand_name(i), rungi_problem_view(problem, i), items,
                                     rungi_problem_view(problem, i) == output));
    if (output->batch_offsets && rungi_batch_overlaps_itself(output, items))
        return rungi_fail(RUNG_STATUS_ALIASED, "two items of %s overlap; each item needs its own memory",
                          output_name(problem));
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++) {
        const rung_matrix *view = rungi_problem_view(problem, i);
        if (view == output || !rungi_problem_uses_operand(problem, i) ||
            (i == RUNGI_C && rungi_matrix_is_same_view(view, output, items)))
            continue;
        if (rungi_batches_overlap(output, view, items))
            return rungi_fail(RUNG_STATUS_ALIASED, "%s overlaps %s; store the result in another matrix and copy it",
                              output_name(problem), rungi_operand_name(i));
    }
    TRY(check_quantization_memory(problem, RUNGI_A));
    return check_quantization_memory(problem, RUNGI_B);
}

static bool view_overlaps_buffer(const rung_matrix *view, int64_t items, const rung_buffer *buffer, int64_t bytes)
{
    int64_t span;
    bool has_memory = view->buffer || view->data;
    if (rungi_matrix_is_empty(view) || !has_memory || rungi_matrix_address_space(view) != buffer->address_space ||
        !rungi_matrix_batch_span(view, items, &span))
        return false;
    uintptr_t first = rungi_matrix_address(view), end = first + (uintptr_t)rungi_matrix_span_bytes(view, span);
    return first < buffer->address + (uintptr_t)bytes && buffer->address < end;
}

/* Returns whether scales or zero points of A or B overlap the first `bytes` of a buffer. */
static bool scales_overlap_buffer(const rung_problem *problem, rungi_operand operand, const rung_buffer *buffer,
                                  int64_t bytes)
{
    int64_t items = rungi_problem_items(problem);
    rung_quantization quantization;
    return rungi_quantization_read(rungi_problem_quantization(problem, operand), &quantization) == RUNG_OK &&
           (view_overlaps_buffer(&quantization.scales, items, buffer, bytes) ||
            view_overlaps_buffer(&quantization.zero_points, items, buffer, bytes));
}

bool rungi_problem_overlaps_buffer(const rung_problem *problem, const rung_buffer *buffer, int64_t bytes)
{
    int64_t items = rungi_problem_items(problem);
    for (int i = 0; i < RUNGI_OPERAND_COUNT; i++)
        if (rungi_problem_uses_operand(problem, i) &&
            view_overlaps_buffer(rungi_problem_view(problem, i), items, buffer, bytes))
            return true;
    return scales_overlap_buffer(problem, RUNGI_A, buffer, bytes) ||
           scales_overlap_buffer(problem, RUNGI_B, buffer, bytes);
}

rung_status rungi_problem_check_with_packed_b(const rung_problem *problem, const rung_buffer *packed, int64_t bytes)
{
    rung_problem without_b = *problem;
    TRY(rungi_problem_check_form(problem));
    without_b.b.rows = without_b.b.cols = 0;
    if (packed && rungi_problem_overlaps_buffer(&without_b, packed, bytes))
        return rungi_fail(RUNG_STATUS_ALIASED,
                          "the packed B overlaps A, C or an operand of the epilogue; use a separate buffer");
    return rungi_problem_check_memory(&without_b);
}

rung_status rung_problem_check(const rung_problem *problem)
{
    rung_problem read;
    TRY(rungi_problem_read(problem, &read));
    TRY(rungi_problem_check_form(&read));
    return rungi_problem_check_memory(&read);
}
