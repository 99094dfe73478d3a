/* SPDX-License-Identifier: Apache-2.0 */
/* wrapped_calls.c - the functions of the C library that fail when they are told to. not_wrapped.txt lists the others that rung
 * calls; the test faults_functions compares both lists with the symbols that rung imports. */
#define _GNU_SOURCE
#include "fault_calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALLER __builtin_return_address(0)

/* Sets `real` to the next definition of a function. */
#define FIND_REAL(name)            \
    static __typeof__(name) *real; \
    if (!real)                     \
    *(void **)&real = fault_real(#name)

/* A function that fails with a value and an errno. */
#define WRAP(class, type, name, parameters, arguments, failure, number) \
    type name parameters                                                \
    {                                                                   \
        FIND_REAL(name);                                                \
        if (!fault_hits(class, #name, CALLER))                          \
            return real arguments;                                      \
        errno = number;                                                 \
        return failure;                                                 \
    }

/* ---- Memory ---------------------------------------------------------------------------------------------------------- */

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);

static void *fail_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *note(void *memory, const void *caller)
{
    fault_note_allocation(memory, caller);
    return memory;
}

void *malloc(size_t bytes)
{
    return fault_hits(FAULT_MEMORY, "malloc", CALLER) ? fail_memory() : note(__libc_malloc(bytes), CALLER);
}

void *calloc(size_t count, size_t bytes)
{
    return fault_hits(FAULT_MEMORY, "calloc", CALLER) ? fail_memory() : note(__libc_calloc(count, bytes), CALLER);
}

void *realloc(void *memory, size_t bytes)
{
    if (fault_hits(FAULT_MEMORY, "realloc", CALLER))
        return fail_memory();
    fault_note_release(memory);
    void *moved = __libc_realloc(memory, bytes);
    return note(!moved && bytes > 0 ? memory : moved, CALLER) == moved ? moved : NULL;
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (fault_hits(FAULT_MEMORY, "posix_memalign", CALLER))
        return ENOMEM;
    *memory = note(__libc_memalign(alignment, bytes), CALLER);
    return *memory ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fault_hits(FAULT_MEMORY, "aligned_alloc", CALLER) ? fail_memory()
                                                             : note(__libc_memalign(alignment, bytes), CALLER);
}

void free(void *memory)
{
    int number = errno;
    fault_note_release(memory);
    __libc_free(memory);
    errno = number;
}

char *strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = fault_hits(FAULT_MEMORY, "strdup", CALLER) ? fail_memory() : note(__libc_malloc(bytes), CALLER);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

char *strndup(const char *text, size_t most)
{
    size_t length = strnlen(text, most);
    char *copy = fault_hits(FAULT_MEMORY, "strndup", CALLER) ? fail_memory() : note(__libc_malloc(length + 1), CALLER);
    if (!copy)
        return NULL;
    copy[length] = '\0';
    return memcpy(copy, text, length);
}

WRAP(FAULT_MEMORY, void *, mmap, (void *address, size_t bytes, int protection, int flags, int file, off_t offset),
     (address, bytes, protection, flags, file, offset), MAP_FAILED, ENOMEM)
WRAP(FAULT_MEMORY, ssize_t, getline, (char **line, size_t *bytes, FILE *file), (line, bytes, file), -1, ENOMEM)
WRAP(FAULT_MEMORY, FILE *, open_memstream, (char **text, size_t *bytes), (text, bytes), NULL, ENOMEM)
WRAP(FAULT_MEMORY, FILE *, fmemopen, (void *memory, size_t bytes, const char *mode), (memory, bytes, mode), NULL,
     ENOMEM)
WRAP(FAULT_MEMORY, int, vasprintf, (char **text, const char *format, va_list values), (text, format, values), -1,
     ENOMEM)
WRAP(FAULT_MEMORY, int, glob, (const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found),
     (pattern, flags, failed, found), GLOB_NOSPACE, ENOMEM)
WRAP(FAULT_MEMORY, char *, realpath, (const char *path, char *resolved), (path, resolved), NULL, ENOMEM)

/* ---- Files ----------------------------------------------------------------------------------------------------------- */

int open(const char *path, int flags, ...)
{
    FIND_REAL(open);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (!fault_hits(FAULT_FILES, "open", CALLER))
        return real(path, flags, mode);
    errno = flags & O_CREAT ? EROFS : EMFILE;
    return -1;
}

int openat(int folder, const char *path, int flags, ...)
{
    FIND_REAL(openat);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (!fault_hits(FAULT_FILES, "openat", CALLER))
        return real(folder, path, flags, mode);
    errno = flags & O_CREAT ? EROFS : EMFILE;
    return -1;
}

/* A descriptor is closed whatever close() returns. */
int close(int file)
{
    FIND_REAL(close);
    bool is_failing = fault_hits(FAULT_FILES, "close", CALLER);
    int result = real(file);
    if (!is_failing)
        return result;
    errno = EIO;
    return -1;
}

int fclose(FILE *file)
{
    FIND_REAL(fclose);
    bool is_failing = fault_hits(FAULT_FILES, "fclose", CALLER);
    int result = real(file);
    if (!is_failing)
        return result;
    errno = ENOSPC;
    return EOF;
}

/* Sets the error indicator of a stream, which ferror() returns: there is no function that does so. */
static void set_error(FILE *file)
{
#ifdef _IO_ERR_SEEN
    file->_flags |= _IO_ERR_SEEN;
#else
    file->_flags |= 0x20; /* glibc */
#endif
}

/* Messages can be written always. */
size_t fwrite(const void *from, size_t bytes, size_t count, FILE *file)
{
    FIND_REAL(fwrite);
    if (file == stderr || !fault_hits(FAULT_FILES, "fwrite", CALLER))
        return real(from, bytes, count, file);
    set_error(file);
    errno = ENOSPC;
    return 0;
}

int fflush(FILE *file)
{
    FIND_REAL(fflush);
    if (file == stderr || !fault_hits(FAULT_FILES, "fflush", CALLER))
        return real(file);
    errno = ENOSPC;
    return EOF;
}

WRAP(FAULT_FILES, FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
WRAP(FAULT_FILES, FILE *, fdopen, (int file, const char *mode), (file, mode), NULL, ENOMEM)
WRAP(FAULT_FILES, DIR *, fdopendir, (int file), (file), NULL, ENOMEM)
WRAP(FAULT_FILES, int, scandir,
     (const char *path, struct dirent ***list, int (*select)(const struct dirent *),
      int (*compare)(const struct dirent **, const struct dirent **)),
     (path, list, select, compare), -1, ENOMEM)
WRAP(FAULT_FILES, int, mkdir, (const char *path, mode_t mode), (path, mode), -1, EROFS)
WRAP(FAULT_FILES, char *, mkdtemp, (char *name), (name), NULL, EROFS)
WRAP(FAULT_FILES, int, mkostemp, (char *name, int flags), (name, flags), -1, EROFS)
WRAP(FAULT_FILES, ssize_t, read, (int file, void *to, size_t bytes), (file, to, bytes), -1, EIO)
WRAP(FAULT_FILES, ssize_t, pread, (int file, void *to, size_t bytes, off_t at), (file, to, bytes, at), -1, EIO)
WRAP(FAULT_FILES, ssize_t, write, (int file, const void *from, size_t bytes), (file, from, bytes), -1, ENOSPC)
WRAP(FAULT_FILES, ssize_t, pwrite, (int file, const void *from, size_t bytes, off_t at), (file, from, bytes, at), -1,
     ENOSPC)
WRAP(FAULT_FILES, int, fsync, (int file), (file), -1, EIO)
WRAP(FAULT_FILES, int, fdatasync, (int file), (file), -1, EIO)
WRAP(FAULT_FILES, int, ftruncate, (int file, off_t bytes), (file, bytes), -1, ENOSPC)
WRAP(FAULT_FILES, int, fallocate, (int file, int mode, off_t at, off_t bytes), (file, mode, at, bytes), -1, ENOSPC)
WRAP(FAULT_FILES, int, fstat, (int file, struct stat *status), (file, status), -1, EIO)
WRAP(FAULT_FILES, off_t, lseek, (int file, off_t offset, int from), (file, offset, from), -1, EIO)
WRAP(FAULT_FILES, int, flock, (int file, int operation), (file, operation), -1, ENOLCK)
WRAP(FAULT_FILES, int, rename, (const char *old_path, const char *new_path), (old_path, new_path), -1, EROFS)
WRAP(FAULT_FILES, int, renameat, (int old_folder, const char *old_path, int new_folder, const char *new_path),
     (old_folder, old_path, new_folder, new_path), -1, EROFS)
WRAP(FAULT_FILES, char *, getcwd, (char *path, size_t bytes), (path, bytes), NULL, ENOENT)

/* ---- Threads and processes ------------------------------------------------------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    FIND_REAL(pthread_create);
    return fault_hits(FAULT_THREADS, "pthread_create", CALLER) ? EAGAIN : real(thread, attributes, run, argument);
}

WRAP(FAULT_THREADS, int, sem_init, (sem_t * semaphore, int is_shared, unsigned value), (semaphore, is_shared, value),
     -1, ENOSPC)
WRAP(FAULT_PROCESSES, pid_t, fork, (void), (), -1, EAGAIN)
WRAP(FAULT_PROCESSES, int, pipe, (int files[2]), (files), -1, EMFILE)
WRAP(FAULT_PROCESSES, int, pipe2, (int files[2], int flags), (files, flags), -1, EMFILE)
WRAP(FAULT_PROCESSES, int, socketpair, (int domain, int type, int protocol, int files[2]),
     (domain, type, protocol, files), -1, EMFILE)
WRAP(FAULT_PROCESSES, int, dup2, (int old_file, int new_file), (old_file, new_file), -1, EMFILE)
WRAP(FAULT_PROCESSES, FILE *, popen, (const char *command, const char *mode), (command, mode), NULL, EAGAIN)
WRAP(FAULT_PROCESSES, int, execv, (const char *path, char *const words[]), (path, words), -1, ENOMEM)
WRAP(FAULT_PROCESSES, int, execve, (const char *path, char *const words[], char *const variables[]),
     (path, words, variables), -1, ENOMEM)
