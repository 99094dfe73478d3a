/* SPDX-License-Identifier: Apache-2.0 */
/* peer_library.h - the GEMM libraries that rung is compared with as kernel 00 (MKL, OpenBLAS, BLIS, oneDNN or any CBLAS),
 * opened at run time and never linked. cblas.c and onednn.h declare what is used of their interfaces, so that no header of
 * theirs is needed. */
#ifndef RUNGI_CPU_PEER_LIBRARY_H
#define RUNGI_CPU_PEER_LIBRARY_H

#include "base/error.h"
#include "core/gemm_types.h"
#include "cpu/features.h"

/* The libraries in the order in which 00_vendor searches for them: word, title, supported types, and how to install. */
/* clang-format off */
#define RUNGI_PEER_LIST(X)                                                                               \
    X(MKL, "mkl", "MKL",                                                                                 \
      1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F64_TO_F64 | 1u << RUNGI_BF16_TO_F32 | 1u << RUNGI_I8_TO_I32,     \
      "pip install mkl")                                                                                 \
    X(OPENBLAS, "openblas", "OpenBLAS",                                                                  \
      1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F64_TO_F64 | 1u << RUNGI_BF16_TO_F32,                            \
      "pip install scipy-openblas32, or apt install libopenblas0-pthread")                               \
    X(BLIS, "blis", "BLIS", 1u << RUNGI_F32_TO_F32 | 1u << RUNGI_F64_TO_F64, "apt install libblis4-pthread") \
    X(ONEDNN, "onednn", "oneDNN",                                                                        \
      1u << RUNGI_F32_TO_F32 | 1u << RUNGI_BF16_TO_F32 | 1u << RUNGI_I8_TO_I32, "pip install onednn-cpu-gomp")
/* clang-format on */

typedef enum rungi_peer_kind {
#define X(id, word, title, products, install) RUNGI_PEER_##id,
    RUNGI_PEER_LIST(X)
#undef X
        RUNGI_PEER_COUNT,
    RUNGI_PEER_OTHER = RUNGI_PEER_COUNT, /* any CBLAS, given by its path */
    RUNGI_PEER_ANY                       /* the library that RUNG_CPU_VENDOR selects, else the first that is found */
} rungi_peer_kind;

enum {
    RUNGI_PEER_PRODUCTS = 0
#define X(id, word, title, products, install) | (products)
    RUNGI_PEER_LIST(X)
#undef X
};

typedef void rungi_peer_function(void); /* the caller casts it to its real type */

/* Functions that get and set the number of threads. A library has one of three kinds. */
typedef struct rungi_peer_threads {
    int (*swap_local)(int threads); /* for the calling thread only; returns the previous number */
    int (*get)(void);
    void (*set)(int threads);
    int64_t (*get_ilp64)(void);
    void (*set_ilp64)(int64_t threads);
} rungi_peer_threads;

typedef struct rungi_peer {
    rungi_peer_kind kind;
    const char *title; /* "OpenBLAS" */
    char version[64];  /* "0.3.21 (SkylakeX)" */
    char path[400];    /* of the library file */
    char warning[192]; /* why its speed is not representative, or "" */
    void *library;
    rungi_peer_function *f32, *f64, *bf16, *i8; /* NULL if missing; oneDNN's functions are in rungi_onednn */
    bool is_ilp64;                              /* sizes are int64_t instead of int */
    rungi_peer_threads threads;
} rungi_peer;

/* C = alpha * A * B + beta * C with row-major C and m, n, k > 0. */
typedef struct rungi_peer_gemm_args {
    rung_type in;
    int64_t m, n, k;
    double alpha, beta;
    const void *a, *b;
    void *c;
    bool a_is_row_major, b_is_row_major;
    int64_t lda, ldb, ldc;
} rungi_peer_gemm_args;

#endif /* RUNGI_CPU_PEER_LIBRARY_H */
