/* SPDX-License-Identifier: Apache-2.0 */
/* problem.c - kernels rely on what is checked at the door. A mistake that passes is
 * a wild write; a sound problem refused, blocks of one parent above all, is a
 * caller who must copy. Overlap is compared with an enumeration of all elements. */
#include "support/unit.h"

#include <math.h>
#include <stdalign.h>

#include "core/problem.h"

/* ---- Mistakes -------------------------------------------------------------------- */

static float a_data[64], b_data[64], c_data[64];

/* 2 x 3 by 3 x 4 into 2 x 4; each test spoils one thing. */
static rung_problem valid_problem(void)
{
    return rung_problem_of(rung_matrix_of(RUNG_F32, 2, 3, a_data), rung_matrix_of(RUNG_F32, 3, 4, b_data),
                           rung_matrix_of(RUNG_F32, 2, 4, c_data));
}

static void valid_problems_pass(void **state)
{
    (void)state;
    rung_problem problem = valid_problem();
    assert_true(problem.alpha == 1.0 && problem.beta == 0.0);
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.a.row_stride = 0; /* A may repeat */
    problem.b.col_stride = 0;
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    assert_int_equal(rung_problem_check(NULL), RUNG_STATUS_INVALID);
}

/* The same mistake in A, in B and in C; the sentence names the one. */
static void assert_each_refused(void (*spoil)(rung_matrix *), rung_status expected)
{
    for (int i = 0; i < 3; i++) {
        rung_problem problem = valid_problem();
        rung_matrix *views[] = {&problem.a, &problem.b, &problem.c};
        spoil(views[i]);
        assert_int_equal(rung_problem_check(&problem), expected);
        assert_true(strchr(rung_error_text(), "ABC"[i]) != NULL);
    }
}

/* clang-format off */
static void negative_rows(rung_matrix *m) { m->rows = -1; }
static void negative_cols(rung_matrix *m) { m->cols = -2; }
static void negative_row_stride(rung_matrix *m) { m->row_stride = -4; }
static void negative_col_stride(rung_matrix *m) { m->col_stride = -1; }
static void negative_offset(rung_matrix *m) { m->offset = -1; }
static void smallest_offset(rung_matrix *m) { m->offset = INT64_MIN; }
static void bad_type(rung_matrix *m) { m->type = RUNG_TYPE_NONE; }
static void negative_type(rung_matrix *m) { m->type = (rung_type)-1; }
static void block_outside(rung_matrix *m) { *m = rung_matrix_block(*m, 2, 2, 2, 2); }
static void no_data(rung_matrix *m) { m->data = NULL; }
static void misaligned(rung_matrix *m) { m->data = (char *)m->data + 2; }
static void data_and_buffer(rung_matrix *m) { m->buffer = (rung_buffer *)a_data; }
static void huge_row_stride(rung_matrix *m) { m->row_stride = INT64_MAX; }
static void huge_col_stride(rung_matrix *m) { m->col_stride = INT64_MAX / 2; }
static void huge_offset(rung_matrix *m) { m->offset = INT64_MAX - 1; }
static void huge_bytes(rung_matrix *m) { m->offset = INT64_MAX / 4; }
/* clang-format on */

static void mistakes_in_one_view(void **state)
{
    (void)state;
    assert_each_refused(negative_rows, RUNG_STATUS_INVALID);
    assert_each_refused(negative_cols, RUNG_STATUS_INVALID);
    assert_each_refused(negative_row_stride, RUNG_STATUS_INVALID);
    assert_each_refused(negative_col_stride, RUNG_STATUS_INVALID);
    assert_each_refused(negative_offset, RUNG_STATUS_INVALID);
    assert_each_refused(smallest_offset, RUNG_STATUS_INVALID);
    assert_each_refused(bad_type, RUNG_STATUS_INVALID);
    assert_each_refused(negative_type, RUNG_STATUS_INVALID);
    assert_each_refused(block_outside, RUNG_STATUS_INVALID);
    assert_each_refused(no_data, RUNG_STATUS_INVALID);
    assert_each_refused(misaligned, RUNG_STATUS_INVALID);
    assert_each_refused(data_and_buffer, RUNG_STATUS_INVALID);
    assert_each_refused(huge_row_stride, RUNG_STATUS_TOO_LARGE);
    assert_each_refused(huge_col_stride, RUNG_STATUS_TOO_LARGE);
    assert_each_refused(huge_offset, RUNG_STATUS_TOO_LARGE);
    assert_each_refused(huge_bytes, RUNG_STATUS_TOO_LARGE);
}

static void shapes_that_do_not_fit(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        rung_problem problem = valid_problem();
        rung_matrix *views[] = {&problem.a, &problem.b, &problem.c};
        int64_t *size = i % 2 ? &views[i / 2]->rows : &views[i / 2]->cols;
        ++*size;
        assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    }
}

/* What holds no element needs no memory. */
static void empty_views_need_no_data(void **state)
{
    (void)state;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 2, 0, NULL), rung_matrix_of(RUNG_F32, 0, 4, NULL),
                                           rung_matrix_of(RUNG_F32, 2, 4, c_data));
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.c.data = NULL;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    problem = rung_problem_of(rung_matrix_of(RUNG_F32, 0, 3, NULL), rung_matrix_of(RUNG_F32, 3, 4, b_data),
                              rung_matrix_of(RUNG_F32, 0, 4, NULL));
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
}

static void integer_scalars(void **state)
{
    static int32_t a[6], b[12], c[8];
    const double sound[] = {0.0, 1.0, -3.0, 2147483647.0, -2147483648.0};
    const double spoilt[] = {0.5, -1.25, 2147483648.0, 2147483649.0, 1e300, (double)INFINITY, (double)NAN};
    (void)state;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_I32, 2, 3, a), rung_matrix_of(RUNG_I32, 3, 4, b),
                                           rung_matrix_of(RUNG_I32, 2, 4, c));
    for (size_t i = 0; i < sizeof sound / sizeof *sound; i++) {
        problem.alpha = problem.beta = sound[i];
        assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    }
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        problem.alpha = spoilt[i];
        problem.beta = 1.0;
        assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
        problem.alpha = 1.0;
        problem.beta = spoilt[i];
        assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    }
    problem = valid_problem(); /* floating ones take anything */
    problem.alpha = 0.5;
    problem.beta = (double)NAN;
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
}

static void same_form_compares_every_field(void **state)
{
    (void)state;
    rung_problem first = valid_problem(), second = valid_problem();
    second.alpha = 7.0;
    second.beta = 2.0;
    second.a.offset = 3;
    second.b.data = a_data;
    assert_true(rungi_problem_has_same_form(&first, &second));
    for (int view = 0; view < 3; view++)
        for (int field = 0; field < 5; field++) {
            second = valid_problem();
            rung_matrix *views[] = {&second.a, &second.b, &second.c};
            rung_matrix *m = views[view];
            if (field == 0)
                m->type = RUNG_I32;
            int64_t *fields[] = {NULL, &m->rows, &m->cols, &m->row_stride, &m->col_stride};
            if (field > 0)
                ++*fields[field];
            assert_false(rungi_problem_has_same_form(&first, &second));
        }
}

/* A plan for one form of scales would read beyond the end of others, or the wrong ones. */
static void same_form_compares_scales(void **state)
{
    static float scales[8];
    static const int64_t offsets[2];
    (void)state;
    rung_quantization usual = rung_quantization_default();
    usual.block_rows = usual.block_cols = 1;
    usual.scales = usual.zero_points = rung_matrix_of(RUNG_F32, 2, 2, scales);
    rung_problem first = valid_problem();
    first.b_quantization = &usual;
    rung_problem second = first;
    second.b_quantization = NULL;
    assert_false(rungi_problem_has_same_form(&first, &second));
    assert_false(rungi_problem_has_same_form(&second, &first));
    rung_quantization other = usual;
    second.b_quantization = &other;
    other.scales.offset = 2; /* memory is no part of the form */
    other.zero_points.data = a_data;
    other.scales.batch_stride = 5; /* one item has no batch stride */
    assert_true(rungi_problem_has_same_form(&first, &second));
    first.batch = second.batch = 2;
    assert_false(rungi_problem_has_same_form(&first, &second));
    first.batch = second.batch = 1;
    for (int field = 0; field < 16; field++) {
        other = usual;
        rung_matrix *m = field % 2 ? &other.scales : &other.zero_points;
        int64_t *fields[] = {&m->rows, &m->cols, &m->row_stride, &m->col_stride, &other.block_rows, &other.block_cols};
        if (field / 2 < 6)
            ++*fields[field / 2];
        else if (field / 2 == 6)
            m->type = RUNG_F16;
        else
            m->batch_offsets = offsets;
        assert_false(rungi_problem_has_same_form(&first, &second));
    }
    other = usual;
    other.size = 3; /* unreadable, so never the same */
    assert_false(rungi_problem_has_same_form(&first, &second));
    assert_false(rungi_problem_has_same_form(&second, &first));
}

/* ---- Scales ---------------------------------------------------------------------- */

enum { BLOCK = 32 };

static _Alignas(4) uint8_t blocks[8 * 34];

/* 2 x 32 by 32 x 2 into 2 x 2; the columns of B are one block each. */
static rung_problem problem_of_blocks(void)
{
    return rung_problem_of(rung_matrix_of(RUNG_F32, 2, BLOCK, a_data),
                           rung_matrix_transpose(rung_matrix_of(RUNG_Q8_0, 2, BLOCK, blocks)),
                           rung_matrix_of(RUNG_F32, 2, 2, c_data));
}

static void assert_refused(const rung_problem *problem, rung_status expected, const char *text)
{
    rung_status status = rung_problem_check(problem);
    if (status != expected || !strstr(rung_error_text(), text))
        fail_msg("%s: %s", rung_status_name(status), rung_error_text());
}

/* An item that begins within a block has no scale. */
static void items_begin_at_blocks(void **state)
{
    const int64_t whole[] = {0, 2 * BLOCK}, within[] = {0, 2 * BLOCK + 1}, c_offsets[] = {0, 4};
    (void)state;
    rung_problem problem = problem_of_blocks();
    problem.batch = 2;
    problem.c.batch_stride = 4;
    problem.b.batch_stride = 2 * BLOCK;
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.b.batch_stride = 2 * BLOCK + 1;
    assert_refused(&problem, RUNG_STATUS_INVALID, "the batch stride of B is 65");
    problem.b.batch_stride = 0;
    problem.c.batch_offsets = c_offsets;
    problem.a.batch_offsets = c_offsets;
    problem.b.batch_offsets = whole;
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.b.batch_offsets = within;
    assert_refused(&problem, RUNG_STATUS_INVALID, "item 1 of B is 65");
}

/* Only inputs may be narrow, and only B may have blocks. */
static void types_of_each_operand(void **state)
{
    (void)state;
    rung_problem problem = valid_problem();
    problem.c.type = RUNG_I4;
    assert_refused(&problem, RUNG_STATUS_UNSUPPORTED, "C has type i4, which only A and B may have");
    problem = valid_problem();
    problem.residual = rung_matrix_of(RUNG_F4E2M1, 2, 4, a_data);
    assert_refused(&problem, RUNG_STATUS_UNSUPPORTED, "the residual has type f4e2m1");
    problem = valid_problem();
    problem.a.type = RUNG_Q8_0;
    assert_refused(&problem, RUNG_STATUS_UNSUPPORTED, "A has type q8_0, which only B may have");
    problem = valid_problem();
    problem.a.type = RUNG_E8M0;
    assert_refused(&problem, RUNG_STATUS_UNSUPPORTED, "A has type e8m0");
}

static void types_with_scales(void **state)
{
    static float scales[4];
    static const struct {
        rung_type a, b, c;
        bool is_a_scaled, is_valid;
    } cases[] = {
        {RUNG_F32, RUNG_I8, RUNG_F32, false, true},   {RUNG_BF16, RUNG_U4, RUNG_BF16, false, true},
        {RUNG_F64, RUNG_I8, RUNG_F64, false, false},  {RUNG_I32, RUNG_I8, RUNG_I32, false, false},
        {RUNG_F32, RUNG_F32, RUNG_F32, false, false}, {RUNG_F32, RUNG_I8, RUNG_F32, true, false},
        {RUNG_I8, RUNG_I8, RUNG_F32, true, true},     {RUNG_I8, RUNG_U4, RUNG_BF16, true, true},
        {RUNG_I8, RUNG_I8, RUNG_F16, true, false},    {RUNG_I8, RUNG_Q8_0, RUNG_F32, true, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_quantization quantization = rung_quantization_default();
        quantization.scales = rung_matrix_of(RUNG_F32, 1, 1, scales);
        rung_problem problem = problem_of_blocks();
        problem.a.type = cases[i].a;
        problem.b.type = cases[i].b;
        problem.c.type = cases[i].c;
        problem.a_quantization = cases[i].is_a_scaled ? &quantization : NULL;
        problem.b_quantization = cases[i].b == RUNG_Q8_0 ? NULL : &quantization;
        rung_status status = rungi_problem_check_form(&problem);
        if (status != (cases[i].is_valid ? RUNG_OK : RUNG_STATUS_UNSUPPORTED))
            fail_msg("case %zu: %s: %s", i, rung_status_name(status), rung_error_text());
    }
}

static void mistakes_in_scales(void **state)
{
    static float scales[64];
    (void)state;
    rung_quantization quantization = rung_quantization_default();
    rung_problem problem = valid_problem();
    problem.a.type = problem.b.type = RUNG_I8;
    problem.a_quantization = &quantization;
    quantization.scales = rung_matrix_of(RUNG_F32, 1, 1, scales);
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    quantization.scales.row_stride = -1;
    assert_refused(&problem, RUNG_STATUS_INVALID, "the matrix of A's scales");
    quantization.scales.row_stride = 1;
    quantization.scales.data = NULL;
    assert_refused(&problem, RUNG_STATUS_INVALID, "the matrix of A's scales");
    quantization.scales = (rung_matrix){.type = RUNG_TYPE_NONE};
    quantization.zero_points = rung_matrix_of(RUNG_F32, 1, 1, scales);
    quantization.zero_points.batch_stride = -1;
    assert_refused(&problem, RUNG_STATUS_INVALID, "the matrix of A's zero points");
    quantization.zero_points.batch_stride = 0;
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    quantization.zero_points.data = c_data + 3; /* C would overwrite it */
    assert_refused(&problem, RUNG_STATUS_ALIASED, "C overlaps the matrix of A's zero points");
    problem.a_quantization = NULL;
    problem.b_quantization = &quantization;
    problem.a.type = RUNG_F32;
    assert_refused(&problem, RUNG_STATUS_ALIASED, "C overlaps the matrix of zero points");
    quantization.zero_points.data = scales;
    quantization.block_rows = -1;
    assert_refused(&problem, RUNG_STATUS_INVALID, "a block has -1 x 0 elements");
    quantization.block_rows = 0;
    problem.b_quantization = NULL;
    problem.b.type = RUNG_F32;
    problem.d = problem.c;
    problem.d_quantization = &quantization;
    assert_refused(&problem, RUNG_STATUS_UNSUPPORTED, "D has scales");
    quantization.size = 3;
    assert_refused(&problem, RUNG_STATUS_INVALID, "rung_quantization");
}

/* The end of a matrix of blocks is the end of its last block. */
static void blocks_overlap_to_the_byte(void **state)
{
    (void)state;
    rung_problem problem = problem_of_blocks();
    problem.c.data = blocks + 2 * 34;
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.c.data = blocks + 2 * 34 - 4;
    assert_refused(&problem, RUNG_STATUS_ALIASED, "C overlaps B");
    problem.b.col_stride = 2 * BLOCK; /* the second column is the third block */
    problem.c.data = blocks + 2 * 34;
    assert_refused(&problem, RUNG_STATUS_ALIASED, "C overlaps B");
    problem.c.data = blocks + 3 * 34 + 2; /* the first aligned address behind it */
    assert_int_equal(rung_problem_check(&problem), RUNG_OK);
    problem.b.offset = BLOCK;
    assert_refused(&problem, RUNG_STATUS_ALIASED, "C overlaps B");
}

/* Only the very same view may be read and written at once. */
static void same_view_compares_every_field(void **state)
{
    const int64_t offsets[] = {0, 8}, equal[] = {0, 8}, others[] = {0, 9};
    (void)state;
    rung_matrix view = rung_matrix_of(RUNG_F32, 2, 4, c_data), other = view,
                nothing = rung_matrix_of(RUNG_F32, 2, 4, NULL);
    assert_true(rungi_matrix_is_same_view(&view, &other, 1));
    assert_false(rungi_matrix_is_same_view(&nothing, &nothing, 1));
    for (int field = 0; field < 9; field++) {
        other = view;
        int64_t *fields[] = {&other.rows, &other.cols, &other.row_stride, &other.col_stride, &other.offset};
        if (field < 5)
            ++*fields[field];
        else if (field == 5)
            other.type = RUNG_I32;
        else if (field == 6)
            other.data = c_data + 1;
        else if (field == 7)
            other.buffer = (rung_buffer *)(void *)a_data;
        else
            other.batch_offsets = offsets;
        assert_false(rungi_matrix_is_same_view(&view, &other, 1));
    }
    other = view;
    other.batch_stride = 8;
    assert_true(rungi_matrix_is_same_view(&view, &other, 1));
    assert_false(rungi_matrix_is_same_view(&view, &other, 2));
    view.batch_offsets = offsets;
    other.batch_offsets = offsets; /* the stride is not used */
    assert_true(rungi_matrix_is_same_view(&view, &other, 2));
    other.batch_offsets = equal;
    assert_true(rungi_matrix_is_same_view(&view, &other, 2));
    other.batch_offsets = others;
    assert_false(rungi_matrix_is_same_view(&view, &other, 2));
    assert_true(rungi_matrix_is_same_view(&view, &other, 1));
}

/* ---- Buffers of the CPU ---------------------------------------------------------- */

typedef struct problem_device {
    rung_context *context;
    rung_device *device;
    float memory[64];
} problem_device_t;

static int open_bench(void **state)
{
    problem_device_t *made = calloc(1, sizeof *made);
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    *state = made;
    if (!made || rung_context_create(&options, &made->context) != RUNG_OK)
        return -1;
    return rung_device_open(made->context, "cpu", &made->device) == RUNG_OK ? 0 : -1;
}

static int close_bench(void **state)
{
    problem_device_t *made = *state;
    rung_device_close(made->device);
    rung_context_destroy(made->context);
    free(made);
    return 0;
}

static void buffers_too_short(void **state)
{
    problem_device_t *bench = *state;
    rung_buffer *buffer;
    assert_int_equal(rung_buffer_create(bench->device, 8 * 4, &buffer), RUNG_OK);
    rung_problem problem = valid_problem();
    problem.c = rung_matrix_in_buffer(RUNG_F32, 2, 4, buffer, 0);
    assert_int_equal(rung_problem_check(&problem), RUNG_OK); /* to the last byte */
    problem.c.offset = 1;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    problem.c.offset = 0;
    problem.c.row_stride = 5;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    rung_buffer_destroy(buffer);

    assert_int_equal(rung_buffer_create(bench->device, 8 * 4 - 1, &buffer), RUNG_OK);
    problem.c = rung_matrix_in_buffer(RUNG_F32, 2, 4, buffer, 0);
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    rung_buffer_destroy(buffer);
}

/* A and C by three ways to the same memory: they meet, whatever the way. */
static void wrapped_memory_is_recognised(void **state)
{
    problem_device_t *bench = *state;
    rung_buffer *all, *later, *shifted;
    float *memory = bench->memory;
    assert_int_equal(rung_buffer_wrap(bench->device, memory, 0, 64 * 4, &all), RUNG_OK);
    assert_int_equal(rung_buffer_wrap(bench->device, memory + 16, 0, 48 * 4, &later), RUNG_OK);
    assert_int_equal(rung_buffer_wrap(bench->device, memory, 16 * 4, 48 * 4, &shifted), RUNG_OK);

    const rung_matrix meeting[] = {
        rung_matrix_in_buffer(RUNG_F32, 4, 4, all, 16),    rung_matrix_in_buffer(RUNG_F32, 4, 4, later, 0),
        rung_matrix_in_buffer(RUNG_F32, 4, 4, shifted, 0), rung_matrix_of(RUNG_F32, 4, 4, memory + 16),
        rung_matrix_in_buffer(RUNG_F32, 4, 4, all, 31),    rung_matrix_in_buffer(RUNG_F32, 4, 4, all, 1),
    };
    const rung_matrix apart[] = {
        rung_matrix_in_buffer(RUNG_F32, 4, 4, all, 0),    rung_matrix_in_buffer(RUNG_F32, 4, 4, all, 32),
        rung_matrix_in_buffer(RUNG_F32, 4, 4, later, 16), rung_matrix_in_buffer(RUNG_F32, 4, 4, shifted, 32),
        rung_matrix_of(RUNG_F32, 4, 4, memory),           rung_matrix_of(RUNG_F32, 4, 4, memory + 32),
    };
    rung_matrix b = rung_matrix_of(RUNG_F32, 4, 4, b_data);
    for (int c = 0; c < 4; c++) {
        for (int i = 0; i < 6; i++) {
            rung_problem problem = rung_problem_of(meeting[i], b, meeting[c]);
            assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_ALIASED);
            problem = rung_problem_of(b, meeting[i], meeting[c]);
            assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_ALIASED);
            problem = rung_problem_of(apart[i], b, meeting[c]);
            assert_int_equal(rung_problem_check(&problem), RUNG_OK);
        }
    }
    rung_buffer_destroy(all);
    rung_buffer_destroy(later);
    rung_buffer_destroy(shifted);
}

/* A workspace is written before all scales are read. */
static void workspaces_are_apart_from_scales(void **state)
{
    problem_device_t *bench = *state;
    rung_buffer *workspace;
    assert_int_equal(rung_buffer_wrap(bench->device, bench->memory, 0, 32 * 4, &workspace), RUNG_OK);
    rung_quantization quantization = rung_quantization_default();
    rung_problem problem = valid_problem();
    problem.b.type = RUNG_I8;
    assert_false(rungi_problem_overlaps_buffer(&problem, workspace, 32 * 4));
    problem.b_quantization = &quantization;
    quantization.scales = rung_matrix_of(RUNG_F32, 1, 1, bench->memory + 32);
    assert_false(rungi_problem_overlaps_buffer(&problem, workspace, 32 * 4));
    quantization.scales.data = bench->memory + 31;
    assert_true(rungi_problem_overlaps_buffer(&problem, workspace, 32 * 4));
    assert_false(rungi_problem_overlaps_buffer(&problem, workspace, 31 * 4));
    quantization.zero_points = quantization.scales;
    quantization.scales.data = a_data;
    assert_true(rungi_problem_overlaps_buffer(&problem, workspace, 32 * 4));
    problem.b_quantization = NULL;
    problem.a_quantization = &quantization;
    assert_true(rungi_problem_overlaps_buffer(&problem, workspace, 32 * 4));
    problem.a_quantization = NULL;
    problem.c.data = bench->memory + 31;
    assert_true(rungi_problem_overlaps_buffer(&problem, workspace, 32 * 4));
    rung_buffer_destroy(workspace);
}

/* A float at an odd address is undefined behaviour, by whatever way it comes. */
static void wrapped_memory_must_be_aligned(void **state)
{
    problem_device_t *bench = *state;
    rung_buffer *by_pointer, *by_offset;
    char *memory = (char *)bench->memory;
    assert_int_equal(rung_buffer_wrap(bench->device, memory + 2, 0, 64, &by_pointer), RUNG_OK);
    assert_int_equal(rung_buffer_wrap(bench->device, memory, 2, 64, &by_offset), RUNG_OK);
    rung_problem problem = valid_problem();
    problem.c = rung_matrix_in_buffer(RUNG_F32, 2, 4, by_pointer, 0);
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    problem.c.buffer = by_offset;
    assert_int_equal(rung_problem_check(&problem), RUNG_STATUS_INVALID);
    rung_buffer_destroy(by_pointer);
    rung_buffer_destroy(by_offset);
}

/* ---- Overlap against enumeration ------------------------------------------------- */

enum { ARENA = 1024 };
static unsigned char arena[ARENA];

static void mark(const rung_matrix *view, unsigned char *marks, unsigned char bit)
{
    int64_t size = rung_type_size(view->type);
    for (int64_t i = 0; i < view->rows; i++)
        for (int64_t j = 0; j < view->cols; j++) {
            int64_t at = ((unsigned char *)view->data - arena) +
                         size * (view->offset + i * view->row_stride + j * view->col_stride);
            assert_in_range(at, 0, ARENA - size);
            for (int64_t byte = 0; byte < size; byte++)
                marks[at + byte] |= bit;
        }
}

static bool overlaps_by_enumeration(const rung_matrix *x, const rung_matrix *y)
{
    unsigned char marks[ARENA] = {0};
    mark(x, marks, 1);
    mark(y, marks, 2);
    return memchr(marks, 3, sizeof marks) != NULL;
}

/* Fewer bytes marked than elements have: two stand in one place. */
static bool self_overlaps_by_enumeration(const rung_matrix *view)
{
    unsigned char marks[ARENA] = {0};
    int64_t marked = 0;
    mark(view, marks, 1);
    for (int i = 0; i < ARENA; i++)
        marked += marks[i];
    return marked < view->rows * view->cols * rung_type_size(view->type);
}

static rung_matrix random_view(uint64_t *seed)
{
    static const rung_type types[] = {RUNG_F32, RUNG_F64, RUNG_F16, RUNG_I8};
    rung_type type = types[unit_random(seed, 4)];
    return (rung_matrix){
        .type = type,
        .rows = unit_random(seed, 6),
        .cols = unit_random(seed, 6),
        .row_stride = unit_random(seed, 10),
        .col_stride = unit_random(seed, 10),
        .data = arena + rung_type_size(type) * unit_random(seed, 8),
        .offset = unit_random(seed, 20),
    };
}

static void self_overlap_is_exact(void **state)
{
    uint64_t seed = 11;
    int met = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        rung_matrix view = random_view(&seed);
        bool really = self_overlaps_by_enumeration(&view);
        assert_int_equal(rungi_matrix_overlaps_itself(&view), really);
        met += really;
    }
    assert_in_range(met, 2000, 18000); /* both answers were asked for */
}

static void pair_overlap_is_never_missed(void **state)
{
    uint64_t seed = 12;
    int met = 0, refused = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        rung_matrix x = random_view(&seed), y = random_view(&seed);
        bool really = overlaps_by_enumeration(&x, &y), told = rungi_matrices_overlap(&x, &y);
        assert_true(told || !really);
        assert_int_equal(rungi_matrices_overlap(&y, &x), told);
        met += really;
        refused += told;
    }
    assert_in_range(met, 2000, 18000);
    assert_true(refused < 20000);
}

/* Same strides, any place: what shifted grids of one pitch do. */
static void pair_overlap_over_one_pitch(void **state)
{
    uint64_t seed = 13;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        rung_matrix x = random_view(&seed), y = random_view(&seed);
        y.type = x.type;
        y.row_stride = x.row_stride;
        y.col_stride = x.col_stride;
        y.data = x.data;
        bool really = overlaps_by_enumeration(&x, &y);
        assert_true(rungi_matrices_overlap(&x, &y) || !really);
        y = rung_matrix_transpose(y);
        assert_true(rungi_matrices_overlap(&x, &y) || !really);
    }
}

/* A matrix as it is stored: rows, or columns, beside each other with gaps. */
static rung_matrix random_parent(uint64_t *seed)
{
    rung_matrix parent = {.type = unit_random(seed, 2) ? RUNG_F32 : RUNG_F16,
                          .rows = 1 + unit_random(seed, 6),
                          .cols = 1 + unit_random(seed, 6),
                          .col_stride = 1 + unit_random(seed, 3),
                          .offset = unit_random(seed, 5),
                          .data = arena};
    parent.row_stride = parent.cols * parent.col_stride + unit_random(seed, 4);
    return unit_random(seed, 2) ? rung_matrix_transpose(parent) : parent;
}

static rung_matrix random_block(uint64_t *seed, rung_matrix parent)
{
    int64_t row = unit_random(seed, parent.rows), col = unit_random(seed, parent.cols);
    int64_t rows = unit_random(seed, parent.rows - row + 1);
    int64_t cols = unit_random(seed, parent.cols - col + 1);
    rung_matrix block = rung_matrix_block(parent, row, col, rows, cols);
    return unit_random(seed, 2) ? rung_matrix_transpose(block) : block;
}

static void blocks_of_one_parent_are_exact(void **state)
{
    uint64_t seed = 14;
    int met = 0;
    (void)state;
    for (int i = 0; i < 30000; i++) {
        rung_matrix parent = random_parent(&seed);
        rung_matrix x = random_block(&seed, parent), y = random_block(&seed, parent);
        bool really = overlaps_by_enumeration(&x, &y);
        assert_int_equal(rungi_matrices_overlap(&x, &y), really);
        met += really;
    }
    assert_in_range(met, 2000, 28000);
}

/* ---- Neighbours that rung_gemm must take ----------------------------------------- */

static void assert_multiplies(rung_context *context, rung_matrix a, rung_matrix b, rung_matrix c)
{
    assert_int_equal(rung_gemm(context, 1.0, a, b, 0.0, c), RUNG_OK);
    assert_int_equal(unit_first_wrong(&a, &b, &c), -1);
}

static void adjacent_blocks_are_accepted(void **state)
{
    problem_device_t *bench = *state;
    float data[64] = {0}, small[64] = {0}, before[64];
    uint64_t seed = 15;
    rung_matrix parent = rung_matrix_of(RUNG_F32, 8, 8, data);
    rung_matrix other = rung_matrix_of(RUNG_F32, 4, 4, small);
    unit_fill(&seed, data, 64);
    unit_fill(&seed, small, 64);
    memcpy(before, data, sizeof data);

    rung_matrix left = rung_matrix_block(parent, 0, 0, 8, 4);
    rung_matrix right = rung_matrix_block(parent, 0, 4, 8, 4);
    assert_multiplies(bench->context, left, other, right);
    for (int i = 0; i < 8; i++) /* the left half is as it was */
        assert_memory_equal(data + 8 * i, before + 8 * i, 4 * sizeof *data);

    unit_fill(&seed, data, 64);
    rung_matrix upper = rung_matrix_block(parent, 0, 0, 4, 8);
    rung_matrix lower = rung_matrix_block(parent, 4, 0, 4, 8);
    assert_multiplies(bench->context, other, upper, lower);

    unit_fill(&seed, data, 64);
    assert_multiplies(bench->context, rung_matrix_block(parent, 0, 0, 4, 4), rung_matrix_block(parent, 4, 0, 4, 4),
                      rung_matrix_block(parent, 0, 4, 4, 4));
    assert_multiplies(bench->context, rung_matrix_transpose(rung_matrix_block(parent, 0, 0, 4, 4)),
                      rung_matrix_block(parent, 0, 4, 4, 4), rung_matrix_block(parent, 4, 4, 4, 4));

    unit_fill(&seed, data, 64);
    rung_matrix even = {.type = RUNG_F32, .rows = 8, .cols = 4, .row_stride = 8, .col_stride = 2, .data = data};
    rung_matrix odd = even;
    odd.offset = 1;
    assert_multiplies(bench->context, even, other, odd);
    assert_int_equal(rung_gemm(bench->context, 1.0, even, other, 0.0, even), RUNG_STATUS_ALIASED);
    assert_int_equal(rung_gemm(bench->context, 1.0, left, other, 0.0, rung_matrix_block(parent, 0, 3, 8, 4)),
                     RUNG_STATUS_ALIASED);
    assert_int_equal(rung_gemm(bench->context, 1.0, other, upper, 0.0, rung_matrix_block(parent, 3, 0, 4, 8)),
                     RUNG_STATUS_ALIASED);
}

static void c_may_not_overlap_itself(void **state)
{
    problem_device_t *bench = *state;
    rung_problem p = valid_problem();
    p.c.row_stride = 0;
    assert_int_equal(rung_gemm(bench->context, 1.0, p.a, p.b, 0.0, p.c), RUNG_STATUS_ALIASED);
    p.c.row_stride = 3; /* shorter than a row */
    assert_int_equal(rung_gemm(bench->context, 1.0, p.a, p.b, 0.0, p.c), RUNG_STATUS_ALIASED);
}

/* On the CPU a packed B may lie in memory that is wrapped: the same bytes as an operand's are refused, whether that
 * has a buffer or data. */
static void packed_buffers_are_rejected_as_operands(void **state)
{
    enum { SIZE = 8, ROOM = 1 << 16 };
    static alignas(64) float memory[ROOM], other[3][SIZE * SIZE];
    problem_device_t *bench = *state;
    rung_buffer *packed;
    rung_queue *queue;
    rung_plan *plan;
    rung_plan_options options = {.size = sizeof(rung_plan_options), .packed_b = 1};
    rung_matrix square = rung_matrix_of(RUNG_F32, SIZE, SIZE, other[0]), in_memory = square, b = square;
    in_memory.data = memory;
    b.data = other[1];
    rung_problem problem = rung_problem_of(square, b, square);
    problem.c.data = other[2];
    assert_int_equal(rung_plan_create(bench->device, &problem, &options, &plan), RUNG_OK);
    int64_t bytes = rung_plan_describe(plan)->packed_b_bytes;
    assert_true(bytes > 0 && bytes <= (int64_t)sizeof memory - 64);
    assert_int_equal(rung_buffer_wrap(bench->device, memory, 0, sizeof memory, &packed), RUNG_OK);
    assert_int_equal(rung_queue_create(bench->device, &queue), RUNG_OK);

    in_memory.offset = SIZE; /* B lies where it is to be packed */
    assert_int_equal(rung_plan_pack_b(plan, queue, &in_memory, packed, NULL), RUNG_STATUS_ALIASED);
    assert_int_equal(rung_plan_pack_b(plan, queue, &b, packed, NULL), RUNG_OK);
    rung_run_options run = {.size = sizeof(rung_run_options), .packed_b = packed};
    assert_int_equal(rung_plan_run(plan, queue, &problem, &run), RUNG_OK);
    for (int i = 0; i < 2; i++) { /* A, then C, in the packed B's first bytes and in its last */
        rung_problem bad = problem;
        rung_matrix *view = i == 0 ? &bad.a : &bad.c;
        view->data = memory;
        view->offset = 0;
        assert_int_equal(rung_plan_run(plan, queue, &bad, &run), RUNG_STATUS_ALIASED);
        view->offset = bytes / 4 - 1;
        assert_int_equal(rung_plan_run(plan, queue, &bad, &run), RUNG_STATUS_ALIASED);
        view->offset = bytes / 4; /* behind it there is nothing of it */
        assert_int_equal(rung_plan_run(plan, queue, &bad, &run), RUNG_OK);
    }
    rung_plan_destroy(plan);
    rung_buffer_destroy(packed);
    rung_queue_destroy(queue);
}

/* Scales of an operand stay, unless it has no elements, or scales of its own. */
static void normalized_quantization(void **state)
{
    static const rung_quantization scales = {0};
    (void)state;
    rung_problem problem = valid_problem();
    problem.a_quantization = problem.b_quantization = &scales;
    rungi_problem_normalize(&problem);
    assert_ptr_equal(problem.a_quantization, &scales);
    assert_ptr_equal(problem.b_quantization, &scales);
    problem.b.type = RUNG_Q8_0;
    rungi_problem_normalize(&problem);
    assert_ptr_equal(problem.a_quantization, &scales);
    assert_null(problem.b_quantization);
    problem.a.cols = problem.b.rows = 0;
    problem.b.type = RUNG_F32;
    problem.b_quantization = &scales;
    rungi_problem_normalize(&problem);
    assert_null(problem.a_quantization);
    assert_null(problem.b_quantization);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_problems_pass),
        cmocka_unit_test(mistakes_in_one_view),
        cmocka_unit_test(shapes_that_do_not_fit),
        cmocka_unit_test(empty_views_need_no_data),
        cmocka_unit_test(integer_scalars),
        cmocka_unit_test(same_form_compares_every_field),
        cmocka_unit_test(same_form_compares_scales),
        cmocka_unit_test(items_begin_at_blocks),
        cmocka_unit_test(types_of_each_operand),
        cmocka_unit_test(types_with_scales),
        cmocka_unit_test(mistakes_in_scales),
        cmocka_unit_test(blocks_overlap_to_the_byte),
        cmocka_unit_test(same_view_compares_every_field),
        cmocka_unit_test_setup_teardown(buffers_too_short, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(wrapped_memory_is_recognised, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(workspaces_are_apart_from_scales, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(wrapped_memory_must_be_aligned, open_bench, close_bench),
        cmocka_unit_test(self_overlap_is_exact),
        cmocka_unit_test(pair_overlap_is_never_missed),
        cmocka_unit_test(pair_overlap_over_one_pitch),
        cmocka_unit_test(blocks_of_one_parent_are_exact),
        cmocka_unit_test_setup_teardown(adjacent_blocks_are_accepted, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(c_may_not_overlap_itself, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(packed_buffers_are_rejected_as_operands, open_bench, close_bench),
        cmocka_unit_test(normalized_quantization),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
