/* SPDX-License-Identifier: Apache-2.0 */
/* tune_journal.c - see tune_journal.h. A line is, between tabs:
 *
 *     timed  256x256x256  07_tile2d  0123456789abcdef  BM=64,...  123456  a reason, if any */
#include "tune/tune_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fnv1a.h"
#include "common/enum_names.h"
#include "common/failure.h"
#include "common/growing_array.h"
#include "common/lab_clock.h"
#include "io/input_file.h"

enum { LINE_MAX_BYTES = 1024 + LAB_PARAMETERS_BYTES };

/* Width of the field in a format of scanf. */
#define PARAMETERS_WIDTH "687"
_Static_assert(LAB_PARAMETERS_BYTES == 688, "PARAMETERS_WIDTH is one less");

/* Almost three hours, more than any candidate gets. Sums of a few such times fit int64_t. */
static const int64_t NS_MAX = 10000000000000;

LAB_DEFINE_ENUM_NAME(lab_trial_state_name, lab_trial_state, LAB_TRIAL_LIST)

uint64_t lab_fnv1a(const char *text)
{
    return rungi_fnv1a(RUNGI_FNV1A_START, text, strlen(text));
}

lab_trial *lab_journal_find(const lab_journal *journal, const lab_trial *candidate)
{
    for (int64_t i = 0; i < journal->count; i++) {
        lab_trial *trial = &journal->trials[i];
        if (lab_shape_equal(trial->size, candidate->size) && trial->source == candidate->source &&
            strcmp(trial->parameters, candidate->parameters) == 0 && strcmp(trial->kernel, candidate->kernel) == 0)
            return trial;
    }
    return NULL;
}

/* Stores the state of a candidate in memory. Returns false if memory is exhausted. */
static bool remember(lab_journal *journal, const lab_trial *trial)
{
    lab_trial *known = lab_journal_find(journal, trial);
    if (!known) {
        lab_trial *grown = lab_array_grow(journal->trials, journal->count, sizeof *grown);
        if (!grown)
            return false;
        journal->trials = grown;
        known = &grown[journal->count++];
    }
    *known = *trial;
    return true;
}

static bool read_line(const char *line, lab_trial *trial)
{
    char word[16];
    memset(trial, 0, sizeof *trial);
    if (sscanf(line,
               "%15[^\t]\t%" SCNd64 "x%" SCNd64 "x%" SCNd64 "\t%63[^\t]\t%" SCNx64 "\t%" PARAMETERS_WIDTH
               "[^\t]\t%" SCNd64,
               word, &trial->size.m, &trial->size.n, &trial->size.k, trial->kernel, &trial->source, trial->parameters,
               &trial->ns) != 8)
        return false;
    if (strcmp(trial->parameters, "-") == 0)
        trial->parameters[0] = '\0';
    while (trial->kind < LAB_TRIAL_COUNT && strcmp(lab_trial_state_name(trial->kind), word) != 0)
        trial->kind++;
    return trial->kind < LAB_TRIAL_COUNT && trial->size.m > 0 && trial->size.n > 0 && trial->size.k > 0 &&
           trial->ns >= 0 && trial->ns <= NS_MAX && (trial->ns > 0 || trial->kind != LAB_TRIAL_TIMED);
}

/* Reads all trials; skips other lines. Returns false if memory is exhausted. Writes where the last complete line ends. */
static bool read_lines(lab_journal *journal, long *end)
{
    char line[LINE_MAX_BYTES];
    *end = ftell(journal->file);
    while (fgets(line, sizeof line, journal->file)) {
        lab_trial trial;
        if (!strchr(line, '\n'))
            continue; /* incomplete, or too long for a trial */
        *end = ftell(journal->file);
        if (read_line(line, &trial) && !remember(journal, &trial))
            return false;
    }
    return true;
}

/* Returns whether the whole file is an incomplete header of ours. Any other file may contain data of the user. */
static bool is_truncated_header(FILE *file, const char *line, const char *header)
{
    size_t length = strlen(line);
    struct stat about;
    return fstat(fileno(file), &about) == 0 && (size_t)about.st_size == length && length <= strlen(header) &&
           strncmp(line, header, length) == 0;
}

static bool set_write_error(const char *path, char *why, size_t capacity)
{
    return lab_set_reason(why, capacity, "cannot write %s: %s; choose another file with --state", path,
                          strerror(errno));
}

/* Reads the header, or writes it to a new file. */
static bool read_header(lab_journal *journal, const char *path, const char *header, char *why, size_t capacity)
{
    char line[LINE_MAX_BYTES] = "";
    rewind(journal->file);
    bool is_new = !fgets(line, sizeof line, journal->file) && !ferror(journal->file);
    if (!is_new && is_truncated_header(journal->file, line, header) && ftruncate(fileno(journal->file), 0) == 0)
        is_new = true;
    if (is_new) {
        rewind(journal->file);
        fprintf(journal->file, "%s\n", header);
        return fflush(journal->file) == 0 || set_write_error(path, why, capacity);
    }
    size_t length = strcspn(line, "\n");
    bool is_complete = line[length] == '\n';
    line[length] = '\0';
    return (is_complete && strcmp(line, header) == 0) ||
           lab_set_reason(why, capacity, "%s belongs to another search (\"%.120s\"); choose another file with --state",
                          path, line);
}

/* Locks the file within two seconds: a process that was killed may hold its lock for a moment. */
static bool lock(FILE *file)
{
    for (int i = 0; i < 90; i++) {
        if (flock(fileno(file), LOCK_EX | LOCK_NB) == 0)
            return true;
        lab_sleep_ns(20000000);
    }
    return false;
}

/* Opens the file. No child process inherits it: a compiler that a driver starts must not hold the lock. */
static bool open_file(const char *path, lab_journal *journal, char *why, size_t capacity)
{
    char reason[256];
    int file = open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    bool good = file >= 0 && lab_file_check(file, LAB_RESULT_BYTES_MAX, reason, sizeof reason);
    if (file < 0)
        snprintf(reason, sizeof reason, "cannot be written: %s", strerror(errno));
    journal->file = good ? fdopen(file, "a+") : NULL;
    if (journal->file)
        return true;
    if (file >= 0)
        close(file);
    return lab_set_reason(why, capacity, "%s: %s; name another file with --state", path,
                          good ? "cannot be opened" : reason);
}

static bool read_journal(lab_journal *journal, const char *path, const char *header, char *why, size_t capacity)
{
    long end;
    if (!lock(journal->file))
        return lab_set_reason(
            why, capacity, "%s is in use: another rung tune is at work; wait for it, or name another file with --state",
            path);
    if (!read_header(journal, path, header, why, capacity))
        return false;
    if (!read_lines(journal, &end))
        return lab_set_reason(why, capacity, "out of memory while reading %s", path);
    if (ftruncate(fileno(journal->file), end) != 0)
        return set_write_error(path, why, capacity);
    clearerr(journal->file);
    fseek(journal->file, 0, SEEK_END);
    return true;
}

bool lab_journal_open(const char *path, const char *header, lab_journal *journal, char *why, size_t capacity)
{
    memset(journal, 0, sizeof *journal);
    if (open_file(path, journal, why, capacity) && read_journal(journal, path, header, why, capacity))
        return true;
    lab_journal_close(journal);
    return false;
}

void lab_journal_close(lab_journal *journal)
{
    if (journal->file)
        fclose(journal->file);
    free(journal->trials);
    memset(journal, 0, sizeof *journal);
}

bool lab_journal_add(lab_journal *journal, const lab_trial *trial, const char *reason)
{
    size_t length = reason ? strcspn(reason, "\t\n") : 0;
    fprintf(journal->file, "%s\t%" PRId64 "x%" PRId64 "x%" PRId64 "\t%s\t%016" PRIx64 "\t%s\t%" PRId64 "\t%.*s\n",
            lab_trial_state_name(trial->kind), trial->size.m, trial->size.n, trial->size.k, trial->kernel,
            trial->source, *trial->parameters ? trial->parameters : "-", trial->ns, (int)(length < 200 ? length : 200),
            reason ? reason : "");
    bool good = fflush(journal->file) == 0;
    /* A candidate may crash the machine. Some files cannot be synced (EINVAL). */
    if (good && trial->kind == LAB_TRIAL_TRYING)
        good = fdatasync(fileno(journal->file)) == 0 || errno == EINVAL;
    return good && remember(journal, trial);
}
