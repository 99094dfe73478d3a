/* SPDX-License-Identifier: Apache-2.0 */
/* posix.h - functions of Linux that macOS lacks or that behave differently there. The build includes this file before every
 * source file (cmake/platform.cmake), so the other files need no conditions for macOS. */
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define st_mtim st_mtimespec
#define st_ctim st_ctimespec
#define RTLD_DEEPBIND 0 /* the linker of macOS binds names to libraries */
#define MADV_HUGEPAGE 14

typedef int __rlimit_resource_t;

/* system.c: */
char *secure_getenv(const char *name);
int rungi_macos_pipe2(int ends[2], int flags); /* macOS has pipe2() since version 27 */
#define pipe2 rungi_macos_pipe2
int fdatasync(int file);
int fallocate(int file, int mode, off_t offset, off_t bytes);    /* fails: callers extend the file by ftruncate() */
int rungi_macos_madvise(void *memory, size_t bytes, int advice); /* MADV_DONTNEED zeroes, MADV_HUGEPAGE does nothing */
ssize_t rungi_macos_readlink(const char *path, char *target, size_t capacity); /* knows /proc/self/exe */
int rungi_macos_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
#define madvise rungi_macos_madvise
#define readlink rungi_macos_readlink

/* Waits until a time of CLOCK_MONOTONIC, the only clock that this project waits for. */
#define pthread_cond_timedwait rungi_macos_cond_timedwait
#define pthread_condattr_setclock(attributes, clock) ((void)(attributes), (void)(clock), 0)

#define pthread_setname_np(thread, name) pthread_setname_np(name) /* of the calling thread */
