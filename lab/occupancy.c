/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.c - see occupancy.h. The rules are those of NVIDIA's cuda_occupancy.h, which a test
 * holds them against where it is installed. */
#include "occupancy.h"

#include <stdio.h>
#include <string.h>

enum { WARP = 32 };

static const lab_limits all_limits[] = {
#define LIMITS(number, warps_, blocks_, parts_, shared_, shared_block_, shared_step_, shared_system_) \
    {.architecture = "sm_" #number,                                                                   \
     .warps = warps_,                                                                                 \
     .blocks = blocks_,                                                                               \
     .threads_block = 1024,                                                                           \
     .registers = 65536,                                                                              \
     .registers_block = 65536,                                                                        \
     .registers_thread = 255,                                                                         \
     .register_step = 256,                                                                            \
     .parts = parts_,                                                                                 \
     .shared = shared_ * 1024,                                                                        \
     .shared_block = shared_block_ * 1024,                                                            \
     .shared_step = shared_step_,                                                                     \
     .shared_system = shared_system_},
#include "limits.def"
#undef LIMITS
};

const lab_limits *lab_limits_of(const char *architecture)
{
    for (size_t i = 0; i < sizeof all_limits / sizeof *all_limits; i++)
        if (strcmp(all_limits[i].architecture, architecture) == 0)
            return &all_limits[i];
    return NULL;
}

static int64_t divide_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit;
}

static int64_t round_up(int64_t value, int64_t unit)
{
    return divide_up(value, unit) * unit;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A launch is refused by what its block's warps would take if they came by whole rounds of the
 * parts; once it runs, each part holds whole warps. */
static int64_t blocks_in_parts(const lab_limits *limits, int64_t parts, int64_t warps, int64_t registers)
{
    int64_t a_warp = round_up(registers * WARP, limits->register_step);
    if (registers > limits->registers_thread || a_warp * round_up(warps, parts) > limits->registers_block)
        return 0;
    return limits->registers / parts / a_warp * parts / warps;
}

/* What does not fit the four parts of its family's other members is not launched on sm_60, with
 * its two, either. */
static int64_t blocks_by_registers(const lab_limits *limits, int64_t warps, int64_t registers)
{
    enum { USUAL_PARTS = 4 };
    bool fits = blocks_in_parts(limits, USUAL_PARTS, warps, registers) > 0;
    return fits ? blocks_in_parts(limits, limits->parts, warps, registers) : 0;
}

static int64_t blocks_by_shared(const lab_limits *limits, int64_t bytes)
{
    int64_t taken = round_up(bytes + limits->shared_system, limits->shared_step);
    if (bytes > limits->shared_block)
        return 0;
    return taken > 0 ? limits->shared / taken : INT64_MAX;
}

static void name_bounds(lab_occupancy *occupancy)
{
    static const char *const words[] = {
#define X(name, words) words,
        LAB_BOUND_LIST(X)
#undef X
    };
    size_t used = 0;
    for (int i = 0; i < LAB_BOUND_COUNT; i++) {
        occupancy->binds[i] = occupancy->allows[i] == occupancy->blocks;
        if (occupancy->binds[i] && used < sizeof occupancy->bound_by)
            used += (size_t)snprintf(occupancy->bound_by + used, sizeof occupancy->bound_by - used, "%s%s",
                                     used ? ", " : "", words[i]);
    }
}

/* How far the next cliff is. */
static void measure_spare(const lab_limits *limits, int64_t warps, int64_t registers, int64_t bytes,
                          lab_occupancy *occupancy)
{
    if (occupancy->blocks == 0)
        return;
    while (blocks_by_registers(limits, warps, registers + occupancy->registers_to_spare + 1) >= occupancy->blocks)
        occupancy->registers_to_spare++;
    int64_t share = limits->shared / occupancy->blocks / limits->shared_step * limits->shared_step;
    occupancy->shared_to_spare = smaller(share - limits->shared_system, limits->shared_block) - bytes;
}

lab_occupancy lab_occupancy_of(const lab_limits *limits, int64_t threads, int64_t registers, int64_t shared_bytes)
{
    lab_occupancy occupancy = {.warps_max = limits->warps};
    if (threads < 1 || registers < 1 || shared_bytes < 0)
        return occupancy;
    threads = smaller(threads, limits->threads_block + 1); /* beyond the limit is beyond it */
    registers = smaller(registers, limits->registers_thread + 1);
    shared_bytes = smaller(shared_bytes, limits->shared_block + 1);
    int64_t warps = divide_up(threads, WARP);
    occupancy.allows[LAB_BY_REGISTERS] = blocks_by_registers(limits, warps, registers);
    occupancy.allows[LAB_BY_SHARED] = blocks_by_shared(limits, shared_bytes);
    occupancy.allows[LAB_BY_BLOCKS] = limits->blocks;
    occupancy.allows[LAB_BY_WARPS] = threads > limits->threads_block ? 0 : limits->warps / warps;
    occupancy.blocks = INT64_MAX;
    for (int i = 0; i < LAB_BOUND_COUNT; i++)
        occupancy.blocks = smaller(occupancy.blocks, occupancy.allows[i]);
    occupancy.warps = occupancy.blocks * warps;
    occupancy.fraction = (double)occupancy.warps / (double)limits->warps;
    name_bounds(&occupancy);
    measure_spare(limits, warps, registers, shared_bytes, &occupancy);
    return occupancy;
}

lab_waves lab_waves_of(const lab_occupancy *occupancy, int64_t units, int64_t blocks_total)
{
    lab_waves waves = {.blocks = 0};
    if (units < 1 || occupancy->blocks < 1 || blocks_total < 0 || occupancy->blocks > INT64_MAX / units)
        return waves;
    waves.blocks = units * occupancy->blocks;
    waves.full = blocks_total / waves.blocks;
    int64_t rest = blocks_total % waves.blocks;
    waves.tail = (double)rest / (double)waves.blocks;
    if (blocks_total > 0)
        waves.efficiency = ((double)waves.full + waves.tail) / (double)(waves.full + (rest > 0));
    return waves;
}
