/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - addresses of freed memory: a stale pointer is found as long as other addresses are left, then addresses are
 * reused. Guards between allocations. Results of atomics across blocks, which are the same with any number of threads, and
 * exchanges that only store. Registers without values, and limits. And copies to shared memory without checks, which land
 * when they are waited for. */
#include "run_ptx.h"

enum { MEMORY_BYTES = 1 << 20, PIECE = 100 << 10 };

static const char read_word[] = PTX_HEADER ".visible .entry k(.param .u64 from, .param .u64 to)\n{\n"
                                           ".reg .b64 %rd<3>; .reg .b32 %r1;\n"
                                           "ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\n"
                                           "ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd2], %r1;\nret;\n}\n";

typedef struct machine {
    rung_emulator *emulator;
    rung_emulator_kernel *kernel;
} machine_t;

static machine_t create_with(const char *text, int64_t threads, uint32_t checks, int64_t memory_bytes)
{
    machine_t machine;
    rung_emulator_module *module;
    rung_emulator_options options = rung_emulator_options_default();
    options.memory_bytes = memory_bytes;
    options.threads = threads;
    options.checks = checks;
    assert_int_equal(rung_emulator_create(&options, &machine.emulator), RUNG_OK);
    if (rung_emulator_module_load(machine.emulator, "test.ptx", text, strlen(text), &module) != RUNG_OK)
        fail_msg("%s", rung_error_text());
    assert_int_equal(rung_emulator_kernel_find(module, "k", &machine.kernel), RUNG_OK);
    return machine;
}

static machine_t create(const char *text, int64_t threads, uint32_t checks)
{
    return create_with(text, threads, checks, MEMORY_BYTES);
}

static uint64_t allocate(const machine_t *machine, int64_t bytes)
{
    uint64_t address = 0;
    assert_int_equal(rung_emulator_allocate(machine->emulator, bytes, "piece", &address), RUNG_OK);
    return address;
}

/* Reads a word in a kernel. Returns the kind of the finding, or -1 if there is none. */
static int read_in_kernel(const machine_t *machine, uint64_t from, uint64_t to)
{
    void *arguments[] = {&from, &to};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 1, arguments);
    rung_emulator_findings_clear(machine->emulator);
    assert_int_equal(rung_emulator_launch_kernel(machine->kernel, &launch), RUNG_OK);
    return rung_emulator_finding_count(machine->emulator) ? (int)rung_emulator_finding_at(machine->emulator, 0)->kind
                                                          : -1;
}

static void finds_stale_pointers(void **state)
{
    (void)state;
    machine_t machine = create(read_word, 1, RUNG_EMULATOR_CHECK_ALL);
    uint64_t result = allocate(&machine, 4), stale = allocate(&machine, PIECE);
    rung_emulator_fill(machine.emulator, stale, 7, 4, PIECE / 4);
    assert_int_equal(read_in_kernel(&machine, stale, result), -1);
    assert_int_equal(rung_emulator_free(machine.emulator, stale), RUNG_OK);
    assert_int_equal(rung_emulator_free(machine.emulator, stale), RUNG_STATUS_INVALID);
    for (int i = 0; i < 9; i++) { /* addresses are left: the freed ones are not reused */
        uint64_t other = allocate(&machine, PIECE);
        assert_true(other >= stale + PIECE);
        assert_int_equal(rung_emulator_free(machine.emulator, other), RUNG_OK);
        assert_int_equal(read_in_kernel(&machine, stale, result), RUNG_EMULATOR_USE_AFTER_FREE);
    }
    uint64_t reused = allocate(&machine, PIECE); /* now they are, the oldest first, without contents */
    assert_int_equal(reused, stale);
    assert_int_equal(read_in_kernel(&machine, reused, result), RUNG_EMULATOR_UNINITIALIZED);
    rung_emulator_fill(machine.emulator, reused, 7, 4, PIECE / 4);
    assert_int_equal(read_in_kernel(&machine, reused, result), -1);
    rung_emulator_destroy(machine.emulator);
}

/* Allocates and frees pieces of many sizes, far more than the memory has, and compares their contents. */
static void reuses_addresses(void **state)
{
    (void)state;
    enum { SLOTS = 6, ROUNDS = 3000 };
    machine_t machine = create(read_word, 1, 0);
    uint64_t address[SLOTS] = {0}, random = 1;
    int64_t words[SLOTS] = {0};
    static uint32_t contents[PIECE / 4];
    for (int round = 0; round < ROUNDS; round++) {
        int slot = round % SLOTS;
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        if (address[slot]) {
            assert_int_equal(rung_emulator_read(machine.emulator, address[slot], contents, 4 * words[slot]), RUNG_OK);
            for (int64_t i = 0; i < words[slot]; i++)
                assert_int_equal(contents[i], (uint32_t)address[slot] + (uint32_t)slot);
            assert_int_equal(rung_emulator_free(machine.emulator, address[slot]), RUNG_OK);
        }
        words[slot] = 1 + (int64_t)(random >> 40) % (PIECE / 4);
        address[slot] = allocate(&machine, 4 * words[slot]);
        assert_int_equal(address[slot] % 256, 0);
        for (int other = 0; other < SLOTS; other++) /* guard bytes stay between allocations */
            if (other != slot && address[other])
                assert_true(address[slot] + 4 * (uint64_t)words[slot] + 256 <= address[other] ||
                            address[other] + 4 * (uint64_t)words[other] + 256 <= address[slot]);
        rung_emulator_fill(machine.emulator, address[slot], (uint32_t)address[slot] + (uint32_t)slot, 4, words[slot]);
    }
    rung_emulator_destroy(machine.emulator);
}

static void refuses_what_does_not_fit(void **state)
{
    (void)state;
    machine_t machine = create(read_word, 1, 0);
    uint64_t address;
    assert_int_equal(rung_emulator_allocate(machine.emulator, MEMORY_BYTES, "x", &address), RUNG_STATUS_NO_MEMORY);
    uint64_t all = allocate(&machine, MEMORY_BYTES - 256);
    assert_int_equal(rung_emulator_allocate(machine.emulator, 1, "x", &address), RUNG_STATUS_NO_MEMORY);
    assert_int_equal(rung_emulator_free(machine.emulator, all), RUNG_OK);
    assert_int_equal(allocate(&machine, MEMORY_BYTES - 256), all);
    rung_emulator_destroy(machine.emulator);
    /* The last addresses have no room for the bytes behind an allocation. */
    machine = create(read_word, 1, 0);
    allocate(&machine, MEMORY_BYTES - 512);
    assert_int_equal(rung_emulator_allocate(machine.emulator, 1 << 30, "x", &address), RUNG_STATUS_NO_MEMORY);
    rung_emulator_destroy(machine.emulator);
}

/* Each block adds 1 / (block + 1) to out[0], and writes its number to the word that an atomic returns. */
#define ATOMIC_KERNEL(add, ticket)                                                                                  \
    PTX_HEADER ".func note(.param .b64 at)\n{\n.reg .b64 %rd1; .reg .f32 %f<3>; .reg .b32 %r<2>;\n"                 \
               "ld.param.u64 %rd1, [at];\nmov.u32 %r1, %ctaid.x;\nadd.u32 %r1, %r1, 1;\ncvt.rn.f32.u32 %f1, %r1;\n" \
               "rcp.rn.f32 %f1, %f1;\n" add "ret;\n}\n"                                                             \
               ".visible .entry k(.param .u64 out)\n{\n.reg .b64 %rd<5>; .reg .b32 %r<5>; .reg .pred %p1;\n"        \
               "ld.param.u64 %rd1, [out];\nmov.u32 %r1, 0;\n"                                                       \
               "LOOP: add.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 300;\n@%p1 bra LOOP;\n"                           \
               "{ .param .b64 p; st.param.b64 [p], %rd1; call.uni note, (p); }\n" ticket "ret;\n}\n"
static const char with_red[] = ATOMIC_KERNEL("red.global.add.f32 [%rd1], %f1;\n", "");
static const char with_atom[] = ATOMIC_KERNEL("atom.global.add.f32 %f2, [%rd1], %f1;\n", "");
static const char with_ticket[] = ATOMIC_KERNEL(
    "", "atom.global.add.u32 %r2, [%rd1+4], 1;\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd2, %rd2, %rd1;\n"
        "mov.u32 %r3, %ctaid.x;\nst.global.u32 [%rd2+8], %r3;\n");

static void atomics_are_deterministic(void **state)
{
    (void)state;
    enum { BLOCKS = 2000, WORDS = BLOCKS + 2, LAUNCHES = 4 };
    const char *const texts[] = {with_red, with_atom, with_ticket};
    for (int kind = 0; kind < 3; kind++) {
        static uint32_t first[WORDS], words[WORDS];
        for (int round = 0; round < LAUNCHES; round++) {
            machine_t machine = create(texts[kind], round == 0 ? 1 : 4, 0);
            uint64_t out = allocate(&machine, 4 * WORDS);
            rung_emulator_fill(machine.emulator, out, 0, 4, WORDS);
            void *arguments[] = {&out};
            rung_emulator_launch launch = rung_emulator_launch_of(BLOCKS, 32, arguments);
            launch.block[0] = 1;
            assert_int_equal(rung_emulator_launch_kernel(machine.kernel, &launch), RUNG_OK);
            assert_int_equal(rung_emulator_read(machine.emulator, out, round ? words : first, 4 * WORDS), RUNG_OK);
            if (round)
                assert_memory_equal(first, words, sizeof words);
            rung_emulator_destroy(machine.emulator);
        }
        if (kind < 2)
            assert_int_not_equal(first[0], 0);
        else
            assert_int_equal(first[1], BLOCKS);
    }
}

/* Lane t copies 16 bytes with the number t + 1 twice, to s and to s + 512; odd lanes fill the first destination with zeros.
 * Lanes below `early` commit the second copy before all lanes wait for what they have committed. Then all copies land. Words
 * of out: what the two destinations hold between the waits, and at the end. */
static void run_copies(int early, uint32_t checks, uint32_t out[4 * 32])
{
    char text[4096];
    snprintf(
        text, sizeof text,
        "%s.visible .entry k(.param .u64 out)\n{\n.shared .align 16 .b8 s[1024];\n.reg .b32 %%r<10>; .reg .b64 %%o; "
        ".reg .pred %%p;\nmov.u32 %%r0, %%tid.x;\nld.param.u64 %%o, [out];\nmad.wide.u32 %%o, %%r0, 16, %%o;\n"
        "add.u32 %%r1, %%r0, 1;\nst.global.v4.b32 [%%o], {%%r1,%%r1,%%r1,%%r1};\nmov.u32 %%r2, s;\n"
        "mad.lo.u32 %%r2, %%r0, 16, %%r2;\nand.b32 %%r3, %%r0, 1;\nsub.u32 %%r3, 1, %%r3;\nshl.b32 %%r3, %%r3, 4;\n"
        "setp.lt.u32 %%p, %%r0, %d;\ncp.async.cg.shared.global [%%r2], [%%o], 16, %%r3;\n"
        "cp.async.commit_group;\ncp.async.cg.shared.global [%%r2+512], [%%o], 16;\n"
        "@%%p cp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.b32 %%r4, [%%r2];\n"
        "ld.shared.b32 %%r5, [%%r2+512];\ncp.async.wait_all;\nld.shared.b32 %%r6, [%%r2+4];\n"
        "ld.shared.b32 %%r7, [%%r2+524];\nst.global.v4.b32 [%%o], {%%r4,%%r5,%%r6,%%r7};\nret;\n}\n",
        PTX_HEADER, early);
    assert_int_equal(run_ptx(text, 32, out, 4 * 32, checks, 0).status, RUNG_OK);
}

static void copies_land_at_the_wait(void **unused)
{
    static const int early[] = {0, 1, 16, 31, 32};
    (void)unused;
    for (uint32_t i = 0; i < 2 * sizeof early / sizeof *early; i++) {
        uint32_t out[4 * 32];
        run_copies(early[i / 2], i % 2 ? RUNG_EMULATOR_CHECK_ALL : 0, out);
        for (uint32_t lane = 0; lane < 32; lane++) {
            uint32_t first = lane % 2 ? 0 : lane + 1;
            assert_int_equal(out[4 * lane], first);
            assert_int_equal(out[4 * lane + 1], (int)lane < early[i / 2] ? lane + 1 : 0xcdcdcdcd);
            assert_int_equal(out[4 * lane + 2], first);
            assert_int_equal(out[4 * lane + 3], lane + 1);
        }
    }
}

/* An access a row behind an array does not reach the next array. */
static void separates_allocations(void **state)
{
    (void)state;
    machine_t machine = create_with(read_word, 1, RUNG_EMULATOR_CHECK_ALL, 0);
    uint64_t result = allocate(&machine, 4), first = allocate(&machine, 1024), second = allocate(&machine, 1 << 20);
    rung_emulator_fill(machine.emulator, first, 7, 4, 256);
    rung_emulator_fill(machine.emulator, second, 7, 4, 1 << 18);
    assert_int_equal(read_in_kernel(&machine, first + 1020, result), -1);
    assert_int_equal(read_in_kernel(&machine, first + 1024, result), RUNG_EMULATOR_OUT_OF_BOUNDS);
    assert_int_equal(read_in_kernel(&machine, first + 4096, result), RUNG_EMULATOR_OUT_OF_BOUNDS);
    assert_int_equal(read_in_kernel(&machine, second - 4096, result), RUNG_EMULATOR_OUT_OF_BOUNDS);
    uint64_t third = allocate(&machine, 4);
    assert_true(third >= second + (2 << 20));
    rung_emulator_destroy(machine.emulator);
}

#define EXCHANGE_KERNEL(use)                                                                                  \
    PTX_HEADER ".visible .entry k(.param .u64 from, .param .u64 to)\n{\n.reg .b64 %rd<3>; .reg .b32 %r<3>;\n" \
               "ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\nmov.u32 %r2, 5;\n"                      \
               "atom.global.exch.b32 %r1, [%rd1], %r2;\n" use "ret;\n}\n"

/* An exchange reads memory that nobody has written only if its result is used. */
static void exchanges_may_only_store(void **state)
{
    (void)state;
    machine_t machine = create(EXCHANGE_KERNEL(""), 1, RUNG_EMULATOR_CHECK_ALL);
    uint64_t x = allocate(&machine, 4), y = allocate(&machine, 4);
    uint32_t value;
    assert_int_equal(read_in_kernel(&machine, x, y), -1);
    assert_int_equal(rung_emulator_read(machine.emulator, x, &value, 4), RUNG_OK);
    assert_int_equal(value, 5);
    rung_emulator_destroy(machine.emulator);
    machine = create(EXCHANGE_KERNEL("st.global.u32 [%rd2], %r1;\n"), 1, RUNG_EMULATOR_CHECK_ALL);
    x = allocate(&machine, 4);
    y = allocate(&machine, 4);
    assert_int_equal(read_in_kernel(&machine, x, y), RUNG_EMULATOR_UNINITIALIZED);
    rung_emulator_destroy(machine.emulator);
}

/* A loop adds to a register, which `start` sets or not. */
#define SUM_KERNEL(start)                                                                                     \
    PTX_HEADER ".visible .entry k(.param .u64 from, .param .u64 to)\n{\n.reg .b64 %rd<3>; .reg .b32 %r<4>;\n" \
               ".reg .f32 %f<4>; .reg .pred %p1;\nld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [to];\n"     \
               "mov.u32 %r1, 0;\n" start "LOOP: ld.global.f32 %f1, [%rd1];\nfma.rn.f32 %f3, %f1, %f1, %f2;\n" \
               "mov.f32 %f2, %f3;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 bra LOOP;\n"          \
               "st.global.f32 [%rd2], %f2;\nret;\n}\n"

static void finds_registers_without_values(void **state)
{
    (void)state;
    const char *const texts[] = {SUM_KERNEL(""), SUM_KERNEL("mov.f32 %f2, 0f00000000;\n")};
    for (int i = 0; i < 2; i++) {
        machine_t machine = create(texts[i], 1, RUNG_EMULATOR_CHECK_ALL);
        uint64_t x = allocate(&machine, 4), y = allocate(&machine, 4);
        rung_emulator_fill(machine.emulator, x, 0x40000000, 4, 1);
        assert_int_equal(read_in_kernel(&machine, x, y), i == 0 ? RUNG_EMULATOR_UNINITIALIZED : -1);
        rung_emulator_destroy(machine.emulator);
    }
}

/* Launches with `threads` threads, which exceed a limit. */
static void expect_limit(const char *text, uint32_t threads)
{
    machine_t machine = create(text, 1, RUNG_EMULATOR_CHECK_ALL);
    uint64_t x = allocate(&machine, 4);
    void *arguments[] = {&x, &x};
    rung_emulator_launch launch = rung_emulator_launch_of(1, threads, arguments);
    assert_int_equal(rung_emulator_launch_kernel(machine.kernel, &launch), RUNG_STATUS_INVALID);
    assert_int_equal(rung_emulator_finding_count(machine.emulator), 1);
    const rung_emulator_finding *finding = rung_emulator_finding_at(machine.emulator, 0);
    assert_int_equal(finding->kind, RUNG_EMULATOR_LIMIT);
    assert_string_equal(finding->text, rung_error_text());
    rung_emulator_destroy(machine.emulator);
}

static void limits_are_findings(void **state)
{
    (void)state;
    expect_limit(read_word, 2048);
    expect_limit(PTX_HEADER ".shared .b8 large[49156];\n.visible .entry k(.param .u64 from, .param .u64 to)\n{\n"
                            ".reg .b32 %r1;\nld.shared.u32 %r1, [large];\nst.shared.u32 [large], %r1;\nret;\n}\n",
                 32);
}

/* "_" in a vector is as wide as the registers beside it, which are wider than the elements here. */
static void vectors_may_have_unused_elements(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        "mov.u32 %r4, 0x00020001; mov.u32 %r5, 0x00040003; st.global.u32 [%rd0], %r4; st.global.u32 [%rd0+4], %r5;\n"
        "ld.global.v4.u16 {%r0, %r1, %r2, _}, [%rd0]; ld.global.v4.u16 {_, _, _, %r3}, [%rd0];\n"
        "st.global.u32 [%rd0], %r0; st.global.u32 [%rd0+4], %r1; st.global.u32 [%rd0+8], %r2;\n"
        "st.global.u32 [%rd0+12], %r3; ret; }\n";
    uint32_t out[4];
    (void)state;
    run_t run = run_ptx(text, 1, out, 4, 0, 1000000);
    assert_int_equal(run.status, RUNG_OK);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(out[i], i + 1);
}

static void conversions_take_constants(void **state)
{
    static const char text[] = PTX_HEADER PTX_KERNEL
        "cvt.rn.f32.s32 %r0, -5; st.global.b32 [%rd0], %r0;\n"
        "cvt.rzi.s32.f32 %r1, 0f40600000; st.global.b32 [%rd0+4], %r1; ret; }\n";
    uint32_t out[2];
    (void)state;
    assert_int_equal(run_ptx(text, 1, out, 2, 0, 1000000).status, RUNG_OK);
    assert_int_equal(out[0], 0xc0a00000); /* -5.0 */
    assert_int_equal(out[1], 3);          /* of 3.5 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_stale_pointers),
                                       cmocka_unit_test(reuses_addresses),
                                       cmocka_unit_test(conversions_take_constants),
                                       cmocka_unit_test(refuses_what_does_not_fit),
                                       cmocka_unit_test(vectors_may_have_unused_elements),
                                       cmocka_unit_test(copies_land_at_the_wait),
                                       cmocka_unit_test(atomics_are_deterministic),
                                       cmocka_unit_test(separates_allocations),
                                       cmocka_unit_test(exchanges_may_only_store),
                                       cmocka_unit_test(finds_registers_without_values),
                                       cmocka_unit_test(limits_are_findings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
