/* SPDX-License-Identifier: Apache-2.0 */
/* line_sums.c - see line_sums.h. The functions are compiled twice on x86: for every processor, and for AVX2. */
#include "core/checked/line_sums.h"

#include <string.h>

#include "base/x86_features.h"
#include "core/matrix.h"

/* ---- Panels ------------------------------------------------------------------------------------------------------ */

static double bf16_value(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return (double)value;
}

#define READ_F32(address, index) (double)((const float *)(address))[index]
#define READ_F64(address, index) ((const double *)(address))[index]
#define READ_BF16(address, index) bf16_value(((const uint16_t *)(address))[index])

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
    const void *first = (const char *)view->data +
                        (view->offset + row * row_stride + col * col_stride) * rungi_type_size(view->type);
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

/* ---- Sums -------------------------------------------------------------------------------------------------------- */

typedef double vector_t __attribute__((vector_size(32), may_alias));
typedef uint64_t bits_t __attribute__((vector_size(32)));

enum { VECTOR = 4 };

#define INLINE static inline __attribute__((always_inline))
#define AT(array, index) (*(const vector_t *)&(array)[index])
#define TO(array, index) (*(vector_t *)&(array)[index])
#define MAGNITUDE(vector) ((vector_t)((bits_t)(vector)&magnitude_bits))

static const bits_t magnitude_bits = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};

INLINE void dot(const rungi_panel *panel, int64_t cols, const double *weights, const double *sizes_of,
                double sums[RUNGI_PANEL_ROWS], double sizes[RUNGI_PANEL_ROWS])
{
    for (int row = 0; row < RUNGI_PANEL_ROWS; row += 2) {
        const double *x = panel->rows[row], *y = panel->rows[row + 1];
        vector_t sum_x = {0}, sum_y = {0}, size_x = {0}, size_y = {0};
        for (int64_t j = 0; j < cols; j += VECTOR) {
            sum_x += AT(x, j) * AT(weights, j);
            sum_y += AT(y, j) * AT(weights, j);
            size_x += MAGNITUDE(AT(x, j)) * AT(sizes_of, j);
            size_y += MAGNITUDE(AT(y, j)) * AT(sizes_of, j);
        }
        sums[row] += sum_x[0] + sum_x[1] + (sum_x[2] + sum_x[3]);
        sums[row + 1] += sum_y[0] + sum_y[1] + (sum_y[2] + sum_y[3]);
        sizes[row] += size_x[0] + size_x[1] + (size_x[2] + size_x[3]);
        sizes[row + 1] += size_y[0] + size_y[1] + (size_y[2] + size_y[3]);
    }
}

INLINE void combine(const rungi_panel *panel, int64_t cols, const double weights[RUNGI_PANEL_ROWS],
                    const double sizes_of[RUNGI_PANEL_ROWS], double *sums, double *sizes)
{
    for (int64_t j = 0; j < cols; j += VECTOR) {
        vector_t sum = AT(sums, j), size = AT(sizes, j);
        for (int row = 0; row < RUNGI_PANEL_ROWS; row++) {
            vector_t x = AT(panel->rows[row], j);
            sum += x * weights[row];
            size += MAGNITUDE(x) * sizes_of[row];
        }
        TO(sums, j) = sum;
        TO(sizes, j) = size;
    }
}

INLINE void sum_both(const rungi_panel *panel, int64_t cols, const double *col_weights,
                     const double row_weights[RUNGI_PANEL_ROWS], double row_sums[RUNGI_PANEL_ROWS], double *col_sums)
{
    vector_t row_sum[RUNGI_PANEL_ROWS] = {{0}};
    for (int64_t j = 0; j < cols; j += VECTOR) {
        vector_t sum = AT(col_sums, j), weights = AT(col_weights, j);
        for (int row = 0; row < RUNGI_PANEL_ROWS; row++) {
            vector_t x = AT(panel->rows[row], j);
            sum += x * row_weights[row];
            row_sum[row] += x * weights;
        }
        TO(col_sums, j) = sum;
    }
    for (int row = 0; row < RUNGI_PANEL_ROWS; row++)
        row_sums[row] += row_sum[row][0] + row_sum[row][1] + (row_sum[row][2] + row_sum[row][3]);
}

/* Defines the functions for an instruction set. */
#define DEFINE_SUMS(isa, TARGET)                                                                                     \
    TARGET static void dot_##isa(const rungi_panel *panel, int64_t cols, const double *weights,                      \
                                 const double *sizes_of, double sums[RUNGI_PANEL_ROWS],                              \
                                 double sizes[RUNGI_PANEL_ROWS])                                                     \
    {                                                                                                                \
        dot(panel, cols, weights, sizes_of, sums, sizes);                                                            \
    }                                                                                                                \
    TARGET static void combine_##isa(const rungi_panel *panel, int64_t cols, const double weights[RUNGI_PANEL_ROWS], \
                                     const double sizes_of[RUNGI_PANEL_ROWS], double *sums, double *sizes)           \
    {                                                                                                                \
        combine(panel, cols, weights, sizes_of, sums, sizes);                                                        \
    }                                                                                                                \
    TARGET static void sum_both_##isa(const rungi_panel *panel, int64_t cols, const double *col_weights,             \
                                      const double row_weights[RUNGI_PANEL_ROWS], double row_sums[RUNGI_PANEL_ROWS], \
                                      double *col_sums)                                                              \
    {                                                                                                                \
        sum_both(panel, cols, col_weights, row_weights, row_sums, col_sums);                                         \
    }                                                                                                                \
    static const rungi_line_sums sums_##isa = {dot_##isa, combine_##isa, sum_both_##isa};

DEFINE_SUMS(portable, )

#if defined(__x86_64__)
DEFINE_SUMS(avx2, __attribute__((target("avx2,fma"))))

const rungi_line_sums *rungi_line_sums_select(void)
{
    return rungi_x86_features_detect().has_avx2_fma ? &sums_avx2 : &sums_portable;
}
#else
const rungi_line_sums *rungi_line_sums_select(void)
{
    return &sums_portable;
}
#endif
