/* SPDX-License-Identifier: Apache-2.0 */
/* piped_child.c - see piped_child.h. */
#define _GNU_SOURCE /* pipe2, wait4 */
#include "process/piped_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/interrupt.h"
#include "process/child_process.h"

enum { CHUNK = 1 << 16, POLL_MS = 50 };

static void run_in_child(const lab_piped_child *child, pid_t parent, int output)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    setpgid(0, 0);
    for (int i = 0; i < 3; i++)
        signal(signals[i], SIG_DFL);
    if (!lab_child_die_with_parent(parent))
        _exit(EXIT_FAILURE);
    child->work(child->user, output);
    _exit(EXIT_SUCCESS); /* without the exit handlers of the parent */
}

/* Makes room for a further chunk and a terminating 0. */
static bool grow(lab_piped_result *result, size_t *room)
{
    if (result->bytes + CHUNK + 1 <= *room)
        return true;
    size_t larger = 2 * *room + CHUNK + 1;
    char *output = realloc(result->output, larger);
    if (!output)
        return false;
    result->output = output;
    *room = larger;
    return true;
}

/* Reads until the end of the output. Returns how the child ended as far as reading decides it: LAB_PIPED_EXITED if the
 * output is complete. */
static lab_piped_ending read_output(const lab_piped_child *child, int from, lab_piped_result *result)
{
    int64_t end = rungi_clock_ns() + (int64_t)(child->seconds * 1e9);
    size_t room = 0;
    for (;;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (lab_is_interrupted())
            return LAB_PIPED_INTERRUPTED;
        if (rungi_clock_ns() >= end)
            return LAB_PIPED_TIMED_OUT;
        if (result->bytes > child->bytes_max)
            return LAB_PIPED_TOO_LONG;
        if (!grow(result, &room))
            return LAB_PIPED_NOT_READ;
        if (poll(&ready, 1, POLL_MS) <= 0)
            continue;
        ssize_t bytes = read(from, result->output + result->bytes, CHUNK);
        if (bytes <= 0 && (bytes == 0 || errno != EINTR))
            return bytes == 0 ? LAB_PIPED_EXITED : LAB_PIPED_NOT_READ;
        result->bytes += bytes > 0 ? (size_t)bytes : 0;
    }
}

static void wait_for_end(pid_t process, lab_piped_result *result)
{
    struct rusage usage = {0};
    int status = 0;
    while (wait4(process, &status, 0, &usage) < 0 && errno == EINTR)
        ;
    result->peak_kib = usage.ru_maxrss;
    if (result->ending != LAB_PIPED_EXITED)
        return;
    if (WIFSIGNALED(status))
        result->ending = WTERMSIG(status) == SIGXCPU ? LAB_PIPED_TIMED_OUT : LAB_PIPED_CRASHED;
    result->code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

lab_piped_result lab_piped_child_run(const lab_piped_child *child)
{
    lab_piped_result result = {.ending = LAB_PIPED_NOT_STARTED};
    int output[2];
    if (pipe2(output, O_CLOEXEC) != 0)
        return result;
    fflush(NULL);
    pid_t parent = getpid(), process = fork();
    if (process == 0)
        run_in_child(child, parent, output[1]);
    int error = errno;
    close(output[1]);
    if (process > 0) {
        result.ending = read_output(child, output[0], &result);
        if (result.ending != LAB_PIPED_EXITED && kill(-process, SIGKILL) != 0)
            kill(process, SIGKILL); /* it has no group of its own yet */
        wait_for_end(process, &result);
    }
    close(output[0]);
    errno = error;
    if (result.output)
        result.output[result.bytes] = '\0';
    return result;
}
