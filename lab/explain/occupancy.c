/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.c - computes occupancy by the rules of NVIDIA's cuda_occupancy.h. A test compares the results with that
 * header where it is installed. See occupancy.h. */
#include "explain/occupancy.h"

#include <stdio.h>
#include <string.h>

#include "base/checked_arithmetic.h"
#include "common/enum_names.h"

enum { WARP = 32 };

static const lab_sm_limits all_limits[] = {
#define LIMITS(number, warps_, blocks_, partitions_, shared_, shared_block_, granularity_, reserved_) \
    {.architecture = "sm_" #number,                                                                   \
     .warps = warps_,                                                                                 \
     .blocks = blocks_,                                                                               \
     .threads_block = 1024,                                                                           \
     .registers = 65536,                                                                              \
     .registers_block = 65536,                                                                        \
     .registers_thread = 255,                                                                         \
     .register_granularity = 256,                                                                     \
     .partitions = partitions_,                                                                       \
     .shared = shared_ * 1024,                                                                        \
     .shared_block = shared_block_ * 1024,                                                            \
     .shared_granularity = granularity_,                                                              \
     .shared_reserved = reserved_},
#include "explain/sm_limits.def"
#undef LIMITS
};

const lab_sm_limits *lab_sm_limits_of(const char *architecture)
{
    for (size_t i = 0; i < sizeof all_limits / sizeof *all_limits; i++)
        if (strcmp(all_limits[i].architecture, architecture) == 0)
            return &all_limits[i];
    return NULL;
}

/* Returns how many blocks fit the registers. The launch check rounds the warps of a block up to a multiple of the
 * partitions; a running partition holds whole warps. */
static int64_t blocks_in_partitions(const lab_sm_limits *limits, int64_t partitions, int64_t warps, int64_t registers)
{
    int64_t warp_registers = rungi_round_up(registers * WARP, limits->register_granularity);
    if (registers > limits->registers_thread ||
        warp_registers * rungi_round_up(warps, partitions) > limits->registers_block)
        return 0;
    return limits->registers / partitions / warp_registers * partitions / warps;
}

/* CUDA checks launches on sm_60, which has two partitions, as on the rest of its family, which has four. */
static int64_t blocks_by_registers(const lab_sm_limits *limits, int64_t warps, int64_t registers)
{
    enum { USUAL_PARTITIONS = 4 };
    bool fits = blocks_in_partitions(limits, USUAL_PARTITIONS, warps, registers) > 0;
    return fits ? blocks_in_partitions(limits, limits->partitions, warps, registers) : 0;
}

static int64_t blocks_by_shared(const lab_sm_limits *limits, int64_t bytes)
{
    int64_t taken = rungi_round_up(bytes + limits->shared_reserved, limits->shared_granularity);
    if (bytes > limits->shared_block)
        return 0;
    return taken > 0 ? limits->shared / taken : INT64_MAX;
}

LAB_DEFINE_STATIC_ENUM_TEXT(limiter_title, lab_occupancy_limiter, LAB_OCCUPANCY_LIMITER_LIST, LAB_ENUM_WORD)

static void name_limiters(lab_occupancy *occupancy)
{
    size_t used = 0;
    for (int i = 0; i < LAB_OCCUPANCY_LIMITER_COUNT; i++) {
        occupancy->is_limiting[i] = occupancy->blocks_allowed[i] == occupancy->blocks;
        if (occupancy->is_limiting[i] && used < sizeof occupancy->bound_by)
            used += (size_t)snprintf(occupancy->bound_by + used, sizeof occupancy->bound_by - used, "%s%s",
                                     used ? ", " : "", limiter_title((lab_occupancy_limiter)i));
    }
}

/* Computes how many more registers and bytes keep the number of blocks. */
static void find_spare_resources(const lab_sm_limits *limits, int64_t warps, int64_t registers, int64_t bytes,
                                 lab_occupancy *occupancy)
{
    if (occupancy->blocks == 0)
        return;
    while (blocks_by_registers(limits, warps, registers + occupancy->spare_registers + 1) >= occupancy->blocks)
        occupancy->spare_registers++;
    int64_t share = limits->shared / occupancy->blocks / limits->shared_granularity * limits->shared_granularity;
    occupancy->spare_shared_bytes = rungi_min(share - limits->shared_reserved, limits->shared_block) - bytes;
}

lab_occupancy lab_occupancy_of(const lab_sm_limits *limits, int64_t threads, int64_t registers, int64_t shared_bytes)
{
    lab_occupancy occupancy = {.warps_max = limits->warps};
    if (threads < 1 || registers < 1 || shared_bytes < 0)
        return occupancy;
    threads = rungi_min(threads, limits->threads_block + 1); /* avoids overflow; one above the limit is enough */
    registers = rungi_min(registers, limits->registers_thread + 1);
    shared_bytes = rungi_min(shared_bytes, limits->shared_block + 1);
    int64_t warps = rungi_ceil_divide(threads, WARP);
    occupancy.blocks_allowed[LAB_LIMITED_BY_REGISTERS] = blocks_by_registers(limits, warps, registers);
    occupancy.blocks_allowed[LAB_LIMITED_BY_SHARED] = blocks_by_shared(limits, shared_bytes);
    occupancy.blocks_allowed[LAB_LIMITED_BY_BLOCKS] = limits->blocks;
    occupancy.blocks_allowed[LAB_LIMITED_BY_WARPS] = threads > limits->threads_block ? 0 : limits->warps / warps;
    occupancy.blocks = INT64_MAX;
    for (int i = 0; i < LAB_OCCUPANCY_LIMITER_COUNT; i++)
        occupancy.blocks = rungi_min(occupancy.blocks, occupancy.blocks_allowed[i]);
    occupancy.warps = occupancy.blocks * warps;
    occupancy.fraction = (double)occupancy.warps / (double)limits->warps;
    name_limiters(&occupancy);
    find_spare_resources(limits, warps, registers, shared_bytes, &occupancy);
    return occupancy;
}

lab_waves lab_waves_of(const lab_occupancy *occupancy, int64_t sm_count, int64_t blocks_total)
{
    lab_waves waves = {.blocks = 0};
    if (sm_count < 1 || occupancy->blocks < 1 || blocks_total < 0 || occupancy->blocks > INT64_MAX / sm_count)
        return waves;
    waves.blocks = sm_count * occupancy->blocks;
    waves.full = blocks_total / waves.blocks;
    int64_t rest = blocks_total % waves.blocks;
    waves.tail = (double)rest / (double)waves.blocks;
    if (blocks_total > 0)
        waves.efficiency = ((double)waves.full + waves.tail) / (double)(waves.full + (rest > 0));
    return waves;
}
