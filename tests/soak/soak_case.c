/* SPDX-License-Identifier: Apache-2.0 */
/* soak_case.c - draws cases from seeds. */
#include "soak_case.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "common/elements.h"

/* Every 60th case also runs on OpenCL, and every 40th on the emulated GPU. Compiling or emulating one kernel takes as long as
 * hundreds of problems on the CPU. */
enum { OPENCL_ONE_IN = 60, CUDA_ONE_IN = 40 };

/* Limits of the work per item: for GPUs, which are emulated, and for the CPU. */
static const double gpu_work_max = 60000, cpu_work_max = 3e7;

const soak_variant soak_variants[SOAK_VARIANTS] = {
    {"default", NULL, NULL},        {"small caches", NULL, "4K,16K,64K/2"},
    {"portable", "portable", NULL}, {"avx2, small caches", "avx2", "4K,16K,64K/2"},
    {"avx2", "avx2", NULL},         {"avx512", "avx512", "4K,16K,64K/2"},
    {"dot", "dot", "4K,16K,64K/2"},
};

const char *soak_device_name(soak_device device)
{
    static const char *const names[] = {
#define X(name) #name,
        SOAK_DEVICE_LIST(X)
#undef X
    };
    return names[device];
}

uint64_t soak_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t soak_below(uint64_t *state, int64_t count)
{
    return (int64_t)((soak_next(state) >> 11) % (uint64_t)count);
}

static bool one_in(uint64_t *state, int64_t count)
{
    return soak_below(state, count) == 0;
}

bool soak_type_is_narrow(rung_type type)
{
    return type == RUNG_I8 || (type >= RUNG_U8 && type <= RUNG_F4E2M1);
}

bool soak_format_is_present(const soak_format *format)
{
    return format->scale_type != RUNG_TYPE_NONE || format->zero_type != RUNG_TYPE_NONE;
}

/* ---- Drawing --------------------------------------------------------------------------------------------------- */

static int64_t draw_size(uint64_t *state)
{
    static const int64_t edges[] = {1, 2, 8, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129};
    switch (soak_below(state, 24)) {
    case 0: return soak_below(state, 2);
    case 1: return 200 + soak_below(state, 3000);
    case 2:
    case 3: return 130 + soak_below(state, 250);
    case 4:
    case 5:
    case 6:
    case 7: return edges[soak_below(state, sizeof edges / sizeof *edges)];
    case 8:
    case 9:
    case 10: return 1 + soak_below(state, 10);
    default: return soak_below(state, 131);
    }
}

/* Halves the largest size until the work is small enough. */
static void limit_work(soak_case *subject, double most)
{
    while ((double)subject->m * (double)subject->n * (double)(subject->k + 1) > most) {
        int64_t *largest = &subject->m;
        if (subject->n > *largest)
            largest = &subject->n;
        if (subject->k > *largest)
            largest = &subject->k;
        *largest /= 2;
    }
}

static soak_layout draw_layout(uint64_t *state, bool is_output)
{
    soak_layout layout = {.step = 1};
    layout.is_column_major = one_in(state, 3);
    layout.is_aligned = one_in(state, 2);
    if (one_in(state, 3))
        layout.gap = one_in(state, 2) ? 1 + soak_below(state, 20) : 16 * (1 + soak_below(state, 3));
    if (one_in(state, 3))
        layout.offset = one_in(state, 2) ? 1 + soak_below(state, 40) : 16 * (1 + soak_below(state, 3));
    if (one_in(state, 8))
        layout.step = 2 + soak_below(state, 2);
    if (one_in(state, 3))
        layout.batch_gap = 1 + soak_below(state, 9);
    layout.is_interleaved = one_in(state, 4);
    uint64_t repeat = soak_next(state) % 48;
    layout.repeats_rows = !is_output && (repeat == 0 || repeat == 1);
    layout.repeats_cols = !is_output && (repeat == 0 || repeat == 2);
    layout.shares_items = one_in(state, 3) && !is_output;
    return layout;
}

/* A bias is usually one number per row or per column. */
static soak_layout draw_bias_layout(uint64_t *state)
{
    soak_layout layout = draw_layout(state, false);
    int64_t kind = soak_below(state, 4);
    layout.repeats_rows = kind == 0 || kind == 1 || (kind == 2 && one_in(state, 4));
    layout.repeats_cols = kind == 2;
    return layout;
}

/* The formats that files of weights use, and blocks of any other form. */
static soak_format draw_format(uint64_t *state, rung_type type)
{
    static const soak_format usual[] = {
        {RUNG_F32, RUNG_TYPE_NONE, 0, 0},
        {RUNG_F32, RUNG_TYPE_NONE, 0, 1},
        {RUNG_F16, RUNG_TYPE_NONE, 32, 1},
        {RUNG_F16, RUNG_U4, 128, 1},
        {RUNG_F16, RUNG_U8, 64, 1},
        {RUNG_E8M0, RUNG_TYPE_NONE, 32, 1},
        {RUNG_F8E4M3, RUNG_TYPE_NONE, 16, 1},
        {RUNG_F32, RUNG_TYPE_NONE, 128, 128},
        {RUNG_BF16, RUNG_TYPE_NONE, 1, 32},
        {RUNG_F64, RUNG_TYPE_NONE, 7, 2},
        {RUNG_TYPE_NONE, RUNG_U8, 0, 1},
        {RUNG_F32, RUNG_F16, 0, 1},
        {RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0},
    };
    static const rung_type scale_types[] = {RUNG_F32,  RUNG_F16,    RUNG_BF16,   RUNG_F64,
                                            RUNG_E8M0, RUNG_F8E4M3, RUNG_F8E5M2, RUNG_TYPE_NONE};
    static const rung_type zero_types[] = {RUNG_TYPE_NONE, RUNG_U4, RUNG_U8, RUNG_I8, RUNG_F16, RUNG_TYPE_NONE};
    soak_format format = {RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0};
    if (!soak_type_is_narrow(type))
        return format;
    if (!one_in(state, 3))
        return usual[soak_below(state, sizeof usual / sizeof *usual)];
    format.scale_type = scale_types[soak_below(state, 8)];
    format.zero_type = zero_types[soak_below(state, 6)];
    format.block_k = one_in(state, 3) ? 0 : 1 + soak_below(state, 40);
    format.block_across = one_in(state, 3) ? 0 : 1 + soak_below(state, 10);
    return format;
}

static double draw_alpha(uint64_t *state, bool is_integer)
{
    static const double common[] = {1, 1, 1, -1, 2, 0}, rare[] = {NAN, 1e-30, 1e10};
    if (!is_integer && one_in(state, 100))
        return rare[soak_below(state, 3)];
    if (one_in(state, 3))
        return is_integer ? (double)(int32_t)soak_next(state) : (double)soak_below(state, 2000001) / 1e6 - 1;
    return common[soak_below(state, 6)];
}

static double draw_beta(uint64_t *state, bool is_integer)
{
    return one_in(state, 2) ? 0 : draw_alpha(state, is_integer);
}

static void draw_types(uint64_t *state, soak_case *subject)
{
    int same = lab_type_pair_count(), all = lab_type_pair_total();
    bool is_same = one_in(state, 2);
    subject->product = lab_type_pair_at(is_same ? (int)soak_below(state, same)
                                                : same + (int)soak_below(state, all - same));
    subject->compute = one_in(state, 2) ? RUNG_COMPUTE_STRICT : (rung_compute)soak_below(state, LAB_COMPUTE_COUNT);
    subject->a_format = draw_format(state, is_same && one_in(state, 2) ? RUNG_TYPE_NONE : subject->product.in);
    subject->b_format = draw_format(state, is_same ? RUNG_TYPE_NONE : lab_type_pair_b(subject->product));
}

static void draw_epilogue(uint64_t *state, soak_case *subject)
{
    subject->has[SOAK_OPERAND_d] = one_in(state, 5);
    if (one_in(state, 2))
        return;
    subject->has[SOAK_OPERAND_bias] = one_in(state, 2);
    subject->has[SOAK_OPERAND_residual] = one_in(state, 3);
    subject->has[SOAK_OPERAND_multiplier] = one_in(state, 4);
    if (one_in(state, 2))
        subject->activation = (rung_activation)soak_below(state, LAB_ACTIVATION_COUNT);
}

static void draw_devices(uint64_t *state, soak_case *subject, unsigned devices)
{
    bool opencl = one_in(state, OPENCL_ONE_IN), cuda = one_in(state, CUDA_ONE_IN);
    subject->devices = devices;
    if (!(devices & 1U << SOAK_DEVICE_cpu))
        return;
    if (!opencl)
        subject->devices &= ~(1U << SOAK_DEVICE_opencl);
    if (!cuda)
        subject->devices &= ~(1U << SOAK_DEVICE_cuda);
}

static void draw_call(uint64_t *state, soak_case *subject)
{
    static const soak_path paths[] = {SOAK_PATH_call, SOAK_PATH_call,  SOAK_PATH_call,  SOAK_PATH_plan,
                                      SOAK_PATH_plan, SOAK_PATH_group, SOAK_PATH_packed};
    subject->path = paths[soak_below(state, 7)];
    subject->variant = one_in(state, 2) ? 0 : (int)soak_below(state, SOAK_VARIANTS);
    subject->kernel = one_in(state, 3) ? (int)soak_below(state, 64) : -1;
    subject->members = 1 + (int)soak_below(state, SOAK_MEMBERS_MAX);
}

soak_case soak_case_draw(uint64_t seed, unsigned devices)
{
    static const lab_content contents[] = {LAB_CONTENT_UNIFORM, LAB_CONTENT_SMALL_INTEGERS, LAB_CONTENT_SMALL_INTEGERS,
                                           LAB_CONTENT_WIDE_EXPONENTS, LAB_CONTENT_NON_FINITE};
    uint64_t state = seed;
    soak_case subject;
    memset(&subject, 0, sizeof subject); /* cases are compared with all of their bytes */
    subject.seed = seed;
    draw_devices(&state, &subject, devices);
    draw_call(&state, &subject);
    draw_types(&state, &subject);
    subject.m = draw_size(&state);
    subject.n = draw_size(&state);
    subject.k = draw_size(&state);
    subject.batch = one_in(&state, 4) ? soak_below(&state, SOAK_BATCH_MAX + 1) : 1;
    subject.has_offsets = one_in(&state, 4);
    for (int i = 0; i < SOAK_OPERANDS; i++)
        subject.layouts[i] = draw_layout(&state, i == SOAK_OPERAND_c || i == SOAK_OPERAND_d);
    subject.layouts[SOAK_OPERAND_bias] = draw_bias_layout(&state);
    bool is_integer = lab_type_is_integer(subject.product.out);
    subject.alpha = draw_alpha(&state, is_integer);
    subject.beta = draw_beta(&state, is_integer);
    draw_epilogue(&state, &subject);
    subject.alias = one_in(&state, 4) ? (soak_alias)soak_below(&state, SOAK_ALIASES) : SOAK_ALIAS_none;
    subject.content = contents[soak_below(&state, 5)];
    soak_case_normalize(&subject);
    return subject;
}

/* ---- Rules ----------------------------------------------------------------------------------------------------- */

/* Blocks of Q8_0 and Q4_0 lie along k. */
static void normalize_blocks(soak_case *subject)
{
    soak_layout *layout = &subject->layouts[SOAK_OPERAND_b];
    const int64_t block = lab_type_pair_block(subject->product);
    if (block <= 2)
        return;
    subject->k = rungi_round_up(subject->k, block);
    layout->is_column_major = true;
    layout->repeats_rows = layout->is_interleaved = false;
    layout->step = 1;
    layout->gap = rungi_round_up(layout->gap, block);
    layout->offset = rungi_round_up(layout->offset, block);
    layout->batch_gap = rungi_round_up(layout->batch_gap, block);
}

/* Keeps scales only for narrow types that are multiplied as floating-point numbers. */
static void normalize_formats(soak_case *subject)
{
    const soak_format none = {RUNG_TYPE_NONE, RUNG_TYPE_NONE, 0, 0};
    bool is_integer = lab_type_is_integer(subject->product.out);
    if (is_integer || !soak_type_is_narrow(subject->product.in))
        subject->a_format = none;
    if (is_integer || !soak_type_is_narrow(lab_type_pair_b(subject->product)))
        subject->b_format = none;
    subject->has[SOAK_OPERAND_a_scales] = subject->a_format.scale_type != RUNG_TYPE_NONE;
    subject->has[SOAK_OPERAND_a_zeros] = subject->a_format.zero_type != RUNG_TYPE_NONE;
    subject->has[SOAK_OPERAND_b_scales] = subject->b_format.scale_type != RUNG_TYPE_NONE;
    subject->has[SOAK_OPERAND_b_zeros] = subject->b_format.zero_type != RUNG_TYPE_NONE;
}

static void normalize_path(soak_case *subject)
{
    const unsigned cpu = 1U << SOAK_DEVICE_cpu;
    if (subject->path == SOAK_PATH_packed && (subject->devices != cpu || soak_format_is_present(&subject->b_format) ||
                                              soak_format_is_present(&subject->a_format)))
        subject->path = SOAK_PATH_plan;
    if (subject->path == SOAK_PATH_packed) /* one B for all items */
        subject->layouts[SOAK_OPERAND_b].shares_items = true;
    if (subject->path != SOAK_PATH_group)
        subject->members = 1;
    if (subject->path == SOAK_PATH_group) {
        subject->batch = 1;
        subject->kernel = -1;
    }
    if (subject->path == SOAK_PATH_call || subject->devices != cpu)
        subject->kernel = -1;
    if (subject->batch <= 1 || subject->path == SOAK_PATH_packed)
        subject->has_offsets = false;
}

/* Drops an overlap for which the case lacks an operand, or whose views do not fit. */
static void normalize_alias(soak_case *subject)
{
    bool *has = subject->has;
    bool possible = false;
    switch (subject->alias) {
    case SOAK_ALIAS_d_is_c: possible = has[SOAK_OPERAND_d]; break;
    case SOAK_ALIAS_b_is_a:
        possible = !lab_type_pair_is_mixed(subject->product) && subject->path != SOAK_PATH_packed;
        if (possible)
            subject->n = subject->m;
        break;
    case SOAK_ALIAS_residual_is_bias: possible = has[SOAK_OPERAND_residual] && has[SOAK_OPERAND_bias]; break;
    case SOAK_ALIAS_residual_is_c:
        possible = has[SOAK_OPERAND_residual] && has[SOAK_OPERAND_d] && !subject->has_offsets;
        break;
    case SOAK_ALIAS_c_beside_a:
        possible = subject->product.in == subject->product.out && subject->batch <= 1 && subject->k > 0;
        if (possible) { /* one matrix of k + n columns */
            soak_layout *layout = &subject->layouts[SOAK_OPERAND_a];
            layout->repeats_rows = layout->repeats_cols = layout->is_column_major = false;
            layout->step = 1;
        }
        break;
    case SOAK_ALIAS_none:
    case SOAK_ALIASES: break;
    }
    if (!possible)
        subject->alias = SOAK_ALIAS_none;
}

void soak_case_normalize(soak_case *subject)
{
    const unsigned cpu = 1U << SOAK_DEVICE_cpu;
    normalize_blocks(subject);
    limit_work(subject, subject->devices == cpu ? cpu_work_max : gpu_work_max);
    normalize_formats(subject);
    normalize_path(subject);
    normalize_alias(subject);
    normalize_blocks(subject);
    subject->has[SOAK_OPERAND_a] = subject->has[SOAK_OPERAND_b] = subject->has[SOAK_OPERAND_c] = true;
    if (lab_type_is_integer(subject->product.out) && subject->activation > RUNG_ACTIVATION_RELU)
        subject->activation = RUNG_ACTIVATION_RELU;
    if (!(subject->devices & cpu)) /* other devices refuse a multiplier */
        subject->has[SOAK_OPERAND_multiplier] = false;
    if (subject->layouts[SOAK_OPERAND_c].step == 0)
        subject->layouts[SOAK_OPERAND_c].step = 1;
}

soak_case soak_case_member(const soak_case *subject, int index)
{
    soak_case member = *subject;
    uint64_t state = subject->seed + (uint64_t)index * 0x1234567;
    if (index == 0)
        return member;
    member.seed = state;
    member.m = soak_below(&state, 2 * subject->m + 1);
    member.n = soak_below(&state, 2 * subject->n + 1);
    member.k = soak_below(&state, 2 * subject->k + 1);
    soak_case_normalize(&member);
    return member;
}

/* ---- Description ----------------------------------------------------------------------------------------------- */

typedef struct soak_text {
    char *text;
    size_t used, capacity;
} soak_text;

static void add(soak_text *to, const char *format, ...) RUNG_PRINTF(2, 3);

static void add(soak_text *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(to->text + to->used, to->capacity - to->used, format, arguments);
    va_end(arguments);
    to->used += length > 0 ? (size_t)length : 0;
    if (to->used >= to->capacity)
        to->used = to->capacity - 1;
}

static void describe_layout(const soak_case *subject, int operand, soak_text *to)
{
    static const char *const names[] = {
#define X(name) #name,
        SOAK_OPERAND_LIST(X)
#undef X
    };
    const soak_layout *layout = &subject->layouts[operand];
    if (!subject->has[operand])
        return;
    add(to, "; %s %s", names[operand], layout->is_column_major ? "columns" : "rows");
    if (layout->step != 1)
        add(to, " step %lld", (long long)layout->step);
    if (layout->gap)
        add(to, " gap %lld", (long long)layout->gap);
    if (layout->offset)
        add(to, " offset %lld", (long long)layout->offset);
    if (layout->repeats_rows)
        add(to, " equal rows");
    if (layout->repeats_cols)
        add(to, " equal columns");
    if (layout->is_aligned)
        add(to, " aligned");
    if (subject->batch > 1 && layout->shares_items)
        add(to, " shared");
    if (subject->batch > 1 && layout->is_interleaved)
        add(to, " interleaved");
    if (subject->batch > 1 && layout->batch_gap)
        add(to, " batch gap %lld", (long long)layout->batch_gap);
}

static void describe_format(const char *name, const soak_format *format, soak_text *to)
{
    if (soak_format_is_present(format))
        add(to, ", scales of %s %s, zero points %s, block %lld along k x %lld", name,
            rung_type_name(format->scale_type), rung_type_name(format->zero_type), (long long)format->block_k,
            (long long)format->block_across);
}

void soak_case_describe(const soak_case *subject, char *text, size_t capacity)
{
    static const char *const paths[] = {
#define X(name) #name,
        SOAK_PATH_LIST(X)
#undef X
    };
    static const char *const aliases[] = {
#define X(name) #name,
        SOAK_ALIAS_LIST(X)
#undef X
    };
    static const char *const contents[] = {"uniform", "small integers", "wide exponents", "not finite"};
    soak_text to = {text, 0, capacity};
    for (int i = 0; i < SOAK_DEVICES; i++)
        if (subject->devices & 1U << i)
            add(&to, "%s%s", to.used ? "," : "", soak_device_name((soak_device)i));
    add(&to, " (%s) %s %s %s, m %lld n %lld k %lld, alpha %g beta %g, %s", soak_variants[subject->variant].name,
        paths[subject->path], lab_type_pair_name(subject->product), rung_compute_name(subject->compute),
        (long long)subject->m, (long long)subject->n, (long long)subject->k, subject->alpha, subject->beta,
        contents[subject->content]);
    if (subject->kernel >= 0)
        add(&to, ", kernel %d", subject->kernel);
    if (subject->batch != 1)
        add(&to, ", batch %lld%s", (long long)subject->batch, subject->has_offsets ? " with offsets" : "");
    if (subject->members > 1)
        add(&to, ", %d problems", subject->members);
    if (subject->activation)
        add(&to, ", %s", rung_activation_name(subject->activation));
    if (subject->alias)
        add(&to, ", %s", aliases[subject->alias]);
    describe_format("A", &subject->a_format, &to);
    describe_format("B", &subject->b_format, &to);
    for (int i = 0; i < SOAK_OPERANDS; i++)
        describe_layout(subject, i, &to);
}
