/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_description.c - reads the description of a cluster from a file; see cluster.h. */
#include "cluster/cluster.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/text.h"
#include "io/input_file.h"
#include "process/oclgrind_process.h"

enum { PATH_BYTES = 4096 };

typedef struct cluster_field {
    const char *name;
    size_t offset;
    double minimum;
} cluster_field_t;

static const cluster_field_t fields[] = {
#define X(field, minimum) {#field, offsetof(lab_cluster_description, field), minimum},
    LAB_CLUSTER_FIELDS(X)
#undef X
};

static const char *set_field(void *user, const char *name, const char *value)
{
    lab_cluster_description *description = user;
    if (strcmp(name, "title") == 0) {
        int length = snprintf(description->title, sizeof description->title, "%s", value);
        return length < (int)sizeof description->title ? NULL : "the title is longer than 63 characters";
    }
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        double number;
        if (strcmp(fields[i].name, name) != 0)
            continue;
        if (!lab_parse_number(value, &number) || !(number >= fields[i].minimum && number <= 1e18))
            return "the value is not a number in the valid range";
        memcpy((char *)description + fields[i].offset, &number, sizeof number);
        return NULL;
    }
    return "unknown field";
}

/* ---- Files -------------------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

static int is_description(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".txt") == 0;
}

/* Returns whether `name` is `file` ("dgx-a100.txt"), with or without the suffix, in upper or lower case. */
static bool is_named(const char *file, const char *name)
{
    size_t stem = strlen(file) - 4;
    return strcasecmp(file, name) == 0 || (strlen(name) == stem && strncasecmp(file, name, stem) == 0);
}

/* Finds the folder of descriptions: next to the command in a build tree, else the installed one. Returns the number of its
 * sorted entries, which the caller frees; -1 if there is no folder. */
static int list_descriptions(char folder[PATH_BYTES], struct dirent ***entries)
{
    static const char *const folders[] = {"machines", LAB_MACHINES_FOLDER};
    char self[PATH_BYTES - 512];
    int length = (int)lab_find_executable(self, sizeof self), count = -1;
    for (int i = 0; i < 2 && count < 0; i++) {
        snprintf(folder, PATH_BYTES, "%.*s%s", length, self, folders[i]);
        count = length > 0 ? scandir(folder, entries, is_description, alphasort) : -1;
    }
    return count;
}

/* Finds the description called `name`. If there is none, returns false and writes an error that lists all names. */
static bool find_description(const char *name, char path[PATH_BYTES], char *error, size_t capacity)
{
    char folder[PATH_BYTES];
    struct dirent **entries = NULL;
    bool is_found = false;
    int count = list_descriptions(folder, &entries);
    snprintf(error, capacity, "%s is neither a file nor the name of a cluster; clusters are", name);
    for (int i = 0; i < count; i++) {
        const char *file = entries[i]->d_name;
        if (!is_found && is_named(file, name))
            is_found = snprintf(path, PATH_BYTES, "%s/%s", folder, file) < PATH_BYTES;
        lab_append(error, capacity, " %.*s", (int)strlen(file) - 4, file);
        free(entries[i]);
    }
    if (count <= 0)
        snprintf(error, capacity, "%s is not a file, and no descriptions of clusters are installed", name);
    free(entries);
    return is_found;
}

bool lab_cluster_description_read(const char *name, lab_cluster_description *description, char *error, size_t capacity)
{
    char found[PATH_BYTES];
    const char *path = name;
    *description = (lab_cluster_description){.ranks_a_node = 1};
    if (!is_file(name)) {
        if (!find_description(name, found, error, capacity))
            return false;
        path = found;
    }
    snprintf(description->title, sizeof description->title, "%s", path);
    if (!lab_key_values_read(path, set_field, description, error, capacity))
        return false;
    if (description->network > 0)
        return true;
    snprintf(error, capacity, "%s has no network speed; add a line such as network = 25e9", path);
    return false;
}
