/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_trace.c - see kernel_trace.h. */
#include "explain/kernel_trace.h"

#include <stdlib.h>
#include <string.h>

#include "common/growing_array.h"
#include "rung/emulator.h"

enum { LANES = 32, LINE_BYTES = 128 };

lab_kernel_trace *lab_kernel_trace_create(void)
{
    return calloc(1, sizeof(lab_kernel_trace));
}

void lab_kernel_trace_free(lab_kernel_trace *trace)
{
    if (!trace)
        return;
    for (int64_t i = 0; i < trace->row_count; i++)
        free(trace->rows[i].steps);
    free(trace->rows);
    free(trace->patterns);
    free(trace);
}

void lab_kernel_trace_begin_run(lab_kernel_trace *trace, int64_t m, int64_t n, int64_t k)
{
    if (trace->run_count < LAB_TRACE_RUNS_MAX)
        memcpy(trace->sizes[trace->run_count++], (const int64_t[3]){m, n, k}, sizeof trace->sizes[0]);
}

/* ---- From the emulator --------------------------------------------------------------------------------------------- */

static lab_trace_row *find_row(lab_kernel_trace *trace, const lab_trace_row *wanted)
{
    for (int64_t i = 0; i < trace->row_count; i++) {
        lab_trace_row *row = &trace->rows[i];
        if (row->line == wanted->line && row->kind == wanted->kind && row->width == wanted->width &&
            strcmp(row->array, wanted->array) == 0)
            return row;
    }
    lab_trace_row *rows = lab_array_grow(trace->rows, trace->row_count, sizeof *rows);
    if (!rows)
        return NULL;
    trace->rows = rows;
    rows[trace->row_count] = *wanted;
    return &rows[trace->row_count++];
}

/* Returns the start of the offsets. In global memory, this is the start of a cache line, so that offsets tell sectors. */
static uint64_t start_of(const rung_emulator_request *request, bool is_shared)
{
    uint64_t lowest = UINT64_MAX;
    for (int lane = 0; lane < LANES; lane++)
        if ((request->mask >> lane & 1) && request->addresses[lane] < lowest)
            lowest = request->addresses[lane];
    if (is_shared)
        return request->array_start;
    return (request->array_start > 0 ? request->array_start : lowest) & ~(uint64_t)(LINE_BYTES - 1);
}

static bool add_step(lab_kernel_trace *trace, const rung_emulator_request *request, const char *source)
{
    lab_trace_row wanted = {
        .line = request->line, .kind = lab_access_kind_of((int)request->kind), .width = request->width};
    bool is_shared = wanted.kind == LAB_ACCESS_SHARED_LOAD || wanted.kind == LAB_ACCESS_SHARED_STORE;
    uint64_t start = start_of(request, is_shared);
    lab_access_array_name(request->array, source, wanted.array, sizeof wanted.array);
    wanted.start = is_shared ? (int64_t)start : 0;
    lab_trace_row *row = find_row(trace, &wanted);
    lab_trace_step *steps = row ? lab_array_grow(row->steps, row->step_count, sizeof *steps) : NULL;
    if (!steps)
        return false;
    row->steps = steps;
    lab_trace_step *step = &steps[row->step_count++];
    *step = (lab_trace_step){.warp = request->warp,
                             .order = request->order,
                             .mask = request->mask,
                             .sectors = request->sectors,
                             .lines = request->lines,
                             .sectors_ideal = request->ideal_sectors,
                             .wavefronts = request->wavefronts,
                             .wavefronts_ideal = request->ideal_wavefronts};
    for (int lane = 0; lane < LANES; lane++)
        step->offsets[lane] = request->mask >> lane & 1 ? (int64_t)(request->addresses[lane] - start) : 0;
    return true;
}

static int compare_steps(const void *x, const void *y)
{
    const lab_trace_step *a = x, *b = y;
    if (a->warp != b->warp)
        return a->warp < b->warp ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

/* Sorts the requests of all instructions of a row, and keeps the first ones of each warp: the emulator's bound is per
 * instruction. */
static void keep_first_steps(lab_trace_row *row)
{
    int64_t kept = 0, of_warp = 0;
    qsort(row->steps, (size_t)row->step_count, sizeof *row->steps, compare_steps);
    for (int64_t i = 0; i < row->step_count; i++) {
        of_warp = i > 0 && row->steps[i].warp == row->steps[i - 1].warp ? of_warp + 1 : 0;
        if (of_warp < LAB_TRACE_STEPS)
            row->steps[kept++] = row->steps[i];
    }
    row->step_count = kept;
}

/* ---- Patterns ------------------------------------------------------------------------------------------------------ */

static int64_t base_of(const lab_trace_step *step)
{
    return step->mask ? step->offsets[__builtin_ctz(step->mask)] : 0;
}

/* Returns the number of a step's pattern; -1 if there is no room for a new one. */
static int64_t find_pattern(lab_kernel_trace *trace, const lab_trace_step *step)
{
    lab_trace_pattern wanted = {(int64_t)step->mask, step->sectors,    step->lines,
                                step->sectors_ideal, step->wavefronts, step->wavefronts_ideal};
    for (int lane = 0; lane < LANES; lane++)
        wanted[LAB_TRACE_COSTS + lane] = step->mask >> lane & 1 ? step->offsets[lane] - base_of(step) : 0;
    for (int64_t i = 0; i < trace->pattern_count; i++)
        if (memcmp(trace->patterns[i], wanted, sizeof wanted) == 0)
            return i;
    if (trace->pattern_count == LAB_TRACE_PATTERNS_MAX)
        return -1;
    lab_trace_pattern *patterns = lab_array_grow(trace->patterns, trace->pattern_count, sizeof *patterns);
    if (!patterns)
        return -1;
    trace->patterns = patterns;
    memcpy(patterns[trace->pattern_count], wanted, sizeof wanted);
    return trace->pattern_count++;
}

/* Finds the patterns of the steps. Drops a step beyond the bounds, and those of its warp after it. */
static void find_patterns(lab_kernel_trace *trace)
{
    int64_t total = 0;
    for (int64_t r = 0; r < trace->row_count; r++) {
        lab_trace_row *row = &trace->rows[r];
        int64_t kept = 0, dropped_warp = -1;
        for (int64_t i = 0; i < row->step_count; i++) {
            lab_trace_step *step = &row->steps[i];
            bool is_room = total < LAB_TRACE_TOTAL_STEPS && step->warp != dropped_warp;
            step->pattern = is_room ? find_pattern(trace, step) : -1;
            if (step->pattern < 0) {
                dropped_warp = step->warp;
                continue;
            }
            row->steps[kept++] = *step;
            total++;
        }
        row->step_count = kept;
    }
}

/* Adds the requests that the emulator counted to their rows. */
static void add_totals(lab_kernel_trace *trace, rung_emulator *emulator, const char *source)
{
    for (int64_t i = 0; i < rung_emulator_line_count(emulator); i++) {
        const rung_emulator_line *counted = rung_emulator_line_at(emulator, i);
        char array[sizeof trace->rows->array];
        lab_access_array_name(counted->array, source, array, sizeof array);
        for (int64_t r = 0; r < trace->row_count; r++) {
            lab_trace_row *row = &trace->rows[r];
            if (row->line == counted->line && row->kind == lab_access_kind_of((int)counted->kind) &&
                row->width == counted->width && strcmp(row->array, array) == 0)
                row->requests += counted->requests;
        }
    }
}

bool lab_kernel_trace_read(rung_emulator *emulator, const lab_counted_launch *launch, lab_kernel_trace *trace)
{
    bool good = true;
    trace->threads_per_block = launch->threads_per_block;
    trace->blocks = launch->blocks;
    for (int64_t i = 0; good && i < rung_emulator_request_count(emulator); i++)
        good = add_step(trace, rung_emulator_request_at(emulator, i), launch->source);
    for (int64_t i = 0; i < trace->row_count; i++)
        keep_first_steps(&trace->rows[i]);
    find_patterns(trace);
    add_totals(trace, emulator, launch->source);
    return good;
}

const lab_trace_row *lab_kernel_trace_find(const lab_kernel_trace *trace, const lab_access_line *line)
{
    for (int64_t i = 0; i < trace->row_count; i++) {
        const lab_trace_row *row = &trace->rows[i];
        if (row->line == line->line && row->kind == line->kind && row->width == line->width &&
            strcmp(row->array, line->array) == 0)
            return row;
    }
    return NULL;
}

/* ---- JSON ---------------------------------------------------------------------------------------------------------- */

/* Writes the steps of each warp of a row: the number of the pattern and the offset of the first lane, in pairs. */
static void write_steps(lab_json *json, const lab_trace_row *row)
{
    int64_t pairs[2 * LAB_TRACE_STEPS];
    int count = 0;
    lab_json_begin(json, "warps", '[');
    for (int64_t i = 0; i < row->step_count; i++) {
        const lab_trace_step *step = &row->steps[i];
        bool is_last = i + 1 == row->step_count || row->steps[i + 1].warp != step->warp;
        pairs[count++] = step->pattern;
        pairs[count++] = base_of(step);
        if (!is_last)
            continue;
        lab_json_begin(json, NULL, '{');
        lab_json_integer(json, "warp", step->warp);
        lab_json_integers_array(json, "steps", pairs, count);
        lab_json_end(json, '}');
        count = 0;
    }
    lab_json_end(json, ']');
}

static void write_trace(lab_json *json, const lab_kernel_trace *trace, const lab_access_counters *counters)
{
    lab_json_begin(json, "trace", '{');
    lab_json_sizes(json, trace->sizes[0][0], trace->sizes[0][1], trace->sizes[0][2]);
    LAB_JSON_INTEGERS(json, {"threads_per_block", trace->threads_per_block}, {"blocks", trace->blocks},
                      {"warps_recorded", LAB_TRACE_WARPS}, {"steps_per_warp", LAB_TRACE_STEPS});
    lab_json_begin(json, "rows", '[');
    for (int64_t i = 0; i < counters->line_count; i++) {
        const lab_trace_row *row = lab_kernel_trace_find(trace, &counters->lines[i]);
        if (!row || row->step_count == 0)
            continue;
        lab_json_begin(json, NULL, '{');
        LAB_JSON_INTEGERS(json, {"row", i}, {"start", row->start}, {"requests_of_the_run", row->requests},
                          {"left_out", row->requests - row->step_count});
        write_steps(json, row);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
    lab_json_begin(json, "patterns", '[');
    for (int64_t i = 0; i < trace->pattern_count; i++)
        lab_json_integers_array(json, NULL, trace->patterns[i], LAB_TRACE_PATTERN_LENGTH);
    lab_json_end(json, ']');
    lab_json_end(json, '}');
}

static void write_thread(lab_json *json, const char *name, const lab_finding_thread *thread, int line)
{
    static const char *const accesses[] = {"", "read", "write", "atomic"};
    const int64_t block[] = {thread->block[0], thread->block[1], thread->block[2]};
    const int64_t index[] = {thread->thread[0], thread->thread[1], thread->thread[2]};
    lab_json_begin(json, name, '{');
    lab_json_integer(json, "line", line);
    lab_json_integers_array(json, "block", block, 3);
    lab_json_integers_array(json, "thread", index, 3);
    lab_json_string(json, "access", accesses[thread->access]);
    lab_json_end(json, '}');
}

static void write_checks(lab_json *json, const lab_kernel_trace *trace)
{
    lab_json_begin(json, "checks", '{');
    lab_json_begin(json, "runs", '[');
    for (int i = 0; i < trace->run_count; i++)
        lab_json_integers_array(json, NULL, trace->sizes[i], 3);
    lab_json_end(json, ']');
    lab_json_integer(json, "findings_left_out", trace->findings.dropped);
    lab_json_begin(json, "findings", '[');
    for (int i = 0; i < trace->findings.count; i++) {
        const lab_finding *item = &trace->findings.items[i];
        lab_json_begin(json, NULL, '{');
        LAB_JSON_STRINGS(json, {"kind", item->kind}, {"text", item->text}, {"fix", item->fix});
        LAB_JSON_INTEGERS(json, {"line", item->line}, {"other_line", item->other_line}, {"count", item->count});
        write_thread(json, "thread", &item->thread, item->line);
        if (item->other_line > 0)
            write_thread(json, "other_thread", &item->other_thread, item->other_line);
        lab_json_end(json, '}');
    }
    lab_json_end(json, ']');
    lab_json_end(json, '}');
}

void lab_kernel_trace_write(lab_json *json, const lab_kernel_trace *trace, const lab_access_counters *counters)
{
    write_trace(json, trace, counters);
    write_checks(json, trace);
}
