/* SPDX-License-Identifier: Apache-2.0 */
/* system.c - see posix.h. */
#include <errno.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <sched.h>
#undef madvise
#undef readlink
#undef pthread_cond_timedwait

static int fail_unsupported(void)
{
    errno = ENOSYS;
    return -1;
}

char *secure_getenv(const char *name)
{
    return issetugid() ? NULL : getenv(name);
}

int pipe2(int ends[2], int flags)
{
    if (pipe(ends) != 0)
        return -1;
    for (int i = 0; (flags & O_CLOEXEC) && i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
    return 0;
}

int fdatasync(int file)
{
    return fsync(file);
}

int fallocate(int file, int mode, off_t offset, off_t bytes)
{
    (void)file, (void)mode, (void)offset, (void)bytes;
    return fail_unsupported();
}

/* MADV_DONTNEED of macOS keeps the contents: new pages replace the old ones instead. */
int rungi_macos_madvise(void *memory, size_t bytes, int advice)
{
    const int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (advice == MADV_DONTNEED)
        return mmap(memory, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == memory ? 0 : -1;
    return advice == MADV_HUGEPAGE ? 0 : madvise(memory, bytes, advice);
}

ssize_t rungi_macos_readlink(const char *path, char *target, size_t capacity)
{
    char self[PATH_MAX], resolved[PATH_MAX];
    uint32_t bytes = sizeof self;
    if (strcmp(path, "/proc/self/exe") != 0)
        return readlink(path, target, capacity);
    if (_NSGetExecutablePath(self, &bytes) != 0 || !realpath(self, resolved) || strlen(resolved) > capacity)
        return fail_unsupported();
    memcpy(target, resolved, strlen(resolved));
    return (ssize_t)strlen(resolved);
}

int rungi_macos_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    const int64_t second_ns = 1000000000;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t left = (until->tv_sec - now.tv_sec) * second_ns + (until->tv_nsec - now.tv_nsec);
    left = left > 0 ? left : 0;
    struct timespec pause = {.tv_sec = left / second_ns, .tv_nsec = left % second_ns};
    return pthread_cond_timedwait_relative_np(condition, mutex, &pause);
}

int sched_getaffinity(int process, size_t bytes, cpu_set_t *set)
{
    (void)process, (void)bytes;
    set->count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return 0;
}

int sched_setaffinity(int process, size_t bytes, const cpu_set_t *set)
{
    (void)process, (void)bytes, (void)set;
    return fail_unsupported();
}

int sched_getcpu(void)
{
    return fail_unsupported();
}
