/* SPDX-License-Identifier: Apache-2.0 */
/* 01_naive - three loops, i-j-k, as the definition reads.
 *
 * Removes  nothing: it is where the ladder begins.
 * Leaves   a walk down a column of B for every element of C. In row-major storage
 *          each step of that walk is another cache line, of which one element is
 *          used before it is lost again.
 * Watch    rung verify --device cpu --kernels 01
 *
 * The sum is the type's own; scalars and epilogue are applied in double and rounded
 * once.
 */
#include "cpu/kernels/kernels.h"

#include <math.h>

/* ---- One element of A B ------------------------------------------------------------------ */

/* sum_NAME: row i of A by column j of B, each element widened to the sum's type. */
#define SUM(NAME, IN, SUM_TYPE, WIDEN)                                                    \
    static SUM_TYPE sum_##NAME(const rungi_cpu_job *job, int64_t i, int64_t j)            \
    {                                                                                     \
        const IN *a = job->a.first, *b = job->b.first;                                    \
        SUM_TYPE sum = 0;                                                                 \
        for (int64_t p = 0; p < job->k; p++)                                              \
            sum += WIDEN(a[i * job->a.row_stride + p * job->a.col_stride]) *              \
                   WIDEN(b[p * job->b.row_stride + j * job->b.col_stride]);               \
        return sum;                                                                       \
    }

#define AS_IT_IS(x) (x)
/* Without a sign, where wrapping around is defined: exact modulo 2^32. */
#define AS_WHOLE(x) ((uint32_t)(int32_t)(x))

SUM(f32, float, float, AS_IT_IS)
SUM(f64, double, double, AS_IT_IS)
SUM(f16, uint16_t, float, rung_f16_to_f32)
SUM(bf16, uint16_t, float, rung_bf16_to_f32)
SUM(i8, int8_t, uint32_t, AS_WHOLE)
SUM(i32, int32_t, uint32_t, AS_WHOLE)

/* ---- What becomes of it -------------------------------------------------------------------- */

static double load(rung_type type, const void *memory, int64_t place)
{
    switch (type) {
    case RUNG_F16: return rung_f16_to_f32(((const uint16_t *)memory)[place]);
    case RUNG_BF16: return rung_bf16_to_f32(((const uint16_t *)memory)[place]);
    case RUNG_F64: return ((const double *)memory)[place];
    default: return ((const float *)memory)[place];
    }
}

static void store(rung_type type, void *memory, int64_t place, double value)
{
    switch (type) {
    case RUNG_F16: ((uint16_t *)memory)[place] = rung_f16_from_f32((float)value); break;
    case RUNG_BF16: ((uint16_t *)memory)[place] = rung_bf16_from_f32((float)value); break;
    case RUNG_F64: ((double *)memory)[place] = value; break;
    default: ((float *)memory)[place] = (float)value;
    }
}

static int64_t place_in(const rungi_cpu_input *view, int64_t i, int64_t j)
{
    return i * view->row_stride + j * view->col_stride;
}

static void finish(const rungi_cpu_job *job, int64_t i, int64_t j, double sum)
{
    int64_t place = i * job->c.row_stride + j * job->c.col_stride;
    double value = job->alpha * sum;
    if (job->beta != 0)
        value += job->beta * load(job->out, job->c.first, place);
    if (job->bias.first)
        value += load(job->out, job->bias.first, place_in(&job->bias, i, j));
    if (job->activation == RUNG_RELU)
        value = value < 0 ? 0 : value; /* a NaN stays */
    else if (job->activation == RUNG_GELU)
        value = 0.5 * value * (1 + erf(value * 0.70710678118654752440));
    if (job->residual.first)
        value += load(job->out, job->residual.first, place_in(&job->residual, i, j));
    store(job->out, job->c.first, place, value);
}

static void finish_whole(const rungi_cpu_job *job, int64_t i, int64_t j, uint32_t sum)
{
    uint32_t *out = (uint32_t *)job->c.first + i * job->c.row_stride + j * job->c.col_stride;
    uint32_t value = (uint32_t)(int64_t)job->alpha * sum;
    if (job->beta != 0)
        value += (uint32_t)(int64_t)job->beta * *out;
    if (job->bias.first)
        value += ((const uint32_t *)job->bias.first)[place_in(&job->bias, i, j)];
    if (job->activation == RUNG_RELU && value > INT32_MAX)
        value = 0;
    if (job->residual.first)
        value += ((const uint32_t *)job->residual.first)[place_in(&job->residual, i, j)];
    *out = value;
}

/* ---- The kernel ------------------------------------------------------------------------------ */

static void run(const rungi_cpu_job *job)
{
    for (int64_t i = 0; i < job->m; i++)
        for (int64_t j = 0; j < job->n; j++)
            switch (job->in) {
            case RUNG_F32: finish(job, i, j, sum_f32(job, i, j)); break;
            case RUNG_F64: finish(job, i, j, sum_f64(job, i, j)); break;
            case RUNG_F16: finish(job, i, j, sum_f16(job, i, j)); break;
            case RUNG_BF16: finish(job, i, j, sum_bf16(job, i, j)); break;
            case RUNG_I8: finish_whole(job, i, j, sum_i8(job, i, j)); break;
            case RUNG_I32: finish_whole(job, i, j, sum_i32(job, i, j)); break;
            case RUNG_TYPE_COUNT: break;
            }
}

const rungi_cpu_kernel rungi_cpu_01_naive = {.run = run};
