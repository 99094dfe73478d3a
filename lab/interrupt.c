/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - see interrupt.h. */
#include "interrupt.h"

#include <signal.h>
#include <stdio.h>

#include "colour.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };

static volatile sig_atomic_t was_interrupted, is_watched[SIGNAL_COUNT];
static const atomic_int *followed; /* NULL: this process watches signals itself */

static void note(int number)
{
    (void)number;
    was_interrupted = 1;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (is_watched[i]) /* a signal that was ignored from the start stays ignored */
            signal(signals[i], SIG_DFL);
}

static void watch(int index)
{
    struct sigaction before, action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(signals[index], NULL, &before) != 0 || before.sa_handler == SIG_IGN)
        return;
    is_watched[index] = 1; /* first: note() may run at once */
    sigaction(signals[index], &action, NULL);
}

void lab_interrupt_watch(void)
{
    for (int i = 0; !followed && i < SIGNAL_COUNT; i++)
        watch(i);
}

void lab_interrupt_follow(const atomic_int *flag)
{
    followed = flag;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        signal(signals[i], SIG_IGN);
}

bool lab_interrupted(void)
{
    return was_interrupted != 0 || (followed && atomic_load(followed) != 0);
}

void lab_interrupt_tell(const char *what)
{
    lab_colour_begin(LAB_YELLOW, stderr);
    fprintf(stderr, "rung: interrupted: %s", what);
    lab_colour_end(LAB_YELLOW, stderr);
    fputc('\n', stderr);
}
