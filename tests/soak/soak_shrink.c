/* SPDX-License-Identifier: Apache-2.0 */
/* soak_shrink.c - see soak_shrink.h. */
#include "soak_shrink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The first changes remove most; those that follow the sizes make what remains usual. */
enum {
    STEP_ONLY_CPU,
    STEP_ONLY_OPENCL,
    STEP_ONLY_CUDA,
    STEP_ONE_MEMBER,
    STEP_ONE_ITEM,
    STEP_TWO_ITEMS,
    STEP_NO_OFFSETS,
    STEP_CALL,
    STEP_NO_KERNEL,
    STEP_DEFAULT_VARIANT,
    STEP_STRICT,
    STEP_NO_ALIAS,
    STEP_NO_D,
    STEP_NO_BIAS,
    STEP_NO_RESIDUAL,
    STEP_NO_MULTIPLIER,
    STEP_NO_ACTIVATION,
    STEP_ALPHA_1,
    STEP_BETA_0,
    STEP_BETA_1,
    STEP_NO_A_ZEROS,
    STEP_NO_A_SCALES,
    STEP_NO_B_ZEROS,
    STEP_NO_B_SCALES,
    STEP_HALF_M,
    STEP_HALF_N,
    STEP_HALF_K,
    STEP_16_LESS_M,
    STEP_16_LESS_N,
    STEP_16_LESS_K,
    STEP_LESS_M,
    STEP_LESS_N,
    STEP_LESS_K,
    STEP_SMALL_INTEGERS,
    STEP_UNIFORM,
    STEP_LAYOUTS, /* from here on: one per operand, its layout is dense and row-major */
    STEP_COUNT = STEP_LAYOUTS + SOAK_OPERANDS
};

static void apply_to_layout(soak_case *subject, int operand)
{
    soak_layout *layout = &subject->layouts[operand];
    bool is_aligned = layout->is_aligned;
    memset(layout, 0, sizeof *layout);
    layout->step = 1;
    layout->is_aligned = is_aligned;
}

static void apply_to_device(soak_case *subject, soak_device device)
{
    if (subject->devices & 1U << device)
        subject->devices = 1U << device;
}

static void apply_to_call(soak_case *subject, int step)
{
    switch (step) {
    case STEP_ONLY_CPU: apply_to_device(subject, SOAK_DEVICE_cpu); break;
    case STEP_ONLY_OPENCL: apply_to_device(subject, SOAK_DEVICE_opencl); break;
    case STEP_ONLY_CUDA: apply_to_device(subject, SOAK_DEVICE_cuda); break;
    case STEP_ONE_MEMBER: subject->members = 1; break;
    case STEP_ONE_ITEM: subject->batch = 1; break;
    case STEP_TWO_ITEMS: subject->batch = subject->batch > 2 ? 2 : subject->batch; break;
    case STEP_NO_OFFSETS: subject->has_offsets = false; break;
    case STEP_CALL: subject->path = SOAK_PATH_call; break;
    case STEP_NO_KERNEL: subject->kernel = -1; break;
    case STEP_DEFAULT_VARIANT: subject->variant = 0; break;
    case STEP_STRICT: subject->compute = RUNG_COMPUTE_STRICT; break;
    case STEP_NO_ALIAS: subject->alias = SOAK_ALIAS_none; break;
    default: break;
    }
}

static void apply_to_epilogue(soak_case *subject, int step)
{
    switch (step) {
    case STEP_NO_D: subject->has[SOAK_OPERAND_d] = false; break;
    case STEP_NO_BIAS: subject->has[SOAK_OPERAND_bias] = false; break;
    case STEP_NO_RESIDUAL: subject->has[SOAK_OPERAND_residual] = false; break;
    case STEP_NO_MULTIPLIER: subject->has[SOAK_OPERAND_multiplier] = false; break;
    case STEP_NO_ACTIVATION: subject->activation = RUNG_ACTIVATION_NONE; break;
    case STEP_ALPHA_1: subject->alpha = 1; break;
    case STEP_BETA_0: subject->beta = 0; break;
    case STEP_BETA_1: subject->beta = subject->beta != 0 ? 1 : 0; break;
    case STEP_NO_A_ZEROS: subject->a_format.zero_type = RUNG_TYPE_NONE; break;
    case STEP_NO_A_SCALES: subject->a_format.scale_type = RUNG_TYPE_NONE; break;
    case STEP_NO_B_ZEROS: subject->b_format.zero_type = RUNG_TYPE_NONE; break;
    case STEP_NO_B_SCALES: subject->b_format.scale_type = RUNG_TYPE_NONE; break;
    default: break;
    }
}

static void apply_to_sizes(soak_case *subject, int step)
{
    int64_t k_block = lab_type_pair_block(subject->product);
    int64_t k_step = k_block > 2 ? k_block : 1;
    switch (step) {
    case STEP_HALF_M: subject->m /= 2; break;
    case STEP_HALF_N: subject->n /= 2; break;
    case STEP_HALF_K: subject->k /= 2; break;
    case STEP_16_LESS_M: subject->m -= subject->m >= 16 ? 16 : 0; break;
    case STEP_16_LESS_N: subject->n -= subject->n >= 16 ? 16 : 0; break;
    case STEP_16_LESS_K: subject->k -= subject->k >= 16 && k_step == 1 ? 16 : 0; break;
    case STEP_LESS_M: subject->m -= subject->m > 0; break;
    case STEP_LESS_N: subject->n -= subject->n > 0; break;
    case STEP_LESS_K: subject->k -= subject->k >= k_step ? k_step : 0; break;
    case STEP_SMALL_INTEGERS: subject->content = LAB_CONTENT_SMALL_INTEGERS; break;
    case STEP_UNIFORM:
        subject->content = subject->content == LAB_CONTENT_SMALL_INTEGERS ? subject->content : LAB_CONTENT_UNIFORM;
        break;
    default: break;
    }
}

static void apply(soak_case *subject, int step)
{
    if (step >= STEP_LAYOUTS)
        apply_to_layout(subject, step - STEP_LAYOUTS);
    else if (step >= STEP_HALF_M)
        apply_to_sizes(subject, step);
    else if (step >= STEP_NO_D)
        apply_to_epilogue(subject, step);
    else
        apply_to_call(subject, step);
    soak_case_normalize(subject);
}

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Tries one change. Returns whether the case is smaller now. */
static bool try_step(soak_case *subject, int step, soak_steps *steps, soak_result *result)
{
    soak_result attempt;
    soak_case smaller;
    memcpy(&smaller, subject, sizeof smaller); /* with the bytes between its fields */
    apply(&smaller, step);
    if (memcmp(&smaller, subject, sizeof smaller) == 0 || steps->count == SOAK_STEPS_MAX)
        return false;
    soak_case_run(&smaller, &attempt);
    if (!attempt.is_wrong)
        return false;
    memcpy(subject, &smaller, sizeof smaller);
    *result = attempt;
    steps->steps[steps->count++] = step;
    return true;
}

void soak_shrink(soak_case *subject, double seconds, soak_steps *steps, soak_result *result)
{
    double end = seconds_now() + seconds;
    bool is_smaller = true;
    steps->count = 0;
    while (is_smaller && seconds_now() < end) {
        is_smaller = false;
        for (int step = 0; step < STEP_COUNT && seconds_now() < end; step++)
            while (try_step(subject, step, steps, result) && seconds_now() < end)
                is_smaller = true;
    }
}

void soak_steps_format(const soak_steps *steps, char *text, size_t capacity)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < steps->count && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, "%s%d", i ? "." : "", steps->steps[i]);
}

bool soak_steps_apply(const char *text, soak_case *subject)
{
    while (*text) {
        char *end;
        long step = strtol(text, &end, 10);
        if (end == text || step < 0 || step >= STEP_COUNT || (*end && *end != '.'))
            return false;
        apply(subject, (int)step);
        text = *end ? end + 1 : end;
    }
    return true;
}
