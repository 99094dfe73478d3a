/* SPDX-License-Identifier: Apache-2.0 */
/* oracle_quantized.c - the error bounds of products with a quantized B: results that a mode allows pass, and wrong readings of the
 * blocks fail. The blocks are decoded here a second time, from GGML's description. */
#include "support/unit.h"

#include <math.h>

#include "common/elements.h"
#include "verify/oracle.h"

enum { M = 5, N = 7, K = 320, BLOCK = 32 };

typedef enum slip {
    SLIP_NONE,
    SLIP_SWAPPED_NIBBLES,
    SLIP_NO_SCALES,
    SLIP_SCALE_OF_NEIGHBOUR,
    SLIP_UNSIGNED_CODES,
    SLIP_COUNT
} slip_t;

static float a_values[M * K], c_values[M * N];
static unsigned char b_bytes[N * K / BLOCK * 34];

/* How the elements of a row of A are rounded. */
typedef void round_row_t(const float *row, double *rounded);

static void keep(const float *row, double *rounded)
{
    for (int p = 0; p < K; p++)
        rounded[p] = (double)row[p];
}

static void round_to_bf16(const float *row, double *rounded)
{
    for (int p = 0; p < K; p++)
        rounded[p] = (double)rung_bf16_to_f32(rung_bf16_from_f32(row[p]));
}

static double truncate_to_integer(double value)
{
    return (double)(int)value;
}

/* Rounds blocks to integers of `largest` at most. */
static void round_blocks(const float *row, double largest, double (*rounding)(double), double *rounded)
{
    for (int first = 0; first < K; first += BLOCK) {
        double magnitude = 0;
        for (int p = first; p < first + BLOCK; p++)
            magnitude = fmax(magnitude, fabs((double)row[p]));
        for (int p = first; p < first + BLOCK; p++)
            rounded[p] = rounding((double)row[p] / magnitude * largest) * magnitude / largest;
    }
}

static void round_to_q8(const float *row, double *rounded)
{
    round_blocks(row, 127, rint, rounded);
}

/* Loses up to 1/15 of the largest magnitude, which is too much. */
static void truncate_to_q5(const float *row, double *rounded)
{
    round_blocks(row, 15, truncate_to_integer, rounded);
}

/* ---- A problem ------------------------------------------------------------------------------------------------- */

/* A is positive. With spikes, each block has one large element, beside which the others lose their digits in mode q8. */
static rung_problem make_problem(rung_type type, bool has_spikes)
{
    static float values[N * K];
    uint64_t seed = 1;
    for (int i = 0; i < M * K; i++)
        a_values[i] = (float)(1 + unit_random(&seed, 1000)) * (has_spikes && i % BLOCK != 7 ? 0.0003f : 0.1f);
    for (int i = 0; i < N * K; i++)
        values[i] = (float)(1 + unit_random(&seed, 1000)) * (i / BLOCK % 2 ? 0.01f : 0.03f);
    assert_int_equal(rung_quantize(rung_matrix_of(RUNG_F32, N, K, values), rung_matrix_of(type, N, K, b_bytes), NULL),
                     RUNG_OK);
    return rung_problem_of(rung_matrix_of(RUNG_F32, M, K, a_values),
                           rung_matrix_transpose(rung_matrix_of(type, N, K, b_bytes)),
                           rung_matrix_of(RUNG_F32, M, N, c_values));
}

/* Reads element p of column j. */
static double read_b(rung_type type, int j, int p, slip_t slip)
{
    int64_t bytes = rung_type_block_bytes(type), block = j * (K / BLOCK) + p / BLOCK, of = block;
    int e = p % BLOCK;
    uint16_t scale;
    if (slip == SLIP_SCALE_OF_NEIGHBOUR)
        of = block ^ 1;
    memcpy(&scale, b_bytes + of * bytes, sizeof scale);
    double factor = slip == SLIP_NO_SCALES ? 1 : (double)rung_f16_to_f32(scale);
    const unsigned char *codes = b_bytes + block * bytes + 2;
    if (type == RUNG_Q8_0)
        return factor * (slip == SLIP_UNSIGNED_CODES ? codes[e] ^ 128 : (signed char)codes[e]);
    bool is_low = (e < BLOCK / 2) != (slip == SLIP_SWAPPED_NIBBLES);
    return factor * ((is_low ? codes[e % 16] & 15 : codes[e % 16] >> 4) - (slip == SLIP_UNSIGNED_CODES ? 7 : 8));
}

static void multiply(rung_type type, round_row_t *round_row, slip_t slip)
{
    double row[K];
    for (int i = 0; i < M; i++) {
        round_row(a_values + (ptrdiff_t)i * K, row);
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int p = 0; p < K; p++)
                sum += (float)(row[p] * read_b(type, j, p, slip));
            c_values[i * N + j] = sum;
        }
    }
}

static bool is_right(const rung_problem *problem, rung_compute compute)
{
    rung_problem checked = *problem;
    checked.compute = compute;
    return lab_oracle_check(&checked, &checked.c, LAB_ACCURACY_BOUNDED).right;
}

/* ---- Tests ----------------------------------------------------------------------------------------------------- */

static const rung_type types[] = {RUNG_Q8_0, RUNG_Q4_0};

/* A mode accepts what it allows, and what more precise modes allow. */
static void modes_accept_what_they_allow(void **state)
{
    const struct {
        round_row_t *round_row;
        bool has_spikes, strict, bf16x1, q8;
    } cases[] = {{keep, false, true, true, true},           {keep, true, true, true, true},
                 {round_to_bf16, false, false, true, true}, {round_to_bf16, true, false, true, true},
                 {round_to_q8, true, false, false, true},   {truncate_to_q5, false, false, false, false}};
    (void)state;
    for (int t = 0; t < 2; t++)
        for (int i = 0; i < 6; i++) {
            rung_problem problem = make_problem(types[t], cases[i].has_spikes);
            multiply(types[t], cases[i].round_row, SLIP_NONE);
            assert_int_equal(is_right(&problem, RUNG_COMPUTE_STRICT), cases[i].strict);
            assert_int_equal(is_right(&problem, RUNG_COMPUTE_BF16X1), cases[i].bf16x1);
            assert_int_equal(is_right(&problem, RUNG_COMPUTE_Q8), cases[i].q8);
        }
}

static void wrong_readings_of_blocks_are_found(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++)
        for (int slip = SLIP_NONE + 1; slip < SLIP_COUNT; slip++) {
            rung_problem problem = make_problem(types[t], false);
            if (types[t] == RUNG_Q8_0 && slip == SLIP_SWAPPED_NIBBLES)
                continue;
            multiply(types[t], keep, (slip_t)slip);
            for (int compute = 0; compute <= RUNG_COMPUTE_Q8; compute++)
                assert_false(is_right(&problem, (rung_compute)compute));
        }
}

/* With a B of another type, a mode rounds an A of 16 bits, too. One and three tenths in F16 lose digits in BF16. */
static void modes_round_a_narrow_a(void **state)
{
    uint16_t a = rung_f16_from_f32(1.3F);
    unsigned char one = 0x38; /* F8E4M3 */
    float c = rung_bf16_to_f32(rung_bf16_from_f32(rung_f16_to_f32(a)));
    rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F16, 1, 1, &a), rung_matrix_of(RUNG_F8E4M3, 1, 1, &one),
                                           rung_matrix_of(RUNG_F32, 1, 1, &c));
    (void)state;
    assert_false(is_right(&problem, RUNG_COMPUTE_STRICT));
    assert_true(is_right(&problem, RUNG_COMPUTE_BF16X1));
}

/* An element of A that is not finite makes its row infinite or NaN; mode q8 does not say which. */
static void rows_that_are_not_finite_stay_so(void **state)
{
    rung_problem problem = make_problem(RUNG_Q8_0, false);
    (void)state;
    multiply(RUNG_Q8_0, keep, SLIP_NONE);
    a_values[2 * K + 40] = INFINITY;
    assert_false(is_right(&problem, RUNG_COMPUTE_Q8));
    for (int j = 0; j < N; j++)
        c_values[2 * N + j] = j % 2 ? NAN : INFINITY;
    assert_true(is_right(&problem, RUNG_COMPUTE_Q8));
    c_values[2 * N + 1] = 1;
    assert_false(is_right(&problem, RUNG_COMPUTE_Q8));
    c_values[2 * N + 1] = c_values[1] = NAN;
    assert_false(is_right(&problem, RUNG_COMPUTE_Q8));
}

/* What is written to blocks is read back, from the place where the view is. */
static void blocks_keep_their_place(void **state)
{
    enum { COLS = 3, ROWS = 64, STRIDE = 96, OFFSET = 32 };
    unsigned char bytes[(OFFSET + COLS * STRIDE) / BLOCK * 34 + 1];
    float values[ROWS], back[ROWS];
    rung_matrix matrix = rung_matrix_of(RUNG_Q8_0, ROWS, COLS, bytes);
    (void)state;
    matrix.row_stride = 1;
    matrix.col_stride = STRIDE;
    matrix.offset = OFFSET;
    memset(bytes, 0x5a, sizeof bytes);
    for (int p = 0; p < ROWS; p++)
        values[p] = (float)(p % BLOCK == 0 ? 127 : p % BLOCK - 16) / 127;
    lab_blocks_set(&matrix, 0, 1, ROWS, values);
    lab_blocks_get(&matrix, 0, 1, ROWS, back);
    for (int p = 0; p < ROWS; p++)
        assert_true(fabs((double)back[p] - (double)values[p]) <= 1.0 / 254 + 1.0 / 2048);
    for (int i = 0; i < (int)sizeof bytes; i++) {
        bool is_inside = i >= (OFFSET + STRIDE) / BLOCK * 34 && i < (OFFSET + STRIDE + ROWS) / BLOCK * 34;
        assert_true(is_inside || bytes[i] == 0x5a);
    }
    values[40] = INFINITY; /* cannot be quantized */
    lab_blocks_set(&matrix, 32, 1, BLOCK, values + 32);
    lab_blocks_get(&matrix, 32, 1, BLOCK, back);
    assert_true(isnan(back[0]) && isnan(back[31]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modes_accept_what_they_allow), cmocka_unit_test(wrong_readings_of_blocks_are_found),
        cmocka_unit_test(modes_round_a_narrow_a),       cmocka_unit_test(rows_that_are_not_finite_stay_so),
        cmocka_unit_test(blocks_keep_their_place),
    };
    unit_clean_environment();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
