/* SPDX-License-Identifier: Apache-2.0 */
/* emulated_counts.c - converts the rows that the emulator counted to the counters of access_counters.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/growing_array.h"
#include "common/text.h"
#include "emulate/emulated_multiply.h"
#include "explain/access_counters.h"

enum { WARP = 32 };

/* Appends a zeroed element; NULL if memory is exhausted. */
static void *append_zeroed(void **array, int64_t *count, size_t size)
{
    void *grown = lab_array_grow(*array, *count, size);
    if (!grown)
        return NULL;
    *array = grown;
    return memset((char *)grown + (size_t)(*count)++ * size, 0, size);
}

/* ---- Names ---- */

/* Copies the name of LARGE_SHARED(type, name, count), which PTX calls rung_shared. Returns false if there is none. */
static bool copy_large_shared_name(const char *source, char *name, size_t capacity)
{
    const char *found = strstr(source, "LARGE_SHARED("), *comma = found ? strchr(found, ',') : NULL;
    if (!comma)
        return false;
    comma += 1 + strspn(comma + 1, " ");
    snprintf(name, capacity, "%.*s", (int)strcspn(comma, ", )"), comma);
    return true;
}

/* Copies the kernel's name for an array. In PTX, a shared array of a function is _ZZ4gemmE6a_tile. */
void lab_access_array_name(const char *from, const char *source, char *name, size_t capacity)
{
    if (strcmp(from, "rung_shared") == 0 && copy_large_shared_name(source, name, capacity))
        return;
    const char *at = from, *last = from;
    int length = (int)strlen(from);
    for (; strncmp(from, "_ZZ", 3) == 0 && *at; at++) {
        int digits = 0, number = 0;
        while (isdigit((unsigned char)at[digits]))
            number = 10 * number + at[digits++] - '0';
        if (digits > 0 && number > 0 && (size_t)number <= strlen(at + digits)) {
            last = at + digits;
            length = number;
            at += digits + number - 1;
        }
    }
    snprintf(name, capacity, "%.*s", length, last);
}

/* ---- Rows ---- */

lab_access_kind lab_access_kind_of(int kind)
{
    switch (kind) {
    case RUNG_EMULATOR_GLOBAL_LOAD: return LAB_ACCESS_GLOBAL_LOAD;
    case RUNG_EMULATOR_GLOBAL_STORE:
    case RUNG_EMULATOR_GLOBAL_ATOMIC: return LAB_ACCESS_GLOBAL_STORE;
    case RUNG_EMULATOR_SHARED_LOAD: return LAB_ACCESS_SHARED_LOAD;
    case RUNG_EMULATOR_SHARED_STORE:
    case RUNG_EMULATOR_SHARED_ATOMIC: return LAB_ACCESS_SHARED_STORE;
    default: return LAB_ACCESS_KIND_COUNT;
    }
}

/* Returns the counters of a line, kind, width and array, which are added if there are none. */
static lab_access_line *find_line(lab_access_counters *counters, const lab_access_line *wanted)
{
    for (int64_t i = 0; i < counters->line_count; i++) {
        lab_access_line *line = &counters->lines[i];
        if (line->line == wanted->line && line->kind == wanted->kind && line->width == wanted->width &&
            strcmp(line->array, wanted->array) == 0)
            return line;
    }
    lab_access_line *line = append_zeroed((void **)&counters->lines, &counters->line_count, sizeof *line);
    if (line) {
        line->line = wanted->line;
        line->kind = wanted->kind;
        line->width = wanted->width;
        memcpy(line->array, wanted->array, sizeof line->array);
    }
    return line;
}

static bool add_line(lab_access_counters *counters, const rung_emulator_line *row, const char *source)
{
    lab_access_line wanted = {.line = row->line, .kind = lab_access_kind_of((int)row->kind), .width = row->width};
    if (wanted.kind == LAB_ACCESS_KIND_COUNT)
        return true;
    lab_access_array_name(row->array, source, wanted.array, sizeof wanted.array);
    lab_access_line *line = find_line(counters, &wanted);
    if (!line)
        return false;
    if (line->requests == 0 || row->first_warp < line->first_warp) {
        line->first_warp = row->first_warp;
        memcpy(line->first_offsets, row->first_offsets, sizeof line->first_offsets);
    }
    bool is_global = wanted.kind == LAB_ACCESS_GLOBAL_LOAD || wanted.kind == LAB_ACCESS_GLOBAL_STORE;
    line->requests += row->requests;
    line->lanes += row->lanes;
    line->partial += row->partial;
    line->bytes += row->bytes;
    line->sectors += is_global ? row->sectors : 0;
    line->lines += is_global ? row->lines : 0;
    line->sectors_ideal += is_global ? row->ideal_sectors : 0;
    line->wavefronts += row->wavefronts;
    line->wavefronts_ideal += row->ideal_wavefronts;
    line->distinct_bytes += row->distinct_bytes;
    return true;
}

static bool add_branch(lab_access_counters *counters, const rung_emulator_line *row)
{
    lab_access_branch *branch = append_zeroed((void **)&counters->branches, &counters->branch_count, sizeof *branch);
    if (!branch)
        return false;
    *branch = (lab_access_branch){row->line, row->requests, row->divergent};
    counters->totals.branches += row->requests;
    counters->totals.divergent += row->divergent;
    return true;
}

static bool add_barrier(lab_access_counters *counters, const rung_emulator_line *row, int64_t warps_per_block)
{
    lab_access_barrier *barrier = append_zeroed((void **)&counters->barriers, &counters->barrier_count,
                                                sizeof *barrier);
    if (!barrier)
        return false;
    *barrier = (lab_access_barrier){row->line, row->requests / warps_per_block};
    counters->totals.barriers += barrier->passed;
    return true;
}

static bool add_buffer(lab_access_counters *counters, const rung_emulator_array *array)
{
    lab_access_buffer *buffer = append_zeroed((void **)&counters->buffers, &counters->buffer_count, sizeof *buffer);
    if (!buffer)
        return false;
    snprintf(buffer->name, sizeof buffer->name, "%s", array->array);
#define X(name) buffer->name = array->name;
    LAB_ACCESS_BUFFER_LIST(X)
#undef X
    return true;
}

static int compare_lines(const void *x, const void *y)
{
    const lab_access_line *a = x, *b = y;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    int order = strcmp(a->array, b->array);
    return order ? order : (a->width > b->width) - (a->width < b->width);
}

bool lab_access_counters_read(rung_emulator *emulator, const lab_counted_launch *launch, lab_access_counters *counters)
{
    const rung_emulator_totals *totals = rung_emulator_get_totals(emulator, NULL);
    int64_t threads = launch->threads_per_block, warps = (threads + WARP - 1) / WARP, blocks = launch->blocks;
    bool good = true;
    if (!totals)
        return false;
    snprintf(counters->kernel, sizeof counters->kernel, "%s", launch->entry);
    snprintf(counters->file, sizeof counters->file, "%s", lab_base_name(launch->file));
    snprintf(counters->parameters, sizeof counters->parameters, "%s", launch->parameters);
    counters->totals = (lab_access_totals){.blocks = blocks,
                                           .threads = blocks * threads,
                                           .warps = blocks * warps,
                                           .idle_lanes = blocks * (warps * WARP - threads),
                                           .instructions = totals->warp_instructions,
                                           .multiply_adds = totals->multiply_adds > 0 ? totals->multiply_adds
                                                                                      : totals->integer_multiply_adds,
                                           .waits = totals->waits};
    for (int64_t i = 0; good && i < rung_emulator_line_count(emulator); i++) {
        const rung_emulator_line *row = rung_emulator_line_at(emulator, i);
        good = row->kind == RUNG_EMULATOR_BRANCH         ? add_branch(counters, row)
               : row->kind == RUNG_EMULATOR_BARRIER_WAIT ? add_barrier(counters, row, warps)
                                                         : add_line(counters, row, launch->source);
    }
    for (int64_t i = 0; good && i < rung_emulator_array_count(emulator); i++)
        good = add_buffer(counters, rung_emulator_array_at(emulator, i));
    if (counters->line_count > 0)
        qsort(counters->lines, (size_t)counters->line_count, sizeof *counters->lines, compare_lines);
    return good;
}
