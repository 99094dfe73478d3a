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

#if defined(__linux__) && defined(__has_include) && (defined(__x86_64__) || defined(__aarch64__))
#if __has_include(<linux/seccomp.h>) && __has_include(<linux/filter.h>)
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#define HAS_SECCOMP 1
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

/* ---- Effects ---- */

#ifdef HAS_SECCOMP
#ifdef __x86_64__
#define OWN_ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define OWN_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Calls that a compiler does not need. fork() and vfork() are clone() on AArch64. */
static const unsigned forbidden_calls[] = {
    SYS_execve,
    SYS_execveat,
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_kill,
    SYS_ptrace,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_unshare,
    SYS_setns,
    SYS_pivot_root,
    SYS_chroot,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_setsid,
    SYS_prlimit64,
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
};

enum { FORBIDDEN_COUNT = sizeof forbidden_calls / sizeof *forbidden_calls, FILTER_MAX = 2 * FORBIDDEN_COUNT + 16 };

static struct sock_filter statement(unsigned code, unsigned value)
{
    return (struct sock_filter){.code = (unsigned short)code, .k = value};
}

/* Skips the next `count` statements unless the value that was loaded is `value`. */
static struct sock_filter unless_equal(unsigned value, unsigned char count)
{
    return (struct sock_filter){.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 0, .jf = count, .k = value};
}

static unsigned refuse(int error)
{
    return SECCOMP_RET_ERRNO | ((unsigned)error & SECCOMP_RET_DATA);
}

/* Writes the filter. Calls of another architecture's numbers end the process. */
static unsigned short write_filter(struct sock_filter *filter)
{
    unsigned short count = 0;
    filter[count++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    filter[count++] = (struct sock_filter){.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = 1, .jf = 0, .k = OWN_ARCHITECTURE};
    filter[count++] = statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter[count++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < FORBIDDEN_COUNT; i++) {
        filter[count++] = unless_equal(forbidden_calls[i], 1);
        filter[count++] = statement(BPF_RET | BPF_K, refuse(EPERM));
    }
#ifdef SYS_clone3 /* its flags are in memory, which a filter cannot read; libc then uses clone() */
    filter[count++] = unless_equal(SYS_clone3, 1);
    filter[count++] = statement(BPF_RET | BPF_K, refuse(ENOSYS));
#endif
    filter[count++] = unless_equal(SYS_clone, 3);
    filter[count++] = statement(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
    filter[count++] = (struct sock_filter){.code = BPF_JMP | BPF_JSET | BPF_K, .jt = 1, .jf = 0, .k = CLONE_THREAD};
    filter[count++] = statement(BPF_RET | BPF_K, refuse(EPERM));
    filter[count++] = statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return count;
}

static bool install_filter(void)
{
    struct sock_filter filter[FILTER_MAX];
    struct sock_fprog program = {.len = write_filter(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
static bool install_filter(void)
{
    return false;
}
#endif

bool lab_sandbox_forbid_effects(void)
{
    lab_sandbox_limit_file_size(0);
    return install_filter();
}
