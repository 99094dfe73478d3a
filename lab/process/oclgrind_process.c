/* SPDX-License-Identifier: Apache-2.0 */
/* oclgrind_process.c - see oclgrind_process.h. */
#include "process/oclgrind_process.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/lab_clock.h"
#include "cli/interrupt.h"
#include "process/child_process.h"

extern char **environ;

/* ---- Finding files ----------------------------------------------------------------------------- */

void lab_find_first_match(const char *const *patterns, int count, char *path, size_t capacity)
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

bool lab_find_from_variable(const char *variable, char *path, size_t capacity)
{
    const char *named = getenv(variable);
    if (!named || !*named)
        return false;
    bool is_readable = access(named, R_OK) == 0 && strlen(named) < capacity;
    snprintf(path, capacity, "%s", is_readable ? named : "");
    return true;
}

size_t lab_find_executable(char *path, size_t capacity)
{
    ssize_t length = readlink("/proc/self/exe", path, capacity - 1);
    bool fits = length > 0 && (size_t)length < capacity - 1; /* a path that is too long is cut there */
    path[fits ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

void lab_oclgrind_find(char *path, size_t capacity)
{
    static const char *const drivers[] = {
        "/usr/lib/oclgrind/liboclgrind-rt-icd.so", "/usr/lib/*/oclgrind/liboclgrind-rt-icd.so",
        "/usr/local/lib/liboclgrind-rt-icd.so", "/usr/local/lib/*/liboclgrind-rt-icd.so"};
    if (!lab_find_from_variable("RUNG_OCLGRIND", path, capacity))
        lab_find_first_match(drivers, 4, path, capacity);
}

/* ---- Files of a child ------------------------------------------------------------------------------ */

bool lab_child_files_check(const lab_child_files *files, char *why, size_t capacity)
{
    enum { CHECK_BYTES = 1 << 16 }; /* more than a child writes */
    static const char zeros[CHECK_BYTES];
    char path[sizeof files->folder + 16];
    snprintf(path, sizeof path, "%s/check", files->folder);
    errno = 0;
    FILE *file = fopen(path, "we");
    bool good = file && fwrite(zeros, 1, sizeof zeros, file) == sizeof zeros;
    good = file && fclose(file) == 0 && good;
    if (!good)
        lab_temporary_error_text(errno, why, capacity);
    unlink(path);
    return good;
}

bool lab_child_files_create(lab_child_files *files)
{
    int length = snprintf(files->folder, sizeof files->folder, "%s/rung-XXXXXX", lab_temporary_folder());
    if (length >= (int)sizeof files->folder)
        errno = ENAMETOOLONG;
    if (length >= (int)sizeof files->folder || !mkdtemp(files->folder))
        return false;
    snprintf(files->output, sizeof files->output, "%s/output", files->folder);
    snprintf(files->errors, sizeof files->errors, "%s/errors", files->folder);
    snprintf(files->log, sizeof files->log, "%s/log", files->folder);
    return true;
}

void lab_child_files_remove(const lab_child_files *files)
{
    unlink(files->output);
    unlink(files->errors);
    unlink(files->log);
    rmdir(files->folder);
}

void lab_file_read_prefix(const char *path, char *text, size_t capacity)
{
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, capacity - 1, file) : 0;
    while (length > 0 && text[length - 1] == '\n')
        length--;
    text[length] = '\0';
    if (file)
        fclose(file);
}

const char *lab_child_message(const char *text)
{
    const char *own = strstr(text, "rung: ");
    return own ? own + 6 : *text ? text : "it printed no message";
}

/* ---- The child ------------------------------------------------------------------------------------- */

/* Returns this process's variables without those of Oclgrind and OpenCL, some of which slow Oclgrind down or make it
 * interactive, followed by our own. One allocation. */
static char **make_environment(const lab_env_variable *own, int own_count)
{
    size_t count = 0, used = 0, more = (size_t)own_count, text_bytes = 0;
    for (int i = 0; i < own_count; i++)
        text_bytes += strlen(own[i].name) + strlen(own[i].value) + 2;
    while (environ[count])
        count++;
    char **variables = malloc((count + more + 1) * sizeof *variables + text_bytes);
    if (!variables)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "OCLGRIND_", 9) != 0 && strncmp(environ[i], "OCL_ICD_", 8) != 0 &&
            strncmp(environ[i], "RUNG_DEVICE=", 12) != 0 && strncmp(environ[i], "RUNG_VERBOSE=", 13) != 0)
            variables[used++] = environ[i];
    char *text = (char *)(variables + count + more + 1);
    for (int i = 0; i < own_count; i++) {
        variables[used++] = text;
        text += sprintf(text, "%s=%s", own[i].name, own[i].value) + 1;
    }
    variables[used] = NULL;
    return variables;
}

/* Waits for a child, and kills it after its time limit or an interruption. */
static bool wait_for_child(pid_t child, double seconds, int *code)
{
    int64_t until = seconds > 0 ? lab_now_ns() + (int64_t)(seconds * 1e9) : INT64_MAX;
    int status = lab_child_wait_until(child, until);
    if (WIFEXITED(status))
        *code = WEXITSTATUS(status);
    else if (lab_is_interrupted())
        *code = LAB_CHILD_INTERRUPTED;
    else if (lab_now_ns() >= until)
        *code = LAB_CHILD_TIMED_OUT;
    return WIFEXITED(status);
}

static int open_for_child(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static void close_file(int file)
{
    if (file >= 0)
        close(file);
}

bool lab_rung_child_run(char **argv, const lab_env_variable *own, int count, const char *output, const char *errors,
                        double seconds, int *code)
{
    char name[] = "rung";
    char **environment = make_environment(own, count);
    bool is_same = strcmp(output, errors) == 0;
    lab_child_streams streams = {.in = open("/dev/null", O_RDONLY | O_CLOEXEC), .out = open_for_child(output)};
    streams.err = is_same ? streams.out : open_for_child(errors);
    pid_t child;
    argv[0] = name;
    *code = -1;
    bool ended = environment && streams.in >= 0 && streams.out >= 0 && streams.err >= 0 &&
                 lab_child_start("/proc/self/exe", argv, environment, streams, &child) == 0 &&
                 wait_for_child(child, seconds, code);
    close_file(streams.in);
    close_file(streams.out);
    if (!is_same)
        close_file(streams.err);
    free(environment);
    return ended;
}
