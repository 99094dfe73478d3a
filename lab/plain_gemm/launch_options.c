/* SPDX-License-Identifier: Apache-2.0 */
/* launch_options.c - see launch_options.h. */
#include "plain_gemm/launch_options.h"

#include <stdio.h>
#include <string.h>

#include "base/string_view.h"
#include "common/failure.h"

static const struct {
    const char *name;
    size_t offset;
} keys[] = {
    {"kernel", offsetof(lab_launch_options, kernel)}, {"template", offsetof(lab_launch_options, templates)},
    {"grid", offsetof(lab_launch_options, grid)},     {"block", offsetof(lab_launch_options, block)},
    {"shared", offsetof(lab_launch_options, shared)}, {"args", offsetof(lab_launch_options, arguments)},
};
enum { KEYS = sizeof keys / sizeof *keys };

/* Returns the length of the name that begins at `at` and is followed by a single "="; 0 if the text begins otherwise. */
static size_t name_length(const char *at, const char *end)
{
    size_t length = 0;
    while (at + length < end && (rungi_is_name_character(at[length]) || at[length] == '.'))
        length++;
    bool is_assigned = length > 0 && at + length < end && at[length] == '=' &&
                       (at + length + 1 == end || at[length + 1] != '=');
    return is_assigned ? length : 0;
}

/* Returns the key with this name; -1 for an argument of the kernel, which only rung check reads. */
static int find_key(const char *name, size_t length)
{
    for (int i = 0; i < KEYS; i++)
        if (rungi_string_view_equals(rungi_string_view_of(name, length), keys[i].name))
            return i;
    return -1;
}

/* Returns the end of a value: the end of the line, or the space before the next name. */
static const char *value_end(const char *at, const char *end)
{
    for (const char *next = at; next < end; next++)
        if (*next == ' ' && name_length(next + 1, end) > 0)
            return next;
    return end;
}

static bool read_line(lab_launch_options *options, const char *at, const char *end, char *why, size_t capacity)
{
    while (at < end) {
        while (at < end && (*at == ' ' || *at == '\t'))
            at++;
        if (at == end)
            return true;
        size_t length = name_length(at, end);
        if (length == 0)
            return lab_set_reason(why, capacity,
                                  "line %d: \"%.*s\" does not begin with a name and \"=\", as grid=... does",
                                  options->line, (int)(end - at < 40 ? end - at : 40), at);
        int key = find_key(at, length);
        at += length + 1;
        const char *last = value_end(at, end), *next = last;
        while (last > at && (last[-1] == ' ' || last[-1] == '\r'))
            last--;
        char *value = key < 0 ? NULL : (char *)options + keys[key].offset;
        if (value && !*value &&
            snprintf(value, LAB_LAUNCH_TEXT_BYTES, "%.*s", (int)(last - at), at) >= LAB_LAUNCH_TEXT_BYTES)
            return lab_set_reason(why, capacity, "line %d: %s= is longer than %d characters", options->line,
                                  keys[key].name, LAB_LAUNCH_TEXT_BYTES - 1);
        at = next;
    }
    return true;
}

bool lab_launch_options_read_comment(lab_launch_options *options, const char *text, size_t bytes, char *why,
                                     size_t capacity)
{
    static const char mark[] = "// rung:";
    const char *end = text + bytes;
    int line = 1;
    for (const char *at = text; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *line_end = newline ? newline : end;
        while (at < line_end && (*at == ' ' || *at == '\t'))
            at++;
        if ((size_t)(line_end - at) >= sizeof mark - 1 && memcmp(at, mark, sizeof mark - 1) == 0) {
            options->line = line;
            return read_line(options, at + sizeof mark - 1, line_end, why, capacity);
        }
        at = line_end + 1;
    }
    return true;
}

bool lab_launch_options_set(char to[LAB_LAUNCH_TEXT_BYTES], const char *text)
{
    return !text || snprintf(to, LAB_LAUNCH_TEXT_BYTES, "%s", text) < LAB_LAUNCH_TEXT_BYTES;
}
