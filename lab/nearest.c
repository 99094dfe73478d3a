/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.c - see nearest.h. */
#include "nearest.h"

#include <stddef.h>
#include <string.h>

enum { LETTERS_MAX = 64, FAR = 1000 };

static int least(int x, int y)
{
    return x < y ? x : y;
}

int lab_distance(const char *x, const char *y)
{
    int rows[3][LETTERS_MAX + 1]; /* the last three, taken in turn */
    int x_length = (int)strlen(x), y_length = (int)strlen(y);
    if (x_length > LETTERS_MAX || y_length > LETTERS_MAX)
        return FAR;
    for (int j = 0; j <= y_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= x_length; i++) {
        int *row = rows[i % 3];
        const int *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= y_length; j++) {
            row[j] = least(before[j - 1] + (x[i - 1] != y[j - 1]), least(before[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
                row[j] = least(row[j], two_before[j - 2] + 1);
        }
    }
    return rows[x_length % 3][y_length];
}

/* Of the whole word, or of what stands behind its number; 0 where it begins so. */
static int distance_to(const char *word, const char *name)
{
    size_t number = strspn(name, "0123456789");
    const char *rest = number > 0 && name[number] == '_' ? name + number + 1 : name;
    if (strncmp(word, name, strlen(word)) == 0 || strncmp(word, rest, strlen(word)) == 0)
        return 0;
    return least(lab_distance(word, name), lab_distance(word, rest));
}

const char *lab_nearest(const char *word, const char *const *words, int count)
{
    const char *nearest = NULL;
    int length = (int)strlen(word), best = FAR;
    int allowed = length < 2 ? -1 : length < 4 ? 0 : length / 3; /* a gpu is no cpu */
    for (int i = 0; i < count; i++) {
        int distance = words[i] ? distance_to(word, words[i]) : FAR;
        if (distance < best && distance <= allowed) {
            best = distance;
            nearest = words[i];
        }
    }
    return nearest;
}
