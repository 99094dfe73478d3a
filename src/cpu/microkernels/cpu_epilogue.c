/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_epilogue.c - see cpu_epilogue.h.
 *
 * Up to 64 elements of a row pass through one operation at a time, in double. Each operation is a short loop that the
 * compiler vectorizes, and the result is rounded once. */
#include "cpu/microkernels/cpu_epilogue.h"

#include "base/float16.h"
#include "cpu/microkernels/scalar_epilogue.h"

enum { EPILOGUE_CHUNK = 64 };

bool rungi_cpu_has_epilogue(const rungi_cpu_job *job)
{
    return job->addend.first || job->bias.first || job->multiplier.first || job->residual.first ||
           job->activation != RUNG_ACTIVATION_NONE;
}

/* ---- Floating point -------------------------------------------------------------------- */

/* Loads `count` elements, `stride` apart, from `memory` plus `offset` elements. */
static void load_chunk(rung_type type, const void *memory, int64_t offset, int64_t stride, int count, double *values)
{
#define LOAD_ALL(element, widen)    \
    for (int i = 0; i < count; i++) \
        values[i] = widen(((const element *)memory)[offset + i * stride]);
    switch (type) {
    case RUNG_F16: LOAD_ALL(uint16_t, rungi_f16_to_f32) break;
    case RUNG_BF16: LOAD_ALL(uint16_t, rungi_bf16_to_f32) break;
    case RUNG_F64: LOAD_ALL(double, ) break;
    default: LOAD_ALL(float, )
    }
#undef LOAD_ALL
}

static void store_chunk_rounded(rung_type type, void *memory, int64_t offset, int64_t stride, int count,
                                const double *values)
{
#define STORE_ALL(element, value)   \
    for (int i = 0; i < count; i++) \
        ((element *)memory)[offset + i * stride] = value;
    switch (type) {
    case RUNG_F16: STORE_ALL(uint16_t, rungi_f16_from_f32((float)values[i])) break;
    case RUNG_BF16: STORE_ALL(uint16_t, rungi_bf16_from_f32((float)values[i])) break;
    case RUNG_F64: STORE_ALL(double, values[i]) break;
    default: STORE_ALL(float, (float)values[i])
    }
#undef STORE_ALL
}

/* Adds `factor` times elements of a view, unless the view is absent. */
static void add_operand(const rungi_cpu_job *job, const rungi_cpu_input *view, double factor, int64_t i, int64_t j,
                        int count, double *values)
{
    double operand[EPILOGUE_CHUNK];
    if (!view->first)
        return;
    load_chunk(job->out, view->first, i * view->row_stride + j * view->col_stride, view->col_stride, count, operand);
    for (int l = 0; l < count; l++)
        values[l] += factor * operand[l];
}

/* Multiplies by elements of a view, unless the view is absent. */
static void multiply_by_operand(const rungi_cpu_job *job, const rungi_cpu_input *view, int64_t i, int64_t j, int count,
                                double *values)
{
    double operand[EPILOGUE_CHUNK];
    if (!view->first)
        return;
    load_chunk(job->out, view->first, i * view->row_stride + j * view->col_stride, view->col_stride, count, operand);
    for (int l = 0; l < count; l++)
        values[l] *= operand[l];
}

static void activate_chunk(rung_activation activation, int count, double *values)
{
    if (activation == RUNG_ACTIVATION_RELU) /* a separate loop, which the compiler vectorizes */
        for (int i = 0; i < count; i++)
            values[i] = rungi_activation_apply(RUNG_ACTIVATION_RELU, values[i]);
    else if (activation != RUNG_ACTIVATION_NONE)
        for (int i = 0; i < count; i++)
            values[i] = rungi_activation_apply(activation, values[i]);
}

static void epilogue_chunk(const rungi_cpu_job *job, int64_t i, int64_t j, int count, const void *sums, int64_t offset)
{
    int64_t at = i * job->c.row_stride + j * job->c.col_stride;
    double values[EPILOGUE_CHUNK], old_c[EPILOGUE_CHUNK];
    if (sums) {
        load_chunk(job->in == RUNG_F64 ? RUNG_F64 : RUNG_F32, sums, offset, 1, count, values);
        for (int l = 0; l < count; l++)
            values[l] *= job->alpha;
    }
    if (!sums || job->beta != 0) {
        double factor = sums ? job->beta : 1;
        load_chunk(job->out, job->c.first, at, job->c.col_stride, count, old_c);
        for (int l = 0; l < count; l++)
            values[l] = (sums ? values[l] : 0) + factor * old_c[l];
    }
    add_operand(job, &job->addend, job->addend_factor, i, j, count, values);
    add_operand(job, &job->bias, 1, i, j, count, values);
    activate_chunk(job->activation, count, values);
    multiply_by_operand(job, &job->multiplier, i, j, count, values);
    add_operand(job, &job->residual, 1, i, j, count, values);
    store_chunk_rounded(job->out, job->c.first, at, job->c.col_stride, count, values);
}

/* ---- Blocks ------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
/* Without `sums`, C is read as the sums, with alpha 1 and beta 0. */
static void apply_avx512(const rungi_cpu_job *job, const rungi_cpu_c_block *block, const void *sums,
                         int64_t sums_stride)
{
    rungi_cpu_job rest;
    if (!sums) {
        rest = *job;
        rest.alpha = 1;
        rest.beta = 0;
        job = &rest;
        sums = (const uint32_t *)job->c.first + block->i * job->c.row_stride + block->j;
        sums_stride = job->c.row_stride;
    }
    rungi_cpu_epilogue_apply_avx512(job, block, sums, sums_stride);
}
#endif

void rungi_cpu_epilogue_apply(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t rows, int64_t cols,
                              const void *sums, int64_t sums_stride)
{
    bool is_integer = job->out == RUNG_I32;
#if defined(__x86_64__)
    if (job->features->isa >= RUNGI_ISA_AVX512 && job->in != RUNG_F64) {
        apply_avx512(job, &(rungi_cpu_c_block){i, j, rows, cols}, sums, sums_stride);
        return;
    }
#endif
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < cols; x += is_integer ? 1 : EPILOGUE_CHUNK) {
            int64_t offset = y * sums_stride + x, left = cols - x;
            if (is_integer)
                rungi_integer_epilogue(job, i + y, j + x, sums ? (const uint32_t *)sums + offset : NULL);
            else
                epilogue_chunk(job, i + y, j + x, left < EPILOGUE_CHUNK ? (int)left : EPILOGUE_CHUNK, sums, offset);
        }
}
