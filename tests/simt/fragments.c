/* SPDX-License-Identifier: Apache-2.0 */
/* fragments.c - the words of mma.h and wmma.h against the PTX manual. In software an
 * instruction and the kernel that uses it come from one reading of that manual, and where
 * both have the same error the result is right and the kernel is wrong. So the registers
 * that go in, and those that come out, are laid out here by tables that know nothing of
 * the kernels' headers (ptx_layouts.h), and numbers are such that no element can stand in
 * for another. */
#include "support/opencl_unit.h"

#include <math.h>

#include "instruction_kernels.h"
#include "ptx_layouts.h"
#include "sources.h"

#define DEVICE static inline
typedef unsigned int uint;
#include "simt/kernels/swizzle.h"

enum {
    ROWS = 2,
    COLS = 4, /* what a warp of the test multiplies: 2 of A's fragments, 4 operands */
    M_MAX = 16 * ROWS,
    N_MAX = 8 * COLS,
    K_MAX = 32,
    WARPS = 256,        /* of a launch, each with a product of its own */
    TILE_MAX = 32768,   /* bytes of the largest tile of shared memory */
    SCRATCH_WORDS = 64, /* that a thread publishes in */
};

/* ---- How the words use the instructions -------------------------------------------- */

typedef enum fragment_type { F16, BF16, I8, F32, F64 } fragment_type_t;

/* One instruction of the several that make 16 x 8 and 32 bytes of k: which registers of
 * the fragments of A and of B it takes, where its sums are, and of what part they are. */
typedef struct use {
    int a[4], b[2], sum, row, k;
} use_t;

typedef struct fragment_engine {
    const char *options;
    fragment_type_t type;
    const ptx_mma_t *mma;
    int use_count;
    use_t uses[4];
} fragment_engine_t;

static const fragment_engine_t engines[] = {
    {"-DIN_F16 -DEMULATED=80", F16, &ptx_m16n8k16_f16, 1, {{{0, 1, 2, 3}, {0, 1}, 0, 0, 0}}},
    {"-DIN_BF16 -DEMULATED=80", BF16, &ptx_m16n8k16_f16, 1, {{{0, 1, 2, 3}, {0, 1}, 0, 0, 0}}},
    {"-DIN_I8 -DEMULATED=80", I8, &ptx_m16n8k32_s8, 1, {{{0, 1, 2, 3}, {0, 1}, 0, 0, 0}}},
    {"-DEMULATED=80", F32, &ptx_m16n8k8_tf32, 1, {{{0, 1, 2, 3}, {0, 1}, 0, 0, 0}}},
    {"-DIN_F16 -DEMULATED=75", F16, &ptx_m16n8k8_f16, 2, {{{0, 1}, {0}, 0, 0, 0}, {{2, 3}, {1}, 0, 0, 8}}},
    {"-DIN_I8 -DEMULATED=75",
     I8,
     &ptx_m8n8k16_s8,
     4,
     {{{0}, {0}, 0, 0, 0}, {{2}, {1}, 0, 0, 16}, {{1}, {0}, 2, 8, 0}, {{3}, {1}, 2, 8, 16}}},
    {"-DIN_F64 -DOUT_F64 -DEMULATED=80",
     F64,
     &ptx_m8n8k4_f64,
     2,
     {{{0, 1}, {0, 1}, 0, 0, 0}, {{2, 3}, {0, 1}, 2, 8, 0}}},
};

enum { ENGINES = sizeof engines / sizeof *engines };

static int bytes_of(fragment_type_t type)
{
    return type == I8 ? 1 : type == F32 ? 4 : type == F64 ? 8 : 2;
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A whole number as A and B have it, and as sums do. */
static uint64_t bits_of(fragment_type_t type, int value)
{
    switch (type) {
    case F16: return rung_f16_from_f32((float)value);
    case BF16: return rung_bf16_from_f32((float)value);
    case I8: return (uint8_t)value;
    case F64: return double_bits(value);
    default: return float_bits((float)value);
    }
}

static uint64_t sum_bits(fragment_type_t type, int value)
{
    return type == F64 ? double_bits(value) : type == I8 ? (uint32_t)value : float_bits((float)value);
}

/* Sum i of memory with sums of one or two words. */
static int sum_words_of(fragment_type_t type)
{
    return type == F64 ? 2 : 1;
}

static void put_sum(fragment_type_t type, uint32_t *sums, int i, int value)
{
    uint64_t bits = sum_bits(type, value);
    memcpy(&sums[i * sum_words_of(type)], &bits, (size_t)sum_words_of(type) * 4);
}

static uint64_t get_sum(fragment_type_t type, const uint32_t *sums, int i)
{
    uint64_t bits = 0;
    memcpy(&bits, &sums[i * sum_words_of(type)], (size_t)sum_words_of(type) * 4);
    return bits;
}

/* Whole numbers as a matrix, either way round. */
typedef struct numbers {
    const int *first;
    int down, across;
} numbers_t;

static int number_at(numbers_t of, int row, int col)
{
    return of.first[row * of.down + col * of.across];
}

static numbers_t offset_numbers(numbers_t of, int row, int col)
{
    of.first += row * of.down + col * of.across;
    return of;
}

/* Puts an element of an instruction into those of a lane's registers that the instruction uses. */
static void put_element(const fragment_engine_t *engine, uint32_t *registers, const int *used, int element,
                        uint64_t bits)
{
    int in_register = engine->mma->in_register;
    if (engine->type == F64) {
        registers[used[2 * element]] = (uint32_t)bits;
        registers[used[2 * element + 1]] = (uint32_t)(bits >> 32);
        return;
    }
    registers[used[element / in_register]] |= (uint32_t)bits << element % in_register * (32 / in_register);
}

/* The registers that hold 16 rows of A and 32 bytes of k. */
static void a_registers(const fragment_engine_t *engine, numbers_t a, uint32_t registers[WARP][4])
{
    const ptx_mma_t *mma = engine->mma;
    memset(registers, 0, sizeof(uint32_t[WARP][4]));
    for (int u = 0; u < engine->use_count; u++) {
        const use_t *use = &engine->uses[u];
        for (int lane = 0; lane < WARP; lane++) {
            for (int i = 0; i < mma->a_count; i++) {
                ptx_place_t at = mma->a(lane, i);
                int value = number_at(a, use->row + at.row, use->k + at.col);
                put_element(engine, registers[lane], use->a, i, bits_of(engine->type, value));
            }
        }
    }
}

/* Those that hold 16 columns of B: the instruction's operand j is registers 2 j and 2 j + 1. */
static void b_registers(const fragment_engine_t *engine, numbers_t b, uint32_t registers[WARP][4])
{
    const ptx_mma_t *mma = engine->mma;
    memset(registers, 0, sizeof(uint32_t[WARP][4]));
    for (int u = 0; u < engine->use_count * 2; u++) {
        const use_t *use = &engine->uses[u / 2];
        int j = u % 2;
        for (int lane = 0; lane < WARP; lane++) {
            for (int i = 0; i < mma->b_count; i++) {
                ptx_place_t at = mma->b(lane, i);
                int value = number_at(b, use->k + at.row, 8 * j + at.col);
                put_element(engine, &registers[lane][2 * j], use->b, i, bits_of(engine->type, value));
            }
        }
    }
}

/* ---- Numbers that are told apart --------------------------------------------------- */

/* Two numbers from -100 to 99, exact in every type, that no two indices have both of. */
static int digit_of(int index, int digit)
{
    return (digit == 0 ? index % 200 : index / 200) - 100;
}

typedef struct fragment_product {
    int m, n, k;
    int a[M_MAX * K_MAX], b[K_MAX * N_MAX], c[M_MAX * N_MAX];
} fragment_product_t;

/* A one in every place of A and then of B, against both digits of the other; the rest
 * by chance. */
static int product_count(const fragment_product_t *product)
{
    return 2 * product->k * (product->m + product->n) + 32;
}

static void fill_product(fragment_product_t *product, int number)
{
    int a_count = product->m * product->k, b_count = product->k * product->n;
    int one_in_a = number / 2, one_in_b = number / 2 - a_count, digit = number % 2;
    bool by_chance = one_in_b >= b_count;
    uint64_t seed = (uint64_t)number;
    for (int i = 0; i < a_count; i++)
        product->a[i] = by_chance            ? (int)unit_random(&seed, 9) - 4
                        : one_in_a < a_count ? i == one_in_a
                                             : digit_of(i, digit);
    for (int i = 0; i < b_count; i++)
        product->b[i] = by_chance            ? (int)unit_random(&seed, 9) - 4
                        : one_in_a < a_count ? digit_of(i, digit)
                                             : i == one_in_b;
    for (int i = 0; i < product->m * product->n; i++)
        product->c[i] = digit_of(i, digit);
}

static int element_of_product(const fragment_product_t *product, int row, int col)
{
    int sum = product->c[row * product->n + col];
    for (int p = 0; p < product->k; p++)
        sum += product->a[row * product->k + p] * product->b[p * product->n + col];
    return sum;
}

static void expect_sum(const fragment_engine_t *engine, const fragment_product_t *product, int number, int row, int col,
                       uint64_t bits)
{
    int expected = element_of_product(product, row, col);
    if (bits != sum_bits(engine->type, expected))
        fail_msg("%s: element (%d, %d) of product %d is %#llx and not %d", engine->options, row, col, number,
                 (unsigned long long)bits, expected);
}

/* ---- Kernels on the device --------------------------------------------------------- */

static cl_program programs[ENGINES];

static cl_program program_of(const fragment_engine_t *engine)
{
    const char *const texts[] = {rungi_source_dialect, rungi_source_epilogue, rungi_source_swizzle, rungi_source_engine,
                                 rungi_source_mma,     before_wmma,           rungi_source_wmma,    after_wmma,
                                 instruction_kernels};
    cl_program *program = &programs[engine - engines];
    rungi_opencl_device *own = rungi_opencl_device_of(device);
    char options[256], log[4096] = "";
    cl_int error;
    if (*program)
        return *program;
    snprintf(options, sizeof options, "-cl-std=CL1.2 -w -DROWS=%d -DCOLS=%d -DTILE_MAX=%d %s", ROWS, COLS, TILE_MAX,
             engine->options);
    *program = own->cl->CreateProgramWithSource(own->context, sizeof texts / sizeof *texts, (const char **)texts, NULL,
                                                &error);
    assert_int_equal(error, CL_SUCCESS);
    error = own->cl->BuildProgram(*program, 1, &own->id, options, NULL, NULL);
    if (error != CL_SUCCESS) {
        own->cl->GetProgramBuildInfo(*program, own->id, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fail_msg("%s: %s", engine->options, log);
    }
    return *program;
}

static int close_all(void **state)
{
    for (int i = 0; i < ENGINES; i++)
        if (programs[i])
            rungi_opencl_device_of(device)->cl->ReleaseProgram(programs[i]);
    return close_device(state);
}

typedef struct argument {
    const void *value;
    size_t bytes;
} argument_t;

static void launch(const fragment_engine_t *engine, const char *name, const argument_t *arguments, int count,
                   size_t blocks, size_t threads)
{
    rungi_cl *cl = rungi_opencl_device_of(device)->cl;
    size_t all = blocks * threads;
    cl_int error;
    cl_kernel kernel = cl->CreateKernel(program_of(engine), name, &error);
    assert_int_equal(error, CL_SUCCESS);
    for (int i = 0; i < count; i++)
        assert_int_equal(cl->SetKernelArg(kernel, (cl_uint)i, arguments[i].bytes, arguments[i].value), CL_SUCCESS);
    assert_int_equal(cl->EnqueueNDRangeKernel(rung_queue_native(queue), kernel, 1, NULL, &all, &threads, 0, NULL, NULL),
                     CL_SUCCESS);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
    cl->ReleaseKernel(kernel);
}

/* Memory here and there. */
typedef struct shared_words {
    uint32_t *words;
    int64_t bytes;
    rung_buffer *buffer;
    void *native;
} shared_words_t;

static shared_words_t new_words(int64_t count)
{
    shared_words_t made = {.words = calloc((size_t)count, 4), .bytes = count * 4};
    assert_non_null(made.words);
    assert_int_equal(rung_buffer_create(device, made.bytes, &made.buffer), RUNG_OK);
    made.native = rung_buffer_native(made.buffer);
    return made;
}

static void free_words(shared_words_t *words)
{
    free(words->words);
    rung_buffer_destroy(words->buffer);
}

static void upload(const shared_words_t *words)
{
    assert_int_equal(rung_buffer_write(queue, words->buffer, 0, words->bytes, words->words, NULL), RUNG_OK);
}

static void download(const shared_words_t *words)
{
    assert_int_equal(rung_buffer_read(queue, words->buffer, 0, words->bytes, words->words, NULL), RUNG_OK);
    assert_int_equal(rung_queue_finish(queue), RUNG_OK);
}

static argument_t argument_of(const shared_words_t *words)
{
    return (argument_t){&words->native, sizeof words->native};
}

static void put_in_memory(fragment_type_t type, void *memory, int64_t index, int value)
{
    uint64_t bits = bits_of(type, value);
    switch (bytes_of(type)) {
    case 1: ((uint8_t *)memory)[index] = (uint8_t)bits; break;
    case 2: ((uint16_t *)memory)[index] = (uint16_t)bits; break;
    case 8: ((uint64_t *)memory)[index] = bits; break;
    default: ((uint32_t *)memory)[index] = (uint32_t)bits;
    }
}

/* The same, but FP32 a little above or below, for what rounds it to TF32. */
static void store_with_low_bits(fragment_type_t type, void *memory, int64_t index, int value)
{
    put_in_memory(type, memory, index, value);
    if (type == F32)
        ((uint32_t *)memory)[index] += value != 0 && index % 2 == 0 ? -0xfffu : 0xfffu;
}

/* ---- The tables themselves --------------------------------------------------------- */

static void check_rule(ptx_rule_t *rule, int count, int rows, int cols)
{
    int seen[16 * 32] = {0};
    assert_int_equal(count * WARP, rows * cols);
    for (int lane = 0; lane < WARP; lane++) {
        for (int i = 0; i < count; i++) {
            ptx_place_t at = rule(lane, i);
            assert_true(at.row >= 0 && at.row < rows && at.col >= 0 && at.col < cols);
            assert_int_equal(seen[at.row * cols + at.col]++, 0);
        }
    }
}

/* Every element has one place. */
static void tables_cover_every_element(void **state)
{
    (void)state;
    for (int i = 0; i < ENGINES; i++) {
        const ptx_mma_t *mma = engines[i].mma;
        check_rule(mma->a, mma->a_count, mma->m, mma->k);
        check_rule(mma->b, mma->b_count, mma->k, mma->n);
        check_rule(mma->c, mma->c_count, mma->m, mma->n);
    }
}

/* ---- mma --------------------------------------------------------------------------- */

/* The word of a warp's sums that has an instruction's sum i, and the element it is of. */
static int sum_at(const fragment_engine_t *engine, int fragment, int operand, int use, int lane, int i,
                  ptx_place_t *place)
{
    *place = engine->mma->c(lane, i);
    place->row += 16 * fragment + engine->uses[use].row;
    place->col += 8 * operand;
    return lane * 4 * ROWS * COLS + (fragment * COLS + operand) * 4 + engine->uses[use].sum + i;
}

static void fill_sums(const fragment_engine_t *engine, const fragment_product_t *product, uint32_t *sums)
{
    ptx_place_t at;
    for (int j = 0; j < ROWS * COLS * engine->use_count; j++)
        for (int lane = 0; lane < WARP; lane++)
            for (int i = 0; i < engine->mma->c_count; i++) {
                int word = sum_at(engine, j % ROWS, j / ROWS % COLS, j / ROWS / COLS, lane, i, &at);
                put_sum(engine->type, sums, word, product->c[at.row * N_MAX + at.col]);
            }
}

static void check_sums(const fragment_engine_t *engine, const fragment_product_t *product, int number,
                       const uint32_t *sums)
{
    ptx_place_t at;
    for (int j = 0; j < ROWS * COLS * engine->use_count; j++)
        for (int lane = 0; lane < WARP; lane++)
            for (int i = 0; i < engine->mma->c_count; i++) {
                int word = sum_at(engine, j % ROWS, j / ROWS % COLS, j / ROWS / COLS, lane, i, &at);
                expect_sum(engine, product, number, at.row, at.col, get_sum(engine->type, sums, word));
            }
}

static void fill_operands(const fragment_engine_t *engine, const fragment_product_t *product, uint32_t *a, uint32_t *b)
{
    uint32_t registers[WARP][4];
    for (int fragment = 0; fragment < ROWS; fragment++) {
        a_registers(engine, (numbers_t){product->a + 16 * fragment * product->k, product->k, 1}, registers);
        for (int lane = 0; lane < WARP; lane++)
            memcpy(&a[lane * 4 * ROWS + 4 * fragment], registers[lane], 16);
    }
    for (int fragment = 0; fragment < COLS / 2; fragment++) {
        b_registers(engine, (numbers_t){product->b + 16 * fragment, product->n, 1}, registers);
        for (int lane = 0; lane < WARP; lane++)
            memcpy(&b[lane * 2 * COLS + 4 * fragment], registers[lane], 16);
    }
}

static void check_engine(const fragment_engine_t *engine)
{
    enum { A_WORDS = WARP * 4 * ROWS, B_WORDS = WARP * 2 * COLS };
    const int sum_words = M_MAX * N_MAX * sum_words_of(engine->type);
    fragment_product_t product = {.m = M_MAX, .n = N_MAX, .k = 32 / bytes_of(engine->type)};
    shared_words_t a = new_words(WARPS * A_WORDS), b = new_words(WARPS * B_WORDS);
    shared_words_t c = new_words(WARPS * sum_words), scratch = new_words(WARPS * WARP * SCRATCH_WORDS);
    const argument_t arguments[] = {argument_of(&a), argument_of(&b), argument_of(&c), argument_of(&scratch)};
    for (int first = 0; first < product_count(&product); first += WARPS) {
        for (int warp = 0; warp < WARPS; warp++) {
            fill_product(&product, first + warp);
            fill_operands(engine, &product, a.words + warp * A_WORDS, b.words + warp * B_WORDS);
            fill_sums(engine, &product, c.words + warp * sum_words);
        }
        upload(&a), upload(&b), upload(&c);
        launch(engine, "multiply", arguments, 4, WARPS / 2, 64);
        download(&c);
        for (int warp = 0; warp < WARPS; warp++) {
            fill_product(&product, first + warp);
            check_sums(engine, &product, first + warp, c.words + warp * sum_words);
        }
    }
    free_words(&a), free_words(&b), free_words(&c), free_words(&scratch);
}

static void registers_match_the_ptx_manual(void **state)
{
    (void)state;
    for (int i = 0; i < ENGINES; i++)
        check_engine(&engines[i]);
}

/* ---- ldmatrix, and what stands for it ---------------------------------------------- */

/* A tile of l rows and some bytes of k, in which every element is another one's unlike. */
typedef struct fragment_tile {
    int l, bytes, k, mn_major, is_b, digit;
    int numbers[TILE_MAX];
} fragment_tile_t;

static void fill_tile(fragment_tile_t *tile)
{
    for (int i = 0; i < tile->l * tile->k; i++)
        tile->numbers[i] = digit_of(i, tile->digit);
}

static uint row_bytes_of(const fragment_tile_t *tile)
{
    return (uint)(tile->mn_major ? tile->l * (tile->bytes / tile->k) : tile->bytes);
}

/* The registers of the 16 x 32 bytes at (l, k) must be A's there, or B's. */
static void expect_fragment(const fragment_engine_t *engine, const fragment_tile_t *tile, int l, int k,
                            uint32_t registers[WARP][4])
{
    uint32_t expected[WARP][4];
    int twos[16 * 32];
    numbers_t rows = offset_numbers((numbers_t){tile->numbers, tile->k, 1}, l, k);
    if (tile->mn_major && (engine->type == I8 || engine->type == F64)) { /* 2 g for g, and 2 g + 1 for g + 8 */
        for (int i = 0; i < 16 * 32; i++)
            twos[i] = number_at(rows, i / 32 % 8 * 2 + i / 32 / 8, i % 32);
        rows = (numbers_t){twos, 32, 1};
    }
    if (tile->is_b)
        b_registers(engine, (numbers_t){rows.first, rows.across, rows.down}, expected);
    else
        a_registers(engine, rows, expected);
    for (int lane = 0; lane < WARP; lane++)
        for (int r = 0; r < 4; r++)
            if (registers[lane][r] != expected[lane][r])
                fail_msg("%s, %d x %d bytes, along %c, at (%d, %d) of %c: register %d of lane %d is %#x, "
                         "not %#x",
                         engine->options, tile->l, tile->bytes, tile->mn_major ? 'l' : 'k', l, k,
                         tile->is_b ? 'B' : 'A', r, lane, (unsigned)registers[lane][r], (unsigned)expected[lane][r]);
}

typedef void fragment_tile_check_t(const fragment_engine_t *engine, const fragment_tile_t *tile);

/* Every shape of a tile, both ways round, of A and of B, with both digits. */
static void with_every_tile(const fragment_engine_t *engine, fragment_tile_check_t *check)
{
    static fragment_tile_t tile;
    for (tile.l = 32; tile.l <= 256; tile.l *= 2)
        for (tile.bytes = 64; tile.bytes <= 256 && tile.l * tile.bytes <= TILE_MAX; tile.bytes *= 2)
            for (int i = 0; i < 8; i++) {
                tile.k = tile.bytes / bytes_of(engine->type);
                tile.is_b = i / 4;
                tile.mn_major = i / 2 % 2;
                tile.digit = i % 2;
                fill_tile(&tile);
                check(engine, &tile);
            }
}

static void check_fragment_operands(const fragment_engine_t *engine, const fragment_tile_t *tile)
{
    shared_words_t from = new_words(TILE_MAX / 4), to = new_words(TILE_MAX / 4);
    shared_words_t scratch = new_words(WARP * SCRATCH_WORDS);
    cl_uint l = (cl_uint)tile->l, bytes = (cl_uint)tile->bytes;
    cl_int mn_major = tile->mn_major, is_b = tile->is_b;
    const argument_t arguments[] = {
        argument_of(&from),           argument_of(&to),     {&l, sizeof l},       {&bytes, sizeof bytes},
        {&mn_major, sizeof mn_major}, {&is_b, sizeof is_b}, argument_of(&scratch)};
    for (int i = 0; i < tile->l * tile->k; i++)
        store_with_low_bits(engine->type, from.words, i, tile->numbers[i]);
    upload(&from);
    launch(engine, "take", arguments, 7, 1, WARP);
    download(&to);
    for (int i = 0; i < tile->l / 16 * (tile->bytes / 32); i++) {
        uint32_t registers[WARP][4];
        int step = i % (tile->bytes / 32), step_k = 32 / bytes_of(engine->type);
        memcpy(registers, to.words + i * WARP * 4, sizeof registers);
        expect_fragment(engine, tile, i / (tile->bytes / 32) * 16, step * step_k, registers);
    }
    free_words(&from), free_words(&to), free_words(&scratch);
}

static void fragments_match_the_instructions(void **state)
{
    (void)state;
    for (int i = 0; i < ENGINES; i++)
        with_every_tile(&engines[i], check_fragment_operands);
}

/* What the instruction puts into register r of a lane, by the manual, if every lane
 * points where ldmatrix_offset() says. */
static uint32_t loaded(const unsigned char *bytes, const fragment_tile_t *tile, int l, int k_bytes, int lane, int r)
{
    uint32_t word = 0;
    for (int i = 0; i < 2; i++) {
        ptx_place_t at = ptx_ldmatrix_element(lane, i, tile->mn_major);
        uint16_t half;
        int pointer = 0;
        while (ptx_ldmatrix_matrix(pointer) != r || ptx_ldmatrix_row(pointer) != at.row)
            pointer++;
        memcpy(&half,
               &bytes[ldmatrix_offset((uint)pointer, (uint)l, (uint)k_bytes, row_bytes_of(tile),
                                      (uint)(tile->bytes / tile->k), tile->mn_major, tile->is_b) +
                      (uint)at.col * 2],
               2);
        word |= (uint32_t)half << 16 * i;
    }
    return word;
}

/* Of bytes along l the instruction brings two of k by two of l. What is wanted is four of k
 * by one: of the even l in the first register, of the odd in A's second or B's third. */
static void interleave_bytes_by_two(uint32_t registers[4], int is_b)
{
    uint32_t sorted[4] = {0, 0, 0, 0};
    for (int half_k = 0; half_k < 2; half_k++)
        for (int k = 0; k < 4; k++)
            for (int odd = 0; odd < 2; odd++) {
                uint32_t byte = registers[2 * half_k + k / 2] >> 8 * (2 * (k % 2) + odd) & 0xff;
                sorted[is_b ? 2 * odd + half_k : odd + 2 * half_k] |= byte << 8 * k;
            }
    memcpy(registers, sorted, sizeof sorted);
}

static void check_pointers(const fragment_engine_t *engine, const fragment_tile_t *tile)
{
    static uint32_t memory[TILE_MAX / 4];
    uint bytes = (uint)bytes_of(engine->type);
    if (bytes == 8 || (tile->mn_major && bytes == 4))
        return; /* not by this instruction */
    for (int i = 0; i < tile->l * tile->k; i++)
        put_in_memory(
            engine->type, memory,
            element_offset((uint)(i / tile->k), (uint)(i % tile->k), row_bytes_of(tile), bytes, tile->mn_major) / bytes,
            tile->numbers[i]);
    for (int l = 0; l < tile->l; l += 16) {
        for (int k = 0; k < tile->bytes; k += 32) {
            uint32_t registers[WARP][4];
            for (int i = 0; i < WARP * 4; i++)
                registers[i / 4][i % 4] = loaded((unsigned char *)memory, tile, l, k, i / 4, i % 4);
            for (int lane = 0; tile->mn_major && bytes == 1 && lane < WARP; lane++)
                interleave_bytes_by_two(registers[lane], tile->is_b);
            expect_fragment(engine, tile, l, k / (int)bytes, registers);
        }
    }
}

/* Where there is an engine the software is not: its lanes must point at the right rows. */
static void lane_addresses_match_ldmatrix(void **state)
{
    (void)state;
    for (int i = 0; i < ENGINES; i++)
        with_every_tile(&engines[i], check_pointers);
}

/* ---- wmma -------------------------------------------------------------------------- */

/* Both as 2 steps, row by row: 16 rows of A, and wk rows of B. */
static void fill_wmma_fragments(const fragment_engine_t *engine, const fragment_product_t *product, int64_t first,
                                void *a, void *b)
{
    int wk = product->k / 2;
    for (int i = 0; i < 16 * product->k; i++) {
        int step = i / (16 * wk), row = i / wk % 16, column = step * wk + i % wk;
        store_with_low_bits(engine->type, a, first + i, product->a[row * product->k + column]);
        store_with_low_bits(engine->type, b, first + i, product->b[i / 16 * product->n + i % 16]);
    }
}

static void check_wmma_fragments(const fragment_engine_t *engine)
{
    fragment_product_t product = {.m = 16, .n = 16, .k = engine->type == F32 ? 16 : 32};
    int operand = 16 * product.k;
    shared_words_t a = new_words(WARPS * operand), b = new_words(WARPS * operand);
    shared_words_t c = new_words(WARPS * 256), scratch = new_words(WARPS * WARP * SCRATCH_WORDS);
    const argument_t arguments[] = {argument_of(&a), argument_of(&b), argument_of(&c), argument_of(&scratch)};
    for (int first = 0; first < product_count(&product); first += WARPS) {
        for (int warp = 0; warp < WARPS; warp++) {
            fill_product(&product, first + warp);
            fill_wmma_fragments(engine, &product, (int64_t)warp * operand, a.words, b.words);
        }
        upload(&a), upload(&b);
        launch(engine, "multiply_boxes", arguments, 4, WARPS / 2, 64);
        download(&c);
        for (int warp = 0; warp < WARPS; warp++) {
            fill_product(&product, first + warp);
            memset(product.c, 0, sizeof product.c);
            for (int i = 0; i < 256; i++)
                expect_sum(engine, &product, first + warp, i / 16, i % 16, c.words[warp * 256 + i]);
        }
    }
    free_words(&a), free_words(&b), free_words(&c), free_words(&scratch);
}

static void wmma_fragments_multiply(void **state)
{
    (void)state;
    for (int i = 0; i < ENGINES; i++)
        if (strstr(engines[i].options, "80") && engines[i].type != F64) /* wmma is the same for all */
            check_wmma_fragments(&engines[i]);
}

/* ---- TF32 -------------------------------------------------------------------------- */

/* By the definition of cvt.rna.tf32.f32: 10 bits behind the point, to the nearest, ties
 * away from zero, in arithmetic where all of this is exact. */
static uint32_t nearest_tf32(uint32_t bits)
{
    float value, rounded;
    int exponent;
    memcpy(&value, &bits, sizeof value);
    if (isinf(value))
        return bits;
    frexp(value, &exponent); /* value is a half to one times two to this */
    double last = ldexp(1.0, (exponent < -125 ? -125 : exponent) - 11);
    rounded = (float)(floor(fabs((double)value) / last + 0.5) * last);
    return float_bits(rounded) | (bits & 0x80000000u);
}

/* A NaN must be one in the bits that the engine reads. */
static void expect_rounded(uint32_t bits, uint32_t rounded)
{
    bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    uint32_t seen = rounded & 0xffffe000u;
    if (is_nan ? (seen & 0x7fffffffu) <= 0x7f800000u : rounded != nearest_tf32(bits))
        fail_msg("%#x was rounded to %#x", (unsigned)bits, (unsigned)rounded);
}

static void floats_become_the_nearest_tf32(void **state)
{
    static const uint32_t ends[] = {0x0000, 0x0001, 0x0fff,   0x1000,   0x1001,   0x1fff,   0x2000,   0x2fff,
                                    0x3000, 0x3001, 0x7fe000, 0x7fefff, 0x7ff000, 0x7fffff, 0x400000, 0x3fffff};
    enum { ENDS = sizeof ends / sizeof *ends, COUNT = 512 * ENDS + 4096 };
    uint64_t seed = 5;
    const fragment_engine_t *engine = &engines[3];
    shared_words_t words = new_words(COUNT);
    uint32_t *before = malloc(sizeof(uint32_t[COUNT]));
    const argument_t argument = argument_of(&words);
    (void)state;
    assert_non_null(before);
    assert_int_equal(engine->type, F32);
    for (int i = 0; i < COUNT; i++) /* every sign and exponent, then anything */
        before[i] = i < 512 * ENDS ? (uint32_t)(i / ENDS) << 23 | ends[i % ENDS]
                                   : (uint32_t)unit_random(&seed, INT64_C(1) << 31) << 1 | (i & 1);
    memcpy(words.words, before, sizeof(uint32_t[COUNT]));
    upload(&words);
    launch(engine, "round_all", &argument, 1, COUNT / 32, 32);
    download(&words);
    for (int i = 0; i < COUNT; i++)
        expect_rounded(before[i], words.words[i]);
    free(before);
    free_words(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_cover_every_element),       cmocka_unit_test(registers_match_the_ptx_manual),
        cmocka_unit_test(fragments_match_the_instructions), cmocka_unit_test(lane_addresses_match_ldmatrix),
        cmocka_unit_test(wmma_fragments_multiply),          cmocka_unit_test(floats_become_the_nearest_tf32),
    };
    unit_clean_environment();
    if (!opencl_is_available())
        return UNIT_SKIPPED;
    return cmocka_run_group_tests(tests, open_device, close_all);
}
