/* SPDX-License-Identifier: Apache-2.0 */
/* same_bits.c - multiplies random problems on one device and prints a checksum of each result.
 *
 * Two builds of the library whose outputs are equal compute the same bits with every kernel. Problems depend on the seed
 * alone: types, shapes, strides, epilogues, batches, the kernel and whether the matrices lie in host memory
 * (rung_multiply) or in buffers (rung_plan_run).
 *
 *     same_bits DEVICE COUNT MAX_SIZE
 *
 * Run it twice with LD_LIBRARY_PATH set to one build and to the other, and compare the outputs with diff.
 */
#include "rung/rung.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint64_t draw(uint64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % bound;
}

static void store_random(rung_type type, void *to, int64_t i)
{
    float value = (float)((double)draw(2001) / 1000 - 1);
    switch (type) {
    case RUNG_F64: ((double *)to)[i] = value; break;
    case RUNG_F32: ((float *)to)[i] = value; break;
    case RUNG_F16: ((uint16_t *)to)[i] = rung_f16_from_f32(value); break;
    case RUNG_BF16: ((uint16_t *)to)[i] = rung_bf16_from_f32(value); break;
    case RUNG_I8: ((int8_t *)to)[i] = (int8_t)(value * 100); break;
    default: ((int32_t *)to)[i] = (int32_t)(value * 1000); break;
    }
}

/* One matrix in host memory: the view, and the memory that it lies in. */
typedef struct operand {
    rung_matrix view;
    void *memory;
    int64_t bytes;
} operand_t;

static operand_t create_operand(rung_type type, int64_t rows, int64_t cols, int64_t batch)
{
    bool by_column = draw(2), has_padding = draw(3) == 0;
    int64_t along = by_column ? rows : cols, lines = by_column ? cols : rows;
    int64_t ld = along + (has_padding ? (int64_t)draw(9) : 0);
    operand_t operand = {0};
    operand.bytes = (ld * lines * batch + 1) * rung_type_size(type);
    operand.memory = calloc(1, (size_t)operand.bytes);
    if (!operand.memory)
        exit(2);
    for (int64_t i = 0; i < ld * lines * batch; i++)
        store_random(type, operand.memory, i);
    operand.view = rung_matrix_ld(type, rows, cols, ld, by_column ? RUNG_ORDER_COL_MAJOR : RUNG_ORDER_ROW_MAJOR,
                                  operand.memory);
    operand.view.batch_stride = batch > 1 ? ld * lines : 0;
    return operand;
}

static uint64_t checksum(const operand_t *operand)
{
    uint64_t sum = 14695981039346656037u;
    const unsigned char *bytes = operand->memory;
    for (int64_t i = 0; i < operand->bytes; i++)
        sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

static rung_queue *queue;

/* Copies an operand into a new buffer and makes the view refer to it. */
static rung_buffer *upload(rung_device *device, operand_t *operand)
{
    rung_buffer *buffer = NULL;
    if (rung_buffer_create(device, operand->bytes, &buffer) != RUNG_OK ||
        rung_buffer_write(queue, buffer, 0, operand->bytes, operand->memory, NULL) != RUNG_OK) {
        fprintf(stderr, "%s\n", rung_error_text());
        exit(2);
    }
    operand->view.data = NULL;
    operand->view.buffer = buffer;
    return buffer;
}

static rung_status run_plan(rung_device *device, rung_problem *problem, const rung_plan_options *options,
                            operand_t operands[3])
{
    rung_buffer *buffers[4] = {0};
    rung_matrix *views[3] = {&problem->a, &problem->b, &problem->c};
    for (int i = 0; i < 3; i++) {
        buffers[i] = upload(device, &operands[i]);
        *views[i] = operands[i].view;
    }
    rung_plan *plan = NULL;
    rung_status status = rung_plan_create(device, problem, options, &plan);
    if (status == RUNG_OK) {
        rung_run_options run = rung_run_options_default();
        if (rung_plan_describe(plan)->workspace_bytes > 0 &&
            rung_buffer_create(device, rung_plan_describe(plan)->workspace_bytes, &buffers[3]) != RUNG_OK)
            exit(2);
        run.workspace = buffers[3];
        printf(" %s %s split %" PRId64, rung_plan_describe(plan)->kernel, rung_plan_describe(plan)->parameters,
               rung_plan_describe(plan)->split_k);
        status = rung_plan_run(plan, queue, problem, &run);
    }
    if (status == RUNG_OK)
        status = rung_buffer_read(queue, buffers[2], 0, operands[2].bytes, operands[2].memory, NULL);
    if (status == RUNG_OK)
        status = rung_queue_finish(queue);
    rung_plan_destroy(plan);
    for (int i = 0; i < 4; i++)
        rung_buffer_destroy(buffers[i]);
    return status;
}

static const struct {
    rung_type in, out;
} products[] = {{RUNG_F32, RUNG_F32},   {RUNG_F64, RUNG_F64},  {RUNG_F16, RUNG_F16}, {RUNG_F16, RUNG_F32},
                {RUNG_BF16, RUNG_BF16}, {RUNG_BF16, RUNG_F32}, {RUNG_I8, RUNG_I32},  {RUNG_F32, RUNG_F32}};

static void run_problem(rung_context *context, rung_device *device, const char *backend, int64_t kernels, int64_t max)
{
    size_t product = draw(sizeof products / sizeof *products);
    int64_t m = 1 + (int64_t)draw((uint64_t)max), n = 1 + (int64_t)draw((uint64_t)max),
            k = (int64_t)draw((uint64_t)max + 1);
    int64_t batch = draw(4) ? 1 : 1 + (int64_t)draw(3);
    rung_type in = products[product].in, out = products[product].out;

    operand_t operands[3] = {create_operand(in, m, k, batch), create_operand(in, k, n, batch),
                             create_operand(out, m, n, batch)};
    rung_problem problem = rung_problem_of(operands[0].view, operands[1].view, operands[2].view);
    static const double scales[] = {1, 0, 2, -1, 0.5};
    problem.batch = batch;
    problem.alpha = out == RUNG_I32 ? 1 : scales[draw(5)];
    problem.beta = out == RUNG_I32 ? 0 : scales[draw(5)];
    problem.compute = in == RUNG_F32 && draw(3) == 0 ? (rung_compute)draw(4) : RUNG_COMPUTE_STRICT;
    problem.activation = out != RUNG_I32 && draw(3) == 0 ? (rung_activation)draw(5) : RUNG_ACTIVATION_NONE;

    rung_plan_options options = rung_plan_options_default();
    rung_kernel *kernel = NULL;
    if (draw(4) && rung_kernel_at(context, backend, (int64_t)draw((uint64_t)kernels), &kernel) == RUNG_OK &&
        rung_kernel_describe(kernel)->number > 0)
        options.kernel = kernel;
    options.split_k = draw(4) ? 0 : 1 + (int64_t)draw(4);
    bool on_host = draw(3) == 0;
    printf("%s %s %" PRId64 "x%" PRId64 "x%" PRId64 " batch %" PRId64 " alpha %g beta %g compute %d activation %d",
           rung_type_name(in), rung_type_name(out), m, n, k, batch, problem.alpha, problem.beta, (int)problem.compute,
           (int)problem.activation);
    if (options.kernel)
        printf(" %s", rung_kernel_describe(kernel)->name);
    rung_status status = on_host ? rung_multiply(context, &problem, NULL)
                                 : run_plan(device, &problem, &options, operands);
    if (status == RUNG_OK)
        printf("%s %016" PRIx64 "\n", on_host ? " host" : "", checksum(&operands[2]));
    else
        printf(" %s\n", rung_status_name(status));
    rung_kernel_destroy(kernel);
    for (int i = 0; i < 3; i++)
        free(operands[i].memory);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    rung_context_options options = rung_context_options_default();
    options.device = argv[1];
    options.threads = 2;
    rung_context *context = NULL;
    rung_device *device = NULL;
    if (rung_context_create(&options, &context) != RUNG_OK || rung_device_open(context, argv[1], &device) != RUNG_OK ||
        rung_queue_create(device, &queue) != RUNG_OK) {
        fprintf(stderr, "%s\n", rung_error_text());
        return 2;
    }
    const char *backend = rung_device_describe(device)->backend;
    rung_kernel *kernel = NULL;
    int64_t kernels = 0;
    for (; rung_kernel_at(context, backend, kernels, &kernel) == RUNG_OK; kernels++)
        rung_kernel_destroy(kernel);
    for (int64_t i = 0; i < atoll(argv[2]); i++) {
        state = 0x9e3779b97f4a7c15u * (uint64_t)(i + 1);
        printf("%" PRId64 " ", i);
        run_problem(context, device, backend, kernels, atoll(argv[3]));
        fflush(stdout);
    }
    rung_queue_destroy(queue);
    rung_device_close(device);
    rung_context_destroy(context);
    return 0;
}
