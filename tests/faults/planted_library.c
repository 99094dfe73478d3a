/* SPDX-License-Identifier: Apache-2.0 */
/* planted_library.c - a library with bugs that fault_points must find. Its file has a name that begins with "librung", so that its calls
 * are counted like those of rung. */
#include "planted_library.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static const char missing[] = "out of memory: no memory for the planted call";

bool planted_missing_check(void)
{
    volatile char *memory = malloc(64);
    memory[0] = 1;
    free((void *)memory);
    return true;
}

const char *planted_leak(void)
{
    char *first = malloc(64), *second = first ? malloc(64) : NULL;
    if (!second)
        return missing; /* and `first` is left */
    free(first);
    free(second);
    return NULL;
}

const char *planted_descriptor(void)
{
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    char *memory = file < 0 ? NULL : malloc(64);
    if (!memory)
        return missing; /* and `file` is open */
    free(memory);
    close(file);
    return NULL;
}

const char *planted_changed_output(float *c)
{
    *c = 1;
    char *memory = malloc(64);
    if (!memory)
        return missing;
    free(memory);
    return NULL;
}

bool planted_no_sentence(void)
{
    char *memory = malloc(64);
    bool has_worked = memory != NULL;
    free(memory);
    return has_worked;
}

bool planted_wrong_result(void)
{
    char *memory = malloc(64);
    bool is_right = memory != NULL;
    free(memory);
    return is_right;
}

const char *planted_stays_broken(void)
{
    static bool is_broken;
    char *memory = malloc(64);
    is_broken = is_broken || !memory;
    free(memory);
    return is_broken ? missing : NULL;
}

static void *wait_forever(void *argument)
{
    pause();
    return argument;
}

const char *planted_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_forever, NULL);
    char *memory = malloc(64);
    if (!memory)
        return missing; /* and the thread runs */
    free(memory);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return NULL;
}

const char *planted_endless(void)
{
    for (int i = 0;; i++) {
        char *memory = malloc(64);
        free(memory);
        if (memory && i == 0)
            return NULL;
        if (!memory)
            pause();
    }
}
