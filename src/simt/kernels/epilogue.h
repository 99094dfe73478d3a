/* SPDX-License-Identifier: Apache-2.0 */
/* epilogue.h - prologue and epilogue of the kernels from 07 on: batch offsets and split-K slices
 * before the main loop; bias, activation and residual after it.
 *
 * A kernel that includes this file has five more arguments. It multiplies slices of A and B,
 * which select_slice() computes, and passes its sums to epilogue_store() or, four at a time, to
 * epilogue_store4() of tile.h. Macros of the host select the features at compile time, so that a
 * plain multiply has no overhead:
 *
 *   BIAS, RESIDUAL   1 if the problem has a bias or a residual
 *   ACTIVATION       rung_activation: 0 none, 1 relu, 2 gelu, 3 gelu_tanh, 4 silu
 *   ADDEND           1 in reduce.cu if beta multiplies a matrix other than the output (see
 *                    `addend` there)
 *   SPLIT            1 for split-K: block z sums its slice of k and stores the sum in
 *                    `partials`, without alpha, beta and epilogue. reduce.cu adds the slices,
 *                    always in the same order, and applies all three
 *   RUNTIME_FLAGS    1 if launch_args_t selects the features instead, so that one compiled
 *                    kernel serves all problems where no compiler is available. A kernel then
 *                    stores its sums without epilogue, or stores them in `partials`; only
 *                    reduce.cu applies epilogues
 */
#ifndef RUNG_EPILOGUE_H
#define RUNG_EPILOGUE_H

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
#ifndef RUNTIME_FLAGS
#define RUNTIME_FLAGS 0
#endif
#ifndef ADDEND
#define ADDEND 0
#endif
#ifndef IS_REDUCTION
#define IS_REDUCTION 0 // 1 in reduce.cu
#endif

typedef struct {
    index_t batch, first_item;   /* number of items, and the first item of this launch */
    index_t splits, k_per_slice; /* number of slices of k, and the length of all but the last */
    index_t flags;               /* see below */
    index_t batch_offsets_start, partials_offset, scratch_offset; /* scratch: see engine.h */
    view_t  bias, residual, addend;
} launch_args_t;

/* Flags 1, 2, 4 and 8: `batch_offsets` has the offsets of A, B, C or the addend. The other flags
 * are read if RUNTIME_FLAGS is 1: 16 bias, 32 residual, 64 split-K, 128 addend, and above these
 * bits the activation. If RUNTIME_FLAGS is 0, the features are constants of the compiled kernel. */
#define HAS_BIAS(launch_args)      (RUNTIME_FLAGS ? IS_REDUCTION && ((launch_args).flags & 16) != 0 : BIAS)
#define HAS_RESIDUAL(launch_args)  (RUNTIME_FLAGS ? IS_REDUCTION && ((launch_args).flags & 32) != 0 : RESIDUAL)
#define IS_SPLIT(launch_args)      (RUNTIME_FLAGS ? !IS_REDUCTION && ((launch_args).flags & 64) != 0 : SPLIT)
#define HAS_ADDEND(launch_args)    (RUNTIME_FLAGS ? IS_REDUCTION && ((launch_args).flags & 128) != 0 : ADDEND)
#define ACTIVATION_OF(launch_args) (RUNTIME_FLAGS ? IS_REDUCTION * (int)((launch_args).flags >> 8) : ACTIVATION)

/* Moves the views to this block's batch item and slice of k. Returns the length of the slice. The
 * views must be copies of the kernel's arguments, which PoCL shares among the threads of a block. */
DEVICE index_t select_slice(view_t *a, view_t *b, view_t *c, index_t k, launch_args_t launch_args,
                            GLOBAL const index_t *batch_offsets)
{
    const index_t item = launch_args.batch_offsets_start + launch_args.first_item + blockIdx.y;
    const index_t start = (index_t)blockIdx.z * launch_args.k_per_slice;
    if (launch_args.flags & 1)
        a->offset += batch_offsets[item];
    if (launch_args.flags & 2)
        b->offset += batch_offsets[item + launch_args.batch];
    if (launch_args.flags & 4)
        c->offset += batch_offsets[item + 2 * launch_args.batch];
    a->offset += start * a->col_stride;
    b->offset += start * b->row_stride;
    return k - start < launch_args.k_per_slice ? k - start : launch_args.k_per_slice;
}

/* The destination of the sums and the epilogue to apply. */
typedef struct {
    GLOBAL out_t       *c;
    view_t              view;
    index_t             m, n;
    sum_t               alpha, beta;
    GLOBAL const out_t *bias, *residual;
    GLOBAL const out_t *addend; /* set by reduce.cu */
    GLOBAL sum_t       *partials;
    launch_args_t       launch_args;
} output_t;

DEVICE output_t output_of(GLOBAL out_t *c, view_t view, index_t m, index_t n, sum_t alpha, sum_t beta,
                          launch_args_t launch_args, GLOBAL const out_t *bias, GLOBAL const out_t *residual,
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
    output.launch_args = launch_args;
    return output;
}

/* Returns the index of an element's partial sum of slice `split`. */
DEVICE index_t partial_index(const output_t *output, index_t split, index_t row, index_t col)
{
    const index_t item = output->launch_args.first_item + blockIdx.y;
    return output->launch_args.partials_offset +
           ((item * output->launch_args.splits + split) * output->m + row) * output->n + col;
}

DEVICE sum_t relu(sum_t value)
{
#if defined(INTEGER_TYPE)
    return (int)value < 0 ? 0 : value;
#else
    return value < 0 ? 0 : value; /* a NaN is retained */
#endif
}

DEVICE sum_t gelu(sum_t value)
{
#if defined(INTEGER_TYPE)
    return value; /* never requested */
#elif defined(IN_F64)
    return 0.5 * value * (1.0 + erf(value * 0.70710678118654752440));
#else
    return 0.5f * value * (1.0f + erff(value * 0.70710678f));
#endif
}

/* Returns value / (1 + exp(-x)), where x has the sign of value. The exponent is -|x|, so exp does
 * not overflow. Minus infinity is replaced by the lowest finite number, whose quotient is the
 * limit, -0. A NaN is retained. */
DEVICE sum_t sigmoid_times(sum_t value, sum_t x)
{
#if defined(INTEGER_TYPE)
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

/* Returns v/2 (1 + tanh(u)) = v / (1 + exp(-2 u)) with u = sqrt(2 / pi) (v + 0.044715 v^3). */
DEVICE sum_t gelu_tanh(sum_t value)
{
#if defined(INTEGER_TYPE)
    return value; /* never requested */
#elif defined(IN_F64)
    return sigmoid_times(value, 1.5957691216057307117 * value * (1.0 + 0.044715 * value * value));
#else
    return sigmoid_times(value, 1.59576912f * value * (1.0f + 0.044715f * value * value));
#endif
}

/* Applies bias, activation and residual to alpha * A * B + beta * C, and converts the result. */
DEVICE out_t epilogue_apply(const output_t *output, index_t row, index_t col, sum_t value)
{
    if (HAS_BIAS(output->launch_args))
        value += widen_out(output->bias[at(output->launch_args.bias, row, col)]);
    if (ACTIVATION_OF(output->launch_args) == 1)
        value = relu(value);
    if (ACTIVATION_OF(output->launch_args) == 2)
        value = gelu(value);
    if (ACTIVATION_OF(output->launch_args) == 3)
        value = gelu_tanh(value);
    if (ACTIVATION_OF(output->launch_args) == 4)
        value = silu(value);
    if (HAS_RESIDUAL(output->launch_args))
        value += widen_out(output->residual[at(output->launch_args.residual, row, col)]);
    return narrow(value);
}

/* Scales a sum inside C, applies the epilogue and stores the result; with split-K, stores the sum. */
DEVICE void epilogue_store(const output_t *output, index_t row, index_t col, sum_t sum)
{
    if (IS_SPLIT(output->launch_args)) {
        output->partials[partial_index(output, blockIdx.z, row, col)] = sum;
        return;
    }
    GLOBAL out_t *c = &output->c[at(output->view, row, col)];
    sum_t value = output->alpha * sum;
    if (output->beta != (sum_t)0)
        value += output->beta * widen_out(HAS_ADDEND(output->launch_args)
                                              ? output->addend[at(output->launch_args.addend, row, col)] : *c);
    *c = epilogue_apply(output, row, col, value);
}

#endif /* RUNG_EPILOGUE_H */
