/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - the CPU's vendors: libraries of other people's behind kernel 00, found and opened
 * at run time and never linked. What is needed of their interfaces is written down in cblas.c
 * and onednn.h, so that their headers are not needed. */
#ifndef RUNGI_CPU_PEER_H
#define RUNGI_CPU_PEER_H

#include "core/backend.h"
#include "core/error.h"
#include "cpu/features.h"

/* In the order in which 00_vendor looks for one: its word, what it is called, what it may
 * multiply, and what to install. */
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
    RUNGI_PEER_OTHER = RUNGI_PEER_COUNT, /* any CBLAS, by its path */
    RUNGI_PEER_ANY                       /* the first that is found, or what RUNG_CPU_VENDOR says */
} rungi_peer_kind;

enum {
    RUNGI_PEER_PRODUCTS = 0
#define X(id, word, title, products, install) | (products)
    RUNGI_PEER_LIST(X)
#undef X
};

typedef void rungi_peer_function(void); /* of a type that its caller knows */

/* How many threads it works with: functions to ask and to tell, of one of three kinds. */
typedef struct rungi_peer_threads {
    int (*exchange)(int threads); /* of the calling thread alone; gives what was */
    int (*get)(void);
    void (*set)(int threads);
    int64_t (*get_wide)(void);
    void (*set_wide)(int64_t threads);
} rungi_peer_threads;

typedef struct rungi_peer {
    rungi_peer_kind kind;
    const char *title; /* "OpenBLAS" */
    char version[64];  /* "0.3.21 (SkylakeX)" */
    char path[400];    /* the file it is */
    char doubt[192];   /* why its speed says nothing, "" mostly */
    void *library;
    rungi_peer_function *f32, *f64, *bf16, *i8; /* NULL where it has none; oneDNN's are its own */
    bool is_wide;                               /* sizes are int64_t and not int */
    rungi_peer_threads threads;
} rungi_peer;

/* RUNG_CPU_VENDOR. An invalid value makes 00_vendor fail: another library than was asked for would not be noticed. */
extern const rungi_variable rungi_peer_variable;

/* Looks for it, afresh each time. RUNG_CPU_VENDOR may be a word of the list, for
 * RUNGI_PEER_ANY, or a path, which then also is the library of its own kind.
 * RUNG_STATUS_UNSUPPORTED and a sentence if there is none. */
rung_status rungi_peer_find(rungi_peer_kind kind, const rungi_cpu_features *features, rungi_peer *peer);

/* Adds every library to the list, whether or not it is found. */
void rungi_peer_list(rung_dependency_list *list);

/* Tells it a number of threads and gives what was set before, which may be told it again. */
int64_t rungi_peer_set_threads(const rungi_peer *peer, int64_t threads);

/* C = alpha * A * B + beta * C with C by rows and m, n, k > 0. */
typedef struct rungi_peer_work {
    rung_type in;
    int64_t m, n, k;
    double alpha, beta;
    const void *a, *b;
    void *c;
    bool a_by_rows, b_by_rows;
    int64_t lda, ldb, ldc;
} rungi_peer_work;

/* ---- cblas.c ------------------------------------------------------------------------------------ */

/* Fills the functions of a CBLAS whose names have this prefix and suffix; false if it has no
 * cblas_sgemm. */
bool rungi_cblas_load(rungi_peer *peer, const char *prefix, const char *suffix);

/* Sizes are below 2^31 unless it is wide; the product is one it has, and no i8. */
void rungi_cblas_run(const rungi_peer *peer, const rungi_peer_work *work);

/* The bytes that i8 needs besides; false if they overflow. */
bool rungi_cblas_i8_scratch(const rungi_peer_work *work, int64_t *bytes);

/* i8 with alpha 1 and beta 0. */
void rungi_cblas_run_i8(const rungi_peer *peer, const rungi_peer_work *work, char *scratch);

#endif /* RUNGI_CPU_PEER_H */
