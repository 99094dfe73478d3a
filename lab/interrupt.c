/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.c - see interrupt.h. */
#include "interrupt.h"

#include <signal.h>
#include <stdio.h>

#include "colour.h"

static volatile sig_atomic_t was_interrupted;

static void note(int number)
{
    (void)number;
    was_interrupted = 1;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static void watch(int number)
{
    struct sigaction before, action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &action, NULL);
}

void lab_interrupt_watch(void)
{
    watch(SIGINT);
    watch(SIGTERM);
}

bool lab_interrupted(void)
{
    return was_interrupted != 0;
}

void lab_interrupt_tell(const char *what)
{
    lab_colour_begin(LAB_YELLOW, stderr);
    fprintf(stderr, "rung: interrupted: %s", what);
    lab_colour_end(LAB_YELLOW, stderr);
    fputc('\n', stderr);
}
