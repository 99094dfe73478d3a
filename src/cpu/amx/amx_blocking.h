/* SPDX-License-Identifier: Apache-2.0 */
/* amx_blocking.h - block sizes of 12_matrix, and where packed operands and sums lie in a thread's scratch. */
#pragma once

#include "base/checked_arithmetic.h"
#include "cpu/amx/amx.h"

#if defined(__x86_64__)

typedef struct rungi_amx_blocking_options {
    int64_t kc, kd;   /* bytes of packed k per slice, and per pass over several slices */
    int64_t mc, nc;   /* rows and columns per block of C */
    bool packs_all_a; /* all of A is packed first; otherwise there are two panels of 32 rows, used alternately */
    int64_t max_cached_bytes;  /* all slices of B are cached if they take at most this */
    int64_t max_cached_slices; /* a part of C caches no more slices than the whole problem */
    bool has_packed_b;         /* B is given packed and needs no scratch */
} rungi_amx_blocking_options;

typedef struct rungi_amx_blocking {
    rungi_amx_packing packing;
    int64_t element_bytes;    /* before packing */
    int64_t step_k;           /* elements of k per step */
    int64_t panel_step_bytes; /* of one step of a panel */
    int64_t slice_k;          /* elements of k per slice */
    int64_t slices;
    int64_t slices_per_pass; /* slices that are packed before they are multiplied */
    int64_t cached_slices;   /* slices that stay packed: all if they fit, for the next block of rows */
    int64_t mc, nc;
    int64_t panels;                   /* per nc columns */
    int64_t panel_bytes, slice_bytes; /* of one panel, and of all panels, of a slice */
    /* Offsets in the scratch: packed A and B, the sums of a block of C, and the sums of 32 x 64 elements. */
    int64_t a_offset, b_offset, sums_offset, block_offset;
    /* For BF16X3: ranges of panels, one flag per 32 x 32 sums, and F32 panels for FMA. */
    int64_t ranges_offset, fma_flags_offset, fma_scratch_offset;
    int64_t scratch_bytes;
} rungi_amx_blocking;

/* One slice of k. */
typedef struct rungi_amx_slice {
    int64_t number, p, k_size, steps;
    bool is_first, is_last;
} rungi_amx_slice;

static inline rungi_amx_slice rungi_amx_slice_at(const rungi_amx_blocking *l, int64_t k, int64_t number)
{
    int64_t p = number * l->slice_k, k_size = rungi_min(l->slice_k, k - p);
    return (rungi_amx_slice){
        number, p, k_size, rungi_round_up(k_size, l->step_k) / l->step_k, number == 0, number + 1 == l->slices};
}

/* Return `rows` rows of A from row i on, or `cols` columns of B from column j on, in one slice of k. */
static inline rungi_amx_operand rungi_amx_a_operand(const rungi_amx_blocking *l, const rungi_cpu_input *a, int64_t i,
                                                    int64_t rows, const rungi_amx_slice *slice)
{
    return (rungi_amx_operand){(const char *)a->first +
                                   (i * a->row_stride + slice->p * a->col_stride) * l->element_bytes,
                               a->row_stride, a->col_stride, rows, slice->k_size};
}

static inline rungi_amx_operand rungi_amx_b_operand(const rungi_amx_blocking *l, const rungi_cpu_input *b, int64_t j,
                                                    int64_t cols, const rungi_amx_slice *slice)
{
    return (rungi_amx_operand){(const char *)b->first +
                                   (slice->p * b->row_stride + j * b->col_stride) * l->element_bytes,
                               b->col_stride, b->row_stride, cols, slice->k_size};
}

/* Chooses the blocking of an m x n x k problem, or of a part of it. */
rungi_amx_blocking rungi_amx_blocking_compute(int64_t m, int64_t n, int64_t k, rungi_amx_packing packing,
                                              const rungi_amx_blocking_options *options);

/* ---- amx_packed_b.c: the layout of a B that is packed in advance ---- */

/* Computes the bytes of a packed k x n B. Returns RUNG_STATUS_TOO_LARGE with a message on overflow. */
rung_status rungi_amx_packed_b_bytes(const rungi_amx_blocking *l, int64_t k, int64_t n, int64_t *bytes);

/* Packs the job's B, all n columns of it. */
void rungi_amx_packed_b_fill(const rungi_amx_blocking *l, const rungi_cpu_job *job, char *packed);

/* Return offsets in a packed k x n B, for a slice and the panel of column j: the unchanged F32 elements, the panel that the
 * matrix instructions read, and its range. */
int64_t rungi_amx_packed_f32_offset(const rungi_amx_blocking *l, int64_t n, const rungi_amx_slice *slice, int64_t j);
int64_t rungi_amx_packed_panel_offset(const rungi_amx_blocking *l, int64_t k, int64_t n, const rungi_amx_slice *slice,
                                      int64_t j);
int64_t rungi_amx_packed_range_offset(const rungi_amx_blocking *l, int64_t k, int64_t n, const rungi_amx_slice *slice,
                                      int64_t j);
#endif
