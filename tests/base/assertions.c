/* SPDX-License-Identifier: Apache-2.0 */
/* assertions.c - an internal invariant that does not hold ends a debug or sanitizer build there and
 * then, with its text and place; a release build does not evaluate it. */
#include "support/unit.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "core/matrix.h"
#include "core/problem.h"

/* CI has no debug build: assertions are checked in its sanitizer builds. */
#if (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)) && !defined(RUNG_ASSERTIONS)
#error "a sanitizer build must define RUNG_ASSERTIONS"
#endif

/* Runs `work` in a child; returns its wait status, and what it wrote to standard error. */
static int run_in_child(void (*work)(void), char *text, size_t capacity)
{
    int ends[2], status = 0;
    size_t used = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL); /* cmocka and sanitizers may have handlers */
        alarm(60);
        dup2(ends[1], STDERR_FILENO);
        work();
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t count; used + 1 < capacity && (count = read(ends[0], text + used, capacity - 1 - used)) > 0;)
        used += (size_t)count;
    text[used] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static int evaluated;

static int two_is_three(void)
{
    evaluated++;
    return 0;
}

static void assert_it(int (*check)(void))
{
    RUNGI_ASSERT(check());
}

static void violate(void)
{
    assert_it(two_is_three);
}

static void assert_true_condition(void)
{
    RUNGI_ASSERT(1 + 1 == 2);
}

/* An invariant of the library itself: callers count operands below RUNGI_OPERAND_COUNT. */
static void violate_in_the_library(void)
{
    rungi_operand_name(RUNGI_OPERAND_COUNT);
}

static void a_violated_assertion_aborts_in_debug_builds(void **state)
{
    char text[1024];
    (void)state;
    int status = run_in_child(violate, text, sizeof text);
#ifdef RUNG_ASSERTIONS
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "check()"));
    assert_non_null(strstr(text, "assertions.c:"));
#else
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_string_equal(text, "");
    violate();
    assert_int_equal(evaluated, 0);
#endif
}

static void a_true_assertion_does_nothing(void **state)
{
    char text[1024];
    (void)state;
    int status = run_in_child(assert_true_condition, text, sizeof text);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_string_equal(text, "");
}

static void the_library_is_built_with_them(void **state)
{
    (void)state;
#ifdef RUNG_ASSERTIONS
    char text[1024];
    int status = run_in_child(violate_in_the_library, text, sizeof text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "problem.c:"));
#else
    (void)violate_in_the_library;
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_violated_assertion_aborts_in_debug_builds),
        cmocka_unit_test(a_true_assertion_does_nothing),
        cmocka_unit_test(the_library_is_built_with_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
