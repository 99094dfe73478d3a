/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c - names of files and folders. Paths may contain both kinds of slashes; results have forward slashes, which Windows
 * accepts. */
#include <dirent.h>
#include <ftw.h>
#include <glob.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/system_paths.h"
#include "base/windows/windows_api.h"

const char rungi_path_separator[] = ";";

static bool is_slash(char letter)
{
    return letter == '/' || letter == '\\';
}

/* "C:/folder" and "//server/share". "/folder" is on the current drive, and counts because POSIX paths begin so. */
bool rungi_is_absolute_path(const char *path)
{
    return is_slash(path[0]) || (path[0] && path[1] == ':' && is_slash(path[2]));
}

static void use_forward_slashes(char *path)
{
    for (; *path; path++)
        if (*path == '\\')
            *path = '/';
}

int rename(const char *from, const char *to)
{
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) ? 0 : rungi_windows_fail();
}

int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    (void)from_folder, (void)to_folder, (void)from, (void)to;
    errno = ENOSYS;
    return -1;
}

int unlinkat(int folder, const char *path, int flags)
{
    (void)folder, (void)path, (void)flags;
    errno = ENOSYS;
    return -1;
}

DIR *fdopendir(int folder)
{
    (void)folder;
    errno = ENOSYS;
    return NULL;
}

int dirfd(DIR *folder)
{
    (void)folder;
    errno = ENOSYS;
    return -1;
}

int faccessat(int folder, const char *path, int mode, int flags)
{
    (void)folder, (void)flags;
    return _access(path, mode);
}

/* No path is a symbolic link here: opening a file follows links anyway. */
ssize_t readlink(const char *path, char *target, size_t capacity)
{
    if (strcmp(path, "/proc/self/exe") == 0) {
        DWORD length = GetModuleFileNameA(NULL, target, (DWORD)capacity);
        if (length == 0 || length >= capacity)
            return rungi_windows_fail();
        use_forward_slashes(target);
        return (ssize_t)length;
    }
    errno = EINVAL;
    return -1;
}

char *realpath(const char *path, char *resolved)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return NULL;
    char *result = _fullpath(resolved, path, resolved ? PATH_MAX : 0);
    if (result)
        use_forward_slashes(result);
    return result;
}

/* Replaces the six letters at the end of a pattern. */
static void fill_pattern(char *pattern, unsigned try)
{
    enum { LETTERS = 6 };
    char *suffix = pattern + strlen(pattern) - LETTERS;
    unsigned number = (GetTickCount() ^ GetCurrentProcessId() << 10) + try;
    for (int letter = 0; letter < LETTERS; letter++, number /= 26)
        suffix[letter] = (char)('a' + number % 26);
}

enum { NAME_TRIES = 100 };

int mkostemp(char *pattern, int flags)
{
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        fill_pattern(pattern, i);
        int file = open(pattern, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | flags, 0600);
        if (file >= 0 || errno != EEXIST)
            return file;
    }
    return -1;
}

char *mkdtemp(char *pattern)
{
    for (unsigned i = 0; i < NAME_TRIES; i++) {
        fill_pattern(pattern, i);
        if (_mkdir(pattern) == 0)
            return pattern;
        if (errno != EEXIST)
            return NULL;
    }
    return NULL;
}

/* ---- Folders -------------------------------------------------------------------------------------------------- */

int alphasort(const struct dirent **one, const struct dirent **other)
{
    return strcmp((*one)->d_name, (*other)->d_name);
}

static int compare_entries(const void *one, const void *other)
{
    const struct dirent *const *x = one, *const *y = other;
    return strcmp((*x)->d_name, (*y)->d_name);
}

int scandir(const char *path, struct dirent ***entries, int (*is_wanted)(const struct dirent *entry),
            int (*compare)(const struct dirent **one, const struct dirent **other))
{
    DIR *folder = opendir(path);
    int count = 0;
    (void)compare; /* callers pass alphasort() */
    *entries = NULL;
    if (!folder)
        return -1;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (is_wanted && !is_wanted(entry))
            continue;
        struct dirent **larger = realloc(*entries, ((size_t)count + 1) * sizeof *larger), *copy = malloc(sizeof *copy);
        *entries = larger ? larger : *entries;
        if (!larger || !copy) {
            free(copy);
            break;
        }
        *copy = *entry;
        larger[count++] = copy;
    }
    closedir(folder);
    if (count > 0)
        qsort(*entries, (size_t)count, sizeof **entries, compare_entries);
    return count;
}

/* ---- Patterns --------------------------------------------------------------------------------------------- */

static int add_path(glob_t *found, const char *path)
{
    char **larger = realloc(found->gl_pathv, (found->gl_pathc + 1) * sizeof *larger);
    if (!larger)
        return -1;
    found->gl_pathv = larger;
    larger[found->gl_pathc] = strdup(path);
    if (!larger[found->gl_pathc])
        return -1;
    found->gl_pathc++;
    return 0;
}

/* Adds the paths that match `rest` below the folder `start`, which ends in a slash or is empty. */
static int add_matches(glob_t *found, const char *start, const char *rest)
{
    char path[PATH_MAX];
    WIN32_FIND_DATAA entry;
    const char *wildcard = strpbrk(rest, "*?");
    if (!wildcard) {
        int length = snprintf(path, sizeof path, "%s%s", start, rest);
        bool exists = length < (int)sizeof path && GetFileAttributesA(path) != INVALID_FILE_ATTRIBUTES;
        return exists ? add_path(found, path) : 0;
    }
    const char *component = wildcard, *after = strchr(wildcard, '/');
    while (component > rest && component[-1] != '/')
        component--;
    size_t component_length = after ? (size_t)(after - component) : strlen(component);
    int folder_length = snprintf(path, sizeof path, "%s%.*s", start, (int)(component - rest), rest);
    if (folder_length + (int)component_length >= (int)sizeof path)
        return 0;
    memcpy(path + folder_length, component, component_length);
    path[(size_t)folder_length + component_length] = '\0';
    HANDLE search = FindFirstFileA(path, &entry);
    int result = 0;
    if (search == INVALID_HANDLE_VALUE)
        return 0;
    do {
        char below[PATH_MAX];
        if (entry.cFileName[0] == '.' && component[0] != '.')
            continue;
        int length = snprintf(below, sizeof below, "%.*s%s%s", folder_length, path, entry.cFileName, after ? "/" : "");
        if (length < (int)sizeof below)
            result = after ? add_matches(found, below, after + 1) : add_path(found, below);
    } while (result == 0 && FindNextFileA(search, &entry));
    FindClose(search);
    return result;
}

int glob(const char *pattern, int flags, int (*on_error)(const char *path, int number), glob_t *found)
{
    enum { GLOB_NOSPACE = 1, GLOB_NOMATCH = 3 };
    (void)flags, (void)on_error;
    *found = (glob_t){.gl_pathc = 0};
    int result = add_matches(found, "", pattern) != 0 ? GLOB_NOSPACE : found->gl_pathc == 0 ? GLOB_NOMATCH : 0;
    if (result != 0)
        globfree(found);
    return result;
}

void globfree(glob_t *found)
{
    for (size_t i = 0; i < found->gl_pathc; i++)
        free(found->gl_pathv[i]);
    free(found->gl_pathv);
    *found = (glob_t){.gl_pathc = 0};
}

/* ---- Trees ------------------------------------------------------------------------------------------------- */

int nftw(const char *path, int (*visit)(const char *path, const struct stat *status, int kind, struct FTW *position),
         int descriptors, int flags)
{
    char pattern[PATH_MAX];
    WIN32_FIND_DATAA entry;
    struct stat status;
    int result = 0;
    if (stat(path, &status) != 0 || snprintf(pattern, sizeof pattern, "%s/*", path) >= (int)sizeof pattern)
        return -1;
    HANDLE search = S_ISDIR(status.st_mode) ? FindFirstFileA(pattern, &entry) : INVALID_HANDLE_VALUE;
    while (search != INVALID_HANDLE_VALUE && result == 0) {
        char below[PATH_MAX];
        bool is_entry = strcmp(entry.cFileName, ".") != 0 && strcmp(entry.cFileName, "..") != 0;
        if (is_entry && snprintf(below, sizeof below, "%s/%s", path, entry.cFileName) < (int)sizeof below)
            result = nftw(below, visit, descriptors, flags);
        if (!FindNextFileA(search, &entry))
            break;
    }
    if (search != INVALID_HANDLE_VALUE)
        FindClose(search);
    return result != 0 ? result : visit(path, &status, 0, &(struct FTW){0});
}
