/* SPDX-License-Identifier: Apache-2.0 */
/* microscope.c - see microscope.h: finds the simulator, starts the child, reads what it saw. */
#include "microscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator.h"

/* The most shared memory that a block of any of the GPUs has: 227 KiB, and the 1 KiB of it that
 * CUDA keeps. */
#define SHARED_BYTES "233472"

/* ---- Where things are ----------------------------------------------------------------------------- */

void lab_microscope_find(lab_microscope_parts *parts)
{
    char self[LAB_SELF_PATH], built[LAB_SELF_PATH + 128] = "", installed[LAB_SELF_PATH + 128] = "";
    int folder = (int)lab_find_self(self, sizeof self);
    /* In the build tree it stands beside the command, installed where CMake put it. */
    if (folder > 0) {
        snprintf(built, sizeof built, "%.*srung_microscope.so", folder, self);
        snprintf(installed, sizeof installed, "%.*s%s/rung_microscope.so", folder, self, LAB_MICROSCOPE_FOLDER);
    }
    const char *const plugins[] = {built, installed};
    memset(parts, 0, sizeof *parts);
    lab_simulator_find(parts->oclgrind, sizeof parts->oclgrind);
    if (!lab_find_named("RUNG_MICROSCOPE", parts->plugin, sizeof parts->plugin))
        lab_find_first(plugins, 2, parts->plugin, sizeof parts->plugin);
}

static bool have_parts(lab_microscope_parts *parts, char *why, size_t capacity)
{
    lab_microscope_find(parts);
    if (!*parts->oclgrind)
        snprintf(why, capacity,
                 "Oclgrind was not found: install it (Debian: oclgrind), or set RUNG_OCLGRIND to the "
                 "path of its liboclgrind-rt-icd.so");
    else if (!*parts->plugin)
        snprintf(why, capacity,
                 "rung_microscope.so was not found: install what it is built with (Debian: g++, "
                 "liboclgrind-dev, llvm-14-dev) and build rung again, or set RUNG_MICROSCOPE to its path");
    return *parts->oclgrind && *parts->plugin;
}

/* ---- The child ------------------------------------------------------------------------------------- */

static bool run_child(const lab_look *look, const lab_microscope_parts *parts, const lab_workplace *place, char *why,
                      size_t capacity)
{
    char numbers[8][24], text[4096];
    int code = -1;
    const int64_t values[8] = {look->compute,     look->m,        look->n,        look->k,
                               look->b_col_major, look->a_stride, look->b_stride, look->c_stride};
    for (int i = 0; i < 8; i++)
        snprintf(numbers[i], sizeof numbers[i], "%" PRId64, values[i]);
    char *argv[] = {NULL,
                    "--under-microscope",
                    (char *)look->kernel,
                    (char *)(look->parameters ? look->parameters : ""),
                    (char *)lab_product_name(look->product),
                    numbers[0],
                    numbers[1],
                    numbers[2],
                    numbers[3],
                    numbers[4],
                    numbers[5],
                    numbers[6],
                    numbers[7],
                    (char *)place->output,
                    NULL};
    const lab_variable own[] = {{"OCL_ICD_VENDORS", parts->oclgrind},
                                {"OCLGRIND_PLUGINS", parts->plugin},
                                {"OCLGRIND_LOCAL_MEM_SIZE", SHARED_BYTES},
                                {"OCLGRIND_LOG", place->log},
                                {"OCLGRIND_MAX_ERRORS", "1"},
                                {"RUNG_MICROSCOPE_OUTPUT", place->output}};
    double seconds = look->seconds > 0 ? look->seconds : look->seconds < 0 ? 0 : LAB_LOOK_SECONDS;
    bool ended = lab_self_run(argv, own, sizeof own / sizeof *own, place->errors, place->errors, seconds, &code);
    lab_text_read(place->errors, text, sizeof text);
    if (code == LAB_ENDLESS)
        snprintf(why, capacity,
                 "%s did not finish within %g s on Oclgrind, a simulator, with m = %lld, n = %lld, k = %lld; "
                 "check that each of its loops ends (--time-limit SECONDS allows more time)",
                 look->kernel, seconds, (long long)look->m, (long long)look->n, (long long)look->k);
    else if (code == LAB_STOPPED)
        snprintf(why, capacity, "interrupted");
    else if (!ended || code != 0)
        snprintf(why, capacity, "the look at %s failed: %s", look->kernel, lab_sentence_in(text));
    return ended && code == 0;
}

/* ---- What it saw ------------------------------------------------------------------------------------ */

/* Makes room for one more; NULL if there is none. */
static void *add_one(void **array, int64_t *count, size_t size)
{
    if ((*count & (*count - 1)) == 0) { /* 0 and powers of two: full */
        void *more = realloc(*array, (size_t)(*count > 0 ? 2 * *count : 1) * size);
        if (!more)
            return NULL;
        *array = more;
    }
    void *added = (char *)*array + (size_t)(*count)++ * size;
    return memset(added, 0, size);
}

/* The next field of a line, "" behind the last. */
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

static bool read_line(lab_sight *sight, char *rest)
{
    static const char *const kinds[] = {
#define X(name, word) word,
        LAB_TRAFFIC_LIST(X)
#undef X
    };
    lab_sight_line *line = add_one((void **)&sight->lines, &sight->line_count, sizeof *line);
    if (!line)
        return false;
    line->line = next_number(&rest);
    line->from = next_number(&rest);
    const char *kind = next_field(&rest);
    while (line->kind < LAB_TRAFFIC_COUNT && strcmp(kinds[line->kind], kind) != 0)
        line->kind++;
    line->width = next_number(&rest);
    snprintf(line->array, sizeof line->array, "%s", next_field(&rest));
#define X(name) line->name = next_number(&rest);
    LAB_SIGHT_COUNT_LIST(X)
#undef X
    return line->kind < LAB_TRAFFIC_COUNT;
}

static bool read_branch(lab_sight *sight, char *rest)
{
    lab_sight_branch *branch = add_one((void **)&sight->branches, &sight->branch_count, sizeof *branch);
    if (!branch)
        return false;
    branch->line = next_number(&rest);
    branch->from = next_number(&rest);
    branch->passed = next_number(&rest);
    branch->divergent = next_number(&rest);
    return true;
}

static bool read_barrier(lab_sight *sight, char *rest)
{
    lab_sight_barrier *barrier = add_one((void **)&sight->barriers, &sight->barrier_count, sizeof *barrier);
    if (!barrier)
        return false;
    barrier->line = next_number(&rest);
    barrier->passed = next_number(&rest);
    return true;
}

static bool read_buffer(lab_sight *sight, char *rest)
{
    lab_sight_buffer *buffer = add_one((void **)&sight->buffers, &sight->buffer_count, sizeof *buffer);
    if (!buffer)
        return false;
    snprintf(buffer->name, sizeof buffer->name, "%s", next_field(&rest));
#define X(name) buffer->name = next_number(&rest);
    LAB_SIGHT_BUFFER_LIST(X)
#undef X
    return true;
}

static bool read_record(lab_sight *sight, char *rest)
{
    const char *word = next_field(&rest);
    if (strcmp(word, "line") == 0)
        return read_line(sight, rest);
    if (strcmp(word, "branch") == 0)
        return read_branch(sight, rest);
    if (strcmp(word, "barrier") == 0)
        return read_barrier(sight, rest);
    if (strcmp(word, "buffer") == 0)
        return read_buffer(sight, rest);
    if (strcmp(word, "kernel") == 0) {
        snprintf(sight->kernel, sizeof sight->kernel, "%s", next_field(&rest));
        snprintf(sight->file, sizeof sight->file, "%s", next_field(&rest));
    } else if (strcmp(word, "run") == 0) {
        const char *parameters = next_field(&rest);
        if (strlen(parameters) >= sizeof sight->parameters)
            return false;
        strcpy(sight->parameters, parameters);
    } else if (strcmp(word, "totals") == 0) {
#define X(name) sight->totals.name = next_number(&rest);
        LAB_SIGHT_TOTAL_LIST(X)
#undef X
    } else {
        return false;
    }
    return true;
}

/* The format's own line first, the child's last. */
static bool read_sight(const char *path, lab_sight *sight)
{
    char text[2048] = "";
    FILE *file = fopen(path, "re");
    bool good = file && fgets(text, sizeof text, file) && strcmp(text, LAB_SIGHT_FORMAT "\n") == 0;
    bool ended = false;
    while (good && fgets(text, sizeof text, file)) {
        ended = strncmp(text, "run\t", 4) == 0;
        good = read_record(sight, text);
    }
    if (file)
        fclose(file);
    return good && ended;
}

/* What Oclgrind itself has found wrong: a kernel that reads outside of its matrices says
 * nothing true about those inside. Its first line says what, a later one where; the source that
 * it quotes is not the right one, since it does not know of #line. */
static bool is_log_empty(const lab_workplace *place, const char *kernel, char *why, size_t capacity)
{
    char text[1000];
    lab_text_read(place->log, text, sizeof text);
    const char *what = text + strspn(text, "\n"), *where = strstr(what, "At line ");
    if (*what)
        snprintf(why, capacity, "%s does what it must not: %.*s%s%.*s", kernel, (int)strcspn(what, "\n"), what,
                 where ? "; at " : "", where ? (int)strcspn(where + 3, ":") : 0, where ? where + 3 : "");
    return !*what;
}

bool lab_microscope_look(const lab_look *look, lab_sight *sight, char *why, size_t capacity)
{
    lab_microscope_parts parts;
    lab_workplace place;
    memset(sight, 0, sizeof *sight);
    if (!have_parts(&parts, why, capacity))
        return false;
    if (look->m < 1 || look->n < 1 || look->k < 1 || look->m > 1 << 14 || look->n > 1 << 14 || look->k > 1 << 14) {
        snprintf(why, capacity, "the microscope looks at 1 to 16384 rows and columns; give other --m, --n and --k");
        return false;
    }
    if (!lab_workplace_make(&place)) {
        lab_temporary_failed(errno, why, capacity);
        return false;
    }
    bool good = run_child(look, &parts, &place, why, capacity);
    good = is_log_empty(&place, look->kernel, why, capacity) && good; /* the log tells more */
    if (good && !read_sight(place.output, sight)) {
        snprintf(why, capacity, "what the microscope wrote cannot be read: is %s of another version?", parts.plugin);
        good = false;
    }
    if (!good) {
        char full[4096];
        if (!lab_workplace_check(&place, full, sizeof full))
            snprintf(why, capacity, "%s", full);
        lab_sight_free(sight);
    }
    lab_workplace_clear(&place);
    return good;
}

void lab_sight_free(lab_sight *sight)
{
    free(sight->lines);
    free(sight->branches);
    free(sight->barriers);
    free(sight->buffers);
    memset(sight, 0, sizeof *sight);
}

lab_sight_line lab_sight_sum(const lab_sight *sight, int64_t line, lab_traffic kind, const char *array)
{
    lab_sight_line sum = {.line = line, .from = line, .kind = kind};
    snprintf(sum.array, sizeof sum.array, "%s", array ? array : "");
    for (int64_t i = 0; i < sight->line_count; i++) {
        const lab_sight_line *one = &sight->lines[i];
        if (one->kind != kind || (line != 0 && one->line != line) || (array && strcmp(one->array, array) != 0))
            continue;
        sum.width = one->width > sum.width ? one->width : sum.width;
#define X(name) sum.name += one->name;
        LAB_SIGHT_COUNT_LIST(X)
#undef X
    }
    return sum;
}
