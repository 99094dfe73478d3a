/* SPDX-License-Identifier: Apache-2.0 */
/* batch_and_epilogue.c - batches, epilogues and products as a caller states them. Kernels rely on
 * what is refused here: an overlap that passes is a race, an offset that passes is a
 * write outside. So overlap is held against enumeration, and what the CPU device makes
 * of sound problems against loops that are written here once more. */
#include "core/choose/choose_kernel.h"
#include "core/enum_counts.h"
#include "core/gemm_types.h"
#include "support/unit.h"

#include <math.h>
#include <stdio.h>

static rung_context *context;
static rung_device *device;

static int open_device(void **state)
{
    rung_context_options options = {.size = sizeof(rung_context_options), .device = "cpu", .verbose = -1};
    (void)state;
    if (rung_context_create(&options, &context) != RUNG_OK)
        return -1;
    return rung_device_open(context, "cpu", &device) == RUNG_OK ? 0 : -1;
}

static int close_device(void **state)
{
    (void)state;
    rung_device_close(device);
    rung_context_destroy(context);
    return 0;
}

/* ---- A sound batch --------------------------------------------------------------- */

static float a_data[64], b_data[64], c_data[64], bias_data[64], multiplier_data[64], residual_data[64];

static rung_matrix batch_of(int64_t rows, int64_t cols, float *data, int64_t stride)
{
    rung_matrix matrix = rung_matrix_of(RUNG_F32, rows, cols, data);
    matrix.batch_stride = stride;
    return matrix;
}

/* Three items of 2 x 3 by 3 x 4. */
static rung_problem valid_problem(void)
{
    rung_problem problem = rung_problem_of(batch_of(2, 3, a_data, 6), batch_of(3, 4, b_data, 12),
                                           batch_of(2, 4, c_data, 8));
    problem.batch = 3;
    return problem;
}

static rung_problem with_epilogue(void)
{
    rung_problem problem = valid_problem();
    problem.bias = batch_of(2, 4, bias_data, 8);
    problem.activation = RUNG_ACTIVATION_RELU;
    problem.multiplier = batch_of(2, 4, multiplier_data, 8);
    problem.residual = batch_of(2, 4, residual_data, 8);
    return problem;
}

#define assert_checked(problem, expected) check_status(__LINE__, problem, expected)

static void check_status(int line, const rung_problem *problem, rung_status expected)
{
    rung_status status = rung_problem_check(problem);
    if (status != expected)
        fail_msg("line %d: %s and not %s: %s", line, rung_status_name(status), rung_status_name(expected),
                 status == RUNG_OK ? "" : rung_error_text());
}

static rung_matrix *operand(rung_problem *problem, int index)
{
    rung_matrix *operands[] = {&problem->a,    &problem->b,          &problem->c,
                               &problem->bias, &problem->multiplier, &problem->residual};
    return operands[index];
}

enum { A, B, C, BIAS, MULTIPLIER, RESIDUAL, OPERANDS };

static void valid_batches_pass(void **state)
{
    static const int64_t scattered[] = {0, 17, 30}, anywhere[] = {40, 0, 40};
    (void)state;
    rung_problem problem = with_epilogue();
    assert_checked(&problem, RUNG_OK);
    problem = valid_problem();
    problem.a.batch_offsets = problem.b.batch_offsets = anywhere; /* repeated, in any order */
    problem.c.batch_offsets = scattered;
    assert_checked(&problem, RUNG_OK);
    problem.a.batch_offsets = problem.b.batch_offsets = NULL;
    problem.a.batch_stride = problem.b.batch_stride = 0;
    assert_checked(&problem, RUNG_OK);
}

static void negative_numbers(void **state)
{
    static const int64_t negative[] = {0, -1, 20};
    (void)state;
    rung_problem problem = valid_problem();
    problem.batch = -1;
    assert_checked(&problem, RUNG_STATUS_INVALID);
    problem.batch = INT64_MIN;
    assert_checked(&problem, RUNG_STATUS_INVALID);
    for (int i = 0; i < OPERANDS; i++) {
        problem = with_epilogue();
        operand(&problem, i)->batch_stride = -1;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        operand(&problem, i)->batch_stride = INT64_MIN;
        assert_checked(&problem, RUNG_STATUS_INVALID);
    }
    for (int i = A; i <= C; i++) {
        problem = valid_problem();
        operand(&problem, i)->batch_offsets = negative;
        assert_checked(&problem, RUNG_STATUS_INVALID);
    }
}

static void batches_past_the_address_space(void **state)
{
    static const int64_t far[] = {0, 9, INT64_MAX - 4}, bytes_far[] = {0, 9, INT64_MAX / 4};
    (void)state;
    for (int i = 0; i < OPERANDS; i++) {
        rung_problem problem = with_epilogue();
        operand(&problem, i)->batch_stride = INT64_MAX / 2; /* bytes of one step */
        assert_checked(&problem, RUNG_STATUS_TOO_LARGE);
        operand(&problem, i)->batch_stride = INT64_MAX / 4; /* elements of two */
        assert_checked(&problem, RUNG_STATUS_TOO_LARGE);
        operand(&problem, i)->batch_stride = INT64_MAX / 8 + 1; /* bytes of two */
        assert_checked(&problem, RUNG_STATUS_TOO_LARGE);
        problem.batch = INT64_MAX;
        operand(&problem, i)->batch_stride = 1000;
        assert_checked(&problem, RUNG_STATUS_TOO_LARGE);
    }
    for (int i = A; i <= C; i++) {
        rung_problem problem = valid_problem();
        operand(&problem, i)->batch_offsets = far;
        assert_checked(&problem, RUNG_STATUS_TOO_LARGE);
        operand(&problem, i)->batch_offsets = bytes_far;
        assert_checked(&problem, RUNG_STATUS_TOO_LARGE);
    }
}

/* ---- Items of C ------------------------------------------------------------------ */

static void overlapping_items_of_c(void **state)
{
    static const int64_t meeting[][3] = {{0, 7, 20}, {0, 8, 15}, {0, 0, 8}, {5, 5, 5}};
    static const int64_t unsorted[][3] = {{0, 16, 8}, {16, 8, 24}};
    (void)state;
    rung_problem problem = valid_problem();
    for (int64_t stride = 0; stride < 8; stride++) {
        problem.c.batch_stride = stride;
        assert_checked(&problem, RUNG_STATUS_ALIASED);
    }
    problem = valid_problem();
    for (size_t i = 0; i < sizeof meeting / sizeof *meeting; i++) {
        problem.c.batch_offsets = meeting[i];
        assert_checked(&problem, RUNG_STATUS_ALIASED);
    }
    for (size_t i = 0; i < sizeof unsorted / sizeof *unsorted; i++) {
        problem.c.batch_offsets = unsorted[i];
        assert_checked(&problem, RUNG_STATUS_INVALID);
    }
    problem.batch = 1; /* one item meets nobody */
    problem.c.batch_offsets = NULL;
    problem.c.batch_stride = 0;
    assert_checked(&problem, RUNG_OK);
}

/* Where the first of two items that meet is not the one just before. */
static void overlapping_items_of_c_not_adjacent(void **state)
{
    static const int64_t interleaved[] = {0, 4, 8, 12}, meeting[] = {0, 4, 8, 18};
    (void)state;
    rung_problem problem = valid_problem();
    problem.batch = 4;
    problem.a.batch_stride = problem.b.batch_stride = 0;
    problem.c.row_stride = 16; /* rows of 4, with room for three more between */
    problem.c.batch_offsets = interleaved;
    assert_checked(&problem, RUNG_OK);
    problem.c.batch_offsets = meeting; /* the last one's first row over the first one's second */
    assert_checked(&problem, RUNG_STATUS_ALIASED);
}

/* The heads of an attention layer stand beside each other in every row. */
static void attention_heads_side_by_side(void **state)
{
    (void)state;
    rung_problem problem = valid_problem();
    problem.c.row_stride = 3 * 4;
    problem.c.batch_stride = 4;
    assert_checked(&problem, RUNG_OK);
    problem.c.row_stride = 3 * 4 - 1;
    assert_checked(&problem, RUNG_STATUS_ALIASED);
    problem.c.row_stride = 3 * 4;
    problem.c.batch_stride = 3;
    assert_checked(&problem, RUNG_STATUS_ALIASED);
    problem = valid_problem(); /* element by element */
    problem.c.batch_stride = 1;
    problem.c.col_stride = 3;
    problem.c.row_stride = 12;
    assert_checked(&problem, RUNG_OK);
    problem.c.col_stride = 2;
    assert_checked(&problem, RUNG_STATUS_ALIASED);
}

/* The same by offsets, so many that comparing each with each would take seconds; and a
 * hundred of them in steps that are not equal, which count as meeting. */
static void many_heads_by_offsets(void **state)
{
    enum { HEADS = 100000 };
    (void)state;
    int64_t *offsets = malloc(HEADS * sizeof *offsets);
    float *memory = malloc(2 * (HEADS + 1) * sizeof *memory);
    assert_true(offsets && memory);
    for (int64_t i = 0; i < HEADS; i++)
        offsets[i] = i;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 2, 3, a_data),
                                           rung_matrix_of(RUNG_F32, 3, 1, b_data),
                                           rung_matrix_of(RUNG_F32, 2, 1, memory));
    problem.batch = HEADS;
    problem.c.row_stride = HEADS + 1;
    problem.c.batch_offsets = offsets;
    assert_checked(&problem, RUNG_OK);
    problem.c.row_stride = HEADS - 1;
    assert_checked(&problem, RUNG_STATUS_ALIASED);
    problem.batch = 100;
    problem.c.row_stride = HEADS;
    offsets[99] = 200;
    assert_checked(&problem, RUNG_STATUS_ALIASED);
    problem.batch = 60;
    offsets[59] = 200;
    assert_checked(&problem, RUNG_OK);
    free(offsets);
    free(memory);
}

/* What a view of nothing points at is never looked at. */
static void offsets_of_empty_batches(void **state)
{
    rung_context *own;
    rung_device *cpu;
    rung_plan *plan;
    (void)state;
    rung_context_options options = {.size = sizeof(rung_context_options), .verbose = -1};
    assert_int_equal(rung_context_create(&options, &own), RUNG_OK);
    assert_int_equal(rung_device_open(own, "cpu", &cpu), RUNG_OK);
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 2, 0, NULL), rung_matrix_of(RUNG_F32, 0, 4, NULL),
                                           rung_matrix_of(RUNG_F32, 2, 4, c_data));
    problem.a.batch_offsets = (const int64_t *)(uintptr_t)8;
    assert_checked(&problem, RUNG_OK);
    assert_int_equal(rung_plan_create(cpu, &problem, NULL, &plan), RUNG_OK);
    rung_plan_destroy(plan);
    rung_device_close(cpu);
    rung_context_destroy(own);
}

/* ---- Overlap against enumeration ------------------------------------------------- */

enum { ARENA = 4096 };
static unsigned char arena[ARENA];

static int64_t item_at(const rung_matrix *view, int64_t item)
{
    return view->batch_offsets ? view->batch_offsets[item] : item * view->batch_stride;
}

/* Counts each byte as often as elements of the batch stand on it. */
static void count_bytes(const rung_matrix *view, int64_t batch, unsigned char *counts)
{
    int64_t size = rung_type_size(view->type), start = (unsigned char *)view->data - arena;
    for (int64_t item = 0; item < batch; item++)
        for (int64_t i = 0; i < view->rows; i++)
            for (int64_t j = 0; j < view->cols; j++) {
                int64_t at = start +
                             size * (view->offset + item_at(view, item) + i * view->row_stride + j * view->col_stride);
                assert_in_range(at, 0, ARENA - size);
                for (int64_t byte = 0; byte < size; byte++)
                    counts[at + byte]++;
            }
}

static bool problem_overlaps_by_enumeration(const rung_problem *problem)
{
    unsigned char written[ARENA] = {0}, read[ARENA] = {0};
    count_bytes(&problem->c, problem->batch, written);
    count_bytes(&problem->a, problem->batch, read);
    count_bytes(&problem->b, problem->batch, read);
    count_bytes(&problem->bias, problem->batch, read);
    for (int i = 0; i < ARENA; i++)
        if (written[i] > 1 || (written[i] && read[i]))
            return true;
    return false;
}

enum { BATCH_MAX = 5 };

/* Numbers that never fall. */
static void fill_ascending(uint64_t *seed, int64_t limit, int64_t *numbers)
{
    int64_t last = unit_random(seed, limit);
    for (int i = 0; i < BATCH_MAX; i++, last += unit_random(seed, limit))
        numbers[i] = last;
}

static rung_matrix random_view(uint64_t *seed, int64_t rows, int64_t cols, int64_t offsets[BATCH_MAX])
{
    static const rung_type types[] = {RUNG_F32, RUNG_F64, RUNG_F16, RUNG_I8};
    rung_type type = types[unit_random(seed, 4)];
    rung_matrix view = {.type = type,
                        .rows = rows,
                        .cols = cols,
                        .row_stride = unit_random(seed, 9),
                        .col_stride = unit_random(seed, 9),
                        .batch_stride = unit_random(seed, 25),
                        .offset = unit_random(seed, 60),
                        .data = arena + rung_type_size(type) * unit_random(seed, 8)};
    fill_ascending(seed, 30, offsets);
    if (unit_random(seed, 3) == 0)
        view.batch_offsets = offsets;
    return view;
}

/* Mostly such that C does not overlap itself, so that A and B get their turn. */
static void remove_overlap(uint64_t *seed, rung_matrix *c)
{
    c->col_stride = 1 + unit_random(seed, 2);
    c->row_stride = c->col_stride * c->cols + unit_random(seed, 3);
    c->batch_stride = c->row_stride * c->rows + unit_random(seed, 3);
    if (unit_random(seed, 2))
        *c = (rung_matrix){.type = c->type,
                           .rows = c->rows,
                           .cols = c->cols,
                           .data = c->data,
                           .offset = c->offset,
                           .row_stride = c->cols * BATCH_MAX,
                           .col_stride = 1,
                           .batch_stride = c->cols};
}

static void overlaps_are_always_rejected(void **state)
{
    static int64_t offsets[4][BATCH_MAX];
    uint64_t seed = 41;
    int met = 0, taken = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t m = unit_random(&seed, 4), n = unit_random(&seed, 4), k = unit_random(&seed, 4);
        rung_problem problem = rung_problem_of(random_view(&seed, m, k, offsets[A]),
                                               random_view(&seed, k, n, offsets[B]),
                                               random_view(&seed, m, n, offsets[C]));
        problem.batch = unit_random(&seed, BATCH_MAX + 1);
        if (unit_random(&seed, 4))
            remove_overlap(&seed, &problem.c);
        if (unit_random(&seed, 3) == 0) {
            problem.bias = random_view(&seed, m, n, offsets[BIAS]);
            problem.bias.type = problem.c.type;
            problem.bias.data = arena;
            problem.bias.batch_offsets = NULL;
        }
        problem.alpha = problem.beta = 1;
        rung_status status = rung_problem_check(&problem);
        bool really = problem_overlaps_by_enumeration(&problem);
        if (status != RUNG_STATUS_ALIASED && status != RUNG_OK)
            fail_msg("form %d: %s", i, rung_error_text());
        if (status == RUNG_OK && really)
            fail_msg("form %d overlaps and was taken", i);
        met += really;
        taken += status == RUNG_OK && m * n * k * problem.batch > 0;
    }
    assert_in_range(met, 2000, 18000);
    assert_in_range(taken, 1000, 18000);
}

/* Three strides, each of which steps over what the smaller ones span. */
static rung_matrix random_parent(uint64_t *seed, int64_t *batch)
{
    int64_t counts[3], strides[3], step = 1 + unit_random(seed, 2);
    int64_t first = unit_random(seed, 3), second = (first + 1 + unit_random(seed, 2)) % 3;
    int64_t order[] = {first, second, 3 - first - second};
    for (int i = 0; i < 3; i++) {
        counts[order[i]] = 1 + unit_random(seed, 4);
        strides[order[i]] = step;
        step = step * counts[order[i]] + unit_random(seed, 3);
    }
    *batch = counts[2];
    return (rung_matrix){.type = unit_random(seed, 2) ? RUNG_F32 : RUNG_F16,
                         .rows = counts[0],
                         .cols = counts[1],
                         .row_stride = strides[0],
                         .col_stride = strides[1],
                         .batch_stride = strides[2],
                         .offset = unit_random(seed, 5),
                         .data = arena};
}

/* Blocks of one parent, in every item the same, are told apart exactly. */
static void blocks_of_a_batch_are_exact(void **state)
{
    uint64_t seed = 42;
    int met = 0, taken = 0;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        int64_t batch;
        rung_matrix parent = random_parent(&seed, &batch);
        int64_t rows = 1 + unit_random(&seed, parent.rows), up = parent.rows - rows + 1;
        int64_t n = 1 + unit_random(&seed, parent.cols), k = 1 + unit_random(&seed, parent.cols);
        rung_matrix a = rung_matrix_block(parent, unit_random(&seed, up), unit_random(&seed, parent.cols - k + 1), rows,
                                          k);
        rung_matrix c = rung_matrix_block(parent, unit_random(&seed, up), unit_random(&seed, parent.cols - n + 1), rows,
                                          n);
        rung_problem problem = rung_problem_of(a, rung_matrix_of(RUNG_F32, k, n, arena + 3072), c);
        if (unit_random(&seed, 3) == 0)
            problem.a.batch_stride = 0; /* the first item's block for all */
        problem.batch = batch;
        bool really = problem_overlaps_by_enumeration(&problem);
        if (rung_problem_check(&problem) != (really ? RUNG_STATUS_ALIASED : RUNG_OK))
            fail_msg("form %d %s", i, really ? "overlaps and was taken" : "was refused");
        met += really;
        taken += !really;
    }
    assert_in_range(met, 2000, 18000);
    assert_in_range(taken, 2000, 18000);
}

/* ---- Bounds ---------------------------------------------------------------------- */

static void batches_end_inside_their_buffers(void **state)
{
    static const int64_t offsets[] = {0, 8, 16};
    rung_buffer *buffer;
    (void)state;
    for (int i = 0; i < OPERANDS; i++) {
        rung_problem problem = with_epilogue();
        rung_matrix *view = operand(&problem, i);
        int64_t end = view->rows * view->cols + 2 * view->batch_stride;
        view->data = NULL;
        view->offset = 1;
        assert_int_equal(rung_buffer_create(device, 4 * (end + 1), &buffer), RUNG_OK);
        view->buffer = buffer;
        assert_checked(&problem, RUNG_OK); /* to the last byte */
        view->offset = 2;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        view->offset = 1;
        view->batch_stride++;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        view->batch_stride--;
        problem.batch++;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        rung_buffer_destroy(buffer);
    }
    for (int i = A; i <= C; i++) {
        rung_problem problem = valid_problem();
        rung_matrix *view = operand(&problem, i);
        view->data = NULL;
        view->batch_offsets = offsets;
        view->batch_stride = 1000; /* does not count beside offsets */
        for (int short_of = 0; short_of <= 1; short_of++) {
            int64_t bytes = 4 * (view->rows * view->cols + 16) - short_of;
            assert_int_equal(rung_buffer_create(device, bytes, &buffer), RUNG_OK);
            view->buffer = buffer;
            assert_checked(&problem, short_of ? RUNG_STATUS_INVALID : RUNG_OK);
            rung_buffer_destroy(buffer);
        }
    }
}

/* ---- Epilogues ------------------------------------------------------------------- */

static void epilogues_that_do_not_fit(void **state)
{
    static const int64_t offsets[] = {0, 8, 16};
    (void)state;
    for (int i = BIAS; i <= RESIDUAL; i++) {
        rung_problem problem = with_epilogue();
        rung_matrix *view = operand(&problem, i), sound = *view;
        view->type = RUNG_F64;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        view->type = (rung_type)RUNGI_TYPE_COUNT;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        *view = sound;
        view->rows = 1; /* repeated is said by a stride of 0 */
        assert_checked(&problem, RUNG_STATUS_INVALID);
        *view = sound;
        view->cols = 3;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        *view = rung_matrix_transpose(sound);
        assert_checked(&problem, RUNG_STATUS_INVALID);
        *view = rung_matrix_block(sound, 0, 0, 3, 3);
        assert_checked(&problem, RUNG_STATUS_INVALID);
        *view = sound;
        view->batch_offsets = offsets;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        *view = sound;
        view->row_stride = -1;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        *view = sound;
        view->data = NULL;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        *view = sound;
        view->data = (char *)bias_data + 2;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        *view = (rung_matrix){0}; /* none */
        assert_checked(&problem, RUNG_OK);
    }
}

static void epilogues_that_overlap_c(void **state)
{
    (void)state;
    for (int i = BIAS; i <= RESIDUAL; i++) {
        rung_problem problem = with_epilogue();
        rung_matrix *view = operand(&problem, i);
        *view = problem.c;
        assert_checked(&problem, RUNG_STATUS_ALIASED);
        *view = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, 1, c_data + 23), 2, 4);
        assert_checked(&problem, RUNG_STATUS_ALIASED); /* the last element of the last item */
        view->offset = 1;
        assert_checked(&problem, RUNG_OK);
        *view = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, 4, a_data), 2, 4);
        assert_checked(&problem, RUNG_OK); /* A is read, too */
    }
}

static void invalid_activations_and_modes(void **state)
{
    (void)state;
    rung_problem problem = valid_problem();
    const int spoilt[] = {-1, RUNGI_ACTIVATION_COUNT, 1000, INT32_MIN};
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++) {
        problem = valid_problem();
        problem.activation = (rung_activation)spoilt[i];
        assert_checked(&problem, RUNG_STATUS_INVALID);
        int compute = spoilt[i] == RUNGI_ACTIVATION_COUNT ? (int)RUNGI_COMPUTE_COUNT : spoilt[i];
        problem = valid_problem();
        problem.compute = (rung_compute)compute;
        assert_checked(&problem, RUNG_STATUS_INVALID);
        assert_string_equal(rung_activation_name((rung_activation)spoilt[i]), "?");
        assert_string_equal(rung_compute_name((rung_compute)compute), "?");
    }
    problem = valid_problem();
    for (int compute = 0; compute < RUNGI_COMPUTE_COUNT; compute++) {
        problem.compute = (rung_compute)compute;
        assert_checked(&problem, RUNG_OK);
    }
    assert_string_equal(rung_compute_name(RUNG_COMPUTE_STRICT), "strict");
    assert_string_equal(rung_compute_name(RUNG_COMPUTE_TF32), "tf32");
    assert_string_equal(rung_activation_name(RUNG_ACTIVATION_NONE), "none");
    assert_string_equal(rung_activation_name(RUNG_ACTIVATION_GELU), "gelu");
    assert_string_equal(rung_activation_name(RUNG_ACTIVATION_GELU_TANH), "gelu_tanh");
    assert_string_equal(rung_activation_name(RUNG_ACTIVATION_SILU), "silu");
}

/* From most to least precise, written out once more: the numbers of later modes are not in this order. */
static void modes_have_an_order(void **state)
{
    const rung_compute order[] = {RUNG_COMPUTE_STRICT, RUNG_COMPUTE_BF16X3, RUNG_COMPUTE_TF32X3,
                                  RUNG_COMPUTE_TF32,   RUNG_COMPUTE_BF16X1, RUNG_COMPUTE_Q8};
    const int count = sizeof order / sizeof *order;
    (void)state;
    assert_int_equal(count, RUNGI_COMPUTE_COUNT);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++)
            assert_int_equal(rungi_compute_is_as_precise(order[i], order[j]), i <= j);
        assert_false(rungi_compute_is_as_precise((rung_compute)-1, order[i]));
        assert_false(rungi_compute_is_as_precise(order[i], (rung_compute)RUNGI_COMPUTE_COUNT));
    }
}

static void integers_reject_gelu(void **state)
{
    (void)state;
    const rung_type in[] = {RUNG_I8, RUNG_I32};
    for (int i = 0; i < 2; i++) {
        rung_problem problem = rung_problem_of(rung_matrix_of(in[i], 2, 3, a_data), rung_matrix_of(in[i], 3, 4, b_data),
                                               rung_matrix_of(RUNG_I32, 2, 4, c_data));
        problem.activation = RUNG_ACTIVATION_RELU;
        assert_checked(&problem, RUNG_OK);
        for (int activation = RUNG_ACTIVATION_GELU; activation < RUNGI_ACTIVATION_COUNT; activation++) {
            problem.activation = (rung_activation)activation;
            assert_checked(&problem, RUNG_STATUS_INVALID);
            assert_non_null(strstr(rung_error_text(), rung_activation_name(problem.activation)));
        }
    }
}

static void broadcast_operands(void **state)
{
    (void)state;
    rung_matrix row = rung_matrix_of(RUNG_F32, 1, 4, bias_data);
    rung_matrix column = rung_matrix_of(RUNG_F32, 2, 1, bias_data);
    rung_matrix block = rung_matrix_block(rung_matrix_of(RUNG_F32, 8, 8, bias_data), 2, 3, 2, 4);
    rung_matrix view = rung_matrix_broadcast(row, 2, 4);
    assert_true(view.rows == 2 && view.cols == 4 && view.row_stride == 0 && view.col_stride == 1);
    view = rung_matrix_broadcast(column, 2, 4);
    assert_true(view.rows == 2 && view.cols == 4 && view.row_stride == 1 && view.col_stride == 0);
    view = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, 1, bias_data), 2, 4);
    assert_true(view.rows == 2 && view.cols == 4 && view.row_stride == 0 && view.col_stride == 0);
    view = rung_matrix_broadcast(block, 2, 4); /* once */
    assert_true(view.rows == 2 && view.cols == 4 && view.row_stride == 8 && view.col_stride == 1 &&
                view.offset == block.offset);
    view = rung_matrix_broadcast(rung_matrix_block(block, 1, 0, 1, 4), 7, 4);
    assert_true(view.rows == 7 && view.offset == 3 * 8 + 3 && view.row_stride == 0);

    const struct {
        rung_matrix from;
        int64_t rows, cols;
    } refused[] = {
        {block, 4, 4},
        {block, 2, 8},
        {block, 1, 4},
        {block, 2, 1},
        {row, 2, 5},
        {row, 2, 1},
        {column, 4, 4},
        {column, 1, 4},
        {row, -1, 4},
        {row, 2, -1},
        {column, 2, -4},
        {rung_matrix_of(RUNG_F32, 0, 4, NULL), 2, 4},
        {rung_matrix_block(row, 0, 0, 2, 4), 2, 4}, /* outside, and stays so */
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        rung_problem problem = valid_problem();
        view = rung_matrix_broadcast(refused[i].from, refused[i].rows, refused[i].cols);
        assert_true(view.rows == -1 && view.cols == -1);
        problem.bias = view;
        assert_checked(&problem, RUNG_STATUS_INVALID);
    }
}

/* ---- Products -------------------------------------------------------------------- */

/* Written out once more: a line that moves in the header moves kernels' bits. */
static const struct {
    rung_type in, out;
    const char *word;
} products[] = {
    {RUNG_F32, RUNG_F32, "f32"},
    {RUNG_F32, RUNG_F16, "f32:f16"},
    {RUNG_F32, RUNG_BF16, "f32:bf16"},
    {RUNG_F64, RUNG_F64, "f64"},
    {RUNG_F64, RUNG_F32, "f64:f32"},
    {RUNG_F16, RUNG_F16, "f16"},
    {RUNG_F16, RUNG_F32, "f16:f32"},
    {RUNG_BF16, RUNG_BF16, "bf16"},
    {RUNG_BF16, RUNG_F32, "bf16:f32"},
    {RUNG_I8, RUNG_I32, "i8"},
    {RUNG_I32, RUNG_I32, "i32"},
    {RUNG_F8E4M3, RUNG_F32, "f8e4m3"},
    {RUNG_F8E4M3, RUNG_BF16, "f8e4m3:bf16"},
    {RUNG_F8E5M2, RUNG_F32, "f8e5m2"},
    {RUNG_F8E5M2, RUNG_BF16, "f8e5m2:bf16"},
};

enum { PRODUCTS = sizeof products / sizeof *products };

/* The accumulator of rung.h's table, written out once more. */
static rung_type sum_of(rung_type in)
{
    return in == RUNG_F64 ? RUNG_F64 : in == RUNG_I8 || in == RUNG_I32 ? RUNG_I32 : RUNG_F32;
}

static void every_pair_of_types(void **state)
{
    int found = 0;
    (void)state;
    for (int in = -1; in <= RUNGI_TYPE_COUNT; in++)
        for (int out = -1; out <= RUNGI_TYPE_COUNT; out++) {
            const char *expected = "?";
            for (int i = 0; i < PRODUCTS; i++)
                if ((int)products[i].in == in && (int)products[i].out == out)
                    expected = products[i].word;
            char quantized[32]; /* both operands are quantized */
            if ((in == RUNG_I8 || in == RUNG_U8 || in == RUNG_I4 || in == RUNG_U4 || in == RUNG_F4E2M1) &&
                (out == RUNG_F32 || out == RUNG_BF16)) {
                const char *name = rung_type_name((rung_type)in);
                snprintf(quantized, sizeof quantized, "%s*%s%s", name, name, out == RUNG_F32 ? "" : ":bf16");
                expected = quantized;
            }
            rungi_gemm_types product = rungi_gemm_types_of((rung_type)in, (rung_type)in, (rung_type)out);
            assert_int_equal(rung_accumulator_type((rung_type)in, (rung_type)in, (rung_type)out),
                             *expected == '?'        ? RUNG_TYPE_NONE
                             : expected == quantized ? RUNG_F32
                                                     : sum_of((rung_type)in));
            assert_string_equal(rungi_gemm_types_name(product), expected);
            assert_int_equal(product == RUNGI_GEMM_TYPES_COUNT, *expected == '?');
            found += product < RUNGI_GEMM_SAME_TYPES_COUNT;
        }
    assert_int_equal(found, RUNGI_GEMM_SAME_TYPES_COUNT);
    assert_string_equal(rungi_gemm_types_name((rungi_gemm_types)-1), "?");
    assert_string_equal(rungi_gemm_types_name((rungi_gemm_types)1000), "?");
    assert_int_equal(rungi_gemm_types_accumulator((rungi_gemm_types)-1), RUNG_TYPE_NONE);
    assert_int_equal(rung_accumulator_type(RUNG_F16, RUNG_BF16, RUNG_F32), RUNG_TYPE_NONE); /* A and B differ */
}

static rungi_gemm_types_set set_of(const char *name)
{
    return rungi_gemm_types_find_set((rungi_string_view){name, strlen(name)});
}

/* A name that begins with * is every combination in which only B has this type. */
static void sets_of_types(void **state)
{
    char text[RUNGI_GEMM_TYPES_TEXT_BYTES];
    static const rung_type b_types[] = {RUNG_Q8_0, RUNG_Q4_0,   RUNG_I8,     RUNG_U8,    RUNG_I4,
                                        RUNG_U4,   RUNG_F8E4M3, RUNG_F8E5M2, RUNG_F4E2M1};
    (void)state;
    assert_true(set_of("f16:f32") == RUNGI_GEMM_TYPES_BIT(RUNGI_F16_TO_F32));
    assert_true(set_of("*f16") == RUNGI_GEMM_TYPES_BIT(RUNGI_F32_F16_TO_F32));
    assert_true(set_of("bf16*u4:f32") == RUNGI_GEMM_TYPES_BIT(RUNGI_BF16_U4_TO_F32));
    assert_true(set_of("*") == 0 && set_of("") == 0 && set_of("*f64") == 0 && set_of("q8_0") == 0);
    rungi_gemm_types_set all = set_of("*f16") | set_of("*bf16");
    for (size_t i = 0; i < sizeof b_types / sizeof *b_types; i++) {
        char name[16];
        snprintf(name, sizeof name, "*%s", rung_type_name(b_types[i]));
        rungi_gemm_types_set expected = 0;
        for (int a = RUNG_F32; a <= RUNG_BF16; a++)
            for (int c = RUNG_F32; c <= RUNG_BF16; c++) {
                rungi_gemm_types types = rungi_gemm_types_of((rung_type)a, b_types[i], (rung_type)c);
                expected |= types < RUNGI_GEMM_TYPES_COUNT ? RUNGI_GEMM_TYPES_BIT(types) : 0;
            }
        assert_true(set_of(name) == expected && (all & expected) == 0);
        all |= expected;
    }
    assert_true(all == RUNGI_GEMM_TYPES_MIXED);
    assert_true(set_of("quantized*quantized") == RUNGI_GEMM_TYPES_QUANTIZED);
    assert_true(set_of("float*float") == RUNGI_GEMM_FLOAT_PAIRS);
    for (int i = RUNGI_GEMM_PLAIN_TYPES_COUNT; i < RUNGI_GEMM_TYPES_COUNT; i++) {
        const char *name = rungi_gemm_types_name((rungi_gemm_types)i);
        bool is_float = *name == 'f' && strstr(name, "*f");
        assert_true(RUNGI_GEMM_TYPES_BIT(i) == (is_float ? RUNGI_GEMM_FLOAT_PAIRS : RUNGI_GEMM_INTEGER_PAIRS));
    }
    assert_true((all | RUNGI_GEMM_TYPES_SAME | RUNGI_GEMM_TYPES_QUANTIZED) == RUNGI_GEMM_TYPES_ALL);
    assert_true(set_of("i8*i8") == 0); /* not without the others */
    rungi_gemm_types_format(all, text, sizeof text);
    assert_string_equal(text, "*q8_0, *q4_0, *i8, *u8, *i4, *u4, *f8e4m3, *f8e5m2, *f4e2m1, *f16, *bf16");
    rungi_gemm_types_format(set_of("i32") | set_of("f16*i4:f32") | set_of("f32*i4"), text, sizeof text);
    assert_string_equal(text, "i32, f32*i4, f16*i4:f32");
    rungi_gemm_types_format(set_of("i32") | set_of("quantized*quantized"), text, sizeof text);
    assert_string_equal(text, "i32, quantized*quantized");
    rungi_gemm_types_format(set_of("i32") | set_of("float*float"), text, sizeof text);
    assert_string_equal(text, "i32, float*float");
}

/* A product that is none, and A and B of different types, are sound views that nobody
 * multiplies. */
static void unsupported_type_combinations(void **state)
{
    (void)state;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 2, 3, a_data),
                                           rung_matrix_of(RUNG_F32, 3, 4, b_data),
                                           rung_matrix_of(RUNG_F64, 2, 4, c_data));
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
    problem.c = rung_matrix_of(RUNG_F32, 2, 4, c_data);
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    problem.b = rung_matrix_of(RUNG_F64, 3, 4, b_data);
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_STATUS_UNSUPPORTED);
}

/* ---- Results --------------------------------------------------------------------- */

static double get(rung_type type, const void *memory, int64_t place)
{
    switch (type) {
    case RUNG_F16: return (double)rung_f16_to_f32(((const uint16_t *)memory)[place]);
    case RUNG_BF16: return (double)rung_bf16_to_f32(((const uint16_t *)memory)[place]);
    case RUNG_F64: return ((const double *)memory)[place];
    case RUNG_I8: return ((const int8_t *)memory)[place];
    case RUNG_I32: return ((const int32_t *)memory)[place];
    default: return (double)((const float *)memory)[place];
    }
}

static void put(rung_type type, void *memory, int64_t place, double value)
{
    switch (type) {
    case RUNG_F16: ((uint16_t *)memory)[place] = rung_f16_from_f32((float)value); break;
    case RUNG_BF16: ((uint16_t *)memory)[place] = rung_bf16_from_f32((float)value); break;
    case RUNG_F64: ((double *)memory)[place] = value; break;
    case RUNG_I8: ((int8_t *)memory)[place] = (int8_t)value; break;
    case RUNG_I32: ((int32_t *)memory)[place] = (int32_t)value; break;
    default: ((float *)memory)[place] = (float)value;
    }
}

static double element(const rung_matrix *view, int64_t item, int64_t i, int64_t j)
{
    return get(view->type, view->data,
               view->offset + item_at(view, item) + i * view->row_stride + j * view->col_stride);
}

static double activated(rung_activation activation, double value)
{
    if (activation == RUNG_ACTIVATION_RELU)
        return fmax(value, 0);
    if (activation == RUNG_ACTIVATION_GELU_TANH)
        return value / 2 * (1 + tanh(0.79788456080286535588 * (value + 0.044715 * value * value * value)));
    if (activation == RUNG_ACTIVATION_SILU)
        return value / (1 + exp(-value));
    return activation == RUNG_ACTIVATION_GELU ? value / 2 * (1 + erf(value / sqrt(2))) : value;
}

/* One element of the result, in the order of the header. */
static double expected_of(const rung_problem *problem, int64_t item, int64_t i, int64_t j)
{
    double value = 0;
    for (int64_t p = 0; p < problem->a.cols; p++)
        value += element(&problem->a, item, i, p) * element(&problem->b, item, p, j);
    value *= problem->alpha;
    if (problem->beta != 0)
        value += problem->beta * element(&problem->c, item, i, j);
    if (problem->bias.rows > 0)
        value += element(&problem->bias, item, i, j);
    value = activated(problem->activation, value);
    if (problem->multiplier.rows > 0)
        value *= element(&problem->multiplier, item, i, j);
    if (problem->residual.rows > 0)
        value += element(&problem->residual, item, i, j);
    return value;
}

enum { SPACE = 400, M = 3, N = 4, K = 5, ITEMS = 3 };

static void fill(uint64_t *seed, rung_type type, void *memory)
{
    for (int64_t i = 0; i < SPACE; i++)
        put(type, memory, i, (double)(unit_random(seed, 9) - 4));
}

/* C's memory, gaps and all, is what the loops make of it. Numbers are small and whole,
 * so nothing rounds but an activation, and BF16 where a multiplier makes larger numbers. */
static void check_result(const rung_problem *problem, const char *what)
{
    static double expected[SPACE];
    static const double errors[RUNGI_TYPE_COUNT] = {
        [RUNG_F32] = 1e-6, [RUNG_F64] = 1e-14, [RUNG_F16] = 1e-3, [RUNG_BF16] = 1e-2};
    rung_type type = problem->c.type;
    bool rounds = problem->activation > RUNG_ACTIVATION_RELU || (problem->multiplier.rows > 0 && type == RUNG_BF16);
    for (int64_t i = 0; i < SPACE; i++)
        expected[i] = get(type, problem->c.data, i);
    for (int64_t item = 0; item < problem->batch; item++)
        for (int64_t i = 0; i < problem->c.rows; i++)
            for (int64_t j = 0; j < problem->c.cols; j++)
                expected[problem->c.offset + item_at(&problem->c, item) + i * problem->c.row_stride +
                         j * problem->c.col_stride] = expected_of(problem, item, i, j);
    assert_int_equal(rung_multiply(context, problem, NULL), RUNG_OK);
    for (int64_t i = 0; i < SPACE; i++) {
        double found = get(type, problem->c.data, i);
        double error = rounds ? errors[type] * (1 + fabs(expected[i])) : 0;
        if (!(fabs(found - expected[i]) <= error))
            fail_msg("%s, %s: C[%d] is %g, not %g", what,
                     rungi_gemm_types_name(rungi_gemm_types_of(problem->a.type, problem->b.type, type)), (int)i, found,
                     expected[i]);
    }
}

static double memories[OPERANDS][SPACE]; /* aligned for any type */

static rung_problem random_problem(uint64_t *seed, rung_type in, rung_type out)
{
    for (int i = 0; i < OPERANDS; i++)
        fill(seed, i < C ? in : out, memories[i]);
    rung_problem problem = rung_problem_of(rung_matrix_of(in, M, K, memories[A]), rung_matrix_of(in, K, N, memories[B]),
                                           rung_matrix_of(out, M, N, memories[C]));
    problem.batch = ITEMS;
    problem.alpha = 2;
    problem.beta = -1;
    return problem;
}

static void set_layout(rung_problem *problem, int layout)
{
    static const int64_t of_a[] = {40, 0, 40}, of_b[] = {7, 100, 50}, of_c[] = {3, 60, 100};
    problem->a.batch_stride = M * K + 2;
    problem->b.batch_stride = K * N;
    problem->c.batch_stride = M * N + 1;
    problem->c.offset = 5;
    if (layout == 1) { /* each by offsets, A's first item twice */
        problem->a.batch_offsets = of_a;
        problem->b.batch_offsets = of_b;
        problem->c.batch_offsets = of_c;
    } else if (layout == 2) { /* one A for all, C by offsets, and B turned */
        problem->a.batch_stride = 0;
        problem->b = rung_matrix_transpose(rung_matrix_of(problem->b.type, N, K, problem->b.data));
        problem->b.batch_stride = 31;
        problem->c.batch_offsets = of_c;
    } else if (layout == 3) { /* heads, and C turned */
        problem->c.row_stride = 1;
        problem->c.col_stride = M * ITEMS;
        problem->c.batch_stride = M;
        problem->b.batch_offsets = of_b;
    }
}

enum { LAYOUTS = 4, EPILOGUES = 16 };

/* Epilogues 11 to 15: a multiplier alone, one row for all rows, one number per item, after SiLU, and
 * between everything else. */
static void set_multiplier(rung_problem *problem, int which)
{
    rung_type type = problem->c.type;
    rung_matrix multiplier = rung_matrix_of(type, M, N, memories[MULTIPLIER]);
    multiplier.batch_stride = 25;
    if (which == 12)
        multiplier = rung_matrix_broadcast(rung_matrix_of(type, 1, N, memories[MULTIPLIER]), M, N);
    else if (which == 13)
        multiplier = rung_matrix_broadcast(rung_matrix_of(type, 1, 1, memories[MULTIPLIER]), M, N);
    else if (which == 14)
        multiplier.row_stride = 2 * N + 1;
    else if (which == 15)
        multiplier = rung_matrix_transpose(rung_matrix_of(type, N, M, memories[MULTIPLIER]));
    if (which >= 13)
        multiplier.batch_stride = 31;
    multiplier.offset = which;
    problem->multiplier = multiplier;
    if (which == 14 && type != RUNG_I32)
        problem->activation = RUNG_ACTIVATION_SILU;
}

static void set_epilogue(rung_problem *problem, int which)
{
    rung_type type = problem->c.type;
    rung_problem *epilogue = problem;
    rung_matrix bias = rung_matrix_of(type, M, N, memories[BIAS]);
    bias.batch_stride = 20;
    if (which == 1 || which == 8)
        bias = rung_matrix_broadcast(rung_matrix_of(type, 1, N, memories[BIAS]), M, N);
    else if (which == 2)
        bias = rung_matrix_broadcast(rung_matrix_of(type, M, 1, memories[BIAS]), M, N);
    else if (which == 3)
        bias = rung_matrix_broadcast(rung_matrix_of(type, 1, 1, memories[BIAS]), M, N);
    if (which == 2 || which == 8)
        bias.batch_stride = 7; /* each item its own */
    if (which == 1 || which == 2 || which == 3 || which == 4 || which == 8 || which == 15)
        epilogue->bias = bias;
    if (which == 5 || which == 8 || which == 15)
        epilogue->activation = RUNG_ACTIVATION_RELU;
    if (which == 6 && type != RUNG_I32)
        epilogue->activation = RUNG_ACTIVATION_GELU;
    if (which >= 11)
        set_multiplier(problem, which);
    if ((which == 9 || which == 10) && type != RUNG_I32)
        epilogue->activation = which == 9 ? RUNG_ACTIVATION_GELU_TANH : RUNG_ACTIVATION_SILU;
    if (which == 7 || which == 8 || which == 15) {
        epilogue->residual = rung_matrix_transpose(rung_matrix_of(type, N, M, memories[RESIDUAL]));
        epilogue->residual.offset = 2;
        epilogue->residual.batch_stride = 13;
    }
}

static void results_match_plain_loops(void **state)
{
    uint64_t seed = 43;
    char what[64];
    (void)state;
    for (int product = 0; product < PRODUCTS && products[product].in <= RUNG_I32;
         product++) /* the rest needs an engine */
        for (int layout = 0; layout < LAYOUTS; layout++)
            for (int which = 0; which < EPILOGUES; which++) {
                rung_problem problem = random_problem(&seed, products[product].in, products[product].out);
                set_layout(&problem, layout);
                set_epilogue(&problem, which);
                snprintf(what, sizeof what, "layout %d, epilogue %d", layout, which);
                check_result(&problem, what);
            }
}

static void scalars_of_zero_in_a_batch(void **state)
{
    uint64_t seed = 44;
    (void)state;
    rung_problem problem = random_problem(&seed, RUNG_F32, RUNG_F32);
    set_layout(&problem, 1);
    problem.alpha = 0;
    set_epilogue(&problem, 8);
    problem.a.cols = problem.b.rows = 0; /* as the loops are to see it */
    check_result(&problem, "alpha = 0");

    problem = random_problem(&seed, RUNG_F32, RUNG_F32);
    problem.a.batch_stride = problem.b.batch_stride = 0;
    problem.c.batch_stride = M * N;
    problem.alpha = 0;
    problem.beta = 0;
    problem.bias = rung_matrix_broadcast(rung_matrix_of(RUNG_F32, 1, 1, memories[BIAS]), M, N);
    for (int i = A; i <= C; i++)
        for (int64_t j = 0; j < SPACE; j++)
            put(RUNG_F32, memories[i], j, (double)NAN);
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    for (int64_t i = 0; i < ITEMS * M * N; i++)
        assert_true(get(RUNG_F32, memories[C], i) == get(RUNG_F32, memories[BIAS], 0));
}

static void relu_keeps_a_nan(void **state)
{
    float a[] = {NAN, -1, 1}, one = 1, c[3] = {0};
    (void)state;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, 3, 1, a), rung_matrix_of(RUNG_F32, 1, 1, &one),
                                           rung_matrix_of(RUNG_F32, 3, 1, c));
    problem.activation = RUNG_ACTIVATION_RELU;
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    assert_true(isnan(c[0]) && c[1] == 0 && c[2] == 1);
}

/* Sets every element of an m x n matrix of a floating-point type. */
static void set_all(rung_type type, void *memory, int64_t count, double value)
{
    for (int64_t i = 0; i < count; i++)
        put(type, memory, i, value);
}

/* Also where the activation makes 0, with every type and with kernels for few and for many rows. */
static void a_multiplier_keeps_a_nan(void **state)
{
    enum { SIDE = 80 };
    static const int64_t rows[] = {1, 7, SIDE};
    static double memory[4][SIDE * SIDE];
    (void)state;
    for (int product = 0; product < PRODUCTS && products[product].in <= RUNG_BF16; product++)
        for (int i = 0; i < 3; i++) {
            rung_type in = products[product].in, out = products[product].out;
            int64_t m = rows[i], nan_at = m / 2 * SIDE + 3;
            set_all(in, memory[0], m * SIDE, -1);
            set_all(in, memory[1], SIDE * SIDE, 1);
            set_all(out, memory[3], m * SIDE, 2);
            put(out, memory[3], nan_at, (double)NAN);
            rung_problem problem = rung_problem_of(rung_matrix_of(in, m, SIDE, memory[0]),
                                                   rung_matrix_of(in, SIDE, SIDE, memory[1]),
                                                   rung_matrix_of(out, m, SIDE, memory[2]));
            problem.activation = RUNG_ACTIVATION_RELU;
            problem.multiplier = rung_matrix_of(out, m, SIDE, memory[3]);
            assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
            for (int64_t j = 0; j < m * SIDE; j++)
                assert_true(j == nan_at ? isnan(get(out, memory[2], j)) : get(out, memory[2], j) == 0);
        }
}

/* Modulo 2^32, and the sign is what wrapping leaves. */
static void integers_wrap_before_relu(void **state)
{
    int32_t a[] = {INT32_MAX, 1 << 30, INT32_MIN}, two = 2, bias[] = {5, 7, -1}, c[3] = {0};
    (void)state;
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_I32, 3, 1, a), rung_matrix_of(RUNG_I32, 1, 1, &two),
                                           rung_matrix_of(RUNG_I32, 3, 1, c));
    problem.bias = rung_matrix_of(RUNG_I32, 3, 1, bias);
    problem.activation = RUNG_ACTIVATION_RELU;
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    assert_int_equal(c[0], 3);
    assert_int_equal(c[1], 0);
    assert_int_equal(c[2], 0);
}

/* ---- Nothing, and what is refused ------------------------------------------------ */

/* A designated initialiser leaves `batch` 0. */
static void a_batch_of_zero_is_one_item(void **state)
{
    static float expected[64];
    rung_plan *plan, *other;
    rung_queue *queue;
    char key[1024], other_key[1024];
    (void)state;
    rung_problem one = with_epilogue();
    for (int i = 0; i < 64; i++) {
        a_data[i] = b_data[i] = (float)(i % 5);
        expected[i] = c_data[i] = -1;
    }
    one.batch = 1;
    one.c.data = expected;
    assert_int_equal(rung_multiply(context, &one, NULL), RUNG_OK);
    assert_true(expected[0] != -1 && expected[8] == -1);
    rung_problem zero = one;
    zero.batch = 0;
    zero.c.data = c_data;
    zero.a.batch_stride = INT64_MAX / 4; /* no item begins there */
    assert_checked(&zero, RUNG_OK);
    for (int round = 0; round < 2; round++) { /* the second finds the plan of the first */
        assert_int_equal(rung_multiply(context, &zero, NULL), RUNG_OK);
        assert_memory_equal(c_data, expected, sizeof expected);
        c_data[0] = -1;
    }
    one.activation = zero.activation = RUNG_ACTIVATION_NONE; /* the short path */
    one.bias = zero.bias = one.residual = zero.residual = one.multiplier = zero.multiplier = (rung_matrix){0};
    one.c.data = c_data;
    assert_int_equal(rung_plan_create(device, &zero, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_plan_create(device, &one, NULL, &other), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    for (int i = 0; i < 4; i++) {
        c_data[0] = -1;
        assert_int_equal(rung_plan_run(i % 2 ? plan : other, queue, i < 2 ? &zero : &one, NULL), RUNG_OK);
        assert_true(c_data[0] == a_data[0] * b_data[0] + a_data[1] * b_data[4] + a_data[2] * b_data[8]);
    }
    assert_int_equal(rung_tuning_key(device, &zero, key, sizeof key), RUNG_OK);
    assert_int_equal(rung_tuning_key(device, &one, other_key, sizeof other_key), RUNG_OK);
    assert_string_equal(key, other_key);
    zero.c.data = a_data; /* and it is checked like one */
    assert_checked(&zero, RUNG_STATUS_ALIASED);
    zero.c.data = NULL;
    assert_checked(&zero, RUNG_STATUS_INVALID);
    rung_queue_destroy(queue);
    rung_plan_destroy(plan);
    rung_plan_destroy(other);
}

static void rung_multiply_rejects_buffers(void **state)
{
    rung_buffer *buffer;
    (void)state;
    assert_int_equal(rung_buffer_create(device, sizeof a_data, &buffer), RUNG_OK);
    for (int i = 0; i < OPERANDS; i++) {
        rung_problem problem = with_epilogue();
        operand(&problem, i)->data = NULL;
        operand(&problem, i)->buffer = buffer;
        assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_STATUS_INVALID);
        assert_non_null(strstr(rung_error_text(), "matrices in memory"));
    }
    rung_buffer_destroy(buffer);
    assert_int_equal(rung_multiply(context, NULL, NULL), RUNG_STATUS_INVALID);
}

/* The strides of what is not there are not taken: an empty view may say anything. */
static void strides_of_empty_batches(void **state)
{
    (void)state;
    rung_problem problem = valid_problem();
    problem.batch = 5;
    problem.bias = (rung_matrix){.batch_stride = INT64_MAX};
    problem.residual = problem.multiplier = (rung_matrix){.batch_stride = INT64_MAX, .offset = INT64_MAX};
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
    problem = valid_problem();
    problem.batch = 6;
    problem.a.cols = problem.b.rows = 0;
    problem.a.batch_stride = problem.b.batch_stride = INT64_MAX / 4;
    assert_int_equal(rung_multiply(context, &problem, NULL), RUNG_OK);
}

/* A plan is compiled for these; run with others it would compute something else. */
static void plans_reject_other_forms(void **state)
{
    static const int64_t offsets[] = {0, 8, 16};
    rung_plan *plan;
    rung_queue *queue;
    rung_problem form = with_epilogue(), others[12];
    int count = 0;
    (void)state;
    for (int i = 0; i < 12; i++)
        others[i] = form;
    others[count++].batch = 2;
    others[count++].compute = RUNG_COMPUTE_TF32;
    others[count++].activation = RUNG_ACTIVATION_NONE;
    others[count++].bias = (rung_matrix){0};
    others[count++].residual = (rung_matrix){0};
    others[count++].bias.row_stride = 0;
    others[count++].residual.batch_stride = 0;
    others[count++].multiplier = (rung_matrix){0};
    others[count++].multiplier.batch_stride = 0;
    others[count++].a.batch_stride = 0;
    others[count++].b.batch_offsets = offsets;
    others[count++].c.batch_offsets = offsets;
    assert_int_equal(rung_plan_create(device, &form, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    assert_int_equal(rung_plan_run(plan, queue, &form, NULL), RUNG_OK);
    for (int i = 0; i < count; i++) {
        assert_checked(&others[i], RUNG_OK);
        if (rung_plan_run(plan, queue, &others[i], NULL) != RUNG_STATUS_INVALID)
            fail_msg("form %d was taken for the plan's", i);
    }
    rung_queue_destroy(queue);
    rung_plan_destroy(plan);
}

/* The short path of a plan without an epilogue takes no problem with one. */
static void plans_without_an_epilogue_reject_one(void **state)
{
    rung_plan *plan;
    rung_queue *queue;
    rung_problem form = valid_problem();
    (void)state;
    form.batch = 1;
    assert_int_equal(rung_plan_create(device, &form, NULL, &plan), RUNG_OK);
    assert_int_equal(rung_queue_create(device, &queue), RUNG_OK);
    for (int i = BIAS; i <= RESIDUAL; i++) {
        rung_problem other = form, all = with_epilogue();
        *operand(&other, i) = *operand(&all, i);
        assert_int_equal(rung_plan_run(plan, queue, &form, NULL), RUNG_OK);
        assert_int_equal(rung_plan_run(plan, queue, &other, NULL), RUNG_STATUS_INVALID);
    }
    rung_queue_destroy(queue);
    rung_plan_destroy(plan);
}

static void the_cpu_rejects_split_k(void **state)
{
    rung_plan *plan;
    (void)state;
    rung_problem problem = valid_problem();
    rung_plan_options options = {.size = sizeof(rung_plan_options), .split_k = 1, .max_workspace_bytes = 1 << 20};
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_OK);
    assert_int_equal(rung_plan_describe(plan)->split_k, 1);
    assert_int_equal(rung_plan_describe(plan)->workspace_bytes, 0);
    rung_plan_destroy(plan);
    options.split_k = 2;
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_STATUS_UNSUPPORTED);
    options.split_k = -1;
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_STATUS_INVALID);
    options = (rung_plan_options){.size = sizeof(rung_plan_options), .max_workspace_bytes = -1};
    assert_int_equal(rung_plan_create(device, &problem, &options, &plan), RUNG_STATUS_INVALID);
    assert_null(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_batches_pass),
        cmocka_unit_test(negative_numbers),
        cmocka_unit_test(batches_past_the_address_space),
        cmocka_unit_test(overlapping_items_of_c),
        cmocka_unit_test(overlapping_items_of_c_not_adjacent),
        cmocka_unit_test(attention_heads_side_by_side),
        cmocka_unit_test(many_heads_by_offsets),
        cmocka_unit_test(offsets_of_empty_batches),
        cmocka_unit_test(overlaps_are_always_rejected),
        cmocka_unit_test(blocks_of_a_batch_are_exact),
        cmocka_unit_test(batches_end_inside_their_buffers),
        cmocka_unit_test(epilogues_that_do_not_fit),
        cmocka_unit_test(epilogues_that_overlap_c),
        cmocka_unit_test(invalid_activations_and_modes),
        cmocka_unit_test(modes_have_an_order),
        cmocka_unit_test(integers_reject_gelu),
        cmocka_unit_test(broadcast_operands),
        cmocka_unit_test(every_pair_of_types),
        cmocka_unit_test(sets_of_types),
        cmocka_unit_test(unsupported_type_combinations),
        cmocka_unit_test(results_match_plain_loops),
        cmocka_unit_test(scalars_of_zero_in_a_batch),
        cmocka_unit_test(relu_keeps_a_nan),
        cmocka_unit_test(a_multiplier_keeps_a_nan),
        cmocka_unit_test(integers_wrap_before_relu),
        cmocka_unit_test(a_batch_of_zero_is_one_item),
        cmocka_unit_test(rung_multiply_rejects_buffers),
        cmocka_unit_test(strides_of_empty_batches),
        cmocka_unit_test(plans_reject_other_forms),
        cmocka_unit_test(plans_without_an_epilogue_reject_one),
        cmocka_unit_test(the_cpu_rejects_split_k),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, open_device, close_device);
}
