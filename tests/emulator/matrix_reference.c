/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_reference.c - see matrix_reference.h. The formulas for rows and columns are those of the PTX manual's sections
 * "Matrix Fragments for mma..." and "Matrix Fragments for sparse mma...", element by element. */
#include "matrix_reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M_MAX = 16, N_MAX = 8, K_MAX = 256, QUADS = 4 };

static const element_type_t types[] = {{"f16", 16, 0, 0}, {"bf16", 16, 0, 0}, {"tf32", 32, 0, 0}, {"f32", 32, 0, 0},
                                       {"f64", 64, 0, 0}, {"e4m3", 8, 0, 0},  {"e5m2", 8, 0, 0},  {"s8", 8, 0, 1},
                                       {"u8", 8, 1, 1},   {"s4", 4, 0, 1},    {"u4", 4, 1, 1},    {"b1", 1, 1, 1},
                                       {"s32", 32, 0, 1}};

static const element_type_t *type_of(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    abort();
}

/* ---- Forms --------------------------------------------------------------------------------------------------------- */

/* Shapes, types of A, of B (the same if ""), of C and D; sparse forms follow. */
static const struct {
    const char *shapes, *a, *b, *c, *d;
    bool is_sparse, saturates;
} groups[] = {{"m16n8k8 m16n8k16", "f16", "", "f32", "f32", 0, 0},
              {"m16n8k8 m16n8k16", "f16", "", "f16", "f16", 0, 0},
              {"m16n8k8 m16n8k16", "bf16", "", "f32", "f32", 0, 0},
              {"m16n8k4 m16n8k8", "tf32", "", "f32", "f32", 0, 0},
              {"m16n8k16 m16n8k32", "e4m3", "e4m3 e5m2", "f32", "f32", 0, 0},
              {"m16n8k16 m16n8k32", "e5m2", "e4m3 e5m2", "f16", "f16", 0, 0},
              {"m8n8k4 m16n8k4 m16n8k8 m16n8k16", "f64", "", "f64", "f64", 0, 0},
              {"m8n8k4", "f16", "", "f16", "f16", 0, 0},
              {"m8n8k4", "f16", "", "f32", "f32", 0, 0},
              {"m8n8k4", "f16", "", "f16", "f32", 0, 0},
              {"m8n8k16 m16n8k16 m16n8k32", "s8", "s8 u8", "s32", "s32", 0, 0},
              {"m8n8k16 m16n8k16 m16n8k32", "u8", "s8 u8", "s32", "s32", 0, 1},
              {"m8n8k32 m16n8k32 m16n8k64", "s4", "s4 u4", "s32", "s32", 0, 1},
              {"m8n8k32 m16n8k32 m16n8k64", "u4", "s4 u4", "s32", "s32", 0, 0},
              {"m8n8k128 m16n8k128 m16n8k256", "b1", "", "s32", "s32", 0, 0},
              {"m16n8k16 m16n8k32", "f16", "", "f32", "f32", 1, 0},
              {"m16n8k16 m16n8k32", "f16", "", "f16", "f16", 1, 0},
              {"m16n8k16 m16n8k32", "bf16", "", "f32", "f32", 1, 0},
              {"m16n8k8 m16n8k16", "tf32", "", "f32", "f32", 1, 0},
              {"m16n8k64", "e4m3", "e4m3 e5m2", "f32", "f32", 1, 0},
              {"m16n8k64", "e5m2", "e4m3 e5m2", "f16", "f16", 1, 0},
              {"m16n8k32 m16n8k64", "s8", "s8 u8", "s32", "s32", 1, 1},
              {"m16n8k32 m16n8k64", "u8", "s8 u8", "s32", "s32", 1, 0},
              {"m16n8k64 m16n8k128", "s4", "s4 u4", "s32", "s32", 1, 0},
              {"m16n8k64 m16n8k128", "u4", "s4 u4", "s32", "s32", 1, 1}};

/* Returns word `index` of a list, or false. An empty list has one empty word. */
static bool word_at(const char *list, int index, char word[16])
{
    for (int i = 0; i < index; i++) {
        list = strchr(list, ' ');
        if (!list)
            return false;
        list++;
    }
    snprintf(word, 16, "%.*s", (int)strcspn(list, " "), list);
    return true;
}

/* Chooses the variants of one shape and pair of types: layouts of m8n8k4, operators of bits, names of sparse forms. */
static bool choose_variant(form_t *form, int variant)
{
    bool is_quad = form->k == 4 && form->a->bits == 16, is_bits = form->a->bits == 1;
    /* mma.sp of 8-bit floats has no sums of halves without ::ordered_metadata. */
    bool is_ordered = variant || (form->a->bits == 8 && form->c->bits == 16);
    if (variant >= (is_quad ? 4 : is_bits || form->is_sparse ? 2 : 1))
        return false;
    form->is_column_a = is_quad && variant % 2;
    form->is_column_b = is_quad ? variant / 2 : true;
    form->is_and = is_bits && variant;
    snprintf(form->text, sizeof form->text, "mma%s.sync.aligned.m%dn%dk%d.%s.%s%s.%s.%s.%s.%s%s",
             !form->is_sparse ? ""
             : is_ordered     ? ".sp::ordered_metadata"
                              : ".sp",
             form->m, form->n, form->k, form->is_column_a ? "col" : "row", form->is_column_b ? "col" : "row",
             form->saturates ? ".satfinite" : "", form->d->name, form->a->name, form->b->name, form->c->name,
             !is_bits       ? ""
             : form->is_and ? ".and.popc"
                            : ".xor.popc");
    return true;
}

bool form_at(int index, form_t *form)
{
    char shape[16], b[16];
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (int s = 0; word_at(groups[i].shapes, s, shape); s++)
            for (int t = 0; word_at(groups[i].b, t, b); t++) {
                *form = (form_t){.a = type_of(groups[i].a), .c = type_of(groups[i].c), .d = type_of(groups[i].d)};
                form->b = *b ? type_of(b) : form->a;
                form->is_sparse = groups[i].is_sparse;
                form->saturates = groups[i].saturates;
                sscanf(shape, "m%dn%dk%d", &form->m, &form->n, &form->k);
                /* bits of metadata per row: 4 per chunk of 2, 4 or 8 elements; 4 lanes hold 128 bits of two rows */
                int chunk = form->a->bits == 32 ? 2 : form->a->bits == 4 ? 8 : 4;
                form->selectors = form->is_sparse ? 64 / (form->k / chunk * 4) : 1;
                for (int variant = 0; choose_variant(form, variant); variant++)
                    if (index-- == 0)
                        return true;
            }
    return false;
}

/* ---- Elements ------------------------------------------------------------------------------------------------------ */

/* Encodes a small integer. */
static uint64_t encode(const element_type_t *type, int32_t value)
{
    double wide = value;
    float single = (float)value;
    uint64_t bits64;
    uint32_t bits;
    memcpy(&bits64, &wide, 8);
    memcpy(&bits, &single, 4);
    if (type->is_integer)
        return (uint32_t)value & (type->bits == 32 ? ~0u : (1u << type->bits) - 1);
    if (type->bits == 64)
        return bits64;
    if (type->bits == 32)
        return bits;
    if (strcmp(type->name, "bf16") == 0)
        return bits >> 16;
    /* f16, e4m3, e5m2: sign, exponent with another bias, the upper bits of the fraction */
    int fraction = strcmp(type->name, "f16") == 0 ? 10 : strcmp(type->name, "e4m3") == 0 ? 3 : 2;
    int bias = strcmp(type->name, "e4m3") == 0 ? 7 : 15;
    uint32_t sign = bits >> 31 << (type->bits - 1), exponent = bits >> 23 & 255;
    if (value == 0)
        return 0;
    return sign | (exponent - 127 + (uint32_t)bias) << fraction | (bits & 0x7fffff) >> (23 - fraction);
}

static int32_t draw(uint64_t *state, const element_type_t *type)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    uint32_t random = (uint32_t)(*state >> 33);
    if (type->bits == 1)
        return (int32_t)(random & 1);
    if (type->is_integer && type->bits < 32)
        return (int32_t)(random % (1u << type->bits)) - (type->is_unsigned ? 0 : 1 << (type->bits - 1));
    return (int32_t)(random % 7) - 3;
}

/* Puts an element into a lane's registers, which begin at slot `first`. */
static void put(uint64_t slots[64], int first, int i, const element_type_t *type, int32_t value)
{
    int per_register = type->bits == 64 ? 1 : 32 / type->bits;
    slots[first + i / per_register] |= encode(type, value) << i % per_register * type->bits;
}

static int registers_of(int elements, const element_type_t *type)
{
    return type->bits == 64 ? elements : elements * type->bits / 32;
}

/* ---- Fragments ----------------------------------------------------------------------------------------------------- */

typedef struct place {
    int quad, row, column;
} place_t;

/* m8n8k4 of halves: A, and B with rows and columns exchanged. */
static place_t quad_place(int lane, int i, bool is_along_k)
{
    int high = lane < 16 ? 0 : 4;
    return is_along_k ? (place_t){lane % 16 / 4, lane % 4 + high, i} : (place_t){lane % 16 / 4, i % 4 + high, lane % 4};
}

/* Element i of A. `k` is half the depth if A is sparse: the formulas are then those of the packed elements. */
static place_t a_place(const form_t *form, int k, int lane, int i)
{
    int group = lane >> 2, thread = lane % 4, bits = form->a->bits;
    bool is_low = true;
    int column = 0;
    if (form->m == 8 && bits == 16)
        return quad_place(lane, i, !form->is_column_a);
    switch (bits) {
    case 16:
        is_low = k == 8 ? i < 2 : (i < 2 || (i >= 4 && i < 6));
        column = thread * 2 + (i & 1) + (i < 4 ? 0 : 8);
        break;
    case 32:
        is_low = i == 0 || i == 2;
        column = i < 2 ? thread : thread + 4;
        break;
    case 64:
        is_low = i % 2 == 0;
        column = i % 2 == 0 ? i * 2 + thread : i * 2 - 2 + thread;
        break;
    case 8:
        is_low = k == 16 ? i < 4 : i < 4 || (i >= 8 && i < 12);
        column = thread * 4 + (i & 3) + (i < 8 ? 0 : 16);
        break;
    case 4:
        is_low = k == 32 ? i < 8 : i < 8 || (i >= 16 && i < 24);
        column = thread * 8 + (i & 7) + (i < 16 ? 0 : 32);
        break;
    case 1:
        is_low = k == 128 ? i < 32 : i < 32 || (i >= 64 && i < 96);
        column = thread * 32 + (i & 31) + (i < 64 ? 0 : 128);
        break;
    default: abort();
    }
    if (form->m == 8)
        return (place_t){0, group, column};
    return (place_t){0, is_low ? group : group + 8, column};
}

static place_t b_place(const form_t *form, int lane, int i)
{
    int group = lane >> 2, thread = lane % 4;
    if (form->m == 8 && form->a->bits == 16) {
        place_t place = quad_place(lane, i, form->is_column_b);
        return (place_t){place.quad, place.column, place.row};
    }
    switch (form->a->bits) {
    case 16: return (place_t){0, thread * 2 + (i & 1) + 8 * (i / 2), group};
    case 32: return (place_t){0, thread + 4 * i, group};
    case 64: return (place_t){0, thread + i * 4, group};
    case 8: return (place_t){0, thread * 4 + (i & 3) + 16 * (i / 4), group};
    case 4: return (place_t){0, thread * 8 + (i & 7) + 32 * (i / 8), group};
    default: return (place_t){0, thread * 32 + (i & 31) + 128 * (i / 32), group};
    }
}

static place_t c_place(const form_t *form, const element_type_t *type, int lane, int i)
{
    int group = lane >> 2, thread = lane % 4;
    if (form->m == 8 && form->a->bits == 16) {
        int high = lane < 16 ? 0 : 4;
        if (type->bits == 16)
            return (place_t){lane % 16 / 4, lane % 4 + high, i};
        return (place_t){lane % 16 / 4, (lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)};
    }
    return (place_t){0, i < 2 ? group : group + 8, thread * 2 + (i & 1)};
}

/* ---- Sparse A ------------------------------------------------------------------------------------------------------ */

typedef struct matrices {
    int32_t a[QUADS][M_MAX][K_MAX], packed[M_MAX][K_MAX], b[QUADS][K_MAX][N_MAX], c[QUADS][M_MAX][N_MAX];
} matrices_t;

/* Sets the 4 bits of a chunk. The manual has figures instead of formulas for the metadata. CUTLASS's kernels confirm the
 * larger shape of each type (cutlass.sh, "sp:"); the smaller shape is taken to be its first half. */
static void put_metadata(const form_t *form, int selector, int row, int chunk, uint32_t bits, uint64_t in[32][64],
                         int slot)
{
    int group = row % 8, lane, shift;
    if (form->a->bits >= 16) { /* row g in bits 15..0, row g + 8 in bits 31..16; the next lane has the next 4 chunks */
        int lanes = form->k == (form->a->bits == 16 ? 16 : 8) ? 1 : 2;
        lane = 4 * group + selector * lanes + chunk / 4;
        shift = chunk % 4 * 4 + (row < 8 ? 0 : 16);
    } else { /* row g in one lane, row g + 8 in the next one; two lanes further, the next 8 chunks */
        lane = 4 * group + 2 * selector + (row < 8 ? 0 : 1) + chunk / 8 * 2;
        shift = chunk % 8 * 4;
    }
    in[lane][slot] |= (uint64_t)bits << shift;
}

/* Draws one chunk of sparse A: dense elements, packed elements and metadata. */
static uint32_t draw_chunk(const form_t *form, matrices_t *matrices, int row, int chunk, uint64_t *state)
{
    static const uint32_t ordered[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}; /* 0 and 1, 0 and 2, 0 and 3, 1 and 2, ... */
    bool is_tf32 = form->a->bits == 32, has_pairs = form->a->bits == 4;
    int size = is_tf32 ? 2 : has_pairs ? 8 : 4, first = chunk * size;
    element_type_t word = {"s32", 32, false, true};
    uint32_t random = (uint32_t)(draw(state, &word) + 3), bits = ordered[random % 6];
    if (is_tf32)
        bits = random % 2 ? 0xe : 0x4;
    for (int j = 0; j < size / 2; j++) {
        int index = is_tf32     ? (int)(bits == 0xe)
                    : has_pairs ? (int)(bits >> j / 2 * 2 & 3) * 2 + j % 2
                                : (int)(bits >> j * 2 & 3);
        matrices->a[0][row][first + index] = matrices->packed[row][first / 2 + j] = draw(state, form->a);
    }
    return bits;
}

static void draw_sparse(const form_t *form, int selector, matrices_t *matrices, uint64_t *state, uint64_t in[32][64],
                        int slot)
{
    int size = form->a->bits == 32 ? 2 : form->a->bits == 4 ? 8 : 4;
    for (int row = 0; row < form->m; row++)
        for (int chunk = 0; chunk < form->k / size; chunk++)
            put_metadata(form, selector, row, chunk, draw_chunk(form, matrices, row, chunk, state), in, slot);
    /* The lanes that the selector does not choose hold something else. */
    for (int lane = 0; lane < 32; lane++)
        if (in[lane][slot] == 0)
            in[lane][slot] = 0xa5a5a5a5;
}

/* ---- Result -------------------------------------------------------------------------------------------------------- */

static int32_t sum_of(const form_t *form, const matrices_t *matrices, place_t at)
{
    int64_t sum = matrices->c[at.quad][at.row][at.column];
    for (int k = 0; k < form->k; k++) {
        int32_t x = matrices->a[at.quad][at.row][k], y = matrices->b[at.quad][k][at.column];
        sum += form->a->bits > 1 ? (int64_t)x * y : form->is_and ? (x & y) : (x ^ y);
    }
    if (form->saturates)
        sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
    return (int32_t)(uint32_t)sum;
}

static int32_t draw_sum(const form_t *form, uint64_t *state)
{
    int32_t small = draw(state, form->c);
    if (!form->c->is_integer)
        return small;
    return small > 1    ? INT32_MAX - small
           : small < -1 ? INT32_MIN - small
                        : small * 1000; /* sums overflow now and then */
}

void reference_fragments(const form_t *form, int selector, uint64_t seed, fragment_set_t *set, uint64_t in[32][64],
                         uint64_t expected[32][64])
{
    static matrices_t matrices;
    int quads = form->m == 8 && form->a->bits == 16 ? QUADS : 1, packed_k = form->is_sparse ? form->k / 2 : form->k;
    int a_elements = quads * form->m * packed_k / 32, b_elements = quads * form->k * form->n / 32;
    int c_elements = quads * form->m * form->n / 32;
    uint64_t state = seed;
    memset(&matrices, 0, sizeof matrices);
    *set = (fragment_set_t){registers_of(a_elements, form->a), registers_of(b_elements, form->b),
                            registers_of(c_elements, form->c), registers_of(c_elements, form->d)};
    int b_first = set->a_registers, c_first = b_first + set->b_registers;
    if (form->is_sparse)
        draw_sparse(form, selector, &matrices, &state, in, c_first + set->c_registers);
    for (int lane = 0; lane < 32; lane++) {
        for (int i = 0; i < a_elements; i++) {
            place_t at = a_place(form, packed_k, lane, i);
            int32_t value = form->is_sparse ? matrices.packed[at.row][at.column] : draw(&state, form->a);
            if (!form->is_sparse)
                matrices.a[at.quad][at.row][at.column] = value;
            put(in[lane], 0, i, form->a, value);
        }
        for (int i = 0; i < b_elements; i++) {
            place_t at = b_place(form, lane, i);
            put(in[lane], b_first, i, form->b, matrices.b[at.quad][at.row][at.column] = draw(&state, form->b));
        }
        for (int i = 0; i < c_elements; i++) {
            place_t at = c_place(form, form->c, lane, i);
            put(in[lane], c_first, i, form->c, matrices.c[at.quad][at.row][at.column] = draw_sum(form, &state));
        }
    }
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < c_elements; i++)
            put(expected[lane], 0, i, form->d, sum_of(form, &matrices, c_place(form, form->d, lane, i)));
}
