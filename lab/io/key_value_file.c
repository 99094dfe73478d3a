/* SPDX-License-Identifier: Apache-2.0 */
/* key_value_file.c - see key_value_file.h. */
#include "io/key_value_file.h"

#include <stdio.h>
#include <string.h>

#include "io/input_file.h"

/* Parses one line, which may be empty. Returns NULL, or an error. */
static const char *parse_line(char *line, lab_key_value_function take, void *user)
{
    char field[32], value[128];
    if (!strchr(line, '\n') && strlen(line) >= 255)
        return "the line is longer than 254 characters";
    line[strcspn(line, "#\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0')
        return NULL;
    int end = 0;
    if (sscanf(line, " %31[a-z0-9_] = %127[^\n]%n", field, value, &end) != 2)
        return "expected \"field = value\"";
    if (line[end] != '\0')
        return "the value is longer than 127 characters";
    for (char *last = value + strlen(value); last > value && (last[-1] == ' ' || last[-1] == '\t');)
        *--last = '\0';
    return take(user, field, value);
}

bool lab_key_values_read(const char *path, lab_key_value_function take, void *user, char *why, size_t capacity)
{
    char line[256];
    const char *error = NULL;
    char reason[256];
    FILE *file = lab_file_open(path, LAB_TEXT_BYTES_MAX, reason, sizeof reason);
    if (!file) {
        snprintf(why, capacity, "%s: %s", path, reason);
        return false;
    }
    for (int number = 1; !error && fgets(line, sizeof line, file); number++) {
        error = parse_line(line, take, user);
        if (error)
            snprintf(why, capacity, "%s:%d: %s", path, number, error);
    }
    if (!error && ferror(file)) {
        error = "read error";
        snprintf(why, capacity, "%s: %s", path, error);
    }
    fclose(file);
    return !error;
}
