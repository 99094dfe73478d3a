/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - the width of terminals and texts, line wrapping, and color. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Returns the number of columns of the terminal, or 80 if the output is not a terminal. */
int lab_terminal_width(FILE *out);

/* Returns whether the output is a terminal with escape sequences: TERM is set and is not dumb. */
bool lab_terminal_has_escapes(FILE *out);

/* Returns the number of UTF-8 characters of a text. */
int lab_text_width(const char *text);

/* Truncates a text to at most `width` characters. */
void lab_text_truncate(char *text, int width);

/* Wraps a text to lines of at most `width` columns that begin at column `indent`. The first line continues at `column`,
 * the position of the cursor. A word that is too long gets its own line. Ends with a newline. */
void lab_text_wrap(const char *text, int column, int indent, int width, FILE *out);

/* Color for output to a terminal. It only emphasizes; the text says the same without it. */
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
