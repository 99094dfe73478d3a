/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - see terminal.h. */
#include "cli/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int lab_terminal_width(FILE *out)
{
    struct winsize size;
    if (isatty(fileno(out)) && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 80;
}

bool lab_terminal_has_escapes(FILE *out)
{
    const char *kind = getenv("TERM");
    return kind && *kind && strcmp(kind, "dumb") != 0 && isatty(fileno(out));
}

/* Continuation bytes of a UTF-8 character are 10xxxxxx. */
static bool is_first_byte(char byte)
{
    return ((unsigned char)byte & 0xc0) != 0x80;
}

int lab_text_width(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += is_first_byte(*text);
    return width;
}

void lab_text_truncate(char *text, int width)
{
    int seen = 0;
    for (; *text; text++) {
        seen += is_first_byte(*text);
        if (seen > width) {
            *text = '\0';
            return;
        }
    }
}

void lab_text_wrap(const char *text, int column, int indent, int width, FILE *out)
{
    bool is_fresh = true; /* the line has no word yet, so none needs a space before it */
    while (*(text += strspn(text, " "))) {
        size_t length = strcspn(text, " ");
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        int columns = lab_text_width(word);
        if (!is_fresh && column + 1 + columns > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            is_fresh = true;
        }
        fprintf(out, "%s%s", is_fresh ? "" : " ", word);
        column += columns + !is_fresh;
        is_fresh = false;
        text += length;
    }
    fputc('\n', out);
}

/* ---- Color ----------------------------------------------------------------------------------------- */

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
