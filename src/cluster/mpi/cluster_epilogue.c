/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_epilogue.c - see cluster_epilogue.h. */
#include "cluster/mpi/cluster_epilogue.h"

#include <string.h>

#include "base/checked_arithmetic.h"

/* ---- Copying ---------------------------------------------------------------------------------- */

rungi_strided rungi_strided_of(const rung_matrix *view, int64_t row, int64_t col)
{
    int64_t first = view->offset + row * view->row_stride + col * view->col_stride;
    return (rungi_strided){(char *)view->data + first * rung_type_size(view->type), view->row_stride, view->col_stride};
}

/* Side of a tile that stays in L1 while one matrix is accessed by rows and the other by columns. */
enum { COPY_TILE = 16 };

#define COPY(type)                                             \
    for (int64_t i = 0; i < rows; i++)                         \
        for (int64_t j = 0; j < cols; j++)                     \
    ((type *)to.data)[i * to.row_stride + j * to.col_stride] = \
        ((const type *)from.data)[i * from.row_stride + j * from.col_stride]

static void copy_tile(int64_t size, int64_t rows, int64_t cols, rungi_strided from, rungi_strided to)
{
    switch (size) {
    case 8: COPY(uint64_t); break;
    case 4: COPY(uint32_t); break;
    case 2: COPY(uint16_t); break;
    default: COPY(uint8_t);
    }
}

void rungi_copy_rectangle(int64_t size, int64_t rows, int64_t cols, rungi_strided from, rungi_strided to)
{
    if (from.col_stride == 1 && to.col_stride == 1) {
        for (int64_t i = 0; i < rows; i++)
            memcpy(to.data + i * to.row_stride * size, from.data + i * from.row_stride * size, (size_t)(cols * size));
        return;
    }
    for (int64_t i = 0; i < rows; i += COPY_TILE)
        for (int64_t j = 0; j < cols; j += COPY_TILE) {
            rungi_strided source = from, target = to;
            source.data += (i * from.row_stride + j * from.col_stride) * size;
            target.data += (i * to.row_stride + j * to.col_stride) * size;
            copy_tile(size, rungi_min(COPY_TILE, rows - i), rungi_min(COPY_TILE, cols - j), source, target);
        }
}

/* ---- Epilogue -------------------------------------------------------------------------- */

/* Conversions between the accumulator type and C's type. */
#define IDENTITY(x) (x)
#define TO_INT32(x) ((uint32_t)(int32_t)(x))

/* Defines the epilogue for an accumulator type and a type of C; `load` and `store` convert elements of C. */
#define DEFINE_EPILOGUE(name, sum_t, out_t, scalar, load, store)                                                 \
    static void name(int64_t rows, int64_t cols, double alpha, rungi_strided sums, double beta, rungi_strided c) \
    {                                                                                                            \
        sum_t a = scalar(alpha), b = scalar(beta);                                                               \
        for (int64_t i = 0; i < rows; i++)                                                                       \
            for (int64_t j = 0; j < cols; j++) {                                                                 \
                out_t *element = (out_t *)c.data + i * c.row_stride + j * c.col_stride;                          \
                sum_t value = 0;                                                                                 \
                if (sums.data)                                                                                   \
                    value = a * ((const sum_t *)sums.data)[i * sums.row_stride + j * sums.col_stride];           \
                if (beta != 0.0)                                                                                 \
                    value += b * (sum_t)load(*element);                                                          \
                *element = store(value);                                                                         \
            }                                                                                                    \
    }

DEFINE_EPILOGUE(epilogue_f64, double, double, IDENTITY, IDENTITY, IDENTITY)
DEFINE_EPILOGUE(epilogue_f64_to_f32, double, float, IDENTITY, IDENTITY, (float))
DEFINE_EPILOGUE(epilogue_f32, float, float, (float), IDENTITY, IDENTITY)
DEFINE_EPILOGUE(epilogue_f32_to_f16, float, uint16_t, (float), rung_f16_to_f32, rung_f16_from_f32)
DEFINE_EPILOGUE(epilogue_f32_to_bf16, float, uint16_t, (float), rung_bf16_to_f32, rung_bf16_from_f32)
DEFINE_EPILOGUE(epilogue_i32, uint32_t, uint32_t, TO_INT32, IDENTITY, IDENTITY)

typedef void (*epilogue_function_t)(int64_t rows, int64_t cols, double alpha, rungi_strided sums, double beta,
                                    rungi_strided c);

static epilogue_function_t epilogue_for(rung_type sum, rung_type out)
{
    if (sum == RUNG_F64)
        return out == RUNG_F64 ? epilogue_f64 : epilogue_f64_to_f32;
    if (sum == RUNG_I32)
        return epilogue_i32;
    return out == RUNG_F16 ? epilogue_f32_to_f16 : out == RUNG_BF16 ? epilogue_f32_to_bf16 : epilogue_f32;
}

void rungi_cluster_epilogue_apply(rung_type sum, rung_type out, int64_t rows, int64_t cols, double alpha,
                                  rungi_strided sums, double beta, rungi_strided c)
{
    epilogue_function_t epilogue = epilogue_for(sum, out);
    int64_t size = rung_type_size(out);
    if (sums.data && sum == out && alpha == 1.0 && beta == 0.0) {
        rungi_copy_rectangle(size, rows, cols, sums, c);
        return;
    }
    for (int64_t i = 0; i < rows; i += COPY_TILE)
        for (int64_t j = 0; j < cols; j += COPY_TILE) {
            rungi_strided source = sums, target = c;
            if (source.data)
                source.data += (i * sums.row_stride + j * sums.col_stride) * rung_type_size(sum);
            target.data += (i * c.row_stride + j * c.col_stride) * size;
            epilogue(rungi_min(COPY_TILE, rows - i), rungi_min(COPY_TILE, cols - j), alpha, source, beta, target);
        }
}

void rungi_cluster_sums_add(rung_type sum, int64_t elements, const void *source, void *target)
{
    if (sum == RUNG_F64)
        for (int64_t i = 0; i < elements; i++)
            ((double *)target)[i] += ((const double *)source)[i];
    else if (sum == RUNG_F32)
        for (int64_t i = 0; i < elements; i++)
            ((float *)target)[i] += ((const float *)source)[i];
    else
        for (int64_t i = 0; i < elements; i++)
            ((uint32_t *)target)[i] += ((const uint32_t *)source)[i];
}
