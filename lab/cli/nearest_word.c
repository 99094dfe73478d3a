/* SPDX-License-Identifier: Apache-2.0 */
/* nearest_word.c - see nearest_word.h. */
#include "cli/nearest_word.h"

#include <stddef.h>
#include <string.h>

enum { WORD_MAX_LETTERS = 64, DISTANCE_MAX = 1000 };

static int smaller_of(int x, int y)
{
    return x < y ? x : y;
}

int lab_edit_distance(const char *x, const char *y)
{
    int rows[3][WORD_MAX_LETTERS + 1]; /* the last three rows of the table */
    int x_length = (int)strlen(x), y_length = (int)strlen(y);
    if (x_length > WORD_MAX_LETTERS || y_length > WORD_MAX_LETTERS)
        return DISTANCE_MAX;
    for (int j = 0; j <= y_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= x_length; i++) {
        int *row = rows[i % 3];
        const int *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= y_length; j++) {
            row[j] = smaller_of(before[j - 1] + (x[i - 1] != y[j - 1]), smaller_of(before[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
                row[j] = smaller_of(row[j], two_before[j - 2] + 1);
        }
    }
    return rows[x_length % 3][y_length];
}

/* Returns the distance to a name or to the part after its number; 0 if one of them begins with the word. */
static int distance_to_name(const char *word, const char *name)
{
    size_t number = strspn(name, "0123456789");
    const char *rest = number > 0 && name[number] == '_' ? name + number + 1 : name;
    if (strncmp(word, name, strlen(word)) == 0 || strncmp(word, rest, strlen(word)) == 0)
        return 0;
    return smaller_of(lab_edit_distance(word, name), lab_edit_distance(word, rest));
}

const char *lab_nearest_word(const char *word, const char *const *words, int count)
{
    const char *nearest = NULL;
    int length = (int)strlen(word), best = DISTANCE_MAX;
    int allowed = length < 2 ? -1 : length < 4 ? 0 : length / 3; /* "gpu" must not suggest "cpu" */
    for (int i = 0; i < count; i++) {
        int distance = words[i] ? distance_to_name(word, words[i]) : DISTANCE_MAX;
        if (distance < best && distance <= allowed) {
            best = distance;
            nearest = words[i];
        }
    }
    return nearest;
}
