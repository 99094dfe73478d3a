/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.c - checks the conversions to quantized types and back: every code of the 4-bit types and scales, GGML's blocks byte
 * by byte against GGML, the error of every type, and what is refused. */
#include "support/unit.h"

#include <float.h>
#include <math.h>

#include "core/ggml_reference.h"

/* ---- Codes --------------------------------------------------------------------------------------------------- */

static void every_f4_is_widened_and_comes_back(void **state)
{
    static const double sizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    (void)state;
    for (int code = 0; code < 16; code++) {
        float value = rung_f4e2m1_to_f32((uint8_t)code);
        assert_true(fabs((double)value) == sizes[code % 8] && !signbit(value) == (code < 8));
        assert_int_equal(rung_f4e2m1_from_f32(value), code);
        assert_true(rung_f4e2m1_to_f32((uint8_t)(code + 0xf0)) == value); /* the upper half is ignored */
    }
}

static void f4_rounds_to_the_nearest_and_to_even(void **state)
{
    (void)state;
    for (int code = 0; code < 7; code++) {
        float low = rung_f4e2m1_to_f32((uint8_t)code), high = rung_f4e2m1_to_f32((uint8_t)(code + 1)),
              middle = (low + high) / 2;
        assert_int_equal(rung_f4e2m1_from_f32(nextafterf(middle, 0)), code);
        assert_int_equal(rung_f4e2m1_from_f32(middle), code % 2 ? code + 1 : code);
        assert_int_equal(rung_f4e2m1_from_f32(nextafterf(middle, 9)), code + 1);
        assert_int_equal(rung_f4e2m1_from_f32(-nextafterf(middle, 9)), code + 9);
    }
    assert_int_equal(rung_f4e2m1_from_f32(FLT_MAX), 7);
    assert_int_equal(rung_f4e2m1_from_f32(-INFINITY), 15);
    assert_int_equal(rung_f4e2m1_from_f32(NAN), 7);
}

static void every_scale_is_a_power_of_two(void **state)
{
    (void)state;
    for (int code = 0; code < 255; code++) {
        float value = rung_e8m0_to_f32((uint8_t)code);
        assert_true((double)value == ldexp(1, code - 127));
        assert_int_equal(rung_e8m0_from_f32(value), code);
        assert_int_equal(rung_e8m0_from_f32(nextafterf(2 * value, 0)), code);
    }
    assert_true(isnan(rung_e8m0_to_f32(255)));
    assert_int_equal(rung_e8m0_from_f32(0), 0);
    assert_int_equal(rung_e8m0_from_f32(-0.0f), 0);
    assert_int_equal(rung_e8m0_from_f32(INFINITY), 254);
    assert_int_equal(rung_e8m0_from_f32(-1), 255);
    assert_int_equal(rung_e8m0_from_f32(NAN), 255);
}

/* ---- GGML ------------------------------------------------------------------------------------------------------- */

enum { BLOCK = 32, REFERENCE_ELEMENTS = GGML_REFERENCE_BLOCKS * BLOCK };

static void ggml_bytes_are_the_same(void **state)
{
    float values[REFERENCE_ELEMENTS];
    uint8_t q8_0[sizeof ggml_reference_q8_0], q4_0[sizeof ggml_reference_q4_0];
    (void)state;
    ggml_reference_values(values);
    rung_matrix from = rung_matrix_of(RUNG_F32, GGML_REFERENCE_BLOCKS / 4, 4 * BLOCK, values);
    assert_int_equal(rung_quantize(from, rung_matrix_of(RUNG_Q8_0, from.rows, from.cols, q8_0), NULL), RUNG_OK);
    assert_int_equal(rung_quantize(from, rung_matrix_of(RUNG_Q4_0, from.rows, from.cols, q4_0), NULL), RUNG_OK);
    assert_memory_equal(q8_0, ggml_reference_q8_0, sizeof q8_0);
    assert_memory_equal(q4_0, ggml_reference_q4_0, sizeof q4_0);
}

/* Computes an element of a block by the definition of the format. */
static double ggml_element(rung_type type, const uint8_t *block, int e)
{
    double scale = (double)rung_f16_to_f32((uint16_t)(block[0] | block[1] << 8));
    if (type == RUNG_Q8_0)
        return scale * (int8_t)block[2 + e];
    return scale * ((e < 16 ? block[2 + e] & 15 : block[2 + e - 16] >> 4) - 8);
}

static void ggml_blocks_are_widened(void **state)
{
    (void)state;
    for (int q4 = 0; q4 < 2; q4++) {
        rung_type type = q4 ? RUNG_Q4_0 : RUNG_Q8_0;
        const uint8_t *bytes = q4 ? ggml_reference_q4_0 : ggml_reference_q8_0;
        float values[REFERENCE_ELEMENTS];
        rung_matrix quantized = rung_matrix_of(type, GGML_REFERENCE_BLOCKS, BLOCK, bytes);
        assert_int_equal(rung_dequantize(quantized, NULL, rung_matrix_of(RUNG_F32, quantized.rows, BLOCK, values)),
                         RUNG_OK);
        for (int i = 0; i < REFERENCE_ELEMENTS; i++)
            assert_true((double)values[i] ==
                        (double)(float)ggml_element(type, bytes + i / BLOCK * rung_type_block_bytes(type), i % BLOCK));
    }
}

/* Weights of a network are stored by rows of n; B is their transpose. */
static void a_transposed_view_has_the_same_blocks(void **state)
{
    float values[REFERENCE_ELEMENTS], widened[REFERENCE_ELEMENTS];
    uint8_t blocks[sizeof ggml_reference_q4_0];
    (void)state;
    ggml_reference_values(values);
    rung_matrix from = rung_matrix_of(RUNG_F32, 8, REFERENCE_ELEMENTS / 8, values);
    rung_matrix to = rung_matrix_of(RUNG_Q4_0, 8, REFERENCE_ELEMENTS / 8, blocks);
    assert_int_equal(rung_quantize(rung_matrix_transpose(from), rung_matrix_transpose(to), NULL), RUNG_OK);
    assert_memory_equal(blocks, ggml_reference_q4_0, sizeof blocks);
    rung_matrix back = rung_matrix_of(RUNG_F32, REFERENCE_ELEMENTS / 8, 8, widened);
    assert_int_equal(rung_dequantize(rung_matrix_transpose(to), NULL, back), RUNG_OK);
    for (int i = 0; i < REFERENCE_ELEMENTS; i++) {
        int row = i / (REFERENCE_ELEMENTS / 8), col = i % (REFERENCE_ELEMENTS / 8), block = i / BLOCK;
        assert_true((double)widened[col * 8 + row] ==
                    (double)(float)ggml_element(RUNG_Q4_0, ggml_reference_q4_0 + 18 * block, i % BLOCK));
    }
}

/* A row of blocks, and a column of blocks, have the same bytes. Both strides may be 1. */
static void one_row_and_one_column_have_the_same_blocks(void **state)
{
    enum { COUNT = 4 * BLOCK };
    float values[COUNT], widened[COUNT];
    uint8_t blocks[4 * 34], expected[4 * 34];
    uint64_t seed = 3;
    (void)state;
    unit_fill(&seed, values, COUNT);
    rung_matrix row = rung_matrix_of(RUNG_F32, 1, COUNT, values), to = rung_matrix_of(RUNG_Q8_0, 1, COUNT, expected);
    assert_int_equal(rung_quantize(row, to, NULL), RUNG_OK);
    for (int is_column = 0; is_column < 2; is_column++) {
        rung_matrix from = is_column ? rung_matrix_of(RUNG_F32, COUNT, 1, values) : row;
        rung_matrix back = from;
        back.data = widened;
        to = is_column ? rung_matrix_of(RUNG_Q8_0, COUNT, 1, blocks) : rung_matrix_of(RUNG_Q8_0, 1, COUNT, blocks);
        to.row_stride = to.col_stride = 1;
        memset(blocks, 0, sizeof blocks);
        assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
        assert_memory_equal(blocks, expected, sizeof blocks);
        assert_int_equal(rung_dequantize(to, NULL, back), RUNG_OK);
        for (int i = 0; i < COUNT; i++)
            assert_true((double)widened[i] ==
                        (double)(float)ggml_element(RUNG_Q8_0, expected + i / BLOCK * 34, i % BLOCK));
    }
}

static void tiny_and_zero_blocks_become_zero(void **state)
{
    float values[2 * BLOCK] = {0}, widened[2 * BLOCK];
    uint8_t blocks[2 * 34];
    (void)state;
    values[BLOCK] = 1e-44f;
    for (int q4 = 0; q4 < 2; q4++) {
        rung_matrix to = rung_matrix_of(q4 ? RUNG_Q4_0 : RUNG_Q8_0, 2, BLOCK, blocks);
        assert_int_equal(rung_quantize(rung_matrix_of(RUNG_F32, 2, BLOCK, values), to, NULL), RUNG_OK);
        assert_int_equal(rung_dequantize(to, NULL, rung_matrix_of(RUNG_F32, 2, BLOCK, widened)), RUNG_OK);
        for (int i = 0; i < 2 * BLOCK; i++)
            assert_true(widened[i] == 0);
    }
}

static void q8_0_rounds_halves_away_from_zero(void **state)
{
    float values[BLOCK] = {127, 0.5f, 1.5f, 2.5f, -0.5f, -2.5f, 126.5f};
    int8_t block[34];
    (void)state;
    assert_int_equal(
        rung_quantize(rung_matrix_of(RUNG_F32, 1, BLOCK, values), rung_matrix_of(RUNG_Q8_0, 1, BLOCK, block), NULL),
        RUNG_OK);
    const int8_t expected[] = {127, 1, 2, 3, -1, -3, 127};
    assert_memory_equal(block + 2, expected, sizeof expected);
}

/* ---- Types with scales ----------------------------------------------------------------------------------------- */

enum { ROWS = 40, COLS = 24, MAX_SCALES = ROWS * COLS };

/* A format: the block of a scale, and the largest error, relative to the largest magnitude of the block. */
typedef struct format {
    const char *name;
    rung_type type, scale_type, zero_type;
    int64_t block_rows, block_cols;
    double error;
} format_t;

static const format_t formats[] = {
    {"int8 per tensor", RUNG_I8, RUNG_F32, RUNG_TYPE_NONE, 0, 0, 0.5 / 127},
    {"int8 per column", RUNG_I8, RUNG_F32, RUNG_TYPE_NONE, 0, 1, 0.5 / 127},
    {"int4 groups", RUNG_I4, RUNG_F16, RUNG_TYPE_NONE, 32, 1, 0.5 / 7},
    {"uint4 groups", RUNG_U4, RUNG_F16, RUNG_U4, 32, 1, 2 * 1.0 / 15},
    {"uint8 with zero points", RUNG_U8, RUNG_F32, RUNG_U8, 16, 8, 2 * 1.0 / 255},
    {"f8e4m3 per row", RUNG_F8E4M3, RUNG_F32, RUNG_TYPE_NONE, 1, 0, 1.0 / 16},
    {"f8e5m2 per tensor", RUNG_F8E5M2, RUNG_F32, RUNG_TYPE_NONE, 0, 0, 1.0 / 8},
    {"mxfp8", RUNG_F8E4M3, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1, 1.0 / 8},
    {"mxfp4", RUNG_F4E2M1, RUNG_E8M0, RUNG_TYPE_NONE, 32, 1, 1.0 / 4},
    {"nvfp4", RUNG_F4E2M1, RUNG_F8E4M3, RUNG_TYPE_NONE, 16, 1, 1.0 / 5},
};

static double random_value(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return ((double)(*seed >> 8) / (1 << 24) - 0.5) * 8;
}

static int64_t blocks_of(int64_t size, int64_t block)
{
    return block == 0 ? 1 : (size + block - 1) / block;
}

/* Returns the largest magnitude of the block of an element. */
static double largest_of_block(const float *values, const format_t *format, int64_t i, int64_t j)
{
    int64_t rows = format->block_rows ? format->block_rows : ROWS,
            cols = format->block_cols ? format->block_cols : COLS;
    double largest = 0;
    for (int64_t r = i / rows * rows; r < ROWS && r < (i / rows + 1) * rows; r++)
        for (int64_t c = j / cols * cols; c < COLS && c < (j / cols + 1) * cols; c++)
            largest = fmax(largest, fabs((double)values[r * COLS + c]));
    return largest;
}

static void every_format_is_near(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        const format_t *format = &formats[f];
        float values[ROWS * COLS], widened[ROWS * COLS], scales[MAX_SCALES];
        uint8_t codes[ROWS * COLS], zeros[MAX_SCALES];
        uint32_t seed = 29;
        memset(codes, 0xff, sizeof codes); /* nothing is left of the format before */
        memset(widened, 0xff, sizeof widened);
        for (int i = 0; i < ROWS * COLS; i++)
            values[i] = (float)random_value(&seed);
        values[5] = 0;
        int64_t rows = blocks_of(ROWS, format->block_rows), cols = blocks_of(COLS, format->block_cols);
        rung_quantization quantization = rung_quantization_default();
        quantization.block_rows = format->block_rows;
        quantization.block_cols = format->block_cols;
        quantization.scales = rung_matrix_of(format->scale_type, rows, cols, scales);
        if (format->zero_type)
            quantization.zero_points = rung_matrix_of(format->zero_type, rows, cols, zeros);
        rung_matrix from = rung_matrix_of(RUNG_F32, ROWS, COLS, values);
        rung_matrix to = rung_matrix_of(format->type, ROWS, COLS, codes);
        assert_int_equal(rung_quantize(from, to, &quantization), RUNG_OK);
        assert_int_equal(rung_dequantize(to, &quantization, rung_matrix_of(RUNG_F32, ROWS, COLS, widened)), RUNG_OK);
        for (int64_t i = 0; i < ROWS * COLS; i++) {
            double bound = 1.01 * format->error * largest_of_block(values, format, i / COLS, i % COLS);
            if (!(fabs((double)widened[i] - (double)values[i]) <= bound))
                fail_msg("%s: %g becomes %g, which is farther than %g", format->name, (double)values[i],
                         (double)widened[i], bound);
        }
        assert_true(widened[5] == 0);
    }
}

/* ---- The range of scales --------------------------------------------------------------------------------------- */

/* A type of scales: the smallest and the largest scale with the precision that docs/guides/quantised.md states. */
typedef struct scale_range {
    rung_type type;
    double least, most;
} scale_range_t;

static const scale_range_t scale_ranges[] = {
    {RUNG_F32, 0x1p-126, 0x1.fffffep127}, {RUNG_F16, 0x1p-14, 65504},     {RUNG_BF16, 0x1p-126, 0x1.fep127},
    {RUNG_F8E4M3, 0x1p-6, 448},           {RUNG_E8M0, 0x1p-127, 0x1p127},
};

static const scale_range_t *range_of(rung_type type)
{
    const scale_range_t *range = scale_ranges;
    while (range->type != type)
        range++;
    return range;
}

static double largest_number_of(rung_type type)
{
    switch (type) {
    case RUNG_I8: return 127;
    case RUNG_U8: return 255;
    case RUNG_I4: return 7;
    case RUNG_U4: return 15;
    case RUNG_F8E4M3: return 448;
    case RUNG_F8E5M2: return 57344;
    default: return 6;
    }
}

/* Returns the largest error of a block, relative to its largest magnitude. */
static double error_of_block(const format_t *format, double magnitude, uint32_t *seed)
{
    float values[32], widened[32];
    uint8_t codes[32];
    double scale, zero, error = 0;
    rung_matrix from = rung_matrix_of(RUNG_F32, 32, 1, values), to = rung_matrix_of(format->type, 32, 1, codes);
    rung_quantization quantization = rung_quantization_default();
    for (int i = 0; i < 32; i++)
        values[i] = (float)(random_value(seed) / 4 * magnitude);
    values[3] = (float)magnitude;
    quantization.scales = rung_matrix_of(format->scale_type, 1, 1, &scale);
    if (format->zero_type)
        quantization.zero_points = rung_matrix_of(format->zero_type, 1, 1, &zero);
    assert_int_equal(rung_quantize(from, to, &quantization), RUNG_OK);
    assert_int_equal(rung_dequantize(to, &quantization, rung_matrix_of(RUNG_F32, 32, 1, widened)), RUNG_OK);
    for (int i = 0; i < 32; i++)
        error = fmax(error, fabs((double)widened[i] - (double)values[i]) / magnitude);
    return error;
}

/* The documented errors hold from the smallest to the largest magnitude that the type of the scales allows. With zero points,
 * the values have both signs, and the scale is for up to twice the magnitude. */
static void errors_hold_for_the_range_of_the_scales(void **state)
{
    uint32_t seed = 31;
    (void)state;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        const format_t *format = &formats[f];
        const scale_range_t *range = range_of(format->scale_type);
        double number = largest_number_of(format->type), least, most;
        if (format->scale_type == RUNG_E8M0)
            number = exp2(floor(log2(number)));
        least = range->least * number;
        most = fmin(range->most * number, 3e38) / (format->zero_type ? 2 : 1);
        for (double magnitude = least; magnitude <= most; magnitude *= 1.37) {
            double error = error_of_block(format, magnitude, &seed);
            if (error > 1.01 * format->error)
                fail_msg("%s: the error is %g for blocks of up to %g", format->name, error, magnitude);
        }
        assert_true(error_of_block(format, most, &seed) <= 1.01 * format->error);
        if (format->scale_type == RUNG_F8E4M3) { /* smaller scales are 0, and larger ones are 448 */
            assert_true(error_of_block(format, least / 64, &seed) > 0.99);
            assert_true(error_of_block(format, 4 * most, &seed) > 0.7);
        }
    }
}

/* NVFP4 with a global scale: the values are divided by it, and alpha is multiplied by it. */
static void alpha_is_a_global_scale(void **state)
{
    enum { K = 64, N = 3, SCALES = K / 16 * N };
    static const double sizes[] = {1e-30, 1e-4, 0.005, 1, 1e4, 1e30};
    static float identity[K * K], values[K * N], divided[K * N], product[K * N];
    uint8_t codes[K * N / 2], scales[SCALES];
    uint32_t seed = 37;
    (void)state;
    for (int i = 0; i < K; i++)
        identity[i * (K + 1)] = 1;
    rung_quantization nvfp4 = rung_quantization_default();
    nvfp4.block_rows = 16;
    nvfp4.block_cols = 1;
    nvfp4.scales = rung_matrix_of(RUNG_F8E4M3, K / 16, N, scales);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        double largest = 0;
        for (int i = 0; i < K * N; i++) {
            values[i] = (float)(random_value(&seed) * sizes[s] * (i < 16 * N ? 1.0 / 1024 : 1)); /* and a small block */
            largest = fmax(largest, fabs((double)values[i]));
        }
        double global = largest / (448 * 6);
        for (int i = 0; i < K * N; i++)
            divided[i] = (float)((double)values[i] / global);
        rung_matrix b = rung_matrix_of(RUNG_F4E2M1, K, N, codes);
        assert_int_equal(rung_quantize(rung_matrix_of(RUNG_F32, K, N, divided), b, &nvfp4), RUNG_OK);
        rung_problem problem = rung_problem_of(rung_matrix_of(RUNG_F32, K, K, identity), b,
                                               rung_matrix_of(RUNG_F32, K, N, product));
        problem.alpha = global;
        problem.b_quantization = &nvfp4;
        assert_int_equal(rung_multiply(NULL, &problem, NULL), RUNG_OK);
        for (int i = 0; i < K * N; i++) {
            double block = 0;
            for (int p = i / N / 16 * 16; p < i / N / 16 * 16 + 16; p++)
                block = fmax(block, fabs((double)values[p * N + i % N]));
            assert_true(fabs((double)product[i] - (double)values[i]) <= 1.01 / 5 * block);
        }
    }
}

/* Every code of the element with every code of the scale. */
static void every_code_and_scale_is_widened(void **state)
{
    static const rung_type scale_types[] = {RUNG_E8M0, RUNG_F8E4M3};
    (void)state;
    for (int s = 0; s < 2; s++)
        for (int scale = 0; scale < 256; scale++) {
            uint8_t codes[8], scale_code = (uint8_t)scale;
            float widened[16], value = s ? rung_f8e4m3_to_f32(scale_code) : rung_e8m0_to_f32(scale_code);
            for (int i = 0; i < 8; i++)
                codes[i] = (uint8_t)(2 * i | (2 * i + 1) << 4); /* the first element is in the lower half */
            rung_quantization quantization = rung_quantization_default();
            quantization.scales = rung_matrix_of(scale_types[s], 1, 1, &scale_code);
            assert_int_equal(rung_dequantize(rung_matrix_of(RUNG_F4E2M1, 16, 1, codes), &quantization,
                                             rung_matrix_of(RUNG_F32, 16, 1, widened)),
                             RUNG_OK);
            for (int i = 0; i < 16; i++) {
                float expected = value * rung_f4e2m1_to_f32((uint8_t)i);
                assert_true(isnan(expected) ? isnan(widened[i]) : widened[i] == expected);
            }
        }
}

/* A scale of MXFP4 is 2^(exponent of the largest value - 2), so that the largest value is at most 6 of it, or rounds to 6. */
static void mx_scales_follow_the_specification(void **state)
{
    (void)state;
    for (int exponent = -120; exponent < 120; exponent++) {
        float values[32] = {0};
        uint8_t codes[16], scale = 0;
        values[7] = ldexpf(1.9f, exponent);
        rung_quantization quantization = rung_quantization_default();
        quantization.scales = rung_matrix_of(RUNG_E8M0, 1, 1, &scale);
        assert_int_equal(rung_quantize(rung_matrix_of(RUNG_F32, 32, 1, values),
                                       rung_matrix_of(RUNG_F4E2M1, 32, 1, codes), &quantization),
                         RUNG_OK);
        assert_int_equal(scale, exponent - 2 + 127);
        assert_int_equal(codes[3] >> 4, 7);
        assert_int_equal(codes[3] & 15, 0);
    }
}

/* 6.36 / 6 is 1.06, which becomes 1 in F8E4M3: 2.6 is then nearer to 3. */
static void elements_are_multiples_of_the_rounded_scale(void **state)
{
    float values[2] = {6.36f, 2.6f};
    uint8_t codes = 0, scale = 0;
    rung_quantization nvfp4 = rung_quantization_default();
    (void)state;
    nvfp4.scales = rung_matrix_of(RUNG_F8E4M3, 1, 1, &scale);
    assert_int_equal(
        rung_quantize(rung_matrix_of(RUNG_F32, 2, 1, values), rung_matrix_of(RUNG_F4E2M1, 2, 1, &codes), &nvfp4),
        RUNG_OK);
    assert_true(rung_f8e4m3_to_f32(scale) == 1);
    assert_int_equal(codes, 7 | 5 << 4);
}

/* ---- Other types of values, and views ------------------------------------------------------------------------------ */

static void values_of_every_type(void **state)
{
    static const rung_type types[] = {RUNG_F64, RUNG_F16, RUNG_BF16};
    (void)state;
    for (int t = 0; t < 3; t++) {
        float values[BLOCK], widened[BLOCK];
        uint64_t other[BLOCK], back[BLOCK];
        uint8_t expected[34], blocks[34];
        for (int i = 0; i < BLOCK; i++)
            values[i] = (float)(i - 11) / 8; /* exact in every type */
        rung_matrix from = rung_matrix_of(RUNG_F32, 1, BLOCK, values),
                    to = rung_matrix_of(RUNG_Q8_0, 1, BLOCK, expected);
        for (int i = 0; i < BLOCK; i++) {
            double wide = (double)values[i];
            if (types[t] == RUNG_F64)
                memcpy((double *)(void *)other + i, &wide, sizeof wide);
            else
                ((uint16_t *)(void *)other)[i] = types[t] == RUNG_F16 ? rung_f16_from_f32(values[i])
                                                                      : rung_bf16_from_f32(values[i]);
        }
        assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
        from = rung_matrix_of(types[t], 1, BLOCK, other);
        to = rung_matrix_of(RUNG_Q8_0, 1, BLOCK, blocks);
        assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
        assert_memory_equal(blocks, expected, sizeof blocks);
        assert_int_equal(rung_dequantize(to, NULL, rung_matrix_of(types[t], 1, BLOCK, back)), RUNG_OK);
        assert_int_equal(rung_dequantize(to, NULL, rung_matrix_of(RUNG_F32, 1, BLOCK, widened)), RUNG_OK);
        for (int i = 0; types[t] == RUNG_F16 && i < BLOCK; i++)
            assert_int_equal(((uint16_t *)(void *)back)[i], rung_f16_from_f32(widened[i]));
    }
}

/* Memory between the elements stays unchanged, and half of a byte that belongs to another element does, too. */
static void only_the_elements_are_written(void **state)
{
    float values[6] = {1, 2, 3, 4, 5, 7};
    uint8_t codes[16];
    (void)state;
    memset(codes, 0xaa, sizeof codes);
    rung_matrix to = rung_matrix_of(RUNG_I4, 2, 3, codes);
    to.row_stride = 9;
    to.offset = 3;
    assert_int_equal(rung_quantize(rung_matrix_of(RUNG_F32, 2, 3, values), to, NULL), RUNG_OK);
    const uint8_t expected[16] = {0xaa, 0x1a, 0x32, 0xaa, 0xaa, 0xaa, 0x54, 0xa7,
                                  0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa};
    assert_memory_equal(codes, expected, sizeof codes);
}

/* ---- What is refused ---------------------------------------------------------------------------------------------- */

static void assert_refused(rung_status status, rung_status expected)
{
    assert_int_equal(status, expected);
    assert_true(strlen(rung_error_text()) > 10);
}

static void wrong_arguments_are_refused(void **state)
{
    float values[4 * BLOCK] = {0};
    uint8_t bytes[16 * 34];
    rung_matrix from = rung_matrix_of(RUNG_F32, 2, 2 * BLOCK, values),
                to = rung_matrix_of(RUNG_Q8_0, 2, 2 * BLOCK, bytes);
    rung_quantization quantization = rung_quantization_default();
    rung_matrix wrong = to;
    (void)state;
    wrong.cols = BLOCK;
    assert_refused(rung_quantize(from, wrong, NULL), RUNG_STATUS_INVALID); /* other sizes */
    wrong = to;
    wrong.offset = 1;
    assert_refused(rung_quantize(from, wrong, NULL), RUNG_STATUS_INVALID); /* not at a block */
    wrong = to;
    wrong.col_stride = 2;
    assert_refused(rung_quantize(from, wrong, NULL), RUNG_STATUS_INVALID); /* no contiguous direction */
    wrong = to;
    wrong.data = NULL;
    assert_refused(rung_quantize(from, wrong, NULL), RUNG_STATUS_INVALID);
    wrong = to;
    wrong.row_stride = INT64_MAX / 2;
    assert_refused(rung_quantize(from, wrong, NULL), RUNG_STATUS_TOO_LARGE);
    wrong = to;
    wrong.data = values;
    assert_refused(rung_quantize(from, wrong, NULL), RUNG_STATUS_INVALID); /* overlaps */
    quantization.scales = rung_matrix_of(RUNG_F32, 1, 1, values);
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID); /* Q8_0 holds its scales */
    wrong = rung_matrix_of(RUNG_F16, 2, 2 * BLOCK, bytes);
    assert_refused(rung_quantize(from, wrong, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_refused(rung_quantize(to, to, NULL), RUNG_STATUS_UNSUPPORTED);
    values[70] = NAN;
    assert_refused(rung_quantize(from, to, NULL), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "(1, 6)"));
}

/* Each mistake in the floating-point matrix, which is input once and output once. */
static void wrong_views_are_refused(void **state)
{
    float values[2 * BLOCK] = {0};
    uint8_t codes[2 * BLOCK] = {0};
    const rung_matrix wide = rung_matrix_of(RUNG_F32, 2, BLOCK, values),
                      narrow = rung_matrix_of(RUNG_I8, 2, BLOCK, codes);
    (void)state;
    for (int i = 0; i < 8; i++) {
        rung_matrix wrong = wide;
        int64_t *fields[] = {&wrong.rows, &wrong.cols, &wrong.row_stride, &wrong.col_stride, &wrong.offset};
        rung_status expected = i == 7 ? RUNG_STATUS_TOO_LARGE : RUNG_STATUS_INVALID;
        if (i < 5)
            *fields[i] = -1;
        else if (i == 5)
            wrong.data = (char *)values + 2;
        else if (i == 6)
            wrong.data = NULL, wrong.buffer = (rung_buffer *)(void *)codes;
        else
            wrong.offset = INT64_MAX - 1;
        assert_refused(rung_quantize(wrong, narrow, NULL), expected);
        assert_refused(rung_dequantize(narrow, NULL, wrong), expected);
    }
    rung_matrix repeated = wide;
    repeated.row_stride = 0; /* an input may repeat, an output may not */
    assert_int_equal(rung_quantize(repeated, narrow, NULL), RUNG_OK);
    assert_refused(rung_dequantize(narrow, NULL, repeated), RUNG_STATUS_INVALID);
    repeated.row_stride = BLOCK - 1;
    assert_refused(rung_dequantize(narrow, NULL, repeated), RUNG_STATUS_INVALID);
    repeated = wide;
    repeated.col_stride = 0;
    assert_refused(rung_dequantize(narrow, NULL, repeated), RUNG_STATUS_INVALID);
    repeated = rung_matrix_transpose(narrow);
    assert_refused(rung_quantize(wide, repeated, NULL), RUNG_STATUS_INVALID); /* as many elements, other sizes */
    repeated = rung_matrix_of(RUNG_TYPE_NONE, 2, BLOCK, codes);
    assert_refused(rung_quantize(wide, repeated, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_refused(rung_dequantize(narrow, NULL, repeated), RUNG_STATUS_UNSUPPORTED);
    repeated.type = (rung_type)1000;
    assert_refused(rung_quantize(wide, repeated, NULL), RUNG_STATUS_UNSUPPORTED);
    assert_refused(rung_dequantize(narrow, NULL, repeated), RUNG_STATUS_UNSUPPORTED);
}

/* Outputs that share memory would overwrite each other. */
static void outputs_may_not_overlap(void **state)
{
    float values[16] = {0}, scales[4];
    uint8_t codes[16];
    rung_matrix from = rung_matrix_of(RUNG_F32, 4, 4, values), to = rung_matrix_of(RUNG_U8, 4, 4, codes);
    rung_quantization quantization = rung_quantization_default();
    (void)state;
    quantization.scales = rung_matrix_of(RUNG_F32, 1, 1, scales);
    quantization.zero_points = rung_matrix_of(RUNG_F32, 1, 1, scales + 1);
    assert_int_equal(rung_quantize(from, to, &quantization), RUNG_OK);
    quantization.scales.data = values + 15;
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "the scales overlap the floating-point matrix"));
    quantization.scales.data = scales + 1;
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "the zero points overlap the scales"));
    quantization.scales.row_stride = -1;
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID);
    quantization.scales = (rung_matrix){.type = RUNG_TYPE_NONE}; /* zero points alone */
    assert_int_equal(rung_quantize(from, to, &quantization), RUNG_OK);
    quantization.zero_points = rung_matrix_of(RUNG_U8, 1, 1, codes);
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID);
    assert_non_null(strstr(rung_error_text(), "the zero points overlap the quantized matrix"));
}

static void wrong_scales_are_refused(void **state)
{
    float values[64] = {0}, scales[64];
    uint8_t codes[64];
    rung_matrix from = rung_matrix_of(RUNG_F32, 8, 8, values), to = rung_matrix_of(RUNG_I8, 8, 8, codes);
    rung_quantization quantization = rung_quantization_default();
    (void)state;
    quantization.block_rows = 4;
    quantization.scales = rung_matrix_of(RUNG_F32, 2, 2, scales);
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID); /* 2 x 1 blocks */
    quantization.scales = rung_matrix_of(RUNG_F32, 1, 1, scales);
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID);
    quantization.scales = rung_matrix_of(RUNG_F32, 2, 1, scales);
    assert_int_equal(rung_quantize(from, to, &quantization), RUNG_OK);
    quantization.scales.row_stride = 0;
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID); /* both blocks would share a scale */
    assert_int_equal(rung_dequantize(to, &quantization, from), RUNG_OK);         /* which inputs may */
    quantization.scales = rung_matrix_of(RUNG_Q8_0, 2, 1, scales);
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_UNSUPPORTED);
    quantization.scales = rung_matrix_of(RUNG_F32, 2, 1, codes);
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID); /* overlap the elements */
    quantization.block_cols = -1;
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID);
    quantization.size = 3;
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID);
}

/* Quantizes a row of two values, the second of which is -value or 0, with one scale. */
static rung_status quantize_pair(float value, rung_type type, rung_type scale_type, rung_type zero_type, double *back)
{
    float values[2] = {value, zero_type == RUNG_TYPE_NONE ? 0 : -value}, widened[2] = {NAN, NAN};
    uint8_t codes[2] = {0x5a, 0x5a};
    double scale = -1, zero = -1, untouched = -1;
    rung_matrix from = rung_matrix_of(RUNG_F32, 1, 2, values), to = rung_matrix_of(type, 1, 2, codes);
    rung_quantization quantization = rung_quantization_default();
    quantization.scales = rung_matrix_of(scale_type, 1, 1, &scale);
    if (zero_type != RUNG_TYPE_NONE)
        quantization.zero_points = rung_matrix_of(zero_type, 1, 1, &zero);
    rung_status status = rung_quantize(from, to, &quantization);
    if (status != RUNG_OK) {
        assert_true(codes[0] == 0x5a && codes[1] == 0x5a);
        assert_memory_equal(&scale, &untouched, sizeof scale);
        assert_memory_equal(&zero, &untouched, sizeof zero);
        return status;
    }
    assert_int_equal(rung_dequantize(to, &quantization, rung_matrix_of(RUNG_F32, 1, 2, widened)), RUNG_OK);
    *back = (double)widened[0];
    return RUNG_OK;
}

/* Finite values never become infinite or NaN: where their scale would be, nothing is written. */
static void values_beyond_the_largest_scale_are_refused(void **state)
{
    static const struct {
        rung_type type, scale_type, zero_type;
        float valid, invalid;
    } limits[] = {
        {RUNG_I4, RUNG_F16, RUNG_TYPE_NONE, 65504.0f * 7, 1e6f},     {RUNG_U4, RUNG_F16, RUNG_U4, 65504.0f * 7, 1e6f},
        {RUNG_I8, RUNG_F16, RUNG_TYPE_NONE, 65504.0f * 127, 1e7f},   {RUNG_U8, RUNG_F32, RUNG_U8, 1.6e38f, 3e38f},
        {RUNG_F4E2M1, RUNG_BF16, RUNG_TYPE_NONE, 3e38f, FLT_MAX}, /* the scale is finite, 6 times the scale is not */
        {RUNG_F4E2M1, RUNG_F16, RUNG_TYPE_NONE, 65504.0f * 6, 1e6f},
    };
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        double back = 0, value = (double)limits[i].valid;
        rung_type type = limits[i].type, scale_type = limits[i].scale_type, zero_type = limits[i].zero_type;
        assert_int_equal(quantize_pair(limits[i].valid, type, scale_type, zero_type, &back), RUNG_OK);
        assert_true(fabs(back - value) <= 0.14 * value);
        assert_refused(quantize_pair(limits[i].invalid, type, scale_type, zero_type, &back), RUNG_STATUS_INVALID);
        assert_non_null(strstr(rung_error_text(), "the block at (0, 0)"));
        assert_non_null(strstr(rung_error_text(), "multiply alpha"));
    }
}

static void values_beyond_the_largest_scale_of_ggml_are_refused(void **state)
{
    static const float valid[] = {65504.0f * 127, 65504.0f * 8}, invalid[] = {65536.0f * 127, 65536.0f * 8};
    float values[2 * BLOCK] = {0}, widened[2 * BLOCK];
    uint8_t blocks[2 * 34];
    (void)state;
    for (int q4 = 0; q4 < 2; q4++)
        for (int is_column = 0; is_column < 2; is_column++) {
            rung_matrix from = rung_matrix_of(RUNG_F32, 2, BLOCK, values),
                        back = rung_matrix_of(RUNG_F32, 2, BLOCK, widened);
            rung_matrix to = rung_matrix_of(q4 ? RUNG_Q4_0 : RUNG_Q8_0, 2, BLOCK, blocks);
            values[BLOCK + 3] = valid[q4];
            assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
            assert_int_equal(rung_dequantize(to, NULL, back), RUNG_OK);
            assert_true(fabsf(widened[BLOCK + 3] - valid[q4]) <= 0.13f * valid[q4]);
            values[BLOCK + 3] = invalid[q4];
            memset(blocks, 0x5a, sizeof blocks);
            assert_refused(is_column ? rung_quantize(rung_matrix_transpose(from), rung_matrix_transpose(to), NULL)
                                     : rung_quantize(from, to, NULL),
                           RUNG_STATUS_INVALID);
            assert_non_null(strstr(rung_error_text(), is_column ? "the block at (0, 1)" : "the block at (1, 0)"));
            for (size_t i = 0; i < sizeof blocks; i++)
                assert_int_equal(blocks[i], 0x5a);
        }
}

/* Zero points are whole numbers from 0 to the largest element, which their type must have. */
static void zero_points_of_a_small_type_are_refused(void **state)
{
    static const struct {
        rung_type type, zero_type;
        bool is_valid;
    } cases[] = {
        {RUNG_U8, RUNG_U8, true},      {RUNG_U8, RUNG_F16, true},     {RUNG_U8, RUNG_BF16, true},
        {RUNG_U8, RUNG_F32, true},     {RUNG_U8, RUNG_F64, true},     {RUNG_U8, RUNG_I8, false},
        {RUNG_U8, RUNG_U4, false},     {RUNG_U8, RUNG_I4, false},     {RUNG_U8, RUNG_E8M0, false},
        {RUNG_U8, RUNG_F8E4M3, false}, {RUNG_U8, RUNG_F8E5M2, false}, {RUNG_U8, RUNG_F4E2M1, false},
        {RUNG_U4, RUNG_U4, true},      {RUNG_U4, RUNG_U8, true},      {RUNG_U4, RUNG_I8, true},
        {RUNG_U4, RUNG_F8E4M3, true},  {RUNG_U4, RUNG_I4, false},     {RUNG_U4, RUNG_F8E5M2, false},
        {RUNG_I8, RUNG_I8, true},      {RUNG_I4, RUNG_I4, true},      {RUNG_U4, RUNG_E8M0, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double back = 0;
        rung_status status = quantize_pair(-1, cases[i].type, RUNG_F32, cases[i].zero_type, &back);
        assert_int_equal(status, cases[i].is_valid ? RUNG_OK : RUNG_STATUS_UNSUPPORTED);
        if (cases[i].is_valid)
            assert_true(fabs(back + 1) <= 2.0 / 7);
        else
            assert_non_null(strstr(rung_error_text(), "whole numbers"));
    }
}

/* Views of one allocation overlap only if their elements do. */
static void views_of_one_allocation_may_be_adjacent(void **state)
{
    enum { COUNT = 8 };
    _Alignas(8) uint8_t memory[COUNT * 4 + COUNT + 8];
    rung_matrix from = rung_matrix_of(RUNG_F32, 1, COUNT, memory), to = rung_matrix_of(RUNG_I8, 1, COUNT, memory);
    (void)state;
    memset(memory, 0, sizeof memory);
    to.offset = COUNT * 4;
    assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
    assert_int_equal(rung_dequantize(to, NULL, from), RUNG_OK);
    to.offset--;
    assert_refused(rung_quantize(from, to, NULL), RUNG_STATUS_INVALID);
    to = rung_matrix_of(RUNG_I4, 1, 3, memory);
    from = rung_matrix_of(RUNG_F32, 1, 3, memory);
    from.offset = 1;
    to.offset = 5; /* bytes 2 and 3; the values begin with byte 4 */
    assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
    to.offset = 6; /* ends in byte 4 */
    assert_refused(rung_quantize(from, to, NULL), RUNG_STATUS_INVALID);
}

static void scales_and_zero_points_may_be_rows_of_one_matrix(void **state)
{
    float values[64], rows[2 * 4];
    uint8_t codes[64];
    uint64_t seed = 5;
    rung_quantization quantization = rung_quantization_default();
    rung_matrix from = rung_matrix_of(RUNG_F32, 1, 64, values), to = rung_matrix_of(RUNG_U8, 1, 64, codes);
    (void)state;
    unit_fill(&seed, values, 64);
    quantization.block_cols = 16;
    quantization.scales = quantization.zero_points = rung_matrix_of(RUNG_F32, 1, 4, rows);
    quantization.zero_points.offset = 4;
    assert_int_equal(rung_quantize(from, to, &quantization), RUNG_OK);
    quantization.zero_points.offset = 3;
    assert_refused(rung_quantize(from, to, &quantization), RUNG_STATUS_INVALID);
}

static void empty_matrices_are_valid(void **state)
{
    (void)state;
    rung_matrix from = rung_matrix_of(RUNG_F32, 0, BLOCK, NULL), to = rung_matrix_of(RUNG_Q4_0, 0, BLOCK, NULL);
    assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
    assert_int_equal(rung_dequantize(to, NULL, from), RUNG_OK);
    from = rung_matrix_of(RUNG_F32, 3, 0, NULL);
    to = rung_matrix_of(RUNG_Q8_0, 3, 0, NULL);
    assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
    assert_int_equal(rung_quantize(rung_matrix_transpose(from), rung_matrix_transpose(to), NULL), RUNG_OK);
}

/* A loop over these rows would not end. */
static void empty_matrices_may_have_many_rows(void **state)
{
    const int64_t rows = (int64_t)1 << 50;
    (void)state;
    rung_matrix from = rung_matrix_of(RUNG_F32, rows, 0, NULL), to = rung_matrix_of(RUNG_Q8_0, rows, 0, NULL);
    assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
    assert_int_equal(rung_dequantize(to, NULL, from), RUNG_OK);
    to = rung_matrix_of(RUNG_I4, rows, 0, NULL);
    assert_int_equal(rung_quantize(from, to, NULL), RUNG_OK);
    assert_int_equal(rung_dequantize(to, NULL, from), RUNG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_f4_is_widened_and_comes_back),
        cmocka_unit_test(f4_rounds_to_the_nearest_and_to_even),
        cmocka_unit_test(every_scale_is_a_power_of_two),
        cmocka_unit_test(ggml_bytes_are_the_same),
        cmocka_unit_test(ggml_blocks_are_widened),
        cmocka_unit_test(a_transposed_view_has_the_same_blocks),
        cmocka_unit_test(one_row_and_one_column_have_the_same_blocks),
        cmocka_unit_test(tiny_and_zero_blocks_become_zero),
        cmocka_unit_test(q8_0_rounds_halves_away_from_zero),
        cmocka_unit_test(every_format_is_near),
        cmocka_unit_test(errors_hold_for_the_range_of_the_scales),
        cmocka_unit_test(alpha_is_a_global_scale),
        cmocka_unit_test(every_code_and_scale_is_widened),
        cmocka_unit_test(mx_scales_follow_the_specification),
        cmocka_unit_test(elements_are_multiples_of_the_rounded_scale),
        cmocka_unit_test(values_of_every_type),
        cmocka_unit_test(only_the_elements_are_written),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(wrong_views_are_refused),
        cmocka_unit_test(outputs_may_not_overlap),
        cmocka_unit_test(wrong_scales_are_refused),
        cmocka_unit_test(values_beyond_the_largest_scale_are_refused),
        cmocka_unit_test(values_beyond_the_largest_scale_of_ggml_are_refused),
        cmocka_unit_test(zero_points_of_a_small_type_are_refused),
        cmocka_unit_test(views_of_one_allocation_may_be_adjacent),
        cmocka_unit_test(scales_and_zero_points_may_be_rows_of_one_matrix),
        cmocka_unit_test(empty_matrices_are_valid),
        cmocka_unit_test(empty_matrices_may_have_many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
