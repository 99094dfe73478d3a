/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_dequantize.c - see cpu_dequantize.h. */
#include "cpu/microkernels/cpu_dequantize.h"

#include "base/checked_arithmetic.h"
#include "cpu/microkernels/cpu_pack.h"

enum { LINE = RUNGI_DEQUANTIZE_LINE, COLUMNS = 16 /* that are transposed together */ };

static const rungi_cpu_dequantize_functions *select_functions(rungi_isa isa)
{
#if defined(__x86_64__)
    if (isa >= RUNGI_ISA_AVX2)
        return isa >= RUNGI_ISA_AVX512 ? &rungi_cpu_dequantize_avx512 : &rungi_cpu_dequantize_avx2;
#else
    (void)isa;
#endif
    return &rungi_cpu_dequantize_portable;
}

rungi_cpu_dequantize_column_function *rungi_cpu_dequantize_column_select(rungi_isa isa)
{
    return select_functions(isa)->column;
}

/* Dequantizes contiguous columns and transposes them. */
static void dequantize_columns(rungi_isa isa, const rungi_cpu_narrow *matrix, int64_t p, int64_t j, int64_t rows,
                               int64_t cols, float *to, int64_t to_row_stride)
{
    rungi_cpu_dequantize_column_function *column = select_functions(isa)->column;
    _Alignas(64) float values[COLUMNS * LINE];
    for (int64_t i = 0; i < rows; i += LINE)
        for (int64_t l = 0; l < cols; l += COLUMNS) {
            int64_t height = rungi_min(LINE, rows - i), width = rungi_min(COLUMNS, cols - l);
            for (int64_t c = 0; c < width; c++)
                column(matrix, p + i, j + l + c, height, values + c * LINE);
            rungi_cpu_pack(isa, &(rungi_cpu_pack_args){RUNG_F32, values, 1, LINE, height, width,
                                                       to + i * to_row_stride + l, to_row_stride});
        }
}

void rungi_cpu_dequantize(rungi_isa isa, const rungi_cpu_narrow *matrix, int64_t p, int64_t j, int64_t rows,
                          int64_t cols, float *to, int64_t to_row_stride)
{
    const rungi_cpu_dequantize_functions *functions = select_functions(isa);
    if (matrix->row_stride == 1 && matrix->col_stride != 1) {
        dequantize_columns(isa, matrix, p, j, rows, cols, to, to_row_stride);
        return;
    }
    for (int64_t l = 0; l < cols; l += LINE)
        functions->rows(matrix, p, j + l, rows, rungi_min(LINE, cols - l), to + l, to_row_stride);
}

void rungi_cpu_dequantize_transposed(rungi_isa isa, const rungi_cpu_narrow *matrix, int64_t p, int64_t j, int64_t rows,
                                     int64_t cols, float *to, int64_t to_col_stride)
{
    rungi_cpu_dequantize_column_function *column = select_functions(isa)->column;
    for (int64_t l = 0; l < cols; l++)
        for (int64_t i = 0; i < rows; i += LINE)
            column(matrix, p + i, j + l, rungi_min(LINE, rows - i), to + l * to_col_stride + i);
}
