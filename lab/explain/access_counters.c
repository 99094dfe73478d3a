/* SPDX-License-Identifier: Apache-2.0 */
/* access_counters.c - the parent's part of access_counters.h: finds the simulator, starts the child process, and reads
 * the counters that the plugin wrote. */
#include "explain/access_counters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/enum_names.h"
#include "common/failure.h"
#include "common/growing_array.h"

/* The largest shared memory per block of any GPU: 227 KiB, and 1 KiB that CUDA reserves. */
#define SHARED_BYTES_TEXT "233472"

/* ---- Tools ---- */

bool lab_access_counter_tools_find(lab_access_counter_tools *tools)
{
    char self[LAB_EXECUTABLE_PATH_BYTES],
        built[LAB_EXECUTABLE_PATH_BYTES + 128] = "", installed[LAB_EXECUTABLE_PATH_BYTES + 128] = "";
    int folder = (int)lab_find_executable(self, sizeof self);
    /* In the build tree the plugin is next to the command; when installed, in the folder that CMake chose. */
    if (folder > 0) {
        snprintf(built, sizeof built, "%.*srung_microscope.so", folder, self);
        snprintf(installed, sizeof installed, "%.*s%s/rung_microscope.so", folder, self, LAB_ACCESS_COUNTERS_FOLDER);
    }
    const char *const plugins[] = {built, installed};
    memset(tools, 0, sizeof *tools);
    lab_oclgrind_find(tools->oclgrind, sizeof tools->oclgrind);
    if (!lab_find_from_variable("RUNG_MICROSCOPE", tools->plugin, sizeof tools->plugin))
        lab_find_first_match(plugins, 2, tools->plugin, sizeof tools->plugin);
    return *tools->oclgrind && *tools->plugin;
}

static bool find_counter_tools(lab_access_counter_tools *tools, char *why, size_t capacity)
{
    return lab_access_counter_tools_find(tools) ||
           lab_set_reason(
               why, capacity, "%s",
               *tools->oclgrind
                   ? "rung_microscope.so was not found: install its build tools (Debian: g++, liboclgrind-dev, "
                     "llvm-14-dev) and build rung again, or set RUNG_MICROSCOPE to its path"
                   : "Oclgrind was not found: install it (Debian: oclgrind), or set RUNG_OCLGRIND to the path of "
                     "its liboclgrind-rt-icd.so");
}

/* ---- Child process ---- */

static bool run_child(const lab_access_request *request, const lab_access_counter_tools *tools,
                      const lab_child_files *work_files, char *why, size_t capacity)
{
    char numbers[192], text[4096];
    int code = -1;
    snprintf(numbers, sizeof numbers, LAB_ACCESS_CHILD_NUMBERS(PRId64), (int)request->compute, request->b_col_major,
             request->m, request->n, request->k, request->a_stride, request->b_stride, request->c_stride);
    char *argv[] = {NULL,
                    "--under-microscope",
                    (char *)request->kernel,
                    (char *)(request->parameters ? request->parameters : ""),
                    (char *)lab_type_pair_name(request->product),
                    numbers,
                    (char *)work_files->output,
                    NULL};
    const lab_env_variable own[] = {{"OCL_ICD_VENDORS", tools->oclgrind},
                                    {"OCLGRIND_PLUGINS", tools->plugin},
                                    {"OCLGRIND_LOCAL_MEM_SIZE", SHARED_BYTES_TEXT},
                                    {"OCLGRIND_LOG", work_files->log},
                                    {"OCLGRIND_MAX_ERRORS", "1"},
                                    {"RUNG_MICROSCOPE_OUTPUT", work_files->output}};
    double seconds = request->seconds > 0 ? request->seconds : request->seconds < 0 ? 0 : LAB_ACCESS_RUN_SECONDS;
    bool ended = lab_rung_child_run(argv, own, sizeof own / sizeof *own, work_files->errors, work_files->errors,
                                    seconds, &code);
    lab_file_read_prefix(work_files->errors, text, sizeof text);
    if (code == LAB_CHILD_TIMED_OUT)
        snprintf(why, capacity,
                 "%s did not finish within %g s on Oclgrind, a simulator, with m = %lld, n = %lld, k = %lld; "
                 "check that each of its loops ends (--time-limit SECONDS allows more time)",
                 request->kernel, seconds, (long long)request->m, (long long)request->n, (long long)request->k);
    else if (code == LAB_CHILD_INTERRUPTED)
        snprintf(why, capacity, "interrupted");
    else if (!ended || code != 0)
        snprintf(why, capacity, "counting the memory accesses of %s failed: %s", request->kernel,
                 lab_child_message(text));
    return ended && code == 0;
}

/* ---- The plugin's file ---- */

/* Appends a zeroed element; NULL if memory is exhausted. */
static void *append_zeroed(void **array, int64_t *count, size_t size)
{
    void *grown = lab_array_grow(*array, *count, size);
    if (!grown)
        return NULL;
    *array = grown;
    return memset((char *)grown + (size_t)(*count)++ * size, 0, size);
}

/* Returns the next field of a line, "" after the last one. */
static const char *next_field(char **rest)
{
    char *field = *rest;
    size_t length = strcspn(field, "\t\n");
    *rest = field + length + (field[length] != '\0');
    field[length] = '\0';
    return field;
}

static int64_t next_number(char **rest)
{
    return strtoll(next_field(rest), NULL, 10);
}

LAB_DEFINE_ENUM_NAME(lab_access_kind_name, lab_access_kind, LAB_ACCESS_KIND_LIST)

static bool read_line(lab_access_counters *counters, char *rest)
{
    lab_access_line *line = append_zeroed((void **)&counters->lines, &counters->line_count, sizeof *line);
    if (!line)
        return false;
    line->line = next_number(&rest);
    line->call_line = next_number(&rest);
    const char *kind = next_field(&rest);
    while (line->kind < LAB_ACCESS_KIND_COUNT && strcmp(lab_access_kind_name(line->kind), kind) != 0)
        line->kind++;
    line->width = next_number(&rest);
    snprintf(line->array, sizeof line->array, "%s", next_field(&rest));
#define X(name) line->name = next_number(&rest);
    LAB_ACCESS_LINE_LIST(X)
#undef X
    return line->kind < LAB_ACCESS_KIND_COUNT;
}

static bool read_branch(lab_access_counters *counters, char *rest)
{
    lab_access_branch *branch = append_zeroed((void **)&counters->branches, &counters->branch_count, sizeof *branch);
    if (!branch)
        return false;
    branch->line = next_number(&rest);
    branch->call_line = next_number(&rest);
    branch->passed = next_number(&rest);
    branch->divergent = next_number(&rest);
    return true;
}

static bool read_barrier(lab_access_counters *counters, char *rest)
{
    lab_access_barrier *barrier = append_zeroed((void **)&counters->barriers, &counters->barrier_count,
                                                sizeof *barrier);
    if (!barrier)
        return false;
    barrier->line = next_number(&rest);
    barrier->passed = next_number(&rest);
    return true;
}

static bool read_buffer(lab_access_counters *counters, char *rest)
{
    lab_access_buffer *buffer = append_zeroed((void **)&counters->buffers, &counters->buffer_count, sizeof *buffer);
    if (!buffer)
        return false;
    snprintf(buffer->name, sizeof buffer->name, "%s", next_field(&rest));
#define X(name) buffer->name = next_number(&rest);
    LAB_ACCESS_BUFFER_LIST(X)
#undef X
    return true;
}

static bool read_record(lab_access_counters *counters, char *rest)
{
    const char *word = next_field(&rest);
    if (strcmp(word, "line") == 0)
        return read_line(counters, rest);
    if (strcmp(word, "branch") == 0)
        return read_branch(counters, rest);
    if (strcmp(word, "barrier") == 0)
        return read_barrier(counters, rest);
    if (strcmp(word, "buffer") == 0)
        return read_buffer(counters, rest);
    if (strcmp(word, "kernel") == 0) {
        snprintf(counters->kernel, sizeof counters->kernel, "%s", next_field(&rest));
        snprintf(counters->file, sizeof counters->file, "%s", next_field(&rest));
    } else if (strcmp(word, "run") == 0) {
        const char *parameters = next_field(&rest);
        if (strlen(parameters) >= sizeof counters->parameters)
            return false;
        strcpy(counters->parameters, parameters);
    } else if (strcmp(word, "totals") == 0) {
#define X(name) counters->totals.name = next_number(&rest);
        LAB_ACCESS_TOTAL_LIST(X)
#undef X
    } else {
        return false;
    }
    return true;
}

/* Reads the plugin's file. Its first line names the format; the child writes the last one. */
static bool read_counters(const char *path, lab_access_counters *counters)
{
    char text[2048] = "";
    FILE *file = fopen(path, "re");
    bool good = file && fgets(text, sizeof text, file) && strcmp(text, LAB_ACCESS_COUNTERS_FORMAT "\n") == 0;
    bool is_complete = false;
    while (good && fgets(text, sizeof text, file)) {
        is_complete = strncmp(text, "run\t", 4) == 0;
        good = read_record(counters, text);
    }
    if (file)
        fclose(file);
    return good && is_complete;
}

/* Reports what Oclgrind found wrong, for example an access out of bounds, which makes the counts meaningless. The log
 * begins with the error; a later line has the position. Oclgrind ignores #line, so the source it quotes is wrong. */
static bool check_simulator_log(const lab_child_files *work_files, const char *kernel, char *why, size_t capacity)
{
    char text[1000];
    lab_file_read_prefix(work_files->log, text, sizeof text);
    const char *what = text + strspn(text, "\n"), *where = strstr(what, "At line ");
    if (*what)
        snprintf(why, capacity, "%s is incorrect: %.*s%s%.*s", kernel, (int)strcspn(what, "\n"), what,
                 where ? "; at " : "", where ? (int)strcspn(where + 3, ":") : 0, where ? where + 3 : "");
    return !*what;
}

bool lab_access_counters_collect(const lab_access_request *request, lab_access_counters *counters, char *why,
                                 size_t capacity)
{
    lab_access_counter_tools tools;
    lab_child_files work_files;
    memset(counters, 0, sizeof *counters);
    if (!find_counter_tools(&tools, why, capacity))
        return false;
    if (request->m < 1 || request->n < 1 || request->k < 1 || request->m > 1 << 14 || request->n > 1 << 14 ||
        request->k > 1 << 14)
        return lab_set_reason(
            why, capacity,
            "memory accesses are counted for 1 to 16384 rows and columns; choose smaller --m, --n and --k");
    if (!lab_child_files_create(&work_files)) {
        lab_temporary_error_text(errno, why, capacity);
        return false;
    }
    bool good = run_child(request, &tools, &work_files, why, capacity);
    good = check_simulator_log(&work_files, request->kernel, why, capacity) &&
           good; /* the log has the better message */
    if (good && !read_counters(work_files.output, counters))
        good = lab_set_reason(why, capacity,
                              "the memory access counts cannot be read: %s may belong to another version of rung",
                              tools.plugin);
    if (!good) {
        char full[4096];
        if (!lab_child_files_check(&work_files, full, sizeof full))
            snprintf(why, capacity, "%s", full);
        lab_access_counters_free(counters);
    }
    lab_child_files_remove(&work_files);
    return good;
}

void lab_access_counters_free(lab_access_counters *counters)
{
    free(counters->lines);
    free(counters->branches);
    free(counters->barriers);
    free(counters->buffers);
    memset(counters, 0, sizeof *counters);
}

lab_access_line lab_access_counters_sum(const lab_access_counters *counters, int64_t line, lab_access_kind kind,
                                        const char *array)
{
    lab_access_line sum = {.line = line, .call_line = line, .kind = kind};
    snprintf(sum.array, sizeof sum.array, "%s", array ? array : "");
    for (int64_t i = 0; i < counters->line_count; i++) {
        const lab_access_line *found = &counters->lines[i];
        if (found->kind != kind || (line != 0 && found->line != line) || (array && strcmp(found->array, array) != 0))
            continue;
        sum.width = found->width > sum.width ? found->width : sum.width;
#define X(name) sum.name += found->name;
        LAB_ACCESS_LINE_LIST(X)
#undef X
    }
    return sum;
}
