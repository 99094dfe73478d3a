/* SPDX-License-Identifier: Apache-2.0 */
/* random_problem.h - turns bytes into problems for the CPU, for problem.c and group.c: any types, sizes, strides, offsets and
 * options, over small operands between pages that cannot be accessed.
 *
 * Each operand has memory of its own. An input may also lie in the memory of the output. The memory of the other inputs is
 * read-only while the library runs. */
#pragma once

#include <math.h>
#include <stdbool.h>

#include "byte_reader.h"
#include "guarded_memory.h"
#include "rung/rung.h"

enum { OPERAND_COUNT = 7, OPERAND_BYTES = 8192, OFFSETS_MAX = 16, WORK_MAX = 200000 };
enum { OPERAND_A, OPERAND_B, OPERAND_C, OPERAND_D, OPERAND_BIAS, OPERAND_RESIDUAL, OPERAND_MULTIPLIER };

typedef struct random_memory {
    guarded_memory_t operands[OPERAND_COUNT];
    guarded_memory_t scales;
    int64_t offsets[OPERAND_COUNT][OFFSETS_MAX];
    rung_quantization quantization;
    unsigned char before[OPERAND_COUNT][OPERAND_BYTES];
} random_memory_t;

static inline void random_memory_create(random_memory_t *memory)
{
    for (int i = 0; i < OPERAND_COUNT; i++)
        memory->operands[i] = guarded_create(OPERAND_BYTES);
    memory->scales = guarded_create(OPERAND_BYTES);
}

/* Elements whose sums are exact: whole numbers from -2 to 2. Other types get bytes that are no NaN. */
static inline void fill_elements(guarded_memory_t memory, rung_type type, unsigned seed)
{
    for (size_t i = 0; i < memory.bytes; i++)
        memory.start[i] = (unsigned char)((i * 37 + seed) % 60);
    size_t size = (size_t)rung_type_size(type);
    for (size_t i = 0; size > 0 && i < memory.bytes / size; i++) {
        int whole = (int)((i * 7 + i / 5 + seed) % 5) - 2;
        float f32 = (float)whole;
        double f64 = whole;
        uint16_t f16 = rung_f16_from_f32(f32), bf16 = rung_bf16_from_f32(f32);
        unsigned char *at = memory.start + i * size;
        switch (type) {
        case RUNG_F32: memcpy(at, &f32, size); break;
        case RUNG_F64: memcpy(at, &f64, size); break;
        case RUNG_F16: memcpy(at, &f16, size); break;
        case RUNG_BF16: memcpy(at, &bf16, size); break;
        case RUNG_I32: memcpy(at, &whole, size); break;
        case RUNG_I8: *at = (unsigned char)whole; break;
        default: break;
        }
    }
}

/* A type that the library multiplies, any other type, or no type at all. */
static inline rung_type read_type(byte_reader_t *reader, rung_type usual)
{
    unsigned kind = read_byte(reader);
    return kind < 200 ? usual : kind < 250 ? (rung_type)(kind % 17) : (rung_type)read_int64(reader);
}

/* Reads a view of about rows x cols elements, which may be wrong in every way. */
static inline rung_matrix read_view(byte_reader_t *reader, random_memory_t *memory, int operand, rung_type usual,
                                    int64_t rows, int64_t cols, bool in_output, rung_buffer *const *buffers)
{
    unsigned flags = read_byte(reader);
    int place = in_output ? OPERAND_C : operand;
    rung_matrix view = rung_matrix_of(read_type(reader, usual), rows, cols, memory->operands[place].start);
    if (flags & 1) { /* columns are adjacent */
        view.row_stride = 1;
        view.col_stride = rows > 0 ? rows : 1;
    }
    if (flags & 2)
        view.row_stride = read_size(reader, 70);
    if (flags & 4)
        view.col_stride = read_size(reader, 70);
    if (flags & 8)
        view.offset = read_size(reader, 200);
    if (flags & 16)
        view.batch_stride = read_size(reader, 250);
    if (flags & 32)
        for (int i = 0; i < OFFSETS_MAX; i++)
            memory->offsets[operand][i] = read_size(reader, 250);
    if (flags & 32)
        view.batch_offsets = memory->offsets[operand];
    if (flags & 64) {
        unsigned change = read_byte(reader);
        if (change & 1)
            view.rows = read_size(reader, 40);
        if (change & 2)
            view.cols = read_size(reader, 40);
        if (change & 4)
            view.data = memory->operands[place].start + read_below(reader, 64);
        if (change & 8)
            view.data = NULL;
        if (change & 16)
            view = rung_matrix_transpose(view);
        if (change & 32)
            view = rung_matrix_block(view, read_size(reader, 8), read_size(reader, 8), read_size(reader, 40),
                                     read_size(reader, 40));
        if (change & 64)
            view = rung_matrix_broadcast(view, rows, cols);
    }
    if (buffers) {
        if (view.data == memory->operands[place].start)
            view.data = NULL;
        view.buffer = buffers[place];
    }
    return view;
}

static inline void read_quantization(byte_reader_t *reader, random_memory_t *memory, rung_problem *problem)
{
    rung_quantization *quantization = &memory->quantization;
    static const rung_type types[] = {RUNG_F32, RUNG_F16, RUNG_BF16, RUNG_E8M0, RUNG_F8E4M3, RUNG_F64};
    rung_type type = types[read_below(reader, 6)];
    *quantization = rung_quantization_default();
    quantization->block_rows = read_size(reader, 40);
    quantization->block_cols = read_size(reader, 40);
    fill_elements(memory->scales, type, 1);
    quantization->scales = rung_matrix_of(type, read_size(reader, 12), read_size(reader, 12), memory->scales.start);
    if (read_below(reader, 2))
        quantization->zero_points = rung_matrix_of((rung_type)read_below(reader, 16), quantization->scales.rows,
                                                   quantization->scales.cols, memory->scales.start);
    problem->b_quantization = quantization;
}

/* Reads a problem. With `buffers` its views are of buffers, one per operand. */
static inline rung_problem read_problem(byte_reader_t *reader, random_memory_t *memory, rung_buffer *const *buffers)
{
    static const rung_type types[][3] = {
        {RUNG_F32, RUNG_F32, RUNG_F32},    {RUNG_F64, RUNG_F64, RUNG_F64},  {RUNG_F16, RUNG_F16, RUNG_F16},
        {RUNG_BF16, RUNG_BF16, RUNG_F32},  {RUNG_I8, RUNG_I8, RUNG_I32},    {RUNG_I32, RUNG_I32, RUNG_I32},
        {RUNG_F32, RUNG_Q8_0, RUNG_F32},   {RUNG_F32, RUNG_Q4_0, RUNG_F32}, {RUNG_F16, RUNG_I4, RUNG_F32},
        {RUNG_F32, RUNG_F4E2M1, RUNG_F32}, {RUNG_F32, RUNG_U4, RUNG_F32},   {RUNG_BF16, RUNG_F8E4M3, RUNG_BF16},
        {RUNG_F32, RUNG_I8, RUNG_F32},     {RUNG_F32, RUNG_F16, RUNG_F32},  {RUNG_F16, RUNG_F16, RUNG_F32},
        {RUNG_F32, RUNG_F32, RUNG_BF16},
    };
    static const double scalars[] = {1, 0, 2, -1, 0.5, NAN, INFINITY, 1e300};
    const rung_type *usual = types[read_below(reader, sizeof types / sizeof *types)];
    unsigned present = read_byte(reader);
    int64_t m = read_size(reader, 35), n = read_size(reader, 35), k = read_size(reader, 35);
    rung_matrix a = read_view(reader, memory, OPERAND_A, usual[0], m, k, present & 1 && present & 2, buffers);
    rung_matrix b = read_view(reader, memory, OPERAND_B, usual[1], k, n, false, buffers);
    if (usual[1] == RUNG_Q8_0 || usual[1] == RUNG_Q4_0)
        b = rung_matrix_transpose(b); /* blocks lie along k */
    rung_matrix c = read_view(reader, memory, OPERAND_C, usual[2], m, n, false, buffers);
    rung_problem problem = rung_problem_of(a, b, c);
    problem.alpha = scalars[read_below(reader, 8)];
    problem.beta = scalars[(read_below(reader, 8) + 1) % 8];
    if (present & 4)
        problem.d = read_view(reader, memory, OPERAND_D, usual[2], m, n, present & 2, buffers);
    if (present & 8)
        problem.bias = read_view(reader, memory, OPERAND_BIAS, usual[2], m, n, false, buffers);
    if (present & 16)
        problem.residual = read_view(reader, memory, OPERAND_RESIDUAL, usual[2], m, n, false, buffers);
    if (present & 32)
        problem.multiplier = read_view(reader, memory, OPERAND_MULTIPLIER, usual[2], m, n, false, buffers);
    if (present & 64) {
        problem.batch = read_size(reader, 5);
        problem.compute = (rung_compute)read_size(reader, 7);
        problem.activation = (rung_activation)read_size(reader, 6);
    }
    if (present & 128 && !buffers)
        read_quantization(reader, memory, &problem);
    return problem;
}

/* Returns whether the elements of a view lie in `bytes` bytes from its data on. Callers must pass such views. */
static inline bool view_fits(const rung_matrix *view, int64_t batch, size_t bytes)
{
    int64_t elements = rung_type_block_elements(view->type), last = 0, product;
    const int64_t counts[] = {view->rows, view->cols, view->batch_offsets ? 1 : batch};
    const int64_t strides[] = {view->row_stride, view->col_stride, view->batch_stride};
    if (elements == 0 || view->rows <= 0 || view->cols <= 0 || batch <= 0)
        return true; /* nothing, or refused */
    for (int i = 0; i < 3; i++)
        if (strides[i] < 0)
            return true;
        else if (__builtin_mul_overflow(counts[i] - 1, strides[i], &product) ||
                 __builtin_add_overflow(last, product, &last))
            return false;
    int64_t farthest = 0;
    for (int64_t i = 0; view->batch_offsets && i < batch && i < OFFSETS_MAX; i++)
        farthest = view->batch_offsets[i] > farthest ? view->batch_offsets[i] : farthest;
    if (view->offset < 0 || __builtin_add_overflow(last, view->offset, &last) ||
        __builtin_add_overflow(last, farthest, &last))
        return view->offset < 0;
    return last / elements < (int64_t)bytes / rung_type_block_bytes(view->type);
}

/* Returns whether a problem may be run: the caller's part of the contract holds, and the work is small. */
static inline bool problem_is_runnable(const random_memory_t *memory, const rung_problem *problem)
{
    const rung_matrix *views[] = {&problem->a,    &problem->b,        &problem->c,         &problem->d,
                                  &problem->bias, &problem->residual, &problem->multiplier};
    int64_t batch = problem->batch == 0 ? 1 : problem->batch, work;
    if (__builtin_mul_overflow(problem->a.rows, problem->b.cols, &work) ||
        __builtin_mul_overflow(work, problem->a.cols + 1, &work) || __builtin_mul_overflow(work, batch, &work) ||
        work > WORK_MAX)
        return false;
    for (int i = 0; i < OPERAND_COUNT; i++) {
        size_t shift = 0;
        for (int j = 0; j < OPERAND_COUNT; j++) {
            size_t distance = (size_t)((uintptr_t)views[i]->data - (uintptr_t)memory->operands[j].start);
            shift = views[i]->data && distance < OPERAND_BYTES ? distance : shift;
        }
        if ((views[i]->batch_offsets && batch > OFFSETS_MAX) ||
            (!views[i]->buffer && !view_fits(views[i], batch, OPERAND_BYTES - shift)))
            return false;
    }
    const rung_quantization *quantization = problem->b_quantization;
    return !quantization || (view_fits(&quantization->scales, 1, OPERAND_BYTES) &&
                             view_fits(&quantization->zero_points, 1, OPERAND_BYTES));
}

/* Fills the memory for a problem, remembers it and makes the inputs read-only. */
static inline void prepare_memory(random_memory_t *memory, const rung_problem *problem)
{
    const rung_type types[] = {problem->a.type, problem->b.type, problem->c.type, problem->c.type,
                               problem->c.type, problem->c.type, problem->c.type};
    for (int i = 0; i < OPERAND_COUNT; i++) {
        fill_elements(memory->operands[i], types[i], (unsigned)i);
        memcpy(memory->before[i], memory->operands[i].start, OPERAND_BYTES);
        if (i != OPERAND_C && i != OPERAND_D)
            mprotect(memory->operands[i].start, memory->operands[i].bytes, PROT_READ);
    }
}

static inline void release_memory(random_memory_t *memory)
{
    for (int i = 0; i < OPERAND_COUNT; i++)
        mprotect(memory->operands[i].start, memory->operands[i].bytes, PROT_READ | PROT_WRITE);
}

static inline int64_t element_index(const rung_matrix *view, int64_t row, int64_t col, int64_t item)
{
    return view->offset + row * view->row_stride + col * view->col_stride +
           (view->batch_offsets ? view->batch_offsets[item] : item * view->batch_stride);
}

static inline bool memory_is_unchanged(const random_memory_t *memory)
{
    for (int i = 0; i < OPERAND_COUNT; i++)
        if (memcmp(memory->before[i], memory->operands[i].start, OPERAND_BYTES) != 0)
            return false;
    return true;
}

/* Sets the elements of an output to what they were, so that memory_is_unchanged() tells whether others were written. */
static inline void restore_output(random_memory_t *memory, const rung_matrix *output, int64_t batch)
{
    size_t size = (size_t)rung_type_size(output->type);
    if (output->rows == 0 || output->cols == 0)
        return; /* the other number may be 2^60 */
    for (int j = 0; j < OPERAND_COUNT; j++) {
        unsigned char *start = memory->operands[j].start;
        const unsigned char *data = output->data ? output->data : start;
        bool is_here = output->data ? data >= start && data < start + OPERAND_BYTES : j == OPERAND_C || j == OPERAND_D;
        for (int64_t item = 0; is_here && item < batch; item++)
            for (int64_t row = 0; row < output->rows; row++)
                for (int64_t col = 0; col < output->cols; col++) {
                    size_t at = (size_t)(data - start) + (size_t)element_index(output, row, col, item) * size;
                    memcpy(start + at, memory->before[j] + at, size);
                }
    }
}
