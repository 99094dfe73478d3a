/* SPDX-License-Identifier: Apache-2.0 */
/* launch_work.c - computes the work of a launch from the counts of a block and from the compiled loop, and predicts its
 * speed: the last step of lab_explain(). */
#include <math.h>
#include <string.h>

#include "common/elements.h"
#include "explain/explain_internal.h"
#include "explain/loop_simulation.h"

enum { WARP = 32 };

/* Returns multiply-adds per lane of one instruction: IDP multiplies four bytes by four. */
static double macs_per_lane(const lab_instruction_mix *loop)
{
    bool is_dot = strncmp(loop->operation, "IDP", 3) == 0 && loop->math > 0;
    return is_dot ? (double)loop->multiply_adds / (double)(WARP * loop->math) : 1;
}

/* Returns multiply-adds per clock of one multiprocessor. */
static double mac_rate_of(const lab_explain_request *request, bool uses_engine, const lab_instruction_mix *loop)
{
    const lab_gpu *machine = &request->machine;
    rung_type in = request->dtype.product.in;
    if (uses_engine && lab_type_is_f8(in))
        return 2 * machine->engine16;
    if (uses_engine && in == RUNG_F64)
        return machine->engine_f64;
    if (uses_engine && in == RUNG_F32) /* as TF32, or split into BF16 */
        return strstr(loop->operation, "BF16") ? machine->engine16 : machine->engine_tf32;
    if (uses_engine)
        return in == RUNG_I8 ? machine->engine_i8 : machine->engine16;
    switch (lab_type_pair_accumulator(request->dtype.product)) {
    case RUNG_F64: return machine->fp64;
    case RUNG_I32: return machine->int32 * macs_per_lane(loop);
    default: return machine->fp32;
    }
}

bool lab_explanation_uses_engine(const lab_explanation *explanation)
{
    const lab_sass *code = &explanation->code;
    return explanation->is_disassembled && code->has_loop && strstr(code->loop.operation, "MMA") != NULL;
}

/* Returns whether the multiply-adds of the loop are known. Integer multiply-adds may also compute addresses. */
static bool has_known_loop(const lab_explanation *explanation)
{
    const lab_instruction_mix *loop = &explanation->code.loop;
    return explanation->is_disassembled && explanation->code.has_loop && !loop->is_integer && loop->multiply_adds > 0;
}

/* Computes the compiled loads from shared memory: requests and wavefronts. Widened loads are assumed to have the bank
 * conflicts of the source and to deliver at least the requested bytes. */
static void count_compiled_loads(const lab_explanation *explanation, double *requests, double *wavefronts)
{
    const lab_block_counts *block = &explanation->block;
    const lab_instruction_mix *loop = &explanation->code.loop;
    *requests = block->shared_loads;
    *wavefronts = block->load_wavefronts;
    if (!has_known_loop(explanation))
        return;
    double loads = (double)(lab_instruction_mix_memory_ops(loop, LAB_MEMORY_OP_SHARED_LOAD) +
                            lab_instruction_mix_memory_ops(loop, LAB_MEMORY_OP_MATRIX_LOAD));
    *requests = loads / (double)loop->multiply_adds * block->macs;
    if (*requests < 0.95 * block->shared_loads)
        *wavefronts = fmax(block->load_wavefronts * *requests / block->shared_loads, block->load_bytes / 128);
}

/* Returns the instructions that the warps of a block issue: those of the loop, or the known minimum. */
static double instructions_of(const lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    const lab_instruction_mix *loop = &explanation->code.loop;
    if (has_known_loop(explanation))
        return (double)loop->instructions / (double)loop->multiply_adds * block->macs;
    return block->macs / WARP + block->global_requests + block->shared_loads + block->shared_stores;
}

/* Returns how often the warps of a block wait for loads. Without barriers each warp waits once per iteration of the
 * loop, which the compiler unrolls. */
static double waits_of(const lab_explanation *explanation, double warps)
{
    const lab_block_counts *block = &explanation->block;
    if (block->barriers > 0)
        return block->waits;
    double iteration_macs = has_known_loop(explanation) ? (double)explanation->code.loop.multiply_adds : WARP;
    return block->macs / warps / iteration_macs;
}

static double dram_bytes_of(const lab_explain_request *request, const lab_launch_traits *traits,
                            const lab_explanation *explanation)
{
    rung_type in = request->dtype.product.in, out = request->dtype.product.out;
    lab_launch_tiling tiling = {.m = (double)request->m,
                                .n = (double)request->n,
                                .k = (double)request->k,
                                .bm = (double)explanation->bm,
                                .bn = (double)explanation->bn,
                                .in_bytes = (double)rung_type_size(in),
                                .out_bytes = (double)rung_type_size(out),
                                .wave = request->machine.sm_count * (double)explanation->occupancy.blocks,
                                .grouped_tile_rows = traits->grouped_tile_rows};
    return lab_dram_bytes(&request->machine, &tiling);
}

/* Simulates the loop with the blocks of a full wave and of the last one. */
static void simulate_loop(const lab_explain_request *request, lab_explanation *explanation)
{
    lab_launch_work *work = &explanation->work;
    lab_issue_result last_issue;
    if (work->resident_blocks < 1 || !(work->lanes > 0) || !lab_can_simulate_loop(explanation))
        return;
    double resident = lab_resident_blocks(&request->machine, work), last = lab_last_blocks(&request->machine, work);
    work->simulated_clocks = lab_simulate_block(explanation, work, resident, &explanation->issue);
    explanation->is_simulated = work->simulated_clocks > 0;
    if (explanation->is_simulated && last > 0)
        work->last_simulated_clocks = lab_simulate_block(explanation, work, last, &last_issue);
}

void lab_explain_predict(const lab_explain_request *request, const lab_launch_traits *traits,
                         lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    double wavefronts, warps = ceil((double)explanation->threads / WARP), batch = fmax(1, traits->batch);
    double tile_rows = ceil((double)request->m / (double)explanation->bm);
    double tile_columns = ceil((double)request->n / (double)explanation->bn);
    count_compiled_loads(explanation, &explanation->shared_loads_compiled, &wavefronts);
    explanation->work = (lab_launch_work){
        .blocks = traits->blocks > 0 ? traits->blocks : tile_rows * tile_columns,
        .resident_blocks = (double)explanation->occupancy.blocks,
        .warps = warps,
        .flops = 2.0 * batch * (double)request->m * (double)request->n * (double)request->k,
        .macs = block->macs,
        .lanes = mac_rate_of(request, traits->uses_engine, &explanation->code.loop),
        .instructions = instructions_of(explanation),
        .requests = block->global_requests + block->shared_stores + explanation->shared_loads_compiled,
        .wavefronts = block->wavefronts - block->load_wavefronts + wavefronts,
        .lines = block->lines,
        .sectors = block->sectors,
        .distinct_sectors = block->distinct_sectors,
        .barriers = block->barriers,
        .waits = waits_of(explanation, warps),
        .dependent_macs = (double)request->k,
        .dram_bytes = batch * dram_bytes_of(request, traits, explanation),
    };
    explanation->is_from_compiled_loop = has_known_loop(explanation);
    simulate_loop(request, explanation);
    explanation->prediction = lab_predict(&request->machine, &explanation->work);
}
