/* SPDX-License-Identifier: Apache-2.0 */
/* soak_totals.c - see soak_totals.h. The file is text: the seeds, a row per device and types, and the seeds that failed. */
#include "soak_totals.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void soak_totals_add_failure(soak_totals *totals, uint64_t seed)
{
    if (totals->failure_count < SOAK_FAILURES_MAX)
        totals->failures[totals->failure_count++] = seed;
}

static bool read_line(const char *line, soak_totals *totals)
{
    soak_row row;
    uint64_t seed;
    if (sscanf(line, "seeds %" SCNu64 " %" SCNu64, &totals->first, &totals->next) == 2)
        return true;
    if (sscanf(line, "failure %" SCNu64, &seed) == 1) {
        soak_totals_add_failure(totals, seed);
        return true;
    }
    if (sscanf(line, "%31s %31s %" SCNd64 " %" SCNd64 " %" SCNd64 " %lf", row.device, row.types, &row.problems,
               &row.refused, &row.wrong, &row.seconds) != 6)
        return false;
    if (totals->row_count < SOAK_ROWS_MAX)
        totals->rows[totals->row_count++] = row;
    return true;
}

bool soak_totals_read(const char *path, uint64_t first, soak_totals *totals)
{
    char line[256];
    bool is_readable = true;
    memset(totals, 0, sizeof *totals);
    totals->first = totals->next = first;
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file && path && errno != ENOENT) {
        perror(path);
        return false;
    }
    while (file && is_readable && fgets(line, sizeof line, file))
        is_readable = read_line(line, totals);
    if (file)
        fclose(file);
    if (!is_readable)
        fprintf(stderr, "soak: %s: this line is not a row: %s", path, line);
    return is_readable;
}

bool soak_totals_write(const char *path, const soak_totals *totals)
{
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *file = fopen(temporary, "w");
    if (!file) {
        perror(temporary);
        return false;
    }
    fprintf(file, "seeds %" PRIu64 " %" PRIu64 "\n", totals->first, totals->next);
    for (int i = 0; i < totals->row_count; i++) {
        const soak_row *row = &totals->rows[i];
        fprintf(file, "%s %s %" PRId64 " %" PRId64 " %" PRId64 " %.3f\n", row->device, row->types, row->problems,
                row->refused, row->wrong, row->seconds);
    }
    for (int i = 0; i < totals->failure_count; i++)
        fprintf(file, "failure %" PRIu64 "\n", totals->failures[i]);
    bool is_written = fclose(file) == 0 && rename(temporary, path) == 0;
    if (!is_written)
        perror(path);
    return is_written;
}

/* Returns the row of a device, whose name includes the architecture if the GPU is emulated. */
static soak_row *find_row(soak_totals *totals, soak_device device, const char *types)
{
    char name[32];
    const char *architecture = getenv("RUNG_EMULATED_ARCH");
    int index = 0;
    snprintf(name, sizeof name, "%s%s%s", soak_device_name(device),
             device == SOAK_DEVICE_cuda && architecture ? ":sm_" : "",
             device == SOAK_DEVICE_cuda && architecture ? architecture : "");
    while (index < totals->row_count &&
           (strcmp(totals->rows[index].device, name) != 0 || strcmp(totals->rows[index].types, types) != 0))
        index++;
    if (index == SOAK_ROWS_MAX)
        return NULL;
    soak_row *row = &totals->rows[index];
    if (index == totals->row_count) {
        memset(row, 0, sizeof *row);
        snprintf(row->device, sizeof row->device, "%s", name);
        snprintf(row->types, sizeof row->types, "%s", types);
        totals->row_count++;
    }
    return row;
}

void soak_totals_add(soak_totals *totals, const soak_case *subject, const soak_result *result)
{
    for (int i = 0; i < SOAK_DEVICES; i++) {
        soak_row *row = subject->devices & 1U << i
                            ? find_row(totals, (soak_device)i, lab_type_pair_name(subject->product))
                            : NULL;
        if (!row || result->outcomes[i] == SOAK_SKIPPED)
            continue;
        row->problems += subject->members;
        row->refused += result->outcomes[i] == SOAK_REFUSED ? subject->members : 0;
        row->wrong += result->outcomes[i] == SOAK_WRONG;
        row->seconds += result->seconds[i];
    }
    if (result->is_wrong)
        soak_totals_add_failure(totals, subject->seed);
}
