/* SPDX-License-Identifier: Apache-2.0 */
/* simulator.c - see simulator.h. */
#include "simulator.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- Where things are ----------------------------------------------------------------------------- */

void lab_find_first(const char *const *patterns, int count, char *path, size_t capacity)
{
    *path = '\0';
    for (int i = 0; i < count && !*path; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) == 0) {
            if (strlen(found.gl_pathv[0]) < capacity)
                strcpy(path, found.gl_pathv[0]);
            globfree(&found);
        }
    }
}

bool lab_find_named(const char *variable, char *path, size_t capacity)
{
    const char *named = getenv(variable);
    if (!named || !*named)
        return false;
    snprintf(path, capacity, "%s", access(named, R_OK) == 0 ? named : "");
    return true;
}

size_t lab_find_self(char *path, size_t capacity)
{
    ssize_t length = readlink("/proc/self/exe", path, capacity - 1);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

void lab_simulator_find(char *path, size_t capacity)
{
    static const char *const drivers[] = {
        "/usr/lib/oclgrind/liboclgrind-rt-icd.so", "/usr/lib/*/oclgrind/liboclgrind-rt-icd.so",
        "/usr/local/lib/liboclgrind-rt-icd.so", "/usr/local/lib/*/liboclgrind-rt-icd.so"};
    if (!lab_find_named("RUNG_OCLGRIND", path, capacity))
        lab_find_first(drivers, 4, path, capacity);
}

/* ---- A place to work in ---------------------------------------------------------------------------- */

bool lab_workplace_make(lab_workplace *place)
{
    const char *base = getenv("TMPDIR");
    int length = snprintf(place->folder, sizeof place->folder, "%s/rung-XXXXXX", base && *base ? base : "/tmp");
    if (length >= (int)sizeof place->folder || !mkdtemp(place->folder))
        return false;
    snprintf(place->output, sizeof place->output, "%s/output", place->folder);
    snprintf(place->errors, sizeof place->errors, "%s/errors", place->folder);
    snprintf(place->log, sizeof place->log, "%s/log", place->folder);
    return true;
}

void lab_workplace_clear(const lab_workplace *place)
{
    unlink(place->output);
    unlink(place->errors);
    unlink(place->log);
    rmdir(place->folder);
}

void lab_text_read(const char *path, char *text, size_t capacity)
{
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, capacity - 1, file) : 0;
    while (length > 0 && text[length - 1] == '\n')
        length--;
    text[length] = '\0';
    if (file)
        fclose(file);
}

const char *lab_sentence_in(const char *text)
{
    const char *own = strstr(text, "rung: ");
    return own ? own + 6 : *text ? text : "it said nothing";
}

/* ---- The child ------------------------------------------------------------------------------------- */

enum { VARIABLE_TEXT = 600 };

/* This process's variables but for Oclgrind's, of which some would slow it down or ask questions,
 * and behind them ours. One allocation. */
static char **make_environment(const lab_variable *own, int own_count)
{
    size_t count = 0, used = 0, more = (size_t)own_count;
    while (environ[count])
        count++;
    char **variables = malloc((count + more + 1) * sizeof *variables + more * VARIABLE_TEXT);
    if (!variables)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "OCLGRIND_", 9) != 0 && strncmp(environ[i], "OCL_ICD_", 8) != 0 &&
            strncmp(environ[i], "RUNG_DEVICE=", 12) != 0 && strncmp(environ[i], "RUNG_VERBOSE=", 13) != 0)
            variables[used++] = environ[i];
    char *text = (char *)(variables + count + more + 1);
    for (int i = 0; i < own_count; i++, text += VARIABLE_TEXT) {
        snprintf(text, VARIABLE_TEXT, "%s=%s", own[i].name, own[i].value);
        variables[used++] = text;
    }
    variables[used] = NULL;
    return variables;
}

/* Looks a hundred times a second, and ends what takes too long. */
static bool wait_for(pid_t child, int seconds, int *code)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    bool is_endless = false;
    int status;
    for (int64_t looks = 0;; looks++) {
        pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child)
            break;
        if (ended < 0 && errno != EINTR)
            return false;
        if (seconds > 0 && looks == 100 * (int64_t)seconds) {
            is_endless = true;
            kill(child, SIGKILL);
        }
        nanosleep(&moment, NULL);
    }
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : is_endless ? LAB_ENDLESS : -1;
    return WIFEXITED(status);
}

static bool spawn_and_wait(const char *path, char **argv, char **environment, const char *output, const char *errors,
                           int seconds, int *code)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    bool together = strcmp(output, errors) == 0;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return false;
    bool good = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) == 0 &&
                posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0600) == 0 &&
                (together ? posix_spawn_file_actions_adddup2(&actions, 1, 2)
                          : posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_TRUNC,
                                                             0600)) == 0 &&
                posix_spawn(&child, path, &actions, NULL, argv, environment) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return good && wait_for(child, seconds, code);
}

bool lab_self_run(char **argv, const lab_variable *own, int count, const char *output, const char *errors,
                  int seconds, int *code)
{
    char self[400];
    char **environment = make_environment(own, count);
    lab_find_self(self, sizeof self);
    argv[0] = self;
    bool ended = environment && spawn_and_wait(self, argv, environment, output, errors, seconds, code);
    free(environment);
    return ended;
}
