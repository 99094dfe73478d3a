/* SPDX-License-Identifier: Apache-2.0 */
/* loop_simulation.c - sets up the issue simulation of a kernel's hottest loop: the units of the GPU, and the cost of each
 * memory instruction from the counts of its source line. */
#include "explain/loop_simulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, SCHEDULERS = 4 };

/* Memory instructions that wait per scheduler before the warps stall. */
enum { QUEUE_ENTRIES = 8 };

static lab_issue_machine issue_machine_of(const lab_gpu *machine, const lab_launch_work *work)
{
    double lanes = machine->fp32 / SCHEDULERS;
    int units = lanes > 16 ? 2 : 1;
    double miss = work->distinct_sectors > 0 && work->blocks > 0
                      ? fmin(1, work->dram_bytes / (work->blocks * work->distinct_sectors * 32))
                      : 1;
    return (lab_issue_machine){.fma_units = units,
                               .fma_clocks = WARP * units / lanes,
                               .alu_clocks = WARP / 16.0,
                               .fp64_clocks = WARP * SCHEDULERS / machine->fp64,
                               .tensor_rate = fmax(work->lanes / SCHEDULERS, 0.5),
                               .shared_latency = machine->lat_shared,
                               .global_latency = machine->lat_l2 + miss * (machine->lat_dram - machine->lat_l2),
                               .l2_bytes = machine->l2,
                               .barrier_latency = machine->lat_bar,
                               .queue_entries = QUEUE_ENTRIES};
}

/* ---- Cost of memory instructions ---- */

/* What one memory instruction moves. */
typedef struct traffic {
    double wavefronts, lines, sectors;
} traffic_t;

static double per_request(int64_t count, const lab_access_line *counts)
{
    return counts->requests > 0 ? (double)count / (double)counts->requests : 0;
}

/* Returns the average request of a kind at a line; without such a line, that of all lines. */
static traffic_t average_request(const lab_explanation *explanation, int64_t line, lab_access_kind kind)
{
    lab_access_line counts = lab_access_counters_sum(&explanation->counters, line, kind, NULL);
    if (counts.requests == 0)
        counts = lab_access_counters_sum(&explanation->counters, 0, kind, NULL);
    return (traffic_t){per_request(counts.wavefronts, &counts), per_request(counts.lines, &counts),
                       per_request(counts.sectors, &counts)};
}

/* Returns whether an instruction makes requests of this kind. A copy loads from global and stores to shared memory. */
static bool makes_requests(const lab_loop_instruction *instruction, lab_access_kind kind)
{
    if (instruction->unit != LAB_UNIT_MEMORY)
        return false;
    switch (instruction->move) {
    case LAB_MEMORY_OP_SHARED_LOAD:
    case LAB_MEMORY_OP_MATRIX_LOAD: return kind == LAB_ACCESS_SHARED_LOAD;
    case LAB_MEMORY_OP_SHARED_STORE: return kind == LAB_ACCESS_SHARED_STORE;
    case LAB_MEMORY_OP_GLOBAL_LOAD: return kind == LAB_ACCESS_GLOBAL_LOAD;
    case LAB_MEMORY_OP_GLOBAL_COPY: return kind == LAB_ACCESS_GLOBAL_LOAD || kind == LAB_ACCESS_SHARED_STORE;
    case LAB_MEMORY_OP_GLOBAL_STORE: return kind == LAB_ACCESS_GLOBAL_STORE;
    default: return false;
    }
}

/* Returns how often an instruction is executed per iteration. */
static double executions_of(const lab_issue_loop *loop, int at)
{
    return at >= loop->repeat_begin && at < loop->repeat_end ? loop->repeats : 1;
}

/* Returns what all requests of a kind move per warp and iteration. */
static traffic_t traffic_per_iteration(const lab_explanation *explanation, const lab_launch_work *work,
                                       double iterations, lab_access_kind kind)
{
    lab_access_line all = lab_access_counters_sum(&explanation->counters, 0, kind, NULL);
    double wavefronts = (double)all.wavefronts, share = iterations * work->warps;
    if (kind == LAB_ACCESS_SHARED_LOAD) /* the compiler removes some loads */
        wavefronts = work->wavefronts - (explanation->block.wavefronts - explanation->block.load_wavefronts);
    return (traffic_t){wavefronts / share, (double)all.lines / share, (double)all.sectors / share};
}

static double scale_of(double wanted, double sum)
{
    return sum > 0 ? wanted / sum : 0;
}

/* Adds the requests of one kind to the traffic of all instructions. Lines of compiled code are not exact, because the
 * compiler interleaves the code of several lines. So the sum over the loop is made equal to what was counted. */
static void add_requests(const lab_explanation *explanation, const lab_launch_work *work, const lab_issue_loop *loop,
                         double iterations, lab_access_kind kind, traffic_t *traffic)
{
    traffic_t wanted = traffic_per_iteration(explanation, work, iterations, kind), sum = {0, 0, 0};
    for (int i = 0; i < loop->count; i++)
        if (makes_requests(&loop->code[i], kind)) {
            traffic_t one = average_request(explanation, loop->code[i].line, kind);
            double executions = executions_of(loop, i);
            sum.wavefronts += executions * one.wavefronts;
            sum.lines += executions * one.lines;
            sum.sectors += executions * one.sectors;
        }
    for (int i = 0; i < loop->count; i++)
        if (makes_requests(&loop->code[i], kind)) {
            traffic_t one = average_request(explanation, loop->code[i].line, kind);
            traffic[i].wavefronts += one.wavefronts * scale_of(wanted.wavefronts, sum.wavefronts);
            traffic[i].lines += one.lines * scale_of(wanted.lines, sum.lines);
            traffic[i].sectors += one.sectors * scale_of(wanted.sectors, sum.sectors);
        }
}

/* Returns the fraction of the sectors that L1 does not have. */
static double missed_fraction(const lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    return explanation->machine.is_l1_caching != 0 && block->sectors > 0 ? block->distinct_sectors / block->sectors : 1;
}

static lab_access_cost cost_of(const lab_explanation *explanation, const traffic_t *traffic)
{
    const lab_gpu *machine = &explanation->machine;
    double data = traffic->wavefronts * 128 / machine->shared + traffic->sectors * 32 / machine->l1;
    lab_access_cost cost = {.pipe_clocks = fmax(WARP / machine->lsu, data)};
    if (traffic->lines > 0) {
        cost.tag_clocks = traffic->lines;
        cost.l2_bytes = traffic->sectors * 32 * missed_fraction(explanation);
    }
    return cost;
}

/* Fills in the cost of each instruction. Returns false if memory is exhausted. */
static bool find_costs(const lab_explanation *explanation, const lab_launch_work *work, const lab_issue_loop *loop,
                       double iterations, lab_access_cost *costs)
{
    traffic_t *traffic = calloc((size_t)loop->count, sizeof *traffic);
    if (!traffic)
        return false;
    for (int kind = 0; kind < LAB_ACCESS_KIND_COUNT; kind++)
        add_requests(explanation, work, loop, iterations, (lab_access_kind)kind, traffic);
    for (int i = 0; i < loop->count; i++)
        if (loop->code[i].unit == LAB_UNIT_MEMORY)
            costs[i] = cost_of(explanation, &traffic[i]);
    free(traffic);
    return true;
}

/* ---- The code that is executed ---- */

/* Returns whether an instruction shows that its basic block is never executed: it accesses memory, and the run on the
 * emulator had no such request at its line. */
static bool is_never_executed(const lab_explanation *explanation, const lab_loop_instruction *instruction)
{
    for (int kind = 0; kind < LAB_ACCESS_KIND_COUNT && instruction->line > 0; kind++)
        if (makes_requests(instruction, (lab_access_kind)kind))
            return lab_access_counters_sum(&explanation->counters, instruction->line, (lab_access_kind)kind, NULL)
                       .requests == 0;
    return false;
}

/* Returns whether the basic block from `at` on is a rare path, such as the copy of single elements at the edge of a
 * matrix. A block that multiplies or synchronises is not. A block that can be skipped is, if it accesses no memory, or
 * memory that the run on the emulator did not access at its line. */
static bool is_rare_block(const lab_explanation *explanation, int at)
{
    const lab_loop_instruction *code = explanation->code.loop_code;
    int end = explanation->code.loop_code_count, block = code[at].basic_block;
    bool accesses_memory = false, is_executed = false;
    for (int i = at; i < end && code[i].basic_block == block; i++) {
        if (code[i].multiply_adds > 0 || code[i].unit == LAB_UNIT_BARRIER || code[i].unit == LAB_UNIT_COPY_GROUP)
            return false;
        accesses_memory = accesses_memory || code[i].unit == LAB_UNIT_MEMORY;
        is_executed = is_executed || (code[i].unit == LAB_UNIT_MEMORY && !is_never_executed(explanation, &code[i]));
    }
    return accesses_memory ? !is_executed : code[at].is_conditional;
}

/* Copies the instructions of the loop without rare blocks, and the range of the inner loop. Returns their number. */
static int copy_executed(const lab_explanation *explanation, lab_loop_instruction *to, lab_issue_loop *loop)
{
    const lab_sass *code = &explanation->code;
    int count = 0, block = -1;
    bool is_rare = false;
    for (int i = 0; i < code->loop_code_count; i++) {
        if (i == code->repeat_begin)
            loop->repeat_begin = count;
        if (code->loop_code[i].basic_block != block)
            is_rare = is_rare_block(explanation, i);
        block = code->loop_code[i].basic_block;
        if (!is_rare)
            to[count++] = code->loop_code[i];
        if (i + 1 == code->repeat_end)
            loop->repeat_end = count;
    }
    return count;
}

/* ---- Simulation ---- */

bool lab_can_simulate_loop(const lab_explanation *explanation)
{
    const lab_instruction_mix *loop = &explanation->code.loop;
    bool is_own_code = strcmp(explanation->sass_arch, explanation->machine.arch) == 0;
    return is_own_code && explanation->code.loop_code_count > 0 && loop->multiply_adds > 0 && !loop->is_integer &&
           (explanation->code.loop_barriers > 0 || explanation->block.barriers == 0);
}

/* Returns how often a warp passes the hottest loop, and the loop with the barriers around it. */
static void count_passes(const lab_sass *code, const lab_launch_work *work, double *passes, double *iterations)
{
    *passes = work->macs / ((double)code->loop.multiply_adds * work->warps);
    *iterations = code->loop.barriers > 0 || code->loop_barriers == 0 ? *passes
                                                                      : work->barriers / (double)code->loop_barriers;
}

static bool simulate(const lab_explanation *explanation, const lab_launch_work *work, double iterations,
                     lab_issue_loop *loop, lab_issue_result *result)
{
    size_t count = (size_t)explanation->code.loop_code_count;
    lab_issue_machine machine = issue_machine_of(&explanation->machine, work);
    lab_access_cost *costs = calloc(count, sizeof *costs);
    lab_loop_instruction *code = calloc(count, sizeof *code);
    bool good = costs && code;
    if (good) {
        loop->count = copy_executed(explanation, code, loop);
        loop->code = code;
        loop->costs = costs;
        good = find_costs(explanation, work, loop, iterations, costs) && lab_simulate_issue(&machine, loop, result);
    }
    free(costs);
    free(code);
    return good;
}

double lab_simulate_block(const lab_explanation *explanation, const lab_launch_work *work, double resident,
                          lab_issue_result *result)
{
    const lab_sass *code = &explanation->code;
    double passes, iterations;
    count_passes(code, work, &passes, &iterations);
    lab_issue_loop loop = {
        .repeats = (int)fmax(1, round(passes / iterations)), .warps = (int)work->warps, .blocks = (int)resident};
    if (!simulate(explanation, work, iterations, &loop, result))
        return 0;
    double outside = (double)(code->whole.instructions - code->loop_code_count) * work->warps / SCHEDULERS;
    double wait = explanation->machine.lat_dram + explanation->machine.lat_l2;
    return iterations * result->clocks + outside + wait / resident;
}
