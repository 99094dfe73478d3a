/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - finds the mistakes that an explanation shows, each with its source line and advice. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "explain/explain_internal.h"

static void add_finding(lab_explanation *explanation, const char *kind, int64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add_finding(lab_explanation *explanation, const char *kind, int64_t line, const char *format, ...)
{
    if (explanation->finding_count == LAB_EXPLAIN_FINDINGS_MAX) {
        explanation->findings_dropped++;
        return;
    }
    lab_explain_finding *finding = &explanation->findings[explanation->finding_count++];
    va_list arguments;
    finding->kind = kind;
    finding->line = line;
    snprintf(finding->file, sizeof finding->file, "%s", explanation->file);
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

int64_t lab_kernel_declaration_line(const char *source)
{
    const char *found = strncmp(source, "KERNEL(", 7) == 0 ? source : strstr(source, "\nKERNEL(");
    int64_t line = 1;
    for (const char *at = source; found && at <= found; at++)
        line += *at == '\n';
    return found ? line : 0;
}

/* ---- Memory accesses ---- */

/* Returns whether this is the first record of its line, kind and array. */
static bool is_first_of_line(const lab_access_counters *counters, int64_t index)
{
    for (int64_t i = 0; i < index; i++)
        if (counters->lines[i].line == counters->lines[index].line &&
            counters->lines[i].kind == counters->lines[index].kind &&
            strcmp(counters->lines[i].array, counters->lines[index].array) == 0)
            return false;
    return true;
}

/* Reports a line whose warps touch more sectors than needed, unless it causes few of all sectors. */
static void find_uncoalesced(lab_explanation *explanation, const lab_access_line *line, double all_sectors)
{
    bool is_load = line->kind == LAB_ACCESS_GLOBAL_LOAD;
    double requests = (double)line->requests, sectors = (double)line->sectors, ideal = (double)line->sectors_ideal;
    if (sectors < 1.5 * ideal || sectors < 0.05 * all_sectors)
        return;
    add_finding(
        explanation, "uncoalesced", line->line,
        "uncoalesced %s of %s: %.1f sectors per request, %.1f are enough; let adjacent threads %s adjacent elements",
        is_load ? "load" : "store", line->array, sectors / requests, ideal / requests, is_load ? "read" : "write");
}

static void find_bank_conflict(lab_explanation *explanation, const lab_access_line *line, double all_wavefronts)
{
    double requests = (double)line->requests, wavefronts = (double)line->wavefronts;
    double ideal = (double)line->wavefronts_ideal;
    bool is_load = line->kind == LAB_ACCESS_SHARED_LOAD;
    bool is_widened = is_load && explanation->is_disassembled &&
                      explanation->shared_loads_compiled < 0.95 * explanation->block.shared_loads;
    if (wavefronts < 1.25 * ideal || wavefronts < 0.05 * all_wavefronts)
        return;
    add_finding(
        explanation, "bank_conflict", line->line,
        "bank conflict: a %s of %s takes %.1f wavefronts per request, %.1f are enough; pad the rows of the tile or "
        "swizzle it%s",
        is_load ? "load" : "store", line->array, wavefronts / requests, ideal / requests,
        is_widened ? " (as written; the compiler makes these loads wider and fewer)" : "");
}

/* Returns whether the requests of a line may be those of ldmatrix. With one or two matrices it takes 8 or 16 addresses of a
 * warp by definition. */
static bool is_matrix_load(const lab_explanation *explanation, const lab_access_line *line)
{
    return line->kind == LAB_ACCESS_SHARED_LOAD && line->width == 16 &&
           lab_instruction_mix_memory_ops(&explanation->code.loop, LAB_MEMORY_OP_MATRIX_LOAD) > 0;
}

/* Reports a line with many requests at which half of the lanes or more are idle. */
static void find_idle_lanes(lab_explanation *explanation, const lab_access_line *line, double all_requests)
{
    double lanes = (double)line->lanes / (double)line->requests;
    if (lanes > 16.5 || (double)line->requests < 0.25 * all_requests || is_matrix_load(explanation, line))
        return;
    add_finding(explanation, "half_empty_warp", line->line,
                "half-empty warps: %.1f of 32 threads are active in a request of this line", lanes);
}

static void find_line_issues(lab_explanation *explanation)
{
    const lab_access_counters *counters = &explanation->counters;
    double sectors = 0, wavefronts = 0, requests = 0;
    for (int64_t i = 0; i < counters->line_count; i++) {
        sectors += (double)counters->lines[i].sectors;
        wavefronts += (double)counters->lines[i].wavefronts;
        requests += (double)counters->lines[i].requests;
    }
    for (int64_t i = 0; i < counters->line_count; i++) {
        const lab_access_line *at = &counters->lines[i];
        lab_access_line line = lab_access_counters_sum(counters, at->line, at->kind, at->array);
        if (!is_first_of_line(counters, i) || line.requests == 0)
            continue;
        if (line.kind == LAB_ACCESS_GLOBAL_LOAD || line.kind == LAB_ACCESS_GLOBAL_STORE)
            find_uncoalesced(explanation, &line, sectors);
        else
            find_bank_conflict(explanation, &line, wavefronts);
        if (explanation->threads % 32 == 0)
            find_idle_lanes(explanation, &line, requests);
    }
}

/* ---- Spills and occupancy ---- */

static void find_spills(lab_explanation *explanation, int64_t kernel_line)
{
    const lab_sass *code = &explanation->code;
    for (int64_t i = 0; i < code->spill_count && i < LAB_SPILLS_MAX; i++)
        if (explanation->spill_bytes > 0)
            add_finding(
                explanation, "spill", code->spills[i].line ? code->spills[i].line : kernel_line,
                "spill: %lld stores and %lld loads of local memory because registers are exhausted; use fewer outputs per "
                "thread or fewer threads per block",
                (long long)code->spills[i].stores, (long long)code->spills[i].loads);
    if (explanation->spill_bytes > 0 && (!explanation->is_disassembled || code->spill_count == 0))
        add_finding(explanation, "spill", kernel_line,
                    "spill: %lld bytes per thread in local memory because registers are exhausted",
                    (long long)explanation->spill_bytes);
}

/* Reports when slightly fewer registers or bytes would allow one more resident block. */
static void find_occupancy_cliff(lab_explanation *explanation, int64_t kernel_line)
{
    enum { CLIFF_REGISTERS_MAX = 8, CLIFF_SHARED_DIVISOR = 8 };
    const lab_sm_limits *limits = lab_sm_limits_of(explanation->machine.arch);
    int64_t threads = explanation->threads, registers = explanation->registers, shared = explanation->shared_bytes;
    int64_t blocks = explanation->occupancy.blocks;
    if (!limits || !explanation->is_compiled || blocks < 1)
        return;
    for (int64_t fewer = 1; fewer <= CLIFF_REGISTERS_MAX && registers - fewer > 0; fewer++)
        if (lab_occupancy_of(limits, threads, registers - fewer, shared).blocks > blocks) {
            add_finding(
                explanation, "occupancy_cliff", kernel_line,
                "occupancy cliff: %lld registers per thread leave room for %lld block%s of %lld threads; %lld registers "
                "would allow one more",
                (long long)registers, (long long)blocks, blocks == 1 ? "" : "s", (long long)threads,
                (long long)(registers - fewer));
            return;
        }
    for (int64_t fewer = 16; fewer <= shared / CLIFF_SHARED_DIVISOR; fewer += 16)
        if (lab_occupancy_of(limits, threads, registers, shared - fewer).blocks > blocks) {
            add_finding(
                explanation, "occupancy_cliff", kernel_line,
                "occupancy cliff: %lld bytes of shared memory leave room for %lld block%s; %lld fewer would allow "
                "one more",
                (long long)shared, (long long)blocks, blocks == 1 ? "" : "s", (long long)fewer);
            return;
        }
}

void lab_explanation_find_issues(lab_explanation *explanation, int64_t kernel_line)
{
    if (explanation->threads % 32 != 0)
        add_finding(explanation, "half_empty_warp", kernel_line,
                    "half-empty warp: a block of %lld threads has a warp with %lld of 32 threads",
                    (long long)explanation->threads, (long long)(explanation->threads % 32));
    if (explanation->is_counted)
        find_line_issues(explanation);
    find_spills(explanation, kernel_line);
    find_occupancy_cliff(explanation, kernel_line);
}
