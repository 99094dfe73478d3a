/* SPDX-License-Identifier: Apache-2.0 */
/* colour.h - color for output to a terminal. Color only emphasizes; the text says the same without it. */
#ifndef LAB_COLOUR_H
#define LAB_COLOUR_H

#include <stdbool.h>
#include <stdio.h>

typedef enum lab_terminal_colour {
    LAB_PLAIN,
    LAB_RED,    /* wrong, rejected, failed */
    LAB_YELLOW, /* warning */
    LAB_BOLD,   /* best value */
    LAB_TERMINAL_COLOUR_COUNT
} lab_terminal_colour;

#define LAB_COLOUR_WORDS "auto always never"

/* Sets the mode of this process: auto (also for NULL), always or never. auto uses color on a terminal, unless NO_COLOR
 * is set or TERM is dumb. Returns false if the text is invalid. */
bool lab_colour_set_mode(const char *when);

/* Begin and end colored text. They write nothing if color is off. */
void lab_colour_begin(lab_terminal_colour colour, FILE *out);
void lab_colour_end(lab_terminal_colour colour, FILE *out);

#endif /* LAB_COLOUR_H */
