/* SPDX-License-Identifier: Apache-2.0 */
/* interleave.c - see interleave.h. Every wait for the child has a time limit, since the executable may be any program. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "bench/interleave.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_io.h"
#include "common/lab_clock.h"
#include "cli/interrupt.h"
#include "process/child_process.h"
#include "io/temporary_file.h"

#define PROTOCOL_NAME "rung-turns/1"
#define INTERLEAVE_VARIABLE "RUNG_BENCH_TURNS"

/* The greeting comes before a device is opened. Verifying a large problem may take minutes. */
enum { GREETING_SECONDS = 10, ANSWER_SECONDS = 900, EXIT_SECONDS = 5 };

/* ---- Lines -------------------------------------------------------------------------------------------- */

static bool send_line(lab_interleave *interleave, const char *line)
{
    char text[128];
    int length = snprintf(text, sizeof text, "%s\n", line);
    return rungi_write_all(interleave->out, text, (size_t)length);
}

typedef enum receive_result { RECEIVED, RECEIVE_TIMED_OUT, PEER_CLOSED, RECEIVE_INTERRUPTED } receive_result_t;

/* Waits until there is something to read or the pipe is closed, at most until the time `until` (0: no limit). */
static receive_result_t wait_for_input(int file, int64_t until)
{
    enum { POLL_MS = 100 };
    for (;;) {
        int64_t left = until > 0 ? (until - lab_now_ns()) / 1000000 : POLL_MS;
        struct pollfd polled = {.fd = file, .events = POLLIN};
        if (left <= 0)
            return RECEIVE_TIMED_OUT;
        int count = poll(&polled, 1, left < POLL_MS ? (int)left : POLL_MS);
        if (count > 0)
            return RECEIVED;
        if (count < 0 && errno != EINTR)
            return PEER_CLOSED;
        if (lab_is_interrupted())
            return RECEIVE_INTERRUPTED;
    }
}

static receive_result_t receive_line(lab_interleave *interleave, int seconds, char *line, size_t capacity)
{
    int64_t until = seconds > 0 ? lab_now_ns() + (int64_t)seconds * 1000000000 : 0;
    size_t used = 0;
    for (*line = 0; used + 1 < capacity;) {
        receive_result_t result = wait_for_input(interleave->in, until);
        if (result != RECEIVED)
            return result;
        ssize_t count = read(interleave->in, line + used, 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return PEER_CLOSED;
        if (line[used] == '\n')
            break;
        line[++used] = 0;
    }
    line[used] = 0;
    return RECEIVED;
}

/* ---- The child ---------------------------------------------------------------------------------------- */

void lab_interleave_join(lab_interleave *interleave)
{
    const char *text = getenv(INTERLEAVE_VARIABLE);
    *interleave = (lab_interleave){.role = LAB_INTERLEAVE_NONE};
    if (!text || sscanf(text, "%d,%d,%63s", &interleave->in, &interleave->out, interleave->pairing) != 3)
        return;
    unsetenv(INTERLEAVE_VARIABLE); /* not for the processes that this one starts */
    interleave->role = LAB_INTERLEAVE_CHILD;
    signal(SIGPIPE, SIG_IGN);
    interleave->failed = fcntl(interleave->in, F_SETFD, FD_CLOEXEC) != 0 ||
                         fcntl(interleave->out, F_SETFD, FD_CLOEXEC) != 0 || !send_line(interleave, PROTOCOL_NAME);
}

void lab_interleave_receive(lab_interleave *interleave, char *word, size_t capacity)
{
    if (interleave->failed || receive_line(interleave, 0, word, capacity) != RECEIVED) {
        interleave->failed = true;
        *word = 0;
    }
}

bool lab_interleave_expect(lab_interleave *interleave, const char *word)
{
    char word_received[64];
    lab_interleave_receive(interleave, word_received, sizeof word_received);
    interleave->failed = interleave->failed || strcmp(word_received, word) != 0;
    return !interleave->failed;
}

void lab_interleave_reply(lab_interleave *interleave, const char *word, bool wants)
{
    char line[64];
    snprintf(line, sizeof line, "%s %d", word, wants);
    interleave->failed = interleave->failed || !send_line(interleave, line);
}

/* ---- The parent --------------------------------------------------------------------------------------- */

/* Waits up to `seconds` for the child to exit, then kills it and everything that it started: a child that has closed its
 * pipe may still run. Returns its exit code, or -1 if a signal ended it. */
static int end_child(lab_interleave *interleave, int seconds)
{
    if (interleave->child <= 0)
        return 0;
    int state = lab_child_wait_until(interleave->child, lab_now_ns() + (int64_t)seconds * 1000000000);
    interleave->child = 0;
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

/* Sets the reason of a failure. Returns false. */
static bool fail(lab_interleave *interleave, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool fail(lab_interleave *interleave, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(interleave->why, sizeof interleave->why, format, arguments);
    va_end(arguments);
    interleave->failed = true;
    return false;
}

#define EXECUTABLE_ADVICE "give a rung executable that supports interleaved measurement"
#define RESULT_ADVICE ", or a result of its rung bench -o FILE"

/* Ends the child, which did not answer as expected. Returns false. */
static bool fail_by_answer(lab_interleave *interleave, receive_result_t result, const char *line)
{
    int code = end_child(interleave, result == PEER_CLOSED ? EXIT_SECONDS : 0);
    if (result == RECEIVE_INTERRUPTED)
        return fail(interleave, "interrupted while waiting for %s", interleave->executable);
    if (result == RECEIVE_TIMED_OUT)
        return fail(interleave, "%s did not answer; " EXECUTABLE_ADVICE RESULT_ADVICE, interleave->executable);
    if (result == RECEIVED)
        return fail(interleave, "%s uses another protocol (\"%.60s\"); " EXECUTABLE_ADVICE RESULT_ADVICE,
                    interleave->executable, line);
    return fail(interleave, "%s ended too early (%s %d); see its messages above, and " EXECUTABLE_ADVICE,
                interleave->executable, code < 0 ? "killed," : "exit code", code);
}

/* Closes the ends that are open. */
static void close_pipe(const int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

/* Starts the child with its standard output in a file. An environment variable passes the child's ends of the pipes. */
static int spawn(lab_interleave *interleave, char *const *arguments, int child_in, int child_out)
{
    char ends[128];
    snprintf(ends, sizeof ends, "%d,%d,%s", child_in, child_out, interleave->pairing);
    setenv(INTERLEAVE_VARIABLE, ends, 1);
    int error = lab_child_start(interleave->executable, arguments, NULL,
                                (lab_child_streams){-1, fileno(interleave->results), -1}, &interleave->child);
    unsetenv(INTERLEAVE_VARIABLE);
    interleave->child = error ? 0 : interleave->child;
    return error;
}

static int start_child(lab_interleave *interleave, char *const *arguments)
{
    int down[2] = {-1, -1}, up[2] = {-1, -1}, error = 0;
    if (pipe(down) != 0 || pipe(up) != 0 || fcntl(down[1], F_SETFD, FD_CLOEXEC) != 0 ||
        fcntl(up[0], F_SETFD, FD_CLOEXEC) != 0)
        error = errno;
    if (!error)
        error = spawn(interleave, arguments, down[0], up[1]);
    if (error) {
        close_pipe(down);
        close_pipe(up);
        return error;
    }
    close(down[0]);
    close(up[1]);
    interleave->in = up[0];
    interleave->out = down[1];
    return 0;
}

/* Failure is harmless: the processes are then not pinned. */
void lab_interleave_pin_processor(void)
{
    cpu_set_t one;
    int processor = sched_getcpu();
    CPU_ZERO(&one);
    if (processor < 0 || processor >= CPU_SETSIZE)
        return;
    CPU_SET((size_t)processor, &one);
    sched_setaffinity(0, sizeof one, &one);
}

bool lab_interleave_start(const char *executable, char *const *arguments, lab_interleave *interleave)
{
    char line[128], when[32];
    *interleave = (lab_interleave){
        .role = LAB_INTERLEAVE_PARENT, .executable = executable, .in = -1, .out = -1, .results = lab_temporary_open()};
    lab_format_utc_time("%Y%m%dT%H%M%SZ", when, sizeof when);
    snprintf(interleave->pairing, sizeof interleave->pairing, "%s-%ld", when, (long)getpid());
    signal(SIGPIPE, SIG_IGN); /* reading reports a child that has exited */
    if (!interleave->results) {
        interleave->failed = true;
        lab_temporary_error_text(errno, interleave->why, sizeof interleave->why);
        return false;
    }
    int error = start_child(interleave, arguments);
    if (error)
        return fail(interleave, "cannot start %s: %s", executable, strerror(error));
    receive_result_t result = receive_line(interleave, GREETING_SECONDS, line, sizeof line);
    return (result == RECEIVED && strcmp(line, PROTOCOL_NAME) == 0) || fail_by_answer(interleave, result, line);
}

bool lab_interleave_request(lab_interleave *interleave, const char *word, const char *answer)
{
    char line[64], found[64];
    int wants = 0;
    if (interleave->failed)
        return false;
    send_line(interleave, word);
    receive_result_t result = receive_line(interleave, ANSWER_SECONDS, line, sizeof line);
    if (result != RECEIVED || sscanf(line, "%63s %d", found, &wants) != 2 || strcmp(found, answer) != 0)
        return fail_by_answer(interleave, result, line);
    interleave->wants_rounds = wants != 0;
    return true;
}

char *lab_interleave_collect(lab_interleave *interleave, size_t *length)
{
    char line[64];
    if (interleave->failed)
        return NULL;
    close(interleave->out);
    interleave->out = -1;
    receive_result_t result = receive_line(interleave, ANSWER_SECONDS, line, sizeof line);
    if (result != PEER_CLOSED) {
        fail_by_answer(interleave, result, line);
        return NULL;
    }
    end_child(interleave, EXIT_SECONDS);
    return lab_temporary_read(interleave->results, length);
}

void lab_interleave_close(lab_interleave *interleave)
{
    if (interleave->role != LAB_INTERLEAVE_PARENT)
        return;
    end_child(interleave, 0);
    close_pipe((int[]){interleave->in, interleave->out});
    if (interleave->results)
        fclose(interleave->results);
    *interleave = (lab_interleave){.role = LAB_INTERLEAVE_NONE, .in = -1, .out = -1};
}
