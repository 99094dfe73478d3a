/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - lines "field = value", one after the other. */
#include "fields.h"

#include <stdio.h>
#include <string.h>

#include "file.h"

/* One line, which may be empty; NULL, or what is wrong with it. */
static const char *take_line(char *line, lab_field_function take, void *user)
{
    char field[32], value[128];
    if (!strchr(line, '\n') && strlen(line) >= 255)
        return "the line is longer than 254 letters";
    line[strcspn(line, "#\r\n")] = '\0';
    if (line[strspn(line, " \t")] == '\0')
        return NULL;
    int end = 0;
    if (sscanf(line, " %31[a-z0-9_] = %127[^\n]%n", field, value, &end) != 2)
        return "not \"field = value\"";
    if (line[end] != '\0')
        return "the value is longer than 127 letters";
    for (char *last = value + strlen(value); last > value && (last[-1] == ' ' || last[-1] == '\t');)
        *--last = '\0';
    return take(user, field, value);
}

bool lab_fields_read(const char *path, lab_field_function take, void *user, char *why, size_t capacity)
{
    char line[256];
    const char *wrong = NULL;
    char reason[256];
    FILE *file = lab_file_open(path, LAB_TEXT_BYTES_MAX, reason, sizeof reason);
    if (!file) {
        snprintf(why, capacity, "%s: %s", path, reason);
        return false;
    }
    for (int number = 1; !wrong && fgets(line, sizeof line, file); number++) {
        wrong = take_line(line, take, user);
        if (wrong)
            snprintf(why, capacity, "%s:%d: %s", path, number, wrong);
    }
    if (!wrong && ferror(file)) {
        wrong = "it cannot be read";
        snprintf(why, capacity, "%s: %s", path, wrong);
    }
    fclose(file);
    return !wrong;
}
