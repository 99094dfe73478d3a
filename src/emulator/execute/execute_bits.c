/* SPDX-License-Identifier: Apache-2.0 */
/* execute_bits.c - logic, shifts, bit fields, moves, selection and operations on predicates. */
#include "emulator/execute/execute.h"

/* ---- Logic and shifts ---------------------------------------------------------------------------------------------- */

#define LOGIC(bits, U)                                                                      \
    BINARY(and_b##bits, U, U, U, x &y)                                                      \
    BINARY(or_b##bits, U, U, U, x | y)                                                      \
    BINARY(xor_b##bits, U, U, U, x ^ y)                                                     \
    UNARY(not_b##bits, U, U, ~x)                                                            \
    UNARY(cnot_b##bits, U, U, x == 0)                                                       \
    UNARY(mov_b##bits, U, U, x)                                                             \
    BINARY(shl_b##bits, U, U, uint32_t, y >= bits ? 0 : (uint64_t)x << y)                   \
    BINARY(shr_b##bits, U, U, uint32_t, y >= bits ? 0 : x >> y)                             \
    BINARY(shr_u##bits, U, U, uint32_t, y >= bits ? 0 : x >> y)                             \
    EXECUTOR(selp_b##bits)                                                                  \
    {                                                                                       \
        U *d = OPERAND(0);                                                                  \
        const U *a = OPERAND(1), *b = OPERAND(2);                                           \
        uint32_t p = rungi_ptx_predicate(warp, instruction->operand[3]);                    \
        p ^= instruction->flags & PTX_FLAG_NEGATE_A ? ~0u : 0u;                             \
        FOR_LANES(d[lane] = p >> lane & 1 ? a[lane] : b[lane])                              \
    }                                                                                       \
    TERNARY(slct_b##bits##_s32, U, U, U, int32_t, z >= 0 ? x : y)                           \
    EXECUTOR(slct_b##bits##_f32)                                                            \
    {                                                                                       \
        U *d = OPERAND(0);                                                                  \
        const U *a = OPERAND(1), *b = OPERAND(2);                                           \
        const float *c = OPERAND(3);                                                        \
        bool flushes = instruction->flags & PTX_FLAG_FTZ;                                   \
        FOR_LANES(float z = c[lane]; bool is_first = z >= 0 || (flushes && z > -0x1p-126f); \
                  d[lane] = is_first ? a[lane] : b[lane])                                   \
    }
LOGIC(16, uint16_t)
LOGIC(32, uint32_t)
LOGIC(64, uint64_t)
BINARY(shr_s16, int16_t, int16_t, uint32_t, x >> (y > 15 ? 15 : y))
BINARY(shr_s32, int32_t, int32_t, uint32_t, x >> (y > 31 ? 31 : y))
BINARY(shr_s64, int64_t, int64_t, uint32_t, x >> (y > 63 ? 63 : y))

typedef struct bits128 {
    uint64_t low, high;
} bits128_t;
EXECUTOR(mov_b128)
{
    bits128_t *d = OPERAND(0);
    const bits128_t *a = OPERAND(1);
    FOR_LANES(d[lane] = a[lane])
}

static inline uint64_t join(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* Operands of shf: x is the low word, y the high word. */
TERNARY(shf_l_wrap, uint32_t, uint32_t, uint32_t, uint32_t, (join(y, x) << (z & 31)) >> 32)
TERNARY(shf_r_wrap, uint32_t, uint32_t, uint32_t, uint32_t, join(y, x) >> (z & 31))
TERNARY(shf_l_clamp, uint32_t, uint32_t, uint32_t, uint32_t, z >= 32 ? x : (join(y, x) << z) >> 32)
TERNARY(shf_r_clamp, uint32_t, uint32_t, uint32_t, uint32_t, z >= 32 ? y : join(y, x) >> z)

/* Bit i of the table is the result for the inputs a, b, c that are the bits of i. */
static inline uint32_t lookup3(uint32_t a, uint32_t b, uint32_t c, uint32_t table)
{
    uint32_t result = 0;
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t matches = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        result |= table >> i & 1 ? matches : 0;
    }
    return result;
}

EXECUTOR(lop3_b32)
{
    uint32_t *d = OPERAND(0);
    const uint32_t *a = OPERAND(1), *b = OPERAND(2), *c = OPERAND(3);
    uint32_t table = *(const uint32_t *)OPERAND(4);
    if (table == 0xc0) {
        FOR_LANES(d[lane] = a[lane] & b[lane])
    } else if (table == 0x96) {
        FOR_LANES(d[lane] = a[lane] ^ b[lane] ^ c[lane])
    } else {
        FOR_LANES(d[lane] = lookup3(a[lane], b[lane], c[lane], table))
    }
}

/* Also tells whether a bit of the result is set, combined with a predicate. */
EXECUTOR(lop3_pred_b32)
{
    uint32_t *d = OPERAND(0), is_set = 0;
    const uint32_t *a = OPERAND(1), *b = OPERAND(2), *c = OPERAND(3);
    uint32_t table = *(const uint32_t *)OPERAND(4), q = rungi_ptx_predicate(warp, instruction->operand[5]);
    q ^= instruction->flags & PTX_FLAG_NEGATE_A ? ~0u : 0u;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1) {
            uint32_t result = lookup3(a[lane], b[lane], c[lane], table);
            d[lane] = result;
            is_set |= (uint32_t)(result != 0) << lane;
        }
    rungi_ptx_set_predicate(warp, instruction->operand[PTX_OPERANDS_MAX - 1],
                            instruction->combine == 1 ? is_set & q : is_set | q, mask);
}

/* ---- Bit fields ---------------------------------------------------------------------------------------------------- */

static inline uint64_t reverse(uint64_t value, int bits)
{
    uint64_t result = 0;
    for (int i = 0; i < bits; i++)
        result |= (value >> i & 1) << (bits - 1 - i);
    return result;
}

/* Position of the most significant 1; of a negative signed value, of the most significant 0. Returns -1 if the value has no such bit. */
static inline uint32_t find_leading(uint64_t value, bool is_negative, int bits)
{
    if (is_negative)
        value = ~value;
    if (bits == 32)
        value &= 0xffffffff;
    return value ? 63 - (uint32_t)__builtin_clzll(value) : ~0u;
}

static inline uint32_t shift_amount(uint32_t position, int bits)
{
    return position == ~0u ? ~0u : (uint32_t)bits - 1 - position;
}

#define BIT_COUNTS(type, T, bits, is_negative)                                     \
    UNARY(bfind_##type, uint32_t, T, find_leading((uint64_t)x, is_negative, bits)) \
    UNARY(bfind_shiftamt_##type, uint32_t, T, shift_amount(find_leading((uint64_t)x, is_negative, bits), bits))
BIT_COUNTS(u32, uint32_t, 32, false)
BIT_COUNTS(s32, int32_t, 32, x < 0)
BIT_COUNTS(u64, uint64_t, 64, false)
BIT_COUNTS(s64, int64_t, 64, x < 0)
UNARY(popc_b32, uint32_t, uint32_t, __builtin_popcount(x))
UNARY(popc_b64, uint32_t, uint64_t, __builtin_popcountll(x))
UNARY(clz_b32, uint32_t, uint32_t, x ? __builtin_clz(x) : 32)
UNARY(clz_b64, uint32_t, uint64_t, x ? __builtin_clzll(x) : 64)
UNARY(brev_b32, uint32_t, uint32_t, reverse(x, 32))
UNARY(brev_b64, uint64_t, uint64_t, reverse(x, 64))

/* Extracts `length` bits from `start` on. Bits beyond the value are its sign, or 0. */
static inline uint64_t extract(uint64_t value, uint32_t start, uint32_t length, uint32_t bits, bool is_signed)
{
    start &= 0xff;
    length &= 0xff;
    if (length == 0)
        return 0;
    uint32_t sign_position = start + length - 1 < bits - 1 ? start + length - 1 : bits - 1;
    uint64_t sign = is_signed ? value >> sign_position & 1 : 0;
    uint32_t available = start >= bits ? 0 : bits - start;
    uint32_t taken = length < available ? length : available;
    uint64_t taken_mask = taken >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << taken) - 1;
    uint64_t result = start >= bits ? 0 : value >> start & taken_mask;
    return sign ? result | ~taken_mask : result;
}

static inline uint64_t insert(uint64_t field, uint64_t value, uint32_t start, uint32_t length, uint32_t bits)
{
    start &= 0xff;
    length &= 0xff;
    if (start >= bits)
        return value;
    uint64_t field_mask = (length >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << length) - 1) << start;
    return (value & ~field_mask) | (field << start & field_mask);
}

TERNARY(bfe_u32, uint32_t, uint32_t, uint32_t, uint32_t, extract(x, y, z, 32, false))
TERNARY(bfe_s32, uint32_t, uint32_t, uint32_t, uint32_t, extract(x, y, z, 32, true))
TERNARY(bfe_u64, uint64_t, uint64_t, uint32_t, uint32_t, extract(x, y, z, 64, false))
TERNARY(bfe_s64, uint64_t, uint64_t, uint32_t, uint32_t, extract(x, y, z, 64, true))

#define BFI(bits, U)                                                             \
    EXECUTOR(bfi_b##bits)                                                        \
    {                                                                            \
        U *d = OPERAND(0);                                                       \
        const U *a = OPERAND(1), *b = OPERAND(2);                                \
        const uint32_t *c = OPERAND(3), *e = OPERAND(4);                         \
        FOR_LANES(d[lane] = (U)insert(a[lane], b[lane], c[lane], e[lane], bits)) \
    }
BFI(32, uint32_t)
BFI(64, uint64_t)

/* Finds the n-th set bit of x from bit y on, upwards or downwards. */
static inline uint32_t find_nth(uint32_t x, uint32_t y, int32_t n)
{
    int64_t position = y, left = n < 0 ? -(int64_t)n : n, step = n < 0 ? -1 : 1;
    if (n == 0)
        return y < 32 && (x >> y & 1) ? y : ~0u;
    for (; position >= 0 && position < 32; position += step)
        if ((x >> position & 1) && --left == 0)
            return (uint32_t)position;
    return ~0u;
}
TERNARY(fns_b32, uint32_t, uint32_t, uint32_t, int32_t, find_nth(x, y, z))

static inline uint32_t bit_mask(uint32_t start, uint32_t width, bool clamps)
{
    uint32_t first = start & 31, end = first + (width & 31);
    uint32_t from_start = clamps && start >= 32 ? 0 : ~0u << first;
    bool reaches_end = end >= 32 || (clamps && (start >= 32 || width >= 32));
    return from_start & ~(reaches_end ? 0 : ~0u << end);
}
BINARY(bmsk_clamp, uint32_t, uint32_t, uint32_t, bit_mask(x, y, true))
BINARY(bmsk_wrap, uint32_t, uint32_t, uint32_t, bit_mask(x, y, false))

static inline uint32_t extend(uint32_t value, uint32_t width, bool clamps, bool is_signed)
{
    uint32_t bits = width & 31;
    bool is_too_large = clamps && width >= 32;
    uint32_t upper = is_too_large ? 0 : ~0u << bits;
    bool sign = is_signed && bits != 0 && !is_too_large && (value >> (bits - 1) & 1);
    return (value & ~upper) | (sign ? upper : 0);
}
BINARY(szext_clamp_u32, uint32_t, uint32_t, uint32_t, extend(x, y, true, false))
BINARY(szext_wrap_u32, uint32_t, uint32_t, uint32_t, extend(x, y, false, false))
BINARY(szext_clamp_s32, uint32_t, uint32_t, uint32_t, extend(x, y, true, true))
BINARY(szext_wrap_s32, uint32_t, uint32_t, uint32_t, extend(x, y, false, true))

/* ---- Byte permutation ---------------------------------------------------------------------------------------------- */

static inline uint32_t permute(uint32_t low, uint32_t high, uint32_t selector)
{
    uint64_t bytes = join(high, low);
    uint32_t result = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t choice = selector >> 4 * i & 15, byte = bytes >> 8 * (choice & 7) & 0xff;
        if (choice & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}

/* Selectors of the modes, for the values 0 to 3 of the two lowest bits of c. */
static inline uint32_t permute_by(uint32_t low, uint32_t high, uint32_t choice, const uint16_t selectors[4])
{
    return permute(low, high, selectors[choice & 3]);
}

static const uint16_t select_f4e[] = {0x3210, 0x4321, 0x5432, 0x6543}, select_b4e[] = {0x5670, 0x6701, 0x7012, 0x0123},
                      select_rc8[] = {0x0000, 0x1111, 0x2222, 0x3333}, select_ecl[] = {0x3210, 0x3211, 0x3222, 0x3333},
                      select_ecr[] = {0x0000, 0x1110, 0x2210, 0x3210}, select_rc16[] = {0x1010, 0x3232, 0x1010, 0x3232};
TERNARY(prmt, uint32_t, uint32_t, uint32_t, uint32_t, permute(x, y, z))
TERNARY(prmt_f4e, uint32_t, uint32_t, uint32_t, uint32_t, permute_by(x, y, z, select_f4e))
TERNARY(prmt_b4e, uint32_t, uint32_t, uint32_t, uint32_t, permute_by(x, y, z, select_b4e))
TERNARY(prmt_rc8, uint32_t, uint32_t, uint32_t, uint32_t, permute_by(x, y, z, select_rc8))
TERNARY(prmt_ecl, uint32_t, uint32_t, uint32_t, uint32_t, permute_by(x, y, z, select_ecl))
TERNARY(prmt_ecr, uint32_t, uint32_t, uint32_t, uint32_t, permute_by(x, y, z, select_ecr))
TERNARY(prmt_rc16, uint32_t, uint32_t, uint32_t, uint32_t, permute_by(x, y, z, select_rc16))

/* ---- Moves --------------------------------------------------------------------------------------------------------- */

EXECUTOR(mov_local_b32)
{
    uint32_t *d = OPERAND(0);
    uint32_t address = (uint32_t)(instruction->offset + warp->frame->local_base);
    FOR_LANES(d[lane] = address)
}

EXECUTOR(mov_local_b64)
{
    uint64_t *d = OPERAND(0);
    uint64_t address = (uint64_t)(instruction->offset + warp->frame->local_base);
    FOR_LANES(d[lane] = address)
}

/* A special register into a destination of another size. */
EXECUTOR(mov_special)
{
    unsigned char *d = OPERAND(0), *a = OPERAND(1);
    size_t from = instruction->element_bytes, to = (size_t)rungi_ptx_register_bytes((ptx_type_t)instruction->type);
    for (size_t lane = 0; lane < PTX_WARP_LANES; lane++) {
        uint64_t value = 0;
        memcpy(&value, a + lane * from, from);
        if (mask >> lane & 1)
            memcpy(d + lane * to, &value, to);
    }
}

/* {a, b} into one register, and back. */
EXECUTOR(mov_pack)
{
    unsigned char *d = OPERAND(0);
    size_t part = instruction->element_bytes, width = instruction->register_bytes;
    size_t whole = part * instruction->vector_length;
    unsigned char packed[PTX_WARP_LANES * 16];
    for (size_t i = 0; i < instruction->vector_length; i++) {
        const unsigned char *a = rungi_ptx_lanes(warp, instruction->list[i]);
        for (size_t lane = 0; lane < PTX_WARP_LANES; lane++)
            memcpy(packed + lane * whole + i * part, a + lane * width, part);
    }
    for (size_t lane = 0; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            memcpy(d + lane * whole, packed + lane * whole, whole);
}

EXECUTOR(mov_unpack)
{
    size_t part = instruction->element_bytes, width = instruction->register_bytes;
    size_t whole = part * instruction->vector_length;
    unsigned char packed[PTX_WARP_LANES * 16];
    memcpy(packed, OPERAND(0), PTX_WARP_LANES * whole);
    for (size_t i = 0; i < instruction->vector_length; i++) {
        unsigned char *d = rungi_ptx_lanes(warp, instruction->list[i]);
        for (size_t lane = 0; lane < PTX_WARP_LANES; lane++) {
            uint64_t value = 0;
            memcpy(&value, packed + lane * whole + i * part, part);
            if (mask >> lane & 1)
                memcpy(d + lane * width, &value, width);
        }
    }
}

EXECUTOR(isspacep)
{
    const uint64_t *a = OPERAND(1);
    uint32_t result = 0;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        uint64_t address = a[lane];
        ptx_space_t space = rungi_ptx_resolve_space(PTX_SPACE_GENERIC, &address);
        bool is_shared = space == PTX_SPACE_SHARED_CLUSTER && instruction->space == PTX_SPACE_SHARED;
        result |= (uint32_t)(space == (ptx_space_t)instruction->space || is_shared) << lane;
    }
    rungi_ptx_set_predicate(warp, instruction->operand[0], result, mask);
}

EXECUTOR(nop)
{
    (void)warp;
    (void)instruction;
    (void)mask;
}

/* ---- Predicates ---------------------------------------------------------------------------------------------------- */

static inline uint32_t source(const ptx_warp_t *warp, const ptx_instruction_t *instruction, int index, uint32_t flag)
{
    return rungi_ptx_predicate(warp, instruction->operand[index]) ^ (instruction->flags & flag ? ~0u : 0u);
}

#define PREDICATE(name, expression)                                               \
    EXECUTOR(name)                                                                \
    {                                                                             \
        uint32_t x = source(warp, instruction, 1, PTX_FLAG_NEGATE_A);             \
        rungi_ptx_set_predicate(warp, instruction->operand[0], expression, mask); \
    }
#define PREDICATES(name, expression)                                              \
    EXECUTOR(name)                                                                \
    {                                                                             \
        uint32_t x = source(warp, instruction, 1, PTX_FLAG_NEGATE_A);             \
        uint32_t y = source(warp, instruction, 2, PTX_FLAG_NEGATE_B);             \
        rungi_ptx_set_predicate(warp, instruction->operand[0], expression, mask); \
    }
PREDICATE(mov_pred, x)
PREDICATE(not_pred, ~x)
PREDICATES(and_pred, x &y)
PREDICATES(or_pred, x | y)
PREDICATES(xor_pred, x ^ y)

#define E_LOGIC(bits)                                                                                               \
    E(and_b##bits), E(or_b##bits), E(xor_b##bits), E(not_b##bits), E(cnot_b##bits), E(mov_b##bits), E(shl_b##bits), \
        E(shr_b##bits), E(shr_u##bits), E(shr_s##bits), E(selp_b##bits), E(slct_b##bits##_s32), E(slct_b##bits##_f32)
PTX_EXECUTORS(bits) = {E_LOGIC(16),
                       E_LOGIC(32),
                       E_LOGIC(64),
                       E(mov_b128),
                       E(shf_l_wrap),
                       E(shf_r_wrap),
                       E(shf_l_clamp),
                       E(shf_r_clamp),
                       E(lop3_b32),
                       E(lop3_pred_b32),
                       E(bfind_u32),
                       E(bfind_s32),
                       E(bfind_u64),
                       E(bfind_s64),
                       E(bfind_shiftamt_u32),
                       E(bfind_shiftamt_s32),
                       E(bfind_shiftamt_u64),
                       E(bfind_shiftamt_s64),
                       E(popc_b32),
                       E(popc_b64),
                       E(clz_b32),
                       E(clz_b64),
                       E(brev_b32),
                       E(brev_b64),
                       E(bfe_u32),
                       E(bfe_s32),
                       E(bfe_u64),
                       E(bfe_s64),
                       E(bfi_b32),
                       E(bfi_b64),
                       E(fns_b32),
                       E(bmsk_clamp),
                       E(bmsk_wrap),
                       E(szext_clamp_u32),
                       E(szext_wrap_u32),
                       E(szext_clamp_s32),
                       E(szext_wrap_s32),
                       E(prmt),
                       E(prmt_f4e),
                       E(prmt_b4e),
                       E(prmt_rc8),
                       E(prmt_ecl),
                       E(prmt_ecr),
                       E(prmt_rc16),
                       E(mov_local_b32),
                       E(mov_local_b64),
                       E(mov_special),
                       E(mov_pack),
                       E(mov_unpack),
                       E(isspacep),
                       E(nop),
                       E(mov_pred),
                       E(not_pred),
                       E(and_pred),
                       E(or_pred),
                       E(xor_pred),
                       {NULL, NULL}};
