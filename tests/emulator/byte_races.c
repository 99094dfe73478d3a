/* SPDX-License-Identifier: Apache-2.0 */
/* byte_races.c - races on parts of a word: four accesses of 1, 2 or 4 bytes by up to four lanes, compared with a list of all
 * pairs. Nothing orders the lanes. */
#include "support/unit.h"

#include <stdio.h>

#include "rung/emulator.h"

enum { STEPS = 4, LAUNCHES = 6000 };

/* What a lane can do with the word. */
static const struct {
    const char *type;
    uint32_t offset, bytes;
} parts[] = {{"u8", 0, 1}, {"u8", 1, 1}, {"u8", 2, 1}, {"u8", 3, 1}, {"u16", 0, 2}, {"u16", 2, 2}, {"u32", 0, 4}};
enum { PART_COUNT = sizeof parts / sizeof *parts, ACTION_COUNT = 2 * PART_COUNT /* reads, then writes */ };

/* One access by one lane. */
typedef struct step {
    uint32_t lane, action;
} step_t;

static const char *const spaces[] = {"shared", "global"};

/* Writes a kernel of 32 threads. Parameter s of the kernel is (lane << 8 | action) of step s. Each lane stores other values. */
static void write_kernel(char *text, size_t capacity, const char *space)
{
    size_t used = (size_t)snprintf(text, capacity,
                                   ".version 8.3\n.target sm_86\n.address_size 64\n.visible .entry k(.param .u64 out, "
                                   ".param .u32 s0, .param .u32 s1, .param .u32 s2, .param .u32 s3)\n{\n"
                                   ".reg .pred %%p; .reg .b32 %%r<8>; .reg .b16 %%h<4>; .reg .b64 %%out;\n"
                                   ".shared .align 4 .b8 word[4];\nld.param.u64 %%out, [out];\n"
                                   "mov.u32 %%r0, %%laneid;\nshl.b32 %%r0, %%r0, 8;\nmov.u32 %%r1, %%laneid;\n"
                                   "mul.lo.u32 %%r1, %%r1, 0x01010101;\nadd.u32 %%r1, %%r1, 0x01010101;\n"
                                   "cvt.u16.u32 %%h1, %%r1;\n");
    for (int step = 0; step < STEPS; step++) {
        used += (size_t)snprintf(text + used, capacity - used, "ld.param.u32 %%r2, [s%d];\n", step);
        for (int action = 0; action < ACTION_COUNT; action++) {
            int part = action % PART_COUNT;
            bool is_word = parts[part].bytes == 4, is_write = action >= PART_COUNT;
            char address[16], access[64];
            snprintf(address, sizeof address, "[%s+%u]", space[0] == 's' ? "word" : "%out", parts[part].offset);
            if (is_write)
                snprintf(access, sizeof access, "st.%s.%s %s, %s", space, parts[part].type, address,
                         is_word ? "%r1" : "%h1");
            else
                snprintf(access, sizeof access, "ld.%s.%s %s, %s", space, parts[part].type, is_word ? "%r3" : "%h3",
                         address);
            used += (size_t)snprintf(text + used, capacity - used,
                                     "add.u32 %%r4, %%r0, %d;\nsetp.eq.u32 %%p, %%r4, %%r2;\n@%%p %s;\n", action,
                                     access);
        }
    }
    used += (size_t)snprintf(text + used, capacity - used, "ret;\n}\n");
    assert_true(used < capacity);
}

static bool do_race(const step_t *a, const step_t *b)
{
    uint32_t x = a->action % PART_COUNT, y = b->action % PART_COUNT;
    bool overlaps = parts[x].offset < parts[y].offset + parts[y].bytes &&
                    parts[y].offset < parts[x].offset + parts[x].bytes;
    return overlaps && a->lane != b->lane && (a->action >= PART_COUNT || b->action >= PART_COUNT);
}

static bool has_race(const step_t steps[STEPS])
{
    for (int i = 0; i < STEPS; i++)
        for (int j = 0; j < i; j++)
            if (do_race(&steps[i], &steps[j]))
                return true;
    return false;
}

static void describe(const char *space, const step_t steps[STEPS], char *text, size_t capacity)
{
    size_t used = (size_t)snprintf(text, capacity, "%s:", space);
    for (int i = 0; i < STEPS && used < capacity; i++)
        used += (size_t)snprintf(text + used, capacity - used, " lane %u %s %s at %u;", steps[i].lane,
                                 steps[i].action >= PART_COUNT ? "writes" : "reads",
                                 parts[steps[i].action % PART_COUNT].type, parts[steps[i].action % PART_COUNT].offset);
}

/* Launches the steps once. Returns the number of findings. */
static int64_t launch(rung_emulator *emulator, rung_emulator_kernel *kernel, uint64_t address,
                      const step_t steps[STEPS])
{
    uint32_t codes[STEPS];
    for (int i = 0; i < STEPS; i++)
        codes[i] = steps[i].lane << 8 | steps[i].action;
    void *arguments[] = {&address, &codes[0], &codes[1], &codes[2], &codes[3]};
    rung_emulator_launch launch = rung_emulator_launch_of(1, 32, arguments);
    assert_int_equal(rung_emulator_launch_kernel(kernel, &launch), RUNG_OK);
    int64_t count = rung_emulator_finding_count(emulator);
    rung_emulator_findings_clear(emulator);
    return count;
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static void compare_with_all_pairs(const char *space)
{
    static char text[1 << 15];
    rung_emulator *emulator;
    rung_emulator_module *module;
    rung_emulator_kernel *kernel;
    uint64_t address, random = 1;
    int races = 0;
    rung_emulator_options options = rung_emulator_options_default();
    options.threads = 1;
    options.checks = RUNG_EMULATOR_CHECK_RACES;
    options.memory_bytes = 1 << 20;
    write_kernel(text, sizeof text, space);
    assert_int_equal(rung_emulator_create(&options, &emulator), RUNG_OK);
    if (rung_emulator_module_load(emulator, "test.ptx", text, strlen(text), &module) != RUNG_OK)
        fail_msg("%s\n%s", rung_error_text(), text);
    assert_int_equal(rung_emulator_kernel_find(module, "k", &kernel), RUNG_OK);
    assert_int_equal(rung_emulator_allocate(emulator, 4, "out", &address), RUNG_OK);
    for (int i = 0; i < LAUNCHES; i++) {
        step_t steps[STEPS];
        for (int step = 0; step < STEPS; step++)
            steps[step] = (step_t){next_random(&random) % STEPS, next_random(&random) % ACTION_COUNT};
        int64_t found = launch(emulator, kernel, address, steps);
        races += has_race(steps);
        if ((found > 0) == has_race(steps))
            continue;
        char description[256];
        describe(space, steps, description, sizeof description);
        fail_msg("%lld findings; %s", (long long)found, description);
    }
    assert_true(races > LAUNCHES / 4 && races < LAUNCHES);
    rung_emulator_destroy(emulator);
}

static void every_part_of_a_word_has_its_accesses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        compare_with_all_pairs(spaces[i]);
}

int main(void)
{
    unit_clean_environment();
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_part_of_a_word_has_its_accesses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
