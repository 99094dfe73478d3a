/* SPDX-License-Identifier: Apache-2.0 */
/* image_ptx.c - reads the heads of a PTX text: version, target, entries with their
 * parameters, and the name of the image. What stands in an entry's body is left alone but
 * for its shared arrays and its braces, which must close. */
#include "image.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Words ---------------------------------------------------------------------------------- */

/* Comments become spaces, so that nothing is found in them. */
static void blank_comments(char *text)
{
    for (char *at = text; *at; at++) {
        if (at[0] != '/' || (at[1] != '/' && at[1] != '*'))
            continue;
        char *end = at[1] == '/' ? strchr(at, '\n') : strstr(at + 2, "*/");
        size_t length = end ? (size_t)(end - at) + (at[1] == '*' ? 2 : 0) : strlen(at);
        memset(at, ' ', length);
        at += length - 1;
    }
}

static const char *skip_space(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Where a directive stands as a word of its own, behind it. */
static const char *find_directive(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if (!is_name_char(at[length]) && (at == text || !is_name_char(at[-1])))
            return at + length;
    return NULL;
}

/* A number of at most nine digits; false if there is none. */
static bool read_number(const char **at, int *number)
{
    int digits = 0;
    *number = 0;
    *at = skip_space(*at);
    for (; isdigit((unsigned char)**at) && digits < 9; (*at)++, digits++)
        *number = *number * 10 + (**at - '0');
    return digits > 0 && !isdigit((unsigned char)**at);
}

static bool read_char(const char **at, char c)
{
    *at = skip_space(*at);
    if (**at != c)
        return false;
    (*at)++;
    return true;
}

/* ---- Heads ------------------------------------------------------------------------------------ */

static bool read_version(const char *text, image_t *image)
{
    int major, minor;
    const char *at = find_directive(text, ".version");
    if (!at || !read_number(&at, &major) || *at++ != '.' || !read_number(&at, &minor))
        return false;
    image->ptx_version = major * 10 + minor;
    return major < 100 && minor < 10;
}

static bool read_target(const char *text, image_t *image)
{
    const char *at = find_directive(text, ".target");
    if (!at)
        return false;
    at = skip_space(at);
    if (strncmp(at, "sm_", 3) != 0)
        return false;
    at += 3;
    if (!read_number(&at, &image->architecture))
        return false;
    image->only_architecture = *at == 'a' || *at == 'f';
    return true;
}

/* rung_image[N] = {49, 48, ...}; zeros at its end may be left out. */
static bool read_image_text(const char *text, image_t *image)
{
    int size, value, used = 0;
    const char *at = find_directive(text, "rung_image");
    if (!at)
        return true;
    if (!read_char(&at, '[') || !read_number(&at, &size) || size < 1 || size > IMAGE_TEXT || !read_char(&at, ']') ||
        !read_char(&at, '=') || !read_char(&at, '{'))
        return false;
    do {
        if (used == size || !read_number(&at, &value) || value > 255)
            return false;
        image->text[used++] = (char)value;
    } while (read_char(&at, ','));
    return read_char(&at, '}') && (used < size || image->text[size - 1] == '\0');
}

/* The bytes of a type such as .u64 or .b8. */
static int type_bytes(const char *type, size_t length)
{
    char digits[4] = "";
    if (length < 2 || length > 4)
        return 0;
    memcpy(digits, type + 1, length - 1);
    int bits = atoi(digits);
    return strchr("usfb", type[0]) && (bits == 8 || bits == 16 || bits == 32 || bits == 64) ? bits / 8 : 0;
}

/* One `.param .u64 .ptr .global .align 8 name` or `.param .align 8 .b8 name[32]`. */
static bool read_parameter(const char **at, int *bytes)
{
    int number, type = 0;
    *at = skip_space(*at);
    if (strncmp(*at, ".param", 6) != 0)
        return false;
    *at += 6;
    while (read_char(at, '.')) {
        const char *word = *at;
        while (is_name_char(**at))
            (*at)++;
        size_t length = (size_t)(*at - word);
        if (type == 0)
            type = type_bytes(word, length);
        if (length == 5 && memcmp(word, "align", 5) == 0 && !read_number(at, &number))
            return false;
    }
    *at = skip_space(*at);
    const char *name = *at;
    while (is_name_char(**at))
        (*at)++;
    *bytes = type;
    if (*at == name || type == 0)
        return false;
    if (!read_char(at, '['))
        return true;
    if (!read_number(at, &number) || number > 4096 || !read_char(at, ']'))
        return false;
    *bytes = type * number;
    return true;
}

static bool read_parameters(const char **at, image_function_t *function)
{
    if (!read_char(at, '('))
        return true; /* none at all */
    if (read_char(at, ')'))
        return true;
    do {
        if (function->parameter_count == IMAGE_PARAMETERS ||
            !read_parameter(at, &function->parameter_bytes[function->parameter_count++]))
            return false;
    } while (read_char(at, ','));
    return read_char(at, ')');
}

/* ---- Bodies ------------------------------------------------------------------------------------ */

/* The end of the body that begins here, or NULL if its braces do not close. */
static const char *end_of_body(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        depth += *at == '{';
        depth -= *at == '}';
        if (*at == '}' && depth == 0)
            return at;
    }
    return NULL;
}

/* Adds up `.shared .align 16 .b8 name[1024]`, each at its alignment. */
static bool add_shared(const char *from, const char *end, image_function_t *function)
{
    int total = 0;
    for (const char *at = find_directive(from, ".shared"); at && at < end; at = find_directive(at, ".shared")) {
        int align = 1, count = 1, type;
        const char *start = skip_space(at);
        if (*start != '.')
            continue; /* an instruction's ld.shared */
        if (strncmp(start, ".align", 6) == 0) {
            start += 6;
            if (!read_number(&start, &align) || align < 1 || align > 1024)
                return false;
            start = skip_space(start);
        }
        size_t length = strcspn(start, " \t\n");
        type = length > 1 ? type_bytes(start + 1, length - 1) : 0;
        if (type == 0)
            continue;
        const char *bracket = start + strcspn(start, "[;");
        if (*bracket == '[' && (bracket++, !read_number(&bracket, &count)))
            return false;
        if (count > 1 << 20 || total > 1 << 20)
            return false;
        total = (total + align - 1) / align * align + type * count;
    }
    function->shared = total;
    return true;
}

/* What stands between the parameters and the body. */
static void read_bounds(const char *from, const char *end, image_function_t *function)
{
    int sides[3] = {1, 1, 1};
    const char *at = find_directive(from, ".maxntid");
    function->max_threads = 1024;
    if (!at || at >= end)
        return;
    for (int i = 0; i < 3 && read_number(&at, &sides[i]); i++)
        if (!read_char(&at, ','))
            break;
    if (sides[0] <= 1024 && sides[1] <= 1024 && sides[2] <= 64 && sides[0] * sides[1] * sides[2] <= 1024)
        function->max_threads = sides[0] * sides[1] * sides[2];
}

static bool read_entry(const char **at, image_t *image)
{
    if (image->function_count == IMAGE_FUNCTIONS)
        return false;
    image_function_t *function = &image->functions[image->function_count++];
    const char *name = skip_space(*at);
    size_t length = 0;
    while (is_name_char(name[length]))
        length++;
    if (length == 0 || length >= IMAGE_NAME)
        return false;
    memcpy(function->name, name, length);
    *at = name + length;
    if (!read_parameters(at, function))
        return false;
    const char *body = strchr(*at, '{'), *end = body ? end_of_body(body) : NULL;
    if (!end)
        return false;
    read_bounds(*at, body, function);
    *at = end;
    return add_shared(body, end, function);
}

static bool read_all(const char *text, image_t *image)
{
    if (!read_version(text, image) || !read_target(text, image) || !read_image_text(text, image))
        return false;
    const char *at = text;
    while ((at = find_directive(at, ".entry")) != NULL)
        if (!read_entry(&at, image))
            return false;
    return image->function_count > 0;
}

image_result_t image_parse_ptx(const char *text, image_t *image)
{
    char *copy = malloc(strlen(text) + 1);
    if (!copy)
        return IMAGE_BAD_PTX;
    strcpy(copy, text);
    blank_comments(copy);
    image->is_ptx = true;
    bool good = read_all(copy, image);
    free(copy);
    return good ? IMAGE_OK : IMAGE_BAD_PTX;
}
