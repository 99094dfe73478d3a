/* SPDX-License-Identifier: Apache-2.0 */
/* semaphores.c - semaphores of a process, on a mutex and a condition. */
#include <errno.h>
#include <semaphore.h>

int sem_init(sem_t *semaphore, int is_shared, unsigned value)
{
    (void)is_shared;
    semaphore->value = value;
    int error = pthread_mutex_init(&semaphore->lock, NULL);
    if (error == 0)
        error = pthread_cond_init(&semaphore->is_posted, NULL);
    errno = error;
    return error == 0 ? 0 : -1;
}

int sem_destroy(sem_t *semaphore)
{
    pthread_cond_destroy(&semaphore->is_posted);
    pthread_mutex_destroy(&semaphore->lock);
    return 0;
}

/* Signals under the lock: the thread that waits may destroy the semaphore as soon as it has the lock. */
int sem_post(sem_t *semaphore)
{
    pthread_mutex_lock(&semaphore->lock);
    semaphore->value++;
    pthread_cond_signal(&semaphore->is_posted);
    pthread_mutex_unlock(&semaphore->lock);
    return 0;
}

int sem_wait(sem_t *semaphore)
{
    pthread_mutex_lock(&semaphore->lock);
    while (semaphore->value == 0)
        pthread_cond_wait(&semaphore->is_posted, &semaphore->lock);
    semaphore->value--;
    pthread_mutex_unlock(&semaphore->lock);
    return 0;
}

int sem_trywait(sem_t *semaphore)
{
    pthread_mutex_lock(&semaphore->lock);
    int result = semaphore->value > 0 ? 0 : -1;
    semaphore->value -= result == 0;
    pthread_mutex_unlock(&semaphore->lock);
    if (result != 0)
        errno = EAGAIN;
    return result;
}
