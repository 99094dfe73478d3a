/* SPDX-License-Identifier: Apache-2.0 */
/* fault_points.c - makes each call of a scenario fail, one at a time, and checks what the libraries make of it.
 *
 *   fault_points list                                    prints the scenarios and what each needs
 *   fault_points SCENARIO count                          prints the number of calls that can fail
 *   fault_points SCENARIO once|from-on [FIRST [COUNT [EVERY]]]
 *                                                        prints one line per point: number, call, outcome, detail
 *
 * Each point runs in a child process: the N-th call fails, then the same calls must work. Outcomes:
 *
 *   reported  a call failed with a status and a sentence, and the output is as the status says
 *   worked    all calls succeeded, and the results are right
 *   wrong     a wrong result, a failure without a sentence, or calls that fail without a fault
 *   leaked    memory, descriptors, threads, files or objects of a driver are left
 *   aborted   the process ended
 *   hung      the process did not end
 *
 * A point may take RUNG_FAULTS_SECONDS (60). RUNG_FAULTS_LIST=1 prints the callers of leaked allocations. The exit code is 1
 * unless every outcome is one of the first two. */
#define _GNU_SOURCE /* mkdtemp */
#include "fault_calls.h"
#include "fault_outcome.h"
#include "fault_session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Shared with the child. */
typedef struct shared {
    fault_state state;
    fault_outcome outcome;
    char detail[FAULT_DETAIL_BYTES];
    fault_held held, expected;
} shared_t;

static shared_t *shared;

/* ---- One point, in a child -------------------------------------------------------------------------------------------- */

static void finish(fault_outcome outcome, const char *text)
{
    shared->outcome = outcome;
    snprintf(shared->detail, sizeof shared->detail, "%s", text);
    fault_make_one_line(shared->detail);
}

/* Runs without a fault. After a lost device, all objects must be opened again. */
static bool works_again(const fault_scenario *scenario)
{
    for (int try = 0; try < 2; try++) {
        fault_clear_c();
        if (scenario->run() == RUNG_OK)
            return scenario->is_right();
        scenario->close();
    }
    return false;
}

static fault_outcome judge(const fault_scenario *scenario, rung_status status)
{
    if (status == RUNG_OK && !scenario->is_right()) {
        finish(FAULT_WRONG, "the result is wrong");
        return FAULT_WRONG;
    }
    if (status != RUNG_OK && strlen(rung_error_text()) < 10) {
        finish(FAULT_WRONG, "there is no sentence");
        return FAULT_WRONG;
    }
    if (fault_leaves_output(status) && !fault_c_is_clear()) {
        finish(FAULT_WRONG, "the output was changed");
        return FAULT_WRONG;
    }
    finish(status == RUNG_OK ? FAULT_WORKED : FAULT_REPORTED, status == RUNG_OK ? "" : rung_error_text());
    return shared->outcome;
}

/* The fault may come while the objects are closed. */
static void run_point(const fault_scenario *scenario, int64_t fail_at, fault_mode mode, int classes)
{
    bool is_reached;
    fault_clear_c();
    fault_arm(fail_at, mode, classes);
    rung_status status = scenario->run();
    bool is_closing = status == RUNG_OK && !fault_has_failed();
    if (is_closing)
        scenario->close();
    fault_disarm();
    is_reached = fault_has_failed();
    if (!is_reached && fail_at != 0) {
        finish(status == RUNG_OK ? FAULT_NOT_REACHED : FAULT_WRONG, status == RUNG_OK ? "" : rung_error_text());
        return;
    }
    if (judge(scenario, status) == FAULT_WRONG)
        return;
    if (status == RUNG_STATUS_DEVICE_LOST)
        scenario->close();
    if (!works_again(scenario)) {
        char text[200];
        snprintf(text, sizeof text, "the next calls fail: %.170s", rung_error_text());
        finish(FAULT_WRONG, text);
        return;
    }
    scenario->close();
    shared->held = fault_wait_until_released(&shared->expected);
    if (fail_at != 0 && fault_holds_more(&shared->held, &shared->expected)) {
        char text[200];
        fault_describe_leak(&shared->held, &shared->expected, text, sizeof text);
        finish(FAULT_LEAKED, text);
    }
}

/* ---- The parent ------------------------------------------------------------------------------------------------------- */

static void run_child(const fault_scenario *scenario, int64_t fail_at, fault_mode mode, int classes)
{
    shared->outcome = FAULT_ABORTED;
    shared->detail[0] = '\0';
    memset(&shared->state, 0, sizeof shared->state);
    char home[] = "/tmp/rung-faults-XXXXXX";
    if (!mkdtemp(home))
        exit(2);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setenv("HOME", home, 1);
        alarm(fault_seconds_max());
        fault_use_state(&shared->state);
        run_point(scenario, fail_at, mode, classes);
        _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    fault_remove_folder(home);
    if (WIFSIGNALED(status)) {
        shared->outcome = WTERMSIG(status) == SIGALRM ? FAULT_HUNG : FAULT_ABORTED;
        snprintf(shared->detail, sizeof shared->detail, "signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        shared->outcome = FAULT_ABORTED;
        snprintf(shared->detail, sizeof shared->detail, "exit code %d", WEXITSTATUS(status));
    }
}

/* The first run says what is held after all calls, and whether they work at all. */
static bool run_without_faults(const fault_scenario *scenario)
{
    run_child(scenario, 0, FAULT_ONCE, FAULT_ALL_CLASSES);
    shared->expected = shared->held;
    if (shared->outcome == FAULT_WORKED)
        return true;
    fprintf(stderr, "%s: it does not work without a fault, either: %s\n", scenario->name, shared->detail);
    return false;
}

static int print_count(const fault_scenario *scenario)
{
    if (!run_without_faults(scenario))
        return 77;
    printf("%lld\n", (long long)shared->state.calls);
    return 0;
}

static int run_points(const fault_scenario *scenario, fault_mode mode, int64_t first, int64_t count, int64_t every)
{
    int code = 0;
    if (!run_without_faults(scenario))
        return 77;
    for (int64_t i = first; count > 0; i += every, count--) {
        run_child(scenario, i, mode, FAULT_ALL_CLASSES);
        if (shared->outcome == FAULT_NOT_REACHED)
            break;
        printf("%lld\t%s\t%s\t%s\n", (long long)i, shared->state.record, fault_outcome_names[shared->outcome],
               shared->detail);
        if (shared->outcome != FAULT_WORKED && shared->outcome != FAULT_REPORTED)
            code = 1;
    }
    return code;
}

static const fault_scenario *find_scenario(const char *name)
{
    const fault_scenario *lists[] = {fault_multiply_scenarios, fault_file_scenarios, fault_planted_scenarios};
    static const char *const needs[] = {"cpu", "opencl", "cuda", "nvrtc", "planted"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const fault_scenario *scenario = lists[i]; scenario->name; scenario++) {
            if (!name)
                printf("%s\t%s\n", scenario->name, needs[scenario->need]);
            else if (strcmp(scenario->name, name) == 0)
                return scenario;
        }
    return NULL;
}

int main(int count, char **words)
{
    const fault_scenario *scenario = count > 2 ? find_scenario(words[1]) : NULL;
    if (count == 2 && strcmp(words[1], "list") == 0) {
        find_scenario(NULL);
        return 0;
    }
    if (!scenario) {
        fprintf(stderr, "fault_points: see the first comment of fault_points.c for the arguments\n");
        return 2;
    }
    if (!getenv("RUNG_FAULTS_HELD")) { /* read when the library is loaded */
        setenv("RUNG_FAULTS_HELD", "1", 1);
        execv("/proc/self/exe", words);
        return 2;
    }
    if (!fault_finds_next_function()) {
        fprintf(stderr, "fault_points: dlsym(RTLD_NEXT) does not begin after its caller\n");
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    unsetenv("XDG_CONFIG_HOME");
    fault_fill_operands();
    if (strcmp(words[2], "count") == 0)
        return print_count(scenario);
    int64_t every = count > 5 && atoll(words[5]) > 0 ? atoll(words[5]) : 1;
    return run_points(scenario, strcmp(words[2], "from-on") == 0 ? FAULT_FROM_ON : FAULT_ONCE,
                      count > 3 ? atoll(words[3]) : 1, count > 4 ? atoll(words[4]) : INT64_MAX / 2, every);
}
