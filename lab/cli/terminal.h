/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - the width of terminals and texts, and line wrapping. */
#ifndef LAB_TERMINAL_H
#define LAB_TERMINAL_H

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

#endif /* LAB_TERMINAL_H */
