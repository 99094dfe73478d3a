/* SPDX-License-Identifier: Apache-2.0 */
/* finish.h - what kernels from 07 on do around the multiply, and the plain ones do not:
 * batches whose items stand anywhere, a share of k, and an epilogue.
 *
 * A kernel that includes this file takes five more arguments, multiplies the shares of A
 * and B instead of the whole and hands its sums to finish() or, by fours, to tile.h's
 * finish4(). The host says at compile time, so that a plain multiply pays for none of it:
 *
 *   BIAS, RESIDUAL   1 if there is one
 *   ACTIVATION       of rung_activation: 0 none, 1 relu, 2 gelu, 3 gelu_tanh, 4 silu
 *   ADDEND           1 in reduce.cu if beta multiplies another matrix than the one that is
 *                    written: see its `addend`
 *   SPLIT            1 if k is cut into shares: block z sums its own share and leaves
 *                    it in `partials`, with no scalar and no epilogue applied; reduce.cu
 *                    adds the shares up, always in the same order, and applies both
 *   RUN_TIME         1 if none of these is known yet and extra_t tells, so that one
 *                    compiled kernel serves them all, where there is no compiler: a kernel
 *                    then either finishes its sums with no epilogue or leaves them all in
 *                    `partials`, and reduce.cu alone knows epilogues
 */
#ifndef RUNG_FINISH_H
#define RUNG_FINISH_H

#ifndef BIAS
#define BIAS 0
#endif
#ifndef ACTIVATION
#define ACTIVATION 0
#endif
#ifndef RESIDUAL
#define RESIDUAL 0
#endif
#ifndef SPLIT
#define SPLIT 0
#endif
#ifndef RUN_TIME
#define RUN_TIME 0
#endif
#ifndef ADDEND
#define ADDEND 0
#endif
#ifndef REDUCES
#define REDUCES 0 // 1 in reduce.cu
#endif

typedef struct {
    index_t batch, first_item;  /* all items, and the first of this launch */
    index_t splits, k_share;    /* shares of k, and the length of all but the last */
    index_t flags;              /* see below */
    index_t places_offset, partials_offset, scratch_offset; /* the last: see engine.h */
    view_t  bias, residual, addend;
} extra_t;

/* Bits 1, 2, 4, 8 of the flags: the items of A, B, C, the addend are at `places`. The other
 * bits are read if RUN_TIME is 1: 16 a bias, 32 a residual, 64 a split k, 128 an addend, and
 * above those the activation. If RUN_TIME is 0, these are constants of the compiled kernel. */
#define HAS_BIAS(extra)      (RUN_TIME ? REDUCES && ((extra).flags & 16) != 0 : BIAS)
#define HAS_RESIDUAL(extra)  (RUN_TIME ? REDUCES && ((extra).flags & 32) != 0 : RESIDUAL)
#define IS_SPLIT(extra)      (RUN_TIME ? !REDUCES && ((extra).flags & 64) != 0 : SPLIT)
#define HAS_ADDEND(extra)    (RUN_TIME ? REDUCES && ((extra).flags & 128) != 0 : ADDEND)
#define ACTIVATION_IN(extra) (RUN_TIME ? REDUCES * (int)((extra).flags >> 8) : ACTIVATION)

/* Moves views to this block's item and share of k, and returns the share's length. They are
 * the kernel's own copies: of its arguments PoCL has one for all threads of a block. */
DEVICE index_t take_share(view_t *a, view_t *b, view_t *c, index_t k, extra_t extra,
                          GLOBAL const index_t *places)
{
    const index_t item = extra.places_offset + extra.first_item + blockIdx.y;
    const index_t start = (index_t)blockIdx.z * extra.k_share;
    if (extra.flags & 1)
        a->offset += places[item];
    if (extra.flags & 2)
        b->offset += places[item + extra.batch];
    if (extra.flags & 4)
        c->offset += places[item + 2 * extra.batch];
    a->offset += start * a->col_stride;
    b->offset += start * b->row_stride;
    return k - start < extra.k_share ? k - start : extra.k_share;
}

/* Where sums go, and what is done to them on the way. */
typedef struct {
    GLOBAL out_t       *c;
    view_t              view;
    index_t             m, n;
    sum_t               alpha, beta;
    GLOBAL const out_t *bias, *residual;
    GLOBAL const out_t *addend; /* set by reduce.cu */
    GLOBAL sum_t       *partials;
    extra_t             extra;
} output_t;

DEVICE output_t output_of(GLOBAL out_t *c, view_t view, index_t m, index_t n, sum_t alpha, sum_t beta,
                          extra_t extra, GLOBAL const out_t *bias, GLOBAL const out_t *residual,
                          GLOBAL sum_t *partials)
{
    output_t output;
    output.c = c;
    output.view = view;
    output.m = m;
    output.n = n;
    output.alpha = alpha;
    output.beta = beta;
    output.bias = bias;
    output.residual = residual;
    output.addend = c;
    output.partials = partials;
    output.extra = extra;
    return output;
}

/* The place of an element's share among the partial sums. */
DEVICE index_t partial_at(const output_t *output, index_t split, index_t row, index_t col)
{
    const index_t item = output->extra.first_item + blockIdx.y;
    return output->extra.partials_offset +
           ((item * output->extra.splits + split) * output->m + row) * output->n + col;
}

DEVICE sum_t relu(sum_t value)
{
#if defined(WHOLE)
    return (int)value < 0 ? 0 : value;
#else
    return value < 0 ? 0 : value; /* a NaN stays */
#endif
}

DEVICE sum_t gelu(sum_t value)
{
#if defined(WHOLE)
    return value; /* never asked for */
#elif defined(IN_F64)
    return 0.5 * value * (1.0 + erf(value * 0.70710678118654752440));
#else
    return 0.5f * value * (1.0f + erff(value * 0.70710678f));
#endif
}

/* value / (1 + exp(-x)), where x has the sign of the value. The exponential is taken of -|x|, so
 * that it does not overflow. Minus infinity gives 0, the limit: it is replaced by the smallest
 * finite number, of which the quotient is -0. A NaN stays. */
DEVICE sum_t sigmoid_times(sum_t value, sum_t x)
{
#if defined(WHOLE)
    return value; /* never requested */
#elif defined(IN_F64)
    const double tail = exp(-fabs(x)), finite = value < -1.7976931348623157e308 ? -1.7976931348623157e308 : value;
    return finite * ((x < 0 ? tail : 1.0) / (1.0 + tail));
#else
    const float tail = fast_exp(-fabsf(x)), finite = value < -3.4028234e38f ? -3.4028234e38f : value;
    return finite * ((x < 0 ? tail : 1.0f) / (1.0f + tail));
#endif
}

DEVICE sum_t silu(sum_t value)
{
    return sigmoid_times(value, value);
}

/* v/2 (1 + tanh(u)) = v / (1 + exp(-2 u)), u = sqrt(2 / pi) (v + 0.044715 v^3). */
DEVICE sum_t gelu_tanh(sum_t value)
{
#if defined(WHOLE)
    return value; /* never requested */
#elif defined(IN_F64)
    return sigmoid_times(value, 1.5957691216057307117 * value * (1.0 + 0.044715 * value * value));
#else
    return sigmoid_times(value, 1.59576912f * value * (1.0f + 0.044715f * value * value));
#endif
}

/* From alpha * A * B + beta * C to what is stored. */
DEVICE out_t epilogue(const output_t *output, index_t row, index_t col, sum_t value)
{
    if (HAS_BIAS(output->extra))
        value += widen_out(output->bias[at(output->extra.bias, row, col)]);
    if (ACTIVATION_IN(output->extra) == 1)
        value = relu(value);
    if (ACTIVATION_IN(output->extra) == 2)
        value = gelu(value);
    if (ACTIVATION_IN(output->extra) == 3)
        value = gelu_tanh(value);
    if (ACTIVATION_IN(output->extra) == 4)
        value = silu(value);
    if (HAS_RESIDUAL(output->extra))
        value += widen_out(output->residual[at(output->extra.residual, row, col)]);
    return narrow(value);
}

/* One sum, inside C. */
DEVICE void finish(const output_t *output, index_t row, index_t col, sum_t sum)
{
    if (IS_SPLIT(output->extra)) {
        output->partials[partial_at(output, blockIdx.z, row, col)] = sum;
        return;
    }
    GLOBAL out_t *c = &output->c[at(output->view, row, col)];
    sum_t value = output->alpha * sum;
    if (output->beta != (sum_t)0)
        value += output->beta * widen_out(HAS_ADDEND(output->extra)
                                              ? output->addend[at(output->extra.addend, row, col)] : *c);
    *c = epilogue(output, row, col, value);
}

#endif /* RUNG_FINISH_H */
