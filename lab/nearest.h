/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h - what somebody meant who wrote a word that there is not. */
#ifndef LAB_NEAREST_H
#define LAB_NEAREST_H

/* Letters to insert, drop, change or swap with their neighbour to get from one word to the other. */
int lab_distance(const char *x, const char *y);

/* The word among these that is meant, NULL where it is anybody's guess: one that begins so, or, for a
 * word of four letters or more, the nearest that differs in a letter of three at most. Names like
 * "07_tile2d" are meant by "tile2" too. NULL among the words is passed over. */
const char *lab_nearest(const char *word, const char *const *words, int count);

#endif /* LAB_NEAREST_H */
