/* SPDX-License-Identifier: Apache-2.0 */
/* include_scan.c - see include_scan.h. */
#define _GNU_SOURCE /* realpath */
#include "cuda_source/include_scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/growing_array.h"
#include "cuda_source/cuda_headers.h"
#include "cuda_source/cuda_tokens.h"
#include "cuda_source/stub_headers.h"

enum { FILES_MAX = 256, FILE_BYTES_MAX = 16 << 20 };

typedef struct include_scan {
    const lab_include_places *places;
    lab_include_list *list;
    char *visited[FILES_MAX]; /* files of the user that were read */
    int visited_count;
} include_scan_t;

static void scan_text(include_scan_t *scan, const char *folder, const char *text, size_t bytes, bool is_first);

static bool is_regular(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

/* Returns whether a resolved path is below one of the user's folders. */
static bool is_inside(const include_scan_t *scan, const char *path)
{
    char folder[LAB_INCLUDE_PATH_BYTES];
    for (const char *const *at = scan->places->user_folders; *at; at++) {
        size_t length = realpath(*at, folder) ? strlen(folder) : 0;
        if (length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || folder[length - 1] == '/'))
            return true;
    }
    return false;
}

/* ---- Results ---- */

/* Returns the header of this name, or NULL. */
static lab_include *find_include(const lab_include_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return &list->items[i];
    return NULL;
}

/* Returns the header of this name, added if it is new; NULL if memory is exhausted. */
static lab_include *add_include(include_scan_t *scan, const char *name, lab_include_kind kind, int line)
{
    lab_include_list *list = scan->list;
    lab_include *known = find_include(list, name);
    if (known)
        return known;
    lab_include *items = lab_array_grow(list->items, list->count, sizeof *items);
    char *copy = items ? strdup(name) : NULL;
    if (items)
        list->items = items;
    list->out_of_memory |= !copy;
    if (!copy)
        return NULL;
    items[list->count] = (lab_include){.name = copy, .kind = kind, .line = line};
    return &items[list->count++];
}

static void add_user_file(include_scan_t *scan, const char *name, const char *path)
{
    bool is_new = !find_include(scan->list, name);
    lab_include *include = add_include(scan, name, LAB_INCLUDE_USER, 0);
    if (include && is_new)
        include->path = strdup(path);
    else if (include && include->path && strcmp(include->path, path) != 0) {
        free(include->path);
        include->path = NULL;
    }
}

void lab_includes_free(lab_include_list *list)
{
    for (int i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].path);
    }
    free(list->items);
    *list = (lab_include_list){.count = 0};
}

/* ---- Files ---- */

static void scan_file(include_scan_t *scan, const char *path)
{
    for (int i = 0; i < scan->visited_count; i++)
        if (strcmp(scan->visited[i], path) == 0)
            return;
    char *copy = scan->visited_count < FILES_MAX ? strdup(path) : NULL;
    FILE *file = copy ? fopen(path, "re") : NULL;
    if (copy)
        scan->visited[scan->visited_count++] = copy;
    if (!file)
        return;
    struct stat info;
    size_t size = fstat(fileno(file), &info) == 0 && info.st_size < FILE_BYTES_MAX ? (size_t)info.st_size : 0;
    char *text = malloc(size + 1), folder[LAB_INCLUDE_PATH_BYTES];
    size_t bytes = text ? fread(text, 1, size, file) : 0;
    fclose(file);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
    scan_text(scan, folder, text, bytes, false);
    free(text);
}

/* Looks for a header in a folder. Scans it if it is the user's. */
static bool find_in(include_scan_t *scan, const char *folder, const char *name, bool *is_outside)
{
    char path[2 * LAB_INCLUDE_PATH_BYTES], resolved[LAB_INCLUDE_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!realpath(path, resolved) || !is_regular(resolved))
        return false;
    *is_outside = !is_inside(scan, resolved);
    if (!*is_outside) {
        add_user_file(scan, name, resolved);
        scan_file(scan, resolved);
    }
    return !*is_outside;
}

static bool is_in_cuda_folders(const include_scan_t *scan, const char *name)
{
    char path[2 * LAB_INCLUDE_PATH_BYTES];
    for (const char *const *folder = scan->places->cuda_folders; *folder; folder++) {
        snprintf(path, sizeof path, "%s/%s", *folder, name);
        if (is_regular(path))
            return true;
    }
    return false;
}

/* Decides where the compiler will find a header. */
static void resolve(include_scan_t *scan, const char *folder, const char *name, bool is_quoted, int line)
{
    bool is_outside = false, is_found = false;
    if (*name == '/') {
        add_include(scan, name, LAB_INCLUDE_OUTSIDE, line);
        return;
    }
    if (is_quoted)
        is_found = find_in(scan, folder, name, &is_outside);
    for (const char *const *at = scan->places->user_folders; !is_found && *at; at++)
        is_found = find_in(scan, *at, name, &is_outside);
    if (is_found)
        return;
    bool is_installed = is_in_cuda_folders(scan, name);
    if (lab_stub_header_find(name, is_installed))
        add_include(scan, name, LAB_INCLUDE_STUB, line);
    else if (!is_installed)
        add_include(scan, name,
                    is_outside                       ? LAB_INCLUDE_OUTSIDE
                    : lab_cuda_header_is_known(name) ? LAB_INCLUDE_CUDA
                                                     : LAB_INCLUDE_MISSING,
                    line);
}

/* ---- Lines ---- */

typedef enum line_kind { OTHER_LINE, QUOTED_NAME, ANGLED_NAME, COMPUTED_NAME } line_kind_t;

/* Reads the name of an #include line: "x.h" or <x.h>. A line that contains the name in another form is COMPUTED_NAME, and so
 * is a directive that only looks like one: the name is then not known. */
static line_kind_t read_name(const char *at, const char *end, char *name, size_t capacity)
{
    static const char word[] = "include";
    const size_t length = sizeof word - 1;
    at = lab_skip_blanks(at, end);
    if (at < end - 1 && at[0] == '%' && at[1] == ':')
        at++; /* another spelling of # */
    else if (at == end || *at != '#')
        return OTHER_LINE;
    at = lab_skip_blanks(at + 1, end);
    if (at < end && (*at == '/' || *at == '\\'))
        return COMPUTED_NAME; /* a comment or a continuation before the word */
    if ((size_t)(end - at) < length || memcmp(at, word, length) != 0)
        return OTHER_LINE;
    at = lab_skip_blanks(at + length, end);
    if (at == end || (*at != '"' && *at != '<'))
        return COMPUTED_NAME;
    bool is_quoted = *at == '"';
    const char *close = memchr(at + 1, is_quoted ? '"' : '>', (size_t)(end - at - 1));
    if (!close || snprintf(name, capacity, "%.*s", (int)(close - at - 1), at + 1) >= (int)capacity)
        return COMPUTED_NAME;
    return is_quoted ? QUOTED_NAME : ANGLED_NAME;
}

static void scan_text(include_scan_t *scan, const char *folder, const char *text, size_t bytes, bool is_first)
{
    char name[1024];
    int line = 1;
    for (const char *at = text, *last = text + bytes; at && at < last; line++) {
        const char *end = memchr(at, '\n', (size_t)(last - at));
        line_kind_t kind = read_name(at, end ? end : last, name, sizeof name);
        if (kind == COMPUTED_NAME)
            add_include(scan, "a name from a macro", LAB_INCLUDE_COMPUTED, is_first ? line : 0);
        else if (kind != OTHER_LINE)
            resolve(scan, folder, name, kind == QUOTED_NAME, is_first ? line : 0);
        at = end ? end + 1 : NULL;
    }
}

void lab_includes_scan(const char *text, size_t bytes, const lab_include_places *places, lab_include_list *list)
{
    include_scan_t scan = {.places = places, .list = list};
    *list = (lab_include_list){.count = 0};
    scan_text(&scan, places->user_folders[0], text, bytes, true);
    for (int i = 0; i < scan.visited_count; i++)
        free(scan.visited[i]);
}
