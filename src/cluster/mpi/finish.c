/* SPDX-License-Identifier: Apache-2.0 */
/* finish.c - see finish.h. */
#include "cluster/mpi/finish.h"

#include <string.h>

#include "core/checked.h"

/* ---- Copying ---------------------------------------------------------------------------------- */

rungi_strided rungi_strided_of(const rung_matrix *view, int64_t row, int64_t col)
{
    int64_t first = view->offset + row * view->row_stride + col * view->col_stride;
    return (rungi_strided){(char *)view->data + first * rung_type_size(view->type), view->row_stride, view->col_stride};
}

/* Of one side by rows and the other by columns, a square this long stays in the first cache. */
enum { SQUARE = 16 };

#define COPY(type)                                             \
    for (int64_t i = 0; i < rows; i++)                         \
        for (int64_t j = 0; j < cols; j++)                     \
    ((type *)to.data)[i * to.row_stride + j * to.col_stride] = \
        ((const type *)from.data)[i * from.row_stride + j * from.col_stride]

static void copy_square(int64_t size, int64_t rows, int64_t cols, rungi_strided from, rungi_strided to)
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
    for (int64_t i = 0; i < rows; i += SQUARE)
        for (int64_t j = 0; j < cols; j += SQUARE) {
            rungi_strided source = from, target = to;
            source.data += (i * from.row_stride + j * from.col_stride) * size;
            target.data += (i * to.row_stride + j * to.col_stride) * size;
            copy_square(size, rungi_smaller(SQUARE, rows - i), rungi_smaller(SQUARE, cols - j), source, target);
        }
}

/* ---- C from its sums -------------------------------------------------------------------------- */

/* Numbers as they are, for the types that C has. */
#define AS_IT_IS(x) (x)
#define TO_WHOLE(x) ((uint32_t)(int32_t)(x))

/* A function for a type of sums and one of C: how an element is read from C, and how one is stored there. */
#define FINISH(name, sum_t, out_t, scalar, load, store)                                                          \
    static void name(int64_t rows, int64_t cols, double alpha, rungi_strided sums, double beta, rungi_strided c) \
    {                                                                                                            \
        sum_t a = scalar(alpha), b = scalar(beta);                                                               \
        for (int64_t i = 0; i < rows; i++)                                                                       \
            for (int64_t j = 0; j < cols; j++) {                                                                 \
                out_t *place = (out_t *)c.data + i * c.row_stride + j * c.col_stride;                            \
                sum_t value = 0;                                                                                 \
                if (sums.data)                                                                                   \
                    value = a * ((const sum_t *)sums.data)[i * sums.row_stride + j * sums.col_stride];           \
                if (beta != 0.0)                                                                                 \
                    value += b * (sum_t)load(*place);                                                            \
                *place = store(value);                                                                           \
            }                                                                                                    \
    }

FINISH(finish_f64, double, double, AS_IT_IS, AS_IT_IS, AS_IT_IS)
FINISH(finish_f64_to_f32, double, float, AS_IT_IS, AS_IT_IS, (float))
FINISH(finish_f32, float, float, (float), AS_IT_IS, AS_IT_IS)
FINISH(finish_f32_to_f16, float, uint16_t, (float), rung_f16_to_f32, rung_f16_from_f32)
FINISH(finish_f32_to_bf16, float, uint16_t, (float), rung_bf16_to_f32, rung_bf16_from_f32)
FINISH(finish_i32, uint32_t, uint32_t, TO_WHOLE, AS_IT_IS, AS_IT_IS)

typedef void (*finish_function_t)(int64_t rows, int64_t cols, double alpha, rungi_strided sums, double beta,
                                  rungi_strided c);

static finish_function_t function_of(rung_type sum, rung_type out)
{
    if (sum == RUNG_F64)
        return out == RUNG_F64 ? finish_f64 : finish_f64_to_f32;
    if (sum == RUNG_I32)
        return finish_i32;
    return out == RUNG_F16 ? finish_f32_to_f16 : out == RUNG_BF16 ? finish_f32_to_bf16 : finish_f32;
}

void rungi_finish(rung_type sum, rung_type out, int64_t rows, int64_t cols, double alpha, rungi_strided sums,
                  double beta, rungi_strided c)
{
    finish_function_t finish = function_of(sum, out);
    int64_t size = rung_type_size(out);
    if (sums.data && sum == out && alpha == 1.0 && beta == 0.0) {
        rungi_copy_rectangle(size, rows, cols, sums, c);
        return;
    }
    for (int64_t i = 0; i < rows; i += SQUARE)
        for (int64_t j = 0; j < cols; j += SQUARE) {
            rungi_strided source = sums, target = c;
            if (source.data)
                source.data += (i * sums.row_stride + j * sums.col_stride) * rung_type_size(sum);
            target.data += (i * c.row_stride + j * c.col_stride) * size;
            finish(rungi_smaller(SQUARE, rows - i), rungi_smaller(SQUARE, cols - j), alpha, source, beta, target);
        }
}

void rungi_add_sums(rung_type sum, int64_t elements, const void *source, void *target)
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
