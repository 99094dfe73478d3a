/* SPDX-License-Identifier: Apache-2.0 */
/* colour.c - see colour.h. */
#include "colour.h"

#include <stdlib.h>
#include <string.h>

#include "terminal.h"

static enum { AUTO, ALWAYS, NEVER } chosen = AUTO;

bool lab_colour_choose(const char *when)
{
    chosen = when && strcmp(when, "always") == 0 ? ALWAYS : when && strcmp(when, "never") == 0 ? NEVER : AUTO;
    return chosen != AUTO || !when || strcmp(when, "auto") == 0;
}

static bool is_wanted(FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    if (chosen != AUTO)
        return chosen == ALWAYS;
    return !(no_color && *no_color) && lab_terminal_is_clever(out);
}

void lab_colour_begin(lab_colour colour, FILE *out)
{
    static const char *const escapes[LAB_COLOUR_COUNT] = {"", "\033[31m", "\033[33m", "\033[1m"};
    if (colour != LAB_PLAIN && is_wanted(out))
        fputs(escapes[colour], out);
}

void lab_colour_end(lab_colour colour, FILE *out)
{
    if (colour != LAB_PLAIN && is_wanted(out))
        fputs("\033[0m", out);
}
