/* SPDX-License-Identifier: Apache-2.0 */
/* count_rows.c - what an emulator has counted since the last clear: rows by source line and array, and totals by kernel.
 *
 * Rows own their texts, since modules may be unloaded and memory may be freed before the rows are read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/try.h"
#include "emulator/counts/counts.h"
#include "emulator/counts/instruction_classes.h"
#include "emulator/machine/emulator.h"
#include "emulator/ptx/instruction_table.h"
#include "emulator/ptx/vector.h"

typedef struct kernel_totals {
    const char *kernel;
    rung_emulator_totals totals; /* its `mix` is set when the totals are returned */
    int64_t mix[PTX_CLASS_COUNT];
} kernel_totals_t;

struct ptx_counts {
    rung_emulator_line *rows; /* sorted, each key once */
    int64_t row_count, row_capacity;
    rung_emulator_array *arrays; /* sorted by kernel and name */
    int64_t array_count, array_capacity;
    rung_emulator_request *requests; /* sorted */
    int64_t request_count, request_capacity;
    kernel_totals_t *kernels;
    int64_t kernel_count, kernel_capacity;
    kernel_totals_t sum; /* of all kernels, when it was returned last */
    char **texts;        /* hash table with linear probing; NULL: free */
    int64_t text_count, text_capacity;
};

/* ---- Memory -------------------------------------------------------------------------------------------------------- */

/* Makes room for one more element. Returns false if memory is short. */
static bool grow(void *array, int64_t count, int64_t *capacity, size_t size)
{
    void **data = array;
    void *grown = rungi_ptx_grow(*data, count + 1, capacity, size);
    if (grown)
        *data = grown;
    return grown != NULL;
}

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

static bool grow_texts(ptx_counts_t *counts)
{
    int64_t capacity = counts->text_capacity ? 2 * counts->text_capacity : 256;
    char **texts = calloc((size_t)capacity, sizeof *texts);
    if (!texts)
        return false;
    for (int64_t i = 0; i < counts->text_capacity; i++) {
        if (!counts->texts[i])
            continue;
        uint64_t at = hash_of(counts->texts[i], strlen(counts->texts[i])) & (uint64_t)(capacity - 1);
        while (texts[at])
            at = (at + 1) & (uint64_t)(capacity - 1);
        texts[at] = counts->texts[i];
    }
    free(counts->texts);
    counts->texts = texts;
    counts->text_capacity = capacity;
    return true;
}

/* Returns the counts' own copy of a text: equal texts have one copy. NULL if memory is short. */
static const char *intern(ptx_counts_t *counts, const char *text, size_t length)
{
    if (2 * counts->text_count >= counts->text_capacity && !grow_texts(counts))
        return NULL;
    uint64_t at = hash_of(text, length) & (uint64_t)(counts->text_capacity - 1);
    while (counts->texts[at]) {
        if (strncmp(counts->texts[at], text, length) == 0 && counts->texts[at][length] == '\0')
            return counts->texts[at];
        at = (at + 1) & (uint64_t)(counts->text_capacity - 1);
    }
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    counts->texts[at] = copy;
    counts->text_count++;
    return copy;
}

void rungi_ptx_counts_free(rung_emulator *emulator)
{
    ptx_counts_t *counts = emulator->counts;
    if (!counts)
        return;
    for (int64_t i = 0; i < counts->text_capacity; i++)
        free(counts->texts[i]);
    free(counts->texts);
    free(counts->rows);
    free(counts->arrays);
    free(counts->requests);
    free(counts->kernels);
    free(counts);
    emulator->counts = NULL;
}

/* ---- Rows ---------------------------------------------------------------------------------------------------------- */

static int compare_rows(const void *x, const void *y)
{
    const rung_emulator_line *a = x, *b = y;
    int order = strcmp(a->kernel, b->kernel);
    if (order == 0)
        order = strcmp(a->file, b->file);
    if (order == 0)
        order = (a->line > b->line) - (a->line < b->line);
    if (order == 0)
        order = (int)a->kind - (int)b->kind;
    if (order == 0)
        order = strcmp(a->array, b->array);
    if (order == 0)
        order = strcmp(a->instruction, b->instruction);
    return order ? order : a->width - b->width;
}

/* Returns whether the first request of a row comes before that of another one. */
static bool is_earlier(const rung_emulator_line *row, const rung_emulator_line *other)
{
    if (row->first_warp != other->first_warp)
        return row->first_warp < other->first_warp;
    for (int lane = 0; lane < PTX_WARP_LANES; lane++)
        if (row->first_offsets[lane] != other->first_offsets[lane])
            return row->first_offsets[lane] < other->first_offsets[lane];
    return false;
}

static void add_counts(rung_emulator_line *to, const rung_emulator_line *from)
{
    if (is_earlier(from, to)) {
        to->first_warp = from->first_warp;
        memcpy(to->first_offsets, from->first_offsets, sizeof to->first_offsets);
    }
    to->requests += from->requests;
    to->lanes += from->lanes;
    to->partial += from->partial;
    to->sectors += from->sectors;
    to->lines += from->lines;
    to->ideal_sectors += from->ideal_sectors;
    to->wavefronts += from->wavefronts;
    to->ideal_wavefronts += from->ideal_wavefronts;
    to->bytes += from->bytes;
    to->distinct_bytes += from->distinct_bytes;
    to->atomic_conflicts += from->atomic_conflicts;
    to->divergent += from->divergent;
}

/* Sorts the rows and adds up those of the same key. */
static void combine_rows(ptx_counts_t *counts)
{
    int64_t kept = 0;
    if (counts->row_count == 0)
        return;
    qsort(counts->rows, (size_t)counts->row_count, sizeof *counts->rows, compare_rows);
    for (int64_t i = 1; i < counts->row_count; i++) {
        if (compare_rows(&counts->rows[kept], &counts->rows[i]) == 0)
            add_counts(&counts->rows[kept], &counts->rows[i]);
        else
            counts->rows[++kept] = counts->rows[i];
    }
    counts->row_count = kept + 1;
}

/* ---- Places and names ---------------------------------------------------------------------------------------------- */

/* The text of a module by line, to quote instructions. */
typedef struct line_index {
    const ptx_module_t *module;
    size_t *starts; /* offset of each line; line 1 is the first */
    int32_t count;
} line_index_t;

static bool index_lines(const ptx_module_t *module, line_index_t *index)
{
    size_t lines = 2;
    for (size_t i = 0; i < module->text_bytes; i++)
        lines += module->text[i] == '\n';
    *index = (line_index_t){.module = module, .starts = calloc(lines + 1, sizeof *index->starts), .count = 1};
    for (size_t i = 0; index->starts && i < module->text_bytes; i++)
        if (module->text[i] == '\n')
            index->starts[++index->count] = i + 1;
    return index->starts != NULL;
}

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == ':' || c == '$' || c == '%';
}

/* Finds the opcode with its modifiers in the line of an instruction. */
static rungi_string_view quote(const line_index_t *index, const ptx_instruction_t *instruction)
{
    const ptx_module_t *module = index->module;
    const char *opcode = rungi_ptx_table_row(instruction->row)->entry.opcode;
    size_t length = strlen(opcode), at = 0;
    if (instruction->line >= 1 && instruction->line <= index->count)
        at = index->starts[instruction->line];
    for (size_t end = at; end < module->text_bytes && module->text[end] != '\n'; end++) {
        const char *text = module->text + end;
        bool begins = end == 0 || !is_name_character(text[-1]);
        if (!begins || module->text_bytes - end < length || memcmp(text, opcode, length) != 0)
            continue;
        size_t stop = end;
        while (stop < module->text_bytes && is_name_character(module->text[stop]))
            stop++;
        if (stop == end + length || text[length] == '.')
            return rungi_string_view_of(text, stop - end);
    }
    return rungi_string_view_of(opcode, length);
}

/* Returns the location of an instruction in the kernel's own file. The compiler loses the call of some inlined
 * instructions, which then belong to a header; they get the location of an instruction before them. */
static int32_t location_of(const ptx_module_t *module, const ptx_function_t *kernel, int32_t pc)
{
    int32_t found = rungi_ptx_module_user_location(module, module->instructions[pc].location), own_file = -1;
    for (int32_t at = kernel->first; at < kernel->end && own_file < 0; at++) {
        int32_t location = rungi_ptx_module_user_location(module, module->instructions[at].location);
        own_file = location >= 0 ? module->locations[location].file : -1;
    }
    for (int32_t at = pc; at >= kernel->first && pc < kernel->end; at--) {
        int32_t location = rungi_ptx_module_user_location(module, module->instructions[at].location);
        if (location >= 0 && module->locations[location].file == own_file)
            return location;
    }
    return found;
}

/* Fills file, line, kernel and instruction of a row. Returns false if memory is short. */
static bool set_place(ptx_counts_t *counts, const ptx_launch_t *launch, const line_index_t *index, int32_t pc,
                      rung_emulator_line *row)
{
    const ptx_module_t *module = launch->module;
    const ptx_instruction_t *instruction = &module->instructions[pc];
    int32_t location = location_of(module, launch->kernel, pc);
    const char *file = "";
    row->line = instruction->line;
    if (location >= 0) {
        int32_t number = module->locations[location].file;
        row->line = module->locations[location].line;
        if (number > 0 && number < module->file_count && module->files[number])
            file = module->files[number];
    }
    rungi_string_view text = quote(index, instruction);
    row->file = intern(counts, file, strlen(file));
    row->kernel = intern(counts, launch->kernel->name, strlen(launch->kernel->name));
    row->instruction = intern(counts, text.text, text.length);
    return row->file && row->kernel && row->instruction;
}

static const char *array_name(const ptx_launch_t *launch, ptx_space_t space, int64_t array)
{
    if (array < 0)
        return "";
    return space == PTX_SPACE_SHARED ? launch->module->shared_arrays[array].name
                                     : launch->emulator->allocations[array].name;
}

static rung_emulator_line_kind kind_of(ptx_space_t space, ptx_access_t kind)
{
    switch (space) {
    case PTX_SPACE_CONST: return RUNG_EMULATOR_CONSTANT_LOAD;
    case PTX_SPACE_LOCAL: return kind == PTX_READ ? RUNG_EMULATOR_LOCAL_LOAD : RUNG_EMULATOR_LOCAL_STORE;
    case PTX_SPACE_SHARED: return RUNG_EMULATOR_SHARED_LOAD + (rung_emulator_line_kind)kind;
    default: return RUNG_EMULATOR_GLOBAL_LOAD + (rung_emulator_line_kind)kind;
    }
}

/* ---- Launches ------------------------------------------------------------------------------------------------------ */

/* Adds a row for an entry of a thread's counter. */
static bool add_entry(ptx_counts_t *counts, const ptx_launch_t *launch, const line_index_t *index,
                      ptx_count_entry_t *entry, rung_emulator_totals *totals)
{
    rungi_ptx_count_flush(entry);
    rung_emulator_line row = entry->sum;
    const char *array = array_name(launch, entry->space, entry->array);
    row.kind = kind_of(entry->space, entry->kind);
    row.width = entry->bytes;
    row.array = intern(counts, array, strlen(array));
    if (row.kind == RUNG_EMULATOR_CONSTANT_LOAD) /* constants have a cache of their own */
        row.sectors = row.lines = row.ideal_sectors = 0;
    if (row.kind == RUNG_EMULATOR_GLOBAL_LOAD)
        totals->global_bytes_read += 32 * row.sectors;
    if (row.kind == RUNG_EMULATOR_GLOBAL_STORE || row.kind == RUNG_EMULATOR_GLOBAL_ATOMIC)
        totals->global_bytes_written += 32 * row.sectors;
    if (!row.array || !set_place(counts, launch, index, entry->pc, &row) ||
        !grow(&counts->rows, counts->row_count, &counts->row_capacity, sizeof *counts->rows))
        return false;
    counts->rows[counts->row_count++] = row;
    return true;
}

/* Adds the traced requests of a thread. */
static bool add_trace(ptx_counts_t *counts, const ptx_launch_t *launch, const line_index_t *index,
                      const ptx_trace_t *trace)
{
    for (int64_t i = 0; trace && i < trace->count; i++) {
        const ptx_traced_request_t *item = &trace->items[i];
        const ptx_request_cost_t *cost = &item->pattern.cost;
        const char *array = array_name(launch, item->space, item->pattern.array);
        rung_emulator_line row = {0};
        array = intern(counts, array, strlen(array));
        if (!array || !set_place(counts, launch, index, item->pattern.pc, &row) ||
            !grow(&counts->requests, counts->request_count, &counts->request_capacity, sizeof *counts->requests))
            return false;
        rung_emulator_request *request = &counts->requests[counts->request_count++];
        *request = (rung_emulator_request){.file = row.file,
                                           .kernel = row.kernel,
                                           .line = row.line,
                                           .kind = kind_of(item->space, item->kind),
                                           .instruction = row.instruction,
                                           .array = array,
                                           .width = item->bytes,
                                           .warp = item->warp,
                                           .order = item->order,
                                           .mask = item->mask,
                                           .array_start = item->pattern.array < 0 ? 0 : item->pattern.array_start,
                                           .sectors = cost->sectors,
                                           .lines = cost->lines,
                                           .ideal_sectors = cost->ideal_sectors,
                                           .wavefronts = cost->wavefronts,
                                           .ideal_wavefronts = cost->ideal_wavefronts};
        memcpy(request->addresses, item->address, sizeof request->addresses);
    }
    return !trace || !trace->has_lost_requests;
}

static int compare_requests(const void *x, const void *y)
{
    const rung_emulator_request *a = x, *b = y;
    const rung_emulator_line row = {.kernel = a->kernel,
                                    .file = a->file,
                                    .line = a->line,
                                    .kind = a->kind,
                                    .array = a->array,
                                    .instruction = a->instruction,
                                    .width = a->width};
    const rung_emulator_line other = {.kernel = b->kernel,
                                      .file = b->file,
                                      .line = b->line,
                                      .kind = b->kind,
                                      .array = b->array,
                                      .instruction = b->instruction,
                                      .width = b->width};
    int order = compare_rows(&row, &other);
    if (order == 0)
        order = (a->warp > b->warp) - (a->warp < b->warp);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* Adds the instruction mix and a row for each branch and barrier that was executed. Unconditional branches cannot diverge. */
static bool add_passes(ptx_counts_t *counts, const ptx_launch_t *launch, const line_index_t *index,
                       const ptx_counter_t *counter, kernel_totals_t *kernel)
{
    const ptx_instruction_t *instructions = launch->module->instructions;
    int64_t passes = 0;
    for (int32_t pc = 0; pc < launch->module->instruction_count; pc++) {
        const ptx_instruction_t *instruction = &instructions[pc];
        passes += counter->passes[pc];
        if (passes == 0)
            continue;
        if (launch->module->executed)
            launch->module->executed[pc] |= 1;
        if (instruction->merged >= 0)
            kernel->mix[rungi_ptx_class_of(instruction)] += passes;
        kernel->totals.multiply_adds += passes * rungi_ptx_multiply_adds(instruction);
        kernel->totals.integer_multiply_adds += passes * rungi_ptx_integer_multiply_adds(instruction);
        bool can_diverge = (instruction->control == PTX_CONTROL_BRANCH && instruction->guard) ||
                           instruction->control == PTX_CONTROL_INDEXED_BRANCH;
        if (!can_diverge && instruction->control != PTX_CONTROL_BARRIER)
            continue;
        rung_emulator_line row = {.kind = can_diverge ? RUNG_EMULATOR_BRANCH : RUNG_EMULATOR_BARRIER_WAIT,
                                  .requests = passes,
                                  .divergent = counter->divergent[pc],
                                  .array = intern(counts, "", 0)};
        if (!row.array || !set_place(counts, launch, index, pc, &row) ||
            !grow(&counts->rows, counts->row_count, &counts->row_capacity, sizeof *counts->rows))
            return false;
        counts->rows[counts->row_count++] = row;
    }
    return true;
}

/* Adds the different sectors of one array to those of earlier launches. */
static bool add_array(ptx_counts_t *counts, const rung_emulator_array *added)
{
    int64_t at = 0;
    while (at < counts->array_count) {
        rung_emulator_array *array = &counts->arrays[at];
        int order = strcmp(array->kernel, added->kernel);
        order = order ? order : strcmp(array->array, added->array);
        if (order == 0) {
            array->block_sectors_read += added->block_sectors_read;
            array->block_lines_read += added->block_lines_read;
            array->block_sectors_written += added->block_sectors_written;
            array->sectors_read += added->sectors_read;
            array->sectors_written += added->sectors_written;
            return true;
        }
        if (order > 0)
            break;
        at++;
    }
    if (!grow(&counts->arrays, counts->array_count, &counts->array_capacity, sizeof *counts->arrays))
        return false;
    memmove(&counts->arrays[at + 1], &counts->arrays[at], (size_t)(counts->array_count - at) * sizeof *counts->arrays);
    counts->arrays[at] = *added;
    counts->array_count++;
    return true;
}

static bool add_arrays(ptx_counts_t *counts, const ptx_launch_t *launch, ptx_counter_t *const *counters, int count)
{
    const ptx_reuse_t **threads = calloc((size_t)(count > 0 ? count : 1), sizeof *threads);
    int used = 0;
    for (int i = 0; threads && i < count; i++)
        if (counters[i])
            threads[used++] = &counters[i]->reuse;
    bool has_memory = threads != NULL;
    for (int64_t i = 0; has_memory && i < launch->emulator->allocation_count; i++) {
        const char *name = launch->emulator->allocations[i].name;
        rung_emulator_array sum = {.kernel = intern(counts, launch->kernel->name, strlen(launch->kernel->name)),
                                   .array = intern(counts, name, strlen(name))};
        rungi_ptx_reuse_sum(launch, threads, used, i, &sum);
        bool is_accessed = sum.block_sectors_read + sum.block_sectors_written > 0;
        has_memory = sum.kernel && sum.array && (!is_accessed || add_array(counts, &sum));
    }
    free(threads);
    return has_memory;
}

/* Returns the totals of a kernel, which are added if there are none. NULL if memory is short. */
static kernel_totals_t *find_totals(ptx_counts_t *counts, const char *kernel)
{
    for (int64_t i = 0; i < counts->kernel_count; i++)
        if (strcmp(counts->kernels[i].kernel, kernel) == 0)
            return &counts->kernels[i];
    const char *name = intern(counts, kernel, strlen(kernel));
    if (!name || !grow(&counts->kernels, counts->kernel_count, &counts->kernel_capacity, sizeof *counts->kernels))
        return NULL;
    kernel_totals_t *added = &counts->kernels[counts->kernel_count++];
    *added = (kernel_totals_t){.kernel = name};
    return added;
}

static void add_totals(rung_emulator_totals *to, const rung_emulator_totals *from)
{
    to->launches += from->launches;
    to->warp_instructions += from->warp_instructions;
    to->thread_instructions += from->thread_instructions;
    to->divergent_branches += from->divergent_branches;
    to->barriers += from->barriers;
    to->global_bytes_read += from->global_bytes_read;
    to->global_bytes_written += from->global_bytes_written;
    to->multiply_adds += from->multiply_adds;
    to->integer_multiply_adds += from->integer_multiply_adds;
    to->waits += from->waits;
}

/* Adds the counters of a launch that counted accesses. Returns false if memory is short. */
static bool add_counters(ptx_counts_t *counts, const ptx_launch_t *launch, ptx_counter_t *const *counters, int count,
                         kernel_totals_t *kernel)
{
    line_index_t index;
    bool has_memory = index_lines(launch->module, &index);
    for (int i = 0; has_memory && i < count; i++) {
        if (!counters[i])
            continue;
        has_memory = !counters[i]->has_lost_counts;
        for (int32_t j = 0; has_memory && j < counters[i]->entry_count; j++)
            has_memory = add_entry(counts, launch, &index, &counters[i]->entries[j], &kernel->totals);
        has_memory = has_memory && add_passes(counts, launch, &index, counters[i], kernel) &&
                     add_trace(counts, launch, &index, counters[i]->trace);
        kernel->totals.waits += rungi_ptx_wait_counter_sum(&counters[i]->waits);
    }
    free(index.starts);
    combine_rows(counts);
    if (counts->request_count > 0)
        qsort(counts->requests, (size_t)counts->request_count, sizeof *counts->requests, compare_requests);
    return has_memory && add_arrays(counts, launch, counters, count);
}

rung_status rungi_ptx_counts_add(const ptx_launch_t *launch, ptx_counter_t *const *counters, int count)
{
    rung_emulator *emulator = launch->emulator;
    if (!emulator->counts)
        emulator->counts = calloc(1, sizeof *emulator->counts);
    kernel_totals_t *kernel = emulator->counts ? find_totals(emulator->counts, launch->kernel->name) : NULL;
    bool has_memory = kernel != NULL;
    if (has_memory) {
        add_totals(&kernel->totals, &launch->totals);
        kernel->totals.launches++;
        has_memory = !launch->counts || add_counters(emulator->counts, launch, counters, count, kernel);
    }
    return has_memory ? RUNG_OK
                      : rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the counts of %s", launch->kernel->name);
}

/* ---- Public functions ---------------------------------------------------------------------------------------------- */

static const rung_emulator_totals *totals_of(kernel_totals_t *kernel)
{
    kernel->totals.mix_count = PTX_CLASS_COUNT;
    kernel->totals.mix = kernel->mix;
    return &kernel->totals;
}

/* Adds the totals of all kernels. */
static kernel_totals_t *sum_kernels(ptx_counts_t *counts)
{
    counts->sum = (kernel_totals_t){0};
    for (int64_t i = 0; i < counts->kernel_count; i++) {
        add_totals(&counts->sum.totals, &counts->kernels[i].totals);
        for (int c = 0; c < PTX_CLASS_COUNT; c++)
            counts->sum.mix[c] += counts->kernels[i].mix[c];
    }
    return &counts->sum;
}

const rung_emulator_totals *rung_emulator_get_totals(rung_emulator *emulator, const char *kernel)
{
    if (!emulator) {
        rungi_fail(RUNG_STATUS_INVALID, "rung_emulator_get_totals: emulator is NULL");
        return NULL;
    }
    if (!kernel && !emulator->counts && !(emulator->counts = calloc(1, sizeof *emulator->counts))) {
        rungi_fail(RUNG_STATUS_NO_MEMORY, "no memory for the counts of all kernels");
        return NULL;
    }
    if (!kernel)
        return totals_of(sum_kernels(emulator->counts));
    for (int64_t i = 0; emulator->counts && i < emulator->counts->kernel_count; i++)
        if (strcmp(emulator->counts->kernels[i].kernel, kernel) == 0)
            return totals_of(&emulator->counts->kernels[i]);
    rungi_fail(RUNG_STATUS_INVALID, "kernel \"%s\" has no counts: it was not launched since the counts were cleared",
               kernel);
    return NULL;
}

int64_t rung_emulator_line_count(rung_emulator *emulator)
{
    return emulator && emulator->counts ? emulator->counts->row_count : 0;
}

const rung_emulator_line *rung_emulator_line_at(rung_emulator *emulator, int64_t index)
{
    return index >= 0 && index < rung_emulator_line_count(emulator) ? &emulator->counts->rows[index] : NULL;
}

int64_t rung_emulator_array_count(rung_emulator *emulator)
{
    return emulator && emulator->counts ? emulator->counts->array_count : 0;
}

const rung_emulator_array *rung_emulator_array_at(rung_emulator *emulator, int64_t index)
{
    return index >= 0 && index < rung_emulator_array_count(emulator) ? &emulator->counts->arrays[index] : NULL;
}

int64_t rung_emulator_request_count(rung_emulator *emulator)
{
    return emulator && emulator->counts ? emulator->counts->request_count : 0;
}

const rung_emulator_request *rung_emulator_request_at(rung_emulator *emulator, int64_t index)
{
    return index >= 0 && index < rung_emulator_request_count(emulator) ? &emulator->counts->requests[index] : NULL;
}

void rung_emulator_counts_clear(rung_emulator *emulator)
{
    if (emulator)
        rungi_ptx_counts_free(emulator);
}
