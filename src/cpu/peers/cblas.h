/* SPDX-License-Identifier: Apache-2.0 */
/* cblas.h - calls a CBLAS: MKL, OpenBLAS, BLIS or another. */
#ifndef RUNGI_CPU_CBLAS_H
#define RUNGI_CPU_CBLAS_H

#include "cpu/peers/peer_library.h"

/* Finds the functions of a CBLAS whose names have this prefix and suffix. Returns false if there is no cblas_sgemm or no
 * cblas_dgemm. */
bool rungi_cblas_load(rungi_peer *peer, const char *prefix, const char *suffix);

/* Multiplies. The library has a function for the type, which is not i8, and sizes are below 2^31 unless is_ilp64. */
void rungi_cblas_run(const rungi_peer *peer, const rungi_peer_gemm_args *args);

/* Computes the bytes of scratch that rungi_cblas_run_i8 needs. Returns false on overflow. */
bool rungi_cblas_i8_scratch(const rungi_peer_gemm_args *args, int64_t *bytes);

/* Multiplies i8 matrices by MKL. alpha is 1 and beta is 0. */
void rungi_cblas_run_i8(const rungi_peer *peer, const rungi_peer_gemm_args *args, char *scratch);

#endif /* RUNGI_CPU_CBLAS_H */
