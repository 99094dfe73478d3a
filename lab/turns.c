/* SPDX-License-Identifier: Apache-2.0 */
/* turns.c - see turns.h. A child that says something else, nothing, or dies is a sentence: no wait is
 * without an end. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "turns.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "interrupt.h"
#include "start.h"
#include "temporary.h"

#define GREETING "rung-turns/1"
#define VARIABLE "RUNG_BENCH_TURNS"

/* A greeting comes before a device is opened; verifying a large problem may take its time. */
enum { GREETING_SECONDS = 10, ANSWER_SECONDS = 900, EXIT_SECONDS = 5 };

/* ---- Lines -------------------------------------------------------------------------------------------- */

static bool say(lab_turns *turns, const char *line)
{
    char text[128];
    int length = snprintf(text, sizeof text, "%s\n", line);
    ssize_t written;
    do
        written = write(turns->out, text, (size_t)length);
    while (written < 0 && errno == EINTR);
    return written == length;
}

typedef enum heard { HEARD, LATE, GONE, STOPPED } heard_t;

/* Waits until there is something to read, or the end (HEARD), until the time `until` is over (LATE; 0: no limit), or
 * until this process is interrupted (STOPPED). */
static heard_t wait_for_input(int file, int64_t until)
{
    enum { LOOK_MS = 100 };
    for (;;) {
        int64_t left = until > 0 ? (until - lab_now()) / 1000000 : LOOK_MS;
        struct pollfd asked = {.fd = file, .events = POLLIN};
        if (left <= 0)
            return LATE;
        int count = poll(&asked, 1, left < LOOK_MS ? (int)left : LOOK_MS);
        if (count > 0)
            return HEARD;
        if (count < 0 && errno != EINTR)
            return GONE;
        if (lab_interrupted())
            return STOPPED;
    }
}

static heard_t hear(lab_turns *turns, int seconds, char *line, size_t capacity)
{
    int64_t until = seconds > 0 ? lab_now() + (int64_t)seconds * 1000000000 : 0;
    size_t used = 0;
    for (*line = 0; used + 1 < capacity;) {
        heard_t how = wait_for_input(turns->in, until);
        if (how != HEARD)
            return how;
        ssize_t count = read(turns->in, line + used, 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return GONE;
        if (line[used] == '\n')
            break;
        line[++used] = 0;
    }
    line[used] = 0;
    return HEARD;
}

/* ---- The child ---------------------------------------------------------------------------------------- */

bool lab_turns_join(lab_turns *turns)
{
    const char *text = getenv(VARIABLE);
    *turns = (lab_turns){.role = LAB_ALONE};
    if (!text || sscanf(text, "%d,%d,%63s", &turns->in, &turns->out, turns->pairing) != 3)
        return false;
    unsetenv(VARIABLE); /* it is for this process and none that it starts */
    turns->role = LAB_CHILD;
    signal(SIGPIPE, SIG_IGN);
    turns->failed = fcntl(turns->in, F_SETFD, FD_CLOEXEC) != 0 || fcntl(turns->out, F_SETFD, FD_CLOEXEC) != 0 ||
                    !say(turns, GREETING);
    return true;
}

void lab_turns_hear(lab_turns *turns, char *word, size_t capacity)
{
    if (turns->failed || hear(turns, 0, word, capacity) != HEARD) {
        turns->failed = true;
        *word = 0;
    }
}

bool lab_turns_wait(lab_turns *turns, const char *word)
{
    char heard[64];
    lab_turns_hear(turns, heard, sizeof heard);
    turns->failed = turns->failed || strcmp(heard, word) != 0;
    return !turns->failed;
}

void lab_turns_answer(lab_turns *turns, const char *word, bool wants)
{
    char line[64];
    snprintf(line, sizeof line, "%s %d", word, wants);
    turns->failed = turns->failed || !say(turns, line);
}

/* ---- The parent --------------------------------------------------------------------------------------- */

/* Waits up to `seconds` for the child's end, then kills it with all that it started: a child that has closed its pipe
 * may still run. Returns its exit code, -1 if a signal ended it. */
static int end_child(lab_turns *turns, int seconds)
{
    if (turns->child <= 0)
        return 0;
    int state = lab_wait_until(turns->child, lab_now() + (int64_t)seconds * 1000000000);
    turns->child = 0;
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static bool fail(lab_turns *turns, heard_t how, const char *line)
{
    int code = end_child(turns, how == GONE ? EXIT_SECONDS : 0);
    if (how == STOPPED)
        snprintf(turns->why, sizeof turns->why, "interrupted while waiting for %s", turns->executable);
    else if (how == LATE)
        snprintf(turns->why, sizeof turns->why,
                 "%s did not answer: give an executable of rung that supports interleaved "
                 "measurement, or a result of its rung bench -o FILE",
                 turns->executable);
    else if (how == HEARD)
        snprintf(turns->why, sizeof turns->why,
                 "%s speaks another protocol (\"%.60s\"): give an executable of rung "
                 "that supports interleaved measurement, or a result of its bench --json",
                 turns->executable, line);
    else
        snprintf(turns->why, sizeof turns->why,
                 "%s ended too early (%s %d): if it is an executable of rung that "
                 "supports interleaved measurement, see what it said above",
                 turns->executable, code < 0 ? "killed," : "exit code", code);
    turns->failed = true;
    return false;
}

static void write_pairing(char *text, size_t capacity)
{
    char when[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &utc);
    snprintf(text, capacity, "%s-%ld", when, (long)getpid());
}

static void close_both(int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
    ends[0] = ends[1] = -1;
}

/* Starts the child with its standard output in a file. The variable names the child's ends of the pipes. */
static int spawn(lab_turns *turns, char *const *arguments, int child_in, int child_out)
{
    char ends[128];
    snprintf(ends, sizeof ends, "%d,%d,%s", child_in, child_out, turns->pairing);
    setenv(VARIABLE, ends, 1);
    int error = lab_start(turns->executable, arguments, (lab_streams){-1, fileno(turns->results), -1}, &turns->child);
    unsetenv(VARIABLE);
    if (error)
        turns->child = 0;
    return error;
}

static int start(lab_turns *turns, char *const *arguments)
{
    int down[2] = {-1, -1}, up[2] = {-1, -1}, error = 0;
    if (pipe(down) != 0 || pipe(up) != 0 || fcntl(down[1], F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(up[0], F_SETFD, FD_CLOEXEC) != 0)
        error = errno;
    if (!error)
        error = spawn(turns, arguments, down[0], up[1]);
    if (error) {
        close_both(down);
        close_both(up);
        return error;
    }
    close(down[0]);
    close(up[1]);
    turns->in = up[0];
    turns->out = down[1];
    return 0;
}

/* Where it cannot be had, they go without. */
void lab_turns_share_processor(void)
{
    cpu_set_t one;
    int processor = sched_getcpu();
    CPU_ZERO(&one);
    if (processor < 0 || processor >= CPU_SETSIZE)
        return;
    CPU_SET((size_t)processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

bool lab_turns_start(const char *executable, char *const *arguments, lab_turns *turns)
{
    char line[128];
    *turns = (lab_turns){.role = LAB_PARENT, .executable = executable, .in = -1, .out = -1, .results = lab_temporary()};
    write_pairing(turns->pairing, sizeof turns->pairing);
    signal(SIGPIPE, SIG_IGN); /* a child that has gone is found out by reading */
    if (!turns->results) {
        turns->failed = true;
        lab_temporary_failed(errno, turns->why, sizeof turns->why);
        return false;
    }
    int error = start(turns, arguments);
    if (error) {
        turns->failed = true;
        snprintf(turns->why, sizeof turns->why, "%s cannot be started: %s", executable, strerror(error));
        return false;
    }
    heard_t how = hear(turns, GREETING_SECONDS, line, sizeof line);
    return (how == HEARD && strcmp(line, GREETING) == 0) || fail(turns, how, line);
}

bool lab_turns_ask(lab_turns *turns, const char *word, const char *answer)
{
    char line[64], found[64];
    int wants = 0;
    if (turns->failed)
        return false;
    say(turns, word);
    heard_t how = hear(turns, ANSWER_SECONDS, line, sizeof line);
    if (how != HEARD || sscanf(line, "%63s %d", found, &wants) != 2 || strcmp(found, answer) != 0)
        return fail(turns, how, line);
    turns->wants = wants != 0;
    return true;
}

char *lab_turns_finish(lab_turns *turns, size_t *length)
{
    char line[64];
    if (turns->failed)
        return NULL;
    close(turns->out);
    turns->out = -1;
    heard_t how = hear(turns, ANSWER_SECONDS, line, sizeof line);
    if (how != GONE) {
        fail(turns, how, line);
        return NULL;
    }
    end_child(turns, EXIT_SECONDS);
    return lab_temporary_read(turns->results, length);
}

void lab_turns_close(lab_turns *turns)
{
    if (turns->role != LAB_PARENT)
        return;
    end_child(turns, 0);
    if (turns->in >= 0)
        close(turns->in);
    if (turns->out >= 0)
        close(turns->out);
    if (turns->results)
        fclose(turns->results);
    *turns = (lab_turns){.role = LAB_ALONE, .in = -1, .out = -1};
}
