/* SPDX-License-Identifier: Apache-2.0 */
/* turns.h - two builds of the lab that measure in turn: the one that was started, and an older one
 * that it starts as its child (rung bench --baseline).
 *
 * Whatever disturbs the machine for longer than a round disturbs both. They speak a line at a time, over two pipes:
 *
 *     the child    rung-turns/1          once, before anything else
 *     the parent   problem               the next one: make it and verify it
 *     the child    ready 1               whether it wants to measure, 0 or 1
 *     the parent   round                 one turn of all contenders
 *     the child    done 1                whether it wants more
 *     the parent   end                   of this problem
 *     the child    ended 0
 *
 * At the end of the pipe the child writes its results (--json) and goes. */
#ifndef LAB_TURNS_H
#define LAB_TURNS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

typedef enum lab_role { LAB_ALONE, LAB_PARENT, LAB_CHILD } lab_role;

typedef struct lab_turns {
    lab_role role;
    int in, out;
    char pairing[64]; /* what both results carry, so that they are known to belong together */
    bool failed;      /* and why it did; nothing is said or heard any more */
    char why[512];
    bool wants; /* the other, more rounds */
    /* The parent's. */
    const char *executable;
    pid_t child;
    FILE *results; /* that it writes */
} lab_turns;

/* Whether a parent has started this process to take turns; then that one is greeted. */
bool lab_turns_join(lab_turns *turns);

/* The child waits for this word; false for any other, and when the parent is gone. */
bool lab_turns_wait(lab_turns *turns, const char *word);

/* The next word, "" if the parent is gone. */
void lab_turns_hear(lab_turns *turns, char *word, size_t capacity);
void lab_turns_answer(lab_turns *turns, const char *word, bool wants);

/* Keeps this process, and the child that it starts then, to the processor that it is on: two have neighbours of their
 * own, and the difference between those would be taken for one between the builds. For what one thread measures. */
void lab_turns_share_processor(void);

/* Starts a child and waits for its greeting. Arguments as for execv. */
bool lab_turns_start(const char *executable, char *const *arguments, lab_turns *turns);

/* Has the child do something and waits for its answer. */
bool lab_turns_ask(lab_turns *turns, const char *word, const char *answer);

/* Lets the child finish, and gives the text that it wrote, for free(); NULL if it failed. */
char *lab_turns_finish(lab_turns *turns, size_t *length);

/* Whatever is still there goes. */
void lab_turns_close(lab_turns *turns);

#endif /* LAB_TURNS_H */
