/* SPDX-License-Identifier: Apache-2.0 */
/* semaphore.h - semaphores without names, which macOS declares and does not implement (semaphores.c). */
#pragma once

#include <pthread.h>

typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t is_posted;
    unsigned value;
} sem_t;

int sem_init(sem_t *semaphore, int is_shared, unsigned value);
int sem_destroy(sem_t *semaphore);
int sem_post(sem_t *semaphore);
int sem_wait(sem_t *semaphore);
int sem_trywait(sem_t *semaphore);
