/* SPDX-License-Identifier: Apache-2.0 */
/* hopper_wgmma.c - products of hopper_wgmma.cu: a pipeline with tensor copies in five types, and single instructions with every
 * layout of the operands, against sums on the host. Elements are small integers, so that every sum is exact. */
#include <math.h>

#include "hopper_run.h"

#include "emulator/machine/tensor_map.h"

typedef enum element { F16, BF16, TF32, S8, E4M3, E5M2, U8 } element_t;

static int element_bytes(element_t type)
{
    return type <= BF16 ? 2 : type == TF32 ? 4 : 1;
}

/* Writes a number from -3 to 3; of bytes, any number. */
static void encode(element_t type, int value, unsigned char *to)
{
    static const unsigned char e4m3[] = {0, 0x38, 0x40, 0x44}, e5m2[] = {0, 0x3c, 0x40, 0x42};
    static const uint16_t f16[] = {0, 0x3c00, 0x4000, 0x4200};
    int size = abs(value);
    uint16_t half = 0;
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    switch (type) {
    case F16: half = (uint16_t)(f16[size] | (value < 0 ? 0x8000 : 0)); break;
    case BF16: half = (uint16_t)(bits >> 16); break;
    case TF32: memcpy(to, &bits, 4); return;
    case S8:
    case U8: *to = (unsigned char)value; return;
    case E4M3: *to = (unsigned char)(e4m3[size] | (value < 0 ? 0x80 : 0)); return;
    case E5M2: *to = (unsigned char)(e5m2[size] | (value < 0 ? 0x80 : 0)); return;
    }
    memcpy(to, &half, 2);
}

/* Element (row, k) of A (matrix 0) and B (matrix 1). */
static int value_of(int matrix, int row, int k)
{
    unsigned hash = (unsigned)(row * 31 + k * 17 + matrix * 101) * 2654435761u;
    return (int)(hash >> 20) % 7 - 3;
}

/* ---- The pipeline -------------------------------------------------------------------------------------------------- */

enum { M = 128, N = 128, TILES = 5, K_MAX = TILES * 128 };

static uint64_t create_matrix(const hopper_t *hopper, int matrix, int rows, int k, element_t type)
{
    static unsigned char bytes[128 * K_MAX * 4];
    int size = element_bytes(type);
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < k; i++)
            encode(type, value_of(matrix, row, i), bytes + (row * k + i) * size);
    return hopper_allocate(hopper, matrix ? "B" : "A", bytes, (int64_t)rows * k * size);
}

static void encode_map(uint64_t address, int rows, int k, element_t type, ptx_tensor_map_t *map)
{
    static const uint32_t types[] = {PTX_TENSOR_F16, PTX_TENSOR_BF16, PTX_TENSOR_F32, PTX_TENSOR_U8, PTX_TENSOR_U8};
    uint32_t size = (uint32_t)element_bytes(type);
    const uint64_t sizes[] = {(uint64_t)k, (uint64_t)rows}, strides[] = {(uint64_t)k * size};
    const uint32_t box[] = {128 / size, 64}, steps[] = {1, 1};
    const ptx_tensor_t tensor = {.address = address,
                                 .sizes = sizes,
                                 .strides = strides,
                                 .box = box,
                                 .steps = steps,
                                 .rank = 2,
                                 .type = types[type],
                                 .swizzle = PTX_SWIZZLE_128B};
    assert_true(rungi_ptx_tensor_is_valid(&tensor));
    rungi_ptx_tensor_encode(&tensor, map);
}

static void check_product(const uint32_t *c, int k, element_t type, const char *name)
{
    for (int row = 0; row < M; row++)
        for (int column = 0; column < N; column++) {
            int expected = 0, got;
            float number;
            for (int i = 0; i < k; i++)
                expected += value_of(0, row, i) * value_of(1, column, i);
            memcpy(&number, &c[row * N + column], 4);
            memcpy(&got, &c[row * N + column], 4);
            if (type != S8)
                got = (int)number;
            if (got != expected)
                fail_msg("%s: element (%d, %d) is %d, expected %d", name, row, column, got, expected);
        }
}

static void run_product(const hopper_case_t *test, uint32_t checks, int64_t threads)
{
    static uint32_t c[M * N];
    element_t type = (element_t)(test->bug / 10);
    int tile_elements = 128 / element_bytes(type), k = TILES * tile_elements, n = N, tiles = TILES;
    ptx_tensor_map_t map_a, map_b;
    hopper_t hopper = hopper_create("hopper_wgmma", checks, threads);
    encode_map(create_matrix(&hopper, 0, M, k, type), M, k, type, &map_a);
    encode_map(create_matrix(&hopper, 1, N, k, type), N, k, type, &map_b);
    uint64_t address = hopper_allocate(&hopper, "C", NULL, sizeof c);
    void *arguments[] = {&map_a, &map_b, &address, &n, &tiles, &tile_elements};
    hopper_launch(&hopper, test, arguments, 3 * 2 * 64 * 128);
    hopper_case_t judged = *test;
    judged.bug = test->bug % 10 ? test->bug : 0;
    hopper_judge(&hopper, &judged);
    assert_int_equal(rung_emulator_read(hopper.emulator, address, c, sizeof c), RUNG_OK);
    if (test->bug % 10 == 0)
        check_product(c, k, type, test->kernel);
    hopper_destroy(&hopper);
}

static void pipelines_are_right(void **state)
{
    (void)state;
    for (int type = F16; type <= E4M3; type++) {
        const hopper_case_t test = {"product", 10 * type, 0, 160, {2, 2}, {0}, false};
        run_product(&test, 0, 2);
        run_product(&test, RUNG_EMULATOR_CHECK_ALL, 1);
    }
}

static void pipeline_bugs_are_found(void **state)
{
    (void)state;
    static const hopper_case_t bugs[] = {{"product", 1, RUNG_EMULATOR_RACE, 160, {2, 2}, {0}, false},
                                         {"product", 2, RUNG_EMULATOR_RACE, 160, {2, 2}, {0}, false},
                                         {"product", 3, RUNG_EMULATOR_ASYNC_COPY, 160, {2, 2}, {0}, false}};
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++)
        run_product(&bugs[i], RUNG_EMULATOR_CHECK_ALL, 1);
}

/* ---- Single instructions ------------------------------------------------------------------------------------------- */

enum { COLUMNS = 32, B_BYTES = 32768, MEMORY_BYTES = 65536, WORDS = MEMORY_BYTES / 4, THREADS = 128 };

/* What variant i of the kernel computes. */
static const struct {
    element_t a, b;
    int factor; /* of the product */
    bool transposes_a, transposes_b, has_registers;
    uint32_t start; /* bits of D before */
} forms[] = {{F16, F16, 1, false, false, false, 0x40200000},   {F16, F16, 1, true, true, false, 0x40200000},
             {BF16, BF16, -1, false, true, false, 0},          {F16, F16, -1, false, true, true, 0x40200000},
             {TF32, TF32, 1, false, false, false, 0x40200000}, {U8, S8, 1, false, false, false, 0x7fffffff - 100},
             {E5M2, E4M3, 1, false, false, false, 0},          {S8, S8, 1, false, false, true, 5},
             {F16, F16, 1, false, false, false, 0x38003800}};

/* Where a matrix is in shared memory. Bytes: rows of the swizzle's pattern, 16 without swizzle. */
typedef struct layout {
    uint32_t mode; /* 0, 1, 2, 3: none, 32, 64, 128 bytes */
    uint32_t start, leading, stride;
    bool is_transposed;
} layout_t;

/* Lays out `rows` rows; the numbers leave gaps, so that no offset can be mistaken for another. */
static layout_t choose_layout(uint32_t base, uint32_t mode, bool is_transposed, uint32_t rows)
{
    uint32_t pattern = 16u << mode;
    layout_t layout = {.mode = mode, .start = base, .is_transposed = is_transposed, .stride = 16 * pattern};
    if (mode == 0) {
        layout.leading = is_transposed ? 128 * 3 : 128 * rows / 4;
        layout.stride = is_transposed ? 128 * 9 : 128;
    } else if (is_transposed) {
        layout.leading = 64 * pattern;
    } else if (mode >= 2) {
        layout.start += 32; /* the second 32 bytes of k in the pattern */
    }
    return layout;
}

/* Returns the offset of element (row, k), following the pictures of the manual. */
static uint32_t offset_of(const layout_t *layout, uint32_t row, uint32_t k, uint32_t size)
{
    uint32_t pattern = 16u << layout->mode, plain, group = row / 8, width = pattern / 16;
    if (!layout->is_transposed && layout->mode == 0)
        plain = row % 8 * 16 + group * layout->stride + k * size / 16 * layout->leading + k * size % 16;
    else if (!layout->is_transposed)
        plain = row % 8 * pattern + group * layout->stride + k * size;
    else if (layout->mode == 0)
        plain = row % 8 * size + group * layout->stride + k % 8 * 16 + k / 8 * layout->leading;
    else
        plain = row % 8 * size + group % width * 16 + group / width * layout->leading + k % 8 * pattern +
                k / 8 * layout->stride;
    plain += layout->start;
    /* Chunk c of line i of 128 bytes is in column c xor (i modulo 2, 4 or 8). */
    uint32_t line = plain / 128, chunk = plain / 16 % 8, column = chunk ^ line % width;
    return line * 128 + column * 16 + plain % 16;
}

static uint64_t descriptor_of(const layout_t *layout)
{
    static const uint64_t modes[] = {0, 3, 2, 1};
    return layout->start >> 4 | (uint64_t)(layout->leading >> 4) << 16 | (uint64_t)(layout->stride >> 4) << 32 |
           modes[layout->mode] << 62;
}

static int form_value(int variant, int matrix, int row, int k)
{
    int value = value_of(matrix, row, k);
    bool is_unsigned = variant == 5 && matrix == 0;
    return is_unsigned ? value * value * 28 : value;
}

/* Fills shared memory and the registers of A. */
static void fill_memory(int variant, const layout_t *a, const layout_t *b, unsigned char *memory)
{
    int size = element_bytes(forms[variant].a), per_word = 4 / size, depth = 32 / size;
    memset(memory, 0x7e, MEMORY_BYTES);
    for (int k = 0; k < depth; k++) {
        for (int row = 0; row < 64; row++)
            encode(forms[variant].a, form_value(variant, 0, row, k),
                   memory + offset_of(a, (uint32_t)row, (uint32_t)k, (uint32_t)size));
        for (int row = 0; row < COLUMNS; row++)
            encode(forms[variant].b, form_value(variant, 1, row, k),
                   memory + offset_of(b, (uint32_t)row, (uint32_t)k, (uint32_t)size));
    }
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < 4; i++)
            for (int e = 0; e < per_word; e++) {
                int lane = t % 32, row = t / 32 * 16 + lane / 4 + i % 2 * 8;
                int k = lane % 4 * per_word + e + 4 * per_word * (i / 2);
                encode(forms[variant].a, form_value(variant, 0, row, k),
                       memory + MEMORY_BYTES + (t * 4 + i) * 4 + e * size);
            }
}

/* Returns the bits of the element of D that a thread holds. */
static uint32_t expected_bits(int variant, int row, int column)
{
    int sum = 0, depth = 32 / element_bytes(forms[variant].a);
    float start;
    uint32_t bits;
    for (int k = 0; k < depth; k++)
        sum += form_value(variant, 0, row, k) * form_value(variant, 1, column, k);
    if (variant == 5 || variant == 7) {
        int64_t total = (int64_t)(int32_t)forms[variant].start + sum;
        return (uint32_t)(int32_t)(total > INT32_MAX ? INT32_MAX : total);
    }
    memcpy(&start, &forms[variant].start, 4);
    start = variant == 8 ? 0.5f : start;
    start += (float)(forms[variant].factor * sum);
    memcpy(&bits, &start, 4);
    return bits;
}

/* Returns the number of a half that is zero or normal. */
static float widen_half(uint32_t bits)
{
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    float size = exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : 0;
    return bits >> 15 ? -size : size;
}

static void check_fragment(const uint32_t *out, int variant, uint32_t mode)
{
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < 16; i++) {
            int lane = t % 32, row = t / 32 * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
            uint32_t got = out[t * 16 + i];
            if (variant == 8) { /* two halves per register, widened here */
                float number = widen_half(out[t * 16 + i / 2] >> 16 * (i % 2) & 0xffff);
                memcpy(&got, &number, 4);
            }
            if (got != expected_bits(variant, row, column))
                fail_msg("variant %d, swizzle %u: element (%d, %d) has the bits %08x, expected %08x", variant, mode,
                         row, column, got, expected_bits(variant, row, column));
        }
}

static void run_instruction(int variant, uint32_t mode)
{
    static unsigned char memory[MEMORY_BYTES + THREADS * 16];
    static uint32_t out[THREADS * 16];
    int form = variant == 9 ? 0 : variant, words = WORDS;
    uint32_t start = forms[form].start;
    layout_t a = choose_layout(0, mode, forms[form].transposes_a, 64);
    layout_t b = choose_layout(B_BYTES, mode, forms[form].transposes_b, COLUMNS);
    uint64_t a_bits = descriptor_of(&a), b_bits = descriptor_of(&b);
    hopper_t hopper = hopper_create("hopper_wgmma", RUNG_EMULATOR_CHECK_ALL, 1);
    fill_memory(form, &a, &b, memory);
    uint64_t in_address = hopper_allocate(&hopper, "in", memory, sizeof memory);
    uint64_t out_address = hopper_allocate(&hopper, "out", NULL, sizeof out);
    void *arguments[] = {&in_address, &out_address, &a_bits, &b_bits, &words, &start};
    hopper_case_t test = {"instruction", variant, RUNG_EMULATOR_ASYNC_COPY, THREADS, {1}, {0}, false};
    hopper_launch(&hopper, &test, arguments, MEMORY_BYTES);
    test.bug = variant == 9 ? 9 : 0;
    hopper_judge(&hopper, &test);
    assert_int_equal(rung_emulator_read(hopper.emulator, out_address, out, sizeof out), RUNG_OK);
    if (variant != 9)
        check_fragment(out, form, mode);
    hopper_destroy(&hopper);
}

static void instructions_are_right(void **state)
{
    (void)state;
    for (int variant = 0; variant < 9; variant++)
        for (uint32_t mode = 0; mode < 4; mode++)
            run_instruction(variant, mode);
}

static void missing_proxy_fence_is_found(void **state)
{
    (void)state;
    run_instruction(9, 3);
}

/* A dimension has at most three digits, also if its value is valid. */
static void long_dimensions_are_rejected(void **state)
{
    rung_emulator *emulator;
    rung_emulator_module *module;
    size_t bytes;
    char *text = hopper_read("hopper_wgmma.ptx", &bytes), *shape = strstr(text, ".m64n64k16");
    (void)state;
    assert_non_null(shape);
    memmove(shape + 4, shape + 2, bytes - (size_t)(shape + 2 - text) + 1);
    shape[2] = shape[3] = '0';
    assert_int_equal(rung_emulator_create(NULL, &emulator), RUNG_OK);
    assert_int_equal(rung_emulator_module_load(emulator, "long.ptx", text, bytes + 2, &module),
                     RUNG_STATUS_UNSUPPORTED);
    assert_non_null(strstr(rung_error_text(), "m0064n64k16"));
    rung_emulator_destroy(emulator);
    free(text);
}

int main(void)
{
    unit_clean_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_are_right),          cmocka_unit_test(pipeline_bugs_are_found),
        cmocka_unit_test(instructions_are_right),       cmocka_unit_test(missing_proxy_fence_is_found),
        cmocka_unit_test(long_dimensions_are_rejected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
