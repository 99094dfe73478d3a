/* SPDX-License-Identifier: Apache-2.0 */
/* soak_data.c - allocates and fills the matrices of a case. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "soak_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "common/elements.h"
#include "fuzz/guarded_memory.h"

enum { SLOT_BYTES = 64 << 20, UNREAD_PATTERN = 0xff, OUTPUT_PATTERN = 0xa5 };

int64_t soak_items(const soak_case *subject)
{
    return subject->batch > 1 ? subject->batch : 1;
}

/* ---- Views ----------------------------------------------------------------------------------------------------- */

static int64_t scale_lines(int64_t elements, int64_t block)
{
    return block > 0 ? rungi_ceil_divide(elements, block) : elements > 0;
}

/* Sets the type and the size of an operand. */
static rung_matrix operand_shape(const soak_case *subject, soak_operand operand)
{
    const soak_format *a = &subject->a_format, *b = &subject->b_format;
    int64_t a_rows = scale_lines(subject->m, a->block_across), a_cols = scale_lines(subject->k, a->block_k);
    int64_t b_rows = scale_lines(subject->k, b->block_k), b_cols = scale_lines(subject->n, b->block_across);
    rung_type out = subject->product.out;
    switch (operand) {
    case SOAK_OPERAND_a: return rung_matrix_of(subject->product.in, subject->m, subject->k, NULL);
    case SOAK_OPERAND_b: return rung_matrix_of(lab_type_pair_b(subject->product), subject->k, subject->n, NULL);
    case SOAK_OPERAND_a_scales: return rung_matrix_of(a->scale_type, a_rows, a_cols, NULL);
    case SOAK_OPERAND_a_zeros: return rung_matrix_of(a->zero_type, a_rows, a_cols, NULL);
    case SOAK_OPERAND_b_scales: return rung_matrix_of(b->scale_type, b_rows, b_cols, NULL);
    case SOAK_OPERAND_b_zeros: return rung_matrix_of(b->zero_type, b_rows, b_cols, NULL);
    default: return rung_matrix_of(out, subject->m, subject->n, NULL);
    }
}

/* Returns the number of elements up to the last one, from `data` on. */
static int64_t span_of(const rung_matrix *view, int64_t items)
{
    if (view->rows == 0 || view->cols == 0)
        return 0;
    return view->offset + (view->rows - 1) * view->row_stride + (view->cols - 1) * view->col_stride +
           (items - 1) * view->batch_stride + 1;
}

static void set_strides(const soak_layout *layout, int64_t items, rung_matrix *view)
{
    int64_t inner = layout->is_column_major ? view->rows : view->cols;
    int64_t line = (inner > 0 ? inner : 1) * layout->step + layout->gap;
    int64_t outer_stride = line * (layout->is_interleaved ? items : 1);
    view->row_stride = layout->repeats_rows ? 0 : layout->is_column_major ? layout->step : outer_stride;
    view->col_stride = layout->repeats_cols ? 0 : layout->is_column_major ? outer_stride : layout->step;
    view->offset = 0;
    view->batch_stride = layout->is_interleaved ? line : span_of(view, 1) + layout->batch_gap;
    if (layout->shares_items)
        view->batch_stride = 0;
    view->offset = layout->offset;
}

static bool may_have_offsets(soak_operand operand)
{
    return operand != SOAK_OPERAND_bias && operand != SOAK_OPERAND_residual && operand != SOAK_OPERAND_multiplier;
}

/* The items of an output ascend, those of an input descend, and some share an offset. */
static void set_offsets(const soak_case *subject, soak_operand operand, soak_data *data)
{
    rung_matrix *view = &data->views[operand];
    bool ascends = operand == SOAK_OPERAND_c || operand == SOAK_OPERAND_d;
    for (int64_t i = 0; i < subject->batch; i++) {
        int64_t position = ascends ? i : subject->batch - 1 - (i == 3 ? 2 : i);
        data->offsets[operand][i] = position * view->batch_stride;
    }
    view->batch_offsets = data->offsets[operand];
}

/* ---- Contents -------------------------------------------------------------------------------------------------- */

static double real_value(uint64_t *state, rung_type type, lab_content content)
{
    double real = (double)(int64_t)(soak_next(state) >> 11) * 0x1p-52 - 1; /* in [-1, 1) */
    int64_t other = soak_below(state, 41 * 199);
    bool is_f16 = type == RUNG_F16;
    switch (content) {
    case LAB_CONTENT_SMALL_INTEGERS: return (double)(other % 17) - 8;
    case LAB_CONTENT_WIDE_EXPONENTS: return ldexp(real, (int)(is_f16 ? other % 25 - 19 : other % 41 - 20));
    case LAB_CONTENT_NON_FINITE:
        if (other % 199 < 3)
            return other % 199 == 0 ? (double)NAN : other % 2 ? (double)INFINITY : -(double)INFINITY;
        return real;
    case LAB_CONTENT_UNIFORM:
    case LAB_CONTENT_COUNT: break;
    }
    return real;
}

static double integer_value(uint64_t *state, rung_type type, lab_content content)
{
    uint32_t bits = (uint32_t)(soak_next(state) >> 13), other = bits >> 8 & 31;
    int32_t value = type == RUNG_I8 ? (int8_t)bits : (int32_t)bits;
    if (content == LAB_CONTENT_SMALL_INTEGERS)
        return (double)(bits % 17) - 8;
    if (content == LAB_CONTENT_WIDE_EXPONENTS)
        return (double)(value >> (type == RUNG_I8 ? other % 8 : other));
    if (content == LAB_CONTENT_NON_FINITE && other % 5 == 0)
        return type == RUNG_I8 ? (value < 0 ? INT8_MIN : INT8_MAX) : value < 0 ? INT32_MIN : INT32_MAX;
    return value;
}

/* Any code of a narrow type; NaN and infinity only if the case has them. */
static unsigned narrow_code(uint64_t *state, rung_type type, lab_content content)
{
    unsigned code = (unsigned)(soak_next(state) >> 20) & 255;
    bool is_e4m3_nan = type == RUNG_F8E4M3 && (code & 0x7f) == 0x7f;
    bool is_e5m2_large = type == RUNG_F8E5M2 && (code & 0x7c) == 0x7c;
    if (content == LAB_CONTENT_SMALL_INTEGERS && type == RUNG_I8)
        return (unsigned)((int)(code % 17) - 8) & 255;
    if ((is_e4m3_nan || is_e5m2_large) && content != LAB_CONTENT_NON_FINITE)
        return 1;
    return code;
}

static int64_t element_index(const rung_matrix *view, int64_t row, int64_t col)
{
    return view->offset + row * view->row_stride + col * view->col_stride;
}

static void set_code(const rung_matrix *view, int64_t row, int64_t col, unsigned code)
{
    int64_t index = element_index(view, row, col);
    unsigned char *bytes = view->data;
    if (rung_type_block_elements(view->type) == 1)
        bytes[index] = (unsigned char)code;
    else
        bytes[index / 2] = (unsigned char)(index % 2 ? (bytes[index / 2] & 0x0f) | (code & 15) << 4
                                                     : (bytes[index / 2] & 0xf0) | (code & 15));
}

static void fill_elements(const soak_case *subject, const rung_matrix *item, bool is_number, uint64_t *state)
{
    bool is_integer = lab_type_is_integer(subject->product.out);
    for (int64_t row = 0; row < item->rows; row++)
        for (int64_t col = 0; col < item->cols; col++)
            if (soak_type_is_narrow(item->type) && !is_integer)
                set_code(item, row, col, narrow_code(state, item->type, subject->content));
            else if (is_integer)
                lab_element_set(item, row, col, integer_value(state, item->type, subject->content));
            else
                lab_element_set(item, row, col,
                                is_number ? real_value(state, item->type, subject->content) : (double)NAN);
}

/* Blocks of Q8_0 and Q4_0: an F16 scale and 32 codes. */
static void fill_blocks(const soak_case *subject, const rung_matrix *item, uint64_t *state)
{
    int64_t elements = rung_type_block_elements(item->type), bytes = rung_type_block_bytes(item->type);
    for (int64_t col = 0; col < item->cols; col++)
        for (int64_t row = 0; row < item->rows; row += elements) {
            unsigned char *block = (unsigned char *)item->data + element_index(item, row, col) / elements * bytes;
            bool is_nan = subject->content == LAB_CONTENT_NON_FINITE && soak_below(state, 60) == 0;
            double scale = is_nan ? (double)NAN
                                  : ldexp((double)soak_below(state, 2001) / 1e3 - 1, -(int)soak_below(state, 8));
            uint16_t half = rung_f16_from_f32((float)scale);
            memcpy(block, &half, sizeof half);
            for (int64_t i = (int64_t)sizeof half; i < bytes; i++)
                block[i] = (unsigned char)(soak_next(state) >> 20);
        }
}

/* Scales of all signs and sizes, 0, and some that are denormal in F16. Those of E4M3 are not negative: NVFP4 has no sign. */
static void fill_scales(const soak_case *subject, const rung_matrix *item, uint64_t *state)
{
    static const double numbers[] = {0.01, 0.75, 3, -0.02, 0, 0x1.8p-16};
    for (int64_t row = 0; row < item->rows; row++)
        for (int64_t col = 0; col < item->cols; col++) {
            bool is_nan = subject->content == LAB_CONTENT_NON_FINITE && soak_below(state, 40) == 0;
            unsigned code = (unsigned)soak_below(state, 0x7b);
            if (item->type == RUNG_E8M0)
                set_code(item, row, col, is_nan ? 255 : 115 + code % 16);
            else if (soak_type_is_narrow(item->type))
                set_code(item, row, col, is_nan ? 0x7f : code);
            else
                lab_element_set(item, row, col,
                                is_nan ? (double)NAN : numbers[code % 6] * (double)(1 + soak_below(state, 9)));
        }
}

/* Reports whether the library may read an operand. */
static bool is_read(const soak_case *subject, soak_operand operand)
{
    if (operand == SOAK_OPERAND_c)
        return subject->beta != 0 || subject->alias == SOAK_ALIAS_residual_is_c;
    if (operand == SOAK_OPERAND_d)
        return subject->alias == SOAK_ALIAS_d_is_c && subject->beta != 0;
    bool is_factor = operand == SOAK_OPERAND_a || operand == SOAK_OPERAND_b || operand >= SOAK_OPERAND_a_scales;
    return !is_factor || subject->alpha != 0;
}

static void fill(const soak_case *subject, soak_operand operand, const soak_data *data)
{
    const rung_matrix *view = &data->views[operand];
    uint64_t state = subject->seed * 31 + (uint64_t)operand;
    bool is_number = is_read(subject, operand);
    if (!is_number && operand != SOAK_OPERAND_c && operand != SOAK_OPERAND_d)
        return;
    for (int64_t i = 0; i < soak_items(subject); i++) {
        rung_matrix item = lab_batch_item(view, i);
        if (lab_type_is_quantized(view->type))
            fill_blocks(subject, &item, &state);
        else if (operand >= SOAK_OPERAND_a_scales)
            fill_scales(subject, &item, &state);
        else
            fill_elements(subject, &item, is_number, &state);
    }
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

/* Places an operand at the end of its slot, or at a multiple of 64 bytes. */
static bool place(const soak_case *subject, int index, soak_operand operand, soak_data *data)
{
    static guarded_memory_t slots[SOAK_MEMBERS_MAX][SOAK_OPERANDS];
    guarded_memory_t *slot = &slots[index][operand];
    rung_matrix *view = &data->views[operand];
    soak_memory *memory = &data->memory[operand];
    int64_t span = span_of(view, soak_items(subject));
    if (operand == SOAK_OPERAND_a && subject->alias == SOAK_ALIAS_c_beside_a && span > 0)
        span += subject->n;
    else if (operand == SOAK_OPERAND_a && subject->alias == SOAK_ALIAS_c_beside_a)
        span = view->offset + subject->k + subject->n;
    memory->bytes = lab_type_bytes(view->type, span);
    if (memory->bytes > SLOT_BYTES - 4096)
        return false;
    if (!slot->start)
        *slot = guarded_create(SLOT_BYTES);
    memory->start = slot->start + slot->bytes - memory->bytes;
    if (subject->layouts[operand].is_aligned)
        memory->start -= (uintptr_t)memory->start % 64;
    bool is_output = operand == data->output;
    memset(memory->start - SOAK_GUARD_BYTES, is_output ? OUTPUT_PATTERN : UNREAD_PATTERN,
           (size_t)(slot->start + slot->bytes - memory->start + SOAK_GUARD_BYTES));
    view->data = memory->start;
    memory->before = malloc((size_t)memory->bytes + SOAK_GUARD_BYTES);
    return memory->before != NULL;
}

/* Puts an operand into the memory of another one. */
static void share(soak_data *data, soak_operand operand, soak_operand with)
{
    data->home[operand] = data->home[with];
    data->views[operand] = data->views[with];
}

static void set_aliases(const soak_case *subject, soak_data *data)
{
    rung_matrix *views = data->views;
    switch (subject->alias) {
    case SOAK_ALIAS_d_is_c: share(data, SOAK_OPERAND_d, SOAK_OPERAND_c); break;
    case SOAK_ALIAS_residual_is_bias: share(data, SOAK_OPERAND_residual, SOAK_OPERAND_bias); break;
    case SOAK_ALIAS_residual_is_c: share(data, SOAK_OPERAND_residual, SOAK_OPERAND_c); break;
    case SOAK_ALIAS_b_is_a:
        share(data, SOAK_OPERAND_b, SOAK_OPERAND_a);
        views[SOAK_OPERAND_b] = rung_matrix_transpose(views[SOAK_OPERAND_a]);
        break;
    case SOAK_ALIAS_c_beside_a:
        data->home[SOAK_OPERAND_c] = SOAK_OPERAND_a;
        views[SOAK_OPERAND_a].row_stride += subject->n;
        views[SOAK_OPERAND_c] = views[SOAK_OPERAND_a];
        views[SOAK_OPERAND_c].cols = subject->n;
        views[SOAK_OPERAND_c].offset += subject->k;
        break;
    case SOAK_ALIAS_none:
    case SOAK_ALIASES: break;
    }
}

static void set_views(const soak_case *subject, soak_data *data)
{
    for (int i = 0; i < SOAK_OPERANDS; i++) {
        soak_operand operand = (soak_operand)i;
        data->home[i] = operand;
        if (!subject->has[i])
            continue;
        data->views[i] = operand_shape(subject, operand);
        set_strides(&subject->layouts[i], soak_items(subject), &data->views[i]);
        if (subject->has_offsets && may_have_offsets(operand))
            set_offsets(subject, operand, data);
    }
    set_aliases(subject, data);
    data->output = subject->has[SOAK_OPERAND_d] ? SOAK_OPERAND_d : SOAK_OPERAND_c;
}

static bool place_views(const soak_case *subject, int index, soak_data *data)
{
    for (int i = 0; i < SOAK_OPERANDS; i++)
        if (subject->has[i] && data->home[i] == (soak_operand)i && !place(subject, index, (soak_operand)i, data))
            return false;
    for (int i = 0; i < SOAK_OPERANDS; i++)
        if (subject->has[i])
            data->views[i].data = data->memory[data->home[i]].start;
    return true;
}

static void set_problem(const soak_case *subject, soak_data *data)
{
    rung_problem *problem = &data->problem;
    const rung_matrix *views = data->views;
    *problem = rung_problem_of(views[SOAK_OPERAND_a], views[SOAK_OPERAND_b], views[SOAK_OPERAND_c]);
    problem->alpha = subject->alpha;
    problem->beta = subject->beta;
    problem->batch = subject->batch;
    problem->compute = subject->compute;
    problem->activation = subject->activation;
    problem->d = views[SOAK_OPERAND_d];
    problem->bias = views[SOAK_OPERAND_bias];
    problem->residual = views[SOAK_OPERAND_residual];
    problem->multiplier = views[SOAK_OPERAND_multiplier];
    data->a_quantization = data->b_quantization = rung_quantization_default();
    data->a_quantization.scales = views[SOAK_OPERAND_a_scales];
    data->a_quantization.zero_points = views[SOAK_OPERAND_a_zeros];
    data->a_quantization.block_rows = subject->a_format.block_across;
    data->a_quantization.block_cols = subject->a_format.block_k;
    data->b_quantization.scales = views[SOAK_OPERAND_b_scales];
    data->b_quantization.zero_points = views[SOAK_OPERAND_b_zeros];
    data->b_quantization.block_rows = subject->b_format.block_k;
    data->b_quantization.block_cols = subject->b_format.block_across;
    problem->a_quantization = soak_format_is_present(&subject->a_format) ? &data->a_quantization : NULL;
    problem->b_quantization = soak_format_is_present(&subject->b_format) ? &data->b_quantization : NULL;
}

bool soak_data_create(const soak_case *subject, int index, soak_data *data)
{
    memset(data, 0, sizeof *data);
    set_views(subject, data);
    if (!place_views(subject, index, data))
        return false;
    set_problem(subject, data);
    for (int i = 0; i < SOAK_OPERANDS; i++)
        if (subject->has[i] && (data->home[i] == (soak_operand)i || subject->alias == SOAK_ALIAS_c_beside_a))
            fill(subject, (soak_operand)i, data);
    for (int i = 0; i < SOAK_OPERANDS; i++)
        if (data->memory[i].start)
            memcpy(data->memory[i].before, data->memory[i].start - SOAK_GUARD_BYTES,
                   (size_t)data->memory[i].bytes + SOAK_GUARD_BYTES);
    return true;
}

void soak_data_destroy(soak_data *data)
{
    for (int i = 0; i < SOAK_OPERANDS; i++)
        free(data->memory[i].before);
}

/* ---- The result ------------------------------------------------------------------------------------------------ */

static soak_memory *output_memory(soak_data *data)
{
    return &data->memory[data->home[data->output]];
}

void soak_data_restore(soak_data *data)
{
    soak_memory *memory = output_memory(data);
    memcpy(memory->start, memory->before + SOAK_GUARD_BYTES, (size_t)memory->bytes);
}

void *soak_output_copy(const soak_data *data)
{
    const soak_memory *memory = &data->memory[data->home[data->output]];
    void *copy = malloc((size_t)memory->bytes + 1);
    if (copy)
        memcpy(copy, memory->start, (size_t)memory->bytes);
    return copy;
}

int64_t soak_output_difference(const soak_case *subject, const soak_data *data, const void *copy)
{
    const soak_memory *memory = &data->memory[data->home[data->output]];
    const rung_matrix *output = &data->views[data->output];
    int64_t number = 0, size = rung_type_size(output->type);
    if (memcmp(copy, memory->start, (size_t)memory->bytes) == 0)
        return -1;
    for (int64_t i = 0; i < soak_items(subject); i++) {
        rung_matrix item = lab_batch_item(output, i), other = item;
        other.data = (void *)(uintptr_t)copy;
        for (int64_t row = 0; row < item.rows; row++)
            for (int64_t col = 0; col < item.cols; col++, number++) {
                int64_t at = size * element_index(&item, row, col);
                if (memcmp((const char *)copy + at, memory->start + at, (size_t)size) != 0 &&
                    !(isnan(lab_element_get(&item, row, col)) && isnan(lab_element_get(&other, row, col))))
                    return number;
            }
    }
    return -1; /* memory outside of the output differs, which soak_data_is_intact() reports */
}

/* Copies the elements of the output to `expected`, which is a copy of the guard and the memory. */
static void copy_output(const soak_case *subject, const soak_data *data, unsigned char *expected)
{
    const rung_matrix *output = &data->views[data->output];
    int64_t size = rung_type_size(output->type);
    for (int64_t i = 0; i < soak_items(subject); i++) {
        rung_matrix item = lab_batch_item(output, i);
        for (int64_t row = 0; row < item.rows; row++)
            for (int64_t col = 0; col < item.cols; col++) {
                int64_t at = size * element_index(&item, row, col);
                memcpy(expected + SOAK_GUARD_BYTES + at, (const unsigned char *)item.data + at, (size_t)size);
            }
    }
}

bool soak_data_is_intact(const soak_case *subject, const soak_data *data, bool is_output_unchanged, char *message,
                         size_t capacity)
{
    static const char *const names[] = {
#define X(name) #name,
        SOAK_OPERAND_LIST(X)
#undef X
    };
    for (int i = 0; i < SOAK_OPERANDS; i++) {
        const soak_memory *memory = &data->memory[i];
        int64_t bytes = memory->bytes + SOAK_GUARD_BYTES;
        if (!memory->start)
            continue;
        unsigned char *expected = malloc((size_t)bytes);
        if (!expected)
            return true;
        memcpy(expected, memory->before, (size_t)bytes);
        if (data->home[data->output] == (soak_operand)i && !is_output_unchanged)
            copy_output(subject, data, expected);
        int64_t at = 0;
        while (at < bytes && expected[at] == memory->start[at - SOAK_GUARD_BYTES])
            at++;
        free(expected);
        if (at < bytes) {
            snprintf(message, capacity, "byte %lld of the memory of %s, which belongs to no output, has changed",
                     (long long)(at - SOAK_GUARD_BYTES), names[i]);
            return false;
        }
    }
    return true;
}
