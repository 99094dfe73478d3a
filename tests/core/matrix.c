/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.c - views are plain arithmetic on which everything else stands: an offset
 * that is one off here is a wrong result or a wild write everywhere. */
#include "support/unit.h"

#include "core/enum_counts.h"
#include "core/matrix.h"

static const rung_type types[] = {
    RUNG_F32, RUNG_F64, RUNG_F16, RUNG_BF16, RUNG_I8, RUNG_I32,
};
enum { TYPES = sizeof types / sizeof *types };

/* ---- Making views ---------------------------------------------------------------- */

static void types_have_sizes_and_words(void **state)
{
    (void)state;
    for (int type = RUNG_F32; type < RUNGI_TYPE_COUNT; type++) {
        assert_string_not_equal(rung_type_name((rung_type)type), "?");
        assert_true(rung_type_block_elements((rung_type)type) > 0);
        assert_true(rung_type_block_bytes((rung_type)type) > 0);
    }
    assert_string_equal(rung_type_name(RUNG_TYPE_NONE), "none");
    assert_int_equal(rung_type_size(RUNG_TYPE_NONE), 0);
    assert_int_equal(rung_type_block_elements(RUNG_TYPE_NONE), 0);
    assert_int_equal(rung_type_block_bytes(RUNG_TYPE_NONE), 0);
    assert_int_equal(rung_type_block_elements(RUNG_I4), 2);
    assert_int_equal(rung_type_block_bytes(RUNG_Q4_0), 18);
    assert_int_equal(rung_type_block_bytes(RUNG_Q8_0), 34);
    assert_int_equal(rung_type_size(RUNG_I4), 0);
    assert_int_equal(rung_type_size(RUNG_F32), 4);
    assert_int_equal(rung_type_size(RUNG_F64), 8);
    assert_int_equal(rung_type_size(RUNG_F16), 2);
    assert_int_equal(rung_type_size(RUNG_BF16), 2);
    assert_int_equal(rung_type_size(RUNG_I8), 1);
    assert_int_equal(rung_type_size(RUNG_I32), 4);
    assert_string_equal(rung_type_name(RUNG_BF16), "bf16");
    assert_int_equal(rung_type_size((rung_type)RUNGI_TYPE_COUNT), 0);
    assert_int_equal(rung_type_size((rung_type)77), 0);
    assert_string_equal(rung_type_name((rung_type)77), "?");
    assert_string_equal(rung_type_name((rung_type)RUNGI_TYPE_COUNT), "?");
}

static void a_leading_dimension_is_a_stride(void **state)
{
    float data[64] = {0};
    (void)state;
    rung_matrix rows = rung_matrix_ld(RUNG_F32, 3, 4, 7, RUNG_ORDER_ROW_MAJOR, data);
    rung_matrix cols = rung_matrix_ld(RUNG_F32, 3, 4, 7, RUNG_ORDER_COL_MAJOR, data);
    assert_true(rows.rows == 3 && rows.cols == 4 && rows.row_stride == 7 && rows.col_stride == 1);
    assert_true(cols.rows == 3 && cols.cols == 4 && cols.row_stride == 1 && cols.col_stride == 7);
    assert_ptr_equal(cols.data, data);
    assert_int_equal(rung_matrix_ld(RUNG_F32, 3, 4, 4, RUNG_ORDER_ROW_MAJOR, data).rows, 3);
    assert_int_equal(rung_matrix_ld(RUNG_F32, 3, 4, 3, RUNG_ORDER_ROW_MAJOR, data).rows, -1);
    assert_int_equal(rung_matrix_ld(RUNG_F32, 3, 4, 3, RUNG_ORDER_COL_MAJOR, data).rows, 3);
    assert_int_equal(rung_matrix_ld(RUNG_F32, 3, 4, 2, RUNG_ORDER_COL_MAJOR, data).rows, -1);
    assert_int_equal(rung_matrix_ld(RUNG_F32, 0, 0, 0, RUNG_ORDER_COL_MAJOR, data).rows, -1); /* as BLAS: ld >= 1 */
    assert_int_equal(rung_matrix_ld(RUNG_F32, 0, 4, 1, RUNG_ORDER_COL_MAJOR, data).rows, 0);
    assert_int_equal(rung_matrix_ld(RUNG_F32, 3, 4, 7, (rung_order)2, data).rows, -1);
}

static void of_is_dense_row_major(void **state)
{
    float data[12] = {0};
    (void)state;
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 3, 4, data);
    assert_int_equal(matrix.rows, 3);
    assert_int_equal(matrix.cols, 4);
    assert_int_equal(matrix.row_stride, 4);
    assert_int_equal(matrix.col_stride, 1);
    assert_int_equal(matrix.offset, 0);
    assert_ptr_equal(matrix.data, data);
    assert_null(matrix.buffer);
    assert_true(rungi_matrix_is_dense(&matrix));
}

static void rung_matrix_in_buffer_sets_offset(void **state)
{
    int place;
    rung_buffer *buffer = (rung_buffer *)&place; /* only carried, never looked into */
    (void)state;
    rung_matrix matrix = rung_matrix_in_buffer(RUNG_F64, 2, 5, buffer, 7);
    assert_int_equal(matrix.type, RUNG_F64);
    assert_int_equal(matrix.row_stride, 5);
    assert_int_equal(matrix.col_stride, 1);
    assert_int_equal(matrix.offset, 7);
    assert_ptr_equal(matrix.buffer, buffer);
    assert_null(matrix.data);
}

static void transpose_twice_is_identity(void **state)
{
    float data[12] = {0};
    (void)state;
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 3, 4, data);
    matrix.offset = 5;
    rung_matrix transposed = rung_matrix_transpose(matrix);
    assert_int_equal(transposed.rows, 4);
    assert_int_equal(transposed.cols, 3);
    assert_int_equal(transposed.row_stride, 1);
    assert_int_equal(transposed.col_stride, 4);
    assert_int_equal(transposed.offset, 5);
    assert_ptr_equal(transposed.data, data);
    rung_matrix again = rung_matrix_transpose(transposed);
    assert_int_equal(again.rows, 3);
    assert_int_equal(again.row_stride, 4);
    assert_int_equal(again.col_stride, 1);
}

static void blocks_inside(void **state)
{
    float data[60] = {0};
    (void)state;
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 5, 12, data);
    rung_matrix block = rung_matrix_block(matrix, 2, 3, 2, 4);
    assert_int_equal(block.rows, 2);
    assert_int_equal(block.cols, 4);
    assert_int_equal(block.offset, 2 * 12 + 3);
    assert_int_equal(block.row_stride, 12);

    rung_matrix inner = rung_matrix_block(rung_matrix_transpose(block), 1, 1, 3, 1);
    assert_int_equal(inner.offset, 2 * 12 + 3 + 1 + 12);
    assert_int_equal(inner.rows, 3);
    assert_int_equal(inner.cols, 1);

    /* The whole, the last element, and nothing at the very end are all inside. */
    assert_int_equal(rung_matrix_block(matrix, 0, 0, 5, 12).rows, 5);
    assert_int_equal(rung_matrix_block(matrix, 4, 11, 1, 1).offset, 59);
    assert_int_equal(rung_matrix_block(matrix, 5, 12, 0, 0).rows, 0);
}

static void out_of_range_blocks_fail_validation(void **state)
{
    float data[60] = {0};
    (void)state;
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 5, 12, data);
    const int64_t outside[][4] = {
        {-1, 0, 1, 1},
        {0, -1, 1, 1},
        {0, 0, -1, 1},
        {0, 0, 1, -1},
        {5, 0, 1, 1},
        {0, 12, 1, 1},
        {0, 0, 6, 1},
        {0, 0, 1, 13},
        {4, 0, 2, 1},
        {0, 11, 1, 2},
        {INT64_MAX, 0, INT64_MAX, 1},
        {INT64_MAX, 0, 1, 1},
        {1, 1, INT64_MAX, INT64_MAX},
        {INT64_MIN, INT64_MIN, 1, 1},
        {0, 0, INT64_MIN, INT64_MIN},
    };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        const int64_t *at = outside[i];
        rung_matrix block = rung_matrix_block(matrix, at[0], at[1], at[2], at[3]);
        assert_int_equal(block.rows, -1);
        assert_int_equal(block.cols, -1);
    }
}

static void blocks_whose_offset_overflows(void **state)
{
    (void)state;
    rung_matrix matrix = {.type = RUNG_F32, .rows = INT64_MAX, .cols = 2, .row_stride = INT64_MAX, .col_stride = 1};
    assert_int_equal(rung_matrix_block(matrix, 3, 0, 1, 1).rows, -1);
    matrix.offset = INT64_MAX;
    assert_int_equal(rung_matrix_block(matrix, 1, 0, 1, 1).rows, -1);
    assert_int_equal(rung_matrix_block(matrix, 0, 1, 1, 1).rows, -1);
    assert_int_equal(rung_matrix_block(matrix, 0, 0, 1, 1).rows, 1);
}

/* ---- Spans ----------------------------------------------------------------------- */

static void spans(void **state)
{
    int64_t span;
    (void)state;
    rung_matrix matrix = rung_matrix_of(RUNG_F32, 3, 4, NULL);
    assert_true(rungi_matrix_span(&matrix, &span));
    assert_int_equal(span, 12);
    matrix.row_stride = 10;
    matrix.col_stride = 2;
    assert_true(rungi_matrix_span(&matrix, &span));
    assert_int_equal(span, 2 * 10 + 3 * 2 + 1);
    matrix.row_stride = matrix.col_stride = 0;
    assert_true(rungi_matrix_span(&matrix, &span));
    assert_int_equal(span, 1);
    matrix.rows = 0;
    assert_true(rungi_matrix_span(&matrix, &span));
    assert_int_equal(span, 0);
}

/* Each of these overflows at another step of the sum. */
static void spans_that_overflow(void **state)
{
    const rung_matrix views[] = {
        {.type = RUNG_I8, .rows = INT64_MAX, .cols = 1, .row_stride = 2, .col_stride = 1},
        {.type = RUNG_I8, .rows = 1, .cols = INT64_MAX, .row_stride = 1, .col_stride = 2},
        {.type = RUNG_I8, .rows = 2, .cols = 2, .row_stride = INT64_MAX, .col_stride = 1},
        {.type = RUNG_I8, .rows = 2, .cols = 1, .row_stride = INT64_MAX, .col_stride = 1},
        {.type = RUNG_I8, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .offset = INT64_MAX},
        {.type = RUNG_F64, .rows = 1, .cols = 1, .row_stride = 1, .col_stride = 1, .offset = INT64_MAX / 8},
        {.type = RUNG_F32,
         .rows = INT64_C(1) << 31,
         .cols = INT64_C(1) << 31,
         .row_stride = INT64_C(1) << 31,
         .col_stride = 1},
    };
    int64_t span;
    (void)state;
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        assert_false(rungi_matrix_span(&views[i], &span));

    rung_matrix largest = {.type = RUNG_I8, .rows = 1, .cols = INT64_MAX, .col_stride = 1};
    assert_true(rungi_matrix_span(&largest, &span));
    assert_int_equal(span, INT64_MAX);
}

/* ---- Dense forms and copies ------------------------------------------------------ */

enum { ARENA = 512 };

/* Elements are told apart by their bytes; `size` of them each. */
static void set_element(unsigned char *place, int64_t size, int64_t number)
{
    for (int64_t i = 0; i < size; i++)
        place[i] = (unsigned char)(number * 7 + i * 31 + 1);
}

static unsigned char *element(const rung_matrix *matrix, int64_t i, int64_t j)
{
    return (unsigned char *)matrix->data +
           rung_type_size(matrix->type) * (matrix->offset + i * matrix->row_stride + j * matrix->col_stride);
}

static void assert_same_elements(const rung_matrix *x, const rung_matrix *y)
{
    size_t size = (size_t)rung_type_size(x->type);
    for (int64_t i = 0; i < x->rows; i++)
        for (int64_t j = 0; j < x->cols; j++)
            assert_memory_equal(element(x, i, j), element(y, i, j), size);
}

/* What is stored: distinct elements if nothing repeats. */
static int64_t expected_elements(const rung_matrix *view)
{
    int64_t rows = view->row_stride == 0 && view->rows > 1 ? 1 : view->rows;
    int64_t cols = view->col_stride == 0 && view->cols > 1 ? 1 : view->cols;
    return rows * cols;
}

/* Through a dense copy and back: elements arrive, nothing beside them is touched. */
static void check_round_trip(const rung_matrix *form)
{
    static unsigned char source[ARENA * 8], back[ARENA * 8], before[ARENA * 8];
    static unsigned char stage[ARENA * 8 + 1];
    int64_t size = rung_type_size(form->type), elements, span;
    rung_matrix from = *form, to = *form, dense;
    from.data = source;
    to.data = back;
    assert_true(rungi_matrix_span(form, &span));
    assert_true((from.offset + span) * size <= (int64_t)sizeof source);
    for (int64_t i = 0; i < ARENA; i++)
        set_element(source + i * size, size, i);
    memset(back, 0xEE, sizeof back);
    memcpy(before, source, sizeof source);

    assert_true(rungi_matrix_dense(&from, &dense, &elements));
    assert_int_equal(elements, expected_elements(form));
    assert_true(rungi_matrix_is_dense(&dense) || rungi_matrix_is_empty(&dense));
    assert_null(dense.data);
    assert_int_equal(dense.offset, 0);
    assert_true(rungi_matrix_span(&dense, &span));
    assert_int_equal(span, elements);

    memset(stage, 0xDD, sizeof stage);
    dense.data = stage;
    rungi_matrix_copy(&from, &dense);
    assert_same_elements(&from, &dense);
    for (size_t i = (size_t)(elements * size); i < sizeof stage; i++)
        assert_int_equal(stage[i], 0xDD);
    assert_memory_equal(source, before, sizeof source);

    rungi_matrix_copy(&dense, &to);
    assert_same_elements(&from, &to);
    for (int64_t i = 0; i < to.rows; i++) /* now only the gaps are left */
        for (int64_t j = 0; j < to.cols; j++)
            memset(element(&to, i, j), 0xEE, (size_t)size);
    for (size_t i = 0; i < sizeof back; i++)
        assert_int_equal(back[i], 0xEE);
}

static void round_trips(void **state)
{
    const struct {
        int64_t rows, cols, row_stride, col_stride, offset;
    } forms[] = {
        {4, 5, 5, 1, 0},                                    /* row-major */
        {4, 5, 1, 4, 3},                                    /* column-major */
        {4, 5, 9, 1, 2},                                    /* a row-major block */
        {4, 5, 1, 7, 2},                                    /* a column-major block */
        {4, 5, 20, 3, 1},                                   /* gaps both ways */
        {4, 5, 2, 11, 1}, {4, 5, 0, 1, 0},                  /* the same row again and again */
        {4, 5, 1, 0, 6},                                    /* the same column */
        {4, 5, 0, 3, 2},  {4, 5, 3, 0, 2}, {4, 5, 0, 0, 9}, /* the same element */
        {1, 6, 6, 1, 0},  {1, 6, 0, 1, 0}, {1, 6, 1, 1, 4}, {1, 6, 2, 5, 0}, {1, 6, 9, 0, 0},
        {6, 1, 1, 1, 0},  {6, 1, 5, 1, 0}, {6, 1, 1, 0, 3}, {6, 1, 0, 9, 0}, {1, 1, 0, 0, 8},
        {1, 1, 5, 7, 8},  {0, 5, 5, 1, 0}, {5, 0, 1, 1, 0}, {0, 0, 0, 0, 0},
    };
    (void)state;
    for (int t = 0; t < TYPES; t++)
        for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
            rung_matrix form = {.type = types[t],
                                .rows = forms[i].rows,
                                .cols = forms[i].cols,
                                .row_stride = forms[i].row_stride,
                                .col_stride = forms[i].col_stride,
                                .offset = forms[i].offset};
            check_round_trip(&form);
        }
}

/* The order in which it already stands is kept, so that the copy is one run. */
static void dense_keeps_the_order(void **state)
{
    rung_matrix dense, view = {.type = RUNG_F32, .rows = 3, .cols = 4, .row_stride = 1, .col_stride = 9};
    int64_t elements;
    (void)state;
    assert_true(rungi_matrix_dense(&view, &dense, &elements));
    assert_int_equal(dense.row_stride, 1);
    assert_int_equal(dense.col_stride, 3);
    view.row_stride = 9;
    view.col_stride = 1;
    assert_true(rungi_matrix_dense(&view, &dense, &elements));
    assert_int_equal(dense.row_stride, 4);
    assert_int_equal(dense.col_stride, 1);
}

static void dense_views(void **state)
{
    const struct {
        int64_t rows, cols, row_stride, col_stride;
        bool dense;
    } cases[] = {
        {3, 4, 4, 1, true},  {3, 4, 1, 3, true},  {3, 4, 5, 1, false}, {3, 4, 1, 4, false},
        {3, 4, 8, 2, false}, {1, 4, 99, 1, true}, {3, 1, 1, 99, true}, {1, 4, 1, 2, false},
        {3, 1, 2, 1, false}, {3, 4, 0, 1, true},  {3, 4, 1, 0, true},  {3, 4, 0, 2, false},
        {3, 4, 0, 0, true},  {1, 1, 5, 7, true},  {3, 4, 3, 1, false}, /* rows that overlap: fewer elements than the shape has */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rung_matrix view = {.type = RUNG_F32,
                            .rows = cases[i].rows,
                            .cols = cases[i].cols,
                            .row_stride = cases[i].row_stride,
                            .col_stride = cases[i].col_stride};
        assert_int_equal(rungi_matrix_is_dense(&view), cases[i].dense);
    }
}

static void dense_forms_that_overflow(void **state)
{
    /* Rows that overlap are few bytes as they stand and too many when copied. */
    rung_matrix dense,
        view = {.type = RUNG_F32, .rows = INT64_C(1) << 31, .cols = INT64_C(1) << 31, .row_stride = 1, .col_stride = 1};
    int64_t elements;
    (void)state;
    assert_true(rungi_matrix_span(&view, &elements));
    assert_false(rungi_matrix_dense(&view, &dense, &elements));
    view = rung_matrix_of(RUNG_I4, 1, INT64_MAX, NULL); /* the last byte has no second element */
    assert_false(rungi_matrix_dense(&view, &dense, &elements));
    view.cols--;
    assert_true(rungi_matrix_dense(&view, &dense, &elements));
    assert_int_equal(elements, INT64_MAX - 1);
    view = rung_matrix_of(RUNG_I4, 3, 5, NULL);
    assert_true(rungi_matrix_dense(&view, &dense, &elements));
    assert_int_equal(elements, 16);
    view.type = RUNG_F32;
    view.rows = view.cols = INT64_C(1) << 32;
    view.row_stride = view.col_stride = 1;
    assert_false(rungi_matrix_dense(&view, &dense, &elements));
    assert_false(rungi_matrix_is_dense(&view));
}

/* Pseudo-random forms of every kind, repeats and overlaps included. */
static void random_round_trips(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (int n = 0; n < 3000; n++) {
        rung_matrix form = {
            .type = types[unit_random(&seed, TYPES)],
            .rows = unit_random(&seed, 6),
            .cols = unit_random(&seed, 6),
            .row_stride = unit_random(&seed, 20),
            .col_stride = unit_random(&seed, 20),
            .offset = unit_random(&seed, 10),
        };
        check_round_trip(&form);
    }
}

static unsigned half_byte(const unsigned char *bytes, int64_t index)
{
    return index % 2 ? bytes[index / 2] >> 4 : bytes[index / 2] & 15u;
}

/* Two elements share a byte: with odd offsets and strides, each element arrives, and the elements between them stay. */
static void copies_of_half_bytes(void **state)
{
    enum { ELEMENTS = 64 };
    unsigned char source[ELEMENTS / 2], target[ELEMENTS / 2], before[ELEMENTS / 2];
    uint64_t seed = 1;
    (void)state;
    for (int n = 0; n < 200; n++) {
        for (int i = 0; i < ELEMENTS / 2; i++) {
            source[i] = (unsigned char)unit_random(&seed, 256);
            before[i] = target[i] = (unsigned char)unit_random(&seed, 256);
        }
        rung_matrix from = {.type = RUNG_F4E2M1,
                            .rows = 3,
                            .cols = 5,
                            .row_stride = 5 + unit_random(&seed, 6),
                            .col_stride = 1,
                            .offset = unit_random(&seed, 8),
                            .data = source};
        rung_matrix to = {.type = RUNG_F4E2M1,
                          .rows = 3,
                          .cols = 5,
                          .row_stride = 1,
                          .col_stride = 3 + unit_random(&seed, 6),
                          .offset = unit_random(&seed, 8),
                          .data = target};
        rungi_matrix_copy(&from, &to);
        for (int64_t k = 0; k < ELEMENTS; k++) {
            unsigned expected = half_byte(before, k);
            for (int64_t i = 0; i < from.rows; i++)
                for (int64_t j = 0; j < from.cols; j++)
                    if (to.offset + i + j * to.col_stride == k)
                        expected = half_byte(source, from.offset + i * from.row_stride + j);
            assert_int_equal(half_byte(target, k), expected);
        }
    }
}

/* Blocks, and pairs of 4-bit elements, are copied whole. The bytes between the rows stay. */
static void copies_of_blocks(void **state)
{
    static const struct {
        rung_type type;
        int64_t elements, bytes; /* of a block */
    } cases[] = {{RUNG_Q8_0, 32, 34}, {RUNG_Q4_0, 32, 18}, {RUNG_U4, 2, 1}};
    enum { ROWS = 3, BLOCKS = 2, FROM_PITCH = 4, TO_PITCH = 3, BYTES = ROWS * FROM_PITCH * 34 };
    unsigned char source[BYTES], target[BYTES], expected[BYTES];
    (void)state;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        for (int by_columns = 0; by_columns < 2; by_columns++) {
            int64_t elements = cases[n].elements;
            size_t bytes = (size_t)cases[n].bytes;
            for (int i = 0; i < BYTES; i++)
                source[i] = (unsigned char)(i * 7 + i / 256);
            memset(target, 0x5a, sizeof target);
            memset(expected, 0x5a, sizeof expected);
            rung_matrix from = rung_matrix_of(cases[n].type, ROWS, BLOCKS * elements, source), to = from;
            from.row_stride = FROM_PITCH * elements;
            from.offset = elements;
            to.data = target;
            to.row_stride = TO_PITCH * elements;
            for (size_t row = 0; row < ROWS; row++)
                memcpy(expected + row * TO_PITCH * bytes, source + (row * FROM_PITCH + 1) * bytes, BLOCKS * bytes);
            from = by_columns ? rung_matrix_transpose(from) : from;
            to = by_columns ? rung_matrix_transpose(to) : to;
            rungi_matrix_copy(&from, &to);
            assert_memory_equal(target, expected, sizeof target);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_sizes_and_words),
        cmocka_unit_test(a_leading_dimension_is_a_stride),
        cmocka_unit_test(of_is_dense_row_major),
        cmocka_unit_test(rung_matrix_in_buffer_sets_offset),
        cmocka_unit_test(transpose_twice_is_identity),
        cmocka_unit_test(blocks_inside),
        cmocka_unit_test(out_of_range_blocks_fail_validation),
        cmocka_unit_test(blocks_whose_offset_overflows),
        cmocka_unit_test(spans),
        cmocka_unit_test(spans_that_overflow),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(dense_keeps_the_order),
        cmocka_unit_test(dense_views),
        cmocka_unit_test(dense_forms_that_overflow),
        cmocka_unit_test(random_round_trips),
        cmocka_unit_test(copies_of_half_bytes),
        cmocka_unit_test(copies_of_blocks),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
