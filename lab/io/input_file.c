/* SPDX-License-Identifier: Apache-2.0 */
/* input_file.c - see input_file.h. */
#include "io/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *file_type_text(mode_t mode)
{
    return S_ISDIR(mode)                    ? "a folder"
           : S_ISFIFO(mode)                 ? "a FIFO"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                            : "a socket";
}

bool lab_file_check(int file, int64_t limit, char *why, size_t capacity)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        snprintf(why, capacity, "cannot be read: %s", strerror(errno));
    else if (!S_ISREG(about.st_mode))
        snprintf(why, capacity, "%s, not a regular file", file_type_text(about.st_mode));
    else if (about.st_size > limit)
        snprintf(why, capacity, "%lld bytes; the maximum is %lld", (long long)about.st_size, (long long)limit);
    else
        return true;
    return false;
}

FILE *lab_file_open(const char *path, int64_t limit, char *why, size_t capacity)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) {
        snprintf(why, capacity, "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    bool is_readable = lab_file_check(file, limit, why, capacity);
    FILE *stream = is_readable ? fdopen(file, "r") : NULL;
    if (is_readable && !stream)
        snprintf(why, capacity, "cannot be opened: %s", strerror(errno));
    if (!stream)
        close(file);
    return stream;
}

/* Reads up to the end, which may have moved since the size was checked. */
static char *read_all(FILE *file, int64_t limit, size_t *length, char *why, size_t capacity)
{
    size_t room = 1 << 16;
    char *text = malloc(room);
    *length = 0;
    bool is_too_large = false;
    while (text) {
        *length += fread(text + *length, 1, room - 1 - *length, file);
        if (*length < room - 1)
            break;
        is_too_large = *length > (size_t)limit;
        char *larger = is_too_large ? NULL : realloc(text, 2 * room);
        if (!larger)
            free(text);
        text = larger;
        room *= 2;
    }
    if (!text || ferror(file)) {
        snprintf(why, capacity, "%s", text ? "cannot be read" : is_too_large ? "too large" : "out of memory");
        free(text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
}

char *lab_file_read(const char *path, int64_t limit, size_t *length, char *why, size_t capacity)
{
    FILE *file = lab_file_open(path, limit, why, capacity);
    char *text = file ? read_all(file, limit, length, why, capacity) : NULL;
    if (file)
        fclose(file);
    return text;
}

/* ---- Files of fields and values ------------------------------------------------------------------ */

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
    char line[256], reason[256];
    const char *error = NULL;
    FILE *file = lab_file_open(path, LAB_TEXT_BYTES_MAX, reason, sizeof reason);
    if (!file) {
        snprintf(why, capacity, "%s: %s", path, reason);
        return false;
    }
    int number = 0;
    while (!error && fgets(line, sizeof line, file)) {
        error = parse_line(line, take, user);
        number++;
    }
    if (error)
        snprintf(why, capacity, "%s:%d: %s", path, number, error);
    else if (ferror(file))
        snprintf(why, capacity, "%s: read error", path);
    bool good = !error && !ferror(file);
    fclose(file);
    return good;
}
