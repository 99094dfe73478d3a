/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox.c - see sandbox.h. Landlock is called through syscall(): libc has no functions for it. */
#define _GNU_SOURCE /* O_PATH */
#include "process/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#ifdef SYS_landlock_create_ruleset
#define HAS_LANDLOCK 1
#endif
#endif
#endif

/* ---- Time and memory ---- */

static int status_file = -1; /* /proc/self/status, opened before files are restricted */
static int64_t start_bytes, limit_bytes;

/* Returns the largest size that this process's address space has had; 0 if it is unknown. */
static int64_t peak_address_space(void)
{
    static const char word[] = "VmPeak:";
    char text[4096];
    ssize_t count = pread(status_file, text, sizeof text - 1, 0);
    text[count > 0 ? count : 0] = '\0';
    const char *at = strstr(text, word);
    return at ? strtoll(at + sizeof word - 1, NULL, 10) * 1024 : 0;
}

bool lab_sandbox_is_memory_exhausted(void)
{
    return limit_bytes > 0 && peak_address_space() - start_bytes > limit_bytes / 2;
}

static void set_limit(__rlimit_resource_t which, int64_t soft, int64_t hard)
{
    struct rlimit limit;
    if (getrlimit(which, &limit) != 0)
        return;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > (rlim_t)hard)
        limit.rlim_max = (rlim_t)hard;
    limit.rlim_cur = (rlim_t)soft < limit.rlim_max ? (rlim_t)soft : limit.rlim_max;
    setrlimit(which, &limit);
}

void lab_sandbox_limit(double seconds, int64_t bytes)
{
    int64_t whole = seconds < 1 ? 1 : seconds > 1e6 ? 1000000 : (int64_t)(seconds + 0.999);
    set_limit(RLIMIT_CPU, whole, whole + 1);
    set_limit(RLIMIT_CORE, 0, 0);
#ifndef RUNGI_SANITIZED
    status_file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    start_bytes = peak_address_space();
    limit_bytes = bytes;
    if (bytes > 0)
        set_limit(RLIMIT_AS, start_bytes + bytes, start_bytes + bytes);
#else
    (void)bytes;
#endif
}

/* ---- Files ---- */

void lab_sandbox_limit_file_size(int64_t bytes)
{
#if defined(RLIMIT_FSIZE) && defined(SIGXFSZ)
    signal(SIGXFSZ, SIG_IGN);
    set_limit(RLIMIT_FSIZE, bytes, bytes);
#else
    (void)bytes;
#endif
}

#ifdef HAS_LANDLOCK
/* The rights of the first version of Landlock (Linux 5.13): later versions add rights that reading does not need. */
enum {
    READ_RIGHTS = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    ALL_RIGHTS = 2 * LANDLOCK_ACCESS_FS_MAKE_SYM - 1,
    FILE_RIGHTS = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE
};

static void allow(int rules, const char *path, unsigned rights)
{
    struct landlock_path_beneath_attr rule = {.parent_fd = open(path, O_PATH | O_CLOEXEC)};
    struct stat info;
    if (rule.parent_fd < 0)
        return;
    bool is_folder = fstat(rule.parent_fd, &info) == 0 && S_ISDIR(info.st_mode);
    rule.allowed_access = is_folder ? rights : rights & FILE_RIGHTS;
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

bool lab_sandbox_can_restrict_files(void)
{
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 1;
}

bool lab_sandbox_restrict_files(const char *const *readable, const char *const *writable)
{
    struct landlock_ruleset_attr handled = {.handled_access_fs = ALL_RIGHTS};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (rules < 0)
        return false;
    for (; *readable; readable++)
        allow(rules, *readable, READ_RIGHTS);
    for (; *writable; writable++)
        allow(rules, *writable, ALL_RIGHTS);
    bool is_restricted = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                         syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return is_restricted;
}
#else
bool lab_sandbox_can_restrict_files(void)
{
    return false;
}

bool lab_sandbox_restrict_files(const char *const *readable, const char *const *writable)
{
    (void)readable;
    (void)writable;
    return false;
}
#endif
