/* SPDX-License-Identifier: Apache-2.0 */
/* ggml.h - the CPU backend of GGML, which multiplies F32 by quantized weights: A is rounded to 8-bit blocks, as in mode q8. */
#pragma once

#include "cpu/peers/peer_library.h"

/* ggml_init_params. */
typedef struct rungi_ggml_memory {
    size_t bytes;
    void *memory;  /* NULL: allocated by GGML */
    bool no_alloc; /* tensors get their memory later */
} rungi_ggml_memory;

/* The functions of ggml.h, ggml-backend.h and ggml-cpu.h that are used: result, name and arguments. Structs are opaque, except
 * rungi_ggml_memory. */
/* clang-format off */
#define RUNGI_GGML_FUNCTION_LIST(X)                                                                      \
    X(void *, init, (rungi_ggml_memory memory))                                                          \
    X(void, free, (void *context))                                                                       \
    X(size_t, tensor_overhead, (void))                                                                   \
    X(size_t, graph_overhead, (void))                                                                    \
    X(void *, new_tensor_2d, (void *context, int type, int64_t row_elements, int64_t rows))              \
    X(void *, mul_mat, (void *context, void *weights, void *input))                                      \
    X(void *, new_graph, (void *context))                                                                \
    X(void, build_forward_expand, (void *graph, void *result))                                           \
    X(void *, backend_cpu_init, (void))                                                                  \
    X(void, backend_cpu_set_n_threads, (void *backend, int threads))                                     \
    X(void, backend_free, (void *backend))                                                               \
    X(int, backend_graph_compute, (void *backend, void *graph))                                          \
    X(bool, backend_supports_op, (void *backend, const void *result))                                    \
    X(void *, backend_get_device, (void *backend))                                                       \
    X(void *, backend_dev_backend_reg, (void *device))                                                   \
    X(void *, backend_reg_get_proc_address, (void *registry, const char *name))                          \
    X(void *, backend_cpu_buffer_type, (void))                                                           \
    X(void *, backend_cpu_buffer_from_ptr, (void *memory, size_t bytes))                                 \
    X(const char *, backend_buft_name, (void *buffer_type))                                              \
    X(void *, backend_buft_alloc_buffer, (void *buffer_type, size_t bytes))                              \
    X(size_t, backend_buft_get_alloc_size, (void *buffer_type, void *tensor))                            \
    X(void *, backend_buffer_get_base, (void *buffer))                                                   \
    X(void, backend_buffer_free, (void *buffer))                                                         \
    X(int, backend_tensor_alloc, (void *buffer, void *tensor, void *address))                            \
    X(void, backend_tensor_set, (void *tensor, const void *data, size_t offset, size_t bytes))
/* clang-format on */

/* Weights in a buffer of GGML. */
typedef struct rungi_ggml_weights {
    void *context, *buffer, *tensor;
    const char *kind; /* "CPU", "CPU_REPACK", "AMX" */
} rungi_ggml_weights;

/* A graph of one multiplication, of matrices at these addresses. */
typedef struct rungi_ggml_graph {
    void *context, *graph;
    void *buffers[3];         /* of A, B and C; B has none if its weights are packed */
    const void *addresses[3]; /* of A, B and C */
} rungi_ggml_graph;

/* The state of a plan. */
typedef struct rungi_ggml {
#define X(result, name, arguments) result(*name) arguments;
    RUNGI_GGML_FUNCTION_LIST(X)
#undef X
    void *library, *backend;
    rungi_peer_gemm_args shape;
    rung_type b_type;
    rungi_ggml_weights packed; /* empty, unless the plan packs B */
    bool is_packed;            /* they contain a B */
    uint64_t serial;           /* of that B */
    rungi_ggml_graph graph;
    float *a, *c;   /* copies of A and C, if theirs are not aligned as GGML requires, or the result is scaled */
    char tiles[64]; /* the AMX configuration of GGML; it begins with 0 if there is none */
} rungi_ggml;

bool rungi_ggml_is_usable(void *library);
void rungi_ggml_describe(rungi_peer *peer, const rungi_cpu_features *features);

/* Prepares multiplications of this shape, with as many threads. If B is packed, GGML's buffer types are timed with zeros, and the
 * fastest one is used. Call rungi_ggml_destroy even on failure. */
rung_status rungi_ggml_create(rung_context *context, const rungi_peer *peer, const rungi_peer_gemm_args *args,
                              rung_type b_type, bool packs_b, int64_t threads, rungi_ggml *state);
void rungi_ggml_destroy(rung_context *context, rungi_ggml *state);

/* Returns the type of the buffer that contains B. */
const char *rungi_ggml_kind(const rungi_ggml *state);

/* Copies B to GGML's buffer, and returns its serial number. */
uint64_t rungi_ggml_pack(rungi_ggml *state, const void *b);

/* Multiplies by the packed B, or by args->b. */
rung_status rungi_ggml_run(rungi_ggml *state, const rungi_peer_gemm_args *args, int64_t threads);
