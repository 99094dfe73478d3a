/* SPDX-License-Identifier: Apache-2.0 */
/* launch_line.c - see launch_line.h. */
#include "check/launch_line.h"

#include <stddef.h>
#include <stdlib.h>

#include "common/failure.h"

#define WIDTH(view) (int)(view).length, (view).text

static const struct {
    const char *name;
    size_t offset;
} keys[] = {
    {"kernel", offsetof(lab_launch_line, kernel)}, {"template", offsetof(lab_launch_line, templates)},
    {"grid", offsetof(lab_launch_line, grid)},     {"block", offsetof(lab_launch_line, block)},
    {"shared", offsetof(lab_launch_line, shared)}, {"cluster", offsetof(lab_launch_line, cluster)},
    {"args", offsetof(lab_launch_line, roles)},    {"cooperative", offsetof(lab_launch_line, cooperative)},
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static rungi_string_view trim(rungi_string_view view)
{
    while (view.length > 0 && is_blank(view.text[0])) {
        view.text++;
        view.length--;
    }
    while (view.length > 0 && is_blank(view.text[view.length - 1]))
        view.length--;
    return view;
}

/* ---- Names and values ---- */

/* Returns the length of the name before "=" at the start of a text; 0 if the text begins otherwise. "==" compares. */
static size_t name_length(const char *at, const char *end)
{
    const char *next = at;
    while (next < end && (rungi_is_name_character(*next) || *next == '.'))
        next++;
    bool is_name = next > at && next < end && *next == '=' && (next + 1 == end || next[1] != '=');
    return is_name && !(*at >= '0' && *at <= '9') ? (size_t)(next - at) : 0;
}

/* Returns the end of a value: the blank before the next name outside of brackets, or the end of the line. */
static const char *value_end(const char *at, const char *end)
{
    int depth = 0;
    for (; at < end; at++) {
        depth += (*at == '(' || *at == '[' || *at == '{') - (*at == ')' || *at == ']' || *at == '}');
        if (depth <= 0 && is_blank(*at) && name_length(at + 1, end) > 0)
            return at;
    }
    return end;
}

/* ---- Arrays ---- */

/* Reads ":zero" or ":FILE.npy" after TYPE[COUNT]. */
static bool read_contents(lab_launch_argument *argument, rungi_string_view text, char *why, size_t capacity)
{
    static const char *const words[] = {"random", "zero", "ones", "iota", "none"};
    for (int i = 0; i < LAB_CONTENTS_FILE; i++)
        if (rungi_string_view_equals(text, words[i])) {
            argument->contents = (lab_contents)i;
            return true;
        }
    argument->contents = LAB_CONTENTS_FILE;
    argument->file = text;
    if (text.length > 4 && memcmp(text.text + text.length - 4, ".npy", 4) == 0)
        return true;
    return lab_set_reason(why, capacity,
                          "%.*s: \"%.*s\" is not valid contents; use random, zero, ones, iota, none or a file FILE.npy",
                          WIDTH(argument->name), WIDTH(text));
}

/* Returns the length of TYPE[ at the start of a value; 0 if the value is no array. */
static size_t type_length(rungi_string_view value)
{
    size_t length = 0;
    while (length < value.length && rungi_is_name_character(value.text[length]))
        length++;
    return length < value.length && value.text[length] == '[' ? length : 0;
}

/* Reads TYPE[COUNT]:CONTENTS. */
static bool read_array(lab_launch_argument *argument, char *why, size_t capacity)
{
    rungi_string_view value = argument->value;
    size_t length = type_length(value), end = length;
    int depth = 0;
    if (length == 0)
        return true;
    argument->is_array = true;
    argument->type = lab_element_type_find(rungi_string_view_of(value.text, length));
    if (argument->type == LAB_ELEMENT_TYPE_COUNT)
        return lab_set_reason(why, capacity,
                              "%.*s: \"%.*s\" is not an element type; valid types are " LAB_ELEMENT_TYPE_WORDS,
                              WIDTH(argument->name), (int)length, value.text);
    for (; end < value.length; end++) {
        depth += (value.text[end] == '[') - (value.text[end] == ']');
        if (depth == 0)
            break;
    }
    argument->count = trim(rungi_string_view_of(value.text + length + 1, end > length ? end - length - 1 : 0));
    if (end == value.length || argument->count.length == 0)
        return lab_set_reason(why, capacity, "%.*s: \"%.*s\" has no count; write %s[COUNT], for example %s[1024]",
                              WIDTH(argument->name), WIDTH(value), lab_element_type_name(argument->type),
                              lab_element_type_name(argument->type));
    rungi_string_view rest = trim(rungi_string_view_of(value.text + end + 1, value.length - end - 1));
    if (rest.length == 0)
        return true;
    if (*rest.text != ':')
        return lab_set_reason(why, capacity, "%.*s: \"%.*s\" follows the array; write %s[COUNT] or %s[COUNT]:CONTENTS",
                              WIDTH(argument->name), WIDTH(rest), lab_element_type_name(argument->type),
                              lab_element_type_name(argument->type));
    argument->has_contents = true;
    return read_contents(argument, trim(rungi_string_view_of(rest.text + 1, rest.length - 1)), why, capacity);
}

/* ---- Lines ---- */

static bool add_argument(lab_launch_line *line, rungi_string_view name, rungi_string_view value, char *why,
                         size_t capacity)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        rungi_string_view *key = (rungi_string_view *)(void *)((char *)line + keys[i].offset);
        if (!rungi_string_view_equals(name, keys[i].name))
            continue;
        if (key->length > 0)
            return lab_set_reason(why, capacity, "%s= is given twice", keys[i].name);
        *key = value;
        return true;
    }
    for (int i = 0; i < line->argument_count; i++)
        if (rungi_string_views_equal(line->arguments[i].name, name))
            return lab_set_reason(why, capacity, "%.*s= is given twice", WIDTH(name));
    if (line->argument_count == LAB_LINE_ARGUMENTS_MAX)
        return lab_set_reason(why, capacity, "a launch has more than %d arguments", LAB_LINE_ARGUMENTS_MAX);
    lab_launch_argument *argument = &line->arguments[line->argument_count++];
    *argument = (lab_launch_argument){.name = name, .value = value};
    return read_array(argument, why, capacity);
}

static bool read_line(lab_launch_line *line, const char *at, const char *end, char *why, size_t capacity)
{
    for (;;) {
        while (at < end && is_blank(*at))
            at++;
        if (at == end)
            return true;
        size_t length = name_length(at, end);
        if (length == 0)
            return lab_set_reason(why, capacity,
                                  "\"%.*s\" is not NAME=VALUE; an example is grid=4 block=256 x=f32[1024] n=1024",
                                  (int)(end - at < 40 ? end - at : 40), at);
        rungi_string_view name = rungi_string_view_of(at, length);
        const char *last = value_end(at + length + 1, end);
        rungi_string_view value = trim(rungi_string_view_of(at + length + 1, (size_t)(last - at) - length - 1));
        if (value.length == 0)
            return lab_set_reason(why, capacity, "%.*s= has no value", WIDTH(name));
        if (!add_argument(line, name, value, why, capacity))
            return false;
        at = last;
    }
}

static bool check_cooperative(const lab_launch_line *line, char *why, size_t capacity)
{
    rungi_string_view value = line->cooperative;
    return value.length == 0 || rungi_string_view_equals(value, "0") || rungi_string_view_equals(value, "1") ||
           lab_set_reason(why, capacity, "cooperative=%.*s is not valid; use 1 for a cooperative launch, or 0",
                          WIDTH(value));
}

/* Appends a launch; `line` is 0 for --launch. An empty text adds nothing. */
static bool add_line(lab_launch_lines *lines, const char *at, const char *end, int line, char *why, size_t capacity)
{
    char reason[1024];
    while (at < end && is_blank(*at))
        at++;
    if (at == end)
        return true;
    if (lines->count == LAB_LINES_MAX)
        return lab_set_reason(why, capacity, "there are more than %d launches", LAB_LINES_MAX);
    if (!lines->items)
        lines->items = calloc(LAB_LINES_MAX, sizeof *lines->items);
    if (!lines->items)
        return lab_set_reason(why, capacity, "out of memory");
    lab_launch_line *added = &lines->items[lines->count++];
    added->line = line;
    if (read_line(added, at, end, reason, sizeof reason) && check_cooperative(added, reason, sizeof reason))
        return true;
    return line > 0 ? lab_set_reason(why, capacity, "line %d: %s", line, reason)
                    : lab_set_reason(why, capacity, "--launch: %s", reason);
}

bool lab_launch_lines_read(const char *text, lab_launch_lines *lines, char *why, size_t capacity)
{
    while (*text) {
        size_t length = strcspn(text, ";\n");
        if (!add_line(lines, text, text + length, 0, why, capacity))
            return false;
        text += length + (text[length] != '\0');
    }
    return true;
}

bool lab_launch_lines_read_comments(const char *text, size_t bytes, lab_launch_lines *lines, char *why, size_t capacity)
{
    static const char mark[] = "// rung:";
    const char *end = text + bytes;
    int line = 1;
    for (const char *at = text; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *line_end = newline ? newline : end;
        while (at < line_end && is_blank(*at))
            at++;
        if ((size_t)(line_end - at) >= sizeof mark - 1 && memcmp(at, mark, sizeof mark - 1) == 0 &&
            !add_line(lines, at + sizeof mark - 1, line_end, line, why, capacity))
            return false;
        at = line_end + 1;
    }
    return true;
}
