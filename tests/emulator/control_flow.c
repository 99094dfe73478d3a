/* SPDX-License-Identifier: Apache-2.0 */
/* control_flow.c - control flow that compilers rarely produce, synchronization, and the ways in which a kernel fails. */
#include "run_ptx.h"

enum { BUDGET = 20000000 };

/* Runs a kernel that must end without findings. */
static void run_clean(const char *text, uint32_t threads, uint32_t *out, int64_t words)
{
    run_t run = run_ptx(text, threads, out, words, 0, BUDGET);
    if (run.status != RUNG_OK || run.findings)
        fail_msg("%lld findings; %s", (long long)run.findings, run.error);
}

/* ---- Branches ------------------------------------------------------------------------------------------------------- */

/* A loop with two entries: even threads enter at its first half, odd ones at its second. */
static void irreducible_loops_work(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        "mov.u32 %r0, 0; mov.u32 %r1, %t;\n"
        "and.b32 %r2, %t, 1; setp.eq.u32 %p0, %r2, 1; @%p0 bra SECOND;\n"
        "FIRST: add.u32 %r0, %r0, 3;\n"
        "SECOND: add.u32 %r0, %r0, 100; setp.eq.u32 %p1, %r1, 0; @%p1 bra DONE; sub.u32 %r1, %r1, 1;\n"
        "and.b32 %r3, %r1, 2; setp.eq.u32 %p2, %r3, 2; @%p2 bra SECOND; bra FIRST;\n"
        "DONE: st.global.u32 [%rd1], %r0; ret; }\n";
    uint32_t out[32];
    (void)state;
    run_clean(text, 32, out, 32);
    for (uint32_t t = 0; t < 32; t++) {
        uint32_t sum = 0, left = t;
        for (bool is_second = t & 1;; is_second = left & 2) {
            sum += is_second ? 100 : 103;
            if (left-- == 0)
                break;
        }
        assert_int_equal(out[t], sum);
    }
}

static void indexed_branches_work(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        "rem.u32 %r1, %t, 3; mov.u32 %r0, 7;\n"
        "TARGETS: .branchtargets A, B, C;\n setp.lt.u32 %p0, %t, 30;\n"
        "@%p0 brx.idx %r1, TARGETS;\n mov.u32 %r0, 1; bra C;\n"
        "A: add.u32 %r0, %r0, 10; bra DONE;\n B: add.u32 %r0, %r0, 20;\n C: add.u32 %r0, %r0, 30;\n"
        "DONE: shfl.sync.idx.b32 %r2, %r0, 0, 31, -1; add.u32 %r0, %r0, %r2; st.global.u32 [%rd1], %r0; ret; }\n";
    static const uint32_t expected[] = {17, 57, 37};
    uint32_t out[32];
    (void)state;
    run_clean(text, 32, out, 32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(out[t], (t < 30 ? expected[t % 3] : 31) + 17);
}

/* Threads leave a loop at different times; the others still meet at the barrier. */
static void threads_exit_inside_loops(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        ".shared .align 4 .b32 sum;\n"
        "mov.u32 %r0, 0; mov.u32 %r5, sum; setp.eq.u32 %p0, %t, 63; @%p0 st.shared.u32 [%r5], %r0; bar.sync 0;\n"
        "LOOP: add.u32 %r0, %r0, 1; setp.eq.u32 %p1, %r0, %t; @!%p1 bra NEXT;\n"
        "atom.shared.add.u32 %r6, [%r5], 1; and.b32 %r7, %t, 1; setp.eq.u32 %p2, %r7, 0; @%p2 exit;\n"
        "NEXT: bar.sync 0; setp.lt.u32 %p3, %r0, 40; @%p3 bra LOOP;\n"
        "ld.shared.u32 %r8, [%r5]; st.global.u32 [%rd1], %r8; ret; }\n";
    uint32_t out[64];
    (void)state;
    run_clean(text, 64, out, 64);
    for (uint32_t t = 0; t < 64; t++)
        assert_int_equal(out[t], t % 2 == 0 && t >= 2 && t <= 40 ? 0 : 40);
}

/* Threads that branch to the end of the kernel do not hold up a barrier. The others meet again although a nested return
 * makes the end of the kernel the first place that all threads reach. */
static void threads_return_before_barriers(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        "setp.gt.u32 %p0, %t, 40; @%p0 bra END; and.b32 %r0, %t, 1; setp.eq.u32 %p1, %r0, 0; @%p1 bra EVEN;\n"
        "and.b32 %r0, %t, 3; setp.eq.u32 %p2, %r0, 3; @%p2 bra END; EVEN: bar.sync 0;\n"
        "activemask.b32 %r1; popc.b32 %r1, %r1; st.global.u32 [%rd1], %r1; END: ret; }\n";
    uint32_t out[64];
    (void)state;
    run_clean(text, 64, out, 64);
    for (uint32_t t = 0; t < 64; t++)
        assert_int_equal(out[t], t > 40 || t % 4 == 3 ? 0 : t < 32 ? 24 : 7);
}

/* ---- Calls ---------------------------------------------------------------------------------------------------------- */

static const char functions[] =
    ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r0, [a]; add.u32 %r0, %r0, %r0;"
    " st.param.b32 [r], %r0; ret; }\n"
    ".func (.param .b32 r) square(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r0, [a]; mul.lo.u32 %r0, %r0, %r0;"
    " st.param.b32 [r], %r0; ret; }\n"
    ".func (.param .b32 r) fibonacci(.param .b32 a) { .reg .b32 %r<5>; .reg .pred %p; ld.param.b32 %r0, [a];\n"
    " setp.lt.u32 %p, %r0, 2; @%p bra SMALL;\n"
    " { .param .b32 x; .param .b32 y; sub.u32 %r1, %r0, 1; st.param.b32 [x], %r1; call (y), fibonacci, (x);"
    " ld.param.b32 %r2, [y]; }\n"
    " { .param .b32 x; .param .b32 y; sub.u32 %r1, %r0, 2; st.param.b32 [x], %r1; call (y), fibonacci, (x);"
    " ld.param.b32 %r3, [y]; }\n"
    " add.u32 %r0, %r2, %r3;\n SMALL: st.param.b32 [r], %r0; ret; }\n"
    ".func (.param .b32 r) endless(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r0, [a];\n"
    " { .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call (y), endless, (x); ld.param.b32 %r0, [y]; }\n"
    " st.param.b32 [r], %r0; ret; }\n";

/* Builds a kernel that calls a function with tid.x % 12 and stores the result. */
static void call_text(char *text, size_t size, const char *prologue, const char *call)
{
    snprintf(text, size,
             "%s%s%srem.u32 %%r0, %%t, 12;\n%s\n{ .param .b32 x; .param .b32 y; st.param.b32 [x], %%r0;\n%s\n"
             "ld.param.b32 %%r1, [y]; }\nSKIP: shfl.sync.idx.b32 %%r2, %%r1, 1, 31, -1; add.u32 %%r1, %%r1, %%r2;\n"
             "st.global.u32 [%%rd1], %%r1; ret; }\n",
             PTX_HEADER, functions, PTX_KERNEL, prologue, call);
}

static void recursion_works_in_divergent_code(void **state)
{
    static const uint32_t fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    char text[4096];
    uint32_t out[32];
    (void)state;
    call_text(text, sizeof text, "mov.u32 %r1, 1000; setp.gt.u32 %p0, %r0, 9; @%p0 bra SKIP;",
              "call (y), fibonacci, (x);");
    run_clean(text, 32, out, 32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(out[t], (t % 12 > 9 ? 1000 : fibonacci[t % 12]) + 1);
}

static void indirect_calls_may_differ_between_lanes(void **state)
{
    char text[4096];
    uint32_t out[32];
    (void)state;
    call_text(text, sizeof text,
              "mov.u64 %rd2, twice; mov.u64 %rd3, square; setp.lt.u32 %p0, %r0, 5; selp.b64 %rd4, %rd2, %rd3, %p0;",
              "P: .callprototype (.param .b32 _) _ (.param .b32 _);\n call (y), %rd4, (x), P;");
    run_clean(text, 32, out, 32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(out[t], (t % 12 < 5 ? 2 * (t % 12) : t % 12 * (t % 12)) + 2);
}

/* A call with too few arguments or results is refused when the module is loaded. Through a register it cannot be checked:
 * printf without arguments then prints nothing. */
static void calls_must_match_the_declaration(void **state)
{
    static const char declaration[] = ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n";
    static const char *const calls[] = {"call vprintf, (a0, a0);\n", "call (r0), vprintf, ();\n",
                                        "call (r0), vprintf, (a0);\n", "call (r0), vprintf, (a0, a0, a0);\n"};
    static const char parameters[] = "{ .param .b64 a0; .param .b32 r0; st.param.b64 [a0+0], %rd0;\n";
    rung_emulator *emulator;
    rung_emulator_module *module;
    char text[1024];
    uint32_t out[32];
    (void)state;
    assert_int_equal(rung_emulator_create(NULL, &emulator), RUNG_OK);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        snprintf(text, sizeof text, "%s%s%s%s%s} ret; }\n", PTX_HEADER, declaration, PTX_KERNEL, parameters, calls[i]);
        assert_int_equal(rung_emulator_module_load(emulator, "test.ptx", text, strlen(text), &module),
                         RUNG_STATUS_INVALID);
    }
    rung_emulator_destroy(emulator);
    snprintf(text, sizeof text,
             "%s%s%s%smov.u64 %%rd2, vprintf;\nP: .callprototype (.param .b32 _) _ ();\n"
             "call (r0), %%rd2, (), P;\n} ret; }\n",
             PTX_HEADER, declaration, PTX_KERNEL, parameters);
    run_clean(text, 32, out, 32);
}

static void endless_recursion_fails(void **state)
{
    char text[4096];
    uint32_t out[32];
    (void)state;
    call_text(text, sizeof text, "", "call (y), endless, (x);");
    run_t run = run_ptx(text, 32, out, 32, 0, BUDGET);
    assert_int_equal(run.status, RUNG_STATUS_DEVICE_LOST);
    assert_non_null(strstr(run.error, "nest"));
}

/* ---- Locks ---------------------------------------------------------------------------------------------------------- */

/* Every thread adds to a counter in a critical section without an atomic instruction. */
static void test_lock(const char *critical, uint32_t threads)
{
    char text[2048];
    uint32_t *out = calloc(threads, sizeof *out);
    assert_non_null(out);
    snprintf(
        text, sizeof text,
        "%s%s.shared .align 4 .b32 lock; .shared .align 4 .b32 counter;\nmov.u32 %%r5, lock; mov.u32 %%r6, counter;\n"
        "mov.u32 %%r0, 0; setp.eq.u32 %%p0, %%t, 0; @%%p0 st.shared.u32 [%%r5], %%r0; @%%p0 st.shared.u32 [%%r6], %%r0;\n"
        "bar.sync 0;\n%s\nbar.sync 0; ld.shared.u32 %%r9, [%%r6]; st.global.u32 [%%rd1], %%r9; ret; }\n",
        PTX_HEADER, PTX_KERNEL, critical);
    run_clean(text, threads, out, threads);
    for (uint32_t t = 0; t < threads; t++)
        assert_int_equal(out[t], threads);
    free(out);
}

#define CRITICAL "ld.volatile.shared.u32 %r8, [%r6]; add.u32 %r8, %r8, 1; st.volatile.shared.u32 [%r6], %r8;\n"

/* The lock is released behind the loop: the owner would wait there for the lanes that spin. */
static const char released_behind_loop[] =
    "SPIN: atom.shared.cas.b32 %r7, [%r5], 0, 1; setp.ne.u32 %p1, %r7, 0; @%p1 bra SPIN;\n" CRITICAL
    "atom.shared.exch.b32 %r7, [%r5], 0;\n";

static const char released_inside_loop[] = "mov.u32 %r10, 0;\nTRY: atom.shared.cas.b32 %r7, [%r5], 0, 1;\n"
                                           "setp.ne.u32 %p1, %r7, 0; @%p1 bra NEXT;\n" CRITICAL
                                           "atom.shared.exch.b32 %r7, [%r5], 0; mov.u32 %r10, 1;\n"
                                           "NEXT: setp.eq.u32 %p2, %r10, 0; @%p2 bra TRY;\n";

static void locks_end(void **state)
{
    (void)state;
    test_lock(released_behind_loop, 32);
    test_lock(released_inside_loop, 32);
    test_lock(released_behind_loop, 128);
    test_lock(released_inside_loop, 100);
}

/* Warp 1 waits in a loop for a flag that warp 0 sets after it has waited for warp 1's flag. */
static void warps_wait_for_flags(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        ".shared .align 4 .b32 flags[2];\n"
        "mov.u32 %r5, flags; mov.u32 %r0, 0; @%p0 bra A; A: st.volatile.shared.u32 [%r5], %r0;\n"
        "st.volatile.shared.u32 [%r5+4], %r0; bar.sync 0; setp.gt.u32 %p1, %t, 31; @%p1 bra SECOND;\n"
        "WAIT0: ld.volatile.shared.u32 %r1, [%r5+4]; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT0;\n"
        "mov.u32 %r2, 5; st.volatile.shared.u32 [%r5], %r2; st.global.u32 [%rd1], %r1; ret;\n"
        "SECOND: mov.u32 %r2, 6; st.volatile.shared.u32 [%r5+4], %r2;\n"
        "WAIT1: ld.volatile.shared.u32 %r1, [%r5]; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT1;\n"
        "st.global.u32 [%rd1], %r1; ret; }\n";
    uint32_t out[64];
    (void)state;
    run_clean(text, 64, out, 64);
    assert_int_equal(out[0], 6);
    assert_int_equal(out[63], 5);
}

/* ---- Synchronization of a warp -------------------------------------------------------------------------------------- */

/* Both sides of a branch synchronize at different instructions and exchange values through memory. */
static void warp_barriers_may_be_at_different_places(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        ".shared .align 4 .b32 box[32];\n"
        "mov.u32 %r5, box; shl.b32 %r6, %t, 2; add.u32 %r6, %r5, %r6; xor.b32 %r7, %t, 16; shl.b32 %r7, %r7, 2;\n"
        "add.u32 %r7, %r5, %r7; setp.lt.u32 %p0, %t, 16; @%p0 bra LOW;\n"
        "add.u32 %r0, %t, 1000; st.shared.u32 [%r6], %r0; bar.warp.sync -1; ld.shared.u32 %r1, [%r7]; bra DONE;\n"
        "LOW: add.u32 %r0, %t, 2000; st.shared.u32 [%r6], %r0; bar.warp.sync -1; ld.shared.u32 %r1, [%r7];\n"
        "DONE: st.global.u32 [%rd1], %r1; ret; }\n";
    uint32_t out[32];
    (void)state;
    run_clean(text, 32, out, 32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(out[t], (t < 16 ? 1000 : 2000) + (t ^ 16));
}

/* Groups of 8 lanes loop a different number of times around a shuffle of their own members. */
static void member_masks_may_differ_between_lanes(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        "shr.u32 %r0, %t, 3; shl.b32 %r1, %r0, 3; shl.b32 %r2, 255, %r1; mov.u32 %r3, %t; mov.u32 %r4, %r0;\n"
        "LOOP: shfl.sync.bfly.b32 %r5, %r3, 1, 31, %r2; add.u32 %r3, %r3, %r5; and.b32 %r6, %t, 1;\n"
        "setp.eq.u32 %p0, %r6, 0; @%p0 bra EVEN; add.u32 %r3, %r3, 0; EVEN:\n"
        "setp.eq.u32 %p1, %r4, 0; @%p1 bra DONE; sub.u32 %r4, %r4, 1; bra LOOP;\n"
        "DONE: st.global.u32 [%rd1], %r3; ret; }\n";
    uint32_t out[32];
    (void)state;
    run_clean(text, 32, out, 32);
    for (uint32_t t = 0; t < 32; t++)
        assert_int_equal(out[t], (t + (t ^ 1)) << t / 8);
}

/* Runs an instruction on lanes 0 to 15 with member mask 0xffff, and on the others with 0xffff0000. %p0 holds for lane 20. */
static void run_halves(const char *instruction, uint32_t low, uint32_t high)
{
    char text[2048];
    uint32_t out[32];
    snprintf(text, sizeof text, "%s%s\nst.global.u32 [%%rd1], %%r2;\nret;\n}\n",
             PTX_HEADER PTX_KERNEL "setp.lt.u32 %p1, %t, 16;\nselp.b32 %r1, 0xffff, 0xffff0000, %p1;\n"
                                   "setp.eq.u32 %p0, %t, 20;\n",
             instruction);
    run_clean(text, 32, out, 32);
    for (uint32_t lane = 0; lane < 32; lane++)
        assert_int_equal(out[lane], lane < 16 ? low : high);
}

static void lanes_exchange_data_with_their_members_only(void **state)
{
    (void)state;
    run_halves("redux.sync.add.u32 %r2, %t, %r1;", 120, 376);
    run_halves("redux.sync.max.u32 %r2, %t, %r1;", 15, 31);
    run_halves("vote.sync.ballot.b32 %r2, %p0, %r1;", 0, 1u << 20);
    run_halves("vote.sync.any.pred %p2, %p0, %r1;\nselp.b32 %r2, 1, 0, %p2;", 0, 1);
    run_halves("mov.b32 %r3, 7;\nmatch.any.sync.b32 %r2, %r3, %r1;", 0xffff, 0xffff0000);
}

static void missing_members_are_reported(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        "setp.lt.u32 %p0, %t, 16; @%p0 bra DONE;\n"
        "shfl.sync.idx.b32 %r0, %t, 20, 31, -1;\n st.global.u32 [%rd1], %r0;\n"
        "bra DONE; DONE: st.global.u32 [%rd1+128], %t; ret; }\n";
    uint32_t out[64];
    (void)state;
    run_t run = run_ptx(text, 32, out, 64, 0, BUDGET);
    assert_int_equal(run.status, RUNG_OK);
    assert_int_equal(run.findings, 1);
    assert_int_equal(run.kind, RUNG_EMULATOR_WARP_SYNC);
    assert_int_equal(out[16], 20);
}

static void lanes_outside_of_their_member_mask_are_reported(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL "shfl.sync.bfly.b32 %r0, %t, 1, 31, 0xffff;\n"
                                                     "st.global.u32 [%rd1], %r0; ret; }\n";
    uint32_t out[32];
    (void)state;
    run_t run = run_ptx(text, 32, out, 32, RUNG_EMULATOR_CHECK_BARRIERS, BUDGET);
    assert_int_equal(run.status, RUNG_OK);
    assert_int_equal(run.findings, 1);
    assert_int_equal(run.kind, RUNG_EMULATOR_WARP_SYNC);
}

/* ---- Barriers ------------------------------------------------------------------------------------------------------- */

static void barriers_reduce(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        "setp.lt.u32 %p0, %t, 40; setp.lt.u32 %p1, %t, 70;\n"
        "bar.red.popc.u32 %r0, 0, %p0; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, !%p0; bar.red.and.pred %p4, 1, %p0;\n"
        "selp.u32 %r1, 1000, 0, %p2; selp.u32 %r2, 2000, 0, %p3; selp.u32 %r3, 4000, 0, %p4;\n"
        "add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; add.u32 %r0, %r0, %r3; st.global.u32 [%rd1], %r0; ret; }\n";
    uint32_t out[70];
    (void)state;
    run_clean(text, 70, out, 70);
    for (uint32_t t = 0; t < 70; t++)
        assert_int_equal(out[t], 3040);
}

/* Warps 0 and 1 produce values; warps 2 and 3 consume them. Producers only arrive at barrier 1. */
static void named_barriers_connect_warps(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        ".shared .align 4 .b32 box[64];\n mov.u32 %r5, box; mov.u32 %r9, 0;\n"
        "and.b32 %r6, %t, 63; shl.b32 %r6, %r6, 2; add.u32 %r6, %r5, %r6; mov.u32 %r0, 0; setp.gt.u32 %p0, %t, 63;\n"
        "@%p0 bra CONSUME;\n"
        "PRODUCE: mad.lo.u32 %r1, %r0, 100, %t; st.shared.u32 [%r6], %r1; bar.arrive 1, 128; bar.sync 2, 128;\n"
        "add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 5; @%p1 bra PRODUCE; st.global.u32 [%rd1], %r0; ret;\n"
        "CONSUME: bar.sync 1, 128; ld.shared.u32 %r1, [%r6]; add.u32 %r9, %r9, %r1; bar.arrive 2, 128;\n"
        "add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 5; @%p1 bra CONSUME; st.global.u32 [%rd1], %r9; ret; }\n";
    uint32_t out[128];
    (void)state;
    run_clean(text, 128, out, 128);
    for (uint32_t t = 0; t < 64; t++)
        assert_int_equal(out[64 + t], 1000 + 5 * t);
}

/* ---- Output and failures -------------------------------------------------------------------------------------------- */

static void printf_writes_in_the_order_of_lanes(void **state)
{
    static const char text[] = PTX_HEADER
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
        ".global .align 1 .b8 format[11] = {116, 32, 37, 100, 32, 37, 115, 37, 37, 10, 0};\n" /* "t %d %s%%\n" */
        ".global .align 1 .b8 word[3] = {111, 107, 0};\n" PTX_KERNEL ".local .align 8 .b8 args[16];\n"
        ".reg .b64 %a; .reg .b64 %f; .reg .b64 %s; setp.gt.u32 %p0, %t, 2; @%p0 bra DONE;\n"
        "mov.u64 %a, args; cvta.local.u64 %s, %a; st.local.u32 [%a], %t; mov.u64 %f, word; cvta.global.u64 %f, %f;\n"
        "st.local.u64 [%a+8], %f; mov.u64 %f, format; cvta.global.u64 %f, %f;\n"
        "{ .param .b64 x; .param .b64 y; .param .b32 z; st.param.b64 [x], %f; st.param.b64 [y], %s;\n"
        "call.uni (z), vprintf, (x, y); ld.param.b32 %r0, [z]; }\n DONE: ret; }\n";
    uint32_t out[1];
    (void)state;
    run_t run = run_ptx(text, 32, out, 1, 0, BUDGET);
    assert_int_equal(run.status, RUNG_OK);
    assert_string_equal(run.output, "t 0 ok%\nt 1 ok%\nt 2 ok%\n");
}

static void assertions_fail_the_launch(void **state)
{
    static const char text[] = PTX_HEADER
        ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);\n"
        ".global .align 1 .b8 message[6] = {120, 32, 62, 32, 48, 0};\n" PTX_KERNEL ".reg .b64 %m;\n" /* "x > 0" */
        "setp.ne.u32 %p0, %t, 5; @%p0 bra DONE; mov.u64 %m, message; cvta.global.u64 %m, %m;\n"
        "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; st.param.b64 [a], %m;\n"
        "st.param.b64 [b], %m; st.param.b32 [c], 42; st.param.b64 [d], %m; st.param.b64 [e], 1;\n"
        "call.uni __assertfail, (a, b, c, d, e); }\n DONE: ret; }\n";
    uint32_t out[1];
    (void)state;
    run_t run = run_ptx(text, 32, out, 1, 0, BUDGET);
    assert_int_equal(run.status, RUNG_STATUS_DEVICE_LOST);
    assert_int_equal(run.kind, RUNG_EMULATOR_TRAP);
    assert_non_null(strstr(run.error, "x > 0"));
}

static void traps_and_endless_loops_fail_the_launch(void **state)
{
    static const char trap[] = PTX_HEADER PTX_KERNEL
        "setp.eq.u32 %p0, %t, 7; @%p0 trap; st.global.u32 [%rd1], %t; ret; }\n";
    static const char loop[] = PTX_HEADER PTX_KERNEL
        "L: add.u32 %r0, %r0, 1; setp.eq.u32 %p0, %t, 7; @%p0 bra L; ret; }\n";
    static const char loop_with_barrier[] = PTX_HEADER PTX_KERNEL "L: bar.sync 0; bra L; }\n";
    uint32_t out[32];
    (void)state;
    run_t run = run_ptx(trap, 32, out, 32, 0, BUDGET);
    assert_int_equal(run.status, RUNG_STATUS_DEVICE_LOST);
    assert_int_equal(run.kind, RUNG_EMULATOR_TRAP);
    run = run_ptx(loop, 32, out, 32, 0, 1000000);
    assert_int_equal(run.status, RUNG_STATUS_DEVICE_LOST);
    assert_int_equal(run.kind, RUNG_EMULATOR_INFINITE_LOOP);
    run = run_ptx(loop_with_barrier, 32, out, 32, 0, 1000000);
    assert_int_equal(run.status, RUNG_STATUS_DEVICE_LOST);
    assert_int_equal(run.kind, RUNG_EMULATOR_INFINITE_LOOP);
}

/* Half of a warp waits at a barrier that the other half never reaches. */
static void deadlocks_fail_the_launch(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL "setp.lt.u32 %p0, %t, 32; @%p0 bra L; bar.sync 1; bra DONE;\n"
                                                     "L: bar.sync 2; DONE: ret; }\n";
    uint32_t out[64];
    (void)state;
    run_t run = run_ptx(text, 64, out, 64, RUNG_EMULATOR_CHECK_BARRIERS, BUDGET);
    assert_int_equal(run.status, RUNG_STATUS_DEVICE_LOST);
    assert_int_equal(run.kind, RUNG_EMULATOR_BARRIER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(irreducible_loops_work),
                                       cmocka_unit_test(indexed_branches_work),
                                       cmocka_unit_test(threads_exit_inside_loops),
                                       cmocka_unit_test(threads_return_before_barriers),
                                       cmocka_unit_test(recursion_works_in_divergent_code),
                                       cmocka_unit_test(indirect_calls_may_differ_between_lanes),
                                       cmocka_unit_test(calls_must_match_the_declaration),
                                       cmocka_unit_test(endless_recursion_fails),
                                       cmocka_unit_test(locks_end),
                                       cmocka_unit_test(warps_wait_for_flags),
                                       cmocka_unit_test(warp_barriers_may_be_at_different_places),
                                       cmocka_unit_test(member_masks_may_differ_between_lanes),
                                       cmocka_unit_test(lanes_exchange_data_with_their_members_only),
                                       cmocka_unit_test(missing_members_are_reported),
                                       cmocka_unit_test(lanes_outside_of_their_member_mask_are_reported),
                                       cmocka_unit_test(barriers_reduce),
                                       cmocka_unit_test(named_barriers_connect_warps),
                                       cmocka_unit_test(printf_writes_in_the_order_of_lanes),
                                       cmocka_unit_test(assertions_fail_the_launch),
                                       cmocka_unit_test(traps_and_endless_loops_fail_the_launch),
                                       cmocka_unit_test(deadlocks_fail_the_launch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
