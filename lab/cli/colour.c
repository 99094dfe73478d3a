/* SPDX-License-Identifier: Apache-2.0 */
/* colour.c - see colour.h. */
#include "cli/colour.h"

#include <stdlib.h>
#include <string.h>

#include "cli/terminal.h"

static enum { AUTO, ALWAYS, NEVER } colour_mode = AUTO;

bool lab_colour_set_mode(const char *when)
{
    colour_mode = when && strcmp(when, "always") == 0 ? ALWAYS : when && strcmp(when, "never") == 0 ? NEVER : AUTO;
    return colour_mode != AUTO || !when || strcmp(when, "auto") == 0;
}

static bool is_enabled(FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    if (colour_mode != AUTO)
        return colour_mode == ALWAYS;
    return !(no_color && *no_color) && lab_terminal_has_escapes(out);
}

void lab_colour_begin(lab_terminal_colour colour, FILE *out)
{
    static const char *const escapes[LAB_TERMINAL_COLOUR_COUNT] = {"", "\033[31m", "\033[33m", "\033[1m"};
    if (colour != LAB_PLAIN && is_enabled(out))
        fputs(escapes[colour], out);
}

void lab_colour_end(lab_terminal_colour colour, FILE *out)
{
    if (colour != LAB_PLAIN && is_enabled(out))
        fputs("\033[0m", out);
}
