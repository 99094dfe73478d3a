/* SPDX-License-Identifier: Apache-2.0 */
/* execute_warp.c - instructions in which lanes exchange values. The scheduler calls them once all members are here. */
#include "emulator/execute/execute.h"
#include "emulator/ptx/warp_operations.h"

/* Returns the lane that `lane` reads from. `is_inside` tells whether it is in the segment; otherwise a lane reads itself. */
static int source_lane(int mode, int lane, uint32_t b, uint32_t c, bool *is_inside)
{
    int value = (int)(b & 31), clamp = (int)(c & 31), segment = (int)(c >> 8 & 31);
    int max = (lane & segment) | (clamp & ~segment), source;
    switch (mode) {
    case PTX_SHUFFLE_UP:
        source = lane - value;
        *is_inside = source >= max;
        break;
    case PTX_SHUFFLE_DOWN:
        source = lane + value;
        *is_inside = source <= max;
        break;
    case PTX_SHUFFLE_BUTTERFLY:
        source = lane ^ value;
        *is_inside = source <= max;
        break;
    default:
        source = (lane & segment) | (value & ~segment);
        *is_inside = source <= max;
        break;
    }
    return *is_inside ? source & 31 : lane;
}

EXECUTOR(shuffle)
{
    uint32_t *d = OPERAND(0), result[PTX_WARP_LANES], inside = 0;
    const uint32_t *a = OPERAND(1), *b = OPERAND(2), *c = OPERAND(3);
    for (int lane = 0; lane < PTX_WARP_LANES; lane++) {
        bool is_inside;
        if (!(mask >> lane & 1))
            continue;
        int from = source_lane(instruction->operation, lane, b[lane], c[lane], &is_inside);
        result[lane] = a[from];
        inside |= (uint32_t)is_inside << lane;
        if (!(mask >> from & 1) && (warp->block->launch->checks & RUNG_EMULATOR_CHECK_BARRIERS))
            rungi_ptx_report(warp, RUNG_EMULATOR_WARP_SYNC, lane, 0, 0,
                             "the shuffle reads lane %d, which does not execute it: the value is undefined", from);
    }
    FOR_LANES(d[lane] = result[lane])
    if (instruction->operand[5])
        rungi_ptx_set_predicate(warp, instruction->operand[5], inside, mask);
}

EXECUTOR(vote)
{
    uint32_t p = rungi_ptx_predicate(warp, instruction->operand[1]);
    p = (p ^ (instruction->flags & PTX_FLAG_NEGATE_A ? ~0u : 0u)) & mask;
    if (instruction->operation == PTX_VOTE_BALLOT) {
        uint32_t *d = OPERAND(0);
        FOR_LANES(d[lane] = p)
        return;
    }
    bool result = instruction->operation == PTX_VOTE_ALL   ? p == mask
                  : instruction->operation == PTX_VOTE_ANY ? p != 0
                                                           : p == mask || p == 0;
    rungi_ptx_set_predicate(warp, instruction->operand[0], result ? ~0u : 0u, mask);
}

#define MATCH(bits, U)                                                                       \
    EXECUTOR(match_b##bits)                                                                  \
    {                                                                                        \
        uint32_t *d = OPERAND(0), result[PTX_WARP_LANES];                                    \
        const U *a = OPERAND(1);                                                             \
        bool is_all = true;                                                                  \
        for (int lane = 0; lane < PTX_WARP_LANES; lane++) {                                  \
            result[lane] = 0;                                                                \
            for (int other = 0; other < PTX_WARP_LANES; other++)                             \
                result[lane] |= (uint32_t)(a[lane] == a[other]) << other;                    \
            result[lane] &= mask;                                                            \
            is_all = is_all && (!(mask >> lane & 1) || result[lane] == mask);                \
        }                                                                                    \
        FOR_LANES(d[lane] = instruction->operation ? (is_all ? mask : 0) : result[lane])     \
        if (instruction->operand[5])                                                         \
            rungi_ptx_set_predicate(warp, instruction->operand[5], is_all ? ~0u : 0u, mask); \
    }
MATCH(32, uint32_t)
MATCH(64, uint64_t)

static uint32_t reduce(uint32_t x, uint32_t y, int operation, bool is_signed)
{
    bool is_less = is_signed ? (int32_t)x < (int32_t)y : x < y;
    switch (operation) {
    case PTX_REDUCE_ADD: return x + y;
    case PTX_REDUCE_MIN: return is_less ? x : y;
    case PTX_REDUCE_MAX: return is_less ? y : x;
    case PTX_REDUCE_AND: return x & y;
    case PTX_REDUCE_OR: return x | y;
    default: return x ^ y;
    }
}

EXECUTOR(redux)
{
    uint32_t *d = OPERAND(0);
    const uint32_t *a = OPERAND(1);
    uint32_t result = a[__builtin_ctz(mask)];
    for (int lane = __builtin_ctz(mask) + 1; lane < PTX_WARP_LANES; lane++)
        if (mask >> lane & 1)
            result = reduce(result, a[lane], instruction->operation, instruction->type == PTX_S32);
    FOR_LANES(d[lane] = result)
}

/* The lowest member is the leader. */
EXECUTOR(elect)
{
    uint32_t *d = OPERAND(0), leader = (uint32_t)__builtin_ctz(mask);
    FOR_LANES(d[lane] = leader)
    if (instruction->operand[5])
        rungi_ptx_set_predicate(warp, instruction->operand[5], 1u << leader, mask);
}

EXECUTOR(activemask)
{
    uint32_t *d = OPERAND(0), active = warp->active;
    FOR_LANES(d[lane] = active)
}

PTX_EXECUTORS(warp) = {E(shuffle), E(vote),  E(match_b32),  E(match_b64),
                       E(redux),   E(elect), E(activemask), {NULL, NULL}};
