/* SPDX-License-Identifier: Apache-2.0 */
/* nearest_word.h - finds the known word that is most similar to an unknown one. */
#pragma once

/* Returns the number of letters to insert, delete, replace or swap with a neighbor to turn one word into the other. */
int lab_edit_distance(const char *x, const char *y);

/* Returns the word that begins with `word`, or for four letters or more the nearest one that differs in at most a third
 * of the letters, or NULL. The number of names such as "07_tile2d" may be omitted. NULL entries of `words` are
 * skipped. */
const char *lab_nearest_word(const char *word, const char *const *words, int count);
