/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.h - text as a terminal shows it: how wide that is, how many columns a text takes, and
 * lines that end in time. */
#ifndef LAB_TERMINAL_H
#define LAB_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* Columns of the terminal that this goes to; 80 where it is none. */
int lab_terminal_width(FILE *out);

/* Whether it goes to a terminal that can do more than write: not where TERM is dumb or not set. */
bool lab_terminal_is_clever(FILE *out);

/* Characters of a text, not bytes: those of UTF-8 count once. */
int lab_text_width(const char *text);

/* Ends the text after so many characters at most, never within one. */
void lab_text_cut(char *text, int width);

/* Writes words into lines of at most `width` columns, which begin at column `indent`; the first
 * goes on at `column`, where the cursor is. Ends the last line. A word that fits no line stands alone. */
void lab_text_wrap(const char *text, int column, int indent, int width, FILE *out);

#endif /* LAB_TERMINAL_H */
