/* SPDX-License-Identifier: Apache-2.0 */
/* xml_escape.c - see xml_escape.h. */
#include "io/xml_escape.h"

#include <stdbool.h>
#include <string.h>

unsigned lab_utf8_read(const char *text, int *length)
{
    const unsigned char *at = (const unsigned char *)text;
    int more = at[0] < 0x80                    ? 0
               : at[0] >= 0xc2 && at[0] < 0xe0 ? 1
               : at[0] >= 0xe0 && at[0] < 0xf0 ? 2
               : at[0] >= 0xf0 && at[0] < 0xf5 ? 3
                                               : -1;
    static const unsigned least[] = {0, 0x80, 0x800, 0x10000};
    unsigned code = more <= 0 ? at[0] : at[0] & (0x3fu >> more);
    *length = 1;
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0xfffd;
        code = code << 6 | (at[i] & 0x3f);
    }
    if (more < 0 || code < least[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 0xfffd;
    *length = more + 1;
    return code;
}

static bool is_xml_character(unsigned code)
{
    return code == '\t' || code == '\n' ||
           (code >= 0x20 && code != 0x7f && (code < 0x80 || code >= 0xa0) && code != 0xfffe && code != 0xffff);
}

/* Writes a text in which the characters of `escaped` are escaped as JSON or as XML does it. */
static void write_escaped(FILE *out, const char *text, const char *escaped, bool is_json)
{
    int length;
    for (; *text; text += length) {
        unsigned code = lab_utf8_read(text, &length);
        if (code == 0xfffd || !is_xml_character(code))
            fputs("\xef\xbf\xbd", out);
        else if (strchr(escaped, *text))
            fprintf(out, is_json ? "\\u%04x" : "&#%u;", code);
        else
            fwrite(text, 1, (size_t)length, out);
    }
}

void lab_html_escape(FILE *out, const char *text)
{
    write_escaped(out, text, "<>&\"'", false);
}

void lab_html_write_json(FILE *out, const char *json)
{
    write_escaped(out, json, "<>&", true); /* these occur only in strings */
}
