/* SPDX-License-Identifier: Apache-2.0 */
/* posix.h - the POSIX functions that mingw-w64 lacks, on the Windows API. The build includes this file before every source
 * file (cmake/platform.cmake), and the headers in include/ stand for those that mingw-w64 does not have. So the other
 * files need no conditions for Windows.
 *
 * Functions do what their callers in this project need and no more. What Windows has no equivalent for fails with ENOSYS:
 * fork(), and all that starts from it. */
#pragma once

#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <process.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/* mingw-w64's mode_t has 16 bits, which makes `~` of permissions change their value, and its pid_t has 64. */
#define mode_t rungi_mode
#define pid_t rungi_process
typedef unsigned rungi_mode, uid_t, gid_t;
typedef int rungi_process;

/* ---- Files (files.c) ---------------------------------------------------------------------------------- */

#define O_CLOEXEC (_O_NOINHERIT | _O_BINARY) /* every file of this project is opened with it */
#define O_NOFOLLOW 0
#define O_NONBLOCK 0
#define O_NOCTTY 0
#define O_DIRECTORY 0x10000000 /* open() fails: folders have no descriptors */
#define AT_FDCWD (-100)
#define AT_EACCESS 0
#define AT_SYMLINK_NOFOLLOW 0
#define AT_REMOVEDIR 0x200
#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2
#define F_OFD_SETLK 37
#define F_DUPFD_CLOEXEC 1030
#define F_GETFL 3
#define F_SETFL 4
#define F_SETFD 2
#define FD_CLOEXEC 1
#define LOCK_EX 2
#define LOCK_NB 4

struct flock {
    short l_type, l_whence;
    int64_t l_start, l_len;
};

struct rungi_file_status;
int fcntl(int file, int command, ...); /* locks, F_DUPFD_CLOEXEC; F_SETFL and F_SETFD do nothing */
int flock(int file, int operation);
int fsync(int file);
int fdatasync(int file);
int fallocate(int file, int mode, int64_t offset, int64_t bytes);
ssize_t rungi_windows_read(int file, void *data, size_t bytes); /* mingw-w64's take 32 bits of `bytes` */
ssize_t rungi_windows_write(int file, const void *data, size_t bytes);
#define read rungi_windows_read
#define write rungi_windows_write
ssize_t pread(int file, void *data, size_t bytes, int64_t offset);
ssize_t pwrite(int file, const void *data, size_t bytes, int64_t offset);
ssize_t readlink(const char *path, char *target, size_t capacity);
char *realpath(const char *path, char *resolved);
char *mkdtemp(char *pattern);
int mkostemp(char *pattern, int flags);
int pipe2(int ends[2], int flags);
int pipe(int ends[2]);
int faccessat(int folder, const char *path, int mode, int flags);
int fchown(int file, unsigned user, unsigned group);
int fchmod(int file, mode_t mode);
int openat(int folder, const char *path, int flags, ...);
int fstatat(int folder, const char *path, struct rungi_file_status *status, int flags);
int renameat(int from_folder, const char *from, int to_folder, const char *to);
int unlinkat(int folder, const char *path, int flags);
int futimens(int file, const struct timespec times[2]);
FILE *open_memstream(char **text, size_t *bytes);
FILE *fmemopen(void *data, size_t bytes, const char *mode);
ssize_t getline(char **line, size_t *capacity, FILE *file);
FILE *rungi_windows_fopen(const char *path, const char *mode); /* accepts "e", which every fopen() here passes */
#define fopen rungi_windows_fopen
int rungi_windows_fclose(FILE *file); /* ends streams of open_memstream(), too */
#define fclose rungi_windows_fclose
#define mkdir(path, mode) _mkdir(path)
#undef popen
#undef pclose
#define popen rungi_windows_popen
#define pclose rungi_windows_pclose
FILE *popen(const char *command, const char *mode); /* fails: nothing here needs a shell on Windows */
int pclose(FILE *file);

/* ---- Processes, signals and users (system.c) -------------------------------------------------------------- */

#define SIGHUP 1
#define SIGKILL 9
#define SIGPIPE 13
#define SIGALRM 14
#define SIGCHLD 17
#define SIGBUS 7
#define SIGTRAP 5
#define SIGSYS 31
#define SIGXCPU 24
#define SA_RESTART 0
#define SIG_SETMASK 2

struct sigaction {
    void (*sa_handler)(int);
    int sa_flags;
    int sa_mask;
};

#define sigset_t rungi_signal_set
typedef int rungi_signal_set;
#define sigemptyset(set) ((void)(*(set) = 0))
#define sigfillset(set) ((void)(*(set) = 0))
#define sigdelset(set, number) ((void)(set), (void)(number))
#undef pthread_sigmask
#define pthread_sigmask(how, set, before) ((void)(how), (void)(set), (void)(before))
#undef pthread_atfork
int pthread_atfork(void (*before)(void), void (*after)(void), void (*in_child)(void)); /* does nothing */
int sigaction(int number, const struct sigaction *action, struct sigaction *before);
int fork(void);
int kill(int process, int number);
int waitpid(int process, int *status, int options);
int getppid(void);
int setpgid(int process, int group);
unsigned alarm(unsigned seconds);
unsigned geteuid(void);
unsigned getuid(void);
int gethostname(char *name, size_t capacity);
long sysconf(int name);
char *secure_getenv(const char *name);
int setenv(const char *name, const char *value, int replaces);
int unsetenv(const char *name);

enum { _SC_NPROCESSORS_ONLN = 1, _SC_PAGESIZE, _SC_PHYS_PAGES };

/* ---- Text (text.c) -------------------------------------------------------------------------------------- */

char *strndup(const char *text, size_t length);
const char *strsignal(int number);
int vasprintf(char **text, const char *format, __builtin_va_list arguments);
struct tm *rungi_windows_gmtime_r(const time_t *time, struct tm *parts);
#define gmtime_r rungi_windows_gmtime_r
