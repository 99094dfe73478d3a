/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_races.c - global memory that blocks exchange: what orders the blocks of one cluster does not order the blocks of
 * different clusters. */
#include "support/unit.h"

#include <stdio.h>

#include "rung/emulator.h"

#define SYNC "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
#define RELAXED "barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"

/* Begins a kernel with %b = number of the block, %x = ctaid.x, %q = rank in the cluster, %rd0 = out, %r1 = %h1 = 1. */
static const char prologue[] =
    ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
    ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b16 %h<4>; .reg .b32 %b, %x, %q; .reg .b64 %rd<8>;\n"
    "mov.u32 %x, %ctaid.x;\nmov.u32 %r1, %ctaid.y;\nmov.u32 %r0, %nctaid.x;\nmad.lo.u32 %b, %r1, %r0, %x;\n"
    "mov.u32 %q, %cluster_ctarank;\nld.param.u64 %rd0, [out];\nmov.u16 %h1, 1;\nmov.u32 %r1, 1;\n";

static uint32_t block_threads = 1;

/* Runs a kernel. Returns the number of races; *first is the first of them. */
static int64_t run(const char *body, const uint32_t grid[2], const uint32_t cluster[2], int64_t threads,
                   rung_emulator_finding *first)
{
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t address;
    char text[4096];
    snprintf(text, sizeof text, "%s%sret;\n}\n", prologue, body);
    rung_emulator_options options = rung_emulator_options_default();
    options.threads = threads;
    options.checks = RUNG_EMULATOR_CHECK_ALL;
    options.memory_bytes = 1 << 26;
    options.max_instructions = 100 * 1000;
    assert_int_equal(rung_emulator_create(&options, &emulator), RUNG_OK);
    if (rung_emulator_module_load(emulator, "test.ptx", text, strlen(text), &module) != RUNG_OK)
        fail_msg("%s\n%s", rung_error_text(), text);
    assert_int_equal(rung_emulator_kernel_find(module, "k", &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, 4096, "out", &address), RUNG_OK);
    assert_int_equal(rung_emulator_fill(emulator, address, 0, 4, 1024), RUNG_OK);
    void *arguments[] = {&address};
    rung_emulator_launch launch = rung_emulator_launch_of(grid[0], block_threads, arguments);
    launch.grid[1] = grid[1];
    launch.cluster[0] = cluster[0];
    launch.cluster[1] = cluster[1];
    if (rung_emulator_launch_kernel(kernel, &launch) != RUNG_OK)
        fail_msg("%s\n%s", rung_error_text(), text);
    int64_t races = 0, count = rung_emulator_finding_count(emulator);
    for (int64_t i = 0; i < count; i++) {
        const rung_emulator_finding *finding = rung_emulator_finding_at(emulator, i);
        if (finding->kind != RUNG_EMULATOR_RACE)
            fail_msg("%s\n%s", finding->text, text);
        if (races++ == 0)
            *first = *finding;
    }
    first->text = first->kernel = NULL; /* they belong to the emulator */
    rung_emulator_destroy(emulator);
    return races;
}

/* Runs a kernel with one and with three threads of the host. */
static void expect(const char *body, const uint32_t grid[2], const uint32_t cluster[2], bool has_race)
{
    for (int64_t threads = 1; threads <= 3; threads += 2) {
        rung_emulator_finding first;
        int64_t races = run(body, grid, cluster, threads, &first);
        if ((races > 0) != has_race)
            fail_msg("%lld races with %lld threads, clusters of %u x %u in\n%s", (long long)races, (long long)threads,
                     cluster[0], cluster[1], body);
    }
}

/* ---- Exchange ------------------------------------------------------------------------------------------------------ */

/* Each block writes its element, synchronizes, and reads the element of another block. */
static void expect_exchange(const char *type, int bytes, const char *sync, const char *partner, const uint32_t grid[2],
                            const uint32_t cluster[2], bool has_race)
{
    char body[1024];
    const char *value = bytes < 4 ? "%h1" : "%r1";
    snprintf(body, sizeof body,
             "%s" /* sets %%r2 to the number of the other block */
             "mul.wide.u32 %%rd1, %%b, %d;\nadd.s64 %%rd1, %%rd0, %%rd1;\nst.global.%s [%%rd1], %s;\n"
             "%s"
             "mul.wide.u32 %%rd2, %%r2, %d;\nadd.s64 %%rd2, %%rd0, %%rd2;\nld.global.%s %s, [%%rd2];\n",
             partner, bytes, type, value, sync, bytes, type, value);
    expect(body, grid, cluster, has_race);
}

static const uint32_t row[2] = {8, 1}, pairs[2] = {2, 1}, square[2] = {2, 2}, columns[2] = {1, 2}, none[2] = {0, 0};
static const char neighbor[] = "xor.b32 %r2, %b, 1;\n"; /* of the same cluster in `row`, of another one in `square` */
static const char second[] = "xor.b32 %r2, %b, 2;\n";   /* the other way round */

static const struct {
    const char *type;
    int bytes;
} elements[] = {{"u8", 1}, {"u16", 2}, {"u32", 4}};

static void barriers_order_the_blocks_of_a_cluster(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        expect_exchange(elements[i].type, elements[i].bytes, SYNC, neighbor, row, pairs, false);
        expect_exchange(elements[i].type, elements[i].bytes, SYNC, second, square, columns, false);
        expect_exchange(elements[i].type, elements[i].bytes, "fence.acq_rel.cluster;\n" RELAXED, neighbor, row, pairs,
                        false);
    }
}

static void nothing_else_orders_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        expect_exchange(elements[i].type, elements[i].bytes, RELAXED, neighbor, row, pairs, true);
        expect_exchange(elements[i].type, elements[i].bytes, "bar.sync 0;\n", neighbor, row, pairs, true);
        expect_exchange(elements[i].type, elements[i].bytes, "membar.cta;\n" RELAXED, neighbor, row, pairs, true);
        expect_exchange(elements[i].type, elements[i].bytes, "fence.acq_rel.cta;\n" RELAXED, neighbor, row, pairs,
                        true);
    }
}

static void barriers_do_not_order_clusters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) {
        expect_exchange(elements[i].type, elements[i].bytes, SYNC, second, row, pairs, true);
        expect_exchange(elements[i].type, elements[i].bytes, SYNC, neighbor, square, columns, true);
        expect_exchange(elements[i].type, elements[i].bytes, SYNC, neighbor, row, none, true);
    }
}

/* ---- Other patterns ------------------------------------------------------------------------------------------------ */

static void accesses_of_bytes_and_words_conflict(void **state)
{
    (void)state;
    static const char *const syncs[] = {SYNC, RELAXED};
    for (int by_bytes = 0; by_bytes < 2; by_bytes++)
        for (int relaxed = 0; relaxed < 2; relaxed++) {
            char body[1024];
            snprintf(body, sizeof body,
                     "setp.ne.u32 %%p0, %%q, 0;\n"
                     "@!%%p0 %s;\n%s@%%p0 %s;\n",
                     by_bytes ? "st.global.u8 [%rd0+2], %h1" : "st.global.u32 [%rd0], %r1", syncs[relaxed],
                     by_bytes ? "ld.global.u32 %r1, [%rd0]" : "ld.global.u16 %h1, [%rd0+2]");
            expect(body, pairs, pairs, relaxed);
        }
}

/* The reads of two blocks come before the write of a third. Only one reader has arrived with .release. */
static void each_reader_counts(void **state)
{
    (void)state;
    const uint32_t three[2] = {3, 1};
    for (uint32_t late = 0; late < 3; late++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "setp.eq.u32 %%p0, %%q, 2;\nsetp.eq.u32 %%p1, %%q, %u;\n"
                 "@!%%p0 ld.global.u32 %%r1, [%%rd0];\n"
                 "@%%p1 barrier.cluster.arrive.relaxed;\n@!%%p1 barrier.cluster.arrive.release;\n"
                 "barrier.cluster.wait.acquire;\n@%%p0 st.global.u32 [%%rd0], %%r1;\n",
                 late);
        expect(body, three, three, late < 2);
    }
}

/* Blocks 0 and 2 are a cluster and write in order. Block 1 writes, too. */
static void a_block_between_those_of_a_cluster_is_seen(void **state)
{
    (void)state;
    static const char between[] = "setp.eq.u32 %p0, %b, 2;\nsetp.lt.u32 %p1, %b, LAST;\n"
                                  "@%p1 st.global.u32 [%rd0], %r1;\n" SYNC "@%p0 st.global.u32 [%rd0], %r1;\n";
    for (int has_race = 0; has_race < 2; has_race++) {
        char body[sizeof between];
        memcpy(body, between, sizeof between);
        memcpy(strstr(body, "LAST"), has_race ? "   2" : "   1", 4);
        expect(body, square, columns, has_race);
    }
}

/* In cluster 0, rank 0 writes with an atomic and then rank 1 without. In cluster 1, rank 0 writes with an atomic. */
static void weak_writes_of_any_rank_count(void **state)
{
    (void)state;
    static const char body[] = "setp.eq.u32 %p0, %q, 0;\nsetp.eq.u32 %p1, %b, 1;\n"
                               "@%p0 red.global.add.u32 [%rd0], %r1;\n" SYNC "@%p1 st.global.u32 [%rd0], %r1;\n";
    const uint32_t two[2] = {2, 1}, four[2] = {4, 1};
    expect(body, two, pairs, false);
    expect(body, four, pairs, true);
}

/* In each block, thread 0 writes and thread 32 reads: what orders the block is enough. */
static void a_fence_of_the_block_orders_the_block(void **state)
{
    (void)state;
    static const struct {
        const char *sync;
        bool has_race;
    } cases[] = {{"membar.cta;\n" RELAXED, false}, {"membar.gl;\n" RELAXED, false}, {RELAXED, true}};
    block_threads = 64;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "mov.u32 %%r2, %%tid.x;\nsetp.eq.u32 %%p0, %%r2, 0;\nsetp.eq.u32 %%p1, %%r2, 32;\n"
                 "mul.wide.u32 %%rd1, %%b, 4;\nadd.s64 %%rd1, %%rd0, %%rd1;\n@%%p0 st.global.u32 [%%rd1], %%r1;\n"
                 "%s@%%p1 ld.global.u32 %%r1, [%%rd1];\n",
                 cases[i].sync);
        expect(body, row, pairs, cases[i].has_race);
    }
    block_threads = 1;
}

/* Each block writes an element, arrives at an mbarrier of block 0 and block 0 reads all of them. */
static void mbarriers_of_another_block_need_a_fence_of_the_cluster(void **state)
{
    (void)state;
    static const struct {
        const char *fence, *arrive;
        bool has_race;
    } cases[] = {{"", "release", false},
                 {"fence.acq_rel.cluster;\n", "relaxed", false},
                 {"membar.cta;\n", "relaxed", true},
                 {"", "relaxed", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[2048];
        snprintf(body, sizeof body,
                 ".shared .align 8 .b64 barrier;\n"
                 "mov.u32 %%r2, barrier;\nsetp.eq.u32 %%p0, %%q, 0;\n"
                 "@%%p0 mbarrier.init.shared.b64 [%%r2], 2;\n" SYNC
                 "mul.wide.u32 %%rd1, %%b, 4;\nadd.s64 %%rd1, %%rd0, %%rd1;\nst.global.u32 [%%rd1], %%r1;\n"
                 "%smov.u32 %%r3, 0;\nmapa.shared::cluster.u32 %%r4, %%r2, %%r3;\n"
                 "mbarrier.arrive.%s.cluster.shared::cluster.b64 _, [%%r4];\n@!%%p0 bra DONE;\nWAIT:\n"
                 "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %%p1, [%%r2], 0;\n@!%%p1 bra WAIT;\n"
                 "ld.global.u32 %%r1, [%%rd1+4];\nDONE:\n" SYNC,
                 cases[i].fence, cases[i].arrive);
        expect(body, pairs, pairs, cases[i].has_race);
    }
}

/* A block initializes a counter that both blocks then increment. */
static void atomics_race_with_the_initialization(void **state)
{
    (void)state;
    static const char *const syncs[] = {SYNC, ""};
    for (int has_race = 0; has_race < 2; has_race++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "setp.eq.u32 %%p0, %%q, 0;\n@%%p0 st.global.u32 [%%rd0], 0;\n%s"
                 "red.global.add.u32 [%%rd0], %%r1;\n",
                 syncs[has_race]);
        expect(body, pairs, pairs, has_race);
    }
}

/* The last of two blocks, by an atomic counter, reads what the other wrote. */
static void fences_and_atomics_order_them(void **state)
{
    (void)state;
    static const struct {
        const char *fence;
        bool has_race;
    } cases[] = {{"membar.gl;\n", false}, {"fence.acq_rel.cluster;\n", false}, {"membar.cta;\n", true}, {"", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "mul.wide.u32 %%rd1, %%b, 4;\nadd.s64 %%rd1, %%rd0, %%rd1;\n"
                 "st.global.u32 [%%rd1+64], %%r1;\n%s"
                 "atom.global.add.u32 %%r3, [%%rd0], %%r1;\nsetp.eq.u32 %%p0, %%r3, 1;\n%s"
                 "xor.b32 %%r2, %%b, 1;\nmul.wide.u32 %%rd2, %%r2, 4;\nadd.s64 %%rd2, %%rd0, %%rd2;\n"
                 "@%%p0 ld.global.u32 %%r1, [%%rd2+64];\n",
                 cases[i].fence, cases[i].fence);
        expect(body, pairs, pairs, cases[i].has_race);
    }
}

/* The blocks of a cluster write and meet at the barrier. One of them then increments a counter; the last block of the grid
 * to do so reads the data of all. */
static void a_block_releases_what_its_cluster_has_written(void **state)
{
    (void)state;
    static const char *const syncs[] = {SYNC, RELAXED};
    const uint32_t four[2] = {4, 1};
    for (int has_race = 0; has_race < 2; has_race++) {
        char body[1024];
        snprintf(body, sizeof body,
                 "mul.wide.u32 %%rd1, %%b, 4;\nadd.s64 %%rd1, %%rd0, %%rd1;\n"
                 "st.global.u32 [%%rd1+64], %%r1;\n%ssetp.eq.u32 %%p0, %%q, 0;\n@!%%p0 bra DONE;\nmembar.gl;\n"
                 "atom.global.add.u32 %%r3, [%%rd0], %%r1;\nsetp.eq.u32 %%p1, %%r3, 1;\nmembar.gl;\n"
                 "@%%p1 ld.global.u32 %%r1, [%%rd0+68];\nDONE:\n",
                 syncs[has_race]);
        expect(body, four, pairs, has_race);
    }
}

static void findings_name_the_blocks(void **state)
{
    (void)state;
    static const char body[] = "setp.eq.u32 %p0, %x, 1;\n@%p0 st.global.u32 [%rd0], %r1;\n";
    rung_emulator_finding finding;
    assert_int_equal(run(body, square, columns, 1, &finding), 1); /* blocks (1, 0) and (1, 1) of one cluster */
    assert_int_equal(finding.place.block[0], 1);
    assert_int_equal(finding.other.block[0], 1);
    assert_int_equal(finding.place.block[1] + finding.other.block[1], 1);
    const uint32_t rows[2] = {2, 1};
    assert_int_equal(run(body, square, rows, 1, &finding), 1); /* the same blocks, of two clusters */
    assert_int_equal(finding.place.block[0], 1);
    assert_int_equal(finding.other.block[0], 1);
    assert_int_equal(finding.place.block[1] + finding.other.block[1], 1);
}

int main(void)
{
    unit_clean_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barriers_order_the_blocks_of_a_cluster),
        cmocka_unit_test(nothing_else_orders_them),
        cmocka_unit_test(barriers_do_not_order_clusters),
        cmocka_unit_test(accesses_of_bytes_and_words_conflict),
        cmocka_unit_test(each_reader_counts),
        cmocka_unit_test(a_block_between_those_of_a_cluster_is_seen),
        cmocka_unit_test(weak_writes_of_any_rank_count),
        cmocka_unit_test(a_fence_of_the_block_orders_the_block),
        cmocka_unit_test(mbarriers_of_another_block_need_a_fence_of_the_cluster),
        cmocka_unit_test(atomics_race_with_the_initialization),
        cmocka_unit_test(fences_and_atomics_order_them),
        cmocka_unit_test(a_block_releases_what_its_cluster_has_written),
        cmocka_unit_test(findings_name_the_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
