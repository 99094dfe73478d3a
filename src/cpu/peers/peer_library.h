/* SPDX-License-Identifier: Apache-2.0 */
/* peer_library.h - the GEMM libraries that rung is compared with as kernel 00 (MKL, OpenBLAS, BLIS, oneDNN, GGML or any CBLAS),
 * opened at run time and never linked. cblas.c, onednn.h and ggml.h declare what is used of their interfaces, so that no header of
 * theirs is needed. */
#pragma once

#include "core/backend.h"
#include "core/plan_types.h"
#include "cpu/features.h"

/* The libraries in the order in which 00_vendor searches for them: word, title, supported types, and how to install. 00_vendor
 * itself does not use GGML, which multiplies only by quantized matrices here. */
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
      1u << RUNGI_F32_TO_F32 | 1u << RUNGI_BF16_TO_F32 | 1u << RUNGI_I8_TO_I32, "pip install onednn-cpu-gomp")   \
    X(GGML, "ggml", "GGML", 1u << RUNGI_F32_Q8_0_TO_F32 | 1u << RUNGI_F32_Q4_0_TO_F32,                     \
      "pip install llama-cpp-python")
/* clang-format on */

typedef enum rungi_peer_kind {
#define X(id, word, title, products, install) RUNGI_PEER_##id,
    RUNGI_PEER_LIST(X)
#undef X
        RUNGI_PEER_COUNT,
    RUNGI_PEER_OTHER = RUNGI_PEER_COUNT, /* any CBLAS, given by its path */
    RUNGI_PEER_ANY                       /* the library that RUNG_CPU_VENDOR selects, else the first that is found */
} rungi_peer_kind;

/* The types of 00_vendor. */
enum {
    RUNGI_PEER_PRODUCTS = (0
#define X(id, word, title, products, install) | (products)
                           RUNGI_PEER_LIST(X)
#undef X
                               ) &
                          RUNGI_GEMM_TYPES_SAME
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

/* C = alpha * A * B + beta * C, with row-major C and m, n, k > 0. */
typedef struct rungi_peer_gemm_args {
    rung_type in;
    int64_t m, n, k;
    double alpha, beta;
    const void *a, *b;
    void *c;
    bool a_is_row_major, b_is_row_major;
    int64_t lda, ldb, ldc;
} rungi_peer_gemm_args;

/* Returns whether all sizes are below 2^31. */
static inline bool rungi_peer_fits_int(const rungi_peer_gemm_args *args)
{
    return args->m <= INT32_MAX && args->n <= INT32_MAX && args->k <= INT32_MAX && args->lda <= INT32_MAX &&
           args->ldb <= INT32_MAX && args->ldc <= INT32_MAX;
}

/* RUNG_CPU_VENDOR. An invalid value makes 00_vendor fail: another library than the requested one might go unnoticed. */
extern const rungi_environment_variable rungi_peer_variable;

/* Finds and opens a library; searches again at each call. For RUNGI_PEER_ANY, RUNG_CPU_VENDOR may be a word of
 * RUNGI_PEER_LIST or a path. A path is also used for the library's own kind. Returns RUNG_STATUS_UNSUPPORTED with a message
 * if no library is found. */
rung_status rungi_peer_find(rungi_peer_kind kind, const rungi_cpu_features *features, rungi_peer *peer);

/* Adds every library to the list, found or not. */
void rungi_peer_list(rung_dependency_list *list);

/* Sets the library's number of threads. Returns the previous setting, which can be set again. */
int64_t rungi_peer_set_threads(const rungi_peer *peer, int64_t threads);

/* Returns the function with this decorated name, or NULL. */
rungi_peer_function *rungi_peer_symbol(void *library, const char *prefix, const char *name, const char *suffix);

/* ---- cblas.c: calls a CBLAS ---- */

/* Finds the functions of a CBLAS whose names have this prefix and suffix. Returns false if there is no cblas_sgemm or no
 * cblas_dgemm. */
bool rungi_cblas_load(rungi_peer *peer, const char *prefix, const char *suffix);

/* Multiplies. The library has a function for the type, which is not i8, and sizes are below 2^31 unless is_ilp64. */
void rungi_cblas_run(const rungi_peer *peer, const rungi_peer_gemm_args *args);

/* Computes the bytes of scratch that rungi_cblas_run_i8 needs. Returns false on overflow. */
bool rungi_cblas_i8_scratch(const rungi_peer_gemm_args *args, int64_t *bytes);

/* Multiplies i8 matrices by MKL. alpha is 1 and beta is 0. */
void rungi_cblas_run_i8(const rungi_peer *peer, const rungi_peer_gemm_args *args, char *scratch);

/* ---- peer_plan.c: plans of 00_vendor, and of one kernel per library such as 00_vendor:mkl ---- */

/* Plan functions of rungi_device_ops. The caller allocates plan->state, rungi_cpu_peer_plan_bytes() zeroed bytes, and frees it.
 * Configuration returns RUNG_STATUS_UNSUPPORTED if the library is not installed or does not support the problem; call
 * rungi_cpu_peer_plan_destroy in this case too. */
size_t rungi_cpu_peer_plan_bytes(void);
rung_status rungi_cpu_peer_plan_configure(rung_plan *plan);
rung_status rungi_cpu_peer_plan_pack(rung_plan *plan, const rung_matrix *b, rung_buffer *packed,
                                     const rung_run_options *options);
rung_status rungi_cpu_peer_packed_check(const rung_plan *plan, const void *header);
rung_status rungi_cpu_peer_plan_run(rung_plan *plan, const rung_problem *problem, rungi_gemm_sizes sizes,
                                    const rung_run_options *options);
void rungi_cpu_peer_plan_destroy(rung_plan *plan);

/* Resets the lock in the child of a fork, which has one thread. */
void rungi_cpu_peer_after_fork(void);
