/* SPDX-License-Identifier: Apache-2.0 */
/* system.c - processors, signals, the environment, and processes, which cannot be forked. */
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/windows/windows_api.h"

static int fail_unsupported(void)
{
    errno = ENOSYS;
    return -1;
}

/* ---- The machine -------------------------------------------------------------------------------------------- */

long sysconf(int name)
{
    SYSTEM_INFO about;
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    GetSystemInfo(&about);
    if (name == _SC_NPROCESSORS_ONLN)
        return (long)about.dwNumberOfProcessors;
    if (name == _SC_PAGESIZE)
        return (long)about.dwPageSize;
    if (name == _SC_PHYS_PAGES && GlobalMemoryStatusEx(&memory))
        return (long)(memory.ullTotalPhys / about.dwPageSize);
    return -1;
}

int sched_getaffinity(int process, size_t bytes, cpu_set_t *set)
{
    DWORD_PTR own = 0, system = 0;
    (void)process;
    memset(set, 0, bytes);
    if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &system))
        return rungi_windows_fail();
    set->bits[0] = own;
    return 0;
}

int sched_setaffinity(int process, size_t bytes, const cpu_set_t *set)
{
    (void)process, (void)bytes;
    return SetThreadAffinityMask(GetCurrentThread(), (DWORD_PTR)set->bits[0]) ? 0 : rungi_windows_fail();
}

int sched_getcpu(void)
{
    return (int)GetCurrentProcessorNumber();
}

int gethostname(char *name, size_t capacity)
{
    DWORD length = (DWORD)capacity;
    return GetComputerNameA(name, &length) ? 0 : rungi_windows_fail();
}

int ioctl(int file, unsigned long request, struct winsize *size)
{
    CONSOLE_SCREEN_BUFFER_INFO console;
    (void)request;
    if (!GetConsoleScreenBufferInfo((HANDLE)_get_osfhandle(file), &console))
        return rungi_windows_fail();
    size->ws_col = (unsigned short)(console.srWindow.Right - console.srWindow.Left + 1);
    size->ws_row = (unsigned short)(console.srWindow.Bottom - console.srWindow.Top + 1);
    return 0;
}

/* ---- The user and the environment --------------------------------------------------------------------------- */

/* Windows has no set-uid programs, and another name for the folder of the user. */
char *secure_getenv(const char *name)
{
    char *value = getenv(name);
    return value || strcmp(name, "HOME") != 0 ? value : getenv("USERPROFILE");
}

int setenv(const char *name, const char *value, int replaces)
{
    if (!replaces && getenv(name))
        return 0;
    return _putenv_s(name, value) == 0 ? 0 : -1;
}

int unsetenv(const char *name)
{
    return _putenv_s(name, "") == 0 ? 0 : -1;
}

unsigned geteuid(void)
{
    return 0; /* as in struct stat: every file counts as the user's own */
}

unsigned getuid(void)
{
    return 0;
}

/* ---- Signals ------------------------------------------------------------------------------------------------- */

/* Windows has SIGINT and SIGTERM of these; others cannot arrive. */
int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    if (before)
        *before = (struct sigaction){.sa_handler = SIG_DFL};
    if (action && (number == SIGINT || number == SIGTERM))
        signal(number, action->sa_handler);
    return 0;
}

unsigned alarm(unsigned seconds)
{
    (void)seconds;
    return 0;
}

/* ---- Processes ------------------------------------------------------------------------------------------------ */

int pthread_atfork(void (*before)(void), void (*after)(void), void (*in_child)(void))
{
    (void)before, (void)after, (void)in_child; /* no process forks */
    return 0;
}

int fork(void)
{
    return fail_unsupported();
}

int socketpair(int domain, int type, int protocol, int ends[2])
{
    (void)domain, (void)type, (void)protocol, (void)ends;
    return fail_unsupported();
}

int kill(int process, int number)
{
    (void)process, (void)number;
    return fail_unsupported();
}

int waitpid(int process, int *status, int options)
{
    (void)process, (void)status, (void)options;
    return fail_unsupported();
}

int wait4(int process, int *status, int options, struct rusage *usage)
{
    (void)process, (void)status, (void)options, (void)usage;
    return fail_unsupported();
}

FILE *popen(const char *command, const char *mode)
{
    (void)command, (void)mode;
    errno = ENOSYS;
    return NULL;
}

int pclose(FILE *file)
{
    (void)file;
    return fail_unsupported();
}

int getppid(void)
{
    return 0;
}

int setpgid(int process, int group)
{
    (void)process, (void)group;
    return fail_unsupported();
}

int poll(struct pollfd *files, nfds_t count, int milliseconds)
{
    (void)files, (void)count, (void)milliseconds;
    return fail_unsupported();
}

int getrlimit(int resource, struct rlimit *limit)
{
    (void)resource;
    *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    return 0;
}

int setrlimit(int resource, const struct rlimit *limit)
{
    (void)resource, (void)limit;
    return fail_unsupported();
}
