/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.c - the textbook's program over views: a Matrix of width, height and stride, GetSubMatrix
 * that copies nothing, and MatMul on whatever device there is.
 *
 *   matmul [DEVICE [BLOCK]]      cpu, opencl, cuda; blocks of C one by one, of this size
 *
 * It multiplies once as a whole and once block by block, each block of C from a strip of A and a strip of
 * B, and says whether both agree. Sizes are no multiples of the block: those at the edges are smaller. */
#include <rung/rung.h>

#include <stdio.h>
#include <stdlib.h>

typedef struct Matrix {
    int64_t width, height;
    int64_t stride; /* elements from one row to the next: of a sub-matrix, the parent's */
    float *elements;
} Matrix;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static Matrix NewMatrix(int64_t height, int64_t width)
{
    Matrix matrix = {width, height, width, calloc((size_t)(width * height), sizeof(float))};
    if (!matrix.elements) {
        fprintf(stderr, "matmul: out of memory\n");
        exit(1);
    }
    return matrix;
}

static float GetElement(Matrix matrix, int64_t row, int64_t col)
{
    return matrix.elements[row * matrix.stride + col];
}

static void SetElement(Matrix matrix, int64_t row, int64_t col, float value)
{
    matrix.elements[row * matrix.stride + col] = value;
}

/* The block in this row and column of blocks; a pointer and three numbers, no copy. */
static Matrix GetSubMatrix(Matrix matrix, int64_t row, int64_t col, int64_t block_height, int64_t block_width)
{
    return (Matrix){
        .width = smaller(block_width, matrix.width - col * block_width),
        .height = smaller(block_height, matrix.height - row * block_height),
        .stride = matrix.stride,
        .elements = &matrix.elements[row * block_height * matrix.stride + col * block_width],
    };
}

/* The library's view of the same memory. */
static rung_matrix view(Matrix matrix)
{
    rung_matrix view = rung_matrix_of(RUNG_F32, matrix.height, matrix.width, matrix.elements);
    view.row_stride = matrix.stride;
    return view;
}

/* C = A B, on the context's device: there and back. */
static void MatMul(rung_context *context, Matrix a, Matrix b, Matrix c)
{
    if (rung_gemm(context, 1.0, view(a), view(b), 0.0, view(c)) == RUNG_OK)
        return;
    fprintf(stderr, "matmul: %s\n", rung_error_text());
    exit(1);
}

/* Small whole numbers: every sum is exact, on every device. */
static void fill(Matrix matrix, int64_t seed)
{
    for (int64_t row = 0; row < matrix.height; row++)
        for (int64_t col = 0; col < matrix.width; col++)
            SetElement(matrix, row, col, (float)((row * 7 + col * 3 + seed) % 9 - 4));
}

static void multiply_by_blocks(rung_context *context, Matrix a, Matrix b, Matrix c, int64_t block)
{
    for (int64_t row = 0; row * block < c.height; row++)
        for (int64_t col = 0; col * block < c.width; col++)
            MatMul(context, GetSubMatrix(a, row, 0, block, a.width), GetSubMatrix(b, 0, col, b.height, block),
                   GetSubMatrix(c, row, col, block, block));
}

static int64_t count_differences(Matrix a, Matrix b, Matrix c, Matrix other)
{
    int64_t count = 0;
    for (int64_t row = 0; row < c.height; row++)
        for (int64_t col = 0; col < c.width; col++) {
            float sum = 0;
            for (int64_t i = 0; i < a.width; i++)
                sum += GetElement(a, row, i) * GetElement(b, i, col);
            count += GetElement(c, row, col) != sum || GetElement(other, row, col) != sum;
        }
    return count;
}

int main(int argc, char **argv)
{
    const rung_context_options options = {.size = sizeof(rung_context_options), .device = argc > 1 ? argv[1] : NULL};
    int64_t block = argc > 2 ? atoll(argv[2]) : 16;
    rung_context *context;
    if (block < 1) {
        fprintf(stderr, "usage: matmul [DEVICE [BLOCK]]\n");
        return 2;
    }
    if (rung_context_create(&options, &context) != RUNG_OK) {
        fprintf(stderr, "matmul: %s\n", rung_error_text());
        return 1;
    }
    Matrix a = NewMatrix(45, 70), b = NewMatrix(70, 37), c = NewMatrix(45, 37), by_blocks = NewMatrix(45, 37);
    fill(a, 1);
    fill(b, 2);
    MatMul(context, a, b, c);
    multiply_by_blocks(context, a, b, by_blocks, block);
    int64_t wrong = count_differences(a, b, c, by_blocks);
    printf("%s: 45 x 70 times 70 x 37, whole and in blocks of %lld: %lld of 1665 elements differ\n",
           argc > 1 ? argv[1] : "default", (long long)block, (long long)wrong);
    Matrix *all[] = {&a, &b, &c, &by_blocks};
    for (int i = 0; i < 4; i++)
        free(all[i]->elements);
    rung_context_destroy(context);
    return wrong > 0;
}
