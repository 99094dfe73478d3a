/* SPDX-License-Identifier: Apache-2.0 */
/* occupancy.c - occupancy against cases worked out by hand from NVIDIA's rules, and against NVIDIA's own
 * cuda_occupancy.h where that is installed. */
#include "explain/occupancy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef HAS_CUDA_OCCUPANCY
#include <cuda_occupancy.h>
#endif

static lab_occupancy of(const char *architecture, int64_t threads, int64_t registers, int64_t shared)
{
    const lab_sm_limits *limits = lab_sm_limits_of(architecture);
    assert_non_null(limits);
    return lab_occupancy_of(limits, threads, registers, shared);
}

static const struct {
    const char *architecture;
    int64_t threads, registers, shared, blocks, warps;
    const char *bound_by;
} cases[] = {
    /* 32 warps of 48 that there are: a second block does not fit. 66.7 %. */
    {"sm_86", 1024, 32, 0, 1, 32, "warps"},
    /* 128 x 32 registers a warp are 4,096; a quarter's 16,384 hold four: 16 warps, two blocks of 8. */
    {"sm_86", 256, 128, 0, 2, 16, "registers"},
    /* 49 x 32 are 1,568, rounded to 1,792 by 256: nine a quarter, 36 warps, four blocks of 8. Without
     * rounding it would be ten, and five blocks. */
    {"sm_86", 256, 49, 0, 4, 32, "registers"},
    /* 4,608 a warp: three a quarter are 12 warps, six blocks of 2; all 65,536 at once would hold 14. */
    {"sm_80", 64, 144, 0, 6, 12, "registers"},
    /* 25,344 and the system's 1,024 are 26,368: three times in 102,400. Without the system's, four. */
    {"sm_86", 256, 32, 25344, 3, 24, "shared memory"},
    /* 21,800 are given as 22,016, by 256: twice in 65,536; as they are it would be three times. */
    {"sm_75", 128, 32, 21800, 2, 8, "shared memory"},
    /* By 128 on sm_86: 19,400 + 1,024 = 20,424, given as 20,480: five times in 102,400. By 256 they
     * would be as many; 19,457 + 1,024 are given as 20,608, four times. */
    {"sm_86", 128, 32, 19400, 5, 20, "shared memory"},
    {"sm_86", 128, 32, 19457, 4, 16, "shared memory"},
    /* One warp a block: 16 blocks, 24 on Ada. */
    {"sm_86", 32, 32, 0, 16, 16, "blocks"},
    {"sm_89", 32, 32, 0, 24, 24, "blocks"},
    /* Three warps a block: 48 / 3 is 16, as many as there are blocks. */
    {"sm_86", 96, 32, 0, 16, 48, "blocks, warps"},
    /* 97 threads are four warps. */
    {"sm_86", 97, 32, 0, 12, 48, "warps"},
    /* 1,024 a warp, 32 in each half: 64 warps, as many as there are. */
    {"sm_60", 1024, 32, 0, 2, 64, "registers, warps"},
    /* 3,328 a warp: nine in a half are 18 warps, three blocks of 6; four in a quarter are 16, two. */
    {"sm_60", 192, 104, 0, 3, 18, "registers"},
    {"sm_61", 192, 104, 0, 2, 12, "registers"},
    /* 2,048 a warp, eight a quarter: 32 warps, all that sm_75 has. */
    {"sm_75", 1024, 64, 0, 1, 32, "registers, warps"},
    /* 6,400 a warp: ten take 64,000 of 65,536; by rounds of four, as for the rest of its family, 12 would. */
    {"sm_60", 320, 200, 0, 0, 0, "registers"},
    /* All 64 KiB, and a byte more. */
    {"sm_75", 256, 64, 65536, 1, 8, "shared memory"},
    {"sm_75", 256, 64, 65537, 0, 0, "shared memory"},
    /* 48 KiB is a block's most on sm_60, of the 64 that there are. */
    {"sm_60", 256, 32, 49152, 1, 8, "shared memory"},
    {"sm_60", 256, 32, 49153, 0, 0, "shared memory"},
    /* 65 x 32 are given as 2,304: 32 warps would take 73,728 registers. */
    {"sm_86", 1024, 65, 0, 0, 0, "registers"},
    {"sm_86", 64, 256, 0, 0, 0, "registers"},
    /* 26,368 go 8 times into 233,472, 8 warps 8 times into 64, and registers hold 64 warps. */
    {"sm_90", 256, 32, 25344, 8, 64, "registers, shared memory, warps"},
    /* A block of more than 1,024 threads there is not. */
    {"sm_120", 1025, 32, 0, 0, 0, "warps"},
};

static void follows_nvidias_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_occupancy found = of(cases[i].architecture, cases[i].threads, cases[i].registers, cases[i].shared);
        if (found.blocks != cases[i].blocks || found.warps != cases[i].warps ||
            strcmp(found.bound_by, cases[i].bound_by) != 0)
            fail_msg("case %d: %lld blocks, %lld warps, by %s", (int)i, (long long)found.blocks, (long long)found.warps,
                     found.bound_by);
        double fraction = (double)found.warps / (double)lab_sm_limits_of(cases[i].architecture)->warps;
        assert_true(found.fraction == fraction);
    }
}

static void says_what_each_bound_allows(void **state)
{
    (void)state;
    lab_occupancy found = of("sm_86", 256, 128, 25344);
    assert_int_equal(found.blocks_allowed[LAB_LIMITED_BY_REGISTERS], 2);
    assert_int_equal(found.blocks_allowed[LAB_LIMITED_BY_SHARED], 3);
    assert_int_equal(found.blocks_allowed[LAB_LIMITED_BY_BLOCKS], 16);
    assert_int_equal(found.blocks_allowed[LAB_LIMITED_BY_WARPS], 6);
    assert_true(found.is_limiting[LAB_LIMITED_BY_REGISTERS] && !found.is_limiting[LAB_LIMITED_BY_SHARED]);
}

/* The cliff is where it is said to be: as many blocks up to it, fewer one step on. */
static void finds_the_next_occupancy_cliff(void **state)
{
    (void)state;
    assert_int_equal(of("sm_86", 256, 121, 0).spare_registers, 7);
    assert_int_equal(of("sm_86", 256, 128, 0).spare_registers, 0);
    assert_int_equal(of("sm_86", 256, 128, 8192).spare_shared_bytes, 102400 / 2 - 1024 - 8192);
    assert_int_equal(of("sm_86", 256, 255, 0).spare_shared_bytes, 99 * 1024);
    assert_int_equal(of("sm_75", 256, 64, 65537).spare_shared_bytes, 0);
    for (int64_t threads = 32; threads <= 1024; threads += 96)
        for (int64_t registers = 16; registers < 256; registers += 13)
            for (int64_t shared = 0; shared < 60000; shared += 7777) {
                lab_occupancy here = of("sm_87", threads, registers, shared);
                int64_t most = registers + here.spare_registers, bytes = shared + here.spare_shared_bytes;
                if (here.blocks == 0)
                    continue;
                assert_int_equal(of("sm_87", threads, most, shared).blocks, here.blocks);
                assert_true(of("sm_87", threads, most + 1, shared).blocks < here.blocks);
                assert_int_equal(of("sm_87", threads, registers, bytes).blocks, here.blocks);
                assert_true(of("sm_87", threads, registers, bytes + 1).blocks < here.blocks);
            }
}

static void counts_waves(void **state)
{
    (void)state;
    lab_occupancy two = of("sm_86", 256, 128, 0), none = of("sm_86", 1024, 65, 0);
    lab_waves waves = lab_waves_of(&two, 84, 1000); /* 168 a wave: five, and 160 */
    assert_int_equal(waves.blocks, 168);
    assert_int_equal(waves.full, 5);
    assert_true(waves.tail == 160.0 / 168.0);
    assert_true(waves.efficiency > 0.9920 && waves.efficiency < 0.9922);
    waves = lab_waves_of(&two, 84, 168);
    assert_true(waves.full == 1 && waves.tail == 0 && waves.efficiency == 1);
    waves = lab_waves_of(&two, 84, 169); /* one block too many costs a whole wave */
    assert_true(waves.full == 1 && waves.efficiency > 0.502 && waves.efficiency < 0.504);
    assert_true(lab_waves_of(&two, 84, 0).efficiency == 0);
    assert_int_equal(lab_waves_of(&none, 84, 1000).blocks, 0);
    assert_int_equal(lab_waves_of(&two, INT64_MAX, 1000).blocks, 0);
}

static void unknown_architectures_are_rejected(void **state)
{
    (void)state;
    assert_null(lab_sm_limits_of("sm_10"));
    assert_null(lab_sm_limits_of("86"));
    assert_int_equal(of("sm_86", 0, 32, 0).blocks, 0);
    assert_int_equal(of("sm_86", 256, 32, -1).blocks, 0);
    assert_int_equal(of("sm_86", INT64_MAX, INT64_MAX, INT64_MAX).blocks, 0);
}

#ifdef HAS_CUDA_OCCUPANCY
/* Blocks by NVIDIA's own calculator, told the same limits. It does not take them from a table
 * of its own but for blocks and the pieces things are given out by. */
static int blocks_by_header(const lab_sm_limits *limits, int threads, int registers, int shared)
{
    int number = atoi(limits->architecture + 3);
    struct cudaOccDeviceProp device;
    struct cudaOccFuncAttributes function;
    struct cudaOccDeviceState carveout;
    struct cudaOccResult result;
    memset(&device, 0, sizeof device);
    memset(&function, 0, sizeof function);
    memset(&carveout, 0, sizeof carveout);
    device.computeMajor = number / 10;
    device.computeMinor = number % 10;
    device.maxThreadsPerBlock = (int)limits->threads_block;
    device.maxThreadsPerMultiprocessor = (int)limits->warps * 32;
    device.regsPerBlock = (int)limits->registers_block;
    device.regsPerMultiprocessor = (int)limits->registers;
    device.warpSize = 32;
    device.sharedMemPerBlock = 48 * 1024;
    device.sharedMemPerMultiprocessor = (size_t)limits->shared;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = (size_t)limits->shared_block;
    device.reservedSharedMemPerBlock = (size_t)limits->shared_reserved;
    function.maxThreadsPerBlock = 1024;
    function.numRegs = registers;
    function.partitionedGCConfig = PARTITIONED_GC_OFF;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = (size_t)limits->shared_block;
    carveout.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    carveout.cacheConfig = CACHE_PREFER_SHARED;
    cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &carveout, threads,
                                                                 (size_t)shared);
    return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}

static void agrees_with_nvidia(void **state)
{
    static const char *const architectures[] = {
#define LIMITS(number, ...) "sm_" #number,
#include "explain/sm_limits.def"
#undef LIMITS
    };
    (void)state;
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        const lab_sm_limits *limits = lab_sm_limits_of(architectures[i]);
        for (int threads = 1; threads <= 1024; threads += threads < 64 ? 21 : 31)
            for (int registers = 1; registers < 256; registers += 5)
                for (int shared = 0; shared <= limits->shared_block + 2000; shared += 7919) {
                    int theirs = blocks_by_header(limits, threads, registers, shared);
                    int64_t ours = lab_occupancy_of(limits, threads, registers, shared).blocks;
                    if (theirs != ours)
                        fail_msg("%s, %d threads, %d registers, %d bytes: %lld blocks; NVIDIA says %d",
                                 limits->architecture, threads, registers, shared, (long long)ours, theirs);
                }
    }
}
#else
static void agrees_with_nvidia(void **state)
{
    (void)state;
    skip(); /* cuda_occupancy.h is not here; see tools/install-test-tools */
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_nvidias_rules),
        cmocka_unit_test(says_what_each_bound_allows),
        cmocka_unit_test(finds_the_next_occupancy_cliff),
        cmocka_unit_test(counts_waves),
        cmocka_unit_test(unknown_architectures_are_rejected),
        cmocka_unit_test(agrees_with_nvidia),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
