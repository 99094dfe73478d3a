/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - see interrupt.h. */
#include "cli/interrupt.h"

#include <signal.h>
#include <stdio.h>

#include "cli/terminal.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { SIGNAL_COUNT = sizeof signals / sizeof *signals };

static volatile sig_atomic_t was_interrupted, is_watched[SIGNAL_COUNT];
static const atomic_int *parent_flag; /* NULL: this process watches signals itself */

static void on_signal(int number)
{
    (void)number;
    was_interrupted = 1;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        if (is_watched[i]) /* a signal that was ignored from the start stays ignored */
            signal(signals[i], SIG_DFL);
}

static void install_handler(int index)
{
    struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(signals[index], NULL, &before) != 0 || before.sa_handler == SIG_IGN)
        return;
    is_watched[index] = 1; /* first: on_signal() may run at once */
    sigaction(signals[index], &action, NULL);
}

void lab_interrupt_watch(void)
{
    for (int i = 0; !parent_flag && i < SIGNAL_COUNT; i++)
        install_handler(i);
}

void lab_interrupt_follow_flag(const atomic_int *flag)
{
    parent_flag = flag;
    for (int i = 0; i < SIGNAL_COUNT; i++)
        signal(signals[i], SIG_IGN);
}

bool lab_is_interrupted(void)
{
    return was_interrupted != 0 || (parent_flag && atomic_load(parent_flag) != 0);
}

void lab_interrupt_report(const char *what)
{
    lab_colour_begin(LAB_YELLOW, stderr);
    fprintf(stderr, "rung: interrupted: %s", what);
    lab_colour_end(LAB_YELLOW, stderr);
    fputc('\n', stderr);
}
