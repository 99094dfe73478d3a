/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - mistakes that an explanation shows, each with the line it is in and what to do. */
#include "explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void add(lab_explanation *explanation, const char *kind, int64_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add(lab_explanation *explanation, const char *kind, int64_t line, const char *format, ...)
{
    if (explanation->finding_count == LAB_FINDINGS_MAX) {
        explanation->findings_left_out++;
        return;
    }
    lab_finding *finding = &explanation->findings[explanation->finding_count++];
    va_list arguments;
    finding->kind = kind;
    finding->line = line;
    snprintf(finding->file, sizeof finding->file, "%s", explanation->file);
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
}

/* The line of the kernel's head, `KERNEL(threads)`. */
static int64_t head_line(const char *source)
{
    int64_t line = 1;
    for (const char *at = source; *at; line++) {
        if (strncmp(at, "KERNEL(", 7) == 0)
            return line;
        const char *end = strchr(at, '\n');
        if (!end)
            break;
        at = end + 1;
    }
    return 0;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Whether a line and array were told before: they may have several records. */
static bool is_first_of_line(const lab_sight *sight, int64_t index)
{
    for (int64_t i = 0; i < index; i++)
        if (sight->lines[i].line == sight->lines[index].line && sight->lines[i].kind == sight->lines[index].kind &&
            strcmp(sight->lines[i].array, sight->lines[index].array) == 0)
            return false;
    return true;
}

/* What a warp asks for in pieces that lie apart; a line with few requests costs little. */
static void find_scattered(lab_explanation *explanation, const lab_sight_line *line, double all_sectors)
{
    bool loads = line->kind == LAB_GLOBAL_LOAD;
    double requests = (double)line->requests, sectors = (double)line->sectors, ideal = (double)line->sectors_ideal;
    if (sectors < 1.5 * ideal || sectors < 0.05 * all_sectors)
        return;
    add(explanation, "uncoalesced", line->line,
        "uncoalesced %s of %s: a warp touches %.1f sectors a request where %.1f would hold what it %s; let neighbouring "
        "threads %s neighbouring elements",
        loads ? "load" : "store", line->array, sectors / requests, ideal / requests, loads ? "reads" : "writes",
        loads ? "read" : "write");
}

static void find_conflict(lab_explanation *explanation, const lab_sight_line *line, double all_wavefronts)
{
    double requests = (double)line->requests, wavefronts = (double)line->wavefronts;
    double ideal = (double)line->wavefronts_ideal;
    bool loads = line->kind == LAB_SHARED_LOAD;
    bool widened = loads && explanation->is_taken_apart &&
                   explanation->shared_loads_compiled < 0.95 * explanation->block.shared_loads;
    if (wavefronts < 1.25 * ideal || wavefronts < 0.05 * all_wavefronts)
        return;
    add(explanation, "bank_conflict", line->line,
        "bank conflict: a %s of %s takes %.1f wavefronts a request where %.1f would do; pad the rows of the tile or "
        "swizzle it%s",
        loads ? "load" : "store", line->array, wavefronts / requests, ideal / requests,
        widened ? ". (As written: the compiler makes these loads wider and fewer)" : "");
}

/* Threads of a warp that have nothing to do at a line that matters. */
static void find_idle_lanes(lab_explanation *explanation, const lab_sight_line *line, double all_requests)
{
    double lanes = (double)line->lanes / (double)line->requests;
    if (lanes > 16.5 || (double)line->requests < 0.25 * all_requests)
        return;
    add(explanation, "half_empty_warp", line->line, "half-empty warps: %.1f of 32 threads take part in a request here",
        lanes);
}

static void find_in_lines(lab_explanation *explanation)
{
    const lab_sight *sight = &explanation->sight;
    double sectors = 0, wavefronts = 0, requests = 0;
    for (int64_t i = 0; i < sight->line_count; i++) {
        sectors += (double)sight->lines[i].sectors;
        wavefronts += (double)sight->lines[i].wavefronts;
        requests += (double)sight->lines[i].requests;
    }
    for (int64_t i = 0; i < sight->line_count; i++) {
        const lab_sight_line *at = &sight->lines[i];
        lab_sight_line line = lab_sight_sum(sight, at->line, at->kind, at->array);
        if (!is_first_of_line(sight, i) || line.requests == 0)
            continue;
        if (line.kind == LAB_GLOBAL_LOAD || line.kind == LAB_GLOBAL_STORE)
            find_scattered(explanation, &line, sectors);
        else
            find_conflict(explanation, &line, wavefronts);
        if (explanation->threads % 32 == 0)
            find_idle_lanes(explanation, &line, requests);
    }
}

/* ---- The compiler, and what a multiprocessor holds --------------------------------------------- */

static void find_spills(lab_explanation *explanation, int64_t head)
{
    const lab_code *code = &explanation->code;
    for (int64_t i = 0; i < code->spill_count && i < LAB_SPILLS_MAX; i++)
        if (explanation->spill_bytes > 0)
            add(explanation, "spill", code->spills[i].line ? code->spills[i].line : head,
                "spill: %lld stores and %lld loads of local memory for want of registers; fewer outputs a thread, or "
                "fewer threads a block",
                (long long)code->spills[i].stores, (long long)code->spills[i].loads);
    if (explanation->spill_bytes > 0 && (!explanation->is_taken_apart || code->spill_count == 0))
        add(explanation, "spill", head, "spill: %lld bytes a thread go to local memory for want of registers",
            (long long)explanation->spill_bytes);
}

/* A few registers or bytes that cost a block. */
static void find_cliff(lab_explanation *explanation, int64_t head)
{
    enum { REGISTERS_NEAR = 8, SHARED_NEAR = 8 }; /* up to so many, and up to the 8th part of its shared memory */
    const lab_limits *limits = lab_limits_of(explanation->machine.arch);
    int64_t threads = explanation->threads, registers = explanation->registers, shared = explanation->shared_bytes;
    int64_t blocks = explanation->occupancy.blocks;
    if (!limits || !explanation->is_compiled || blocks < 1)
        return;
    for (int64_t fewer = 1; fewer <= REGISTERS_NEAR && registers - fewer > 0; fewer++)
        if (lab_occupancy_of(limits, threads, registers - fewer, shared).blocks > blocks) {
            add(explanation, "occupancy_cliff", head,
                "occupancy cliff: %lld registers a thread leave room for %lld block%s of %lld threads; %lld would leave "
                "room for one more",
                (long long)registers, (long long)blocks, blocks == 1 ? "" : "s", (long long)threads,
                (long long)(registers - fewer));
            return;
        }
    for (int64_t fewer = 16; fewer <= shared / SHARED_NEAR; fewer += 16)
        if (lab_occupancy_of(limits, threads, registers, shared - fewer).blocks > blocks) {
            add(explanation, "occupancy_cliff", head,
                "occupancy cliff: %lld bytes of shared memory leave room for %lld block%s; %lld fewer would leave room "
                "for one more",
                (long long)shared, (long long)blocks, blocks == 1 ? "" : "s", (long long)fewer);
            return;
        }
}

void lab_find_mistakes(lab_explanation *explanation, const char *source)
{
    int64_t head = head_line(source);
    if (explanation->threads % 32 != 0)
        add(explanation, "half_empty_warp", head, "half-empty warp: a block of %lld threads has a warp with %lld of 32",
            (long long)explanation->threads, (long long)(explanation->threads % 32));
    if (explanation->is_seen)
        find_in_lines(explanation);
    find_spills(explanation, head);
    find_cliff(explanation, head);
}
