/* SPDX-License-Identifier: Apache-2.0 */
/* issue_simulator.c - the simulation of a multiprocessor gives the clocks that can be worked out by hand. */
#include "explain/issue_simulator.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { INSTRUCTIONS_MAX = 64 };

/* A loop under construction. */
typedef struct program {
    lab_loop_instruction code[INSTRUCTIONS_MAX];
    lab_access_cost costs[INSTRUCTIONS_MAX];
    int count;
} program_t;

/* Two FP32 units that take an instruction every second clock, as on sm_86. */
static const lab_issue_machine ampere = {.fma_units = 2,
                                         .fma_clocks = 2,
                                         .alu_clocks = 2,
                                         .fp64_clocks = 64,
                                         .tensor_rate = 64,
                                         .shared_latency = 20,
                                         .global_latency = 200,
                                         .l2_bytes = 64,
                                         .barrier_latency = 10,
                                         .queue_entries = 8};

static lab_loop_instruction *add(program_t *program, lab_sass_unit unit, int stall)
{
    lab_loop_instruction *added = &program->code[program->count++];
    *added = (lab_loop_instruction){.unit = unit,
                                    .stall = stall,
                                    .write_scoreboard = LAB_NO_SCOREBOARD,
                                    .read_scoreboard = LAB_NO_SCOREBOARD,
                                    .source = {LAB_NO_REGISTER, LAB_NO_REGISTER, LAB_NO_REGISTER}};
    return added;
}

static void add_multiplies(program_t *program, int count, int stall)
{
    for (int i = 0; i < count; i++)
        add(program, LAB_UNIT_FMA, stall)->multiply_adds = 32;
}

static lab_loop_instruction *add_load(program_t *program, double pipe_clocks, int scoreboard)
{
    lab_loop_instruction *load = add(program, LAB_UNIT_MEMORY, 1);
    load->move = LAB_MEMORY_OP_SHARED_LOAD;
    load->write_scoreboard = scoreboard;
    program->costs[program->count - 1].pipe_clocks = pipe_clocks;
    return load;
}

static lab_issue_result simulate(const lab_issue_machine *machine, const program_t *program, int warps, int blocks)
{
    lab_issue_result result;
    lab_issue_loop loop = {.code = program->code,
                           .costs = program->costs,
                           .count = program->count,
                           .repeats = 1,
                           .warps = warps,
                           .blocks = blocks};
    assert_true(lab_simulate_issue(machine, &loop, &result));
    return result;
}

static void assert_about(double got, double expected)
{
    if (!(fabs(got - expected) <= 0.03 * expected))
        fail_msg("%.6g is not about %.6g", got, expected);
}

/* Eight independent multiply-adds of one warp per scheduler: one per clock. */
static void independent_multiplies_issue_every_clock(void **state)
{
    program_t program = {.count = 0};
    (void)state;
    add_multiplies(&program, 8, 1);
    lab_issue_result result = simulate(&ampere, &program, 4, 1);
    assert_about(result.clocks, 8);
    assert_about(result.math_busy, 1);
    assert_about(result.issue_busy, 1);
}

/* With one FP32 unit, as on sm_75, every second clock; the other slots are free for loads. */
static void one_unit_takes_every_second_clock(void **state)
{
    lab_issue_machine turing = ampere;
    program_t program = {.count = 0};
    (void)state;
    turing.fma_units = 1;
    add_multiplies(&program, 8, 1);
    lab_issue_result result = simulate(&turing, &program, 4, 1);
    assert_about(result.clocks, 16);
    assert_about(result.math_busy, 1);
    assert_about(result.issue_busy, 0.5);
}

/* A chain of dependent multiply-adds stalls four clocks each; four warps per scheduler hide that. */
static void other_warps_hide_stalls(void **state)
{
    program_t program = {.count = 0};
    (void)state;
    add_multiplies(&program, 8, 4);
    assert_about(simulate(&ampere, &program, 4, 1).clocks, 32);
    assert_about(simulate(&ampere, &program, 16, 1).clocks, 32);
    assert_about(simulate(&ampere, &program, 16, 1).math_busy, 1);
}

/* One warp loads and waits for the data: 2 clocks to the pipe, 4 in it, 19 more to the registers. */
static void a_scoreboard_waits_for_its_load(void **state)
{
    program_t program = {.count = 0};
    (void)state;
    add_load(&program, 4, 0);
    add_multiplies(&program, 1, 1);
    program.code[1].wait_mask = 1;
    assert_about(simulate(&ampere, &program, 1, 1).clocks, 2 + 4 + 19 + 1);
    program.code[1].wait_mask = 2; /* another scoreboard: the pipe alone limits */
    assert_about(simulate(&ampere, &program, 1, 1).clocks, 4);
}

/* All warps share the pipe: 16 loads of 4 clocks per iteration of the block. */
static void the_pipe_serves_all_schedulers(void **state)
{
    program_t program = {.count = 0};
    (void)state;
    add_load(&program, 4, 0);
    add_multiplies(&program, 8, 1);
    lab_issue_result result = simulate(&ampere, &program, 16, 1);
    assert_about(result.clocks, 64);
    assert_about(result.pipe_busy, 1);
    assert_true(result.queue_stalls > 0.1);
}

/* A load from global memory takes its latency after the tags and the path from L2: 128 bytes at 64 per clock. */
static void global_loads_pass_the_tags_and_l2(void **state)
{
    program_t program = {.count = 0};
    (void)state;
    add_load(&program, 2, 0)->move = LAB_MEMORY_OP_GLOBAL_LOAD;
    program.costs[0].tag_clocks = 4;
    program.costs[0].l2_bytes = 128;
    add_multiplies(&program, 1, 1);
    program.code[1].wait_mask = 1;
    assert_about(simulate(&ampere, &program, 1, 1).clocks, 2 + 4 + 2 + 200 + 1);
}

/* Copies run ahead: with one group in flight, an iteration takes half of the latency. */
static void a_wait_lets_groups_remain(void **state)
{
    program_t program = {.count = 0};
    (void)state;
    add_load(&program, 2, LAB_NO_SCOREBOARD)->move = LAB_MEMORY_OP_GLOBAL_COPY;
    program.costs[0].tag_clocks = 1;
    add(&program, LAB_UNIT_COPY_GROUP, 1)->write_scoreboard = 0;
    lab_loop_instruction *wait = add(&program, LAB_UNIT_WAIT, 1);
    double alone = simulate(&ampere, &program, 1, 1).clocks;
    wait->wait_remaining = 1;
    assert_true(alone > 200);
    assert_about(simulate(&ampere, &program, 1, 1).clocks, alone / 2);
}

/* The warp that arrives last releases all: two warps, one of which has a scheduler of its own. */
static void a_barrier_waits_for_every_warp(void **state)
{
    program_t program = {.count = 0};
    (void)state;
    add_multiplies(&program, 5, 1);
    add(&program, LAB_UNIT_BARRIER, 1);
    assert_about(simulate(&ampere, &program, 2, 1).clocks, 5 + 10);
    assert_about(simulate(&ampere, &program, 8, 1).clocks, 11 + 10); /* two warps per scheduler */
}

/* Three operands in the same bank take one clock more, unless one is kept from the instruction before. */
static void operands_of_one_bank_take_longer(void **state)
{
    program_t program = {.count = 0};
    (void)state;
    add_multiplies(&program, 2, 1);
    for (int i = 0; i < 2; i++)
        memcpy(program.code[i].source, (unsigned char[]){2, 4, 6}, 3);
    assert_about(simulate(&ampere, &program, 4, 1).clocks, 4);
    program.code[0].reuse = 1;
    assert_about(simulate(&ampere, &program, 4, 1).clocks, 3);
    program.code[0].source[0] = 8; /* another register was kept */
    assert_about(simulate(&ampere, &program, 4, 1).clocks, 4);
}

/* An instruction of the matrix engine with 2,048 multiply-adds, at 64 per clock. */
static void the_matrix_engine_has_its_rate(void **state)
{
    program_t program = {.count = 0};
    (void)state;
    add(&program, LAB_UNIT_TENSOR, 1)->multiply_adds = 2048;
    lab_issue_result result = simulate(&ampere, &program, 8, 2);
    assert_about(result.clocks, 64);
    assert_about(result.math_busy, 1);
}

/* An inner loop of two instructions, executed four times, between one instruction before and one after it. */
static void an_inner_loop_is_repeated(void **state)
{
    program_t program = {.count = 0};
    lab_issue_result result;
    (void)state;
    add_multiplies(&program, 4, 1);
    lab_issue_loop loop = {program.code, program.costs, 4, .repeat_begin = 1, .repeat_end = 3, .repeats = 4, 4, 1};
    assert_true(lab_simulate_issue(&ampere, &loop, &result));
    assert_about(result.clocks, 1 + 4 * 2 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(independent_multiplies_issue_every_clock),
        cmocka_unit_test(one_unit_takes_every_second_clock),
        cmocka_unit_test(other_warps_hide_stalls),
        cmocka_unit_test(a_scoreboard_waits_for_its_load),
        cmocka_unit_test(the_pipe_serves_all_schedulers),
        cmocka_unit_test(global_loads_pass_the_tags_and_l2),
        cmocka_unit_test(a_wait_lets_groups_remain),
        cmocka_unit_test(a_barrier_waits_for_every_warp),
        cmocka_unit_test(operands_of_one_bank_take_longer),
        cmocka_unit_test(the_matrix_engine_has_its_rate),
        cmocka_unit_test(an_inner_loop_is_repeated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
