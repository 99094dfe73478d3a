/* SPDX-License-Identifier: Apache-2.0 */
/* child_process.c - see child_process.h. */
#define _GNU_SOURCE /* pipe2 */
#include "process/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "common/lab_clock.h"
#include "cli/interrupt.h"

extern char **environ;

bool lab_child_die_with_parent(int parent)
{
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    return getppid() == parent;
}

static bool redirect(int from, int to)
{
    return from < 0 || dup2(from, to) >= 0;
}

/* In the child, between fork and exec: async-signal-safe calls only. An errno goes to `report`, which exec closes. */
static void exec_child(const char *program, char *const *arguments, char *const *environment, lab_child_streams streams,
                       pid_t parent, int report)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    setpgid(0, 0);
    for (int i = 0; i < 3; i++)
        signal(signals[i], SIG_DFL);
    if (lab_child_die_with_parent(parent) && redirect(streams.in, STDIN_FILENO) &&
        redirect(streams.out, STDOUT_FILENO) && redirect(streams.err, STDERR_FILENO))
        execve(program, arguments, environment);
    int error = errno;
    ssize_t written = write(report, &error, sizeof error);
    _exit(written < 0 ? 126 : 127);
}

int lab_child_start(const char *program, char *const *arguments, char *const *environment, lab_child_streams streams,
                    pid_t *process)
{
    int report[2], error = 0;
    ssize_t count;
    if (pipe2(report, O_CLOEXEC) != 0)
        return errno;
    pid_t parent = getpid(), child = fork();
    if (child == 0)
        exec_child(program, arguments, environment ? environment : environ, streams, parent, report[1]);
    if (child < 0)
        error = errno;
    close(report[1]);
    if (child > 0) {
        do
            count = read(report[0], &error, sizeof error); /* nothing after a successful exec */
        while (count < 0 && errno == EINTR);
        if (count > 0)
            while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
    }
    close(report[0]);
    *process = child;
    return error;
}

const char *lab_child_start_advice(int error)
{
    return error == ENOSYS ? "this system cannot fork processes: run the command on Linux, or on Windows in WSL"
                           : "end other processes, or raise ulimit -u";
}

bool lab_child_is_running(pid_t process, int *status)
{
    pid_t ended = waitpid(process, status, WNOHANG);
    bool is_running = ended == 0 || (ended < 0 && errno == EINTR);
    if (is_running)
        lab_sleep_ns(LAB_CHILD_POLL_NS);
    else if (ended < 0)
        *status = -1;
    return is_running;
}

int lab_child_wait_until(pid_t process, int64_t until)
{
    bool is_killed = false;
    int status;
    while (lab_child_is_running(process, &status))
        if (!is_killed && (lab_now_ns() >= until || lab_is_interrupted())) {
            kill(-process, SIGKILL);
            is_killed = true;
        }
    return status;
}
