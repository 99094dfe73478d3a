/* SPDX-License-Identifier: Apache-2.0 */
/* onednn.h - oneDNN, a library of a network's layers of which one is a multiply. */
#ifndef RUNGI_CPU_ONEDNN_H
#define RUNGI_CPU_ONEDNN_H

#include "cpu/peer.h"

/* One operand of a primitive and which it is. */
typedef struct rungi_onednn_argument {
    int which;
    void *memory;
} rungi_onednn_argument;

/* What is needed of dnnl.h, version 3: name and arguments; each returns 0 if it is well. */
/* clang-format off */
#define RUNGI_ONEDNN_FUNCTION_LIST(X)                                                                    \
    X(engine_create, (void **engine, int kind, size_t index))                                            \
    X(engine_destroy, (void *engine))                                                                    \
    X(stream_create, (void **stream, void *engine, unsigned flags))                                      \
    X(stream_wait, (void *stream))                                                                       \
    X(stream_destroy, (void *stream))                                                                    \
    X(memory_desc_create_with_strides,                                                                   \
      (void **form, int dimensions, const int64_t *sizes, int type, const int64_t *strides))             \
    X(memory_desc_destroy, (void *form))                                                                 \
    X(memory_create, (void **memory, const void *form, void *engine, void *data))                        \
    X(memory_set_data_handle, (void *memory, void *data))                                                \
    X(memory_destroy, (void *memory))                                                                    \
    X(matmul_primitive_desc_create, (void **description, void *engine, const void *a, const void *b,     \
                                     const void *bias, const void *c, const void *attributes))           \
    X(primitive_desc_destroy, (void *description))                                                       \
    X(primitive_create, (void **primitive, const void *description))                                     \
    X(primitive_execute, (void *primitive, void *stream, int count, const rungi_onednn_argument *arguments)) \
    X(primitive_destroy, (void *primitive))                                                              \
    X(sgemm, (char a_turned, char b_turned, int64_t m, int64_t n, int64_t k, float alpha, const void *a, \
              int64_t lda, const void *b, int64_t ldb, float beta, void *c, int64_t ldc))                \
    X(gemm_bf16bf16f32, (char a_turned, char b_turned, int64_t m, int64_t n, int64_t k, float alpha,     \
                         const void *a, int64_t lda, const void *b, int64_t ldb, float beta, void *c,    \
                         int64_t ldc))
/* clang-format on */

/* What a plan keeps: a primitive for C = A B, and its operands without their memory. */
typedef struct rungi_onednn {
#define X(name, arguments) int(*name) arguments;
    RUNGI_ONEDNN_FUNCTION_LIST(X)
#undef X
    void *engine, *stream, *primitive;
    void *memory[3]; /* of A, B and C */
} rungi_onednn;

/* Whether it is one that can be used: those of OpenMP alone can be told how many threads to
 * take. */
bool rungi_onednn_suits(void *library);
void rungi_onednn_describe(rungi_peer *peer, const rungi_cpu_features *features);

/* For problems of the work's form; its memory is not looked at. Destroyed in any case. */
rung_status rungi_onednn_create(const rungi_peer *peer, const rungi_peer_work *work, rungi_onednn *made);
void rungi_onednn_destroy(rungi_onednn *made);

/* i8 with alpha 1 and beta 0. */
rung_status rungi_onednn_run(const rungi_onednn *made, const rungi_peer_work *work);

#endif /* RUNGI_CPU_ONEDNN_H */
