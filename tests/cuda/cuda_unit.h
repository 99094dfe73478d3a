/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_unit.h - what the CUDA test programs share: the emulated driver that they
 * run on (tests/cuda/emulated_driver), a context with its log, and products of any form held to the
 * CPU's. */
#ifndef RUNG_CUDA_UNIT_H
#define RUNG_CUDA_UNIT_H

#include "support/unit.h"

#include <dlfcn.h>
#include <stdio.h>

#include "cuda/cuda_device.h"

/* ---- The emulated driver ------------------------------------------------------------------------- */

/* What the tests call of it themselves; the library's own table has the rest. */
static struct {
    long (*live)(const char *kind);
    long (*calls)(const char *symbol);
    int (*get_current)(void **context);
    int (*set_current)(void *context);
    int (*create_context)(void **context, unsigned flags, int device);
    int (*destroy_context)(void *context);
} emulated_driver;

static inline bool emulated_driver_symbol(void *library, const char *name, void *slot)
{
    void *address = dlsym(library, name);
    memcpy(slot, &address, sizeof address);
    return address != NULL;
}

/* Whether libcuda.so.1 is the emulated driver: on a machine with a GPU it may be the real one. */
static inline bool emulated_driver_is_loaded(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library && emulated_driver_symbol(library, "rung_emulated_live_objects", &emulated_driver.live) &&
        emulated_driver_symbol(library, "rung_emulated_call_count", &emulated_driver.calls) &&
        emulated_driver_symbol(library, "cuCtxGetCurrent", &emulated_driver.get_current) &&
        emulated_driver_symbol(library, "cuCtxSetCurrent", &emulated_driver.set_current) &&
        emulated_driver_symbol(library, "cuCtxCreate_v2", &emulated_driver.create_context) &&
        emulated_driver_symbol(library, "cuCtxDestroy_v2", &emulated_driver.destroy_context))
        return true;
    puts("skipped: the emulated libcuda.so.1 is not first on the library path");
    return false;
}

static const char *const emulated_driver_variables[] = {
    "RUNG_EMULATED_ARCH",  "RUNG_EMULATED_DRIVER_VERSION", "RUNG_EMULATED_DEVICES",
    "RUNG_EMULATED_POOLS", "RUNG_EMULATED_FAULT",          "RUNG_EMULATED_FAULT_ASYNC",
};

static inline void emulated_driver_clear_faults(void)
{
    unsetenv("RUNG_EMULATED_FAULT");
    unsetenv("RUNG_EMULATED_FAULT_ASYNC");
}

/* As a setup: what one test posed as is not the next one's. */
static inline int emulated_driver_reset(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof emulated_driver_variables / sizeof *emulated_driver_variables; i++)
        unsetenv(emulated_driver_variables[i]);
    return 0;
}

static const char *const emulated_object_kinds[] = {"contexts",    "streams", "events", "memory",
                                                    "host_memory", "modules", "graphs"};

static inline void assert_nothing_lives(void)
{
    for (size_t i = 0; i < sizeof emulated_object_kinds / sizeof *emulated_object_kinds; i++)
        if (emulated_driver.live(emulated_object_kinds[i]) != 0)
            fail_msg("%ld %s are alive in the driver", emulated_driver.live(emulated_object_kinds[i]),
                     emulated_object_kinds[i]);
}

/* The library's own count, which goes by kind in the same order. */
static inline void assert_none_held(rung_context *context)
{
    for (int kind = 0; kind < RUNGI_CU_KINDS; kind++)
        if (rungi_cuda_live_objects(context, (rungi_cu_kind)kind) != 0)
            fail_msg("%ld %s are held", rungi_cuda_live_objects(context, (rungi_cu_kind)kind),
                     emulated_object_kinds[kind]);
}

static inline void *current_context(void)
{
    void *context = NULL;
    assert_int_equal(emulated_driver.get_current(&context), 0);
    return context;
}

/* ---- Contexts and their log ----------------------------------------------------------------- */

static char logged[1 << 16];

static inline void log_line(void *user, const char *line)
{
    size_t used = strlen(logged);
    (void)user;
    snprintf(logged + used, sizeof logged - used, "%s\n", line);
}

static inline rung_context *fresh_context(const char *device, int verbose)
{
    rung_context *fresh;
    rung_context_options options = {
        .size = sizeof(rung_context_options), .device = device, .verbose = verbose, .log = log_line};
    *logged = '\0';
    assert_int_equal(rung_context_create(&options, &fresh), RUNG_OK);
    return fresh;
}

static inline void assert_ok(rung_status status)
{
    if (status != RUNG_OK)
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
}

/* That it failed so, in a sentence with these words. */
static inline void assert_fails(rung_status status, rung_status expected, const char *words)
{
    if (status != expected || !strstr(rung_error_text(), words))
        fail_msg("%s, not %s with \"%s\": %s", rung_status_name(status), rung_status_name(expected), words,
                 rung_error_text());
}

/* ---- Products --------------------------------------------------------------------------------- */

/* Small whole numbers, so that every type is exact in every order. */
static inline void fill_elements(uint64_t *seed, rung_type type, void *memory, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int value = (int)unit_random(seed, 5) - 2;
        switch (type) {
        case RUNG_F32: ((float *)memory)[i] = (float)value; break;
        case RUNG_F64: ((double *)memory)[i] = value; break;
        case RUNG_F16: ((uint16_t *)memory)[i] = rung_f16_from_f32((float)value); break;
        case RUNG_BF16: ((uint16_t *)memory)[i] = rung_bf16_from_f32((float)value); break;
        case RUNG_I8: ((int8_t *)memory)[i] = (int8_t)value; break;
        case RUNG_I32: ((int32_t *)memory)[i] = value; break;
        default: break;
        }
    }
}

enum { CUDA_PRODUCT_OPERANDS = 5, CUDA_PRODUCT_BYTES = 1 << 17, CUDA_PRODUCT_BATCH = 4 };

/* What is multiplied, and with what. */
typedef struct cuda_product {
    rung_type in, out;
    int64_t m, n, k, batch;
    bool scattered, epilogue, a_by_columns, c_by_columns;
    double alpha, beta;
    rung_compute compute;
    const char *kernel, *parameters; /* NULL: the library chooses */
    int64_t splits, carveout;
} cuda_product_t;

/* A trial's memory: A, B, C, a bias of one number a column and a residual. */
typedef struct cuda_product_memory {
    char data[CUDA_PRODUCT_OPERANDS][CUDA_PRODUCT_BYTES], result[CUDA_PRODUCT_BYTES];
    int64_t offsets[3][CUDA_PRODUCT_BATCH];
    rung_buffer *buffers[CUDA_PRODUCT_OPERANDS];
    rung_problem problem; /* in memory */
} cuda_product_memory_t;

static inline rung_matrix cuda_product_view(rung_type type, int64_t rows, int64_t cols, bool by_columns, void *data)
{
    return by_columns ? rung_matrix_transpose(rung_matrix_of(type, cols, rows, data))
                      : rung_matrix_of(type, rows, cols, data);
}

static inline void cuda_product_fill(const cuda_product_t *trial, cuda_product_memory_t *memory)
{
    uint64_t seed = 11;
    for (int i = 0; i < CUDA_PRODUCT_OPERANDS; i++) {
        rung_type type = i == 0 || i == 1 ? trial->in : trial->out;
        fill_elements(&seed, type, memory->data[i], CUDA_PRODUCT_BYTES / rung_type_size(type));
    }
    rung_matrix a = cuda_product_view(trial->in, trial->m, trial->k, trial->a_by_columns, memory->data[0]);
    rung_matrix b = cuda_product_view(trial->in, trial->k, trial->n, false, memory->data[1]);
    rung_matrix c = cuda_product_view(trial->out, trial->m, trial->n, trial->c_by_columns, memory->data[2]);
    rung_matrix *views[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        views[i]->batch_stride = views[i]->rows * views[i]->cols;
        for (int64_t item = 0; item < CUDA_PRODUCT_BATCH; item++) /* C's ascend, the others descend */
            memory->offsets[i][item] = views[i]->batch_stride * (i == 2 ? item : CUDA_PRODUCT_BATCH - 1 - item);
        if (trial->scattered)
            views[i]->batch_offsets = memory->offsets[i];
    }
    memory->problem = rung_problem_of(a, b, c);
    memory->problem.alpha = trial->alpha;
    memory->problem.beta = trial->beta;
    memory->problem.batch = trial->batch;
    memory->problem.compute = trial->compute;
    if (trial->epilogue) {
        rung_matrix bias = rung_matrix_of(trial->out, 1, trial->n, memory->data[3]);
        memory->problem.bias = rung_matrix_broadcast(bias, trial->m, trial->n);
        memory->problem.activation = RUNG_ACTIVATION_RELU;
        memory->problem.residual = rung_matrix_of(trial->out, trial->m, trial->n, memory->data[4]);
    }
}

/* The same problem with its views in the device's buffers. */
static inline rung_problem cuda_product_in_buffers(cuda_product_memory_t *memory)
{
    rung_problem there = memory->problem;
    rung_matrix *views[] = {&there.a, &there.b, &there.c, &there.bias, &there.residual};
    for (int i = 0; i < CUDA_PRODUCT_OPERANDS; i++) {
        if (views[i]->data)
            views[i]->buffer = memory->buffers[i];
        views[i]->data = NULL;
    }
    return there;
}

static inline void cuda_product_upload(rung_device *device, rung_queue *queue, cuda_product_memory_t *memory)
{
    for (int i = 0; i < CUDA_PRODUCT_OPERANDS; i++) {
        assert_ok(rung_buffer_create(device, CUDA_PRODUCT_BYTES, &memory->buffers[i]));
        assert_ok(rung_buffer_write(queue, memory->buffers[i], 0, CUDA_PRODUCT_BYTES, memory->data[i], NULL));
    }
}

/* What the CPU makes of it, gaps and all, against what stands in C's buffer. */
static inline void cuda_product_compare(rung_queue *queue, cuda_product_memory_t *memory)
{
    static rung_context *cpu;
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    assert_ok(rung_buffer_read(queue, memory->buffers[2], 0, CUDA_PRODUCT_BYTES, memory->result, NULL));
    assert_ok(rung_queue_finish(queue));
    if (!cpu)
        assert_ok(rung_context_create(&options, &cpu));
    assert_ok(rung_multiply(cpu, &memory->problem, NULL));
    assert_memory_equal(memory->result, memory->data[2], CUDA_PRODUCT_BYTES);
}

static inline rung_status cuda_product_plan(rung_device *device, const cuda_product_t *trial,
                                            const rung_problem *problem, rung_plan **plan)
{
    rung_kernel *kernel = NULL;
    if (trial->kernel)
        assert_ok(rung_kernel_find(device->context, "cuda", trial->kernel, &kernel));
    rung_plan_options options = {.size = sizeof(rung_plan_options),
                                 .kernel = kernel,
                                 .parameters = trial->parameters,
                                 .split_k = trial->splits,
                                 .max_workspace_bytes = 1 << 20,
                                 .shared_carveout_percent = (int)trial->carveout};
    return rung_plan_create(device, problem, &options, plan);
}

/* A plan from end to end; what it came to goes to `info`, whose texts are not kept. */
static inline void cuda_product_run(rung_device *device, const cuda_product_t *trial, rung_plan_info *info)
{
    static cuda_product_memory_t memory;
    rung_queue *queue;
    rung_plan *plan;
    rung_run_options options = {.size = sizeof(rung_run_options)};
    cuda_product_fill(trial, &memory);
    assert_ok(rung_queue_create(device, &queue));
    cuda_product_upload(device, queue, &memory);
    rung_problem there = cuda_product_in_buffers(&memory);
    assert_ok(cuda_product_plan(device, trial, &there, &plan));
    *info = *rung_plan_describe(plan);
    if (info->workspace_bytes > 0)
        assert_ok(rung_buffer_create(device, info->workspace_bytes, &options.workspace));
    assert_ok(rung_plan_run(plan, queue, &there, &options));
    cuda_product_compare(queue, &memory);
    rung_plan_destroy(plan);
    rung_buffer_destroy(options.workspace);
    for (int i = 0; i < CUDA_PRODUCT_OPERANDS; i++)
        rung_buffer_destroy(memory.buffers[i]);
    rung_queue_destroy(queue);
}

#endif /* RUNG_CUDA_UNIT_H */
