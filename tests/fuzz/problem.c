/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - any bytes as a problem for the CPU: types, sizes, strides, layouts, overlaps, batches, epilogues, quantized
 * operands, plan options and struct sizes. A problem is refused with a sentence and leaves all memory as it was, or it is
 * computed: no memory outside of the output changes, and sums of whole numbers are exact. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "random_problem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static random_memory_t memory;
static rung_device *device;
static rung_queue *queue;
static rung_buffer *buffers[OPERAND_COUNT];

static void prepare(void)
{
    if (device)
        return;
    random_memory_create(&memory);
    MUST(rung_device_open(NULL, "cpu", &device) == RUNG_OK);
    MUST(rung_queue_create(device, &queue) == RUNG_OK);
    for (int i = 0; i < OPERAND_COUNT; i++)
        MUST(rung_buffer_wrap(device, memory.operands[i].start, 0, OPERAND_BYTES, &buffers[i]) == RUNG_OK);
}

/* Statuses that promise an untouched output. */
static bool is_refusal(rung_status status)
{
    return status == RUNG_STATUS_INVALID || status == RUNG_STATUS_ALIASED || status == RUNG_STATUS_TOO_LARGE ||
           status == RUNG_STATUS_UNSUPPORTED;
}

static double element_at(const rung_matrix *view, int operand, int64_t row, int64_t col, int64_t item)
{
    size_t shift = view->data ? (size_t)((unsigned char *)view->data - memory.operands[operand].start) : 0;
    const unsigned char *at = memory.before[operand] + shift +
                              (size_t)element_index(view, row, col, item) * (size_t)rung_type_size(view->type);
    float f32;
    double f64;
    int32_t i32;
    switch (view->type) {
    case RUNG_F32: memcpy(&f32, at, sizeof f32); return (double)f32;
    case RUNG_F64: memcpy(&f64, at, sizeof f64); return f64;
    case RUNG_I32: memcpy(&i32, at, sizeof i32); return i32;
    default: return *(const signed char *)at;
    }
}

static bool has_simple_type(const rung_matrix *view)
{
    return view->type == RUNG_F32 || view->type == RUNG_F64 || view->type == RUNG_I32 || view->type == RUNG_I8;
}

/* Whole numbers without an epilogue are checked; all else is for the tests that know error bounds. */
static bool is_exact(const rung_problem *problem)
{
    bool has_other = problem->bias.type || problem->residual.type || problem->multiplier.type || problem->d.type ||
                     problem->activation || problem->b_quantization;
    uintptr_t a = (uintptr_t)problem->a.data - (uintptr_t)memory.operands[OPERAND_A].start;
    return !has_other && has_simple_type(&problem->a) && has_simple_type(&problem->b) && has_simple_type(&problem->c) &&
           (problem->a.buffer ? problem->a.buffer == buffers[OPERAND_A] : !problem->a.data || a < OPERAND_BYTES) &&
           fabs(problem->alpha) <= 2 && fabs(problem->beta) <= 2 &&
           (problem->c.type != RUNG_I32 || (problem->alpha != 0.5 && problem->beta != 0.5));
}

static void check_results(const rung_problem *problem, int64_t batch)
{
    const rung_matrix *a = &problem->a, *b = &problem->b, *c = &problem->c;
    unsigned char *start = c->data ? c->data : memory.operands[OPERAND_C].start;
    if (c->rows == 0 || c->cols == 0)
        return; /* the other number may be 2^60 */
    for (int64_t item = 0; item < batch; item++)
        for (int64_t i = 0; i < c->rows; i++)
            for (int64_t j = 0; j < c->cols; j++) {
                double sum = 0, found;
                for (int64_t p = 0; problem->alpha != 0 && p < a->cols; p++)
                    sum += element_at(a, OPERAND_A, i, p, item) * element_at(b, OPERAND_B, p, j, item);
                sum *= problem->alpha;
                if (problem->beta != 0)
                    sum += problem->beta * element_at(c, OPERAND_C, i, j, item);
                unsigned char *at = start + element_index(c, i, j, item) * rung_type_size(c->type);
                found = c->type == RUNG_F32   ? (double)*(float *)(void *)at
                        : c->type == RUNG_F64 ? *(double *)(void *)at
                                              : *(int32_t *)(void *)at;
                MUST(found == sum);
            }
}

static void check_outcome(rung_status checked, rung_status status, const rung_problem *problem)
{
    release_memory(&memory);
    MUST(status != RUNG_STATUS_DEVICE_LOST && status != RUNG_STATUS_COMPILE_FAILED && status != RUNG_STATUS_IO);
    MUST(status == RUNG_OK || strlen(rung_error_text()) > 15);
    MUST(checked == RUNG_OK || status != RUNG_OK);
    if (is_refusal(status))
        MUST(memory_is_unchanged(&memory));
    if (status != RUNG_OK)
        return;
    int64_t batch = problem->batch == 0 ? 1 : problem->batch;
    if (is_exact(problem))
        check_results(problem, batch);
    restore_output(&memory, problem->d.type ? &problem->d : &problem->c, batch);
    MUST(memory_is_unchanged(&memory));
}

static rung_plan_options read_plan_options(byte_reader_t *reader)
{
    static const char *const parameters[] = {"", "BM=16", "MC=7,KC=9", "TILE=0", "BM=2147483647", "x", "MR=4,NR=8"};
    rung_plan_options options = rung_plan_options_default();
    unsigned flags = read_byte(reader);
    rung_kernel *kernel;
    if (flags & 1 && rung_kernel_at(rung_device_context(device), "cpu", read_below(reader, 20), &kernel) == RUNG_OK &&
        rung_kernel_describe(kernel)->number > 0)
        options.kernel = kernel;
    if (flags & 2)
        options.parameters = parameters[read_below(reader, 7)];
    if (flags & 4)
        options.threads = read_size(reader, 4);
    if (flags & 8)
        options.split_k = read_size(reader, 4);
    if (flags & 16)
        options.max_workspace_bytes = read_size(reader, 255);
    options.packed_b = (flags & 32) != 0;
    return options;
}

/* Runs a problem of buffers by a plan. The library knows the sizes of buffers, so it must refuse what does not fit. */
static void run_plan(byte_reader_t *reader)
{
    rung_plan *plan;
    rung_buffer *packed = NULL;
    rung_plan_options options = read_plan_options(reader);
    rung_run_options run = rung_run_options_default();
    rung_problem problem = read_problem(reader, &memory, buffers);
    rung_status checked = rung_problem_check(&problem);
    if (!problem_is_runnable(&memory, &problem))
        return;
    if (rung_plan_create(device, &problem, &options, &plan) != RUNG_OK) {
        MUST(!plan && strlen(rung_error_text()) > 15);
        return;
    }
    prepare_memory(&memory, &problem);
    rung_status status = RUNG_OK;
    if (options.packed_b) {
        status = rung_buffer_create(device, rung_plan_describe(plan)->packed_b_bytes, &packed);
        MUST(status == RUNG_OK || status == RUNG_STATUS_NO_MEMORY); /* a broadcast B can have any size */
        if (status == RUNG_OK)
            status = rung_plan_pack_b(plan, queue, &problem.b, packed, NULL);
        run.packed_b = packed;
    }
    if (status == RUNG_OK)
        status = rung_plan_run(plan, queue, &problem, &run);
    check_outcome(checked, status, &problem);
    rung_buffer_destroy(packed);
    rung_plan_destroy(plan);
}

/* A struct of another version: shorter, or longer with zeros or with a field that this version does not know. */
typedef union versioned_problem {
    rung_problem problem;
    unsigned char bytes[sizeof(rung_problem) + 64];
} versioned_problem_t;

static void multiply(byte_reader_t *reader)
{
    static versioned_problem_t given;
    unsigned version = read_byte(reader);
    rung_multiply_options options = rung_multiply_options_default();
    options.threads = read_size(reader, 4);
    memset(&given, 0, sizeof given);
    given.problem = read_problem(reader, &memory, NULL);
    if (version >= 230) {
        given.problem.size = version < 240 ? version % 2 * 8 : sizeof given;
        given.bytes[sizeof(rung_problem) + 8] = version > 250;
    }
    rung_status checked = rung_problem_check(&given.problem);
    MUST(checked == RUNG_OK || strlen(rung_error_text()) > 15);
    if (!problem_is_runnable(&memory, &given.problem))
        return;
    prepare_memory(&memory, &given.problem);
    check_outcome(checked, rung_multiply(NULL, &given.problem, &options), &given.problem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    byte_reader_t reader = {data, size};
    prepare();
    if (read_byte(&reader) % 3 == 0)
        run_plan(&reader);
    else
        multiply(&reader);
    return 0;
}
