/* SPDX-License-Identifier: Apache-2.0 */
/* fault_outcome.c - see fault_outcome.h. */
#define _GNU_SOURCE /* nftw, RTLD_NEXT */
#include "fault_outcome.h"

#include <dirent.h>
#include <dlfcn.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fault_calls.h"

enum { PATIENCE_MS = 500 };

const char *const fault_outcome_names[] = {"-", "reported", "worked", "wrong", "leaked", "aborted", "hung"};

/* ---- What is held ---------------------------------------------------------------------------------------------------- */

static int64_t count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int64_t count = 0;
    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count;
}

static int64_t file_count;

static int count_file(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)path, (void)status, (void)at;
    file_count += type == FTW_F;
    return 0;
}

fault_held fault_measure_held(void)
{
    file_count = 0;
    nftw(getenv("HOME"), count_file, 8, FTW_PHYS);
    return (fault_held){fault_live_allocations(), fault_live_driver_objects(), count_entries("/proc/self/fd"),
                        count_entries("/proc/self/task"), file_count};
}

bool fault_holds_more(const fault_held *held, const fault_held *expected)
{
    return held->allocations > expected->allocations || held->objects > expected->objects ||
           held->descriptors > expected->descriptors || held->threads > expected->threads ||
           held->files > expected->files;
}

fault_held fault_wait_until_released(const fault_held *expected)
{
    const struct timespec moment = {0, 5000000};
    fault_held held = fault_measure_held();
    for (int i = 0; i < PATIENCE_MS / 5 && fault_holds_more(&held, expected); i++) {
        nanosleep(&moment, NULL);
        held = fault_measure_held();
    }
    return held;
}

void fault_describe_leak(const fault_held *held, const fault_held *expected, char *text, size_t bytes)
{
    snprintf(text, bytes, "left: %lld allocations, %lld objects, %lld descriptors, %lld threads, %lld files",
             (long long)(held->allocations - expected->allocations), (long long)(held->objects - expected->objects),
             (long long)(held->descriptors - expected->descriptors), (long long)(held->threads - expected->threads),
             (long long)(held->files - expected->files));
    if (getenv("RUNG_FAULTS_LIST"))
        fault_print_live();
}

/* ---- Outcomes -------------------------------------------------------------------------------------------------------- */

bool fault_leaves_output(rung_status status)
{
    return status == RUNG_STATUS_INVALID || status == RUNG_STATUS_ALIASED || status == RUNG_STATUS_TOO_LARGE ||
           status == RUNG_STATUS_UNSUPPORTED;
}

void fault_make_one_line(char *text)
{
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
}

unsigned fault_seconds_max(void)
{
    const char *seconds = getenv("RUNG_FAULTS_SECONDS");
    return seconds ? (unsigned)atoi(seconds) : FAULT_SECONDS_MAX;
}

/* ---- The environment of a point -------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status, (void)type, (void)at;
    return remove(path);
}

void fault_remove_folder(const char *path)
{
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

bool fault_finds_next_function(void)
{
    void *expected = dlopen(NULL, RTLD_NOW | RTLD_NOLOAD);
    void *found = dlsym(RTLD_NEXT, "malloc");
    bool is_right = expected && found == dlsym(expected, "malloc");
    if (expected)
        dlclose(expected);
    return is_right;
}
