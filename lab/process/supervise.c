/* SPDX-License-Identifier: Apache-2.0 */
/* supervise.c - see supervise.h. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "process/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/lab_clock.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "process/child_process.h"

static const int64_t second_ns = 1000000000;

enum { GRACE_SECONDS = 3 }; /* for a child to finish its step and report after a signal */

/* Memory that both processes share. */
typedef struct shared_state {
    atomic_int is_interrupted;
    atomic_llong step; /* counts beginnings and ends: odd during a step */
    char text[LAB_STEP_TEXT_BYTES];
} shared_state_t;

static shared_state_t *shared; /* NULL: this process is not supervised */

void *lab_shared_memory_allocate(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void lab_shared_memory_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

bool lab_parse_time_limit(const char *text, double otherwise, double *seconds)
{
    *seconds = otherwise;
    return !text || (lab_parse_number(text, seconds) && *seconds >= 0 && *seconds <= 1e6);
}

/* ---- The child ---- */

void lab_supervise_step_begin(const char *text)
{
    if (!shared)
        return;
    snprintf(shared->text, sizeof shared->text, "%s", text);
    atomic_fetch_add(&shared->step, 1);
}

void lab_supervise_step_end(void)
{
    if (shared && atomic_load(&shared->step) % 2 != 0)
        atomic_fetch_add(&shared->step, 1);
}

static void run_child(shared_state_t *state, pid_t parent, int (*work)(void *), void *user)
{
    if (!lab_child_die_with_parent(parent))
        _exit(LAB_EXIT_UNAVAILABLE);
    shared = state;
    lab_interrupt_follow_flag(&state->is_interrupted);
    exit(work(user));
}

/* ---- The parent ---- */

/* The time that has passed, as far as this process was running: a stopped job does not exceed its limit. */
typedef struct stopwatch {
    int64_t last_ns, step_ns, interrupted_ns;
    long long step;
} stopwatch_t;

static void update_stopwatch(stopwatch_t *watch, long long step)
{
    int64_t now = lab_now_ns(), passed = now - watch->last_ns;
    passed = passed < second_ns ? passed : LAB_CHILD_POLL_NS;
    watch->last_ns = now;
    watch->step_ns = step == watch->step ? watch->step_ns + passed : 0;
    watch->step = step;
    watch->interrupted_ns += lab_is_interrupted() ? passed : 0;
}

/* Returns whether the child must be ended now, and why. */
static bool must_kill(const stopwatch_t *watch, double seconds, lab_child_ending *why)
{
    bool is_in_step = watch->step % 2 != 0;
    if (watch->interrupted_ns > GRACE_SECONDS * second_ns)
        *why = LAB_ENDED_INTERRUPTED;
    else if (seconds > 0 && is_in_step && (double)watch->step_ns > seconds * 1e9)
        *why = LAB_ENDED_TIMED_OUT;
    else
        return false;
    return true;
}

/* Further signals are ignored: the end is near, and the child removes its temporary files until then. */
static void forward_interrupt(shared_state_t *state)
{
    if (!lab_is_interrupted() || atomic_exchange(&state->is_interrupted, 1))
        return;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

struct lab_supervised {
    pid_t process;
    shared_state_t *state;
    const volatile double *seconds;
    stopwatch_t watch;
    bool is_killed;
    lab_child_ending why; /* it was killed */
};

static void describe_ending(const lab_supervised *child, int status, lab_supervise_result *result)
{
    *result = (lab_supervise_result){.ending = LAB_ENDED_EXITED, .steps = atomic_load(&child->state->step) / 2};
    if (WIFEXITED(status) || !WIFSIGNALED(status)) {
        result->code = WIFEXITED(status) ? WEXITSTATUS(status) : LAB_EXIT_UNAVAILABLE;
    } else {
        result->ending = child->is_killed ? child->why : LAB_ENDED_CRASHED;
        result->code = WTERMSIG(status);
    }
    if (atomic_load(&child->state->step) % 2 != 0)
        snprintf(result->step, sizeof result->step, "%s", child->state->text);
}

static void free_child(lab_supervised *child)
{
    lab_shared_memory_free(child->state, sizeof *child->state);
    free(child);
}

lab_supervised *lab_supervise_start(int (*work)(void *user), void *user, const volatile double *seconds, int *error)
{
    lab_supervised *child = calloc(1, sizeof *child);
    if (child)
        child->state = lab_shared_memory_allocate(sizeof *child->state);
    *error = errno;
    if (!child || !child->state) {
        free(child);
        return NULL;
    }
    child->seconds = seconds;
    child->watch.last_ns = lab_now_ns();
    fflush(NULL);
    lab_interrupt_watch();
    pid_t parent = getpid();
    child->process = fork();
    if (child->process == 0)
        run_child(child->state, parent, work, user);
    *error = errno;
    if (child->process > 0)
        return child;
    free_child(child);
    return NULL;
}

bool lab_supervise_is_running(lab_supervised *child, lab_supervise_result *result)
{
    int status;
    if (!lab_child_is_running(child->process, &status)) {
        describe_ending(child, status, result);
        free_child(child);
        return false;
    }
    forward_interrupt(child->state);
    update_stopwatch(&child->watch, atomic_load(&child->state->step));
    if (!child->is_killed && must_kill(&child->watch, *child->seconds, &child->why)) {
        child->is_killed = true;
        kill(child->process, SIGKILL);
    }
    return true;
}

lab_supervise_result lab_supervise(int (*work)(void *user), void *user, const volatile double *seconds)
{
    lab_supervise_result result = {.ending = LAB_ENDED_NOT_STARTED};
    lab_supervised *child = lab_supervise_start(work, user, seconds, &result.code);
    while (child && lab_supervise_is_running(child, &result))
        ;
    return result;
}
