/* SPDX-License-Identifier: Apache-2.0 */
/* explain_show.c - see explain_show.h. */
#include "explain_show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

static const char *const kinds[] = {
#define X(name, word) word,
    LAB_TRAFFIC_LIST(X)
#undef X
};

static const char *const moves[] = {
#define X(name, operation) operation,
    LAB_MOVE_LIST(X)
#undef X
};

static bool is_global(const lab_sight_line *line)
{
    return line->kind == LAB_GLOBAL_LOAD || line->kind == LAB_GLOBAL_STORE;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void known(lab_json *json, const char *name, bool is_known, double value)
{
    lab_json_number(json, name, is_known ? value : (double)NAN);
}

void lab_explanation_fields(lab_json *json, const lab_explanation *explanation)
{
    bool seen = explanation->is_seen, compiled = explanation->is_compiled, runs = explanation->prediction.runs;
    known(json, "sectors_per_request", seen, lab_sectors_per_request(explanation));
    known(json, "sectors_ideal", seen, lab_sectors_ideal(explanation));
    known(json, "wavefronts_per_request", seen, lab_wavefronts_per_request(explanation));
    known(json, "wavefronts_ideal", seen, lab_wavefronts_ideal(explanation));
    known(json, "registers", compiled, (double)explanation->registers);
    known(json, "shared_bytes", compiled, (double)explanation->shared_bytes);
    known(json, "spills", compiled, (double)explanation->spill_bytes);
    known(json, "occupancy", compiled, explanation->occupancy.fraction);
    known(json, "math_share", explanation->math_share > 0, explanation->math_share);
    lab_json_string(json, "bound", runs ? lab_station_name(explanation->prediction.bound) : "");
    known(json, "predicted_gflops", runs, explanation->prediction.gflops);
    lab_json_string(json, "predicted_from", !runs ? "" : explanation->counts_loop ? "compiled loop" : "source");
}

static void add_stations(lab_json *json, const lab_explanation *explanation)
{
    lab_json_begin(json, "clocks_a_block", '{');
    for (int i = 0; i < LAB_STATION_COUNT; i++)
        known(json, lab_station_name((lab_station)i), explanation->prediction.runs, explanation->prediction.clocks[i]);
    lab_json_end(json, '}');
}

static void add_findings(lab_json *json, const lab_explanation *explanation)
{
    lab_json_integer(json, "findings_left_out", explanation->findings_left_out);
    lab_json_begin(json, "findings", '[');
    for (int i = 0; i < explanation->finding_count; i++) {
        lab_json_begin(json, NULL, '{');
        lab_json_string(json, "kind", explanation->findings[i].kind);
        lab_json_string(json, "file", explanation->findings[i].file);
        lab_json_integer(json, "line", explanation->findings[i].line);
        lab_json_string(json, "text", explanation->findings[i].text);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

static void add_lines(lab_json *json, const lab_explanation *explanation)
{
    lab_json_begin(json, "lines", '[');
    for (int64_t i = 0; i < explanation->sight.line_count; i++) {
        const lab_sight_line *line = &explanation->sight.lines[i];
        lab_json_begin(json, NULL, '{');
        lab_json_integer(json, "line", line->line);
        lab_json_string(json, "kind", kinds[line->kind]);
        lab_json_string(json, "array", line->array);
        lab_json_integer(json, "bytes_a_lane", line->width);
#define X(name) lab_json_integer(json, #name, line->name);
        LAB_SIGHT_COUNT_LIST(X)
#undef X
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
}

void lab_explanation_details(lab_json *json, const lab_explanation *explanation)
{
    const lab_prediction *prediction = &explanation->prediction;
    lab_json_string(json, "occupancy_bound_by", explanation->is_compiled ? explanation->occupancy.bound_by : "");
    known(json, "blocks_held", explanation->is_compiled, (double)explanation->occupancy.blocks);
    known(json, "peak_gflops", prediction->peak_gflops > 0, prediction->peak_gflops);
    known(json, "waves", prediction->runs, prediction->waves + prediction->tail);
    known(json, "dram_bytes", prediction->runs, explanation->load.dram_bytes);
    known(json, "shared_loads_as_written", explanation->is_seen, explanation->block.shared_loads);
    known(json, "shared_loads_as_compiled", explanation->is_taken_apart && prediction->runs,
          explanation->shared_loads_compiled);
    lab_json_string(json, "loop_arch", explanation->is_taken_apart ? explanation->code_arch : "");
    lab_json_string(json, "not_looked_at", explanation->is_seen ? "" : explanation->why_unseen);
    lab_json_string(json, "not_compiled", explanation->why_uncompiled);
    lab_json_string(json, "not_taken_apart", explanation->is_taken_apart ? "" : explanation->why_whole);
    lab_json_string(json, "not_predicted", lab_why_not_predicted(explanation));
    add_stations(json, explanation);
    add_findings(json, explanation);
    add_lines(json, explanation);
}

/* ---- A page ----------------------------------------------------------------------------------- */

static void add_line(lab_table *table, const lab_sight_line *line)
{
    char number[32], kind[32], width[32], requests[32], counted[64], ideal[32];
    bool global = is_global(line);
    double all = line->requests > 0 ? (double)line->requests : 1;
    snprintf(number, sizeof number, "  %lld", (long long)line->line);
    snprintf(kind, sizeof kind, "%s", kinds[line->kind]);
    *strchr(kind, '_') = ' ';
    snprintf(width, sizeof width, "%lld", (long long)line->width);
    snprintf(requests, sizeof requests, "%lld", (long long)line->requests);
    snprintf(counted, sizeof counted, "%.2f %s", (double)(global ? line->sectors : line->wavefronts) / all,
             global ? "sectors" : "wavefronts");
    snprintf(ideal, sizeof ideal, "%.2f", (double)(global ? line->sectors_ideal : line->wavefronts_ideal) / all);
    lab_table_add(table, 7, (const char *[]){number, kind, line->array, width, requests, counted, ideal});
}

static void print_lines(const lab_explanation *explanation)
{
    lab_table *table = calloc(1, sizeof *table);
    if (!table)
        return;
    lab_table_add(table, 7, (const char *[]){"  line", "what", "of", "bytes a thread", "requests", "each", "ideal"});
    for (int64_t i = 0; i < explanation->sight.line_count; i++)
        add_line(table, &explanation->sight.lines[i]);
    lab_table_print(table, "lllrrrr", stdout);
    free(table);
}

static void print_seen(const lab_explanation *explanation)
{
    const lab_block_counts *block = &explanation->block;
    double macs = block->macs / 32, shared = block->shared_loads + block->shared_stores;
    if (!explanation->is_seen) {
        printf("\nMemory accesses were not counted: %s\n", lab_why_not_counted(explanation));
        return;
    }
    printf("\nAs written: requests of the warps of one block, counted on Oclgrind (%s)\n", explanation->file);
    print_lines(explanation);
    printf("  all together %.2f sectors a request (ideal %.2f)", lab_sectors_per_request(explanation),
           lab_sectors_ideal(explanation));
    if (shared > 0)
        printf(", %.2f wavefronts (ideal %.2f)", lab_wavefronts_per_request(explanation),
               lab_wavefronts_ideal(explanation));
    printf("\n  a multiply-add of a warp takes %.3g global and %.3g shared requests; barriers %.0f, waits for memory "
           "%.0f\n",
           block->global_requests / macs, shared / macs, block->barriers, block->waits);
}

static void print_loop(const lab_explanation *explanation)
{
    const lab_mix *loop = &explanation->code.loop;
    bool other = strcmp(explanation->code_arch, explanation->machine.arch) != 0;
    double macs = explanation->block.macs / 32, written = explanation->block.shared_loads;
    printf("  hottest loop%s%s: %lld instructions, %lld %s (%.1f %%)", other ? ", as for " : "",
           other ? explanation->code_arch : "", (long long)loop->instructions, (long long)loop->math, loop->operation,
           100 * explanation->math_share);
    for (int move = 0; move < LAB_MOVE_COUNT; move++)
        for (int width = 0; width < LAB_WIDTHS; width++)
            if (loop->moves[move][width] > 0)
                printf(", %lld %s of %d bytes", (long long)loop->moves[move][width], moves[move], 1 << width);
    printf(", %lld for addresses and whole numbers, %lld barriers, %lld branches, %lld others\n",
           (long long)loop->integer, (long long)loop->barriers, (long long)loop->branches, (long long)loop->other);
    if (explanation->prediction.runs && written > 0 && fabs(explanation->shared_loads_compiled / written - 1) > 0.05)
        printf("  so shared memory is read by %.3g loads a multiply-add where %.3g are written; what follows counts "
               "the compiler's\n",
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
    printf("  %lld threads a block, %lld registers a thread, %lld bytes of shared memory, %lld bytes spilled\n",
           (long long)explanation->threads, (long long)explanation->registers, (long long)explanation->shared_bytes,
           (long long)explanation->spill_bytes);
    if (explanation->is_taken_apart && explanation->code.has_loop)
        print_loop(explanation);
    else
        printf("  hottest loop: %s\n", explanation->is_taken_apart                            ? "no loop multiplies"
                                       : explanation->missing_tools & 1u << LAB_TOOL_NVDISASM ? "nvdisasm is missing"
                                                                                              : explanation->why_whole);
    printf(
        "  a multiprocessor holds %lld block%s, %lld of %lld warps (%.0f %%), bounded by %s; %lld registers a thread "
        "and %lld bytes are to spare\n",
        (long long)occupancy->blocks, occupancy->blocks == 1 ? "" : "s", (long long)occupancy->warps,
        (long long)occupancy->warps_max, 100 * occupancy->fraction, occupancy->bound_by,
        (long long)occupancy->registers_to_spare, (long long)occupancy->shared_to_spare);
}

static void print_prediction(const lab_explanation *explanation)
{
    const lab_prediction *prediction = &explanation->prediction;
    const lab_machine *machine = &explanation->machine;
    const lab_load *load = &explanation->load;
    if (!prediction->runs) {
        printf("\nNot predicted: %s\n", explanation->is_seen || explanation->missing_tools != 0
                                            ? lab_why_not_predicted(explanation)
                                            : "its memory accesses were not counted");
        return;
    }
    printf("\nOn %s (%.0f multiprocessors, %.0f MHz, %.0f GB/s): clocks of a block at each station\n ", machine->title,
           machine->units, machine->clock_mhz, machine->dram_gbs);
    for (int i = 0; i < LAB_STATION_COUNT; i++)
        printf(" %s %.0f%s", lab_station_name((lab_station)i), prediction->clocks[i],
               i < LAB_STATION_COUNT - 1 ? "," : "\n");
    lab_waves waves = lab_waves_of(&explanation->occupancy, (int64_t)machine->units, (int64_t)load->blocks);
    printf("  operations a byte: %.3g of DRAM, %.3g of L2; the roof bends at %.3g\n", load->flops / load->dram_bytes,
           load->macs * 2 / (load->distinct_sectors * 32), prediction->peak_gflops / machine->dram_gbs);
    printf("  %lld full waves of %lld blocks and %.2f of one: %.0f %% of their places are used\n",
           (long long)waves.full, (long long)waves.blocks, waves.tail, 100 * waves.efficiency);
    printf("Predicted: %.0f GFLOPS, %.1f %% of the peak of %.0f.\n", prediction->gflops,
           100 * prediction->gflops / prediction->peak_gflops, prediction->peak_gflops);
    if (!explanation->counts_loop)
        printf("This is an estimate: instructions are counted in the source, because the compiled loop's "
               "multiply-adds cannot be\ntold from its address arithmetic. Compare it only with other "
               "estimates.\n");
    printf("Bound by %s: %s.\n", lab_station_words(prediction->bound), lab_station_help(prediction->bound));
}

void lab_explanation_print(const lab_explanation *explanation)
{
    printf("%s  %s  %s  %lld x %lld x %lld\n", explanation->kernel, explanation->parameters, explanation->dtype,
           (long long)explanation->m, (long long)explanation->n, (long long)explanation->k);
    print_seen(explanation);
    print_compiled(explanation);
    print_prediction(explanation);
    if (explanation->finding_count > 0)
        printf("\nFound:\n");
    else if (explanation->is_seen)
        printf("\nFound: no scattered access, no bank conflict, no half-empty warp%s.\n",
               explanation->is_compiled ? ", no spill, no cliff" : "");
    for (int i = 0; i < explanation->finding_count; i++)
        printf("  %s:%lld: %s\n", explanation->findings[i].file, (long long)explanation->findings[i].line,
               explanation->findings[i].text);
    if (explanation->findings_left_out > 0)
        printf("  (not listed: %d more)\n", explanation->findings_left_out);
}

void lab_explanation_print_next(const lab_explanation *here, const lab_explanation *next)
{
    if (!lab_may_compare(here, next))
        return;
    printf("\nNext, %s: sectors a request %.2f to %.2f, shared loads a multiply-add %.3g to %.3g, waits %.0f to %.0f; "
           "predicted %.0f to %.0f GFLOPS, bound by %s.\n",
           next->kernel, lab_sectors_per_request(here), lab_sectors_per_request(next),
           here->shared_loads_compiled * 32 / here->block.macs, next->shared_loads_compiled * 32 / next->block.macs,
           here->load.waits, next->load.waits, here->prediction.gflops, next->prediction.gflops,
           lab_station_words(next->prediction.bound));
}
