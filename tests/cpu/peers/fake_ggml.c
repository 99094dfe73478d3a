/* SPDX-License-Identifier: Apache-2.0 */
/* fake_ggml.c - a library with the functions of GGML that rung calls. It multiplies by Q8_0 and Q4_0 with A rounded to 8 bits, and
 * has three types of buffers: CPU, which is slow, FAST, and SMALL, which supports nothing. With FAKE_GGML_OLD it lacks a function. */
#include "fake_ggml.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rung/rung.h"

#define EXPORT __attribute__((visibility("default")))

enum { BLOCK = 32, MAX_TENSORS = 16, SLOW_NS = 20000000, SLOW_FACTOR = 4, ALIGNMENT = 32 };

typedef struct buffer_type {
    const char *name;
} buffer_type_t;

typedef struct buffer {
    buffer_type_t *type;
    char *memory;
    bool is_owned;
} buffer_t;

typedef struct tensor {
    int type;
    int64_t ne0, ne1;
    char *data;
    buffer_t *buffer;
    struct tensor *weights, *input; /* of a product */
} tensor_t;

typedef struct context {
    tensor_t tensors[MAX_TENSORS], *result;
    int count;
} context_t;

typedef struct init_params {
    size_t bytes;
    void *memory;
    bool no_alloc;
} init_params_t;

typedef void log_function_t(int level, const char *text, void *user);

EXPORT fake_ggml_record_t fake_ggml_record;
static buffer_type_t plain = {"CPU"}, fast = {"FAST"}, small = {"SMALL"}, mapped = {"CPU_Mapped"};
static void *extra_types[] = {&small, &fast, NULL};

static void count_message(int level, const char *text, void *user)
{
    (void)level;
    (void)text;
    ++*(int64_t *)user;
}

static log_function_t *log_function = count_message;
static void *log_user = &fake_ggml_record.messages;

/* The functions, as ggml.h declares them. */
EXPORT void *ggml_init(init_params_t params);
EXPORT void ggml_free(void *context);
EXPORT size_t ggml_tensor_overhead(void);
EXPORT size_t ggml_graph_overhead(void);
EXPORT void *ggml_new_tensor_2d(context_t *context, int type, int64_t ne0, int64_t ne1);
EXPORT void *ggml_mul_mat(context_t *context, tensor_t *weights, tensor_t *input);
EXPORT void *ggml_new_graph(context_t *context);
EXPORT void ggml_build_forward_expand(context_t *graph, tensor_t *result);
EXPORT void *ggml_backend_cpu_init(void);
EXPORT void ggml_backend_cpu_set_n_threads(void *backend, int threads);
EXPORT void ggml_backend_free(void *backend);
EXPORT int ggml_backend_graph_compute(void *backend, context_t *graph);
EXPORT bool ggml_backend_supports_op(void *backend, const tensor_t *result);
EXPORT void *ggml_backend_get_device(void *backend);
EXPORT void *ggml_backend_dev_backend_reg(void *device);
EXPORT void *ggml_backend_reg_get_proc_address(void *registry, const char *name);
EXPORT void *ggml_backend_cpu_buffer_type(void);
EXPORT void *ggml_backend_cpu_buffer_from_ptr(void *memory, size_t bytes);
EXPORT const char *ggml_backend_buft_name(buffer_type_t *type);
EXPORT void *ggml_backend_buft_alloc_buffer(buffer_type_t *type, size_t bytes);
EXPORT size_t ggml_backend_buft_get_alloc_size(buffer_type_t *type, tensor_t *tensor);
EXPORT void *ggml_backend_buffer_get_base(buffer_t *buffer);
EXPORT void ggml_backend_buffer_free(buffer_t *buffer);
EXPORT int ggml_backend_tensor_alloc(buffer_t *buffer, tensor_t *tensor, void *address);
EXPORT void ggml_backend_tensor_set(tensor_t *tensor, const void *data, size_t offset, size_t bytes);
EXPORT void ggml_log_get(log_function_t **function, void **user);
EXPORT void ggml_log_set(log_function_t *function, void *user);
EXPORT const char *ggml_version(void);
EXPORT int ggml_cpu_has_avx2(void);
EXPORT int ggml_cpu_has_avx512(void);
EXPORT int ggml_cpu_has_avx512_vnni(void);

static void require(bool is_right)
{
    if (!is_right)
        abort(); /* as GGML does */
}

/* ---- Tensors --------------------------------------------------------------------------------------------- */

void *ggml_init(init_params_t params)
{
    require(params.no_alloc && params.bytes >= 3 * sizeof(tensor_t) && !params.memory);
    fake_ggml_record.contexts++;
    return calloc(1, sizeof(context_t));
}

void ggml_free(void *context)
{
    fake_ggml_record.contexts--;
    free(context);
}

size_t ggml_tensor_overhead(void)
{
    return sizeof(tensor_t);
}

#ifndef FAKE_GGML_OLD
size_t ggml_graph_overhead(void)
{
    return 0;
}
#endif

void *ggml_new_tensor_2d(context_t *context, int type, int64_t ne0, int64_t ne1)
{
    require(context->count < MAX_TENSORS && (type == 0 || type == 2 || type == 8));
    context->tensors[context->count] = (tensor_t){.type = type, .ne0 = ne0, .ne1 = ne1};
    return &context->tensors[context->count++];
}

void *ggml_mul_mat(context_t *context, tensor_t *weights, tensor_t *input)
{
    require(weights->ne0 == input->ne0 && weights->type != 0 && input->type == 0);
    tensor_t *result = ggml_new_tensor_2d(context, 0, weights->ne1, input->ne1);
    result->weights = weights;
    result->input = input;
    return result;
}

void *ggml_new_graph(context_t *context)
{
    return context;
}

void ggml_build_forward_expand(context_t *graph, tensor_t *result)
{
    graph->result = result;
}

static size_t tensor_bytes(const tensor_t *tensor)
{
    size_t count = (size_t)(tensor->ne0 * tensor->ne1);
    return tensor->type == 0 ? 4 * count : count / BLOCK * (tensor->type == 2 ? 18 : 34);
}

/* ---- Buffers --------------------------------------------------------------------------------------------- */

void *ggml_backend_cpu_buffer_type(void)
{
    return &plain;
}

const char *ggml_backend_buft_name(buffer_type_t *type)
{
    return type->name;
}

static buffer_t *new_buffer(buffer_type_t *type, void *memory, bool is_owned)
{
    buffer_t *buffer = malloc(sizeof *buffer);
    require(buffer && memory && (uintptr_t)memory % ALIGNMENT == 0);
    *buffer = (buffer_t){type, memory, is_owned};
    fake_ggml_record.buffers++;
    return buffer;
}

void *ggml_backend_cpu_buffer_from_ptr(void *memory, size_t bytes)
{
    (void)bytes;
    return new_buffer(&mapped, memory, false);
}

void *ggml_backend_buft_alloc_buffer(buffer_type_t *type, size_t bytes)
{
    return new_buffer(type, aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT), true);
}

size_t ggml_backend_buft_get_alloc_size(buffer_type_t *type, tensor_t *tensor)
{
    (void)type;
    return tensor_bytes(tensor);
}

void *ggml_backend_buffer_get_base(buffer_t *buffer)
{
    return buffer->memory;
}

void ggml_backend_buffer_free(buffer_t *buffer)
{
    if (buffer->is_owned)
        free(buffer->memory);
    free(buffer);
    fake_ggml_record.buffers--;
}

int ggml_backend_tensor_alloc(buffer_t *buffer, tensor_t *tensor, void *address)
{
    require(!tensor->data);
    tensor->data = address;
    tensor->buffer = buffer;
    return 0;
}

void ggml_backend_tensor_set(tensor_t *tensor, const void *data, size_t offset, size_t bytes)
{
    require(offset == 0 && bytes == tensor_bytes(tensor));
    memcpy(tensor->data, data, bytes);
    if (tensor->buffer->type == &fast)
        log_function(1, "arranging weights\n", log_user);
}

/* ---- The backend ------------------------------------------------------------------------------------------ */

void *ggml_backend_cpu_init(void)
{
    fake_ggml_record.backends++;
    return &fake_ggml_record;
}

void ggml_backend_free(void *backend)
{
    (void)backend;
    fake_ggml_record.backends--;
}

void ggml_backend_cpu_set_n_threads(void *backend, int threads)
{
    (void)backend;
    fake_ggml_record.threads = threads;
}

bool ggml_backend_supports_op(void *backend, const tensor_t *result)
{
    (void)backend;
    return result->weights->buffer->type != &small;
}

void *ggml_backend_get_device(void *backend)
{
    return backend;
}

void *ggml_backend_dev_backend_reg(void *device)
{
    return device;
}

static void **extra_buffer_types(void *device)
{
    (void)device;
    return extra_types;
}

void *ggml_backend_reg_get_proc_address(void *registry, const char *name)
{
    void *address;
    void **(*function)(void *device) = extra_buffer_types;
    (void)registry;
    require(strcmp(name, "ggml_backend_dev_get_extra_bufts") == 0);
    memcpy(&address, &function, sizeof address);
    return address;
}

static double read_weight(const tensor_t *weights, int64_t row, int64_t p)
{
    int64_t size = weights->type == 2 ? 18 : 34, e = p % BLOCK;
    const unsigned char *block = (unsigned char *)weights->data + (row * weights->ne0 + p) / BLOCK * size;
    uint16_t scale;
    memcpy(&scale, block, sizeof scale);
    int code = weights->type == 8 ? (signed char)block[2 + e]
                                  : (e < BLOCK / 2 ? block[2 + e] & 15 : block[2 + e - BLOCK / 2] >> 4) - 8;
    return (double)rung_f16_to_f32(scale) * code;
}

/* Rounds a block of A to 8 bits. */
static void round_block(const float *from, double *to)
{
    double largest = 0;
    for (int i = 0; i < BLOCK; i++)
        largest = fmax(largest, fabs((double)from[i]));
    for (int i = 0; i < BLOCK; i++)
        to[i] = largest > 0 ? rint((double)from[i] / largest * 127) * largest / 127 : 0;
}

static float sum_row(const tensor_t *input, int64_t row, const double *column)
{
    double sum = 0, rounded[BLOCK];
    for (int64_t p = 0; p < input->ne0; p++) {
        if (p % BLOCK == 0)
            round_block((const float *)(const void *)input->data + row * input->ne0 + p, rounded);
        sum += rounded[p % BLOCK] * column[p];
    }
    return (float)sum;
}

static int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Waits for at least SLOW_NS, and for a multiple of the time since `started`: a sanitizer makes all products slow. */
static void wait_a_while(int64_t started)
{
    int64_t ns = SLOW_FACTOR * (clock_ns() - started);
    ns = ns < SLOW_NS ? SLOW_NS : ns;
    nanosleep(&(struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)}, NULL);
}

int ggml_backend_graph_compute(void *backend, context_t *graph)
{
    const tensor_t *result = graph->result, *weights = result->weights, *input = result->input;
    int64_t started = clock_ns();
    (void)backend;
    fake_ggml_record.computed++;
    fake_ggml_record.weights = weights->data;
    fake_ggml_record.input = input->data;
    fake_ggml_record.result = result->data;
    double *column = malloc(sizeof(double) * (size_t)weights->ne0);
    require(column);
    for (int64_t j = 0; j < weights->ne1; j++) {
        for (int64_t p = 0; p < weights->ne0; p++)
            column[p] = read_weight(weights, j, p);
        for (int64_t i = 0; i < input->ne1; i++)
            ((float *)(void *)result->data)[i * weights->ne1 + j] = sum_row(input, i, column);
    }
    free(column);
    if (weights->buffer->type == &plain)
        wait_a_while(started);
    return 0;
}

/* ---- Others ------------------------------------------------------------------------------------------------ */

void ggml_log_get(log_function_t **function, void **user)
{
    *function = log_function;
    *user = log_user;
}

void ggml_log_set(log_function_t *function, void *user)
{
    log_function = function;
    log_user = user;
}

const char *ggml_version(void)
{
    return "1.2.3";
}

int ggml_cpu_has_avx2(void)
{
    return 1;
}

int ggml_cpu_has_avx512(void)
{
    return 1;
}

int ggml_cpu_has_avx512_vnni(void)
{
    return 0;
}
