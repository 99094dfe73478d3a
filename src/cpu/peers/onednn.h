/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.h - oneDNN, a library of neural network operations, of which matmul is used. */
#pragma once

#include "cpu/peers/peer_library.h"

/* dnnl_exec_arg_t: an operand of a primitive. */
typedef struct rungi_onednn_argument {
    int which;
    void *memory;
} rungi_onednn_argument;

/* The functions of dnnl.h, version 3, that are used. Each returns 0 on success. */
/* clang-format off */
#define RUNGI_ONEDNN_FUNCTION_LIST(X)                                                                    \
    X(engine_create, (void **engine, int kind, size_t index))                                            \
    X(engine_destroy, (void *engine))                                                                    \
    X(stream_create, (void **stream, void *engine, unsigned flags))                                      \
    X(stream_wait, (void *stream))                                                                       \
    X(stream_destroy, (void *stream))                                                                    \
    X(memory_desc_create_with_strides,                                                                   \
      (void **descriptor, int dimensions, const int64_t *sizes, int type, const int64_t *strides))             \
    X(memory_desc_destroy, (void *descriptor))                                                                 \
    X(memory_create, (void **memory, const void *descriptor, void *engine, void *data))                        \
    X(memory_set_data_handle, (void *memory, void *data))                                                \
    X(memory_destroy, (void *memory))                                                                    \
    X(matmul_primitive_desc_create, (void **description, void *engine, const void *a, const void *b,     \
                                     const void *bias, const void *c, const void *attributes))           \
    X(primitive_desc_destroy, (void *description))                                                       \
    X(primitive_create, (void **primitive, const void *description))                                     \
    X(primitive_execute, (void *primitive, void *stream, int count, const rungi_onednn_argument *arguments)) \
    X(primitive_destroy, (void *primitive))                                                              \
    X(sgemm, (char a_transpose, char b_transpose, int64_t m, int64_t n, int64_t k, float alpha, const void *a, \
              int64_t lda, const void *b, int64_t ldb, float beta, void *c, int64_t ldc))                \
    X(gemm_bf16bf16f32, (char a_transpose, char b_transpose, int64_t m, int64_t n, int64_t k, float alpha,     \
                         const void *a, int64_t lda, const void *b, int64_t ldb, float beta, void *c,    \
                         int64_t ldc))
/* clang-format on */

/* The state of a plan: a primitive for C = A B, and memory objects without data. */
typedef struct rungi_onednn {
#define X(name, arguments) int(*name) arguments;
    RUNGI_ONEDNN_FUNCTION_LIST(X)
#undef X
    void *engine, *stream, *primitive;
    void *memory[3]; /* of A, B and C */
} rungi_onednn;

/* Returns whether the library is usable: only builds with OpenMP let the caller set the number of threads. */
bool rungi_onednn_is_usable(void *library);
void rungi_onednn_describe(rungi_peer *peer, const rungi_cpu_features *features);

/* Creates the objects for GEMMs of this shape; ignores the addresses in `args`. Call rungi_onednn_destroy even on failure. */
rung_status rungi_onednn_create(const rungi_peer *peer, const rungi_peer_gemm_args *args, rungi_onednn *state);
void rungi_onednn_destroy(rungi_onednn *state);

/* i8 with alpha 1 and beta 0. */
rung_status rungi_onednn_run(const rungi_onednn *state, const rungi_peer_gemm_args *args);
