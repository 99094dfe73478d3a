/* SPDX-License-Identifier: Apache-2.0 */
/* colour.h - colour where a person looks at a terminal, and nowhere else. It underlines what words
 * and numbers say already: without it nothing is missing. */
#ifndef LAB_COLOUR_H
#define LAB_COLOUR_H

#include <stdbool.h>
#include <stdio.h>

typedef enum lab_colour {
    LAB_PLAIN,
    LAB_RED,    /* wrong, refused, ill */
    LAB_YELLOW, /* to be looked at */
    LAB_BOLD,   /* the best */
    LAB_COLOUR_COUNT
} lab_colour;

#define LAB_COLOUR_WORDS "auto always never"

/* What --color says: auto, always or never; NULL is auto, which is: on a terminal, unless NO_COLOR
 * is set or TERM is dumb. False if it is none of them. For the whole process. */
bool lab_colour_choose(const char *when);

/* Around what is written; nothing where there is no colour. */
void lab_colour_begin(lab_colour colour, FILE *out);
void lab_colour_end(lab_colour colour, FILE *out);

#endif /* LAB_COLOUR_H */
