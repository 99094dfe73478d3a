/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - lets a process fork at any moment, whatever its other threads do, and multiply in the child. See
 * docs/internals/decisions/0021-fork.md.
 *
 * The child has one thread, the one that called fork, and a copy of the memory. A lock that another thread held would
 * stay locked forever, over half-changed data. So a thread that forks first takes the lock of every context. This never
 * takes long and cannot deadlock: a thread that holds a context's lock takes no other lock and calls no foreign code.
 * In the child, every backend with threads of its own is notified that those threads are gone. */
#include "core/context.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* taken before the lock of any context */
static rung_context *contexts;                                /* newest first */

static void lock_all(void)
{
    pthread_mutex_lock(&list_lock);
    for (rung_context *context = contexts; context; context = context->next)
        pthread_mutex_lock(&context->lock);
}

static void unlock_all(void)
{
    for (rung_context *context = contexts; context; context = context->next)
        pthread_mutex_unlock(&context->lock);
    pthread_mutex_unlock(&list_lock);
}

static void reset_child(void)
{
    for (rung_context *context = contexts; context; context = context->next)
        for (int i = 0; rungi_backends[i]; i++)
            if (rungi_backends[i]->after_fork_in_child && context->backends[i].is_loaded)
                rungi_backends[i]->after_fork_in_child(context->backends[i].state);
    unlock_all();
}

/* ---- List of contexts ------------------------------------------------------------------------------- */

static bool is_registered;

/* Runs again in a child that was forked while the parent ran it. */
static void register_handlers(void)
{
    is_registered = is_registered || pthread_atfork(lock_all, unlock_all, reset_child) == 0;
}

bool rungi_fork_register(rung_context *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
    if (!is_registered)
        return false;
    pthread_mutex_lock(&list_lock);
    context->next = contexts;
    contexts = context;
    pthread_mutex_unlock(&list_lock);
    return true;
}

void rungi_fork_unregister(rung_context *context)
{
    pthread_mutex_lock(&list_lock);
    rung_context **link = &contexts;
    while (*link != context)
        link = &(*link)->next;
    *link = context->next;
    pthread_mutex_unlock(&list_lock);
}
