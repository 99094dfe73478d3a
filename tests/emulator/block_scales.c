/* SPDX-License-Identifier: Apache-2.0 */
/* block_scales.c - mma of 4, 6 and 8-bit floating point, with and without block scales, against a reference.
 *
 * The reference places elements and scales by the formulas of the PTX manual and decodes each format by its definition. It
 * adds each product by one fmaf(), whose factors it makes representable by moving powers of two. Every warp of a launch
 * multiplies one tile: its lanes load their registers, and store those of D. */
#include <math.h>

#include "run_ptx.h"

enum { LANES = 32, WORDS = 16, ROWS = 16, COLUMNS = 8, DEPTH_MAX = 64, BLOCKS_MAX = 4, TILES_MAX = 1200 };

/* Words of a lane: A, B, C, the scales of A and B, and the selectors as halves. */
enum { WORD_A = 0, WORD_B = 4, WORD_C = 6, WORD_SCALES = 10, WORD_SELECTORS = 12 };

typedef struct lane {
    uint32_t in[WORDS], out[4];
} lane_t;

typedef struct element {
    const char *name;
    int bits, fraction_bits, bias; /* 1 sign bit; the rest are bits of the exponent */
} element_t;

static const element_t elements[] = {
    {"e4m3", 8, 3, 7}, {"e5m2", 8, 2, 15}, {"e3m2", 6, 2, 3}, {"e2m3", 6, 3, 1}, {"e2m1", 4, 1, 1}};
enum { ELEMENTS = sizeof elements / sizeof *elements };

/* One instruction. */
typedef struct form {
    const char *kind, *scale_vec, *sum, *scale; /* scale_vec: as it is written, or "" */
    const element_t *a, *b;
    int depth, blocks; /* blocks: 0 without scales */
    int selectors[4];  /* byte-id-a, thread-id-a, byte-id-b, thread-id-b */
    bool is_in_place;  /* D has the registers of C, and the selectors are in registers */
} form_t;

static uint64_t state = 1;

static uint32_t random_word(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 32);
}

/* ---- Numbers ------------------------------------------------------------------------------------------------------- */

static float computed_value(const element_t *type, uint32_t code)
{
    uint32_t magnitude = code & ((1u << (type->bits - 1)) - 1);
    int exponent = (int)(magnitude >> type->fraction_bits);
    int fraction = (int)(magnitude & ((1u << type->fraction_bits) - 1));
    double value = exponent ? ldexp((1 << type->fraction_bits) + fraction, exponent - type->bias - type->fraction_bits)
                            : ldexp(fraction, 1 - type->bias - type->fraction_bits);
    if (strcmp(type->name, "e4m3") == 0 && magnitude == 0x7f)
        return NAN;
    if (strcmp(type->name, "e5m2") == 0 && exponent == 31)
        value = fraction ? NAN : INFINITY;
    return (float)(code >> (type->bits - 1) & 1 ? -value : value);
}

static float value_of(const element_t *type, uint32_t code)
{
    static float values[ELEMENTS][256];
    static bool is_ready;
    if (!is_ready)
        for (int i = 0; i < ELEMENTS; i++)
            for (uint32_t each = 0; each < 1u << elements[i].bits; each++)
                values[i][each] = computed_value(&elements[i], each);
    is_ready = true;
    return values[type - elements][code];
}

/* Returns the exponent of a scale of type ue8m0. Returns false if it is NaN. */
static bool exponent_of(uint32_t code, int *exponent)
{
    *exponent = (int)code - 127;
    return code != 0xff;
}

static float value_of_ue4m3(uint32_t code)
{
    return value_of(&elements[0], code & 0x7f);
}

static float power_of_two(int exponent)
{
    static float powers[512];
    if (powers[256] == 0)
        for (int i = -149; i < 128; i++)
            powers[256 + i] = ldexpf(1, i);
    return powers[256 + exponent];
}

/* Returns sum + (a * scale_a) * (b * scale_b), rounded once. */
static float add_product(const form_t *form, float a, uint32_t scale_a, float b, uint32_t scale_b, float sum)
{
    int ea, eb;
    if (form->blocks == 0)
        return fmaf(a, b, sum);
    if (form->scale[2] == '4') /* ue4m3, with numbers of 4 bits: the factors are exact */
        return fmaf(a * value_of_ue4m3(scale_a), b * value_of_ue4m3(scale_b), sum);
    if (!exponent_of(scale_a, &ea) || !exponent_of(scale_b, &eb))
        return NAN;
    /* Products that are not 0 are at least 2^-32, so more than 2^200 is too large for any of them. */
    int exponent = ea + eb > 200 ? 200 : ea + eb, half = exponent / 2;
    return fmaf(a * power_of_two(half), b * power_of_two(exponent - half), sum);
}

/* ---- Fragments ----------------------------------------------------------------------------------------------------- */

typedef struct tile {
    uint32_t a[ROWS][DEPTH_MAX], b[DEPTH_MAX][COLUMNS]; /* codes */
    uint32_t a_scale[ROWS][BLOCKS_MAX], b_scale[BLOCKS_MAX][COLUMNS];
    uint32_t c[ROWS][COLUMNS]; /* bits */
} tile_t;

/* Position of element i of a lane, as the manual's sections on m16n8k32 and m16n8k64 say. */
static int row_of_a(const form_t *form, int lane, int i)
{
    int group = lane >> 2;
    if (form->depth == 32)
        return (0 <= i && i < 4) || (8 <= i && i < 12) ? group : group + 8;
    return (0 <= i && i < 8) || (16 <= i && i < 24) ? group : group + 8;
}

static int column_of_a(const form_t *form, int lane, int i)
{
    int thread = lane % 4;
    if (form->depth == 32)
        return i < 8 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16;
    return i < 16 ? thread * 8 + (i & 7) : thread * 8 + (i & 7) + 32;
}

static int row_of_b(const form_t *form, int lane, int i)
{
    int thread = lane % 4;
    if (form->depth == 32)
        return i < 4 ? thread * 4 + (i & 3) : thread * 4 + (i & 3) + 16;
    return i < 8 ? thread * 8 + (i & 7) : thread * 8 + (i & 7) + 32;
}

/* Writes element i of registers. In m16n8k32 an element has a byte: e2m1 is in bits 2 to 5, 6 bits are in bits 0 to 5. What
 * the other bits hold does not matter. */
static void put_element(const form_t *form, const element_t *type, uint32_t *words, int i, uint32_t code)
{
    if (form->depth == 64) {
        words[i / 8] |= code << 4 * (i % 8);
        return;
    }
    uint32_t byte = type->bits == 4 ? code << 2 : code, used = type->bits == 4 ? 0x3c : type->bits == 6 ? 0x3f : 0xff;
    words[i / 4] |= (byte | (random_word() & 0xff & ~used)) << 8 * (i % 4);
}

static void put_byte(uint32_t *word, int byte, uint32_t value)
{
    *word = (*word & ~(0xffu << 8 * byte)) | value << 8 * byte;
}

/* Fills the registers of a warp. Bytes of scales that nothing selects are random. */
static void write_tile(const form_t *form, const tile_t *tile, lane_t lanes[LANES])
{
    const int *ids = form->selectors;
    for (int lane = 0; lane < LANES; lane++) {
        uint32_t *in = lanes[lane].in;
        memset(in, 0, sizeof lanes[lane].in);
        for (int i = 0; i < form->depth / 2; i++)
            put_element(form, form->a, in + WORD_A, i, tile->a[row_of_a(form, lane, i)][column_of_a(form, lane, i)]);
        for (int i = 0; i < form->depth / 4; i++)
            put_element(form, form->b, in + WORD_B, i, tile->b[row_of_b(form, lane, i)][lane >> 2]);
        for (int i = 0; i < 4; i++) {
            uint32_t bits = tile->c[i < 2 ? lane >> 2 : (lane >> 2) + 8][lane % 4 * 2 + (i & 1)];
            if (strcmp(form->sum, "f16") == 0)
                in[WORD_C + i / 2] |= bits << 16 * (i % 2);
            else
                in[WORD_C + i] = bits;
        }
        in[WORD_SCALES] = random_word();
        in[WORD_SCALES + 1] = random_word();
        for (int i = 0; i < 4; i++)
            in[WORD_SELECTORS + i / 2] |= (uint32_t)ids[i] << 16 * (i % 2);
    }
    for (int j = 0; j < form->blocks; j++) {
        for (int row = 0; row < ROWS; row++) /* the two threads of a pair hold the rows g and g + 8 */
            put_byte(&lanes[row % 8 * 4 + 2 * ids[1] + (row >= 8)].in[WORD_SCALES], ids[0] + j, tile->a_scale[row][j]);
        for (int column = 0; column < COLUMNS; column++)
            put_byte(&lanes[column * 4 + ids[3]].in[WORD_SCALES + 1], ids[2] + j, tile->b_scale[j][column]);
    }
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? 0x7fffffff : bits;
}

/* Returns the bits of an element of D. */
static uint32_t expected_bits(const form_t *form, const tile_t *tile, int row, int column)
{
    bool is_half = strcmp(form->sum, "f16") == 0;
    float sum = is_half ? rung_f16_to_f32((uint16_t)tile->c[row][column]) : float_of(tile->c[row][column]);
    for (int k = 0; k < form->depth; k++) {
        int block = form->blocks ? k / (form->depth / form->blocks) : 0;
        sum = add_product(form, value_of(form->a, tile->a[row][k]), tile->a_scale[row][block],
                          value_of(form->b, tile->b[k][column]), tile->b_scale[block][column], sum);
    }
    if (is_half)
        return isnan(sum) ? 0x7fff : rung_f16_from_f32(sum);
    return bits_of(sum);
}

static void compare_tile(const form_t *form, const char *text, const tile_t *tile, const lane_t lanes[LANES])
{
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < 4; i++) {
            int row = i < 2 ? lane >> 2 : (lane >> 2) + 8, column = lane % 4 * 2 + (i & 1);
            uint32_t expected = expected_bits(form, tile, row, column);
            uint32_t actual = strcmp(form->sum, "f16") == 0 ? lanes[lane].out[i / 2] >> 16 * (i % 2) & 0xffff
                                                            : lanes[lane].out[i];
            if (expected != actual)
                fail_msg("%s\nrow %d, column %d is 0x%x instead of 0x%x", text, row, column, actual, expected);
        }
}

/* ---- Tiles --------------------------------------------------------------------------------------------------------- */

static uint32_t codes_of(const element_t *type)
{
    return 1u << type->bits;
}

/* Returns the code of a scale that is 1. */
static uint32_t one_of(const form_t *form)
{
    return strcmp(form->scale, "ue4m3") == 0 ? 0x38 : 127;
}

/* Returns the code of a scale. `range` 0: near 1; 1: any bits; 2: the ends of the range. */
static uint32_t draw_scale(const form_t *form, int range)
{
    static const uint32_t ends[] = {0, 1, 2, 253, 254, 127, 100, 150};
    uint32_t random = random_word() >> 8;
    if (range == 1)
        return random & 0xff;
    if (strcmp(form->scale, "ue4m3") == 0)
        return random % 0x7f;
    return range == 0 ? 120 + random % 15 : ends[random % 8];
}

static void draw_tile(const form_t *form, int range, tile_t *tile)
{
    bool is_half = strcmp(form->sum, "f16") == 0;
    for (int k = 0; k < form->depth; k++) {
        for (int row = 0; row < ROWS; row++)
            tile->a[row][k] = random_word() >> 8 & (codes_of(form->a) - 1);
        for (int column = 0; column < COLUMNS; column++)
            tile->b[k][column] = random_word() >> 8 & (codes_of(form->b) - 1);
        for (int column = 0; range != 1 && column < COLUMNS; column++) /* no infinities and no NaN */
            tile->b[k][column] &= form->b->bits == 8 ? 0xbb : 0xff;
        for (int row = 0; range != 1 && row < ROWS; row++)
            tile->a[row][k] &= form->a->bits == 8 ? 0xbb : 0xff;
    }
    for (int j = 0; j < form->blocks; j++) {
        for (int row = 0; row < ROWS; row++)
            tile->a_scale[row][j] = draw_scale(form, range);
        for (int column = 0; column < COLUMNS; column++)
            tile->b_scale[j][column] = draw_scale(form, range);
    }
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            uint32_t bits = random_word();
            if (range != 1) /* a number near 1 */
                bits = is_half ? (bits & 0x83ff) | 0x3c00 : (bits & 0x807fffff) | 0x3f800000;
            tile->c[row][column] = is_half ? bits & 0xffff : bits;
        }
}

/* A tile with one element per row and column that is not 0, so that each sum has one product. */
static void draw_sparse_tile(const form_t *form, tile_t *tile, int *k)
{
    draw_tile(form, 0, tile);
    memset(tile->a, 0, sizeof tile->a);
    memset(tile->b, 0, sizeof tile->b);
    memset(tile->c, 0, sizeof tile->c);
    *k = (int)(random_word() >> 8) % form->depth;
}

/* The tile `index` that multiplies codes of A by codes of B. Returns false if all pairs of codes have been multiplied. */
static bool draw_codes(const form_t *form, int index, tile_t *tile)
{
    int k, across = (int)codes_of(form->b) / COLUMNS;
    if (index >= (int)codes_of(form->a) / ROWS * across)
        return false;
    draw_sparse_tile(form, tile, &k);
    for (int row = 0; row < ROWS; row++)
        tile->a[row][k] = (uint32_t)(index / across * ROWS + row);
    for (int column = 0; column < COLUMNS; column++)
        tile->b[k][column] = (uint32_t)(index % across * COLUMNS + column);
    return true;
}

/* The tile `index` that multiplies all codes of scales. The other elements are zeros or, because the product of 0 and a scale
 * that is wrongly infinite is NaN as well, the least positive numbers. */
static bool draw_scales(const form_t *form, int index, tile_t *tile)
{
    int k;
    if (form->blocks == 0 || index >= 256 / ROWS * (256 / COLUMNS))
        return false;
    draw_sparse_tile(form, tile, &k);
    for (int i = 0; i < form->depth; i++) {
        for (int row = 0; row < ROWS; row++)
            tile->a[row][i] = (uint32_t)row & 1;
        for (int column = 0; column < COLUMNS; column++)
            tile->b[i][column] = (uint32_t)column & 1;
    }
    int block = k / (form->depth / form->blocks);
    for (int j = 0; j < form->blocks; j++) {
        for (int row = 0; row < ROWS; row++)
            tile->a_scale[row][j] = j == block ? (uint32_t)(index / 32 * ROWS + row) : one_of(form);
        for (int column = 0; column < COLUMNS; column++)
            tile->b_scale[j][column] = j == block ? (uint32_t)(index % 32 * COLUMNS + column) : one_of(form);
    }
    for (int row = 0; row < ROWS; row++)
        tile->a[row][k] = 1 + (random_word() >> 8) % (codes_of(form->a) / 2 - 8 + (form->a->bits == 4 ? 7 : 0));
    for (int column = 0; column < COLUMNS; column++)
        tile->b[k][column] = 1 + (random_word() >> 8) % (codes_of(form->b) / 2 - 8 + (form->b->bits == 4 ? 7 : 0));
    return true;
}

/* ---- Kernels ------------------------------------------------------------------------------------------------------- */

static void write_statement(const form_t *form, char *text, size_t size)
{
    static const char copy[] = "mov.b32 %d0, %w6;\nmov.b32 %d1, %w7;\nmov.b32 %d2, %w8;\nmov.b32 %d3, %w9;\n";
    const int *ids = form->selectors;
    bool is_half = strcmp(form->sum, "f16") == 0;
    const char *c = is_half ? "{%w6,%w7}" : "{%w6,%w7,%w8,%w9}", *d = is_half ? "{%d0,%d1}" : "{%d0,%d1,%d2,%d3}";
    int used = snprintf(text, size,
                        "mma.sync.aligned.m16n8k%d.row.col.kind::%s%s%s.%s.%s.%s.%s%s%s %s, "
                        "{%%w0,%%w1,%%w2,%%w3}, {%%w4,%%w5}, %s",
                        form->depth, form->kind, form->blocks ? ".block_scale" : "", form->scale_vec, form->sum,
                        form->a->name, form->b->name, form->sum, form->blocks ? "." : "", form->scale,
                        form->is_in_place ? c : d, c);
    if (form->blocks && form->is_in_place)
        used += snprintf(text + used, size - (size_t)used, ", %%w10, {%%h0,%%h1}, {%%w11}, {%%h2,%%h3}");
    else if (form->blocks)
        used += snprintf(text + used, size - (size_t)used, ", %%w10, {%d,%d}, %%w11, {%d,%d}", ids[0], ids[1], ids[2],
                         ids[3]);
    snprintf(text + used, size - (size_t)used, ";\n%s", form->is_in_place ? copy : "");
}

static void write_kernel(const char *target, const char *statement, char *text, size_t size)
{
    snprintf(text, size,
             ".version 8.8\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n"
             ".reg .b32 %%t, %%u, %%w<16>, %%d<4>; .reg .b16 %%h<4>; .reg .b64 %%x;\n"
             "mov.u32 %%t, %%ctaid.x;\nmov.u32 %%u, %%tid.x;\nmad.lo.u32 %%t, %%t, 32, %%u;\n"
             "ld.param.u64 %%x, [data];\nmad.wide.u32 %%x, %%t, 80, %%x;\n"
             "ld.global.v4.b32 {%%w0,%%w1,%%w2,%%w3}, [%%x];\nld.global.v4.b32 {%%w4,%%w5,%%w6,%%w7}, [%%x+16];\n"
             "ld.global.v4.b32 {%%w8,%%w9,%%w10,%%w11}, [%%x+32];\n"
             "ld.global.v4.b16 {%%h0,%%h1,%%h2,%%h3}, [%%x+48];\n"
             "mov.b32 %%d0, 0;\nmov.b32 %%d1, 0;\nmov.b32 %%d2, 0;\nmov.b32 %%d3, 0;\n%s"
             "st.global.v4.b32 [%%x+64], {%%d0,%%d1,%%d2,%%d3};\nret;\n}\n",
             target, statement);
}

/* Launches one warp per tile. Returns the status of the launch; of a failed one, copies the message. */
static rung_status launch(const char *text, lane_t *lanes, int tiles, char error[256])
{
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t address;
    int64_t bytes = (int64_t)sizeof *lanes * LANES * tiles;
    rung_emulator_options options = rung_emulator_options_default();
    options.threads = 1;
    options.checks = tiles < 8 ? RUNG_EMULATOR_CHECK_ALL : 0;
    assert_int_equal(rung_emulator_create(&options, &emulator), RUNG_OK);
    if (rung_emulator_module_load(emulator, "scales.ptx", text, strlen(text), &module) != RUNG_OK)
        fail_msg("%s\n%s", rung_error_text(), text);
    assert_int_equal(rung_emulator_kernel_find(module, "k", &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, bytes, "data", &address), RUNG_OK);
    assert_int_equal(rung_emulator_write(emulator, address, lanes, bytes), RUNG_OK);
    void *arguments[] = {&address};
    rung_emulator_launch launch = rung_emulator_launch_of((uint32_t)tiles, LANES, arguments);
    rung_status status = rung_emulator_launch_kernel(kernel, &launch);
    if (status != RUNG_OK)
        snprintf(error, 256, "%s", rung_error_text());
    else
        assert_int_equal(rung_emulator_finding_count(emulator), 0);
    assert_int_equal(rung_emulator_read(emulator, address, lanes, bytes), RUNG_OK);
    rung_emulator_destroy(emulator);
    return status;
}

static void run_tiles(const form_t *form, const tile_t *tiles, int count)
{
    static lane_t lanes[TILES_MAX][LANES];
    char statement[512], text[2048], error[256];
    assert_true(count <= TILES_MAX);
    write_statement(form, statement, sizeof statement);
    write_kernel("sm_120a", statement, text, sizeof text);
    for (int i = 0; i < count; i++)
        write_tile(form, &tiles[i], lanes[i]);
    if (launch(text, lanes[0], count, error) != RUNG_OK)
        fail_msg("%s\n%s", error, text);
    for (int i = 0; i < count; i++)
        compare_tile(form, statement, &tiles[i], lanes[i]);
}

/* ---- Forms --------------------------------------------------------------------------------------------------------- */

static const form_t scaled_forms[] = {{"mxf8f6f4", "", "f32", "ue8m0", NULL, NULL, 32, 1, {0}, false},
                                      {"mxf8f6f4", ".scale_vec::1X", "f32", "ue8m0", NULL, NULL, 32, 1, {0}, false},
                                      {"mxf4", "", "f32", "ue8m0", NULL, NULL, 64, 2, {0}, false},
                                      {"mxf4", ".scale_vec::2X", "f32", "ue8m0", NULL, NULL, 64, 2, {0}, false},
                                      {"mxf4nvf4", ".scale_vec::2X", "f32", "ue8m0", NULL, NULL, 64, 2, {0}, false},
                                      {"mxf4nvf4", ".scale_vec::4X", "f32", "ue8m0", NULL, NULL, 64, 4, {0}, false},
                                      {"mxf4nvf4", ".scale_vec::4X", "f32", "ue4m3", NULL, NULL, 64, 4, {0}, false}};
static const form_t plain_forms[] = {{"f8f6f4", "", "f32", "", NULL, NULL, 32, 0, {0}, false},
                                     {"f8f6f4", "", "f16", "", NULL, NULL, 32, 0, {0}, false}};
enum { SCALED_FORMS = sizeof scaled_forms / sizeof *scaled_forms };

/* Sets combination `index` of the selectors. Returns false behind the last one. */
static bool set_selectors(form_t *form, int index)
{
    int bytes = form->blocks ? 4 / form->blocks : 1;
    form->selectors[0] = index % bytes * form->blocks;
    form->selectors[1] = index / bytes % 2;
    form->selectors[2] = index / bytes / 2 % bytes * form->blocks;
    form->selectors[3] = index / bytes / 2 / bytes;
    return form->selectors[3] < 4;
}

/* Sets pair `index` of the types of A and B. Returns false behind the last one. */
static bool set_types(form_t *form, int index)
{
    bool is_packed = form->depth == 64;
    form->a = &elements[is_packed ? 4 : index / ELEMENTS % ELEMENTS];
    form->b = &elements[is_packed ? 4 : index % ELEMENTS];
    return index < (is_packed ? 1 : ELEMENTS * ELEMENTS);
}

/* Random tiles: numbers of similar size, any bits, the ends of the scales' range. With `has_codes`, all pairs of codes. */
static void run_form(const form_t *form, bool has_codes)
{
    static tile_t tiles[TILES_MAX];
    int count = 0;
    while (has_codes && draw_codes(form, count, &tiles[count]))
        count++;
    for (int i = 0; i < 60; i++)
        draw_tile(form, i % 3, &tiles[count++]);
    run_tiles(form, tiles, count);
}

static void test_without_scales(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof plain_forms / sizeof *plain_forms; i++) {
        form_t form = plain_forms[i];
        for (int types = 0; set_types(&form, types); types++) {
            form.is_in_place = types % 2;
            run_form(&form, i == 0); /* with .f32 */
        }
    }
}

static void test_with_scales(void **unused)
{
    (void)unused;
    for (int i = 0, selectors = 0; i < SCALED_FORMS; i++) {
        form_t form = scaled_forms[i];
        for (int types = 0; set_types(&form, types); types++) {
            selectors = set_selectors(&form, selectors + 5) ? selectors + 5 : 0;
            set_selectors(&form, selectors);
            run_form(&form, *form.scale_vec != 0 || form.blocks == 2);
        }
    }
}

/* All pairs of the codes of scales. */
static void test_scales(void **unused)
{
    static tile_t tiles[TILES_MAX];
    (void)unused;
    for (int i = 0; i < SCALED_FORMS; i++) {
        form_t form = scaled_forms[i];
        int count = 0;
        for (int types = 0; types < (form.depth == 32 ? ELEMENTS * ELEMENTS : 1); types += 6) {
            set_types(&form, types);
            set_selectors(&form, types);
            for (count = 0; draw_scales(&form, count, &tiles[count]); count++)
                ;
            run_tiles(&form, tiles, count);
        }
        assert_int_equal(count, 512);
    }
}

/* All selectors: as numbers, and in registers with D in the registers of C. */
static void test_selectors(void **unused)
{
    tile_t tiles[3];
    int count = 0;
    (void)unused;
    for (int i = 0; i < SCALED_FORMS; i++) {
        form_t form = scaled_forms[i];
        for (int selectors = 0; set_selectors(&form, selectors); selectors++)
            for (int variant = 0; variant < 2; variant++, count++) {
                form.is_in_place = variant == 1;
                set_types(&form, form.depth == 64 ? 0 : selectors % (ELEMENTS * ELEMENTS));
                for (int j = 0; j < 3; j++)
                    draw_tile(&form, j == 2 ? 1 : 0, &tiles[j]);
                run_tiles(&form, tiles, 3);
            }
    }
    assert_int_equal(count, 2 * (2 * 128 + 3 * 32 + 2 * 8));
}

/* Selectors in registers that are invalid, or that differ between lanes. */
static void test_wrong_registers(void **unused)
{
    static const struct {
        int form, selector, value;
        bool in_one_lane;
        const char *message;
    } cases[] = {{0, 0, 4, false, "byte-id-a of mma is 4"},
                 {2, 0, 1, false, "must be 0 or 2"},
                 {5, 2, 2, false, "byte-id-b of mma is 2"},
                 {6, 1, 2, false, "thread-id-a of mma is 2"},
                 {0, 3, 4, false, "must be 0 to 3"},
                 {0, 3, 1, true, "the same in all lanes"},
                 {0, 1, 1, true, "thread-id-a of mma is 1, and 0"}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        form_t form = scaled_forms[cases[i].form];
        char statement[512], text[2048], error[256] = "";
        tile_t tile;
        lane_t lanes[LANES];
        set_types(&form, 0);
        form.is_in_place = true;
        draw_tile(&form, 0, &tile);
        write_tile(&form, &tile, lanes);
        for (int lane = cases[i].in_one_lane ? 17 : 0; lane < (cases[i].in_one_lane ? 18 : LANES); lane++)
            lanes[lane].in[WORD_SELECTORS + cases[i].selector / 2] |= (uint32_t)cases[i].value
                                                                      << 16 * (cases[i].selector % 2);
        write_statement(&form, statement, sizeof statement);
        write_kernel("sm_120a", statement, text, sizeof text);
        assert_int_not_equal(launch(text, lanes, 1, error), RUNG_OK);
        if (!strstr(error, cases[i].message))
            fail_msg("expected \"%s\" in \"%s\"", cases[i].message, error);
    }
}

/* ---- What is refused ----------------------------------------------------------------------------------------------- */

#define MMA32 "mma.sync.aligned.m16n8k32.row.col."
#define MMA64 "mma.sync.aligned.m16n8k64.row.col."
#define ABC " {%d0,%d1,%d2,%d3}, {%w0,%w1,%w2,%w3}, {%w4,%w5}, {%w6,%w7,%w8,%w9}"
#define MXF4 MMA64 "kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0" ABC
#define MXF4_FORM "valid is " MMA64 "kind::mxf4.block_scale[.scale_vec::2X].f32.e2m1.e2m1.f32.ue8m0"
#define NO_IDS ", %w10, {0,0}, %w11, {0,0};\n"

static const struct refused {
    const char *target, *statement, *message;
} refused[] = {
    /* Kinds with sizes, types and scales that they do not have. */
    {"sm_120a", MMA64 "kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0" ABC NO_IDS, MXF4_FORM},
    {"sm_120a", MMA64 "kind::mxf4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0" ABC NO_IDS, MXF4_FORM},
    {"sm_120a", MMA64 "kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue4m3" ABC NO_IDS, MXF4_FORM},
    {"sm_120a", MMA64 "kind::mxf4.block_scale.f32.e2m1.e2m1.f32" ABC NO_IDS, MXF4_FORM},
    {"sm_120a", MMA64 "kind::mxf4.block_scale.f32.e2m3.e2m1.f32.ue8m0" ABC NO_IDS, MXF4_FORM},
    {"sm_120a", MMA64 "kind::mxf4.f32.e2m1.e2m1.f32" ABC ";\n", MXF4_FORM},
    {"sm_120a", MMA64 "kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue4m3" ABC NO_IDS,
     "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"},
    {"sm_120a", MMA64 "kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue8m0" ABC NO_IDS,
     "kind::mxf4nvf4.block_scale.{scale_vec::2X/scale_vec::4X}"},
    {"sm_120a", MMA64 "kind::mxf4nvf4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0" ABC NO_IDS,
     "kind::mxf4nvf4.block_scale.{scale_vec::2X/scale_vec::4X}"},
    {"sm_120a", MMA32 "kind::mxf8f6f4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0" ABC NO_IDS,
     "kind::mxf8f6f4.block_scale[.scale_vec::1X]"},
    {"sm_120a", MMA32 "kind::mxf8f6f4.block_scale.f32.e2m1.e2m1.f32.ue4m3" ABC NO_IDS,
     "kind::mxf8f6f4.block_scale[.scale_vec::1X]"},
    {"sm_120a", MMA32 "kind::f8f6f4.f32.e2m1.e2m1.f16" ABC ";\n", "valid is"},
    {"sm_120a", MMA32 "f32.e3m2.e2m1.f32" ABC ";\n", MMA32 "kind::f8f6f4"},
    {"sm_120a", MMA64 "kind::f8f6f4.f32.e2m1.e2m1.f32" ABC ";\n", MMA32 "kind::f8f6f4"},
    /* Operands. */
    {"sm_120a", MXF4 ";\n", "a scale or its selector is missing; the operands are d, a, b, c, scale-a-data"},
    {"sm_120a", MXF4 ", %w10, %w11;\n", "missing"},
    {"sm_120a", MXF4 ", %w10, {0,0}, 7, {0,0};\n", "scale-b-data is not a register"},
    {"sm_120a", MXF4 ", %w10, 0, %w11, 0;\n", "a selector is not a list of two numbers"},
    {"sm_120a", MXF4 ", %w10, {0,0,0}, %w11, {0,0};\n", "a selector is not a list of two numbers"},
    {"sm_120a", MXF4 ", %h0, {0,0}, %w11, {0,0};\n", "different size"},
    {"sm_120a", MXF4 ", %w10, {%w0,0}, %w11, {0,0};\n", "different size"},
    {"sm_120a", MXF4 ", %w10, {1,0}, %w11, {0,0};\n", "byte-id-a is 1; 0 or 2 is valid with 2 scales per row"},
    {"sm_120a", MXF4 ", %w10, {0,2}, %w11, {0,0};\n", "thread-id-a is 2; 0 or 1 is valid"},
    {"sm_120a", MXF4 ", %w10, {0,0}, %w11, {3,0};\n", "byte-id-b is 3; 0 or 2 is valid"},
    {"sm_120a", MXF4 ", %w10, {0,0}, %w11, {0,-1};\n", "thread-id-b is -1; 0 to 3 is valid"},
    {"sm_120a", MMA32 "kind::f8f6f4.f32.e2m1.e2m1.f32 {%d0,%d1,%d2,%d3}, {%w0,%w1}, {%w4}, {%w6,%w7,%w8,%w9};\n",
     "2 registers instead of 4"},
    /* Targets. */
    {"sm_120", MXF4 NO_IDS,
     "needs .target sm_120a or sm_120f, or a later one of this family with such a suffix; the "
     "target is sm_120"},
    {"sm_100a", MXF4 NO_IDS, "the target is sm_100a"},
    {"sm_90a", MMA32 "kind::f8f6f4.f32.e4m3.e4m3.f32" ABC ";\n", "needs .target sm_120a"},
    {"sm_130a", MMA32 "kind::f8f6f4.f32.e4m3.e4m3.f32" ABC ";\n", "needs .target sm_120a"},
    {"sm_100", "cvt.rn.satfinite.e2m3x2.f32 %h0, %w0, %w1;\n", "needs .target sm_100a or sm_100f, or a later one"},
    {"sm_90a", "cvt.rn.bf16x2.ue8m0x2 %w0, %h0;\n", "the target is sm_90a"},
    /* Conversions. */
    {"sm_120a", "cvt.rn.e2m3x2.f32 %h0, %w0, %w1;\n", "valid is cvt.rn.satfinite[.relu].{e2m3x2/e3m2x2}.f32"},
    {"sm_120a", "cvt.rn.ue8m0x2.f32 %h0, %w0, %w1;\n", "valid is cvt.{rz/rp}[.satfinite].ue8m0x2.f32"},
    {"sm_120a", "cvt.rn.f16x2.ue8m0x2 %w0, %h0;\n", "valid is"},
    {"sm_120a", "cvt.rn.satfinite.e2m3x2.f16x2 %h0, %w0;\n", "valid is"},
    {"sm_120a", "cvt.rn.e2m3x2.f16x2 %h0, %w0;\n", "valid is"}};

static rung_status load_text(const char *target, const char *statement)
{
    char text[2048];
    rung_emulator *emulator;
    rung_emulator_module *module;
    write_kernel(target, statement, text, sizeof text);
    assert_int_equal(rung_emulator_create(NULL, &emulator), RUNG_OK);
    rung_status status = rung_emulator_module_load(emulator, "refused.ptx", text, strlen(text), &module);
    rung_emulator_destroy(emulator);
    return status;
}

static void test_refused(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (load_text(refused[i].target, refused[i].statement) == RUNG_OK)
            fail_msg("%s is accepted", refused[i].statement);
        if (!strstr(rung_error_text(), refused[i].message))
            fail_msg("%s\n%s\ndoes not contain\n%s", refused[i].statement, rung_error_text(), refused[i].message);
    }
}

/* The order that CUTLASS writes, and every target that has the instructions. */
static void test_accepted(void **unused)
{
    static const char *const targets[] = {"sm_120a", "sm_120f", "sm_121a", "sm_121f"};
    static const char *const statements[] = {
        MXF4 NO_IDS,
        "mma.sync.aligned.kind::mxf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0" ABC NO_IDS,
        "mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3" ABC NO_IDS,
        "mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e5m2.e3m2.f32.ue8m0" ABC NO_IDS,
        "mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f32.e3m2.e2m1.f32" ABC ";\n",
        "cvt.rn.satfinite.e2m3x2.f32 %h0, %w0, %w1;\n"};
    (void)unused;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        for (size_t j = 0; j < sizeof statements / sizeof *statements; j++)
            if (load_text(targets[i], statements[j]) != RUNG_OK)
                fail_msg("%s: %s", targets[i], rung_error_text());
    assert_int_equal(load_text("sm_103a", "cvt.rp.satfinite.ue8m0x2.bf16x2 %h0, %w0;\n"), RUNG_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_scales),  cmocka_unit_test(test_with_scales),
                                       cmocka_unit_test(test_scales),          cmocka_unit_test(test_selectors),
                                       cmocka_unit_test(test_wrong_registers), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_accepted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
