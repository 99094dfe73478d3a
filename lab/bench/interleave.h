/* SPDX-License-Identifier: Apache-2.0 */
/* interleave.h - two executables of the lab that measure alternately: the one that was started, and another one that it
 * starts as its child (rung bench --baseline).
 *
 * Whatever disturbs the machine for longer than a round disturbs both. The processes exchange lines over two pipes:
 *
 *     the child    rung-turns/1          once, before anything else
 *     the parent   problem               create and verify the next problem
 *     the child    ready 1               whether it needs samples, 0 or 1
 *     the parent   round                 take one sample of every contender
 *     the child    done 1                whether it needs more samples
 *     the parent   end                   the problem is complete
 *     the child    ended 0
 *
 * When the parent closes its pipe, the child writes its results (--json) and exits. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

typedef enum lab_interleave_role {
    LAB_INTERLEAVE_NONE,
    LAB_INTERLEAVE_PARENT,
    LAB_INTERLEAVE_CHILD
} lab_interleave_role;

typedef struct lab_interleave {
    lab_interleave_role role;
    int in, out;
    char pairing[64]; /* identifies both results as a pair */
    bool failed;      /* no lines are sent or received any more; `why` has the reason */
    char why[512];
    bool wants_rounds; /* the other process needs more samples */
    /* Of the parent. */
    const char *executable;
    pid_t child;
    FILE *results; /* standard output of the child */
} lab_interleave;

/* Sets the role of this process. A process that was started as such a child greets its parent. */
void lab_interleave_join(lab_interleave *interleave);

/* Waits for this word of the parent. Returns false after another word, and if the parent has closed its pipe. */
bool lab_interleave_expect(lab_interleave *interleave, const char *word);

/* Receives the next word of the parent; "" if the parent has closed its pipe. */
void lab_interleave_receive(lab_interleave *interleave, char *word, size_t capacity);
void lab_interleave_reply(lab_interleave *interleave, const char *word, bool wants);

/* Pins this process, and the child that it starts afterwards, to the current processor. Two processors are disturbed
 * differently, which would look like a difference between the executables. For measurements of one thread. */
void lab_interleave_pin_processor(void);

/* Starts a child, with arguments as for execv(), and waits for its greeting. Returns false with the reason in `why`. */
bool lab_interleave_start(const char *executable, char *const *arguments, lab_interleave *interleave);

/* Sends a word to the child and waits for this answer. Returns false with the reason in `why`. */
bool lab_interleave_request(lab_interleave *interleave, const char *word, const char *answer);

/* Lets the child exit. Returns the text that it wrote, for free(); NULL on failure. */
char *lab_interleave_collect(lab_interleave *interleave, size_t *length);

/* Ends the child if it runs, and closes the pipes. */
void lab_interleave_close(lab_interleave *interleave);
