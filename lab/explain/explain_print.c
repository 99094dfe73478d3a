/* SPDX-License-Identifier: Apache-2.0 */
/* explain_print.c - prints an explanation as text and writes it as JSON; see explain.h. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table.h"
#include "explain/explain.h"
#include "explain/nsight_metrics.h"

enum { SECTOR_BYTES = 32 };

/* ---- JSON ---- */

static void write_known_number(lab_json *json, const char *name, bool is_known, double value)
{
    lab_json_number(json, name, is_known ? value : (double)NAN);
}

void lab_explanation_write_summary(lab_json *json, const lab_explanation *explanation)
{
    bool is_counted = explanation->is_counted, is_compiled = explanation->is_compiled,
         runs = explanation->prediction.runs;
    write_known_number(json, "sectors_per_request", is_counted, lab_sectors_per_request(explanation));
    write_known_number(json, "sectors_ideal", is_counted, lab_sectors_ideal(explanation));
    write_known_number(json, "wavefronts_per_request", is_counted, lab_wavefronts_per_request(explanation));
    write_known_number(json, "wavefronts_ideal", is_counted, lab_wavefronts_ideal(explanation));
    write_known_number(json, "registers", is_compiled, (double)explanation->registers);
    write_known_number(json, "shared_bytes", is_compiled, (double)explanation->shared_bytes);
    write_known_number(json, "spills", is_compiled, (double)explanation->spill_bytes);
    write_known_number(json, "occupancy", is_compiled, explanation->occupancy.fraction);
    write_known_number(json, "math_share", explanation->math_share > 0, explanation->math_share);
    lab_json_string(json, "bound", runs ? lab_bottleneck_name(explanation->prediction.bound) : "");
    write_known_number(json, "predicted_gflops", runs, explanation->prediction.gflops);
    write_known_number(json, "uncertainty", runs, explanation->prediction.uncertainty);
    lab_json_string(json, "predicted_from",
                    !runs                                ? ""
                    : explanation->is_from_compiled_loop ? "compiled loop"
                                                         : "source");
}

/* Returns the bytes that the blocks of a launch load from L2. */
static double l2_bytes(const lab_launch_work *work)
{
    return work->blocks * work->distinct_sectors * SECTOR_BYTES;
}

static void write_bottlenecks(lab_json *json, const lab_explanation *explanation)
{
    lab_json_begin(json, "clocks_a_block", '{');
    for (int i = 0; i < LAB_BOTTLENECK_COUNT; i++)
        write_known_number(json, lab_bottleneck_name((lab_bottleneck)i), explanation->prediction.runs,
                           explanation->prediction.clocks[i]);
    lab_json_end(json, '}');
}

static void write_simulation(lab_json *json, const lab_explanation *explanation)
{
    bool is_simulated = explanation->is_simulated;
    lab_json_begin(json, "simulated_loop", '{');
    write_known_number(json, "math_busy", is_simulated, explanation->issue.math_busy);
    write_known_number(json, "issue_busy", is_simulated, explanation->issue.issue_busy);
    write_known_number(json, "load_store_busy", is_simulated, explanation->issue.pipe_busy);
    write_known_number(json, "clocks_per_iteration", is_simulated, explanation->issue.clocks);
    lab_json_end(json, '}');
}

static void write_findings_json(lab_json *json, const lab_explanation *explanation)
{
    lab_json_integer(json, "findings_left_out", explanation->findings_dropped);
    lab_json_begin(json, "findings", '[');
    for (int i = 0; i < explanation->finding_count; i++)
        lab_json_finding(json, explanation->findings[i].kind, explanation->findings[i].file,
                         explanation->findings[i].line, explanation->findings[i].text);
    lab_json_end(json, ']');
}

static void write_lines_json(lab_json *json, const lab_explanation *explanation)
{
    lab_json_begin(json, "lines", '[');
    for (int64_t i = 0; i < explanation->counters.line_count; i++) {
        const lab_access_line *line = &explanation->counters.lines[i];
        lab_json_begin(json, NULL, '{');
        lab_json_integer(json, "line", line->line);
        lab_json_string(json, "kind", lab_access_kind_name(line->kind));
        lab_json_string(json, "array", line->array);
        lab_json_integer(json, "bytes_a_lane", line->width);
#define X(name) lab_json_integer(json, #name, line->name);
        LAB_ACCESS_LINE_LIST(X)
#undef X
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

void lab_explanation_write_details(lab_json *json, const lab_explanation *explanation)
{
    const lab_prediction *prediction = &explanation->prediction;
    lab_json_string(json, "occupancy_bound_by", explanation->is_compiled ? explanation->occupancy.bound_by : "");
    write_known_number(json, "blocks_held", explanation->is_compiled, (double)explanation->occupancy.blocks);
    write_known_number(json, "peak_gflops", prediction->peak_gflops > 0, prediction->peak_gflops);
    write_known_number(json, "waves", prediction->runs, prediction->waves + prediction->tail);
    write_known_number(json, "dram_bytes", prediction->runs, explanation->work.dram_bytes);
    write_known_number(json, "l2_bytes", prediction->runs, l2_bytes(&explanation->work));
    write_known_number(json, "flops", prediction->runs, explanation->work.flops);
    lab_json_number(json, "dram_gbs", explanation->machine.dram_gbs);
    write_known_number(json, "shared_loads_as_written", explanation->is_counted, explanation->block.shared_loads);
    write_known_number(json, "shared_loads_as_compiled", explanation->is_disassembled && prediction->runs,
                       explanation->shared_loads_compiled);
    lab_json_string(json, "loop_arch", explanation->is_disassembled ? explanation->sass_arch : "");
    lab_json_string(json, "not_looked_at", explanation->is_counted ? "" : explanation->why_uncounted);
    lab_json_string(json, "not_compiled", explanation->why_not_compiled);
    lab_json_string(json, "not_taken_apart", explanation->is_disassembled ? "" : explanation->why_not_disassembled);
    lab_json_string(json, "not_predicted", lab_explanation_why_not_predicted(explanation));
    write_bottlenecks(json, explanation);
    write_simulation(json, explanation);
    if (explanation->wants_metrics)
        lab_explanation_write_metrics(json, explanation);
    write_findings_json(json, explanation);
    write_lines_json(json, explanation);
    if (explanation->trace)
        lab_kernel_trace_write(json, explanation->trace, &explanation->counters);
}

/* ---- Text ---- */

static void add_line(lab_table *table, const lab_access_line *line)
{
    const char *kind = lab_access_kind_name(line->kind);
    int word = (int)strcspn(kind, "_");
    bool is_global = line->kind == LAB_ACCESS_GLOBAL_LOAD || line->kind == LAB_ACCESS_GLOBAL_STORE;
    double all = line->requests > 0 ? (double)line->requests : 1;
    lab_table_begin_row(table);
    lab_table_cell(table, "  %lld", (long long)line->line);
    lab_table_cell(table, "%.*s %s", word, kind, kind + word + 1);
    lab_table_cell(table, "%s", line->array);
    lab_table_cell(table, "%lld", (long long)line->width);
    lab_table_cell(table, "%lld", (long long)line->requests);
    lab_table_cell(table, "%.2f %s", (double)(is_global ? line->sectors : line->wavefronts) / all,
                   is_global ? "sectors" : "wavefronts");
    lab_table_cell(table, "%.2f", (double)(is_global ? line->sectors_ideal : line->wavefronts_ideal) / all);
}

static void print_lines(const lab_explanation *explanation)
{
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    lab_table_add(table, 7,
                  (const char *[]){"  line", "access", "array", "bytes/thread", "requests", "per request", "ideal"});
    for (int64_t i = 0; i < explanation->counters.line_count; i++)
        add_line(table, &explanation->counters.lines[i]);
    lab_table_print(table, "lllrrrr", stdout);
    free(table);
}

static void print_access_counts(const lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    double macs = block->macs / 32, shared = block->shared_loads + block->shared_stores;
    if (!explanation->is_counted) {
        printf("\nMemory accesses were not counted: %s\n", lab_explanation_why_not_counted(explanation));
        return;
    }
    printf("\nRequests of the warps of one block, counted by the emulator (%s)\n", explanation->file);
    print_lines(explanation);
    printf("  all lines: %.2f sectors per request (ideal %.2f)", lab_sectors_per_request(explanation),
           lab_sectors_ideal(explanation));
    if (shared > 0)
        printf(", %.2f wavefronts per request (ideal %.2f)", lab_wavefronts_per_request(explanation),
               lab_wavefronts_ideal(explanation));
    printf(
        "\n  per multiply-add of a warp: %.3g global and %.3g shared requests; per block: %.0f barriers, %.0f waits for "
        "memory\n",
        block->global_requests / macs, shared / macs, block->barriers, block->waits);
}

/* Prints "2 barriers" or "1 branch". */
static void print_count(const char *before, int64_t count, const char *noun)
{
    bool takes_es = noun[strlen(noun) - 1] == 'h';
    printf("%s%lld %s%s", before, (long long)count, noun, count == 1 ? "" : takes_es ? "es" : "s");
}

static void print_loop(const lab_explanation *explanation)
{
    const lab_instruction_mix *loop = &explanation->code.loop;
    bool is_other_arch = strcmp(explanation->sass_arch, explanation->machine.arch) != 0;
    double macs = explanation->block.macs / 32, written = explanation->block.shared_loads;
    printf("  hottest loop%s%s: %lld instructions, %lld %s (%.1f %%)", is_other_arch ? ", compiled for " : "",
           is_other_arch ? explanation->sass_arch : "", (long long)loop->instructions, (long long)loop->math,
           loop->operation, 100 * explanation->math_share);
    for (int move = 0; move < LAB_MEMORY_OP_COUNT; move++)
        for (int width = 0; width < LAB_ACCESS_WIDTHS; width++)
            if (loop->moves[move][width] > 0)
                printf(", %lld %s of %d bytes", (long long)loop->moves[move][width],
                       lab_memory_op_name((lab_memory_op)move), 1 << width);
    print_count(", ", loop->integer, "integer or address instruction");
    print_count(", ", loop->barriers, "barrier");
    print_count(", ", loop->branches, "branch");
    print_count(", ", loop->other, "other");
    printf("\n");
    if (explanation->prediction.runs && written > 0 && fabs(explanation->shared_loads_compiled / written - 1) > 0.05)
        printf(
            "  loads from shared memory per multiply-add: %.3g as compiled, %.3g as written; the prediction uses the compiled "
            "loads\n",
            explanation->shared_loads_compiled / macs, written / macs);
}

static void print_compiled(const lab_explanation *explanation)
{
    const lab_occupancy *occupancy = &explanation->occupancy;
    bool has_path = strcmp(explanation->path, "-") != 0;
    if (!explanation->is_compiled) {
        printf("\nNot compiled: %s is missing\n", lab_tool_name(LAB_TOOL_NVRTC));
        return;
    }
    printf("\nAs compiled for %s%s%s\n", explanation->machine.arch, has_path ? ", path " : "",
           has_path ? explanation->path : "");
    printf("  %lld threads per block, %lld registers per thread, %lld bytes of shared memory, %lld bytes spilled\n",
           (long long)explanation->threads, (long long)explanation->registers, (long long)explanation->shared_bytes,
           (long long)explanation->spill_bytes);
    if (explanation->is_disassembled && explanation->code.has_loop)
        print_loop(explanation);
    else
        printf("  hottest loop: %s\n", explanation->is_disassembled ? "none; no loop multiplies"
                                       : explanation->missing_tools & 1u << LAB_TOOL_NVDISASM
                                           ? "nvdisasm is missing"
                                           : explanation->why_not_disassembled);
    printf("  occupancy: %lld block%s per multiprocessor, %lld of %lld warps (%.0f %%), limited by %s; unused: %lld "
           "register%s per thread and %lld bytes\n",
           (long long)occupancy->blocks, occupancy->blocks == 1 ? "" : "s", (long long)occupancy->warps,
           (long long)occupancy->warps_max, 100 * occupancy->fraction, occupancy->bound_by,
           (long long)occupancy->spare_registers, occupancy->spare_registers == 1 ? "" : "s",
           (long long)occupancy->spare_shared_bytes);
}

static void print_prediction(const lab_explanation *explanation)
{
    const lab_prediction *prediction = &explanation->prediction;
    const lab_gpu *machine = &explanation->machine;
    const lab_launch_work *work = &explanation->work;
    if (!prediction->runs) {
        printf("\nNot predicted: %s\n", explanation->is_counted || explanation->missing_tools != 0
                                            ? lab_explanation_why_not_predicted(explanation)
                                            : "its memory accesses were not counted");
        return;
    }
    printf("\nOn %s (%.0f multiprocessors, %.0f MHz, %.0f GB/s): clocks per block, by resource\n ", machine->title,
           machine->sm_count, prediction->clock_mhz, machine->dram_gbs);
    for (int i = 0; i < LAB_BOTTLENECK_COUNT; i++)
        printf(" %s %.0f%s", lab_bottleneck_name((lab_bottleneck)i), prediction->clocks[i],
               i < LAB_BOTTLENECK_COUNT - 1 ? "," : "\n");
    lab_waves waves = lab_waves_of(&explanation->occupancy, (int64_t)machine->sm_count, (int64_t)work->blocks);
    printf("  FLOP per byte: %.3g (DRAM), %.3g (L2); the roofline's ridge point is at %.3g\n",
           work->flops / work->dram_bytes, work->macs * 2 / (work->distinct_sectors * 32),
           prediction->peak_gflops / machine->dram_gbs);
    printf("  %lld full waves of %lld blocks and a last wave that is %.2f full: efficiency %.0f %%\n",
           (long long)waves.full, (long long)waves.blocks, waves.tail, 100 * waves.efficiency);
    if (explanation->is_simulated)
        printf("  the loop, simulated: multiply-add units %.0f %% busy, issue slots %.0f %%, load/store pipe %.0f %%\n",
               100 * explanation->issue.math_busy, 100 * explanation->issue.issue_busy,
               100 * explanation->issue.pipe_busy);
    printf("Predicted: %.0f GFLOPS (%.0f to %.0f), %.1f %% of the peak of %.0f.\n", prediction->gflops,
           prediction->gflops / prediction->uncertainty, prediction->gflops * prediction->uncertainty,
           100 * prediction->gflops / prediction->peak_gflops, prediction->peak_gflops);
    if (!explanation->is_from_compiled_loop)
        printf("This is an estimate: instructions are counted in the source, because the compiled loop's "
               "multiply-adds and\naddress arithmetic are the same instruction. Compare it only with other "
               "estimates.\n");
    bool is_l1_only = prediction->bound == LAB_BOTTLENECK_SHARED && work->wavefronts == 0;
    printf("Limited by %s: %s.\n", lab_bottleneck_title(prediction->bound),
           is_l1_only
               ? "use fewer lines and sectors per multiply-add: let adjacent threads read adjacent elements, and "
                 "reuse elements in registers or in shared memory"
               : lab_bottleneck_advice(prediction->bound));
}

void lab_explanation_print(const lab_explanation *explanation)
{
    printf("%s  %s  %s  %lld x %lld x %lld\n", explanation->kernel, explanation->parameters, explanation->dtype,
           (long long)explanation->m, (long long)explanation->n, (long long)explanation->k);
    print_access_counts(explanation);
    print_compiled(explanation);
    print_prediction(explanation);
    if (explanation->finding_count > 0)
        printf("\nFound:\n");
    else if (explanation->is_counted)
        printf("\nFound: no uncoalesced access, no bank conflict, no half-empty warp%s.\n",
               explanation->is_compiled ? ", no spill, no occupancy cliff" : "");
    for (int i = 0; i < explanation->finding_count; i++)
        printf("  %s:%lld: %s\n", explanation->findings[i].file, (long long)explanation->findings[i].line,
               explanation->findings[i].text);
    if (explanation->findings_dropped > 0)
        printf("  (not listed: %d more)\n", explanation->findings_dropped);
    if (explanation->wants_metrics)
        lab_explanation_print_metrics(explanation);
}

void lab_explanation_print_next_kernel(const lab_explanation *current, const lab_explanation *next)
{
    if (!current->prediction.runs || !next->prediction.runs ||
        current->is_from_compiled_loop != next->is_from_compiled_loop)
        return; /* an estimate is not compared with a prediction */
    printf(
        "\nNext kernel %s: sectors per request %.2f -> %.2f, shared loads per multiply-add %.3g -> %.3g, waits %.0f -> "
        "%.0f; predicted %.0f -> %.0f GFLOPS, limited by %s.\n",
        next->kernel, lab_sectors_per_request(current), lab_sectors_per_request(next),
        current->shared_loads_compiled * 32 / current->block.macs, next->shared_loads_compiled * 32 / next->block.macs,
        current->work.waits, next->work.waits, current->prediction.gflops, next->prediction.gflops,
        lab_bottleneck_title(next->prediction.bound));
}
