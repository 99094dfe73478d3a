/* SPDX-License-Identifier: Apache-2.0 */
/* counted_threads.h - counts the threads that the library creates. The test is linked with --wrap=pthread_create. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

static atomic_int library_threads; /* threads that the library has created */

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

/* The linker calls this function wherever the library, or the test, calls pthread_create. Shared libraries call the real one. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *user)
{
    atomic_fetch_add(&library_threads, 1);
    return __real_pthread_create(thread, attributes, function, user);
}
