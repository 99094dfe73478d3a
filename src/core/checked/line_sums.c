/* SPDX-License-Identifier: Apache-2.0 */
/* line_sums.c - see line_sums.h. On x86 the functions are compiled for every processor, for AVX2 and for AVX-512. */
#include "core/checked/line_sums.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/float16.h"
#include "core/matrix.h"
#include "core/quantization.h"

/* ---- Panels ------------------------------------------------------------------------------------------------------ */

#define READ_F32(address, index) (double)((const float *)(address))[index]
#define READ_F64(address, index) ((const double *)(address))[index]
#define READ_BF16(address, index) (double)rungi_bf16_to_f32(((const uint16_t *)(address))[index])

/* Three loops: along rows without gaps, which compilers vectorize; along other rows; along columns. */
#define LOAD_ELEMENTS(READ)                                                       \
    do {                                                                          \
        for (int64_t i = 0; i < rows && along_rows && col_stride == 1; i++)       \
            for (int64_t j = 0; j < cols; j++)                                    \
                panel->rows[i][j] = READ(first, i * row_stride + j);              \
        for (int64_t i = 0; i < rows && along_rows && col_stride != 1; i++)       \
            for (int64_t j = 0; j < cols; j++)                                    \
                panel->rows[i][j] = READ(first, i * row_stride + j * col_stride); \
        for (int64_t j = 0; j < cols && !along_rows; j++)                         \
            for (int64_t i = 0; i < rows; i++)                                    \
                panel->rows[i][j] = READ(first, i * row_stride + j * col_stride); \
    } while (0)

void rungi_panel_load(const rung_matrix *view, int64_t row, int64_t rows, int64_t col, int64_t cols, rungi_panel *panel)
{
    const int64_t row_stride = view->row_stride, col_stride = view->col_stride;
    const bool along_rows = col_stride <= row_stride;
    const int64_t padded = rungi_round_up(cols, RUNGI_PANEL_LANES);
    const void *first = (const char *)view->data + rungi_element_index(view, row, col) * rungi_type_size(view->type);
    if (view->type == RUNG_F32)
        LOAD_ELEMENTS(READ_F32);
    else if (view->type == RUNG_F64)
        LOAD_ELEMENTS(READ_F64);
    else
        LOAD_ELEMENTS(READ_BF16);
    for (int64_t i = 0; i < RUNGI_PANEL_ROWS; i++) {
        int64_t used = i < rows ? cols : 0;
        memset(&panel->rows[i][used], 0, (size_t)(padded - used) * sizeof(double));
    }
}

rungi_panel_rows rungi_panel_loaded(const rungi_panel *panel)
{
    return (rungi_panel_rows){panel->rows[0], RUNGI_PANEL_COLS, 0};
}

rungi_panel_rows rungi_panel_find(const rung_matrix *view, int64_t row, int64_t rows, int64_t col, int64_t cols,
                                  rungi_panel *panel)
{
    bool is_wide = view->type == RUNG_F32 || view->type == RUNG_F64;
    if (is_wide && view->col_stride == 1 && rows == RUNGI_PANEL_ROWS && cols % RUNGI_PANEL_LANES == 0)
        return (rungi_panel_rows){(const char *)view->data +
                                      rungi_element_index(view, row, col) * rungi_type_size(view->type),
                                  view->row_stride, view->type == RUNG_F32};
    rungi_panel_load(view, row, rows, col, cols, panel);
    return rungi_panel_loaded(panel);
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */

#define READ_DOUBLE(address, raw, vector) ((vector) * (const raw *)(address))
#define CONVERT(address, raw, vector) __builtin_convertvector(*(const raw *)(address), vector)

#define TARGET
#define VECTOR_BYTES 16
#define ELEMENT double
#define WIDEN READ_DOUBLE
#define NAME(function) function##_f64_portable
#include "core/checked/line_sums_body.h"
#define ELEMENT float
#define WIDEN CONVERT
#define NAME(function) function##_f32_portable
#include "core/checked/line_sums_body.h"
#undef TARGET
#undef VECTOR_BYTES

static const rungi_line_sums *const portable[] = {&sums_f64_portable, &sums_f32_portable};

/* GCC 12 needs several instructions for __builtin_convertvector, and intrinsics one. */
#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,fma")))
#define VECTOR_BYTES 32
#define ELEMENT double
#define WIDEN READ_DOUBLE
#define NAME(function) function##_f64_avx2
#include "core/checked/line_sums_body.h"
#define ELEMENT float
#define WIDEN(address, raw, vector) (vector) _mm256_cvtps_pd(_mm_loadu_ps(address))
#define NAME(function) function##_f32_avx2
#include "core/checked/line_sums_body.h"
#undef TARGET
#undef VECTOR_BYTES

#define TARGET __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))
#define VECTOR_BYTES 64
#define ELEMENT double
#define WIDEN READ_DOUBLE
#define NAME(function) function##_f64_avx512
#include "core/checked/line_sums_body.h"
#define ELEMENT float
#define WIDEN(address, raw, vector) (vector) _mm512_cvtps_pd(_mm256_loadu_ps(address))
#define NAME(function) function##_f32_avx512
#include "core/checked/line_sums_body.h"
#undef TARGET
#undef VECTOR_BYTES

const rungi_line_sums *const *rungi_line_sums_for(rungi_x86_features features)
{
    static const rungi_line_sums *const avx2[] = {&sums_f64_avx2, &sums_f32_avx2};
    static const rungi_line_sums *const avx512[] = {&sums_f64_avx512, &sums_f32_avx512};
    return features.has_avx512 ? avx512 : features.has_avx2_fma ? avx2 : portable;
}
#else
const rungi_line_sums *const *rungi_line_sums_for(rungi_x86_features features)
{
    (void)features;
    return portable;
}
#endif
