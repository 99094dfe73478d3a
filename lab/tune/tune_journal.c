/* SPDX-License-Identifier: Apache-2.0 */
/* tune_journal.c - see tune_journal.h. A line is, between tabs:
 *
 *     timed  256x256x256  07_tile2d  0123456789abcdef  BM=64,...  123456  a reason, if any */
#include "tune/tune_journal.h"

#include "base/fnv1a.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/input_file.h"

enum { LINE_MAX_BYTES = 1024 + LAB_PARAMETERS_BYTES };

/* Of the fields of a line, for scanf. */
#define PARAMETERS_WIDTH "687"
_Static_assert(LAB_PARAMETERS_BYTES == 688, "PARAMETERS_WIDTH is one less");

/* Hours: no candidate is given so long, and sums of a few of them fit. */
static const int64_t NS_MAX = 10000000000000;

static const char *const words[] = {
#define X(name, word) word,
    LAB_TRIAL_LIST(X)
#undef X
};

uint64_t lab_fnv1a(const char *text)
{
    return rungi_fnv1a(RUNGI_FNV1A_START, text, strlen(text));
}

static bool is_same(const lab_trial *x, const lab_trial *y)
{
    return x->m == y->m && x->n == y->n && x->k == y->k && x->source == y->source &&
           strcmp(x->parameters, y->parameters) == 0 && strcmp(x->kernel, y->kernel) == 0;
}

static lab_trial *place_of(const lab_journal *journal, const lab_trial *candidate)
{
    for (int64_t i = 0; i < journal->count; i++)
        if (is_same(&journal->trials[i], candidate))
            return &journal->trials[i];
    return NULL;
}

const lab_trial *lab_journal_find(const lab_journal *journal, const lab_trial *candidate)
{
    return place_of(journal, candidate);
}

static bool remember(lab_journal *journal, const lab_trial *trial)
{
    lab_trial *known = place_of(journal, trial);
    if (!known && journal->count == journal->capacity) {
        int64_t capacity = journal->capacity ? 2 * journal->capacity : 256;
        lab_trial *grown = realloc(journal->trials, (size_t)capacity * sizeof *grown);
        if (!grown)
            return false;
        journal->trials = grown;
        journal->capacity = capacity;
    }
    if (!known)
        known = &journal->trials[journal->count++];
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
               word, &trial->m, &trial->n, &trial->k, trial->kernel, &trial->source, trial->parameters,
               &trial->ns) != 8)
        return false;
    if (strcmp(trial->parameters, "-") == 0)
        trial->parameters[0] = '\0';
    for (int i = 0; i < LAB_TRIAL_COUNT; i++)
        if (strcmp(words[i], word) == 0) {
            trial->kind = (lab_trial_state)i;
            return trial->ns >= 0 && trial->ns <= NS_MAX && (trial->ns > 0 || trial->kind != LAB_TRIAL_TIMED);
        }
    return false;
}

/* Lines that are none of ours are passed over. Returns where the last whole line ends. */
static long read_lines(lab_journal *journal, bool *good)
{
    char line[LINE_MAX_BYTES];
    long end = ftell(journal->file);
    while (*good && fgets(line, sizeof line, journal->file)) {
        lab_trial trial;
        if (!strchr(line, '\n'))
            continue; /* cut off, or too long to be one of ours */
        end = ftell(journal->file);
        if (read_line(line, &trial))
            *good = remember(journal, &trial);
    }
    return end;
}

/* Whether this, without an end of its line, is all there is in the file and ours: a first line
 * that was cut off. Anything else may be dear to somebody. */
static bool is_truncated_header(FILE *file, const char *line, const char *head)
{
    size_t length = strlen(line);
    struct stat about;
    return fstat(fileno(file), &about) == 0 && (size_t)about.st_size == length && length <= strlen(head) &&
           strncmp(line, head, length) == 0;
}

static bool read_head(lab_journal *journal, const char *path, const char *head, char *why, size_t capacity)
{
    char line[LINE_MAX_BYTES] = "";
    rewind(journal->file);
    bool is_new = !fgets(line, sizeof line, journal->file) && !ferror(journal->file);
    if (!is_new && is_truncated_header(journal->file, line, head) && ftruncate(fileno(journal->file), 0) == 0)
        is_new = true;
    if (is_new) {
        rewind(journal->file);
        fprintf(journal->file, "%s\n", head);
        if (fflush(journal->file) == 0)
            return true;
        snprintf(why, capacity, "cannot write %s: %s; choose another file with --state", path, strerror(errno));
        return false;
    }
    size_t length = strcspn(line, "\n");
    bool is_whole = line[length] == '\n';
    line[length] = '\0';
    if (is_whole && strcmp(line, head) == 0)
        return true;
    snprintf(why, capacity, "%s belongs to another search (\"%.120s\"); choose another file with --state", path, line);
    return false;
}

/* A process that was killed may take a moment to let go of it. */
static bool lock(FILE *file)
{
    for (int i = 0; i < 90; i++) { /* near two seconds */
        if (flock(fileno(file), LOCK_EX | LOCK_NB) == 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return false;
}

/* No child process inherits the file: a compiler that a driver starts must not hold its lock. */
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
    snprintf(why, capacity, "%s: %s; name another file with --state", path, good ? "cannot be opened" : reason);
    if (file >= 0)
        close(file);
    return false;
}

bool lab_journal_open(const char *path, const char *head, lab_journal *journal, char *why, size_t capacity)
{
    memset(journal, 0, sizeof *journal);
    if (!open_file(path, journal, why, capacity))
        return false;
    bool good = lock(journal->file);
    if (!good)
        snprintf(why, capacity,
                 "%s is in use: another rung tune is at work; wait for it, or name another file with "
                 "--state",
                 path);
    good = good && read_head(journal, path, head, why, capacity);
    if (good) {
        long end = read_lines(journal, &good);
        if (!good)
            snprintf(why, capacity, "out of memory while reading %s", path);
        else if (!(good = ftruncate(fileno(journal->file), end) == 0))
            snprintf(why, capacity, "cannot write %s: %s; choose another file with --state", path, strerror(errno));
        clearerr(journal->file);
        fseek(journal->file, 0, SEEK_END);
    }
    if (!good)
        lab_journal_close(journal);
    return good;
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
            words[trial->kind], trial->m, trial->n, trial->k, trial->kernel, trial->source,
            *trial->parameters ? trial->parameters : "-", trial->ns, (int)(length < 200 ? length : 200),
            reason ? reason : "");
    bool good = fflush(journal->file) == 0;
    /* A candidate may take the whole machine down; a file that cannot be synced is not worth less. */
    if (good && trial->kind == LAB_TRIAL_TRYING)
        good = fdatasync(fileno(journal->file)) == 0 || errno == EINVAL;
    return good && remember(journal, trial);
}
