/* SPDX-License-Identifier: Apache-2.0 */
/* findings.c - collects what checks and faults report. Findings of one kind at one pair of lines are one finding. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "emulator/machine/emulator.h"
#include "emulator/ptx/instruction_table.h"
#include "emulator/ptx/vector.h"

static const char *const kind_names[] = {"out-of-bounds", "misaligned", "use-after-free", "uninitialized",    "race",
                                         "barrier",       "async-copy", "warp-sync",      "division-by-zero", "trap",
                                         "infinite-loop", "read-only",  "limit"};

const char *rung_emulator_finding_name(rung_emulator_finding_kind kind)
{
    return kind >= 0 && (size_t)kind < sizeof kind_names / sizeof *kind_names ? kind_names[kind] : "unknown";
}

/* Where an instruction is in the source: file is an index, or 0 if the line is one of the PTX text. */
typedef struct source_line {
    int32_t file, line;
} source_line_t;

static source_line_t line_of(const ptx_module_t *module, int32_t pc)
{
    if (pc < 0 || pc >= module->instruction_count)
        return (source_line_t){0, 0};
    int32_t location = rungi_ptx_module_user_location(module, module->instructions[pc].location);
    if (location < 0)
        return (source_line_t){0, module->instructions[pc].line};
    int32_t file = module->locations[location].file;
    bool is_known = file > 0 && file < module->file_count && module->files[file];
    return (source_line_t){is_known ? file : 0, module->locations[location].line};
}

int32_t rungi_ptx_line(const ptx_module_t *module, int32_t pc)
{
    return line_of(module, pc).line;
}

/* Returns the memory that an instruction accessed. Addresses of shared and local memory are offsets. */
static rung_emulator_memory memory_of(const ptx_launch_t *launch, int32_t pc, uint64_t address, int bytes)
{
    if (bytes == 0 || pc < 0)
        return RUNG_EMULATOR_MEMORY_NONE;
    ptx_space_t space = (ptx_space_t)launch->module->instructions[pc].space;
    if (address >= PTX_GLOBAL_BASE || space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST)
        return RUNG_EMULATOR_MEMORY_GLOBAL;
    bool is_other = space == PTX_SPACE_LOCAL || space == PTX_SPACE_PARAM || space == PTX_SPACE_FUNCTION_PARAM;
    return is_other ? RUNG_EMULATOR_MEMORY_OTHER : RUNG_EMULATOR_MEMORY_SHARED;
}

/* Returns what an instruction did to the memory. A copy reads one memory and writes the other one. */
static rung_emulator_access access_of(const ptx_launch_t *launch, int32_t pc, rung_emulator_memory memory)
{
    static const struct {
        const char *opcode;
        rung_emulator_access access;
    } rows[] = {{"ld", RUNG_EMULATOR_ACCESS_READ},        {"ldu", RUNG_EMULATOR_ACCESS_READ},
                {"ldmatrix", RUNG_EMULATOR_ACCESS_READ},  {"wgmma", RUNG_EMULATOR_ACCESS_READ},
                {"st", RUNG_EMULATOR_ACCESS_WRITE},       {"stmatrix", RUNG_EMULATOR_ACCESS_WRITE},
                {"atom", RUNG_EMULATOR_ACCESS_ATOMIC},    {"red", RUNG_EMULATOR_ACCESS_ATOMIC},
                {"mbarrier", RUNG_EMULATOR_ACCESS_ATOMIC}};
    const rung_emulator_instruction *entry = &rungi_ptx_table_row(launch->module->instructions[pc].row)->entry;
    if (memory == RUNG_EMULATOR_MEMORY_NONE)
        return RUNG_EMULATOR_ACCESS_NONE;
    if (strcmp(entry->opcode, "wmma") == 0)
        return strncmp(entry->modifiers, "op:store", 8) == 0 ? RUNG_EMULATOR_ACCESS_WRITE : RUNG_EMULATOR_ACCESS_READ;
    if (strcmp(entry->opcode, "cp") == 0) {
        bool is_to_global = strstr(entry->modifiers, "dst:global") != NULL;
        return is_to_global == (memory == RUNG_EMULATOR_MEMORY_GLOBAL) ? RUNG_EMULATOR_ACCESS_WRITE
                                                                       : RUNG_EMULATOR_ACCESS_READ;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(entry->opcode, rows[i].opcode) == 0)
            return rows[i].access;
    return RUNG_EMULATOR_ACCESS_NONE;
}

/* Returns the instruction whose line is shown; -1 if there is no party. */
static int32_t shown_pc(const ptx_launch_t *launch, const ptx_party_t *party)
{
    if (!party)
        return -1;
    return party->call ? (int32_t)(party->call - launch->module->instructions) : party->pc;
}

static rung_emulator_place place_of(const ptx_launch_t *launch, const ptx_party_t *party, rung_emulator_memory memory)
{
    uint64_t block = (uint64_t)party->block;
    uint32_t thread = (uint32_t)party->thread;
    rung_emulator_place place = {.line = line_of(launch->module, shown_pc(launch, party)).line};
    place.block[0] = (uint32_t)(block % launch->grid[0]);
    place.block[1] = (uint32_t)(block / launch->grid[0] % launch->grid[1]);
    place.block[2] = (uint32_t)(block / launch->grid[0] / launch->grid[1]);
    place.thread[0] = thread % launch->size[0];
    place.thread[1] = thread / launch->size[0] % launch->size[1];
    place.thread[2] = thread / launch->size[0] / launch->size[1];
    place.access = party->pc < 0 ? RUNG_EMULATOR_ACCESS_NONE : access_of(launch, party->pc, memory);
    return place;
}

static const char *file_of(const ptx_launch_t *launch, int32_t pc)
{
    int32_t file = line_of(launch->module, pc).file;
    return file > 0 ? launch->module->files[file] : "";
}

static ptx_finding_t *add_finding(rung_emulator *emulator)
{
    ptx_finding_t *findings = rungi_ptx_grow(emulator->findings, emulator->finding_count + 1,
                                             &emulator->finding_capacity, sizeof *findings);
    if (!findings)
        return NULL;
    emulator->findings = findings;
    ptx_finding_t *added = &emulator->findings[emulator->finding_count++];
    memset(added, 0, sizeof *added);
    return added;
}

/* Compares with a text that may be cut off: names of C++ templates have thousands of characters. */
static bool begins_alike(const char *stored, size_t capacity, const char *text)
{
    return strncmp(stored, text, capacity - 1) == 0;
}

/* Finds the finding of the same kind at the same lines, or adds one. Reads and writes of one line are two findings unless
 * another side is involved. Returns NULL if memory is short. */
static ptx_finding_t *find_or_add(const ptx_launch_t *launch, rung_emulator_finding_kind kind, int32_t pc,
                                  int32_t other_pc, rung_emulator_access access)
{
    rung_emulator *emulator = launch->emulator;
    int32_t line = line_of(launch->module, pc).line, other_line = line_of(launch->module, other_pc).line;
    const char *file = file_of(launch, pc), *other_file = file_of(launch, other_pc);
    for (int64_t i = 0; i < emulator->finding_count; i++) {
        ptx_finding_t *found = &emulator->findings[i];
        if (found->finding.kind == kind && found->finding.place.line == line &&
            found->finding.other.line == other_line && (other_pc >= 0 || found->finding.place.access == access) &&
            begins_alike(found->kernel, sizeof found->kernel, launch->kernel->name) &&
            begins_alike(found->file, sizeof found->file, file) &&
            begins_alike(found->other_file, sizeof found->other_file, other_file))
            return found;
    }
    ptx_finding_t *added = add_finding(emulator);
    if (!added)
        return NULL;
    added->finding.kind = kind;
    added->finding.place.access = access;
    added->block = INT64_MAX;
    snprintf(added->kernel, sizeof added->kernel, "%s", launch->kernel->name);
    snprintf(added->file, sizeof added->file, "%s", file);
    snprintf(added->other_file, sizeof added->other_file, "%s", other_file);
    return added;
}

/* Appends to a text that the place of a finding may be another call of the same code. */
static void append_other_line(const ptx_module_t *module, int32_t pc, char *text, size_t capacity)
{
    int32_t location = pc >= 0 && pc < module->instruction_count ? module->instructions[pc].location : -1;
    size_t used = strlen(text);
    if (location >= 0 && module->locations[location].other_line > 0)
        snprintf(text + used, capacity - used, " (line %d inlines the same code, and the compiler does not say which)",
                 module->locations[location].other_line);
}

/* ---- Causes -------------------------------------------------------------------------------------------------------- */

/* What the occurrences of a race have in common. */
enum { BOTH_WRITE = 1, ONE_READS = 2, IN_WARP = 4, BEYOND_WARP = 8, ONE_IS_ATOMIC = 16 };

static unsigned traits_of_race(const ptx_party_t *here, const ptx_party_t *other, const rung_emulator_place *place,
                               const rung_emulator_place *other_place)
{
    bool is_atomic = place->access == RUNG_EMULATOR_ACCESS_ATOMIC;
    bool is_other_atomic = other_place->access == RUNG_EMULATOR_ACCESS_ATOMIC;
    bool reads = place->access == RUNG_EMULATOR_ACCESS_READ || other_place->access == RUNG_EMULATOR_ACCESS_READ;
    bool is_in_warp = here->block == other->block && here->thread / PTX_WARP_LANES == other->thread / PTX_WARP_LANES;
    unsigned traits = is_in_warp ? IN_WARP : BEYOND_WARP;
    if (place->line == other_place->line && (reads || here->pc == other->pc))
        traits |= reads ? ONE_READS : BOTH_WRITE;
    if (here->block != other->block && is_atomic != is_other_atomic)
        traits |= ONE_IS_ATOMIC;
    return traits;
}

static rung_emulator_cause cause_of_race(unsigned traits)
{
    if ((traits & BOTH_WRITE) && (traits & ONE_READS))
        return RUNG_EMULATOR_CAUSE_UPDATE;
    if (!(traits & BEYOND_WARP))
        return RUNG_EMULATOR_CAUSE_WARP;
    return traits & ONE_IS_ATOMIC ? RUNG_EMULATOR_CAUSE_FENCE : RUNG_EMULATOR_CAUSE_NONE;
}

/* The kernel reads the registers that lead to the memory of cooperative launches. */
bool rungi_ptx_lacks_cooperative_launch(const ptx_launch_t *launch)
{
    const ptx_operand_t wanted[] = {PTX_SPECIAL_ENVREG1 * PTX_SPECIAL_BYTES | PTX_BASE_SPECIAL,
                                    PTX_SPECIAL_ENVREG2 * PTX_SPECIAL_BYTES | PTX_BASE_SPECIAL};
    for (int32_t i = launch->kernel->first; !launch->is_cooperative && i < launch->kernel->end; i++)
        for (int k = 0; k < 2; k++)
            if (launch->module->instructions[i].operand[1] == wanted[k])
                return true;
    return false;
}

static rung_emulator_cause cause_of_trap(const ptx_launch_t *launch, int32_t pc)
{
    const ptx_instruction_t *instruction = &launch->module->instructions[pc];
    if (instruction->control == PTX_CONTROL_CALL && instruction->target >= 0)
        return rungi_ptx_is_heap_function(launch->module->functions[instruction->target].name)
                   ? RUNG_EMULATOR_CAUSE_HEAP
                   : RUNG_EMULATOR_CAUSE_NONE;
    return rungi_ptx_lacks_cooperative_launch(launch) ? RUNG_EMULATOR_CAUSE_GRID_SYNC : RUNG_EMULATOR_CAUSE_NONE;
}

/* Returns the cause of a finding without another side. */
static rung_emulator_cause cause_of(const ptx_launch_t *launch, rung_emulator_finding_kind kind, int32_t pc,
                                    rung_emulator_memory memory, uint64_t address)
{
    if (pc < 0)
        return RUNG_EMULATOR_CAUSE_NONE;
    if (kind == RUNG_EMULATOR_TRAP)
        return cause_of_trap(launch, pc);
    if (kind != RUNG_EMULATOR_OUT_OF_BOUNDS || memory != RUNG_EMULATOR_MEMORY_GLOBAL)
        return RUNG_EMULATOR_CAUSE_NONE;
    return rungi_ptx_is_null(address)                                 ? RUNG_EMULATOR_CAUSE_NULL
           : !rungi_ptx_nearest_allocation(launch->emulator, address) ? RUNG_EMULATOR_CAUSE_FOREIGN
                                                                      : RUNG_EMULATOR_CAUSE_NONE;
}

/* ---- Records -------------------------------------------------------------------------------------------------------- */

/* Records one occurrence. The first one of the lowest block is described, whatever the order in which blocks ran.
 * `other` may be NULL. Returns the index of the finding, or -1. */
static int64_t record(const ptx_launch_t *launch, rung_emulator_finding_kind kind, const ptx_party_t *here,
                      const ptx_party_t *other, uint64_t address, int bytes, const char *format, va_list arguments)
{
    rung_emulator *emulator = launch->emulator;
    int64_t index = -1;
    rung_emulator_memory memory = memory_of(launch, here->pc, address, bytes);
    rung_emulator_place place = place_of(launch, here, memory);
    rung_emulator_place other_place = other ? place_of(launch, other, memory) : (rung_emulator_place){0};
    pthread_mutex_lock(&emulator->lock);
    ptx_finding_t *found = find_or_add(launch, kind, shown_pc(launch, here), shown_pc(launch, other), place.access);
    if (found) {
        index = found - emulator->findings;
        found->finding.count++;
        if (kind == RUNG_EMULATOR_RACE && other) {
            found->traits |= traits_of_race(here, other, &place, &other_place);
            found->finding.cause = cause_of_race(found->traits);
        }
        if (here->block < found->block) {
            found->block = here->block;
            found->finding.memory = memory;
            found->finding.place = place;
            if (other)
                found->finding.other = other_place;
            if (kind != RUNG_EMULATOR_RACE)
                found->finding.cause = cause_of(launch, kind, here->pc, memory, address);
            found->finding.address = address;
            found->finding.bytes = bytes;
            vsnprintf(found->text, sizeof found->text, format, arguments);
            append_other_line(launch->module, here->pc, found->text, sizeof found->text);
        }
    }
    emulator->are_findings_sorted = false;
    pthread_mutex_unlock(&emulator->lock);
    return index;
}

/* Returns the innermost call that has a line of the source, if the running instruction has none; or NULL. Functions of the
 * compiler, such as atomicAdd() in code that is not optimised, have no lines. */
static const ptx_instruction_t *find_call(const ptx_warp_t *warp)
{
    const ptx_module_t *module = warp->block->launch->module;
    if (line_of(module, warp->pc).file > 0)
        return NULL;
    for (const ptx_frame_t *frame = warp->frame; frame && frame->call; frame = frame->parent)
        if (line_of(module, (int32_t)(frame->call - module->instructions)).file > 0)
            return frame->call;
    return NULL;
}

static ptx_party_t party_of(const ptx_warp_t *warp, int lane)
{
    return (ptx_party_t){.pc = warp->pc,
                         .thread = PTX_WARP_LANES * warp->index + lane,
                         .block = warp->block->linear_id,
                         .call = find_call(warp)};
}

void rungi_ptx_report(ptx_warp_t *warp, rung_emulator_finding_kind kind, int lane, uint64_t address, int bytes,
                      const char *format, ...)
{
    ptx_party_t here = party_of(warp, lane);
    va_list arguments;
    va_start(arguments, format);
    record(warp->block->launch, kind, &here, NULL, address, bytes, format, arguments);
    va_end(arguments);
}

void rungi_ptx_report_pair(const ptx_launch_t *launch, rung_emulator_finding_kind kind, const ptx_party_t *here,
                           const ptx_party_t *other, uint64_t address, int bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    record(launch, kind, here, other, address, bytes, format, arguments);
    va_end(arguments);
}

static void fail(ptx_warp_t *warp, int64_t index)
{
    warp->block->launch->emulator->failure = index;
    warp->is_stopped = true;
    atomic_store(&warp->block->launch->has_failed, true);
}

void rungi_ptx_fault(ptx_warp_t *warp, rung_emulator_finding_kind kind, int lane, const char *format, ...)
{
    ptx_party_t here = party_of(warp, lane);
    va_list arguments;
    va_start(arguments, format);
    fail(warp, record(warp->block->launch, kind, &here, NULL, 0, 0, format, arguments));
    va_end(arguments);
}

void rungi_ptx_fault_pair(ptx_warp_t *warp, rung_emulator_finding_kind kind, const ptx_party_t *here,
                          const ptx_party_t *other, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail(warp, record(warp->block->launch, kind, here, other, 0, 0, format, arguments));
    va_end(arguments);
}

/* ---- The public list ----------------------------------------------------------------------------------------------- */

static int compare_findings(const void *x, const void *y)
{
    const ptx_finding_t *a = x, *b = y;
    int order = strcmp(a->kernel, b->kernel);
    if (order == 0)
        order = a->finding.place.line - b->finding.place.line;
    if (order == 0)
        order = (int)a->finding.kind - (int)b->finding.kind;
    if (order == 0)
        order = (int)b->finding.place.access - (int)a->finding.place.access; /* writes first: they do more harm */
    if (order == 0)
        order = strcmp(a->file, b->file);
    if (order == 0)
        order = a->finding.other.line - b->finding.other.line;
    return order ? order : strcmp(a->other_file, b->other_file);
}

/* Sorts the list and sets the pointers into the findings, which may have moved. */
static void complete_list(rung_emulator *emulator)
{
    if (!emulator->are_findings_sorted && emulator->finding_count > 1)
        qsort(emulator->findings, (size_t)emulator->finding_count, sizeof *emulator->findings, compare_findings);
    for (int64_t i = 0; i < emulator->finding_count; i++) {
        ptx_finding_t *found = &emulator->findings[i];
        found->finding.kernel = found->kernel;
        found->finding.text = found->text;
        found->finding.place.file = found->file[0] ? found->file : NULL;
        found->finding.other.file = found->other_file[0] ? found->other_file : NULL;
    }
    emulator->are_findings_sorted = true;
}

int64_t rung_emulator_finding_count(rung_emulator *emulator)
{
    return emulator ? emulator->finding_count : 0;
}

const rung_emulator_finding *rung_emulator_finding_at(rung_emulator *emulator, int64_t index)
{
    if (!emulator || index < 0 || index >= emulator->finding_count)
        return NULL;
    complete_list(emulator);
    return &emulator->findings[index].finding;
}

void rung_emulator_findings_clear(rung_emulator *emulator)
{
    if (emulator)
        emulator->finding_count = 0;
}
