/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.c - what the process that compiles a submission can no longer do. Each attempt is made in a child of its own, first
 * without the sandbox: an attempt that fails anyway would prove nothing. */
#define _GNU_SOURCE /* SYS_ numbers */
#include "process/sandbox.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/rung-sandbox-XXXXXX", allowed[64], secret[64];

/* Attempts. They return whether they were successful. */

static bool read_file(const char *path)
{
    char byte;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && read(file, &byte, 1) == 1;
    close(file);
    return good;
}

static bool read_secret(void)
{
    return read_file(secret);
}

static bool read_environment(void)
{
    return read_file("/proc/self/environ");
}

static bool write_allowed(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/new", allowed);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool good = file >= 0 && write(file, "x", 1) == 1;
    close(file);
    unlink(path);
    return good;
}

static bool open_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool start_process(void)
{
    pid_t process = fork();
    if (process == 0)
        _exit(0);
    return process > 0 && waitpid(process, NULL, 0) == process;
}

static bool start_program(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return false;
}

static bool signal_parent(void)
{
    return kill(getppid(), 0) == 0;
}

static void *do_nothing(void *user)
{
    return user;
}

static bool start_thread(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, do_nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

static bool read_allowed(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/file", allowed);
    return read_file(path);
}

/* ---- Runs ---- */

/* Runs an attempt in a child. Returns whether it was successful; a program that was started exits with 0, too. */
static bool attempt(bool (*work)(void), bool is_restricted)
{
    int status = 1;
    pid_t process = fork();
    if (process == 0) {
        const char *const readable[] = {allowed, NULL}, *const writable[] = {NULL};
        if (is_restricted && !lab_sandbox_restrict_files(readable, writable))
            _exit(77);
        if (is_restricted && !lab_sandbox_forbid_effects())
            _exit(77);
        _exit(work() ? 0 : 1);
    }
    assert_true(process > 0 && waitpid(process, &status, 0) == process);
    if (is_restricted && WIFEXITED(status) && WEXITSTATUS(status) == 77)
        exit(77); /* a kernel without Landlock or seccomp */
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void refuses(bool (*work)(void), const char *name)
{
    if (!attempt(work, false))
        fail_msg("%s fails without the sandbox", name);
    if (attempt(work, true))
        fail_msg("%s is possible in the sandbox", name);
}

static void has_no_effects(void **state)
{
    (void)state;
    refuses(read_secret, "reading a file of another folder");
    refuses(read_environment, "reading /proc/self/environ");
    refuses(write_allowed, "writing a file");
    refuses(open_socket, "opening a socket");
    refuses(start_process, "starting a process");
    refuses(start_program, "starting a program");
    refuses(signal_parent, "signalling the parent");
}

static void can_compile(void **state)
{
    (void)state;
    assert_true(attempt(read_allowed, true));
    assert_true(attempt(start_thread, true));
}

static void write_file(const char *path)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("text", file);
    assert_int_equal(fclose(file), 0);
}

static int make_files(void **state)
{
    char path[128];
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(allowed, sizeof allowed, "%s/allowed", folder);
    snprintf(secret, sizeof secret, "%s/secret", folder);
    snprintf(path, sizeof path, "%s/allowed/file", folder);
    if (mkdir(allowed, 0700) != 0)
        return -1;
    write_file(secret);
    write_file(path);
    return 0;
}

static int remove_files(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/allowed/file", folder);
    unlink(path);
    unlink(secret);
    rmdir(allowed);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(has_no_effects), cmocka_unit_test(can_compile)};
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
