/* SPDX-License-Identifier: Apache-2.0 */
/* finish_block.c - what becomes of a block of sums before it is C.
 *
 * Some elements of a row at a time go through one step after the other, in double, so that
 * each step is a short loop that the compiler makes vectors of, and all is rounded once. */
#include "cpu/finish_block.h"

#include "core/convert.h"
#include "cpu/activation.h"

enum { SOME = 64 };

bool rungi_cpu_has_epilogue(const rungi_cpu_job *job)
{
    return job->addend.first || job->bias.first || job->residual.first || job->activation != RUNG_ACTIVATION_NONE;
}

/* ---- Numbers with a fraction -------------------------------------------------------------------- */

/* Elements `stride` apart, beginning `place` elements into memory. */
static void load(rung_type type, const void *memory, int64_t place, int64_t stride, int count, double *values)
{
    const uint16_t *halves = (const uint16_t *)memory + place;
    const double *doubles = (const double *)memory + place;
    const float *floats = (const float *)memory + place;
    switch (type) {
    case RUNG_F16:
        for (int i = 0; i < count; i++)
            values[i] = rungi_f16_to_f32(halves[i * stride]);
        break;
    case RUNG_BF16:
        for (int i = 0; i < count; i++)
            values[i] = rungi_bf16_to_f32(halves[i * stride]);
        break;
    case RUNG_F64:
        for (int i = 0; i < count; i++)
            values[i] = doubles[i * stride];
        break;
    default:
        for (int i = 0; i < count; i++)
            values[i] = floats[i * stride];
    }
}

static void store(rung_type type, void *memory, int64_t place, int64_t stride, int count, const double *values)
{
    uint16_t *halves = (uint16_t *)memory + place;
    double *doubles = (double *)memory + place;
    float *floats = (float *)memory + place;
    switch (type) {
    case RUNG_F16:
        for (int i = 0; i < count; i++)
            halves[i * stride] = rungi_f16_from_f32((float)values[i]);
        break;
    case RUNG_BF16:
        for (int i = 0; i < count; i++)
            halves[i * stride] = rungi_bf16_from_f32((float)values[i]);
        break;
    case RUNG_F64:
        for (int i = 0; i < count; i++)
            doubles[i * stride] = values[i];
        break;
    default:
        for (int i = 0; i < count; i++)
            floats[i * stride] = (float)values[i];
    }
}

/* Adds the factor times the elements of a view, if there is one. */
static void add(const rungi_cpu_job *job, const rungi_cpu_input *view, double factor, int64_t i, int64_t j, int count,
                double *values)
{
    double more[SOME];
    if (!view->first)
        return;
    load(job->out, view->first, i * view->row_stride + j * view->col_stride, view->col_stride, count, more);
    for (int l = 0; l < count; l++)
        values[l] += factor * more[l];
}

static void activate(rung_activation activation, int count, double *values)
{
    if (activation == RUNG_ACTIVATION_RELU) /* a loop of its own, for vectors */
        for (int i = 0; i < count; i++)
            values[i] = rungi_activated(RUNG_ACTIVATION_RELU, values[i]);
    else if (activation != RUNG_ACTIVATION_NONE)
        for (int i = 0; i < count; i++)
            values[i] = rungi_activated(activation, values[i]);
}

static void finish(const rungi_cpu_job *job, int64_t i, int64_t j, int count, const void *sums, int64_t place)
{
    int64_t at = i * job->c.row_stride + j * job->c.col_stride;
    double values[SOME], before[SOME];
    if (sums) {
        load(job->in == RUNG_F64 ? RUNG_F64 : RUNG_F32, sums, place, 1, count, values);
        for (int l = 0; l < count; l++)
            values[l] *= job->alpha;
    }
    if (!sums || job->beta != 0) {
        double factor = sums ? job->beta : 1;
        load(job->out, job->c.first, at, job->c.col_stride, count, before);
        for (int l = 0; l < count; l++)
            values[l] = (sums ? values[l] : 0) + factor * before[l];
    }
    add(job, &job->addend, job->addend_factor, i, j, count, values);
    add(job, &job->bias, 1, i, j, count, values);
    activate(job->activation, count, values);
    add(job, &job->residual, 1, i, j, count, values);
    store(job->out, job->c.first, at, job->c.col_stride, count, values);
}

/* ---- Whole numbers, modulo 2^32 ------------------------------------------------------------------ */

static uint32_t whole_at(const rungi_cpu_input *view, int64_t i, int64_t j)
{
    return ((const uint32_t *)view->first)[i * view->row_stride + j * view->col_stride];
}

static void finish_whole(const rungi_cpu_job *job, int64_t i, int64_t j, const uint32_t *sum)
{
    uint32_t *out = (uint32_t *)job->c.first + i * job->c.row_stride + j * job->c.col_stride;
    uint32_t value = sum ? (uint32_t)(int64_t)job->alpha * *sum : *out;
    if (sum && job->beta != 0)
        value += (uint32_t)(int64_t)job->beta * *out;
    if (job->addend.first)
        value += (uint32_t)(int64_t)job->addend_factor * whole_at(&job->addend, i, j);
    if (job->bias.first)
        value += whole_at(&job->bias, i, j);
    if (job->activation == RUNG_ACTIVATION_RELU && value > INT32_MAX)
        value = 0;
    if (job->residual.first)
        value += whole_at(&job->residual, i, j);
    *out = value;
}

/* ---- Blocks ------------------------------------------------------------------------------------------ */

#if defined(__x86_64__)
/* True if it is done. Sums of C itself have alpha and beta in them. */
static bool finish_by_vectors(const rungi_cpu_job *job, const rungi_block *block, const void *sums, int64_t sums_row)
{
    if (job->features->isa < RUNGI_ISA_AVX512 || job->in == RUNG_F64)
        return false;
    if (sums) {
        rungi_finish_avx512(job, block, sums, sums_row);
        return true;
    }
    rungi_cpu_job rest = *job;
    rest.alpha = 1;
    rest.beta = 0;
    rungi_finish_avx512(&rest, block, (const uint32_t *)job->c.first + block->i * job->c.row_stride + block->j,
                        job->c.row_stride);
    return true;
}
#else
static bool finish_by_vectors(const rungi_cpu_job *job, const rungi_block *block, const void *sums, int64_t sums_row)
{
    (void)job;
    (void)block;
    (void)sums;
    (void)sums_row;
    return false;
}
#endif

void rungi_cpu_finish(const rungi_cpu_job *job, int64_t i, int64_t j, int64_t rows, int64_t cols, const void *sums,
                      int64_t sums_row)
{
    bool is_whole = job->out == RUNG_I32;
    if (finish_by_vectors(job, &(rungi_block){i, j, rows, cols}, sums, sums_row))
        return;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < cols; x += is_whole ? 1 : SOME) {
            int64_t place = y * sums_row + x, left = cols - x;
            if (is_whole)
                finish_whole(job, i + y, j + x, sums ? (const uint32_t *)sums + place : NULL);
            else
                finish(job, i + y, j + x, left < SOME ? (int)left : SOME, sums, place);
        }
}
