/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - a process may fork at any moment, whatever its other threads do just then, and go on
 * multiplying in the child. See docs/decisions/0021-fork.md.
 *
 * A child has one thread, the one that called fork, and memory as it was: a lock that another
 * thread held would stay locked for ever, over something half changed. So whoever forks takes
 * every context's lock first. They are never waited for long, nor in a circle, since under a
 * context's lock nothing else is locked and nothing of others is called. A backend that has
 * threads of its own is told in the child that they are gone, while there is one thread alone. */
#include "core/fork.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list; taken before any context's */
static rung_context *contexts;                           /* the newest first */

static void prepare(void)
{
    pthread_mutex_lock(&lock);
    for (rung_context *context = contexts; context; context = context->next)
        pthread_mutex_lock(&context->lock);
}

static void go_on(void)
{
    for (rung_context *context = contexts; context; context = context->next)
        pthread_mutex_unlock(&context->lock);
    pthread_mutex_unlock(&lock);
}

static void begin_child(void)
{
    for (rung_context *context = contexts; context; context = context->next)
        for (int i = 0; rungi_backends[i]; i++)
            if (rungi_backends[i]->forked && context->backends[i].loaded)
                rungi_backends[i]->forked(context->backends[i].state);
    go_on();
}

/* ---- The list ------------------------------------------------------------------------------------ */

static bool is_registered;

/* Called again in a child that was forked meanwhile. */
static void register_handlers(void)
{
    is_registered = is_registered || pthread_atfork(prepare, go_on, begin_child) == 0;
}

bool rungi_fork_watch(rung_context *context)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
    if (!is_registered)
        return false;
    pthread_mutex_lock(&lock);
    context->next = contexts;
    contexts = context;
    pthread_mutex_unlock(&lock);
    return true;
}

void rungi_fork_forget(rung_context *context)
{
    pthread_mutex_lock(&lock);
    rung_context **link = &contexts;
    while (*link != context)
        link = &(*link)->next;
    *link = context->next;
    pthread_mutex_unlock(&lock);
}
